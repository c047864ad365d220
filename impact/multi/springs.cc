#include "impact/multi/springs.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "impact/multi/detail/mode_sum.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using impact::ModeSums;

// Distances and velocities below this, relative to the impact's own, are rounding.
constexpr double kSpringRounding = 1e-13;

enum class Spring { kOpen, kLoading, kUnloading };

// Independent contacts and the motion of all contacts in orthonormal coordinates y of theirs: v_n =
// Q y', kinetic energy |y'|^2 / 2 + const.
MatrixXd IndependentSpace(const MatrixXd& H_n, const std::vector<int>& wanted, int rank,
                          VectorXd& rate) {
  std::vector<int> set = wanted;
  if (set.empty()) {
    Eigen::ColPivHouseholderQR<MatrixXd> qr(H_n.transpose());
    for (int i = 0; i < rank; ++i)
      set.push_back(static_cast<int>(qr.colsPermutation().indices()[i]));
  }
  const auto fail = [&](const std::string& found) {
    throw ConfigError(
        fmt::format("springs: independent: found {}, allowed {} contacts whose normal velocities "
                    "are independent",
                    found, rank));
  };
  if (static_cast<int>(set.size()) != rank) fail(fmt::format("{} contacts", set.size()));
  MatrixXd H_ind(rank, H_n.cols());
  for (int i = 0; i < rank; ++i) {
    if (set[i] < 0 || set[i] >= H_n.rows()) fail(fmt::format("contact {}", set[i]));
    H_ind.row(i) = H_n.row(set[i]);
  }
  Eigen::ColPivHouseholderQR<MatrixXd> check(H_ind.transpose());
  check.setThreshold(1e-10);
  if (check.rank() < rank) fail("contacts that depend on each other");
  // H_ind' = U S' with orthonormal U: then H_ind H_ind' = S S' = M_ind^-1, R_all = H_n H_ind' M_ind
  // and Q = R_all S = H_n U.
  const Eigen::HouseholderQR<MatrixXd> qr(H_ind.transpose());
  const MatrixXd U = qr.householderQ() * MatrixXd::Identity(H_n.cols(), rank);
  rate = U.transpose() * rate;
  return H_n * U;
}

class SpringImpact {
 public:
  SpringImpact(const ImpactSystem& system, const ContactSpace& space, const SpringOptions& options)
      : space_(space), options_(options), m_(space.n_contacts), rate_(space.w_minus) {
    Q_ = IndependentSpace(space.NormalRows(), options.independent, NormalRank(space), rate_);
    for (const ContactProperties& c : system.contacts) k_scale_ = std::max(k_scale_, c.stiffness);
    // Time in units of 1 / sqrt(k_scale) seconds per root of a kilogram: stiffnesses become ratios.
    time_ = 1 / std::sqrt(k_scale_);
    k_.resize(m_), e_.resize(m_), delta_.resize(m_);
    for (int j = 0; j < m_; ++j) {
      k_[j] = system.contacts[j].stiffness / k_scale_;
      e_[j] = system.contacts[j].e;
      delta_[j] = system.contacts[j].gap / time_;
    }
    state_.assign(m_, Spring::kOpen);
    surface_ = deepest_ = VectorXd::Zero(m_);
    speed_ = impact::SpeedScale(space);
    length_ = (speed_ / std::sqrt(space.A.diagonal().maxCoeff()) / k_.array().sqrt()).matrix();
  }

  void Run(MultiOutcome& outcome) {
    v_ = space_.v_minus;
    for (int j = 0; j < m_; ++j) Close(j);
    for (int n = 0; n < options_.max_phases; ++n) {
      CloseResting();
      if (Over()) return;
      if (!Phase(outcome)) break;
    }
    outcome.status = SolveStatus::kNotConverged;
    outcome.reason =
        CanSeparate(space_)
            ? fmt::format("not over after {} phases", outcome.phases.size())
            : "the contacts wedge the system: no motion lifts them all, the impact has no end";
  }

 private:
  double Rate(int j) const { return Q_.row(j).dot(rate_); }
  double UnloadedAt(int j) const { return (1 - e_[j] * e_[j]) * deepest_[j]; }

  // Stiffness that acts and the distance at which the spring is slack, from the contact's surface.
  double Stiffness(int j) const {
    return state_[j] == Spring::kOpen      ? 0
           : state_[j] == Spring::kLoading ? k_[j]
                                           : k_[j] / (e_[j] * e_[j]);
  }
  double Slack(int j) const {
    return surface_[j] + (state_[j] == Spring::kUnloading ? UnloadedAt(j) : 0);
  }

