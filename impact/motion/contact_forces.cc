#include "impact/motion/detail/contact_forces.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "impact/multi/rest_friction.h"
#include "impact/multi/simultaneous.h"

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Compliance of a contact relative to its inverse mass: makes the shares of redundant contacts
// unique and changes forces by that much.
constexpr double kCompliance = 1e-9;
constexpr double kSettled = 1e-12, kRelaxed = 1e-11;
// Change of accelerations in fifty sweeps below which they count as settled, relative: modes follow
// from them, and the direction in which slip begins, which holds while it is slower than what
// counts as slip.
constexpr double kSame = 1e-6;
// Entries of one contact: no memory is asked for.
using Stacked = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1>;
constexpr int kMostRounds = 60;
constexpr int kMostSweeps = 100000;  // redundant contacts at the limit of friction settle slowly

class Forces {
 public:
  explicit Forces(const ForceProblem& problem)
      : p_(problem), n_(static_cast<int>(problem.mu_k.size())), tangents_(problem.width - 1) {
    for (int i = 0; i < n_; ++i) {
      if (tangents_ > 0 && p_.slip.row(i).norm() == 0) rest_.push_back(i);
    }
    unit_ = p_.W.diagonal().maxCoeff();
    scale_ = p_.b.cwiseAbs().maxCoeff();
    solution_.lambda = VectorXd::Zero(p_.b.size());
    solution_.mode.assign(n_, PointMode::kOpen);
    solution_.direction = Eigen::MatrixX2d::Zero(n_, 2);
  }

  ForceSolution Solve() {
    if (scale_ > 0) {
      solution_.solved = Iterate();
    } else {
      solution_.solved = true;
    }
    solution_.a = p_.b + p_.W * solution_.lambda;
    Classify();
    return std::move(solution_);
  }

 private:
  int Normal(int i) const { return p_.width * i + p_.width - 1; }
  int Tangent(int i) const { return p_.width * i; }

  // Accelerations that a normal force of contact j causes together with the friction of its slip.
  VectorXd Response(int j) const {
    VectorXd column = p_.W.col(Normal(j));
    for (int t = 0; t < tangents_; ++t)
      column -= p_.mu_k[j] * p_.slip(j, t) * p_.W.col(Tangent(j) + t);
    return column;
  }

  // Contacts at rest are held by mu_s; those that it does not hold slip by mu_k, and the others are
  // asked again.
  bool Iterate() {
    normal_.resize(n_, n_);
    response_.resize(p_.b.size(), n_);
    for (int j = 0; j < n_; ++j) response_.col(j) = Response(j);
    for (int i = 0; i < n_; ++i) normal_.row(i) = response_.row(Normal(i));
    B_.resize(rest_.size() * tangents_, rest_.size() * tangents_);
    for (size_t i = 0; i < rest_.size(); ++i) {
      for (size_t j = 0; j < rest_.size(); ++j) {
        B_.block(tangents_ * i, tangents_ * j, tangents_, tangents_) =
            p_.W.block(Tangent(rest_[i]), Tangent(rest_[j]), tangents_, tangents_);
      }
    }
    force_ = VectorXd::Zero(n_);
    friction_ = VectorXd::Zero(B_.rows());
    mu_.resize(rest_.size());
    for (size_t k = 0; k < rest_.size(); ++k) mu_[k] = p_.mu_s[rest_[k]];
    for (size_t round = 0; round <= rest_.size(); ++round) {
      const bool found =
          rest_.empty() ? Alternate() : Stick() || Relax() || (solution_.jammed < 0 && Alternate());
      if (!found) {
        return false;
      }
      bool again = false;
      for (size_t k = 0; k < rest_.size(); ++k) {
        if (!slips_[k] || mu_[k] == p_.mu_k[rest_[k]]) continue;
        mu_[k] = p_.mu_k[rest_[k]];
        again = true;
      }
      if (!again) break;
    }
    Store();
    return true;
  }

