#include "data/statistics/many_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"

namespace impactlab {

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::isnan(p[i])) continue;
    if (!(p[i] >= 0 && p[i] <= 1))
      throw ConfigError(
          fmt::format("statistics: p: found {}, allowed a number from 0 to 1", FormatNumber(p[i])));
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size(), std::nan(""));
  double least = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    least = std::max(least, std::min(1.0, p[order[k]] * static_cast<double>(order.size() - k)));
    adjusted[order[k]] = least;
  }
  return adjusted;
}

std::vector<double> NormalScores(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> scores(values.size());
  for (std::size_t k = 0; k < order.size();) {
    std::size_t end = k + 1;
    while (end < order.size() && values[order[end]] == values[order[k]]) ++end;
    const double rank = 0.5 * static_cast<double>(k + end + 1);  // mean of k + 1 .. end
    for (; k < end; ++k)
      scores[order[k]] = NormalQuantile(rank / static_cast<double>(values.size() + 1));
  }
  return scores;
}

ClusterPermutation::ClusterPermutation(const std::vector<int>& cluster) : order_(cluster.size()) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < cluster.size(); ++i) members[cluster[i]].push_back(i);
  std::map<std::size_t, std::vector<std::vector<std::size_t>>> sizes;
  for (auto& [name, places] : members) sizes[places.size()].push_back(std::move(places));
  for (auto& [size, clusters] : sizes) by_size_.push_back(std::move(clusters));
}

const std::vector<std::size_t>& ClusterPermutation::Next(std::mt19937_64& random) {
  for (const auto& clusters : by_size_) {
    std::vector<std::size_t> from(clusters.size());
    std::iota(from.begin(), from.end(), std::size_t{0});
    std::shuffle(from.begin(), from.end(), random);
    for (std::size_t c = 0; c < clusters.size(); ++c)
      for (std::size_t k = 0; k < clusters[c].size(); ++k)
        order_[clusters[c][k]] = clusters[from[c]][k];
  }
  return order_;
}

}  // namespace impactlab
