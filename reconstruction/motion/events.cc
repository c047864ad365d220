#include "reconstruction/motion/events.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A lost frame has to lower chi-square by this much: the odds of about 20 that losing a frame needs
// before it is believed.
constexpr double kLostFramePenalty = 6;
// A second number of lost frames within this much of chi-square leaves the delay open.
constexpr double kClearWinner = 4;
constexpr double kCoverage = 2;  // standard deviations of "distinguishable"

// One way to share the frames out between the arcs.
struct Sharing {
  Segment minus, plus;
  double t_min = 0, t_max = 0;  // window of the impact time without lost frames
};

std::vector<Sharing> Sharings(const FitContext& context, const Segment& minus,
                              const Segment& plus) {
  const std::vector<double>& t = context.model.recording->t;
  const int contact = context.options->contact_frames, most = context.options->max_frames;
  std::vector<Sharing> out;
  const auto add = [&](int last, int first) {
    if (last < minus.first || first > plus.last) return;
    Sharing s;
    s.minus = {std::max(minus.first, last - most + 1), last};
    s.plus = {first, std::min(plus.last, first + most - 1)};
    s.t_min = t[last];
    s.t_max = t[first];
    out.push_back(s);
  };
  const int between = plus.first - minus.last - 1;
  if (contact > 0) {
    const int middle = minus.last + between / 2;
    add(std::min(minus.last, middle - contact),
        std::max(plus.first, middle + between % 2 + 1 + contact));
  } else if (between == 0) {
    for (int shift : {0, -1, 1}) add(minus.last + shift, plus.first + shift);
  } else {
    add(minus.last, plus.first - 1);
    add(minus.last + 1, plus.first);
  }
  return out;
}

// Contact lever in W for an attitude.
Vector3d Lever(const Body& body, const Matrix3d& R, const Vector3d& n) {
  return R * SupportLever(body, R.transpose() * n);
}

void FillEvent(const FitContext& context, const Joint<3>& joint, BreakFit& fit) {
  const Body& body = *context.model.body;
  const Vector3d& n = context.floor.normal;
  ImpactEvent& event = fit.event;
  event.X_WB = PlanarPose(joint.minus.pose[0], joint.minus.pose[1], joint.minus.pose[2]);
  event.v_minus = {joint.minus.velocity[0], 0, joint.minus.velocity[1]};
  event.omega_minus = {0, -joint.minus.velocity[2], 0};
  event.v_plus = {joint.plus.velocity[0], 0, joint.plus.velocity[1]};
  event.omega_plus = {0, -joint.plus.velocity[2], 0};
  const Vector3d lever_by_theta = -LeverByRotation(body, event.X_WB.linear(), n).col(1);
  Eigen::Matrix<double, kEventDim, 10> map = Eigen::Matrix<double, kEventDim, 10>::Zero();
  for (int side = 0; side < 2; ++side) {
    const int row = side == 0 ? kVMinus : kVPlus, column = 3 + 3 * side;
    map(row, column) = map(row + 2, column + 1) = 1;
    map(row + 3 + 1, column + 2) = -1;
  }
  map(kLever, 2) = lever_by_theta.x();
  map(kLever + 2, 2) = lever_by_theta.z();
  event.cov = map * joint.cov * map.transpose();
  fit.cov_attitude_W(1, 1) = joint.cov(2, 2);
}

}  // namespace

void FillEvent(const FitContext& context, const Joint<6>& joint, BreakFit& fit) {
  const Body& body = *context.model.body;
  ImpactEvent& event = fit.event;
  const Matrix3d& R = joint.minus.R;
  event.X_WB.linear() = R;
  event.X_WB.translation() = joint.minus.pose.head<3>();
  Eigen::Matrix<double, kEventDim, 19> map = Eigen::Matrix<double, kEventDim, 19>::Zero();
  for (int side = 0; side < 2; ++side) {
    const Eigen::Matrix<double, 6, 1>& velocity =
        side == 0 ? joint.minus.velocity : joint.plus.velocity;
    const Vector3d omega_B = velocity.tail<3>();
    (side == 0 ? event.v_minus : event.v_plus) = velocity.head<3>();
    (side == 0 ? event.omega_minus : event.omega_plus) = R * omega_B;
    const int row = side == 0 ? kVMinus : kVPlus, column = 6 + 6 * side;
    map.block<3, 3>(row, column).setIdentity();
    map.block<3, 3>(row + 3, column + 3) = R;
    map.block<3, 3>(row + 3, 3) = -R * CrossMatrix(omega_B);
  }
  map.block<3, 3>(kLever, 3) = LeverByRotation(body, R, context.floor.normal) * R;
  event.cov = map * joint.cov * map.transpose();
  fit.cov_attitude_W = R * joint.cov.block<3, 3>(3, 3) * R.transpose();
}

