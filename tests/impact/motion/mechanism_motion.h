#pragma once
// Motion of a mechanism for tests of its derivatives: a short way along given accelerations, and a
// random state.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "impact/motion/mechanism.h"

namespace impactlab {

// State h later (either sign) when u changes by du per second: fourth-order steps of dq/dt = N(q)
// u.
inline MechanismState Advance(const Mechanism& mechanism, const MechanismState& state,
                              const Eigen::VectorXd& du, double h) {
  const auto rate = [&](double dt, const Eigen::VectorXd& q) {
    Eigen::VectorXd dq;
    mechanism.rates({state.t + dt, q, state.u + dt * du}, dq);
    return dq;
  };
  const Eigen::VectorXd k1 = rate(0, state.q), k2 = rate(h / 2, state.q + h / 2 * k1),
                        k3 = rate(h / 2, state.q + h / 2 * k2), k4 = rate(h, state.q + h * k3);
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
    state.u -= terms.joint_rows.completeOrthogonalDecomposition().solve(
        Eigen::VectorXd(terms.joint_rows * state.u));
}

inline Eigen::VectorXd RandomVector(Eigen::Index n, std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  return Eigen::VectorXd::NullaryExpr(n, [&] { return uniform(generator); });
}

inline Eigen::VectorXd ContactVelocity(const Mechanism& mechanism, const MechanismState& state,
                                       int contact) {
  ContactTerms terms;
  mechanism.contact(state, contact, terms);
  return terms.rows * state.u - terms.v_surface;
}

// Gap and contact velocity of contact i change as its terms say while u changes by du per second.
// Where the frame turns (between bodies) the tangential velocity is taken away first, because their
// bias holds there only.
inline void ExpectContactRates(const Mechanism& m, MechanismState state, int i, bool frame_turns,
                               const Eigen::VectorXd& du) {
  constexpr double kStep = 1e-4;
  ContactTerms terms, before, after;
  m.contact(state, i, terms);
  const int n = m.width - 1;
  if (frame_turns) {
    const Eigen::MatrixXd tangents = terms.rows.topRows(n);
    state.u -= tangents.completeOrthogonalDecomposition().solve(
        Eigen::VectorXd(tangents * state.u - terms.v_surface.head(n)));
    m.contact(state, i, terms);
    EXPECT_GT(std::abs(ContactVelocity(m, state, i)[n]), 0.05);
  }
  const MechanismState earlier = Advance(m, state, du, -kStep),
                       later = Advance(m, state, du, kStep);
  m.contact(earlier, i, before);
  m.contact(later, i, after);
  EXPECT_NEAR((after.gap - before.gap) / (2 * kStep), ContactVelocity(m, state, i)[n], 2e-5);
  const Eigen::VectorXd rate =
      (ContactVelocity(m, later, i) - ContactVelocity(m, earlier, i)) / (2 * kStep);
  EXPECT_LT((rate - terms.rows * du - terms.bias).cwiseAbs().maxCoeff(),
            2e-4 * (1 + terms.bias.norm()));
}

// Power of the free motion by differences of the energy [W].
inline double FreePower(const Mechanism& m, const MechanismState& state) {
  constexpr double kStep = 1e-4;
  const Eigen::VectorXd du = FreeAcceleration(m, state);
  return (Energy(m, Advance(m, state, du, kStep)) - Energy(m, Advance(m, state, du, -kStep))) /
         (2 * kStep);
}

}  // namespace impactlab
