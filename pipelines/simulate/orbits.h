#pragma once
// Periodic motions of a scenario, and branches of them along one of its numbers.
//
// The guess is the start of the scenario, the period a whole number of periods of the surface that
// vibrates or one that is given. Theory and limits: impact/motion/orbit.h.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "impact/motion/orbit.h"
#include "pipelines/simulate/config.h"

namespace impactlab {

// Numbers of a scenario file that are replaced: "bodies.0.position_m.1" and its value.
using ScenarioNumbers = std::vector<std::pair<std::string, double>>;

// The scenario of `text` with these numbers; `file` stands for it in messages. ConfigError where
// the file has no such number or the scenario refuses it.
Scenario ScenarioWith(const std::string& text, const std::string& file,
                      const ScenarioNumbers& numbers);

// Period of the surface that vibrates [s]; 0 where none does.
double SurfacePeriod(const Scenario& scenario);

// The orbit near the scenario's start. `period` [s]. ConfigError where it is not above 0.
PeriodicOrbit FindOrbit(const Scenario& scenario, double period);

struct OrbitToFollow {
  std::string text, file;   // of the scenario
  ScenarioNumbers numbers;  // replaced first
  std::string key;          // the number along which the branch is followed
  double first = 0;         // its value where the scenario's start is near an orbit
  int periods = 1;          // of the surface that vibrates, in a period of the orbit
  double period = 0;        // of the orbit, whatever the key [s]; 0: by `periods`
  double step = 0.1;        // largest change of the key between two points; below 0: downwards
  double low = 0, high = 0;
  int most_points = 500;
};
// The first orbit is found from the scenario's start at `first`; a branch without points says why
// in `end`. `advance`, where given, is called at every motion that is followed; what it throws ends
// the work. ConfigError for keys and numbers that the scenario refuses.
OrbitBranch FollowOrbit(const OrbitToFollow& orbit, const std::function<void()>& advance = {});

}  // namespace impactlab
