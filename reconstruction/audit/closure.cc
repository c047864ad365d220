#include "reconstruction/audit/closure.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data/math/linear_algebra.h"
#include "data/statistics/statistics.h"
#include "reconstruction/audit/detail/evidence.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kFewestImpacts = 3;
constexpr double kLeftOut = 0.1;  // share of the impacts with the largest residuals

// Where impulses hardly change the spin, as those of a ball do that falls straight down or slides
// with little friction, residuals are held against a part of the change that they would cause
// across their lever. What scatters of a ball is held against the larger one: its contact point is
// not known to some hundredths of the radius. A factor of all changes (of inertia, hand or unit)
// does not follow from that, and is held against the smaller one, as are residuals of other bodies.
constexpr double kLeastChange = 0.05, kLeastScattered = 0.3;

// One impact: squares of residual, expected residual, spin change and the change that its impulse
// would cause across its lever, its chi-square, and the square of the change that follows from
// momentum and its product with the one measured.
struct Residual {
  double square = 0, expected = 0, change = 0, possible = 0, chi_square = 0;
  double predicted = 0, product = 0;
  int dof = 0, components = 0;
};

Residual ResidualOf(const ImpactEvent& event, const Body& body) {
  // The lever of the event itself: a table of states may give one without an attitude.
  const reconstruction::SpinResidual found =
      reconstruction::MomentumResidualAbout(event, body, event.p_WP - event.X_WB.translation());
  const Matrix3d seen =
      Matrix3d::Identity() - event.unseen_axis_B * event.unseen_axis_B.transpose();
  const Vector3d change_W = event.omega_plus - event.omega_minus;
  const Vector3d change = body.planar ? Vector3d(0, change_W.y(), 0)
                                      : Vector3d(seen * event.X_WB.linear().transpose() * change_W);
  const Vector3d e = seen * found.value;
  const Matrix3d cov = seen * found.cov * seen;
  Residual out;
  out.square = e.squaredNorm();
  out.expected = cov.trace();
  out.change = change.squaredNorm();
  out.predicted = (change - e).squaredNorm();
  out.product = change.dot(change - e);
  out.components = body.planar ? 1 : event.unseen_axis_B.isZero(0) ? 3 : 2;
  const double inertia = MeanInertia(body);
  out.possible = ((event.p_WP - event.X_WB.translation()).squaredNorm() *
                  (event.v_plus - event.v_minus).squaredNorm()) *
                 std::pow(body.mass / inertia, 2);
  const SymmetricEigen axes = EigenOf(cov);
  for (int k = 0; k < 3; ++k) {
    if (!(axes.values(k) > 1e-9 * axes.values(2))) continue;
    out.chi_square += std::pow(axes.vectors.col(k).dot(e), 2) / axes.values(k);
    ++out.dof;
  }
  return out;
}

// States without any standard deviation: what scatters about the changes that momentum gives, times
// the one factor that suits them best, counts as noise, so that only a wrong factor (of units,
// inertia or sense) is refused.
void NoiseFromScatter(const ClosureOptions& options, Residual* sum, double* probability) {
  const int dof = sum->components - 1;
  if (dof < 1 || !(sum->predicted > 0)) return;
  const double factor = sum->product / sum->predicted;
  const double left = std::max(0.0, sum->change - factor * sum->product);
  const double step = std::pow(factor - 1, 2) * sum->predicted;
  sum->expected = std::min(sum->square, left * sum->components / dof);
  sum->dof = dof;
  // Noise of the velocities would draw the factor towards zero.
  if (left > options.share * options.share * sum->change) return;
  const double t = std::sqrt(step / std::max(left / dof, 1e-30 * (step + sum->change)));
  *probability = step > 0 ? 2 * (1 - StudentCdf(t, dof)) : 1;
}

// The part of the residuals that one factor of all changes explains, less three standard deviations
// of it.
double OfOneFactor(const Residual& sum) {
  const int dof = sum.components - 1;
  if (dof < 1 || !(sum.predicted > 0)) return 0;
  const double factor = sum.product / sum.predicted;
  const double left = std::max(0.0, sum.change - factor * sum.product);
  return std::max(0.0, std::pow(factor - 1, 2) * sum.predicted - 9 * left / dof);
}

