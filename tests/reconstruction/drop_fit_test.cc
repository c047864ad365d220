// The bundle fit of a drop against an independent simulation.

#include "reconstruction/drop_fit.h"

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/statistics.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

TEST(DropFit, ExactImagesGiveTheStates) {
  std::mt19937_64 random(1);
  const CameraRig rig = DropRig(2);
  for (Thing thing : {Thing::kBox, Thing::kBar}) {
    const Drop drop = DrawDrop(thing, random);
    Filming filming;
    filming.pixel_sd = 0;
    filming.late = {0, 0.003, 0, 0};
    const DropFit fit = FitDrop(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {});
    ASSERT_TRUE(fit.usable) << fit.reason;
    EXPECT_TRUE(fit.observable);
    EXPECT_EQ(fit.outliers, 0);
    EXPECT_NEAR(fit.event.t, drop.t, 1e-7);
    EXPECT_LT((fit.event.v_minus - drop.minus.v).norm(), 1e-5);
    EXPECT_LT((fit.event.v_plus - drop.plus.v).norm(), 1e-5);
    EXPECT_LT((fit.event.omega_minus - drop.minus.omega).norm(), 1e-4);
    EXPECT_LT((fit.event.omega_plus - drop.plus.omega).norm(), 1e-4);
    EXPECT_LT((fit.event.p_WP - fit.event.X_WB.translation() - drop.lever).norm(), 1e-6);
  }
}

// Velocities before and after and the time, in standard deviations of the fit.
void ExpectCovered(Thing thing, double offset_sd, int n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const CameraRig rig = DropRig(2);
  double velocity = 0, time = 0, offset = 0;
  for (int k = 0; k < n; ++k) {
    const Drop drop = DrawDrop(thing, random);
    Filming filming;
    DropFitOptions options;
    options.offset_sd = offset_sd;
    filming.offset[1] = offset_sd * normal(random);
    const DropFit fit = FitDrop(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << fit.reason;
    ASSERT_TRUE(fit.event.cov.allFinite());
    Eigen::Matrix<double, 6, 1> error;
    Eigen::Matrix<double, 6, 6> cov;
    error << fit.event.v_minus - drop.minus.v, fit.event.v_plus - drop.plus.v;
    cov << fit.event.cov.block<3, 3>(kVMinus, kVMinus), fit.event.cov.block<3, 3>(kVMinus, kVPlus),
        fit.event.cov.block<3, 3>(kVPlus, kVMinus), fit.event.cov.block<3, 3>(kVPlus, kVPlus);
    velocity += error.dot(cov.inverse() * error);
    time += std::pow((fit.event.t - drop.t) / fit.event.sd_t, 2);
    if (offset_sd > 0) offset += std::pow((fit.offset[1] - filming.offset[1]) / fit.sd_offset[1], 2);
    if (thing == Thing::kRod) {
      EXPECT_FALSE(fit.observable);
    }
  }
  const Interval six = ChiSquareBand(6.0 * n, 1e-4), one = ChiSquareBand(n, 1e-4);
  EXPECT_TRUE(six.lower < velocity && velocity < six.upper) << velocity;
  EXPECT_TRUE(one.lower < time && time < one.upper) << time;
  if (offset_sd > 0) {
    EXPECT_TRUE(one.lower < offset && offset < one.upper) << offset;
  }
}

TEST(DropFit, BoxIsCovered) { ExpectCovered(Thing::kBox, 0, 10, 11); }
TEST(DropFit, BarIsCovered) { ExpectCovered(Thing::kBar, 0, 10, 12); }
TEST(DropFit, RodIsCoveredWithoutItsRoll) { ExpectCovered(Thing::kRod, 0, 10, 13); }
TEST(DropFit, UnknownOffsetIsFound) { ExpectCovered(Thing::kBox, 0.002, 10, 14); }

TEST(DropFit, RefusesWithAReason) {
  std::mt19937_64 random(5);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  MarkerTracks tracks = Film(drop, rig, {}, random);
  DropFit fit = FitDrop({"empty", tracks.cameras, tracks.markers, {}}, rig, drop.markers, drop.body, {});
  EXPECT_FALSE(fit.usable);
  EXPECT_NE(fit.reason.find("0 markers"), std::string::npos) << fit.reason;
  tracks.cameras[1] = "nobody";
  EXPECT_THROW(FitDrop(tracks, rig, drop.markers, drop.body, {}), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
