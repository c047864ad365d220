// Identification of (mu, e): what cannot be determined is said to be so, and no input breaks a fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "impact/identify/identify.h"
#include "tests/impact/identify/identify_checks.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using twin::E;
using twin::ExpectSane;
using twin::Mu;
using twin::Scatter;

// T41 (i): a ball that falls straight down without spin asks nothing of friction.
TEST(IdentifyVerdict, NoTangentialDemandLeavesFrictionUnobservable) {
  std::mt19937_64 random(31);
  const Body ball = MakeBall(0.02, 0.1, true);
  for (double noise : {0.0, 1.0}) {
    twin::Options options = Scatter(0.01);
    options.speed_t = options.spin = 0;
    options.sd_t = 0;
    options.sd_v *= noise;
    options.sd_omega *= noise;
    options.sd_r *= noise;
    const auto events = twin::Experiment(ball, options, random);
    const LawFit fit = Identify(events, ball, {}, {.bootstrap = 20, .grid = 5});
    ExpectSane(fit);
    EXPECT_FALSE(Mu(fit).identifiable);
    EXPECT_TRUE(std::isinf(Mu(fit).upper95));
    EXPECT_LT(Mu(fit).lower95, 0.01);
    EXPECT_TRUE(std::isnan(Mu(fit).sd));
    EXPECT_TRUE(E(fit).identifiable);
    EXPECT_NEAR(E(fit).value, 0.5, 0.02);
    EXPECT_THAT(Mu(fit).reason, HasSubstr("no tangential demand"));
  }
}

// T41 (ii): everything sticks.
TEST(IdentifyVerdict, StickingEventsBoundFrictionFromBelow) {
  std::mt19937_64 random(32);
  for (int repeat = 0; repeat < 10; ++repeat) {
    twin::Options options = Scatter(0.01);
    options.mu = 3;
    options.speed_t = 0.4;
    options.spin = 3;
    const Body body = twin::Square();
    const LawFit fit = Identify(twin::Experiment(body, options, random), body, {}, {});
    ExpectSane(fit);
    EXPECT_FALSE(Mu(fit).identifiable);
    EXPECT_TRUE(std::isinf(Mu(fit).upper95));
    EXPECT_GT(Mu(fit).lower95, 0.1);
    EXPECT_LT(Mu(fit).lower95, 3);
    EXPECT_THAT(Mu(fit).reason, HasSubstr("bounded below"));
    EXPECT_TRUE(E(fit).identifiable);
    // A prediction from this fit sticks.
    EXPECT_GT(ModelOf(fit).mu_k, Mu(fit).lower95);
  }
}

// Velocities whose axis runs the other way: low friction is told to be none, while the impulses
// scatter by as much as friction was.
TEST(IdentifyVerdict, ImpulsesThatDoNotOpposeSlipGiveNoFriction) {
  int told = 0;
  for (const bool planar : {true, false}) {
    std::mt19937_64 random(35);
    twin::Options options = Scatter(0.005);
    options.mu = 0.07;
    const Body body = planar ? twin::Square() : MakeBox({0.1, 0.08, 0.06}, 0.5);
    for (int repeat = 0; repeat < 8; ++repeat) {
      std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
      const LawFit right = Identify(events, body, {}, {.influence = false});
      EXPECT_TRUE(Mu(right).identifiable) << Mu(right).reason;
      for (ImpactEvent& event : events) {
        for (Eigen::Vector3d* v : {&event.v_minus, &event.v_plus}) (*v)(planar ? 0 : 1) *= -1;
        UpdateContact(event, body, Plane{}, {0, 0, -9.80665});
      }
      const LawFit fit = Identify(events, body, {}, {.influence = false});
      told += Mu(fit).identifiable;
      if (Mu(fit).identifiable) continue;
      EXPECT_TRUE(std::isinf(Mu(fit).upper95));
      EXPECT_THAT(Mu(fit).reason, HasSubstr("the sense of a spin or of an axis"));
    }
  }
  EXPECT_LE(told, 1);
}

