#include "reconstruction/motion/set_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace impactlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kGravity = 9.80665;
constexpr double kBallRadius = 0.02;

// Bounces of a ball (e = 0.75) that rises from the floor again and again, seen at `rate` frames a
// second with noise of a tenth of a millimetre, as `recorded` writes place and time down.
using Recorder = std::function<void(Eigen::Vector3d* place, double* time)>;

std::vector<PoseRecording> BouncingBalls(const Recorder& recorded, double rate = 240) {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> noise(0, 1e-4);
  std::vector<PoseRecording> out;
  for (int k = 0; k < 6; ++k) {
    PoseRecording& recording = out.emplace_back();
    recording.name = "ball_" + std::to_string(k);
    const double height = 0.4 + 0.05 * k;
    double speed = std::sqrt(2 * kGravity * height), flight = 2 * speed / kGravity,
           start = -flight / 2;
    for (int i = 0; i < static_cast<int>(rate); ++i) {
      const double t = i / rate;
      while (t - start > flight) {
        start += flight;
        flight *= 0.75;
        speed *= 0.75;
      }
      const double s = t - start;
      Eigen::Vector3d place(0.3 * t + noise(rng), 0,
                            kBallRadius + speed * s - kGravity * s * s / 2 + noise(rng));
      double time = t;
      recorded(&place, &time);
      recording.t.push_back(time);
      recording.X_WB.emplace_back(Eigen::Translation3d(place));
    }
  }
  return out;
}

SetDiagnosis DiagnosisOf(const std::vector<PoseRecording>& recordings, const Plane& floor = {},
                         const Eigen::Vector3d& gravity = {0, 0, -kGravity}) {
  std::vector<const PoseRecording*> all;
  all.reserve(recordings.size());
  for (const PoseRecording& one : recordings) all.push_back(&one);
  return DiagnoseSet(all, MakeBall(kBallRadius, 0.03), floor, gravity);
}

TEST(SetDiagnosis, SoundRecordingsShowGravityAndNoCause) {
  const SetDiagnosis found = DiagnosisOf(BouncingBalls([](Eigen::Vector3d*, double*) {}));
  EXPECT_EQ(found.recordings, 6);
  EXPECT_EQ(found.steady, 6);
  EXPECT_NEAR(found.acceleration_W.z(), -kGravity, 0.05);
  EXPECT_LT(std::abs(found.gap), found.gap_allowed);
  EXPECT_THAT(found.causes, IsEmpty()) << SetDiagnosisText(found);
}

struct WrongRecord {
  const char* what;
  Recorder recorded;
  const char* cause;
  const char* cure;
};

TEST(SetDiagnosis, NamesUnitsClocksAndAxesWithTheLineThatCuresThem) {
  const auto scaled = [](double k) { return [k](Eigen::Vector3d* p, double*) { *p *= k; }; };
  const auto timed = [](double k) { return [k](Eigen::Vector3d*, double* t) { *t *= k; }; };
  const WrongRecord cases[] = {
      {"millimetres", scaled(1000), "lengths are in millimetres", "length_scale: 1000"},
      {"centimetres", scaled(100), "lengths are in centimetres", "length_scale: 100"},
      {"inches", scaled(1 / 0.0254), "lengths are in inches", "length_scale: 39.3701"},
      {"slow motion", timed(8), "clock is 8 times slow", "clock_rate: 8"},
      {"slow motion of a phone", timed(4), "clock is 4 times slow", "clock_rate: 4"},
      {"milliseconds", timed(1000), "times are in milliseconds", "clock_rate: 1000"},
      {"microseconds", timed(1e6), "times are in microseconds", "clock_rate: 1e+06"},
      {"frames", timed(240), "frame numbers of 240 frames a second", "clock_rate: 240"},
      {"frames and millimetres", [](Eigen::Vector3d* p, double* t) { *p *= 1000, *t *= 240; },
       "240 frames a second and lengths millimetres", "length_scale: 1000, clock_rate: 240"},
      {"z down", [](Eigen::Vector3d* p, double*) { p->z() *= -1; },
       "bodies fall along +z as recorded: that axis points down",
       "\nfloor: {normal: [0, 0, -1], offset_m: 0}"},
      {"y up",
       [](Eigen::Vector3d* p, double*) {
         *p = {p->x(), p->z(), -p->y()};
       },
       "bodies fall along -y as recorded: that axis points up",
       "gravity_m_per_s2: [0, -9.80665, 0]"},
      {"a scale and a clock", [](Eigen::Vector3d* p, double* t) { *p *= 1.2, *t *= 0.9; },
       "a wrong scale, clock or gravity", "length_scale: 1.4"},
      {"another scale", scaled(1.7), "a wrong scale, clock or gravity", "length_scale: 1.7"},
  };
  for (const WrongRecord& one : cases) {
    const SetDiagnosis found = DiagnosisOf(BouncingBalls(one.recorded));
    ASSERT_FALSE(found.causes.empty()) << one.what << ": " << found.seen;
    EXPECT_THAT(found.causes.front().text, HasSubstr(one.cause)) << one.what;
    EXPECT_THAT(found.causes.front().cure, HasSubstr(one.cure)) << one.what;
  }
  // Two errors at once: pixels with y down are a scale and a direction.
  const SetDiagnosis both =
      DiagnosisOf(BouncingBalls([](Eigen::Vector3d* p, double*) { p->z() *= -1, *p *= 1000; }));
  EXPECT_THAT(SetDiagnosisText(both),
              AllOf(HasSubstr("points down"), HasSubstr("lengths are in millimetres")));
}

