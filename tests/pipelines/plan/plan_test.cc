#include "pipelines/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/plan/detail/evaluate_design.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

const std::string kSource = IMPACTLAB_SOURCE_DIR;

const std::string kSquare = R"(schema: impactlab.plan/1
name: square
motion: planar
body: {shape: box, side_m: 0.06, mass_kg: 0.2}
model:
  mu_k: {value: 0.1}
  e_star: {value: 0.5}
settings:
  height_m: [0.15]
  lean_rad: [-0.3, 0.3]
  speed_m_per_s: [0, 0.8]
drops: 12
wanted: {mu_k: 0.02, e_star: 0.03}
poses: {rate_Hz: 250, noise_position_m: 4e-5, noise_angle_rad: 7e-4}
tell_from: none
effort: 0.05
seed: 3
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

ExperimentDesign PlanOf(const std::string& text) {
  const test::TemporaryFolder folder;
  WriteFile(folder / "square.yaml", text);
  return LoadPlan(folder / "square.yaml");
}

TEST(Plan, ReadsWhatItIsGiven) {
  const ExperimentDesign plan = LoadPlan(kSource + "/data/plans/rod_on_incline.yaml");
  EXPECT_EQ(plan.settings.size(), 30u);
  EXPECT_TRUE(plan.filmed());
  EXPECT_EQ(plan.mu.kind, CoefficientPrior::Kind::kUniform);
  EXPECT_EQ(plan.e.kind, CoefficientPrior::Kind::kNormal);
  EXPECT_EQ(plan.markers.size(), 3u);
  ASSERT_EQ(plan.rig.cameras.size(), 2u);
  // Both look at the place of the impact from 0.9 m, 0.34 m apart.
  for (const RigCamera& camera : plan.rig.cameras) {
    const auto q = Project(camera.camera, camera.X_WC.inverse() * plan.centre_W);
    ASSERT_TRUE(q);
    EXPECT_NEAR(q->x(), 639.5, 1e-6);
    EXPECT_NEAR(q->y(), 359.5, 1e-6);
  }
  EXPECT_NEAR(
      (plan.rig.cameras[0].X_WC.translation() - plan.rig.cameras[1].X_WC.translation()).norm(),
      0.34, 1e-12);
  EXPECT_EQ(plan.rivals.size(), 2u);
  EXPECT_TRUE(LoadPlan(kSource + "/data/plans/square_drops.yaml").body.planar);
  EXPECT_TRUE(PlanOf(kSquare).rivals.empty());
}

TEST(Plan, SaysWhatIsWrongWithAFile) {
  struct Case {
    std::string from, to, says;
  };
  for (const Case& c :
       {Case{"drops: 12", "drops: 2", "drops: found '2'"},
        Case{"height_m: [0.15]", "height_m: [0]", "settings.height_m"},
        Case{"{value: 0.1}", "{from: 0.2, to: 0.1}",
             "model.mu_k.to: found 0.1, allowed a number above from"},
        Case{"{value: 0.1}", "{from: 0.2, mean: 0.1}", "2 of value, from and mean"},
        Case{"{value: 0.5}", "{value: 1.5}", "model.e_star.value: found '1.5'"},
        Case{"effort: 0.05", "efort: 0.05", "nearest is effort"},
        Case{"poses: {rate_Hz: 250,", "cameras: {rate_Hz: 250}\nposes: {rate_Hz: 250,",
             "it beside poses"},
        Case{"tell_from: none", "tell_from: energetic", "tell_from: found 'energetic'"},
        Case{"impactlab.plan/1", "impactlab.scene/1", "allowed impactlab.plan/1"}}) {
    try {
      PlanOf(Replaced(kSquare, c.from, c.to));
      ADD_FAILURE() << c.to;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.says));
      EXPECT_THAT(error.what(), HasSubstr("square.yaml:"));
    }
  }
}

