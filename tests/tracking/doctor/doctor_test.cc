#include "tracking/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "tests/tracking/doctor/doctor_fixture.h"

namespace impactlab {
namespace {

using test::ClipOptions;
using test::Complaints;
using test::DoctorScene;
using test::EvenStamps;
using test::Find;
using test::H264;
using test::Range;
using test::WriteScene;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DoctorTest : public test::DoctorTest {};

// ---- nothing is found where nothing is wrong: the matrix is in
// tests/tracking/doctor/doctor_slow_test.cc
// -----------------------------------------------------

TEST_F(DoctorTest, NothingIsFoundInHealthyClips) {
  ExpectNothing({"moving, noisy", 2, true, true, "png", "mov"});
  ExpectNothing({"still, without noise", 0, true, false, "png", "mov"});
  ExpectNothing({"H.264, moving", 2, true, true, "18", "mp4"});
}

// ---- planted faults
// --------------------------------------------------------------------------------------------------------------------

// A decoder that repeats a frame and loses the last: the copy is named and the map of exposures
// follows.
TEST_F(DoctorTest, HostileT23ARepeatedFrameInTheNoise) {
  for (const bool marker : {true, false}) {
    DoctorScene scene;
    scene.marker = marker;
    std::vector<int> order = Range(0, 80);
    order.insert(order.begin() + 31, 30);  // exposure 30 stands at 30 and 31
    order.pop_back();
    for (const char* encoder : {"png", "mjpeg"}) {
      ClipOptions clip;
      clip.encoder = encoder;
      if (clip.encoder == "mjpeg")
        clip.format = AV_PIX_FMT_YUVJ420P,
        clip.more = {{"global_quality", "400"}, {"flags", "+qscale"}};
      const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, order, clip));
      EXPECT_THAT(report.duplicated, ElementsAre(31)) << encoder << marker;
      ASSERT_EQ(report.exposure.size(), order.size());
      for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(report.exposure[k], order[k]) << k;
      const TimeFinding* f = Find(report, "duplicated_frames");
      ASSERT_NE(f, nullptr);
      EXPECT_THAT(f->text, HasSubstr("31"));
      // A step of one frame in the middle of arcs of 12: 1.5 / 12.
      EXPECT_NEAR(f->cost_e, 1.5 / 12, 0.03);
      EXPECT_EQ(f->severity, Severity::kFault);
    }
  }
}

TEST_F(DoctorTest, HostileT23ARepeatedFrameInTheMotion) {
  for (const char* crf : {"12", "18", "23"}) {  // at 30 the coder itself moves the body on
    DoctorScene scene;
    std::vector<int> order = Range(0, 80);
    order.insert(order.begin() + 25, 24);
    const TimeBaseReport report = Look(WriteScene(Path("a.mp4"), scene, order, H264(crf)));
    EXPECT_THAT(report.duplicated, ElementsAre(25)) << crf << BriefReport(report);
    EXPECT_EQ(report.exposure.back(), 79);
  }
}

// A copy in place of a frame that was lost: the beat goes on and the next exposure keeps its
// number.
TEST_F(DoctorTest, HostileT23ACopyInPlaceOfALostFrame) {
  DoctorScene scene;
  for (const double noise : {0.0, 2.0}) {
    scene.noise = noise;
    std::vector<int> order = Range(0, 80);
    order[25] = 24;
    const TimeBaseReport report =
        Look(WriteScene(Path("a.mov"), scene, order, {.encoder = "ffv1"}));
    EXPECT_THAT(report.duplicated, ElementsAre(25)) << noise;
    EXPECT_EQ(report.exposure[26], 26) << noise;
    EXPECT_EQ(report.exposure.back(), 79) << noise;
    EXPECT_EQ(Find(report, "lost_frames"), nullptr);
  }
}

// Software that records 60 frames a second from a camera that gives 30.
TEST_F(DoctorTest, EveryFrameTwice) {
  DoctorScene scene;
  std::vector<int> order;
  for (int k = 0; k < 40; ++k) order.push_back(k), order.push_back(k);
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, order));
  EXPECT_EQ(report.duplicated.size(), 40u);
  const TimeFinding* f = Find(report, "duplicated_frames");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("120 pictures/s are real"));
}

