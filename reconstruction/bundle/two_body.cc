#include "reconstruction/bundle/two_body.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/bundle/detail/two_body_arcs.h"
#include "reconstruction/bundle/event.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using reconstruction::SideState;

// standard deviations by which contact points have to approach and to part
constexpr double kCoverage = 3;

// Both bodies at the impact: 24 entries of body 1 (pose, velocity before; pose, velocity after) and
// 24 of body 2, as SideState has them.
struct Meeting {
  bool converged = false;
  double t = 0, sd_t = 0, chi_square = 0;
  std::array<SideState, 4> side;  // body 1 before, after, body 2 before, after
  MatrixXd cov = MatrixXd::Zero(48, 48);
};

// Arcs at one time t: states, gap of the poses and what it changes by with t.
Meeting MeetAtOneTime(const reconstruction::Motion& one, const reconstruction::Motion& two,
                      double t, double window, const MotionFitOptions& options) {
  Meeting m;
  MatrixXd C, H = MatrixXd::Zero(12, 48), S;
  VectorXd gap(12), approach(12), rate(48);
  for (int b = 0; b < 2; ++b) {
    H.block<6, 6>(6 * b, 24 * b) = -MatrixXd::Identity(6, 6);
    H.block<6, 6>(6 * b, 24 * b + 12) = MatrixXd::Identity(6, 6);
  }
  VectorXd jump(12);
  for (int k = 0; k < 12; ++k)
    jump(k) =
        std::pow(k % 6 < 3 ? options.jump_allowance_position : options.jump_allowance_angle, 2);
  const double start = t;
  MatrixXd weight;
  Eigen::RowVectorXd T;
  // As JoinArcs (reconstruction/motion/arcs.cc): one bounded unknown, and weights that move with
  // it.
  for (int iteration = 0; iteration < 30; ++iteration) {
    m.side[0] = one.Before(t);
    m.side[1] = one.After(t);
    m.side[2] = two.Before(t);
    m.side[3] = two.After(t);
    C = MatrixXd::Zero(48, 48);
    for (int s = 0; s < 4; ++s) {
      C.block<12, 12>(12 * s, 12 * s) = m.side[s].cov;
      rate.segment<6>(12 * s) = m.side[s].velocity;
      rate.segment<6>(12 * s + 6) = m.side[s].acceleration;
    }
    for (int b = 0; b < 2; ++b) {
      const SideState &before = m.side[2 * b], &after = m.side[2 * b + 1];
      gap.segment<3>(6 * b) = after.p - before.p;
      gap.segment<3>(6 * b + 3) = LogSO3(before.R.transpose() * after.R);
      approach.segment<6>(6 * b) = after.velocity - before.velocity;
    }
    S = Congruence(H, C);
    S.diagonal() += jump;
    weight = S.inverse();
    const double information = approach.dot(weight * approach);
    if (!(information > 0) || !std::isfinite(information)) return m;
    T = (approach.transpose() * weight) / information;
    const double step = -T.dot(gap);
    m.sd_t = 1 / std::sqrt(information);
    m.t = t;
    if (std::abs(step) < 1e-4 * m.sd_t) {
      m.converged = true;
      break;
    }
    t = std::clamp(t + step, start - window, start + window);
  }
  if (!m.converged) return m;
  m.chi_square = gap.dot(weight * gap);
  const MatrixXd project = MatrixXd::Identity(12, 12) - approach * T;
  const MatrixXd shared = C * H.transpose(), pull = shared * weight;
  const VectorXd moved = -(pull * gap);
  for (int s = 0; s < 4; ++s) {
    m.side[s].p += moved.segment<3>(12 * s);
    m.side[s].R = m.side[s].R * ExpSO3(moved.segment<3>(12 * s + 3));
    m.side[s].velocity += moved.segment<6>(12 * s + 6);
  }
  // Estimates follow the errors e of the arcs by 1 - (pull P + rate T) H, and the jumps of the
  // poses by the last factor.
  MatrixXd follow = pull * project;
  follow += rate * T;
  MatrixXd keep = follow * H;
  keep = MatrixXd::Identity(48, 48) - keep;
  m.cov = Congruence(keep, C) + Congruence(follow, MatrixXd(jump.asDiagonal()));
  return m;
}

Plane SurfaceAt(const StruckBody& struck, const Isometry3d& X_WB) {
  Plane plane;
  const double length = struck.surface_B.normal.norm();
  plane.normal = X_WB.linear() * struck.surface_B.normal / length;
  plane.offset = struck.surface_B.offset / length + plane.normal.dot(X_WB.translation());
  return plane;
}

