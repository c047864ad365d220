#include "pipelines/synth/detail/video_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/video_scenes.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using pipelines::AreaSum;
using pipelines::Box;
using pipelines::Film;
using pipelines::FrameDrawer;
using pipelines::Grid;
using pipelines::Polygon;

// Nothing but the body and its markers, without noise; flat light.
VideoScene Plain(VideoScene scene) {
  scene.shading = scene.light_gradient = 0;
  scene.background = scene.floor_brightness = 25;
  scene.flash = false;
  for (SceneCamera& camera : scene.cameras) camera.noise = camera.noise_gain = 0;
  return scene;
}

struct Drawn {
  GrayImage image;
  std::vector<TruthPoint> truth;
};
Drawn Draw(const VideoScene& scene, int camera, double t,
           const std::vector<Polygon>& screens = {}) {
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, camera, film);
  Drawn out;
  drawer.Draw(t, screens, 1, &out.image, &out.truth);
  return out;
}

// Area of a convex polygon inside a rectangle, cut side by side (Sutherland and Hodgman, 1974).
double AreaInside(Polygon polygon, double x0, double y0, double x1, double y1) {
  for (int side = 0; side < 4; ++side) {
    const auto depth = [&](const Vector2d& q) {
      return side == 0 ? q.x() - x0 : side == 1 ? x1 - q.x() : side == 2 ? q.y() - y0 : y1 - q.y();
    };
    Polygon cut;
    for (std::size_t i = 0; i < polygon.size(); ++i) {
      const Vector2d &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
      const double da = depth(a), db = depth(b);
      if (da >= 0) cut.push_back(a);
      if ((da < 0) != (db < 0)) cut.push_back(a + (b - a) * (da / (da - db)));
    }
    polygon = cut;
  }
  return polygon.size() < 3 ? 0 : pipelines::Area(polygon);
}

TEST(SynthVideoRaster, EveryCellHoldsTheExactAreaOfCutPolygons) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  AreaSum sum;
  Grid grid;
  const Box box{-3, 5, 14, 19};
  for (int trial = 0; trial < 400; ++trial) {
    const int sub = 1 + trial % 3, n = 3 + trial % 9;
    // Convex: corners on an ellipse, anywhere about the box; some with corners and edges on lines
    // of the grid.
    const Vector2d centre(-8 + 28 * unit(random), 22 * unit(random));
    const double a = std::exp(3.5 * unit(random)) / 3, b = std::exp(3.5 * unit(random)) / 3,
                 turn = 6 * unit(random), first = 6 * unit(random);
    Polygon polygon;
    for (int k = 0; k < n; ++k) {
      const double angle = first + 2 * M_PI * k / n;
      Vector2d p =
          centre + Eigen::Rotation2Dd(turn) * Vector2d(a * std::cos(angle), b * std::sin(angle));
      if (trial % 5 == 0) p = (p.array() * 2).round() / 2;
      polygon.push_back(p);
    }
    if (trial % 2 == 1) std::reverse(polygon.begin(), polygon.end());
    sum.Reset(box, sub);
    sum.Add(polygon, 2);
    sum.Add(polygon, -1);
    sum.Finish(&grid);
    ASSERT_EQ(grid.width, 17 * sub);
    for (int y = 0; y < grid.height; ++y)
      for (int x = 0; x < grid.width; ++x) {
        const double x0 = box.x0 - 0.5 + static_cast<double>(x) / sub,
                     y0 = box.y0 - 0.5 + static_cast<double>(y) / sub;
        const double expected =
            AreaInside(polygon, x0, y0, x0 + 1.0 / sub, y0 + 1.0 / sub) * sub * sub;
        ASSERT_NEAR(grid.Row(y)[x], expected, 2e-5)
            << "trial " << trial << " cell " << x << " " << y;
      }
  }
}

TEST(SynthVideoRaster, BlurKeepsLightAndHasItsVariance) {
  for (const double sigma : {0.6, 0.8, 1.6, 3.0}) {
    Grid grid;
    grid.Reset({0, 0, 61, 61}, 1);
    grid.Row(30)[29] = 1000;
    std::vector<float> scratch;
    pipelines::Blur(pipelines::GaussianKernel(sigma), &grid, &scratch);
    double total = 0, xx = 0, yy = 0, x = 0;
    for (int v = 0; v < 61; ++v)
      for (int u = 0; u < 61; ++u) {
        total += grid.Row(v)[u];
        x += grid.Row(v)[u] * u;
        xx += grid.Row(v)[u] * (u - 29) * (u - 29);
        yy += grid.Row(v)[u] * (v - 30) * (v - 30);
      }
    EXPECT_NEAR(total, 1000, 1e-2);
    EXPECT_NEAR(x / total, 29, 1e-5);
    EXPECT_NEAR(xx / total, sigma * sigma, 0.003 * sigma * sigma);
    EXPECT_NEAR(yy / total, sigma * sigma, 0.003 * sigma * sigma);
  }
}

