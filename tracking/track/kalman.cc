#include "tracking/track/detail/kalman.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace impactlab::tracking {
namespace {

constexpr double kLogJerkMin = 4.6, kLogJerkMax = 34.5;  // 1e4 to 1e15 px^2/s^5
constexpr double kForget = 0.98;                         // memory of 50 frames

Eigen::Matrix3d JerkCovariance(double h) {
  const double h2 = h * h, h3 = h2 * h;
  Eigen::Matrix3d q;
  q << h3 * h2 / 20, h2 * h2 / 8, h3 / 6, h2 * h2 / 8, h3 / 3, h2 / 2, h3 / 6, h2 / 2, h;
  return q;
}

Matrix6 Transition(double h) {
  Matrix6 f = Matrix6::Identity();
  f(0, 2) = f(1, 3) = f(2, 4) = f(3, 5) = h;
  f(0, 4) = f(1, 5) = h * h / 2;
  return f;
}

}  // namespace

MarkerState Start(const Eigen::Vector2d& q, const Eigen::Matrix2d& cov, double t,
                  const TrackerOptions& options) {
  MarkerState state;
  state.x.head<2>() = q;
  state.cov.topLeftCorner<2, 2>() = cov;
  state.cov(2, 2) = state.cov(3, 3) = options.speed_sd * options.speed_sd;
  state.cov(4, 4) = state.cov(5, 5) = options.acceleration_sd * options.acceleration_sd;
  state.t = t;
  return state;
}

void AddJerk(double h, double jerk, Matrix6* cov) {
  const Eigen::Matrix3d q = jerk * JerkCovariance(h);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      (*cov)(2 * i, 2 * j) += q(i, j);
      (*cov)(2 * i + 1, 2 * j + 1) += q(i, j);
    }
  }
}

void PredictState(double t, double jerk, MarkerState* state) {
  const double h = t - state->t;
  if (h == 0) return;
  Vector6& x = state->x;
  x.head<2>() += h * x.segment<2>(2) + h * h / 2 * x.tail<2>();
  x.segment<2>(2) += h * x.tail<2>();
  Matrix6& p = state->cov;
  // F P F' in the blocks of F: rows first, then columns.
  p.topRows<2>() += h * p.middleRows<2>(2) + h * h / 2 * p.bottomRows<2>();
  p.middleRows<2>(2) += h * p.bottomRows<2>();
  p.leftCols<2>() += h * p.middleCols<2>(2) + h * h / 2 * p.rightCols<2>();
  p.middleCols<2>(2) += h * p.rightCols<2>();
  if (h > 0) {
    AddJerk(h, jerk, &p);
  } else {
    // Backwards in time the noise of velocity has the other sign against position and acceleration.
    Matrix6 q = Matrix6::Zero();
    AddJerk(-h, jerk, &q);
    q.middleRows<2>(2) *= -1;
    q.middleCols<2>(2) *= -1;
    p += q;
  }
  state->t = t;
}

void OpenVelocity(double h, const TrackerOptions& options, MarkerState* state) {
  const double v2 = options.jump_speed * options.jump_speed;
  for (int i = 0; i < 2; ++i) {
    state->cov(i, i) += v2 * h * h / 3;
    state->cov(i, i + 2) += v2 * h / 2;
    state->cov(i + 2, i) += v2 * h / 2;
    state->cov(i + 2, i + 2) += v2;
  }
  // A jump of acceleration at an evenly distributed instant has the covariance of white jerk of the
  // same final variance.
  AddJerk(h, options.acceleration_sd * options.acceleration_sd / h, &state->cov);
}

Innovation InnovationOf(const MarkerState& state, const Eigen::Vector2d& q,
                        const Eigen::Matrix2d& cov) {
  Innovation result;
  result.nu = q - state.x.head<2>();
  const double a = state.cov(0, 0) + cov(0, 0), b = state.cov(0, 1) + cov(0, 1),
               d = state.cov(1, 1) + cov(1, 1);
  const double det = a * d - b * b;
  result.inverse << d / det, -b / det, -b / det, a / det;
  result.nis = result.nu.dot(result.inverse * result.nu);
  result.log_det = std::log(det);
  return result;
}

void CorrectState(const Innovation& innovation, const Eigen::Matrix2d& cov, MarkerState* state) {
  Matrix6& p = state->cov;
  const Eigen::Matrix<double, 6, 2> k = p.leftCols<2>() * innovation.inverse;
  state->x += k * innovation.nu;
  const Eigen::Matrix<double, 2, 6> top = p.topRows<2>();
  p.noalias() -= k * top;
  const Eigen::Matrix<double, 6, 2> left = p.leftCols<2>();
  p.noalias() -= left * k.transpose();
  const Eigen::Matrix<double, 6, 2> kr = k * cov;
  p.noalias() += kr * k.transpose();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < i; ++j) p(i, j) = p(j, i) = (p(i, j) + p(j, i)) / 2;
  }
}

