#include "reconstruction/audit/audit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/audit/detail/evidence.h"

namespace impactlab {
namespace {

using namespace reconstruction;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Robust mean of one component over arcs, with the scatter from arc to arc.
Estimate MeanOverArcs(std::span<const FlightArc> arcs, const Vector3d& direction) {
  std::vector<double> value, sd;
  for (const FlightArc& arc : arcs) {
    const double a = arc.acceleration_W.dot(direction),
                 s = arc.sd_acceleration.cwiseProduct(direction).norm();
    if (!std::isfinite(a) || !std::isfinite(s)) continue;
    value.push_back(a);
    sd.push_back(std::max(1e-6, s));
  }
  const int n = value.size();
  if (n < 4) return Undetermined(fmt::format("{} flight arcs: at least 4 are needed", n));
  RobustProblem problem;
  problem.groups = n;
  problem.active = {0};
  problem.start = VectorXd::Constant(1, Median(value));
  problem.unit = VectorXd::Ones(1);
  problem.sd = Eigen::Map<VectorXd>(sd.data(), n);
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    for (int i = 0; i < n; ++i) r(i) = p(0) - value[i];
  };
  const RobustFit fit = FitRobust(problem);
  if (!fit.usable) return Undetermined(fit.reason);
  return MakeEstimate(fit.value(0), 1 / std::sqrt(fit.information(0, 0)));
}

// Air or guide plates slow a body in proportion to its velocity, a = g - k v, and short fast arcs
// then show too little gravity. k is common to all arcs and directions, so flights up, down and
// along tell it from g. Undetermined where no arc carries a velocity.
Estimate DragRate(std::span<const FlightArc> arcs, bool planar) {
  const int rows = planar ? 2 : 3;
  std::vector<const FlightArc*> used;
  for (const FlightArc& arc : arcs) {
    if (arc.acceleration_W.allFinite() && arc.sd_acceleration.allFinite() &&
        arc.velocity_W.allFinite())
      used.push_back(&arc);
  }
  const int n = used.size();
  if (n < 12) return Undetermined(fmt::format("{} flight arcs: at least 12 are needed", n));
  const auto axis = [&](int k) { return planar && k == 1 ? 2 : k; };
  RobustProblem problem;
  problem.groups = n;
  problem.rows = rows;
  problem.sd.resize(n * rows);
  problem.start = VectorXd::Zero(rows + 1);
  problem.unit = VectorXd::Ones(rows + 1);
  problem.unit(rows) = 0.1;
  for (int k = 0; k < rows; ++k) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) {
      values.push_back(used[i]->acceleration_W(axis(k)));
      problem.sd(i * rows + k) = std::max(1e-6, used[i]->sd_acceleration(axis(k)));
    }
    problem.start(k) = Median(values);
    problem.active.push_back(k);
  }
  problem.active.push_back(rows);
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < rows; ++k)
        r(i * rows + k) =
            p(k) - p(rows) * used[i]->velocity_W(axis(k)) - used[i]->acceleration_W(axis(k));
    }
  };
  const RobustFit fit = FitRobust(problem);
  if (!fit.usable) return Undetermined(fit.reason);
  const MatrixXd C = Covariance(fit.information, problem.unit, problem.active);
  const double sd = std::sqrt(C(rows, rows));
  if (!(sd < 1)) return Undetermined("flights too alike to tell drag from gravity");
  return MakeEstimate(fit.value(rows), sd);
}

// Takes a significant drag out of the arcs.
std::vector<FlightArc> WithoutDrag(const AuditInput& input, AuditResult& result) {
  std::vector<FlightArc> arcs(input.arcs.begin(), input.arcs.end());
  const Estimate rate = DragRate(arcs, input.body->planar);
  result.evidence.push_back({"drag_rate_per_s", "free_flight", rate});
  if (!rate.determined || rate.value < input.options.significance * rate.sd) return arcs;
  // A drag that changes no arc's acceleration by a five-hundredth of gravity is left alone: it
  // could not mislead the verdict on g.
  double fastest = 0;
  for (const FlightArc& arc : arcs)
    fastest = std::max(fastest, arc.velocity_W.allFinite() ? arc.velocity_W.norm() : 0.0);
  if (rate.value * fastest < 0.002 * input.options.gravity_W.norm()) return arcs;
  for (FlightArc& arc : arcs) arc.acceleration_W += rate.value * arc.velocity_W;
  Finding finding;
  finding.parameter = "drag_rate_per_s";
  finding.estimate = rate;
  finding.text = fmt::format(
      "drag_rate_per_s: free flight slows by {} /s of its velocity; taken out before gravity is "
      "judged",
      PlusMinus(rate));
  result.findings.push_back(finding);
  return arcs;
}

