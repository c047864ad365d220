#include "pipelines/synth/motion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "impact/motion/mechanism_bodies.h"
#include "impact/motion/simulate.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pipelines::FloorContacts;

TEST(SynthMotion, ImpactTimeIsTheRootOfTheGap) {
  // A ball has its root in closed form.
  const Body ball = MakeBall(0.02, 0.1);
  const Plane floor;
  const FloorContacts contacts(ball, floor);
  BodyState s;
  for (const double height : {1e-6, 0.01, 0.3, 5.0}) {
    s.X_WB.translation() = Vector3d(0, 0, 0.02 + height);
    s.v_WB = Vector3d(1, 0, 0.3);
    s.omega_WB = Vector3d(30, 20, 10);
    const double g = 9.80665, expected = (0.3 + std::sqrt(0.09 + 2 * g * height)) / g;
    const auto contact = pipelines::FindContact(contacts, ball, FlightOptions{}, s, 10);
    EXPECT_EQ(contact.point, 0);
    EXPECT_NEAR(contact.t, expected, 1e-12);
  }
  EXPECT_EQ(pipelines::FindContact(contacts, ball, FlightOptions{}, s, 0.5).point, -1);
}

TEST(SynthMotion, GrazingVertexIsNotMissed) {
  // A fast rotor whose vertex dips into the floor for less than a scanning step.
  const Body stick = MakePoints({{0.1, 0, 0}, {-0.1, 0, 0}}, 1, 0.01 * Matrix3d::Identity(), true);
  const FloorContacts contacts(stick, Plane{});
  FlightOptions weightless;
  weightless.gravity_W.setZero();
  for (const double depth : {1e-3, 1e-6, 1e-9}) {
    BodyState s;
    s.X_WB = PlanarPose(0, 0.1 - depth, 0.013);
    s.omega_WB = Vector3d(0, -20, 0);
    const auto contact = pipelines::FindContact(contacts, stick, weightless, s, 1);
    ASSERT_GE(contact.point, 0) << depth;
    // of the lower tip below the horizontal at contact
    const double angle = std::asin(1 - depth / 0.1);
    EXPECT_NEAR(contact.t, (angle - 0.013) / 20, 1e-8) << depth;
  }
  BodyState clear;
  clear.X_WB = PlanarPose(0, 0.1 + 1e-9, 0.013);
  clear.omega_WB = Vector3d(0, -20, 0);
  EXPECT_EQ(pipelines::FindContact(contacts, stick, weightless, clear, 1).point, -1);
}

// Motion that starts in touch with a level floor and meets no impact.
pipelines::DropMotion Touching(const Body& body, double mu, const BodyState& start, double t_max) {
  pipelines::MotionRules rules;
  rules.model = {{0.0, mu, mu}, RestitutionLaw::kEnergetic};
  std::mt19937_64 rng(1);
  return pipelines::SimulateDrop(body, Plane{}, rules, start, 0.1, t_max, rng);
}

TEST(SynthMotion, LastingContactSlidesAndStopsAsCoulombSays) {
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const Body box = MakeBox({0.1, planar ? 0 : 0.1, 0.04}, 0.5, planar);
    BodyState s;
    s.X_WB.translation() = Vector3d(0, 0, 0.02);
    s.v_WB = Vector3d(0.5, 0, 0);
    const pipelines::DropMotion motion = Touching(box, 0.2, s, 1);
    EXPECT_TRUE(motion.strikes.empty());
    const auto pose = [&](double t) { return PoseAt(motion, box, FlightOptions{}, t); };
    const double decel = 0.2 * 9.80665;
    EXPECT_NEAR(pose(0.1).translation().x(), 0.05 - 0.5 * decel * 0.01, 1e-9);
    EXPECT_NEAR(pose(0.9).translation().x(), 0.25 / (2 * decel), 1e-9);
    EXPECT_LT((pose(0.9).linear() - Matrix3d::Identity()).norm(), 1e-9);
    EXPECT_NEAR(pose(0.9).translation().z(), 0.02, 1e-9);
    EXPECT_EQ(motion.stretches.back().kind, pipelines::MotionPhase::Kind::kRest);
  }
}

TEST(SynthMotion, SlidingBallAndDiscEndRolling) {
  struct Case {
    Body ball;
    double share;  // of the speed that is left
  };
  for (const auto& [ball, share] :
       {Case{MakeBall(0.05, 0.3, true), 5.0 / 7}, Case{MakeBall(0.05, 0.3), 5.0 / 7},
        Case{MakeDisc(0.05, 0.3), 2.0 / 3}}) {
    SCOPED_TRACE(ball.name);
    BodyState s;
    s.X_WB.translation() = Vector3d(0, 0, 0.05);
    s.v_WB = Vector3d(0.7, 0, 0);
    const pipelines::DropMotion motion = Touching(ball, 0.3, s, 0.5);
    const BodyState& last = motion.stretches.back().state;
    EXPECT_NEAR(last.v_WB.x(), 0.7 * share, 1e-6);
    EXPECT_NEAR(last.omega_WB.y() * 0.05, last.v_WB.x(), 1e-6);
  }
}

