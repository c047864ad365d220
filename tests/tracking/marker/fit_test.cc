#include "tracking/marker/fit.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <limits>

#include "data/statistics/statistics.h"
#include "tests/support/marker_bound.h"
#include "tests/support/marker_render.h"
#include "tracking/marker/detail/solve.h"

namespace impactlab {
namespace {

using test::FineMarker;
using test::RenderedMarker;

constexpr int kSide = 48;

struct Scene {
  RenderedMarker marker;
  double amplitude = 120, background = 60;
  PixelNoise noise = {2, 0};
  GrayImage image;
  Spot spot;
  MarkerFitOptions options;
};

// The cover of the last marker is kept: many tests expose the same one again and again.
std::vector<double> CoverOf(const RenderedMarker& marker) {
  static std::optional<RenderedMarker> last;
  static std::vector<double> cover;
  const auto same = [&](const RenderedMarker& m) {
    return m.q == marker.q && m.major == marker.major && m.minor == marker.minor &&
           m.angle == marker.angle && m.shape == marker.shape && m.blur == marker.blur &&
           m.motion == marker.motion && !m.shade && !marker.shade;
  };
  if (!last || !same(*last)) cover = FineMarker(marker, kSide, kSide, 10).Cover();
  last = marker;
  return cover;
}

// Draws the marker, lets `change` work on the intensities, and exposes.
Scene Draw(const RenderedMarker& marker, std::uint64_t seed, double amplitude = 120,
           double background = 60, double sd = 2,
           const std::function<void(std::vector<double>*)>& change = {}) {
  Scene scene;
  scene.marker = marker;
  scene.amplitude = amplitude;
  scene.background = background;
  scene.noise.read = sd;
  std::mt19937_64 rng(seed);
  std::vector<double> intensity = CoverOf(marker);
  scene.spot = test::SpotOf(intensity, kSide, amplitude, background, 0.5, &rng);
  for (double& value : intensity) value = background + amplitude * value;
  if (change) change(&intensity);
  scene.image = test::Expose(intensity, kSide, scene.noise, &rng);
  scene.options.noise = scene.noise;
  scene.options.blur = marker.blur;
  scene.options.motion = marker.motion;
  scene.options.shape = marker.shape;
  return scene;
}

RenderedMarker Disc(double radius = 6, const Eigen::Vector2d& q = {23.37, 22.81}) {
  RenderedMarker marker;
  marker.q = q;
  marker.major = marker.minor = radius;
  return marker;
}

double Nees(const MarkerFit& fit, const Eigen::Vector2d& q) {
  return (fit.q - q).dot(fit.cov.inverse() * (fit.q - q));
}

TEST(MarkerFit, FindsWhatWasDrawn) {
  RenderedMarker ellipse = Disc(8);
  ellipse.minor = 5, ellipse.angle = -0.6;
  RenderedMarker moving = Disc(4);
  moving.motion = {9, 5};
  for (const RenderedMarker& marker : {Disc(2), Disc(6), Disc(15), ellipse, moving}) {
    const Scene scene = Draw(marker, 1, 120, 60, 0.01);
    MarkerFitOptions options = scene.options;
    options.noise.read = 0;
    const auto fit = FitMarker(scene.image, scene.spot, options);
    ASSERT_TRUE(fit);
    EXPECT_LT((fit->q - marker.q).norm(), 0.005) << marker.major;
    EXPECT_NEAR(fit->major, marker.major, 0.03);
    EXPECT_NEAR(fit->minor, marker.minor, 0.03);
    EXPECT_NEAR(fit->amplitude, 120, 3);
    EXPECT_NEAR(fit->background, 60, 0.5);
    EXPECT_LT(fit->chi_square, 1.3 * fit->dof);
    EXPECT_EQ(fit->flags & ~static_cast<std::uint32_t>(kBlurred), 0u);
    EXPECT_EQ((fit->flags & kBlurred) != 0, marker.motion.norm() > 1);
  }
  const Scene scene = Draw(ellipse, 2);
  EXPECT_NEAR(FitMarker(scene.image, scene.spot, scene.options)->angle, -0.6, 0.03);
}

TEST(MarkerFit, DarkMarkersToo) {
  const Scene scene = Draw(Disc(5), 3, -110, 170);
  const auto fit = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->amplitude, -110, 2);
  EXPECT_LT(Nees(*fit, scene.marker.q), 13.8);  // 0.999
}

TEST(MarkerFit, StepsOfTheSolverAreDerivatives) {
  // The gradient against differences of chi-square, with everything free that can be.
  const Scene scene = Draw(Disc(5), 4);
  tracking::MarkerPatch patch;
  patch.window = {12, 12, 34, 33};
  patch.width = 23, patch.height = 22;
  patch.origin = {23, 22.5};
  for (int y = 12; y <= 33; ++y)
    for (int x = 12; x <= 34; ++x) patch.values.push_back(scene.image.At(x, y));
  patch.used.assign(patch.values.size(), 1);
  tracking::MarkerProblem problem;
  problem.by_blur = problem.shaded = true;
  problem.motion = {1.5, -0.8};
  problem.noise = scene.noise;
  tracking::MarkerVector p;
  p << 23.6, 22.5, 112, 57, 0.4, -0.2, 5.3, 4.7, 0.2, 0.8, 0.02, -0.03;
  for (bool circle : {false, true}) {
    problem.circle = circle;
    tracking::MarkerSolver solver;
    const tracking::MarkerVector gradient = solver.EvaluateAt(patch, problem, p).gradient;
    for (int k = 0; k < tracking::kMarkerUnknowns; ++k) {
      if (!problem.Free(k)) continue;
      tracking::MarkerVector plus = p, minus = p;
      const double h = k < tracking::kForm0 ? 1e-3 : k >= tracking::kShadeX ? 1e-5 : 0.01;
      plus[k] += h, minus[k] -= h;
      const double difference = (solver.EvaluateAt(patch, problem, plus).chi_square -
                                 solver.EvaluateAt(patch, problem, minus).chi_square) /
                                (2 * h);
      EXPECT_NEAR(-2 * gradient[k], difference, 0.005 * std::abs(difference) + 0.5)
          << k << " circle " << circle;
    }
  }
}

TEST(MarkerFit, SaturationCostsInformationAndDoesNotPull) {
  // Three times as bright as the sensor can tell, off the middle of the pixels.
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  const int n = 20;
  for (int k = 0; k < n; ++k) {
    const Scene scene = Draw(Disc(5, {23.3, 22.7}), 100 + k, 700, 40, 2);
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_TRUE(fit->flags & kSaturated);
    EXPECT_LT(Nees(*fit, scene.marker.q), 16);
    sum += fit->q - scene.marker.q;
  }
  EXPECT_LT((sum / n).norm(), 0.01);
}

TEST(MarkerFit, NoiseCutOffAtBlackDoesNotPull) {
  // Background at zero: half of its noise is clipped. A marker off the middle must not be drawn to
  // either side, and the light stays right.
  double light = 0;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  const int n = 30;
  for (int k = 0; k < n; ++k) {
    const Scene scene = Draw(Disc(4, {23.3, 22.7}), 200 + k, 60, 0, 6);
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_FALSE(fit->flags & kSaturated);
    sum += fit->q - scene.marker.q;
    light += fit->amplitude * std::numbers::pi * fit->major * fit->minor / n;
  }
  EXPECT_LT((sum / n).norm(), 0.03);
  EXPECT_NEAR(light / (60 * std::numbers::pi * 16), 1, 0.03);
}

TEST(MarkerFit, NoiseThatGrowsWithTheLightIsWeighted) {
  double nees = 0;
  const int n = 150;
  for (int k = 0; k < n; ++k) {
    Scene scene = Draw(Disc(5), 1, 150, 20, 1);
    std::vector<double> intensity = CoverOf(scene.marker);
    for (double& value : intensity) value = 20 + 150 * value;
    std::mt19937_64 rng(2000 + k);
    scene.options.noise = {1, 0.6};
    scene.image = test::Expose(intensity, kSide, scene.options.noise, &rng);
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_LT(fit->chi_square, 1.4 * fit->dof);
    nees += Nees(*fit, scene.marker.q);
  }
  const Interval band = ChiSquareBand(2 * n, 0.001);
  EXPECT_GT(nees, band.lower);
  EXPECT_LT(nees, band.upper);
}

TEST(MarkerFit, CutAtTheBorder) {
  // The centre 2 px inside of the picture: two thirds of the disc are seen.
  for (int k = 0; k < 8; ++k) {
    RenderedMarker marker = Disc(6, {2.3, 20.4 + 0.1 * k});
    const Scene scene = Draw(marker, 300 + k);
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_TRUE(fit->flags & kCut);
    EXPECT_LT((fit->q - marker.q).norm(), 0.15);
    EXPECT_LT(Nees(*fit, marker.q), 16);
    EXPECT_GT(fit->cov(0, 0), 1.5 * fit->cov(1, 1));  // less is known across the border
  }
}

// Covers everything beyond a line at this distance from the centre, in this direction, with its own
// grey level.
std::function<void(std::vector<double>*)> Cover(const Eigen::Vector2d& q, double direction,
                                                double distance, double level) {
  return [=](std::vector<double>* intensity) {
    const Eigen::Vector2d n(std::cos(direction), std::sin(direction));
    for (int i = 0; i < kSide * kSide; ++i) {
      const double d = n.dot(Eigen::Vector2d(i % kSide, i / kSide) - q) - distance;
      const double part = 0.5 * std::erfc(-d / 0.7 / std::numbers::sqrt2);
      (*intensity)[i] = (*intensity)[i] * (1 - part) + level * part;
    }
  };
}

TEST(MarkerFit, APartThatIsCoveredIsFoundAndLeftOut) {
  int flagged = 0, n = 0;
  for (double level : {20., 60., 110.})
    for (int k = 0; k < 6; ++k) {
      const RenderedMarker marker = Disc(9);
      Scene scene = Draw(marker, 400 + k, 120, 60, 2, Cover(marker.q, k, 3, level));
      // A detector sees the uncovered part only.
      scene.spot.q -= 1.5 * Eigen::Vector2d(std::cos(k), std::sin(k));
      const auto fit = FitMarker(scene.image, scene.spot, scene.options);
      ASSERT_TRUE(fit);
      flagged += (fit->flags & kHidden) != 0;
      ++n;
      EXPECT_LT((fit->q - marker.q).norm(), 0.25) << level << " " << k;
      EXPECT_LT(Nees(*fit, marker.q), 20) << level << " " << k;
    }
  EXPECT_EQ(flagged, n);
}

TEST(MarkerFit, ANeighbourIsLeftOut) {
  for (int k = 0; k < 6; ++k) {
    const RenderedMarker marker = Disc(5, {20.2, 22.6});
    RenderedMarker other = Disc(5, {33.4, 23.5});
    const std::vector<double> light = FineMarker(other, kSide, kSide, 8).Cover();
    const Scene scene = Draw(marker, 500 + k, 120, 60, 2, [&](std::vector<double>* intensity) {
      for (std::size_t i = 0; i < light.size(); ++i) (*intensity)[i] += 120 * light[i];
    });
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_LT(Nees(*fit, marker.q), 16);
    EXPECT_LT((fit->q - marker.q).norm(), 0.06);
    EXPECT_FALSE(fit->flags & (kHidden | kRough));
    // A window drawn between the two does the same.
    MarkerFitOptions options = scene.options;
    options.limit = Window{0, 0, 26, kSide - 1};
    const auto limited = FitMarker(scene.image, scene.spot, options);
    ASSERT_TRUE(limited);
    EXPECT_LT(Nees(*limited, marker.q), 16);
    EXPECT_LT(limited->dof, fit->dof);
  }
}

TEST(MarkerFit, ASlopeOfTheBackgroundDoesNotPull) {
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (int k = 0; k < 10; ++k) {
    const RenderedMarker marker = Disc(6);
    const Scene scene = Draw(marker, 600 + k, 100, 80, 2, [](std::vector<double>* intensity) {
      for (int i = 0; i < kSide * kSide; ++i) (*intensity)[i] += 1.5 * (i % kSide - 24);
    });
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->flags, 0u);
    EXPECT_NEAR(fit->background, 80 + 1.5 * (marker.q[0] - 24), 1.5);
    sum += (fit->q - marker.q) / 10;
  }
  EXPECT_LT(sum.norm(), 0.015);
}

