// Spatial impacts: an independent integration, planar data in any orientation, isoclinic directions
// and the laws' own properties.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "impact/law/detail/solve_setup.h"
#include "impact/law/solve.h"
#include "tests/impact/law/spatial_comparison.h"

namespace impactlab {
namespace {

ContactState Rotated(const ContactState& contact, double angle) {
  const Eigen::Matrix3d R = Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  ContactState out = contact;
  out.v_minus_F = R * contact.v_minus_F;
  out.A_F = R * contact.A_F * R.transpose();
  out.A_F = (0.5 * (out.A_F + out.A_F.transpose())).eval();
  return out;
}

double EnergyChange(const ContactState& contact, const ImpactOutcome& outcome) {
  return outcome.J_F.dot(contact.v_minus_F) + 0.5 * outcome.J_F.dot(contact.A_F * outcome.J_F);
}

TEST(SolveSpatial, AgreesWithIntegration) {
  ComparisonTally tally;
  CompareWithIntegration(20240103, 600, 1e4, 1e-10, tally);
  if (::testing::Test::HasFatalFailure()) return;
  EXPECT_GT(tally.compared, 500);
  EXPECT_LE(tally.digit_differs, 2);
}

// h(phi) dips towards zero ahead of this slip without reaching it: an isoclinic that Newton's
// method finds from there is not the one that slip ends along. It stops and sticks, at every
// tolerance.
TEST(SolveSpatial, SlipTurnsOnPastADipOfItsTurningRate) {
  ContactState contact;
  contact.A_F << 2.3776709127257711, -0.82783419798148283, -2.1477970511820486,
      -0.82783419798148283, 4.4227118300251265, -0.66079762792449115, -2.1477970511820486,
      -0.66079762792449115, 2.5352723544473137;
  contact.v_minus_F =
      Eigen::Vector3d(0.047627628409146479, -0.001495372670170473, -0.035963480097411973);
  const ImpactModel model{{0.94060256430836686, 0.96917810305904295, 1.4365437449151457},
                          RestitutionLaw::kEnergetic};
  const brute::Result exact = brute::Integrate(contact, model, false);
  ASSERT_TRUE(exact.ok);
  const double turn = Solve(contact, model).turn;
  for (const double tolerance :
       {1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1.1e-11, 1e-11, 9e-12, 1e-12, 1e-13}) {
    SolveOptions options;
    options.tolerance = tolerance;
    const ImpactOutcome outcome = Solve(contact, model, options);
    EXPECT_EQ(outcome.path_case.digit, 3) << tolerance;
    EXPECT_NEAR(outcome.turn, turn, 1e-6) << tolerance;
    EXPECT_NEAR(outcome.turn, 3.4937, 1e-4) << tolerance;
    EXPECT_NEAR(outcome.v_plus_F.z(), static_cast<double>(exact.v[2]),
                tolerance * contact.v_minus_F.norm() + 1e-14)
        << tolerance;
  }
}

// A turn of F about n turns the results and changes no digit, turning angle or work.
TEST(SolveSpatial, FrameRotation) {
  std::mt19937_64 rng(20240104);
  for (int i = 0; i < 1000; ++i) {
    const ContactState contact = RandomSpatial(rng, 100);
    const ImpactModel model = RandomModel(rng);
    const double angle = Uniform(rng, -M_PI, M_PI);
    const ImpactOutcome a = Solve(contact, model), b = Solve(Rotated(contact, angle), model);
    const Eigen::Matrix3d R = Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    SCOPED_TRACE(i);
    ASSERT_EQ(a.status, b.status);
    ASSERT_LT((R * a.v_plus_F - b.v_plus_F).norm(), 1e-10 * contact.v_minus_F.norm());
    ASSERT_LE((R * a.J_F - b.J_F).norm(), 1e-10 * a.J_F.norm());
    ASSERT_EQ(a.path_case.digit, b.path_case.digit);
    ASSERT_NEAR(a.turn, b.turn, 1e-8);
    ASSERT_NEAR(a.work_t, b.work_t, 1e-10 * std::abs(a.work_n_c));
  }
}

TEST(SolveSpatial, MirrorSymmetry) {
  std::mt19937_64 rng(20240105);
  const Eigen::Vector3d flip(1, -1, 1);
  for (int i = 0; i < 1000; ++i) {
    const ContactState contact = RandomSpatial(rng, 100);
    const ImpactModel model = RandomModel(rng);
    ContactState mirrored = contact;
    mirrored.v_minus_F = flip.asDiagonal() * contact.v_minus_F;
    mirrored.A_F = flip.asDiagonal() * contact.A_F * flip.asDiagonal();
    const ImpactOutcome a = Solve(contact, model), b = Solve(mirrored, model);
    ASSERT_EQ(a.status, b.status);
    ASSERT_LT((flip.asDiagonal() * a.v_plus_F - b.v_plus_F).norm(),
              1e-11 * contact.v_minus_F.norm())
        << i;
    ASSERT_EQ(a.path_case.Name(), b.path_case.Name()) << i;
  }
}

// Planar data turned about n are spatial data: same velocities, digits and reversal as in the
// plane, including directions that repel slip.
TEST(SolveSpatial, PlanarDataInAnyOrientation) {
  std::mt19937_64 rng(20240106);
  int digits[7] = {};
  for (int i = 0; i < 5000; ++i) {
    ContactState contact = RandomPlanar(rng, 100);
    contact.A_F(1, 1) = contact.A_F(0, 0) * LogUniform(rng, 0.1, 10);
    const ImpactModel model = RandomModel(rng);
    if (std::abs(std::abs(contact.A_F(0, 2)) / contact.A_F(0, 0) - model.mu_s) < 1e-8) continue;
    const double angle = Uniform(rng, -M_PI, M_PI);
    const ContactState turned = Rotated(contact, angle);
    const ImpactOutcome planar = Solve(contact, model), spatial = Solve(turned, model);
    SCOPED_TRACE(::testing::Message()
                 << i << " law " << LawName(model.law) << " digit " << planar.path_case.digit);
    if (planar.status == SolveStatus::kNoApproach) {
      ASSERT_EQ(contact.v_minus_F.z(), 0);
      continue;
    }
    ASSERT_FALSE(IsPlanar(turned));
    const Eigen::Matrix3d R = Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    ASSERT_LT((R * planar.v_plus_F - spatial.v_plus_F).norm(), 1e-9 * contact.v_minus_F.norm());
    ASSERT_LT((R * planar.J_F - spatial.J_F).norm(), 1e-9 * planar.J_F.norm());
    ASSERT_EQ(planar.path_case.digit, spatial.path_case.digit);
    ASSERT_NEAR(planar.turn, spatial.turn, 1e-6);
    ++digits[planar.path_case.digit];
  }
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 20) << digit;
}

// The spatial code itself on planar data.
TEST(SolveSpatial, SpatialCodeOnPlanarData) {
  std::mt19937_64 rng(20240107);
  for (int i = 0; i < 5000; ++i) {
    const ContactState contact = RandomPlanar(rng, 1e4);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome planar = Solve(contact, model);
    if (planar.status != SolveStatus::kOk) continue;
    const auto problem = impact::MakeSpatial(impact::PlainInputs(contact, model), model, {});
    ImpactOutcome spatial;
    const auto result = impact::SpatialWalk<double>(problem, spatial).Run();
    SCOPED_TRACE(::testing::Message() << i << " digit " << planar.path_case.digit);
    ASSERT_NEAR(result.v_t.x() * problem.velocity_unit, planar.v_plus_F.x(),
                1e-11 * contact.v_minus_F.norm());
    ASSERT_NEAR(result.v_n * problem.velocity_unit, planar.v_plus_F.z(),
                1e-11 * contact.v_minus_F.norm());
    ASSERT_NEAR(result.v_t.y(), 0, 1e-14);
    ASSERT_EQ(spatial.path_case.digit, planar.path_case.digit);
    ASSERT_EQ(spatial.path_size, planar.path_size);
    for (int k = 0; k < planar.path_size; ++k) {
      ASSERT_EQ(spatial.path[k].event, planar.path[k].event);
      ASSERT_NEAR(spatial.path[k].work_t, planar.path[k].work_t,
                  1e-11 * (std::abs(planar.work_n_c) + std::abs(planar.work_t)));
    }
  }
}

// Slip leaves v_t = 0 along the isoclinic of the equations, which depends on mu, not along the
// friction that would hold it.
TEST(SolveSpatial, DirectionOfSlipFromRest) {
  ContactState contact;
  contact.A_F << 2.58125, 1.2, 0.9375, 1.2, 5.925, -2.5, 0.9375, -2.5, 4;
  contact.v_minus_F = Eigen::Vector3d(0, 0, -1);
  const double mu_bar = StickFriction(contact.A_F);
  EXPECT_NEAR(mu_bar, 0.8249, 5e-5);
  for (const auto& [mu, degrees] : {std::pair(0.01, -69.01), std::pair(0.2, -60.60),
                                    std::pair(0.5, -49.35), std::pair(0.99 * mu_bar, -41.69)}) {
    ImpactModel model;
    model.mu_k = model.mu_s = mu;
    const ImpactOutcome outcome = Solve(contact, model);
    EXPECT_EQ(outcome.path_case.digit, 6);
    EXPECT_NEAR(std::atan2(outcome.v_plus_F.y(), outcome.v_plus_F.x()) * 180 / M_PI, degrees,
                5.1e-3);
    EXPECT_EQ(outcome.turn, 0);
    EXPECT_TRUE(outcome.dense.empty());
  }
  ImpactModel model;
  model.mu_k = 0.5;
  model.mu_s = 1.01 * mu_bar;
  const ImpactOutcome held = Solve(contact, model);
  EXPECT_EQ(held.path_case.digit, 5);
  EXPECT_EQ(held.v_plus_F.head<2>().norm(), 0);
}

// A solid sphere (b = 0, B isotropic): slip keeps its direction and falls by 3.5 mu J_n / m.
TEST(SolveSpatial, Sphere) {
  const double m = 0.3;
  ContactState contact;
  contact.A_F = Eigen::Vector3d(3.5 / m, 3.5 / m, 1 / m).asDiagonal();
  contact.v_minus_F = Eigen::Vector3d(3, -4, -2);
  ImpactModel model;
  model.e = 0.6;
  model.mu_k = 0.3;
  model.mu_s = 0.35;
  const ImpactOutcome outcome = Solve(contact, model);
  EXPECT_EQ(outcome.path_case.Name(), "0");
  const double J_n = m * 2 * 1.6, slip = 5 - 3.5 * 0.3 * J_n / m;
  EXPECT_NEAR(outcome.v_plus_F.x(), 0.6 * slip, 1e-13);
  EXPECT_NEAR(outcome.v_plus_F.y(), -0.8 * slip, 1e-13);
  EXPECT_NEAR(outcome.v_plus_F.z(), 1.2, 1e-13);
  EXPECT_EQ(outcome.turn, 0);
  model.mu_k = model.mu_s = 0.6;  // stops at J_n = m 5 / (3.5 mu), in restitution
  const ImpactOutcome stops = Solve(contact, model);
  EXPECT_EQ(stops.path_case.Name(), "3");
  EXPECT_NEAR(stops.path[2].J_F.z(), m * 5 / (3.5 * 0.6), 1e-13);
  EXPECT_EQ(stops.v_plus_F.head<2>().norm(), 0);
}

TEST(SolveSpatial, Energy) {
  std::mt19937_64 rng(20240108);
  for (int i = 0; i < 4000; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 1000) : RandomPlanar(rng, 1000);
    ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk) continue;
    const double energy = 0.5 * contact.v_minus_F.dot(contact.A_F.inverse() * contact.v_minus_F);
    if (model.law == RestitutionLaw::kEnergetic) {
      ASSERT_LE(EnergyChange(contact, outcome), 1e-11 * energy) << i;
    }
    ASSERT_LE(outcome.work_t, 0);
    ASSERT_GE(outcome.v_plus_F.z(), 0);
    model.mu_k = model.mu_s = 0;
    model.e = 1;
    const ImpactOutcome elastic = Solve(contact, model);
    if (elastic.status != SolveStatus::kOk) continue;
    ASSERT_NEAR(EnergyChange(contact, elastic), 0, 1e-11 * energy) << i;
    ASSERT_NEAR(elastic.v_plus_F.z(), -contact.v_minus_F.z(), 1e-11 * contact.v_minus_F.norm());
  }
}

