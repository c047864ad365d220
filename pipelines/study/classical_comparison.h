#pragma once
// What the classical estimators make of the impacts that the bundle fit accepted, and which
// coefficients would come of their states.
//
// They start where a spreadsheet starts: from poses frame by frame. Everything else is given to
// them - clocks, the time of the impact, pose and contact lever of the bundle fit - so that what
// differs is the estimator of the velocities alone.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "impact/body/event.h"
#include "reconstruction/motion/classical.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

struct ClassicalMethod {
  std::string name;   // as in files: "houbolt_as_printed", "houbolt", "central_difference", ...
  std::string title;  // for people: "Houbolt as printed"
  ClassicalOptions options;
};
// All of them, that printed by Sun (2017) first.
std::vector<ClassicalMethod> ClassicalMethods(int window = ClassicalOptions{}.window);

// Map `classical` of an experiment file.
struct ComparisonOptions {
  std::vector<std::string> estimators;     // names of ClassicalMethods, in their order
  int window = ClassicalOptions{}.window;  // poses of Savitzky-Golay and parabola, odd
  ComparisonOptions();                     // all estimators
};
void Visit(pipelines::Keys& keys, ComparisonOptions& options);

// States that are compared, in this order.
inline constexpr std::array<const char*, 4> kComparedStates = {"v_minus", "omega_minus", "v_plus",
                                                               "omega_plus"};

// One impact by one estimator.
struct ComparedImpact {
  std::string recording;
  int impact = 0;
  bool usable = false;
  std::string reason;  // why not: too few poses on a side
  // kComparedStates in W; a spin without its part along an axis of markers on a line
  std::array<Eigen::Vector3d, 4> states;
  std::array<Eigen::Matrix3d, 4> cov;  // what the estimator states
  // root mean square over the components that are seen [m/s], [rad/s]
  std::array<double, 4> sd;
  // from the bundle fit, root mean square over those components [m/s], [rad/s]
  std::array<double, 4> difference;
  // The same in units of both standard deviations. Both start from the same pixels: of two
  // unbiased estimators it is below 1.
  std::array<double, 4> z;
  int frames_minus = 0, frames_plus = 0;  // poses used
  double seconds = 0;                     // of one core, the poses' share included
};

struct ComparedEstimator {
  ClassicalMethod method;  // name "bundle" in front of all others
  std::vector<ComparedImpact> impacts;
  int events = 0;  // that the coefficients come from
  // By the main law of the experiment; no parameters where nothing was fitted. As `identify` makes
  // it of a table of events: errors that all impacts share count as if they differed from impact to
  // impact, or not at all (moments of the body, gravity).
  LawFit fit;
};

struct Comparison {
  std::vector<ComparedEstimator> estimators;  // the bundle fit first
  bool empty() const { return estimators.size() < 2; }
};

// classical.csv and classical_fit.csv (data/README).
void WriteComparison(const std::filesystem::path& folder, const Comparison& comparison);

}  // namespace impactlab
