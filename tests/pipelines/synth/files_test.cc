#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "pipelines/run/experiment.h"
#include "pipelines/synth/synth.h"
#include "pipelines/tables/tables.h"
#include "tests/support/folder.h"
#include "tests/support/synth_scenes.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using test::Cube;
using test::Square;
using test::TemporaryFolder;
using ::testing::HasSubstr;

TEST(SynthFiles, FilesReadBackExactly) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    const TemporaryFolder folder;
    o.drops = 2;
    o.noise_position = 4e-5;
    o.noise_angle = 7e-4;
    o.double_strike_share = 0.5;
    o.lost_frame_share = 0.25;
    o.sd_mu = 0.01;
    o.error.com_offset_B = Vector3d(1e-3, 0, 0);
    o.error.clock_rate = 1.001;
    if (o.body.planar) o.error.rotation_offset_B.y() = 0.036;
    const SynthSet set = Synthesise(o);
    WriteSynth(folder.path(), o, set);
    const PoseRecording back =
        ReadPoses(folder / "drop_0002.csv", {.planar = o.body.planar, .names = {}});
    ASSERT_EQ(back.t, set.recordings[1].t);
    EXPECT_EQ(back.theta, set.recordings[1].theta);
    for (std::size_t k = 0; k < back.t.size(); ++k) {
      EXPECT_EQ(back.X_WB[k].translation(), set.recordings[1].X_WB[k].translation());
      EXPECT_LT((back.X_WB[k].linear() - set.recordings[1].X_WB[k].linear()).norm(), 1e-14);
    }
    const auto events = ReadEvents(folder / "truth.csv", o.body, o.floor, o.flight.gravity_W);
    ASSERT_EQ(events.size(), set.truth.events.size());
    EXPECT_EQ(events[0].v_plus, set.truth.events[0].v_plus);
    EXPECT_EQ(events[0].accepted, set.truth.events[0].accepted);
    // The scene gives the same recordings again, and the experiment is one.
    const SynthOptions again = LoadScene(folder / "scene.yaml");
    EXPECT_EQ(again.error.rotation_offset_B, o.error.rotation_offset_B);
    const SynthSet repeated = Synthesise(again);
    EXPECT_EQ(repeated.recordings[1].theta, set.recordings[1].theta);
    EXPECT_EQ(repeated.recordings[1].X_WB[7].matrix(), set.recordings[1].X_WB[7].matrix());
    const std::string scene = ReadFile(folder / "scene.yaml");
    WriteSynth(folder.path(), again, repeated);
    EXPECT_EQ(ReadFile(folder / "scene.yaml"), scene);
    const Experiment experiment = LoadExperiment(folder / "experiment.yaml");
    EXPECT_EQ(experiment.body.half_extents, o.body.half_extents);
    EXPECT_EQ(experiment.apply, std::vector<std::string>{"all"});
  }
}

TEST(SynthFiles, RestIsWrittenWhereItIsAskedFor) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    const TemporaryFolder folder;
    o.drops = 2;
    WriteSynth(folder.path(), o, Synthesise(o));
    EXPECT_FALSE(std::filesystem::exists(folder / "truth_rest.csv"));
    o.to_rest = true;
    const SynthSet set = Synthesise(o);
    WriteSynth(folder.path(), o, set);
    EXPECT_TRUE(LoadScene(folder / "scene.yaml").to_rest);
    CsvOptions csv;
    csv.text_columns = {"recording"};
    const Table table = ReadCsv(folder / "truth_rest.csv", csv);
    ASSERT_EQ(table.n_rows(), 2u);
    const SynthRest& rest = set.truth.rests[1];
    EXPECT_EQ(table.TextColumn("recording")[1], "drop_0002");
    EXPECT_EQ(table.Column("t_s")[1], rest.t);
    EXPECT_EQ(table.Column("x_m")[1], rest.X_WB.translation().x());
    EXPECT_EQ(table.Column("z_m")[1], rest.X_WB.translation().z());
    if (o.body.planar) {
      EXPECT_EQ(table.Column("theta_rad")[1], rest.theta);
    } else {
      const Eigen::Quaterniond q(table.Column("qw")[1], table.Column("qx")[1],
                                 table.Column("qy")[1], table.Column("qz")[1]);
      EXPECT_LT((q.toRotationMatrix() - rest.X_WB.linear()).norm(), 1e-14);
    }
  }
}

