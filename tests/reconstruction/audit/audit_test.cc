#include "reconstruction/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "data/base/error.h"
#include "reconstruction/audit/detail/evidence.h"
#include "tests/reconstruction/audit/audit_scene.h"

namespace impactlab {
namespace {

using namespace testing_audit;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Scene SpatialScene() {
  Scene scene;
  scene.body = MakeBox(Vector3d(0.1, 0.08, 0.06), 0.3);
  scene.events = 60;
  scene.rests = 60;
  return scene;
}

// |found - planted| in standard deviations; huge where nothing was found.
double Off(const AuditResult& result, const std::string& parameter, double planted) {
  const Finding* f = Find(result, parameter);
  if (f == nullptr || !f->estimate.determined || !(f->estimate.sd > 0)) return 1e9;
  return std::abs(f->estimate.value - planted) / f->estimate.sd;
}

void ExpectFinite(const AuditResult& r) {
  for (const MomentumAudit* m : {&r.momentum, &r.momentum_corrected}) {
    EXPECT_TRUE(std::isfinite(m->rms + m->median_abs + m->bias + m->spread + m->expected_rms +
                              m->gyration_body));
  }
  const auto check = [](const Estimate& e) {
    EXPECT_TRUE(std::isfinite(e.value + e.sd + e.lower95 + e.upper95));
    EXPECT_TRUE(e.determined || !e.reason.empty());
  };
  check(r.gravity);
  check(r.momentum.gyration_normal);
  check(r.momentum.gyration_tangential);
  for (const Evidence& e : r.evidence) check(e.estimate);
  for (const Finding& f : r.findings) EXPECT_FALSE(f.text.empty());
  for (const EventAudit& e : r.events)
    EXPECT_TRUE(std::isfinite(e.momentum_residual + e.momentum_sd + e.energy_gain + e.energy_sd));
  EXPECT_TRUE(r.correction.rotation_offset_B.allFinite() && r.correction.com_offset_B.allFinite());
  EXPECT_TRUE(std::isfinite(r.correction.length_scale + r.correction.clock_rate +
                            r.correction.floor_offset + r.correction.floor_tilt));
}

TEST(Audit, FindsNothingWrongInCleanData) {
  for (const Scene& scene : {Scene(), SpatialScene()}) {
    const AuditResult result = RunAudit(scene, MakeSet(scene, 11));
    EXPECT_THAT(result.findings, IsEmpty()) << Story(result);
    EXPECT_EQ(result.correction.length_scale, 1);
    EXPECT_EQ(result.correction.com_offset_B.norm(), 0);
    // The residual is what the covariance says, no more and no less.
    EXPECT_NEAR(result.momentum.rms / result.momentum.expected_rms, 1, 0.3);
    EXPECT_LT(result.momentum.relative(), 0.02);
    EXPECT_NEAR(result.gravity.value, 9.80665, 4 * result.gravity.sd);
    EXPECT_LT(result.gravity.sd, 0.02);
    for (const Estimate& k :
         {result.momentum.gyration_normal, result.momentum.gyration_tangential}) {
      ASSERT_TRUE(k.determined) << k.reason;
      EXPECT_NEAR(k.value, result.momentum.gyration_body, 4 * k.sd);
      EXPECT_LT(k.sd, 0.05 * k.value);
    }
    int opposes = 0;
    for (const EventAudit& e : result.events) {
      EXPECT_TRUE(e.energy_ok);
      EXPECT_LT(e.energy_gain, 0);
      opposes += e.friction == "opposes";
      EXPECT_NE(e.friction, "assists");
    }
    EXPECT_GT(opposes, 10);
    ExpectFinite(result);
  }
}

struct Planted {
  std::string parameter;
  double value;
};

// The planted errors, and no others, are named, within four standard deviations of their values.
void ExpectNamed(const Scene& scene, std::uint64_t seed, const std::vector<Planted>& planted) {
  const AuditResult result = RunAudit(scene, MakeSet(scene, seed));
  std::vector<std::string> names;
  names.reserve(planted.size());
  for (const Planted& p : planted) names.push_back(p.parameter);
  EXPECT_THAT(NamedParameters(result), ::testing::UnorderedElementsAreArray(names))
      << Story(result);
  for (const Planted& p : planted) {
    if (p.parameter != "mirrored") {
      EXPECT_LT(Off(result, p.parameter, p.value), 4) << p.parameter << "\n" << Story(result);
    }
  }
  EXPECT_LT(result.momentum_corrected.rms, 1.6 * result.momentum_corrected.expected_rms)
      << Story(result);
  ExpectFinite(result);
}

TEST(Audit, NamesOneErrorAlonePlanar) {
  std::uint64_t seed = 100;
  for (const double value : {-0.03, 0.1}) {
    Scene scene;
    scene.error.rotation_offset_B = Vector3d(0, -value, 0);
    ExpectNamed(scene, ++seed, {{"theta_offset_rad", value}});
  }
  Scene com;
  com.error.com_offset_B = Vector3d(6e-4, 0, -1e-3);
  ExpectNamed(com, ++seed, {{"com_offset_x_m", 6e-4}, {"com_offset_z_m", -1e-3}});
  Scene scale;
  scale.error.length_scale = 0.98;
  ExpectNamed(scale, ++seed, {{"length_scale", 0.98}});
  Scene clock;
  clock.error.clock_rate = 1.02;
  ExpectNamed(clock, ++seed, {{"clock_rate", 1.02}});
  Scene floor;
  floor.error.floor_offset = 2e-3;
  ExpectNamed(floor, ++seed, {{"floor_offset_m", 2e-3}});
  Scene tilt;
  tilt.error.floor_tilt = 0.02;
  ExpectNamed(tilt, ++seed, {{"floor_tilt_rad", 0.02}});
  Scene mirror;
  mirror.error.mirrored = true;
  ExpectNamed(mirror, ++seed, {{"mirrored", 1}});
}

TEST(Audit, NamesOneErrorAloneSpatial) {
  std::uint64_t seed = 200;
  Scene attitude = SpatialScene();
  attitude.error.rotation_offset_B = Vector3d(0.02, -0.03, 0.015);
  ExpectNamed(attitude, ++seed,
              {{"rotation_offset_x_rad", 0.02},
               {"rotation_offset_y_rad", -0.03},
               {"rotation_offset_z_rad", 0.015}});
  Scene com = SpatialScene();
  com.error.com_offset_B = Vector3d(1e-3, -1e-3, 2e-3);
  ExpectNamed(com, ++seed,
              {{"com_offset_x_m", 1e-3}, {"com_offset_y_m", -1e-3}, {"com_offset_z_m", 2e-3}});
  Scene scale = SpatialScene();
  scale.error.length_scale = 0.98;
  ExpectNamed(scale, ++seed, {{"length_scale", 0.98}});
  Scene clock = SpatialScene();
  clock.error.clock_rate = 0.985;
  ExpectNamed(clock, ++seed, {{"clock_rate", 0.985}});
  Scene floor = SpatialScene();
  floor.error.floor_offset = -1.5e-3;
  ExpectNamed(floor, ++seed, {{"floor_offset_m", -1.5e-3}});
  Scene tilt = SpatialScene();
  tilt.error.floor_tilt = -0.02;
  ExpectNamed(tilt, ++seed, {{"floor_tilt_rad", -0.02}});
  Scene mirror = SpatialScene();
  mirror.error.mirrored = true;
  ExpectNamed(mirror, ++seed, {{"mirrored", 1}});
}

TEST(Audit, NamesErrorsInPairs) {
  Scene scene;
  scene.error.rotation_offset_B = Vector3d(0, 0.036, 0);
  scene.error.floor_tilt = 0.004;
  ExpectNamed(scene, 301, {{"theta_offset_rad", -0.036}, {"floor_tilt_rad", 0.004}});
  scene = Scene();
  scene.error.rotation_offset_B = Vector3d(0, 0.036, 0);
  scene.error.com_offset_B = Vector3d(8e-4, 0, 8e-4);
  ExpectNamed(scene, 302,
              {{"theta_offset_rad", -0.036}, {"com_offset_x_m", 8e-4}, {"com_offset_z_m", 8e-4}});
  scene = Scene();
  scene.error.length_scale = 1.03;
  scene.error.rotation_offset_B = Vector3d(0, -0.02, 0);
  ExpectNamed(scene, 303, {{"length_scale", 1.03}, {"theta_offset_rad", 0.02}});
  scene = Scene();
  scene.error.mirrored = true;
  scene.error.rotation_offset_B = Vector3d(0, -0.05, 0);
  ExpectNamed(scene, 304, {{"mirrored", 1}, {"theta_offset_rad", 0.05}});
  scene = SpatialScene();
  scene.error.clock_rate = 1.02;
  scene.error.com_offset_B = Vector3d(0, 2e-3, 0);
  ExpectNamed(scene, 305, {{"clock_rate", 1.02}, {"com_offset_y_m", 2e-3}});
  scene = SpatialScene();
  scene.error.length_scale = 0.97;
  scene.error.floor_offset = 4e-3;
  ExpectNamed(scene, 306, {{"length_scale", 0.97}, {"floor_offset_m", 4e-3}});
}

TEST(Audit, TellsReversedThetaFromReversedXOnAnAsymmetricBody) {
  Scene scene;
  scene.body = MakePolytope(
      {Vector3d(-0.03, 0, -0.02), Vector3d(0.05, 0, -0.02), Vector3d(0.04, 0, 0.05)}, 0.1, true);
  scene.rests = 0;
  scene.events = 60;
  scene.error.theta_flipped = true;
  const AuditResult flipped = RunAudit(scene, MakeSet(scene, 41));
  EXPECT_THAT(NamedParameters(flipped), ElementsAre("theta_flipped")) << Story(flipped);
  EXPECT_TRUE(flipped.correction.theta_flipped);
  EXPECT_FALSE(flipped.correction.mirrored);
  scene.error.theta_flipped = false;
  scene.error.mirrored = true;
  const AuditResult mirrored = RunAudit(scene, MakeSet(scene, 42));
  EXPECT_THAT(NamedParameters(mirrored), ElementsAre("mirrored")) << Story(mirrored);
  EXPECT_TRUE(mirrored.correction.mirrored);
}

TEST(Audit, MirrorMayBeRuledOutBeforehand) {
  Scene scene;
  scene.error.mirrored = true;
  AuditOptions options;
  options.allow_mirror = false;
  const AuditResult result = RunAudit(scene, MakeSet(scene, 43), options);
  EXPECT_FALSE(result.correction.mirrored);
  EXPECT_FALSE(Named(result, "mirrored"));
}

TEST(Audit, WithoutASecondSourceNothingIsNamed) {
  Scene scene;
  scene.error.length_scale = 0.98;
  AuditSet set = MakeSet(scene, 51);
  // Free flight alone: scale or clock.
  AuditSet arcs_only;
  arcs_only.arcs = set.arcs;
  const AuditResult flight = RunAudit(scene, arcs_only);
  EXPECT_THAT(NamedParameters(flight), IsEmpty()) << Story(flight);
  EXPECT_NE(Find(flight, "clock_rate|length_scale"), nullptr) << Story(flight);
  EXPECT_EQ(flight.correction.length_scale, 1);
  // Rests alone: scale or floor, for a square has one height.
  AuditSet rests_only;
  rests_only.rests = set.rests;
  const AuditResult rest = RunAudit(scene, rests_only);
  EXPECT_THAT(NamedParameters(rest), IsEmpty()) << Story(rest);
  EXPECT_NE(Find(rest, "floor_offset_m|length_scale"), nullptr) << Story(rest);
  // Momentum alone: the attitude is seen, but nothing confirms it.
  Scene turned;
  turned.error.rotation_offset_B = Vector3d(0, 0.05, 0);
  AuditSet events_only = MakeSet(turned, 52);
  events_only.arcs.clear();
  events_only.rests.clear();
  for (ImpactEvent& e : events_only.events) e.X_WB.translation().setZero();  // no use of heights
  for (std::size_t i = 0; i < events_only.events.size(); ++i)
    events_only.events[i].X_WB.translation().z() = i % 7;
  const AuditResult momentum = RunAudit(turned, events_only);
  EXPECT_THAT(NamedParameters(momentum), IsEmpty()) << Story(momentum);
  const Finding* seen = Find(momentum, "theta_offset_rad");
  ASSERT_NE(seen, nullptr) << Story(momentum);
  EXPECT_NEAR(seen->estimate.value, -0.05, 0.005);
  EXPECT_EQ(momentum.correction.rotation_offset_B.norm(), 0);
}

TEST(Audit, ContactHeightsStandInForRests) {
  Scene scene;
  scene.rests = 0;
  scene.error.rotation_offset_B = Vector3d(0, 0.04, 0);
  ExpectNamed(scene, 61, {{"theta_offset_rad", -0.04}});
  scene.error = FrameCorrection();
  // They have no say on the scale, which the depth and the rounding of a real contact mimic:
  // without rests, scale and clock stay together.
  scene.error.length_scale = 1.04;
  const AuditResult result = RunAudit(scene, MakeSet(scene, 62));
  EXPECT_TRUE(NamedParameters(result).empty()) << Story(result);
  EXPECT_THAT(Story(result), ::testing::HasSubstr("clock_rate|length_scale"));
}

TEST(Audit, SourcesThatContradictEachOtherNameNothing) {
  // Rests say the attitude is off, events deny it.
  Scene scene;
  AuditSet set = MakeSet(scene, 71);
  for (RestPose& rest : set.rests)
    rest.X_WB.linear() = rest.X_WB.linear() * Exp(Vector3d(0, -0.03, 0));
  const AuditResult result = RunAudit(scene, set);
  EXPECT_FALSE(Named(result, "theta_offset_rad")) << Story(result);
  EXPECT_EQ(result.correction.theta_offset(), 0);
}

TEST(Audit, FewWildEventsDoNotMoveTheResult) {
  Scene scene;
  scene.error.rotation_offset_B = Vector3d(0, 0.036, 0);
  scene.wild_share = 0.1;
  scene.events = 60;
  const AuditResult result = RunAudit(scene, MakeSet(scene, 81));
  EXPECT_TRUE(Named(result, "theta_offset_rad")) << Story(result);
  EXPECT_LT(Off(result, "theta_offset_rad", -0.036), 4);
  EXPECT_LT(Find(result, "theta_offset_rad")->estimate.sd, 1e-3);
  int flagged = 0;
  for (const EventAudit& e : result.events) flagged += !e.momentum_ok;
  EXPECT_GT(flagged, 2);
}

TEST(Audit, FewOrNoEventsGiveReasonsInsteadOfNumbers) {
  for (Scene scene : {Scene(), SpatialScene()}) {
    scene.error.rotation_offset_B = Vector3d(0, 0.02, 0);
    const AuditSet full = MakeSet(scene, 91);
    for (const int n : {0, 1, 2, 3, 5, 8, 12}) {
      AuditSet set;
      set.events.assign(full.events.begin(), full.events.begin() + n);
      set.arcs.assign(full.arcs.begin(), full.arcs.begin() + n);
      set.rests.assign(full.rests.begin(), full.rests.begin() + n);
      const AuditResult result = RunAudit(scene, set);
      ExpectFinite(result);
      EXPECT_EQ(result.momentum.n, n);
      EXPECT_EQ(static_cast<int>(result.events.size()), n);
      if (n < 4) {
        EXPECT_FALSE(result.gravity.determined);
        EXPECT_FALSE(result.momentum.gyration_normal.determined);
        EXPECT_THAT(result.findings, IsEmpty()) << Story(result);
      }
    }
    AuditSet rejected = full;
    for (ImpactEvent& e : rejected.events) e.accepted = false;
    const AuditResult none = RunAudit(scene, rejected);
    ExpectFinite(none);
    EXPECT_EQ(none.momentum.n, 0);
    EXPECT_THAT(none.events, IsEmpty());
  }
}

TEST(Audit, HostileValuesAreLeftOut) {
  Scene scene;
  AuditSet set = MakeSet(scene, 92);
  set.events[3].v_plus.x() = std::numeric_limits<double>::quiet_NaN();
  set.events[4].cov(0, 0) = std::numeric_limits<double>::infinity();
  set.arcs[0].acceleration_W.z() = std::numeric_limits<double>::quiet_NaN();
  set.rests[0].X_WB.translation().z() = std::numeric_limits<double>::quiet_NaN();
  set.rests[1].X_WB.translation().z() = 1e6;
  for (int i = 5; i < 8; ++i) set.events[i].cov.setZero();
  const AuditResult result = RunAudit(scene, set);
  ExpectFinite(result);
  EXPECT_EQ(result.momentum.n, scene.events - 2);
  EXPECT_THAT(NamedParameters(result), IsEmpty()) << Story(result);
  // Identical events, twenty times: nothing to learn, nothing to crash on.
  AuditSet same;
  for (int i = 0; i < 20; ++i) {
    same.events.push_back(set.events[10]);
    same.arcs.push_back(set.arcs[10]);
    same.rests.push_back(set.rests[10]);
  }
  ExpectFinite(RunAudit(scene, same));
  Plane nowhere;
  nowhere.normal.setZero();
  EXPECT_THROW(Audit(set.events, set.arcs, set.rests, scene.body, nowhere), ConfigError);
  AuditOptions options;
  options.significance = 0;
  EXPECT_THROW(Audit(set.events, set.arcs, set.rests, scene.body, scene.floor, options),
               ConfigError);
}

TEST(Audit, RoundBodiesAndRodsAreAudited) {
  for (const Body& body :
       {MakeBall(0.03, 0.1, true), MakeBall(0.03, 0.1), MakeRod(0.2, 0.01, 0.1, true),
        MakeRod(0.2, 0.01, 0.1), MakeEllipsoid(Vector3d(0.05, 0.03, 0.02), 0.1),
        MakeEllipsoid(Vector3d(0.05, 0, 0.02), 0.1, true)}) {
    Scene scene;
    scene.body = body;
    scene.rests = 0;
    scene.error.length_scale = 0.97;
    const AuditResult result = RunAudit(scene, MakeSet(scene, 95));
    ExpectFinite(result);
    EXPECT_FALSE(Named(result, "clock_rate")) << body.name << Story(result);
    EXPECT_FALSE(Named(result, "theta_offset_rad")) << body.name << Story(result);
    EXPECT_TRUE(Named(result, "length_scale") || Find(result, "clock_rate|length_scale") != nullptr)
        << body.name << "\n"
        << Story(result);
  }
}

TEST(Audit, WrongInertiaIsNamedBesideTheSolid) {
  Scene scene;
  scene.body = MakeBox(Vector3d::Constant(0.1048), 0.37);
  scene.events = 60;
  const AuditSet set = MakeSet(scene, 96);
  Scene told = scene;
  told.body.inertia_B *= 0.00081 / 0.00068;
  const AuditResult result = RunAudit(told, set);
  EXPECT_TRUE(Named(result, "inertia_scale")) << Story(result);
  EXPECT_LT(Off(result, "inertia_scale", 0.00068 / 0.00081), 4);
  EXPECT_THAT(result.inertia_note, ::testing::HasSubstr("uniform solid 0.00067"));
  EXPECT_FALSE(Named(result, "theta_offset_rad") || Named(result, "com_offset_x_m"))
      << Story(result);
}

TEST(Audit, EnergyGainAndAssistingFrictionAreFlagged) {
  Scene scene;
  AuditSet set = MakeSet(scene, 97);
  for (int i = 0; i < 5; ++i) set.events[i].v_plus = -2 * set.events[i].v_minus;
  const AuditResult gained = RunAudit(scene, set);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(gained.events[i].energy_ok);
    EXPECT_GT(gained.events[i].energy_gain, 0);
  }
  // With the slip reversed friction assists.
  Scene mirrored;
  mirrored.error.mirrored = true;
  int assists = 0;
  for (const EventAudit& e : RunAudit(mirrored, MakeSet(mirrored, 98)).events) {
    if (e.friction == "assists") {
      ++assists;
      EXPECT_FALSE(e.friction_ok);
    }
  }
  EXPECT_GT(assists, 5);
}

// Bodies that hardly spin before they slide: by either hand friction opposes the slip, whose sign
// turns with that of the impulse.
TEST(Audit, AMirrorIsNamedByTheLikelihoodOfALawWhereFrictionCannotTell) {
  const auto take = [](const Scene& scene, std::uint64_t seed) {
    AuditSet set = MakeSet(scene, seed);
    std::vector<ImpactEvent> slow;
    for (const ImpactEvent& e : set.events)
      if (std::abs(e.omega_minus.y()) < 1.5 && std::abs(e.v_minus.x()) > 0.3) slow.push_back(e);
    set.events = slow;
    return set;
  };
  Scene scene;
  scene.events = 1500;
  const AuditResult sound = RunAudit(scene, take(scene, 411));
  EXPECT_FALSE(sound.correction.mirrored) << Story(sound);
  EXPECT_FALSE(Named(sound, "mirrored")) << Story(sound);
  scene.error.mirrored = true;
  const AuditResult result = RunAudit(scene, take(scene, 412));
  ASSERT_TRUE(Named(result, "mirrored")) << Story(result);
  EXPECT_TRUE(result.correction.mirrored);
  EXPECT_THAT(Find(result, "mirrored")->text, ::testing::HasSubstr("likelihood of the impulses"));
}

TEST(Audit, SwappedAxesAreSeenInTheFall) {
  Scene scene;
  scene.events = 0;
  AuditSet set = MakeSet(scene, 99);
  for (FlightArc& arc : set.arcs) std::swap(arc.acceleration_W.x(), arc.acceleration_W.z());
  for (RestPose& rest : set.rests)
    std::swap(rest.X_WB.translation().x(), rest.X_WB.translation().z());
  const AuditResult result = RunAudit(scene, set);
  EXPECT_TRUE(Named(result, "axis_swapped")) << Story(result);
  EXPECT_THAT(Find(result, "axis_swapped")->text, ::testing::HasSubstr("along -x"));
}

TEST(Audit, CorrectingAnEventUndoesWhatWasPlanted) {
  for (Scene scene : {Scene(), SpatialScene()}) {
    scene.noise_velocity = scene.noise_spin = scene.noise_angle = scene.noise_position = 0;
    scene.error.rotation_offset_B =
        scene.body.planar ? Vector3d(0, -0.1, 0) : Vector3d(0.1, -0.05, 0.02);
    scene.error.com_offset_B = Vector3d(2e-3, scene.body.planar ? 0 : 1e-3, -3e-3);
    scene.error.length_scale = 1.1;
    scene.error.clock_rate = 0.9;
    scene.error.mirrored = true;
    scene.error.floor_offset = 3e-3;
    const AuditSet set = MakeSet(scene, 31);
    for (std::size_t i = 0; i < set.events.size(); ++i) {
      const ImpactEvent back = reconstruction::CorrectEvent(set.events[i], scene.error, scene.body,
                                                            scene.floor, Vector3d(0, 0, -9.80665));
      const ImpactEvent& truth = set.truth[i];
      EXPECT_LT((back.v_minus - truth.v_minus).norm() + (back.v_plus - truth.v_plus).norm(), 1e-12);
      EXPECT_LT((back.omega_minus - truth.omega_minus).norm() +
                    (back.omega_plus - truth.omega_plus).norm(),
                1e-12);
      EXPECT_LT((back.X_WB.matrix() - truth.X_WB.matrix()).norm(), 1e-12);
      EXPECT_LT((back.contact.v_minus_F - truth.contact.v_minus_F).norm(), 1e-11);
    }
  }
}

TEST(Audit, CovarianceOfACorrectedEventIsItsSpread) {
  Scene scene = SpatialScene();
  const ImpactEvent base = MakeSet(scene, 32).events[0];
  FrameCorrection correction;
  correction.com_offset_B = Vector3d(0.02, -0.03, 0.01);
  correction.length_scale = 1.2;
  correction.clock_rate = 0.8;
  correction.mirrored = true;
  std::mt19937_64 rng(33);
  std::normal_distribution<double> normal;
  const auto at = [](const ImpactEvent& e) {
    Eigen::Matrix<double, 12, 1> x;
    x << e.v_minus, e.omega_minus, e.v_plus, e.omega_plus;
    return x;
  };
  const ImpactEvent centre =
      reconstruction::CorrectEvent(base, correction, scene.body, scene.floor, Vector3d(0, 0, -9.8));
  Eigen::Matrix<double, 12, 12> spread = Eigen::Matrix<double, 12, 12>::Zero();
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    ImpactEvent e = base;
    for (int k = 0; k < 3; ++k) {
      e.v_minus(k) += std::sqrt(base.cov(kVMinus + k, kVMinus + k)) * normal(rng);
      e.v_plus(k) += std::sqrt(base.cov(kVPlus + k, kVPlus + k)) * normal(rng);
      e.omega_minus(k) += std::sqrt(base.cov(kOmegaMinus + k, kOmegaMinus + k)) * normal(rng);
      e.omega_plus(k) += std::sqrt(base.cov(kOmegaPlus + k, kOmegaPlus + k)) * normal(rng);
    }
    const auto d = (at(reconstruction::CorrectEvent(e, correction, scene.body, scene.floor,
                                                    Vector3d(0, 0, -9.8))) -
                    at(centre))
                       .eval();
    spread += d * d.transpose() / n;
  }
  const Eigen::Matrix<double, 12, 12> stated = centre.cov.topLeftCorner<12, 12>();
  const Eigen::Matrix<double, 12, 1> sd = stated.diagonal().cwiseSqrt();
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j < 12; ++j)
      EXPECT_NEAR(spread(i, j) / (sd(i) * sd(j)), stated(i, j) / (sd(i) * sd(j)), 0.09)
          << i << " " << j;
  }
}