// Velocities, masses and both, over hundreds of orders of magnitude.
TEST(SolveSpatial, Scaling) {
  std::mt19937_64 rng(20240109);
  for (int i = 0; i < 300; ++i) {
    const ContactState contact = i % 2 ? RandomSpatial(rng, 30) : RandomPlanar(rng, 30);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome base = Solve(contact, model);
    for (const auto& [v, A] : {std::pair(1e-150, 1.0), std::pair(1e140, 1.0), std::pair(3e-7, 1e9),
                               std::pair(1.0, 1e-120), std::pair(1e100, 1e-80)}) {
      ContactState scaled = contact;
      scaled.v_minus_F *= v;
      scaled.A_F *= A;
      const ImpactOutcome outcome = Solve(scaled, model);
      SCOPED_TRACE(::testing::Message() << i << " v " << v << " A " << A);
      ASSERT_EQ(outcome.status, base.status);
      ASSERT_LT((outcome.v_plus_F / v - base.v_plus_F).norm(), 1e-10 * contact.v_minus_F.norm());
      ASSERT_LE((outcome.J_F / v * A - base.J_F).norm(), 1e-10 * base.J_F.norm());
      ASSERT_EQ(outcome.path_case.Name(), base.path_case.Name());
    }
  }
}

// Friction strong enough to press the bodies together from almost any direction: every impact ends.
TEST(SolveSpatial, StrongFrictionEnds) {
  std::mt19937_64 rng(20240110);
  int pressed = 0, none = 0;
  for (int i = 0; i < 3000; ++i) {
    ContactState contact = RandomSpatial(rng, 300);
    ImpactModel model = RandomModel(rng);
    model.mu_k = LogUniform(rng, 1, 300);
    model.mu_s = model.mu_k;
    if (i % 2) contact.v_minus_F.z() = 0;
    const ImpactOutcome outcome = Solve(contact, model);
    ASSERT_TRUE(outcome.usable()) << i << " " << outcome.reason;
    if (outcome.status == SolveStatus::kNoApproach) {
      ++none;
      continue;
    }
    pressed += i % 2;
    ASSERT_GE(outcome.v_plus_F.z(), 0);
    ASSERT_LT((outcome.v_plus_F - contact.v_minus_F - contact.A_F * outcome.J_F).norm(),
              1e-9 * contact.v_minus_F.norm())
        << i;
  }
  EXPECT_GT(pressed, 200);
  EXPECT_GT(none, 200);
}

