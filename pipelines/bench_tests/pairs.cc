// Restitution from pairs of readings: one value where the pairs agree, a line over speed where they
// do not.

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "impact/identify/coefficient_tests.h"
#include "pipelines/bench_tests/detail/readings.h"

namespace impactlab::pipelines {
namespace {

using Quantities = std::vector<double>;

// Coefficients of all pairs as functions of all quantities of a model.
struct PairSet {
  BudgetModel model;
  std::function<std::vector<double>(const Quantities&)> e;
  std::vector<double> speed;
  std::string method, pair;  // "pair" or "rebound"
};

// First-order covariance of the coefficients.
Eigen::MatrixXd CovarianceOf(const PairSet& set) {
  const Quantities q = set.model.Values(), u = set.model.Uncertainties();
  const auto n = static_cast<Eigen::Index>(set.speed.size());
  Eigen::MatrixXd J(n, static_cast<Eigen::Index>(q.size()));
  for (std::size_t k = 0; k < q.size(); ++k) {
    Quantities up = q, down = q;
    const double h = 1e-3 * u[k];
    up[k] += h;
    down[k] -= h;
    const std::vector<double> a = set.e(up), b = set.e(down);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      J(i, static_cast<Eigen::Index>(k)) = h > 0 ? (a[at] - b[at]) / 2e-3 : 0;
    }
  }
  // Readings without uncertainty would make it singular: a millionth is none to people.
  return J * J.transpose() + 1e-12 * Eigen::MatrixXd::Identity(n, n);
}

std::string Listed(const PairSet& set, const std::vector<double>& e) {
  std::string out;
  for (std::size_t i = 0; i < e.size(); ++i)
    out += fmt::format("{}{:.3f} at {:.3g} m/s", i > 0 ? ", " : "", e[i], set.speed[i]);
  return out;
}

CoefficientResult Weighted(PairSet set, const Eigen::VectorXd& weights, double sd,
                           double chi_square, int dof, bool rejected) {
  std::optional<std::size_t> scatter;
  if (rejected) {
    UncertainInput more{"scatter between impacts",
                        "1",
                        0,
                        sd * std::sqrt(std::max(0.0, chi_square / dof - 1)),
                        Spread::kStudent,
                        static_cast<double>(dof),
                        "beyond what the readings explain"};
    scatter = set.model.Add(more, 0);
  }
  const auto e = set.e;
  return set.model.Evaluate(set.method, [=](const Quantities& q) {
    const std::vector<double> of = e(q);
    double sum = scatter ? q[*scatter] : 0;
    for (std::size_t i = 0; i < of.size(); ++i)
      sum += weights[static_cast<Eigen::Index>(i)] * of[i];
    return sum;
  });
}

// The pairs that no passive impact leaves; empty where there is none.
std::string AboveOne(const PairSet& set, const std::vector<double>& e, const Eigen::MatrixXd& cov) {
  for (std::size_t i = 0; i < e.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    if (e[i] > 1 + kDrift * std::sqrt(cov(k, k)))
      return fmt::format(
          "{} {}, {:.3f} at {:.3g} m/s, is above 1 beyond its uncertainty: no passive drop "
          "rebounds "
          "so; look at its readings",
          set.pair, i + 1, e[i], set.speed[i]);
  }
  return "";
}

CoefficientResult TrendOf(const PairSet& set) {
  const std::vector<double> e = set.e(set.model.Values());
  const Eigen::MatrixXd cov = CovarianceOf(set);
  if (const std::string words = AboveOne(set, e, cov); !words.empty())
    return Undetermined(set.method, words);
  const SpeedTrend trend = FitSpeedTrend(set.speed, e, cov);
  const bool one_rejected = trend.probability < kImprobable;
  const bool line_rejected = trend.line_probability < kImprobable;
  double slope_sd = trend.slope_sd, z = 0;
  if (slope_sd > 0) {
    if (line_rejected) slope_sd *= std::sqrt(trend.line_chi_square / trend.line_dof);
    z = trend.slope / slope_sd;
  }
  const double certain =
      line_rejected ? StudentQuantile(1 - 0.5 * kImprobable, trend.line_dof) : kDrift;
  const std::string pairs = set.pair + "s: " + Listed(set, e);
  CoefficientResult out;
  if (trend.slope_sd > 0 && std::abs(z) > certain) {
    out = Weighted(set, trend.line_weights, trend.line_sd, trend.line_chi_square, trend.line_dof,
                   line_rejected);
    const auto at = [&](double v) { return trend.line_value + trend.slope * (v - trend.v_0); };
    const auto [slow, fast] = std::minmax_element(set.speed.begin(), set.speed.end());
    out.notes.push_back(
        fmt::format("e {} with speed, from {:.3f} at {:.3g} m/s to {:.3f} at {:.3g} m/s ({:+.2g} "
                    "+- {:.1g} per m/s); the value is that at {:.3g} m/s",
                    trend.slope < 0 ? "falls" : "rises", at(*slow), *slow, at(*fast), *fast,
                    trend.slope, slope_sd, trend.v_0));
  } else if (one_rejected && e.size() == 2) {
    out = Undetermined(set.method,
                       "two pairs that differ by more than their readings explain: a change with "
                       "speed, or scatter; more drops, from the same heights too, would tell");
  } else {
    out = Weighted(set, trend.weights, trend.sd, trend.chi_square, trend.dof, one_rejected);
    if (one_rejected)
      out.notes.emplace_back(
          "the pairs scatter more than their readings explain; what they scatter is in the "
          "interval");
  }
  out.notes.insert(out.notes.begin(), pairs);
  return out;
}

}  // namespace

CoefficientResult PairsOf(const Readings& before, const Readings& after, const PairModel& model) {
  PairSet set;
  set.method = "pairs of " + model.method;
  set.pair = "pair";
  const std::size_t n = before.list.size();
  for (std::size_t k = 0; k < n; ++k) {
    set.model.Add(fmt::format("before {}", k + 1), model.unit, before.At(k));
    set.model.Add(fmt::format("after {}", k + 1), model.unit, after.At(k));
    set.speed.push_back(model.speed(before.list[k].value));
  }
  set.model.AddAll(model.further);
  set.e = [n, f = model.f](const Quantities& q) {
    const Quantities further(q.begin() + static_cast<std::ptrdiff_t>(2 * n), q.end());
    std::vector<double> out;
    for (std::size_t k = 0; k < n; ++k) out.push_back(f(q[2 * k], q[2 * k + 1], further));
    return out;
  };
  return TrendOf(set);
}

CoefficientResult SuccessiveRebounds(const Readings& drop, const Readings& rebounds,
                                     const PairModel& model) {
  PairSet set;
  set.method = "successive rebounds";
  set.pair = "rebound";
  const std::size_t n = rebounds.list.size();
  set.model.Add("drop", model.unit, drop);
  for (std::size_t k = 0; k < n; ++k) {
    set.model.Add(fmt::format("rebound {}", k + 1), model.unit, rebounds.At(k));
    set.speed.push_back(model.speed(k == 0 ? drop.list[0].value : rebounds.list[k - 1].value));
  }
  set.model.AddAll(model.further);
  set.e = [n, f = model.f](const Quantities& q) {
    const Quantities further(q.begin() + static_cast<std::ptrdiff_t>(n + 1), q.end());
    std::vector<double> out;
    for (std::size_t k = 0; k < n; ++k) out.push_back(f(q[k], q[k + 1], further));
    return out;
  };
  return TrendOf(set);
}

}  // namespace impactlab::pipelines
