#include "impact/motion/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/base/error.h"
#include "impact/motion/mechanism_builders.h"
#include "tests/impact/motion/vibrating_ball.h"

namespace impactlab {
namespace {

SimulateOptions For(double duration) {
  SimulateOptions options;
  options.duration = duration;
  return options;
}

// The Bristol thesis: a ball with e = 0.9 dropped from 1 m bounces 146 times faster than 1e-6
// m/s; the sum of the geometric series.
TEST(SimulateBall, RestsWhereTheSeriesOfItsBouncesEnds) {
  const BodyMechanism ball = MakeBouncingBall(0.9, 1, kG);
  SimulationObserver observer;
  std::vector<SimulationEvent> events;
  observer.event = [&](const SimulationEvent& event) { events.push_back(event); };
  const SimulationResult result = Simulate(ball.mechanism, ball.start, For(20), observer);
  EXPECT_EQ(result.end, SimulationEnd::kRest) << result.reason;
  EXPECT_EQ(result.impacts, 146);
  const double t_0 = std::sqrt(2 / kG);
  EXPECT_NEAR(result.last_accumulation, t_0 * 1.9 / 0.1, 1e-9);
  EXPECT_NEAR(result.state.t, 8.57895, 1e-5);
  EXPECT_GE(result.deepest, -1e-9);
  for (int k = 0; k < 100; ++k) {
    const double t = t_0 + 2 * t_0 * 0.9 * (1 - std::pow(0.9, k)) / 0.1;
    EXPECT_NEAR(events[k].t, t, 1e-12 * (1 + t) * (1 + k)) << k;
  }
}

// HOSTILE T46: nothing falls through once it rests.
TEST(SimulateBall, StaysOnTheFloorAfterChatter) {
  const BodyMechanism ball = MakeBouncingBall(0.7, 1, kG);
  SimulateOptions options = For(100);
  options.stop_at_rest = false;
  const SimulationResult result = Simulate(ball.mechanism, ball.start, options);
  EXPECT_EQ(result.end, SimulationEnd::kDuration);
  EXPECT_EQ(result.mode[0] == PointMode::kOpen, false);
  EXPECT_GE(result.deepest, -1e-9);
  EXPECT_LT(result.state.u.norm(), 1e-9);
  EXPECT_GT(result.last_accumulation, 0);
}

TEST(SimulateBall, KeepsBouncesOfAMillimetrePerSecond) {
  const BodyMechanism ball = MakeBouncingBall(0.9, 0.5e-6 / kG, kG);  // arrives with 1e-3 m/s
  SimulationObserver observer;
  std::vector<double> rebound;
  observer.event = [&](const SimulationEvent& event) {
    if (event.kind == SimulationEventKind::kImpact) rebound.push_back(event.v_plus[1]);
  };
  Simulate(ball.mechanism, ball.start, For(1), observer);
  ASSERT_GE(rebound.size(), 60u);
  for (size_t k = 0; k < 60; ++k)
    EXPECT_NEAR(rebound[k], 1e-3 * std::pow(0.9, k + 1), 1e-7 * rebound[k]);
}

TEST(SimulateBall, EndsOfTheRangeOfRestitution) {
  const BodyMechanism dead = MakeBouncingBall(0, 1, kG);
  const SimulationResult rests = Simulate(dead.mechanism, dead.start, For(5));
  EXPECT_EQ(rests.end, SimulationEnd::kRest);
  EXPECT_EQ(rests.impacts, 1);
  EXPECT_NEAR(rests.state.t, std::sqrt(2 / kG), 1e-14);

  const BodyMechanism elastic = MakeBouncingBall(1, 1, kG);
  const double period = 2 * std::sqrt(2 / kG);
  const SimulationResult bounces = Simulate(elastic.mechanism, elastic.start, For(1e5 * period));
  EXPECT_EQ(bounces.impacts, 100000);
  EXPECT_NEAR(Energy(elastic.mechanism, bounces.state) / Energy(elastic.mechanism, elastic.start),
              1, 1e-9);
}

// The Bristol thesis: apexes of the ball on a floor that vibrates, in closed form and
// as printed.
TEST(SimulateBall, ApexesOnAVibratingFloor) {
  // Last two apexes of a ball that starts at that of the orbit that bounces once in n periods of
  // the floor (closed form).
  const auto apexes = [](double w, double e, int n, double& height) {
    const double phi = std::acos((1 - e) / (1 + e) * n * M_PI * kG / (w * w)), T = 2 * M_PI * n / w;
    height = std::sin(phi) + kG * T * T / 8;
    BodyMechanism ball = OnVibratingFloor(w, e, height + 0.01);
    ball.start.t = phi / w + T / 2;
    SimulationObserver observer;
    std::vector<double> apex;
    observer.sections.push_back({[](const MechanismState& s) { return s.u[1]; }, -1});
    observer.crossing = [&](int, const MechanismState& s) {
      apex.push_back(s.q[1]);
      return false;
    };
    Simulate(ball.mechanism, ball.start, For(1500), observer);
    apex.erase(apex.begin(), apex.end() - 2);
    std::sort(apex.begin(), apex.end());
    return apex;
  };
  double height = 0;
  const std::vector<double> once = apexes(3, 0.9, 1, height);
  EXPECT_NEAR(height, 6.36256, 1e-5);
  EXPECT_NEAR(once[0], height, 1e-9);
  EXPECT_NEAR(once[1], height, 1e-9);
  const std::vector<double> twice = apexes(3.55085, 0.8, 2, height);
  EXPECT_NEAR(twice[0], 14.214, 1e-2);
  EXPECT_NEAR(twice[1], 18.119, 1e-2);
}

// The Bristol thesis: a body that rests on the floor leaves it where the floor falls faster
// than it: A w^2 sin(w t) > g.
TEST(SimulateBall, LeavesTheFloorThatFallsAway) {
  for (const double w : {3.0, 3.131, 3.133, 3.3}) {
    BodyMechanism ball = OnVibratingFloor(w, 0.5, 0);
    ball.start.u[1] = w;
    SimulationObserver observer;
    double release = 0;
    observer.event = [&](const SimulationEvent& event) {
      if (event.kind == SimulationEventKind::kRelease && release == 0) release = event.t;
    };
    Simulate(ball.mechanism, ball.start, For(4), observer);
    if (w * w < kG) {
      EXPECT_EQ(release, 0) << w;
    } else {
      EXPECT_NEAR(w * w * std::sin(w * release), kG, 1e-6) << w;
    }
  }
}

// The Bristol thesis: a rod that slides on one end. The contact neither sinks nor lifts, and
// its mirror image does the mirrored.
TEST(SimulateRod, SlidesOnItsEndAndItsMirrorImageToo) {
  RodOnFloor rod;
  rod.frequency = 0.5;
  rod.amplitude = 0.1;
  rod.mu = 0.2;
  rod.pose = {0, std::sin(1.2), -1.2};
  rod.rates = {0.3, 0.05, 0};
  const BodyMechanism made = MakeRodOnFloor(rod);
  RodOnFloor other = rod;
  other.pose = {0, std::sin(1.2), 1.2};
  other.rates.x() = -0.3;
  const BodyMechanism mirrored = MakeRodOnFloor(other);
  SimulateOptions options = For(10);
  options.sample_step = 0.01;
  SimulationObserver observer;
  std::vector<Eigen::VectorXd> path, mirror;
  int closed = 0;
  ContactTerms contact;
  observer.sample = [&](const MechanismState& s, const std::vector<PointMode>& mode,
                        const Eigen::VectorXd&) {
    path.push_back(s.q);
    for (int i = 0; i < 2; ++i) {
      if (mode[i] == PointMode::kOpen) continue;
      ++closed;
      made.mechanism.contact(s, i, contact);
      EXPECT_LT(std::abs(contact.gap), 1e-8);
      EXPECT_LT(std::abs(contact.rows.row(1) * s.u - contact.v_surface[1]), 1e-8);
    }
  };
  const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
  EXPECT_EQ(result.end, SimulationEnd::kDuration) << result.reason;
  EXPECT_GT(closed, 500);
  observer.sample = [&](const MechanismState& s, const std::vector<PointMode>&,
                        const Eigen::VectorXd&) { mirror.push_back(s.q); };
  Simulate(mirrored.mechanism, mirrored.start, options, observer);
  ASSERT_EQ(path.size(), mirror.size());
  for (size_t k = 0; k < path.size(); ++k) {
    EXPECT_NEAR(path[k][0], -mirror[k][0], 1e-9);
    EXPECT_NEAR(path[k][1], mirror[k][1], 1e-9);
    EXPECT_NEAR(path[k][2], -mirror[k][2], 1e-9);
  }
}

// The Bristol thesis: the pendulum that slides on the belt lifts off where friction
// jumps beyond the critical value, and with what speed.
TEST(SimulatePendulum, LiftsOffBeyondTheCriticalFriction) {
  const auto lift = [](double theta, double phi, double belt, double e, double mu) {
    BeltPendulum p;
    p.theta = theta;
    p.phi = phi;
    p.belt = belt;
    p.properties.e = e;
    p.properties.mu_k = p.properties.mu_s = mu;
    // Held before the jump by the torque of the smaller friction.
    p.torque = HoldPendulum(p, -0.3).torque;
    const StartedMechanism made = MakeBeltPendulum(p);
    SimulationObserver observer;
    double v = -1;
    observer.event = [&](const SimulationEvent& event) {
      if (event.kind == SimulationEventKind::kImpactWithoutCollision && v < 0) v = event.v_plus[1];
    };
    Simulate(made.mechanism, made.start, For(1e-3), observer);
    return v;
  };
  EXPECT_LT(lift(4.2062, 4.3, -0.98, 0.9, 0.461), 0);
  EXPECT_NEAR(lift(4.2062, 4.3, -0.98, 0.9, 0.462), 0.056446, 1e-5);
  EXPECT_NEAR(lift(4.2062, 4.3, -0.98, 0.9, 1.3), 0.375552, 1e-5);
  EXPECT_NEAR(lift(4.21, 4.3, -0.98, 0.9, 0.462), 0.113392, 1e-5);
  EXPECT_NEAR(lift(4.21, 4.3, -0.98, 0.9, 1.3), 0.376360, 1e-5);
}

// A body that turns about its intermediate axis tumbles; momentum and energy stay for a thousand
// seconds.
TEST(SimulateFlight, TumblingKeepsMomentumAndEnergy) {
  MovingBody body;
  body.start.body = MakeBox({0.3, 0.2, 0.1}, 1);
  body.start.omega_WB = {1e-3, 5, 1e-3};
  const BodyMechanism made = MakeBodyMechanism({body}, {}, {}, {}, Eigen::Vector3d::Zero());
  const auto momentum = [&](const MechanismState& s) {
    const BodyState state = made.StateOf(s, 0);
    const Eigen::Matrix3d R = state.X_WB.linear();
    return Eigen::Vector3d(R * body.start.body.inertia_B * R.transpose() * state.omega_WB);
  };
  SimulateOptions options = For(1000);
  options.tolerance = 1e-13;
  options.sample_step = 0.5;
  double tumbles = 0, worst_momentum = 0, worst_energy = 0;
  const Eigen::Vector3d L = momentum(made.start);
  const double E = Energy(made.mechanism, made.start);
  SimulationObserver observer;
  observer.sample = [&](const MechanismState& s, const std::vector<PointMode>&,
                        const Eigen::VectorXd&) {
    const BodyState state = made.StateOf(s, 0);
    tumbles = std::min(tumbles, (state.X_WB.linear().transpose() * state.omega_WB).y());
    worst_momentum = std::max(worst_momentum, (momentum(s) - L).norm() / L.norm());
    worst_energy = std::max(worst_energy, std::abs(Energy(made.mechanism, s) / E - 1));
  };
  Simulate(made.mechanism, made.start, options, observer);
  EXPECT_LT(tumbles, -4.9);
  EXPECT_LT(worst_momentum, 1e-10);
  EXPECT_LT(worst_energy, 1e-10);
}

// Rodriguez 2014: disc and sphere in a corner through all their impacts. Energy never grows at
// an event; its check function, energy now less energy after the last event, vanishes in flight.
TEST(SimulateCorner, EnergyStaysInFlightAndNeverGrowsAtEvents) {
  ContactProperties p;
  p.e = 0.7;
  p.mu_k = 0.35;
  p.mu_s = 0.6;
  const BodyMechanism disc = MakeDiscInCornerMechanism(0.5, 1, {1, 1.5}, {-5, -1}, 4, p, kG);
  const BodyMechanism sphere =
      MakeSphereInCornerMechanism(0.5, 1, {1, 1.5, 0.7}, {-5, -3, -1}, {4, -2, 3}, p, kG);
  for (const BodyMechanism& made : {disc, sphere}) {
    for (const MultiLaw several : {MultiLaw::kSequence, MultiLaw::kGlobalEnergetic}) {
      SimulateOptions options = For(3);
      options.several = several;
      SimulationObserver observer;
      double last = Energy(made.mechanism, made.start);
      int impacts = 0;
      observer.event = [&](const SimulationEvent& event) {
        const double before = Energy(made.mechanism, event.before),
                     after = Energy(made.mechanism, event.after);
        if (event.kind == SimulationEventKind::kImpact) {
          ++impacts;
          EXPECT_NEAR(after - before, event.energy_change, 1e-10);
          EXPECT_LT(event.energy_change, 0);
          // Between impacts that follow flights nothing is lost.
          if (impacts <= 3) {
            EXPECT_NEAR(before, last, 1e-9);
          }
        }
        EXPECT_LE(after, before + 1e-12);
        last = after;
      };
      const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
      EXPECT_NE(result.end, SimulationEnd::kGivenUp) << result.reason;
      EXPECT_GT(impacts, 5);
      EXPECT_LE(result.energy_gain, 1e-12 * Energy(made.mechanism, made.start));
    }
  }
}

// HOSTILE T47: a body that is set free later ends as one that is free from the start.
TEST(SimulateBodies, ABodySetFreeLaterRestsLikeOneSetFreeAtOnce) {
  const auto rest = [](double start_t) {
    MovingBody body;
    body.start.body = MakeBox({0.1, 0.1, 0.1}, 1, true);
    body.start.X_WB = PlanarPose(0, 0.4, 0.3);
    body.start_t = start_t;
    ContactProperties p;
    p.e = 0.4;
    p.mu_k = p.mu_s = 0.5;
    const BodyMechanism made =
        MakeBodyMechanism({body}, {}, {MovingPlane()}, EveryBodyOnEveryPlane(1, 1, p));
    return Simulate(made.mechanism, made.start, For(20));
  };
  const SimulationResult now = rest(0), later = rest(2.5);
  EXPECT_EQ(now.end, SimulationEnd::kRest) << now.reason;
  EXPECT_EQ(later.end, SimulationEnd::kRest) << later.reason;
  EXPECT_NEAR(later.state.t, now.state.t + 2.5, 1e-9);
  EXPECT_LT((later.state.q - now.state.q).norm(), 1e-9);
}

// Drag so large that a step of its usual length knows no finite number.
TEST(SimulateFlight, NothingThatIsNotFiniteIsTakenForAMotion) {
  MovingBody body;
  body.start.body = MakeBall(0.1, 1, true);
  body.start.X_WB = PlanarPose(0, 10, 0);
  body.start.v_WB = {30, 0, 0};
  body.quadratic_drag = 1e3;
  const BodyMechanism made = MakeBodyMechanism({body}, {}, {}, {});
  const SimulationResult result = Simulate(made.mechanism, made.start, For(2));
  ASSERT_TRUE(result.state.q.allFinite() && result.state.u.allFinite());
  EXPECT_EQ(result.end, SimulationEnd::kDuration) << result.reason;
  EXPECT_NEAR(result.state.u[1], -std::sqrt(kStandardGravity / 1e3), 1e-9);
}

TEST(Simulate, RefusesOptionsThatMeanNothing) {
  const BodyMechanism ball = MakeBouncingBall(0.9, 1);
  SimulateOptions options = For(-1);
  EXPECT_THROW(Simulate(ball.mechanism, ball.start, options), ConfigError);
  options = For(1);
  options.tolerance = 0;
  EXPECT_THROW(Simulate(ball.mechanism, ball.start, options), ConfigError);
  options = For(1);
  for (const double speed : {0.0, 100.0}) {
    options.least_rebound = speed;
    EXPECT_THROW(Simulate(ball.mechanism, ball.start, options), ConfigError);
  }
  MechanismState bad = ball.start;
  bad.u[0] = NAN;
  EXPECT_THROW(Simulate(ball.mechanism, bad, For(1)), ConfigError);
}

}  // namespace
}  // namespace impactlab
