#include "calibration/camera/rig.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

#include "data/base/error.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::MessageOf;
using RigRandom = std::mt19937_64;

double RigUniform(RigRandom& random, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(random);
}

CameraRig RandomRig(RigRandom& random, int n, bool covariance) {
  CameraRig rig;
  for (int i = 0; i < n; ++i) {
    RigCamera item;
    item.name = i == 0 ? "left" : i == 1 ? "Kamera Süd: \"2\" #1" : "camera" + std::to_string(i);
    item.camera.model = i % 3 == 0   ? LensModel::kBrown
                        : i % 3 == 1 ? LensModel::kRational
                                     : LensModel::kFisheye;
    item.camera.width = 640 + i, item.camera.height = 480 + 2 * i;
    Eigen::VectorXd values(IntrinsicCount(item.camera.model));
    values.head(4) << RigUniform(random, 600, 900), RigUniform(random, 600, 900),
        RigUniform(random, 300, 340), RigUniform(random, 230, 250);
    for (int j = 4; j < values.size(); ++j)
      values[j] = RigUniform(random, -1e-2, 1e-2) * (j % 2 ? 1 : 1e-7 / 3);
    SetIntrinsics(item.camera, values);
    item.camera.calibrated_angle = RigUniform(random, 0.3, 0.6);
    item.X_WC.linear() = Eigen::Quaterniond(RigUniform(random, -1, 1), RigUniform(random, -1, 1),
                                            RigUniform(random, -1, 1), RigUniform(random, -1, 1))
                             .normalized()
                             .toRotationMatrix();
    item.X_WC.translation() << RigUniform(random, -2, 2), RigUniform(random, -1e-9, 1e-9),
        RigUniform(random, -2e6, 2e6);
    rig.cameras.push_back(item);
  }
  rig.world.source = "board";
  rig.world.gravity_W =
      Eigen::Vector3d(RigUniform(random, -1, 1), RigUniform(random, -1, 1), -3).normalized();
  const Eigen::Matrix3d root =
      Eigen::Matrix3d::NullaryExpr([&] { return RigUniform(random, -1e-3, 1e-3); });
  const Eigen::Matrix3d cov = root * root.transpose();
  rig.world.cov_gravity = cov.selfadjointView<Eigen::Lower>();
  rig.world.slope = RigUniform(random, 0, 1);
  rig.world.sd_slope = RigUniform(random, 0, 0.01);
  if (covariance) {
    const int count = ParameterCount(rig);
    const Eigen::MatrixXd m =
        Eigen::MatrixXd::NullaryExpr(count, count + 3, [&] { return RigUniform(random, -1, 1); });
    const Eigen::MatrixXd full = m * m.transpose() / 7e5;
    rig.covariance = full.selfadjointView<Eigen::Lower>();
  }
  return rig;
}

template <typename T>
bool SameBits(const T& a, const T& b) {
  return a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), sizeof(a.data()[0]) * a.size()) == 0);
}

void ExpectSame(const CameraRig& a, const CameraRig& b) {
  ASSERT_EQ(a.cameras.size(), b.cameras.size());
  for (std::size_t i = 0; i < a.cameras.size(); ++i) {
    const Camera &x = a.cameras[i].camera, &y = b.cameras[i].camera;
    EXPECT_EQ(a.cameras[i].name, b.cameras[i].name);
    EXPECT_EQ(x.model, y.model);
    EXPECT_EQ(x.width, y.width);
    EXPECT_EQ(x.height, y.height);
    EXPECT_TRUE(SameBits(Intrinsics(x), Intrinsics(y)));
    EXPECT_TRUE(SameBits(x.distortion, y.distortion));
    EXPECT_EQ(x.invertible_angle, y.invertible_angle);
    EXPECT_EQ(x.calibrated_angle, y.calibrated_angle);
    EXPECT_TRUE(SameBits(a.cameras[i].X_WC.matrix(), b.cameras[i].X_WC.matrix()));
  }
  EXPECT_TRUE(SameBits(a.covariance, b.covariance));
  EXPECT_EQ(a.world.source, b.world.source);
  ASSERT_EQ(a.world.gravity_W.has_value(), b.world.gravity_W.has_value());
  if (a.world.gravity_W) {
    EXPECT_TRUE(SameBits(*a.world.gravity_W, *b.world.gravity_W));
  }
  EXPECT_TRUE(SameBits(a.world.cov_gravity, b.world.cov_gravity));
  EXPECT_EQ(a.world.slope, b.world.slope);
  EXPECT_EQ(a.world.sd_slope, b.world.sd_slope);
}

