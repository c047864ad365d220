// Whittaker's, Smith's and Brach's laws: bounds recomputed elsewhere, printed scans, properties on
// random contacts, and a judge that is seen to refuse.

#include "impact/law/impulse_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

using nlohmann::json;

PlanarContact ImpulseLawRod(double theta, double v_t, double v_n) {
  const double s = std::sin(theta), c = std::cos(theta);
  return {.A_tt = 1 + 3 * s * s, .A_tn = -3 * s * c, .A_nn = 1 + 3 * c * c, .v_t = v_t, .v_n = v_n};
}

bool Holds(const Certificate& certificate, const std::string& name) {
  for (const CertificateCheck& check : certificate.checks)
    if (check.name == name) return check.ok;
  ADD_FAILURE() << "no check " << name;
  return false;
}

// Data/golden/brach.json has every bound from its definition.
TEST(Brach, BoundsOfFigures33To35) {
  std::ifstream file(std::string(IMPACTLAB_SOURCE_DIR) + "/data/golden/brach.json");
  ASSERT_TRUE(file.good());
  int n = 0;
  const json golden = json::parse(file);
  for (const json& row : golden["cases"]) {
    SCOPED_TRACE(row.dump());
    const PlanarContact contact{row["A"][0], row["A"][1], row["A"][2], row["v"][0], row["v"][1]};
    const double e = row["e"], energy = row["energy_J"];
    const BrachBounds bounds = FindBrachBounds(contact, e);
    const auto near = [](double found, double exact) {
      EXPECT_NEAR(found, exact, 1e-12 * (1 + std::abs(exact)));
    };
    near(bounds.singular, row["u_s"]);
    near(bounds.stick, row["u_C"]);
    near(bounds.energy_low, row["u_E"][0]);
    near(bounds.energy_high, row["u_E"][1]);
    EXPECT_NEAR(bounds.most_loss, row["u_M"].get<double>(),
                1e-10 * (1 + std::abs(bounds.most_loss)));
    EXPECT_NEAR(-ApplyRatio(contact, e, 0).energy / energy, row["loss_0"].get<double>(), 1e-14);
    EXPECT_NEAR(-ApplyRatio(contact, e, bounds.most_loss).energy / energy,
                row["loss_M"].get<double>(), 1e-12);
    EXPECT_EQ(bounds.energy_case, row["case"].get<int>());
    // (3.18): no energy is lost at either u_E; (3.14): no slip is left at u_C.
    EXPECT_NEAR(ApplyRatio(contact, e, bounds.energy_low).energy, 0, 1e-12 * energy);
    EXPECT_NEAR(ApplyRatio(contact, e, bounds.energy_high).energy, 0, 1e-12 * energy);
    EXPECT_NEAR(ApplyRatio(contact, e, bounds.stick).v_t, 0, 1e-12);
    ++n;
  }
  EXPECT_EQ(n, 9);
}

// (3.20): u_C at e = 0, one u_E at e = 1 and u_M at e = 0 are the same ratio.
TEST(Brach, IdentitiesOfTheBounds) {
  std::mt19937_64 rng(20240611);
  for (int i = 0; i < 2000; ++i) {
    const PlanarContact contact = *PlanarPart(RandomPlanar(rng, 30));
    if (!(contact.v_n < 0)) continue;
    const BrachBounds inelastic = FindBrachBounds(contact, 0),
                      elastic = FindBrachBounds(contact, 1);
    const double scale = 1e-9 * (1 + std::abs(inelastic.stick)) * (1 + std::abs(inelastic.stick));
    EXPECT_NEAR(inelastic.most_loss, inelastic.stick, scale);
    const double other = elastic.energy_low == 0 ? elastic.energy_high : elastic.energy_low;
    EXPECT_TRUE(elastic.energy_low == 0 || elastic.energy_high == 0);
    EXPECT_NEAR(other, inelastic.stick, scale);
  }
}

