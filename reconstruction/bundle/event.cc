#include "reconstruction/bundle/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/math/rotation.h"
#include "reconstruction/motion/events.h"
#include "reconstruction/motion/flights.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kFewStrangers = 5;  // images that no impact is doubted for

// What a marker's noise is in space, at the impact, in the first camera.
void NoiseOf(const DropProblem& problem, double noise_scale, ImpactEvent* event) {
  double sum = 0, spread = 0;
  int n = 0;
  for (const DropPoint& point : problem.points) {
    if (!point.used || point.clock != 0) continue;
    Eigen::Vector2d q;
    reconstruction::ImageDerivatives d;
    if (!reconstruction::ImageOf(problem.views[point.view], problem.markers[point.marker],
                                 event->X_WB, &q, &d))
      continue;
    sum += 2 / (point.root * d.by_p_W).squaredNorm();
    spread += problem.markers[point.marker].p_BM.squaredNorm();
    ++n;
  }
  if (n == 0) return;
  event->sigma_position = noise_scale * std::sqrt(sum / n);
  if (spread > 0) event->sigma_angle = event->sigma_position / std::sqrt(spread / n);
}

// States in W and their covariance, and that of the noise alone.
void FillStates(const DropState& state, const Body& body, const Vector3d& n, ImpactBundle* fit,
                ImpactEvent* event) {
  const DropCovariance& cov = fit->cov;
  const Matrix3d R = state.q.toRotationMatrix();
  event->t = state.tau;
  event->sd_t = std::sqrt(std::max(0.0, cov(kDropTime, kDropTime)));
  event->X_WB.linear() = R;
  event->X_WB.translation() = state.p;
  event->v_minus = state.v[0];
  event->v_plus = state.v[1];
  event->omega_minus = R * state.omega[0];
  event->omega_plus = R * state.omega[1];
  Eigen::Matrix<double, kEventDim, kDropDim> map =
      Eigen::Matrix<double, kEventDim, kDropDim>::Zero();
  for (int arc = 0; arc < 2; ++arc) {
    const int row = arc == 0 ? kVMinus : kVPlus, column = arc == 0 ? kDropMinus : kDropPlus;
    map.block<3, 3>(row, column).setIdentity();
    map.block<3, 3>(row + 3, column + 3) = R;
    map.block<3, 3>(row + 3, kDropPose + 3) = -R * CrossMatrix(state.omega[arc]);
  }
  map.block<3, 3>(kLever, kDropPose + 3) = LeverByRotation(body, R, n) * R;
  event->cov = map * cov * map.transpose();
  fit->event_cov_noise = map * fit->cov_pixels * map.transpose();
}

}  // namespace

