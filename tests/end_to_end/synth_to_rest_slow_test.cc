// Synthetic recordings to rest through the program, and what follows their first impacts judged
// against their own truth.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

Table Read(const std::filesystem::path& path) {
  CsvOptions csv;
  csv.text_columns = {"recording", "reason", "detail", "law", "at"};
  csv.empty_is_nan = true;
  return ReadCsv(path, csv);
}

// The simulation with the fitted law comes to rest where, how and when the recording does, within
// the spread that is predicted for it, as often as it should.
TEST(SynthToRest, RecordingsLieAmongTheirDraws) {
  const test::TemporaryFolder scratch;
  test::WriteText(scratch.path() / "scene.yaml", R"(schema: impactlab.scene/1
kind: planar_poses
body: {shape: box, side_m: 0.06, mass_kg: 0.2}
model: {law: energetic, e_star: 0.45, mu_k: 0.15}
drops: 40
clean_first: true
to_rest: true
duration_after_s: 0.2
max_impacts: 200
sd_tangential: 0.02
sd_normal: 0.03
seed: 5
)");
  const std::filesystem::path set = scratch.path() / "set", out = scratch.path() / "out";
  test::ProcessResult result =
      test::RunProgram({"synth", scratch.path() / "scene.yaml", "--out", set}, scratch.path());
  ASSERT_EQ(result.code, 0) << result.err;
  result = test::RunProgram(
      {"run", set / "experiment.yaml", "--bounces", "32", "--no-report", "--quiet", "--out", out},
      scratch.path());
  ASSERT_EQ(result.code, 0) << result.err;
  const Table bounces = Read(out / "bounces.csv"), rests = Read(set / "truth_rest.csv"),
              impacts = Read(set / "truth.csv");
  ASSERT_EQ(rests.n_rows(), 40u);
  int followed = 0, along = 0, attitude = 0, rest = 0;
  for (std::size_t i = 0; i < bounces.n_rows(); ++i) {
    if (bounces.TextColumn("at")[i] != "end" || !bounces.TextColumn("reason")[i].empty()) continue;
    const std::string& recording = bounces.TextColumn("recording")[i];
    const auto of = [&](const Table& table) {
      const auto& names = table.TextColumn("recording");
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), recording) -
                                      names.begin());
    };
    // What the recording shows of its rest is the truth's, counted from the first impact; the last
    // tremble is below what it shows.
    const double true_rest = rests.Column("t_s")[of(rests)] - impacts.Column("t_s")[of(impacts)];
    EXPECT_LT(bounces.Column("t_rest_recorded_s")[i], true_rest + 0.01) << recording;
    EXPECT_GT(bounces.Column("t_rest_recorded_s")[i], true_rest - 0.3) << recording;
    ++followed;
    along += bounces.Column("p_along")[i] > 0.03;
    attitude += bounces.Column("p_angle")[i] > 0.03;
    rest += bounces.Column("p_rest")[i] > 0.03;
  }
  EXPECT_GE(followed, 35);
  // Ranks are k / 33: above 0.03 with probability 32 / 33.
  for (const int within : {along, attitude, rest})
    EXPECT_TRUE(BinomialBand(followed, 32.0 / 33, 1e-3).Contains(within))
        << within << " of " << followed;
}

}  // namespace
}  // namespace impactlab
