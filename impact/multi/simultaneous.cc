#include "impact/multi/simultaneous.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data/base/error.h"

namespace impactlab {
namespace impact {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// An entry of q that counts as zero: rounding of a problem of unit size.
constexpr double kZero = 1e-14;

bool Lemke(const MatrixXd& M, const VectorXd& q, const VectorXd& cover, VectorXd& z,
           int max_pivots) {
  const Eigen::Index n = q.size();
  z = VectorXd::Zero(n);
  // Tableau of w - M z - z0 cover = q: columns w (n), z (n), z0, right side. `basis` holds the
  // column of each row.
  MatrixXd T(n, 2 * n + 2);
  T << MatrixXd::Identity(n, n), -M, -cover, q;
  const Eigen::Index z0 = 2 * n, rhs = 2 * n + 1;
  std::vector<Eigen::Index> basis(n);
  for (Eigen::Index i = 0; i < n; ++i) basis[i] = i;
  const auto pivot = [&](Eigen::Index row, Eigen::Index column) {
    T.row(row) /= T(row, column);
    for (Eigen::Index i = 0; i < n; ++i) {
      if (i != row && T(i, column) != 0) T.row(i) -= T(i, column) * T.row(row);
    }
    basis[row] = column;
  };
  // Lexicographic order of the rows (right side, then the columns of w): ties, which redundancy
  // makes common, cannot cycle.
  const auto less = [&](Eigen::Index a, double pa, Eigen::Index b, double pb) {
    const double tie = 1e-13;
    for (Eigen::Index k = -1; k < n; ++k) {
      const double x = T(a, k < 0 ? rhs : k) / pa, y = T(b, k < 0 ? rhs : k) / pb;
      if (std::abs(x - y) > tie * (1 + std::abs(x) + std::abs(y))) return x < y;
    }
    return pa > pb;
  };
  Eigen::Index row = 0;
  for (Eigen::Index i = 1; i < n; ++i) {
    if (q[i] / cover[i] < q[row] / cover[row]) row = i;
  }
  Eigen::Index entering = row + n;  // complement of the w that leaves
  pivot(row, z0);
  for (int count = 0; count < max_pivots; ++count) {
    Eigen::Index leave = -1;
    const double least = 1e-11 * std::max(1.0, T.col(entering).cwiseAbs().maxCoeff());
    for (Eigen::Index i = 0; i < n; ++i) {
      const double p = T(i, entering);
      if (p <= least) continue;
      if (leave < 0 || less(i, p, leave, T(leave, entering))) leave = i;
    }
    if (leave < 0) return false;
    // z0 leaves as soon as it can.
    for (Eigen::Index i = 0; i < n; ++i) {
      const double p = T(i, entering), pl = T(leave, entering);
      if (basis[i] == z0 && p > least &&
          T(i, rhs) / p <= T(leave, rhs) / pl + 1e-14 * (1 + std::abs(T(leave, rhs) / pl)))
        leave = i;
    }
    const Eigen::Index left = basis[leave];
    pivot(leave, entering);
    if (left == z0) {
      // The basis is found; its values are computed afresh, free of what the pivots have rounded.
      std::vector<Eigen::Index> set;
      for (Eigen::Index i = 0; i < n; ++i) {
        if (basis[i] >= n && basis[i] < z0) set.push_back(basis[i] - n);
      }
      const MatrixXd M_set = M(set, set);
      const VectorXd q_set = q(set), z_set = -M_set.partialPivLu().solve(q_set);
      if (!z_set.allFinite()) return false;
      for (size_t k = 0; k < set.size(); ++k) z[set[k]] = std::max(0.0, z_set[k]);
      return true;
    }
    entering = left < n ? left + n : left - n;
  }
  return false;
}

}  // namespace

bool SolveLcp(const MatrixXd& M, const VectorXd& q, VectorXd& z, int max_pivots) {
  z = VectorXd::Zero(q.size());
  if (q.size() == 0 || q.minCoeff() >= -kZero) return true;
  // Rounding may lead astray where redundancy makes bases singular. The solution is checked, and
  // sought on another path if it is none.
  VectorXd cover = VectorXd::Ones(q.size());
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (Lemke(M, q, cover, z, max_pivots)) {
      const VectorXd w = M * z + q;
      const double size = std::max({1.0, q.cwiseAbs().maxCoeff(), (M.cwiseAbs() * z).maxCoeff()});
      if (w.minCoeff() >= -1e-10 * size &&
          w.cwiseMin(z).maxCoeff() <= 1e-10 * std::max(size, z.maxCoeff()))
        return true;
    }
    for (Eigen::Index i = 0; i < cover.size(); ++i)
      cover[i] = 1 + std::fmod(0.618033988749895 * (i + 1) * (attempt + 1), 1.0);
  }
  return false;
}

}  // namespace impact

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class Simultaneous {
 public:
  Simultaneous(const ImpactSystem& system, const ContactSpace& space)
      : system_(system), space_(space), m_(space.n_contacts) {
    edges_ = space.width == 1 ? 0 : space.width == 2 ? 2 : kFrictionFacets;
    const Eigen::Index rows = space.A.rows();
    unit_ = space.A.diagonal().maxCoeff();
    speed_ = impact::SpeedScale(space);
    // Columns: normal and friction directions in stacked impulses.
    normal_ = MatrixXd::Zero(rows, m_);
    friction_ = MatrixXd::Zero(rows, m_ * edges_);
    for (int i = 0; i < m_; ++i) {
      normal_(space.Normal(i), i) = 1;
      for (int k = 0; k < edges_; ++k) {
        const double angle = 2 * M_PI * k / edges_;
        const int column = i * edges_ + k;
        if (space.width == 2)
          friction_(space.Tangent(i), column) = k == 0 ? 1 : -1;
        else
          friction_.col(column).segment(space.Tangent(i), 2) << std::cos(angle), std::sin(angle);
      }
    }
  }

  // Adds to `J` the impulse after which v_n + `lift` >= 0 is perpendicular to what it adds to
  // `least` (normal impulses that act in any case).
  bool Phase(const VectorXd& v, const VectorXd& lift, const VectorXd& least, VectorXd& dJ) const {
    const int f = m_ * edges_, n = m_ + f + (edges_ > 0 ? m_ : 0);
    MatrixXd M = MatrixXd::Zero(n, n);
    VectorXd q = VectorXd::Zero(n);
    MatrixXd B(space_.A.rows(), m_ + f);
    B << normal_, friction_;
    // Velocities in units of the impact's speed, impulses so that A has unit size.
    M.topLeftCorner(m_ + f, m_ + f) = B.transpose() * space_.A * B / unit_;
    const VectorXd v_least = (v + space_.A * (normal_ * least)) / speed_;
    q.head(m_ + f) = B.transpose() * v_least;
    q.head(m_) += lift / speed_;
    const double impulse = speed_ / unit_;
    for (int i = 0; i < m_ && edges_ > 0; ++i) {
      const int slip = m_ + f + i;
      M(slip, i) = system_.contacts[i].mu_k;
      q[slip] = system_.contacts[i].mu_k * least[i] / impulse;
      for (int k = 0; k < edges_; ++k)
        M(slip, m_ + i * edges_ + k) = -1, M(m_ + i * edges_ + k, slip) = 1;
    }
    VectorXd z;
    if (!impact::SolveLcp(M, q, z)) return false;
    dJ = normal_ * least + impulse * (B * z.head(m_ + f));
    return true;
  }

  MultiPhase Record(const VectorXd& v, const VectorXd& dJ) const {
    MultiPhase phase;
    phase.v_begin = v;
    phase.v_end = v + space_.H * (space_.H.transpose() * dJ);
    phase.dJ = dJ;
    phase.work_n = phase.work_t = VectorXd::Zero(m_);
    const VectorXd mean = 0.5 * (phase.v_begin + phase.v_end);
    for (int i = 0; i < m_; ++i) {
      const int n = space_.Normal(i), t = space_.Tangent(i), w = space_.width - 1;
      phase.work_n[i] = dJ[n] * mean[n];
      phase.work_t[i] = dJ.segment(t, w).dot(mean.segment(t, w));
      const bool slips = phase.v_end.segment(t, w).norm() > 1e-10 * speed_;
      phase.mode.push_back(dJ[n] <= 0 ? PointMode::kOpen
                           : slips    ? PointMode::kSlip
                                      : PointMode::kStick);
    }
    return phase;
  }

 private:
  const ImpactSystem& system_;
  const ContactSpace& space_;
  int m_, edges_;
  double unit_, speed_;
  MatrixXd normal_, friction_;
};

}  // namespace

