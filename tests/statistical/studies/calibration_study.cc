// Coverage of every parameter of a rig over random synthetic calibrations: calibration_study
// [--experiments N] [--seed S] [--out FILE]. N experiments a kind of rig as modelled, and a quarter
// of that with effects the estimator does not model.

#include <fmt/core.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "data/statistics/statistics.h"
#include "tests/statistical/rig_scenes.h"
#include "tests/statistical/studies/study.h"
#include "tests/support/per_test_level.h"

namespace {

using namespace impactlab;

struct Tally {
  int n = 0, refused = 0, covered_warp[2] = {0, 0};
  std::vector<std::string> names;
  std::vector<int> covered;
  std::vector<double> sum_z, sum_z2;
  std::vector<char> free;
  int outliers_planted = 0, outliers_found = 0;

  void Add(const CalibrationResult& result, const test::RigTwin& twin) {
    if (!result.usable()) {
      ++refused;
      return;
    }
    ++n;
    names = ParameterNames(result.rig);
    names.push_back("warp_x_m");
    names.push_back("warp_y_m");
    Eigen::VectorXd error(names.size());
    error << test::RigError(result.rig, twin.truth), result.warp - twin.warp;
    covered.resize(names.size());
    sum_z.resize(names.size());
    sum_z2.resize(names.size());
    free.resize(names.size());
    const double quantile = StudentQuantile(0.975, result.dof);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double variance = result.cov_common(i, i);
      free[i] = variance > 0;
      if (!free[i]) continue;
      const double z = error[i] / std::sqrt(variance);
      covered[i] += std::abs(z) <= quantile;
      sum_z[i] += z;
      sum_z2[i] += z * z;
    }
    outliers_planted += twin.outliers;
    outliers_found += result.n_outliers;
  }

  nlohmann::json Json(double alpha, bool* inside) const {
    const CountBand band = BinomialBand(n, 0.95, alpha);
    nlohmann::json parameters;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!free[i]) continue;
      const bool ok = band.Contains(covered[i]);
      if (inside) *inside &= ok;
      parameters[names[i]] = {{"covered", covered[i]},
                              {"inside", ok},
                              {"mean_z", sum_z[i] / n},
                              {"rms_z", std::sqrt(sum_z2[i] / n)}};
    }
    return {{"n", n},
            {"refused", refused},
            {"band", {band.lower, band.upper}},
            {"outliers_planted", outliers_planted},
            {"outliers_found", outliers_found},
            {"parameters", parameters}};
  }
};

}  // namespace

int main(int argc, char** argv) {
  int experiments = 1000;
  test::Study study("calibration", "Coverage of every parameter of calibrations of random rigs",
                    20260101);
  study.app.add_option("--experiments", experiments, "of every rig")->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  const auto scenes = test::RigScenes();
  const int per_scene = experiments + experiments / 4;
  std::vector<std::array<Tally, 2>> tallies(scenes.size());
  std::mutex mutex;
  study.Each(static_cast<int>(scenes.size()) * per_scene, "calibrations", "rigs", [&](int k) {
    const int scene = k / per_scene, index = k % per_scene;
    const bool unmodelled = index >= experiments;
    const test::RigTwin twin = test::DrawRig(scenes[scene], unmodelled, study.seed + k);
    const CalibrationResult result = Calibrate(twin.problem);
    const std::lock_guard lock(mutex);
    tallies[scene][unmodelled].Add(result, twin);
  });

  int n_tests = 0;
  for (const auto& tally : tallies)
    n_tests += static_cast<int>(std::count(tally[0].free.begin(), tally[0].free.end(), 1));
  const double alpha = PerTestLevel(0.001, n_tests);
  bool inside = true;
  nlohmann::json json;
  for (std::size_t s = 0; s < scenes.size(); ++s) {
    json["scenes"][scenes[s].name] = {{"as_modelled", tallies[s][0].Json(alpha, &inside)},
                                      {"unmodelled", tallies[s][1].Json(alpha, nullptr)}};
    int least = tallies[s][0].n, most = 0;
    double worst = 0;
    for (std::size_t i = 0; i < tallies[s][0].names.size(); ++i) {
      if (!tallies[s][0].free[i]) continue;
      least = std::min(least, tallies[s][0].covered[i]);
      most = std::max(most, tallies[s][0].covered[i]);
      worst = std::max(worst, std::abs(tallies[s][0].sum_z[i] / tallies[s][0].n));
    }
    const CountBand band = BinomialBand(tallies[s][0].n, 0.95, alpha);
    fmt::print(
        "{:<16} {} solved, {} refused; covered {} to {} of {}, band {} to {}; largest |mean z| "
        "{:.2f}\n",
        scenes[s].name, tallies[s][0].n, tallies[s][0].refused, least, most, tallies[s][0].n,
        band.lower, band.upper, worst);
  }
  json["experiments"] = experiments;
  json["tests"] = n_tests;
  json["alpha_per_test"] = alpha;
  json["all_inside"] = inside;
  fmt::print("{} parameters, all inside the band: {}\n", n_tests, inside ? "yes" : "no");
  return study.Keep(std::move(json), inside);
}