// A stripe through the centre with the grey level `level`, `half` px to either side.
std::function<void(std::vector<double>*)> Stripe(const Eigen::Vector2d& q, double direction,
                                                 double half, double level) {
  return [=](std::vector<double>* intensity) {
    const std::vector<double> marker = CoverOf(Disc(6, q));
    const Eigen::Vector2d n(std::cos(direction), std::sin(direction));
    for (int i = 0; i < kSide * kSide; ++i) {
      // blur and pixel
      const double d = n.dot(Eigen::Vector2d(i % kSide, i / kSide) - q),
                   s = 0.76 * std::numbers::sqrt2;
      const double part = 0.5 * (std::erf((d + half) / s) - std::erf((d - half) / s));
      (*intensity)[i] += (1 - marker[i]) * part * (level - 60);
    }
  };
}

TEST(MarkerFit, ARodBehindItIsNoCoveredPart) {
  // Bright and dark rods, off the middle by half a pixel: nothing is hidden, nothing is pulled, and
  // the covariance knows.
  double nees = 0;
  int n = 0;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (double level : {25., 95.})
    for (int k = 0; k < 12; ++k, ++n) {
      const Eigen::Vector2d q(23.37, 22.81);
      const Scene scene =
          Draw(Disc(6, q), 650 + k, 120, 60, 2, Stripe(q, 0.26 * k, 3 + 0.15 * k, level));
      const auto fit = FitMarker(scene.image, scene.spot, scene.options);
      ASSERT_TRUE(fit);
      EXPECT_FALSE(fit->flags & (kHidden | kRough)) << level << " " << k;
      EXPECT_LT((fit->q - q).norm(), 0.08) << level << " " << k;
      nees += Nees(*fit, q);
      sum += fit->q - q;
    }
  EXPECT_LT(nees / n, 3.2);
  EXPECT_GT(nees / n, 0.9);
  EXPECT_LT((sum / n).norm(), 0.015);
}

