// What the motion fit turns down, and the real recordings.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/motion_fit.h"
#include "tests/reconstruction/motion/motion_scene.h"

namespace impactlab::testing {
namespace {

TEST(MotionFit, NothingToFindIsSaid) {
  std::mt19937_64 rng(12);
  Scene scene;
  scene.body = Square();
  scene.pieces = {{0, SquareBefore(0.3, 0.1, 1.0, 1)}};
  scene.pieces[0].state.X_WB.translation().z() = 0.5;
  const auto reason = [&](const PoseRecording& recording) {
    const MotionFit fit = FitMotion(recording, scene.body, scene.floor);
    EXPECT_EQ(fit.events.size(), 1u);
    EXPECT_FALSE(fit.events.front().accepted);
    EXPECT_FALSE(fit.events.front().detail.empty());
    EXPECT_EQ(fit.events.front().recording, "scene");
    return fit.events.front().reason;
  };
  EXPECT_EQ(reason(Record(scene, Times(0, 0.2, 250), {4e-5, 7e-4}, rng)), RejectReason::kNoImpact);
  EXPECT_EQ(reason(Record(scene, Times(0, 0.0041, 250), {4e-5, 7e-4}, rng)),
            RejectReason::kTooFewFrames);
  EXPECT_EQ(reason(Record(scene, {}, {}, rng)), RejectReason::kTooFewFrames);

  PoseRecording still = Record(scene, Times(0, 0.2, 250), {}, rng);
  for (std::size_t i = 0; i < still.t.size(); ++i) {
    still.X_WB[i] = PlanarPose(0, 0.03, 0);
    still.theta[i] = 0;
  }
  EXPECT_EQ(reason(still), RejectReason::kNoImpact);
  EXPECT_EQ(FitMotion(still, scene.body, scene.floor).rests.size(), 1u);

  PoseRecording broken = still;
  broken.X_WB[3].translation().x() = std::nan("");
  EXPECT_EQ(reason(broken), RejectReason::kBadRecording);
  broken = still;
  broken.t[5] = broken.t[4];
  EXPECT_EQ(reason(broken), RejectReason::kBadRecording);
  broken = still;
  broken.theta.pop_back();
  EXPECT_EQ(reason(broken), RejectReason::kBadRecording);
}

TEST(MotionFit, HugeNoiseGivesNoAcceptedEventsOfNonsense) {
  std::mt19937_64 rng(13);
  for (int i = 0; i < 30; ++i) {
    const RandomImpact draw = DrawImpact(Square(), 250, 8, rng);
    const MotionFit fit = FitMotion(Record(draw.scene, draw.times, {0.01, 0.3}, rng),
                                    draw.scene.body, draw.scene.floor);
    for (const ImpactEvent& event : fit.events) {
      if (!event.accepted) continue;
      EXPECT_TRUE(event.cov.allFinite());
      EXPECT_GT(event.cov(kVMinus, kVMinus), 1e-4);
    }
  }
}

// Recordings that are no motion at all: walks, jumps, white noise of any size. Answers stay finite,
// and next to none is accepted.
TEST(MotionFit, GarbageGivesFiniteAnswers) {
  std::mt19937_64 rng(27);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  int accepted = 0;
  for (int trial = 0; trial < 900; ++trial) {
    const bool planar = trial % 2 == 0;
    const Body body = trial % 3 == 0   ? MakeBall(0.03, 0.1, planar)
                      : trial % 3 == 1 ? MakeBox({0.06, 0.05, 0.04}, 0.2, planar)
                                       : MakeRod(0.1, 0.01, 0.1, planar);
    const int kind = trial % 4, n = static_cast<int>(uniform(rng) * 120);
    const double size = std::pow(10, -6 + 8 * uniform(rng)),
                 turn = std::pow(10, -6 + 6 * uniform(rng));
    const auto step = [&]() {
      return Vector3d(size * normal(rng), planar ? 0 : size * normal(rng), size * normal(rng));
    };
    PoseRecording recording;
    recording.planar = planar;
    Vector3d p(0, 0, 0.05);
    Matrix3d R = Matrix3d::Identity();
    double theta = 0;
    for (int i = 0; i < n; ++i) {
      recording.t.push_back(0.004 * i + (kind == 3 ? 0.0039 * uniform(rng) : 0));
      if (kind == 1 || (kind > 1 && uniform(rng) < 0.05)) p += step();
      theta += turn * normal(rng);
      R = R * ExpMap(turn * Vector3d(normal(rng), normal(rng), normal(rng)));
      Isometry3d X = Isometry3d::Identity();
      X.linear() = planar ? PlanarPose(0, 0, theta).linear() : R;
      X.translation() = kind == 0 ? Vector3d(p + step()) : p;
      recording.X_WB.push_back(X);
      if (planar) recording.theta.push_back(theta);
    }
    MotionFitOptions options;
    options.contact_frames = trial % 3;
    if (trial % 5 == 0) options.sigma_position = 1e-5;
    if (trial % 7 == 0) options.flight.drag_per_m = 0.05;
    if (trial % 11 == 0) options.flight.gravity_W.setZero();
    const MotionFit fit = FitMotion(recording, body, {}, options);
    EXPECT_GE(fit.events.size(), 1u);
    for (const ImpactEvent& event : fit.events) {
      accepted += event.accepted;
      EXPECT_TRUE(event.cov.allFinite() && event.v_minus.allFinite() && event.v_plus.allFinite() &&
                  event.contact.A_F.allFinite())
          << trial;
      EXPECT_TRUE(std::isfinite(event.t) && std::isfinite(event.sd_t)) << trial;
      EXPECT_EQ(event.accepted, event.reason == RejectReason::kNone);
    }
    for (const FlightArc& arc : fit.arcs)
      EXPECT_TRUE(arc.acceleration_W.allFinite() && arc.sd_acceleration.allFinite()) << trial;
  }
  EXPECT_LE(accepted, 9);
}

TEST(MotionFit, ShortArcsAreTooFewFrames) {
  std::mt19937_64 rng(14);
  Scene scene;
  scene.body = Square();
  scene = OneImpact(scene, SquareBefore(0.5, 0.4, -1.5, 3), 0.1013);
  const MotionFit late =
      FitMotion(Record(scene, Times(0.092, 0.16, 250), {4e-5, 7e-4}, rng), scene.body, scene.floor);
  ASSERT_EQ(late.events.size(), 1u);
  EXPECT_EQ(late.events.front().reason, RejectReason::kTooFewFrames) << late.events.front().detail;
  const MotionFit early =
      FitMotion(Record(scene, Times(0.02, 0.113, 250), {4e-5, 7e-4}, rng), scene.body, scene.floor);
  ASSERT_EQ(early.events.size(), 1u);
  EXPECT_EQ(early.events.front().reason, RejectReason::kTooFewFrames)
      << early.events.front().detail;
}

TEST(MotionFit, FlatLandingIsNoEvent) {
  std::mt19937_64 rng(15);
  for (const double lean : {0.0, 0.01, -0.02, 0.05}) {
    Scene scene;
    scene.body = Square();
    BodyState minus = SquareBefore(lean, 0.1, -1.5, 0);
    Settle(scene, minus);
    // Both corners at once: the body leaves as it came, without spin.
    BodyState plus = minus;
    plus.v_WB.z() = 0.7;
    scene.pieces = {{-0.9, Propagate(minus, scene.body, scene.flight, -1)}, {0.1, plus}};
    const MotionFit fit = FitMotion(Record(scene, Times(0.02, 0.18, 250), {4e-5, 7e-4}, rng),
                                    scene.body, scene.floor);
    ASSERT_EQ(fit.events.size(), 1u);
    EXPECT_EQ(fit.events.front().reason, RejectReason::kEdgeOrFlatLanding)
        << lean << " " << fit.events.front().detail;
  }
}

// A corner that stays on the floor after the impact, its speed along the floor kept: not a single
// impact with a plus arc.
TEST(MotionFit, RollingIsNoEvent) {
  std::mt19937_64 rng(16);
  Scene scene;
  scene.body = Square();
  BodyState minus = SquareBefore(0.5, 0.2, -1.0, 0);
  Settle(scene, minus);
  scene.pieces = {{-0.9, Propagate(minus, scene.body, scene.flight, -1)}};
  PoseRecording recording = Record(scene, Times(0.0, 0.1, 250), {4e-5, 7e-4}, rng);
  std::normal_distribution<double> normal;
  const double reach = 0.03 * std::sqrt(2);
  for (int i = 1; i < 16; ++i) {
    const double s = i * 0.004, theta = 0.5 + 6 * s + 0.5 * 120 * s * s;
    const double z = reach * std::sin(M_PI / 4 + theta);
    if (theta > 1.4) break;
    recording.t.push_back(0.1 + s);
    recording.theta.push_back(theta + 7e-4 * normal(rng));
    recording.X_WB.push_back(PlanarPose(0.02 + 0.1 * s + 4e-5 * normal(rng), z + 4e-5 * normal(rng),
                                        recording.theta.back()));
  }
  for (const ImpactEvent& event : FitMotion(recording, scene.body, scene.floor).events)
    EXPECT_FALSE(event.accepted) << event.detail;
}

TEST(MotionFit, OneWildFrameInFlightIsNoImpact) {
  std::mt19937_64 rng(17);
  Scene scene;
  scene.body = Square();
  scene = OneImpact(scene, SquareBefore(0.5, 0.4, -1.5, 3), 0.1013);
  PoseRecording recording = Record(scene, Times(0.02, 0.16, 250), {4e-5, 7e-4}, rng);
  recording.X_WB[6].translation().x() += 0.004;
  recording.X_WB[6].translation().z() += 0.003;
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor);
  ASSERT_EQ(fit.events.size(), 1u);
  EXPECT_NEAR(fit.events.front().t, 0.1013, 1e-3);
  EXPECT_TRUE(fit.events.front().accepted) << fit.events.front().detail;
}

TEST(MotionFit, ContactFramesAreLeftOut) {
  std::mt19937_64 rng(18);
  Scene scene;
  scene.body = Cube();
  BodyState minus;
  minus.X_WB.linear() = ExpMap({0.5, 0.4, 0});
  minus.v_WB = {0.4, -0.2, -1.2};
  minus.omega_WB = {3, -2, 1};
  scene = OneImpact(scene, minus, 0.1007);
  const double end = std::min(0.2, NextTouch(scene, 0.1007, 0.2));
  PoseRecording recording = Record(scene, Times(0.0, end, 200), {5e-5, 5e-4}, rng);
  // The frames on either side are smeared over the impact, as a median filter does.
  int after = 0;
  while (recording.t[after] < 0.1007) ++after;
  recording.X_WB[after].translation() =
      0.5 * (recording.X_WB[after - 1].translation() + recording.X_WB[after + 1].translation());
  MotionFitOptions options;
  options.contact_frames = 1;
  const MotionFit fit = FitMotion(recording, scene.body, scene.floor, options);
  ASSERT_GE(fit.events.size(), 1u);
  EXPECT_TRUE(fit.events.front().accepted) << fit.events.front().detail;
  ExpectState(fit.events.front(), scene, 0.01);
}

TEST(MotionFit, CallersMistakesAreNamed) {
  std::mt19937_64 rng(19);
  Scene scene;
  scene.body = Square();
  scene.pieces = {{0, SquareBefore(0.3, 0.1, 1.0, 1)}};
  const PoseRecording recording = Record(scene, Times(0, 0.2, 250), {}, rng);
  EXPECT_THROW(FitMotion(recording, Cube(), scene.floor), ConfigError);
  MotionFitOptions options;
  options.min_frames = 2;
  EXPECT_THROW(FitMotion(recording, scene.body, scene.floor, options), ConfigError);
  options.min_frames = 10;
  options.max_frames = 5;
  EXPECT_THROW(FitMotion(recording, scene.body, scene.floor, options), ConfigError);
}

// The real recordings: how many first impacts are usable, and do plain medians look like the
// published figures?
TEST(MotionFit, SquareDropsSmoke) {
  const std::filesystem::path folder =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "../shared/data/square-drops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: shared data absent";
  const Body body = Square();
  for (const double theta_offset : {0.0, -0.0323}) {
    FrameCorrection correction;
    correction.rotation_offset_B.y() = -theta_offset;
    std::vector<double> e, mu;
    int n = 0;
    std::vector<PoseRecording> recordings;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".csv")
        recordings.push_back(Correct(ReadPoses(entry.path(), {}), correction));
    }
    for (const PoseRecording& recording : recordings) {
      const MotionFit fit = FitMotion(recording, body, {});
      const ImpactEvent& event = fit.events.front();
      if (!event.accepted) continue;
      ++n;
      e.push_back(-event.v_plus_F.z() / event.contact.v_minus_F.z());
      const Vector3d J = MeasuredImpulse(event, body);
      if (event.contact.v_minus_F.x() * event.v_plus_F.x() > 0 &&
          std::abs(event.v_plus_F.x()) > 0.1)
        mu.push_back(std::abs(J.x()) / J.z());
    }
    EXPECT_EQ(recordings.size(), 300u);
    EXPECT_GE(n, 40);
    EXPECT_LE(n, 120);
    EXPECT_GT(Median(e), 0.42);
    EXPECT_LT(Median(e), 0.49);
    EXPECT_GT(Median(mu), 0.05);
    EXPECT_LT(Median(mu), 0.15);
  }
}

TEST(MotionFit, CubeTossesSmoke) {
  const std::filesystem::path folder =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "../shared/data/cube-tosses";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: shared data absent";
  Body body = MakeBox({0.1048, 0.1048, 0.1048}, 0.37);
  body.inertia_B = 0.00081 * Matrix3d::Identity();
  PoseColumns columns;
  columns.planar = false;
  int n = 0, files = 0;
  std::vector<double> g;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    ++files;
    const MotionFit fit = FitMotion(ReadPoses(entry.path(), columns), body, {});
    n += fit.events.front().accepted;
    for (const FlightArc& arc : fit.arcs) g.push_back(-arc.acceleration_W.z());
  }
  EXPECT_EQ(files, 380);
  EXPECT_GE(n, 20);
  EXPECT_LE(n, 120);
  EXPECT_NEAR(Median(g), 9.6, 0.2);
}

}  // namespace
}  // namespace impactlab::testing
