// Planar impacts: rows of the literature, an independent phase-by-phase integration, and the laws'
// own properties.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "impact/law/solve.h"
#include "tests/impact/brute_force.h"
#include "tests/impact/random_contact.h"
#include "tests/support/allocations.h"

namespace impactlab {
namespace {

ContactState Planar(double a, double b, double c, double v_x, double v_n) {
  ContactState contact;
  contact.A_F << a, 0, b, 0, 0.5 * (a + c), 0, b, 0, c;
  contact.v_minus_F = Eigen::Vector3d(v_x, 0, v_n);
  return contact;
}

ImpactModel SolvePlanarModel(RestitutionLaw law, double e, double mu_k, double mu_s = -1) {
  ImpactModel model;
  model.law = law;
  model.e = e;
  model.mu_k = mu_k;
  model.mu_s = mu_s < 0 ? mu_k : mu_s;
  return model;
}

double KineticEnergyChange(const ContactState& contact, const Eigen::Vector3d& v_plus) {
  const Eigen::Matrix3d M = contact.A_F.inverse();
  return 0.5 * (v_plus.dot(M * v_plus) - contact.v_minus_F.dot(M * contact.v_minus_F));
}

// Shen & Townsend, example 1 (double pendulum of Kane & Levinson).
ContactState SolvePlanarDoublePendulum() {
  const double l = 2, m = 3, q1 = 20 * M_PI / 180, q2 = 30 * M_PI / 180;
  Eigen::Matrix2d M;
  M << 4.0 / 3 * m * l * l, 0.5 * m * l * l * std::cos(q2 - q1),
      0.5 * m * l * l * std::cos(q2 - q1), m * l * l / 3;
  Eigen::Matrix2d rows;
  rows << l * std::cos(q1), l * std::cos(q2), l * std::sin(q1), l * std::sin(q2);
  const Eigen::Matrix2d W = rows * M.inverse() * rows.transpose();
  const Eigen::Vector2d u = rows * Eigen::Vector2d(-0.1, -0.2);
  return Planar(W(0, 0), W(0, 1), W(1, 1), u.x(), u.y());
}

TEST(SolvePlanar, DoublePendulumTable) {
  const ContactState contact = SolvePlanarDoublePendulum();
  EXPECT_NEAR(contact.A_F(0, 0), 0.813446, 5e-7);
  EXPECT_NEAR(contact.A_F(0, 2), 0.507103, 5e-7);
  EXPECT_NEAR(contact.A_F(2, 2), 0.336520, 5e-7);
  EXPECT_NEAR(contact.v_minus_F.x(), -0.534349, 5e-7);
  EXPECT_NEAR(contact.v_minus_F.z(), -0.268404, 5e-7);
  EXPECT_NEAR(contact.A_F(0, 2) / contact.A_F(0, 0), 0.6234, 5e-5);
  struct Row {
    double e, mu_s, mu, J_n, u_t, u_n, energy;
    int digit;
  };
  const Row rows[] = {{0.5, 0.25, 0.2, 0.9193, 0.04186, 0.10955, -0.1063, 4},
                      {0.5, 0.5, 0.4, 0.7464, 0.01900, 0.09178, -0.1213, 4},
                      {0.3, 0.5, 0.4, 0.6469, 0.00092, 0.07847, -0.1294, 4},
                      {0.7, 0.51, 0.5, 0.7733, 0.01893, 0.09228, -0.1192, 4},
                      {0.5, 0, 0, 1.1964, 0.07234, 0.13420, -0.0803, 4},
                      {0.2, 0.5, 0.4, 0.5971, -0.03722, 0.05368, -0.1324, 0},
                      {0.7, 0.63, 0.5, 0.7733, 0, 0.08048, -0.1194, 3}};
  for (const Row& row : rows) {
    const ImpactOutcome outcome =
        Solve(contact, SolvePlanarModel(RestitutionLaw::kPoisson, row.e, row.mu, row.mu_s));
    SCOPED_TRACE(::testing::Message() << "e " << row.e << " mu_s " << row.mu_s << " mu " << row.mu);
    EXPECT_EQ(outcome.status, SolveStatus::kOk);
    EXPECT_NEAR(outcome.J_F.z(), row.J_n, 6e-5);  // 0.59716 is printed as 0.5971
    EXPECT_NEAR(outcome.v_plus_F.x(), row.u_t, 5.1e-6);
    EXPECT_NEAR(outcome.v_plus_F.z(), row.u_n, 5.1e-6);
    EXPECT_NEAR(KineticEnergyChange(contact, outcome.v_plus_F), row.energy, 5.1e-5);
    EXPECT_EQ(outcome.path_case.digit, row.digit);
    EXPECT_EQ(outcome.turn, row.digit == 4 ? M_PI : 0.0);
  }
  // F* of row 5; in row 6 slip would only stop at F* = 0.6419, after the end.
  EXPECT_NEAR(Solve(contact, SolvePlanarModel(RestitutionLaw::kPoisson, 0.5, 0)).path[2].J_F.z(),
              1.0537, 5.1e-5);
  EXPECT_NEAR(
      Solve(contact, SolvePlanarModel(RestitutionLaw::kPoisson, 0.3, 0.4, 0.5)).path[2].J_F.z(),
      0.6419, 5.1e-5);
  // Newton's law with sticking gains energy in the last row.
  const ImpactOutcome gain =
      Solve(contact, SolvePlanarModel(RestitutionLaw::kNewton, 0.7, 0.5, 0.63));
  EXPECT_NEAR(KineticEnergyChange(contact, gain.v_plus_F), 0.587, 5e-4);
  EXPECT_EQ(gain.path_case.digit, 3);
}

// Shen & Townsend, example 2: sphere 1 hits sphere 2 at rest; impulses per unit mass; n along x, t
// along y.
TEST(SolvePlanar, TwoSpheres) {
  const double r = 4, inertia = 0.4 * r * r, w1 = -11;
  // The printed end gives the approach: v1_minus = v1_plus + F n - tau t.
  const Eigen::Vector2d v1_minus(1.5 + 13.5, 28.555 - 2.5742);
  EXPECT_NEAR(v1_minus.x(), 30 * std::cos(M_PI / 3), 1e-12);
  EXPECT_NEAR(v1_minus.y(), 30 * std::sin(M_PI / 3), 2e-4);
  const double v1y = 30 * std::sin(M_PI / 3);
  // Relative velocity of sphere 1's contact point (at +r n of its centre) and sphere 2's (at -r n);
  // separation along -n counts positive.
  const double slip = (v1y + w1 * r) - 0;
  const double approach = -15;
  const double a = 2 * (1 + r * r / inertia), c = 2;
  const ImpactOutcome outcome =
      Solve(Planar(a, 0, c, slip, approach), SolvePlanarModel(RestitutionLaw::kPoisson, 0.8, 0.3));
  ASSERT_EQ(outcome.path_size, 4);
  EXPECT_EQ(outcome.path_case.digit, 3);
  const auto check = [&](const PathPoint& point, double F, double v1x_, double v1y_, double v2x,
                         double v2y, double w1_, double w2) {
    const double tau = point.J_F.x();
    EXPECT_NEAR(point.J_F.z(), F, 5.1e-5);
    EXPECT_NEAR(15 - point.J_F.z(), v1x_, 5.1e-5);
    EXPECT_NEAR(v1y + tau, v1y_, 5.1e-4);  // printed with three decimals
    EXPECT_NEAR(point.J_F.z(), v2x, 5.1e-5);
    EXPECT_NEAR(-tau, v2y, 5.1e-5);
    EXPECT_NEAR(w1 + r * tau / inertia, w1_, 5.1e-4);
    EXPECT_NEAR(r * tau / inertia, w2, 5.1e-5);
  };
  check(outcome.path[1], 7.5, 7.5, 28.2308, 7.5, -2.25, -9.5938, 1.4062);
  check(outcome.path[2], 8.5806, 6.4194, 28.555, 8.5806, -2.5742, -9.391, 1.6089);
  check(outcome.path[3], 13.5, 1.5, 28.555, 13.5, -2.5742, -9.391, 1.6089);
}

// Uniform rod of length and mass one, end in contact: reference rows of an energetic map (the
// Bristol thesis, recomputed).
TEST(SolvePlanar, EnergeticRodRows) {
  struct Row {
    double theta, mu, e, v_t, v_n, v_t_plus, v_n_plus;
    int digit;
  };
  const Row rows[] = {{0.61, 1.50, 0.90, 0.88, -0.37, 0.278848908, 0.333000000, 0},
                      {0.53, 0.05, 0.90, -1.31, -0.26, -1.500277992, 0.234000000, 0},
                      {1.60, 0.20, 0.80, 0.43, -0.41, 0, 0.329765933, 3},
                      {1.52, 0.50, 0.70, -1.09, -0.33, 0, 0.231757214, 3},
                      {0.18, 1.20, 0.80, 0.46, -1.31, 0, 0.941886825, 1},
                      {0.21, 1.20, 0.80, -0.24, -1.22, 0, 1.035080940, 1},
                      {0.63, 0.30, 0.80, 1.15, -1.29, -0.105030285, 0.944727768, 4},
                      {2.73, 0.05, 0.80, -0.52, -1.26, 0.198559484, 0.993991181, 4},
                      {0.98, 0.10, 0.90, 0.93, -1.45, -0.924678355, 1.218751570, 2},
                      {2.04, 0.10, 0.70, -0.86, -1.85, 1.231976301, 1.223441351, 2}};
  for (const Row& row : rows) {
    const double s = std::sin(row.theta), c = std::cos(row.theta);
    const ImpactOutcome outcome =
        Solve(Planar(1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, row.v_t, row.v_n),
              SolvePlanarModel(RestitutionLaw::kEnergetic, row.e, row.mu));
    SCOPED_TRACE(row.theta);
    EXPECT_NEAR(outcome.v_plus_F.x(), row.v_t_plus, 1e-9);
    EXPECT_NEAR(outcome.v_plus_F.z(), row.v_n_plus, 1e-9);
    EXPECT_EQ(outcome.path_case.digit, row.digit);
  }
}

// The rod of the Bristol thesis: at v_n = 0 friction alone can press the rod on the ground
// (Painleve).
TEST(SolvePlanar, ImpactWithoutCollision) {
  const double theta = std::atan(2.0), s = std::sin(theta), c = std::cos(theta);
  const auto solve = [&](double mu, double v_n) {
    return Solve(Planar(1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, -1, v_n),
                 SolvePlanarModel(RestitutionLaw::kEnergetic, 0.5, mu));
  };
  const ImpactOutcome below = solve(1.3333323, 0);
  EXPECT_EQ(below.status, SolveStatus::kNoApproach);
  EXPECT_EQ(below.v_plus_F, Eigen::Vector3d(-1, 0, 0));
  for (const auto& [mu, v_n_plus] :
       {std::pair(1.4, 0.0445288), std::pair(1.5, 0.0672673), std::pair(2.0, 0.1122722)}) {
    const ImpactOutcome outcome = solve(mu, 0);
    EXPECT_EQ(outcome.path_case.digit, 1);
    EXPECT_EQ(outcome.v_plus_F.x(), 0);
    EXPECT_NEAR(outcome.v_plus_F.z(), v_n_plus, 5e-8);
  }
  EXPECT_NEAR(solve(1.5, -0.5).v_plus_F.z(), 0.3940307, 5e-8);
  // The same friction pulls the rod off when it slips the other way.
  EXPECT_EQ(Solve(Planar(1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, 1, 0),
                  SolvePlanarModel(RestitutionLaw::kEnergetic, 0.5, 2))
                .status,
            SolveStatus::kNoApproach);
}

// Sun's rod: the case digits along a sweep of the lean angle, and the largest dissipation.
ContactState SunRod(double beta, double v_x, double sense) {
  const double R = 0.5, thickness = 1.0 / 30, inertia = 1.0 / 12 + thickness * thickness / 4;
  const double r_x = sense * R * std::cos(beta), r_n = -R * std::sin(beta);
  return Planar(1 + r_n * r_n / inertia, -r_x * r_n / inertia, 1 + r_x * r_x / inertia, v_x, -1);
}

TEST(SolvePlanar, SunRodSweep) {
  const ImpactModel model = SolvePlanarModel(RestitutionLaw::kEnergetic, 0.4, 0.4);
  std::vector<std::pair<int, double>> changes;
  double largest = 0, largest_at = 0;
  int last = -1;
  for (int i = 0; i <= 314; ++i) {
    const double beta = 0.01 * i;
    const ContactState contact = SunRod(beta, 1, -1);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.path_case.digit != last) changes.emplace_back(last = outcome.path_case.digit, beta);
    // The whole energy: before the impact the rod only translates.
    const double dissipated = -KineticEnergyChange(contact, outcome.v_plus_F) / (0.5 * (1 + 1));
    if (dissipated > largest) largest = dissipated, largest_at = beta;
  }
  const std::vector<std::pair<int, double>> expected = {{0, 0},    {4, 0.71}, {2, 0.95},
                                                        {1, 1.05}, {3, 1.80}, {0, 1.87}};
  ASSERT_EQ(changes.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(changes[i].first, expected[i].first);
    EXPECT_NEAR(changes[i].second, expected[i].second, 1e-9);
  }
  EXPECT_NEAR(largest, 0.8311, 5e-5);
  EXPECT_NEAR(largest_at, 1.99, 1e-9);
}

TEST(SolvePlanar, SunExamples) {
  const auto changes = [](double beta, double sense, const ImpactModel& model) {
    std::vector<std::pair<int, double>> found;
    int last = -1;
    for (int i = 0; i <= 40; ++i) {
      const double v_x = -2 + 0.05 * i;
      const int digit = Solve(SunRod(beta, v_x, sense), model).path_case.digit;
      if (digit != last) found.emplace_back(last = digit, v_x);
    }
    return found;
  };
  const auto first = changes(2 * M_PI / 3, -1, SolvePlanarModel(RestitutionLaw::kEnergetic, 1, 0));
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first[0].first, 0);
  EXPECT_EQ(first[1].first, 4);
  EXPECT_NEAR(first[1].second, -1.45, 1e-9);
  EXPECT_EQ(first[2].first, 2);
  EXPECT_NEAR(first[2].second, -0.70, 1e-9);
  EXPECT_EQ(first[3].first, 6);
  EXPECT_NEAR(first[3].second, 0, 1e-9);
  const auto second = changes(M_PI / 3, 1, SolvePlanarModel(RestitutionLaw::kEnergetic, 1, 1));
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(second[0].first, 3);
  EXPECT_EQ(second[1].first, 1);
  EXPECT_NEAR(second[1].second, -1.45, 1e-9);
  EXPECT_EQ(second[2].first, 5);
  EXPECT_NEAR(second[2].second, 0, 1e-9);
}

