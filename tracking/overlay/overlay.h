#pragma once
// Tracks drawn over the pictures they came from.

#include <filesystem>
#include <vector>

#include "data/files/image.h"
#include "tracking/track/tracks.h"
#include "tracking/video/second_look.h"
#include "tracking/video/writer.h"

namespace impactlab {

struct OverlayOptions {
  int trail = 20;  // frames a marker's path is shown behind it
  // 3 sd ellipses (enlarged, as stated in the picture) around measured, dashed around predicted
  // points
  bool gates = true;
  bool labels = true;
  double ellipse_scale = 20;
  // frames a second the video is shown at [1/s]; 0: in real time, stamped as the frames are
  double play_rate = 0;
};

// One frame with what is known of it: outline, name, trail, gate, flags as colours (legend in the
// corner), frame and time.
ColorImage DrawFrame(const Frame& frame, const MarkerTracks& tracks, int camera,
                     const OverlayOptions& options = {});

// Video of a camera, its first frame at 0 s. Streams; OutputError, DataError: where the recording
// breaks, the video of what comes before is finished first.
void WriteOverlay(const std::filesystem::path& path, const MarkerTracks& tracks, int camera,
                  SecondLook* look, const OverlayOptions& options = {});

// Frames around the first strong impact (or around `frame`), `columns` x `rows` crops that follow
// the markers, enlarged, each with frame and time. Without an impact those around the middle of the
// tracks. DataError where the recording has no such frames.
void WriteContactSheet(const std::filesystem::path& path, const MarkerTracks& tracks, int camera,
                       SecondLook* look, long long frame = -1, int columns = 4, int rows = 3);

}  // namespace impactlab
