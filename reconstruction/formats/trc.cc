// TRC (track row column) of Motion Analysis, as OpenSim reads and writes it: five lines of header,
// then one line a frame, cells parted by tabs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "data/base/error.h"
#include "data/files/cell.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "reconstruction/formats/detail/marker_table.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t tab = line.find('\t');
    cells.push_back(TrimSpace(line.substr(0, tab)));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

// A unit of length as power of ten, or as a factor where it is none.
struct LengthUnit {
  std::optional<int> exponent;
  double factor = 1;
};

std::optional<LengthUnit> UnitOf(std::string_view name) {
  static const std::map<std::string, int> kPowers = {
      {"m", 0},   {"meters", 0},       {"metres", 0},
      {"mm", -3}, {"millimeters", -3}, {"millimetres", -3},
      {"cm", -2}, {"centimeters", -2}, {"centimetres", -2},
      {"um", -6}, {"micrometers", -6}};
  const std::string lower = LowerCase(name);
  if (const auto at = kPowers.find(lower); at != kPowers.end()) return LengthUnit{at->second, 1};
  if (lower == "in" || lower == "inches") return LengthUnit{std::nullopt, ToSi("in")};
  if (lower == "ft" || lower == "feet") return LengthUnit{std::nullopt, ToSi("ft")};
  return std::nullopt;
}

