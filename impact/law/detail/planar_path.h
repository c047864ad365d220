#pragma once
// Private to the solver: the planar impact in closed form (Shen and Townsend 1998; the
// Bristol thesis, eqs 3.43-3.52).
//
// In the x-n plane with A = [[a, b], [b, c]] the rates by J_n are, slipping in the direction s =
// sign(v_x):
//   dv_x = b - s mu a,  dv_n = c - s mu b;   sticking: dv_x = 0, dv_n = c - b^2/a > 0.
// c - s mu b <= 0 (Painleve) implies that slip slows down and that b^2 < (mu a)^2, so such slip
// always stops, and then sticks.

#include "impact/law/detail/linear_walk.h"

namespace impactlab::impact {

template <class T>
struct PlanarProblem {
  T a{0}, b{0}, c{0}, v_x{0}, v_n{0}, mu_k{0}, e{0};
  double mu_s = 0;  // decides a mode only
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  bool at_rest = false;  // v_x = 0 to rounding
};

template <class T>
struct PlanarResult {
  T J_x{0}, J_n{0}, v_x{0}, v_n{0}, W_t{0};
};

// Adds a point to the path of an outcome.
inline void AddPoint(ImpactOutcome& outcome, PathEvent event, ContactMode mode_after,
                     const Eigen::Vector3d& J_F, const Eigen::Vector3d& v_F, double work_n,
                     double work_t) {
  if (outcome.path_size == static_cast<int>(outcome.path.size())) return;
  PathPoint& point = outcome.path[outcome.path_size++];
  point.event = event;
  point.mode_after = mode_after;
  point.J_F = J_F;
  point.v_F = v_F;
  point.work_n = work_n;
  point.work_t = work_t;
}

// True when a contact at v_n = 0 (or above) is not pressed together.
template <class T>
bool PlanarSeparates(const PlanarProblem<T>& problem) {
  if (Value(problem.v_n) < 0) return false;
  if (Value(problem.v_n) > 0 || problem.at_rest) return true;
  const double sense = Value(problem.v_x) > 0 ? 1 : -1;
  return Value(problem.c) - sense * Value(problem.mu_k) * Value(problem.b) >= 0;
}

// Fills everything of `outcome` but J_F and v_plus_F's vectors of derivatives; the problem must be
// valid and not separate.
template <class T>
PlanarResult<T> SolvePlanar(const PlanarProblem<T>& problem, ImpactOutcome& outcome) {
  const T &a = problem.a, &b = problem.b, &c = problem.c;
  NormalPath<T> path;
  path.law = problem.law;
  path.e = problem.e;
  path.vn_minus = path.vn = problem.v_n;
  SlipState<T> slip;
  slip.v = problem.at_rest ? T(0) : problem.v_x;
  ContactMode mode = ContactMode::kSlip;

  const auto add = [&](PathEvent event) {
    AddPoint(outcome, event, mode, {Value(slip.J), 0, Value(path.J)},
             {Value(slip.v), 0, Value(path.vn)}, Value(path.Work()), Value(slip.W));
  };
  const auto slip_rates = [&](double sense) {
    const T friction = T(-sense) * problem.mu_k;
    return LinearRates<T>{AddProduct(b, friction, a), AddProduct(c, friction, b), friction};
  };
  // friction needed for v_x = 0 lies in the static cone
  const bool holds = std::abs(Value(b)) <= problem.mu_s * Value(a);
  // the one direction that leaves v_x = 0
  const double away = Value(b) > 0 ? 1 : -1;
  const LinearRates<T> stick{T(0), Determinant(a, b, c) / a, -b / a};

  LinearRates<T> rates;
  if (problem.at_rest) {
    mode = holds ? ContactMode::kStick : ContactMode::kSlip;
    outcome.path_case.digit = holds ? 5 : 6;
    rates = holds ? stick : slip_rates(away);
  } else {
    rates = slip_rates(Value(slip.v) > 0 ? 1 : -1);
  }
  add(PathEvent::kStart);
  const auto on_compression_end = [&] { add(PathEvent::kCompressionEnds); };
  StretchEnd end = WalkLinear(path, slip, rates, on_compression_end);
  if (end == StretchEnd::kSlipStops) {
    outcome.path_case.digit = (path.restitution ? 3 : 1) + (holds ? 0 : 1);
    if (!holds && away * Value(problem.v_x) < 0) outcome.turn = M_PI;
    mode = holds ? ContactMode::kStick : ContactMode::kSlip;
    add(PathEvent::kSlipStops);
    end = WalkLinear(path, slip, holds ? stick : slip_rates(away), on_compression_end);
  }
  if (end != StretchEnd::kLaw) {
    outcome.status = SolveStatus::kNotConverged;
    outcome.reason = "the path does not end: A_F is singular to rounding";
  }
  add(PathEvent::kEnd);
  outcome.work_n_c = Value(path.W_c);
  outcome.work_n_r = Value(path.W_r);
  outcome.work_t = Value(slip.W);
  return {slip.J, path.J, slip.v, path.vn, slip.W};
}

}  // namespace impactlab::impact
