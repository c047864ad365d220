#include "impact/body/free_flight.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/math/rotation.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;

// Rotation and drag are integrated by Taylor series: the right-hand sides are products of
// polynomials, so the coefficients follow from Cauchy products to any order, and the step follows
// from how fast they fall (Jorba & Zou, Experimental Mathematics 14, 2005).
constexpr int kOrder = 24;
constexpr double kTermTolerance = 1e-17;
constexpr int kMaxSteps = 200000;

template <class T>
using Series = std::array<T, kOrder + 1>;

template <class T>
T Evaluate(const Series<T>& c, int order, double h) {
  T sum = c[order];
  for (int i = order - 1; i >= 0; --i) sum = T(sum * h + c[i]);
  return sum;
}

// Largest step for which the last two terms stay below the tolerance relative to `scale`.
double StepFromTail(double last, double before, double scale) {
  const double limit = kTermTolerance * scale;
  const double a =
      last > 0 ? std::pow(limit / last, 1.0 / kOrder) : std::numeric_limits<double>::infinity();
  const double b = before > 0 ? std::pow(limit / before, 1.0 / (kOrder - 1))
                              : std::numeric_limits<double>::infinity();
  return std::min(a, b);
}

// Series of w' = I^-1 (L x w) with L = I w, and q' = q * (0, w) / 2, in the principal frame.
// Returns the order reached: the full one, or the first at which two terms in a row vanish for the
// step `h`.
int RotationSeries(const Vector3d& moments, const Vector3d& w0, const Eigen::Vector4d& q0, double h,
                   Series<Vector3d>& w, Series<Eigen::Vector4d>& q) {
  const Vector3d k((moments.y() - moments.z()) / moments.x(),
                   (moments.z() - moments.x()) / moments.y(),
                   (moments.x() - moments.y()) / moments.z());
  w[0] = w0;
  q[0] = q0;
  const double speed = w0.norm();
  double power = 1;
  int small = 0;
  for (int n = 0; n < kOrder; ++n) {
    Vector3d sum = Vector3d::Zero();
    double s = 0, x = 0, y = 0, z = 0;
    for (int i = 0; i <= n; ++i) {
      const Vector3d& a = w[i];
      const Vector3d& b = w[n - i];
      sum.x() += a.y() * b.z();
      sum.y() += a.z() * b.x();
      sum.z() += a.x() * b.y();
      const Eigen::Vector4d& p = q[i];
      s -= p[1] * b.x() + p[2] * b.y() + p[3] * b.z();
      x += p[0] * b.x() + p[2] * b.z() - p[3] * b.y();
      y += p[0] * b.y() + p[3] * b.x() - p[1] * b.z();
      z += p[0] * b.z() + p[1] * b.y() - p[2] * b.x();
    }
    w[n + 1] = k.cwiseProduct(sum) / (n + 1);
    q[n + 1] = Eigen::Vector4d(s, x, y, z) / (2.0 * (n + 1));
    power *= h;
    const bool negligible = w[n + 1].norm() * std::abs(power) <= kTermTolerance * speed &&
                            q[n + 1].norm() * std::abs(power) <= kTermTolerance;
    small = negligible ? small + 1 : 0;
    if (small == 2) return n + 1;
  }
  return kOrder;
}

// Turn over dt of a free asymmetric body, seen in its principal frame at the start; `w` in the
// principal frame goes along.
Matrix3d AsymmetricTurn(const Vector3d& moments, double dt, Vector3d& w) {
  Eigen::Vector4d q(1, 0, 0, 0);
  Series<Vector3d> cw;
  Series<Eigen::Vector4d> cq;
  double left = dt;
  for (int step = 0; left != 0; ++step) {
    if (step == kMaxSteps)
      throw ConfigError(
          fmt::format("free flight: found a rotation of {} rad, allowed: a flight of fewer turns",
                      w.norm() * dt));
    int order = RotationSeries(moments, w, q, left, cw, cq);
    double h = left;
    if (order == kOrder) {
      const double speed = w.norm();
      h = std::min(StepFromTail(cw[kOrder].norm(), cw[kOrder - 1].norm(), speed),
                   StepFromTail(cq[kOrder].norm(), cq[kOrder - 1].norm(), 1));
      h = std::min(h, std::abs(left)) * (left < 0 ? -1 : 1);
    }
    w = Evaluate(cw, order, h);
    q = Evaluate(cq, order, h).normalized();
    left = std::abs(h) >= std::abs(left) ? 0 : left - h;
  }
  return Quaterniond(q[0], q[1], q[2], q[3]).toRotationMatrix();
}

