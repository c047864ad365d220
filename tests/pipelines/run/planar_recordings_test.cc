// One camera that films a plane of motion from the side.

#include "pipelines/run/planar_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "data/base/error.h"
#include "impact/law/solve.h"
#include "pipelines/run/run.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using ::testing::HasSubstr;

constexpr double kFriction = 0.25, kRestitution = 0.6, kRate = 500, kDistance = 1.5;
const char* const kLayout =
    "names: [a, b, c], layout_m: [[0.02, 0.02], [-0.022, 0.01], [0.005, -0.02]]";
const std::vector<Vector2d> kMarkers = {{0.02, 0.02}, {-0.022, 0.01}, {0.005, -0.02}};
const Vector2d kFoot(0.05, 0.12);

// A camera without distortion that looks along W_y, 2000 px of focal length.
CameraRig SideRig() {
  CameraRig rig;
  RigCamera camera;
  camera.name = "side";
  camera.camera.model = LensModel::kBrown;
  camera.camera.width = 1280;
  camera.camera.height = 1024;
  Eigen::VectorXd lens = Eigen::VectorXd::Zero(9);
  lens.head<4>() << 2000, 2000, 640, 512;
  SetIntrinsics(camera.camera, lens);
  camera.X_WC.linear() << 1, 0, 0, 0, 0, 1, 0, -1, 0;
  camera.X_WC.translation() = Vector3d(kFoot.x(), -kDistance, kFoot.y());
  rig.cameras.push_back(camera);
  return rig;
}

Vector2d ImageOf(const Vector3d& p_W) {
  const RigCamera camera = SideRig().cameras[0];
  return *Project(camera.camera, camera.X_WC.inverse() * p_W);
}

// Depth over the path: d0, and slopes before and after the impact; towards the camera.
struct Depth {
  double d0 = 0;
  Vector2d before = Vector2d::Zero(), after = Vector2d::Zero();
};

struct PlanarDrop {
  MarkerTracks tracks;
  BodyState minus, plus;
};

// A square that strikes with a corner away from the point under the camera, after the energetic
// law.
PlanarDrop Make(const std::string& name, const Body& body, const Depth& depth, double pixel_sd,
                std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  const FlightOptions flight;
  PlanarDrop out;
  while (true) {
    const double theta = 0.78 + 0.35 * uniform(random), x = 0.1 * uniform(random);
    out.minus.X_WB = PlanarPose(x, 0, theta);
    out.minus.X_WB.translation().z() -= ContactWithPlane(body, out.minus.X_WB, {}).gap;
    const double vx = 0.5 * uniform(random), vz = -1.8 + 0.3 * uniform(random),
                 w = 3 * uniform(random);
    out.minus.v_WB = {vx, 0, vz};
    out.minus.omega_WB = {0, w, 0};
    const Eigen::Isometry3d X_WF =
        ContactFrame({}, ContactWithPlane(body, out.minus.X_WB, {}).p_WP, flight.gravity_W, true);
    const ContactState contact =
        MakeContactState(body, out.minus.X_WB, out.minus.v_WB, out.minus.omega_WB, X_WF);
    const VelocityChange change =
        ApplyImpulse(body, out.minus.X_WB, X_WF,
                     Solve(contact, {{.e = kRestitution, .mu_k = kFriction, .mu_s = kFriction},
                                     RestitutionLaw::kEnergetic})
                         .J_F);
    out.plus = out.minus;
    out.plus.v_WB += change.dv_W;
    out.plus.omega_WB += change.domega_W;
    bool clean = true;
    for (int i = 1; i <= 22; ++i) {
      const double s = 2e-3 * i;
      clean =
          clean && ContactWithPlane(body, Propagate(out.plus, body, flight, s).X_WB, {}).gap > 0;
    }
    for (int i = 1; i <= 22; ++i) {
      const double s = -2e-3 * i;
      clean =
          clean && ContactWithPlane(body, Propagate(out.minus, body, flight, s).X_WB, {}).gap > 0;
    }
    if (clean) break;
  }
  out.tracks.recording = name;
  out.tracks.cameras = {"side"};
  out.tracks.markers = {"a", "b", "c"};
  const Vector3d p0 = out.minus.X_WB.translation();
  const double shift = 0.5 + 0.5 * uniform(random);
  for (int m = 0; m < 3; ++m)
    for (int i = -22; i <= 22; ++i) {
      const double s = (i + shift) / kRate;
      const BodyState state = Propagate(s < 0 ? out.minus : out.plus, body, flight, s);
      Vector3d p = state.X_WB * Vector3d(kMarkers[m].x(), 0, kMarkers[m].y());
      const Vector2d moved(p.x() - p0.x(), p.z() - p0.z());
      p.y() = -(depth.d0 + (s < 0 ? depth.before : depth.after).dot(moved));
      TrackPoint point;
      point.marker = m;
      point.frame = i + 22;
      point.t = 0.1 + s;
      const double dx = normal(random), dy = normal(random);
      point.q = ImageOf(p) + pixel_sd * Vector2d(dx, dy);
      point.cov = pixel_sd * pixel_sd * Eigen::Matrix2d::Identity();
      out.tracks.points.push_back(point);
    }
  return out;
}

