#include "tracking/import/detail/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "data/files/atomic_file.h"
#include "data/files/cell.h"
#include "data/files/text.h"

namespace impactlab::tracking {
namespace {

constexpr std::size_t kHeadBytes = 1 << 16;
// points this far outside of a picture are accepted [px]
constexpr double kRim = 1;
constexpr double kSmallestSd = 1e-6;               // [px]
constexpr double kSlowest = 1e-6, kFastest = 1e9;  // of frames [1/s]

int AddName(const std::string& name, std::vector<std::string>* names) {
  const auto place = std::find(names->begin(), names->end(), name);
  if (place != names->end()) return static_cast<int>(place - names->begin());
  names->push_back(name);
  return static_cast<int>(names->size()) - 1;
}

}  // namespace

Sheet::Sheet(const std::filesystem::path& path) : Sheet(path.string(), ReadFile(path), false) {}

Sheet Sheet::Head(const std::filesystem::path& path) {
  std::string text = ReadHead(path, kHeadBytes);
  const bool whole = text.size() < kHeadBytes;
  return {path.string(), std::move(text), !whole};
}

Sheet::Sheet(std::string path, std::string text, bool cut)
    : path_(std::move(path)), text_(std::move(text)) {
  std::string_view rest = text_;
  std::size_t mark = 0;
  const std::string order = ByteOrderMark(rest, &mark);
  if (!order.empty() && order != "UTF-8")
    throw DataError(fmt::format("{}: found {} text, allowed UTF-8 text", path_, order));
  rest.remove_prefix(mark);
  if (TrimSpace(rest).empty())
    throw DataError(fmt::format("{}: found an empty file, allowed a table of tracks", path_));
  std::vector<std::pair<std::string_view, int>> lines;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    if (cut && end == std::string_view::npos) break;
    std::string_view line = rest.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (const auto fault = FindTextFault(line))
      throw DataError(
          fmt::format("{}: row {}: found {}, allowed UTF-8 text", path_, number, fault->found));
    if (!TrimSpace(line).empty()) lines.emplace_back(line, number);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  for (const char c : {';', '\t'})
    for (std::size_t k = 0; k < std::min<std::size_t>(3, lines.size()); ++k)
      if (lines[k].first.find(c) != std::string_view::npos) delimiter_ = c;
  for (const auto& [line, number] : lines) {
    lines_.push_back(number);
    rows_.emplace_back();
    Split(line);
  }
}

void Sheet::Split(std::string_view line) {
  for (;;) {
    std::size_t start = 0;
    while (start < line.size() && line[start] == ' ') ++start;
    if (start < line.size() && line[start] == '"') {
      std::string& cell = unquoted_.emplace_back();
      std::size_t k = start + 1;
      for (; k < line.size() && (line[k] != '"' || (k + 1 < line.size() && line[k + 1] == '"'));
           ++k) {
        if (line[k] == '"') ++k;
        cell += line[k];
      }
      if (k >= line.size())
        throw Fault(rows_.size() - 1, std::to_string(rows_.back().size() + 1),
                    "a quote that stays open", "its end");
      rows_.back().push_back(TrimSpace(cell));
      line.remove_prefix(k + 1);
      line.remove_prefix(std::min(line.find(delimiter_), line.size()));
    } else {
      const std::size_t end = std::min(line.find(delimiter_), line.size());
      rows_.back().push_back(TrimSpace(line.substr(0, end)));
      line.remove_prefix(end);
    }
    if (line.empty()) return;
    line.remove_prefix(1);
  }
}

std::optional<double> Sheet::Number(std::size_t row, std::size_t column, std::string_view name,
                                    bool comma) const {
  const std::string_view cell = Cell(row, column);
  const CellValue read = ReadCell(cell);
  if (read.gap()) return std::nullopt;
  if (read.kind == CellKind::kNumber) return read.value;
  const bool with_comma = read.kind == CellKind::kDecimalComma;
  if (with_comma && comma && delimiter_ != ',') return read.value;
  throw Fault(row, name, Excerpt(cell),
              with_comma ? "a number with a decimal point" : "a number, or an empty cell or NaN");
}

void Sheet::CheckWidth(std::size_t row, std::size_t width) const {
  const auto& cells = rows_[row];
  std::size_t used = cells.size();
  while (used > width && cells[used - 1].empty()) --used;
  if (used > width || cells.size() < width)
    throw DataError(fmt::format("{}: row {}: found {} cells, allowed {}, as many as the header",
                                path_, lines_[row], cells.size(), width));
}

DataError Sheet::Fault(std::size_t row, std::string_view column, const std::string& found,
                       const std::string& allowed) const {
  return DataError(fmt::format("{}: row {}, column {}: found {}, allowed {}", path_, Line(row),
                               column, found, allowed));
}

TrackBuilder::TrackBuilder(const std::filesystem::path& path, const ImportOptions& options)
    : path_(path.string()), options_(options) {
  tracks_.recording = TrimSpace(path.stem().string());
  if (tracks_.recording.empty()) tracks_.recording = "recording";
  if (!(options.sd >= kSmallestSd && options.sd <= kFarthest))
    throw ConfigError(fmt::format("{}: found sd_px {}, allowed from 1e-6 to 1e5", path_,
                                  FormatNumber(options.sd)));
  if (options.rate != 0 && !(options.rate >= kSlowest && options.rate <= kFastest))
    throw ConfigError(
        fmt::format("{}: found a rate of {} frames per second, allowed from 1e-6 to 1e9", path_,
                    FormatNumber(options.rate)));
}

int TrackBuilder::Camera(const std::string& name) { return AddName(name, &tracks_.cameras); }
int TrackBuilder::Marker(const std::string& name) { return AddName(name, &tracks_.markers); }

DataError TrackBuilder::Fault(int line, std::string_view column, const std::string& found,
                              const std::string& allowed) const {
  return DataError(fmt::format("{}: row {}, column {}: found {}, allowed {}", path_, line, column,
                               found, allowed));
}

void TrackBuilder::Add(int camera, int marker, long long frame, double t, const Eigen::Vector2d& q,
                       double sd, const Written& written) {
  const auto& [q_file, name_x, name_y, line] = written;
  for (const auto& [name, value] : {std::pair{name_x, q_file.x()}, {name_y, q_file.y()}})
    if (std::abs(value) > kFarthest)
      throw Fault(line, name, FormatNumber(value), "a position from -1e5 to 1e5 px");
  if (options_.height > 0 && (q.y() < -0.5 - kRim || q.y() > options_.height - 0.5 + kRim))
    throw Fault(
        line, name_y,
        fmt::format("{}, which would be row {} of the picture", FormatNumber(q_file.y()),
                    FormatNumber(q.y())),
        fmt::format("rows 0 to {} of pictures of height {}", options_.height - 1, options_.height));
  if (!(sd >= kSmallestSd && sd <= kFarthest))
    throw Fault(line, "sd_px", FormatNumber(sd), "from 1e-6 to 1e5");
  TrackPoint p;
  p.camera = camera;
  p.marker = marker;
  p.frame = frame;
  p.t = t;
  p.q = q;
  p.cov = sd * sd * Eigen::Matrix2d::Identity();
  p.flags = kImported;
  tracks_.points.push_back(p);
  lines_.push_back(line);
}

long long TrackBuilder::Frame(double value, int line, std::string_view column) const {
  if (!(value >= 0) || value != std::floor(value) || value > static_cast<double>(kLargestFrame))
    throw Fault(line, column, FormatNumber(value), "a frame: a whole number from 0 to 1e9");
  return static_cast<long long>(value);
}

long long TrackBuilder::FrameOf(double t, int line, std::string_view column) const {
  const double frame = t * options_.rate;
  if (!(frame > -0.25) || frame > static_cast<double>(kLargestFrame) ||
      std::abs(frame - std::round(frame)) > 0.25)
    throw Fault(
        line, column, FormatNumber(t),
        fmt::format("the time of a frame at {} frames per second", FormatNumber(options_.rate)));
  return std::llround(frame);
}

void TrackBuilder::NeedRate(const char* why, const std::string& other) const {
  if (options_.rate == 0)
    throw ConfigError(fmt::format("{}: {}: give the rate of the recording{}", path_, why, other));
}
void TrackBuilder::NeedHeight(const char* why, const std::string& other) const {
  if (options_.height <= 0)
    throw ConfigError(fmt::format("{}: {}: give the height of the pictures{}", path_, why, other));
}

void CheckCameraNames(const std::string& path, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const std::string& name : names)
    if (TrimSpace(name).empty() || !known.insert(name).second)
      throw ConfigError(
          fmt::format("{}: found the camera name {}, allowed a name of its own for every camera",
                      path, Excerpt(name)));
}

