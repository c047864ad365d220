#include "impact/identify/detail/spring_back.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "data/statistics/censored_normal.h"
#include "data/statistics/statistics.h"
#include "impact/identify/detail/profile_interval.h"

namespace impactlab::impact {
namespace {

constexpr double kBeyondNoise = 3;  // standard deviations

// |J_t| - mu J_n of an impulse in units of the event, and its gradient by that impulse.
struct Excess {
  double value = 0, size = 0, normal = 0;  // |J_t|, J_n
  Vec gradient;
};

Excess ExcessOf(const Vec& impulse, double mu) {
  const Eigen::Index t = impulse.size() - 1;
  Excess out;
  out.size = impulse.head(t).norm();
  out.normal = impulse[t];
  out.value = out.size - mu * out.normal;
  out.gradient = Vec::Zero(impulse.size());
  if (out.size > 0) out.gradient.head(t) = impulse.head(t) / out.size;
  out.gradient[t] = -mu;
  return out;
}

// By the noise of measurement alone.
double DeviationOf(const Excess& excess, const PreparedEvent& event) {
  const Input noise = event.dz_J * event.cov;
  const Eigen::Matrix3d cov = noise * event.dz_J.transpose();
  const Eigen::Vector3d g = event.dim == 3
                                ? Eigen::Vector3d(excess.gradient)
                                : Eigen::Vector3d(excess.gradient[0], 0, excess.gradient[1]);
  return std::sqrt(std::max(0.0, g.dot(cov * g)));
}

// Slip after along the slip before, in its standard deviations: below zero where slip is reversed.
// Nothing where the slip before has no direction beyond noise.
std::optional<double> SlipKept(const PreparedEvent& event) {
  const Eigen::Vector3d before = event.event->contact.v_minus_F;
  const double slip = before.head<2>().norm();
  const Eigen::Matrix3d cov_before = event.dv_F * event.cov * event.dv_F.transpose();
  const auto along_cov = [&](const Eigen::Matrix3d& cov, const Eigen::Vector3d& a) {
    return std::sqrt(std::max(0.0, a.dot(cov * a)));
  };
  Eigen::Vector3d direction(before.x(), before.y(), 0);
  if (!(slip > 0)) return std::nullopt;
  direction /= slip;
  if (slip < kBeyondNoise * along_cov(cov_before, direction)) return std::nullopt;
  // v_plus_F = v_minus_F + A_F J, each with its share of the measured quantities.
  Input dJ = Input::Zero();
  if (event.dim == 3) {
    dJ = event.p * event.dz_J;
  } else {
    dJ.row(0) = event.p * event.dz_J.row(0);
    dJ.row(2) = event.p * event.dz_J.row(2);
  }
  const Input d_after = event.dv_F + event.event->contact.A_F * dJ;
  const Eigen::Matrix3d cov_after = d_after * event.cov * d_after.transpose();
  // Rounding keeps exact states from having no noise at all.
  const double sd = std::max(along_cov(cov_after, direction), 1e-9 * slip);
  return event.event->v_plus_F.dot(direction) / sd;
}

}  // namespace

bool MaySpringBack(const std::vector<PreparedEvent>& events, double mu) {
  constexpr int kFewest = 2, kFewestStuck = 4;
  constexpr double kTogether = 4;  // standard deviations of a sum
  int found = 0, stuck = 0;
  double kept = 0;
  for (const PreparedEvent& event : events) {
    if (event.no_demand) continue;
    const Excess excess = ExcessOf(event.z_J, mu);
    const double sd = DeviationOf(excess, event);
    const std::optional<double> slip = SlipKept(event);
    found += excess.value > kBeyondNoise * sd + 1e-9 || (slip && *slip < -kBeyondNoise);
    if (!slip || *slip > kBeyondNoise) continue;
    kept += *slip;
    ++stuck;
  }
  // Many contacts that each reverse their slip within noise do so together.
  return found >= kFewest || (stuck >= kFewestStuck && -kept > kTogether * std::sqrt(stuck));
}

Optimum FitSpringBack(const FitTask& task, const FitPoint& from, bool scan) {
  std::vector<FitPoint> starts{EvaluateAt(task, from.mu, from.e, {}, true, from.e_t)};
  // What springs back looks like sliding at low friction: the valley where more of it sticks lies
  // at higher friction.
  constexpr double kSticks = 1.5;
  constexpr std::size_t kDescents = 2;
  std::vector<FitPoint> grid;
  if (scan)
    for (const double e_t : {0.2, 0.7})
      for (const double mu : {from.mu, 1.5 * from.mu, 3 * from.mu, std::max(kSticks, from.mu)})
        grid.push_back(EvaluateAt(task, std::min(mu, kMuMax), from.e, {}, true, e_t));
  std::erase_if(grid, [](const FitPoint& point) { return !point.ok; });
  std::sort(grid.begin(), grid.end(),
            [](const FitPoint& a, const FitPoint& b) { return a.cost < b.cost; });
  grid.resize(std::min(grid.size(), kDescents));
  std::move(grid.begin(), grid.end(), std::back_inserter(starts));
  Optimum out;
  out.starts = static_cast<int>(starts.size());
  std::vector<double> costs;
  for (const FitPoint& start : starts) {
    if (!start.ok) continue;
    FitPoint end = FitFrom(task, start, true, true, 1e-7);
    costs.push_back(end.cost);
    if (end.ok && (!out.best.ok || end.cost < out.best.cost)) out.best = std::move(end);
  }
  out.agreeing = static_cast<int>(std::count_if(
      costs.begin(), costs.end(), [&](double cost) { return cost < out.best.cost + 0.05; }));
  return out;
}

bool SpringsBack(const FitTask& task, const FitPoint& with, double gain) {
  // Errors of the lever or of the inertia that no covariance holds look like less of it.
  constexpr double kLeast = 0.03, kQuantile = 0.9995;
  if (!(with.e_t >= kLeast)) return false;
  const Information info = InformationAt(task, with);
  return info.informed[2] && gain > IntervalThreshold(info, 2, kQuantile);
}

bool PushesAlongSlip(const std::vector<PreparedEvent>& events) {
  constexpr int kFewest = 4;
  constexpr double kChance = 1e-4;
  std::vector<double> along;
  for (const PreparedEvent& event : events) {
    const Eigen::Index t = event.dim - 1;
    if (event.no_demand || event.spin_open || !SlipKept(event) || !(event.z_J[t] > 0)) continue;
    const Eigen::Vector2d slip = event.event->contact.v_minus_F.head<2>();
    const double push = event.dim == 2 ? event.z_J[0] * slip.x()
                                       : event.z_J[0] * slip.x() + event.z_J[1] * slip.y();
    along.push_back(push / (slip.norm() * event.z_J[t]));
  }
  const auto n = static_cast<double>(along.size());
  if (along.size() < kFewest) return false;
  const double sd = StandardDeviation(along);
  return Mean(along) > StudentQuantile(1 - kChance, n - 1) * sd / std::sqrt(n);
}

double FrictionAtLeast(const std::vector<PreparedEvent>& events) {
  std::vector<double> ratios, deviations;
  for (const PreparedEvent& event : events) {
    const Eigen::Index t = event.dim - 1;
    if (event.no_demand || !(event.z_J[t] > 0)) continue;
    const double measured = event.z_J.head(t).norm() / event.z_J[t];
    const double sd = DeviationOf(ExcessOf(event.z_J, measured), event) / event.z_J[t];
    // Noise alone has a length too.
    ratios.push_back(std::sqrt(std::max(0.0, measured * measured - sd * sd)));
    deviations.push_back(sd);
  }
  return LowerBoundOfCensoredMean(ratios, deviations);
}

ConeTest HoldConeAgainst(const FitTask& task, const FitPoint& point, double mu) {
  ConeTest test;
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const PreparedEvent& event = (*task.events)[i];
    if (event.no_demand) continue;
    ++test.n;
    // Contacts that stick reach as far as static friction holds.
    const bool sticks = point.at[i].digit % 2 == 1;
    // S is the covariance of the impulse given the couple.
    const Vec impulse =
        point.at[i].shift.size() > 0 ? Vec(event.z_J - point.at[i].shift) : event.z_J;
    const Excess excess = ExcessOf(impulse, sticks ? std::max(mu, task.mu_s_floor) : mu);
    const double sd = std::sqrt(std::max(0.0, excess.gradient.dot(point.S[i] * excess.gradient)));
    if (!(excess.value > kBeyondNoise * sd + 1e-9)) continue;
    ++test.beyond;
    if (excess.normal > 0) test.highest = std::max(test.highest, excess.size / excess.normal);
  }
  // Share of a Student-t of four degrees of freedom above three of its scales, the heaviest tail
  // that is fitted; a few impacts may be of another kind all the same.
  constexpr double kTail = 0.02, kChance = 1e-4;
  double at_least = 0, term = std::pow(1 - kTail, test.n);
  for (int k = 0; k < test.beyond; ++k) {
    at_least += term;
    term *= kTail / (1 - kTail) * (test.n - k) / (k + 1.0);
  }
  test.contradicts = test.beyond > 0 && 1 - at_least < kChance;
  return test;
}

}  // namespace impactlab::impact
