#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "impact/body/unknown_spin.h"
#include "reconstruction/audit/detail/evidence.h"
#include "reconstruction/audit/detail/slip.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Matrix3x15 = Eigen::Matrix<double, 3, kEventDim>;

// cosine between slips before and after that counts as kept
constexpr double kSameSense = 0.5;
constexpr int kFewestSliding = 3;  // events that make a friction cone

// m I^-1 in W; planar: the yy entry alone.
Matrix3d InverseInertiaPerMass(const ImpactEvent& event, const Body& body) {
  if (body.planar) return Vector3d(0, body.mass / body.inertia_B(1, 1), 0).asDiagonal();
  const Matrix3d R = event.X_WB.linear();
  return body.mass * (R * body.inertia_B.inverse() * R.transpose());
}

bool KeepsSense(const Slip& slip) {
  return slip.minus.norm() > kClearSlip * slip.sd_minus &&
         slip.plus.norm() > kClearSlip * slip.sd_plus &&
         slip.minus.dot(slip.plus) > kSameSense * slip.minus.norm() * slip.plus.norm();
}

// Cosine between friction and the reverse of a slip that keeps its sense: 1 opposes, -1 assists;
// NaN where there is nothing to test.
double Opposition(const Slip& slip) {
  if (!KeepsSense(slip) || !(slip.dv_t.norm() > kClearSlip * slip.sd_dv_t))
    return std::numeric_limits<double>::quiet_NaN();
  return -slip.dv_t.normalized().dot(
      (slip.minus.normalized() + slip.plus.normalized()).normalized());
}

// Radius of gyration from the log of the inertia that one term of the momentum balance shows over
// the body's.
Estimate Gyration(double log_inertia, double variance, double gyration_body) {
  const double sd = 0.5 * std::sqrt(std::max(0.0, variance)),
               value = gyration_body * std::exp(0.5 * log_inertia);
  if (!(sd < 0.15)) return Undetermined("this impulse term is too small against the scatter");
  return MakeEstimate(value, value * sd);
}

}  // namespace

Estimate MakeEstimate(double value, double sd) {
  Estimate estimate;
  if (!(std::isfinite(value) && std::isfinite(sd) && sd >= 0))
    return Undetermined("no finite value");
  estimate.value = value;
  estimate.sd = sd;
  estimate.lower95 = value - kNormal95 * sd;
  estimate.upper95 = value + kNormal95 * sd;
  estimate.determined = true;
  return estimate;
}

Estimate Undetermined(const std::string& reason) {
  Estimate estimate;
  estimate.reason = reason;
  return estimate;
}

std::string PlusMinus(const Estimate& estimate, double factor) {
  const double sd = factor * estimate.sd;
  const int decimals =
      sd > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(sd))), 0, 9) : 6;
  return fmt::format("{:.{}f} +- {:.{}f}", factor * estimate.value, decimals, sd, decimals);
}

SpinResidual MomentumResidual(const ImpactEvent& event, const Body& body, const Vector3d& normal) {
  return MomentumResidualAbout(event, body, LeverW(event, body, normal));
}

SpinResidual MomentumResidualAbout(const ImpactEvent& event, const Body& body, const Vector3d& r) {
  const Vector3d dv = event.v_plus - event.v_minus;
  const Matrix3d K = InverseInertiaPerMass(event, body), R = event.X_WB.linear();
  const Vector3d e = event.omega_plus - event.omega_minus - K * r.cross(dv);
  Matrix3x15 J = Matrix3x15::Zero();
  J.middleCols<3>(kOmegaPlus) = Matrix3d::Identity();
  J.middleCols<3>(kOmegaMinus) = -Matrix3d::Identity();
  J.middleCols<3>(kVPlus) = -K * CrossMatrix(r);
  J.middleCols<3>(kVMinus) = K * CrossMatrix(r);
  J.middleCols<3>(kLever) = K * CrossMatrix(dv);
  if (body.planar) {
    J.row(0).setZero();
    J.row(2).setZero();
    return {Vector3d(0, e.y(), 0), Congruence(J, event.cov)};
  }
  const Matrix3x15 J_B = R.transpose() * J;
  return {R.transpose() * e, Congruence(J_B, event.cov)};
}