  // Everything that rests stays so, where the least forces that do it are allowed; they are not the
  // only ones if contacts are redundant.
  bool Stick() {
    if (rest_.empty()) return false;
    std::vector<Eigen::Index> set;
    MatrixXd columns(p_.b.size(), 0);
    std::vector<int> at_rest(n_, 0);
    for (const int i : rest_) at_rest[i] = 1;
    for (int i = 0; i < n_; ++i) {
      for (int row = at_rest[i] ? 0 : tangents_; row < p_.width; ++row) {
        set.push_back(Tangent(i) + row);
        columns.conservativeResize(Eigen::NoChange, columns.cols() + 1);
        columns.rightCols(1) =
            at_rest[i] ? VectorXd(p_.W.col(Tangent(i) + row)) : VectorXd(response_.col(i));
      }
    }
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
    cod.setThreshold(1e-9);
    const MatrixXd G = columns(set, Eigen::all);
    const VectorXd b = p_.b(set), y = -cod.compute(G).solve(b);
    if (!y.allFinite() || (G * y + b).cwiseAbs().maxCoeff() > 1e-9 * scale_) return false;
    Eigen::Index at = 0;
    std::vector<double> radius(n_, 0);
    for (size_t k = 0; k < rest_.size(); ++k) radius[rest_[k]] = mu_[k];
    for (int i = 0; i < n_; ++i) {
      const Eigen::Index normal = at + (at_rest[i] ? tangents_ : 0);
      if (!(y[normal] > 0) ||
          (at_rest[i] && y.segment(at, tangents_).norm() > radius[i] * y[normal]))
        return false;
      at = normal + 1;
    }
    at = 0;
    for (int i = 0, k = 0; i < n_; ++i) {
      if (at_rest[i]) {
        friction_.segment(tangents_ * k++, tangents_) = y.segment(at, tangents_);
        at += tangents_;
      }
      force_[i] = y[at++];
    }
    slips_.assign(rest_.size(), false);
    return true;
  }

  // Normal forces for given friction and friction for given normal forces in turn; each problem has
  // a solution of its own.
  bool Alternate() {
    const MatrixXd scaled = normal_ / unit_ + kCompliance * MatrixXd::Identity(n_, n_);
    for (int round = 0; round < kMostRounds; ++round) {
      VectorXd free = p_.b;
      for (size_t k = 0; k < rest_.size(); ++k) {
        free += p_.W.middleCols(Tangent(rest_[k]), tangents_) *
                friction_.segment(tangents_ * k, tangents_);
      }
      VectorXd q(n_), next;
      for (int i = 0; i < n_; ++i) q[i] = free[Normal(i)] / scale_;
      if (!SolveLcp(scaled, q, next)) return FindJam(normal_, free);
      next *= scale_ / unit_;
      Refine(normal_, free, next);
      double change = (next - force_).cwiseAbs().maxCoeff();
      force_ = next;
      if (rest_.empty()) return true;
      VectorXd b(B_.rows()), radius(rest_.size());
      const VectorXd pushed = p_.b + response_ * force_;
      for (size_t k = 0; k < rest_.size(); ++k) {
        b.segment(tangents_ * k, tangents_) = pushed.segment(Tangent(rest_[k]), tangents_);
        radius[k] = mu_[k] * force_[rest_[k]];
      }
      const RestFriction rest = SolveRestFriction(B_, b, radius, radius);
      change = std::max(change, (rest.x - friction_).cwiseAbs().maxCoeff());
      friction_ = rest.x;
      slips_ = rest.slips;
      if (change <= kSettled * scale_ / unit_) return true;
    }
    return false;
  }

