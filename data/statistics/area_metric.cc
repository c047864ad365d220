#include "data/statistics/area_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr int kTable = 1024;  // points of the distribution function
constexpr double kReach = 5;  // standard deviations that the table goes beyond the outermost means
constexpr int kPerValue = 8;  // quantiles compared with each measurement
constexpr int kFewestQuantiles = 1024;  // quantiles compared at least

// Integral of |x - level| from a to b.
double AreaOfLine(double a, double b, double level) {
  const auto half_square = [&](double x) { return 0.5 * (x - level) * std::fabs(x - level); };
  return half_square(b) - half_square(a);
}

template <typename Area>
AreaReference DrawReference(const Sharing& sharing, int draws, std::uint64_t seed,
                            const Area& area) {
  const std::vector<int>& cluster = sharing.cluster;
  if (cluster.empty()) throw ConfigError("area: found no values, allowed one or more");
  if (draws < 1) throw ConfigError(fmt::format("area: draws: found {}, allowed 1 or more", draws));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> of_cluster(
      static_cast<std::size_t>(*std::max_element(cluster.begin(), cluster.end())) + 1),
      z(cluster.size());
  const double common = std::sqrt(sharing.correlation), own = std::sqrt(1 - sharing.correlation);
  AreaReference reference;
  for (int k = 0; k < draws; ++k) {
    for (double& one : of_cluster) one = normal(random);
    for (std::size_t i = 0; i < z.size(); ++i)
      z[i] = common * of_cluster[static_cast<std::size_t>(cluster[i])] + own * normal(random);
    reference.areas.push_back(area(z));
  }
  std::sort(reference.areas.begin(), reference.areas.end());
  return reference;
}

}  // namespace

double AreaFromUniform(std::vector<double> u) {
  if (u.empty()) throw ConfigError("area: found no values, allowed one or more");
  for (const double value : u)
    if (!(value >= 0 && value <= 1))
      throw ConfigError(
          fmt::format("area: found {}, allowed a number from 0 to 1", FormatNumber(value)));
  std::sort(u.begin(), u.end());
  const double n = static_cast<double>(u.size());
  double area = AreaOfLine(0, u.front(), 0) + AreaOfLine(u.back(), 1, 1);
  for (std::size_t i = 0; i + 1 < u.size(); ++i)
    area += AreaOfLine(u[i], u[i + 1], static_cast<double>(i + 1) / n);
  return area;
}

NormalMixture::NormalMixture(const std::vector<double>& mean, const std::vector<double>& sd)
    : mean_(mean), sd_(sd) {
  if (mean.empty() || sd.size() != mean.size())
    throw ConfigError(
        fmt::format("area: found {} means and {} standard deviations, allowed one of each or more",
                    mean.size(), sd.size()));
  double lower = INFINITY, upper = -INFINITY;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (!std::isfinite(mean[i]) || !(sd[i] >= 0 && std::isfinite(sd[i])))
      throw ConfigError(
          fmt::format("area: found a normal of mean {} and standard deviation {}, allowed finite "
                      "numbers, the latter at least 0",
                      FormatNumber(mean[i]), FormatNumber(sd[i])));
    lower = std::min(lower, mean[i] - kReach * sd[i]);
    upper = std::max(upper, mean[i] + kReach * sd[i]);
  }
  for (int k = 0; k <= kTable; ++k) {
    x_.push_back(lower + (upper - lower) * k / kTable);
    p_.push_back(Cdf(x_.back()));
  }
}

double NormalMixture::Cdf(double x) const {
  double sum = 0;
  for (std::size_t i = 0; i < mean_.size(); ++i)
    sum += sd_[i] > 0     ? NormalCdf((x - mean_[i]) / sd_[i])
           : x < mean_[i] ? 0
           : x > mean_[i] ? 1
                          : 0.5;
  return sum / static_cast<double>(mean_.size());
}

double NormalMixture::Quantile(double p) const {
  const auto above = std::lower_bound(p_.begin(), p_.end(), p);
  if (above == p_.begin()) return x_.front();
  if (above == p_.end()) return x_.back();
  const auto k = static_cast<std::size_t>(above - p_.begin());
  const double step = p_[k] - p_[k - 1];
  return x_[k - 1] + (step > 0 ? (p - p_[k - 1]) / step : 0.5) * (x_[k] - x_[k - 1]);
}

double NormalMixture::AreaFrom(std::vector<double> values) const {
  if (values.empty()) throw ConfigError("area: found no values, allowed one or more");
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size(),
                    each = std::max<std::size_t>(kPerValue, (kFewestQuantiles + n - 1) / n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < each; ++k) {
      const double p = (static_cast<double>(i * each + k) + 0.5) / static_cast<double>(n * each);
      sum += std::fabs(values[i] - Quantile(p));
    }
  return sum / static_cast<double>(n * each);
}

double CorrelationWithin(const std::vector<double>& z, const std::vector<int>& cluster) {
  std::map<int, std::pair<double, double>> sums;  // of values and of their squares
  std::map<int, int> size;
  double squares = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    sums[cluster[i]].first += z[i];
    sums[cluster[i]].second += z[i] * z[i];
    squares += z[i] * z[i];
    ++size[cluster[i]];
  }
  double products = 0, pairs = 0;
  for (const auto& [name, sum] : sums) {
    products += 0.5 * (sum.first * sum.first - sum.second);
    pairs += 0.5 * size[name] * (size[name] - 1);
  }
  if (!(pairs > 0) || !(squares > 0)) return 0;
  return std::clamp(
      products / pairs / (squares / static_cast<double>(z.size())) + 2 / std::sqrt(pairs), 0.0,
      1.0);
}

double AreaReference::Median() const { return Quantile(areas, 0.5); }
double AreaReference::Upper95() const { return Quantile(areas, 0.95); }
double AreaReference::Exceedance(double area) const {
  const auto further = areas.end() - std::lower_bound(areas.begin(), areas.end(), area);
  return (1 + static_cast<double>(further)) / (1 + static_cast<double>(areas.size()));
}

AreaReference UniformReference(const Sharing& sharing, int draws, std::uint64_t seed) {
  return DrawReference(sharing, draws, seed, [](const std::vector<double>& z) {
    std::vector<double> u;
    u.reserve(z.size());
    for (const double one : z) u.push_back(NormalCdf(one));
    return AreaFromUniform(std::move(u));
  });
}

AreaReference MixtureReference(const NormalMixture& predicted, const std::vector<double>& mean,
                               const std::vector<double>& sd, const Sharing& sharing, int draws,
                               std::uint64_t seed) {
  return DrawReference(sharing, draws, seed, [&](const std::vector<double>& z) {
    std::vector<double> x;
    for (std::size_t i = 0; i < z.size(); ++i) x.push_back(mean[i] + sd[i] * z[i]);
    return predicted.AreaFrom(std::move(x));
  });
}

}  // namespace impactlab
