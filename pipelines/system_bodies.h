#pragma once
// Bodies, joints and contacts of a system file. Private to the pipelines room.

#include <string>
#include <vector>

#include "data/yaml.h"
#include "impact/system_builders.h"
#include "pipelines/system_config.h"

namespace impactlab::internal {

// Friction, restitution and compliance of a contact: keys of `node`, where they are missing those of `every` (every_contact).
ContactProperties ReadProperties(const YamlNode& node, const YamlNode& every);

// A body with pose and velocities; `moves` counts which of its velocities the file gives, in the order of SystemVelocities.
struct BodyEntry {
  SystemBody body;
  std::vector<bool> given;
};
BodyEntry ReadSystemBody(const YamlNode& node, bool planar);

// Names of the generalised velocities of a body, as system_builders.h orders them.
void AddVelocities(const std::string& body, bool planar, std::vector<SystemVelocity>& velocities);

// A direction that is not zero, of unit length; planar: [x, z].
Eigen::Vector3d ReadDirection(const YamlNode& node, const std::string& key, bool planar);
// A point; planar: [x, z].
Eigen::Vector3d ToPoint(const std::vector<double>& v, bool planar);

// Keys planar, bodies, joints, contacts of the document. Velocities left out on a body with a joint follow from the joints.
void ReadBodySystem(const YamlNode& root, const YamlNode& every, SystemToPredict& out);

}  // namespace impactlab::internal
