#pragma once
// A body that strikes another one which moves: a free plate, or a plate that hangs on a level axis.
// Nothing here calls the code under test: flights by fine Runge-Kutta steps, swings by small steps,
// the impact by `Solve` with the second body's inverse mass put together by hand.

#include <algorithm>
#include <cmath>
#include <random>

#include "impact/law/solve.h"
#include "reconstruction/bundle/two_body.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {

enum class Striker { kBall, kBox, kRod };

struct BlowOptions {
  bool on_axis = false;
  Striker striker = Striker::kBox;
  double restitution = 0.6, friction = 0.2;
  double sd_position = 5e-5, sd_angle = 5e-4;  // of the poses [m], [rad]
  double rate = 500;                           // [1/s]
  double half = 0.05;                          // time recorded before and after [s]
};

inline Isometry3d PoseOf(const Flying& f) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = f.R;
  X.translation() = f.p;
  return X;
}

// A rigid swing about the axis by small steps.
inline Flying Swing(const Flying& from, const StruckBody& plate, double inertia,
                    const Vector3d& gravity, double dt) {
  const Vector3d u = plate.axis->axis_W;
  Flying f = from;
  double w = from.omega.dot(u);
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(dt) / 2e-5)));
  for (int i = 0; i < steps; ++i) {
    const double h = dt / steps;
    const auto torque = [&](const Vector3d& p) {
      return u.dot((p - plate.axis->p_W).cross(plate.body.mass * gravity));
    };
    w += 0.5 * h * torque(f.p) / inertia;
    const Matrix3d turn = Turned(w * h * u);
    f.p = plate.axis->p_W + turn * (f.p - plate.axis->p_W);
    f.R = turn * f.R;
    w += 0.5 * h * torque(f.p) / inertia;
  }
  f.omega = w * u;
  f.v = f.omega.cross(f.p - plate.axis->p_W);
  return f;
}

struct Blow {
  Body striker;
  StruckBody plate;
  Vector3d gravity{0, 0, -9.80665};
  double t = 0.2;      // of the impact [s]
  double inertia = 0;  // of the plate about its axis [kg m^2]
  Flying one_minus, one_plus, two_minus, two_plus;
  PoseRecording first, second;  // with noise

  // Of body 1 or 2 at a time from the impact.
  Flying At(int body, double s) const {
    if (body == 1) return Fly(s < 0 ? one_minus : one_plus, striker.inertia_B, gravity, s);
    const Flying& from = s < 0 ? two_minus : two_plus;
    return plate.axis ? Swing(from, plate, inertia, gravity, s)
                      : Fly(from, plate.body.inertia_B, gravity, s);
  }
};

inline Body StrikerOf(Striker striker) {
  if (striker == Striker::kBall) return MakeBall(0.03, 0.1);
  return striker == Striker::kBox ? MakeBox({0.06, 0.05, 0.04}, 0.15) : MakeRod(0.14, 0.006, 0.06);
}

