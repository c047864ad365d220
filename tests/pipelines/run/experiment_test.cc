#include "pipelines/run/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "tests/support/faults.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

const char* const kHead = R"(schema: impactlab.experiment/1
recordings:
  files: drop_*.csv
  kind: planar_poses
)";
const char* const kBox = R"(body:
  shape: box
  side_m: 0.06
)";

Experiment Load(const std::string& text) { return test::LoadText(text); }

// The one line of error that a text causes.
std::string Fault(const std::string& text) {
  return test::FaultOf([&] { Load(text); });
}

TEST(Experiment, ShortFileTakesDefaults) {
  const Experiment e = Load(std::string(kHead) + kBox);
  EXPECT_EQ(e.name, "exp");
  EXPECT_TRUE(e.body.planar);
  EXPECT_FALSE(e.body.mass_known);
  EXPECT_EQ(e.body.mass, 1);
  EXPECT_EQ(e.body.half_extents, Eigen::Vector3d(0.03, 0, 0.03));
  EXPECT_DOUBLE_EQ(e.body.inertia_B(1, 1), 0.06 * 0.06 / 6);
  EXPECT_EQ(e.laws.size(), 3u);
  EXPECT_EQ(e.motion.flight.gravity_W, Eigen::Vector3d(0, 0, -9.80665));
  EXPECT_EQ(e.audit.gravity_W, e.motion.flight.gravity_W);
  EXPECT_TRUE(e.apply.empty());
}

const char* const kEverything = R"(schema: impactlab.experiment/1
name: "rods: a \"hard\" case, 50 %"
recordings:
  files: "rec/**/take [0-9]*.csv"
  kind: spatial_poses
  columns: {t: "time ms", x: "pos x mm", qw: "w"}
body:
  name: rod
  shape: rod
  length_m: 0.3000000000000001
  radius_m: 0.0523
  mass_kg: 0.1
  inertia_kg_m2: [1e-3, 1.1e-5, -2e-6, 0.9e-3, 3e-7, 2.3e-4]
floor: {normal: [0.1, 0.2, 0.97], offset_m: -0.013}
gravity_m_per_s2: [0.01, 0, -9.81]
drag_per_m: 0.003
motion:
  min_frames: 6
  max_frames: 100000
  contact_frames: 1
  feature_tolerance_frames: 1.5
  misfit_probability: 1e-5
  sigma_position_m: 1e-4
  sigma_angle_rad: 2e-3
  max_lost_frames: 0
  jump_allowance_position_m: 0
  jump_allowance_angle_rad: 1e-3
  first_impacts: 1
correction: {rotation_offset_x_rad: 0.01, rotation_offset_z_rad: -0.3, com_offset_y_m: 1e-3, length_scale: 1.01, clock_rate: 0.999, mirrored: true,
  floor_offset_m: 0.002, floor_tilt_rad: -0.01}
audit: {apply: [length_scale, com_offset_z_m], significance: 4, allow_mirror: false}
identify: {laws: [energetic], likelihood: contamination, student_dof: 5, contamination: 0.1, contamination_scale: 20, fit_discrepancy: false,
  fit_mu_s: true, bootstrap: 1000, influence: false, grid: 41}
coefficients: {models: [constant, speed_egroups], groups: [{name: steel, recordings: "drop_?"}], refits: 40}
validate: {folds: 10, coverage: 1.96, tolerance_velocity_m_per_s: 0.2, tolerance_spin_rad_per_s: 7, tolerance_ratio: 0.2}
seed: 9007199254740993
)";

