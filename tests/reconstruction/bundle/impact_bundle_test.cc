// The bundle fit of a drop against an independent simulation.

#include "reconstruction/bundle/impact_bundle.h"

#include <gtest/gtest.h>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/bundle/event.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

TEST(ImpactBundle, ExactImagesGiveTheStates) {
  std::mt19937_64 random(1);
  const CameraRig rig = DropRig(2);
  for (Thing thing : {Thing::kBox, Thing::kBar}) {
    const Drop drop = DrawDrop(thing, random);
    Filming filming;
    filming.pixel_sd = 0;
    filming.late = {0, 0.003, 0, 0};
    const ImpactBundle fit =
        FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {});
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
    ImpactBundleOptions options;
    options.offset_sd = offset_sd;
    filming.offset[1] = offset_sd * normal(random);
    const ImpactBundle fit = FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers,
                                             drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << fit.reason;
    ASSERT_TRUE(fit.event.cov.allFinite());
    Eigen::Matrix<double, 6, 1> error;
    Eigen::Matrix<double, 6, 6> cov;
    error << fit.event.v_minus - drop.minus.v, fit.event.v_plus - drop.plus.v;
    cov << fit.event.cov.block<3, 3>(kVMinus, kVMinus), fit.event.cov.block<3, 3>(kVMinus, kVPlus),
        fit.event.cov.block<3, 3>(kVPlus, kVMinus), fit.event.cov.block<3, 3>(kVPlus, kVPlus);
    velocity += error.dot(cov.inverse() * error);
    time += std::pow((fit.event.t - drop.t) / fit.event.sd_t, 2);
    if (offset_sd > 0)
      offset += std::pow((fit.offset[1] - filming.offset[1]) / fit.sd_offset[1], 2);
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

TEST(ImpactBundle, BoxIsCovered) { ExpectCovered(Thing::kBox, 0, 10, 11); }
TEST(ImpactBundle, BarIsCovered) { ExpectCovered(Thing::kBar, 0, 10, 12); }
TEST(ImpactBundle, RodIsCoveredWithoutItsRoll) { ExpectCovered(Thing::kRod, 0, 10, 13); }
// Markers of a rod sit 0.1 mm beside their line: they circle as the rod spins after the impact, at
// a roll that nobody sees. The spin is what the moment of the impulse made of it.
TEST(ImpactBundle, MarkersBesideTheLineOfARod) {
  std::mt19937_64 random(15);
  const CameraRig rig = DropRig(2);
  constexpr int kDrops = 12;
  constexpr double kBeside = 1e-4;
  double spin = 0, across = 0, places = 0;
  for (int k = 0; k < kDrops; ++k) {
    Drop drop = DrawDrop(Thing::kRod, random);
    const std::vector<BodyMarker> given = drop.markers;
    for (BodyMarker& marker : drop.markers) marker.p_BM += kBeside * Normal3(random);
    ImpactBundleOptions options;
    options.layout.cov = kBeside * kBeside * Eigen::MatrixXd::Identity(9, 9);
    const ImpactBundle fit =
        FitImpactBundle(Film(drop, rig, {}, random), rig, given, drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << fit.reason;
    EXPECT_LT(fit.noise_scale, 1.5);
    const Vector3d axis = drop.minus.R.col(2);
    const double sd = std::sqrt(fit.cov(kDropPlus + 5, kDropPlus + 5));
    EXPECT_LT(sd, 15);
    spin += std::pow(axis.dot(fit.event.omega_plus - drop.plus.omega) / sd, 2);
    const Eigen::VectorXd error = StateError(fit, drop);
    for (int i = 0; i < 2; ++i)
      across +=
          std::pow(error[kDropPlus + 3 + i], 2) / fit.cov(kDropPlus + 3 + i, kDropPlus + 3 + i);
    for (int i = 0; i < 3; ++i)
      places += std::pow(error[kDropPose + i], 2) / fit.cov(kDropPose + i, kDropPose + i);
    // All of it differs from impact to impact but for where they are along the line.
    EXPECT_TRUE((fit.dx_dlayout * Eigen::Matrix<double, 9, 1>::Unit(0)).isZero(1e-12));
  }
  // Components of one impact are not independent: half of them count.
  const Interval two = ChiSquareBand(kDrops, 1e-4);
  EXPECT_LT(spin, two.upper);
  EXPECT_LT(across / 2, two.upper);
  EXPECT_GT(across / 2, two.lower);
  EXPECT_LT(places / 3, two.upper);
  EXPECT_GT(places / 3, two.lower);
}

TEST(ImpactBundle, UnknownOffsetIsFound) { ExpectCovered(Thing::kBox, 0.002, 10, 14); }

TEST(ImpactBundle, OffsetOfSeveralFramesIsFound) {
  std::mt19937_64 random(21);
  const CameraRig rig = DropRig(2);
  for (const double frames : {-5.3, 0.6, 4.8}) {
    const Drop drop = DrawDrop(Thing::kBar, random);
    Filming filming;
    filming.offset[1] = frames / filming.rate;
    ImpactBundleOptions options;
    options.offset_sd = 5 / filming.rate;
    const ImpactBundle fit = FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers,
                                             drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << fit.reason;
    EXPECT_NEAR(fit.offset[1], filming.offset[1], 5 * fit.sd_offset[1]);
    EXPECT_LT(fit.sd_offset[1], 0.02 / filming.rate);
    EXPECT_NEAR(fit.event.t, drop.t, 5 * fit.event.sd_t);
  }
}

TEST(ImpactBundle, RowTimesAreFound) {
  std::mt19937_64 random(22);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  Filming filming;
  filming.t_line = 8e-6;
  filming.more_line = {2e-6, -1e-6, 0, 0};
  ImpactBundleOptions options;
  ImpactBundle fit =
      FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {}, options);
  // Not modelled they spoil the fit.
  EXPECT_TRUE(!fit.usable ||
              std::abs(fit.event.t - drop.t) > 10 * fit.event.sd_t / fit.noise_scale);
  options.row_time_sd = 3e-6;
  fit =
      FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {}, options);
  ASSERT_TRUE(fit.usable) << fit.reason;
  for (int c = 0; c < 2; ++c) {
    EXPECT_NEAR(fit.row_time[c], filming.more_line[c], 4 * fit.sd_row_time[c]);
    EXPECT_LT(fit.sd_row_time[c], 1e-6);
  }
  EXPECT_NEAR(fit.event.t, drop.t, 4 * fit.event.sd_t);
  EXPECT_NEAR((fit.share_pixels + fit.share_clocks - fit.cov_pixels).norm(), 0,
              1e-9 * fit.cov_pixels.norm());
  EXPECT_GT(fit.share_clocks(kDropTime, kDropTime), 0);
}

