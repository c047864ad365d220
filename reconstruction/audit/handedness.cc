#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "reconstruction/audit/detail/evidence.h"
#include "reconstruction/audit/detail/slip.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::VectorXd;

// difference of cosines by which one hand fits friction better than the other
constexpr double kBetterAligned = 0.3;
// ratio of momentum residuals at which geometry decides the sense of theta
constexpr double kOtherAttitude = 2;
// share of events whose friction may by chance support the wrong handedness
constexpr double kStrayShare = 0.1;
// two-sided level whose upper half is that of 2.5 standard deviations: a second source
constexpr double kSecondLevel = 0.0248;
// share of events on the side of the other hand up to which friction contradicts it
constexpr double kContradictingShare = 0.3;
// log likelihood of the impulses, in all and by event, by which one hand is more likely
constexpr double kLikelier = 10, kLikelierByEvent = 0.02;

std::vector<ImpactEvent> CorrectAll(const AuditInput& input, bool mirrored, bool flipped) {
  FrameCorrection correction;
  correction.mirrored = mirrored;
  correction.theta_flipped = flipped;
  std::vector<ImpactEvent> events;
  for (const ImpactEvent* event : input.events) {
    events.push_back(
        CorrectEvent(*event, correction, *input.body, input.floor, input.options.gravity_W));
  }
  return events;
}

// Share of mirroring that the tangential impulses need for angular momentum to close: 0 as given, 1
// reversed.
Estimate MirrorShare(const RobustFit& fit, const ErrorLayout& layout) {
  if (!fit.usable) return Undetermined(fit.reason);
  std::vector<int> active = MomentumParameters(layout);
  active.push_back(layout.handedness);
  const int last = active.size() - 1;
  const double sd = std::sqrt(Covariance(fit.information, layout.unit, active)(last, last));
  return sd < 0.25 ? MakeEstimate(fit.value(layout.handedness), sd)
                   : Undetermined("tangential impulses are too small against the scatter");
}

// Of the events whose friction fits one hand better than the other, the share that fits the other
// hand than recorded.
Estimate FrictionShare(const AuditInput& input, const std::vector<ImpactEvent>& other, int& against,
                       int& tested) {
  against = 0;
  int in_favour = 0;
  for (std::size_t i = 0; i < input.events.size(); ++i) {
    const Slip slip_here = MeasureSlip(*input.events[i], *input.body, input.floor.normal),
               slip_there = MeasureSlip(other[i], *input.body, input.floor.normal);
    // Friction turns against the slip it meets, whether that slip lasts or not.
    const double here = InitialOpposition(slip_here), there = InitialOpposition(slip_there);
    against += here < there - kBetterAligned ? 1 : 0;
    in_favour += there < here - kBetterAligned ? 1 : 0;
  }
  tested = against + in_favour;
  if (tested < 2)
    return Undetermined(
        fmt::format("{} events tell by the sense of friction: at least 2 are needed", tested));
  const double smoothed = (against + 1.0) / (tested + 2);
  return MakeEstimate(static_cast<double>(against) / tested,
                      std::sqrt(smoothed * (1 - smoothed) / tested));
}

// Log likelihood of the impulses under the energetic law by the other hand less that by the hand
// of the recording; empty where either has no fit.
std::optional<double> LawAdvantage(const AuditInput& input, const std::vector<ImpactEvent>& other) {
  std::vector<ImpactEvent> given;
  for (const ImpactEvent* event : input.events) given.push_back(*event);
  IdentifyOptions options;
  options.intervals = false;
  options.influence = false;
  // One likelihood for both, so that their values compare; outlying impacts weigh little.
  options.likelihood = Likelihood::kStudentT;
  const auto fit = [&](const std::vector<ImpactEvent>& events, int* dof) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double mu : {0.1, 0.4}) {
      ImpactModel start;
      start.mu_k = start.mu_s = mu;
      start.e = 0.5;
      const LawFit found = Identify(events, *input.body, start, options);
      if (!found.fitted() || !(found.loglik > best)) continue;
      best = found.loglik;
      *dof = found.dof;
    }
    return best;
  };
  int dof_here = 0, dof_there = 0;
  const double here = fit(given, &dof_here), there = fit(other, &dof_there);
  if (!std::isfinite(here) || !std::isfinite(there) || dof_here != dof_there) return std::nullopt;
  return there - here;
}

// What friction says of the other hand, and where it cannot discriminate, as where many impacts
// stick or slip along the surface is small, what the likelihood of a law says.
struct SecondWitness {
  bool confirms = false;
  std::string text;  // what it says, for people
};

