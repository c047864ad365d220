#include "calibration/formats/formats.h"

#include <gtest/gtest.h>
#include <matio.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstdlib>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <random>

#include "data/base/error.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::Get;
using test::MessageOf;
using test::Put;
using test::TemporaryFolder;
using Random = std::mt19937_64;

double Uniform(Random& random, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(random);
}

constexpr LensModel kBrown = LensModel::kBrown, kRational = LensModel::kRational,
                    kFisheye = LensModel::kFisheye;

CameraRig RandomRig(Random& random, const std::vector<LensModel>& models, bool first_at_origin,
                    int sizes) {
  CameraRig rig;
  for (std::size_t i = 0; i < models.size(); ++i) {
    RigCamera item;
    item.name = "cam" + std::to_string(7 + 2 * i);
    item.camera.model = models[i];
    item.camera.width = 640 + sizes * static_cast<int>(i), item.camera.height = 480;
    Eigen::VectorXd values(IntrinsicCount(models[i]));
    values.head(4) << Uniform(random, 600, 900), Uniform(random, 600, 900),
        Uniform(random, 300, 340), Uniform(random, 230, 250);
    for (int j = 4; j < values.size(); ++j) values[j] = Uniform(random, -1e-2, 1e-2);
    SetIntrinsics(item.camera, values);
    if (i > 0 || !first_at_origin) {
      const Eigen::Vector3d axis =
          Eigen::Vector3d(Uniform(random, -1, 1), Uniform(random, -1, 1), Uniform(random, -1, 1))
              .normalized();
      const double angle = random() % 4 == 0   ? 3.14159
                           : random() % 4 == 0 ? 1e-7
                                               : Uniform(random, 0, 3);
      item.X_WC.linear() = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
      item.X_WC.translation() << Uniform(random, -2, 2), Uniform(random, -2, 2),
          Uniform(random, -2, 2);
    }
    rig.cameras.push_back(item);
  }
  return rig;
}

void ExpectSame(const CameraRig& a, const CameraRig& b, const std::string& what) {
  ASSERT_EQ(a.cameras.size(), b.cameras.size()) << what;
  for (std::size_t i = 0; i < a.cameras.size(); ++i) {
    const auto &x = a.cameras[i], &y = b.cameras[i];
    EXPECT_EQ(x.name, y.name) << what;
    EXPECT_EQ(x.camera.model, y.camera.model) << what;
    EXPECT_EQ(x.camera.width, y.camera.width) << what;
    EXPECT_EQ(x.camera.height, y.camera.height) << what;
    EXPECT_EQ(Intrinsics(x.camera), Intrinsics(y.camera)) << what;
    EXPECT_EQ(x.camera.distortion, y.camera.distortion) << what;
    EXPECT_EQ(x.camera.invertible_angle, y.camera.invertible_angle) << what;
    EXPECT_LE((x.X_WC.linear() - y.X_WC.linear()).cwiseAbs().maxCoeff(), 4e-15) << what;
    EXPECT_LE((x.X_WC.translation() - y.X_WC.translation()).norm(),
              4e-15 * (1 + x.X_WC.translation().norm()) * 4)
        << what;
  }
}

// Two cameras of 500 px; the first has k1 = 0.1 and p1 = 0.01, the second sees x2 = R x1 + T, R a
// quarter turn about z, T = (-0.2, 0.3, 0.5). The point (0.1, 0.05, 2) by hand: (0.05, 0.025), r^2
// = 0.003125, s = 1.0003125, tangential 2.5e-5 and 4.375e-5.
const Eigen::Vector3d kPoint(0.1, 0.05, 2);
const Eigen::Vector2d kFirst(345.0203125, 252.52578125), kSecond(270, 320);

void ExpectGolden(const CameraRig& rig, double tolerance = 1e-10) {
  ASSERT_EQ(rig.cameras.size(), 2u);
  const auto first = Project(rig.cameras[0].camera, rig.cameras[0].X_WC.inverse() * kPoint);
  const auto second = Project(rig.cameras[1].camera, rig.cameras[1].X_WC.inverse() * kPoint);
  ASSERT_TRUE(first && second);
  EXPECT_LT((*first - kFirst).norm(), tolerance);
  EXPECT_LT((*second - kSecond).norm(), tolerance);
  EXPECT_EQ(rig.cameras[0].camera.width, 640);
  EXPECT_EQ(rig.cameras[1].camera.height, 480);
  EXPECT_EQ(rig.world.source, "camera");
}

const char* const kStereoYaml = R"(%YAML:1.0
---
image_width: 640
image_height: 480
M1: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 500., 0., 320., 0., 500., 240., 0., 0., 1. ]
D1: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ 0.1, 0., 0.01, 0., 0. ]
M2: !!opencv-matrix
   rows: 3
   cols: 3
   dt: f
   data: [ 500., 0., 320., 0., 500., 240., 0., 0., 1. ]
D2: !!opencv-matrix
   rows: 1
   cols: 14
   dt: d
   data: [ 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0. ]
R: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 0., -1., 0., 1., 0., 0., 0., 0., 1. ]
T: !!opencv-matrix
   rows: 3
   cols: 1
   dt: d
   data: [ -0.2, 0.3, 0.5 ]
)";