// The plate measures 0.2 x 0.15 x 0.02 m and weighs 0.4 kg; it hangs on a level axis at one edge,
// the same in all blows, or is free.
inline Blow DrawBlow(const BlowOptions& options, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    return Vector3d(x, y, z);
  };
  Blow b;
  b.striker = StrikerOf(options.striker);
  b.plate.body = MakeBox({0.2, 0.15, 0.02}, 0.4);
  b.plate.surface_B = {Vector3d::UnitZ(), 0.01};
  if (options.on_axis)
    b.plate.axis = FixedAxis{Vector3d(0.1, 0, 0), Vector3d(0.1, 1, 0).normalized(), 0};
  while (true) {
    Flying &one = b.one_minus, &two = b.two_minus;
    two = one = {};
    if (options.on_axis) {
      const Vector3d u = b.plate.axis->axis_W, hang(0.1, 0, 0);
      two.R = Turned(0.2 * uniform(random) * u);
      two.p = b.plate.axis->p_W - two.R * hang;
      two.omega = 1.5 * uniform(random) * u;
      two.v = two.omega.cross(two.p - b.plate.axis->p_W);
      const Vector3d u_B = two.R.transpose() * u;
      b.inertia = u_B.dot(b.plate.body.inertia_B * u_B) +
                  b.plate.body.mass * u.cross(two.p - b.plate.axis->p_W).squaredNorm();
    } else {
      two.R = Turned(0.2 * vector());
      two.v = 0.3 * vector();
      two.omega = vector();
    }
    const Vector3d n = two.R.col(2);
    one.R = AnyRotation(random);
    one.v = Vector3d(0.8, 0.6, 0.3).cwiseProduct(vector()) + Vector3d(0, 0, -1.8);
    one.omega = 4 * vector();
    const Vector3d lever = LowestLever(b.striker, one.R, n);
    const double x = 0.05 * uniform(random) - 0.02, y = 0.04 * uniform(random);
    one.p = two.p + two.R * Vector3d(x, y, 0.01) - lever;
    const auto heights = Heights(b.striker, one, n);
    if (heights[1] - heights[0] < 8e-3) continue;
    const Isometry3d X_WF =
        ContactFrame({n, n.dot(one.p + lever)}, one.p + lever, b.gravity, false);
    ContactState contact = MakeContactState(b.striker, PoseOf(one), one.v, one.omega, X_WF);
    // The second body's share by hand.
    const Vector3d r2 = one.p + lever - two.p;
    contact.v_minus_F -= X_WF.linear().transpose() * (two.v + two.omega.cross(r2));
    if (contact.v_minus_F.z() > -0.5) continue;
    // What impulse J on the plate at the contact changes: its velocity and spin.
    const auto change = [&](const Vector3d& J) -> std::pair<Vector3d, Vector3d> {
      if (options.on_axis) {
        const Vector3d u = b.plate.axis->axis_W, r = one.p + lever - b.plate.axis->p_W;
        const Vector3d domega = u * u.dot(r.cross(J)) / b.inertia;
        return {domega.cross(two.p - b.plate.axis->p_W), domega};
      }
      return {J / b.plate.body.mass,
              two.R * b.plate.body.inertia_B.inverse() * two.R.transpose() * r2.cross(J)};
    };
    Matrix3d A2;
    for (int k = 0; k < 3; ++k) {
      const auto [dv, domega] = change(Vector3d::Unit(k));
      A2.col(k) = dv + domega.cross(r2);
    }
    contact.A_F += X_WF.linear().transpose() * A2 * X_WF.linear();
    const ImpactModel model = {
        {.e = options.restitution, .mu_k = options.friction, .mu_s = options.friction},
        RestitutionLaw::kEnergetic};
    const Vector3d J_W = X_WF.linear() * Solve(contact, model).J_F;
    b.one_plus = one;
    b.two_plus = two;
    b.one_plus.v += J_W / b.striker.mass;
    b.one_plus.omega +=
        one.R * b.striker.inertia_B.inverse() * one.R.transpose() * lever.cross(J_W);
    const auto [dv, domega] = change(-J_W);
    b.two_plus.v += dv;
    b.two_plus.omega += domega;
    b.first = b.second = {};
    b.first.name = b.second.name = "blow";
    const auto put = [&](PoseRecording* recording, double time, const Flying& f) {
      Isometry3d X = PoseOf(f);
      X.translation() += options.sd_position * Normal3(random);
      X.linear() = X.linear() * Turned(options.sd_angle * Normal3(random));
      recording->t.push_back(time);
      recording->X_WB.push_back(X);
    };
    bool clean = true;
    const double shift = 0.5 + 0.5 * uniform(random);
    const int frames = static_cast<int>(std::lround(options.half * options.rate));
    for (int i = -frames; i < frames && clean; ++i) {
      const double s = (i + shift) / options.rate;
      const Flying f1 = b.At(1, s), f2 = b.At(2, s);
      const Vector3d m = f2.R.col(2);
      clean = std::abs(s) < 1e-3 || m.dot(f1.p + LowestLever(b.striker, f1.R, m) - f2.p) > 0.01;
      put(&b.first, b.t + s, f1);
      put(&b.second, b.t + s, f2);
    }
    if (clean) return b;
  }
}

}  // namespace impactlab::test
