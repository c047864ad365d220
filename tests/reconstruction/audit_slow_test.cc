// Monte Carlo of the audit: how often planted errors are named, how often clean data are accused, and whether the stated sd is honest.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "data/statistics.h"
#include "tests/reconstruction/audit_scene.h"

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
       [](FrameCorrection& e, bool planar, double s) { e.com_offset_B = Vector3d(1e-3 * s, planar ? 0 : -1e-3, 1.5e-3); },
       {"com_offset_x_m", "com_offset_z_m"},
       {"com_offset_x_m", "com_offset_y_m", "com_offset_z_m"}},
      {"scale", [](FrameCorrection& e, bool, double s) { e.length_scale = 1 + 0.02 * s; }, {"length_scale"}, {"length_scale"}},
      {"clock", [](FrameCorrection& e, bool, double s) { e.clock_rate = 1 + 0.02 * s; }, {"clock_rate"}, {"clock_rate"}},
      {"mirror", [](FrameCorrection& e, bool, double) { e.mirrored = true; }, {"mirrored"}, {"mirrored"}},
      {"floor", [](FrameCorrection& e, bool, double s) { e.floor_offset = 1.5e-3 * s; }, {"floor_offset_m"}, {"floor_offset_m"}},
      {"tilt", [](FrameCorrection& e, bool, double s) { e.floor_tilt = 0.01 * s; }, {"floor_tilt_rad"}, {"floor_tilt_rad"}},
  };
  return plants;
}

TEST(AuditMonteCarlo, PlantedErrorsAreFoundAndNamed) {
  for (const bool rough : {false, true}) {
    for (const bool planar : {true, false}) {
      const Scene base = rough ? Rough(planar ? Planar() : Spatial()) : planar ? Planar() : Spatial();
      for (std::size_t k = 0; k < Plants().size(); ++k) {
        const Plant& plant = Plants()[k];
        int found = 0, alone = 0;
        std::string story;
        const int sets = kSets / 2;
        for (int i = 0; i < sets; ++i) {
          Scene scene = base;
          plant.plant(scene.error, planar, i % 2 == 0 ? 1 : -1);
          const AuditResult result = RunAudit(scene, MakeSet(scene, 100000 + 10000 * planar + 1000 * k + i));
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
        EXPECT_GE(found, 0.95 * sets) << plant.name << " planar " << planar << " rough " << rough << "\n" << story.substr(0, 6000);
        EXPECT_GE(alone, 0.93 * sets) << plant.name << " planar " << planar << " rough " << rough << "\n" << story.substr(0, 6000);
      }
    }
  }
}

// z of every named estimate is a standard normal variable; it may be a little narrower, for few rows are allowed for.
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
        if (truth.count(v.parameter) && v.estimate.determined && v.estimate.sd < 0.2 * std::abs(truth[v.parameter])) {
          z[v.source + " " + v.parameter].push_back((v.estimate.value - truth[v.parameter]) / v.estimate.sd);
        }
      }
      for (const Finding& f : result.findings) {
        if (f.named && truth.count(f.parameter))
          z["combined " + f.parameter].push_back((f.estimate.value - truth[f.parameter]) / f.estimate.sd);
      }
      const Estimate& g = result.momentum_corrected.gyration_normal;
      if (g.determined) z["gyration_normal"].push_back((g.value - result.momentum.gyration_body) / g.sd);
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
      // The radii of gyration carry the uncertainty of the errors undone on top of the scatter between events, which errs on the safe side.
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
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    EXPECT_LT(best, 0.25) << "seconds";  // about 0.02 on an idle core
    RecordProperty(scene.body.planar ? "planar_ms" : "spatial_ms", static_cast<int>(1e3 * best));
  }
}

}  // namespace
}  // namespace impactlab