const char* const kPlain = R"(schema: impactlab.rig/1
cameras:
  - name: left
    width_px: 640
    height_px: 480
    model: brown
    fx_px: 500
    fy_px: 501
    cx_px: 320
    cy_px: 240
    k1: -0.1
    orientation: [1, 0, 0, 0]
    position_m: [0, 0, 0]
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(Rig, ParameterNamesAndPlaces) {
  RigRandom random(1);
  const CameraRig rig = RandomRig(random, 3, false);
  const auto names = ParameterNames(rig);
  ASSERT_EQ(names.size(), 9u + 12 + 8 + 18);
  EXPECT_EQ(ParameterCount(rig), static_cast<int>(names.size()));
  EXPECT_EQ(names[0], "left.fx_px");
  EXPECT_EQ(names[9], "left.rx_rad");
  EXPECT_EQ(names[14], "left.z_m");
  EXPECT_EQ(FirstParameter(rig, 1), 15);
  EXPECT_EQ(names[FirstParameter(rig, 2)], "camera2.fx_px");
  EXPECT_EQ(names.back(), "camera2.z_m");
  EXPECT_THROW(FirstParameter(rig, -1), ConfigError);
  EXPECT_THROW(FirstParameter(rig, 4), ConfigError);
}

TEST(Rig, RoundTripKeepsEveryBit) {
  RigRandom random(2);
  for (int trial = 0; trial < 40; ++trial) {
    const CameraRig rig = RandomRig(random, 1 + trial % 4, trial % 2);
    const std::string text = ToYaml(rig);
    const CameraRig back = ParseRig(text, "rig.yaml");
    ExpectSame(rig, back);
    EXPECT_EQ(ToYaml(back), text);
  }
}

TEST(Rig, RoundTripOfManyCamerasFits) {
  RigRandom random(3);
  const CameraRig rig = RandomRig(random, 12, true);
  ExpectSame(rig, ParseRig(ToYaml(rig), "rig.yaml"));
}

TEST(Rig, ReadsAFile) {
  test::TemporaryFolder folder;
  test::Put(folder / "rig.yaml", kPlain);
  const CameraRig rig = RigFromYaml(folder / "rig.yaml");
  ASSERT_EQ(rig.cameras.size(), 1u);
  const Camera& camera = rig.cameras[0].camera;
  EXPECT_EQ(camera.distortion, (std::array<double, 8>{-0.1}));
  EXPECT_EQ(camera.invertible_angle, InvertibleAngle(camera));
  EXPECT_EQ(camera.calibrated_angle, 0);
  EXPECT_EQ(rig.world.source, "camera");
  EXPECT_FALSE(rig.world.gravity_W);
  EXPECT_EQ(rig.covariance.size(), 0);
  EXPECT_NE(MessageOf<ConfigError>([&] { RigFromYaml(folder / "none.yaml"); }).find("none.yaml"),
            std::string::npos);
}

// A hand-written quaternion: 90 degrees about z turns the camera's x into the world's y.
TEST(Rig, OrientationIsCameraToWorld) {
  const std::string text = Replaced(kPlain, "[1, 0, 0, 0]", "[0.70711, 0, 0, 0.70711]");
  const CameraRig rig = ParseRig(text, "r");
  EXPECT_LT(
      (rig.cameras[0].X_WC.linear() * Eigen::Vector3d::UnitX() - Eigen::Vector3d::UnitY()).norm(),
      1e-5);
  const Eigen::Matrix3d R = rig.cameras[0].X_WC.linear();
  EXPECT_LT((R.transpose() * R - Eigen::Matrix3d::Identity()).norm(), 1e-15);
  const std::string rows =
      Replaced(kPlain, "orientation: [1, 0, 0, 0]", "rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]");
  EXPECT_LT((ParseRig(rows, "r").cameras[0].X_WC.linear() * Eigen::Vector3d::UnitX() -
             Eigen::Vector3d::UnitY())
                .norm(),
            1e-15);
}

