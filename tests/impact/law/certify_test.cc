// The certificate passes exact outcomes and flags every corruption of one.

#include "impact/law/certify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

const CertificateCheck* Find(const Certificate& certificate, const std::string& name) {
  for (const CertificateCheck& check : certificate.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

// Exact outcomes pass every check; only Newton's and Poisson's laws may gain energy, and then say
// so.
TEST(Certify, PassesExactOutcomes) {
  std::mt19937_64 rng(20240301);
  int gained = 0, passed = 0, no_approach = 0, digits[7] = {};
  for (int i = 0; i < 6000; ++i) {
    const double condition = i % 3 ? 100 : 1e4;
    const ContactState contact =
        i % 2 ? RandomSpatial(rng, condition) : RandomPlanar(rng, condition);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    const Certificate certificate = Certify(contact, model, outcome);
    const std::string failed = certificate.Failed();
    SCOPED_TRACE(::testing::Message()
                 << i << " law " << LawName(model.law) << " digit " << outcome.path_case.digit);
    if (failed == "energy") {
      ASSERT_NE(model.law, RestitutionLaw::kEnergetic);
      ASSERT_FALSE(certificate.ok);
      ++gained;
      continue;
    }
    ASSERT_EQ(failed, "");
    ASSERT_TRUE(certificate.ok);
    no_approach += outcome.status == SolveStatus::kNoApproach;
    ++passed;
    ++digits[outcome.path_case.digit];
  }
  EXPECT_GT(passed, 5000);
  EXPECT_GT(gained, 20);
  EXPECT_GT(no_approach, 50);
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 20) << digit;
}

// Shen & Townsend, example 1, last row with Newton's law: 0.587 J out of nowhere.
TEST(Certify, ReportsNewtonsEnergyGain) {
  ContactState contact;
  contact.A_F << 0.813446, 0, 0.507103, 0, 1, 0, 0.507103, 0, 0.336520;
  contact.v_minus_F = Eigen::Vector3d(-0.534349, 0, -0.268404);
  ImpactModel model{{0.7, 0.5, 0.63}, RestitutionLaw::kNewton};
  const Certificate newton = Certify(contact, model, Solve(contact, model));
  EXPECT_EQ(newton.Failed(), "energy");
  EXPECT_GT(Find(newton, "energy")->value, 0.1);
  for (const RestitutionLaw law : {RestitutionLaw::kPoisson, RestitutionLaw::kEnergetic}) {
    model.law = law;
    EXPECT_TRUE(Certify(contact, model, Solve(contact, model)).ok);
  }
}

// false: does not apply to this outcome
using Mutation = std::function<bool(ImpactOutcome&, std::mt19937_64&)>;

// Every corruption of an outcome by a millionth is found.
TEST(Certify, FlagsEveryCorruption) {
  constexpr double kSmall = 1e-6;
  const auto some_path = [](ImpactOutcome& o, std::mt19937_64& rng) -> PathPoint& {
    return o.path[std::uniform_int_distribution<int>(0, o.path_size - 1)(rng)];
  };
  const auto axis = [](std::mt19937_64& rng) {
    return std::uniform_int_distribution<int>(0, 2)(rng);
  };
  const auto work = [](const ImpactOutcome& o) {
    return std::abs(o.work_n_c) + std::abs(o.work_t);
  };
  const std::vector<std::pair<std::string, Mutation>> mutations = {
      {"J_F", [&](auto& o, auto& rng) { return o.J_F[axis(rng)] += kSmall * o.J_F.norm(), true; }},
      {"v_plus_F",
       [&](auto& o, auto& rng) {
         return o.v_plus_F[axis(rng)] += kSmall * o.path[0].v_F.norm(), true;
       }},
      {"work_n_c", [&](auto& o, auto&) { return o.work_n_c += kSmall * work(o), true; }},
      {"work_n_r", [&](auto& o, auto&) { return o.work_n_r -= kSmall * work(o), true; }},
      {"work_t", [&](auto& o, auto&) { return o.work_t += kSmall * work(o), true; }},
      {"path J_F",
       [&](auto& o, auto& rng) {
         return some_path(o, rng).J_F[axis(rng)] += kSmall * o.J_F.norm(), true;
       }},
      {"path v_F",
       [&](auto& o, auto& rng) {
         return some_path(o, rng).v_F[axis(rng)] += kSmall * o.path[0].v_F.norm(), true;
       }},
      {"path work_n",
       [&](auto& o, auto& rng) {
         return o.path[1 + rng() % (o.path_size - 1)].work_n += kSmall * work(o), true;
       }},
      {"path work_t",
       [&](auto& o, auto& rng) {
         return o.path[1 + rng() % (o.path_size - 1)].work_t -= kSmall * work(o), true;
       }},
      {"dense J_F",
       [&](auto& o, auto& rng) {
         return !o.dense.empty() &&
                (o.dense[rng() % o.dense.size()].J_F[axis(rng)] += kSmall * o.J_F.norm(), true);
       }},
      {"dense v_F",
       [&](auto& o, auto& rng) {
         return !o.dense.empty() &&
                (o.dense[rng() % o.dense.size()].v_F[axis(rng)] += kSmall * o.path[0].v_F.norm(),
                 true);
       }},
      {"dense work",
       [&](auto& o, auto& rng) {
         return !o.dense.empty() &&
                (o.dense[rng() % o.dense.size()].work_t += kSmall * work(o), true);
       }},
      {"digit",
       [](auto& o, auto&) { return o.path_case.digit = (o.path_case.digit + 1) % 7, true; }},
      {"mode",
       [](auto& o, auto&) {
         // The mode from the first point on, where it lasts.
         if (o.path[1].J_F.z() - o.path[0].J_F.z() < 1e-3 * o.J_F.z()) return false;
         o.path[0].mode_after =
             o.path[0].mode_after == ContactMode::kSlip ? ContactMode::kStick : ContactMode::kSlip;
         return true;
       }},
      {"lost end of compression",
       [](auto& o, auto&) {
         for (int i = 1; i < o.path_size; ++i) {
           if (o.path[i].event == PathEvent::kCompressionEnds) o.path[i].event = PathEvent::kDense;
         }
         return true;
       }},
      {"lost end", [](auto& o, auto&) { return --o.path_size, true; }},
      {"not a number", [](auto& o, auto&) { return o.v_plus_F.x() = std::nan(""), true; }},
      {"not a number in the path",
       [](auto& o, auto&) { return o.path[1].J_F.y() = std::nan(""), true; }},
      {"infinite work",
       [](auto& o, auto&) { return o.work_t = -std::numeric_limits<double>::infinity(), true; }},
      {"status", [](auto& o, auto&) { return o.status = SolveStatus::kNotConverged, true; }},
      {"no impact", [](auto& o, auto&) { return o.status = SolveStatus::kNoApproach, true; }}};
  std::mt19937_64 rng(20240302);
  std::vector<int> applied(mutations.size());
  for (int i = 0; i < 1500; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 30) : RandomPlanar(rng, 30);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome exact = Solve(contact, model);
    if (exact.status != SolveStatus::kOk) continue;
    // An energy gain fails already; the corruption must add to what fails.
    const std::string before = Certify(contact, model, exact).Failed();
    for (size_t k = 0; k < mutations.size(); ++k) {
      ImpactOutcome corrupted = exact;
      if (!mutations[k].second(corrupted, rng)) continue;
      ++applied[k];
      ASSERT_NE(Certify(contact, model, corrupted).Failed(), before)
          << mutations[k].first << " in case " << i << " digit " << exact.path_case.digit << " law "
          << LawName(model.law);
    }
  }
  for (size_t k = 0; k < mutations.size(); ++k) EXPECT_GT(applied[k], 300) << mutations[k].first;
}

