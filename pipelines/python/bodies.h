#pragma once
// What the parts of the module share of bodies and events.

#include <Eigen/Core>
#include <filesystem>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "pipelines/python/arrays.h"
#include "pipelines/run/experiment.h"
#include "pipelines/states/states.h"

namespace impactlab::python {

inline constexpr double kStandardGravity = 9.80665;  // [m/s^2]

struct Events {
  std::vector<ImpactEvent> list;
  // what the audit needs to know of where they come from
  std::filesystem::path path;  // empty: of arrays
  bool of_run = false;         // written by this program: frame errors are taken out already
  bool attitudes = false;      // stated, or the body needs none
  bool places = false;         // of the centre, stated
  Plane floor;
  Eigen::Vector3d gravity_W = Eigen::Vector3d(0, 0, -kStandardGravity);
};

// Events of a table with what an experiment declares of it.
Events EventsOf(TableStates states, const Eigen::Vector3d& gravity_W);

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
