#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "calibration/camera/rig.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/track/detail/config_recordings.h"
#include "pipelines/track/track.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::IndexOf;
using pipelines::Keys;
using pipelines::NamesOf;
using pipelines::Need;
using Rows = std::vector<std::vector<double>>;
using pipelines::Style;

constexpr EnumWord<VideoOptions::Fields> kFields[] = {{VideoOptions::Fields::kSplit, "split"},
                                                      {VideoOptions::Fields::kWhole, "whole"},
                                                      {VideoOptions::Fields::kRefuse, "refuse"}};
constexpr EnumWord<SyncMethod> kMethods[] = {
    {SyncMethod::kNone, "none"}, {SyncMethod::kGiven, "given"}, {SyncMethod::kFlash, "flash"}};
constexpr EnumWord<MarkerShape> kMarkerShapes[] = {{MarkerShape::kDisc, "disc"},
                                                   {MarkerShape::kStripe, "stripe"}};
enum class Look { kBright, kDark, kTags };
constexpr EnumWord<Look> kLooks[] = {
    {Look::kBright, "bright"}, {Look::kDark, "dark"}, {Look::kTags, "tags"}};
constexpr EnumWord<bool> kBackgrounds[] = {{false, "none"}, {true, "median"}};
constexpr EnumWord<bool> kTagPoints[] = {{true, "corners"}, {false, "centre"}};

bool IsPlainName(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

// A name that no other of its list has and that can be part of a file's name.
void VisitNewName(Keys& keys, std::string& name, const char* meaning,
                  const std::vector<std::string>& earlier) {
  keys.Plain("name", name, meaning, Need::kRequired);
  keys.Check(IsPlainName(name) && name.front() != '.', "name", Excerpt(name),
             "letters, digits, - _ and .");
  keys.Check(std::find(earlier.begin(), earlier.end(), name) == earlier.end(), "name",
             name + " again", "a name of its own");
}

void VisitColour(Keys& keys, VideoOptions& o) {
  std::vector<double> color;
  if (o.color) color.assign(o.color->begin(), o.color->end());
  keys.Stated(!color.empty())
      .Vector("color_rgb", color, 3, Closed(0, 255),
              "grey values become the closeness of the hue to this colour, for coloured balls. "
              "Default: brightness");
  if (!color.empty()) o.color = std::array<double, 3>{color[0], color[1], color[2]};
}

void VisitLevels(Keys& keys, VideoOptions& o) {
  std::vector<double> levels;
  if (o.white_level) levels = {o.black_level.value_or(0), *o.white_level};
  keys.Stated(!levels.empty())
      .Vector("levels", levels, 2, NonNegative(),
              "black and white of deep pictures, in levels of the file, stretched to 0 to 255. "
              "Default: the full range");
  if (levels.empty()) return;
  keys.Check(levels[1] > levels[0], "levels", FormatNumber(levels[1]),
             "[black, white] with white above black");
  o.black_level = levels[0];
  o.white_level = levels[1];
}

void VisitCamera(Keys& keys, TrackedCamera& c, const std::vector<TrackedCamera>& earlier) {
  VisitNewName(keys, c.name, "letters, digits, -, _, .", NamesOf(earlier));
  keys.Number(
      "exposure_s", c.exposure, Closed(0, 1),
      "time the shutter is open; with it the motion during the exposure is modelled; 0: not known");
  FrameSource& s = c.source;
  keys.Number("rate_Hz", s.rate, Closed(0, 1e7),
              "true frame rate where the file was written for slow motion: stamps are scaled, gaps "
              "stay; of pictures it makes the stamps; 0: stamps of the file");
  keys.Number("t_line_s", s.t_line, Closed(-1e-3, 1e-3),
              "rolling shutter: from one row of the sensor to the next; 0: global");
  keys.Number("shift_s", s.t_shift, Closed(-1e6, 1e6), "t_common = shift_s + clock_rate t");
  keys.Number("clock_rate", s.clock_rate, Closed(0.5, 2), "t_common = shift_s + clock_rate t");
  VideoOptions& o = s.decode;
  keys.Word("fields", o.fields, kFields,
            "of interlaced files: every field a frame of its own at its own time, both as one "
            "picture, or refuse");
  VisitLevels(keys, o);
  if (keys.reading() != nullptr || o.gamma > 0)
    keys.Number("gamma", o.gamma, Closed(0, 10),
                "or light = level^gamma; 0: the curve of the file");
  if (keys.reading() != nullptr) o.linear = o.gamma > 0;
  keys.Flag("linear", o.linear,
            "grey in proportion to light: the transfer curve that the file names is undone. "
            "Default: false; true with gamma");
  VisitColour(keys, o);
  keys.WriteOrder({"linear", "gamma", "levels"});
  o.threads = 1;
}

// Corners of tags are markers of their own.
void NameTagCorners(CameraTrackOptions& o) {
  std::vector<std::string> names;
  for (const std::string& name : o.names)
    for (int k = 1; k <= 4; ++k) names.push_back(fmt::format("{}.{}", name, k));
  o.names = std::move(names);
}

void CheckNames(const Keys& keys, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    keys.Check(IsPlainName(name), "names", Excerpt(name), "letters, digits, - _ and .");
    keys.Check(!name.starts_with("unnamed_"), "names", name,
               "names that do not begin with unnamed_, which stands for what has none");
    keys.Check(seen.insert(name).second, "names", name + " twice", "every name once");
  }
}