namespace {

// Derivative of the normal velocity of the contact point, n.v + n.(omega x r), by the entries of an
// event's covariance.
Eigen::Matrix<double, 1, kEventDim> NormalRow(const FitContext& context, const ImpactEvent& event,
                                              bool after) {
  const Vector3d& n = context.floor.normal;
  const int v = after ? kVPlus : kVMinus;
  Eigen::Matrix<double, 1, kEventDim> row = Eigen::Matrix<double, 1, kEventDim>::Zero();
  row.segment<3>(v) = n.transpose();
  row.segment<3>(v + 3) = (event.p_WP - event.X_WB.translation()).cross(n).transpose();
  row.segment<3>(kLever) = n.cross(after ? event.omega_plus : event.omega_minus).transpose();
  return row;
}

double Spread(const Eigen::Matrix<double, 1, kEventDim>& row, const EventCovariance& cov) {
  return std::sqrt(std::max(0.0, (row * cov * row.transpose()).value()));
}

template <int D>
Joint<D> JoinDelayed(const FitContext& context, const Arc& minus, const Arc& plus,
                     const Sharing& sharing, int lost) {
  JoinOptions options;
  options.delay = lost * context.frame_interval;
  options.t_min = sharing.t_min;
  options.t_max = sharing.t_max + options.delay;
  options.jump_position = context.options->jump_allowance_position;
  options.jump_angle = context.options->jump_allowance_angle;
  return JoinArcs<D>(minus, plus, context.model, options);
}

// Second impacts too close to be seen as breaks bend the frames next to the impact: the same fit
// without them has to agree.
template <int D>
void TestNearFrames(const FitContext& context, const Sharing& sharing, int lost, const Arc& minus,
                    const Arc& plus, double total, BreakFit& fit) {
  double worst = 1;
  for (const auto& [drop_minus, drop_plus] :
       {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(0, 2), std::pair(2, 0)}) {
    Sharing less = sharing;
    less.minus.last -= drop_minus;
    less.plus.first += drop_plus;
    if (less.minus.size() < 4 || less.plus.size() < 4) continue;
    const Arc a = drop_minus > 0 ? FitArc(context.model, less.minus, context.noise) : minus;
    const Arc b = drop_plus > 0 ? FitArc(context.model, less.plus, context.noise) : plus;
    const Joint<D> joint = JoinDelayed<D>(context, a, b, less, lost);
    if (!joint.converged) continue;
    const double excess = std::max(0.0, total - a.chi_square - b.chi_square - joint.chi_square);
    const int dof = D * (drop_minus + drop_plus);
    const double probability = 1 - ChiSquareCdf(excess, dof);
    if (probability < worst || fit.near_dof == 0) {
      worst = probability;
      fit.near_chi_square = excess;
      fit.near_dof = dof;
    }
  }
}

template <int D>
BreakFit FitBreakFixed(const FitContext& context, const Segment& minus_frames,
                       const Segment& plus_frames) {
  BreakFit fit;
  struct Candidate {
    Sharing sharing;
    Arc minus, plus;
    Joint<D> joint;
    int lost = 0;
    double total = kInfinity;
  };
  Candidate best;
  std::vector<double> best_of_delay(context.options->max_lost_frames + 1, kInfinity);
  for (const Sharing& sharing : Sharings(context, minus_frames, plus_frames)) {
    if (sharing.minus.size() < 3 || sharing.plus.size() < 3) continue;
    const Arc minus = FitArc(context.model, sharing.minus, context.noise),
              plus = FitArc(context.model, sharing.plus, context.noise);
    for (int lost = 0; lost <= context.options->max_lost_frames; ++lost) {
      const Joint<D> joint = JoinDelayed<D>(context, minus, plus, sharing, lost);
      if (!joint.converged) continue;
      const double total =
          minus.chi_square + plus.chi_square + joint.chi_square + lost * kLostFramePenalty;
      best_of_delay[lost] = std::min(best_of_delay[lost], total);
      if (total < best.total) best = {sharing, minus, plus, joint, lost, total};
    }
  }
  if (best.total == kInfinity) return fit;
  for (int lost = 0; lost < static_cast<int>(best_of_delay.size()); ++lost) {
    if (lost != best.lost && best.lost > 0 && best_of_delay[lost] < best.total + kClearWinner)
      fit.ambiguous_delay = true;
  }
  fit.converged = true;
  FillEvent(context, best.joint, fit);
  ImpactEvent& event = fit.event;
  const PoseRecording& recording = *context.model.recording;
  event.recording = recording.name;
  event.planar = recording.planar;
  event.t = best.joint.t;
  event.sd_t = best.joint.sd_t;
  event.p_WP = event.X_WB.translation() +
               Lever(*context.model.body, event.X_WB.linear(), context.floor.normal);
  event.frames_minus = best.sharing.minus.size();
  event.frames_plus = best.sharing.plus.size();
  event.frames_lost = best.lost;
  event.sigma_position = context.sigma_position;
  event.sigma_angle = context.sigma_angle;
  UpdateContact(event, *context.model.body, context.floor, context.options->flight.gravity_W);
  const double push = event.v_plus_F.z() - event.contact.v_minus_F.z();
  fit.is_push =
      push >
      3 * Spread(NormalRow(context, event, true) - NormalRow(context, event, false), event.cov);
  fit.gap_chi_square = best.joint.chi_square;
  fit.gap_dof = D - 1;
  fit.minus_chi_square = best.minus.chi_square;
  fit.plus_chi_square = best.plus.chi_square;
  fit.minus_dof = best.minus.dof;
  fit.plus_dof = best.plus.dof;
  fit.t_previous = recording.t[best.sharing.minus.last];
  fit.t_next = recording.t[best.sharing.plus.first] + best.lost * context.frame_interval;
  TestNearFrames<D>(context, best.sharing, best.lost, best.minus, best.plus,
                    best.total - best.lost * kLostFramePenalty, fit);
  return fit;
}

// Centres of the rounded vertices (or caps), whose heights compare.
std::vector<Vector3d> Features(const Body& body) {
  std::vector<Vector3d> points = Vertices(body);
  for (Vector3d& p : points) {
    if (body.shape == BodyShape::kRod) p *= 1 - body.radius / body.half_length;
    if (body.shape == BodyShape::kBox) p -= body.corner_radius * p.cwiseSign();
  }
  return points;
}

// Another vertex near the floor about the impact. Heights are relative to the vertex that touches,
// so a wrong floor does not matter.
struct OtherVertex {
  // until it would have arrived without the impact, less its uncertainty [s]
  double delay = kInfinity;
  bool reaches_before = false, reaches_after = false;
  double t_reach = 0;  // [s] relative to the impact
};

OtherVertex FindOtherVertex(const FitContext& context, const BreakFit& fit, double tolerance) {
  OtherVertex other;
  const ImpactEvent& event = fit.event;
  const std::vector<Vector3d> features = Features(*context.model.body);
  if (features.size() < 2) return other;
  const Vector3d& n = context.floor.normal;
  const Matrix3d& R = event.X_WB.linear();
  int touching = 0;
  for (std::size_t i = 1; i < features.size(); ++i) {
    if (n.dot(R * features[i]) < n.dot(R * features[touching])) touching = static_cast<int>(i);
  }
  const Vector3d& gravity = context.options->flight.gravity_W;
  const double before = std::max(tolerance, 0.0);
  const double after = std::max(tolerance, fit.t_next - event.t);
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (static_cast<int>(i) == touching) continue;
    const Vector3d arm = R * features[i], between = R * (features[i] - features[touching]);
    const double height = n.dot(between);
    const Vector3d by_rotation = between.cross(n);
    const double sd = std::sqrt(std::max(0.0, by_rotation.dot(fit.cov_attitude_W * by_rotation)));
    const double speed = n.dot(event.v_minus + event.omega_minus.cross(arm));
    const double least = std::max(0.0, height - kCoverage * sd);
    if (speed < 0) other.delay = std::min(other.delay, least / -speed);
    // Rotation matters over a frame, its change of rate does not.
    const auto height_at = [&](const Vector3d& v, const Vector3d& omega, double s) {
      const Vector3d moved = ExpSO3(Vector3d(omega * s)) * arm;
      return height + n.dot(moved - arm) + n.dot(v) * s + 0.5 * n.dot(gravity) * s * s;
    };
    for (int k = 1; k <= 4; ++k) {
      if (!other.reaches_before &&
          height_at(event.v_minus, event.omega_minus, -before * k / 4) < -kCoverage * sd) {
        other.reaches_before = true;
        other.t_reach = -before * k / 4;
      }
      if (!other.reaches_after &&
          height_at(event.v_plus, event.omega_plus, after * k / 4) < -kCoverage * sd) {
        other.reaches_after = true;
        other.t_reach = after * k / 4;
      }
    }
  }
  return other;
}

}  // namespace

