// Experiments with cameras: their keys, and what frame errors mean to marker images.

#include "pipelines/run/marker_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/base/error.h"
#include "pipelines/run/error_budget.h"
#include "pipelines/run/run.h"
#include "tests/reconstruction/drop_scene.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

class MarkerRecordingsTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  // Tracking file and rig beside the experiment.
  void WriteParts(bool world = true) const {
    CameraRig rig = test::DropRig();
    test::GiveCovariance(&rig, 0.1, 1e-4, 1e-4);
    rig.world.source = world ? "board" : "camera";
    if (world) rig.world.gravity_W = -Eigen::Vector3d::UnitZ();
    Write("rig.yaml", ToYaml(rig));
    Write("tracking.yaml",
          "rig: rig.yaml\ncameras: [{name: camera0, exposure_s: 0.001}, {name: camera1}]\n"
          "markers: {names: [m1, m2, m3], layout_m: [[0, 0, -0.09], [0, 0, 0.01], [0, 0, 0.085]], "
          "layout_sd_m: 0.0001}\n"
          "recordings: [{name: drop, files: {camera0: a.mp4, camera1: b.mp4}}]\n");
  }
  static std::string Experiment(const std::string& more) {
    return "schema: impactlab.experiment/1\nrecordings: {kind: markers, tracking: tracking.yaml, "
           "tracks: tracks.csv}\n"
           "body: {shape: rod, length_m: 0.2, radius_m: 0.006, mass_kg: 0.1}\n" +
           more;
  }
  // Drops of a rod, as their images; `offset` of the second camera's clock.
  std::vector<test::Drop> WriteTracks(int drops, double offset) const {
    std::mt19937_64 random(20261128);
    const CameraRig rig = test::DropRig();
    std::vector<test::Drop> out;
    TracksWriter writer(folder_ / "tracks.csv");
    for (int k = 0; k < drops; ++k) {
      out.push_back(test::DrawDrop(test::Thing::kRod, random));
      test::Filming filming;
      filming.offset = {0, offset};
      MarkerTracks tracks = test::Film(out.back(), rig, filming, random);
      tracks.recording = "drop" + std::to_string(k);
      writer.Write(tracks);
    }
    writer.Commit();
    return out;
  }
  test::TemporaryFolder folder_;
};

TEST_F(MarkerRecordingsTest, EveryKeyReadsBack) {
  WriteParts();
  const std::string keys =
      "bundle: {pixel_sd_px: 0.1, exposure_s: 0.002, contact_time_s: 0.001, max_noise_scale: 3, "
      "outlier_sd: 5, scale_noise: false, "
      "offset_sd_s: 0.004, row_time_sd_s: 1.0e-6, rate_sd: 1.0e-4, layout_sd_m: 0.0002, "
      "collinear_tolerance_m: 0.001, "
      "spin_axis_prior_sd_rad_per_s: 2, spin_axis_prior_sd_plus_rad_per_s: 40, "
      "spin_axis_moment_sd_rad_per_s: 7, rig_covariance: false}\nbudget: {inertia_sd: 0.03, "
      "outline_sd_m: 0.0002}\n";
  const impactlab::Experiment e = LoadExperiment(Write("experiment.yaml", Experiment(keys)));
  ASSERT_TRUE(e.markers);
  EXPECT_EQ(e.bundle.row_time_sd, 1e-6);
  EXPECT_EQ(e.bundle.max_noise_scale, 3);
  EXPECT_EQ(e.inertia_sd, 0.03);
  EXPECT_EQ(e.outline_sd, 2e-4);
  EXPECT_TRUE(e.floor_of_rig && e.gravity_of_rig);
  const impactlab::Experiment again = LoadExperiment(Write("again.yaml", ToYaml(e)));
  EXPECT_EQ(ToYaml(again), ToYaml(e));
  EXPECT_FALSE(
      LoadExperiment(Write("floor.yaml", Experiment("floor: {offset_m: 0.01}\n"))).floor_of_rig);
}

