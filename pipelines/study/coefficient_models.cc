#include "pipelines/study/coefficient_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/files/glob.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/config/visit.h"

namespace impactlab {
namespace {

constexpr const char* kRest = "rest";

CoefficientModel ModelOf(const YamlNode& node, const std::string& name,
                         const std::vector<CoefficientModel>& earlier) {
  for (const CoefficientModel& other : earlier)
    if (ModelName(other) == name) throw node.Fault("models", name + " again", "every model once");
  try {
    return ParseModel(name);
  } catch (const ConfigError&) {
    throw node.Fault("models", Excerpt(name),
                     "constant, or speed | speedM with a number M, order, static, tangential, "
                     "groups | separate | "
                     "mugroups | egroups | museparate | "
                     "eseparate joined by _ in this order");
  }
}

// Rows of model_coefficients.csv: of all impacts, then of every group where there are several.
void AddCoefficientRows(const std::string& law, const CoefficientFit& fit, CsvWriter* table) {
  const auto row = [&](const std::string& group, int events, int recordings,
                       const ParameterEstimate& p) {
    table->Text(law).Text(ModelName(fit.model)).Text(group).Integer(events).Integer(recordings);
    table->Text(p.name).Number(p.value).Number(p.sd).Number(p.lower95).Number(p.upper95);
    table->Integer(p.identifiable).Text(p.reason).EndRow();
  };
  for (const ParameterEstimate& p : fit.parameters) row("all", fit.n_events, fit.n_recordings, p);
  if (fit.groups.size() < 2) return;
  for (const GroupEstimate& group : fit.groups) {
    row(group.name, group.n_events, group.n_recordings, group.mu_k);
    row(group.name, group.n_events, group.n_recordings, group.e);
  }
}

// Rows of intervals.csv.
void AddIntervalRows(const CoefficientStudy& study, CsvWriter* table) {
  const ModelScore* best = study.chosen();
  for (const MethodInterval& row : study.intervals.rows) {
    std::string note;
    for (const auto& [parameter, text] : study.intervals.notes)
      if (parameter == row.parameter) note = text;
    table->Text(study.law).Text(ModelName(best->fit.model)).Text(row.parameter).Text(row.method);
    table->Number(row.value).Number(row.sd).Number(row.lower95).Number(row.upper95);
    table->Integer(row.refits).Text(note).EndRow();
  }
}

// Friction as the fit beside it judges it, where that does not determine it.
void FollowVerdict(const FrictionVerdict& verdict, CoefficientFit* fit) {
  if (verdict.mu_k.identifiable || fit->model.fit_e_t != verdict.e_t || fit->parameters.empty())
    return;
  const bool one = fit->groups.size() < 2;
  const bool all = verdict.group == "all" ||
                   (one && fit->groups.size() == 1 && fit->groups.front().name == verdict.group);
  const Pooling pooling = one ? Pooling::kComplete : fit->model.friction;
  if (all && pooling == Pooling::kComplete) {
    fit->parameters[0] = verdict.mu_k;
    for (GroupEstimate& group : fit->groups) group.mu_k = verdict.mu_k;
  }
  // A group that leans on a population may know what its own impacts do not.
  if (all || pooling == Pooling::kPartial) return;
  for (GroupEstimate& group : fit->groups)
    if (group.name == verdict.group) group.mu_k = verdict.mu_k;
  const bool any = std::any_of(fit->groups.begin(), fit->groups.end(),
                               [](const GroupEstimate& group) { return group.mu_k.identifiable; });
  if (pooling == Pooling::kNone && !any) fit->parameters[0] = verdict.mu_k;
}

// Intervals of friction that is not determined are none.
void DropFriction(IntervalComparison* intervals) {
  std::erase_if(intervals->rows, [](const MethodInterval& row) { return row.parameter == "mu_k"; });
  std::erase_if(intervals->notes, [](const auto& note) { return note.first == "mu_k"; });
}

}  // namespace

const ModelScore* CoefficientStudy::chosen() const {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [](const ModelScore& score) { return score.chosen; });
  return found == models.end() ? nullptr : &*found;
}

std::vector<EventGroup> GroupEvents(const std::vector<ImpactEvent>& events, const Body& body,
                                    const CoefficientOptions& options) {
  std::vector<EventGroup> groups;
  for (const auto& [name, glob] : options.groups) groups.push_back({name, body, {}});
  groups.push_back({options.groups.empty() ? "all" : kRest, body, {}});
  for (const ImpactEvent& event : events) {
    if (!event.accepted) continue;
    std::size_t g = 0;
    while (g < options.groups.size() && !MatchesGlob(options.groups[g].second, event.recording))
      ++g;
    groups[g].events.push_back(event);
  }
  std::erase_if(groups, [](const EventGroup& group) { return group.events.empty(); });
  return groups;
}

std::vector<CoefficientModel> UsualModels(std::size_t n_groups) {
  std::vector<CoefficientModel> models;
  for (const char* name : {"constant", "speed"}) models.push_back(ParseModel(name));
  if (n_groups < 2) {
    models.push_back(ParseModel("order"));
    return models;
  }
  for (const char* name : {"groups", "speed_groups", "separate"})
    models.push_back(ParseModel(name));
  return models;
}

std::vector<CoefficientModel> WithTangential(std::vector<CoefficientModel> models) {
  const std::size_t n = models.size();
  for (std::size_t k = 0; k < n; ++k) {
    CoefficientModel with = models[k];
    with.fit_e_t = true;
    const auto same = [&](const CoefficientModel& m) { return ModelName(m) == ModelName(with); };
    if (std::none_of(models.begin(), models.end(), same)) models.push_back(with);
  }
  return models;
}

