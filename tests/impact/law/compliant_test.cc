// Compliant contacts against their closed forms, against the rigid laws at frozen configuration,
// and in the stiff limit.

#include "impact/law/compliant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"
#include "impact/law/energetic_map.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

// A rod of mass and half length one that strikes with its end.
CompliantImpact Rod(double theta, double v_t, double v_n, double mu) {
  CompliantImpact impact{.mass = 1,
                         .inertia = 1.0 / 3,
                         .r_t = -std::cos(theta),
                         .r_n = -std::sin(theta),
                         .v_t = v_t,
                         .v_n = v_n};
  impact.mu_k = impact.mu_s = mu;
  return impact;
}

TEST(Compliant, MaxwellPeakOfTheBristolThesis) {
  // zeta = 0.5: the force peaks at 0.546293 after 1.209200 (unit mass, stiffness and speed).
  const CompliantModel model{.law = CompliantLaw::kMaxwell, .stiffness = 1, .damping = 1};
  EXPECT_NEAR(ImpliedRestitution(model, 1, 1), std::exp(-M_PI * 0.5 / std::sqrt(0.75)), 1e-15);
  EXPECT_EQ(
      ImpliedRestitution({.law = CompliantLaw::kMaxwell, .stiffness = 1, .damping = 0.5}, 1, 1), 0);
}

TEST(Compliant, DashpotThatDoesNotPull) {
  const auto e = [](double zeta) {
    return ImpliedRestitution(
        {.law = CompliantLaw::kSpringDashpot, .stiffness = 4, .damping = 2 * zeta * 2}, 1, 1);
  };
  EXPECT_EQ(e(0), 1);
  EXPECT_NEAR(e(1 - 1e-9), e(1 + 1e-9), 1e-8);
  EXPECT_NEAR(e(1), std::exp(-2.0), 1e-15);
  // It always gives back more than the printed formula, which lets the contact pull.
  for (const double zeta : {0.05, 0.3, 0.7, 0.9}) {
    const CompliantModel model{
        .law = CompliantLaw::kSpringDashpot, .stiffness = 4, .damping = 4 * zeta};
    EXPECT_GT(ImpliedRestitution(model, 1, 1), PrintedSpringDashpotRestitution(model, 1));
  }
}

TEST(Compliant, HuntCrossleyInvertsAndHasItsFirstOrder) {
  for (const double e : {0.999, 0.8, 0.4, 0.05}) {
    const double d = HuntCrossleyDamping(e, 1.7);
    EXPECT_NEAR(ImpliedRestitution({.law = CompliantLaw::kHuntCrossley, .damping = d}, 3, 1.7), e,
                1e-11);
  }
  const double d = 1e-4;
  const double e = ImpliedRestitution({.law = CompliantLaw::kHuntCrossley, .damping = d}, 1, 1);
  EXPECT_NEAR((1 - e) / (1 - FirstOrderRestitution(d, 1)), 1, 1e-4);
  EXPECT_NEAR(PowerRestitution(0.1, 0.2, 1), 0.9, 1e-15);
  EXPECT_EQ(FirstOrderRestitution(1, 10), 0);
}

// Slip that lasts, frozen: every model has the restitution of its closed form, in mass 1 / k_n.
TEST(Compliant, ImpliedRestitutionIsWhatTheIntegrationFinds) {
  const CompliantImpact impact = Rod(0.9, 3, -1, 0.2);
  const PlanarContact rigid = RigidContact(impact);
  const double k_n = rigid.A_nn - impact.mu_k * rigid.A_tn;
  for (const CompliantModel& model :
       {CompliantModel{.law = CompliantLaw::kSpringDashpot, .stiffness = 1e5, .damping = 60},
        CompliantModel{.law = CompliantLaw::kSpringDashpot, .stiffness = 1e5, .damping = 600},
        CompliantModel{.law = CompliantLaw::kHertz, .stiffness = 1e7},
        CompliantModel{.law = CompliantLaw::kHysteresis, .stiffness = 1e7, .residual = 0.6},
        CompliantModel{
            .law = CompliantLaw::kHysteresis, .stiffness = 1e5, .power = 1, .residual = 0.3},
        CompliantModel{.law = CompliantLaw::kHuntCrossley, .stiffness = 1e7, .damping = 0.7},
        CompliantModel{
            .law = CompliantLaw::kHuntCrossley, .stiffness = 1e5, .power = 1, .damping = 3},
        CompliantModel{.law = CompliantLaw::kMaxwell, .stiffness = 1e5, .damping = 300}}) {
    const CompliantOutcome out = IntegrateCompliantImpact(impact, model, {.frozen = true});
    ASSERT_EQ(out.status, SolveStatus::kOk) << LawName(model.law);
    EXPECT_EQ(out.digit, 0);
    const double e = ImpliedRestitution(model, 1 / k_n, 1);
    EXPECT_GT(e, 0.01);
    EXPECT_NEAR(out.v_n, e, 1e-7) << LawName(model.law) << " " << model.damping;
    EXPECT_NEAR(out.e_star(), e, 1e-7) << LawName(model.law);
    EXPECT_NEAR(out.v_t, rigid.v_t + (rigid.A_tn - impact.mu_k * rigid.A_tt) * out.J_n, 1e-9);
  }
}

