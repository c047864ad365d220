#pragma once
// A video or picture file opened by libavformat, packet by packet, and the stamps of all its
// packets. Private to the room: shows libav.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tracking/video/detail/pixels.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace impactlab::tracking {

// Larger pictures are taken for a damaged header: memory is asked for before the first pixel is
// known.
constexpr long long kMaxPixels = 1LL << 28;

std::string ErrorText(int error);

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
  void operator()(AVIOContext* p) const;
};

// A file behind libavformat's reader, so that a name is never taken for a pattern or a protocol.
struct ByteSource {
  int fd = -1;
  std::int64_t size = 0, at = 0;
  int error = 0;

  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();
};

constexpr const char* kNoStamps =
    "has no time stamps; put it into a container with its true frame rate first, for example: "
    "ffmpeg -r RATE -i FILE -c copy FILE.mp4";

// The video stream of a file. Stays where it is: libav holds pointers into it.
class VideoFile {
 public:
  // DataError "path: cause".
  explicit VideoFile(const std::filesystem::path& path);
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;

  [[noreturn]] void Fail(const std::string& cause) const;

  enum class Got { kPacket, kBroken, kEnd };
  // The next packet of the video. kBroken: it is there but known to be incomplete. At the end `cut`
  // tells how the file shows that something is missing, or is empty.
  Got Read(AVPacket* packet);
  // To the key frame at or before a stamp. False where the container cannot.
  bool SeekTo(std::int64_t stamp);

  const AVFormatContext& format() const { return *format_; }

  std::string name;
  AVStream* stream = nullptr;
  const AVCodec* decoder = nullptr;
  std::string codec;
  bool still = false;      // a picture, not a video
  bool predicted = false;  // frames may be made from others
  bool reorders = false;   // frames may be stored in another order than shown
  Turn turn;
  std::string cut;

 private:
  void OpenFile(const std::filesystem::path& path);
  void OpenFormat();
  void ChooseStream();
  void CheckSize(int width, int height) const;

  ByteSource source_;
  std::unique_ptr<AVIOContext, FreeIo> io_;
  std::unique_ptr<AVFormatContext, FreeFormat> format_;  // closed before its io
  // expected: from the table of a file that has one; 0 where there is none
  long long packets_ = 0, expected_packets_ = 0;
  // packets are no longer counted from the first
  bool sought_ = false;
};

// Whether a packet makes a frame that is shown: edit lists cut some, and some codecs store pictures
// that only others are made from.
bool IsShown(const AVPacket& packet, AVCodecID codec);

// Takes out of a TIFF picture all that does not concern its pixels: the decoder, when it is to
// refuse damaged pictures, refuses every tag that it does not know.
void DropForeignTags(AVPacket* packet);

// Stamps of all frames in the order shown, found by going through the packets of the file without
// decoding.
struct StampTable {
  std::vector<std::int64_t> ticks;
  std::vector<bool> key;  // decoding can start there
  // every frame has a stamp of its own, all different: the place in the table is the number of the
  // frame
  bool exact = false;
  std::string cut;  // as VideoFile::cut
  double tick = 0;  // [s]

  // Place of a stamp; -1 where it is not there.
  long long Find(std::int64_t stamp) const;
  // Time between frames: the step of the lattice nearest to the stamps, gaps counted as several
  // steps [s]; 0 where there is none. Neither lost frames nor stamps rounded to coarse ticks bias
  // it.
  double Step() const;
};
StampTable ScanStamps(const std::filesystem::path& path);

}  // namespace impactlab::tracking
