// Speed of the simulator on one core: the rod of document 002 on its vibrating floor, an elastic ball, a cube in space to rest, and the
// derivative of a motion through impacts.

#include <benchmark/benchmark.h>

#include <cmath>

#include "impact/mechanism_builders.h"
#include "impact/orbit.h"
#include "impact/simulate.h"

namespace impactlab {
namespace {

void VibratingRod(benchmark::State& state) {
  const BodyMechanism rod = MakeRodOnFloor({});
  SimulateOptions options;
  options.duration = 60;
  long impacts = 0, steps = 0;
  for (auto _ : state) {
    const SimulationResult result = Simulate(rod.mechanism, rod.start, options);
    impacts = result.impacts;
    steps = result.steps;
  }
  state.counters["impacts"] = static_cast<double>(impacts);
  state.counters["steps"] = static_cast<double>(steps);
}
BENCHMARK(VibratingRod)->Unit(benchmark::kMillisecond);

void ElasticBall(benchmark::State& state) {
  const BodyMechanism ball = MakeBouncingBall(1, 1);
  SimulateOptions options;
  options.duration = 1000 * 2 * std::sqrt(2 / kStandardGravity);
  for (auto _ : state) benchmark::DoNotOptimize(Simulate(ball.mechanism, ball.start, options));
  state.counters["bounces/s"] = benchmark::Counter(1000.0 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(ElasticBall)->Unit(benchmark::kMillisecond);

void CubeToRest(benchmark::State& state) {
  MovingBody body;
  body.start.body = MakeBox({0.1, 0.1, 0.1}, 0.37);
  body.start.X_WB.linear() = Eigen::Quaterniond(0.8, 0.3, 0.4, 0.33).normalized().toRotationMatrix();
  body.start.X_WB.translation().z() = 0.5;
  body.start.v_WB = {1, 0.3, 0};
  body.start.omega_WB = {3, -5, 2};
  ContactProperties p;
  p.e = 0.4;
  p.mu_k = p.mu_s = 0.3;
  const BodyMechanism cube = MakeBodyMechanism({body}, {}, {MovingPlane()}, EveryBodyOnEveryPlane(1, 1, p));
  for (auto _ : state) benchmark::DoNotOptimize(Simulate(cube.mechanism, cube.start, {}));
}
BENCHMARK(CubeToRest)->Unit(benchmark::kMillisecond);

void DerivativeOfAMotion(benchmark::State& state) {
  RodOnFloor rod;
  rod.rates = {0.4, 0, 1.1};
  const BodyMechanism made = MakeRodOnFloor(rod);
  for (auto _ : state) benchmark::DoNotOptimize(DifferentiateMotion(made.mechanism, made.start, 1.6));
}
BENCHMARK(DerivativeOfAMotion)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
