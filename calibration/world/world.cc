#include "calibration/world/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "calibration/world/detail/constraints.h"
#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"

namespace impactlab {
namespace {

using calibration::kMaxAngleSd;
using calibration::WorstSd;

FrameEstimate Refused(std::string reason) {
  FrameEstimate frame;
  frame.reason = std::move(reason);
  return frame;
}

}  // namespace

CameraRig MoveRig(const CameraRig& rig, const FrameEstimate& frame, const std::string& source) {
  if (!frame.usable) throw ConfigError("world frame: not usable: " + frame.reason);
  CameraRig moved = rig;
  const Eigen::Matrix3d R_WA = frame.X_WA.linear();
  const int n = ParameterCount(rig);
  // New parameters: d' = follow d + shift (r, p)_WA.
  Eigen::MatrixXd follow = Eigen::MatrixXd::Identity(n, n), shift = Eigen::MatrixXd::Zero(n, 6);
  for (int c = 0; c < static_cast<int>(rig.cameras.size()); ++c) {
    const Eigen::Isometry3d& X_AC = rig.cameras[c].X_WC;
    moved.cameras[c].X_WC = frame.X_WA * X_AC;
    const int at = FirstParameter(rig, c) + IntrinsicCount(rig.cameras[c].camera.model);
    follow.block<3, 3>(at + 3, at + 3) = R_WA;
    shift.block<3, 3>(at, 0) = X_AC.linear().transpose();
    shift.block<3, 3>(at + 3, 0) = -R_WA * CrossMatrix(X_AC.translation());
    shift.block<3, 3>(at + 3, 3) = Eigen::Matrix3d::Identity();
  }
  if (rig.covariance.size() > 0) {
    moved.covariance = Congruence(follow, rig.covariance) + Congruence(shift, frame.cov);
    if (frame.cross.cols() == n) {
      const Eigen::MatrixXd mixed = shift * frame.cross * follow.transpose();
      moved.covariance += mixed + mixed.transpose();
    }
    moved.covariance = 0.5 * (moved.covariance + moved.covariance.transpose()).eval();
  }
  moved.world.source = source;
  if (rig.world.gravity_W) {
    moved.world.gravity_W = R_WA * *rig.world.gravity_W;
    const Eigen::Matrix3d by_r = R_WA * CrossMatrix(*rig.world.gravity_W);
    moved.world.cov_gravity = R_WA * rig.world.cov_gravity * R_WA.transpose() +
                              by_r * frame.cov.topLeftCorner<3, 3>() * by_r.transpose();
  }
  moved.world.slope.reset();
  moved.world.sd_slope = 0;
  return moved;
}

FrameEstimate FrameFromBoard(const CalibrationResult& result, int shot,
                             const BoardWorldOptions& options) {
  if (!result.usable()) return Refused("there is no calibration: " + result.reason);
  if (shot < 0 || shot >= static_cast<int>(result.shots.size()))
    throw ConfigError(fmt::format("world frame: shot {} asked for, there are {} (counted from 0)",
                                  shot, result.shots.size()));
  const ShotResult& solved = result.shots[shot];
  if (!solved.used)
    return Refused("the shot with the board on the surface took no part in the solution");
  const Eigen::Isometry3d X_GA = solved.X_WG.inverse();
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
  X_WG.linear() = Eigen::Vector3d(1, -1, -1).asDiagonal();
  X_WG.translation() << 0, 0, options.thickness;  // the printed plane lies above the surface

  FrameEstimate frame;
  frame.X_WA = X_WG * X_GA;
  Eigen::Matrix<double, 6, 6> map = calibration::InverseErrorMap(solved.X_WG);
  map.bottomRows<3>() = X_WG.linear() * map.bottomRows<3>().eval();
  frame.cov = map * solved.cov_given_common * map.transpose();
  const int n = ParameterCount(result.rig), n_common = static_cast<int>(result.cov_common.rows());
  if (solved.dpose_dcommon.cols() == n_common && n_common >= n) {
    const Eigen::MatrixXd by_common = map * solved.dpose_dcommon;
    frame.cov += Congruence(by_common, result.cov_common);
    frame.cross = by_common * result.cov_common.leftCols(n);
  }
  frame.cov(5, 5) += options.sd_thickness * options.sd_thickness;
  if (WorstSd(frame.cov.topLeftCorner<3, 3>()) > kMaxAngleSd)
    return Refused(
        "the orientation of the board is not determined; film it nearer and from a steeper angle");
  frame.usable = true;
  return frame;
}

FrameEstimate FrameGiven(const Eigen::Isometry3d& X_WA, double sd_rotation, double sd_position) {
  const Eigen::Matrix3d R = X_WA.linear();
  if (!X_WA.matrix().allFinite() || !(R.transpose() * R).isIdentity(1e-6) || R.determinant() < 0)
    throw ConfigError(
        "world frame: the rotation given is none (not orthogonal, or a mirror image)");
  FrameEstimate frame;
  frame.usable = true;
  frame.X_WA = X_WA;
  frame.cov.diagonal() << Eigen::Vector3d::Constant(sd_rotation * sd_rotation),
      Eigen::Vector3d::Constant(sd_position * sd_position);
  return frame;
}

GravityEstimate GravityGiven(const CameraRig& rig, int camera, const Eigen::Vector3d& direction,
                             double sd) {
  if (camera >= static_cast<int>(rig.cameras.size()))
    throw ConfigError(fmt::format("gravity: camera {} asked for, the rig has {} (counted from 0)",
                                  camera, rig.cameras.size()));
  if (!direction.allFinite() || !(direction.norm() > 0))
    throw ConfigError("gravity: the direction given has no length");
  GravityEstimate out;
  out.usable = true;
  out.gravity = direction.normalized();
  out.cov = sd * sd * (Eigen::Matrix3d::Identity() - out.gravity * out.gravity.transpose());
  if (camera >= 0) {
    const Eigen::Matrix3d R = rig.cameras[camera].X_WC.linear();
    const int at = FirstParameter(rig, camera) + IntrinsicCount(rig.cameras[camera].camera.model);
    out.dg_drig.setZero(3, ParameterCount(rig));
    out.dg_drig.middleCols<3>(at) = -R * CrossMatrix(out.gravity);
    out.gravity = R * out.gravity;
    out.cov = R * out.cov * R.transpose();
    out.cov += Congruence(out.dg_drig, calibration::RigCovariance(rig));
  }
  out.sd = WorstSd(out.cov);
  return out;
}

GravityEstimate GravityInWorld(const Eigen::Vector3d& direction, double sd) {
  GravityEstimate out = GravityGiven({}, -1, direction, sd);
  out.in_world = true;
  return out;
}

World MakeWorld(const CameraRig& rig, const FrameEstimate& frame,
                const std::optional<GravityEstimate>& gravity, const std::string& source) {
  World world;
  world.rig = MoveRig(rig, frame, source);
  if (!gravity) return world;
  if (!gravity->usable) {
    world.notes.push_back("gravity is not known: " + gravity->reason);
    return world;
  }
  Eigen::Vector3d g = gravity->gravity;
  Eigen::Matrix3d cov = gravity->cov;
  if (!gravity->in_world) {
    // g_W = R_WA exp(r) (g + dg): the frame's own rotation error turns it, together with what both
    // owe to the rig.
    const Eigen::Matrix3d R = frame.X_WA.linear(), K = CrossMatrix(g);
    cov += K * frame.cov.topLeftCorner<3, 3>() * K.transpose();
    if (gravity->dg_drig.cols() > 0 && frame.cross.cols() == gravity->dg_drig.cols()) {
      const Eigen::Matrix3d mixed =
          gravity->dg_drig * frame.cross.topRows<3>().transpose() * K.transpose();
      cov -= mixed + mixed.transpose();
    }
    cov = R * cov * R.transpose();
    g = R * g;
  }
  world.rig.world.gravity_W = g;
  world.rig.world.cov_gravity = 0.5 * (cov + cov.transpose());
  const double horizontal = g.head<2>().norm();
  const double tilt_sd = std::sqrt(0.5 * std::max(0.0, cov.topLeftCorner<2, 2>().trace()));
  world.slope = std::atan2(horizontal, -g.z());
  world.downhill = std::atan2(g.y(), g.x());
  if (horizontal > tilt_sd && horizontal > 0) {
    const Eigen::Vector2d h = g.head<2>() / horizontal, across(-h.y(), h.x());
    const Eigen::Vector3d by_g(-g.z() * h.x(), -g.z() * h.y(), horizontal);
    world.sd_slope = std::sqrt(std::max(0.0, by_g.dot(cov * by_g)));
    world.sd_downhill =
        std::sqrt(std::max(0.0, across.dot(cov.topLeftCorner<2, 2>() * across))) / horizontal;
  } else {
    world.sd_slope = tilt_sd;
    world.sd_downhill = std::numeric_limits<double>::infinity();
    world.notes.push_back(
        "the surface is level within the uncertainty: there is no downhill direction");
  }
  if (g.z() > 0)
    world.notes.push_back(
        fmt::format("gravity points out of the surface ({:.0f} degrees of slope): is z of the "
                    "world the right way up?",
                    world.slope * 180 / std::numbers::pi));
  world.rig.world.slope = world.slope;
  world.rig.world.sd_slope = world.sd_slope;
  return world;
}

}  // namespace impactlab
