#pragma once
// Bodies, joints and contacts of a system file. Private to the pipelines room.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "data/yaml/yaml.h"
#include "impact/multi/system_builders.h"
#include "pipelines/simulate/system_config.h"

namespace impactlab::pipelines {

// Friction, restitution and compliance of a contact: keys of `node`, where they are missing those
// of `every` (every_contact).
ContactProperties ReadProperties(const YamlNode& node, const YamlNode& every);

// A body with pose and velocities; `given` says which of its velocities the file gives, in the
// order of SystemVelocities.
struct BodyEntry {
  SystemBody body;
  std::vector<bool> given;
  YamlNode node;
};
BodyEntry ReadSystemBody(const YamlNode& node, bool planar);
// The list `bodies`: every name once, and none of them "ground".
std::vector<BodyEntry> ReadBodies(const YamlNode& root, bool planar);

struct JointEntry {
  SystemJoint joint;
  YamlNode node;
};
// The list `joints`; empty where it is missing.
std::vector<JointEntry> ReadJoints(const YamlNode& root, const std::vector<BodyEntry>& bodies,
                                   bool planar);

// Generalised velocities of the bodies as the file gives them, and what the joints ask for where it
// gives none. `joint_rows` are those of the bodies at their poses. ConfigError where joints leave a
// velocity open or the velocities break a joint.
Eigen::VectorXd ReadVelocities(const std::vector<BodyEntry>& bodies,
                               const std::vector<JointEntry>& joints,
                               const Eigen::MatrixXd& joint_rows, bool planar);

// Names of the generalised velocities of a body, as impact/multi/system_builders.h orders them.
void AddVelocities(const std::string& body, bool planar, std::vector<SystemVelocity>& velocities);

// A point; planar: [x, z].
Eigen::Vector3d ToPoint(const std::vector<double>& v, bool planar);

// Keys planar, bodies, joints, contacts of the file. Velocities left out on a body with a joint
// follow from the joints.
void ReadBodySystem(const YamlNode& root, const YamlNode& every, SystemToPredict& out);

}  // namespace impactlab::pipelines
