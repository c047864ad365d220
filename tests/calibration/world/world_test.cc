#include "calibration/world/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/calibration/world_scene.h"

namespace impactlab {
namespace {

using scene::Moved;
using scene::Normals;
using scene::Pose;
using ::testing::HasSubstr;
using Vector6d = Eigen::Matrix<double, 6, 1>;

constexpr double kSigma = 0.1;  // [px]
constexpr int kSamples = 500;

Eigen::Vector3d RotationError(const Eigen::Matrix3d& truth, const Eigen::Matrix3d& estimate) {
  const Eigen::AngleAxisd turn(truth.transpose() * estimate);
  return turn.angle() * turn.axis();
}

Vector6d PoseError(const Eigen::Isometry3d& truth, const Eigen::Isometry3d& estimate) {
  Vector6d error;
  error << RotationError(truth.linear(), estimate.linear()),
      estimate.translation() - truth.translation();
  return error;
}

// Squared error in standard deviations and the number of independent directions; 1e6 for an error
// in a direction said to be certain.
double Normalised(const Eigen::VectorXd& error, const Eigen::MatrixXd& cov, int* rank) {
  *rank = 0;
  Eigen::VectorXd scale = cov.diagonal().cwiseMax(0).cwiseSqrt();
  std::vector<int> free;
  for (int i = 0; i < error.size(); ++i) {
    if (scale(i) > 0) {
      free.push_back(i);
    } else if (std::abs(error(i)) > 1e-9) {
      *rank = 1;
      return 1e6;
    }
  }
  const int n = static_cast<int>(free.size());
  Eigen::VectorXd e(n);
  Eigen::MatrixXd C(n, n);
  for (int i = 0; i < n; ++i) {
    e(i) = error(free[i]) / scale(free[i]);
    for (int j = 0; j < n; ++j) C(i, j) = cov(free[i], free[j]) / (scale(free[i]) * scale(free[j]));
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(C);
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double along = eigen.eigenvectors().col(i).dot(e);
    if (eigen.eigenvalues()(i) < 1e-7) {
      if (std::abs(along) > 0.05) sum += 1e6;
      continue;
    }
    sum += along * along / eigen.eigenvalues()(i);
    ++*rank;
  }
  return sum;
}

// Two directions across a unit vector, the only ones it can move in.
Eigen::Matrix<double, 3, 2> Across(const Eigen::Vector3d& g) {
  Eigen::Matrix<double, 3, 2> basis;
  basis.col(0) = g.unitOrthogonal();
  basis.col(1) = g.cross(basis.col(0));
  return basis;
}

struct Coverage {
  int inside = 0, n = 0;
  double sum = 0;
  int rank = 0;
  void Add(const Eigen::VectorXd& error, const Eigen::MatrixXd& cov) {
    const double squared = Normalised(error, cov, &rank);
    ASSERT_GT(rank, 0);
    inside += squared < ChiSquareQuantile(0.95, rank);
    sum += squared;
    ++n;
  }
  void Expect(const char* what) const {
    EXPECT_TRUE(BinomialBand(n, 0.95, 1e-4).Contains(inside))
        << what << ": " << inside << " of " << n << " inside 95 %";
    EXPECT_NEAR(sum / n / rank, 1, 5 * std::sqrt(2.0 / (rank * static_cast<double>(n))) + 0.01)
        << what << ": mean chi-square per direction";
  }
};

Eigen::VectorXd RigError(const CameraRig& truth, const CameraRig& estimate) {
  Eigen::VectorXd error(ParameterCount(truth));
  for (int c = 0; c < static_cast<int>(truth.cameras.size()); ++c) {
    const int n = IntrinsicCount(truth.cameras[c].camera.model), at = FirstParameter(truth, c);
    error.segment(at, n) =
        Intrinsics(estimate.cameras[c].camera) - Intrinsics(truth.cameras[c].camera);
    error.segment<6>(at + n) = PoseError(truth.cameras[c].X_WC, estimate.cameras[c].X_WC);
  }
  return error;
}

CameraRig InWorld(CameraRig rig, const Eigen::Isometry3d& X_WA) {
  for (RigCamera& camera : rig.cameras) camera.X_WC = X_WA * camera.X_WC;
  return rig;
}

struct Lab {
  CameraRig truth = scene::SideBySide(0.8, 2);  // in A
  Eigen::MatrixXd cov = scene::TypicalCovariance(truth, 0.5);
  Eigen::MatrixXd root = scene::Root(cov);
  // W: origin 2 m before the cameras, z towards them and up.
  Eigen::Isometry3d X_WA = (Pose({0, 0, 0.3}, {0, 0, 0}) * Pose({2.2, 0.1, 0.05}, {0, 0, 0}) *
                            Pose({0, 0, 0}, {-0.3, 0.1, -2}));