// Attitude and angular velocity of a torque-free body.
void Rotate(const BodyState& state, const Body& body, double dt, BodyState& next) {
  const Matrix3d& R0 = state.X_WB.linear();
  if (body.planar) {
    next.omega_WB = Vector3d(0, state.omega_WB.y(), 0);
    next.X_WB.linear() = ExpSO3(next.omega_WB * dt) * R0;
    return;
  }
  // Principal frame A of the body: I_B = R_BA diag(moments) R_BA^T.
  Matrix3d R_BA = Matrix3d::Identity();
  Vector3d moments = body.inertia_B.diagonal();
  const bool diagonal =
      body.inertia_B(0, 1) == 0 && body.inertia_B(0, 2) == 0 && body.inertia_B(1, 2) == 0;
  if (!diagonal) {
    const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(body.inertia_B);
    moments = eigen.eigenvalues();
    R_BA = eigen.eigenvectors();
    if (R_BA.determinant() < 0) R_BA.col(2) = -R_BA.col(2);
  }
  const Matrix3d R_WA = R0 * R_BA;
  Vector3d w = R_WA.transpose() * state.omega_WB;
  const auto same = [&](int i, int j) {
    return std::abs(moments[i] - moments[j]) <= 4e-16 * moments[i];
  };
  Matrix3d R_WA_next;
  int axis = -1;  // of symmetry
  for (int i = 0; i < 3; ++i) {
    if (same((i + 1) % 3, (i + 2) % 3)) axis = i;
  }
  if (axis >= 0) {
    // omega = L / I_t + w_a (1 - I_a / I_t) e_a: a steady turn about L in space after one about the
    // axis in the body.
    const double across = moments[(axis + 1) % 3];
    const Matrix3d own =
        ExpSO3(Vector3d::Unit(axis) * (w[axis] * (1 - moments[axis] / across) * dt));
    R_WA_next = R_WA * ExpSO3(moments.cwiseProduct(w) / across * dt) * own;
    w = own.transpose() * w;
  } else {
    R_WA_next = R_WA * AsymmetricTurn(moments, dt, w);
  }
  // Products of matrices drift from orthogonality by rounding; one Newton step of the polar
  // decomposition removes it.
  const Matrix3d R = R_WA_next * R_BA.transpose();
  next.X_WB.linear() = 0.5 * R * (3 * Matrix3d::Identity() - R.transpose() * R);
  next.omega_WB = next.X_WB.linear() * (R_BA * w);
}

