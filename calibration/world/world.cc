#include "calibration/world/world.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "calibration/world/detail/constraints.h"
#include "data/base/error.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace calibration {

Eigen::MatrixXd RigCovariance(const CameraRig& rig) {
  const int n = ParameterCount(rig);
  return rig.covariance.size() > 0 ? rig.covariance : Eigen::MatrixXd::Zero(n, n);
}

Eigen::Matrix<double, 6, 6> InverseErrorMap(const Eigen::Isometry3d& X) {
  // (R exp(r))' = R' exp(-R r), and -(R exp(r))' (p + dp) = -R' p - R' dp + r x R' p.
  const Eigen::Matrix3d R = X.linear();
  Eigen::Matrix<double, 6, 6> map = Eigen::Matrix<double, 6, 6>::Zero();
  map.topLeftCorner<3, 3>() = -R;
  map.bottomLeftCorner<3, 3>() = -CrossMatrix(R.transpose() * X.translation());
  map.bottomRightCorner<3, 3>() = -R.transpose();
  return map;
}

LinearFit SolveLinear(const Eigen::VectorXd& e0, const Eigen::MatrixXd& J,
                      const Eigen::MatrixXd& S) {
  LinearFit fit;
  const Eigen::LLT<Eigen::MatrixXd> noise(S);
  if (noise.info() != Eigen::Success) return fit;
  const Eigen::MatrixXd whitened = noise.matrixL().solve(J);
  const Eigen::VectorXd residual = noise.matrixL().solve(e0);
  const Eigen::VectorXd scale = whitened.colwise().norm();
  if (!(scale.minCoeff() > 0)) return fit;
  // Unit columns: radians, metres and scale factors side by side.
  const Eigen::MatrixXd unit = whitened * scale.cwiseInverse().asDiagonal();
  const Eigen::LDLT<Eigen::MatrixXd> information(unit.transpose() * unit);
  if (information.info() != Eigen::Success || !(information.vectorD().minCoeff() > 1e-13))
    return fit;
  const Eigen::MatrixXd inverse = information.solve(Eigen::MatrixXd::Identity(J.cols(), J.cols()));
  fit.cov = scale.cwiseInverse().asDiagonal() * inverse * scale.cwiseInverse().asDiagonal();
  fit.gain = fit.cov * noise.matrixL().transpose().solve(whitened).transpose();
  fit.step = -fit.gain * e0;
  fit.chi_square = (residual + whitened * fit.step).squaredNorm();
  fit.determined = fit.step.allFinite() && fit.cov.allFinite();
  return fit;
}

double TailProbability(double chi_square, int dof) {
  return dof > 0 ? 1 - ChiSquareCdf(chi_square, dof) : 1;
}

}  // namespace calibration

namespace {

// standard deviation beyond which a frame or a direction is not usable [rad]
constexpr double kMaxAngleSd = 0.1;

FrameEstimate Refused(std::string reason) {
  FrameEstimate frame;
  frame.reason = std::move(reason);
  return frame;
}

double WorstSd(const Eigen::Matrix3d& cov) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, eigen.eigenvalues()(2)));
}

Eigen::Matrix<double, 3, 2> TangentBasis(const Eigen::Vector3d& g) {
  Eigen::Matrix<double, 3, 2> basis;
  basis.col(0) = g.unitOrthogonal();
  basis.col(1) = g.cross(basis.col(0));
  return basis;
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
    moved.covariance =
        follow * rig.covariance * follow.transpose() + shift * frame.cov * shift.transpose();
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
    frame.cov += by_common * result.cov_common * by_common.transpose();
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
    out.cov = R * out.cov * R.transpose() +
              out.dg_drig * calibration::RigCovariance(rig) * out.dg_drig.transpose();
  }
  out.sd = WorstSd(out.cov);
  return out;
}

GravityEstimate GravityInWorld(const Eigen::Vector3d& direction, double sd) {
  GravityEstimate out = GravityGiven({}, -1, direction, sd);
  out.in_world = true;
  return out;
}

namespace {

// An image point of the string as a ray.
struct StringRay {
  int camera = 0;
  Eigen::Vector3d origin, ray;          // in the rig's frame
  Eigen::Matrix<double, 3, 2> dray_dq;  //
  Eigen::MatrixXd dray_drig;            // 3 x n
  Eigen::Matrix2d cov;
};

// Parameter of the point of the line p + t g nearest to a ray.
double AlongLine(const StringRay& s, const Eigen::Vector3d& p, const Eigen::Vector3d& g) {
  const Eigen::Vector3d arm = s.origin - p;
  const double mixed = s.ray.dot(g), squared = std::max(1e-12, 1 - mixed * mixed);
  return (arm.dot(g) - arm.dot(s.ray) * mixed) / squared;
}

// The line of a string through its rays, a point p and a direction g.
class StringLine {
 public:
  explicit StringLine(const CameraRig& rig) : rig_(rig), of_camera_(rig.cameras.size()) {}

