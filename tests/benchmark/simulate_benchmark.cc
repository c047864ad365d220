// Speed of the simulator on one core: the rod of the Bristol thesis on its vibrating floor, an
// elastic ball, a cube in space to rest, and the derivative of a motion through impacts.

#include <benchmark/benchmark.h>

#ifdef IMPACTLAB_HAVE_ODE
#include <ode/ode.h>
#endif

#include <algorithm>
#include <cmath>

#include "impact/motion/mechanism_builders.h"
#include "impact/motion/orbit.h"
#include "impact/motion/simulate.h"

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
  state.counters["bounces/s"] = benchmark::Counter(1000.0 * static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate);
}
BENCHMARK(ElasticBall)->Unit(benchmark::kMillisecond);

// Peer: a ball with e = 0.9 dropped from 1 m, 3 s and five bounces later, against the closed form.
// Counter: error of its height [m].
constexpr double kBounceE = 0.9, kBounceEnd = 3;

double ExactHeight() {
  const double g = kStandardGravity;
  double t = std::sqrt(2 / g), v = kBounceE * std::sqrt(2 * g);
  while (t + 2 * v / g < kBounceEnd) t += 2 * v / g, v *= kBounceE;
  return v * (kBounceEnd - t) - 0.5 * g * (kBounceEnd - t) * (kBounceEnd - t);
}

void BallOfFiveBounces(benchmark::State& state) {
  const BodyMechanism ball = MakeBouncingBall(kBounceE, 1);
  SimulateOptions options;
  options.duration = kBounceEnd;
  double height = 0;
  for (auto _ : state) height = Simulate(ball.mechanism, ball.start, options).state.q[1] - 0.1;
  state.counters["error"] = std::abs(height - ExactHeight());
}
BENCHMARK(BallOfFiveBounces)->Unit(benchmark::kMicrosecond);

#ifdef IMPACTLAB_HAVE_ODE
// ODE steps on through impacts: its error falls with the step, 1 / range(0) s.
void OdeBallOfFiveBounces(benchmark::State& state) {
  dInitODE2(0);
  dAllocateODEDataForThread(dAllocateMaskAll);
  const dWorldID world = dWorldCreate();
  dWorldSetGravity(world, 0, 0, -kStandardGravity);
  dWorldSetERP(world, 0);
  dWorldSetCFM(world, 0);
  const dJointGroupID group = dJointGroupCreate(0);
  const dBodyID body = dBodyCreate(world);
  dMass mass;
  dMassSetSphereTotal(&mass, 1, 0.1);
  dBodySetMass(body, &mass);
  dContact contact = {};
  contact.surface.mode = dContactBounce;
  contact.surface.bounce = kBounceE;
  contact.geom.normal[2] = 1;
  const long steps = state.range(0) * static_cast<long>(kBounceEnd);
  for (auto _ : state) {
    dBodySetPosition(body, 0, 0, 1);
    dBodySetLinearVel(body, 0, 0, 0);
    dBodySetAngularVel(body, 0, 0, 0);
    for (long k = 0; k < steps; ++k) {
      if (dBodyGetPosition(body)[2] <= 0) {
        contact.geom.pos[2] = 0;
        dJointAttach(dJointCreateContact(world, group, &contact), body, nullptr);
      }
      dWorldStep(world, kBounceEnd / static_cast<double>(steps));
      dJointGroupEmpty(group);
    }
  }
  state.counters["error"] = std::abs(dBodyGetPosition(body)[2] - ExactHeight());
  dJointGroupDestroy(group);
  dWorldDestroy(world);
  dCloseODE();
}
BENCHMARK(OdeBallOfFiveBounces)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Arg(1000000)
    ->Unit(benchmark::kMicrosecond);
#endif

void CubeToRest(benchmark::State& state) {
  MovingBody body;
  body.start.body = MakeBox({0.1, 0.1, 0.1}, 0.37);
  body.start.X_WB.linear() =
      Eigen::Quaterniond(0.8, 0.3, 0.4, 0.33).normalized().toRotationMatrix();
  body.start.X_WB.translation().z() = 0.5;
  body.start.v_WB = {1, 0.3, 0};
  body.start.omega_WB = {3, -5, 2};
  ContactProperties p;
  p.e = 0.4;
  p.mu_k = p.mu_s = 0.3;
  const BodyMechanism cube =
      MakeBodyMechanism({body}, {}, {MovingPlane()}, EveryBodyOnEveryPlane(1, 1, p));
  for (auto _ : state) benchmark::DoNotOptimize(Simulate(cube.mechanism, cube.start, {}));
}
BENCHMARK(CubeToRest)->Unit(benchmark::kMillisecond);

void DerivativeOfAMotion(benchmark::State& state) {
  RodOnFloor rod;
  rod.rates = {0.4, 0, 1.1};
  const BodyMechanism made = MakeRodOnFloor(rod);
  for (auto _ : state)
    benchmark::DoNotOptimize(DifferentiateMotion(made.mechanism, made.start, 1.6));
}
BENCHMARK(DerivativeOfAMotion)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
