#include "pipelines/study/inertia_open.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

// By `change` to either side, within [0, most].
void Widen(ParameterEstimate& p, double change, double most, const std::string& why) {
  if (!p.identifiable || !std::isfinite(change)) return;
  p.lower95 = std::max(0.0, p.value - std::hypot(p.value - p.lower95, change));
  if (std::isfinite(p.upper95))
    p.upper95 = std::min(most, p.value + std::hypot(p.upper95 - p.value, change));
  p.reason += (p.reason.empty() ? "" : "; ") + why;
}

}  // namespace

double UndecidedInertia(const AuditResult& audit) {
  for (const Finding& finding : audit.findings)
    if (finding.parameter == "inertia_scale" && !finding.named && finding.estimate.determined)
      return finding.estimate.value;
  return 1;
}

void WidenByInertia(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                    const Eigen::Vector3d& gravity_W, double ratio, const IdentifyOptions& options,
                    FitResult* fit) {
  if (ratio == 1 || fit->verdict.withheld) return;
  Body other = body;
  other.inertia_B *= ratio;
  std::vector<ImpactEvent> struck;
  for (const ImpactEvent& event : events) {
    if (!event.accepted) continue;
    struck.push_back(event);
    UpdateContact(struck.back(), other, floor, gravity_W);
  }
  // Intervals are asked for only because values are searched for more widely then.
  IdentifyOptions values = options;
  values.influence = false;
  values.bootstrap = values.grid = 0;
  const std::string why = fmt::format(
      "angular momentum finds {:.3g} times the declared inertia, and nothing decides whether it, "
      "lengths or clock are off: the interval holds what that changes",
      ratio);
  const double quantile = NormalQuantile(0.975);
  for (LawFit& one : fit->fits) {
    if (!one.fitted() || !(one.mu_k.identifiable || one.e.identifiable)) continue;
    values.tangential = one.e_t ? TangentialFit::kAlways : TangentialFit::kNever;
    const LawFit moved = Identify(struck, other, ModelOf(one), values);
    const double change[] = {moved.mu_k.value - one.mu_k.value, moved.e.value - one.e.value};
    Widen(one.mu_k, change[0], std::numeric_limits<double>::infinity(), why);
    Widen(one.e, change[1], 1, why);
    ParameterEstimate* parameters[] = {&one.mu_k, &one.e};
    for (Eigen::Index k = 0; k < 2; ++k) {
      ParameterEstimate& p = *parameters[k];
      if (!(p.sd > 0) || !std::isfinite(change[k])) continue;
      const double wider = std::hypot(p.sd, change[k] / quantile), factor = wider / p.sd;
      p.sd = wider;
      one.covariance.row(k) *= factor;
      one.covariance.col(k) *= factor;
    }
  }
}

}  // namespace impactlab
