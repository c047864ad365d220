#pragma once
// Motion of a mechanism for tests of its derivatives: a short way along given accelerations, and a random state.

#include <Eigen/Dense>
#include <random>

#include "impact/mechanism.h"

namespace impactlab {

// State h later (either sign) when u changes by du per second: fourth-order steps of dq/dt = N(q) u.
inline MechanismState Advance(const Mechanism& mechanism, const MechanismState& state, const Eigen::VectorXd& du, double h) {
  const auto rate = [&](double dt, const Eigen::VectorXd& q) {
    Eigen::VectorXd dq;
    mechanism.rates({state.t + dt, q, state.u + dt * du}, dq);
    return dq;
  };
  const Eigen::VectorXd k1 = rate(0, state.q), k2 = rate(h / 2, state.q + h / 2 * k1), k3 = rate(h / 2, state.q + h / 2 * k2),
                        k4 = rate(h, state.q + h * k3);
  return {state.t + h, state.q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), state.u + h * du};
}

// Accelerations without contacts.
inline Eigen::VectorXd FreeAcceleration(const Mechanism& mechanism, const MechanismState& state) {
  MechanismTerms terms;
  mechanism.terms(state, terms);
  const Eigen::Index n = terms.M.rows(), c = terms.joint_rows.rows();
  Eigen::MatrixXd K = Eigen::MatrixXd::Zero(n + c, n + c);
  K.topLeftCorner(n, n) = terms.M;
  K.topRightCorner(n, c) = terms.joint_rows.transpose();
  K.bottomLeftCorner(c, n) = terms.joint_rows;
  Eigen::VectorXd rhs(n + c);
  rhs << terms.force, -terms.joint_bias;
  return K.fullPivLu().solve(rhs).head(n);
}

// Joints hold in velocity.
inline void FulfilJoints(const Mechanism& mechanism, MechanismState& state) {
  MechanismTerms terms;
  mechanism.terms(state, terms);
  if (terms.joint_rows.rows() > 0)
    state.u -= terms.joint_rows.completeOrthogonalDecomposition().solve(Eigen::VectorXd(terms.joint_rows * state.u));
}

inline Eigen::VectorXd RandomVector(Eigen::Index n, std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  return Eigen::VectorXd::NullaryExpr(n, [&] { return uniform(generator); });
}

inline Eigen::VectorXd ContactVelocity(const Mechanism& mechanism, const MechanismState& state, int contact) {
  ContactTerms terms;
  mechanism.contact(state, contact, terms);
  return terms.rows * state.u - terms.v_surface;
}

}  // namespace impactlab
