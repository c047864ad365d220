// Free flight as a certificate: honest recordings pass, each sabotage is found and named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/base/error.h"
#include "reconstruction/bundle/flight_check.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

// One recording and how it was declared.
struct Scene {
  Drop drop;
  CameraRig truth, rig;
  Filming filming;
  FlightCheckOptions options;
  std::vector<BodyMarker> markers;
  std::mt19937_64 random;

  explicit Scene(Thing thing, std::uint64_t seed) : random(seed) {
    truth = DropRig(2);
    CalibrateByBoards(&truth, 15, 0.1, random);
    drop = DrawDrop(thing, random, 0.25);
    while (drop.end < 0.15) drop = DrawDrop(thing, random, 0.25);
    rig = Miscalibrated(truth, random);
    markers = drop.markers;
    filming.rate = 120;
  }
  FlightCheck Check() {
    return CheckFlights(Film(drop, truth, filming, random), rig, markers, drop.body, drop.floor(),
                        options);
  }
};

bool Blamed(const FlightCheck& check, FlightFault fault) {
  return std::any_of(check.culprits.begin(), check.culprits.end(),
                     [&](const FlightSuspect& s) { return s.fault == fault; });
}

const FlightQuantity& Quantity(const FlightCheck& check, const std::string& name) {
  static const FlightQuantity none;
  for (const FlightQuantity& q : check.quantities) {
    if (q.name == name) return q;
  }
  ADD_FAILURE() << name;
  return none;
}

TEST(FlightCheck, HonestRecordingsPass) {
  for (const Thing thing : {Thing::kBox, Thing::kBar, Thing::kRod, Thing::kBall}) {
    Scene scene(thing, 70 + static_cast<int>(thing));
    const FlightCheck check = scene.Check();
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_TRUE(check.passed) << check.verdict;
    EXPECT_EQ(check.flights.size(), 2U);
    EXPECT_NEAR(check.noise_scale, 1, 0.15);
    for (const FlightQuantity& q : check.quantities) {
      EXPECT_TRUE(q.ok) << q.name << " " << q.value << " +- " << q.sd << " expected " << q.expected;
      EXPECT_TRUE(std::isfinite(q.value) && std::isfinite(q.sd) && std::isfinite(q.z)) << q.name;
    }
    const FlightQuantity& g = Quantity(check, "gravity");
    EXPECT_NEAR(g.value, 9.80665, 4 * g.sd);
    EXPECT_LT(g.sd, 0.1);
  }
}

TEST(FlightCheck, WrongFrameRateIsAClock) {
  Scene scene(Thing::kBox, 81);
  const MarkerTracks honest = Film(scene.drop, scene.truth, scene.filming, scene.random);
  for (const double factor : {1.1, 0.9}) {
    MarkerTracks tracks = honest;
    for (TrackPoint& point : tracks.points) point.t *= factor;
    const FlightCheck check =
        CheckFlights(tracks, scene.rig, scene.markers, scene.drop.body, {}, scene.options);
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_FALSE(check.passed);
    ASSERT_EQ(check.culprits.size(), 1U) << check.verdict;
    EXPECT_EQ(check.culprits[0].fault, FlightFault::kClock) << check.verdict;
    EXPECT_NEAR(1 + check.culprits[0].value, 1 / factor, 3e-3);
    EXPECT_FALSE(Quantity(check, "gravity").ok);
  }
}

