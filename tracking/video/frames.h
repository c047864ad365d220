#pragma once
// The frames of one camera of one recording, of a video file or of pictures, each with the time it
// was taken.
//
// A source is a video file or a sequence of pictures. Time comes from the stamps of the file, from
// a table of stamps, or from a rate that the experimenter knows better than the file does
// (slow-motion files are written for playing, not for timing): it is never made from a frame number
// and a rate that the header merely claims.
//
// `t` of a frame is the time of row 0 of the sensor; row y of a rolling shutter was taken at t + y
// t_line (`RowTime`, which knows that the rows of a camera held upright are columns of its
// picture). Both name the middle of the exposure, up to an unknown constant that is the same for
// all frames of a camera.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/files/image.h"
#include "tracking/video/video.h"

namespace impactlab {

struct FrameSource {
  std::filesystem::path video = {};                // a video file; or
  std::vector<std::filesystem::path> images = {};  // the pictures of a sequence, in their order
  // True rate of stored frames, not of fields [1/s]; 0: as stamped. Of a sequence it gives the
  // stamps. Of a video all stamps are stretched by the ratio of the rate at which they follow one
  // another (the lattice nearest to all of them, lost frames counted; the header's rate is not
  // asked) to this one, so that gaps and jitter stay what they are.
  double rate = 0;
  // CSV with a column t_s, one row a frame: takes the place of all other stamps
  std::filesystem::path stamps = {};
  // from one row to the next [s]; negative where the sensor is read from below; 0: global shutter
  double t_line = 0;
  double t_shift = 0;  // added to every stamp: onto the common clock [s]
  // of the common clock to this camera's: t_common = t_shift + clock_rate * t
  double clock_rate = 1;
  VideoOptions decode = {};
};

// Name for messages: the file, or the first picture of a sequence.
std::string SourceName(const FrameSource& source);

struct Frame {
  // from 0; frames that were damaged or dropped by `start` count; a field counts as a frame
  long long index = -1;
  double t = 0;  // of row 0 [s], on the common clock
  GrayImage image;
};

struct FrameReaderOptions {
  // frames decoded ahead on a thread of their own; 0: decoded when asked for, on the thread that
  // asks
  int ahead = 4;
};

class FrameReader {
 public:
  // DataError as VideoReader; also for a table of stamps with another number of rows than there are
  // frames (found at the end where the file does not tell before), stamps that do not increase, and
  // a sequence without rate and stamps, of no file, or of pictures of several sizes. A picture of a
  // sequence that is damaged is left out and counted like a damaged frame. ConfigError for numbers
  // without meaning.
  explicit FrameReader(const FrameSource& source, const FrameReaderOptions& options = {});
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  const VideoInfo& info() const;
  // The next frame; its storage is used again, so that no memory is taken for each. False at the
  // end; DataError where the file breaks, once: all good frames have been handed out before, and
  // the message names the last of them and its time.
  bool Next(Frame* frame);
  // Goes to the frame with this index, so that Next returns it: exactly that frame, found by its
  // stamp after decoding from the key frame before (VideoReader::Seek). False where there is none:
  // Next returns the first good one after it, if any.
  bool Seek(long long index);
  long long damaged() const;  // up to the frame handed out last
  // Time the decoder has worked, seeking and opening of pictures included, and time it waited for
  // whoever takes the frames [s].
  double decoding() const;
  double waiting() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Row of the sensor that took the image point (x, y) [px]: turning and mirroring of the picture are
// undone.
double SensorRow(const VideoInfo& info, double x, double y);
// Time at which the sensor row of the image point (x, y) was taken, on the common clock [s].
double RowTime(const FrameSource& source, const VideoInfo& info, const Frame& frame, double x,
               double y);

}  // namespace impactlab
