// Figures of the data audit: momentum, free flight, rest poses, energy.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

constexpr double kFigureDegrees = 180 / std::numbers::pi;

// Spin change that follows from the impulse's moment about the centre of mass, in W.
Eigen::Vector3d SpinChangeFromImpulse(const ImpactEvent& event, const Body& body) {
  const Eigen::Vector3d r = event.p_WP - event.X_WB.translation();
  const Eigen::Vector3d moment = r.cross(body.mass * (event.v_plus - event.v_minus));
  if (event.planar) return {0, moment.y() / body.inertia_B(1, 1), 0};
  const Eigen::Matrix3d R = event.X_WB.linear();
  return R * body.inertia_B.inverse() * R.transpose() * moment;
}

void AddSpinChanges(Series& s, const ReportContext& context, const Analysis& analysis) {
  for (const ImpactEvent& event : analysis.events) {
    if (!event.accepted) continue;
    const Eigen::Vector3d asked = SpinChangeFromImpulse(event, context.run.experiment.body),
                          found = event.omega_plus - event.omega_minus;
    for (int k = 0; k < 3; ++k) {
      if (event.planar && k != 1) continue;
      const double sign = event.planar ? -1 : 1;  // planar spin is counted as theta, about -y
      s.x.push_back(sign * asked[k]);
      s.y.push_back(sign * found[k]);
      s.event.push_back(context.Code(event.recording, event.impact));
    }
  }
}

Figure MomentumFigure(const ReportContext& context) {
  Figure figure{.id = "fig-momentum",
                .title = "Spin change against the moment of the impulse",
                .caption = {},
                .selectors = {},
                .plots = {}};
  Plot plot{.choice = {},
            .x_label = "spin change from r × m Δv [rad/s]",
            .y_label = "spin change measured [rad/s]",
            .equal_axes = true,
            .series = {}};
  Series recorded{.name = "as recorded", .mark = Mark::kRing, .colour = 1},
      corrected{.name = "corrected", .mark = Mark::kDot, .colour = 0};
  AddSpinChanges(recorded, context, context.run.recorded);
  if (context.run.has_corrected) AddSpinChanges(corrected, context, context.run.corrected);
  if (recorded.x.empty() && corrected.x.empty()) return figure;
  for (Series* s : {&recorded, &corrected})
    if (!s->x.empty()) plot.series.push_back(std::move(*s));
  PreparePlot(plot);
  Series diagonal{.name = "momentum kept", .mark = Mark::kDash, .colour = kInk};
  diagonal.x = {plot.x_min, plot.x_max}, diagonal.y = diagonal.x;
  plot.series.push_back(std::move(diagonal));
  figure.plots.push_back(std::move(plot));
  figure.caption =
      "No law enters: the moment of the measured impulse must give the measured spin change.";
  if (!context.run.experiment.body.planar)
    figure.caption += " All three components in the lab frame.";
  return figure;
}

std::vector<double> Residuals(const AuditResult& audit) {
  std::vector<double> values;
  for (const EventAudit& event : audit.events)
    if (std::isfinite(event.momentum_residual)) values.push_back(event.momentum_residual);
  return values;
}

Figure ResidualFigure(const ReportContext& context) {
  Figure figure{.id = "fig-momentum-residual",
                .title = "Momentum residual",
                .caption = {},
                .selectors = {},
                .plots = {}};
  const std::vector<double> before = Residuals(context.run.audit);
  const std::vector<double> after =
      context.run.has_corrected ? Residuals(context.run.audit_corrected) : std::vector<double>();
  std::vector<double> size;
  for (const std::vector<double>* v : {&before, &after})
    for (const double x : *v) size.push_back(std::abs(x));
  if (size.empty()) return figure;
  const double limit = std::max(1.15 * Quantile(size, 0.97), 1e-6);
  // In space the residual is the size of a vector: half the frame would be empty.
  bool negative = false;
  for (const std::vector<double>* v : {&before, &after})
    for (const double x : *v) negative = negative || x < 0;
  const double lower = negative ? -limit : 0;
  Plot plot{.choice = {},
            .x_label = "residual spin change [rad/s]",
            .y_label = "impacts",
            .counts = true,
            .series = {}};
  if (!after.empty())
    plot.series.push_back(Histogram(after, lower, limit, negative ? 41 : 30, "corrected", 0));
  if (!before.empty())
    plot.series.push_back(Histogram(before, lower, limit, negative ? 41 : 30, "as recorded", 1));
  if (!after.empty() && !before.empty()) plot.series.back().mark = Mark::kOutline;
  plot.x_min = lower, plot.x_max = limit;
  PreparePlot(plot);
  figure.plots.push_back(std::move(plot));
  figure.caption =
      fmt::format("{} of every audited impact. Values beyond {}{} rad/s are in the end columns.",
                  negative ? "Measured minus required spin change"
                           : "Size of the measured minus the required spin change",
                  negative ? "±" : "", Num(limit, 2));
  return figure;
}

