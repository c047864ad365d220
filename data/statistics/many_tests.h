#pragma once
// Many tests of one set of data: levels that hold for all of them together, and permutations of
// recordings.

#include <cstddef>
#include <random>
#include <vector>

namespace impactlab {

// p values so adjusted that the chance of any false alarm among them stays at the level they are
// compared with (Holm, Scand. J. Stat. 6 (1979) 65). NaN: no test, stays NaN and is not counted.
// ConfigError for a p outside 0 to 1.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

// Ranks of values as normal scores, ties by their mean rank: the test no longer depends on the
// tails (van der Waerden).
std::vector<double> NormalScores(const std::vector<double>& values);

// A permutation of values that keeps those of one cluster together and in order: clusters exchange
// places with others of their size.
class ClusterPermutation {
 public:
  explicit ClusterPermutation(const std::vector<int>& cluster);
  // Index of the value that comes to each place.
  const std::vector<std::size_t>& Next(std::mt19937_64& random);

 private:
  // places of the clusters of each size
  std::vector<std::vector<std::vector<std::size_t>>> by_size_;
  std::vector<std::size_t> order_;
};

}  // namespace impactlab