TEST(Experiment, EveryKeyIsReadAndWrittenBackExactly) {
  const Experiment e = Load(kEverything);
  EXPECT_EQ(e.columns.names.at("x"), "pos x mm");
  EXPECT_NEAR(e.floor.normal.norm(), 1, 1e-15);
  EXPECT_EQ(e.body.inertia_B(0, 1), 1.1e-5);
  EXPECT_EQ(e.body.inertia_B(1, 0), 1.1e-5);
  EXPECT_EQ(e.body.inertia_B(2, 1), 3e-7);
  EXPECT_EQ(e.body.half_length, 0.3000000000000001 / 2);
  EXPECT_EQ(e.correction.rotation_offset_B, Eigen::Vector3d(0.01, 0, -0.3));
  EXPECT_TRUE(e.correction.mirrored);
  EXPECT_EQ(e.identify.likelihood, Likelihood::kContamination);
  EXPECT_EQ(e.identify.bootstrap, 1000);
  ASSERT_EQ(e.coefficients.models.size(), 2U);
  EXPECT_EQ(ModelName(e.coefficients.models[1]), "speed_egroups");
  ASSERT_EQ(e.coefficients.groups.size(), 1U);
  EXPECT_EQ(e.coefficients.groups[0].second, "drop_?");
  EXPECT_EQ(e.coefficients.refits, 40);
  EXPECT_EQ(e.motion.max_frames, 100000);
  EXPECT_EQ(e.seed, 9007199254740993u);
  EXPECT_EQ(e.identify.seed, e.seed);

  const std::string text = ToYaml(e);
  const Experiment back = Load(text);
  EXPECT_EQ(ToYaml(back), text);
  EXPECT_EQ(back.name, e.name);
  // found from any folder
  EXPECT_EQ(back.recordings, (e.path.parent_path() / e.recordings).string());
  EXPECT_TRUE(std::filesystem::path(back.recordings).is_absolute());
  EXPECT_EQ(back.columns.names, e.columns.names);
  EXPECT_EQ(back.body.inertia_B, e.body.inertia_B);
  EXPECT_EQ(back.body.mass, e.body.mass);
  EXPECT_EQ(back.body.half_length, e.body.half_length);
  EXPECT_EQ(back.floor.normal, e.floor.normal);
  EXPECT_EQ(back.floor.offset, e.floor.offset);
  EXPECT_EQ(back.correction.rotation_offset_B, e.correction.rotation_offset_B);
  EXPECT_EQ(back.correction.com_offset_B, e.correction.com_offset_B);
  EXPECT_EQ(back.correction.clock_rate, e.correction.clock_rate);
  EXPECT_EQ(back.apply, e.apply);
  EXPECT_EQ(back.laws, e.laws);
  EXPECT_EQ(back.identify.fit_mu_s, true);
  EXPECT_EQ(back.identify.influence, false);
  EXPECT_EQ(back.validation.folds, 10);
  EXPECT_EQ(back.validation.tolerance_ratio, 0.2);
  EXPECT_EQ(back.seed, e.seed);
}

TEST(Experiment, SpinOfTheReleaseReadsBackExactly) {
  const std::string ball = "body: {shape: ball, radius_m: 0.02}\n";
  EXPECT_FALSE(Load(kHead + ball).release);
  const Experiment planar =
      Load(kHead + ball + "release: {theta_dot_rad_per_s: 40, sd_rad_per_s: 3}\n");
  EXPECT_EQ(planar.release->omega_W, Eigen::Vector3d(0, -40, 0));
  EXPECT_EQ(planar.release->cov(1, 1), 9);
  const Experiment again = Load(ToYaml(planar));
  EXPECT_EQ(again.release->omega_W, planar.release->omega_W);
  EXPECT_EQ(again.release->cov, planar.release->cov);
  const Experiment rest = Load(kHead + ball + "release: {sd_rad_per_s: 1}\n");
  EXPECT_TRUE(rest.release->omega_W.isZero(0));
  const std::string space =
      "schema: impactlab.experiment/1\nrecordings: {kind: spatial_poses, files: a.csv}\n" + ball;
  const Experiment served =
      Load(space + "release: {omega_rad_per_s: [0, 150, -3], sd_rad_per_s: 20}\n");
  EXPECT_EQ(Load(ToYaml(served)).release->omega_W, Eigen::Vector3d(0, 150, -3));
  EXPECT_THAT(Fault(kHead + ball + "release: {theta_dot_rad_per_s: 40}\n"),
              HasSubstr("sd_rad_per_s"));
  EXPECT_THAT(Fault(kHead + ball + "release: {sd_rad_per_s: 0}\n"), HasSubstr("sd_rad_per_s"));
  EXPECT_THAT(Fault(std::string(kHead) + kBox + "release: {sd_rad_per_s: 1}\n"),
              HasSubstr("release: found it with a body that is no ball"));
}

