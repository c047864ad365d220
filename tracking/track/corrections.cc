#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "data/files/table.h"
#include "data/files/text.h"
#include "tracking/track/tracks.h"

namespace impactlab {
namespace {

const std::vector<std::string> kActions = {"add", "move", "delete", "relabel"};

constexpr double kSmallestSd = 1e-6;  // [px]

using MarkerFrame = std::pair<int, long long>;  // marker, frame, within a camera

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? -1 : static_cast<int>(place - names.begin());
}

// The points of one recording while they are changed.
class Editor {
 public:
  Editor(const std::string& name, const std::function<double(int, long long, double)>& time,
         MarkerTracks* tracks)
      : name_(name), time_(time), tracks_(*tracks), points_(tracks->cameras.size()) {
    for (const TrackPoint& p : tracks_.points)
      points_[static_cast<std::size_t>(p.camera)].emplace(MarkerFrame{p.marker, p.frame}, p);
  }

  // All at once, so that two rows swap two names.
  int Relabel(const std::vector<const Correction*>& corrections) {
    std::vector<std::pair<TrackPoint, const Correction*>> moved;
    for (const Correction* c : corrections) {
      const int camera = Camera(*c), to = Marker(*c, "to_marker", c->to_marker);
      auto& points = points_[static_cast<std::size_t>(camera)];
      const auto place = points.find({Marker(*c, "marker", c->marker), c->frame});
      if (place == points.end()) Absent(*c);
      TrackPoint p = place->second;
      p.marker = to;
      p.flags |= kRelabelled;
      points.erase(place);
      moved.emplace_back(p, c);
    }
    for (const auto& [p, c] : moved) {
      if (!points_[static_cast<std::size_t>(p.camera)]
               .emplace(MarkerFrame{p.marker, p.frame}, p)
               .second)
        Fail(*c, "to_marker",
             fmt::format("'{}', which has a point in frame {} of camera {} already", c->to_marker,
                         c->frame, c->camera),
             "a name that is free there; relabel or delete the other point too");
      placed_.emplace_back(c, p.camera, MarkerFrame{p.marker, p.frame});
    }
    return static_cast<int>(moved.size());
  }

  void Apply(const Correction& c) {
    const int camera = Camera(c);
    auto& points = points_[static_cast<std::size_t>(camera)];
    const bool add = c.action == Correction::Action::kAdd;
    const MarkerFrame key{Marker(c, "marker", c.marker), c.frame};
    const auto place = points.find(key);
    if (!add && place == points.end()) Absent(c);
    if (c.action == Correction::Action::kDelete) {
      points.erase(place);
      return;
    }
    if (add && place != points.end())
      Fail(c, "frame", fmt::format("{}, where marker '{}' has a point already", c.frame, c.marker),
           "a frame without one; or move it");
    TrackPoint p;
    p.camera = camera;
    p.marker = key.first;
    p.frame = c.frame;
    p.q = c.q;
    p.cov = c.sd * c.sd * Eigen::Matrix2d::Identity();
    p.flags = kManual;
    if (place != points.end()) p.flags |= place->second.flags & (kImpact | kRelabelled);
    p.t = Time(c, camera, place == points.end() ? nullptr : &place->second);
    const auto here = points.insert_or_assign(key, p).first;
    placed_.emplace_back(&c, camera, here->first);
  }

  void Finish() {
    for (const auto& [c, camera, key] : placed_)
      CheckOrder(*c, points_[static_cast<std::size_t>(camera)], key);
    tracks_.points.clear();
    for (const auto& points : points_)
      for (const auto& [key, p] : points) tracks_.points.push_back(p);
  }

