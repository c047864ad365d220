#include "calibration/certificate/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "calibration/camera/triangulate.h"
#include "calibration/certificate/detail/findings.h"
#include "data/statistics/statistics.h"
#include "tests/support/rig_twin.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const RigFinding* Find(const std::vector<RigFinding>& findings, const std::string& code,
                       int camera = -2) {
  for (const RigFinding& finding : findings)
    if (finding.code == code && (camera == -2 || finding.camera == camera)) return &finding;
  return nullptr;
}

test::RigTwinOptions Stereo(int shots = 24) {
  test::RigTwinOptions options;
  options.cameras = {test::MakePinhole(1280, 720, 1000), test::MakePinhole(1280, 720, 1010)};
  options.X_WC = {Eigen::Isometry3d::Identity(), test::BesideLooking(0.3, 0.6)};
  options.shots = shots;
  return options;
}

// One solved rig for the tests that only look at it.
struct Solved {
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 7);
  CalibrationResult result = Calibrate(twin.problem);
};
const Solved& GoodRig() {
  static const Solved solved;
  return solved;
}

// A camera that sees a board at chosen poses.
struct View {
  CalibrationProblem problem;
  BoardPoses X_CG;
  View() {
    CameraSetup setup;
    setup.name = "left";
    setup.width = 1280;
    setup.height = 720;
    problem.cameras.push_back(setup);
    X_CG.resize(1);
  }
  // Centre at (x, y, z), tilted about x.
  void Add(double x, double y, double z, double tilt) {
    const Camera camera = test::MakePinhole(1280, 720, 1000);
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.linear() = Eigen::AngleAxisd(tilt, Eigen::Vector3d::UnitX()).toRotationMatrix();
    X.translation() = Eigen::Vector3d(x, y, z) - X.linear() * Eigen::Vector3d(0.1, 0.0625, 0);
    BoardShot shot;
    shot.views.resize(1);
    for (int id = 0; id < PointCount(problem.board); ++id) {
      const auto q = Project(camera, X * PointOnBoard(problem.board, id));
      if (q && q->x() > 0 && q->y() > 0 && q->x() < 1279 && q->y() < 719)
        shot.views[0].points.push_back({id, *q, 1});
    }
    problem.shots.push_back(shot);
    X_CG[0].push_back(X);
  }
};

TEST(Geometry, ParallelBoardsAreNamed) {
  View view;
  for (int k = 0; k < 12; ++k) {
    const int row = k / 4;
    view.Add(0.1 * (k % 4 - 1.5), 0.1 * (row - 1), 0.5 + 0.05 * k, 0.3 + 0.01 * (k % 3));
  }
  const auto check = CheckGeometry(view.problem, view.X_CG);
  ASSERT_EQ(check.cameras.size(), 1u);
  EXPECT_NEAR(check.cameras[0].tilt_spread, 0.02, 1e-6);
  const RigFinding* finding = Find(check.findings, "parallel-boards");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->level, RigVerdict::kRefused);
  EXPECT_THAT(finding->text, HasSubstr("all parallel"));
  EXPECT_THAT(finding->advice, HasSubstr("tilt"));
}

TEST(Geometry, SingleDepthIsNamed) {
  View view;
  for (int k = 0; k < 12; ++k) {
    const int row = k / 4;
    view.Add(0.1 * (k % 4 - 1.5), 0.1 * (row - 1), 0.8, k % 2 ? 0.08 : -0.08);
  }
  const auto check = CheckGeometry(view.problem, view.X_CG);
  const RigFinding* finding = Find(check.findings, "single-depth");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->level, RigVerdict::kRefused);
  EXPECT_THAT(finding->text, HasSubstr("single depth"));
}

TEST(Geometry, TinyCoverageIsNamedWithTheEmptyCorners) {
  View view;
  for (int k = 0; k < 12; ++k) view.Add(0, 0, 1.5 + 0.1 * k, k % 2 ? 0.5 : -0.5);
  const auto check = CheckGeometry(view.problem, view.X_CG);
  const RigFinding* finding = Find(check.findings, "coverage");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->level, RigVerdict::kRefused);
  EXPECT_LT(check.cameras[0].coverage, 0.2);
  EXPECT_THAT(finding->advice, HasSubstr("top left, top right, bottom left, bottom right"));
  int cells = 0;
  for (int n : check.cameras[0].cell_points) cells += n;
  EXPECT_EQ(cells, check.cameras[0].points);
}