TEST(RestCandidates, AreTheStableFacets) {
  EXPECT_EQ(reconstruction::RestCandidates(MakeBox(Vector3d(1, 2, 3), 1)).size(), 6u);
  EXPECT_EQ(reconstruction::RestCandidates(MakeBox(Vector3d(1, 0, 3), 1, true)).size(), 4u);
  EXPECT_TRUE(reconstruction::RestCandidates(MakeBall(1, 1)).empty());
  std::vector<Vector3d> cube;
  cube.reserve(8);
  for (int i = 0; i < 8; ++i)
    cube.push_back(Vector3d(i & 1 ? 1 : -1, i & 2 ? 2 : -2, i & 4 ? 3 : -3));
  const auto facets = reconstruction::RestCandidates(MakePolytope(cube, 1));
  ASSERT_EQ(facets.size(), 6u);
  for (const auto& f : facets)
    EXPECT_NEAR(f.height, std::abs(f.up_B.dot(Vector3d(1, 2, 3))), 1e-12);
  // A leaning parallelogram stands on its long sides only.
  const Body slab = MakePolytope(
      {Vector3d(0, 0, 0), Vector3d(1, 0, 0), Vector3d(4, 0, 1), Vector3d(3, 0, 1)}, 1, true);
  const auto stable = reconstruction::RestCandidates(slab);
  ASSERT_EQ(stable.size(), 2u);
  for (const auto& f : stable) EXPECT_LT(f.height, 0.3);
}

