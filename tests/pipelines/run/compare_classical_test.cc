#include "pipelines/run/compare_classical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/table.h"
#include "pipelines/config/visit.h"
#include "pipelines/study/classical_comparison.h"
#include "tests/statistical/tracks_twin.h"
#include "tests/support/faults.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

// Six drops of a rod before two cameras, fitted once for all tests.
struct Fitted {
  twin::TracksExperiment truth =
      twin::MakeTracksExperiment(test::Thing::kRod, 6, 20 * M_PI / 180, 99);
  twin::TracksRepeat repeat;
  std::vector<TimedPoses> poses;
  Comparison comparison;
  Fitted() {
    std::mt19937_64 random(100);
    repeat = twin::Repeat(truth, {}, true, random);
    poses = PosesOfAll(repeat.markers, repeat.analysis.drops, {});
    comparison =
        CompareClassical(repeat.experiment, repeat.markers, poses, repeat.analysis, {.threads = 2});
  }
};
const Fitted& Once() {
  static const Fitted fitted;
  return fitted;
}

const ComparedEstimator& Of(const Comparison& comparison, const std::string& name) {
  return *std::find_if(comparison.estimators.begin(), comparison.estimators.end(),
                       [&](const ComparedEstimator& e) { return e.method.name == name; });
}

TEST(ClassicalComparison, EveryEstimatorHasEveryAcceptedImpact) {
  const Comparison& c = Once().comparison;
  ASSERT_EQ(c.estimators.size(), ClassicalMethods().size() + 1);
  EXPECT_EQ(c.estimators.front().method.name, "bundle");
  ASSERT_GE(c.estimators.front().impacts.size(), 4u);
  for (const ComparedEstimator& e : c.estimators) {
    ASSERT_EQ(e.impacts.size(), c.estimators.front().impacts.size()) << e.method.name;
    for (std::size_t i = 0; i < e.impacts.size(); ++i) {
      EXPECT_EQ(e.impacts[i].recording, c.estimators.front().impacts[i].recording);
      EXPECT_TRUE(e.impacts[i].usable) << e.method.name << e.impacts[i].reason;
      EXPECT_GT(e.impacts[i].seconds, 0);
    }
  }
}

// The truth lies where each says it does, as far as the method is one: two good ones, one that is
// late by a frame, one that smooths the impact away.
TEST(ClassicalComparison, TellsGoodEstimatorsFromBad) {
  const Fitted& f = Once();
  const auto rms = [&](const std::string& name, std::size_t state) {
    double squares = 0;
    int n = 0;
    for (const ComparedImpact& impact : Of(f.comparison, name).impacts) {
      const std::size_t drop = std::stoul(impact.recording.substr(5)) - 1;
      const test::Drop& truth = f.truth.drops[drop];
      const Vector3d axis = truth.minus.R.col(2);
      const Vector3d states[] = {truth.minus.v, truth.minus.omega, truth.plus.v, truth.plus.omega};
      Vector3d d = impact.states[state] - states[state];
      if (state % 2 == 1) d -= axis * axis.dot(d);
      squares += d.squaredNorm();
      ++n;
    }
    return std::sqrt(squares / n);
  };
  for (const char* name : {"kalman", "savitzky_golay", "local_quadratic", "houbolt",
                           "houbolt_as_printed", "kalman_across"})
    EXPECT_LT(rms("bundle", 0), rms(name, 0)) << name;
  EXPECT_LT(rms("kalman", 0), 0.01);
  EXPECT_LT(rms("houbolt", 2), 0.1);
  EXPECT_GT(rms("houbolt_as_printed", 2), 0.15);
  EXPECT_GT(rms("kalman_across", 0), 0.15);
  // Late by a whole frame after the impact: far more than it states.
  for (const ComparedImpact& impact : Of(f.comparison, "houbolt_as_printed").impacts)
    EXPECT_GT(impact.z[2], 3);
  for (const ComparedImpact& impact : Of(f.comparison, "local_quadratic").impacts)
    EXPECT_LT(impact.z[0], 4);
}