  CameraRig Draw(std::mt19937_64& random, Eigen::VectorXd* error = nullptr) const {
    const Eigen::VectorXd d = root * Normals(static_cast<int>(cov.rows()), random);
    CameraRig rig = Moved(truth, d);
    rig.covariance = cov;
    if (error) *error = d;
    return rig;
  }
  std::vector<PixelObservation> See(const Eigen::Vector3d& p_W, std::mt19937_64& random,
                                    double sigma = kSigma) const {
    return scene::Observe(truth, X_WA.inverse() * p_W, sigma, random);
  }
};

TEST(MoveRig, ExactFrameOnlyTurnsTheCovariance) {
  std::mt19937_64 random(31);
  const Lab lab;
  CameraRig rig = lab.Draw(random);
  const CameraRig there = MoveRig(rig, FrameGiven(lab.X_WA), "given");
  EXPECT_EQ(there.world.source, "given");
  const CameraRig back = MoveRig(there, FrameGiven(lab.X_WA.inverse()), "camera");
  EXPECT_LT((back.covariance - rig.covariance).norm(), 1e-12 * rig.covariance.norm());
  EXPECT_TRUE(back.cameras[1].X_WC.isApprox(rig.cameras[1].X_WC, 1e-12));
  // What two cameras measure does not depend on the frame: same point, same covariance, turned.
  const Eigen::Vector3d p_W(0.05, 0.02, 0.1);
  const auto observations = lab.See(p_W, random);
  const auto in_A = Triangulate(rig, observations), in_W = Triangulate(there, observations);
  EXPECT_LT((lab.X_WA * in_A.p_W - in_W.p_W).norm(), 1e-9);
  const Eigen::Matrix3d R = lab.X_WA.linear();
  EXPECT_LT((R * in_A.cov * R.transpose() - in_W.cov).norm(), 1e-7 * in_W.cov.norm());
}

TEST(MoveRig, RefusesAFrameThatIsNone) {
  const Lab lab;
  EXPECT_THROW(MoveRig(lab.truth, FrameEstimate(), "board"), ConfigError);
  Eigen::Isometry3d mirror = Eigen::Isometry3d::Identity();
  mirror.linear()(2, 2) = -1;
  EXPECT_THROW(FrameGiven(mirror), ConfigError);
}

// A result whose board poses follow the rig and the warp and have noise of their own, drawn
// together.
struct BoardDraw {
  Eigen::Isometry3d X_AG;
  Eigen::MatrixXd D, cov_common;
  Eigen::Matrix<double, 6, 6> own;

