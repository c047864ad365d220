// Pictures that come again, light that flashes, and views that cannot be judged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracking/doctor/doctor_fixture.h"

namespace impactlab {
namespace {

using test::ClipOptions;
using test::DoctorScene;
using test::Find;
using test::Range;
using test::WriteScene;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorCopies : public test::DoctorTest {
 protected:
  static ClipOptions Lossless() {
    ClipOptions clip = test::H264("0");
    clip.more = {{"qp", "0"}, {"preset", "ultrafast"}};
    return clip;
  }
};

// Before the fall nothing moves, and a coder that predicts tells nothing by what it leaves out: the
// noise does, when it is kept.
TEST_F(DoctorCopies, HostileT23CopiesAtRestInALosslessPredictedFile) {
  DoctorScene scene;
  scene.marker = false;
  std::vector<int> order = Range(0, 50);
  for (const int k : {33, 12, 5})
    order.insert(order.begin() + k, order[static_cast<std::size_t>(k - 1)]);
  const TimeBaseReport report = Look(WriteScene(Path("a.mp4"), scene, order, Lossless()));
  EXPECT_THAT(report.duplicated, ElementsAre(5, 13, 35)) << BriefReport(report);
  const TimeFinding* f = Find(report, "duplicated_frames");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("every pixel"));
  for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(report.exposure[k], order[k]) << k;
}

// Where most frames are copies the copies must not become what is usual.
TEST_F(DoctorCopies, EveryFrameTwiceThreeOrFourTimes) {
  DoctorScene scene;
  for (const int times : {2, 3, 4}) {
    std::vector<int> order;
    order.reserve(60);
    for (int k = 0; k < 60; ++k) order.push_back(k / times);
    for (const bool predicted : {true, false}) {
      const TimeBaseReport report = Look(WriteScene(Path(predicted ? "a.mp4" : "a.mov"), scene,
                                                    order, predicted ? Lossless() : ClipOptions{}));
      ASSERT_EQ(report.duplicated.size(), 60u - 60u / static_cast<unsigned>(times))
          << times << predicted << BriefReport(report);
      EXPECT_THAT(
          report.duplicated,
          Not(::testing::Contains(::testing::Truly([&](long long k) { return k % times == 0; }))));
      EXPECT_EQ(report.exposure.back(), 60 / times - 1);
    }
  }
}

// Of a lossy file in which every second frame is a copy the motion tells.
TEST_F(DoctorCopies, EveryFrameTwiceThroughALossyCoder) {
  DoctorScene scene;
  scene.noise = 1;
  std::vector<int> order;
  order.reserve(60);
  for (int k = 0; k < 60; ++k) order.push_back(k / 2);
  const TimeBaseReport report = Look(WriteScene(Path("a.mp4"), scene, order, test::H264("14")));
  EXPECT_GE(report.duplicated.size(), 12u) << BriefReport(report);
  EXPECT_TRUE(std::all_of(report.duplicated.begin(), report.duplicated.end(),
                          [](long long k) { return k % 2 == 1; }));
  EXPECT_GE(report.verdict, Severity::kWarning);
}

TEST_F(DoctorCopies, APictureOfLongAgoIsOutOfOrder) {
  DoctorScene scene;
  std::vector<int> order = Range(0, 50);
  order.insert(order.begin() + 31, 29);
  for (const bool predicted : {true, false}) {
    const TimeBaseReport report = Look(WriteScene(Path(predicted ? "a.mp4" : "a.mov"), scene, order,
                                                  predicted ? Lossless() : ClipOptions{}));
    const TimeFinding* f = Find(report, "out_of_order");
    ASSERT_NE(f, nullptr) << BriefReport(report);
    EXPECT_EQ(f->severity, Severity::kFault);
    EXPECT_THAT(
        f->text,
        HasSubstr(
            "frame 31 shows a picture that was there before, pixel by pixel: that of frame 29"));
    EXPECT_THAT(report.duplicated, ElementsAre());
    for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(report.exposure[k], order[k]) << k;
  }
}

// A lamp that goes on and off in the middle of exposures, near the beginning, at the beginning and
// at the end.
TEST_F(DoctorCopies, AFlashIsNoChangeOfExposure) {
  DoctorScene scene;
  scene.width = 96, scene.height = 80;
  for (const int on : {-3, 0, 1, 6, 40, 55}) {
    scene.gain = [&](int k) {
      return k == on || k == on + 6 ? 1.35 : k > on && k < on + 6 ? 1.7 : 1.0;
    };
    const TimeBaseReport report = Look(WriteScene(Path("a.mov"), scene, Range(0, 60)));
    EXPECT_EQ(Find(report, "exposure_changes"), nullptr) << on << BriefReport(report);
    const TimeFinding* f = Find(report, "flash");
    ASSERT_NE(f, nullptr) << on << BriefReport(report);
    EXPECT_THAT(f->text,
                HasSubstr("1 short flash, the first at frame " + std::to_string(std::max(0, on))))
        << on;
  }
  scene.gain = [](int k) { return k < 30 ? 1.0 : 0.7; };  // and one that stays off is a change
  EXPECT_NE(Find(Look(WriteScene(Path("a.mov"), scene, Range(0, 60))), "exposure_changes"),
            nullptr);
}

// The only texture is that of a body that moves: whether the camera did is not known.
TEST_F(DoctorCopies, ABodyBeforeAPlainWallIsNoStillScene) {
  const auto texture = [](int x, int y) { return 60 * test::Texture(x, y); };
  test::WriteClip(Path("a.mov"), {.width = 320, .height = 240, .stamps = test::EvenStamps(20, 375)},
                  [&](int k, AVFrame& frame) {
                    DoctorScene wall;
                    wall.width = 320, wall.height = 240, wall.texture = false, wall.marker = false,
                    wall.noise = 1;
                    GrayImage image = test::Expose(wall, k);
                    const int shift = k / 8;  // 2 px in the end
                    for (int y = 30; y < 94; ++y)
                      for (int x = 40; x < 170; ++x)
                        image.At(x + shift, y + shift) =
                            static_cast<std::uint8_t>(std::clamp(90 + texture(x, y), 0.0, 255.0));
                    test::FillGray(frame, image);
                  });
  const TimeBaseReport report = Look(Path("a.mov"));
  EXPECT_EQ(Find(report, "stabilised"), nullptr) << BriefReport(report);
}

TEST_F(DoctorCopies, AnExposureLongerThanAStepIsImpossible) {
  DoctorScene scene;
  scene.width = 96, scene.height = 80;
  FrameSource source;
  source.video = WriteScene(Path("a.mov"), scene, Range(0, 20));
  const TimeBaseReport report = ExamineTimeBase(source, {.exposure = 5});
  ASSERT_NE(Find(report, "exposure_unlikely"), nullptr);
  EXPECT_EQ(report.verdict, Severity::kFault);
  EXPECT_EQ(Find(ExamineTimeBase(source, {.exposure = 1 / 240.0}), "exposure_unlikely"), nullptr);
}

TEST_F(DoctorCopies, ASingleFrameIsNotGivenARate) {
  const TimeBaseReport report = Look(WriteScene(Path("a.mov"), {}, {0}));
  EXPECT_THAT(BriefReport(report), Not(HasSubstr("0.0000 /s")));
  EXPECT_THAT(BriefReport(report), Not(HasSubstr("0.0000 frames")));
  EXPECT_THAT(report.headline, HasSubstr("a single frame"));
}

}  // namespace
}  // namespace impactlab
