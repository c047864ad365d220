// Tangential restitution of contacts that stick: closed forms, the judge, bounds and derivatives.

#include <gtest/gtest.h>

#include <cmath>

#include "impact/law/certify.h"
#include "impact/law/law_table.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

// A sphere: nothing couples the directions, A_tt = 7/2 A_nn.
ContactState Sphere(double slip, double direction) {
  ContactState contact;
  contact.A_F.diagonal() << 3.5, 3.5, 1;
  contact.v_minus_F << slip * std::cos(direction), slip * std::sin(direction), -1;
  return contact;
}

// Walton: |J_t| is the least of mu J_n and (1 + e_t) v_t- / A_tt, against the slip.
TEST(TangentialRestitution, SphereIsWaltons) {
  for (const RestitutionLaw law :
       {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson, RestitutionLaw::kNewton})
    for (const double direction : {0.0, 0.7, 2.5, M_PI})
      for (const double e_t : {0.0, 0.3, 0.8, 1.0})
        for (int i = 0; i < 17; ++i) {
          const double slip = 0.05 * std::pow(1.3, i);
          const ImpactModel model{{0.6, 0.25, 0.25, e_t}, law};
          const ContactState contact = Sphere(slip, direction);
          const ImpactOutcome outcome = Solve(contact, model);
          ASSERT_EQ(outcome.status, SolveStatus::kOk);
          const double J_n = 1.6, sticks = slip / 3.5,
                       J_t = std::min(0.25 * J_n, sticks <= 0.25 * J_n ? (1 + e_t) * sticks : 1e9);
          EXPECT_NEAR(outcome.J_F.z(), J_n, 1e-12);
          EXPECT_NEAR(outcome.J_F.head<2>().norm(), J_t, 1e-12);
          EXPECT_NEAR(
              (outcome.J_F.head<2>() + J_t * contact.v_minus_F.head<2>().normalized()).norm(), 0,
              1e-12);
          EXPECT_TRUE(Certify(contact, model, outcome).ok)
              << Certify(contact, model, outcome).Failed();
          if (law == RestitutionLaw::kNewton && direction == 0) {
            // Walton's law of impulse ratios is the same where nothing couples.
            const LawOutcome walton = Predict("whittaker", contact, {0.6, 0.25, 0.25, e_t});
            EXPECT_NEAR((walton.J_F - outcome.J_F).norm(), 0, 1e-12) << slip << " " << e_t;
          }
        }
}

struct TangentialTally {
  int stuck = 0, whole = 0, bounded = 0, gained = 0;
};

TangentialTally JudgeRandom(bool planar, int n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  TangentialTally tally;
  for (int i = 0; i < n; ++i) {
    const ContactState contact = planar ? RandomPlanar(rng, 100) : RandomSpatial(rng, 100);
    ImpactModel model = RandomModel(rng);
    const ImpactOutcome without = Solve(contact, model);
    model.e_t = Uniform(rng, 0, 1);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk) continue;
    const Certificate certificate = Certify(contact, model, outcome);
    const std::string failed = certificate.Failed();
    // Newton's law may gain energy by itself; what comes back along the surface never adds to the
    // work that friction took.
    EXPECT_TRUE(failed.empty() || failed == "energy") << i << " " << failed;
    EXPECT_LE(outcome.work_t, 1e-12 * std::abs(without.work_t));
    tally.gained += failed == "energy" && model.law != RestitutionLaw::kNewton;
    const bool stuck = outcome.path_case.digit % 2 == 1;
    EXPECT_EQ(outcome.path_case.digit, without.path_case.digit);
    if (!stuck) {
      EXPECT_EQ(outcome.recovered, 0);
      EXPECT_EQ(outcome.J_F, without.J_F);
    }
    tally.stuck += stuck;
    tally.whole += stuck && outcome.recovered == model.e_t;
    tally.bounded += stuck && outcome.recovered > 0 && outcome.recovered < model.e_t;
  }
  return tally;
}

TEST(TangentialRestitution, CertifiedOnRandomContacts) {
  for (const bool planar : {true, false}) {
    const TangentialTally tally = JudgeRandom(planar, planar ? 20000 : 3000, planar ? 71 : 72);
    EXPECT_GT(tally.stuck, planar ? 3000 : 300);
    EXPECT_GT(tally.whole, tally.stuck / 20);
    EXPECT_GT(tally.bounded, tally.stuck / 20);
    EXPECT_EQ(tally.gained, 0);
  }
}

