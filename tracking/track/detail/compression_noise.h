#pragma once
// Private to the tracking room: noise that video compression adds to the pixels of markers.
//
// An estimate of the noise from neighbouring pixels of the whole frame does not contain it: the
// encoder smooths what is at rest and leaves errors at what moves, so that the frame is less noisy
// than its markers (0.1 to 1 grey level against 4 in H.264 of quality 18). It is therefore
// estimated from the residuals of fits to clear markers. Without it the residuals of nearly every
// fit exceed its noise, and the search for hidden parts and shading finds false ones. Errors of
// neighbouring pixels are correlated, which no variance describes; `error_scale`
// (tracking/track/track_smoothing.h) corrects for that.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "data/statistics/statistics.h"

namespace impactlab::tracking {

class CompressionNoise {
 public:
  // Of a fit to a clear marker: mean square of its residuals less the noise of the sensor [grey
  // levels^2].
  void Add(double unexplained) {
    if (recent_.size() < kRecent) {
      recent_.push_back(unexplained);
    } else {
      recent_[next_] = unexplained;
      next_ = (next_ + 1) % kRecent;
    }
    stale_ = true;
  }

  // To be added to the variance of the sensor's noise, `sensor` [grey levels^2]. 0 until enough
  // fits have been seen.
  double Variance(double sensor) {
    if (stale_ && recent_.size() >= kEnough) learned_ = std::max(0., Quantile(recent_, kShare));
    stale_ = false;
    return learned_ > kWorth * sensor ? learned_ : 0;
  }

 private:
  static constexpr std::size_t kRecent = 64, kEnough = 8;
  static constexpr double kShare = 0.75;  // of the fits are to agree with their noise
  // of the sensor's: shading of balls leaves up to 1, a coder 10
  static constexpr double kWorth = 2;
  std::vector<double> recent_;
  std::size_t next_ = 0;
  double learned_ = 0;
  bool stale_ = false;
};

}  // namespace impactlab::tracking
