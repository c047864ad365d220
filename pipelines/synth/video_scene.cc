#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/synth/detail/video_draw.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/video.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;
using pipelines::VisitVector;

constexpr const char* kVideoSceneSchema = "impactlab.video_scene/1";

const Range kGrey = Closed(0, 255);

using Codec = VideoWriterOptions::Codec;
enum class SceneFiles { kH264Lossless, kH264, kFfv1, kMjpeg, kPng };
constexpr EnumWord<SceneFiles> kCodecs[] = {{SceneFiles::kH264Lossless, "h264_lossless"},
                                            {SceneFiles::kH264, "h264"},
                                            {SceneFiles::kFfv1, "ffv1"},
                                            {SceneFiles::kMjpeg, "mjpeg"},
                                            {SceneFiles::kPng, "png"}};
constexpr EnumWord<bool> kFootages[] = {{false, "pictures"}, {true, "video"}};
constexpr EnumWord<int> kTurns[] = {{0, "0"}, {90, "90"}, {180, "180"}, {270, "270"}};

// Names become names of files, and cells of tables.
void CheckName(const Keys& keys, const char* key, const std::string& name) {
  keys.Check(std::all_of(name.begin(), name.end(),
                         [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; }),
             key, Excerpt(name), "letters, digits, - and _");
}

void VisitMarker(Keys& keys, SceneMarker& m, const std::vector<SceneMarker>& earlier) {
  m.name = fmt::format("m{}", earlier.size() + 1);
  keys.Text("name", m.name, "of the marker. Default: m1, m2, ...");
  CheckName(keys, "name", m.name);
  VisitVector(keys, "position_m", m.p_BM, Closed(-10, 10), "in B", Need::kRequired);
  m.normal_B.setZero();
  VisitVector(keys, "normal", m.normal_B, {},
              "out of the body; [0, 0, 0]: a small ball, seen from everywhere");
  keys.Number("radius_m", m.radius, Closed(1e-5, 0.5), "its size");
  keys.Number("second_radius_m", m.second_radius, Closed(1e-5, 0.5),
              "of an ellipse; only with a normal. Default: round");
  keys.Check(m.second_radius == 0 || !m.normal_B.isZero(0), "second_radius_m",
             FormatNumber(m.second_radius), "a normal beside it: a ball is round");
  keys.Number("brightness_grey", m.brightness, kGrey, "grey level");
  for (const SceneMarker& other : earlier)
    keys.Check(other.name != m.name, "name", Excerpt(m.name), "a name of its own for every marker");
}

// Reads the keys of a camera that a map gives; the others keep their values.
void VisitSceneCamera(Keys& keys, SceneCamera& c) {
  keys.Number("rate_Hz", c.frame_rate, Closed(1, 1e6), "frames a second");
  keys.Number("exposure_s", c.exposure, Closed(1e-7, 1), "time the shutter is open");
  keys.Check(c.exposure * c.frame_rate <= 1 + 1e-9, "exposure_s", FormatNumber(c.exposure),
             fmt::format("at most the time between frames, {} s", FormatNumber(1 / c.frame_rate)));
  keys.Number("t_line_s", c.t_line, Closed(-1e-3, 1e-3),
              "rolling shutter: from one row of the sensor to the next");
  keys.Number("t_offset_s", c.t_offset, Closed(-60, 60), "common time of its stamp 0");
  keys.Number("clock_rate", c.clock_rate, Open(0.5, 2), "common time over its own");
  keys.Number("blur_px", c.blur, Closed(0, 20), "of the lens, standard deviation");
  keys.Number("noise_grey", c.noise, Closed(0, 15), "of a dark pixel, standard deviation");
  keys.Number("noise_gain_grey", c.noise_gain, Closed(0, 1), "variance of a pixel a grey level");
  keys.Number("dropped_share", c.dropped_share, Closed(0, 0.9), "share of frames that are lost");
  keys.Number("duplicated_share", c.duplicated_share, Closed(0, 0.9),
              "share of frames that are written twice");
  keys.Word("rotation_deg", c.rotation_deg, kTurns, "held turned, and tagged so");
  keys.Check(c.rotation_deg == 0 || c.t_line == 0, "rotation_deg", std::to_string(c.rotation_deg),
             "0 where t_line_s is not 0: rows of the sensor would be columns of the picture");
}

void VisitOutput(Keys& keys, VideoScene& scene) {
  VideoWriterOptions& o = scene.video;
  SceneFiles files = SceneFiles::kH264Lossless;
  keys.Word("codec", files, kCodecs, "h264_lossless, ffv1 and png keep every bit");
  const std::string codec = kCodecs[static_cast<std::size_t>(files)].word;
  scene.images = files == SceneFiles::kPng;
  const bool mjpeg = files == SceneFiles::kMjpeg, h264 = files == SceneFiles::kH264;
  o.codec = h264                         ? Codec::kH264
            : files == SceneFiles::kFfv1 ? Codec::kFfv1
            : mjpeg                      ? Codec::kMjpeg
                                         : Codec::kH264Lossless;
  for (const char* key : {"quality", "bit_rate_bit_per_s"})
    keys.Check(h264 || mjpeg || !keys.reading()->Has(key), key, "a value",
               "codec h264 or mjpeg beside it: " + codec + " keeps every bit");
  if (mjpeg) o.quality = 3;
  keys.Number("quality", o.quality, mjpeg ? Closed(2, 31) : Closed(0, 51),
              "h264 and mjpeg: less is better");
  keys.Count("bit_rate_bit_per_s", o.bit_rate, Closed(1000, 1e10),
             "h264 and mjpeg: in place of quality. Default: as quality asks");
  keys.Count("b_frames", o.b_frames, Closed(0, 8),
             "h264: frames between that need both neighbours");
  keys.Check(o.b_frames == 0 || codec.starts_with("h264"), "b_frames", std::to_string(o.b_frames),
             "0 with codec " + codec);
  keys.Count("key_interval_frames", o.key_interval, Closed(1, 10000),
             "from one whole picture to the next");
}

