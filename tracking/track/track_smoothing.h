#pragma once
// Corrections that need a whole track, once its points have their names: partly hidden markers,
// gaps, impacts, the smoothed curve.

#include <vector>

#include "tracking/track/tracker.h"
#include "tracking/track/tracks.h"

namespace impactlab {

// Works on the measured points of one camera; predicted ones are made anew, so that there is a
// point in every frame between the first and the last of a marker. The size of a marker's image
// changes slowly: a point much smaller than its neighbours is hidden in part (kHidden), one much
// larger is merged with something (kTouching), and its covariance grows by the size that is missing
// or too much. Where clear moving points scatter about their path more than their covariances say
// (compression, texture), all covariances of the camera grow by the ratio; calling it again finds
// nothing left to add. A point far outside of its track and of its marker's image is left out,
// except where it was placed by hand. `index` and `stamps`: frames in use, in order, and the times
// of their row 0 [s].
InnovationReport FinishTracks(const std::vector<long long>& index,
                              const std::vector<double>& stamps, int camera,
                              const TrackerOptions& options, MarkerTracks* tracks);

// The same for the points of every marker of one camera, each a list of its own: nothing is held
// twice.
InnovationReport FinishMarkers(const std::vector<long long>& index,
                               const std::vector<double>& stamps, const TrackerOptions& options,
                               std::vector<std::vector<TrackPoint>>* markers);

}  // namespace impactlab
