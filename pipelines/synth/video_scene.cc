#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/synth/detail/video_draw.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/video.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

constexpr const char* kVideoSceneSchema = "impactlab.video_scene/1";

const Range kGrey = Closed(0, 255);

Vector3d ToVector(const std::vector<double>& v) { return {v[0], v[1], v[2]}; }

// Names become names of files, and cells of tables.
void CheckName(const YamlNode& node, const std::string& key, const std::string& name) {
  if (!std::all_of(name.begin(), name.end(),
                   [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; }))
    throw node.Fault(key, Excerpt(name), "letters, digits, - and _");
}

SceneMarker ParseMarker(const YamlNode& node, std::size_t index) {
  SceneMarker m;
  m.name = node.Text("name", fmt::format("m{}", index + 1));
  CheckName(node, "name", m.name);
  m.p_BM = ToVector(node.Vector("position_m", 3, Closed(-10, 10)));
  m.normal_B = ToVector(node.Vector("normal", 3, {0, 0, 0}));
  m.radius = node.Number("radius_m", m.radius, Closed(1e-5, 0.5));
  m.second_radius = node.Number("second_radius_m", 0.0, Closed(1e-5, 0.5));
  if (m.second_radius > 0 && m.normal_B.isZero(0))
    throw node.Fault("second_radius_m", FormatNumber(m.second_radius),
                     "a normal beside it: a ball is round");
  m.brightness = node.Number("brightness_grey", m.brightness, kGrey);
  return m;
}

// Reads the keys of a camera that a map gives; the others keep their values.
void ParseCamera(const YamlNode& node, SceneCamera* c) {
  c->frame_rate = node.Number("rate_Hz", c->frame_rate, Closed(1, 1e6));
  c->exposure = node.Number("exposure_s", c->exposure, Closed(1e-7, 1));
  if (c->exposure * c->frame_rate > 1 + 1e-9)
    throw node.Fault(
        "exposure_s", FormatNumber(c->exposure),
        fmt::format("at most the time between frames, {} s", FormatNumber(1 / c->frame_rate)));
  c->t_line = node.Number("t_line_s", c->t_line, Closed(-1e-3, 1e-3));
  c->t_offset = node.Number("t_offset_s", c->t_offset, Closed(-60, 60));
  c->clock_rate = node.Number("clock_rate", c->clock_rate, Open(0.5, 2));
  c->blur = node.Number("blur_px", c->blur, Closed(0, 20));
  c->noise = node.Number("noise_grey", c->noise, Closed(0, 15));
  c->noise_gain = node.Number("noise_gain_grey", c->noise_gain, Closed(0, 1));
  c->dropped_share = node.Number("dropped_share", c->dropped_share, Closed(0, 0.9));
  c->duplicated_share = node.Number("duplicated_share", c->duplicated_share, Closed(0, 0.9));
  const std::vector<std::string> turns{"0", "90", "180", "270"};
  c->rotation_deg = std::stoi(node.Choice("rotation_deg", std::to_string(c->rotation_deg), turns));
  if (c->rotation_deg != 0 && c->t_line != 0)
    throw node.Fault(
        "rotation_deg", std::to_string(c->rotation_deg),
        "0 where t_line_s is not 0: rows of the sensor would be columns of the picture");
}

VideoWriterOptions ParseOutput(const YamlNode& node, bool* images) {
  VideoWriterOptions o;
  using Codec = VideoWriterOptions::Codec;
  const std::string codec =
      node.Choice("codec", "h264_lossless", {"h264_lossless", "h264", "ffv1", "mjpeg", "png"});
  *images = codec == "png";
  o.codec = codec == "h264"    ? Codec::kH264
            : codec == "ffv1"  ? Codec::kFfv1
            : codec == "mjpeg" ? Codec::kMjpeg
                               : Codec::kH264Lossless;
  const bool lossy = codec == "h264" || codec == "mjpeg";
  for (const char* key : {"quality", "bit_rate_bit_per_s"})
    if (!lossy && node.Has(key))
      throw node.Fault(key, "a value",
                       "codec h264 or mjpeg beside it: " + codec + " keeps every bit");
  if (codec == "mjpeg") o.quality = 3;
  o.quality = node.Number("quality", o.quality, codec == "mjpeg" ? Closed(2, 31) : Closed(0, 51));
  o.bit_rate = node.Integer("bit_rate_bit_per_s", 0, Closed(1000, 1e10));
  o.b_frames = static_cast<int>(node.Integer("b_frames", 0, Closed(0, 8)));
  if (o.b_frames > 0 && !codec.starts_with("h264"))
    throw node.Fault("b_frames", std::to_string(o.b_frames), "0 with codec " + codec);
  o.key_interval =
      static_cast<int>(node.Integer("key_interval_frames", o.key_interval, Closed(1, 10000)));
  return o;
}

