#include "reconstruction/motion_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/error.h"
#include "data/statistics.h"
#include "reconstruction/motion_fit_arcs.h"
#include "reconstruction/motion_fit_events.h"
#include "reconstruction/motion_fit_signals.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using internal::BentLine;
using internal::BreakFit;
using internal::FitContext;
using internal::NoiseModel;
using internal::PerSignal;
using internal::Segment;
using internal::Signals;

// Penalty a segment and signal: splitting noise gains three degrees of freedom a signal, and its place is free.
constexpr double kPenalty = 20;
// Acceleration beyond free flight that segmentation lets pass, relative to gravity; a rolling or sliding body exceeds four times as much.
constexpr double kAccelerationTolerance = 0.05;
constexpr double kNotFlight = 0.25;
constexpr int kRestFrames = 8;
constexpr double kNoNoise = 1e-9;  // [m], [rad] where a recording has no noise at all

double Reach(const Body& body) {
  double reach = std::max({body.half_extents.norm(), body.half_length, body.radius});
  for (const Vector3d& p : body.points_B) reach = std::max(reach, p.norm());
  return reach;
}

double Gyration(const Body& body) {
  const double inertia = body.planar ? body.inertia_B(1, 1) : body.inertia_B.trace() / 3;
  return std::sqrt(inertia / body.mass);
}

// One recording on its way to a MotionFit.
class Fitter {
 public:
  Fitter(const PoseRecording& recording, const Body& body, const Plane& floor, const MotionFitOptions& options)
      : recording_(recording), body_(body), options_(options) {
    context_.model = {&recording_, &body_, options.flight};
    context_.floor.normal = floor.normal.normalized();
    context_.floor.offset = floor.offset / floor.normal.norm();
    context_.options = &options_;
    std::vector<double> intervals;
    for (std::size_t i = 1; i < recording.t.size(); ++i) intervals.push_back(recording.t[i] - recording.t[i - 1]);
    context_.frame_interval = Median(intervals);
    gravity_ = options.flight.gravity_W.norm();
    for (int d = 0; d < 6; ++d) {
      tolerance_[d] = kAccelerationTolerance * std::max(gravity_, 1.0);
      if (d >= (recording.planar ? 2 : 3)) tolerance_[d] /= Gyration(body);
    }
  }

  MotionFit Run() {
    signals_ = internal::LinearSignals(recording_, body_, options_.flight);
    FindFlights();
    FindRests();
    DropRestingFlights();
    EstimateDrift();
    ReportArcs();
    FindEvents();
    fit_.sigma_position = context_.sigma_position;
    fit_.sigma_angle = context_.sigma_angle;
    return std::move(fit_);
  }

 private:
  int n() const { return static_cast<int>(recording_.t.size()); }
  bool IsAngle(int d) const { return d >= signals_.n_position; }

  // A stretch long enough that moves as free bodies do, within what the scale, clock and drag of a recording may be wrong by.
  bool IsFlight(const Segment& segment) const {
    if (segment.size() < options_.min_frames) return false;
    double linear = 0, sd_linear = 0, angular = 0, sd_angular = 0;
    for (int d = 0; d < signals_.dim; ++d) {
      const BentLine line = internal::FitBentLine(signals_, d, segment);
      (IsAngle(d) ? angular : linear) += line.acceleration * line.acceleration;
      (IsAngle(d) ? sd_angular : sd_linear) += std::pow(line.sd_acceleration * noise_[d], 2);
    }
    // A few frames of a body at rest pass for the top of a small bounce: gravity has to be seen.
    if (gravity_ > 0 && !FallsVisibly(segment)) return false;
    const double limit = kNotFlight * std::max(gravity_, 1.0);
    return std::sqrt(linear) <= limit + 4 * std::sqrt(sd_linear) &&
           std::sqrt(angular) <= limit / Gyration(body_) + 4 * std::sqrt(sd_angular);
  }

