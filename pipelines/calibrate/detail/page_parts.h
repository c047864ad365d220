#pragma once
// Parts of the calibration page and what they share. Private to the page.

#include <string>
#include <vector>

#include "data/files/image.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/page/html.h"
#include "pipelines/page/page.h"

namespace impactlab::pipelines {

struct RigContext {
  const CalibrationRun& run;
  bool interactive = false;  // the plotting library is in the page
  std::size_t cameras() const { return run.problem.cameras.size(); }
  const std::string& name(std::size_t camera) const { return run.problem.cameras[camera].name; }
  // Result of the solve for a view; null where there is none.
  const ViewResult* view(std::size_t shot, std::size_t camera) const {
    if (shot >= run.result.shots.size() || camera >= run.result.shots[shot].views.size())
      return nullptr;
    return &run.result.shots[shot].views[camera];
  }
  bool used(std::size_t shot, std::size_t camera) const {
    const ViewResult* v = view(shot, camera);
    return v != nullptr && run.result.shots[shot].used && v->rejected.empty() && !v->points.empty();
  }
};

// A view to be shown, with its picture where it could be read.
struct ShownView {
  std::size_t shot = 0, camera = 0;
  GrayImage image;
};
std::vector<ShownView> WorstViews(const RigContext& context);

std::string RigHead(const RigContext& context);
Section CamerasSection(const RigContext& context);
Section ResidualsSection(const RigContext& context);
Section CoverageSection(const RigContext& context);
Section SpaceSection(const RigContext& context);
Section ViewsSection(const RigContext& context, const std::vector<ShownView>& views);
// Only where the run has a world.
Section WorldSection(const RigContext& context);
Section RigMethodSection(const RigContext& context);

// Cameras and boards for the view in space.
std::string SceneJson(const RigContext& context);

// Drawings over the area of a picture, axes in pixels.
std::string ResidualFieldSvg(const RigContext& context, std::size_t camera);
std::string CoverageSvg(const RigContext& context, std::size_t camera);
std::string UncertaintySvg(const RigContext& context, std::size_t camera);
std::string PhotoSvg(const RigContext& context, const ShownView& view);

// "0.12 mm", "3.4 m", "85 µm".
std::string LengthWords(double metres, int significant = 2);
// "left, shot 02"
std::string ShotTitle(const RigContext& context, std::size_t shot, std::size_t camera);

}  // namespace impactlab::pipelines
