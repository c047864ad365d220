#include "impact/motion/mechanism.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A residual below this part of the speeds is rounding.
constexpr double kRounding = 1e-9;
// How far joints may be off at the start: of the speeds, and in m or rad. The simulator takes it
// away.
constexpr double kDrift = 1e-6;

[[noreturn]] void FailMechanism(const Mechanism& mechanism, const std::string& key,
                                const std::string& found, const std::string& allowed) {
  throw ConfigError(
      fmt::format("mechanism '{}': {}: found {}, allowed {}", mechanism.name, key, found, allowed));
}

std::string Size(const MatrixXd& m) { return fmt::format("{} x {}", m.rows(), m.cols()); }

void CheckLength(const Mechanism& mechanism, const char* key, Eigen::Index found,
                 Eigen::Index wanted) {
  if (found != wanted)
    FailMechanism(mechanism, key, fmt::format("{} entries", found), std::to_string(wanted));
}

void CheckVector(const Mechanism& mechanism, const char* key, const VectorXd& v,
                 Eigen::Index wanted) {
  CheckLength(mechanism, key, v.size(), wanted);
  if (!v.allFinite())
    FailMechanism(mechanism, key, "a number that is not finite", "finite numbers");
}

void CheckMatrix(const Mechanism& mechanism, const char* key, const MatrixXd& m, Eigen::Index rows,
                 Eigen::Index cols) {
  if (m.rows() != rows || (rows > 0 && m.cols() != cols))
    FailMechanism(mechanism, key, Size(m), fmt::format("{} x {}", rows, cols));
  if (!m.allFinite())
    FailMechanism(mechanism, key, "a number that is not finite", "finite numbers");
}

// The contacts `touching` at `state` without any shift; the stacked velocities of their surfaces
// beside it.
ImpactSystem Freeze(const Mechanism& mechanism, const MechanismState& state,
                    const std::vector<int>& touching, VectorXd& v_surface) {
  ImpactSystem system;
  MechanismTerms terms;
  mechanism.terms(state, terms);
  system.width = mechanism.width;
  system.M = std::move(terms.M);
  system.joints = std::move(terms.joint_rows);
  system.u_minus = state.u;
  const int w = mechanism.width;
  const Eigen::Index m = w * static_cast<Eigen::Index>(touching.size());
  system.rows.resize(m, mechanism.n_u);
  system.contacts.reserve(touching.size());
  v_surface.resize(m);
  ContactTerms contact;
  Eigen::Index at = 0;
  for (const int i : touching) {
    mechanism.contact(state, i, contact);
    system.rows.middleRows(at, w) = contact.rows;
    v_surface.segment(at, w) = contact.v_surface;
    system.contacts.push_back(mechanism.contacts[static_cast<std::size_t>(i)]);
    at += w;
  }
  return system;
}

// Takes from u what the joints forbid; drift of an integration is of the order of its tolerance,
// and an impact starts from rows that hold.
void ProjectOnJoints(const MatrixXd& joints, VectorXd& u) {
  if (joints.rows() == 0) return;
  u -= joints.completeOrthogonalDecomposition().solve(joints * u);
}

}  // namespace

