#include "reconstruction/motion/motion_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/arcs.h"
#include "reconstruction/motion/events.h"
#include "reconstruction/motion/flights.h"

namespace impactlab {
namespace {

using reconstruction::BreakFit;
using reconstruction::FitContext;
using reconstruction::Flights;
using reconstruction::FlightSegment;
using reconstruction::Segment;
using reconstruction::StretchKind;

// One recording on its way to a MotionFit.
class Fitter {
 public:
  Fitter(const PoseRecording& recording, const Body& body, const Plane& floor,
         const MotionFitOptions& options)
      : recording_(recording), body_(body), options_(options) {
    context_.model = {&recording_, &body_, options.flight};
    context_.floor.normal = floor.normal.normalized();
    context_.floor.offset = floor.offset / floor.normal.norm();
    context_.options = &options_;
    std::vector<double> intervals;
    for (std::size_t i = 1; i < recording.t.size(); ++i)
      intervals.push_back(recording.t[i] - recording.t[i - 1]);
    context_.frame_interval = Median(intervals);
  }

  MotionFit Run(bool with_events) {
    flights_ = reconstruction::FindFlights(context_.model, context_.floor, options_);
    context_.noise = flights_.noise;
    context_.sigma_position = flights_.sigma_position;
    context_.sigma_angle = flights_.sigma_angle;
    context_.height_tolerance = reconstruction::HeightTolerance(body_, flights_.sigma_position);
    if (with_events) FindEvents();
    fit_.sigma_position = context_.sigma_position;
    fit_.sigma_angle = context_.sigma_angle;
    fit_.dof = flights_.dof;
    fit_.arcs = std::move(flights_.arcs);
    fit_.rests = std::move(flights_.rests);
    return std::move(fit_);
  }

 private:
  int n() const { return static_cast<int>(recording_.t.size()); }
  double Gap(int frame) const {
    return ContactWithPlane(body_, recording_.X_WB[frame], context_.floor).gap;
  }

  // Whether the body may have touched the floor between two frames.
  bool NearFloor(int first, int last) const {
    first = std::max(0, first);
    last = std::min(n() - 1, last);
    double least = std::numeric_limits<double>::infinity(), fastest = 0;
    for (int i = first; i <= last; ++i) {
      const double gap = Gap(i);
      least = std::min(least, gap);
      if (i > 0) fastest = std::max(fastest, std::abs(Gap(i - 1) - gap));
    }
    return least - fastest <= context_.height_tolerance;
  }

  void AddEvent(ImpactEvent event) {
    event.recording = recording_.name;
    event.planar = recording_.planar;
    event.impact = static_cast<int>(fit_.events.size());
    event.sigma_position = context_.sigma_position;
    event.sigma_angle = context_.sigma_angle;
    fit_.events.push_back(std::move(event));
  }

  void AddUnfitted(RejectReason reason, std::string detail, int frame) {
    ImpactEvent event;
    event.t = recording_.t[frame];
    event.X_WB = recording_.X_WB[frame];
    event.p_WP = ContactWithPlane(body_, event.X_WB, context_.floor).p_WP;
    event.reason = reason;
    event.detail = std::move(detail);
    event.planar = recording_.planar;
    UpdateContact(event, body_, context_.floor, options_.flight.gravity_W);
    AddEvent(std::move(event));
  }

  // The stretch that follows a flight is no flight itself: what kind of contact is it?
  void AddInterrupted(const Segment& flight, bool to_the_end) {
    const auto next =
        std::find_if(flights_.stretches.begin(), flights_.stretches.end(),
                     [&](const FlightSegment& s) { return s.frames.first > flight.last; });
    const int left = n() - 1 - flight.last,
              frames = next == flights_.stretches.end() ? 0 : next->frames.size();
    if (to_the_end && left < options_.min_frames) {
      AddUnfitted(
          RejectReason::kTooFewFrames,
          fmt::format("{} frames after the impact until the recording ends, allowed at least {}",
                      left, options_.min_frames),
          flight.last);
    } else if (frames < options_.min_frames) {
      AddUnfitted(RejectReason::kSecondContact,
                  fmt::format("{} frames of flight after the impact, allowed at least {}", frames,
                              options_.min_frames),
                  flight.last);
    } else if (next->kind == StretchKind::kBlind && !next->rests) {
      AddUnfitted(
          RejectReason::kTooFewFrames,
          fmt::format("{} frames after the impact do not show gravity over their noise", frames),
          flight.last);
    } else {
      AddUnfitted(RejectReason::kRollingContact,
                  fmt::format("{} frames after the impact do not fall freely: acceleration off by "
                              "more than {:.2f} of gravity",
                              frames, reconstruction::kNotFlight),
                  flight.last);
    }
  }

