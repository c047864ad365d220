#include "tracking/overlay/overlay.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "data/base/error.h"
#include "tracking/overlay/detail/paint.h"

namespace impactlab {

ColorImage DrawFrame(const Frame& frame, const MarkerTracks& tracks, int camera,
                     const OverlayOptions& options) {
  ColorImage image = tracking::MakeColor(frame.image);
  const double height = tracking::LetterHeight(image.width, image.height);
  tracking::PaintMarkers(&image, {}, tracks, camera, frame.index, height, options);
  tracking::PaintLegend(&image, tracks, camera, options);
  std::string text = tracking::FrameText(frame.index, frame.t);
  if (camera >= 0 && camera < static_cast<int>(tracks.cameras.size())) {
    const std::string longer =
        text + "  " + tracks.cameras[static_cast<std::size_t>(camera)] + "  " + tracks.recording;
    if (tracking::TextWidth(longer, height) + 4 * height < image.width) text = longer;
  }
  tracking::PaintCaption(&image, height, height, text, height);
  return image;
}

void WriteOverlay(const std::filesystem::path& path, const MarkerTracks& tracks, int camera,
                  SecondLook* look, const OverlayOptions& options) {
  std::optional<VideoWriter> writer;
  std::exception_ptr broken;
  double first = 0;
  long long written = 0;
  for (long long index = 0; !look->EndsBefore(index); ++index) {
    const Frame* frame = nullptr;
    try {
      frame = look->Find(WholeFrame(index));
    } catch (const DataError&) {
      if (!writer) throw;
      broken = std::current_exception();
      break;
    }
    if (frame == nullptr) continue;  // damaged, or behind the last one
    const ColorImage drawn = DrawFrame(*frame, tracks, camera, options);
    // Players want even sizes.
    ColorImage even = tracking::MakeColor(drawn.width + drawn.width % 2,
                                          drawn.height + drawn.height % 2, {0, 0, 0});
    tracking::PasteImage(drawn, 0, 0, &even);
    if (!writer) {
      first = frame->t;
      writer.emplace(path, even.width, even.height,
                     VideoWriterOptions{.codec = VideoWriterOptions::Codec::kH264,
                                        .quality = 20,
                                        .key_interval = 60,
                                        .color = true,
                                        .threads = 0});
    }
    writer->Write(even, options.play_rate > 0 ? static_cast<double>(written) / options.play_rate
                                              : frame->t - first);
    ++written;
  }
  if (!writer) throw DataError(SourceName(look->source()) + ": holds no frame");
  writer->Finish();
  if (broken) std::rethrow_exception(broken);
}

}  // namespace impactlab
