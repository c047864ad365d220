#include "tracking/video_pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "data/atomic_file.h"
#include "data/error.h"
#include "tracking/video.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace impactlab {
namespace internal {
namespace {

struct FreeFrame {
  void operator()(AVFrame* p) const { av_frame_free(&p); }
};
struct FreeScaler {
  void operator()(SwsContext* p) const { sws_freeContext(p); }
};

// Places the rows of the stored picture in the one shown.
class Placer {
 public:
  Placer(int width, int height, const Turn& turn, GrayImage* image) : width_(width) {
    image->width = turn.swaps() ? height : width;
    image->height = turn.swaps() ? width : height;
    image->pixels.resize(static_cast<std::size_t>(width) * height);
    const std::ptrdiff_t row = image->width;
    // Memory steps for one pixel right and one down in the stored picture, and where its corner goes.
    right_ = turn.a + turn.b * row;
    down_ = turn.c + turn.d * row;
    const bool from_right = turn.a < 0 || turn.c < 0, from_bottom = turn.b < 0 || turn.d < 0;
    start_ = image->pixels.data() + (from_right ? image->width - 1 : 0) + (from_bottom ? (image->height - 1) * row : 0);
  }
  void Row(int y, const std::uint8_t* values) const {
    std::uint8_t* to = start_ + y * down_;
    if (right_ == 1) {
      std::memcpy(to, values, static_cast<std::size_t>(width_));
      return;
    }
    for (int x = 0; x < width_; ++x, to += right_) *to = values[x];
  }

 private:
  int width_;
  std::ptrdiff_t right_ = 1, down_ = 1;
  std::uint8_t* start_ = nullptr;
};

// From a stored luma value to 0..255, rounded.
std::vector<std::uint8_t> LumaTable(int depth, bool limited) {
  std::vector<std::uint8_t> table(std::size_t{1} << depth);
  const double black = limited ? 16.0 * (1 << (depth - 8)) : 0;
  const double white = limited ? 235.0 * (1 << (depth - 8)) : static_cast<double>(table.size() - 1);
  for (std::size_t v = 0; v < table.size(); ++v)
    table[v] = static_cast<std::uint8_t>(std::clamp(255 * (static_cast<double>(v) - black) / (white - black) + 0.5, 0.0, 255.0));
  return table;
}

bool HasFullRangeName(int format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ411P:
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ444P:
      return true;
    default:
      return false;
  }
}

void FromLuma(const AVFrame& frame, const AVPixFmtDescriptor& format, const Placer& place) {
  const AVComponentDescriptor& luma = format.comp[0];
  const bool gray = format.nb_components <= 2;
  const bool limited =
      !HasFullRangeName(frame.format) && (frame.color_range == AVCOL_RANGE_MPEG || (frame.color_range == AVCOL_RANGE_UNSPECIFIED && !gray));
  const bool bytes = luma.depth == 8 && luma.step == 1;
  // Bilevel pictures have no limited range.
  const std::vector<std::uint8_t> table = LumaTable(luma.depth, limited && luma.depth >= 8);
  std::vector<std::uint16_t> row(static_cast<std::size_t>(frame.width));
  std::vector<std::uint8_t> out(row.size());
  for (int y = 0; y < frame.height; ++y) {
    if (bytes) {
      const std::uint8_t* stored = frame.data[0] + static_cast<std::ptrdiff_t>(y) * frame.linesize[0] + luma.offset;
      if (!limited) {
        place.Row(y, stored);
        continue;
      }
      for (std::size_t x = 0; x < out.size(); ++x) out[x] = table[stored[x]];
    } else {
      av_read_image_line2(row.data(), const_cast<const std::uint8_t**>(frame.data), frame.linesize, &format, 0, y, 0, frame.width, 0, 2);
      for (std::size_t x = 0; x < out.size(); ++x) out[x] = table[row[x]];
    }
    place.Row(y, out.data());
  }
}

// Weights of BT.601; equal components keep their value exactly.
void FromRgb(const AVFrame& frame, const AVPixFmtDescriptor& format, const Placer& place) {
  const bool palette = (format.flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const std::size_t width = static_cast<std::size_t>(frame.width);
  std::array<std::vector<std::uint16_t>, 3> row{std::vector<std::uint16_t>(width), std::vector<std::uint16_t>(width),
                                                std::vector<std::uint16_t>(width)};
  std::vector<std::uint8_t> out(width);
  std::array<double, 3> scale{};
  constexpr std::array<double, 3> kWeights = {0.299, 0.587, 0.114};
  for (std::size_t k = 0; k < 3; ++k) scale[k] = kWeights[k] * 255.0 / ((1 << (palette ? 8 : format.comp[k].depth)) - 1);
  for (int y = 0; y < frame.height; ++y) {
    for (int k = 0; k < 3; ++k) {
      // A palette is stored as native 32-bit ARGB: components of RGB32 in memory.
      av_read_image_line2(row[static_cast<std::size_t>(k)].data(), const_cast<const std::uint8_t**>(frame.data), frame.linesize, &format, 0,
                          y, palette ? 0 : k, frame.width, 0, 2);
      if (palette) {
        for (std::uint16_t& v : row[static_cast<std::size_t>(k)]) {
          std::uint32_t argb = 0;
          std::memcpy(&argb, frame.data[1] + 4 * static_cast<std::size_t>(v & 0xFF), 4);
          v = static_cast<std::uint16_t>((argb >> (16 - 8 * k)) & 0xFF);
        }
      }
    }
    for (std::size_t x = 0; x < width; ++x)
      out[x] = static_cast<std::uint8_t>(std::min(255.0, scale[0] * row[0][x] + scale[1] * row[1][x] + scale[2] * row[2][x] + 0.5 + 1e-9));
    place.Row(y, out.data());
  }
}

// Bayer patterns, floating-point and other rare formats: swscale makes RGB of them.
std::unique_ptr<AVFrame, FreeFrame> ConvertToRgb(const AVFrame& frame) {
  const auto from = static_cast<AVPixelFormat>(frame.format);
  if (sws_isSupportedInput(from) == 0) return nullptr;
  const std::unique_ptr<SwsContext, FreeScaler> scaler(sws_getContext(frame.width, frame.height, from, frame.width, frame.height,
                                                                      AV_PIX_FMT_RGB24, SWS_POINT | SWS_ACCURATE_RND, nullptr, nullptr,
                                                                      nullptr));
  if (!scaler) return nullptr;
  std::unique_ptr<AVFrame, FreeFrame> rgb(av_frame_alloc());
  if (!rgb) throw std::bad_alloc();
  rgb->format = AV_PIX_FMT_RGB24;
  rgb->width = frame.width;
  rgb->height = frame.height;
  if (av_frame_get_buffer(rgb.get(), 0) < 0) throw std::bad_alloc();
  if (sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, rgb->data, rgb->linesize) < 0) return nullptr;
  return rgb;
}

}  // namespace

