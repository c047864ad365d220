#pragma once
// The common clock of several cameras: t_common = shift + rate * t_camera, camera 0 being the
// clock.
//
// A flash brightens the exposures it falls into by the share of each that it covers: its start is
// known to a part of a frame. An event seen by all (a first touch, a lamp) is known to a frame or
// better. Two or more such instants far apart give the drift of the clocks.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "tracking/video/frames.h"

namespace impactlab {

// Mean brightness over time; of a rolling shutter in bands of rows, so that the row in which a
// flash began is found.
struct BrightnessSeries {
  std::vector<double> t;                   // of row 0 of every frame [s], the camera's own clock
  std::vector<std::vector<double>> bands;  // [frame][band] mean grey level
  double t_line = 0;                       // [s]
  int height = 0;                          // [px]
  double exposure = 0;                     // [s]; 0: not known
};
// The next frame, where frames pass by anyway; the caller sets t_line and exposure.
void AddFrame(const Frame& frame, int bands, BrightnessSeries* series);

struct Instant {
  double t = 0, sd = 0;  // on the camera's own clock [s]
  std::string what;      // "flash on", "flash off", "given"
};
// Rises and falls of brightness above its noise.
std::vector<Instant> FindFlashes(const BrightnessSeries& series);

struct CameraClock {
  double shift = 0, rate = 1;                     // t_common = shift + rate * t
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of (shift, rate)
  bool usable = false;
  // more than one instant, far enough apart; else the rate is taken as 1 +- `rate_sd`
  bool rate_known = false;
  std::string reason;  // why not usable, or what was assumed
  double rms = 0;      // of the residuals [s]
  int matched = 0;     // instants used
};

struct SyncOptions {
  double rate_sd = 5e-5;     // clocks of cameras differ by so much before anything is measured [1]
  double shift_max = 1e4;    // largest shift that is looked for [s]
  double same_shift = 1e-3;  // shifts closer than this are one clock, known only so well [s]
};

// Matches the instants of a camera to those of camera 0 (order kept, any may be missing on either
// side: a camera that started later, a dropped flash) and solves shift and rate with their
// covariance; ambiguous matches (one flash against three equal ones) are not usable, with the
// reason.
CameraClock Synchronise(const std::vector<Instant>& reference, const std::vector<Instant>& camera,
                        const SyncOptions& options = {});

}  // namespace impactlab
