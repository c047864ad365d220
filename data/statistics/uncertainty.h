#pragma once
// Uncertainty of a quantity that is computed from others: the linear budget of the GUM (JCGM
// 100:2008) and, beside it, the propagation of distributions by Monte Carlo (JCGM 101:2008), which
// checks the budget.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "data/statistics/statistics.h"

namespace impactlab {

enum class Spread { kExact, kNormal, kRectangular, kTriangular, kStudent };
const char* SpreadName(Spread spread);  // "normal", ...

// One input. `u` is its standard uncertainty: the half width over sqrt(3) of a rectangle, over
// sqrt(6) of a triangle, s / sqrt(n) of the mean of n readings (kStudent with n - 1 degrees of
// freedom).
struct UncertainInput {
  std::string name, unit;
  double value = 0, u = 0;
  Spread spread = Spread::kNormal;
  double dof = std::numeric_limits<double>::infinity();
  std::string source = {};  // where it comes from, for people
};
UncertainInput Rectangular(std::string name, std::string unit, double value, double half_width,
                           std::string source);
// Mean of readings of one quantity; two at least.
UncertainInput MeanOf(std::string name, std::string unit, const std::vector<double>& readings,
                      std::string source);

struct BudgetLine {
  double sensitivity = 0;   // dy / dx_i, in the units of y and x_i
  double contribution = 0;  // |sensitivity| u_i, in the unit of y
  double share = 0;         // of the variance
};

struct UncertainResult {
  double value = 0, u = 0;                               // linear
  double dof = std::numeric_limits<double>::infinity();  // effective (Welch and Satterthwaite)
  Interval linear95;                                     // value -+ t u
  std::vector<BudgetLine> budget;                        // one line an input
  double mean = 0, sd = 0;                               // Monte Carlo
  // Monte Carlo, equal tails: the one to quote
  Interval interval95;
  int draws = 0;
  // Both intervals agree to half a unit of the second digit of `u` (JCGM 101, 8.1).
  bool linear_holds = false;
};

// `f` takes the values of the inputs in their order. Sensitivities by central differences of a
// thousandth of `u`.
UncertainResult PropagateUncertainty(const std::function<double(const std::vector<double>&)>& f,
                                     const std::vector<UncertainInput>& inputs, int draws = 20000,
                                     std::uint64_t seed = 1);

}  // namespace impactlab