TEST(SynthVideoRaster, NoiseHasTheMeanAndSpreadAskedFor) {
  constexpr int n = 4000, kRows = 100;
  for (const double level : {3.0, 25.3, 127.77, 250.0}) {
    const double read = 2, gain = 0.05, sd = std::sqrt(read * read + gain * level);
    const std::vector<float> light(n, static_cast<float>(level));
    std::vector<std::int16_t> fixed(n), noise(n);
    std::vector<std::uint8_t> pixels(n), before(n);
    pipelines::ToFixed(light.data(), n, static_cast<float>(read * read), static_cast<float>(gain),
                       fixed.data(), noise.data());
    double sum = 0, square = 0, next = 0, same = 0;
    for (int row = 0; row < kRows; ++row) {
      pipelines::Expose(fixed.data(), noise.data(), n, pipelines::Mix(5, row), pixels.data());
      for (int i = 0; i < n; ++i) {
        const double d = pixels[i] - level;
        sum += d;
        square += d * d;
        if (i > 0) next += d * (pixels[i - 1] - level);
        same += d * (before[i] - level);
      }
      before = pixels;
      if (row == 0) same = 0;
    }
    const double count = static_cast<double>(n) * kRows;
    if (level == 3.0 || level == 250.0) {  // clipped on one side
      EXPECT_LT(square / count, sd * sd);
      continue;
    }
    // Five standard errors, and the last bit of the fixed point.
    EXPECT_NEAR(sum / count, 0, 5 * sd / std::sqrt(count) + 0.01) << level;
    EXPECT_NEAR(square / count, sd * sd + 1.0 / 12, 5 * sd * sd * std::sqrt(2 / count) + 0.02)
        << level;
    EXPECT_NEAR(next / square, 0, 5 / std::sqrt(count));
    EXPECT_NEAR(same / square, 0, 5 / std::sqrt(count));
  }
  // No noise: rounded to the nearest level and clipped.
  std::vector<float> ramp;
  ramp.reserve(3000);
  for (int i = 0; i < 3000; ++i) ramp.push_back(static_cast<float>(-20 + 0.1 * i));
  std::vector<std::int16_t> fixed(ramp.size()), noise(ramp.size());
  std::vector<std::uint8_t> pixels(ramp.size());
  pipelines::ToFixed(ramp.data(), 3000, 0, 0, fixed.data(), noise.data());
  pipelines::Expose(fixed.data(), noise.data(), 3000, 3, pixels.data());
  for (std::size_t i = 0; i < ramp.size(); ++i)
    EXPECT_NEAR(pixels[i], std::clamp(ramp[i], 0.0f, 255.0f), 0.51);
}

// A marker of a rolling shutter is where it was at its own row's time.
TEST(SynthVideoDraw, TruthIsTheImageAtTheRowsOwnTime) {
  VideoScene scene = Plain(test::RodScene());
  for (SceneCamera& camera : scene.cameras) camera.t_line = 2e-5;
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, 1, film);
  GrayImage image;
  std::vector<TruthPoint> truth;
  const double t = film.release + film.motion.strikes.front().t - 0.02;
  drawer.Draw(t, {}, 1, &image, &truth);
  for (const TruthPoint& point : truth) {
    EXPECT_NEAR(point.t, t + point.q.y() * 2e-5, 1e-9);
    const RigCamera& item = scene.rig.cameras[1];
    const auto q = Project(
        item.camera, item.X_WC.inverse() * (film.Pose(point.t) * scene.markers[point.marker].p_BM));
    EXPECT_LT((*q - point.q).norm(), 1e-4);
    EXPECT_GT(std::abs(point.t - t), 1e-3);
  }
}

