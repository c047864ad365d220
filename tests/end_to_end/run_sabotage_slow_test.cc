// Sabotage of what was declared: `impactlab run` finds it from the free flights, names the cause,
// or says what cannot be told apart.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/files/text.h"
#include "tests/reconstruction/drop_scene.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tracking/track/tracks.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;

// Three drops of a box before two cameras, calibrated by boards: what the cameras saw, and what is
// declared of them.
struct Sabotage {
  CameraRig truth, rig;
  std::vector<Drop> drops;
  std::vector<BodyMarker> markers;  // as declared
  double layout_sd = 1e-4;          // as declared [m]
  double clock = 1;                 // stamps are this much of the time
  std::string more;                 // of the experiment file
  std::mt19937_64 random{20260};

  Sabotage() {
    truth = DropRig(2);
    CalibrateByBoards(&truth, 15, 0.1, random);
    for (int k = 0; k < 3; ++k)
      drops.push_back(DrawDrop(Thing::kBox, random, 0.2, Vector3d::UnitZ(), 0.12));
    rig = Miscalibrated(truth, random);
    markers = drops.front().markers;
  }

  ProcessResult Run(const ScratchFolder& folder, bool with_report = false) {
    Filming filming;
    filming.rate = 240;
    TracksWriter tracks(folder.path() / "tracks.csv");
    for (std::size_t k = 0; k < drops.size(); ++k) {
      MarkerTracks seen = Film(drops[k], truth, filming, random);
      seen.recording = "drop" + std::to_string(k + 1);
      for (TrackPoint& point : seen.points) point.t *= clock;
      Sort(&seen);
      tracks.Write(seen);
    }
    tracks.Commit();
    WriteText(folder.path() / "rig.yaml", ToYaml(rig));
    std::string names, layout, radii;
    for (std::size_t m = 0; m < markers.size(); ++m) {
      const Vector3d& p = markers[m].p_BM;
      names += (m == 0 ? "" : ", ") + ("m" + std::to_string(m + 1));
      layout += (m == 0 ? "[" : ", [") + FormatNumber(p.x()) + ", " + FormatNumber(p.y()) + ", " +
                FormatNumber(p.z()) + "]";
    }
    WriteText(
        folder.path() / "tracking.yaml",
        "schema: impactlab.tracking/1\nrig: rig.yaml\ncameras: [{name: " + truth.cameras[0].name +
            "}, {name: " + truth.cameras[1].name + "}]\nmarkers: {look: bright, names: [" + names +
            "], layout_m: [" + layout + "], layout_sd_m: " + FormatNumber(layout_sd) +
            "}\nrecordings:\n  - {name: drop1, files: {" + truth.cameras[0].name + ": a.mp4, " +
            truth.cameras[1].name + ": b.mp4}}\nsynchronise: {method: given, shift_s: [0, 0]}\n");
    WriteText(folder.path() / "experiment.yaml",
              "schema: impactlab.experiment/1\nname: sabotage\nrecordings: {kind: markers, "
              "tracking: tracking.yaml, rig: rig.yaml, tracks: "
              "tracks.csv}\nbody: {shape: box, sides_m: [0.1, 0.07, 0.05], mass_kg: 0.3}\nfloor: "
              "{normal: [0, 0, 1]}\n"
              "gravity_m_per_s2: [0, 0, -9.80665]\nidentify: {bootstrap: 0, grid: 0}\n" +
                  more);
    std::vector<std::string> words = {"run", folder.path() / "experiment.yaml", "--out",
                                      folder.path() / "out"};
    if (!with_report) words.emplace_back("--no-report");
    return RunProgram(words, folder.path());
  }
};

nlohmann::json Flights(const ScratchFolder& folder) {
  return nlohmann::json::parse(ReadText(folder.path() / "out" / "flights.json"));
}

void ScaleFocal(RigCamera* camera, double factor) {
  Eigen::VectorXd x = Intrinsics(camera->camera);
  x.head<2>() *= factor;
  SetIntrinsics(camera->camera, x);
}

