#include <gtest/gtest.h>

#include <random>

#include "tests/support/discs.h"
#include "tests/tracking/spot/spot_trials.h"
#include "tracking/spot/spot.h"

namespace impactlab {
namespace {

constexpr double kDiameters[] = {4, 6, 10, 20, 30};
constexpr double kSnr[] = {5, 10, 20, 50};

// Discs of 4 to 30 px at signal to noise 5 to 50: nothing lost, nothing added, bias, covariance and
// sub-pixel places as stated.
TEST(SpotSlow, CentroidOverTheWholeRange) {
  for (const double diameter : kDiameters) {
    for (const double snr : kSnr) {
      const test::TrialSummary s = test::RunTrials({diameter, snr, 0, diameter < 15 ? 6 : 8, 900});
      test::ExpectConsistent(s, 3 * 20);
      EXPECT_GE(s.n, snr > 5 ? s.truth : static_cast<int>(0.98 * s.truth))
          << diameter << " " << snr;
      EXPECT_EQ(s.false_spots, 0) << diameter << " " << snr;
      EXPECT_LE(s.hidden + s.touching, snr > 5 ? s.n / 200 : s.n / 20) << diameter << " " << snr;
      RecordProperty("d" + std::to_string(static_cast<int>(diameter)) + "_snr" +
                         std::to_string(static_cast<int>(snr)),
                     std::to_string(s.rms) + " px rms");
    }
  }
}

// Nothing is found in frames of noise alone: less than three of a thousand.
TEST(SpotSlow, NoFalseSpotsInNoise) {
  std::mt19937_64 rng(901);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> field(1280 * 720 + 100000);
  for (double& v : field) v = normal(rng);
  int with_spots = 0, frames = 0;
  GrayImage image{1280, 720, std::vector<std::uint8_t>(1280 * 720)};
  for (const double noise : {0.8, 2.0, 6.0, 15.0}) {
    SpotFinder finder;
    for (int k = 0; k < 40; ++k, ++frames) {
      const std::size_t shift = rng() % 100000;
      const double level = 70 + static_cast<double>(k) / 40;
      for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        image.pixels[i] = static_cast<std::uint8_t>(
            std::clamp(level + noise * field[i + shift] + 0.5, 0.0, 255.0));
      }
      with_spots += !finder.FindSpots(image).empty();
    }
  }
  EXPECT_EQ(with_spots, 0) << "of " << frames;
}

}  // namespace
}  // namespace impactlab
