// The closed-form map against the exact path, the printed scans of the Bristol thesis, and its
// critical coefficients.

#include "impact/law/energetic_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "impact/law/certify.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

// End of a uniform rod of mass and half length one that leans by theta (the Bristol thesis,
// section 3.1.3).
PlanarContact EnergeticMapRod(double theta, double v_t, double v_n) {
  const double s = std::sin(theta), c = std::cos(theta);
  return {.A_tt = 1 + 3 * s * s, .A_tn = -3 * s * c, .A_nn = 1 + 3 * c * c, .v_t = v_t, .v_n = v_n};
}

PlanarContact InPlane(const ContactState& contact) { return *PlanarPart(contact); }

TEST(EnergeticMap, TenRegionsOfTheBristolThesis) {
  const struct {
    double theta, mu, e, v_t, v_n, v_t_plus, v_n_plus;
  } rows[] = {{0.61, 1.50, 0.90, 0.88, -0.37, 0.278848908, 0.333000000},
              {0.53, 0.05, 0.90, -1.31, -0.26, -1.500277992, 0.234000000},
              {1.60, 0.20, 0.80, 0.43, -0.41, 0, 0.329765933},
              {1.52, 0.50, 0.70, -1.09, -0.33, 0, 0.231757214},
              {0.18, 1.20, 0.80, 0.46, -1.31, 0, 0.941886825},
              {0.21, 1.20, 0.80, -0.24, -1.22, 0, 1.035080940},
              {0.63, 0.30, 0.80, 1.15, -1.29, -0.105030285, 0.944727768},
              {2.73, 0.05, 0.80, -0.52, -1.26, 0.198559484, 0.993991181},
              {0.98, 0.10, 0.90, 0.93, -1.45, -0.924678355, 1.218751570},
              {2.04, 0.10, 0.70, -0.86, -1.85, 1.231976301, 1.223441351}};
  int region = 0;
  for (const auto& row : rows) {
    const EnergeticMapResult plus =
        EnergeticMap(EnergeticMapRod(row.theta, row.v_t, row.v_n), row.e, row.mu, row.mu);
    EXPECT_EQ(plus.region, ++region);
    EXPECT_NEAR(plus.v_t, row.v_t_plus, 6e-10) << region;
    EXPECT_NEAR(plus.v_n, row.v_n_plus, 6e-10) << region;
  }
}

// The Bristol thesis, section 3.2: the closed form is the end of the exact
// path, digit by digit.
TEST(EnergeticMap, AgreesWithTheExactPath) {
  std::mt19937_64 rng(20240601);
  int regions[11] = {}, pressed = 0;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const ContactState contact = RandomPlanar(rng, 1e4);
    ImpactModel model = RandomModel(rng);
    model.law = RestitutionLaw::kEnergetic;
    const PlanarContact planar = InPlane(contact);
    const EnergeticMapResult plus = EnergeticMap(planar, model.e, model.mu_k, model.mu_s);
    const ImpactOutcome outcome = Solve(contact, model);
    ++regions[plus.region];
    if (outcome.status == SolveStatus::kNoApproach) {
      ASSERT_EQ(plus.region, 0);
      continue;
    }
    ASSERT_EQ(outcome.status, SolveStatus::kOk);
    // At the bound between sticking and reversed slip rounding decides; so it does where slip stops
    // with the end of a phase.
    if (std::abs(std::abs(planar.A_tn) / planar.A_tt - model.mu_s) < 1e-8) continue;
    const double speed = contact.v_minus_F.norm();
    const double error =
        std::hypot(plus.v_t - outcome.v_plus_F.x(), plus.v_n - outcome.v_plus_F.z()) / speed;
    ASSERT_LT(error, 1e-9) << "case " << i << " region " << plus.region << " digit "
                           << outcome.path_case.digit;
    ASSERT_EQ(plus.Digit(planar.v_t == 0), outcome.path_case.digit)
        << "case " << i << " region " << plus.region;
    worst = std::max(worst, error);
    const double k_n = planar.A_nn - (planar.v_t > 0 ? 1 : -1) * model.mu_k * planar.A_tn;
    pressed += k_n < 0;
    const double before = planar.Energy(planar.v_t, planar.v_n);
    ASSERT_LE(planar.Energy(plus.v_t, plus.v_n), before * (1 + 1e-11));
  }
  RecordProperty("worst_relative_error", ::testing::PrintToString(worst));
  for (int region = 1; region <= 10; ++region) EXPECT_GT(regions[region], 500) << region;
  EXPECT_GT(pressed, 1000);
}

