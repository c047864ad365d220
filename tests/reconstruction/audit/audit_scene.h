#pragma once
// Events, flight arcs and rests of a body with known frame errors, made without any law of contact:
// impulses are drawn inside a friction cone.

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

#include "impact/body/event.h"
#include "reconstruction/audit/audit.h"

namespace impactlab::testing_audit {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

struct Scene {
  Body body = MakeBox(Vector3d(0.06, 0.06, 0.06), 0.1, true);
  Plane floor;
  int events = 40, rests = 40, arcs = 60;
  double noise_velocity = 2e-3, noise_spin = 0.03, noise_angle = 3e-4, noise_position = 4e-5,
         noise_acceleration = 0.03;
  double scatter_spin = 0;  // of the spin change, in no covariance [rad/s]
  double wild_share = 0;    // share of events with a spin change of no impulse
  double mu = 0.2;
  bool spinning_arcs = true;
  FrameCorrection error;
};

struct AuditSet {
  std::vector<ImpactEvent> truth, events;
  std::vector<FlightArc> arcs;
  std::vector<RestPose> rests;
};

inline Matrix3d Exp(const Vector3d& r) {
  return r.norm() > 0 ? Eigen::AngleAxisd(r.norm(), r.normalized()).toRotationMatrix()
                      : Matrix3d(Matrix3d::Identity());
}

// Pose as recorded, from the true one.
inline Isometry3d Record(const Scene& scene, const Isometry3d& X) {
  const FrameCorrection& e = scene.error;
  Isometry3d out = X;
  out.linear() = X.linear() * Exp(e.rotation_offset_B);
  if (e.theta_flipped) out.linear().transposeInPlace();
  Vector3d p = e.length_scale * (X.translation() - X.linear() * e.com_offset_B);
  if (e.mirrored) p(scene.body.planar ? 0 : 1) *= -1;
  out.translation() = p;
  return out;
}

inline Matrix3d RandomAttitude(const Body& body, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  if (body.planar)
    return PlanarPose(0, 0, std::uniform_real_distribution<double>(-M_PI, M_PI)(rng)).linear();
  return Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng))
      .normalized()
      .toRotationMatrix();
}

