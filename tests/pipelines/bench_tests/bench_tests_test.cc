#include "pipelines/bench_tests/bench_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tests/pipelines/bench_tests/bench_file.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::TemporaryFolder;
using test::WriteText;
using ::testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data";

std::map<std::string, CoefficientTest> ByName(const CoefficientTests& all) {
  std::map<std::string, CoefficientTest> out;
  for (const CoefficientTest& t : all.tests) out[t.name] = t;
  return out;
}

// Section 4.4 of Sun 2017: four coefficients follow from the printed readings, one does not,
// one has none.
TEST(Coefficients, DocumentFromItsReadings) {
  const auto tests = ByName(LoadCoefficients(kData / "published/004_coefficients.yaml"));
  ASSERT_EQ(tests.size(), 6U);
  const std::map<std::string, double> follows = {{"rod, static friction", 0.251},
                                                 {"bar, static friction", 0.262},
                                                 {"rod, restitution", 0.292},
                                                 {"bar, restitution", 0.458}};
  for (const auto& [name, printed] : follows) {
    const CoefficientTest& t = tests.at(name);
    EXPECT_EQ(t.verdict, PrintedVerdict::kFollows) << name << ": " << t.sentence;
    EXPECT_NEAR(t.results[0].result.value, printed, 0.0005) << name;
    EXPECT_LT(t.results[0].result.interval95.lower, printed);
    EXPECT_GT(t.results[0].result.interval95.upper, printed);
  }
  const CoefficientTest& slide = tests.at("bar, kinetic friction");
  EXPECT_EQ(slide.verdict, PrintedVerdict::kErratum);
  EXPECT_NEAR(slide.results[0].result.value, 0.293, 0.0005);
  EXPECT_THAT(slide.sentence,
              HasSubstr("mu_k = 0.243 (equation 4.39) is an erratum: its readings give 0.293"));
  EXPECT_LT(slide.results[0].rounded.value - 0.243, 0.06);
  EXPECT_GT(slide.results[0].rounded.value - slide.results[0].rounded.bound, 0.2435);
  // An error of 2.4 ms, the standard uncertainty of a frame of 120 Hz, moves it by 0.03.
  for (std::size_t k = 0; k < slide.results[0].inputs.size(); ++k) {
    if (slide.results[0].inputs[k].name == "time 2") {
      EXPECT_NEAR(slide.results[0].inputs[k].u, 2.4e-3, 0.02e-3);
      EXPECT_NEAR(slide.results[0].result.budget[k].contribution, 0.03, 0.01);
    }
  }
  EXPECT_GT(slide.results[0].result.interval95.upper - slide.results[0].result.interval95.lower,
            0.05);
  EXPECT_EQ(tests.at("rod, kinetic friction").verdict, PrintedVerdict::kNotCheckable);
  EXPECT_THAT(tests.at("rod, kinetic friction").sentence, HasSubstr("not checkable"));
  // The two ways to the angle of the bar agree.
  ASSERT_EQ(tests.at("bar, static friction").results.size(), 2U);
  EXPECT_NEAR(tests.at("bar, static friction").results[1].result.value, 0.2611, 0.0005);
}

TEST(Coefficients, BudgetsAddUpAndAgreeWithMonteCarlo) {
  for (const auto& file :
       {kData / "published/004_coefficients.yaml", kData / "experiments/bench-tests.yaml"}) {
    for (const CoefficientTest& t : LoadCoefficients(file).tests) {
      for (const CoefficientResult& r : t.results) {
        double share = 0, square = 0;
        ASSERT_EQ(r.inputs.size(), r.result.budget.size());
        for (const BudgetLine& line : r.result.budget) {
          share += line.share;
          square += line.contribution * line.contribution;
        }
        EXPECT_NEAR(share, 1, 1e-9) << t.name;
        EXPECT_NEAR(std::sqrt(square), r.result.u, 1e-12);
        EXPECT_NEAR(r.result.mean, r.result.value, 0.2 * r.result.u) << t.name;
        if (r.result.dof > 10) {
          EXPECT_NEAR(r.result.sd, r.result.u, 0.06 * r.result.u) << t.name;
        }
      }
    }
  }
}