TEST(Geometry, GoodShotsHaveNothingToSay) {
  const Solved& good = GoodRig();
  ASSERT_TRUE(good.result.usable()) << good.result.reason;
  const auto check = CheckGeometry(good.twin.problem, PosesInCameras(good.result));
  for (const RigFinding& finding : check.findings) ADD_FAILURE() << finding.text;
  EXPECT_GT(check.cameras[0].coverage, 0.6);
  EXPECT_GT(check.cameras[1].depth_far, 1.3 * check.cameras[1].depth_near);
  // The same without poses: coverage only.
  EXPECT_TRUE(CheckGeometry(good.twin.problem, {}).findings.empty());
}

TEST(Geometry, FewOrNoShots) {
  View view;
  view.Add(0, 0, 0.5, 0.3);
  const auto one = CheckGeometry(view.problem, view.X_CG);
  ASSERT_TRUE(Find(one.findings, "few-shots"));
  EXPECT_EQ(Find(one.findings, "few-shots")->level, RigVerdict::kRefused);
  view.problem.shots.clear();
  const auto none = CheckGeometry(view.problem, {});
  EXPECT_EQ(none.findings.size(), 1u)
      << "no second-order complaints about a camera that saw nothing";
}

// The motion fitted out is what makes the number an uncertainty of the camera: a principal point
// that moves with a turned camera is harmless.
TEST(Uncertainty, ImpliedMotionUndoesWhatItCan) {
  const Solved& good = GoodRig();
  const Camera& camera = good.result.rig.cameras[0].camera;
  const auto points = calibration::MeasuredPoints(good.result, 0);
  ASSERT_GT(points.size(), 500u);
  Eigen::MatrixXd only_centre = Eigen::MatrixXd::Zero(9, 9);
  only_centre(2, 2) = 25;  // 5 px
  const auto map = calibration::MapUncertainty(camera, points, only_centre, 0.6, 5, 5, nullptr);
  EXPECT_LT(map.sd_pixel[12], 0.5);
  // Without any structure to fit, the sum of squares at the points is the least there is: no other
  // motion does better.
  const auto M = calibration::ImpliedMotion(camera, points);
  const Eigen::VectorXd d = Eigen::VectorXd::Unit(9, 2);
  const auto cost = [&](const Eigen::Matrix<double, 6, 1>& m) {
    double sum = 0;
    for (const auto& p : points) {
      Eigen::Matrix<double, 2, Eigen::Dynamic> by_intrinsics;
      Eigen::Matrix<double, 2, 6> by_motion;
      calibration::PixelDerivatives(camera, p.p_C, &by_intrinsics, &by_motion);
      sum += p.weight * (by_intrinsics * d + by_motion * m).squaredNorm();
    }
    return sum;
  };
  const Eigen::Matrix<double, 6, 1> best = M * d;
  for (int i = 0; i < 6; ++i)
    for (double h : {-1e-4, 1e-4})
      EXPECT_GT(cost(best + h * Eigen::Matrix<double, 6, 1>::Unit(i)), cost(best));
}

TEST(Uncertainty, MapIsInPixelsMetresAndKnowsItsHull) {
  const Solved& good = GoodRig();
  const auto map = ProjectionUncertainty(good.result, 0, 0.6, 9, 7);
  ASSERT_EQ(map.q.size(), 63u);
  EXPECT_EQ(map.q.front(), Eigen::Vector2d(0, 0));
  EXPECT_EQ(map.q.back(), Eigen::Vector2d(1279, 719));
  const std::size_t centre = 31;
  EXPECT_TRUE(map.covered[centre]);
  EXPECT_GT(map.sd_pixel[centre], 0.001);
  EXPECT_LT(map.sd_pixel[centre], 0.1);
  EXPECT_NEAR(map.sd_across[centre], 0.6 * map.sd_pixel[centre] / 1000,
              0.1 * map.sd_across[centre]);
  EXPECT_GT(map.sd_pixel.front(), map.sd_pixel[centre])
      << "the corner of the picture is worse than its middle";
  // Distance matters: what is confounded at the boards' distance shows elsewhere.
  const auto far =
      ProjectionUncertainty(good.result, 0, std::numeric_limits<double>::infinity(), 9, 7);
  EXPECT_GT(far.sd_pixel[centre], map.sd_pixel[centre]);
  EXPECT_NEAR(far.sd_across[centre], far.sd_pixel[centre] / 1000, 0.1 * far.sd_across[centre]);
}