void VisitFootage(Keys& keys, VideoScene& scene) {
  scene.board = BoardFromYaml(*keys.reading());
  keys.Word("as", scene.footage_video, kFootages, "files");
  scene.tour.whole = true;
  VisitTour(keys, scene.tour, "views of the board");
  keys.Flag("on_floor", scene.board_on_floor,
            "the first shot shows it lying on the floor, point 0 nearest to the origin of W and "
            "rows along F_x, and calibration.yaml says so");
}

void VisitLight(Keys& keys, VideoScene& scene) {
  keys.Number("body_grey", scene.body_brightness, kGrey, "of the body");
  keys.Number("background_grey", scene.background, kGrey, "behind it");
  keys.Number("floor_grey", scene.floor_brightness, kGrey, "of the floor");
  keys.Number("screen_grey", scene.screen_brightness, kGrey, "of what passes before markers");
  keys.Number("shading", scene.shading, Closed(0, 1), "of the body, from its lit to its dark side");
  keys.Number("gradient", scene.light_gradient, Closed(-1, 1), "of the light over the picture");
}

// What all cameras are like, and then what one of them is.
void VisitSceneCameras(Keys& keys, VideoScene& scene) {
  SceneCamera common;
  keys.Map("camera", "every camera, where cameras does not say otherwise",
           [&](Keys& k) { VisitSceneCamera(k, common); });
  scene.cameras.assign(scene.rig.cameras.size(), common);
  std::vector<std::string> known;
  for (const RigCamera& item : scene.rig.cameras) known.push_back(item.name);
  std::vector<std::string> differing;
  keys.List("cameras", differing, "what differs, camera by camera. Default: nothing", Style::kLines,
            [&](Keys& k, std::string& name) {
              k.OneOf("name", name, known,
                      "of the rig; the other keys as under `camera` Allowed: a camera of the rig",
                      Need::kRequired);
              k.Check(std::find(differing.begin(), differing.end(), name) == differing.end(),
                      "name", Excerpt(name), "every camera once");
              VisitSceneCamera(k,
                               scene.cameras[static_cast<std::size_t>(
                                   std::find(known.begin(), known.end(), name) - known.begin())]);
            });
}

// The whole file. Scenes are read only.
void VisitVideoScene(Keys& keys, VideoScene& scene) {
  keys.Schema(kVideoSceneSchema, Need::kOptional);
  keys.Text("name", scene.name, "of the scene. Default: name of the file");
  std::filesystem::path rig;
  keys.File("rig", rig, "a rig.yaml, the true cameras", Need::kRequired);
  scene.rig = RigFromYaml(rig);
  for (const RigCamera& item : scene.rig.cameras) CheckName(keys, "rig", item.name);
  pipelines::VisitMotion(keys, scene.motion, false, false);
  if (scene.motion.body.shape == BodyShape::kPoints)
    throw keys.reading()->Map("body").Fault("shape", "points",
                                            "a body with a surface that can be drawn");
  VisitVector(keys, "centre_m", scene.centre_W, {}, "where the first strike lies");
  keys.List(
      "markers", scene.markers, "Bright discs on the body.", Style::kLines,
      [&](Keys& k, SceneMarker& marker) { VisitMarker(k, marker, scene.markers); },
      Need::kRequired);
  VisitSceneCameras(keys, scene);
  keys.Map("light", "grey levels", [&](Keys& k) { VisitLight(k, scene); });
  keys.Count("clutter", scene.clutter, Closed(0, 10000),
             "bright patches that stand still, in every camera");
  keys.Count("occlusions", scene.occlusions, Closed(0, 1000),
             "per drop and camera: something dark passes before a marker for 2 to 8 frames");
  keys.Flag("flash", scene.flash, "a lamp of 50 ms before the release");
  keys.Map("output", "the files", [&](Keys& k) {
    VisitOutput(k, scene);
    for (const SceneCamera& camera : scene.cameras)
      if (camera.rotation_deg != 0 && !pipelines::StatesRotation(scene))
        throw k.reading()->Fault("codec", Excerpt(k.reading()->Text("codec")),
                                 "h264_lossless or h264 where a camera has a rotation_deg: the "
                                 "other files cannot state it");
  });
  keys.Stated(true).Map("footage", "of a board for the calibration. Default: none",
                        [&](Keys& k) { VisitFootage(k, scene); });
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
  scene.name = path.stem().string();
  Keys keys(root);
  VisitVideoScene(keys, scene);
  scene.seed = scene.motion.seed;
  scene.motion.frame_rate = scene.cameras[0].frame_rate;
  root.Finish();
  CheckVideoScene(scene);  // faults of several keys together
  return scene;
}

}  // namespace impactlab