void CheckMechanism(const Mechanism& mechanism, const MechanismState& start) {
  if (mechanism.n_q < 1 || mechanism.n_u < 1)
    FailMechanism(mechanism, "n_q, n_u", fmt::format("{} and {}", mechanism.n_q, mechanism.n_u),
                  "at least 1 coordinate and velocity");
  if (mechanism.width != 2 && mechanism.width != 3)
    FailMechanism(mechanism, "width", std::to_string(mechanism.width),
                  "2 (planar) or 3 (in space)");
  if (!mechanism.rates || !mechanism.terms || !mechanism.frequency ||
      (!mechanism.contacts.empty() && !mechanism.contact))
    FailMechanism(mechanism, "functions", "one without a body",
                  "rates, terms, frequency and (with contacts) contact");
  CheckLength(mechanism, "q_names", static_cast<Eigen::Index>(mechanism.q_names.size()),
              mechanism.n_q);
  CheckLength(mechanism, "u_names", static_cast<Eigen::Index>(mechanism.u_names.size()),
              mechanism.n_u);
  if (!std::is_sorted(mechanism.breaks.begin(), mechanism.breaks.end()))
    FailMechanism(mechanism, "breaks", "times in disorder", "ascending times");
  if (!std::isfinite(start.t))
    FailMechanism(mechanism, "t", fmt::format("{}", start.t), "a finite time");
  CheckVector(mechanism, "q", start.q, mechanism.n_q);
  CheckVector(mechanism, "u", start.u, mechanism.n_u);

  VectorXd dq;
  mechanism.rates(start, dq);
  CheckVector(mechanism, "rates", dq, mechanism.n_q);
  MechanismTerms terms;
  mechanism.terms(start, terms);
  CheckMatrix(mechanism, "M", terms.M, mechanism.n_u, mechanism.n_u);
  CheckVector(mechanism, "force", terms.force, mechanism.n_u);
  const Eigen::Index joints = terms.joint_rows.rows();
  CheckMatrix(mechanism, "joint_rows", terms.joint_rows, joints, mechanism.n_u);
  CheckVector(mechanism, "joint_bias", terms.joint_bias, joints);
  CheckVector(mechanism, "joint_error", terms.joint_error, joints);
  for (Eigen::Index i = 0; i < joints; ++i) {
    const double rate = terms.joint_rows.row(i) * start.u,
                 speed =
                     terms.joint_rows.row(i).cwiseAbs().maxCoeff() * start.u.cwiseAbs().maxCoeff();
    if (std::abs(rate) > kDrift * speed)
      FailMechanism(mechanism, fmt::format("u at joint row {}", i),
                    fmt::format("a velocity of {:.3g}", rate), "0: the joints hold at the start");
    if (std::abs(terms.joint_error[i]) > kDrift)
      FailMechanism(mechanism, fmt::format("q at joint row {}", i),
                    fmt::format("{:.3g} m or rad", terms.joint_error[i]),
                    "0: the joints hold at the start");
  }
  for (std::size_t i = 0; i < mechanism.contacts.size(); ++i) {
    ContactTerms contact;
    mechanism.contact(start, static_cast<int>(i), contact);
    const std::string& name = mechanism.contacts[i].name;
    if (!std::isfinite(contact.gap))
      FailMechanism(mechanism, name + ": gap", fmt::format("{}", contact.gap), "a finite distance");
    CheckMatrix(mechanism, (name + ": rows").c_str(), contact.rows, mechanism.width, mechanism.n_u);
    CheckVector(mechanism, (name + ": v_surface").c_str(), contact.v_surface, mechanism.width);
    CheckVector(mechanism, (name + ": bias").c_str(), contact.bias, mechanism.width);
  }
  if (mechanism.contacts.empty()) return;
  // The mass matrix and the properties of contacts have one judge.
  std::vector<int> all(mechanism.contacts.size());
  std::iota(all.begin(), all.end(), 0);
  VectorXd v_surface;
  ImpactSystem system = Freeze(mechanism, start, all, v_surface);
  ProjectOnJoints(system.joints, system.u_minus);
  CheckSystem(system);
}

double KineticEnergy(const Mechanism& mechanism, const MechanismState& state) {
  MechanismTerms terms;
  mechanism.terms(state, terms);
  return 0.5 * state.u.dot(terms.M * state.u);
}

double Energy(const Mechanism& mechanism, const MechanismState& state) {
  return KineticEnergy(mechanism, state) + (mechanism.potential ? mechanism.potential(state) : 0);
}

ImpactSystem FreezeForImpact(const Mechanism& mechanism, const MechanismState& state,
                             const std::vector<int>& touching, VectorXd& shift) {
  VectorXd v_surface;
  ImpactSystem system = Freeze(mechanism, state, touching, v_surface);
  shift.setZero(mechanism.n_u);
  const double fastest = v_surface.size() > 0 ? v_surface.cwiseAbs().maxCoeff() : 0;
  if (fastest > 0) {
    const Eigen::Index m = system.rows.rows(), c = system.joints.rows();
    MatrixXd rows(m + c, mechanism.n_u);
    rows << system.rows, system.joints;
    VectorXd wanted(m + c);
    wanted << v_surface, VectorXd::Zero(c);
    shift = rows.completeOrthogonalDecomposition().solve(wanted);
    const VectorXd left = wanted - rows * shift;
    const double residual = left.cwiseAbs().maxCoeff();
    if (residual > kRounding * fastest) {
      std::vector<std::string> names;
      for (const ContactProperties& contact : system.contacts) names.push_back(contact.name);
      throw ConfigError(
          fmt::format("mechanism '{}': surfaces of {}: found motions that leave {:.3g} of {:.3g} "
                      "m/s whatever the bodies do, "
                      "allowed: surfaces that some motion of the bodies follows",
                      mechanism.name, fmt::join(names, ", "), residual, fastest));
    }
    system.u_minus -= shift;
  }
  ProjectOnJoints(system.joints, system.u_minus);
  return system;
}

}  // namespace impactlab