Figure GravityFigure(const ReportContext& context) {
  Figure figure{.id = "fig-gravity",
                .title = "Acceleration of free flight",
                .caption = {},
                .selectors = {},
                .plots = {}};
  const Eigen::Vector3d gravity = context.run.experiment.motion.flight.gravity_W;
  const double g = gravity.norm();
  if (!(g > 0)) return figure;
  std::vector<double> values, sds;
  for (const MotionFit& fit : context.best.motion)
    for (const FlightArc& arc : fit.arcs) {
      const Eigen::Vector3d down = gravity / g;
      const double value = arc.acceleration_W.dot(down),
                   sd = arc.sd_acceleration.cwiseProduct(down).norm();
      if (std::isfinite(value) && std::isfinite(sd)) values.push_back(value), sds.push_back(sd);
    }
  if (values.empty()) return figure;
  // Short arcs determine g poorly: keep those with a standard deviation below 5 %, or the better
  // half where there is none.
  const double allowed = std::max(0.05 * g, Median(sds));
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (sds[i] <= allowed) kept.push_back(values[i]);
  const double lower = std::min(Quantile(kept, 0.02), g), upper = std::max(Quantile(kept, 0.98), g);
  const double pad = std::max(0.15 * (upper - lower), 0.01 * g);
  Plot plot{.choice = {},
            .x_label = "fitted acceleration along gravity [m/s²]",
            .y_label = "arcs",
            .counts = true,
            .series = {}};
  plot.series.push_back(Histogram(kept, lower - pad, upper + pad, kept.size() > 60 ? 36 : 18,
                                  "arcs of free flight", 2));
  PreparePlot(plot);
  Series given{.name = "gravity as given", .mark = Mark::kDash, .colour = kInk};
  given.x = {g, g}, given.y = {0, plot.y_max};
  plot.series.push_back(std::move(given));
  figure.plots.push_back(std::move(plot));
  figure.caption = fmt::format(
      "Every arc fitted with an acceleration of its own: the control experiment for clock and "
      "length scale. {} of {} arcs, those with a standard deviation of at most {} m/s².",
      kept.size(), values.size(), Num(allowed, 2));
  return figure;
}

// Tilt of the resting side against the floor, and height of the lowest point; empty for a body
// without vertices.
struct RestFigures {
  double tilt = 0, gap = 0;
};
std::optional<RestFigures> MeasureRest(const RestPose& rest, const Body& body, const Plane& floor) {
  std::vector<Eigen::Vector3d> corners;
  for (const Eigen::Vector3d& p_B : Vertices(body)) corners.push_back(rest.X_WB * p_B);
  const std::size_t needed = body.planar ? 2 : 3;
  if (corners.size() < needed) return std::nullopt;
  const Eigen::Vector3d n = floor.normal.normalized();
  std::sort(corners.begin(), corners.end(),
            [&](const auto& a, const auto& b) { return n.dot(a) < n.dot(b); });
  RestFigures figures;
  figures.gap = ContactWithPlane(body, rest.X_WB, floor).gap;
  if (body.planar) {
    Eigen::Vector3d side = corners[1] - corners[0];
    const Eigen::Vector3d along = Eigen::Vector3d::UnitY().cross(n);  // to the right on the floor
    if (side.dot(along) < 0) side = -side;
    figures.tilt = std::atan2(side.dot(n), side.dot(along));
  } else {
    const Eigen::Vector3d face = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    if (face.norm() < 1e-12) return std::nullopt;
    figures.tilt = std::acos(std::clamp(std::abs(face.normalized().dot(n)), 0.0, 1.0));
  }
  return figures;
}