// Names of the markers, or of the tags, whose numbers come with them later.
void VisitNames(Keys& keys, CameraTrackOptions& o, std::vector<std::string>* tag_names) {
  keys.Custom(
      "names", "of the markers on the body, or of the tags",
      [&](const YamlNode& node, const char* key) { o.names = node.Texts(key); },
      [&] { return "[" + JoinNames(o.tags ? *tag_names : o.names) + "]"; });
  if (keys.reading() != nullptr) *tag_names = o.names;
  if (o.tags)
    keys.Word("tag_points", o.tag_corners, kTagPoints,
              "tags: corners (markers NAME.1 to NAME.4, clockwise from the tag's upper left), or "
              "its centre");
  if (keys.reading() == nullptr) return;
  if (o.tags && o.tag_corners) NameTagCorners(o);
  CheckNames(keys, o.names);
}

Rows RowsOf(const std::vector<Eigen::Vector3d>& points) {
  Rows rows;
  for (const Eigen::Vector3d& p : points) rows.push_back({p.x(), p.y(), p.z()});
  return rows;
}

// What the images of discs and balls need beside the places of their centres.
void VisitShapes(Keys& keys, TrackConfig& plan) {
  const std::size_t n = plan.track.names.size();
  if (const YamlNode* node = keys.reading()) {
    for (const char* key : {"radius_m", "normals"})
      keys.Check(!node->Has(key) || !plan.track.layout.empty(), key, "it without layout_m",
                 "both, or none");
    plan.markers.clear();
    for (const Eigen::Vector3d& p : plan.track.layout) plan.markers.push_back({.p_BM = p});
  }
  if (plan.track.layout.empty()) return;
  std::vector<double> radius;
  for (const BodyMarker& m : plan.markers) radius.push_back(m.radius);
  keys.Stated(true).Vector(
      "radius_m", radius, static_cast<int>(n), Closed(0, 10),
      "of every marker; with it the centroid of an image is not taken for the image of the centre. "
      "Allowed: list of numbers from 0 to 10, one of each name Default: not known");
  for (std::size_t k = 0; k < n; ++k) plan.markers[k].radius = radius[k];
  std::vector<Eigen::Vector3d> directions;
  for (const BodyMarker& m : plan.markers) directions.push_back(m.normal_B);
  Rows normals = RowsOf(directions);
  keys.Stated(true).Vectors(
      "normals", normals, 3, {}, Style::kFlow,
      "of every marker: direction out of the body in B of a flat disc, [0, 0, 0] for a ball. "
      "Default: not known");
  keys.Check(normals.size() == n, "normals", fmt::format("{} directions", normals.size()),
             fmt::format("one of each of the {} names", n));
  if (keys.reading() == nullptr || !keys.reading()->Has("normals")) return;
  for (std::size_t k = 0; k < n; ++k) {
    const Eigen::Vector3d normal(normals[k][0], normals[k][1], normals[k][2]);
    plan.markers[k].normal_B = normal.norm() > 0 ? Eigen::Vector3d(normal.normalized()) : normal;
  }
}

void VisitLayout(Keys& keys, CameraTrackOptions& o, double& layout_sd) {
  Rows rows = RowsOf(o.layout);
  keys.Stated(!rows.empty())
      .Vectors("layout_m", rows, 3, {}, Style::kFlow,
               "place of every marker on the body, from the centre of mass, in B; a layout with a "
               "symmetry is refused with advice. Default: not known");
  keys.Check(rows.empty() || rows.size() == o.names.size(), "layout_m",
             fmt::format("{} positions", rows.size()),
             fmt::format("one of each of the {} names", o.names.size()));
  o.layout.clear();
  for (const std::vector<double>& row : rows) o.layout.emplace_back(row[0], row[1], row[2]);
  keys.Number("layout_sd_m", layout_sd, Closed(1e-6, 0.1), "how well that is known");
  if (keys.reading() == nullptr || o.layout.empty()) return;
  const std::string fault = LayoutFault(o.names, o.layout, layout_sd);
  keys.Check(fault.empty(), "layout_m", "a layout in which markers cannot be told apart: " + fault,
             "a layout without symmetry");
}

