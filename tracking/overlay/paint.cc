#include "tracking/overlay/detail/paint.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>

namespace impactlab::tracking {
namespace {

constexpr std::array<PointState, 7> kStates = {
    {{kPredicted, "predicted", {255, 225, 70}},
     {kOutlier, "outlier", {255, 70, 60}},
     {kImpact, "impact", {255, 90, 225}},
     {kHidden | kCut | kTouching, "hidden, cut, touching", {90, 195, 255}},
     {kSaturated | kFaint | kRough, "saturated, faint, rough", {255, 145, 40}},
     {kManual | kImported | kRelabelled, "by hand, imported", {195, 150, 255}},
     {0, "measured", {75, 230, 120}}}};
constexpr double kLargestGate = 150;  // [px] of the picture

struct Box {
  double left, top, right, bottom;
  double Overlap(const Box& o) const {
    return std::max(0.0, std::min(right, o.right) - std::max(left, o.left)) *
           std::max(0.0, std::min(bottom, o.bottom) - std::max(top, o.top));
  }
};

struct Shown {
  const TrackPoint* point;
  Eigen::Vector2d q;  // in the picture
  double radius;      // of its outline
};

Box Around(const Shown& s) {
  return {s.q.x() - s.radius, s.q.y() - s.radius, s.q.x() + s.radius, s.q.y() + s.radius};
}

void PaintTrail(ColorImage* image, const View& view, const PointRange& range, long long frame,
                const OverlayOptions& options, double width) {
  for (const TrackPoint* p = range.first; p != range.last && p + 1 != range.last; ++p) {
    const TrackPoint& next = p[1];
    const double age = static_cast<double>(frame - next.frame) / std::max(1, options.trail);
    Pen pen{StateOf(next.flags).color, width, 0.85 * (1 - age) + 0.08, 0};
    // A gap in the points, or predictions.
    const bool bridged = next.frame - p->frame > 1 || ((next.flags | p->flags) & kPredicted) != 0;
    const Eigen::Vector2d a = view.At(p->q), b = view.At(next.q);
    if (bridged) {
      // A short step is a dash or a gap by its number; a long one is dashed itself.
      if ((b - a).norm() > 12) pen.dash = 4;
      if ((b - a).norm() <= 12 && next.frame % 2 == 0) continue;
    }
    DrawPaths(image, {{a, b}}, pen);
  }
}

void PaintGate(ColorImage* image, const Shown& s, const View& view, const OverlayOptions& options,
               double width) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> axes(s.point->cov);
  if (axes.info() != Eigen::Success || !(axes.eigenvalues()(0) > 0)) return;
  const bool predicted = (s.point->flags & kPredicted) != 0;
  const double factor = 3 * view.scale * (predicted ? 1 : options.ellipse_scale);
  const Eigen::Vector2d axis = axes.eigenvectors().col(1);
  const double major = std::min(kLargestGate, factor * std::sqrt(axes.eigenvalues()(1)));
  const double minor = std::min(kLargestGate, factor * std::sqrt(axes.eigenvalues()(0)));
  DrawEllipse(
      image, s.q, std::max(major, 2.0), std::max(minor, 2.0), std::atan2(axis.y(), axis.x()),
      {StateOf(s.point->flags).color, 0.75 * width, predicted ? 0.95 : 0.6, predicted ? 5.0 : 0});
}

// Beside its marker where nothing else stands: the first free of several places, else the least
// covered.
void PaintLabel(ColorImage* image, const Shown& s, const std::string& name, double height,
                std::vector<Box>* taken) {
  const double width = TextWidth(name, height);
  Box best{};
  double least = HUGE_VAL;
  for (const double away : {5.0, 18.0, 34.0}) {
    for (const auto& [dx, dy] :
         {std::pair{1, -1}, {1, 1}, {-1, -1}, {-1, 1}, {1, 0}, {-1, 0}, {0, -1}, {0, 1}}) {
      const double reach = 0.75 * s.radius + away;
      const double x = s.q.x() + dx * reach - (dx < 0 ? width : dx == 0 ? width / 2 : 0);
      const double y = s.q.y() + dy * reach - (dy < 0 ? height : dy == 0 ? height / 2 : 0);
      const Box box{x - 2, y - 2, x + width + 2, y + height + 3};
      double cost = away * 0.5;
      for (const Box& other : *taken) cost += box.Overlap(other);
      const double inside = box.Overlap({0, 0, image->width - 1.0, image->height - 1.0});
      cost += 20 * ((box.right - box.left) * (box.bottom - box.top) - inside);
      if (cost < least) least = cost, best = box;
    }
  }
  const Eigen::Vector2d middle((best.left + best.right) / 2, (best.top + best.bottom) / 2);
  const Eigen::Vector2d anchor(std::clamp(s.q.x(), best.left, best.right),
                               std::clamp(s.q.y(), best.top, best.bottom));
  const Eigen::Vector2d direction = anchor - s.q;
  if (direction.norm() > s.radius + 12)
    DrawPaths(image, {{s.q + direction.normalized() * (s.radius + 2), anchor}},
              {{255, 255, 255}, 1, 0.6, 0});
  DrawText(image, {best.left + 2, best.top + 2}, name, height, StateOf(s.point->flags).color);
  taken->push_back(best);
}

}  // namespace

const PointState& StateOf(std::uint32_t flags) {
  for (const PointState& state : kStates)
    if ((flags & state.flags) != 0) return state;
  return kStates.back();
}