// Hertz and hysteresis are the energetic law whatever slip does, since their work is one function
// of the indentation.
TEST(Compliant, HysteresisIsTheEnergeticLawInAllCases) {
  std::mt19937_64 rng(20240631);
  int digits[7] = {};
  for (int i = 0; i < 300; ++i) {
    CompliantImpact impact =
        Rod(Uniform(rng, 0.1, 3), i % 10 == 0 ? 0 : Uniform(rng, -3, 3), -1, Uniform(rng, 0, 1.2));
    impact.mu_s = impact.mu_k * (i % 2 == 0 ? 1 : 1.2);
    const double residual = i % 3 == 0 ? 0 : Uniform(rng, 0.1, 0.95), e = std::sqrt(1 - residual);
    const CompliantModel model{
        .law = residual == 0 ? CompliantLaw::kHertz : CompliantLaw::kHysteresis,
        .stiffness = 1e7,
        .power = i % 4 == 0 ? 1.0 : 1.5,
        .residual = residual};
    const PlanarContact rigid = RigidContact(impact);
    const EnergeticMapResult exact = EnergeticMap(rigid, e, impact.mu_k, impact.mu_s);
    const CompliantOutcome out = IntegrateCompliantImpact(impact, model, {.frozen = true});
    ASSERT_EQ(out.status, SolveStatus::kOk);
    ASSERT_NEAR(out.v_t, exact.v_t, 2e-6) << i << " region " << exact.region;
    ASSERT_NEAR(out.v_n, exact.v_n, 2e-6) << i << " region " << exact.region;
    ASSERT_EQ(out.digit, exact.Digit(rigid.v_t == 0)) << i;
    ++digits[out.digit];
  }
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 2) << digit;
}

// The body moves while a soft contact lasts. The difference from the rigid law falls like the
// duration: k^(-1/2) for a linear spring, k^(-2/5) with the power 3/2.
TEST(Compliant, StiffLimitApproachesTheEnergeticLaw) {
  const struct {
    double theta, v_t, mu;
    int digit;
  } cases[] = {{0.9, 3, 0.2, 0},
               {1.6, 1.36, 0.2, 3},
               {0.18, 0.46, 1.2, 1},
               {0.63, 1.15, 0.3, 4},
               {0.98, 0.93, 0.1, 2}};
  for (const auto& c : cases) {
    const CompliantImpact impact = Rod(c.theta, c.v_t, -1.3, c.mu);
    for (const double power : {1.0, 1.5}) {
      const auto error = [&](double stiffness) {
        const CompliantModel model{.law = CompliantLaw::kHysteresis,
                                   .stiffness = stiffness,
                                   .power = power,
                                   .residual = 0.51};
        const CompliantOutcome out = IntegrateCompliantImpact(impact, model);
        EXPECT_EQ(out.status, SolveStatus::kOk);
        EXPECT_EQ(out.digit, c.digit) << c.theta;
        const EnergeticMapResult exact = EnergeticMap(RigidContact(impact), 0.7, c.mu, c.mu);
        return std::hypot(out.v_t - exact.v_t, out.v_n - exact.v_n);
      };
      const double rate = std::log(error(1e9) / error(1e11)) / std::log(100.0);
      EXPECT_NEAR(rate, 1 / (power + 1), 0.03)
          << "theta " << c.theta << " power " << power << ": " << error(1e9) << " " << error(1e11);
    }
  }
}

// Hunt-Crossley in the stiff limit: the rigid law with the implied restitution while slip lasts;
// where slip stops or turns around, a difference between models that no stiffness removes.
TEST(Compliant, HuntCrossleyKeepsADifferenceWhereSlipChanges) {
  const auto gap = [](const CompliantImpact& impact, double stiffness) {
    const PlanarContact rigid = RigidContact(impact);
    const double k_n = rigid.A_nn - (rigid.v_t > 0 ? 1 : -1) * impact.mu_k * rigid.A_tn;
    const CompliantModel model{.law = CompliantLaw::kHuntCrossley,
                               .stiffness = stiffness,
                               .damping = HuntCrossleyDamping(0.6, -rigid.v_n)};
    const CompliantOutcome out = IntegrateCompliantImpact(impact, model, {.frozen = true});
    const EnergeticMapResult exact = EnergeticMap(
        rigid, ImpliedRestitution(model, 1 / k_n, -rigid.v_n), impact.mu_k, impact.mu_s);
    EXPECT_EQ(out.digit, exact.Digit(false));
    return std::hypot(out.v_t - exact.v_t, out.v_n - exact.v_n);
  };
  EXPECT_LT(gap(Rod(0.9, 3, -1.3, 0.2), 1e8), 1e-7);
  const CompliantImpact sticks = Rod(0.18, 0.46, -1.3, 1.2), reverses = Rod(0.98, 0.93, -1.3, 0.1);
  for (const CompliantImpact& impact : {sticks, reverses}) {
    const double soft = gap(impact, 1e6), stiff = gap(impact, 1e10);
    EXPECT_GT(soft, 1e-4);
    EXPECT_LT(soft, 0.1);
    EXPECT_NEAR(soft, stiff, 1e-6);
  }
}

