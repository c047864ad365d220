#include "pipelines/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/files/table.h"
#include "data/files/text.h"
#include "data/statistics/many_tests.h"
#include "data/statistics/statistics.h"
#include "data/yaml/yaml.h"
#include "impact/identify/single_impact.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/visit.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/tables.h"

namespace impactlab {
namespace {

using pipelines::Keys;
using pipelines::Need;

// A name that is a folder on every system.
bool IsFolderName(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.size() > 100) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > 31 && c != 127 && std::string_view("/\\:*?\"<>|").find(c) == std::string_view::npos;
  });
}

// A run that is finished, or an experiment that is run into a folder of `out`.
void VisitMember(Keys& keys, CampaignMember& member, const std::vector<CampaignMember>& earlier,
                 const std::filesystem::path& out) {
  keys.Text("name", member.name, "also the name of its folder", Need::kRequired);
  keys.Check(IsFolderName(member.name), "name", Excerpt(member.name),
             "a name of up to 100 characters without / \\ : * ? \" < > |");
  // Some systems tell no capitals in the names of folders.
  for (const CampaignMember& other : earlier)
    keys.Check(LowerCase(other.name) != LowerCase(member.name), "name",
               Excerpt(member.name) + " again", "every name once");
  const YamlNode& node = *keys.reading();
  const bool finished = node.Has("run");
  keys.Check(finished != node.Has("experiment"), "experiment",
             finished ? "experiment and run" : "neither experiment nor run", "one of them");
  keys.File("run", member.run, "the folder of a run that is finished; every run once");
  keys.File("experiment", member.experiment, "an experiment file that is run; or run");
  if (finished) {
    const auto folder = std::filesystem::weakly_canonical(member.run);
    for (const CampaignMember& other : earlier)
      keys.Check(
          !other.experiment.empty() || std::filesystem::weakly_canonical(other.run) != folder,
          "run", Excerpt(folder.string()) + " again", "every run once");
    return;
  }
  std::filesystem::path recordings;
  keys.File("recordings", recordings, "glob in place of the experiment's own recordings");
  if (!recordings.empty()) member.recordings = std::filesystem::absolute(recordings).string();
  member.run = out / member.name;
}

// The whole file. Campaigns are read only.
void VisitCampaign(Keys& keys, Campaign& campaign, const std::filesystem::path& out) {
  keys.Schema("impactlab.campaign/1");
  keys.Text("name", campaign.name, "of the campaign. Default: name of the file");
  keys.List(
      "members", campaign.members,
      "specimens, surfaces or material pairs; all planar or all in space", pipelines::Style::kLines,
      [&](Keys& k, CampaignMember& member) { VisitMember(k, member, campaign.members, out); },
      Need::kRequired);
  pipelines::VisitLaw(keys, campaign.law, "of impact");
  keys.Map("coefficients", "what the coefficients depend on; the members are the groups",
           [&](Keys& k) {
             k.Check(!k.reading()->Has("groups"), "groups", "groups",
                     "none: the members are the groups");
             Visit(k, campaign.coefficients);
           });
  keys.Count("folds", campaign.folds, Closed(2, 1000), "of the cross-validation over recordings");
  keys.Count("seed", campaign.seed, NonNegative(), "of every random number");
}

const ParameterEstimate& Of(const GroupEstimate& group, bool friction) {
  return friction ? group.mu_k : group.e;
}