double LetterHeight(int width, int height) {
  return std::clamp(0.011 * std::hypot(width, height) * 0.72, 7.0, 22.0);
}

PointRange PointsOf(const MarkerTracks& tracks, int camera, int marker, long long from,
                    long long to) {
  const auto less = [](const TrackPoint& p, const std::tuple<int, int, long long>& key) {
    return std::tie(p.camera, p.marker, p.frame) < key;
  };
  const TrackPoint* begin = tracks.points.data();
  const TrackPoint* end = begin + tracks.points.size();
  return {std::lower_bound(begin, end, std::tuple(camera, marker, from), less),
          std::lower_bound(begin, end, std::tuple(camera, marker, to + 1), less)};
}

void PaintMarkers(ColorImage* image, const View& view, const MarkerTracks& tracks, int camera,
                  long long frame, double letters, const OverlayOptions& options) {
  const double width = std::max(1.2, letters / 6);
  std::vector<Shown> shown;
  for (int marker = 0; marker < static_cast<int>(tracks.markers.size()); ++marker) {
    const PointRange range = PointsOf(tracks, camera, marker, frame - options.trail, frame);
    if (range.first == range.last) continue;
    if (options.trail > 0) PaintTrail(image, view, range, frame, options, width);
    const TrackPoint& p = range.last[-1];
    if (p.frame != frame) continue;
    const double radius = std::max({p.major, p.minor, 0.0}) * view.scale;
    shown.push_back({&p, view.At(p.q), radius > 0 ? radius : 4});
  }
  std::vector<Box> taken;
  for (const Shown& s : shown) {
    const TrackPoint& p = *s.point;
    const bool predicted = (p.flags & kPredicted) != 0;
    const Pen pen{StateOf(p.flags).color, width, 1, predicted ? 4.0 : 0};
    if (options.gates) PaintGate(image, s, view, options, width);
    if (p.major > 0 && p.minor > 0) {
      DrawEllipse(image, s.q, p.major * view.scale, p.minor * view.scale, p.angle, pen);
    } else {
      DrawEllipse(image, s.q, 4, 4, 0, pen);
    }
    const double arm = std::clamp(0.35 * s.radius, 2.0, 6.0);
    DrawPaths(image,
              {{s.q - Eigen::Vector2d(arm, 0), s.q + Eigen::Vector2d(arm, 0)},
               {s.q - Eigen::Vector2d(0, arm), s.q + Eigen::Vector2d(0, arm)}},
              {StateOf(p.flags).color, 1.1, 0.9, 0});
    taken.push_back(Around(s));
  }
  if (!options.labels) return;
  for (const Shown& s : shown)
    PaintLabel(image, s, tracks.markers[static_cast<std::size_t>(s.point->marker)], letters,
               &taken);
}

void PaintLegend(ColorImage* image, const MarkerTracks& tracks, int camera,
                 const OverlayOptions& options) {
  if (image->width < 300 || image->height < 180) return;
  std::array<bool, kStates.size()> occurs{};
  const PointRange all = {tracks.points.data(), tracks.points.data() + tracks.points.size()};
  bool any = false;
  for (const TrackPoint* p = all.first; p != all.last; ++p) {
    if (p->camera != camera) continue;
    occurs[static_cast<std::size_t>(&StateOf(p->flags) - kStates.data())] = any = true;
  }
  if (!any) return;
  std::vector<const PointState*> lines;
  if (occurs.back()) lines.push_back(&kStates.back());
  for (std::size_t k = 0; k + 1 < kStates.size(); ++k)
    if (occurs[k]) lines.push_back(&kStates[k]);
  const double height = 0.9 * LetterHeight(image->width, image->height), row = 1.9 * height;
  const std::string note =
      options.gates ? fmt::format("ellipses: 3 sd x {:g}, predicted x 1", options.ellipse_scale)
                    : "";
  double widest = TextWidth(note, height);
  for (const PointState* s : lines)
    widest = std::max(widest, TextWidth(s->name, height) + 2.2 * height);
  const double rows = static_cast<double>(lines.size()) + (note.empty() ? 0 : 1);
  const double left = height, top = image->height - 1 - height - rows * row - 0.4 * height;
  FillBox(image, left, top, left + widest + 2 * height, image->height - 1 - height, {12, 14, 18},
          0.62);
  double y = top + 0.9 * height;
  for (const PointState* s : lines) {
    const Eigen::Vector2d swatch(left + 1.5 * height, y + height / 2);
    DrawEllipse(image, swatch, 0.6 * height, 0.6 * height, 0,
                {s->color, std::max(1.3, height / 5), 1, s->flags == kPredicted ? 3.0 : 0});
    DrawText(image, {left + 3.2 * height, y}, s->name, height, {235, 235, 235}, false);
    y += row;
  }
  if (!note.empty()) DrawText(image, {left + height, y}, note, height, {190, 195, 200}, false);
}

void PaintCaption(ColorImage* image, double left, double top, const std::string& text,
                  double height) {
  FillBox(image, left, top, left + TextWidth(text, height) + 1.6 * height, top + 2 * height,
          {12, 14, 18}, 0.62);
  DrawText(image, {left + 0.8 * height, top + 0.5 * height}, text, height, {240, 240, 240}, false);
}

std::string FrameText(long long frame, double t) {
  return fmt::format("frame {}  t {:.6f} s", frame, t);
}

}  // namespace impactlab::tracking
