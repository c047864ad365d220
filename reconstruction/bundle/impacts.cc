// Where the impacts of a recording are, roughly.

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "data/statistics/statistics.h"
#include "reconstruction/bundle/detail/initialization.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab::reconstruction {
namespace {

// frame intervals within which flags and motion mean one impact
constexpr double kSameImpact = 3;
constexpr int kBlurredFrames = 2;  // on either side of an impact, in rough poses
// frames between two pieces of one flight at most: a stray pose cuts it
constexpr int kSeam = 4;
constexpr int kLeastFlight = 3;  // brief flights that make one to be sure of
// frame intervals between two flights that one impact may part
constexpr double kLongestContact = 4;

// Times about which several tracks are flagged; one alone may have jumped for another reason.
std::vector<double> FlaggedTimes(const MarkerTracks& tracks, const DropProblem& problem,
                                 const std::vector<double>& offset, double frame_interval) {
  struct Flag {
    double t = 0;
    std::pair<int, int> track;
  };
  std::vector<Flag> flags;
  for (const DropPoint& point : problem.points) {
    if (tracks.points[point.index].flags & kImpact)
      flags.push_back({point.t + offset[point.clock], {point.clock, point.marker}});
  }
  std::sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) { return a.t < b.t; });
  std::vector<double> times, cluster;
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i <= flags.size(); ++i) {
    if (i == flags.size() ||
        (!cluster.empty() && flags[i].t - cluster.back() > 2.5 * frame_interval)) {
      if (seen.size() > 1) times.push_back(Median(cluster));
      cluster.clear();
      seen.clear();
    }
    if (i == flags.size()) break;
    cluster.push_back(flags[i].t);
    seen.insert(flags[i].track);
  }
  return times;
}

// Impacts among the flags that the motion does not show, each up to its neighbours.
void AddFlagged(const std::vector<double>& flagged, const PoseRecording& poses,
                double frame_interval, const MotionFitOptions& options, RoughImpacts* rough) {
  std::vector<double> silent;
  for (const double t : flagged) {
    bool known = false;
    for (const RoughImpact& impact : rough->impacts)
      known = known || std::abs(impact.t - t) < kSameImpact * frame_interval;
    for (const Segment& flight : rough->flights)
      known = known || (poses.t[flight.first] + 1.5 * frame_interval < t &&
                        t < poses.t[flight.last] - 1.5 * frame_interval);
    if (!known) silent.push_back(t);
  }
  std::vector<double> all = silent;
  for (const RoughImpact& impact : rough->impacts) all.push_back(impact.t);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < silent.size(); ++i) {
    RoughImpact impact = ImpactAbout(silent[i], *rough, poses);
    const auto here = std::lower_bound(all.begin(), all.end(), silent[i]);
    if (here != all.begin()) impact.begin = std::max(impact.begin, *(here - 1) + frame_interval);
    if (here + 1 != all.end()) impact.end = std::min(impact.end, *(here + 1) - frame_interval);
    const auto too_near = [&](double a, double b) {
      return b - a < (options.min_frames + 1) * frame_interval;
    };
    if (here + 1 != all.end() && too_near(*here, *(here + 1))) {
      impact.reason = RejectReason::kSecondContact;
      impact.detail =
          "the next impact follows at once: the flight between "
          "them is too short";
    } else if (here != all.begin() && too_near(*(here - 1), *here)) {
      impact.reason = RejectReason::kSecondContact;
      impact.detail =
          "the impact before it is too near: the flight between "
          "them is too short";
    }
    rough->impacts.push_back(impact);
  }
}

// By the motion of the poses: what FitMotion takes for impacts.
void FindByMotion(const DropProblem& problem, const PoseRecording& poses, const Plane& floor,
                  const MotionFitOptions& options, const std::vector<double>& flagged,
                  double frame_interval, RoughImpacts* rough) {
  MotionFitOptions rougher = options;
  rougher.flight.gravity_W = problem.gravity_W;
  rougher.min_frames = std::max(4, options.min_frames);
  rougher.max_frames = std::max(rougher.min_frames, options.max_frames);
  rougher.max_lost_frames = rougher.first_impacts = 0;
  // Images between two pictures of another camera are not to be trusted where the impact lies
  // between these.
  rougher.contact_frames = std::max(kBlurredFrames, options.contact_frames);
  rougher.sigma_position = rougher.sigma_angle = 0;
  if (static_cast<int>(poses.t.size()) >= 2 * rougher.min_frames) {
    const MotionFit motion = FitMotion(poses, problem.body, floor, rougher);
    for (const FlightArc& arc : motion.arcs) rough->flights.push_back({arc.first, arc.last});
    std::vector<RoughImpact> found;
    for (const ImpactEvent& event : motion.events) {
      if (event.reason == RejectReason::kNoImpact || event.reason == RejectReason::kBadRecording) {
        rough->reason = event.reason;
        rough->detail = event.detail;
        continue;
      }
      RoughImpact impact;
      impact.t = event.t;
      if (!(event.sd_t > 0)) {
        impact.reason = event.reason;
        impact.detail = event.detail;
        // Irregular motion determines the time badly; flags, where there are any, do so better.
        double nearest = (options.min_frames + 1) * frame_interval;
        for (const double t : flagged) {
          if (std::abs(t - event.t) >= nearest) continue;
          nearest = std::abs(t - event.t);
          impact.t = t;
        }
      }
      found.push_back(impact);
    }
    rough->impacts = found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      RoughImpact about = ImpactAbout(found[i].t, *rough, poses);
      if (found[i].reason != RejectReason::kNone) {
        // The flights are not known: as far as the next impact, but for another that ragged motion
        // shows at once.
        const double shortest = (rougher.min_frames + 1) * frame_interval;
        about.begin = -1e300;
        about.end = 1e300;
        for (const RoughImpact& other : rough->impacts) {
          if (other.t < found[i].t - shortest)
            about.begin = std::max(about.begin, other.t + frame_interval);
          if (other.t > found[i].t + shortest)
            about.end = std::min(about.end, other.t - frame_interval);
        }
      }
      found[i].begin = about.begin;
      found[i].end = about.end;
    }
    rough->impacts = std::move(found);
  }
}

