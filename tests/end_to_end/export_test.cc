// `impactlab export` the way a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/camera/rig.h"
#include "reconstruction/formats/marker_files.h"
#include "tests/support/process.h"
#include "tests/support/rig_twin.h"
#include "tracking/track/tracks.h"

namespace impactlab::test {
namespace {

using Eigen::Vector3d;
using ::testing::AllOf;
using ::testing::HasSubstr;

Vector3d MarkerAt(int drop, int marker, int frame) {
  return {0.15 + 0.01 * drop + 1e-3 * frame, -0.05 + 2e-3 * frame + 0.05 * marker, 0.02 * drop};
}

class ExportVerb : public ::testing::Test {
 protected:
  ExportVerb() {
    CameraRig rig;
    for (int c = 0; c < 2; ++c) {
      RigCamera camera;
      camera.name = c == 0 ? "left" : "right";
      camera.camera = MakePinhole(1280, 720, 1060);
      camera.X_WC.translation() = Vector3d(0.34 * c, 0, -0.9);
      rig.cameras.push_back(camera);
    }
    WriteText(File("rig.yaml"), ToYaml(rig));
    TracksWriter writer(File("tracks.csv"));
    for (int drop = 0; drop < 2; ++drop) {
      MarkerTracks tracks;
      tracks.recording = "drop" + std::to_string(drop + 1);
      tracks.cameras = {"left", "right"};
      tracks.markers = {"tip", "end"};
      for (int i = 0; i < 30; ++i)
        for (int k = 0; k < 4; ++k) {
          const int c = k / 2, m = k % 2;
          TrackPoint p;
          p.camera = c;
          p.marker = m;
          p.frame = i;
          p.t = i / 120.0;
          const RigCamera& camera = rig.cameras[static_cast<std::size_t>(c)];
          p.q = *Project(camera.camera, camera.X_WC.inverse() * MarkerAt(drop, m, i));
          p.cov = 0.0025 * Eigen::Matrix2d::Identity();
          // too long to be bridged
          if (i < 11 || i > 13 || c == 0 || m == 1) tracks.points.push_back(p);
        }
      Sort(&tracks);
      writer.Write(tracks);
    }
    writer.Commit();
  }
  std::filesystem::path File(const std::string& name) const { return scratch_.path() / name; }
  ProcessResult Run(std::vector<std::string> more) const {
    more.insert(more.begin(), "export");
    return RunProgram(more, scratch_.path());
  }
  void ExpectOneLine(const ProcessResult& result, const std::string& says) const {
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(ExportVerb, TracksToEveryFormatAndBack) {
  for (const char* extension : {"csv", "trc", "c3d"}) {
    SCOPED_TRACE(extension);
    const std::string out = std::string("points.") + extension;
    const ProcessResult result =
        Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--out", File(out), "--up-axis", "y"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("drop1: 2 markers, 30 frames, 95.0 %"),
                                  HasSubstr("3 images of a marker that no other camera sees")));
    for (int drop = 0; drop < 2; ++drop) {
      const std::string name = "points_drop" + std::to_string(drop + 1) + "." + extension;
      const MarkerFile file = ReadMarkerFile(File(name), {.up = UpAxis::kY});
      ASSERT_EQ(file.points.t.size(), 30u);
      EXPECT_FALSE(file.points.p_WM[0][12]);
      for (int i = 0; i < 30; ++i) {
        EXPECT_NEAR(file.points.t[static_cast<std::size_t>(i)], i / 120.0, 1e-12);
        for (std::size_t m = 0; m < 2; ++m) {
          const auto& p = file.points.p_WM[m][static_cast<std::size_t>(i)];
          if (i < 11 || i > 13 || m == 1) {
            EXPECT_LT(
                (p.value_or(Vector3d::Zero()) - MarkerAt(drop, static_cast<int>(m), i)).norm(),
                1e-6);
          }
        }
      }
    }
  }
  // From one to the next, and the text of the last is that of the first.
  EXPECT_EQ(Run({File("points_drop1.trc"), "--up-axis-of-file", "y", "--out", File("a.csv")}).code,
            0);
  EXPECT_EQ(Run({File("a.csv"), "--up-axis", "y", "--out", File("points_drop1_again.trc")}).code,
            0);
  std::string first = ReadText(File("points_drop1.trc")),
              again = ReadText(File("points_drop1_again.trc"));
  EXPECT_EQ(first.substr(first.find('\n')), again.substr(again.find('\n')));
  const ProcessResult c3d = Run({File("points_drop2.c3d"), "--out", File("b.csv")});
  EXPECT_EQ(c3d.code, 0);
  EXPECT_THAT(c3d.out, HasSubstr("c3d, y up")) << "the file says so itself";
}

TEST_F(ExportVerb, OneRecordingKeepsTheName) {
  EXPECT_EQ(Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--recording", "drop2", "--out",
                 File("p.trc"), "--unit", "m"})
                .code,
            0);
  EXPECT_THAT(ReadText(File("p.trc")), HasSubstr("\tm\t120"));
}

TEST_F(ExportVerb, MistakesAreOneLine) {
  ExpectOneLine(Run({File("tracks.csv"), "--out", File("p.trc")}), "--rig");
  ExpectOneLine(Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--out", File("p.bvh")}),
                ".csv, .trc or .c3d");
  ExpectOneLine(Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--out", File("p.trc"),
                     "--up-axis", "w"}),
                "x, y, z");
  ExpectOneLine(Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--out", File("p.trc"),
                     "--recording", "drop9"}),
                "drop1, drop2");
  ExpectOneLine(Run({File("tracks.csv"), "--rig", File("rig.yaml"), "--out", File("tracks.csv")}),
                "the file that is read");
  const ProcessResult missing = Run({File("none.c3d"), "--out", File("p.trc")});
  EXPECT_EQ(missing.code, 3) << missing.err;
  EXPECT_FALSE(std::filesystem::exists(File("p.trc")));
}

}  // namespace
}  // namespace impactlab::test
