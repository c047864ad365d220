#include "pipelines/synth/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "pipelines/synth/motion.h"
#include "tests/support/synth_scenes.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pipelines::FloorContacts;
using test::Cube;
using test::Square;
using ::testing::HasSubstr;

// Bodies of every shape, planar and spatial, none of them symmetric where it need not be.
std::vector<SynthOptions> AllShapes() {
  std::vector<SynthOptions> all = {Square(), Cube()};
  const auto add = [&](const Body& body, double lean = 0.05) {
    SynthOptions o = body.planar ? Square() : Cube();
    o.body = body;
    o.lean_min = lean;
    o.drops = 3;
    all.push_back(o);
  };
  add(MakeBox({0.1, 0.07, 0.05}, 0.3, false, 0.004));
  add(MakeBox({0.1, 0, 0.05}, 0.3, true, 0.004));
  add(MakeRod(0.2, 0.01, 0.1));
  add(MakeRod(0.2, 0.01, 0.1, true));
  add(MakeBall(0.03, 0.1), 0);
  add(MakeBall(0.03, 0.1, true), 0);
  add(MakeEllipsoid({0.05, 0.04, 0.02}, 0.1), 0);
  add(MakeEllipsoid({0.05, 0, 0.02}, 0.1, true), 0);
  add(MakePolytope({{0, 0, 0}, {0.1, 0, 0}, {0, 0.12, 0}, {0, 0, 0.08}}, 0.2, false, 0.002));
  add(MakePolytope({{0, 0, 0}, {0.1, 0, 0}, {0.03, 0, 0.08}}, 0.2, true));
  add(MakePoints({{0, 0, 0.1}, {0, 0, -0.1}, {0.05, 0, 0}}, 0.2,
                 Vector3d(1e-3, 1.1e-3, 2e-4).asDiagonal()),
      0.02);
  return all;
}

double Energy(const SynthOptions& o, const Eigen::Isometry3d& X_WB, const Vector3d& v,
              const Vector3d& omega) {
  return KineticEnergy(o.body, X_WB.linear(), v, omega) -
         o.body.mass * o.flight.gravity_W.dot(X_WB.translation());
}

TEST(Synth, EveryShapeFallsStrikesAndNeverEntersTheFloor) {
  for (SynthOptions& o : AllShapes()) {
    SCOPED_TRACE(o.body.name + (o.body.planar ? " planar" : " spatial"));
    o.duration_after = 0.6;
    const SynthSet set = Synthesise(o);
    ASSERT_EQ(set.recordings.size(), static_cast<std::size_t>(o.drops));
    const FloorContacts contacts(o.body, o.floor);
    for (const PoseRecording& r : set.recordings) {
      ASSERT_EQ(r.t.size(), r.X_WB.size());
      EXPECT_EQ(r.theta.size(), o.body.planar ? r.t.size() : 0u);
      for (std::size_t k = 0; k < r.t.size(); ++k) {
        EXPECT_GT(ContactWithPlane(o.body, r.X_WB[k], o.floor).gap, -1e-7)
            << r.name << " frame " << k;
        EXPECT_NEAR(ContactWithPlane(o.body, r.X_WB[k], o.floor).gap, contacts.LowestGap(r.X_WB[k]),
                    1e-12);
        EXPECT_LT(
            (r.X_WB[k].linear() * r.X_WB[k].linear().transpose() - Matrix3d::Identity()).norm(),
            1e-12);
        if (o.body.planar) {
          EXPECT_EQ(r.X_WB[k].translation().y(), 0);
          EXPECT_NEAR(std::remainder(PlanarAngle(r.X_WB[k]) - r.theta[k], 2 * M_PI), 0, 1e-12);
        }
      }
    }
    ASSERT_FALSE(set.truth.events.empty());
    for (const ImpactEvent& e : set.truth.events) {
      // Every strike is one impulse at the touching point: momentum, energy and the point itself
      // are checked without the solver.
      EXPECT_NEAR(ContactWithPlane(o.body, e.X_WB, o.floor).gap, 0, 1e-6);
      EXPECT_NEAR(e.p_WP.z(), 0, 1e-6);
      EXPECT_LT(e.contact.v_minus_F.z(), 0);
      EXPECT_GE(e.v_plus_F.z(), -1e-12);
      const Matrix3d inertia = e.X_WB.linear() * o.body.inertia_B * e.X_WB.linear().transpose();
      const Vector3d J = o.body.mass * (e.v_plus - e.v_minus),
                     L = inertia * (e.omega_plus - e.omega_minus);
      const Vector3d moment = (e.p_WP - e.X_WB.translation()).cross(J);
      EXPECT_LT((L - moment).norm(), 1e-12 + 1e-9 * moment.norm());
      EXPECT_GT(J.z(), 0);
      EXPECT_LE(J.head<2>().norm(), o.model.mu_k * J.z() * (1 + 1e-9));
      EXPECT_LE(KineticEnergy(o.body, e.X_WB.linear(), e.v_plus, e.omega_plus),
                KineticEnergy(o.body, e.X_WB.linear(), e.v_minus, e.omega_minus) * (1 + 1e-9));
    }
  }
}