// Fig 3.3 with e = 0.5 and the impulse ratio 0.3: velocities of the centre of mass and the spin
// after.
TEST(Brach, StateOfFigure33) {
  const double theta = std::atan(2.0), s = std::sin(theta), c = std::cos(theta);
  const PlanarContact contact = PlanarBodyContact(1, 1.0 / 3, -c, -s, -2, -1.5, 1.9);
  EXPECT_NEAR(contact.v_t, -0.30059, 1e-5);
  EXPECT_NEAR(contact.v_n, -2.34971, 1e-5);
  const ImpulseOutcome out = ApplyRatio(contact, 0.5, 0.3);
  EXPECT_NEAR(-2 + out.J_t, -1.1472842, 1e-7);
  EXPECT_NEAR(-1.5 + out.J_n, 1.3423861, 1e-7);
  EXPECT_NEAR(1.9 + 3 * (-c * out.J_n + s * out.J_t), 0.3746156, 1e-7);
  EXPECT_NEAR(-out.energy / 3.7266666666666666, 0.5753524, 1e-7);
}

// The Bristol thesis, figure 3.11: where the bound that Brach's law uses changes along v_t.
TEST(Brach, ScansOfFigures38To311) {
  const auto changes = [](double theta, double spin, double v_N, double mu, double e, double low,
                          double high) {
    const double v_n = v_N - std::cos(theta) * spin;
    const auto bound = [&](double v_t) {
      return ApplyImpulseLaw(ImpulseLawRod(theta, v_t, v_n),
                             {{.e = e, .mu_k = mu}, ImpulseLaw::kBrachPrinted})
          .bound;
    };
    std::vector<std::pair<double, std::string>> out;
    constexpr int kSteps = 20000;
    for (int i = 0; i < kSteps; ++i) {
      double a = low + (high - low) * i / kSteps, b = low + (high - low) * (i + 1) / kSteps;
      const std::string from = bound(a), to = bound(b);
      if (from == to) continue;
      for (int k = 0; k < 60; ++k) (bound(0.5 * (a + b)) == from ? a : b) = 0.5 * (a + b);
      out.emplace_back(b, to);
    }
    return out;
  };
  const auto first = changes(0.2, -0.8, -1, 0.5, 0.6, -0.2, 0.8);
  const std::vector<std::pair<double, std::string>> expected = {{0.00240, "stick"},
                                                                {0.03251, "mu"},
                                                                {0.05200, "stick"},
                                                                {0.09466, "mu"},
                                                                {0.64206, "energy"}};
  ASSERT_EQ(first.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(first[i].first, expected[i].first, 2e-5);
    EXPECT_EQ(first[i].second, expected[i].second);
  }
  const auto second = changes(2.3, 2.9, -2, 0.6, 0.9, -0.3, 0.3);
  const std::vector<std::pair<double, std::string>> scan = {{-0.19159, "mu"},   {-0.12344, "stick"},
                                                            {-0.08234, "mu"},   {-0.0561, "energy"},
                                                            {-0.0137, "stick"}, {0.00990, "mu"}};
  ASSERT_EQ(second.size(), scan.size());
  for (std::size_t i = 0; i < scan.size(); ++i) {
    EXPECT_NEAR(second[i].first, scan[i].first, 6e-5);
    EXPECT_EQ(second[i].second, scan[i].second);
  }
  const auto third = changes(0.8, 0.5, -2, 0.6, 0.9, 0, 1);
  ASSERT_FALSE(third.empty());
  EXPECT_NEAR(third.back().first, 0.4488, 1e-4);
  EXPECT_EQ(third.back().second, "energy");
}

ImpulseModel RandomImpulseModel(std::mt19937_64& rng) {
  ImpulseModel model;
  model.law = static_cast<ImpulseLaw>(rng() % 4);
  const int kind = static_cast<int>(rng() % 8);
  model.e = kind == 0 ? 0 : kind == 1 ? 1 : Uniform(rng, 0, 1);
  model.mu_k = kind == 2 ? 0 : Uniform(rng, 0, 2);
  if (model.law == ImpulseLaw::kWhittaker && kind > 4) model.e_t = Uniform(rng, -1, 1);
  return model;
}

