// The browser of recordings: poses against time with the fitted arcs, packed for the page's script
// or drawn for a few recordings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

using Json = nlohmann::json;
using Samples = std::vector<std::vector<double>>;  // one vector a channel

struct Arc {
  std::vector<double> t;
  Samples channels;
};

struct View {
  std::string name;
  std::vector<double> t;
  Samples channels;  // planar: x, z, theta; spatial: x, y, z, qw, qx, qy, qz
  std::vector<const ImpactEvent*> events;
  std::vector<std::array<std::size_t, 2>> used;  // frames of fitted arcs, inclusive
  std::vector<Arc> arcs;
};

Samples EmptySamples(bool planar) { return Samples(planar ? 3 : 7); }

// Appends a pose; attitudes continue from the sample before (or from `anchor`), so that no channel
// jumps by a turn or a sign.
void Append(Samples& channels, const Eigen::Isometry3d& X, bool planar, const double* anchor) {
  const Eigen::Vector3d p = X.translation();
  const auto last = [&](std::size_t k) {
    return !channels[k].empty() ? channels[k].back() : anchor ? anchor[k] : 0.0;
  };
  if (planar) {
    const double turn = 2 * std::numbers::pi, theta = PlanarAngle(X);
    const double continued = theta + turn * std::round((last(2) - theta) / turn);
    channels[0].push_back(p.x());
    channels[1].push_back(p.z());
    channels[2].push_back(continued);
    return;
  }
  const Eigen::Quaterniond q(X.linear());
  const double dot = q.w() * last(3) + q.x() * last(4) + q.y() * last(5) + q.z() * last(6);
  const double sign = dot < 0 ? -1 : 1;
  const double values[] = {p.x(),        p.y(),        p.z(),       sign * q.w(),
                           sign * q.x(), sign * q.y(), sign * q.z()};
  for (std::size_t k = 0; k < 7; ++k) channels[k].push_back(values[k]);
}

// Arc of an event from its state at the impact, on the recording's clock from `from` to `to`.
// Frames the recorder lost make the clock late.
Arc SampleArc(const ImpactEvent& event, const ReportContext& context, bool plus, double from,
              double to, double late, const double* anchor) {
  constexpr int kPoints = 14;
  Arc arc{.t = {}, .channels = EmptySamples(event.planar)};
  BodyState state{event.X_WB, plus ? event.v_plus : event.v_minus,
                  plus ? event.omega_plus : event.omega_minus};
  // Velocities against a struck body that moves are less what its contact point had before.
  if (event.struck) state.v_WB += event.struck->PointMinus(event.p_WP);
  // From the impact outwards, so that attitudes continue from the pose at the impact.
  for (int k = 0; k <= kPoints; ++k) {
    const double t = plus ? from + (to - from) * k / kPoints : to + (from - to) * k / kPoints;
    const BodyState at = Propagate(state, context.run.experiment.body,
                                   context.run.experiment.motion.flight, t + late - event.t);
    if (!at.X_WB.matrix().allFinite()) return {};
    arc.t.push_back(t);
    Append(arc.channels, at.X_WB, event.planar, anchor);
  }
  return arc;
}

void AddArcs(View& view, const ImpactEvent& event, const ReportContext& context, double interval) {
  if (view.t.size() < 2 || !std::isfinite(event.t) || event.frames_minus <= 0 ||
      (event.v_minus.isZero(0) && event.v_plus.isZero(0)))
    return;
  const auto after = std::upper_bound(view.t.begin(), view.t.end(), event.t);
  if (after == view.t.begin() || after == view.t.end()) return;
  const auto i1 = static_cast<std::size_t>(after - view.t.begin());
  const std::size_t gap =
      static_cast<std::size_t>(std::max(0, context.run.experiment.motion.contact_frames));
  std::vector<double> anchor;
  for (const auto& channel : view.channels) anchor.push_back(channel[i1 - 1]);
  const auto n_minus = static_cast<std::size_t>(event.frames_minus),
             n_plus = static_cast<std::size_t>(std::max(0, event.frames_plus));
  if (i1 >= gap + n_minus) {
    const std::size_t first = i1 - gap - n_minus;
    view.used.push_back({first, i1 - gap - 1});
    view.arcs.push_back(SampleArc(event, context, false, view.t[first], event.t, 0, anchor.data()));
  }
  if (n_plus > 0 && i1 + gap < view.t.size()) {
    const std::size_t last = std::min(i1 + gap + n_plus, view.t.size()) - 1;
    view.used.push_back({i1 + gap, last});
    view.arcs.push_back(SampleArc(event, context, true, event.t, view.t[last],
                                  event.frames_lost * interval, anchor.data()));
  }
  std::erase_if(view.arcs, [](const Arc& arc) { return arc.t.empty(); });
}

