#pragma once
// Synthetic events with known friction and restitution: random drops of a body, an exact impact,
// scatter from event to event, noise.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "impact/law/solve.h"

namespace impactlab::twin {

struct Options {
  int n = 20;
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  double mu = 0.2, e = 0.5;
  double e_t = 0;
  // e is that at this speed and falls as in CoefficientModel
  double exponent = 0, reference_speed = 1.5;
  double sd_mu = 0, sd_e = 0;  // scatter of the coefficients themselves
  // scatter of the impulse wrench relative to p and p k
  double sd_t = 0, sd_n = 0, sd_c = 0;
  double about_normal = 1;  // scatter of the couple about the normal, relative to sd_c
  // share of events whose scatter is larger by the scale
  double wild_share = 0, wild_scale = 10;
  double sd_v = 5e-4, sd_omega = 0.02, sd_r = 5e-5;  // measurement noise
  double speed_t = 1, speed_n_min = 0.8, speed_n_max = 2.5, spin = 10;
  int impacts_per_recording = 1;
};

inline double Normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }
inline double Uniform(std::mt19937_64& random, double a, double b) {
  return std::uniform_real_distribution<double>(a, b)(random);
}

// A covariance with the given standard deviations and random correlations; planar events keep their
// planar quantities.
inline EventCovariance RandomCovariance(const Options& options, bool planar,
                                        std::mt19937_64& random) {
  EventCovariance factor;
  for (int i = 0; i < kEventDim; ++i) {
    for (int j = 0; j < kEventDim; ++j) factor(i, j) = (i == j ? 2.0 : 0.0) + 0.5 * Normal(random);
    const double sd = i >= kLever        ? options.sd_r
                      : (i / 3) % 2 == 0 ? options.sd_v
                                         : options.sd_omega;
    factor.row(i) *= sd / factor.row(i).norm();
    const int axis = i % 3;
    const bool spin = i < kLever && (i / 3) % 2 == 1;
    if (planar && (spin ? axis != 1 : axis == 1)) factor.row(i).setZero();
  }
  return factor * factor.transpose();
}

// Gives the event a random pose in contact with the floor z = 0 and velocities that approach it.
inline void Approach(const Body& body, const Options& options, std::mt19937_64& random,
                     ImpactEvent& event) {
  const Plane ground;
  const Eigen::Vector3d gravity(0, 0, -9.80665);
  for (;;) {
    Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
    Eigen::Vector3d v, omega;
    if (body.planar) {
      X_WB = PlanarPose(0, 0, Uniform(random, -M_PI, M_PI));
      v = {options.speed_t * Uniform(random, -1, 1), 0,
           -Uniform(random, options.speed_n_min, options.speed_n_max)};
      omega = {0, options.spin * Uniform(random, -1, 1), 0};
    } else {
      X_WB.linear() =
          Eigen::Quaterniond(Normal(random), Normal(random), Normal(random), Normal(random))
              .normalized()
              .toRotationMatrix();
      v = {options.speed_t * Uniform(random, -1, 1), options.speed_t * Uniform(random, -1, 1),
           -Uniform(random, options.speed_n_min, options.speed_n_max)};
      omega = options.spin * Eigen::Vector3d(Uniform(random, -1, 1), Uniform(random, -1, 1),
                                             Uniform(random, -1, 1));
    }
    const PlaneContact touch = ContactWithPlane(body, X_WB, ground);
    if (touch.next_gap < 0.002) continue;  // a flat landing is no single impact
    X_WB.translation().z() -= touch.gap;
    const Eigen::Vector3d p_WP = touch.p_WP - Eigen::Vector3d(0, 0, touch.gap);
    event.X_WB = X_WB;
    event.p_WP = p_WP;
    event.v_minus = v;
    event.omega_minus = omega;
    UpdateContact(event, body, ground, gravity);
    if (event.contact.v_minus_F.z() > -0.3) continue;
    break;
  }
}

// Restitution at the speed of an approach, where `e_0` holds at the reference speed.
inline double RestitutionAt(const Options& options, double e_0, double speed) {
  const double loss = (1 - e_0) * std::pow(speed / options.reference_speed, options.exponent);
  return std::clamp(1 - loss, 0.0, 1.0);
}

