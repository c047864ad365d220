#include <ceres/jet.h>

#include "impact/solve_setup.h"

namespace impactlab {
namespace {

using internal::kNumInputs;
using Jet = ceres::Jet<double, internal::kJetSize>;

internal::Inputs<Jet> Seed(const internal::Inputs<double>& in) {
  internal::Inputs<Jet> seeded;
  int k = 0;
  for (int i = 0; i < 3; ++i) seeded.v[i] = Jet(in.v[i], k++);
  for (int i = 0; i < 6; ++i) seeded.A[i] = Jet(in.A[i], k++);
  seeded.e = Jet(in.e, k++);
  seeded.mu_k = Jet(in.mu_k, k);
  return seeded;
}

void Set(const Jet& x, double unit, int row, Eigen::Vector3d& value, Eigen::Matrix<double, 3, 12>& derivative) {
  value[row] = x.a * unit;
  derivative.row(row).head<kNumInputs>() = x.v.head<kNumInputs>().transpose() * unit;  // mu_s only chooses the mode
}

}  // namespace

ImpactDerivatives Differentiate(const ContactState& contact, const ImpactModel& model) {
  using namespace internal;
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
  if (IsPlanar(contact)) {
    const PlanarProblem<Jet> problem = MakePlanar(in, model);
    if (PlanarSeparates(problem)) return no_approach();
    const PlanarResult<Jet> result = SolvePlanar(problem, outcome);
    Set(result.J_x, 1, 0, out.J_F, out.dJ);
    Set(result.J_n, 1, 2, out.J_F, out.dJ);
    Set(result.v_x, 1, 0, out.v_plus_F, out.dv_plus);
    Set(result.v_n, 1, 2, out.v_plus_F, out.dv_plus);
  } else {
    SolveOptions options;
    options.tolerance = 1e-12;  // the truncated terms of a derivative are larger by the order of the series
    options.dense_output = false;
    const SpatialProblem<Jet> problem = MakeSpatial(in, model, options);
    if (SpatialSeparates(problem)) return no_approach();
    const SpatialResult<Jet> result = SpatialWalk<Jet>(problem, outcome).Run();
    const double v = problem.velocity_unit, J = problem.impulse_unit;
    Set(result.J_t.x(), J, 0, out.J_F, out.dJ);
    Set(result.J_t.y(), J, 1, out.J_F, out.dJ);
    Set(result.J_n, J, 2, out.J_F, out.dJ);
    Set(result.v_t.x(), v, 0, out.v_plus_F, out.dv_plus);
    Set(result.v_t.y(), v, 1, out.v_plus_F, out.dv_plus);
    Set(result.v_n, v, 2, out.v_plus_F, out.dv_plus);
  }
  out.path_case = outcome.path_case;
  out.status = outcome.status;
  return out;
}

}  // namespace impactlab
