#pragma once
// Scenes of marked bodies that fall before two cameras, for tests and studies of tracking.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipelines/synth/detail/video_draw.h"
#include "pipelines/synth/video.h"
#include "pipelines/synth/video_outline.h"

namespace impactlab::test {

struct VideoSceneOptions {
  int width = 1280;                // 1280 x 720 or 800 x 450, or anything near 16:9 [px]
  double rate = 120;               // of all cameras [1/s]
  double angle = 75 * M_PI / 180;  // between the lines of sight [rad]
  int drops = 1, occlusions = 0, clutter = 0;
  bool discs = false;  // flat discs on the surface in place of balls seen from everywhere
  std::uint64_t seed = 1;
};

// A camera `distance` from `target`, seen from above under `azimuth` and `elevation`; z of W is up.
inline RigCamera LookingAt(const std::string& name, const Eigen::Vector3d& target, double azimuth,
                           double elevation, double distance, int width) {
  RigCamera out;
  out.name = name;
  out.camera.model = LensModel::kBrown;
  out.camera.width = width;
  out.camera.height = width * 9 / 16;
  const double f = 1.17 * width;
  Eigen::VectorXd intrinsics(IntrinsicCount(LensModel::kBrown));
  intrinsics << f, f * 1.001, 0.5 * (width - 1) + 0.004 * width,
      0.5 * (out.camera.height - 1) - 0.003 * width, -0.12, 0.05, 3e-4, -2e-4, 0.01;
  SetIntrinsics(out.camera, intrinsics);
  const Eigen::Vector3d from(std::cos(elevation) * std::sin(azimuth),
                             -std::cos(elevation) * std::cos(azimuth), std::sin(elevation));
  const Eigen::Vector3d z = -from, x = z.cross(Eigen::Vector3d::UnitZ()).normalized();
  out.X_WC.linear().col(0) = x;
  out.X_WC.linear().col(1) = z.cross(x);
  out.X_WC.linear().col(2) = z;
  out.X_WC.translation() = target + distance * from;
  return out;
}

// Floor at z = 0, two cameras 1.2 m from the place where bodies fall; no markers and no body yet.
inline VideoScene EmptyScene(const std::string& name, const VideoSceneOptions& o) {
  VideoScene scene;
  scene.name = name;
  const Eigen::Vector3d target(0, 0, 0.13);
  scene.rig.cameras = {LookingAt("left", target, -o.angle / 2, 0.32, 1.2, o.width),
                       LookingAt("right", target, o.angle / 2, 0.36, 1.22, o.width)};
  scene.rig.world.source = "given";
  scene.rig.world.gravity_W = -Eigen::Vector3d::UnitZ();
  SceneCamera camera;
  camera.frame_rate = o.rate;
  scene.cameras = {camera, camera};
  scene.motion.model = {{0.5, 0.2, 0.2}, RestitutionLaw::kEnergetic};
  scene.motion.drops = o.drops;
  scene.motion.frame_rate = o.rate;
  scene.motion.height_min = 0.06;
  scene.motion.height_max = 0.18;
  scene.motion.speed_tangential = 0.15;
  scene.motion.spin = 6;
  scene.motion.lean_min = 0.1;
  scene.motion.duration_after = 0.25;
  scene.motion.seed = o.seed;
  scene.occlusions = o.occlusions;
  scene.clutter = o.clutter;
  scene.seed = o.seed;
  return scene;
}

inline void AddMarker(VideoScene* scene, const Eigen::Vector3d& p_BM, double radius,
                      const Eigen::Vector3d& normal_B = Eigen::Vector3d::Zero()) {
  SceneMarker marker;
  marker.name = "m" + std::to_string(scene->markers.size() + 1);
  marker.p_BM = p_BM;
  marker.normal_B = normal_B;
  marker.radius = radius;
  scene->markers.push_back(marker);
}

// A rod of 0.3 m with three collars, 160 and 64 mm apart (2.5 : 1).
inline VideoScene RodScene(const VideoSceneOptions& o = {}) {
  VideoScene scene = EmptyScene("rod", o);
  scene.motion.body = MakeRod(0.3, 0.006, 0.1);
  for (const double z : {-0.115, 0.045, 0.109}) AddMarker(&scene, {0, 0, z}, 0.0075);
  return scene;
}

// A bar of 0.28 x 0.04 x 0.02 m: balls on its ends and on its edges, or discs on its faces.
inline VideoScene BarScene(const VideoSceneOptions& o = {}) {
  VideoScene scene = EmptyScene("bar", o);
  scene.motion.body = MakeBox({0.02, 0.04, 0.28}, 0.3);
  if (!o.discs) {
    for (const Eigen::Vector3d& p :
         {Eigen::Vector3d(0, 0, 0.146), Eigen::Vector3d(0, 0.026, 0.062),
          Eigen::Vector3d(0, -0.026, -0.028), Eigen::Vector3d(0, 0, -0.146)})
      AddMarker(&scene, p, 0.007);
    return scene;
  }
  for (const double side : {-1.0, 1.0}) {
    for (const Eigen::Vector2d& p :
         {Eigen::Vector2d(0.004 * side, 0.12), Eigen::Vector2d(-0.006, 0.04 + 0.01 * side),
          Eigen::Vector2d(0.006, -0.1)})
      AddMarker(&scene, {0.01 * side, p.x(), p.y()}, 0.007, {side, 0, 0});
    for (const double z : {0.09 - 0.02 * side, -0.05, -0.115 + 0.02 * side})
      AddMarker(&scene, {0, 0.02 * side, z}, 0.0065, {0, side, 0});
  }
  return scene;
}

// A ball of 80 mm: four small balls set on it, or twelve discs painted on it.
inline VideoScene BallScene(const VideoSceneOptions& o = {}) {
  VideoScene scene = EmptyScene("ball", o);
  const double radius = 0.04;
  scene.motion.body = MakeBall(radius, 0.2);
  scene.motion.lean_min = 0;
  if (!o.discs) {
    // Far from every layout that turning it and changing names gives: 17 mm rms.
    for (const Eigen::Vector3d& way :
         {Eigen::Vector3d(-0.65, -0.6, 0.45), Eigen::Vector3d(0.75, -0.45, -0.45),
          Eigen::Vector3d(0.5, 0.6, -0.6), Eigen::Vector3d(0.5, 0.8, 0.4)})
      AddMarker(&scene, 1.15 * radius * way.normalized(), 0.005);
    return scene;
  }
  // A golden spiral, unevenly turned: no two triangles are alike.
  for (int k = 0; k < 12; ++k) {
    const double z = 1 - (2 * k + 1) / 12.0, angle = 2.4 * k + 0.35 * std::sin(1.7 * k + 0.4),
                 r = std::sqrt(1 - z * z);
    const Eigen::Vector3d way(r * std::cos(angle), r * std::sin(angle), z);
    AddMarker(&scene, radius * way, 0.0055, way);
  }
  return scene;
}

// A box of 110 x 85 x 60 mm: four balls on edges and a corner, or discs on its faces.
inline VideoScene BoxScene(const VideoSceneOptions& o = {}) {
  VideoScene scene = EmptyScene("box", o);
  const Eigen::Vector3d half(0.055, 0.0425, 0.03);
  scene.motion.body = MakeBox(2 * half, 0.4);
  if (!o.discs) {
    // Likewise: 32 mm rms.
    for (const Eigen::Vector3d& p : {Eigen::Vector3d(1, -1, -1), Eigen::Vector3d(-0.8, 1, -1),
                                     Eigen::Vector3d(-1, -1, 0.4), Eigen::Vector3d(-1, 1, 0.8)})
      AddMarker(&scene, half.cwiseProduct(p), 0.006);
    return scene;
  }
  for (int axis = 0; axis < 3; ++axis)
    for (const double side : {-1.0, 1.0}) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      const double twist = 0.2 * axis + 0.15 * side;
      for (const Eigen::Vector2d& p :
           {Eigen::Vector2d(0.55, 0.5 - twist), Eigen::Vector2d(-0.5 + twist, 0.45),
            Eigen::Vector2d(-0.1 - twist, -0.55)}) {
        Eigen::Vector3d place, normal = Eigen::Vector3d::Zero();
        place[axis] = side * half[axis];
        place[u] = p.x() * half[u];
        place[v] = p.y() * half[v];
        normal[axis] = side;
        AddMarker(&scene, place, 0.006, normal);
      }
    }
  return scene;
}

// Draws one drop (from 1, as in `Synthesise`), camera after camera and frame after frame: `take` is
// handed every frame as it is made. The same scene gives the same pictures, and no files.
inline void DrawScene(const VideoScene& scene, int drop,
                      const std::function<void(const DrawnFrame&)>& take) {
  CheckVideoScene(scene);
  const pipelines::Film film = pipelines::MakeFilm(scene, drop);
  for (std::size_t camera = 0; camera < scene.rig.cameras.size(); ++camera)
    pipelines::DrawCamera(scene, film, drop, static_cast<int>(camera), take);
}

}  // namespace impactlab::test