// Columns exchanged: what is left of restitution and friction has no meaning.
TEST(IdentifyVerdict, ImpulsesThatFollowNoLawGiveNoCoefficient) {
  std::mt19937_64 random(36);
  twin::Options options = Scatter(0.01);
  options.n = 40;
  options.speed_t = 3;
  const Body ball = MakeBall(0.03, 0.1, true);
  std::vector<ImpactEvent> events = twin::Experiment(ball, options, random);
  for (ImpactEvent& event : events) {
    for (Eigen::Vector3d* v : {&event.v_minus, &event.v_plus}) std::swap(v->x(), v->z());
    UpdateContact(event, ball, Plane{}, {0, 0, -9.80665});
  }
  const LawFit fit = Identify(events, ball, {}, {.influence = false});
  EXPECT_FALSE(Mu(fit).identifiable);
  EXPECT_FALSE(E(fit).identifiable);
  EXPECT_EQ(E(fit).lower95, 0);
  EXPECT_EQ(E(fit).upper95, 1);
  EXPECT_THAT(E(fit).reason, HasSubstr("follow no law"));
}

// T41 (iii): frictionless with slip.
TEST(IdentifyVerdict, FrictionlessSlipGivesZeroWithAnUpperBound) {
  std::mt19937_64 random(33);
  for (int repeat = 0; repeat < 10; ++repeat) {
    twin::Options options = Scatter(0.01);
    options.mu = 0;
    const Body body = twin::Square();
    const LawFit fit = Identify(twin::Experiment(body, options, random), body, {}, {});
    ExpectSane(fit);
    EXPECT_TRUE(Mu(fit).identifiable);
    EXPECT_LT(Mu(fit).lower95, 0.005);
    EXPECT_GT(Mu(fit).upper95, 0);
    EXPECT_LT(Mu(fit).upper95, 0.03);
    if (Mu(fit).lower95 == 0) {
      EXPECT_THAT(Mu(fit).reason, HasSubstr("bounded above"));
    }
  }
}

TEST(IdentifyVerdict, RestitutionAtItsBounds) {
  for (double e : {0.0, 1.0}) {
    std::mt19937_64 random(34);
    for (double scatter : {0.0, 0.02}) {
      twin::Options options = Scatter(scatter);
      options.e = e;
      const Body body = twin::Square();
      const LawFit fit = Identify(twin::Experiment(body, options, random), body, {}, {});
      ExpectSane(fit);
      EXPECT_TRUE(E(fit).identifiable);
      EXPECT_NEAR(E(fit).value, e, 0.03);
      EXPECT_NEAR(Mu(fit).value, 0.2, 0.05);
    }
  }
}

TEST(IdentifyDegenerate, NoUsableEvents) {
  const Body body = twin::Square();
  std::mt19937_64 random(41);
  std::vector<ImpactEvent> events = twin::Experiment(body, Scatter(0.01), random);
  ExpectSane(Identify({}, body, {}, {}));
  for (ImpactEvent& event : events) event.accepted = false;
  const LawFit rejected = Identify(events, body, {}, {.bootstrap = 10, .grid = 4});
  ExpectSane(rejected);
  EXPECT_FALSE(Mu(rejected).identifiable || E(rejected).identifiable);
  EXPECT_THAT(E(rejected).reason, HasSubstr("no accepted event"));
  // Events that separate are no impacts.
  for (ImpactEvent& event : events) {
    event.accepted = true;
    event.v_minus.z() = 5;
    UpdateContact(event, body, Plane{}, {0, 0, -9.8});
  }
  const LawFit separating = Identify(events, body, {}, {});
  ExpectSane(separating);
  EXPECT_FALSE(E(separating).identifiable);
}