// One stretch of flight with drag over which the speed is analytic. `sign` != 0: motion along
// gravity, whose speed is sign * v.dot(along).
void DragStretch(const Vector3d& gravity, const Vector3d& along, double sign, double k, double dt,
                 Vector3d& p, Vector3d& v) {
  Series<Vector3d> cv, cp;
  Series<double> cs;
  double left = dt;
  for (int step = 0; left != 0; ++step) {
    const double speed = sign == 0 ? v.norm() : sign * along.dot(v);
    const double scale = v.norm() + gravity.norm() * std::abs(left);
    if (!std::isfinite(scale) || step == kMaxSteps || k * scale * std::abs(dt) > 1e9) {
      throw ConfigError(
          fmt::format("free flight: drag {} 1/m: found a flight that cannot be followed over {} s "
                      "(its speed grows without bound)",
                      k, dt));
    }
    double h = left;
    if (sign == 0) {
      // |v| is singular where v.v = 0, at a complex time about |v| / |dv/dt| away. Near the
      // vertical that part of the series starts too small to show in its first terms, so the step
      // is kept inside the circle of convergence beforehand.
      const double radius = speed / (gravity - k * speed * v).norm();
      h = std::min(0.4 * radius, std::abs(left)) * (left < 0 ? -1 : 1);
    }
    cv[0] = v;
    cs[0] = speed;
    int order = kOrder, small = 0;
    double power = 1;
    for (int n = 0; n < kOrder; ++n) {
      Vector3d product = Vector3d::Zero();
      for (int i = 0; i <= n; ++i) product += cs[i] * cv[n - i];
      cv[n + 1] = (n == 0 ? gravity : Vector3d::Zero()) - k * product;
      cv[n + 1] /= n + 1;
      if (sign != 0) {
        cs[n + 1] = sign * along.dot(cv[n + 1]);
      } else {
        // From s^2 = v.v.
        double sum = 0;
        for (int i = 0; i <= n + 1; ++i) sum += cv[i].dot(cv[n + 1 - i]);
        for (int i = 1; i <= n; ++i) sum -= cs[i] * cs[n + 1 - i];
        cs[n + 1] = speed > 0 ? sum / (2 * speed) : 0;
      }
      power *= h;
      small = cv[n + 1].norm() * std::abs(power) <= kTermTolerance * scale ? small + 1 : 0;
      if (small == 2) {
        order = n + 1;
        break;
      }
    }
    if (order == kOrder) {
      h = std::min(StepFromTail(cv[kOrder].norm(), cv[kOrder - 1].norm(), scale), std::abs(h)) *
          (left < 0 ? -1 : 1);
    }
    cp[0] = Vector3d::Zero();
    for (int i = 1; i <= order; ++i) cp[i] = cv[i - 1] / i;
    p += Vector3d(Evaluate(cp, order, h) + cv[order] / (order + 1) * std::pow(h, order + 1));
    v = Evaluate(cv, order, h);
    left = std::abs(h) >= std::abs(left) ? 0 : left - h;
  }
}

void MoveWithDrag(const Vector3d& gravity, double k, double dt, Vector3d& p, Vector3d& v) {
  const double g = gravity.norm();
  const Vector3d along = g > 0 ? Vector3d(gravity / g) : Vector3d::Zero();
  const double u = along.dot(v);
  // |v| has a kink where a body thrown straight up turns. Motion this close to the vertical is
  // split there; |v| = |u| then errs below 1e-14.
  if (g == 0 || (v - u * along).norm() > 1e-7 * v.norm()) {
    if (v.norm() > 0 || g > 0) DragStretch(gravity, along, 0, k, dt, p, v);
    return;
  }
  const double terminal = std::sqrt(g / k), rate = std::sqrt(g * k);
  // time at which u passes 0, going the way of dt
  double turn = std::numeric_limits<double>::quiet_NaN();
  if (dt > 0 && u < 0) turn = std::atan(-u / terminal) / rate;
  if (dt < 0 && u > 0 && u < terminal) turn = -std::atanh(u / terminal) / rate;
  if (std::abs(turn) < std::abs(dt)) {
    DragStretch(gravity, along, u < 0 ? -1 : 1, k, turn, p, v);
    DragStretch(gravity, along, u < 0 ? 1 : -1, k, dt - turn, p, v);
    return;
  }
  // From rest a body falls forward in time, and rose before.
  DragStretch(gravity, along, u < 0 || (u == 0 && dt < 0) ? -1 : 1, k, dt, p, v);
}

}  // namespace

BodyState Propagate(const BodyState& state, const Body& body, const FlightOptions& options,
                    double dt) {
  if (!std::isfinite(dt))
    throw ConfigError(fmt::format("free flight: dt: found {}, allowed: a finite time", dt));
  const double k = options.drag_per_m;
  if (!(std::isfinite(k) && k >= 0))
    throw ConfigError(fmt::format("drag_per_m: found {}, allowed: a finite number >= 0", k));
  Vector3d gravity = options.gravity_W, v = state.v_WB, p = state.X_WB.translation();
  if (body.planar) gravity.y() = v.y() = 0;
  BodyState next;
  if (k == 0) {
    p += (v + 0.5 * dt * gravity) * dt;
    v += gravity * dt;
  } else if (dt != 0) {
    MoveWithDrag(gravity, k, dt, p, v);
  }
  next.v_WB = v;
  next.X_WB.translation() = p;
  Rotate(state, body, dt, next);
  return next;
}

}  // namespace impactlab
