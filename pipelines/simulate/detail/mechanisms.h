#pragma once
// The two ways a scenario describes its mechanism. Private to the pipelines room.

#include <Eigen/Core>

#include "data/yaml/yaml.h"
#include "impact/motion/mechanism_bodies.h"
#include "pipelines/simulate/config.h"

namespace impactlab::pipelines {

// Keys planar, bodies, joints, planes, contacts of the file. gravity_W and drag as VisitFlight
// reads them.
void ReadMovingBodies(const YamlNode& root, const YamlNode& every, Scenario& out);
// Key mechanism: one of the literature by its name.
void ReadNamedMechanism(const YamlNode& root, const YamlNode& every, Scenario& out);

// Friction and restitution; keys of single impacts that motion does not use are faults.
ContactProperties ReadScenarioProperties(const YamlNode& node, const YamlNode& every);
// Mechanism, start and what is drawn.
void TakeMechanism(const BodyMechanism& made, Scenario& out);

}  // namespace impactlab::pipelines
