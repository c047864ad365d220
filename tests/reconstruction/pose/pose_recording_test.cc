#include "reconstruction/pose/pose_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PoseFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("impactlab_poses_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Write(const std::string& text, const std::string& name = "drop_007.csv") {
    std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // The message of the DataError or ConfigError that reading throws; empty when it does not.
  std::string Complaint(const std::string& text, const PoseColumns& columns = {}) {
    const std::filesystem::path path = Write(text);
    try {
      ReadPoses(path, columns);
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    } catch (const ConfigError& error) {
      return std::string("config: ") + error.what();
    }
    return {};
  }

  std::filesystem::path folder_;
};

PoseColumns Spatial() {
  PoseColumns columns;
  columns.planar = false;
  return columns;
}

TEST_F(PoseFile, PlanarInAnyOrderAndUnit) {
  const PoseRecording recording = ReadPoses(
      Write("theta_deg,z_mm,note,t_ms,x_mm\n90,10,first,1000,-20\n95,11,,1004,-21\n"), {});
  EXPECT_EQ(recording.name, "drop_007");
  EXPECT_TRUE(recording.planar);
  ASSERT_EQ(recording.t.size(), 2u);
  EXPECT_DOUBLE_EQ(recording.t[1], 1.004);
  EXPECT_NEAR(recording.theta[0], M_PI / 2, 1e-15);
  EXPECT_NEAR(recording.X_WB[1].translation().x(), -0.021, 1e-15);
  EXPECT_EQ(recording.X_WB[1].translation().y(), 0);
  EXPECT_NEAR(recording.X_WB[0].translation().z(), 0.010, 1e-15);
  // Counter-clockwise with x right and z up: B_x turns towards W_z.
  EXPECT_NEAR((recording.X_WB[0].linear() * Vector3d::UnitX() - Vector3d::UnitZ()).norm(), 0,
              1e-15);
}

TEST_F(PoseFile, ThetaIsUnwrapped) {
  const PoseRecording recording =
      ReadPoses(Write("t_s,x_m,z_m,theta_rad\n0,0,0,3.0\n1,0,0,-3.1\n2,0,0,-2.5\n3,0,0,3.0\n"), {});
  EXPECT_NEAR(recording.theta[1], 2 * M_PI - 3.1, 1e-12);
  EXPECT_NEAR(recording.theta[2], 2 * M_PI - 2.5, 1e-12);
  EXPECT_NEAR(recording.theta[3], 3.0, 1e-12);
}

TEST_F(PoseFile, SpatialQuaternionsAreNormalisedAndTheirSignIsFree) {
  const std::string header = "t_s,x_m,y_m,z_m,qw,qx,qy,qz\n";
  const PoseRecording recording = ReadPoses(
      Write(header + "0,1,2,3,0.5002,0.5,0.5,0.5\n0.1,1,2,3,-0.5,-0.5,-0.5,-0.5\n"), Spatial());
  EXPECT_FALSE(recording.planar);
  EXPECT_TRUE(recording.theta.empty());
  EXPECT_NEAR((recording.X_WB[0].linear() - recording.X_WB[1].linear()).norm(), 0, 1e-3);
  EXPECT_NEAR(
      (recording.X_WB[0].linear().transpose() * recording.X_WB[0].linear() - Matrix3d::Identity())
          .norm(),
      0, 1e-14);
  EXPECT_NEAR((recording.X_WB[1].linear() * Vector3d::UnitX() - Vector3d::UnitY()).norm(), 0,
              1e-15);
  EXPECT_THAT(Complaint(header + "0,1,2,3,1,0,0,0\n0.1,1,2,3,0.5,0.5,0.5,0.3\n", Spatial()),
              AllOf(HasSubstr("data:"), HasSubstr("row 3"), HasSubstr("quaternion"),
                    HasSubstr("length 1")));
  EXPECT_THAT(Complaint(header + "0,1,2,3,0,0,0,0\n", Spatial()),
              HasSubstr("quaternion of length 0"));
}

TEST_F(PoseFile, MissingColumnNamesTheNearest) {
  EXPECT_THAT(Complaint("t_s,x_m,z_m,theat_rad\n0,0,0,0\n"),
              AllOf(HasSubstr("data:"), HasSubstr("theta"), HasSubstr("theat_rad")));
  EXPECT_THAT(Complaint("t_s,x_m,y_m,z_m,qw,qx,qy\n0,0,0,0,1,0,0\n", Spatial()),
              AllOf(HasSubstr("data:"), HasSubstr("qz")));
}

TEST_F(PoseFile, UnitOfTheWrongKind) {
  EXPECT_THAT(Complaint("t_s,x_deg,z_m,theta_rad\n0,0,0,0\n"),
              AllOf(HasSubstr("data:"), HasSubstr("x_deg")));
  EXPECT_THAT(Complaint("t,x_m,z_m,theta_rad\n0,0,0,0\n"), HasSubstr("data:"));
}

