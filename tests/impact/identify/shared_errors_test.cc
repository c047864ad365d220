// Errors that all impacts share, found from the impacts: a length scale, a level of the spins and
// the moments of a box that were drawn.

#include "impact/identify/shared_errors.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "data/statistics/statistics.h"
#include "tests/impact/identify_twin.h"

using namespace impactlab;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kScale = 0.01, kLevel = 0.5, kInertia = 0.05;

// Events as they are where the errors of the laboratory are c.
EventsOfBody Apply(const std::vector<ImpactEvent>& events, const Body& body, const VectorXd& c) {
  EventsOfBody out{events, body};
  out.body.inertia_B *= std::exp(kInertia * c[2]);
  for (ImpactEvent& event : out.events) {
    const Vector3d center = event.X_WB.translation();
    const double scale = std::exp(kScale * c[0]);
    event.v_minus *= scale;
    event.v_plus *= scale;
    event.p_WP = center + scale * (event.p_WP - center);
    // Before the impact alone: the fall is filmed by another lamp.
    event.omega_minus += Vector3d::Constant(kLevel * c[1]);
    UpdateContact(event, out.body, Plane{}, {0, 0, -9.80665});
  }
  return out;
}

struct Found {
  VectorXd truth;
  SharedErrors shared;
};

Found FindIn(const twin::Options& options, std::mt19937_64& random) {
  const Body body = MakeBox({0.05, 0.07, 0.1}, 0.4);
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  Found out;
  out.truth = Vector3d(twin::Normal(random), twin::Normal(random), twin::Normal(random));
  const EventsOfBody seen = Apply(events, body, -out.truth);
  out.shared =
      FindSharedErrors([&](const VectorXd& c) { return Apply(seen.events, seen.body, c); }, 3,
                       {{.e = 0.5, .mu_k = 0.3, .mu_s = 0.3}, RestitutionLaw::kEnergetic});
  return out;
}

twin::Options Impacts(int n, double scatter) {
  twin::Options options{.n = n};
  options.sd_t = options.sd_n = options.sd_c = scatter;
  return options;
}

void SharedErrorsExpectCovered(const twin::Options& options, int repeats) {
  std::mt19937_64 random(20261129);
  int covered = 0, n = 0;
  double squares = 0;
  for (int k = 0; k < repeats; ++k) {
    const Found found = FindIn(options, random);
    const VectorXd error = found.shared.mean - found.truth;
    squares += error.dot(found.shared.cov.llt().solve(error)) / (3.0 * repeats);
    for (int i = 0; i < 3; ++i, ++n)
      covered += std::abs(error[i]) < 1.96 * std::sqrt(found.shared.cov(i, i));
  }
  const CountBand band = BinomialBand(n, 0.95, 1e-3);
  EXPECT_TRUE(band.Contains(covered)) << covered << " of " << n;
  EXPECT_NEAR(squares, 1, 0.5);
}

}  // namespace

// All but one: lengths and, by their squares, moments that are off together leave every impact as
// it was.
TEST(SharedErrors, MomentumThatHasToCloseTellsThem) {
  std::mt19937_64 random(5);
  const Found found = FindIn(Impacts(20, 0), random);
  const VectorXd error = found.shared.mean - found.truth;
  EXPECT_EQ(found.shared.dof, 2);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(found.shared.cov);
  EXPECT_LT(eigen.eigenvalues()[1], 0.01);
  EXPECT_GT(eigen.eigenvalues()[2], 0.9);
  const Vector3d unseen = Vector3d(kInertia, 0, 2 * kScale).normalized();
  EXPECT_GT(std::abs(eigen.eigenvectors().col(2).dot(unseen)), 0.999);
  for (int k = 0; k < 3; ++k)
    EXPECT_LT(std::abs(eigen.eigenvectors().col(k).dot(error)),
              4 * std::sqrt(eigen.eigenvalues()[k]))
        << k;
}

TEST(SharedErrors, CoverWhereNothingScatters) { SharedErrorsExpectCovered(Impacts(12, 0), 15); }

TEST(SharedErrors, CoverWhereImpactsScatter) { SharedErrorsExpectCovered(Impacts(20, 0.03), 15); }

// Impacts that differ by far more than what they share tell nothing of it.
TEST(SharedErrors, ScatterLeavesThemAsDeclared) {
  std::mt19937_64 random(7);
  const Found found = FindIn(Impacts(12, 0.5), random);
  for (int i = 0; i < 3; ++i) EXPECT_GT(found.shared.cov(i, i), 0.5) << i;
  EXPECT_LT(found.shared.mean.norm(), 1.5);
}

TEST(SharedErrors, TooFewImpactsLeaveThemAsDeclared) {
  std::mt19937_64 random(9);
  const Found found = FindIn(Impacts(4, 0), random);
  EXPECT_TRUE(found.shared.mean.isZero(0));
  EXPECT_TRUE(found.shared.cov.isIdentity(0));
  EXPECT_EQ(found.shared.dof, 0);
}

TEST(SharedErrors, NothingShared) {
  std::mt19937_64 random(11);
  const Body body = MakeBox({0.05, 0.07, 0.1}, 0.4);
  const std::vector<ImpactEvent> events = twin::Experiment(body, Impacts(8, 0.02), random);
  const SharedErrors shared = FindSharedErrors(
      [&](const VectorXd&) {
        return EventsOfBody{events, body};
      },
      0, {});
  EXPECT_EQ(shared.mean.size(), 0);
}