TEST(MarkerFit, ACoveredPartBeforeARodIsFound) {
  int flagged = 0;
  for (int k = 0; k < 6; ++k) {
    const Eigen::Vector2d q(23.37, 22.81);
    const auto rod = Stripe(q, 0.9, 4, 90), cover = Cover(q, k, 1.5, 20);
    Scene scene = Draw(Disc(6, q), 660 + k, 120, 60, 2, [&](std::vector<double>* intensity) {
      rod(intensity);
      cover(intensity);
    });
    scene.spot.q -= Eigen::Vector2d(std::cos(k), std::sin(k));
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    flagged += !fit || (fit->flags & (kHidden | kRough)) != 0;
    if (fit) {
      EXPECT_LT((fit->q - q).norm(), 1.5) << k;
    }
  }
  EXPECT_GE(flagged, 5);
}

TEST(MarkerFit, AnUnevenlyLitMarkerIsDrawnUneven) {
  RenderedMarker marker = Disc(8);
  marker.shade = [](const Eigen::Vector2d& d) { return 1 + 0.02 * d[0] + 0.01 * d[1]; };
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (int k = 0; k < 6; ++k) {
    const Scene scene = Draw(marker, 700 + k);
    const auto fit = FitMarker(scene.image, scene.spot, scene.options);
    ASSERT_TRUE(fit);
    EXPECT_FALSE(fit->flags & (kHidden | kRough));
    sum += (fit->q - marker.q) / 6;
  }
  EXPECT_LT(sum.norm(), 0.03);  // 0.25 px without
}