  // True when the acceleration along gravity differs from that of a body that is carried.
  bool FallsVisibly(const Segment& segment) const {
    double along = gravity_, variance = 0;
    for (int d = 0; d < signals_.n_position; ++d) {
      const double g = options_.flight.gravity_W[recording_.planar && d == 1 ? 2 : d] / gravity_;
      const BentLine line = internal::FitBentLine(signals_, d, segment);
      along += g * line.acceleration;
      variance += std::pow(g * line.sd_acceleration * noise_[d], 2);
    }
    return along > 3 * std::sqrt(variance);
  }

  // Noise of every signal from the residuals of the flights, each with an acceleration of its own. One bad stretch does not count.
  void EstimateNoise() {
    for (int d = 0; d < signals_.dim; ++d) {
      const double given = IsAngle(d) ? options_.sigma_angle : options_.sigma_position;
      if (given > 0) {
        noise_[d] = given;
        continue;
      }
      std::vector<double> variance, weight;
      std::vector<BentLine> lines;
      for (const Segment& segment : flights_) {
        const BentLine line = internal::FitBentLine(signals_, d, segment);
        if (line.dof < 1) continue;
        lines.push_back(line);
        variance.push_back(line.rss / line.dof);
        weight.push_back(line.dof);
      }
      if (lines.empty()) continue;
      const double typical = WeightedMedian(variance, weight);
      double rss = 0;
      int dof = 0;
      for (const BentLine& line : lines) {
        if (line.rss > ChiSquareQuantile(1 - 1e-6, line.dof) * 2 * typical) continue;
        rss += line.rss;
        dof += line.dof;
      }
      if (dof == 0) continue;
      noise_[d] = std::sqrt(rss / dof);
    }
    // In space the axes of attitude share one noise: they turn with the body.
    if (signals_.dim == 6) {
      const double mean = std::sqrt((noise_[3] * noise_[3] + noise_[4] * noise_[4] + noise_[5] * noise_[5]) / 3);
      noise_[3] = noise_[4] = noise_[5] = mean;
    }
    for (int d = 0; d < signals_.dim; ++d) noise_[d] = std::max(noise_[d], kNoNoise);
  }

  void FindFlights() {
    noise_ = internal::RoughNoise(signals_);
    for (int d = 0; d < signals_.dim; ++d) {
      const double given = IsAngle(d) ? options_.sigma_angle : options_.sigma_position;
      noise_[d] = std::max(given > 0 ? given : noise_[d], kNoNoise);
    }
    for (int iteration = 0; iteration < 4; ++iteration) {
      segments_ = internal::Split(signals_, noise_, tolerance_, kPenalty * signals_.dim);
      flights_.clear();
      for (const Segment& segment : segments_) {
        if (IsFlight(segment)) flights_.push_back(segment);
      }
      const PerSignal before = noise_;
      EstimateNoise();
      double change = 0;
      for (int d = 0; d < signals_.dim; ++d) change = std::max(change, std::abs(std::log(noise_[d] / before[d])));
      if (change < 0.1) break;
    }
    for (const Segment& segment : flights_) fit_.dof += signals_.dim * (segment.size() - 3);
    double position = 0, angle = 0;
    for (int d = 0; d < signals_.dim; ++d) (IsAngle(d) ? angle : position) += noise_[d] * noise_[d];
    context_.sigma_position = std::sqrt(position / signals_.n_position);
    context_.sigma_angle = std::sqrt(angle / (signals_.dim - signals_.n_position));
    context_.noise.sd = noise_;
    context_.height_tolerance = std::max(0.15 * Reach(body_), 5 * context_.sigma_position);
  }

  // Rests hold short stretches that pass for flights where noise hides gravity.
  void DropRestingFlights() {
    const auto rests = [&](const Segment& flight) {
      for (const RestPose& rest : fit_.rests) {
        const int common = std::min(rest.last, flight.last) - std::max(rest.first, flight.first) + 1;
        if (2 * common > flight.size()) return true;
      }
      return false;
    };
    flights_.erase(std::remove_if(flights_.begin(), flights_.end(), rests), flights_.end());
  }

