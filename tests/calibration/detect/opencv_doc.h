#pragma once
// The 13 stereo pairs of opencv-doc, OpenCV's calibration of them, and a measure that treats all
// calibrations alike: how well a rig explains a pair once the pose of its board is fitted.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "calibration/solve/calibrate.h"
#include "tracking/video/video.h"

namespace impactlab::opencv_doc {

inline constexpr int kPairs[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14};
inline constexpr int kBadPair = 2;
inline constexpr double kSide = 0.025;

inline std::filesystem::path Folder() {
  const char* given = std::getenv("IMPACTLAB_OPENCV_DOC");
  return given ? given : "/usr/share/doc/opencv-doc/examples/data";
}

inline Board MakeBoard() {
  Board board;
  board.columns = 9;
  board.rows = 6;
  board.pitch = kSide;
  return board;
}

inline int PairNumber(const BoardShot& shot) { return std::stoi(shot.name); }

// Corners of all pairs by `find`; the float precision of OpenCV's solver is taken on, so that all
// solvers read the same numbers.
inline CalibrationProblem Load(const std::function<BoardView(const GrayImage&)>& find) {
  CalibrationProblem problem;
  problem.board = MakeBoard();
  for (const char* name : {"left", "right"}) {
    CameraSetup setup;
    setup.name = name;
    setup.width = 640;
    setup.height = 480;
    problem.cameras.push_back(setup);
  }
  for (const int number : kPairs) {
    BoardShot shot;
    shot.name = (number < 10 ? "0" : "") + std::to_string(number);
    for (const CameraSetup& setup : problem.cameras) {
      const std::string file = setup.name + shot.name + ".jpg";
      const GrayImage image = ReadImage(Folder() / file);
      BoardView view = find(image);
      EXPECT_EQ(view.points.size(), 54U) << file << ": " << view.problem;
      view.image = file;
      view.width = image.width;
      view.height = image.height;
      for (BoardPoint& point : view.points) point.q = point.q.cast<float>().cast<double>();
      shot.views.push_back(view);
    }
    problem.shots.push_back(shot);
  }
  return problem;
}

// As in OpenCV's own example.
inline BoardView FindByOpenCv(const GrayImage& image) {
  BoardView view;
  std::vector<std::uint8_t> pixels = image.pixels;
  const cv::Mat picture(image.height, image.width, CV_8UC1, pixels.data());
  std::vector<cv::Point2f> corners;
  if (!cv::findChessboardCorners(picture, cv::Size(9, 6), corners)) return view;
  cv::cornerSubPix(picture, corners, cv::Size(11, 11), cv::Size(-1, -1),
                   cv::TermCriteria(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 30, 0.01));
  for (std::size_t i = 0; i < corners.size(); ++i) {
    BoardPoint point;
    point.id = static_cast<int>(i);
    point.q << corners[i].x, corners[i].y;
    view.points.push_back(point);
  }
  return view;
}

inline const CalibrationProblem& CvCorners() {
  static const CalibrationProblem problem = Load(FindByOpenCv);
  return problem;
}

inline const CalibrationProblem& OwnCorners() {
  static const CalibrationProblem problem = Load([](const GrayImage& image) {
    BoardView view = DetectBoard(image, MakeBoard());
    for (BoardPoint& point : view.points) point.sd = 1;  // the peers know no weights
    return view;
  });
  return problem;
}

inline CalibrationProblem Without(const CalibrationProblem& problem,
                                  const std::function<bool(std::size_t)>& left_out) {
  CalibrationProblem rest = problem;
  rest.shots.clear();
  for (std::size_t s = 0; s < problem.shots.size(); ++s)
    if (!left_out(s)) rest.shots.push_back(problem.shots[s]);
  return rest;
}

inline CalibrationProblem WithoutBadPair(const CalibrationProblem& problem) {
  return Without(problem, [&](std::size_t s) { return PairNumber(problem.shots[s]) == kBadPair; });
}

inline CalibrationProblem OneCamera(const CalibrationProblem& problem, int camera) {
  CalibrationProblem one = problem;
  one.cameras = {problem.cameras[camera]};
  for (BoardShot& shot : one.shots) shot.views = {shot.views[camera]};
  return one;
}

inline CalibrationOptions Plain() {
  CalibrationOptions options;
  options.robust = options.warp = false;
  return options;
}

// A rig with the board it believes in.
struct Solution {
  CameraRig rig;
  Eigen::Vector2d warp = Eigen::Vector2d::Zero();
  double rms = 0;  // as its solver says
};

struct CvViews {
  std::vector<std::vector<cv::Point3f>> object;
  std::vector<std::vector<cv::Point2f>> image[2];
};

inline CvViews ToCv(const CalibrationProblem& problem) {
  CvViews views;
  for (const BoardShot& shot : problem.shots) {
    views.object.emplace_back();
    for (int id = 0; id < PointCount(problem.board); ++id) {
      const Eigen::Vector3f p = PointOnBoard(problem.board, id).cast<float>();
      views.object.back().emplace_back(p.x(), p.y(), p.z());
    }
    for (std::size_t c = 0; c < shot.views.size(); ++c) {
      views.image[c].emplace_back();
      for (const BoardPoint& point : shot.views[c].points)
        views.image[c].back().emplace_back(static_cast<float>(point.q.x()),
                                           static_cast<float>(point.q.y()));
    }
  }
  return views;
}

inline Camera FromCv(const cv::Mat& K, const cv::Mat& D) {
  Camera camera;
  camera.width = 640;
  camera.height = 480;
  Eigen::VectorXd x(9);
  x << K.at<double>(0, 0), K.at<double>(1, 1), K.at<double>(0, 2), K.at<double>(1, 2),
      D.at<double>(0), D.at<double>(1), D.at<double>(2), D.at<double>(3), D.at<double>(4);
  SetIntrinsics(camera, x);
  return camera;
}

enum class Stereo { kFixedIntrinsics, kFreeIntrinsics, kFreeToTheEnd };

// calibrateCamera for each camera, then stereoCalibrate; kFreeToTheEnd: iterations until nothing
// changes any more.
inline Solution SolveByOpenCv(const CalibrationProblem& problem, Stereo kind) {
  const CvViews views = ToCv(problem);
  const cv::Size size(640, 480);
  const bool far = kind == Stereo::kFreeToTheEnd;
  const cv::TermCriteria end(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 1000, 1e-15);
  const cv::TermCriteria usual(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 30, 2.2e-16);
  Solution solution;
  cv::Mat K[2], D[2];
  for (std::size_t c = 0; c < problem.cameras.size(); ++c) {
    std::vector<cv::Mat> rotations, translations;
    solution.rms = cv::calibrateCamera(views.object, views.image[c], size, K[c], D[c], rotations,
                                       translations, 0, far ? end : usual);
  }
  RigCamera camera;
  if (problem.cameras.size() == 2) {
    cv::Mat R, T, E, F;
    const int flags =
        kind == Stereo::kFixedIntrinsics ? cv::CALIB_FIX_INTRINSIC : cv::CALIB_USE_INTRINSIC_GUESS;
    solution.rms = cv::stereoCalibrate(
        views.object, views.image[0], views.image[1], K[0], D[0], K[1], D[1], size, R, T, E, F,
        flags,
        far ? end : cv::TermCriteria(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 30, 1e-6));
    Eigen::Isometry3d X_CW = Eigen::Isometry3d::Identity();
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) X_CW.linear()(i, j) = R.at<double>(i, j);
      X_CW.translation()[i] = T.at<double>(i);
    }
    camera.X_WC = X_CW.inverse();
  }
  for (std::size_t c = 0; c < problem.cameras.size(); ++c) {
    solution.rig.cameras.push_back(
        {problem.cameras[c].name, FromCv(K[c], D[c]), Eigen::Isometry3d::Identity()});
    if (c == 1) solution.rig.cameras[1].X_WC = camera.X_WC;
  }
  return solution;
}