CoefficientStudy StudyCoefficients(std::span<const EventGroup> groups, RestitutionLaw law,
                                   const CoefficientOptions& options, int folds,
                                   const IdentifyOptions& identify, int threads,
                                   std::span<const FrictionVerdict> beside) {
  CoefficientStudy study;
  study.law = LawName(law);
  std::vector<CoefficientModel> models =
      options.models.empty() ? UsualModels(groups.size()) : options.models;
  if (identify.tangential == TangentialFit::kAlways) models = WithTangential(std::move(models));
  study.models = CompareModels(groups, law, models, folds, identify);
  std::erase_if(study.models, [](const ModelScore& score) { return !score.fit.ok; });
  for (ModelScore& score : study.models)
    for (const FrictionVerdict& verdict : beside) FollowVerdict(verdict, &score.fit);
  const ModelScore* best = study.chosen();
  if (best != nullptr && options.refits > 1) {
    const IntervalMethods methods{
        .bootstrap = options.refits, .monte_carlo = options.refits, .threads = threads};
    study.intervals = CompareIntervals(groups, law, best->fit.model, methods, identify);
    if (!best->fit.parameters[0].identifiable) DropFriction(&study.intervals);
  }
  return study;
}

void WriteCoefficients(const std::filesystem::path& folder, const CoefficientStudy& study) {
  CsvWriter models(folder / "models.csv", {"law",
                                           "model",
                                           "chosen",
                                           "parameters",
                                           "events",
                                           "recordings",
                                           "folds",
                                           "elpd",
                                           "sd_elpd",
                                           "behind",
                                           "sd_behind",
                                           "loglik",
                                           "aic",
                                           "bic",
                                           "delta_aic",
                                           "delta_bic",
                                           "reference_speed_m_per_s",
                                           "slowest_m_per_s",
                                           "fastest_m_per_s",
                                           "verdict"});
  CsvWriter coefficients(folder / "model_coefficients.csv",
                         {"law", "model", "group", "events", "recordings", "parameter", "value",
                          "sd", "lower95", "upper95", "identifiable", "reason"});
  for (const ModelScore& score : study.models) {
    const CoefficientFit& fit = score.fit;
    const std::string name = ModelName(fit.model);
    models.Text(study.law)
        .Text(name)
        .Integer(score.chosen)
        .Number(fit.parameters_used)
        .Integer(fit.n_events)
        .Integer(fit.n_recordings);
    models.Integer(score.folds)
        .Number(score.elpd)
        .Number(score.sd_elpd)
        .Number(score.behind)
        .Number(score.sd_behind)
        .Number(fit.loglik);
    models.Number(fit.aic)
        .Number(fit.bic)
        .Number(score.delta_aic)
        .Number(score.delta_bic)
        .Number(fit.reference_speed);
    models.Number(fit.slowest).Number(fit.fastest).Text(score.verdict).EndRow();
    AddCoefficientRows(study.law, fit, &coefficients);
  }
  CsvWriter intervals(folder / "intervals.csv", {"law", "model", "parameter", "method", "value",
                                                 "sd", "lower95", "upper95", "refits", "note"});
  AddIntervalRows(study, &intervals);
  models.Commit();
  coefficients.Commit();
  intervals.Commit();
}

void Visit(pipelines::Keys& keys, CoefficientOptions& o) {
  keys.Custom(
      "models",
      "to compare: constant; speed, e = 1 - alpha v^m with m fitted, or speedM with a number "
      "(speed1); order, friction and restitution that change with the order of the recordings; "
      "static, static friction above the kinetic; tangential, tangential restitution e_t "
      "of contacts that stick; of groups: groups (partial pooling), separate (none), or of one "
      "coefficient mugroups, egroups, museparate, eseparate; joined in this order by _ "
      "(speed_groups). Default: constant, speed, order; with groups constant, speed, groups, "
      "speed_groups, separate; "
      "where contacts are found to spring back, each with e_t besides",
      [&](const YamlNode& node, const char* key) {
        if (node.Has(key))
          for (const std::string& name : node.Texts(key))
            o.models.push_back(ModelOf(node, name, o.models));
      },
      [&] {
        std::vector<std::string> names;
        for (const CoefficientModel& model : o.models) names.push_back(ModelName(model));
        return names.empty() ? "" : "[" + JoinNames(names) + "]";
      });
  keys.List(
      "groups", o.groups,
      "specimens, surfaces or material pairs; recordings of no group are `rest`. Default: "
      "one group",
      pipelines::Style::kFlow, [&](pipelines::Keys& k, std::pair<std::string, std::string>& group) {
        auto& [name, recordings] = group;
        k.Text("name", name, "of the group", pipelines::Need::kRequired);
        k.Text("recordings", recordings, "pattern of the recordings' names: `*`, `?`, `[a-z]`",
               pipelines::Need::kRequired);
        k.Check(name != kRest && name != "all", "name", name,
                "another name: it is that of the recordings of no group or of all");
        for (const auto& [other, pattern] : o.groups)
          k.Check(other != name, "name", Excerpt(name) + " again", "every name once");
      });
  keys.Count("refits", o.refits, Closed(0, 1000000),
             "of the bootstrap and of Monte Carlo each, for the comparison of intervals; some 5 ms "
             "each for 100 planar impacts, ten times that in space; 0: none");
}

}  // namespace impactlab
