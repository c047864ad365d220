#include "tracking/spot.h"

#include <gtest/gtest.h>

namespace impactlab {
namespace {

TEST(Spot, FindsASquare) {
  GrayImage image{64, 48, std::vector<std::uint8_t>(64 * 48, 20)};
  for (int y = 10; y <= 16; ++y) {
    for (int x = 30; x <= 36; ++x) image.At(x, y) = 200;
  }
  SpotFinder finder;
  const auto& spots = finder.Find(image);
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_NEAR(spots[0].q.x(), 33, 1e-9);
  EXPECT_NEAR(spots[0].q.y(), 13, 1e-9);
  EXPECT_NEAR(spots[0].area, 49, 1e-9);
  EXPECT_NEAR(spots[0].flux, 49 * 180, 1e-9);
}

}  // namespace
}  // namespace impactlab
