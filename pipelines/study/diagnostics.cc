#include "pipelines/study/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/atomic_file.h"
#include "data/files/number_json.h"
#include "data/files/output_folder.h"
#include "data/files/sentence.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {
namespace {

// How impacts end by the law, over those it could predict.
struct Ends {
  int n = 0, stick = 0, slide = 0;  // stick at the end; slide all through in one direction
  int leave = 0;                    // are measured to leave sliding, under any law
};
Ends EndsOf(std::span<const ImpactEvent> events, const LawFit& fit) {
  Ends ends;
  const ImpactModel model = ModelOf(fit);
  for (const ImpactEvent& event : events) {
    if (!event.accepted || SpinIsOpen(event)) continue;
    const ImpactOutcome outcome = Solve(event.contact, model, {.dense_output = false});
    if (outcome.status != SolveStatus::kOk) continue;
    const int digit = outcome.path_case.digit;
    ++ends.n;
    ends.stick += digit == 1 || digit == 3 || digit == 5;
    ends.slide += digit == 0;
    constexpr double kSlides = 0.3;  // of the normal speed of approach: more than surfaces scatter
    ends.leave += !SpinIsUnknown(event) &&
                  event.v_plus_F.head<2>().norm() > kSlides * std::abs(event.contact.v_minus_F.z());
  }
  return ends;
}

std::string OpenSpinWords(int open) {
  return fmt::format(
      "; before {} of them it is not known, so that their |J_t| / J_n bounds mu from below alone: "
      "declare the spin of the ball where recordings begin (release: {{sd_rad_per_s: 1}} where it "
      "is let go at rest), or film marks on the ball",
      open);
}

void NameSpin(std::span<const ImpactEvent> events, std::vector<CampaignFinding>& findings) {
  int accepted = 0, unknown = 0, open = 0, refused = 0;
  for (const ImpactEvent& event : events) {
    accepted += event.accepted;
    unknown += event.accepted && SpinIsUnknown(event);
    open += event.accepted && SpinIsOpen(event);
    refused +=
        !event.accepted &&
        event.detail.find("neither spin nor contact point was measured") != std::string::npos;
  }
  if (unknown > 0)
    findings.push_back(
        {"spin_not_measured",
         fmt::format("spin was not measured in {} of {} impacts: whether angular momentum closes "
                     "is not checked, and mu comes from the velocities alone, as |J_t| / J_n where "
                     "the contact slides all through{}",
                     unknown, accepted, open > 0 ? OpenSpinWords(open) : "")});
  if (refused > 0)
    findings.push_back({"spin_not_measured",
                        fmt::format("attitude never changes in {} impacts: spin and contact point "
                                    "were not measured, and only a ball's contact point is known "
                                    "without; none of them counts",
                                    refused)});
}

void NameCases(std::span<const ImpactEvent> events, const FitResult& fit, const std::string& law,
               std::vector<CampaignFinding>& findings) {
  for (const LawFit& one : fit.fits) {
    if (one.law != law || !one.fitted()) continue;
    const Ends ends = EndsOf(events, one);
    if (ends.n == 0) continue;
    const ParameterEstimate& mu = one.mu_k;
    if (!mu.identifiable || ends.stick == ends.n) {
      const bool demand = mu.reason.find("no tangential demand") == std::string::npos;
      // One wild impact among many that stick does not make it a campaign of sliding ones.
      if (!mu.identifiable && 4 * ends.leave >= ends.n)
        findings.push_back(
            {"friction_not_told",
             fmt::format("{} of {} impacts leave sliding, by more than 30 % of the speed they came "
                         "down with, but they are too few, or scatter too much, to bound mu from "
                         "above{}",
                         ends.leave, ends.n,
                         mu.lower95 > 0 ? fmt::format("; from below at {:.3g}", mu.lower95) : "")});
      else if (!demand)
        findings.push_back({"no_tangential_demand",
                            "no impact slides and none needs friction to stick: every mu agrees "
                            "with the data"});
      else if (ends.stick > 0 &&
               (mu.identifiable || mu.reason.find("bounded below") != std::string::npos))
        findings.push_back(
            {"everything_sticks",
             fmt::format(
                 "{} of {} impacts end sticking{}: {}", ends.stick, ends.n,
                 mu.reason.starts_with("one impact alone slides")
                     ? ", one of them unless it slides by little"
                     : "",
                 mu.identifiable
                     ? fmt::format(
                           "mu follows only from how long they slid before ({:.3g} to {:.3g})",
                           mu.lower95, mu.upper95)
                     : fmt::format("mu is bounded below only, at {:.3g}", mu.lower95))});
    } else if (ends.slide == ends.n) {
      std::vector<std::string> symbols;
      symbols.reserve(std::size(kRestitutionLaws));
      for (const RestitutionLawInfo& law : kRestitutionLaws) symbols.emplace_back(law.symbol);
      findings.push_back(
          {"everything_slides",
           fmt::format("all {} impacts slide from beginning to end: {} are one number here, and "
                       "neither static friction nor how slip stops is tested{}",
                       ends.n, ListInWords(symbols),
                       mu.lower95 <= 0
                           ? fmt::format("; mu agrees with 0 and is at most {:.3g}", mu.upper95)
                           : "")});
    }
  }
}

void NameDepartures(const Diagnostics& s, std::vector<CampaignFinding>& findings) {
  std::string where;
  int departs = 0, judged = 0;
  for (const AreaRow& row : s.areas) {
    if (row.law != s.law || row.verdict == "few") continue;
    ++judged;
    if (row.verdict != "departs") continue;
    ++departs;
    if (where.empty())
      where =
          fmt::format("{}: area {:.3f}, a true prediction's is below {:.3f} (p = {:.2g}); {}",
                      row.quantity, row.u_area, row.u_upper95, row.p_family, DepartureWords(row));
  }
  if (departs > 0)
    findings.push_back(
        {"distribution", fmt::format("measurements do not lie in the distributions that {} "
                                     "predicts for them in {} of {} quantities: {}",
                                     LawInWords(s.law), departs, judged, where)});
  // The clearest edge of each condition: three errors see one failure together.
  std::vector<const EdgeRow*> edges;
  for (const EdgeRow& row : s.edges)
    if (row.law == s.law && row.found) edges.push_back(&row);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const EdgeRow* a, const EdgeRow* b) { return a->p_family < b->p_family; });
  std::vector<std::string> told;
  for (const EdgeRow* row : edges) {
    if (std::find(told.begin(), told.end(), row->condition) != told.end()) continue;
    told.push_back(row->condition);
    findings.push_back({row->condition == "order" ? "drift" : "law_form", EdgeWords(*row)});
  }
}