TEST(SynthMotion, SquareTipsOverItsCornerWithTheEnergyOfTheFall) {
  const Body square = MakeBox({0.1, 0, 0.1}, 0.5, true);
  const double r = 0.05 * std::sqrt(2.0), start = 0.2;  // angle of the diagonal off the vertical
  BodyState s;
  s.X_WB = PlanarPose(r * std::sin(start), r * std::cos(start), M_PI / 4 - start);
  const pipelines::DropMotion motion = Touching(square, 20, s, 5);
  double turned = 0;
  for (const pipelines::MotionPhase& stretch : motion.stretches) {
    const double angle =
        std::atan2(stretch.state.X_WB.translation().x(), stretch.state.X_WB.translation().z());
    if (angle > 0.7) break;
    ASSERT_EQ(stretch.kind, pipelines::MotionPhase::Kind::kContact)
        << stretch.t;  // never lifts off
    const double fall = 0.5 * 9.80665 * r * (std::cos(start) - std::cos(angle));
    const double kinetic = KineticEnergy(square, stretch.state.X_WB.linear(), stretch.state.v_WB,
                                         stretch.state.omega_WB);
    if (angle > 0.3) {
      EXPECT_NEAR(kinetic / fall, 1, 1e-6);
    }
    turned = angle;
  }
  EXPECT_GT(turned, 0.69);
}

// A throw of a body with energy for several bounces.
BodyState Throw(const Body& body, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  BodyState s;
  s.X_WB.linear() = Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng))
                        .normalized()
                        .toRotationMatrix();
  s.v_WB = Vector3d(0.5 * normal(rng), 0.5 * normal(rng), 0);
  s.omega_WB = 5 * Vector3d(normal(rng), normal(rng), normal(rng));
  if (body.planar) {
    s.X_WB = PlanarPose(0, 0, 3 * normal(rng));
    s.v_WB.y() = s.omega_WB.x() = s.omega_WB.z() = 0;
  }
  s.X_WB.translation().z() = 0.15 - ContactWithPlane(body, s.X_WB, Plane{}).gap;
  return s;
}

double EnergyOf(const Body& body, const BodyState& s) {
  return KineticEnergy(body, s.X_WB.linear(), s.v_WB, s.omega_WB) +
         body.mass * 9.80665 * s.X_WB.translation().z();
}

pipelines::MotionRules ToRest(double e, double mu) {
  pipelines::MotionRules rules;
  rules.model = {{e, mu, mu}, RestitutionLaw::kEnergetic};
  rules.to_rest = true;
  rules.max_impacts = 1000;
  return rules;
}

TEST(SynthMotion, ThrownBodiesEndFlatAndNeverEnterTheFloorOrGainEnergy) {
  const Body bodies[] = {MakeBox({0.1, 0.1, 0.1}, 0.4), MakeBox({0.1, 0.06, 0.03}, 0.2),
                         MakeBox({0.06, 0, 0.04}, 0.2, true)};
  std::mt19937_64 random(4);
  for (const Body& body : bodies) {
    for (const double scatter : {0.0, 0.03}) {
      for (int k = 0; k < 6; ++k) {
        SCOPED_TRACE(::testing::Message()
                     << body.half_extents.transpose() << " scatter " << scatter << " throw " << k);
        pipelines::MotionRules rules = ToRest(k % 3 == 0 ? 0.0 : 0.5, 0.25);
        rules.scatter.sd_tangential = rules.scatter.sd_normal = rules.scatter.sd_couple = scatter;
        std::mt19937_64 rng(k);
        const pipelines::DropMotion motion =
            pipelines::SimulateDrop(body, Plane{}, rules, Throw(body, random), 0.2, 20, rng);
        const pipelines::MotionPhase& last = motion.stretches.back();
        ASSERT_EQ(last.kind, pipelines::MotionPhase::Kind::kRest);
        EXPECT_EQ(motion.t_end, last.t + 0.2);
        EXPECT_NEAR(
            (last.state.X_WB.linear().transpose() * Vector3d::UnitZ()).cwiseAbs().maxCoeff(), 1,
            1e-12);
        double energy = EnergyOf(body, motion.stretches.front().state), deepest = 0;
        for (const pipelines::MotionPhase& s : motion.stretches) {
          const double next = EnergyOf(body, s.state);
          ASSERT_LT(next, energy + 1e-9) << s.t;
          energy = next;
        }
        for (int i = 0; 3.7e-4 * i < motion.t_end; ++i)
          deepest = std::min(
              deepest,
              ContactWithPlane(body, PoseAt(motion, body, rules.flight, 3.7e-4 * i), Plane{}).gap);
        EXPECT_GT(deepest, -1e-9);
        EXPECT_NEAR(
            ContactWithPlane(body, PoseAt(motion, body, rules.flight, motion.t_end), Plane{}).gap,
            0, 1e-12);
        // All impacts but the smallest are told, each as one impulse at its point.
        for (const pipelines::Strike& strike : motion.strikes)
          EXPECT_LE(strike.event.contact.v_minus_F.z(), -2e-3);
      }
    }
  }
}

