#include "impact/multi/detail/rates.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "impact/multi/rest_friction.h"

namespace impactlab::impact {

using Eigen::MatrixXd;
using Eigen::VectorXd;

EventRates::EventRates(const ImpactSystem& system, const ContactSpace& space, const VectorXd& share,
                       const MatrixXd& closure, const std::vector<int>& set)
    : system_(system),
      space_(space),
      set_(set),
      share_(set.size()),
      mode_(space.n_contacts, PointMode::kOpen) {
  for (size_t c = 0; c < set.size(); ++c) share_[c] = share[set[c]];
  direction_ = p_ = rate_ = VectorXd::Zero(space.v_minus.size());
  n_ = share_ / share_[0];
  std::vector<int> rows;
  for (Eigen::Index r = 0; r < closure.rows(); ++r) {
    bool inside = true;
    for (int i = 0; i < space.n_contacts; ++i) {
      const bool touches = !closure.row(r).segment(space.Tangent(i), space.width).isZero();
      inside = inside && (!touches || std::find(set.begin(), set.end(), i) != set.end());
    }
    if (inside) rows.push_back(static_cast<int>(r));
  }
  closure_ = closure(rows, Eigen::all);
}

bool EventRates::ChooseModes(const VectorXd& v, double at_rest) {
  std::vector<int> rest;
  direction_.setZero();
  stick_.clear();
  for (const int i : set_) {
    mode_[i] = PointMode::kSlip;
    if (!Rough(i)) continue;
    const double slip = Tangential(v, i).norm();
    if (slip > at_rest)
      direction_.segment(space_.Tangent(i), tangents()) = Tangential(v, i) / slip;
    else
      rest.push_back(i);
  }
  if (rest.empty()) return Find(direction_);
  // Relations make the division of normal impulses depend on friction, and friction depends on the
  // division.
  for (int round = 0; round < 100; ++round) {
    const std::vector<PointMode> mode = mode_;
    const VectorXd n = n_, direction = direction_;
    AtRest(rest);
    if (!Find(direction_)) return false;
    const bool settled = mode == mode_ && (direction - direction_).norm() <= 1e-14 &&
                         (n - n_).norm() <= 1e-14 * n_.norm();
    if (closure_.rows() == 0 || (round > 0 && settled)) return true;
  }
  refusal_ = "the closure and the modes of contacts at rest do not settle";
  return false;
}

void EventRates::AtRest(const std::vector<int>& rest) {
  std::vector<int> entries;
  VectorXd p = VectorXd::Zero(p_.size()), held(rest.size()), slipping(rest.size()),
           n_of(space_.n_contacts);
  for (size_t c = 0; c < set_.size(); ++c) {
    n_of[set_[c]] = n_[c];
    p[space_.Normal(set_[c])] = n_[c];
    if (Rough(set_[c]))
      p.segment(space_.Tangent(set_[c]), tangents()) =
          -mu_k(set_[c]) * n_[c] * Tangential(direction_, set_[c]);
  }
  for (size_t c = 0; c < rest.size(); ++c) {
    const int i = rest[c];
    for (int t = 0; t < tangents(); ++t) entries.push_back(space_.Tangent(i) + t);
    p.segment(space_.Tangent(i), tangents()).setZero();
    held[c] = system_.contacts[i].mu_s * n_of[i];
    slipping[c] = system_.contacts[i].mu_k * n_of[i];
  }
  const VectorXd free = space_.A * p;
  const MatrixXd B = space_.A(entries, entries);
  const VectorXd b = free(entries);
  const RestFriction friction = SolveRestFriction(B, b, held, slipping);
  const VectorXd rate = B * friction.x + b;
  stick_.clear();
  std::vector<int> kept;
  for (size_t c = 0; c < rest.size(); ++c) {
    const int i = rest[c], at = static_cast<int>(c) * tangents();
    mode_[i] = friction.slips[c] ? PointMode::kSlip : PointMode::kStick;
    auto direction = direction_.segment(space_.Tangent(i), tangents());
    direction.setZero();
    if (friction.slips[c])
      direction = slipping[c] > 0 ? VectorXd(-friction.x.segment(at, tangents()) / slipping[c])
                                  : rate.segment(at, tangents()).normalized();
    for (int t = 0; t < tangents() && !friction.slips[c]; ++t)
      stick_.push_back(space_.Tangent(i) + t), kept.push_back(at + t);
  }
  if (stick_.empty()) return;
  const MatrixXd A_s = space_.A(stick_, stick_);
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
  cod.setThreshold(1e-10);
  cod.compute(A_s);
  hold_ = -cod.pseudoInverse();
  spare_ = VectorXd::Zero(A_s.rows());
  if (closure_.rows() == 0 && cod.rank() < A_s.rows()) {
    const VectorXd x = friction.x(kept);
    spare_ = x + hold_ * (A_s * x);
  }
}

bool EventRates::Find(const VectorXd& direction) {
  direction_ = direction;
  if (closure_.rows() == 0) {
    p_.setZero();
    for (size_t c = 0; c < set_.size(); ++c) {
      p_[space_.Normal(set_[c])] = n_[c];
      if (Slips(set_[c]))
        p_.segment(space_.Tangent(set_[c]), tangents()) =
            -mu_k(set_[c]) * n_[c] * Tangential(direction, set_[c]);
    }
    if (!stick_.empty()) {
      const VectorXd need = space_.A(stick_, Eigen::all) * p_;
      p_(stick_) = hold_ * need + spare_;
    }
  } else {
    // Stacked impulse for unit normal impulse of each contact.
    MatrixXd p_n = MatrixXd::Zero(p_.size(), share_.size());
    for (size_t c = 0; c < set_.size(); ++c) {
      p_n(space_.Normal(set_[c]), c) = 1;
      if (Slips(set_[c]))
        p_n.col(c).segment(space_.Tangent(set_[c]), tangents()) =
            -mu_k(set_[c]) * Tangential(direction, set_[c]);
    }
    if (!stick_.empty()) {
      const MatrixXd need = space_.A(stick_, Eigen::all) * p_n;
      p_n(stick_, Eigen::all) = hold_ * need;
    }
    VectorXd n = share_;
    if (!Divide(p_n, n)) {
      refusal_ = "the closure asks a contact to pull";
      return false;
    }
    n_ = n / n[0];
    p_ = p_n * n_;
  }
  rate_ = space_.A * p_;
  for (const int k : stick_) rate_[k] = 0;
  return true;
}

// Normal impulses nearest to the shares that fulfil the relations.
bool EventRates::Divide(const MatrixXd& p_n, VectorXd& n) const {
  const MatrixXd relations = closure_ * p_n;
  // A relation without friction may say nothing (the block's, 0 = 0): shares decide then.
  if (relations.size() > 0 && relations.cwiseAbs().maxCoeff() > 1e-12) {
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
    cod.setThreshold(1e-10);
    cod.compute(relations);
    const VectorXd off = relations * n;
    n -= cod.solve(off);
  }
  return n.minCoeff() > 1e-12 * n.cwiseAbs().maxCoeff();
}

VectorXd EventRates::Directions(const VectorXd& v) const {
  VectorXd direction = VectorXd::Zero(v.size());
  for (const int i : set_) {
    if (Slips(i))
      direction.segment(space_.Tangent(i), tangents()) = Tangential(v, i).stableNormalized();
  }
  return direction;
}

MatrixXd EventRates::Stiffness(const VectorXd& v, const std::vector<int>& contacts) const {
  MatrixXd dp = MatrixXd::Zero(v.size(), tangents() * static_cast<Eigen::Index>(contacts.size()));
  for (size_t k = 0; k < contacts.size(); ++k) {
    const int i = contacts[k], at = tangents() * static_cast<int>(k);
    const VectorXd slip = Tangential(v, i), e = slip.stableNormalized();
    const MatrixXd across = MatrixXd::Identity(tangents(), tangents()) - e * e.transpose();
    dp.block(space_.Tangent(i), at, tangents(), tangents()) =
        -mu_k(i) * Normal(i) / slip.norm() * across;
  }
  if (!stick_.empty()) {
    const MatrixXd need = space_.A(stick_, Eigen::all) * dp;
    dp(stick_, Eigen::all) = hold_ * need;
  }
  return dp;
}

double EventRates::Excess() const {
  double excess = -1;
  for (const int i : set_) {
    if (!Sticks(i)) continue;
    excess = std::max(
        excess, (Tangential(p_, i).norm() - system_.contacts[i].mu_s * Normal(i)) / Normal(i));
  }
  return excess;
}

double EventRates::Power(const VectorXd& v) const {
  double power = 0;
  for (const int i : set_) power += p_[space_.Normal(i)] * v[space_.Normal(i)];
  return power;
}

}  // namespace impactlab::impact