TEST(MarkerFit, WhatIsNoDiscIsRoughAndKeepsTheCentroid) {
  // A ring: no part of its outline is hidden, and no ellipse fits.
  const std::vector<double> hole = FineMarker(Disc(5), kSide, kSide, 10).Cover();
  const Scene scene = Draw(Disc(9), 750, 120, 60, 2, [&](std::vector<double>* intensity) {
    for (std::size_t i = 0; i < hole.size(); ++i) (*intensity)[i] -= 120 * hole[i];
  });
  const auto fit = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->flags & kRough);
  EXPECT_FALSE(fit->flags & kHidden);
  EXPECT_EQ(fit->q, scene.spot.q);
  EXPECT_GT(fit->cov.trace(), scene.spot.cov.trace());
  EXPECT_LT(Nees(*fit, scene.marker.q), 13.8);
}

TEST(MarkerFit, HostileT32DiscBlurredUpTo30Px) {
  double nees = 0, along = 0;
  int n = 0;
  for (int length = 0; length <= 30; length += 3) {
    RenderedMarker marker = Disc(4);
    marker.motion = {static_cast<double>(length), 0};
    for (int k = 0; k < 4; ++k, ++n) {
      const Scene scene =
          Draw(marker, 760 + 10 * length + k, 120 * std::max(1., length / 8.), 60, 6);
      const auto fit = FitMarker(scene.image, scene.spot, scene.options);
      ASSERT_TRUE(fit) << length;
      EXPECT_FALSE(fit->flags & (kHidden | kRough | kCut)) << length;
      nees += Nees(*fit, marker.q);
      along += fit->q[0] - marker.q[0];
    }
  }
  const Interval band = ChiSquareBand(2 * n, 0.001);
  EXPECT_GT(nees, band.lower);
  EXPECT_LT(nees, band.upper);
  EXPECT_LT(std::abs(along / n), 0.05);  // the middle of the exposure
}