// From where contact first lasts, the poses are those of the simulator started there, whichever
// impacts are told.
TEST(SynthMotion, AfterTheFlightsTheMotionIsTheSimulators) {
  std::mt19937_64 random(8);
  int several = 0;
  // Of these bodies never two vertices arrive at once, and the order in which they strike is no
  // matter of rounding.
  const Body tetrahedron =
      MakePolytope({{0, 0, 0}, {0.1, 0, 0}, {0.02, 0.12, 0}, {0.03, 0.02, 0.08}}, 0.2);
  for (const Body& body : {tetrahedron, MakeBox({0.06, 0, 0.04}, 0.2, true)}) {
    for (int k = 0; k < 8; ++k) {
      SCOPED_TRACE(::testing::Message() << "planar " << body.planar << " throw " << k);
      pipelines::MotionRules rules = ToRest(k % 2 == 0 ? 0.0 : 0.4, 0.3);
      const BodyState release = Throw(body, random);
      std::mt19937_64 rng(k);
      const pipelines::DropMotion motion =
          pipelines::SimulateDrop(body, Plane{}, rules, release, 0.2, 20, rng);
      rules.max_impacts =
          static_cast<int>(std::count_if(motion.strikes.begin(), motion.strikes.end(),
                                         [](const pipelines::Strike& s) { return s.from_flight; }));
      ASSERT_GT(rules.max_impacts, 0);
      several += static_cast<int>(motion.strikes.size()) > rules.max_impacts + 1;
      const pipelines::DropMotion untold =
          pipelines::SimulateDrop(body, Plane{}, rules, release, 0.2, 20, rng);
      EXPECT_EQ(untold.strikes.size(), static_cast<std::size_t>(rules.max_impacts));

      const pipelines::Strike& from =
          motion.strikes[static_cast<std::size_t>(rules.max_impacts) - 1];
      MovingBody moving;
      moving.start = {body, from.event.X_WB, from.event.v_plus, from.event.omega_plus};
      moving.start.X_WB.translation().z() += 1e-14;
      ContactProperties surface;
      surface.mu_k = surface.mu_s = rules.model.mu_k, surface.e = rules.model.e;
      BodyMechanism made =
          MakeBodyMechanism({moving}, {}, {MovingPlane{}}, EveryBodyOnEveryPlane(1, 1, surface));
      made.start.t = from.t;
      SimulateOptions options;
      options.sample_step = 0.01;
      SimulationObserver observer;
      observer.sample = [&](const MechanismState& state, const std::vector<PointMode>&,
                            const Eigen::VectorXd&) {
        if (state.t > motion.stretches.back().t) return;
        const Eigen::Matrix4d X = made.StateOf(state, 0).X_WB.matrix();
        EXPECT_LT((X - PoseAt(motion, body, rules.flight, state.t).matrix()).norm(), 1e-6)
            << state.t;
        EXPECT_LT((X - PoseAt(untold, body, rules.flight, state.t).matrix()).norm(), 1e-6)
            << state.t;
      };
      const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
      EXPECT_EQ(result.end, SimulationEnd::kRest);
      EXPECT_NEAR(result.state.t, motion.stretches.back().t, 1e-3);
    }
  }
  EXPECT_GE(several, 4);
}

TEST(SynthMotion, ARollingBallNeverRests) {
  const Body ball = MakeBall(0.05, 0.3);
  pipelines::MotionRules rules = ToRest(0.4, 0.3);
  BodyState s;
  s.X_WB.translation() = Vector3d(0, 0, 0.1);
  s.v_WB = Vector3d(0.7, 0, 0);
  std::mt19937_64 rng(1);
  const pipelines::DropMotion motion = pipelines::SimulateDrop(ball, Plane{}, rules, s, 3, 20, rng);
  EXPECT_EQ(motion.stretches.back().kind, pipelines::MotionPhase::Kind::kContact);
  EXPECT_LT(motion.t_end, 10);
  const auto x = [&](double t) { return PoseAt(motion, ball, rules.flight, t).translation().x(); };
  EXPECT_NEAR(x(motion.t_end) - x(motion.t_end - 2), 2 * 0.7 * 5 / 7, 1e-6);
  // An elastic one bounces until nobody watches any more.
  rules.model.e = 1;
  const pipelines::DropMotion elastic =
      pipelines::SimulateDrop(ball, Plane{}, rules, s, 3, 20, rng);
  EXPECT_EQ(elastic.t_end, elastic.strikes.front().t + 20);
}

