#include "impact/identify/detail/event_residual.h"

#include <Eigen/Dense>
#include <cmath>
#include <map>

#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "impact/body/unknown_spin.h"

namespace impactlab::impact {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d Spin(const Vector3d& omega, bool planar) {
  return planar ? Vector3d(0, omega.y(), 0) : omega;
}

Matrix3d InertiaInW(const Body& body, const Matrix3d& R_WB) {
  if (body.planar) return Vector3d(0, body.inertia_B(1, 1), 0).asDiagonal();
  return R_WB * body.inertia_B * R_WB.transpose();
}

Matrix3d InverseInertiaInW(const Body& body, const Matrix3d& R_WB) {
  if (body.planar) return Vector3d(0, 1 / body.inertia_B(1, 1), 0).asDiagonal();
  return R_WB * body.inertia_B.inverse() * R_WB.transpose();
}

// d v_minus_F by the measured quantities.
Input ContactVelocityByInputs(const ImpactEvent& event, const Body& body) {
  const Matrix3d Rt = event.contact.X_WF.linear().transpose();
  const Vector3d lever = event.p_WP - event.X_WB.translation();
  Input d = Input::Zero();
  d.middleCols<3>(kVMinus) = Rt;
  d.middleCols<3>(kOmegaMinus) = -Rt * CrossMatrix(lever);
  d.middleCols<3>(kLever) = Rt * CrossMatrix(Spin(event.omega_minus, body.planar));
  if (body.planar) d.row(1).setZero();
  return d;
}

// d A_F (xx, xy, xn, yy, yn, nn) by the measured quantities: only the lever matters.
Eigen::Matrix<double, 6, kEventDim> InverseMassByInputs(const ImpactEvent& event,
                                                        const Body& body) {
  const Matrix3d R = event.contact.X_WF.linear();
  const Matrix3d S = CrossMatrix(event.p_WP - event.X_WB.translation());
  const Matrix3d inverse_inertia = InverseInertiaInW(body, event.X_WB.linear());
  Eigen::Matrix<double, 6, kEventDim> d = Eigen::Matrix<double, 6, kEventDim>::Zero();
  for (int k = 0; k < 3; ++k) {
    const Matrix3d E = CrossMatrix(Vector3d::Unit(k));
    Matrix3d dA = -R.transpose() * (E * inverse_inertia * S + S * inverse_inertia * E) * R;
    if (body.planar) {
      dA.row(1).setZero();
      dA.col(1).setZero();
    }
    d.col(kLever + k) << dA(0, 0), dA(0, 1), dA(0, 2), dA(1, 1), dA(1, 2), dA(2, 2);
  }
  return d;
}

bool AllFinite(const ImpactEvent& event) {
  return event.v_minus.allFinite() && event.omega_minus.allFinite() && event.v_plus.allFinite() &&
         event.omega_plus.allFinite() && event.p_WP.allFinite() &&
         event.X_WB.matrix().allFinite() && event.cov.allFinite() &&
         event.contact.v_minus_F.allFinite() && event.contact.A_F.allFinite() &&
         event.contact.X_WF.matrix().allFinite();
}

// A covariance from a file may miss positive semidefiniteness by its printed digits, or altogether:
// negative eigenvalues count as zero.
EventCovariance NearestCovariance(const EventCovariance& cov) {
  const EventCovariance symmetric = 0.5 * (cov + cov.transpose());
  const SymmetricEigen eigen = EigenOf(symmetric);
  if (!eigen.ok) return cov.diagonal().cwiseMax(0).asDiagonal();
  const Eigen::MatrixXd clamped = eigen.values.cwiseMax(0).asDiagonal();
  return Congruence(eigen.vectors, clamped);
}

// Rows of the impulse and of the couple that a motion has.
Vec PickImpulse(const Vector3d& a, bool planar) {
  return planar ? Vec(Eigen::Vector2d(a.x(), a.z())) : Vec(a);
}
Mat PickImpulse(const Matrix3d& a, bool planar) {
  if (!planar) return a;
  Mat b(2, 2);
  b << a(0, 0), a(0, 2), a(2, 0), a(2, 2);
  return b;
}

// Four standard deviations of the tangential velocity, or rounding, hide both the slip before the
// impact and the slip the impact would cause.
bool HasNoDemand(const ImpactEvent& event, const PreparedEvent& prepared) {
  const Matrix3d cov_v = Congruence(prepared.dv_F, prepared.cov);
  const double sd = std::sqrt(std::max(0.0, cov_v(0, 0) + (event.planar ? 0 : cov_v(1, 1))));
  const double hidden = 4 * sd + 1e-9 * std::abs(event.contact.v_minus_F.z());
  if (event.contact.v_minus_F.head<2>().norm() > hidden) return false;
  const Eigen::Matrix<double, 6, 6> cov_A = Congruence(prepared.dA_F, prepared.cov);
  const double A_tn = event.contact.A_F.topRightCorner<2, 1>().norm();
  if (A_tn <= 4 * std::sqrt(std::max(0.0, cov_A(2, 2) + cov_A(4, 4)))) return true;
  return 2 * prepared.p * A_tn <= hidden;  // by the largest normal impulse
}

// The contact as the law meets it. Where the spin was not measured, the likeliest slip before is
// the one that makes the contact stick with the impulse that was measured; friction that does not
// reach so far leaves a residual, and bounds mu from below.
ContactState ContactBefore(const PreparedEvent& event, double e_t) {
  ContactState contact = event.event->contact;
  if (!event.spin_open) return contact;
  const Vector3d J_F = event.dim == 2 ? Vector3d(event.z_J[0], 0, event.z_J[1])
                                      : Vector3d(event.z_J[0], event.z_J[1], event.z_J[2]);
  contact.v_minus_F.head<2>() = -event.p / (1 + e_t) * (contact.A_F * J_F).head<2>();
  return contact;
}

// Leaves only the normal component.
void Mute(EventAt& at) {
  const Eigen::Index t = at.r.size() - 1;
  at.r.head(t).setZero();
  if (at.shift.size() > 0) at.shift.head(t).setZero();
  if (at.G.rows() > 0) {
    at.G.topRows(t).setZero();
    at.G(t, 0) = 0;
    at.G_e_t.head(t).setZero();
  }
  if (at.N.rows() == 0) return;
  at.N.topRows(t).setZero();
  at.N.leftCols(t).setZero();
  at.N.diagonal().head(t).setOnes();
}

}  // namespace

