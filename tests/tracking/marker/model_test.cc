#include "tracking/marker/detail/model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/support/marker_render.h"

namespace impactlab {
namespace {

using tracking::CoverChannel;
using tracking::MarkerCover;
using tracking::MarkerOutline;

struct Case {
  const char* name;
  test::RenderedMarker marker;
};

std::vector<Case> Cases() {
  using S = MarkerShape;
  return {
      {"tiny disc", {.q = {9.31, 8.77}, .major = 0.8, .minor = 0.8}},
      {"small disc", {.q = {9.31, 8.77}, .major = 2, .minor = 2}},
      {"disc", {.q = {12.13, 11.48}, .major = 6, .minor = 6}},
      {"sharp disc", {.q = {12.13, 11.48}, .major = 6, .minor = 6, .blur = 0.3}},
      {"soft disc", {.q = {16.13, 15.48}, .major = 4, .minor = 4, .blur = 2}},
      {"ellipse", {.q = {14.6, 12.2}, .major = 9, .minor = 3, .angle = 0.6}},
      {"flat ellipse", {.q = {16.6, 12.2}, .major = 11, .minor = 0.7, .angle = -1.1}},
      {"large disc", {.q = {22.6, 20.2}, .major = 15, .minor = 15}},
      {"moving disc", {.q = {16.1, 15.7}, .major = 3, .minor = 3, .motion = {4, 2}}},
      {"fast disc",
       {.q = {18.4, 15.7}, .major = 5, .minor = 4, .angle = 1.2, .motion = {14, -5.4}}},
      {"fast small disc", {.q = {18.4, 15.7}, .major = 2, .minor = 2, .motion = {0, 15}}},
      {"stripe", {.q = {16.3, 14.8}, .major = 10, .minor = 2, .angle = 0.3, .shape = S::kStripe}},
      {"thin upright stripe",
       {.q = {16.3, 14.8}, .major = 8, .minor = 0.6, .angle = 1.5, .shape = S::kStripe}},
      {"moving stripe",
       {.q = {18.3, 16.8},
        .major = 9,
        .minor = 3,
        .angle = -0.4,
        .shape = S::kStripe,
        .motion = {1, 6}}},
  };
}

MarkerOutline OutlineOf(const test::RenderedMarker& marker) {
  return {marker.shape, marker.q,
          tracking::FormOf(marker.shape, {marker.major, marker.minor, marker.angle}), marker.blur,
          marker.motion};
}

TEST(MarkerModel, AgreesWithBruteForce) {
  for (const Case& c : Cases()) {
    const int side = static_cast<int>(2 * std::max(c.marker.q[0], c.marker.q[1]));
    const std::vector<double> truth = test::FineMarker(c.marker, side, side).Cover();
    MarkerCover cover;
    cover.Evaluate(OutlineOf(c.marker), {0, 0, side - 1, side - 1});
    double worst = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      worst = std::max(worst, std::abs(cover.pixel(i)[tracking::kCover] - truth[i]));
    EXPECT_LT(worst, 0.002) << c.name;
    RecordProperty(c.name, std::to_string(worst));
    if (std::getenv("MARKER_VERBOSE")) fmt::print("{:<20} {:.2e}\n", c.name, worst);
  }
}

TEST(MarkerModel, SumsUpToTheArea) {
  // All light of the shape lies in the window, whatever blurs it.
  for (const Case& c : Cases()) {
    const MarkerOutline outline = OutlineOf(c.marker);
    MarkerCover cover;
    cover.Evaluate(outline, {-30, -30, 69, 69});
    double sum = 0;
    Eigen::Vector2d first = Eigen::Vector2d::Zero();
    for (int i = 0; i < 100 * 100; ++i) {
      const double value = cover.pixel(i)[tracking::kCover];
      sum += value;
      first += value * Eigen::Vector2d(i % 100 - 30, i / 100 - 30);
    }
    EXPECT_NEAR(sum / outline.Area(), 1, 1e-3) << c.name;
    EXPECT_LT((first / sum - outline.c).norm(), 1e-3) << c.name;
  }
}

TEST(MarkerModel, AWindowThatCutsTheShapeShowsTheSamePixels) {
  for (const Case& c : Cases()) {
    const MarkerOutline outline = OutlineOf(c.marker);
    MarkerCover whole, part;
    whole.Evaluate(outline, {-10, -10, 49, 49}, true);
    for (const Window& window : {Window{15, 3, 22, 40}, Window{-3, 12, 49, 14},
                                 Window{18, 18, 18, 18}, Window{40, 40, 49, 49}}) {
      part.Evaluate(outline, window, true);
      const int width = window.right - window.left + 1;
      for (int y = window.top; y <= window.bottom; ++y)
        for (int x = window.left; x <= window.right; ++x)
          for (int k = 0; k < 7; ++k)
            ASSERT_NEAR(part.pixel((y - window.top) * width + x - window.left)[k],
                        whole.pixel((y + 10) * 60 + x + 10)[k], 2e-5)
                << c.name << " " << x << " " << y << " channel " << k;
    }
  }
}

TEST(MarkerModel, DerivativesAgreeWithDifferences) {
  for (const Case& c : Cases()) {
    const MarkerOutline outline = OutlineOf(c.marker);
    const Window window{0, 0, 39, 39};
    MarkerCover at, plus, minus;
    at.Evaluate(outline, window, true);
    for (int k = 0; k < 6; ++k) {
      // Wide against the 3e-5 that are cut off the kernel.
      const double h = k == 4 && c.marker.shape == MarkerShape::kStripe ? 0.004 : 0.02;
      const auto moved = [&](double step) {
        MarkerOutline o = outline;
        if (k < 2) o.c[k] += step;
        if (k >= 2 && k < 5) o.form[k - 2] += step;
        if (k == 5) o.blur += step;
        return o;
      };
      plus.Evaluate(moved(h), window);
      minus.Evaluate(moved(-h), window);
      const int channel = k < 5 ? k : tracking::kByBlur;
      double worst = 0, largest = 0;
      for (int i = 0; i < 1600; ++i) {
        const double difference =
            (plus.pixel(i)[tracking::kCover] - minus.pixel(i)[tracking::kCover]) / (2 * h);
        worst = std::max(worst, std::abs(difference - at.pixel(i)[channel]));
        largest = std::max(largest, std::abs(difference));
      }
      EXPECT_GT(largest, 0.01) << c.name << " parameter " << k;
      // The number of nodes along a motion follows the blur, and with it the fourth digit of the
      // cover.
      EXPECT_LT(worst, (k < 5                        ? 5e-3
                        : c.marker.motion.norm() > 0 ? 0.06
                                                     : 0.02) *
                           largest)
          << c.name << " parameter " << k;
    }
  }
}

TEST(MarkerModel, AxesAndFormAreInverse) {
  for (double angle : {-1.5, -0.7, 0.0, 0.4, 1.57}) {
    MarkerOutline outline;
    outline.form = tracking::FormOf(MarkerShape::kDisc, {7, 3, angle});
    const tracking::FormAxes axes = AxesOf(outline);
    EXPECT_NEAR(axes.major, 7, 1e-12);
    EXPECT_NEAR(axes.minor, 3, 1e-12);
    EXPECT_NEAR(axes.angle, angle, 1e-12);
  }
  // A stripe that became wider than long is named by its longer side.
  MarkerOutline stripe;
  stripe.shape = MarkerShape::kStripe;
  stripe.form = {2, 5, 0.3};
  const tracking::FormAxes axes = AxesOf(stripe);
  EXPECT_DOUBLE_EQ(axes.major, 5);
  EXPECT_NEAR(axes.angle, 0.3 - std::numbers::pi / 2, 1e-12);
}

}  // namespace
}  // namespace impactlab