TEST(EnergeticMap, ManyAtOnceAreTheSame) {
  std::mt19937_64 rng(20240602);
  std::vector<PlanarContact> contacts(1000);
  for (PlanarContact& contact : contacts) contact = InPlane(RandomPlanar(rng, 100));
  std::vector<EnergeticMapResult> out(contacts.size());
  EnergeticMap(contacts, 0.6, 0.3, 0.4, out);
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const EnergeticMapResult one = EnergeticMap(contacts[i], 0.6, 0.3, 0.4);
    ASSERT_EQ(out[i].region, one.region);
    ASSERT_EQ(out[i].v_t, one.v_t);
    ASSERT_EQ(out[i].v_n, one.v_n);
  }
}

// k_n through zero: one smooth function of mu, no division by k_n (friction all but presses the
// bodies together).
TEST(EnergeticMap, SmoothWhereTheNormalRateVanishes) {
  const PlanarContact contact{.A_tt = 2, .A_tn = 1.2, .A_nn = 1, .v_t = 1, .v_n = -1};
  const double mu = contact.A_nn / contact.A_tn;
  const EnergeticMapResult at = EnergeticMap(contact, 0.7, mu, mu);
  EXPECT_EQ(at.region, 5);
  // (3.46) with k_n = 0: v_n+ = e sqrt(v_n^2 + 2 k_n' v_t v_n / k_t).
  const double k_t = contact.A_tn - mu * contact.A_tt, stick = contact.Determinant() / contact.A_tt;
  EXPECT_NEAR(at.v_n, 0.7 * std::sqrt(1 + 2 * stick * contact.v_t * contact.v_n / k_t), 1e-15);
  for (const double step : {1e-15, 1e-12, 1e-9, 1e-6})
    for (const double sign : {-1.0, 1.0})
      EXPECT_NEAR(EnergeticMap(contact, 0.7, mu + sign * step, mu + step).v_n, at.v_n,
                  3 * step + 1e-15);
}

struct Change {
  double at;
  int from, to;
};

// Where the region changes along v_t, at fixed v_n, to 1e-9.
std::vector<Change> Changes(double theta, double v_n, double mu, double e, double low,
                            double high) {
  const auto region = [&](double v_t) {
    return EnergeticMap(EnergeticMapRod(theta, v_t, v_n), e, mu, mu).region;
  };
  std::vector<Change> out;
  constexpr int kSteps = 20000;
  for (int i = 0; i < kSteps; ++i) {
    double a = low + (high - low) * i / kSteps, b = low + (high - low) * (i + 1) / kSteps;
    const int from = region(a), to = region(b);
    if (from == to) continue;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (a + b);
      (region(middle) == from ? a : b) = middle;
    }
    out.push_back({b, from, to});
  }
  return out;
}

void ExpectChanges(const std::vector<Change>& found, const std::vector<Change>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].from, expected[i].from) << i;
    EXPECT_EQ(found[i].to, expected[i].to) << i;
    EXPECT_NEAR(found[i].at, expected[i].at, 1e-6) << i;
  }
}

// Printed -0.125 and 0.012 lie within one step (0.01) of the scan in V_T.
TEST(EnergeticMap, ScanOfFigure38) {
  const double v_n = -2 - std::cos(2.3) * 2.9;
  ExpectChanges(
      Changes(2.3, v_n, 0.6, 0.9, -0.3, 0.3),
      {{-0.123444, 2, 4}, {-0.064970, 4, 6}, {0, 6, 5}, {0.005207, 5, 3}, {0.009894, 3, 1}});
}

// Sticking begins at -0.077162; on the printed scan (V_T in steps of 0.01) the first state that
// sticks is -0.0713.
TEST(EnergeticMap, ScanOfFigure310) {
  const double v_n = -2 - std::cos(0.8) * 0.5, spin_part = std::sin(0.8) * 0.5;
  ExpectChanges(Changes(0.8, v_n, 0.6, 0.9, -0.5, 3),
                {{-0.077162, 2, 4}, {-0.040612, 4, 6}, {0, 6, 5}, {2.117300, 5, 3}});
  double first = 0;
  for (int i = -100; i < 100 && first == 0; ++i)
    if (EnergeticMap(EnergeticMapRod(0.8, 0.01 * i + spin_part, v_n), 0.9, 0.6, 0.6).region == 4)
      first = 0.01 * i + spin_part;
  EXPECT_NEAR(first, -0.0713, 5e-5);
}

// Slip reverses without sticking.
TEST(EnergeticMap, ScanOfFigure311) {
  const double v_n = -1 - std::cos(0.2) * -0.8;
  ExpectChanges(Changes(0.2, v_n, 0.5, 0.6, -0.2, 0.3),
                {{0, 2, 9}, {0.059156, 9, 7}, {0.094650, 7, 1}});
  EXPECT_NEAR(EnergeticMap(EnergeticMapRod(0.2, 1e-12, v_n), 0.6, 0.5, 0.5).v_t, -0.00240, 5e-6);
}