TEST(Synth, FramesFollowFreeFlightBetweenTheTrueEvents) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.flight.drag_per_m = 0.05;
    o.lost_frame_share = 0.5;
    const SynthSet set = Synthesise(o);
    int checked = 0, lost_frames = 0;
    for (std::size_t i = 0; i < set.truth.events.size(); ++i) {
      const ImpactEvent& e = set.truth.events[i];
      if (!e.accepted || e.impact != 0) continue;
      const PoseRecording& r = *std::find_if(set.recordings.begin(), set.recordings.end(),
                                             [&](const auto& x) { return x.name == e.recording; });
      const double later = e.frames_lost / o.frame_rate;
      lost_frames += e.frames_lost;
      int minus = 0, plus = 0;
      for (std::size_t k = 0; k < r.t.size(); ++k) {
        EXPECT_NEAR(r.t[k], k / o.frame_rate, 1e-12);
        const bool before = r.t[k] < e.t;
        const double dt = r.t[k] - e.t + (before ? 0 : later);
        if (!before && plus >= e.frames_plus) break;
        ++(before ? minus : plus);
        const BodyState from{e.X_WB, before ? e.v_minus : e.v_plus,
                             before ? e.omega_minus : e.omega_plus};
        const Eigen::Isometry3d X = Propagate(from, o.body, o.flight, dt).X_WB;
        EXPECT_LT((X.translation() - r.X_WB[k].translation()).norm(), 1e-11);
        EXPECT_LT((X.linear() - r.X_WB[k].linear()).norm(), 1e-10);
      }
      EXPECT_EQ(minus, e.frames_minus);
      EXPECT_EQ(plus, e.frames_plus);
      EXPECT_GE(std::min(minus, plus), 5);
      ++checked;
    }
    EXPECT_GE(checked, 3);
    EXPECT_GT(lost_frames, 0);
    EXPECT_LT(lost_frames, checked + 1);
  }
}

TEST(Synth, CorrectUndoesPlantedErrors) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.drops = 2;
    o.duration_after = 0.1;
    const SynthSet truth = Synthesise(o);
    for (const int flags : {0, 1, 2, 3}) {
      FrameCorrection c;
      c.rotation_offset_B = o.body.planar ? Vector3d(0, 0.036, 0) : Vector3d(0.02, -0.05, 0.1);
      c.com_offset_B = Vector3d(1e-3, o.body.planar ? 0 : -2e-3, 0.5e-3);
      c.length_scale = 1.03;
      c.clock_rate = 0.98;
      c.mirrored = (flags & 1) != 0;
      c.theta_flipped = o.body.planar && (flags & 2) != 0;
      o.error = c;
      const SynthSet recorded = Synthesise(o);
      ASSERT_EQ(recorded.truth.events.size(), truth.truth.events.size());
      for (std::size_t i = 0; i < truth.recordings.size(); ++i) {
        const PoseRecording& expected = truth.recordings[i];
        const PoseRecording found = Correct(recorded.recordings[i], c);
        ASSERT_EQ(found.t.size(), expected.t.size());
        // there was an error to undo
        EXPECT_GT((recorded.recordings[i].X_WB[0].matrix() - expected.X_WB[0].matrix()).norm(),
                  1e-3);
        for (std::size_t k = 0; k < found.t.size(); ++k) {
          EXPECT_NEAR(found.t[k], expected.t[k], 1e-12);
          EXPECT_LT((found.X_WB[k].matrix() - expected.X_WB[k].matrix()).norm(), 1e-12);
          if (o.body.planar) {
            EXPECT_NEAR(found.theta[k], expected.theta[k], 1e-12);
          }
        }
      }
    }
  }
}

TEST(Synth, FloorErrorsMoveTheTrueFloor) {
  SynthOptions o = Square();
  o.error.floor_offset = 0.002;
  o.error.floor_tilt = 0.05;
  const Plane floor = CorrectedFloor(o.floor, o.error);
  for (const ImpactEvent& e : Synthesise(o).truth.events) {
    EXPECT_NEAR(ContactWithPlane(o.body, e.X_WB, floor).gap, 0, 1e-6);
    EXPECT_NEAR((e.contact.X_WF.linear().col(2) - floor.normal).norm(), 0, 1e-15);
  }
}

