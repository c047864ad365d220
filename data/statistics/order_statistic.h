#pragma once
// Order statistics without interpolation, of values of any ordered type.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace impactlab {

// Value of rank `rank` (0 is the least) of `values`, which are reordered; `rank` is below their
// number.
template <typename Value>
Value OrderStatistic(std::vector<Value>& values, std::size_t rank) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Median of an odd number of values, the upper one of the two middle values of an even number, 0
// where there are none: for robust scales of many values, where half a rank does not matter.
// Median() of statistics.h takes the mean of the middle two.
template <typename Value>
Value UpperMedian(std::vector<Value> values) {
  return values.empty() ? Value{} : OrderStatistic(values, values.size() / 2);
}

}  // namespace impactlab
