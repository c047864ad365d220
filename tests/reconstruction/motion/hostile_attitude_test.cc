// Attitudes as files carry them: quaternions of either sign, angles at their poles. Spins come from
// rotations, never from differences of numbers, and covariances are those of vectors in W.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/files/text.h"
#include "data/math/rotation.h"
#include "reconstruction/motion/arcs.h"
#include "reconstruction/pose/marker_points.h"
#include "tests/reconstruction/motion/motion_scene.h"
#include "tests/support/folder.h"

namespace impactlab::testing {
namespace {

// A ball that turns about an axis which carries every one of its axes through the vertical: pitch
// passes plus and minus 90 degrees.
Scene Pole() {
  Scene scene;
  scene.body = MakeBall(0.03, 0.1);
  BodyState minus;
  minus.X_WB.linear() = ExpMap({0, M_PI / 2, 0});
  minus.v_WB = {0.5, 0.2, -1.5};
  minus.omega_WB = {0, 40, 0};
  return OneImpact(scene, minus, 0.1013, 0.7, 0.2);
}

enum class Signs { kContinuous, kPositive, kAtRandom };

void WriteQuaternions(const std::filesystem::path& path, const PoseRecording& recording,
                      Signs signs) {
  std::ofstream out(path);
  out << "t_s,x_m,y_m,z_m,qw,qx,qy,qz\n";
  std::mt19937_64 rng(38);
  Eigen::Quaterniond last = Eigen::Quaterniond::Identity();
  for (std::size_t i = 0; i < recording.t.size(); ++i) {
    Eigen::Quaterniond q(recording.X_WB[i].linear());
    const bool flip = signs == Signs::kContinuous ? q.dot(last) < 0
                      : signs == Signs::kPositive ? q.w() < 0
                                                  : rng() % 2 == 0;
    if (flip) q.coeffs() = -q.coeffs();
    last = q;
    const Vector3d p = recording.X_WB[i].translation();
    out << FormatNumber(recording.t[i]);
    for (const double v : {p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()})
      out << ',' << FormatNumber(v);
    out << '\n';
  }
}

// Spins between neighbouring frames, about W.
std::vector<Vector3d> Spins(const PoseRecording& recording) {
  std::vector<Vector3d> spins;
  for (std::size_t i = 1; i < recording.t.size(); ++i)
    spins.push_back(
        LogSO3(Matrix3d(recording.X_WB[i].linear() * recording.X_WB[i - 1].linear().transpose())) /
        (recording.t[i] - recording.t[i - 1]));
  return spins;
}

TEST(HostileT38, SignsOfQuaternionsAndPolesOfAnglesLeaveNoTrace) {
  std::mt19937_64 rng(1);
  const Scene scene = Pole();
  const PoseRecording recording = Record(scene, Times(0.03, 0.17, 250), {2e-5, 1e-3}, rng);
  test::TemporaryFolder folder;
  PoseColumns columns;
  columns.planar = false;
  std::vector<MotionFit> fits;
  for (const Signs signs : {Signs::kContinuous, Signs::kPositive, Signs::kAtRandom}) {
    WriteQuaternions(folder / "q.csv", recording, signs);
    const PoseRecording read = ReadPoses(folder / "q.csv", columns);
    const double sd = std::sqrt(2.0) * 1e-3 * 250;
    for (std::size_t i = 0; i < read.t.size() - 1; ++i) {
      const double t = read.t[i];
      if (t > 0.097 && t < 0.106) continue;  // the impact
      const Vector3d truth = scene.At(t).omega_WB;
      ASSERT_LT((Spins(read)[i] - truth).norm(), 5 * sd) << "a spike at frame " << i;
    }
    fits.push_back(FitMotion(read, scene.body, scene.floor));
  }
  for (const MotionFit& fit : fits) {
    ASSERT_EQ(fit.events.size(), 1u);
    const ImpactEvent& event = fit.events.front();
    EXPECT_TRUE(event.accepted) << event.detail;
    EXPECT_LT((event.omega_minus - scene.pieces[0].state.omega_WB).norm(), 0.5);
    EXPECT_LT((event.omega_plus - scene.pieces[1].state.omega_WB).norm(), 0.5);
    EXPECT_EQ(event.omega_minus, fits.front().events.front().omega_minus)
        << "the sign of a quaternion reaches the fit";
    EXPECT_EQ(event.cov, fits.front().events.front().cov);
  }
}

// The same from markers in space: nothing in between knows an angle.
TEST(HostileT38, PosesFromMarkersTurnWithoutSpikes) {
  std::mt19937_64 rng(2);
  std::normal_distribution<double> normal(0, 5e-5);
  const Scene scene = Pole();
  const std::vector<NamedMarker> layout = {
      {"a", {0.02, 0, 0}}, {"b", {0, 0.025, 0}}, {"c", {0, 0, 0.028}}, {"d", {-0.015, -0.015, 0}}};
  MarkerPoints points;
  points.name = "ball";
  points.p_WM.resize(layout.size());
  for (const NamedMarker& marker : layout) points.markers.push_back(marker.name);
  for (const double t : Times(0.0, 0.09, 500)) {
    points.t.push_back(t);
    for (std::size_t m = 0; m < layout.size(); ++m)
      points.p_WM[m].emplace_back(scene.At(t).X_WB * layout[m].p_BM +
                                  Vector3d(normal(rng), normal(rng), normal(rng)));
  }
  const PointPoses poses = PosesFromPoints(points, layout);
  ASSERT_EQ(poses.frames.size(), points.t.size());
  for (const Vector3d& spin : Spins(poses.poses)) EXPECT_LT((spin - Vector3d(0, 40, 0)).norm(), 8);
}

// The covariance of an event is that of velocities, spins and the lever as vectors in W: turn the
// whole experiment and it turns with it. Standard deviations of angles of any convention would not.
TEST(HostileT42, CovariancesOfEventsAreOfVectorsInW) {
  std::mt19937_64 rng(42);
  const RandomImpact draw = DrawImpact(Cube(), 250, 10, rng);
  const PoseRecording recording = Record(draw.scene, draw.times, {4e-5, 7e-4}, rng);
  MotionFitOptions options;
  options.flight = draw.scene.flight;
  options.sigma_position = 4e-5;
  options.sigma_angle = 7e-4;
  const MotionFit fit = FitMotion(recording, draw.scene.body, draw.scene.floor, options);
  ASSERT_TRUE(fit.events.front().accepted) << fit.events.front().detail;

  const Matrix3d R = RandomRotation(rng);
  PoseRecording turned = recording;
  for (Isometry3d& X : turned.X_WB) X = Isometry3d(R) * X;
  Plane floor = draw.scene.floor;
  floor.normal = R * floor.normal;
  options.flight.gravity_W = R * options.flight.gravity_W;
  const MotionFit other = FitMotion(turned, draw.scene.body, floor, options);
  ASSERT_TRUE(other.events.front().accepted) << other.events.front().detail;

  EventCovariance turn = EventCovariance::Zero();
  for (int k = 0; k < kEventDim; k += 3) turn.block<3, 3>(k, k) = R;
  const EventCovariance expected = turn * fit.events.front().cov * turn.transpose();
  const Eigen::Matrix<double, kEventDim, 1> sd = expected.diagonal().cwiseSqrt();
  for (int i = 0; i < kEventDim; ++i)
    for (int j = 0; j < kEventDim; ++j)
      EXPECT_NEAR(other.events.front().cov(i, j), expected(i, j), 1e-4 * sd[i] * sd[j])
          << i << ' ' << j;
}

}  // namespace
}  // namespace impactlab::testing