// Size and direction of the free-flight acceleration; a wrong direction means swapped or reversed
// axes, or a tilted frame.
void JudgeGravity(const AuditInput& input, AuditResult& result) {
  const Vector3d given = input.options.gravity_W;
  const double g = given.norm();
  Vector3d mean;
  double variance = 0;
  Estimate component[3];
  for (int i = 0; i < 3; ++i) {
    component[i] = MeanOverArcs(input.arcs, Vector3d::Unit(i));
    if (!component[i].determined) {
      result.gravity = component[i];
      return;
    }
    mean(i) = component[i].value;
  }
  const double size = mean.norm();
  for (int i = 0; i < 3; ++i)
    variance += size > 0 ? std::pow(mean(i) / size * component[i].sd, 2) : 0;
  result.gravity = MakeEstimate(size, std::sqrt(variance));
  if (!(g > 0) || !(size > 0)) return;
  const double cosine = mean.dot(given) / (size * g);
  const double k = input.options.significance;
  if (cosine < 0.7) {
    // The direction in which rests all have the same coordinate is the vertical, whatever its name.
    const Vector3d along = mean.cwiseAbs();
    const int axis = along.x() >= along.y() ? (along.x() >= along.z() ? 0 : 2)
                                            : (along.y() >= along.z() ? 1 : 2);
    int steadiest = -1;
    if (input.rests.size() >= 3) {
      double smallest = std::numeric_limits<double>::infinity();
      for (int i = 0; i < 3; ++i) {
        if (input.body->planar && i == 1) continue;
        std::vector<double> places;
        for (const RestPose& rest : input.rests) places.push_back(rest.X_WB.translation()(i));
        const double scatter = MadSigma(places);
        if (scatter < smallest) {
          smallest = scatter;
          steadiest = i;
        }
      }
    }
    Finding finding;
    finding.parameter = "axis_swapped";
    finding.named = steadiest == axis;
    finding.estimate =
        MakeEstimate(std::acos(std::clamp(cosine, -1.0, 1.0)), std::sqrt(variance) / size);
    const char* names = "xyz";
    finding.text = fmt::format(
        "axis_swapped: bodies fall along {}{} as recorded{}; check which column is which and its "
        "sign",
        mean(axis) < 0 ? "-" : "+", names[axis],
        finding.named ? ", and rests agree on that axis" : "");
    result.evidence.push_back({"axis_swapped", "free_flight", finding.estimate});
    result.findings.push_back(finding);
    return;
  }
  // Tilt of the vertical: one angle in planar motion, about W_y; two in space.
  for (int i = 0; i < (input.body->planar ? 1 : 2); ++i) {
    const Vector3d across = (i == 0 ? Vector3d::UnitX() : Vector3d::UnitY());
    const Vector3d direction = (across - across.dot(given) / (g * g) * given).normalized();
    const Estimate a = MeanOverArcs(input.arcs, direction);
    if (!a.determined) continue;
    const std::string name = i == 0 ? "gravity_tilt_rad" : "gravity_tilt_y_rad";
    const Estimate tilt = MakeEstimate(a.value / size, a.sd / size);
    result.evidence.push_back({name, "free_flight", tilt});
    if (std::abs(tilt.value) > k * tilt.sd) {
      Finding finding;
      finding.parameter = name;
      finding.estimate = tilt;
      finding.text = fmt::format(
          "{}: bodies fall {} rad off the vertical as recorded; no second source measures this",
          name, PlusMinus(tilt));
      result.findings.push_back(finding);
    }
  }
}

// Every source, with the errors at `at` as first guess.
std::vector<Source> Gather(const AuditInput& input, const ErrorLayout& layout, const VectorXd& at) {
  std::vector<Source> sources = {RestAttitudeSource(input, layout),
                                 RestHeightSource(input, layout, at),
                                 FreeFlightSource(input, layout)};
  VectorXd start = at;
  if (start.isZero(0) && sources[0].usable) start = sources[0].value;
  sources.push_back(MomentumSource(input, layout, start));
  if (sources.back().usable) {
    start = sources.back().value;
    start.segment(layout.scale, layout.corner - layout.scale) =
        at.segment(layout.scale, layout.corner - layout.scale);
  }
  sources.push_back(ContactHeightSource(input, layout, start));
  return sources;
}

