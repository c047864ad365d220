#include "reconstruction/audit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/error.h"
#include "data/statistics.h"
#include "reconstruction/audit_internal.h"

namespace impactlab {
namespace {

using namespace internal;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Robust mean of one component over arcs, with the scatter from arc to arc.
Estimate MeanOverArcs(std::span<const FlightArc> arcs, const Vector3d& direction) {
  std::vector<double> value, sd;
  for (const FlightArc& arc : arcs) {
    const double a = arc.acceleration_W.dot(direction), s = arc.sd_acceleration.cwiseProduct(direction).norm();
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

// Size and direction of the free-flight acceleration; a wrong direction means swapped or reversed axes, or a tilted frame.
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
  for (int i = 0; i < 3; ++i) variance += size > 0 ? std::pow(mean(i) / size * component[i].sd, 2) : 0;
  result.gravity = MakeEstimate(size, std::sqrt(variance));
  if (!(g > 0) || !(size > 0)) return;
  const double cosine = mean.dot(given) / (size * g);
  const double k = input.options.significance;
  if (cosine < 0.7) {
    // The direction in which rests all have the same coordinate is the vertical, whatever its name.
    int axis = 0, steadiest = -1;
    mean.cwiseAbs().maxCoeff(&axis);
    if (input.rests.size() >= 3) {
      double smallest = std::numeric_limits<double>::infinity();
      for (int i = 0; i < 3; ++i) {
        if (input.body->planar && i == 1) continue;
        std::vector<double> along;
        for (const RestPose& rest : input.rests) along.push_back(rest.X_WB.translation()(i));
        const double scatter = MadSigma(along);
        if (scatter < smallest) {
          smallest = scatter;
          steadiest = i;
        }
      }
    }
    Finding finding;
    finding.parameter = "axis_swapped";
    finding.named = steadiest == axis;
    finding.estimate = MakeEstimate(std::acos(std::clamp(cosine, -1.0, 1.0)), std::sqrt(variance) / size);
    const char* names = "xyz";
    finding.text = fmt::format("axis_swapped: bodies fall along {}{} as recorded{}; check which column is which and its sign",
                               mean(axis) < 0 ? "-" : "+", names[axis], finding.named ? ", and rests agree on that axis" : "");
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
      finding.text =
          fmt::format("{}: bodies fall {} rad off the vertical as recorded; no second source measures this", name, PlusMinus(tilt));
      result.findings.push_back(finding);
    }
  }
}

// Inertia given, of the uniform solid and as momentum sees it.
void JudgeInertia(const AuditInput& input, const Layout& layout, const Source& momentum, AuditResult& result) {
  const Body& body = *input.body;
  const auto size = [&](const Body& b) { return body.planar ? b.inertia_B(1, 1) : b.inertia_B.trace() / 3; };
  const double given = size(body);
  const std::string word = body.planar ? "inertia about y" : "mean inertia";
  const char* unit = body.mass_known ? "kg m^2" : "m^2 (per kg)";
  std::string note = fmt::format("{}: given {:.4g}", word, given);
  double solid = 0;
  try {
    switch (body.shape) {
      case BodyShape::kBox:
        solid = size(MakeBox(2 * body.half_extents, body.mass, body.planar));
        break;
      case BodyShape::kRod:
        solid = size(MakeRod(2 * body.half_length, body.radius, body.mass, body.planar));
        break;
      case BodyShape::kBall:
        solid = size(MakeBall(body.radius, body.mass, body.planar));
        break;
      case BodyShape::kEllipsoid:
        solid = size(MakeEllipsoid(body.half_extents, body.mass, body.planar));
        break;
      case BodyShape::kPolytope:
        solid = size(MakePolytope(body.points_B, body.mass, body.planar));
        break;
      case BodyShape::kPoints:
        break;
    }
  } catch (const ConfigError&) {
    solid = 0;  // a shape that makes no solid has no inertia of its own
  }
  note += solid > 0 ? fmt::format(", uniform solid {:.4g}", solid) : ", no uniform solid";
  Estimate ratio = Undetermined(momentum.reason);
  if (momentum.usable) {
    std::vector<int> free = layout.blocks[0];
    free.insert(free.end(), layout.blocks[1].begin(), layout.blocks[1].end());
    free.push_back(layout.inertia);
    const MatrixXd C = Covariance(momentum.information, layout.unit, free);
    const double sd = std::sqrt(C(free.size() - 1, free.size() - 1));
    const double value = std::exp(momentum.value(layout.inertia));
    ratio = sd < 0.5 ? MakeEstimate(value, value * sd) : Undetermined("levers and offsets take up the inertia");
  }
  if (ratio.determined) {
    note += fmt::format(", from momentum {:.4g} +- {:.2g}", given * ratio.value, given * ratio.sd);
  } else {
    note += ", from momentum not determined (" + ratio.reason + ")";
  }
  result.inertia_note = note + " " + unit;
  result.evidence.push_back({"inertia_scale", "momentum", ratio});
  if (!(solid > 0)) return;
  // A solid that is taken for uniform may well not be: 2 % stand for that.
  const double shape = solid / given, k = input.options.significance;
  const Estimate from_shape = MakeEstimate(shape, 0.02 * shape);
  result.evidence.push_back({"inertia_scale", "shape", from_shape});
  if (!ratio.determined || std::abs(ratio.value - 1) <= k * ratio.sd) return;
  Finding finding;
  finding.parameter = "inertia_scale";
  const double together = std::hypot(ratio.sd, from_shape.sd);
  finding.named = std::abs(shape - 1) > k * from_shape.sd && std::abs(shape - ratio.value) <= k * together;
  finding.estimate = ratio;
  finding.text =
      fmt::format("inertia_scale: {}", result.inertia_note) + (finding.named ? "; momentum and shape agree against the value given" : "");
  result.findings.push_back(finding);
}

}  // namespace

AuditResult Audit(std::span<const ImpactEvent> events, std::span<const FlightArc> arcs, std::span<const RestPose> rests, const Body& body,
                  const Plane& floor, const AuditOptions& options) {
  const double length = floor.normal.norm();
  if (!(std::isfinite(length) && length > 0))
    throw ConfigError("floor: normal: found a vector without direction, allowed: a finite vector that is not zero");
  if (!(options.significance > 0)) throw ConfigError(fmt::format("significance: found {}, allowed: a number > 0", options.significance));
  AuditInput input;
  input.body = &body;
  input.floor = {floor.normal / length, floor.offset / length};
  input.options = options;
  for (const ImpactEvent& event : events) {
    const bool finite = event.X_WB.matrix().allFinite() && event.v_minus.allFinite() && event.v_plus.allFinite() &&
                        event.omega_minus.allFinite() && event.omega_plus.allFinite() && event.cov.allFinite();
    if (event.accepted && finite) input.events.push_back(&event);
  }
  const std::vector<const ImpactEvent*> used = input.events;
  input.arcs = arcs;
  input.rests = rests;

  AuditResult result;
  const Layout layout(body.planar);
  for (const ImpactEvent* event : input.events) result.events.push_back(AuditEvent(*event, body, input.floor, options));
  AuditFriction(input.events, body, input.floor, options, result.events);
  result.momentum = AuditMomentum(input.events, body, input.floor, options);
  JudgeGravity(input, result);

  // Handedness first: it changes what everything else means.
  const Handedness hand = JudgeHandedness(input, layout);
  result.evidence.insert(result.evidence.end(), hand.evidence.begin(), hand.evidence.end());
  result.findings.insert(result.findings.end(), hand.findings.begin(), hand.findings.end());
  FrameCorrection turned;
  turned.mirrored = hand.mirrored;
  turned.theta_flipped = hand.theta_flipped;
  std::vector<ImpactEvent> turned_events;
  std::vector<RestPose> turned_rests;
  if (turned.mirrored || turned.theta_flipped) {
    for (const ImpactEvent* event : input.events)
      turned_events.push_back(CorrectEvent(*event, turned, body, input.floor, options.gravity_W));
    for (std::size_t i = 0; i < turned_events.size(); ++i) input.events[i] = &turned_events[i];
    turned_rests.assign(rests.begin(), rests.end());
    for (RestPose& rest : turned_rests) {
      if (turned.mirrored) rest.X_WB.translation()(body.planar ? 0 : 1) *= -1;
      if (turned.theta_flipped) rest.X_WB.linear().transposeInPlace();
    }
    input.rests = turned_rests;
  }

  std::vector<Source> sources = {RestAttitudeSource(input, layout), RestHeightSource(input, layout, VectorXd::Zero(layout.size)),
                                 FreeFlightSource(input, layout)};
  VectorXd start = sources[0].usable ? sources[0].value : VectorXd::Zero(layout.size);
  sources.push_back(MomentumSource(input, layout, start));
  const int momentum = sources.size() - 1;
  if (sources[momentum].usable) start = sources[momentum].value;
  sources.push_back(ContactHeightSource(input, layout, start));
  Explanation explanation = Explain(sources, layout, options);
  if (explanation.best(layout.scale) != 0) {
    // Momentum does not see the scale but its offsets hang on it; heights of rests are linearised where the explanation is.
    start = sources[momentum].value;
    start(layout.scale) = explanation.best(layout.scale);
    sources[momentum] = MomentumSource(input, layout, start);
    sources[momentum].value(layout.scale) = 0;
    sources[1] = RestHeightSource(input, layout, explanation.best);
    explanation = Explain(sources, layout, options);
  }
  result.evidence.insert(result.evidence.end(), explanation.evidence.begin(), explanation.evidence.end());
  for (const Source& source : sources) {
    if (!source.usable) result.evidence.push_back({"", source.name, Undetermined(source.reason)});
  }
  result.findings.insert(result.findings.end(), explanation.findings.begin(), explanation.findings.end());
  const VectorXd& named = explanation.named;
  FrameCorrection& correction = result.correction;
  correction = turned;
  correction.rotation_offset_B = layout.Rotation(named);
  correction.com_offset_B = layout.Com(named);
  correction.length_scale = std::exp(named(layout.scale));
  correction.clock_rate = std::exp(named(layout.clock));
  correction.floor_offset = named(layout.floor);
  correction.floor_tilt = named(layout.tilt);
  JudgeInertia(input, layout, sources[momentum], result);

  std::vector<ImpactEvent> corrected;
  for (const ImpactEvent* event : used) corrected.push_back(CorrectEvent(*event, correction, body, input.floor, options.gravity_W));
  std::vector<const ImpactEvent*> pointers;
  for (const ImpactEvent& event : corrected) pointers.push_back(&event);
  result.momentum_corrected = AuditMomentum(pointers, body, CorrectedFloor(input.floor, correction), options);
  return result;
}

}  // namespace impactlab
