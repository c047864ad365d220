#include "tracking/track/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "data/files/table.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

struct NamedFlag {
  std::uint32_t flag;
  const char* name;
};
constexpr std::array<NamedFlag, 13> kFlags = {{{kSaturated, "saturated"},
                                               {kTouching, "touching"},
                                               {kHidden, "hidden"},
                                               {kCut, "cut"},
                                               {kBlurred, "blurred"},
                                               {kFaint, "faint"},
                                               {kRough, "rough"},
                                               {kPredicted, "predicted"},
                                               {kImpact, "impact"},
                                               {kOutlier, "outlier"},
                                               {kManual, "manual"},
                                               {kImported, "imported"},
                                               {kRelabelled, "relabelled"}}};

const std::vector<std::string> kTextColumns = {"recording", "camera", "marker", "flags"};
const std::vector<std::string> kColumns = {"recording",
                                           "camera",
                                           "marker",
                                           "frame",
                                           "t_s",
                                           "x_px",
                                           "y_px",
                                           "cov_xx_px2",
                                           "cov_xy_px2",
                                           "cov_yy_px2",
                                           "flags",
                                           "major_px",
                                           "minor_px",
                                           "angle_rad",
                                           "amplitude_grey",
                                           "background_grey",
                                           "nis",
                                           "smooth_x_px",
                                           "smooth_y_px",
                                           "smooth_vx_px_per_s",
                                           "smooth_vy_px_per_s"};
constexpr std::size_t kMostBytes = std::size_t{8} << 30;

auto TrackKey(const TrackPoint& p) { return std::tie(p.camera, p.marker, p.frame); }

// Numbers names in the order in which they come; the last one is tried first, since rows come in
// runs.
class Names {
 public:
  int Index(const std::string& name, std::vector<std::string>* list) {
    if (last_ >= 0 && (*list)[static_cast<std::size_t>(last_)] == name) return last_;
    const auto [place, fresh] = index_.emplace(name, static_cast<int>(list->size()));
    if (fresh) list->push_back(name);
    return last_ = place->second;
  }

 private:
  int last_ = -1;
  std::unordered_map<std::string, int> index_;
};

// A column that may be absent, or a constant.
class Cells {
 public:
  Cells(const Table& table, const char* name, double otherwise)
      : values_(table.Has(name) ? &table.Column(name) : nullptr),
        name_(name),
        otherwise_(otherwise),
        table_(&table) {}
  double Any(std::size_t row) const {
    if (values_ == nullptr) return otherwise_;
    const double v = (*values_)[row];
    return std::isnan(v) ? otherwise_ : v;
  }
  double Finite(std::size_t row) const {
    const double v = (*values_)[row];
    if (std::isnan(v)) throw table_->Fault(row, name_, "an empty cell", "a finite number");
    return v;
  }
  double Positive(std::size_t row) const {
    const double v = Finite(row);
    if (!(v > 0)) throw table_->Fault(row, name_, FormatNumber(v), "a variance above 0");
    return v;
  }
  double NotNegative(std::size_t row) const {
    const double v = Any(row);
    if (v < 0) throw table_->Fault(row, name_, FormatNumber(v), "0 and more, or an empty cell");
    return v;
  }

 private:
  const std::vector<double>* values_;
  const char* name_;
  double otherwise_;
  const Table* table_;
};

// Unknown columns are ignored, misspelt ones are refused.
void CheckTrackColumns(const Table& table) {
  for (const std::string& name : table.text_columns) {
    if (std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end()) continue;
    const auto absent =
        std::find_if(kColumns.begin(), kColumns.end(), [&](const std::string& known) {
          return EditDistance(known, name) <= 2 && !table.Has(known) && !table.HasText(known);
        });
    if (absent != kColumns.end())
      throw DataError(fmt::format("{}: found the column {}, allowed {}", table.path, Excerpt(name),
                                  Excerpt(*absent)));
  }
}

struct Recording {
  MarkerTracks tracks;
  Names cameras, markers;
  std::vector<std::size_t> rows;  // of the table, point by point
};

// Sorts the points; a point that is there twice, or earlier than the one before, is a fault of its
// row.
void Order(Recording* recording, const Table& table) {
  std::vector<TrackPoint>& points = recording->tracks.points;
  std::vector<std::size_t> order(points.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  const auto less = [&](std::size_t a, std::size_t b) {
    return TrackKey(points[a]) < TrackKey(points[b]);
  };
  if (!std::is_sorted(order.begin(), order.end(), less))
    std::stable_sort(order.begin(), order.end(), less);
  for (std::size_t k = 1; k < order.size(); ++k) {
    const TrackPoint &a = points[order[k - 1]], &b = points[order[k]];
    if (a.camera != b.camera || a.marker != b.marker) continue;
    const std::size_t row = recording->rows[order[k]], before = recording->rows[order[k - 1]];
    if (a.frame == b.frame)
      throw table.Fault(
          row, "frame",
          fmt::format(
              "a second point of marker {} in frame {} of camera {} (the first is in row {})",
              recording->tracks.markers[static_cast<std::size_t>(b.marker)], b.frame,
              recording->tracks.cameras[static_cast<std::size_t>(b.camera)], table.lines[before]),
          "one");
    if (b.t < a.t)
      throw table.Fault(row, "t_s",
                        fmt::format("{}, before that of frame {}", FormatNumber(b.t), a.frame),
                        "times that do not go back");
  }
  std::vector<TrackPoint> sorted;
  sorted.reserve(points.size());
  for (const std::size_t k : order) sorted.push_back(points[k]);
  points = std::move(sorted);
}

}  // namespace

