// Painleve's classification of a contact of a mechanism, against closed forms of a rod on its end.

#include "impact/motion/sliding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "impact/motion/mechanism_builders.h"

namespace impactlab {
namespace {

// A uniform rod of half length 1 m whose lower end, at -x of it, slides along the floor with v_x.
BodyMechanism SlidingRod(double theta, double v_x, double spin, double mu) {
  RodOnFloor rod;
  rod.amplitude = 0;
  rod.mu = mu;
  rod.pose = {0, std::sin(theta), theta};
  // The end neither rises nor falls.
  rod.rates = {v_x - spin * std::sin(theta), spin * std::cos(theta), spin};
  return MakeRodOnFloor(rod);
}

TEST(Sliding, RodOnItsEndAgreesWithTheClosedForms) {
  const double theta = 1.1, critical = RodCriticalFriction(theta, 1 / std::sqrt(3.0));
  for (const double v_x : {-0.7, 0.7}) {
    for (const double mu : {0.99 * critical, 1.01 * critical}) {
      const BodyMechanism made = SlidingRod(theta, v_x, 0.4, mu);
      const auto found = ClassifySliding(made.mechanism, made.start, 1);
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->v_t, v_x, 1e-12);
      EXPECT_EQ(found->mu_k, mu);
      // The end is accelerated by gravity and towards the centre, which lies above it.
      EXPECT_NEAR(found->free_acceleration, -9.81 + 0.16 * std::sin(theta), 1e-9);
      if (v_x < 0) {
        EXPECT_NEAR(found->mu_press, critical, 1e-9);
        EXPECT_EQ(found->regime,
                  mu < critical ? ContactRegime::kContact : ContactRegime::kInconsistent);
      } else {
        EXPECT_TRUE(std::isinf(found->mu_press));
        EXPECT_EQ(found->regime, ContactRegime::kContact);
      }
    }
  }
}

// Fast enough, the end leaves the floor by itself: beyond the critical friction both that and a
// contact solve the motion.
TEST(Sliding, FastSpinMakesItIndeterminate) {
  const double theta = 1.1, critical = RodCriticalFriction(theta, 1 / std::sqrt(3.0));
  const BodyMechanism made = SlidingRod(theta, -0.7, 5, 1.01 * critical),
                      smooth = SlidingRod(theta, -0.7, 5, 0.1);
  EXPECT_EQ(ClassifySliding(made.mechanism, made.start, 1)->regime, ContactRegime::kIndeterminate);
  EXPECT_EQ(ClassifySliding(smooth.mechanism, smooth.start, 1)->regime, ContactRegime::kSeparation);
}

TEST(Sliding, InSpaceThereIsNone) {
  const BodyMechanism ball =
      MakeSphereInCornerMechanism(0.1, 1, {0.01, 0.1, 0.1}, {1, 0, 0}, Eigen::Vector3d::Zero(), {});
  EXPECT_FALSE(ClassifySliding(ball.mechanism, ball.start, 0));
}

}  // namespace
}  // namespace impactlab