TEST(RobustFit, LimitsWildGroupsAndKeepsSingularDirections) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> normal;
  const int n = 60;
  Eigen::VectorXd x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x(i) = i / 10.0;
    y(i) = 1 + 2 * x(i) + 0.1 * normal(rng);
  }
  for (int i = 50; i < 56; ++i) y(i) -= 40;  // wild and of great leverage
  reconstruction::RobustProblem problem;
  problem.groups = n;
  problem.sd = Eigen::VectorXd::Constant(n, 0.02);  // stated five times too small
  problem.active = {0, 1, 2};
  problem.start = Eigen::VectorXd::Zero(3);
  problem.unit = Eigen::VectorXd::Ones(3);
  problem.residual = [&](const Eigen::VectorXd& p, Eigen::VectorXd& r) {
    r = (p(0) + p(2) + p(1) * x.array() - y.array()).matrix();
  };
  const reconstruction::RobustFit fit = reconstruction::FitRobust(problem);
  ASSERT_TRUE(fit.usable) << fit.reason;
  EXPECT_NEAR(fit.value(1), 2, 0.05);
  EXPECT_NEAR(fit.value(0) + fit.value(2), 1, 0.15);
  EXPECT_NEAR(fit.scatter, 0.1, 0.03);
  EXPECT_EQ(fit.dof, n - 2);
  // Only the sum of the two constants is known.
  const Eigen::MatrixXd C =
      reconstruction::Covariance(fit.information, problem.unit, problem.active);
  EXPECT_GT(std::sqrt(C(0, 0)), 50);
  EXPECT_LT(std::sqrt(C(0, 0) + C(2, 2) + 2 * C(0, 2)), 0.1);
  EXPECT_LT(std::sqrt(C(1, 1)), 0.02);
}

}  // namespace
}  // namespace impactlab
