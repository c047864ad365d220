// A scenario followed through its motion: closed forms, the files it writes, and bodies that are
// let go later.

#include "pipelines/simulate/simulate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tests/support/process.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using test::ScratchFolder;
using ::testing::HasSubstr;

Scenario BouncingBall() {
  return ParseScenario(
      "schema: impactlab.scenario/1\nname: Ball <1>\ngravity_m_per_s2: [0, 0, -9.81]\nmechanism: "
      "{kind: bouncing_ball, height_m: 1}\n"
      "every_contact: {e: 0.9}\nsimulation: {duration_s: 10, sample_step_s: 0.01}\n",
      "ball.yaml");
}

// the Bristol thesis: the times of the bounces add up to sqrt(2 h / g) (1 + e) / (1 - e).
TEST(Simulate, TheBallComesToRestWhenItsBouncesAddUp) {
  const Scenario scenario = BouncingBall();
  const SimulatedMotion motion = RunScenario(scenario);
  const double end = std::sqrt(2 / 9.81) * 19;
  EXPECT_EQ(motion.result.end, SimulationEnd::kRest);
  EXPECT_NEAR(motion.result.last_accumulation, end, 1e-9);
  EXPECT_EQ(motion.samples.front().state.t, 0);
  EXPECT_NEAR(motion.samples.back().state.t, motion.result.state.t, 1e-15);
  for (std::size_t i = 1; i < motion.samples.size(); ++i)
    EXPECT_GT(motion.samples[i].state.t, motion.samples[i - 1].state.t);
  // Free fall between samples too.
  const double t = 0.2345;
  EXPECT_NEAR(pipelines::PosesAt(scenario, motion, t)[0].translation().z(),
              1.1 - 0.5 * 9.81 * t * t, 0.125 * 9.81 * 1e-4 + 1e-12);
  EXPECT_THAT(MotionLine(scenario, motion), HasSubstr("at rest after 8.578"));
}

TEST(Simulate, FilesHoldTheMotion) {
  const ScratchFolder folder("simulate");
  const Scenario scenario = BouncingBall();
  const SimulatedMotion motion = RunScenario(scenario);
  WriteTrajectory(folder.path() / "trajectory.csv", scenario, motion);
  CsvOptions options;
  options.empty_is_nan = true;
  options.text_columns = {"mode_ball_on_floor"};
  const Table table = ReadCsv(folder.path() / "trajectory.csv", options);
  ASSERT_EQ(table.n_rows(), motion.samples.size());
  const auto &t = table.Column("t_s"), &z = table.Column("z_m"), &energy = table.Column("energy_J"),
             &gap = table.Column("gap_ball_on_floor_m");
  EXPECT_NEAR(z[20], 1.1 - 0.5 * 9.81 * t[20] * t[20], 1e-10);
  EXPECT_NEAR(energy[20], energy[0], 1e-10);
  EXPECT_NEAR(gap[20], z[20] - 0.1, 1e-15);
  EXPECT_EQ(table.TextColumn("mode_ball_on_floor").front(), "open");
  // without friction nothing sticks
  EXPECT_EQ(table.TextColumn("mode_ball_on_floor").back(), "slip");

  WriteMotionEvents(folder.path() / "events.csv", scenario, motion);
  options.text_columns = {"kind", "contact", "case"};
  const Table events = ReadCsv(folder.path() / "events.csv", options);
  EXPECT_EQ(events.TextColumn("kind")[0], "impact");
  EXPECT_EQ(events.TextColumn("contact")[0], "ball on floor");
  EXPECT_NEAR(events.Column("t_s")[0], std::sqrt(2 / 9.81), 1e-10);
  EXPECT_NEAR(events.Column("v_minus_F_n_m_per_s")[0], -std::sqrt(2 * 9.81), 1e-10);
  EXPECT_NEAR(events.Column("v_plus_F_n_m_per_s")[0], 0.9 * std::sqrt(2 * 9.81), 1e-10);
  EXPECT_NEAR(events.Column("J_F_n_N_s")[0], 1.9 * std::sqrt(2 * 9.81), 1e-10);
  EXPECT_NEAR(events.Column("energy_change_J")[0], -0.19 * 9.81, 1e-10);

  const auto summary = nlohmann::json::parse(MotionSummary(scenario, motion));
  EXPECT_EQ(summary["schema"], "impactlab.simulation/1");
  EXPECT_EQ(summary["end"], "rest");
  EXPECT_EQ(summary["impacts"], motion.result.impacts);
  EXPECT_NEAR(summary["accumulations"].back()["t_s"].get<double>(), std::sqrt(2 / 9.81) * 19, 1e-9);
  EXPECT_NEAR(summary["energy"]["start_J"].get<double>() - summary["energy"]["end_J"].get<double>(),
              9.81, 1e-9);
  EXPECT_NEAR(summary["energy"]["change_in_impacts_J"].get<double>(), -9.81, 1e-9);
  EXPECT_LT(summary["audit"]["energy_gain_J"].get<double>(), 1e-12);
  EXPECT_EQ(summary["final"]["contacts"]["ball on floor"], "slip");

  WriteMotionPage(folder.path() / "page.html", scenario, motion, {});
  const std::string page = test::ReadText(folder.path() / "page.html");
  EXPECT_THAT(page, HasSubstr("Ball &lt;1&gt;"));
  EXPECT_EQ(page.find("http://"), std::string::npos);
  const std::string mark = "id=\"motion-data\">";
  const auto from = page.find(mark) + mark.size();
  const auto film = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(film["t"].size(), film["poses"].size());
  EXPECT_EQ(film["t"].back(), std::stod(fmt::format("{:.9g}", motion.result.state.t)));
  EXPECT_EQ(film["poses"][0].size(), 1u);
  EXPECT_EQ(film["poses"][0][0].size(), 7u);
}