TEST(Rig, HostileFilesAreRefusedByLineAndKey) {
  const auto expect = [](const std::string& text, const std::string& where,
                         const std::string& words) {
    const std::string message = MessageOf<ConfigError>([&] { ParseRig(text, "rig.yaml"); });
    EXPECT_EQ(message.find("rig.yaml:"), 0u) << message;
    EXPECT_NE(message.find(where), std::string::npos) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  ASSERT_NO_THROW(ParseRig(kPlain, "rig.yaml"));
  expect("", "document", "nothing");
  expect(Replaced(kPlain, "rig/1", "rig/2"), "schema", "impactlab.rig/1");
  expect("cameras: []\n", "schema", "required");
  expect("schema: impactlab.rig/1\ncameras: []\n", "2: cameras", "a list of one or more maps");
  expect("schema: impactlab.rig/1\n", "cameras", "required");
  expect(Replaced(kPlain, "fx_px: 500", "fx_px: .nan"), "7: cameras[0].fx_px", "finite number");
  expect(Replaced(kPlain, "fx_px: 500", "fx_px: 1e400"), "cameras[0].fx_px", "finite number");
  expect(Replaced(kPlain, "fx_px: 500", "fx_mm: 500"), "cameras[0].fx_px", "fx_mm");
  expect(Replaced(kPlain, "fx_px: 500", "fx_px: -500"), "cameras[0]", "fx_px is -500");
  expect(Replaced(kPlain, "k1: -0.1", "k1: -9"), "cameras[0]", "folds inside the image");
  expect(Replaced(kPlain, "k1: -0.1", "k9: -0.1"), "cameras[0].k9", "unknown key");
  expect(Replaced(kPlain, "k1: -0.1", "k4: 0.1"), "cameras[0].k4", "unknown key");
  expect(Replaced(kPlain, "k1: -0.1", "k1: -0.1\n    k1: 0"), "k1", "again");
  expect(Replaced(kPlain, "k1: -0.1", "invertible_angle_rad: 3"), "cameras[0]", "invertible angle");
  expect(Replaced(kPlain, "model: brown", "model: opencv"), "6: cameras[0].model",
         "brown | rational | fisheye");
  expect(Replaced(kPlain, "width_px: 640", "width_px: 640.5"), "width_px", "whole number");
  expect(Replaced(kPlain, "width_px: 640", "width_px: 0"), "width_px", "from 2 to 65536");
  expect(Replaced(kPlain, "[1, 0, 0, 0]", "[1, 1, 0, 0]"), "orientation", "unit quaternion");
  expect(Replaced(kPlain, "[1, 0, 0, 0]", "[0, 0, 0, 0]"), "orientation", "unit quaternion");
  expect(Replaced(kPlain, "[1, 0, 0, 0]", "[1, 0, 0]"), "orientation", "4 numbers");
  const std::string rotation = "orientation: [1, 0, 0, 0]";
  expect(Replaced(kPlain, rotation, "rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]"), "rotation",
         "mirror image");
  expect(Replaced(kPlain, rotation, "rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 2]]"), "rotation",
         "not orthonormal");
  expect(Replaced(kPlain, rotation, "rotation: [[1, 0, 0], [0, 1, 0]]"), "rotation", "3 rows");
  expect(Replaced(kPlain, rotation, rotation + "\n    rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]"),
         "orientation", "one of");
  expect(Replaced(kPlain, "    " + rotation + "\n", ""), "rotation", "required");
  expect(Replaced(kPlain, "position_m", "position_mm"), "position_m", "position_mm");
  expect(Replaced(kPlain, "name: left", "name: \" left\""), "name", "without spaces");
  const std::string camera = std::string(kPlain).substr(std::string(kPlain).find("  - name"));
  expect(kPlain + camera, "cameras[1].name", "again");
  const std::string top = kPlain;
  expect(top + "world:\n  gravity: [0, 0, -9.81]\n", "world.gravity", "unit vector");
  expect(top + "world:\n  source: moon\n", "world.source", "camera | board | points | given");
  expect(top + "world:\n  cov_gravity: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n", "world.cov_gravity",
         "no gravity");
  expect(
      top + "world:\n  gravity: [0, 0, -1]\n  cov_gravity: [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]\n",
      "cov_gravity", "not symmetric");
  expect(top + "world:\n  gravity: [0, 0, -1]\n  cov_gravity: [[1, 2, 0], [2, 1, 0], [0, 0, 1]]\n",
         "cov_gravity", "correlation of 2");
  expect(top + "world:\n  slope_deg: 3\n", "world.slope_deg", "slope_rad");
  expect(top + "world:\n  sd_slope_rad: 0.1\n", "world.sd_slope_rad", "no slope_rad");
  expect(top + "covariance:\n  left.fx_px: [1]\n", "covariance.left.fy_px", "required");
}

TEST(Rig, HostileCovariances) {
  RigRandom random(4);
  CameraRig rig = RandomRig(random, 2, true);
  const auto refused = [&](const CameraRig& bad, const std::string& words) {
    const std::string message = MessageOf<ConfigError>([&] { ToYaml(bad); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  CameraRig bad = rig;
  bad.covariance(3, 4) += 1e-9;
  refused(bad, "not symmetric");
  bad = rig;
  bad.covariance(3, 3) = -1e-9;
  refused(bad, "variance of");
  bad = rig;
  bad.covariance(3, 3) = std::numeric_limits<double>::quiet_NaN();
  refused(bad, "not");
  bad = rig;
  bad.covariance.diagonal() *= 0.05;
  refused(bad, "covariance");
  // Pairwise correlations are fine, the whole is not.
  bad.covariance = Eigen::MatrixXd::Identity(ParameterCount(rig), ParameterCount(rig));
  for (const auto& [i, j, value] : {std::tuple{0, 1, 0.9}, {0, 2, 0.9}, {1, 2, -0.9}})
    bad.covariance(i, j) = bad.covariance(j, i) = value;
  refused(bad, "positive semi-definite");
  bad.covariance = Eigen::MatrixXd::Identity(5, 5);
  refused(bad, "5 x 5");
  // A fixed parameter has variance 0 and no covariance.
  CameraRig fixed = rig;
  fixed.covariance.row(8).setZero();
  fixed.covariance.col(8).setZero();
  ExpectSame(fixed, ParseRig(ToYaml(fixed), "r"));
  fixed.covariance(8, 2) = fixed.covariance(2, 8) = 1e-12;
  refused(fixed, "variance 0");
  // In the file: a value of the lower triangle spoilt, and a row too short.
  const std::string text = ToYaml(rig);
  const std::string row = "\"left.fy_px\": [";
  const auto message =
      MessageOf<ConfigError>([&] { ParseRig(Replaced(text, row, row + "1e9, "), "rig.yaml"); });
  EXPECT_NE(message.find("covariance.left.fy_px"), std::string::npos) << message;
  EXPECT_NE(message.find("2 numbers"), std::string::npos) << message;
}

TEST(Rig, WhatCannotBeReadIsNotWritten) {
  RigRandom random(5);
  const CameraRig rig = RandomRig(random, 2, false);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](auto&& spoil) {
    CameraRig bad = rig;
    spoil(bad);
    EXPECT_THROW(ToYaml(bad), ConfigError);
  };
  refused([](CameraRig& r) { r.cameras.clear(); });
  refused([](CameraRig& r) { r.cameras[1].name = r.cameras[0].name; });
  refused([](CameraRig& r) { r.cameras[1].name = ""; });
  refused([](CameraRig& r) { r.cameras[1].name = "two\nlines"; });
  refused([](CameraRig& r) { r.cameras[1].name = "\xff"; });
  refused([&](CameraRig& r) { r.cameras[1].camera.fx = nan; });
  refused([&](CameraRig& r) { r.cameras[1].camera.calibrated_angle = nan; });
  refused([&](CameraRig& r) { r.cameras[1].X_WC.translation().x() = nan; });
  refused([&](CameraRig& r) { r.cameras[1].X_WC.linear() *= -1; });
  refused([&](CameraRig& r) { r.cameras[1].X_WC.linear() *= 1.001; });
  refused([&](CameraRig& r) { r.world.gravity_W = Eigen::Vector3d(0, 0, -9.81); });
  refused([&](CameraRig& r) { r.world.slope = nan; });
  refused([&](CameraRig& r) { r.world.sd_slope = -1; });
  refused([&](CameraRig& r) { r.world.source = "moon"; });
  EXPECT_NO_THROW(ToYaml(rig));
}

}  // namespace
}  // namespace impactlab
