#pragma once
// Rigs of known truth and what their cameras would have seen of a board, for tests and studies of
// the calibration.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "calibration/solve/calibrate.h"
#include "pipelines/synth/board_tour.h"

namespace impactlab::test {

struct RigTwinOptions {
  std::vector<Camera> cameras;
  std::vector<Eigen::Isometry3d> X_WC;  // first one the identity
  Board board;
  Eigen::Vector2d warp = Eigen::Vector2d::Zero();  // [m]
  int shots = 40;
  double pixel_sd = 0.2;     // [px]
  double outlier_share = 0;  // of points moved by 5 to 60 px
  // of the board's centre from the middle of the cameras [m]
  double distance_min = 0.4, distance_max = 0.8;
  double max_tilt = 0.7;  // [rad]
  double drop_view = 0;   // chance that a camera misses a shot altogether
};

struct RigTwin {
  CalibrationProblem problem;
  CameraRig truth;
  Eigen::Vector2d warp;
  std::vector<Eigen::Isometry3d> X_WG;
  int outliers = 0;
};

inline Camera MakePinhole(int width, int height, double focal, double k1 = -0.15,
                          double k2 = 0.05) {
  Camera camera;
  camera.model = LensModel::kBrown;
  camera.width = width;
  camera.height = height;
  Eigen::VectorXd x(9);
  x << focal, focal * 1.002, 0.5 * width + 3.1, 0.5 * height - 4.3, k1, k2, 4e-4, -3e-4, 0.01;
  SetIntrinsics(camera, x);
  return camera;
}

inline Camera MakeFisheye(int width, int height, double focal) {
  Camera camera;
  camera.model = LensModel::kFisheye;
  camera.width = width;
  camera.height = height;
  Eigen::VectorXd x(8);
  x << focal, focal * 0.999, 0.5 * width - 2.3, 0.5 * height + 1.7, -0.02, 0.004, -0.003, 0.0005;
  SetIntrinsics(camera, x);
  return camera;
}

// Camera on the right of the first, turned towards a point `aim` metres in front of the first.
inline Eigen::Isometry3d BesideLooking(double baseline, double aim, double roll = 0) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() << baseline, 0.04 * baseline, -0.02 * baseline;
  X.linear() = (Eigen::AngleAxisd(-std::atan2(baseline, aim), Eigen::Vector3d::UnitY()) *
                Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitZ()))
                   .toRotationMatrix();
  return X;
}

inline RigTwin MakeRigTwin(const RigTwinOptions& options, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(-1, 1);
  RigTwin twin;
  twin.problem.board = options.board;
  twin.warp = options.warp;
  for (std::size_t c = 0; c < options.cameras.size(); ++c) {
    CameraSetup setup;
    setup.name = "camera" + std::to_string(c);
    setup.width = options.cameras[c].width;
    setup.height = options.cameras[c].height;
    setup.model = options.cameras[c].model;
    twin.problem.cameras.push_back(setup);
    twin.truth.cameras.push_back({setup.name, options.cameras[c], options.X_WC[c]});
  }
  const Eigen::Vector2d half = 0.5 * Extent(options.board);
  TourOptions tour;
  tour.shots = options.shots;
  tour.distance_min = options.distance_min;
  tour.distance_max = options.distance_max;
  tour.max_tilt = options.max_tilt;
  twin.X_WG = BoardTour(twin.truth, options.board, tour, seed);
  for (int s = 0; s < options.shots; ++s) {
    const Eigen::Isometry3d& X_WG = twin.X_WG[s];
    BoardShot shot;
    shot.name = "shot" + std::to_string(s);
    for (std::size_t c = 0; c < options.cameras.size(); ++c) {
      BoardView view;
      view.width = options.cameras[c].width;
      view.height = options.cameras[c].height;
      view.orientation_known = true;
      const Eigen::Isometry3d X_CG = options.X_WC[c].inverse() * X_WG;
      const bool dropped = 0.5 * (1 + unit(random)) < options.drop_view;
      int missing = 0;
      for (int id = 0; id < PointCount(options.board); ++id) {
        Eigen::Vector3d p_G = PointOnBoard(options.board, id);
        const Eigen::Array2d u = p_G.head<2>().array() / half.array() - 1;
        p_G.z() += (1 - u * u).matrix().dot(options.warp);
        const Eigen::Vector2d noise(normal(random), normal(random));
        const double outlier = 0.5 * (1 + unit(random)), far = 5 + 27.5 * (1 + unit(random)),
                     angle = M_PI * unit(random);
        const auto q = Project(options.cameras[c], X_CG * p_G);
        if (!q || q->x() < 0 || q->y() < 0 || q->x() > view.width - 1 || q->y() > view.height - 1) {
          ++missing;
          continue;
        }
        BoardPoint point;
        point.id = id;
        point.q = *q + options.pixel_sd * noise;
        if (outlier < options.outlier_share && !dropped) {
          point.q += far * Eigen::Vector2d(std::cos(angle), std::sin(angle));
          ++twin.outliers;
        }
        view.points.push_back(point);
      }
      if (dropped || 2 * missing > PointCount(options.board)) view.points.clear();
      shot.views.push_back(view);
    }
    twin.problem.shots.push_back(shot);
  }
  return twin;
}

// Parameters of an estimate minus those of the truth, in the order of ParameterNames: rotations as
// the error R_true' R of the estimate's own axes.
inline Eigen::VectorXd RigError(const CameraRig& estimate, const CameraRig& truth) {
  Eigen::VectorXd error(ParameterCount(estimate));
  for (std::size_t c = 0; c < estimate.cameras.size(); ++c) {
    const int first = FirstParameter(estimate, static_cast<int>(c)),
              n = IntrinsicCount(estimate.cameras[c].camera.model);
    error.segment(first, n) =
        Intrinsics(estimate.cameras[c].camera) - Intrinsics(truth.cameras[c].camera);
    const Eigen::AngleAxisd turn(truth.cameras[c].X_WC.linear().transpose() *
                                 estimate.cameras[c].X_WC.linear());
    error.segment<3>(first + n) = turn.angle() * turn.axis();
    error.segment<3>(first + n + 3) =
        estimate.cameras[c].X_WC.translation() - truth.cameras[c].X_WC.translation();
  }
  return error;
}

}  // namespace impactlab::test
