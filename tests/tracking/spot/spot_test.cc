#include "tracking/spot/spot.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "data/statistics/statistics.h"
#include "tests/support/allocations.h"
#include "tests/support/discs.h"
#include "tests/tracking/spot/spot_trials.h"
#include "tracking/spot/detail/pieces.h"
#include "tracking/spot/detail/scan.h"
#include "tracking/spot/detail/sums.h"

namespace impactlab {
namespace {

using test::Disc;
using test::Draw;
using tracking::Simd;

GrayImage SpotUniform(int width, int height, int level) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height,
                                    static_cast<std::uint8_t>(level))};
}
GrayImage Inverted(GrayImage image) {
  for (std::uint8_t& v : image.pixels) v = 255 - v;
  return image;
}
std::vector<Spot> Spots(const GrayImage& image, const SpotOptions& options = {}) {
  return SpotFinder(options).FindSpots(image);
}

void ExpectSame(const std::vector<Spot>& a, const std::vector<Spot>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].q, b[i].q);
    EXPECT_EQ(a[i].cov, b[i].cov);
    EXPECT_EQ(a[i].area, b[i].area);
    EXPECT_EQ(a[i].flux, b[i].flux);
    EXPECT_EQ(a[i].background, b[i].background);
    EXPECT_EQ(a[i].flags, b[i].flags);
  }
}

TEST(SpotScan, VectorCodeAgreesWithPlainCode) {
  std::mt19937_64 rng(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int width = 1 + static_cast<int>(rng() % 150), height = 1 + static_cast<int>(rng() % 50);
    GrayImage image = SpotUniform(width, height, 0);
    for (std::uint8_t& v : image.pixels)
      v = static_cast<std::uint8_t>(rng() % 4 == 0 ? 255 * (rng() % 2) : rng());
    const std::uint8_t flip = trial % 2 ? 0xFF : 0;
    const int level = static_cast<int>(rng() % 256), every = 1 + trial % 3;
    const tracking::Rect rect{static_cast<int>(rng() % width), static_cast<int>(rng() % height),
                              width - 1, height - 1};
    std::vector<tracking::Extent> rows(rect.height());
    for (tracking::Extent& row : rows) {
      row.left = rect.left + static_cast<int>(rng() % rect.width());
      row.right = row.left - 1 + static_cast<int>(rng() % (width - row.left + 1));
    }
    const int base = static_cast<int>(rng() % 256), limit = 1 + static_cast<int>(rng() % 255);
    tracking::LevelCounts counts[3];
    std::vector<tracking::Run> runs[3];
    const Simd kinds[] = {Simd::kPlain, Simd::kSse2, tracking::BestSimd()};
    for (int k = 0; k < 3; ++k) {
      tracking::ScanLevels(image, rect, flip, every, kinds[k], &counts[k]);
      EXPECT_EQ(counts[k].low, counts[0].low);
      EXPECT_EQ(counts[k].high, counts[0].high);
      EXPECT_EQ(counts[k].sample, counts[0].sample);
      EXPECT_EQ(counts[k].difference, counts[0].difference);
      tracking::CollectRuns(image, rect, flip, level, kinds[k], &counts[k].high, &runs[k]);
      std::vector<tracking::Run> direct;
      tracking::CollectRuns(image, rect, flip, level, kinds[k], nullptr, &direct);
      ASSERT_EQ(runs[k].size(), runs[0].size());
      ASSERT_EQ(direct.size(), runs[0].size()) << "what the tiles rule out holds nothing";
      for (std::size_t i = 0; i < direct.size(); ++i) {
        EXPECT_TRUE(direct[i].left == runs[k][i].left && direct[i].right == runs[k][i].right &&
                    direct[i].y == runs[k][i].y);
        EXPECT_TRUE(runs[0][i].left == runs[k][i].left && runs[0][i].right == runs[k][i].right &&
                    runs[0][i].y == runs[k][i].y);
      }
      const auto& p = image.pixels;
      EXPECT_EQ(tracking::CountUpTo(p.data(), p.size(), level, kinds[k]),
                tracking::CountUpTo(p.data(), p.size(), level, Simd::kPlain));
      const auto range = tracking::SumBetween(p.data(), p.size(), std::min(base, level),
                                              std::max(base, level), kinds[k]);
      const auto plain = tracking::SumBetween(p.data(), p.size(), std::min(base, level),
                                              std::max(base, level), Simd::kPlain);
      EXPECT_TRUE(range.n == plain.n && range.sum == plain.sum && range.squares == plain.squares);
      const auto a = tracking::SumAperture(image, rows, rect.top, rect.left, base, limit, kinds[k]);
      const auto b =
          tracking::SumAperture(image, rows, rect.top, rect.left, base, limit, Simd::kPlain);
      EXPECT_TRUE(a.d == b.d && a.dx == b.dx && a.dy == b.dy && a.dxx == b.dxx && a.dxy == b.dxy &&
                  a.dyy == b.dyy);
      EXPECT_TRUE(a.clamped == b.clamped && a.lowest == b.lowest && a.highest == b.highest);
    }
  }
}

