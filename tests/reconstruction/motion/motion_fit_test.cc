#include "reconstruction/motion/motion_fit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/arcs.h"
#include "tests/reconstruction/motion/motion_scene.h"

namespace impactlab::testing {
namespace {

TEST(MotionFit, RecoversAPlanarImpactWithoutNoise) {
  std::mt19937_64 rng(1);
  Scene scene;
  scene.body = Square();
  scene = OneImpact(scene, SquareBefore(0.5, 0.4, -1.5, 3), 0.1013);
  const PoseRecording recording = Record(scene, Times(0.02, 0.16, 250), {}, rng);
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor);
  ASSERT_EQ(fit.events.size(), 1u);
  const ImpactEvent& event = fit.events.front();
  EXPECT_TRUE(event.accepted) << event.detail;
  EXPECT_EQ(event.frames_lost, 0);
  ExpectState(event, scene, 1e-8);
  EXPECT_NEAR(event.p_WP.z(), 0, 1e-8);
  EXPECT_LT(event.contact.v_minus_F.z(), 0);
  EXPECT_NEAR(event.v_plus_F.z(), -0.5 * event.contact.v_minus_F.z(), 1e-6);
}

TEST(MotionFit, FlightsAloneAreThoseOfTheWholeFit) {
  std::mt19937_64 rng(11);
  Scene scene;
  scene.body = Square();
  scene = OneImpact(scene, SquareBefore(0.5, 0.4, -1.5, 3), 0.1013);
  const PoseRecording recording = Record(scene, Times(0.02, 0.16, 250), {2e-5, 3e-4}, rng);
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor);
  const MotionFit flights = FitFlights(recording, scene.body, scene.floor);
  EXPECT_EQ(fit.events.size(), 1u);
  EXPECT_TRUE(flights.events.empty());
  ASSERT_EQ(flights.arcs.size(), fit.arcs.size());
  ASSERT_EQ(flights.arcs.size(), 2u);
  EXPECT_EQ(flights.rests.size(), fit.rests.size());
  EXPECT_EQ(flights.sigma_position, fit.sigma_position);
  EXPECT_EQ(flights.sigma_angle, fit.sigma_angle);
  EXPECT_EQ(flights.dof, fit.dof);
  // Frames that are too few are no flight, and no error.
  const PoseRecording few = Record(scene, Times(0.02, 0.03, 250), {}, rng);
  EXPECT_TRUE(FitFlights(few, scene.body, scene.floor).arcs.empty());
}

TEST(MotionFit, RecoversASpatialTumblingImpactWithoutNoise) {
  std::mt19937_64 rng(2);
  Scene scene;
  scene.body = MakeBox({0.16, 0.10, 0.05}, 0.5);
  BodyState minus;
  minus.X_WB.linear() = ExpMap({0.4, 0.5, -0.3});
  minus.v_WB = {0.5, -0.3, -1.5};
  minus.omega_WB = {6, -9, 5};
  scene = OneImpact(scene, minus, 0.1007);
  const double end = NextTouch(scene, scene.pieces[1].t, 0.25);
  const PoseRecording recording = Record(scene, Times(0.04, end, 250), {}, rng);
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor, Strict());
  ASSERT_EQ(fit.events.size(), 1u);
  ExpectState(fit.events.front(), scene, 1e-7);
}

TEST(MotionFit, DragBelongsToTheArcs) {
  std::mt19937_64 rng(3);
  Scene scene;
  scene.body = Square();
  scene.flight.drag_per_m = 0.05;
  scene = OneImpact(scene, SquareBefore(0.5, 1.5, -2.5, 3), 0.1013);
  const PoseRecording recording = Record(scene, Times(0.02, 0.2, 250), {}, rng);
  MotionFitOptions options = Strict();
  options.flight = scene.flight;
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor, options);
  ASSERT_GE(fit.events.size(), 1u);
  ExpectState(fit.events.front(), scene, 1e-7);
  // Without it the arcs do not fit: 0.3 m/s^2 over a tenth of a second.
  options.flight.drag_per_m = 0;
  options.sigma_position = 4e-5;
  const MotionFit without = FitMotion(recording, scene.body, scene.floor, options);
  EXPECT_GT((without.events.front().v_minus - fit.events.front().v_minus).norm(), 1e-4);
}

