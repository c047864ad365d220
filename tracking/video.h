#pragma once
// Pictures and videos as gray frames with their own time stamps, read one after another.
//
// Frames come from libav: the luma plane as stored, stretched to 0..255 where the stream says it has limited range, turned by 90 degrees as
// its display matrix says. Time is the presentation time stamp of the very frame in hand, from the first frame's own stamp on; it is never
// made from a frame number and a nominal rate.

#include <filesystem>
#include <memory>
#include <string>

#include "data/image.h"

namespace impactlab {

struct VideoInfo {
  int width = 0, height = 0;       // after rotation [px]
  int rotation_deg = 0;            // applied, clockwise: 0, 90, 180, 270
  double nominal_rate = 0;         // as the header says [1/s]; 0 where it says nothing
  long long announced_frames = 0;  // as the header says; 0 where it says nothing
  bool still = false;              // a picture, not a video
  std::string codec;
};

class VideoReader {
 public:
  // DataError "path: cause" for a file that is missing, empty, has no picture in it or one of absurd size.
  explicit VideoReader(const std::filesystem::path& path);
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  const VideoInfo& info() const;
  // The next frame and its time [s]; false at the end. A damaged frame inside the file is skipped and counted; DataError when the file ends
  // in the middle.
  bool Next(GrayImage* image, double* t);
  // Number of the frame last returned, from 0, and of frames that could not be decoded.
  long long index() const;
  long long damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A picture file (PNG, JPEG, TIFF, BMP, PGM; deeper ones scaled to 8 bits). DataError.
GrayImage ReadImage(const std::filesystem::path& path);
// 8-bit gray PNG.
void WritePng(const std::filesystem::path& path, const GrayImage& image);

}  // namespace impactlab
