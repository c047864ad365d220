#pragma once
// Monte Carlo of the spot finder on grids of discs at random sub-pixel places.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>
#include <vector>

#include "data/statistics/statistics.h"
#include "tests/support/discs.h"
#include "tests/support/per_test_level.h"
#include "tracking/spot/spot.h"

namespace impactlab::test {

inline std::vector<double> Draw(int width, int height, double background,
                                const std::vector<Disc>& discs) {
  std::vector<double> picture(static_cast<std::size_t>(width) * height, background);
  for (const Disc& disc : discs) AddDisc(disc, width, height, &picture);
  return picture;
}

struct Trials {
  double diameter = 10, snr = 20;  // of the disc at rest [px], (peak - background) / noise
  double motion = 0;               // [px], in random directions
  int frames = 1;
  std::uint64_t seed = 1;
};

struct TrialSummary {
  Trials trials;
  int n = 0, truth = 0, false_spots = 0, hidden = 0, touching = 0, faint = 0;
  Eigen::Vector2d bias = Eigen::Vector2d::Zero();
  double rms = 0, sd = 0;  // of one coordinate: measured, as predicted [px]
  double nees = 0;         // sum over all
  // chi-square of the histogram of the fractions of both coordinates, 10 bins each
  double sub_pixel = 0;
};

inline TrialSummary RunTrials(const Trials& trials) {
  constexpr int kWidth = 640, kHeight = 480;
  constexpr double kAmplitude = 60, kBackground = 60;
  const double noise = kAmplitude / trials.snr;
  std::mt19937_64 rng(trials.seed);
  std::uniform_real_distribution<double> unit(0, 1);
  TrialSummary s;
  s.trials = trials;
  SpotFinder finder;
  double histogram[2][10] = {};
  for (int frame = 0; frame < trials.frames; ++frame) {
    std::vector<Disc> discs;
    const int step = static_cast<int>(std::max(40.0, 1.5 * (trials.diameter + trials.motion) + 24));
    for (int y = step / 2; y + step / 2 < kHeight; y += step) {
      for (int x = step / 2; x + step / 2 < kWidth; x += step) {
        const double angle = 2 * M_PI * unit(rng);
        discs.push_back({{x + unit(rng), y + unit(rng)},
                         trials.diameter / 2,
                         kAmplitude,
                         0.7,
                         trials.motion * Eigen::Vector2d(std::cos(angle), std::sin(angle))});
      }
    }
    const auto& spots = finder.FindSpots(
        Expose(Draw(kWidth, kHeight, kBackground, discs), kWidth, kHeight, noise, rng));
    s.truth += static_cast<int>(discs.size());
    std::vector<bool> used(spots.size());
    for (const Disc& disc : discs) {
      int best = -1;
      double distance = 4 + trials.motion / 2;
      for (std::size_t i = 0; i < spots.size(); ++i) {
        if ((spots[i].q - disc.q).norm() > distance) continue;
        distance = (spots[i].q - disc.q).norm();
        best = static_cast<int>(i);
      }
      if (best < 0) continue;
      used[best] = true;
      const Spot& spot = spots[best];
      const Eigen::Vector2d e = spot.q - disc.q;
      ++s.n;
      s.bias += e;
      s.rms += e.squaredNorm() / 2;
      s.sd += spot.cov.trace() / 2;
      s.nees += e.dot(spot.cov.inverse() * e);
      s.hidden += (spot.flags & kHidden) != 0;
      s.touching += (spot.flags & kTouching) != 0;
      s.faint += (spot.flags & kFaint) != 0;
      for (int k = 0; k < 2; ++k)
        ++histogram[k][std::min(9, static_cast<int>(10 * (spot.q[k] - std::floor(spot.q[k]))))];
    }
    for (const bool u : used) s.false_spots += !u;
  }
  s.bias /= std::max(1, s.n);
  s.rms = std::sqrt(s.rms / std::max(1, s.n));
  s.sd = std::sqrt(s.sd / std::max(1, s.n));
  for (const auto& row : histogram) {
    for (const double h : row) s.sub_pixel += std::pow(h - s.n / 10.0, 2) / (s.n / 10.0);
  }
  return s;
}

// Bias below 0.05 px beyond its own sampling error, NEES in its band, sub-pixel places uniform;
// `tests` share a level of 0.001.
inline void ExpectConsistent(const TrialSummary& s, int tests) {
  SCOPED_TRACE(::testing::Message() << "diameter " << s.trials.diameter << " snr " << s.trials.snr
                                    << " motion " << s.trials.motion << " n " << s.n);
  const double alpha = PerTestLevel(0.001, tests);
  const double sampling =
      NormalQuantile(1 - alpha / 2) * s.rms / std::sqrt(static_cast<double>(s.n));
  EXPECT_LT(s.bias.cwiseAbs().maxCoeff(), 0.05);
  EXPECT_LT(s.bias.cwiseAbs().maxCoeff(), 0.005 + sampling);
  const Interval band = ChiSquareBand(2.0 * s.n, alpha);
  EXPECT_GT(s.nees, band.lower);
  EXPECT_LT(s.nees, band.upper);
  EXPECT_LT(s.sub_pixel, ChiSquareQuantile(1 - alpha, 18));
}

}  // namespace impactlab::test
