#pragma once
// Recordings in closed form for the tests of the motion fit: flights by Propagate, one or more
// impacts by given impulses, noise on top.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "impact/body/free_flight.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab::testing {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

inline Matrix3d ExpMap(const Vector3d& rotation) {
  const double angle = rotation.norm();
  return angle > 0 ? Eigen::AngleAxisd(angle, rotation / angle).toRotationMatrix()
                   : Matrix3d::Identity();
}

// Pieces of flight: the state that holds from time `t` on (the first one also before).
struct Piece {
  double t = 0;
  BodyState state;
};

struct Scene {
  Body body;
  Plane floor;
  FlightOptions flight;
  std::vector<Piece> pieces;

  BodyState At(double t) const {
    std::size_t i = 0;
    while (i + 1 < pieces.size() && pieces[i + 1].t <= t) ++i;
    return Propagate(pieces[i].state, body, flight, t - pieces[i].t);
  }
  double GapAt(double t) const { return ContactWithPlane(body, At(t).X_WB, floor).gap; }
};

struct Noise {
  double position = 0, angle = 0;
};

// `Distribution` of unit scale: Gaussian unless a test asks for worse.
template <class Distribution = std::normal_distribution<double>>
PoseRecording Record(const Scene& scene, const std::vector<double>& times, const Noise& noise,
                     std::mt19937_64& rng, Distribution normal = Distribution()) {
  PoseRecording recording;
  recording.name = "scene";
  recording.planar = scene.body.planar;
  double turns = 0, last = 0;
  for (const double t : times) {
    const BodyState state = scene.At(t);
    Isometry3d X = state.X_WB;
    const double y = scene.body.planar ? 0 : noise.position * normal(rng);
    X.translation() += Vector3d(noise.position * normal(rng), y, noise.position * normal(rng));
    if (scene.body.planar) {
      double theta = PlanarAngle(X) + turns;
      if (!recording.theta.empty()) {
        const double jump = 2 * M_PI * std::round((last - theta) / (2 * M_PI));
        turns += jump;
        theta += jump;
      }
      last = theta;
      theta += noise.angle * normal(rng);
      X.linear() = PlanarPose(0, 0, theta).linear();
      recording.theta.push_back(theta);
    } else {
      X.linear() =
          X.linear() * ExpMap(noise.angle * Vector3d(normal(rng), normal(rng), normal(rng)));
    }
    recording.t.push_back(t);
    recording.X_WB.push_back(X);
  }
  return recording;
}

inline std::vector<double> Times(double from, double to, double rate) {
  std::vector<double> times;
  for (int i = 0; from + i / rate <= to; ++i) times.push_back(from + i / rate);
  return times;
}

// State after an impact at the lowest point with restitution e and friction mu (against the slip
// before).
inline BodyState Bounce(const Scene& scene, const BodyState& minus, double e, double mu) {
  const Vector3d p = ContactWithPlane(scene.body, minus.X_WB, scene.floor).p_WP;
  const Isometry3d X_WF = ContactFrame(scene.floor, p, scene.flight.gravity_W, scene.body.planar);
  const ContactState contact =
      MakeContactState(scene.body, minus.X_WB, minus.v_WB, minus.omega_WB, X_WF);
  Vector3d direction(-contact.v_minus_F.x(), -contact.v_minus_F.y(), 0);
  if (direction.norm() > 0) direction *= mu / direction.norm();
  direction.z() = 1;
  const double J = -(1 + e) * contact.v_minus_F.z() / contact.A_F.row(2).dot(direction);
  const VelocityChange change = ApplyImpulse(scene.body, minus.X_WB, X_WF, J * direction);
  BodyState plus = minus;
  plus.v_WB += change.dv_W;
  plus.omega_WB += change.domega_W;
  return plus;
}

// Puts the lowest point of the body on the floor.
inline void Settle(const Scene& scene, BodyState& state) {
  state.X_WB.translation() -=
      ContactWithPlane(scene.body, state.X_WB, scene.floor).gap * scene.floor.normal;
}

// One impact at time `t` from a state before it; the state's height is set so that the body
// touches.
inline Scene OneImpact(Scene scene, BodyState minus, double t, double e = 0.5, double mu = 0.1) {
  Settle(scene, minus);
  scene.pieces = {{t - 1, Propagate(minus, scene.body, scene.flight, -1)},
                  {t, Bounce(scene, minus, e, mu)}};
  return scene;
}

