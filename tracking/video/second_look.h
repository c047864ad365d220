#pragma once
// The second reading of a recording, after its tracks are known.
//
// What wants to see frames again (the second search of markers, contact sheets, kept frames, the
// overlay) shares one reader, which goes through the file in order. Who knows beforehand which
// parts of which frames it will ask for says so (`Expect`): these frames are read on the way, and
// their parts are kept within a bound of memory, so that nobody who asks for them later has them
// decoded once more. Kept are pixels as they are: cuts about markers are small (10 kB for a marker
// of 20 px), and packing one costs more than decoding a frame does.

#include <cstddef>
#include <memory>
#include <vector>

#include "tracking/video/frames.h"

namespace impactlab {

// A part of a frame, both ends included; what of it lies outside of the picture does not count.
struct FramePart {
  long long frame = -1;
  int left = 0, top = 0, right = -1, bottom = -1;  // [px]

  bool empty() const { return left > right || top > bottom; }
};

// The smallest part of a frame that holds both; an empty one does not count.
FramePart Union(const FramePart& a, const FramePart& b);
// With so many pixels more on each side.
FramePart Widened(FramePart part, int pixels);
// All of a frame, whatever its size.
FramePart WholeFrame(long long frame);

class SecondLook {
 public:
  // Opens nothing yet. `most_bytes`: of parts that are kept.
  explicit SecondLook(const FrameSource& source, std::size_t most_bytes = std::size_t{32} << 20);
  ~SecondLook();
  SecondLook(SecondLook&&) noexcept;
  SecondLook& operator=(SecondLook&&) noexcept;

  const FrameSource& source() const;
  // Of the file; the first call opens it. Errors as FrameReader.
  const VideoInfo& info();

  // Parts that will be asked for, in any order, perhaps more than once.
  void Expect(const std::vector<FramePart>& parts);

  // The frame; of its pixels those inside of `part` are right, others may be 0. Null where it is
  // damaged or does not exist. Valid until the next call. DataError where the file breaks.
  const Frame* Find(const FramePart& part);
  // Whether it is known that no good frame has this number or a larger one.
  bool EndsBefore(long long frame) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impactlab
