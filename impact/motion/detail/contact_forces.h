#pragma once
// Private to the simulator: forces of contacts that last, with Coulomb friction, and which of them
// slip, stick or open.
//
// Stacked as in ContactSpace, a = b + W lambda are the accelerations of the contact points (of
// contacts with v_n = 0). Each contact fulfils
//
//   0 <= lambda_n  perpendicular to  a_n >= 0
//   slipping (v_t != 0):  lambda_t = -mu_k lambda_n v_t / |v_t|
//   at rest (v_t = 0):    a_t = 0 and |lambda_t| <= mu_s lambda_n, or
//                         lambda_t = -mu_k lambda_n a_t / |a_t|
//
// Redundant contacts share normal forces as equal springs do (least norm), which is a rule of
// selection: rigid bodies do not say. Where a slipping contact asks for no finite force (Painleve,
// impact/law/painleve.h), `jammed` names it.

#include <Eigen/Core>
#include <vector>

#include "impact/multi/outcome.h"

namespace impactlab::impact {

struct ForceProblem {
  int width = 2;
  Eigen::MatrixXd W;      // contact-space inverse mass [1/kg]
  Eigen::VectorXd b;      // accelerations without contact forces [m/s^2]
  Eigen::VectorXd v;      // velocities [m/s]; the solution does not look at them
  Eigen::MatrixX2d slip;  // by contact: unit vector of v_t (planar: first entry +-1); zero: at rest
  std::vector<double> mu_k, mu_s;
  double least_acceleration = 1e-9;  // [m/s^2] below this a contact neither opens nor presses
};

struct ForceSolution {
  bool solved = false;
  int jammed = -1;            // contact without a finite force; -1: none
  Eigen::VectorXd lambda, a;  // stacked
  std::vector<PointMode> mode;
  // by contact: unit direction of slip, now or next; zero where it sticks or is open
  Eigen::MatrixX2d direction;
};

ForceSolution SolveContactForces(const ForceProblem& problem);

}  // namespace impactlab::impact
