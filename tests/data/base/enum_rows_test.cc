// A table without the row of a value, or with rows in another order, is found while compiling.

#include "data/base/enum_rows.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace impactlab {
namespace {

enum class Metal { kIron, kTin, kLead };
struct MetalRow {
  Metal metal;
  const char* word;
};

constexpr auto kWhole =
    std::to_array<MetalRow>({{Metal::kIron, "iron"}, {Metal::kTin, "tin"}, {Metal::kLead, "lead"}});
constexpr auto kShort = std::to_array<MetalRow>({{Metal::kIron, "iron"}, {Metal::kTin, "tin"}});
constexpr auto kMixed =
    std::to_array<MetalRow>({{Metal::kTin, "tin"}, {Metal::kIron, "iron"}, {Metal::kLead, "lead"}});
constexpr auto kTwice = std::to_array<MetalRow>(
    {{Metal::kIron, "iron"}, {Metal::kTin, "tin"}, {Metal::kLead, "lead"}, {Metal::kLead, "lead"}});

static_assert(EveryValueHasItsRow<&MetalRow::metal>(kWhole));
static_assert(!EveryValueHasItsRow<&MetalRow::metal>(kShort));
static_assert(!EveryValueHasItsRow<&MetalRow::metal>(kMixed));
static_assert(!EveryValueHasItsRow<&MetalRow::metal>(kTwice));
static_assert(IsEnumerator<Metal::kLead>() && !IsEnumerator<static_cast<Metal>(3)>());

TEST(EnumRows, RowOfAValue) {
  EXPECT_STREQ(RowOf(kWhole, Metal::kTin).word, "tin");
  EXPECT_THROW(RowOf(kWhole, static_cast<Metal>(3)), std::out_of_range);
}

}  // namespace
}  // namespace impactlab
