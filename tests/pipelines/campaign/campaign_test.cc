#include "pipelines/campaign/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/visit.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/tables.h"
#include "tests/impact/identify_twin.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A finished run of a square with these coefficients, as `run` leaves one.
void FinishedRun(const std::filesystem::path& folder, const twin::Options& options,
                 std::uint64_t seed) {
  std::mt19937_64 random(seed);
  WriteFile(folder / "run.yaml",
            "schema: impactlab.experiment/1\nrecordings: {kind: planar_poses, files: drop_*.csv}\n"
            "body: {shape: box, side_m: 0.06, mass_kg: 1}\nidentify: {likelihood: gaussian}\n");
  WriteEvents(folder, twin::Experiment(twin::Square(), options, random));
}

std::filesystem::path File(const test::TemporaryFolder& folder, const std::string& text) {
  WriteFile(folder / "campaign.yaml", text);
  return folder / "campaign.yaml";
}

twin::Options Coefficients(double mu, double e) {
  return {.n = 25, .mu = mu, .e = e, .sd_t = 0.02, .sd_n = 0.02, .sd_c = 0.02};
}

TEST(Campaign, TellsSpecimensApartAndKeepsTheOneThatFailedAsARow) {
  const test::TemporaryFolder folder;
  FinishedRun(folder / "a", Coefficients(0.15, 0.5), 1);
  FinishedRun(folder / "b", Coefficients(0.15, 0.5), 2);
  FinishedRun(folder / "c", Coefficients(0.35, 0.6), 3);
  const Campaign campaign =
      LoadCampaign(File(folder,
                        "schema: impactlab.campaign/1\nname: plates\nmembers:\n  - {name: steel, "
                        "run: a}\n  - {name: brass, "
                        "run: b}\n  - {name: rubber, run: c}\n  - {name: lost, run: "
                        "d}\ncoefficients: {refits: 20}\n"),
                   folder / "out");
  const CampaignResult result = AnalyseCampaign(campaign, 1, {});
  ASSERT_EQ(result.members.size(), 4U);
  EXPECT_EQ(result.members[0].accepted, 25);
  EXPECT_THAT(result.members[3].fault, HasSubstr("run.yaml"));
  ASSERT_NE(result.study.chosen(), nullptr);
  EXPECT_NE(result.study.chosen()->fit.model.friction, Pooling::kComplete);
  int differ = 0;
  for (const MemberDifference& d : result.differences) {
    const bool rubber = d.a == "rubber" || d.b == "rubber";
    EXPECT_EQ(d.verdict, rubber ? "differ" : "cannot be told apart")
        << d.parameter << " " << d.a << " " << d.b;
    EXPECT_GE(d.p_family, d.p);
    differ += d.verdict == "differ";
    if (d.parameter == "mu_k" && rubber) {
      EXPECT_NEAR(std::abs(d.difference), 0.2, 5 * d.sd);
    }
  }
  EXPECT_EQ(differ, 4);
  EXPECT_EQ(result.differences.size(), 6U);

  WriteCampaign(folder / "out", campaign, result, "");
  CsvOptions texts;
  texts.text_columns = {"member", "run",   "fault",     "recording", "reason", "report", "law",
                        "model",  "group", "parameter", "a",         "b",      "verdict"};
  texts.empty_is_nan = true;
  const Table impacts = ReadCsv(folder / "out" / "campaign.csv", texts);
  EXPECT_EQ(impacts.n_rows(), 75U);
  EXPECT_EQ(impacts.TextColumn("report").front(), "../a/report.html");
  const Table coefficients = ReadCsv(folder / "out" / "model_coefficients.csv", texts);
  EXPECT_THAT(coefficients.TextColumn("group"), ::testing::Contains("rubber"));
  EXPECT_EQ(ReadCsv(folder / "out" / "members.csv", texts).n_rows(), 4U);
  const std::string page = ReadFile(folder / "out" / "campaign.html");
  EXPECT_THAT(page, HasSubstr("../c/report.html"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("http://")));
  EXPECT_THAT(BriefReport(campaign, result), HasSubstr("4 of 6"));
}

