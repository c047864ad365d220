#pragma once
// One contact, in the notation of the project: the contact frame F has F_z = n out of the surface
// into the body, F_x downhill, F_y = n x F_x. Impulses J_F act on the body, J_n >= 0; v_plus_F =
// v_minus_F + A_F * J_F.

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "data/files/restitution_law.h"

namespace impactlab {

// What a single-contact law needs to know of the bodies that meet.
struct ContactState {
  // contact frame in W; origin at the contact point P
  Eigen::Isometry3d X_WF = Eigen::Isometry3d::Identity();
  // velocity of the body's contact point relative to the surface [m/s]
  Eigen::Vector3d v_minus_F = Eigen::Vector3d::Zero();
  // contact-space inverse mass [1/kg], symmetric positive definite
  Eigen::Matrix3d A_F = Eigen::Matrix3d::Identity();
};

// True when the motion stays in the x-n plane of F: v_y = 0 and A_xy = A_yn = 0 (relative 1e-12).
bool IsPlanar(const ContactState& contact);

// Restitution and friction of one contact, for every law: `e` stands for e*, e_p or e_n, as each
// law reads it.
struct Coefficients {
  double e = 0.5;     // in [0, 1]
  double mu_k = 0.2;  // kinetic friction, >= 0
  // static friction, >= mu_k; Brach's, Whittaker's and Smith's laws know mu_k alone
  double mu_s = 0.2;
  // Tangential restitution of a contact that ends sticking, in [0, 1]; of Whittaker's law in
  // [-1, 1].
  double e_t = 0;
};

// Coulomb friction with one law of restitution. mu_s decides whether the contact, once at rest,
// sticks.
//
// A contact that sticks at the end may have stored work of friction in tangential strain and give
// some of it back (Walton, in Roco (ed.), Particulate Two-Phase Flow, 1993; Maw, Barber and
// Fawcett, Wear 38 (1976) 101; the Bristol thesis, section 2.3, as an option of Whittaker's law):
// v_t+ = -e_t v_t-, by a tangential impulse after the law's path, as far as the cone of mu_k about
// the whole impulse, the separation of the bodies and the work that friction took allow. The normal
// impulse and its work, which define restitution, stay those of the path.
struct ImpactModel : Coefficients {
  RestitutionLaw law = RestitutionLaw::kEnergetic;  // whose coefficient `e` is; e_t in [0, 1]
};

}  // namespace impactlab