// A cure holds for the file as it stands: what is declared already is part of the number, and the
// map is not to be written a second time.
TEST(SetDiagnosis, CuresIncludeTheCorrectionThatIsDeclaredAlready) {
  FrameCorrection known;
  known.length_scale = 1.25;
  known.clock_rate = 2;
  const auto balls = BouncingBalls([](Eigen::Vector3d* p, double* t) { *p *= 1000, *t *= 8; });
  std::vector<PoseRecording> corrected;
  std::vector<const PoseRecording*> all;
  corrected.reserve(balls.size());
  for (const PoseRecording& one : balls) corrected.push_back(Correct(one, known));
  all.reserve(corrected.size());
  for (const PoseRecording& one : corrected) all.push_back(&one);
  const SetDiagnosis found =
      DiagnoseSet(all, MakeBall(kBallRadius, 0.03), {}, {0, 0, -kGravity}, known);
  ASSERT_FALSE(found.causes.empty());
  // 1000 / 1.25 = 800 and 8 / 2 = 4 are no usual mistakes: the scale alone is offered, times the
  // one declared: 800 / 16 * 1.25
  EXPECT_THAT(SetDiagnosisText(found), AllOf(HasSubstr("in correction: length_scale: 62."),
                                             HasSubstr("in place of what stands there")));
  known.clock_rate = 8;
  known.length_scale = 1;
  known.mirrored = true;
  for (std::size_t k = 0; k < balls.size(); ++k) corrected[k] = Correct(balls[k], known);
  EXPECT_THAT(
      SetDiagnosisText(DiagnoseSet(all, MakeBall(kBallRadius, 0.03), {}, {0, 0, -kGravity}, known)),
      HasSubstr("in correction: length_scale: 1000, in place"));
}

// Bodies that fall as on Earth are recorded rightly: a gravity of another size or sense is what is
// wrong, and neither units nor axes are blamed.
TEST(SetDiagnosis, NamesAGravityThatIsDeclaredWrongly) {
  const auto sound = BouncingBalls([](Eigen::Vector3d*, double*) {});
  const double wrong_sizes[] = {9810, -9810, 981, 98.1, 1.6};
  for (const double g : wrong_sizes) {
    const SetDiagnosis found = DiagnosisOf(sound, {}, {0, 0, -g});
    ASSERT_EQ(found.causes.size(), 1u) << g << ": " << SetDiagnosisText(found);
    EXPECT_THAT(found.causes[0].text, HasSubstr("gravity is declared as")) << g;
    EXPECT_EQ(found.causes[0].cure, "gravity_m_per_s2: [0, 0, -9.80665]");
  }
  const SetDiagnosis turned = DiagnosisOf(sound, {}, {0, 0, kGravity});
  ASSERT_EQ(turned.causes.size(), 1u) << SetDiagnosisText(turned);
  EXPECT_THAT(turned.causes[0].text, HasSubstr("gravity is declared in another direction"));
  EXPECT_EQ(turned.causes[0].cure, "gravity_m_per_s2: [0, 0, -9.80665]");
}

