#include "reconstruction/identity/complete.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "data/base/error.h"
#include "tests/support/identity_scene.h"

namespace impactlab {
namespace {

using test::IdentityScene;

constexpr double kRadius = 6;  // of a marker's image [px]

// A bar that flies and strikes before two cameras; every name is right.
IdentityScene Named(std::uint64_t seed) {
  test::IdentitySceneOptions options;
  options.body = test::MarkedBody::kBar;
  options.duration = 0.4;
  options.shuffled = false;
  options.swaps = options.occlusions = 0;
  options.swap_in_encounter = 0;
  options.predictions = false;
  IdentityScene scene = MakeIdentityScene(options, seed);
  MarkerTracks kept = scene.tracks;
  kept.points.clear();
  for (std::size_t i = 0; i < scene.tracks.points.size(); ++i) {
    TrackPoint p = scene.tracks.points[i];
    p.major = p.minor = kRadius;
    if (scene.truth[i] == p.marker) kept.points.push_back(p);
  }
  scene.tracks = std::move(kept);
  return scene;
}

// Takes the points of some markers in some frames out of the tracks.
std::vector<TrackPoint> TakeOut(MarkerTracks* tracks,
                                const std::function<bool(const TrackPoint&)>& wanted) {
  std::vector<TrackPoint> out;
  for (const TrackPoint& p : tracks->points)
    if (wanted(p)) out.push_back(p);
  std::erase_if(tracks->points, wanted);
  return out;
}

bool InGap(const TrackPoint& p) {
  return (p.camera == 0 && p.marker == 1 && p.frame >= 20 && p.frame < 32) ||
         (p.camera == 1 && (p.marker == 2 || p.marker == 4) && p.frame >= 60 && p.frame < 66);
}

std::map<std::tuple<int, int, long long>, TrackPoint> ByKey(const std::vector<TrackPoint>& points) {
  std::map<std::tuple<int, int, long long>, TrackPoint> out;
  for (const TrackPoint& p : points) out[{p.camera, p.marker, p.frame}] = p;
  return out;
}

TEST(CompleteTracks, GivesNamesBackToImagesThatLostThem) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    IdentityScene scene = Named(seed);
    const std::vector<TrackPoint> out = TakeOut(&scene.tracks, InGap);
    ASSERT_GT(out.size(), 15u) << seed;
    std::vector<TrackPoint> loose = out;
    // Strangers about the body, another in every frame.
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> share(0, 1);
    for (const TrackPoint& p : out) {
      TrackPoint stranger = p;
      stranger.q += Eigen::Vector2d(25 + 60 * share(random), 40 * share(random));
      loose.push_back(stranger);
    }
    for (TrackPoint& p : loose) p.marker = -1;
    const std::size_t before = scene.tracks.points.size();
    const long long n = CompleteTracks(loose, scene.rig, scene.layout, {}, &scene.tracks);
    EXPECT_EQ(scene.tracks.points.size(), before + static_cast<std::size_t>(n));
    const auto named = ByKey(scene.tracks.points);
    std::size_t right = 0, wrong = 0;
    const auto truth = ByKey(out);
    for (const auto& [key, p] : named) {
      if ((p.flags & kRelabelled) == 0) continue;
      const auto at = truth.find(key);
      (at != truth.end() && at->second.q == p.q ? right : wrong) += 1;
    }
    EXPECT_EQ(wrong, 0u) << seed;
    EXPECT_EQ(right, static_cast<std::size_t>(n));
    EXPECT_GE(right, out.size() * 9 / 10) << seed;
  }
}

// A bar that turns by nearly a radian from frame to frame once it was struck: its two markers on
// the axis keep their names, the two beside it have lost theirs for eight frames.
TEST(CompleteTracks, FollowsASpinThatNoFrameForetells) {
  constexpr double kRate = 120;
  constexpr long long kStruck = 20, kNamedAgain = 28;
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  const CameraRig rig = test::RigAround(2, 1.3);
  const std::vector<Eigen::Vector3d> layout{
      {0, 0, 0.146}, {0, 0.026, 0.062}, {0, -0.026, -0.028}, {0, 0, -0.146}};
  MarkerTracks tracks;
  tracks.cameras = {rig.cameras[0].name, rig.cameras[1].name};
  tracks.markers = {"m1", "m2", "m3", "m4"};
  std::vector<TrackPoint> out, loose;
  for (int c = 0; c < 2; ++c) {
    for (long long f = 0; f < 45; ++f) {
      const double t = static_cast<double>(f) / kRate, after = std::max(0.0, t - kStruck / kRate);
      Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
      X.linear() = (Eigen::AngleAxisd(0.5 + t, Eigen::Vector3d(0.3, 1, 0.2).normalized()) *
                    Eigen::AngleAxisd(5 * t + 100 * after, Eigen::Vector3d::UnitZ()))
                       .toRotationMatrix();
      X.translation() = Eigen::Vector3d(0.1 * t, 0, 0.05 - 0.3 * t);
      for (int m = 0; m < 4; ++m) {
        TrackPoint p;
        p.camera = c, p.marker = m, p.frame = f, p.t = t;
        const auto q =
            Project(rig.cameras[c].camera, rig.cameras[c].X_WC.inverse() * (X * layout[m]));
        ASSERT_TRUE(q.has_value());
        p.q = *q + 0.1 * Eigen::Vector2d(normal(random), normal(random));
        p.cov = 0.01 * Eigen::Matrix2d::Identity();
        p.major = p.minor = kRadius;
        const bool lost = (m == 1 || m == 2) && f >= kStruck && f < kNamedAgain;
        (lost ? out : tracks.points).push_back(p);
        if (!lost) continue;
        p.marker = -1;
        loose.push_back(p);
      }
    }
  }
  Sort(&tracks);
  EXPECT_GE(CompleteTracks(loose, rig, layout, {}, &tracks), 28) << "of 32";
  const auto truth = ByKey(out);
  for (const auto& [key, p] : ByKey(tracks.points)) {
    if ((p.flags & kRelabelled) == 0) continue;
    ASSERT_TRUE(truth.contains(key));
    EXPECT_EQ(p.q, truth.at(key).q);
  }
}

