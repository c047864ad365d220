#include "impact/identify/coefficient_tests.h"

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Polynomial fit about the middle of the times, scaled so that powers stay of one size:
// coefficients, covariance without the noise, chi2.
struct Polynomial {
  VectorXd c;
  MatrixXd cov;
  double square = 0, scale = 1, middle = 0;
};

Polynomial FitPolynomial(const std::vector<double>& t, const std::vector<double>& s, int degree) {
  Polynomial out;
  const auto n = static_cast<Index>(t.size());
  out.middle = 0.5 * (t.front() + t.back());
  out.scale = 0.5 * (t.back() - t.front());
  MatrixXd A(n, degree + 1);
  VectorXd y(n);
  for (Index i = 0; i < n; ++i) {
    const double x = (t[static_cast<std::size_t>(i)] - out.middle) / out.scale;
    double power = 1;
    for (Index k = 0; k <= degree; ++k, power *= x) A(i, k) = power;
    y[i] = s[static_cast<std::size_t>(i)];
  }
  const auto qr = A.colPivHouseholderQr();
  out.c = qr.solve(y);
  out.cov = (A.transpose() * A).inverse();
  out.square = (y - A * out.c).squaredNorm();
  return out;
}

VectorXd LogDurations(const std::vector<double>& t) {
  VectorXd log_T(static_cast<Index>(t.size()) - 1);
  for (Index i = 0; i < log_T.size(); ++i)
    log_T[i] = std::log(t[static_cast<std::size_t>(i) + 1] - t[static_cast<std::size_t>(i)]);
  return log_T;
}

// Generalised least squares of log T = X b with covariance C.
struct Regression {
  VectorXd b;
  MatrixXd gain, cov;
  double chi_square = 0;
};

Regression Regress(const VectorXd& y, const MatrixXd& X, const MatrixXd& C) {
  Regression out;
  const MatrixXd W = C.inverse();
  out.cov = (X.transpose() * W * X).inverse();
  out.gain = out.cov * X.transpose() * W;
  out.b = out.gain * y;
  const VectorXd r = y - X * out.b;
  out.chi_square = r.dot(W * r);
  return out;
}

}  // namespace

double FrictionOfTilt(double angle) { return std::tan(angle); }

double FrictionOfSine(double height, double length) {
  const double sine = height / length;
  return sine / std::sqrt((1 - sine) * (1 + sine));
}

double FrictionOfSlide(double angle, double acceleration, double gravity) {
  return std::tan(angle) - acceleration / (gravity * std::cos(angle));
}

double FrictionOfSlideUp(double angle, double acceleration, double gravity) {
  return FrictionOfSlide(-angle, acceleration, gravity);
}

double FrictionThereAndBack(double angle, double up, double back) {
  return std::tan(angle) * -(up + back) / (back - up);
}

double FrictionOfHangingWeight(double mass, double hanging, double angle, double acceleration,
                               double gravity) {
  return (hanging * gravity - (mass + hanging) * acceleration - mass * gravity * std::sin(angle)) /
         (mass * gravity * std::cos(angle));
}

double FrictionOfPull(double force, double mass, double gravity) {
  return force / (mass * gravity);
}

double RestitutionOfHeights(double drop, double rebound, double drag) {
  if (drag == 0) return std::sqrt(rebound / drop);
  return std::sqrt(std::expm1(2 * drag * rebound) / -std::expm1(-2 * drag * drop));
}

double RestitutionOfRecoil(double apparent, double mass_ratio) {
  return apparent * (1 + mass_ratio) + mass_ratio;
}

double RestitutionOfVelocities(double before, double after) { return after / before; }

double SlideAcceleration(const std::vector<double>& t, const std::vector<double>& s) {
  if (t.size() == 3)
    return 2 * ((s[2] - s[1]) / (t[2] - t[1]) - (s[1] - s[0]) / (t[1] - t[0])) / (t[2] - t[0]);
  const Polynomial fit = FitPolynomial(t, s, 2);
  return 2 * fit.c[2] / (fit.scale * fit.scale);
}

