#pragma once
// Outlines of bodies and markers in the picture of a camera, and the motion they follow.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <vector>

#include "calibration/camera/camera.h"
#include "impact/body/body.h"
#include "pipelines/page/body_outline.h"
#include "pipelines/page/raster.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/video.h"

namespace impactlab::pipelines {

// One drop on the common clock: a lamp that flashes, the release, what follows.
struct Film {
  DropMotion motion;
  const Body* body = nullptr;
  const FlightOptions* flight = nullptr;
  // of the motion, so that it strikes near the scene's centre [m]
  Eigen::Vector3d shift = Eigen::Vector3d::Zero();
  double flash_on = 0, flash_off = 0;      // equal where there is no flash [s]
  double release = 0, end = 0;             // [s]
  Eigen::Isometry3d Pose(double t) const;  // X_WB; held still before the release
  bool Strikes(double from, double to) const;
};
Film MakeFilm(const VideoScene& scene, int drop);

// Where a point of the body is seen that a rolling shutter passes at its own row: its camera sees
// it at `t` = t_row0 + y t_line.
struct Sight {
  double t = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();
};
class Viewer {
 public:
  Viewer(const RigCamera& camera, double t_line, const Film& film);
  const Camera& camera() const { return camera_->camera; }
  double t_line() const { return t_line_; }
  Eigen::Isometry3d PoseInCamera(double t) const { return X_CW_ * film_->Pose(t); }  // X_CB
  const Eigen::Isometry3d& WorldInCamera() const { return X_CW_; }                   // X_CW
  std::optional<Sight> See(const Eigen::Vector3d& p_BM, double t_row0) const;

 private:
  const RigCamera* camera_;
  double t_line_;
  const Film* film_;
  Eigen::Isometry3d X_CW_;
};

// Outline of a marker at a time of row 0, empty where it is turned away or outside of what the lens
// covers. As many corners as asked, set out a little so that the area is that of the smooth
// outline.
struct MarkerOutline {
  Polygon polygon;
  double distance = 0;  // [m]
};
MarkerOutline OutlineOf(const Viewer& viewer, const SceneMarker& marker, double t_row0,
                        int corners);

// What the body covers, with the brightness of every face relative to the body's (1 for round
// bodies, whose shading is ShadeOf's).
struct Patch {
  Polygon polygon;
  double shade = 1;
};
std::vector<Patch> OutlinesOf(const Viewer& viewer, const BodyOutline& body, double t_row0,
                              double shading, const Eigen::Vector3d& light_W);

// Shading of a round body over the picture at one time: relative brightness at q.
class RoundShade {
 public:
  RoundShade() = default;
  RoundShade(const Viewer& viewer, const BodyOutline& body, double t_row0, double shading,
             const Eigen::Vector3d& light_W);
  float At(float x, float y) const;

 private:
  float ax_ = 0, ay_ = 0, dx_ = 0, dy_ = 0, length2_ = 0, radius_a_ = 1, radius_b_ = 1,
        shading_ = 0, lx_ = 0, ly_ = 0, lz_ = 0;
};

}  // namespace impactlab::pipelines
