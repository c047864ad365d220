#include "pipelines/simulate/orbits.h"

#include <fmt/format.h>

#include <cmath>

#include "data/base/error.h"
#include "data/yaml/set.h"

namespace impactlab {
namespace {

// Derivatives are those of the motion alone: samples and the rest of a passive mechanism do not
// matter.
SimulateOptions OrbitOptions(const Scenario& scenario) {
  SimulateOptions options = scenario.options;
  options.sample_step = 0;
  return options;
}

double CheckedPeriod(double period) {
  if (!(period > 0 && std::isfinite(period)))
    throw ConfigError(fmt::format(
        "period_s: found {}, allowed above 0; none is needed where a surface vibrates", period));
  return period;
}

}  // namespace

Scenario ScenarioWith(const std::string& text, const std::string& file,
                      const ScenarioNumbers& numbers) {
  std::string changed = text;
  for (const auto& [key, value] : numbers) changed = SetYamlNumber(changed, file, key, value);
  return ParseScenario(changed, file);
}

double SurfacePeriod(const Scenario& scenario) {
  for (const pipelines::DrawnPlane& plane : scenario.planes)
    if (plane.amplitude > 0) return 2 * M_PI / plane.frequency;
  return 0;
}

PeriodicOrbit FindOrbit(const Scenario& scenario, double period) {
  return FindPeriodicOrbit(scenario.mechanism, scenario.start, CheckedPeriod(period),
                           OrbitOptions(scenario));
}

OrbitBranch FollowOrbit(const OrbitToFollow& orbit, const std::function<void()>& advance) {
  if (!(orbit.low <= orbit.first && orbit.first <= orbit.high))
    throw ConfigError(fmt::format("{}: found {} to {}, allowed a range around {}", orbit.key,
                                  orbit.low, orbit.high, orbit.first));
  if (!(std::abs(orbit.step) > 0) || !std::isfinite(orbit.step))
    throw ConfigError(fmt::format("step: found {}, allowed a number that is not 0", orbit.step));
  if (orbit.periods < 1)
    throw ConfigError(fmt::format("periods: found {}, allowed 1 or more", orbit.periods));
  const auto at = [&](double value) {
    if (advance) advance();
    ScenarioNumbers numbers = orbit.numbers;
    numbers.emplace_back(orbit.key, value);
    return ScenarioWith(orbit.text, orbit.file, numbers);
  };
  const auto period_of = [&](const Scenario& scenario) {
    return orbit.period > 0 ? orbit.period : orbit.periods * SurfacePeriod(scenario);
  };
  const Scenario start = at(orbit.first);
  const OrbitFamily family{[&](double value) { return at(value).mechanism; },
                           [&](double value) { return period_of(at(value)); }};
  OrbitPoint first;
  first.parameter = orbit.first;
  first.orbit = FindOrbit(start, period_of(start));
  if (!first.orbit.usable()) {
    OrbitBranch none;
    none.end = "no orbit near the start: " + first.orbit.reason;
    return none;
  }
  return FollowOrbit(family, first, orbit.step, orbit.low, orbit.high, orbit.most_points,
                     OrbitOptions(start));
}

}  // namespace impactlab
