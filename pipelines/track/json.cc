#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "data/cache/provenance.h"
#include "data/files/number_json.h"
#include "pipelines/track/track.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

Json Of(const RecordingSummary::Camera& c) {
  return {{"name", c.name},
          {"failure", c.failure},
          {"width_px", c.info.width},
          {"height_px", c.info.height},
          {"codec", c.info.codec},
          {"frames", c.frames},
          {"damaged", c.damaged},
          {"broke", c.broke},
          {"rate_Hz", NumberJson(c.rate)},
          {"blur_px", NumberJson(c.blur)},
          {"noise_grey", NumberJson(c.noise)},
          {"threshold_grey", NumberJson(c.threshold)},
          {"spots_per_frame", NumberJson(c.spots_per_frame)},
          {"innovations",
           {{"n", c.innovations.n},
            {"error_scale", NumberJson(c.innovations.error_scale)},
            {"mean_nis_per_dof", NumberJson(c.innovations.mean)},
            {"lower999", NumberJson(c.innovations.lower)},
            {"upper999", NumberJson(c.innovations.upper)},
            {"outside_gate", NumberJson(c.innovations.outside_gate)}}},
          {"seconds", NumberJson(c.seconds)},
          {"seconds_decoding", NumberJson(c.decoding)}};
}

Json Of(const CameraClock& clock) {
  return {{"usable", clock.usable},
          {"reason", clock.reason},
          {"shift_s", NumberJson(clock.shift)},
          {"rate", NumberJson(clock.rate)},
          {"sd_shift_s", NumberJson(std::sqrt(clock.cov(0, 0)))},
          {"sd_rate", NumberJson(std::sqrt(clock.cov(1, 1)))},
          {"rate_known", clock.rate_known},
          {"matched", clock.matched},
          {"rms_s", NumberJson(clock.rms)}};
}

Json Of(const RecordingSummary& r, const TrackConfig& plan) {
  Json json = {{"name", r.name}, {"failure", r.failure}};
  json["cameras"] = Json::array();
  for (const auto& camera : r.cameras) json["cameras"].push_back(Of(camera));
  json["clocks"] = Json::array();
  for (const auto& clock : r.clocks) json["clocks"].push_back(Of(clock));
  if (r.identity_tried) {
    Json changes = Json::array();
    for (const IdentityChange& change : r.changes)
      changes.push_back({{"camera", plan.cameras[static_cast<std::size_t>(change.camera)].name},
                         {"first_frame", change.first},
                         {"last_frame", change.last},
                         {"from", change.from},
                         {"to", change.to},
                         {"log_odds", NumberJson(change.log_odds)}});
    json["identity"] = {
        {"usable", r.identity_usable},        {"reason", r.identity_reason},
        {"ray_rms", NumberJson(r.ray_rms)},   {"layout_rms_m", NumberJson(r.layout_rms)},
        {"log_odds", NumberJson(r.log_odds)}, {"changes", std::move(changes)}};
  }
  json["markers"] = Json::array();
  for (const MarkerSummary& m : r.markers)
    json["markers"].push_back({{"camera", m.camera},
                               {"marker", m.marker},
                               {"first_frame", m.first},
                               {"last_frame", m.last},
                               {"measured", m.measured},
                               {"predicted", m.predicted},
                               {"gaps", m.gaps},
                               {"longest_gap", m.longest_gap},
                               {"flagged", m.flagged},
                               {"rough", m.rough},
                               {"median_sd_px", NumberJson(m.sd)}});
  json["corrections"] = r.corrections;
  json["notes"] = r.notes;
  return json;
}

std::string Cut(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

}  // namespace

