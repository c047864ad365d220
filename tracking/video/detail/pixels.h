#pragma once
// From a decoded frame of any pixel format to gray values. Private to the room: shows libav.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/image.h"
#include "tracking/video/video.h"

extern "C" {
struct AVFrame;
}

namespace impactlab::tracking {

// Turn and mirroring of a picture by quarter turns: what points in direction (x, y) of the stored
// picture points in direction (a x + c y, b x + d y) of the one shown; each is -1, 0 or 1.
struct Turn {
  int a = 1, b = 0, c = 0, d = 1;
  bool swaps() const { return a == 0; }
  bool identity() const { return a == 1 && d == 1; }
  bool mirrored() const { return a * d - b * c < 0; }
  // Clockwise turn of the stored x axis, 0, 90, 180 or 270.
  int clockwise_deg() const { return a == 1 ? 0 : b == 1 ? 90 : a == -1 ? 180 : 270; }
};

// Which lines of a frame.
enum class Lines { kAll, kTop, kBottom };

// Turns frames of one stream into gray pictures. Keeps its tables and buffers from frame to frame.
class GrayMaker {
 public:
  GrayMaker(const VideoOptions& options, const Turn& turn, std::string name);
  ~GrayMaker();
  GrayMaker(const GrayMaker&) = delete;
  GrayMaker& operator=(const GrayMaker&) = delete;

  // Lines of one field are stretched to the whole height, each staying in its row. DataError where
  // the format has no gray values to read, or not those that the options ask for.
  void Make(const AVFrame& frame, Lines lines, GrayImage* image);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string PixelFormatName(const AVFrame& frame);
int BitDepth(const AVFrame& frame);
// As VideoInfo::transfer.
std::string TransferName(const AVFrame& frame);

}  // namespace impactlab::tracking
