#include "tracking/track/guided_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "data/base/error.h"
#include "data/statistics/order_statistic.h"
#include "tracking/marker/fit.h"
#include "tracking/track/detail/model_error.h"

namespace impactlab {
namespace {

constexpr double kGate = 4, kFarthest = 24;  // standard deviations, and [px]
constexpr double kSearchContrast = 4;        // standard deviations of a pixel
constexpr double kLeastHeight = 5;           // [grey levels]
constexpr double kSimilarRadii = 1.6;        // of radii
// of the height of the best position: considered too; too high for chance
constexpr double kSecond = 0.7, kRival = 0.5;
constexpr double kRoughShare = 0.3;  // of the radius, as in the first visit

double SearchReach(const WantedMarker& w) { return std::min(kFarthest, 1.5 + kGate * w.sd); }

bool CanBeSearched(const WantedMarker& w) {
  return w.q.allFinite() && w.radius > 0.5 && w.radius < 200 && std::isfinite(w.sd);
}

// During the exposure [px].
Eigen::Vector2d MotionOf(const WantedMarker& w, double exposure) {
  if (!w.v.allFinite()) return Eigen::Vector2d::Zero();
  return w.v * exposure;
}

// Height of a disc over what is around it, at every pixel of a box: the mean of the disc against
// the fourth quintile of a ring, so that a bar of the same width that runs on to both sides does
// not count.
class Heights {
 public:
  Heights(const GrayImage& image, bool dark, double radius) : image_(image), sign_(dark ? -1 : 1) {
    const int most = static_cast<int>(std::ceil(radius + 4));
    const double inner = std::max(0.8, 0.75 * radius), from = radius + 1.5, to = radius + 3;
    for (int y = -most; y <= most; ++y) {
      for (int x = -most; x <= most; ++x) {
        const double d = std::hypot(x, y);
        if (d <= inner) disc_.emplace_back(x, y);
        if (d >= from && d <= to) ring_.emplace_back(x, y);
      }
    }
  }

  // `level`: of what is around.
  double At(int x, int y, double* level) {
    double sum = 0;
    int n = 0;
    for (const auto& [dx, dy] : disc_) {
      if (!Inside(x + dx, y + dy)) continue;
      sum += Value(x + dx, y + dy);
      ++n;
    }
    values_.clear();
    for (const auto& [dx, dy] : ring_) {
      if (Inside(x + dx, y + dy)) values_.push_back(Value(x + dx, y + dy));
    }
    if (n < 3 || values_.size() < 8) return 0;
    const double background = OrderStatistic(values_, values_.size() * 4 / 5);
    *level = sign_ * background;
    return sum / n - background;
  }

 private:
  bool Inside(int x, int y) const {
    return x >= 0 && y >= 0 && x < image_.width && y < image_.height;
  }
  int Value(int x, int y) const { return sign_ * static_cast<int>(image_.At(x, y)); }

  const GrayImage& image_;
  int sign_;
  std::vector<std::pair<int, int>> disc_, ring_;
  std::vector<int> values_;
};

struct Place {
  int x = 0, y = 0;
  double height = 0, level = 0;
};

// Local maxima inside the reach, highest first, those at its border left out.
std::vector<Place> Peaks(const GrayImage& image, bool dark, const WantedMarker& w) {
  Heights heights(image, dark, w.radius);
  const double reach = SearchReach(w);
  const int left = static_cast<int>(std::floor(w.q.x() - reach)) - 1,
            top = static_cast<int>(std::floor(w.q.y() - reach)) - 1;
  const int n = static_cast<int>(std::ceil(2 * reach)) + 3;
  std::vector<Place> all(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  const auto at = [&](int x, int y) -> Place& {
    return all[static_cast<std::size_t>(y) * static_cast<std::size_t>(n) +
               static_cast<std::size_t>(x)];
  };
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      Place& p = at(x, y);
      p.x = left + x, p.y = top + y;
      p.height = heights.At(p.x, p.y, &p.level);
    }
  }
  std::vector<Place> peaks;
  for (int y = 1; y + 1 < n; ++y) {
    for (int x = 1; x + 1 < n; ++x) {
      const Place& p = at(x, y);
      if (!(p.height >= kLeastHeight)) continue;
      bool top_most = true;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          top_most = top_most && at(x + dx, y + dy).height <= p.height;
      if (top_most) peaks.push_back(p);
    }
  }
  std::sort(peaks.begin(), peaks.end(),
            [](const Place& a, const Place& b) { return a.height > b.height; });
  std::vector<Place> apart;
  for (const Place& p : peaks) {
    const bool alone = std::none_of(apart.begin(), apart.end(), [&](const Place& q) {
      return std::hypot(p.x - q.x, p.y - q.y) < w.radius;
    });
    if (alone) apart.push_back(p);
  }
  return apart;
}

Spot SpotAt(const Place& place, double radius) {
  Spot spot;
  spot.q = {static_cast<double>(place.x), static_cast<double>(place.y)};
  spot.cov = 0.25 * Eigen::Matrix2d::Identity();
  spot.area = M_PI * radius * radius;
  spot.spread = (0.25 * radius * radius + 1.0 / 12) * Eigen::Matrix2d::Identity();
  spot.peak = place.height;
  spot.flux = place.height * spot.area;
  spot.background = place.level;
  const int half = static_cast<int>(std::ceil(radius));
  spot.left = place.x - half, spot.right = place.x + half;
  spot.top = place.y - half, spot.bottom = place.y + half;
  return spot;
}

std::optional<TrackPoint> SearchMarker(const GrayImage& image, const CameraTrackOptions& o,
                                       double blur, const PixelNoise& noise,
                                       const WantedMarker& w) {
  if (!CanBeSearched(w)) return std::nullopt;
  const std::vector<Place> peaks = Peaks(image, o.spots.dark, w);
  MarkerFitOptions fit;
  fit.shape = o.shape;
  fit.noise = noise;
  fit.blur = blur > 0 ? blur : 0.8;
  fit.motion = MotionOf(w, o.exposure);
  constexpr std::size_t kMost = 3;
  for (std::size_t k = 0; k < std::min(kMost, peaks.size()); ++k) {
    const Place& place = peaks[k];
    if (place.height < kSearchContrast * std::sqrt(noise.Variance(std::abs(place.level)))) break;
    if (k > 0 && place.height < kSecond * peaks[0].height) break;
    const Spot spot = SpotAt(place, w.radius);
    const auto best = FitMarker(image, spot, fit);
    const double ratio = best ? best->major / w.radius : 0;
    const bool is_disc = best && (best->flags & kRough) == 0 &&
                         (best->q - spot.q).norm() < 1 + 0.5 * w.radius &&
                         (best->amplitude < 0) == o.spots.dark && ratio < kSimilarRadii &&
                         ratio > 1 / kSimilarRadii && best->minor > 0.4 * best->major;
    TrackPoint p;
    p.marker = -1;
    p.frame = w.frame;
    p.flags = fit.motion.norm() > 1 ? kBlurred : 0u;
    p.amplitude = o.spots.dark ? -place.height : place.height, p.background = std::abs(place.level);
    if (is_disc) {
      p.q = best->q;
      p.flags |= best->flags;
      p.amplitude = best->amplitude, p.background = best->background;
      p.cov =
          best->cov + tracking::kModelError * tracking::kModelError * Eigen::Matrix2d::Identity();
      p.major = best->major, p.minor = best->minor, p.angle = best->angle;
    } else {
      // Where edges of the body cross its image the model fits badly; a single maximum is accepted
      // as the marker all the same.
      const bool alone = k == 0 && (peaks.size() == 1 || peaks[1].height < kRival * place.height);
      if (!alone ||
          place.height < 2 * kSearchContrast * std::sqrt(noise.Variance(std::abs(place.level))))
        break;
      p.q = spot.q;
      p.cov = std::pow(kRoughShare * w.radius, 2) * Eigen::Matrix2d::Identity();
      p.flags |= kRough;
      p.major = p.minor = w.radius;
    }
    if ((p.q - w.q).norm() < SearchReach(w) + 0.5) return p;
  }
  return std::nullopt;
}

}  // namespace