TEST(MarkerFit, FitsTheBlurWhereAsked) {
  RenderedMarker marker = Disc(6);
  marker.blur = 1.3;
  Scene scene = Draw(marker, 800);
  scene.options.blur = 0.8;
  scene.options.fit_blur = true;
  const auto fit = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->blur, 1.3, 0.05);
  EXPECT_NEAR(fit->major, 6, 0.1);
  EXPECT_LT(Nees(*fit, marker.q), 13.8);
}

TEST(MarkerFit, TakesACircleWhereTheFormIsNotKnown) {
  const Scene faint = Draw(Disc(1.3), 900, 30, 60, 4);
  const auto fit = FitMarker(faint.image, faint.spot, faint.options);
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->major, fit->minor);
  EXPECT_TRUE(fit->flags & kFaint || fit->amplitude > 20);
  RenderedMarker ellipse = Disc(6);
  ellipse.minor = 4;
  Scene scene = Draw(ellipse, 901, 60, 60, 4);
  EXPECT_LT(FitMarker(scene.image, scene.spot, scene.options)->minor, 4.5);
  // A circle asked for, an ellipse seen: an ellipse taken rather than a part of it declared hidden.
  scene = Draw(ellipse, 902);
  scene.options.circle = true;
  const auto forced = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->flags, 0u);
  EXPECT_NEAR(forced->minor, 4, 0.2);
}

