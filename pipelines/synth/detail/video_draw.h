#pragma once
// Draws the frames of one camera. Private to the synthetic videos.

#include <cstdint>
#include <functional>
#include <vector>

#include "data/files/image.h"
#include "pipelines/page/raster.h"
#include "pipelines/synth/video.h"
#include "pipelines/synth/video_outline.h"

namespace impactlab::pipelines {

// Keeps the picture of the static scene and draws only around what moves.
class FrameDrawer {
 public:
  // Scene and film must outlive it.
  FrameDrawer(const VideoScene& scene, int camera, const Film& film);
  // The frame whose row 0 has its middle exposure at `t_row0`, on the common clock. `screens`: dark
  // outlines in front of everything. `key` seeds the noise. Of the truth, drop, frame and camera
  // are the caller's.
  void Draw(double t_row0, const std::vector<Polygon>& screens, std::uint64_t key, GrayImage* image,
            std::vector<TruthPoint>* truth);
  const Viewer& viewer() const { return viewer_; }

 private:
  struct Seen {  // a marker during one exposure
    int marker = 0;
    std::vector<Polygon> at;  // every instant; empty where turned away
    double distance = 0;
    Box bounds;
    double area = 0, visible = 0;  // summed over the instants [px^2]
  };
  void DrawStill();
  int Instants(double t_row0) const;
  void DrawBody(const std::vector<std::vector<Patch>>& bodies, const RoundShade& shade,
                const std::vector<Polygon>& screens, const Box& raw);
  void PrepareMarkerLayers(const Box& box, const RoundShade& shade,
                           const std::vector<Polygon>& screens);
  void DrawMarkers(std::vector<Seen*> group, const std::vector<std::vector<Patch>>& bodies,
                   const RoundShade& shade, const std::vector<Polygon>& screens, const Box& inner);
  void AddToSums(const std::vector<Patch>& body, double weight);
  void ExposeFrame(double t_row0, const Box& inner, std::uint64_t key, GrayImage* image);

  const VideoScene* scene_;
  const SceneCamera* settings_;
  const Film* film_;
  int camera_;
  Viewer viewer_;
  BodyOutline outline_;
  Eigen::Vector3d light_W_;
  int reach_ = 0, sub_ = 2;
  std::vector<float> kernel_, fine_kernel_;
  Box picture_;
  // grey levels of the static scene, before the lens; with a rim of `reach_`
  Grid still_raw_;
  std::vector<float> still_;   // and in the picture, evenly lit
  std::vector<float> across_;  // change of the light along a row; along a column it is `down_`
  std::vector<float> down_;
  std::vector<std::int16_t> still_light_, still_noise_;
  // Storage for the present frame.
  AreaSum cover_sum_, light_sum_;
  Grid base_, fine_, cover_, lit_, under_, back_, tone_, layer_, left_, screen_;
  std::vector<Grid> covers_;
  std::vector<float> scratch_, row_;
  std::vector<std::int16_t> row_light_, row_noise_;
};

// Dark patches that pass before markers: outlines for every frame of the camera. `times` are those
// of row 0.
std::vector<std::vector<Polygon>> PlanScreens(const VideoScene& scene, const Viewer& viewer,
                                              const std::vector<double>& times, int camera,
                                              double release, std::uint64_t key);

// Whether its videos are mp4, not mkv; and whether its files can state that a camera was held
// turned.
bool IsMp4(const VideoScene& scene);
bool StatesRotation(const VideoScene& scene);

// Draws one camera of a drop.
void DrawCamera(const VideoScene& scene, const Film& film, int drop, int camera,
                const std::function<void(const DrawnFrame&)>& take);

}  // namespace impactlab::pipelines