TEST(SolveSpatial, PathIsComplete) {
  std::mt19937_64 rng(20240111);
  for (int i = 0; i < 500; ++i) {
    const ContactState contact = RandomSpatial(rng, 100);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk) continue;
    ASSERT_EQ(outcome.path[0].event, PathEvent::kStart);
    ASSERT_EQ(outcome.path[outcome.path_size - 1].event, PathEvent::kEnd);
    ASSERT_EQ(outcome.path[outcome.path_size - 1].v_F, outcome.v_plus_F);
    int compression_ends = 0;
    for (int k = 0; k < outcome.path_size; ++k) {
      compression_ends += outcome.path[k].event == PathEvent::kCompressionEnds;
      ASSERT_GE(outcome.path[k].J_F.z(), outcome.path[std::max(k - 1, 0)].J_F.z());
    }
    ASSERT_EQ(compression_ends, 1);
    for (size_t k = 1; k < outcome.dense.size(); ++k)
      ASSERT_GE(outcome.dense[k].J_F.z(), outcome.dense[k - 1].J_F.z());
    SolveOptions options;
    options.dense_output = false;
    const ImpactOutcome bare = Solve(contact, model, options);
    ASSERT_TRUE(bare.dense.empty());
    ASSERT_EQ(bare.v_plus_F, outcome.v_plus_F);
  }
}