// How a vector follows the 48 entries of a meeting.
using Rows = Eigen::Matrix<double, 3, 48>;

// Velocities of the four motions beside the impact in W, with their derivatives. Motions 0 and 1
// are those of the first body, 2 and 3 of the second.
struct MeetingVelocities {
  Vector3d v[4], omega[4];
  Rows dv[4], domega[4];
};

MeetingVelocities VelocitiesOf(const Meeting& m) {
  MeetingVelocities out;
  for (int s = 0; s < 4; ++s) {
    const SideState& side = m.side[s];
    const Matrix3d& R = m.side[s < 2 ? 0 : 2].R;
    out.v[s] = side.velocity.head<3>();
    out.omega[s] = R * side.velocity.tail<3>();
    out.dv[s].setZero();
    out.domega[s].setZero();
    out.dv[s].block<3, 3>(0, 12 * s + 6).setIdentity();
    out.domega[s].block<3, 3>(0, 12 * s + 9) = R;
    out.domega[s].block<3, 3>(0, s < 2 ? 3 : 27) -= R * CrossMatrix(side.velocity.tail<3>());
  }
  return out;
}

// Momentum that both bodies, or the couple about the axis, leave over; with its covariance. `dr`:
// derivative of the contact point.
void SetClosure(const Meeting& m, const Body& body, const StruckBody& struck,
                const MeetingVelocities& w, const Rows& dr, TwoBodyEvent* out) {
  ImpactEvent& event = out->event;
  const Vector3d J = body.mass * (w.v[1] - w.v[0]);
  const Rows dJ = body.mass * (w.dv[1] - w.dv[0]);
  MatrixXd dclosure;
  if (struck.axis) {
    const Vector3d axis = struck.axis->axis_W.normalized(), r = event.p_WP - struck.axis->p_W;
    const double I = reconstruction::AxisInertia(*struck.axis, struck.body, event.struck->X_WB);
    out->closure =
        VectorXd::Constant(1, I * axis.dot(w.omega[3] - w.omega[2]) + axis.dot(r.cross(J)));
    dclosure = axis.transpose() *
               (I * (w.domega[3] - w.domega[2]) + CrossMatrix(r) * dJ - CrossMatrix(J) * dr);
  } else {
    out->closure = J + struck.body.mass * (w.v[3] - w.v[2]);
    dclosure = dJ + struck.body.mass * (w.dv[3] - w.dv[2]);
  }
  out->cov_closure = Congruence(dclosure, m.cov);
  event.struck->closure_chi_square =
      out->closure.dot(SolveSpd(out->cov_closure, out->closure).col(0));
  event.struck->closure_dof = static_cast<int>(out->closure.size());
}

