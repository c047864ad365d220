#pragma once
// Exact solution of one frictional impact along the path of the normal impulse J_n.
//
// dv_F/dJ_n = A_F (n - mu_k * slip direction) while the contact slips; v_t = 0 while it sticks,
// which it does when the friction needed is inside the static cone; otherwise it slips again along
// the one direction that leaves v_t = 0. Compression ends where v_n = 0. The end of restitution is
// set by the law: Newton v_n+ = -e v_n-, Poisson J_n = (1 + e) J_n,c, energetic W_r = -e^2 W_c
// (Stronge). Sources: Shen and Townsend 1998 for the path; the Bristol thesis, eqs 3.43-3.52
// with erratum 3 (impact/REFERENCES.md), for the energetic law; Sun 2017, tables 2.2 and 3.1, for
// the cases.

#include <array>
#include <string>
#include <vector>

#include "impact/body/contact.h"

namespace impactlab {

enum class SolveStatus {
  kOk,
  kNoApproach,  // v_n >= 0 and nothing presses the bodies together: no impact, J = 0
  // input is not an impact problem (NaN, A_F not positive definite, coefficient out of range): see
  // reason
  kInvalid,
  kNotConverged  // spatial integration could not reach its tolerance; values are the last good ones
};

enum class ContactMode { kSlip, kStick };

// What ends at a point of the path; kRecovery: what tangential restitution gives back after its
// end.
enum class PathEvent { kStart, kSlipStops, kCompressionEnds, kEnd, kDense, kRecovery };

// State of the contact at one point of the path.
struct PathPoint {
  PathEvent event = PathEvent::kStart;
  ContactMode mode_after = ContactMode::kSlip;    // mode that holds from here on
  Eigen::Vector3d J_F = Eigen::Vector3d::Zero();  // impulse on the body so far [N s]
  Eigen::Vector3d v_F = Eigen::Vector3d::Zero();  // contact velocity [m/s]
  double work_n = 0;                              // work of the normal impulse so far [J]
  double work_t = 0;                              // work of friction so far [J], <= 0
};

// Case code: digit 0 slips all through in its first direction; 1, 2 first stop of slip in
// compression; 3, 4 in restitution; 5, 6 from rest. 1, 3, 5 then stick; 2, 4, 6 then slip (again).
// A spatial slip whose components change sign along F_x, F_y carries a letter: 'a' x kept and y
// reversed, 'b' x reversed and y kept, 'c' both; ' ' where none applies (planar, or digit 0, 1, 3,
// 5, 6).
struct ImpactCase {
  int digit = 0;
  char letter = ' ';
  std::string Name() const;  // "0", "2a", ...
};

struct ImpactOutcome {
  SolveStatus status = SolveStatus::kOk;
  std::string reason;                                  // why status is not kOk, empty otherwise
  Eigen::Vector3d J_F = Eigen::Vector3d::Zero();       // total impulse on the body [N s]
  Eigen::Vector3d v_plus_F = Eigen::Vector3d::Zero();  // contact velocity after [m/s]
  ImpactCase path_case;
  // total turning angle of the slip direction about n [rad]; a planar reversal counts pi
  double turn = 0;
  double work_n_c = 0;  // normal work in compression [J], <= 0
  double work_n_r = 0;  // normal work in restitution [J], >= 0
  // work of friction [J], <= 0; what tangential restitution gives back is in it
  double work_t = 0;
  // share of v_t- that comes back by tangential restitution: e_t, or less where a bound holds
  double recovered = 0;
  // bound on |v_plus_F - exact|/|v_minus_F| of the integration; 0 in closed form
  double error_bound = 0;
  // start, mode changes, end of compression, end, recovery; the first `path_size` are valid
  std::array<PathPoint, 6> path;
  int path_size = 0;
  // spatial slip only: points between those of `path`, in order of J_n, dense enough for quadrature
  std::vector<PathPoint> dense;

  bool usable() const { return status == SolveStatus::kOk || status == SolveStatus::kNoApproach; }
};

struct SolveOptions {
  // relative to |v_minus_F|, spatial slip only; ten times below the promised 1e-10
  double tolerance = 1e-11;
  bool dense_output = true;  // keep `dense`; switch off where only the result counts
};

ImpactOutcome Solve(const ContactState& contact, const ImpactModel& model,
                    const SolveOptions& options = {});

// Derivatives of the outcome where it is differentiable (one-sided at the mode boundaries).
struct ImpactDerivatives {
  Eigen::Vector3d v_plus_F = Eigen::Vector3d::Zero();
  Eigen::Vector3d J_F = Eigen::Vector3d::Zero();
  // d v_plus_F and d J_F by [v_minus_F (3) | A_F: xx, xy, xn, yy, yn, nn (6, symmetric pairs moved
  // together) | e | mu_k | mu_s].
  Eigen::Matrix<double, 3, 12> dv_plus = Eigen::Matrix<double, 3, 12>::Zero();
  Eigen::Matrix<double, 3, 12> dJ = Eigen::Matrix<double, 3, 12>::Zero();
  // by tangential restitution
  Eigen::Vector3d dv_plus_e_t = Eigen::Vector3d::Zero(), dJ_e_t = Eigen::Vector3d::Zero();
  ImpactCase path_case;
  SolveStatus status = SolveStatus::kOk;
};

// Exact derivatives by automatic differentiation of the closed form (planar) or of the integrated
// path (spatial). A planar contact is moved within its plane only: the rows and columns of v_y,
// A_xy, A_yy, A_yn are zero. mu_s chooses the mode and has no derivative.
ImpactDerivatives Differentiate(const ContactState& contact, const ImpactModel& model);

}  // namespace impactlab
