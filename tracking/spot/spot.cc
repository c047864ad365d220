#include "tracking/spot/spot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tracking/spot/detail/measure.h"
#include "tracking/spot/detail/pieces.h"
#include "tracking/spot/detail/scan.h"
#include "tracking/spot/detail/threshold.h"
#include "tracking/spot/local.h"

namespace impactlab {

using tracking::Extent;
using tracking::Piece;
using tracking::Pieces;
using tracking::Rect;
using tracking::Run;

namespace {

constexpr int kDepth =
    4;  // how often a patch that is no spot is thresholded again, at a higher level

constexpr double kOwnShare = 0.3;
constexpr double kLong = 3;

// A spot and what the search for neighbours needs.
struct Found {
  Spot spot;
  int first_left = 0;         // of its first run: with `spot.top` it tells one spot from another
  int extents = 0, rows = 0;  // its part of the pool
};

Rect Clip(const Window& window, const GrayImage& image) {
  return {std::max(window.left, 0), std::max(window.top, 0),
          std::min(window.right, image.width - 1), std::min(window.bottom, image.height - 1)};
}

// Whether a pixel of the piece lies in the rect.
bool Meets(const Pieces& pieces, const Piece& piece, const Rect& rect) {
  for (int r = piece.first; r >= 0; r = pieces.runs[r].next) {
    const Run& run = pieces.runs[r];
    if (run.y >= rect.top && run.y <= rect.bottom && run.left <= rect.right &&
        run.right >= rect.left)
      return true;
  }
  return false;
}

}  // namespace

struct SpotFinder::State {
  explicit State(const SpotOptions& o)
      : options(o),
        flip(o.dark ? 0xFF : 0),
        simd(o.portable ? tracking::Simd::kPlain : tracking::BestSimd()),
        measure(o, simd),
        noise(o.noise) {}

  SpotOptions options;
  std::uint8_t flip;
  tracking::Simd simd;
  tracking::SpotMeasure measure;
  PixelNoise noise;
  int level = 0;  // raised, of the picture that is thresholded

  GrayImage difference;  // from the local mean
  tracking::LocalMean local_mean;
  tracking::LevelCounts counts,
      parted;  // of the image, and of the thresholded picture where that is another
  std::array<Pieces, kDepth + 2> pieces;  // of the frame, of pieces cut again, of a spot lowered
  std::vector<Found> found;
  std::vector<Extent> pool;
  std::vector<Spot> spots;

  // The picture that is thresholded, and how it is raised: the image itself or its difference from
  // the local mean.
  const GrayImage& Parted(const GrayImage& image) const {
    return options.local > 0 ? difference : image;
  }
  std::uint8_t PartedFlip() const { return options.local > 0 ? 0 : flip; }

  void SetLevel() {
    noise = options.noise;
    if (options.estimate_noise)
      noise.read = tracking::EstimateRead(counts, options.noise, flip, simd);
    if (options.local > 0) {
      level = options.threshold > 0 ? tracking::kLocalZero + options.threshold
                                    : tracking::ChooseThreshold(parted, noise, 0, simd);
    } else if (options.threshold > 0) {
      level = flip ? 255 - options.threshold : options.threshold;
    } else {
      level = tracking::ChooseThreshold(counts, noise, flip, simd);
    }
    level = std::clamp(level, 0, 255);
  }

  // Raised level of the brightest pixel of a piece.
  int Peak(const GrayImage& parted, const Pieces& set, const Piece& piece) const {
    int peak = 0;
    for (int r = piece.first; r >= 0; r = set.runs[r].next) {
      const Run& run = set.runs[r];
      const std::uint8_t* row =
          parted.pixels.data() + static_cast<std::size_t>(run.y) * parted.width;
      for (int x = run.left; x <= run.right; ++x) peak = std::max<int>(peak, row[x] ^ PartedFlip());
    }
    return peak;
  }

