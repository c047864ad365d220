#pragma once
// Private to the simulator: equations of motion of a mechanism whose contacts keep their modes, and
// steps along them.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "impact/motion/mechanism.h"
#include "impact/multi/outcome.h"

namespace impactlab::impact {

struct Touch {
  PointMode mode = PointMode::kOpen;
  Eigen::RowVector2d direction = Eigen::RowVector2d::Zero();  // unit direction of slip
  // slip so slow that `direction` stands for that of v_t
  bool starting = false;
};

// A gap below this touches [m]: what rounding makes of positions and of surfaces that move. A fall
// through it does not reach the speed of the least rebound: what projections lift must not keep a
// body rocking.
double TouchingGap(const MechanismState& state, const ContactTerms& contact);

// Contacts at a state, stacked as in ContactSpace.
struct FieldValues {
  std::vector<double> dx;        // rates of (q, u)
  Eigen::VectorXd gap;           // by contact [m]
  Eigen::VectorXd touching;      // by contact: gap below which it touches [m]
  Eigen::VectorXd v, a, lambda;  // [m/s], [m/s^2], [N]
  // by contact that slips: normal acceleration by its normal force relative to that without
  // friction; Painleve below 0. Else 1
  Eigen::VectorXd press;
};

class ContactField {
 public:
  ContactField(const Mechanism& mechanism, double tolerance);

  // `state` decides whether the closed contacts are redundant there.
  void SetModes(const std::vector<Touch>& touches, const MechanismState& state);
  const std::vector<Touch>& touches() const { return touches_; }
  bool redundant() const { return redundant_; }
  // Slip faster than that turns with v_t.
  void SlipStarted(int contact) { touches_[contact].starting = false; }

  void Evaluate(const MechanismState& state, FieldValues& values);

  // One step of at most `h` whose error is below the tolerance; returns its length and puts the
  // length to try next into `h`.
  double Step(const MechanismState& from, const FieldValues& at, double& h, MechanismState& to);
  // The state `tau` later, by one step.
  MechanismState Along(const MechanismState& from, const FieldValues& at, double tau);

 private:
  void Rates(const double* x, double* dx, double t);
  void Assemble(const MechanismState& state);
  void Load(const double* x, double t);
  std::vector<double> Pack(const MechanismState& state) const;
  MechanismState Unpack(double t) const;  // of out_

  const Mechanism& mechanism_;
  double tolerance_;
  std::vector<Touch> touches_;
  bool redundant_ = false, closed_ = false;

  MechanismState state_;
  MechanismTerms terms_;
  std::vector<ContactTerms> contacts_;
  Eigen::LLT<Eigen::MatrixXd> llt_;
  Eigen::VectorXd dq_, du_, bias_, y_;
  Eigen::MatrixXd rows_, columns_, G_;
  std::vector<double> out_;
};

}  // namespace impactlab::impact
