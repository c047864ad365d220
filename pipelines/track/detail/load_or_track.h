#pragma once
// Tracks a recording and draws its pictures, or takes both from the cache. Private to the
// pipelines room.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/track/track.h"
#include "tracking/video/second_look.h"

namespace impactlab::pipelines {

// Of a folder of tracks: where frames are kept.
inline constexpr const char* kFramesFolder = "frames";

// NAME_SUFFIX.mp4 for NAME.mp4.
std::filesystem::path WithSuffix(const std::filesystem::path& path, const std::string& suffix);

// A recording after its tracks are known.
struct SeenRecording {
  RecordingTracks known;
  std::vector<SecondLook> looks;  // of every camera; none where nothing was tracked
};

// A second look at every source; none is opened yet.
std::vector<SecondLook> LooksAt(const std::vector<FrameSource>& sources);

// Tracks the markers of one recording. Files that cannot be used are no exception: they are
// reported in `known.summary.failure`. With `pictures` the second look keeps what they will show.
SeenRecording TrackAndLook(const TrackConfig& plan, std::size_t recording,
                           const std::vector<Correction>& corrections, bool pictures,
                           const RunContext& context);

// TrackAndLook with the contact sheets, frames and overlays that `options` asks for, written to
// `folder`; what the cache of `context` has of the same files, rig and options is not done again.
RecordingTracks FollowOnce(const TrackConfig& plan, std::size_t recording,
                           const std::vector<Correction>& corrections,
                           const std::filesystem::path& folder, const TrackRunOptions& options,
                           const RunContext& context);

}  // namespace impactlab::pipelines