  // Standard deviation of the accelerations that free flight does not explain, where the flights show any: method of moments.
  void EstimateDrift() {
    for (const bool angle : {false, true}) {
      std::vector<double> value, variance;
      for (const Segment& segment : flights_) {
        if (segment.size() < 2 * options_.min_frames) continue;
        for (int d = 0; d < signals_.dim; ++d) {
          if (IsAngle(d) != angle) continue;
          const BentLine line = internal::FitBentLine(signals_, d, segment);
          value.push_back(line.acceleration * line.acceleration);
          variance.push_back(std::pow(line.sd_acceleration * noise_[d], 2));
        }
      }
      double chi_square = 0;
      for (std::size_t i = 0; i < value.size(); ++i) chi_square += value[i] / variance[i];
      double drift = 0;
      if (!value.empty() && chi_square > ChiSquareQuantile(0.999, static_cast<double>(value.size()))) {
        for (int iteration = 0; iteration < 20; ++iteration) {
          double sum = 0, weights = 0;
          for (std::size_t i = 0; i < value.size(); ++i) {
            const double w = 1 / std::pow(variance[i] + drift, 2);
            sum += w * (value[i] - variance[i]);
            weights += w;
          }
          drift = std::max(0.0, sum / weights);
        }
      }
      for (int d = 0; d < signals_.dim; ++d) {
        if (IsAngle(d) == angle) context_.noise.acceleration[d] = std::sqrt(drift);
      }
    }
  }

  void ReportArcs() {
    NoiseModel free = context_.noise;
    for (int d = 0; d < 6; ++d) free.acceleration[d] = 1e6 * tolerance_[d];
    for (const Segment& segment : flights_) {
      if (segment.size() < 2 * options_.min_frames) continue;
      FlightArc arc;
      arc.recording = recording_.name;
      arc.first = segment.first;
      arc.last = segment.last;
      arc.duration = recording_.t[segment.last] - recording_.t[segment.first];
      arc.acceleration_W = options_.flight.gravity_W;
      double rss_position = 0, rss_angle = 0;
      const int free_frames = segment.size() - 3;
      for (int d = 0; d < signals_.dim; ++d) {
        const BentLine line = internal::FitBentLine(signals_, d, segment);
        (IsAngle(d) ? rss_angle : rss_position) += line.rss;
        if (IsAngle(d)) continue;
        const int axis = recording_.planar && d == 1 ? 2 : d;
        arc.acceleration_W[axis] += line.acceleration;
        // An arc rougher than the recording's noise says so in its own sd.
        arc.sd_acceleration[axis] = line.sd_acceleration * std::max(noise_[d], std::sqrt(line.rss / line.dof));
      }
      if (recording_.planar) arc.acceleration_W.y() = 0;
      arc.rms_position = std::sqrt(rss_position / (signals_.n_position * free_frames));
      const internal::Arc flight = internal::FitArc(context_.model, segment, free);
      if (recording_.planar) {
        arc.rms_angle = std::sqrt(rss_angle / free_frames);
        const double spin = std::abs(flight.line[2].coefficients[1]);
        arc.omega_drift = spin > 0 ? std::abs(flight.line[2].coefficients[2]) * arc.duration / spin : 0;
      } else {
        arc.rms_angle = std::sqrt(rss_angle / (3 * free_frames));
        const Vector3d momentum = body_.inertia_B * flight.omega_B;
        const double size = momentum.norm();
        arc.omega_drift = size > 0 ? (body_.inertia_B * flight.alpha_B).norm() * arc.duration / size : 0;
      }
      fit_.arcs.push_back(arc);
    }
  }

  double Gap(int frame) const { return ContactWithPlane(body_, recording_.X_WB[frame], context_.floor).gap; }

  // Stretches in which no signal of the pose leaves its mean by more than noise.
  void FindRests() {
    const auto pose = [&](int i, int d) {
      if (recording_.planar) return d == 2 ? recording_.theta[i] : recording_.X_WB[i].translation()[d == 0 ? 0 : 2];
      return d < 3 ? recording_.X_WB[i].translation()[d] : signals_.y[i][d];
    };
    int first = 0;
    while (first + kRestFrames <= n()) {
      int last = first;
      PerSignal low{}, high{};
      for (int i = first; i < n(); ++i) {
        bool still = true;
        PerSignal l = low, h = high;
        for (int d = 0; d < signals_.dim; ++d) {
          const double y = pose(i, d);
          l[d] = i == first ? y : std::min(l[d], y);
          h[d] = i == first ? y : std::max(h[d], y);
          if (h[d] - l[d] > 7 * noise_[d]) still = false;
        }
        if (!still) break;
        low = l;
        high = h;
        last = i;
      }
      const int frames = last - first + 1;
      if (frames < kRestFrames || Moves(first, last, pose) || Gap((first + last) / 2) > context_.height_tolerance) {
        ++first;
        continue;
      }
      AddRest(first, last);
      first = last + 1;
    }
  }