inline AuditSet MakeSet(const Scene& scene, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  const auto uniform = [&](double a, double b) {
    return std::uniform_real_distribution<double>(a, b)(rng);
  };
  const auto vector = [&](double sd) {
    Vector3d v(normal(rng), normal(rng), normal(rng));
    if (scene.body.planar) v.y() = 0;
    return Vector3d(sd * v);
  };
  const auto turn = [&](double sd) {
    Vector3d v(normal(rng), normal(rng), normal(rng));
    if (scene.body.planar) v.x() = v.z() = 0;
    return Vector3d(sd * v);
  };
  const Body& body = scene.body;
  const FrameCorrection& error = scene.error;
  const Plane floor = CorrectedFloor(scene.floor, error);
  const Vector3d gravity(0, 0, -9.80665);
  const double v_factor = error.length_scale / error.clock_rate;
  Vector3d flip = Vector3d::Ones();
  if (error.mirrored) flip(body.planar ? 0 : 1) = -1;
  const double sense = error.theta_flipped ? -1 : 1;

  AuditSet set;
  while (static_cast<int>(set.truth.size()) < scene.events) {
    ImpactEvent e;
    e.recording = "set";
    e.impact = set.truth.size();
    e.planar = body.planar;
    e.accepted = true;
    e.X_WB.linear() = RandomAttitude(body, rng);
    const PlaneContact lean = ContactWithPlane(body, e.X_WB, floor);
    if (lean.next_gap < 0.008 && std::isfinite(lean.next_gap)) continue;
    e.X_WB.translation() = Vector3d(uniform(-0.3, 0.3), body.planar ? 0 : uniform(-0.3, 0.3), 0);
    e.X_WB.translation().z() -= ContactWithPlane(body, e.X_WB, floor).gap / floor.normal.z();
    e.p_WP = ContactWithPlane(body, e.X_WB, floor).p_WP;
    e.v_minus =
        Vector3d(uniform(-0.8, 0.8), body.planar ? 0 : uniform(-0.8, 0.8), -uniform(1.2, 2.6));
    e.omega_minus = body.planar ? Vector3d(0, uniform(-10, 10), 0)
                                : Vector3d(uniform(-10, 10), uniform(-10, 10), uniform(-10, 10));
    UpdateContact(e, body, floor, gravity);
    const Vector3d v = e.contact.v_minus_F;
    if (v.z() > -0.3) continue;
    // Sliding friction, cut off where it would turn the slip round.
    Vector3d J = Vector3d::UnitZ();
    const double slip = std::hypot(v.x(), v.y());
    if (slip > 0) J.head<2>() = -scene.mu * v.head<2>() / slip;
    const double restitution = uniform(0.3, 0.6);
    const double denominator = (e.contact.A_F * J).z();
    if (denominator <= 0) continue;
    J *= -(1 + restitution) * v.z() / denominator;
    if ((v + e.contact.A_F * J).head<2>().dot(v.head<2>()) < 0) {
      const double part =
          v.head<2>().squaredNorm() /
          (v.head<2>().squaredNorm() - (v + e.contact.A_F * J).head<2>().dot(v.head<2>()));
      J.head<2>() *= part;
    }
    const VelocityChange change = ApplyImpulse(body, e.X_WB, e.contact.X_WF, J);
    e.v_plus = e.v_minus + change.dv_W;
    e.omega_plus = e.omega_minus + change.domega_W + turn(scene.scatter_spin);
    if (scene.wild_share > 0 && uniform(0, 1) < scene.wild_share) e.omega_plus += turn(15);
    UpdateContact(e, body, floor, gravity);
    set.truth.push_back(e);

    ImpactEvent r = e;
    const Vector3d arm = e.X_WB.linear() * error.com_offset_B;
    r.X_WB = Record(scene, e.X_WB);
    r.X_WB.linear() = r.X_WB.linear() * Exp(turn(scene.noise_angle));
    r.X_WB.translation() += vector(scene.noise_position);
    r.v_minus = v_factor * flip.cwiseProduct(e.v_minus - e.omega_minus.cross(arm)) +
                vector(scene.noise_velocity);
    r.v_plus = v_factor * flip.cwiseProduct(e.v_plus - e.omega_plus.cross(arm)) +
               vector(scene.noise_velocity);
    r.omega_minus = sense / error.clock_rate * e.omega_minus + turn(scene.noise_spin);
    r.omega_plus = sense / error.clock_rate * e.omega_plus + turn(scene.noise_spin);
    const Vector3d lever =
        r.X_WB.linear() * SupportLever(body, r.X_WB.linear().transpose() * scene.floor.normal);
    r.p_WP = r.X_WB.translation() + lever;
    r.sigma_position = scene.noise_position;
    r.sigma_angle = scene.noise_angle;
    r.cov.setZero();
    for (int i = 0; i < 3; ++i) {
      const bool in_plane = i != 1;
      for (const int k : {kVMinus, kVPlus})
        r.cov(k + i, k + i) = !body.planar || in_plane ? std::pow(scene.noise_velocity, 2) : 0;
      for (const int k : {kOmegaMinus, kOmegaPlus})
        r.cov(k + i, k + i) = !body.planar || !in_plane ? std::pow(scene.noise_spin, 2) : 0;
    }
    Matrix3d turning = std::pow(scene.noise_angle, 2) * Matrix3d::Identity();
    if (body.planar) turning(0, 0) = turning(2, 2) = 0;
    Matrix3d S;
    S << 0, -lever.z(), lever.y(), lever.z(), 0, -lever.x(), -lever.y(), lever.x(), 0;
    r.cov.block<3, 3>(kLever, kLever) = S * turning * S.transpose();
    UpdateContact(r, body, scene.floor, gravity);
    set.events.push_back(r);
  }

  for (int i = 0; i < scene.arcs; ++i) {
    FlightArc arc;
    arc.recording = "set";
    arc.duration = 0.15;
    arc.last = 36;
    Vector3d a = gravity;
    if (scene.spinning_arcs) {
      const Matrix3d R = RandomAttitude(body, rng);
      const Vector3d spin = body.planar ? Vector3d(0, uniform(-10, 10), 0)
                                        : Vector3d(uniform(-8, 8), uniform(-8, 8), uniform(-8, 8));
      a -= spin.cross(spin.cross(R * error.com_offset_B));
    }
    arc.acceleration_W = error.length_scale / std::pow(error.clock_rate, 2) * flip.cwiseProduct(a) +
                         vector(scene.noise_acceleration);
    arc.sd_acceleration = Vector3d::Constant(scene.noise_acceleration);
    if (body.planar) arc.sd_acceleration.y() = 0;
    set.arcs.push_back(arc);
  }

  const std::vector<Vector3d> faces = {Vector3d::UnitX(),  -Vector3d::UnitX(), Vector3d::UnitZ(),
                                       -Vector3d::UnitZ(), Vector3d::UnitY(),  -Vector3d::UnitY()};
  for (int i = 0; i < scene.rests; ++i) {
    const Vector3d up = faces[std::uniform_int_distribution<int>(0, body.planar ? 3 : 5)(rng)];
    Isometry3d X = Isometry3d::Identity();
    if (body.planar) {
      const double slope = std::atan2(-floor.normal.x(), floor.normal.z());
      const double base = std::atan2(up.x(), up.z());
      X = PlanarPose(uniform(-0.3, 0.3), 0, base + slope);
    } else {
      X.linear() = Eigen::Quaterniond::FromTwoVectors(up, floor.normal).toRotationMatrix();
      X.linear() =
          Eigen::AngleAxisd(uniform(-M_PI, M_PI), floor.normal).toRotationMatrix() * X.linear();
      X.translation() = Vector3d(uniform(-0.3, 0.3), uniform(-0.3, 0.3), 0);
    }
    X.translation().z() -= ContactWithPlane(body, X, floor).gap / floor.normal.z();
    RestPose rest;
    rest.recording = "set";
    rest.last = 19;
    rest.X_WB = Record(scene, X);
    rest.X_WB.linear() = rest.X_WB.linear() * Exp(turn(2 * scene.noise_angle / std::sqrt(20.0)));
    rest.X_WB.translation() += vector(scene.noise_position / std::sqrt(20.0));
    rest.sd_position = scene.noise_position;
    rest.sd_angle = 2 * scene.noise_angle;
    set.rests.push_back(rest);
  }
  return set;
}

inline AuditResult RunAudit(const Scene& scene, const AuditSet& set,
                            const AuditOptions& options = {}) {
  return Audit(set.events, set.arcs, set.rests, scene.body, scene.floor, options);
}

inline const Finding* Find(const AuditResult& result, const std::string& parameter) {
  for (const Finding& f : result.findings) {
    if (f.parameter == parameter) return &f;
  }
  return nullptr;
}

inline bool Named(const AuditResult& result, const std::string& parameter) {
  const Finding* f = Find(result, parameter);
  return f != nullptr && f->named;
}

inline std::vector<std::string> NamedParameters(const AuditResult& result) {
  std::vector<std::string> names;
  for (const Finding& f : result.findings) {
    if (f.named) names.push_back(f.parameter);
  }
  return names;
}

// All texts, for failure messages.
inline std::string Story(const AuditResult& result) {
  std::string text;
  for (const Finding& f : result.findings)
    text += (f.named ? "[named] " : "[not named] ") + f.text + "\n";
  return text;
}

}  // namespace impactlab::testing_audit
