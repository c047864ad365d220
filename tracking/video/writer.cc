#include "tracking/video/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>

#include "data/base/error.h"
#include "tracking/video/detail/libav_versions.h"
#include "tracking/video/detail/media_file.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

namespace impactlab {
namespace {

using Codec = VideoWriterOptions::Codec;

struct FreeFormat {
  void operator()(AVFormatContext* p) const { avformat_free_context(p); }
};
struct FreeCodec {
  void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
};
struct FreePacket {
  void operator()(AVPacket* p) const { av_packet_free(&p); }
};
struct FreeFrame {
  void operator()(AVFrame* p) const { av_frame_free(&p); }
};
struct FreeWriterScaler {
  void operator()(SwsContext* p) const { sws_freeContext(p); }
};
using FramePtr = std::unique_ptr<AVFrame, FreeFrame>;

struct Container {
  const char* extension;
  const char* muxer;
  bool rotates, counts_frames, matroska;
};
constexpr Container kContainers[] = {{".mp4", "mp4", true, false, false},
                                     {".mov", "mov", true, false, false},
                                     {".mkv", "matroska", false, false, true},
                                     {".avi", "avi", false, true, false}};

std::string ErrorText(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof(text));
  return text;
}

// The fraction with the smallest denominator in [low, high], 0 < low <= high, by continued
// fractions.
AVRational Simplest(double low, double high) {
  const double whole = std::floor(low);
  if (whole == low || whole + 1 <= high)
    return {static_cast<int>(whole == low ? whole : whole + 1), 1};
  const AVRational rest = Simplest(1 / (high - whole), 1 / (low - whole));
  return {static_cast<int>(whole) * rest.num + rest.den, rest.num};
}

// Step between frames of an even rate [s], from the stamp of the second one. A stamp that was
// rounded to ticks stands for a whole number of frames a second, or 1000/1001 of that, where there
// is one so near.
AVRational StepOf(double t, int time_base) {
  const double ticks = t * time_base;
  if (std::abs(ticks - std::round(ticks)) > 1e-3) return Simplest(t * (1 - 1e-9), t * (1 + 1e-9));
  const double low = std::max(ticks - 0.5, ticks / 2) / time_base, high = (ticks + 0.5) / time_base;
  for (const int part : {1000, 1001}) {
    const double rate = std::round(part / (1000 * t));
    if (rate >= 1 && low <= part / (1000 * rate) && part / (1000 * rate) <= high)
      return {part, static_cast<int>(1000 * rate)};
  }
  return Simplest(low, high);
}

std::string_view ToString(Codec codec) {
  return codec == Codec::kH264Lossless ? "H.264 lossless"
         : codec == Codec::kH264       ? "H.264"
         : codec == Codec::kFfv1       ? "FFV1"
                                       : "MJPEG";
}

bool IsH264(Codec codec) { return codec == Codec::kH264 || codec == Codec::kH264Lossless; }

AVPixelFormat PixelFormatOf(const VideoWriterOptions& options, int width, int height) {
  const bool halves = width % 2 == 0 && height % 2 == 0;
  switch (options.codec) {
    case Codec::kH264Lossless:
      return options.color ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_GRAY8;
    case Codec::kH264:
      // As cameras and players have it; the format knows no odd sizes.
      if (halves) return AV_PIX_FMT_YUV420P;
      return options.color ? AV_PIX_FMT_YUV444P : AV_PIX_FMT_GRAY8;
    case Codec::kFfv1:
      return options.color ? AV_PIX_FMT_BGR0 : AV_PIX_FMT_GRAY8;
    case Codec::kMjpeg:
      break;
  }
  return AV_PIX_FMT_YUVJ420P;
}

}  // namespace

struct VideoWriter::State {
  std::string name;
  int width, height;
  VideoWriterOptions options;
  Container container{};
  AVPixelFormat pixels = AV_PIX_FMT_NONE;
  tracking::MediaFile file;
  std::unique_ptr<AVFormatContext, FreeFormat> format;
  std::unique_ptr<AVCodecContext, FreeCodec> codec;
  std::unique_ptr<SwsContext, FreeWriterScaler> scaler;
  std::unique_ptr<AVPacket, FreePacket> packet{av_packet_alloc()};
  AVStream* stream = nullptr;
  AVRational tick{};    // of the stamps given to the encoder [s]
  long long count = 0;  // frames taken
  // stamp of the last one and its distance from the one before [ticks]
  long long last = 0, step = 0;
  // The rate has to be known when the encoder is opened, so that one frame waits.
  FramePtr waiting;
  bool broken = false, finished = false;

