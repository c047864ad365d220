// Pictures against a reference that shares nothing with the drawing: a ray a cell of a fine grid,
// asked at many instants what it meets.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "pipelines/synth/detail/video_draw.h"
#include "tests/support/video_scenes.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
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

// Distance along the ray to a body, infinity where it misses.
double MeetBody(const Body& body, const Vector3d& o, const Vector3d& d) {
  const auto sphere = [&](const Vector3d& c, double r) {
    const Vector3d w = o - c;
    const double b = w.dot(d), h = b * b - w.squaredNorm() + r * r;
    return h > 0 ? -b - std::sqrt(h) : INFINITY;
  };
  if (body.shape == BodyShape::kBall) return sphere(Vector3d::Zero(), body.radius);
  if (body.shape == BodyShape::kRod) {
    const double half = body.half_length - body.radius;
    double best = std::min(sphere({0, 0, half}, body.radius), sphere({0, 0, -half}, body.radius));
    const double a = d.x() * d.x() + d.y() * d.y(), b = o.x() * d.x() + o.y() * d.y();
    const double h = b * b - a * (o.x() * o.x() + o.y() * o.y() - body.radius * body.radius);
    if (h > 0) {
      const double t = (-b - std::sqrt(h)) / a;
      if (std::abs(o.z() + t * d.z()) < half) best = std::min(best, t);
    }
    return best;
  }
  double from = -INFINITY, to = INFINITY;
  for (int k = 0; k < 3; ++k) {
    const double a = (-body.half_extents[k] - o[k]) / d[k],
                 b = (body.half_extents[k] - o[k]) / d[k];
    from = std::max(from, std::min(a, b));
    to = std::min(to, std::max(a, b));
  }
  return from < to ? from : INFINITY;
}

double MeetMarker(const SceneMarker& marker, const Vector3d& o, const Vector3d& d) {
  const Vector3d w = o - marker.p_BM;
  if (marker.normal_B.isZero(0)) {
    const double b = w.dot(d), h = b * b - w.squaredNorm() + marker.radius * marker.radius;
    return h > 0 ? -b - std::sqrt(h) : INFINITY;
  }
  const Vector3d n = marker.normal_B.normalized();
  if (n.dot(d) >= 0) return INFINITY;
  const double t = -n.dot(w) / n.dot(d);
  const Vector3d p = w + t * d;
  if (marker.second_radius == 0) return p.norm() < marker.radius ? t : INFINITY;
  const Vector3d u = (Vector3d::UnitZ() - n * n.z()).normalized(), v = n.cross(u);
  return std::hypot(p.dot(u) / marker.radius, p.dot(v) / marker.second_radius) < 1 ? t : INFINITY;
}

struct Reference {
  Grid light;                            // of the pixels of a box [grey levels]
  Vector2d centroid = Vector2d::Zero();  // of what is seen of one marker
  double share = 0;                      // of the rays' time that meets it [px^2]
};