const char* const kKalibr = R"(cam0:
  cam_overlaps: [1]
  camera_model: pinhole
  distortion_coeffs: [0.1, 0.0, 0.01, 0.0]
  distortion_model: radtan
  intrinsics: [500.0, 500.0, 320.0, 240.0]
  resolution: [640, 480]
  rostopic: /left/image_raw
cam1:
  T_cn_cnm1:
  - [0.0, -1.0, 0.0, -0.2]
  - [1.0, 0.0, 0.0, 0.3]
  - [0.0, 0.0, 1.0, 0.5]
  - [0.0, 0.0, 0.0, 1.0]
  cam_overlaps: [0]
  camera_model: pinhole
  distortion_coeffs: [0.0, 0.0, 0.0, 0.0]
  distortion_model: radtan
  intrinsics: [500.0, 500.0, 320.0, 240.0]
  resolution: [640, 480]
  rostopic: /right/image_raw
)";

const char* const kMrcal[] = {R"({
    'lensmodel':  'LENSMODEL_OPENCV4',

    # intrinsics are fx,fy,cx,cy,distortion0,distortion1,....
    'intrinsics': [ 500, 500, 320, 240, 0.1, 0, 0.01, 0,],
    'valid_intrinsics_region': [ [ 10, 10 ], [ 20, 10 ], [ 20, 20 ], [ 10, 10 ], ],
    'extrinsics': [ 0, 0, 0, 0, 0, 0,],
    'imagersize': [ 640, 480,],
    'icam_intrinsics': 0,
    'optimization_inputs': b'{NoLj0#t#\'&:',
}
)",
                              R"({
    'lensmodel':  "LENSMODEL_PINHOLE", 'intrinsics': ( 500, 500, 320, 240 ),
    'rt_cam_ref': [ 0, 0, 1.5707963267948966, -0.2, 0.3, 0.5], 'imagersize': [ 640, 480 ], 'note': None
})"};

const char* const kToml = R"([cam_0]
name = "left"
size = [ 640, 480,]
matrix = [ [ 500.0, 0.0, 320.0,], [ 0.0, 500.0, 240.0,], [ 0.0, 0.0, 1.0,],]
distortions = [ 0.1, 0.0, 0.01, 0.0, 0.0,]
rotation = [ 0.0, 0.0, 0.0,]
translation = [ 0.0, 0.0, 0.0,]

[cam_1]
name = "right"
size = [ 640, 480,]
matrix = [ [ 500.0, 0.0, 320.0,], [ 0.0, 500.0, 240.0,], [ 0.0, 0.0, 1.0,],]
distortions = [ 0.0, 0.0, 0.0, 0.0, 0.0,]
rotation = [ 0.0, 0.0, 1.5707963267948966,]
translation = [ -0.2, 0.3, 0.5,]

[metadata]
adjusted = false
error = 0.25
)";

// The old properties, for row vectors, in millimetres.
const char* const kMatlabJson =
    R"({"CameraParameters1": {"RadialDistortion": [0.1, 0], "TangentialDistortion": [0.01, 0], "ImageSize": [480, 640],
  "WorldUnits": "millimeters", "IntrinsicMatrix": [[500, 0, 0], [0, 500, 0], [321, 241, 1]], "Version": {"Name": "MATLAB"}},
 "CameraParameters2": {"RadialDistortion": [0, 0, 0], "TangentialDistortion": [0, 0], "ImageSize": [480, 640], "WorldUnits": "millimeters",
  "IntrinsicMatrix": [[500, 0, 0], [0, 500, 0], [321, 241, 1]]},
 "RotationOfCamera2": [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], "TranslationOfCamera2": [-200, 300, 500]})";