void VisitSpots(Keys& keys, CameraTrackOptions& o) {
  SpotOptions& s = o.spots;
  keys.Count("threshold_grey", s.threshold, Closed(0, 254),
             "grey level that parts markers from the rest; 0: chosen frame by frame");
  keys.Count("local_px", s.local, Closed(0, 2000),
             "side of the neighbourhood that a local threshold is taken from; 0: one threshold for "
             "the frame");
  std::vector<double> area = {s.area_min, s.area_max};
  keys.Vector("area_px2", area, 2, Closed(1, 1e8), "least and most area of a marker");
  keys.Check(area[1] > area[0], "area_px2", FormatNumber(area[1]),
             "[least, most] with most above least");
  s.area_min = area[0], s.area_max = area[1];
  keys.Flag("refine", o.refine, "fit the edge model; false: weighted centroids");
  keys.Number("blur_px", o.blur, Closed(0, 20),
              "of the lens, standard deviation; 0: from the first clear markers");
  keys.Word("background", o.subtract_background, kBackgrounds,
            "median takes away what stands still; it reads the file twice, and no marker may rest "
            "for half of the recording");
}

void VisitTags(Keys& keys, CameraTrackOptions& o, const std::vector<std::string>& tag_names) {
  const YamlNode* const node = keys.reading();
  if (o.tags || (node != nullptr && node->Has("tag_dictionary")))
    keys.Text("tag_dictionary", o.tag.dictionary,
              "tags: OpenCV's name without DICT_, or APRILTAG_36h11, ...");
  if (!o.tags) return;
  std::vector<double> ids;
  for (const auto& [id, name] : o.tag_names) ids.push_back(id);
  keys.Vector("tag_ids", ids, static_cast<int>(tag_names.size()), NonNegative(),
              "tags: number of every name Allowed: list of whole numbers", Need::kRequired);
  for (const double id : ids)
    keys.Check(id == std::floor(id), "tag_ids", FormatNumber(id), "whole numbers");
  o.tag_names.clear();
  for (std::size_t k = 0; k < ids.size(); ++k)
    o.tag_names.emplace_back(static_cast<int>(ids[k]), tag_names[k]);
}

void VisitMarkers(Keys& keys, TrackConfig& plan) {
  CameraTrackOptions& o = plan.track;
  Look look = o.tags ? Look::kTags : o.spots.dark ? Look::kDark : Look::kBright;
  keys.Word("look", look, kLooks, "bright or dark spots, or tags");
  o.spots.dark = look == Look::kDark;
  o.tags = look == Look::kTags;
  keys.Word("shape", o.shape, kMarkerShapes, "discs, or stripes");
  std::vector<std::string> tag_names;
  for (const auto& [id, name] : o.tag_names) tag_names.push_back(name);
  VisitNames(keys, o, &tag_names);
  VisitLayout(keys, o, plan.identity.layout_sd);
  VisitSpots(keys, o);
  VisitTags(keys, o, tag_names);
  VisitShapes(keys, plan);
  keys.WriteOrder({"names", "layout_m", "radius_m", "normals", "layout_sd_m", "threshold_grey",
                   "local_px", "area_px2", "refine", "blur_px", "background", "tag_dictionary",
                   "tag_ids", "tag_points"});
}

void VisitTracker(Keys& keys, TrackerOptions& t) {
  keys.Number("gate", t.gate, Closed(2, 100),
              "Mahalanobis distance of a marker from its prediction");
  keys.Count("gap_max_frames", t.gap_max, Closed(1, 10000), "longest gap that is bridged");
  keys.Count("confirm_frames", t.confirm, Closed(1, 1000), "frames a new track must be seen in");
  keys.Number("position_floor_px", t.position_floor, Closed(0, 10),
              "standard deviation added to every position");
  keys.Number("speed_sd_px_per_s", t.speed_sd, Closed(1, 1e7),
              "of a marker seen for the first time");
  keys.Number("acceleration_sd_px_per_s2", t.acceleration_sd, Closed(1, 1e9),
              "of its acceleration");
  keys.Number("jump_speed_px_per_s", t.jump_speed, Closed(1, 1e7), "velocity change at an impact");
}

void VisitFrames(Keys& keys, CameraTrackOptions& o) {
  keys.Count("first", o.first, NonNegative(), "counted from 0");
  keys.Count("last", o.last, AtLeast(-1), "-1: to the end");
  keys.Check(o.last < 0 || o.last >= o.first, "last", std::to_string(o.last),
             "a frame not before the first");
}

