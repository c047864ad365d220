#pragma once
// A system file (schema impactlab.system/1): an impact at any number of contacts, to be put through
// every law. Every key stands in data/README.md.

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "impact/multi/global.h"
#include "impact/multi/system.h"

namespace impactlab {

// What one generalised velocity is: a component of a body's motion, or a velocity the file names
// itself.
struct SystemVelocity {
  std::string body;       // name of the body; of the velocity itself where the file gives matrices
  std::string component;  // "v_x", "theta_dot", "omega_z", "rate"; empty for matrices
  std::string unit;       // "m/s", "rad/s"; empty where the file does not say
};

struct SystemToPredict {
  std::string name, source;
  ImpactSystem system;
  std::vector<SystemVelocity> velocities;
  // e_star empty: the contacts have different e and the file names none for all
  GlobalOptions global;
  std::vector<int> order;  // of sequences, by contact; empty: the one that approaches fastest first
  // orders, and combinations of stiffness, tried for the set of outcomes; 0: what takes a moment
  int max_tried = 0;
  // the stiffness of every contact is multiplied by, all combinations
  std::vector<double> ratios = {0.1, 1, 10};
};

// A larger system would keep the laws busy for minutes.
inline constexpr int kMostSystemContacts = 32;
inline constexpr int kMostSystemVelocities = 192;

// True when the file says it is a system. ConfigError when it is no YAML or has no schema.
bool IsSystemFile(const std::filesystem::path& path);

// ConfigError "file:line: key: found, allowed": for all that the keys alone say is wrong, and for a
// system that no impact can have (mass matrix not positive definite, velocities that break a joint,
// a contact of a body with itself).
SystemToPredict LoadSystem(const std::filesystem::path& path);
// `name` stands for the file in messages.
SystemToPredict ParseSystem(const std::string& text, const std::string& name);

}  // namespace impactlab