  // Takes a piece as a spot if it is one. What is too large, too long or has two lobes is
  // thresholded at a higher level: markers on a bright body, markers that touch. Returns how many
  // spots came of it.
  int Take(const GrayImage& image, const Piece piece, int at_level, int depth) {
    const Pieces& set = pieces[depth];
    Spot spot;
    tracking::SpotShape shape;
    const double contrast = options.local > 0 ? at_level - tracking::kLocalZero + 0.5 : 0;
    const bool too_large = piece.count > 1.5 * options.area_max;
    const bool stands_out = !too_large && measure.MeasureSpot(image, set.runs, piece, noise,
                                                              at_level, contrast, &spot, &shape);
    if (stands_out && depth == 0 && options.local == 0 && options.threshold == 0)
      Lower(image, piece, at_level, &spot, &shape);
    if (!too_large && !stands_out) return 0;
    const bool fits = !too_large && spot.area >= options.area_min &&
                      spot.area <= options.area_max && shape.elongation <= options.elongation_max;
    const std::size_t own = found.size();
    if (fits) {
      if (shape.lobes) {
        spot.flags |= kTouching;
      } else if (!shape.ellipse) {
        spot.flags |= kHidden;
      }
      const std::vector<Extent>& rows = measure.extents();
      found.push_back({spot, set.runs[piece.first].left, static_cast<int>(pool.size()),
                       static_cast<int>(rows.size())});
      pool.insert(pool.end(), rows.begin(), rows.end());
      if (!shape.lobes && !shape.capped) return 1;
    }
    const std::size_t others = found.size();
    const int parts = piece.count >= 2 * options.area_min ? Cut(image, piece, at_level, depth) : 0;
    if (!fits) return parts;
    double area = 0;
    for (std::size_t i = others; i < found.size(); ++i) area += found[i].spot.area;
    // What is bright on a spot is small beside it, or the spot is merely uneven. One bright part of
    // a round spot is a reflection, one of a long spot its marker.
    const bool small = shape.lobes || area < piece.count / 4;
    if (small && parts >= (shape.lobes || shape.elongation < kLong ? 2 : 1)) {
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(own));
      return parts;
    }
    found.resize(others);
    return 1;
  }

  // A spot that the threshold cuts near its top (a dim marker beside bright ones, the fading ends
  // of a fast one) is thresholded again at kOwnShare of its own height, unless it then merges with
  // something else.
  void Lower(const GrayImage& image, const Piece& piece, int at_level, Spot* spot,
             tracking::SpotShape* shape) {
    const double base = flip ? 255 - spot->background : spot->background,
                 sigma = std::sqrt(noise.Variance(spot->background));
    const double height = spot->peak - 2 * sigma;
    const int lower =
        static_cast<int>(std::lround(base + std::max({3.0, 3 * sigma, kOwnShare * height})));
    if (at_level - base < 1.25 * kOwnShare * height || lower >= at_level - 1) return;
    Pieces& wide = pieces[kDepth + 1];
    const Run first = pieces[0].runs[piece.first];
    int margin = 4 + std::max(piece.right - piece.left, piece.bottom - piece.top) / 2;
    for (int attempt = 0; attempt < 3; ++attempt, margin *= 2) {
      const Rect rect = Clip(
          {piece.left - margin, piece.top - margin, piece.right + margin, piece.bottom + margin},
          image);
      tracking::CollectRuns(image, rect, flip, lower, simd, nullptr, &wide.runs);
      tracking::JoinRuns(piece.count, &wide);
      for (const Piece& whole : wide.pieces) {
        if (!Meets(wide, whole, {first.left, first.y, first.left, first.y})) continue;
        const bool cut = (whole.left == rect.left && rect.left > 0) ||
                         (whole.top == rect.top && rect.top > 0) ||
                         (whole.right == rect.right && rect.right < image.width - 1) ||
                         (whole.bottom == rect.bottom && rect.bottom < image.height - 1);
        if (cut) break;
        if (CountAbove(image, wide, whole, at_level) > piece.count + 2) return;
        Spot other = *spot;
        tracking::SpotShape other_shape = *shape;
        if (whole.count <= 1.5 * options.area_max &&
            measure.MeasureSpot(image, wide.runs, whole, noise, lower, 0, &other, &other_shape) &&
            !other_shape.lobes) {
          *spot = other;
          *shape = other_shape;
        } else {
          // for its extents
          measure.MeasureSpot(image, pieces[0].runs, piece, noise, at_level, 0, spot, shape);
        }
        return;
      }
    }
  }

