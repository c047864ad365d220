#include "impact/multi/system.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A pivot of a rank decision below this, relative to the largest, counts as zero.
constexpr double kSystemRank = 1e-10;

[[noreturn]] void FailSystem(const std::string& key, const std::string& found,
                             const std::string& allowed) {
  throw ConfigError(fmt::format("system: {}: found {}, allowed {}", key, found, allowed));
}

std::string Size(const MatrixXd& m) { return fmt::format("{} x {}", m.rows(), m.cols()); }

void CheckProperties(const ContactProperties& contact, size_t i) {
  const auto check = [&](const char* key, double value, bool ok, const char* allowed) {
    if (std::isfinite(value) && ok) return;
    const std::string name = contact.name.empty() ? std::to_string(i) : contact.name;
    FailSystem(fmt::format("contact {}: {}", name, key), fmt::format("{}", value), allowed);
  };
  check("mu_k", contact.mu_k, contact.mu_k >= 0, "at least 0");
  check("mu_s", contact.mu_s, contact.mu_s >= contact.mu_k, "at least mu_k");
  check("e", contact.e, contact.e >= 0 && contact.e <= 1, "0 to 1");
  check("stiffness", contact.stiffness, contact.stiffness > 0, "above 0");
  check("gap", contact.gap, contact.gap >= 0, "at least 0");
}

// Orthonormal basis of the null space of C (rows may depend on each other).
MatrixXd NullSpace(const MatrixXd& C, Eigen::Index n) {
  if (C.rows() == 0) return MatrixXd::Identity(n, n);
  Eigen::ColPivHouseholderQR<MatrixXd> qr(C.transpose());
  qr.setThreshold(kSystemRank);
  const MatrixXd Q = qr.householderQ() * MatrixXd::Identity(n, n);
  return Q.rightCols(n - qr.rank());
}

}  // namespace

void CheckSystem(const ImpactSystem& system) {
  const Eigen::Index n = system.M.rows(), m = static_cast<Eigen::Index>(system.contacts.size());
  if (system.width < 1 || system.width > 3)
    FailSystem("width", std::to_string(system.width), "1, 2 or 3 rows for each contact");
  if (n == 0 || system.M.cols() != n)
    FailSystem("M", Size(system.M), "a square matrix with at least one row");
  if (m == 0) FailSystem("contacts", "none", "at least one");
  if (system.rows.rows() != system.width * m || system.rows.cols() != n) {
    FailSystem("rows", Size(system.rows),
               fmt::format("{} x {} (width times contacts, velocities)", system.width * m, n));
  }
  if (system.u_minus.size() != n)
    FailSystem("u_minus", fmt::format("{} entries", system.u_minus.size()), std::to_string(n));
  if (system.joints.rows() > 0 && system.joints.cols() != n)
    FailSystem("joints", Size(system.joints), fmt::format("{} columns", n));
  if (!system.M.allFinite()) FailSystem("M", "a number that is not finite", "finite numbers");
  if (!system.rows.allFinite()) FailSystem("rows", "a number that is not finite", "finite numbers");
  if (!system.joints.allFinite())
    FailSystem("joints", "a number that is not finite", "finite numbers");
  if (!system.u_minus.allFinite())
    FailSystem("u_minus", "a number that is not finite", "finite numbers");
  if ((system.M - system.M.transpose()).cwiseAbs().maxCoeff() >
      1e-9 * system.M.cwiseAbs().maxCoeff()) {
    FailSystem("M", "an unsymmetric matrix", "a symmetric positive definite matrix");
  }
  if (system.M.llt().info() != Eigen::Success)
    FailSystem("M", "a matrix that is not positive definite",
               "a symmetric positive definite matrix");
  // Squares and products of four such numbers are numbers.
  constexpr double kLeast = 1e-60, kMost = 1e60;
  const VectorXd diagonal = system.M.diagonal();
  if (!(diagonal.minCoeff() >= kLeast && diagonal.maxCoeff() <= kMost))
    FailSystem(
        "M", fmt::format("masses from {:.3g} to {:.3g}", diagonal.minCoeff(), diagonal.maxCoeff()),
        fmt::format("{:g} to {:g}", kLeast, kMost));
  const double fastest = system.u_minus.cwiseAbs().maxCoeff();
  if (fastest != 0 && !(fastest >= kLeast && fastest <= kMost))
    FailSystem("u_minus", fmt::format("velocities of {:.3g}", fastest),
               fmt::format("0, or {:g} to {:g} at most", kLeast, kMost));
  for (size_t i = 0; i < system.contacts.size(); ++i) CheckProperties(system.contacts[i], i);
  for (Eigen::Index i = 0; i < system.joints.rows(); ++i) {
    const double rate = system.joints.row(i) * system.u_minus;
    // Where all that counts is small, what is left is the rounding of the other velocities.
    const double rounding = 1e-13 * system.joints.row(i).cwiseAbs().maxCoeff() * fastest;
    if (std::abs(rate) >
        1e-9 * system.joints.row(i).cwiseAbs() * system.u_minus.cwiseAbs() + rounding) {
      FailSystem(fmt::format("u_minus at joint row {}", i), fmt::format("a velocity of {}", rate),
                 "0: the joints hold before the impact");
    }
  }
}

