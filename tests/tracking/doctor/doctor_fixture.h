#pragma once
// What the tests of the time-base doctor share.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/tracking/doctor_scene.h"
#include "tracking/doctor/doctor.h"

namespace impactlab::test {

inline const TimeFinding* Find(const TimeBaseReport& report, const std::string& code) {
  for (const TimeFinding& f : report.findings)
    if (f.code == code) return &f;
  return nullptr;
}
// Codes of all that is more than `fine`; what could not be looked for is no complaint.
inline std::vector<std::string> Complaints(const TimeBaseReport& report) {
  std::vector<std::string> codes;
  for (const TimeFinding& f : report.findings)
    if (f.severity > Severity::kFine && f.code != "duplicates_unknown") codes.push_back(f.code);
  return codes;
}
inline ClipOptions H264(const char* crf, AVRational time_base = {1, 90000}) {
  ClipOptions clip;
  clip.encoder = "libx264", clip.format = AV_PIX_FMT_YUV420P, clip.time_base = time_base;
  clip.b_frames = 2, clip.key_interval = 60;
  clip.more = {{"crf", crf}, {"preset", "veryfast"}};
  return clip;
}

struct Healthy {
  const char* name;
  double noise;
  bool texture, marker;
  const char* encoder;  // "png", "mjpeg", "ffv1", or the crf of H.264
  const char* extension;
};

class DoctorTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  TimeBaseReport Look(const std::filesystem::path& path, double rate = 0) const {
    FrameSource source;
    source.video = path, source.rate = rate;
    return ExamineTimeBase(source);
  }
  void ExpectNothing(const Healthy& h) const {
    DoctorScene scene;
    scene.noise = h.noise, scene.texture = h.texture, scene.marker = h.marker;
    ClipOptions clip;
    if (std::isdigit(h.encoder[0]) != 0) {
      clip = H264(h.encoder);
    } else {
      clip.encoder = h.encoder;
      if (clip.encoder == "mjpeg")
        clip.format = AV_PIX_FMT_YUVJ420P,
        clip.more = {{"global_quality", "400"}, {"flags", "+qscale"}};
    }
    const int n = 90;
    const TimeBaseReport report =
        Look(WriteScene(Path(std::string("a.") + h.extension), scene, Range(0, n), clip));
    EXPECT_THAT(Complaints(report), ::testing::ElementsAre()) << BriefReport(report);
    EXPECT_EQ(report.frames, n);
    EXPECT_NEAR(report.rate, 240, 1e-6);
    EXPECT_EQ(report.exposure.back(), n - 1);
    EXPECT_THAT(report.duplicated, ::testing::ElementsAre());
    EXPECT_THAT(report.dropped, ::testing::ElementsAre());
    const TimeFinding* unknown = Find(report, "duplicates_unknown");
    if (h.noise == 0 && !h.marker) {
      ASSERT_NE(unknown, nullptr) << "what cannot be told must be said";
      EXPECT_EQ(report.verdict, Severity::kNote);
      EXPECT_THAT(report.headline, ::testing::HasSubstr("Undecided"));
    } else {
      EXPECT_EQ(report.verdict, Severity::kFine);
      EXPECT_THAT(report.headline, ::testing::HasSubstr("Good"));
      EXPECT_TRUE(unknown == nullptr || unknown->severity == Severity::kFine)
          << BriefReport(report);
    }
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

}  // namespace impactlab::test
