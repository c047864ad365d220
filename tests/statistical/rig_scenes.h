#pragma once
// Kinds of rigs for the coverage study of the calibration and its sentinel.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/rig_twin.h"

namespace impactlab::test {

struct RigScene {
  std::string name;
  RigTwinOptions options;
};

inline std::vector<RigScene> RigScenes() {
  RigTwinOptions base;
  base.cameras = {MakePinhole(1280, 720, 1100), MakePinhole(1280, 720, 1150, -0.2, 0.08)};
  base.X_WC = {Eigen::Isometry3d::Identity(), BesideLooking(0.4, 0.6)};
  base.shots = 20;
  base.outlier_share = 0.01;
  std::vector<RigScene> scenes{{"wide baseline", base}};
  RigTwinOptions options = base;
  options.X_WC[1] = BesideLooking(0.02, 0.6);
  scenes.push_back({"narrow baseline", options});
  options = base;
  options.cameras = {MakeFisheye(1280, 960, 400), MakeFisheye(1280, 960, 410)};
  options.distance_min = 0.15;
  options.distance_max = 0.4;
  scenes.push_back({"fisheye", options});
  options = base;
  options.cameras[1] = MakePinhole(640, 480, 500);
  scenes.push_back({"different sizes", options});
  options = base;
  options.cameras.push_back(MakeFisheye(1280, 960, 500));
  options.X_WC.push_back(BesideLooking(-0.3, 0.6));
  options.drop_view = 0.2;
  scenes.push_back({"three cameras", options});
  options = base;
  options.warp << 1e-3, -5e-4;
  scenes.push_back({"warped board", options});
  options = base;
  options.cameras.resize(1);
  options.X_WC.resize(1);
  scenes.push_back({"one camera", options});
  return scenes;
}

// Effects the estimator does not model: views that are sharper or blurrier than others by a factor
// unknown to it, and tails heavier than normal.
inline RigTwin DrawRig(const RigScene& scene, bool unmodelled, std::uint64_t seed) {
  std::mt19937_64 random(seed * 2654435761ull + 17);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  RigTwinOptions options = scene.options;
  options.pixel_sd = 0.05 * std::pow(20.0, unit(random));  // 0.05 to 1 px
  if (!unmodelled) return MakeRigTwin(options, seed);
  const double sd = options.pixel_sd;
  options.pixel_sd = 0;
  RigTwin twin = MakeRigTwin(options, seed);
  std::chi_squared_distribution<double> chi(6);
  for (BoardShot& shot : twin.problem.shots)
    for (BoardView& view : shot.views) {
      const double blur = std::exp(0.3 * normal(random));
      for (BoardPoint& point : view.points) {
        const double tail = std::sqrt(4 / chi(random));  // Student t of 6, unit variance
        point.q += sd * blur * tail * Eigen::Vector2d(normal(random), normal(random));
      }
    }
  return twin;
}

}  // namespace impactlab::test
