#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "data/files/text.h"
#include "tracking/import/detail/sheet.h"

namespace impactlab::tracking {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Both coordinates or none.
std::optional<Eigen::Vector2d> Position(const Sheet& sheet, std::size_t row, std::size_t x,
                                        std::size_t y, std::string_view name_x,
                                        std::string_view name_y, bool comma = false) {
  const auto a = sheet.Number(row, x, name_x, comma), b = sheet.Number(row, y, name_y, comma);
  if (a.has_value() != b.has_value())
    throw sheet.Fault(row, a ? name_y : name_x, "an empty cell or NaN beside a number",
                      "two numbers or none");
  if (!a) return std::nullopt;
  return Eigen::Vector2d(*a, *b);
}

// The columns of one track of a Tracker export.
struct TrackerColumns {
  std::string name;
  std::map<std::string, std::size_t> column;
  std::size_t At(const char* variable) const {
    const auto place = column.find(variable);
    return place == column.end() ? kNone : place->second;
  }
};

// Names stand above the first column of each track; variables below them, the shared time in front.
std::vector<TrackerColumns> TrackerTracks(const Sheet& sheet, const std::string& stem,
                                          std::size_t* first_row, std::size_t* shared_t) {
  std::size_t row = sheet.Cell(0, 0).starts_with("#multi") ? 1 : 0;
  const auto is_variables = [&](std::size_t k) {
    if (k >= sheet.size()) return false;
    bool time = false, x = false;
    for (const std::string_view cell : sheet.Row(k)) {
      const std::string name = LowerCase(cell);
      time = time || name == "t" || name == "frame";
      x = x || name == "x" || name == "pixelx";
    }
    return time && x;
  };
  std::vector<std::pair<std::size_t, std::string>> starts;
  if (row < sheet.size() && !is_variables(row)) {
    for (std::size_t k = 0; k < sheet.Row(row).size(); ++k)
      if (!sheet.Cell(row, k).empty()) starts.emplace_back(k, sheet.Cell(row, k));
    ++row;
  }
  if (!is_variables(row))
    throw sheet.Fault(std::min(row, sheet.size() - 1), "1", "no variables",
                      "a row with t or frame, and x and y or pixelx and pixely");
  if (starts.empty()) starts.emplace_back(0, stem);
  // Old versions write the one name at the start of its line.
  if (starts.size() == 1) starts[0].first = 0;
  std::vector<TrackerColumns> tracks;
  const auto& variables = sheet.Row(row);
  *shared_t = kNone;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const std::string name = LowerCase(variables[k]);
    if (name.empty()) continue;
    std::size_t owner = kNone;
    for (std::size_t s = 0; s < starts.size(); ++s)
      if (starts[s].first <= k) owner = s;
    if (name == "t" && (owner == kNone || *shared_t == kNone)) {
      *shared_t = k;
      continue;
    }
    if (owner == kNone)
      throw sheet.Fault(row, std::to_string(k + 1), Excerpt(variables[k]),
                        "the name of a track above it");
    while (tracks.size() <= owner) tracks.push_back({starts[tracks.size()].second, {}});
    if (!tracks[owner].column.emplace(name, k).second)
      throw sheet.Fault(
          row, std::to_string(k + 1),
          fmt::format("{} of track {} again", Excerpt(variables[k]), tracks[owner].name), "one");
  }
  *first_row = row + 1;
  return tracks;
}

}  // namespace

std::optional<DltdvColumn> ParseDltdvColumn(std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto number = [&](std::size_t begin, std::size_t end) {
    int value = 0;
    const auto [stop, error] = std::from_chars(lower.data() + begin, lower.data() + end, value);
    return error == std::errc() && stop == lower.data() + end && value > 0 && value < 100000 ? value
                                                                                             : 0;
  };
  const std::size_t cam = lower.find("_cam"), last = lower.rfind('_');
  if (!lower.starts_with("pt") || cam == std::string::npos || last <= cam ||
      last + 2 != lower.size())
    return std::nullopt;
  if (lower.back() != 'x' && lower.back() != 'y') return std::nullopt;
  const DltdvColumn column{number(2, cam), number(cam + 4, last), lower.back() == 'x'};
  if (column.point == 0 || column.camera == 0) return std::nullopt;
  return column;
}