// The new ones, for columns.
const char* const kMatlabNewJson =
    R"({"CameraParameters1": {"RadialDistortion": [0.1, 0], "TangentialDistortion": [0.01, 0], "ImageSize": [480, 640],
  "WorldUnits": "m", "K": [[500, 0, 321], [0, 500, 241], [0, 0, 1]]},
 "CameraParameters2": {"RadialDistortion": [0, 0], "TangentialDistortion": [0, 0], "ImageSize": [480, 640], "WorldUnits": "m",
  "K": [[500, 0, 321], [0, 500, 241], [0, 0, 1]]},
 "PoseCamera2": {"Dimensionality": 3, "R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "Translation": [-0.2, 0.3, 0.5]}})";

TEST(Formats, GoldenOpenCvStereo) {
  TemporaryFolder folder;
  Put(folder / "stereo.yml", kStereoYaml);
  EXPECT_EQ(RecogniseRig(folder / "stereo.yml"), RigFormat::kOpenCv);
  ExpectGolden(ReadRig(folder / "stereo.yml"));
  // Lengths in millimetres.
  RigReadOptions options;
  options.length_unit = 1e-3;
  EXPECT_NEAR(ReadRig(folder / "stereo.yml", options).cameras[1].X_WC.translation().norm(),
              1e-3 * std::sqrt(0.38), 1e-15);
}

TEST(Formats, GoldenOpenCvInTwoFilesWithoutSize) {
  TemporaryFolder folder;
  std::string text = kStereoYaml;
  const auto at = text.find("R: !!");
  Put(folder / "extrinsics.yml", "%YAML:1.0\n---\n" + text.substr(at));
  text.resize(at);
  for (const char* line : {"image_width: 640\n", "image_height: 480\n"})
    text.erase(text.find(line), std::string(line).size());
  Put(folder / "intrinsics.yml", text);
  RigReadOptions options;
  EXPECT_NE(MessageOf<ConfigError>([&] {
              ReadRig(folder / "intrinsics.yml", options);
            }).find("size of the images"),
            std::string::npos);
  options.width = 640, options.height = 480;
  EXPECT_NE(MessageOf<ConfigError>([&] {
              ReadRig(folder / "intrinsics.yml", options);
            }).find("file of extrinsics"),
            std::string::npos);
  options.extrinsics = folder / "extrinsics.yml";
  ExpectGolden(ReadRig(folder / "intrinsics.yml", options));
}

TEST(Formats, GoldenOpenCvSingleXmlAndFisheye) {
  TemporaryFolder folder;
  const std::string text = R"(<?xml version="1.0"?>
<opencv_storage>
<calibration_time>"Mon"</calibration_time>
<image_width>640</image_width>
<image_height>480</image_height>
<fisheye_model>1</fisheye_model>
<camera_matrix type_id="opencv-matrix">
  <rows>3</rows>
  <cols>3</cols>
  <dt>d</dt>
  <data>
    300. 0. 320. 0. 300. 240. 0. 0. 1.</data></camera_matrix>
<distortion_coefficients type_id="opencv-matrix">
  <rows>4</rows>
  <cols>1</cols>
  <dt>d</dt>
  <data>
    1.0000000000000000e-02 0. 0. 0.</data></distortion_coefficients>
</opencv_storage>
)";
  Put(folder / "left.xml", text);
  const CameraRig rig = ReadRig(folder / "left.xml");
  ASSERT_EQ(rig.cameras.size(), 1u);
  EXPECT_EQ(rig.cameras[0].name, "left");
  EXPECT_EQ(rig.cameras[0].camera.model, kFisheye);
  // At 45 degrees: theta (1 + 0.01 theta^2).
  const double theta = std::atan(1.0);
  EXPECT_NEAR((*Project(rig.cameras[0].camera, {1, 0, 1})).x(),
              320 + 300 * theta * (1 + 0.01 * theta * theta), 1e-10);
}

TEST(Formats, GoldenRosCameraFile) {
  TemporaryFolder folder;
  const std::string text =
      "image_width: 640\nimage_height: 480\ncamera_name: narrow\ncamera_matrix:\n  rows: 3\n  "
      "cols: 3\n"
      "  data: [500.0, 0.0, 320.0, 0.0, 500.0, 240.0, 0.0, 0.0, 1.0]\ndistortion_model: plumb_bob\n"
      "distortion_coefficients:\n  rows: 1\n  cols: 5\n  data: [0.1, 0.0, 0.01, 0.0, 0.0]\n";
  Put(folder / "ost.yaml", text);
  const CameraRig rig = ReadRig(folder / "ost.yaml");
  ASSERT_EQ(rig.cameras.size(), 1u);
  EXPECT_EQ(rig.cameras[0].name, "narrow");
  EXPECT_LT((*Project(rig.cameras[0].camera, kPoint) - kFirst).norm(), 1e-10);
  Put(folder / "ost.yaml",
      text.substr(0, text.find("plumb")) + "mystery" + text.substr(text.find("plumb") + 9));
  EXPECT_NE(MessageOf<ConfigError>([&] { ReadRig(folder / "ost.yaml"); }).find("mystery"),
            std::string::npos);
}

TEST(Formats, GoldenKalibr) {
  TemporaryFolder folder;
  Put(folder / "camchain.yaml", kKalibr);
  EXPECT_EQ(RecogniseRig(folder / "camchain.yaml"), RigFormat::kKalibr);
  const CameraRig rig = ReadRig(folder / "camchain.yaml");
  ExpectGolden(rig);
  EXPECT_EQ(rig.cameras[0].name, "left");
  EXPECT_EQ(rig.cameras[1].name, "right");
}

TEST(Formats, GoldenMrcal) {
  TemporaryFolder folder;
  Put(folder / "left.cameramodel", kMrcal[0]);
  Put(folder / "right.cameramodel", kMrcal[1]);
  Put(folder / "readme.txt", "nothing");
  EXPECT_EQ(RecogniseRig(folder.path()), RigFormat::kMrcal);
  const CameraRig rig = ReadRig(folder.path());
  ExpectGolden(rig);
  EXPECT_EQ(rig.cameras[1].name, "right");
  const CameraRig right = ReadRig(folder / "right.cameramodel");
  EXPECT_EQ(right.world.source, "given");
  EXPECT_EQ(right.cameras[0].X_WC.matrix(), rig.cameras[1].X_WC.matrix());
}

TEST(Formats, GoldenAniposelib) {
  TemporaryFolder folder;
  Put(folder / "calibration.toml", kToml);
  EXPECT_EQ(RecogniseRig(folder / "calibration.toml"), RigFormat::kAniposelib);
  const CameraRig rig = ReadRig(folder / "calibration.toml");
  ExpectGolden(rig);
  EXPECT_EQ(rig.cameras[1].name, "right");
}