  State(const std::filesystem::path& path, int w, int h, const VideoWriterOptions& given)
      : name(path.string()),
        width(w),
        height(h),
        options(given),
        container(Check(path)),
        file(path) {
    pixels = PixelFormatOf(options, width, height);
    tick = {1, options.time_base};
  }
  [[noreturn]] void Refuse(const std::string& cause) const {
    throw ConfigError(fmt::format("{}: {}", name, cause));
  }
  // Of libav; says what the disk said where that is the cause.
  void Need(int code, const char* what) {
    if (code >= 0) return;
    broken = true;
    file.Check();
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    throw OutputError(fmt::format("{}: {}: {}", name, what, ErrorText(code)));
  }
  Container Check(const std::filesystem::path& path) const;
  void Open();
  void OpenCodec();
  FramePtr NewFrame() const;
  FramePtr ToFrame(const GrayImage& image) const;
  FramePtr ToFrame(const ColorImage& image);
  long long Stamp(double t) const;
  void Take(FramePtr frame, double t);
  void Encode(const AVFrame* frame);
  bool CorrectScale();
};

Container VideoWriter::State::Check(const std::filesystem::path& path) const {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto* found = std::find_if(std::begin(kContainers), std::end(kContainers),
                                   [&](const Container& c) { return extension == c.extension; });
  if (found == std::end(kContainers))
    Refuse(fmt::format("found the extension '{}', allowed .mp4, .mov, .mkv and .avi", extension));
  if (width < 1 || height < 1 || width > 16384 || height > 16384)
    Refuse(fmt::format("found pictures of {} x {} pixels, allowed 1 to 16384", width, height));
  const bool mjpeg = options.codec == Codec::kMjpeg;
  if (options.codec == Codec::kH264 && !(options.quality >= 0 && options.quality <= 51) &&
      options.bit_rate == 0)
    Refuse(fmt::format("found quality {}, allowed 0 to 51 for H.264", options.quality));
  if (mjpeg && !(options.quality >= 2 && options.quality <= 31) && options.bit_rate == 0)
    Refuse(fmt::format("found quality {}, allowed 2 to 31 for MJPEG", options.quality));
  if (options.bit_rate < 0)
    Refuse(fmt::format("found a bit rate of {}, allowed 0 and more", options.bit_rate));
  if (options.key_interval < 1)
    Refuse(fmt::format("found a key interval of {}, allowed 1 and more", options.key_interval));
  if (options.threads < 0)
    Refuse(fmt::format("found {} threads, allowed 0 and more", options.threads));
  if (options.b_frames < 0 || options.b_frames > 16)
    Refuse(fmt::format("found {} B-frames, allowed 0 to 16", options.b_frames));
  if (options.b_frames > 0 && (!IsH264(options.codec) || found->counts_frames))
    Refuse("B-frames are possible with H.264 in mp4, mov and mkv only");
  if (options.rotation_deg % 90 != 0)
    Refuse(
        fmt::format("found a rotation of {} degrees, allowed quarter turns", options.rotation_deg));
  if (options.rotation_deg % 360 != 0 && !found->rotates)
    Refuse("a rotation can be stored in mp4 and mov only");
  if (options.time_base < 1)
    Refuse(fmt::format("found a time base of {}, allowed 1 and more", options.time_base));
  if (found->matroska && (1000000000 % options.time_base != 0 || options.time_base < 100))
    Refuse(fmt::format("found a time base of {}, allowed in mkv divisors of 1e9 from 100 on",
                       options.time_base));
  if (options.codec == Codec::kFfv1 && std::string_view(found->muxer) == "mp4")
    Refuse("FFV1 cannot be stored in mp4; use mkv, mov or avi, or H.264 lossless");
  return *found;
}

