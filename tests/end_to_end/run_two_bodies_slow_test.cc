// `impactlab run` on recordings of two bodies: a ball on a free plate, a rod on a plate that hangs
// on an axis, from poses and from markers of both bodies in the same pictures.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "data/files/table.h"
#include "impact/identify/identify.h"
#include "pipelines/run/experiment.h"
#include "pipelines/tables/tables.h"
#include "tests/reconstruction/two_body_scene.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::Blow;
using test::ReadText;
using test::RunProgram;
using test::Striker;
using test::WriteText;
using ::testing::HasSubstr;

constexpr double kRestitution = 0.6;
const char* const kPlate =
    "  body: {shape: box, sides_m: [0.2, 0.15, 0.02], mass_kg: 0.4}\n"
    "  surface: {normal: [0, 0, 1], offset_m: 0.01}\n";

std::string StrikerYaml(Striker striker) {
  if (striker == Striker::kBall) return "body: {shape: ball, radius_m: 0.03, mass_kg: 0.1}\n";
  if (striker == Striker::kRod)
    return "body: {shape: rod, length_m: 0.14, radius_m: 0.006, mass_kg: 0.06}\n";
  return "body: {shape: box, sides_m: [0.06, 0.05, 0.04], mass_kg: 0.15}\n";
}

std::string AxisYaml(bool on_axis) {
  return on_axis ? "  axis: {point_m: [0.1, 0, 0], direction: [0.1, 1, 0]}\n" : "";
}

// Poses of both bodies, as files of one name in two folders.
void WriteBlows(const std::filesystem::path& folder, int n, const test::BlowOptions& options,
                std::mt19937_64& random) {
  std::vector<PoseRecording> first, second;
  for (int k = 0; k < n; ++k) {
    Blow blow = test::DrawBlow(options, random);
    blow.first.name = blow.second.name = fmt::format("blow_{:02}", k);
    first.push_back(std::move(blow.first));
    second.push_back(std::move(blow.second));
  }
  std::filesystem::create_directories(folder / "striker");
  std::filesystem::create_directories(folder / "plate");
  std::vector<const PoseRecording*> strikers, plates;
  for (const PoseRecording& poses : first) strikers.push_back(&poses);
  for (const PoseRecording& poses : second) plates.push_back(&poses);
  WritePoses(folder / "striker", strikers);
  WritePoses(folder / "plate", plates);
}

LawFit Energetic(const std::filesystem::path& run) {
  const FitResult fit = FitResultFromJson(ReadText(run / "fit.json"), "fit.json");
  for (const LawFit& law : fit.fits)
    if (law.law == "energetic") return law;
  ADD_FAILURE() << "no energetic law";
  return {};
}

void ExpectHolds(const ParameterEstimate& p, double truth, double widest) {
  EXPECT_LT(p.lower95, truth) << p.name << " up to " << p.upper95;
  EXPECT_GT(p.upper95, truth) << p.name << " from " << p.lower95;
  EXPECT_LT(p.upper95 - p.lower95, widest) << p.name << ": " << p.reason;
}

class RunTwoBodies : public ::testing::TestWithParam<bool> {};

