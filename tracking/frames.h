#pragma once
// The frames of one camera of one recording, whatever they are stored in, each with the time it was taken.
//
// A source is a video file or a sequence of pictures. Time comes from the stamps of the file, from a table of stamps, or from a rate that
// the experimenter knows better than the file does (slow-motion files are written for playing, not for timing): it is never made from a
// frame number and a rate that the header merely claims.
//
// `t` of a frame is the time of its row 0; row y of a rolling shutter was taken at t + y t_line. Both name the middle of the exposure, up
// to a constant that no video can tell and that is the same for all frames of a camera.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/image.h"
#include "tracking/video.h"

namespace impactlab {

struct FrameSource {
  std::filesystem::path video;                // a video file; or
  std::vector<std::filesystem::path> images;  // the pictures of a sequence, in their order
  // True rate [1/s]; 0: as stamped. Of a sequence it gives the stamps. Of a video it takes the place of the header's rate: stamps are
  // stretched by the ratio of the two, so that gaps and jitter stay what they are.
  double rate = 0;
  std::filesystem::path stamps;  // CSV with a column t_s, one row a frame: takes the place of all other stamps
  double t_line = 0;             // from one row to the next [s]; negative where the sensor is read from below; 0: global shutter
  double t_shift = 0;            // added to every stamp: onto the common clock [s]
  double clock_rate = 1;         // of the common clock to this camera's: t_common = t_shift + clock_rate * t
  VideoOptions decode;
};

// Name for messages: the file, or the first picture of a sequence.
std::string Name(const FrameSource& source);

struct Frame {
  long long index = -1;  // from 0; frames that were damaged or dropped by `start` count; a field counts as a frame
  double t = 0;          // of row 0 [s], on the common clock
  GrayImage image;
};

struct FrameReaderOptions {
  int ahead = 4;  // frames decoded ahead on a thread of their own; 0: decoded when asked for, on the thread that asks
};

class FrameReader {
 public:
  // DataError as VideoReader; also for a table of stamps with another number of rows than there are frames (found at the end where the
  // file does not tell before), stamps that do not increase, and a sequence without rate and stamps.
  explicit FrameReader(const FrameSource& source, const FrameReaderOptions& options = {});
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  const VideoInfo& info() const;
  // The next frame; its storage is used again, so that no memory is taken for each. False at the end; DataError where the file breaks:
  // all good frames have been handed out before.
  bool Next(Frame* frame);
  // Goes to the frame with this index, so that Next returns it: exactly that frame, found by its stamp after decoding from the key frame
  // before. False where there is none.
  bool Seek(long long index);
  long long damaged() const;  // so far
  // Time the decoder has worked, and time it waited for whoever takes the frames [s].
  double decoding() const;
  double waiting() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impactlab