TEST_F(DoctorTest, DroppedFramesByTheStamps) {
  DoctorScene scene;
  std::vector<int> order = Range(0, 80);
  ClipOptions clip;
  // one and then two that follow each other
  for (const int k : {50, 31, 30}) order.erase(order.begin() + k);
  for (const int k : order) clip.stamps.push_back(k * 375);
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, order, clip));
  EXPECT_THAT(report.dropped, ElementsAre(29, 47)) << BriefReport(report);
  EXPECT_NEAR(report.rate, 240, 1e-6);
  ASSERT_EQ(report.exposure.size(), order.size());
  for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(report.exposure[k], order[k]);
  const TimeFinding* f = Find(report, "dropped_frames");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("3 frames are missing"));
  EXPECT_EQ(f->severity, Severity::kWarning) << "the stamps are believed, and they show it";
  EXPECT_GT(f->cost_e, 0.1);
  EXPECT_EQ(Find(report, "variable_rate"), nullptr) << "a gap is no jitter";
  EXPECT_LT(report.jitter, 1e-9);
}

TEST_F(DoctorTest, LostFramesByTheMotion) {
  DoctorScene scene;
  for (const int lost : {1, 2}) {
    std::vector<int> order = Range(0, 80);
    order.erase(order.begin() + 20, order.begin() + 20 + lost);
    const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, order));
    EXPECT_THAT(report.dropped, ElementsAre(19)) << BriefReport(report);
    EXPECT_NE(Find(report, "lost_frames"), nullptr);
    EXPECT_EQ(report.exposure[20], 20 + lost);
  }
}

TEST_F(DoctorTest, ACoderThatMakesThePictureAnewLosesNoFrame) {
  // In frame 59 many blocks change a little while the rod moves on as before.
  const std::filesystem::path sample =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample/incline/drop_0001_left.mp4";
  const TimeBaseReport report = Look(sample);
  EXPECT_THAT(report.dropped, ElementsAre()) << BriefReport(report);
  EXPECT_EQ(Find(report, "lost_frames"), nullptr);
  EXPECT_EQ(report.verdict, Severity::kFine) << BriefReport(report);
}

TEST_F(DoctorTest, FramesOutOfOrder) {
  DoctorScene scene;
  WriteScene(Path("a.mov"), scene, Range(0, 60));
  test::Remux(Path("a.mov"), Path("b.mov"), {}, [](int k, std::int64_t pts) {
    return k == 20 ? pts + 375 : k == 21 ? pts - 375 : pts;
  });
  const TimeBaseReport report = Look(Path("b.mov"));
  const TimeFinding* f = Find(report, "out_of_order");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  EXPECT_EQ(f->severity, Severity::kFault);
  EXPECT_THAT(f->text, HasSubstr("21"));
  EXPECT_NEAR(report.rate, 240, 1e-6);
}

TEST_F(DoctorTest, HostileT20VariableRateIsDescribed) {
  DoctorScene scene;
  std::mt19937_64 rng(20);
  ClipOptions clip;
  std::int64_t at = 0;
  std::vector<double> steps;
  for (int k = 0; k < 100; ++k) {
    clip.stamps.push_back(at);
    const auto step = 300 + static_cast<std::int64_t>(rng() % 150);
    if (k < 99) steps.push_back(static_cast<double>(step) / 90000);
    at += step;
  }
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 100), clip));
  const TimeFinding* f = Find(report, "variable_rate");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  std::sort(steps.begin(), steps.end());
  ASSERT_EQ(report.step_quantiles.size(), 7u);
  EXPECT_NEAR(report.step_quantiles[0], steps.front(), 1e-9);
  EXPECT_NEAR(report.step_quantiles[6], steps.back(), 1e-9);
  EXPECT_NEAR(report.step_quantiles[3], steps[49], 1e-9);
  EXPECT_NEAR(report.jitter, 150.0 / 90000 / std::sqrt(12), 0.1e-3);
  EXPECT_GT(f->cost_e, 0.01);
  EXPECT_EQ(Find(report, "dropped_frames"), nullptr);
}