using CoefficientFile = test::BenchFile;

// A slide as a track in space, in a plane of pixels, and as a distance: one and the same friction.
TEST_F(CoefficientFile, SlideFromTracks) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> noise(0, 1e-5);
  const double angle = 25 * M_PI / 180, mu = 0.3,
               a = 9.80665 * (std::sin(angle) - mu * std::cos(angle));
  std::string space = "t_s,x_m,z_m\n",
              pixels = "recording,camera,marker,frame,t_s,x_px,y_px,flags\n",
              distance = "t_ms,s_mm\n";
  for (int k = 0; k < 40; ++k) {
    const double t = k / 120.0, s = 0.05 * t + 0.5 * a * t * t + noise(rng);
    space += fmt::format("{},{},{}\n", t, 0.2 + s * std::cos(angle), 0.5 - s * std::sin(angle));
    distance += fmt::format("{},{}\n", 1000 * t, 1000 * s);
    pixels += fmt::format("one,c,a,{},{},{},{},\n", k, t, 100 + 2000 * s * std::cos(angle),
                          80 + 2000 * s * std::sin(angle));
    pixels += fmt::format("one,c,b,{},{},5,5,\n", k, t);
    if (k % 7 == 0) pixels += fmt::format("one,c,a,{},{},0,900,predicted\n", k, t + 0.001);
  }
  WriteText(folder_ / "space.csv", space);
  WriteText(folder_ / "distance.csv", distance);
  WriteText(folder_ / "tracks.csv", pixels);
  const std::string kind = "kind: kinetic_friction, angle_deg: 25, angle_half_deg: 0.05, ";
  for (const char* slide :
       {"slide: space.csv", "slide: distance.csv",
        "slide: tracks.csv, marker: a, metres_per_px: 0.0005, sd_metres_per_px: 1e-7"}) {
    const CoefficientResult r = Result(kind + slide);
    EXPECT_NEAR(r.result.value, mu, 4 * r.result.u) << slide;
    EXPECT_LT(r.result.u, 0.002) << slide;
    EXPECT_TRUE(r.notes.empty()) << r.notes[0];
  }
  EXPECT_THAT(Message(kind + "slide: tracks.csv, metres_per_px: 0.0005"),
              HasSubstr("rising times"));
}

TEST_F(CoefficientFile, RestitutionOfBouncesHeightsAndEvents) {
  std::string bounces = "t_s\n", times;
  double t = 0.3, v = 2;
  for (int k = 0; k < 6; ++k) {
    bounces += fmt::format("{}\n", t);
    times += fmt::format("{}{:.4f}", k > 0 ? ", " : "", t);
    v *= 0.8;
    t += 2 * v / 9.80665;
  }
  WriteText(folder_ / "bounces.csv", bounces);
  const CoefficientResult file =
      Result("kind: restitution, bounces: bounces.csv, time_half_s: 0.0005");
  const CoefficientResult list = Result("kind: restitution, bounce_times_s: [" + times + "]");
  EXPECT_NEAR(file.result.value, 0.8, 1e-6);
  EXPECT_NEAR(list.result.value, 0.8, 3 * list.result.u);
  EXPECT_LT(list.result.u, file.result.u);
  ASSERT_EQ(file.notes.size(), 1U);
  EXPECT_THAT(file.notes[0], HasSubstr("0.800, 0.800, 0.800, 0.800"));
  EXPECT_NEAR(Result("kind: restitution, drop_height_m: 1.00, rebound_height_m: [0.49, 0.49, 0.49]")
                  .result.value,
              0.7, 1e-9);
  WriteText(folder_ / "events.csv",
            "recording,impact,accepted,v_minus_F_n_m_per_s,v_plus_F_n_m_per_s\na,0,1,-2,1.0\nb,0,1,"
            "-2,1.2\nc,0,0,-2,0.1\nd,0,1,-1,0.55\n");
  const CoefficientResult events = Result("kind: restitution, events: events.csv");
  EXPECT_NEAR(events.result.value, 0.55, 1e-12);
  EXPECT_NEAR(events.result.u, 0.05 / std::sqrt(3.0), 1e-9);
}

