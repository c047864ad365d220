// Painleve's paradox: critical friction, the four regimes and the impact without collision
// (the Bristol thesis, section 6).

#include "impact/law/painleve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "impact/law/certify.h"
#include "impact/law/energetic_map.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

PlanarContact PainleveRod(double theta, double v_t, double v_n) {
  const double s = std::sin(theta), c = std::cos(theta);
  return {.A_tt = 1 + 3 * s * s, .A_tn = -3 * s * c, .A_nn = 1 + 3 * c * c, .v_t = v_t, .v_n = v_n};
}

// 4/3 at tan theta = 2, and the same number as the singular ratio of Brach's law.
TEST(Painleve, LeastCriticalFrictionOfARod) {
  const LeastCriticalFriction least = LeastRodCriticalFriction(std::sqrt(1.0 / 3));
  EXPECT_NEAR(least.mu, 4.0 / 3, 1e-14);
  EXPECT_NEAR(least.theta, 1.1071487177940904, 1e-14);
  EXPECT_NEAR(FindCriticalFriction(PainleveRod(least.theta, -1, 0), 0.5).press, 4.0 / 3, 1e-14);
  for (const double step : {-0.01, 0.01})
    EXPECT_GT(RodCriticalFriction(least.theta + step, std::sqrt(1.0 / 3)), least.mu);
  EXPECT_NEAR(RodCriticalFriction(0.4, std::sqrt(1.0 / 3)),
              FindCriticalFriction(PainleveRod(0.4, -1, 0), 0.5).press, 1e-14);
  EXPECT_TRUE(std::isinf(FindCriticalFriction(PainleveRod(0.4, 1, 0), 0.5).press));
}

TEST(Painleve, RegimesOfARod) {
  const PlanarContact slip = PainleveRod(std::atan(2.0), -1, 0);
  EXPECT_EQ(ClassifyContact(slip, 1.3, -9.81), ContactRegime::kContact);
  EXPECT_EQ(ClassifyContact(slip, 1.3, 1), ContactRegime::kSeparation);
  EXPECT_EQ(ClassifyContact(slip, 1.4, -9.81), ContactRegime::kInconsistent);
  EXPECT_EQ(ClassifyContact(slip, 1.4, 1), ContactRegime::kIndeterminate);
  // slip to the other side
  EXPECT_EQ(ClassifyContact(PainleveRod(std::atan(2.0), 1, 0), 1.4, -9.81),
            ContactRegime::kContact);
  // at rest
  EXPECT_EQ(ClassifyContact(PainleveRod(std::atan(2.0), 0, 0), 5, -9.81), ContactRegime::kContact);
  EXPECT_EQ(ClassifyContact(PainleveRod(std::atan(2.0), -1, -0.1), 1.4, -9.81),
            ContactRegime::kMoving);
}

// The force balance itself decides: a regime is what the set of non-negative forces that solve it
// looks like.
TEST(Painleve, RegimesAreTheSolutionsOfTheForceBalance) {
  std::mt19937_64 rng(20240621);
  int seen[4] = {};
  for (int i = 0; i < 20000; ++i) {
    PlanarContact contact = *PlanarPart(RandomPlanar(rng, 100));
    contact.v_n = 0;
    const double mu = Uniform(rng, 0, 3), free_n = Uniform(rng, -10, 10);
    if (contact.v_t == 0) continue;
    const double k_n = contact.A_nn - (contact.v_t > 0 ? 1 : -1) * mu * contact.A_tn;
    const double N = -free_n / k_n;  // force that keeps a_n = 0
    const int solutions = (N > 0) + (free_n >= 0);
    const ContactRegime regime = ClassifyContact(contact, mu, free_n);
    ++seen[static_cast<int>(regime)];
    if (regime == ContactRegime::kInconsistent) {
      ASSERT_EQ(solutions, 0);
    } else if (regime == ContactRegime::kIndeterminate) {
      ASSERT_EQ(solutions, 2);
    } else {
      ASSERT_EQ(solutions, 1);
      ASSERT_EQ(N > 0, regime == ContactRegime::kContact);
    }
  }
  for (const int n : seen) EXPECT_GT(n, 300);
}