TEST(RunSabotage, HonestRecordingsPass) {
  const ScratchFolder folder("honest");
  Sabotage scene;
  const ProcessResult result = scene.Run(folder, true);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("free flight 3 of 3 recordings could be checked"))
      << result.out;
  const nlohmann::json flights = Flights(folder);
  EXPECT_EQ(flights["failed"], 0);
  EXPECT_TRUE(flights["culprits"].empty());
  EXPECT_THAT(ReadText(folder.path() / "out/report.html"), HasSubstr("id=\"flights\""));
  EXPECT_THAT(ReadText(folder.path() / "out/flights.csv"), HasSubstr("drop1,gravity,m_per_s2,"));
}

TEST(RunSabotage, IntrinsicsFivePercentOff) {
  for (const double factor : {1.05, 0.95}) {
    const ScratchFolder folder("lens");
    Sabotage scene;
    for (RigCamera& camera : scene.rig.cameras) ScaleFocal(&camera, factor);
    const ProcessResult result = scene.Run(folder);
    EXPECT_THAT(result.out + result.err, HasSubstr("lens: true value is")) << factor;
  }
}

TEST(RunSabotage, FrameRateTenPercentOff) {
  for (const double factor : {1.1, 0.9}) {
    const ScratchFolder folder("clock");
    Sabotage scene;
    scene.clock = factor;
    const ProcessResult result = scene.Run(folder, true);
    EXPECT_THAT(result.out + result.err, HasSubstr("clock: true value is")) << factor;
    if (result.code != 0) continue;
    const nlohmann::json flights = Flights(folder);
    ASSERT_EQ(flights["culprits"].size(), 1U);
    EXPECT_EQ(flights["culprits"][0]["fault"], "clock");
    EXPECT_NEAR(flights["culprits"][0]["value"], 1 / factor - 1, 5e-3);
    EXPECT_THAT(ReadText(folder.path() / "out/report.html"), HasSubstr("clock: true value is"));
  }
}

TEST(RunSabotage, WithoutAKnownLengthTheClockAndTheScaleAreStatedTogether) {
  const ScratchFolder folder("degenerate");
  Sabotage scene;
  scene.clock = 1.1;
  // nobody measured it, and it is all of length that the body brings
  scene.more = "bundle: {layout_sd_m: 0.02}\n";
  const ProcessResult result = scene.Run(folder);
  const std::string said = result.out + result.err;
  EXPECT_THAT(said, HasSubstr("clock: true value is"));
  EXPECT_THAT(said, HasSubstr("scale: true value is"));
  EXPECT_THAT(said, HasSubstr("cannot tell which"));
}

TEST(RunSabotage, CamerasSwapped) {
  const ScratchFolder folder("swapped");
  Sabotage scene;
  std::swap(scene.rig.cameras[0].name, scene.rig.cameras[1].name);
  const ProcessResult result = scene.Run(folder);
  EXPECT_THAT(result.out + result.err, HasSubstr("are swapped")) << result.code;
}

TEST(RunSabotage, OneMarkerTwoMillimetresOff) {
  const ScratchFolder folder("marker");
  Sabotage scene;
  scene.markers[2].p_BM += 2e-3 * Vector3d(0.6, -0.64, 0.48);
  const ProcessResult result = scene.Run(folder);
  EXPECT_THAT(result.out + result.err, HasSubstr("marker m3: off by up to")) << result.code;
}

TEST(RunSabotage, WholeLayoutTwoMillimetresOff) {
  const ScratchFolder folder("layout");
  Sabotage scene;
  for (BodyMarker& marker : scene.markers) marker.p_BM += 2e-3 * Normal3(scene.random).normalized();
  const ProcessResult result = scene.Run(folder);
  EXPECT_THAT(result.out + result.err, HasSubstr("layout: off by up to")) << result.code;
}

TEST(RunSabotage, FocusOrCropChangedAfterTheCalibration) {
  for (const bool crop : {false, true}) {
    const ScratchFolder folder("view");
    Sabotage scene;
    RigCamera& touched = scene.truth.cameras[1];
    if (crop) {
      Eigen::VectorXd x = Intrinsics(touched.camera);
      x.segment<2>(2) += Eigen::Vector2d(24, -16);
      SetIntrinsics(touched.camera, x);
    } else {
      ScaleFocal(&touched, 1.02);
    }
    const ProcessResult result = scene.Run(folder);
    EXPECT_THAT(result.out + result.err, HasSubstr("view " + touched.name)) << crop;
  }
}

}  // namespace
}  // namespace impactlab::test