TEST(FlightCheck, WithoutAKnownLengthClockAndScaleAreOne) {
  Scene scene(Thing::kBox, 82);
  MarkerTracks tracks = Film(scene.drop, scene.truth, scene.filming, scene.random);
  for (TrackPoint& point : tracks.points) point.t *= 1.1;
  // Nobody measured the layout: it is learned.
  scene.options.drop.layout_sd = 0.02;
  FlightCheck check =
      CheckFlights(tracks, scene.rig, scene.markers, scene.drop.body, {}, scene.options);
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(Blamed(check, FlightFault::kClock)) << check.verdict;
  EXPECT_TRUE(Blamed(check, FlightFault::kScale)) << check.verdict;
  EXPECT_NE(check.verdict.find("cannot tell"), std::string::npos) << check.verdict;
  // One measured distance tells them apart.
  scene.options.drop.distances = {
      {0, 1, (scene.markers[0].p_BM - scene.markers[1].p_BM).norm(), 1e-4}};
  check = CheckFlights(tracks, scene.rig, scene.markers, scene.drop.body, {}, scene.options);
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_TRUE(Blamed(check, FlightFault::kClock)) << check.verdict;
  EXPECT_FALSE(Blamed(check, FlightFault::kScale)) << check.verdict;
}

TEST(FlightCheck, WrongIntrinsicsAreALens) {
  for (const double factor : {1.05, 0.95}) {
    Scene scene(Thing::kBox, 83);
    for (RigCamera& camera : scene.rig.cameras) {
      Eigen::VectorXd x = Intrinsics(camera.camera);
      x.head<2>() *= factor;
      SetIntrinsics(camera.camera, x);
    }
    const FlightCheck check = scene.Check();
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_FALSE(check.passed);
    EXPECT_TRUE(Blamed(check, FlightFault::kLens) || Blamed(check, FlightFault::kView))
        << check.verdict;
    EXPECT_FALSE(Blamed(check, FlightFault::kClock)) << check.verdict;
  }
}

TEST(FlightCheck, ChangedFocusOrCropIsThatOfItsCamera) {
  for (const bool crop : {false, true}) {
    Scene scene(Thing::kBox, 84);
    // The second camera was touched after the calibration.
    Eigen::VectorXd x = Intrinsics(scene.truth.cameras[1].camera);
    if (crop) {
      x.segment<2>(2) += Vector2d(24, -16);
    } else {
      x.head<2>() *= 1.02;
    }
    SetIntrinsics(scene.truth.cameras[1].camera, x);
    const FlightCheck check = scene.Check();
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_FALSE(check.passed);
    ASSERT_FALSE(check.culprits.empty());
    EXPECT_EQ(check.culprits[0].name, "view camera1") << check.verdict;
  }
}

TEST(FlightCheck, WrongScaleOfTheRig) {
  Scene scene(Thing::kBox, 85);
  for (RigCamera& camera : scene.rig.cameras) camera.X_WC.translation() *= 1.03;
  const FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  ASSERT_EQ(check.culprits.size(), 1U) << check.verdict;
  EXPECT_EQ(check.culprits[0].fault, FlightFault::kScale) << check.verdict;
  EXPECT_NEAR(1 + check.culprits[0].value, 1 / 1.03, 2e-3);
}

TEST(FlightCheck, AMarkerOffByTwoMillimetres) {
  Scene scene(Thing::kBox, 86);
  scene.markers[2].p_BM += 2e-3 * Vector3d(0.6, -0.64, 0.48);
  const FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_FALSE(check.passed);
  ASSERT_FALSE(check.culprits.empty());
  EXPECT_EQ(check.culprits[0].name, "marker m3") << check.verdict;
  EXPECT_TRUE(Quantity(check, "distance m1 m2").ok);
}

TEST(FlightCheck, TheWholeLayoutOffByTwoMillimetres) {
  Scene scene(Thing::kBox, 87);
  for (BodyMarker& marker : scene.markers) marker.p_BM += 2e-3 * Normal3(scene.random).normalized();
  const FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(Blamed(check, FlightFault::kLayout)) << check.verdict;
}

TEST(FlightCheck, ClocksApartAreFoundInTime) {
  Scene scene(Thing::kBox, 88);
  scene.filming.offset[1] = 0.8 / 120;
  FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  ASSERT_EQ(check.culprits.size(), 1U) << check.verdict;
  EXPECT_EQ(check.culprits[0].fault, FlightFault::kSync) << check.verdict;
  EXPECT_NEAR(check.culprits[0].value, scene.filming.offset[1], 1e-4);
  // Said to be unknown it is no fault.
  scene.options.drop.offset_sd = 1.0 / 120;
  check = scene.Check();
  EXPECT_TRUE(check.passed) << check.verdict;
}