  // Contact by contact, each force by a step against its acceleration and back into its cone
  // (Jourdan, Alart & Jean 1998).
  bool Relax() {
    VectorXd lambda = VectorXd::Zero(p_.b.size());
    std::vector<int> at_rest(n_, -1);
    std::vector<double> step(rest_.size());
    for (size_t k = 0; k < rest_.size(); ++k) {
      at_rest[rest_[k]] = static_cast<int>(k);
      lambda.segment(Tangent(rest_[k]), tangents_) = friction_.segment(tangents_ * k, tangents_);
      step[k] = 1 / B_.block(tangents_ * k, tangents_ * k, tangents_, tangents_).trace();
    }
    for (int i = 0; i < n_; ++i) {
      lambda[Normal(i)] = force_[i];
      if (at_rest[i] >= 0) continue;
      for (int t = 0; t < tangents_; ++t)
        lambda[Tangent(i) + t] = -p_.mu_k[i] * force_[i] * p_.slip(i, t);
    }
    slips_.assign(rest_.size(), false);
    VectorXd last;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      double change = 0;
      for (int i = 0; i < n_; ++i) {
        const Stacked old = lambda.segment(Tangent(i), p_.width);
        const Stacked a =
            p_.b.segment(Tangent(i), p_.width) + p_.W.middleRows(Tangent(i), p_.width) * lambda;
        const int k = at_rest[i];
        const double k_n = k >= 0 ? p_.W(Normal(i), Normal(i)) : normal_(i, i);
        if (k_n <= 1e-12 * unit_) {
          if (a[tangents_] < 0) return FindJam(normal_, p_.b);
          continue;
        }
        const double force = std::max(0.0, old[tangents_] - a[tangents_] / k_n);
        lambda[Normal(i)] = force;
        if (k < 0) {
          for (int t = 0; t < tangents_; ++t)
            lambda[Tangent(i) + t] = -p_.mu_k[i] * force * p_.slip(i, t);
        } else {
          Stacked x = old.head(tangents_) - step[k] * a.head(tangents_);
          const double size = x.norm(), radius = mu_[k] * force;
          slips_[k] = size > radius * (1 + 1e-10);
          if (size > radius) x *= radius / size;
          lambda.segment(Tangent(i), tangents_) = x;
        }
        change =
            std::max(change, (lambda.segment(Tangent(i), p_.width) - old).cwiseAbs().maxCoeff());
      }
      bool settled = change <= kRelaxed * scale_ / unit_;
      if (!settled && sweep % 50 == 49) {
        // Accelerations are unique where forces of redundant contacts are not, and settle sooner.
        const VectorXd a = p_.b + p_.W * lambda;
        settled = last.size() > 0 && (a - last).cwiseAbs().maxCoeff() <= kSame * scale_;
        last = a;
      }
      if (!settled) continue;
      for (int i = 0; i < n_; ++i) force_[i] = lambda[Normal(i)];
      for (size_t k = 0; k < rest_.size(); ++k) {
        friction_.segment(tangents_ * k, tangents_) = lambda.segment(Tangent(rest_[k]), tangents_);
      }
      return true;
    }
    return false;
  }

  // The compliance taken out again where the forces are unique.
  void Refine(const MatrixXd& normal, const VectorXd& free, VectorXd& force) const {
    std::vector<int> set;
    for (int i = 0; i < n_; ++i) {
      if (force[i] > 0) set.push_back(i);
    }
    if (set.empty()) return;
    VectorXd b(set.size());
    for (size_t k = 0; k < set.size(); ++k) b[k] = -free[Normal(set[k])];
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
    cod.setThreshold(1e-7);
    const VectorXd exact = cod.compute(normal(set, set)).solve(b);
    if (exact.minCoeff() < 0 || !exact.allFinite()) return;
    for (size_t k = 0; k < set.size(); ++k) force[set[k]] = exact[k];
  }

  bool FindJam(const MatrixXd& normal, const VectorXd& free) {
    double worst = 0;
    for (int i = 0; i < n_; ++i) {
      if (normal(i, i) > 1e-12 * unit_ || free[Normal(i)] >= 0) continue;
      if (free[Normal(i)] < worst) {
        worst = free[Normal(i)];
        solution_.jammed = i;
      }
    }
    return false;
  }

  void Store() {
    for (int i = 0; i < n_; ++i) {
      solution_.lambda[Normal(i)] = force_[i];
      for (int t = 0; t < tangents_; ++t)
        solution_.lambda[Tangent(i) + t] = -p_.mu_k[i] * force_[i] * p_.slip(i, t);
    }
    for (size_t k = 0; k < rest_.size(); ++k) {
      solution_.lambda.segment(Tangent(rest_[k]), tangents_) =
          friction_.segment(tangents_ * k, tangents_);
    }
  }

  void Classify() {
    const double least_force = std::max(p_.least_acceleration, 1e-13 * scale_) / unit_;
    for (int i = 0; i < n_; ++i) {
      if (!(solution_.lambda[Normal(i)] > least_force)) {
        solution_.lambda.segment(Tangent(i), p_.width).setZero();
        continue;
      }
      solution_.mode[i] = tangents_ == 0 ? PointMode::kStick : PointMode::kSlip;
      for (int t = 0; t < tangents_; ++t) solution_.direction(i, t) = p_.slip(i, t);
    }
    for (size_t k = 0; k < rest_.size(); ++k) {
      const int i = rest_[k];
      if (solution_.mode[i] == PointMode::kOpen) continue;
      if (p_.mu_s[i] == 0) continue;
      if (!slips_.empty() && !slips_[k]) {
        solution_.mode[i] = PointMode::kStick;
        continue;
      }
      // Slip begins along its acceleration; at the limit of friction there is none yet, and
      // friction opposes it.
      Eigen::RowVector2d d = Eigen::RowVector2d::Zero();
      for (int t = 0; t < tangents_; ++t) d[t] = solution_.a[Tangent(i) + t];
      if (d.norm() <= 1e-6 * scale_) {
        for (int t = 0; t < tangents_; ++t) d[t] = -solution_.lambda[Tangent(i) + t];
      }
      if (d.norm() > 0) solution_.direction.row(i) = d / d.norm();
    }
  }

  const ForceProblem& p_;
  int n_, tangents_;
  std::vector<int> rest_;  // contacts with v_t = 0
  std::vector<bool> slips_;
  double unit_ = 1, scale_ = 0;
  // accelerations by normal forces with the friction of slip; of these the normal ones
  MatrixXd response_, normal_;
  MatrixXd B_;  // of the contacts at rest
  // normal forces; friction of the contacts at rest, and what holds them
  VectorXd force_, friction_, mu_;
  ForceSolution solution_;
};

}  // namespace

ForceSolution SolveContactForces(const ForceProblem& problem) { return Forces(problem).Solve(); }

}  // namespace impactlab::impact
