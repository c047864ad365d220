#pragma once
// The spatial solver against the independent integration: used by the quick and the slow tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "impact/law/certify.h"
#include "impact/law/solve.h"
#include "tests/impact/brute_force.h"
#include "tests/impact/random_contact.h"

namespace impactlab {

struct ComparisonTally {
  int compared = 0, digits[7] = {}, no_approach = 0, digit_differs = 0, resumed = 0,
      not_integrated = 0;
  double worst = 0, worst_work = 0;
};

// Friction needed to hold v_t = 0, by the normal impulse.
inline double StickFriction(const Eigen::Matrix3d& A) {
  const Eigen::Matrix2d B = A.topLeftCorner<2, 2>();
  const Eigen::Vector2d b = A.topRightCorner<2, 1>();
  return B.inverse().operator*(b).norm();
}

// `n` random impacts with cond(A_F) up to `max_condition`: v_plus within `allowed` |v_minus|, J
// within `allowed` |J|, works of the work done.
inline void CompareWithIntegration(std::uint64_t seed, int n, double max_condition, double allowed,
                                   ComparisonTally& tally) {
  std::mt19937_64 rng(seed);
  for (int i = 0; i < n; ++i) {
    const ContactState contact = RandomSpatial(rng, max_condition);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    SCOPED_TRACE(::testing::Message() << "case " << i << " law " << LawName(model.law) << " digit "
                                      << outcome.path_case.digit);
    if (outcome.status == SolveStatus::kNoApproach) {
      ++tally.no_approach;
      ASSERT_EQ(contact.v_minus_F.z(), 0);
      continue;
    }
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    if (std::abs(StickFriction(contact.A_F) / model.mu_s - 1) < 1e-8) continue;
    const brute::Result exact = brute::Integrate(contact, model, false);
    if (!exact.ok) {
      // The reference gives up on a handful of nearly singular paths; the judge, who shares nothing
      // with either, still has its say.
      ++tally.not_integrated;
      ASSERT_TRUE(Certify(contact, model, outcome).ok);
      continue;
    }
    const double speed = contact.v_minus_F.norm();
    double error = 0;
    for (int k = 0; k < 3; ++k) {
      error = std::max<double>(
          error, std::abs(static_cast<double>(outcome.v_plus_F[k] - exact.v[k])) / speed);
      error = std::max<double>(
          error, std::abs(static_cast<double>(outcome.J_F[k] - exact.J[k])) / outcome.J_F.norm());
    }
    ASSERT_LT(error, allowed);
    if (outcome.error_bound > 0) {
      ASSERT_LT(std::abs(static_cast<double>(outcome.v_plus_F.z() - exact.v[2])),
                outcome.error_bound * speed);
    }
    const double energy =
        std::abs(static_cast<double>(exact.W_c)) + std::abs(static_cast<double>(exact.W_t));
    const double work_error =
        std::max({std::abs(static_cast<double>(outcome.work_n_c - exact.W_c)),
                  std::abs(static_cast<double>(outcome.work_n_r - exact.W_r)),
                  std::abs(static_cast<double>(outcome.work_t - exact.W_t))}) /
        energy;
    ASSERT_LT(work_error, allowed);
    // Slip that comes within rounding of v_t = 0 and goes on may count either way.
    tally.digit_differs += exact.digit != outcome.path_case.digit;
    tally.worst = std::max(tally.worst, error);
    tally.worst_work = std::max(tally.worst_work, work_error);
    ++tally.compared;
    ++tally.digits[outcome.path_case.digit];
    bool above = false, back = false;
    for (const PathPoint& point : outcome.dense) {
      above = above || point.v_F.z() > 1e-9 * speed;
      back = back || (above && point.v_F.z() < -1e-9 * speed);
    }
    tally.resumed += back;
  }
}

}  // namespace impactlab
