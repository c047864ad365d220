// Several impacts in one recording.

#include <gtest/gtest.h>

#include "reconstruction/bundle/impact_bundle.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

TEST(DropFits, EveryBounceIsFitted) {
  std::mt19937_64 random(31);
  const CameraRig rig = DropRig(2);
  for (const Thing thing : {Thing::kBall, Thing::kBox, Thing::kRod}) {
    const Drop drop = DrawBounces(thing, 2, 0.06, 0.3, random);
    for (const bool flags : {true, false}) {
      Filming filming;
      filming.flags = flags;
      const std::vector<ImpactBundle> fits =
          FitImpactBundles(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {});
      ASSERT_EQ(fits.size(), 2U) << static_cast<int>(thing) << flags << fits[0].reason;
      for (int k = 0; k < 2; ++k) {
        const ImpactBundle& fit = fits[k];
        ASSERT_TRUE(fit.usable) << fit.reason;
        EXPECT_EQ(fit.event.impact, k);
        EXPECT_TRUE(fit.event.accepted) << fit.event.detail;
        const Flying &minus = k == 0 ? drop.minus : drop.later[0].minus,
                     &plus = k == 0 ? drop.plus : drop.later[0].plus;
        EXPECT_NEAR(fit.event.t, k == 0 ? drop.t : drop.later[0].t, 5 * fit.event.sd_t);
        EXPECT_LT((fit.event.v_minus - minus.v).norm(), 6e-3);
        EXPECT_LT((fit.event.v_plus - plus.v).norm(), 6e-3);
      }
    }
  }
}

TEST(DropFits, FirstImpactsOnly) {
  std::mt19937_64 random(32);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawBounces(Thing::kBall, 2, 0.06, 0.3, random);
  ImpactBundleOptions options;
  options.motion.first_impacts = 1;
  const std::vector<ImpactBundle> fits =
      FitImpactBundles(Film(drop, rig, {}, random), rig, drop.markers, drop.body, {}, options);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_NEAR(fits[0].event.t, drop.t, 1e-4);
}

TEST(DropFits, NoImpactIsSaid) {
  std::mt19937_64 random(34);
  const CameraRig rig = DropRig(2);
  Drop drop = DrawDrop(Thing::kBox, random);
  drop.end = -0.02;
  const std::vector<ImpactBundle> fits =
      FitImpactBundles(Film(drop, rig, {}, random), rig, drop.markers, drop.body, {});
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_FALSE(fits[0].usable);
  EXPECT_EQ(fits[0].event.reason, RejectReason::kNoImpact) << fits[0].reason;
  EXPECT_FALSE(fits[0].reason.empty());
}

TEST(DropFits, AStrayFlagIsNoImpact) {
  std::mt19937_64 random(35);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  MarkerTracks tracks = Film(drop, rig, {}, random);
  for (TrackPoint& point : tracks.points) {
    if (std::abs(point.t - (drop.t - 0.1)) < 0.006 && point.marker < 2) point.flags |= kImpact;
  }
  const std::vector<ImpactBundle> fits = FitImpactBundles(tracks, rig, drop.markers, drop.body, {});
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_NEAR(fits[0].event.t, drop.t, 1e-4);
}

// A body that hangs still until it is let go: that is no flight.
TEST(DropFits, HeldBeforeTheFall) {
  std::mt19937_64 random(36);
  const CameraRig rig = DropRig(2);
  Drop drop = DrawDrop(Thing::kBar, random, 0.12);
  Filming filming;
  MarkerTracks tracks = Film(drop, rig, filming, random);
  // Before the fall every marker stays where its first point is.
  std::normal_distribution<double> normal;
  std::vector<TrackPoint> all;
  std::size_t i = 0;
  while (i < tracks.points.size()) {
    const TrackPoint first = tracks.points[i];
    for (int k = 15; k > 0; --k) {
      TrackPoint held = first;
      held.frame -= k;
      held.t -= k / filming.rate;
      const double x = normal(random), y = normal(random);
      held.q += 0.05 * Vector2d(x, y);
      if (held.frame >= 0) all.push_back(held);
    }
    while (i < tracks.points.size() && tracks.points[i].camera == first.camera &&
           tracks.points[i].marker == first.marker)
      all.push_back(tracks.points[i++]);
  }
  tracks.points = all;
  const std::vector<ImpactBundle> fits = FitImpactBundles(tracks, rig, drop.markers, drop.body, {});
  ASSERT_EQ(fits.size(), 1U);
  ASSERT_TRUE(fits[0].usable) << fits[0].reason;
  EXPECT_LT((fits[0].event.v_minus - drop.minus.v).norm(), 6e-3);
  EXPECT_LT(fits[0].noise_scale, 1.2);
}

}  // namespace
}  // namespace impactlab::test