TEST(MarkerFit, AStripeIsKnownAcrossOnly) {
  RenderedMarker stripe = Disc(11);
  stripe.shape = MarkerShape::kStripe;
  stripe.minor = 2.5;
  stripe.angle = 0.4;
  Scene scene = Draw(stripe, 1000);
  const Eigen::Vector2d along(std::cos(0.4), std::sin(0.4)), across(-along[1], along[0]);
  const auto fit = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->major, 11, 0.1);
  EXPECT_NEAR(fit->minor, 2.5, 0.1);
  EXPECT_NEAR(fit->angle, 0.4, 0.01);
  EXPECT_LT(Nees(*fit, stripe.q), 13.8);
  EXPECT_GT(along.dot(fit->cov * along), 30);
  EXPECT_LT(across.dot(fit->cov * across), 1e-3);
  scene.options.stripe_ends = true;
  const auto ends = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(ends);
  EXPECT_LT(along.dot(ends->cov * along), 1e-2);
  EXPECT_LT(Nees(*ends, stripe.q), 13.8);
  // Cut by the window at both ends, its position along it is anywhere, yet finite.
  scene.options.limit = Window{18, 10, 28, 36};
  scene.spot.left = 18, scene.spot.right = 28;
  const auto cut = FitMarker(scene.image, scene.spot, scene.options);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->cov.allFinite());
  EXPECT_GT(along.dot(cut->cov * along), 1);
  EXPECT_LT(std::abs(across.dot(cut->q - stripe.q)), 0.1);
}

TEST(MarkerFit, NothingWhereThereIsNoMarker) {
  std::mt19937_64 rng(1100);
  int found = 0;
  const Scene scene = Draw(Disc(5), 1101);
  for (int k = 0; k < 50; ++k) {
    const GrayImage noise =
        test::Expose(std::vector<double>(kSide * kSide, 60), kSide, {4, 0}, &rng);
    MarkerFitOptions options;
    options.noise.read = 4;
    Spot spot = scene.spot;
    spot.flux = spot.peak = 8;
    found += FitMarker(noise, spot, options).has_value();
  }
  EXPECT_LE(found, 3);
  const GrayImage flat{kSide, kSide, std::vector<std::uint8_t>(kSide * kSide, 100)};
  EXPECT_FALSE(FitMarker(flat, scene.spot));
  const GrayImage white{kSide, kSide, std::vector<std::uint8_t>(kSide * kSide, 255)};
  EXPECT_FALSE(FitMarker(white, scene.spot));
}

