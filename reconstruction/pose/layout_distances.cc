#include "reconstruction/pose/layout_distances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"

namespace impactlab {
namespace {

constexpr double kSignificance = 5, kShareOfScatter = 0.5, kScaleSignificance = 4;

}  // namespace

LayoutDistances::LayoutDistances(std::vector<std::string> names,
                                 std::vector<Eigen::VectorXd> places)
    : names_(std::move(names)), places_(std::move(places)) {}

void LayoutDistances::Add(int recording, const std::vector<std::pair<int, Eigen::VectorXd>>& seen) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t k = i + 1; k < seen.size(); ++k) {
      const auto [a, b] = std::minmax(seen[i].first, seen[k].first);
      const double given =
          (places_[static_cast<std::size_t>(a)] - places_[static_cast<std::size_t>(b)]).norm();
      const double off = (seen[i].second - seen[k].second).norm() - given;
      Sum& sum = sums_[{a, b}][recording];
      ++sum.n;
      sum.d += off;
      sum.d2 += off * off;
    }
  }
}

std::map<std::pair<int, int>, LayoutDistances::Pair> LayoutDistances::Pairs() const {
  std::map<std::pair<int, int>, Pair> out;
  for (const auto& [pair, by_recording] : sums_) {
    double n = 0, d = 0, within = 0, between = 0;
    for (const auto& [recording, sum] : by_recording) {
      n += sum.n;
      d += sum.d;
      within += std::max(0.0, sum.d2 - sum.d * sum.d / sum.n);
    }
    const auto recordings = static_cast<double>(by_recording.size());
    if (n < recordings + 5) continue;  // too few to know their scatter
    const double mean = d / n, variance = within / (n - recordings);
    for (const auto& [recording, sum] : by_recording)
      between += sum.n / n * std::pow(sum.d / sum.n - mean, 2);
    Pair& p = out[pair];
    p.given = (places_[static_cast<std::size_t>(pair.first)] -
               places_[static_cast<std::size_t>(pair.second)])
                  .norm();
    p.off = mean;
    p.scatter = std::sqrt(variance);
    p.sd = std::sqrt(variance / n + (recordings > 1 ? between / (recordings - 1) : 0));
  }
  return out;
}

LayoutVerdict LayoutDistances::CompareWithGiven(double scale_sd) const {
  const std::map<std::pair<int, int>, Pair> pairs = Pairs();
  // The factor that all distances without those of a marker (-1: with all) share, no further from 1
  // than `most`.
  const auto factor_without = [&](int marker, double most) {
    double above = 0, below = 0;
    for (const auto& [pair, p] : pairs) {
      if (pair.first == marker || pair.second == marker) continue;
      const double weight = 1 / std::pow(std::max(p.sd, 1e-12), 2);
      above += weight * p.given * p.off;
      below += weight * p.given * p.given;
    }
    return 1 + (below > 0 ? std::clamp(above / below, -most, most) : 0);
  };
  const auto beyond = [](const Pair& p, double factor) {
    return std::abs(p.off - (factor - 1) * p.given) >
           std::max(kSignificance * p.sd, kShareOfScatter * p.scatter);
  };
  const double known = kScaleSignificance * scale_sd, factor = factor_without(-1, known);
  LayoutVerdict out;
  std::pair<int, int> worst;
  int doubts = 0;
  for (const auto& [pair, p] : pairs) {
    if (!beyond(p, factor)) continue;
    ++doubts;
    if (std::abs(p.off) <= std::abs(out.furthest)) continue;
    out.furthest = p.off;
    out.sd = p.sd;
    worst = pair;
  }
  if (doubts == 0) return out;
  out.doubtful = true;
  const auto name = [&](int marker) { return Excerpt(names_[static_cast<std::size_t>(marker)]); };
  const Pair& p = pairs.at(worst);
  const std::string distance = fmt::format(
      "{} to {} is {:.2f} mm in the layout and {:.2f} +- {:.2g} mm in the recordings",
      name(worst.first), name(worst.second), 1e3 * p.given, 1e3 * (p.given + p.off), 1e3 * p.sd);
  const double free = factor_without(-1, 1);
  if (pairs.size() == 1) {
    out.text = "the layout or the scale of the recordings is wrong: " + distance;
    return out;
  }
  if (std::none_of(pairs.begin(), pairs.end(),
                   [&](const auto& entry) { return beyond(entry.second, free); })) {
    out.text = fmt::format(
        "all distances between markers are seen {:.2f} % {} than the layout has them: the scale of "
        "the recordings or of the layout is "
        "wrong",
        100 * std::abs(free - 1), free > 1 ? "longer" : "shorter");
    return out;
  }
  // without which nothing is doubtful; few markers may do that alike
  std::vector<std::string> culprits;
  for (int k = 0; k < static_cast<int>(names_.size()); ++k) {
    const double others = factor_without(k, known);
    bool fits = true, judged = false;
    for (const auto& [pair, seen] : pairs) {
      if (pair.first == k || pair.second == k) continue;
      judged = true;
      fits = fits && !beyond(seen, others);
    }
    if (judged && fits) culprits.push_back(name(k));
  }
  if (culprits.size() == 1) {
    out.text = fmt::format(
        "marker {} is not where the layout has it, the distances among the others agree: {}",
        culprits[0], distance);
  } else if (!culprits.empty()) {
    out.text = fmt::format("one of the markers {} is not where the layout has it: {}",
                           JoinNames(culprits), distance);
  } else {
    out.text = fmt::format(
        "several markers are not where the layout has them: {} of {} distances differ, {}", doubts,
        pairs.size(), distance);
  }
  return out;
}

}  // namespace impactlab