ImpactEvent CorrectEvent(const ImpactEvent& event, const FrameCorrection& correction,
                         const Body& body, const Plane& floor, const Vector3d& gravity_W) {
  ImpactEvent out = event;
  Vector3d flip = Vector3d::Ones();
  if (correction.mirrored) flip(event.planar ? 0 : 1) = -1;
  const double turn = event.planar && correction.theta_flipped ? -1 : 1;
  const double velocity = correction.clock_rate / correction.length_scale;
  Matrix3d R = event.X_WB.linear();
  if (turn < 0) R.transposeInPlace();
  R = R * ExpSO3(correction.rotation_offset_B).transpose();
  const Vector3d com = R * correction.com_offset_B;
  out.X_WB.linear() = R;
  out.X_WB.translation() =
      flip.cwiseProduct(event.X_WB.translation()) / correction.length_scale + com;
  out.t = event.t / correction.clock_rate;
  out.sd_t = event.sd_t / correction.clock_rate;
  EventCovariance map = EventCovariance::Zero();
  for (const auto& [v, omega] : {std::pair(kVMinus, kOmegaMinus), std::pair(kVPlus, kOmegaPlus)}) {
    map.block<3, 3>(v, v) = velocity * Matrix3d(flip.asDiagonal());
    map.block<3, 3>(v, omega) = -turn * correction.clock_rate * CrossMatrix(com);
    map.block<3, 3>(omega, omega) = turn * correction.clock_rate * Matrix3d::Identity();
  }
  // The lever turns with the attitude; a flipped attitude mirrors it.
  map.block<3, 3>(kLever, kLever) =
      turn < 0 ? Matrix3d(Vector3d(-1, 1, 1).asDiagonal()) : Matrix3d(Matrix3d::Identity());
  out.cov = Congruence(map, event.cov);
  out.omega_minus = turn * correction.clock_rate * event.omega_minus;
  out.omega_plus = turn * correction.clock_rate * event.omega_plus;
  out.v_minus = velocity * flip.cwiseProduct(event.v_minus) + out.omega_minus.cross(com);
  out.v_plus = velocity * flip.cwiseProduct(event.v_plus) + out.omega_plus.cross(com);
  out.sigma_position = event.sigma_position / correction.length_scale;
  const Plane corrected = CorrectedFloor(floor, correction);
  out.p_WP = out.X_WB.translation() + LeverW(out, body, corrected.normal);
  UpdateContact(out, body, corrected, gravity_W);
  return out;
}

namespace {

// Takes from spins in B their part about the axis that was not measured.
Matrix3d Seen(const ImpactEvent& event) {
  return Matrix3d::Identity() - event.unseen_axis_B * event.unseen_axis_B.transpose();
}

}  // namespace

EventAudit AuditEvent(const ImpactEvent& event, const Body& body, const Plane& floor,
                      const AuditOptions& options) {
  EventAudit audit;
  audit.recording = event.recording;
  audit.impact = event.impact;
  audit.friction = "not_tested";
  audit.friction_ok = true;
  const SpinResidual spin = MomentumResidual(event, body, floor.normal);
  if (body.planar) {
    audit.momentum_residual = -spin.value.y();
    audit.momentum_sd = std::sqrt(std::max(0.0, spin.cov(1, 1)));
    audit.momentum_ok =
        std::abs(audit.momentum_residual) <= options.significance * audit.momentum_sd;
  } else {
    const Matrix3d seen = Seen(event);
    audit.momentum_residual = (seen * spin.value).norm();
    audit.momentum_sd = LargestSd(seen * spin.cov * seen);
    const Matrix3d C = spin.cov + 1e-12 * (1e-300 + spin.cov.trace()) * Matrix3d::Identity();
    const double limit =
        ChiSquareQuantile(1 - 2 * NormalCdf(-std::clamp(options.significance, 0.1, 7.0)), 3);
    audit.momentum_ok = spin.cov.trace() > 0 && spin.value.dot(C.ldlt().solve(spin.value)) <= limit;
  }
  const Matrix3d R = event.X_WB.linear(), I_W = R * body.inertia_B * R.transpose();
  const double before = KineticEnergy(body, R, event.v_minus, event.omega_minus),
               after = KineticEnergy(body, R, event.v_plus, event.omega_plus);
  if (before > 0) {
    audit.energy_gain = after / before - 1;
    Eigen::Matrix<double, kEventDim, 1> slope = Eigen::Matrix<double, kEventDim, 1>::Zero();
    const auto add = [&](int v, int omega, const Vector3d& velocity, const Vector3d& rate,
                         double factor) {
      slope.segment<3>(v) = factor * body.mass * velocity;
      slope.segment<3>(omega) =
          factor *
          (body.planar ? Vector3d(0, body.inertia_B(1, 1) * rate.y(), 0) : Vector3d(I_W * rate));
      if (body.planar) slope(v + 1) = 0;
    };
    add(kVPlus, kOmegaPlus, event.v_plus, event.omega_plus, 1 / before);
    add(kVMinus, kOmegaMinus, event.v_minus, event.omega_minus, -after / (before * before));
    audit.energy_sd = std::sqrt(std::max(0.0, slope.dot(event.cov * slope)));
  }
  audit.energy_ok = before > 0 && audit.energy_gain <= options.significance * audit.energy_sd;
  return audit;
}