  // An open contact at its surface that approaches starts to press.
  void Close(int j) {
    if (state_[j] == Spring::kOpen && delta_[j] <= surface_[j] + kSpringRounding * length_[j] &&
        Rate(j) < -kSpringRounding * speed_)
      state_[j] = Spring::kLoading;
  }

  // Open contacts that rest on their surface close when the first derivative that does not vanish
  // presses them in: y'' = -f, y''' = -K y' and so on.
  void CloseResting() {
    for (bool changed = true; changed;) {
      changed = false;
      VectorXd f = VectorXd::Zero(Q_.cols());
      MatrixXd K = MatrixXd::Zero(Q_.cols(), Q_.cols());
      double force = 0;
      for (int j = 0; j < m_; ++j) {
        force += Stiffness(j) * length_[j] * space_.A.diagonal().maxCoeff();
        f += Stiffness(j) * (delta_[j] - Slack(j)) * Q_.row(j).transpose();
        K += Stiffness(j) * Q_.row(j).transpose() * Q_.row(j);
      }
      for (int j = 0; j < m_ && !changed; ++j) {
        if (state_[j] != Spring::kOpen || delta_[j] > surface_[j] + kSpringRounding * length_[j] ||
            std::abs(Rate(j)) > kSpringRounding * speed_)
          continue;
        VectorXd even = -f, odd = -K * rate_;
        double scale[2] = {force, K.norm() * speed_};
        for (int order = 0; order < 2 * m_ + 2; ++order) {
          VectorXd& d = order % 2 == 0 ? even : odd;
          const double value = Q_.row(j).dot(d);
          if (std::abs(value) > 1e-11 * scale[order % 2]) {
            if (value < 0) state_[j] = Spring::kLoading, changed = true;
            break;
          }
          d = -K * d;
          scale[order % 2] *= K.norm();
        }
      }
    }
  }

  bool Over() const {
    for (int j = 0; j < m_; ++j) {
      if (state_[j] != Spring::kOpen || Rate(j) < -kSpringRounding * speed_) return false;
    }
    return true;
  }

  // Time to the next event of contact j within [0, horizon], or infinity.
  double NextEvent(const ModeSums& sums, int j, double horizon) const {
    switch (state_[j]) {
      case Spring::kOpen:
        return sums.FirstFall(j, surface_[j], horizon, kSpringRounding * length_[j]);
      case Spring::kLoading:
        if (e_[j] == 1)
          return sums.FirstRise(j, surface_[j], horizon, kSpringRounding * length_[j]);
        return sums.FirstTurn(j, horizon, kSpringRounding * speed_);
      case Spring::kUnloading:
        return std::min(
            sums.FirstRise(j, Slack(j), horizon, kSpringRounding * length_[j]),
            sums.FirstFall(j, surface_[j] + deepest_[j], horizon, kSpringRounding * length_[j]));
    }
    return std::numeric_limits<double>::infinity();
  }

  // Puts contact j into its next state if it stands at the threshold and moves across it.
  bool Switch(int j, bool forced) {
    const double rate = Rate(j), near = forced ? 1e-6 : kSpringRounding;
    const auto at = [&](double level) { return std::abs(delta_[j] - level) <= near * length_[j]; };
    switch (state_[j]) {
      case Spring::kOpen:
        if (!at(surface_[j]) || rate >= -kSpringRounding * speed_) return false;
        delta_[j] = surface_[j];
        state_[j] = Spring::kLoading;
        return true;
      case Spring::kLoading:
        if (e_[j] == 1) {
          if (!at(surface_[j]) || (rate <= kSpringRounding * speed_ && !forced)) return false;
          delta_[j] = surface_[j];
          state_[j] = Spring::kOpen;
          return true;
        }
        // One that turns at the same time as another is found in the next phase, of no length.
        if (!forced || std::abs(rate) > near * speed_ || delta_[j] >= surface_[j]) return false;
        deepest_[j] = delta_[j] - surface_[j];
        state_[j] = Spring::kUnloading;
        return true;
      case Spring::kUnloading:
        if (at(Slack(j)) && rate > 0) {
          surface_[j] = delta_[j] = Slack(j);
          deepest_[j] = 0;
          state_[j] = Spring::kOpen;
          return true;
        }
        if (at(surface_[j] + deepest_[j]) && rate < -kSpringRounding * speed_) {
          delta_[j] = surface_[j] + deepest_[j];
          state_[j] = Spring::kLoading;
          return true;
        }
        return false;
    }
    return false;
  }