// The impact may fall on a frame, or a hair to either side of it.
TEST(MotionFit, ImpactTimesAtFrameBoundaries) {
  std::mt19937_64 rng(4);
  for (const double offset : {0.0, 1e-9, -1e-9, 1e-5, -1e-5, 1e-4, -1e-4, 2e-3}) {
    Scene scene;
    scene.body = Square();
    scene = OneImpact(scene, SquareBefore(0.45, 0.4, -1.5, 2), 0.1 + offset);
    const PoseRecording recording = Record(scene, Times(0.02, 0.16, 250), {2e-5, 3e-4}, rng);
    MotionFitOptions options = Strict();
    options.sigma_position = 2e-5;
    options.sigma_angle = 3e-4;
    const MotionFit fit = FitMotion(recording, scene.body, scene.floor, options);
    ASSERT_EQ(fit.events.size(), 1u) << offset;
    EXPECT_TRUE(fit.events.front().accepted) << offset << " " << fit.events.front().detail;
    EXPECT_LT(std::abs(fit.events.front().t - scene.pieces[1].t), 4.5 * fit.events.front().sd_t)
        << offset;
  }
}

TEST(MotionFit, SpinThroughPiAndManyTurns) {
  std::mt19937_64 rng(5);
  for (const double theta : {M_PI - 0.5, -M_PI + 0.5, M_PI / 2 + 0.4, 31.0}) {
    Scene scene;
    scene.body = Square();
    scene = OneImpact(scene, SquareBefore(theta, 0.4, -1.8, 25), 0.1013);
    const double end = NextTouch(scene, scene.pieces[1].t, 0.2);
    if ((end - 0.1013) * 250 < 8) continue;
    const PoseRecording recording = Record(scene, Times(0.05, end, 250), {2e-5, 3e-4}, rng);
    const MotionFit fit = FitMotion(recording, scene.body, scene.floor, Strict());
    ASSERT_EQ(fit.events.size(), 1u);
    EXPECT_NEAR(fit.events.front().omega_minus.y(), -25, 0.5);
    EXPECT_LT((fit.events.front().v_plus - scene.pieces[1].state.v_WB).norm(), 0.02);
  }
}

TEST(MotionFit, MirroredRecordingGivesTheMirroredEvent) {
  std::mt19937_64 rng(6);
  Scene scene;
  scene.body = Square();
  scene = OneImpact(scene, SquareBefore(0.5, 0.4, -1.5, 3), 0.1013);
  const PoseRecording recording = Record(scene, Times(0.02, 0.16, 250), {4e-5, 7e-4}, rng);
  FrameCorrection mirror;
  mirror.mirrored = mirror.theta_flipped = true;
  const PoseRecording mirrored = Correct(recording, mirror);
  const ImpactEvent a = FitMotion(recording, scene.body, scene.floor).events.front();
  const ImpactEvent b = FitMotion(mirrored, scene.body, scene.floor).events.front();
  EXPECT_NEAR(a.t, b.t, 1e-9);
  EXPECT_NEAR(a.v_plus.x(), -b.v_plus.x(), 1e-9);
  EXPECT_NEAR(a.v_plus.z(), b.v_plus.z(), 1e-9);
  EXPECT_NEAR(a.omega_plus.y(), -b.omega_plus.y(), 1e-7);
  EXPECT_NEAR(a.cov(kVPlus, kOmegaPlus + 1), b.cov(kVPlus, kOmegaPlus + 1), 1e-12);
  EXPECT_NEAR(a.cov(kVPlus, kVPlus + 2), -b.cov(kVPlus, kVPlus + 2), 1e-12);
}