TEST(SynthFiles, SceneFaultsNameKeyAndWhatIsAllowed) {
  const TemporaryFolder folder;
  const std::string head =
      "schema: impactlab.scene/1\nkind: planar_poses\nbody: {shape: box, side_m: 0.06}\n";
  const auto fault = [&](const std::string& rest) {
    WriteFile(folder / "scene.yaml", head + rest);
    try {
      LoadScene(folder / "scene.yaml");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string model = "model: {law: energetic, e_star: 0.5, mu_k: 0.2}\n";
  EXPECT_EQ(fault(model), "no error");
  EXPECT_THAT(fault("model: {law: energetic, e_star: 0.5, mu_k: -0.2}\n"),
              HasSubstr("scene.yaml:4: model.mu_k"));
  EXPECT_THAT(fault("model: {law: energetic, e_star: 1.5, mu_k: 0.2}\n"),
              HasSubstr("scene.yaml:4: model.e_star"));
  EXPECT_THAT(fault("model: {law: energetic, e_n: 0.5, mu_k: 0.2}\n"),
              HasSubstr("scene.yaml:4: model.e_star"));
  EXPECT_THAT(fault("model: {law: energetic, e_star: 0.5, e_n: 0.5, mu_k: 0.2}\n"),
              HasSubstr("scene.yaml:4: model.e_n: found an unknown key"));
  EXPECT_THAT(fault("model: {law: poisson, e_p: 0.5, mu_k: 0.2, mu_s: 0.1}\n"),
              HasSubstr("scene.yaml:4: model.mu_s"));
  EXPECT_THAT(
      fault(model + "frame_rate_kHz: 1\n"),
      ::testing::AllOf(HasSubstr("scene.yaml:5: frame_rate_kHz"), HasSubstr("frame_rate_Hz")));
  EXPECT_THAT(fault(model + "height_max_m: 0.05\n"), HasSubstr("scene.yaml:5: height_max_m"));
  EXPECT_THAT(fault(model + "wild_share: 1.5\n"), HasSubstr("scene.yaml:5: wild_share"));
  EXPECT_THAT(fault(model + "noise_dof: 2\n"), HasSubstr("scene.yaml:5: noise_dof"));
  EXPECT_THAT(fault(model + "error: {theta_offset_deg: 2}\n"), HasSubstr("theta_offset_rad"));
  EXPECT_THAT(fault(""), HasSubstr("model"));
}

TEST(SynthFiles, SampleIsWhatItsSceneGives) {
  const std::filesystem::path sample =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data" / "sample";
  const TemporaryFolder folder;
  const SynthOptions options = LoadScene(sample / "scene.yaml");
  WriteSynth(folder.path(), options, Synthesise(options));
  std::uintmax_t bytes = 0;
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(sample)) {
    if (file.is_directory()) continue;  // samples of their own
    bytes += file.file_size();
    ++files;
    ASSERT_TRUE(std::filesystem::exists(folder / file.path().filename().string())) << file.path();
  }
  EXPECT_EQ(files, options.drops + 3);
  EXPECT_LT(bytes, 300000u);
  // Numbers, not bytes: another mathematics library may round the last digit differently.
  const PoseColumns columns{.planar = options.body.planar, .names = {}};
  for (int k = 1; k <= options.drops; ++k) {
    const std::string name =
        "drop_" + std::string(k < 10 ? "000" : "00") + std::to_string(k) + ".csv";
    const PoseRecording a = ReadPoses(sample / name, columns),
                        b = ReadPoses(folder / name, columns);
    ASSERT_EQ(a.t.size(), b.t.size()) << name;
    for (std::size_t i = 0; i < a.t.size(); ++i)
      EXPECT_LT((a.X_WB[i].matrix() - b.X_WB[i].matrix()).norm(), 1e-9);
  }
}

}  // namespace
}  // namespace impactlab