// Fills the event from the states; every vector with its derivative.
TwoBodyEvent Describe(const Meeting& m, const Body& body, const StruckBody& struck,
                      const MotionFitOptions& options) {
  TwoBodyEvent out;
  ImpactEvent& event = out.event;
  const SideState &one = m.side[0], &two = m.side[2];
  event.t = m.t;
  event.sd_t = m.sd_t;
  event.X_WB.linear() = one.R;
  event.X_WB.translation() = one.p;
  StruckState& other = event.struck.emplace();
  other.X_WB.linear() = two.R;
  other.X_WB.translation() = two.p;
  const Plane surface = SurfaceAt(struck, other.X_WB);
  const Vector3d n = surface.normal;
  const Vector3d r1 = one.R * SupportLever(body, one.R.transpose() * n);
  event.p_WP = one.p + r1;
  const Vector3d r2 = event.p_WP - two.p;
  // Rotations of the entries are on the body side: R phi in W.
  const Matrix3d by_first = LeverByRotation(body, one.R, n);
  Rows p1 = Rows::Zero(), p2 = Rows::Zero(), turn2 = Rows::Zero(), lever = Rows::Zero();
  p1.block<3, 3>(0, 0).setIdentity();
  p2.block<3, 3>(0, 24).setIdentity();
  turn2.block<3, 3>(0, 27) = two.R;
  lever.block<3, 3>(0, 3) = by_first * one.R;
  // turned together with the surface the lever just turns
  lever += (-CrossMatrix(r1) - by_first) * turn2;
  const MeetingVelocities w = VelocitiesOf(m);
  const Rows dr2 = p1 + lever - p2;
  // velocity of the second body's contact point just before
  const Vector3d u = w.v[2] + w.omega[2].cross(r2);
  const Rows du = w.dv[2] - CrossMatrix(r2) * w.domega[2] + CrossMatrix(w.omega[2]) * dr2;
  event.v_minus = w.v[0] - u;
  event.v_plus = w.v[1] - u;
  event.omega_minus = w.omega[0];
  event.omega_plus = w.omega[1];
  // The frame turns with body 2: what its attitude is wrong by, all vectors are turned by.
  Eigen::Matrix<double, kEventDim, 48> map;
  const auto put = [&](int row, const Vector3d& vector, const Rows& d) {
    map.middleRows<3>(row) = d + CrossMatrix(vector) * turn2;
  };
  put(kVMinus, event.v_minus, w.dv[0] - du);
  put(kVPlus, event.v_plus, w.dv[1] - du);
  put(kOmegaMinus, w.omega[0], w.domega[0]);
  put(kOmegaPlus, w.omega[1], w.domega[1]);
  put(kLever, r1, lever);
  const EventCovariance cov = Congruence(map, m.cov);
  // bit by bit symmetric, as a file that holds one triangle gives it back
  event.cov = 0.5 * (cov + cov.transpose());
  const Isometry3d X_WF = ContactFrame(surface, event.p_WP, options.flight.gravity_W, false);
  other.v_minus = w.v[2];
  other.v_plus = w.v[3];
  other.omega_minus = w.omega[2];
  other.omega_plus = w.omega[3];
  other.normal = n;
  const Matrix3d A_W =
      X_WF.linear() * StruckInverseMass(struck, other.X_WB, X_WF) * X_WF.linear().transpose();
  other.A_W = 0.5 * (A_W + A_W.transpose());
  UpdateContact(event, body, surface, options.flight.gravity_W);
  SetClosure(m, body, struck, w, p1 + lever, &out);
  return out;
}

void AcceptOrReject(const reconstruction::Motion& one, const reconstruction::Motion& two,
                    const MotionFitOptions& options, double deepest, TwoBodyEvent* out) {
  ImpactEvent& event = out->event;
  const auto reject = [&](RejectReason reason, std::string detail) {
    event.reason = reason;
    event.detail = std::move(detail);
  };
  if (event.frames_minus < options.min_frames || event.frames_plus < options.min_frames)
    return reject(RejectReason::kTooFewFrames,
                  fmt::format("{} frames before and {} after the impact, allowed at least {}",
                              event.frames_minus, event.frames_plus, options.min_frames));
  const double limit = ChiSquareQuantile(1 - options.misfit_probability, out->gap_dof);
  if (!(out->gap_chi_square <= limit))
    return reject(
        RejectReason::kSecondContact,
        fmt::format(
            "the poses of the two bodies do not meet at one time: chi-square {:.1f} of {} dof, "
            "allowed {:.1f}",
            out->gap_chi_square, out->gap_dof, limit));
  const double allowed = 1e-3 + kCoverage * (one.sigma_position() + two.sigma_position());
  if (deepest > allowed)
    return reject(
        RejectReason::kSecondContact,
        fmt::format("the bodies overlap by {:.4f} m in a frame of the flights, allowed {:.4f} m",
                    deepest, allowed));
  for (const reconstruction::Motion* motion : {&one, &two}) {
    const double most = ChiSquareQuantile(1 - options.misfit_probability, motion->dof());
    if (motion->chi_square() > most)
      return reject(RejectReason::kArcMisfit,
                    fmt::format("body {}: chi-square {:.1f} of {} dof, allowed {:.1f}",
                                motion == &one ? 1 : 2, motion->chi_square(), motion->dof(), most));
  }
  const Vector3d n = event.contact.X_WF.linear().col(2), r = event.p_WP - event.X_WB.translation();
  Eigen::Matrix<double, 1, kEventDim> row = Eigen::Matrix<double, 1, kEventDim>::Zero();
  row.segment<3>(kVMinus) = n.transpose();
  row.segment<3>(kOmegaMinus) = r.cross(n).transpose();
  row.segment<3>(kLever) = n.cross(event.omega_minus).transpose();
  const double sd = std::sqrt(std::max(0.0, (row * event.cov * row.transpose()).value()));
  if (!(-event.contact.v_minus_F.z() > kCoverage * sd))
    return reject(
        RejectReason::kNoApproach,
        fmt::format("the contact points approach at {:.4f} m/s, allowed more than {:.4f} m/s",
                    -event.contact.v_minus_F.z(), kCoverage * sd));
  if (!(event.v_plus_F.z() > kCoverage * sd))
    return reject(RejectReason::kRollingContact,
                  fmt::format("the contact points part at {:.4f} m/s, allowed more than {:.4f} m/s",
                              event.v_plus_F.z(), kCoverage * sd));
  event.accepted = true;
}

}  // namespace