TEST(SetDiagnosis, NamesAFloorThatBodiesDoNotReachAndRowsThatNobodyMeasured) {
  const auto sound = BouncingBalls([](Eigen::Vector3d*, double*) {});
  for (const double offset : {-0.028, 0.028}) {
    const SetDiagnosis found = DiagnosisOf(sound, {Eigen::Vector3d::UnitZ(), offset});
    ASSERT_EQ(found.causes.size(), 1u) << found.seen;
    EXPECT_THAT(found.causes[0].text, HasSubstr(offset < 0 ? "higher" : "lower"));
    EXPECT_NEAR(found.gap, -offset, 0.004);
    EXPECT_THAT(found.seen, HasSubstr("allowed up to 3 mm"));
  }
  // Every row that was measured, and three on the line to the next.
  std::vector<PoseRecording> between = sound, repeated = sound;
  for (std::size_t k = 0; k < sound.size(); ++k) {
    const PoseRecording& from = sound[k];
    for (std::size_t i = 0; i + 4 < from.t.size(); ++i) {
      const std::size_t base = i - i % 4;
      const double share = static_cast<double>(i % 4) / 4;
      between[k].X_WB[i].translation() =
          (1 - share) * from.X_WB[base].translation() + share * from.X_WB[base + 4].translation();
      repeated[k].X_WB[i] = from.X_WB[i - i % 2];
    }
  }
  EXPECT_THAT(SetDiagnosisText(DiagnosisOf(between)),
              HasSubstr("exactly between their neighbours"));
  EXPECT_THAT(SetDiagnosisText(DiagnosisOf(repeated)), HasSubstr("repeat the row before"));
}

TEST(SetDiagnosis, BlamesNoFloorAndNoAxisWhereNothingBouncesOrFalls) {
  std::mt19937_64 rng(7);
  std::normal_distribution<double> noise(0, 1e-4);
  std::vector<PoseRecording> toss(4), slide(4);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 120; ++i) {
      const double t = i / 240.0;
      toss[k].t.push_back(t);
      toss[k].X_WB.emplace_back(
          Eigen::Translation3d(t + noise(rng), 0, 1 + 2 * t - kGravity * t * t / 2 + noise(rng)));
      slide[k].t.push_back(t);
      slide[k].X_WB.emplace_back(Eigen::Translation3d(
          1.2 * t - 0.2 * kGravity * t * t / 2 + noise(rng), 0, kBallRadius + noise(rng)));
    }
  const SetDiagnosis tossed = DiagnosisOf(toss);
  EXPECT_TRUE(std::isnan(tossed.gap)) << tossed.seen;
  EXPECT_THAT(tossed.causes, IsEmpty()) << SetDiagnosisText(tossed);
  const SetDiagnosis slid = DiagnosisOf(slide);
  ASSERT_EQ(slid.causes.size(), 1u) << SetDiagnosisText(slid);
  EXPECT_THAT(slid.causes[0].text, HasSubstr("does not fall freely"));
  // The cure of an inclined floor keeps its normal.
  const Plane incline{Eigen::Vector3d(-0.05, 0, 1).normalized(), -0.05};
  const auto sound = BouncingBalls([](Eigen::Vector3d*, double*) {});
  const SetDiagnosis inclined = DiagnosisOf(sound, incline);
  ASSERT_EQ(inclined.causes.size(), 1u) << inclined.seen;
  EXPECT_THAT(inclined.causes[0].cure, HasSubstr("normal: [-0.0499"));
}

TEST(SetDiagnosis, SaysSoWhereNothingMovesSteadily) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> noise(0, 1e-4);
  std::vector<PoseRecording> still(2);
  for (PoseRecording& one : still)
    for (int i = 0; i < 200; ++i) {
      one.t.push_back(i / 240.0);
      one.X_WB.emplace_back(Eigen::Translation3d(noise(rng), noise(rng), kBallRadius + noise(rng)));
    }
  const SetDiagnosis found = DiagnosisOf(still);
  EXPECT_EQ(found.steady, 0);
  EXPECT_THAT(found.seen, HasSubstr("in none of 2 recordings"));
  EXPECT_THAT(found.causes, IsEmpty());
  // Recordings of a frame or two are no recordings of motion.
  std::vector<PoseRecording> stumps(1);
  stumps[0].t = {0, 1};
  stumps[0].X_WB.resize(2, Eigen::Isometry3d::Identity());
  EXPECT_EQ(DiagnosisOf(stumps).recordings, 0);
  EXPECT_EQ(DiagnosisOf({}).recordings, 0);
}

}  // namespace
}  // namespace impactlab
