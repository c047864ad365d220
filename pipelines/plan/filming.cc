#include "pipelines/plan/detail/filming.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "data/math/rotation.h"
#include "reconstruction/pose/marker_pose_image.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pipelines::DropMotion;

constexpr double kLongest = 5;  // a drop that has not touched anything after that does not [s]

double Normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

Plane FloorOf(const ExperimentDesign& plan, double slope) {
  const Vector3d up = -plan.gravity_W.normalized(),
                 normal = Eigen::AngleAxisd(slope, Vector3d::UnitY()) * up;
  return {normal, normal.dot(plan.centre_W)};
}

// The line that leans, in B.
Vector3d LeaningLine(const ExperimentDesign& plan) {
  const std::vector<Vector3d> vertices = Vertices(plan.body);
  if (vertices.empty()) return Vector3d::UnitZ();
  Vector3d line = -vertices[static_cast<std::size_t>(plan.vertex)];
  if (plan.body.planar) line.y() = 0;
  return line.norm() > 0 ? line.normalized() : Vector3d::UnitZ();
}

BodyState Release(const ExperimentDesign& plan, const PlanSetting& setting, const Plane& floor,
                  std::mt19937_64& random) {
  const bool planar = plan.body.planar;
  const ReleaseScatter& s = plan.release;
  const Matrix3d F = ContactFrame(floor, plan.centre_W, plan.gravity_W, planar).linear();
  const double lean = setting.lean + s.lean * Normal(random),
               azimuth = planar ? 0 : s.azimuth * Normal(random);
  const double roll = planar ? 0 : s.roll * Normal(random);
  const Vector3d line_B = LeaningLine(plan);
  const Vector3d line = F * Vector3d(std::sin(lean) * std::cos(azimuth),
                                     std::sin(lean) * std::sin(azimuth), std::cos(lean));
  BodyState state;
  if (planar) {
    state.X_WB =
        PlanarPose(0, 0, std::atan2(line.z(), line.x()) - std::atan2(line_B.z(), line_B.x()));
  } else {
    const Eigen::Quaterniond turn = Eigen::Quaterniond::FromTwoVectors(line_B, line);
    state.X_WB.linear() = (Eigen::AngleAxisd(roll, line) * turn).toRotationMatrix();
  }
  const double speed_x = setting.speed + s.speed * Normal(random),
               speed_y = planar ? 0 : s.speed * Normal(random);
  state.v_WB = F * Vector3d(speed_x, speed_y, 0);
  state.omega_WB = -setting.spin * Vector3d::UnitY();
  for (int k = 0; k < 3; ++k)
    if (!planar || k == 1) state.omega_WB[k] += s.spin * Normal(random);
  if (plan.body.shape == BodyShape::kRod && !planar) {
    const Vector3d axis = state.X_WB.linear().col(2);
    state.omega_WB -= axis * axis.dot(state.omega_WB);
  }
  const double height =
      std::max(1e-4, setting.height + s.height * Normal(random)) * std::cos(setting.slope);
  const double gap = pipelines::FloorContacts(plan.body, floor).LowestGap(state.X_WB);
  state.X_WB.translation() += (height - gap) * floor.normal;
  return state;
}

// The whole motion along the surface, so that it strikes beside the middle of the picture.
void MoveTo(const Vector3d& centre, const Plane& floor, DropMotion* motion) {
  if (motion->strikes.empty()) return;
  Vector3d by = centre - motion->strikes.front().event.p_WP;
  by -= floor.normal * floor.normal.dot(by);
  for (pipelines::MotionPhase& stretch : motion->stretches) {
    stretch.state.X_WB.translation() += by;
    stretch.end.X_WB.translation() += by;
  }
  for (pipelines::Strike& strike : motion->strikes) {
    strike.event.X_WB.translation() += by;
    strike.event.p_WP += by;
    strike.event.contact.X_WF.translation() += by;
  }
}

// Derivative of the measured quantities of an event by the states of a bundle fit.
Eigen::Matrix<double, kEventDim, kDropDim> EventByState(const ImpactEvent& event, const Body& body,
                                                        const Vector3d& n) {
  const Matrix3d R = event.X_WB.linear();
  Eigen::Matrix<double, kEventDim, kDropDim> d = Eigen::Matrix<double, kEventDim, kDropDim>::Zero();
  for (const auto& [row, column, omega] : {std::tuple(kVMinus, kDropMinus, event.omega_minus),
                                           {kVPlus, kDropPlus, event.omega_plus}}) {
    d.block<3, 3>(row, column).setIdentity();
    d.block<3, 3>(row + 3, column + 3) = R;
    for (int k = 0; k < 3; ++k) d.block<3, 1>(row + 3, kDropPose + 3 + k) = R.col(k).cross(omega);
  }
  constexpr double kStep = 1e-6;
  for (int k = 0; k < 3; ++k) {
    const auto lever = [&](double angle) -> Vector3d {
      const Matrix3d turned = R * Eigen::AngleAxisd(angle, Vector3d::Unit(k)).toRotationMatrix();
      return turned * SupportLever(body, turned.transpose() * n);
    };
    d.block<3, 1>(kLever, kDropPose + 3 + k) = (lever(kStep) - lever(-kStep)) / (2 * kStep);
  }
  return d;
}

