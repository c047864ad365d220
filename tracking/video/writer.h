#pragma once
// Writes videos: synthetic recordings and overlays.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/files/image.h"

namespace impactlab {

// 8-bit colour, three bytes a pixel, rows from the top.
struct ColorImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

struct VideoWriterOptions {
  enum class Codec {
    kH264Lossless,  // bit exact gray, full range
    kH264,          // `quality`
    kFfv1,          // bit exact
    kMjpeg          // `quality`
  };
  Codec codec = Codec::kH264Lossless;
  // H.264: constant rate factor, 0 to 51, smaller is better; MJPEG: 2 to 31
  double quality = 18;
  long long bit_rate = 0;  // [bit/s]; above 0 in place of the quality
  int b_frames = 0;
  int key_interval = 30;    // frames
  int time_base = 1000000;  // ticks a second
  int rotation_deg = 0;     // clockwise, as a player is to turn it: quarter turns, in mp4 and mov
  bool color = false;
  int threads = 1;  // of the encoder; the bytes of an H.264 file depend on their number
};

// The container follows from the extension (mp4, mkv, avi, mov). The file appears under its name at
// Finish; OutputError, ConfigError for what the codec or the container cannot do.
//
// Stamps are kept to one tick of the time base. avi counts frames instead: there the stamps must be
// even steps from 0. Colour is bit exact in kH264Lossless and kFfv1; the other two halve the
// resolution of the colours, and kH264 uses the limited range that players expect.
class VideoWriter {
 public:
  VideoWriter(const std::filesystem::path& path, int width, int height,
              const VideoWriterOptions& options = {});
  ~VideoWriter();  // without Finish: nothing is left behind
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  // Stamps must increase and not be negative [s]. A gray picture may be written to a colour video.
  void Write(const GrayImage& image, double t);
  void Write(const ColorImage& image, double t);
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 8-bit colour PNG, as bytes and as a file. OutputError.
std::string EncodePng(const ColorImage& image);
void WritePng(const std::filesystem::path& path, const ColorImage& image);

}  // namespace impactlab