// Several impacts and a resting end in one recording.
TEST(MotionFit, SeveralImpactsInOrderAndTheRest) {
  std::mt19937_64 rng(7);
  Scene scene;
  scene.body = MakeBall(0.03, 0.1, true);
  BodyState minus;
  minus.X_WB = PlanarPose(0, 0.1, 0);
  minus.v_WB = {0.2, 0, -1.5};
  scene = OneImpact(scene, minus, 0.1, 0.6, 0.1);
  const std::vector<double> more = BounceOn(scene, 0.62, 10, 0.6, 0.1);
  ASSERT_GE(more.size(), 3u);
  // Rest from here on: a piece without gravity stands for the floor's support.
  PoseRecording recording = Record(scene, Times(0.02, 0.6, 250), {4e-5, 7e-4}, rng);
  Scene rest = scene;
  rest.flight.gravity_W.setZero();
  BodyState still;
  still.X_WB = scene.At(0.6).X_WB;
  Settle(scene, still);
  rest.pieces = {{0.6, still}};
  const PoseRecording end = Record(rest, Times(0.604, 0.8, 250), {4e-5, 7e-4}, rng);
  recording.t.insert(recording.t.end(), end.t.begin(), end.t.end());
  recording.X_WB.insert(recording.X_WB.end(), end.X_WB.begin(), end.X_WB.end());
  recording.theta.insert(recording.theta.end(), end.theta.begin(), end.theta.end());
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor, Strict());
  ASSERT_GE(fit.events.size(), 3u);
  EXPECT_NEAR(fit.events[0].t, 0.1, 1e-3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fit.events[i].impact, i);
    EXPECT_TRUE(fit.events[i].accepted) << fit.events[i].detail;
    EXPECT_NEAR(fit.events[i].t, i > 0 ? more[i - 1] : 0.1, 1e-3);
    EXPECT_NEAR(-fit.events[i].v_plus_F.z() / fit.events[i].contact.v_minus_F.z(), 0.6, 0.03);
  }
  for (const ImpactEvent& event : fit.events) EXPECT_LT(event.t, 0.62);
  ASSERT_EQ(fit.rests.size(), 1u);
  EXPECT_GE(fit.rests[0].last - fit.rests[0].first, 40);
  EXPECT_NEAR(fit.rests[0].X_WB.translation().z(), 0.03, 3e-5);
  EXPECT_NEAR(fit.rests[0].sd_position, 4e-5, 1e-5);
  MotionFitOptions first = Strict();
  first.first_impacts = 2;
  EXPECT_EQ(FitMotion(recording, scene.body, scene.floor, first).events.size(), 2u);
}

TEST(MotionFit, FlightArcsMeasureGravity) {
  std::mt19937_64 rng(8);
  int n = 0;
  double chi_square = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomImpact draw = DrawImpact(Cube(), 148, 12, rng);
    const MotionFit fit = FitMotion(Record(draw.scene, draw.times, {1e-4, 1e-3}, rng),
                                    draw.scene.body, draw.scene.floor);
    for (const FlightArc& arc : fit.arcs) {
      const Vector3d z =
          (arc.acceleration_W - Vector3d(0, 0, -9.80665)).cwiseQuotient(arc.sd_acceleration);
      chi_square += z.squaredNorm();
      n += 3;
      EXPECT_NEAR(arc.rms_position, 1e-4, 8e-5);
      EXPECT_GE(arc.last - arc.first + 1, 10);
    }
  }
  ASSERT_GT(n, 200);
  // The larger of two noise scales goes into the sd, so it errs on the wide side.
  EXPECT_LT(chi_square, ChiSquareBand(n, 1e-3).upper);
  EXPECT_GT(chi_square, 0.6 * n);
}