View MakeView(const ReportContext& context, std::size_t index) {
  const PoseRecording& raw = context.run.poses(index);
  View view{.name = raw.name,
            .t = {},
            .channels = EmptySamples(raw.planar),
            .events = {},
            .used = {},
            .arcs = {}};
  if (!raw.t.empty()) {
    const PoseRecording recording = Correct(raw, context.best.correction);
    view.t = recording.t;
    for (const Eigen::Isometry3d& X : recording.X_WB) Append(view.channels, X, raw.planar, nullptr);
  }
  double interval = 0;
  if (view.t.size() > 1) {
    std::vector<double> steps;
    for (std::size_t k = 1; k < view.t.size(); ++k) steps.push_back(view.t[k] - view.t[k - 1]);
    interval = Median(steps);
  }
  if (index < context.best.motion.size())
    for (const ImpactEvent& event : context.best.motion[index].events) {
      view.events.push_back(&event);
      if (event.planar == raw.planar) AddArcs(view, event, context, interval);
    }
  return view;
}

Json PackedJson(const std::vector<double>& values) {
  const Packed packed = Pack(values);
  return {packed.base64, Rounded(packed.lower, 9), Rounded(packed.upper, 9)};
}

Json PackedJson(const Samples& channels) {
  Json out = Json::array();
  for (const auto& channel : channels) out.push_back(PackedJson(channel));
  return out;
}

std::vector<double> EveryNth(const std::vector<double>& values, std::size_t stride) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += stride) kept.push_back(values[i]);
  return kept;
}

std::string State(const ImpactEvent& event) {
  return event.accepted ? "accepted" : ReasonTitle(ReasonName(event.reason));
}

// Two panels for one recording, for pages without the plotting library.
std::string StaticView(const View& view, bool planar) {
  static const std::vector<std::string> planar_names = {"x", "z", "θ"},
                                        spatial_names = {"x", "y", "z", "qw", "qx", "qy", "qz"};
  const std::vector<std::string>& names = planar ? planar_names : spatial_names;
  const std::size_t split = planar ? 2 : 3;
  std::string out;
  for (const bool attitude : {false, true}) {
    Plot plot{.choice = {},
              .x_label = "t [s]",
              .y_label = attitude ? (planar ? "θ [rad]" : "quaternion [1]") : "position [m]",
              .series = {}};
    for (std::size_t k = attitude ? split : 0; k < (attitude ? names.size() : split); ++k) {
      Series frames{
          .name = names[k] + ", frames", .mark = Mark::kDot, .colour = static_cast<int>(k)};
      frames.x = view.t, frames.y = view.channels[k], frames.size = 2.5;
      plot.series.push_back(std::move(frames));
      for (const Arc& arc : view.arcs) {
        Series line{.name = {}, .mark = Mark::kLine, .colour = static_cast<int>(k)};
        line.x = arc.t, line.y = arc.channels[k];
        plot.series.push_back(std::move(line));
      }
    }
    PreparePlot(plot, 420);
    for (const ImpactEvent* event : view.events) {
      if (!(event->t >= plot.x_min && event->t <= plot.x_max) || event->frames_minus <= 0) continue;
      Series line{.name = event == view.events.front() ? "impact" : "",
                  .mark = Mark::kDash,
                  .colour = kInk};
      line.x = {event->t, event->t}, line.y = {plot.y_min, plot.y_max};
      plot.series.push_back(std::move(line));
    }
    out += "<div>" + ToSvg(plot, view.name) + "</div>";
  }
  HtmlTable table("Impacts of " + view.name, {"#Impact", "#Time [s]", "Outcome", "Detail"});
  for (const ImpactEvent* event : view.events)
    table.Row({fmt::format("{}", event->impact), Fixed(event->t, 4), Escape(State(*event)),
               Escape(event->detail)});
  return "<div class=\"figures\">" + out + "</div>" + table.Html();
}

std::string StaticViews(const ReportContext& context) {
  constexpr std::size_t kShown = 12;
  std::vector<std::size_t> indices, others;
  for (std::size_t i = 0; i < context.run.n_recordings(); ++i) {
    if (context.run.poses(i).t.empty()) continue;
    bool accepted = false;
    if (i < context.best.motion.size())
      for (const ImpactEvent& event : context.best.motion[i].events)
        accepted = accepted || event.accepted;
    (accepted ? indices : others).push_back(i);
  }
  indices.insert(indices.end(), others.begin(), others.end());
  if (indices.size() > kShown) indices.resize(kShown);
  std::string out = fmt::format(
      "<p>{} of {} are drawn here, those with accepted impacts first.</p>\n", indices.size(),
      Count(static_cast<long long>(context.run.n_recordings()), "recording"));
  for (const std::size_t i : indices)
    out += fmt::format("<details{}><summary>{}</summary>{}</details>\n",
                       i == indices.front() ? " open" : "", Escape(context.run.poses(i).name),
                       StaticView(MakeView(context, i), context.run.poses(i).planar));
  return out;
}

