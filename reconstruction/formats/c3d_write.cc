// C3D, written: Intel, floating point, one block of header, parameters, points without analog data.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "data/files/text.h"
#include "reconstruction/formats/detail/marker_table.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kWriteBlock = 512;
constexpr long long kLargestWrittenWord = 65535;
constexpr std::size_t kListed = 255;        // elements a dimension can count
constexpr std::size_t kLongestLabel = 127;  // characters
// of a coordinate, if the file were turned into integers
constexpr double kMostCounts = 32000;

void PutWord(std::string& out, long long value) {
  out += static_cast<char>(value & 0xFF);
  out += static_cast<char>(value >> 8 & 0xFF);
}

void PutFloat(std::string& out, double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  PutWord(out, bits & 0xFFFF);
  PutWord(out, bits >> 16);
}

// The parameter section. Every entry begins with the length of its name and the number of its
// group, negative for the group itself, and links to the next one.
class ParameterWriter {
 public:
  void Group(const std::string& name) {
    ++group_;
    Entry(name, -group_, std::string(1, '\0'));  // no description
  }
  void Texts(const std::string& name, const std::vector<std::string>& texts) {
    std::size_t length = 1;
    for (const std::string& text : texts) length = std::max(length, text.size());
    std::string data;
    for (const std::string& text : texts) data += text + std::string(length - text.size(), ' ');
    Parameter(name, -1, {length, texts.size()}, data);
  }
  void Text(const std::string& name, const std::string& text) {
    Parameter(name, -1, {text.size()}, text);
  }
  void Word(const std::string& name, long long value) { Words(name, {value}, {}); }
  void Words(const std::string& name, const std::vector<long long>& values,
             const std::vector<std::size_t>& dimensions) {
    std::string data;
    for (const long long value : values) PutWord(data, value);
    Parameter(name, 2, dimensions, data);
  }
  void Float(const std::string& name, double value) { Floats(name, {value}, {}); }
  void Floats(const std::string& name, const std::vector<double>& values,
              const std::vector<std::size_t>& dimensions) {
    std::string data;
    for (const double value : values) PutFloat(data, value);
    Parameter(name, 4, dimensions, data);
  }

  // The section in whole blocks, its own header in front. The last entry links nowhere.
  std::string Finish() {
    entries_[last_link_] = entries_[last_link_ + 1] = '\0';
    const std::size_t blocks = (4 + entries_.size() + kWriteBlock - 1) / kWriteBlock;
    if (blocks > kListed)
      throw ConfigError(
          "C3D: the names of the markers and events take more than the 255 blocks a file has for "
          "parameters");
    std::string out = {'\1', '\x50', static_cast<char>(blocks), '\x54'};
    out += entries_;
    out.resize(blocks * kWriteBlock, '\0');
    return out;
  }

 private:
  void Parameter(const std::string& name, int type, const std::vector<std::size_t>& dimensions,
                 const std::string& data) {
    std::string body = {static_cast<char>(type), static_cast<char>(dimensions.size())};
    for (const std::size_t dimension : dimensions) body += static_cast<char>(dimension);
    Entry(name, group_, body + data + std::string(1, '\0'));  // no description
  }
  void Entry(const std::string& name, int id, const std::string& body) {
    entries_ += static_cast<char>(name.size());
    entries_ += static_cast<char>(id);
    entries_ += name;
    last_link_ = entries_.size();
    PutWord(entries_, static_cast<long long>(body.size()) + 2);
    entries_ += body;
  }

  std::string entries_;
  int group_ = 0;
  std::size_t last_link_ = 0;
};

// Where every frame of the recording stands among evenly spaced ones.
struct Grid {
  double rate = 1;
  std::vector<std::size_t> place;
  std::size_t frames = 0;
};

Grid EvenFrames(const MarkerPoints& points, double tolerance, std::vector<std::string>* notes) {
  Grid grid;
  const std::size_t n = points.t.size();
  if (n == 0)
    throw ConfigError(fmt::format("{}: C3D: found no frame, allowed at least one", points.name));
  if (n > 1) {
    const auto rate = FrameRate(points, tolerance);
    if (!rate)
      throw ConfigError(
          fmt::format("{}: C3D holds evenly spaced frames, and these are off by more than {} of an "
                      "interval; write a TRC or CSV, "
                      "which hold the time of every frame",
                      points.name, tolerance));
    grid.rate = *rate;
  }
  double most = 0;
  for (const double t : points.t) {
    const double place = std::round((t - points.t[0]) * grid.rate);
    if (place > 1e4 * static_cast<double>(n) + 1e6)
      throw ConfigError(
          fmt::format("{}: C3D: found gaps of {:.0f} frames, allowed: fewer empty frames than "
                      "would fill the disk",
                      points.name, place));
    most = std::max(most, std::abs(t - points.t[0] - place / grid.rate));
    grid.place.push_back(static_cast<std::size_t>(place));
  }
  grid.frames = grid.place.back() + 1;
  if (most * grid.rate > 1e-6)
    notes->push_back(
        fmt::format("C3D holds evenly spaced frames: times were moved by up to {:.3g} s", most));
  if (grid.frames > n)
    notes->push_back(
        fmt::format("{} frames that the recording left out stand as empty ones", grid.frames - n));
  return grid;
}

