#pragma once
// The ball of the Bristol thesis, chapter 5, in its symmetric state: no size, on a floor at sin(w
// t) [m].

#include "impact/motion/mechanism_builders.h"

namespace impactlab {

inline constexpr double kG = 9.81;

// At rest `height` above the middle of the floor, which starts in its middle.
inline BodyMechanism OnVibratingFloor(double w, double e, double height = 1) {
  MovingBody body;
  body.start.body = MakePoints({{0, 0, 0}}, 1, Eigen::Matrix3d::Identity(), true);
  body.start.X_WB = PlanarPose(0, height, 0);
  MovingPlane floor;
  floor.amplitude = 1;
  floor.frequency = w;
  ContactProperties p;
  p.e = e;
  return MakeBodyMechanism({body}, {}, {floor}, EveryBodyOnEveryPlane(1, 1, p), {0, 0, -kG});
}

}  // namespace impactlab
