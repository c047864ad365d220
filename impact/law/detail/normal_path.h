#pragma once
// Private to the solver: what the law of restitution follows along the normal impulse, and the walk
// over a stretch of constant rates.
//
// Wherever the direction of friction is constant, dv/dJ_n is constant, velocities are linear and
// works quadratic in J_n; every event (slip stops, v_n = 0, end by the law) is a root in closed
// form. Planar impacts consist of such stretches; spatial ones do when the contact sticks, is
// frictionless or slips along an isoclinic direction. T is double or a ceres::Jet.

#include <cmath>
#include <limits>

#include "impact/law/solve.h"

namespace impactlab::impact {

inline double Value(double x) { return x; }
template <class T>
requires requires(const T& x) { x.a; }
double Value(const T& x) { return x.a; }

// a c - b^2 and x + f y with one rounding of the result: nearly singular A_F cancels most digits of
// the plain formulas.
template <class T>
T Determinant(const T& a, const T& b, const T& c) {
  return a * c - b * b;
}
inline double Determinant(double a, double b, double c) {
  const double square = b * b;
  return std::fma(a, c, -square) - std::fma(b, b, -square);
}
template <class T>
T AddProduct(const T& x, const T& f, const T& y) {
  return x + f * y;
}
inline double AddProduct(double x, double f, double y) { return std::fma(f, y, x); }

template <class T>
struct NormalPath {
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  T e{0}, vn_minus{0};
  T J{0}, vn{0};     // normal impulse and normal velocity so far
  T W_c{0}, W_r{0};  // normal work of compression and of restitution so far
  T J_c{0};          // normal impulse at the end of compression
  bool restitution = false;

  T Work() const { return W_c + W_r; }
  void AddWork(const T& work) { (restitution ? W_r : W_c) += work; }
  // v_n has come to zero from below. Restitution's work starts at zero, so that it keeps its digits
  // for small e.
  void EndCompression() {
    vn = T(0);
    restitution = true;
    J_c = J;
  }
  // Slip can turn so far that v_n falls to zero again before the law's end: compression goes on,
  // and its last zero counts as its end.
  void ResumeCompression() {
    vn = T(0);
    restitution = false;
    W_c += W_r;
    W_r = T(0);
  }
  T NewtonTarget() const { return -e * vn_minus; }
  T PoissonEnd() const { return (T(1) + e) * J_c; }
  // Normal work that the energetic law gives back.
  T EnergyTarget() const { return -e * e * W_c; }
};

// Constant rates by J_n of one stretch: slip coordinate, normal velocity, friction along the slip
// coordinate.
template <class T>
struct LinearRates {
  T slip{0}, normal{0}, friction{0};
};

// Slip velocity, tangential impulse and friction work along the slip coordinate of the stretch.
template <class T>
struct SlipState {
  T v{0}, J{0}, W{0};
};

// Impulse from here to the law's end at constant rate k_n, and v_n there. Infinite when this rate
// never leads there.
template <class T>
T ToLawEnd(const NormalPath<T>& path, const T& k_n, T& vn_end) {
  using std::sqrt;
  const T never(std::numeric_limits<double>::infinity());
  switch (path.law) {
    case RestitutionLaw::kNewton:
      vn_end = path.NewtonTarget();
      return Value(k_n) > 0 ? (vn_end - path.vn) / k_n
                            : (Value(vn_end) <= Value(path.vn) ? T(0) : never);
    case RestitutionLaw::kPoisson: {
      const T p = path.PoissonEnd() - path.J;
      vn_end = path.vn + k_n * p;
      return p;
    }
    case RestitutionLaw::kEnergetic: {
      if (Value(path.vn) == 0) {
        // The start of restitution: linear in e, so that derivatives stay finite at e = 0.
        if (!(Value(k_n) > 0)) return never;
        vn_end = path.e * sqrt(T(-2) * path.W_c * k_n);
        return vn_end / k_n;
      }
      const T left = path.EnergyTarget() - path.W_r;
      const T square = path.vn * path.vn + T(2) * k_n * left;
      if (!(Value(square) > 0)) return never;
      vn_end = sqrt(square);
      return T(2) * left / (path.vn + vn_end);  // no division by k_n, which may vanish
    }
  }
  return never;
}

enum class StretchEnd { kSlipStops, kLaw, kNever };

// Walks until the slip velocity reaches zero or the law ends the impact; `on_compression_end` is
// called where v_n = 0.
template <class T, class OnCompressionEnd>
StretchEnd WalkLinear(NormalPath<T>& path, SlipState<T>& slip, const LinearRates<T>& rate,
                      OnCompressionEnd&& on_compression_end) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto advance = [&](const T& p) {
    path.AddWork(p * (path.vn + T(0.5) * rate.normal * p));
    path.vn += rate.normal * p;
    path.J += p;
    slip.W += rate.friction * p * (slip.v + T(0.5) * rate.slip * p);
    slip.v += rate.slip * p;
    slip.J += rate.friction * p;
  };
  // Compression may resume at most once on a stretch of constant rates.
  for (int leg = 0; leg < 4; ++leg) {
    const bool stops = Value(slip.v) * Value(rate.slip) < 0;
    const T to_stop = stops ? -slip.v / rate.slip : T(kNever);
    T vn_end(0), to_next(kNever);
    bool resumes = false;
    if (!path.restitution) {
      if (Value(rate.normal) > 0) to_next = -path.vn / rate.normal;
      if (Value(to_next) < 0) to_next = T(0);
    } else {
      to_next = ToLawEnd(path, rate.normal, vn_end);
      if (Value(to_next) < 0) to_next = T(0);
      if (Value(rate.normal) < 0 && Value(path.vn) >= 0) {
        const T to_contact = -path.vn / rate.normal;
        resumes = Value(to_contact) < Value(to_next);
        if (resumes) to_next = to_contact;
      }
    }
    // Slip that stops just where compression ends belongs to compression; just at the law's end it
    // changes nothing.
    if (stops &&
        (path.restitution ? Value(to_stop) < Value(to_next) : Value(to_stop) <= Value(to_next))) {
      advance(to_stop);
      slip.v = T(0);
      return StretchEnd::kSlipStops;
    }
    if (!(Value(to_next) < kNever)) return StretchEnd::kNever;
    advance(to_next);
    if (!path.restitution) {
      path.EndCompression();
      on_compression_end();
    } else if (resumes) {
      path.ResumeCompression();
    } else {
      path.vn = vn_end;
      return StretchEnd::kLaw;
    }
  }
  return StretchEnd::kNever;
}

}  // namespace impactlab::impact
