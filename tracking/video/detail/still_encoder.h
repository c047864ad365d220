#pragma once
// A single picture as the bytes of a file of its own. Private to the room.

#include <functional>
#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace impactlab::tracking {

struct StillFormat {
  const char* name;  // for messages
  AVCodecID codec;
  AVPixelFormat pixels;
  int quality = 0;  // of a codec that loses something: 2 to 31, smaller is better
};

// `fill` writes the pixels. OutputError where the coder is missing or refuses.
std::string EncodeStill(const StillFormat& format, int width, int height,
                        const std::function<void(AVFrame*)>& fill);
[[noreturn]] void RefuseStill(const StillFormat& format, const std::string& why);

}  // namespace impactlab::tracking
