#pragma once
// A fabricated run whose first recordings have frames of a video, for tests of what is shown of
// them. Nothing here is an estimate.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/fabricated_run.h"
#include "tracking/overlay/kept_frames.h"
#include "tracking/video/video.h"

namespace impactlab::testing {

// Frames 0 to 20 of two cameras, 5 ms apart about the first impact; the marker of the body is found
// at (100 + frame, 80), and the fit of frames before 15 has it one pixel to the right and two
// below. The frames are kept in `folder`.
inline RunResult PicturedRun(const FabricateOptions& options, int pictured,
                             const std::filesystem::path& folder) {
  RunResult run = FabricatedRun(options);
  for (const PoseRecording* poses : run.poses()) run.image_poses.push_back(*poses);
  MarkerRecordings& markers = run.recordings.data.emplace<MarkerRecordings>();
  markers.layout = {BodyMarker{}};
  markers.frames = folder / "frames";
  FrameSource source;
  for (int k = 0; k <= 20; ++k) {
    GrayImage image{320, 240, std::vector<std::uint8_t>(320 * 240, 60)};
    for (int y = 70; y < 90; ++y)
      for (int x = 90; x < 110; ++x) image.At(x + k, y) = 220;
    source.images.push_back(folder / ("frame_" + std::to_string(k) + ".png"));
    WritePng(source.images.back(), image);
  }
  source.rate = 200;
  Analysis& best = run.has_corrected ? run.corrected : run.recorded;
  best.drops.resize(run.image_poses.size());
  for (std::size_t i = 0; i < run.image_poses.size(); ++i) {
    MarkerTracks tracks{run.image_poses[i].name, {"left", "right"}, {"m"}, {}};
    ImpactBundle drop;
    drop.usable = true;
    source.t_shift = best.motion[i].events.front().t - 0.05;
    for (int camera = 0; camera < 2; ++camera)
      for (int k = 0; k <= 20; ++k) {
        TrackPoint p;
        p.camera = camera;
        p.frame = k;
        p.t = source.t_shift + k / source.rate;
        p.q = {100.0 + k, 80};
        p.major = p.minor = 10;
        if (k < 15)
          drop.residuals.push_back(
              {.point = static_cast<int>(tracks.points.size()), .r = {1, 2}, .used = true});
        tracks.points.push_back(p);
      }
    if (static_cast<int>(i) < pictured)
      for (int camera = 0; camera < 2; ++camera) {
        SecondLook look(source);
        KeepFrames(markers.frames /
                       (tracks.recording + "_" + tracks.cameras[static_cast<std::size_t>(camera)]),
                   tracks, camera, &look);
      }
    best.drops[i] = {drop};
    markers.recordings.emplace_back().tracks = tracks;
  }
  return run;
}

}  // namespace impactlab::testing
