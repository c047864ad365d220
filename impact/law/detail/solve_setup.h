#pragma once
// Private to the solver: validation of the input, and the input as the planar and the spatial path
// want it, in plain numbers or Jets.

#include <algorithm>
#include <cmath>
#include <string>

#include "impact/law/detail/spatial_path.h"

namespace impactlab::impact {

// Slip slower than this, relative to |v_minus|, is rest: the rounding of a contact velocity put
// together from v and omega x r.
inline constexpr double kRest = 1e-14;

// Empty when (contact, model) is an impact problem, else one line naming the value found and what
// is allowed.
std::string Invalid(const ContactState& contact, const ImpactModel& model);

// v_minus (3), then A_F: xx, xy, xn, yy, yn, nn, then e, mu_k, e_t: what an outcome depends on
// continuously.
template <class T>
struct Inputs {
  std::array<T, 3> v;
  std::array<T, 6> A;
  T e, mu_k, e_t;
};
inline constexpr int kNumInputs = 12;  // even, so that a Jet's part fills whole vector registers

inline Inputs<double> PlainInputs(const ContactState& contact, const ImpactModel& model) {
  const Eigen::Matrix3d& A = contact.A_F;
  const auto pair = [&A](int i, int j) { return 0.5 * (A(i, j) + A(j, i)); };
  return {{contact.v_minus_F.x(), contact.v_minus_F.y(), contact.v_minus_F.z()},
          {A(0, 0), pair(0, 1), pair(0, 2), A(1, 1), pair(1, 2), A(2, 2)},
          model.e,
          model.mu_k,
          model.e_t};
}

template <class T>
PlanarProblem<T> MakePlanar(const Inputs<T>& in, const ImpactModel& model) {
  PlanarProblem<T> problem;
  problem.a = in.A[0];
  problem.b = in.A[2];
  problem.c = in.A[5];
  problem.v_x = in.v[0];
  problem.v_n = in.v[2];
  problem.mu_k = in.mu_k;
  problem.mu_s = model.mu_s;
  problem.e = in.e;
  problem.law = model.law;
  problem.at_rest =
      std::abs(Value(in.v[0])) <= kRest * std::abs(Value(in.v[2])) || Value(in.v[0]) == 0;
  return problem;
}

// Scaled: velocities by |v_minus|, A by its largest diagonal entry.
template <class T>
SpatialProblem<T> MakeSpatial(const Inputs<T>& in, const ImpactModel& model,
                              const SolveOptions& options) {
  SpatialProblem<T> problem;
  const double v_x = Value(in.v[0]), v_y = Value(in.v[1]), v_n = Value(in.v[2]);
  problem.velocity_unit = std::sqrt(v_x * v_x + v_y * v_y + v_n * v_n);
  const double per_mass = std::max(std::max(Value(in.A[0]), Value(in.A[3])), Value(in.A[5]));
  problem.impulse_unit = problem.velocity_unit / per_mass;
  const double by_v = problem.velocity_unit > 0 ? 1 / problem.velocity_unit : 0,
               by_A = 1 / per_mass;
  problem.field.B_xx = in.A[0] * by_A;
  problem.field.B_xy = in.A[1] * by_A;
  problem.field.B_yy = in.A[3] * by_A;
  problem.field.b_x = in.A[2] * by_A;
  problem.field.b_y = in.A[4] * by_A;
  problem.field.c = in.A[5] * by_A;
  problem.field.mu = in.mu_k;
  problem.v_t = Vec2<T>(in.v[0] * by_v, in.v[1] * by_v);
  problem.v_n = in.v[2] * by_v;
  problem.e = in.e;
  problem.mu_s = model.mu_s;
  problem.law = model.law;
  problem.at_rest = std::sqrt(v_x * v_x + v_y * v_y) <= kRest * problem.velocity_unit;
  problem.tolerance = std::clamp(options.tolerance, 1e-14, 1e-3);
  problem.dense = options.dense_output;
  problem.works = model.e_t > 0 || VisitEnd(model.law, [](auto end) -> bool { return end.kWork; });
  return problem;
}

}  // namespace impactlab::impact