TEST_P(RunTwoBodies, PosesGiveTheCoefficientsAndTheClosure) {
  const bool on_axis = GetParam();
  const test::BlowOptions options = {.on_axis = on_axis,
                                     .striker = on_axis ? Striker::kRod : Striker::kBall,
                                     .restitution = kRestitution,
                                     .friction = on_axis ? 0.2 : 0.06};
  const test::ScratchFolder scratch(on_axis ? "two bodies axis" : "two bodies free");
  const std::filesystem::path& folder = scratch.path();
  std::mt19937_64 random(20261210 + on_axis);
  WriteBlows(folder, 20, options, random);
  const std::string file =
      "schema: impactlab.experiment/1\nrecordings: {kind: spatial_poses, files: striker/*.csv}\n" +
      StrikerYaml(options.striker) + "second_body:\n" + kPlate + AxisYaml(on_axis) +
      "  files: plate/*.csv\n";
  WriteText(folder / "experiment.yaml", file);
  const auto run =
      RunProgram({"run", folder / "experiment.yaml", "--out", folder / "out", "--require",
                  "accepted>=16", "--require", "closure_probability>=0.001"},
                 folder);
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("relative motion; the second is " +
                                 std::string(on_axis ? "on a fixed axis" : "free")));
  EXPECT_THAT(run.out, HasSubstr("the momentum of both bodies closes"));
  EXPECT_THAT(ReadText(folder / "out/report.html"), HasSubstr("relative motion of two bodies"));
  EXPECT_THAT(ReadText(folder / "out/audit.json"), HasSubstr("\"closure\""));
  const LawFit law = Energetic(folder / "out");
  ExpectHolds(law.mu_k, options.friction, 0.06);
  ExpectHolds(law.e, kRestitution, 0.06);

  // Identification and prediction from the tables alone give the same.
  const auto again = RunProgram({"identify", folder / "out/run.yaml", "--events",
                                 folder / "out/events.csv", "--out", folder / "again"},
                                folder);
  ASSERT_EQ(again.code, 0) << again.err;
  const LawFit same = Energetic(folder / "again");
  for (int k = 0; k < 2; ++k)
    EXPECT_NEAR(ListParameters(same)[k].get().value, ListParameters(law)[k].get().value, 1e-6);

  // The plate taken for one that stays where it is: the reason why the second body is asked for.
  const Experiment experiment = LoadExperiment(folder / "experiment.yaml");
  std::vector<ImpactEvent> fixed =
      ReadEvents(folder / "out/events.csv", experiment.body, Plane{}, {0, 0, -9.80665});
  for (ImpactEvent& event : fixed) {
    if (!event.struck) continue;
    const Plane plane{event.struck->normal, event.struck->normal.dot(event.p_WP)};
    const Eigen::Vector3d u = event.struck->PointMinus(event.p_WP);
    event.v_minus += u;
    event.v_plus += u;
    event.struck.reset();
    UpdateContact(event, experiment.body, plane, {0, 0, -9.80665});
  }
  const LawFit wrong =
      Identify(fixed, experiment.body, {{}, RestitutionLaw::kEnergetic}, {.influence = false});
  EXPECT_LT(wrong.e.upper95, kRestitution - 0.05);

  // A wrong mass of the plate is told.
  std::string heavier = file;
  heavier.replace(heavier.find("mass_kg: 0.4"), 12, "mass_kg: 0.5");
  WriteText(folder / "heavier.yaml", heavier);
  const auto told = RunProgram(
      {"run", folder / "heavier.yaml", "--out", folder / "heavier", "--no-report"}, folder);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("the momentum of both bodies does not close"));
}
INSTANTIATE_TEST_SUITE_P(FreeAndOnAxis, RunTwoBodies, ::testing::Values(false, true));

struct Marked {
  std::vector<std::string> names;
  std::vector<Eigen::Vector3d> places;
  std::string Yaml() const {
    std::string list, layout;
    for (std::size_t k = 0; k < names.size(); ++k) {
      list += (k > 0 ? ", " : "") + names[k];
      layout += fmt::format("{}[{}, {}, {}]", k > 0 ? ", " : "", places[k].x(), places[k].y(),
                            places[k].z());
    }
    return "names: [" + list + "], layout_m: [" + layout + "]";
  }
};
const Marked kBoxMarkers = {
    {"b1", "b2", "b3", "b4"},
    {{0.028, 0.02, 0.02}, {-0.026, 0.024, -0.01}, {0.01, -0.025, 0.015}, {-0.03, -0.01, -0.02}}};
const Marked kPlateMarkers = {{"p1", "p2", "p3", "p4", "p5"},
                              {{0.09, 0.06, 0.01},
                               {-0.08, 0.065, 0.005},
                               {0.05, -0.07, -0.01},
                               {-0.09, -0.05, 0.008},
                               {0.01, 0.02, -0.01}}};

// Images of both bodies' markers by two cameras.
MarkerTracks FilmBoth(const Blow& blow, const CameraRig& rig, double half,
                      std::mt19937_64& random) {
  constexpr double kRate = 500, kPixelSd = 0.03;
  std::normal_distribution<double> normal;
  MarkerTracks tracks;
  tracks.markers = kBoxMarkers.names;
  tracks.markers.insert(tracks.markers.end(), kPlateMarkers.names.begin(),
                        kPlateMarkers.names.end());
  for (std::size_t c = 0; c < rig.cameras.size(); ++c)
    tracks.cameras.push_back(rig.cameras[c].name);
  for (long long frame = 0; frame < 400; ++frame) {
    const double t = static_cast<double>(frame) / kRate, s = t - blow.t;
    if (std::abs(s) > half) continue;
    const Eigen::Isometry3d X[2] = {test::PoseOf(blow.At(1, s)), test::PoseOf(blow.At(2, s))};
    for (std::size_t c = 0; c < rig.cameras.size(); ++c)
      for (std::size_t m = 0; m < tracks.markers.size(); ++m) {
        const bool one = m < kBoxMarkers.names.size();
        const Eigen::Vector3d p_B =
            one ? kBoxMarkers.places[m] : kPlateMarkers.places[m - kBoxMarkers.names.size()];
        TrackPoint point;
        point.camera = static_cast<int>(c);
        point.marker = static_cast<int>(m);
        point.frame = frame;
        point.t = t;
        const double x = normal(random), y = normal(random);
        point.q =
            *Project(rig.cameras[c].camera, rig.cameras[c].X_WC.inverse() * X[one ? 0 : 1] * p_B) +
            kPixelSd * Eigen::Vector2d(x, y);
        point.cov = kPixelSd * kPixelSd * Eigen::Matrix2d::Identity();
        if (std::abs(s) < 0.7 / kRate) point.flags |= kImpact;
        tracks.points.push_back(point);
      }
  }
  Sort(&tracks);
  return tracks;
}