// Every two members, by the fits of each alone. A member whose own fit does not determine its
// friction differs from none by it.
std::vector<MemberDifference> Differences(std::span<const EventGroup> groups, RestitutionLaw law,
                                          const IdentifyOptions& identify,
                                          const std::vector<FrictionVerdict>& beside) {
  std::vector<MemberDifference> out;
  CoefficientModel separate = ParseModel("separate");
  separate.fit_e_t = identify.tangential == TangentialFit::kAlways;
  CoefficientFit alone = FitCoefficients(groups, law, separate, identify);
  if (!alone.ok) return out;
  for (GroupEstimate& group : alone.groups)
    for (const FrictionVerdict& verdict : beside)
      if (verdict.group == group.name && !verdict.mu_k.identifiable) group.mu_k = verdict.mu_k;
  std::vector<double> p;
  for (const bool friction : {true, false}) {
    for (std::size_t a = 0; a < alone.groups.size(); ++a) {
      for (std::size_t b = a + 1; b < alone.groups.size(); ++b) {
        const ParameterEstimate &left = Of(alone.groups[a], friction),
                                &right = Of(alone.groups[b], friction);
        MemberDifference d{left.name, alone.groups[a].name, alone.groups[b].name, 0, 0, 1, 1, ""};
        if (!left.identifiable || !right.identifiable) {
          d.verdict = "not determined: " + (left.identifiable ? right.reason : left.reason);
          d.difference = d.sd = std::nan("");
          out.push_back(d);
          continue;
        }
        d.difference = left.value - right.value;
        d.sd = std::hypot(left.sd, right.sd);
        const double dof =
            std::max(1, alone.groups[a].n_recordings + alone.groups[b].n_recordings - 4);
        d.p = 2 * (1 - StudentCdf(std::abs(d.difference) / d.sd, dof));
        p.push_back(d.p);
        out.push_back(d);
      }
    }
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  std::size_t next = 0;
  for (MemberDifference& d : out) {
    if (!d.verdict.empty()) continue;
    d.p_family = adjusted[next++];
    d.verdict = d.p_family < 0.05 ? "differ" : "cannot be told apart";
  }
  return out;
}

// The fit in the folder of a member, where coefficients may have been forced; of a folder without
// one nothing but the verdict on its impacts.
FitResult FitOfMember(const CampaignMember& member, const Experiment& experiment,
                      const std::vector<ImpactEvent>& events) {
  const auto fit = member.run / "fit.json";
  if (std::filesystem::exists(fit)) return FitResultFromJson(ReadFile(fit), fit.string());
  FitResult out;
  out.verdict = JudgeImpacts(experiment, events, false);
  return out;
}

// Name of the group that holds the very same impacts; empty where none does.
std::string MemberWithImpacts(const std::vector<EventGroup>& groups,
                              const std::vector<ImpactEvent>& events) {
  const auto same = [](const ImpactEvent& a, const ImpactEvent& b) {
    return a.t == b.t && a.v_minus == b.v_minus && a.v_plus == b.v_plus &&
           a.omega_plus == b.omega_plus;
  };
  for (const EventGroup& group : groups)
    if (!events.empty() &&
        std::equal(group.events.begin(), group.events.end(), events.begin(), events.end(), same))
      return group.name;
  return {};
}

}  // namespace

Campaign LoadCampaign(const std::filesystem::path& path, const std::filesystem::path& out) {
  const YamlNode root = LoadYaml(path);
  Campaign campaign;
  campaign.path = path;
  campaign.name = path.stem().string();
  Keys keys(root);
  VisitCampaign(keys, campaign, out);
  root.Finish();
  return campaign;
}

CampaignResult AnalyseCampaign(const Campaign& campaign, int threads,
                               const std::function<void(double)>& progress) {
  CampaignResult result;
  IdentifyOptions identify;
  std::vector<EventGroup> groups;
  std::vector<FrictionVerdict> beside;
  for (const CampaignMember& member : campaign.members) {
    MemberResult& out = result.members.emplace_back();
    out.member = &member;
    out.fault = member.fault;
    if (!out.fault.empty()) continue;
    try {
      const Experiment experiment = LoadExperiment(member.run / "run.yaml");
      if (groups.empty()) identify = experiment.identify;
      out.body = experiment.body;
      out.events = ReadEvents(member.run / "events.csv", experiment.body, experiment.floor,
                              experiment.motion.flight.gravity_W);
      const FitResult fit = FitOfMember(member, experiment, out.events);
      if (fit.verdict.withheld) throw DataError(WithheldText(fit.verdict));
      std::vector<ImpactEvent> accepted;
      for (const ImpactEvent& event : out.events)
        if (event.accepted) accepted.push_back(event);
      out.accepted = static_cast<int>(accepted.size());
      if (accepted.empty()) out.fault = "no accepted impact";
      if (!groups.empty() && !accepted.empty() &&
          groups.front().body.planar != experiment.body.planar)
        out.fault = "planar beside members in space, or the other way round: they are not compared";
      if (const std::string same = MemberWithImpacts(groups, accepted); !same.empty())
        out.fault = fmt::format("the same impacts as those of {}: one specimen counts once", same);
      if (!out.fault.empty()) continue;
      groups.push_back({member.name, experiment.body, std::move(accepted)});
      for (const LawFit& law : fit.fits)
        if (law.law == LawName(campaign.law))
          beside.push_back({member.name, law.mu_k, law.e_t.has_value()});
    } catch (const DataError& error) {
      out.fault = error.what();
    } catch (const ConfigError& error) {
      out.fault = error.what();
    }
  }
  if (groups.empty())
    throw DataError(fmt::format("{}: none of {} members can be used; first: {}",
                                campaign.path.string(), campaign.members.size(),
                                result.members.front().fault));
  identify.seed = campaign.seed;
  identify.progress = progress;
  // Contacts of some members that spring back would pass for low friction in a model without e_t;
  // one e_t for all is forced on none that has no need of it.
  CoefficientOptions coefficients = campaign.coefficients;
  const auto springs = std::count_if(beside.begin(), beside.end(),
                                     [](const FrictionVerdict& verdict) { return verdict.e_t; });
  if (springs > 0) {
    if (coefficients.models.empty()) coefficients.models = UsualModels(groups.size());
    coefficients.models = WithTangential(std::move(coefficients.models));
    if (springs == static_cast<std::ptrdiff_t>(groups.size()))
      identify.tangential = TangentialFit::kAlways;
  }
  result.study = StudyCoefficients(groups, campaign.law, coefficients, campaign.folds, identify,
                                   threads, beside);
  if (groups.size() > 1) result.differences = Differences(groups, campaign.law, identify, beside);
  return result;
}