// 1e5 impacts of every law, at rest and pressing ones included, against bisection in long double.
TEST(SolvePlanar, AgreesWithBisection) {
  std::mt19937_64 rng(20240101);
  int digits[7] = {}, no_approach = 0, painleve = 0;
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const ContactState contact = RandomPlanar(rng, 1e4);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    const double a = contact.A_F(0, 0), b = contact.A_F(0, 2), c = contact.A_F(2, 2);
    const double pressing = c - (contact.v_minus_F.x() > 0 ? 1 : -1) * model.mu_k * b;
    if (contact.v_minus_F.z() == 0 && (pressing >= 0 || contact.v_minus_F.x() == 0)) {
      ASSERT_EQ(outcome.status, SolveStatus::kNoApproach);
      ++no_approach;
      continue;
    }
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    if (std::abs(std::abs(b) / a - model.mu_s) < 1e-8) continue;
    painleve += pressing < 0;
    const brute::Result exact = brute::Integrate(contact, model, true);
    ASSERT_TRUE(exact.ok);
    const double speed = contact.v_minus_F.norm();
    double error = 0;
    for (int k = 0; k < 3; ++k) {
      error = std::max<double>(
          error, std::abs(static_cast<double>(outcome.v_plus_F[k] - exact.v[k])) / speed);
      error = std::max<double>(
          error, std::abs(static_cast<double>(outcome.J_F[k] - exact.J[k])) / outcome.J_F.norm());
    }
    ASSERT_LT(error, 1e-10) << "case " << i << " digit " << outcome.path_case.digit << " / "
                            << exact.digit;
    const double energy =
        std::abs(static_cast<double>(exact.W_c)) + std::abs(static_cast<double>(exact.W_t));
    ASSERT_NEAR(outcome.work_n_c, static_cast<double>(exact.W_c), 1e-10 * energy);
    ASSERT_NEAR(outcome.work_n_r, static_cast<double>(exact.W_r), 1e-10 * energy);
    ASSERT_NEAR(outcome.work_t, static_cast<double>(exact.W_t), 1e-10 * energy);
    ASSERT_EQ(outcome.path_case.digit, exact.digit) << "case " << i;
    ++digits[outcome.path_case.digit];
    worst = std::max(worst, error);
    ASSERT_TRUE(outcome.dense.empty());
  }
  RecordProperty("worst_relative_error", ::testing::PrintToString(worst));
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 200) << digit;
  EXPECT_GT(no_approach, 200);
  EXPECT_GT(painleve, 200);
  std::printf("worst relative error %.3g, without collision or Painleve %d\n", worst, painleve);
}

