#pragma once
// Cameras that see lights go on and off, for the tests of the synchronisation.

#include <algorithm>
#include <random>
#include <vector>

#include "tracking/sync/sync.h"

namespace impactlab::test {

struct FlashCamera {
  double rate = 240, exposure = 2e-3, t_line = 0;
  int height = 480, bands = 8, frames = 300;
  double noise = 0.05;               // of a band mean
  double shift = 0, clock_rate = 1;  // t_common = shift + clock_rate * t
  double amplitude = 40;
  double phase = 0;  // of the first frame [s]
};
struct FlashLight {
  double on = 0, off = 0;  // common time
};

// Integrates the light over the exposure of many rows, apart from the estimator's own few.
inline BrightnessSeries Simulate(const FlashCamera& camera, const std::vector<FlashLight>& lights,
                                 std::mt19937_64& rng) {
  std::normal_distribution<double> normal(0, 1);
  BrightnessSeries series;
  series.t_line = camera.t_line, series.height = camera.height, series.exposure = camera.exposure;
  for (int k = 0; k < camera.frames; ++k) {
    const double t = camera.phase + k / camera.rate;
    series.t.push_back(t);
    std::vector<double> bands(static_cast<std::size_t>(camera.bands), 0);
    for (int y = 0; y < camera.height; ++y) {
      const double middle = t + y * camera.t_line;
      double share = 0;
      for (const FlashLight& light : lights) {
        const double on = (light.on - camera.shift) / camera.clock_rate,
                     off = (light.off - camera.shift) / camera.clock_rate;
        share += std::max(0.0, std::min(off, middle + camera.exposure / 2) -
                                   std::max(on, middle - camera.exposure / 2)) /
                 camera.exposure;
      }
      bands[static_cast<std::size_t>(y * camera.bands / camera.height)] +=
          camera.amplitude * share * camera.bands / camera.height;
    }
    for (int b = 0; b < camera.bands; ++b) bands[b] += 60 + 3 * b + camera.noise * normal(rng);
    series.bands.push_back(bands);
  }
  return series;
}

inline std::vector<Instant> Given(const std::vector<double>& t, double sd = 1e-3) {
  std::vector<Instant> list;
  list.reserve(t.size());
  for (const double x : t) list.push_back({x, sd, "given"});
  return list;
}

}  // namespace impactlab::test
