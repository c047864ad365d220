#include "tracking/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "data/error.h"
#include "data/table.h"
#include "data/text.h"
#include "tracking/import_sheet.h"

namespace impactlab {
namespace {

constexpr std::array<std::pair<TrackFormat, const char*>, 5> kFormats = {{{TrackFormat::kImpactLab, "impactlab"},
                                                                          {TrackFormat::kDltdv, "dltdv"},
                                                                          {TrackFormat::kTracker, "tracker"},
                                                                          {TrackFormat::kDeepLabCut, "deeplabcut"},
                                                                          {TrackFormat::kTable, "table"}}};

bool Has(const std::vector<std::string_view>& cells, std::string_view name) {
  return std::find(cells.begin(), cells.end(), name) != cells.end();
}

TrackFormat Recognise(const std::filesystem::path& path) {
  const internal::Sheet head = internal::Sheet::Head(path);
  std::size_t row = 0;
  // Comments of a table; Tracker's own line is none.
  while (row + 1 < head.size() && head.Cell(row, 0).starts_with('#') && !head.Cell(row, 0).starts_with("#multi")) ++row;
  const auto& cells = head.Row(row);
  if (Has(cells, "x_px") && Has(cells, "y_px"))
    return Has(cells, "recording") && Has(cells, "cov_xx_px2") ? TrackFormat::kImpactLab : TrackFormat::kTable;
  if (std::any_of(cells.begin(), cells.end(), [](std::string_view c) { return internal::ParseDltdvColumn(c).has_value(); }))
    return TrackFormat::kDltdv;
  if (cells[0] == "scorer") return TrackFormat::kDeepLabCut;
  for (std::size_t k = row; k < std::min(row + 3, head.size()); ++k) {
    const auto& names = head.Row(k);
    if ((Has(names, "t") || Has(names, "frame")) &&
        ((Has(names, "x") && Has(names, "y")) || (Has(names, "pixelx") && Has(names, "pixely"))))
      return TrackFormat::kTracker;
  }
  std::vector<std::string> all;
  for (const auto& [format, name] : kFormats) all.emplace_back(name);
  throw DataError(fmt::format("{}: row {}: found a header beginning with {}, allowed that of one of the formats {}", path.string(),
                              head.Line(row), Excerpt(cells[0]), JoinNames(all)));
}

MarkerTracks ImportTable(const std::filesystem::path& path, const ImportOptions& options) {
  CsvOptions csv;
  csv.text_columns = {"marker", "camera"};
  csv.is_text = [](std::string_view name) {
    return name != "frame" && name != "t_s" && name != "x_px" && name != "y_px" && name != "sd_px";
  };
  csv.empty_is_nan = true;
  const Table table = ReadCsv(path, csv);
  internal::TrackBuilder builder(path, options);
  const auto &x = table.Column("x_px"), &y = table.Column("y_px");
  const bool frames = table.Has("frame"), times = table.Has("t_s");
  if (!frames && !times) throw DataError(fmt::format("{}: found neither a column frame nor t_s, allowed one or both", path.string()));
  if (!frames) builder.NeedRate("it has no column frame");
  if (!times) builder.NeedRate("it has no column t_s");
  const std::vector<double>* sd = table.Has("sd_px") ? &table.Column("sd_px") : nullptr;
  const auto name = [&](const char* column, std::size_t row, const char* otherwise) -> std::string {
    if (!table.HasText(column)) return otherwise;
    const std::string& text = table.TextColumn(column)[row];
    if (text.empty()) throw table.Fault(row, column, "an empty cell", "a name");
    return text;
  };
  const auto number = [&](const char* column, std::size_t row) {
    const double value = table.Column(column)[row];
    if (std::isnan(value)) throw table.Fault(row, column, "an empty cell", "a number");
    return value;
  };
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    // In any case, so that a marker never seen and its camera are known.
    const int camera = builder.Camera(name("camera", row, "camera_1")), marker = builder.Marker(name("marker", row, "marker_1"));
    if (std::isnan(x[row]) && std::isnan(y[row])) continue;
    if (std::isnan(x[row]) || std::isnan(y[row]))
      throw table.Fault(row, std::isnan(x[row]) ? "x_px" : "y_px", "an empty cell beside a number", "two numbers or none");
    const int line = table.lines[row];
    double width = options.sd;
    if (sd != nullptr && !std::isnan((*sd)[row])) width = (*sd)[row];
    if (!(width > 0)) throw table.Fault(row, "sd_px", FormatNumber(width), "above 0");
    const long long frame = frames ? builder.Frame(number("frame", row), line, "frame") : builder.FrameOf(number("t_s", row), line, "t_s");
    builder.Add(camera, marker, frame, times ? number("t_s", row) : builder.TimeOf(frame), {x[row], y[row]}, width, line);
  }
  return builder.Finish();
}

MarkerTracks ImportOwn(const std::filesystem::path& path, const ImportOptions& options) {
  std::vector<MarkerTracks> all = ReadTracks(path);
  if (all.size() != 1) throw DataError(fmt::format("{}: found {} recordings, allowed a file with one", path.string(), all.size()));
  if (!options.cameras.empty()) {
    if (options.cameras.size() != all[0].cameras.size())
      throw ConfigError(
          fmt::format("{}: {} camera names are given for a file of {}", path.string(), options.cameras.size(), all[0].cameras.size()));
    all[0].cameras = options.cameras;
  }
  return std::move(all[0]);
}

}  // namespace

const char* ToString(TrackFormat format) {
  for (const auto& [f, name] : kFormats)
    if (f == format) return name;
  return "unknown";
}

std::optional<TrackFormat> TrackFormatFromString(const std::string& name) {
  for (const auto& [format, known] : kFormats)
    if (name == known) return format;
  return std::nullopt;
}

MarkerTracks ImportTracks(const std::filesystem::path& path, const ImportOptions& options) {
  switch (options.format ? *options.format : Recognise(path)) {
    case TrackFormat::kImpactLab:
      return ImportOwn(path, options);
    case TrackFormat::kDltdv:
      return internal::ImportDltdv(path, options);
    case TrackFormat::kTracker:
      return internal::ImportTracker(path, options);
    case TrackFormat::kDeepLabCut:
      return internal::ImportDeepLabCut(path, options);
    case TrackFormat::kTable:
      break;
  }
  return ImportTable(path, options);
}

}  // namespace impactlab