  explicit BoardDraw(const Lab& lab) {
    const int n = static_cast<int>(lab.cov.rows());
    std::mt19937_64 random(32);
    cov_common = Eigen::MatrixXd::Zero(n + 2, n + 2);
    cov_common.topLeftCorner(n, n) = lab.cov;
    cov_common(n, n) = 1e-8;
    cov_common(n + 1, n + 1) = 4e-8;
    // Some correlation of warp and focal length.
    cov_common(0, n) = cov_common(n, 0) = 0.5 * std::sqrt(lab.cov(0, 0) * 1e-8);
    D = Eigen::MatrixXd::Zero(6, n + 2);
    for (int i = 0; i < n + 2; ++i)
      if (cov_common(i, i) > 0)
        D.col(i) = 3e-4 / std::sqrt(cov_common(i, i)) * Normals(6, random) / std::sqrt(n);
    own = Eigen::Matrix<double, 6, 6>::Zero();
    own.diagonal() << 1e-6, 2e-6, 3e-7, 1e-7, 1e-7, 4e-7;
    own(0, 4) = own(4, 0) = 1e-7;
    Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
    X_WG.linear() = Eigen::Vector3d(1, -1, -1).asDiagonal();
    X_WG.translation().z() = 0.003;
    X_AG = lab.X_WA.inverse() * X_WG;
  }
  CalibrationResult Draw(const Lab& lab, std::mt19937_64& random) const {
    const int n = static_cast<int>(lab.cov.rows());
    const Eigen::VectorXd common = scene::Root(cov_common) * Normals(n + 2, random);
    CalibrationResult result;
    result.status = CalibrationStatus::kSolved;
    result.rig = Moved(lab.truth, common.head(n));
    result.rig.covariance = lab.cov;
    result.cov_common = cov_common;
    ShotResult shot;
    shot.used = true;
    const Vector6d error = D * common + scene::Root(own) * Normals(6, random);
    shot.X_WG = X_AG;
    shot.X_WG.linear() = X_AG.linear() * Pose(error.head<3>(), Eigen::Vector3d::Zero()).linear();
    shot.X_WG.translation() += error.tail<3>();
    shot.cov_given_common = own;
    shot.dpose_dcommon = D;
    result.shots.push_back(shot);
    return result;
  }
};

TEST(WorldFromBoard, SurfaceIsBelowThePrintAndZPointsOutOfIt) {
  const Lab lab;
  const BoardDraw board(lab);
  CalibrationResult result;
  result.status = CalibrationStatus::kSolved;
  result.rig = lab.truth;
  ShotResult shot;
  shot.used = true;
  shot.X_WG = board.X_AG;
  result.shots.push_back(shot);
  const auto frame = FrameFromBoard(result, 0, {0.003, 0});
  ASSERT_TRUE(frame.usable);
  // A point of the print, 3 mm over the surface; x along the rows; down the rows is -y; into the
  // paper is -z.
  const Eigen::Isometry3d X_WG = frame.X_WA * board.X_AG;
  EXPECT_TRUE(
      (X_WG * Eigen::Vector3d(0.1, 0.05, 0)).isApprox(Eigen::Vector3d(0.1, -0.05, 0.003), 1e-9));
  EXPECT_NEAR((X_WG * Eigen::Vector3d(0, 0, 0.003)).norm(), 0, 1e-12);
  EXPECT_GT((frame.X_WA * lab.truth.cameras[0].X_WC.translation()).z(), 0.5)
      << "the camera is above the surface";

  EXPECT_THROW(FrameFromBoard(result, 1), ConfigError);
  result.shots[0].used = false;
  EXPECT_THAT(FrameFromBoard(result, 0).reason, HasSubstr("took no part"));
  result.shots[0].used = true;
  result.shots[0].cov_given_common.diagonal().setOnes();
  EXPECT_THAT(FrameFromBoard(result, 0).reason, HasSubstr("orientation"));
  result.status = CalibrationStatus::kUndetermined;
  EXPECT_FALSE(FrameFromBoard(result, 0).usable);
}

TEST(WorldFromBoard, CovarianceCovers) {
  std::mt19937_64 random(33);
  const Lab lab;
  const BoardDraw board(lab);
  const CameraRig truth_W = InWorld(lab.truth, lab.X_WA);
  const Eigen::Vector3d p_W(0.1, -0.05, 0.12);
  Coverage frame_coverage, rig_coverage, point_coverage;
  std::normal_distribution<double> normal;
  for (int k = 0; k < kSamples; ++k) {
    const CalibrationResult result = board.Draw(lab, random);
    const double thickness = 0.003 + 2e-4 * normal(random);
    const auto frame = FrameFromBoard(result, 0, {thickness, 2e-4});
    ASSERT_TRUE(frame.usable) << frame.reason;
    frame_coverage.Add(PoseError(lab.X_WA, frame.X_WA), frame.cov);
    const CameraRig moved = MoveRig(result.rig, frame, "board");
    rig_coverage.Add(RigError(truth_W, moved), moved.covariance);
    const auto point = Triangulate(moved, lab.See(p_W, random));
    ASSERT_TRUE(point.usable);
    point_coverage.Add(point.p_W - p_W, point.cov);
  }
  frame_coverage.Expect("frame");
  rig_coverage.Expect("rig");
  point_coverage.Expect("point");
}

// Marks of a reference cylinder of radius and height 45 mm, origin at the centre of its top (Sun
// 2020).
std::vector<Eigen::Vector3d> CylinderMarks() {
  std::vector<Eigen::Vector3d> marks{{0, 0, 0}};
  for (int k = 0; k < 4; ++k)
    marks.emplace_back(0.045 * std::cos(1.5 * k), 0.045 * std::sin(1.5 * k), 0);
  marks.emplace_back(0.15, 0.05, -0.045);
  marks.emplace_back(-0.12, 0.14, -0.045);
  return marks;
}

std::vector<KnownPoint> DrawMarks(const Lab& lab, double sd, std::mt19937_64& random,
                                  double scale = 1) {
  std::vector<KnownPoint> points;
  int k = 0;
  for (const Eigen::Vector3d& mark : CylinderMarks())
    points.push_back({"mark" + std::to_string(k++), mark / scale + sd * Normals(3, random), sd,
                      lab.See(mark, random)});
  return points;
}

TEST(WorldFromPoints, ExactDataGiveTheFrame) {
  std::mt19937_64 random(34);
  const Lab lab;
  std::vector<KnownPoint> points;
  for (const Eigen::Vector3d& mark : CylinderMarks())
    points.push_back({"m", mark, 0, lab.See(mark, random, 0)});
  const auto found = FrameFromPoints(lab.truth, points);
  ASSERT_TRUE(found.frame.usable) << found.frame.reason;
  EXPECT_LT(PoseError(lab.X_WA, found.frame.X_WA).norm(), 1e-8);
  EXPECT_NEAR(found.scale, 1, 1e-9);
  EXPECT_LT(found.frame.chi_square, 1e-9);
  EXPECT_EQ(found.frame.dof, 3 * 7 - 6);
}

TEST(WorldFromPoints, CovarianceCovers) {
  std::mt19937_64 random(35);
  const Lab lab;
  const CameraRig truth_W = InWorld(lab.truth, lab.X_WA);
  const Eigen::Vector3d p_W(0.08, 0.05, 0.2);
  Coverage frame_coverage, rig_coverage, point_coverage;
  int below = 0, scale_inside = 0;
  double chi_square = 0;
  for (int k = 0; k < kSamples; ++k) {
    const CameraRig rig = lab.Draw(random);
    const auto found = FrameFromPoints(rig, DrawMarks(lab, 3e-4, random));
    ASSERT_TRUE(found.frame.usable) << found.frame.reason;
    frame_coverage.Add(PoseError(lab.X_WA, found.frame.X_WA), found.frame.cov);
    const CameraRig moved = MoveRig(rig, found.frame, "points");
    rig_coverage.Add(RigError(truth_W, moved), moved.covariance);
    const auto point = Triangulate(moved, lab.See(p_W, random));
    point_coverage.Add(point.p_W - p_W, point.cov);
    below += found.frame.p < 0.05;
    scale_inside += std::abs(found.scale - 1) < 1.96 * found.sd_scale;
    chi_square += found.points[5].chi_square;
  }
  frame_coverage.Expect("frame");
  rig_coverage.Expect("rig");
  point_coverage.Expect("point");
  EXPECT_TRUE(BinomialBand(kSamples, 0.05, 1e-4).Contains(below)) << below;
  EXPECT_TRUE(BinomialBand(kSamples, 0.95, 1e-4).Contains(scale_inside)) << scale_inside;
  EXPECT_NEAR(chi_square / kSamples, 3, 5 * std::sqrt(6.0 / kSamples));
}

// In a frame of the cameras' own the rig's error counts in full; near marks it has helped to place
// it mostly cancels.
TEST(WorldFromPoints, CommonErrorOfTheRigCancelsNearTheMarks) {
  std::mt19937_64 random(36);
  const Lab lab;
  const CameraRig rig = lab.Draw(random);
  const auto found = FrameFromPoints(rig, DrawMarks(lab, 1e-5, random));
  ASSERT_TRUE(found.frame.usable) << found.frame.reason;
  const CameraRig moved = MoveRig(rig, found.frame, "points");
  const auto observations = lab.See({0.01, 0.02, 0}, random);
  const auto in_A = Triangulate(rig, observations), in_W = Triangulate(moved, observations);
  EXPECT_LT(std::sqrt((in_W.cov - in_W.cov_pixels).trace()),
            0.5 * std::sqrt((in_A.cov - in_A.cov_pixels).trace()));
}

TEST(WorldFromPoints, NamesWhatIsWrong) {
  std::mt19937_64 random(37);
  const Lab lab;
  const CameraRig rig = lab.Draw(random);
  auto points = DrawMarks(lab, 1e-4, random);
  std::swap(points[1].observations, points[5].observations);
  EXPECT_THAT(FrameFromPoints(rig, points).frame.reason, HasSubstr("do not fit"));

  points = DrawMarks(lab, 1e-4, random);
  // two different marks in the two cameras
  std::swap(points[3].observations[1], points[5].observations[1]);
  const auto mixed = FrameFromPoints(rig, points);
  EXPECT_THAT(mixed.points[3].problem, HasSubstr("do not belong together"));
  EXPECT_TRUE(mixed.frame.usable) << mixed.frame.reason;

  points.resize(2);
  EXPECT_THAT(FrameFromPoints(rig, points).frame.reason, HasSubstr("three are the least"));

  std::vector<KnownPoint> line;
  line.reserve(5);
  for (int k = 0; k < 5; ++k)
    line.push_back({"l", {0.05 * k, 0.02 * k, 0}, 1e-4, lab.See({0.05 * k, 0.02 * k, 0}, random)});
  EXPECT_THAT(FrameFromPoints(rig, line).frame.reason, HasSubstr("line"));

  const auto wrong_unit = FrameFromPoints(rig, DrawMarks(lab, 1e-4, random, 1.1));
  EXPECT_FALSE(wrong_unit.frame.usable);
  EXPECT_NEAR(wrong_unit.scale, 1.1, 0.02);
  EXPECT_THAT(wrong_unit.frame.reason, HasSubstr("lengths"));

  points = DrawMarks(lab, 1e-4, random);
  points[0].p_W.x() = NAN;
  EXPECT_THAT(FrameFromPoints(rig, points).points[0].problem, HasSubstr("not numbers"));
}

std::vector<PixelObservation> Plumb(const Lab& lab, const Eigen::Vector3d& top_W,
                                    const Eigen::Vector3d& g_W, std::mt19937_64& random) {
  std::vector<PixelObservation> line;
  for (int c = 0; c < 2; ++c) {
    for (int k = 0; k < 4; ++k) {
      // Other places of the string in each camera.
      const auto all = lab.See(top_W + (0.1 * k + 0.03 * c) * g_W, random);
      line.push_back(all[c]);
    }
  }
  return line;
}

TEST(Gravity, PlumbLineCovers) {
  std::mt19937_64 random(38);
  const Lab lab;
  const Eigen::Vector3d g_W = Eigen::Vector3d(0.2, -0.1, -0.97).normalized(),
                        g_A = lab.X_WA.linear().transpose() * g_W;
  Coverage coverage, in_W;
  int below = 0, slope_inside = 0, downhill_inside = 0;
  const double slope = std::acos(-g_W.z()), downhill = std::atan2(g_W.y(), g_W.x());
  for (int k = 0; k < kSamples; ++k) {
    const CameraRig rig = lab.Draw(random);
    const auto gravity = GravityFromPlumbLine(rig, Plumb(lab, {0.05, 0.1, 0.3}, g_W, random));
    ASSERT_TRUE(gravity.usable) << gravity.reason;
    coverage.Add(Across(g_A).transpose() * (gravity.gravity - g_A),
                 Across(g_A).transpose() * gravity.cov * Across(g_A));
    below += gravity.p < 0.05;
    const auto found = FrameFromPoints(rig, DrawMarks(lab, 3e-4, random));
    const World world = MakeWorld(rig, found.frame, gravity, "points");
    in_W.Add(Across(g_W).transpose() * (*world.rig.world.gravity_W - g_W),
             Across(g_W).transpose() * world.rig.world.cov_gravity * Across(g_W));
    slope_inside += std::abs(world.slope - slope) < 1.96 * world.sd_slope;
    downhill_inside += std::abs(world.downhill - downhill) < 1.96 * world.sd_downhill;
    EXPECT_EQ(*world.rig.world.slope, world.slope);
  }
  coverage.Expect("in the rig");
  in_W.Expect("in the world");
  EXPECT_TRUE(BinomialBand(kSamples, 0.05, 1e-4).Contains(below)) << below;
  EXPECT_TRUE(BinomialBand(kSamples, 0.95, 1e-4).Contains(slope_inside)) << slope_inside;
  EXPECT_TRUE(BinomialBand(kSamples, 0.95, 1e-4).Contains(downhill_inside)) << downhill_inside;
}

TEST(Gravity, PlumbLineDerivativeMatchesDifferences) {
  std::mt19937_64 random(39);
  const Lab lab;
  const auto line = Plumb(lab, {0.05, 0.1, 0.3}, -Eigen::Vector3d::UnitZ(), random);
  const auto found = GravityFromPlumbLine(lab.truth, line);
  const int n = ParameterCount(lab.truth);
  for (int i = 0; i < n; ++i) {
    const Eigen::VectorXd d = 1e-5 * Eigen::VectorXd::Unit(n, i);
    const Eigen::Vector3d difference = (GravityFromPlumbLine(Moved(lab.truth, d), line).gravity -
                                        GravityFromPlumbLine(Moved(lab.truth, -d), line).gravity) /
                                       2e-5;
    // The estimate is weighted least squares: residuals of 0.1 px move its derivative by their
    // second-order share.
    EXPECT_LT((difference - found.dg_drig.col(i)).norm(), 2e-3 * (0.01 + difference.norm()))
        << ParameterNames(lab.truth)[i];
  }
}

TEST(Gravity, PlumbLineRefusals) {
  std::mt19937_64 random(40);
  const Lab lab;
  auto line = Plumb(lab, {0.05, 0.1, 0.3}, -Eigen::Vector3d::UnitZ(), random);
  auto reversed = line;
  std::reverse(reversed.begin() + 4, reversed.end());
  EXPECT_THAT(GravityFromPlumbLine(lab.truth, reversed).reason, HasSubstr("from the top down"));
  std::reverse(reversed.begin(), reversed.begin() + 4);
  const auto up = GravityFromPlumbLine(lab.truth, reversed);
  ASSERT_TRUE(up.usable) << up.reason;
  EXPECT_GT((lab.X_WA.linear() * up.gravity).z(), 0.99)
      << "the order of the points says which way is down";
  EXPECT_THAT(GravityFromPlumbLine(lab.truth, {line.begin(), line.begin() + 4}).reason,
              HasSubstr("each of two cameras"));
  EXPECT_THAT(GravityFromPlumbLine(lab.truth, {}).reason, HasSubstr("each of two cameras"));
  auto bent = line;
  bent[1].q.x() += 5;
  EXPECT_THAT(GravityFromPlumbLine(lab.truth, bent).reason, HasSubstr("straight line"));
  EXPECT_THROW(GravityFromPlumbLine(lab.truth, {{7, {0, 0}}}), ConfigError);

  // A string in the plane of both cameras' centres.
  Lab flat;
  std::vector<PixelObservation> in_plane;
  for (int c = 0; c < 2; ++c)
    for (int k = 0; k < 4; ++k)
      in_plane.push_back(scene::Observe(flat.truth, {0.1 + 0.1 * k, 0, 2}, 0, random)[c]);
  EXPECT_THAT(GravityFromPlumbLine(flat.truth, in_plane).reason, HasSubstr("plane"));
}

TEST(Gravity, GivenInEveryFrame) {
  std::mt19937_64 random(41);
  const Lab lab;
  const CameraRig rig = lab.Draw(random);
  const Eigen::Vector3d g_W(0, 0, -1);
  // Exact frame, gravity by the second camera's own accelerometer.
  const Eigen::Vector3d g_C = (lab.X_WA * rig.cameras[1].X_WC).linear().transpose() * g_W;
  const auto gravity = GravityGiven(rig, 1, 9.81 * g_C, 1e-3);
  const World world = MakeWorld(rig, FrameGiven(lab.X_WA), gravity, "given");
  EXPECT_LT((*world.rig.world.gravity_W - g_W).norm(), 1e-9);
  EXPECT_TRUE(std::isinf(world.sd_downhill));
  EXPECT_NEAR(world.slope, 0, 1e-9);
  EXPECT_GT(world.sd_slope, 1e-3);  // the accelerometer, and the camera's orientation in the rig
  const World level =
      MakeWorld(rig, FrameGiven(lab.X_WA, 0.01), GravityInWorld({0, 0, -2}, 1e-3), "given");
  EXPECT_NEAR(level.sd_slope, 1e-3, 1e-9) << "given in W, the error of W does not count";
  const World tilted =
      MakeWorld(rig, FrameGiven(lab.X_WA),
                GravityInWorld({std::sin(0.35), 0, -std::cos(0.35)}, 1e-3), "given");
  EXPECT_NEAR(tilted.slope, 0.35, 1e-12);
  EXPECT_NEAR(tilted.sd_slope, 1e-3, 1e-9);
  EXPECT_NEAR(tilted.downhill, 0, 1e-12);
  EXPECT_NEAR(tilted.sd_downhill, 1e-3 / std::sin(0.35), 1e-8);
  EXPECT_FALSE(
      MakeWorld(rig, FrameGiven(lab.X_WA), GravityInWorld({0, 0, 1}), "given").notes.empty());
  EXPECT_THROW(GravityGiven(rig, 2, {0, 0, 1}), ConfigError);
  EXPECT_THROW(GravityInWorld({0, 0, 0}), ConfigError);
}

KnownLength Bar(const Lab& lab, const Eigen::Vector3d& a, const Eigen::Vector3d& b, double scale,
                double sd, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return {"bar", (a - b).norm() / scale + sd * normal(random), sd, lab.See(a, random),
          lab.See(b, random)};
}

TEST(ScaleCheck, CoversAndFindsAWrongSquare) {
  std::mt19937_64 random(42);
  const Lab lab;
  int inside = 0, below = 0, single_inside = 0, wrong_found = 0;
  double upper = 0;
  for (int k = 0; k < kSamples; ++k) {
    const CameraRig rig = lab.Draw(random);
    std::vector<KnownLength> lengths;
    for (double scale : {1.0, 1.03}) {
      lengths.clear();
      lengths.push_back(Bar(lab, {-0.2, 0, 0}, {0.2, 0.1, 0}, scale, 2e-4, random));
      lengths.push_back(Bar(lab, {-0.2, 0.1, 0.1}, {-0.1, -0.2, 0}, scale, 2e-4, random));
      lengths.push_back({"shared end", 0, 2e-4, lengths[0].from, lab.See({0, 0.2, 0.1}, random)});
      lengths[2].length =
          (Eigen::Vector3d(-0.2, 0, 0) - Eigen::Vector3d(0, 0.2, 0.1)).norm() / scale +
          2e-4 * Normals(1, random)(0);
      const auto check = CheckScale(rig, lengths);
      ASSERT_TRUE(check.usable) << check.verdict;
      if (scale == 1.0) {
        inside += check.consistent;
        below += check.p < 0.05;
        single_inside += check.lengths[1].consistent;
      } else {
        wrong_found += !check.consistent;
        upper += check.ratio / kSamples;
      }
    }
  }
  EXPECT_TRUE(BinomialBand(kSamples, 0.95, 1e-4).Contains(inside)) << inside;
  EXPECT_TRUE(BinomialBand(kSamples, 0.95, 1e-4).Contains(single_inside)) << single_inside;
  EXPECT_TRUE(BinomialBand(kSamples, 0.05, 1e-4).Contains(below)) << below;
  EXPECT_GT(wrong_found, 0.99 * kSamples);
  EXPECT_NEAR(upper, 1.03, 2e-3);
}

TEST(ScaleCheck, SaysWhatIsWrong) {
  std::mt19937_64 random(43);
  const Lab lab;
  const auto wrong =
      CheckScale(lab.truth, {Bar(lab, {-0.2, 0, 0}, {0.2, 0.1, 0}, 1.05, 1e-4, random)});
  EXPECT_THAT(wrong.verdict, HasSubstr("too long"));
  auto bad = Bar(lab, {-0.2, 0, 0}, {0.2, 0.1, 0}, 1, 1e-4, random);
  bad.to.pop_back();
  EXPECT_THAT(CheckScale(lab.truth, {bad}).lengths[0].problem, HasSubstr("second end"));
  bad.to = bad.from;
  EXPECT_THAT(CheckScale(lab.truth, {bad}).lengths[0].problem, HasSubstr("same image points"));
  bad.length = 0;
  EXPECT_THAT(CheckScale(lab.truth, {bad}).lengths[0].problem, HasSubstr("above 0"));
  EXPECT_FALSE(CheckScale(lab.truth, {}).usable);
  const auto mixed =
      CheckScale(lab.truth, {Bar(lab, {-0.2, 0, 0}, {0.2, 0.1, 0}, 1, 1e-4, random),
                             Bar(lab, {-0.2, 0.1, 0}, {0.2, 0.2, 0}, 1.1, 1e-4, random)});
  EXPECT_THAT(mixed.verdict, HasSubstr("do not agree"));
}

struct Move {
  std::vector<std::vector<PixelObservation>> before, after;
};
// A plate of n x n points moved by X, seen by the true rig.
Move MovePlate(const Lab& lab, const CameraRig& truth, const Eigen::Isometry3d& X_W, double half,
               int n, double sigma, std::mt19937_64& random) {
  Move move;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const Eigen::Vector3d p_W(half * (2.0 * i / (n - 1) - 1), half * (2.0 * j / (n - 1) - 1), 0);
      move.before.push_back(scene::Observe(truth, lab.X_WA.inverse() * p_W, sigma, random));
      move.after.push_back(scene::Observe(truth, lab.X_WA.inverse() * (X_W * p_W), sigma, random));
    }
  }
  return move;
}

