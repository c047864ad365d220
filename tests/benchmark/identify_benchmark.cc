// Speed of identification on one core: both coefficients, groups pooled partially, refits of the
// bootstrap.

#include <benchmark/benchmark.h>

#include "impact/identify/coefficient_interval.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

std::vector<EventGroup> Groups(bool planar, int n_groups, int events) {
  std::mt19937_64 random(1);
  const Body body = planar ? twin::Square() : MakeBox({0.1, 0.08, 0.06}, 0.5);
  std::vector<EventGroup> groups;
  for (int g = 0; g < n_groups; ++g) {
    twin::Options options{.n = events, .sd_t = 0.02, .sd_n = 0.02, .sd_c = 0.02};
    options.mu += 0.04 * twin::Normal(random);
    options.e += 0.05 * twin::Normal(random);
    groups.push_back({std::to_string(g), body, twin::Experiment(body, options, random)});
  }
  return groups;
}

void TwoCoefficients(benchmark::State& state) {
  const std::vector<EventGroup> one =
      Groups(state.range(0) != 0, 1, static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(Identify(one[0].events, one[0].body, {}));
}
BENCHMARK(TwoCoefficients)
    ->ArgNames({"planar", "events"})
    ->Args({1, 60})
    ->Args({0, 12})
    ->Unit(benchmark::kMillisecond);

// 50 groups of 20 events: 2 s asked.
void PartialPooling(benchmark::State& state) {
  const std::vector<EventGroup> groups = Groups(state.range(0) != 0, 50, 20);
  const CoefficientModel model = ParseModel("groups");
  for (auto _ : state)
    benchmark::DoNotOptimize(FitCoefficients(groups, RestitutionLaw::kEnergetic, model));
}
BENCHMARK(PartialPooling)
    ->ArgName("planar")
    ->Arg(1)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(2);

// 2000 resamples of 300 events on all cores: 20 s asked on two.
void Bootstrap(benchmark::State& state) {
  const std::vector<EventGroup> one = Groups(true, 1, 300);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        CompareIntervals(one, RestitutionLaw::kEnergetic, {},
                         {.bootstrap = 2000, .monte_carlo = 0, .profile = false}));
  }
}
BENCHMARK(Bootstrap)->Unit(benchmark::kSecond)->Iterations(1)->UseRealTime();

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
