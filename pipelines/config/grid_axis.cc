#include "pipelines/config/grid_axis.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>

#include "data/files/text.h"

namespace impactlab::pipelines {

std::vector<double> VisitGrid(Keys& keys, double most, const char* count) {
  double from = 0, to = 0, step = 0;
  keys.Number("from", from, {}, "first value", Need::kRequired);
  keys.Number("to", to, {}, "last value", Need::kRequired);
  keys.Check(to > from, "to", FormatNumber(to), "a number above from");
  keys.Stated(true).Number("step", step, Positive(), "between values; or count");
  std::vector<double> values;
  if (step > 0) {
    keys.Check(!keys.reading()->Has("count"), "count", "both step and count", "one of them");
    keys.Check((to - from) / step <= most, "step", FormatNumber(step),
               fmt::format("a larger step: at most {} points", FormatNumber(most)));
    const auto n = static_cast<std::int64_t>(std::floor((to - from) / step + 1e-9)) + 1;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(from + static_cast<double>(i) * step);
  } else {
    std::int64_t n = 0;
    keys.Count("count", n, Closed(2, most), count, Need::kRequired);
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(from + (to - from) * static_cast<double>(i) / static_cast<double>(n - 1));
  }
  return values;
}

}  // namespace impactlab::pipelines