TEST(ImpactBundle, RateOfAClockIsFound) {
  std::mt19937_64 random(23);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  Filming filming;
  filming.clock_rate = {0, 4e-3, 0, 0};
  ImpactBundleOptions options;
  options.offset_sd = 1e-3;
  options.rate_sd = 3e-3;
  const ImpactBundle fit =
      FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers, drop.body, {}, options);
  ASSERT_TRUE(fit.usable) << fit.reason;
  for (int c = 0; c < 2; ++c) EXPECT_NEAR(fit.rate[c], filming.clock_rate[c], 4 * fit.sd_rate[c]);
  EXPECT_LT(fit.sd_rate[1], 2e-3);
  EXPECT_NEAR(fit.event.t, drop.t, 4 * fit.event.sd_t);
}

// The layout as somebody measured it, two millimetres wrong.
std::vector<BodyMarker> Misplaced(std::vector<BodyMarker> markers, double sd,
                                  std::mt19937_64& random) {
  for (BodyMarker& marker : markers) marker.p_BM += sd * Normal3(random);
  return markers;
}

TEST(ImpactBundle, LayoutIsLearned) {
  std::mt19937_64 random(24);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  const MarkerTracks tracks = Film(drop, rig, {}, random);
  const std::vector<BodyMarker> wrong = Misplaced(drop.markers, 2e-3, random);
  ImpactBundleOptions options;
  options.layout_sd = 2e-3;
  const ImpactBundle fit = FitImpactBundle(tracks, rig, wrong, drop.body, {}, options);
  ASSERT_TRUE(fit.usable) << fit.reason;
  EXPECT_LT(fit.noise_scale, 1.2);
  ASSERT_EQ(fit.cov_layout.rows(), 12);
  Eigen::VectorXd error(12);
  for (int m = 0; m < 4; ++m) error.segment<3>(3 * m) = fit.layout[m] - drop.markers[m].p_BM;
  EXPECT_LT(error.dot(fit.cov_layout.ldlt().solve(error)), ChiSquareQuantile(1 - 1e-4, 12));
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < a; ++b)
      EXPECT_NEAR((fit.layout[a] - fit.layout[b]).norm(),
                  (drop.markers[a].p_BM - drop.markers[b].p_BM).norm(), 1e-4);
  }
  EXPECT_LT((fit.event.v_minus - drop.minus.v).norm(), 0.02);
}

