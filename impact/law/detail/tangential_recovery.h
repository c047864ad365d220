#pragma once
// Private to the solver: what a contact that sticks at the end of its path gives back along the
// surface (tangential restitution, see ImpactModel). With d = -B^-1 v_t-, B the tangential block of
// A_F, the impulse s d makes v_t+ = -s v_t- and returns the work s^2 v_t-.B^-1 v_t- / 2; s is e_t,
// or the largest share below it that every bound allows.

#include "impact/law/detail/solve_setup.h"

namespace impactlab::impact {

// Of the path, in the units of the contact. The work of friction is not read at e_t = 0.
template <class T>
struct StuckEnd {
  T J_x{0}, J_y{0}, J_n{0}, v_n{0}, W_t{0};
};

template <class T>
struct Recovery {
  T share{0};                         // s
  T J_x{0}, J_y{0};                   // s d
  T v_x{0}, v_y{0}, v_n{0}, work{0};  // what it changes
};

template <class T>
Recovery<T> Recover(const Inputs<T>& in, const StuckEnd<T>& end) {
  using std::sqrt;
  Recovery<T> out;
  const T below = in.A[1] / in.A[0];
  const T d_y = (below * in.v[0] - in.v[1]) / (Determinant(in.A[0], in.A[1], in.A[3]) / in.A[0]);
  const T d_x = -in.v[0] / in.A[0] - below * d_y;
  const T square = d_x * d_x + d_y * d_y;
  if (!(Value(square) > 0)) return out;
  T share = in.e_t;
  bool blocked = false;
  const auto at_most = [&](const T& bound) {
    if (Value(bound) < Value(share)) share = bound;
    blocked = blocked || !(Value(bound) > 0);
  };
  // |J_t + s d| <= mu_k J_n
  const T limit = in.mu_k * end.J_n;
  const T along = end.J_x * d_x + end.J_y * d_y,
          inside = limit * limit - end.J_x * end.J_x - end.J_y * end.J_y;
  if (!(Value(inside) > 0)) return out;
  const T root = sqrt(along * along + square * inside);
  at_most(Value(along) > 0 ? T(inside / (along + root)) : T((root - along) / square));
  const T lift = in.A[2] * d_x + in.A[4] * d_y;
  if (Value(lift) < 0) at_most(-end.v_n / lift);
  const T whole = -0.5 * (in.v[0] * d_x + in.v[1] * d_y);
  if (Value(in.e_t) > 0) {
    if (!(Value(end.W_t) < 0)) return out;
    // Where nothing couples the two directions friction took all of it, and the bound is 1 to
    // rounding.
    if (const T most = sqrt(-end.W_t / whole); Value(most) < 1 - 1e-12) at_most(most);
  }
  if (blocked) return out;
  out.share = share;
  out.J_x = share * d_x;
  out.J_y = share * d_y;
  out.v_x = -share * in.v[0];
  out.v_y = -share * in.v[1];
  out.v_n = share * lift;
  out.work = share * share * whole;
  return out;
}

// Case codes of paths that end sticking.
inline bool EndsStuck(const ImpactOutcome& outcome) { return outcome.path_case.digit % 2 == 1; }

}  // namespace impactlab::impact