TEST_F(MarkerRecordingsTest, TracksAreFittedImpactByImpact) {
  WriteParts();
  const std::vector<test::Drop> truth = WriteTracks(4, 0.002);
  impactlab::Experiment e = LoadExperiment(Write(
      "experiment.yaml", Experiment("bundle: {offset_sd_s: 0.005}\nidentify: {laws: [newton]}\n")));
  const Recordings recordings = LoadMarkers(e, folder_ / "out", {}, {.quiet = true});
  ASSERT_EQ(CountOf(recordings), 4u);
  EXPECT_NEAR(e.motion.flight.gravity_W.z(), -9.80665, 1e-12);
  const RunResult run = RunExperiment(e, recordings, {}, {.threads = 1, .quiet = true});
  int found = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ASSERT_FALSE(run.recorded.drops[i].empty());
    const ImpactBundle& drop = run.recorded.drops[i].front();
    if (!drop.event.accepted) continue;
    ++found;
    EXPECT_LT((drop.event.v_minus - truth[i].minus.v).norm(), 3e-3);
    EXPECT_LT((drop.event.v_plus - truth[i].plus.v).norm(), 5e-3);
    EXPECT_NEAR(drop.offset[1], 0.002, 1e-4);
    // The rig is wrong for all impacts at once: it is not among the noise of each.
    EXPECT_GE((drop.event.cov - drop.event_cov_noise).diagonal().minCoeff(), -1e-12);
    EXPECT_EQ(drop.event.unseen_axis_B.cwiseAbs(), Eigen::Vector3d(0, 0, 1));
  }
  EXPECT_GE(found, 3);
  const ErrorBudget& budget = run.recorded.budget;
  ASSERT_EQ(budget.rows.size(), 2u + 5u);
  std::vector<std::string> names;
  for (const BudgetSource& source : budget.sources) names.push_back(source.name);
  EXPECT_THAT(names, ::testing::ElementsAre("pixels", "clocks", "cameras", "layout", "inertia",
                                            "outline", "scatter"));
  EXPECT_EQ(budget.common.rows(), 2);
  EXPECT_GT(budget.common(1, 1), 0);
}

TEST_F(MarkerRecordingsTest, WhatTheRigCannotSayIsAskedFor) {
  WriteParts(false);
  WriteTracks(1, 0);
  const auto refusal = [&](const std::string& more) -> std::string {
    impactlab::Experiment e = LoadExperiment(Write("experiment.yaml", Experiment(more)));
    try {
      LoadOrTrackMarkers(e, folder_ / "out", {}, {.quiet = true});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(""), HasSubstr("floor"));
  EXPECT_THAT(refusal("floor: {offset_m: 0}\n"), HasSubstr("gravity_m_per_s2"));
  EXPECT_EQ(refusal("floor: {offset_m: 0}\ngravity_m_per_s2: [0, 0, -9.81]\n"), "accepted");
  {
    TracksWriter empty(folder_ / "tracks.csv");
    empty.Commit();
  }
  impactlab::Experiment e = LoadExperiment(Write(
      "experiment.yaml", Experiment("floor: {offset_m: 0}\ngravity_m_per_s2: [0, 0, -9.81]\n")));
  EXPECT_THROW(LoadOrTrackMarkers(e, folder_ / "out", {}, {.quiet = true}), DataError);
}

TEST_F(MarkerRecordingsTest, FrameErrorsAreTakenOutOfRigLayoutAndClocks) {
  std::mt19937_64 random(5);
  const test::Drop drop = test::DrawDrop(test::Thing::kBox, random);
  MarkerRecordings markers;
  markers.rig = test::DropRig();
  test::GiveCovariance(&markers.rig, 0.1, 1e-4, 1e-4);
  markers.layout = drop.markers;
  MarkerRecording& recording = markers.recordings.emplace_back();
  recording.tracks = test::Film(drop, markers.rig, {}, random);
  recording.offset_sd = 1e-3;
  FrameCorrection error;
  error.length_scale = 1.05;
  error.clock_rate = 0.9;
  error.com_offset_B = {1e-3, -2e-3, 5e-4};
  error.rotation_offset_B = {0.02, -0.01, 0.03};
  const MarkerRecordings right = Correct(markers, error);
  // A pose as recorded and as Correct() of poses has it see the markers in the same pixels.
  PoseRecording pose;
  pose.t = {1};
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = test::AnyRotation(random);
  X.translation() << 0.02, 0.03, 0.05;
  pose.X_WB = {X};
  const PoseRecording true_pose = Correct(pose, error);
  for (std::size_t m = 0; m < drop.markers.size(); ++m)
    for (std::size_t c = 0; c < 2; ++c) {
      const auto pixel = [&](const MarkerRecordings& r, const Eigen::Isometry3d& X_WB) {
        return *Project(r.rig.cameras[c].camera,
                        r.rig.cameras[c].X_WC.inverse() * X_WB * r.layout[m].p_BM);
      };
      EXPECT_LT((pixel(markers, pose.X_WB[0]) - pixel(right, true_pose.X_WB[0])).norm(), 1e-8);
    }
  EXPECT_NEAR(right.recordings[0].tracks.points[3].t, recording.tracks.points[3].t / 0.9, 1e-15);
  error.mirrored = true;
  EXPECT_THROW(Correct(markers, error), ConfigError);
}

}  // namespace
}  // namespace impactlab
