#include "tracking/video/detail/file.h"

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
#include <utility>

#include "data/base/error.h"
#include "data/statistics/order_statistic.h"
#include "tracking/video/detail/libav_versions.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/opt.h>
}

namespace impactlab::tracking {
namespace {

int ReadBytes(void* opaque, std::uint8_t* buffer, int length) {
  auto* self = static_cast<ByteSource*>(opaque);
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

std::int64_t SeekBytes(void* opaque, std::int64_t offset, int whence) {
  auto* self = static_cast<ByteSource*>(opaque);
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

int RefuseOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

// Demuxers of bare streams take a frame rate as an option and count frames.
bool MakesUpStamps(const AVInputFormat& format) {
  if ((format.flags & AVFMT_NOTIMESTAMPS) != 0) return true;
  return format.priv_class != nullptr &&
         av_opt_find(const_cast<const AVClass**>(&format.priv_class), "framerate", nullptr, 0,
                     AV_OPT_SEARCH_FAKE_OBJ) != nullptr;
}

// libavformat renders text files as pictures; they are refused.
bool IsTextCodec(AVCodecID id) {
  return id == AV_CODEC_ID_ANSI || id == AV_CODEC_ID_BINTEXT || id == AV_CODEC_ID_XBIN ||
         id == AV_CODEC_ID_IDF;
}

// Where a Matroska file says that it ends; 0 where it does not say. The demuxer does not notice
// that a file is truncated.
std::int64_t MatroskaEnd(const ByteSource& source) {
  std::array<std::uint8_t, 4096> head{};
  const ssize_t n = ::pread(source.fd, head.data(), head.size(), 0);
  std::size_t at = 0;
  // An element: identifier, then a size whose leading zeros give its length; all ones mean that the
  // size was not known.
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

// Display matrix as quarter turns: a point (x, y) of the stored picture is shown in direction (a x
// + c y, b x + d y).
Turn TurnOf(const AVStream* stream, const std::string& name) {
  const std::int32_t* m = DisplayMatrix(*stream);
  if (m == nullptr) return {};
  const double scale = std::max({std::abs(m[0] / 65536.0), std::abs(m[1] / 65536.0),
                                 std::abs(m[3] / 65536.0), std::abs(m[4] / 65536.0)});
  if (scale == 0) return {};
  const auto unit = [&](std::int32_t v) {
    return static_cast<int>(std::lround(v / 65536.0 / scale));
  };
  const auto off = [&](std::int32_t v) { return std::abs(v / 65536.0 / scale - unit(v)) > 0.02; };
  Turn turn{unit(m[0]), unit(m[1]), unit(m[3]), unit(m[4])};
  const bool straight = turn.b == 0 && turn.c == 0 && turn.a != 0 && turn.d != 0;
  const bool quarter = turn.a == 0 && turn.d == 0 && turn.b != 0 && turn.c != 0;
  if ((!straight && !quarter) || off(m[0]) || off(m[1]) || off(m[3]) || off(m[4])) {
    throw DataError(
        fmt::format("{}: its display matrix asks for a turn of {:.1f} degrees; only quarter turns "
                    "can be followed without changing pixels",
                    name, -av_display_rotation_get(m)));
  }
  return turn;
}

}  // namespace

std::string ErrorText(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof(text));
  return text;
}

void FreeIo::operator()(AVIOContext* p) const {
  av_freep(&p->buffer);
  avio_context_free(&p);
}

ByteSource::~ByteSource() {
  if (fd >= 0) ::close(fd);
}

VideoFile::VideoFile(const std::filesystem::path& path) : name(path.string()) {
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  OpenFile(path);
  OpenFormat();
  ChooseStream();
}

void VideoFile::Fail(const std::string& cause) const {
  throw DataError(fmt::format("{}: {}", name, cause));
}

void VideoFile::OpenFile(const std::filesystem::path& path) {
  source_.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (source_.fd < 0) Fail(std::strerror(errno));
  struct stat info {};
  if (::fstat(source_.fd, &info) != 0) Fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) Fail("is a folder, not a video or picture");
  if (!S_ISREG(info.st_mode)) Fail("is not a regular file");
  if (info.st_size == 0) Fail("is empty");
  source_.size = info.st_size;
}

void VideoFile::OpenFormat() {
  constexpr int kBuffer = 1 << 16;
  io_.reset(avio_alloc_context(static_cast<unsigned char*>(av_malloc(kBuffer)), kBuffer, 0,
                               &source_, ReadBytes, nullptr, SeekBytes));
  AVFormatContext* context = avformat_alloc_context();
  if (!io_ || context == nullptr) throw std::bad_alloc();
  context->pb = io_.get();
  context->io_open = RefuseOpen;
  // A playlist inside the file would open others; no protocol has this name.
  AVDictionary* options = nullptr;
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  // frees the context on error
  const int error = avformat_open_input(&context, nullptr, nullptr, &options);
  av_dict_free(&options);
  if (error < 0) {
    if (source_.error != 0) Fail(std::strerror(source_.error));
    Fail(
        fmt::format("is not a video or picture that can be read, or its beginning or its table of "
                    "contents is missing ({})",
                    ErrorText(error)));
  }
  format_.reset(context);
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

void VideoFile::CheckSize(int width, int height) const {
  if (width < 0 || height < 0 || static_cast<long long>(width) * height > kMaxPixels)
    Fail(fmt::format("claims pictures of {} x {} pixels; at most {} million pixels are read", width,
                     height, kMaxPixels / 1000000));
}

void VideoFile::ChooseStream() {
  const int best = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (best == AVERROR_DECODER_NOT_FOUND) Fail("no decoder for its pictures is installed");
  if (best < 0) Fail("holds no pictures");
  stream = format_->streams[best];
  if ((stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0)
    Fail("holds sound with a cover picture, not a video");
  const AVCodecParameters* parameters = stream->codecpar;
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get(parameters->codec_id);
  codec = descriptor != nullptr ? descriptor->name : "unknown";
  if (IsTextCodec(parameters->codec_id)) Fail("is text, not a video or picture");
  if (parameters->width <= 0 || parameters->height <= 0)
    Fail("holds no picture that can be read: its size cannot be found");
  CheckSize(parameters->width, parameters->height);
  still = std::string_view(format_->iformat->name).ends_with("_pipe");
  if (!still && MakesUpStamps(*format_->iformat)) Fail(kNoStamps);
  for (unsigned k = 0; k < format_->nb_streams; ++k) {
    if (static_cast<int>(k) != best) format_->streams[k]->discard = AVDISCARD_ALL;
  }
  predicted = descriptor == nullptr || (descriptor->props & AV_CODEC_PROP_INTRA_ONLY) == 0;
  reorders = descriptor == nullptr || (descriptor->props & AV_CODEC_PROP_REORDER) != 0;
  if (!still) turn = TurnOf(stream, name);
  // MP4 and related formats list every packet before the first is read; other indices only help
  // seeking.
  if (std::strstr(format_->iformat->name, "mp4") != nullptr)
    expected_packets_ = avformat_index_get_entries_count(stream);
}

VideoFile::Got VideoFile::Read(AVPacket* packet) {
  for (;;) {
    const int error = av_read_frame(format_.get(), packet);
    if (error < 0) {
      if (source_.error != 0) Fail(std::strerror(source_.error));
      if (error != AVERROR_EOF) cut = ErrorText(error);
      if (!sought_ && packets_ < expected_packets_)
        cut = fmt::format("{} of {} frames are there", packets_, expected_packets_);
      if (MatroskaEnd(source_) > source_.size)
        cut = fmt::format("the file has {} of {} bytes", source_.size, MatroskaEnd(source_));
      return Got::kEnd;
    }
    if (packet->stream_index != stream->index) {
      av_packet_unref(packet);
      continue;
    }
    ++packets_;
    const bool broken = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (broken && source_.at >= source_.size && avio_feof(io_.get()) != 0)
      cut = "its last frame is incomplete";
    return broken ? Got::kBroken : Got::kPacket;
  }
}

bool VideoFile::SeekTo(std::int64_t stamp) {
  sought_ = true;
  cut.clear();
  return av_seek_frame(format_.get(), stream->index, stamp, AVSEEK_FLAG_BACKWARD) >= 0;
}

bool IsShown(const AVPacket& packet, AVCodecID codec) {
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return false;
  constexpr std::uint8_t kVp8Show = 0x10;
  return codec != AV_CODEC_ID_VP8 || packet.size < 1 || (packet.data[0] & kVp8Show) != 0;
}

long long StampTable::Find(std::int64_t stamp) const {
  const auto at = std::lower_bound(ticks.begin(), ticks.end(), stamp);
  return at != ticks.end() && *at == stamp ? at - ticks.begin() : -1;
}

double StampTable::Step() const {
  if (ticks.size() < 2) return 0;
  std::vector<std::int64_t> steps;
  for (std::size_t k = 1; k < ticks.size(); ++k)
    if (ticks[k] > ticks[k - 1]) steps.push_back(ticks[k] - ticks[k - 1]);
  if (steps.empty()) return 0;
  const double median = static_cast<double>(UpperMedian(std::move(steps)));
  // Slope of the stamps over their places on the lattice, by least squares from the first.
  double n = 0, place = 0, sum_k = 0, sum_t = 0, sum_kk = 0, sum_kt = 0;
  for (std::size_t k = 0; k < ticks.size(); ++k) {
    if (k > 0) place += std::round(static_cast<double>(ticks[k] - ticks[k - 1]) / median);
    // small: keeps the digits
    const double t = static_cast<double>(ticks[k] - ticks[0]) - place * median;
    n += 1, sum_k += place, sum_t += t, sum_kk += place * place, sum_kt += place * t;
  }
  const double spread = sum_kk - sum_k * sum_k / n;
  return tick * (median + (spread > 0 ? (sum_kt - sum_k * sum_t / n) / spread : 0));
}

StampTable ScanStamps(const std::filesystem::path& path) {
  VideoFile file(path);
  const std::unique_ptr<AVPacket, FreePacket> packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  StampTable table;
  table.tick = av_q2d(file.stream->time_base);
  table.exact = !file.still;
  std::vector<std::pair<std::int64_t, bool>> entries;
  for (; file.Read(packet.get()) != VideoFile::Got::kEnd; av_packet_unref(packet.get())) {
    if (!IsShown(*packet, file.stream->codecpar->codec_id)) continue;
    table.exact = table.exact && packet->pts != AV_NOPTS_VALUE;
    const std::int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    if (stamp == AV_NOPTS_VALUE) continue;
    if (!file.reorders && !entries.empty() && stamp <= entries.back().first) table.exact = false;
    entries.emplace_back(stamp, (packet->flags & AV_PKT_FLAG_KEY) != 0);
  }
  table.cut = file.cut;
  std::sort(entries.begin(), entries.end());
  for (const auto& [stamp, key] : entries) {
    if (!table.ticks.empty() && stamp == table.ticks.back()) table.exact = false;
    table.ticks.push_back(stamp);
    table.key.push_back(key);
  }
  return table;
}

}  // namespace impactlab::tracking
