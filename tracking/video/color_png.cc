#include <cstring>

#include "data/files/atomic_file.h"
#include "tracking/video/detail/still_encoder.h"
#include "tracking/video/writer.h"

namespace impactlab {

std::string EncodePng(const ColorImage& image) {
  const tracking::StillFormat format{"PNG", AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24};
  if (image.width <= 0 || image.height <= 0 ||
      image.rgb.size() != 3 * static_cast<std::size_t>(image.width) * image.height)
    tracking::RefuseStill(format, "it has no pixels");
  return tracking::EncodeStill(format, image.width, image.height, [&](AVFrame* frame) {
    const std::size_t row = 3 * static_cast<std::size_t>(image.width);
    for (int y = 0; y < image.height; ++y)
      std::memcpy(frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0],
                  image.rgb.data() + row * static_cast<std::size_t>(y), row);
  });
}

void WritePng(const std::filesystem::path& path, const ColorImage& image) {
  WriteFile(path, EncodePng(image));
}

}  // namespace impactlab
