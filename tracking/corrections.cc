#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "data/table.h"
#include "data/text.h"
#include "tracking/tracks.h"

namespace impactlab {
namespace {

const std::vector<std::string> kActions = {"add", "move", "delete", "relabel"};

using Key = std::pair<int, long long>;  // marker, frame, within a camera

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? -1 : static_cast<int>(place - names.begin());
}

// The points of one recording while they are changed.
class Editor {
 public:
  Editor(const std::string& name, const std::function<double(int, long long, double)>& time, MarkerTracks* tracks)
      : name_(name), time_(time), tracks_(*tracks), points_(tracks->cameras.size()) {
    for (const TrackPoint& p : tracks_.points) points_[static_cast<std::size_t>(p.camera)].emplace(Key{p.marker, p.frame}, p);
  }

  // All at once, so that two rows swap two names.
  int Relabel(const std::vector<const Correction*>& corrections) {
    std::vector<std::pair<TrackPoint, const Correction*>> moved;
    for (const Correction* c : corrections) {
      const int camera = Camera(*c), to = Marker(c->to_marker);
      auto& points = points_[static_cast<std::size_t>(camera)];
      const auto place = points.find({Existing(*c), c->frame});
      if (place == points.end()) Absent(*c);
      TrackPoint p = place->second;
      p.marker = to;
      p.flags |= kRelabelled;
      points.erase(place);
      moved.emplace_back(p, c);
    }
    for (const auto& [p, c] : moved) {
      if (!points_[static_cast<std::size_t>(p.camera)].emplace(Key{p.marker, p.frame}, p).second)
        Fail(*c, "to_marker", fmt::format("'{}', which has a point in frame {} of camera {} already", c->to_marker, c->frame, c->camera),
             "a name that is free there; relabel or delete the other point too");
    }
    return static_cast<int>(moved.size());
  }

  void Apply(const Correction& c) {
    const int camera = Camera(c);
    auto& points = points_[static_cast<std::size_t>(camera)];
    const bool add = c.action == Correction::Action::kAdd;
    const Key key{add ? Marker(c.marker) : Existing(c), c.frame};
    const auto place = points.find(key);
    if (!add && place == points.end()) Absent(c);
    if (c.action == Correction::Action::kDelete) {
      points.erase(place);
      return;
    }
    if (add && place != points.end())
      Fail(c, "frame", fmt::format("{}, where marker '{}' has a point already", c.frame, c.marker), "a frame without one; or move it");
    TrackPoint p;
    p.camera = camera;
    p.marker = key.first;
    p.frame = c.frame;
    p.q = c.q;
    p.cov = c.sd * c.sd * Eigen::Matrix2d::Identity();
    p.flags = kManual;
    if (place != points.end()) p.flags |= place->second.flags & (kImpact | kRelabelled);
    p.t = Time(c, camera, place == points.end() ? nullptr : &place->second);
    points.insert_or_assign(key, p);
  }

  void Finish() {
    tracks_.points.clear();
    for (const auto& points : points_)
      for (const auto& [key, p] : points) tracks_.points.push_back(p);
  }

 private:
  [[noreturn]] void Fail(const Correction& c, const char* column, const std::string& found, const std::string& allowed) const {
    throw DataError(fmt::format("{}: row {}, column {}: found {}, allowed {}", name_, c.line, column, found, allowed));
  }
  [[noreturn]] void Absent(const Correction& c) const {
    Fail(c, "frame", fmt::format("{}, where marker '{}' has no point in camera {}", c.frame, c.marker, c.camera), "a frame with one");
  }
  int Camera(const Correction& c) const {
    const int index = IndexOf(tracks_.cameras, c.camera);
    if (index < 0) Fail(c, "camera", Excerpt(c.camera), JoinNames(tracks_.cameras));
    return index;
  }
  int Existing(const Correction& c) const {
    const int index = IndexOf(tracks_.markers, c.marker);
    if (index < 0) Fail(c, "marker", Excerpt(c.marker), JoinNames(tracks_.markers));
    return index;
  }
  // Markers may be made by hand.
  int Marker(const std::string& marker) {
    const int index = IndexOf(tracks_.markers, marker);
    if (index >= 0) return index;
    tracks_.markers.push_back(marker);
    return static_cast<int>(tracks_.markers.size()) - 1;
  }
  double Time(const Correction& c, int camera, const TrackPoint* old) const {
    if (time_) return time_(camera, c.frame, c.q.y());
    if (old != nullptr) return old->t;
    for (const auto& [key, p] : points_[static_cast<std::size_t>(camera)])
      if (key.second == c.frame) return p.t;
    Fail(c, "frame", fmt::format("{}, whose time is not known", c.frame), "a frame with another point, or the recording beside its tracks");
  }