// A recorder that drops frames at the impact and numbers on: the plus arc is late.
TEST(MotionFit, LostFramesAreCounted) {
  std::mt19937_64 rng(9);
  int right = 0, n = 0;
  for (int i = 0; i < 120; ++i) {
    const RandomImpact draw = DrawImpact(Square(), 250, 12, rng);
    PoseRecording recording = Record(draw.scene, draw.times, {4e-5, 7e-4}, rng);
    const int lost = i % 3;
    const int after = static_cast<int>(
        std::upper_bound(recording.t.begin(), recording.t.end(), draw.t) - recording.t.begin());
    recording.X_WB.erase(recording.X_WB.begin() + after, recording.X_WB.begin() + after + lost);
    recording.theta.erase(recording.theta.begin() + after, recording.theta.begin() + after + lost);
    recording.t.resize(recording.t.size() - static_cast<std::size_t>(lost));
    const MotionFit fit = FitMotion(recording, draw.scene.body, draw.scene.floor);
    const ImpactEvent& event = fit.events.front();
    ++n;
    if (!event.accepted || event.frames_lost != lost) continue;
    ++right;
    EXPECT_LT((event.v_plus - draw.plus.v_WB).norm(), 0.02);
    EXPECT_LT(std::abs(event.t - draw.t), 1e-3);
  }
  EXPECT_GE(right, 0.9 * n);
}

// The same in space, and double strikes are not excused as lost frames.
TEST(MotionFit, LostFramesInSpace) {
  std::mt19937_64 rng(21);
  int right = 0;
  const int n = 60;
  for (int i = 0; i < n; ++i) {
    const RandomImpact draw = DrawImpact(Cube(), 148, 12, rng);
    PoseRecording recording = Record(draw.scene, draw.times, {1e-4, 1e-3}, rng);
    const int lost = i % 2;
    const int after = static_cast<int>(
        std::upper_bound(recording.t.begin(), recording.t.end(), draw.t) - recording.t.begin());
    recording.X_WB.erase(recording.X_WB.begin() + after, recording.X_WB.begin() + after + lost);
    recording.t.resize(recording.t.size() - static_cast<std::size_t>(lost));
    const ImpactEvent event =
        FitMotion(recording, draw.scene.body, draw.scene.floor).events.front();
    right += event.accepted && event.frames_lost == lost &&
             (event.v_plus - draw.plus.v_WB).norm() < 0.03;
  }
  EXPECT_GE(right, 0.9 * n);
}

// Frames that are missing with honest stamps, anywhere, and a clock that jitters.
TEST(MotionFit, MissingFramesAndJitter) {
  std::mt19937_64 rng(22);
  std::uniform_real_distribution<double> uniform(0, 1);
  int right = 0;
  const int n = 80;
  for (int i = 0; i < n; ++i) {
    RandomImpact draw = DrawImpact(Square(), 250, 14, rng);
    std::vector<double> times;
    for (const double t : draw.times) {
      if (uniform(rng) < 0.1) continue;
      times.push_back(t + 0.001 * uniform(rng));
    }
    while (!times.empty() && times.back() > draw.times.back()) times.pop_back();
    const MotionFit fit =
        FitMotion(Record(draw.scene, times, {4e-5, 7e-4}, rng), draw.scene.body, draw.scene.floor);
    const ImpactEvent& event = fit.events.front();
    right += event.accepted && event.frames_lost == 0 &&
             (event.v_plus - draw.plus.v_WB).norm() < 0.02 && std::abs(event.t - draw.t) < 1e-3;
  }
  EXPECT_GE(right, 0.85 * n);
}

