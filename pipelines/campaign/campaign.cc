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
#include "pipelines/config/visit.h"
#include "pipelines/tables/tables.h"

namespace impactlab {
namespace {

constexpr const char* kSchema = "impactlab.campaign/1";

// A name that is a folder on every system.
bool IsFolderName(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.size() > 100) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > 31 && c != 127 && std::string_view("/\\:*?\"<>|").find(c) == std::string_view::npos;
  });
}

const ParameterEstimate& Of(const GroupEstimate& group, bool friction) {
  return friction ? group.mu_k : group.e;
}

// Every two members, by the fits of each alone.
std::vector<MemberDifference> Differences(std::span<const EventGroup> groups, RestitutionLaw law,
                                          const IdentifyOptions& identify) {
  std::vector<MemberDifference> out;
  const CoefficientFit alone = FitCoefficients(groups, law, ParseModel("separate"), identify);
  if (!alone.ok) return out;
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

}  // namespace

Campaign LoadCampaign(const std::filesystem::path& path, const std::filesystem::path& out) {
  const YamlNode root = LoadYaml(path);
  root.Choice("schema", {kSchema});
  Campaign campaign;
  campaign.path = path;
  campaign.name = root.Text("name", path.stem().string());
  std::set<std::string> names;
  std::set<std::filesystem::path> runs;
  for (const YamlNode& node : root.List("members")) {
    CampaignMember member;
    member.name = node.Text("name");
    if (!IsFolderName(member.name))
      throw node.Fault("name", Excerpt(member.name),
                       "a name of up to 100 characters without / \\ : * ? \" < > |");
    // Some systems tell no capitals in the names of folders.
    if (!names.insert(LowerCase(member.name)).second)
      throw node.Fault("name", Excerpt(member.name) + " again", "every name once");
    const bool finished = node.Has("run");
    if (finished == node.Has("experiment"))
      throw node.Fault("experiment", finished ? "experiment and run" : "neither experiment nor run",
                       "one of them");
    if (finished) {
      member.run = node.Folder() / node.Text("run");
    } else {
      member.experiment = node.Folder() / node.Text("experiment");
      if (node.Has("recordings"))
        member.recordings =
            (std::filesystem::absolute(node.Folder()) / node.Text("recordings")).string();
      member.run = out / member.name;
    }
    const std::filesystem::path folder = std::filesystem::weakly_canonical(member.run);
    if (finished && !runs.insert(folder).second)
      throw node.Fault("run", Excerpt(folder.string()) + " again", "every run once");
    campaign.members.push_back(std::move(member));
  }
  std::vector<std::string> laws;
  for (const RestitutionLaw law :
       {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson, RestitutionLaw::kNewton})
    laws.emplace_back(LawName(law));
  const std::string law = root.Choice("law", laws.front(), laws);
  for (const RestitutionLaw l :
       {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson, RestitutionLaw::kNewton})
    if (law == LawName(l)) campaign.law = l;
  const YamlNode coefficients = root.MapOrEmpty("coefficients");
  if (coefficients.Has("groups"))
    throw coefficients.Fault("groups", "groups", "none: the members are the groups");
  campaign.coefficients = pipelines::ReadKeys<CoefficientOptions>(coefficients);
  campaign.folds = static_cast<int>(root.Integer("folds", campaign.folds, Closed(2, 1000)));
  campaign.seed = static_cast<std::uint64_t>(
      root.Integer("seed", static_cast<std::int64_t>(campaign.seed), NonNegative()));
  root.Finish();
  return campaign;
}

CampaignResult AnalyseCampaign(const Campaign& campaign, int threads,
                               const std::function<void(double)>& progress) {
  CampaignResult result;
  IdentifyOptions identify;
  std::vector<EventGroup> groups;
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
      std::vector<ImpactEvent> accepted;
      for (const ImpactEvent& event : out.events)
        if (event.accepted) accepted.push_back(event);
      out.accepted = static_cast<int>(accepted.size());
      if (accepted.empty()) out.fault = "no accepted impact";
      if (!groups.empty() && !accepted.empty() &&
          groups.front().body.planar != experiment.body.planar)
        out.fault = "planar beside members in space, or the other way round: they are not compared";
      if (out.fault.empty()) groups.push_back({member.name, experiment.body, std::move(accepted)});
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
  result.study = StudyCoefficients(groups, campaign.law, campaign.coefficients, campaign.folds,
                                   identify, threads);
  if (groups.size() > 1) result.differences = Differences(groups, campaign.law, identify);
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
