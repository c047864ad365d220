#include "data/statistics/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr int kFewestClusters = 8;  // clusters that a test needs
constexpr double kTails = 4;        // degrees of freedom of Student's distribution
constexpr int kEnough = 20;         // exceedances at which drawing ends: p is known well enough
constexpr double kLeastShare = 0.1;
// Of the data and of every sample alike, so that what is not quite at its maximum is so in both.
constexpr int kIterations = 60;
constexpr double kConverged = 1e-4;
constexpr int kLeastClusters = 3;  // of the smaller population

// Members of the data that hold a value, quantity by quantity.
struct Problem {
  const PopulationData* data = nullptr;
  bool student = false;
  int clusters = 0;
  std::size_t quantities() const { return data->value.size(); }
};

struct Model {
  std::vector<std::array<double, 2>> mean;  // [quantity][population]
  std::vector<double> scatter;
  double share = 0;  // of the second
  double log_likelihood = -INFINITY;
  std::vector<double> second;  // of every cluster, the probability of the second
};

double LogDensity(double d, double variance, double log_variance, bool student) {
  static const double kStudent = std::lgamma(0.5 * (kTails + 1)) - std::lgamma(0.5 * kTails) -
                                 0.5 * std::log(kTails * std::numbers::pi);
  static const double kNormal = -0.5 * std::log(2 * std::numbers::pi);
  const double chi_square = d * d / variance;
  return student
             ? kStudent - 0.5 * log_variance - 0.5 * (kTails + 1) * std::log1p(chi_square / kTails)
             : kNormal - 0.5 * (log_variance + chi_square);
}

// The scatter has a least value, so that a population cannot sit on one value.
double Variance(const Problem& p, const Model& m, std::size_t q, std::size_t i) {
  const double sd = p.data->sd[q][i], s = std::max({1e-9, 1e-3 * sd, m.scatter[q]});
  return s * s + sd * sd;
}

// Probabilities of the clusters and the likelihood.
void Expect(const Problem& p, int populations, Model& m) {
  std::vector<std::array<double, 2>> log_weight(static_cast<std::size_t>(p.clusters), {0, 0});
  for (std::size_t q = 0; q < p.quantities(); ++q)
    for (std::size_t i = 0; i < p.data->cluster.size(); ++i) {
      const double x = p.data->value[q][i];
      if (std::isnan(x)) continue;
      const double variance = Variance(p, m, q, i), log_variance = std::log(variance);
      for (int k = 0; k < populations; ++k)
        log_weight[static_cast<std::size_t>(p.data->cluster[i])][k] +=
            LogDensity(x - m.mean[q][k], variance, log_variance, p.student);
    }
  m.log_likelihood = 0;
  m.second.assign(log_weight.size(), 0);
  for (std::size_t c = 0; c < log_weight.size(); ++c) {
    if (populations == 1) {
      m.log_likelihood += log_weight[c][0];
      continue;
    }
    const double a = log_weight[c][0] + std::log1p(-m.share),
                 b = log_weight[c][1] + std::log(m.share), top = std::max(a, b);
    const double sum = std::exp(a - top) + std::exp(b - top);
    m.log_likelihood += top + std::log(sum);
    m.second[c] = std::exp(b - top) / sum;
  }
}

