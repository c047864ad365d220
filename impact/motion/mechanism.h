#pragma once
// Bodies that move and the surfaces they may touch, as functions of time and state: what the
// simulator (impact/motion/simulate.h) follows through flight, contact and impacts.
//
// Coordinates q, generalised velocities u with dq/dt = N(q) u, joints C u + c = 0, contacts at the
// points of smallest gap:
//
//   M du/dt = force + G' lambda + C' reaction
//   v = G u + v_0 (contact velocities), dv/dt = G du/dt + bias
//
// v_0 is minus the velocity of the surface (a vibrating floor, a belt). A contact presses with
// lambda_n >= 0 where its gap is 0. At an impact M, C and G are frozen and the impact laws of this
// room take over. Sources: the Bristol thesis, chapters 4 and 5; Shen and Townsend 1998,
// eqs 1-11.

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "impact/multi/system.h"

namespace impactlab {

struct MechanismState {
  double t = 0;       // [s]
  Eigen::VectorXd q;  // coordinates
  Eigen::VectorXd u;  // generalised velocities
};

struct MechanismTerms {
  Eigen::MatrixXd M;      // n_u x n_u mass matrix, symmetric positive definite
  Eigen::VectorXd force;  // n_u: applied forces less the terms of Coriolis and gyroscopes
  // Joints, sized by the mechanism; 0 rows for none.
  Eigen::MatrixXd joint_rows;  // c x n_u
  Eigen::VectorXd joint_bias;  // c: d/dt (C u) = C du/dt + bias
  // c: by how far the joint is off in position [m] or [rad]; its rate is C u
  Eigen::VectorXd joint_error;
};

struct ContactTerms {
  // distance of the points of least distance [m], negative inside; its rate is the last entry of v
  double gap = 0;
  Eigen::MatrixXd rows;       // width x n_u; tangents first, normal last
  Eigen::VectorXd v_surface;  // width: velocity of the surface's point in F; v = rows u - v_surface
  // width: dv/dt = rows du/dt + bias, all that does not come from du/dt. The tangential entries
  // hold where the contact sticks (v_t = 0)
  Eigen::VectorXd bias;
};

struct Mechanism {
  std::string name;
  int n_q = 0, n_u = 0;
  // rows of a contact: 2 planar (F_x, n), 3 spatial (F_x, F_y, n)
  int width = 2;
  std::vector<ContactProperties> contacts;  // name, mu_k, mu_s, e; the others are not used
  // with unit, as columns of files: "x_m", "theta_rad", "v_x_m_per_s"
  std::vector<std::string> q_names, u_names;
  // times at which forces or surfaces change abruptly [s], ascending
  std::vector<double> breaks;

  std::function<void(const MechanismState&, Eigen::VectorXd& dq)> rates;  // N(q) u
  std::function<void(const MechanismState&, MechanismTerms&)> terms;
  std::function<void(const MechanismState&, int contact, ContactTerms&)> contact;
  // [J]; empty: there is none, and energy is not audited
  std::function<double(const MechanismState&)> potential;
  // brings q back to its manifold (unit quaternions); empty: nothing to do
  std::function<void(Eigen::VectorXd& q)> normalise;
  // Largest angular frequency at which gaps may change [rad/s]: spin of bodies, vibration of
  // surfaces. Steps stay well below its inverse.
  std::function<double(const MechanismState&)> frequency;
  // True: no force or surface can do positive work on the mechanism; its energy must never grow.
  bool passive = true;
};

// Throws ConfigError unless sizes agree, functions are there and the state is finite and fits the
// mechanism.
void CheckMechanism(const Mechanism& mechanism, const MechanismState& start);

double KineticEnergy(const Mechanism& mechanism, const MechanismState& state);
// Kinetic and potential energy [J].
double Energy(const Mechanism& mechanism, const MechanismState& state);

// The mechanism as an impact sees it, frozen at `state`: contacts `touching`, velocities relative
// to the surfaces. Where surfaces move, u is shifted by the least motion that makes every surface
// stand still (`shift`, to be added to u_plus again); throws ConfigError where no such motion
// exists.
ImpactSystem FreezeForImpact(const Mechanism& mechanism, const MechanismState& state,
                             const std::vector<int>& touching, Eigen::VectorXd& shift);

}  // namespace impactlab
