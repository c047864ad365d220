#include "reconstruction/audit/rigidity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "data/math/rotation.h"
#include "reconstruction/audit/audit.h"
#include "tests/reconstruction/motion/motion_scene.h"
#include "tests/support/hinged_body.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Noise;
using testing::Scene;

const Vector3d kGravity(0, 0, -9.80665);
constexpr double kRate = 250;

// Mean of `width` neighbouring frames, across impacts as a program that knows of none smooths.
PoseRecording Smoothed(const PoseRecording& in, int width) {
  PoseRecording out = in;
  const int n = static_cast<int>(in.t.size()), half = width / 2;
  for (int i = 0; i < n; ++i) {
    Vector3d p = Vector3d::Zero(), turn = Vector3d::Zero();
    double theta = 0, count = 0;
    for (int k = std::max(0, i - half); k <= std::min(n - 1, i + half); ++k, ++count) {
      p += in.X_WB[k].translation();
      if (in.planar)
        theta += in.theta[k];
      else
        turn += LogSO3(in.X_WB[i].linear().transpose() * in.X_WB[k].linear());
    }
    out.X_WB[i].translation() = p / count;
    if (in.planar) {
      out.theta[i] = theta / count;
      out.X_WB[i].linear() = PlanarPose(0, 0, theta / count).linear();
    } else {
      out.X_WB[i].linear() = in.X_WB[i].linear() * ExpSO3(turn / count);
    }
  }
  return out;
}

// A drop of a sound body that bounces up to three times.
Scene SoundDrop(const Body& body, std::mt19937_64& rng, double drag_per_m) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Scene scene;
  scene.body = body;
  scene.flight.drag_per_m = drag_per_m;
  BodyState start;
  start.X_WB.linear() =
      body.planar ? PlanarPose(0, 0, M_PI * uniform(rng)).linear() : testing::RandomRotation(rng);
  start.X_WB.translation() = Vector3d(0, 0, 0.4 + 0.1 * uniform(rng));
  start.v_WB = Vector3d(uniform(rng), body.planar ? 0 : uniform(rng), 0.5 * uniform(rng));
  start.omega_WB = 10 * Vector3d(uniform(rng), uniform(rng), uniform(rng));
  if (body.planar) start.omega_WB = Vector3d(0, start.omega_WB.y(), 0);
  scene.pieces = {{0, start}};
  testing::BounceOn(scene, 0.8, 3, 0.6, 0.15);
  return scene;
}

std::vector<FlightArc> ArcsOf(const std::vector<PoseRecording>& recordings, const Body& body) {
  std::vector<FlightArc> arcs;
  for (const PoseRecording& one : recordings) {
    const MotionFit fit = FitFlights(one, body, Plane());
    arcs.insert(arcs.end(), fit.arcs.begin(), fit.arcs.end());
  }
  return arcs;
}

Body SoundBody(int kind) {
  return kind == 0   ? MakeBox(Vector3d(0.06, 0, 0.06), 0.1, true)
         : kind == 1 ? MakeBox(Vector3d(0.12, 0, 0.03), 0.1, true)
         : kind == 2 ? MakeBox(Vector3d(0.1, 0.08, 0.06), 0.3)
                     : MakeBall(0.02, 0.003);
}

TEST(Rigidity, SoundFlightsAreRigidWithDragSmoothingAndInertiaThatIsOff) {
  std::mt19937_64 rng(71);
  constexpr int kDrops = 4;
  std::vector<Scene> drops;  // of every body and drag
  for (int kind = 0; kind < 4; ++kind)
    for (const double drag : {0.0, kind == 3 ? 0.14 : 0.03})
      for (int i = 0; i < kDrops; ++i) drops.push_back(SoundDrop(SoundBody(kind), rng, drag));
  int refused = 0, tested = 0, sets = 0;
  for (int set = 0; set < 120; ++set) {
    Body body = SoundBody(set % 4);
    const Noise noise = set % 3 == 0 ? Noise{4e-5, 7e-4} : Noise{3e-4, 5e-3};
    std::vector<PoseRecording> recordings;
    for (int i = 0; i < kDrops; ++i) {
      const Scene& drop = drops[(2 * (set % 4) + set % 5 % 2) * kDrops + i];
      PoseRecording& one =
          recordings.emplace_back(testing::Record(drop, testing::Times(0, 0.8, kRate), noise, rng));
      if (set % 7 >= 5) one = Smoothed(one, set % 7 == 5 ? 5 : 9);
      // Light that pulls the marks of an attitude.
      for (std::size_t k = 0; body.planar && set % 6 == 1 && k < one.t.size(); ++k)
        one.theta[k] += 0.004 * std::sin(2 * one.theta[k]);
    }
    if (set % 8 >= 4 && set % 4 == 2) body.inertia_B(0, 0) *= 1.1;
    const RigidityVerdict verdict = JudgeRigidity(ArcsOf(recordings, body), body, kGravity);
    tested += verdict.tested;
    refused += !verdict.rigid;
    ++sets;
  }
  EXPECT_LE(100 * refused, sets);
  EXPECT_GT(4 * tested, 3 * sets);
}

