// Orbits of scenario files: the ball on a vibrating floor, the Bristol thesis, chapter 5.

#include "pipelines/simulate/orbits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/config/run_context.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

const std::string kVibratingBall =
    std::string(IMPACTLAB_SOURCE_DIR) + "/data/scenarios/ball_on_vibrating_floor.yaml";
// Near the orbit that bounces once a period at w = 3, e = 0.9: its apex at the file's t = 0.
const ScenarioNumbers kApex = {
    {"every_contact.e", 0.9}, {"bodies.0.position_m.1", 6.3626}, {"planes.0.phase_rad", 4.5312}};

TEST(Orbits, BallThatBouncesOnceAPeriod) {
  const Scenario scenario = ScenarioWith(ReadFile(kVibratingBall), kVibratingBall, kApex);
  EXPECT_NEAR(SurfacePeriod(scenario), 2 * M_PI / 3, 1e-12);
  const PeriodicOrbit orbit = FindOrbit(scenario, SurfacePeriod(scenario));
  ASSERT_TRUE(orbit.usable()) << orbit.reason;
  EXPECT_EQ(orbit.impacts, 1);
  EXPECT_LT(orbit.residual, 1e-9);
  // Of an impact a period: the product of the multipliers that are not 1 is e^2.
  std::complex<double> product = 1;
  for (const std::complex<double>& m : orbit.multipliers)
    if (std::abs(m - 1.0) > 1e-3) product *= m;
  EXPECT_NEAR(product.real(), 0.81, 1e-6);
  EXPECT_THROW(FindOrbit(scenario, 0), ConfigError);
}

TEST(Orbits, BranchTurnsBackAtTheFold) {
  OrbitToFollow orbit{.text = ReadFile(kVibratingBall),
                      .file = kVibratingBall,
                      .numbers = kApex,
                      .key = "planes.0.frequency_rad_per_s",
                      .first = 3,
                      .step = -0.2,
                      .low = 0.5,
                      .high = 3.2,
                      .most_points = 60};
  int motions = 0;
  const OrbitBranch branch = FollowOrbit(orbit, [&] { ++motions; });
  ASSERT_GE(branch.bifurcations.size(), 1u) << branch.end;
  EXPECT_EQ(branch.bifurcations[0].kind, BifurcationKind::kFold);
  EXPECT_NEAR(branch.bifurcations[0].parameter, std::sqrt(M_PI * 9.81 * 0.1 / 1.9), 1e-6);
  EXPECT_GT(motions, 100);
  EXPECT_THROW(FollowOrbit(orbit, [] { throw Interrupted(); }), Interrupted);
  orbit.first = 4;
  EXPECT_THROW(FollowOrbit(orbit), ConfigError);
}

TEST(Orbits, SaysWhyThereIsNone) {
  OrbitToFollow orbit{.text = ReadFile(kVibratingBall),
                      .file = kVibratingBall,
                      .numbers = {{"bodies.0.position_m.1", 1.2}, {"every_contact.e", 0.1}},
                      .key = "planes.0.frequency_rad_per_s",
                      .first = 0.5,
                      .low = 0.1,
                      .high = 1};
  const OrbitBranch branch = FollowOrbit(orbit);
  EXPECT_TRUE(branch.points.empty());
  EXPECT_THAT(branch.end, HasSubstr("no orbit near the start"));
  orbit.key = "planes.0.frequency";
  EXPECT_THROW(FollowOrbit(orbit), ConfigError);
}

}  // namespace
}  // namespace impactlab