void AuditFriction(std::span<const ImpactEvent* const> events, const Body& body, const Plane& floor,
                   const AuditOptions& options, std::span<EventAudit> audits) {
  std::vector<Slip> slips;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < events.size(); ++i) {
    slips.push_back(MeasureSlip(*events[i], body, floor.normal));
    const Slip& slip = slips.back();
    const double cosine = Opposition(slip);
    if (std::isnan(cosine)) continue;
    const bool opposes = cosine > 0;
    audits[i].friction = opposes ? "opposes" : "assists";
    audits[i].friction_ok = opposes;
    if (opposes && slip.dv_n > 0) ratios.push_back(slip.dv_t.norm() / slip.dv_n);
  }
  const bool cone = static_cast<int>(ratios.size()) >= kFewestSliding;
  const double edge = cone ? Median(ratios) + 3 * MadSigma(ratios) : 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Slip& slip = slips[i];
    if (!(slip.dv_n > 0)) {
      audits[i].friction = "outside_cone";
      audits[i].friction_ok = false;
    } else if (cone && audits[i].friction == "not_tested" && !KeepsSense(slip)) {
      const double sd = std::hypot(slip.sd_dv_t, edge * slip.sd_dv_n) / slip.dv_n;
      const bool inside = slip.dv_t.norm() / slip.dv_n <= edge + options.significance * sd;
      audits[i].friction = inside ? "inside_cone" : "outside_cone";
      audits[i].friction_ok = inside;
    }
  }
}

AuditInput WithMeasuredSpins(AuditInput input) {
  std::erase_if(input.events, [](const ImpactEvent* event) { return SpinIsUnknown(*event); });
  return input;
}

MomentumAudit AuditMomentum(const AuditInput& all, const ErrorLayout& layout,
                            const VectorXd& prior_sd) {
  const AuditInput input = WithMeasuredSpins(all);
  const Body& body = *input.body;
  MomentumAudit audit;
  const int n = audit.n = input.events.size();
  audit.gyration_body = RadiusOfGyration(body);
  audit.gyration_normal = audit.gyration_tangential =
      Undetermined(fmt::format("{} accepted events are too few", n));
  if (n == 0) return audit;
  std::vector<double> size;
  std::vector<Vector3d> spin;
  Vector3d bias = Vector3d::Zero(), mean = Vector3d::Zero();
  for (const ImpactEvent* event : input.events) {
    const SpinResidual e = MomentumResidual(*event, body, input.floor.normal);
    const Matrix3d seen = Seen(*event);
    const Vector3d value = seen * e.value, change = event->omega_plus - event->omega_minus;
    spin.push_back(body.planar ? Vector3d(0, change.y(), 0)
                               : Vector3d(seen * event->X_WB.linear().transpose() * change));
    size.push_back(value.norm());
    audit.rms += value.squaredNorm() / n;
    audit.expected_rms += (seen * e.cov * seen).trace() / n;
    bias += value / n;
    mean += spin.back() / n;
  }
  for (const Vector3d& s : spin) audit.spread += (s - mean).squaredNorm() / n;
  audit.rms = std::sqrt(audit.rms);
  audit.expected_rms = std::sqrt(audit.expected_rms);
  audit.spread = std::sqrt(audit.spread);
  audit.median_abs = Median(size);
  audit.bias = body.planar ? -bias.y() : bias.norm();

  std::vector<int> active;
  for (int i = 0; i < prior_sd.size(); ++i) {
    const std::vector<int> seen = MomentumParameters(layout);
    if (prior_sd(i) > 0 && i != layout.inertia &&
        std::find(seen.begin(), seen.end(), i) != seen.end())
      active.push_back(i);
  }
  active.push_back(layout.inertia);
  active.push_back(layout.split);
  const RobustFit fit = FitMomentum(input, layout, VectorXd::Zero(layout.size), active, prior_sd);
  if (!fit.usable) {
    audit.gyration_normal = audit.gyration_tangential = Undetermined(fit.reason);
    return audit;
  }
  const MatrixXd C = Covariance(fit.information, layout.unit, active);
  const int a = active.size() - 2, b = active.size() - 1;
  audit.gyration_normal = Gyration(fit.value(layout.inertia), C(a, a), audit.gyration_body);
  audit.gyration_tangential = Gyration(fit.value(layout.inertia) + fit.value(layout.split),
                                       C(a, a) + C(b, b) + 2 * C(a, b), audit.gyration_body);
  return audit;
}

}  // namespace impactlab::reconstruction
