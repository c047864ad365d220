#pragma once
// Independent integration of an impact for the tests: long double, none of the solver's formulas.
//
// Planar: phase by phase, every event by bisection. Spatial: Cartesian slip velocity in the
// variable sigma with dJ_n = |v_t| dsigma, Runge-Kutta of order 8(7) with step control, events by
// bisection of the last step; the direction of renewed slip by scanning all angles.

#include <array>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "impact/law/solve.h"

namespace impactlab::brute {

using Real = long double;

struct Result {
  std::array<Real, 3> v{}, J{};
  Real W_c = 0, W_r = 0, W_t = 0;
  int digit = 0;
  bool ok = true;
};

// v_x, v_y, v_n, J_x, J_y, J_n, work of the normal impulse, work of friction.
using State = std::array<Real, 8>;

class Walk {
 public:
  Walk(const ContactState& contact, const ImpactModel& model) : model_(model) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) A_[i][j] = contact.A_F(i, j);
      y_[i] = contact.v_minus_F[i];
    }
    vn_minus_ = y_[2];
    scale_ = std::hypot(std::hypot(y_[0], y_[1]), y_[2]);
    a_ = std::max(A_[0][0], std::max(A_[1][1], A_[2][2]));
  }

  Result Run(bool planar) {
    Result result;
    bool stopped = false;
    if (std::hypot(y_[0], y_[1]) > 0) {
      // Planar slip keeps its direction; so does the spatial one whose friction is zero and whose
      // v_t is parallel to b.
      stopped = planar ? Straight(Unit(), true) : Turning();
      if (stopped) result.digit = restitution_ ? 4 : 2;
    } else {
      stopped = true;
      result.digit = 6;
    }
    if (stopped && !done_) {
      y_[0] = y_[1] = 0;
      const Real det = A_[0][0] * A_[1][1] - A_[0][1] * A_[0][1];
      const Real f_x = (A_[1][1] * A_[0][2] - A_[0][1] * A_[1][2]) / det,
                 f_y = (A_[0][0] * A_[1][2] - A_[0][1] * A_[0][2]) / det;
      if (std::hypot(f_x, f_y) <= static_cast<Real>(model_.mu_s)) {
        --result.digit;
        Constant({-f_x, -f_y}, false);
      } else {
        const auto e = planar ? std::array<Real, 2>{A_[0][2] > 0 ? Real(1) : Real(-1), 0} : Away();
        Straight(e, false);
      }
    }
    result.ok = done_;
    for (int i = 0; i < 3; ++i) result.v[i] = y_[i], result.J[i] = y_[3 + i];
    result.W_c = W_c_;
    result.W_r = y_[6] - W_c_;
    result.W_t = y_[7];
    return result;
  }

 private:
  std::array<Real, 2> Unit() const {
    const Real s = std::hypot(y_[0], y_[1]);
    return {y_[0] / s, y_[1] / s};
  }

  // Positive once the law's end is passed.
  Real PastEnd(const State& y) const {
    const Real e = static_cast<Real>(model_.e);
    switch (model_.law) {
      case RestitutionLaw::kNewton:
        return y[2] + e * vn_minus_;
      case RestitutionLaw::kPoisson:
        return y[5] - (1 + e) * J_c_;
      case RestitutionLaw::kEnergetic:
        return (y[6] - W_c_) + e * e * W_c_;
    }
    throw std::logic_error("no end of this law of restitution in tests/impact/brute_force.h");
  }

  // Friction per normal impulse constant; `stops`: watch for slip that reaches zero. True when it
  // stopped.
  bool Constant(const std::array<Real, 2>& friction, bool stops) {
    const State start = y_;
    const auto at = [&](const State& from, Real p) {
      State y = from;
      for (int i = 0; i < 3; ++i)
        y[i] += p * (A_[i][0] * friction[0] + A_[i][1] * friction[1] + A_[i][2]);
      y[3] += p * friction[0];
      y[4] += p * friction[1];
      y[5] += p;
      y[6] += p * (from[2] + y[2]) / 2;
      y[7] += p * ((from[0] + y[0]) * friction[0] + (from[1] + y[1]) * friction[1]) / 2;
      return y;
    };
    const auto slip = [&](const State& y) { return y[0] * start[0] + y[1] * start[1]; };
    for (int leg = 0; leg < 6; ++leg) {
      const State from = y_;
      const auto passed = [&](const State& y) {
        if (stops && slip(y) <= 0) return true;
        return restitution_ ? PastEnd(y) >= 0 || y[2] < 0 : (y[2] >= 0 && y[2] > from[2]);
      };
      if (restitution_ && PastEnd(from) >= 0) return done_ = true, false;
      Real lo = 0, hi = scale_ / a_ * Real(1e-18);
      while (!passed(at(from, hi)) && hi < Real(1e12) * scale_ / a_) lo = hi, hi *= 2;
      for (int i = 0; i < 200; ++i) {
        const Real mid = (lo + hi) / 2;
        (passed(at(from, mid)) ? hi : lo) = mid;
      }
      const State end = at(from, hi);
      y_ = end;
      if (stops && slip(end) <= 0) return true;
      if (!restitution_) {
        restitution_ = true;
        J_c_ = y_[5];
        W_c_ = y_[6];
        y_[2] = 0;
      } else if (PastEnd(end) >= 0) {
        done_ = true;
        return false;
      } else {
        restitution_ = false;
      }
    }
    return false;
  }

  bool Straight(const std::array<Real, 2>& e, bool stops) {
    return Constant(
        {-static_cast<Real>(model_.mu_k) * e[0], -static_cast<Real>(model_.mu_k) * e[1]}, stops);
  }

  // The direction that leaves v_t = 0: of all roots of e_perp.(b - mu B e) = 0 the one with e.(b -
  // mu B e) > 0.
  std::array<Real, 2> Away() const {
    const auto rate = [&](Real phi, Real& along) {
      const Real e_x = std::cos(phi), e_y = std::sin(phi), mu = model_.mu_k;
      const Real r_x = A_[0][2] - mu * (A_[0][0] * e_x + A_[0][1] * e_y),
                 r_y = A_[1][2] - mu * (A_[1][0] * e_x + A_[1][1] * e_y);
      along = e_x * r_x + e_y * r_y;
      return e_x * r_y - e_y * r_x;
    };
    constexpr int kScan = 20000;
    const Real turn = 2 * std::acos(Real(-1));
    Real along = 0, best = 0, best_along = -1e30L;
    for (int i = 0; i < kScan; ++i) {
      Real lo = turn * i / kScan, hi = turn * (i + 1) / kScan;
      Real f_lo = rate(lo, along);
      const Real f_hi = rate(hi, along);
      if ((f_lo > 0) == (f_hi > 0)) continue;
      for (int k = 0; k < 100; ++k) {
        const Real mid = (lo + hi) / 2, f = rate(mid, along);
        if ((f > 0) == (f_lo > 0))
          lo = mid, f_lo = f;
        else
          hi = mid;
      }
      rate(lo, along);
      if (along > best_along) best_along = along, best = lo;
    }
    return {std::cos(best), std::sin(best)};
  }

  bool Turning() {
    using Stepper = boost::numeric::odeint::runge_kutta_fehlberg78<State, Real>;
    Stepper stepper;
    const Real mu = model_.mu_k;
    const auto rhs = [&](const State& y, State& dy, Real) {
      const Real s = std::hypot(y[0], y[1]);
      for (int i = 0; i < 3; ++i) dy[i] = s * A_[i][2] - mu * (A_[i][0] * y[0] + A_[i][1] * y[1]);
      dy[3] = -mu * y[0];
      dy[4] = -mu * y[1];
      dy[5] = s;
      dy[6] = s * y[2];
      dy[7] = -mu * s * s;
    };
    Real dt = Real(1e-3) / (a_ * (1 + mu));
    for (int step = 0; step < 200000; ++step) {
      const Real s = std::hypot(y_[0], y_[1]);
      if (s < Real(1e-18) * scale_) return true;
      State next, error;
      stepper.do_step(rhs, y_, Real(0), next, dt, error);
      const Real weight = std::min(s, std::hypot(next[0], next[1]));
      const Real size =
          std::max(std::hypot(error[0], error[1]) / weight,
                   std::max(std::abs(error[2]) / scale_,
                            std::abs(error[6]) / (std::max(std::abs(next[6]), std::abs(W_c_)) +
                                                  std::abs(next[2]) * (next[5] - y_[5]))));
      const Real tolerance = 1e-16L;
      const Real factor =
          Real(0.8) * std::pow(tolerance / std::max(size, Real(1e-30)), Real(0.125));
      if (!(size <= tolerance)) {
        dt *= std::max(Real(0.1), std::min(factor, Real(0.7)));
        continue;
      }
      const auto passed = [&](const State& y) {
        return restitution_ ? PastEnd(y) >= 0 || y[2] < 0 : y[2] >= 0 && y[2] > y_[2];
      };
      if (passed(next)) {
        Real lo = 0, hi = dt;
        for (int i = 0; i < 70; ++i) {
          const Real mid = (lo + hi) / 2;
          stepper.do_step(rhs, y_, Real(0), next, mid, error);
          (passed(next) ? hi : lo) = mid;
        }
        stepper.do_step(rhs, y_, Real(0), next, hi, error);
        y_ = next;
        if (!restitution_) {
          restitution_ = true;
          y_[2] = 0;
          J_c_ = y_[5];
          W_c_ = y_[6];
          if (model_.e == 0) return done_ = true, false;
        } else if (PastEnd(y_) >= 0) {
          done_ = true;
          return false;
        } else {
          restitution_ = false;
        }
        dt = std::min(dt, Real(1e-3) / (a_ * (1 + mu)));
        continue;
      }
      y_ = next;
      dt *= std::min(factor, Real(3));
    }
    return false;
  }

  ImpactModel model_;
  Real A_[3][3];
  State y_{};
  Real vn_minus_ = 0, scale_ = 1, a_ = 1, J_c_ = 0, W_c_ = 0;
  bool restitution_ = false, done_ = false;
};

inline Result Integrate(const ContactState& contact, const ImpactModel& model, bool planar) {
  return Walk(contact, model).Run(planar);
}

}  // namespace impactlab::brute
