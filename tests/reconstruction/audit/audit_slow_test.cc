// Monte Carlo of the audit: how often planted errors are named, how often clean data are accused,
// and whether the stated sd is honest.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "data/statistics/statistics.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/pose_recording.h"
#include "tests/reconstruction/audit/audit_scene.h"

namespace impactlab {
namespace {

using namespace testing_audit;

constexpr int kSets = 200;

Scene Planar() {
  Scene scene;
  scene.events = 30;
  return scene;
}

Scene Spatial() {
  Scene scene;
  scene.body = MakeBox(Vector3d(0.1, 0.08, 0.06), 0.3);
  scene.events = 40;
  scene.rests = 50;
  return scene;
}

// What no source models: scatter of the spin change, and a few wild events.
Scene Rough(Scene scene) {
  scene.scatter_spin = 0.5;
  scene.wild_share = 0.05;
  return scene;
}

TEST(AuditMonteCarlo, CleanDataAreNotAccused) {
  int index = 0;
  for (const Scene& scene : {Planar(), Spatial(), Rough(Planar()), Rough(Spatial())}) {
    int accused = 0;
    std::string stories;
    for (int i = 0; i < kSets; ++i) {
      const AuditResult result = RunAudit(scene, MakeSet(scene, 1000 * (index + 1) + i));
      if (!NamedParameters(result).empty()) {
        ++accused;
        stories += Story(result);
      }
    }
    EXPECT_LE(accused, kSets / 20) << "scene " << index << "\n" << stories;
    RecordProperty("accused_" + std::to_string(index), accused);
    ++index;
  }
}

struct Plant {
  std::string name;
  void (*plant)(FrameCorrection&, bool planar, double sign);
  std::vector<std::string> planar, spatial;  // parameters to be named
};

const std::vector<Plant>& Plants() {
  static const std::vector<Plant> plants = {
      {"attitude",
       [](FrameCorrection& e, bool planar, double s) {
         e.rotation_offset_B = planar ? Vector3d(0, 0.02 * s, 0) : Vector3d(0.02, -0.015 * s, 0.02);
       },
       {"theta_offset_rad"},
       {"rotation_offset_x_rad", "rotation_offset_y_rad", "rotation_offset_z_rad"}},
      {"com",
       [](FrameCorrection& e, bool planar, double s) {
         e.com_offset_B = Vector3d(1e-3 * s, planar ? 0 : -1e-3, 1.5e-3);
       },
       {"com_offset_x_m", "com_offset_z_m"},
       {"com_offset_x_m", "com_offset_y_m", "com_offset_z_m"}},
      {"scale",
       [](FrameCorrection& e, bool, double s) { e.length_scale = 1 + 0.02 * s; },
       {"length_scale"},
       {"length_scale"}},
      {"clock",
       [](FrameCorrection& e, bool, double s) { e.clock_rate = 1 + 0.02 * s; },
       {"clock_rate"},
       {"clock_rate"}},
      {"mirror",
       [](FrameCorrection& e, bool, double) { e.mirrored = true; },
       {"mirrored"},
       {"mirrored"}},
      {"floor",
       [](FrameCorrection& e, bool, double s) { e.floor_offset = 1.5e-3 * s; },
       {"floor_offset_m"},
       {"floor_offset_m"}},
      {"tilt",
       [](FrameCorrection& e, bool, double s) { e.floor_tilt = 0.01 * s; },
       {"floor_tilt_rad"},
       {"floor_tilt_rad"}},
  };
  return plants;
}

TEST(AuditMonteCarlo, PlantedErrorsAreFoundAndNamed) {
  for (const bool rough : {false, true}) {
    for (const bool planar : {true, false}) {
      const Scene base = rough    ? Rough(planar ? Planar() : Spatial())
                         : planar ? Planar()
                                  : Spatial();
      for (std::size_t k = 0; k < Plants().size(); ++k) {
        const Plant& plant = Plants()[k];
        int found = 0, alone = 0;
        std::string story;
        const int sets = kSets / 2;
        for (int i = 0; i < sets; ++i) {
          Scene scene = base;
          plant.plant(scene.error, planar, i % 2 == 0 ? 1 : -1);
          const AuditResult result =
              RunAudit(scene, MakeSet(scene, 100000 + 10000 * planar + 1000 * k + i));
          bool all = true;
          const auto& names = planar ? plant.planar : plant.spatial;
          for (const std::string& name : names) all = all && Named(result, name);
          found += all;
          if (all && NamedParameters(result).size() == names.size()) {
            ++alone;
          } else {
            story += Story(result) + "--\n";
          }
        }
        EXPECT_GE(found, 0.95 * sets)
            << plant.name << " planar " << planar << " rough " << rough << "\n"
            << story.substr(0, 6000);
        EXPECT_GE(alone, 0.93 * sets)
            << plant.name << " planar " << planar << " rough " << rough << "\n"
            << story.substr(0, 6000);
      }
    }
  }
}

// z of every named estimate is a standard normal variable; it may be a little narrower, for few
// rows are allowed for.
TEST(AuditMonteCarlo, StatedUncertaintyIsHonest) {
  for (const bool planar : {true, false}) {
    std::map<std::string, std::vector<double>> z;
    for (int i = 0; i < kSets; ++i) {
      Scene scene = planar ? Planar() : Spatial();
      scene.scatter_spin = 0.3;
      std::map<std::string, double> truth;
      FrameCorrection& e = scene.error;
      if (planar) {
        e.rotation_offset_B = Vector3d(0, -0.03, 0);
        truth["theta_offset_rad"] = 0.03;
      } else {
        e.rotation_offset_B = Vector3d(0.02, 0.03, -0.02);
        truth["rotation_offset_x_rad"] = 0.02;
        truth["rotation_offset_y_rad"] = 0.03;
        truth["rotation_offset_z_rad"] = -0.02;
      }
      e.com_offset_B = Vector3d(2e-3, 0, -2e-3);
      truth["com_offset_x_m"] = 2e-3;
      truth["com_offset_z_m"] = -2e-3;
      e.length_scale = 0.98;
      truth["length_scale"] = 0.98;
      const AuditResult result = RunAudit(scene, MakeSet(scene, 500000 + 1000 * planar + i));
      // Every source on its own, and the combined estimate.
      for (const Evidence& v : result.evidence) {
        if (truth.count(v.parameter) && v.estimate.determined &&
            v.estimate.sd < 0.2 * std::abs(truth[v.parameter])) {
          z[v.source + " " + v.parameter].push_back((v.estimate.value - truth[v.parameter]) /
                                                    v.estimate.sd);
        }
      }
      for (const Finding& f : result.findings) {
        if (f.named && truth.count(f.parameter))
          z["combined " + f.parameter].push_back((f.estimate.value - truth[f.parameter]) /
                                                 f.estimate.sd);
      }
      const Estimate& g = result.momentum_corrected.gyration_normal;
      if (g.determined)
        z["gyration_normal"].push_back((g.value - result.momentum.gyration_body) / g.sd);
      // True acceleration times scale.
      z["gravity"].push_back((result.gravity.value - 0.98 * 9.80665) / result.gravity.sd);
    }
    for (const auto& [name, values] : z) {
      if (values.size() < 100) continue;
      double square = 0, inside = 0;
      for (const double v : values) {
        square += std::min(v * v, 25.0) / values.size();
        inside += std::abs(v) < 1.96 ? 1.0 / values.size() : 0;
      }
      // The radii of gyration carry the uncertainty of the errors undone on top of the scatter
      // between events, which errs on the safe side.
      EXPECT_GT(std::sqrt(square), 0.5) << name << " planar " << planar << " n " << values.size();
      EXPECT_LT(std::sqrt(square), 1.25) << name << " planar " << planar << " n " << values.size();
      EXPECT_GT(inside, 0.88) << name << " planar " << planar << " n " << values.size();
    }
    EXPECT_GT(z.size(), 8u);
  }
}

TEST(AuditMonteCarlo, HundredEventsTakeLittleTime) {
  for (Scene scene : {Planar(), Spatial()}) {
    scene.events = scene.rests = 100;
    scene.arcs = 200;
    const AuditSet set = MakeSet(scene, 7);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      RunAudit(scene, set);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    EXPECT_LT(best, 0.25) << "seconds";  // about 0.02 on an idle core
    RecordProperty(scene.body.planar ? "planar_ms" : "spatial_ms", static_cast<int>(1e3 * best));
  }
}

struct RealSet {
  AuditSet recorded, corrected;
  AuditResult audit, audit_corrected;
};

// The audit of all recordings of a folder, and again with its findings undone. Only first impacts:
// later bounces are low and end on edges.
RealSet AuditFolder(const std::filesystem::path& folder, const Body& body, int contact_frames) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  PoseColumns columns;
  columns.planar = body.planar;
  MotionFitOptions options;
  options.first_impacts = 1;
  options.contact_frames = contact_frames;
  const auto fit = [&](const FrameCorrection& correction, const Body& with, const Plane& floor) {
    AuditSet set;
    for (const auto& file : files) {
      const MotionFit motion =
          FitMotion(Correct(ReadPoses(file, columns), correction), with, floor, options);
      set.events.insert(set.events.end(), motion.events.begin(), motion.events.end());
      set.arcs.insert(set.arcs.end(), motion.arcs.begin(), motion.arcs.end());
      set.rests.insert(set.rests.end(), motion.rests.begin(), motion.rests.end());
    }
    return set;
  };
  RealSet set;
  set.recorded = fit(FrameCorrection(), body, Plane());
  set.audit = Audit(set.recorded.events, set.recorded.arcs, set.recorded.rests, body, Plane());
  const Body found = CorrectedBody(body, set.audit.body);
  const Plane floor = CorrectedFloor(Plane(), set.audit.correction);
  set.corrected = fit(set.audit.correction, found, floor);
  set.audit_corrected =
      Audit(set.corrected.events, set.corrected.arcs, set.corrected.rests, found, floor);
  return set;
}

const std::filesystem::path kShared =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / ".." / "shared" / "data";

TEST(AuditOfRealData, SquareDropsCloseTheirMomentumOnceTheFrameIsRight) {
  if (!std::filesystem::exists(kShared / "square-drops"))
    GTEST_SKIP() << "skipped: shared data absent";
  const RealSet set =
      AuditFolder(kShared / "square-drops", MakeBox(Vector3d(0.06, 0, 0.06), 1, true), 0);
  EXPECT_GT(set.audit.momentum.relative(), 0.25) << "does not close as published";
  ASSERT_TRUE(Named(set.audit, "theta_offset_rad")) << Story(set.audit);
  EXPECT_NEAR(set.audit.correction.theta_offset(), -0.035, 0.004);
  EXPECT_FALSE(Named(set.audit, "length_scale") || Named(set.audit, "clock_rate"))
      << Story(set.audit);
  EXPECT_NEAR(set.audit.gravity.value, 9.80665, 0.05);
  // Below 15 % of the spread of the spin change, both before the recordings are fitted again and
  // after.
  for (const MomentumAudit& m : {set.audit.momentum_corrected, set.audit_corrected.momentum}) {
    EXPECT_GT(m.n, 40);
    EXPECT_LT(m.relative(), 0.15);
  }
  const Estimate &normal = set.audit.momentum_corrected.gyration_normal,
                 &tangential = set.audit.momentum_corrected.gyration_tangential;
  ASSERT_TRUE(normal.determined && tangential.determined);
  EXPECT_LT(std::max(normal.lower95, tangential.lower95),
            std::min(normal.upper95, tangential.upper95))
      << normal.value << " " << tangential.value;
  for (const EventAudit& e : set.audit_corrected.events) EXPECT_TRUE(e.energy_ok) << e.recording;
}

TEST(AuditOfRealData, CubeTossesHaveAScaleErrorNotAFloorError) {
  if (!std::filesystem::exists(kShared / "cube-tosses"))
    GTEST_SKIP() << "skipped: shared data absent";
  Body cube = MakeBox(Vector3d::Constant(0.1048), 0.37);
  cube.inertia_B = 0.00081 * Eigen::Matrix3d::Identity();
  const RealSet set = AuditFolder(kShared / "cube-tosses", cube, 1);
  ASSERT_TRUE(Named(set.audit, "length_scale")) << Story(set.audit);
  EXPECT_NEAR(set.audit.correction.length_scale, 0.981, 0.003);
  EXPECT_FALSE(Named(set.audit, "floor_offset_m") || Named(set.audit, "clock_rate"))
      << Story(set.audit);
  EXPECT_NE(set.audit.inertia_note.find("given 0.00081"), std::string::npos)
      << set.audit.inertia_note;
  EXPECT_NE(set.audit.inertia_note.find("uniform solid 0.00067"), std::string::npos)
      << set.audit.inertia_note;
}

}  // namespace
}  // namespace impactlab