// A floor that leans, as in experiments on a ramp: everything is relative to its normal, gravity is
// not.
TEST(MotionFit, TiltedFloor) {
  std::mt19937_64 rng(23);
  Scene scene;
  scene.body = Square();
  const double tilt = 0.35;
  scene.floor.normal = Vector3d(-std::sin(tilt), 0, std::cos(tilt));
  scene.floor.offset = 0.1;
  scene = OneImpact(scene, SquareBefore(0.85, 0.4, -1.5, 2), 0.1013);
  const double end = std::min(0.18, NextTouch(scene, 0.1013, 0.18));
  const PoseRecording recording = Record(scene, Times(0.02, end, 250), {2e-5, 3e-4}, rng);
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor);
  ASSERT_EQ(fit.events.size(), 1u);
  const ImpactEvent& event = fit.events.front();
  EXPECT_TRUE(event.accepted) << event.detail;
  EXPECT_NEAR(scene.floor.normal.dot(event.p_WP), 0.1, 3e-4);
  EXPECT_NEAR(-event.v_plus_F.z() / event.contact.v_minus_F.z(), 0.5, 0.01);
}

TEST(MotionFit, FlatRodIsNoEventAndALeaningRodIs) {
  std::mt19937_64 rng(24);
  for (const double lean : {0.01, 0.4}) {
    Scene scene;
    scene.body = MakeRod(0.2, 0.01, 0.1, true);
    scene = OneImpact(scene, SquareBefore(lean, 0.1, -1.5, 0), 0.1);
    const double end = NextTouch(scene, 0.1, 0.2);
    if (lean < 0.1) BounceOn(scene, 0.3, 10, 0.5, 0.1);
    const PoseRecording recording =
        Record(scene, Times(0.0, lean < 0.1 ? 0.3 : end, 500), {2e-5, 3e-4}, rng);
    const ImpactEvent event = FitMotion(recording, scene.body, scene.floor).events.front();
    EXPECT_EQ(event.accepted, lean > 0.1) << event.detail;
  }
}

// A quaternion and its negative are one attitude, and half a turn between frames is no break.
TEST(MotionFit, FastSpinInSpace) {
  std::mt19937_64 rng(25);
  Scene scene;
  scene.body = MakeBall(0.03, 0.1);
  BodyState minus;
  minus.v_WB = {0.5, 0.2, -1.5};
  minus.omega_WB = {60, -50, 30};
  scene = OneImpact(scene, minus, 0.1013, 0.7, 0.2);
  const MotionFit fit =
      FitMotion(Record(scene, Times(0.04, 0.17, 250), {2e-5, 1e-3}, rng), scene.body, scene.floor);
  ASSERT_EQ(fit.events.size(), 1u);
  EXPECT_TRUE(fit.events.front().accepted) << fit.events.front().detail;
  EXPECT_LT((fit.events.front().omega_minus - minus.omega_WB).norm(), 0.5);
  EXPECT_LT((fit.events.front().omega_plus - scene.pieces[1].state.omega_WB).norm(), 0.5);
}

TEST(MotionFit, LongRecordingsTakeLinearTime) {
  std::mt19937_64 rng(26);
  Scene rest;
  rest.body = Square();
  rest.flight.gravity_W.setZero();
  BodyState still;
  still.X_WB = PlanarPose(0, 0.03, 0);
  rest.pieces = {{0, still}};
  const PoseRecording recording = Record(rest, Times(0, 40, 250), {4e-5, 7e-4}, rng);
  const auto start = std::chrono::steady_clock::now();
  const MotionFit fit = FitMotion(recording, rest.body, {});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20);
  ASSERT_EQ(fit.events.size(), 1u);
  EXPECT_EQ(fit.events.front().reason, RejectReason::kNoImpact) << fit.events.front().detail;
  ASSERT_GE(fit.rests.size(), 1u);
}

