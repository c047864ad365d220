#include "data/files/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace impactlab {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Length of the UTF-8 sequence at the start of `text`, 0 when it is broken (overlong, surrogate,
// above U+10FFFF, cut short).
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  text = TrimSpace(text);
  if (text.size() > 1 && text[0] == '+' && (IsDigit(text[1]) || text[1] == '.'))
    text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end)
    return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
  if (error != std::errc::result_out_of_range || stop != end) return std::nullopt;
  // from_chars does not say on which side the number is out of range; long double covers what
  // people write, the exponent's sign the rest.
  long double wide = 0;
  const auto [wide_stop, wide_error] = std::from_chars(text.data(), end, wide);
  const bool tiny = wide_error == std::errc()
                        ? std::fabs(wide) < 1
                        : text.find("e-") != text.npos || text.find("E-") != text.npos;
  if (!tiny || wide_stop != end) return std::nullopt;
  return text[0] == '-' ? -0.0 : 0.0;
}

void AppendNumber(std::string& out, double value) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, error == std::errc() ? end : buffer);
}

std::optional<double> ParseDecimalComma(std::string_view text) {
  std::string with_point(text);
  const std::size_t comma = with_point.find(',');
  if (comma == std::string::npos) return std::nullopt;
  with_point[comma] = '.';
  return ParseNumber(with_point);  // refuses a second comma
}

std::string FormatNumber(double value) {
  std::string out;
  AppendNumber(out, std::isnan(value) ? std::fabs(value) : value);
  return out;
}

int EditDistance(std::string_view a, std::string_view b) {
  const std::size_t n = b.size();
  std::vector<int> two_back(n + 1), back(n + 1), row(n + 1);
  for (std::size_t j = 0; j <= n; ++j) back[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= n; ++j) {
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, back[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
    std::swap(two_back, back);
    std::swap(back, row);
  }
  return back[n];
}

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  // Names longer than any key of the formats are not typing errors; a bound keeps hostile ones
  // cheap.
  const std::string_view start = name.substr(0, 200);
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(start, candidate);
    if (2 * distance > static_cast<int>(std::max(start.size(), candidate.size()))) continue;
    if (!best || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? *best : std::string();
}

std::string JoinNames(const std::vector<std::string>& names, std::string_view separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

std::string_view TrimSpace(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<TextFault> FindTextFault(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7F) {
      ++i;
      continue;
    }
    if (c < 0x80) {
      if (c != '\t' && c != '\r' && c != '\n')
        return TextFault{i, fmt::format("binary byte 0x{:02X}", c)};
      ++i;
      continue;
    }
    const std::size_t length = Utf8Length(text.substr(i));
    if (length == 0) return TextFault{i, fmt::format("byte 0x{:02X}, which is not UTF-8", c)};
    i += length;
  }
  return std::nullopt;
}

std::string ByteOrderMark(std::string_view text, std::size_t* length) {
  struct Mark {
    std::string_view bytes;
    const char* name;
  };
  using namespace std::string_view_literals;
  // UTF-32 little endian starts like UTF-16, so it is asked first.
  static constexpr Mark kMarks[] = {{"\xEF\xBB\xBF"sv, "UTF-8"},
                                    {"\xFF\xFE\x00\x00"sv, "UTF-32"},
                                    {"\x00\x00\xFE\xFF"sv, "UTF-32"},
                                    {"\xFF\xFE"sv, "UTF-16"},
                                    {"\xFE\xFF"sv, "UTF-16"}};
  for (const Mark& mark : kMarks) {
    if (text.substr(0, mark.bytes.size()) != mark.bytes) continue;
    if (length) *length = mark.bytes.size();
    return mark.name;
  }
  if (length) *length = 0;
  return {};
}

std::string Excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "'";
  std::size_t i = 0;
  while (i < text.size() && out.size() <= kLongest) {
    const std::size_t length = Utf8Length(text.substr(i));
    const unsigned char c = static_cast<unsigned char>(text[i]);
    // C1 controls (U+0080 to U+009F) can steer a terminal just as C0 controls do.
    const bool control =
        c < 0x20 || c == 0x7F ||
        (c == 0xC2 && length == 2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    if (length == 0 || control) {
      out += fmt::format("\\x{:02X}", c);
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out + (i < text.size() ? "...'" : "'");
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string UpperCase(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text.front() = UpperCase(text.substr(0, 1)).front();
  return text;
}

bool NaturalLess(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const auto run = [](std::string_view s, std::size_t& k) {
        const std::size_t start = k;
        while (k < s.size() && IsDigit(s[k])) ++k;
        std::string_view digits = s.substr(start, k - start);
        while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
        return digits;
      };
      const std::string_view x = run(a, i), y = run(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i;
    ++j;
  }
  if ((a.size() - i) != (b.size() - j)) return a.size() - i < b.size() - j;
  return a < b;  // equal but for leading zeros: any fixed order
}

}  // namespace impactlab