class PlaneOfMotion : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  Experiment Load(const std::string& recordings) const {
    Write("rig.yaml", ToYaml(SideRig()));
    return LoadExperiment(Write(
        "experiment.yaml",
        "schema: impactlab.experiment/1\nrecordings: {kind: planar_markers, files: tracks.csv, " +
            recordings + "}\nbody: {shape: box, side_m: 0.06, mass_kg: 0.1}\n" +
            "identify: {laws: [energetic], influence: false}\n"));
  }
  std::string Fault(const std::string& recordings) const {
    try {
      Load(recordings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }
  // Images of points of the plane of motion, each wrong by `sd` pixels.
  void WritePlanePoints(double sd, std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    std::string text = "x_m,z_m,x_px,y_px\n";
    for (const double x : {-0.2, 0.0, 0.25})
      for (const double z : {0.0, 0.15, 0.3}) {
        const Vector2d q = ImageOf({x, 0, z});
        const double dx = normal(random), dy = normal(random);
        text += std::to_string(x) + "," + std::to_string(z) + "," +
                std::to_string(q.x() + sd * dx) + "," + std::to_string(q.y() + sd * dy) + "\n";
      }
    Write("plane.csv", text);
  }
  std::vector<PlanarDrop> WriteDrops(int n, double depth_sd, double tilt_sd, double fixed_depth,
                                     std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    const auto two = [&] {
      const double a = normal(random), b = normal(random);
      return Vector2d(tilt_sd * a, tilt_sd * b);
    };
    const Body body = MakeBox({0.06, 0, 0.06}, 0.1, true);
    std::vector<PlanarDrop> drops;
    TracksWriter writer(folder_ / "tracks.csv");
    for (int k = 0; k < n; ++k) {
      Depth depth;
      depth.d0 = fixed_depth + depth_sd * normal(random);
      depth.before = two();
      depth.after = two();
      drops.push_back(Make("drop" + std::to_string(100 + k), body, depth, 0.05, random));
      writer.Write(drops.back().tracks);
    }
    writer.Commit();
    return drops;
  }
  // Mean of z^2 of velocities, spin and lever over all accepted events, and how many there are.
  static std::pair<double, int> Consistency(const RunResult& run,
                                            const std::vector<PlanarDrop>& truth) {
    double sum = 0;
    int n = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      for (const ImpactEvent& event : run.recorded.motion[i].events) {
        if (!event.accepted) continue;
        ++n;
        const Eigen::Vector4d error(event.v_minus.x() - truth[i].minus.v_WB.x(),
                                    event.v_minus.z() - truth[i].minus.v_WB.z(),
                                    event.v_plus.x() - truth[i].plus.v_WB.x(),
                                    event.v_plus.z() - truth[i].plus.v_WB.z());
        const int at[4] = {kVMinus, kVMinus + 2, kVPlus, kVPlus + 2};
        for (int k = 0; k < 4; ++k) sum += error(k) * error(k) / event.cov(at[k], at[k]) / 4;
      }
    return {sum / std::max(n, 1), n};
  }
  RunResult Run(const Experiment& e) const {
    return RunExperiment(e, LoadRecordings(e, {folder_ / "tracks.csv"}), {.validate = false},
                         {.threads = 1, .quiet = true});
  }
  test::TemporaryFolder folder_;
};

TEST_F(PlaneOfMotion, KeysReadBackAndFaultsAreNamed) {
  std::mt19937_64 random(1);
  WritePlanePoints(0, random);
  for (const std::string how :
       {"rig: rig.yaml, plane_y_m: 0.01",
        "plane_points: plane.csv, camera_m: [0.05, 0.12, 1.5], point_sd_px: 0.3"}) {
    const Experiment e =
        Load(std::string(kLayout) + ", depth_sd_m: 0.005, tilt_sd_rad: 0.02, " + how);
    ASSERT_TRUE(e.planar_camera);
    EXPECT_EQ(e.planar_camera->off.tilt_sd, 0.02);
    EXPECT_EQ(ToYaml(LoadExperiment(Write("again.yaml", ToYaml(e)))), ToYaml(e));
  }
  const std::string all = std::string(kLayout) + ", tilt_sd_rad: 0.02, ";
  EXPECT_THAT(Fault(all + "rig: rig.yaml"), HasSubstr("depth_sd_m"));
  EXPECT_THAT(Fault(all + "depth_sd_m: 0.01"), HasSubstr("neither a rig nor plane_points"));
  EXPECT_THAT(Fault(all + "depth_sd_m: 0.01, rig: rig.yaml, camera: left"),
              HasSubstr("allowed one of side"));
  Write("line.csv", "x_m,z_m,x_px,y_px\n0,0,1,1\n0.1,0,2,1\n0.2,0,3,1\n0.3,0,4,1\n");
  EXPECT_THAT(Fault(all + "depth_sd_m: 0.01, plane_points: line.csv, camera_m: [0, 0, 1]"),
              HasSubstr("line.csv: homography: found points that lie on a line"));
}

TEST_F(PlaneOfMotion, PointsAndCalibrationPlaceAMarkerAlike) {
  std::mt19937_64 random(2);
  WritePlanePoints(0, random);
  const PlaneView points =
      Load(std::string(kLayout) +
           ", depth_sd_m: 0, tilt_sd_rad: 0, plane_points: plane.csv, camera_m: [0.05, 0.12, 1.5]")
          .planar_camera->view;
  const PlaneView rig = ViewFromCamera(SideRig().cameras[0], 0);
  EXPECT_EQ(rig.foot, kFoot);
  EXPECT_EQ(rig.distance, kDistance);
  for (const Vector2d& p : {Vector2d(0.1, 0.2), Vector2d(-0.3, 0.05)}) {
    const Vector2d q = ImageOf({p.x(), 0, p.y()});
    for (const PlaneView& view : {points, rig}) {
      const auto placed = PlaceInPlane(view, q);
      ASSERT_TRUE(placed);
      EXPECT_LT((placed->p - p).norm(), 1e-7);
      for (int k = 0; k < 2; ++k) {
        const double h = 0.01;
        const Vector2d there = PlaceInPlane(view, q + h * Vector2d::Unit(k))->p,
                       here = PlaceInPlane(view, q - h * Vector2d::Unit(k))->p;
        EXPECT_LT((placed->dp_dq.col(k) - (there - here) / (2 * h)).norm(), 1e-8);
      }
    }
  }
}

TEST_F(PlaneOfMotion, CoefficientsOfDropsOffThePlane) {
  std::mt19937_64 random(20261201);
  const std::vector<PlanarDrop> truth = WriteDrops(30, 0.01, 0.02, 0, random);
  const RunResult run =
      Run(Load(std::string(kLayout) + ", depth_sd_m: 0.01, tilt_sd_rad: 0.02, rig: rig.yaml"));
  ASSERT_EQ(run.n_recordings(), truth.size());
  const auto [consistency, n] = Consistency(run, truth);
  EXPECT_GE(n, 24);
  EXPECT_GT(consistency, 0.6);
  EXPECT_LT(consistency, 1.5);
  const LawFit& fit = run.recorded.fit.fits[0];
  const double planted[2] = {kFriction, kRestitution};
  for (int k = 0; k < 2; ++k) {
    const ParameterEstimate& p = k == 0 ? fit.mu_k : fit.e;
    EXPECT_LT(p.lower95, planted[k]) << p.name;
    EXPECT_GT(p.upper95, planted[k]) << p.name;
    EXPECT_LT(p.upper95 - p.lower95, 0.05) << p.name;
  }
}

TEST_F(PlaneOfMotion, TwentyMillimetresOffAreCoveredByTheStatedSdAndByNothingElse) {
  std::mt19937_64 random(20261202);
  const std::vector<PlanarDrop> truth = WriteDrops(12, 0, 0, 0.02, random);
  const std::string all = std::string(kLayout) + ", rig: rig.yaml, ";
  const auto stated = Consistency(Run(Load(all + "depth_sd_m: 0.02, tilt_sd_rad: 0")), truth);
  const auto silent = Consistency(Run(Load(all + "depth_sd_m: 0, tilt_sd_rad: 0")), truth);
  EXPECT_GE(stated.second, 8);
  EXPECT_LT(stated.first, 2.0);
  EXPECT_GT(silent.first, 5.0);
}

TEST_F(PlaneOfMotion, PointsOfThePlaneThatAreRoughWidenTheCovariance) {
  std::mt19937_64 random(20261203);
  const std::vector<PlanarDrop> truth = WriteDrops(20, 0, 0, 0, random);
  double sum = 0;
  int n = 0;
  // One set of points is wrong for all drops at once: several are drawn.
  for (int set = 0; set < 8; ++set) {
    WritePlanePoints(1.0, random);
    const auto [mean, events] = Consistency(
        Run(Load(std::string(kLayout) + ", depth_sd_m: 0, tilt_sd_rad: 0, plane_points: plane.csv, "
                                        "point_sd_px: 1, camera_m: [0.05, 0.12, 1.5]")),
        truth);
    sum += mean / 8;
    n += events;
  }
  EXPECT_GE(n, 120);
  EXPECT_GT(sum, 0.4);
  EXPECT_LT(sum, 2.0);
}

TEST_F(PlaneOfMotion, AMarkerThatIsNotWhereTheLayoutHasItIsNamed) {
  std::mt19937_64 random(20261204);
  WriteDrops(10, 0.01, 0.02, 0, random);
  const auto layout_findings = [&](const std::string& layout, const std::string& rest) {
    std::vector<std::string> texts;
    for (const Finding& finding : Run(Load(layout + rest)).audit.findings)
      if (finding.parameter == "layout_distance_m") texts.push_back(finding.text);
    return texts;
  };
  const std::string sure = ", depth_sd_m: 0.001, tilt_sd_rad: 0.002, rig: rig.yaml";
  const std::string unsure = ", depth_sd_m: 0.01, tilt_sd_rad: 0.02, rig: rig.yaml";
  const std::string wrong =
      "names: [a, b, c], layout_m: [[0.02, 0.02], [-0.022, 0.012], [0.005, -0.02]]";
  EXPECT_THAT(layout_findings(kLayout, unsure), ::testing::IsEmpty());
  EXPECT_THAT(layout_findings(wrong, unsure),
              ::testing::ElementsAre(HasSubstr("one of the markers 'a', 'b', 'c' is not where")));
  WriteDrops(10, 0.001, 0.002, 0, random);
  EXPECT_THAT(layout_findings(kLayout, sure), ::testing::IsEmpty());
  EXPECT_THAT(layout_findings(wrong, sure),
              ::testing::ElementsAre(HasSubstr("marker 'b' is not where the layout has it")));
  EXPECT_THAT(
      layout_findings(
          "names: [a, b, c], layout_m: [[0.021, 0.021], [-0.0231, 0.0105], [0.00525, -0.021]]",
          sure),
      ::testing::ElementsAre(
          ::testing::ContainsRegex("seen 4.[78]. % shorter than the layout has them")));
}

TEST_F(PlaneOfMotion, AnUnstatedDepthShowsAsTheScale) {
  std::mt19937_64 random(20261205);
  WriteDrops(6, 0, 0, 0.02, random);
  const RunResult run =
      Run(Load(std::string(kLayout) + ", depth_sd_m: 0, tilt_sd_rad: 0, rig: rig.yaml"));
  EXPECT_THAT(PosesOf(run.recordings)->layout.text,
              HasSubstr("% longer than the layout has them: the scale"));
}

TEST_F(PlaneOfMotion, ANameThatNoRecordingHasIsAnError) {
  std::mt19937_64 random(3);
  WriteDrops(2, 0, 0, 0, random);
  const Experiment e = Load(
      "names: [a, b, cc], layout_m: [[0.02, 0.02], [-0.022, 0.01], [0.005, -0.02]], depth_sd_m: 0, "
      "tilt_sd_rad: 0, rig: rig.yaml");
  try {
    Run(e);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "recordings.names: found 'cc', which no recording has, allowed: a, b, c");
  }
}

}  // namespace
}  // namespace impactlab
