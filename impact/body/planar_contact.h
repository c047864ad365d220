#pragma once
// One contact in the x-n plane of F, and the contact of two free bodies.
//
// v_t = v_x and v_n are the velocity of the contact point relative to what it strikes, A = [[A_tt,
// A_tn], [A_tn, A_nn]] the contact-space inverse mass [1/kg]: v_plus = v_minus + A J. The Bristol
// thesis calls them A, -B (hat), C. By normal impulse, slip in the direction s = sgn(v_t) changes
// v_t at the rate k_t = A_tn - s mu_k A_tt and v_n at k_n = A_nn - s mu_k A_tn; sticking changes
// v_n at det A / A_tt.

#include <Eigen/Core>
#include <optional>

#include "impact/body/body.h"
#include "impact/body/contact.h"

namespace impactlab {

struct PlanarContact {
  double A_tt = 1, A_tn = 0, A_nn = 1;  // [1/kg]; positive definite
  double v_t = 0, v_n = 0;              // before the impact [m/s]; v_n < 0 approaches

  double Determinant() const { return A_tt * A_nn - A_tn * A_tn; }
  // Kinetic energy that the impact can turn over, v' A^-1 v / 2 [J]: the rest of the bodies' energy
  // does not take part.
  double Energy(double v_t_now, double v_n_now) const {
    return (A_nn * v_t_now * v_t_now - 2 * A_tn * v_t_now * v_n_now + A_tt * v_n_now * v_n_now) /
           (2 * Determinant());
  }
};

// The contact in its plane; empty where it moves out of it (IsPlanar).
std::optional<PlanarContact> PlanarPart(const ContactState& contact);
// The same in space, with A_yy = A_tt.
ContactState InSpace(const PlanarContact& contact);

// A free body whose point at lever (r_t, r_n) from its centre of mass strikes a surface that stands
// still [kg, kg m^2, m, m/s, rad/s]. `theta_dot` is counter-clockwise seen with t right and n up.
PlanarContact PlanarBodyContact(double mass, double inertia, double r_t, double r_n, double v_t,
                                double v_n, double theta_dot);

// A body on its way, for the contact of two.
struct ContactBody {
  const Body* body = nullptr;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Eigen::Vector3d v_WB = Eigen::Vector3d::Zero(), omega_WB = Eigen::Vector3d::Zero();
};

// `striking` against `struck`: F_z of X_WF points out of the struck body into the striking one, the
// impulse J_F acts on the striking body and -J_F on the struck one, v_minus_F is their relative
// velocity and A_F the sum of both inverse masses.
ContactState MakeContactState(const ContactBody& striking, const ContactBody& struck,
                              const Eigen::Isometry3d& X_WF);

}  // namespace impactlab