void JerkAdaptation::Add(double h, const MarkerState& predicted, const Innovation& innovation,
                         double r, bool learn) {
  const Matrix6& p = predicted.cov;
  Eigen::Matrix3d f = Eigen::Matrix3d::Identity();
  f(0, 1) = f(1, 2) = h;
  f(0, 2) = h * h / 2;
  slope_ = f * slope_ * f.transpose() + jerk() * JerkCovariance(h);
  const double s = (p(0, 0) + p(1, 1)) / 2 + r;
  const double slope = slope_(0, 0) / s;
  Eigen::Matrix3d a = Eigen::Matrix3d::Identity();
  for (int i = 0; i < 3; ++i) a(i, 0) -= (p(2 * i, 0) + p(2 * i + 1, 1)) / 2 / s;
  slope_ = a * slope_ * a.transpose();
  if (!learn) return;
  // A single large innovation is more often a bad observation than a new regime.
  const double nis = std::min(innovation.nis, 16.0);
  information_ = std::max(kForget * information_ + slope * slope, 0.1);
  const double step = slope * (nis - 2) / 2 / information_;
  log_jerk_ = std::clamp(log_jerk_ + std::clamp(step, -1.0, 1.0), kLogJerkMin, kLogJerkMax);
}

MarkerState SmoothBack(const MarkerState& filtered, const MarkerState& next_smoothed, double jerk) {
  MarkerState predicted = filtered;
  PredictState(next_smoothed.t, jerk, &predicted);
  const Matrix6 f = Transition(next_smoothed.t - filtered.t);
  // C = P F' P_predicted^-1, in units that bring the diagonal of P_predicted to 1.
  const Vector6 scale = predicted.cov.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix6 scaled = scale.asDiagonal() * predicted.cov * scale.asDiagonal();
  const Matrix6 rhs = scale.asDiagonal() * (f * filtered.cov);
  const Eigen::LDLT<Matrix6> ldlt(scaled);
  const Matrix6 gain = (scale.asDiagonal() * ldlt.solve(rhs)).transpose();
  MarkerState result = filtered;
  result.x += gain * (next_smoothed.x - predicted.x);
  // (I - C F) P (I - C F)' + C (P_smoothed + Q) C': the symmetric form, which stays positive where
  // differences of covariances do not.
  Matrix6 noise = next_smoothed.cov;
  AddJerk(next_smoothed.t - filtered.t, jerk, &noise);
  const Matrix6 rest = Matrix6::Identity() - gain * f;
  result.cov = rest * filtered.cov * rest.transpose() + gain * noise * gain.transpose();
  result.cov = ((result.cov + result.cov.transpose()) / 2).eval();
  return result;
}

bool Usable(const Observation& o) {
  if (!o.q.allFinite() || !o.cov.allFinite() || !std::isfinite(o.t)) return false;
  if (!(o.cov(0, 0) >= 0 && o.cov(1, 1) >= 0 && o.cov.trace() < 2e4)) return false;
  return o.cov(0, 1) * o.cov(0, 1) <= o.cov(0, 0) * o.cov(1, 1) * (1 + 1e-9) + 1e-300 &&
         std::abs(o.cov(0, 1) - o.cov(1, 0)) < 1e-6;
}

Eigen::Matrix2d Covariance(const Observation& o, const TrackerOptions& options) {
  return o.cov + std::max(options.position_floor * options.position_floor, 1e-8) *
                     Eigen::Matrix2d::Identity();
}

void Check(const TrackerOptions& o) {
  const auto positive = [](double value, const char* name) {
    if (!(value > 0 && std::isfinite(value)))
      throw std::invalid_argument(std::string("tracker: ") + name + " must be above 0");
  };
  if (!(o.position_floor >= 0 && std::isfinite(o.position_floor)))
    throw std::invalid_argument("tracker: position_floor must not be below 0");
  positive(o.speed_sd, "speed_sd");
  positive(o.acceleration_sd, "acceleration_sd");
  positive(o.jerk_density, "jerk_density");
  positive(o.gate, "gate");
  positive(o.jump_speed, "jump_speed");
  if (o.gap_max < 0 || o.confirm < 1 || o.markers < 0)
    throw std::invalid_argument("tracker: gap_max, confirm, markers: counts");
  if (!(o.size_ratio > 1)) throw std::invalid_argument("tracker: size_ratio must be above 1");
}

}  // namespace impactlab::tracking