SlideFit FitSlide(const std::vector<double>& t, const std::vector<double>& s) {
  if (t.size() < 4 || t.size() != s.size())
    throw ConfigError("slide: found fewer than four points, allowed four or more");
  const auto n = static_cast<int>(t.size());
  SlideFit out;
  const Polynomial fit = FitPolynomial(t, s, 2);
  out.dof = n - 3;
  const double variance = fit.square / out.dof, unit = 2 / (fit.scale * fit.scale);
  out.acceleration = unit * fit.c[2];
  out.sd = unit * std::sqrt(variance * fit.cov(2, 2));
  out.v_0 = (fit.c[1] - 2 * fit.c[2]) / fit.scale;
  out.rms = std::sqrt(fit.square / n);
  if (n > 4) {
    const Polynomial cubic = FitPolynomial(t, s, 3);
    const double noise = cubic.square / (n - 4);
    if (noise > 0) out.jerk_z = cubic.c[3] / std::sqrt(noise * cubic.cov(3, 3));
    out.change = std::abs(6 * cubic.c[3]) / (cubic.scale * cubic.scale);
  }
  return out;
}

BounceFit FitBounces(const std::vector<double>& t, double u_t) {
  if (t.size() < 3)
    throw ConfigError("bounces: found fewer than three impacts, allowed three or more");
  const VectorXd log_T = LogDurations(t);
  const Index n = log_T.size();
  BounceFit out;
  for (Index i = 0; i + 1 < n; ++i) out.ratios.push_back(std::exp(log_T[i + 1] - log_T[i]));
  // Every time moves the flight before it and the one after it.
  MatrixXd D = MatrixXd::Zero(n, n + 1);
  for (Index i = 0; i < n; ++i) {
    D(i, i) = -std::exp(-log_T[i]);
    D(i, i + 1) = std::exp(-log_T[i]);
  }
  const double scale = u_t > 0 ? u_t : 1;
  const MatrixXd C = scale * scale * D * D.transpose();
  MatrixXd X(n, 2);
  for (Index i = 0; i < n; ++i) X.row(i) << 1, static_cast<double>(i);
  const Regression line = Regress(log_T, X, C);
  out.weights = line.gain.row(1);
  out.e = std::exp(line.b[1]);
  out.dof = static_cast<int>(n) - 2;
  if (!(u_t > 0) || out.dof < 1) return out;
  out.chi_square = line.chi_square;
  out.probability = 1 - ChiSquareCdf(out.chi_square, out.dof);
  MatrixXd bent(n, 3);
  for (Index i = 0; i < n; ++i)
    bent.row(i) << 1, static_cast<double>(i),
        0.5 * static_cast<double>(i) * static_cast<double>(i - 1);
  const Regression curve = Regress(log_T, bent, C);
  out.drift = curve.b[2];
  out.drift_z = curve.b[2] / std::sqrt(curve.cov(2, 2));
  return out;
}

double RestitutionOfBounces(const std::vector<double>& t, const VectorXd& weights) {
  return std::exp(weights.dot(LogDurations(t)));
}

SpeedTrend FitSpeedTrend(const std::vector<double>& speed, const std::vector<double>& e,
                         const MatrixXd& cov) {
  if (e.size() < 2 || e.size() != speed.size())
    throw ConfigError("trend with speed: found fewer than two values, allowed two or more");
  const auto n = static_cast<Index>(e.size());
  SpeedTrend out;
  const VectorXd y = Eigen::Map<const VectorXd>(e.data(), n);
  const VectorXd v = Eigen::Map<const VectorXd>(speed.data(), n);
  out.v_0 = std::exp(v.array().log().mean());
  const Regression one = Regress(y, MatrixXd::Ones(n, 1), cov);
  out.weights = one.gain.row(0);
  out.value = one.b[0];
  out.sd = std::sqrt(one.cov(0, 0));
  out.chi_square = one.chi_square;
  out.dof = static_cast<int>(n) - 1;
  out.probability = 1 - ChiSquareCdf(out.chi_square, out.dof);
  constexpr double kOneSpeed = 0.01;  // relative spread of speeds below which they are one
  if (n < 3 || v.maxCoeff() < (1 + kOneSpeed) * v.minCoeff()) return out;
  MatrixXd X(n, 2);
  X << VectorXd::Ones(n), v.array() - out.v_0;
  const Regression line = Regress(y, X, cov);
  out.line_weights = line.gain.row(0);
  out.slope_weights = line.gain.row(1);
  out.line_value = line.b[0];
  out.line_sd = std::sqrt(line.cov(0, 0));
  out.slope = line.b[1];
  out.slope_sd = std::sqrt(line.cov(1, 1));
  out.line_chi_square = line.chi_square;
  out.line_dof = static_cast<int>(n) - 2;
  out.line_probability = 1 - ChiSquareCdf(out.line_chi_square, out.line_dof);
  return out;
}

}  // namespace impactlab
