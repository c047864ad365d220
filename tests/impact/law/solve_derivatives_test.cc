// Differentiate against central differences of Solve, over random impacts away from mode
// boundaries.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "impact/law/solve.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

using Derivative = Eigen::Matrix<double, 6, 12>;  // rows: v_plus_F, J_F

struct Moved {
  ContactState contact;
  ImpactModel model;
};

// Input `k` of the derivative moved by `h`.
Moved Move(ContactState contact, ImpactModel model, int k, double h) {
  static constexpr int kPairs[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
  if (k < 3) {
    contact.v_minus_F[k] += h;
  } else if (k < 9) {
    const auto [i, j] = kPairs[k - 3];
    contact.A_F(i, j) += h;
    if (i != j) contact.A_F(j, i) += h;
  } else if (k == 9) {
    model.e += h;
  } else if (k == 10) {
    model.mu_k += h;
    model.mu_s = std::max(model.mu_s, model.mu_k);
  } else {
    model.mu_s += h;
  }
  return {contact, model};
}

// Central difference of sixth order; empty where a neighbour has another mode or the input leaves
// its range.
std::optional<Eigen::Matrix<double, 6, 1>> Difference(const ContactState& contact,
                                                      const ImpactModel& model, int k, double h,
                                                      ImpactCase path_case) {
  static constexpr double kWeights[3] = {0.75, -0.15, 1.0 / 60};
  SolveOptions options;
  options.tolerance = 1e-14;
  options.dense_output = false;
  Eigen::Matrix<double, 6, 1> sum = Eigen::Matrix<double, 6, 1>::Zero();
  for (int i = 1; i <= 3; ++i) {
    for (const int sign : {1, -1}) {
      const Moved moved = Move(contact, model, k, sign * i * h);
      const ImpactOutcome outcome = Solve(moved.contact, moved.model, options);
      if (outcome.status != SolveStatus::kOk || outcome.path_case.digit != path_case.digit)
        return std::nullopt;
      Eigen::Matrix<double, 6, 1> values;
      values << outcome.v_plus_F, outcome.J_F;
      sum += sign * kWeights[i - 1] / h * values;
    }
  }
  return sum;
}

struct Tally {
  int compared = 0, skipped = 0, digits[7] = {};
  double worst = 0;
};

// Relative to the largest derivative of the same kind (by v, by A, by a coefficient).
void Check(const ContactState& contact, const ImpactModel& model, bool planar, double allowed,
           Tally& tally) {
  const ImpactDerivatives derivatives = Differentiate(contact, model);
  SolveOptions options;
  options.tolerance = 1e-13;
  const ImpactOutcome outcome = Solve(contact, model, options);
  ASSERT_EQ(derivatives.status, outcome.status);
  if (outcome.status != SolveStatus::kOk) return;
  ASSERT_EQ(derivatives.path_case.digit, outcome.path_case.digit);
  ASSERT_LT((derivatives.v_plus_F - outcome.v_plus_F).norm(), 1e-10 * contact.v_minus_F.norm());
  ASSERT_LT((derivatives.J_F - outcome.J_F).norm(), 1e-10 * outcome.J_F.norm());
  Derivative exact;
  exact << derivatives.dv_plus, derivatives.dJ;
  ASSERT_TRUE(exact.allFinite());
  // From rest, or with v_n = 0, a change of v_minus changes the mode: one-sided.
  const bool boundary = outcome.path_case.digit >= 5 || contact.v_minus_F.z() == 0;
  const double speed = contact.v_minus_F.norm(), A = contact.A_F.diagonal().maxCoeff();
  for (int k = 0; k < 12; ++k) {
    if (planar && (k == 1 || k == 4 || k == 6 || k == 7)) {
      ASSERT_TRUE(exact.col(k).isZero(0)) << "planar derivatives stay in the plane";
      continue;
    }
    if (boundary && k < 3) continue;
    if ((k == 9 && (model.e < 1e-2 || model.e > 0.99)) || (k == 10 && model.mu_k < 1e-2) ||
        (k == 11 && model.mu_s == model.mu_k))
      continue;
    if (k == 10 && model.mu_s - model.mu_k < 1e-2) continue;  // mu_s would move along
    const double unit = k < 3 ? speed : k < 9 ? A : 1;
    // Smooth to what scale? The step is halved until two differences agree; where they never do, a
    // mode boundary is too near.
    std::optional<Eigen::Matrix<double, 6, 1>> best, last;
    double best_gap = 1e30;
    const auto v_scale = [&](const Eigen::Matrix<double, 6, 1>& d) {
      return std::max(d.head<3>().norm() * unit, speed);
    };
    const auto J_scale = [&](const Eigen::Matrix<double, 6, 1>& d) {
      return std::max(d.tail<3>().norm() * unit, outcome.J_F.norm());
    };
    for (int i = 0; i < 7; ++i) {
      const double h = std::ldexp(1e-3, -2 * i);
      const auto now = Difference(contact, model, k, h * unit, outcome.path_case);
      if (now && last) {
        const double gap = std::max((*now - *last).head<3>().norm() * unit / v_scale(*now),
                                    (*now - *last).tail<3>().norm() * unit / J_scale(*now));
        if (gap < best_gap) best_gap = gap, best = now;
      }
      last = now;
    }
    if (!best || best_gap > 0.1 * allowed) {
      ++tally.skipped;
      continue;
    }
    const Eigen::Matrix<double, 6, 1> gap = exact.col(k) - *best;
    const double error = std::max(gap.head<3>().norm() * unit / v_scale(*best),
                                  gap.tail<3>().norm() * unit / J_scale(*best));
    ASSERT_LT(error, allowed) << "input " << k << " digit " << outcome.path_case.digit << " law "
                              << LawName(model.law) << "\nexact\n"
                              << exact.col(k).transpose() << "\ndifference\n"
                              << best->transpose() << "\ngap of differences " << best_gap;
    tally.worst = std::max(tally.worst, error);
    ++tally.compared;
    ++tally.digits[outcome.path_case.digit];
  }
}

TEST(Differentiate, PlanarAgainstDifferences) {
  std::mt19937_64 rng(20240201);
  Tally tally;
  for (int i = 0; i < 3000; ++i) {
    const ContactState contact = RandomPlanar(rng, 100);
    const ImpactModel model = RandomModel(rng);
    SCOPED_TRACE(i);
    Check(contact, model, true, 1e-6, tally);
    if (HasFatalFailure()) return;
  }
  std::printf("planar: %d compared, %d skipped, worst %.2g\n", tally.compared, tally.skipped,
              tally.worst);
  EXPECT_GT(tally.compared, 10 * tally.skipped);
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(tally.digits[digit], 100) << digit;
}

TEST(Differentiate, SpatialAgainstDifferences) {
  std::mt19937_64 rng(20240202);
  Tally tally;
  for (int i = 0; i < 250; ++i) {
    const ContactState contact = RandomSpatial(rng, 100);
    const ImpactModel model = RandomModel(rng);
    SCOPED_TRACE(i);
    Check(contact, model, false, 1e-6, tally);
    if (HasFatalFailure()) return;
  }
  std::printf("spatial: %d compared, %d skipped, worst %.2g\n", tally.compared, tally.skipped,
              tally.worst);
  EXPECT_GT(tally.compared, 10 * tally.skipped);
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(tally.digits[digit], 5) << digit;
}

// e = 0 is a corner of the energetic law's formulas, not of its result.
TEST(Differentiate, FiniteAtTheEndsOfE) {
  std::mt19937_64 rng(20240203);
  for (int i = 0; i < 600; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 10) : RandomPlanar(rng, 10);
    ImpactModel model = RandomModel(rng);
    model.e = 0;
    const ImpactDerivatives at_zero = Differentiate(contact, model);
    ASSERT_TRUE(at_zero.dv_plus.allFinite() && at_zero.dJ.allFinite());
    if (at_zero.status != SolveStatus::kOk) continue;
    model.e = 1e-4;
    const ImpactOutcome moved = Solve(contact, model);
    if (moved.path_case.digit != at_zero.path_case.digit) continue;
    EXPECT_NEAR(moved.v_plus_F.z() / 1e-4, at_zero.dv_plus(2, 9),
                1e-2 * contact.v_minus_F.norm() + 1e-2 * std::abs(at_zero.dv_plus(2, 9)));
  }
}

TEST(Differentiate, NoApproachAndInvalid) {
  ContactState contact;
  contact.v_minus_F = Eigen::Vector3d(1, 0.5, 0.3);
  const ImpactDerivatives separating = Differentiate(contact, {});
  EXPECT_EQ(separating.status, SolveStatus::kNoApproach);
  EXPECT_EQ(separating.v_plus_F, contact.v_minus_F);
  EXPECT_TRUE((separating.dv_plus.leftCols<3>() - Eigen::Matrix3d::Identity()).isZero(0));
  EXPECT_TRUE(separating.dJ.isZero(0));
  contact.A_F(0, 0) = std::nan("");
  const ImpactDerivatives invalid = Differentiate(contact, {});
  EXPECT_EQ(invalid.status, SolveStatus::kInvalid);
  EXPECT_TRUE(invalid.dv_plus.isZero(0));
}

}  // namespace
}  // namespace impactlab