  void FindEvents() {
    if (flights_.flights.empty()) {
      int resting = 0;
      for (const RestPose& rest : flights_.rests) resting += rest.last - rest.first + 1;
      const bool rests = 2 * resting > n();
      if (rests || !NearFloor(0, n() - 1)) {
        AddUnfitted(RejectReason::kNoImpact,
                    rests ? "the body rests" : "the body does not come near the floor", 0);
      } else {
        AddUnfitted(RejectReason::kNoFreeFlight,
                    fmt::format("no {} frames in a row of free flight", options_.min_frames), 0);
      }
      return;
    }
    const int head = flights_.flights.front().first;
    if (head > 0 && NearFloor(0, head)) {
      if (head < options_.min_frames) {
        AddUnfitted(RejectReason::kTooFewFrames,
                    fmt::format("{} frames before the impact, allowed at least {}", head,
                                options_.min_frames),
                    head - 1);
      } else {
        AddUnfitted(RejectReason::kNoFreeFlight,
                    "the body does not fall freely before it leaves the floor", head - 1);
      }
    }
    for (std::size_t i = 0; i < flights_.flights.size() && !Enough(); ++i) {
      const Segment& minus = flights_.flights[i];
      if (i + 1 == flights_.flights.size()) {
        if (minus.last + 1 < n() && NearFloor(minus.last, std::min(minus.last + 3, n() - 1)))
          AddInterrupted(minus, true);
        break;
      }
      const Segment& plus = flights_.flights[i + 1];
      const int between = plus.first - minus.last - 1;
      if (between > std::max(1, 2 * options_.contact_frames)) {
        if (NearFloor(minus.last, plus.first)) AddInterrupted(minus, false);
        continue;
      }
      BreakFit fit = reconstruction::FitBreak(context_, minus, plus);
      if (!fit.converged) {
        if (NearFloor(minus.last, plus.first)) {
          AddUnfitted(RejectReason::kNotConverged, "no impact time joins the two arcs", minus.last);
        }
        continue;
      }
      // Breaks elsewhere are jumps of the tracker or blows from other things than the floor.
      if (std::abs(Gap(fit.event)) > context_.height_tolerance || !fit.is_push) continue;
      AcceptOrReject(context_, fit);
      AddEvent(std::move(fit.event));
    }
    if (fit_.events.empty())
      AddUnfitted(RejectReason::kNoImpact, "free flight without a break near the floor", 0);
  }

  double Gap(const ImpactEvent& event) const {
    return context_.floor.normal.dot(event.p_WP) - context_.floor.offset;
  }
  bool Enough() const {
    return options_.first_impacts > 0 &&
           static_cast<int>(fit_.events.size()) >= options_.first_impacts;
  }

  const PoseRecording& recording_;
  const Body& body_;
  const MotionFitOptions& options_;
  FitContext context_;
  Flights flights_;
  MotionFit fit_;
};

// Why a recording cannot be used at all; empty when it can.
std::string Fault(const PoseRecording& recording) {
  const std::size_t n = recording.t.size();
  if (recording.X_WB.size() != n)
    return fmt::format("{} time stamps and {} poses, allowed the same number", n,
                       recording.X_WB.size());
  if (recording.planar && recording.theta.size() != n)
    return fmt::format("{} poses and {} angles, allowed the same number", n,
                       recording.theta.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(recording.t[i]) || !recording.X_WB[i].matrix().allFinite() ||
        (recording.planar && !std::isfinite(recording.theta[i]))) {
      return fmt::format("frame {} is not a number, allowed finite poses", i);
    }
    if (i > 0 && !(recording.t[i] > recording.t[i - 1]))
      return fmt::format("time stamp of frame {} does not increase", i);
  }
  return {};
}

void CheckMotionOptions(const PoseRecording& recording, const Body& body,
                        const MotionFitOptions& options) {
  if (recording.planar != body.planar) {
    throw ConfigError(
        fmt::format("recording '{}': planar: found {}, allowed: the same as its body '{}'",
                    recording.name, recording.planar, body.name));
  }
  if (options.min_frames < 4)
    throw ConfigError(fmt::format("min_frames: found {}, allowed at least 4", options.min_frames));
  if (options.max_frames < options.min_frames) {
    throw ConfigError(fmt::format("max_frames: found {}, allowed at least min_frames = {}",
                                  options.max_frames, options.min_frames));
  }
}

// A recording that cannot be fitted at all, as an event with the reason.
std::optional<ImpactEvent> RefusalOf(const PoseRecording& recording,
                                     const MotionFitOptions& options) {
  ImpactEvent event;
  event.recording = recording.name;
  event.planar = recording.planar;
  event.detail = Fault(recording);
  event.reason = RejectReason::kBadRecording;
  const int n = static_cast<int>(recording.t.size());
  if (event.detail.empty() && n < 2 * options.min_frames) {
    event.reason = RejectReason::kTooFewFrames;
    event.detail = fmt::format("{} frames, allowed at least {}", n, 2 * options.min_frames);
  }
  if (event.detail.empty()) return std::nullopt;
  return event;
}

}  // namespace

MotionFit FitMotion(const PoseRecording& recording, const Body& body, const Plane& floor,
                    const MotionFitOptions& options) {
  CheckMotionOptions(recording, body, options);
  if (std::optional<ImpactEvent> refusal = RefusalOf(recording, options)) {
    MotionFit fit;
    fit.events.push_back(*std::move(refusal));
    return fit;
  }
  return Fitter(recording, body, floor, options).Run(true);
}

MotionFit FitFlights(const PoseRecording& recording, const Body& body, const Plane& floor,
                     const MotionFitOptions& options) {
  CheckMotionOptions(recording, body, options);
  if (RefusalOf(recording, options)) return {};
  return Fitter(recording, body, floor, options).Run(false);
}

}  // namespace impactlab