// Written out from K [I | (0, 0, 2)]: point (0.1, 0.05, 0) of W is (0.1, 0.05, 2) before the camera
// and so at (345, 252.5).
TEST(Formats, GoldenDlt) {
  TemporaryFolder folder;
  const std::string lower = "250\n0\n160.5\n321\n0\n-250\n120\n240\n0\n0\n0.5\n",
                    upper = "250\n0\n160.5\n321\n0\n250\n120.5\n241\n0\n0\n0.5\n";
  RigReadOptions options;
  options.width = 640, options.height = 480;
  for (const std::string& text : {lower, upper}) {
    for (const bool told : {false, true}) {
      options.dlt_origin = RigReadOptions::DltOrigin::kByHandedness;
      if (told)
        options.dlt_origin = text == lower ? RigReadOptions::DltOrigin::kLowerLeft
                                           : RigReadOptions::DltOrigin::kUpperLeft;
      Put(folder / "dlt.csv", text);
      EXPECT_EQ(RecogniseRig(folder / "dlt.csv"), RigFormat::kDlt);
      const CameraRig rig = ReadRig(folder / "dlt.csv", options);
      ASSERT_EQ(rig.cameras.size(), 1u);
      EXPECT_EQ(rig.world.source, "given");
      EXPECT_LT((rig.cameras[0].X_WC.translation() - Eigen::Vector3d(0, 0, -2)).norm(), 1e-14);
      const auto q = Project(rig.cameras[0].camera,
                             rig.cameras[0].X_WC.inverse() * Eigen::Vector3d(0.1, 0.05, 0));
      ASSERT_TRUE(q);
      EXPECT_LT((*q - Eigen::Vector2d(345, 252.5)).norm(), 1e-10);
    }
  }
  // Two cameras that count differently are named; so is a file without a size.
  std::string both;
  for (std::size_t a = 0, b = 0; a < lower.size();) {
    const auto end_a = lower.find('\n', a), end_b = upper.find('\n', b);
    both += lower.substr(a, end_a - a) + "," + upper.substr(b, end_b - b) + "\r\n";
    a = end_a + 1, b = end_b + 1;
  }
  Put(folder / "dlt.csv", both);
  options.dlt_origin = RigReadOptions::DltOrigin::kByHandedness;
  EXPECT_NE(MessageOf<ConfigError>([&] { ReadRig(folder / "dlt.csv", options); }).find("column 2"),
            std::string::npos);
  EXPECT_NE(MessageOf<ConfigError>([&] { ReadRig(folder / "dlt.csv"); }).find("size of the images"),
            std::string::npos);
}

// Coefficients of any camera give it back, wherever the origin of W is.
TEST(Formats, DltOfRandomCameras) {
  TemporaryFolder folder;
  Random random(11);
  RigReadOptions options;
  options.width = 640, options.height = 480;
  for (int trial = 0; trial < 60; ++trial) {
    CameraRig rig = RandomRig(random, {kBrown, kBrown, kBrown}, false, 0);
    const bool lower = trial % 2;
    std::array<std::string, 11> rows;
    for (RigCamera& item : rig.cameras) {
      Eigen::VectorXd values = Intrinsics(item.camera);
      values.tail(5).setZero();
      SetIntrinsics(item.camera, values);
      Eigen::Matrix3d K;
      K << values[0], 0, values[2] + 1, 0, lower ? -values[1] : values[1],
          lower ? 480 - values[3] : values[3] + 1, 0, 0, 1;
      const Eigen::Isometry3d X_CW = item.X_WC.inverse();
      Eigen::Matrix<double, 3, 4> P = K * X_CW.matrix().topRows<3>();
      P /= P(2, 3);
      for (int i = 0; i < 11; ++i)
        rows[i] += (rows[i].empty() ? "" : ",") + cv::format("%.17g", P(i / 4, i % 4));
    }
    std::string text;
    for (const auto& row : rows) text += row + "\n";
    Put(folder / "dlt.csv", text);
    options.dlt_origin =
        lower ? RigReadOptions::DltOrigin::kLowerLeft : RigReadOptions::DltOrigin::kUpperLeft;
    const CameraRig back = ReadRig(folder / "dlt.csv", options);
    ASSERT_EQ(back.cameras.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LT((Intrinsics(back.cameras[i].camera) - Intrinsics(rig.cameras[i].camera)).norm(),
                1e-7);
      EXPECT_LT((back.cameras[i].X_WC.matrix() - rig.cameras[i].X_WC.matrix()).norm(), 1e-9);
    }
  }
}

TEST(Formats, DltWithSkewIsRefusedWhenItMatters) {
  TemporaryFolder folder;
  RigReadOptions options;
  options.width = 640, options.height = 480;
  // skew 10 px: 4.8 px at the edge
  Put(folder / "dlt.csv", "250\n5\n160.5\n321\n0\n250\n120.5\n241\n0\n0\n0.5\n");
  const auto message = MessageOf<ConfigError>([&] { ReadRig(folder / "dlt.csv", options); });
  EXPECT_NE(message.find("skew"), std::string::npos) << message;
  EXPECT_NE(message.find("4.8 px"), std::string::npos) << message;
  options.max_skew = 5;
  EXPECT_NO_THROW(ReadRig(folder / "dlt.csv", options));
}

