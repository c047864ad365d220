#include "data/files/column_map.h"

#include <fmt/format.h>

#include <string_view>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab {

MappedColumn MapColumn(const Table& header, const std::string& key, Quantity quantity,
                       const std::string& mapping) {
  const std::string name(TrimSpace(mapping));
  const std::size_t space = name.find_last_of(" \t");
  if (header.Has(name) || space == std::string::npos) {
    header.Column(name);  // throws where there is none, naming the nearest
    UnitName split = SplitUnit(name);
    // "vx0 mm_per_s": the table's own name ends in a space and a unit.
    if (split.quantity != quantity && space != std::string::npos)
      split = SplitUnit(std::string(name).replace(space, 1, "_"));
    return {name, split.quantity == quantity ? split.to_si : 1};
  }
  const std::string unit = name.substr(space + 1);
  const std::string own(TrimSpace(std::string_view(name).substr(0, space)));
  header.Column(own);
  const double factor = ToSi(unit);
  if (QuantityOf(unit) != quantity) {
    throw ConfigError(fmt::format(
        "columns: {}: found unit {} of {} for '{}', allowed a unit of {}: {}", key, unit,
        QuantityName(QuantityOf(unit)), own, QuantityName(quantity), JoinNames(UnitsOf(quantity))));
  }
  return {own, factor};
}

}  // namespace impactlab