bool ToGray(const AVFrame& frame, const Turn& turn, GrayImage* image) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (format == nullptr || frame.width <= 0 || frame.height <= 0) return false;
  constexpr std::uint64_t kRare = AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL;
  const bool xyz = frame.format == AV_PIX_FMT_XYZ12LE || frame.format == AV_PIX_FMT_XYZ12BE;
  if ((format->flags & kRare) != 0 || xyz) {
    const auto rgb = ConvertToRgb(frame);
    return rgb != nullptr && ToGray(*rgb, turn, image);
  }
  const bool colour = (format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  if (!colour && (format->nb_components < 1 || format->comp[0].depth > 16)) return false;
  if (colour && (format->flags & AV_PIX_FMT_FLAG_PAL) == 0 && format->nb_components < 3) return false;
  const Placer place(frame.width, frame.height, turn, image);
  if (colour) {
    FromRgb(frame, *format, place);
  } else {
    FromLuma(frame, *format, place);
    // White is 0 in this one.
    if (frame.format == AV_PIX_FMT_MONOWHITE)
      for (std::uint8_t& v : image->pixels) v = static_cast<std::uint8_t>(255 - v);
  }
  return true;
}

std::string PixelFormatName(const AVFrame& frame) {
  const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
  return name != nullptr ? name : "unknown";
}

}  // namespace internal

std::string EncodePng(const GrayImage& image) {
  const auto fail = [](const char* what) { throw OutputError(fmt::format("a PNG picture cannot be made: {}", what)); };
  if (image.width <= 0 || image.height <= 0 || image.pixels.size() != static_cast<std::size_t>(image.width) * image.height)
    fail("it has no pixels");
  const AVCodec* encoder = avcodec_find_encoder(AV_CODEC_ID_PNG);
  if (encoder == nullptr) fail("this libavcodec has no PNG encoder");
  struct FreeCodec {
    void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
  };
  struct FreePacket {
    void operator()(AVPacket* p) const { av_packet_free(&p); }
  };
  const std::unique_ptr<AVCodecContext, FreeCodec> codec(avcodec_alloc_context3(encoder));
  const std::unique_ptr<AVFrame, internal::FreeFrame> frame(av_frame_alloc());
  const std::unique_ptr<AVPacket, FreePacket> packet(av_packet_alloc());
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
