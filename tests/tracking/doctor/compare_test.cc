// Clips of one camera against each other, and what wrong times cost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/process.h"
#include "tests/tracking/doctor_scene.h"
#include "tracking/doctor/detail/checks.h"
#include "tracking/doctor/doctor.h"

namespace impactlab {
namespace {

using test::ClipOptions;
using test::DoctorScene;
using test::Range;
using test::WriteScene;
using ::testing::HasSubstr;

// What the comments of CostOfTimes and CostOfRate claim.
TEST(DoctorCosts, FollowTheirFormulas) {
  std::vector<double> even, gap, faster;
  for (int k = 0; k < 400; ++k) {
    even.push_back(k * 1e-3);
    gap.push_back(k * 1e-3 + (k >= 200 ? 1e-3 : 0));
    faster.push_back(k < 200 ? k * 1e-3 : 0.2 + (k - 200) * 1.1e-3);
  }
  EXPECT_EQ(tracking::CostOfTimes(even, even, 0.05), 0);
  EXPECT_NEAR(tracking::CostOfTimes(gap, even, 0.05), 1.5 / 50, 0.002);
  EXPECT_NEAR(tracking::CostOfTimes(even, gap, 0.05), 1.5 / 50, 0.002);
  EXPECT_NEAR(tracking::CostOfTimes(faster, even, 0.05), 0.1, 0.001);
  // The ratio of two lines through two arcs with g imposed, done by hand for a time that is 1.2
  // times too long.
  const double g = 9.81, arc = 0.05, r = 1.2, v = 1;
  const auto seen = [&](double speed) { return (speed - g * arc / 2) / r + g * r * arc / 2; };
  EXPECT_NEAR(tracking::CostOfRate(r, arc), seen(0) / seen(v), 1e-12);
  EXPECT_EQ(tracking::CostOfRate(1, arc), 0);
  EXPECT_NEAR(
      tracking::CostOfRate(1 / r, arc),
      std::abs((0 - g * arc / 2) * r + g / r * arc / 2) / ((v - g * arc / 2) * r + g / r * arc / 2),
      1e-12);
}

class CompareTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  std::vector<TimeFinding> Against(const DoctorScene& scene, ClipOptions clip = {}) const {
    DoctorScene reference = base_;
    reference.marker = false;
    FrameSource a, b;
    a.video = WriteScene(Path("calibration.mov"), reference, Range(100, 112));
    b.video = WriteScene(Path("drop.mov"), scene, Range(0, 24), std::move(clip));
    return CompareClips(a, b);
  }
  static const TimeFinding* Find(const std::vector<TimeFinding>& list, const std::string& code) {
    for (const TimeFinding& f : list)
      if (f.code == code) return &f;
    return nullptr;
  }
  static DoctorScene Base() {
    DoctorScene scene;
    scene.width = 320, scene.height = 240;
    return scene;
  }
  DoctorScene base_ = Base();
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(CompareTest, TheSameViewAgrees) { EXPECT_TRUE(Against(base_).empty()); }

TEST_F(CompareTest, ShiftAndZoomAreMeasured) {
  DoctorScene scene = base_;
  scene.shift_x = 2.5;
  auto found = Against(scene);
  const TimeFinding* f = Find(found, "stabilised");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, HasSubstr("(+2.5,"));
  EXPECT_EQ(Find(found, "zoomed"), nullptr);
  EXPECT_NEAR(f->cost_e, 2 * 2.5 / 320, 1e-3);
  scene = base_;
  scene.zoom = 1.03;
  found = Against(scene);
  f = Find(found, "zoomed");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->text, ::testing::AnyOf(HasSubstr("+3.0"), HasSubstr("+2.9")));
}

TEST_F(CompareTest, AZoomIsAsGraveAsTheShiftThatItMakesAtTheBorder) {
  DoctorScene scene = base_;
  scene.zoom = 1.05;  // 8 px at the border
  const auto zoomed = Against(scene);
  ASSERT_NE(Find(zoomed, "zoomed"), nullptr);
  EXPECT_EQ(Find(zoomed, "zoomed")->severity, Severity::kFault);
  scene.zoom = 1.01;  // 1.6 px
  const auto little = Against(scene);
  ASSERT_NE(Find(little, "zoomed"), nullptr);
  EXPECT_EQ(Find(little, "zoomed")->severity, Severity::kWarning);
}

TEST_F(CompareTest, OtherSizesTurnsExposuresAndScenes) {
  DoctorScene scene = base_;
  scene.width = 160, scene.height = 120;
  EXPECT_NE(Find(Against(scene), "other_size"), nullptr);
  ClipOptions turned;
  turned.rotation_deg = 180;
  EXPECT_NE(Find(Against(base_, turned), "rotation"), nullptr);
  scene = base_;
  scene.gain = [](int) { return 0.7; };
  const auto darker = Against(scene);
  EXPECT_NE(Find(darker, "exposure_changes"), nullptr);
  EXPECT_EQ(Find(darker, "stabilised"), nullptr);
  scene = base_;
  scene.texture = false;
  EXPECT_NE(Find(Against(scene), "not_comparable"), nullptr);
  scene = base_;
  scene.zoom = 2.3;  // another picture altogether
  const auto elsewhere = Against(scene);
  EXPECT_NE(Find(elsewhere, "not_comparable"), nullptr)
      << (elsewhere.empty() ? "agrees" : elsewhere[0].text);
}

}  // namespace
}  // namespace impactlab