TEST(Experiment, EveryShapeReadsBackExactly) {
  const std::string spatial =
      "schema: impactlab.experiment/1\nrecordings: {files: a.csv, kind: spatial_poses}\n";
  const std::vector<std::string> texts = {
      spatial +
          "body: {shape: box, sides_m: [0.1, 0.2, 0.07], corner_radius_m: 0.003, mass_kg: 0.3}\n",
      spatial + "body: {shape: box, side_m: 0.1048, mass_kg: 0.37, inertia_kg_m2: 0.00081}\n",
      spatial + "body: {shape: ball, radius_m: 0.02, gyration_radius_m: 0.0111}\n",
      spatial + "body: {shape: ellipsoid, semi_axes_m: [0.1, 0.2, 0.15]}\n",
      spatial +
          "body: {shape: rod, length_m: 0.1, radius_m: 0.01, gyration_radius_m: [0.03, 0.031, "
          "0.01]}\n",
      spatial +
          "body: {shape: polytope, vertices_m: "
          "[[0,0,0],[0.1,0,0],[0,0.1,0],[0,0,0.1],[0.02,0.02,0.02]], mass_kg: 0.7, "
          "corner_radius_m: "
          "0.002}\n",
      spatial + "body: {shape: polytope, vertices_m: [[0,0,0],[0.1,0,0],[0,0.1,0],[0,0,0.1]]}\n",
      spatial +
          "body: {shape: polytope, vertices_m: "
          "[[-0.05,-0.03,-0.03],[0.1,0,0],[0,0.1,0],[0,0,0.1]], "
          "gyration_radius_m: 0.03}\n",
      spatial +
          "body: {shape: points, vertices_m: [[0,0,-0.1],[0,0,0.1]], mass_kg: 0.2, inertia_kg_m2: "
          "[2e-3, 2e-3, 1e-5]}\n",
      std::string(kHead) + "body: {shape: box, sides_m: [0.06, 0.03], gyration_radius_m: 0.0217}\n",
      std::string(kHead) + "body: {shape: ellipsoid, semi_axes_m: [0.06, 0.03], mass_kg: 2}\n",
      std::string(kHead) + "body: {shape: rod, length_m: 0.6, radius_m: 0.01, mass_kg: 2}\n",
      std::string(kHead) +
          "body: {shape: polytope, vertices_m: [[0,0],[0.1,0],[0.03,0.08]], mass_kg: 0.2}\n"};
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const Experiment e = Load(text);
    const std::string yaml = ToYaml(e);
    const Experiment back = Load(yaml);
    EXPECT_EQ(ToYaml(back), yaml);
    EXPECT_EQ(back.body.shape, e.body.shape);
    EXPECT_EQ(back.body.inertia_B, e.body.inertia_B);
    EXPECT_EQ(back.body.mass_known, e.body.mass_known);
    EXPECT_EQ(back.body.half_extents, e.body.half_extents);
    EXPECT_EQ(back.body.points_B, e.body.points_B);
    EXPECT_EQ(back.body.corner_radius, e.body.corner_radius);
    ASSERT_EQ(back.body.corner_inset_B.size(), e.body.corner_inset_B.size());
    for (std::size_t i = 0; i < e.body.corner_inset_B.size(); ++i)
      EXPECT_EQ(back.body.corner_inset_B[i], e.body.corner_inset_B[i]);
  }
}

TEST(Experiment, PolytopeStandsAboutTheCentreItIsGiven) {
  const std::string vertices = "vertices_m: [[0,0],[0.12,0],[0,0.09]]";
  const Experiment solid =
      Load(std::string(kHead) + "body: {shape: polytope, " + vertices + ", mass_kg: 1}\n");
  EXPECT_NEAR((solid.body.points_B[0] - Eigen::Vector3d(-0.04, 0, -0.03)).norm(), 0, 1e-15);
  const Experiment given =
      Load(std::string(kHead) +
           "body: {shape: polytope, vertices_m: [[-0.03,-0.02],[0.09,-0.02],[-0.03,0.07]], "
           "mass_kg: 1, inertia_kg_m2: 0.001}\n");
  EXPECT_EQ(given.body.points_B[0], Eigen::Vector3d(-0.03, 0, -0.02));
  EXPECT_EQ(given.body.points_B[1], Eigen::Vector3d(0.09, 0, -0.02));
  EXPECT_EQ(given.body.inertia_B(1, 1), 0.001);
}

