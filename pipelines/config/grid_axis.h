#pragma once
// Evenly spaced values of an axis, as sweep files give them.

#include <vector>

#include "pipelines/config/visit.h"

namespace impactlab::pipelines {

// Keys `from`, `to` (above from) and one of `step` and `count` (at least 2); at most `most` values.
// ConfigError otherwise.
// Read only; `count` says what else is meant by a count.
std::vector<double> VisitGrid(Keys& keys, double most, const char* count);

}  // namespace impactlab::pipelines
