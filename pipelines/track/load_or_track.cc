#include "pipelines/track/detail/load_or_track.h"

#include <utility>

#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "tracking/overlay/kept_frames.h"
#include "tracking/overlay/overlay.h"

namespace impactlab::pipelines {
namespace {

// Pictures of a recording as they were written, and what could not be drawn.
struct Pictures {
  std::vector<std::pair<std::string, std::string>> files;  // ContentOf
  std::vector<std::string> notes;
};

// The frames are those of the second look that tracking began.
Pictures WritePictures(const std::filesystem::path& folder, const TrackRunOptions& options,
                       const RecordingTracks& done, StageCache* cache,
                       std::vector<SecondLook> looks) {
  Pictures out;
  std::vector<std::filesystem::path> files;
  if (looks.empty()) looks = LooksAt(done.sources);
  for (std::size_t c = 0; c < done.sources.size(); ++c) {
    const FrameSource& source = done.sources[c];
    if (source.video.empty() && source.images.empty()) continue;
    if (!done.summary.cameras[c].failure.empty()) continue;
    const std::string name = done.summary.name + "_" + done.tracks.cameras[c];
    const int camera = static_cast<int>(c);
    const std::filesystem::path sheet = folder / "sheets" / (name + ".png"),
                                overlay = WithSuffix(options.overlay, name);
    const std::filesystem::path frames = folder / kFramesFolder / name;
    SecondLook& look = looks[c];
    try {
      if (options.sheets || options.frames)
        look.Expect(PartsOfPictures(done.tracks, camera, look.info().width, look.info().height));
      if (options.sheets) WriteContactSheet(sheet, done.tracks, camera, &look);
      if (options.sheets) files.push_back(sheet);
      if (options.frames) KeepFrames(frames, done.tracks, camera, &look);
      if (options.frames) files.insert(files.end(), {KeptPicture(frames), KeptTable(frames)});
      if (!options.overlay.empty()) WriteOverlay(overlay, done.tracks, camera, &look);
      if (!options.overlay.empty()) files.push_back(overlay);
    } catch (const DataError& error) {
      // A file that breaks in the middle has been reported already.
      if (done.summary.cameras[c].broke.empty()) out.notes.emplace_back(error.what());
    }
  }
  out.files = ContentOf(cache, files);
  return out;
}

bool AreThere(const Pictures& pictures, StageCache* cache) {
  std::vector<std::filesystem::path> files;
  for (const auto& [file, hash] : pictures.files) files.emplace_back(file);
  return ContentOf(cache, files) == pictures.files;
}

}  // namespace

std::vector<SecondLook> LooksAt(const std::vector<FrameSource>& sources) {
  std::vector<SecondLook> looks;
  looks.reserve(sources.size());
  for (const FrameSource& source : sources) looks.emplace_back(source);
  return looks;
}

std::filesystem::path WithSuffix(const std::filesystem::path& path, const std::string& suffix) {
  return path.parent_path() / (path.stem().string() + "_" + suffix + path.extension().string());
}

RecordingTracks FollowOnce(const TrackConfig& plan, std::size_t recording,
                           const std::vector<Correction>& corrections,
                           const std::filesystem::path& folder, const TrackRunOptions& options,
                           const RunContext& context) {
  const TrackedRecording& input = plan.recordings[recording];
  std::vector<std::filesystem::path> files = input.stamps;
  for (const auto& of_camera : input.files)
    files.insert(files.end(), of_camera.begin(), of_camera.end());
  // the settings that tracking uses: others and the names of files do not change the tracks
  TrackConfig read = plan;
  read.path.clear();
  read.name.clear();
  read.rig_file.clear();
  read.recordings = {input};
  std::vector<Correction> own = corrections;
  std::erase_if(own, [&](const Correction& c) { return c.recording != input.name; });
  const auto content = ContentOf(context.cache, files);
  std::vector<SecondLook> looks;
  RecordingTracks done = StageResult<RecordingTracks>(
      context.cache, "tracks",
      [&] {
        SeenRecording seen =
            TrackAndLook(plan, recording, corrections, options.sheets || options.frames, context);
        looks = std::move(seen.looks);
        return std::move(seen.known);
      },
      read, own, content);
  if (!done.summary.failure.empty()) return done;
  const Pictures pictures = StageResultIf<Pictures>(
      context.cache, "pictures",
      [&] { return WritePictures(folder, options, done, context.cache, std::move(looks)); },
      [&](const Pictures& kept) { return AreThere(kept, context.cache); }, folder, options.sheets,
      options.frames, options.overlay, read, own, content);
  done.summary.notes.insert(done.summary.notes.end(), pictures.notes.begin(), pictures.notes.end());
  return done;
}

}  // namespace impactlab::pipelines