void Maximise(const Problem& p, int populations, Model& m) {
  const double least = std::max(kLeastShare, static_cast<double>(kLeastClusters) / p.clusters);
  m.share = populations == 1 ? 0 : std::clamp(Mean(m.second), least, 1 - least);
  for (std::size_t q = 0; q < p.quantities(); ++q) {
    std::array<double, 2> sum{}, weight{};
    double square = 0, count = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t i = 0; i < p.data->cluster.size(); ++i) {
        const double x = p.data->value[q][i];
        if (std::isnan(x)) continue;
        const double second = m.second[static_cast<std::size_t>(p.data->cluster[i])],
                     variance = Variance(p, m, q, i);
        for (int k = 0; k < populations; ++k) {
          const double share = k == 1 ? second : 1 - second, d = x - m.mean[q][k];
          const double tail = p.student ? (kTails + 1) / (kTails + d * d / variance) : 1;
          if (pass == 0) {
            sum[k] += share * tail / variance * x;
            weight[k] += share * tail / variance;
          } else {  // the scatter's share of the deviation, given the deviation
            const double sd = p.data->sd[q][i], s2 = variance - sd * sd, part = s2 / variance;
            square += share * (tail * part * part * d * d + s2 * (1 - part));
            count += share;
          }
        }
      }
    for (int k = 0; k < populations; ++k)
      if (weight[k] > 0) m.mean[q][k] = sum[k] / weight[k];
    if (count > 0) m.scatter[q] = std::sqrt(square / count);
  }
}

Model Climb(const Problem& p, int populations, Model m) {
  Expect(p, populations, m);
  for (int k = 0; k < kIterations; ++k) {
    const double before = m.log_likelihood;
    Maximise(p, populations, m);
    Expect(p, populations, m);
    if (std::abs(m.log_likelihood - before) < kConverged) break;
  }
  return m;
}

// Mean of every cluster in one quantity; NaN where it was not measured.
std::vector<double> ClusterMeans(const Problem& p, std::size_t q) {
  std::vector<double> sum(static_cast<std::size_t>(p.clusters), 0), count = sum;
  for (std::size_t i = 0; i < p.data->cluster.size(); ++i) {
    if (std::isnan(p.data->value[q][i])) continue;
    sum[static_cast<std::size_t>(p.data->cluster[i])] += p.data->value[q][i];
    count[static_cast<std::size_t>(p.data->cluster[i])] += 1;
  }
  for (std::size_t c = 0; c < sum.size(); ++c)
    sum[c] = count[c] > 0 ? sum[c] / count[c] : std::nan("");
  return sum;
}

Model FitOne(const Problem& p) {
  Model m;
  for (std::size_t q = 0; q < p.quantities(); ++q) {
    std::vector<double> x;
    for (const double value : p.data->value[q])
      if (!std::isnan(value)) x.push_back(value);
    m.mean.push_back({MedianOrZero(x), 0});
    m.scatter.push_back(x.empty() ? 1 : std::max(1e-6, MadSigma(x)));
  }
  m.second.assign(static_cast<std::size_t>(p.clusters), 0);
  return Climb(p, 1, m);
}

// The best of several starts: every quantity split at its quartiles.
Model FitTwo(const Problem& p, const Model& one) {
  Model best;
  for (std::size_t q = 0; q < p.quantities(); ++q) {
    const std::vector<double> means = ClusterMeans(p, q);
    std::vector<double> known;
    std::copy_if(means.begin(), means.end(), std::back_inserter(known),
                 [](double x) { return !std::isnan(x); });
    if (known.size() < 4) continue;
    for (const double at : {0.2, 0.5, 0.8}) {
      const double split = Quantile(known, at);
      Model m = one;
      for (std::size_t c = 0; c < means.size(); ++c)
        m.second[c] = std::isnan(means[c]) ? 0.5 : means[c] > split ? 0.95 : 0.05;
      for (std::size_t k = 0; k < p.quantities(); ++k) m.mean[k][1] = m.mean[k][0];
      for (double& s : m.scatter) s = std::max(1e-9, 0.5 * s);
      Maximise(p, 2, m);
      m = Climb(p, 2, std::move(m));
      if (m.log_likelihood > best.log_likelihood) best = std::move(m);
    }
  }
  return best;
}

