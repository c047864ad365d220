// Pictures that Debian's package opencv-doc ships: what is found in them was drawn over them and
// looked at. IMPACTLAB_OPENCV_DOC names the folder when they lie elsewhere or were unpacked.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tracking/spot/spot.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

std::filesystem::path Picture(const std::string& name) {
  const char* folder = std::getenv("IMPACTLAB_OPENCV_DOC");
  return std::filesystem::path(folder ? folder : "/usr/share/doc/opencv-doc/examples/data") / name;
}

#define NEED(name)                             \
  if (!std::filesystem::exists(Picture(name))) \
  GTEST_SKIP() << "skipped: " << Picture(name) << " absent (package opencv-doc)"

struct Expected {
  double x, y, area;
  std::uint32_t flags;
};

// Every expected spot is there, within a pixel and a tenth of its area, with just these of the
// flags in `mask`.
void ExpectSpots(const std::vector<Spot>& spots, const std::vector<Expected>& expected,
                 std::uint32_t mask) {
  EXPECT_EQ(spots.size(), expected.size());
  for (const Expected& e : expected) {
    const Spot* found = nullptr;
    for (const Spot& s : spots) {
      if ((s.q - Eigen::Vector2d(e.x, e.y)).norm() < 1) found = &s;
    }
    ASSERT_NE(found, nullptr) << e.x << " " << e.y;
    EXPECT_NEAR(found->area, e.area, 0.1 * e.area) << e.x << " " << e.y;
    EXPECT_EQ(found->flags & mask, e.flags) << e.x << " " << e.y;
  }
}

// Shapes of one grey on black, many wider than a tile; a grey frame on two sides, and one ellipse
// almost as dark as the background. Discs and ellipses carry no flag, the square ones are no
// ellipses, the cluster and the chain of boxes have waists.
TEST(SpotReal, ShapesOnBlack) {
  NEED("detect_blob.png");
  SpotOptions options;
  options.area_min = 20;
  const auto spots = SpotFinder(options).FindSpots(ReadImage(Picture("detect_blob.png")));
  ExpectSpots(spots,
              {{64.3, 68.2, 1710, 0},
               {181.3, 60.6, 783, 0},
               {334.3, 138.0, 9180, kHidden},
               {132.3, 156.9, 8725, 0},
               {451.6, 126.8, 3741, kHidden},
               {232.8, 216.1, 975, kHidden},
               {62.4, 238.1, 2811, 0},
               {445.6, 238.2, 590, kHidden},
               {270.1, 287.2, 5253, 0},
               {340.0, 400.7, 8042, kHidden},
               {309.1, 506.8, 5136, kHidden},
               {416.7, 542.8, 14013, kTouching},
               {53.8, 519.7, 2765, kHidden},
               {216.6, 569.7, 7582, 0},
               {75.7, 659.3, 10274, kHidden},
               {315.1, 701.1, 12506, kTouching}},
              kHidden | kTouching | kCut);
}

// Sweets on a white table, with shadows and reflections: ten alone, two that touch and come as one,
// three cut by the border of the picture or within the rim of one that is.
TEST(SpotReal, SweetsOnWhite) {
  NEED("smarties.png");
  SpotOptions options;
  options.dark = true;
  options.area_min = 200;
  const auto spots = SpotFinder(options).FindSpots(ReadImage(Picture("smarties.png")));
  ExpectSpots(spots,
              {{376.7, 82.9, 2263, 0},
               {268.5, 118.1, 2231, 0},
               {386.6, 170.9, 2255, kCut},
               {204.3, 212.7, 2190, 0},
               {288.6, 214.5, 2323, 0},
               {33.3, 228.9, 2153, 0},
               {345.4, 239.2, 2082, 0},
               {126.0, 265.9, 5752, kTouching},
               {218.9, 306.2, 2455, 0},
               {292.2, 321.8, 2145, 0},
               {133.1, 328.2, 2289, kTouching | kCut},
               {20.8, 344.8, 620, kTouching | kCut},
               {76.5, 347.5, 736, kHidden | kCut}},
              kHidden | kTouching | kCut);
}

// A white disc and a coin on a desk of uneven light.
TEST(SpotReal, DiscAndCoinOnADesk) {
  NEED("stuff.jpg");
  SpotOptions options;
  options.area_min = 500;
  const auto spots = SpotFinder(options).FindSpots(ReadImage(Picture("stuff.jpg")));
  ExpectSpots(spots, {{394.7, 181.3, 10266, 0}, {209.3, 305.7, 1252, 0}},
              kHidden | kTouching | kCut);
}

// Six propellers on a light table.
TEST(SpotReal, PropellersOnALightTable) {
  NEED("pca_test1.jpg");
  SpotOptions options;
  options.dark = true;
  options.area_min = 1000;
  std::vector<Spot> spots = SpotFinder(options).FindSpots(ReadImage(Picture("pca_test1.jpg")));
  // shades of what is around the table
  std::erase_if(spots, [](const Spot& s) { return s.peak < 100; });
  ExpectSpots(spots,
              {{406.8, 90.8, 11307, kTouching},
               {191.3, 291.4, 12461, kTouching},
               {419.0, 169.5, 10914, kTouching},
               {431.1, 240.2, 11570, kTouching},
               {438.5, 326.2, 12088, kTouching},
               {430.9, 407.4, 12621, kTouching}},
              kCut | kTouching);
}

}  // namespace
}  // namespace impactlab
