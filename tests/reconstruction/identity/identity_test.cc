// Names decided from rays and layout, and what is refused.

#include "reconstruction/identity/identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "data/base/error.h"
#include "tests/support/identity_scene.h"

namespace impactlab {
namespace {

using test::IdentityScene;
using test::IdentitySceneOptions;
using test::Judge;
using test::MakeIdentityScene;
using test::MarkedBody;

IdentityResult Resolve(const IdentityScene& scene) {
  return ResolveIdentity(scene.tracks, scene.rig, scene.layout);
}

void ExpectRight(const IdentityScene& scene, const IdentityResult& result, double share) {
  ASSERT_TRUE(result.usable) << result.reason;
  const auto score = Judge(scene, result.tracks);
  EXPECT_EQ(score.wrong, 0);
  EXPECT_GE(score.named, share * score.points) << score.named << " of " << score.points;
}

TEST(Identity, RodWithNamesInAnyOrder) {
  for (std::uint64_t seed : {1, 2, 3}) {
    const IdentityScene scene = MakeIdentityScene({}, seed);
    const IdentityResult result = Resolve(scene);
    ExpectRight(scene, result, 0.99);
    EXPECT_LT(Judge(scene, scene.tracks).named_in, 0.9 * Judge(scene, scene.tracks).points)
        << "there was nothing to decide";
    EXPECT_GE(result.log_odds, 5);
    EXPECT_LT(result.ray_rms, 1.5);
    EXPECT_LT(result.layout_rms, 1e-3);
    EXPECT_FALSE(result.changes.empty());
  }
}

TEST(Identity, BarAndClutter) {
  IdentitySceneOptions o;
  o.body = MarkedBody::kBar;
  o.clutter = 2;
  o.late = 0.4;  // cameras that take turns
  for (std::uint64_t seed : {4, 5}) {
    const IdentityScene scene = MakeIdentityScene(o, seed);
    ExpectRight(scene, Resolve(scene), 0.97);
  }
}

TEST(Identity, ThreeCameras) {
  IdentitySceneOptions o;
  o.body = MarkedBody::kBar;
  o.cameras = 3;
  o.angle = 0.8;
  o.frame_rate = 120;
  const IdentityScene scene = MakeIdentityScene(o, 6);
  ExpectRight(scene, Resolve(scene), 0.97);
}

TEST(Identity, CleanTracksStayAsTheyAre) {
  IdentitySceneOptions o;
  o.body = MarkedBody::kBar;
  o.shuffled = false;
  o.swaps = o.occlusions = 0;
  o.swap_in_encounter = 0;
  const IdentityScene scene = MakeIdentityScene(o, 7);
  const IdentityResult result = Resolve(scene);
  ASSERT_TRUE(result.usable) << result.reason;
  EXPECT_TRUE(result.changes.empty());
  ASSERT_EQ(result.tracks.points.size(), scene.tracks.points.size());
  for (std::size_t i = 0; i < scene.tracks.points.size(); ++i) {
    EXPECT_EQ(result.tracks.points[i].marker, scene.tracks.points[i].marker);
    EXPECT_EQ(result.tracks.points[i].flags, scene.tracks.points[i].flags);
  }
}

TEST(Identity, MarksWhatItRenamed) {
  const IdentityScene scene = MakeIdentityScene({}, 8);
  const IdentityResult result = Resolve(scene);
  ASSERT_TRUE(result.usable) << result.reason;
  std::map<std::tuple<int, long long, double>, int> before;
  for (const TrackPoint& p : scene.tracks.points) before[{p.camera, p.frame, p.q.x()}] = p.marker;
  std::set<std::tuple<int, int, long long>> places;
  for (const TrackPoint& p : result.tracks.points) {
    EXPECT_TRUE(places.insert({p.camera, p.marker, p.frame}).second)
        << "two points of a marker in a frame";
    const int came = before.at({p.camera, p.frame, p.q.x()});
    EXPECT_EQ((p.flags & kRelabelled) != 0, came != p.marker);
    if (came == p.marker) continue;
    const bool listed =
        std::any_of(result.changes.begin(), result.changes.end(), [&](const IdentityChange& c) {
          return c.camera == p.camera && c.first <= p.frame && p.frame <= c.last &&
                 c.from == scene.tracks.markers[came] && c.to == scene.tracks.markers[p.marker];
        });
    EXPECT_TRUE(listed || (p.flags & kPredicted)) << p.camera << ", frame " << p.frame;
  }
}

TEST(Identity, WithoutALayoutNamesStayWithTheirMarkers) {
  IdentitySceneOptions o;
  o.body = MarkedBody::kBar;
  const IdentityScene scene = MakeIdentityScene(o, 9);
  const IdentityResult result = ResolveIdentity(scene.tracks, scene.rig, {});
  ASSERT_TRUE(result.usable) << result.reason;
  const auto score = Judge(scene, result.tracks, true);
  EXPECT_EQ(score.wrong, 0);
  EXPECT_GE(score.named, 0.97 * score.points);
}

TEST(Identity, ClockThatIsOffByPartOfAFrame) {
  IdentitySceneOptions o;
  o.late_unknown = 0.45;
  const IdentityScene scene = MakeIdentityScene(o, 10);
  const IdentityResult result = Resolve(scene);
  ExpectRight(scene, result, 0.97);
  EXPECT_TRUE(std::any_of(result.notes.begin(), result.notes.end(),
                          [](const std::string& n) { return n.find("ms") != std::string::npos; }));
}

// A clock is doubted for a reason, and then the right amount is said.
TEST(Identity, ClockErrorsAreEstimatedToATenthOfAFrame) {
  int seed = 40;
  for (const double late : {-0.5, -0.32, -0.2, 0.0, 0.13, 0.25, 0.4, 0.5}) {
    IdentitySceneOptions o;
    o.body = static_cast<MarkedBody>(seed % 2);
    o.late = seed % 3 == 0 ? 0.3 : 0;
    o.late_unknown = late;
    o.swaps = 1;
    const IdentityScene scene = MakeIdentityScene(o, static_cast<std::uint64_t>(seed++));
    const IdentityResult result = Resolve(scene);
    ExpectRight(scene, result, 0.95);
    ASSERT_EQ(result.shifts.size(), 2u);
    EXPECT_NEAR((result.shifts[1] - result.shifts[0]) * o.frame_rate, late, 0.1) << late;
    if (late == 0) {
      EXPECT_EQ(result.shifts[1] - result.shifts[0], 0);
    }
  }
}

TEST(Identity, RefusesWhatItCannotDecide) {
  const IdentityScene scene = MakeIdentityScene({}, 11);
  // One camera.
  MarkerTracks one = scene.tracks;
  std::erase_if(one.points, [](const TrackPoint& p) { return p.camera == 1; });
  IdentityResult result = ResolveIdentity(one, scene.rig, scene.layout);
  EXPECT_FALSE(result.usable);
  EXPECT_NE(result.reason.find("camera0"), std::string::npos) << result.reason;
  EXPECT_EQ(result.tracks.points.size(), one.points.size());
  // Nothing.
  one.points.clear();
  EXPECT_FALSE(ResolveIdentity(one, scene.rig, scene.layout).usable);
  // Cameras that never saw the same moment.
  MarkerTracks apart = scene.tracks;
  for (TrackPoint& p : apart.points) p.t += p.camera * 100;
  result = ResolveIdentity(apart, scene.rig, scene.layout);
  EXPECT_FALSE(result.usable);
  EXPECT_FALSE(result.reason.empty());
  // A rig of another day.
  CameraRig other = scene.rig;
  other.cameras[1].X_WC.linear() *=
      Eigen::AngleAxisd(0.05, Eigen::Vector3d::UnitX()).toRotationMatrix();
  EXPECT_FALSE(ResolveIdentity(scene.tracks, other, scene.layout).usable);
  // The layout of another body: nothing fits, nothing is claimed.
  std::vector<Eigen::Vector3d> wrong = scene.layout;
  for (auto& p : wrong) p *= 1.5;
  EXPECT_FALSE(ResolveIdentity(scene.tracks, scene.rig, wrong).usable);
}

TEST(Identity, RefusesWrongCalls) {
  const IdentityScene scene = MakeIdentityScene({}, 12);
  MarkerTracks strange = scene.tracks;
  strange.cameras[1] = "elsewhere";
  EXPECT_THROW(ResolveIdentity(strange, scene.rig, scene.layout), ConfigError);
  EXPECT_THROW(ResolveIdentity(scene.tracks, scene.rig,
                               std::vector<Eigen::Vector3d>(9, Eigen::Vector3d::Zero())),
               ConfigError);
}

// T34: two similar bodies cross, names flip in the overlap and a lost marker comes back as another.
TEST(Identity, HostileT34TwoSimilarBodiesCross) {
  IdentitySceneOptions o;
  o.second_body = true;
  o.swap_in_encounter = 1;
  for (std::uint64_t seed : {13, 14}) {
    const IdentityScene scene = MakeIdentityScene(o, seed);
    ExpectRight(scene, Resolve(scene), 0.9);
  }
}

TEST(Identity, HostileT34SymmetricLayoutIsRefused) {
  IdentityScene scene = MakeIdentityScene({}, 15);
  scene.tracks.markers.push_back("m4");
  const std::vector<Eigen::Vector3d> square = {
      {0.05, 0.05, 0}, {-0.05, 0.05, 0}, {-0.05, -0.05, 0}, {0.05, -0.05, 0}};
  const IdentityResult result = ResolveIdentity(scene.tracks, scene.rig, square);
  EXPECT_FALSE(result.usable);
  EXPECT_NE(result.reason.find("symmetry"), std::string::npos) << result.reason;
  EXPECT_EQ(result.tracks.points.size(), scene.tracks.points.size());
}

TEST(Identity, HostileT34FiveFramesHidden) {
  IdentitySceneOptions o;
  o.swaps = o.occlusions = 0;
  o.shuffled = false;
  o.swap_in_encounter = 0;
  IdentityScene scene = MakeIdentityScene(o, 16);
  // Two markers go out of sight in the first camera for five frames and come back under each
  // other's name.
  const auto hidden = [](const TrackPoint& p) {
    return p.camera == 0 && p.marker < 2 && p.frame >= 40 && p.frame < 45;
  };
  std::vector<int> truth;
  for (std::size_t i = 0; i < scene.truth.size(); ++i) {
    if (!hidden(scene.tracks.points[i])) truth.push_back(scene.truth[i]);
  }
  std::erase_if(scene.tracks.points, hidden);
  scene.truth = truth;
  std::map<std::tuple<int, long long, double>, int> is;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    TrackPoint& p = scene.tracks.points[i];
    is[{p.camera, p.frame, p.q.x()}] = truth[i];
    if (p.camera == 0 && p.marker < 2 && p.frame >= 45) p.marker = 1 - p.marker;
  }
  Sort(&scene.tracks);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const TrackPoint& p = scene.tracks.points[i];
    scene.truth[i] = is.at({p.camera, p.frame, p.q.x()});
  }
  ExpectRight(scene, Resolve(scene), 0.99);
}

// A ball of which one marker, seen by one camera alone, fits a wrong name by the layout's distances
// beyond question; the pose of the others does not allow it.
TEST(Identity, TakesAwayANameThatTheMotionOfTheBodyRefuses) {
  const IdentityScene scene = test::MakeStudyScene(94);
  ExpectRight(scene, Resolve(scene), 0.94);
}

// 240 frames/s, 1 s, two cameras, six tracks each. The bound is several times what an idle machine
// needs.
TEST(Identity, IsQuick) {
  IdentitySceneOptions o;
  o.body = MarkedBody::kBar;
  o.duration = 1;
  o.clutter = 1;
  const IdentityScene scene = MakeIdentityScene(o, 17);
  const std::clock_t start = std::clock();
  const IdentityResult result = Resolve(scene);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
  EXPECT_TRUE(result.usable) << result.reason;
}

}  // namespace
}  // namespace impactlab