TEST(ImpulseLaws, CertifiedOnRandomContacts) {
  std::mt19937_64 rng(20240612);
  int stuck[4] = {}, full[4] = {}, by_energy = 0, none = 0, gains[4] = {}, refused = 0;
  for (int i = 0; i < 100000; ++i) {
    const PlanarContact contact = *PlanarPart(RandomPlanar(rng, 1e3));
    const ImpulseModel model = RandomImpulseModel(rng);
    const ImpulseOutcome out = ApplyImpulseLaw(contact, model);
    const int law = static_cast<int>(model.law);
    if (out.status == SolveStatus::kNotConverged) {
      ASSERT_EQ(model.law, ImpulseLaw::kBrachPrinted) << "the others always have an outcome";
      ++refused;
      continue;
    }
    none += out.status == SolveStatus::kNoApproach;
    for (const CertificateCheck& check : Certify(contact, model, out).checks) {
      if (check.name == "energy") {
        gains[law] += !check.ok;
        continue;
      }
      ASSERT_TRUE(check.ok) << i << " " << LawName(model.law) << " " << check.name << " "
                            << check.value << " > " << check.limit;
    }
    stuck[law] += out.bound == "stick";
    full[law] += out.bound == "mu";
    by_energy += out.bound == "energy" && model.law == ImpulseLaw::kBrach;
  }
  const auto of = [](const int(&counts)[4], ImpulseLaw law) {
    return counts[static_cast<int>(law)];
  };
  for (const ImpulseLaw law : {ImpulseLaw::kWhittaker, ImpulseLaw::kBrach}) {
    EXPECT_GT(of(stuck, law), 1000) << LawName(law);
    EXPECT_GT(of(full, law), 1000) << LawName(law);
  }
  EXPECT_GT(by_energy, 200);
  EXPECT_GT(none, 1000);
  // The flaw that Brach's bounds were made to cure.
  EXPECT_GT(of(gains, ImpulseLaw::kWhittaker), 100);
  for (const ImpulseLaw law : {ImpulseLaw::kSmith, ImpulseLaw::kBrach, ImpulseLaw::kBrachPrinted})
    EXPECT_EQ(of(gains, law), 0) << LawName(law);
  RecordProperty("brach_without_outcome", refused);
}

// Regions 1 and 2, where slip lasts: all laws agree with the exact path.
TEST(ImpulseLaws, AgreeWithTheExactPathWhileSlipLasts) {
  std::mt19937_64 rng(20240613);
  int n = 0;
  for (int i = 0; i < 20000; ++i) {
    const ContactState contact = RandomPlanar(rng, 100);
    const double mu = Uniform(rng, 0, 1), e = Uniform(rng, 0, 1);
    const ImpactOutcome exact =
        Solve(contact, {{.e = e, .mu_k = mu, .mu_s = mu}, RestitutionLaw::kEnergetic});
    if (exact.status != SolveStatus::kOk || exact.path_case.digit != 0) continue;
    for (const ImpulseLaw law : {ImpulseLaw::kWhittaker, ImpulseLaw::kSmith, ImpulseLaw::kBrach}) {
      const ImpulseOutcome out = ApplyImpulseLaw(*PlanarPart(contact), {{.e = e, .mu_k = mu}, law});
      ASSERT_TRUE(out.usable()) << LawName(law);
      ASSERT_LT(std::hypot(out.v_t - exact.v_plus_F.x(), out.v_n - exact.v_plus_F.z()),
                1e-9 * contact.v_minus_F.norm())
          << LawName(law);
      ++n;
    }
  }
  EXPECT_GT(n, 5000);
}