double ResidualOf(const MarkerPoints& points, std::size_t marker, std::size_t frame) {
  if (!points.residual.empty() && points.residual[marker][frame] > 0)
    return points.residual[marker][frame];
  return points.cov.empty() ? 0 : std::sqrt(std::max(0.0, points.cov[marker][frame].trace()));
}

void CheckNames(const MarkerPoints& points) {
  for (const std::string& name : points.markers)
    if (name.size() > kLongestLabel || TrimSpace(name) != name || FindTextFault(name) ||
        name.find_first_of("\t\r\n") != std::string::npos)
      throw ConfigError(fmt::format(
          "marker {}: C3D holds names of at most {} characters without spaces at their ends",
          Excerpt(name), kLongestLabel));
  if (static_cast<long long>(points.markers.size()) > kLargestWrittenWord)
    throw ConfigError(fmt::format("C3D: found {} markers, allowed at most {}",
                                  points.markers.size(), kLargestWrittenWord));
  if (points.events.size() > kListed)
    throw ConfigError(
        fmt::format("C3D: found {} events, allowed at most {}", points.events.size(), kListed));
}

void WriteEvents(const MarkerPoints& points, double rate, ParameterWriter* out) {
  if (points.events.empty()) return;
  out->Group("EVENT");
  out->Word("USED", static_cast<long long>(points.events.size()));
  std::vector<std::string> labels, contexts;
  std::vector<double> times;
  const double origin = points.t[0] - static_cast<double>(points.first_frame - 1) / rate;
  for (const MarkerEvent& event : points.events) {
    labels.push_back(event.label.substr(0, kLongestLabel));
    contexts.push_back(event.context.substr(0, kLongestLabel));
    const double t = event.t - origin, minutes = std::floor(t / 60);
    times.push_back(minutes);
    times.push_back(t - 60 * minutes);
  }
  out->Texts("LABELS", labels);
  out->Texts("CONTEXTS", contexts);
  out->Floats("TIMES", times, {2, points.events.size()});
}

// Numbers that header, parameters and frames share.
struct C3dLayout {
  double per_metre = 1;  // units of the file
  double scale = 1;      // what a residual counts in, and a coordinate of a file of integers
  long long first = 1, last = 1;
};

double ScaleOf(const MarkerPoints& points, double per_metre, const std::string& unit) {
  double farthest = 0, largest_residual = 0;
  for (std::size_t m = 0; m < points.markers.size(); ++m)
    for (std::size_t i = 0; i < points.t.size(); ++i) {
      if (!points.p_WM[m][i]) continue;
      farthest = std::max<double>(
          farthest, static_cast<float>(per_metre * points.p_WM[m][i]->cwiseAbs().maxCoeff()));
      largest_residual = std::max(largest_residual, per_metre * ResidualOf(points, m, i));
    }
  if (!std::isfinite(farthest) || !(largest_residual < 1e38))
    throw ConfigError(fmt::format(
        "{}: C3D: found a position or residual beyond 1e38 {}, allowed what single precision holds",
        points.name, unit));
  double scale = std::max(farthest / kMostCounts, largest_residual / 255);
  if (!(scale > 0)) scale = 1 / kMostCounts;
  return static_cast<double>(static_cast<float>(scale));
}