// Events that meet, with the errors undone, the criterion that all met as recorded: the next vertex
// arrives no sooner after the first. An attitude that was off lets flat landings pass for single
// contacts.
std::vector<const ImpactEvent*> SingleContacts(const AuditInput& input, const ErrorLayout& layout,
                                               const VectorXd& errors) {
  std::vector<double> before, after;
  const Body rounded = layout.Rounded(*input.body, errors);
  const Vector3d n = layout.Normal(errors, input.floor.normal);
  for (const ImpactEvent* event : input.events) {
    const double approach = std::max(1e-9, std::abs(event->contact.v_minus_F.z()));
    Eigen::Isometry3d X = event->X_WB;
    before.push_back(ContactWithPlane(*input.body, X, input.floor).next_gap / approach);
    X.linear() = X.linear() * ExpSO3(layout.Rotation(errors)).transpose();
    after.push_back(ContactWithPlane(rounded, X, {n, 0}).next_gap / approach);
  }
  std::vector<const ImpactEvent*> single;
  if (before.empty() || std::isinf(before[0])) return input.events;
  const double soonest = Quantile(before, 0.02);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] >= soonest) single.push_back(input.events[i]);
  }
  return 2 * single.size() > input.events.size() ? single : input.events;
}

// Inertia given, of the uniform solid and as momentum sees it.
void JudgeInertia(const AuditInput& input, const ErrorLayout& layout,
                  const Explanation& explanation, AuditResult& result) {
  const Body& body = *input.body;
  const double given = MeanInertia(body);
  const std::string word = body.planar ? "inertia about y" : "mean inertia";
  const char* unit = body.mass_known ? "kg m^2" : "m^2 (per kg)";
  std::string note = fmt::format("{}: given {:.4g}", word, given);
  double solid = 0;
  try {
    if (const std::optional<Body> uniform = UniformSolid(body)) solid = MeanInertia(*uniform);
  } catch (const ConfigError&) {
    solid = 0;  // a shape that makes no solid has no inertia of its own
  }
  note += solid > 0 ? fmt::format(", uniform solid {:.4g}", solid) : ", no uniform solid";
  Estimate ratio = Undetermined("no momentum");
  const double value = std::exp(explanation.best(layout.inertia)),
               sd = explanation.sd(layout.inertia);
  for (const Source& source : explanation.sources) {
    if (source.name != "momentum") continue;
    if (!source.usable) {
      ratio = Undetermined(source.reason);
    } else {
      ratio = sd < 0.3 ? MakeEstimate(value, value * sd)
                       : Undetermined("levers and offsets take up the inertia");
    }
  }
  if (ratio.determined) {
    note += fmt::format(", from momentum {:.4g} +- {:.2g}", given * ratio.value, given * ratio.sd);
  } else {
    note += ", from momentum not determined (" + ratio.reason + ")";
  }
  result.inertia_note = note + " " + unit;
  result.evidence.push_back({"inertia_scale", "momentum", ratio});
  const double k = input.options.significance;
  const bool off = ratio.determined && std::abs(ratio.value - 1) > k * ratio.sd;
  if (!(solid > 0)) return;
  // A solid that is taken for uniform may well not be: 2 % stand for that.
  const double shape = solid / given;
  const Estimate from_shape = MakeEstimate(shape, 0.02 * shape);
  result.evidence.push_back({"inertia_scale", "shape", from_shape});
  if (!off) return;
  Finding finding;
  finding.parameter = "inertia_scale";
  const double together = std::hypot(ratio.sd, from_shape.sd);
  finding.named =
      std::abs(shape - 1) > k * from_shape.sd && std::abs(shape - ratio.value) <= k * together;
  finding.estimate = ratio;
  finding.text = fmt::format("inertia_scale: {}", result.inertia_note) +
                 (finding.named ? "; momentum and shape agree against the value given" : "");
  result.findings.push_back(finding);
}

