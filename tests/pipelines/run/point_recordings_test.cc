// Markers in space as the way into a run: files of motion capture and of `export`.

#include "pipelines/run/point_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/base/error.h"
#include "pipelines/run/run.h"
#include "tests/reconstruction/drop_scene.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kPointRecordingsLayout =
    "names: [m1, m2, m3, m4], layout_m: [[0.045, 0.03, 0.025], [-0.04, 0.035, -0.01], [0.01, "
    "-0.035, 0.02], [-0.03, -0.02, -0.025]]";
const char* const kBody = "body: {shape: box, sides_m: [0.1, 0.07, 0.05], mass_kg: 0.3}\n";

class PointRecordingsTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  Experiment Load(const std::string& recordings, const std::string& more = "") const {
    return LoadExperiment(Write(
        "experiment.yaml", "schema: impactlab.experiment/1\nrecordings: {kind: marker_points, " +
                               recordings + "}\n" + kBody + more));
  }
  std::string Fault(const std::string& recordings) const {
    try {
      Load(recordings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }
  // What motion capture would deliver of drops of a box: its markers with noise `sd`, `rate` frames
  // a second.
  std::vector<test::Drop> WriteCaptures(int drops, double sd, const std::string& extension,
                                        int gap = -1) const {
    std::mt19937_64 random(20261129);
    std::vector<test::Drop> out;
    for (int k = 0; k < drops; ++k) {
      out.push_back(test::DrawDrop(test::Thing::kBox, random));
      const test::Drop& drop = out.back();
      const test::Path path(drop);
      MarkerPoints points;
      points.name = "drop" + std::to_string(k);
      points.first_frame = 101;
      for (std::size_t m = 0; m < drop.markers.size(); ++m)
        points.markers.push_back("m" + std::to_string(m + 1));
      points.p_WM.resize(drop.markers.size());
      const double rate = 240, start = std::ceil((drop.t + drop.begin) * rate) / rate;
      for (int i = 0; start + i / rate <= drop.t + drop.end; ++i) {
        points.t.push_back(100 / rate + i / rate);
        const test::Flying f = path.At(start + i / rate);
        for (std::size_t m = 0; m < drop.markers.size(); ++m) {
          const Eigen::Vector3d p = f.p + f.R * drop.markers[m].p_BM + sd * test::Normal3(random);
          points.p_WM[m].push_back(m == 0 && i == gap ? std::nullopt : std::optional(p));
        }
      }
      WriteMarkerFile(folder_ / (points.name + extension), points);
    }
    return out;
  }
  RunResult Run(const Experiment& e, const std::string& extension) const {
    std::vector<std::filesystem::path> files;
    for (int k = 0; std::filesystem::exists(folder_ / ("drop" + std::to_string(k) + extension));
         ++k)
      files.push_back(folder_ / ("drop" + std::to_string(k) + extension));
    return RunExperiment(e, LoadRecordings(e, files), {.validate = false},
                         {.threads = 1, .quiet = true});
  }
  test::TemporaryFolder folder_;
};

TEST_F(PointRecordingsTest, EveryKeyReadsBack) {
  const Experiment e =
      Load(std::string("files: '*.trc', ") + kPointRecordingsLayout +
           ", learned_names: [m5], up_axis: y, noise: stated, sd_m: 0.0002, max_rms_m: 0.003");
  ASSERT_TRUE(e.points);
  EXPECT_TRUE(e.points->learn);
  EXPECT_EQ(e.points->up, UpAxis::kY);
  EXPECT_EQ(e.points->sd, 2e-4);
  EXPECT_EQ(e.points->max_rms, 3e-3);
  EXPECT_EQ(e.points->layout[1].p_BM, Eigen::Vector3d(-0.04, 0.035, -0.01));
  EXPECT_THAT(e.points->learned, ElementsAre("m5"));
  EXPECT_EQ(ToYaml(LoadExperiment(Write("again.yaml", ToYaml(e)))), ToYaml(e));
}

TEST_F(PointRecordingsTest, WrongKeysAreNamed) {
  EXPECT_THAT(Fault("files: a.trc, names: [a, b], layout_m: [[0, 0, 0], [1, 0, 0]]"),
              HasSubstr("recordings.names: found 2 markers"));
  // One is the centre of a ball, and of nothing else.
  EXPECT_THAT(Fault("files: a.trc, names: [a], layout_m: [[0, 0, 0.01]]"),
              HasSubstr("recordings.names: found 1 markers"));
  EXPECT_THAT(Fault("files: a.trc, names: [a], layout_m: [[0, 0, 0]]"),
              HasSubstr("found a body that is no ball, with one marker"));
  EXPECT_THAT(Fault("files: a.trc, noise: distances, names: [a], layout_m: [[0, 0, 0]]"),
              HasSubstr("found distances with one marker"));
  EXPECT_THAT(Fault("files: a.trc, names: [a, b, a], layout_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0]]"),
              HasSubstr("'a' twice"));
  EXPECT_THAT(Fault("files: a.trc, names: [a, b, c], layout_m: [[0, 0, 0], [1, 0, 0]]"),
              HasSubstr("found 2 positions"));
  EXPECT_THAT(Fault(std::string("files: a.trc, learned_names: [m2], ") + kPointRecordingsLayout),
              HasSubstr("'m2' again"));
  EXPECT_THAT(
      Fault(std::string("files: a.trc, noise: flights, sd_m: 0.001, ") + kPointRecordingsLayout),
      HasSubstr("sd_m"));
  EXPECT_THAT(Fault(std::string("files: a.trc, layoutt_m: 1, ") + kPointRecordingsLayout),
              HasSubstr("layoutt_m"));
}

TEST_F(PointRecordingsTest, MillimetresGapsAndFrameNumbersOfEveryFormat) {
  for (const std::string extension : {".csv", ".trc", ".c3d"}) {
    const std::vector<test::Drop> truth = WriteCaptures(3, 1e-4, extension, 20);
    const RunResult run =
        Run(Load("files: 'drop*" + extension + "', " + kPointRecordingsLayout), extension);
    ASSERT_TRUE(run.points());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const PointFile& file = run.points()->files[i];
      EXPECT_EQ(file.bad, "") << extension;
      EXPECT_EQ(file.poses, file.frames);  // three markers are enough where one was not seen
      EXPECT_NEAR(file.rms, 1e-4 * std::sqrt(3.0 * (12 - 6) / 12), 3e-5);
      ASSERT_FALSE(run.recorded.motion[i].events.empty());
      const ImpactEvent& event = run.recorded.motion[i].events.front();
      EXPECT_TRUE(event.accepted) << extension << " " << event.detail;
      EXPECT_LT((event.v_minus - truth[i].minus.v).norm(), 4e-3) << extension;
      EXPECT_LT((event.omega_plus - truth[i].plus.omega).norm(), 0.15) << extension;
    }
  }
}