  // True when a stretch has a speed, or falls: noise alone would not hide it.
  template <class Pose>
  bool Moves(int first, int last, const Pose& pose) const {
    const int frames = last - first + 1;
    const double middle = 0.5 * (recording_.t[first] + recording_.t[last]);
    for (int d = 0; d < signals_.dim; ++d) {
      double tt = 0, ty = 0, mean = 0;
      for (int i = first; i <= last; ++i) mean += pose(i, d) / frames;
      for (int i = first; i <= last; ++i) {
        const double s = recording_.t[i] - middle;
        tt += s * s;
        ty += s * (pose(i, d) - mean);
      }
      const double drift = std::abs(ty / tt) * (recording_.t[last] - recording_.t[first]);
      if (drift > 5 * noise_[d]) return true;
    }
    // Noise so large that even a fall would hide in it proves no rest.
    const double duration = recording_.t[last] - recording_.t[first];
    return gravity_ * duration * duration / 8 < 5 * context_.sigma_position && gravity_ > 0;
  }

  void AddRest(int first, int last) {
    RestPose rest;
    rest.recording = recording_.name;
    rest.first = first;
    rest.last = last;
    const int frames = last - first + 1;
    const Eigen::Matrix3d R0 = recording_.X_WB[first].linear();
    Vector3d p = Vector3d::Zero(), turn = Vector3d::Zero();
    for (int i = first; i <= last; ++i) {
      p += recording_.X_WB[i].translation() / frames;
      turn += internal::Log(R0.transpose() * recording_.X_WB[i].linear()) / frames;
    }
    rest.X_WB.linear() = R0 * internal::Exp(turn);
    rest.X_WB.translation() = p;
    double position = 0, angle = 0;
    for (int i = first; i <= last; ++i) {
      position += (recording_.X_WB[i].translation() - p).squaredNorm();
      angle += internal::Log(rest.X_WB.linear().transpose() * recording_.X_WB[i].linear()).squaredNorm();
    }
    rest.sd_position = std::sqrt(position / ((recording_.planar ? 2 : 3) * (frames - 1)));
    rest.sd_angle = std::sqrt(angle / ((recording_.planar ? 1 : 3) * (frames - 1)));
    fit_.rests.push_back(rest);
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
    const auto next = std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return s.first > flight.last; });
    const int left = n() - 1 - flight.last;
    if (to_the_end && left < options_.min_frames) {
      AddUnfitted(RejectReason::kTooFewFrames,
                  fmt::format("{} frames after the impact until the recording ends, allowed at least {}", left, options_.min_frames),
                  flight.last);
    } else if (next != segments_.end() && next->size() >= options_.min_frames) {
      AddUnfitted(RejectReason::kRollingContact,
                  fmt::format("{} frames after the impact do not fall freely: acceleration off by more than {:.2f} of gravity",
                              next->size(), kNotFlight),
                  flight.last);
    } else {
      AddUnfitted(RejectReason::kSecondContact,
                  fmt::format("{} frames of flight after the impact, allowed at least {}", next == segments_.end() ? 0 : next->size(),
                              options_.min_frames),
                  flight.last);
    }
  }

  void FindEvents() {
    if (flights_.empty()) {
      const bool rests = !fit_.rests.empty() && fit_.rests.front().last - fit_.rests.front().first + 1 > n() / 2;
      if (rests || !NearFloor(0, n() - 1)) {
        AddUnfitted(RejectReason::kNoImpact, rests ? "the body rests" : "the body does not come near the floor", 0);
      } else {
        AddUnfitted(RejectReason::kNoFreeFlight, fmt::format("no {} frames in a row of free flight", options_.min_frames), 0);
      }
      return;
    }
    const int head = flights_.front().first;
    if (head > 0 && NearFloor(0, head)) {
      if (head < options_.min_frames) {
        AddUnfitted(RejectReason::kTooFewFrames, fmt::format("{} frames before the impact, allowed at least {}", head, options_.min_frames),
                    head - 1);
      } else {
        AddUnfitted(RejectReason::kNoFreeFlight, "the body does not fall freely before it leaves the floor", head - 1);
      }
    }
    for (std::size_t i = 0; i < flights_.size() && !Enough(); ++i) {
      const Segment& minus = flights_[i];
      if (i + 1 == flights_.size()) {
        if (minus.last + 1 < n() && NearFloor(minus.last, std::min(minus.last + 3, n() - 1))) AddInterrupted(minus, true);
        break;
      }
      const Segment& plus = flights_[i + 1];
      const int between = plus.first - minus.last - 1;
      if (between > std::max(1, 2 * options_.contact_frames)) {
        if (NearFloor(minus.last, plus.first)) AddInterrupted(minus, false);
        continue;
      }
      BreakFit fit = internal::FitBreak(context_, minus, plus);
      if (!fit.converged) {
        if (NearFloor(minus.last, plus.first)) {
          AddUnfitted(RejectReason::kNotConverged, "no impact time joins the two arcs", minus.last);
        }
        continue;
      }
      // Breaks elsewhere are jumps of the tracker or blows from other things than the floor.
      if (std::abs(Gap(fit.event)) > context_.height_tolerance || !fit.is_push) continue;
      Judge(context_, fit);
      AddEvent(std::move(fit.event));
    }
    if (fit_.events.empty()) AddUnfitted(RejectReason::kNoImpact, "free flight without a break near the floor", 0);
  }

  double Gap(const ImpactEvent& event) const { return context_.floor.normal.dot(event.p_WP) - context_.floor.offset; }
  bool Enough() const { return options_.first_impacts > 0 && static_cast<int>(fit_.events.size()) >= options_.first_impacts; }

  const PoseRecording& recording_;
  const Body& body_;
  const MotionFitOptions& options_;
  FitContext context_;
  Signals signals_;
  double gravity_ = 0;
  PerSignal tolerance_{}, noise_{};
  std::vector<Segment> segments_, flights_;
  MotionFit fit_;
};