TEST_F(PoseFile, BrokenNumbersAndRows) {
  const std::string header = "t_s,x_m,z_m,theta_rad\n";
  EXPECT_THAT(Complaint(header + "0,0,0,0\n0.1,nan,0,0\n"),
              AllOf(HasSubstr("row 3"), HasSubstr("x_m")));
  EXPECT_THAT(Complaint(header + "0,0,0,0\n0.1,,0,0\n"),
              AllOf(HasSubstr("row 3"), HasSubstr("empty")));
  EXPECT_THAT(Complaint(header + "0,0,0,0\n0.1,inf,0,0\n"), HasSubstr("row 3"));
  EXPECT_THAT(Complaint(header + "0,0,0\n"), HasSubstr("row 2"));
  EXPECT_THAT(Complaint(""), HasSubstr("data:"));
  EXPECT_THAT(Complaint(header), HasSubstr("data:"));
  EXPECT_THAT(Complaint("\n\n# only a comment\n"), HasSubstr("data:"));
  EXPECT_THROW(ReadPoses(folder_ / "absent.csv", {}), DataError);
  EXPECT_THROW(ReadPoses(folder_, {}), DataError);
}

TEST_F(PoseFile, TimesHaveToIncrease) {
  const std::string header = "t_s,x_m,z_m,theta_rad\n";
  EXPECT_THAT(Complaint(header + "0,0,0,0\n0.2,0,0,0\n0.1,0,0,0\n"),
              AllOf(HasSubstr("row 4"), HasSubstr("t_s"), HasSubstr("increase")));
  EXPECT_THAT(Complaint(header + "0,0,0,0\n0.1,0,0,0\n0.1,0,0,0\n"),
              AllOf(HasSubstr("row 4"), HasSubstr("again")));
  EXPECT_EQ(Complaint(header + "0,0,0,0\n"), "");
}

TEST_F(PoseFile, ForeignHeadersByMapping) {
  PoseColumns columns;
  columns.names = {
      {"t", "Frame Time s"}, {"x", "Pos X mm"}, {"z", "Height"}, {"theta", "roll_deg"}};
  const PoseRecording recording =
      ReadPoses(Write("# exported\nPos X;Frame "
                      "Time;Marker;Height;roll_deg\n1000;0.5;A;0.25;180\n1001;0.6;lost;0.26;181\n"),
                columns);
  EXPECT_DOUBLE_EQ(recording.X_WB[0].translation().x(), 1.0);
  EXPECT_DOUBLE_EQ(recording.X_WB[1].translation().z(), 0.26);
  EXPECT_DOUBLE_EQ(recording.t[1], 0.6);
  EXPECT_NEAR(recording.theta[0], M_PI, 1e-15);

  columns.names["x"] = "Pos Y mm";
  EXPECT_THAT(Complaint("Pos X,Frame Time,Height,roll_deg\n1,2,3,4\n", columns),
              AllOf(HasSubstr("data:"), HasSubstr("Pos X")));
  columns.names["x"] = "Pos X deg";
  EXPECT_THAT(Complaint("Pos X,Frame Time,Height,roll_deg\n1,2,3,4\n", columns),
              AllOf(HasSubstr("config:"), HasSubstr("length")));
  columns.names["x"] = "Pos X furlong";
  EXPECT_THAT(Complaint("Pos X,Frame Time,Height,roll_deg\n1,2,3,4\n", columns),
              HasSubstr("config:"));
  columns.names = {{"thteta", "roll_deg"}};
  EXPECT_THAT(Complaint("t_s,x_m,z_m,theta_rad\n0,0,0,0\n", columns),
              AllOf(HasSubstr("config:"), HasSubstr("theta")));
}

TEST_F(PoseFile, ByteOrderMarkAndQuotes) {
  EXPECT_EQ(
      Complaint("\xEF\xBB\xBF\"t_s\",\"x_m\",\"z_m\",\"theta_rad\"\r\n0,0,0,0\r\n0.1,0,0,0\r\n"),
      "");
}

// The error of FrameCorrection's definition, written out: recorded = error applied to truth.
PoseRecording Spoil(const PoseRecording& truth, const FrameCorrection& error) {
  PoseRecording out = truth;
  const double angle = error.rotation_offset_B.norm();
  const Matrix3d turn =
      angle > 0 ? Eigen::AngleAxisd(angle, error.rotation_offset_B / angle).toRotationMatrix()
                : Matrix3d(Matrix3d::Identity());
  const Matrix3d mirror = truth.planar ? Matrix3d(Vector3d(-1, 1, 1).asDiagonal())
                                       : Matrix3d(Vector3d(1, -1, 1).asDiagonal());
  for (std::size_t i = 0; i < truth.t.size(); ++i) {
    out.t[i] = error.clock_rate * truth.t[i];
    Matrix3d R = truth.X_WB[i].linear();
    Vector3d p = truth.X_WB[i].translation() - R * error.com_offset_B;
    if (error.mirrored) p = mirror * p;
    if (truth.planar) {
      out.theta[i] = (error.theta_flipped ? -1 : 1) * (truth.theta[i] + error.theta_offset());
      R = PlanarPose(0, 0, out.theta[i]).linear();
    } else {
      R = R * turn;
    }
    out.X_WB[i].linear() = R;
    out.X_WB[i].translation() = error.length_scale * p;
  }
  return out;
}