TEST(RunTwoBodiesMarkers, ImagesAndPointsOfBothBodiesGiveTheCoefficients) {
  const test::ScratchFolder scratch("two bodies markers");
  const std::filesystem::path& folder = scratch.path();
  std::mt19937_64 random(20261212);
  CameraRig rig = test::DropRig();
  rig.world.source = "camera";  // knows no floor, which nothing here asks for
  rig.world.gravity_W = -Eigen::Vector3d::UnitZ();
  WriteText(folder / "rig.yaml", ToYaml(rig));
  const std::string cameras = "rig: rig.yaml\ncameras: [{name: camera0}, {name: camera1}]\n",
                    recordings =
                        "recordings: [{name: blow, files: {camera0: a.mp4, camera1: b.mp4}}]\n";
  WriteText(folder / "box.yaml", cameras + "markers: {" + kBoxMarkers.Yaml() + "}\n" + recordings);
  WriteText(folder / "plate.yaml",
            cameras + "markers: {" + kPlateMarkers.Yaml() + "}\n" + recordings);
  TracksWriter writer(folder / "tracks.csv");
  const test::BlowOptions options = {.striker = Striker::kBox, .restitution = kRestitution};
  for (int k = 0; k < 14; ++k) {
    const Blow blow = test::DrawBlow(options, random);
    MarkerTracks tracks = FilmBoth(blow, rig, options.half, random);
    tracks.recording = fmt::format("blow_{:02}", k);
    writer.Write(tracks);
  }
  writer.Commit();
  const std::string head = "schema: impactlab.experiment/1\nidentify: {laws: [energetic]}\n" +
                           StrikerYaml(Striker::kBox);
  WriteText(
      folder / "images.yaml",
      head + "recordings: {kind: markers, tracking: box.yaml, tracks: tracks.csv}\nsecond_body:\n" +
          kPlate + "  tracking: plate.yaml\n");
  const auto images = RunProgram(
      {"run", folder / "images.yaml", "--out", folder / "images", "--no-report"}, folder);
  ASSERT_EQ(images.code, 0) << images.err << images.out;
  EXPECT_THAT(images.out, HasSubstr("the momentum of both bodies closes"));
  EXPECT_TRUE(std::filesystem::exists(folder / "images/poses/blow_03.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "images/poses_second/blow_03.csv"));
  const LawFit from_images = Energetic(folder / "images");
  ExpectHolds(from_images.mu_k, options.friction, 0.06);
  ExpectHolds(from_images.e, kRestitution, 0.06);

  // The same markers in space, both bodies in one file.
  const auto exported = RunProgram({"export", folder / "tracks.csv", "--rig", folder / "rig.yaml",
                                    "--out", folder / "space.trc"},
                                   folder);
  ASSERT_EQ(exported.code, 0) << exported.err;
  WriteText(folder / "points.yaml",
            head + "recordings: {kind: marker_points, files: 'space_*.trc', " + kBoxMarkers.Yaml() +
                "}\nsecond_body:\n" + kPlate + "  " +
                kPlateMarkers.Yaml().replace(kPlateMarkers.Yaml().find(", layout_m"), 2, "\n  ") +
                "\n");
  const auto points = RunProgram(
      {"run", folder / "points.yaml", "--out", folder / "points", "--no-report"}, folder);
  ASSERT_EQ(points.code, 0) << points.err << points.out;
  EXPECT_TRUE(std::filesystem::exists(folder / "points/points_second.csv"));
  const LawFit from_points = Energetic(folder / "points");
  for (int k = 0; k < 2; ++k)
    EXPECT_NEAR(ListParameters(from_points)[k].get().value,
                ListParameters(from_images)[k].get().value,
                2 * std::hypot(ListParameters(from_points)[k].get().sd,
                               ListParameters(from_images)[k].get().sd));
}

}  // namespace
}  // namespace impactlab
