#pragma once
// Synthetic pictures of a board by a rig of known truth: input for `calibrate`.

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/camera/rig.h"
#include "pipelines/synth/board_picture.h"
#include "pipelines/synth/board_tour.h"

namespace impactlab {

struct RigScene {
  CameraRig rig;  // the truth
  Board board;
  Eigen::Vector2d warp = Eigen::Vector2d::Zero();  // [m]
  TourOptions tour;                                // whole boards unless the scene says otherwise
  RenderOptions render;                            // its seed is set picture by picture
  std::uint64_t seed = 1;
};

// Whether a file names the schema of a rig scene; false for anything else, a file that cannot be
// read included.
bool IsRigScene(const std::filesystem::path& path);
// Reads a scene file (keys in data/README.md). ConfigError.
RigScene LoadRigScene(const std::filesystem::path& path);
// Writes NAME_001.png ... for every camera, calibration.yaml (as a user would write it for these
// pictures and this board) and truth_rig.yaml. Draws on all cores. OutputError; returns the number
// of pictures. The board takes the places of the scene's tour, or those given, X_WG; `world` is
// added to calibration.yaml.
int SynthesiseRig(const std::filesystem::path& folder, const RigScene& scene);
int SynthesiseRig(const std::filesystem::path& folder, const RigScene& scene,
                  const std::vector<Eigen::Isometry3d>& tour, const std::string& world);

}  // namespace impactlab