void Sort(MarkerTracks* tracks) {
  const auto less = [](const TrackPoint& a, const TrackPoint& b) {
    return TrackKey(a) < TrackKey(b);
  };
  if (!std::is_sorted(tracks->points.begin(), tracks->points.end(), less))
    std::stable_sort(tracks->points.begin(), tracks->points.end(), less);
}

std::string FlagNames(std::uint32_t flags) {
  std::string names;
  for (const NamedFlag& f : kFlags) {
    if ((flags & f.flag) == 0) continue;
    if (!names.empty()) names += '|';
    names += f.name;
    flags &= ~f.flag;
  }
  if (flags != 0)
    throw std::invalid_argument(fmt::format("found flags without a name: {:#x}", flags));
  return names;
}

std::uint32_t FlagsFromNames(const std::string& names) {
  std::uint32_t flags = 0;
  std::string_view rest = TrimSpace(names);
  if (rest.empty()) return 0;
  for (;;) {
    const std::size_t end = rest.find('|');
    const std::string_view word = TrimSpace(rest.substr(0, end));
    const auto* found = std::find_if(kFlags.begin(), kFlags.end(),
                                     [&](const NamedFlag& f) { return word == f.name; });
    if (found == kFlags.end()) {
      std::vector<std::string> all;
      all.reserve(kFlags.size());
      for (const NamedFlag& f : kFlags) all.emplace_back(f.name);
      const std::string nearest = NearestName(word, all);
      throw std::invalid_argument(
          nearest.empty()
              ? fmt::format("found the flag {}, allowed {}", Excerpt(word), JoinNames(all))
              : fmt::format("found the flag {}, nearest is '{}'", Excerpt(word), nearest));
    }
    flags |= found->flag;
    if (end == std::string_view::npos) return flags;
    rest.remove_prefix(end + 1);
  }
}

struct TracksWriter::State {
  CsvWriter csv;
  std::set<std::string> recordings;
};

TracksWriter::TracksWriter(const std::filesystem::path& path)
    : state_(new State{CsvWriter(path, kColumns), {}}) {}
TracksWriter::~TracksWriter() = default;

void TracksWriter::Write(const MarkerTracks& tracks) {
  const auto wrong = [&](const std::string& what) {
    throw std::invalid_argument(fmt::format("tracks of '{}': {}", tracks.recording, what));
  };
  if (TrimSpace(tracks.recording).empty()) wrong("the recording has no name");
  if (!state_->recordings.insert(tracks.recording).second) wrong("were written before");
  const double nan = std::numeric_limits<double>::quiet_NaN();  // an empty cell
  const auto n_cameras = static_cast<int>(tracks.cameras.size()),
             n_markers = static_cast<int>(tracks.markers.size());
  for (std::size_t k = 0; k < tracks.points.size(); ++k) {
    const TrackPoint& p = tracks.points[k];
    if (p.camera < 0 || p.camera >= n_cameras || p.marker < 0 || p.marker >= n_markers)
      wrong(fmt::format("point {} has no camera or marker", k));
    if (k > 0 && !(TrackKey(tracks.points[k - 1]) < TrackKey(p)))
      wrong(fmt::format("point {} is out of order or there twice", k));
    if (p.frame < 0 || p.frame > kLargestFrame || !std::isfinite(p.t) || !p.q.allFinite() ||
        !p.cov.allFinite())
      wrong(fmt::format("point {} is not finite", k));
    if (!(p.cov(0, 0) > 0 && p.cov(1, 1) > 0 &&
          p.cov(0, 1) * p.cov(0, 1) < p.cov(0, 0) * p.cov(1, 1)))
      wrong(fmt::format("the covariance of point {} is not positive definite", k));
    CsvWriter& csv = state_->csv;
    csv.Text(tracks.recording).Text(tracks.cameras[static_cast<std::size_t>(p.camera)]);
    csv.Text(tracks.markers[static_cast<std::size_t>(p.marker)]).Integer(p.frame).Number(p.t);
    csv.Number(p.q.x())
        .Number(p.q.y())
        .Number(p.cov(0, 0))
        .Number(p.cov(0, 1))
        .Number(p.cov(1, 1))
        .Text(FlagNames(p.flags));
    const bool ellipse = p.major != 0 || p.minor != 0,
               light = p.amplitude != 0 || p.background != 0;
    for (const double value : {p.major, p.minor, p.angle}) csv.Number(ellipse ? value : nan);
    for (const double value : {p.amplitude, p.background}) csv.Number(light ? value : nan);
    csv.Number(p.nis);
    csv.Number(p.smooth_q.x()).Number(p.smooth_q.y()).Number(p.smooth_v.x()).Number(p.smooth_v.y());
    csv.EndRow();
  }
}