TEST(Campaign, FilesThatCannotBeAreRefusedByLineAndKey) {
  const test::TemporaryFolder folder;
  const auto message = [&](const std::string& text) -> std::string {
    try {
      LoadCampaign(File(folder, "schema: impactlab.campaign/1\n" + text), folder / "out");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("members: [{name: a/b, run: a}]\n"), HasSubstr("a/b"));
  EXPECT_THAT(message("members: [{name: a, run: a}, {name: a, run: b}]\n"),
              HasSubstr("every name once"));
  EXPECT_THAT(message("members: [{name: a, run: a}, {name: A, run: b}]\n"),
              HasSubstr("every name once"));
  EXPECT_THAT(message("members: [{name: a, run: a}, {name: b, run: ./a}]\n"),
              HasSubstr("every run once"));
  EXPECT_THAT(message("members: [{name: a}]\n"), HasSubstr("neither experiment nor run"));
  EXPECT_THAT(message("members: [{name: a, run: a, experiment: b}]\n"), HasSubstr("one of them"));
  EXPECT_THAT(message("members: [{name: a, run: a}]\ncoefficients: {models: [speedy]}\n"),
              HasSubstr("speedy"));
  EXPECT_THAT(
      message("members: [{name: a, run: a}]\ncoefficients: {groups: [{name: x, recordings: y}]}\n"),
      HasSubstr("the members are the groups"));
  EXPECT_THAT(message("members: [{name: a, run: a}]\nlaw: brach\n"), HasSubstr("brach"));
  EXPECT_THAT(message("members: [{name: a, run: a}]\nfold: 5\n"), HasSubstr("folds"));
  const Campaign nobody = LoadCampaign(
      File(folder, "schema: impactlab.campaign/1\nmembers: [{name: a, run: nowhere}]\n"),
      folder / "out");
  EXPECT_THROW(AnalyseCampaign(nobody, 1, {}), DataError);
}

TEST(Coefficients, RecordingsAreGroupedByTheirNames) {
  std::mt19937_64 random(4);
  std::vector<ImpactEvent> events =
      twin::Experiment(twin::Square(), Coefficients(0.2, 0.5), random);
  events[3].accepted = false;
  CoefficientOptions options;
  EXPECT_EQ(GroupEvents(events, twin::Square(), options).size(), 1U);
  options.groups = {{"first", "drop_?"}, {"none", "nothing*"}, {"tens", "drop_1?"}};
  const std::vector<EventGroup> groups = GroupEvents(events, twin::Square(), options);
  std::vector<std::string> names;
  names.reserve(groups.size());
  for (const EventGroup& group : groups) names.push_back(group.name);
  EXPECT_THAT(names, ElementsAre("first", "tens", "rest"));
  EXPECT_EQ(groups[0].events.size(), 9U);
  EXPECT_EQ(groups[1].events.size(), 10U);
  EXPECT_EQ(groups[2].events.size(), 5U);
  EXPECT_EQ(UsualModels(1).size(), 3U);
  EXPECT_GT(UsualModels(2).size(), 3U);
}

TEST(Coefficients, OptionsReadBackAndTablesHoldWhatWasFitted) {
  const auto parse = [](const std::string& text) {
    return pipelines::ReadKeys<CoefficientOptions>(
        ParseYaml(text, "test").MapOrEmpty("coefficients"));
  };
  const auto yaml = [](const CoefficientOptions& o) {
    return "coefficients:\n" + pipelines::WriteKeys(o, 1);
  };
  CoefficientOptions options;
  options.models = {ParseModel("constant"), ParseModel("speed_groups")};
  options.groups = {{"a", "drop_?"}, {"b", "drop_1?"}};
  options.refits = 30;
  const CoefficientOptions again = parse(yaml(options));
  EXPECT_EQ(yaml(again), yaml(options));
  std::mt19937_64 random(5);
  const std::vector<ImpactEvent> events =
      twin::Experiment(twin::Square(), Coefficients(0.2, 0.5), random);
  const std::vector<EventGroup> groups = GroupEvents(events, twin::Square(), again);
  const CoefficientStudy study =
      StudyCoefficients(groups, RestitutionLaw::kEnergetic, again, 4, {}, 2);
  ASSERT_NE(study.chosen(), nullptr);
  EXPECT_FALSE(study.intervals.rows.empty());
  EXPECT_FALSE(study.intervals.notes.empty());
  const CoefficientStudy alone =
      StudyCoefficients(groups, RestitutionLaw::kEnergetic, again, 4, {}, 1);
  // the same on any number of threads
  for (std::size_t i = 0; i < study.intervals.rows.size(); ++i)
    EXPECT_EQ(study.intervals.rows[i].upper95, alone.intervals.rows[i].upper95);
  const test::TemporaryFolder folder;
  WriteCoefficients(folder.path(), study);
  CsvOptions texts;
  texts.text_columns = {"law",    "model", "group",   "parameter",
                        "method", "note",  "verdict", "reason"};
  texts.empty_is_nan = true;
  EXPECT_EQ(ReadCsv(folder / "models.csv", texts).n_rows(), 2U);
  EXPECT_EQ(ReadCsv(folder / "intervals.csv", texts).n_rows(), study.intervals.rows.size());
}

// A page holds one answer: friction that the fit beside does not determine is none of a model's
// either, and a model with e_t is chosen where the fit has it.
TEST(Coefficients, ModelsFollowTheFitBesideThem) {
  std::mt19937_64 random(6);
  const std::vector<ImpactEvent> events =
      twin::Experiment(twin::Square(), Coefficients(0.2, 0.5), random);
  const std::vector<EventGroup> groups{{"all", twin::Square(), events}};
  const CoefficientOptions options{.models = {}, .groups = {}, .refits = 10};
  FrictionVerdict verdict{"all", {}, false};
  verdict.mu_k.name = "mu_k";
  verdict.mu_k.lower95 = 0.07;
  verdict.mu_k.reason = "for a test";
  const auto study = [&](TangentialFit tangential) {
    IdentifyOptions identify;
    identify.tangential = tangential;
    return StudyCoefficients(groups, RestitutionLaw::kEnergetic, options, 4, identify, 1,
                             std::vector{verdict});
  };
  const CoefficientStudy without = study(TangentialFit::kNever);
  ASSERT_EQ(without.models.size(), 3u);
  for (const ModelScore& score : without.models) {
    EXPECT_FALSE(score.fit.parameters[0].identifiable);
    EXPECT_EQ(score.fit.parameters[0].lower95, 0.07);
    EXPECT_EQ(score.fit.parameters[0].reason, "for a test");
    EXPECT_EQ(score.fit.groups[0].mu_k.reason, "for a test");
    EXPECT_TRUE(score.fit.parameters[1].identifiable);
  }
  for (const MethodInterval& row : without.intervals.rows) EXPECT_NE(row.parameter, "mu_k");
  EXPECT_FALSE(without.intervals.rows.empty());
  verdict.e_t = true;
  const CoefficientStudy with = study(TangentialFit::kAlways);
  ASSERT_EQ(with.models.size(), 6u);
  ASSERT_NE(with.chosen(), nullptr);
  EXPECT_TRUE(with.chosen()->fit.model.fit_e_t);
  for (const ModelScore& score : with.models)
    EXPECT_EQ(score.fit.parameters[0].reason == "for a test", score.fit.model.fit_e_t);
}

}  // namespace
}  // namespace impactlab