  // Pixels of a piece above a level.
  double CountAbove(const GrayImage& image, const Pieces& set, const Piece& piece,
                    int above) const {
    std::size_t count = 0;
    for (int r = piece.first; r >= 0; r = set.runs[r].next) {
      const Run& run = set.runs[r];
      const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(run.y) * image.width;
      for (int x = run.left; x <= run.right; ++x) count += (row[x] ^ flip) > above;
    }
    return static_cast<double>(count);
  }

  int Cut(const GrayImage& image, const Piece& piece, int at_level, int depth) {
    if (depth >= kDepth) return 0;
    const GrayImage& parted = Parted(image);
    const int peak = Peak(parted, pieces[depth], piece), level_here = (at_level + peak) / 2;
    const double sigma = std::sqrt(noise.Variance(flip ? 255 - peak : peak));
    if (level_here <= at_level || peak - at_level < 4 * sigma) return 0;
    Pieces& parts = pieces[depth + 1];
    tracking::CollectRuns(parted, {piece.left, piece.top, piece.right, piece.bottom}, PartedFlip(),
                          level_here, simd, nullptr, &parts.runs);
    tracking::JoinRuns(CountMin(), &parts);
    int taken = 0, run = piece.first;
    for (std::size_t i = 0; i < parts.pieces.size(); ++i) {
      // The box also holds parts of other pieces. Both lists go down the rows.
      const Run first = parts.runs[parts.pieces[i].first];
      const std::vector<Run>& whole = pieces[depth].runs;
      while (run >= 0 &&
             (whole[run].y < first.y || (whole[run].y == first.y && whole[run].right < first.left)))
        run = whole[run].next;
      if (run < 0) break;
      if (whole[run].y != first.y || whole[run].left > first.left) continue;
      taken += Take(image, parts.pieces[i], level_here, depth + 1);
    }
    return taken;
  }

  double CountMin() const { return std::max(1.0, options.area_min * 2 / 3); }

  void FindAll(const GrayImage& image) {
    const Rect all{0, 0, image.width - 1, image.height - 1};
    counts.Clear();
    parted.Clear();
    const long long tiles = (static_cast<long long>(image.width) + tracking::kBlock - 1) /
                            tracking::kBlock *
                            ((image.height + tracking::kBand - 1) / tracking::kBand);
    const int every = static_cast<int>(std::max(1ll, tiles / 192));
    tracking::ScanLevels(image, all, flip, every, simd, &counts);
    if (options.local > 0) {
      local_mean.Subtract(image, all, options.local, flip, &difference);
      tracking::ScanLevels(difference, all, 0, every, simd, &parted);
      SetLevel();
    } else {
      SetLevel();
    }
    Part(image, all);
    if (!found.empty() || options.threshold > 0) return;
    // Nothing between what fills tiles and the brightest pixel: markers may be larger than tiles.
    const int second = options.local > 0 ? tracking::SecondThreshold(parted, noise, 0, simd)
                                         : tracking::SecondThreshold(counts, noise, flip, simd);
    if (second == level) return;
    level = second;
    Part(image, all);
  }

  void Part(const GrayImage& image, const Rect& all) {
    tracking::CollectRuns(Parted(image), all, PartedFlip(), level, simd,
                          options.local > 0 ? &parted.high : &counts.high, &pieces[0].runs);
    tracking::JoinRuns(CountMin(), &pieces[0]);
    for (std::size_t i = 0; i < pieces[0].pieces.size(); ++i)
      Take(image, pieces[0].pieces[i], level, 0);
  }

  void FindIn(const GrayImage& image, const std::vector<Window>& windows) {
    counts.Clear();
    parted.Clear();
    if (options.local > 0) {  // of the whole frame: a spot may be followed anywhere
      local_mean.Subtract(image, {0, 0, image.width - 1, image.height - 1}, options.local, flip,
                          &difference);
    }
    for (const Window& window : windows) {
      const Rect rect = Clip(window, image);
      if (rect.empty()) continue;
      tracking::ScanLevels(image, rect, flip, 1, simd, &counts);
      if (options.local > 0) tracking::ScanLevels(difference, rect, 0, 1, simd, &parted);
    }
    if (counts.low.empty()) return;
    SetLevel();
    for (const Window& window : windows) {
      const Rect inside = Clip(window, image);
      if (inside.empty()) continue;
      Grow(image, inside);
      for (std::size_t i = 0; i < pieces[0].pieces.size(); ++i) {
        const Piece& piece = pieces[0].pieces[i];
        if (!Meets(pieces[0], piece, inside)) continue;
        const std::size_t before = found.size();
        Take(image, piece, level, 0);
        const auto known = [&](const Found& f) {
          return std::any_of(found.begin(), found.begin() + before, [&](const Found& g) {
            return g.spot.top == f.spot.top && g.first_left == f.first_left;
          });
        };
        found.erase(std::remove_if(found.begin() + before, found.end(), known), found.end());
      }
    }
  }