  // Each of these three says why it fails, or nothing.
  std::string TakePoints(const std::vector<PixelObservation>& line);
  std::string Start();
  std::string Fit(GravityEstimate* out);
  // Turns g downwards by the order of the points; false where the cameras contradict each other.
  bool Orient(GravityEstimate* out);

  int points() const { return static_cast<int>(rays_.size()); }

 private:
  struct Linear {
    Eigen::VectorXd e, variance;
    Eigen::MatrixXd J, by_rig;
  };
  // Distances of the rays from the line; false where it runs through a camera.
  bool Linearise(Linear* out) const;

  const CameraRig& rig_;
  std::vector<StringRay> rays_;
  std::vector<std::vector<int>> of_camera_;
  Eigen::Vector3d p_ = Eigen::Vector3d::Zero(), g_ = Eigen::Vector3d::Zero();
};

constexpr const char* kOnePlane =
    "the cameras see the plumb line in one and the same plane: move it, or use cameras side by "
    "side";

std::string StringLine::TakePoints(const std::vector<PixelObservation>& line) {
  const int n_rig = ParameterCount(rig_), n_cameras = static_cast<int>(rig_.cameras.size());
  for (const PixelObservation& o : line) {
    if (o.camera < 0 || o.camera >= n_cameras)
      throw ConfigError(fmt::format(
          "plumb line: camera {} asked for, the rig has {} (counted from 0)", o.camera, n_cameras));
    const RigCamera& camera = rig_.cameras[o.camera];
    StringRay s;
    Eigen::Matrix<double, 3, Eigen::Dynamic> dray_dintrinsics;
    const auto ray = o.q.allFinite() ? Unproject(camera.camera, o.q, &s.dray_dq, &dray_dintrinsics)
                                     : std::nullopt;
    if (!ray)
      return fmt::format(
          "a point of the plumb line lies outside the region in which the lens of {} is known",
          camera.name);
    if (Eigen::LLT<Eigen::Matrix2d>(o.cov).info() != Eigen::Success)
      return "the covariance of a point of the plumb line is not positive definite";
    const Eigen::Matrix3d R = camera.X_WC.linear();
    const int n = IntrinsicCount(camera.camera.model), at = FirstParameter(rig_, o.camera);
    s.camera = o.camera;
    s.origin = camera.X_WC.translation();
    s.ray = R * *ray;
    s.dray_dq = R * s.dray_dq;
    s.dray_drig = Eigen::MatrixXd::Zero(3, n_rig);
    s.dray_drig.middleCols(at, n) = R * dray_dintrinsics;
    s.dray_drig.middleCols<3>(at + n) = -R * CrossMatrix(*ray);
    s.cov = o.cov;
    of_camera_[o.camera].push_back(points());
    rays_.push_back(std::move(s));
  }
  return {};
}

// From the planes of sight of the cameras, the two that cross most steeply.
std::string StringLine::Start() {
  std::vector<Eigen::Vector3d> normals, origins;
  for (const auto& members : of_camera_) {
    if (members.size() < 2) continue;
    const StringRay &top = rays_[members.front()], &bottom = rays_[members.back()];
    const Eigen::Vector3d normal = top.ray.cross(bottom.ray);
    if (!(normal.norm() > 1e-6)) continue;
    normals.push_back(normal.normalized());
    origins.push_back(top.origin);
  }
  if (normals.size() < 2)
    return "a plumb line needs two points apart in each of two cameras at least";
  double steepest = 0;
  for (std::size_t i = 0; i < normals.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Eigen::Vector3d cross = normals[i].cross(normals[j]);
      if (!(cross.norm() > steepest)) continue;
      steepest = cross.norm();
      g_ = cross.normalized();
      Eigen::Matrix3d rows;
      rows << normals[i].transpose(), normals[j].transpose(), g_.transpose();
      const Eigen::Vector3d middle = 0.5 * (origins[i] + origins[j]);
      p_ = rows.inverse() *
           Eigen::Vector3d(normals[i].dot(origins[i]), normals[j].dot(origins[j]), g_.dot(middle));
    }
  }
  return steepest > 1e-4 ? "" : kOnePlane;
}