// Time after `from` at which the body touches again, to 0.3 ms; `limit` when it does not before.
inline double NextTouch(const Scene& scene, double from, double limit) {
  const double first = from + 5e-4, step = 3e-4;
  for (int i = 0; first + i * step < limit; ++i) {
    if (scene.GapAt(first + i * step) < 0) return first + i * step;
  }
  return limit;
}

// Lets the body bounce on from the last piece until `end`, or for `most` more impacts. Returns
// their times.
inline std::vector<double> BounceOn(Scene& scene, double end, int most, double e, double mu) {
  std::vector<double> impacts;
  const double step = 4e-5;
  double t = scene.pieces.back().t + 1e-6;
  while (t < end && static_cast<int>(impacts.size()) < most) {
    if (scene.GapAt(t) > -1e-9) {
      t += step;
      continue;
    }
    double low = std::max(scene.pieces.back().t, t - step), high = t;
    for (int i = 0; i < 40; ++i)
      (scene.GapAt(0.5 * (low + high)) > 0 ? low : high) = 0.5 * (low + high);
    const BodyState minus = scene.At(low);
    const Isometry3d X_WF =
        ContactFrame(scene.floor, ContactWithPlane(scene.body, minus.X_WB, scene.floor).p_WP,
                     scene.flight.gravity_W, scene.body.planar);
    if (MakeContactState(scene.body, minus.X_WB, minus.v_WB, minus.omega_WB, X_WF).v_minus_F.z() >=
        0) {
      t += step;
      continue;
    }
    scene.pieces.push_back({low, Bounce(scene, minus, e, mu)});
    impacts.push_back(low);
    t = low + 1e-6;
  }
  return impacts;
}

// Height of the second lowest vertex over the lowest one.
inline double NextHeight(const Body& body, const Matrix3d& R) {
  std::vector<double> heights;
  for (const Vector3d& p : Vertices(body)) heights.push_back((R * p).z());
  std::sort(heights.begin(), heights.end());
  return heights.size() > 1 ? heights[1] - heights[0] : 1;
}

inline Matrix3d RandomRotation(std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  return Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng))
      .normalized()
      .toRotationMatrix();
}

// A clean single-vertex impact drawn at random, and the times of a recording of it that ends before
// the next touch.
struct RandomImpact {
  Scene scene;
  BodyState minus, plus;
  double t = 0;
  std::vector<double> times;
};

inline RandomImpact DrawImpact(const Body& body, double rate, int least_plus_frames,
                               std::mt19937_64& rng, double least_lean = 0.25, double e = 0.5,
                               double mu = 0.1) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  while (true) {
    RandomImpact draw;
    draw.scene.body = body;
    draw.minus.X_WB.linear() =
        body.planar ? PlanarPose(0, 0, M_PI * uniform(rng)).linear() : RandomRotation(rng);
    if (NextHeight(body, draw.minus.X_WB.linear()) <
        least_lean * std::max(body.half_extents.norm(), body.half_length))
      continue;
    draw.minus.X_WB.translation() =
        Vector3d(0.1 * uniform(rng), body.planar ? 0 : 0.1 * uniform(rng), 0);
    draw.minus.v_WB = Vector3d(0.8 * uniform(rng), body.planar ? 0 : 0.8 * uniform(rng),
                               -1.6 + 0.5 * uniform(rng));
    draw.minus.omega_WB = 6 * Vector3d(uniform(rng), uniform(rng), uniform(rng));
    if (body.planar) draw.minus.omega_WB = Vector3d(0, draw.minus.omega_WB.y(), 0);
    Settle(draw.scene, draw.minus);
    const Isometry3d X_WF = ContactFrame(
        draw.scene.floor, ContactWithPlane(body, draw.minus.X_WB, draw.scene.floor).p_WP,
        draw.scene.flight.gravity_W, body.planar);
    if (MakeContactState(body, draw.minus.X_WB, draw.minus.v_WB, draw.minus.omega_WB, X_WF)
            .v_minus_F.z() > -0.5)
      continue;
    draw.t = 0.1 + uniform(rng) / rate;
    draw.scene = OneImpact(draw.scene, draw.minus, draw.t, e, mu);
    draw.plus = draw.scene.pieces[1].state;
    // No other vertex may have touched before, and the next touch ends the recording.
    bool clean = true;
    for (int i = 1; i <= 89; ++i) clean = clean && draw.scene.GapAt(draw.t - 1e-3 * i) > 0;
    const double end = NextTouch(draw.scene, draw.t, draw.t + 0.12);
    if (!clean || (end - draw.t) * rate < least_plus_frames + 1) continue;
    draw.times = Times(0.015, end - 1e-9, rate);
    return draw;
  }
}