 private:
  [[noreturn]] void Fail(const Correction& c, const char* column, const std::string& found,
                         const std::string& allowed) const {
    throw DataError(fmt::format("{}: row {}, column {}: found {}, allowed {}", name_, c.line,
                                column, found, allowed));
  }
  [[noreturn]] void Absent(const Correction& c) const {
    Fail(
        c, "frame",
        fmt::format("{}, where marker '{}' has no point in camera {}", c.frame, c.marker, c.camera),
        "a frame with one");
  }
  int Known(const Correction& c, const char* column, const std::string& name,
            const std::vector<std::string>& names) const {
    const int index = IndexOf(names, name);
    if (index >= 0) return index;
    const std::string nearest = NearestName(name, names);
    Fail(c, column, Excerpt(name),
         names.empty() ? "none"
                       : JoinNames(names) +
                             (nearest.empty() ? std::string()
                                              : fmt::format("; nearest is {}", Excerpt(nearest))));
  }
  int Camera(const Correction& c) const { return Known(c, "camera", c.camera, tracks_.cameras); }
  int Marker(const Correction& c, const char* column, const std::string& name) const {
    return Known(c, column, name, tracks_.markers);
  }
  double Time(const Correction& c, int camera, const TrackPoint* old) const {
    const double t = time_ ? time_(camera, c.frame, c.q.y()) : std::nan("");
    if (std::isfinite(t)) return t;
    if (old != nullptr) return old->t;
    long long first = kLargestFrame, last = -1;
    for (const auto& [key, p] : points_[static_cast<std::size_t>(camera)]) {
      if (key.second == c.frame) return p.t;
      first = std::min(first, key.second);
      last = std::max(last, key.second);
    }
    std::string allowed =
        fmt::format("a frame of the recording whose time is known; camera {} has ", c.camera);
    allowed += last < 0 ? "no points" : fmt::format("points in frames {} to {}", first, last);
    Fail(c, "frame", std::to_string(c.frame), allowed);
  }
  // Times do not go back along a marker.
  void CheckOrder(const Correction& c, const std::map<MarkerFrame, TrackPoint>& points,
                  const MarkerFrame& key) const {
    const auto place = points.find(key);
    if (place == points.end()) return;  // deleted again
    const auto fails = [&](const TrackPoint& other, const char* side) {
      Fail(c, "frame", fmt::format("{} at {} s", c.frame, FormatNumber(place->second.t)),
           fmt::format("a time {} that of frame {}, {} s", side, other.frame,
                       FormatNumber(other.t)));
    };
    if (place != points.begin())
      if (const auto& [before, p] = *std::prev(place);
          before.first == key.first && p.t > place->second.t)
        fails(p, "after");
    if (const auto next = std::next(place);
        next != points.end() && next->first.first == key.first && next->second.t < place->second.t)
      fails(next->second, "before");
  }

  const std::string& name_;
  const std::function<double(int, long long, double)>& time_;
  MarkerTracks& tracks_;
  std::vector<std::map<MarkerFrame, TrackPoint>> points_;
  // or relabelled by hand, with their cameras
  std::vector<std::tuple<const Correction*, int, MarkerFrame>> placed_;
};

// An unknown column: a misspelt name of one that is missing, or one of another program.
void CheckCorrectionColumns(const Table& table, const std::vector<std::string>& known) {
  for (const std::string& name : table.text_columns) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::vector<std::string> absent;
    for (const std::string& column : known)
      if (!table.Has(column) && !table.HasText(column)) absent.push_back(column);
    const std::string nearest = NearestName(name, absent);
    throw DataError(fmt::format("{}: found the column {}, allowed {}", table.path, Excerpt(name),
                                nearest.empty() ? JoinNames(known) : Excerpt(nearest)));
  }
}

}  // namespace