// Where u_M lies beyond the singular ratio the printed selection lets friction push the slip on;
// ours does not.
TEST(Brach, FrictionNeverPushesTheSlip) {
  const PlanarContact contact = ImpulseLawRod(2.3, -0.29745, -0.0678);  // fig. 3.5
  const ImpulseOutcome printed =
      ApplyImpulseLaw(contact, {{.e = 0.5, .mu_k = 0.6}, ImpulseLaw::kBrachPrinted});
  const ImpulseOutcome ours =
      ApplyImpulseLaw(contact, {{.e = 0.5, .mu_k = 0.6}, ImpulseLaw::kBrach});
  EXPECT_LT(printed.J_t, 0);
  // what the normal impulse alone leaves of the slip to the left
  const double free = ApplyRatio(contact, 0.5, 0).v_t;
  EXPECT_LT(free, 0);
  EXPECT_LT(printed.v_t, free);
  EXPECT_NEAR(ours.J_t, 0.6 * ours.J_n, 1e-15);
  EXPECT_GT(ours.v_t, free);
  // Where both choose the same sense they agree.
  std::mt19937_64 rng(20240614);
  int same = 0, other = 0;
  for (int i = 0; i < 20000; ++i) {
    const PlanarContact random = *PlanarPart(RandomPlanar(rng, 100));
    if (!(random.v_n < 0)) continue;
    const double e = Uniform(rng, 0, 1), mu = Uniform(rng, 0, 1);
    const BrachBounds bounds = FindBrachBounds(random, e),
                      as_printed = FindBrachBounds(random, e, true);
    const bool reached = random.A_nn + bounds.most_loss * random.A_tn > 0;
    if (!reached) {
      ++other;
      continue;
    }
    ASSERT_EQ(bounds.direction, as_printed.direction) << i;
    const ImpulseOutcome a = ApplyImpulseLaw(random, {{.e = e, .mu_k = mu}, ImpulseLaw::kBrach});
    const ImpulseOutcome b =
        ApplyImpulseLaw(random, {{.e = e, .mu_k = mu}, ImpulseLaw::kBrachPrinted});
    if (b.status != SolveStatus::kOk) continue;
    ASSERT_NEAR(a.J_t, b.J_t, 1e-12 * std::abs(a.J_n)) << i;
    ++same;
  }
  EXPECT_GT(same, 5000);
  EXPECT_GT(other, 100);
}

TEST(ImpulseLaws, TangentialRestitutionOfASphere) {
  // A solid sphere: no coupling. e_t = 0.4 asked is e_t returned while friction suffices (Walton).
  const PlanarContact sphere{.A_tt = 3.5, .A_tn = 0, .A_nn = 1, .v_t = 1, .v_n = -2};
  const ImpulseOutcome held =
      ApplyImpulseLaw(sphere, {{.e = 0.8, .mu_k = 0.3, .e_t = 0.4}, ImpulseLaw::kWhittaker});
  EXPECT_EQ(held.bound, "stick");
  EXPECT_NEAR(held.v_t, -0.4, 1e-15);
  EXPECT_NEAR(held.J_t, -1.4 / 3.5, 1e-15);
  const ImpulseOutcome slides =
      ApplyImpulseLaw(sphere, {{.e = 0.8, .mu_k = 0.05, .e_t = 0.4}, ImpulseLaw::kWhittaker});
  EXPECT_EQ(slides.bound, "mu");
  EXPECT_NEAR(slides.J_t, -0.05 * 3.6, 1e-15);
  const ImpulseModel wrong{{.e = 0.8, .mu_k = 0.3, .e_t = 0.4}, ImpulseLaw::kSmith};
  EXPECT_EQ(ApplyImpulseLaw(sphere, wrong).status, SolveStatus::kInvalid);
  EXPECT_NE(ApplyImpulseLaw(sphere, wrong).reason.find("e_t"), std::string::npos);
}