TEST(Uncertainty, HullHoldsItsPoints) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<Eigen::Vector2d> points;
  points.reserve(200);
  for (int k = 0; k < 200; ++k) points.emplace_back(unit(random), unit(random));
  const auto hull = calibration::ConvexHull(points);
  for (const auto& q : points) EXPECT_TRUE(calibration::InHull(hull, q));
  EXPECT_FALSE(calibration::InHull(hull, {1.2, 0.5}));
  EXPECT_FALSE(calibration::InHull(hull, {0.5, -0.1}));
  EXPECT_FALSE(calibration::InHull(calibration::ConvexHull({{0, 0}, {1, 1}}), {0.5, 0.5}));
}

TEST(Residuals, NoiseHasNoStructure) {
  const Solved& good = GoodRig();
  for (int c = 0; c < 2; ++c) {
    const auto r = SummariseResiduals(good.twin.problem, good.result, c);
    EXPECT_GT(r.structure_p, 1e-3);
    EXPECT_GT(r.structure_dof, 40);
    EXPECT_LT(r.structure, 0.05);
    EXPECT_NEAR(r.sigma, 0.2, 0.02);
    EXPECT_NEAR(r.rms, 0.2 * std::sqrt(2.0), 0.03);
    int sum = 0, tails = 0;
    for (std::size_t b = 0; b < r.histogram.size(); ++b) {
      sum += r.histogram[b];
      if (b < 16 || b >= 24) tails += r.histogram[b];  // beyond one standard deviation
    }
    EXPECT_EQ(sum, 2 * r.n);
    EXPECT_NEAR(static_cast<double>(tails) / sum, 0.3173, 0.04);
    int radial = 0;
    for (const RadialBin& bin : r.radial) {
      radial += bin.n;
      if (bin.n > 10) {
        EXPECT_LT(std::abs(bin.mean), 5 * bin.se);
      }
    }
    EXPECT_EQ(radial, r.n);
    EXPECT_EQ(r.shot_rms.size(), good.twin.problem.shots.size());
  }
}

TEST(Residuals, ALensTheModelCannotFollowShows) {
  auto options = Stereo(24);
  auto twin = test::MakeRigTwin(options, 8);
  // k1 of the truth held at 0: the fit can only bend poses and focal length.
  for (CameraSetup& setup : twin.problem.cameras) setup.fixed = {"k1", "k2", "k3"};
  CalibrationOptions loose;
  loose.outlier_sigma = 20;
  const CalibrationResult result = Calibrate(twin.problem, loose);
  ASSERT_TRUE(result.usable()) << result.reason;
  const auto r = SummariseResiduals(twin.problem, result, 0);
  EXPECT_LT(r.structure_p, 1e-6);
  EXPECT_GT(r.structure, 0.1);
  const auto certificate =
      CertifyRig(twin.problem, result, CrossValidate(twin.problem, result, loose));
  const RigFinding* finding = Find(certificate.findings, "model-error", 0);
  if (!finding) finding = Find(certificate.findings, "halves-disagree", 0);
  ASSERT_TRUE(finding) << BriefReport(certificate);
  EXPECT_GT(certificate.cameras[0].model_error, 3 * certificate.cameras[0].sampling_error);
  EXPECT_NE(certificate.verdict, RigVerdict::kGood);
  EXPECT_THAT(finding->advice, HasSubstr("lens model"));
}

