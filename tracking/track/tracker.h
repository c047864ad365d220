#pragma once
// From spots in single frames to tracks of one camera.
//
// Each marker has a Kalman filter with constant acceleration in the image, state (x, y, vx, vy, ax,
// ay), driven by white jerk whose strength adapts to the innovations; updates in Joseph form.
// Observations are assigned to tracks all at once (least sum of squared Mahalanobis distances,
// rectangular assignment), inside gates. A frame in which tracks leave their gates together, or a
// track that is found again within the wider gate of a velocity jump, is an impact: velocity and
// acceleration are opened, position is kept.
//
// Smoothing (Rauch, Tung and Striebel 1965) runs on each side of an impact on its own, never
// through it.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracking/spot/spot.h"

namespace impactlab {

// What the tracker needs to know of a spot.
struct Observation {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();    // [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // [px^2]
  double t = 0;                                   // of this spot: row time included [s]
  // [px^2], [grey levels]: markers keep theirs from frame to frame
  double area = 0, peak = 0;
  std::uint32_t flags = 0;
};

struct TrackerOptions {
  // standard deviation added to every observation for what its covariance leaves out [px]
  double position_floor = 0.05;
  double speed_sd = 3000;          // of a marker seen for the first time, each component [px/s]
  double acceleration_sd = 20000;  // the same [px/s^2]
  // start of the adaptation, spectral density of white jerk [px^2/s^5]
  double jerk_density = 1e9;
  // Mahalanobis distance; 5 loses 4e-6 of good observations in 2 dimensions
  double gate = 5;
  // velocity change at an impact, each component, one standard deviation [px/s]
  double jump_speed = 8000;
  int gap_max = 30;  // frames bridged by prediction before a track ends
  int confirm = 3;   // frames a new track must be seen in before it counts
  int markers = 0;   // how many are expected; 0: not known
  // largest change of area from frame to frame before it counts as another marker or a part of one
  double size_ratio = 2;
};

// Kept for every marker and every frame: 56 bytes.
struct TrackStep {
  long long frame = 0;
  double t = 0;          // of the marker, row time included [s]
  int observation = -1;  // in the frame's list; -1: predicted
  bool impact = false;   // velocity was opened at this step
  Eigen::Matrix<double, 4, 1, Eigen::DontAlign> state =
      Eigen::Matrix<double, 4, 1, Eigen::DontAlign>::Zero();  // position [px], velocity [px/s]
};

struct Track {
  int id = -1;
  // never left the place it was first seen at: clutter, or a body that was not dropped
  bool still = false;
  // one a frame from its first to its last observation, gaps as predictions
  std::vector<TrackStep> steps;
};

// Consistency of the filter: mean of NIS / 2, which is 1 for a filter that knows its errors, with
// the interval it lies in with probability 99.9 % when that is so (samples taken as independent).
struct InnovationReport {
  long long n = 0;
  double mean = 0, lower = 0, upper = 0;
  double error_scale = 1;  // standard deviations were enlarged by this; see FinishTracks
  // share of observations beyond the gate of their own track, impacts left out
  double outside_gate = 0;
};

// Expected position of a marker that was seen recently.
struct ExpectedMarker {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // [px]
  double sd = 0, area = 0;                      // of q, one component [px]; [px^2]
};

class MarkerTracker {
 public:
  explicit MarkerTracker(const TrackerOptions& options = {});
  ~MarkerTracker();
  MarkerTracker(MarkerTracker&&) noexcept;
  MarkerTracker& operator=(MarkerTracker&&) noexcept;

  // Search windows of the known markers at time t, with allowance for impacts; empty when there is
  // no track yet. `margin` is added for the size of a marker [px].
  std::vector<Window> Windows(double t, double margin) const;
  // The confirmed tracks that were seen in one of the last frames, at time t.
  std::vector<ExpectedMarker> Expected(double t) const;
  // Takes the observations of a frame; for each, the id of the track it was given to, -1 for none.
  // Frames must come in order.
  const std::vector<int>& Update(long long frame, double t,
                                 const std::vector<Observation>& observations);
  // Velocity of a track now [px/s]; nothing for one that has ended or is not known.
  std::optional<Eigen::Vector2d> Velocity(int track) const;
  // Whether a marker that was there is missing now, or fewer are followed than expected: the whole
  // frame should be searched.
  bool Searching() const;
  // All tracks that were confirmed, tracklets of one marker joined where the motion allows only one
  // assignment; ends the tracker. Those that moved come first, those seen most before others.
  std::vector<Track> Finish();
  InnovationReport innovations() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A track once more, forwards and backwards, with better observations (refined positions) than
// those it was found with. Same length and order as `steps`; `observations[k]` is empty where there
// is none in step k. Impacts are detected anew: where one polynomial does not fit both sides.
struct SmoothedStep {
  Eigen::Vector2d q, v;          // [px], [px/s]; of the side of the impact the frame lies on
  Eigen::Matrix2d cov_q, cov_v;  // [px^2], [px^2/s^2]
  double nis = 0;                // of the forward filter; NaN where there is no observation
  bool impact = false;           // first frame after a velocity jump
  bool outlier = false;
};
std::vector<SmoothedStep> SmoothTrack(const std::vector<double>& t,
                                      const std::vector<std::optional<Observation>>& observations,
                                      const TrackerOptions& options,
                                      const std::vector<bool>& impact_hint = {});

// Least-cost assignment of rows to columns, each at most once; +infinity forbids a pair. For every
// row its column, -1 for none. A row may stay alone at the cost `alone` (Jonker and Volgenant 1987,
// shortest augmenting paths).
std::vector<int> AssignLeastCost(const Eigen::MatrixXd& cost, double alone);

}  // namespace impactlab
