#include "impact/multi/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/base/error.h"
#include "impact/multi/springs.h"

namespace impactlab {
namespace {

using Eigen::VectorXd;

class Sequence {
 public:
  Sequence(const ImpactSystem& system, const ContactSpace& space, const SequenceOptions& options)
      : system_(system),
        space_(space),
        options_(options),
        threshold_(options.at_rest * impact::SpeedScale(space)) {}

  std::vector<int> Approaching(const VectorXd& v) const {
    std::vector<int> set;
    for (int i = 0; i < space_.n_contacts; ++i) {
      if (v[space_.Normal(i)] < -threshold_) set.push_back(i);
    }
    return set;
  }

  int Next(const VectorXd& v, const std::vector<int>& approaching) const {
    const auto rank = [&](int i) {
      if (options_.order.empty()) return v[space_.Normal(i)];
      return static_cast<double>(std::find(options_.order.begin(), options_.order.end(), i) -
                                 options_.order.begin());
    };
    return *std::min_element(approaching.begin(), approaching.end(),
                             [&](int a, int b) { return rank(a) < rank(b); });
  }

  // Strikes contact i; false when it alone is no impact problem.
  bool Strike(int i, VectorXd& v, MultiOutcome& outcome) const {
    const ContactProperties& c = system_.contacts[i];
    MultiPhase phase;
    SolveOptions options;
    options.dense_output = options_.keep_paths;
    phase.single = Solve(SingleContact(space_, v, i), {c, options_.law}, options);
    if (phase.single.status != SolveStatus::kOk) {
      outcome.status = phase.single.status;
      outcome.reason = fmt::format("contact {}: {}", c.name.empty() ? std::to_string(i) : c.name,
                                   phase.single.reason);
      return false;
    }
    phase.struck = i;
    phase.event = outcome.events++;
    phase.mode.assign(space_.n_contacts, PointMode::kOpen);
    // the cone of the whole single impact is that of mu_s; its own certificate knows more
    phase.mode[i] = PointMode::kStick;
    phase.dJ = VectorXd::Zero(v.size());
    for (int t = 0; t + 1 < space_.width; ++t)
      phase.dJ[space_.Tangent(i) + t] = phase.single.J_F[t];
    phase.dJ[space_.Normal(i)] = phase.single.J_F.z();
    phase.v_begin = v;
    v += space_.H * (space_.H.transpose() * phase.dJ);
    phase.v_end = v;
    phase.work_n = phase.work_t = VectorXd::Zero(space_.n_contacts);
    phase.work_n[i] = phase.single.work_n_c + phase.single.work_n_r;
    phase.work_t[i] = phase.single.work_t;
    if (!options_.keep_paths) phase.single.dense.clear();
    outcome.phases.push_back(std::move(phase));
    return true;
  }

  MultiOutcome Start() const {
    MultiOutcome outcome = impact::StartOutcome(MultiLaw::kSequence, system_, space_);
    if (Approaching(space_.v_minus).empty()) outcome.status = SolveStatus::kNoApproach;
    return outcome;
  }

  void GiveUp(MultiOutcome& outcome) const {
    outcome.status = SolveStatus::kNotConverged;
    outcome.reason =
        fmt::format("contacts still approach after {} single impacts{}", outcome.events,
                    CanSeparate(space_) ? "" : ": they wedge the system, no motion lifts them all");
  }

 private:
  const ImpactSystem& system_;
  const ContactSpace& space_;
  const SequenceOptions& options_;
  double threshold_;
};

void CheckOrder(const ImpactSystem& system, const std::vector<int>& order) {
  if (order.empty()) return;
  std::vector<int> sorted = order, all(system.contacts.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    throw ConfigError(
        fmt::format("sequence: order: found {} entries, allowed each contact from 0 to {} once",
                    order.size(), all.size() - 1));
  }
}

// Adds an outcome that none of the set resembles.
void Collect(OutcomeSet& set, MultiOutcome outcome, double tolerance) {
  ++set.tried;
  if (!outcome.usable()) return;
  for (const MultiOutcome& known : set.outcomes) {
    if ((known.v_plus - outcome.v_plus).norm() <= tolerance) return;
  }
  set.outcomes.push_back(std::move(outcome));
}

}  // namespace

MultiOutcome SolveSequence(const ImpactSystem& system, const SequenceOptions& options) {
  const ContactSpace space = ReduceToContacts(system);
  CheckOrder(system, options.order);
  const Sequence sequence(system, space, options);
  MultiOutcome outcome = sequence.Start();
  VectorXd v = space.v_minus;
  for (std::vector<int> set = sequence.Approaching(v); !set.empty();
       set = sequence.Approaching(v)) {
    if (outcome.events >= options.max_impacts) {
      sequence.GiveUp(outcome);
      break;
    }
    if (!sequence.Strike(sequence.Next(v, set), v, outcome)) break;
  }
  impact::FinishOutcome(system, space, outcome);
  return outcome;
}

OutcomeSet SequenceOutcomes(const ImpactSystem& system, const SequenceOptions& options,
                            int max_tried, double same) {
  const ContactSpace space = ReduceToContacts(system);
  const Sequence sequence(system, space, options);
  const double tolerance = same * impact::SpeedScale(space);
  OutcomeSet set;
  struct Branch {
    MultiOutcome outcome;
    VectorXd v;
  };
  std::vector<Branch> open = {{sequence.Start(), space.v_minus}};
  while (!open.empty()) {
    if (set.tried >= max_tried) {
      set.complete = false;
      break;
    }
    Branch branch = std::move(open.back());
    open.pop_back();
    const std::vector<int> approaching = sequence.Approaching(branch.v);
    if (approaching.empty() || branch.outcome.events >= options.max_impacts) {
      if (!approaching.empty()) sequence.GiveUp(branch.outcome), set.complete = false;
      impact::FinishOutcome(system, space, branch.outcome);
      Collect(set, std::move(branch.outcome), tolerance);
      continue;
    }
    for (const int i : approaching) {
      Branch next = branch;
      if (!sequence.Strike(i, next.v, next.outcome)) {
        set.complete = false;
        ++set.tried;
        continue;
      }
      open.push_back(std::move(next));
    }
  }
  return set;
}

OutcomeSet SpringOutcomes(const ImpactSystem& system, const std::vector<double>& ratios,
                          int max_tried, double same) {
  for (const double ratio : ratios) {
    if (!(ratio > 0) || !std::isfinite(ratio))
      throw ConfigError(fmt::format("springs: ratios: found {}, allowed above 0", ratio));
  }
  if (ratios.empty()) throw ConfigError("springs: ratios: found none, allowed at least one");
  const double tolerance = same * impact::SpeedScale(ReduceToContacts(system));
  OutcomeSet set;
  ImpactSystem varied = system;
  std::vector<size_t> digit(system.contacts.size(), 0);
  while (true) {
    if (set.tried >= max_tried) {
      set.complete = false;
      break;
    }
    for (size_t i = 0; i < digit.size(); ++i)
      varied.contacts[i].stiffness = system.contacts[i].stiffness * ratios[digit[i]];
    Collect(set, SolveSprings(varied), tolerance);
    size_t i = 0;
    while (i < digit.size() && ++digit[i] == ratios.size()) digit[i++] = 0;
    if (i == digit.size()) break;
  }
  return set;
}

}  // namespace impactlab
