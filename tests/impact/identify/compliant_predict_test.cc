#include "impact/identify/compliant_predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"
#include "tests/impact/identify_twin.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

PlanarContact RandomContact(std::mt19937_64& rng) {
  for (;;) {
    const auto contact = PlanarPart(RandomPlanar(rng, 20));
    if (contact->v_n < -0.1 * std::abs(contact->v_t)) return *contact;
  }
}

TEST(CompliantPredict, AnyPlanarContactIsThatOfABody) {
  std::mt19937_64 rng(31);
  for (int i = 0; i < 200; ++i) {
    const PlanarContact contact = RandomContact(rng),
                        again = RigidContact(FrozenImpact(contact, 0.1, 0.1));
    const double scale = contact.A_tt + contact.A_nn;
    EXPECT_NEAR(again.A_tt, contact.A_tt, 1e-12 * scale);
    EXPECT_NEAR(again.A_tn, contact.A_tn, 1e-12 * scale);
    EXPECT_NEAR(again.A_nn, contact.A_nn, 1e-12 * scale);
    EXPECT_EQ(again.v_t, contact.v_t);
    EXPECT_EQ(again.v_n, contact.v_n);
  }
}

TEST(CompliantPredict, DampingGivesTheRestitutionAskedFor) {
  for (const CompliantLaw law : kValidatedCompliantLaws)
    for (const double e : {0.05, 0.3, 0.7, 0.99, 1.0})
      for (const double A_nn : {0.2, 30.0})
        EXPECT_NEAR(ImpliedRestitution(CompliantWith(law, e, A_nn, 1.7), 1 / A_nn, 1.7), e, 1e-9)
            << LawName(law);
  EXPECT_THROW(CompliantWith(CompliantLaw::kHertz, 0.5, 1, 1), ConfigError);
}

// Where slip goes on in one direction the contact is the energetic law, at the restitution of the
// speed.
TEST(CompliantPredict, SlidingIsTheEnergeticLaw) {
  std::mt19937_64 rng(32);
  int compared = 0;
  for (int i = 0; i < 400; ++i) {
    PlanarContact contact = RandomContact(rng);
    contact.A_tn = 0;
    const double mu = Uniform(rng, 0, 0.4), e = Uniform(rng, 0.1, 0.9);
    for (const CompliantLaw law : kValidatedCompliantLaws) {
      const ImpactDerivatives d = Differentiate(contact, law, e, mu, 1.3);
      ASSERT_EQ(d.status, SolveStatus::kOk);
      const double at_speed = law == CompliantLaw::kHuntCrossley
                                  ? ImpliedRestitution(CompliantWith(law, e, contact.A_nn, 1.3),
                                                       1 / contact.A_nn, -contact.v_n)
                                  : e;
      const ImpactOutcome rigid =
          Solve(InSpace(contact), {{at_speed, mu, mu}, RestitutionLaw::kEnergetic});
      if (rigid.path_case.digit != 0) continue;
      ++compared;
      EXPECT_LT((d.J_F - rigid.J_F).norm(), 1e-6 * rigid.J_F.norm()) << LawName(law);
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(CompliantPredict, DerivativesAreThoseOfTheEnergeticLawWhereBothAreOne) {
  std::mt19937_64 rng(33);
  int compared = 0;
  for (int i = 0; i < 200 && compared < 50; ++i) {
    PlanarContact contact = RandomContact(rng);
    contact.A_tn = 0;
    const ImpactModel model{{Uniform(rng, 0.2, 0.8), 0.2, 0.2}, RestitutionLaw::kEnergetic};
    const ImpactDerivatives rigid = Differentiate(InSpace(contact), model);
    if (rigid.path_case.digit != 0) continue;
    const ImpactDerivatives d =
        Differentiate(contact, CompliantLaw::kSpringDashpot, model.e, model.mu_k, 1);
    ++compared;
    const double J = rigid.J_F.norm(), speed = std::hypot(contact.v_t, contact.v_n);
    for (const int column : {0, 2, 9, 10}) {
      const double unit = column < 3 ? speed : 1;
      EXPECT_LT((d.dJ.col(column) - rigid.dJ.col(column)).norm() * unit, 1e-4 * J) << column;
    }
  }
  EXPECT_EQ(compared, 50);
}

// The plus state of an event, and its covariance, by both ways to predict it.
TEST(CompliantPredict, EventsWithoutCoupling) {
  std::mt19937_64 random(34);
  const Body ball = MakeBall(0.02, 0.03, true);
  const std::vector<ImpactEvent> events = twin::Experiment(
      ball, {.n = 30, .mu = 0.05, .e = 0.6, .sd_t = 0.01, .sd_n = 0.01, .sd_c = 0.01}, random);
  const LawFit fit = Identify(events, ball, {{}, RestitutionLaw::kEnergetic});
  for (const ImpactEvent& event : events) {
    const auto soft = Predict(event, ball, CompliantLaw::kSpringDashpot, fit, 1.5);
    ASSERT_TRUE(soft.has_value());
    const Prediction rigid = Predict(event, ball, ModelOf(fit), fit);
    if (rigid.outcome.path_case.digit != 0) continue;
    // errors of the lever couple a little
    EXPECT_LT((soft->motion.plus - rigid.plus).norm(), 1e-3 * rigid.plus.norm());
    EXPECT_LT((soft->motion.cov - rigid.cov).norm(), 1e-3 * rigid.cov.norm());
    EXPECT_LT(soft->bare.cov.trace(), soft->motion.cov.trace());
  }
  LawFit newton = fit;
  newton.law = "newton";
  EXPECT_THROW(Predict(events[0], ball, CompliantLaw::kHuntCrossley, newton, 1.5), ConfigError);
}

}  // namespace
}  // namespace impactlab