TEST(Formats, GoldenMatlabText) {
  TemporaryFolder folder;
  Put(folder / "old.json", kMatlabJson);
  EXPECT_EQ(RecogniseRig(folder / "old.json"), RigFormat::kMatlab);
  ExpectGolden(ReadRig(folder / "old.json"));
  Put(folder / "new.json", kMatlabNewJson);
  ExpectGolden(ReadRig(folder / "new.json"));
  std::string matrix = kMatlabNewJson;
  const auto at = matrix.find("{\"Dimensionality\"");
  matrix.replace(at, matrix.find('}', at) + 1 - at,
                 "[[0, -1, 0, -0.2], [1, 0, 0, 0.3], [0, 0, 1, 0.5], [0, 0, 0, 1]]");
  Put(folder / "new.json", matrix);
  ExpectGolden(ReadRig(folder / "new.json"));
}

matvar_t* Matrix(const char* name, std::vector<double> row_by_row, std::size_t rows) {
  std::size_t dims[2] = {rows, row_by_row.size() / rows};
  std::vector<double> columns(row_by_row.size());
  for (std::size_t i = 0; i < dims[0]; ++i) {
    for (std::size_t j = 0; j < dims[1]; ++j)
      columns[i + j * dims[0]] = row_by_row[i * dims[1] + j];
  }
  return Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, columns.data(), 0);
}

void WriteMat(const std::filesystem::path& path, mat_ft version) {
  std::size_t one[2] = {1, 1};
  const auto camera = [&](const char* name, double k1, double p1) {
    const char* fields[] = {"RadialDistortion", "TangentialDistortion", "ImageSize", "WorldUnits",
                            "IntrinsicMatrix"};
    matvar_t* parameters = Mat_VarCreateStruct(name, 2, one, fields, 5);
    Mat_VarSetStructFieldByName(parameters, "RadialDistortion", 0,
                                Matrix("RadialDistortion", {k1, 0}, 1));
    Mat_VarSetStructFieldByName(parameters, "TangentialDistortion", 0,
                                Matrix("TangentialDistortion", {p1, 0}, 1));
    Mat_VarSetStructFieldByName(parameters, "ImageSize", 0, Matrix("ImageSize", {480, 640}, 1));
    std::string unit = "mm";
    std::size_t dims[2] = {1, unit.size()};
    Mat_VarSetStructFieldByName(
        parameters, "WorldUnits", 0,
        Mat_VarCreate("WorldUnits", MAT_C_CHAR, MAT_T_UTF8, 2, dims, unit.data(), 0));
    Mat_VarSetStructFieldByName(parameters, "IntrinsicMatrix", 0,
                                Matrix("IntrinsicMatrix", {500, 0, 0, 0, 500, 0, 321, 241, 1}, 3));
    return parameters;
  };
  const char* fields[] = {"CameraParameters1", "CameraParameters2", "RotationOfCamera2",
                          "TranslationOfCamera2"};
  matvar_t* stereo = Mat_VarCreateStruct("p", 2, one, fields, 4);
  Mat_VarSetStructFieldByName(stereo, "CameraParameters1", 0,
                              camera("CameraParameters1", 0.1, 0.01));
  Mat_VarSetStructFieldByName(stereo, "CameraParameters2", 0, camera("CameraParameters2", 0, 0));
  Mat_VarSetStructFieldByName(stereo, "RotationOfCamera2", 0,
                              Matrix("RotationOfCamera2", {0, 1, 0, -1, 0, 0, 0, 0, 1}, 3));
  Mat_VarSetStructFieldByName(stereo, "TranslationOfCamera2", 0,
                              Matrix("TranslationOfCamera2", {-200, 300, 500}, 1));
  mat_t* file = Mat_CreateVer(path.c_str(), nullptr, version);
  ASSERT_NE(file, nullptr);
  matvar_t* other = Matrix("something", {1, 2, 3, 4}, 2);
  Mat_VarWrite(file, other, MAT_COMPRESSION_NONE);
  Mat_VarWrite(file, stereo, version == MAT_FT_MAT5 ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE);
  Mat_VarFree(other);
  Mat_VarFree(stereo);
  Mat_Close(file);
}

TEST(Formats, GoldenMatlabMat) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("impactlab_rig_" + std::to_string(::getpid()) + ".mat");
  WriteMat(path, MAT_FT_MAT5);
  EXPECT_EQ(RecogniseRig(path), RigFormat::kMatlab);
  ExpectGolden(ReadRig(path));
  const std::string bytes = Get(path);
  // Cut short or spoilt it is refused.
  for (const std::size_t keep :
       {std::size_t{0}, std::size_t{100}, std::size_t{130}, bytes.size() / 2}) {
    Put(path, bytes.substr(0, keep));
    EXPECT_THROW(ReadRig(path), ConfigError) << keep;
  }
  std::filesystem::remove(path);
  EXPECT_THROW(ReadRig(path), ConfigError);
}

