#pragma once
// Friction at contacts whose points are at rest.
//
// x stacks the tangential impulses of these contacts by the impulse parameter, B x + b are the
// rates of slip that they leave. Coulomb's law for contacts that stay or begin to move - B x + b =
// 0 at contact i and |x_i| <= radius_i, or x_i = -radius_i r / |r| with r its rate - is the
// condition of the minimum of x' B x / 2 + b' x over discs |x_i| <= radius_i. The problem is
// convex: a solution always exists and the rates are unique, also when contacts are redundant (B
// singular). For one contact it is the isoclinic that leaves rest: (g + mu B) e = b, g > 0
// (Rodriguez 2014 with erratum E4 of impact/REFERENCES.md). Where static friction exceeds kinetic
// friction, contacts that mu_s cannot hold slip by mu_k and the others are asked again.

#include <Eigen/Core>
#include <vector>

namespace impactlab::impact {

struct RestFriction {
  Eigen::VectorXd x;        // stacked friction, by the impulse parameter
  std::vector<bool> slips;  // by contact; the others stick
};

// B symmetric positive semidefinite, stacked by contact with one or two tangents each; held and
// slipping: radii mu_s n and mu_k n.
RestFriction SolveRestFriction(const Eigen::MatrixXd& B, const Eigen::VectorXd& b,
                               const Eigen::VectorXd& held, const Eigen::VectorXd& slipping);

}  // namespace impactlab::impact
