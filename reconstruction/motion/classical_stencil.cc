#include "reconstruction/motion/detail/classical_stencil.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace impactlab::reconstruction {
namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::RowVector3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Value, rate and acceleration a time dt later.
Matrix3d Transition(double dt) {
  Matrix3d F = Matrix3d::Identity();
  F(0, 1) = F(1, 2) = dt;
  F(0, 2) = 0.5 * dt * dt;
  return F;
}

Matrix3d ProcessNoise(double jerk, double dt) {
  const double h = std::abs(dt), s = dt < 0 ? -1 : 1;
  Matrix3d Q;
  Q << std::pow(h, 5) / 20, s * std::pow(h, 4) / 8, std::pow(h, 3) / 6, s * std::pow(h, 4) / 8,
      std::pow(h, 3) / 3, s * h * h / 2, std::pow(h, 3) / 6, s * h * h / 2, h;
  return jerk * Q;
}

struct State {
  // value, rate, acceleration by columns: those of the samples, then the weights of every sample
  MatrixXd x;
  Matrix3d P = Matrix3d::Zero();
};

struct Pass {
  std::vector<State> filtered, predicted;
  double cost = 0;  // -2 ln(likelihood) of the innovations
};

// The first three samples give the start exactly.
Pass Filter(const std::vector<double>& times, const MatrixXd& columns, double variance,
            double jerk) {
  Pass pass;
  const std::size_t n = times.size();
  const std::vector<double> first(times.begin(), times.begin() + 3);
  Matrix3d V;
  for (int i = 0; i < 3; ++i)
    V.row(i) << 1, first[i] - first[2], 0.5 * std::pow(first[i] - first[2], 2);
  const Matrix3d A = V.inverse();
  State state;
  state.x = A * columns.topRows(3);
  // What the jerk does between the three samples counts as noise of the start.
  const double span = first[2] - first[0];
  state.P = variance * A * A.transpose() + ProcessNoise(jerk, span);
  pass.filtered.resize(n);
  pass.predicted.resize(n);
  pass.filtered[2] = state;
  const RowVector3d H(1, 0, 0);
  for (std::size_t i = 3; i < n; ++i) {
    const double dt = times[i] - times[i - 1];
    const Matrix3d F = Transition(dt);
    state.x = F * state.x;
    state.P = F * state.P * F.transpose() + ProcessNoise(jerk, dt);
    pass.predicted[i] = state;
    const double S = state.P(0, 0) + variance;
    const Vector3d gain = state.P.col(0) / S;
    const MatrixXd innovation = columns.row(static_cast<Index>(i)) - state.x.row(0);
    pass.cost += innovation.leftCols<3>().squaredNorm() / S + 3 * std::log(S);
    state.x += gain * innovation;
    const Matrix3d keep = Matrix3d::Identity() - gain * H;
    state.P = keep * state.P * keep.transpose() + variance * gain * gain.transpose();
    pass.filtered[i] = state;
  }
  return pass;
}

double LikeliestJerk(const std::vector<double>& times, const MatrixXd& columns, double variance) {
  // From where the jerk moves the samples by a hundredth of their noise over all of them to where
  // it does so from one to the next.
  const double span = std::abs(times.back() - times.front()),
               step = span / static_cast<double>(times.size() - 1);
  const double low = std::log10(1e-4 * variance / std::pow(span, 5)),
               high = std::log10(1e4 * variance / std::pow(step, 5));
  double best = 0, least = std::numeric_limits<double>::infinity();
  constexpr int kGrid = 24;
  for (int i = 0; i <= kGrid; ++i) {
    const double jerk = std::pow(10, low + (high - low) * i / kGrid);
    const double cost = Filter(times, columns.leftCols<3>(), variance, jerk).cost;
    if (cost < least) {
      least = cost;
      best = jerk;
    }
  }
  return best;
}

}  // namespace

Stencil Interpolation(const std::vector<double>& times, double t) {
  return Polynomial(times, static_cast<int>(times.size()) - 1, t);
}

Stencil Polynomial(const std::vector<double>& times, int degree, double t) {
  const auto n = static_cast<Index>(times.size());
  // Times from t in units of their span keep the powers near one.
  double span = 0;
  for (double x : times) span = std::max(span, std::abs(x - t));
  MatrixXd V(n, degree + 1);
  for (Index i = 0; i < n; ++i) {
    double power = 1;
    for (int k = 0; k <= degree; ++k) {
      V(i, k) = power;
      power *= (times[i] - t) / span;
    }
  }
  const MatrixXd inverse = V.householderQr().solve(MatrixXd::Identity(n, n));
  Stencil out;
  out.t = t;
  out.value = inverse.row(0).transpose();
  out.rate = inverse.row(1).transpose() / span;
  return out;
}

Smoothed Smooth(const std::vector<double>& times, const Eigen::MatrixX3d& samples, double variance,
                double jerk, int edge, double t) {
  const auto n = static_cast<Index>(times.size());
  if (edge < n / 2) {
    // Backwards in time: the filter then ends where it is asked.
    Smoothed out = Smooth({times.rbegin(), times.rend()}, samples.colwise().reverse(), variance,
                          jerk, static_cast<int>(n) - 1 - edge, t);
    out.at.value.reverseInPlace();
    out.at.rate.reverseInPlace();
    return out;
  }
  MatrixXd columns(n, 3 + n);
  columns << samples, MatrixXd::Identity(n, n);
  Smoothed out;
  out.jerk = jerk > 0 ? jerk : LikeliestJerk(times, columns, variance);
  Pass pass = Filter(times, columns, variance, out.jerk);
  State state = pass.filtered.back();
  for (int i = static_cast<int>(n) - 2; i >= edge; --i) {
    const double dt = times[i + 1] - times[i];
    const State& f = pass.filtered[i];
    const State& p = pass.predicted[i + 1];
    const Matrix3d C = f.P * Transition(dt).transpose() * p.P.inverse();
    state.x = f.x + C * (state.x - p.x);
    state.P = f.P + C * (state.P - p.P) * C.transpose();
  }
  const double dt = t - times[edge];
  const Matrix3d F = Transition(dt);
  state.x = F * state.x;
  state.P = F * state.P * F.transpose() + ProcessNoise(out.jerk, dt);
  out.at.t = t;
  out.at.value = state.x.row(0).tail(n).transpose();
  out.at.rate = state.x.row(1).tail(n).transpose();
  out.at.variance_rate = std::max(0.0, state.P(1, 1) - variance * out.at.rate.squaredNorm());
  return out;
}

}  // namespace impactlab::reconstruction