TEST(MotionFit, FloorAndAttitudeMayBeOff) {
  std::mt19937_64 rng(10);
  int accepted = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomImpact draw = DrawImpact(Square(), 250, 8, rng);
    FrameCorrection error;
    error.rotation_offset_B.y() = 0.033;
    const PoseRecording recording =
        Correct(Record(draw.scene, draw.times, {4e-5, 7e-4}, rng), error);
    Plane floor;
    floor.offset = i % 2 == 0 ? 0.002 : -0.002;
    const MotionFit fit = FitMotion(recording, draw.scene.body, floor);
    if (!fit.events.front().accepted) continue;
    ++accepted;
    EXPECT_LT((fit.events.front().v_plus - draw.plus.v_WB).norm(), 0.02);
  }
  EXPECT_GE(accepted, 54);
}

// A scale that is wrong by 3 % bends every arc; the events stay, with covariances that know of it.
TEST(MotionFit, WrongScaleWidensTheCovariance) {
  std::mt19937_64 rng(11);
  FrameCorrection error;
  error.length_scale = 1 / 1.03;
  int accepted = 0, inside = 0, n = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomImpact draw = DrawImpact(Square(), 250, 20, rng);
    const PoseRecording recording =
        Correct(Record(draw.scene, draw.times, {4e-5, 7e-4}, rng), error);
    const MotionFit fit = FitMotion(recording, draw.scene.body, draw.scene.floor);
    const ImpactEvent& event = fit.events.front();
    accepted += event.accepted;
    if (!event.accepted) continue;
    ++n;
    inside += std::abs(event.v_minus.z() - 1.03 * draw.minus.v_WB.z()) <
              2.5 * std::sqrt(event.cov(kVMinus + 2, kVMinus + 2));
  }
  EXPECT_GE(accepted, 50);
  EXPECT_GE(inside, 0.8 * n);
}

// Derivatives of torque-free rotation against central differences, for a spherical and an
// asymmetric body.
TEST(MotionFitArcs, TurnDerivatives) {
  for (const Vector3d& sides : {Vector3d(0.1, 0.1, 0.1), Vector3d(0.16, 0.1, 0.05)}) {
    const Body body = MakeBox(sides, 0.5);
    for (const double dt : {0.05, -0.08}) {
      reconstruction::TorqueFree start;
      start.omega_B = {7, -9, 4};
      const reconstruction::TorqueFree end = reconstruction::TurnTorqueFree(body, start, dt);
      BodyState state;
      state.omega_WB = start.omega_B;
      const BodyState then = Propagate(state, body, {Vector3d::Zero(), 0}, dt);
      EXPECT_LT((end.Q - then.X_WB.linear()).norm(), 1e-12);
      for (int i = 0; i < 3; ++i) {
        const double h = 1e-5;
        reconstruction::TorqueFree up = start, down = start;
        up.omega_B[i] += h;
        down.omega_B[i] -= h;
        const reconstruction::TorqueFree a = reconstruction::TurnTorqueFree(body, up, dt),
                                         b = reconstruction::TurnTorqueFree(body, down, dt);
        const Vector3d phi =
            (LogSO3(end.Q.transpose() * a.Q) - LogSO3(end.Q.transpose() * b.Q)) / (2 * h);
        EXPECT_LT((phi - end.dphi_domega.col(i)).norm(), 1e-7) << dt;
        EXPECT_LT(((a.omega_B - b.omega_B) / (2 * h) - end.domega_domega.col(i)).norm(), 1e-6)
            << dt;
      }
    }
  }
}

TEST(MotionFitArcs, LogAndExpAgreeAtEveryAngle) {
  std::mt19937_64 rng(20);
  std::normal_distribution<double> normal;
  for (const double angle : {0.0, 1e-14, 1e-9, 1e-4, 0.1, 0.5235, 0.5237, 1.0, 3.0, 3.14159}) {
    const Vector3d v = angle * Vector3d(normal(rng), normal(rng), normal(rng)).normalized();
    EXPECT_LT((LogSO3(ExpSO3(v)) - v).norm(), 1e-9 + 1e-12 * angle) << angle;
  }
}

}  // namespace
}  // namespace impactlab::testing