TEST(SynthVideoDraw, VisibleShareCountsScreensBordersAndNearerMarkers) {
  VideoScene scene = Plain(test::RodScene());
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, 0, film);
  GrayImage image;
  std::vector<TruthPoint> truth;
  drawer.Draw(0, {}, 1, &image, &truth);
  for (const TruthPoint& point : truth) EXPECT_EQ(point.visible, 1);
  // Half of marker 1 behind a screen that ends at its centroid.
  const Vector2d c = truth[1].q_centroid;
  drawer.Draw(0,
              {{{c.x(), c.y() - 100},
                {c.x() + 30, c.y() - 100},
                {c.x() + 30, c.y() + 100},
                {c.x(), c.y() + 100}}},
              1, &image, &truth);
  EXPECT_NEAR(truth[1].visible, 0.5, 0.01);
  EXPECT_LE(image.At(static_cast<int>(c.x()) + 5, static_cast<int>(c.y())),
            scene.screen_brightness + 2);
  EXPECT_GE(image.At(static_cast<int>(c.x()) - 5, static_cast<int>(c.y())), 225);
  // The picture ends in the middle of it.
  VideoScene cut = scene;
  Camera& lens = cut.rig.cameras[0].camera;
  lens.cx += -0.5 - c.x();
  const Film cut_film = pipelines::MakeFilm(cut, 1);
  FrameDrawer cut_drawer(cut, 0, cut_film);
  cut_drawer.Draw(0, {}, 1, &image, &truth);
  EXPECT_NEAR(truth[1].visible, 0.5, 0.02);
  // A second marker a little nearer to the camera covers the first.
  VideoScene twice = scene;
  SceneMarker nearer = scene.markers[1];
  nearer.name = "nearer";
  const Isometry3d X_BC = film.Pose(0).inverse() * scene.rig.cameras[0].X_WC;
  nearer.p_BM += 0.02 * (X_BC.translation() - nearer.p_BM).normalized();
  nearer.radius *= 0.5;
  nearer.brightness = 120;
  twice.markers.push_back(nearer);
  const Film twice_film = pipelines::MakeFilm(twice, 1);
  FrameDrawer twice_drawer(twice, 0, twice_film);
  twice_drawer.Draw(0, {}, 1, &image, &truth);
  EXPECT_EQ(truth[3].visible, 1);
  EXPECT_NEAR(truth[1].visible, 1 - 0.25 * std::pow(1.02, 2), 0.02);
  EXPECT_NEAR(image.At(static_cast<int>(c.x()), static_cast<int>(c.y())), 120, 2);
}

TEST(SynthVideoDraw, DiscsAreSeenFromTheirFrontOnly) {
  const VideoScene scene = Plain(test::BoxScene({.discs = true}));
  const Film film = pipelines::MakeFilm(scene, 1);
  for (int camera = 0; camera < 2; ++camera) {
    FrameDrawer drawer(scene, camera, film);
    GrayImage image;
    std::vector<TruthPoint> truth;
    drawer.Draw(0, {}, 1, &image, &truth);
    const Vector3d eye = (film.Pose(0).inverse() * scene.rig.cameras[camera].X_WC).translation();
    int hidden = 0;
    for (const TruthPoint& point : truth) {
      const SceneMarker& marker = scene.markers[point.marker];
      const bool front = marker.normal_B.dot(eye - marker.p_BM) > 0;
      EXPECT_EQ(point.visible, front ? 1 : 0);
      hidden += !front;
      EXPECT_TRUE(point.q.allFinite());
    }
    EXPECT_GE(hidden, 9);
  }
}

TEST(SynthVideoDraw, DrawingAgainGivesTheSamePixelsWhateverWasDrawnBefore) {
  VideoScene scene = test::BarScene({.clutter = 6});
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, 0, film), other(scene, 0, film);
  const double t = film.release + 0.2;
  GrayImage a, b;
  std::vector<TruthPoint> truth;
  drawer.Draw(t, {}, 9, &a, &truth);
  for (const double before : {film.flash_on + 0.01, film.release + 0.1, film.release + 0.3})
    other.Draw(before, {}, 4, &b, &truth);
  other.Draw(t, {}, 9, &b, &truth);
  EXPECT_EQ(a.pixels, b.pixels);
  other.Draw(t, {}, 10, &b, &truth);
  EXPECT_NE(a.pixels, b.pixels);
}