TEST(SpotScan, RanksAreThoseOfTheSortedValuesWhateverTheGuess) {
  std::mt19937_64 rng(21);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::uint8_t> values(1 + rng() % (trial % 3 == 0 ? 4000 : 200));
    const int centre = static_cast<int>(rng() % 256), spread = 1 + static_cast<int>(rng() % 60);
    for (std::uint8_t& v : values)
      v = static_cast<std::uint8_t>(
          std::clamp<int>(centre + static_cast<int>(rng() % spread) - spread / 2, 0, 255));
    std::vector<std::uint8_t> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t rank = 1 + rng() % values.size();
    const int guess = static_cast<int>(rng() % 256);
    for (const Simd simd : {Simd::kPlain, Simd::kSse2, tracking::BestSimd()}) {
      EXPECT_EQ(tracking::RankLevel(values.data(), values.size(), rank, guess, simd),
                sorted[rank - 1]);
      EXPECT_EQ(tracking::RankLevel(values.data(), values.size(), values.size() + 1, guess, simd),
                255);
    }
  }
}

TEST(SpotScan, TilesKnowTheirLevels) {
  std::mt19937_64 rng(22);
  for (const int width : {20, 32, 41, 64, 70, 97, 160}) {
    GrayImage image = SpotUniform(width, 37, 0);
    for (std::uint8_t& v : image.pixels) v = static_cast<std::uint8_t>(rng());
    const std::uint8_t flip = width % 2 ? 0xFF : 0;
    tracking::LevelCounts counts;
    tracking::ScanLevels(image, {0, 0, width - 1, 36}, flip, 1, tracking::BestSimd(), &counts);
    const int blocks = (width + tracking::kBlock - 1) / tracking::kBlock;
    ASSERT_EQ(counts.low.size(), static_cast<std::size_t>(3 * blocks));
    for (int band = 0; band < 3; ++band) {
      for (int k = 0; k < blocks; ++k) {
        const int left = std::max(0, std::min(k * tracking::kBlock, width - tracking::kBlock));
        int low = 255, high = 0;
        for (int x = left; x < std::min(left + tracking::kBlock, width); ++x) {
          int most = 0;
          for (int y = band * tracking::kBand; y < std::min(37, (band + 1) * tracking::kBand); ++y)
            most = std::max(most, image.At(x, y) ^ flip);
          low = std::min(low, most);
          high = std::max(high, most);
        }
        EXPECT_EQ(counts.low[band * blocks + k], low);
        EXPECT_EQ(counts.high[band * blocks + k], high);
      }
    }
  }
}

