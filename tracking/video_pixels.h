#pragma once
// From a decoded frame of any pixel format to gray values. Private to the room: shows libav.

#include <string>

#include "data/image.h"

extern "C" {
struct AVFrame;
}

namespace impactlab::internal {

// Turn and mirroring of a picture by quarter turns: what points in direction (x, y) of the stored picture points in direction
// (a x + c y, b x + d y) of the one shown; each is -1, 0 or 1.
struct Turn {
  int a = 1, b = 0, c = 0, d = 1;
  bool swaps() const { return a == 0; }
  bool identity() const { return a == 1 && d == 1; }
  // Clockwise turn of the stored x axis, 0, 90, 180 or 270.
  int clockwise_deg() const { return a == 1 ? 0 : b == 1 ? 90 : a == -1 ? 180 : 270; }
};

// False where the format has no gray values to read.
bool ToGray(const AVFrame& frame, const Turn& turn, GrayImage* image);
std::string PixelFormatName(const AVFrame& frame);

}  // namespace impactlab::internal
