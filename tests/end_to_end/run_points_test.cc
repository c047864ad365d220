// From images through `export` to C3D, and from there to the coefficients: the same as straight
// from the images.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "data/files/fit_result.h"
#include "impact/law/solve.h"
#include "tests/reconstruction/drop_scene.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::WriteText;

constexpr double kFriction = 0.2, kRestitution = 0.6;

// A drop whose impact is Coulomb friction with the energetic law.
test::Drop LawfulDrop(std::mt19937_64& random) {
  while (true) {
    test::Drop drop = test::DrawDrop(test::Thing::kBox, random);
    Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
    X_WB.linear() = drop.minus.R;
    X_WB.translation() = drop.minus.p;
    const Eigen::Isometry3d X_WF =
        ContactFrame(drop.floor(), drop.minus.p + drop.lever, drop.gravity, false);
    const ContactState contact =
        MakeContactState(drop.body, X_WB, drop.minus.v, drop.minus.omega, X_WF);
    const ImpactOutcome outcome = Solve(
        contact,
        {{.e = kRestitution, .mu_k = kFriction, .mu_s = kFriction}, RestitutionLaw::kEnergetic});
    const VelocityChange change = ApplyImpulse(drop.body, X_WB, X_WF, outcome.J_F);
    drop.plus = drop.minus;
    drop.plus.v += change.dv_W;
    drop.plus.omega += change.domega_W;
    double end = 0;
    while (end < 0.2 && test::Heights(drop.body, test::Fly(drop.plus, drop.body.inertia_B,
                                                           drop.gravity, end + 2e-3))[0] > 0)
      end += 2e-3;
    drop.end = end - 2e-3;
    if (drop.end > 0.04) return drop;
  }
}

TEST(RunPoints, ExportedC3dGivesTheCoefficientsOfTheImages) {
  const test::ScratchFolder scratch("run points");
  const std::filesystem::path& folder = scratch.path();
  std::mt19937_64 random(20261130);
  CameraRig rig = test::DropRig();
  rig.world.source = "board";
  rig.world.gravity_W = -Eigen::Vector3d::UnitZ();
  WriteText(folder / "rig.yaml", ToYaml(rig));
  const std::string names =
      "names: [m1, m2, m3, m4], layout_m: [[0.045, 0.03, 0.025], [-0.04, 0.035, -0.01], [0.01, "
      "-0.035, 0.02], [-0.03, -0.02, -0.025]]";
  WriteText(folder / "tracking.yaml",
            "rig: rig.yaml\ncameras: [{name: camera0}, {name: camera1}]\nmarkers: {" + names +
                "}\nrecordings: [{name: drop, files: {camera0: a.mp4, camera1: b.mp4}}]\n");
  {
    TracksWriter writer(folder / "tracks.csv");
    for (int k = 0; k < 8; ++k) {
      MarkerTracks tracks = test::Film(LawfulDrop(random), rig, {}, random);
      tracks.recording = "drop" + std::to_string(k);
      writer.Write(tracks);
    }
    writer.Commit();
  }
  const std::string head =
      "schema: impactlab.experiment/1\nbody: {shape: box, sides_m: [0.1, 0.07, 0.05], mass_kg: "
      "0.3}\nidentify: {laws: [energetic]}\n";
  WriteText(folder / "images.yaml",
            head + "recordings: {kind: markers, tracking: tracking.yaml, tracks: tracks.csv}\n");
  WriteText(folder / "points.yaml",
            head + "recordings: {kind: marker_points, files: 'space_*.c3d', " + names + "}\n");
  const auto exported = test::RunProgram({"export", folder / "tracks.csv", "--rig",
                                          folder / "rig.yaml", "--out", folder / "space.c3d"},
                                         folder);
  ASSERT_EQ(exported.code, 0) << exported.err;
  const auto fit_of = [&](const std::string& kind) {
    const auto run = test::RunProgram(
        {"run", folder / (kind + ".yaml"), "--out", folder / kind, "--no-report", "--quiet"},
        folder);
    EXPECT_EQ(run.code, 0) << run.err;
    const std::filesystem::path file = folder / kind / "fit.json";
    return FitResultFromJson(test::ReadText(file), file.string());
  };
  const FitResult images = fit_of("images"), points = fit_of("points");
  EXPECT_GE(images.n_events, 6);
  EXPECT_EQ(points.n_events + static_cast<int>(points.rejected.size()), 8);
  EXPECT_GE(points.n_events, 6);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& a = ListParameters(images.fits[0])[k].get();
    const auto& b = ListParameters(points.fits[0])[k].get();
    EXPECT_NEAR(a.value, b.value, 2 * std::hypot(a.sd, b.sd)) << a.name;
    EXPECT_LT(b.lower95, k == 0 ? kFriction : kRestitution) << b.name;
    EXPECT_GT(b.upper95, k == 0 ? kFriction : kRestitution) << b.name;
    EXPECT_LT(b.upper95 - b.lower95, 0.05) << b.name;
  }
  std::string wrong = names;
  wrong.replace(wrong.find("0.045, 0.03"), 11, "0.0465, 0.0285");
  WriteText(folder / "wrong.yaml",
            head + "recordings: {kind: marker_points, files: 'space_*.c3d', " + wrong + "}\n");
  const auto said = [&](const std::string& kind) {
    return test::RunProgram(
               {"run", folder / (kind + ".yaml"), "--out", folder / "again", "--no-report"}, folder)
        .out;
  };
  EXPECT_THAT(said("wrong"),
              ::testing::HasSubstr("found       marker 'm1' is not where the layout has it"));
  EXPECT_THAT(said("points"), ::testing::Not(::testing::HasSubstr("layout has it")));
}

}  // namespace
}  // namespace impactlab
