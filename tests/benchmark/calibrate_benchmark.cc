// Cost of calibrating a stereo rig: 2 cameras x 40 views x 54 corners of known truth, the same
// corners for all.
//
//   Calibrate        ours: closed-form start, robust solve with warp, outliers, covariance; or
//   plain least squares on a flat board OpenCvThreeCalls calibrateCamera twice and stereoCalibrate
//   at its default criteria, with the intrinsics held (as people do) or free MrcalOptimize
//   mrcal_optimize of LENSMODEL_OPENCV5 with board warp and outlier rejection, from the true
//   parameters MrcalWhole       the same from a seed found in the corners, in the two calls that
//   mrcal-calibrate-cameras ends with
// None of the peers works out a covariance.
//
// `Ratios` runs all of them in turn, round after round, and gives the best time of each and its
// ratio to ours; above 1: we are faster. It takes the processor time of the process, which other
// programs on the machine disturb least; no candidate works in more than one thread.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/solve/calibrate.h"
#include "tests/support/rig_twin.h"

#ifdef IMPACTLAB_HAVE_MRCAL
extern "C" {
#include <mrcal/mrcal.h>
}
#endif

namespace impactlab {
namespace {

constexpr int kShots = 40;

// Shots in which both cameras see the whole board, as the peers need them.
test::RigTwin MakeTwin(double outlier_share) {
  test::RigTwinOptions options;
  options.cameras = {test::MakePinhole(1280, 1024, 1150),
                     test::MakePinhole(1280, 1024, 1165, -0.12, 0.04)};
  options.X_WC = {Eigen::Isometry3d::Identity(), test::BesideLooking(0.15, 0.7)};
  options.warp = Eigen::Vector2d(2e-4, -1.5e-4);
  options.shots = 400;
  options.outlier_share = outlier_share;
  test::RigTwin twin = test::MakeRigTwin(options, 20260401);
  const auto partial = [&](const BoardShot& shot) {
    return std::any_of(shot.views.begin(), shot.views.end(), [&](const BoardView& view) {
      return static_cast<int>(view.points.size()) < PointCount(options.board);
    });
  };
  std::size_t kept = 0;
  for (std::size_t s = 0; s < twin.problem.shots.size() && kept < kShots; ++s) {
    if (partial(twin.problem.shots[s])) continue;
    twin.problem.shots[kept] = twin.problem.shots[s];
    twin.X_WG[kept++] = twin.X_WG[s];
  }
  if (kept < kShots)
    throw std::runtime_error("too few shots with the whole board in both pictures");
  twin.problem.shots.resize(kept);
  twin.X_WG.resize(kept);
  return twin;
}

const test::RigTwin& Twin(bool outliers) {
  static const test::RigTwin clean = MakeTwin(0), dirty = MakeTwin(0.01);
  return outliers ? dirty : clean;
}

// What a run came to, to see that all solved the same thing.
struct Outcome {
  double rms = 0;       // [px], length of the residual of a point
  double baseline = 0;  // [m]
  int outliers = 0;
};

Outcome RunOurs(const test::RigTwin& twin, bool plain) {
  CalibrationOptions options;
  options.robust = options.warp = !plain;
  const CalibrationResult result = Calibrate(twin.problem, options);
  if (!result.usable()) throw std::runtime_error("our calibration failed: " + result.reason);
  return {std::sqrt(2 * result.cost / result.n_points),
          result.rig.cameras[1].X_WC.translation().norm(), result.n_outliers};
}

struct CvCorners {
  std::vector<std::vector<cv::Point3f>> object;
  std::vector<std::vector<cv::Point2f>> image[2];
  cv::Size size;
};

CvCorners ToCv(const test::RigTwin& twin) {
  CvCorners corners;
  corners.size = cv::Size(twin.problem.cameras[0].width, twin.problem.cameras[0].height);
  for (const BoardShot& shot : twin.problem.shots) {
    corners.object.emplace_back();
    for (const BoardPoint& point : shot.views[0].points) {
      const Eigen::Vector3f p = PointOnBoard(twin.problem.board, point.id).cast<float>();
      corners.object.back().emplace_back(p.x(), p.y(), p.z());
    }
    for (int c = 0; c < 2; ++c) {
      corners.image[c].emplace_back();
      for (const BoardPoint& point : shot.views[c].points)
        corners.image[c].back().emplace_back(static_cast<float>(point.q.x()),
                                             static_cast<float>(point.q.y()));
    }
  }
  return corners;
}

Outcome RunOpenCv(const CvCorners& corners, bool free_intrinsics) {
  cv::Mat K[2], D[2], R, T, E, F;
  for (int c = 0; c < 2; ++c) {
    std::vector<cv::Mat> rotations, translations;
    cv::calibrateCamera(corners.object, corners.image[c], corners.size, K[c], D[c], rotations,
                        translations);
  }
  const double rms = cv::stereoCalibrate(
      corners.object, corners.image[0], corners.image[1], K[0], D[0], K[1], D[1], corners.size, R,
      T, E, F, free_intrinsics ? cv::CALIB_USE_INTRINSIC_GUESS : cv::CALIB_FIX_INTRINSIC);
  return {rms, cv::norm(T), 0};
}

#ifdef IMPACTLAB_HAVE_MRCAL

mrcal_pose_t ToMrcal(const Eigen::Isometry3d& X) {
  const Eigen::AngleAxisd turn(X.linear());
  const Eigen::Vector3d r = turn.angle() * turn.axis(), t = X.translation();
  mrcal_pose_t pose;
  for (int j = 0; j < 3; ++j) pose.r.xyz[j] = r[j], pose.t.xyz[j] = t[j];
  return pose;
}

Eigen::Isometry3d FromCv(const cv::Mat& rotation, const cv::Mat& translation) {
  const Eigen::Vector3d r(rotation.at<double>(0), rotation.at<double>(1), rotation.at<double>(2));
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  if (r.norm() > 0) X.linear() = Eigen::AngleAxisd(r.norm(), r.normalized()).toRotationMatrix();
  X.translation() << translation.at<double>(0), translation.at<double>(1),
      translation.at<double>(2);
  return X;
}

struct MrcalProblem {
  int columns = 0, rows = 0;
  double pitch = 0;
  std::vector<int> sizes;
  std::vector<mrcal_observation_board_t> views;
  std::vector<mrcal_point3_t> pool;
};

struct MrcalState {
  std::vector<double> intrinsics;
  std::vector<mrcal_pose_t> cameras, frames;
  mrcal_calobject_warp_t warp = {};
};

MrcalProblem ToMrcal(const test::RigTwin& twin) {
  MrcalProblem problem;
  problem.columns = twin.problem.board.columns;
  problem.rows = twin.problem.board.rows;
  problem.pitch = twin.problem.board.pitch;
  for (const CameraSetup& setup : twin.problem.cameras)
    problem.sizes.insert(problem.sizes.end(), {setup.width, setup.height});
  for (std::size_t s = 0; s < twin.problem.shots.size(); ++s)
    for (int c = 0; c < 2; ++c) {
      mrcal_observation_board_t view = {};
      view.icam.intrinsics = c;
      view.icam.extrinsics = c - 1;
      view.iframe = static_cast<int>(s);
      problem.views.push_back(view);
      for (const BoardPoint& point : twin.problem.shots[s].views[c].points) {
        mrcal_point3_t observation;
        observation.x = point.q.x();
        observation.y = point.q.y();
        observation.z = 1;
        problem.pool.push_back(observation);
      }
    }
  return problem;
}

MrcalState TrueState(const test::RigTwin& twin) {
  MrcalState state;
  for (const RigCamera& camera : twin.truth.cameras) {
    const Eigen::VectorXd x = Intrinsics(camera.camera);
    state.intrinsics.insert(state.intrinsics.end(), x.data(), x.data() + x.size());
  }
  state.cameras = {ToMrcal(twin.truth.cameras[1].X_WC.inverse())};
  for (const Eigen::Isometry3d& X : twin.X_WG) state.frames.push_back(ToMrcal(X));
  state.warp.x2 = twin.warp.x();
  state.warp.y2 = twin.warp.y();
  return state;
}

// From the corners alone: Zhang's focal length, a pose of each view, the mean pose of the second
// camera.
MrcalState FindSeed(const CvCorners& corners) {
  MrcalState state;
  std::vector<Eigen::Isometry3d> X_CG[2];
  for (int c = 0; c < 2; ++c) {
    const cv::Mat K = cv::initCameraMatrix2D(corners.object, corners.image[c], corners.size);
    for (const double x : {K.at<double>(0, 0), K.at<double>(1, 1), K.at<double>(0, 2),
                           K.at<double>(1, 2), 0., 0., 0., 0., 0.})
      state.intrinsics.push_back(x);
    for (std::size_t s = 0; s < corners.object.size(); ++s) {
      cv::Mat rotation, translation;
      cv::solvePnP(corners.object[s], corners.image[c][s], K, cv::noArray(), rotation, translation);
      X_CG[c].push_back(FromCv(rotation, translation));
    }
  }
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  for (std::size_t s = 0; s < X_CG[0].size(); ++s) {
    const Eigen::Isometry3d one = X_CG[1][s] * X_CG[0][s].inverse();
    sum += one.linear();
    X.translation() += one.translation() / static_cast<double>(X_CG[0].size());
  }
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(sum, Eigen::ComputeFullU | Eigen::ComputeFullV);
  X.linear() = svd.matrixU() * svd.matrixV().transpose();
  state.cameras = {ToMrcal(X)};
  for (const Eigen::Isometry3d& pose : X_CG[0]) state.frames.push_back(ToMrcal(pose));
  return state;
}

mrcal_stats_t Optimize(const MrcalProblem& problem, MrcalState& state,
                       std::vector<mrcal_point3_t>& pool, bool warp) {
  mrcal_lensmodel_t lens = {};
  lens.type = MRCAL_LENSMODEL_OPENCV5;
  mrcal_problem_selections_t selections = {};
  selections.do_optimize_intrinsics_core = selections.do_optimize_intrinsics_distortions = true;
  selections.do_optimize_extrinsics = selections.do_optimize_frames = true;
  selections.do_optimize_calobject_warp = warp;
  selections.do_apply_regularization = selections.do_apply_outlier_rejection = true;
  mrcal_problem_constants_t constants = {};
  constants.point_max_range = 1e9;
  return mrcal_optimize(nullptr, 0, nullptr, 0, state.intrinsics.data(), state.cameras.data(),
                        state.frames.data(), nullptr, warp ? &state.warp : nullptr, 2, 1,
                        static_cast<int>(state.frames.size()), 0, 0, problem.views.data(), nullptr,
                        static_cast<int>(problem.views.size()), 0, pool.data(), &lens,
                        problem.sizes.data(), selections, &constants, problem.pitch,
                        problem.columns, problem.rows, false, false);
}

Outcome RunMrcal(const MrcalProblem& problem, MrcalState state, bool two_calls) {
  std::vector<mrcal_point3_t> pool = problem.pool;
  if (two_calls) Optimize(problem, state, pool, false);
  const mrcal_stats_t stats = Optimize(problem, state, pool, true);
  if (!(stats.rms_reproj_error__pixels > 0)) throw std::runtime_error("mrcal_optimize failed");
  const mrcal_pose_t& pose = state.cameras[0];
  return {stats.rms_reproj_error__pixels, std::hypot(pose.t.x, pose.t.y, pose.t.z),
          stats.Noutliers};
}

#endif

// Everything that is compared on one twin, by name.
std::map<std::string, std::function<Outcome()>> Candidates(bool outliers) {
  const test::RigTwin& twin = Twin(outliers);
  const CvCorners corners = ToCv(twin);
  std::map<std::string, std::function<Outcome()>> candidates;
  candidates["ours"] = [&twin] { return RunOurs(twin, false); };
  if (!outliers) {
    candidates["ours_plain"] = [&twin] { return RunOurs(twin, true); };
    candidates["opencv_fixed"] = [corners] { return RunOpenCv(corners, false); };
    candidates["opencv_free"] = [corners] { return RunOpenCv(corners, true); };
  }
#ifdef IMPACTLAB_HAVE_MRCAL
  const MrcalProblem problem = ToMrcal(twin);
  const MrcalState truth = TrueState(twin);
  candidates["mrcal_from_truth"] = [problem, truth] { return RunMrcal(problem, truth, false); };
  candidates["mrcal_whole"] = [problem, corners] {
    return RunMrcal(problem, FindSeed(corners), true);
  };
#endif
  return candidates;
}

void Report(benchmark::State& state, const Outcome& outcome) {
  state.counters["rms_px"] = outcome.rms;
  state.counters["baseline_m"] = outcome.baseline;
  state.counters["outliers"] = outcome.outliers;
}

void One(benchmark::State& state, const std::string& name, bool outliers) {
  const auto candidates = Candidates(outliers);
  const auto& run = candidates.at(name);
  Outcome outcome;
  for (auto _ : state) outcome = run();
  Report(state, outcome);
}

void Ratios(benchmark::State& state, bool outliers) {
  const auto candidates = Candidates(outliers);
  std::map<std::string, double> best;
  const auto round = [&] {
    for (const auto& [name, run] : candidates) {
      const std::clock_t start = std::clock();
      benchmark::DoNotOptimize(run());
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      const auto found = best.find(name);
      if (found == best.end() || seconds < found->second) best[name] = seconds;
    }
  };
  round();  // caches, lazily loaded code
  best.clear();
  for (auto _ : state) round();
  for (const auto& [name, seconds] : best) state.counters[name + "_ms"] = 1e3 * seconds;
  for (const auto& [name, seconds] : best)
    if (name.rfind("ours", 0) != 0) {
      state.counters[name + "_over_ours"] = seconds / best.at("ours");
      if (best.count("ours_plain"))
        state.counters[name + "_over_ours_plain"] = seconds / best.at("ours_plain");
    }
}

BENCHMARK_CAPTURE(One, Calibrate, "ours", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, CalibratePlain, "ours_plain", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, CalibrateWithOutliers, "ours", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, OpenCvThreeCallsFixed, "opencv_fixed", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, OpenCvThreeCallsFree, "opencv_free", false)->Unit(benchmark::kMillisecond);
#ifdef IMPACTLAB_HAVE_MRCAL
BENCHMARK_CAPTURE(One, MrcalOptimize, "mrcal_from_truth", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, MrcalWhole, "mrcal_whole", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(One, MrcalWholeWithOutliers, "mrcal_whole", true)->Unit(benchmark::kMillisecond);
#endif
BENCHMARK_CAPTURE(Ratios, NoOutliers, false)->Unit(benchmark::kMillisecond)->Iterations(20);
BENCHMARK_CAPTURE(Ratios, OnePercentOutliers, true)->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
