#pragma once
// A second search in the videos of a recording, once the pose of the body is known. Part of
// following a recording (TrackAndLook).

#include <functional>
#include <vector>

#include "pipelines/track/track.h"
#include "tracking/video/second_look.h"

namespace impactlab {

// Time of a row of a frame of a camera [s]; NaN where it is not known.
using RowTimes = std::function<double(int camera, long long frame, double y)>;

// Searches again in frames in which the pose of the body predicts a visible marker and none was
// found, and adds what is found to the tracks. `cameras`: their first tracks; `looks`: of every
// camera; with `pictures` they keep what pictures of the recording will probably show. Needs a rig,
// a layout and confirmed names.
void RefindMarkers(const TrackConfig& plan, const std::vector<CameraTrackResult>& cameras,
                   const RowTimes& time, bool pictures, std::vector<SecondLook>* looks,
                   RecordingTracks* out);

}  // namespace impactlab