inline Solution Ours(const CalibrationProblem& problem, const CalibrationOptions& options) {
  const CalibrationResult result = Calibrate(problem, options);
  EXPECT_TRUE(result.usable()) << result.reason;
  return {result.rig, result.warp, std::sqrt(2 * result.cost / result.n_points)};
}

// Sum of squared residuals [px^2] of a shot after its board pose, and nothing else, was fitted to
// all cameras.
inline double FitBoardPose(const Solution& solution, const Board& board, const BoardShot& shot) {
  const CameraRig& rig = solution.rig;
  const Eigen::Vector2d half = 0.5 * Extent(board);
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  {
    std::vector<cv::Point3d> object;
    std::vector<cv::Point2d> rays;
    for (const BoardPoint& point : shot.views[0].points) {
      const auto ray = Unproject(rig.cameras[0].camera, point.q);
      if (!ray) continue;
      const Eigen::Vector3d p = PointOnBoard(board, point.id);
      object.emplace_back(p.x(), p.y(), 0);
      rays.emplace_back(ray->x() / ray->z(), ray->y() / ray->z());
    }
    cv::Mat rotation, translation, R;
    cv::solvePnP(object, rays, cv::Mat::eye(3, 3, CV_64F), cv::noArray(), rotation, translation);
    cv::Rodrigues(rotation, R);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) X.linear()(i, j) = R.at<double>(i, j);
      X.translation()[i] = translation.at<double>(i);
    }
  }
  const auto evaluate = [&](const Eigen::Isometry3d& X_WG, Eigen::Matrix<double, 6, 6>* A,
                            Eigen::Matrix<double, 6, 1>* b) {
    double sum = 0;
    for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
      const Eigen::Isometry3d X_CW = rig.cameras[c].X_WC.inverse();
      for (const BoardPoint& point : shot.views[c].points) {
        Eigen::Vector3d p_G = PointOnBoard(board, point.id);
        const Eigen::Array2d u = p_G.head<2>().array() / half.array() - 1;
        p_G.z() += (1 - u * u).matrix().dot(solution.warp);
        const Eigen::Vector3d turned = X_WG.linear() * p_G;
        Eigen::Matrix<double, 2, 3> dq_dp;
        const auto q = Project(rig.cameras[c].camera, X_CW * (turned + X_WG.translation()), &dq_dp);
        if (!q) return std::numeric_limits<double>::infinity();
        const Eigen::Vector2d r = *q - point.q;
        sum += r.squaredNorm();
        if (!A) continue;
        Eigen::Matrix3d cross;
        cross << 0, -turned.z(), turned.y(), turned.z(), 0, -turned.x(), -turned.y(), turned.x(), 0;
        Eigen::Matrix<double, 2, 6> J;
        J << -dq_dp * X_CW.linear() * cross, dq_dp * X_CW.linear();
        *A += J.transpose() * J;
        *b += J.transpose() * r;
      }
    }
    return sum;
  };
  double sum = evaluate(X, nullptr, nullptr), damping = 1e-6;
  for (int iteration = 0; iteration < 100; ++iteration) {
    Eigen::Matrix<double, 6, 6> A = Eigen::Matrix<double, 6, 6>::Zero();
    Eigen::Matrix<double, 6, 1> b = Eigen::Matrix<double, 6, 1>::Zero();
    evaluate(X, &A, &b);
    A.diagonal() *= 1 + damping;
    const Eigen::Matrix<double, 6, 1> step = -A.ldlt().solve(b);
    Eigen::Isometry3d trial = X;
    const Eigen::Vector3d turn = step.head<3>();
    if (turn.norm() > 0)
      trial.linear() = Eigen::AngleAxisd(turn.norm(), turn.normalized()) * X.linear();
    trial.translation() += step.tail<3>();
    const double next = evaluate(trial, nullptr, nullptr);
    if (next <= sum) {
      const bool settled = sum - next < 1e-13 * sum;
      X = trial;
      sum = next;
      damping *= 0.1;
      if (settled) break;
    } else {
      damping *= 10;
      if (damping > 1e8) break;
    }
  }
  return sum;
}

// Half the sum of squared residuals over all shots with the rig held and each board where it fits
// best: never above the solver's own cost.
inline double Cost(const Solution& solution, const CalibrationProblem& problem) {
  double cost = 0;
  for (const BoardShot& shot : problem.shots)
    cost += 0.5 * FitBoardPose(solution, problem.board, shot);
  return cost;
}

struct Baseline {
  double value = 0, sd = 0;
};

inline Baseline BaselineOf(const CameraRig& rig) {
  Baseline baseline;
  const Eigen::Vector3d p = rig.cameras[1].X_WC.translation();
  baseline.value = p.norm();
  if (rig.covariance.size() == 0) return baseline;
  const int at = FirstParameter(rig, 1) + IntrinsicCount(rig.cameras[1].camera.model) + 3;
  const Eigen::Vector3d u = p.normalized();
  baseline.sd = std::sqrt(u.dot(rig.covariance.block<3, 3>(at, at) * u));
  return baseline;
}

}  // namespace impactlab::opencv_doc