  // Pieces of a window, which is enlarged until none of those that meet it is cut by its border.
  void Grow(const GrayImage& image, const Rect& inside) {
    Rect rect = inside;
    for (int step = 8;; step *= 2) {
      tracking::CollectRuns(Parted(image), rect, PartedFlip(), level, simd, nullptr,
                            &pieces[0].runs);
      tracking::JoinRuns(1, &pieces[0]);
      Rect next = rect;
      for (const Piece& piece : pieces[0].pieces) {
        const bool l = piece.left == rect.left && rect.left > 0,
                   r = piece.right == rect.right && rect.right < image.width - 1;
        const bool t = piece.top == rect.top && rect.top > 0,
                   b = piece.bottom == rect.bottom && rect.bottom < image.height - 1;
        if (!(l || r || t || b) || !Meets(pieces[0], piece, inside)) continue;
        if (l) next.left = std::max(0, rect.left - step);
        if (r) next.right = std::min(image.width - 1, rect.right + step);
        if (t) next.top = std::max(0, rect.top - step);
        if (b) next.bottom = std::min(image.height - 1, rect.bottom + step);
      }
      if (next.left == rect.left && next.right == rect.right && next.top == rect.top &&
          next.bottom == rect.bottom)
        return;
      rect = next;
    }
  }

  // Marks spots that reach into the rim of another, and hands them all out in the order of their
  // rows.
  void Finish() {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return a.spot.top != b.spot.top ? a.spot.top < b.spot.top : a.first_left < b.first_left;
    });
    const int rim = std::max(0, options.rim);
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = i + 1;
           j < found.size() && found[j].spot.top <= found[i].spot.bottom + rim; ++j) {
        if (!Near(found[i], found[j], rim)) continue;
        found[i].spot.flags |= kTouching;
        found[j].spot.flags |= kTouching;
      }
    }
    for (const Found& f : found) spots.push_back(f.spot);
  }

  bool Near(const Found& a, const Found& b, int rim) const {
    if (a.spot.right + rim < b.spot.left || b.spot.right + rim < a.spot.left) return false;
    for (int i = 0; i < b.rows; ++i) {
      const Extent& u = pool[b.extents + i];
      const int y = b.spot.top + i - a.spot.top;
      for (int k = std::max(0, y - rim); k <= std::min(a.rows - 1, y + rim); ++k) {
        const Extent& v = pool[a.extents + k];
        if (u.left - rim <= v.right && v.left - rim <= u.right) return true;
      }
    }
    return false;
  }
};

SpotFinder::SpotFinder(const SpotOptions& options) : state_(std::make_unique<State>(options)) {}
SpotFinder::~SpotFinder() = default;
SpotFinder::SpotFinder(SpotFinder&&) noexcept = default;
SpotFinder& SpotFinder::operator=(SpotFinder&&) noexcept = default;

const std::vector<Spot>& SpotFinder::FindSpots(const GrayImage& image) {
  state_->found.clear();
  state_->pool.clear();
  state_->spots.clear();
  if (image.width > 0 && image.height > 0) state_->FindAll(image);
  state_->Finish();
  return state_->spots;
}

const std::vector<Spot>& SpotFinder::FindSpots(const GrayImage& image,
                                               const std::vector<Window>& windows) {
  state_->found.clear();
  state_->pool.clear();
  state_->spots.clear();
  if (image.width > 0 && image.height > 0) state_->FindIn(image, windows);
  state_->Finish();
  return state_->spots;
}

int SpotFinder::threshold() const {
  if (state_->options.local > 0) return state_->level - tracking::kLocalZero;
  return state_->flip ? 255 - state_->level : state_->level;
}

const PixelNoise& SpotFinder::noise() const { return state_->noise; }

}  // namespace impactlab
