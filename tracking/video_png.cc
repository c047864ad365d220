#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>

#include "data/atomic_file.h"
#include "data/error.h"
#include "tracking/video.h"
#include "tracking/video_file.h"

namespace impactlab {

std::string EncodePng(const GrayImage& image) {
  const auto fail = [](const char* what) { throw OutputError(fmt::format("a PNG picture cannot be made: {}", what)); };
  if (image.width <= 0 || image.height <= 0 || image.pixels.size() != static_cast<std::size_t>(image.width) * image.height)
    fail("it has no pixels");
  const AVCodec* encoder = avcodec_find_encoder(AV_CODEC_ID_PNG);
  if (encoder == nullptr) fail("this libavcodec has no PNG encoder");
  const std::unique_ptr<AVCodecContext, internal::FreeCodec> codec(avcodec_alloc_context3(encoder));
  const std::unique_ptr<AVFrame, internal::FreeFrame> frame(av_frame_alloc());
  const std::unique_ptr<AVPacket, internal::FreePacket> packet(av_packet_alloc());
  if (!codec || !frame || !packet) throw std::bad_alloc();
  codec->width = frame->width = image.width;
  codec->height = frame->height = image.height;
  codec->pix_fmt = AV_PIX_FMT_GRAY8;
  frame->format = AV_PIX_FMT_GRAY8;
  codec->time_base = {1, 1};
  codec->thread_count = 1;
  if (avcodec_open2(codec.get(), encoder, nullptr) < 0) fail("the encoder does not open");
  if (av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  for (int y = 0; y < image.height; ++y)
    std::memcpy(frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0],
                image.pixels.data() + static_cast<std::size_t>(y) * image.width, static_cast<std::size_t>(image.width));
  if (avcodec_send_frame(codec.get(), frame.get()) < 0 || avcodec_send_frame(codec.get(), nullptr) < 0 ||
      avcodec_receive_packet(codec.get(), packet.get()) < 0)
    fail("the encoder refuses it");
  return {reinterpret_cast<const char*>(packet->data), static_cast<std::size_t>(packet->size)};
}

void WritePng(const std::filesystem::path& path, const GrayImage& image) { WriteFile(path, EncodePng(image)); }

}  // namespace impactlab
