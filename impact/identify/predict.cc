#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "data/base/error.h"
#include "data/files/text.h"
#include "impact/body/unknown_spin.h"
#include "impact/identify/detail/event_residual.h"
#include "impact/identify/identify.h"
#include "impact/identify/impulse_predict.h"

namespace impactlab {

ImpactModel ModelOf(const LawFit& fit) {
  const std::optional<RestitutionLaw> law = RestitutionLawOf(fit.law);
  if (!law)
    throw ConfigError("law: found '" + fit.law + "', allowed: " + JoinNames(RestitutionLawWords()));
  ImpactModel model;
  model.law = *law;
  if (!fit.fitted())
    throw ConfigError("fit of law '" + fit.law +
                      "': found fewer than two parameters, allowed: mu_k and e");
  const ParameterEstimate &mu = fit.mu_k, &e = fit.e;
  // Friction that is bounded below only, or not seen at all, is a contact that sticks as far as the
  // data know.
  model.mu_k = std::isfinite(mu.value) ? mu.value : std::max(1.0, 2 * mu.lower95);
  if (std::isfinite(e.value)) model.e = e.value;
  if (fit.e_t && std::isfinite(fit.e_t->value)) model.e_t = fit.e_t->value;
  model.mu_s = model.mu_k;
  if (fit.mu_s && std::isfinite(fit.mu_s->value))
    model.mu_s = std::max(model.mu_k, fit.mu_s->value);
  return model;
}

namespace {

// Where the spin before was not measured, friction may have any size and direction inside its cone:
// no tangential impulse is predicted, and half the width of the cone is its standard deviation.
// Returns that of the tangential impulse [N s].
double TakeSlipAsUnknown(const LawFit& fit, ImpactDerivatives* d) {
  d->J_F.head<2>().setZero();
  d->dJ.topRows<2>().setZero();
  return ModelOf(fit).mu_k * std::max(0.0, d->J_F.z());
}

}  // namespace

Prediction impact::PredictByImpulse(const ImpactEvent& event, const Body& body,
                                    const ImpactDerivatives& derivatives, const LawFit& fit) {
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  ImpactDerivatives d = derivatives;
  const double cone = SpinIsOpen(event) ? TakeSlipAsUnknown(fit, &d) : 0;
  Prediction prediction;
  const Matrix6 B = impact::WrenchToVelocity(event, body);
  const Eigen::Vector3d omega_minus =
      body.planar ? Eigen::Vector3d(0, event.omega_minus.y(), 0) : event.omega_minus;
  prediction.plus << event.v_minus, omega_minus;
  prediction.plus += B.leftCols<3>() * d.J_F;

  const Eigen::Matrix<double, 6, kEventDim> F = impact::PlusByInputs(event, body, d);
  Eigen::Matrix<double, 6, kEventDim> F_difference = F;
  F_difference.middleCols<6>(kVPlus) -= Matrix6::Identity();

  // Coefficients without a covariance (not identifiable) count as given.
  Eigen::Matrix<double, 6, 3> G;
  G << B.leftCols<3>() * (d.dJ.col(10) + d.dJ.col(11)), B.leftCols<3>() * d.dJ.col(9),
      B.leftCols<3>() * d.dJ_e_t;
  Eigen::Matrix3d coefficients = Eigen::Matrix3d::Zero();
  const Eigen::Index fitted = fit.e_t ? 3 : 2;
  if (fit.covariance.rows() >= fitted && fit.covariance.cols() >= fitted) {
    coefficients.topLeftCorner(fitted, fitted) =
        fit.covariance.topLeftCorner(fitted, fitted).unaryExpr([](double x) {
          return std::isfinite(x) ? x : 0;
        });
  }

  const double v_n = event.contact.v_minus_F.z();
  const double p = std::max(0.0, -v_n) / event.contact.A_F(2, 2);
  const double t = fit.discrepancy.sd_tangential * p, n = fit.discrepancy.sd_normal * p;
  const double k = p * RadiusOfGyration(body), c = fit.discrepancy.sd_couple * k,
               c_n = fit.discrepancy.sd_couple_normal.value_or(fit.discrepancy.sd_couple) * k;
  Eigen::Matrix<double, 6, 1> scatter;
  scatter << t * t + cone * cone, t * t + cone * cone, n * n, c * c, c * c, c_n * c_n;
  if (body.planar) scatter[1] = scatter[3] = scatter[5] = 0;

  const Matrix6 common =
      G * coefficients * G.transpose() + B * scatter.asDiagonal() * B.transpose();
  prediction.cov = F * event.cov * F.transpose() + common;
  prediction.cov_difference = F_difference * event.cov * F_difference.transpose() + common;
  return prediction;
}

Prediction Predict(const ImpactEvent& event, const Body& body, const ImpactModel& model,
                   const LawFit& fit) {
  ImpactOutcome outcome = Solve(event.contact, model);
  // Of the path that was followed, also where the derivatives' own differs from it in its last
  // digits.
  ImpactDerivatives d = Differentiate(event.contact, model);
  d.J_F = outcome.J_F;
  Prediction prediction = impact::PredictByImpulse(event, body, d, fit);
  prediction.outcome = std::move(outcome);
  return prediction;
}

}  // namespace impactlab
