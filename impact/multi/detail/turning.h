#pragma once
// Private to the global law: slip of several contacts whose directions turn.
//
// dv/dP = A p(directions of slip), in Cartesian velocities. A slow contact turns within an impulse
// of the order of its speed while the others want whole impulses: the equations are stiff, the more
// so where a contact goes on slowly for long. They are therefore integrated by Euler's method,
// linearly implicit, extrapolated to order 10 at most (Deuflhard 1985; Hairer & Wanner, Solving
// Ordinary Differential Equations II, section IV.9). The error of every slip velocity is measured
// by that slip, so that steps shrink with slip that dies out and the impulse at which it stops is
// approached geometrically. Rates with constant shares are a monotone function of velocities
// (friction is the gradient of a convex function): errors are not carried on larger than they were
// made.

#include <vector>

#include "impact/multi/detail/rates.h"

namespace impactlab::impact {

// What a piece of the path adds up: stacked velocities at its end and impulses, works of the normal
// impulses and of friction by contact.
struct SlipStretch {
  Eigen::VectorXd v, J, work_n, work_t;
};

class TurningSlip {
 public:
  TurningSlip(const ContactSpace& space, double speed, double energy)
      : space_(space), speed_(speed), energy_(energy) {}

  // One step from velocities v, as long as the error allows. False where none is possible;
  // rates.refusal() may say why. The rates are left as of the last evaluation.
  bool Step(EventRates& rates, const Eigen::VectorXd& v);
  // State at a part of the last step, 0 < part <= 1.
  SlipStretch At(double part);

 private:
  static constexpr int kColumns = 10;
  // Columns used, 0 where none was good enough; the last one in end_.
  int Extrapolate(double dP);
  // The step in `parts` equal ones; false where the rates refuse.
  bool Euler(double dP, int parts, Eigen::VectorXd& end);
  double Error(const Eigen::VectorXd& y, const Eigen::VectorXd& error) const;

  const ContactSpace& space_;
  double speed_, energy_;
  EventRates* rates_ = nullptr;
  std::vector<int> slipping_;             // contacts whose friction has a direction
  std::vector<int> entries_;              // their tangential entries
  Eigen::MatrixXd stiffness_, jacobian_;  // dp and d rate by the entries, at the start of the step
  Eigen::VectorXd start_, end_;           // v, J, work_n, work_t in one
  double step_ = 0, next_ = 0, error_ = 0;
};

}  // namespace impactlab::impact
