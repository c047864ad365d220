// The verb that makes recordings and pictures of known truth.

#include "pipelines/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/synth/rig.h"
#include "pipelines/synth/video.h"

namespace impactlab::pipelines {
namespace {

struct SynthArguments {
  std::filesystem::path scene;
  std::filesystem::path out = "out";
  SharedOptions shared;
};

// Pictures of a board, in a folder `prefix`.
std::vector<std::string> BoardNames(const CameraRig& rig, const std::string& prefix, int shots) {
  std::vector<std::string> names = {prefix + "truth_rig.yaml", prefix + "calibration.yaml"};
  for (const RigCamera& item : rig.cameras)
    for (int shot = 1; shot <= shots; ++shot)
      names.push_back(fmt::format("{}{}_{:03d}.png", prefix, LiteralPattern(item.name), shot));
  return names;
}

std::vector<std::string> VideoNames(const VideoScene& scene) {
  std::vector<std::string> names = {"truth_tracks.csv", "truth_motion.csv", "truth.csv",
                                    "truth_rest.csv",   "rig.yaml",         "tracking.yaml",
                                    "experiment.yaml"};
  for (const RigCamera& item : scene.rig.cameras) {
    const std::string film = "drop_[0-9][0-9][0-9][0-9]_" + LiteralPattern(item.name);
    if (scene.images)
      names.insert(names.end(), {film + "/*.png", film + "/stamps.csv"});
    else
      names.insert(names.end(), {film + ".mp4", film + ".mkv"});
    if (scene.board && scene.footage_video)
      names.push_back("calibration/" + LiteralPattern(item.name) + ".mp4");
  }
  if (scene.board)
    for (const std::string& name : BoardNames(scene.rig, "calibration/", scene.tour.shots + 1))
      names.push_back(name);
  return names;
}

std::vector<std::string> PoseNames(const SynthOptions& options) {
  std::vector<std::string> names = {"truth.csv", "truth_rest.csv", "experiment.yaml", "scene.yaml"};
  for (int drop = 1; drop <= options.drops; ++drop)
    names.push_back(fmt::format("drop_{:04}.csv", drop));
  return names;
}

int RunSynth(const SynthArguments& arguments) {
  const std::filesystem::path &scene = arguments.scene, &out = arguments.out;
  if (IsRigScene(scene)) {
    const RigScene rig = LoadRigScene(scene);
    const auto folder = OpenOutput(out, BoardNames(rig.rig, "", rig.tour.shots), arguments.shared);
    if (!folder) return kDone;
    const int pictures = SynthesiseRig(out, rig);
    folder->Finish();
    fmt::print("{} pictures of a board written to {}; next: impactlab calibrate {}\n", pictures,
               out.string(), (out / "calibration.yaml").string());
    return kDone;
  }
  if (IsVideoScene(scene)) {
    const VideoScene video = LoadVideoScene(scene);
    const auto folder = OpenOutput(out, VideoNames(video), arguments.shared);
    if (!folder) return kDone;
    const long long frames = SynthesiseVideo(out, video, {.cancellation = &program_cancellation});
    folder->Finish();
    fmt::print("{} frames of {} drops written to {}; next: impactlab track {}\n", frames,
               video.motion.drops, out.string(), (out / "tracking.yaml").string());
    return kDone;
  }
  const SynthOptions options = LoadScene(scene);
  const auto folder = OpenOutput(out, PoseNames(options), arguments.shared);
  if (!folder) return kDone;
  const SynthSet set = Synthesise(options);
  WriteSynth(out, options, set);
  folder->Finish();
  const auto clean = std::count_if(set.truth.events.begin(), set.truth.events.end(),
                                   [](const ImpactEvent& e) { return e.accepted; });
  fmt::print("{} recordings with {} impacts, {} of them clean single contacts{}, written to {}\n",
             set.recordings.size(), set.truth.events.size(), clean,
             options.to_rest ? fmt::format(", {} followed to rest", set.truth.rests.size()) : "",
             out.string());
  return kDone;
}

}  // namespace

Action AddSynth(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<SynthArguments>();
  verb.add_option("scene", arguments->scene, "scene file (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunSynth(*arguments);
  };
}

}  // namespace impactlab::pipelines
