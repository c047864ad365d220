#pragma once
// What differs between the versions of libav that Debian and Ubuntu ship, FFmpeg 5.1 to 7.1, under
// one name each.

#include <cstdint>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
}

namespace impactlab::tracking {

// What the callback that writes a container is given.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WrittenByte = const std::uint8_t;
#else
using WrittenByte = std::uint8_t;
#endif

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
inline bool IsInterlaced(const AVFrame& f) { return (f.flags & AV_FRAME_FLAG_INTERLACED) != 0; }
inline bool IsTopFieldFirst(const AVFrame& f) {
  return (f.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
}
inline bool IsKeyFrame(const AVFrame& f) { return (f.flags & AV_FRAME_FLAG_KEY) != 0; }
inline void SetFields(bool interlaced, bool top_first, AVFrame* f) {
  f->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
  f->flags |= (interlaced ? AV_FRAME_FLAG_INTERLACED : 0) |
              (interlaced && top_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
}
#else
inline bool IsInterlaced(const AVFrame& f) { return f.interlaced_frame != 0; }
inline bool IsTopFieldFirst(const AVFrame& f) { return f.top_field_first != 0; }
inline bool IsKeyFrame(const AVFrame& f) { return f.key_frame != 0; }
inline void SetFields(bool interlaced, bool top_first, AVFrame* f) {
  f->interlaced_frame = interlaced ? 1 : 0;
  f->top_field_first = interlaced && top_first ? 1 : 0;
}
#endif

// Length of a frame in ticks of its stream, 0 where it is not known.
inline std::int64_t DurationTicks(const AVFrame& f) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return f.duration;
#else
  return f.pkt_duration;
#endif
}

// The nine numbers of a stream's display matrix, or null.
inline const std::int32_t* DisplayMatrix(const AVStream& stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
  const AVPacketSideData* data =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX);
  return data == nullptr ? nullptr : reinterpret_cast<const std::int32_t*>(data->data);
#else
  return reinterpret_cast<const std::int32_t*>(
      av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#endif
}

// A display matrix to fill, made in a stream that has none; null where memory is out.
inline std::int32_t* NewDisplayMatrix(AVStream* stream) {
  constexpr std::size_t kBytes = 9 * sizeof(std::int32_t);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
  AVPacketSideData* data = av_packet_side_data_new(&stream->codecpar->coded_side_data,
                                                   &stream->codecpar->nb_coded_side_data,
                                                   AV_PKT_DATA_DISPLAYMATRIX, kBytes, 0);
  return data == nullptr ? nullptr : reinterpret_cast<std::int32_t*>(data->data);
#else
  return reinterpret_cast<std::int32_t*>(
      av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, kBytes));
#endif
}

}  // namespace impactlab::tracking