// Columns of one standard deviation along the axes of a covariance.
Eigen::MatrixXd Directions(const Eigen::MatrixXd& cov) {
  const Eigen::VectorXd sd = cov.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const Eigen::MatrixXd scaled =
      sd.cwiseInverse().asDiagonal() * cov * sd.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scaled);
  return sd.asDiagonal() * eigen.eigenvectors() *
         eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
}

// Sums over the drops of a setting; squares where a figure is an rms.
struct Sums {
  int used = 0;
  pipelines::PictureFigures pictures;
  std::map<std::string, int> reasons;
};

void AddStates(const ExperimentDesign& plan, const EventCovariance& cov, const ImpactEvent& event,
               SettingFigures* f) {
  const auto component = [&](int at, bool spin) {
    const Matrix3d block = cov.block<3, 3>(at, at);
    if (plan.body.planar) return spin ? block(1, 1) : 0.5 * (block(0, 0) + block(2, 2));
    if (!spin || plan.body.shape != BodyShape::kRod) return block.trace() / 3;
    const Vector3d axis = event.X_WB.linear().col(2);
    return 0.5 * (block.trace() - axis.dot(block * axis));
  };
  f->sd_v_minus += component(kVMinus, false);
  f->sd_v_plus += component(kVPlus, false);
  f->sd_spin_minus += component(kOmegaMinus, true);
  f->sd_spin_plus += component(kOmegaPlus, true);
  f->sd_t += event.sd_t * event.sd_t;
  f->frames_minus += event.frames_minus;
  f->frames_plus += event.frames_plus;
  f->approach += std::abs(event.contact.v_minus_F.z());
  f->slip += event.contact.v_minus_F.head<2>().norm();
}

// Event and covariance by the bundle fit of a drop.
void FitFilmed(const ExperimentDesign& plan, const pipelines::ReleasedDrop& drop,
               std::mt19937_64& random, PlannedImpact* planned, SettingFigures* f, Sums* sums) {
  const MarkerTracks tracks = pipelines::FilmDrop(plan, drop, 0, random, &sums->pictures);
  ImpactBundleOptions options = pipelines::FilmFitOptions(plan, drop);
  options.scale_noise = false;
  const ImpactBundle fit =
      FitImpactBundle(tracks, plan.rig, plan.markers, plan.body, drop.floor, options);
  ImpactEvent& event = planned->event;
  event.accepted = fit.usable && fit.event.accepted;
  event.reason = fit.event.reason;
  if (!event.accepted) {
    ++sums->reasons[fit.usable ? ReasonName(fit.event.reason) : fit.reason];
    return;
  }
  event.cov = fit.event_cov_noise;
  event.sd_t = fit.event.sd_t;
  event.frames_minus = fit.event.frames_minus;
  event.frames_plus = fit.event.frames_plus;
  const Eigen::Matrix<double, kEventDim, kDropDim> d =
      EventByState(event, plan.body, drop.floor.normal);
  Eigen::MatrixXd common(kEventDim, 0);
  const auto append = [&](const Eigen::MatrixXd& columns) {
    common.conservativeResize(Eigen::NoChange, common.cols() + columns.cols());
    common.rightCols(columns.cols()) = columns;
  };
  if (plan.rig.covariance.size() > 0) append(d * fit.dx_drig * Directions(plan.rig.covariance));
  if (plan.layout_sd > 0) append(d * fit.dx_dlayout * plan.layout_sd);
  planned->common = common;
  AddStates(plan, fit.event.cov, event, f);
  const Matrix3d place = fit.cov.block<3, 3>(kDropPose, kDropPose);
  Vector3d view = Vector3d::Zero();
  for (const RigCamera& camera : plan.rig.cameras) view += camera.X_WC.linear().col(2);
  if (view.norm() > 1e-6) view.normalize();
  f->sd_position += place.trace() / 3;
  f->sd_depth += view.dot(place * view);
}

