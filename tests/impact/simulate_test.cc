#include "impact/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/error.h"
#include "impact/mechanism_builders.h"

namespace impactlab {
namespace {

constexpr double kG = 9.81;

SimulateOptions For(double duration) {
  SimulateOptions options;
  options.duration = duration;
  return options;
}

// Document 002, A10: a ball with e = 0.9 dropped from 1 m bounces 146 times faster than 1e-6 m/s; the sum of the geometric series.
TEST(SimulateBall, RestsWhereTheSeriesOfItsBouncesEnds) {
  const BodyMechanism ball = MakeBouncingBall(0.9, 1, kG);
  SimulationObserver observer;
  std::vector<SimulationEvent> events;
  observer.event = [&](const SimulationEvent& event) { events.push_back(event); };
  const SimulationResult result = Simulate(ball.mechanism, ball.start, For(20), observer);
  EXPECT_EQ(result.end, SimulationEnd::kRest) << result.reason;
  EXPECT_EQ(result.impacts, 146);
  const double t_0 = std::sqrt(2 / kG);
  EXPECT_NEAR(result.last_accumulation, t_0 * 1.9 / 0.1, 1e-9);
  EXPECT_NEAR(result.state.t, 8.57895, 1e-5);
  EXPECT_GE(result.deepest, -1e-9);
  for (int k = 0; k < 100; ++k) {
    const double t = t_0 + 2 * t_0 * 0.9 * (1 - std::pow(0.9, k)) / 0.1;
    EXPECT_NEAR(events[k].t, t, 1e-12 * (1 + t) * (1 + k)) << k;
  }
}

// HOSTILE T46: nothing falls through once it rests.
TEST(SimulateBall, StaysOnTheFloorAfterChatter) {
  const BodyMechanism ball = MakeBouncingBall(0.7, 1, kG);
  SimulateOptions options = For(100);
  options.stop_at_rest = false;
  const SimulationResult result = Simulate(ball.mechanism, ball.start, options);
  EXPECT_EQ(result.end, SimulationEnd::kDuration);
  EXPECT_EQ(result.mode[0] == PointMode::kOpen, false);
  EXPECT_GE(result.deepest, -1e-9);
  EXPECT_LT(result.state.u.norm(), 1e-9);
  EXPECT_GT(result.last_accumulation, 0);
}

TEST(SimulateBall, KeepsBouncesOfAMillimetrePerSecond) {
  const BodyMechanism ball = MakeBouncingBall(0.9, 0.5e-6 / kG, kG);  // arrives with 1e-3 m/s
  SimulationObserver observer;
  std::vector<double> rebound;
  observer.event = [&](const SimulationEvent& event) {
    if (event.kind == SimulationEventKind::kImpact) rebound.push_back(event.v_plus[1]);
  };
  Simulate(ball.mechanism, ball.start, For(1), observer);
  ASSERT_GE(rebound.size(), 60u);
  for (size_t k = 0; k < 60; ++k) EXPECT_NEAR(rebound[k], 1e-3 * std::pow(0.9, k + 1), 1e-7 * rebound[k]);
}

TEST(SimulateBall, EndsOfTheRangeOfRestitution) {
  const BodyMechanism dead = MakeBouncingBall(0, 1, kG);
  const SimulationResult rests = Simulate(dead.mechanism, dead.start, For(5));
  EXPECT_EQ(rests.end, SimulationEnd::kRest);
  EXPECT_EQ(rests.impacts, 1);
  EXPECT_NEAR(rests.state.t, std::sqrt(2 / kG), 1e-14);

  const BodyMechanism elastic = MakeBouncingBall(1, 1, kG);
  const double period = 2 * std::sqrt(2 / kG);
  const SimulationResult bounces = Simulate(elastic.mechanism, elastic.start, For(1e5 * period));
  EXPECT_EQ(bounces.impacts, 100000);
  EXPECT_NEAR(Energy(elastic.mechanism, bounces.state) / Energy(elastic.mechanism, elastic.start), 1, 1e-9);
}

}  // namespace
}  // namespace impactlab