void WriteCampaignTables(const std::filesystem::path& folder, const CampaignResult& result) {
  CsvWriter impacts(folder / "campaign.csv",
                    {"member", "recording", "impact", "accepted", "reason", "t_s", "speed_m_per_s",
                     "slip_m_per_s", "lean_rad", "v_n_ratio", "sd_v_n_ratio", "J_t_over_J_n",
                     "sd_J_t_over_J_n", "spin_minus_rad_per_s", "spin_plus_rad_per_s", "report"});
  CsvWriter members(folder / "members.csv", {"member", "run", "impacts", "accepted", "fault"});
  for (const MemberResult& result_of : result.members) {
    const std::string run = std::filesystem::absolute(result_of.member->run)
                                .lexically_relative(std::filesystem::absolute(folder))
                                .generic_string();
    members.Text(result_of.member->name)
        .Text(run)
        .Integer(static_cast<long long>(result_of.events.size()))
        .Integer(result_of.accepted);
    members.Text(result_of.fault).EndRow();
    for (const ImpactEvent& event : result_of.events) {
      impacts.Text(result_of.member->name)
          .Text(event.recording)
          .Integer(event.impact)
          .Integer(event.accepted);
      impacts.Text(event.accepted ? "" : ReasonName(event.reason)).Number(event.t);
      if (event.accepted) {
        const MeasuredImpact m = MeasureImpact(event);
        impacts.Number(m.speed)
            .Number(event.contact.v_minus_F.head<2>().norm())
            .Number(m.lean)
            .Number(m.e)
            .Number(m.sd_e);
        impacts.Number(m.ratio)
            .Number(m.sd_ratio)
            .Number(event.omega_minus.norm())
            .Number(event.omega_plus.norm());
      } else {
        for (int k = 0; k < 9; ++k) impacts.Number(std::nan(""));
      }
      impacts.Text(run + "/report.html").EndRow();
    }
  }
  CsvWriter differences(folder / "differences.csv",
                        {"parameter", "a", "b", "difference", "sd", "p", "p_family", "verdict"});
  for (const MemberDifference& d : result.differences) {
    differences.Text(d.parameter)
        .Text(d.a)
        .Text(d.b)
        .Number(d.difference)
        .Number(d.sd)
        .Number(d.p)
        .Number(d.p_family)
        .Text(d.verdict);
    differences.EndRow();
  }
  impacts.Commit();
  members.Commit();
  differences.Commit();
  WriteCoefficients(folder, result.study);
}

std::string BriefReport(const Campaign& campaign, const CampaignResult& result) {
  std::string out = fmt::format("{}: {} members\n\n{:<24}{:>9}  {:<26}{:<26}\n", campaign.name,
                                result.members.size(), "member", "impacts", "mu_k",
                                CoefficientName(campaign.law));
  const ModelScore* best = result.study.chosen();
  const CoefficientFit* shown = best == nullptr ? nullptr : &best->fit;
  // Where one pair serves all, what each would say alone is still wanted.
  for (const ModelScore& score : result.study.models)
    if (score.fit.groups.size() > 1 && score.fit.model.friction != Pooling::kComplete &&
        score.fit.model.restitution != Pooling::kComplete &&
        (shown == nullptr || shown->model.friction == Pooling::kComplete))
      shown = &score.fit;
  const auto words = [](const ParameterEstimate& p) {
    return p.identifiable ? fmt::format("{:.4f} [{:.4f}, {:.4f}]", p.value, p.lower95, p.upper95)
                          : std::string("not determined");
  };
  for (const MemberResult& member : result.members) {
    out += fmt::format("{:<24}{:>9}  ", member.member->name, member.accepted);
    const GroupEstimate* group = nullptr;
    if (shown != nullptr)
      for (const GroupEstimate& g : shown->groups)
        if (g.name == member.member->name) group = &g;
    out += !member.fault.empty() ? member.fault
           : group != nullptr    ? fmt::format("{:<26}{:<26}", words(group->mu_k), words(group->e))
                                 : std::string();
    out += "\n";
  }
  if (best != nullptr)
    out += fmt::format("\nmodel       {}: {}\n", ModelName(best->fit.model), best->verdict);
  const auto differ = std::count_if(result.differences.begin(), result.differences.end(),
                                    [](const auto& d) { return d.verdict == "differ"; });
  if (!result.differences.empty())
    out += fmt::format(
        "differences {} of {} between two members are beyond chance (5 % for all of them "
        "together)\n",
        differ, result.differences.size());
  return out;
}

}  // namespace impactlab