TEST(SpotPieces, AreTheConnectedComponents) {
  std::mt19937_64 rng(12);
  for (int trial = 0; trial < 40; ++trial) {
    const int w = 1 + static_cast<int>(rng() % 70), h = 1 + static_cast<int>(rng() % 40),
              share = 10 + static_cast<int>(rng() % 60);
    GrayImage image = SpotUniform(w, h, 0);
    for (std::uint8_t& v : image.pixels) v = static_cast<int>(rng() % 100) < share ? 200 : 0;
    tracking::Pieces pieces;
    tracking::CollectRuns(image, {0, 0, w - 1, h - 1}, 0, 100, tracking::BestSimd(), nullptr,
                          &pieces.runs);
    tracking::JoinRuns(1, &pieces);
    // Flood fill.
    std::vector<int> label(image.pixels.size(), -1);
    std::vector<double> count, sum_x;
    for (int start = 0; start < w * h; ++start) {
      if (image.pixels[start] == 0 || label[start] >= 0) continue;
      std::vector<int> stack{start};
      label[start] = static_cast<int>(count.size());
      count.push_back(0);
      sum_x.push_back(0);
      while (!stack.empty()) {
        const int i = stack.back(), x = i % w, y = i / w;
        stack.pop_back();
        ++count.back();
        sum_x.back() += x;
        for (int v = std::max(0, y - 1); v <= std::min(h - 1, y + 1); ++v) {
          for (int u = std::max(0, x - 1); u <= std::min(w - 1, x + 1); ++u) {
            if (image.At(u, v) == 0 || label[v * w + u] >= 0) continue;
            label[v * w + u] = label[start];
            stack.push_back(v * w + u);
          }
        }
      }
    }
    ASSERT_EQ(pieces.pieces.size(), count.size());
    for (std::size_t i = 0; i < count.size(); ++i) {  // both in the order of their first pixel
      EXPECT_EQ(pieces.pieces[i].count, count[i]);
      EXPECT_EQ(pieces.pieces[i].x, sum_x[i]);
    }
  }
}

TEST(Spot, MeasuresASquareExactly) {
  GrayImage image = SpotUniform(64, 48, 20);
  for (int y = 10; y <= 16; ++y) {
    for (int x = 30; x <= 36; ++x) image.At(x, y) = 200;
  }
  const auto spots = Spots(image);
  ASSERT_EQ(spots.size(), 1u);
  const Spot& s = spots[0];
  EXPECT_NEAR(s.q.x(), 33, 1e-9);
  EXPECT_NEAR(s.q.y(), 13, 1e-9);
  EXPECT_NEAR(s.area, 49, 1e-9);
  EXPECT_NEAR(s.flux, 49 * 180, 1e-9);
  EXPECT_NEAR(s.peak, 180, 1e-9);
  EXPECT_NEAR(s.background, 20, 1e-9);
  EXPECT_NEAR(s.spread(0, 0), 49.0 / 12, 1e-9);
  EXPECT_TRUE(s.left == 30 && s.right == 36 && s.top == 10 && s.bottom == 16);
  EXPECT_EQ(s.flags & (kSaturated | kCut | kTouching | kFaint), 0u);
}

TEST(Spot, DarkIsBrightInverted) {
  std::mt19937_64 rng(13);
  const GrayImage image = test::Expose(
      Draw(160, 120, 40, {{{50.3, 60.7}, 5, 120}, {{110.9, 30.2}, 3, 90}}), 160, 120, 2, rng);
  SpotOptions dark;
  dark.dark = true;
  const auto a = Spots(image), b = Spots(Inverted(image), dark);
  ASSERT_EQ(a.size(), 2u);
  ASSERT_EQ(b.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_LT((a[i].q - b[i].q).norm(), 1e-9);
    EXPECT_NEAR(a[i].flux, b[i].flux, 1e-6);
    EXPECT_NEAR(a[i].background, 255 - b[i].background, 1e-9);
    EXPECT_NEAR(a[i].peak, b[i].peak, 1e-9);
  }
}

TEST(Spot, PortableCodeGivesTheSame) {
  std::mt19937_64 rng(14);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const bool dark : {false, true}) {
    std::vector<Disc> discs;
    discs.reserve(12);
    for (int i = 0; i < 12; ++i) {
      const int row = i / 4;
      discs.push_back(
          {{30 + 50.0 * (i % 4) + 9 * unit(rng), 30 + 50.0 * row}, 2 + 9 * unit(rng), 100});
    }
    GrayImage image = test::Expose(Draw(233, 171, 50, discs), 233, 171, 8, rng);
    if (dark) image = Inverted(image);
    SpotOptions options;
    options.dark = dark;
    const auto fast = Spots(image, options);
    options.portable = true;
    EXPECT_GE(fast.size(), 12u);
    ExpectSame(fast, Spots(image, options));
  }
}

