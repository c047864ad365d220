// A simulated motion as a gray video: silhouettes from the side, in space in perspective.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/image.h"
#include "pipelines/config/run_context.h"
#include "pipelines/page/raster.h"
#include "pipelines/simulate/simulate.h"
#include "tracking/video/writer.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using pipelines::Polygon;

constexpr int kWidth = 960, kHeight = 540;
constexpr double kRate = 50;  // frames a second
constexpr int kMostVideoFrames = 60 * 60 * 50;
constexpr double kAzimuth = -0.7, kElevation = 0.28;  // of the view in space
constexpr float kPaper = 245, kGround = 205, kEdge = 90;
constexpr float kTones[] = {60, 120, 90, 150};

// Whatever moves, and the planes it meets, seen from one place.
class Stage {
 public:
  Stage(const Scenario& scenario, const SimulatedMotion& motion) : planar_(scenario.planar()) {
    Vector3d low = Vector3d::Constant(INFINITY), high = -low;
    double size = 0;
    for (const MotionSample& sample : motion.samples) {
      const std::vector<Isometry3d> poses = scenario.poses(sample.state);
      for (std::size_t k = 0; k < poses.size(); ++k) {
        const pipelines::DrawnPart& part = scenario.parts[k];
        const double around = std::max(part.ball_radius, part.thickness / 2);
        for (const Vector3d& p_B : part.points_B) {
          const Vector3d p = poses[k] * p_B;
          low = low.cwiseMin(p - Vector3d::Constant(around));
          high = high.cwiseMax(p + Vector3d::Constant(around));
          size = std::max(size, p_B.norm() + around);
        }
      }
    }
    middle_ = 0.5 * (low + high);
    const Vector3d span = high - low;
    radius_ = std::max(size, 0.5 * span.norm());
    scale_ = planar_
                 ? std::min(kWidth / (1.15 * span.x() + size), kHeight / (1.15 * span.z() + size))
                 : 0.46 * kHeight / radius_;
  }

  double radius() const { return radius_; }
  const Vector3d& middle() const { return middle_; }
  // Pixels a metre takes at p.
  double Scale(const Vector3d& p) const { return planar_ ? scale_ : scale_ * Nearness(p); }
  Vector2d At(const Vector3d& p) const {
    const Vector3d d = p - middle_;
    if (planar_) return {0.5 * kWidth + scale_ * d.x(), 0.5 * kHeight - scale_ * d.z()};
    const double near = scale_ * Nearness(p);
    const double ahead = Ahead(d);
    return {0.5 * kWidth + near * (std::cos(kAzimuth) * d.x() + std::sin(kAzimuth) * d.y()),
            0.5 * kHeight - near * (std::cos(kElevation) * d.z() + std::sin(kElevation) * ahead)};
  }

 private:
  static double Ahead(const Vector3d& d) {
    return std::cos(kAzimuth) * d.y() - std::sin(kAzimuth) * d.x();
  }
  double Nearness(const Vector3d& p) const {
    const Vector3d d = p - middle_;
    const double depth = std::cos(kElevation) * Ahead(d) - std::sin(kElevation) * d.z();
    return 4 * radius_ / std::max(0.5 * radius_, 4 * radius_ + depth);
  }

  bool planar_;
  Vector3d middle_;
  double radius_ = 1, scale_ = 1;
};

class Canvas {
 public:
  Canvas() : light_(static_cast<std::size_t>(kWidth) * kHeight, kPaper) {}

  void Fill(const std::vector<Polygon>& polygons, float tone) {
    const pipelines::Box all{0, 0, kWidth, kHeight};
    pipelines::Box box;
    for (const Polygon& polygon : polygons)
      box = pipelines::Union(box, pipelines::Intersection(pipelines::Bounds(polygon), all));
    if (box.empty()) return;
    sum_.Reset(box, 1);
    for (const Polygon& polygon : polygons)
      sum_.Add(polygon, pipelines::Area(polygon) < 0 ? -1 : 1);
    sum_.Finish(&cover_);
    for (int y = box.y0; y < box.y1; ++y) {
      const float* row = cover_.Row(y - box.y0);
      float* light =
          &light_[static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(box.x0)];
      for (int x = 0; x < box.width(); ++x)
        light[x] += (tone - light[x]) * std::clamp(row[x], 0.0f, 1.0f);
    }
  }
  void Line(const Vector2d& a, const Vector2d& b, double width, float tone) {
    std::vector<Polygon> shapes;
    const Vector2d d = b - a;
    if (d.norm() > 0) {
      const Vector2d side = 0.5 * width * Vector2d(-d.y(), d.x()).normalized();
      shapes.push_back({a + side, b + side, b - side, a - side});
    }
    Fill(shapes, tone);
  }
  void Disc(const Vector2d& centre, double radius, float tone) {
    Polygon polygon;
    for (int i = 0; i < 48; ++i) {
      const double angle = 2 * M_PI * i / 48;
      polygon.push_back(centre + radius * Vector2d(std::cos(angle), std::sin(angle)));
    }
    Fill({polygon}, tone);
  }
  GrayImage Image() const {
    GrayImage image{kWidth, kHeight, std::vector<std::uint8_t>(light_.size())};
    std::transform(light_.begin(), light_.end(), image.pixels.begin(),
                   [](float v) { return static_cast<std::uint8_t>(std::lround(v)); });
    return image;
  }