TEST(SynthMotion, ContactThatLastsTurnsOneFlightSmoothlyIntoTheOther) {
  const Body box = MakeBox({0.1, 0.08, 0.06}, 0.3);
  BodyState release;
  release.X_WB.linear() =
      Eigen::AngleAxisd(1.3, Vector3d(1, 2, 0.5).normalized()).toRotationMatrix();
  release.X_WB.translation() = Vector3d(0, 0, 0.2);
  release.v_WB = Vector3d(0.3, 0.1, 0);
  release.omega_WB = Vector3d(1, -2, 3);
  pipelines::MotionRules rules;
  rules.model = {{0.6, 0.2, 0.2}, RestitutionLaw::kEnergetic};
  std::mt19937_64 rng(1);
  const pipelines::DropMotion sudden =
      pipelines::SimulateDrop(box, Plane{}, rules, release, 0.03, 10, rng);
  rules.contact_time = 2e-3;
  const pipelines::DropMotion lasting =
      pipelines::SimulateDrop(box, Plane{}, rules, release, 0.03, 10, rng);
  ASSERT_EQ(lasting.strikes.size(), 1u);
  const pipelines::Strike& strike = lasting.strikes.front();
  // It touches when it would, and is half way a millisecond later.
  EXPECT_NEAR(strike.t, sudden.strikes.front().t + 1e-3, 1e-9);
  const auto velocity = [&](double t) -> Vector3d {
    constexpr double h = 1e-6;
    return (pipelines::PoseAt(lasting, box, rules.flight, t + h).translation() -
            pipelines::PoseAt(lasting, box, rules.flight, t - h).translation()) /
           (2 * h);
  };
  const Vector3d before = strike.event.v_minus, after = strike.event.v_plus;
  ASSERT_GT((after - before).norm(), 0.5);
  EXPECT_LT((velocity(strike.t - 1.01e-3) - before).norm(), 0.012);  // gravity within a millisecond
  EXPECT_LT((velocity(strike.t + 1.01e-3) - after).norm(), 0.012);
  EXPECT_LT((velocity(strike.t) - 0.5 * (before + after)).norm(), 0.01 * (after - before).norm());
  double last = -1e9;
  for (int i = -10; i < 10; ++i) {
    const double s = 1e-4 * i;
    const double share =
        (velocity(strike.t + s) - before).dot(after - before) / (after - before).squaredNorm();
    EXPECT_GT(share, last - 1e-3) << s;
    EXPECT_NEAR(share, 0.5 * (1 - std::cos(M_PI * (s / 2e-3 + 0.5))), 0.02) << s;
    last = share;
  }
}

// An impact that lasts and hardly rebounds leaves the body inside the floor, out of which it rises
// while the impact lasts.
TEST(SynthMotion, ContactThatLastsLeavesTheBodyOnTheFloor) {
  const Body square = MakeBox({0.06, 0, 0.06}, 0.2, true);
  std::mt19937_64 random(3);
  for (int k = 0; k < 6; ++k) {
    SCOPED_TRACE(k);
    pipelines::MotionRules rules = ToRest(0.3 * (k % 2), 0.4);
    rules.contact_time = 2e-3;
    std::mt19937_64 rng(1);
    const pipelines::DropMotion motion =
        pipelines::SimulateDrop(square, Plane{}, rules, Throw(square, random), 0.2, 20, rng);
    const auto pose = [&](double t) { return PoseAt(motion, square, rules.flight, t); };
    ASSERT_EQ(motion.stretches.back().kind, pipelines::MotionPhase::Kind::kRest);
    EXPECT_NEAR(pose(motion.t_end).translation().z(), 0.03, 1e-9);
    double fastest = 0, deepest = 0, later = 0;
    constexpr double dt = 5e-5;
    for (double t = 0; t + dt < motion.t_end; t += dt) {
      fastest = std::max(fastest, (pose(t + dt).translation() - pose(t).translation()).norm() / dt);
      const double gap = ContactWithPlane(square, pose(t), Plane{}).gap;
      deepest = std::min(deepest, gap);
      if (t > motion.lift_t + 1e-3) later = std::min(later, gap);
    }
    EXPECT_LT(fastest, 3.5);  // from 0.15 m it falls at 1.7 m/s, and moves along at 0.5 m/s or so
    EXPECT_LT(deepest, -1e-5);
    EXPECT_GT(deepest, -2.5 * 1e-3);
    EXPECT_GT(later, -1e-9);
  }
}

}  // namespace
}  // namespace impactlab
