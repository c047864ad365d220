#pragma once
// Shared by the sources of the tracker: active tracks, the present frame, and the costs of matches
// between them.

#include <optional>
#include <unordered_map>
#include <vector>

#include "tracking/track/detail/kalman.h"
#include "tracking/track/tracker.h"

namespace impactlab::tracking {

// An observation near the start of a track, which is joined to others from it.
struct TrackStart {
  std::size_t step = 0;
  double t = 0;
  Eigen::Vector2d q;    // [px]
  Eigen::Matrix2d cov;  // as used [px^2]
};
inline constexpr std::size_t kHeadSteps = 25;

// A track that has ended, with the states at its two ends that joining needs.
struct Tracklet {
  Track track;
  std::vector<TrackStart> head;  // in its first kHeadSteps steps
  MarkerState tail;              // after its last observation
};

struct ActiveTrack {
  ActiveTrack(int track, const Observation& o, long long frame, double t, int index,
              const TrackerOptions& options);

  int id;
  MarkerState last;  // after its last observation, or opened by an impact since
  MarkerState seen;  // after its last observation
  MarkerState now;   // predicted to this frame
  JerkAdaptation jerk;
  double log_area = 0, log_peak = 0;
  double row_time = 0;     // of its last observation after the frame's own time [s]
  Eigen::Vector2d origin;  // where it was first seen
  int hits = 1, misses = 0;
  int open = 0;  // frames until the velocity is known again after an impact
  bool confirmed = false, moved = false;
  std::vector<TrackStep> steps;
  std::vector<TrackStart> head;

  // The history without the impact, kept until later frames confirm the impact.
  struct Fork {
    MarkerState last, seen;
    JerkAdaptation jerk;
    std::size_t steps;
    int age, hits;
    bool jump;  // an impact; else a marker found again
  };
  std::optional<Fork> fork;
  void BeginFork(bool impact) { fork = Fork{last, seen, jerk, steps.size(), 0, hits, impact}; }

  // Of the frame at hand.
  int match = -1;
  bool jump = false;  // reset the velocity before the match is used
  bool silent =
      false;          // velocity reset because the prediction across a gap was poor, not an impact
  bool kink = false;  // reset the acceleration: released, or begun to rotate
  bool merged = false;  // hidden in the image of another marker
  bool doomed = false;  // ends with this frame: its marker is not determined
};

// Owners other than tracks.
inline constexpr int kFree = -1, kBarred = -2;  // barred: two markers in one spot

// A frame as the tracker sees it.
struct FrameView {
  const std::vector<Observation>* observations = nullptr;
  std::vector<int> usable;  // by x
  std::vector<int> owner;   // place of the track in the list of live ones, or kFree, kBarred
};

double Radius(const Observation& o);
double Radius(const ActiveTrack& active);

// Covariance the tracker works with: wider where the image is merged, partly hidden or cut.
Eigen::Matrix2d WorkingCovariance(const ActiveTrack& active, const Observation& o,
                                  const TrackerOptions& options);

// Disagreement of size and brightness, as a chi-square; infinite for what must be another marker.
// `near`: the position alone identifies the marker, so that an image of a part of it is accepted.
double LookCost(const ActiveTrack& active, const Observation& o, const TrackerOptions& options,
                bool near);

// Mahalanobis distance squared of an observation from the prediction; infinite outside of the gate
// (jumps left out).
double GateDistance(const ActiveTrack& active, const Observation& o, const TrackerOptions& options);

// Tracks that kept their distances to `seed` over the last frames: seen as parts of one rigid body.
std::vector<int> BodyOf(const std::vector<ActiveTrack>& actives, int seed);

// Looks for an impact that explains why tracks left their gates, or continues one of the last
// frame: all markers of a body are matched at once, so that none is exchanged with its neighbour.
// `reach`: largest jump of speed [px/s].
void MatchJumps(double reach, const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                FrameView* view);

// Finds markers again after a gap at the position predicted from other markers of the body.
void MatchByCompanions(const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                       FrameView* view);

// Ends tracks whose exchange would be nearly as likely: joining decides later, with the frames that
// follow.
void PartAmbiguous(const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                   FrameView* view);

// Joins tracklets whose motion allows one way only; fills the frames between. `times`: all frames
// and their times.
std::vector<Track> JoinTracks(const std::vector<std::pair<long long, double>>& times, double reach,
                              const TrackerOptions& options, std::vector<Tracklet> tracklets);

}  // namespace impactlab::tracking
