#include "pipelines/simulate/predict_system.h"

#include <fmt/format.h>

#include <tuple>

#include "data/files/text.h"
#include "impact/multi/certify.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"

namespace impactlab {
namespace {

using Eigen::VectorXd;

// A sequence of the set that takes more single impacts is given up: every one of a tree of
// sequences carries its history.
constexpr int kMostImpactsOfASet = 200;
// Tried unless the file says otherwise.
constexpr int kTried = 500;
// Chains of more springs with ratios of a hundred take a second each.
constexpr std::size_t kMostSprings = 7;

SystemOutcomes Summary(const std::string& over, OutcomeSet set) {
  SystemOutcomes out;
  out.over = over;
  out.tried = set.tried;
  out.complete = set.complete;
  const auto widen = [](Eigen::MatrixX2d& range, const VectorXd& x) {
    if (range.rows() == 0) {
      range.resize(x.size(), 2);
      range << x, x;
      return;
    }
    range.col(0) = range.col(0).cwiseMin(x);
    range.col(1) = range.col(1).cwiseMax(x);
  };
  for (MultiOutcome& outcome : set.outcomes) {
    widen(out.u_range, outcome.u_plus);
    widen(out.v_range, outcome.v_plus);
    out.u_plus.push_back(std::move(outcome.u_plus));
    out.v_plus.push_back(std::move(outcome.v_plus));
  }
  return out;
}

SystemOutcomes Orders(const SystemToPredict& problem) {
  SequenceOptions options;
  options.keep_paths = false;
  options.max_impacts = kMostImpactsOfASet;
  SystemOutcomes out =
      Summary("order", SequenceOutcomes(problem.system, options,
                                        problem.max_tried > 0 ? problem.max_tried : kTried));
  if (out.v_plus.empty())
    out.reason = fmt::format("no order ended within {} single impacts", kMostImpactsOfASet);
  return out;
}

SystemOutcomes Stiffnesses(const SystemToPredict& problem, const MultiOutcome& springs) {
  if (springs.status == SolveStatus::kInvalid) {
    SystemOutcomes none;
    none.over = "stiffness";
    none.reason = springs.reason;
    return none;
  }
  if (problem.max_tried == 0 && problem.system.contacts.size() > kMostSprings) {
    SystemOutcomes none;
    none.over = "stiffness";
    none.complete = false;
    none.reason =
        fmt::format("not tried for more than {} contacts unless the file gives outcomes.max_tried",
                    kMostSprings);
    return none;
  }
  SystemOutcomes out =
      Summary("stiffness", SpringOutcomes(problem.system, problem.ratios,
                                          problem.max_tried > 0 ? problem.max_tried : kTried));
  if (out.v_plus.empty()) out.reason = "no impact of springs ended";
  return out;
}

}  // namespace

bool SystemPrediction::usable() const {
  for (const SystemLaw& law : laws)
    if (law.outcome.usable()) return true;
  return false;
}

SystemPrediction PredictSystem(const SystemToPredict& problem) {
  const ImpactSystem& system = problem.system;
  const ContactSpace space = ReduceToContacts(system);
  SystemPrediction out;
  out.energy_minus = KineticEnergy(system, system.u_minus);
  out.freedoms = static_cast<int>(space.H.cols());
  out.normal_rank = NormalRank(space);
  out.can_separate = CanSeparate(space);
  out.v_minus = space.v_minus;
  const double slowest = 1e-13 * impact::SpeedScale(space);
  for (int i = 0; i < space.n_contacts; ++i)
    if (space.v_minus[space.Normal(i)] < -slowest) out.approaching.push_back(i);

  const auto add = [&](const std::string& name, const std::string& definition, MultiOutcome outcome,
                       const std::vector<double>& e_star, RestitutionLaw law) {
    SystemLaw one{name, definition, std::move(outcome), {}};
    if (one.outcome.usable()) one.certificate = CertifySystem(system, one.outcome, e_star, law);
    out.laws.push_back(std::move(one));
  };
  const auto add_by = [&](MultiLaw law, const std::string& definition, MultiOutcome outcome,
                          const std::vector<double>& e_star = {1}) {
    add(MultiLawName(law), definition, std::move(outcome), e_star, kReferenceLaw);
  };
  add_by(MultiLaw::kSprings, InfoOf(MultiLaw::kSprings).rule, SolveSprings(system));
  SequenceOptions options;
  options.order = problem.order;
  const MultiLawInfo& sequence = InfoOf(MultiLaw::kSequence);
  for (const RestitutionLaw law : RestitutionLawsReferenceFirst()) {
    options.law = law;
    add(fmt::format("{}_{}", sequence.word, LawName(law)),
        fmt::format("{} {}", sequence.rule, InfoOf(law).rule), SolveSequence(system, options), {1},
        law);
  }
  for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson})
    add_by(law, InfoOf(law).rule, SolveSimultaneous(system, law));
  const std::string global =
      fmt::format("{}; {} divide the normal impulses, which is a rule and no law",
                  InfoOf(MultiLaw::kGlobalEnergetic).rule,
                  problem.global.closure.rows() > 0 ? "the relations given"
                  : problem.global.share.size() > 0 ? "the shares given"
                                                    : "equal shares");
  if (problem.global.e_star.empty()) {
    MultiOutcome none = impact::StartOutcome(MultiLaw::kGlobalEnergetic, system, space);
    none.status = SolveStatus::kInvalid;
    none.reason =
        "the contacts have different e; this law has one for all, to be given as global.e_star";
    add_by(MultiLaw::kGlobalEnergetic, global, std::move(none));
  } else {
    add_by(MultiLaw::kGlobalEnergetic, global, SolveGlobal(system, problem.global),
           problem.global.e_star);
  }
  if (!out.approaching.empty()) {
    out.sets.push_back(Orders(problem));
    out.sets.push_back(Stiffnesses(problem, out.laws[0].outcome));
  }
  return out;
}

}  // namespace impactlab
