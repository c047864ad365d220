// Impacts of one body on another that moves: states, momentum and coefficients from the poses of
// both.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "reconstruction/bundle/two_body.h"
#include "tests/reconstruction/two_body_scene.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

using test::Blow;
using test::Striker;

constexpr double kRestitution = 0.6;
// Balls stick at the friction of the boxes, which leaves it open.
double FrictionOf(bool ball) { return ball ? 0.06 : 0.2; }

Blow Make(bool on_axis, bool ball, std::mt19937_64& random) {
  return test::DrawBlow({.on_axis = on_axis,
                         .striker = ball ? Striker::kBall : Striker::kBox,
                         .restitution = kRestitution,
                         .friction = FrictionOf(ball)},
                        random);
}

class TwoBodies : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(TwoBodies, StatesMomentumAndCoefficients) {
  const auto [on_axis, ball] = GetParam();
  std::mt19937_64 random(20261205 + 2 * on_axis + ball);
  std::vector<ImpactEvent> events;
  Body body;
  double closure = 0, z2 = 0;
  int n = 0;
  const int kBlows = 20;
  for (int k = 0; k < kBlows; ++k) {
    const Blow blow = Make(on_axis, ball, random);
    body = blow.striker;
    const std::vector<TwoBodyEvent> found =
        FitTwoBodies(blow.first, blow.striker, blow.second, blow.plate);
    ASSERT_EQ(found.size(), 1u) << k;
    const TwoBodyEvent& out = found[0];
    if (!out.event.accepted) continue;
    ++n;
    EXPECT_NEAR(out.event.t, blow.t, 2e-4);
    EXPECT_LT((out.event.struck->v_plus - blow.two_plus.v).norm(), 0.02);
    closure += out.event.struck->closure_chi_square / out.event.struck->closure_dof;
    // Relative velocity of the centre, in the frame that turns with body 2.
    const Vector3d p = blow.one_minus.p +
                       test::LowestLever(blow.striker, blow.one_minus.R, blow.two_minus.R.col(2));
    const Vector3d u2 = blow.two_minus.v + blow.two_minus.omega.cross(p - blow.two_minus.p);
    const Matrix3d back = blow.two_minus.R * out.event.struck->X_WB.linear().transpose();
    const Vector3d errors[2] = {back * out.event.v_minus - (blow.one_minus.v - u2),
                                back * out.event.v_plus - (blow.one_plus.v - u2)};
    for (int s = 0; s < 2; ++s)
      z2 += errors[s].dot(out.event.cov.block<3, 3>(6 * s, 6 * s).ldlt().solve(errors[s])) / 6;
    events.push_back(out.event);
  }
  EXPECT_GE(n, kBlows - 4);
  EXPECT_GT(closure / n, on_axis ? 0.3 : 0.6);
  EXPECT_LT(closure / n, on_axis ? 2.0 : 1.5);
  EXPECT_GT(z2 / n, 0.6);
  EXPECT_LT(z2 / n, 1.6);
  const LawFit fit = Identify(events, body, {{}, RestitutionLaw::kEnergetic}, {.influence = false});
  const double planted[2] = {FrictionOf(ball), kRestitution};
  for (int k = 0; k < 2; ++k) {
    const ParameterEstimate& p = ListParameters(fit)[k];
    EXPECT_LT(p.lower95, planted[k]) << p.name;
    EXPECT_GT(p.upper95, planted[k]) << p.name;
    EXPECT_LT(p.upper95 - p.lower95, 0.06) << p.name << ": " << p.reason;
  }
}
INSTANTIATE_TEST_SUITE_P(PlatesStruck, TwoBodies,
                         ::testing::Values(std::pair(false, true), std::pair(false, false),
                                           std::pair(true, true), std::pair(true, false)));

TEST(TwoBodyMass, InverseMassesAdd) {
  std::mt19937_64 random(7);
  const Blow free = Make(false, true, random), hung = Make(true, true, random);
  for (const Blow* blow : {&free, &hung}) {
    const TwoBodyEvent out =
        FitTwoBodies(blow->first, blow->striker, blow->second, blow->plate).at(0);
    const Matrix3d alone =
        ContactInverseMass(blow->striker, out.event.X_WB, out.event.contact.X_WF);
    const Matrix3d second = out.event.contact.A_F - alone;
    EXPECT_GT(second(2, 2), 0.3);
    const Vector3d values = Eigen::SelfAdjointEigenSolver<Matrix3d>(second).eigenvalues();
    EXPECT_GE(values.minCoeff(), -1e-9);
    // On an axis the plate yields in one direction only.
    EXPECT_EQ((values.array() > 1e-9).count(), blow->plate.axis ? 1 : 3);
  }
}

TEST(TwoBodyMass, WrongMassOfThePlateDoesNotClose) {
  std::mt19937_64 random(8);
  Blow blow = Make(false, true, random);
  blow.plate.body = MakeBox({0.2, 0.15, 0.02}, 0.5);
  EXPECT_GT(FitTwoBodies(blow.first, blow.striker, blow.second, blow.plate)
                .at(0)
                .event.struck->closure_chi_square,
            30);
  EXPECT_THROW(FitTwoBodies(blow.first, MakeBall(0.03, 0.1, true), blow.second, blow.plate),
               ConfigError);
}

}  // namespace
}  // namespace impactlab