// Section of parameters, with the data beginning at `data_block`.
std::string MakeC3dParameters(const MarkerPoints& points, const MarkerWriteOptions& options,
                              const Grid& grid, const C3dLayout& layout, std::size_t data_block) {
  const std::size_t n_markers = points.markers.size();
  const auto n = static_cast<long long>(grid.frames), first = layout.first, last = layout.last;
  ParameterWriter out;
  out.Group("POINT");
  out.Word("USED", static_cast<long long>(n_markers));
  out.Float("SCALE", -layout.scale);
  out.Float("RATE", grid.rate);
  out.Word("DATA_START", static_cast<long long>(data_block));
  out.Word("FRAMES", std::min(n, kLargestWrittenWord));
  if (n >= kLargestWrittenWord) out.Float("LONG_FRAMES", static_cast<double>(n));
  for (std::size_t k = 0; k == 0 || k < n_markers; k += kListed) {
    const std::string name = k == 0 ? "LABELS" : fmt::format("LABELS{}", k / kListed + 1);
    const auto from = points.markers.begin() + static_cast<std::ptrdiff_t>(k);
    out.Texts(name, {from, from + static_cast<std::ptrdiff_t>(std::min(kListed, n_markers - k))});
  }
  out.Texts("DESCRIPTIONS", {""});
  out.Text("UNITS", options.unit);
  out.Text("X_SCREEN", options.up == UpAxis::kX ? "+Y" : "+X");
  out.Text("Y_SCREEN", options.up == UpAxis::kX ? "+X" : options.up == UpAxis::kY ? "+Y" : "+Z");
  out.Group("ANALOG");
  out.Word("USED", 0);
  out.Float("RATE", grid.rate);
  out.Float("GEN_SCALE", 1);
  out.Group("FORCE_PLATFORM");
  out.Word("USED", 0);
  out.Group("TRIAL");
  out.Words("ACTUAL_START_FIELD", {first & 0xFFFF, first >> 16}, {2});
  out.Words("ACTUAL_END_FIELD", {last & 0xFFFF, last >> 16}, {2});
  out.Group("MANUFACTURER");
  out.Text("SOFTWARE", "impactlab");
  out.Text("VERSION_LABEL", ProgramVersion());
  WriteEvents(points, grid.rate, &out);
  const bool odd_start = points.t[0] != static_cast<double>(first - 1) / grid.rate;
  const bool odd_rate = static_cast<double>(static_cast<float>(grid.rate)) != grid.rate;
  if (odd_start || odd_rate) out.Group(kC3dGroup);
  if (odd_start) out.Text(kC3dStart, FormatNumber(points.t[0]));
  if (odd_rate) out.Text(kC3dRate, FormatNumber(grid.rate));
  return out.Finish();
}

std::string MakeC3dHeader(std::size_t n_markers, const Grid& grid, const C3dLayout& layout,
                          std::size_t data_block) {
  std::string out = {'\2', '\x50'};
  PutWord(out, static_cast<long long>(n_markers));
  PutWord(out, 0);  // analog values a frame
  const auto n = static_cast<long long>(grid.frames);
  const bool numbered = layout.last <= kLargestWrittenWord;
  PutWord(out, numbered ? layout.first : 1);
  PutWord(out, numbered ? layout.last : std::min(n, kLargestWrittenWord));
  PutWord(out, 0);  // longest gap that was filled
  PutFloat(out, -layout.scale);
  PutWord(out, static_cast<long long>(data_block));
  PutWord(out, 0);  // analog samples a frame
  PutFloat(out, grid.rate);
  out.resize(2 * 149, '\0');
  PutWord(out, 0x3039);  // event labels have four characters
  out.resize(kWriteBlock, '\0');
  return out;
}

void AddC3dFrames(const MarkerPoints& points, UpAxis up, const Grid& grid, const C3dLayout& layout,
                  std::string* out) {
  const std::size_t n_markers = points.markers.size();
  out->reserve(out->size() + 16 * n_markers * grid.frames + kWriteBlock);
  std::size_t i = 0;
  for (std::size_t frame = 0; frame < grid.frames; ++frame) {
    const bool there = grid.place[i] == frame;
    for (std::size_t m = 0; m < n_markers; ++m) {
      if (!there || !points.p_WM[m][i]) {
        for (const double value : {0.0, 0.0, 0.0, -1.0}) PutFloat(*out, value);
        continue;
      }
      Vector3d p = layout.per_metre * FromWorld(*points.p_WM[m][i], up);
      if (IsPlainZero(p.cast<float>().cast<double>())) p.x() = -0.0;
      for (int axis = 0; axis < 3; ++axis) PutFloat(*out, p[axis]);
      const double residual = layout.per_metre * ResidualOf(points, m, i);
      PutFloat(*out,
               residual > 0 ? std::clamp(std::round(residual / layout.scale), 1.0, 255.0) : 0);
    }
    i += there && i + 1 < grid.place.size();
  }
}

}  // namespace

std::string MakeC3d(const MarkerPoints& points, const MarkerWriteOptions& options,
                    std::vector<std::string>* notes) {
  CheckNames(points);
  const Grid grid = EvenFrames(points, options.time_tolerance, notes);
  C3dLayout layout;
  layout.per_metre = options.unit == "mm" ? 1000 : 1;
  layout.first = points.first_frame;
  layout.last = layout.first + static_cast<long long>(grid.frames) - 1;
  if (layout.first < 1 || layout.last > 0xFFFFFFFFLL)
    throw ConfigError(fmt::format("C3D: found frames {} to {}, allowed numbers from 1 to 2^32 - 1",
                                  layout.first, layout.last));
  layout.scale = ScaleOf(points, layout.per_metre, options.unit);
  const std::size_t data_block =
      2 + MakeC3dParameters(points, options, grid, layout, 0).size() / kWriteBlock;
  std::string out = MakeC3dHeader(points.markers.size(), grid, layout, data_block);
  out += MakeC3dParameters(points, options, grid, layout, data_block);
  AddC3dFrames(points, options.up, grid, layout, &out);
  out.resize((out.size() + kWriteBlock - 1) / kWriteBlock * kWriteBlock, '\0');
  return out;
}

}  // namespace impactlab::reconstruction
