#pragma once
// Tables that say something of every value of an enum, and a check while compiling that no value
// lacks its row.

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace impactlab {

// Whether an enumerator has this value: g++ and clang++ name it, and write any other number as a
// cast, "(impactlab::RestitutionLaw)3".
template <auto value>
constexpr bool IsEnumerator() {
  constexpr std::string_view kBefore = "value = ";
  const std::string_view name = __PRETTY_FUNCTION__;
  return name[name.find(kBefore) + kBefore.size()] != '(';
}

// True when row i is that of the i-th value, which its member says, and no value stands behind
// the last row.
template <auto member, class Row, std::size_t n>
constexpr bool EveryValueHasItsRow(const std::array<Row, n>& rows) {
  using Enum = std::remove_cvref_t<decltype(rows[0].*member)>;
  for (std::size_t i = 0; i < n; ++i)
    if (rows[i].*member != static_cast<Enum>(i)) return false;
  return !IsEnumerator<static_cast<Enum>(n)>();
}

// The row of a value of such a table; std::out_of_range for a code that is none.
template <class Row, std::size_t n, class Enum>
constexpr const Row& RowOf(const std::array<Row, n>& rows, Enum value) {
  return rows.at(static_cast<std::size_t>(value));
}

}  // namespace impactlab
