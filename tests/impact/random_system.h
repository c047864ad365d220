#pragma once
// Random impacts of multibody systems at several contacts for the tests.

#include <Eigen/Dense>
#include <random>

#include "impact/multi/system.h"
#include "tests/impact/random_contact.h"

namespace impactlab {

inline Eigen::MatrixXd Normal(std::mt19937_64& rng, Eigen::Index rows, Eigen::Index cols) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd m(rows, cols);
  for (Eigen::Index i = 0; i < m.size(); ++i) m.data()[i] = normal(rng);
  return m;
}

// A third of the systems have rows that depend on each other, half of them joints.
inline ImpactSystem RandomSystem(std::mt19937_64& rng, int width, int most_contacts = 12) {
  const auto integer = [&](int lo, int hi) {
    return std::uniform_int_distribution<int>(lo, hi)(rng);
  };
  ImpactSystem system;
  system.width = width;
  const int contacts = integer(1, most_contacts), n = integer(width, 14),
            joints = n > width + 1 ? integer(0, 1) * integer(0, (n - width) / 2) : 0;
  const Eigen::MatrixXd half = Normal(rng, n, n);
  system.M = half * half.transpose() + 0.1 * Eigen::MatrixXd::Identity(n, n);
  system.M = 0.5 * (system.M + system.M.transpose()).eval();
  system.rows = Normal(rng, width * contacts, n);
  if (integer(0, 2) == 0) {
    const int rank = integer(width, std::min(n, width * contacts));
    system.rows = Normal(rng, width * contacts, rank) * system.rows.topRows(rank).eval();
  }
  // Most systems can separate: normals share a direction.
  if (integer(0, 4) > 0) {
    const Eigen::RowVectorXd common = system.rows.colwise().sum();
    for (int i = 0; i < contacts; ++i) {
      auto row = system.rows.row(width * i + width - 1);
      if (row.dot(common) < 0) row *= -1;
    }
  }
  system.joints = Normal(rng, joints, n);
  const Eigen::VectorXd u = Normal(rng, n, 1);
  system.u_minus = joints == 0
                       ? u
                       : Eigen::VectorXd(u - system.joints.completeOrthogonalDecomposition().solve(
                                                 system.joints * u));
  const bool elastic = integer(0, 3) == 0;
  for (int i = 0; i < contacts; ++i) {
    ContactProperties c;
    c.e = elastic ? 1 : integer(0, 9) == 0 ? 0 : Uniform(rng, 0, 1);
    c.mu_k = width == 1 || integer(0, 4) == 0 ? 0 : Uniform(rng, 0, 1);
    c.mu_s = c.mu_k * Uniform(rng, 1, 1.4);
    c.stiffness = LogUniform(rng, 0.1, 10);
    c.gap = integer(0, 3) == 0 ? Uniform(rng, 0, 0.1) : 0;
    system.contacts.push_back(c);
  }
  return system;
}

}  // namespace impactlab
