#pragma once
// Test of one population against a mixture of two, for values with known errors of measurement in
// one quantity or several.
//
// One: x = m + scatter + error, scatter of one standard deviation s, error of the standard
// deviation stated for each value. Two: members of a cluster (impacts of one recording) belong to
// one of two means, with the same s. Both are fitted by expectation and maximisation (McLachlan and
// Peel, Finite Mixture Models, 2000), normal or with Student's tails of 4 degrees of freedom,
// whichever one population prefers. The likelihood ratio has no standard distribution: it is drawn
// from the fitted single population (McLachlan, Appl. Stat. 36 (1987) 318), by Besag and Clifford's
// sequential rule (Biometrika 78 (1991) 301).

#include <cstdint>
#include <vector>

namespace impactlab {

struct PopulationData {
  std::vector<std::vector<double>> value, sd;  // [quantity][member]; NaN value: not measured
  std::vector<int> cluster;                    // of every member, from 0
};

struct MixtureTest {
  bool tested = false;   // at least 8 clusters with a value
  int clusters = 0;      //
  bool student = false;  // tails of Student's distribution
  double p = 1;          // of one population
  double ratio = 0;      // twice the log likelihood ratio
  // of the means in standard deviations of the scatter within, all quantities together
  double separation = 0;
  std::vector<double> mean_one, scatter_one;  // of one population, by quantity
  // of two; the first has the lower mean of the first quantity
  std::vector<double> mean_first, mean_second, scatter_two;
  std::vector<double> sd_first, sd_second;  // of those means
  std::vector<double> probability;          // of every cluster to be of the second
};

// `draws`: at most so many samples of one population. ConfigError for lists of different lengths.
MixtureTest TestMixture(const PopulationData& data, int draws, std::uint64_t seed);

}  // namespace impactlab
