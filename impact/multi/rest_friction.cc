#include "impact/multi/rest_friction.h"

#include <Eigen/Dense>
#include <cmath>

#include "data/math/linear_algebra.h"

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// of the radius: friction that rounding alone puts outside holds
constexpr double kOnBoundary = 1e-12;
constexpr double kFrictionRank = 1e-10;

// Tangents of one contact, at most two of them: no memory is asked for.
using Tangents = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 2, 1>;
using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 2, 2>;

// Minimum of x' B x / 2 + c' x over |x| <= radius; `moves`: no x of the disc makes B x + c vanish.
Tangents DiscMinimum(const Block& B, const Tangents& c, double radius, double rounding,
                     bool& moves) {
  const SymmetricEigen eigen = EigenOf(B);
  const Tangents l = eigen.values.cwiseMax(0), d = eigen.vectors.transpose() * c;
  const double large = l.maxCoeff();
  Tangents x = Tangents::Zero(c.size());
  bool bounded = true;
  for (Eigen::Index i = 0; i < d.size(); ++i) {
    if (l[i] > kFrictionRank * large)
      x[i] = -d[i] / l[i];
    else
      bounded = bounded && std::abs(d[i]) <= rounding;
  }
  moves = !bounded || x.norm() > radius * (1 + kOnBoundary);
  if (!moves) return eigen.vectors * x;
  if (radius == 0) return Tangents::Zero(c.size());
  // |(B + g)^-1 c| = radius. 1/|x| is concave in g: Newton's method converges from below.
  double g = std::max(0.0, c.norm() / radius - large);
  for (Eigen::Index i = 0; i < d.size(); ++i) g = std::max(g, std::abs(d[i]) / radius - l[i]);
  for (int i = 0; i < 100; ++i) {
    double cubes = 0;
    for (Eigen::Index k = 0; k < d.size(); ++k) {
      x[k] = d[k] == 0 ? 0 : -d[k] / (l[k] + g);
      if (x[k] != 0) cubes += x[k] * x[k] / (l[k] + g);
    }
    const double size = x.norm(), step = (size - radius) / radius * size * size / cubes;
    g = std::max(0.0, g + step);
    if (!(std::abs(step) > 1e-16 * (g + large))) break;
  }
  return eigen.vectors * x * (radius / x.norm());
}

class Discs {
 public:
  Discs(const MatrixXd& B, const VectorXd& b, const VectorXd& radius)
      : B_(B),
        b_(b),
        radius_(radius),
        n_(radius.size()),
        d_(b.size() / radius.size()),
        moves_(radius.size(), false) {
    scale_ = std::max(b.cwiseAbs().maxCoeff(), B.cwiseAbs().maxCoeff() * radius.maxCoeff());
  }

  // From `x` as a first guess.
  void Solve(VectorXd& x) {
    if (scale_ == 0) return;
    for (int round = 0; round < 40; ++round) {
      // Contact by contact the sum falls and converges, slowly where contacts are redundant;
      // Newton's method ends it.
      for (int sweep = 0; sweep < 100; ++sweep) {
        double change = 0;
        for (Eigen::Index k = 0; k < n_; ++k) change = std::max(change, Improve(k, x));
        if (n_ == 1 || change <= 1e-15 * radius_.maxCoeff()) return;
      }
      if (Polish(x)) return;
    }
  }

  const std::vector<bool>& moves() const { return moves_; }

 private:
  double Improve(Eigen::Index k, VectorXd& x) {
    const Block B = B_.block(d_ * k, d_ * k, d_, d_);
    const Tangents old = x.segment(d_ * k, d_),
                   c = b_.segment(d_ * k, d_) + B_.middleRows(d_ * k, d_) * x - B * old;
    bool moves = false;
    const Tangents best = DiscMinimum(B, c, radius_[k], 1e-13 * scale_, moves);
    moves_[k] = moves;
    x.segment(d_ * k, d_) = best;
    return (best - old).norm();
  }

  // The conditions of the minimum with the contacts that move now: B x + b + g_k x_k = 0, |x_k| =
  // radius_k.
  bool Polish(VectorXd& x) {
    std::vector<Eigen::Index> moving;
    for (Eigen::Index k = 0; k < n_; ++k) {
      if (moves_[k] && radius_[k] > 0) moving.push_back(k);
    }
    const Eigen::Index size = x.size(), m = static_cast<Eigen::Index>(moving.size());
    VectorXd z(size + m);
    z.head(size) = x;
    const VectorXd rate = B_ * x + b_;
    for (Eigen::Index j = 0; j < m; ++j)
      z[size + j] = rate.segment(d_ * moving[j], d_).norm() / radius_[moving[j]];
    for (int i = 0; i < 8; ++i) {
      MatrixXd K = MatrixXd::Zero(size + m, size + m);
      VectorXd r(size + m);
      K.topLeftCorner(size, size) = B_;
      r.head(size) = B_ * z.head(size) + b_;
      for (Eigen::Index j = 0; j < m; ++j) {
        const Eigen::Index at = d_ * moving[j];
        const VectorXd x_k = z.segment(at, d_);
        K.block(at, at, d_, d_).diagonal().array() += z[size + j];
        K.block(at, size + j, d_, 1) = x_k;
        K.block(size + j, at, 1, d_) = x_k.transpose();
        r.segment(at, d_) += z[size + j] * x_k;
        r[size + j] = 0.5 * (x_k.squaredNorm() - radius_[moving[j]] * radius_[moving[j]]);
      }
      // Contacts that move without friction have no condition.
      for (Eigen::Index k = 0; k < n_; ++k) {
        if (radius_[k] > 0) continue;
        K.middleRows(d_ * k, d_).setZero();
        K.middleCols(d_ * k, d_).setZero();
        r.segment(d_ * k, d_).setZero();
      }
      if (r.head(size).norm() <= 1e-14 * scale_) break;
      z -= K.completeOrthogonalDecomposition().solve(r);
    }
    if (!z.allFinite()) return false;
    const VectorXd left = B_ * z.head(size) + b_;
    for (Eigen::Index k = 0, j = 0; k < n_; ++k) {
      if (radius_[k] == 0) continue;
      const VectorXd x_k = z.segment(d_ * k, d_);
      double g = 0;
      if (j < m && moving[j] == k) g = z[size + j++];
      if (g < 0 || x_k.norm() > radius_[k] * (1 + 1e-11) ||
          (left.segment(d_ * k, d_) + g * x_k).norm() > 1e-12 * scale_)
        return false;
    }
    x = z.head(size);
    return true;
  }

  const MatrixXd& B_;
  const VectorXd& b_;
  const VectorXd& radius_;
  Eigen::Index n_, d_;
  double scale_ = 0;
  std::vector<bool> moves_;
};

}  // namespace

RestFriction SolveRestFriction(const MatrixXd& B, const VectorXd& b, const VectorXd& held,
                               const VectorXd& slipping) {
  RestFriction result{VectorXd::Zero(b.size()), std::vector<bool>(held.size(), false)};
  VectorXd radius = held;
  for (Eigen::Index round = 0; round <= held.size(); ++round) {
    Discs discs(B, b, radius);
    discs.Solve(result.x);
    bool again = false;
    for (Eigen::Index k = 0; k < held.size(); ++k) {
      result.slips[k] = discs.moves()[k];
      if (!discs.moves()[k] || radius[k] == slipping[k]) continue;
      radius[k] = slipping[k];
      again = true;
    }
    if (!again) break;
  }
  return result;
}

}  // namespace impactlab::impact
