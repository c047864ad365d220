#include "pipelines/calibrate/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/calibrate/detail/input.h"
#include "pipelines/calibrate/detail/page_parts.h"
#include "pipelines/page/assets.h"

namespace impactlab {
namespace pipelines {

std::string LengthWords(double metres, int significant) {
  if (!std::isfinite(metres)) return Num(metres);
  const double size = std::abs(metres);
  if (size >= 1 || size == 0) return Num(metres, std::max(3, significant)) + "\u00A0m";
  if (size >= 9.5e-7)
    return Num(1e3 * metres, size >= 0.01 ? std::max(3, significant) : significant) + "\u00A0mm";
  return Num(1e6 * metres, significant) + "\u00A0µm";
}

std::string ShotTitle(const RigContext& context, std::size_t shot, std::size_t camera) {
  return context.name(camera) + ", shot " + context.run.problem.shots[shot].name;
}

std::vector<ShownView> WorstViews(const RigContext& context) {
  constexpr std::size_t kPerCamera = 2, kMost = 8;
  std::vector<ShownView> out;
  for (std::size_t c = 0; c < context.cameras(); ++c) {
    // Views thrown out come first, then those that fit worst.
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k) {
      if (context.run.problem.shots[k].views[c].points.empty()) continue;
      const ViewResult* v = context.view(k, c);
      double score = 0;
      if (v != nullptr)
        for (const PointResidual& p : v->points) score = std::max(score, p.residual.norm());
      if (v != nullptr && context.used(k, c)) score = v->rms;
      if (v != nullptr && !v->rejected.empty()) score += 1e9;
      order.emplace_back(score, k);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t k = 0; k < std::min(order.size(), kPerCamera) && out.size() < kMost; ++k)
      out.push_back({order[k].second, c, {}});
  }
  std::vector<std::string> names;
  names.reserve(out.size());
  for (const ShownView& view : out)
    names.push_back(context.run.problem.shots[view.shot].views[view.camera].image);
  std::vector<GrayImage> images = ReadViewImages(names);
  for (std::size_t k = 0; k < out.size(); ++k) out[k].image = std::move(images[k]);
  return out;
}

}  // namespace pipelines

void WriteCalibrationPage(const std::filesystem::path& path, const CalibrationRun& run,
                          const std::filesystem::path& plot_library) {
  using namespace pipelines;
  const std::string library = ReadPlotLibrary(plot_library);
  const RigContext context{run, !library.empty()};
  Page page;
  page.title = run.plan.name + " \u2013 calibration certificate";
  page.head = RigHead(context);
  page.styles = {kRigStyle};
  page.sections.push_back(ViewsSection(context, WorstViews(context)));
  if (run.result.usable()) {
    std::vector<Section> measured = {ResidualsSection(context), CoverageSection(context),
                                     SpaceSection(context), CamerasSection(context)};
    if (run.world) measured.insert(measured.begin() + 3, WorldSection(context));
    page.sections.insert(page.sections.begin(), std::make_move_iterator(measured.begin()),
                         std::make_move_iterator(measured.end()));
    page.data = {{"rig-data", SceneJson(context)}};
    page.scripts = {kRigScript};
  } else if (!run.certificate.geometry.cameras.empty()) {
    page.sections.insert(page.sections.begin(), CoverageSection(context));
  }
  page.sections.push_back(RigMethodSection(context));
  WritePage(path, page, library);
}

}  // namespace impactlab