MarkerTracks ImportDltdv(const std::filesystem::path& path, const ImportOptions& options) {
  const Sheet sheet(path);
  TrackBuilder builder(path, options);
  builder.NeedRate("the file counts frames");
  if (!options.rows_from_top) builder.NeedHeight("rows are counted from below");
  const auto& header = sheet.Row(0);
  // by camera and point: X, Y
  std::map<std::pair<int, int>, std::pair<std::size_t, std::size_t>> columns;
  std::size_t width = header.size();
  while (width > 0 && header[width - 1].empty()) --width;
  for (std::size_t k = 0; k < width; ++k) {
    const auto column = ParseDltdvColumn(header[k]);
    if (!column)
      throw sheet.Fault(0, std::to_string(k + 1), Excerpt(header[k]), "a name as pt1_cam1_X");
    auto& place = columns.try_emplace({column->camera, column->point}, kNone, kNone).first->second;
    std::size_t& cell = column->x ? place.first : place.second;
    if (cell != kNone)
      throw sheet.Fault(0, std::to_string(k + 1), Excerpt(header[k]) + " again",
                        "every column once");
    cell = k;
  }
  for (const auto& [key, place] : columns) {
    if (place.first == kNone || place.second == kNone)
      throw sheet.Fault(0, fmt::format("pt{}_cam{}", key.second, key.first), "one coordinate",
                        "X and Y");
    builder.Camera(fmt::format("camera_{}", key.first));
  }
  // Points in their order, also those that the first camera has not.
  std::map<int, int> markers;
  for (const auto& [key, place] : columns) markers[key.second] = 0;
  for (auto& [point, marker] : markers) marker = builder.Marker(fmt::format("pt{}", point));
  for (std::size_t row = 1; row < sheet.size(); ++row) {
    sheet.CheckWidth(row, width);
    // Every line is a frame, a blank one too.
    const long long frame = sheet.Line(row) - sheet.Line(0) - 1;
    for (const auto& [key, place] : columns) {
      const auto q = Position(sheet, row, place.first, place.second, header[place.first],
                              header[place.second]);
      if (!q) continue;
      const Eigen::Vector2d here(q->x() - 1,
                                 options.rows_from_top ? q->y() - 1 : options.height - q->y());
      builder.Add(builder.Camera(fmt::format("camera_{}", key.first)), markers[key.second], frame,
                  builder.TimeOf(frame), here, options.sd,
                  {*q, header[place.first], header[place.second], sheet.Line(row)});
    }
  }
  return builder.Finish();
}

MarkerTracks ImportTracker(const std::filesystem::path& path, const ImportOptions& options) {
  const Sheet sheet(path);
  TrackBuilder builder(path, options);
  std::size_t first_row = 0, t = kNone;
  const auto tracks = TrackerTracks(sheet, path.stem().string(), &first_row, &t);
  std::size_t width = sheet.Row(first_row - 1).size();
  while (width > 0 && sheet.Cell(first_row - 1, width - 1).empty()) --width;
  const int camera = builder.Camera("camera_1");
  const std::string other = options.format ? std::string() : fmt::format("; {}", kTableColumns);
  for (const TrackerColumns& track : tracks) {
    const bool pixels = track.At("pixelx") != kNone && track.At("pixely") != kNone;
    const char *name_x = pixels ? "pixelx" : "x", *name_y = pixels ? "pixely" : "y";
    const std::size_t x = track.At(name_x), y = track.At(name_y), frame_at = track.At("frame");
    if (x == kNone || y == kNone)
      throw sheet.Fault(first_row - 1, track.name, "no position",
                        "the variables pixelx and pixely, or x and y");
    if (!pixels)
      builder.NeedHeight(
          "taken for an export of Tracker without the columns pixelx and pixely, so that y is "
          "counted from below",
          other);
    if (frame_at == kNone)
      builder.NeedRate("taken for an export of Tracker that has no column frame", other);
    if (t == kNone) builder.NeedRate("taken for an export of Tracker that has no column t", other);
    const int marker = builder.Marker(track.name);
    for (std::size_t row = first_row; row < sheet.size(); ++row) {
      sheet.CheckWidth(row, width);
      const auto q = Position(sheet, row, x, y, name_x, name_y, true);
      if (!q) continue;
      std::optional<double> time, number;
      if (t != kNone) time = sheet.Number(row, t, "t", true);
      if (frame_at != kNone) number = sheet.Number(row, frame_at, "frame", true);
      if (t != kNone && !time)
        throw sheet.Fault(row, "t", "an empty cell", "the time of the point");
      if (frame_at != kNone && !number)
        throw sheet.Fault(row, "frame", "an empty cell", "the frame of the point");
      const int line = sheet.Line(row);
      const long long frame = number ? builder.Frame(*number, line, "frame")
                                     : builder.FrameOf(time.value_or(0), line, "t");
      // Its corner of the picture, not the centre of the first pixel, is at (0, 0).
      const Eigen::Vector2d here(q->x() - 0.5,
                                 pixels ? q->y() - 0.5 : options.height - q->y() - 0.5);
      builder.Add(camera, marker, frame,
                  number && (options.rate > 0 || !time) ? builder.TimeOf(frame) : time.value_or(0),
                  here, options.sd, {*q, name_x, name_y, line});
    }
  }
  return builder.Finish();
}