// A rate that sinks in the light: evenly stamped at any time, but no single rate.
TEST_F(DoctorTest, ARateThatWandersIsVariable) {
  DoctorScene scene;
  ClipOptions clip;
  double at = 0;
  for (int k = 0; k < 100; ++k) clip.stamps.push_back(std::llround(at)), at += k < 50 ? 375 : 420;
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 100), clip));
  const TimeFinding* f = Find(report, "variable_rate");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  EXPECT_NEAR(f->cost_e, 420.0 / 375 - 1, 0.02)
      << "speeds before and after differ by as much as the rates do";
}

TEST_F(DoctorTest, CoarseStampsShowTheBeatBehindThem) {
  DoctorScene scene;
  ClipOptions clip;
  clip.time_base = {1, 1000};
  for (int k = 0; k < 100; ++k) clip.stamps.push_back(std::llround(k * 1000.0 / 240));
  for (const char* name : {"a.mkv", "a.mov"}) {
    clip.encoder = "ffv1";
    const TimeBaseReport report = Look(WriteScene(Path(name), scene, Range(0, 100), clip));
    const TimeFinding* f = Find(report, "coarse_stamps");
    ASSERT_NE(f, nullptr) << name << BriefReport(report);
    EXPECT_THAT(f->text, HasSubstr("1 ms"));
    EXPECT_NEAR(report.rate, 240, 0.02) << "the median step would say 250";
    EXPECT_THAT(report.dropped, ElementsAre());
    EXPECT_EQ(Find(report, "variable_rate"), nullptr);
  }
}

TEST_F(DoctorTest, SlowMotionByItsTag) {
  DoctorScene scene;
  WriteScene(Path("a.mp4"), scene, Range(0, 60), [] {
    ClipOptions clip = H264("20");
    clip.stamps = EvenStamps(60, 3000);
    return clip;
  }());
  test::Remux(Path("a.mp4"), Path("b.mp4"), {{"com.android.capture.fps", "240.000000"}});
  const TimeBaseReport report = Look(Path("b.mp4"));
  const TimeFinding* f = Find(report, "rate_unlikely");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  EXPECT_EQ(f->severity, Severity::kFault);
  EXPECT_THAT(f->advice, HasSubstr("rate_hz: 240"));
  EXPECT_THAT(f->text, HasSubstr("8 times"));
  EXPECT_GT(f->cost_e, 0.9);
  // The true rate heals it; a wrong one is contradicted.
  const TimeBaseReport healed = Look(Path("b.mp4"), 240);
  EXPECT_EQ(Find(healed, "rate_unlikely"), nullptr) << BriefReport(healed);
  EXPECT_NEAR(healed.rate, 240, 1e-6);
  EXPECT_NE(Find(Look(Path("b.mp4"), 120), "rate_unlikely"), nullptr);
}

TEST_F(DoctorTest, SlowMotionWithoutATagIsOnlySuspected) {
  DoctorScene scene;
  ClipOptions clip;
  clip.stamps = EvenStamps(40, 3003);
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 40), clip));
  EXPECT_THAT(Complaints(report), ElementsAre("playing_rate")) << BriefReport(report);
  EXPECT_EQ(report.verdict, Severity::kNote);
}

TEST_F(DoctorTest, AviHoldsNoStamps) {
  DoctorScene scene;
  ClipOptions clip;
  clip.encoder = "ffv1", clip.time_base = {1, 240}, clip.stamps = EvenStamps(40, 1);
  const TimeBaseReport report = Look(WriteScene(Path("a.avi"), scene, Range(0, 40), clip));
  EXPECT_THAT(Complaints(report), ElementsAre("counted_stamps")) << BriefReport(report);
}

TEST_F(DoctorTest, HostileT29RotationIsSaid) {
  DoctorScene scene;
  for (const int turn : {0, 90, 180, 270}) {
    ClipOptions clip;
    clip.rotation_deg = turn;
    const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 30), clip));
    const TimeFinding* f = Find(report, "rotation");
    ASSERT_EQ(f != nullptr, turn != 0) << turn;
    EXPECT_EQ(report.info.rotation_deg, turn);
    if (f != nullptr) {
      EXPECT_THAT(f->text, HasSubstr(std::to_string(turn)));
    }
    EXPECT_EQ(report.verdict, turn == 0 ? Severity::kFine : Severity::kNote) << BriefReport(report);
  }
}