// The table in the README of the room: elements that have e = 0.6 while the first slip lasts,
// against the energetic law with e* = 0.6. Ends of a rod at 1.3 m/s, frozen; e* is what the
// element's normal work comes to.
TEST(Compliant, TableOfModelDifferences) {
  const struct {
    double theta, v_t, mu;
    int digit;
    double e_star[3], dv_n[3];
  } rows[] = {{0.9, 3, 0.2, 0, {0.6, 0.6, 0.6}, {0, 0, 0}},
              {1.6, 1.36, 0.2, 3, {0.5997, 0.5997, 0.6000}, {-0.0004, -0.0004, 0.0000}},
              {0.63, 1.15, 0.3, 4, {0.6038, 0.6044, 0.5996}, {0.0039, 0.0045, -0.0004}},
              {0.18, 0.46, 1.2, 1, {0.6180, 0.6153, 0.5789}, {0.0211, 0.0179, -0.0246}},
              {0.98, 0.93, 0.1, 2, {0.6121, 0.6102, 0.5864}, {0.0146, 0.0123, -0.0165}}};
  constexpr double kStiffness = 1e8, kRestitution = 0.6, kSpeed = 1.3;
  for (const auto& row : rows) {
    const CompliantImpact impact = Rod(row.theta, row.v_t, -kSpeed, row.mu);
    const PlanarContact rigid = RigidContact(impact);
    const double mass = 1 / (rigid.A_nn - row.mu * rigid.A_tn);
    // Damping of the element by its closed form: a logarithm for Maxwell, halving for the dashpot.
    const double decrement = -std::log(kRestitution) / M_PI,
                 zeta = decrement / std::hypot(1, decrement);
    CompliantModel dashpot{.law = CompliantLaw::kSpringDashpot, .stiffness = kStiffness};
    double low = 0, high = 2 * std::sqrt(kStiffness * mass);
    for (int i = 0; i < 100; ++i) {
      dashpot.damping = 0.5 * (low + high);
      (ImpliedRestitution(dashpot, mass, kSpeed) > kRestitution ? low : high) = dashpot.damping;
    }
    const CompliantModel models[3] = {{.law = CompliantLaw::kHuntCrossley,
                                       .stiffness = kStiffness,
                                       .damping = HuntCrossleyDamping(kRestitution, kSpeed)},
                                      dashpot,
                                      {.law = CompliantLaw::kMaxwell,
                                       .stiffness = kStiffness,
                                       .damping = std::sqrt(kStiffness * mass) / (2 * zeta)}};
    const EnergeticMapResult exact = EnergeticMap(rigid, kRestitution, row.mu, row.mu);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(ImpliedRestitution(models[k], mass, kSpeed), kRestitution, 1e-9);
      const CompliantOutcome out = IntegrateCompliantImpact(impact, models[k], {.frozen = true});
      EXPECT_EQ(out.digit, row.digit);
      EXPECT_NEAR(out.e_star(), row.e_star[k], 6e-5) << row.digit << " " << LawName(models[k].law);
      EXPECT_NEAR(out.v_n - exact.v_n, row.dv_n[k], 6e-5)
          << row.digit << " " << LawName(models[k].law);
    }
  }
}

TEST(Compliant, RefusesWhatIsNoModel) {
  const CompliantImpact impact = Rod(0.9, 3, -1, 0.2);
  EXPECT_THROW(IntegrateCompliantImpact(impact, {.stiffness = 0}), ConfigError);
  EXPECT_THROW(IntegrateCompliantImpact(impact, {.power = 0.5}), ConfigError);
  EXPECT_THROW(IntegrateCompliantImpact(impact, {.law = CompliantLaw::kMaxwell, .damping = 0}),
               ConfigError);
  EXPECT_THROW(IntegrateCompliantImpact(impact, {.law = CompliantLaw::kHysteresis, .residual = 1}),
               ConfigError);
  EXPECT_THROW(HuntCrossleyDamping(0, 1), ConfigError);
  CompliantImpact bad = impact;
  bad.mu_s = 0.1;
  EXPECT_THROW(IntegrateCompliantImpact(bad, {}), ConfigError);
  EXPECT_EQ(IntegrateCompliantImpact(Rod(0.9, 3, 1, 0.2), {}).status, SolveStatus::kNoApproach);
}

}  // namespace
}  // namespace impactlab
