// Cost of the bundle fit: one drop of 60 frames, three markers and two cameras, and a campaign of
// 100 drops on one and two threads.
//
//   OneDrop     FitImpactBundle of one impact: the start found from the images, clocks apart by up
//   to a frame or as stated, robust fit, covariance
//               with the shares of cameras and layout. Bodies in turn, so that no lucky drop sets
//               the figure
//   Classical   what a parabola costs on the same drop, poses included: the price of the bundle fit
//   beside it Campaign    FitBundles of 100 drops, the layout learned from all of them: what
//   `impactlab run` does between tracks and events
//
// Targets: one drop below 50 ms of one core; drops a second of two threads over those of one near 2
// on two idle cores.

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "pipelines/study/classical_comparison.h"
#include "tests/statistical/tracks_twin.h"

namespace impactlab {
namespace {

struct Recorded {
  std::vector<test::Drop> drops;
  std::vector<MarkerTracks> tracks;
  CameraRig rig;
  double rate = 120;
  long long images = 0;
};

// Drops in sight of both cameras for 30 frames on either side of the impact.
Recorded SixtyFrames(test::Thing thing, int count, bool clocks) {
  Recorded r;
  std::mt19937_64 random(20261128);
  std::uniform_real_distribution<double> uniform(-1, 1);
  r.rig = test::DropRig(2);
  test::CalibrateByBoards(&r.rig, 15, 0.1, random);
  r.rate = 240;
  const double half = 30 / r.rate;
  while (static_cast<int>(r.drops.size()) < count) {
    test::Drop drop = test::DrawDrop(thing, random, half + 0.01, Eigen::Vector3d::UnitZ(), half);
    drop.markers.resize(3);
    test::Filming filming;
    filming.rate = r.rate;
    if (clocks) filming.offset[1] = uniform(random) / filming.rate;
    drop.begin = -half, drop.end = half;
    MarkerTracks tracks = test::Film(drop, r.rig, filming, random);
    r.images += static_cast<long long>(tracks.points.size());
    r.drops.push_back(std::move(drop));
    r.tracks.push_back(std::move(tracks));
  }
  return r;
}

constexpr int kDrops = 12;

void OneDrop(benchmark::State& state, test::Thing thing, bool clocks) {
  const Recorded r = SixtyFrames(thing, kDrops, clocks);
  ImpactBundleOptions options;
  if (clocks) options.offset_sd = 1 / r.rate;
  options.layout.cov = 1e-8 * Eigen::MatrixXd::Identity(9, 9);
  std::size_t i = 0;
  long long iterations = 0, accepted = 0;
  for (auto _ : state) {
    const test::Drop& drop = r.drops[i % r.drops.size()];
    const ImpactBundle fit = FitImpactBundle(r.tracks[i % r.drops.size()], r.rig, drop.markers,
                                             drop.body, drop.floor(), options);
    iterations += fit.iterations;
    accepted += fit.usable;
    ++i;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(1, i));
  state.counters["images"] = static_cast<double>(r.images) / kDrops;
  state.counters["iterations"] = static_cast<double>(iterations) / n;
  state.counters["usable"] = static_cast<double>(accepted) / n;
}
BENCHMARK_CAPTURE(OneDrop, rod, test::Thing::kRod, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(OneDrop, rod_clocks, test::Thing::kRod, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(OneDrop, box, test::Thing::kBox, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(OneDrop, box_clocks, test::Thing::kBox, true)->Unit(benchmark::kMillisecond);

void Classical(benchmark::State& state, test::Thing thing) {
  const Recorded r = SixtyFrames(thing, kDrops, false);
  ClassicalOptions options;
  options.estimator = ClassicalEstimator::kLocalQuadratic;
  std::size_t i = 0;
  for (auto _ : state) {
    const test::Drop& drop = r.drops[i % r.drops.size()];
    TrackPosesOptions how;
    how.impacts = {drop.t};
    const MarkerTracks& tracks = r.tracks[i % r.drops.size()];
    const TrackPoses poses = PosesFromTracks(tracks, r.rig, drop.markers, how);
    benchmark::DoNotOptimize(EstimateClassical(Measured(poses, tracks, r.rig), drop.t, options));
    ++i;
  }
}
BENCHMARK_CAPTURE(Classical, rod, test::Thing::kRod)->Unit(benchmark::kMillisecond);

void Campaign(benchmark::State& state) {
  constexpr int kMany = 100;
  static const twin::TracksExperiment experiment =
      twin::MakeTracksExperiment(test::Thing::kRod, kMany, 20 * M_PI / 180, 7);
  std::mt19937_64 random(8);
  const twin::TracksRepeat recorded = twin::Record(experiment, {}, random);
  const RunContext silent = {.threads = static_cast<int>(state.range(0)), .quiet = true};
  int rounds = 0;
  for (auto _ : state) {
    const BundleFits fit =
        FitBundles(recorded.experiment, recorded.markers, experiment.floor, "", silent);
    rounds = fit.rounds;
  }
  state.counters["drops_per_s"] =
      benchmark::Counter(kMany, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["passes"] = rounds;
}
BENCHMARK(Campaign)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