TEST_F(DoctorTest, HostileT30CombedPicturesThatAreNotMarked) {
  DoctorScene scene;
  scene.interlaced = true, scene.rate = 50;
  for (const double noise : {0.0, 3.0}) {
    scene.noise = noise;
    const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 40)));
    const TimeFinding* f = Find(report, "interlaced");
    ASSERT_NE(f, nullptr) << BriefReport(report);
    EXPECT_EQ(f->severity, Severity::kFault);
    EXPECT_GT(f->cost_e, 0);
  }
}

TEST_F(DoctorTest, ExposureThatDriftsAndLightThatFlickers) {
  DoctorScene scene;
  scene.gain = [](int k) { return 1 - 0.004 * std::min(k, 60); };
  const TimeBaseReport drift = Look(WriteScene(Path("a.mov"), scene, Range(0, 90)));
  ASSERT_NE(Find(drift, "exposure_changes"), nullptr) << BriefReport(drift);
  EXPECT_GT(Find(drift, "exposure_changes")->cost_e, 1e-3);
  EXPECT_THAT(drift.duplicated, ElementsAre());
  scene.gain = [](int k) { return 1 + 0.08 * std::sin(2.1 * k); };
  const TimeBaseReport flicker = Look(WriteScene(Path("b.mov"), scene, Range(0, 90)));
  EXPECT_NE(Find(flicker, "flicker"), nullptr) << BriefReport(flicker);
  EXPECT_EQ(Find(flicker, "exposure_changes"), nullptr) << BriefReport(flicker);
  EXPECT_THAT(flicker.duplicated, ElementsAre());
  EXPECT_THAT(flicker.dropped, ElementsAre());
  scene.gain = [](int k) { return k >= 40 && k < 43 ? 1.5 : 1.0; };
  const TimeBaseReport flash = Look(WriteScene(Path("c.mov"), scene, Range(0, 90)));
  ASSERT_NE(Find(flash, "flash"), nullptr) << BriefReport(flash);
  EXPECT_EQ(flash.verdict, Severity::kFine) << BriefReport(flash);
}

// Lamps at 100 Hz: under a rolling shutter the wave runs down the picture.
TEST_F(DoctorTest, RollingShutterUnderFlickeringLamps) {
  DoctorScene scene;
  scene.marker = false;
  const double t_line = 25e-6;
  for (const double line : {0.0, t_line, -t_line}) {
    scene.light = [&](int k, int y) {
      return 1 + 0.1 * std::cos(2 * M_PI * 100 * (k / 240.0 + y * line));
    };
    const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 120)));
    const TimeFinding* f = Find(report, "rolling_shutter");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity >= Severity::kWarning, line != 0) << BriefReport(report);
    if (line != 0) {
      const double readout = 119 * t_line;
      EXPECT_THAT(f->text, HasSubstr("100 Hz"));
      const auto at = f->text.find(" ms");
      ASSERT_NE(at, std::string::npos);
      EXPECT_NEAR(std::stod(f->text.substr(f->text.rfind(' ', at - 1))), 1e3 * readout, 0.15);
    } else {
      EXPECT_THAT(f->text, HasSubstr("together"));
    }
  }
}

TEST_F(DoctorTest, ADamagedAndACutFileSayWhere) {
  DoctorScene scene;
  WriteScene(Path("a.mkv"), scene, Range(0, 60),
             {.encoder = "mjpeg",
              .format = AV_PIX_FMT_YUVJ420P,
              .time_base = {1, 1000},
              .stamps = EvenStamps(60, 4)});
  std::filesystem::resize_file(Path("a.mkv"), std::filesystem::file_size(Path("a.mkv")) * 6 / 10);
  const TimeBaseReport report = Look(Path("a.mkv"));
  const TimeFinding* f = Find(report, "cut_short");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  EXPECT_THAT(f->text, HasSubstr("last good frame"));
  EXPECT_GT(report.frames, 15);
  EXPECT_LT(report.frames, 45);
  EXPECT_THROW(Look(Path("absent.mov")), DataError);
  test::WriteText(Path("text.mov"), "no video");
  EXPECT_THROW(Look(Path("text.mov")), DataError);
}

