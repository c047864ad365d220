#pragma once
// A number as printed in a table: its value, the rounding implied by its digits, and the effect of
// rounding on a value computed from several.

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace impactlab {

struct Printed {
  double value = std::numeric_limits<double>::quiet_NaN();
  double half = 0;  // half a unit of the last digit, in the unit of `value`
  std::string text;
  bool there() const { return !text.empty(); }
};
// A number with the half unit of its last printed digit; trailing zeros count as digits. Empty
// where `text` is no number.
std::optional<Printed> ReadPrinted(const std::string& text, double to_si = 1);

struct Recomputed {
  double value = std::numeric_limits<double>::quiet_NaN(), bound = 0, u = 0;
};
// `f` at `x`, whose entries are known to +- `half`.
Recomputed Recompute(const std::function<double(const Eigen::VectorXd&)>& f,
                     const Eigen::VectorXd& x, const Eigen::VectorXd& half);

}  // namespace impactlab
