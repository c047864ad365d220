// Monte Carlo at the level of tracks: do the intervals of the bundle fit cover, and does it reach
// the accuracy asked for?

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "data/statistics/statistics.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/reconstruction/drop_scene.h"
#include "tests/support/per_test_level.h"

namespace impactlab::test {
namespace {

constexpr double kFamily = 1e-3;  // chance of any false alarm

struct Trial {
  Thing thing = Thing::kBox;
  int repeats = 1000;
  double layout_sd = 0, row_time_sd = 0, wild = 0;
  std::uint64_t seed = 0;
};

// One experiment repeated: noise, calibration, layout, offset and row times drawn anew each time.
void ExpectCoverage(const Trial& trial) {
  std::mt19937_64 random(trial.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  CameraRig truth = DropRig(2);
  CalibrateByBoards(&truth, 15, 0.1, random);
  Drop drop = DrawDrop(trial.thing, random);
  while (drop.end < 0.1) drop = DrawDrop(trial.thing, random);
  const Path path(drop);
  Filming filming;
  filming.rate = 120;
  filming.wild = trial.wild;
  ImpactBundleOptions options;
  options.offset_sd = 1 / filming.rate;
  options.layout_sd = trial.layout_sd;
  options.row_time_sd = trial.row_time_sd;
  const std::vector<int> states = ToldStates(trial.thing);
  std::map<std::string, int> hits;
  const double k = NormalQuantile(0.975);
  const auto score = [&](const std::string& name, double error, double sd) {
    hits[name] += std::abs(error) <= k * sd;
  };
  double joint = 0;
  int n = 0;
  for (int repeat = 0; repeat < trial.repeats; ++repeat) {
    filming.offset[1] = uniform(random) / filming.rate;
    for (int c = 0; c < 2; ++c)
      filming.more_line[c] = trial.row_time_sd > 0 ? 1e-5 + trial.row_time_sd * normal(random) : 0;
    const CameraRig rig = Miscalibrated(truth, random);
    std::vector<BodyMarker> layout = drop.markers;
    for (BodyMarker& marker : layout) marker.p_BM += trial.layout_sd * Normal3(random);
    MarkerTracks tracks = Film(drop, path, truth, filming, random);
    // The nominal row time is known to the tracks.
    const double nominal = trial.row_time_sd > 0 ? 1e-5 : 0;
    for (TrackPoint& point : tracks.points) point.t += nominal * point.q.y();
    const ImpactBundle fit = FitImpactBundle(tracks, rig, layout, drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << repeat << ": " << fit.reason;
    ASSERT_TRUE(fit.cov.allFinite());
    const Eigen::VectorXd error = StateError(fit, drop);
    Eigen::VectorXd e(states.size());
    Eigen::MatrixXd cov(states.size(), states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      e[i] = error[states[i]];
      for (std::size_t j = 0; j < states.size(); ++j) cov(i, j) = fit.cov(states[i], states[j]);
      score(fmt::format("state {}", states[i]), e[i], std::sqrt(cov(i, i)));
    }
    const Eigen::VectorXd sd = cov.diagonal().cwiseSqrt(), z = e.cwiseQuotient(sd);
    const double square = z.dot(
        (sd.cwiseInverse().asDiagonal() * cov * sd.cwiseInverse().asDiagonal()).ldlt().solve(z));
    EXPECT_LT(square, 20 * static_cast<double>(states.size()))
        << "repeat " << repeat << ": another optimum, offset " << fit.offset[1] << " for "
        << filming.offset[1] << " s, noise scale " << fit.noise_scale << ", errors "
        << e.transpose();
    joint += square;
    score("offset", fit.offset[1] - filming.offset[1], fit.sd_offset[1]);
    for (int c = 0; trial.row_time_sd > 0 && c < 2; ++c)
      score(fmt::format("row time {}", c), fit.row_time[c] - (filming.more_line[c] - nominal),
            fit.sd_row_time[c]);
    for (std::size_t m = 0; trial.layout_sd > 0 && m < layout.size(); ++m) {
      for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<Eigen::Index>(3 * m) + i;
        score(fmt::format("marker {} {}", m, i), fit.layout[m][i] - drop.markers[m].p_BM[i],
              std::sqrt(fit.cov_layout(at, at)));
      }
    }
    ++n;
  }
  const double level = PerTestLevel(kFamily, static_cast<int>(hits.size()) + 1);
  const CountBand band = BinomialBand(n, 0.95, level);
  for (const auto& [name, count] : hits) {
    EXPECT_TRUE(band.Contains(count)) << name << ": " << count << " of " << n << ", allowed "
                                      << band.lower << " to " << band.upper;
  }
  const double dof = static_cast<double>(states.size()) * n;
  const Interval chi = ChiSquareBand(dof, level);
  EXPECT_TRUE(chi.lower < joint && joint < chi.upper)
      << "joint chi-square a degree of freedom " << joint / dof;
  fmt::print("{} quantities, joint chi-square a degree of freedom {:.4f}\n", hits.size(),
             joint / dof);
}

TEST(DropFitCoverage, Box) { ExpectCoverage({Thing::kBox, 1000, 3e-4, 1e-6, 0, 41}); }
TEST(DropFitCoverage, Rod) { ExpectCoverage({Thing::kRod, 1000, 0, 1e-6, 0, 42}); }

// Root mean squares of errors, each a share of what is allowed.
struct Accuracy {
  double position = 0, speed = 0, spin = 0, time = 0, offset = 0;
  int n = 0, accepted = 0;
};

TEST(DropFitAccuracy, OfTheRigOfTheExperiment) {
  // 1280 x 720, f about 1060 px, 120 frames a second, 0.9 m away, 0.34 m apart, 15 pairs of boards,
  // 0.05 px; clocks apart by up to a frame.
  std::mt19937_64 random(51);
  std::uniform_real_distribution<double> uniform(-1, 1);
  CameraRig truth = DropRig(2);
  CalibrateByBoards(&truth, 15, 0.1, random);
  fmt::print(
      "root mean square errors\nbody   slope   position   speed    transverse spin   time    "
      "offset  (shares of what is allowed)  "
      "accepted\n");
  for (const auto& [thing, name] : {std::pair(Thing::kRod, "rod")}) {
    for (const double slope : {0.0, 20.0, 45.0, 70.0}) {
      const Vector3d n(std::sin(slope * M_PI / 180), 0, std::cos(slope * M_PI / 180));
      Accuracy sum;
      double mm = 0, mm_s = 0, rad_s = 0, frames = 0, offset_frames = 0;
      for (int k = 0; k < 25; ++k) {
        Drop drop = DrawDrop(thing, random, 0.22, n);
        while (drop.end < 0.1) drop = DrawDrop(thing, random, 0.22, n);
        Filming filming;
        filming.rate = 120;
        filming.offset[1] = uniform(random) / filming.rate;
        ImpactBundleOptions options;
        options.offset_sd = 1 / filming.rate;
        const CameraRig rig = Miscalibrated(truth, random);
        const ImpactBundle fit = FitImpactBundle(Film(drop, truth, filming, random), rig,
                                                 drop.markers, drop.body, drop.floor(), options);
        ASSERT_TRUE(fit.usable) << fit.reason;
        EXPECT_TRUE(fit.event.X_WB.matrix().allFinite() && fit.event.cov.allFinite());
        const auto add = [](double* total, double x) { *total += x * x; };
        const double position = (fit.event.X_WB.translation() - drop.minus.p).norm();
        add(&sum.position, position / 2e-4);
        add(&mm, 1e3 * position);
        for (const bool after : {false, true}) {
          const Flying& f = after ? drop.plus : drop.minus;
          const double speed = (after ? fit.event.v_plus : fit.event.v_minus).norm() - f.v.norm();
          add(&sum.speed, speed / std::max(5e-3 * f.v.norm(), 3e-3) / std::sqrt(2));
          add(&mm_s, 1e3 * speed / std::sqrt(2));
          Vector3d spin = (after ? fit.event.omega_plus : fit.event.omega_minus) - f.omega,
                   whole = f.omega;
          if (thing == Thing::kRod) {
            const Vector3d axis = f.R.col(2);
            spin -= axis * axis.dot(spin);
            whole -= axis * axis.dot(whole);
            EXPECT_FALSE(fit.observable);
          }
          add(&sum.spin, spin.norm() / std::max(0.01 * whole.norm(), 0.05) / std::sqrt(2));
          add(&rad_s, spin.norm() / std::sqrt(2));
        }
        const double late = (fit.event.t - drop.t) * filming.rate,
                     apart = (fit.offset[1] - filming.offset[1]) * filming.rate;
        add(&sum.time, late / 0.1);
        add(&frames, late);
        add(&sum.offset, apart / 0.05);
        add(&offset_frames, apart);
        sum.accepted += fit.event.accepted;
        ++sum.n;
      }
      const auto rms = [&](double total) { return std::sqrt(total / sum.n); };
      fmt::print(
          "{:<5} {:4.0f} deg  {:.3f} mm  {:.2f} mm/s  {:.4f} rad/s  {:.4f} frames  {:.4f} frames  "
          "({:.2f} {:.2f} {:.2f} {:.2f} {:.2f})  {} "
          "of {}\n",
          name, slope, rms(mm), rms(mm_s), rms(rad_s), rms(frames), rms(offset_frames),
          rms(sum.position), rms(sum.speed), rms(sum.spin), rms(sum.time), rms(sum.offset),
          sum.accepted, sum.n);
      for (const double share : {sum.position, sum.speed, sum.spin, sum.time, sum.offset})
        EXPECT_LT(rms(share), 1);
    }
  }
}

}  // namespace
}  // namespace impactlab::test
