#include "reconstruction/motion/classical.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/math/rotation.h"
#include "reconstruction/motion/arcs.h"
#include "reconstruction/motion/detail/classical_stencil.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using reconstruction::Stencil;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

// A rotation vector from the reference longer than this is ambiguous too soon [rad].
constexpr double kLargestTurn = 2.5;

void Check(const MeasuredPoses& poses, double t_impact, const ClassicalOptions& o) {
  const std::size_t n = poses.recording.t.size();
  if (poses.recording.planar)
    throw ConfigError("classical estimator: found a planar recording, allowed: poses in space");
  if (poses.recording.X_WB.size() != n || poses.cov.size() != n ||
      (poses.cov_rig.size() > 0 && poses.dx_drig.size() != n))
    throw ConfigError(
        fmt::format("classical estimator: found {} times, {} poses, {} covariances and {} "
                    "derivatives by the rig, allowed: as "
                    "many of each",
                    n, poses.recording.X_WB.size(), poses.cov.size(), poses.dx_drig.size()));
  const bool golay = o.estimator == ClassicalEstimator::kSavitzkyGolay;
  if (!std::isfinite(t_impact) || !o.gravity_W.allFinite() || !(o.exposure >= 0) ||
      !(o.jerk >= 0) || !(o.angular_jerk >= 0) || o.max_frames < 4 || o.window < 3 ||
      (golay && (o.window % 2 == 0 || o.degree < 1 || o.degree >= o.window))) {
    throw ConfigError(
        "classical estimator: found an option without meaning, allowed: a finite impact time and "
        "gravity, exposure and jerks of 0 or more, "
        "at least 4 frames and a window of 3, for Savitzky-Golay an odd window longer than the "
        "degree, 1 or more");
  }
}

class Estimator {
 public:
  Estimator(const MeasuredPoses& poses, double t_impact, const ClassicalOptions& options)
      : poses_(poses), t_impact_(t_impact), options_(options) {}

  ClassicalEstimate Run() {
    out_.observable = poses_.observable;
    // Poses by their distance from the impact.
    std::vector<int> before, after;
    for (int i = 0; i < static_cast<int>(poses_.recording.t.size()); ++i) {
      const double s = poses_.recording.t[i] - t_impact_;
      if (std::abs(s) < 0.5 * options_.exposure) continue;
      (s < 0 ? before : after).push_back(i);
    }
    std::reverse(before.begin(), before.end());
    out_.reason = Side(before, after, false, &out_.minus);
    if (out_.reason.empty()) out_.reason = Side(after, before, true, &out_.plus);
    out_.usable = out_.reason.empty();
    return std::move(out_);
  }

 private:
  double Time(int i) const { return poses_.recording.t[i]; }
  Vector3d Turn(const Matrix3d& R_ref, int i) const {
    return LogSO3(R_ref.transpose() * poses_.recording.X_WB[i].linear());
  }

  int Needed() const {
    switch (options_.estimator) {
      case ClassicalEstimator::kCentralDifference:
        return 3;
      case ClassicalEstimator::kHoubolt:
      case ClassicalEstimator::kKalman:
        return 4;
      case ClassicalEstimator::kSavitzkyGolay:
      case ClassicalEstimator::kLocalQuadratic:
        return options_.window;
    }
    return 4;
  }

  // `own` and `other`: poses of this side and the other, the nearest first.
  std::string Side(const std::vector<int>& own, const std::vector<int>& other, bool plus,
                   ClassicalSide* side) {
    const int needed = Needed();
    if (static_cast<int>(own.size()) < needed)
      return fmt::format("{} poses {} the impact, {} needs {}", own.size(),
                         plus ? "after" : "before", ToString(options_.estimator), needed);
    const bool kalman = options_.estimator == ClassicalEstimator::kKalman;
    std::vector<int> used(
        own.begin(), own.begin() + std::min<std::ptrdiff_t>(kalman ? options_.max_frames : needed,
                                                            std::ssize(own)));
    if (kalman && options_.across_impact)
      used.insert(used.end(), other.begin(),
                  other.begin() + std::min<std::ptrdiff_t>(options_.max_frames, std::ssize(other)));
    std::sort(used.begin(), used.end());
    const Matrix3d R_ref = poses_.recording.X_WB[own.front()].linear();
    LimitTurn(R_ref, own.front(), &used);
    if (static_cast<int>(used.size()) < needed) return "the body turns too far between the poses";
    std::vector<double> times(used.size());
    std::transform(used.begin(), used.end(), times.begin(), [&](int i) { return Time(i); });
    side->times = times;
    const int edge =
        static_cast<int>(std::find(used.begin(), used.end(), own.front()) - used.begin());
    Stencil position, rotation;
    if (kalman) {
      position = Smoother(used, times, edge, R_ref, false);
      rotation = Smoother(used, times, edge, R_ref, true);
    } else {
      position = rotation = Weights(times, plus);
    }
    side->t = position.t;
    Evaluate(used, R_ref, position, rotation, plus, side);
    return "";
  }