// An outcome is certified for its own contact and model only.
TEST(Certify, FlagsAnotherProblem) {
  std::mt19937_64 rng(20240303);
  int other_law = 0, other_e = 0, other_mu = 0, other_mu_s = 0;
  for (int i = 0; i < 2000; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 30) : RandomPlanar(rng, 30);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk) continue;
    const std::string before = Certify(contact, model, outcome).Failed();
    const double speed = contact.v_minus_F.norm();
    const auto flagged = [&](const ContactState& c, const ImpactModel& m) {
      return Certify(c, m, outcome).Failed() != before;
    };
    SCOPED_TRACE(::testing::Message()
                 << i << " law " << LawName(model.law) << " digit " << outcome.path_case.digit);
    for (const RestitutionLawInfo& row : kRestitutionLaws) {
      ImpactModel other = model;
      other.law = row.law;
      // the laws agree
      if ((Solve(contact, other).v_plus_F - outcome.v_plus_F).norm() < 1e-4 * speed) continue;
      if (std::abs(outcome.work_n_c) < 1e-2 * std::abs(outcome.work_t)) continue;
      ASSERT_TRUE(flagged(contact, other));
      ++other_law;
    }
    ImpactModel other = model;
    other.e = model.e < 0.5 ? model.e + 1e-2 : model.e - 1e-2;
    if (model.law == RestitutionLaw::kEnergetic || contact.v_minus_F.z() < -0.01 * speed) {
      ASSERT_TRUE(flagged(contact, other));
      ++other_e;
    }
    other = model;
    other.mu_k *= 1 - 1e-4;
    if (std::abs(outcome.work_t) > 1e-3 * std::abs(outcome.work_n_c)) {  // it slipped for a while
      ASSERT_TRUE(flagged(contact, other));
      ++other_mu;
    }
    if (outcome.path_case.digit == 2 || outcome.path_case.digit == 4 ||
        outcome.path_case.digit == 6) {
      other = model;
      other.mu_s = 1e3;  // would have stuck
      ASSERT_TRUE(flagged(contact, other));
      ++other_mu_s;
    }
    if (outcome.path_case.digit == 1 || outcome.path_case.digit == 3 ||
        outcome.path_case.digit == 5) {
      const double needed =
          (contact.A_F.topLeftCorner<2, 2>().inverse() * contact.A_F.topRightCorner<2, 1>()).norm();
      other = model;
      other.mu_k = other.mu_s = 0.99 * needed;  // could not have stuck
      ASSERT_TRUE(flagged(contact, other));
    }
    ContactState moved = contact;
    moved.v_minus_F.x() += 1e-6 * speed;
    ASSERT_TRUE(flagged(moved, model));
    moved = contact;
    moved.A_F *= 1 + 1e-6;
    if ((outcome.v_plus_F - contact.v_minus_F).norm() > 0.1 * speed) {
      ASSERT_TRUE(flagged(moved, model));
    }
  }
  EXPECT_GT(other_law, 500);
  EXPECT_GT(other_e, 1000);
  EXPECT_GT(other_mu, 500);
  EXPECT_GT(other_mu_s, 50);
}