BreakFit FitBreak(const FitContext& context, const Segment& minus, const Segment& plus) {
  return context.model.recording->planar ? FitBreakFixed<3>(context, minus, plus)
                                         : FitBreakFixed<6>(context, minus, plus);
}

namespace {

// Why the arcs do not share a pose at one time; empty where they do.
std::string MeetingFault(const BreakFit& fit, double probability) {
  const double gap_limit = ChiSquareQuantile(1 - probability, fit.gap_dof);
  if (!(fit.gap_chi_square <= gap_limit)) {
    return fmt::format(
        "poses of the two arcs do not meet at one time: chi-square {:.1f} of "
        "{} dof, allowed {:.1f}",
        fit.gap_chi_square, fit.gap_dof, gap_limit);
  }
  if (fit.near_dof > 0) {
    const double near_limit = ChiSquareQuantile(1 - probability / 5, fit.near_dof);
    if (!(fit.near_chi_square <= near_limit)) {
      return fmt::format(
          "frames next to the impact leave the arcs: chi-square {:.1f} of {} "
          "dof, allowed {:.1f}",
          fit.near_chi_square, fit.near_dof, near_limit);
    }
  }
  return {};
}

// Why the arcs are no free flight, or their delay is not known; empty otherwise.
std::string ArcFault(const BreakFit& fit, double probability) {
  for (const bool after : {false, true}) {
    const double chi_square = after ? fit.plus_chi_square : fit.minus_chi_square;
    const int dof = after ? fit.plus_dof : fit.minus_dof;
    const double limit = ChiSquareQuantile(1 - probability, dof);
    if (!(chi_square <= limit)) {
      return fmt::format("arc {} the impact: chi-square {:.1f} of {} dof, allowed {:.1f}",
                         after ? "after" : "before", chi_square, dof, limit);
    }
  }
  if (fit.ambiguous_delay) {
    return fmt::format("{} lost frames fit, but so does another number: no clear winner",
                       fit.event.frames_lost);
  }
  return {};
}

}  // namespace

