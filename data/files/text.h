#pragma once
// Small text tools that every reader and writer of files shares. All of them ignore the locale.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace impactlab {

// Number written in full by `text`, with a decimal point and an optional exponent; spaces around it
// are ignored. Empty when `text` is anything else: words, a decimal comma, hexadecimal, trailing
// characters, "nan" and "inf", or a number too large for a double. Too small a number is 0.
std::optional<double> ParseNumber(std::string_view text);

// The number that `text` is with its only comma read as the decimal point; empty when there is no
// comma, more than one, or anything that ParseNumber refuses.
std::optional<double> ParseDecimalComma(std::string_view text);

// Shortest decimal text that reads back as exactly `value`; "nan", "inf" and "-inf" where the value
// is not finite.
std::string FormatNumber(double value);
// The same, appended to `out` without allocation of its own.
void AppendNumber(std::string& out, double value);

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, changes and swaps
// of neighbours.
int EditDistance(std::string_view a, std::string_view b);

// Candidate nearest to `name` (the first of equals); empty when there is none within half the
// length of the longer of the two.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c"
std::string JoinNames(const std::vector<std::string>& names, std::string_view separator = ", ");

std::string_view TrimSpace(std::string_view text);

// The letters a to z of ASCII in lower or in upper case; every other byte stays as it is.
std::string LowerCase(std::string_view text);
std::string UpperCase(std::string_view text);
// The first letter in upper case, the rest as it is.
std::string Capitalized(std::string text);

// Position and meaning of the first thing in a text that is not plain UTF-8 text: a byte that is
// not UTF-8, or a control character other than tab, CR and LF. Empty when all is well.
struct TextFault {
  std::size_t offset = 0;
  std::string found;  // e.g. "byte 0xE9, which is not UTF-8"
};
std::optional<TextFault> FindTextFault(std::string_view text);

// What a byte order mark at the start of `text` says: "UTF-8", "UTF-16", "UTF-32", or empty.
// `length` is set to its bytes.
std::string ByteOrderMark(std::string_view text, std::size_t* length = nullptr);

// `text` made fit for one line of an error message: quoted, control characters and broken bytes
// escaped, cut at 60 characters.
std::string Excerpt(std::string_view text);

// Orders "drop_2" before "drop_10": runs of digits compare as numbers, the rest byte by byte.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace impactlab