MarkerTracks ImportDeepLabCut(const std::filesystem::path& path, const ImportOptions& options) {
  const Sheet sheet(path);
  TrackBuilder builder(path, options);
  builder.NeedRate("the file counts frames");
  const bool several = LowerCase(sheet.size() > 1 ? sheet.Cell(1, 0) : "") == "individuals";
  const std::vector<std::string> titles =
      several ? std::vector<std::string>{"scorer", "individuals", "bodyparts", "coords"}
              : std::vector<std::string>{"scorer", "bodyparts", "coords"};
  for (std::size_t k = 0; k < titles.size(); ++k) {
    if (k >= sheet.size())
      throw sheet.Fault(sheet.size() - 1, "1", "the end of the file",
                        fmt::format("the header row {}", titles[k]));
    if (LowerCase(sheet.Cell(k, 0)) != titles[k])
      throw sheet.Fault(k, "1", Excerpt(sheet.Cell(k, 0)),
                        fmt::format("the header row {}", titles[k]));
  }
  const std::size_t coords = titles.size() - 1, parts = coords - 1,
                    width = sheet.Row(coords).size();
  struct Part {
    std::string name, name_x, name_y;
    std::size_t x = kNone, y = kNone, likelihood = kNone;
  };
  std::vector<Part> found;
  for (std::size_t k = 1; k < width; ++k) {
    std::string name(sheet.Cell(parts, k));
    if (name.empty())
      throw sheet.Fault(parts, std::to_string(k + 1), "an empty cell", "the name of a body part");
    const std::string individual(several ? sheet.Cell(1, k) : "");
    if (!individual.empty() && individual != "single")
      name = fmt::format("{}_{}", individual, name);
    auto part =
        std::find_if(found.begin(), found.end(), [&](const Part& p) { return p.name == name; });
    if (part == found.end())
      part = found.insert(found.end(),
                          Part{name, fmt::format("{} x", name), fmt::format("{} y", name)});
    const std::string coordinate = LowerCase(sheet.Cell(coords, k));
    if (coordinate != "x" && coordinate != "y" && coordinate != "likelihood")
      throw sheet.Fault(coords, std::to_string(k + 1), Excerpt(sheet.Cell(coords, k)),
                        "x, y or likelihood");
    std::size_t& place = coordinate == "x"   ? part->x
                         : coordinate == "y" ? part->y
                                             : part->likelihood;
    if (place != kNone)
      throw sheet.Fault(coords, std::to_string(k + 1),
                        fmt::format("{} of {} again", coordinate, name), "one");
    place = k;
  }
  const int camera = builder.Camera("camera_1");
  std::vector<int> markers;
  for (const Part& part : found) {
    if (part.x == kNone || part.y == kNone)
      throw sheet.Fault(coords, part.name, "one coordinate", "x and y");
    markers.push_back(builder.Marker(part.name));
  }
  for (std::size_t row = titles.size(); row < sheet.size(); ++row) {
    sheet.CheckWidth(row, width);
    const auto number = ParseNumber(sheet.Cell(row, 0));
    if (!number)
      throw sheet.Fault(row, "1", Excerpt(sheet.Cell(row, 0)),
                        "the number of a frame, as in a file made by analysing a video");
    const long long frame = builder.Frame(*number, sheet.Line(row), "1");
    for (std::size_t k = 0; k < found.size(); ++k) {
      const Part& part = found[k];
      const auto q = Position(sheet, row, part.x, part.y, part.name_x, part.name_y);
      if (!q) continue;
      if (part.likelihood != kNone) {
        const auto likelihood = sheet.Number(row, part.likelihood, part.name + " likelihood");
        if (likelihood && (*likelihood < 0 || *likelihood > 1))
          throw sheet.Fault(row, part.name + " likelihood", FormatNumber(*likelihood), "0 to 1");
        if (!likelihood || *likelihood < options.likelihood_min) continue;
      }
      builder.Add(camera, markers[k], frame, builder.TimeOf(frame), *q, options.sd,
                  {*q, part.name_x, part.name_y, sheet.Line(row)});
    }
  }
  return builder.Finish();
}

}  // namespace impactlab::tracking
