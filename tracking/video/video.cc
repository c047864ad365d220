#include "tracking/video/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <utility>

#include "data/base/error.h"
#include "tracking/video/detail/file.h"
#include "tracking/video/detail/libav_versions.h"
#include "tracking/video/detail/pixels.h"

namespace impactlab {

using tracking::ErrorText;
using tracking::VideoFile;

struct VideoReader::State {
  // A frame in the decoder.
  struct Sent {
    // in the order of output: its stamp, or the number of its packet where nothing is reordered
    std::int64_t place = 0;
    std::int64_t stamp = 0;
    long long packet = 0;
  };

  std::filesystem::path path;
  VideoOptions options;
  std::unique_ptr<VideoFile> file;
  std::unique_ptr<AVCodecContext, tracking::FreeCodec> codec;
  std::unique_ptr<AVPacket, tracking::FreePacket> packet{av_packet_alloc()};
  std::unique_ptr<AVFrame, tracking::FreeFrame> frame{av_frame_alloc()};
  std::unique_ptr<tracking::GrayMaker> gray;
  VideoInfo info;

  // frames are told apart by the stamps of their packets; else they are counted
  bool by_stamp = true;
  std::vector<Sent> sent;  // ordered by place
  // Decoding stamps of the packets on their way. Where packets have no others the frames, in the
  // order shown, have these.
  std::deque<std::int64_t> decoding_stamps;
  bool all_have_decoding_stamps = true;
  std::int64_t stamp = AV_NOPTS_VALUE;  // of the frame in hand
  long long packets = 0;
  // Packets between which the first damaged one lies; frames are unusable from there to a key frame
  // after the last. -1: no damage.
  long long bad_from = -1, bad_to = -1;
  long long next = 0;      // number of the frame to come, where all are counted
  long long decoded = -1;  // number of the frame in hand
  bool pending = false;    // it has not been handed out, or one of its fields has not
  int field = 0;           // of it that comes next
  long long index = -1, ticks = 0;
  std::set<long long> damaged;
  bool ended = false;
  std::optional<tracking::StampTable> table;
  long long sought = -1;     // frames before this one are passed over without being judged
  long long not_before = 0;  // nor handed out after a seek to one that is damaged
  // decoding began at a key frame in the middle, and no damage was met since
  bool entered = false;