void TracksWriter::Commit() { state_->csv.Commit(); }

namespace {

// The numeric columns of a table of tracks.
struct TrackCells {
  explicit TrackCells(const Table& t)
      : table(t),
        flags(t.HasText("flags") ? &t.TextColumn("flags") : nullptr),
        frame(t, "frame", kNan),
        time(t, "t_s", kNan),
        x(t, "x_px", kNan),
        y(t, "y_px", kNan),
        xx(t, "cov_xx_px2", kNan),
        xy(t, "cov_xy_px2", kNan),
        yy(t, "cov_yy_px2", kNan),
        major(t, "major_px", 0),
        minor(t, "minor_px", 0),
        angle(t, "angle_rad", 0),
        amplitude(t, "amplitude_grey", 0),
        background(t, "background_grey", 0),
        nis(t, "nis", kNan),
        smooth_x(t, "smooth_x_px", kNan),
        smooth_y(t, "smooth_y_px", kNan),
        smooth_vx(t, "smooth_vx_px_per_s", kNan),
        smooth_vy(t, "smooth_vy_px_per_s", kNan) {}

  // The point of a row, without camera and marker.
  TrackPoint PointAt(std::size_t row) const {
    TrackPoint p;
    const double number = frame.Finite(row);
    if (number < 0 || number != std::floor(number) || number > static_cast<double>(kLargestFrame))
      throw table.Fault(row, "frame", FormatNumber(number), "a whole number from 0 to 1e9");
    p.frame = static_cast<long long>(number);
    p.t = time.Finite(row);
    p.q = {x.Finite(row), y.Finite(row)};
    p.cov(0, 0) = xx.Positive(row);
    p.cov(1, 1) = yy.Positive(row);
    p.cov(0, 1) = p.cov(1, 0) = xy.Finite(row);
    if (!(p.cov(0, 1) * p.cov(0, 1) < p.cov(0, 0) * p.cov(1, 1)))
      throw table.Fault(row, "cov_xy_px2", FormatNumber(p.cov(0, 1)),
                        "a positive definite covariance");
    if (flags != nullptr && !(*flags)[row].empty()) {
      try {
        p.flags = FlagsFromNames((*flags)[row]);
      } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("{}: row {}, column flags: {}", table.path, table.lines[row],
                                    error.what()));
      }
    }
    p.major = major.NotNegative(row);
    p.minor = minor.NotNegative(row);
    p.angle = angle.Any(row);
    p.amplitude = amplitude.Any(row);
    p.background = background.Any(row);
    p.nis = nis.NotNegative(row);
    p.smooth_q = {smooth_x.Any(row), smooth_y.Any(row)};
    p.smooth_v = {smooth_vx.Any(row), smooth_vy.Any(row)};
    return p;
  }

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Table& table;
  const std::vector<std::string>* flags;
  Cells frame, time, x, y, xx, xy, yy, major, minor, angle, amplitude, background, nis;
  Cells smooth_x, smooth_y, smooth_vx, smooth_vy;
};

Table ReadTrackTable(const std::filesystem::path& path) {
  CsvOptions options;
  options.text_columns = kTextColumns;
  options.is_text = [](std::string_view name) {
    return std::find(kColumns.begin(), kColumns.end(), name) == kColumns.end();
  };
  options.empty_is_nan = true;
  options.min_rows = 0;
  options.max_bytes = kMostBytes;
  Table table = ReadCsv(path, options);
  CheckTrackColumns(table);
  for (const char* needed :
       {"frame", "t_s", "x_px", "y_px", "cov_xx_px2", "cov_xy_px2", "cov_yy_px2"})
    table.Column(needed);
  return table;
}

}  // namespace

std::vector<MarkerTracks> ReadTracks(const std::filesystem::path& path) {
  const Table table = ReadTrackTable(path);
  const TrackCells cells(table);
  const std::vector<std::string>&recordings = table.TextColumn("recording"),
        &cameras = table.TextColumn("camera");
  const std::vector<std::string>& markers = table.TextColumn("marker");

  std::vector<Recording> found;
  std::vector<std::string> names;
  Names recording_names;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    for (const auto& [column, texts] :
         {std::pair{"recording", &recordings}, {"camera", &cameras}, {"marker", &markers}})
      if ((*texts)[row].empty()) throw table.Fault(row, column, "an empty cell", "a name");
    const auto which = static_cast<std::size_t>(recording_names.Index(recordings[row], &names));
    if (which == found.size()) {
      found.emplace_back();
      found.back().tracks.recording = recordings[row];
    }
    Recording& recording = found[which];
    TrackPoint p = cells.PointAt(row);
    p.camera = recording.cameras.Index(cameras[row], &recording.tracks.cameras);
    p.marker = recording.markers.Index(markers[row], &recording.tracks.markers);
    recording.tracks.points.push_back(p);
    recording.rows.push_back(row);
  }
  std::vector<MarkerTracks> result;
  for (Recording& recording : found) {
    Order(&recording, table);
    result.push_back(std::move(recording.tracks));
  }
  return result;
}

}  // namespace impactlab