// The coefficients are the places where the case of the exact path changes.
TEST(CriticalFriction, BoundsTheCasesOfTheExactPath) {
  std::mt19937_64 rng(20240603);
  int slides = 0, sticks = 0, never = 0;
  for (int i = 0; i < 20000; ++i) {
    const ContactState contact = RandomPlanar(rng, 100);
    const PlanarContact planar = InPlane(contact);
    if (!(planar.v_n < 0) || planar.v_t == 0) continue;
    const double e = Uniform(rng, 0, 1);
    const CriticalFriction critical = FindCriticalFriction(planar, e);
    const auto digit = [&](RestitutionLaw law, double mu_k, double mu_s) {
      return Solve(contact, {{.e = e, .mu_k = mu_k, .mu_s = mu_s}, law}).path_case.digit;
    };
    for (const RestitutionLaw law :
         {RestitutionLaw::kNewton, RestitutionLaw::kPoisson, RestitutionLaw::kEnergetic}) {
      if (critical.slide < 0) {
        ASSERT_NE(digit(law, 0, 0), 0);
      } else if (std::isfinite(critical.slide)) {
        const double below = critical.slide * (1 - 1e-7),
                     above = critical.slide * (1 + 1e-7) + 1e-9;
        ASSERT_EQ(digit(law, below, below), 0) << i;
        ASSERT_NE(digit(law, above, above), 0) << i;
        ++slides;
      } else {
        ASSERT_EQ(digit(law, 50, 50), 0) << i;
        ++never;
      }
    }
    if (critical.slide_compression > 0 && std::isfinite(critical.slide_compression)) {
      const double above = critical.slide_compression * (1 + 1e-7) + 1e-9,
                   below = critical.slide_compression * (1 - 1e-7);
      ASSERT_LE(digit(RestitutionLaw::kEnergetic, above, above), 2);
      ASSERT_TRUE(digit(RestitutionLaw::kEnergetic, below, below) == 0 ||
                  digit(RestitutionLaw::kEnergetic, below, below) > 2);
    }
    // Friction above both bounds sticks from `hold` on.
    if (critical.slide < critical.hold) {
      const double mu_k =
          std::max(0.0, critical.slide) + 0.9 * (critical.hold - std::max(0.0, critical.slide));
      if (mu_k > std::max(0.0, critical.slide) * (1 + 1e-7) + 1e-9) {
        ASSERT_EQ(digit(RestitutionLaw::kEnergetic, mu_k, critical.hold * (1 + 1e-9)) % 2, 1);
        ASSERT_EQ(
            digit(RestitutionLaw::kEnergetic, mu_k, std::max(mu_k, critical.hold * (1 - 1e-9))) % 2,
            0);
        ++sticks;
      }
    }
  }
  EXPECT_GT(slides, 1000);
  EXPECT_GT(sticks, 300);
  EXPECT_GT(never, 100);
}

// (2.33) and (2.35) of Sun 2017 as printed, with unit mass, v_y = 1 and a = I.
TEST(CriticalFriction, PrintedFormulasOfSun2017) {
  std::mt19937_64 rng(20240604);
  for (int i = 0; i < 1000; ++i) {
    const double a = Uniform(rng, 0.05, 0.5), R_x = Uniform(rng, -0.5, 0.5),
                 R_y = Uniform(rng, 0.1, 0.5), e = Uniform(rng, 0, 1);
    const double p = Uniform(rng, -2, 2), lambda = Uniform(rng, -0.5, 0.5);
    if (1 + lambda * R_x <= 0) continue;
    const double numerator = -R_x * R_y + R_y * a * lambda - e * R_y * R_x -
                             R_y * e * lambda * R_x * R_x - p * a - p * R_x * R_x;
    const double denominator = a + R_x * a * lambda + a * e + a * e * lambda * R_x + R_y * R_y +
                               e * R_y * R_y + e * R_y * R_y * lambda * R_x + p * R_x * R_y;
    const double v_cx = p - lambda * R_y;
    // y of the source points into the surface: n = -y, and the lever's n part is -R_y.
    PlanarContact contact = PlanarBodyContact(1, a, R_x, -R_y, p, -1, -lambda);
    ASSERT_NEAR(contact.v_t, v_cx, 1e-12);
    const double printed = numerator / ((v_cx > 0 ? -1 : 1) * denominator);
    const CriticalFriction critical = FindCriticalFriction(contact, e);
    if (!std::isfinite(critical.slide)) continue;
    EXPECT_NEAR(critical.slide, printed, 1e-9 * (1 + std::abs(printed)));
    EXPECT_NEAR(critical.reverse_printed, -printed, 1e-9 * (1 + std::abs(printed)));
  }
}