TEST(CompleteTracks, LeavesAPlaceForWhichTwoImagesCompete) {
  IdentityScene scene = Named(1);
  const std::vector<TrackPoint> out = TakeOut(&scene.tracks, InGap);
  std::vector<TrackPoint> loose = out;
  for (const TrackPoint& p : out) {
    loose.push_back(p);
    loose.back().q += Eigen::Vector2d(0.4, -0.3);
  }
  for (TrackPoint& p : loose) p.marker = -1;
  EXPECT_EQ(CompleteTracks(loose, scene.rig, scene.layout, {}, &scene.tracks), 0);
}

TEST(CompleteTracks, TakesNoImageTwiceAndNoneOfAnotherSize) {
  IdentityScene scene = Named(2);
  const std::vector<TrackPoint> named = scene.tracks.points;
  std::vector<TrackPoint> out = TakeOut(&scene.tracks, InGap), loose;
  for (TrackPoint p : out) {
    p.marker = -1;
    p.major = p.minor = 2.2 * kRadius;
    loose.push_back(p);
  }
  // Images of markers that have their names, seen once more.
  for (TrackPoint p : named) {
    if (InGap(p)) continue;
    p.marker = -1;
    p.q += Eigen::Vector2d(0.3, 0.2);
    loose.push_back(p);
  }
  EXPECT_EQ(CompleteTracks(loose, scene.rig, scene.layout, {}, &scene.tracks), 0);
}

TEST(CompleteTracks, RefusesACameraThatTheRigHasNot) {
  IdentityScene scene = Named(1);
  std::vector<TrackPoint> loose = TakeOut(&scene.tracks, InGap);
  scene.tracks.cameras[1] = "elsewhere";
  EXPECT_THROW(CompleteTracks(loose, scene.rig, scene.layout, {}, &scene.tracks), ConfigError);
}

TEST(FindAbsent, TellsThePlacesOfMarkersThatAreMissing) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    IdentityScene scene = Named(seed);
    std::map<std::pair<int, long long>, double> stamps;
    long long last = 0;
    for (const TrackPoint& p : scene.tracks.points)
      stamps[{p.camera, p.frame}] = p.t, last = std::max(last, p.frame);
    const auto truth = ByKey(TakeOut(&scene.tracks, InGap));
    std::vector<long long> frames;
    for (long long f = 0; f <= last; ++f) frames.push_back(f);
    const auto time = [&](int camera, long long frame, double) {
      const auto at = stamps.find({camera, frame});
      return at == stamps.end() ? std::nan("") : at->second;
    };
    std::size_t found = 0;
    for (const AbsentMarker& a :
         FindAbsent(scene.tracks, scene.rig, scene.layout, {frames, frames}, time, {})) {
      const auto at = truth.find({a.camera, a.marker, a.frame});
      if (at == truth.end()) continue;  // outside of the picture, or taken out with the wrong name
      ++found;
      const Eigen::Vector2d r = at->second.q - a.q;
      EXPECT_LT(r.norm(), 3);
      EXPECT_LT(r.dot(a.cov.inverse() * r), 16) << seed << " frame " << a.frame;
      EXPECT_DOUBLE_EQ(a.major, kRadius);
      const auto next = truth.find({a.camera, a.marker, a.frame + 1});
      if (next != truth.end()) {
        EXPECT_LT((a.v - (next->second.q - at->second.q) * 240).norm(), 250) << "px/s";
      }
    }
    EXPECT_GE(found, truth.size() * 8 / 10) << seed;
  }
}

}  // namespace
}  // namespace impactlab