TEST(Experiment, FaultsNameFileLineKeyAndWhatIsAllowed) {
  struct Case {
    std::string text;
    std::vector<std::string> words;
  };
  const std::string head = kHead, box = kBox;
  const std::string spatial =
      "schema: impactlab.experiment/1\nrecordings: {files: a.csv, kind: spatial_poses}\n";
  const std::vector<Case> cases = {
      {head + box + "moton: {min_frames: 4}\n", {"exp.yaml:8", "moton", "motion"}},
      {head + box + "motion: {sigma_position_mm: 1}\n",
       {"exp.yaml:8", "sigma_position_mm", "sigma_position_m"}},
      {head + "body:\n  shape: box\n  side_mm: 60\n", {"exp.yaml:5", "side"}},
      {head + "body:\n  shape: box\n  side_m: 0.06\n  mass_kg: -1\n",
       {"exp.yaml:8: body.mass_kg: found", "-1", "above 0"}},
      {head + "body:\n  shape: box\n  side_m: 0\n", {"exp.yaml:7: body.side_m", "above 0"}},
      {head + "body:\n  shape: box\n  side_m: .nan\n", {"exp.yaml:7: body.side_m"}},
      {head + "body:\n  shape: box\n  side_m: 0.06\n  sides_m: [1, 1]\n",
       {"exp.yaml:8: body.sides_m", "one of side_m and sides_m"}},
      {head + "body:\n  shape: box\n  sides_m: [1, 1, 1]\n",
       {"exp.yaml:7: body.sides_m", "2 numbers"}},
      {head + "body:\n  shape: cube\n", {"exp.yaml:6: body.shape", "cube", "box"}},
      {head + "body:\n  shape: ball\n  radius_m: 0.1\n  side_m: 0.1\n",
       {"exp.yaml:8: body.side_m", "unknown"}},
      {head + "body:\n  shape: box\n  side_m: 0.06\n  corner_radius_m: 0.04\n",
       {"exp.yaml:8: body.corner_radius_m", "0.04", "0 to 0.03"}},
      {head + "body:\n  shape: box\n  side_m: 0.06\n  inertia_kg_m2: 0.1\n",
       {"exp.yaml:8: body.inertia_kg_m2", "mass_kg", "gyration_radius_m"}},
      {head + "body:\n  shape: box\n  side_m: 0.06\n  gyration_radius_m: [1, 2, 3]\n",
       {"exp.yaml:8: body.gyration_radius_m", "one number"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: [1, 1, 3]}\n",
       {"exp.yaml:3: body.inertia_kg_m2", "triangle"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: [1, -1, 1]}\n",
       {"exp.yaml:3: body.inertia_kg_m2", "positive"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: [1, 2, 0, 1, 0, 1]}\n",
       {"exp.yaml:3: body.inertia_kg_m2", "positive"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: [1, 1]}\n",
       {"exp.yaml:3: body.inertia_kg_m2", "a list of 2", "3"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: [1, x, 1]}\n",
       {"exp.yaml:3: body.inertia_kg_m2[1]"}},
      {spatial + "body: {shape: box, side_m: 0.1, mass_kg: 1, inertia_kg_m2: heavy}\n",
       {"exp.yaml:3: body.inertia_kg_m2", "heavy"}},
      {spatial + "body: {shape: points, vertices_m: [[0, 0, 0]]}\n",
       {"exp.yaml:3: body.shape", "inertia"}},
      {spatial + "body: {shape: rod, length_m: 0.1, radius_m: 0.09}\n",
       {"exp.yaml:3: body.radius_m", "0.09"}},
      {spatial + "body: {shape: polytope, vertices_m: [[0,0,0],[1,0,0],[0,1,0],[1,1,0]]}\n",
       {"exp.yaml:3", "volume"}},
      {head + box + "floor: {normal: [0, 0, 0]}\n", {"exp.yaml:8: floor.normal"}},
      {head + box + "floor: {normal: [0, 1, 1]}\n", {"exp.yaml:8: floor.normal", "y = 0"}},
      {head + box + "gravity_m_per_s2: [0, 1, -9]\n", {"exp.yaml:8: gravity_m_per_s2", "y = 0"}},
      {head + box + "gravity_m_per_s2: -9.81\n", {"exp.yaml:8: gravity_m_per_s2", "3 numbers"}},
      {head + box + "drag_per_m: -0.1\n", {"exp.yaml:8: drag_per_m", "at least 0"}},
      {head + box + "motion: {min_frames: 10, max_frames: 9}\n",
       {"exp.yaml:8: motion.max_frames", "10"}},
      {head + box + "motion: {min_frames: 2.5}\n", {"exp.yaml:8: motion.min_frames", "whole"}},
      {head + box + "motion: {misfit_probability: 1}\n", {"exp.yaml:8: motion.misfit_probability"}},
      {head + box + "correction: {clock_rate: 0}\n", {"exp.yaml:8: correction.clock_rate"}},
      {head + box + "correction: {com_offset_y_m: 1}\n",
       {"exp.yaml:8: correction.com_offset_y_m", "unknown"}},
      {head + box + "correction: {theta_offset_deg: 1}\n",
       {"exp.yaml:8: correction.theta_offset_deg", "theta_offset_rad"}},
      {head + box + "audit: {apply: [theta_ofset_rad]}\n",
       {"exp.yaml:8: audit.apply", "theta_ofset_rad", "nearest is theta_offset_rad"}},
      {head + box + "audit: {apply: [all, clock_rate]}\n", {"exp.yaml:8: audit.apply", "all"}},
      {head + box + "identify: {laws: [hunt]}\n",
       {"exp.yaml:8: identify.laws", "hunt", "energetic"}},
      {head + box + "identify: {laws: [poisson, poisson]}\n",
       {"exp.yaml:8: identify.laws", "once"}},
      {head + box + "identify: {likelihood: cauchy}\n",
       {"exp.yaml:8: identify.likelihood", "student_t"}},
      {head + box + "identify: {bootstrap: -1}\n", {"exp.yaml:8: identify.bootstrap"}},
      {head + box + "coefficients: {models: [speedy]}\n",
       {"exp.yaml:8: coefficients.models", "speedy", "groups"}},
      {head + box + "coefficients: {refits: -1}\n", {"exp.yaml:8: coefficients.refits"}},
      {head + box + "validate: {folds: 1}\n", {"exp.yaml:8: validate.folds", "2"}},
      {head + box + "seed: -1\n", {"exp.yaml:8: seed"}},
      {head, {"exp.yaml", "body"}},
      {"schema: impactlab.experiment/2\n", {"exp.yaml:1: schema", "impactlab.experiment/1"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const std::string fault = Fault(c.text);
    for (const std::string& word : c.words) EXPECT_THAT(fault, HasSubstr(word));
    EXPECT_THAT(fault, HasSubstr("allowed"));
    EXPECT_EQ(fault.find('\n'), std::string::npos) << fault;
  }
}

TEST(Experiment, MissingFileIsAConfigError) {
  EXPECT_THROW(LoadExperiment("/no/such/experiment.yaml"), ConfigError);
}

TEST(Experiment, ProvenanceOfARunIsAccepted) {
  EXPECT_EQ(Fault(std::string(kHead) + kBox + "provenance: {version: 0.1.0, seed: 3}\n"),
            "no error");
}

TEST(Experiment, OnlyAllowedCorrectionsAreApplied) {
  FrameCorrection all;
  all.rotation_offset_B = Eigen::Vector3d(0.1, -0.2, 0.3);
  all.com_offset_B = Eigen::Vector3d(1e-3, 2e-3, 3e-3);
  all.length_scale = 1.02;
  all.clock_rate = 0.9;
  all.mirrored = all.theta_flipped = true;
  all.floor_offset = 0.01;
  all.floor_tilt = 0.02;
  const FrameCorrection none = AllowedCorrection(all, {});
  EXPECT_EQ(none.rotation_offset_B, Eigen::Vector3d(0, 0, 0));
  EXPECT_EQ(none.length_scale, 1);
  EXPECT_FALSE(none.mirrored);
  const FrameCorrection some =
      AllowedCorrection(all, {"theta_offset_rad", "com_offset_z_m", "floor_offset_m"});
  EXPECT_EQ(some.rotation_offset_B, Eigen::Vector3d(0, -0.2, 0));
  EXPECT_EQ(some.com_offset_B, Eigen::Vector3d(0, 0, 3e-3));
  EXPECT_EQ(some.floor_offset, 0.01);
  EXPECT_EQ(some.floor_tilt, 0);
  EXPECT_EQ(some.clock_rate, 1);
  const FrameCorrection every = AllowedCorrection(all, {"all"});
  EXPECT_EQ(every.rotation_offset_B, all.rotation_offset_B);
  EXPECT_EQ(every.com_offset_B, all.com_offset_B);
  EXPECT_EQ(every.length_scale, 1.02);
  EXPECT_EQ(every.clock_rate, 0.9);
  EXPECT_TRUE(every.mirrored && every.theta_flipped);
  EXPECT_EQ(every.floor_tilt, 0.02);
}

TEST(Experiment, ShippedExperimentsLoad) {
  const std::filesystem::path folder =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data" / "experiments";
  const Experiment square = LoadExperiment(folder / "square-drops.yaml");
  EXPECT_TRUE(square.body.planar);
  EXPECT_FALSE(square.body.mass_known);
  EXPECT_NEAR(std::sqrt(square.body.inertia_B(1, 1)), 0.0245, 5e-5);
  EXPECT_EQ(square.apply, std::vector<std::string>{"all"});
  EXPECT_EQ(square.laws.size(), 3u);
  const Experiment cube = LoadExperiment(folder / "cube-tosses.yaml");
  EXPECT_FALSE(cube.body.planar);
  EXPECT_EQ(cube.body.mass, 0.37);
  EXPECT_EQ(cube.body.inertia_B(2, 2), 0.00081);
}

}  // namespace
}  // namespace impactlab
