#pragma once
// Private to the solver: the walk over a stretch of constant rates.
//
// Wherever the direction of friction is constant, dv/dJ_n is constant, velocities are linear and
// works quadratic in J_n; every event (slip stops, v_n = 0, end by the law) is a root in closed
// form. Planar impacts consist of such stretches; spatial ones do when the contact sticks, is
// frictionless or slips along an isoclinic direction. T is double or a ceres::Jet.

#include <limits>

#include "impact/law/detail/restitution_end.h"

namespace impactlab::impact {

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