TEST(Plan, SettingsStrikeAsTheyAreSet) {
  ExperimentDesign plan = LoadPlan(kSource + "/data/plans/rod_on_incline.yaml");
  plan.release = {0, 0, 0, 0, 0, 0};
  const PlanSetting setting{0.35, 0.08, 0.7, 0.1, 0};
  const SettingFigures f = FilmSetting(plan, setting, 2, 5);
  ASSERT_TRUE(f.refused.empty()) << f.refused;
  const ImpactEvent& event = f.drops[0].event;
  const Eigen::Vector3d n(std::sin(0.35), 0, std::cos(0.35)),
      downhill(std::cos(0.35), 0, -std::sin(0.35));
  EXPECT_NEAR((f.drops[0].floor.normal - n).norm(), 0, 1e-12);
  // Vertex 0 of a rod is its tip at +z: the axis leads down, the centre leans downhill.
  const Eigen::Vector3d line = -event.X_WB.linear().col(2);
  EXPECT_NEAR(std::atan2(line.dot(downhill), line.dot(n)), 0.7, 1e-9);
  EXPECT_LT((event.p_WP - plan.centre_W).norm(), 1e-9);
  // 0.08 m of fall of the lowest point, straight down from the release.
  const double t = std::sqrt(2 * 0.08 / 9.80665);
  EXPECT_NEAR(-event.v_minus.z(), 9.80665 * t + 0.1 * std::sin(0.35), 0.02);
  EXPECT_LT(event.v_minus.dot(n), 0);
  EXPECT_GT(event.v_minus.dot(downhill), 0);
  // Rods tell nothing of the spin about their axis, which the prior stands for.
  EXPECT_EQ(f.drops[0].common.cols(), 9)
      << "no errors of the rig, three coordinates of each marker";
}