// Turning slip cannot be judged from its ends: without dense points the certificate does not pass
// it.
TEST(Certify, TurningSlipNeedsDensePoints) {
  std::mt19937_64 rng(20240304);
  int turning = 0;
  for (int i = 0; i < 200; ++i) {
    const ContactState contact = RandomSpatial(rng, 30);
    ImpactModel model = RandomModel(rng);
    model.mu_k = model.mu_s = Uniform(rng, 0.2, 1);
    SolveOptions options;
    options.dense_output = false;
    const ImpactOutcome outcome = Solve(contact, model, options);
    if (outcome.status != SolveStatus::kOk || outcome.turn < 0.5 || outcome.path_case.digit != 0)
      continue;
    EXPECT_FALSE(Certify(contact, model, outcome).ok);
    ++turning;
  }
  EXPECT_GT(turning, 20);
}

TEST(Certify, RefusesWhatIsNoOutcome) {
  ContactState contact;
  contact.v_minus_F = Eigen::Vector3d(1, 0, -1);
  ImpactModel model;
  model.e = 2;
  const Certificate certificate = Certify(contact, model, Solve(contact, model));
  EXPECT_FALSE(certificate.ok);
  EXPECT_EQ(certificate.Failed(), "status");
  // A contact that approaches is no "no approach", nor is one that friction presses together.
  ImpactOutcome none;
  none.status = SolveStatus::kNoApproach;
  none.v_plus_F = contact.v_minus_F;
  EXPECT_FALSE(Certify(contact, {}, none).ok);
  contact.A_F << 2, 0, 1, 0, 2, 0, 1, 0, 1;
  contact.v_minus_F = none.v_plus_F = Eigen::Vector3d(1, 0, 0);
  model = {{0.5, 1.5, 1.5}, RestitutionLaw::kEnergetic};
  EXPECT_FALSE(Certify(contact, model, none).ok);
  model.mu_k = model.mu_s = 0.5;
  EXPECT_TRUE(Certify(contact, model, none).ok);
}

}  // namespace
}  // namespace impactlab
