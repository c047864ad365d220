#include "pipelines/synth/board_tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "data/math/rotation.h"
#include "pipelines/config/visit.h"

namespace impactlab {
namespace {

// The whole print: points and the row of squares around them.
bool SeesWhole(const RigCamera& item, const Eigen::Isometry3d& X_WG, const Board& board) {
  const Eigen::Vector2d extent = Extent(board);
  const Eigen::Isometry3d X_CG = item.X_WC.inverse() * X_WG;
  for (const double x : {-board.pitch, extent.x() + board.pitch})
    for (const double y : {-board.pitch, extent.y() + board.pitch}) {
      const auto q = Project(item.camera, X_CG * Eigen::Vector3d(x, y, 0));
      if (!q || q->x() < 0 || q->y() < 0 || q->x() > item.camera.width - 1 ||
          q->y() > item.camera.height - 1)
        return false;
    }
  return true;
}

}  // namespace

void VisitTour(pipelines::Keys& keys, TourOptions& tour, const char* shots) {
  keys.Count("shots", tour.shots, Closed(1, 10000), shots);
  std::vector<double> distance = {tour.distance_min, tour.distance_max};
  keys.Vector("distance_m", distance, 2, Positive(), "nearest and farthest");
  keys.Check(distance[1] >= distance[0], "distance_m",
             fmt::format("[{}, {}]", distance[0], distance[1]), "[nearest, farthest]");
  tour.distance_min = distance[0], tour.distance_max = distance[1];
  keys.Number("max_tilt_rad", tour.max_tilt, Closed(0, 1.4), "of the board against the cameras");
  keys.Number("max_roll_rad", tour.max_roll, Closed(0, 3.15),
              "of the board about the line of sight");
  keys.Number("reach", tour.reach, Closed(0, 0.5),
              "share of the picture from its centre where the board may be");
  keys.Flag("whole", tour.whole, "keep the print inside the pictures");
}

std::vector<Eigen::Isometry3d> BoardTour(const CameraRig& rig, const Board& board,
                                         const TourOptions& options, std::uint64_t seed) {
  constexpr int kTries = 60;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  Eigen::Vector3d middle = Eigen::Vector3d::Zero();
  for (const RigCamera& item : rig.cameras)
    middle += item.X_WC.translation() / static_cast<double>(rig.cameras.size());
  const Eigen::Vector2d half = 0.5 * Extent(board);
  const auto draw = [&](const RigCamera& aimed, double reach) {
    Eigen::Vector3d direction = Eigen::Vector3d::UnitZ();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Eigen::Vector2d q(aimed.camera.width * (0.5 + reach * unit(random)),
                              aimed.camera.height * (0.5 + reach * unit(random)));
      if (const auto ray = Unproject(aimed.camera, q)) {
        direction = *ray;
        break;
      }
    }
    const double distance = options.distance_min + (options.distance_max - options.distance_min) *
                                                       0.5 * (1 + unit(random));
    const Eigen::Vector3d centre = aimed.X_WC * (direction * distance);
    const double azimuth = M_PI * unit(random),
                 tilt = options.max_tilt * std::sqrt(0.5 * (1 + unit(random)));
    // Upright as the first camera sees it and facing the middle of the cameras, then tilted and
    // rolled.
    const Eigen::Matrix3d& upright = rig.cameras.front().X_WC.linear();
    const Eigen::Matrix3d facing =
        TurnBetween(upright.col(2), (centre - middle).normalized()) * upright;
    Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
    X_WG.linear() =
        facing *
        Eigen::AngleAxisd(tilt, Eigen::Vector3d(std::cos(azimuth), std::sin(azimuth), 0))
            .toRotationMatrix() *
        Eigen::AngleAxisd(options.max_roll * unit(random), Eigen::Vector3d::UnitZ())
            .toRotationMatrix();
    X_WG.translation() = centre - X_WG.linear() * Eigen::Vector3d(half.x(), half.y(), 0);
    return X_WG;
  };
  std::vector<Eigen::Isometry3d> tour;
  for (int s = 0; s < options.shots && !rig.cameras.empty(); ++s) {
    const RigCamera& aimed = rig.cameras[static_cast<std::size_t>(s) % rig.cameras.size()];
    Eigen::Isometry3d chosen = draw(aimed, options.reach);
    // First what all cameras see whole, then what the aimed one does, ever closer to the middle of
    // its picture.
    for (int attempt = 0; options.whole && attempt < 2 * kTries; ++attempt) {
      const auto sees = [&](const RigCamera& item) { return SeesWhole(item, chosen, board); };
      if (attempt < kTries ? std::all_of(rig.cameras.begin(), rig.cameras.end(), sees)
                           : sees(aimed))
        break;
      chosen = draw(aimed, options.reach * (1 - static_cast<double>(attempt % kTries) / kTries));
    }
    tour.push_back(chosen);
  }
  return tour;
}

}  // namespace impactlab
