// Any law by its name: what comes back is the law that was asked for, with the coefficient that was
// asked for.

#include "impact/law/law_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "impact/law/compliant.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

// The restitution asked for, by each law's own definition, is the one returned; where slip changes
// the three definitions differ.
TEST(LawTable, RestitutionReturnedIsTheOneAsked) {
  std::mt19937_64 rng(20240651);
  int differ = 0;
  for (int i = 0; i < 2000; ++i) {
    const ContactState contact = RandomPlanar(rng, 100);
    if (!(contact.v_minus_F.z() < 0)) continue;
    const Coefficients asked{.e = Uniform(rng, 0.05, 1), .mu_k = 0.3, .mu_s = 0.3};
    double newton[3] = {};
    int k = 0;
    for (const RestitutionLaw law :
         {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson, RestitutionLaw::kNewton}) {
      const ImpactOutcome path = Solve(contact, {{.e = asked.e, .mu_k = 0.3, .mu_s = 0.3}, law});
      double J_c = 0;
      for (int n = 0; n < path.path_size; ++n)
        if (path.path[n].event == PathEvent::kCompressionEnds) J_c = path.path[n].J_F.z();
      const double found =
          law == RestitutionLaw::kEnergetic ? std::sqrt(-path.work_n_r / path.work_n_c)
          : law == RestitutionLaw::kPoisson ? path.J_F.z() / J_c - 1
                                            : -path.v_plus_F.z() / contact.v_minus_F.z();
      EXPECT_NEAR(found, asked.e, 1e-9);
      const LawOutcome outcome = Predict(LawName(law), contact, asked);
      EXPECT_EQ(outcome.v_plus_F, path.v_plus_F);
      EXPECT_EQ(outcome.course, path.path_case.Name());
      newton[k++] = -path.v_plus_F.z() / contact.v_minus_F.z();
    }
    differ += std::abs(newton[0] - newton[2]) > 1e-6 && std::abs(newton[0] - newton[1]) > 1e-6;
  }
  EXPECT_GT(differ, 300);
}

// Energy from the impulse is the change of v' A^-1 v / 2, and all laws are judged.
TEST(LawTable, EnergyAndCertificates) {
  std::mt19937_64 rng(20240652);
  for (int i = 0; i < 500; ++i) {
    const ContactState contact = RandomPlanar(rng, 30);
    const std::vector<LawOutcome> outcomes =
        PredictAll(contact, {.e = 0.6, .mu_k = 0.4, .mu_s = 0.5});
    ASSERT_EQ(outcomes.size(), LawNames().size());
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      const LawOutcome& outcome = outcomes[k];
      EXPECT_EQ(outcome.law, LawNames()[k]);
      ASSERT_TRUE(outcome.usable()) << outcome.reason;
      const Eigen::Matrix3d inverse = contact.A_F.inverse();
      const double before = 0.5 * contact.v_minus_F.dot(inverse * contact.v_minus_F),
                   after = 0.5 * outcome.v_plus_F.dot(inverse * outcome.v_plus_F);
      EXPECT_NEAR(outcome.energy_change, after - before, 1e-9 * before);
      EXPECT_NEAR(outcome.dissipated, 1 - after / before, 1e-9);
      ASSERT_FALSE(outcome.certificate.checks.empty());
      EXPECT_TRUE(outcome.certificate.ok || outcome.certificate.Failed() == "energy")
          << outcome.law << " " << outcome.certificate.Failed();
    }
  }
}

// One word a law, whatever its kind, and every law of both tables.
TEST(LawTable, HoldsTheLawsOfBothTablesOnce) {
  std::set<std::string> words;
  std::size_t paths = 0, impulses = 0;
  for (const PredictionLaw& law : PredictionLaws()) {
    words.insert(law.word);
    EXPECT_NE(law.path.has_value(), law.impulse.has_value()) << law.word;
    paths += law.path.has_value();
    impulses += law.impulse.has_value();
    EXPECT_FALSE(law.rule.empty()) << law.word;
  }
  EXPECT_EQ(paths, kRestitutionLaws.size());
  EXPECT_EQ(impulses, kImpulseLaws.size());
  for (const CompliantLawInfo& law : kCompliantLaws) words.insert(law.word);
  EXPECT_EQ(words.size(), paths + impulses + kCompliantLaws.size());
  EXPECT_EQ(LawNames().front(), "energetic");
  EXPECT_THAT(LawNames(), ::testing::IsSupersetOf({"newton", "poisson", "brach", "smith"}));
  EXPECT_THAT(LawNames(), ::testing::Not(::testing::Contains("brach_printed")));
  EXPECT_THAT(RestitutionInWords(), ::testing::StartsWith("e* of the energetic law, "));
  EXPECT_THAT(RestitutionInWords(), ::testing::EndsWith("e_p of Poisson's, e_n of the others"));
}

TEST(LawTable, UnknownLawAndPlanarLawsInSpace) {
  EXPECT_THROW(Predict("hooke", {}, {}), std::invalid_argument);
  ContactState contact;
  contact.v_minus_F << 1, 1, -1;
  for (const PredictionLaw& law : PredictionLaws()) {
    const LawOutcome outcome = Predict(law.word, contact, {});
    EXPECT_EQ(outcome.usable(), law.spatial) << law.word;
    if (!law.spatial) {
      EXPECT_NE(outcome.reason.find("planar only"), std::string::npos);
    }
  }
  EXPECT_TRUE(Predict("newton", contact, {}, false).certificate.checks.empty());
}

}  // namespace
}  // namespace impactlab
