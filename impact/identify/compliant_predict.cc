#include "impact/identify/compliant_predict.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "data/files/text.h"
#include "impact/identify/impulse_predict.h"
#include "impact/law/planar_differences.h"

namespace impactlab {
namespace {

constexpr double kLeastRestitution = 0.01;

impact::PlanarLawOutcome<int> Apply(const PlanarContact& contact, CompliantLaw law, double e,
                                    double mu, double speed) {
  impact::PlanarLawOutcome<int> out;
  if (!(e > 0 && e <= 1 && mu >= 0)) {
    out.status = SolveStatus::kInvalid;
    return out;
  }
  const CompliantOutcome outcome = IntegrateCompliantImpact(
      FrozenImpact(contact, mu, mu), CompliantWith(law, e, contact.A_nn, speed),
      {.frozen = true, .tolerance = 1e-10});
  out.status = outcome.status;
  out.v_t = outcome.v_t;
  out.v_n = outcome.v_n;
  out.J_n = outcome.J_n;
  out.J_t = (outcome.v_t - contact.v_t - contact.A_tn * outcome.J_n) / contact.A_tt;
  out.course = outcome.digit;
  return out;
}

}  // namespace

CompliantImpact FrozenImpact(const PlanarContact& contact, double mu_k, double mu_s) {
  Eigen::Matrix2d A;
  A << contact.A_tt, contact.A_tn, contact.A_tn, contact.A_nn;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen(A);
  // 1 / m in every direction and a lever that yields along the weaker one: A = 1 / m + (r_n, -r_t)
  // (r_n, -r_t)'.
  const Eigen::Vector2d lever =
      std::sqrt(eigen.eigenvalues()[1] - eigen.eigenvalues()[0]) * eigen.eigenvectors().col(1);
  CompliantImpact impact;
  impact.mass = 1 / eigen.eigenvalues()[0];
  impact.r_n = lever[0];
  impact.r_t = -lever[1];
  impact.v_t = contact.v_t;
  impact.v_n = contact.v_n;
  impact.mu_k = mu_k;
  impact.mu_s = mu_s;
  return impact;
}

CompliantModel CompliantWith(CompliantLaw law, double e, double A_nn, double speed) {
  CompliantModel model{.law = law, .stiffness = 1};
  if (law == CompliantLaw::kHuntCrossley) {
    model.damping = HuntCrossleyDamping(e, speed);
    return model;
  }
  if (law != CompliantLaw::kSpringDashpot) {
    std::vector<std::string> allowed;
    for (const CompliantLaw known : kValidatedCompliantLaws) allowed.emplace_back(LawName(known));
    throw ConfigError(
        fmt::format("compliant contact: found {}, allowed {}", LawName(law), JoinNames(allowed)));
  }
  const double critical = 2 / std::sqrt(A_nn);  // c at which zeta is 1
  const auto excess = [&](double zeta) {
    model.damping = zeta * critical;
    return ImpliedRestitution(model, 1 / A_nn, speed) - e;
  };
  constexpr double kMost = 1e4;
  if (e >= 1) {
    model.damping = 0;
    return model;
  }
  std::uintmax_t rounds = 200;
  const auto [low, high] =
      boost::math::tools::toms748_solve(excess, 0.0, kMost, 1 - e, excess(kMost),
                                        boost::math::tools::eps_tolerance<double>(50), rounds);
  model.damping = 0.5 * (low + high) * critical;
  return model;
}

ImpactDerivatives Differentiate(const PlanarContact& contact, CompliantLaw law, double e, double mu,
                                double reference_speed) {
  // Far above what the steps of an integration leave in an outcome, far below what bends it.
  constexpr double kStep = 1e-4;
  ImpactDerivatives d = impact::CentralDifferences(
      contact, e, mu, kStep, [&](const PlanarContact& c, double at_e, double at_mu) {
        return Apply(c, law, at_e, at_mu, reference_speed);
      });
  if (d.status == SolveStatus::kOk)
    d.path_case.digit = Apply(contact, law, e, mu, reference_speed).course;
  return d;
}

std::optional<CompliantPrediction> Predict(const ImpactEvent& event, const Body& body,
                                           CompliantLaw law, const LawFit& energetic,
                                           double reference_speed) {
  if (energetic.law != LawName(RestitutionLaw::kEnergetic))
    throw ConfigError(fmt::format("{}: found coefficients of '{}', allowed: those of {}",
                                  LawName(law), energetic.law,
                                  LawName(RestitutionLaw::kEnergetic)));
  const std::optional<PlanarContact> contact = PlanarPart(event.contact);
  if (!contact || !energetic.fitted()) return std::nullopt;
  const double mu = energetic.mu_k.value, e = energetic.e.value;
  if (!std::isfinite(mu) || !(e >= kLeastRestitution)) return std::nullopt;
  const ImpactDerivatives d = Differentiate(*contact, law, e, mu, reference_speed);
  if (d.status != SolveStatus::kOk || !d.J_F.allFinite()) return std::nullopt;
  LawFit without = energetic;
  without.discrepancy = {};
  CompliantPrediction out{impact::PredictByImpulse(event, body, d, energetic),
                          impact::PredictByImpulse(event, body, d, without)};
  out.motion.outcome.J_F = d.J_F;
  out.motion.outcome.v_plus_F = d.v_plus_F;
  out.motion.outcome.path_case = d.path_case;
  return out;
}

}  // namespace impactlab
