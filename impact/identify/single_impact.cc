#include "impact/identify/single_impact.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "impact/law/solve.h"

namespace impactlab {
namespace {

using Gradient = Eigen::Matrix<double, kEventDim, 1>;

double Sd(const ImpactEvent& event, const Gradient& gradient) {
  const double variance = gradient.dot(event.cov * gradient);
  return variance >= 0 ? std::sqrt(variance) : std::numeric_limits<double>::quiet_NaN();
}

// d (direction . velocity of the contact point) by the state of an event; `v` and `omega` are where
// the velocities start.
Gradient SlopeOfContactSpeed(const ImpactEvent& event, const Eigen::Vector3d& direction,
                             bool plus) {
  Gradient g = Gradient::Zero();
  const Eigen::Vector3d r = event.p_WP - event.X_WB.translation();
  g.segment<3>(plus ? kVPlus : kVMinus) = direction;
  g.segment<3>(plus ? kOmegaPlus : kOmegaMinus) = r.cross(direction);
  g.segment<3>(kLever) = direction.cross(plus ? event.omega_plus : event.omega_minus);
  return g;
}

// |J_t| / J_n as measured, from which the mass cancels, with its derivative by the states.
struct Ratio {
  double value = 0;
  Gradient gradient = Gradient::Zero();
};
Ratio MeasuredRatio(const ImpactEvent& event) {
  const Eigen::Matrix3d R_WF = event.contact.X_WF.linear();
  const Eigen::Vector3d n = R_WF.col(2), dv = event.v_plus - event.v_minus,
                        tangential = dv - n * n.dot(dv);
  const double j_t = tangential.norm(), j_n = n.dot(dv);
  const Eigen::Vector3d unit =
      j_t > 0 ? Eigen::Vector3d(tangential / j_t) : Eigen::Vector3d(R_WF.col(0));
  const Eigen::Vector3d by_dv = (unit - n * (j_t / j_n)) / std::abs(j_n);
  Ratio ratio{j_t / std::abs(j_n), Gradient::Zero()};
  ratio.gradient.segment<3>(kVPlus) = by_dv;
  ratio.gradient.segment<3>(kVMinus) = -by_dv;
  return ratio;
}

// Impulses that a law predicts, by the states and the lever; the inverse mass is a parabola of the
// lever.
Eigen::Matrix<double, 3, kEventDim> ImpulseByInputs(const ImpactEvent& event, const Body& body,
                                                    const ImpactDerivatives& d) {
  const Eigen::Vector3d r = event.p_WP - event.X_WB.translation();
  const auto cross = [](const Eigen::Vector3d& a) {
    Eigen::Matrix3d m;
    m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
    return m;
  };
  const Eigen::Matrix3d by_v = d.dJ.leftCols<3>() * event.contact.X_WF.linear().transpose();
  Eigen::Matrix<double, 3, kEventDim> out = Eigen::Matrix<double, 3, kEventDim>::Zero();
  out.middleCols<3>(kVMinus) = by_v;
  out.middleCols<3>(kOmegaMinus) = -by_v * cross(r);
  out.middleCols<3>(kLever) = by_v * cross(event.omega_minus);
  const double h = 1e-3 * std::max(r.norm(), 1e-6);
  for (int i = 0; i < 3; ++i) {
    Eigen::Matrix3d A[2];
    for (const int side : {0, 1}) {
      Eigen::Isometry3d X_WF = event.contact.X_WF;
      X_WF.translation() =
          event.X_WB.translation() + r + (side == 0 ? -h : h) * Eigen::Vector3d::Unit(i);
      A[side] = MakeContactState(body, event.X_WB, event.v_minus, event.omega_minus, X_WF).A_F;
    }
    const Eigen::Matrix3d dA = (A[1] - A[0]) / (2 * h);
    const Eigen::Matrix<double, 6, 1> entries{
        {dA(0, 0), dA(0, 1), dA(0, 2), dA(1, 1), dA(1, 2), dA(2, 2)}};
    out.col(kLever + i) += d.dJ.middleCols<6>(3) * entries;
  }
  return out;
}

}  // namespace

MeasuredImpact MeasureImpact(const ImpactEvent& event) {
  MeasuredImpact m;
  const Eigen::Matrix3d R_WF = event.contact.X_WF.linear();
  const Eigen::Vector3d n = R_WF.col(2), d = event.X_WB.translation() - event.p_WP;
  const double v_n_minus = event.contact.v_minus_F.z(), v_n_plus = event.v_plus_F.z();
  m.speed = -v_n_minus;
  m.lean = event.planar ? std::atan2(d.dot(R_WF.col(0)), d.dot(n))
                        : std::acos(std::clamp(d.dot(n) / d.norm(), -1.0, 1.0));
  m.e = -v_n_plus / v_n_minus;
  const Gradient de = -SlopeOfContactSpeed(event, n, true) / v_n_minus +
                      v_n_plus / (v_n_minus * v_n_minus) * SlopeOfContactSpeed(event, n, false);
  m.sd_e = Sd(event, de);
  const Ratio ratio = MeasuredRatio(event);
  m.ratio = ratio.value;
  m.sd_ratio = Sd(event, ratio.gradient);
  return m;
}

std::optional<SingleCoefficient> RestitutionOf(const ImpactEvent& event, const Body& body,
                                               const ImpactModel& model) {
  const double measured = MeasuredImpulse(event, body).z();
  const auto impulse = [&](double e) {
    ImpactModel trial = model;
    trial.e = e;
    const ImpactOutcome outcome = Solve(event.contact, trial, {.dense_output = false});
    return outcome.status == SolveStatus::kOk ? outcome.J_F.z() : std::nan("");
  };
  double lower = 0, upper = 1;
  const double at_0 = impulse(0), at_1 = impulse(1);
  if (!std::isfinite(at_0) || !std::isfinite(at_1) || !(at_1 > at_0)) return std::nullopt;
  const bool outside = measured <= at_0 || measured >= at_1;
  if (outside) lower = upper = measured <= at_0 ? 0 : 1;
  for (int k = 0; k < 50 && upper > lower; ++k) {
    const double middle = 0.5 * (lower + upper);
    (impulse(middle) < measured ? lower : upper) = middle;
  }
  ImpactModel found = model;
  found.e = 0.5 * (lower + upper);
  const ImpactDerivatives d = Differentiate(event.contact, found);
  const double by_e = d.dJ(2, 9);
  if (d.status != SolveStatus::kOk || !(by_e > 0)) return std::nullopt;
  SingleCoefficient out{event.recording, event.impact, 0, 0};
  out.value = found.e + (outside ? (measured - d.J_F.z()) / by_e : 0);

  Gradient gradient = ImpulseByInputs(event, body, d).row(2).transpose();
  const Eigen::Vector3d n = event.contact.X_WF.linear().col(2);
  gradient.segment<3>(kVPlus) -= body.mass * n;
  gradient.segment<3>(kVMinus) += body.mass * n;
  out.sd = Sd(event, gradient) / by_e;
  if (!std::isfinite(out.sd)) return std::nullopt;
  return out;
}

std::optional<SingleCoefficient> FrictionOf(const ImpactEvent& event, const Body& body,
                                            const ImpactModel& model) {
  const Ratio measured = MeasuredRatio(event);
  if (!std::isfinite(measured.value)) return std::nullopt;
  ImpactModel found = model;
  // The direction of the slip may turn on the way, the more the larger mu: a few steps of Newton's.
  for (int k = 0; k < 6; ++k) {
    const ImpactDerivatives d = Differentiate(event.contact, found);
    if (d.status != SolveStatus::kOk || d.path_case.digit != 0 || !(d.J_F.z() > 0))
      return std::nullopt;
    const Eigen::Vector2d J_t = d.J_F.head<2>();
    const double ratio = J_t.norm() / d.J_F.z();
    if (!(ratio > 0)) return std::nullopt;
    // Of the ratio by the three impulses.
    const Eigen::RowVector3d by_J(J_t.x() / J_t.norm() / d.J_F.z(),
                                  J_t.y() / J_t.norm() / d.J_F.z(), -ratio / d.J_F.z());
    const double by_mu = by_J * (d.dJ.col(10) + d.dJ.col(11));
    if (!(by_mu > 0)) return std::nullopt;
    const double step = (measured.value - ratio) / by_mu;
    if (std::abs(step) > 1e-9 * found.mu_k && k < 5) {
      found.mu_k = std::max(0.1 * found.mu_k, found.mu_k + step);
      found.mu_s = found.mu_k;
      continue;
    }
    const Gradient gradient =
        (by_J * ImpulseByInputs(event, body, d)).transpose() - measured.gradient;
    const SingleCoefficient out{event.recording, event.impact, found.mu_k,
                                Sd(event, gradient) / by_mu};
    return std::isfinite(out.sd) && std::abs(step) < 1e-3 * found.mu_k ? std::optional(out)
                                                                       : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace impactlab
