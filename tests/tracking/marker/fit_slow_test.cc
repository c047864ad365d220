// A sentinel of marker_study: fewer sizes and pictures.

#include <gtest/gtest.h>

#include "tests/statistical/marker_cells.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using test::MarkerCell;
using test::MarkerEffect;
using test::MarkerTally;

std::string Describe(const MarkerCell& cell, const MarkerTally& t) {
  return "diameter " + std::to_string(cell.diameter) + " snr " + std::to_string(cell.snr) +
         " motion " + std::to_string(cell.motion) + (cell.circle ? " circle" : " ellipse") +
         " bias " + std::to_string(t.BiasAlong()) + " " + std::to_string(t.BiasAcross()) +
         " rms over bound " + std::to_string(t.OverBound()) + " nees " + std::to_string(t.Nees());
}

TEST(MarkerFitStatistics, BiasBoundCovarianceAndEvenness) {
  std::vector<MarkerCell> cells;
  for (double diameter : {4., 9., 30.})
    for (double snr : {5., 50.}) cells.push_back({diameter, snr, 0});
  for (double motion : {5., 15.})
    for (double snr : {5., 50.}) cells.push_back({6, snr, motion});
  cells.push_back({12, 20, 0, MarkerEffect::kNone, false});
  cells.push_back({12, 20, 15, MarkerEffect::kNone, false});
  cells.push_back({12, 20, 0, MarkerEffect::kGradient});
  cells.push_back({12, 50, 0, MarkerEffect::kTilt, false});
  const double alpha = PerTestLevel(0.001, 4 * static_cast<int>(cells.size()));
  const double z = NormalQuantile(1 - alpha / 2);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const MarkerCell& cell = cells[k];
    const MarkerTally t = test::RunMarkerCell(cell, 400, 9000 + k, 2);
    EXPECT_EQ(t.failed, 0);
    EXPECT_LT(std::abs(t.BiasAlong()), (cell.motion > 0 ? 0.05 : 0.02) + z * t.SdOfBiasAlong())
        << Describe(cell, t);
    EXPECT_LT(std::abs(t.BiasAcross()), 0.02 + z * t.SdOfBiasAcross()) << Describe(cell, t);
    EXPECT_LT(t.OverBound(), 1.3) << Describe(cell, t);
    EXPECT_GT(t.OverBound(), 0.9) << Describe(cell, t);  // nothing beats the bound
    const Interval band = ChiSquareBand(2 * t.found(), alpha);
    EXPECT_GT(t.sum_nees, band.lower) << Describe(cell, t);
    EXPECT_LT(t.sum_nees, band.upper) << Describe(cell, t);
    EXPECT_LT(t.BinChiSquare(), ChiSquareQuantile(1 - alpha, MarkerTally::kBins - 1))
        << Describe(cell, t);
  }
}

TEST(MarkerFitStatistics, WhatIsNotModelledStaysWithinLimits) {
  // Limits above what marker_study records.
  struct Limit {
    MarkerCell cell;
    double bias, nees;
  };
  for (const Limit& limit : {Limit{{12, 50, 0, MarkerEffect::kBlur}, 0.01, 3.},
                             Limit{{12, 50, 0, MarkerEffect::kDefocus}, 0.01, 3.},
                             Limit{{12, 50, 0, MarkerEffect::kClutter}, 0.01, 3.},
                             Limit{{20, 50, 0, MarkerEffect::kShade}, 0.02, 5.},
                             Limit{{20, 50, 0, MarkerEffect::kTilt}, 0.01, 3.},
                             Limit{{20, 50, 0, MarkerEffect::kCovered}, 0.2, 5.},
                             Limit{{30, 10, 0, MarkerEffect::kCovered}, 0.2, 5.},
                             Limit{{30, 50, 0, MarkerEffect::kCovered}, 0.02, 5.}}) {
    const MarkerTally t = test::RunMarkerCell(limit.cell, 100, 9500, 2);
    EXPECT_EQ(t.failed, 0);
    EXPECT_LT(std::hypot(t.BiasAlong(), t.BiasAcross()), limit.bias) << Describe(limit.cell, t);
    EXPECT_LT(t.Nees(), limit.nees) << Describe(limit.cell, t);
    if (limit.cell.effect == MarkerEffect::kCovered)
      EXPECT_GT(t.hidden, 95);
    else
      EXPECT_LT(t.hidden, 5) << Describe(limit.cell, t);
  }
}

TEST(MarkerFitStatistics, ABarBehindDoesNotPullAndHidesNothing) {
  int hidden = 0, n = 0;
  for (double diameter : {8., 12., 24.})
    for (double snr : {30., 100.}) {
      const MarkerCell cell{diameter, snr, 0, MarkerEffect::kBar, false};
      const MarkerTally t =
          test::RunMarkerCell(cell, 96, 9700 + static_cast<int>(diameter + snr), 8);
      EXPECT_EQ(t.failed, 0);
      EXPECT_EQ(t.rough, 0);
      hidden += t.hidden, n += t.n;
      EXPECT_LT(std::hypot(t.BiasAlong(), t.BiasAcross()), 0.01) << Describe(cell, t);
      // Of the bound that knows the background to be even.
      EXPECT_LT(t.OverBound(), 3) << Describe(cell, t);
      EXPECT_GT(t.Nees() / 2, 0.5) << Describe(cell, t);
      EXPECT_LT(t.Nees() / 2, 1.5) << Describe(cell, t);
    }
  EXPECT_LE(hidden, n / 100);
}

}  // namespace
}  // namespace impactlab
