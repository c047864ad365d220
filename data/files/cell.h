#pragma once
// One cell of a table of text: the only reader of what CSV, TSV and TRC files hold.

#include <string_view>

namespace impactlab {

enum class CellKind {
  kNumber,
  kEmpty,         // nothing but spaces
  kNan,           // "nan" or "-nan", in any case: what programs write for a gap
  kDecimalComma,  // a number but for its decimal comma
  kOther
};

struct CellValue {
  CellKind kind = CellKind::kOther;
  double value = 0;  // of kNumber and kDecimalComma, finite; NaN else

  // A gap: empty or NaN.
  bool gap() const { return kind == CellKind::kEmpty || kind == CellKind::kNan; }
};

// `cell` as it stands in the file, without its quotes. Numbers are those of ParseNumber
// (data/files/text.h).
CellValue ReadCell(std::string_view cell);

}  // namespace impactlab
