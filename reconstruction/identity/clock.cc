// Clocks that are off by part of a frame.

#include <algorithm>
#include <cmath>

#include "reconstruction/identity/detail/layout.h"

namespace impactlab::reconstruction {

std::vector<double> ClockShifts(const Scene& scene, const std::vector<double>& frame_times) {
  const std::size_t cameras = scene.rig_camera.size();
  std::vector<double> shifts(cameras, 0);
  std::vector<std::size_t> count(cameras, 0);
  for (const Piece& piece : scene.pieces) count[piece.camera] += piece.t.size();
  const int reference =
      static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
  struct Sight {
    double t;
    Ray ray;
  };
  std::vector<Sight> sights;
  const std::size_t step = std::max<std::size_t>(1, count[reference] / 240);
  std::size_t n = 0;
  for (const Piece& piece : scene.pieces) {
    if (piece.camera != reference) continue;
    for (std::size_t i = 0; i < piece.t.size(); ++i) {
      if (n++ % step) continue;
      const auto ray = RayOf(*scene.rig, scene.rig_camera[reference], {piece.q[i], piece.cov[i]},
                             scene.options.pixel_sd);
      if (ray) sights.push_back({piece.t[i], *ray});
    }
  }
  for (std::size_t c = 0; c < cameras; ++c) {
    if (static_cast<int>(c) == reference || count[c] == 0 || !(frame_times[c] > 0)) continue;
    // Mean of the best meeting of every image of the reference; `wide` [px] keeps a coarse step
    // from stepping over the peak.
    const auto score = [&](double shift, double wide) {
      double sum = 0;
      for (const Sight& s : sights) {
        double best = scene.options.outlier_probability;
        for (const Piece& piece : scene.pieces) {
          if (piece.camera != static_cast<int>(c)) continue;
          const auto image = ImageAtTime(piece, s.t - shift, scene.tolerance);
          if (!image) continue;
          const auto ray = RayOf(*scene.rig, scene.rig_camera[c], *image,
                                 std::hypot(scene.options.pixel_sd, wide));
          const auto miss = ray ? Between(s.ray, *ray, scene.spread.angle) : std::nullopt;
          if (!miss) continue;
          best = std::max(best, miss->pixel / miss->sd *
                                    std::exp(-0.5 * std::pow(miss->distance / miss->sd, 2)));
        }
        sum += std::log(best);
      }
      return sum / static_cast<double>(std::max<std::size_t>(1, sights.size()));
    };
    const double h = frame_times[c];
    double at = 0, best = -1e300;
    for (int k = -15; k <= 15; ++k) {
      const double shift = k * 0.05 * kLargestOffset / 0.75 * h, value = score(shift, 0.5);
      if (value > best) best = value, at = shift;
    }
    best = -1e300;
    double fine = at;
    for (int k = -6; k <= 6; ++k) {
      const double shift = at + k * 0.01 * h, value = score(shift, 0);
      if (value > best) best = value, fine = shift;
    }
    // Half a nat an image, that is, rays which missed by a standard deviation more; less is no
    // reason to doubt a clock, and a little may as well come from the rig.
    if (std::abs(fine) > 0.1 * h && best > score(0, 0) + 0.5) shifts[c] = fine;
  }
  return shifts;
}

std::vector<double> RefinedShifts(const Scene& scene, const std::vector<char>& label,
                                  const std::vector<double>& frame_times) {
  constexpr int kGrid = 10;          // steps of the search to each side
  constexpr double kCorrelated = 8;  // images whose errors have one cause
  constexpr std::size_t kEnough = 20;
  const std::size_t cameras = scene.rig_camera.size();
  std::vector<double> shifts(cameras, 0);
  std::vector<std::size_t> count(cameras, 0);
  for (const Piece& piece : scene.pieces) count[piece.camera] += piece.t.size();
  const int reference =
      static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
  for (std::size_t c = 0; c < cameras; ++c) {
    const double h = frame_times[c];
    if (static_cast<int>(c) == reference || !(h > 0)) continue;
    // Pairs of one marker that stay inside of their pieces whatever the shift: the same ones for
    // all shifts.
    struct Pair {
      const Piece* other;
      double t;
      Ray ray;
    };
    const double reach = kLargestOffset * h;
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
      const Piece& a = scene.pieces[i];
      if (a.camera != reference || label[i] < 0) continue;
      for (std::size_t j = 0; j < scene.pieces.size(); ++j) {
        const Piece& b = scene.pieces[j];
        if (b.camera != static_cast<int>(c) || label[j] != label[i] || b.t.size() < 4) continue;
        for (std::size_t k = 0; k < a.t.size(); ++k) {
          if (a.t[k] - reach < b.t.front() || a.t[k] + reach > b.t.back()) continue;
          const auto ray = RayOf(*scene.rig, scene.rig_camera[reference], {a.q[k], a.cov[k]},
                                 scene.options.pixel_sd);
          if (ray) pairs.push_back({&b, a.t[k], *ray});
        }
      }
    }
    if (pairs.size() < kEnough) continue;
    // Cauchy's: a wrong name or a hidden image is one of many.
    const auto cost = [&](double shift) {
      double sum = 0;
      for (const Pair& pair : pairs) {
        const auto image = ImageAtTime(*pair.other, pair.t - shift, scene.tolerance);
        const auto ray =
            image ? RayOf(*scene.rig, scene.rig_camera[c], *image, scene.options.pixel_sd)
                  : std::nullopt;
        const auto miss = ray ? Between(pair.ray, *ray, scene.spread.angle) : std::nullopt;
        sum += miss ? std::log1p(0.5 * std::pow(miss->distance / miss->sd, 2)) : 5;
      }
      return 2 * sum / kCorrelated;  // -2 ln(likelihood)
    };
    double at = 0, least = 1e300;
    for (int k = -kGrid; k <= kGrid; ++k) {
      const double shift = reach * k / kGrid, value = cost(shift);
      if (value < least) least = value, at = shift;
    }
    double step = reach / kGrid;
    for (int k = 0; k < 8; ++k, step *= 0.5) {
      for (const double shift : {at - step / 2, at + step / 2}) {
        if (std::abs(shift) > reach) continue;
        const double value = cost(shift);
        if (value < least) least = value, at = shift;
      }
    }
    // Nothing to doubt a clock for: less than a twentieth of a frame, or what chance or a crooked
    // rig would do.
    constexpr double kClaim = 16;
    if (std::abs(at) > 0.05 * h && cost(0) > least + kClaim) shifts[c] = at;
  }
  return shifts;
}

}  // namespace impactlab::reconstruction