Figure RestFigure(const ReportContext& context) {
  Figure figure{
      .id = "fig-rest", .title = "Rest poses", .caption = {}, .selectors = {}, .plots = {}};
  Plot plot{.choice = {},
            .x_label = "tilt of the resting side against the floor [°]",
            .y_label = "height of the lowest point [mm]",
            .series = {}};
  const auto add = [&](const Analysis& analysis, std::string name, Mark mark, int colour) {
    Series s{.name = std::move(name), .mark = mark, .colour = colour};
    const Plane floor = CorrectedFloor(context.run.experiment.floor, analysis.correction);
    for (const MotionFit& fit : analysis.motion)
      for (const RestPose& rest : fit.rests)
        if (const auto rest_figures = MeasureRest(rest, context.run.experiment.body, floor)) {
          s.x.push_back(kFigureDegrees * rest_figures->tilt);
          s.y.push_back(1e3 * rest_figures->gap);
          s.event.push_back(context.Code(rest.recording, 0));
        }
    if (!s.x.empty()) plot.series.push_back(std::move(s));
  };
  add(context.run.recorded, "as recorded", context.run.has_corrected ? Mark::kRing : Mark::kDot, 1);
  if (context.run.has_corrected) add(context.run.corrected, "corrected", Mark::kDot, 0);
  if (plot.series.empty()) return figure;
  // The bulk and the origin are shown; a body that leans on something would shrink them to a dot.
  std::vector<double> tilts, gaps;
  for (const Series& s : plot.series)
    tilts.insert(tilts.end(), s.x.begin(), s.x.end()),
        gaps.insert(gaps.end(), s.y.begin(), s.y.end());
  const auto limits = [](const std::vector<double>& v, double least, double& lower, double& upper) {
    lower = std::min(Quantile(v, 0.02), 0.0), upper = std::max(Quantile(v, 0.98), 0.0);
    const double pad = std::max(0.25 * (upper - lower), least);
    lower -= pad, upper += pad;
  };
  limits(tilts, 0.1, plot.x_min, plot.x_max);
  limits(gaps, 0.05, plot.y_min, plot.y_max);
  int beyond = 0;
  for (std::size_t i = 0; i < tilts.size(); ++i)
    beyond += tilts[i] < plot.x_min || tilts[i] > plot.x_max || gaps[i] < plot.y_min ||
                      gaps[i] > plot.y_max
                  ? 1
                  : 0;
  PreparePlot(plot);
  Series zero_x{.name = "lies flat on the floor", .mark = Mark::kDash, .colour = kInk},
      zero_y{.name = {}, .mark = Mark::kDash, .colour = kInk};
  zero_x.x = {plot.x_min, plot.x_max}, zero_x.y = {0, 0};
  zero_y.x = {0, 0}, zero_y.y = {plot.y_min, plot.y_max};
  plot.series.push_back(std::move(zero_x));
  plot.series.push_back(std::move(zero_y));
  figure.plots.push_back(std::move(plot));
  figure.caption =
      "A body at rest on one of its sides must lie flat and touch the floor: both coordinates are "
      "zero.";
  if (beyond > 0) figure.caption += " " + Count(beyond, "pose") + " outside the frame.";
  return figure;
}

Figure EnergyFigure(const ReportContext& context) {
  Figure figure{.id = "fig-energy",
                .title = "Energy change and friction direction",
                .caption = {},
                .selectors = {},
                .plots = {}};
  std::map<EventKey, double> speed;
  for (const ImpactEvent& event : context.best.events)
    if (event.accepted) speed[{event.recording, event.impact}] = -event.contact.v_minus_F.z();
  Series good{.name = "energy and friction pass", .mark = Mark::kDot, .colour = 0},
      energy{.name = "gains energy", .mark = Mark::kDot, .colour = 1},
      friction{.name = "friction along the slip", .mark = Mark::kDot, .colour = 3};
  for (const EventAudit& event : context.final_audit().events) {
    const auto it = speed.find({event.recording, event.impact});
    if (it == speed.end()) continue;
    Series& s = !event.energy_ok ? energy : !event.friction_ok ? friction : good;
    s.x.push_back(it->second);
    s.y.push_back(event.energy_gain);
    s.sd_y.push_back(event.energy_sd);
    s.event.push_back(context.Code(event.recording, event.impact));
  }
  Plot plot{.choice = {},
            .x_label = "approach speed of the contact point [m/s]",
            .y_label = "(T⁺ − T⁻) / T⁻",
            .series = {}};
  for (Series* s : {&good, &energy, &friction})
    if (!s->x.empty()) plot.series.push_back(std::move(*s));
  if (plot.series.empty()) return figure;
  PreparePlot(plot);
  plot.y_max = std::max(plot.y_max, 0.05);
  Series zero{.name = "energy kept", .mark = Mark::kDash, .colour = kInk};
  zero.x = {plot.x_min, plot.x_max}, zero.y = {0, 0};
  plot.series.push_back(std::move(zero));
  figure.plots.push_back(std::move(plot));
  figure.caption =
      "No passive impact gains kinetic energy, and friction opposes the slip. Points that break "
      "either rule are data faults, not physics.";
  return figure;
}

}  // namespace

std::vector<Figure> AuditFigures(const ReportContext& context) {
  std::vector<Figure> figures;
  for (Figure figure : {MomentumFigure(context), ResidualFigure(context), GravityFigure(context),
                        RestFigure(context), EnergyFigure(context)})
    if (!figure.empty()) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace impactlab::pipelines