// `cells` a pixel each way, `instants` of the exposure.
Reference LookAt(const VideoScene& scene, const Film& film, int camera, double t_row0, int marker,
                 const Box& box, int cells, int instants) {
  const RigCamera& item = scene.rig.cameras[camera];
  const SceneCamera& settings = scene.cameras[camera];
  const int reach = static_cast<int>(std::ceil(4 * settings.blur)) + 1;
  Grid fine;
  fine.Reset(box.Grown(reach), cells);
  // Rays at evenly spread places of their cells, so that an edge along a row of cells is met as
  // finely as an oblique one.
  const auto spread = [](int k) { return std::fmod((k + 0.5) * 0.6180339887498949, 1.0); };
  std::vector<Vector2d> places(fine.values.size());
  std::vector<Vector3d> rays(fine.values.size());
  for (int y = 0; y < fine.height; ++y)
    for (int x = 0; x < fine.width; ++x) {
      const std::size_t i = static_cast<std::size_t>(y) * fine.width + x;
      places[i] = {fine.box.x0 - 0.5 + (x + spread(y)) / cells,
                   fine.box.y0 - 0.5 + (y + spread(x)) / cells};
      rays[i] = *Unproject(item.camera, places[i]);
    }
  Reference out;
  std::vector<double> sum(fine.values.size());
  double hits = 0;
  for (int row = 0; row < fine.box.height(); ++row)
    for (int k = 0; k < instants; ++k) {
      const double t = t_row0 + (fine.box.y0 + row) * settings.t_line +
                       settings.exposure * ((k + 0.5) / instants - 0.5);
      const Isometry3d X_BC = film.Pose(t).inverse() * item.X_WC;
      const Vector3d o = X_BC.translation();
      for (int y = row * cells; y < (row + 1) * cells; ++y)
        for (int x = 0; x < fine.width; ++x) {
          const std::size_t i = static_cast<std::size_t>(y) * fine.width + x;
          const Vector3d d = X_BC.linear() * rays[i];
          double nearest = INFINITY, value = scene.background;
          if (MeetBody(scene.motion.body, o, d) < INFINITY) value = scene.body_brightness;
          int met = -1;
          for (std::size_t m = 0; m < scene.markers.size(); ++m) {
            const double s = MeetMarker(scene.markers[m], o, d);
            if (s >= nearest) continue;
            nearest = s;
            met = static_cast<int>(m);
            value = scene.markers[m].brightness;
          }
          sum[i] += value / instants;
          if (met == marker) {
            hits += 1;
            out.centroid += places[i];
          }
        }
    }
  out.centroid /= hits;
  out.share = hits / (static_cast<double>(cells) * cells * instants);
  // Gauss and the square of the pixel, in double precision.
  const double sigma = settings.blur * cells;
  const int r = static_cast<int>(std::ceil(4 * sigma));
  std::vector<double> kernel(2 * r + 1), across(sum.size());
  double total = 0;
  for (int i = -r; i <= r; ++i) total += kernel[i + r] = std::exp(-i * i / (2 * sigma * sigma));
  const auto at = [&](const std::vector<double>& v, int x, int y) {
    return v[static_cast<std::size_t>(y) * fine.width + x];
  };
  out.light.Reset(box, 1);
  for (int y = 0; y < fine.height; ++y)
    for (int px = 0; px < box.width(); ++px)
      for (int a = 0; a < cells; ++a) {
        const int x = (px + reach) * cells + a;
        double value = 0;
        for (int i = -r; i <= r; ++i) value += kernel[i + r] * at(sum, x + i, y);
        across[static_cast<std::size_t>(y) * fine.width + px] += value / total / cells;
      }
  for (int py = 0; py < box.height(); ++py)
    for (int px = 0; px < box.width(); ++px) {
      double value = 0;
      for (int a = 0; a < cells; ++a)
        for (int i = -r; i <= r; ++i)
          value += kernel[i + r] * at(across, px, (py + reach) * cells + a + i);
      out.light.Row(py)[px] = static_cast<float>(value / total / cells);
    }
  return out;
}

// Centroid of what differs between two pictures of a box.
template <typename A, typename B>
Vector2d Centroid(const Box& box, const A& with, const B& without) {
  Vector2d sum = Vector2d::Zero();
  double weight = 0;
  for (int y = box.y0; y < box.y1; ++y)
    for (int x = box.x0; x < box.x1; ++x) {
      const double w = with(x, y) - without(x, y);
      sum += w * Vector2d(x, y);
      weight += w;
    }
  return sum / weight;
}

struct Check {
  int camera = 0, marker = 0;
  int cells = 12, instants = 1;
  double t_row0 = 0;  // on the common clock [s]
};

void Compare(const VideoScene& scene, const Check& check) {
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, check.camera, film);
  GrayImage image, bare_image;
  std::vector<TruthPoint> truth, none;
  drawer.Draw(check.t_row0, {}, 1, &image, &truth);
  const TruthPoint& point = truth[check.marker];
  ASSERT_EQ(point.visible, 1);
  const double size =
      scene.markers[check.marker].radius * scene.rig.cameras[check.camera].camera.fx / 1.1;
  const auto path = [&](double t) {
    return drawer.viewer().See(scene.markers[check.marker].p_BM, t)->q;
  };
  const double half = scene.cameras[check.camera].exposure / 2;
  const double smear = (path(check.t_row0 + half) - path(check.t_row0)).norm() +
                       (path(check.t_row0) - path(check.t_row0 - half)).norm();
  const int around =
      static_cast<int>(std::ceil(size + smear / 2 + 4 * scene.cameras[check.camera].blur)) + 1;
  const int x = static_cast<int>(std::lround(point.q_centroid.x())),
            y = static_cast<int>(std::lround(point.q_centroid.y()));
  const Box box{x - around, y - around, x + around + 1, y + around + 1};
  const Reference reference = LookAt(scene, film, check.camera, check.t_row0, check.marker, box,
                                     check.cells, check.instants);
  // The same without the marker.
  VideoScene bare = scene;
  bare.markers.erase(bare.markers.begin() + check.marker);
  FrameDrawer bare_drawer(bare, check.camera, film);
  bare_drawer.Draw(check.t_row0, {}, 1, &bare_image, &none);
  const Reference bare_reference =
      LookAt(bare, film, check.camera, check.t_row0, -1, box, check.cells, check.instants);
  double largest = 0, square = 0;
  for (int v = box.y0; v < box.y1; ++v)
    for (int u = box.x0; u < box.x1; ++u) {
      const double d = image.At(u, v) - reference.light.Row(v - box.y0)[u - box.x0];
      largest = std::max(largest, std::abs(d));
      square += d * d;
    }
  const double rms = std::sqrt(square / (box.width() * box.height()));
  const auto pixel = [](const GrayImage& i) {
    return [&i](int u, int v) { return static_cast<double>(i.At(u, v)); };
  };
  const auto light = [&](const Reference& r) {
    return [&r, &box](int u, int v) {
      return static_cast<double>(r.light.Row(v - box.y0)[u - box.x0]);
    };
  };
  const Vector2d drawn = Centroid(box, pixel(image), pixel(bare_image)),
                 expected = Centroid(box, light(reference), light(bare_reference));
  EXPECT_LT((point.q_centroid - reference.centroid).norm(), 0.003) << "truth";
  EXPECT_LT((drawn - expected).norm(), 0.005) << "picture";
  EXPECT_LT(largest, 2.2);  // the body's edge is drawn with one cell a pixel; 0.5 is rounding
  EXPECT_LT(rms, 0.45);     // rounding alone: 0.29
  std::printf(
      "truth %.4f px, picture %.4f px, largest %.2f, rms %.3f grey levels, smear %.1f px, area "
      "%.1f px2\n",
      (point.q_centroid - reference.centroid).norm(), (drawn - expected).norm(), largest, rms,
      smear, reference.share);
}

