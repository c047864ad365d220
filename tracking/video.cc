#include "tracking/video.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "data/error.h"
#include "tracking/video_pixels.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
}

namespace impactlab {
namespace {

// Larger pictures are taken for a damaged header: memory is asked for before the first pixel is known.
constexpr long long kMaxPixels = 1LL << 28;

std::string ErrorText(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof(text));
  return text;
}

// A file behind libavformat's reader, so that a name is never taken for a pattern or a protocol.
struct Source {
  int fd = -1;
  std::int64_t size = 0, at = 0;
  int error = 0;

  ~Source() {
    if (fd >= 0) ::close(fd);
  }
  static int Read(void* opaque, std::uint8_t* buffer, int length) {
    auto* self = static_cast<Source*>(opaque);
    for (;;) {
      const ssize_t n = ::pread(self->fd, buffer, static_cast<std::size_t>(length), self->at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        self->error = errno;
        return AVERROR(errno);
      }
      if (n == 0) return AVERROR_EOF;
      self->at += n;
      return static_cast<int>(n);
    }
  }
  static std::int64_t Seek(void* opaque, std::int64_t offset, int whence) {
    auto* self = static_cast<Source*>(opaque);
    switch (whence & ~AVSEEK_FORCE) {
      case AVSEEK_SIZE:
        return self->size;
      case SEEK_CUR:
        offset += self->at;
        break;
      case SEEK_END:
        offset += self->size;
        break;
      default:
        break;
    }
    if (offset < 0) return AVERROR(EINVAL);
    return self->at = offset;
  }
};

struct FreeFormat {
  void operator()(AVFormatContext* p) const { avformat_close_input(&p); }
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
struct FreeIo {
  void operator()(AVIOContext* p) const {
    av_freep(&p->buffer);
    avio_context_free(&p);
  }
};

int RefuseOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

constexpr const char* kNoStamps =
    "has no time stamps; put it into a container with its true frame rate first, for example: ffmpeg -r RATE -i FILE -c copy FILE.mp4";

// Demuxers of bare streams take a frame rate as an option and count frames.
bool MakesUpStamps(const AVInputFormat& format) {
  if ((format.flags & AVFMT_NOTIMESTAMPS) != 0) return true;
  return format.priv_class != nullptr &&
         av_opt_find(const_cast<const AVClass**>(&format.priv_class), "framerate", nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ) != nullptr;
}

// Text drawn as a picture is no picture of anything.
bool IsTextCodec(AVCodecID id) {
  return id == AV_CODEC_ID_ANSI || id == AV_CODEC_ID_BINTEXT || id == AV_CODEC_ID_XBIN || id == AV_CODEC_ID_IDF;
}

// Where a Matroska file says that it ends; 0 where it does not say. The demuxer takes a file cut short for a whole one.
std::int64_t MatroskaEnd(const Source& source) {
  std::array<std::uint8_t, 4096> head{};
  const ssize_t n = ::pread(source.fd, head.data(), head.size(), 0);
  std::size_t at = 0;
  // An element: identifier, then a size whose leading zeros give its length; all ones mean that the size was not known.
  const auto number = [&](bool keep_marker) -> std::optional<std::uint64_t> {
    if (n < 0 || at + 8 > static_cast<std::size_t>(n) || head[at] == 0) return std::nullopt;
    const int length = std::countl_zero(head[at]) + 1;
    std::uint64_t value = keep_marker ? head[at] : head[at] & (0xFF >> length);
    for (int k = 1; k < length; ++k) value = value << 8 | head[at + static_cast<std::size_t>(k)];
    at += static_cast<std::size_t>(length);
    if (!keep_marker && value == (std::uint64_t{1} << (7 * length)) - 1) return std::nullopt;
    return value;
  };
  constexpr std::uint64_t kEbml = 0x1A45DFA3, kSegment = 0x18538067;
  if (number(true) != kEbml) return 0;
  const auto header = number(false);
  if (!header || *header > head.size()) return 0;
  at += static_cast<std::size_t>(*header);
  if (number(true) != kSegment) return 0;
  const auto size = number(false);
  return size && *size < (std::uint64_t{1} << 56) ? static_cast<std::int64_t>(at + *size) : 0;
}

// Display matrix as quarter turns: a point (x, y) of the stored picture is shown in direction (a x + c y, b x + d y).
internal::Turn TurnOf(const AVStream* stream, const std::string& name) {
  const auto* m = reinterpret_cast<const std::int32_t*>(av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
  if (m == nullptr) return {};
  const double scale = std::max({std::abs(m[0] / 65536.0), std::abs(m[1] / 65536.0), std::abs(m[3] / 65536.0), std::abs(m[4] / 65536.0)});
  if (scale == 0) return {};
  const auto unit = [&](std::int32_t v) { return static_cast<int>(std::lround(v / 65536.0 / scale)); };
  const auto off = [&](std::int32_t v) { return std::abs(v / 65536.0 / scale - unit(v)) > 0.02; };
  internal::Turn turn{unit(m[0]), unit(m[1]), unit(m[3]), unit(m[4])};
  const bool straight = turn.b == 0 && turn.c == 0 && turn.a != 0 && turn.d != 0;
  const bool quarter = turn.a == 0 && turn.d == 0 && turn.b != 0 && turn.c != 0;
  if ((!straight && !quarter) || off(m[0]) || off(m[1]) || off(m[3]) || off(m[4])) {
    throw DataError(
        fmt::format("{}: its display matrix asks for a turn of {:.1f} degrees; only quarter turns can be followed without "
                    "changing pixels",
                    name, -av_display_rotation_get(m)));
  }
  return turn;
}

}  // namespace

struct VideoReader::State {
  std::string name;
  Source source;
  std::unique_ptr<AVIOContext, FreeIo> io;
  std::unique_ptr<AVFormatContext, FreeFormat> format;  // closed before its io
  std::unique_ptr<AVCodecContext, FreeCodec> codec;
  std::unique_ptr<AVPacket, FreePacket> packet{av_packet_alloc()};
  std::unique_ptr<AVFrame, FreeFrame> frame{av_frame_alloc()};
  AVStream* stream = nullptr;
  internal::Turn turn;
  VideoInfo info;
  long long next = 0, index = -1, damaged = 0;
  long long packets = 0, expected_packets = 0;  // expected: from the table of a file that has one; 0 where there is none
  bool predicted = false;                       // frames may be made from others
  bool wait_for_key = false, draining = false, ended = false;
  std::string cut;  // how the end of the file shows that something is missing