PopulationData DrawPopulation(const Problem& p, const Model& one, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::chi_squared_distribution<double> chi_square(kTails);
  PopulationData out = *p.data;
  for (std::size_t q = 0; q < p.quantities(); ++q)
    for (std::size_t i = 0; i < out.cluster.size(); ++i) {
      if (std::isnan(out.value[q][i])) continue;
      const double z =
          p.student ? normal(random) * std::sqrt(kTails / chi_square(random)) : normal(random);
      out.value[q][i] = one.mean[q][0] + std::sqrt(Variance(p, one, q, i)) * z;
    }
  return out;
}

void Report(const Problem& p, const Model& one, Model two, MixtureTest& out) {
  if (two.mean.front()[0] > two.mean.front()[1]) {
    for (auto& mean : two.mean) std::swap(mean[0], mean[1]);
    for (double& second : two.second) second = 1 - second;
  }
  double separation = 0;
  for (std::size_t q = 0; q < p.quantities(); ++q) {
    out.mean_one.push_back(one.mean[q][0]);
    out.scatter_one.push_back(one.scatter[q]);
    out.mean_first.push_back(two.mean[q][0]);
    out.mean_second.push_back(two.mean[q][1]);
    out.scatter_two.push_back(two.scatter[q]);
    std::array<double, 2> weight{};
    double variance = 0, count = 0;
    for (std::size_t i = 0; i < p.data->cluster.size(); ++i) {
      if (std::isnan(p.data->value[q][i])) continue;
      const double second = two.second[static_cast<std::size_t>(p.data->cluster[i])],
                   v = Variance(p, two, q, i);
      weight[0] += (1 - second) / v, weight[1] += second / v;
      variance += v, count += 1;
    }
    out.sd_first.push_back(weight[0] > 0 ? 1 / std::sqrt(weight[0]) : std::nan(""));
    out.sd_second.push_back(weight[1] > 0 ? 1 / std::sqrt(weight[1]) : std::nan(""));
    if (count > 0) separation += std::pow(two.mean[q][1] - two.mean[q][0], 2) / (variance / count);
  }
  out.separation = std::sqrt(separation);
  out.probability = std::move(two.second);
}

}  // namespace

MixtureTest TestMixture(const PopulationData& data, int draws, std::uint64_t seed) {
  for (std::size_t q = 0; q < data.value.size(); ++q)
    if (data.sd.size() != data.value.size() || data.value[q].size() != data.cluster.size() ||
        data.sd[q].size() != data.cluster.size())
      throw ConfigError(
          "populations: found lists of different lengths, allowed one value and sd of every "
          "quantity and member");
  MixtureTest out;
  Problem p{.data = &data,
            .student = false,
            .clusters = data.cluster.empty()
                            ? 0
                            : *std::max_element(data.cluster.begin(), data.cluster.end()) + 1};
  out.clusters = p.clusters;
  if (p.clusters < kFewestClusters || data.value.empty()) return out;
  Model one = FitOne(p);
  Problem tails = p;
  tails.student = true;
  const Model heavy = FitOne(tails);
  if (heavy.log_likelihood > one.log_likelihood) {
    one = heavy;
    p.student = true;
  }
  const Model two = FitTwo(p, one);
  if (two.mean.empty()) return out;
  out.tested = true;
  out.student = p.student;
  out.ratio = 2 * (two.log_likelihood - one.log_likelihood);
  std::mt19937_64 random(seed);
  int exceeded = 0, drawn = 0;
  while (drawn < draws && exceeded < kEnough) {
    const PopulationData sample = DrawPopulation(p, one, random);
    Problem drawn_problem = p;
    drawn_problem.data = &sample;
    const Model sample_one = FitOne(drawn_problem), sample_two = FitTwo(drawn_problem, sample_one);
    exceeded += 2 * (sample_two.log_likelihood - sample_one.log_likelihood) >= out.ratio;
    ++drawn;
  }
  out.p = exceeded >= kEnough ? static_cast<double>(exceeded) / drawn
                              : (1.0 + exceeded) / (1.0 + drawn);
  Report(p, one, two, out);
  return out;
}

}  // namespace impactlab
