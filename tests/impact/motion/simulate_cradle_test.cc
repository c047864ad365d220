// Newton's cradle through its swings (hostile cases of other engines: energy that grows, balls that
// stick or pass): three to seven balls.

#include <gtest/gtest.h>

#include <cmath>

#include "impact/motion/mechanism_builders.h"
#include "impact/motion/simulate.h"

namespace impactlab {
namespace {

StartedMechanism Hung(int n, double e, double space) {
  Cradle cradle;
  cradle.masses.assign(static_cast<std::size_t>(n), 0.1);
  cradle.length = 0.2;
  cradle.radius = 0.015;
  cradle.spaces.assign(static_cast<std::size_t>(n) - 1, space);
  cradle.angles.assign(static_cast<std::size_t>(n), 0);
  cradle.angles[0] = -0.5;
  cradle.properties.e = e;
  return MakeCradleMechanism(cradle);
}

// Elastic balls, apart by little or not at all, hand their motion on: the last one swings as high
// as the first was lifted.
TEST(SimulateCradle, ElasticBallsHandTheirMotionOn) {
  for (int k = 6; k <= 15; ++k) {
    const int n = k / 2;
    const double space = k % 2 == 0 ? 1e-7 : 0;
    SCOPED_TRACE(k);
    const StartedMechanism made = Hung(n, 1, space);
    SimulateOptions options;
    options.duration = 1;
    options.stop_at_rest = false;
    double highest = 0, first_later = 0;
    options.sample_step = 1e-4;
    SimulationObserver observer;
    observer.sample = [&](const MechanismState& state, const std::vector<PointMode>&,
                          const Eigen::VectorXd&) {
      highest = std::max(highest, state.q[n - 1]);
      if (state.t > 0.3 && state.t < 0.45)
        first_later = std::max(first_later, std::abs(state.u[0]));
    };
    const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
    EXPECT_EQ(result.end, SimulationEnd::kDuration) << result.reason;
    EXPECT_NEAR(highest, 0.5, 1e-4);  // between samples, and the balls stand 1e-7 m apart
    EXPECT_LT(first_later, 1e-3);
    EXPECT_GE(result.impacts, space > 0 ? 2 * (n - 1) : 2);
    const double before = Energy(made.mechanism, made.start);
    EXPECT_NEAR(Energy(made.mechanism, result.state), before, 1e-10 * std::abs(before));
    EXPECT_LT(result.energy_gain, 1e-12);
    EXPECT_GE(result.deepest, -1e-9);
  }
}

// Plastic balls go on together with 1 / n of the speed.
TEST(SimulateCradle, PlasticBallsGoOnTogether) {
  for (int n = 3; n <= 7; ++n) {
    SCOPED_TRACE(n);
    const StartedMechanism made = Hung(n, 0, 0);
    SimulateOptions options;
    options.duration = 0.6;
    options.stop_at_rest = false;
    options.sample_step = 1e-4;
    double highest = 0;
    SimulationObserver observer;
    observer.sample = [&](const MechanismState& state, const std::vector<PointMode>&,
                          const Eigen::VectorXd&) { highest = std::max(highest, state.q[n - 1]); };
    const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
    EXPECT_EQ(result.end, SimulationEnd::kDuration) << result.reason;
    EXPECT_NEAR(1 - std::cos(highest), (1 - std::cos(0.5)) / (n * n), 1e-6);
    EXPECT_LT(result.energy_gain, 1e-12);
    EXPECT_GE(result.deepest, -1e-9);
  }
}

}  // namespace
}  // namespace impactlab