TEST_F(PointRecordingsTest, NoiseOfDistancesIsThatOfThePoints) {
  WriteCaptures(3, 2e-4, ".c3d");
  const RunResult distances = Run(
      Load(std::string("files: 'drop*.c3d', noise: distances, ") + kPointRecordingsLayout), ".c3d");
  EXPECT_NEAR(distances.points()->sd, 2e-4, 1.5e-5);
  const PoseNoise noise = PoseNoiseOf(distances.points()->layout, distances.points()->sd);
  EXPECT_EQ(distances.experiment.motion.sigma_position, noise.position);
  EXPECT_EQ(distances.experiment.motion.sigma_angle, noise.angle);
  // The flights see the same noise.
  const RunResult flights =
      Run(Load(std::string("files: 'drop*.c3d', ") + kPointRecordingsLayout), ".c3d");
  EXPECT_EQ(flights.experiment.motion.sigma_position, 0);
  for (const MotionFit& motion : flights.recorded.motion) {
    EXPECT_NEAR(motion.sigma_position / noise.position, 1, 0.3);
    EXPECT_NEAR(motion.sigma_angle / noise.angle, 1, 0.3);
  }
  const RunResult stated =
      Run(Load(std::string("files: 'drop*.c3d', sd_m: 0.0004, ") + kPointRecordingsLayout), ".c3d");
  EXPECT_DOUBLE_EQ(stated.recorded.motion[0].sigma_position,
                   PoseNoiseOf(stated.points()->layout, 4e-4).position);
}

TEST_F(PointRecordingsTest, LayoutIsLearnedFromAllRecordings) {
  WriteCaptures(4, 1e-4, ".trc");
  // Markers measured with a ruler to a millimetre, the fourth not at all. The frame B is where the
  // ruler has it.
  const std::string rough =
      "names: [m1, m2, m3], layout_m: [[0.046, 0.03, 0.025], [-0.04, 0.034, -0.01], [0.01, -0.035, "
      "0.021]]";
  const RunResult run = Run(Load("files: 'drop*.trc', learned_names: [m4], " + rough), ".trc");
  ASSERT_EQ(run.points()->layout.size(), 4u);
  const std::vector<NamedMarker>& got = run.points()->layout;
  test::Drop box;
  test::GiveBody(test::Thing::kBox, &box);
  const std::vector<BodyMarker>& truth = box.markers;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_NEAR((got[a].p_BM - got[b].p_BM).norm(), (truth[a].p_BM - truth[b].p_BM).norm(), 4e-5)
          << a << b;
  EXPECT_LT((got[3].p_BM - truth[3].p_BM).norm(), 2e-3);
  EXPECT_NEAR(run.points()->sd, 1e-4, 1e-5);
  EXPECT_LT(run.points()->files[0].rms, 1.2e-4);
}

TEST_F(PointRecordingsTest, ABadFileIsARejectedRecordingThatNamesFileMarkerAndFrame) {
  WriteCaptures(1, 1e-4, ".trc");
  MarkerFile file = ReadMarkerFile(folder_ / "drop0.trc");
  std::swap(file.points.p_WM[0], file.points.p_WM[1]);  // two names exchanged
  WriteMarkerFile(folder_ / "drop1.trc", file.points);
  Write("drop2.trc", "PathFileType\t4\t(X/Y/Z)\tbroken.trc\n");
  file.points.markers = {"x1", "x2", "m3", "m4"};
  WriteMarkerFile(folder_ / "drop3.trc", file.points);
  const RunResult run =
      Run(Load(std::string("files: 'drop*.trc', ") + kPointRecordingsLayout), ".trc");
  EXPECT_EQ(run.points()->files[0].bad, "");
  EXPECT_THAT(run.points()->files[1].bad,
              HasSubstr("drop1.trc: the distances of the markers are not those of the layout"));
  EXPECT_THAT(run.points()->files[1].bad,
              ::testing::ContainsRegex("worst marker 'm[1-4]' in frame 1[0-9][0-9]"));
  EXPECT_THAT(run.points()->files[2].bad, HasSubstr("drop2.trc"));
  EXPECT_THAT(run.points()->files[3].bad,
              HasSubstr("drop3.trc: 2 markers of the layout are in the recording, a pose needs "
                        "three; not there: m1, m2"));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(run.recorded.motion[i].events.front().reason, RejectReason::kBadRecording);
    EXPECT_EQ(run.recorded.motion[i].events.front().detail, run.points()->files[i].bad);
  }
  WriteRun(folder_ / "out", run, "test");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "points.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "poses" / "drop0.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "poses" / "drop1.csv"));
}

}  // namespace
}  // namespace impactlab
