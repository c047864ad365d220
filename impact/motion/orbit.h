#pragma once
// Periodic motions of a mechanism that impacts: derivative of its motion, Floquet multipliers,
// continuation.
//
// Between impacts the derivative of the flow is carried along the motion; at an impact it is
// multiplied by the saltation matrix
//
//   S = g_x + (f_out - g_x f_in - g_t) h_x / (h_t + h_x f_in)       (the Bristol thesis, eq. 4.21)
//
// with the reset g of the impact law, the gap h, and the rates f before and after. States are x =
// (q, u); time enters by the surfaces. The derivative exists while impacts come one at a time from
// free flight and none grazes (h_t + h_x f_in = 0). Eigenvalues of the derivative over a period are
// the Floquet multipliers: the orbit is stable where all lie inside the unit circle, but for those
// at 1 of directions in which nothing changes (a body on a level floor may be moved along it).
// Folds (saddle-node bifurcations) have one at 1, period doublings one at -1. Source: the Bristol
// thesis, chapter 5 with errata 12 and 13 (impact/REFERENCES.md).

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "impact/motion/simulate.h"

namespace impactlab {

struct MotionDerivative {
  MechanismState end;
  Eigen::MatrixXd dx;  // derivative of (q, u) at the end by (q, u) at the start
  int impacts = 0;
  double least_approach = 0;  // slowest approach of its impacts [m/s]; 0 without impacts
  // smallest gap at which a contact turned back in flight [m]; infinity: none did
  double least_clearance = 0;
  std::string reason;  // why there is no derivative; empty otherwise
  bool usable() const { return reason.empty(); }
};
MotionDerivative DifferentiateMotion(const Mechanism& mechanism, const MechanismState& start,
                                     double duration, const SimulateOptions& options = {});

struct PeriodicOrbit {
  MechanismState start;
  double period = 0;             // [s]
  Eigen::VectorXcd multipliers;  // largest first
  double residual = 0;           // largest entry of x(period) - x(0)
  int impacts = 0;
  double least_approach = 0;   // [m/s]
  double least_clearance = 0;  // [m]
  std::string reason;          // why none was found; empty otherwise
  bool usable() const { return reason.empty(); }
};
// Newton's method from `guess`, whose time is kept: for a mechanism whose surfaces move with that
// period, or a whole part of it.
PeriodicOrbit FindPeriodicOrbit(const Mechanism& mechanism, const MechanismState& guess,
                                double period, const SimulateOptions& options = {});

// A family of mechanisms by one parameter, with the period of the orbits that are followed.
struct OrbitFamily {
  std::function<Mechanism(double parameter)> mechanism;
  std::function<double(double parameter)> period;
};

enum class BifurcationKind {
  kFold,            // saddle-node: the branch turns back
  kPeriodDoubling,  // a multiplier passes -1
  kGrazing          // an impact of the orbit becomes a graze; the branch ends as it was
};
// Name used in files: "fold", "period_doubling", "grazing".
const char* BifurcationName(BifurcationKind kind);

struct OrbitPoint {
  double parameter = 0;
  PeriodicOrbit orbit;
};
struct Bifurcation {
  BifurcationKind kind = BifurcationKind::kFold;
  double parameter = 0;
  MechanismState start;
};
struct OrbitBranch {
  std::vector<OrbitPoint> points;
  std::vector<Bifurcation> bifurcations;
  std::string end;  // why it was not followed further
};
// Follows the orbit from `first` along the branch, through folds, by steps of at most `step` in the
// parameter, until it leaves [low, high], ends, or has `most_points`. A positive `step` begins
// upwards. Starts keep their phase in the period.
OrbitBranch FollowOrbit(const OrbitFamily& family, const OrbitPoint& first, double step, double low,
                        double high, int most_points = 500, const SimulateOptions& options = {});

// Smallest n for which points n apart agree, over the last 3 n of them; 0: none up to `longest`.
int FindPeriod(const std::vector<Eigen::VectorXd>& section, double tolerance, int longest);

}  // namespace impactlab