TEST(Synth, NoiseHasTheStatedScaleAndShape) {
  SynthOptions o = Square();
  o.drops = 40;
  const SynthSet truth = Synthesise(o);
  for (const double dof : {0.0, 3.0}) {
    o.noise_position = 4e-5;
    o.noise_angle = 7e-4;
    o.noise_dof = dof;
    const SynthSet noisy = Synthesise(o);
    std::vector<double> x, angle;
    for (std::size_t i = 0; i < noisy.recordings.size(); ++i) {
      for (std::size_t k = 0; k < noisy.recordings[i].t.size(); ++k) {
        x.push_back((noisy.recordings[i].X_WB[k].translation().z() -
                     truth.recordings[i].X_WB[k].translation().z()) /
                    4e-5);
        angle.push_back((noisy.recordings[i].theta[k] - truth.recordings[i].theta[k]) / 7e-4);
      }
    }
    const double n = static_cast<double>(x.size());
    ASSERT_GT(n, 2000);
    for (const auto& z : {x, angle}) {
      EXPECT_NEAR(Mean(z), 0, 4 / std::sqrt(n));
      if (dof == 0) {
        EXPECT_NEAR(StandardDeviation(z), 1, 4 / std::sqrt(2 * n));
      } else {
        // Quartiles of a Student-t scaled to unit variance.
        EXPECT_NEAR(Quantile(z, 0.75), StudentQuantile(0.75, dof) * std::sqrt((dof - 2) / dof),
                    0.05);
      }
      const auto far = std::count_if(z.begin(), z.end(), [](double v) { return std::abs(v) > 5; });
      EXPECT_TRUE(dof == 0 ? far == 0 : far > 3) << far;
    }
    // Noise changes nothing of what happened.
    ASSERT_EQ(noisy.truth.events.size(), truth.truth.events.size());
    EXPECT_EQ(noisy.truth.events[3].v_plus, truth.truth.events[3].v_plus);
  }
}

TEST(Synth, ScatterIsRelativeToTheEffectiveMomentum) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.drops = 150;
    o.duration_after = 0.02;
    o.max_impacts = 1;
    o.sd_tangential = 0.02;
    o.sd_normal = 0.03;
    o.sd_couple = 0.04;
    std::vector<double> tangential, normal, couple;
    for (const ImpactEvent& e : Synthesise(o).truth.events) {
      const double p = -e.contact.v_minus_F.z() / e.contact.A_F(2, 2);
      const ImpactOutcome outcome = Solve(e.contact, o.model);
      const Vector3d excess = (MeasuredImpulse(e, o.body) - outcome.J_F) / p;
      tangential.push_back(excess.x());
      if (!o.body.planar) tangential.push_back(excess.y());
      normal.push_back(excess.z());
      const Matrix3d inertia = e.X_WB.linear() * o.body.inertia_B * e.X_WB.linear().transpose();
      const Vector3d moment =
          (e.p_WP - e.X_WB.translation()).cross(o.body.mass * (e.v_plus - e.v_minus));
      const double k = RadiusOfGyration(o.body);
      const Vector3d c = (inertia * (e.omega_plus - e.omega_minus) - moment) / (p * k);
      couple.push_back(c.y());
      if (!o.body.planar) couple.push_back(c.x());
    }
    const auto check = [](const std::vector<double>& values, double sd) {
      EXPECT_NEAR(StandardDeviation(values) / sd, 1, 4 / std::sqrt(2.0 * values.size()));
      EXPECT_NEAR(Mean(values), 0, 4 * sd / std::sqrt(values.size()));
    };
    check(tangential, 0.02);
    check(normal, 0.03);
    check(couple, 0.04);
  }
}