TEST_F(CoefficientFile, DriftAndDisagreementAreSpokenOf) {
  const CoefficientResult r = Result(
      "kind: restitution, bounce_times_s: [0, 1.0000, 1.7000, 2.2110, 2.5994, 2.9062], "
      "bounce_times_sd_s: 0.0002");
  ASSERT_EQ(r.notes.size(), 2U);
  EXPECT_THAT(r.notes[1], HasSubstr("the ratios rise"));
  Write("kind: static_friction, angle_deg: 20.0, height_mm: 100, length_mm: 500");
  const CoefficientTest t = LoadCoefficients(folder_ / "t.yaml").tests[0];
  EXPECT_THAT(t.results[1].notes[0], HasSubstr("the methods disagree"));
}

TEST_F(CoefficientFile, BadFilesAreNamed) {
  EXPECT_THAT(Message("kind: static_friction"), HasSubstr("neither readings nor a printed value"));
  EXPECT_THAT(Message("kind: static_friction, angle_deg: 95"), HasSubstr("angle_deg"));
  EXPECT_THAT(Message("kind: static_friction, angle_deg: 20, angle_rad: 0.3"),
              HasSubstr("as well"));
  EXPECT_THAT(Message("kind: static_friction, angle: 20"), HasSubstr("angle"));
  EXPECT_THAT(Message("kind: static_friction, height_mm: 20"), HasSubstr("length"));
  EXPECT_THAT(Message("kind: static_friction, height_mm: 20, length_mm: 10"),
              HasSubstr("not below the length"));
  EXPECT_THAT(Message("kind: kinetic_friction, times_s: [0, 1, 2], places_m: [0, 1, 2]"),
              HasSubstr("no angle"));
  EXPECT_THAT(Message("kind: kinetic_friction, angle_deg: 20, times_s: [0, 1], places_m: [0, 1]"),
              HasSubstr("three or more"));
  EXPECT_THAT(
      Message("kind: kinetic_friction, angle_deg: 20, times_s: [0, 2, 1], places_m: [0, 1, 2]"),
      HasSubstr("rising"));
  EXPECT_THAT(Message("kind: restitution, bounce_times_s: [0, 1, 1.5, 2.6]"),
              HasSubstr("at least one impact is missing between 1.5 and 2.6"));
  EXPECT_THAT(Message("kind: restitution, bounces: absent.csv"), HasSubstr("absent.csv"));
  EXPECT_THAT(Message("kind: restitution, drop_height_m: 1, rebound_height_m: x"),
              HasSubstr("rebound_height_m"));
  EXPECT_THAT(Message("kind: restitution, drop_height_m: 1, rebound_height_m: 0.5, colour: red"),
              HasSubstr("colour"));
}

TEST(Coefficients, TablesAndPage) {
  const TemporaryFolder folder;
  const CoefficientTests all = LoadCoefficients(kData / "published/004_coefficients.yaml");
  WriteCoefficients(folder.path(), all);
  CsvOptions options;
  options.is_text = [](std::string_view name) {
    return name != "value" && name != "sd_value" && name != "lower95" && name != "upper95";
  };
  options.empty_is_nan = true;
  const Table table = ReadCsv(folder / "coefficients.csv", options);
  ASSERT_EQ(table.n_rows(), 8U);  // two ways for static friction, one row for what is not checkable
  EXPECT_EQ(table.Column("value")[0], all.tests[0].results[0].result.value);
  EXPECT_EQ(table.TextColumn("verdict")[4], "not checkable");
  EXPECT_TRUE(std::filesystem::exists(folder / "budgets.tex"));
  const std::string page = test::ReadText(folder / "index.html");
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_THAT(page, HasSubstr("is an erratum"));
  EXPECT_THAT(BriefReport(all), HasSubstr("not checkable"));
}

}  // namespace
}  // namespace impactlab