TEST(ClassicalComparison, DifferencesAreInUnitsOfBoth) {
  const Comparison& c = Once().comparison;
  const ComparedImpact& bundle = c.estimators.front().impacts.front();
  const ComparedImpact& other = Of(c, "savitzky_golay").impacts.front();
  const Vector3d d = other.states[2] - bundle.states[2];
  EXPECT_NEAR(other.difference[2], d.norm() / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(other.z[2], std::sqrt(d.dot((bundle.cov[2] + other.cov[2]).inverse() * d) / 3),
              1e-6 * other.z[2]);
  // Two components of a spin are seen.
  EXPECT_NEAR(other.difference[1], (other.states[1] - bundle.states[1]).norm() / std::sqrt(2.0),
              1e-12);
  EXPECT_NEAR(other.sd[1], std::sqrt(other.cov[1].trace() / 2), 1e-12);
}

TEST(ClassicalComparison, CoefficientsOfEachEstimator) {
  const Fitted& f = Once();
  const auto e_of = [&](const std::string& name) { return Of(f.comparison, name).fit.e; };
  EXPECT_EQ(e_of("bundle").name, "e_star");
  // Not with the weights of the run, which leaves what all impacts share out of them.
  EXPECT_NEAR(e_of("bundle").value, f.repeat.analysis.fit.fits.front().e.value, 0.02);
  EXPECT_NEAR(e_of("bundle").value, f.truth.model.e, 0.02);
  EXPECT_NEAR(e_of("kalman").value, f.truth.model.e, 0.1);
  // A smoother that knows of no impact takes it for a soft one.
  EXPECT_GT(std::abs(e_of("kalman_across").value - f.truth.model.e), 0.1);
}

TEST(ClassicalComparison, OnlyThoseAskedFor) {
  const Fitted& f = Once();
  Experiment experiment = f.repeat.experiment;
  experiment.classical.estimators = {"houbolt"};
  const Comparison one =
      CompareClassical(experiment, f.repeat.markers, f.poses, f.repeat.analysis, {.threads = 1});
  ASSERT_EQ(one.estimators.size(), 2u);
  EXPECT_EQ(one.estimators[1].method.name, "houbolt");
  experiment.classical.estimators.clear();
  EXPECT_TRUE(
      CompareClassical(experiment, f.repeat.markers, f.poses, f.repeat.analysis, {.threads = 1})
          .empty());
  // A window longer than the flight is no estimate, and says so.
  experiment.classical.estimators = {"local_quadratic"};
  experiment.classical.window = 99;
  const Comparison wide =
      CompareClassical(experiment, f.repeat.markers, f.poses, f.repeat.analysis, {.threads = 1});
  EXPECT_FALSE(wide.estimators[1].impacts.front().usable);
  EXPECT_THAT(wide.estimators[1].impacts.front().reason, HasSubstr("local_quadratic needs 99"));
  EXPECT_FALSE(wide.estimators[1].fit.fitted());
}

CsvOptions Texts(const std::vector<std::string>& columns) {
  CsvOptions options;
  options.text_columns = columns;
  options.empty_is_nan = true;
  return options;
}

TEST(ClassicalComparison, TablesReadBack) {
  const Comparison& c = Once().comparison;
  const test::TemporaryFolder folder;
  WriteComparison(folder.path(), c);
  const Table table =
      ReadCsv(folder / "classical.csv", Texts({"recording", "estimator", "reason"}));
  ASSERT_EQ(table.n_rows(), c.estimators.size() * c.estimators.front().impacts.size());
  // the first row of the first classical one
  const std::size_t row = c.estimators.front().impacts.size();
  EXPECT_EQ(table.TextColumn("estimator")[row], "houbolt_as_printed");
  EXPECT_EQ(table.Column("omega_plus_y_rad_per_s")[row], c.estimators[1].impacts[0].states[3].y());
  EXPECT_EQ(table.Column("sd_v_minus_z_m_per_s")[row],
            std::sqrt(c.estimators[1].impacts[0].cov[0](2, 2)));
  EXPECT_EQ(table.Column("z_v_plus")[row], c.estimators[1].impacts[0].z[2]);
  EXPECT_TRUE(std::isnan(table.Column("z_v_plus")[0]));
  const Table fits =
      ReadCsv(folder / "classical_fit.csv", Texts({"estimator", "law", "parameter", "reason"}));
  EXPECT_EQ(fits.n_rows(), 2 * c.estimators.size());
  EXPECT_EQ(fits.Column("value")[1], c.estimators[0].fit.e.value);
}

TEST(ClassicalComparison, KeysOfTheExperiment) {
  const auto parse = [](const std::string& text) {
    const YamlNode root = ParseYaml(text, "e.yaml");
    ComparisonOptions o = pipelines::ReadKeys<ComparisonOptions>(root.MapOrEmpty("classical"));
    root.Finish();
    return o;
  };
  const auto yaml = [](const ComparisonOptions& o) {
    return "classical:\n" + pipelines::WriteKeys(o, 1);
  };
  EXPECT_EQ(parse("classical: {}\n").estimators.size(), ClassicalMethods().size());
  EXPECT_EQ(parse("classical: {estimators: all}\n").estimators.size(), ClassicalMethods().size());
  EXPECT_TRUE(parse("classical: {estimators: none}\n").estimators.empty());
  const ComparisonOptions two = parse("classical: {estimators: [kalman, houbolt], window: 9}\n");
  EXPECT_EQ(two.estimators, (std::vector<std::string>{"houbolt", "kalman"}));
  EXPECT_EQ(two.window, 9);
  EXPECT_EQ(parse(yaml(two)).estimators, two.estimators);
  EXPECT_EQ(parse(yaml(two)).window, 9);
  EXPECT_TRUE(parse(yaml(parse("classical: {estimators: none}\n"))).estimators.empty());
  const auto fault = [&](const std::string& text) { return test::FaultOf([&] { parse(text); }); };
  EXPECT_THAT(fault("classical: {estimators: [houbold]}\n"), HasSubstr("nearest is houbolt"));
  EXPECT_THAT(fault("classical: {estimators: [all, houbolt]}\n"), HasSubstr("it alone"));
  EXPECT_THAT(fault("classical: {window: 8}\n"), HasSubstr("odd"));
  EXPECT_THAT(fault("classical: {estimator: houbolt}\n"), HasSubstr("estimators"));
}

}  // namespace
}  // namespace impactlab