// The same by the fit to noisy poses.
void FitPoses(const ExperimentDesign& plan, const pipelines::ReleasedDrop& drop,
              std::mt19937_64& random, PlannedImpact* planned, SettingFigures* f, Sums* sums) {
  const MotionFit fit = FitMotion(pipelines::RecordPoses(plan, drop, random), plan.body, drop.floor,
                                  pipelines::PoseFitOptions(plan));
  ImpactEvent& event = planned->event;
  const ImpactEvent& found = fit.events.front();
  event.accepted =
      found.accepted && std::abs(found.t - drop.motion.strikes.front().t) < 1 / plan.rate;
  event.reason = found.reason;
  if (!event.accepted) {
    ++sums->reasons[ReasonName(found.reason)];
    return;
  }
  event.cov = found.cov;
  event.sd_t = found.sd_t;
  event.frames_minus = found.frames_minus;
  event.frames_plus = found.frames_plus;
  planned->common.resize(kEventDim, 0);
  AddStates(plan, event.cov, event, f);
}

void Average(Sums& sums, std::size_t drops, SettingFigures* f) {
  const double n = std::max(1, sums.used);
  for (double* mean : {&f->approach, &f->slip, &f->frames_minus, &f->frames_plus}) *mean /= n;
  for (double* rms : {&f->sd_t, &f->sd_position, &f->sd_depth, &f->sd_v_minus, &f->sd_v_plus,
                      &f->sd_spin_minus, &f->sd_spin_plus})
    *rms = std::sqrt(std::max(0.0, *rms) / n);
  const pipelines::PictureFigures& pictures = sums.pictures;
  f->blur = pictures.blur;
  f->marker_size = pictures.marker_size;
  if (pictures.images > 0) f->outside = static_cast<double>(pictures.outside) / pictures.images;
  if (2 * static_cast<std::size_t>(sums.used) >= drops) return;
  int most = 0;
  for (const auto& [reason, count] : sums.reasons)
    if (count > most) most = count, f->refused = reason;
}

}  // namespace

pipelines::ReleasedDrop pipelines::ReleaseDrop(const ExperimentDesign& plan,
                                               const PlanSetting& setting, const ImpactModel& model,
                                               const Scatter& scatter, std::mt19937_64& random) {
  ReleasedDrop drop;
  drop.floor = FloorOf(plan, setting.slope);
  MotionRules rules;
  rules.flight.gravity_W = plan.gravity_W;
  rules.model = model;
  rules.scatter = scatter;
  const BodyState release = Release(plan, setting, drop.floor, random);
  drop.motion =
      SimulateDrop(plan.body, drop.floor, rules, release, plan.duration_after, kLongest, random);
  MoveTo(plan.centre_W, drop.floor, &drop.motion);
  const auto& strikes = drop.motion.strikes;
  if (!strikes.empty())
    drop.t_end = strikes.size() > 1 ? strikes[1].t : strikes[0].t + plan.duration_after;
  return drop;
}

MarkerTracks pipelines::FilmDrop(const ExperimentDesign& plan, const ReleasedDrop& drop,
                                 double noise_sd, std::mt19937_64& random,
                                 PictureFigures* figures) {
  const FlightOptions flight{plan.gravity_W, 0};
  const auto pose = [&](double t) { return PoseAt(drop.motion, plan.body, flight, t); };
  PictureFigures unused;
  PictureFigures& f = figures ? *figures : unused;
  MarkerTracks tracks;
  tracks.recording = "plan";
  for (std::size_t m = 0; m < plan.markers.size(); ++m)
    tracks.markers.push_back(fmt::format("m{}", m + 1));
  const std::vector<reconstruction::View> views = reconstruction::RigViews(plan.rig);
  std::uniform_real_distribution<double> phase(0, 1);
  const double first = phase(random) / plan.rate;
  for (std::size_t c = 0; c < views.size(); ++c) {
    tracks.cameras.push_back(plan.rig.cameras[c].name);
    const Camera& camera = plan.rig.cameras[c].camera;
    const double start = c == 0 || plan.offset_sd == 0 ? first : phase(random) / plan.rate;
    for (std::size_t m = 0; m < plan.markers.size(); ++m) {
      const BodyMarker& marker = plan.markers[m];
      for (long long frame = 0;; ++frame) {
        const double t = start + static_cast<double>(frame) / plan.rate;
        if (t > drop.t_end) break;
        const Eigen::Isometry3d X_WB = pose(t);
        const Vector3d to_camera = views[c].p_WC - X_WB * marker.p_BM;
        if (marker.normal_B.norm() > 0 && (X_WB.linear() * marker.normal_B).dot(to_camera) <= 0)
          continue;
        TrackPoint point;
        ++f.images;
        const bool seen = reconstruction::ImageOf(views[c], marker, X_WB, &point.q);
        if (!seen || point.q.minCoeff() < 0 || point.q.x() > camera.width - 1 ||
            point.q.y() > camera.height - 1) {
          ++f.outside;
          continue;
        }
        Eigen::Vector2d later;
        const double dt = 1e-4;
        if (figures && plan.exposure > 0 &&
            reconstruction::ImageOf(views[c], marker, pose(t + dt), &later))
          f.blur = std::max(f.blur, (later - point.q).norm() / dt * plan.exposure);
        const double depth = -(plan.rig.cameras[c].X_WC.linear().col(2)).dot(to_camera);
        const double size = 2 * marker.radius * camera.fx / depth;
        if (marker.radius > 0)
          f.marker_size = f.marker_size > 0 ? std::min(f.marker_size, size) : size;
        point.camera = static_cast<int>(c);
        point.marker = static_cast<int>(m);
        point.frame = frame;
        point.t = t;
        if (noise_sd > 0) {
          const double x = Normal(random), y = Normal(random);
          point.q += noise_sd * Eigen::Vector2d(x, y);
        }
        point.cov = plan.pixel_sd * plan.pixel_sd * Eigen::Matrix2d::Identity();
        tracks.points.push_back(point);
      }
    }
  }
  return tracks;
}