 private:
  std::vector<float> light_;
  pipelines::AreaSum sum_;
  pipelines::Grid cover_;
};

void DrawPlane(const Stage& stage, const pipelines::DrawnPlane& plane, bool planar, double t,
               Canvas& canvas) {
  const Vector3d& n = plane.normal;
  const Vector3d foot = stage.middle() + (plane.OffsetAt(t) - n.dot(stage.middle())) * n;
  if (planar) {
    const Vector3d far = 6 * stage.radius() * Vector3d(n.z(), 0, -n.x()) +
                         2000 / stage.Scale(foot) * Vector3d(n.z(), 0, -n.x());
    const Vector3d down = -far.norm() * n;
    canvas.Fill({{stage.At(foot - far), stage.At(foot + far), stage.At(foot + far + down),
                  stage.At(foot - far + down)}},
                kGround);
    canvas.Line(stage.At(foot - far), stage.At(foot + far), 1.5, kEdge);
    return;
  }
  const Vector3d u = n.unitOrthogonal(), v = n.cross(u);
  const double reach = stage.radius();
  for (int i = -8; i <= 8; ++i) {
    const double s = reach * i / 8;
    canvas.Line(stage.At(foot + s * u - reach * v), stage.At(foot + s * u + reach * v), 1, kGround);
    canvas.Line(stage.At(foot + s * v - reach * u), stage.At(foot + s * v + reach * u), 1, kGround);
  }
}

void DrawPart(const Stage& stage, const pipelines::DrawnPart& part, const Isometry3d& pose,
              bool planar, float tone, Canvas& canvas) {
  std::vector<Vector3d> points;
  for (const Vector3d& p : part.points_B) points.push_back(pose * p);
  const auto at = [&](int i) { return stage.At(points[static_cast<std::size_t>(i)]); };
  for (const std::vector<int>& face : part.faces) {
    Polygon polygon;
    for (const int i : face) polygon.push_back(at(i));
    // Rows of a picture run downwards: faces seen from outside turn clockwise in it, of negative
    // area.
    double area = 0;
    for (std::size_t k = 0; k < polygon.size(); ++k) {
      const Vector2d &a = polygon[k], &b = polygon[(k + 1) % polygon.size()];
      area += a.x() * b.y() - b.x() * a.y();
    }
    if (!planar && area > 0) continue;
    canvas.Fill({polygon}, tone);
    for (std::size_t k = 0; k < polygon.size(); ++k)
      canvas.Line(polygon[k], polygon[(k + 1) % polygon.size()], 1.5, 20);
  }
  if (part.ball_radius > 0)
    canvas.Disc(at(0), std::max(3.0, part.ball_radius * stage.Scale(points[0])), tone);
  for (const std::vector<int>& line : part.lines) {
    const double width =
        part.thickness > 0
            ? std::max(2.0, part.thickness * stage.Scale(points[static_cast<std::size_t>(line[0])]))
            : 2;
    for (std::size_t k = 0; k + 1 < line.size(); ++k)
      canvas.Line(at(line[k]), at(line[k + 1]), width, part.thickness > 0 ? tone : 20);
    if (part.thickness > 0)
      for (const int i : line) canvas.Disc(at(i), width / 2, tone);
  }
}

}  // namespace

void WriteMotionVideo(const std::filesystem::path& path, const Scenario& scenario,
                      const SimulatedMotion& motion, double speed, const RunContext& context) {
  if (!(speed > 0 && std::isfinite(speed)))
    throw ConfigError(fmt::format("--speed: found {}, allowed a number above 0", speed));
  const double first = motion.samples.front().state.t, last = motion.samples.back().state.t;
  const double frames = std::ceil((last - first) / speed * kRate) + 1;
  if (frames > kMostVideoFrames)
    throw ConfigError(
        fmt::format("--speed: found {}, which makes {:.0f} frames, allowed at most {} (an hour)",
                    speed, frames, kMostVideoFrames));
  const Stage stage(scenario, motion);
  VideoWriterOptions options;
  options.codec = path.extension() == ".avi" ? VideoWriterOptions::Codec::kMjpeg
                                             : VideoWriterOptions::Codec::kH264;
  if (path.extension() == ".avi") options.quality = 3;
  VideoWriter writer(path, kWidth, kHeight, options);
  for (int i = 0; i < static_cast<int>(frames); ++i) {
    context.CheckCancelled();
    const double t = std::min(last, first + i * speed / kRate);
    Canvas canvas;
    for (const pipelines::DrawnPlane& plane : scenario.planes)
      DrawPlane(stage, plane, scenario.planar(), t, canvas);
    const std::vector<Isometry3d> poses = pipelines::PosesAt(scenario, motion, t);
    for (std::size_t k = 0; k < poses.size(); ++k)
      DrawPart(stage, scenario.parts[k], poses[k], scenario.planar(), kTones[k % std::size(kTones)],
               canvas);
    writer.Write(canvas.Image(), i / kRate);
  }
  writer.Finish();
}

}  // namespace impactlab