Eigen::Matrix<double, 6, 6> WrenchToVelocity(const ImpactEvent& event, const Body& body) {
  const Matrix3d R = event.contact.X_WF.linear();
  const Matrix3d inverse_inertia = InverseInertiaInW(body, event.X_WB.linear());
  Eigen::Matrix<double, 6, 6> B = Eigen::Matrix<double, 6, 6>::Zero();
  B.topLeftCorner<3, 3>() = R / body.mass;
  B.bottomLeftCorner<3, 3>() =
      inverse_inertia * CrossMatrix(event.p_WP - event.X_WB.translation()) * R;
  B.bottomRightCorner<3, 3>() = inverse_inertia * R;
  return B;
}

Eigen::Matrix<double, 6, kEventDim> PlusByInputs(const ImpactEvent& event, const Body& body,
                                                 const ImpactDerivatives& derivatives) {
  const Matrix3d R = event.contact.X_WF.linear();
  const Input dJ_W = R * (derivatives.dJ.leftCols<3>() * ContactVelocityByInputs(event, body) +
                          derivatives.dJ.middleCols<6>(3) * InverseMassByInputs(event, body));
  Input moment = CrossMatrix(event.p_WP - event.X_WB.translation()) * dJ_W;
  moment.middleCols<3>(kLever) -= CrossMatrix(R * derivatives.J_F);
  Eigen::Matrix<double, 6, kEventDim> d;
  d.topRows<3>() = dJ_W / body.mass;
  d.bottomRows<3>() = InverseInertiaInW(body, event.X_WB.linear()) * moment;
  d.block<3, 3>(0, kVMinus) += Matrix3d::Identity();
  d.block<3, 3>(3, kOmegaMinus) += Matrix3d::Identity();
  return d;
}