TEST(MarkerFit, NonsenseIsRefusedOrFinite) {
  const Scene scene = Draw(Disc(5), 1200);
  const auto check = [&](const GrayImage& image, const Spot& spot,
                         const MarkerFitOptions& options) {
    const auto fit = FitMarker(image, spot, options);
    if (!fit) return;
    EXPECT_TRUE(fit->q.allFinite());
    EXPECT_TRUE(fit->cov.allFinite());
    EXPECT_GT(fit->cov.determinant(), 0);
    EXPECT_GT(fit->minor, 0);
  };
  EXPECT_FALSE(FitMarker(GrayImage{}, scene.spot, scene.options));
  check(GrayImage{1, 1, {200}}, scene.spot, scene.options);
  check(scene.image, Spot{}, scene.options);
  Spot spot = scene.spot;
  spot.q[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(FitMarker(scene.image, spot, scene.options));
  spot = scene.spot;
  spot.spread.setConstant(std::numeric_limits<double>::quiet_NaN());
  check(scene.image, spot, scene.options);
  spot = scene.spot;
  spot.spread *= 1e6;
  check(scene.image, spot, scene.options);
  spot = scene.spot;
  spot.left = -1000, spot.right = 5000, spot.top = 4000, spot.bottom = -3000;
  check(scene.image, spot, scene.options);
  MarkerFitOptions options = scene.options;
  options.margin = 1e9;
  check(scene.image, scene.spot, options);
  options.margin = -5;
  check(scene.image, scene.spot, options);
  options = scene.options;
  options.blur = 0;
  check(scene.image, scene.spot, options);
  options.blur = 40;
  check(scene.image, scene.spot, options);
  options = scene.options;
  options.motion = {300, -200};
  check(scene.image, scene.spot, options);
  options = scene.options;
  options.limit = Window{40, 40, 10, 10};
  EXPECT_FALSE(FitMarker(scene.image, scene.spot, options));
  options = scene.options;
  options.noise = {0, 0};
  check(scene.image, scene.spot, options);
  for (int k = 0; k < 60; ++k) {  // anything at all
    std::mt19937_64 rng(k);
    GrayImage image{20, 15, std::vector<std::uint8_t>(300)};
    for (std::uint8_t& pixel : image.pixels)
      pixel = static_cast<std::uint8_t>(k % 2 ? rng() % 256 : rng() % 2 * 255);
    spot = scene.spot;
    spot.q = {static_cast<double>(rng() % 20), static_cast<double>(rng() % 15)};
    spot.left = rng() % 10, spot.right = spot.left + rng() % 10, spot.top = rng() % 8,
    spot.bottom = spot.top + rng() % 8;
    options = {};
    options.shape = k % 3 ? MarkerShape::kDisc : MarkerShape::kStripe;
    options.fit_blur = k % 5 == 0;
    options.noise = {1, 0.1};
    check(image, spot, options);
  }
}

TEST(PositionBound, IsTheInverseOfTheFisherInformation) {
  // By central differences of the picture, of a tilted ellipse with noise that grows with the
  // light.
  MarkerFit truth;
  truth.q = {20.3, 19.6};
  truth.major = 6, truth.minor = 4, truth.angle = 0.5;
  truth.amplitude = 90, truth.background = 40, truth.blur = 0.7;
  MarkerFitOptions options;
  options.noise = {1.5, 0.05};
  options.motion = {2, 1};
  options.margin = 12;  // all that tells anything
  const Window window{0, 0, 40, 40};
  const auto image = [&](const Eigen::Matrix<double, 7, 1>& p) {
    MarkerFit fit = truth;
    fit.q = p.head<2>();
    fit.major = p[2], fit.minor = p[3], fit.angle = p[4], fit.amplitude = p[5],
    fit.background = p[6];
    return test::ModelImage(fit, options, window);
  };
  Eigen::Matrix<double, 7, 1> p;
  p << truth.q, 6, 4, 0.5, 90, 40;
  std::array<std::vector<double>, 7> derivative;
  for (int k = 0; k < 7; ++k) {
    Eigen::Matrix<double, 7, 1> plus = p, minus = p;
    plus[k] += 0.01, minus[k] -= 0.01;
    derivative[k] = image(plus);
    const auto lower = image(minus);
    for (std::size_t i = 0; i < lower.size(); ++i)
      derivative[k][i] = (derivative[k][i] - lower[i]) / 0.02;
  }
  const auto at = image(p);
  Eigen::Matrix<double, 7, 7> information = Eigen::Matrix<double, 7, 7>::Zero();
  for (std::size_t i = 0; i < at.size(); ++i)
    for (int a = 0; a < 7; ++a)
      for (int b = 0; b < 7; ++b)
        information(a, b) += derivative[a][i] * derivative[b][i] / options.noise.Variance(at[i]);
  const Eigen::Matrix2d expected = information.inverse().topLeftCorner<2, 2>(),
                        bound = test::PositionBound(truth, options);
  EXPECT_LT((bound - expected).norm(), 0.02 * expected.norm());
}

TEST(PositionBound, OfALargeDiscIsThatOfItsEdge) {
  // Every element of the outline tells A^2 / (2 sqrt(pi) s) about its normal place, s the blur of
  // lens and pixel together.
  MarkerFit truth;
  truth.major = truth.minor = 14;
  truth.amplitude = 100;
  truth.blur = 1;
  MarkerFitOptions options;
  options.noise.read = 5;
  const double s = std::sqrt(1 + 1. / 12),
               expected = 25.0833 * 2 * s / (std::sqrt(std::numbers::pi) * 14 * 1e4);
  EXPECT_NEAR(test::PositionBound(truth, options)(0, 0) / expected, 1, 0.02);
  // Twice the noise, four times the variance; a disc too small for its axes to be told still has a
  // bound.
  const double variance = test::PositionBound(truth, options)(0, 0);
  options.noise.read = 10;
  EXPECT_NEAR(test::PositionBound(truth, options)(0, 0) / variance, 100.083 / 25.083, 1e-3);
  truth.major = truth.minor = 0.2;
  EXPECT_TRUE(test::PositionBound(truth, options).allFinite());
  EXPECT_GT(test::PositionBound(truth, options)(1, 1), variance);
}

}  // namespace
}  // namespace impactlab