void VideoWriter::State::OpenCodec() {
  const char* wanted = options.codec == Codec::kFfv1    ? "ffv1"
                       : options.codec == Codec::kMjpeg ? "mjpeg"
                       : pixels == AV_PIX_FMT_RGB24     ? "libx264rgb"
                                                        : "libx264";
  const AVCodec* encoder = avcodec_find_encoder_by_name(wanted);
  if (encoder == nullptr)
    Refuse(fmt::format("this libavcodec has no encoder {} for {}; choose another codec", wanted,
                       ToString(options.codec)));
  codec.reset(avcodec_alloc_context3(encoder));
  if (!codec || !packet) throw std::bad_alloc();
  codec->width = width;
  codec->height = height;
  codec->pix_fmt = pixels;
  codec->time_base = tick;
  codec->thread_count = options.threads;
  const bool player = options.codec == Codec::kH264 && options.color;
  codec->color_range = player ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG;
  if (player) {
    codec->colorspace = AVCOL_SPC_BT709;
    codec->color_primaries = AVCOL_PRI_BT709;
    codec->color_trc = AVCOL_TRC_BT709;
  }
  codec->gop_size = options.codec == Codec::kFfv1 ? 1 : options.key_interval;
  codec->max_b_frames = options.b_frames;
  codec->bit_rate = options.bit_rate;
  AVDictionary* more = nullptr;
  if (IsH264(options.codec)) {
    // The ticks of the time base are no frame rate; without the true one the level and the first
    // frames' share of bits are absurd.
    const double rate =
        step > 0 ? std::clamp(av_q2d(av_inv_q(tick)) / static_cast<double>(step), 1.0, 100000.0)
                 : 25;
    av_dict_set(&more, "x264-params", fmt::format("fps={}/1000", std::lround(1000 * rate)).c_str(),
                0);
    const bool lossless = options.codec == Codec::kH264Lossless;
    av_dict_set(&more, "preset", lossless ? "ultrafast" : "veryfast", 0);
    if (lossless) av_dict_set(&more, "qp", "0", 0);
    if (!lossless && options.bit_rate == 0)
      av_dict_set(&more, "crf", fmt::format("{}", options.quality).c_str(), 0);
  } else if (options.codec == Codec::kMjpeg && options.bit_rate == 0) {
    codec->flags |= AV_CODEC_FLAG_QSCALE;
    codec->global_quality = static_cast<int>(std::lround(options.quality * FF_QP2LAMBDA));
  } else if (options.codec == Codec::kFfv1) {
    codec->level = 3;  // each slice has a checksum, so that damage is noticed
    av_dict_set(&more, "slicecrc", "1", 0);
    if (width >= 128 && height >= 128) av_dict_set(&more, "slices", "4", 0);
  }
  if ((format->oformat->flags & AVFMT_GLOBALHEADER) != 0)
    codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  const int opened = avcodec_open2(codec.get(), encoder, &more);
  av_dict_free(&more);
  if (opened < 0) {
    broken = true;
    Refuse(fmt::format("the {} encoder does not take {} x {} pixels with these options ({})",
                       ToString(options.codec), width, height, ErrorText(opened)));
  }
}

void VideoWriter::State::Open() {
  AVFormatContext* context = nullptr;
  Need(avformat_alloc_output_context2(&context, nullptr, container.muxer, nullptr),
       "its container is not available");
  format.reset(context);
  format->pb = file.io();
  format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  stream = avformat_new_stream(context, nullptr);
  if (stream == nullptr) throw std::bad_alloc();
  OpenCodec();
  Need(avcodec_parameters_from_context(stream->codecpar, codec.get()),
       "its stream cannot be described");
  stream->time_base = tick;
  const int turn = ((options.rotation_deg % 360) + 360) % 360;
  if (turn != 0) {
    std::int32_t* matrix = tracking::NewDisplayMatrix(stream);
    if (matrix == nullptr) throw std::bad_alloc();
    av_display_rotation_set(matrix, turn);
  }
  AVDictionary* more = nullptr;
  if (container.rotates) {
    // The pause before the first frame is counted in this scale.
    av_dict_set_int(&more, "movie_timescale", options.time_base, 0);
  } else if (container.matroska) {
    // The muxer knows milliseconds only: it is handed ticks, and the scale in the file is set right
    // at the end.
    av_dict_set_int(&more, "write_crc32", 0, 0);
    av_dict_set_int(&more, "cluster_time_limit", 30000, 0);
    format->avoid_negative_ts = 0;
  }
  const int code = avformat_write_header(context, &more);
  av_dict_free(&more);
  Need(code, "its header cannot be written");
  file.Check();
}