TEST(Synth, CoefficientsScatterAndWildEventsAreWild) {
  SynthOptions o = Square();
  o.drops = 200;
  o.duration_after = 0.02;
  o.max_impacts = 1;
  o.sd_mu = 0.02;
  o.sd_e = 0.05;
  std::vector<double> mu, e;
  const SynthSet scattered = Synthesise(o);
  for (const ImpactModel& m : scattered.truth.models) {
    mu.push_back(m.mu_k);
    e.push_back(m.e);
    EXPECT_GE(m.mu_s, m.mu_k);
  }
  EXPECT_NEAR(StandardDeviation(mu), 0.02, 0.004);
  EXPECT_NEAR(StandardDeviation(e), 0.05, 0.01);
  o.sd_mu = o.sd_e = 0;
  o.sd_normal = 0.01;
  o.wild_share = 0.25;
  int wild = 0;
  const SynthSet some = Synthesise(o);
  for (const ImpactEvent& event : some.truth.events) {
    const double p = -event.contact.v_minus_F.z() / event.contact.A_F(2, 2);
    wild += std::abs(MeasuredImpulse(event, o.body).z() - Solve(event.contact, o.model).J_F.z()) >
                    0.03 * p
                ? 1
                : 0;
  }
  // 76 % of the wild ones are beyond 3 ordinary sd
  const double share = wild / static_cast<double>(some.truth.events.size());
  EXPECT_GT(share, 0.10);
  EXPECT_LT(share, 0.30);
}

TEST(Synth, DoubleStrikesAreRealAndNotClean) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.double_strike_share = 1;
    o.drops = 6;
    const SynthSet set = Synthesise(o);
    int firsts = 0;
    for (std::size_t i = 0; i < set.truth.events.size(); ++i) {
      const ImpactEvent& e = set.truth.events[i];
      if (e.impact != 0) continue;
      ++firsts;
      EXPECT_TRUE(set.truth.double_strike[i]);
      EXPECT_FALSE(e.accepted);
      ASSERT_LT(i + 1, set.truth.events.size());
      const ImpactEvent& second = set.truth.events[i + 1];
      EXPECT_EQ(second.recording, e.recording);
      EXPECT_GE(second.t, e.t);
      EXPECT_LE(second.t - e.t, 2 / o.frame_rate);
      EXPECT_GT((second.p_WP - e.p_WP).norm(), 0.01);  // another corner
      EXPECT_GT((second.v_plus - second.v_minus).norm(), 1e-4);
    }
    EXPECT_EQ(firsts, 6);
  }
}