// Digest 4.6: mu through the critical value at v_n = 0; v_n+ starts like a square root, only v_t
// jumps.
TEST(Painleve, ImpactWithoutCollision) {
  const double theta = std::atan(2.0);
  const struct {
    double mu, v_n, v_t_plus, v_n_plus;
  } rows[] = {{1.3333323, 0, -1, 0},
              {1.4, 0, 0, 0.0445288},
              {1.5, 0, 0, 0.0672673},
              {2, 0, 0, 0.1122722},
              {1.5, -0.5, 0, 0.3940307}};
  for (const auto& row : rows) {
    const PlanarContact contact = PainleveRod(theta, -1, row.v_n);
    const EnergeticMapResult plus = EnergeticMap(contact, 0.5, row.mu, row.mu);
    EXPECT_NEAR(plus.v_t, row.v_t_plus, 1e-12) << row.mu;
    EXPECT_NEAR(plus.v_n, row.v_n_plus, 5e-8) << row.mu;
    const ImpactModel model{{.e = 0.5, .mu_k = row.mu, .mu_s = row.mu}, RestitutionLaw::kEnergetic};
    const ContactState in_space = InSpace(contact);
    const ImpactOutcome outcome = Solve(in_space, model);
    EXPECT_NEAR(outcome.v_plus_F.z(), row.v_n_plus, 5e-8);
    EXPECT_TRUE(Certify(in_space, model, outcome).ok);
    if (row.v_n == 0 && row.mu > 4.0 / 3) {
      const double k_t = contact.A_tn + row.mu * contact.A_tt,
                   k_n = contact.A_nn + row.mu * contact.A_tn;
      const double stick = contact.Determinant() / contact.A_tt;
      EXPECT_NEAR(plus.v_n, 0.5 * std::abs(k_n / k_t) * std::sqrt(1 + stick / std::abs(k_n)),
                  1e-14);
    }
  }
  const auto rise = [&](double over) {
    return EnergeticMap(PainleveRod(theta, -1, 0), 0.5, 4.0 / 3 + over, 4.0 / 3 + over).v_n;
  };
  EXPECT_NEAR(rise(4e-6) / rise(1e-6), 2, 1e-2);
}

// The double pendulum on a belt (section 6.3), absolute angles, masses 0.5: A = J M^-1 J' of the
// printed M and J, whatever the lengths.
PlanarContact DoublePendulum(double theta, double phi, double v_t) {
  const double m = 0.5, l_1 = 0.7, l_2 = 1.1;
  Eigen::Matrix2d M, J;
  M << 2 * m * l_1 * l_1, m * l_1 * l_2 * std::cos(theta - phi),
      m * l_1 * l_2 * std::cos(theta - phi), m * l_2 * l_2;
  J << l_1 * std::sin(theta), l_2 * std::sin(phi), l_1 * std::cos(theta), l_2 * std::cos(phi);
  const Eigen::Matrix2d A = J * M.inverse() * J.transpose();
  return {.A_tt = A(0, 0), .A_tn = A(0, 1), .A_nn = A(1, 1), .v_t = v_t, .v_n = 0};
}

// A8, A9: lift-off at mu = 0.82 and none at 0.8199; printed 0.462 belongs to theta = 4.2062.
TEST(Painleve, DoublePendulumOnABelt) {
  const PlanarContact first = DoublePendulum(3.8572, 4.1154, 0.96),
                      second = DoublePendulum(4.2062, 4.3, 0.98);
  EXPECT_NEAR(first.A_tt, 1.406650, 1e-6);
  EXPECT_NEAR(first.A_tn, 0.872926, 1e-6);
  EXPECT_NEAR(first.A_nn, 0.715767, 1e-6);
  EXPECT_NEAR(FindCriticalFriction(first, 0.7).press, 0.81996, 1e-5);
  EXPECT_NEAR(FindCriticalFriction(second, 0.9).press, 0.461365, 1e-6);
  EXPECT_NEAR(FindCriticalFriction(DoublePendulum(4.21, 4.3, 0.98), 0.9).press, 0.459474, 1e-6);
  EXPECT_EQ(EnergeticMap(first, 0.7, 0.8199, 0.8199).region, 0);
  EXPECT_EQ(EnergeticMap(second, 0.9, 0.461, 0.461).region, 0);
  EXPECT_NEAR(EnergeticMap(first, 0.7, 0.82, 0.82).v_n, 0.005738, 1e-5);
  EXPECT_NEAR(EnergeticMap(first, 0.7, 1.3, 1.3).v_n, 0.350531, 1e-5);
  EXPECT_NEAR(EnergeticMap(second, 0.9, 0.462, 0.462).v_n, 0.056446, 1e-5);
  EXPECT_NEAR(EnergeticMap(second, 0.9, 1.3, 1.3).v_n, 0.375552, 1e-5);
  const ImpactOutcome outcome =
      Solve(InSpace(first), {{.e = 0.7, .mu_k = 1.3, .mu_s = 1.3}, RestitutionLaw::kEnergetic});
  EXPECT_NEAR(outcome.J_F.z(), 5.43671, 1e-5);
}

}  // namespace
}  // namespace impactlab
