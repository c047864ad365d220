// A reduced sentinel of calibration_study: 60 rigs of each kind.

#include <gtest/gtest.h>

#include "data/statistics/statistics.h"
#include "tests/statistical/rig_scenes.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

TEST(CalibrationCoverage, EveryParameterOfEveryKindOfRig) {
  const int experiments = 60;
  int n_tests = 0, refused = 0;
  struct Count {
    std::string name;
    int covered, n;
  };
  std::vector<Count> counts;
  for (const test::RigScene& scene : test::RigScenes()) {
    std::vector<int> covered;
    std::vector<char> free;
    std::vector<std::string> names;
    int n = 0;
    for (int k = 0; k < experiments; ++k) {
      const test::RigTwin twin = test::DrawRig(scene, false, 7000 + k);
      const CalibrationResult result = Calibrate(twin.problem);
      if (!result.usable()) {
        ++refused;
        continue;
      }
      ++n;
      const Eigen::VectorXd error = test::RigError(result.rig, twin.truth);
      names = ParameterNames(result.rig);
      covered.resize(error.size());
      free.resize(error.size());
      const double quantile = StudentQuantile(0.975, result.dof);
      for (int i = 0; i < error.size(); ++i) {
        free[i] = result.rig.covariance(i, i) > 0;
        covered[i] +=
            free[i] && std::abs(error[i]) <= quantile * std::sqrt(result.rig.covariance(i, i));
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (free[i]) counts.push_back({scene.name + " " + names[i], covered[i], n});
  }
  n_tests = static_cast<int>(counts.size());
  EXPECT_GT(n_tests, 150);
  EXPECT_LE(refused, 2);
  const double alpha = PerTestLevel(0.001, n_tests);
  for (const Count& count : counts)
    EXPECT_TRUE(BinomialBand(count.n, 0.95, alpha).Contains(count.covered))
        << count.name << ": " << count.covered << " of " << count.n;
}

}  // namespace
}  // namespace impactlab