Matrix3d StruckInverseMass(const StruckBody& struck, const Isometry3d& X_WB,
                           const Isometry3d& X_WF) {
  if (!struck.axis) return ContactInverseMass(struck.body, X_WB, X_WF);
  const Vector3d arm =
      struck.axis->axis_W.normalized().cross(X_WF.translation() - struck.axis->p_W);
  const Vector3d arm_F = X_WF.linear().transpose() * arm;
  return arm_F * arm_F.transpose() / reconstruction::AxisInertia(*struck.axis, struck.body, X_WB);
}

std::vector<TwoBodyEvent> FitTwoBodies(const PoseRecording& first, const Body& body,
                                       const PoseRecording& second, const StruckBody& struck,
                                       const MotionFitOptions& options) {
  if (body.planar || struck.body.planar || first.planar || second.planar)
    throw ConfigError("two bodies: found a planar body or recording, allowed spatial ones");
  if (struck.axis && !(struck.axis->axis_W.norm() > 0))
    throw ConfigError("two bodies: found an axis of no length, allowed a direction");
  if (!(struck.surface_B.normal.norm() > 0))
    throw ConfigError("two bodies: found a surface without normal, allowed one out of body 2");
  MotionFitOptions options_2 = options;
  if (struck.sigma_position > 0) options_2.sigma_position = struck.sigma_position;
  if (struck.sigma_angle > 0) options_2.sigma_angle = struck.sigma_angle;
  std::vector<TwoBodyEvent> events;
  for (const reconstruction::Break& at : reconstruction::FindBreaks(first, body, options)) {
    reconstruction::Motion one(first, body, std::nullopt, options),
        two(second, struck.body, struck.axis, options_2);
    // First without the frames next to the break, whose side is not known yet, then with all frames
    // by the time found.
    Meeting meeting;
    double t = at.t, margin = at.interval;
    for (int round = 0; round < 2; ++round) {
      if (!one.Cut(at.begin, t - margin, t + margin, at.end) ||
          !two.Cut(at.begin, t - margin, t + margin, at.end))
        break;
      meeting = MeetAtOneTime(one, two, t, 2 * at.interval, options);
      if (!meeting.converged) break;
      t = meeting.t;
      margin = std::max(kCoverage * meeting.sd_t, options.contact_frames * at.interval);
    }
    if (!meeting.converged) continue;
    TwoBodyEvent out = Describe(meeting, body, struck, options);
    const Plane surface = SurfaceAt(struck, out.event.struck->X_WB);
    const double gap = surface.normal.dot(out.event.p_WP) - surface.offset;
    const double reach = std::max(0.15 * SupportLever(body, Vector3d::UnitZ()).norm(),
                                  5 * (one.sigma_position() + two.sigma_position()));
    if (std::abs(gap) > reach) continue;  // a blow by something else
    double deepest = 0;
    for (std::size_t i = 0; i < first.t.size(); ++i) {
      if (first.t[i] < at.begin || first.t[i] > at.end || std::abs(first.t[i] - t) < at.interval)
        continue;
      const SideState there = first.t[i] < t ? two.Before(first.t[i]) : two.After(first.t[i]);
      Isometry3d X_WB2 = Isometry3d::Identity();
      X_WB2.linear() = there.R;
      X_WB2.translation() = there.p;
      deepest = std::max(deepest,
                         gap - ContactWithPlane(body, first.X_WB[i], SurfaceAt(struck, X_WB2)).gap);
    }
    out.event.recording = first.name;
    out.event.impact = static_cast<int>(events.size());
    out.event.frames_minus = one.frames_before();
    out.event.frames_plus = one.frames_after();
    out.event.sigma_position = one.sigma_position();
    out.event.sigma_angle = one.sigma_angle();
    out.gap_chi_square = meeting.chi_square;
    out.gap_dof = (struck.axis ? 7 : 12) - 1;
    AcceptOrReject(one, two, options, deepest, &out);
    events.push_back(std::move(out));
  }
  return events;
}

}  // namespace impactlab