TEST(Simulate, VideoShowsTheBallWhereItIs) {
  const ScratchFolder folder("simulate video");
  const Scenario scenario = BouncingBall();
  const SimulatedMotion motion = RunScenario(scenario);
  const auto path = folder.path() / "ball.mkv";
  WriteMotionVideo(path, scenario, motion, 4);
  VideoReader reader(path);
  std::vector<double> heights;  // of the darkest rows, by frame
  GrayImage image;
  double t = 0;
  while (reader.Next(&image, &t)) {
    double sum = 0, weight = 0;
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width; ++x)
        if (image.At(x, y) < 100 && std::abs(x - image.width / 2) < image.width / 4)
          sum += y, ++weight;
    heights.push_back(weight > 0 ? sum / weight : NAN);
  }
  EXPECT_EQ(heights.size(),
            static_cast<std::size_t>(std::ceil(motion.result.state.t / 4 * 50)) + 1);
  EXPECT_LT(heights.front(), 150);
  EXPECT_GT(heights.back(), 350);
  EXPECT_THROW(WriteMotionVideo(path, scenario, motion, 0), ConfigError);
  EXPECT_THROW(WriteMotionVideo(path, scenario, motion, 1e-9), ConfigError);
}

// the Bristol thesis, second set with theta = 4.21: velocities with which the tip leaves the belt
// when friction is raised to mu.
TEST(Simulate, ThePendulumLeavesItsBeltAsTheDocumentSays) {
  for (const auto& [mu, v_n] : {std::pair{0.462, 0.113392}, {1.3, 0.376360}}) {
    const Scenario scenario = ParseScenario(
        fmt::format("schema: impactlab.scenario/1\ngravity_m_per_s2: [0, 0, -9.81]\n"
                    "mechanism: {{kind: belt_pendulum, lengths_m: [1, 1], masses_kg: [0.5, 0.5], "
                    "theta_rad: 4.21, phi_rad: 4.3, "
                    "belt_m_per_s: -0.98, held_with: -0.3}}\n"
                    "every_contact: {{mu_k: {}, e: 0.9}}\nsimulation: {{duration_s: 0.01}}\n",
                    mu),
        "belt.yaml");
    const SimulatedMotion motion = RunScenario(scenario);
    ASSERT_FALSE(motion.events.empty());
    const SimulationEvent& event = motion.events.front();
    EXPECT_EQ(event.kind, SimulationEventKind::kImpactWithoutCollision);
    EXPECT_NEAR(event.v_minus[0], 0.98, 1e-12);
    EXPECT_NEAR(event.v_minus[1], 0, 1e-12);
    EXPECT_NEAR(event.v_plus[0], 0, 1e-12);
    EXPECT_NEAR(event.v_plus[1], v_n, 1e-6);
    // The closed form of its critical friction (tests/impact/law/painleve_test.cc).
    const auto jams = nlohmann::json::parse(MotionSummary(scenario, motion))["painleve"];
    ASSERT_FALSE(jams.empty());
    EXPECT_EQ(jams[0]["contact"], "tip on belt");
    EXPECT_EQ(jams[0]["regime"], "inconsistent");
    EXPECT_EQ(jams[0]["mu_k"], mu);
    EXPECT_NEAR(jams[0]["mu_press"].get<double>(), 0.459474, 1e-6);
    EXPECT_NEAR(jams[0]["slip_m_per_s"].get<double>(), 0.98, 1e-12);
    EXPECT_LT(jams[0]["free_acceleration_n_m_per_s2"].get<double>(), 0);
  }
  // Friction below the critical 0.459474 lets it slide on.
  const Scenario held = ParseScenario(
      "schema: impactlab.scenario/1\ngravity_m_per_s2: [0, 0, -9.81]\n"
      "mechanism: {kind: belt_pendulum, lengths_m: [1, 1], masses_kg: [0.5, 0.5], theta_rad: 4.21, "
      "phi_rad: 4.3, belt_m_per_s: -0.98, "
      "held_with: -0.3}\n"
      "every_contact: {mu_k: 0.3, e: 0.9}\nsimulation: {duration_s: 0.1}\n",
      "belt.yaml");
  const SimulatedMotion motion = RunScenario(held);
  EXPECT_EQ(motion.result.impacts, 0);
  EXPECT_THAT(MotionSummary(held, motion), Not(HasSubstr("painleve")));
  EXPECT_EQ(motion.samples.back().mode[0], PointMode::kSlip);
  EXPECT_NEAR(motion.samples[10].lambda[1], 35.68, 0.01);
  EXPECT_LT((motion.result.state.q - held.start.q).norm(), 1e-9);
}

