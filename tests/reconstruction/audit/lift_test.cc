// Flights of a ball that spins: lift is not taken for a wrong clock, scale or gravity.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "impact/body/unknown_spin.h"
#include "reconstruction/audit/audit.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

const Vector3d kLiftGravity(0, 0, -9.80665);

struct Air {
  Vector3d before = Vector3d::Zero(), after = Vector3d::Zero();  // lift is w x v [1/s]
  double drag = 0;                                               // [1/m]
  double scale = 1;                                              // of accelerations as recorded
};

struct Served {
  std::vector<ImpactEvent> events;
  std::vector<FlightArc> arcs;
};

// A ball that is thrown on, flies up and down after its impact, and whose spin was not measured.
Served Serve(const Air& air, bool planar, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Served out;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "serve_" + std::to_string(i);
    const double speed = 3 + 0.4 * normal(random);
    for (const bool before : {true, false}) {
      FlightArc arc;
      arc.recording = name;
      arc.first = before ? 0 : 60;
      arc.last = arc.first + 50;
      arc.velocity_W = {speed, planar ? 0 : 0.3 * normal(random),
                        (before ? -1.2 : 0.1) + 0.3 * normal(random)};
      arc.sd_acceleration.setConstant(0.05);
      const Vector3d& v = arc.velocity_W;
      arc.acceleration_W =
          air.scale *
          (kLiftGravity + (before ? air.before : air.after).cross(v) - air.drag * v.norm() * v +
           0.05 * Vector3d(normal(random), planar ? 0 : normal(random), normal(random)));
      out.arcs.push_back(arc);
    }
    ImpactEvent event;
    event.recording = name;
    event.planar = planar;
    event.accepted = true;
    event.X_WB.translation() = Eigen::Vector3d(0, 0, 0.02);
    event.v_minus = {speed, 0, -2};
    event.v_plus = {speed - 0.3, 0, 1.7};
    event.cov.diagonal().setConstant(1e-6);
    event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus).diagonal().setConstant(1e6);
    event.cov.block<3, 3>(kOmegaPlus, kOmegaPlus).diagonal().setConstant(1e6);
    UpdateContact(event, MakeBall(0.02, 0.0027, planar), Plane(), kLiftGravity);
    out.events.push_back(event);
  }
  return out;
}

const Finding* FindingOf(const AuditResult& result, const std::string& name) {
  const auto at = std::find_if(result.findings.begin(), result.findings.end(),
                               [&](const Finding& f) { return f.parameter == name; });
  return at == result.findings.end() ? nullptr : &*at;
}

bool NamesScaleOrClock(const AuditResult& result) {
  return std::any_of(result.findings.begin(), result.findings.end(), [](const Finding& f) {
    return f.parameter.find("clock_rate") != std::string::npos ||
           f.parameter.find("length_scale") != std::string::npos;
  });
}

AuditResult AuditOf(const Served& set, bool planar) {
  return Audit(set.events, set.arcs, {}, MakeBall(0.02, 0.0027, planar), Plane());
}

TEST(AuditLift, IsNamedAndGravityIsNotBlamed) {
  for (const bool planar : {true, false}) {
    const AuditResult result = AuditOf(
        Serve({.before = {0, 0.3, 0}, .after = {0, 0.2, 0}, .drag = 0.1}, planar, 3), planar);
    const Finding* lift = FindingOf(result, "lift_per_s");
    ASSERT_NE(lift, nullptr) << planar;
    EXPECT_NEAR(lift->estimate.value, 0.3, 4 * lift->estimate.sd);
    EXPECT_THAT(lift->text, HasSubstr("Magnus"));
    const Finding* drag = FindingOf(result, "drag_per_m");
    ASSERT_NE(drag, nullptr);
    EXPECT_NEAR(drag->estimate.value, 0.1, 5 * drag->estimate.sd);
    EXPECT_THAT(drag->text, HasSubstr("more than declared"));
    EXPECT_NEAR(result.gravity.value, 9.80665, 0.15) << planar;
    EXPECT_FALSE(NamesScaleOrClock(result)) << planar;
  }
}

// Sidespin bends a flight across the vertical plane.
TEST(AuditLift, SidespinIsNoTiltOfGravity) {
  const AuditResult result = AuditOf(Serve({.before = {0, 0, 0.3}}, false, 4), false);
  ASSERT_NE(FindingOf(result, "lift_per_s"), nullptr);
  EXPECT_EQ(FindingOf(result, "gravity_tilt_y_rad"), nullptr);
}

TEST(AuditLift, WrongScaleIsNoLift) {
  for (const bool planar : {true, false}) {
    const AuditResult wrong = AuditOf(Serve({.scale = 1.09}, planar, 5), planar);
    EXPECT_EQ(FindingOf(wrong, "lift_per_s"), nullptr);
    EXPECT_TRUE(NamesScaleOrClock(wrong));
    const AuditResult sound = AuditOf(Serve({}, planar, 6), planar);
    EXPECT_TRUE(sound.findings.empty());
  }
}

// Of a ball whose spin was measured nothing changes.
TEST(AuditLift, IsNotLookedForWhereSpinsWereMeasured) {
  Served set = Serve({.before = {0, 0.3, 0}}, true, 7);
  for (ImpactEvent& event : set.events) event.omega_plus.y() = 20;
  const AuditResult result = AuditOf(set, true);
  for (const Evidence& e : result.evidence) EXPECT_NE(e.parameter, "lift_per_s");
}

// The standard deviation of a drag in proportion to velocity is that of its estimates, from both
// sides: flights without any seldom show one.
TEST(AuditDrag, ScattersAsItsStandardDeviationSays) {
  constexpr int kSets = 60, kArcs = 40;
  constexpr double kRate = 0.1;  // [1/s]
  const Body square = MakeBox({0.06, 0.06, 0.06}, 0.2, true);
  double square_z = 0;
  int named = 0;
  for (int set = 0; set < kSets; ++set) {
    std::mt19937_64 random(static_cast<unsigned>(900 + set));
    std::normal_distribution<double> normal;
    const double rate = set % 2 == 0 ? kRate : 0;
    std::vector<FlightArc> arcs(kArcs);
    for (int i = 0; i < kArcs; ++i) {
      FlightArc& arc = arcs[static_cast<std::size_t>(i)];
      arc.recording = "toss_" + std::to_string(i);
      arc.last = 50;
      arc.duration = 0.2;
      arc.velocity_W = {0.5 * normal(random), 0, 1.5 * normal(random)};
      arc.sd_acceleration.setConstant(0.1);
      arc.acceleration_W =
          kLiftGravity - rate * arc.velocity_W + 0.1 * Vector3d(normal(random), 0, normal(random));
    }
    const AuditResult result = Audit({}, arcs, {}, square, Plane());
    const auto at =
        std::find_if(result.evidence.begin(), result.evidence.end(),
                     [](const Evidence& e) { return e.parameter == "drag_rate_per_s"; });
    ASSERT_NE(at, result.evidence.end());
    ASSERT_TRUE(at->estimate.determined) << at->estimate.reason;
    square_z += std::pow((at->estimate.value - rate) / at->estimate.sd, 2);
    named += rate == 0 && FindingOf(result, "drag_rate_per_s") != nullptr;
  }
  EXPECT_GT(square_z, 28);  // 60 degrees of freedom, one time in ten thousand on either side
  EXPECT_LT(square_z, 110);
  EXPECT_LE(named, 1);
}

}  // namespace
}  // namespace impactlab