std::vector<TrackPoint> SearchPicture(const GrayImage& image, const CameraTrackOptions& options,
                                      double blur, const PixelNoise& noise,
                                      const std::vector<WantedMarker>& wanted) {
  std::vector<TrackPoint> out;
  for (const WantedMarker& w : wanted) {
    const auto found = SearchMarker(image, options, blur, noise, w);
    if (!found) continue;
    const bool known = std::any_of(out.begin(), out.end(), [&](const TrackPoint& p) {
      return (p.q - found->q).norm() < 0.5 * p.major;
    });
    if (!known) out.push_back(*found);
  }
  return out;
}

FramePart SearchedPart(const WantedMarker& wanted, double exposure) {
  if (!CanBeSearched(wanted)) return {};
  const Eigen::Vector2d motion = MotionOf(wanted, exposure);
  // A disc or a ring about any place within reach, or the box that is fitted there.
  constexpr double kRing = 4, kBox = 8;  // [px]
  const double half = SearchReach(wanted) + 3 +
                      std::max(wanted.radius + kRing,
                               1.5 * wanted.radius + 0.5 * motion.lpNorm<Eigen::Infinity>() + kBox);
  // beyond any picture
  static constexpr double kFar = 1e6;
  const auto whole = [](double x) { return static_cast<int>(std::clamp(x, -kFar, kFar)); };
  return {wanted.frame, whole(std::floor(wanted.q.x() - half)),
          whole(std::floor(wanted.q.y() - half)), whole(std::ceil(wanted.q.x() + half)),
          whole(std::ceil(wanted.q.y() + half))};
}

std::vector<TrackPoint> GuidedSearch(const CameraTrackOptions& options, double blur,
                                     const PixelNoise& noise,
                                     const std::vector<WantedMarker>& wanted, SecondLook* look) {
  std::vector<TrackPoint> out;
  std::vector<WantedMarker> order = wanted;
  std::stable_sort(order.begin(), order.end(),
                   [](const WantedMarker& a, const WantedMarker& b) { return a.frame < b.frame; });
  try {
    for (std::size_t next = 0; next < order.size() && !look->EndsBefore(order[next].frame);) {
      std::vector<WantedMarker> here;
      FramePart part{.frame = order[next].frame};
      for (; next < order.size() && order[next].frame == part.frame; ++next) {
        here.push_back(order[next]);
        part = Union(part, SearchedPart(order[next], options.exposure));
        part.frame = order[next].frame;
      }
      const Frame* frame = look->Find(part);
      if (frame == nullptr) continue;
      for (TrackPoint& p : SearchPicture(frame->image, options, blur, noise, here)) {
        p.t = RowTime(look->source(), look->info(), *frame, p.q.x(), p.q.y());
        out.push_back(p);
      }
    }
  } catch (const DataError&) {
    // What was found before the file broke is kept; the first pass has reported where.
  }
  return out;
}

}  // namespace impactlab