// A body let go later ends as one that was let go at once.
TEST(Simulate, ABodyLetGoLaterEndsAsOneLetGoAtOnce) {
  const auto run = [](const std::string& start) {
    const Scenario scenario = ParseScenario(
        "schema: impactlab.scenario/1\nplanar: true\nbodies:\n"
        "  - {name: box, shape: box, sides_m: [0.2, 0.1], mass_kg: 1, position_m: [0, 0.3], "
        "theta_rad: 0.4, v_m_per_s: [0.5, 0]" +
            start +
            "}\n"
            "planes:\n  - {name: floor, normal: [0, 1]}\nevery_contact: {mu_k: 0.3, e: "
            "0.4}\nsimulation: {duration_s: 6}\n",
        "late.yaml");
    return RunScenario(scenario).result;
  };
  const SimulationResult now = run(""), late = run(", start_s: 1.5");
  EXPECT_EQ(now.end, SimulationEnd::kRest);
  EXPECT_EQ(late.end, SimulationEnd::kRest);
  EXPECT_EQ(late.impacts, now.impacts);
  EXPECT_NEAR(late.state.t, now.state.t + 1.5, 1e-7);
  EXPECT_LT((late.state.q - now.state.q).norm(), 1e-7);
}

}  // namespace
}  // namespace impactlab