std::vector<PreparedEvent> PrepareEvents(std::span<const ImpactEvent> events, const Body& body) {
  std::vector<PreparedEvent> prepared;
  std::map<std::string, int> clusters;
  const double k = RadiusOfGyration(body);
  for (const ImpactEvent& event : events) {
    if (!event.accepted || !AllFinite(event) || event.planar != body.planar) continue;
    const double v_n = event.contact.v_minus_F.z(), A_nn = event.contact.A_F(2, 2);
    if (!(v_n < 0) || !(A_nn > 0)) continue;
    if (Differentiate(event.contact, ImpactModel{}).status != SolveStatus::kOk) continue;
    PreparedEvent e;
    e.event = &event;
    e.cov = NearestCovariance(event.cov);
    e.cluster =
        clusters.try_emplace(event.recording, static_cast<int>(clusters.size())).first->second;
    e.dim = body.planar ? 2 : 3;
    e.dim_c = body.planar ? 1 : 3;
    e.p = -v_n / A_nn;
    const Matrix3d Rt = event.contact.X_WF.linear().transpose();
    const Vector3d lever = event.p_WP - event.X_WB.translation();
    const Vector3d dv = event.v_plus - event.v_minus;
    const Vector3d domega = Spin(event.omega_plus - event.omega_minus, body.planar);
    const Matrix3d inertia = InertiaInW(body, event.X_WB.linear());
    const double scale_J = body.mass / e.p, scale_c = 1 / (e.p * k);
    const Vector3d couple = scale_c * (inertia * domega - body.mass * lever.cross(dv));
    e.z_J = PickImpulse(Vector3d(scale_J * (Rt * dv)), body.planar);
    e.dz_J.middleCols<3>(kVPlus) = scale_J * Rt;
    e.dz_J.middleCols<3>(kVMinus) = -scale_J * Rt;
    Input dc = Input::Zero();
    dc.middleCols<3>(kVPlus) = -scale_c * body.mass * CrossMatrix(lever);
    dc.middleCols<3>(kVMinus) = scale_c * body.mass * CrossMatrix(lever);
    dc.middleCols<3>(kOmegaPlus) = scale_c * inertia;
    dc.middleCols<3>(kOmegaMinus) = -scale_c * inertia;
    dc.middleCols<3>(kLever) = scale_c * body.mass * CrossMatrix(dv);
    if (body.planar) {  // the couple about W_y is the only one
      e.z_c = Vec::Constant(1, couple.y());
      e.cov_dz_c.col(0) = e.cov * dc.row(1).transpose();
      e.N_cc = Mat::Constant(1, 1, dc.row(1) * e.cov_dz_c.col(0));
    } else {
      dc = Rt * dc;
      e.z_c = Rt * couple;
      e.cov_dz_c = e.cov * dc.transpose();
      e.N_cc = dc * e.cov_dz_c;
    }
    e.dv_F = ContactVelocityByInputs(event, body);
    e.dA_F = InverseMassByInputs(event, body);
    e.spin_open = SpinIsOpen(event);
    e.no_demand = !e.spin_open && HasNoDemand(event, e);
    e.V_cc_inverse = Mat::Zero(e.dim_c, e.dim_c);
    e.c_whitened = Vec::Zero(e.dim_c);
    prepared.push_back(std::move(e));
  }
  return prepared;
}

EventAt EvaluateEvent(const PreparedEvent& event, const ImpactModel& model, Need need) {
  const bool planar = event.dim == 2;
  EventAt at;
  if (need == Need::kResidual) {
    const ImpactOutcome outcome =
        Solve(ContactBefore(event, model.e_t), model, {.tolerance = 1e-9, .dense_output = false});
    at.ok = outcome.usable() && outcome.J_F.allFinite();
    at.digit = outcome.path_case.digit;
    at.r = event.z_J - PickImpulse(Vector3d(outcome.J_F / event.p), planar);
    if (event.no_demand) Mute(at);
    return at;
  }
  const ImpactModel& last = event.differentiated_at;
  if (last.e != model.e || last.mu_k != model.mu_k || last.mu_s != model.mu_s ||
      last.e_t != model.e_t || last.law != model.law) {
    event.derivatives = Differentiate(ContactBefore(event, model.e_t), model);
    event.differentiated_at = model;
  }
  const ImpactDerivatives& d = event.derivatives;
  at.ok = d.status != SolveStatus::kInvalid && d.J_F.allFinite() && d.dJ.allFinite();
  at.digit = d.path_case.digit;
  at.r = event.z_J - PickImpulse(Vector3d(d.J_F / event.p), planar);
  at.G.resize(event.dim, 2);
  // mu_s moves with mu_k
  at.G.col(0) = PickImpulse(Vector3d(-(d.dJ.col(10) + d.dJ.col(11)) / event.p), planar);
  at.G.col(1) = PickImpulse(Vector3d(-d.dJ.col(9) / event.p), planar);
  at.G_e_t = PickImpulse(Vector3d(-d.dJ_e_t / event.p), planar);
  if (event.spin_open) at.G_e_t.head(event.dim - 1).setZero();
  if (need == Need::kDerivative) {
    if (event.no_demand) Mute(at);
    return at;
  }
  Matrix3d by_v = d.dJ.leftCols<3>();
  if (event.spin_open) by_v.leftCols<2>().setZero();  // the slip follows what was measured
  const Input F = event.dz_J - (by_v * event.dv_F + d.dJ.middleCols<6>(3) * event.dA_F) / event.p;
  const Input F_cov = F.lazyProduct(event.cov);
  at.N = PickImpulse(Matrix3d(F_cov.lazyProduct(F.transpose())), planar);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3> N_Jc(event.dim, event.dim_c);
  const Matrix3d all = F.lazyProduct(event.cov_dz_c);
  for (int i = 0; i < event.dim; ++i) {
    for (int j = 0; j < event.dim_c; ++j) N_Jc(i, j) = all(planar && i == 1 ? 2 : i, j);
  }
  at.shift = N_Jc.lazyProduct(event.c_whitened);
  at.r -= at.shift;
  at.N -= Mat(N_Jc.lazyProduct(event.V_cc_inverse)).lazyProduct(N_Jc.transpose());
  at.N = (0.5 * (at.N + at.N.transpose())).eval();
  if (event.no_demand) Mute(at);
  return at;
}

}  // namespace impactlab::impact
