#include "tracking/video/jpeg.h"

#include <algorithm>
#include <cstring>

#include "tracking/video/detail/still_encoder.h"

namespace impactlab {

std::string EncodeJpeg(const GrayImage& image, int quality) {
  // The encoder has no gray format; constant chroma costs almost no bytes.
  const tracking::StillFormat format{"JPEG", AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUVJ420P,
                                     std::clamp(quality, 2, 31)};
  constexpr int kMostPixels = 65500;  // a side
  if (image.width <= 0 || image.height <= 0 ||
      image.pixels.size() != static_cast<std::size_t>(image.width) * image.height)
    tracking::RefuseStill(format, "it has no pixels");
  if (image.width > kMostPixels || image.height > kMostPixels)
    tracking::RefuseStill(format, "a side is longer than the format holds");
  return tracking::EncodeStill(format, image.width, image.height, [&](AVFrame* frame) {
    for (int y = 0; y < image.height; ++y)
      std::memcpy(frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0],
                  image.pixels.data() + static_cast<std::size_t>(y) * image.width,
                  static_cast<std::size_t>(image.width));
    for (const int plane : {1, 2})
      std::memset(frame->data[plane], 128,
                  static_cast<std::size_t>(frame->linesize[plane]) *
                      static_cast<std::size_t>((image.height + 1) / 2));
  });
}

}  // namespace impactlab
