// The matrices of the time-base doctor: healthy clips in which nothing must be found, and copies that must be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

#include "tests/tracking/doctor_fixture.h"

namespace impactlab {
namespace {

using test::ClipOptions;
using test::Complaints;
using test::DoctorScene;
using test::Find;
using test::H264;
using test::Healthy;
using test::Range;
using test::WriteScene;
using ::testing::ElementsAre;

class DoctorSlow : public test::DoctorTest {};
class DoctorHealthy : public test::DoctorTest, public ::testing::WithParamInterface<Healthy> {};

TEST_P(DoctorHealthy, NothingIsFound) { ExpectNothing(GetParam()); }
INSTANTIATE_TEST_SUITE_P(
    Scenes, DoctorHealthy,
    ::testing::Values(Healthy{"still, noisy", 2, true, false, "png", "mov"}, Healthy{"moving, noisy", 2, true, true, "png", "mov"},
                      Healthy{"moving, little noise", 0.4, false, true, "ffv1", "mov"},
                      Healthy{"still, without noise", 0, true, false, "png", "mov"},
                      Healthy{"moving, without noise", 0, true, true, "png", "mov"},
                      Healthy{"moving, black, without noise", 0, false, true, "ffv1", "mov"},
                      Healthy{"JPEG, still", 2, true, false, "mjpeg", "mov"}, Healthy{"JPEG, moving", 2, true, true, "mjpeg", "mov"},
                      Healthy{"H.264, moving", 2, true, true, "18", "mp4"}, Healthy{"H.264, moving, poor", 2, true, true, "32", "mp4"},
                      Healthy{"H.264, moving, no noise", 0, true, true, "20", "mp4"}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

// A coder that skips what changes little repeats pictures of a still scene: those are no duplicates.
TEST_F(DoctorSlow, AStillSceneThroughACoderIsNotCalledRepeated) {
  DoctorScene scene;
  scene.marker = false;
  for (const char* crf : {"16", "23", "30", "40"}) {
    const TimeBaseReport report = Look(WriteScene(Path("still.mp4"), scene, Range(0, 90), H264(crf)));
    EXPECT_THAT(report.duplicated, ElementsAre()) << crf;
    EXPECT_THAT(Complaints(report), ElementsAre()) << crf << "\n" << BriefReport(report);
  }
}

// Bounces straight down: the pair of frames around the contact or the apex may show no motion at all.
TEST_F(DoctorSlow, TurningPointsAreNotCalledRepeated) {
  for (int i = 0; i < 8; ++i) {
    DoctorScene scene;
    scene.noise = i % 2 == 0 ? 0 : 1;
    scene.speed_x = 0;
    scene.rate = 171 + 7 * i;  // the contact falls between other frames each time
    const TimeBaseReport report = Look(WriteScene(Path("bounce.mov"), scene, Range(0, 100), {.encoder = "ffv1"}));
    EXPECT_THAT(report.duplicated, ElementsAre()) << i;
    EXPECT_THAT(report.dropped, ElementsAre()) << i;
  }
}

}  // namespace
}  // namespace impactlab