// Everything that is drawn of one recording, with at most `limit` poses.
Json RecordingJson(const ReportContext& context, std::size_t index, std::size_t limit) {
  const View view = MakeView(context, index);
  const std::size_t stride = std::max<std::size_t>(1, (view.t.size() + limit - 1) / limit);
  Json one = {{"name", view.name},
              {"planar", context.run.poses(index).planar},
              {"drawn", !view.t.empty()},
              {"stride", stride},
              {"t", PackedJson(EveryNth(view.t, stride))}};
  one["channels"] = Json::array();
  for (const auto& channel : view.channels)
    one["channels"].push_back(PackedJson(EveryNth(channel, stride)));
  one["used"] = Json::array();
  for (const auto& range : view.used)
    one["used"].push_back({(range[0] + stride - 1) / stride, range[1] / stride});
  one["arcs"] = Json::array();
  for (const Arc& arc : view.arcs)
    one["arcs"].push_back({{"t", PackedJson(arc.t)}, {"channels", PackedJson(arc.channels)}});
  one["impacts"] = Json::array();
  for (const ImpactEvent* event : view.events) {
    Json impact = {{"impact", event->impact},
                   {"accepted", event->accepted},
                   {"state", State(*event)},
                   {"detail", event->detail}};
    impact["t"] =
        event->reason == RejectReason::kBadRecording || event->reason == RejectReason::kNoImpact
            ? Json()
            : Json(Rounded(event->t, 7));
    impact["frames"] = {event->frames_minus, event->frames_plus};
    impact["lost"] = event->frames_lost;
    if (event->accepted) {
      const MeasuredImpact m = MeasureImpact(*event);
      impact["speed"] = Rounded(m.speed, 4);
      impact["e"] = Rounded(m.e, 4);
      impact["ratio"] = Rounded(m.ratio, 4);
      impact["lean"] = Rounded(m.lean * 180 / std::numbers::pi, 4);
    }
    if (!event->struck && event->frames_minus > 0 && event->frames_plus > 0) {
      const Eigen::Matrix3d& R_WF = event->contact.X_WF.linear();
      const auto triple = [](const Eigen::Vector3d& v) {
        return Json{Rounded(v.x(), 6), Rounded(v.y(), 6), Rounded(v.z(), 6)};
      };
      const auto slip = [&](const Eigen::Vector3d& v_F) {
        return triple(R_WF * Eigen::Vector3d(v_F.x(), v_F.y(), 0));
      };
      impact["point"] = triple(event->p_WP);
      impact["impulse"] = triple(R_WF * MeasuredImpulse(*event, context.run.experiment.body));
      impact["slip"] = {slip(event->contact.v_minus_F), slip(event->v_plus_F)};
    }
    one["impacts"].push_back(std::move(impact));
  }
  return one;
}

}  // namespace

std::size_t FramesWithin(const ReportContext& context, std::size_t max_frames) {
  constexpr double kBudget = 1.4e6;  // numbers, 2.7 bytes each
  const double channels = context.run.experiment.body.planar ? 4 : 8;
  for (std::size_t frames = max_frames; frames > 40; frames = frames * 4 / 5) {
    double total = 0;
    for (const PoseRecording* recording : context.run.poses())
      total += channels * static_cast<double>(std::min(frames, recording->t.size()));
    if (total <= kBudget) return frames;
  }
  return 40;
}

std::vector<RecordingData> MakeRecordingData(const ReportContext& context, std::size_t max_frames) {
  const auto dump = [](const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
  };
  std::vector<RecordingData> out;
  for (std::size_t i = 0; i < context.run.n_recordings(); ++i) {
    const Json one = RecordingJson(context, i, max_frames);
    Json brief = {{"name", one["name"]},
                  {"planar", one["planar"]},
                  {"drawn", one["drawn"]},
                  {"impacts", Json::array()}};
    for (const Json& impact : one["impacts"])
      brief["impacts"].push_back({{"impact", impact["impact"]},
                                  {"accepted", impact["accepted"]},
                                  {"state", impact["state"]}});
    out.push_back({dump(brief), dump(one)});
  }
  return out;
}

Section RecordingsSection(const ReportContext& context) {
  Section section{.id = "recordings", .title = "Recordings", .html = {}, .figures = {}};
  if (context.run.n_recordings() == 0) {
    section.html = "<p>The run holds no recordings.</p>\n";
    return section;
  }
  section.html =
      "<p>Poses as used by the analysis, with the free-flight arcs fitted on either side of every "
      "impact. Filled points are the frames in the fit.</p>\n";
  section.html += context.interactive
                      ? "<div id=\"browser\"><noscript><p>Recordings are drawn by a script, which "
                        "is switched off here.</p></noscript></div>\n"
                      : StaticViews(context);
  return section;
}

}  // namespace impactlab::pipelines
