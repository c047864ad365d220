#include <algorithm>
#include <cmath>
#include <limits>

#include "pipelines/synth/motion.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

FloorContacts::FloorContacts(const Body& body, const Plane& floor) : body_(&body) {
  const double length = floor.normal.norm();
  normal_ = floor.normal / length;
  offset_ = floor.offset / length;
  smooth_ = body.shape == BodyShape::kEllipsoid;
  if (smooth_) return;
  if (body.shape == BodyShape::kBall) {
    radius_ = body.radius;
    centres_B_ = {Vector3d::Zero()};
    return;
  }
  centres_B_ = Vertices(body);
  radius_ = body.shape == BodyShape::kRod      ? body.radius
            : body.shape == BodyShape::kPoints ? 0
                                               : body.corner_radius;
  if (radius_ == 0) return;
  for (std::size_t i = 0; i < centres_B_.size(); ++i) {
    Vector3d& c = centres_B_[i];
    if (body.shape == BodyShape::kRod) {
      c *= (body.half_length - body.radius) / body.half_length;
    } else if (body.shape == BodyShape::kBox) {
      for (int k = 0; k < 3; ++k) {
        if (!(body.planar && k == 1)) c(k) -= std::copysign(radius_, c(k));
      }
    } else {
      c -= radius_ * body.corner_inset_B[i];
    }
  }
}

Vector3d FloorContacts::Lever(int i, const Matrix3d& R_WB) const {
  if (smooth_) return R_WB * SupportLever(*body_, R_WB.transpose() * normal_);
  return R_WB * centres_B_[i];
}

double FloorContacts::Gap(int i, const Isometry3d& X_WB) const {
  return normal_.dot(X_WB.translation() + Lever(i, X_WB.linear())) - offset_ - radius_;
}

// The material point at the bottom of a sphere moves along the normal like its centre; the lowest
// point of an ellipsoid does too, since moving over the surface there does not change the height.
double FloorContacts::GapRate(int i, const BodyState& state) const {
  return normal_.dot(state.v_WB + state.omega_WB.cross(Lever(i, state.X_WB.linear())));
}

Vector3d FloorContacts::Point(int i, const Isometry3d& X_WB) const {
  return X_WB.translation() + Lever(i, X_WB.linear()) - radius_ * normal_;
}

double FloorContacts::LowestGap(const Isometry3d& X_WB) const {
  double lowest = kInfinity;
  for (int i = 0; i < size(); ++i) lowest = std::min(lowest, Gap(i, X_WB));
  return lowest;
}

int FloorContacts::Neighbour(int i, const Isometry3d& X_WB) const {
  int best = -1;
  double least = kInfinity;
  for (int j = 0; j < size(); ++j) {
    const Vector3d line =
        j == i ? Vector3d::Zero() : Vector3d(Lever(j, X_WB.linear()) - Lever(i, X_WB.linear()));
    if (!(line.norm() > 0)) continue;
    const double sine = normal_.dot(line) / line.norm();
    if (sine < least) {
      least = sine;
      best = j;
    }
  }
  return best;
}

double FloorContacts::Lean(int i, const Isometry3d& X_WB) const {
  const int j = Neighbour(i, X_WB);
  if (j < 0) return kInfinity;
  const Vector3d line = Lever(j, X_WB.linear()) - Lever(i, X_WB.linear());
  return std::asin(std::clamp(normal_.dot(line) / line.norm(), -1.0, 1.0));
}

}  // namespace impactlab::pipelines