TEST(FlightCheck, RollingShutterThatNobodyDeclared) {
  for (const Thing thing : {Thing::kBox, Thing::kRod}) {
    Scene scene(thing, 92);
    for (double& line : scene.filming.more_line) line = 8e-3 / 720;
    scene.options.drop.offset_sd = 1.0 / 120;
    const FlightCheck check = scene.Check();
    ASSERT_TRUE(check.usable) << check.reason;
    ASSERT_EQ(check.culprits.size(), 1U) << check.verdict;
    EXPECT_EQ(check.culprits[0].fault, FlightFault::kRows) << check.verdict;
    EXPECT_NEAR(check.culprits[0].value, 8e-3 / 720, 0.05 * 8e-3 / 720) << check.verdict;
  }
}

TEST(FlightCheck, SwappedCameras) {
  Scene scene(Thing::kBox, 89);
  std::swap(scene.rig.cameras[0].name, scene.rig.cameras[1].name);
  const FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_FALSE(check.passed);
  ASSERT_EQ(check.culprits.size(), 1U) << check.verdict;
  EXPECT_EQ(check.culprits[0].fault, FlightFault::kCamerasSwapped) << check.verdict;
}

TEST(FlightCheck, TiltedVertical) {
  Scene scene(Thing::kBox, 90);
  scene.options.drop.motion.flight.gravity_W =
      9.80665 * Vector3d(std::sin(0.05), 0, -std::cos(0.05));
  const FlightCheck check = scene.Check();
  ASSERT_TRUE(check.usable) << check.reason;
  ASSERT_FALSE(check.culprits.empty()) << check.verdict;
  EXPECT_EQ(check.culprits[0].fault, FlightFault::kVertical) << check.verdict;
  EXPECT_NEAR(check.culprits[0].value, 0.05, 5e-3);
}

// A touch bends the flight it falls in by half a pixel: of the short one that is the flight's own
// affair, of a long one it is a fault.
TEST(FlightCheck, AShortFlightAtOddsWithAllOthersIsNotJudged) {
  for (const bool brief : {true, false}) {
    Scene scene(Thing::kBar, 92);
    const double end = brief ? 0.078 : 0.15;
    scene.drop.end = end;
    MarkerTracks tracks = Film(scene.drop, scene.truth, scene.filming, scene.random);
    const double touch = scene.drop.t + 0.5 * end;
    for (TrackPoint& point : tracks.points) {
      if (point.t > touch) point.q.x() += 0.5 * (point.t - touch) / (0.5 * end);
    }
    const FlightCheck check = CheckFlights(tracks, scene.rig, scene.markers, scene.drop.body,
                                           scene.drop.floor(), scene.options);
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_EQ(check.passed, brief) << check.verdict;
    EXPECT_EQ(check.unjudged.size(), brief ? 1U : 0U);
    EXPECT_EQ(check.flights.size(), brief ? 1U : 2U);
    if (!brief) continue;
    EXPECT_GT(check.unjudged.front().first, scene.drop.t);
    EXPECT_THAT(check.verdict, ::testing::HasSubstr("not judged"));
    FlightCheckOptions alone = scene.options;
    alone.flights = check.unjudged;
    EXPECT_FALSE(
        CheckFlights(tracks, scene.rig, scene.markers, scene.drop.body, scene.drop.floor(), alone)
            .passed);
  }
}

TEST(FlightCheck, NothingToCheckIsSaid) {
  Scene scene(Thing::kBox, 91);
  scene.drop.begin = -0.02;
  scene.drop.end = 0.02;
  const FlightCheck check = scene.Check();
  EXPECT_FALSE(check.usable);
  EXPECT_FALSE(check.reason.empty());
  scene.options.gravity_sd = 0;
  EXPECT_THROW(scene.Check(), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
