#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "calibration/camera/rig.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/input_files.h"
#include "pipelines/config/yaml.h"
#include "pipelines/track/track.h"

namespace impactlab {
namespace {

using pipelines::YamlCount;
using pipelines::YamlFlag;
using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr const char* kSchema = "impactlab.tracking/1";
// in the order of VideoOptions::Fields
constexpr const char* kFields[] = {"split", "whole", "refuse"};
constexpr SyncMethod kMethods[] = {SyncMethod::kNone, SyncMethod::kGiven, SyncMethod::kFlash};

bool IsPlainName(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

std::string NewName(const YamlNode& node, const std::string& key,
                    const std::vector<std::string>& earlier) {
  std::string name = node.Text(key);
  if (!IsPlainName(name) || name.front() == '.')
    throw node.Fault(key, Excerpt(name), "letters, digits, - _ and .");
  if (std::find(earlier.begin(), earlier.end(), name) != earlier.end())
    throw node.Fault(key, name + " again", "a name of its own");
  return name;
}

int IndexOf(const YamlNode& node, const std::string& key, const std::string& name,
            const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  const std::string nearest = NearestName(name, names);
  throw node.Fault(key, Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                   JoinNames(names));
}

template <typename Part>
std::vector<std::string> NamesOf(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  return names;
}

TrackedCamera ParseCamera(const YamlNode& node, const std::vector<TrackedCamera>& earlier) {
  TrackedCamera c;
  c.name = NewName(node, "name", NamesOf(earlier));
  c.exposure = node.Number("exposure_s", 0, Closed(0, 1));
  FrameSource& s = c.source;
  s.rate = node.Number("rate_Hz", 0, Closed(0, 1e7));
  s.t_line = node.Number("t_line_s", 0, Closed(-1e-3, 1e-3));
  s.t_shift = node.Number("shift_s", 0, Closed(-1e6, 1e6));
  s.clock_rate = node.Number("clock_rate", 1, Closed(0.5, 2));
  const std::vector<std::string> fields(std::begin(kFields), std::end(kFields));
  s.decode.fields = static_cast<VideoOptions::Fields>(
      std::find(fields.begin(), fields.end(), node.Choice("fields", "split", fields)) -
      fields.begin());
  if (node.Has("levels")) {
    const std::vector<double> levels = node.Vector("levels", 2, NonNegative());
    if (!(levels[1] > levels[0]))
      throw node.Fault("levels", FormatNumber(levels[1]), "[black, white] with white above black");
    s.decode.black_level = levels[0];
    s.decode.white_level = levels[1];
  }
  s.decode.gamma = node.Number("gamma", 0, Closed(0, 10));
  s.decode.linear = node.Flag("linear", s.decode.gamma > 0);
  if (node.Has("color_rgb")) {
    const std::vector<double> color = node.Vector("color_rgb", 3, Closed(0, 255));
    s.decode.color = std::array<double, 3>{color[0], color[1], color[2]};
  }
  s.decode.threads = 1;
  return c;
}

void ParseMarkers(const YamlNode& root, CameraTrackOptions& o) {
  const YamlNode node = root.Map("markers");
  const std::string look = node.Choice("look", "bright", {"bright", "dark", "tags"});
  o.spots.dark = look == "dark";
  o.tags = look == "tags";
  o.shape = node.Choice("shape", "disc", {"disc", "stripe"}) == "stripe" ? MarkerShape::kStripe
                                                                         : MarkerShape::kDisc;
  o.names = node.Texts("names");
  std::vector<std::string> tag_names = o.names;
  if (o.tags && node.Choice("tag_points", "corners", {"corners", "centre"}) == "corners") {
    o.names.clear();
    for (const std::string& name : tag_names)
      for (int k = 1; k <= 4; ++k) o.names.push_back(fmt::format("{}.{}", name, k));
    o.tag_corners = true;
  }
  std::set<std::string> seen;
  for (const std::string& name : o.names) {
    if (!IsPlainName(name)) throw node.Fault("names", Excerpt(name), "letters, digits, - _ and .");
    if (name.starts_with("unnamed_"))
      throw node.Fault("names", name,
                       "names that do not begin with unnamed_, which stands for what has none");
    if (!seen.insert(name).second) throw node.Fault("names", name + " twice", "every name once");
  }
  if (node.Has("layout_m")) {
    const auto rows = node.Vectors("layout_m", 3);
    if (rows.size() != o.names.size())
      throw node.Fault("layout_m", fmt::format("{} positions", rows.size()),
                       fmt::format("one of each of the {} names", o.names.size()));
    for (const auto& row : rows) o.layout.emplace_back(row[0], row[1], row[2]);
  }
  const double layout_sd = node.Number("layout_sd_m", 5e-4, Closed(1e-6, 0.1));
  if (const std::string fault = o.layout.empty() ? "" : LayoutFault(o.names, o.layout, layout_sd);
      !fault.empty())
    throw node.Fault("layout_m", "a layout in which markers cannot be told apart: " + fault,
                     "a layout without symmetry");
  SpotOptions& s = o.spots;
  s.threshold = static_cast<int>(node.Integer("threshold_grey", 0, Closed(0, 254)));
  s.local = static_cast<int>(node.Integer("local_px", 0, Closed(0, 2000)));
  const std::vector<double> area =
      node.Vector("area_px2", 2, {s.area_min, s.area_max}, Closed(1, 1e8));
  if (!(area[1] > area[0]))
    throw node.Fault("area_px2", FormatNumber(area[1]), "[least, most] with most above least");
  s.area_min = area[0], s.area_max = area[1];
  o.refine = node.Flag("refine", o.refine);
  o.blur = node.Number("blur_px", 0, Closed(0, 20));
  o.subtract_background = node.Choice("background", "none", {"none", "median"}) == "median";
  if (node.Has("tag_dictionary") || o.tags)
    o.tag.dictionary = node.Text("tag_dictionary", o.tag.dictionary);
  if (o.tags) {
    const std::vector<double> ids =
        node.Vector("tag_ids", static_cast<int>(tag_names.size()), NonNegative());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (ids[k] != std::floor(ids[k]))
        throw node.Fault("tag_ids", FormatNumber(ids[k]), "whole numbers");
      o.tag_names.emplace_back(static_cast<int>(ids[k]), tag_names[k]);
    }
  }
}

// What the images of discs and balls need beside the places of their centres.
void ParseShapes(const YamlNode& root, TrackConfig& plan) {
  const YamlNode node = root.Map("markers");
  const std::size_t n = plan.track.names.size();
  plan.markers.clear();
  for (const char* key : {"radius_m", "normals"})
    if (node.Has(key) && plan.track.layout.empty())
      throw node.Fault(key, "it without layout_m", "both, or none");
  for (const Eigen::Vector3d& p : plan.track.layout) plan.markers.push_back({.p_BM = p});
  if (plan.track.layout.empty()) return;
  if (node.Has("radius_m")) {
    const std::vector<double> radius = node.Vector("radius_m", static_cast<int>(n), Closed(0, 10));
    for (std::size_t k = 0; k < n; ++k) plan.markers[k].radius = radius[k];
  }
  if (!node.Has("normals")) return;
  const auto normals = node.Vectors("normals", 3);
  if (normals.size() != n)
    throw node.Fault("normals", fmt::format("{} directions", normals.size()),
                     fmt::format("one of each of the {} names", n));
  for (std::size_t k = 0; k < n; ++k) {
    const Eigen::Vector3d normal(normals[k][0], normals[k][1], normals[k][2]);
    plan.markers[k].normal_B = normal.norm() > 0 ? Eigen::Vector3d(normal.normalized()) : normal;
  }
}

void ParseTracker(const YamlNode& root, CameraTrackOptions& o) {
  const YamlNode node = root.MapOrEmpty("tracker");
  TrackerOptions& t = o.tracker;
  t.markers = static_cast<int>(o.names.size());
  t.gate = node.Number("gate", t.gate, Closed(2, 100));
  t.gap_max = static_cast<int>(node.Integer("gap_max_frames", t.gap_max, Closed(1, 10000)));
  t.confirm = static_cast<int>(node.Integer("confirm_frames", t.confirm, Closed(1, 1000)));
  t.position_floor = node.Number("position_floor_px", t.position_floor, Closed(0, 10));
  t.speed_sd = node.Number("speed_sd_px_per_s", t.speed_sd, Closed(1, 1e7));
  t.acceleration_sd = node.Number("acceleration_sd_px_per_s2", t.acceleration_sd, Closed(1, 1e9));
  t.jump_speed = node.Number("jump_speed_px_per_s", t.jump_speed, Closed(1, 1e7));
  const YamlNode frames = root.MapOrEmpty("frames");
  o.first = frames.Integer("first", 0, NonNegative());
  o.last = frames.Integer("last", -1, AtLeast(-1));
  if (o.last >= 0 && o.last < o.first)
    throw frames.Fault("last", std::to_string(o.last), "a frame not before the first");
}

void ParseHints(const YamlNode& root, TrackConfig& plan) {
  if (!root.Has("hints")) return;
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  for (const YamlNode& node : root.List("hints")) {
    MarkerHint hint;
    hint.marker = node.Text("marker");
    IndexOf(node, "marker", hint.marker, plan.track.names);
    hint.frame = node.Integer("frame", 0, NonNegative());
    hint.q = {node.Number("x_px"), node.Number("y_px")};
    const int camera = plan.cameras.size() == 1 && !node.Has("camera")
                           ? 0
                           : IndexOf(node, "camera", node.Text("camera"), cameras);
    plan.hints.emplace_back(camera, hint);
  }
}

// Files of one camera of one recording. One that is not there stays in the list: it becomes a row
// with a reason, not the end of the batch.
std::vector<std::filesystem::path> FilesOf(const std::vector<std::string>& texts,
                                           const std::filesystem::path& base) {
  std::vector<std::filesystem::path> out;
  for (const std::string& text : texts) {
    std::error_code absent;
    const std::filesystem::path full = base / text;
    std::vector<std::filesystem::path> found;
    try {
      found = std::filesystem::is_directory(full, absent)
                  ? pipelines::FindFiles({text}, base, false, text)
                  : ExpandGlob(text, base);
    } catch (const DataError&) {
      // An empty or unreadable folder is named when it is opened.
    }
    if (found.empty()) found.push_back(full);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

// Recordings one by one, or by patterns whose matches belong together.
void ParseRecordings(const YamlNode& root, TrackConfig& plan) {
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  const bool listed = root.Has("recordings"), patterns = root.Has("files");
  if (listed == patterns)
    throw root.Fault(
        listed ? "files" : "recordings", listed ? "files as well" : "neither recordings nor files",
        "recordings: a list with name and files; or files: a pattern for every camera");
  const auto find = [&](const YamlNode& node, const std::string& camera) {
    return pipelines::FindFiles(node.Texts(camera), root.Folder(), true,
                                node.Where(camera) + ": " + node.FullName(camera));
  };
  if (patterns) {
    const YamlNode node = root.Map("files");
    std::vector<std::vector<std::filesystem::path>> files(cameras.size());
    for (const std::string& camera : node.Keys())
      files[static_cast<std::size_t>(IndexOf(node, camera, camera, cameras))] = find(node, camera);
    for (std::size_t c = 0; c < files.size(); ++c)
      if (files[c].empty()) throw node.Fault(cameras[c], "nothing", "a pattern for every camera");
    std::vector<std::string> notes;
    for (const auto& match :
         pipelines::MatchByName(cameras, files, root.Where("files") + ": files", "video",
                                "; or list the recordings one by one", &notes)) {
      TrackedRecording recording;
      recording.name = match.name;
      recording.stamps.resize(files.size());
      for (std::size_t c = 0; c < files.size(); ++c) {
        recording.files.emplace_back();
        if (match.file[c] >= 0)
          recording.files.back().push_back(files[c][static_cast<std::size_t>(match.file[c])]);
      }
      plan.recordings.push_back(std::move(recording));
    }
    return;
  }
  for (const YamlNode& node : root.List("recordings")) {
    TrackedRecording recording;
    recording.name = node.Text("name");
    // It becomes part of file names.
    const bool fits = recording.name.front() != '.' && recording.name.size() <= 200 &&
                      recording.name.find_first_of("/\\\n\r\t") == std::string::npos;
    if (!fits)
      throw node.Fault("name", Excerpt(recording.name),
                       "a name that can be part of a file's name: no / and no dot in front");
    const std::vector<std::string> earlier = NamesOf(plan.recordings);
    if (std::find(earlier.begin(), earlier.end(), recording.name) != earlier.end())
      throw node.Fault("name", recording.name + " again", "a name of its own");
    recording.files.resize(cameras.size());
    const YamlNode files = node.Map("files");
    for (const std::string& camera : files.Keys()) {
      auto& of_camera =
          recording.files[static_cast<std::size_t>(IndexOf(files, camera, camera, cameras))];
      of_camera = FilesOf(files.Texts(camera), root.Folder());
    }
    recording.stamps.resize(cameras.size());
    const YamlNode stamps = node.MapOrEmpty("stamps");
    for (const std::string& camera : stamps.Keys())
      recording.stamps[static_cast<std::size_t>(IndexOf(stamps, camera, camera, cameras))] =
          root.Folder() / stamps.Text(camera);
    plan.recordings.push_back(std::move(recording));
  }
}

void ParseSync(const YamlNode& root, TrackConfig& plan) {
  const YamlNode node = root.MapOrEmpty("synchronise");
  std::vector<std::string> methods;
  for (const SyncMethod m : kMethods) methods.emplace_back(ToString(m));
  const std::string method = node.Choice("method", "none", methods);
  plan.sync = kMethods[std::find(methods.begin(), methods.end(), method) - methods.begin()];
  const int n = static_cast<int>(plan.cameras.size());
  if (plan.sync != SyncMethod::kGiven) return;
  const std::vector<double> shift = node.Vector("shift_s", n, Closed(-1e6, 1e6));
  const std::vector<double> rate = node.Vector(
      "clock_rate", n, std::vector<double>(static_cast<std::size_t>(n), 1.0), Closed(0.5, 2));
  for (std::size_t c = 0; c < plan.cameras.size(); ++c) {
    plan.cameras[c].source.t_shift = shift[c];
    plan.cameras[c].source.clock_rate = rate[c];
  }
}

void CheckRig(const YamlNode& root, const TrackConfig& plan) {
  if (!plan.rig) return;
  const std::vector<std::string> names = NamesOf(plan.rig->cameras);
  for (const TrackedCamera& camera : plan.cameras) {
    if (std::find(names.begin(), names.end(), camera.name) == names.end())
      throw root.Fault("rig", fmt::format("a rig without a camera '{}'", camera.name),
                       JoinNames(names));
  }
}

std::string Quoted(const std::filesystem::path& path) {
  return YamlQuote(std::filesystem::absolute(path).string());
}

std::string Bracketed(const std::vector<double>& values) {
  std::string out;
  for (const double v : values) out += (out.empty() ? "" : ", ") + FormatNumber(v);
  return "[" + out + "]";
}

}  // namespace

const char* ToString(SyncMethod method) {
  switch (method) {
    case SyncMethod::kNone:
      return "none";
    case SyncMethod::kGiven:
      return "given";
    case SyncMethod::kFlash:
      break;
  }
  return "flash";
}

TrackConfig LoadTracking(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  TrackConfig plan;
  plan.path = path;
  root.Choice("schema", kSchema, {kSchema});
  plan.name = root.Text("name", path.stem().string());
  for (const YamlNode& node : root.List("cameras"))
    plan.cameras.push_back(ParseCamera(node, plan.cameras));
  if (root.Has("rig")) {
    plan.rig_file = root.Folder() / root.Text("rig");
    plan.rig = RigFromYaml(plan.rig_file);
  }
  CheckRig(root, plan);
  ParseMarkers(root, plan.track);
  ParseShapes(root, plan);
  ParseTracker(root, plan.track);
  ParseHints(root, plan);
  ParseRecordings(root, plan);
  ParseSync(root, plan);
  if (root.Has("corrections")) plan.corrections = root.Folder() / root.Text("corrections");
  const YamlNode identity = root.MapOrEmpty("identity");
  plan.identity.layout_sd = identity.Number(
      "layout_sd_m", root.Map("markers").Number("layout_sd_m", 5e-4), Closed(1e-6, 0.1));
  plan.identity.pixel_sd = identity.Number("pixel_sd_px", plan.identity.pixel_sd, Closed(0, 100));
  root.Has("provenance");  // of a run.yaml: says where a result came from and changes nothing
  root.Finish();
  return plan;
}

std::string ToYaml(const TrackConfig& plan) {
  std::string out = YamlWord(0, "schema", kSchema) + YamlWord(0, "name", YamlQuote(plan.name));
  if (plan.rig) out += YamlWord(0, "rig", Quoted(plan.rig_file));
  out += "cameras:\n";
  for (const TrackedCamera& c : plan.cameras) {
    const FrameSource& s = c.source;
    out += "  - " + YamlWord(0, "name", c.name);
    out += YamlLine(2, "exposure_s", c.exposure) + YamlLine(2, "rate_Hz", s.rate) +
           YamlLine(2, "t_line_s", s.t_line) + YamlLine(2, "shift_s", s.t_shift) +
           YamlLine(2, "clock_rate", s.clock_rate) +
           YamlWord(2, "fields", kFields[static_cast<int>(s.decode.fields)]) +
           YamlFlag(2, "linear", s.decode.linear);
    if (s.decode.gamma > 0) out += YamlLine(2, "gamma", s.decode.gamma);
    if (s.decode.white_level)
      out += YamlWord(2, "levels",
                      Bracketed({s.decode.black_level.value_or(0), *s.decode.white_level}));
    if (s.decode.color)
      out += YamlLine(2, "color_rgb",
                      {(*s.decode.color)[0], (*s.decode.color)[1], (*s.decode.color)[2]});
  }
  const CameraTrackOptions& o = plan.track;
  std::vector<std::string> names = o.names;
  if (o.tags) {
    names.clear();
    for (const auto& [id, name] : o.tag_names) names.push_back(name);
  }
  out += "markers:\n" +
         YamlWord(1, "look",
                  o.tags         ? "tags"
                  : o.spots.dark ? "dark"
                                 : "bright") +
         YamlWord(1, "shape", o.shape == MarkerShape::kStripe ? "stripe" : "disc") +
         YamlWord(1, "names", "[" + JoinNames(names) + "]");
  if (!o.layout.empty()) {
    std::string rows;
    for (const Eigen::Vector3d& p : o.layout)
      rows += (rows.empty() ? "" : ", ") + Bracketed({p.x(), p.y(), p.z()});
    out += YamlWord(1, "layout_m", "[" + rows + "]");
    std::vector<double> radii;
    rows.clear();
    for (const BodyMarker& m : plan.markers) {
      radii.push_back(m.radius);
      rows +=
          (rows.empty() ? "" : ", ") + Bracketed({m.normal_B.x(), m.normal_B.y(), m.normal_B.z()});
    }
    out += YamlWord(1, "radius_m", Bracketed(radii)) + YamlWord(1, "normals", "[" + rows + "]");
  }
  out += YamlLine(1, "layout_sd_m", plan.identity.layout_sd) +
         YamlCount(1, "threshold_grey", o.spots.threshold) +
         YamlCount(1, "local_px", o.spots.local) +
         YamlWord(1, "area_px2", Bracketed({o.spots.area_min, o.spots.area_max})) +
         YamlFlag(1, "refine", o.refine) + YamlLine(1, "blur_px", o.blur) +
         YamlWord(1, "background", o.subtract_background ? "median" : "none");
  if (o.tags) {
    std::vector<double> ids;
    for (const auto& [id, name] : o.tag_names) ids.push_back(id);
    out += YamlWord(1, "tag_dictionary", YamlQuote(o.tag.dictionary)) +
           YamlWord(1, "tag_ids", Bracketed(ids)) +
           YamlWord(1, "tag_points", o.tag_corners ? "corners" : "centre");
  }
  const TrackerOptions& t = o.tracker;
  out += "tracker:\n" + YamlLine(1, "gate", t.gate) + YamlCount(1, "gap_max_frames", t.gap_max) +
         YamlCount(1, "confirm_frames", t.confirm) +
         YamlLine(1, "position_floor_px", t.position_floor) +
         YamlLine(1, "speed_sd_px_per_s", t.speed_sd) +
         YamlLine(1, "acceleration_sd_px_per_s2", t.acceleration_sd) +
         YamlLine(1, "jump_speed_px_per_s", t.jump_speed);
  out += "frames:\n" + YamlCount(1, "first", o.first) + YamlCount(1, "last", o.last);
  if (!plan.hints.empty()) out += "hints:\n";
  for (const auto& [camera, hint] : plan.hints)
    out += fmt::format("  - {{camera: {}, marker: {}, frame: {}, x_px: {}, y_px: {}}}\n",
                       plan.cameras[static_cast<std::size_t>(camera)].name, hint.marker, hint.frame,
                       FormatNumber(hint.q.x()), FormatNumber(hint.q.y()));
  out += "recordings:\n";
  for (const TrackedRecording& r : plan.recordings) {
    out += "  - " + YamlWord(0, "name", YamlQuote(r.name)) + "    files:\n";
    for (std::size_t c = 0; c < r.files.size(); ++c) {
      if (r.files[c].empty()) continue;
      std::string list;
      for (const auto& file : r.files[c]) list += (list.empty() ? "" : ", ") + Quoted(file);
      out += YamlWord(3, plan.cameras[c].name, "[" + list + "]");
    }
    const auto has = [](const std::filesystem::path& path) { return !path.empty(); };
    if (std::none_of(r.stamps.begin(), r.stamps.end(), has)) continue;
    out += "    stamps:\n";
    for (std::size_t c = 0; c < r.stamps.size(); ++c)
      if (has(r.stamps[c])) out += YamlWord(3, plan.cameras[c].name, Quoted(r.stamps[c]));
  }
  out += "synchronise:\n" + YamlWord(1, "method", ToString(plan.sync));
  if (plan.sync == SyncMethod::kGiven) {
    std::vector<double> shift, rate;
    for (const TrackedCamera& c : plan.cameras)
      shift.push_back(c.source.t_shift), rate.push_back(c.source.clock_rate);
    out += YamlWord(1, "shift_s", Bracketed(shift)) + YamlWord(1, "clock_rate", Bracketed(rate));
  }
  if (!plan.corrections.empty()) out += YamlWord(0, "corrections", Quoted(plan.corrections));
  return out + "identity:\n" + YamlLine(1, "layout_sd_m", plan.identity.layout_sd) +
         YamlLine(1, "pixel_sd_px", plan.identity.pixel_sd);
}

}  // namespace impactlab