// The states after an exact impact and its scatter.
inline void Strike(const Body& body, const Options& options, double mu, double e_0,
                   std::mt19937_64& random, ImpactEvent& event) {
  const double e = RestitutionAt(options, e_0, -event.contact.v_minus_F.z());
  const ImpactOutcome outcome = Solve(event.contact, {{e, mu, mu, options.e_t}, options.law});
  const double p = -event.contact.v_minus_F.z() / event.contact.A_F(2, 2);
  const double wild = Uniform(random, 0, 1) < options.wild_share ? options.wild_scale : 1;
  Eigen::Vector3d J = outcome.J_F;
  J += wild * p *
       Eigen::Vector3d(options.sd_t * Normal(random),
                       body.planar ? 0 : options.sd_t * Normal(random),
                       options.sd_n * Normal(random));
  const VelocityChange change = ApplyImpulse(body, event.X_WB, event.contact.X_WF, J);
  event.v_plus = event.v_minus + change.dv_W;
  event.omega_plus = event.omega_minus + change.domega_W;
  const double k = RadiusOfGyration(body);
  const Eigen::Vector3d couple =
      wild * p * k * options.sd_c *
      Eigen::Vector3d(Normal(random), Normal(random), options.about_normal * Normal(random));
  if (body.planar) {
    event.omega_plus.y() += couple.y() / body.inertia_B(1, 1);
  } else {
    const Eigen::Matrix3d R = event.X_WB.linear();
    event.omega_plus += R * body.inertia_B.inverse() * R.transpose() * couple;
  }
}

// Measures the states and the lever with a random covariance.
inline void AddNoise(const Body& body, const Options& options, std::mt19937_64& random,
                     ImpactEvent& event) {
  event.cov = RandomCovariance(options, body.planar, random);
  const EventCovariance factor =
      Eigen::LLT<EventCovariance>(event.cov + 1e-30 * EventCovariance::Identity()).matrixL();
  Eigen::Matrix<double, kEventDim, 1> white;
  for (int i = 0; i < kEventDim; ++i) white[i] = Normal(random);
  const Eigen::Matrix<double, kEventDim, 1> noise = factor * white;
  event.v_minus += noise.segment<3>(kVMinus);
  event.omega_minus += noise.segment<3>(kOmegaMinus);
  event.v_plus += noise.segment<3>(kVPlus);
  event.omega_plus += noise.segment<3>(kOmegaPlus);
  event.p_WP += noise.segment<3>(kLever);
  if (body.planar) {
    event.v_minus.y() = event.v_plus.y() = event.p_WP.y() = 0;
    event.omega_minus.x() = event.omega_minus.z() = event.omega_plus.x() = event.omega_plus.z() = 0;
  }
  UpdateContact(event, body, Plane(), Eigen::Vector3d(0, 0, -9.80665));
}

inline ImpactEvent RandomEvent(const Body& body, const Options& options, std::mt19937_64& random,
                               int number) {
  ImpactEvent event;
  event.planar = body.planar;
  event.recording = "drop_" + std::to_string(number / options.impacts_per_recording);
  event.impact = number % options.impacts_per_recording;
  event.accepted = true;
  // A model of this event alone.
  const double mu = std::max(0.0, options.mu + options.sd_mu * Normal(random));
  const double e_0 = options.e + options.sd_e * Normal(random);
  Approach(body, options, random, event);
  Strike(body, options, mu, e_0, random, event);
  AddNoise(body, options, random, event);
  return event;
}

inline std::vector<ImpactEvent> Experiment(const Body& body, const Options& options,
                                           std::mt19937_64& random) {
  std::vector<ImpactEvent> events;
  events.reserve(static_cast<std::size_t>(options.n));
  for (int i = 0; i < options.n; ++i) events.push_back(RandomEvent(body, options, random, i));
  return events;
}

inline Body Square() { return MakeBox({0.06, 0.06, 0.06}, 1, true); }

}  // namespace impactlab::twin