// Estimated minus true state of an event, in the order of its covariance.
inline Eigen::Matrix<double, kEventDim, 1> EventError(const ImpactEvent& event,
                                                      const RandomImpact& truth) {
  Eigen::Matrix<double, kEventDim, 1> error;
  const Vector3d lever =
      ContactWithPlane(truth.scene.body, truth.minus.X_WB, truth.scene.floor).p_WP -
      truth.minus.X_WB.translation();
  error.segment<3>(kVMinus) = event.v_minus - truth.minus.v_WB;
  error.segment<3>(kOmegaMinus) = event.omega_minus - truth.minus.omega_WB;
  error.segment<3>(kVPlus) = event.v_plus - truth.plus.v_WB;
  error.segment<3>(kOmegaPlus) = event.omega_plus - truth.plus.omega_WB;
  error.segment<3>(kLever) = event.p_WP - event.X_WB.translation() - lever;
  return error;
}

// Chi-square of an error against a covariance of lower rank; the error outside its range has to
// vanish to second order.
inline double ChiSquareOf(const Eigen::Matrix<double, kEventDim, 1>& error,
                          const EventCovariance& cov, int* rank) {
  Eigen::Matrix<double, kEventDim, 1> sd = cov.diagonal().cwiseMax(0).cwiseSqrt();
  Eigen::Matrix<double, kEventDim, 1> z = Eigen::Matrix<double, kEventDim, 1>::Zero();
  EventCovariance correlation = EventCovariance::Zero();
  for (int i = 0; i < kEventDim; ++i) {
    if (sd[i] <= 0) continue;
    z[i] = error[i] / sd[i];
    for (int j = 0; j < kEventDim; ++j) {
      if (sd[j] > 0) correlation(i, j) = cov(i, j) / (sd[i] * sd[j]);
    }
  }
  const Eigen::SelfAdjointEigenSolver<EventCovariance> eigen(correlation);
  double chi_square = 0;
  *rank = 0;
  for (int i = 0; i < kEventDim; ++i) {
    if (eigen.eigenvalues()[i] < 1e-7) continue;
    const double c = eigen.eigenvectors().col(i).dot(z);
    chi_square += c * c / eigen.eigenvalues()[i];
    ++*rank;
  }
  return chi_square;
}

inline Body Square() { return MakeBox({0.06, 0.06, 0.06}, 0.3, true); }
inline Body Cube() { return MakeBox({0.10, 0.10, 0.10}, 0.37); }

// No allowance for finite contacts and lost frames: the model is exact.
inline MotionFitOptions Strict() {
  MotionFitOptions options;
  options.max_lost_frames = 0;
  options.jump_allowance_position = options.jump_allowance_angle = 0;
  return options;
}

inline BodyState SquareBefore(double lean, double vx, double vz, double theta_rate) {
  BodyState state;
  state.X_WB = PlanarPose(0.02, 0.05, lean);
  state.v_WB = {vx, 0, vz};
  state.omega_WB = {0, -theta_rate, 0};
  return state;
}

inline void ExpectState(const ImpactEvent& event, const Scene& scene, double tolerance) {
  const BodyState minus = scene.At(scene.pieces[1].t - 1e-12), plus = scene.pieces[1].state;
  EXPECT_NEAR((event.v_minus - minus.v_WB).norm(), 0, tolerance);
  EXPECT_NEAR((event.omega_minus - minus.omega_WB).norm(), 0, 30 * tolerance);
  EXPECT_NEAR((event.v_plus - plus.v_WB).norm(), 0, tolerance);
  EXPECT_NEAR((event.omega_plus - plus.omega_WB).norm(), 0, 30 * tolerance);
  EXPECT_NEAR(event.t, scene.pieces[1].t, tolerance);
  EXPECT_NEAR((event.X_WB.matrix() - plus.X_WB.matrix()).cwiseAbs().maxCoeff(), 0, tolerance);
}

}  // namespace impactlab::testing
