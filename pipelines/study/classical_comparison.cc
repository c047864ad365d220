#include "pipelines/study/classical_comparison.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/config/visit.h"

namespace impactlab {

using Eigen::Matrix3d;
using Eigen::Vector3d;
std::vector<ClassicalMethod> ClassicalMethods(int window) {
  std::vector<ClassicalMethod> all;
  const auto add = [&](const char* name, const char* title,
                       ClassicalEstimator estimator) -> ClassicalOptions& {
    all.push_back({name, title, {}});
    all.back().options.estimator = estimator;
    all.back().options.window = window;
    return all.back().options;
  };
  ClassicalOptions& printed =
      add("houbolt_as_printed", "Houbolt as printed", ClassicalEstimator::kHoubolt);
  printed.gravity = GravityCorrection::kHalfInterval;
  printed.backward_after = true;
  add("houbolt", "Houbolt", ClassicalEstimator::kHoubolt);
  add("central_difference", "central difference", ClassicalEstimator::kCentralDifference);
  add("savitzky_golay", "Savitzky-Golay", ClassicalEstimator::kSavitzkyGolay);
  add("local_quadratic", "parabola", ClassicalEstimator::kLocalQuadratic);
  add("kalman", "Kalman/RTS, each side", ClassicalEstimator::kKalman);
  add("kalman_across", "Kalman/RTS, across", ClassicalEstimator::kKalman).across_impact = true;
  return all;
}

ComparisonOptions::ComparisonOptions() {
  for (const ClassicalMethod& method : ClassicalMethods()) estimators.push_back(method.name);
}

void Visit(pipelines::Keys& keys, ComparisonOptions& options) {
  const std::vector<std::string> known = ComparisonOptions().estimators;
  keys.Names("estimators", options.estimators, known, {"all"},
             "all, none, or of houbolt_as_printed, houbolt, central_difference, savitzky_golay, "
             "local_quadratic, kalman, kalman_across. Default: all");
  if (options.estimators == std::vector<std::string>{"all"}) options.estimators = known;
  // in the order of ClassicalMethods
  const std::vector<std::string> asked = std::exchange(options.estimators, {});
  for (const std::string& name : known)
    if (std::find(asked.begin(), asked.end(), name) != asked.end())
      options.estimators.push_back(name);
  keys.Count("window", options.window, Closed(3, 1001),
             "poses of Savitzky-Golay and parabola, odd");
  keys.Check(options.window % 2 != 0, "window", std::to_string(options.window),
             "an odd number of poses, 3 or more");
}

void WriteComparison(const std::filesystem::path& folder, const Comparison& comparison) {
  std::vector<std::string> columns = {"recording", "impact",       "estimator",  "usable",
                                      "reason",    "frames_minus", "frames_plus"};
  for (const char* prefix : {"", "sd_"})
    for (std::size_t k = 0; k < 4; ++k)
      for (const char* axis : {"x", "y", "z"})
        columns.push_back(fmt::format("{}{}_{}_{}", prefix, kComparedStates[k], axis,
                                      k % 2 == 0 ? "m_per_s" : "rad_per_s"));
  for (const char* state : kComparedStates) columns.push_back(fmt::format("z_{}", state));
  columns.emplace_back("cost_s");
  CsvWriter out(folder / "classical.csv", columns);
  for (const ComparedEstimator& estimator : comparison.estimators)
    for (const ComparedImpact& impact : estimator.impacts) {
      out.Text(impact.recording)
          .Integer(impact.impact)
          .Text(estimator.method.name)
          .Integer(impact.usable)
          .Text(impact.reason);
      out.Integer(impact.frames_minus).Integer(impact.frames_plus);
      for (const Vector3d& state : impact.states)
        for (int axis = 0; axis < 3; ++axis) out.Number(state[axis]);
      for (const Matrix3d& cov : impact.cov)
        for (int axis = 0; axis < 3; ++axis) out.Number(std::sqrt(cov(axis, axis)));
      for (const double z : impact.z) out.Number(z);
      out.Number(impact.seconds).EndRow();
    }
  out.Commit();
  CsvWriter fits(folder / "classical_fit.csv",
                 {"estimator", "law", "parameter", "events", "value", "sd", "lower95", "upper95",
                  "identifiable", "reason"});
  for (const ComparedEstimator& estimator : comparison.estimators)
    for (const ParameterEstimate& p : ListParameters(estimator.fit)) {
      fits.Text(estimator.method.name)
          .Text(estimator.fit.law)
          .Text(p.name)
          .Integer(estimator.events)
          .Number(p.value)
          .Number(p.sd);
      fits.Number(p.lower95).Number(p.upper95).Integer(p.identifiable).Text(p.reason).EndRow();
    }
  fits.Commit();
}

}  // namespace impactlab
