#pragma once
// The experiments of the chain study: Sun 2017's rig and bodies from videos, half of them with
// effects that no fit models.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pipelines/synth/video.h"
#include "tests/support/video_scenes.h"

namespace impactlab::test {

using Eigen::Vector3d;

inline constexpr std::array<const char*, 3> kChainBodies = {"rod", "bar", "ball"};
inline constexpr std::array<const char*, 6> kChainEffects = {
    "h264", "rolling shutter", "marker shape", "lens", "outline", "lasting contact"};

struct ChainScene {
  VideoScene scene;               // what is filmed
  Body body;                      // what the experimenter takes it for
  std::vector<Vector3d> normals;  // and the markers; unit, or zero for a ball
  std::vector<double> radii;      // [m]
  LensModel lens = LensModel::kBrown;
  bool row_times_told = true;
  std::string kind;
  std::vector<std::string> effects;  // empty: nothing that the fit does not model
};

// 1280 x 720 and about 1060 px, 0.34 m apart and 0.9 m from the place where bodies strike, as an
// experimenter would set them up.
inline CameraRig ChainRig(bool fisheye, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  CameraRig rig;
  const Vector3d target(0.05 + 0.02 * unit(random), 0.02 * unit(random),
                        0.08 + 0.02 * unit(random));
  const double elevation = 0.45 + 0.05 * unit(random), distance = 0.9 + 0.02 * unit(random),
               turn = 0.1 * unit(random);
  const double half = std::asin(0.17 / (distance * std::cos(elevation)));
  for (const double side : {-1.0, 1.0}) {
    RigCamera camera = LookingAt(side < 0 ? "left" : "right", target, turn + side * half, elevation,
                                 distance, 1280);
    const double f = 1060 + 4 * unit(random), cx = 639.5 + 6 * unit(random),
                 cy = 359.5 + 6 * unit(random);
    Eigen::VectorXd x;
    if (fisheye) {
      camera.camera.model = LensModel::kFisheye;
      x.resize(8);
      x << f, f + unit(random), cx, cy, 0.02, -0.01, 0, 0;
    } else {
      x.resize(9);
      x << f, f + unit(random), cx, cy, -0.11 + 0.02 * unit(random), 0.06, 2e-4, -1e-4, 0;
    }
    SetIntrinsics(camera.camera, x);
    rig.cameras.push_back(camera);
  }
  rig.world.source = "given";
  return rig;
}

inline void ChainBody(int kind, bool discs, VideoScene* scene) {
  if (kind == 0) {
    // Collars at uneven distances.
    scene->motion.body = MakeRod(0.3048, 0.0047625, 0.169);
    for (const double z : {-0.12, 0.03, 0.124}) AddMarker(scene, {0, 0, z}, 0.007);
    scene->motion.lean_min = 0.3;
  } else if (kind == 1) {
    if (discs) {
      const std::vector<SceneMarker> markers = BarScene({.discs = true}).markers;
      scene->motion.body = MakeBox({0.02, 0.04, 0.28}, 0.185);
      scene->markers = markers;
    } else {
      // On short pins, wherever it is seen from.
      scene->motion.body = MakeBox({0.3065, 0.0515, 0.0125}, 0.185);
      for (const Vector3d& p : {Vector3d(-0.13, 0.015, 0.0125), Vector3d(0.12, 0.018, -0.0125),
                                Vector3d(0.03, -0.02, 0.0125), Vector3d(-0.05, -0.018, -0.0125)})
        AddMarker(scene, p, 0.006);
    }
    // A thin bar strikes with one corner alone only where it comes down slowly.
    scene->motion.height_min = 0.03;
    scene->motion.height_max = 0.07;
    scene->motion.lean_min = 0.05;
  } else {
    scene->motion.body = MakeBall(0.06, 0.25);
    scene->motion.lean_min = 0;
    const VideoScene small = BallScene({.discs = discs});
    for (SceneMarker marker : small.markers) {
      marker.p_BM *= 1.5 * (discs ? 1 : 1.12 / 1.15);
      marker.radius = 0.006;
      scene->markers.push_back(marker);
    }
  }
}

// Experiment k of a study; all of it follows from k and the seed.
inline ChainScene DrawChainScene(int k, std::uint64_t seed, int drops = 12) {
  std::mt19937_64 random(seed * 2654435761ull + 7919ull * static_cast<std::uint64_t>(k + 1));
  std::uniform_real_distribution<double> unit(-1, 1);
  const int kind = k % 3, round = k / 6;
  std::array<bool, 6> on{};
  if (k / 3 % 2 == 1) {
    if (round % 10 < 6)
      on[static_cast<std::size_t>(round % 10)] = true;
    else
      on = {true, round % 10 < 8, false, true, true, true};
    // A thin bar that falls on a surface that is nearly level and stays there for 2 ms never lands
    // on one corner alone.
    if (kind == 1 && round % 8 < 2) on[5] = false;
  }
  ChainScene out;
  out.kind = kChainBodies[static_cast<std::size_t>(kind)];
  for (std::size_t i = 0; i < on.size(); ++i)
    if (on[i]) out.effects.emplace_back(kChainEffects[i]);
  VideoScene& scene = out.scene;
  scene.name = fmt::format("{}_{}", out.kind, k);
  scene.seed = scene.motion.seed = seed + 1000003ull * static_cast<std::uint64_t>(k + 1);
  scene.motion.drops = drops;
  scene.motion.clean_first = true;
  scene.motion.height_min = 0.05;
  scene.motion.height_max = 0.12;
  scene.motion.speed_tangential = 0.3;
  scene.motion.spin = 3;
  scene.motion.duration_after = 0.13;
  scene.motion.frame_rate = 120;
  ChainBody(kind, on[2] && kind > 0, &scene);
  const double slope = round % 8 * 10 * M_PI / 180;
  scene.motion.flight.gravity_W = 9.80665 * Vector3d(std::sin(slope), 0, -std::cos(slope));
  // Steep surfaces: what falls along them leaves the picture.
  if (slope > 0.9) scene.motion.height_max = std::min(scene.motion.height_max, 0.07);
  const double e = 0.5 + 0.2 * unit(random), mu = 0.2 + 0.1 * unit(random);
  scene.motion.model = {{e, mu, mu}, RestitutionLaw::kEnergetic};
  out.body = scene.motion.body;
  for (const SceneMarker& marker : scene.markers) {
    out.normals.push_back(marker.normal_B);
    out.radii.push_back(marker.radius);
  }
  scene.rig = ChainRig(on[3], random);
  scene.rig.world.gravity_W = scene.motion.flight.gravity_W.normalized();
  SceneCamera camera;
  camera.frame_rate = 120;
  camera.exposure = 1e-3;
  camera.noise = 5;  // centroids to about 0.05 px
  camera.noise_gain = 0.05;
  scene.cameras = {camera, camera};
  scene.cameras[1].t_offset = 0.5 * (1 + unit(random)) / 120;
  scene.flash = false;
  Board board;
  board.kind = BoardKind::kChessboard;
  board.columns = 9;
  board.rows = 6;
  board.pitch = 0.023;
  scene.board = board;
  scene.tour.shots = 15;
  scene.tour.distance_min = 0.6;
  scene.tour.distance_max = 1;
  scene.tour.whole = true;
  scene.board_on_floor = true;
  if (on[0]) {
    scene.video.codec = VideoWriterOptions::Codec::kH264;
    scene.video.quality = 20;
  }
  if (on[1]) {
    out.row_times_told = false;
    for (SceneCamera& c : scene.cameras) c.t_line = 8e-3 / 720;
  }
  if (on[2]) {
    for (std::size_t i = 0; i < scene.markers.size(); ++i) {
      SceneMarker& marker = scene.markers[i];
      if (kind == 0)
        out.radii[i] *= 1.25;
      else
        marker.normal_B =
            (marker.normal_B + 0.2 * marker.normal_B.unitOrthogonal() * unit(random)).normalized();
    }
  }
  if (on[4]) {
    // Nobody measured the corners, the length of a rod is that of a drawing, a ball is not quite so
    // large.
    if (kind == 0)
      out.body = MakeRod(0.3058, 0.0047625, 0.169);
    else if (kind == 1)
      scene.motion.body.corner_radius = 2e-3;
    else
      out.body = MakeBall(0.0603, 0.25);
  }
  if (on[5]) scene.motion.contact_time = 2e-3;
  return out;
}

}  // namespace impactlab::test
