#pragma once
// Pictures and videos as gray frames with their own time stamps, read one after another.
//
// Frames come from libav: the luma plane as stored, stretched to 0..255 where it has limited range (as tagged; without a tag YUV has it, as
// the standards of the codecs say, and gray has not), turned by quarter turns as the stream's display matrix says. RGB becomes gray with
// the weights of BT.601. Time is the presentation time stamp of the very frame in hand, from the first frame's own stamp on; it is never
// made from a frame number and a nominal rate.
//
// Only the file itself is opened, whatever it contains: no playlists, no patterns in its name, no protocols.

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

struct VideoOptions {
  int threads = 0;  // of the decoder; 0: as libav likes. 1 where several videos are read at a time
};

class VideoReader {
 public:
  // DataError "path: cause" for a file that is missing, empty, has no picture in it or one of absurd size, or a stream without time stamps.
  explicit VideoReader(const std::filesystem::path& path, const VideoOptions& options = {});
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  const VideoInfo& info() const;
  // The next frame and its time [s] (0 for a picture); either may be null. False at the end. A damaged frame inside the file is skipped and
  // counted, and so are those after it that were predicted from it, up to the next key frame; DataError when the file ends in the middle.
  bool Next(GrayImage* image, double* t);
  // Number of the frame last returned, from 0, damaged ones counted too; how many were damaged so far.
  long long index() const;
  long long damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A picture file (PNG, JPEG, TIFF, BMP, PGM; deeper ones scaled to 8 bits), its rows as the sensor wrote them: an orientation tag, which
// says how to show it, is not followed. DataError, also for a damaged or cut one and for a video.
GrayImage ReadImage(const std::filesystem::path& path);
// 8-bit gray PNG, as bytes and as a file. OutputError.
std::string EncodePng(const GrayImage& image);
void WritePng(const std::filesystem::path& path, const GrayImage& image);

}  // namespace impactlab