  [[noreturn]] void Fail(const std::string& cause) const { throw DataError(fmt::format("{}: {}", name, cause)); }

  void OpenFile(const std::filesystem::path& path);
  void OpenFormat();
  void OpenCodec(int threads);
  void CheckSize(int width, int height) const;
  void Feed();
  void CountDamaged() {
    ++damaged, ++next;
    wait_for_key = predicted;
  }
};

void VideoReader::State::OpenFile(const std::filesystem::path& path) {
  source.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (source.fd < 0) Fail(std::strerror(errno));
  struct stat info {};
  if (::fstat(source.fd, &info) != 0) Fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) Fail("is a folder, not a video or picture");
  if (!S_ISREG(info.st_mode)) Fail("is not a regular file");
  if (info.st_size == 0) Fail("is empty");
  source.size = info.st_size;
}

void VideoReader::State::OpenFormat() {
  constexpr int kBuffer = 1 << 16;
  io.reset(avio_alloc_context(static_cast<unsigned char*>(av_malloc(kBuffer)), kBuffer, 0, &source, Source::Read, nullptr, Source::Seek));
  AVFormatContext* context = avformat_alloc_context();
  if (!io || context == nullptr || !packet || !frame) throw std::bad_alloc();
  context->pb = io.get();
  context->io_open = RefuseOpen;
  // A playlist inside the file would open others; no protocol has this name.
  AVDictionary* options = nullptr;
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  const int error = avformat_open_input(&context, nullptr, nullptr, &options);  // frees the context on error
  av_dict_free(&options);
  if (error < 0) {
    if (source.error != 0) Fail(std::strerror(source.error));
    Fail(fmt::format("is not a video or picture that can be read, or its beginning or its table of contents is missing ({})",
                     ErrorText(error)));
  }
  format.reset(context);
  std::vector<AVDictionary*> limits(context->nb_streams, nullptr);
  for (AVDictionary*& limit : limits) av_dict_set_int(&limit, "max_pixels", kMaxPixels, 0);
  for (unsigned k = 0; k < context->nb_streams; ++k) {
    if (context->streams[k]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO)
      CheckSize(context->streams[k]->codecpar->width, context->streams[k]->codecpar->height);
  }
  const int found = avformat_find_stream_info(context, limits.empty() ? nullptr : limits.data());
  for (AVDictionary*& limit : limits) av_dict_free(&limit);
  if (found < 0) Fail(fmt::format("holds no picture that can be read ({})", ErrorText(found)));
}

void VideoReader::State::CheckSize(int width, int height) const {
  if (width < 0 || height < 0 || static_cast<long long>(width) * height > kMaxPixels)
    Fail(fmt::format("claims pictures of {} x {} pixels; at most {} million pixels are read", width, height, kMaxPixels / 1000000));
}

void VideoReader::State::OpenCodec(int threads) {
  const AVCodec* decoder = nullptr;
  const int best = av_find_best_stream(format.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (best == AVERROR_DECODER_NOT_FOUND) Fail("no decoder for its pictures is installed");
  if (best < 0) Fail("holds no pictures");
  stream = format->streams[best];
  if ((stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) Fail("holds sound with a cover picture, not a video");
  const AVCodecParameters* parameters = stream->codecpar;
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get(parameters->codec_id);
  info.codec = descriptor != nullptr ? descriptor->name : "unknown";
  if (IsTextCodec(parameters->codec_id)) Fail("is text, not a video or picture");
  if (parameters->width <= 0 || parameters->height <= 0) Fail("holds no picture that can be read: its size cannot be found");
  CheckSize(parameters->width, parameters->height);
  info.still = std::string_view(format->iformat->name).ends_with("_pipe");
  if (!info.still && MakesUpStamps(*format->iformat)) Fail(kNoStamps);
  for (unsigned k = 0; k < format->nb_streams; ++k) {
    if (static_cast<int>(k) != best) format->streams[k]->discard = AVDISCARD_ALL;
  }
  predicted = descriptor == nullptr || (descriptor->props & AV_CODEC_PROP_INTRA_ONLY) == 0;
  if (!info.still) turn = TurnOf(stream, name);
  info.width = turn.swaps() ? parameters->height : parameters->width;
  info.height = turn.swaps() ? parameters->width : parameters->height;
  info.rotation_deg = turn.clockwise_deg();
  const AVRational rate = stream->avg_frame_rate.num > 0 ? stream->avg_frame_rate : stream->r_frame_rate;
  if (!info.still && rate.num > 0 && rate.den > 0) info.nominal_rate = av_q2d(rate);
  info.announced_frames = info.still ? 1 : std::max<std::int64_t>(0, stream->nb_frames);
  // MP4 and its kin list every packet before the first is read; other indices only help seeking.
  if (std::strstr(format->iformat->name, "mp4") != nullptr) expected_packets = avformat_index_get_entries_count(stream);

  codec.reset(avcodec_alloc_context3(decoder));
  if (!codec) throw std::bad_alloc();
  if (avcodec_parameters_to_context(codec.get(), parameters) < 0) throw std::bad_alloc();
  codec->pkt_timebase = stream->time_base;
  codec->max_pixels = kMaxPixels;
  codec->thread_count = info.still ? 1 : threads;
  // Half a picture is worse than none where its points are measured.
  codec->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | (predicted ? 0 : AV_EF_EXPLODE);
  const int error = avcodec_open2(codec.get(), decoder, nullptr);
  if (error < 0) Fail(fmt::format("its {} pictures cannot be decoded ({})", info.codec, ErrorText(error)));
}

// Hands the next packet of the video to the decoder.
void VideoReader::State::Feed() {
  for (;;) {
    const int error = av_read_frame(format.get(), packet.get());
    if (error < 0) {
      if (source.error != 0) Fail(std::strerror(source.error));
      if (error != AVERROR_EOF) cut = ErrorText(error);
      if (packets < expected_packets) cut = fmt::format("{} of {} frames are there", packets, expected_packets);
      if (MatroskaEnd(source) > source.size) cut = fmt::format("the file has {} of {} bytes", source.size, MatroskaEnd(source));
      draining = true;
      avcodec_send_packet(codec.get(), nullptr);
      return;
    }
    if (packet->stream_index != stream->index) {
      av_packet_unref(packet.get());
      continue;
    }
    ++packets;
    const bool broken = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    const bool at_end = source.at >= source.size && avio_feof(io.get()) != 0;
    if (broken && at_end) cut = "its last frame is incomplete";
    const int sent = broken ? AVERROR_INVALIDDATA : avcodec_send_packet(codec.get(), packet.get());
    av_packet_unref(packet.get());
    if (sent == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (sent < 0 && sent != AVERROR(EAGAIN)) {
      CountDamaged();
      continue;
    }
    return;
  }
}

VideoReader::VideoReader(const std::filesystem::path& path, const VideoOptions& options) : state_(std::make_unique<State>()) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  state_->name = path.string();
  state_->OpenFile(path);
  state_->OpenFormat();
  state_->OpenCodec(options.threads);
}

VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;

const VideoInfo& VideoReader::info() const { return state_->info; }
long long VideoReader::index() const { return state_->index; }
long long VideoReader::damaged() const { return state_->damaged; }

bool VideoReader::Next(GrayImage* image, double* t) {
  State& s = *state_;
  while (!s.ended) {
    AVFrame* frame = s.frame.get();
    const int got = avcodec_receive_frame(s.codec.get(), frame);
    if (got == AVERROR(EAGAIN)) {
      s.Feed();
      continue;
    }
    if (got == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (got == AVERROR_EOF) {
      s.ended = true;
      if (!s.cut.empty()) s.Fail(fmt::format("ends in the middle after {} frames: {}", s.next, s.cut));
      break;
    }
    if (got < 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0) {
      if (s.info.still) s.Fail(fmt::format("the picture is damaged or cut{}", got < 0 ? " (" + ErrorText(got) + ")" : ""));
      s.CountDamaged();
      continue;
    }
    if (s.wait_for_key && frame->key_frame == 0) {
      s.CountDamaged();
      continue;
    }
    s.wait_for_key = false;
    s.index = s.next++;
    const bool swaps = s.turn.swaps();
    if (frame->width != (swaps ? s.info.height : s.info.width) || frame->height != (swaps ? s.info.width : s.info.height))
      s.Fail(fmt::format("frame {} has {} x {} pixels before it is turned, the first had others", s.index, frame->width, frame->height));
    if (!s.info.still && frame->best_effort_timestamp == AV_NOPTS_VALUE) s.Fail(kNoStamps);
    if (t != nullptr)
      *t = s.info.still ? 0 : static_cast<double>(frame->best_effort_timestamp) * s.stream->time_base.num / s.stream->time_base.den;
    if (image != nullptr && !internal::ToGray(*frame, s.turn, image))
      s.Fail(fmt::format("its pixels ({}) cannot be read as gray values", internal::PixelFormatName(*frame)));
    if (s.info.still) s.ended = true;
    return true;
  }
  return false;
}

GrayImage ReadImage(const std::filesystem::path& path) {
  VideoReader reader(path, {.threads = 1});
  if (!reader.info().still) throw DataError(fmt::format("{}: is a video, not a picture", path.string()));
  GrayImage image;
  if (!reader.Next(&image, nullptr)) throw DataError(fmt::format("{}: holds no picture that can be read", path.string()));
  return image;
}

}  // namespace impactlab
