// Memory of a long recording with many markers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "tests/support/folder.h"
#include "tracking/track/camera_track.h"
#include "tracking/video/writer.h"

namespace impactlab {
namespace {

// A line of /proc/self/status [MB]; 0 where there is none.
double Status(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

// Forty discs that wander together.
void Draw(int frames, const std::filesystem::path& file) {
  constexpr int kWidth = 320, kHeight = 240;
  VideoWriter writer(file, kWidth, kHeight, {});
  for (int k = 0; k < frames; ++k) {
    GrayImage image{kWidth, kHeight,
                    std::vector<std::uint8_t>(static_cast<std::size_t>(kWidth) * kHeight, 20)};
    for (int m = 0; m < 40; ++m) {
      const int column = m % 8, row = m / 8;
      const double x = 25 + 38 * column + 12 * std::sin(k * 0.01),
                   y = 25 + 45 * row + 10 * std::sin(k * 0.013);
      for (int v = static_cast<int>(y) - 5; v <= static_cast<int>(y) + 5; ++v)
        for (int u = static_cast<int>(x) - 5; u <= static_cast<int>(x) + 5; ++u)
          image.At(u, v) = static_cast<std::uint8_t>(
              20 + 180 * std::clamp(4 - std::hypot(u - x, v - y), 0.0, 1.0));
    }
    writer.Write(image, k / 240.0);
  }
  writer.Finish();
}

TEST(CameraTrackSlow, APointTakesAFewHundredBytesAtTheWorstMoment) {
  constexpr int kFrames = 3000, kMarkers = 40;
  const test::TemporaryFolder folder;
  Draw(kFrames, folder.path() / "long.mp4");
  CameraTrackOptions options;
  options.refine = false;
  options.blur = 0.5;
  options.spots.threshold = 100;
  options.tracker.markers = kMarkers;
  FrameSource source;
  source.video = folder.path() / "long.mp4";
  source.decode.threads = 1;
  // Forgets the high-water mark of what ran before.
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = Status("VmRSS");
  if (before == 0 || Status("VmHWM") > before + 1)
    GTEST_SKIP() << "the system does not tell the memory in use";
  const CameraTrackResult result = TrackCamera(source, options);
  ASSERT_EQ(result.points.size(), static_cast<std::size_t>(kFrames) * kMarkers);
  const double bytes =
      (Status("VmHWM") - before) * 1024 * 1024 / static_cast<double>(result.points.size());
  // 280 at 20,000 frames (264 MB in all); the decoder and one marker's smoothing add 20 MB whatever
  // the length.
  EXPECT_LT(bytes, 420);
  RecordProperty("bytes_a_point", std::to_string(bytes));
}

}  // namespace
}  // namespace impactlab