  bool splits() const { return info.interlaced && options.fields == VideoOptions::Fields::kSplit; }
  void Open();
  void OpenCodec();
  void Describe();
  void Feed();
  bool Decode();
  void Decoder(int error);
  void Passed(std::int64_t place);
  long long Count() {
    if (!decoding_stamps.empty()) decoding_stamps.pop_front();
    return next++;
  }
  void Damaged(long long number) {
    if (number >= sought) damaged.insert(number);
  }
  bool Accept(const Sent* entry);
  // Decoders that enter a stream where pictures before the key frame are missing may keep back good
  // pictures later on.
  bool LostWithoutDamage(long long expected, long long came) const {
    return entered && sought < 0 && table && table->exact && came > expected;
  }
  void Number(const Sent* entry);
  double HalfFrame() const;
  bool SeekFrame(long long number);
  bool DecodeUpTo(long long number);
  bool FromStart(long long number);
  void Forget();
};

void VideoReader::State::Open() {
  if (!packet || !frame) throw std::bad_alloc();
  codec.reset();
  file = std::make_unique<VideoFile>(path);
  OpenCodec();
}

void VideoReader::State::OpenCodec() {
  codec.reset(avcodec_alloc_context3(file->decoder));
  if (!codec) throw std::bad_alloc();
  if (avcodec_parameters_to_context(codec.get(), file->stream->codecpar) < 0)
    throw std::bad_alloc();
  codec->pkt_timebase = file->stream->time_base;
  codec->max_pixels = tracking::kMaxPixels;
  codec->thread_count = file->still ? 1 : options.threads;
  // A partly decoded picture would give wrong positions.
  codec->err_recognition =
      AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | (file->predicted ? 0 : AV_EF_EXPLODE);
  const int error = avcodec_open2(codec.get(), file->decoder, nullptr);
  if (error < 0)
    file->Fail(
        fmt::format("its {} pictures cannot be decoded ({})", file->codec, ErrorText(error)));
}

// What can be known once the first frame is decoded.
void VideoReader::State::Describe() {
  const AVCodecParameters& parameters = *file->stream->codecpar;
  info.still = file->still;
  info.codec = file->codec;
  const int width = pending ? frame->width : parameters.width,
            height = pending ? frame->height : parameters.height;
  info.width = file->turn.swaps() ? height : width;
  info.height = file->turn.swaps() ? width : height;
  info.rotation_deg = file->turn.clockwise_deg();
  info.mirrored = file->turn.mirrored();
  const AVStream& stream = *file->stream;
  const AVRational rate =
      stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  if (!info.still && rate.num > 0 && rate.den > 0) info.nominal_rate = av_q2d(rate);
  if (!info.still) info.tick_num = stream.time_base.num, info.tick_den = stream.time_base.den;
  const AVFieldOrder order = parameters.field_order;
  const bool tagged =
      order == AV_FIELD_TT || order == AV_FIELD_BB || order == AV_FIELD_TB || order == AV_FIELD_BT;
  if (!info.still) info.interlaced = tagged || (pending && tracking::IsInterlaced(*frame));
  info.top_field_first = info.interlaced && (pending && tracking::IsInterlaced(*frame)
                                                 ? tracking::IsTopFieldFirst(*frame)
                                                 : order == AV_FIELD_TT || order == AV_FIELD_BT);
  if (pending) {
    info.bit_depth = tracking::BitDepth(*frame);
    info.transfer = tracking::TransferName(*frame);
    info.pixel_format = tracking::PixelFormatName(*frame);
  }
  if (info.interlaced && options.fields == VideoOptions::Fields::kRefuse)
    file->Fail(
        "is interlaced: every frame holds two fields taken at two times; let them be split, or "
        "record progressively");
  info.announced_frames =
      info.still ? 1 : std::max<std::int64_t>(0, stream.nb_frames) * (splits() ? 2 : 1);
}

// Hands the next packet of the video to the decoder.
void VideoReader::State::Feed() {
  const VideoFile::Got got = file->Read(packet.get());
  if (got == VideoFile::Got::kEnd) {
    avcodec_send_packet(codec.get(), nullptr);
    return;
  }
  ++packets;
  if (codec->codec_id == AV_CODEC_ID_TIFF) tracking::DropForeignTags(packet.get());
  if (packet->pts == AV_NOPTS_VALUE) {
    by_stamp = false;
    sent.clear();
  }
  const bool shown = tracking::IsShown(*packet, codec->codec_id);
  if (shown && packet->dts != AV_NOPTS_VALUE) decoding_stamps.push_back(packet->dts);
  if (shown && packet->dts == AV_NOPTS_VALUE) all_have_decoding_stamps = false;
  if (by_stamp && !file->still && shown) {
    const Sent entry{file->reorders ? packet->pts : packets, packet->pts, packets};
    sent.insert(std::upper_bound(sent.begin(), sent.end(), entry,
                                 [](const Sent& a, const Sent& b) { return a.place < b.place; }),
                entry);
  }
  const int error = got == VideoFile::Got::kBroken ? AVERROR_INVALIDDATA
                                                   : avcodec_send_packet(codec.get(), packet.get());
  av_packet_unref(packet.get());
  if (error == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (error < 0 && error != AVERROR(EAGAIN)) Decoder(error);
}

// The decoder could not make a frame of a packet: the last one, or one of those that its threads
// work on.
void VideoReader::State::Decoder(int error) {
  if (file->still) file->Fail(fmt::format("the picture is damaged or cut ({})", ErrorText(error)));
  entered = false;
  if (file->predicted) {
    const int behind =
        (codec->active_thread_type & FF_THREAD_FRAME) != 0 ? std::max(0, codec->thread_count) : 0;
    const long long first = std::max(1LL, packets - behind);
    bad_from = bad_from < 0 ? first : std::min(bad_from, first);
    bad_to = packets;
  }
  if (!by_stamp) Damaged(Count());
}

// All frames before this place that are still on their way will not come.
void VideoReader::State::Passed(std::int64_t place) {
  const auto end = std::find_if(sent.begin(), sent.end(),
                                [&](const Sent& entry) { return entry.place >= place; });
  for (auto it = sent.begin(); it != end; ++it) {
    const long long number = table && table->exact ? table->Find(it->stamp) : Count();
    if (number >= 0) Damaged(number);
  }
  sent.erase(sent.begin(), end);
}

// Whether the frame just decoded shows nothing that was made from a damaged one.
bool VideoReader::State::Accept(const Sent* entry) {
  const bool corrupt = (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0,
             concealed = frame->decode_error_flags != 0;
  if ((corrupt || concealed) && file->still) file->Fail("the picture is damaged or cut");
  // H.264 flags so what is seen before a stream entered in its middle is whole; it knows by itself
  // when that is over.
  if (corrupt && !concealed && codec->codec_id == AV_CODEC_ID_H264) return false;
  if (corrupt || concealed) {
    if (sought < 0) entered = false;
    if (file->predicted) {
      const long long at = entry != nullptr ? entry->packet : packets;
      bad_from = bad_from < 0 ? at : std::min(bad_from, at);
      bad_to = std::max(bad_to, at);
    }
    return false;
  }
  if (bad_from < 0) return true;
  if (entry != nullptr && entry->packet < bad_from) return true;
  // With gradual refresh a picture is marked as key frame before it is complete.
  const bool whole = tracking::IsKeyFrame(*frame) && frame->pict_type != AV_PICTURE_TYPE_P &&
                     frame->pict_type != AV_PICTURE_TYPE_B;
  if (!whole || (entry != nullptr && entry->packet <= bad_to)) return false;
  bad_from = bad_to = -1;
  return true;
}

void VideoReader::State::Number(const Sent* entry) {
  stamp = by_stamp && frame->pts != AV_NOPTS_VALUE ? frame->pts : frame->best_effort_timestamp;
  if (!by_stamp && all_have_decoding_stamps && !decoding_stamps.empty())
    stamp = decoding_stamps.front();
  if (entry != nullptr) Passed(entry->place);
  decoded = Count();
  if (table && table->exact && frame->pts != AV_NOPTS_VALUE) {
    decoded = table->Find(frame->pts);
    if (decoded >= 0) next = decoded + 1;
  }
  if (!sent.empty() && entry != nullptr) sent.erase(sent.begin());
  damaged.erase(decoded);
}

// The next good frame into `frame`. False at the end, or behind the frame that is sought; DataError
// where the file ends in the middle.
bool VideoReader::State::Decode() {
  while (!ended) {
    const int got = avcodec_receive_frame(codec.get(), frame.get());
    if (got == AVERROR(EAGAIN)) {
      Feed();
      continue;
    }
    if (got == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (got == AVERROR_EOF) {
      ended = true;
      const long long expected = next;
      if (!sent.empty()) Passed(sent.back().place + 1);
      if (LostWithoutDamage(expected, table ? static_cast<long long>(table->ticks.size()) : 0))
        return FromStart(expected);
      const std::string& cut = table ? table->cut : file->cut;
      if (!cut.empty())
        file->Fail(fmt::format("ends in the middle after {} frames: {}", next, cut));
      return false;
    }
    if (got < 0) {
      Decoder(got);
      continue;
    }
    const auto at = std::find_if(sent.begin(), sent.end(),
                                 [&](const Sent& s) { return by_stamp && s.stamp == frame->pts; });
    const Sent* entry = at != sent.end() ? &*at : nullptr;
    // Around damage a decoder may hand out a picture late, when its turn is over.
    if (entry == nullptr && by_stamp && file->reorders && decoded >= 0 && frame->pts <= stamp)
      continue;
    if (!Accept(entry)) {
      // One that is told by its stamp is missed when a later one comes.
      if (entry == nullptr) Damaged(Count());
      if (sought >= 0 && table && table->exact && table->Find(frame->pts) > sought) return false;
      continue;
    }
    // libavcodec says gamma 2.2 of every TIFF, which says nothing itself.
    if (codec->codec_id == AV_CODEC_ID_TIFF) frame->color_trc = AVCOL_TRC_UNSPECIFIED;
    const long long expected = next;
    Number(entry);
    if (decoded < not_before) continue;
    if (LostWithoutDamage(expected, decoded)) return FromStart(expected);
    if (!file->still && stamp == AV_NOPTS_VALUE) file->Fail(tracking::kNoStamps);
    pending = true;
    field = 0;
    return true;
  }
  return false;
}

// Time from the first field of the frame in hand to the second [s].
double VideoReader::State::HalfFrame() const {
  const double tick = av_q2d(file->stream->time_base);
  const double duration = static_cast<double>(tracking::DurationTicks(*frame)) * tick;
  // The length of a frame may be stored in coarse ticks; the rate says it exactly.
  const double frame_time = info.nominal_rate > 0 ? 1 / info.nominal_rate : 0;
  if (duration > 0 && (frame_time == 0 || std::abs(duration - frame_time) > 1.001 * tick))
    return duration / 2;
  if (frame_time == 0)
    file->Fail(
        "is interlaced, and nothing in it says how long a frame lasts: the time of its second "
        "fields is not known");
  return frame_time / 2;
}

VideoReader::VideoReader(const std::filesystem::path& path, const VideoOptions& options)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.path = path;
  s.options = options;
  s.Open();
  s.gray = std::make_unique<tracking::GrayMaker>(options, s.file->turn, path.string());
  s.Decode();
  s.Describe();
}

VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;

const VideoInfo& VideoReader::info() const { return state_->info; }
long long VideoReader::index() const { return state_->index; }
long long VideoReader::damaged() const {
  return static_cast<long long>(state_->damaged.size()) * (state_->splits() ? 2 : 1);
}
long long VideoReader::ticks() const { return state_->ticks; }

bool VideoReader::Next(GrayImage* image, double* t) {
  State& s = *state_;
  if (!s.pending && !s.Decode()) return false;
  const AVFrame& frame = *s.frame;
  s.pending = false;  // whatever happens, the next call goes on behind it
  const bool swaps = s.file->turn.swaps();
  if (frame.width != (swaps ? s.info.height : s.info.width) ||
      frame.height != (swaps ? s.info.width : s.info.height))
    s.file->Fail(
        fmt::format("frame {} has {} x {} pixels before it is turned, the first had others",
                    s.decoded, frame.width, frame.height));
  const int field = s.field;
  if (image != nullptr) {
    const bool top = (field == 0) == s.info.top_field_first;
    s.gray->Make(frame,
                 !s.splits() ? tracking::Lines::kAll
                 : top       ? tracking::Lines::kTop
                             : tracking::Lines::kBottom,
                 image);
  }
  if (t != nullptr) {
    const AVRational unit = s.file->stream->time_base;
    *t = s.info.still ? 0
                      : static_cast<double>(s.stamp) * unit.num / unit.den +
                            (field == 1 ? s.HalfFrame() : 0);
  }
  s.ticks = s.info.still ? 0 : s.stamp;
  s.index = s.splits() ? 2 * s.decoded + field : s.decoded;
  if (s.splits() && field == 0) {
    s.field = 1;
    s.pending = true;
  }
  if (s.info.still) s.ended = true;
  return true;
}

// Decodes until the frame of a number is in hand; false where a later one or the end comes.
bool VideoReader::State::DecodeUpTo(long long number) {
  while (pending ? decoded < number : true) {
    pending = false;
    if (!Decode()) return false;
  }
  field = 0;
  return decoded == number;
}

// The decoder knows of no frame any more.
void VideoReader::State::Forget() {
  avcodec_flush_buffers(codec.get());
  sent.clear();
  decoding_stamps.clear();
  bad_from = bad_to = -1;
  ended = pending = false;
}

// Reads the file again up to a frame, or to the first good one after it; as DecodeUpTo.
bool VideoReader::State::FromStart(long long number) {
  Open();
  Forget();
  packets = next = 0;
  decoded = -1;
  entered = false;
  const long long before = std::exchange(sought, number);
  DecodeUpTo(number);
  sought = before;
  return pending || (before < 0 && Decode());
}

bool VideoReader::State::SeekFrame(long long number) {
  if (!table && !file->still) table = tracking::ScanStamps(path);
  // Decoding on is enough where no key frame lies between.
  const long long at = pending ? decoded : decoded + 1;
  const bool ahead = !ended && number >= at && decoded >= 0;
  const bool exact = by_stamp && table && table->exact;
  if (exact) {
    const auto n = static_cast<long long>(table->ticks.size());
    if (number >= n) {
      Forget();
      ended = true;
      return false;
    }
    long long key = number;
    while (key > 0 && !table->key[static_cast<std::size_t>(key)]) --key;
    if (ahead && key <= at) {
      if (DecodeUpTo(number)) return true;
      if (!entered) return false;
    }
    // A frame that the nearest key frame does not lead to is tried from earlier ones: some key
    // frames lead to good pictures only later.
    for (int attempt = 0; attempt < 3 && key > 0; ++attempt) {
      const bool done = file->SeekTo(table->ticks[static_cast<std::size_t>(key)]);
      Forget();
      decoded = -1;
      if (!done) break;
      entered = true;
      if (DecodeUpTo(number)) return true;
      --key;
      while (key > 0 && !table->key[static_cast<std::size_t>(key)]) --key;
    }
  } else if (ahead) {
    return DecodeUpTo(number);
  }
  return FromStart(number) && decoded == number;
}

bool VideoReader::Seek(long long index) {
  State& s = *state_;
  if (index < 0) return false;
  const int fields = s.splits() ? 2 : 1;
  if (s.splits() && s.pending && s.field == 1) s.pending = false;
  s.sought = s.not_before = index / fields;
  bool found = false;
  try {
    found = s.SeekFrame(index / fields);
  } catch (const DataError&) {
    s.ended = true;
    s.pending = false;
  }
  s.sought = -1;
  if (found) s.field = static_cast<int>(index % fields);
  return found;
}

GrayImage ReadImage(const std::filesystem::path& path) {
  VideoReader reader(path, {.threads = 1});
  if (!reader.info().still)
    throw DataError(fmt::format("{}: is a video, not a picture", path.string()));
  GrayImage image;
  if (!reader.Next(&image, nullptr))
    throw DataError(fmt::format("{}: holds no picture that can be read", path.string()));
  return image;
}

}  // namespace impactlab