// `value` times ten to `places` in its shortest digits: the decimal point moves, no digit changes.
std::string ShiftedText(double value, int places) {
  char buffer[40];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = std::stoi(std::string(text.substr(e + 1))) + places;
  std::string digits, sign;
  for (const char c : text.substr(0, e)) {
    if (c == '-') sign = "-";
    if (c >= '0' && c <= '9') digits += c;
  }
  if (digits.find_first_not_of('0') == std::string::npos) return sign + "0";
  if (exponent < -12 || exponent > 20)
    return fmt::format("{}{}.{}e{}", sign, digits.substr(0, 1),
                       digits.size() > 1 ? digits.substr(1) : "0", exponent);
  const int size = static_cast<int>(digits.size());
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (exponent >= size - 1)
    return sign + digits + std::string(static_cast<std::size_t>(exponent - size + 1), '0');
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

// The number in metres, as if its digits had been written there.
std::optional<double> Metres(std::string_view text, const LengthUnit& unit) {
  const std::optional<double> plain = ParseNumber(text);
  if (!plain || (unit.exponent && *unit.exponent == 0)) return plain;
  if (!unit.exponent) return *plain * unit.factor;
  const std::size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return ParseNumber(fmt::format("{}e{}", text, *unit.exponent));
  int exponent = 0;
  std::string_view own = text.substr(e + 1);
  if (own.starts_with('+')) own.remove_prefix(1);
  if (std::from_chars(own.data(), own.data() + own.size(), exponent).ec != std::errc())
    return *plain * std::pow(10.0, *unit.exponent);
  return ParseNumber(fmt::format("{}e{}", text.substr(0, e), exponent + *unit.exponent));
}

class TrcReader {
 public:
  TrcReader(std::string_view text, std::string path, const MarkerReadOptions& options)
      : text_(text), path_(std::move(path)), options_(options) {
    std::size_t mark = 0;
    ByteOrderMark(text_, &mark);
    text_.remove_prefix(mark);
  }

  MarkerFile Read() {
    ReadHeader();
    file_.format = MarkerFormat::kTrc;
    file_.up = options_.up.value_or(UpAxis::kZ);
    std::string_view line;
    while (NextLine(&line)) {
      if (TrimSpace(line).empty()) continue;
      ReadRow(Cells(line));
    }
    MarkerPoints& points = file_.points;
    if (points.t.empty())
      throw DataError(fmt::format("{}: found no frame, allowed at least one", path_));
    if (const auto frames = Count("NumFrames"); frames && *frames != points.t.size())
      throw DataError(
          fmt::format("{}: found {} frames, allowed the {} of NumFrames; the file was cut short or "
                      "pieced together",
                      path_, points.t.size(), *frames));
    CheckRate();
    if (zeros_ > 0)
      file_.notes.push_back(
          fmt::format("{} points at exactly (0, 0, 0) are taken as not seen", zeros_));
    return std::move(file_);
  }

 private:
  [[noreturn]] void Fail(const std::string& column, const std::string& found,
                         const std::string& allowed) const {
    throw DataError(fmt::format("{}: row {}{}: found {}, allowed {}", path_, line_,
                                column.empty() ? "" : ", column " + column, found, allowed));
  }

  bool NextLine(std::string_view* line) {
    if (text_.empty()) return false;
    const std::size_t end = text_.find('\n');
    *line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (line->ends_with('\r')) line->remove_suffix(1);
    ++line_;
    if (const auto fault = FindTextFault(*line)) Fail("", fault->found, "plain text");
    return true;
  }

  std::vector<std::string_view> HeaderLine(const char* what) {
    std::string_view line;
    if (!NextLine(&line))
      throw DataError(
          fmt::format("{}: found {} lines, allowed a header of 5 with {}", path_, line_, what));
    return Cells(line);
  }

  std::optional<std::size_t> Count(const char* key) const {
    const auto at = header_.find(key);
    if (at == header_.end() || at->second.empty()) return std::nullopt;
    const auto value = ParseNumber(at->second);
    if (!value || *value < 0 || *value > 1e12 || *value != std::floor(*value))
      throw DataError(fmt::format("{}: row 3, column {}: found {}, allowed a count", path_, key,
                                  Excerpt(at->second)));
    return static_cast<std::size_t>(*value);
  }

  void ReadHeader() {
    const auto first = HeaderLine("PathFileType");
    for (const std::string_view cell : first) {
      if (cell.starts_with('(') && cell.find('/') != std::string_view::npos &&
          LowerCase(cell) != "(x/y/z)")
        Fail("", Excerpt(cell), "coordinates in the order (X/Y/Z)");
    }
    const auto keys = HeaderLine("the keys DataRate, ...");
    const auto values = HeaderLine("their values");
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (!keys[k].empty())
        header_[std::string(keys[k])] = k < values.size() ? std::string(values[k]) : "";
    const std::string unit = header_.contains("Units") ? header_["Units"] : "";
    const auto known = UnitOf(unit);
    if (!known) Fail("Units", unit.empty() ? "nothing" : Excerpt(unit), "mm, m, cm, um, in, ft");
    unit_ = *known;
    const auto labels = HeaderLine("Frame#, Time and the names of the markers");
    if (labels.size() < 2 || LowerCase(labels[0]).substr(0, 5) != "frame" ||
        LowerCase(labels[1]).substr(0, 4) != "time")
      Fail("", labels.empty() ? "nothing" : Excerpt(labels[0]),
           "Frame#, Time and the names of the markers, parted by tabs");
    std::size_t last = 0;
    for (std::size_t k = 2; k < labels.size(); ++k) {
      if (labels[k].empty()) continue;
      if ((k - 2) % 3 != 0)
        Fail(std::to_string(k + 1), "marker " + Excerpt(labels[k]),
             "a name above the first of its three columns");
      last = (k - 2) / 3 + 1;
    }
    const std::size_t n = Count("NumMarkers").value_or(last);
    if (n < last || n == 0 || n > labels.size() + 2)
      Fail("", fmt::format("{} names of markers", last),
           fmt::format("the {} of NumMarkers, at least one", n));
    std::vector<std::string> names;
    for (std::size_t m = 0; m < n; ++m)
      names.emplace_back(2 + 3 * m < labels.size() ? labels[2 + 3 * m] : std::string_view());
    TidyNames(&names, &file_.notes);
    HeaderLine("X1, Y1, Z1, ...");
    file_.points = EmptyPoints(names, 0);
  }

  void ReadRow(const std::vector<std::string_view>& cells) {
    MarkerPoints& points = file_.points;
    const std::size_t n = points.markers.size();
    const auto frame = ParseNumber(cells[0]);
    if (!frame || *frame != std::floor(*frame) || std::abs(*frame) > 1e15)
      Fail("Frame#", Excerpt(cells[0]), "a whole number");
    const auto t = cells.size() > 1 ? ParseNumber(cells[1]) : std::nullopt;
    if (!t) Fail("Time", cells.size() > 1 ? Excerpt(cells[1]) : "nothing", "a time in seconds");
    if (points.t.empty()) {
      points.first_frame = static_cast<long long>(*frame);
    } else {
      if (!(*t > points.t.back()))
        Fail("Time", Excerpt(cells[1]),
             fmt::format("a time after {}", FormatNumber(points.t.back())));
      if (!(*frame > last_frame_))
        Fail("Frame#", Excerpt(cells[0]),
             fmt::format("a number above {}", FormatNumber(last_frame_)));
    }
    last_frame_ = *frame;
    points.t.push_back(*t);
    for (std::size_t k = 2 + 3 * n; k < cells.size(); ++k)
      if (!cells[k].empty())
        Fail(std::to_string(k + 1), Excerpt(cells[k]),
             fmt::format("three cells for each of {} markers", n));
    for (std::size_t m = 0; m < n; ++m) {
      Vector3d p = Vector3d::Zero();
      int known = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t k = 2 + 3 * m + axis;
        if (k >= cells.size() || ReadCell(cells[k]).gap()) continue;
        const auto value = Metres(cells[k], unit_);
        if (!value)
          Fail(fmt::format("{} of {}", "XYZ"[axis], points.markers[m]), Excerpt(cells[k]),
               "a number, or nothing where it was not seen");
        p[static_cast<int>(axis)] = *value;
        ++known;
      }
      if (known != 0 && known != 3)
        Fail(points.markers[m], fmt::format("{} of 3 coordinates", known), "all three or none");
      const bool zero = known == 3 && options_.zero_is_missing && IsPlainZero(p);
      zeros_ += zero;
      points.p_WM[m].push_back(known == 3 && !zero ? std::optional<Vector3d>(ToWorld(p, file_.up))
                                                   : std::nullopt);
    }
  }

  void CheckRate() {
    const auto at = header_.find("DataRate");
    const auto stated = at == header_.end() ? std::nullopt : ParseNumber(at->second);
    if (!stated || !(*stated > 0)) {
      file_.notes.emplace_back("DataRate is no rate; the column Time counts");
      return;
    }
    const auto found = FrameRate(file_.points);
    if (found && std::abs(*found / *stated - 1) > 1e-3)
      file_.notes.push_back(
          fmt::format("DataRate says {:.6g} frames a second, the column Time {:.6g}; Time counts",
                      *stated, *found));
  }

  std::string_view text_;
  std::string path_;
  MarkerReadOptions options_;
  MarkerFile file_;
  std::map<std::string, std::string> header_;
  LengthUnit unit_;
  double last_frame_ = 0;
  int line_ = 0;
  long long zeros_ = 0;
};

}  // namespace

