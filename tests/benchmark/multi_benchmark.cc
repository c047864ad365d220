// Impacts at several contacts: the three-ball cradle and the five-point rod of Barjau et al. 2014,
// from system to outcome, reduction included.

#include <benchmark/benchmark.h>

#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "impact/multi/system_builders.h"

namespace impactlab {
namespace {

ImpactSystem ThreeBalls() {
  return MakeBallChain({1, 1, 1}, {1, 0, 0}, std::vector<ContactProperties>(2));
}

ImpactSystem FivePointRod() {
  ImpactSystem system;
  system.width = 1;
  system.M = Eigen::Vector3d(1, 1, 1.0 / 3).asDiagonal();
  system.rows.resize(5, 3);
  system.rows << 0, 1, -1, 0, 1, -0.5, 0, 1, 0, 0, 1, 1, 0, 1, 3;
  system.u_minus = Eigen::Vector3d(0, -0.1, 0);
  system.contacts.assign(5, {});
  return system;
}

void Springs(benchmark::State& state, const ImpactSystem& system) {
  for (auto _ : state) benchmark::DoNotOptimize(SolveSprings(system).v_plus);
}
void Sequence(benchmark::State& state, const ImpactSystem& system) {
  for (auto _ : state) benchmark::DoNotOptimize(SolveSequence(system).v_plus);
}
void Poisson(benchmark::State& state, const ImpactSystem& system) {
  for (auto _ : state)
    benchmark::DoNotOptimize(SolveSimultaneous(system, MultiLaw::kSimultaneousPoisson).v_plus);
}
void Global(benchmark::State& state, const ImpactSystem& system) {
  for (auto _ : state) benchmark::DoNotOptimize(SolveGlobal(system).v_plus);
}
void Reduce(benchmark::State& state, const ImpactSystem& system) {
  for (auto _ : state) benchmark::DoNotOptimize(ReduceToContacts(system).A);
}

BENCHMARK_CAPTURE(Reduce, three_balls, ThreeBalls());
BENCHMARK_CAPTURE(Springs, three_balls, ThreeBalls());
BENCHMARK_CAPTURE(Sequence, three_balls, ThreeBalls());
BENCHMARK_CAPTURE(Poisson, three_balls, ThreeBalls());
BENCHMARK_CAPTURE(Global, three_balls, ThreeBalls());
BENCHMARK_CAPTURE(Reduce, five_point_rod, FivePointRod());
BENCHMARK_CAPTURE(Springs, five_point_rod, FivePointRod());
BENCHMARK_CAPTURE(Sequence, five_point_rod, FivePointRod());
BENCHMARK_CAPTURE(Poisson, five_point_rod, FivePointRod());
BENCHMARK_CAPTURE(Global, five_point_rod, FivePointRod());

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
