#pragma once
// What the parts of the module share of bodies and events.

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "pipelines/python/arrays.h"
#include "pipelines/run/experiment.h"

namespace impactlab::python {

inline constexpr double kStandardGravity = 9.80665;  // [m/s^2]

struct Events {
  std::vector<ImpactEvent> list;
};

// The struck plane and gravity, in W.
struct Surface {
  Surface(const py::object& normal, double offset, const py::object& gravity);
  Plane plane;
  Eigen::Vector3d gravity_W;
};

// Fits of the experiment's laws to the accepted events, as fit.json holds them. `force`: also of
// events that contradict a rigid body.
py::object Identified(const Experiment& experiment, const Events& events, bool force);

}  // namespace impactlab::python