// A hint and the place of its camera in the list.
void VisitHint(Keys& keys, std::pair<int, MarkerHint>& hint,
               const std::vector<std::string>& markers, const std::vector<std::string>& cameras) {
  int& camera = hint.first;
  MarkerHint& h = hint.second;
  keys.Plain("marker", h.marker, "its name", Need::kRequired);
  if (const YamlNode* node = keys.reading()) IndexOf(*node, "marker", h.marker, markers);
  keys.Count("frame", h.frame, NonNegative(), "of the video");
  keys.Number("x_px", h.q.x(), {}, "column", Need::kRequired);
  keys.Number("y_px", h.q.y(), {}, "row", Need::kRequired);
  keys.Custom(
      "camera", "may be left out of one camera",
      [&](const YamlNode& node, const char* key) {
        camera =
            cameras.size() == 1 && !node.Has(key) ? 0 : IndexOf(node, key, node.Text(key), cameras);
      },
      [&] { return cameras[static_cast<std::size_t>(camera)]; });
  keys.WriteOrder({"camera", "marker", "frame", "x_px", "y_px"});
}

void VisitSync(Keys& keys, TrackConfig& plan) {
  keys.Word("method", plan.sync, kMethods,
            "none: the stamps share a clock; given: in numbers; flash: one that all saw");
  if (plan.sync != SyncMethod::kGiven) return;
  const bool reading = keys.reading() != nullptr;
  const int n = static_cast<int>(plan.cameras.size());
  std::vector<double> shift, rate;
  for (const TrackedCamera& c : plan.cameras) {
    shift.push_back(c.source.t_shift);
    rate.push_back(reading ? 1 : c.source.clock_rate);
  }
  keys.Vector(
      "shift_s", shift, n, Closed(-1e6, 1e6),
      "given: t_common = shift_s + clock_rate t Allowed: list of numbers, one of each camera",
      Need::kRequired);
  keys.Vector(
      "clock_rate", rate, n, Closed(0.5, 2),
      "given: the same Allowed: list of numbers from 0.5 to 2, one of each camera Default: 1");
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

// The whole file, in the order in which it is read.
void VisitTracking(Keys& keys, TrackConfig& plan) {
  const YamlNode* const root = keys.reading();
  keys.Schema("impactlab.tracking/1", Need::kOptional);
  keys.Text("name", plan.name, "stands on the page. Default: name of the file");
  keys.List(
      "cameras", plan.cameras, "one of each camera", Style::kLines,
      [&](Keys& k, TrackedCamera& camera) { VisitCamera(k, camera, plan.cameras); },
      Need::kRequired);
  keys.File("rig", plan.rig_file,
            "rig.yaml with cameras of these names: names of markers are then decided in space, "
            "over all frames. Default: names camera by camera");
  if (root != nullptr && !plan.rig_file.empty()) plan.rig = RigFromYaml(plan.rig_file);
  if (root != nullptr) CheckRig(*root, plan);
  keys.Map(
      "markers", "what is followed", [&](Keys& k) { VisitMarkers(k, plan); }, Need::kRequired);
  plan.track.tracker.markers = static_cast<int>(plan.track.names.size());
  keys.Map("tracker", "from frame to frame", [&](Keys& k) { VisitTracker(k, plan.track.tracker); });
  keys.Map("frames", "used of every video", [&](Keys& k) { VisitFrames(k, plan.track); });
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  keys.List("hints", plan.hints, "where a marker is; decides its name outright. Default: none",
            Style::kFlow, [&](Keys& k, std::pair<int, MarkerHint>& hint) {
              VisitHint(k, hint, plan.track.names, cameras);
            });
  pipelines::VisitRecordings(keys, plan);
  keys.Map("synchronise", "the clocks of the cameras", [&](Keys& k) { VisitSync(k, plan); });
  keys.File("corrections", plan.corrections, "points changed by hand. Default: none");
  keys.Map("identity", "tolerances of the decision in space", [&](Keys& k) {
    k.Number("layout_sd_m", plan.identity.layout_sd, Closed(1e-6, 0.1),
             "of places on the body. Default: that of the markers");
    k.Number("pixel_sd_px", plan.identity.pixel_sd, Closed(0, 100), "of positions in the pictures");
  });
  keys.WriteOrder({"rig", "cameras"});
}

}  // namespace

const char* ToString(SyncMethod method) {
  for (const auto& [value, word] : kMethods)
    if (value == method) return word;
  return "";
}

TrackConfig LoadTracking(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  TrackConfig plan;
  plan.path = path;
  plan.name = path.stem().string();
  plan.track.tag_corners = true;  // of tags
  Keys keys(root);
  VisitTracking(keys, plan);
  plan.track.tag_corners = plan.track.tags && plan.track.tag_corners;
  pipelines::VisitProvenance(keys);
  root.Finish();
  return plan;
}

std::string ToYaml(const TrackConfig& plan) {
  TrackConfig copy = plan;
  Keys keys(0);
  VisitTracking(keys, copy);
  return keys.text();
}

}  // namespace impactlab