std::vector<std::string> GroupedNotes(const TrackRun& run) {
  // The same note of many recordings is listed once.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> by_text;
  const auto add = [&](const std::string& text, const std::string& recording) {
    std::vector<std::string>& names = by_text[text];
    if (names.empty()) order.push_back(text);
    if (names.empty() || names.back() != recording) names.push_back(recording);
  };
  for (const RecordingSummary& r : run.recordings) {
    for (const RecordingSummary::Camera& camera : r.cameras) {
      if (!camera.broke.empty())
        add(fmt::format("camera {}: {}", camera.name, camera.broke), r.name);
      if (r.failure.empty() && !camera.failure.empty())
        add(fmt::format("camera {}: {}", camera.name, camera.failure), r.name);
    }
    if (r.identity_tried && !r.identity_usable)
      add("names could not be confirmed in space and were removed where one camera does not "
          "determine them: " +
              r.identity_reason,
          r.name);
    for (const std::string& note : r.notes) add(note, r.name);
  }
  std::vector<std::string> out;
  for (const std::string& text : order) {
    const std::vector<std::string>& names = by_text.at(text);
    out.push_back(names.size() == 1
                      ? names.front() + ": " + text
                      : fmt::format("{} and {} more: {}", names.front(), names.size() - 1, text));
  }
  std::size_t changed = 0;
  for (const RecordingSummary& r : run.recordings) changed += r.changes.size();
  if (changed > 0)
    out.push_back(
        fmt::format("{} stretches of tracks changed their name once rays and layout were counted "
                    "(listed in tracking.json)",
                    changed));
  return out;
}

std::string ToJson(const TrackRun& run) {
  Json json = {{"schema", "impactlab.tracking_result/1"},
               {"version", ProgramVersion()},
               {"name", run.plan.name},
               {"points", run.points},
               {"seconds", NumberJson(run.seconds)}};
  json["recordings"] = Json::array();
  for (const RecordingSummary& r : run.recordings) json["recordings"].push_back(Of(r, run.plan));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string BriefReport(const TrackRun& run) {
  std::string out =
      fmt::format("{}: {} recording{}, {} camera{}, {} points\n\n", run.plan.name,
                  run.recordings.size(), run.recordings.size() == 1 ? "" : "s",
                  run.plan.cameras.size(), run.plan.cameras.size() == 1 ? "" : "s", run.points);
  out += fmt::format("{:<20} {:<10} {:>7} {:>9} {:>8} {:>9} {:>9} {:>7} {:>8} {:>7}\n", "recording",
                     "camera", "frames", "rate [Hz]", "markers", "measured", "predicted", "flagged",
                     "sd [px]", "NIS/2");
  constexpr std::size_t kRows = 40;
  std::size_t rows = 0, failed = 0;
  for (const RecordingSummary& r : run.recordings) {
    failed += !r.failure.empty();
    if (!r.failure.empty()) {
      if (rows++ < kRows) out += fmt::format("{:<20} {}\n", Cut(r.name, 20), r.failure);
      continue;
    }
    for (const RecordingSummary::Camera& camera : r.cameras) {
      if (rows++ >= kRows) continue;
      if (!camera.failure.empty()) {
        out += fmt::format("{:<20} {:<10} {}\n", Cut(r.name, 20), Cut(camera.name, 10),
                           camera.failure);
        continue;
      }
      long long markers = 0, measured = 0, predicted = 0, flagged = 0;
      double sd = 0;
      for (const MarkerSummary& m : r.markers) {
        if (m.camera != camera.name) continue;
        ++markers, measured += m.measured, predicted += m.predicted, flagged += m.flagged;
        sd = std::max(sd, m.sd);
      }
      out += fmt::format("{:<20} {:<10} {:>7} {:>9.2f} {:>8} {:>9} {:>9} {:>7} {:>8.3f} {:>7.2f}\n",
                         Cut(r.name, 20), Cut(camera.name, 10), camera.frames, camera.rate, markers,
                         measured, predicted, flagged, sd, camera.innovations.mean);
    }
  }
  if (rows > kRows) out += fmt::format("... and {} rows more, in tracking.json\n", rows - kRows);
  const std::vector<std::string> notes = GroupedNotes(run);
  constexpr std::size_t kNotes = 14;
  for (std::size_t k = 0; k < std::min(notes.size(), kNotes); ++k)
    out += fmt::format("{}{}\n", k == 0 ? "\n" : "", notes[k]);
  if (notes.size() > kNotes)
    out += fmt::format("... and {} notes more, on the page\n", notes.size() - kNotes);
  int corrections = 0;
  for (const RecordingSummary& r : run.recordings) corrections += r.corrections;
  if (corrections > 0) out += fmt::format("{} points corrected by hand\n", corrections);
  if (failed > 0)
    out += fmt::format("\n{} of {} recordings gave nothing\n", failed, run.recordings.size());
  return out;
}

}  // namespace impactlab