TEST(Synth, AcceptedEventsKeepTheirDistance) {
  SynthOptions o = Square();
  o.drops = 60;
  o.lean_min = 0;
  o.duration_after = 0.5;
  const SynthSet set = Synthesise(o);
  int accepted = 0, rejected = 0;
  for (std::size_t i = 0; i < set.truth.events.size(); ++i) {
    const ImpactEvent& e = set.truth.events[i];
    if (!e.accepted) {
      ++rejected;
      EXPECT_NE(e.reason, RejectReason::kNone);
      EXPECT_FALSE(e.detail.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(e.reason, RejectReason::kNone);
    for (std::size_t j = 0; j < set.truth.events.size(); ++j) {
      const ImpactEvent& other = set.truth.events[j];
      if (i != j && other.recording == e.recording) {
        EXPECT_GT(std::abs(other.t - e.t), 4 / o.frame_rate);
      }
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(rejected, 20);
}

TEST(Synth, CleanDropsCanBeAskedFor) {
  // A thin bar lands on two corners at once, as its frames see it, unless such drops are left out.
  SynthOptions o = test::Cube();
  o.body = MakeBox({0.3, 0.05, 0.0125}, 0.185);
  o.height_min = 0.03;
  o.height_max = 0.07;
  o.frame_rate = 120;
  o.spin = 3;
  const auto clean = [&] {
    int n = 0;
    for (const ImpactEvent& event : Synthesise(o).truth.events)
      n += event.impact == 0 && event.accepted;
    return n;
  };
  EXPECT_LT(clean(), o.drops);
  o.clean_first = true;
  EXPECT_EQ(clean(), o.drops);
}

TEST(Synth, LongRecordingsEndAtRestOnAFace) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.drops = 4;
    o.height_min = o.height_max = 0.05;
    o.duration_after = 3;
    const SynthSet set = Synthesise(o);
    EXPECT_EQ(set.truth.rests.size(), 4u);
    const double half = o.body.half_extents.x();
    for (const PoseRecording& r : set.recordings) {
      const std::size_t n = r.t.size();
      EXPECT_NEAR(r.X_WB[n - 1].translation().z(), half, 1e-9) << r.name;
      // does not move
      EXPECT_LT((r.X_WB[n - 1].matrix() - r.X_WB[n - 30].matrix()).norm(), 1e-12) << r.name;
    }
    // The energy of the frames never rises.
    for (const ImpactEvent& e : set.truth.events) {
      EXPECT_LE(Energy(o, e.X_WB, e.v_plus, e.omega_plus),
                Energy(o, e.X_WB, e.v_minus, e.omega_minus) * (1 + 1e-9));
    }
  }
}

TEST(Synth, RecordingsToRestTellWhereAndWhen) {
  for (SynthOptions o : {Square(), Cube()}) {
    SCOPED_TRACE(o.body.planar);
    o.drops = 4;
    o.to_rest = true;
    o.duration_after = 0.2;
    const SynthSet set = Synthesise(o);
    ASSERT_EQ(set.truth.rests.size(), 4u);
    const double dt = 1 / o.frame_rate;
    for (std::size_t i = 0; i < 4; ++i) {
      const SynthRest& rest = set.truth.rests[i];
      const PoseRecording& r = set.recordings[i];
      EXPECT_EQ(rest.recording, r.name);
      EXPECT_LE(r.t.back(), rest.t + 0.2 + 1e-12);
      EXPECT_GT(r.t.back(), rest.t + 0.2 - dt);
      for (std::size_t k = 0; k < r.t.size(); ++k) {
        const double away = (r.X_WB[k].matrix() - rest.X_WB.matrix()).norm();
        if (r.t[k] >= rest.t) {
          EXPECT_LT(away, 1e-15) << k;
        } else if (r.t[k] < rest.t - 0.3) {
          EXPECT_GT(away, 1e-6) << k;  // still on its way
        }
      }
      if (o.body.planar) {
        EXPECT_EQ(rest.theta, r.theta.back());
      }
    }
    // Lost frames shift the clock of what follows.
    o.lost_frame_share = 0.3;
    const SynthSet lossy = Synthesise(o);
    std::vector<int> lost(4);
    for (const ImpactEvent& e : lossy.truth.events)
      lost[static_cast<std::size_t>(std::stoi(e.recording.substr(5)) - 1)] += e.frames_lost;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GT(lost[i], 0);
      EXPECT_NEAR(lossy.truth.rests[i].t + lost[i] * dt, set.truth.rests[i].t, 1e-12);
    }
    o.to_rest = false;
    EXPECT_TRUE(Synthesise(o).truth.rests.empty());
  }
}

TEST(Synth, SuccessiveImpactsNeverGainEnergy) {
  SynthOptions o = Cube();
  o.drops = 5;
  o.duration_after = 1.5;
  const SynthSet set = Synthesise(o);
  for (std::size_t i = 1; i < set.truth.events.size(); ++i) {
    const ImpactEvent &a = set.truth.events[i - 1], &b = set.truth.events[i];
    if (a.recording != b.recording) continue;
    EXPECT_LE(Energy(o, b.X_WB, b.v_minus, b.omega_minus),
              Energy(o, a.X_WB, a.v_plus, a.omega_plus) + 1e-6)
        << b.recording << " " << b.impact;
  }
}

TEST(Synth, SeedDecidesEverything) {
  SynthOptions o = Square();
  o.drops = 3;
  o.noise_position = 1e-4;
  const SynthSet a = Synthesise(o), b = Synthesise(o);
  EXPECT_EQ(a.recordings[2].theta, b.recordings[2].theta);
  EXPECT_EQ(a.recordings[2].X_WB[5].matrix(), b.recordings[2].X_WB[5].matrix());
  o.drops = 2;  // fewer drops are the same drops
  EXPECT_EQ(Synthesise(o).recordings[1].theta, a.recordings[1].theta);
  o.seed = 2;
  EXPECT_NE(Synthesise(o).recordings[0].theta, a.recordings[0].theta);
  o.seed = 1ull << 40;
  EXPECT_NE(Synthesise(o).recordings[0].theta, a.recordings[0].theta);
}

TEST(Synth, ImpossibleScenesAreRefused) {
  const auto fault = [](auto change) {
    SynthOptions o = Square();
    change(o);
    try {
      Synthesise(o);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(fault([](SynthOptions& o) { o.model.mu_k = -0.1; }), HasSubstr("mu_k"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.model.e = 1.1; }), HasSubstr("e_star"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.model.mu_s = 0.05; }), HasSubstr("mu_s"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.body.mass = -1; }), HasSubstr("mass"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.frame_rate = 0; }), HasSubstr("frame_rate_Hz"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.flight.gravity_W *= -1; }), HasSubstr("gravity"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.noise_dof = 1; }), HasSubstr("noise_dof"));
  EXPECT_THAT(fault([](SynthOptions& o) { o.lean_min = 1.2; }), HasSubstr("lean_min_rad"));
  EXPECT_THAT(fault([](SynthOptions& o) {
                o.body = MakeBall(0.1, 1, true);
                o.double_strike_share = 0.5;
              }),
              HasSubstr("double_strike_share"));
}

}  // namespace
}  // namespace impactlab