// The picture around what moves is drawn piece by piece; a picture without any piece must not show
// where they were.
TEST(SynthVideoDraw, WhatStandsStillIsTheSameInsideAndOutsideOfWhatIsDrawnAnew) {
  VideoScene scene = Plain(test::RodScene({.clutter = 40}));
  scene.light_gradient = 0.4;
  scene.floor_brightness = 45;
  VideoScene ghost = scene;  // a body and markers that look like what is behind them
  ghost.markers.clear();
  ghost.motion.body = MakeBall(1e-4, 0.1);
  const Drawn with = Draw(scene, 0, 0), without = Draw(ghost, 0, 0);
  int different = 0;
  Box changed{10000, 10000, -1, -1};
  for (int y = 0; y < with.image.height; ++y)
    for (int x = 0; x < with.image.width; ++x)
      if (with.image.At(x, y) != without.image.At(x, y)) {
        ++different;
        changed = pipelines::Union(changed, {x, y, x + 1, y + 1});
      }
  EXPECT_GT(different, 1000);
  Box expected;
  const Film film = pipelines::MakeFilm(scene, 1);
  const FrameDrawer drawer(scene, 0, film);
  for (const auto& patch : pipelines::OutlinesOf(
           drawer.viewer(), pipelines::OutlineOf(scene.motion.body), 0, 0, Vector3d::UnitZ()))
    expected = pipelines::Union(expected, pipelines::Bounds(patch.polygon));
  for (const SceneMarker& marker : scene.markers)
    expected = pipelines::Union(
        expected, pipelines::Bounds(pipelines::OutlineOf(drawer.viewer(), marker, 0, 48).polygon));
  const Box ball = pipelines::Bounds(
      {*Project(drawer.viewer().camera(), drawer.viewer().PoseInCamera(0) * Vector3d::Zero())});
  expected = pipelines::Union(expected, ball).Grown(4);
  EXPECT_GE(changed.x0, expected.x0);
  EXPECT_GE(changed.y0, expected.y0);
  EXPECT_LE(changed.x1, expected.x1);
  EXPECT_LE(changed.y1, expected.y1);
}

TEST(SynthVideoDraw, AFlashLightsTheShareOfTheExposureItCovers) {
  VideoScene scene = Plain(test::RodScene());
  scene.flash = true;
  scene.markers.clear();
  scene.body_brightness = scene.background;
  for (SceneCamera& camera : scene.cameras) camera.exposure = 4e-3;
  const Film film = pipelines::MakeFilm(scene, 1);
  EXPECT_NEAR(film.flash_off - film.flash_on, 0.05, 1e-12);
  EXPECT_GT(film.release, film.flash_off);
  const auto level = [&](const GrayImage& image, int y) {
    double sum = 0;
    for (int x = 0; x < image.width; ++x) sum += image.At(x, y) / static_cast<double>(image.width);
    return sum;
  };
  const double dark = level(Draw(scene, 0, film.flash_on - 0.002).image, 20),
               bright = level(Draw(scene, 0, film.flash_on + 0.01).image, 20);
  EXPECT_NEAR(bright / dark, 2.5, 0.03);
  EXPECT_NEAR(level(Draw(scene, 0, film.flash_on).image, 20), 0.5 * (dark + bright), 0.6);
  EXPECT_NEAR(level(Draw(scene, 0, film.flash_off + 0.001).image, 20), 0.75 * dark + 0.25 * bright,
              0.6);
  EXPECT_NEAR(level(Draw(scene, 0, film.flash_off + 0.0021).image, 20), dark, 0.6);
  // Rolling: the row in which it begins.
  for (SceneCamera& camera : scene.cameras) camera.t_line = 2e-5;
  const GrayImage image = Draw(scene, 0, film.flash_on - 0.006).image;
  EXPECT_NEAR(level(image, 190), dark, 0.6);
  EXPECT_NEAR(level(image, 300), 0.5 * (dark + bright), 1);
  EXPECT_NEAR(level(image, 405), bright, 0.6);
}

TEST(SynthVideoDraw, DarkMarkersAndWideBlurAreDrawn) {
  VideoScene scene = Plain(test::RodScene());
  scene.body_brightness = 180;
  scene.markers.erase(scene.markers.begin() + 2);
  for (SceneMarker& marker : scene.markers) marker.brightness = 15;
  const Drawn sharp = Draw(scene, 0, 0);
  for (SceneCamera& camera : scene.cameras) camera.blur = 4;
  const Drawn soft = Draw(scene, 0, 0);
  const Vector2d c = sharp.truth[1].q_centroid;
  const int x = static_cast<int>(std::lround(c.x())), y = static_cast<int>(std::lround(c.y()));
  EXPECT_NEAR(sharp.image.At(x, y), 15, 1);
  EXPECT_GT(soft.image.At(x, y), 15);
  // Light is kept.
  double a = 0, b = 0;
  for (std::size_t i = 0; i < sharp.image.pixels.size(); ++i) {
    a += sharp.image.pixels[i] - scene.background;
    b += soft.image.pixels[i] - scene.background;
  }
  EXPECT_NEAR(b / a, 1, 1e-3);
}

}  // namespace
}  // namespace impactlab