TEST(ImpactBundle, KnownDistanceGivesTheScale) {
  std::mt19937_64 random(25);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  const MarkerTracks tracks = Film(drop, rig, {}, random);
  ImpactBundleOptions options;
  options.layout_sd = 2e-3;
  const double distance = (drop.markers[0].p_BM - drop.markers[1].p_BM).norm();
  options.distances = {{0, 1, distance, 2e-5}};
  const std::vector<BodyMarker> wrong = Misplaced(drop.markers, 2e-3, random);
  const ImpactBundle fit = FitImpactBundle(tracks, rig, wrong, drop.body, {}, options);
  ASSERT_TRUE(fit.usable) << fit.reason;
  EXPECT_NEAR((fit.layout[0] - fit.layout[1]).norm(), distance, 6e-5);
  options.distances[0].marker2 = 7;
  EXPECT_THROW(FitImpactBundle(tracks, rig, wrong, drop.body, {}, options), ConfigError);
}

TEST(ImpactBundle, PicturesThatSawBothFlightsAreLeftOut) {
  std::mt19937_64 random(26);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  Filming filming;
  filming.exposure = 3.5e-3;
  filming.pixel_sd = 0.02;
  ImpactBundleOptions options;
  const MarkerTracks tracks = Film(drop, rig, filming, random);
  const ImpactBundle blind = FitImpactBundle(tracks, rig, drop.markers, drop.body, {}, options);
  options.exposure = filming.exposure;
  const ImpactBundle fit = FitImpactBundle(tracks, rig, drop.markers, drop.body, {}, options);
  ASSERT_TRUE(fit.usable) << fit.reason;
  EXPECT_LT(fit.noise_scale, 1.3);
  EXPECT_LT((fit.event.v_minus - drop.minus.v).norm(), 5e-3);
  for (const DropResidual& r : fit.residuals) {
    if (std::abs(tracks.points[r.point].t - fit.event.t) < 0.5 * filming.exposure) {
      EXPECT_FALSE(r.used);
    }
  }
  options.contact_time = 6e-3;
  const ImpactBundle wide = FitImpactBundle(tracks, rig, drop.markers, drop.body, {}, options);
  ASSERT_TRUE(wide.usable);
  for (const DropResidual& r : wide.residuals) {
    if (std::abs(tracks.points[r.point].t - wide.event.t) <
        0.5 * (filming.exposure + options.contact_time)) {
      EXPECT_FALSE(r.used);
    }
  }
}

TEST(ImpactBundle, WildPointsDoNoHarm) {
  std::mt19937_64 random(27);
  const CameraRig rig = DropRig(2);
  for (const Thing thing : {Thing::kBox, Thing::kRod}) {
    const Drop drop = DrawDrop(thing, random);
    Filming filming;
    filming.wild = 0.05;
    ImpactBundleOptions options;
    options.offset_sd = 2e-3;
    filming.offset[1] = 1.5e-3;
    const ImpactBundle fit = FitImpactBundle(Film(drop, rig, filming, random), rig, drop.markers,
                                             drop.body, {}, options);
    ASSERT_TRUE(fit.usable) << fit.reason;
    EXPECT_GT(fit.outliers, 5);
    EXPECT_LT(fit.noise_scale, 1.2);
    EXPECT_LT((fit.event.v_minus - drop.minus.v).norm(), 5e-3);
    EXPECT_NEAR(fit.event.t, drop.t, 5 * fit.event.sd_t);
  }
}

TEST(ImpactBundle, LeverTurnsWithTheBody) {
  std::mt19937_64 random(28);
  const Vector3d n = Vector3d(0.3, -0.2, 1).normalized();
  for (const Body& body : {MakeBox({0.1, 0.07, 0.05}, 1, false, 0.004), MakeRod(0.2, 0.01, 1),
                           MakeBall(0.05, 1), MakeEllipsoid({0.05, 0.03, 0.08}, 1)}) {
    const Matrix3d R = AnyRotation(random), by_rotation = LeverByRotation(body, R, n);
    const auto lever = [&](const Vector3d& turn) -> Vector3d {
      const Matrix3d turned = Turned(turn) * R;
      return turned * SupportLever(body, turned.transpose() * n);
    };
    for (int i = 0; i < 3; ++i) {
      const Vector3d h = 1e-5 * Vector3d::Unit(i);
      EXPECT_LT(((lever(h) - lever(-h)) / 2e-5 - by_rotation.col(i)).norm(), 1e-8)
          << body.name << i;
    }
  }
}

TEST(ImpactBundle, RefusesWithAReason) {
  std::mt19937_64 random(5);
  const CameraRig rig = DropRig(2);
  const Drop drop = DrawDrop(Thing::kBox, random);
  MarkerTracks tracks = Film(drop, rig, {}, random);
  ImpactBundle fit = FitImpactBundle({"empty", tracks.cameras, tracks.markers, {}}, rig,
                                     drop.markers, drop.body, {});
  EXPECT_FALSE(fit.usable);
  EXPECT_NE(fit.reason.find("0 markers"), std::string::npos) << fit.reason;
  tracks.cameras[1] = "nobody";
  EXPECT_THROW(FitImpactBundle(tracks, rig, drop.markers, drop.body, {}), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
