#pragma once
// Rocking blocks of Rodriguez 2014 as systems of contacts.

#include <Eigen/Core>
#include <vector>

#include "impact/multi/system_builders.h"

namespace impactlab::test {

// Rocking block in a plane (Rodriguez 2014, section 6.2): corner 1 at -x rests on the level ground,
// corner 2 at +x arrives with `arrival` > 0 [m/s] downwards because the block turns about corner 1,
// and both slide along x with `slip`.
inline ImpactSystem MakeRockingBlock(double width, double height, double mass, double arrival,
                                     double slip, const ContactProperties& properties) {
  const Eigen::Vector3d omega(0, arrival / width, 0), corner(-0.5 * width, 0, -0.5 * height);
  const SystemBody block{MakeBox(Eigen::Vector3d(width, 0, height), mass, true),
                         Eigen::Isometry3d::Identity(),
                         slip * Eigen::Vector3d::UnitX() - omega.cross(corner), omega};
  return MakeFreeBody(block, {corner, Eigen::Vector3d(0.5 * width, 0, -0.5 * height)},
                      Eigen::Vector3d::UnitZ(), properties);
}

// Points of the bottom face of a block in space, length along x: A and B on the edge at -x, the
// others at +x. Three corners leave the centre of mass on the line from A to C; three centred
// points and four corners enclose it (Rodriguez 2014, figures 8.9 and 8.13).
enum class BlockPoints { kThreeCorners, kFourCorners, kThreeCentred };

// Rocking block in space (Rodriguez 2014, section 8.2): A and B rest on the level ground, the other
// points arrive with `arrival` > 0 [m/s] downwards because the block turns about the line AB, and
// its bottom slides along the ground with slip_W (x, y). size: length, width, height.
inline ImpactSystem MakeRockingBlock(const Eigen::Vector3d& size, double mass, BlockPoints points,
                                     double arrival, const Eigen::Vector2d& slip_W,
                                     const ContactProperties& properties) {
  const Eigen::Vector3d half = 0.5 * size, omega(0, arrival / size.x(), 0);
  std::vector<Eigen::Vector3d> feet = {
      Eigen::Vector3d(-half.x(), -half.y(), -half.z()),
      Eigen::Vector3d(-half.x(), half.y(), -half.z()),
      Eigen::Vector3d(half.x(), points == BlockPoints::kThreeCentred ? 0 : half.y(), -half.z())};
  if (points == BlockPoints::kFourCorners)
    feet.push_back(Eigen::Vector3d(half.x(), -half.y(), -half.z()));
  const SystemBody block{MakeBox(size, mass), Eigen::Isometry3d::Identity(),
                         Eigen::Vector3d(slip_W.x(), slip_W.y(), 0) -
                             omega.cross(Eigen::Vector3d(-half.x(), 0, -half.z())),
                         omega};
  return MakeFreeBody(block, feet, Eigen::Vector3d::UnitZ(), properties);
}

}  // namespace impactlab::test
