#include "impact/multi/detail/mode_sum.h"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

namespace impactlab::impact {
namespace {

// cos(wt) and its integrals sin(wt)/w and (1 - cos wt)/w^2, from half the angle; regular at w = 0.
struct Wave {
  double cosine, once, twice;
};
Wave WaveAt(double w, double t) {
  const double x = 0.5 * w * t, s = std::sin(x), c = std::cos(x);
  const double chord = std::abs(x) < 1e-4 ? t * (1 - x * x / 6) : 2 * s / w;
  return {1 - 2 * s * s, chord * c, 0.5 * chord * chord};
}
// The next integral, (t - sin(wt)/w)/w^2.
double Thrice(double w, double t) {
  const double x = w * t, x2 = x * x;
  if (std::abs(x) < 0.5) {
    // Alternating series t^3 (1/3! - x^2/5! + ...), enough terms for 1e-17 at x = 0.5.
    double term = 1.0 / 6, sum = 0;
    for (int n = 3; n < 21; n += 2) {
      sum += term;
      term *= -x2 / ((n + 1) * (n + 2));
    }
    return t * t * t * sum;
  }
  return (t - std::sin(x) / w) / (w * w);
}

}  // namespace

ModeSums::ModeSums(const Eigen::MatrixXd& Q, const Eigen::VectorXd& stiffness,
                   const Eigen::VectorXd& stretch, const Eigen::VectorXd& delta,
                   const Eigen::VectorXd& rate)
    : delta_(delta), stretch_(stretch), stiffness_(stiffness) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Q.transpose() *
                                                             stiffness.asDiagonal() * Q);
  V_ = eigen.eigenvectors();
  g_ = Q * V_;
  omega_ = eigen.eigenvalues().cwiseMax(0).cwiseSqrt();
  eta_ = V_.transpose() * rate;
  phi_ = g_.transpose() * stiffness.cwiseProduct(stretch);
  const Eigen::VectorXd size =
      (phi_.array().square() + (omega_.array() * eta_.array()).square()).sqrt();
  fourth_ = g_.cwiseAbs() * omega_.cwiseAbs2().cwiseProduct(size);
  fifth_ = g_.cwiseAbs() * omega_.cwiseAbs2().cwiseProduct(omega_).cwiseProduct(size);
}

Eigen::VectorXd ModeSums::Delta(double t) const {
  Eigen::VectorXd y(omega_.size());
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    const Wave wave = WaveAt(omega_[i], t);
    y[i] = eta_[i] * wave.once - phi_[i] * wave.twice;
  }
  return delta_ + g_ * y;
}

Eigen::VectorXd ModeSums::Rate(double t) const {
  Eigen::VectorXd y(omega_.size());
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    const Wave wave = WaveAt(omega_[i], t);
    y[i] = eta_[i] * wave.cosine - phi_[i] * wave.once;
  }
  return V_ * y;
}

Eigen::VectorXd ModeSums::Impulse(double t) const {
  Eigen::VectorXd y(omega_.size());
  for (Eigen::Index i = 0; i < y.size(); ++i)
    y[i] = eta_[i] * WaveAt(omega_[i], t).twice - phi_[i] * Thrice(omega_[i], t);
  return -stiffness_.cwiseProduct(stretch_ * t + g_ * y);
}

double ModeSums::FirstHorizon() const {
  if (omega_.maxCoeff() > 0) return M_PI / omega_.maxCoeff();
  const Eigen::VectorXd v = g_ * eta_;
  double t = 0;
  for (Eigen::Index j = 0; j < v.size(); ++j) {
    if (v[j] != 0) t = std::max(t, std::abs(delta_[j] / v[j]));
  }
  return t > 0 ? 2 * t : 1;
}

double ModeSums::LastHorizon() const {
  const double fastest = omega_.maxCoeff();
  if (!(fastest > 0)) return FirstHorizon();
  double slowest = fastest;
  for (const double omega : omega_) {
    if (omega > 1e-7 * fastest) slowest = std::min(slowest, omega);
  }
  return M_PI * std::min(200 / slowest, 262144 / fastest);
}