TEST(Rigidity, RightLensPassesAtItsRate) {
  std::mt19937_64 random(44);
  const Lab lab;
  int alarms = 0, smooth = 0;
  constexpr int kMoves = 200;
  for (int k = 0; k < kMoves; ++k) {
    const CameraRig rig = MoveRig(lab.Draw(random), FrameGiven(lab.X_WA), "given");
    const Move move =
        MovePlate(lab, lab.truth, Pose({0.1, 0.2, 0.1}, {0.1, 0.05, 0.1}), 0.2, 5, kSigma, random);
    RigidityOptions options;
    options.significance = 0.05;
    const auto check = CheckRigidity(rig, move.before, move.after, options);
    ASSERT_TRUE(check.usable) << check.reason;
    alarms += check.p < 0.05;
    smooth += check.smooth_p < 0.05;
  }
  EXPECT_TRUE(BinomialBand(kMoves, 0.05, 1e-4).Contains(alarms)) << alarms;
  EXPECT_TRUE(BinomialBand(kMoves, 0.05, 1e-4).Contains(smooth)) << smooth;
}

// A pure translation by 1 mm, points to 0.005 px as in image correlation: with a wrong distortion
// the field left is a parabola.
TEST(Rigidity, HostileT17TranslationOfOneMillimetreShowsAWrongLens) {
  std::mt19937_64 random(45);
  const Lab lab;
  CameraRig wrong = InWorld(lab.truth, lab.X_WA);
  for (RigCamera& camera : wrong.cameras) {
    Eigen::VectorXd v = Intrinsics(camera.camera);
    v(4) = 0;  // k1 was -0.12
    v(5) = 0;
    SetIntrinsics(camera.camera, v);
  }
  const Eigen::Isometry3d X_W = Pose({0, 0, 0}, {0.001, 0, 0});
  for (const bool planar : {false, true}) {
    RigidityOptions options;
    if (planar) options.plane_z = 0.0;
    const Move move = MovePlate(lab, lab.truth, X_W, 0.5, 13, 0.005, random);
    const auto right =
        CheckRigidity(InWorld(lab.truth, lab.X_WA), move.before, move.after, options);
    ASSERT_TRUE(right.usable) << right.reason;
    EXPECT_TRUE(right.rigid) << right.verdict;
    EXPECT_LT(PoseError(X_W, right.motion).norm(), 1e-3);
    const auto check = CheckRigidity(wrong, move.before, move.after, options);
    ASSERT_TRUE(check.usable) << check.reason;
    EXPECT_FALSE(check.rigid) << check.verdict;
    EXPECT_LT(check.smooth_p, 1e-6);
    EXPECT_THAT(check.verdict, HasSubstr("lens"));
    EXPECT_GT(check.model_error, 0);
    EXPECT_LT(check.model_error, 1e-3);
  }
}

