// Errors of instants and clocks against the uncertainty that is reported with them, over many
// cameras.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>
#include <string>

#include "data/statistics/statistics.h"
#include "tests/support/per_test_level.h"
#include "tests/tracking/sync/sync_scene.h"
#include "tracking/sync/sync.h"

namespace impactlab {
namespace {

using Camera = test::FlashCamera;
using Light = test::FlashLight;
using test::Simulate;

// Steps, pulses that fill no frame, rolling and global shutters, exposures known or not: errors
// over reported uncertainty.
struct Kind {
  const char* name;
  double exposure, t_line, length;
  bool known;
};
class FlashCoverage : public ::testing::TestWithParam<Kind> {};

TEST_P(FlashCoverage, ErrorsAreAsLargeAsReported) {
  const Kind& kind = GetParam();
  std::mt19937_64 rng(42);
  std::uniform_real_distribution<double> uniform(0, 1);
  const int trials = 300;
  double sum = 0;
  int outside = 0, pulses = 0;
  for (int i = 0; i < trials; ++i) {
    Camera camera;
    camera.frames = 60;
    // Where the estimator has to sum over the exposure, the truth is drawn from what it is said to
    // be drawn from.
    camera.exposure = kind.known ? kind.exposure : std::max(1e-5, uniform(rng)) / camera.rate;
    camera.t_line = kind.t_line;
    camera.height = 240;
    camera.noise = 4;  // well above what the estimator allows a lamp to be unsteady by
    const double on = 0.1 + uniform(rng) / camera.rate,
                 length = kind.length < 0.1 ? kind.length * uniform(rng) : kind.length;
    BrightnessSeries series = Simulate(camera, {{on, on + length}}, rng);
    if (!kind.known) series.exposure = 0;
    const auto found = FindFlashes(series);
    if (found.empty()) continue;  // wholly between two exposures
    const double truth = found[0].what == "flash" ? on + length / 2 : on;
    pulses += found[0].what == "flash";
    const double z = (found[0].t - truth) / found[0].sd;
    sum += z * z;
    outside += std::abs(z) > 4 ? 1 : 0;
  }
  // Uniform errors have lighter tails than normal ones, so that the chi-square band is wide enough
  // for both.
  const Interval band = ChiSquareBand(trials, PerTestLevel(1e-3, 5));
  EXPECT_LT(sum, band.upper) << kind.name;
  if (kind.length > 0.1) {
    EXPECT_GT(sum, band.lower) << kind.name;
  }
  EXPECT_LE(outside, 2) << kind.name;
  if (kind.length < 0.1) {
    EXPECT_GT(pulses, trials / 3);
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, FlashCoverage,
                         ::testing::Values(Kind{"global, known", 2e-3, 0, 9, true},
                                           Kind{"global, unknown", 2e-3, 0, 9, false},
                                           Kind{"rolling", 1e-3, 8e-6, 9, true},
                                           Kind{"long exposure", 4.1e-3, 0, 9, true},
                                           Kind{"pulse", 2e-3, 0, 8e-3, true}));

// From brightness to clock: z of (shift, rate) jointly over 300 pairs of cameras.
TEST(Synchronise, CovarianceHolds) {
  std::mt19937_64 rng(300);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  const int trials = 300;
  double chi2 = 0;
  int usable = 0, in95 = 0;
  for (int i = 0; i < trials; ++i) {
    Camera a, b;
    a.height = b.height = 24;
    a.frames = b.frames = 480;
    b.rate = 200, a.exposure = 1e-3 + 2.5e-3 * uniform(rng),
    b.exposure = 1e-3 + 3.5e-3 * uniform(rng);
    a.phase = uniform(rng) / a.rate, b.phase = uniform(rng) / b.rate;
    if (i % 3 == 0) b.t_line = 4e-5;
    a.noise = b.noise = 4;
    b.shift = normal(rng), b.clock_rate = 1 + 50e-6 * normal(rng);
    std::vector<Light> lights;
    double t = 0.3 + std::max(0.0, b.shift);
    while (t < std::min(1.9, 2.2 + b.shift)) {
      lights.push_back({t, t + 0.06});
      t += 0.12 + 0.2 * uniform(rng);
    }
    if (lights.size() < 2) continue;
    const CameraClock clock =
        Synchronise(FindFlashes(Simulate(a, lights, rng)), FindFlashes(Simulate(b, lights, rng)));
    if (!clock.usable) continue;
    ++usable;
    const Eigen::Vector2d error(clock.shift - b.shift, clock.rate - b.clock_rate);
    const double q = error.dot(clock.cov.inverse() * error);
    chi2 += q;
    in95 += q < ChiSquareQuantile(0.95, 2);
  }
  EXPECT_GT(usable, trials * 3 / 4);
  const double level = PerTestLevel(1e-3, 2);
  const Interval band = ChiSquareBand(2.0 * usable, level);
  EXPECT_GT(chi2, band.lower);
  EXPECT_LT(chi2, band.upper);
  EXPECT_TRUE(BinomialBand(usable, 0.95, level).Contains(in95)) << in95 << " of " << usable;
  RecordProperty("usable", usable);
  RecordProperty("chi2_per_dof", std::to_string(chi2 / (2 * usable)));
}

}  // namespace
}  // namespace impactlab