FramePtr VideoWriter::State::NewFrame() const {
  FramePtr frame(av_frame_alloc());
  if (!frame) throw std::bad_alloc();
  frame->format = pixels;
  frame->width = width;
  frame->height = height;
  frame->color_range =
      options.codec == Codec::kH264 && options.color ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG;
  if (av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  return frame;
}

FramePtr VideoWriter::State::ToFrame(const GrayImage& image) const {
  FramePtr frame = NewFrame();
  for (int y = 0; y < height; ++y)
    std::memcpy(frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0],
                image.pixels.data() + static_cast<std::size_t>(y) * width,
                static_cast<std::size_t>(width));
  for (int plane = 1; plane < 3 && frame->data[plane] != nullptr; ++plane)
    for (int y = 0; y < (height + 1) / 2; ++y)
      std::memset(frame->data[plane] + static_cast<std::ptrdiff_t>(y) * frame->linesize[plane], 128,
                  static_cast<std::size_t>((width + 1) / 2));
  return frame;
}

FramePtr VideoWriter::State::ToFrame(const ColorImage& image) {
  FramePtr frame = NewFrame();
  const std::size_t row = 3 * static_cast<std::size_t>(width);
  if (pixels == AV_PIX_FMT_RGB24 || pixels == AV_PIX_FMT_BGR0) {
    for (int y = 0; y < height; ++y) {
      const std::uint8_t* from = image.rgb.data() + row * static_cast<std::size_t>(y);
      std::uint8_t* to = frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0];
      if (pixels == AV_PIX_FMT_RGB24) {
        std::memcpy(to, from, row);
        continue;
      }
      for (int x = 0; x < width; ++x, from += 3, to += 4)
        to[0] = from[2], to[1] = from[1], to[2] = from[0], to[3] = 0;
    }
    return frame;
  }
  const bool player = options.codec == Codec::kH264;
  if (!scaler) {
    scaler.reset(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, pixels,
                                SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr,
                                nullptr, nullptr));
    if (!scaler) Need(AVERROR(EINVAL), "its colours cannot be converted");
    const int* matrix = sws_getCoefficients(player ? SWS_CS_ITU709 : SWS_CS_ITU601);
    sws_setColorspaceDetails(scaler.get(), matrix, 1, matrix, player ? 0 : 1, 0, 1 << 16, 1 << 16);
  }
  const std::uint8_t* const from[] = {image.rgb.data()};
  const int stride[] = {static_cast<int>(row)};
  Need(sws_scale(scaler.get(), from, stride, 0, height, frame->data, frame->linesize),
       "its colours cannot be converted");
  return frame;
}

long long VideoWriter::State::Stamp(double t) const {
  if (!std::isfinite(t) || t < 0 || t > 1e9)
    Refuse(fmt::format("frame {} is stamped {} s, allowed 0 to 1e9 s", count, t));
  const double ticks = t * options.time_base;
  const long long rounded = std::llround(ticks);
  if (!container.counts_frames) {
    if (count > 0 && rounded <= last)
      Refuse(
          fmt::format("frame {} is stamped {} s, which is not at least one tick of 1/{} s after "
                      "the frame before",
                      count, t, options.time_base));
    return rounded;
  }
  // `tick` is the step between frames once two of them are known.
  const double expected =
      count < 2 ? ticks : static_cast<double>(count) * av_q2d(tick) * options.time_base;
  if ((count == 0 && rounded != 0) || (count == 1 && rounded <= 0) ||
      std::abs(expected - ticks) > 0.75)
    Refuse(fmt::format(
        "frame {} is stamped {} s; avi holds even steps from 0 s only, use mp4, mov or mkv", count,
        t));
  return count;
}

void VideoWriter::State::Take(FramePtr frame, double t) {
  if (finished || broken)
    throw OutputError(fmt::format("{}: cannot write: the file is closed already", name));
  const long long stamp = Stamp(t);
  if (count == 1 && container.counts_frames) tick = StepOf(t, options.time_base);
  if (count > 0) {
    step = stamp - last;
    if (!codec) Open();
    Encode(waiting.get());
  }
  frame->pts = stamp;
  if (options.codec == Codec::kMjpeg)
    frame->quality = static_cast<int>(std::lround(options.quality * FF_QP2LAMBDA));
  waiting = std::move(frame);
  last = stamp;
  ++count;
}