std::string Sentence(const ClosureVerdict& v, const ClosureOptions& options) {
  const double share = 100 * v.share, limit = 100 * options.share;
  switch (v.closure) {
    case Closure::kCloses:
      return fmt::format(
          "angular momentum about the contact point closes: residual beyond noise {:.0f} % of the "
          "spin change (limit {:.0f} %) over {} impacts, the worst tenth left out",
          share, limit, v.n);
    case Closure::kDoesNotClose:
      return fmt::format(
          "these data are not of a rigid body of the declared inertia and shape in single impacts: "
          "angular momentum about the contact point does not close, residual beyond noise {:.0f} % "
          "of the spin change (limit {:.0f} %) over {} impacts, the worst tenth left out",
          share, limit, v.n);
    case Closure::kNotTested:
      break;
  }
  if (v.n < kFewestImpacts) {
    return fmt::format(
        "whether angular momentum closes was not tested: {} accepted impacts, at least {} are "
        "needed",
        v.n, kFewestImpacts);
  }
  if (!(v.noise_share > 0))
    return "whether angular momentum closes cannot be tested: no change of spin was measured";
  return fmt::format(
      "whether angular momentum closes cannot be tested: the noise of the spin is {:.0f} % of its "
      "change; spins that are measured better, and in the right sense and column, would test it",
      100 * v.noise_share);
}

}  // namespace

ClosureVerdict JudgeClosure(std::span<const ImpactEvent> events, const Body& body,
                            const ClosureOptions& options) {
  std::vector<Residual> residuals;
  for (const ImpactEvent& event : events) {
    const bool finite = event.X_WB.matrix().allFinite() && event.v_minus.allFinite() &&
                        event.v_plus.allFinite() && event.omega_minus.allFinite() &&
                        event.omega_plus.allFinite() && event.cov.allFinite();
    if (event.accepted && finite) residuals.push_back(ResidualOf(event, body));
  }
  ClosureVerdict verdict;
  verdict.n = static_cast<int>(residuals.size());
  const auto finish = [&] {
    verdict.text = Sentence(verdict, options);
    return verdict;
  };
  if (verdict.n < kFewestImpacts) return finish();
  std::sort(residuals.begin(), residuals.end(),
            [](const Residual& a, const Residual& b) { return a.square < b.square; });
  residuals.resize(residuals.size() - static_cast<std::size_t>(kLeftOut * verdict.n));
  Residual sum;
  for (const Residual& r : residuals) {
    sum.square += r.square, sum.expected += r.expected, sum.change += r.change;
    sum.possible += r.possible;
    sum.chi_square += r.chi_square, sum.dof += r.dof;
    sum.predicted += r.predicted, sum.product += r.product, sum.components += r.components;
  }
  if (sum.dof > 0)
    verdict.probability = 1 - ChiSquareCdf(sum.chi_square, sum.dof);
  else
    NoiseFromScatter(options, &sum, &verdict.probability);
  if (!(sum.change > 0) || sum.dof == 0) return finish();
  const double change = std::max(sum.change, kLeastChange * kLeastChange * sum.possible);
  const double excess = std::max(0.0, sum.square - sum.expected);
  const double least = body.shape == BodyShape::kBall ? kLeastScattered : kLeastChange;
  const double scattered = std::max(sum.change, least * least * sum.possible);
  verdict.share =
      std::sqrt(std::max(excess / scattered, std::min(excess, OfOneFactor(sum)) / change));
  verdict.noise_share = std::sqrt(sum.expected / change);
  if (verdict.share > options.share && verdict.probability < options.probability) {
    verdict.closure = Closure::kDoesNotClose;
  } else if (verdict.noise_share <= options.share) {
    verdict.closure = Closure::kCloses;
  }
  return finish();
}

const char* ClosureWord(Closure closure) {
  switch (closure) {
    case Closure::kCloses:
      return "closes";
    case Closure::kDoesNotClose:
      return "does_not_close";
    case Closure::kNotTested:
      break;
  }
  return "not_tested";
}

}  // namespace impactlab
