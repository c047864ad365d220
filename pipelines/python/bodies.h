#pragma once
// What the parts of the module share of bodies and events.

#include <Eigen/Core>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "pipelines/python/arrays.h"
#include "pipelines/run/experiment.h"
#include "pipelines/states/states.h"

namespace impactlab::python {

inline constexpr double kStandardGravity = 9.80665;  // [m/s^2]

// Impacts, and what the audit needs to know of where they come from: of arrays an empty path.
struct Events {
  TableStates states;
  Eigen::Vector3d gravity_W = Eigen::Vector3d(0, 0, -kStandardGravity);
  std::vector<ImpactEvent>& list() { return states.table.events; }
  const std::vector<ImpactEvent>& list() const { return states.table.events; }
};

// The struck plane and gravity, in W.
struct Surface {
  Surface(const py::object& normal, double offset, const py::object& gravity);
  Plane plane;
  Eigen::Vector3d gravity_W;
};

// Fits of the experiment's laws to the accepted events, audited and corrected as `impactlab
// identify` does: fit.json, with states_audit.json as "states_audit". `force`: also of events that
// contradict a rigid body.
py::object Identified(const Experiment& experiment, const Events& events, bool force);

}  // namespace impactlab::python
