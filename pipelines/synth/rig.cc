#include "pipelines/synth/rig.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/visit.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

constexpr const char* kRigSceneSchema = "impactlab.rig_scene/1";

// The whole file. Scenes are read only.
void VisitRigScene(pipelines::Keys& keys, RigScene& scene) {
  keys.Schema(kRigSceneSchema, pipelines::Need::kOptional);
  std::filesystem::path rig;
  keys.File("rig", rig, "a rig.yaml, the true cameras", pipelines::Need::kRequired);
  scene.rig = RigFromYaml(rig);
  for (const RigCamera& item : scene.rig.cameras)
    keys.Check(std::all_of(item.name.begin(), item.name.end(),
                           [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; }),
               "rig", "a camera named " + Excerpt(item.name),
               "names of letters, digits, - and _, which become names of files");
  scene.board = BoardFromYaml(*keys.reading());
  std::vector<double> warp = {0, 0};
  keys.Vector("warp_m", warp, 2, Closed(-0.1, 0.1), "bend of the board along its rows and columns");
  scene.warp << warp[0], warp[1];
  VisitTour(keys, scene.tour, "pictures of every camera");
  keys.Number("blur_px", scene.render.blur, Closed(0, 20), "of the lens, standard deviation");
  keys.Number("noise_grey", scene.render.noise_sd, Closed(0, 60), "of a pixel, standard deviation");
  keys.Count("seed", scene.seed, NonNegative(), "of every random number");
}

}  // namespace

bool IsRigScene(const std::filesystem::path& path) {
  try {
    const YamlNode root = LoadYaml(path);
    return root.Has("schema") && root.Text("schema") == kRigSceneSchema;
  } catch (const std::exception&) {
    return false;  // the reader of the other kind of scene reports the fault
  }
}

RigScene LoadRigScene(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  RigScene scene;
  scene.tour.shots = 20;
  scene.tour.whole = true;
  scene.render.noise_sd = 2;
  pipelines::Keys keys(root);
  VisitRigScene(keys, scene);
  root.Finish();
  return scene;
}

int SynthesiseRig(const std::filesystem::path& folder, const RigScene& scene) {
  return SynthesiseRig(folder, scene, BoardTour(scene.rig, scene.board, scene.tour, scene.seed),
                       "");
}

int SynthesiseRig(const std::filesystem::path& folder, const RigScene& scene,
                  const std::vector<Eigen::Isometry3d>& tour, const std::string& world) {
  const int n_cameras = static_cast<int>(scene.rig.cameras.size()),
            n = n_cameras * static_cast<int>(tour.size());
  // Pictures left of another scene would be taken for this one's.
  for (const RigCamera& item : scene.rig.cameras)
    for (const auto& file : ExpandGlob(item.name + "_*.png", folder)) {
      bool ours = false;
      for (std::size_t shot = 1; shot <= tour.size() && !ours; ++shot)
        ours = file.filename() == fmt::format("{}_{:03d}.png", item.name, shot);
      if (!ours)
        throw OutputError(fmt::format(
            "{}: '{}' would be mixed with the {} pictures of this scene; name an empty folder",
            folder.string(), file.filename().string(), tour.size()));
    }
  // That the folder can be written is checked first, not after a thousand pictures.
  std::string yaml = fmt::format(
      "schema: impactlab.calibration/1\nname: synthetic rig\n{}cameras:\n", BoardYaml(scene.board));
  for (const RigCamera& item : scene.rig.cameras)
    yaml += fmt::format("  - name: {0}\n    images: {1}\n    model: {2}\n", item.name,
                        YamlQuote(item.name + "_*.png"), ToString(item.camera.model));
  WriteFile(folder / "truth_rig.yaml", ToYaml(scene.rig));
  WriteFile(folder / "calibration.yaml", yaml + world);
  Progress progress("drawing", n, "pictures");
  ForEachIndex(static_cast<std::size_t>(n), 0, [&](std::size_t i) {
    const int k = static_cast<int>(i), shot = k / n_cameras;
    const RigCamera& item = scene.rig.cameras[static_cast<std::size_t>(k % n_cameras)];
    RenderOptions render = scene.render;
    render.seed = scene.seed + 1000003ull * static_cast<std::uint64_t>(k + 1);
    const GrayImage image =
        RenderBoard(item.camera, item.X_WC.inverse() * tour[static_cast<std::size_t>(shot)],
                    scene.board, scene.warp, render);
    WritePng(folder / fmt::format("{}_{:03d}.png", item.name, shot + 1), image);
    progress.Advance();
  });
  return n;
}

}  // namespace impactlab