bool StringLine::Linearise(Linear* out) const {
  const int m = points();
  const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
  out->e.resize(m);
  out->J.resize(m, 4);
  out->by_rig = Eigen::MatrixXd::Zero(m, ParameterCount(rig_));
  out->variance.resize(m);
  for (int k = 0; k < m; ++k) {
    const StringRay& s = rays_[k];
    const Eigen::Vector3d arm = p_ - s.origin, normal = arm.cross(g_);
    const double length = normal.norm();
    if (!(length > 1e-9)) return false;
    const Eigen::Vector3d unit = normal / length;
    out->e(k) = s.ray.dot(unit);
    const Eigen::RowVector3d by_normal = (s.ray - out->e(k) * unit).transpose() / length;
    out->J.block<1, 2>(k, 0) = by_normal * CrossMatrix(arm) * basis;
    out->J.block<1, 2>(k, 2) = -by_normal * CrossMatrix(g_) * basis;
    out->by_rig.row(k) = unit.transpose() * s.dray_drig;
    const int at =
        FirstParameter(rig_, s.camera) + IntrinsicCount(rig_.cameras[s.camera].camera.model) + 3;
    out->by_rig.block<1, 3>(k, at) += by_normal * CrossMatrix(g_);
    const Eigen::RowVector2d by_q = unit.transpose() * s.dray_dq;
    out->variance(k) = by_q * s.cov * by_q.transpose();
  }
  return true;
}

std::string StringLine::Fit(GravityEstimate* out) {
  const Eigen::MatrixXd C = calibration::RigCovariance(rig_);
  calibration::LinearFit fit;
  Linear at;
  Eigen::MatrixXd cov_line;
  for (int iteration = 0; iteration < 30; ++iteration) {
    if (!Linearise(&at)) return "the plumb line runs through a camera";
    const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
    // Weights of the pixels alone, as for known points (FrameFromPoints); the covariance includes
    // the rig.
    Eigen::MatrixXd S = at.variance.asDiagonal();
    fit = calibration::SolveLinear(at.e, at.J, S);
    if (!fit.determined) return kOnePlane;
    const Eigen::VectorXd step = fit.step;
    const double small = step.dot(fit.cov.ldlt().solve(step));
    S += at.by_rig * C * at.by_rig.transpose();
    out->chi_square = calibration::SolveLinear(at.e, at.J, S).chi_square;
    cov_line = fit.gain * S * fit.gain.transpose();
    Eigen::Vector2d turn = step.head<2>();
    if (turn.norm() > 0.3) turn *= 0.3 / turn.norm();
    p_ += basis * step.tail<2>();
    g_ = (g_ + basis * turn).normalized();
    if (small < 1e-16) break;
  }
  const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
  out->cov = basis * cov_line.topLeftCorner<2, 2>() * basis.transpose();
  out->dg_drig = -basis * (fit.gain.topRows<2>() * at.by_rig);
  return {};
}

bool StringLine::Orient(GravityEstimate* out) {
  int down = 0, up = 0;
  for (const auto& members : of_camera_) {
    if (members.size() < 2) continue;
    (AlongLine(rays_[members.back()], p_, g_) > AlongLine(rays_[members.front()], p_, g_) ? down
                                                                                          : up) +=
        1;
  }
  if (up > 0) g_ = -g_, out->dg_drig = -out->dg_drig;
  out->gravity = g_;
  return down == 0 || up == 0;
}

}  // namespace

GravityEstimate GravityFromPlumbLine(const CameraRig& rig,
                                     const std::vector<PixelObservation>& line) {
  GravityEstimate out;
  const auto refuse = [&](std::string reason) {
    GravityEstimate refused;
    refused.chi_square = out.chi_square;
    refused.reason = std::move(reason);
    return refused;
  };
  StringLine string(rig);
  std::string fault = string.TakePoints(line);
  if (fault.empty()) fault = string.Start();
  if (fault.empty()) fault = string.Fit(&out);
  if (!fault.empty()) return refuse(fault);
  if (!string.Orient(&out))
    return refuse(
        "the points of the plumb line run up in one camera and down in another: give them from the "
        "top down in each");
  out.sd = WorstSd(out.cov);
  out.dof = string.points() - 4;
  out.p = calibration::TailProbability(out.chi_square, out.dof);
  if (!(out.sd < kMaxAngleSd)) {
    out.reason = fmt::format(
        "the direction of the plumb line is uncertain by {:.2g} rad: film more of it, larger",
        out.sd);
  } else if (out.p < 1e-6) {
    out.reason =
        "the points do not lie on one straight line: the string swings, or points of something "
        "else are among them";
  } else {
    out.usable = true;
  }
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