TEST(Formats, RoundTrips) {
  TemporaryFolder folder;
  Random random(21);
  struct Case {
    RigFormat format;
    std::string file;
    std::vector<LensModel> models;
    bool first_at_origin;
    int sizes;
    bool no_k3;
  };
  const std::vector<Case> cases = {
      {RigFormat::kImpactLab, "rig.yaml", {kBrown, kRational, kFisheye}, false, 3, false},
      {RigFormat::kOpenCv, "one.yml", {kBrown}, true, 0, false},
      {RigFormat::kOpenCv, "one.xml", {kRational}, true, 0, false},
      {RigFormat::kOpenCv, "one.json", {kFisheye}, true, 0, false},
      {RigFormat::kOpenCv, "one.yaml", {kFisheye}, false, 0, false},
      {RigFormat::kOpenCv, "two.yml", {kBrown, kRational}, true, 0, false},
      {RigFormat::kOpenCv, "two.xml", {kFisheye, kFisheye}, true, 0, false},
      {RigFormat::kOpenCv, "mixed.xml", {kFisheye, kBrown}, true, 5, false},
      {RigFormat::kOpenCv, "four.yml", {kBrown, kRational, kFisheye, kBrown}, false, 5, false},
      {RigFormat::kOpenCv, "four.json", {kBrown, kRational, kFisheye, kBrown}, false, 5, false},
      {RigFormat::kKalibr, "camchain.yaml", {kBrown, kFisheye, kFisheye, kBrown}, true, 5, true},
      {RigFormat::kMrcal, "one.cameramodel", {kRational}, false, 0, false},
      {RigFormat::kMrcal, "models", {kBrown, kRational, kBrown}, false, 5, false},
      {RigFormat::kAniposelib, "calibration.toml", {kBrown, kFisheye, kBrown}, false, 5, false},
  };
  for (const Case& item : cases) {
    for (int trial = 0; trial < 5; ++trial) {
      CameraRig rig = RandomRig(random, item.models, item.first_at_origin, item.sizes);
      for (std::size_t i = 0; i < rig.cameras.size() && item.no_k3; ++i)
        rig.cameras[i].camera.distortion[4] = 0;
      for (RigCamera& camera : rig.cameras) SetIntrinsics(camera.camera, Intrinsics(camera.camera));
      if (item.file == "one.cameramodel") rig.cameras[0].name = "one";
      const auto path = folder / item.file;
      WriteRig(path, rig, item.format);
      EXPECT_EQ(RecogniseRig(path), item.format) << item.file;
      const CameraRig back = ReadRig(path);
      ExpectSame(rig, back, item.file);
      // A second turn changes nothing that is not a rounding of the pose.
      if (trial > 0) continue;
      WriteRig(path, back, item.format);
      ExpectSame(rig, ReadRig(path), item.file);
    }
  }
}

TEST(Formats, NamesSurvive) {
  TemporaryFolder folder;
  Random random(22);
  CameraRig rig = RandomRig(random, {kBrown, kBrown}, true, 0);
  for (RigCamera& item : rig.cameras) {
    item.camera.distortion[4] = 0;
    SetIntrinsics(item.camera, Intrinsics(item.camera));
  }
  for (const auto& [first, second] :
       {std::pair<std::string, std::string>{"Kamera Süd", "east \"2\" \\x"},
        {"1", "2.5"},
        {"#a: b", "<c> & d"}}) {
    rig.cameras[0].name = first, rig.cameras[1].name = second;
    for (const auto& [format, file] : {std::pair{RigFormat::kImpactLab, "r.yaml"},
                                       {RigFormat::kOpenCv, "r.yml"},
                                       {RigFormat::kOpenCv, "r.xml"},
                                       {RigFormat::kOpenCv, "r.json"},
                                       {RigFormat::kKalibr, "camchain.yaml"},
                                       {RigFormat::kAniposelib, "c.toml"}}) {
      WriteRig(folder / file, rig, format);
      const CameraRig back = ReadRig(folder / file);
      EXPECT_EQ(back.cameras[0].name, first) << file;
      EXPECT_EQ(back.cameras[1].name, second) << file;
    }
  }
}

