#pragma once
// Where a recording flies and where it breaks off: signals that are straight lines in free flight,
// their noise, and their segmentation.
//
// In free flight the centre less its gravity (and drag) term, the planar attitude, and the time
// integral of the angular momentum over a mean moment of inertia are linear in time. Impacts are
// the breaks of these lines; no filter crosses them. The breaks minimise the sum of squared
// residuals plus a penalty a segment (exact dynamic programming with pruning: Killick, Fearnhead &
// Eckley, JASA 107, 2012). A segment may bend by a small acceleration of given standard deviation,
// so that a wrong scale, clock or drag does not cut it in pieces.

#include <array>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::reconstruction {

// Planar: x, z, theta. Spatial: x, y, z and three components of the integrated angular momentum in
// W.
struct Signals {
  int dim = 3;
  int n_position = 2;  // of them positions; the rest are angles
  std::vector<double> t;
  std::vector<std::array<double, 6>> y;
};

Signals LinearSignals(const PoseRecording& recording, const Body& body,
                      const FlightOptions& flight);

// One number a signal: standard deviations of noise or of the acceleration a segment may have.
using PerSignal = std::array<double, 6>;

// Noise from third differences of neighbouring frames (median absolute value): no model of the
// motion, not affected by the few breaks.
PerSignal RoughNoise(const Signals& signals);

struct Segment {
  int first = 0, last = 0;  // frames, inclusive
  int size() const { return last - first + 1; }
};

std::vector<Segment> SplitIntoSegments(const Signals& signals, const PerSignal& noise,
                                       const PerSignal& acceleration, double penalty);

// A line with an acceleration fitted to one signal of one segment.
struct BentLine {
  double acceleration = 0, sd_acceleration = 0;  // beyond gravity; sd for noise of 1
  double rss = 0;                                // with the acceleration free
  int dof = 0;                                   // frames - 3
  double neighbours = 0;                         // sum of products of neighbouring residuals
};
BentLine FitBentLine(const Signals& signals, int signal, const Segment& segment);

}  // namespace impactlab::reconstruction
