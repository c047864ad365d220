#pragma once
// Tracks a recording and draws its pictures, or takes both from the cache. Private to the
// pipelines room.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/track/track.h"

namespace impactlab::pipelines {

// Of a folder of tracks: where frames are kept.
inline constexpr const char* kFramesFolder = "frames";

// NAME_SUFFIX.mp4 for NAME.mp4.
std::filesystem::path WithSuffix(const std::filesystem::path& path, const std::string& suffix);

// TrackRecording with the contact sheets, frames and overlays that `options` asks for, written to
// `folder`; what the cache of `context` has of the same files, rig and options is not done again.
RecordingTracks FollowOnce(const TrackConfig& plan, std::size_t recording,
                           const std::vector<Correction>& corrections,
                           const std::filesystem::path& folder, const TrackRunOptions& options,
                           const RunContext& context);

}  // namespace impactlab::pipelines