// What is audited, with the floor's normal of unit length and the accepted events that are finite.
AuditInput MakeInput(std::span<const ImpactEvent> events, std::span<const FlightArc> arcs,
                     std::span<const RestPose> rests, const Body& body, const Plane& floor,
                     const AuditOptions& options) {
  const double length = floor.normal.norm();
  if (!(std::isfinite(length) && length > 0))
    throw ConfigError(
        "floor: normal: found a vector without direction, allowed: a finite vector that is not "
        "zero");
  if (!(options.significance > 0))
    throw ConfigError(
        fmt::format("significance: found {}, allowed: a number > 0", options.significance));
  AuditInput input;
  input.body = &body;
  input.floor = {floor.normal / length, floor.offset / length};
  input.options = options;
  for (const ImpactEvent& event : events) {
    const bool finite = event.X_WB.matrix().allFinite() && event.v_minus.allFinite() &&
                        event.v_plus.allFinite() && event.omega_minus.allFinite() &&
                        event.omega_plus.allFinite() && event.cov.allFinite();
    if (event.accepted && finite) input.events.push_back(&event);
  }
  input.arcs = arcs;
  input.rests = rests;
  return input;
}

// Events and rests in the handedness that was found, and the input that points to them.
struct TurnedInput {
  FrameCorrection correction;
  std::vector<ImpactEvent> events;
  std::vector<RestPose> rests;
};

void TurnInput(const Handedness& hand, AuditInput* input, TurnedInput* out) {
  out->correction.mirrored = hand.mirrored;
  out->correction.theta_flipped = hand.theta_flipped;
  if (!hand.mirrored && !hand.theta_flipped) return;
  for (const ImpactEvent* event : input->events)
    out->events.push_back(CorrectEvent(*event, out->correction, *input->body, input->floor,
                                       input->options.gravity_W));
  for (std::size_t i = 0; i < out->events.size(); ++i) input->events[i] = &out->events[i];
  out->rests.assign(input->rests.begin(), input->rests.end());
  for (RestPose& rest : out->rests) {
    if (hand.mirrored) rest.X_WB.translation()(input->body->planar ? 0 : 1) *= -1;
    if (hand.theta_flipped) rest.X_WB.linear().transposeInPlace();
  }
  input->rests = out->rests;
}

// Frame errors that explain the sources, with the events that touch at one point (`single`).
Explanation ExplainFrame(const AuditInput& input, const ErrorLayout& layout,
                         std::vector<const ImpactEvent*>* single, AuditResult* result) {
  std::vector<Source> sources = Gather(input, layout, VectorXd::Zero(layout.size));
  Explanation explanation = Explain(sources, layout, input.options);
  *single = input.events;
  if (!explanation.best.head(layout.inertia).isZero(0)) {
    // A second look from where the explanation is: sources are linearised there, and events that
    // turn out to be flat landings are left out.
    *single = SingleContacts(input, layout, explanation.best);
    AuditInput closer = input;
    closer.events = *single;
    sources = Gather(closer, layout, explanation.best);
    explanation = Explain(sources, layout, input.options);
  }
  result->evidence.insert(result->evidence.end(), explanation.evidence.begin(),
                          explanation.evidence.end());
  for (const Source& source : sources) {
    if (!source.usable) result->evidence.push_back({"", source.name, Undetermined(source.reason)});
  }
  result->findings.insert(result->findings.end(), explanation.findings.begin(),
                          explanation.findings.end());
  return explanation;
}

// What flights that are not those of one rigid body say of frames, floor and inertia is no error of
// these.
void NameNothing(AuditResult* result) {
  for (Finding& finding : result->findings) {
    if (!finding.named) continue;
    finding.named = false;
    finding.text += "; not named, for these are not flights of one rigid body";
  }
  result->correction = {};
  result->body = {};
}

constexpr double kMostInertiaChange = 4.6;  // of its logarithm: a hundredfold is no inertia

