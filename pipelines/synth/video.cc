#include "pipelines/synth/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/synth/detail/video_draw.h"

namespace impactlab {
namespace pipelines {
namespace {

using Eigen::Vector2d;

constexpr int kFewestHidden = 2, kMostHidden = 8;  // frames of an occlusion
constexpr int kApart = 12;                         // frames between two occlusions of a marker
constexpr int kTries = 400;

// A marker in a frame, as far as planning needs it.
struct Disc {
  Vector2d q = Vector2d::Zero();
  double radius = 0;  // motion included [px]
  bool seen = false;
};

// Of every frame and marker; `half` of the exposure [s].
std::vector<std::vector<Disc>> DiscsInFrames(const VideoScene& scene, const Viewer& viewer,
                                             const std::vector<double>& times, double half) {
  const Camera& lens = viewer.camera();
  std::vector<std::vector<Disc>> discs(times.size(), std::vector<Disc>(scene.markers.size()));
  for (std::size_t k = 0; k < times.size(); ++k) {
    for (std::size_t m = 0; m < scene.markers.size(); ++m) {
      Disc& disc = discs[k][m];
      for (const double t : {times[k] - half, times[k] + half}) {
        const Polygon outline = OutlineOf(viewer, scene.markers[m], t, 16).polygon;
        if (outline.empty()) {
          disc.seen = false;
          break;
        }
        const Box box = Bounds(outline);
        disc.seen = box.x0 > 2 && box.y0 > 2 && box.x1 < lens.width - 2 && box.y1 < lens.height - 2;
        if (const auto sight = viewer.See(scene.markers[m].p_BM, times[k])) disc.q = sight->q;
        for (const Vector2d& q : outline) disc.radius = std::max(disc.radius, (q - disc.q).norm());
        if (!disc.seen) break;
      }
    }
  }
  return discs;
}

Polygon RoundScreen(const Vector2d& centre, double radius) {
  Polygon screen;
  constexpr int kSides = 24;
  for (int i = 0; i < kSides; ++i) {
    const double a = 2 * M_PI * i / kSides;
    screen.push_back(centre + radius * Vector2d(std::cos(a), std::sin(a)));
  }
  return screen;
}

}  // namespace

std::vector<std::vector<Polygon>> PlanScreens(const VideoScene& scene, const Viewer& viewer,
                                              const std::vector<double>& times, int camera,
                                              double release, std::uint64_t key) {
  const int n_frames = static_cast<int>(times.size()),
            n_markers = static_cast<int>(scene.markers.size());
  std::vector<std::vector<Polygon>> screens(times.size());
  if (scene.occlusions == 0 || n_markers == 0) return screens;
  const double half = scene.cameras[static_cast<std::size_t>(camera)].exposure / 2;
  const std::vector<std::vector<Disc>> discs = DiscsInFrames(scene, viewer, times, half);
  int first = n_frames;
  for (int k = 0; k < n_frames && first == n_frames; ++k)
    if (times[k] > release) first = std::max(kApart, k - kMostHidden);
  std::mt19937_64 random(key);
  std::uniform_real_distribution<double> unit(0, 1);
  struct Taken {
    int marker, from, to;
  };
  std::vector<Taken> taken;
  for (int tries = 0; tries < kTries && static_cast<int>(taken.size()) < scene.occlusions;
       ++tries) {
    const int m = static_cast<int>(unit(random) * n_markers),
              n = kFewestHidden +
                  static_cast<int>(unit(random) * (kMostHidden - kFewestHidden + 1));
    const int from = first + static_cast<int>(unit(random) * std::max(1, n_frames - first)),
              to = from + n - 1;
    // Wide enough that the marker is wholly hidden for a frame at least.
    const double size = n == 2 ? 3.4 : 2 + 1.2 * unit(random), way = 2 * M_PI * unit(random);
    if (from < first || to + kFewestHidden >= n_frames) continue;
    bool fits = true;
    for (const Taken& t : taken)
      fits = fits && (t.marker != m || from > t.to + kApart || to < t.from - kApart);
    double reach = 0;
    for (int k = from - 1; k <= to + 1 && fits; ++k) {
      const Disc& disc = discs[k][m];
      fits = disc.seen;
      // Nor is it behind another marker anyway.
      for (int other = 0; other < n_markers; ++other)
        fits = fits && (other == m ||
                        (discs[k][other].q - disc.q).norm() > disc.radius + discs[k][other].radius);
      reach = std::max(reach, disc.radius);
    }
    if (!fits) continue;
    const double radius = std::max(6.0, size * reach), middle = 0.5 * (from + to);
    const Vector2d step = Vector2d(std::cos(way), std::sin(way)) * (radius + reach) / (0.5 * n);
    // It shows only while it touches its marker and touches no other one.
    for (int k = from; k <= to && fits; ++k) {
      const Vector2d centre = discs[k][m].q + (k - middle) * step;
      for (int other = 0; other < n_markers; ++other)
        fits = fits && (other == m || !discs[k][other].seen ||
                        (discs[k][other].q - centre).norm() > radius + discs[k][other].radius + 2);
    }
    if (!fits) continue;
    taken.push_back({m, from, to});
    for (int k = from; k <= to; ++k)
      screens[k].push_back(RoundScreen(discs[k][m].q + (k - middle) * step, radius));
  }
  return screens;
}

bool IsMp4(const VideoScene& scene) {
  using Codec = VideoWriterOptions::Codec;
  return scene.video.codec != Codec::kFfv1 && scene.video.codec != Codec::kMjpeg;
}

bool StatesRotation(const VideoScene& scene) { return !scene.images && IsMp4(scene); }

void DrawCamera(const VideoScene& scene, const Film& film, int drop, int camera,
                const std::function<void(const DrawnFrame&)>& take) {
  const SceneCamera& settings = scene.cameras[static_cast<std::size_t>(camera)];
  FrameDrawer drawer(scene, camera, film);
  std::vector<double> times;
  for (long long k = 0;; ++k) {
    const double t =
        settings.t_offset + settings.clock_rate * (static_cast<double>(k) / settings.frame_rate);
    if (t > film.end) break;
    times.push_back(t);
  }
  const std::uint64_t key = Mix(Mix(scene.seed, static_cast<std::uint64_t>(drop)),
                                static_cast<std::uint64_t>(camera) + 1);
  const auto screens =
      PlanScreens(scene, drawer.viewer(), times, camera, film.release, Mix(key, 1));
  std::mt19937_64 random(Mix(key, 2));
  std::uniform_real_distribution<double> unit(0, 1);
  DrawnFrame frame;
  frame.camera = camera;
  frame.frame = 0;
  bool repeat = false;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const double lost = unit(random), twice = unit(random);
    // The first frame stays: its stamp is where the recording's time begins.
    if (k > 0 && lost < settings.dropped_share) {
      repeat = false;
      continue;
    }
    if (!repeat) drawer.Draw(times[k], screens[k], Mix(key, 16 + k), &frame.image, &frame.truth);
    frame.stamp = static_cast<double>(k) / settings.frame_rate;
    for (TruthPoint& point : frame.truth) {
      point.drop = drop;
      point.frame = frame.frame;
    }
    take(frame);
    ++frame.frame;
    repeat = k + 1 < times.size() && twice < settings.duplicated_share;
  }
}

}  // namespace pipelines