TEST(IdentifyDegenerate, FewEvents) {
  const Body body = twin::Square();
  for (int n = 1; n <= 5; ++n) {
    for (double scatter : {0.0, 0.02}) {
      std::mt19937_64 random(42);
      twin::Options options = Scatter(scatter);
      options.n = n;
      const auto events = twin::Experiment(body, options, random);
      const LawFit fit = Identify(events, body, {}, {.bootstrap = 10, .grid = 3});
      ExpectSane(fit);
      if (n == 1) {
        EXPECT_FALSE(Mu(fit).identifiable || E(fit).identifiable);
        EXPECT_THAT(E(fit).reason, HasSubstr("one event"));
        EXPECT_TRUE(std::isnan(E(fit).sd));
        EXPECT_TRUE(fit.sd_bootstrap.empty());
        // Without scatter one event is enough for its own coefficients.
        const LawFit noise_only = Identify(events, body, {}, {.fit_discrepancy = false});
        ExpectSane(noise_only);
        EXPECT_TRUE(E(noise_only).identifiable);
      } else if (scatter > 0) {
        // The interval of two events is Student's with one degree of freedom: wide.
        EXPECT_GT(E(fit).upper95 - E(fit).lower95, n == 2 ? 4 * E(fit).sd : 2 * E(fit).sd);
      }
    }
  }
}

TEST(IdentifyDegenerate, CovariancesThatAreZeroSingularHugeOrBroken) {
  const Body body = twin::Square();
  const auto make = [&] {
    std::mt19937_64 random(43);
    return twin::Experiment(body, Scatter(0.02), random);
  };
  const LawFit reference = Identify(make(), body, {}, {});
  const auto with = [&](auto&& change) {
    std::vector<ImpactEvent> events = make();
    for (std::size_t i = 0; i < events.size(); ++i) change(events[i], i);
    return Identify(events, body, {}, {.bootstrap = 10});
  };
  const LawFit zero = with([](ImpactEvent& event, std::size_t) { event.cov.setZero(); });
  ExpectSane(zero);
  EXPECT_NEAR(Mu(zero).value, Mu(reference).value, 0.3 * Mu(reference).sd);
  const LawFit singular = with([](ImpactEvent& event, std::size_t) {
    Eigen::Matrix<double, kEventDim, 1> v = event.cov.col(0);
    event.cov = v * v.transpose();
  });
  ExpectSane(singular);
  EXPECT_NEAR(E(singular).value, E(reference).value, 0.5 * E(reference).sd);
  const LawFit indefinite = with([](ImpactEvent& event, std::size_t) {
    event.cov(0, 2) = event.cov(2, 0) = 3 * event.cov(0, 0);
  });
  ExpectSane(indefinite);
  // Half of the events are all but unmeasured: the other half decides.
  const LawFit huge = with([](ImpactEvent& event, std::size_t i) {
    if (i % 2 == 0) {
      event.cov *= 1e10;
      event.v_plus.x() += 3;
    }
  });
  ExpectSane(huge);
  EXPECT_NEAR(E(huge).value, 0.5, 5 * E(huge).sd);
  // An event that cannot be used does not spoil the rest.
  const LawFit broken = with([](ImpactEvent& event, std::size_t i) {
    if (i == 3) event.cov(4, 4) = std::numeric_limits<double>::quiet_NaN();
    if (i == 4) event.v_plus.z() = std::numeric_limits<double>::infinity();
    if (i == 5) event.contact.A_F(0, 0) = -1;
  });
  ExpectSane(broken);
  EXPECT_EQ(broken.influence.size(), 17u);
  EXPECT_NEAR(E(broken).value, E(reference).value, E(reference).sd);
}

TEST(IdentifyDegenerate, DuplicatedEventsOfOneRecordingCountOnce) {
  std::mt19937_64 random(44);
  const Body body = twin::Square();
  const auto once = twin::Experiment(body, Scatter(0.02), random);
  std::vector<ImpactEvent> twice;
  for (const ImpactEvent& event : once) {
    twice.push_back(event);
    twice.push_back(event);
    twice.back().impact = 1;
  }
  const LawFit a = Identify(once, body, {}, {}), b = Identify(twice, body, {}, {});
  ExpectSane(b);
  EXPECT_NEAR(Mu(a).value, Mu(b).value, 0.1 * Mu(a).sd);
  // The copies share their recording, so the standard deviation must not shrink by the root of two.
  EXPECT_NEAR(Mu(b).sd / Mu(a).sd, 1, 0.1);
  EXPECT_NEAR(E(b).sd / E(a).sd, 1, 0.1);
  EXPECT_NEAR((E(b).upper95 - E(b).lower95) / (E(a).upper95 - E(a).lower95), 1, 0.15);
}

}  // namespace
}  // namespace impactlab
