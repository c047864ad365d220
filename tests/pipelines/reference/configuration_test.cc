// What a report says of every key, against files whose keys are known.

#include "pipelines/reference/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/report/parts.h"
#include "pipelines/run/experiment.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"

namespace impactlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kExamples =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/reference";

Configuration Describe(const Experiment& e) {
  return DescribeConfiguration("experiment", ToYaml(e), e.path,
                               [&] { return ToYaml(LoadExperiment(e.path)); });
}

UsedKey KeyOf(const Configuration& configuration, const std::string& name) {
  const auto at = std::find_if(configuration.keys.begin(), configuration.keys.end(),
                               [&](const UsedKey& k) { return k.key == name; });
  EXPECT_NE(at, configuration.keys.end()) << name;
  return at == configuration.keys.end() ? UsedKey{} : *at;
}

constexpr const char* kFile =
    "schema: impactlab.experiment/1\n"
    "recordings:\n  kind: planar_poses\n  files: drops/*.csv\n"
    "body:\n  shape: box\n  side_m: 0.06\n"
    "identify:\n  bootstrap: 20\n  grid: 0\n"
    "coefficients:\n  groups:\n    - name: oak\n      recordings: a*\n    - name: pine\n      "
    "recordings: b*\n";

class ConfigurationOf : public ::testing::Test {
 protected:
  Experiment Load(const std::string& text) const {
    WriteFile(folder_ / "drops.yaml", text);
    return LoadExperiment(folder_ / "drops.yaml");
  }
  test::TemporaryFolder folder_;
};

TEST_F(ConfigurationOf, EveryKeySaysWhereItCameFrom) {
  const Configuration c = Describe(Load(kFile));
  EXPECT_EQ(c.sha256, Sha256(kFile));
  EXPECT_EQ(KeyOf(c, "recordings.kind").source, KeySource::kFile);
  EXPECT_EQ(KeyOf(c, "body.side_m").source, KeySource::kFile);
  EXPECT_THAT(KeyOf(c, "body.side_m").values, ElementsAre("0.06"));
  EXPECT_EQ(KeyOf(c, "body.sides_m").source, KeySource::kDerived);
  EXPECT_THAT(KeyOf(c, "body.sides_m").values, ElementsAre("[0.06, 0.06]"));
  EXPECT_EQ(KeyOf(c, "identify.grid").source, KeySource::kFile) << "given, although as the default";
  EXPECT_EQ(KeyOf(c, "identify.laws").source, KeySource::kDefault);
  EXPECT_EQ(KeyOf(c, "motion.max_frames").source, KeySource::kDefault);
  EXPECT_THAT(KeyOf(c, "motion.max_frames").values, ElementsAre("30"));
  EXPECT_EQ(KeyOf(c, "gravity_m_per_s2").source, KeySource::kDefault);
  EXPECT_EQ(KeyOf(c, "body.mass_kg").source, KeySource::kLeftOut);
  EXPECT_EQ(KeyOf(c, "second_body").source, KeySource::kLeftOut);
  EXPECT_THAT(KeyOf(c, "coefficients.groups[].name").values, ElementsAre("oak", "pine"));
}

TEST_F(ConfigurationOf, MeaningUnitAndDefaultAreThoseOfTheReference) {
  const UsedKey key = KeyOf(Describe(Load(kFile)), "motion.jump_allowance_angle_rad");
  EXPECT_THAT(key.meaning, HasSubstr("attitudes"));
  EXPECT_EQ(key.unit, "rad");
  EXPECT_EQ(key.otherwise, "0.003");
}

TEST_F(ConfigurationOf, WhatDiffersFromTheFileCameFromBesideIt) {
  Experiment e = Load(kFile);
  e.identify.bootstrap = 77;
  e.identify.grid = 21;
  e.recordings = "/elsewhere/*.csv";
  const Configuration c = Describe(e);
  for (const char* name : {"identify.bootstrap", "identify.grid", "recordings.files"})
    EXPECT_EQ(KeyOf(c, name).source, KeySource::kOverride) << name;
  EXPECT_THAT(KeyOf(c, "identify.bootstrap").values, ElementsAre("77"));
  EXPECT_EQ(KeyOf(c, "identify.fit_mu_s").source, KeySource::kDefault);
}

TEST_F(ConfigurationOf, FileThatIsGoneLeavesSourcesUnknown) {
  const Experiment e = Load(kFile);
  std::filesystem::remove(e.path);
  const Configuration c = Describe(e);
  EXPECT_EQ(c.sha256, "");
  ASSERT_GT(c.keys.size(), 50u);
  for (const UsedKey& key : c.keys) EXPECT_EQ(key.source, KeySource::kUnknown) << key.key;
}

// A run.yaml that is run again holds every default, and where it came from.
TEST_F(ConfigurationOf, RunThatIsRunAgainStandsInItsFile) {
  const Experiment first = Load(kFile);
  const Configuration c = Describe(
      Load(ToYaml(first) + ToYaml(CollectProvenance(1, "impactlab run drops.yaml", {first.path}))));
  for (const UsedKey& key : c.keys)
    EXPECT_TRUE(key.source == KeySource::kFile || key.source == KeySource::kLeftOut)
        << key.key << " " << static_cast<int>(key.source);
  EXPECT_EQ(std::count_if(c.keys.begin(), c.keys.end(),
                          [](const UsedKey& k) { return k.key.starts_with("provenance."); }),
            0);
}