TEST(Halves, AgreeWithTheCovariance) {
  const Solved& good = GoodRig();
  const CrossValidation halves = CrossValidate(good.twin.problem, good.result);
  ASSERT_TRUE(halves.usable) << halves.reason;
  for (const auto& camera : halves.cameras) {
    EXPECT_GT(camera.p, 1e-3);
    EXPECT_GT(camera.ratio, 0.2);
    EXPECT_LT(camera.ratio, 3);
    EXPECT_GT(camera.rms_predicted, 0);
  }
  CalibrationResult failed;
  EXPECT_FALSE(CompareHalves(good.result, good.result, failed, 0).usable);
  // A half compared with itself differs by nothing.
  const auto same = CompareHalves(good.result, good.result, good.result, 0);
  EXPECT_LT(same.cameras[0].rms_difference, 1e-9);
  EXPECT_NEAR(same.cameras[0].p, 1, 1e-6);
}

// A camera that is only turned and moved is the same camera.
TEST(Halves, PoseAloneIsNoDifference) {
  const Solved& good = GoodRig();
  CalibrationResult turned = good.result;
  Eigen::VectorXd v = Intrinsics(turned.rig.cameras[0].camera);
  v(2) += 3;  // principal point by 3 px
  SetIntrinsics(turned.rig.cameras[0].camera, v);
  const auto compared = CompareHalves(good.result, good.result, turned, 0);
  EXPECT_LT(compared.cameras[0].rms_difference, 0.5);
  EXPECT_GT(compared.cameras[0].rms_difference, 0.01);
}

TEST(Certificate, GoodRigIsGood) {
  const Solved& good = GoodRig();
  const auto certificate = CertifyRig(good.twin.problem, good.result);
  EXPECT_EQ(certificate.verdict, RigVerdict::kGood) << BriefReport(certificate);
  EXPECT_THAT(certificate.headline, HasSubstr("Good"));
  EXPECT_TRUE(certificate.advice.empty());
  ASSERT_TRUE(certificate.triangulation);
  EXPECT_TRUE(certificate.triangulation->problem.empty()) << certificate.triangulation->problem;
  EXPECT_GT(certificate.triangulation->sd_along, certificate.triangulation->sd_along_pixels);
  EXPECT_EQ(certificate.triangulation_field.size(), 27u);
  EXPECT_THAT(BriefReport(certificate), HasSubstr("camera1"));
  // The figure is that of Triangulate.
  const TriangulationFigure& figure = *certificate.triangulation;
  std::vector<PixelObservation> observations;
  for (int c = 0; c < 2; ++c) {
    const RigCamera& camera = good.result.rig.cameras[c];
    observations.push_back({c, *Project(camera.camera, camera.X_WC.inverse() * figure.p_W),
                            std::pow(good.result.sigma[c], 2) * Eigen::Matrix2d::Identity()});
  }
  const auto point = Triangulate(good.result.rig, observations);
  EXPECT_NEAR(std::pow(figure.sd_along, 2),
              figure.p_W.normalized().dot(point.cov * figure.p_W.normalized()), 1e-12);
}

TEST(Certificate, RefusalsSayWhy) {
  const Solved& good = GoodRig();
  for (const auto& [status, word] :
       {std::pair{CalibrationStatus::kUndetermined, "do not determine"},
        std::pair{CalibrationStatus::kInconsistent, "do not fit together"},
        std::pair{CalibrationStatus::kNotConverged, "did not converge"},
        std::pair{CalibrationStatus::kNoData, "nothing to solve"}}) {
    CalibrationResult failed = good.result;
    failed.status = status;
    failed.reason = "because of the test";
    const auto certificate = CertifyRig(good.twin.problem, failed);
    EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
    EXPECT_THAT(certificate.headline, HasSubstr(word));
    EXPECT_THAT(certificate.headline, HasSubstr("because of the test"));
    EXPECT_TRUE(certificate.cameras.empty());
    EXPECT_THAT(BriefReport(certificate), HasSubstr("!!"));
  }
  // Nothing at all.
  const auto empty = CertifyRig({}, {});
  EXPECT_EQ(empty.verdict, RigVerdict::kRefused);
  EXPECT_FALSE(empty.headline.empty());
}

TEST(Certificate, MirroredPicturesAreNamed) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  for (BoardShot& shot : problem.shots) {
    shot.views[1].points.clear();
    shot.views[1].mirrored = true;
  }
  const auto certificate = CertifyRig(problem, Calibrate(problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  const RigFinding* finding = Find(certificate.findings, "mirrored");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->camera, 1);
  EXPECT_THAT(certificate.headline, HasSubstr("mirrored"));
}