// By the brief flights: those that agree with their neighbours are one flight. False where there
// are no two flights.
bool FindByFlights(const DropProblem& problem, const std::vector<BriefFlight>& brief,
                   double frame_interval, RoughImpacts* rough) {
  std::vector<Segment> flights;
  for (int i = 0; i < static_cast<int>(brief.size()); ++i) {
    // A stray pose does not end a flight.
    bool goes_on = false;
    if (!flights.empty()) {
      const int last = flights.back().last;
      goes_on = i - last <= kSeam && brief[i].t - brief[last].t < kSeam * frame_interval &&
                Agree(brief[last], brief[i], problem);
    }
    if (goes_on)
      flights.back().last = i;
    else
      flights.push_back({i, i});
  }
  // Two brief flights that agree may share their images: of a flight more is wanted, but for one
  // between two others.
  std::erase_if(flights, [&](const Segment& s) {
    return brief[s.last].end - brief[s.first].begin < 1.4 * frame_interval || s.size() < 2;
  });
  std::erase_if(flights, [&](const Segment& s) {
    return std::any_of(flights.begin(), flights.end(), [&](const Segment& other) {
      return other.size() > s.size() && other.first < s.first && other.last > s.last;
    });
  });
  if (std::none_of(flights.begin(), flights.end(),
                   [](const Segment& s) { return s.size() >= kLeastFlight; }))
    return false;
  for (std::size_t k = 0; k + 1 < flights.size(); ++k) {
    const BriefFlight &minus = brief[flights[k].last], &plus = brief[flights[k + 1].first];
    if (plus.begin - minus.end > kLongestContact * frame_interval) continue;
    RoughImpact impact;
    impact.t = 0.5 * (minus.end + plus.begin);
    impact.begin = brief[flights[k].first].begin - 0.01 * frame_interval;
    impact.end = brief[flights[k + 1].last].end + 0.01 * frame_interval;
    rough->impacts.push_back(impact);
  }
  for (const Segment& flight : flights)
    if (flight.size() >= kLeastFlight) rough->flights.push_back(flight);
  return !rough->impacts.empty();
}

}  // namespace

RoughImpact ImpactAbout(double t, const RoughImpacts& rough, const PoseRecording& poses) {
  RoughImpact impact;
  impact.t = t;
  const auto& flights = rough.flights;
  if (flights.empty()) return impact;
  std::vector<double> steps;
  for (std::size_t i = 1; i < poses.t.size(); ++i) steps.push_back(poses.t[i] - poses.t[i - 1]);
  const double step = Median(steps);
  const auto other_between = [&](double a, double b) {
    return std::any_of(rough.impacts.begin(), rough.impacts.end(), [&](const RoughImpact& other) {
      return other.t > a - step && other.t < b + step && std::abs(other.t - t) > kSameImpact * step;
    });
  };
  // The flight that ends here and those before it that it continues; the same after.
  for (int k = static_cast<int>(flights.size()) - 1; k >= 0; --k) {
    const double last = poses.t[flights[k].last];
    if (last > t + kSameImpact * step) continue;
    if (last < t - kSameImpact * step) break;
    while (k > 0 && flights[k].first - flights[k - 1].last <= kSeam &&
           !other_between(poses.t[flights[k - 1].last], poses.t[flights[k].first]))
      --k;
    impact.begin = poses.t[flights[k].first] - 0.5 * step;
    break;
  }
  for (std::size_t k = 0; k < flights.size(); ++k) {
    const double first = poses.t[flights[k].first];
    if (first < t - kSameImpact * step || poses.t[flights[k].last] <= t) continue;
    if (first > t + kSameImpact * step) break;
    while (k + 1 < flights.size() && flights[k + 1].first - flights[k].last <= kSeam &&
           !other_between(poses.t[flights[k].last], poses.t[flights[k + 1].first]))
      ++k;
    impact.end = poses.t[flights[k].last] + 0.5 * step;
    break;
  }
  return impact;
}

RoughImpacts FindImpacts(const MarkerTracks& tracks, const DropProblem& problem,
                         const std::vector<double>& offset, const std::vector<BriefFlight>& brief,
                         const PoseRecording& poses, const Plane& floor,
                         const MotionFitOptions& options) {
  RoughImpacts rough;
  const double frame_interval = FrameInterval(problem);
  const std::vector<double> flagged = FlaggedTimes(tracks, problem, offset, frame_interval);
  if (!FindByFlights(problem, brief, frame_interval, &rough)) {
    rough = {};
    FindByMotion(problem, poses, floor, options, flagged, frame_interval, &rough);
  }
  AddFlagged(flagged, poses, frame_interval, options, &rough);
  std::sort(rough.impacts.begin(), rough.impacts.end(),
            [](const RoughImpact& a, const RoughImpact& b) { return a.t < b.t; });
  if (rough.detail.empty()) rough.detail = "neither the tracks nor the motion show an impact";
  return rough;
}

}  // namespace impactlab::reconstruction
