#include "data/files/cell.h"

#include <limits>

#include "data/files/text.h"

namespace impactlab {

CellValue ReadCell(std::string_view cell) {
  if (const auto value = ParseNumber(cell)) return {CellKind::kNumber, *value};
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const std::string_view word = TrimSpace(cell);
  if (word.empty()) return {CellKind::kEmpty, kNothing};
  if (word.size() <= 4 && (LowerCase(word) == "nan" || LowerCase(word) == "-nan"))
    return {CellKind::kNan, kNothing};
  if (const auto value = ParseDecimalComma(word)) return {CellKind::kDecimalComma, *value};
  return {CellKind::kOther, kNothing};
}

}  // namespace impactlab
