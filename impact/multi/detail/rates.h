#pragma once
// Private to the global law: the impulses of the contacts of one event by its impulse parameter P,
// the normal impulse of the first of them, and the rates of the contact velocities that they make.

#include <string>
#include <vector>

#include "impact/multi/outcome.h"

namespace impactlab::impact {

class EventRates {
 public:
  // `set`: contacts of the event. Normal impulses divide by `share` (one for each contact of the
  // system) as near as the relations of `closure` between contacts of the event allow.
  EventRates(const ImpactSystem& system, const ContactSpace& space, const Eigen::VectorXd& share,
             const Eigen::MatrixXd& closure, const std::vector<int>& set);

  // Decides what every contact does at velocities v: those with slip above `at_rest` slip, the
  // others stick or leave rest, together. Sets direction() and the rates. False with refusal(): the
  // closure asks a contact to pull, or modes and division do not settle.
  bool ChooseModes(const Eigen::VectorXd& v, double at_rest);
  // Rates for slip directions (stacked unit vectors; zero where nothing slips), modes as chosen
  // last. False: the closure asks for a pull.
  bool Find(const Eigen::VectorXd& direction);

  // Unit vectors of the slip in v, for contacts that slip as the modes were chosen last.
  Eigen::VectorXd Directions(const Eigen::VectorXd& v) const;
  // Derivative of p by the slip velocities of `contacts`, for a constant division of normal
  // impulses: stacked entries by their tangents.
  Eigen::MatrixXd Stiffness(const Eigen::VectorXd& v, const std::vector<int>& contacts) const;

  const std::vector<int>& set() const { return set_; }
  const std::vector<PointMode>& mode() const { return mode_; }
  const Eigen::VectorXd& direction() const { return direction_; }
  const Eigen::VectorXd& p() const { return p_; }        // stacked impulse for unit P
  const Eigen::VectorXd& rate() const { return rate_; }  // dv/dP [1/kg]
  const std::string& refusal() const { return refusal_; }

  int tangents() const { return space_.width - 1; }
  bool Rough(int i) const { return space_.width > 1 && system_.contacts[i].mu_s > 0; }
  bool Slips(int i) const { return Rough(i) && mode_[i] == PointMode::kSlip; }
  bool Sticks(int i) const { return mode_[i] == PointMode::kStick; }
  double mu_k(int i) const { return system_.contacts[i].mu_k; }
  double Normal(int i) const { return p_[space_.Normal(i)]; }
  auto Tangential(const Eigen::VectorXd& stacked, int i) const {
    return stacked.segment(space_.Tangent(i), tangents());
  }
  // Largest excess of friction over mu_s at the contacts that stick, by the normal impulse;
  // negative while all hold.
  double Excess() const;
  // Power of the normal impulses, dW/dP.
  double Power(const Eigen::VectorXd& v) const;

 private:
  void AtRest(const std::vector<int>& rest);
  bool Divide(const Eigen::MatrixXd& p_n, Eigen::VectorXd& n) const;

  const ImpactSystem& system_;
  const ContactSpace& space_;
  std::vector<int> set_;
  Eigen::MatrixXd closure_;  // relations between contacts of the event
  Eigen::VectorXd share_;    // by contact of the event
  std::vector<PointMode> mode_;
  Eigen::VectorXd direction_, p_, rate_, n_;
  std::vector<int> stick_;  // tangential entries of contacts that stick
  Eigen::MatrixXd hold_;    // friction that stops them, by the rates without it
  // part of that friction that moves nothing: what redundant contacts hold against each other
  Eigen::VectorXd spare_;
  std::string refusal_;
};

}  // namespace impactlab::impact
