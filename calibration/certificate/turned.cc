// Pictures of one camera that are upside down against the rest.
//
// A picture turned by 180 degrees is one of a camera whose principal point is mirrored at the
// centre of the image. Each shot by itself determines the principal point weakly; two clusters of
// shots separate the turned ones from the rest, and a solve with these turned back decides.

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>
#include <optional>

#include "calibration/certificate/detail/findings.h"

namespace impactlab::calibration {
namespace {

constexpr double kLargeGain = 0.6;

// Estimate of the principal point from one shot with the pose of the board free: shift from the
// solved one, and its information.
struct CentreOfShot {
  int shot = 0;
  Eigen::Vector2d shift;
  Eigen::Matrix2d information;
};

std::optional<CentreOfShot> CentreFrom(const CalibrationProblem& problem,
                                       const CalibrationResult& result, int camera, int shot) {
  const ShotResult& solved = result.shots[shot];
  const RigCamera& rig_camera = result.rig.cameras[camera];
  const Eigen::Isometry3d X_CG = rig_camera.X_WC.inverse() * solved.X_WG;
  const Eigen::Vector2d half = (0.5 * Extent(problem.board)).cwiseMax(1e-300);
  Eigen::Matrix<double, 8, 8> N = Eigen::Matrix<double, 8, 8>::Zero();  // principal point, motion
  Eigen::Matrix<double, 8, 1> g = Eigen::Matrix<double, 8, 1>::Zero();
  int n = 0;
  for (const PointResidual& point : solved.views[camera].points) {
    if (!point.residual.allFinite()) continue;
    Eigen::Vector3d p_G = PointOnBoard(problem.board, point.id);
    const Eigen::Array2d u = p_G.head<2>().array() / half.array() - 1;
    p_G.z() += Eigen::Vector2d(1 - u * u).dot(result.warp);
    Eigen::Matrix<double, 2, Eigen::Dynamic> by_intrinsics;
    Eigen::Matrix<double, 2, 6> by_motion;
    if (!PixelDerivatives(rig_camera.camera, X_CG * p_G, &by_intrinsics, &by_motion)) continue;
    Eigen::Matrix<double, 2, 8> J;
    J << by_intrinsics.middleCols<2>(2), by_motion;
    N += J.transpose() * J / (point.sd * point.sd);
    g -= J.transpose() * point.residual / (point.sd * point.sd);
    ++n;
  }
  if (n < 6) return std::nullopt;
  const Eigen::LDLT<Eigen::Matrix<double, 6, 6>> motion(N.bottomRightCorner<6, 6>());
  const Eigen::Matrix<double, 6, 2> follow = motion.solve(N.bottomLeftCorner<6, 2>());
  CentreOfShot out;
  out.shot = shot;
  out.information = N.topLeftCorner<2, 2>() - N.topRightCorner<2, 6>() * follow;
  out.shift = out.information.ldlt().solve(g.head<2>() - follow.transpose() * g.tail<6>());
  if (!out.shift.allFinite() || !(out.information.determinant() > 0)) return std::nullopt;
  return out;
}

// The best division into two clusters over all starts, a start being one shot against the mean;
// marks the members of the first cluster.
std::vector<char> TwoClouds(const std::vector<CentreOfShot>& shots) {
  const auto mean = [&](const std::vector<char>& mark, char which) {
    Eigen::Matrix2d N = 1e-12 * Eigen::Matrix2d::Identity();
    Eigen::Vector2d b = Eigen::Vector2d::Zero();
    for (std::size_t k = 0; k < shots.size(); ++k)
      if (mark[k] == which) N += shots[k].information, b += shots[k].information * shots[k].shift;
    return Eigen::Vector2d(N.ldlt().solve(b));
  };
  std::vector<char> best;
  double least = std::numeric_limits<double>::infinity();
  const Eigen::Vector2d all = mean(std::vector<char>(shots.size(), 0), 0);
  for (const CentreOfShot& start : shots) {
    Eigen::Vector2d centre[2] = {all, start.shift};
    std::vector<char> mark(shots.size(), 0);
    double cost = 0;
    for (int round = 0; round < 20; ++round) {
      const auto before = mark;
      cost = 0;
      for (std::size_t k = 0; k < shots.size(); ++k) {
        const Eigen::Vector2d d[2] = {shots[k].shift - centre[0], shots[k].shift - centre[1]};
        const double far[2] = {d[0].dot(shots[k].information * d[0]),
                               d[1].dot(shots[k].information * d[1])};
        mark[k] = far[1] < far[0];
        cost += std::min(far[0], far[1]);
      }
      if (mark == before) break;
      for (const int which : {0, 1}) centre[which] = mean(mark, static_cast<char>(which));
    }
    if (cost < least) least = cost, best = mark;
  }
  return best;
}

}  // namespace

TurnedPictures FindTurnedPictures(const CalibrationProblem& problem,
                                  const CalibrationResult& result, int camera) {
  TurnedPictures out;
  std::vector<CentreOfShot> shots;
  for (int s = 0; s < static_cast<int>(std::min(result.shots.size(), problem.shots.size())); ++s) {
    const ShotResult& shot = result.shots[s];
    if (!shot.used || camera >= static_cast<int>(shot.views.size()) ||
        !shot.views[camera].rejected.empty())
      continue;
    if (const auto centre = CentreFrom(problem, result, camera, s)) shots.push_back(*centre);
  }
  if (shots.size() < 6) return out;
  std::vector<char> mark = TwoClouds(shots);
  const auto marked = static_cast<std::size_t>(std::count(mark.begin(), mark.end(), 1));
  if (2 * marked > mark.size())
    for (char& m : mark) m = !m;
  CalibrationProblem alone;
  alone.board = problem.board;
  alone.cameras = {problem.cameras[camera]};
  alone.cameras[0].shares_intrinsics_with = -1;
  for (const CentreOfShot& shot : shots) {
    alone.shots.push_back(problem.shots[shot.shot]);
    alone.shots.back().views = {problem.shots[shot.shot].views[camera]};
  }
  const CalibrationResult as_is = Calibrate(alone);
  std::vector<int> turned;
  for (std::size_t k = 0; k < shots.size(); ++k) {
    if (!mark[k]) continue;
    turned.push_back(shots[k].shot);
    for (BoardPoint& point : alone.shots[k].views[0].points)
      point.q = Eigen::Vector2d(alone.cameras[0].width - 1, alone.cameras[0].height - 1) - point.q;
  }
  if (turned.empty()) return out;
  const CalibrationResult back = Calibrate(alone);
  if (!as_is.usable() || !back.usable() || back.n_points < as_is.n_points) return out;
  out.sigma_as_is = as_is.sigma[0];
  out.sigma_turned = back.sigma[0];
  // With an unsuitable lens model turned pictures can fit slightly better by chance: only a large
  // gain counts.
  if (out.sigma_turned < kLargeGain * out.sigma_as_is) out.shots = turned;
  return out;
}

}  // namespace impactlab::calibration
