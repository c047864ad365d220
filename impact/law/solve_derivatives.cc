#include <ceres/jet.h>

#include "impact/law/detail/tangential_recovery.h"

namespace impactlab {
namespace {

using impact::kNumInputs;
using Jet = ceres::Jet<double, impact::kNumInputs>;

impact::Inputs<Jet> Seed(const impact::Inputs<double>& in) {
  impact::Inputs<Jet> seeded;
  int k = 0;
  for (int i = 0; i < 3; ++i) seeded.v[i] = Jet(in.v[i], k++);
  for (int i = 0; i < 6; ++i) seeded.A[i] = Jet(in.A[i], k++);
  seeded.e = Jet(in.e, k++);
  seeded.mu_k = Jet(in.mu_k, k++);
  seeded.e_t = Jet(in.e_t, k);
  return seeded;
}

void Set(const Jet& x, int row, Eigen::Vector3d& value, Eigen::Matrix<double, 3, 12>& derivative,
         Eigen::Vector3d& by_e_t) {
  value[row] = x.a;
  // mu_s only chooses the mode
  derivative.row(row).head<kNumInputs - 1>() = x.v.head<kNumInputs - 1>().transpose();
  by_e_t[row] = x.v[kNumInputs - 1];
}

// Kinetic energy of the contact by an impulse: J . v_minus + J . A J / 2.
Jet EnergyChange(const impact::Inputs<Jet>& in, const impact::StuckEnd<Jet>& end) {
  const auto& v = in.v;
  const auto& A = in.A;
  const Jet &x = end.J_x, &y = end.J_y, &n = end.J_n;
  return x * v[0] + y * v[1] + n * v[2] +
         0.5 * (A[0] * x * x + A[3] * y * y + A[5] * n * n +
                2.0 * (A[1] * x * y + A[2] * x * n + A[4] * y * n));
}

}  // namespace

ImpactDerivatives Differentiate(const ContactState& contact, const ImpactModel& model) {
  using namespace impact;
  ImpactDerivatives out;
  const std::string reason = Invalid(contact, model);
  if (!reason.empty()) {
    out.status = SolveStatus::kInvalid;
    return out;
  }
  const Inputs<Jet> in = Seed(PlainInputs(contact, model));
  ImpactOutcome outcome;
  const auto no_approach = [&] {
    out.status = SolveStatus::kNoApproach;
    out.v_plus_F = contact.v_minus_F;
    out.dv_plus.leftCols<3>().setIdentity();
    return out;
  };
  const auto set_J = [&](const Jet& x, int row) { Set(x, row, out.J_F, out.dJ, out.dJ_e_t); };
  const auto set_v = [&](const Jet& x, int row) {
    Set(x, row, out.v_plus_F, out.dv_plus, out.dv_plus_e_t);
  };
  if (IsPlanar(contact)) {
    const PlanarProblem<Jet> problem = MakePlanar(in, model);
    if (PlanarSeparates(problem)) return no_approach();
    const PlanarResult<Jet> result = SolvePlanar(problem, outcome);
    Recovery<Jet> back;
    if (EndsStuck(outcome))
      back = Recover(in, {result.J_x, Jet(0), result.J_n, result.v_n, result.W_t});
    set_J(result.J_x + back.J_x, 0);
    set_J(result.J_n, 2);
    set_v(result.v_x + back.v_x, 0);
    set_v(result.v_n + back.v_n, 2);
  } else {
    SolveOptions options;
    // the truncated terms of a derivative are larger by the order of the series
    options.tolerance = 1e-12;
    options.dense_output = false;
    const SpatialProblem<Jet> problem = MakeSpatial(in, model, options);
    if (SpatialSeparates(problem)) return no_approach();
    const SpatialResult<Jet> result = SpatialWalk<Jet>(problem, outcome).Run();
    const double v = problem.velocity_unit, J = problem.impulse_unit;
    Recovery<Jet> back;
    if (EndsStuck(outcome)) {
      StuckEnd<Jet> end{result.J_t.x() * J, result.J_t.y() * J, result.J_n * J, result.v_n * v,
                        Jet(0)};
      // What the body lost less what the normal impulse took.
      end.W_t = EnergyChange(in, end) - result.W_n * (v * J);
      back = Recover(in, end);
    }
    set_J(result.J_t.x() * J + back.J_x, 0);
    set_J(result.J_t.y() * J + back.J_y, 1);
    set_J(result.J_n * J, 2);
    set_v(result.v_t.x() * v + back.v_x, 0);
    set_v(result.v_t.y() * v + back.v_y, 1);
    set_v(result.v_n * v + back.v_n, 2);
  }
  out.path_case = outcome.path_case;
  out.status = outcome.status;
  return out;
}

}  // namespace impactlab