void AcceptOrReject(const FitContext& context, BreakFit& fit) {
  const MotionFitOptions& options = *context.options;
  ImpactEvent& event = fit.event;
  const auto reject = [&](RejectReason reason, std::string detail) {
    event.accepted = false;
    event.reason = reason;
    event.detail = std::move(detail);
  };
  if (event.frames_minus < options.min_frames || event.frames_plus < options.min_frames) {
    return reject(RejectReason::kTooFewFrames,
                  fmt::format("{} frames before and {} after the impact, allowed at least {}",
                              event.frames_minus, event.frames_plus, options.min_frames));
  }
  if (!fit.converged)
    return reject(RejectReason::kNotConverged, "no impact time joins the two arcs");
  const double frame_ms = 1e3 * context.frame_interval;
  std::string fault = MeetingFault(fit, options.misfit_probability);
  if (!fault.empty()) return reject(RejectReason::kSecondContact, std::move(fault));
  const OtherVertex other =
      FindOtherVertex(context, fit, options.feature_tolerance_frames * context.frame_interval);
  if (other.reaches_before || other.reaches_after) {
    return reject(RejectReason::kSecondContact,
                  fmt::format("another vertex reaches the floor {:.2f} ms {} the impact, allowed "
                              "none within {:.2f} ms",
                              1e3 * std::abs(other.t_reach), other.t_reach < 0 ? "before" : "after",
                              std::max(options.feature_tolerance_frames * frame_ms,
                                       1e3 * (fit.t_next - event.t))));
  }
  if (other.delay < options.feature_tolerance_frames * context.frame_interval) {
    return reject(
        RejectReason::kEdgeOrFlatLanding,
        fmt::format(
            "the next vertex arrives {:.2f} ms after the first, allowed more than {:.2f} ms",
            1e3 * other.delay, options.feature_tolerance_frames * frame_ms));
  }
  const double separation = event.v_plus_F.z(),
               sd_separation = Spread(NormalRow(context, event, true), event.cov);
  if (!(separation > kCoverage * sd_separation)) {
    return reject(RejectReason::kRollingContact,
                  fmt::format("contact point separates at {:.4f} m/s, allowed more than {:.4f} m/s",
                              separation, kCoverage * sd_separation));
  }
  const double approach = -event.contact.v_minus_F.z(),
               sd_approach = Spread(NormalRow(context, event, false), event.cov);
  if (!(approach > kCoverage * sd_approach)) {
    return reject(
        RejectReason::kNoApproach,
        fmt::format("contact point approaches at {:.4f} m/s, allowed more than {:.4f} m/s",
                    approach, kCoverage * sd_approach));
  }
  fault = ArcFault(fit, options.misfit_probability);
  if (!fault.empty()) return reject(RejectReason::kArcMisfit, std::move(fault));
  event.accepted = true;
  event.reason = RejectReason::kNone;
  event.detail = event.frames_lost > 0
                     ? fmt::format("{} frames lost at the impact", event.frames_lost)
                     : std::string();
}

}  // namespace impactlab::reconstruction
