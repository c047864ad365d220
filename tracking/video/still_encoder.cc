#include "tracking/video/detail/still_encoder.h"

#include <fmt/format.h>

#include <memory>
#include <new>

#include "data/base/error.h"
#include "tracking/video/detail/file.h"

namespace impactlab::tracking {

void RefuseStill(const StillFormat& format, const std::string& why) {
  throw OutputError(fmt::format("a {} picture cannot be made: {}", format.name, why));
}

std::string EncodeStill(const StillFormat& format, int width, int height,
                        const std::function<void(AVFrame*)>& fill) {
  const AVCodec* encoder = avcodec_find_encoder(format.codec);
  if (encoder == nullptr)
    RefuseStill(format, fmt::format("this libavcodec has no {} encoder", format.name));
  const std::unique_ptr<AVCodecContext, FreeCodec> codec(avcodec_alloc_context3(encoder));
  const std::unique_ptr<AVFrame, FreeFrame> frame(av_frame_alloc());
  const std::unique_ptr<AVPacket, FreePacket> packet(av_packet_alloc());
  if (!codec || !frame || !packet) throw std::bad_alloc();
  codec->width = frame->width = width;
  codec->height = frame->height = height;
  codec->pix_fmt = format.pixels;
  frame->format = format.pixels;
  codec->time_base = {1, 1};
  codec->thread_count = 1;
  if (format.quality > 0) {
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->global_quality = frame->quality = format.quality * FF_QP2LAMBDA;
    codec->color_range = frame->color_range = AVCOL_RANGE_JPEG;
  }
  if (avcodec_open2(codec.get(), encoder, nullptr) < 0)
    RefuseStill(format, "the encoder does not open");
  if (av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  fill(frame.get());
  if (avcodec_send_frame(codec.get(), frame.get()) < 0 ||
      avcodec_send_frame(codec.get(), nullptr) < 0 ||
      avcodec_receive_packet(codec.get(), packet.get()) < 0)
    RefuseStill(format, "the encoder refuses it");
  return {reinterpret_cast<const char*>(packet->data), static_cast<std::size_t>(packet->size)};
}

}  // namespace impactlab::tracking