void VideoWriter::State::Encode(const AVFrame* frame) {
  Need(avcodec_send_frame(codec.get(), frame), "a frame cannot be encoded");
  for (;;) {
    const int got = avcodec_receive_packet(codec.get(), packet.get());
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) break;
    Need(got, "a frame cannot be encoded");
    if (packet->duration == 0) packet->duration = std::max(1LL, step);
    // Intra-only encoders of one thread mark what they give only in part.
    if (!IsH264(options.codec)) packet->flags |= AV_PKT_FLAG_KEY;
    packet->stream_index = stream->index;
    if (!container.matroska) av_packet_rescale_ts(packet.get(), tick, stream->time_base);
    Need(av_interleaved_write_frame(format.get(), packet.get()), "a frame cannot be written");
    file.Check();
  }
}

// Sets the nanoseconds of a tick of a Matroska file, and the duration that the muxer has spelt out
// for players to show.
bool VideoWriter::State::CorrectScale() {
  const int scale = 1000000000 / options.time_base;
  const std::string bytes = {static_cast<char>(scale >> 16), static_cast<char>(scale >> 8 & 0xFF),
                             static_cast<char>(scale & 0xFF)};
  const std::string mark("\x2A\xD7\xB1\x83", 4);
  if (!file.Overwrite(mark, bytes)) return false;
  const double seconds = static_cast<double>(last + step) / options.time_base;
  const int minutes = static_cast<int>(seconds / 60);
  if (minutes < 6000)
    file.Overwrite(
        std::string("DURATION\x44\x87\x94", 11),
        fmt::format("{:02}:{:02}:{:012.9f}", minutes / 60, minutes % 60, seconds - 60.0 * minutes));
  return true;
}

VideoWriter::VideoWriter(const std::filesystem::path& path, int width, int height,
                         const VideoWriterOptions& options) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  state_ = std::make_unique<State>(path, width, height, options);
}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;

void VideoWriter::Write(const GrayImage& image, double t) {
  State& s = *state_;
  if (image.width != s.width || image.height != s.height ||
      image.pixels.size() != static_cast<std::size_t>(s.width) * s.height)
    s.Refuse(fmt::format("found a picture of {} x {} pixels in a video of {} x {}", image.width,
                         image.height, s.width, s.height));
  if (!s.options.color) {
    s.Take(s.ToFrame(image), t);
    return;
  }
  ColorImage color{image.width, image.height, {}};
  color.rgb.reserve(3 * image.pixels.size());
  for (const std::uint8_t v : image.pixels) color.rgb.insert(color.rgb.end(), 3, v);
  s.Take(s.ToFrame(color), t);
}

void VideoWriter::Write(const ColorImage& image, double t) {
  State& s = *state_;
  if (!s.options.color) s.Refuse("found a colour picture in a gray video; set `color`");
  if (image.width != s.width || image.height != s.height ||
      image.rgb.size() != 3 * static_cast<std::size_t>(s.width) * s.height)
    s.Refuse(fmt::format("found a picture of {} x {} pixels in a video of {} x {}", image.width,
                         image.height, s.width, s.height));
  s.Take(s.ToFrame(image), t);
}

void VideoWriter::Finish() {
  State& s = *state_;
  if (s.finished || s.broken)
    throw OutputError(fmt::format("{}: cannot write: the file is closed already", s.name));
  if (s.count == 0) s.Refuse("a video needs a frame");
  if (!s.codec) {
    // A single frame: its duration means nothing.
    if (s.container.counts_frames) s.tick = {1, 25};
    s.Open();
    s.step = s.container.counts_frames ? 1 : std::max(1, s.options.time_base / 25);
  }
  s.Encode(s.waiting.get());
  s.Encode(nullptr);
  s.Need(av_write_trailer(s.format.get()), "its end cannot be written");
  s.file.Check();
  if (s.container.matroska && s.options.time_base != 1000 && !s.CorrectScale()) {
    s.broken = true;
    throw OutputError(fmt::format("{}: its time base cannot be set; use mp4 or mov", s.name));
  }
  s.file.Commit();
  s.finished = true;
}

}  // namespace impactlab
