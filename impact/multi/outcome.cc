#include "impact/multi/outcome.h"

#include <cmath>

namespace impactlab {

namespace impact {

MultiOutcome StartOutcome(MultiLaw law, const ImpactSystem& system, const ContactSpace& space) {
  MultiOutcome outcome;
  outcome.law = law;
  outcome.u_plus = system.u_minus;
  outcome.v_plus = space.v_minus;
  outcome.J = Eigen::VectorXd::Zero(space.v_minus.size());
  outcome.work_n = outcome.work_t = Eigen::VectorXd::Zero(space.n_contacts);
  return outcome;
}

void FinishOutcome(const ImpactSystem& system, const ContactSpace& space, MultiOutcome& outcome) {
  for (const MultiPhase& phase : outcome.phases) {
    outcome.J += phase.dJ;
    outcome.work_n += phase.work_n;
    outcome.work_t += phase.work_t;
  }
  const Eigen::VectorXd dw = space.H.transpose() * outcome.J;
  outcome.v_plus = space.v_minus + space.H * dw;
  outcome.u_plus = system.u_minus + space.response * outcome.J;
  outcome.energy_change = dw.dot(space.w_minus + 0.5 * dw);
}

bool NoneApproaches(const ContactSpace& space, const Eigen::VectorXd& v, double tolerance) {
  for (int i = 0; i < space.n_contacts; ++i) {
    if (v[space.Normal(i)] < -tolerance) return false;
  }
  return true;
}

double SpeedScale(const ContactSpace& space) {
  double row = 0;
  for (Eigen::Index i = 0; i < space.A.rows(); ++i) row = std::max(row, space.A(i, i));
  return std::sqrt(row) * space.w_minus.norm();
}

}  // namespace impact
}  // namespace impactlab