TEST(SolvePlanar, AllocatesNothing) {
  std::mt19937_64 rng(20240112);
  std::vector<ContactState> contacts;
  std::vector<ImpactModel> models;
  for (int i = 0; i < 1000; ++i) {
    contacts.push_back(RandomPlanar(rng, 100));
    models.push_back(RandomModel(rng));
    if (contacts.back().v_minus_F.z() == 0) contacts.back().v_minus_F.z() = -1;
  }
  double sum = 0;
  const long before = test::Allocations();
  for (size_t i = 0; i < contacts.size(); ++i) sum += Solve(contacts[i], models[i]).v_plus_F.z();
  EXPECT_EQ(test::Allocations() - before, 0);
  ::operator delete(::operator new(1));  // it counts at all
  EXPECT_EQ(test::Allocations() - before, 1);
  EXPECT_GT(sum, 0);
}

// Mirrored along F_x: the same impact with its tangential quantities reversed, to the last bit.
TEST(SolvePlanar, MirrorSymmetry) {
  std::mt19937_64 rng(20240113);
  for (int i = 0; i < 10000; ++i) {
    const ContactState contact = RandomPlanar(rng, 1e4);
    const ImpactModel model = RandomModel(rng);
    ContactState mirrored = contact;
    mirrored.v_minus_F.x() *= -1;
    mirrored.A_F(0, 2) *= -1;
    mirrored.A_F(2, 0) *= -1;
    const ImpactOutcome a = Solve(contact, model), b = Solve(mirrored, model);
    ASSERT_EQ(a.v_plus_F.x(), -b.v_plus_F.x());
    ASSERT_EQ(a.v_plus_F.z(), b.v_plus_F.z());
    ASSERT_EQ(a.J_F.x(), -b.J_F.x());
    ASSERT_EQ(a.path_case.digit, b.path_case.digit);
  }
}

