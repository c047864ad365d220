#pragma once
// The area between predicted and measured distribution functions, and its distribution if the
// prediction is true.
//
// Ferson, Oberkampf and Ginzburg, Comput. Methods Appl. Mech. Engrg. 197 (2008) 2408: with F the
// predicted and S_n the empirical distribution function, d = integral of |F - S_n|, in the unit of
// the quantity. Where every measurement has a predictive distribution of its own, its place u_i =
// F_i(x_i) in it is uniform on [0, 1] if the prediction is true, and the area between the u's and
// the uniform pools them. Any finite sample has an area above 0: it is compared with the areas of
// samples of a true prediction.

#include <cstdint>
#include <vector>

namespace impactlab {

// Area between the empirical distribution function of `u` in [0, 1] and the uniform's: 0 to 1/2.
// ConfigError for no values or others.
double AreaFromUniform(std::vector<double> u);

// Normals of equal weight: the prediction for a set of measurements taken together. ConfigError for
// none, or an sd below 0.
class NormalMixture {
 public:
  NormalMixture(const std::vector<double>& mean, const std::vector<double>& sd);
  double Quantile(double p) const;  // 0 < p < 1
  // Area between its distribution function and the empirical one of `values`, in their unit; by
  // quantiles, to about 1e-3 of its spread.
  double AreaFrom(std::vector<double> values) const;

 private:
  double Cdf(double x) const;
  std::vector<double> mean_, sd_;
  std::vector<double> x_, p_;  // table of the distribution function
};

// Which values share errors: those of one cluster (impacts of one recording) are correlated by
// `correlation`, 0 to 1.
struct Sharing {
  std::vector<int> cluster;  // of every value, from 0
  double correlation = 0;
};
// Correlation within clusters that standard normal values `z` show, two standard deviations added
// for safety; 0 where no cluster has two.
double CorrelationWithin(const std::vector<double>& z, const std::vector<int>& cluster);

// Areas of samples of a true prediction.
struct AreaReference {
  std::vector<double> areas;  // of the draws, ascending
  double Median() const;      //
  double Upper95() const;     // one of twenty true predictions lies further
  // p: share of draws at least as far, the sample itself counted
  double Exceedance(double area) const;
};
AreaReference UniformReference(const Sharing& sharing, int draws, std::uint64_t seed);
AreaReference MixtureReference(const NormalMixture& predicted, const std::vector<double>& mean,
                               const std::vector<double>& sd, const Sharing& sharing, int draws,
                               std::uint64_t seed);

}  // namespace impactlab
