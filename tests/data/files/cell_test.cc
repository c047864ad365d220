#include "data/files/cell.h"

#include <gtest/gtest.h>

#include <cmath>

namespace impactlab {
namespace {

TEST(Cell, EveryKind) {
  struct Case {
    const char* text;
    CellKind kind;
    double value;
  };
  for (const Case& c : {Case{"1.5", CellKind::kNumber, 1.5},
                        {" -2e-3 ", CellKind::kNumber, -2e-3},
                        {"1,5", CellKind::kDecimalComma, 1.5},
                        {" -0,25e1", CellKind::kDecimalComma, -2.5}}) {
    const CellValue cell = ReadCell(c.text);
    EXPECT_EQ(cell.kind, c.kind) << c.text;
    EXPECT_EQ(cell.value, c.value) << c.text;
    EXPECT_FALSE(cell.gap());
  }
  for (const char* text : {"", " ", "\t"}) {
    EXPECT_EQ(ReadCell(text).kind, CellKind::kEmpty);
    EXPECT_TRUE(ReadCell(text).gap());
  }
  for (const char* text : {"nan", " NaN", "-nan"}) {
    EXPECT_EQ(ReadCell(text).kind, CellKind::kNan) << text;
    EXPECT_TRUE(ReadCell(text).gap());
    EXPECT_TRUE(std::isnan(ReadCell(text).value));
  }
  for (const char* text : {"inf", "1.5 m", "1,5,2", "0x10", "nano", "1e999", "a"}) {
    EXPECT_EQ(ReadCell(text).kind, CellKind::kOther) << text;
    EXPECT_TRUE(std::isnan(ReadCell(text).value));
  }
}

}  // namespace
}  // namespace impactlab