  // Keeps the poses around the first whose rotation vectors from it are unambiguous.
  void LimitTurn(const Matrix3d& R_ref, int reference, std::vector<int>* used) const {
    const auto at = std::find(used->begin(), used->end(), reference);
    auto first = at, last = at;
    while (first != used->begin() && Turn(R_ref, *std::prev(first)).norm() < kLargestTurn) --first;
    while (std::next(last) != used->end() && Turn(R_ref, *std::next(last)).norm() < kLargestTurn)
      ++last;
    used->erase(std::next(last), used->end());
    used->erase(used->begin(), first);
  }

  Stencil Weights(const std::vector<double>& times, bool plus) const {
    const bool at_end = !plus || options_.backward_after;
    switch (options_.estimator) {
      case ClassicalEstimator::kCentralDifference:
        return reconstruction::Interpolation(times, times[1]);
      case ClassicalEstimator::kSavitzkyGolay:
        return reconstruction::Polynomial(times, options_.degree, times[times.size() / 2]);
      case ClassicalEstimator::kLocalQuadratic:
        return reconstruction::Polynomial(times, 2, t_impact_);
      default:
        return reconstruction::Interpolation(times, at_end ? times.back() : times.front());
    }
  }

  Stencil Smoother(const std::vector<int>& used, const std::vector<double>& times, int edge,
                   const Matrix3d& R_ref, bool rotation) {
    Eigen::MatrixX3d samples(static_cast<Eigen::Index>(used.size()), 3);
    double variance = 0;
    for (std::size_t k = 0; k < used.size(); ++k) {
      const int i = used[k];
      const Vector3d x =
          rotation ? Turn(R_ref, i) : Vector3d(poses_.recording.X_WB[i].translation());
      samples.row(static_cast<Eigen::Index>(k)) = x.transpose();
      const int roll = rotation && !poses_.observable ? 2 : 3;
      variance +=
          (rotation ? poses_.cov[i].bottomRightCorner<3, 3>() : poses_.cov[i].topLeftCorner<3, 3>())
              .trace() /
          static_cast<double>(roll * used.size());
    }
    double& largest = rotation ? out_.angular_jerk : out_.jerk;
    const reconstruction::Smoothed smoothed =
        reconstruction::Smooth(times, samples, variance,
                               rotation ? options_.angular_jerk : options_.jerk, edge, t_impact_);
    largest = std::max(largest, smoothed.jerk);
    return smoothed.at;
  }