std::vector<Correction> ReadCorrections(const std::filesystem::path& path) {
  CsvOptions options;
  options.text_columns = {"recording", "camera", "marker", "action", "to_marker", "note"};
  options.empty_is_nan = true;
  options.min_rows = 0;
  const std::vector<std::string> known = {"recording", "camera", "marker", "frame",     "action",
                                          "x_px",      "y_px",   "sd_px",  "to_marker", "note"};
  options.is_text = [&](std::string_view name) {
    return std::find(known.begin(), known.end(), name) == known.end();
  };
  const Table table = ReadCsv(path, options);
  CheckCorrectionColumns(table, known);
  const auto& frames = table.Column("frame");
  const auto &recordings = table.TextColumn("recording"), &cameras = table.TextColumn("camera"),
             &markers = table.TextColumn("marker");
  const auto& actions = table.TextColumn("action");
  const auto number = [&](const char* name, std::size_t row) {
    return table.Has(name) ? table.Column(name)[row] : std::nan("");
  };
  const auto text = [&](const char* name, std::size_t row) {
    return table.HasText(name) ? table.TextColumn(name)[row] : std::string();
  };
  std::vector<Correction> corrections;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    Correction c;
    c.recording = recordings[row];
    c.camera = cameras[row];
    c.marker = markers[row];
    c.line = table.lines[row];
    for (const auto& [column, value] :
         {std::pair{"recording", &c.recording}, {"camera", &c.camera}, {"marker", &c.marker}})
      if (value->empty()) throw table.Fault(row, column, "an empty cell", "a name");
    if (!(frames[row] >= 0) || frames[row] != std::floor(frames[row]) ||
        frames[row] > static_cast<double>(kLargestFrame))
      throw table.Fault(row, "frame",
                        std::isnan(frames[row]) ? "an empty cell" : FormatNumber(frames[row]),
                        "a whole number from 0 to 1e9");
    c.frame = static_cast<long long>(frames[row]);
    const int action = IndexOf(kActions, actions[row]);
    if (action < 0) throw table.Fault(row, "action", Excerpt(actions[row]), JoinNames(kActions));
    c.action = static_cast<Correction::Action>(action);
    c.note = text("note", row);
    c.to_marker = text("to_marker", row);
    const bool places =
        c.action == Correction::Action::kAdd || c.action == Correction::Action::kMove;
    const bool relabels = c.action == Correction::Action::kRelabel;
    for (const char* column : {"x_px", "y_px", "sd_px"}) {
      const double value = number(column, row);
      const bool needed = places && column[0] != 's';
      if (needed && std::isnan(value))
        throw table.Fault(row, column, "an empty cell",
                          fmt::format("a number, to {} a point", actions[row]));
      if (!places && !std::isnan(value))
        throw table.Fault(row, column, FormatNumber(value),
                          fmt::format("an empty cell, to {} a point", actions[row]));
    }
    if (places) {
      c.q = {number("x_px", row), number("y_px", row)};
      for (const auto& [column, value] : {std::pair{"x_px", c.q.x()}, {"y_px", c.q.y()}})
        if (std::abs(value) > kFarthest)
          throw table.Fault(row, column, FormatNumber(value), "a position from -1e5 to 1e5");
      const double sd = number("sd_px", row);
      if (sd < kSmallestSd || sd > kFarthest)
        throw table.Fault(row, "sd_px", FormatNumber(sd), "from 1e-6 to 1e5");
      if (!std::isnan(sd)) c.sd = sd;
    }
    if (relabels && (c.to_marker.empty() || c.to_marker == c.marker))
      throw table.Fault(row, "to_marker",
                        c.to_marker.empty() ? "an empty cell" : Excerpt(c.to_marker),
                        "the name of another marker");
    if (!relabels && !c.to_marker.empty())
      throw table.Fault(row, "to_marker", Excerpt(c.to_marker),
                        fmt::format("an empty cell, to {} a point", actions[row]));
    corrections.push_back(std::move(c));
  }
  return corrections;
}

int ApplyCorrections(const std::vector<Correction>& corrections, const std::string& name,
                     const std::function<double(int camera, long long frame, double y)>& time,
                     MarkerTracks* tracks) {
  std::vector<const Correction*> relabel, others;
  for (const Correction& c : corrections) {
    if (c.recording != tracks->recording) continue;
    (c.action == Correction::Action::kRelabel ? relabel : others).push_back(&c);
  }
  if (relabel.empty() && others.empty()) return 0;
  MarkerTracks changed = *tracks;  // as it was, should a correction be wrong
  Editor editor(name, time, &changed);
  int applied = editor.Relabel(relabel);
  for (const Correction* c : others) {
    editor.Apply(*c);
    ++applied;
  }
  editor.Finish();
  *tracks = std::move(changed);
  return applied;
}

}  // namespace impactlab