void MakeEvent(const DropRecording& recording, const DropProblem& problem, const DropState& state,
               const DropNormal& normal, const ImpactBundleOptions& options, ImpactBundle* fit) {
  FitContext context;
  context.model.body = &problem.body;
  context.model.flight = options.motion.flight;
  context.floor = recording.floor;
  context.options = &options.motion;
  context.frame_interval = recording.frame_interval;
  BreakFit judged;
  judged.converged = true;
  judged.event = fit->event;
  ImpactEvent& event = judged.event;
  event.reason = RejectReason::kNone;
  event.detail.clear();
  FillStates(state, problem.body, recording.floor.normal, fit, &event);
  const Matrix3d R = event.X_WB.linear();
  judged.cov_attitude_W = R * fit->cov.block<3, 3>(kDropPose + 3, kDropPose + 3) * R.transpose();
  event.p_WP = ContactWithPlane(problem.body, event.X_WB, recording.floor).p_WP;
  NoiseOf(problem, fit->noise_scale, &event);
  UpdateContact(event, problem.body, recording.floor, problem.gravity_W);
  // The two flights share their pose, so no gap can remain; arcs are judged against the noise of
  // both.
  judged.gap_dof = 5;
  const double scale2 = std::max(1.0, fit->chi_square / fit->dof);
  judged.minus_chi_square = normal.arc_chi_square[0] / scale2;
  judged.plus_chi_square = normal.arc_chi_square[1] / scale2;
  judged.minus_dof = std::max(1, normal.arc_residuals[0] - 9);
  judged.plus_dof = std::max(1, normal.arc_residuals[1] - 9);
  judged.t_previous = -1e300;
  judged.t_next = 1e300;
  for (std::size_t i = 0; i < problem.points.size(); ++i) {
    const DropPoint& point = problem.points[i];
    if (!point.used) continue;
    const double t = problem.Time(state.clock[point.clock], point.t, point.q.y());
    if (t < state.tau) judged.t_previous = std::max(judged.t_previous, t);
    if (t >= state.tau) judged.t_next = std::min(judged.t_next, t);
    if (std::abs(t - state.tau) < 1.5 * recording.frame_interval) {
      judged.near_chi_square += std::pow(fit->residuals[i].distance, 2) / scale2;
      judged.near_dof += 2;
    }
  }
  AcceptOrReject(context, judged);
  fit->event = judged.event;
  if (!fit->observable) fit->event.unseen_axis_B = fit->axis_B;
  if (fit->event.accepted && fit->noise_scale > options.max_noise_scale) {
    fit->event.accepted = false;
    fit->event.reason = RejectReason::kArcMisfit;
    fit->event.detail =
        fmt::format("residuals are {:.3g} times their noise, allowed {:.3g}: no two free flights",
                    fit->noise_scale, options.max_noise_scale);
  }
  // A second strike a few frames away: images of the flight between fit neither side and were taken
  // for strangers.
  for (const auto& [frames, share] : {std::pair(2.5, 0.17), std::pair(4.5, 0.3)}) {
    int near = 0, strange = 0;
    for (std::size_t i = 0; i < problem.points.size(); ++i) {
      const DropPoint& point = problem.points[i];
      const double away =
          std::abs(problem.Time(state.clock[point.clock], point.t, point.q.y()) - state.tau);
      if (away > frames * recording.frame_interval ||
          away < 0.5 * (options.exposure + options.contact_time))
        continue;
      ++near;
      strange += !point.used;
    }
    if (strange < kFewStrangers || strange <= share * near) continue;
    fit->event.accepted = false;
    fit->event.reason = RejectReason::kSecondContact;
    fit->event.detail = fmt::format(
        "{} of {} images within {} frames of the impact fit neither flight", strange, near, frames);
    return;
  }
}

bool IsPush(const DropRecording& recording, const ImpactBundle& fit) {
  const ImpactEvent& event = fit.event;
  const Vector3d& n = recording.floor.normal;
  const double gap = n.dot(event.p_WP) - recording.floor.offset;
  // What no flight explains says nothing of how well the height is known.
  if (std::abs(gap) > HeightTolerance(recording.problem.body,
                                      event.sigma_position / std::max(1.0, fit.noise_scale)))
    return false;
  const Vector3d lever = event.p_WP - event.X_WB.translation(),
                 spin = event.omega_plus - event.omega_minus;
  Eigen::Matrix<double, 1, kEventDim> row = Eigen::Matrix<double, 1, kEventDim>::Zero();
  for (const bool after : {false, true}) {
    const int at = after ? kVPlus : kVMinus;
    const double sign = after ? 1 : -1;
    row.segment<3>(at) = sign * n.transpose();
    row.segment<3>(at + 3) = sign * lever.cross(n).transpose();
  }
  row.segment<3>(kLever) = n.cross(spin).transpose();
  const double push = n.dot(event.v_plus - event.v_minus + spin.cross(lever));
  return push > 3 * std::sqrt(std::max(0.0, (row * event.cov * row.transpose()).value()));
}

}  // namespace impactlab::reconstruction