double ModeSums::FirstRise(int j, double level, double horizon, double rounding) const {
  return First(Kind::kRise, j, level, horizon, rounding);
}
double ModeSums::FirstFall(int j, double level, double horizon, double rounding) const {
  return First(Kind::kFall, j, level, horizon, rounding);
}
double ModeSums::FirstTurn(int j, double horizon, double rounding) const {
  return First(Kind::kTurn, j, 0, horizon, rounding);
}

ModeSums::Value ModeSums::At(Kind kind, int j, double level, double t) const {
  Value d = {delta_[j] - level, 0, 0, 0, 0};
  for (Eigen::Index i = 0; i < omega_.size(); ++i) {
    const auto [c, once, twice] = WaveAt(omega_[i], t);
    const double w2 = omega_[i] * omega_[i], g = g_(j, i);
    const double rate = g * (eta_[i] * c - phi_[i] * once),
                 second = -g * (eta_[i] * w2 * once + phi_[i] * c);
    d[0] += g * (eta_[i] * once - phi_[i] * twice);
    d[1] += rate;
    d[2] += second;
    d[3] -= w2 * rate;
    d[4] -= w2 * second;
  }
  if (kind == Kind::kTurn) return {d[1], d[2], d[3], d[4], 0};
  if (kind == Kind::kFall) return {-d[0], -d[1], -d[2], -d[3], 0};
  return d;
}

// First t at which f rises through 0. On an interval with three derivatives at its middle and a
// bound on the fourth, f stays below zero, or is monotonic, or the interval is halved. (A contact
// far along a chain begins to move with a high power of time: low derivatives alone would ask for
// millions of intervals.)
double ModeSums::First(Kind kind, int j, double level, double horizon, double rounding) const {
  const double bound = kind == Kind::kTurn ? fifth_[j] : fourth_[j];
  const auto at = [&](double t) { return At(kind, j, level, t); };
  const Value start = at(0);
  if (start[0] > rounding && (start[1] > 0 || kind == Kind::kTurn)) return 0;
  struct Interval {
    double a, b;
  };
  Interval stack[128];
  int top = 0;
  stack[top++] = {0, horizon};
  while (top > 0) {
    const Interval in = stack[--top];
    const double h = 0.5 * (in.b - in.a), m = in.a + h;
    const Value mid = at(m);
    // How far f' and f can be from their values in the middle.
    const double slope = h * (std::abs(mid[2]) + h * (0.5 * std::abs(mid[3]) + h * bound / 6));
    const double change =
        h * (std::abs(mid[1]) +
             h * (0.5 * std::abs(mid[2]) + h * (std::abs(mid[3]) / 6 + h * bound / 24)));
    // Nothing here rises above rounding: where it goes on to rise, the next interval begins above
    // zero.
    if (mid[0] + change < 0.01 * rounding) continue;
    if (std::abs(mid[1]) > slope) {
      if (mid[1] < 0 || at(in.b)[0] <= 0) continue;
      // Rises once in here. Newton, kept inside a bracket.
      double lo = in.a, hi = in.b, t = m;
      if (at(lo)[0] > 0) return lo;
      for (int n = 0; n < 100 && hi - lo > 4e-16 * hi; ++n) {
        const Value value = at(t);
        (value[0] > 0 ? hi : lo) = t;
        const double newton = t - value[0] / value[1];
        if (std::abs(newton - t) <= 2e-16 * t && newton >= lo && newton <= hi) return newton;
        t = value[1] > 0 && newton > lo && newton < hi ? newton : 0.5 * (lo + hi);
      }
      return t;
    }
    if (h <= 1e-12 * horizon || top + 2 > 128) {
      if (at(in.b)[0] > rounding) return in.b;
      continue;
    }
    stack[top++] = {m, in.b};
    stack[top++] = {in.a, m};
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace impactlab::impact