MultiOutcome SolveSimultaneous(const ImpactSystem& system, MultiLaw law) {
  if (law != MultiLaw::kSimultaneousNewton && law != MultiLaw::kSimultaneousPoisson) {
    throw ConfigError(std::string("simultaneous: law: found ") + MultiLawName(law) + ", allowed " +
                      MultiLawName(MultiLaw::kSimultaneousNewton) + " or " +
                      MultiLawName(MultiLaw::kSimultaneousPoisson));
  }
  const ContactSpace space = ReduceToContacts(system);
  MultiOutcome outcome = impact::StartOutcome(law, system, space);
  if (impact::NoneApproaches(space, space.v_minus, 1e-13 * impact::SpeedScale(space))) {
    outcome.status = SolveStatus::kNoApproach;
    return outcome;
  }
  const Simultaneous problem(system, space);
  const int m = space.n_contacts;
  const VectorXd none = VectorXd::Zero(m);
  VectorXd dJ, lift = none, least = none;
  const auto phase = [&](const VectorXd& v) {
    if (!problem.Phase(v, lift, least, dJ)) {
      outcome.status = SolveStatus::kNotConverged;
      outcome.reason = "the complementarity problem was not solved (Lemke's method ended on a ray)";
      return false;
    }
    outcome.phases.push_back(problem.Record(v, dJ));
    return true;
  };
  if (law == MultiLaw::kSimultaneousNewton) {
    for (int i = 0; i < m; ++i)
      lift[i] = system.contacts[i].e * std::min(0.0, space.v_minus[space.Normal(i)]);
    phase(space.v_minus);
  } else if (phase(space.v_minus)) {
    for (int i = 0; i < m; ++i) least[i] = system.contacts[i].e * dJ[space.Normal(i)];
    const VectorXd v = outcome.phases[0].v_end;
    phase(v);
  }
  outcome.events = 1;
  impact::FinishOutcome(system, space, outcome);
  return outcome;
}

}  // namespace impactlab
