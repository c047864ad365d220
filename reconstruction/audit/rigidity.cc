#include "reconstruction/audit/rigidity.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kFewestFlights = 4;
// Change of the spin over a flight, as a share of it, from which on the flight speaks against a
// rigid body; in space also of what free precession changes it by.
constexpr double kShare = 0.1;
// Standard deviations that the change has to exceed the share by.
constexpr double kSignificance = 3.5;
// Share of the flights that have to speak against it.
constexpr double kFlights = 0.2;

// A body that hardly turns has no spin to compare with. Its changes count against this share of
// sqrt(g / k), the rate at which gravity would turn it about an end of its radius of gyration k.
constexpr double kLeastSpin = 0.1;

// One flight: change of spin over its duration, sd of it, and the spin it is held against [rad/s].
struct Turn {
  double change = 0, sd = 0, spin = 0;
};

// Of changes of angular momentum, over a mean moment of inertia: about an axis of small inertia a
// spin is neither well seen nor of weight.
Turn TurnOf(const FlightArc& arc, const Body& body, const Matrix3d& weight, double least) {
  Turn turn;
  turn.change = (weight * arc.spin_acceleration_B).norm() * arc.duration;
  turn.sd = (weight.cwiseAbs() * arc.sd_spin_acceleration).norm() * arc.duration;
  const double spin = (weight * arc.omega_B).norm();
  // In space a moment of inertia that is off by a share shows as that share of free precession.
  turn.spin = std::max(least, spin) * (body.planar ? 1 : 1 + arc.omega_B.norm() * arc.duration);
  return turn;
}

bool IsMeasured(const FlightArc& arc) {
  return arc.omega_B.allFinite() && arc.spin_acceleration_B.allFinite() &&
         arc.sd_spin_acceleration.allFinite() && arc.sd_spin_acceleration.norm() > 0 &&
         arc.duration > 0;
}

std::string Sentence(const RigidityVerdict& v, bool planar) {
  if (!v.tested)
    return fmt::format(
        "whether bodies turn freely in flight was not tested: {} flights whose noise would show "
        "it, at least {} are needed",
        v.n, kFewestFlights);
  const char* what = planar ? "spin" : "angular momentum";
  const double limit = 100 * kShare;
  if (v.rigid)
    return fmt::format("{} is kept in flight: it changes by more than {:.0f} % in {} of {} flights",
                       what, limit, v.against, v.n);
  return fmt::format(
      "not one rigid body in free flight: its {} changes by more than {:.0f} % of itself beyond "
      "noise in {} of {} flights (median {:.0f} %), which nothing does to a free body; look for a "
      "hinge, a moving part or liquid inside, a tether, or marks of two bodies taken for one{}",
      what, limit, v.against, v.n, 100 * v.share, planar ? "" : ", and at the moments of inertia");
}

}  // namespace

RigidityVerdict JudgeRigidity(std::span<const FlightArc> arcs, const Body& body,
                              const Vector3d& gravity_W) {
  RigidityVerdict verdict;
  const double inertia = MeanInertia(body);
  const Matrix3d weight =
      body.planar ? Matrix3d(Matrix3d::Identity()) : Matrix3d(body.inertia_B / inertia);
  const double least = kLeastSpin * std::sqrt(gravity_W.norm() / RadiusOfGyration(body));
  std::vector<double> shares;
  for (const FlightArc& arc : arcs) {
    if (!IsMeasured(arc)) continue;
    const Turn turn = TurnOf(arc, body, weight, least);
    const double limit = kShare * turn.spin, noise = kSignificance * turn.sd;
    const bool against = turn.change > limit + noise;
    if (noise > limit && !against) continue;
    ++verdict.n;
    verdict.against += against;
    shares.push_back(turn.change / turn.spin);
  }
  verdict.tested = verdict.n >= kFewestFlights;
  if (!shares.empty()) verdict.share = Median(shares);
  verdict.rigid = !verdict.tested || verdict.against <= kFlights * verdict.n;
  verdict.text = Sentence(verdict, body.planar);
  return verdict;
}

}  // namespace impactlab
