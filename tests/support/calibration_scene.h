#pragma once
// Pictures of a board as a stereo rig of known truth would take them.

#include <cmath>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/synth/board_picture.h"
#include "tests/support/rig_twin.h"
#include "tracking/video/video.h"

namespace impactlab::test {

struct CalibrationScene {
  Board board;
  CameraRig truth;
  std::vector<Eigen::Isometry3d> X_WG;

  // Two cameras of different size, 0.12 m apart, looking at one place.
  static CalibrationScene Stereo() {
    CalibrationScene scene;
    scene.board.columns = 7;
    scene.board.rows = 5;
    scene.board.pitch = 0.02;
    scene.truth.cameras = {
        {"left", MakePinhole(480, 360, 430), Eigen::Isometry3d::Identity()},
        {"right", MakePinhole(400, 320, 380, -0.1, 0.02), BesideLooking(0.12, 0.42)}};
    return scene;
  }
  static CalibrationScene Mono() {
    CalibrationScene scene = Stereo();
    scene.truth.cameras.pop_back();
    return scene;
  }

  // Nothing where the whole board, with its rim, is not inside the picture.
  bool Sees(std::size_t camera, const Eigen::Isometry3d& pose) const {
    const RigCamera& c = truth.cameras[camera];
    const Eigen::Vector2d extent = Extent(board);
    for (const double u : {-1.6 * board.pitch, extent.x() + 1.6 * board.pitch}) {
      for (const double v : {-1.6 * board.pitch, extent.y() + 1.6 * board.pitch}) {
        const auto q = Project(c.camera, c.X_WC.inverse() * (pose * Eigen::Vector3d(u, v, 0)));
        if (!q || q->x() < 2 || q->y() < 2 || q->x() > c.camera.width - 3 ||
            q->y() > c.camera.height - 3)
          return false;
      }
    }
    return true;
  }

  // Adds boards at random places that all cameras see, tilted by up to `tilt` [rad]; `spread` 0
  // keeps them in the middle.
  void AddBoards(int n, double tilt, std::uint64_t seed, double near = 0.3, double far = 0.5,
                 double roll = 0.4, double spread = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    const Eigen::Vector2d extent = Extent(board);
    for (int tries = 0; static_cast<int>(X_WG.size()) < n && tries < 20000; ++tries) {
      const double distance = near + (far - near) * 0.5 * (1 + unit(random)),
                   azimuth = M_PI * unit(random);
      const Eigen::Vector3d middle(spread * (0.55 * distance * unit(random) + 0.05),
                                   spread * 0.4 * distance * unit(random), distance);
      Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
      pose.linear() = (Eigen::AngleAxisd(tilt * std::sqrt(0.5 * (1 + unit(random))),
                                         Eigen::Vector3d(std::cos(azimuth), std::sin(azimuth), 0)) *
                       Eigen::AngleAxisd(roll * unit(random), Eigen::Vector3d::UnitZ()))
                          .toRotationMatrix();
      pose.translation() =
          middle - pose.linear() * Eigen::Vector3d(extent.x() / 2, extent.y() / 2, 0);
      bool seen = true;
      for (std::size_t c = 0; c < truth.cameras.size(); ++c) seen = seen && Sees(c, pose);
      if (seen) X_WG.push_back(pose);
    }
  }

  GrayImage Picture(std::size_t camera, std::size_t shot, double blur = 0.7) const {
    const RigCamera& c = truth.cameras[camera];
    RenderOptions options;
    options.blur = blur;
    options.noise_sd = 2;
    options.seed = 100 * shot + camera;
    return RenderBoard(c.camera, c.X_WC.inverse() * X_WG[shot], board, Eigen::Vector2d::Zero(),
                       options);
  }

  // FOLDER/left_07.png, ...
  void WritePictures(const std::filesystem::path& folder) const {
    for (std::size_t k = 0; k < X_WG.size(); ++k)
      for (std::size_t c = 0; c < truth.cameras.size(); ++c)
        WritePng(folder / Name(c, k), Picture(c, k));
  }
  std::string Name(std::size_t camera, std::size_t shot) const {
    return truth.cameras[camera].name + (shot < 9 ? "_0" : "_") + std::to_string(shot + 1) + ".png";
  }

  // A calibration file for those pictures.
  std::string Yaml(const std::string& more = "") const {
    std::string text = BoardYaml(board) + "cameras:\n";
    for (const RigCamera& camera : truth.cameras)
      text += "  - {name: " + camera.name + ", images: \"" + camera.name + "_*.png\"}\n";
    return text + more;
  }
};

}  // namespace impactlab::test