// Momentum of both bodies, an infinite second body, and the exchange of the two.
TEST(TwoBodies, MomentumLimitAndExchange) {
  std::mt19937_64 rng(20240605);
  for (int i = 0; i < 500; ++i) {
    const Body first = MakeBox({0.2, 0.1, 0.15}, Uniform(rng, 0.5, 2)),
               second = MakeBox({0.3, 0.2, 0.1}, Uniform(rng, 0.5, 2));
    const auto vector = [&](double size) {
      return Eigen::Vector3d(Uniform(rng, -size, size), Uniform(rng, -size, size),
                             Uniform(rng, -size, size));
    };
    const auto moving = [&](const Body& body) {
      ContactBody out{&body};
      out.X_WB.linear() =
          Eigen::Quaterniond(
              Eigen::Vector4d(vector(1).x(), vector(1).y(), vector(1).z(), 1).normalized())
              .toRotationMatrix();
      out.X_WB.translation() = vector(0.2);
      out.v_WB = vector(1);
      out.omega_WB = vector(5);
      return out;
    };
    ContactBody a = moving(first), b = moving(second);
    Eigen::Isometry3d X_WF = Eigen::Isometry3d::Identity();
    X_WF.linear() =
        Eigen::Quaterniond(
            Eigen::Vector4d(vector(1).x(), vector(1).y(), vector(1).z(), 1).normalized())
            .toRotationMatrix();
    X_WF.translation() = vector(0.1);
    ContactState contact = MakeContactState(a, b, X_WF);
    if (contact.v_minus_F.z() > 0) {
      std::swap(a.v_WB, b.v_WB);
      a.omega_WB.setZero(), b.omega_WB.setZero();
      contact = MakeContactState(a, b, X_WF);
      if (contact.v_minus_F.z() > 0) continue;
    }
    const ImpactModel model{{.e = 0.6, .mu_k = 0.3, .mu_s = 0.3}, RestitutionLaw::kEnergetic};
    const ImpactOutcome outcome = Solve(contact, model);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    ASSERT_TRUE(Certify(contact, model, outcome).ok);
    const VelocityChange on_a = ApplyImpulse(*a.body, a.X_WB, X_WF, outcome.J_F),
                         on_b = ApplyImpulse(*b.body, b.X_WB, X_WF, -outcome.J_F);
    const Eigen::Vector3d linear = a.body->mass * on_a.dv_W + b.body->mass * on_b.dv_W;
    EXPECT_LT(linear.norm(), 1e-12);
    const auto spin = [](const ContactBody& m, const VelocityChange& change) {
      const Eigen::Matrix3d R = m.X_WB.linear();
      return Eigen::Vector3d(m.body->mass * m.X_WB.translation().cross(change.dv_W) +
                             R * m.body->inertia_B * R.transpose() * change.domega_W);
    };
    EXPECT_LT((spin(a, on_a) + spin(b, on_b)).norm(), 1e-12);
    // The relative velocity after is that of the two bodies' points.
    const auto point = [&](const ContactBody& m, const VelocityChange& change) {
      return Eigen::Vector3d(
          m.v_WB + change.dv_W +
          (m.omega_WB + change.domega_W).cross(X_WF.translation() - m.X_WB.translation()));
    };
    const Eigen::Vector3d after = X_WF.linear().transpose() * (point(a, on_a) - point(b, on_b));
    EXPECT_LT((after - outcome.v_plus_F).norm(), 1e-11);

    // Exchanged, seen in the frame turned upside down about F_x.
    Eigen::Isometry3d turned = X_WF;
    turned.linear() =
        X_WF.linear() * Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitX()).toRotationMatrix();
    const ImpactOutcome other = Solve(MakeContactState(b, a, turned), model);
    EXPECT_LT((turned.linear() * other.J_F + X_WF.linear() * outcome.J_F).norm(), 1e-9);
    EXPECT_EQ(other.path_case.digit, outcome.path_case.digit);

    // A struck body of great mass is a surface that moves.
    Body heavy = second;
    heavy.mass *= 1e9, heavy.inertia_B *= 1e9;
    ContactBody wall = b;
    wall.body = &heavy;
    ContactState one = MakeContactState(*a.body, a.X_WB, a.v_WB, a.omega_WB, X_WF);
    one.v_minus_F -= X_WF.linear().transpose() *
                     (b.v_WB + b.omega_WB.cross(X_WF.translation() - b.X_WB.translation()));
    const ContactState limit = MakeContactState(a, wall, X_WF);
    EXPECT_LT((limit.A_F - one.A_F).norm(), 1e-7 * one.A_F.norm());
    EXPECT_LT((limit.v_minus_F - one.v_minus_F).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace impactlab