// The law that findings refer to: the best of the fitted laws with a path.
std::string LawOf(const FitResult& fit, const LawComparison& laws) {
  const auto fitted = [&](const std::string& law) {
    return std::any_of(fit.fits.begin(), fit.fits.end(),
                       [&](const LawFit& one) { return one.law == law; });
  };
  for (const std::string& law : laws.order)
    if (fitted(law)) return law;
  return fit.fits.empty() ? "" : fit.fits.back().law;
}

bool AnyEdge(const Diagnostics& s) {
  return std::any_of(s.edges.begin(), s.edges.end(),
                     [&](const EdgeRow& row) { return row.law == s.law && row.found; });
}

}  // namespace

Diagnostics DiagnoseCampaign(std::span<const ImpactEvent> events, const Body& body,
                             const FitResult& fit, const ValidationTable& validation,
                             std::uint64_t seed) {
  Diagnostics out;
  out.laws = CompareLaws(validation);
  out.law = LawOf(fit, out.laws);
  out.areas = CompareDistributions(validation, seed);
  out.edges = FindEdges(events, validation, seed);
  out.restitution = CompareRestitution(events, body, fit);
  for (const LawFit& one : fit.fits)
    if (one.law == out.law) out.specimens = FindSpecimenMixture(events, body, one, seed);
  NameSpin(events, out.findings);
  NameCases(events, fit, out.law, out.findings);
  if (out.specimens.mixed) out.findings.push_back({"two_specimens", out.specimens.text});
  if (!out.specimens.parted_by.empty()) out.findings.push_back({"law_form", out.specimens.text});
  NameDepartures(out, out.findings);
  return out;
}

void WriteDiagnostics(const std::filesystem::path& folder, const Diagnostics& s) {
  const auto write = [&](bool any, const char* name, const auto& writer) {
    if (any)
      writer(folder / name);
    else
      RemoveOutput(folder / name);
  };
  write(!s.areas.empty(), "area.csv", [&](const auto& path) { WriteAreas(path, s.areas); });
  write(!s.edges.empty(), "edges.csv", [&](const auto& path) { WriteEdges(path, s.edges); });
  write(!s.laws.empty(), "law_comparison.csv",
        [&](const auto& path) { WriteLawComparison(path, s.laws); });
  write(s.specimens.test.tested, "specimens.csv",
        [&](const auto& path) { WriteSpecimenMixture(path, s.specimens); });
  write(!s.restitution.empty(), "restitution.csv",
        [&](const auto& path) { WriteRestitution(path, s.restitution); });
  write(!s.empty(), "scrutiny.json", [&](const auto& path) {
    nlohmann::ordered_json json;
    json["schema"] = "impactlab.scrutiny/1";
    json["law"] = s.law;
    json["findings"] = nlohmann::ordered_json::array();
    for (const CampaignFinding& f : s.findings)
      json["findings"].push_back({{"cause", f.cause}, {"text", f.text}});
    json["laws"] = ToWords(s.laws);
    json["no_edge"] = AnyEdge(s) ? "" : NoEdgeWords(s.edges, s.law);
    json["restitution"] = s.restitution.text;
    const MixtureTest& t = s.specimens.test;
    json["specimens"] = {
        {"text", s.specimens.text},
        {"p", t.tested ? NumberJson<nlohmann::json>(t.p) : nullptr},
        {"separation", t.tested ? NumberJson<nlohmann::json>(t.separation) : nullptr}};
    for (std::size_t q = 0; q < t.mean_first.size(); ++q)
      json["specimens"][q == 0 ? "e" : "mu"] = {
          {"one", NumberJson<nlohmann::json>(t.mean_one[q])},
          {"first", NumberJson<nlohmann::json>(t.mean_first[q])},
          {"second", NumberJson<nlohmann::json>(t.mean_second[q])}};
    WriteFile(path, json.dump(1) + "\n");
  });
}

std::string BriefReport(const Diagnostics& s) {
  if (s.empty()) return "";
  std::string out = "\n";
  for (const CampaignFinding& finding : s.findings) out += "found       " + finding.text + "\n";
  const std::string none = AnyEdge(s) ? "" : NoEdgeWords(s.edges, s.law);
  if (!none.empty()) out += fmt::format("validity    {}: {}\n", LawInWords(s.law), none);
  if (!s.laws.empty()) out += "laws        " + ToWords(s.laws) + "\n";
  if (!s.restitution.text.empty()) out += "restitution " + s.restitution.text + "\n";
  return out;
}

}  // namespace impactlab