TEST(Formats, WhatAFormatCannotCarry) {
  TemporaryFolder folder;
  Random random(23);
  const auto refused = [&](const CameraRig& rig, RigFormat format, const std::string& file,
                           const std::vector<std::string>& words) {
    const std::string message =
        MessageOf<ConfigError>([&] { WriteRig(folder / file, rig, format); });
    for (const auto& word : words) EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(folder / file)) << file;
  };
  const CameraRig brown = RandomRig(random, {kBrown}, true, 0),
                  rational = RandomRig(random, {kRational}, true, 0);
  const CameraRig fisheye = RandomRig(random, {kFisheye}, true, 0),
                  placed = RandomRig(random, {kFisheye, kFisheye}, false, 0);
  refused(brown, RigFormat::kKalibr, "a.yaml", {"third radial", "opencv", "mrcal", "aniposelib"});
  refused(rational, RigFormat::kKalibr, "a.yaml", {"rational", "impactlab, opencv and mrcal"});
  refused(fisheye, RigFormat::kMrcal, "a.cameramodel", {"fisheye", "kalibr"});
  refused(rational, RigFormat::kAniposelib, "a.toml", {"rational", "mrcal"});
  refused(brown, RigFormat::kDlt, "a.csv", {"dlt", "impactlab, opencv"});
  refused(brown, RigFormat::kMatlab, "a.mat", {"matlab", "impactlab, opencv"});
  refused(brown, RigFormat::kOpenCv, "a.txt", {".txt", ".yml"});
  refused(placed, RigFormat::kKalibr, "a.yaml", {"origin of W", "aniposelib"});
  RigWriteOptions options;
  options.relative = true;
  WriteRig(folder / "relative.yaml", placed, RigFormat::kKalibr, options);
  const CameraRig back = ReadRig(folder / "relative.yaml");
  const Eigen::Isometry3d expected = placed.cameras[0].X_WC.inverse() * placed.cameras[1].X_WC;
  EXPECT_LT((back.cameras[1].X_WC.matrix() - expected.matrix()).norm(), 1e-14);
  // Folders of mrcal models are read in the order of names.
  CameraRig unordered = RandomRig(random, {kBrown, kBrown}, true, 0);
  std::swap(unordered.cameras[0].name, unordered.cameras[1].name);
  refused(unordered, RigFormat::kMrcal, "models", {"order of their names"});
  unordered.cameras[0].name = "a", unordered.cameras[1].name = "../b";
  refused(unordered, RigFormat::kMrcal, "models", {"../b"});
  refused(unordered, RigFormat::kMrcal, "two.cameramodel", {"2 cameras", "folder"});
  Put(folder / "models/old.cameramodel", kMrcal[0]);
  unordered.cameras[1].name = "b";
  EXPECT_NE(MessageOf<ConfigError>([&] {
              WriteRig(folder / "models", unordered, RigFormat::kMrcal);
            }).find("old.cameramodel"),
            std::string::npos);
  // Nonsense is refused before it is written.
  CameraRig nonsense = brown;
  nonsense.cameras[0].camera.fx = std::nan("");
  refused(nonsense, RigFormat::kOpenCv, "a.yml", {"fx_px"});
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(Formats, RefusalsNameWhatIsWrong) {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& file, const std::string& text,
                           const std::vector<std::string>& words) {
    Put(folder / file, text);
    const std::string message = MessageOf<ConfigError>([&] { ReadRig(folder / file); });
    EXPECT_NE(message.find(file), std::string::npos) << message;
    for (const auto& word : words) EXPECT_NE(message.find(word), std::string::npos) << message;
  };
  refused("a.yaml", "hello: 1\n", {"none of the formats", "camchain.yaml", "mrcal"});
  refused("a.bin", "", {"none of the formats"});
  refused("a.yml", Replaced(kStereoYaml, "500., 0., 320.", "500., 3., 320."), {"M1", "skew"});
  refused("a.yml", Replaced(kStereoYaml, "500., 0., 320.", "-500., 0., 320."), {"M1", "fx"});
  refused("a.yml", Replaced(kStereoYaml, "0., -1., 0., 1.,", "0., 1., 0., 1.,"), {"R", "rotation"});
  refused("a.yml", Replaced(kStereoYaml, "[ 0.1, 0., 0.01", "[ -8., 0., 0.01"),
          {"folds inside the image"});
  refused("a.yml", Replaced(kStereoYaml, "[ 0.1, 0., 0.01", "[ .Nan, 0., 0.01"),
          {"D1", "finite number"});
  refused("a.yml", Replaced(kStereoYaml, "image_width: 640", "image_width: 640.5"),
          {"image_width"});
  refused("a.yml", Replaced(kStereoYaml, "0., 0., 0. ]\nR:", "0., 0., 0.1 ]\nR:"), {"tilted"});
  refused("a.yml", "%YAML:1.0\n---\nimages:\n  - a.jpg\n", {"no camera"});
  refused("a.xml",
          "<?xml "
          "version=\"1.0\"?>\n<opencv_storage>\n<imagelist>\n\"left01.jpg\"\n</imagelist>\n</"
          "opencv_storage>\n",
          {"no camera"});
  refused("a.xml", "<?xml version=\"1.0\"?>\n<opencv_storage>\n<image", {"stays open"});
  refused("a.yaml", Replaced(kKalibr, "camera_model: pinhole", "camera_model: omni"),
          {"camera_model", "omni"});
  refused("a.yaml", Replaced(kKalibr, "radtan", "fov"), {"distortion_model", "fov"});
  refused("a.yaml", Replaced(kKalibr, "cam1:", "cam2:"), {"cam1"});
  refused("a.yaml", Replaced(kKalibr, "  T_cn_cnm1", "  T_cam_imu"), {"T_cn_cnm1"});
  refused("a.yaml", Replaced(kKalibr, "[0.0, 0.0, 0.0, 1.0]", "[0.0, 0.0, 1.0, 1.0]"),
          {"last row"});
  for (const char* model : {"LENSMODEL_SPLINED_STEREOGRAPHIC_order=3_Nx=30_Ny=18_fov_x_deg=150",
                            "LENSMODEL_CAHVOR", "LENSMODEL_CAHVORE_linearity=0.4"}) {
    refused("a.cameramodel", Replaced(kMrcal[0], "LENSMODEL_OPENCV4", model),
            {std::string(model).substr(0, 15), "mrcal-convert-lensmodel"});
  }
  refused("a.cameramodel", Replaced(kMrcal[0], "'lensmodel'", "'model'"),
          {"lensmodel", "required"});
  refused("a.cameramodel", Replaced(kMrcal[0], "0.01, 0,]", "0.01,]"), {"intrinsics", "7 numbers"});
  refused("a.cameramodel", Replaced(kMrcal[0], "0.01, 0,]", "0.01, nan]"),
          {"a.cameramodel:5", "nan"});
  refused("a.cameramodel", Replaced(kMrcal[0], "}", ""), {"a.cameramodel:"});
  refused("a.cameramodel", std::string(40, '{'), {"a.cameramodel:1"});
  refused("a.cameramodel", "{'a': " + std::string(40, '['), {"nesting"});
  refused("a.toml", Replaced(kToml, "name = \"left\"", "name = \"right\""), {"right", "twice"});
  refused("a.toml", Replaced(kToml, "size = [ 640, 480,]", "size = [ 640 480,]"), {"a.toml:3"});
  refused("a.toml", Replaced(kToml, "distortions", "distortion"), {"cam_0", "distortions"});
  refused("a.toml", Replaced(kToml, "320.0", "inf"), {"finite"});
  refused("a.toml", "[metadata]\n", {"no cameras"});
  refused("a.csv", "1,2\n3,4\n", {"2 rows", "11 rows"});
  refused("a.json",
          Replaced(kMatlabJson, "\"WorldUnits\": \"millimeters\"", "\"WorldUnits\": \"furlongs\""),
          {"WorldUnits", "furlongs"});
  refused("a.json", Replaced(kMatlabJson, "[0.1, 0]", "[0.1]"), {"radial"});
  refused("a.json", Replaced(kMatlabJson, "\"TranslationOfCamera2\"", "\"Translation\""),
          {"TranslationOfCamera2"});
  refused("a.json", "{\"K\": ", {"JSON"});
  refused("a.json", "{\"a\": 1}", {"no camera parameters"});
  refused("a.mat", "MATLAB 5.0 MAT-file, nothing of the kind", {"a.mat"});
  std::filesystem::create_directories(folder / "empty");
  EXPECT_NE(MessageOf<ConfigError>([&] { ReadRig(folder / "empty"); }).find("without .cameramodel"),
            std::string::npos);
}

