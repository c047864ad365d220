#include "pipelines/run/flights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "data/base/parallel.h"
#include "data/files/atomic_file.h"
#include "data/files/number_json.h"
#include "data/files/table.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

std::string Blamed(const FlightCheck& check) {
  std::string names;
  for (const FlightSuspect& s : check.culprits) names += (names.empty() ? "" : " or ") + s.name;
  return names;
}

bool Failed(const FlightCheck& check) { return check.usable && !check.passed; }

// What most of the failed recordings blame, and the one of them whose images speak loudest.
void Blame(FlightReport* report) {
  std::map<std::string, std::vector<const FlightCheck*>> by_name;
  for (const FlightCheck& check : report->recordings)
    if (Failed(check)) by_name[Blamed(check)].push_back(&check);
  const std::vector<const FlightCheck*>* most = nullptr;
  for (const auto& [name, checks] : by_name)
    if (most == nullptr || checks.size() > most->size()) most = &checks;
  if (most == nullptr) return;
  const FlightCheck& loudest = **std::max_element(
      most->begin(), most->end(),
      [](const auto* a, const auto* b) { return a->chi_square < b->chi_square; });
  report->named = static_cast<int>(most->size());
  report->culprits = loudest.culprits;
  report->verdict =
      fmt::format("{} of {} recordings disagree with what was declared; ", report->failed,
                  report->checked) +
      (report->named == report->failed ? "" : fmt::format("{} of them say: ", report->named)) +
      loudest.verdict;
}

void Summarise(FlightReport* report) {
  struct Sum {
    FlightSummary out;
    double weight = 0, weighted = 0, sds = 0, expected = 0;
  };
  std::vector<Sum> sums;
  for (const FlightCheck& check : report->recordings) {
    if (!check.usable) continue;
    for (const FlightQuantity& q : check.quantities) {
      auto at = std::find_if(sums.begin(), sums.end(),
                             [&](const Sum& s) { return s.out.name == q.name; });
      if (at == sums.end()) {
        at = sums.insert(sums.end(), Sum{});
        at->out.name = q.name;
        at->out.unit = q.unit;
      }
      const double weight = q.sd > 0 ? 1 / (q.sd * q.sd) : 1;
      at->weight += weight;
      at->weighted += weight * q.value;
      at->sds += weight * q.sd;
      at->expected += weight * q.expected;
      ++at->out.recordings;
      at->out.failed += !q.ok;
      if (std::abs(q.z) > std::abs(at->out.worst_z)) at->out.worst_z = q.z;
    }
  }
  for (Sum& s : sums) {
    s.out.value = s.weighted / s.weight;
    s.out.expected = s.expected / s.weight;
    s.out.sd = s.sds / s.weight;
    s.out.lower95 = s.out.value - kNormal95 * s.out.sd;
    s.out.upper95 = s.out.value + kNormal95 * s.out.sd;
    report->quantities.push_back(s.out);
  }
}

Json Of(const FlightSuspect& s) {
  return {{"fault", FaultName(s.fault)},
          {"name", s.name},
          {"chi_square_gain", NumberJson(s.gain)},
          {"dof", s.dof},
          {"value", NumberJson(s.value)},
          {"shift_px", {NumberJson(s.shift.x()), NumberJson(s.shift.y())}}};
}

Json Of(const std::vector<FlightSuspect>& suspects) {
  Json out = Json::array();
  for (const FlightSuspect& s : suspects) out.push_back(Of(s));
  return out;
}

}  // namespace

