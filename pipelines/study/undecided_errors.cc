#include "pipelines/study/undecided_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

// Of mu and of the coefficient of restitution.
using Changes = std::array<double, 2>;

std::array<ParameterEstimate*, 2> EstimatesOf(LawFit& fit) { return {&fit.mu_k, &fit.e}; }

// What the values of a fit become where events or body are others.
Changes ChangesOf(const LawFit& fit, const std::vector<ImpactEvent>& events, const Body& body,
                  IdentifyOptions options) {
  // Intervals are asked for only because values are searched for more widely then.
  options.influence = false;
  options.bootstrap = options.grid = 0;
  options.tangential = fit.e_t ? TangentialFit::kAlways : TangentialFit::kNever;
  const LawFit moved = Identify(events, body, ModelOf(fit), options);
  return {moved.mu_k.value - fit.mu_k.value, moved.e.value - fit.e.value};
}

// Limits become these, within [0, most]; the standard deviation grows by a change of half the width
// of a normal interval.
void Widen(LawFit& fit, Eigen::Index k, double lower, double upper, double change,
           const std::string& why) {
  ParameterEstimate& p = *EstimatesOf(fit)[static_cast<std::size_t>(k)];
  if (!p.identifiable || !std::isfinite(change)) return;
  const double most = k == 0 ? std::numeric_limits<double>::infinity() : 1;
  p.lower95 = std::max(0.0, lower);
  if (std::isfinite(p.upper95)) p.upper95 = std::min(most, upper);
  p.reason += (p.reason.empty() ? "" : "; ") + why;
  if (!(p.sd > 0)) return;
  const double wider = std::hypot(p.sd, change / kNormal95), factor = wider / p.sd;
  p.sd = wider;
  fit.covariance.row(k) *= factor;
  fit.covariance.col(k) *= factor;
}

bool HasIntervals(const LawFit& fit) {
  return fit.fitted() && (fit.mu_k.identifiable || fit.e.identifiable);
}

std::vector<ImpactEvent> Accepted(const std::vector<ImpactEvent>& events) {
  std::vector<ImpactEvent> out;
  for (const ImpactEvent& event : events)
    if (event.accepted) out.push_back(event);
  return out;
}

}  // namespace

double UndecidedInertia(const AuditResult& audit) {
  for (const Finding& finding : audit.findings)
    if (finding.parameter == "inertia_scale" && !finding.named && finding.estimate.determined)
      return finding.estimate.value;
  return 1;
}

std::vector<FrameCorrection> UndecidedScale(const AuditResult& audit) {
  bool length = false, clock = false;
  for (const Finding& finding : audit.findings) {
    if (finding.named) continue;
    length = length || finding.parameter.find("length_scale") != std::string::npos;
    clock = clock || finding.parameter.find("clock_rate") != std::string::npos;
  }
  std::vector<FrameCorrection> causes;
  for (const Evidence& evidence : audit.evidence) {
    if (evidence.source != "free_flight" || evidence.parameter != "length_scale" ||
        !evidence.estimate.determined || !(evidence.estimate.value > 0))
      continue;
    // Recorded acceleration = length_scale / clock_rate^2 times the true one.
    if (length) causes.emplace_back().length_scale = evidence.estimate.value;
    if (clock) causes.emplace_back().clock_rate = 1 / std::sqrt(evidence.estimate.value);
  }
  return causes;
}

void WidenByInertia(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                    const Eigen::Vector3d& gravity_W, double ratio, const IdentifyOptions& options,
                    FitResult* fit) {
  if (ratio == 1 || fit->verdict.withheld) return;
  Body other = body;
  other.inertia_B *= ratio;
  std::vector<ImpactEvent> struck = Accepted(events);
  for (ImpactEvent& event : struck) UpdateContact(event, other, floor, gravity_W);
  const std::string why = fmt::format(
      "angular momentum finds {:.3g} times the declared inertia, and nothing decides whether it, "
      "lengths or clock are off: the interval holds what that changes",
      ratio);
  for (LawFit& one : fit->fits) {
    if (!HasIntervals(one)) continue;
    const Changes change = ChangesOf(one, struck, other, options);
    for (Eigen::Index k = 0; k < 2; ++k) {
      const ParameterEstimate& p = *EstimatesOf(one)[static_cast<std::size_t>(k)];
      const double by = change[static_cast<std::size_t>(k)];
      Widen(one, k, p.value - std::hypot(p.value - p.lower95, by),
            p.value + std::hypot(p.upper95 - p.value, by), by, why);
    }
  }
}

void WidenByScale(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                  const Eigen::Vector3d& gravity_W, const std::vector<FrameCorrection>& causes,
                  const IdentifyOptions& options, FitResult* fit) {
  if (causes.empty() || fit->verdict.withheld) return;
  const std::vector<ImpactEvent> struck = Accepted(events);
  const FrameCorrection& first = causes.front();
  const double fall = first.length_scale / (first.clock_rate * first.clock_rate);
  const std::string why = fmt::format(
      "bodies fall {:.5g} times as fast as gravity, and nothing decides whether lengths, the clock "
      "or gravity are off: the interval holds what each would give",
      fall);
  for (LawFit& one : fit->fits) {
    if (!HasIntervals(one)) continue;
    // Where the events of the fit were adjusted to errors that they share, its values are not those
    // of the events: changes are.
    const Changes as_given = ChangesOf(one, struck, body, options);
    Changes least{}, most{};
    for (const FrameCorrection& cause : causes) {
      const Changes change =
          ChangesOf(one, CorrectEvents(struck, cause, body, floor, gravity_W), body, options);
      for (std::size_t k = 0; k < 2; ++k) {
        const double by = change[k] - as_given[k];
        least[k] = std::isfinite(by) ? std::min(least[k], by) : by;
        most[k] = std::isfinite(by) ? std::max(most[k], by) : by;
      }
    }
    for (Eigen::Index k = 0; k < 2; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const ParameterEstimate& p = *EstimatesOf(one)[at];
      Widen(one, k, p.lower95 + least[at], p.upper95 + most[at], std::max(-least[at], most[at]),
            why);
    }
  }
}

}  // namespace impactlab
