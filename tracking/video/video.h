#pragma once
// Pictures and videos as gray frames with their own time stamps, read one after another.
//
// Frames come from libav: the luma plane as stored, stretched to 0..255 where it has limited range
// (as tagged; without a tag YUV has it, as the standards of the codecs say, and gray has not),
// turned by quarter turns as the stream's display matrix says. RGB becomes gray with the weights of
// BT.601. Time is the presentation time stamp of the very frame in hand, from the first frame's own
// stamp on; it is never made from a frame number and a nominal rate.
//
// Only the file itself is opened, whatever it contains: no playlists, no patterns in its name, no
// protocols.

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "data/files/image.h"

namespace impactlab {

struct VideoInfo {
  int width = 0, height = 0;  // after rotation [px]
  int rotation_deg = 0;       // applied, clockwise: 0, 90, 180, 270
  bool mirrored = false;      // the stored picture was turned upside down before it was rotated
  // as the header says, of frames, not fields [1/s]; 0 where it says nothing
  double nominal_rate = 0;
  // As the header says; 0 where it says nothing. Of fields where those are handed out.
  long long announced_frames = 0;
  bool still = false;  // a picture, not a video
  std::string codec;
  int tick_num = 0, tick_den = 1;  // unit of the stamps [s], a fraction; 0/1 for pictures
  // every frame holds two fields taken one after the other, as container or first frame say
  bool interlaced = false;
  bool top_field_first = false;
  int bit_depth = 8;  // of the stored levels
  // curve from light to levels: bt709, iec61966-2-1 (sRGB), gamma22, linear ...; PNG may state
  // "gamma G"
  std::string transfer = "unknown";
  std::string pixel_format;  // as libav calls it
};

struct VideoOptions {
  int threads = 0;  // of the decoder; 0: as libav likes. 1 where several videos are read at a time

  // Frames of interlaced files. Split: each field is a frame of its own, in order of time, the
  // second half a frame later than the stamp, which is the first one's. Every line of a field keeps
  // its row and the rows between are interpolated, so that image points need no correction for the
  // half line between fields. Whole: as stored, two times in one picture. Refused: DataError. Files
  // without interlacing do not care.
  enum class Fields { kSplit, kWhole, kRefuse };
  Fields fields = Fields::kSplit;

  // Stored levels, in the file's own units (0..4095 for 12 bits), that become 0 and 255; without
  // them the whole range, or the limited range where the file has it. For deep files that fill a
  // part of their range only. Of RGB each component is stretched.
  std::optional<double> black_level = {}, white_level = {};

  // Gray in proportion to light, 255 staying 255: the transfer curve named in the file is undone,
  // or light = level^gamma where gamma is given (above 0). DataError where the file names none and
  // none is given. Luma is taken for the level of a gray object.
  bool linear = false;
  double gamma = 0;

  // Colour of a marker, red, green, blue in 0..255: gray becomes the closeness of every pixel to it
  // in chromaticity, not in brightness. With c = (R, G, B)/(R + G + B) and white c_w = (1/3, 1/3,
  // 1/3), gray is 255 (1 - |c - c_ref|/|c_ref - c_w|), at least 0, times S/(S + 48) (S_ref +
  // 48)/S_ref, at most 1, S = R + G + B in 0..765, since the colour of dark pixels is noise: 255
  // for the colour itself however brightly lit, 0 for white, gray, black and all that is not nearer
  // to the colour than to them. Chroma that is stored at half the size is interpolated from where
  // it was sampled. DataError for a gray file, ConfigError for a reference without colour and for
  // levels with a YUV file.
  std::optional<std::array<double, 3>> color = {};
};

class VideoReader {
 public:
  // DataError "path: cause" for a file that is missing, empty, has no picture in it or one of
  // absurd size, or a stream without time stamps. Decodes the first frame. ConfigError for options
  // without meaning.
  explicit VideoReader(const std::filesystem::path& path, const VideoOptions& options = {});
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  const VideoInfo& info() const;
  // The next frame and its time [s] (0 for a picture); either may be null. False at the end. The
  // storage of `image` is used again. A damaged frame inside the file is skipped and counted, and
  // so are those after it that were predicted from it, up to the next key frame; DataError when the
  // file ends in the middle.
  bool Next(GrayImage* image, double* t);
  // Number of the frame last returned, from 0, damaged ones counted too; how many were damaged so
  // far.
  long long index() const;
  long long damaged() const;
  // Stamp of the frame last returned as stored, in units of tick_num/tick_den; of a second field
  // that of its frame.
  long long ticks() const;
  // Goes to the frame of a number, so that Next returns exactly that one. The first time the
  // packets of the file are gone through, so that frames are known by their stamps; then decoding
  // starts at a key frame before. Where stamps do not tell frames apart (no stamps of their own, as
  // in AVI with reordered frames, or repeated ones) the file is read from its beginning. False
  // where the frame is damaged or does not exist: Next then returns the first good one after it, if
  // any.
  bool Seek(long long index);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A picture file (PNG, JPEG, TIFF, BMP, PGM; deeper ones scaled to 8 bits), its rows as the sensor
// wrote them: an orientation tag, which says how to show it, is not followed. DataError, also for a
// damaged or cut one and for a video.
GrayImage ReadImage(const std::filesystem::path& path);
// 8-bit gray PNG, as bytes and as a file. OutputError.
std::string EncodePng(const GrayImage& image);
void WritePng(const std::filesystem::path& path, const GrayImage& image);

}  // namespace impactlab