FlightReport CheckAllFlights(const Experiment& experiment, const MarkerRecordings& markers,
                             const Plane& floor, const RunContext& context) {
  FlightReport report;
  report.recordings.resize(markers.recordings.size());
  Progress progress("checking free flights", static_cast<std::int64_t>(markers.recordings.size()),
                    "recordings", context.Shown());
  ForEachIndex(report.recordings.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    FlightCheck& check = report.recordings[i];
    const MarkerRecording& recording = markers.recordings[i];
    if (recording.fault.empty()) {
      FlightCheckOptions options;
      options.drop = BundleOptions(experiment, markers, i);
      const double declared = experiment.markers->plan.identity.layout_sd;
      if (declared > 0) options.layout_sd = declared;
      check = CheckFlights(recording.tracks, markers.rig, markers.layout, experiment.body, floor,
                           options);
    } else {
      check.reason = recording.fault;
    }
    progress.Advance();
  });
  for (const FlightCheck& check : report.recordings) {
    report.checked += check.usable;
    report.failed += Failed(check);
  }
  Summarise(&report);
  if (report.failed > 0) {
    Blame(&report);
  } else if (report.checked > 0) {
    report.verdict = fmt::format(
        "{} of {} recordings could be checked: {}", report.checked, report.recordings.size(),
        "free flight agrees with gravity, lengths, clocks and lenses as declared");
  } else if (!report.recordings.empty()) {
    report.verdict = "no recording could be checked; first: " + report.recordings.front().reason;
  }
  return report;
}

void ExplainRefusals(const FlightReport& report, const MarkerRecordings& markers,
                     std::vector<ImpactEvent>* events) {
  if (std::any_of(events->begin(), events->end(), [](const ImpactEvent& e) { return e.accepted; }))
    return;
  for (std::size_t i = 0; i < report.recordings.size(); ++i) {
    const FlightCheck& check = report.recordings[i];
    if (!Failed(check)) continue;
    for (ImpactEvent& event : *events)
      if (event.recording == markers.recordings[i].tracks.recording)
        event.detail +=
            (event.detail.empty() ? "" : "; ") + std::string("its free flight: ") + check.verdict;
  }
}

void WriteFlights(const std::filesystem::path& folder, const MarkerRecordings& markers,
                  const FlightReport& report) {
  CsvWriter out(folder / "flights.csv", {"recording", "quantity", "unit", "value", "expected", "sd",
                                         "lower95", "upper95", "z", "ok"});
  for (std::size_t i = 0; i < report.recordings.size(); ++i)
    for (const FlightQuantity& q : report.recordings[i].quantities) {
      out.Text(markers.recordings[i].tracks.recording)
          .Text(q.name)
          .Text(q.unit.empty() ? "1" : q.unit);
      for (const double x :
           {q.value, q.expected, q.sd, q.value - kNormal95 * q.sd, q.value + kNormal95 * q.sd, q.z})
        out.Number(x);
      out.Integer(q.ok).EndRow();
    }
  out.Commit();
  Json json = {{"schema", "impactlab.flights/1"}, {"verdict", report.verdict},
               {"checked", report.checked},       {"failed", report.failed},
               {"named", report.named},           {"culprits", Of(report.culprits)},
               {"recordings", Json::array()}};
  for (std::size_t i = 0; i < report.recordings.size(); ++i) {
    const FlightCheck& check = report.recordings[i];
    const auto times = [](const std::vector<std::pair<double, double>>& flights) {
      Json out = Json::array();
      for (const auto& [from, to] : flights) out.push_back({{"from_s", from}, {"to_s", to}});
      return out;
    };
    json["recordings"].push_back({{"recording", markers.recordings[i].tracks.recording},
                                  {"usable", check.usable},
                                  {"reason", check.reason},
                                  {"passed", check.usable && check.passed},
                                  {"verdict", check.verdict},
                                  {"culprits", Of(check.culprits)},
                                  {"suspects", Of(check.suspects)},
                                  {"flights", times(check.flights)},
                                  {"unjudged", times(check.unjudged)},
                                  {"chi_square", NumberJson(check.chi_square)},
                                  {"dof", check.dof},
                                  {"outliers", check.outliers},
                                  {"noise_scale", NumberJson(check.noise_scale)}});
  }
  WriteFile(folder / "flights.json",
            json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace impactlab