TEST(Spot, TakesNoMemoryOnceWarm) {
  std::mt19937_64 rng(15);
  std::vector<GrayImage> frames;
  frames.reserve(6);
  for (int i = 0; i < 6; ++i) {
    frames.push_back(
        test::Expose(Draw(200, 150, 30, {{{40.0 + i, 50}, 4, 150}, {{120, 70.0 + 2 * i}, 6, 150}}),
                     200, 150, 3, rng));
  }
  SpotFinder finder;
  const std::vector<Window> windows{{20, 30, 60, 70}, {100, 50, 140, 100}};
  for (const GrayImage& frame : frames) {
    finder.FindSpots(frame);
    finder.FindSpots(frame, windows);
  }
  const long before = test::Allocations();
  std::size_t found = 0;
  for (const GrayImage& frame : frames)
    found += finder.FindSpots(frame).size() + finder.FindSpots(frame, windows).size();
  EXPECT_EQ(test::Allocations(), before);
  EXPECT_EQ(found, 24u);
}

// The statement of accuracy in small; the whole range is a slow test.
TEST(Spot, CentroidIsUnbiasedAndKnowsItsError) {
  for (const auto& [diameter, snr] : {std::pair{4.0, 5.0}, {8.0, 20.0}}) {
    const test::TrialSummary s = test::RunTrials({diameter, snr, 0, 4, 77});
    EXPECT_GT(s.n, 500);
    test::ExpectConsistent(s, 3 * 2);
  }
}

TEST(Spot, WindowsGiveWhatTheFrameGives) {
  std::mt19937_64 rng(16);
  const GrayImage image = test::Expose(
      Draw(300, 200, 30,
           {{{60.2, 60.8}, 6, 150}, {{150.4, 100.1}, 5, 150}, {{250.7, 150.3}, 4, 150}}),
      300, 200, 2, rng);
  SpotFinder finder;
  const std::vector<Spot> all = finder.FindSpots(image);
  ASSERT_EQ(all.size(), 3u);
  // Two windows see the first spot, one of them only its edge; the third lies outside, the fourth
  // is inside out.
  const auto some = finder.FindSpots(image, {{40, 40, 80, 80},
                                             {62, 50, 90, 90},
                                             {400, 300, 500, 400},
                                             {50, 50, 40, 40},
                                             {-50, -50, 10, 10}});
  ASSERT_EQ(some.size(), 1u);
  EXPECT_LT((some[0].q - all[0].q).norm(), 0.02);
  EXPECT_EQ(some[0].flags & kCut, 0u);
  // Followed beyond the border of a window that cuts it in two.
  const auto half = finder.FindSpots(image, {{150, 80, 190, 120}});
  ASSERT_EQ(half.size(), 1u);
  EXPECT_LT((half[0].q - all[1].q).norm(), 0.02);
  EXPECT_TRUE(finder.FindSpots(image, {}).empty());
  EXPECT_TRUE(finder.FindSpots(image, {{90, 10, 130, 50}}).empty()) << "a window without a marker";
}

TEST(Spot, Flags) {
  std::mt19937_64 rng(17);
  const auto one = [&](const std::vector<Disc>& discs, double background = 30) {
    return Spots(test::Expose(Draw(120, 100, background, discs), 120, 100, 2, rng));
  };
  auto spots = one({{{60.3, 50.1}, 6, 150}});
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_EQ(spots[0].flags, 0u);
  spots = one({{{60.3, 50.1}, 6, 300}});
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_EQ(spots[0].flags, kSaturated);
  spots = one({{{60.3, 2.1}, 6, 150}});
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_TRUE(spots[0].flags & kCut);
  // Apart, but in each other's rim.
  spots = one({{{50.5, 50.1}, 6, 150}, {{64.4, 50.1}, 6, 150}});
  ASSERT_EQ(spots.size(), 2u);
  EXPECT_EQ(spots[0].flags & spots[1].flags & kTouching, kTouching);
  // Merged so far that no level parts them.
  spots = one({{{50.5, 50.1}, 6, 120}, {{60, 50.4}, 6, 120}});
  ASSERT_GE(spots.size(), 1u);
  for (const Spot& s : spots) EXPECT_TRUE(s.flags & kTouching);
  // Well apart.
  spots = one({{{40.5, 50.1}, 6, 150}, {{70, 50.4}, 6, 150}});
  ASSERT_EQ(spots.size(), 2u);
  EXPECT_EQ(spots[0].flags | spots[1].flags, 0u);
}