TEST(FrameCorrection, CorrectInvertsEveryPlantedError) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto random = [&](double size) {
    return Vector3d(size * uniform(rng), size * uniform(rng), size * uniform(rng));
  };
  for (int trial = 0; trial < 200; ++trial) {
    PoseRecording truth;
    truth.planar = trial % 2 == 0;
    for (int i = 0; i < 5; ++i) {
      truth.t.push_back(0.01 * i);
      Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
      if (truth.planar) {
        truth.theta.push_back(6 * uniform(rng));
        X = PlanarPose(uniform(rng), uniform(rng), truth.theta.back());
      } else {
        X.linear() = Eigen::Quaterniond(uniform(rng), uniform(rng), uniform(rng), uniform(rng))
                         .normalized()
                         .toRotationMatrix();
        X.translation() = Vector3d(uniform(rng), uniform(rng), uniform(rng));
      }
      truth.X_WB.push_back(X);
    }
    FrameCorrection error;
    error.rotation_offset_B = truth.planar ? Vector3d(0, 0.1 * uniform(rng), 0) : random(0.1);
    error.com_offset_B =
        truth.planar ? Vector3d(0.01 * uniform(rng), 0, 0.01 * uniform(rng)) : random(0.01);
    error.length_scale = 1 + 0.1 * uniform(rng);
    error.clock_rate = 1 + 0.1 * uniform(rng);
    error.mirrored = uniform(rng) > 0;
    error.theta_flipped = truth.planar && uniform(rng) > 0;
    const PoseRecording back = Correct(Spoil(truth, error), error);
    for (std::size_t i = 0; i < truth.t.size(); ++i) {
      EXPECT_NEAR(back.t[i], truth.t[i], 1e-15);
      EXPECT_LT((back.X_WB[i].matrix() - truth.X_WB[i].matrix()).cwiseAbs().maxCoeff(), 1e-14);
      if (!truth.planar) continue;
      EXPECT_NEAR(back.theta[i], truth.theta[i], 1e-14);
    }
    // An error left alone is seen.
    const PoseRecording spoiled = Spoil(truth, error);
    EXPECT_GT((spoiled.X_WB[1].matrix() - truth.X_WB[1].matrix()).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST(FrameCorrection, NothingToCorrectChangesNothing) {
  PoseRecording recording;
  recording.planar = true;
  recording.t = {0, 0.5};
  recording.theta = {0.3, 7.0};
  recording.X_WB = {PlanarPose(1, 2, 0.3), PlanarPose(1, 2, 7.0)};
  const PoseRecording same = Correct(recording, {});
  EXPECT_EQ(same.theta, recording.theta);
  EXPECT_EQ(same.t, recording.t);
  EXPECT_LT((same.X_WB[1].matrix() - recording.X_WB[1].matrix()).norm(), 1e-15);
  FrameCorrection bad;
  bad.length_scale = 0;
  EXPECT_THROW(Correct(recording, bad), ConfigError);
  bad.length_scale = 1;
  bad.clock_rate = std::nan("");
  EXPECT_THROW(Correct(recording, bad), ConfigError);
}

TEST(FrameCorrection, FloorMovesThenTilts) {
  FrameCorrection correction;
  correction.floor_offset = 0.01;
  correction.floor_tilt = 0.1;
  Plane floor;
  floor.offset = 0.5;
  const Plane out = CorrectedFloor(floor, correction);
  EXPECT_NEAR(out.normal.norm(), 1, 1e-15);
  // Counter-clockwise with x right and z up: a floor tilted by +0.1 rises to the right.
  const auto height = [&](double x) { return (out.offset - out.normal.x() * x) / out.normal.z(); };
  EXPECT_NEAR(height(0), 0.51, 1e-12);
  EXPECT_NEAR((height(1) - height(0)), std::tan(0.1), 1e-12);
  Plane scaled;
  scaled.normal = Vector3d(0, 0, 2);
  scaled.offset = 1.0;
  EXPECT_NEAR(CorrectedFloor(scaled, {}).offset, 0.5, 1e-15);
  EXPECT_THROW(CorrectedFloor(Plane{Vector3d::Zero(), 0}, {}), ConfigError);
}

}  // namespace
}  // namespace impactlab