  void Evaluate(const std::vector<int>& used, const Matrix3d& R_ref, const Stencil& position,
                const Stencil& rotation, bool plus, ClassicalSide* side) const {
    Vector3d phi = Vector3d::Zero(), phi_rate = Vector3d::Zero();
    for (std::size_t k = 0; k < used.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      const Vector3d turn = Turn(R_ref, used[k]);
      side->v += position.rate[at] * poses_.recording.X_WB[used[k]].translation();
      phi += rotation.value[at] * turn;
      phi_rate += rotation.rate[at] * turn;
    }
    const Matrix3d J = RightJacobianSO3(phi);
    const Matrix3d R = R_ref * ExpSO3(phi);
    const Vector3d omega_B = J * phi_rate;
    side->omega = R * omega_B;
    const bool reaches = options_.estimator == ClassicalEstimator::kLocalQuadratic ||
                         options_.estimator == ClassicalEstimator::kKalman;
    if (!reaches && options_.gravity == GravityCorrection::kToImpact)
      side->v += (t_impact_ - position.t) * options_.gravity_W;
    if (!reaches && options_.gravity == GravityCorrection::kHalfInterval) {
      const double interval =
          (side->times.back() - side->times.front()) / static_cast<double>(side->times.size() - 1);
      side->v += (plus && !options_.backward_after ? -0.5 : 0.5) * interval * options_.gravity_W;
    }
    // d(v, omega)/d(pose): the rate turns with R, and the attitude at the estimate turns omega.
    std::vector<Matrix6> by_pose(used.size(), Matrix6::Zero());
    for (std::size_t k = 0; k < used.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      const Matrix3d inverse = RightJacobianSO3(Turn(R_ref, used[k])).inverse();
      by_pose[k].topLeftCorner<3, 3>() = position.rate[at] * Matrix3d::Identity();
      by_pose[k].bottomRightCorner<3, 3>() =
          R * J *
          (rotation.rate[at] * Matrix3d::Identity() - rotation.value[at] * CrossMatrix(omega_B)) *
          inverse;
    }
    for (std::size_t k = 0; k < used.size(); ++k) {
      side->cov += by_pose[k] * poses_.cov[used[k]] * by_pose[k].transpose();
      for (std::size_t l = k + 1; poses_.cross && l < used.size(); ++l) {
        const Matrix6 cross = by_pose[k] * poses_.cross(used[k], used[l]) * by_pose[l].transpose();
        side->cov += cross + cross.transpose();
      }
    }
    if (poses_.cov_rig.size() > 0) {
      MatrixXd by_rig = MatrixXd::Zero(6, poses_.cov_rig.cols());
      for (std::size_t k = 0; k < used.size(); ++k) by_rig += by_pose[k] * poses_.dx_drig[used[k]];
      side->cov += by_rig * poses_.cov_rig * by_rig.transpose();
    }
    side->cov.topLeftCorner<3, 3>().diagonal().array() += position.variance_rate;
    side->cov.bottomRightCorner<3, 3>().diagonal().array() += rotation.variance_rate;
    if (poses_.observable) return;
    const Vector3d axis_W = R * poses_.axis_B;
    Matrix6 across = Matrix6::Identity();
    across.bottomRightCorner<3, 3>() -= axis_W * axis_W.transpose();
    side->omega = across.bottomRightCorner<3, 3>() * side->omega;
    side->cov = across * side->cov * across.transpose();
  }

  const MeasuredPoses& poses_;
  double t_impact_;
  const ClassicalOptions& options_;
  ClassicalEstimate out_;
};

}  // namespace

const char* ToString(ClassicalEstimator estimator) {
  switch (estimator) {
    case ClassicalEstimator::kHoubolt:
      return "houbolt";
    case ClassicalEstimator::kCentralDifference:
      return "central_difference";
    case ClassicalEstimator::kSavitzkyGolay:
      return "savitzky_golay";
    case ClassicalEstimator::kLocalQuadratic:
      return "local_quadratic";
    case ClassicalEstimator::kKalman:
      return "kalman";
  }
  return "houbolt";
}

const char* ToString(GravityCorrection correction) {
  switch (correction) {
    case GravityCorrection::kNone:
      return "none";
    case GravityCorrection::kHalfInterval:
      return "half_interval";
    case GravityCorrection::kToImpact:
      return "to_impact";
  }
  return "none";
}

MeasuredPoses Measured(const TrackPoses& poses, const MarkerTracks& tracks, const CameraRig& rig) {
  MeasuredPoses out;
  out.recording = poses.recording;
  for (const MarkerPose& pose : poses.poses) out.cov.push_back(pose.cov_pixels);
  out.cross = [&poses, &tracks](int i, int j) -> Matrix6 {
    return CrossCovariance(poses, tracks, i, j);
  };
  if (rig.covariance.size() > 0) {
    out.cov_rig = rig.covariance;
    for (const MarkerPose& pose : poses.poses) out.dx_drig.push_back(pose.dx_drig);
  }
  out.observable = poses.observable;
  out.axis_B = poses.axis_B;
  return out;
}

ClassicalEstimate EstimateClassical(const MeasuredPoses& poses, double t_impact,
                                    const ClassicalOptions& options) {
  Check(poses, t_impact, options);
  return Estimator(poses, t_impact, options).Run();
}

}  // namespace impactlab
