#pragma once
// Columns of a foreign table under names that a configuration gives them.

#include <string>

#include "data/files/table.h"
#include "data/files/units.h"

namespace impactlab {

struct MappedColumn {
  std::string name;  // in the file
  double to_si = 1;  // value_si = to_si * value
};

// The column that `mapping` names for our `key`: "their_name", in the unit that this name ends in
// after an underscore or a space (SI where it has none of the quantity), or "their_name unit".
// DataError that names the nearest column where the header has none; ConfigError for a unit of
// another quantity.
MappedColumn MapColumn(const Table& header, const std::string& key, Quantity quantity,
                       const std::string& mapping);

}  // namespace impactlab