TEST(Certificate, SwappedCamerasAreNamed) {
  const Solved& good = GoodRig();
  for (const int every : {2, 8}) {
    CalibrationProblem problem = good.twin.problem;
    for (std::size_t s = 0; s < problem.shots.size(); s += every)
      std::swap(problem.shots[s].views[0], problem.shots[s].views[1]);
    const auto certificate = CertifyRig(problem, Calibrate(problem));
    EXPECT_EQ(certificate.verdict, every == 2 ? RigVerdict::kRefused : RigVerdict::kUsable)
        << BriefReport(certificate);
    EXPECT_THAT(BriefReport(certificate), HasSubstr("swapped"));
  }
}

TEST(Certificate, BoardNotFoundPointsAtTheSquareCount) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  for (BoardShot& shot : problem.shots) {
    for (BoardView& view : shot.views) {
      view.image = "a.png";
      view.points.clear();
      view.problem = "no 9 x 6 board found";
    }
  }
  const auto certificate = CertifyRig(problem, Calibrate(problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  ASSERT_TRUE(Find(certificate.findings, "board-not-found"));
  EXPECT_THAT(Find(certificate.findings, "board-not-found")->advice, HasSubstr("inner corners"));
}

TEST(Certificate, ParallelBoardsAreRefused) {
  auto options = Stereo(15);
  options.cameras.resize(1);
  options.X_WC.resize(1);
  auto twin = test::MakeRigTwin(options, 9);
  // All boards held square to the camera.
  const Camera& camera = twin.truth.cameras[0].camera;
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  for (std::size_t s = 0; s < twin.problem.shots.size(); ++s) {
    auto& points = twin.problem.shots[s].views[0].points;
    points.clear();
    const std::size_t column = s % 4, row = s / 4;
    const Eigen::Vector3d corner(0.12 * (static_cast<double>(column) - 2),
                                 0.1 * (static_cast<double>(row) - 2), 0.5 + 0.01 * s);
    for (int id = 0; id < PointCount(options.board); ++id) {
      const auto q = Project(camera, corner + PointOnBoard(options.board, id));
      if (q && q->x() > 0 && q->y() > 0 && q->x() < 1279 && q->y() < 719)
        points.push_back({id, *q + 0.2 * Eigen::Vector2d(normal(random), normal(random)), 1});
    }
  }
  const auto certificate = CertifyRig(twin.problem, Calibrate(twin.problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  EXPECT_THAT(BriefReport(certificate), HasSubstr("parallel"));
}

TEST(Certificate, NoisyRigIsOnlyUsable) {
  auto options = Stereo(12);
  options.pixel_sd = 1.2;
  const auto twin = test::MakeRigTwin(options, 11);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  const auto certificate = CertifyRig(twin.problem, result);
  EXPECT_EQ(certificate.verdict, RigVerdict::kUsable) << BriefReport(certificate);
  EXPECT_TRUE(Find(certificate.findings, "noise", 0));
  EXPECT_TRUE(Find(certificate.findings, "uncertainty", 0));
  EXPECT_FALSE(certificate.advice.empty());
  for (std::size_t i = 0; i < certificate.advice.size(); ++i)
    EXPECT_EQ(
        std::count(certificate.advice.begin(), certificate.advice.end(), certificate.advice[i]), 1)
        << "no repeats";
}

// Every second picture of a camera turned by 180 degrees: the residuals hardly show it.
CalibrationProblem WithTurnedPictures(CalibrationProblem problem, int camera, int every) {
  for (std::size_t s = 0; s < problem.shots.size(); s += static_cast<std::size_t>(every))
    for (BoardPoint& point : problem.shots[s].views[camera].points)
      point.q =
          Eigen::Vector2d(problem.cameras[camera].width - 1, problem.cameras[camera].height - 1) -
          point.q;
  return problem;
}

CalibrationProblem OneCamera(double pixel_sd, double off_centre, std::uint64_t seed) {
  auto options = Stereo(20);
  options.cameras.resize(1);
  options.X_WC.resize(1);
  options.pixel_sd = pixel_sd;
  Eigen::VectorXd x = Intrinsics(options.cameras[0]);
  x(2) += off_centre;
  SetIntrinsics(options.cameras[0], x);
  return test::MakeRigTwin(options, seed).problem;
}

TEST(Certificate, TurnedPicturesAreNamedAndRefused) {
  const CalibrationProblem problem = WithTurnedPictures(OneCamera(0.02, 12, 21), 0, 2);
  const CalibrationResult result = Calibrate(problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  const auto certificate = CertifyRig(problem, result, CrossValidate(problem, result));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused) << BriefReport(certificate);
  ASSERT_FALSE(certificate.findings.empty());
  EXPECT_EQ(certificate.findings[0].code, "turned-pictures") << BriefReport(certificate);
  EXPECT_THAT(certificate.headline, HasSubstr("upside down"));
  EXPECT_THAT(certificate.advice.at(0), HasSubstr("turn all pictures"));
  // One in ten may hide in the noise; none is wrongly named.
  const auto turned = calibration::FindTurnedPictures(problem, result, 0);
  EXPECT_GE(turned.shots.size(), 9u);
  for (int s : turned.shots) EXPECT_EQ(s % 2, 0);
  EXPECT_LT(turned.sigma_turned, 0.5 * turned.sigma_as_is);
}

TEST(Certificate, FewTurnedPicturesAreLeftOut) {
  const CalibrationProblem problem = WithTurnedPictures(OneCamera(0.02, 12, 21), 0, 5);
  const CalibrationResult result = Calibrate(problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  for (std::size_t s = 0; s < problem.shots.size(); ++s) {
    EXPECT_EQ(result.shots[s].views[0].rejected.empty(), s % 5 != 0) << s;
    if (s % 5 == 0) {
      EXPECT_THAT(result.shots[s].views[0].rejected, HasSubstr("upside down"));
    }
  }
  EXPECT_NEAR(result.rig.cameras[0].camera.cx, 640 + 3.1 + 12, 0.5);
}

TEST(Certificate, StraightPicturesAreNotCalledTurned) {
  for (const std::uint64_t seed : {31, 32, 33}) {
    const CalibrationProblem problem = OneCamera(0.2, 12, seed);
    EXPECT_TRUE(calibration::FindTurnedPictures(problem, Calibrate(problem), 0).shots.empty())
        << seed;
  }
  // Nor where the lens model is at fault.
  CalibrationProblem problem = OneCamera(0.05, 12, 34);
  problem.cameras[0].fixed = {"k1", "k2", "k3"};
  CalibrationOptions loose;
  loose.outlier_sigma = 20;
  EXPECT_TRUE(calibration::FindTurnedPictures(problem, Calibrate(problem, loose), 0).shots.empty());
}

// A focus that moved between the pictures.
TEST(Certificate, HalvesThatDisagreeComeFirstWithTheirCauses) {
  const Solved& good = GoodRig();
  CrossValidation halves = CrossValidate(good.twin.problem, good.result);
  ASSERT_TRUE(halves.usable);
  CrossValidation::PerCamera& half = halves.cameras[1];
  half.ratio = 50;
  half.p = 0;
  half.model_error = 0.23;
  half.rms_difference = 0.33;
  for (const double limit : {1.5, 0.22}) {
    RigCertificateOptions options;
    options.max_model_error = limit;
    options.geometry.good_shots = 1000;  // a finding that comes before it in time
    const auto certificate = CertifyRig(good.twin.problem, good.result, halves, options);
    EXPECT_EQ(certificate.verdict, limit > 1 ? RigVerdict::kUsable : RigVerdict::kRefused);
    EXPECT_EQ(certificate.findings[0].code, "halves-disagree") << BriefReport(certificate);
    EXPECT_THAT(certificate.headline, HasSubstr("0.33 px"));
    for (const char* cause : {"upside down", "focus", "zoom", "bent"})
      EXPECT_THAT(certificate.advice.at(0), HasSubstr(cause));
  }
}

TEST(Certificate, HeadlineCountsTheModelErrorOfTheLens) {
  const Solved& good = GoodRig();
  const auto without = CertifyRig(good.twin.problem, good.result);
  CrossValidation halves = CrossValidate(good.twin.problem, good.result);
  for (auto& half : halves.cameras) half.p = 0, half.ratio = 4, half.model_error = 0.15;
  const auto certificate = CertifyRig(good.twin.problem, good.result, halves);
  const CameraCertificate& camera = certificate.cameras[0];
  EXPECT_NEAR(camera.total_pixel, std::hypot(camera.sd_pixel_90, 0.15), 1e-12);
  EXPECT_NEAR(camera.total_across / camera.sd_across_90, camera.total_pixel / camera.sd_pixel_90,
              1e-9);
  EXPECT_EQ(without.cameras[0].total_pixel, without.cameras[0].sd_pixel_90);
  EXPECT_THAT(certificate.headline, HasSubstr("of model error"));
  EXPECT_THAT(certificate.headline, Not(HasSubstr("known to 0.0")));
  // Depth follows: a model error acts like pixel noise of its size.
  const TriangulationFigure& t = *certificate.triangulation;
  EXPECT_NEAR(t.sd_along_model / t.sd_along_pixels, 0.15 / std::sqrt(2.0) / good.result.sigma[0],
              0.15);
  EXPECT_EQ(without.triangulation->sd_along_model, 0);
}

// What the report says of the error across the view: points share it, differences are far better.
TEST(Certificate, ErrorAcrossTheViewIsShared) {
  const Solved& good = GoodRig();
  const auto certificate = CertifyRig(good.twin.problem, good.result);
  const TriangulationFigure& figure = *certificate.triangulation;
  ASSERT_GT(figure.sd_across, 2 * figure.sd_across_pixels) << "else the report does not say so";
  EXPECT_THAT(BriefReport(certificate), HasSubstr("which all points share"));
  TriangulateOptions with;
  with.derivatives = true;
  const auto point = [&](const Eigen::Vector3d& p_W) {
    std::vector<PixelObservation> observations;
    for (int c = 0; c < 2; ++c) {
      const RigCamera& camera = good.result.rig.cameras[c];
      observations.push_back({c, *Project(camera.camera, camera.X_WC.inverse() * p_W),
                              0.04 * Eigen::Matrix2d::Identity()});
    }
    return Triangulate(good.result.rig, observations, with);
  };
  const Eigen::Vector3d along = figure.p_W.normalized(),
                        side = along.cross(Eigen::Vector3d::UnitY()).normalized();
  const auto a = point(figure.p_W - 0.03 * side), b = point(figure.p_W + 0.03 * side);
  ASSERT_TRUE(a.usable && b.usable);
  const Eigen::MatrixXd d = a.dp_drig - b.dp_drig;
  for (const Eigen::Vector3d& u : {side, Eigen::Vector3d(along.cross(side))}) {
    const double one = u.dot(a.dp_drig * good.result.rig.covariance * a.dp_drig.transpose() * u);
    const double difference = u.dot(d * good.result.rig.covariance * d.transpose() * u);
    EXPECT_LT(difference, 0.1 * one);
  }
}

TEST(Certificate, TwiceTheSameCameraIsRefused) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  for (BoardShot& shot : problem.shots) shot.views[1] = shot.views[0];
  const auto certificate = CertifyRig(problem, Calibrate(problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  EXPECT_EQ(certificate.findings[0].code, "same-pictures");
  EXPECT_THAT(certificate.headline, HasSubstr("camera0 and camera1 have the same pictures"));
  // Another picture from the same place.
  auto options = Stereo();
  options.X_WC[1] = Eigen::Isometry3d::Identity();
  const auto twin = test::MakeRigTwin(options, 8);
  const auto still = CertifyRig(twin.problem, Calibrate(twin.problem));
  EXPECT_EQ(still.verdict, RigVerdict::kRefused) << BriefReport(still);
  EXPECT_THAT(still.headline, HasSubstr("camera0 and camera1 are at the same place"));
}

TEST(Certificate, AbsurdWorkingDistancesAreNotGood) {
  const Solved& good = GoodRig();
  RigCertificateOptions options;
  for (const double distance : {1e9, 50.0, 1e-3}) {
    options.working_distance = distance;
    const auto certificate = CertifyRig(good.twin.problem, good.result, {}, options);
    EXPECT_NE(certificate.verdict, RigVerdict::kGood) << distance;
    EXPECT_TRUE(Find(certificate.findings, "working-distance")) << distance;
  }
  options.working_distance = 0.7;
  EXPECT_FALSE(
      Find(CertifyRig(good.twin.problem, good.result, {}, options).findings, "working-distance"));
}

TEST(Certificate, CamerasThatNeverShareAShotLead) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  problem.shots.resize(4);  // too few as well
  for (std::size_t s = 0; s < problem.shots.size(); ++s)
    problem.shots[s].views[s % 2].points.clear();
  const auto certificate = CertifyRig(problem, Calibrate(problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  EXPECT_THAT(certificate.headline,
              HasSubstr("camera1 never sees the board in the same shot as camera0"));
  EXPECT_THAT(certificate.advice.at(0), HasSubstr("film shots in which camera0 and camera1"));
  EXPECT_FALSE(Find(certificate.findings, "undetermined")) << "said once";
  // One shot in common is something, not much.
  problem = good.twin.problem;
  for (std::size_t s = 1; s < problem.shots.size(); ++s)
    problem.shots[s].views[s % 2].points.clear();
  const auto hanging = CertifyRig(problem, Calibrate(problem));
  EXPECT_TRUE(Find(hanging.findings, "few-common-views", 1)) << BriefReport(hanging);
}

TEST(Certificate, TooLittleIsSaidOnceInSentences) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  problem.shots.resize(1);
  const CalibrationResult result = Calibrate(problem);
  ASSERT_EQ(result.status, CalibrationStatus::kUndetermined) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("Likely cause: too few pictures of the board"));
  EXPECT_THAT(result.advice, HasSubstr("Film more pictures of the board"));
  const auto certificate = CertifyRig(problem, result);
  const RigFinding *few = Find(certificate.findings, "few-shots"),
                   *open = Find(certificate.findings, "undetermined");
  ASSERT_TRUE(few && open);
  EXPECT_THAT(few->text, HasSubstr("at least 3 are needed, 10 make it good"));
  EXPECT_THAT(open->text, Not(HasSubstr(few->text)));
  EXPECT_THAT(open->text, Not(HasSubstr("Film more")));
}

// Without any distortion numerator and denominator of the rational model do the same.
TEST(Certificate, OpenLensParametersAreToldInWords) {
  auto options = Stereo(12);
  options.pixel_sd = 1e-7;
  for (Camera& camera : options.cameras) {
    Eigen::VectorXd x = Intrinsics(camera);
    x.tail(x.size() - 4).setZero();
    SetIntrinsics(camera, x);
  }
  CalibrationProblem problem = test::MakeRigTwin(options, 41).problem;
  problem.cameras[1].model = LensModel::kRational;
  const CalibrationResult result = Calibrate(problem);
  ASSERT_EQ(result.status, CalibrationStatus::kUndetermined) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("the lens model 'rational' of camera 'camera1' has more "
                                       "parameters than these views determine (k"));
  EXPECT_THAT(result.advice, HasSubstr("Use a simpler lens model (model: brown"));
  EXPECT_THAT(result.reason, Not(HasSubstr("camera1.k")));
  const auto certificate = CertifyRig(problem, result);
  EXPECT_THAT(certificate.headline, HasSubstr("more parameters than these views determine"));
  EXPECT_THAT(certificate.headline, Not(HasSubstr("Use a simpler")));
  EXPECT_THAT(certificate.advice.at(0), HasSubstr("use a simpler lens model"));
}

TEST(Certificate, MirroredChessboardsAreAdvised) {
  const Solved& good = GoodRig();
  CalibrationProblem problem = good.twin.problem;
  const Board& board = problem.board;
  for (BoardShot& shot : problem.shots) {
    auto& points = shot.views[1].points;
    for (BoardPoint& point : points) {
      point.q.x() = problem.cameras[1].width - 1 - point.q.x();
      point.id =
          point.id / board.columns * board.columns + board.columns - 1 - point.id % board.columns;
    }
    std::sort(points.begin(), points.end(),
              [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
  }
  const auto certificate = CertifyRig(problem, Calibrate(problem));
  EXPECT_EQ(certificate.verdict, RigVerdict::kRefused);
  EXPECT_THAT(certificate.headline, HasSubstr("mirrored"));
  ASSERT_EQ(certificate.advice.size(), 1u);
  EXPECT_THAT(certificate.advice[0], HasSubstr("turn mirroring off"));
}

}  // namespace
}  // namespace impactlab