void CheckVideoScene(const VideoScene& scene) {
  const auto require = [](bool ok, const std::string& key, double found, const char* allowed) {
    if (!ok)
      throw ConfigError(
          fmt::format("scene: {}: found {}, allowed {}", key, FormatNumber(found), allowed));
  };
  require(!scene.motion.body.planar, "body.planar", 1, "a body in space");
  require(scene.motion.body.shape != BodyShape::kPoints, "body.shape points", 1,
          "a body with a surface that can be drawn");
  require(!scene.rig.cameras.empty(), "rig", 0, "at least one camera");
  require(scene.cameras.size() == scene.rig.cameras.size(), "cameras",
          static_cast<double>(scene.cameras.size()), "one for each of the rig");
  for (const RigCamera& item : scene.rig.cameras)
    if (const std::string fault = Fault(item.camera); !fault.empty())
      throw ConfigError(fmt::format("scene: camera {}: {}", item.name, fault));
  for (const SceneCamera& c : scene.cameras) {
    require(c.frame_rate > 0 && std::isfinite(c.frame_rate), "frame_rate_Hz", c.frame_rate,
            "a finite number above 0");
    require(c.exposure > 0 && c.exposure * c.frame_rate <= 1 + 1e-9, "exposure_s", c.exposure,
            "above 0 and at most the time between frames");
    require(std::abs(c.t_line) <= 1e-3, "t_line_s", c.t_line, "from -0.001 to 0.001");
    require(std::abs(c.t_offset) <= 60, "t_offset_s", c.t_offset, "from -60 to 60");
    require(c.clock_rate > 0.5 && c.clock_rate < 2, "clock_rate", c.clock_rate, "from 0.5 to 2");
    require(c.blur >= 0 && c.blur <= 20, "blur_px", c.blur, "from 0 to 20");
    require(c.noise >= 0 && c.noise <= 15, "noise_grey", c.noise, "from 0 to 15");
    require(c.noise_gain >= 0 && c.noise_gain <= 1, "noise_gain_grey", c.noise_gain, "from 0 to 1");
    require(c.dropped_share >= 0 && c.dropped_share < 1, "dropped_share", c.dropped_share,
            "at least 0 and below 1");
    require(c.duplicated_share >= 0 && c.duplicated_share < 1, "duplicated_share",
            c.duplicated_share, "at least 0 and below 1");
    require(c.rotation_deg % 90 == 0 && c.rotation_deg >= 0 && c.rotation_deg < 360, "rotation_deg",
            c.rotation_deg, "0, 90, 180 or 270");
    require(c.rotation_deg == 0 || c.t_line == 0, "rotation_deg", c.rotation_deg,
            "0 where t_line_s is not 0: rows would no longer be rows");
    require(c.rotation_deg == 0 || pipelines::StatesRotation(scene), "rotation_deg", c.rotation_deg,
            "0 in pictures, and in videos of a codec other than H.264: their files cannot state "
            "it");
  }
  for (const SceneMarker& m : scene.markers) {
    require(m.p_BM.allFinite() && m.normal_B.allFinite(), "markers: " + m.name, 0,
            "finite numbers");
    require(m.radius > 0 && m.radius < 1, "markers: radius_m", m.radius, "above 0 and below 1");
    require(m.second_radius >= 0 && m.second_radius < 1, "markers: second_radius_m",
            m.second_radius, "at least 0 and below 1");
  }
  require(scene.clutter >= 0 && scene.clutter <= 10000, "clutter", scene.clutter,
          "from 0 to 10000");
  require(scene.video.b_frames == 0 || (!scene.images && pipelines::IsMp4(scene)),
          "output: b_frames", scene.video.b_frames, "0 where the codec is not H.264");
  require(scene.occlusions >= 0 && scene.occlusions <= 1000, "occlusions", scene.occlusions,
          "from 0 to 1000");
}

}  // namespace impactlab