// Just below and above k_N = 0 (friction that all but presses the bodies together) the outcome is
// one smooth function of mu.
TEST(SolvePlanar, SmoothThroughVanishingNormalRate) {
  const double a = 2, b = 1.2, c = 1;  // slip to the right: k_N = c - mu b
  ImpactModel model = SolvePlanarModel(RestitutionLaw::kEnergetic, 0.7, c / b);
  for (const RestitutionLaw law :
       {RestitutionLaw::kNewton, RestitutionLaw::kPoisson, RestitutionLaw::kEnergetic}) {
    model.law = law;
    const auto solve = [&](double mu) {
      model.mu_k = model.mu_s = mu;
      return Solve(Planar(a, b, c, 1, -1), model);
    };
    const ImpactOutcome at = solve(c / b);
    ASSERT_EQ(at.path_case.digit, 1);
    ASSERT_TRUE(at.v_plus_F.allFinite());
    for (const double step : {1e-15, 1e-12, 1e-9, 1e-6}) {
      for (const double sign : {-1.0, 1.0}) {
        const ImpactOutcome near = solve(c / b + sign * step);
        EXPECT_NEAR(near.v_plus_F.z(), at.v_plus_F.z(), 3 * step + 1e-14);
        EXPECT_NEAR(near.J_F.z(), at.J_F.z(), 10 * step + 1e-14);
        EXPECT_EQ(near.path_case.digit, 1);
      }
    }
  }
}

}  // namespace
}  // namespace impactlab
