// The matrices of the time-base doctor: healthy clips in which nothing must be found, and copies
// that must be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

#include "tests/tracking/doctor/doctor_fixture.h"

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
    ::testing::Values(Healthy{"still, noisy", 2, true, false, "png", "mov"},
                      Healthy{"moving, noisy", 2, true, true, "png", "mov"},
                      Healthy{"moving, little noise", 0.4, false, true, "ffv1", "mov"},
                      Healthy{"still, without noise", 0, true, false, "png", "mov"},
                      Healthy{"moving, without noise", 0, true, true, "png", "mov"},
                      Healthy{"moving, black, without noise", 0, false, true, "ffv1", "mov"},
                      Healthy{"JPEG, still", 2, true, false, "mjpeg", "mov"},
                      Healthy{"JPEG, moving", 2, true, true, "mjpeg", "mov"},
                      Healthy{"H.264, moving", 2, true, true, "18", "mp4"},
                      Healthy{"H.264, moving, poor", 2, true, true, "32", "mp4"},
                      Healthy{"H.264, moving, no noise", 0, true, true, "20", "mp4"}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

// A coder that skips what changes little repeats pictures of a still scene: those are no
// duplicates.
TEST_F(DoctorSlow, AStillSceneThroughACoderIsNotCalledRepeated) {
  DoctorScene scene;
  scene.marker = false;
  for (const char* crf : {"16", "23", "30", "40"}) {
    const TimeBaseReport report =
        Look(WriteScene(Path("still.mp4"), scene, Range(0, 90), H264(crf)));
    EXPECT_THAT(report.duplicated, ElementsAre()) << crf;
    EXPECT_THAT(Complaints(report), ElementsAre()) << crf << "\n" << BriefReport(report);
  }
}

// Bounces straight down: the pair of frames around the contact or the apex may show no motion at
// all.
TEST_F(DoctorSlow, TurningPointsAreNotCalledRepeated) {
  for (int i = 0; i < 8; ++i) {
    DoctorScene scene;
    scene.noise = i % 2 == 0 ? 0 : 1;
    scene.speed_x = 0;
    scene.rate = 171 + 7 * i;  // the contact falls between other frames each time
    const TimeBaseReport report =
        Look(WriteScene(Path("bounce.mov"), scene, Range(0, 100), {.encoder = "ffv1"}));
    EXPECT_THAT(report.duplicated, ElementsAre()) << i;
    EXPECT_THAT(report.dropped, ElementsAre()) << i;
  }
}

// Coders over a still scene into which a body falls: what they leave out must not be taken for
// copies, of which there are none.
TEST_F(DoctorSlow, CodersLeaveRestAloneAndNothingIsCalledRepeated) {
  for (const double noise : {0.0, 0.5, 2.0, 5.0}) {
    for (const char* crf : {"2", "8", "16", "24", "34"}) {
      for (const int b_frames : {0, 2}) {
        DoctorScene scene;
        scene.noise = noise;
        ClipOptions clip = H264(crf);
        clip.b_frames = b_frames;
        clip.stamps = test::EvenStamps(70, 375);
        clip.width = scene.width, clip.height = scene.height;
        test::WriteClip(Path("a.mp4"), clip, [&](int k, AVFrame& frame) {
          DoctorScene at_rest = scene;
          at_rest.marker = k >= 20;
          test::FillGray(frame,
                         test::Expose(at_rest, std::max(0, k - 20) + (k < 20 ? 500 + k : 0)));
        });
        const TimeBaseReport report = Look(Path("a.mp4"));
        EXPECT_THAT(report.duplicated, ElementsAre())
            << noise << " " << crf << " " << b_frames << "\n"
            << BriefReport(report);
        EXPECT_EQ(Find(report, "out_of_order"), nullptr);
      }
    }
  }
}

// Copies at rest and in flight, in noise, whatever the coder spends its bits on.
TEST_F(DoctorSlow, HostileT23ExactCopiesInNoiseAreNamedWhateverTheCodec) {
  struct Codec {
    const char* encoder;
    AVPixelFormat format;
    std::vector<std::pair<std::string, std::string>> more;
  };
  const Codec codecs[] = {
      {"png", AV_PIX_FMT_GRAY8, {}},
      {"ffv1", AV_PIX_FMT_GRAY8, {}},
      {"mjpeg", AV_PIX_FMT_YUVJ420P, {{"global_quality", "400"}, {"flags", "+qscale"}}},
      {"libx264", AV_PIX_FMT_YUV420P, {{"qp", "0"}, {"preset", "veryfast"}}}};
  int hits = 0, planted = 0;
  for (const Codec& codec : codecs) {
    for (const bool marker : {true, false}) {
      for (const double noise : {0.7, 2.0, 4.0}) {
        DoctorScene scene;
        scene.marker = marker, scene.noise = noise;
        ClipOptions clip;
        clip.encoder = codec.encoder, clip.format = codec.format;
        for (const auto& [key, value] : codec.more) clip.more[key] = value;
        std::vector<int> order = Range(0, 60);
        for (const int k : {50, 26, 9, 3})
          order.insert(order.begin() + k, order[static_cast<std::size_t>(k - 1)]);
        const TimeBaseReport report = Look(WriteScene(
            Path(codec.format == AV_PIX_FMT_YUV420P ? "a.mp4" : "a.mov"), scene, order, clip));
        EXPECT_THAT(report.duplicated, ElementsAre(3, 10, 28, 53))
            << codec.encoder << marker << noise << BriefReport(report);
        planted += 4, hits += static_cast<int>(report.duplicated.size());
        for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(report.exposure[k], order[k]) << k;
      }
    }
  }
  EXPECT_EQ(hits, planted);
}

}  // namespace
}  // namespace impactlab
