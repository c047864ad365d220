#pragma once
// Impact of a multibody system at any number of contacts, redundant or not.
//
// Generalised velocities u with mass matrix M, bilateral joints C u = 0, and contact rows G: v = G
// u are the velocities of the contact points in their frames F (F_z = n out of the surface into the
// first body). Configuration is frozen during the impact, so M, C and G are constant and
//
//   M (u_plus - u_minus) = G' J + C' (reactions of the joints)
//   (Shen and Townsend 1998, eq. 11; Barjau et al. 2014, eq. 2.1; Rodriguez 2014, eq. 5.3)
//
// In the coordinates w = Z' L' u, where M = L L' and Z spans the motions the joints allow, kinetic
// energy is |w|^2 / 2 and the problem is w_plus = w_minus + H' J with H = G L'^-1 Z. Everything a
// law needs is the contact-space inverse mass A = H H' (Delassus matrix), which is singular when
// contacts are redundant.

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "impact/body/contact.h"

namespace impactlab {

// Friction, restitution and compliance of one contact of a system: elastic and without friction
// unless stated; `e` belongs to the law that is asked, and e_t is read where contacts are struck
// one at a time.
struct ContactProperties : Coefficients {
  ContactProperties() : Coefficients{.e = 1, .mu_k = 0, .mu_s = 0} {}
  ContactProperties(std::string its_name, const Coefficients& coefficients)
      : Coefficients(coefficients), name(std::move(its_name)) {}

  std::string name;
  double stiffness = 1;  // [N/m] > 0; laws of springs depend on its ratios only, unless gaps differ
  // [m] >= 0, distance of the point from its surface when the impact begins, of the order of the
  // indentation
  double gap = 0;
};

struct ImpactSystem {
  // Rows of `rows` for each contact: 1 normal alone (frictionless), 2 planar (F_x, n), 3 spatial
  // (F_x, F_y, n).
  int width = 3;
  // n x n mass matrix, symmetric positive definite, in units that make u' M u an energy [J]
  Eigen::MatrixXd M;
  // (width * contacts) x n, contact by contact: velocities of the contact points in their frames
  // [m/s]
  Eigen::MatrixXd rows;
  Eigen::MatrixXd joints;   // c x n, joints u = 0; rows may depend on each other; 0 rows for none
  Eigen::VectorXd u_minus;  // n generalised velocities before
  std::vector<ContactProperties> contacts;
};

// Throws ConfigError ("system: key: found, allowed") unless sizes agree, all numbers are finite, M
// is symmetric positive definite, properties lie in their ranges and u_minus fulfils the joints
// (1e-9 of its speed).
void CheckSystem(const ImpactSystem& system);

// The system as its contacts feel it. Stacked vectors hold `width` entries for each contact; the
// last one is normal.
struct ContactSpace {
  int width = 3;
  int n_contacts = 0;
  // (width * contacts) x freedoms: contact rows in coordinates in which kinetic energy is |w|^2 / 2
  // [kg^-1/2]
  Eigen::MatrixXd H;
  Eigen::MatrixXd A;         // H H', contact-space inverse mass [1/kg]
  Eigen::VectorXd v_minus;   // stacked contact velocities before [m/s]
  Eigen::VectorXd w_minus;   // velocity before in the coordinates of H [sqrt(J)]
  Eigen::MatrixXd response;  // n x (width * contacts): change of u for a stacked impulse

  // index of a contact's normal entry
  int Normal(int contact) const { return width * contact + width - 1; }
  // index of its first tangential entry
  int Tangent(int contact) const { return width * contact; }
  Eigen::MatrixXd NormalRows() const;  // contacts x freedoms
};

// Checks the system and reduces it.
ContactSpace ReduceToContacts(const ImpactSystem& system);

// What a single-contact law needs of contact `i` when the stacked velocities are `v` and nothing
// else touches. A system without tangential rows and a tangential direction in which the joints
// hold the point (A_tt = 0) get an unloaded tangential mass, so that friction does nothing there.
// X_WF stays the identity: the rows have chosen the frame.
ContactState SingleContact(const ContactSpace& space, const Eigen::VectorXd& v, int i);

// Kinetic energy of a system at generalised velocities u [J].
double KineticEnergy(const ImpactSystem& system, const Eigen::VectorXd& u);

// Rank of the normal rows: fewer than the contacts when the contacts are redundant (Barjau et al.
// 2014, section 4).
int NormalRank(const ContactSpace& space);

// True when some motion lifts every contact (H_n w > 0). A system without one is wedged between its
// surfaces; elastic impacts of it never end.
bool CanSeparate(const ContactSpace& space);

}  // namespace impactlab
