#pragma once
// Infinity as a cost or a bound, by one name.

#include <limits>

namespace impactlab {

/// Positive infinity: the cost of what is not allowed, a bound that does not hold.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace impactlab