SecondWitness AskSecond(const AuditInput& input, const std::vector<ImpactEvent>& other,
                        const std::string& name, std::vector<Evidence>* evidence) {
  int against = 0, tested = 0;
  const Estimate friction = FrictionShare(input, other, against, tested);
  evidence->push_back({name, "friction", friction});
  const Interval band =
      tested > 0 ? BinomialInterval(against, tested, kSecondLevel) : Interval{0, 1};
  if (friction.determined && friction.value > 0.7 && band.lower > kStrayShare) {
    return {true, fmt::format("the sense of friction (share {} of {} events that tell)",
                              PlusMinus(friction), tested)};
  }
  const std::string said = friction.determined ? "share " + PlusMinus(friction) : friction.reason;
  if (friction.determined && band.upper < kContradictingShare) return {false, said};
  const std::optional<double> law = LawAdvantage(input, other);
  if (!law) return {false, said};
  if (*law > std::max(kLikelier, kLikelierByEvent * input.events.size())) {
    return {true, fmt::format("the likelihood of the impulses (by {:.0f} in its logarithm; the "
                              "sense of friction cannot tell: {})",
                              *law, said)};
  }
  return {false, fmt::format("{}; likelihood of the impulses {:+.1f}", said, *law)};
}

}  // namespace

Handedness JudgeHandedness(const AuditInput& input, const ErrorLayout& layout) {
  Handedness judged;
  std::vector<int> active = MomentumParameters(layout);
  active.push_back(layout.handedness);
  const RobustFit as_given = FitMomentum(input, layout, VectorXd(), active);
  const Estimate given_share = MirrorShare(as_given, layout);
  const double k = input.options.significance;
  const auto reversed = [&](const Estimate& share) {
    return share.determined && share.value > k * share.sd && std::abs(share.value - 1) < 0.35;
  };
  bool mirror = reversed(given_share), flip = false, attitude_known = false;
  Estimate momentum = given_share;
  if (layout.planar && as_given.usable && input.options.allow_mirror) {
    // A body without mirror symmetry tells a reversed theta from a reversed x.
    const std::vector<ImpactEvent> turned = CorrectAll(input, false, true);
    AuditInput other = input;
    other.events.clear();
    for (const ImpactEvent& event : turned) other.events.push_back(&event);
    const RobustFit as_turned = FitMomentum(other, layout, VectorXd(), active);
    if (as_turned.usable) {
      attitude_known = std::max(as_turned.typical, as_given.typical) >
                       kOtherAttitude * std::min(as_turned.typical, as_given.typical);
      if (attitude_known && as_turned.typical < as_given.typical) {
        const Estimate share = MirrorShare(as_turned, layout);
        flip = share.determined;
        mirror = reversed(share);
        if (flip) momentum = MakeEstimate(1, share.sd);
      }
    }
  }
  const std::string name = flip ? "theta_flipped" : "mirrored";
  judged.evidence.push_back({name, "momentum", momentum});
  if (!input.options.allow_mirror || !(mirror || flip)) {
    int against = 0, tested = 0;
    judged.evidence.push_back(
        {name, "friction",
         FrictionShare(input, CorrectAll(input, mirror || !flip, flip), against, tested)});
    return judged;
  }
  const SecondWitness second =
      AskSecond(input, CorrectAll(input, mirror || !flip, flip), name, &judged.evidence);

  // A recording mirrored in x and in theta is right as seen from behind: friction fits both,
  // geometry alone decides.
  const bool from_behind = mirror && flip;
  const bool confirmed = from_behind || second.confirms;
  Finding finding;
  finding.parameter = name;
  finding.named = confirmed && !from_behind;
  finding.estimate = momentum;
  const std::string what = flip            ? "theta counts clockwise"
                           : layout.planar ? "x runs the wrong way"
                                           : "y runs the wrong way against the attitudes";
  if (from_behind) {
    finding.parameter = "mirrored|theta_flipped";
    finding.text =
        "mirrored|theta_flipped: the body's outline fits only as seen from behind; angular "
        "momentum says so, no second source does";
  } else if (!confirmed) {
    finding.text = fmt::format(
        "{}: {} by angular momentum, but the sense of friction does not confirm it ({})", name,
        what, second.text);
  } else {
    judged.mirrored = mirror;
    judged.theta_flipped = flip;
    finding.text = fmt::format("{}: {}; angular momentum (share {}) and {} agree", name, what,
                               PlusMinus(momentum), second.text);
    if (layout.planar && !attitude_known)
      finding.text +=
          "; a reversed theta would look the same on this body and gives the same coefficients";
  }
  judged.findings.push_back(finding);
  return judged;
}

}  // namespace impactlab::reconstruction