// Every fault that the judge exists for is refused.
TEST(ImpulseLaws, JudgeRefusesWrongOutcomes) {
  const PlanarContact contact = ImpulseLawRod(0.98, 0.93, -1.45);
  for (const ImpulseLaw law : {ImpulseLaw::kWhittaker, ImpulseLaw::kSmith, ImpulseLaw::kBrach}) {
    const ImpulseModel model{{.e = 0.6, .mu_k = 0.1}, law};
    const ImpulseOutcome good = ApplyImpulseLaw(contact, model);
    EXPECT_TRUE(Holds(Certify(contact, model, good), "law"));
    ImpulseOutcome bad = good;
    bad.v_t += 1e-6;
    EXPECT_FALSE(Holds(Certify(contact, model, bad), "momentum"));
    bad = good;
    bad.energy += 1e-3;
    EXPECT_FALSE(Holds(Certify(contact, model, bad), "work"));
    EXPECT_FALSE(Holds(Certify(contact, model, ApplyRatio(contact, 0.6, 0.2)), "cone"));
    EXPECT_FALSE(Holds(Certify(contact, model, ApplyRatio(contact, 0.5, good.J_t / good.J_n)),
                       "restitution"));
    EXPECT_FALSE(
        Holds(Certify(contact, model, ApplyRatio(contact, 0.6, 0.5 * good.J_t / good.J_n)), "law"));
    bad = good;
    bad.J_n = std::nan("");
    EXPECT_FALSE(Certify(contact, model, bad).ok);
  }
}

TEST(ImpulseLaws, RefusesWhatIsNoProblem) {
  const PlanarContact good = ImpulseLawRod(0.98, 0.93, -1.45);
  const auto reason = [](const PlanarContact& contact, const ImpulseModel& model) {
    const ImpulseOutcome out = ApplyImpulseLaw(contact, model);
    EXPECT_EQ(out.status, SolveStatus::kInvalid);
    return out.reason;
  };
  PlanarContact bad = good;
  bad.A_tn = 10;
  EXPECT_NE(reason(bad, {}).find("positive definite"), std::string::npos);
  bad = good;
  bad.v_t = std::nan("");
  EXPECT_NE(reason(bad, {}).find("finite"), std::string::npos);
  EXPECT_NE(reason(good, {{.e = 1.2}}).find("e_n is 1.2"), std::string::npos);
  EXPECT_NE(reason(good, {{.mu_k = -1}}).find("mu is -1"), std::string::npos);
}

// Routh: the path is made of pieces that lie on the lines, and ends on the line of termination.
TEST(Routh, PathFollowsTheLines) {
  const PlanarContact contact = ImpulseLawRod(0.98, 0.93, -1.45);  // slip reverses in compression
  const RouthDiagram diagram = MakeRouthDiagram(contact, 0.9, 0.1, 0.1);
  const auto on = [&](const std::string& name, const PathPoint& point) {
    for (const RouthDiagram::Line& line : diagram.lines)
      if (line.name == name)
        return std::abs((line.J_t1 - line.J_t0) * (point.J_F.z() - line.J_n0) -
                        (line.J_n1 - line.J_n0) * (point.J_F.x() - line.J_t0)) < 1e-12;
    return false;
  };
  ASSERT_EQ(diagram.path.size(), 4u);
  EXPECT_TRUE(on("friction", diagram.path[0]));
  EXPECT_TRUE(on("friction", diagram.path[1]));
  EXPECT_TRUE(on("stick", diagram.path[1]));
  EXPECT_TRUE(on("reversed", diagram.path[2]));
  EXPECT_TRUE(on("compression", diagram.path[2]));
  EXPECT_TRUE(on("reversed", diagram.path[3]));
  EXPECT_TRUE(on("termination", diagram.path[3]));
  EXPECT_FALSE(on("stick", diagram.path[3]));
  EXPECT_THROW(MakeRouthDiagram(contact, 1.5, 0.1, 0.1), ConfigError);
}

}  // namespace
}  // namespace impactlab