TEST(Rigidity, MovedOnAPlaneBySingleCamera) {
  std::mt19937_64 random(46);
  const Lab lab;
  CameraRig one = InWorld(lab.truth, lab.X_WA);
  one.cameras.resize(1);
  const Eigen::Isometry3d X_W = Pose({0, 0, 0.4}, {0.03, -0.02, 0});
  Move move;
  for (int k = 0; k < 30; ++k) {
    const Eigen::Vector3d p(0.2 * std::cos(k), 0.2 * std::sin(1.3 * k), 0.01);
    move.before.push_back(scene::Observe(one, p, 0, random));
    move.after.push_back(scene::Observe(one, X_W * p, 0, random));
  }
  RigidityOptions options;
  options.plane_z = 0.01;
  const auto check = CheckRigidity(one, move.before, move.after, options);
  ASSERT_TRUE(check.usable) << check.reason;
  EXPECT_LT(PoseError(X_W, check.motion).norm(), 1e-8);
  EXPECT_TRUE(check.rigid);
  EXPECT_LT(check.rms, 1e-9);
  // Not on the plane: the same pictures with the body lifted between come out larger.
  options.plane_z = 0.3;
  EXPECT_TRUE(CheckRigidity(one, move.before, move.after, options).usable);
  EXPECT_FALSE(CheckRigidity(one, move.before, move.after).usable)
      << "one camera does not triangulate";
  move.after.pop_back();
  EXPECT_THROW(CheckRigidity(one, move.before, move.after, options), ConfigError);
}

}  // namespace
}  // namespace impactlab