double Landing(const VideoScene& scene) {
  const Film film = pipelines::MakeFilm(scene, 1);
  return film.release + film.motion.strikes.front().t;
}

TEST(SynthVideoDraw, BallMarkerAtRestAgreesWithRays) {
  const VideoScene scene = Plain(test::RodScene());
  Compare(scene, {.camera = 0, .marker = 1, .cells = 14});
}

TEST(SynthVideoDraw, SmallMarkerAgreesWithRays) {
  VideoScene scene = Plain(test::BarScene({.width = 800}));
  for (SceneMarker& marker : scene.markers) marker.radius = 0.0025;
  for (SceneCamera& camera : scene.cameras) camera.blur = 0.6;
  Compare(scene, {.camera = 1, .marker = 2, .cells = 24});
}

TEST(SynthVideoDraw, TiltedDiscAgreesWithRays) {
  const VideoScene scene = Plain(test::BoxScene({.discs = true}));
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, 0, film);
  GrayImage image;
  std::vector<TruthPoint> truth;
  drawer.Draw(0, {}, 1, &image, &truth);
  int seen = 0;
  for (const TruthPoint& point : truth) {
    if (point.visible < 1 || ++seen % 3 != 1) continue;
    Compare(scene, {.camera = 0, .marker = point.marker, .cells = 16});
  }
  EXPECT_GE(seen, 5);
}

TEST(SynthVideoDraw, EllipseAgreesWithRays) {
  VideoScene scene = Plain(test::BallScene({.discs = true}));
  for (SceneMarker& marker : scene.markers) {
    marker.normal_B = (marker.normal_B + Vector3d(0.1, 0.05, 0)).normalized();
    marker.second_radius = 0.5 * marker.radius;
  }
  const Film film = pipelines::MakeFilm(scene, 1);
  FrameDrawer drawer(scene, 0, film);
  GrayImage image;
  std::vector<TruthPoint> truth;
  drawer.Draw(0, {}, 1, &image, &truth);
  for (const TruthPoint& point : truth)
    if (point.visible == 1)
      return Compare(scene, {.camera = 0, .marker = point.marker, .cells = 16});
  FAIL() << "no ellipse in sight";
}

TEST(SynthVideoDraw, MotionBlurAgreesWithRays) {
  VideoScene scene = Plain(test::RodScene());
  for (SceneCamera& camera : scene.cameras) camera.exposure = 4e-3;
  Compare(scene,
          {.camera = 0, .marker = 0, .cells = 6, .instants = 60, .t_row0 = Landing(scene) - 0.01});
}

TEST(SynthVideoDraw, AnImpactDuringTheExposureAgreesWithRays) {
  VideoScene scene = Plain(test::RodScene());
  for (SceneCamera& camera : scene.cameras) camera.exposure = 2e-3;
  for (const int marker : {0, 2})
    Compare(scene, {.camera = 1,
                    .marker = marker,
                    .cells = 6,
                    .instants = 80,
                    .t_row0 = Landing(scene) + 3e-4});
}

TEST(SynthVideoDraw, RollingShutterAgreesWithRays) {
  for (const double t_line : {2.5e-5, -2.5e-5}) {
    VideoScene scene = Plain(test::BarScene());
    for (SceneCamera& camera : scene.cameras) {
      camera.t_line = t_line;
      camera.exposure = 1e-3;
    }
    Compare(scene, {.camera = 0,
                    .marker = 1,
                    .cells = 8,
                    .instants = 24,
                    .t_row0 = Landing(scene) - 400 * t_line - 0.006});
  }
}

}  // namespace
}  // namespace impactlab