// Cut anywhere, or with bytes changed, a file is read or refused in one line; nothing else happens.
TEST(Formats, HostileBytes) {
  TemporaryFolder folder;
  Random random(31);
  const std::pair<std::string, std::string> files[] = {
      {"a.yml", kStereoYaml},       {"camchain.yaml", kKalibr}, {"a.cameramodel", kMrcal[0]},
      {"b.cameramodel", kMrcal[1]}, {"a.toml", kToml},          {"a.json", kMatlabJson},
      {"b.json", kMatlabNewJson}};
  int refused = 0, read = 0;
  for (const auto& [file, text] : files) {
    for (int trial = 0; trial < 120; ++trial) {
      std::string spoilt = text;
      if (trial % 3 == 0) spoilt.resize(random() % text.size());
      for (int i = 0; i < 1 + trial % 4 && !spoilt.empty() && trial % 3; ++i) {
        const char bytes[] = {'\0', '-', '9', 'e', '"', '\n', '[', '{', ',', '\xff', ' ', ':'};
        spoilt[random() % spoilt.size()] = bytes[random() % sizeof bytes];
      }
      // a new file is not flushed to the disk, one that is cut short is
      std::filesystem::remove(folder / file);
      Put(folder / file, spoilt);
      try {
        ReadRig(folder / file);
        ++read;
      } catch (const ConfigError& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(read, 20);
}

TEST(Formats, FilesOfOpenCvsDocumentation) {
  const char* given = std::getenv("IMPACTLAB_OPENCV_DOC");
  const std::filesystem::path data = given ? given : "/usr/share/doc/opencv-doc/examples/data";
  if (!std::filesystem::exists(data / "left_intrinsics.yml"))
    GTEST_SKIP() << "skipped: opencv-doc images absent";
  const CameraRig rig = ReadRig(data / "left_intrinsics.yml");
  ASSERT_EQ(rig.cameras.size(), 1u);
  const Camera& camera = rig.cameras[0].camera;
  EXPECT_EQ(camera.fx, 5.3591573396163199e+02);
  EXPECT_EQ(camera.cy, 2.3557082909788173e+02);
  EXPECT_EQ(camera.distortion[4], 2.3839153080878486e-01);
  EXPECT_EQ(camera.width, 640);
  EXPECT_NE(MessageOf<ConfigError>([&] { ReadRig(data / "stereo_calib.xml"); }).find("no camera"),
            std::string::npos);
  RigReadOptions options;
  options.width = 640, options.height = 480;
  EXPECT_NE(
      MessageOf<ConfigError>([&] { ReadRig(data / "intrinsics.yml", options); }).find("extrinsics"),
      std::string::npos);
}

}  // namespace
}  // namespace impactlab