ImpactBundleOptions pipelines::FilmFitOptions(const ExperimentDesign& plan,
                                              const ReleasedDrop& drop) {
  ImpactBundleOptions options;
  options.motion.flight.gravity_W = plan.gravity_W;
  options.t_impact = drop.motion.strikes.front().t;
  options.exposure = plan.exposure;
  options.offset_sd = plan.offset_sd;
  if (plan.layout_sd > 0) {
    const auto n = static_cast<Eigen::Index>(3 * plan.markers.size());
    options.layout.cov = plan.layout_sd * plan.layout_sd * Eigen::MatrixXd::Identity(n, n);
  }
  return options;
}

PoseRecording pipelines::RecordPoses(const ExperimentDesign& plan, const ReleasedDrop& drop,
                                     std::mt19937_64& random) {
  const FlightOptions flight{plan.gravity_W, 0};
  const bool planar = plan.body.planar;
  PoseRecording recording;
  recording.name = "plan";
  recording.planar = planar;
  const auto noise = [&](double sd) -> Vector3d {
    const double x = Normal(random), y = Normal(random), z = Normal(random);
    return sd * Vector3d(x, y, z);
  };
  double t = std::uniform_real_distribution<double>(0, 1 / plan.rate)(random);
  while (t < drop.t_end) {
    Eigen::Isometry3d X_WB = PoseAt(drop.motion, plan.body, flight, t);
    Vector3d turn = noise(plan.noise_angle), move = noise(plan.noise_position);
    if (planar) turn.x() = turn.z() = move.y() = 0;
    X_WB.translation() += move;
    if (turn.norm() > 0) X_WB.linear() = (X_WB.linear() * ExpSO3(turn)).eval();
    recording.t.push_back(t);
    recording.X_WB.push_back(X_WB);
    t += 1 / plan.rate;
    if (!planar) continue;
    double theta = PlanarAngle(X_WB);
    if (!recording.theta.empty())
      theta += 2 * M_PI * std::round((recording.theta.back() - theta) / (2 * M_PI));
    recording.theta.push_back(theta);
  }
  return recording;
}

MotionFitOptions pipelines::PoseFitOptions(const ExperimentDesign& plan) {
  MotionFitOptions options;
  options.flight.gravity_W = plan.gravity_W;
  options.sigma_position = plan.noise_position;
  options.sigma_angle = plan.noise_angle;
  options.first_impacts = 1;
  return options;
}

SettingFigures FilmSetting(const ExperimentDesign& plan, const PlanSetting& setting, int variants,
                           std::uint64_t seed) {
  SettingFigures figures;
  Sums sums;
  const ImpactModel middle{{plan.e.Mean(), plan.mu.Mean(), plan.mu.Mean()}, plan.law};
  for (int k = 0; k < variants; ++k) {
    std::mt19937_64 random(seed + 104729ull * static_cast<std::uint64_t>(k + 1));
    const pipelines::ReleasedDrop drop = pipelines::ReleaseDrop(plan, setting, middle, {}, random);
    PlannedImpact planned;
    planned.floor = drop.floor;
    planned.gravity_W = plan.gravity_W;
    planned.common.resize(kEventDim, 0);
    if (drop.struck()) {
      planned.event = drop.motion.strikes.front().event;
      planned.event.planar = plan.body.planar;
      if (plan.filmed())
        FitFilmed(plan, drop, random, &planned, &figures, &sums);
      else
        FitPoses(plan, drop, random, &planned, &figures, &sums);
    } else {
      ++sums.reasons[ReasonName(RejectReason::kNoImpact)];
    }
    sums.used += planned.event.accepted;
    figures.drops.push_back(std::move(planned));
  }
  Average(sums, static_cast<std::size_t>(variants), &figures);
  return figures;
}

}  // namespace impactlab