TEST_F(DoctorTest, AShakenCameraIsNotStill) {
  DoctorScene scene;
  const GrayImage a = test::Expose(scene, 0);
  test::WriteClip(Path("a.mov"), {.width = 160, .height = 120, .stamps = EvenStamps(40, 375)},
                  [&](int k, AVFrame& frame) {
                    DoctorScene moved = scene;
                    moved.shift_x = 0.1 * k;
                    test::FillGray(frame, test::Expose(moved, k));
                  });
  const TimeBaseReport report = Look(Path("a.mov"));
  const TimeFinding* f = Find(report, "stabilised");
  ASSERT_NE(f, nullptr) << BriefReport(report);
  EXPECT_THAT(f->text, HasSubstr("+3.9"));
}

// ---- sequences, options, reports
// -------------------------------------------------------------------------------------------------------

TEST_F(DoctorTest, SequencesWithATableOfStamps) {
  DoctorScene scene;
  FrameSource source;
  std::string table = "t_s\n";
  for (int k = 0; k < 30; ++k) {
    source.images.push_back(Path("f" + std::to_string(100 + k) + ".png"));
    WritePng(source.images.back(), test::Expose(scene, k));
    table += std::to_string((k < 12 ? k : k + 1) * 0.004) + "\n";
  }
  test::WriteText(Path("t.csv"), table);
  source.stamps = Path("t.csv");
  const TimeBaseReport report = ExamineTimeBase(source);
  EXPECT_THAT(report.dropped, ElementsAre(11)) << BriefReport(report);
  EXPECT_NEAR(report.rate, 250, 1e-6);
}

TEST_F(DoctorTest, LongRecordingsAreExaminedUpToALimit) {
  DoctorScene scene;
  FrameSource source;
  source.video = WriteScene(Path("a.mov"), scene, Range(0, 40));
  const TimeBaseReport report = ExamineTimeBase(source, {.max_frames = 25});
  EXPECT_EQ(report.frames, 25);
  EXPECT_NE(Find(report, "not_all"), nullptr);
  EXPECT_EQ(Find(report, "frame_count"), nullptr);
  EXPECT_THROW(ExamineTimeBase(source, {.max_frames = 0}), ConfigError);
  EXPECT_THROW(ExamineTimeBase(source, {.exposure = -1}), ConfigError);
}

TEST_F(DoctorTest, OneAndTwoFrames) {
  DoctorScene scene;
  const TimeBaseReport one = Look(WriteScene(Path("a.mov"), scene, {0}));
  EXPECT_EQ(one.verdict, Severity::kFault);
  EXPECT_NE(Find(one, "single_frame"), nullptr);
  const TimeBaseReport two = Look(WriteScene(Path("b.mov"), scene, {0, 1}));
  EXPECT_EQ(two.frames, 2);
  EXPECT_NEAR(two.rate, 240, 1e-6);
}

TEST_F(DoctorTest, ReportsAreCompleteAndOrdered) {
  DoctorScene scene;
  std::vector<int> order = Range(0, 60);
  order.insert(order.begin() + 31, 30);
  ClipOptions clip;
  clip.rotation_deg = 90;
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, order, clip));
  for (std::size_t k = 1; k < report.findings.size(); ++k)
    EXPECT_GE(report.findings[k - 1].severity, report.findings[k].severity);
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["verdict"], "fault");
  EXPECT_EQ(json["duplicated"], nlohmann::json::array({31}));
  EXPECT_EQ(json["exposure"].size(), 61u);
  EXPECT_EQ(json["rotation_deg"], 90);
  EXPECT_EQ(json["findings"].size(), report.findings.size());
  const std::string text = BriefReport(report);
  EXPECT_THAT(text, HasSubstr("Not to be trusted"));
  EXPECT_THAT(text, HasSubstr("cost in e*"));
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       start = end + 1, end = text.find('\n', start))
    if (start > 0) {
      EXPECT_LE(end - start, 120u) << text.substr(start, end - start);
    }
}

}  // namespace
}  // namespace impactlab