  const std::string& name_;
  const std::function<double(int, long long, double)>& time_;
  MarkerTracks& tracks_;
  std::vector<std::map<Key, TrackPoint>> points_;
};

}  // namespace

std::vector<Correction> ReadCorrections(const std::filesystem::path& path) {
  CsvOptions options;
  options.text_columns = {"recording", "camera", "marker", "action", "to_marker", "note"};
  options.empty_is_nan = true;
  options.min_rows = 0;
  const Table table = ReadCsv(path, options);
  const std::vector<std::string> known = {"frame", "x_px", "y_px", "sd_px"};
  for (const std::string& name : table.columns) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::vector<std::string> all = options.text_columns;
    all.insert(all.end(), known.begin(), known.end());
    throw DataError(fmt::format("{}: found the column {}, allowed {}", table.path, Excerpt(name), JoinNames(all)));
  }
  const auto& frames = table.Column("frame");
  const auto &recordings = table.TextColumn("recording"), &cameras = table.TextColumn("camera"), &markers = table.TextColumn("marker");
  const auto& actions = table.TextColumn("action");
  const auto number = [&](const char* name, std::size_t row) { return table.Has(name) ? table.Column(name)[row] : std::nan(""); };
  const auto text = [&](const char* name, std::size_t row) { return table.HasText(name) ? table.TextColumn(name)[row] : std::string(); };
  std::vector<Correction> corrections;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    Correction c;
    c.recording = recordings[row];
    c.camera = cameras[row];
    c.marker = markers[row];
    c.line = table.lines[row];
    for (const auto& [column, value] : {std::pair{"recording", &c.recording}, {"camera", &c.camera}, {"marker", &c.marker}})
      if (value->empty()) throw table.Fault(row, column, "an empty cell", "a name");
    if (!(frames[row] >= 0) || frames[row] != std::floor(frames[row]) || frames[row] > 9e15)
      throw table.Fault(row, "frame", std::isnan(frames[row]) ? "an empty cell" : FormatNumber(frames[row]), "a whole number from 0 on");
    c.frame = static_cast<long long>(frames[row]);
    const int action = IndexOf(kActions, actions[row]);
    if (action < 0) throw table.Fault(row, "action", Excerpt(actions[row]), JoinNames(kActions));
    c.action = static_cast<Correction::Action>(action);
    c.note = text("note", row);
    c.to_marker = text("to_marker", row);
    const bool places = c.action == Correction::Action::kAdd || c.action == Correction::Action::kMove;
    const bool relabels = c.action == Correction::Action::kRelabel;
    for (const char* column : {"x_px", "y_px", "sd_px"}) {
      const double value = number(column, row);
      const bool needed = places && column[0] != 's';
      if (needed && std::isnan(value))
        throw table.Fault(row, column, "an empty cell", fmt::format("a number, to {} a point", actions[row]));
      if (!places && !std::isnan(value))
        throw table.Fault(row, column, FormatNumber(value), fmt::format("an empty cell, to {} a point", actions[row]));
    }
    if (places) {
      c.q = {number("x_px", row), number("y_px", row)};
      const double sd = number("sd_px", row);
      if (sd <= 0) throw table.Fault(row, "sd_px", FormatNumber(sd), "above 0");
      if (!std::isnan(sd)) c.sd = sd;
    }
    if (relabels && (c.to_marker.empty() || c.to_marker == c.marker))
      throw table.Fault(row, "to_marker", c.to_marker.empty() ? "an empty cell" : Excerpt(c.to_marker), "the name of another marker");
    if (!relabels && !c.to_marker.empty())
      throw table.Fault(row, "to_marker", Excerpt(c.to_marker), fmt::format("an empty cell, to {} a point", actions[row]));
    corrections.push_back(std::move(c));
  }
  return corrections;
}

int ApplyCorrections(const std::vector<Correction>& corrections, const std::string& name,
                     const std::function<double(int camera, long long frame, double y)>& time, MarkerTracks* tracks) {
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