// Why a recording cannot be used at all; empty when it can.
std::string Fault(const PoseRecording& recording) {
  const std::size_t n = recording.t.size();
  if (recording.X_WB.size() != n) return fmt::format("{} time stamps and {} poses, allowed the same number", n, recording.X_WB.size());
  if (recording.planar && recording.theta.size() != n)
    return fmt::format("{} poses and {} angles, allowed the same number", n, recording.theta.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(recording.t[i]) || !recording.X_WB[i].matrix().allFinite() ||
        (recording.planar && !std::isfinite(recording.theta[i]))) {
      return fmt::format("frame {} is not a number, allowed finite poses", i);
    }
    if (i > 0 && !(recording.t[i] > recording.t[i - 1])) return fmt::format("time stamp of frame {} does not increase", i);
  }
  return {};
}

}  // namespace

MotionFit FitMotion(const PoseRecording& recording, const Body& body, const Plane& floor, const MotionFitOptions& options) {
  if (recording.planar != body.planar) {
    throw ConfigError(
        fmt::format("recording '{}': planar: found {}, allowed: the same as its body '{}'", recording.name, recording.planar, body.name));
  }
  if (options.min_frames < 4) throw ConfigError(fmt::format("min_frames: found {}, allowed at least 4", options.min_frames));
  if (options.max_frames < options.min_frames) {
    throw ConfigError(fmt::format("max_frames: found {}, allowed at least min_frames = {}", options.max_frames, options.min_frames));
  }
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
  if (!event.detail.empty()) {
    MotionFit fit;
    fit.events.push_back(event);
    return fit;
  }
  return Fitter(recording, body, floor, options).Run();
}

}  // namespace impactlab