MarkerFile ReadTrc(std::string_view text, const std::string& path,
                   const MarkerReadOptions& options) {
  return TrcReader(text, path, options).Read();
}

std::string TrcText(const MarkerPoints& points, const MarkerWriteOptions& options,
                    const std::string& file_name) {
  for (const std::string& name : points.markers)
    if (FindTextFault(name) || name.find_first_of("\t\r\n") != std::string::npos ||
        TrimSpace(name) != name)
      throw ConfigError(
          fmt::format("marker {}: TRC parts names by tabs and lines, allowed a name without them",
                      Excerpt(name)));
  const std::size_t n = points.t.size();
  std::optional<double> rate = FrameRate(points);
  if (!rate) rate = n > 1 ? static_cast<double>(n - 1) / (points.t.back() - points.t.front()) : 1;
  const int places = options.unit == "mm" ? 3 : 0;
  const std::string rate_text = FormatNumber(*rate);
  std::string file = file_name;
  while (const auto fault = FindTextFault(file)) file[fault->offset] = '?';
  std::replace_if(
      file.begin(), file.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  std::string out = fmt::format(
      "PathFileType\t4\t(X/Y/"
      "Z)\t{}"
      "\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrig"
      "NumFrames\n"
      "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\nFrame#\tTime",
      file, rate_text, rate_text, n, points.markers.size(), options.unit, rate_text,
      points.first_frame, n);
  for (const std::string& name : points.markers) out += "\t" + name + "\t\t";
  out += "\n\t";
  for (std::size_t m = 1; m <= points.markers.size(); ++m)
    out += fmt::format("\tX{}\tY{}\tZ{}", m, m, m);
  out += "\n\n";
  const bool even = FrameRate(points).has_value();
  for (std::size_t i = 0; i < n; ++i) {
    const double intervals =
        even ? std::round((points.t[i] - points.t[0]) * *rate) : static_cast<double>(i);
    out += fmt::format("{}\t{}", points.first_frame + static_cast<long long>(intervals),
                       FormatNumber(points.t[i]));
    for (std::size_t m = 0; m < points.markers.size(); ++m) {
      if (!points.p_WM[m][i]) {
        out += "\t\t\t";
        continue;
      }
      Vector3d p = FromWorld(*points.p_WM[m][i], options.up);
      if (IsPlainZero(p)) p.x() = -0.0;
      for (int axis = 0; axis < 3; ++axis) out += "\t" + ShiftedText(p[axis], places);
    }
    out += '\n';
  }
  return out;
}

}  // namespace impactlab::reconstruction