MarkerTracks TrackBuilder::Finish() {
  if (!options_.cameras.empty()) {
    if (options_.cameras.size() != tracks_.cameras.size())
      throw ConfigError(fmt::format("{}: {} camera names are given for a file of {}", path_,
                                    options_.cameras.size(), tracks_.cameras.size()));
    CheckCameraNames(path_, options_.cameras);
    tracks_.cameras = options_.cameras;
  }
  if (tracks_.points.empty())
    throw DataError(fmt::format("{}: found no point, allowed a file with at least one", path_));
  std::vector<std::size_t> order(tracks_.points.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  const auto key = [&](std::size_t k) {
    const TrackPoint& p = tracks_.points[k];
    return std::tie(p.camera, p.marker, p.frame);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<TrackPoint> sorted;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const TrackPoint& p = tracks_.points[order[k]];
    if (k > 0 && key(order[k - 1]) == key(order[k]))
      throw Fault(lines_[order[k]], "frame",
                  fmt::format("a second point of marker {} in frame {} (the first is in row {})",
                              tracks_.markers[static_cast<std::size_t>(p.marker)], p.frame,
                              lines_[order[k - 1]]),
                  "one");
    if (k > 0 && sorted.back().camera == p.camera && sorted.back().marker == p.marker &&
        p.t < sorted.back().t)
      throw Fault(
          lines_[order[k]], "t_s",
          fmt::format("{}, before that of frame {}", FormatNumber(p.t), sorted.back().frame),
          "times that do not go back");
    sorted.push_back(p);
  }
  tracks_.points = std::move(sorted);
  return std::move(tracks_);
}

}  // namespace impactlab::tracking
