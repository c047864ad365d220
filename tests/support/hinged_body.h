#pragma once
// Two equal links on a hinge that fall, turn and strike the floor with a corner of the first, in
// the x-z plane: what is recorded where the first link alone is tracked.

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

#include "impact/body/body.h"

namespace impactlab::testing {

class HingedBody {
 public:
  using Vector4 = Eigen::Matrix<double, 4, 1>;
  using Vector2 = Eigen::Vector2d;

  // Links of `length`, `width` [m] and `mass` [kg], hinged at their ends.
  HingedBody(double length, double width, double mass)
      : link_(MakeBox({length, 0, width}, mass, true)), arm_(length / 2) {}

  // The first link as a body, as its user would declare it.
  const Body& link() const { return link_; }

  // Centre at (x, z), both links stretched out at `theta`, with spins of their own.
  void Throw(double x, double z, double v_x, double theta, double spin_1, double spin_2) {
    q_ = {x + arm_ * std::cos(theta), z + arm_ * std::sin(theta), theta, theta};
    v_ = {v_x, 0, spin_1, spin_2};
  }

  // Centre and angle of the first link.
  Eigen::Vector3d Pose() const {
    const Vector2 c = q_.head<2>() - arm_ * Along(q_[2]);
    return {c.x(), c.y(), q_[2]};
  }

  // Moves on by `dt` in steps of at most 0.1 ms; a corner of the first link that is at the floor
  // and approaches is thrown back with restitution `e` and friction `mu`.
  void Advance(double dt, double e, double mu) {
    const int steps = static_cast<int>(std::ceil(dt / 1e-4));
    for (int i = 0; i < steps; ++i) {
      Step(dt / steps);
      Strike(e, mu);
    }
  }

 private:
  static Vector2 Along(double theta) { return {std::cos(theta), std::sin(theta)}; }
  static Vector2 Across(double theta) { return {-std::sin(theta), std::cos(theta)}; }
  // The first link ends at the hinge, the second begins there.
  double Side(int link) const { return link == 0 ? -arm_ : arm_; }

  Eigen::Matrix<double, 2, 4> Jacobian(int link) const {
    Eigen::Matrix<double, 2, 4> J = Eigen::Matrix<double, 2, 4>::Zero();
    J.leftCols<2>().setIdentity();
    J.col(2 + link) = Side(link) * Across(q_[2 + link]);
    return J;
  }
  Eigen::Matrix4d Mass() const {
    Eigen::Matrix4d M = Eigen::Matrix4d::Zero();
    for (int link = 0; link < 2; ++link) {
      M += link_.mass * Jacobian(link).transpose() * Jacobian(link);
      M(2 + link, 2 + link) += link_.inertia_B(1, 1);
    }
    return M;
  }
  Vector4 Acceleration() const {
    Vector4 force = Vector4::Zero();
    for (int link = 0; link < 2; ++link) {
      const double spin = v_[2 + link];
      force += link_.mass * Jacobian(link).transpose() *
               (Vector2(0, -9.80665) + Side(link) * spin * spin * Along(q_[2 + link]));
    }
    return Mass().ldlt().solve(force);
  }
  void Step(double dt) {  // midpoint
    const Vector4 q = q_, v = v_;
    const Vector4 half = v + 0.5 * dt * Acceleration();
    q_ = q + 0.5 * dt * v;
    v_ = half;
    const Vector4 a = Acceleration();
    q_ = q + dt * half;
    v_ = v + dt * a;
  }
  void Strike(double e, double mu) {
    const Eigen::Vector3d pose = Pose();
    const PlaneContact contact =
        ContactWithPlane(link_, PlanarPose(pose.x(), pose.y(), pose.z()), Plane());
    if (contact.gap > 0) return;
    const Vector2 lever = Vector2(contact.p_WP.x(), contact.p_WP.z()) - q_.head<2>();
    Eigen::Matrix<double, 2, 4> J = Eigen::Matrix<double, 2, 4>::Zero();
    J.leftCols<2>().setIdentity();
    J.col(2) = Vector2(-lever.y(), lever.x());
    const Vector2 slip = J * v_;
    if (slip.y() >= 0) return;
    const Vector2 direction(slip.x() > 0 ? -mu : mu, 1);
    const Vector4 change = Mass().ldlt().solve(J.transpose() * direction);
    v_ -= (1 + e) * slip.y() / (J * change).y() * change;
  }

  Body link_;
  double arm_;
  Vector4 q_, v_;  // hinge x, z; angles of the links
};

}  // namespace impactlab::testing