TEST(Spot, TellsACoveredMarker) {
  std::mt19937_64 rng(18);
  int flagged = 0, false_alarms = 0;
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 40; ++i) {
    const Eigen::Vector2d q(40 + unit(rng), 40 + unit(rng));
    const std::vector<double> whole = Draw(80, 80, 30, {{q, 9, 150}});
    std::vector<double> covered = whole;
    for (int y = 0; y < 80; ++y) {
      // something as dark as the background takes a third
      for (int x = 43; x < 53; ++x) covered[y * 80 + x] = 30;
    }
    for (int y = 38; y < 44; ++y) {
      for (int x = 0; x < 40; ++x) covered[y * 80 + x] = 30;  // and a bar from the left
    }
    for (const Spot& s : Spots(test::Expose(covered, 80, 80, 2, rng)))
      flagged += (s.flags & (kHidden | kTouching)) != 0;
    for (const Spot& s : Spots(test::Expose(whole, 80, 80, 2, rng)))
      false_alarms += (s.flags & (kHidden | kTouching)) != 0;
  }
  EXPECT_GE(flagged, 38);
  EXPECT_EQ(false_alarms, 0);
}

TEST(Spot, PartsMarkersFromABrightBody) {
  std::mt19937_64 rng(19);
  std::vector<double> picture(320 * 240, 25);
  for (int y = 60; y < 180; ++y) {
    // a rod narrower than a tile, brighter than half of a marker
    for (int x = 140; x < 160; ++x) picture[y * 320 + x] = 140;
  }
  const std::vector<Eigen::Vector2d> q{{150.3, 80.2}, {149.8, 120.6}, {150.1, 160.4}};
  for (const auto& p : q) test::AddDisc({p, 4, 90}, 320, 240, &picture);
  const auto spots = Spots(test::Expose(picture, 320, 240, 2, rng));
  ASSERT_EQ(spots.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_LT((spots[i].q - q[i]).norm(), 0.1);
}

TEST(Spot, LocalThresholdFollowsTheLight) {
  std::mt19937_64 rng(20);
  std::vector<double> picture(400 * 200);
  // from left to right
  for (int i = 0; i < 400 * 200; ++i) picture[i] = 20 + 180.0 * (i % 400) / 400;
  std::vector<Eigen::Vector2d> q;
  for (int i = 0; i < 8; ++i) {
    q.emplace_back(30.3 + 45 * i, 50.6 + 12 * i);
    test::AddDisc({q.back(), 4, 40}, 400, 200, &picture);
  }
  const GrayImage image = test::Expose(picture, 400, 200, 2, rng);
  SpotOptions options;
  EXPECT_LT(Spots(image, options).size(), 8u) << "one threshold cannot do it";
  options.local = 31;
  const auto spots = Spots(image, options);
  ASSERT_EQ(spots.size(), 8u);
  for (const Spot& s : spots) {
    double best = 1e9;
    for (const auto& p : q) best = std::min(best, (p - s.q).norm());
    EXPECT_LT(best, 0.4);  // the slope of the light moves a weighted centroid
  }
  EXPECT_EQ(SpotFinder(options).FindSpots(image, {{20, 40, 50, 70}}).size(), 1u);
}

// Motion during the exposure draws a disc into a streak: one spot, its centroid that of the middle
// of the exposure, nothing "hidden".
TEST(Spot, HostileT32MotionBlur) {
  for (const double motion : {10.0, 30.0}) {
    const test::TrialSummary s = test::RunTrials({10, 60, motion, 1, 31});
    EXPECT_EQ(s.n, s.truth) << motion;
    EXPECT_EQ(s.false_spots, 0) << motion;
    EXPECT_LE(s.hidden + s.touching, s.n / 20) << motion;
    test::ExpectConsistent(s, 3 * 2);
  }
}

TEST(Spot, AreaLimits) {
  std::mt19937_64 rng(21);
  const GrayImage image = test::Expose(
      Draw(200, 100, 30, {{{40, 50}, 2.5, 150}, {{100, 50}, 6, 150}, {{160, 50}, 14, 150}}), 200,
      100, 2, rng);
  SpotOptions options;
  options.area_min = 60;
  options.area_max = 300;
  const auto spots = Spots(image, options);
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_NEAR(spots[0].q.x(), 100, 0.1);
}

TEST(Spot, HostileEmptyAndThinPictures) {
  for (const bool dark : {false, true}) {
    for (const int local : {0, 15}) {
      SpotOptions options;
      options.dark = dark;
      options.local = local;
      SpotFinder finder(options);
      for (const auto& [w, h] :
           {std::pair{0, 0}, {1, 1}, {1, 500}, {500, 1}, {2, 2}, {3, 700}, {33, 17}}) {
        for (const int level : {0, 1, 128, 254, 255}) {
          EXPECT_TRUE(finder.FindSpots(SpotUniform(w, h, level)).empty())
              << w << "x" << h << " " << level;
          EXPECT_TRUE(
              finder.FindSpots(SpotUniform(w, h, level), {{-5, -5, 5, 5}, {0, 0, 1000, 1000}})
                  .empty());
        }
      }
      GrayImage dot = SpotUniform(1, 500, 30);
      dot.At(0, 100) = 250;
      finder.FindSpots(dot);
      for (const Spot& s : finder.FindSpots(dot, {{0, 90, 0, 110}}))
        EXPECT_TRUE(s.q.allFinite() && s.cov.allFinite());
    }
  }
}

TEST(Spot, HostileNoiseGivesNoSpots) {
  std::mt19937_64 rng(22);
  SpotFinder finder;
  std::size_t found = 0;
  for (int i = 0; i < 25; ++i) {
    found +=
        finder
            .FindSpots(test::Expose(std::vector<double>(320 * 240, 60), 320, 240, 1 + 0.5 * i, rng))
            .size();
  }
  EXPECT_EQ(found, 0u);
}

TEST(Spot, HostileSaltAndPepper) {
  std::mt19937_64 rng(23);
  GrayImage image = test::Expose(
      Draw(320, 240, 40, {{{100.4, 120.3}, 7, 140}, {{220.8, 60.1}, 7, 140}}), 320, 240, 2, rng);
  for (std::uint8_t& v : image.pixels) {
    if (rng() % 200 == 0) v = rng() % 2 ? 255 : 0;
  }
  const auto spots = Spots(image);
  ASSERT_EQ(spots.size(), 2u);
  EXPECT_LT((spots[0].q - Eigen::Vector2d(220.8, 60.1)).norm(), 0.5);
}

// Time this thread has worked: other programs may run.
double ThreadSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TEST(Spot, HostileCheckerboardTakesLinearTime) {
  SpotOptions options;
  const auto seconds = [&](int side, int square) {
    GrayImage image = SpotUniform(side, side, 30);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) image.At(x, y) = (x / square + y / square) % 2 ? 220 : 30;
    }
    SpotFinder finder(options);
    finder.FindSpots(image);
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const double begin = ThreadSeconds();
      for (const Spot& s : finder.FindSpots(image)) EXPECT_TRUE(s.q.allFinite());
      best = std::min(best, ThreadSeconds() - begin);
    }
    return best;
  };
  for (const int square : {1, 4})
    EXPECT_LT(seconds(1200, square), 16 * (seconds(300, square) + 0.02)) << square;
  // Many separate spots: 10,000 of 5x5 pixels.
  GrayImage many = SpotUniform(1000, 1000, 30);
  for (int y = 0; y < 1000; ++y) {
    for (int x = 0; x < 1000; ++x) many.At(x, y) = x % 10 < 5 && y % 10 < 5 ? 200 : 30;
  }
  options.area_min = 6;
  const double begin = ThreadSeconds();
  EXPECT_EQ(Spots(many, options).size(), 10000u);
  EXPECT_LT(ThreadSeconds() - begin, 2);
}

TEST(Spot, EstimatesTheNoise) {
  std::mt19937_64 rng(24);
  for (const double noise : {0.7, 1.0, 2.0, 5.0, 12.0}) {
    SpotFinder finder;
    finder.FindSpots(test::Expose(Draw(640, 480, 80, {{{100, 100}, 8, 100}, {{300, 200}, 8, 100}}),
                                  640, 480, noise, rng));
    EXPECT_NEAR(finder.noise().read, noise, 0.06 * noise + 0.03);
  }
  SpotOptions given;
  given.estimate_noise = false;
  given.noise = {3, 0.1};
  SpotFinder finder(given);
  finder.FindSpots(SpotUniform(64, 64, 50));
  EXPECT_EQ(finder.noise().read, 3);
  SpotFinder black;  // nothing to estimate from: as given
  black.FindSpots(SpotUniform(64, 64, 0));
  EXPECT_EQ(black.noise().read, 1);
}

}  // namespace
}  // namespace impactlab