TEST(Plan, AccuracyFollowsThePixels) {
  ExperimentDesign plan = LoadPlan(kSource + "/data/plans/rod_on_incline.yaml");
  plan.layout_sd = 0;
  const PlanSetting setting{0.2, 0.1, 0.7, 0, 0};
  const SettingFigures fine = FilmSetting(plan, setting, 3, 7);
  plan.pixel_sd *= 3;
  const SettingFigures coarse = FilmSetting(plan, setting, 3, 7);
  // After the impact the spin of a rod about its axis, unseen and with a prior of its own, turns
  // the others a little.
  for (const auto& [a, b] :
       {std::pair(fine.sd_v_minus, coarse.sd_v_minus),
        std::pair(fine.sd_spin_minus, coarse.sd_spin_minus), std::pair(fine.sd_t, coarse.sd_t),
        std::pair(fine.sd_depth, coarse.sd_depth)}) {
    EXPECT_GT(a, 0);
    EXPECT_NEAR(b / a, 3, 0.15);
  }
  plan.pixel_sd /= 3;
  // Cameras half as far apart see depth half as well.
  for (RigCamera& camera : plan.rig.cameras) {
    Eigen::Vector3d p = camera.X_WC.translation();
    p.x() *= 0.5;
    const Eigen::Vector3d forward = -p.normalized(),
                          right = forward.cross(Eigen::Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
  }
  const SettingFigures narrow = FilmSetting(plan, setting, 3, 7);
  EXPECT_GT(narrow.sd_depth / fine.sd_depth, 1.6);
  EXPECT_LT(narrow.sd_depth / fine.sd_depth, 2.4);
  // Closed forms of a picture: diameter f d / Z, way v f / Z in an exposure.
  EXPECT_NEAR(fine.marker_size, 2 * 0.0065 * 1060 / 0.95, 1.5);
  EXPECT_GT(fine.blur, 1.4 * 1060 / 0.95 * 0.001 * 0.8);
  EXPECT_LT(fine.blur, 4 * 1060 / 0.85 * 0.001);
}

TEST(Plan, NamesWhatACameraLacks) {
  ExperimentDesign plan = LoadPlan(kSource + "/data/plans/rod_on_incline.yaml");
  plan.settings = {{0.2, 0.1, 0.7, 0, 0}};
  const auto faults = [&](const ExperimentDesign& p) {
    PlanResult result;
    result.settings = {FilmSetting(p, p.settings[0], 2, 7)};
    result.counts = {1};
    std::vector<std::string> names;
    for (const PlanCheck& check : pipelines::CheckCameras(p, result))
      if (!check.fine) names.push_back(check.name + ": " + check.advice);
    return names;
  };
  EXPECT_TRUE(faults(plan).empty());
  ExperimentDesign other = plan;
  other.exposure = 0.004;
  EXPECT_THAT(faults(other), ::testing::Contains(HasSubstr("blur: more than")));
  other = plan;
  other.rate = 60;
  EXPECT_THAT(faults(other), ::testing::Contains(HasSubstr("frames")));
  other = plan;
  for (RigCamera& camera : other.rig.cameras) camera.X_WC.translation() *= 0.2;
  EXPECT_THAT(faults(other), ::testing::Contains(HasSubstr("field of view")));
  other = plan;
  for (BodyMarker& marker : other.markers) marker.radius = 0.001;
  EXPECT_THAT(faults(other), ::testing::Contains(HasSubstr("marker size")));
  other = plan;
  other.wanted_sd_velocity = 1e-5;
  EXPECT_THAT(faults(other), ::testing::Contains(HasSubstr("velocity after")));
}

TEST(Plan, PowerAndNumbersOfDropsBelongTogether) {
  const PlanRival rival{.mean = 0.05, .sd = 0.4, .mean_other = -0.04, .sd_other = 0.3};
  for (const double power : {0.5, 0.8, 0.95}) {
    const double n = rival.Drops(power);
    EXPECT_GE(rival.Power(static_cast<int>(n)), power);
    EXPECT_LT(rival.Power(static_cast<int>(n) - 1), power);
  }
  const PlanRival twin{.mean = 0, .sd = 0.3, .mean_other = 0, .sd_other = 0.3};
  EXPECT_NEAR(twin.Power(50), 0.05, 1e-9);
  EXPECT_TRUE(std::isinf(twin.Drops(0.8)));
  // A difference within chance is none; how many drops it takes at least is known all the same.
  const PlanRival doubtful{
      .mean = 0.002, .sd = 0.3, .mean_other = 0, .sd_other = 0.3, .error = 0.001};
  EXPECT_TRUE(std::isinf(doubtful.Drops(0.8)));
  EXPECT_NEAR(doubtful.Beyond(0.8), std::pow(0.3 * (0.8416 + 1.6449) / 0.005, 2), 5);
}

TEST(Plan, PlansASquareFromEndToEnd) {
  const ExperimentDesign plan = PlanOf(kSquare);
  const PlanResult result = MakePlan(plan, 1);
  EXPECT_EQ(std::accumulate(result.counts.begin(), result.counts.end(), 0), 12);
  EXPECT_NEAR(std::accumulate(result.cases.begin(), result.cases.end(), 0.0), 1, 1e-9);
  ASSERT_GE(result.curve.size(), 3u);
  for (std::size_t i = 1; i < result.curve.size(); ++i)
    EXPECT_GT(result.curve[i].drops, result.curve[i - 1].drops);
  const PlanPoint& last = result.curve.back();
  EXPECT_EQ(last.drops, 12);
  EXPECT_TRUE(last.simulated);
  EXPECT_GT(last.mu.half_width, 0.005);
  EXPECT_LT(last.mu.half_width, 0.05);
  EXPECT_GT(result.curve.front().e.half_width, last.e.half_width);
  // The same file gives the same plan.
  EXPECT_EQ(MakePlan(plan, 2).curve.back().mu.half_width, last.mu.half_width);

  const test::TemporaryFolder folder;
  WritePlanTable(folder / "plan.csv", plan, result);
  WritePlanPage(folder / "plan.html", plan, result, {});
  const std::string table = ReadFile(folder / "plan.csv", 1 << 20),
                    page = ReadFile(folder / "plan.html", 1 << 20);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
  EXPECT_THAT(page, HasSubstr("What the intervals will be"));
  const auto json = nlohmann::json::parse(PlanJson(plan, result));
  EXPECT_EQ(json["schema"], "impactlab.plan_result/1");
  EXPECT_DOUBLE_EQ(json["curve"].back()["mu_k"]["half_width"].get<double>(), last.mu.half_width);
  EXPECT_THAT(BriefReport(plan, result), HasSubstr("mu within 0.02"));
}

}  // namespace
}  // namespace impactlab
