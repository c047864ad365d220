#include "tracking/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "tracking/import/detail/sheet.h"

namespace impactlab {
namespace {

constexpr std::array<std::pair<TrackFormat, const char*>, 5> kFormats = {
    {{TrackFormat::kImpactLab, "impactlab"},
     {TrackFormat::kDltdv, "dltdv"},
     {TrackFormat::kTracker, "tracker"},
     {TrackFormat::kDeepLabCut, "deeplabcut"},
     {TrackFormat::kTable, "table"}}};

constexpr std::string_view kTableNames[] = {"frame", "t_s",  "marker", "camera",
                                            "x_px",  "y_px", "sd_px"};

bool Has(const std::vector<std::string_view>& cells, std::string_view name) {
  return std::find(cells.begin(), cells.end(), name) != cells.end();
}

TrackFormat Recognise(const std::filesystem::path& path) {
  const tracking::Sheet head = tracking::Sheet::Head(path);
  std::size_t row = 0;
  // Comments of a table; Tracker's own line is none.
  while (row + 1 < head.size() && head.Cell(row, 0).starts_with('#') &&
         !head.Cell(row, 0).starts_with("#multi"))
    ++row;
  const auto& cells = head.Row(row);
  if (Has(cells, "x_px") && Has(cells, "y_px"))
    return Has(cells, "recording") && Has(cells, "cov_xx_px2") ? TrackFormat::kImpactLab
                                                               : TrackFormat::kTable;
  if (std::any_of(cells.begin(), cells.end(),
                  [](std::string_view c) { return tracking::ParseDltdvColumn(c).has_value(); }))
    return TrackFormat::kDltdv;
  if (cells[0] == "scorer") return TrackFormat::kDeepLabCut;
  for (std::size_t k = row; k < std::min(row + 3, head.size()); ++k) {
    const auto& names = head.Row(k);
    if ((Has(names, "t") || Has(names, "frame")) &&
        ((Has(names, "x") && Has(names, "y")) || (Has(names, "pixelx") && Has(names, "pixely"))))
      return TrackFormat::kTracker;
  }
  std::vector<std::string> all;
  all.reserve(std::size(kFormats));
  for (const auto& [format, name] : kFormats) all.emplace_back(name);
  throw DataError(fmt::format(
      "{}: row {}: found a header beginning with {}, allowed that of one of the formats {}; {}",
      path.string(), head.Line(row), Excerpt(cells[0]), JoinNames(all), tracking::kTableColumns));
}

// Unknown columns are ignored, misspelt ones are refused: without its marker every point would be
// of the same one.
void CheckTableColumns(const Table& table) {
  for (const std::string& name : table.text_columns) {
    const auto* absent =
        std::find_if(std::begin(kTableNames), std::end(kTableNames), [&](std::string_view known) {
          return EditDistance(known, name) <= (known.size() > 5 ? 2 : 1) && !table.Has(known) &&
                 !table.HasText(known);
        });
    if (absent != std::end(kTableNames))
      throw DataError(
          fmt::format("{}: found the column {}, allowed '{}'", table.path, Excerpt(name), *absent));
  }
}

// Numbers of frames of a table that has times only: the order of the distinct times of every
// camera, those of rows without a point included.
std::vector<std::map<double, long long>> FramesOfTimes(const Table& table,
                                                       const std::vector<int>& cameras) {
  std::vector<std::map<double, long long>> frames;
  const std::vector<double>& t = table.Column("t_s");
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    frames.resize(std::max(frames.size(), static_cast<std::size_t>(cameras[row]) + 1));
    if (!std::isnan(t[row])) frames[static_cast<std::size_t>(cameras[row])][t[row]] = 0;
  }
  for (auto& of_camera : frames) {
    long long number = 0;
    for (auto& [time, frame] : of_camera) frame = number++;
  }
  return frames;
}

MarkerTracks ImportTable(const std::filesystem::path& path, const ImportOptions& options) {
  CsvOptions csv;
  csv.text_columns = {"marker", "camera"};
  csv.is_text = [](std::string_view name) {
    return std::find(std::begin(kTableNames), std::end(kTableNames), name) == std::end(kTableNames);
  };
  csv.empty_is_nan = true;
  const Table table = ReadCsv(path, csv);
  CheckTableColumns(table);
  tracking::TrackBuilder builder(path, options);
  const auto &x = table.Column("x_px"), &y = table.Column("y_px");
  const bool frames = table.Has("frame"), times = table.Has("t_s");
  if (!frames && !times)
    throw DataError(fmt::format("{}: found neither a column frame nor t_s, allowed one or both",
                                path.string()));
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
  // Of every row, so that a marker never seen and its camera are known.
  std::vector<int> cameras, markers;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    cameras.push_back(builder.Camera(name("camera", row, "camera_1")));
    markers.push_back(builder.Marker(name("marker", row, "marker_1")));
  }
  std::vector<std::map<double, long long>> frame_of;
  if (!frames && options.rate == 0) frame_of = FramesOfTimes(table, cameras);
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    if (std::isnan(x[row]) && std::isnan(y[row])) continue;
    if (std::isnan(x[row]) || std::isnan(y[row]))
      throw table.Fault(row, std::isnan(x[row]) ? "x_px" : "y_px", "an empty cell beside a number",
                        "two numbers or none");
    const int line = table.lines[row];
    const double width = sd != nullptr && !std::isnan((*sd)[row]) ? (*sd)[row] : options.sd;
    const double time = times ? number("t_s", row) : 0;
    const long long frame = frames ? builder.Frame(number("frame", row), line, "frame")
                            : frame_of.empty()
                                ? builder.FrameOf(time, line, "t_s")
                                : frame_of[static_cast<std::size_t>(cameras[row])].at(time);
    const Eigen::Vector2d q(x[row], y[row]);
    builder.Add(cameras[row], markers[row], frame, times ? time : builder.TimeOf(frame), q, width,
                {q, "x_px", "y_px", line});
  }
  return builder.Finish();
}

MarkerTracks ImportOwn(const std::filesystem::path& path, const ImportOptions& options) {
  std::vector<MarkerTracks> all = ReadTracks(path);
  if (all.size() != 1)
    throw DataError(
        fmt::format("{}: found {} recordings, allowed a file with one", path.string(), all.size()));
  if (!options.cameras.empty()) {
    if (options.cameras.size() != all[0].cameras.size())
      throw ConfigError(fmt::format("{}: {} camera names are given for a file of {}", path.string(),
                                    options.cameras.size(), all[0].cameras.size()));
    tracking::CheckCameraNames(path.string(), options.cameras);
    all[0].cameras = options.cameras;
  }
  return std::move(all[0]);
}

}  // namespace

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
      return tracking::ImportDltdv(path, options);
    case TrackFormat::kTracker:
      return tracking::ImportTracker(path, options);
    case TrackFormat::kDeepLabCut:
      return tracking::ImportDeepLabCut(path, options);
    case TrackFormat::kTable:
      break;
  }
  return ImportTable(path, options);
}

}  // namespace impactlab