TEST(Rigidity, ALinkOfAHingedBodyIsNoRigidBodyAndNamesNoError) {
  std::mt19937_64 rng(72);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  std::vector<MotionFit> fits;
  testing::HingedBody hinged(0.1, 0.02, 0.1);
  for (int drop = 0; drop < 12; ++drop) {
    hinged.Throw(0, 0.5, uniform(rng), 3 * uniform(rng), 8 * uniform(rng), 8 * uniform(rng));
    PoseRecording recording;
    recording.name = "drop_" + std::to_string(drop);
    recording.planar = true;
    for (int i = 0; i < 160; ++i) {
      const Vector3d pose = hinged.Pose();
      recording.t.push_back(i / kRate);
      recording.theta.push_back(pose.z() + 7e-4 * normal(rng));
      recording.X_WB.push_back(PlanarPose(pose.x() + 4e-5 * normal(rng),
                                          pose.y() + 4e-5 * normal(rng), recording.theta.back()));
      hinged.Advance(1 / kRate, 0.5, 0.2);
    }
    fits.push_back(FitMotion(recording, hinged.link(), Plane()));
  }
  std::vector<ImpactEvent> events;
  std::vector<FlightArc> arcs;
  for (const MotionFit& fit : fits) {
    events.insert(events.end(), fit.events.begin(), fit.events.end());
    arcs.insert(arcs.end(), fit.arcs.begin(), fit.arcs.end());
  }
  const AuditResult audit = Audit(events, arcs, {}, hinged.link(), Plane());
  EXPECT_FALSE(audit.rigidity.rigid) << audit.rigidity.text;
  EXPECT_THAT(audit.rigidity.text, AllOf(HasSubstr("not one rigid body"), HasSubstr("spin changes"),
                                         HasSubstr("hinge")));
  for (const Finding& finding : audit.findings) EXPECT_FALSE(finding.named) << finding.text;
  EXPECT_EQ(audit.correction.clock_rate, 1);
  EXPECT_EQ(audit.correction.length_scale, 1);
  EXPECT_FALSE(audit.correction.mirrored);
}

// Flights of one axis of rotation, with an angle that `angle` gives at every time.
std::vector<PoseRecording> Flights(const std::function<double(int, double)>& angle, bool planar,
                                   std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<PoseRecording> out;
  for (int flight = 0; flight < 12; ++flight) {
    PoseRecording& recording = out.emplace_back();
    recording.name = "flight_" + std::to_string(flight);
    recording.planar = planar;
    for (int i = 0; i < 60; ++i) {
      const double t = i / kRate, theta = angle(flight, t) + 7e-4 * normal(rng);
      Eigen::Isometry3d X = PlanarPose(0, 0, theta);
      if (!planar)
        X.linear() = Eigen::AngleAxisd(theta, Vector3d::UnitZ()).toRotationMatrix() *
                     ExpSO3(7e-4 * Vector3d(normal(rng), normal(rng), 0));
      X.translation() = Vector3d(0.2 * t + 4e-5 * normal(rng), planar ? 0 : 4e-5 * normal(rng),
                                 0.8 + t - 4.903325 * t * t + 4e-5 * normal(rng));
      recording.t.push_back(t);
      recording.X_WB.push_back(X);
      if (planar) recording.theta.push_back(theta);
    }
  }
  return out;
}

TEST(Rigidity, LiquidThatTakesUpSpinAndATetherAreSeenInAPlaneAndInSpace) {
  std::mt19937_64 rng(73);
  for (const bool planar : {true, false}) {
    const Body body =
        planar ? MakeBox(Vector3d(0.1, 0, 0.08), 0.3, true) : MakeBox({0.1, 0.08, 0.06}, 0.3);
    const auto verdict = [&](const std::function<double(int, double)>& angle) {
      return JudgeRigidity(ArcsOf(Flights(angle, planar, rng), body), body, kGravity);
    };
    // Shell at 12 rad/s whose liquid, at rest at first and of the same inertia, comes along.
    EXPECT_FALSE(
        verdict([](int, double t) { return 6 * t + 6 * 0.15 * (1 - std::exp(-t / 0.15)); }).rigid)
        << planar;
    // A tether that is wound up turns it back and forth.
    EXPECT_FALSE(verdict([](int k, double t) { return (3 + 0.3 * k) * t - 30 * t * t; }).rigid);
    // The same spins kept, and a spin that the air takes by a tenth a second.
    EXPECT_TRUE(verdict([](int k, double t) { return (3 + 0.3 * k) * t; }).rigid);
    EXPECT_TRUE(verdict([](int k, double t) { return (3 + k) * (t - 0.05 * t * t); }).rigid);
    // A body that hardly turns.
    EXPECT_TRUE(verdict([](int k, double t) { return 0.01 * k * t + 0.02 * t * t; }).rigid);
  }
}

TEST(Rigidity, FewFlightsAndNoiseThatHidesAChangeAreNotTested) {
  FlightArc arc;
  arc.duration = 0.2;
  arc.omega_B.y() = 5;
  arc.spin_acceleration_B.y() = 40;
  arc.sd_spin_acceleration.y() = 0.5;
  const Body body = MakeBox(Vector3d(0.06, 0, 0.06), 0.1, true);
  const auto judge = [&](int n) {
    return JudgeRigidity(std::vector<FlightArc>(n, arc), body, kGravity);
  };
  EXPECT_FALSE(judge(4).rigid);
  EXPECT_TRUE(judge(3).rigid);
  EXPECT_FALSE(judge(3).tested);
  arc.sd_spin_acceleration.y() = 12;
  EXPECT_TRUE(judge(20).rigid);
  EXPECT_FALSE(judge(20).tested);
  EXPECT_THAT(judge(20).text, HasSubstr("was not tested"));
  arc.sd_spin_acceleration.setZero();  // flights without a spin
  EXPECT_EQ(judge(20).n, 0);
}

}  // namespace
}  // namespace impactlab