MatrixXd ContactSpace::NormalRows() const {
  MatrixXd rows(n_contacts, H.cols());
  for (int i = 0; i < n_contacts; ++i) rows.row(i) = H.row(Normal(i));
  return rows;
}

ContactSpace ReduceToContacts(const ImpactSystem& system) {
  CheckSystem(system);
  ContactSpace space;
  space.width = system.width;
  space.n_contacts = static_cast<int>(system.contacts.size());
  const Eigen::LLT<MatrixXd> llt(system.M);
  const auto L = llt.matrixL();
  // Columns of `columns` hold L^-1 X' for the rows X.
  const auto in_energy_coordinates = [&](const MatrixXd& rows) -> MatrixXd {
    return L.solve(rows.transpose()).transpose();
  };
  const MatrixXd C = system.joints.rows() > 0 ? in_energy_coordinates(system.joints)
                                              : MatrixXd(0, system.M.rows());
  const MatrixXd Z = NullSpace(C, system.M.rows());
  space.H = in_energy_coordinates(system.rows) * Z;
  space.A = space.H * space.H.transpose();
  space.v_minus = system.rows * system.u_minus;
  space.w_minus = Z.transpose() * (llt.matrixU() * system.u_minus);
  space.response = llt.matrixU().solve(Z * space.H.transpose());
  return space;
}

ContactState SingleContact(const ContactSpace& space, const VectorXd& v, int i) {
  ContactState state;
  const int w = space.width, at = space.Tangent(i);
  const double A_nn = space.A(space.Normal(i), space.Normal(i));
  state.A_F = A_nn * Eigen::Matrix3d::Identity();
  state.v_minus_F.setZero();
  const Eigen::MatrixXd block = space.A.block(at, at, w, w);
  if (w == 3) state.A_F = block, state.v_minus_F = v.segment(at, 3);
  if (w == 2) {
    state.A_F(0, 0) = state.A_F(1, 1) = block(0, 0);
    state.A_F(0, 2) = state.A_F(2, 0) = block(0, 1);
    state.v_minus_F.x() = v[at];
  }
  state.v_minus_F.z() = v[space.Normal(i)];
  for (int t = 0; t < 2; ++t) {
    if (state.A_F(t, t) > kSystemRank * A_nn) continue;
    state.A_F.row(t).setZero();
    state.A_F.col(t).setZero();
    state.A_F(t, t) = A_nn;
  }
  return state;
}

double KineticEnergy(const ImpactSystem& system, const VectorXd& u) {
  return 0.5 * u.dot(system.M * u);
}

int NormalRank(const ContactSpace& space) {
  Eigen::ColPivHouseholderQR<MatrixXd> qr(space.NormalRows().transpose());
  qr.setThreshold(kSystemRank);
  return static_cast<int>(qr.rank());
}

bool CanSeparate(const ContactSpace& space) {
  // Gordan: either H_n w > 0 has a solution, or some p >= 0, not all zero, has H_n' p = 0. The
  // shortest vector of the convex hull of the rows decides: zero means wedged. Wolfe's active-set
  // iteration in the form of non-negative least squares for |H_n' p|^2 + (1 - sum p)^2.
  MatrixXd B(space.H.cols() + 1, space.n_contacts);
  const MatrixXd rows = space.NormalRows();
  for (int j = 0; j < space.n_contacts; ++j) {
    const double norm = rows.row(j).norm();
    if (!(norm > 0)) return false;  // a point that cannot move cannot separate
    B.col(j).head(space.H.cols()) = rows.row(j).transpose() / norm;
    B(space.H.cols(), j) = 1;
  }
  VectorXd target = VectorXd::Zero(B.rows());
  target[B.rows() - 1] = 1;
  std::vector<int> set;
  VectorXd p = VectorXd::Zero(space.n_contacts);
  const auto solve = [&] {
    MatrixXd S(B.rows(), set.size());
    for (size_t k = 0; k < set.size(); ++k) S.col(k) = B.col(set[k]);
    return VectorXd(S.completeOrthogonalDecomposition().solve(target));
  };
  for (int round = 0; round < 3 * space.n_contacts + 10; ++round) {
    const VectorXd gradient = B.transpose() * (target - B * p);
    int best = -1;
    for (int j = 0; j < space.n_contacts; ++j) {
      if (p[j] == 0 && gradient[j] > 1e-12 && (best < 0 || gradient[j] > gradient[best])) best = j;
    }
    if (best < 0) break;
    set.push_back(best);
    while (true) {
      const VectorXd z = solve();
      double step = 1;
      for (size_t k = 0; k < set.size(); ++k) {
        if (z[k] <= 0) step = std::min(step, p[set[k]] / (p[set[k]] - z[k]));
      }
      for (size_t k = 0; k < set.size(); ++k) p[set[k]] += step * (z[k] - p[set[k]]);
      if (step == 1) break;
      std::vector<int> kept;
      for (const int j : set) {
        if (p[j] > 1e-14)
          kept.push_back(j);
        else
          p[j] = 0;
      }
      set = kept;
      if (set.empty()) break;
    }
  }
  return (target - B * p).norm() > 1e-9;
}

}  // namespace impactlab