void ParseFootage(const YamlNode& node, VideoScene* scene) {
  scene->board = BoardFromYaml(node);
  scene->footage_video = node.Choice("as", "pictures", {"pictures", "video"}) == "video";
  TourOptions& tour = scene->tour;
  tour.shots = static_cast<int>(node.Integer("shots", tour.shots, Closed(1, 10000)));
  const std::vector<double> distance =
      node.Vector("distance_m", 2, {tour.distance_min, tour.distance_max}, Positive());
  if (!(distance[1] >= distance[0]))
    throw node.Fault("distance_m", fmt::format("[{}, {}]", distance[0], distance[1]),
                     "[nearest, farthest]");
  tour.distance_min = distance[0];
  tour.distance_max = distance[1];
  tour.max_tilt = node.Number("max_tilt_rad", tour.max_tilt, Closed(0, 1.4));
  tour.max_roll = node.Number("max_roll_rad", tour.max_roll, Closed(0, 3.15));
  tour.reach = node.Number("reach", tour.reach, Closed(0, 0.5));
  tour.whole = node.Flag("whole", true);
  scene->board_on_floor = node.Flag("on_floor", false);
}

}  // namespace

bool IsVideoScene(const std::filesystem::path& path) {
  try {
    const YamlNode root = LoadYaml(path);
    return root.Has("schema") && root.Text("schema") == kVideoSceneSchema;
  } catch (const std::exception&) {
    return false;  // the reader of the other kind of scene reports the fault
  }
}

VideoScene LoadVideoScene(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  VideoScene scene;
  root.Choice("schema", kVideoSceneSchema, {kVideoSceneSchema});
  scene.name = root.Text("name", path.stem().string());
  scene.rig = RigFromYaml(root.Folder() / root.Text("rig"));
  for (const RigCamera& item : scene.rig.cameras) CheckName(root, "rig", item.name);
  scene.motion = pipelines::ParseMotion(root, false, false);
  if (scene.motion.body.shape == BodyShape::kPoints)
    throw root.Map("body").Fault("shape", "points", "a body with a surface that can be drawn");
  scene.centre_W = ToVector(root.Vector("centre_m", 3, {0, 0, 0}));
  std::set<std::string> names;
  for (const YamlNode& node : root.List("markers")) {
    scene.markers.push_back(ParseMarker(node, scene.markers.size()));
    if (!names.insert(scene.markers.back().name).second)
      throw node.Fault("name", Excerpt(scene.markers.back().name),
                       "a name of its own for every marker");
  }
  SceneCamera common;
  ParseCamera(root.MapOrEmpty("camera"), &common);
  scene.cameras.assign(scene.rig.cameras.size(), common);
  std::set<std::string> set;
  if (root.Has("cameras"))
    for (const YamlNode& node : root.List("cameras")) {
      std::vector<std::string> known;
      for (const RigCamera& item : scene.rig.cameras) known.push_back(item.name);
      const std::string name = node.Choice("name", known);
      if (!set.insert(name).second) throw node.Fault("name", Excerpt(name), "every camera once");
      ParseCamera(node, &scene.cameras[static_cast<std::size_t>(
                            std::find(known.begin(), known.end(), name) - known.begin())]);
    }
  const YamlNode light = root.MapOrEmpty("light");
  scene.body_brightness = light.Number("body_grey", scene.body_brightness, kGrey);
  scene.background = light.Number("background_grey", scene.background, kGrey);
  scene.floor_brightness = light.Number("floor_grey", scene.floor_brightness, kGrey);
  scene.screen_brightness = light.Number("screen_grey", scene.screen_brightness, kGrey);
  scene.shading = light.Number("shading", scene.shading, Closed(0, 1));
  scene.light_gradient = light.Number("gradient", scene.light_gradient, Closed(-1, 1));
  scene.clutter = static_cast<int>(root.Integer("clutter", scene.clutter, Closed(0, 10000)));
  scene.occlusions =
      static_cast<int>(root.Integer("occlusions", scene.occlusions, Closed(0, 1000)));
  scene.flash = root.Flag("flash", scene.flash);
  scene.video = ParseOutput(root.MapOrEmpty("output"), &scene.images);
  for (const SceneCamera& camera : scene.cameras)
    if (camera.rotation_deg != 0 && !pipelines::StatesRotation(scene))
      throw root.Map("output").Fault("codec", Excerpt(root.Map("output").Text("codec")),
                                     "h264_lossless or h264 where a camera has a rotation_deg: the "
                                     "other files cannot state it");
  if (root.Has("footage")) ParseFootage(root.Map("footage"), &scene);
  scene.seed = scene.motion.seed;
  scene.motion.frame_rate = scene.cameras[0].frame_rate;
  root.Finish();
  CheckVideoScene(scene);  // faults of several keys together
  return scene;
}

}  // namespace impactlab
