#pragma once
// Small videos and pictures written by libav for tests.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/files/image.h"
#include "tracking/video/detail/libav_versions.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/opt.h>
}

namespace impactlab::test {

struct ClipOptions {
  std::string encoder = "png";
  AVPixelFormat format = AV_PIX_FMT_GRAY8;
  int width = 64, height = 48;
  AVRational time_base = {1, 90000};
  std::vector<std::int64_t> stamps = {};  // of every frame, in the order shown
  int rotation_deg = 0;                   // clockwise, to be applied by a player
  bool upside_down = false;               // turned so before it is rotated
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  int b_frames = 0, key_interval = 12;
  std::map<std::string, std::string> more = {};  // of the encoder
  bool interlaced = false, top_first = true;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVColorSpace colorspace = AVCOL_SPC_UNSPECIFIED;
  AVChromaLocation chroma = AVCHROMA_LOC_UNSPECIFIED;
  std::map<std::string, std::string> muxer = {};
};

inline void Check(int code, const char* what) {
  if (code < 0) throw std::runtime_error(std::string("clip: ") + what);
}

// `fill` sets the pixels of frame k. The container follows from the extension of `path`.
inline void WriteClip(const std::filesystem::path& path, const ClipOptions& options,
                      const std::function<void(int, AVFrame&)>& fill) {
  av_log_set_level(AV_LOG_QUIET);
  AVFormatContext* format = nullptr;
  Check(avformat_alloc_output_context2(&format, nullptr, nullptr, path.c_str()), "container");
  const AVCodec* encoder = avcodec_find_encoder_by_name(options.encoder.c_str());
  Check(encoder != nullptr ? 0 : -1, "encoder");
  AVStream* stream = avformat_new_stream(format, nullptr);
  AVCodecContext* codec = avcodec_alloc_context3(encoder);
  codec->width = options.width;
  codec->height = options.height;
  codec->pix_fmt = options.format;
  codec->time_base = options.time_base;
  codec->color_range = options.range;
  codec->max_b_frames = options.b_frames;
  codec->gop_size = options.key_interval;
  codec->thread_count = 1;
  codec->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  codec->bit_rate = 4000000;
  codec->color_trc = options.transfer;
  codec->colorspace = options.colorspace;
  codec->chroma_sample_location = options.chroma;
  if (options.interlaced) {
    codec->flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
    codec->field_order = options.top_first ? AV_FIELD_TT : AV_FIELD_BB;
  }
  for (const auto& [key, value] : options.more)
    Check(av_opt_set(codec, key.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN), "option");
  if ((format->oformat->flags & AVFMT_GLOBALHEADER) != 0)
    codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  Check(avcodec_open2(codec, encoder, nullptr), "open encoder");
  Check(avcodec_parameters_from_context(stream->codecpar, codec), "parameters");
  stream->time_base = options.time_base;
  if (options.rotation_deg != 0 || options.upside_down) {
    std::int32_t* matrix = tracking::NewDisplayMatrix(stream);
    av_display_rotation_set(matrix, options.rotation_deg);
    if (options.upside_down) av_display_matrix_flip(matrix, 0, 1);
  }
  Check(avio_open(&format->pb, ("file:" + path.string()).c_str(), AVIO_FLAG_WRITE), "file");
  AVDictionary* muxer = nullptr;
  for (const auto& [key, value] : options.muxer) av_dict_set(&muxer, key.c_str(), value.c_str(), 0);
  const int header = avformat_write_header(format, &muxer);
  av_dict_free(&muxer);
  Check(header, "header");
  const std::size_t n = options.stamps.size();
  const std::int64_t last_step = n > 1 ? options.stamps[n - 1] - options.stamps[n - 2] : 750;
  AVFrame* frame = av_frame_alloc();
  AVPacket* packet = av_packet_alloc();
  const auto drain = [&] {
    while (avcodec_receive_packet(codec, packet) >= 0) {
      if (packet->duration == 0) packet->duration = last_step;
      av_packet_rescale_ts(packet, options.time_base, stream->time_base);
      packet->stream_index = 0;
      Check(av_interleaved_write_frame(format, packet), "packet");
    }
  };
  for (std::size_t k = 0; k < n; ++k) {
    av_frame_unref(frame);
    frame->format = options.format;
    frame->width = options.width;
    frame->height = options.height;
    frame->color_range = options.range;
    frame->color_trc = options.transfer;
    frame->colorspace = options.colorspace;
    frame->chroma_location = options.chroma;
    tracking::SetFields(options.interlaced, options.top_first, frame);
    Check(av_frame_get_buffer(frame, 0), "frame");
    fill(static_cast<int>(k), *frame);
    frame->pts = options.stamps[k];
    Check(avcodec_send_frame(codec, frame), "encode");
    drain();
  }
  Check(avcodec_send_frame(codec, nullptr), "flush");
  drain();
  Check(av_write_trailer(format), "trailer");
  avio_closep(&format->pb);
  av_packet_free(&packet);
  av_frame_free(&frame);
  avcodec_free_context(&codec);
  avformat_free_context(format);
}

// A single picture (PNG, TIFF, JPEG ... as the encoder says) as the bytes of its file.
inline std::string EncodePicture(const ClipOptions& options,
                                 const std::function<void(AVFrame&)>& fill) {
  const AVCodec* encoder = avcodec_find_encoder_by_name(options.encoder.c_str());
  Check(encoder != nullptr ? 0 : -1, "encoder");
  AVCodecContext* codec = avcodec_alloc_context3(encoder);
  AVFrame* frame = av_frame_alloc();
  AVPacket* packet = av_packet_alloc();
  codec->width = frame->width = options.width;
  codec->height = frame->height = options.height;
  codec->pix_fmt = options.format;
  frame->format = options.format;
  codec->time_base = {1, 1};
  codec->thread_count = 1;
  codec->color_range = frame->color_range = options.range;
  codec->color_trc = frame->color_trc = options.transfer;
  for (const auto& [key, value] : options.more)
    Check(av_opt_set(codec, key.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN), "option");
  Check(avcodec_open2(codec, encoder, nullptr), "open encoder");
  Check(av_frame_get_buffer(frame, 0), "frame");
  fill(*frame);
  Check(avcodec_send_frame(codec, frame), "encode");
  Check(avcodec_send_frame(codec, nullptr), "flush");
  Check(avcodec_receive_packet(codec, packet), "packet");
  std::string bytes(reinterpret_cast<const char*>(packet->data),
                    static_cast<std::size_t>(packet->size));
  av_packet_free(&packet);
  av_frame_free(&frame);
  avcodec_free_context(&codec);
  return bytes;
}

// Copies a gray picture into the first plane of a frame; other planes become neutral.
inline void FillGray(AVFrame& frame, const GrayImage& image) {
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) frame.data[0][y * frame.linesize[0] + x] = image.At(x, y);
  for (int plane = 1; plane < 3 && frame.data[plane] != nullptr; ++plane)
    for (int y = 0; y < (image.height + 1) / 2; ++y)
      for (int x = 0; x < (image.width + 1) / 2; ++x)
        frame.data[plane][y * frame.linesize[plane] + x] = 128;
}

inline std::vector<std::int64_t> EvenStamps(int n, std::int64_t step, std::int64_t first = 0) {
  std::vector<std::int64_t> stamps;
  for (int k = 0; k < n; ++k) stamps.push_back(first + k * step);
  return stamps;
}

}  // namespace impactlab::test