  bool Phase(MultiOutcome& outcome) {
    VectorXd stiffness(m_), slack(m_);
    for (int j = 0; j < m_; ++j) stiffness[j] = Stiffness(j), slack[j] = Slack(j);
    const ModeSums sums(Q_, stiffness, delta_ - slack, delta_, rate_);
    double t = std::numeric_limits<double>::infinity();
    int first = -1;
    const double last = sums.LastHorizon();
    for (double horizon = sums.FirstHorizon(); first < 0 && horizon <= 2 * last; horizon *= 2) {
      for (int j = 0; j < m_; ++j) {
        const double tj = NextEvent(sums, j, std::min(horizon, t));
        if (tj < t) t = tj, first = j;
      }
    }
    if (first < 0) return false;
    if (t > 0) Record(sums, stiffness, slack, t, outcome);
    delta_ = sums.Delta(t);
    rate_ = sums.Rate(t);
    Switch(first, true);
    for (int j = 0; j < m_; ++j) {
      if (j != first) Switch(j, false);
    }
    return true;
  }

  void Record(const ModeSums& sums, const VectorXd& stiffness, const VectorXd& slack, double t,
              MultiOutcome& outcome) {
    MultiPhase phase;
    phase.duration = t * time_;
    phase.stiffness = k_scale_ * stiffness;
    phase.reference = time_ * slack;
    phase.delta_begin = time_ * delta_;
    phase.delta_end = time_ * sums.Delta(t);
    phase.v_begin = v_;
    phase.dJ = VectorXd::Zero(space_.v_minus.size());
    phase.work_n = phase.work_t = VectorXd::Zero(m_);
    const VectorXd J = sums.Impulse(t), end = sums.Delta(t);
    phase.mode.assign(m_, PointMode::kOpen);
    for (int j = 0; j < m_; ++j) {
      if (stiffness[j] == 0) continue;
      phase.mode[j] = PointMode::kSlip;
      phase.dJ[space_.Normal(j)] = J[j];
      phase.work_n[j] =
          0.5 * stiffness[j] * (std::pow(delta_[j] - slack[j], 2) - std::pow(end[j] - slack[j], 2));
    }
    v_ += space_.H * (space_.H.transpose() * phase.dJ);
    phase.v_end = v_;
    outcome.phases.push_back(phase);
  }

  const ContactSpace& space_;
  const SpringOptions& options_;
  int m_;
  MatrixXd Q_;     // contacts x independent
  VectorXd rate_;  // y'
  double k_scale_ = 0, time_ = 1, speed_ = 0;
  VectorXd k_, e_, delta_;
  VectorXd length_;  // indentation that the impact's energy could make, by contact
  std::vector<Spring> state_;
  // where the contact's surface is now, and the deepest point of this contact from it (<= 0)
  VectorXd surface_, deepest_;
  VectorXd v_;  // stacked contact velocities
};

}  // namespace

MultiOutcome SolveSprings(const ImpactSystem& system, const SpringOptions& options) {
  const ContactSpace space = ReduceToContacts(system);
  MultiOutcome outcome = impact::StartOutcome(MultiLaw::kSprings, system, space);
  for (const ContactProperties& c : system.contacts) {
    if (c.mu_k > 0 || c.mu_s > 0)
      outcome.status = SolveStatus::kInvalid,
      outcome.reason = "contact " + c.name + ": springs know no friction, mu must be 0";
    if (c.e < kLeastSpringRestitution) {
      outcome.status = SolveStatus::kInvalid;
      outcome.reason = fmt::format("contact {}: e is {}, springs need {} to 1", c.name, c.e,
                                   kLeastSpringRestitution);
    }
  }
  if (!outcome.usable()) return outcome;
  if (impact::NoneApproaches(space, space.v_minus, kSpringRounding * impact::SpeedScale(space))) {
    outcome.status = SolveStatus::kNoApproach;
    return outcome;
  }
  SpringImpact(system, space, options).Run(outcome);
  impact::FinishOutcome(system, space, outcome);
  outcome.events = 1;
  return outcome;
}

}  // namespace impactlab