TEST(TangentialRestitution, TheJudgeSeesWhatIsWrong) {
  std::mt19937_64 rng(73);
  int judged = 0;
  for (int i = 0; i < 3000; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 30) : RandomPlanar(rng, 30);
    ImpactModel model = RandomModel(rng);
    model.e_t = Uniform(rng, 0.2, 0.9);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk || outcome.recovered < 0.1 ||
        contact.v_minus_F.head<2>().norm() < 0.1 * contact.v_minus_F.norm())
      continue;
    ++judged;
    const auto fails = [&](const ImpactModel& other, const ImpactOutcome& o) {
      return Certify(contact, other, o).Failed().find("recovery") != std::string::npos;
    };
    EXPECT_FALSE(fails(model, outcome));
    ImpactModel less = model;
    less.e_t = 0.5 * outcome.recovered;
    EXPECT_TRUE(fails(less, outcome)) << "more came back than e_t allows";
    EXPECT_TRUE(fails(model, Solve(contact, less))) << "less came back than could";
    ImpactOutcome silent = outcome;
    silent.recovered = 0;
    EXPECT_TRUE(fails(model, silent));
  }
  EXPECT_GT(judged, 200);
}

TEST(TangentialRestitution, DerivativesAgainstDifferences) {
  std::mt19937_64 rng(74);
  int compared = 0;
  for (int i = 0; i < 6000 && compared < 600; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 30) : RandomPlanar(rng, 30);
    ImpactModel model = RandomModel(rng);
    model.e_t = Uniform(rng, 0.05, 0.9);
    const ImpactOutcome here = Solve(contact, model, {.tolerance = 1e-13});
    if (here.status != SolveStatus::kOk || here.recovered == 0) continue;
    const ImpactDerivatives d = Differentiate(contact, model);
    ASSERT_LT((d.J_F - here.J_F).norm(), 1e-9 * here.J_F.norm());
    ASSERT_LT((d.v_plus_F - here.v_plus_F).norm(), 1e-9 * contact.v_minus_F.norm());
    const auto difference = [&](const auto& move) {
      constexpr double kStep = 1e-5;
      ContactState contacts[2] = {contact, contact};
      ImpactModel models[2] = {model, model};
      ImpactOutcome out[2];
      for (int side = 0; side < 2; ++side) {
        move(contacts[side], models[side], side == 0 ? kStep : -kStep);
        out[side] = Solve(contacts[side], models[side], {.tolerance = 1e-14});
      }
      return std::pair<bool, Eigen::Vector3d>(out[0].path_case.digit == here.path_case.digit &&
                                                  out[1].path_case.digit == here.path_case.digit,
                                              (out[0].J_F - out[1].J_F) / (2 * kStep));
    };
    const bool clear = std::abs(here.recovered - model.e_t) > 1e-3 || here.recovered == model.e_t;
    if (!clear) continue;
    const double speed = contact.v_minus_F.norm();
    const auto by_e_t = difference([](ContactState&, ImpactModel& m, double h) { m.e_t += h; });
    const auto by_v =
        difference([&](ContactState& c, ImpactModel&, double h) { c.v_minus_F.x() += h * speed; });
    const auto by_e = difference([](ContactState&, ImpactModel& m, double h) { m.e += h; });
    if (by_e_t.first) {
      EXPECT_LT((by_e_t.second - d.dJ_e_t).norm(), 1e-5 * here.J_F.norm() + 1e-5 * d.dJ_e_t.norm());
    }
    if (by_v.first && here.path_case.digit < 5) {
      EXPECT_LT((by_v.second - d.dJ.col(0) * speed).norm(),
                1e-4 * (here.J_F.norm() + d.dJ.col(0).norm() * speed))
          << i;
    }
    if (by_e.first && model.e > 1e-3 && model.e < 0.999) {
      EXPECT_LT((by_e.second - d.dJ.col(9)).norm(), 1e-4 * (here.J_F.norm() + d.dJ.col(9).norm()))
          << i;
    }
    ++compared;
  }
  EXPECT_GE(compared, 600);
}

// At e_t = 0 nothing comes back, but the data may still say that something should.
TEST(TangentialRestitution, ZeroChangesNothingButKnowsItsSlope) {
  std::mt19937_64 rng(75);
  for (int i = 0; i < 500; ++i) {
    const ContactState contact = RandomPlanar(rng, 30);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk) continue;
    ImpactModel little = model;
    little.e_t = 1e-6;
    const ImpactOutcome near = Solve(contact, little);
    const ImpactDerivatives d = Differentiate(contact, model);
    EXPECT_EQ(outcome.recovered, 0);
    if (near.recovered == little.e_t || near.recovered == 0) {
      EXPECT_LT(((near.J_F - outcome.J_F) / 1e-6 - d.dJ_e_t).norm(),
                1e-6 * outcome.J_F.norm() + 1e-6 * d.dJ_e_t.norm())
          << i;
    }
  }
}

TEST(TangentialRestitution, OutOfRangeIsRefused) {
  for (const double e_t : {-0.1, 1.1, std::nan("")}) {
    const ImpactOutcome outcome = Solve(Sphere(0.1, 0), {{.e_t = e_t}});
    EXPECT_EQ(outcome.status, SolveStatus::kInvalid);
    EXPECT_NE(outcome.reason.find("e_t"), std::string::npos);
  }
}

}  // namespace
}  // namespace impactlab