// Momentum of the events once everything that is named is corrected, and the inertia that it asks
// for.
void AuditCorrected(const AuditInput& input, const ErrorLayout& layout,
                    const Explanation& explanation, const std::vector<const ImpactEvent*>& single,
                    AuditResult* result) {
  const AuditOptions& options = input.options;
  Body corrected_body = CorrectedBody(*input.body, result->body);
  AuditInput corrected_input = input;
  corrected_input.body = &corrected_body;
  corrected_input.floor = CorrectedFloor(input.floor, result->correction);
  corrected_input.events.clear();
  FrameCorrection rest = result->correction;  // the events are turned already
  rest.mirrored = rest.theta_flipped = false;
  std::vector<ImpactEvent> corrected;
  corrected.reserve(single.size());
  for (const ImpactEvent* event : single)
    corrected.push_back(CorrectEvent(*event, rest, corrected_body, input.floor, options.gravity_W));
  for (const ImpactEvent& event : corrected) corrected_input.events.push_back(&event);
  const ErrorLayout corrected_layout(corrected_body, input.events);
  if (options.fit_inertia) {
    const std::vector<int> inertia = {layout.inertia};
    const RobustFit fit =
        FitMomentum(corrected_input, corrected_layout, VectorXd::Zero(layout.size), inertia);
    const double change = fit.usable ? fit.value(layout.inertia) : 0;
    // Data of the wrong hand ask for none at all, or for any.
    if (fit.usable && std::abs(change) < kMostInertiaChange &&
        std::abs(change) > options.significance *
                               std::sqrt(Covariance(fit.information, layout.unit, inertia)(0, 0))) {
      result->body.inertia_scale = std::exp(change);
      corrected_body = CorrectedBody(*input.body, result->body);
    }
  }
  result->momentum_corrected = AuditMomentum(corrected_input, corrected_layout, explanation.sd);
  result->momentum_corrected.gyration_body = result->momentum.gyration_body;
}

}  // namespace

AuditResult Audit(std::span<const ImpactEvent> events, std::span<const FlightArc> arcs,
                  std::span<const RestPose> rests, const Body& body, const Plane& floor,
                  const AuditOptions& options) {
  AuditInput input = MakeInput(events, arcs, rests, body, floor, options);
  AuditResult result;
  result.closure = JudgeClosure(events, body);
  result.rigidity = JudgeRigidity(arcs, body, options.gravity_W);
  const ErrorLayout layout(body, input.events);
  for (const ImpactEvent* event : input.events)
    result.events.push_back(AuditEvent(*event, body, input.floor, options));
  AuditFriction(input.events, body, input.floor, options, result.events);
  result.momentum = AuditMomentum(input, layout, VectorXd());
  const std::optional<std::vector<FlightArc>> bent = WithoutLift(input, result);
  const std::vector<FlightArc> slowed = bent ? *bent : WithoutDrag(input, result);
  input.arcs = slowed;
  JudgeGravity(input, result);

  // Handedness first: it changes what everything else means.
  const Handedness hand = JudgeHandedness(input, layout);
  result.evidence.insert(result.evidence.end(), hand.evidence.begin(), hand.evidence.end());
  result.findings.insert(result.findings.end(), hand.findings.begin(), hand.findings.end());
  TurnedInput turned;
  TurnInput(hand, &input, &turned);

  std::vector<const ImpactEvent*> single;
  const Explanation explanation = ExplainFrame(input, layout, &single, &result);
  const VectorXd& named = explanation.named;
  FrameCorrection& correction = result.correction;
  correction = turned.correction;
  correction.rotation_offset_B = layout.Rotation(named);
  correction.com_offset_B = layout.Com(named);
  correction.length_scale = std::exp(named(layout.scale));
  correction.clock_rate = std::exp(named(layout.clock));
  correction.floor_offset = named(layout.floor);
  correction.floor_tilt = named(layout.tilt);
  result.body.corner_radius_change = named(layout.corner);
  JudgeInertia(input, layout, explanation, result);
  if (!result.rigidity.rigid) NameNothing(&result);
  AuditCorrected(input, layout, explanation, single, &result);
  return result;
}

std::vector<ImpactEvent> CorrectEvents(std::span<const ImpactEvent> events,
                                       const FrameCorrection& correction, const Body& body,
                                       const Plane& floor, const Eigen::Vector3d& gravity_W) {
  std::vector<ImpactEvent> out;
  for (const ImpactEvent& event : events)
    out.push_back(event.accepted ? CorrectEvent(event, correction, body, floor, gravity_W) : event);
  return out;
}

Body CorrectedBody(const Body& body, const BodyCorrection& correction) {
  Body corrected = body;
  corrected.corner_radius += correction.corner_radius_change;
  corrected.inertia_B *= correction.inertia_scale;
  return corrected;
}

}  // namespace impactlab
