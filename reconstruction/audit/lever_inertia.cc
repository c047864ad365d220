#include "reconstruction/audit/lever_inertia.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "reconstruction/audit/detail/evidence.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

// A change of spin, as measured and as impulse and lever give it with the declared inertia.
struct SpinChange {
  Vector3d measured, given;
};

std::vector<SpinChange> SpinChangesOf(std::span<const ImpactEvent> events, const Body& body) {
  std::vector<SpinChange> out;
  for (const ImpactEvent& e : events) {
    if (!e.accepted) continue;
    const Vector3d change_W = e.omega_plus - e.omega_minus;
    const Vector3d measured = body.planar ? Vector3d(0, change_W.y(), 0)
                                          : Vector3d(e.X_WB.linear().transpose() * change_W);
    const Vector3d given =
        measured -
        reconstruction::MomentumResidualAbout(e, body, e.p_WP - e.X_WB.translation()).value;
    if (measured.allFinite() && given.allFinite()) out.push_back({measured, given});
  }
  return out;
}

// Regression of the measured changes on the given ones, and the other way round.
struct Factor {
  double by_given = 1, by_measured = 1;
  double sd = 0;
};

Factor FactorOf(const std::vector<SpinChange>& changes, int components) {
  double given = 0, product = 0, measured = 0;
  for (const SpinChange& c : changes) {
    given += c.given.squaredNorm();
    product += c.given.dot(c.measured);
    measured += c.measured.squaredNorm();
  }
  if (!(given > 0) || !(product > 0)) return {};
  Factor out{.by_given = product / given, .by_measured = measured / product};
  const double dof = static_cast<double>(changes.size()) * components - 1;
  out.sd = std::sqrt(std::max(0.0, measured - out.by_given * product) / dof / given);
  return out;
}

}  // namespace

double InertiaByLevers(std::span<const ImpactEvent> events, const Body& body) {
  constexpr std::size_t kFewest = 8;
  constexpr double kSure = 3.5;  // standard deviations
  if (!body.planar && body.shape != BodyShape::kBall) return 1;
  std::vector<SpinChange> changes = SpinChangesOf(events, body);
  if (changes.size() < kFewest) return 1;
  const int components = body.planar ? 1 : 3;
  const Factor all = FactorOf(changes, components);
  const auto misfit = [&](const SpinChange& c) {
    return (c.measured - all.by_given * c.given).squaredNorm();
  };
  std::sort(changes.begin(), changes.end(),
            [&](const SpinChange& a, const SpinChange& b) { return misfit(a) < misfit(b); });
  changes.resize(changes.size() - changes.size() / 10);
  const Factor found = FactorOf(changes, components);
  // Noise of what is given draws the one down, noise of what is measured the other up.
  const bool off =
      found.by_given > 1 + kSure * found.sd || found.by_measured < 1 - kSure * found.sd;
  return off ? 1 / std::sqrt(found.by_given * found.by_measured) : 1;
}

}  // namespace impactlab
