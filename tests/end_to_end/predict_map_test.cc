// `impactlab predict` on states and systems and `impactlab map`, the way a user runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kState = {"predict",    "--v-minus-m-per-s",
                                         "0.93",       "-1.45",
                                         "--a-per-kg", "3.07",
                                         "-1.39",      "1.93",
                                         "--e",        "0.9",
                                         "--mu-k",     "0.1"};

std::vector<std::string> With(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(PredictCommand, OneStateFromFlags) {
  const ScratchFolder folder("predict");
  const ProcessResult text = RunProgram(kState, folder.path());
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* law : {"energetic", "poisson", "newton", "brach", "whittaker", "smith"})
    EXPECT_THAT(text.out, HasSubstr(law));
  const ProcessResult out = RunProgram(
      With(kState, {"--json", "--out", (folder.path() / "p.json").string()}), folder.path());
  ASSERT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.out, ReadText(folder.path() / "p.json"));
  const auto json = nlohmann::json::parse(out.out);
  EXPECT_EQ(json["states"][0]["outcomes"].size(), 6u);
  EXPECT_EQ(json["states"][0]["region"], 9);
}

// The same state by the body: a rod's end.
TEST(PredictCommand, BodyInsteadOfInverseMass) {
  const ScratchFolder folder("predict body");
  const ProcessResult out = RunProgram({"predict", "--v-minus-m-per-s", "0.5", "-1", "--lever-m",
                                        "-0.3", "-0.4", "--inertia-kg-m2", "0.0833", "--json"},
                                       folder.path());
  ASSERT_EQ(out.code, 0) << out.err;
  const auto json = nlohmann::json::parse(out.out);
  EXPECT_NEAR(json["states"][0]["A_F_per_kg"][0][2].get<double>(), -0.12 / 0.0833, 1e-12);
  EXPECT_NEAR(json["states"][0]["A_F_per_kg"][0][0].get<double>(), 1 + 0.16 / 0.0833, 1e-12);
}

TEST(PredictCommand, EndsInOrderWhereNobodyReads) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: /dev/full absent";
  const ScratchFolder folder("predict unread");
  const std::string systems = std::string(IMPACTLAB_SOURCE_DIR) + "/data/systems/";
  EXPECT_EQ(RunProgram(kState, folder.path(), "exec >/dev/full 2>&1;").code, 3);
  EXPECT_EQ(
      RunProgram({"predict", systems + "000_cradle_5.yaml"}, folder.path(), "exec >/dev/full 2>&1;")
          .code,
      3);
}

TEST(PredictCommand, SaysWhatIsMissing) {
  const ScratchFolder folder("predict bad");
  const auto fails = [&](const std::vector<std::string>& words, int code, const char* what) {
    const ProcessResult out = RunProgram(words, folder.path());
    EXPECT_EQ(out.code, code) << out.err;
    EXPECT_THAT(out.err, HasSubstr(what));
  };
  fails({"predict"}, 2, "--states");
  WriteText(folder.path() / "experiment.yaml", "schema: impactlab.experiment/1\n");
  fails({"predict", (folder.path() / "experiment.yaml").string()}, 2, "--events");
  fails({"predict", "--v-minus-m-per-s", "1", "-1"}, 2, "--a-per-kg");
  fails({"predict", "--v-minus-m-per-s", "1", "0", "-1", "--a-per-kg", "1", "0", "1"}, 2, "A_xx");
  fails({"predict", "--states", "absent.csv"}, 3, "absent.csv");
  // Static friction below kinetic friction: the laws with a path refuse, the others go on.
  const ProcessResult part = RunProgram(With(kState, {"--mu-s", "0.01"}), folder.path());
  EXPECT_EQ(part.code, 0);
  EXPECT_THAT(part.out, HasSubstr("must be finite and >= mu_k"));
}

TEST(PredictCommand, SystemFromItsFile) {
  const ScratchFolder folder("predict system");
  const std::string file =
      std::string(IMPACTLAB_SOURCE_DIR) + "/data/systems/bar_on_two_stops.yaml";
  const auto json = folder.path() / "bar.json", csv = folder.path() / "bar.csv";
  const ProcessResult text =
      RunProgram({"predict", file, "--out", json.string(), "--csv", csv.string()}, folder.path());
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* words :
       {"Bar falling on two stops", "certificate", "The outcome is not unique", "written to"})
    EXPECT_THAT(text.out, HasSubstr(words));
  EXPECT_THAT(ReadText(csv), HasSubstr("simultaneous_poisson,ok,,contact,steel,n,m/s"));
  const ProcessResult again = RunProgram({"predict", file, "--json"}, folder.path());
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, ReadText(json));
  EXPECT_EQ(nlohmann::json::parse(again.out)["outcomes"][0]["different"], 2);

  const auto fails = [&](const std::vector<std::string>& words, int code, const char* what) {
    const ProcessResult out = RunProgram(words, folder.path());
    EXPECT_EQ(out.code, code) << out.err;
    EXPECT_THAT(out.err, HasSubstr(what));
  };
  fails({"predict", file, "--e", "0.1"}, 2, "found --e beside a system file");
  fails({"predict", "--states", "absent.csv", "--csv", "out.csv"}, 2,
        "--csv without a system file");
  fails({"predict", "absent.yaml"}, 2, "absent.yaml");
  WriteText(folder.path() / "wrong.yaml", "schema: impactlab.system/1\nplanar: true\nbodies: []\n");
  fails({"predict", (folder.path() / "wrong.yaml").string()}, 2,
        "wrong.yaml:3: bodies: found a list of 0");
}

TEST(MapCommand, WritesTablePicturesAndGallery) {
  const ScratchFolder folder("map");
  WriteText(folder.path() / "rod.yaml",
            "schema: impactlab.map/1\nname: rod\nbody: {planar: true, lever_m: 0.5, inertia_kg_m2: "
            "0.0833}\n"
            "x: {sets: lean_rad, label: \"lean [rad]\", from: -1.5, to: 1.5, count: 31}\ny: {sets: "
            "mu_k, label: mu, from: 0, to: 1, count: 11}\n"
            "fixed: {v_x_m_per_s: 1, v_z_m_per_s: -1, e: 0.4}\n");
  const auto out = folder.path() / "out";
  const ProcessResult result = RunProgram(
      {"map", (folder.path() / "rod.yaml").string(), "--out", out.string()}, folder.path());
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* name :
       {"rod.csv", "rod_case.svg", "rod_dissipation.svg", "statements.csv", "index.html"})
    EXPECT_FALSE(ReadText(out / name).empty()) << name;
  EXPECT_THAT(result.out, HasSubstr("341 outcomes: 0 fail their certificate"));

  WriteText(
      folder.path() / "bad.yaml",
      "schema: impactlab.map/1\nname: rod\nbody: {planar: true, lever_m: -1, inertia_kg_m2: 1}\n");
  const ProcessResult bad = RunProgram(
      {"map", (folder.path() / "rod.yaml").string(), (folder.path() / "bad.yaml").string(), "--out",
       (folder.path() / "none").string()},
      folder.path());
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("lever_m"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none"));
}

}  // namespace
}  // namespace impactlab::test