TEST(Configuration, HasAMeaningForEveryKeyOfEveryKindOfExperiment) {
  int files = 0;
  for (const auto& file : ExpandGlob("experiment*.yaml", kExamples)) {
    const Experiment e = LoadExperiment(file);
    const Configuration c = Describe(e);
    ++files;
    EXPECT_EQ(c.yaml, ToYaml(e));
    for (const UsedKey& key : c.keys) {
      EXPECT_NE(key.meaning, "") << file << ": " << key.key;
      EXPECT_NE(key.source, KeySource::kOverride) << file << ": " << key.key;
      EXPECT_NE(key.source, KeySource::kUnknown) << file << ": " << key.key;
    }
  }
  EXPECT_GE(files, 8);
  const TrackConfig plan = LoadTracking(kExamples / "tracking.yaml");
  for (const UsedKey& key : DescribeConfiguration("tracking", ToYaml(plan), plan.path, [&] {
                              return ToYaml(plan);
                            }).keys)
    EXPECT_NE(key.meaning, "") << key.key;
  const std::filesystem::path calibration = kExamples / "calibration.yaml";
  std::string yaml = ToYaml(LoadCalibration(calibration));
  for (const UsedKey& key :
       DescribeConfiguration("calibration", yaml, calibration, [&] { return yaml; }).keys)
    EXPECT_NE(key.meaning, "") << key.key;
}

std::string PreOf(const std::string& html, const std::string& id) {
  const std::string start = "<pre id=\"" + id + "\">";
  const std::size_t from = html.find(start);
  if (from == std::string::npos) return {};
  std::string text =
      html.substr(from + start.size(), html.find("</pre>", from) - from - start.size());
  for (const auto& [entity, letter] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""),
        std::pair("&#39;", "'"), std::pair("&amp;", "&")})
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at)
      text.replace(at, std::string_view(entity).size(), letter);
  return text;
}

TEST_F(ConfigurationOf, ReportHoldsTheExperimentToRunAgain) {
  RunResult run = testing::FabricatedRun({.recordings = 6});
  run.experiment = Load("name: \"a <b> & \\\"c\\\"\"\n" + std::string(kFile));
  run.experiment.identify.bootstrap = 77;
  const pipelines::ReportContext context = pipelines::MakeContext(run, false);
  const std::string html = pipelines::ConfigurationSection(context).html;
  const std::string again = PreOf(html, "experiment-yaml");
  ASSERT_EQ(again, ToYaml(run.experiment));
  EXPECT_EQ(ToYaml(Load(again)), ToYaml(run.experiment));
  // Without scripts nothing is missing but the button.
  EXPECT_THAT(html, HasSubstr("<details><summary>experiment.yaml as it was used"));
  EXPECT_THAT(
      html,
      HasSubstr(
          "<th scope=\"row\">identify.bootstrap</th><td>77</td><td></td><td>command line</td>"));
  EXPECT_THAT(html, HasSubstr("1 from the command line"));
}

TEST(Configuration, SectionStaysSmallWithEveryKeyAndManyRecordings) {
  RunResult run = testing::FabricatedRun({.recordings = 6});
  run.experiment = LoadExperiment(kExamples / "experiment-markers.yaml");
  TrackConfig& plan = run.experiment.markers->plan;
  const TrackedRecording one = plan.recordings.front();
  for (int i = 0; i < 300; ++i) {
    plan.recordings.push_back(one);
    plan.recordings.back().name += "_" + std::to_string(i);
  }
  const std::string html = pipelines::ConfigurationSection(pipelines::MakeContext(run, false)).html;
  EXPECT_LT(html.size(), 60'000u);
  EXPECT_EQ(test::HtmlFault(html), "");
  EXPECT_NE(PreOf(html, "experiment-yaml"), "");
  EXPECT_EQ(PreOf(html, "tracking-yaml"), "");
  EXPECT_THAT(html, HasSubstr("tracking/run.yaml"));
  EXPECT_THAT(html, HasSubstr("values: " + one.name));
  EXPECT_EQ(html.find("taken from the rig") != std::string::npos, run.experiment.gravity_of_rig);
}

// The cameras that a run calibrates stand before those that its tracking file names.
TEST(Configuration, TheRigIsTheOneThatWasUsed) {
  RunResult run = testing::FabricatedRun({.recordings = 6});
  run.experiment = LoadExperiment(std::filesystem::path(IMPACTLAB_SOURCE_DIR) /
                                  "data/sample/incline/experiment.yaml");
  ASSERT_FALSE(run.experiment.markers->calibration.empty());
  const std::string html = pipelines::ConfigurationSection(pipelines::MakeContext(run, false)).html;
  EXPECT_THAT(html, HasSubstr("calibration/rig.yaml of this run"));
}

}  // namespace
}  // namespace impactlab
