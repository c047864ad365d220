// Periodic motions of a scenario: orbits, their multipliers, and branches of them.

#include "pipelines/simulate/orbits.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <complex>
#include <map>

#include "data/files/atomic_file.h"
#include "pipelines/config/run_context.h"
#include "pipelines/python/arrays.h"

namespace impactlab::python {
namespace {

// Multipliers of a body that may be moved along its floor lie this near to 1, by differences.
constexpr double kNeutral = 1e-3;

using Numbers = std::map<std::string, double>;

bool IsStable(const PeriodicOrbit& orbit) {
  return std::all_of(orbit.multipliers.begin(), orbit.multipliers.end(),
                     [](const std::complex<double>& m) {
                       return std::abs(m) < 1 || std::abs(m - 1.0) < kNeutral;
                     });
}

py::array_t<std::complex<double>> ComplexArray(const Eigen::VectorXcd& values) {
  return py::array_t<std::complex<double>>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::dict NamedState(const std::vector<std::string>& names, const Eigen::VectorXd& values) {
  py::dict out;
  for (std::size_t k = 0; k < names.size(); ++k)
    out[names[k].c_str()] = values[static_cast<Eigen::Index>(k)];
  return out;
}

py::dict FoundOrbit(const std::filesystem::path& path, const Numbers& numbers, int periods,
                    double period) {
  PeriodicOrbit orbit;
  Mechanism mechanism;
  {
    const Unlocked unlocked;
    const Scenario scenario =
        ScenarioWith(ReadFile(path), path.string(), {numbers.begin(), numbers.end()});
    mechanism = scenario.mechanism;
    orbit = FindOrbit(scenario, period > 0 ? period : periods * SurfacePeriod(scenario));
  }
  py::dict out;
  out["usable"] = orbit.usable();
  out["reason"] = orbit.reason;
  out["period_s"] = orbit.period;
  out["q"] = NamedState(mechanism.q_names, orbit.start.q);
  out["u"] = NamedState(mechanism.u_names, orbit.start.u);
  out["multipliers"] = ComplexArray(orbit.multipliers);
  out["stable"] = orbit.usable() && IsStable(orbit);
  out["residual"] = orbit.residual;
  out["impacts"] = orbit.impacts;
  out["least_approach_m_per_s"] = orbit.least_approach;
  out["least_clearance_m"] = orbit.least_clearance;
  return out;
}

// A value of every point of a branch.
template <typename Value>
Doubles OverPoints(const OrbitBranch& branch, const Value& value) {
  std::vector<double> out;
  for (const OrbitPoint& point : branch.points) out.push_back(value(point));
  return ToArray(out);
}

py::dict BranchColumns(const OrbitBranch& branch, const Mechanism& mechanism) {
  py::dict out, q, u;
  for (Eigen::Index k = 0; k < mechanism.n_q; ++k)
    q[mechanism.q_names[static_cast<std::size_t>(k)].c_str()] =
        OverPoints(branch, [k](const OrbitPoint& p) { return p.orbit.start.q[k]; });
  for (Eigen::Index k = 0; k < mechanism.n_u; ++k)
    u[mechanism.u_names[static_cast<std::size_t>(k)].c_str()] =
        OverPoints(branch, [k](const OrbitPoint& p) { return p.orbit.start.u[k]; });
  const auto n = static_cast<py::ssize_t>(branch.points.size());
  const py::ssize_t width = mechanism.n_q + mechanism.n_u;
  py::array_t<bool> stable(n);
  py::array_t<int> impacts(n);
  py::array_t<std::complex<double>> multipliers(Shape{n, width});
  for (py::ssize_t i = 0; i < n; ++i) {
    const PeriodicOrbit& orbit = branch.points[static_cast<std::size_t>(i)].orbit;
    stable.mutable_at(i) = IsStable(orbit);
    impacts.mutable_at(i) = orbit.impacts;
    for (py::ssize_t k = 0; k < width; ++k)
      multipliers.mutable_at(i, k) = orbit.multipliers[static_cast<Eigen::Index>(k)];
  }
  out["value"] = OverPoints(branch, [](const OrbitPoint& p) { return p.parameter; });
  out["period_s"] = OverPoints(branch, [](const OrbitPoint& p) { return p.orbit.period; });
  out["q"] = q;
  out["u"] = u;
  out["multipliers"] = multipliers;
  out["stable"] = stable;
  out["impacts"] = impacts;
  out["residual"] = OverPoints(branch, [](const OrbitPoint& p) { return p.orbit.residual; });
  py::list bifurcations;
  for (const Bifurcation& found : branch.bifurcations) {
    py::dict one;
    one["kind"] = BifurcationName(found.kind);
    one["value"] = found.parameter;
    one["q"] = NamedState(mechanism.q_names, found.start.q);
    one["u"] = NamedState(mechanism.u_names, found.start.u);
    bifurcations.append(one);
  }
  out["bifurcations"] = bifurcations;
  out["end"] = branch.end;
  return out;
}

py::dict FollowedOrbit(const std::filesystem::path& path, const std::string& key, double first,
                       double step, double low, double high, const Numbers& numbers, int periods,
                       double period, int most_points) {
  OrbitBranch branch;
  Mechanism mechanism;
  {
    const Unlocked unlocked;
    const OrbitToFollow orbit{.text = ReadFile(path),
                              .file = path.string(),
                              .numbers = {numbers.begin(), numbers.end()},
                              .key = key,
                              .first = first,
                              .periods = periods,
                              .period = period,
                              .step = step,
                              .low = low,
                              .high = high,
                              .most_points = most_points};
    mechanism = ScenarioWith(orbit.text, orbit.file, orbit.numbers).mechanism;
    branch = FollowOrbit(orbit, [&] { unlocked.cancellation().Check(); });
  }
  return BranchColumns(branch, mechanism);
}

}  // namespace

void AddOrbits(py::module_& module) {
  module.def(
      "find_orbit", &FoundOrbit, py::arg("path"), py::kw_only(), py::arg("numbers") = Numbers{},
      py::arg("periods") = 1, py::arg("period_s") = 0.0,
      R"(The periodic motion near the start of a scenario, by Newton's method on its motion through impacts.

path: a scenario file (schema impactlab.scenario/1). numbers: of the file, replaced first, such as {"every_contact.e": 0.8}. periods: of
the surface that vibrates, in a period of the orbit; period_s: the period itself, where no surface vibrates.

Returns usable; reason, where no orbit was found or its derivative does not exist (contacts that last or are struck at once, a graze);
period_s; q and u of its start, dicts by name with unit; multipliers, complex: eigenvalues of the derivative over a period (Floquet),
largest first; stable: none but those at 1 of directions in which nothing changes lies outside the unit circle; residual, impacts;
least_approach_m_per_s of its impacts; least_clearance_m at which a contact turned back in flight. Raises ConfigError. Source: the
Bristol thesis, chapters 4 and 5.)");
  module.def(
      "follow_orbit", &FollowedOrbit, py::arg("path"), py::arg("key"), py::arg("first"),
      py::arg("step"), py::arg("low"), py::arg("high"), py::kw_only(),
      py::arg("numbers") = Numbers{}, py::arg("periods") = 1, py::arg("period_s") = 0.0,
      py::arg("most_points") = 500,
      R"(The branch of a periodic motion along a number of a scenario, through folds, stable or not, with its bifurcations.

path, numbers, periods, period_s: as in `find_orbit`. key: the number, such as "planes.0.frequency_rad_per_s"; first: its value where the
scenario's start is near an orbit; step: its largest change between two points, below 0 to begin downwards; low, high: range of the key.

Returns by point: value of the key, period_s, q and u (dicts of (n,)), multipliers (n, q and u), stable, impacts, residual;
bifurcations: a list of dicts (kind "fold", "period_doubling" or "grazing"; value, q, u); end: why the branch was not followed further.
Starts keep their phase in the period. Raises ConfigError; KeyboardInterrupt ends it.)");
}

}  // namespace impactlab::python