TEST(SolveSpatial, LetterNamesTheReversedComponents) {
  // B = diag(1, 8): slip dies out along -x and leaves along +x when b_x is between mu and 7 mu.
  ContactState contact;
  contact.A_F << 1, 0, 0.5, 0, 8, 0.02, 0.5, 0.02, 1;
  contact.v_minus_F = Eigen::Vector3d(-0.2, 0.1, -1);
  ImpactModel model;
  model.mu_k = model.mu_s = 0.3;
  const auto name = [&](double v_x, double v_y, double b_y) {
    contact.v_minus_F.head<2>() = Eigen::Vector2d(v_x, v_y);
    contact.A_F(1, 2) = contact.A_F(2, 1) = b_y;
    return Solve(contact, model).path_case.Name();
  };
  EXPECT_EQ(name(-0.2, 0.1, 0.02), "2b");
  EXPECT_EQ(name(-0.2, 0.1, -0.02), "2c");
  EXPECT_EQ(name(-0.2, -0.1, 0.02), "2c");
  EXPECT_EQ(name(-1.0, -0.1, 0.02), "4c");
  EXPECT_EQ(name(0.2, 0.1, 0.02), "0");
}

TEST(Solve, InvalidInputNamesTheValue) {
  const ContactState good = [] {
    ContactState contact;
    contact.A_F << 2, 0, 0.5, 0, 2, 0, 0.5, 0, 1;
    contact.v_minus_F = Eigen::Vector3d(1, 0, -1);
    return contact;
  }();
  const auto reason = [](const ContactState& contact, const ImpactModel& model) {
    const ImpactOutcome outcome = Solve(contact, model);
    EXPECT_EQ(outcome.status, SolveStatus::kInvalid);
    EXPECT_FALSE(outcome.usable());
    EXPECT_TRUE(outcome.v_plus_F.allFinite() && outcome.J_F.allFinite());
    EXPECT_EQ(Differentiate(contact, model).status, SolveStatus::kInvalid);
    return outcome.reason;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  ImpactModel model;
  for (const double bad : {nan, inf, -inf}) {
    for (int i = 0; i < 3; ++i) {
      ContactState contact = good;
      contact.v_minus_F[i] = bad;
      EXPECT_NE(reason(contact, model).find("v_minus_F[" + std::to_string(i) + "]"),
                std::string::npos);
      for (int j = 0; j < 3; ++j) {
        contact = good;
        contact.A_F(i, j) = bad;
        EXPECT_NE(reason(contact, model)
                      .find("A_F[" + std::to_string(i) + "][" + std::to_string(j) + "]"),
                  std::string::npos);
      }
    }
  }
  ContactState contact = good;
  contact.A_F(0, 2) = contact.A_F(2, 0) = std::sqrt(2.0);
  EXPECT_NE(reason(contact, model).find("not positive definite"), std::string::npos);
  contact.A_F = -good.A_F;
  EXPECT_NE(reason(contact, model).find("not positive definite"), std::string::npos);
  contact.A_F.setZero();
  EXPECT_NE(reason(contact, model).find("not positive definite"), std::string::npos);
  contact = good;
  contact.A_F(0, 2) = 0.4;
  EXPECT_NE(reason(contact, model).find("not symmetric"), std::string::npos);
  for (const double e : {-0.1, 1.0000001, nan}) {
    model = {};
    model.e = e;
    EXPECT_NE(reason(good, model).find("e_star"), std::string::npos);
    EXPECT_NE(reason(good, model).find("[0, 1]"), std::string::npos);
  }
  for (const double mu : {-1e-9, nan, inf}) {
    model = {};
    model.mu_k = mu;
    EXPECT_NE(reason(good, model).find("mu_k"), std::string::npos);
  }
  model = {};
  model.mu_s = 0.1;
  EXPECT_NE(reason(good, model).find("mu_s is 0.1"), std::string::npos);
  contact = good;
  contact.A_F *= 1e308;
  EXPECT_EQ(Solve(contact, {}).status == SolveStatus::kOk || !Solve(contact, {}).reason.empty(),
            true);
}

TEST(Solve, SeparatingContactIsNoImpact) {
  ContactState contact;
  contact.v_minus_F = Eigen::Vector3d(1, 2, 0.1);
  const ImpactOutcome outcome = Solve(contact, {});
  EXPECT_EQ(outcome.status, SolveStatus::kNoApproach);
  EXPECT_TRUE(outcome.usable());
  EXPECT_EQ(outcome.v_plus_F, contact.v_minus_F);
  EXPECT_EQ(outcome.J_F, Eigen::Vector3d::Zero());
  contact.v_minus_F.setZero();
  EXPECT_EQ(Solve(contact, {}).status, SolveStatus::kNoApproach);
}

}  // namespace
}  // namespace impactlab
