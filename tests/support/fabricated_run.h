#pragma once
// A RunResult with plausible numbers made by simple code, for tests of what is written about a run.
// Nothing here is an estimate of anything.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "impact/body/free_flight.h"
#include "pipelines/run/run.h"

namespace impactlab::testing {

struct FabricateOptions {
  bool planar = true;
  int recordings = 40;
  int frames = 200;
  bool corrected = true;  // with a second analysis after the audit
  bool accepted = true;   // false: every impact is rejected
  std::uint64_t seed = 7;
};

namespace detail {

using Rng = std::mt19937_64;
inline double Uniform(Rng& rng, double a, double b) {
  return std::uniform_real_distribution<double>(a, b)(rng);
}
inline double Normal(Rng& rng, double sd) { return std::normal_distribution<double>(0, sd)(rng); }

// A body falling on one corner, with an impulse of ratio mu (less where the slip would reverse) and
// velocity ratio e.
inline ImpactEvent MakeEvent(Rng& rng, const Body& body, const Plane& floor,
                             const Eigen::Vector3d& gravity) {
  ImpactEvent event;
  event.planar = body.planar;
  const double lean = Uniform(rng, -0.65, 0.65), x = Uniform(rng, -0.05, 0.05);
  if (body.planar)
    event.X_WB = PlanarPose(x, 0, lean - 0.785 + 1.5708 * std::floor(Uniform(rng, -2, 3)));
  else
    event.X_WB.linear() =
        Eigen::Quaterniond(Normal(rng, 1), Normal(rng, 1), Normal(rng, 1), Normal(rng, 1))
            .normalized()
            .toRotationMatrix();
  event.X_WB.translation().z() -= ContactWithPlane(body, event.X_WB, floor).gap;
  event.p_WP = ContactWithPlane(body, event.X_WB, floor).p_WP;
  event.v_minus = {Uniform(rng, -0.8, 0.8), body.planar ? 0 : Uniform(rng, -0.8, 0.8),
                   -Uniform(rng, 0.9, 2.4)};
  event.omega_minus = {body.planar ? 0 : Uniform(rng, -8, 8), Uniform(rng, -8, 8),
                       body.planar ? 0 : Uniform(rng, -8, 8)};
  UpdateContact(event, body, floor, gravity);
  const Eigen::Vector3d v = event.contact.v_minus_F;
  const double e = 0.45 + Normal(rng, 0.03), mu = 0.11 + Normal(rng, 0.01);
  const Eigen::Vector3d slip =
      Eigen::Vector3d(v.x(), v.y(), 0) / std::max(1e-9, std::hypot(v.x(), v.y()));
  const Eigen::Vector3d direction = Eigen::Vector3d::UnitZ() - mu * slip;
  const double j_n = -(1 + e) * v.z() / (event.contact.A_F * direction).z();
  const VelocityChange change = ApplyImpulse(body, event.X_WB, event.contact.X_WF, j_n * direction);
  event.v_plus = event.v_minus + change.dv_W;
  event.omega_plus = event.omega_minus + change.domega_W;
  for (int k = 0; k < kEventDim; ++k)
    event.cov(k, k) = k >= kLever ? 1e-9 : (k / 3) % 2 == 0 ? 1e-5 : 4e-3;
  event.t = Uniform(rng, 0.2, 0.3);
  event.sd_t = 1e-4;
  event.accepted = true;
  event.frames_minus = event.frames_plus = 25;
  event.sigma_position = 5e-5;
  event.sigma_angle = 7e-4;
  UpdateContact(event, body, floor, gravity);
  return event;
}

inline PoseRecording MakeRecording(Rng& rng, const ImpactEvent& event, const Body& body,
                                   const FlightOptions& flight, int frames) {
  PoseRecording recording{
      .name = event.recording, .planar = event.planar, .t = {}, .X_WB = {}, .theta = {}};
  double theta = 0;
  for (int k = 0; k < frames; ++k) {
    const double t = k * 0.5 / std::max(1, frames - 1);
    const bool plus = t > event.t;
    const BodyState at = Propagate({event.X_WB, plus ? event.v_plus : event.v_minus,
                                    plus ? event.omega_plus : event.omega_minus},
                                   body, flight, t - event.t);
    Eigen::Isometry3d X = at.X_WB;
    for (const int axis : {0, 2}) X.translation()[axis] += Normal(rng, 5e-5);
    recording.t.push_back(t);
    recording.X_WB.push_back(X);
    if (!event.planar) continue;
    const double angle = PlanarAngle(X) + Normal(rng, 7e-4);
    theta = k == 0 ? angle : angle + 2 * M_PI * std::round((theta - angle) / (2 * M_PI));
    recording.theta.push_back(theta);
  }
  return recording;
}

inline void AddFlights(Rng& rng, MotionFit& fit, const ImpactEvent& event, const Body& body,
                       const Plane& floor, double tilt) {
  for (int k = 0; k < 2; ++k) {
    FlightArc arc;
    arc.recording = event.recording;
    arc.first = 80 * k, arc.last = 80 * k + 60;
    arc.duration = 0.2;
    const double sd = Uniform(rng, 0.03, 0.3);
    arc.sd_acceleration = {0.02, 0.02, sd};
    arc.acceleration_W = {0, 0, -9.80665 + Normal(rng, sd)};
    fit.arcs.push_back(arc);
  }
  RestPose rest;
  rest.recording = event.recording;
  rest.X_WB =
      body.planar
          ? PlanarPose(0, 0, tilt + Normal(rng, 1e-3) + 1.5707963 * std::floor(Uniform(rng, 0, 4)))
          : Eigen::Isometry3d::Identity();
  rest.X_WB.translation().z() -= ContactWithPlane(body, rest.X_WB, floor).gap - Normal(rng, 5e-5);
  fit.rests.push_back(rest);
}

inline LawFit MakeFit(Rng& rng, const std::string& law, const std::string& name, double e,
                      const std::vector<ImpactEvent>& events) {
  LawFit fit;
  fit.law = law;
  const double mu = 0.11;
  fit.mu_k = {"mu_k", mu, 0.004, 0.0004, mu - 0.008, mu + 0.009, true, ""};
  fit.e = {name, e, 0.011, 0.0012, e - 0.021, e + 0.023, true, ""};
  fit.covariance = Eigen::Matrix2d{{1.6e-5, 1.5e-5}, {1.5e-5, 1.21e-4}};
  fit.covariance_noise_only = 0.01 * fit.covariance;
  fit.discrepancy = {0.021, 0.034, 0.027};
  fit.likelihood = "student_t";
  fit.loglik = 412.3 + Uniform(rng, -6, 0);
  fit.dof = 3 * static_cast<int>(events.size()) - 5;
  fit.n_starts = 8, fit.n_starts_agreeing = 8;
  fit.sd_bootstrap = {0.0043, 0.012};
  for (int i = 0; i < 31; ++i)
    fit.grid_mu.push_back(mu + 0.001 * (i - 15)), fit.grid_e.push_back(e + 0.003 * (i - 15));
  fit.grid_deviance.resize(31, 31);
  const Eigen::Matrix2d information = Eigen::Matrix2d(fit.covariance).inverse();
  for (int i = 0; i < 31; ++i)
    for (int j = 0; j < 31; ++j) {
      const Eigen::Vector2d d(fit.grid_mu[static_cast<std::size_t>(i)] - mu,
                              fit.grid_e[static_cast<std::size_t>(j)] - e);
      fit.grid_deviance(i, j) = d.dot(information * d) * (1 + 8 * d.x());
    }
  for (const ImpactEvent& event : events)
    fit.influence.push_back({event.recording,
                             event.impact,
                             {Normal(rng, 0.15), Normal(rng, 0.12)},
                             Uniform(rng, 0, 1) < 0.05 ? 0.2 : 1.0});
  return fit;
}

inline void AddRows(Rng& rng, ValidationTable& table, const std::string& law,
                    const std::vector<ImpactEvent>& events, double scatter) {
  const std::vector<std::string> cases = {"0", "0", "0", "1", "2", "4"};
  for (const bool in_sample : {true, false})
    for (std::size_t i = 0; i < events.size(); ++i) {
      const ImpactEvent& event = events[i];
      const std::string path_case = cases[i % cases.size()];
      const int fold = in_sample ? -1 : static_cast<int>(i) % 5;
      const auto add = [&](const char* quantity, const char* unit, double measured,
                           double sd_measured) {
        const double sd = (unit[0] == 'r' ? 1.2 : 0.03) * scatter,
                     predicted = measured + Normal(rng, sd * (in_sample ? 1 : 1.1));
        const double difference = predicted - measured, total = std::hypot(sd, sd_measured);
        ValidationRow row;
        row.recording = event.recording, row.impact = event.impact;
        row.law = law, row.fold = fold, row.path_case = path_case, row.quantity = quantity,
        row.unit = unit;
        row.predicted = predicted, row.sd_predicted = sd, row.measured = measured,
        row.sd_measured = sd_measured;
        row.difference = difference, row.sd_difference = total, row.z = difference / total;
        row.in_sample = in_sample;
        row.verdict = std::abs(difference) > 2 * total ? "discrepant"
                      : i % 4 == 0                     ? "unresolved"
                                                       : "adequate";
        table.rows.push_back(row);
      };
      add("v_plus_x", "m/s", event.v_plus.x(), 0.003);
      if (!event.planar) add("v_plus_y", "m/s", event.v_plus.y(), 0.003);
      add("v_plus_z", "m/s", event.v_plus.z(), 0.003);
      if (!event.planar) add("omega_plus_x", "rad/s", event.omega_plus.x(), 0.06);
      add("omega_plus_y", "rad/s", event.omega_plus.y(), 0.06);
      if (!event.planar) add("omega_plus_z", "rad/s", event.omega_plus.z(), 0.06);
      add("v_n_plus", "m/s", event.v_plus_F.z(), 0.006);
      add("J_t_over_J_n", "1", 0.1, 0.004);
      add("energy_ratio", "1", 0.4, 0.01);
      const double error = std::abs(Normal(rng, 0.05 * scatter));
      table.errors.push_back({event.recording, event.impact, law, path_case, fold, error,
                              0.6 * error, 0.4 * error, error * error / 0.0025,
                              3 - error * error / 0.005});
    }
  const int n = static_cast<int>(events.size());
  if (n == 0) return;
  for (const std::string group : {"all", "case 0", "case 1", "case 2", "case 4"})
    for (const bool in_sample : {true, false}) {
      const double m = (in_sample ? 0.041 : 0.044) * scatter;
      table.error_summary.push_back({law, group, in_sample, group == "all" ? n : n / 5, m, 1.3 * m,
                                     0.6 * m, 0.8 * m, 0.4 * m, 0.5 * m});
      for (const char* quantity :
           {"v_plus_x", "v_plus_z", "omega_plus_y", "v_n_plus", "J_t_over_J_n", "energy_ratio"})
        table.quantity_summary.push_back({law, quantity, group, in_sample, n, n * 6 / 10,
                                          n * 2 / 10, n - n * 6 / 10 - n * 2 / 10, 0.041, -0.003,
                                          1.1});
    }
}

inline AuditResult MakeAudit(Rng& rng, const std::vector<ImpactEvent>& accepted, double residual,
                             bool named) {
  AuditResult audit;
  const int n = static_cast<int>(accepted.size());
  audit.momentum = {n,
                    residual,
                    0.6 * residual,
                    0.1 * residual,
                    18.4,
                    0.35,
                    {0.0243, 2e-4, 0.0239, 0.0247, true, ""},
                    {0.0251, 9e-4, 0.0233, 0.0269, true, ""},
                    0.0245};
  audit.momentum_corrected = audit.momentum;
  audit.momentum_corrected.rms *= 0.3;
  if (n == 0) audit.momentum = audit.momentum_corrected = {};
  for (const ImpactEvent& event : accepted) {
    EventAudit one{event.recording,
                   event.impact,
                   Normal(rng, residual),
                   0.4,
                   -0.55 + Normal(rng, 0.08),
                   0.01,
                   "opposes",
                   true,
                   true,
                   true};
    one.momentum_ok = std::abs(one.momentum_residual) < 2 * residual;
    if (Uniform(rng, 0, 1) < 0.04) one.energy_gain = 0.03, one.energy_ok = false;
    if (Uniform(rng, 0, 1) < 0.04) one.friction = "assists", one.friction_ok = false;
    audit.events.push_back(one);
  }
  audit.gravity = {9.802, 0.011, 9.780, 9.824, true, ""};
  audit.evidence = {
      {"theta_offset_rad", "momentum", {-0.0362, 0.0011, -0.0384, -0.0340, true, ""}},
      {"theta_offset_rad", "rest_pose", {-0.0358, 0.0004, -0.0366, -0.0350, true, ""}},
      {"length_scale", "free_flight", {1.0006, 0.0012, 0.9982, 1.0030, true, ""}},
      {"com_offset_x_m", "momentum", {0, 0, 0, 0, false, "collinear with com_offset_z_m"}}};
  if (named)
    audit.findings = {{"theta_offset_rad",
                       true,
                       {-0.0359, 0.0004, -0.0367, -0.0351, true, ""},
                       "theta_offset_rad: -0.03590 +- 0.00040 rad (rest_attitude -0.03580 +- "
                       "0.00040 rad, momentum -0.0362 +- 1.1e-03 rad); they agree"},
                      {"length_scale|clock_rate",
                       false,
                       {1.001, 0.002, 0.997, 1.005, true, ""},
                       "length_scale|clock_rate: free_flight 1.0010 +- 0.0020, not confirmed by a "
                       "second source"}};
  audit.inertia_note = "Radius of gyration: 24.5 mm from the shape, 24.3 +- 0.2 mm from momentum.";
  return audit;
}

}  // namespace detail

// The poses of a recording of a fabricated run, to be changed.
inline PoseRecording& MutablePoses(RunResult* run, std::size_t i) {
  return std::get<PoseRecordings>(run->recordings.data).recordings[i].poses;
}

inline RunResult FabricatedRun(const FabricateOptions& options = {}) {
  using namespace detail;
  Rng rng(options.seed);
  RunResult run;
  Experiment& experiment = run.experiment;
  experiment.path = "experiments/square_drops.yaml";
  experiment.name =
      options.planar ? "Square dropped on a sheet of acrylic" : "Cube tossed on a table";
  experiment.recordings = "drop_*.csv";
  experiment.body = MakeBox({0.06, options.planar ? 0 : 0.06, 0.06}, 0.2, options.planar);
  experiment.body.name = options.planar ? "square" : "cube";
  const Eigen::Vector3d& gravity = experiment.motion.flight.gravity_W;
  const RejectReason reasons[] = {RejectReason::kSecondContact, RejectReason::kSecondContact,
                                  RejectReason::kEdgeOrFlatLanding, RejectReason::kArcMisfit};
  std::vector<ImpactEvent> accepted;
  std::vector<PosedRecording>& poses = std::get<PoseRecordings>(run.recordings.data).recordings;
  for (int i = 0; i < options.recordings; ++i) {
    ImpactEvent event = MakeEvent(rng, experiment.body, experiment.floor, gravity);
    event.recording = fmt::format("drop_{:03}", i + 1);
    if (!options.accepted || i % 3 == 2) {
      event.accepted = false;
      event.reason = reasons[(i / 3) % 4];
      event.detail = "next vertex arrives 0.6 frames later, at least 1.0 needed";
    }
    run.recordings.files.push_back(event.recording + ".csv");
    poses.push_back(
        {MakeRecording(rng, event, experiment.body, experiment.motion.flight, options.frames), ""});
    MotionFit fit;
    fit.events = {event};
    fit.sigma_position = 5e-5, fit.sigma_angle = 7e-4;
    AddFlights(rng, fit, event, experiment.body, experiment.floor, options.planar ? 0.036 : 0);
    if (event.accepted) accepted.push_back(event);
    run.recorded.motion.push_back(fit);
    run.recorded.events.push_back(event);
  }
  const auto fill = [&](Analysis& analysis, double scatter) {
    analysis.fit.n_events = static_cast<int>(accepted.size());
    if (!accepted.empty()) {
      double e = 0.47;
      for (const auto& [law, name] : {std::pair{"newton", "e_n"}, std::pair{"poisson", "e_p"},
                                      std::pair{"energetic", "e_star"}}) {
        analysis.fit.fits.push_back(MakeFit(rng, law, name, e, accepted));
        AddRows(rng, analysis.validation, law, accepted,
                scatter * (law == std::string("newton") ? 1.2 : 1));
        e -= 0.008;
      }
      analysis.scrutiny = DiagnoseCampaign(analysis.events, experiment.body, analysis.fit,
                                           analysis.validation, options.seed);
    }
    for (const ImpactEvent& event : analysis.events)
      if (!event.accepted)
        analysis.fit.rejected.push_back(
            {event.recording, event.impact, ReasonName(event.reason), event.detail});
  };
  run.has_corrected = options.corrected;
  if (options.corrected) {
    run.corrected = run.recorded;
    for (ImpactEvent& event : run.recorded.events)
      event.omega_plus.y() += Normal(rng, 4) + (event.p_WP - event.X_WB.translation()).x() * 120;
    run.corrected.correction.floor_offset = 2e-5;
    fill(run.corrected, 1);
    run.audit_corrected = MakeAudit(rng, accepted, 0.9, false);
  }
  fill(run.recorded, options.corrected ? 1.8 : 1);
  run.audit = MakeAudit(rng, accepted, options.corrected ? 4.2 : 0.9, options.corrected);
  run.seconds = 3.21;
  return run;
}

}  // namespace impactlab::testing
