#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/output_folder.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/run_context.h"
#include "pipelines/config/yaml.h"
#include "pipelines/synth/board_picture.h"
#include "pipelines/synth/detail/video_draw.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/rig.h"
#include "pipelines/synth/video.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr int kHold = 3;             // frames of a clip of the board that show it at one place
constexpr double kFootageRate = 30;  // [1/s]
constexpr const char* kDescribing[] = {"tracking.yaml",  "experiment.yaml",  "truth.csv",
                                       "truth_rest.csv", "truth_motion.csv", "truth_tracks.csv"};

std::string DropName(int drop) { return fmt::format("drop_{:04}", drop); }

std::string Extension(const VideoScene& scene) { return pipelines::IsMp4(scene) ? ".mp4" : ".mkv"; }

// Name of the recording of a camera: a file, or a folder of pictures.
std::string FileName(const VideoScene& scene, int drop, std::size_t camera) {
  return fmt::format("{}_{}{}", DropName(drop), scene.rig.cameras[camera].name,
                     scene.images ? "" : Extension(scene));
}

// The picture as a sensor saw it that was turned, so that turning it clockwise sets it upright
// again.
GrayImage TurnedBack(const GrayImage& image, int rotation_deg) {
  if (rotation_deg == 0) return image;
  const bool sideways = rotation_deg != 180;
  GrayImage out{sideways ? image.height : image.width, sideways ? image.width : image.height, {}};
  out.pixels.resize(image.pixels.size());
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const std::uint8_t value = image.At(x, y);
      if (rotation_deg == 90) out.At(y, image.width - 1 - x) = value;
      if (rotation_deg == 180) out.At(image.width - 1 - x, image.height - 1 - y) = value;
      if (rotation_deg == 270) out.At(image.height - 1 - y, x) = value;
    }
  return out;
}

// One recording of one camera: frames as they are made go to a video, or to numbered pictures with
// a table of their stamps.
class Recorder {
 public:
  Recorder(const std::filesystem::path& path, const VideoScene& scene, std::size_t camera)
      : path_(path), rotation_deg_(scene.cameras[camera].rotation_deg) {
    const Camera& lens = scene.rig.cameras[camera].camera;
    const bool sideways = rotation_deg_ == 90 || rotation_deg_ == 270;
    VideoWriterOptions options = scene.video;
    options.rotation_deg = rotation_deg_;
    if (scene.images)
      stamps_ =
          std::make_unique<CsvWriter>(path / "stamps.csv", std::vector<std::string>{"t_s"}, false);
    else
      video_ = std::make_unique<VideoWriter>(path, sideways ? lens.height : lens.width,
                                             sideways ? lens.width : lens.height, options);
  }
  void Write(const DrawnFrame& frame) {
    if (video_) {
      video_->Write(TurnedBack(frame.image, rotation_deg_), frame.stamp);
      return;
    }
    WritePng(path_ / fmt::format("{:06}.png", frame.frame), frame.image);
    stamps_->Row({frame.stamp});
  }
  void Finish() {
    if (video_) video_->Finish();
    if (stamps_) stamps_->Commit();
  }

 private:
  std::filesystem::path path_;
  int rotation_deg_ = 0;
  std::unique_ptr<VideoWriter> video_;
  std::unique_ptr<CsvWriter> stamps_;
};

// What somebody would write who has the recordings, the rig and the drawing of the body.
std::string TrackingYaml(const VideoScene& scene) {
  const std::size_t n = scene.rig.cameras.size();
  std::string out = YamlWord(0, "schema", "impactlab.tracking/1") +
                    YamlWord(0, "name", YamlQuote(scene.name)) + YamlWord(0, "rig", "rig.yaml");
  out += "cameras:\n";
  for (std::size_t c = 0; c < n; ++c) {
    const SceneCamera& camera = scene.cameras[c];
    out += "  - " + YamlWord(0, "name", YamlQuote(scene.rig.cameras[c].name)) +
           YamlLine(2, "exposure_s", camera.exposure);
    if (camera.t_line != 0) out += YamlLine(2, "t_line_s", camera.t_line);
  }
  std::string names, places, normals;
  std::vector<double> radii;
  bool bright = true;
  for (const SceneMarker& m : scene.markers) {
    names += (names.empty() ? "" : ", ") + YamlQuote(m.name);
    places += fmt::format("    - [{}, {}, {}]\n", FormatNumber(m.p_BM.x()),
                          FormatNumber(m.p_BM.y()), FormatNumber(m.p_BM.z()));
    normals += fmt::format("    - [{}, {}, {}]\n", FormatNumber(m.normal_B.x()),
                           FormatNumber(m.normal_B.y()), FormatNumber(m.normal_B.z()));
    radii.push_back(m.radius);
    bright = bright && m.brightness > scene.body_brightness;
  }
  out += "markers:\n" + YamlWord(1, "look", bright ? "bright" : "dark") +
         YamlWord(1, "names", "[" + names + "]") + "  layout_m:\n" + places +
         "  layout_sd_m: 0.0001\n" + YamlLine(1, "radius_m", radii) + "  normals:\n" + normals;
  out += "recordings:\n";
  for (int drop = 1; drop <= scene.motion.drops; ++drop) {
    std::string files, stamps;
    for (std::size_t c = 0; c < n; ++c) {
      const std::string camera = YamlQuote(scene.rig.cameras[c].name),
                        file = FileName(scene, drop, c);
      const char* comma = c == 0 ? "" : ", ";
      files += fmt::format("{}{}: {}", comma, camera, YamlQuote(file));
      stamps += fmt::format("{}{}: {}", comma, camera, YamlQuote(file + "/stamps.csv"));
    }
    out += fmt::format("  - {{name: {}, files: {{{}}}{}}}\n", DropName(drop), files,
                       scene.images ? ", stamps: {" + stamps + "}" : "");
  }
  if (scene.flash) return out + "synchronise: {method: flash}\n";
  bool common = true;
  std::vector<double> shifts, rates;
  const SceneCamera& clock = scene.cameras[0];
  for (const SceneCamera& camera : scene.cameras) {
    shifts.push_back((camera.t_offset - clock.t_offset) / clock.clock_rate);
    rates.push_back(camera.clock_rate / clock.clock_rate);
    common = common && shifts.back() == 0 && rates.back() == 1;
  }
  if (common) return out + "synchronise: {method: none}\n";
  return out + "synchronise:\n" + YamlWord(1, "method", "given") + YamlLine(1, "shift_s", shifts) +
         YamlLine(1, "clock_rate", rates);
}

// Floor and gravity are those of the calibration where its footage knows them.
std::string VideoExperimentYaml(const VideoScene& scene) {
  std::string out = YamlWord(0, "schema", "impactlab.experiment/1") +
                    YamlWord(0, "name", YamlQuote(scene.name)) + "recordings:\n" +
                    YamlWord(1, "kind", "markers") + YamlWord(1, "tracking", "tracking.yaml");
  const bool calibrated = scene.board && scene.board_on_floor;
  if (calibrated) out += YamlWord(1, "calibration", "calibration/calibration.yaml");
  out += pipelines::BodyYaml(scene.motion.body);
  if (!calibrated) {
    FlightOptions flight = scene.motion.flight;
    flight.drag_per_m = 0;  // not known
    out += pipelines::FloorYaml(scene.motion.floor) + pipelines::FlightYaml(flight);
  }
  return out + YamlWord(0, "seed", std::to_string(scene.seed));
}

// Files of other recordings would be taken for this scene's.
void RefuseStrangers(const std::filesystem::path& folder, const VideoScene& scene) {
  std::set<std::string> ours;
  for (int drop = 1; drop <= scene.motion.drops; ++drop)
    for (std::size_t c = 0; c < scene.rig.cameras.size(); ++c)
      ours.insert(FileName(scene, drop, c));
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename().string();
    if (MatchesGlob("drop_[0-9][0-9][0-9][0-9]*", name) && !ours.contains(name))
      throw OutputError(fmt::format(
          "{}: '{}' would be mixed with the {} drops of this scene; name an empty folder",
          folder.string(), name, scene.motion.drops));
    // Pictures in a folder of ours may be those of a longer recording.
    if (scene.images && ours.contains(name) && entry.is_directory())
      for (const auto& picture : ExpandGlob("*.png", entry.path())) RemoveOutput(picture);
  }
}

void WriteTruthTracks(const std::filesystem::path& path, const VideoScene& scene,
                      const std::vector<std::vector<TruthPoint>>& truth) {
  CsvWriter out(path, {"recording", "camera", "marker", "frame", "t_s", "x_px", "y_px",
                       "centroid_x_px", "centroid_y_px", "visible"});
  for (const std::vector<TruthPoint>& recording : truth)
    for (const TruthPoint& p : recording) {
      out.Text(DropName(p.drop)).Text(scene.rig.cameras[static_cast<std::size_t>(p.camera)].name);
      out.Text(scene.markers[static_cast<std::size_t>(p.marker)].name)
          .Integer(p.frame)
          .Number(p.t)
          .Number(p.q.x())
          .Number(p.q.y());
      out.Number(p.q_centroid.x()).Number(p.q_centroid.y()).Number(p.visible).EndRow();
    }
  out.Commit();
}

// Poses at the times of the first camera's row 0, from the release on.
void WriteTruthMotion(const std::filesystem::path& path, const VideoScene& scene,
                      const std::vector<pipelines::Film>& films) {
  CsvWriter out(path, {"recording", "t_s", "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"});
  const SceneCamera& camera = scene.cameras[0];
  for (std::size_t i = 0; i < films.size(); ++i) {
    Eigen::Quaterniond last = Eigen::Quaterniond::Identity();
    for (long long k = 0;; ++k) {
      const double t =
          camera.t_offset + camera.clock_rate * (static_cast<double>(k) / camera.frame_rate);
      if (t > films[i].end) break;
      if (t < films[i].release) continue;
      const Eigen::Isometry3d X_WB = films[i].Pose(t);
      Eigen::Quaterniond q(X_WB.linear());
      // of the two quaternions of an attitude the one that follows on
      if (q.dot(last) < 0) q.coeffs() = -q.coeffs();
      last = q;
      out.Text(DropName(static_cast<int>(i) + 1)).Number(t);
      for (const double value : {X_WB.translation().x(), X_WB.translation().y(),
                                 X_WB.translation().z(), q.w(), q.x(), q.y(), q.z()})
        out.Number(value);
      out.EndRow();
    }
  }
  out.Commit();
}

// Impacts and rests on the common clock, where they happen in W.
SynthTruth Happenings(const VideoScene& scene, const std::vector<pipelines::Film>& films) {
  SynthOptions motion = scene.motion;
  motion.frame_rate = scene.cameras[0].frame_rate;
  motion.noise_position = motion.noise_angle = motion.lost_frame_share = 0;
  SynthTruth truth = Synthesise(motion).truth;
  const auto film_of = [&](const std::string& recording) -> const pipelines::Film& {
    return films[static_cast<std::size_t>(std::stoi(recording.substr(5)) - 1)];
  };
  for (ImpactEvent& event : truth.events) {
    const pipelines::Film& film = film_of(event.recording);
    event.t = film.release + film.motion.strikes[static_cast<std::size_t>(event.impact)].t;
    event.X_WB.translation() += film.shift;
    event.p_WP += film.shift;
    event.contact.X_WF.translation() += film.shift;
  }
  for (SynthRest& rest : truth.rests) {
    const pipelines::Film& film = film_of(rest.recording);
    rest.t = film.release + film.motion.stretches.back().t;
    rest.X_WB.translation() += film.shift;
  }
  return truth;
}

RenderOptions FootageOptions(const VideoScene& scene, std::size_t camera) {
  RenderOptions render;
  const SceneCamera& settings = scene.cameras[camera];
  render.blur = settings.blur;
  render.noise_sd = std::sqrt(settings.noise * settings.noise + settings.noise_gain * 125);
  return render;
}

// The board as it lies on the floor, printed side up.
Eigen::Isometry3d OnFloor(const VideoScene& scene) {
  const Plane& floor = scene.motion.floor;
  Eigen::Isometry3d X_WG =
      ContactFrame(floor, floor.offset * floor.normal, scene.motion.flight.gravity_W, false);
  X_WG.linear() = X_WG.linear() * Eigen::Vector3d(1, -1, -1).asDiagonal();
  for (const RigCamera& item : scene.rig.cameras)
    for (int id = 0; id < PointCount(*scene.board); ++id) {
      const auto q = ProjectBoardPoint(item.camera, item.X_WC.inverse() * X_WG, *scene.board,
                                       Eigen::Vector2d::Zero(), id);
      const bool seen = q && q->x() > 0 && q->y() > 0 && q->x() < item.camera.width - 1 &&
                        q->y() < item.camera.height - 1;
      if (!seen)
        throw ConfigError(
            fmt::format("{}: footage.on_floor: camera {} does not see the whole board lying on the "
                        "floor with its point 0 at [{:.3g}, {:.3g}, {:.3g}]",
                        scene.name, item.name, X_WG.translation().x(), X_WG.translation().y(),
                        X_WG.translation().z()));
    }
  return X_WG;
}

std::vector<Eigen::Isometry3d> Tour(const VideoScene& scene) {
  std::vector<Eigen::Isometry3d> tour = BoardTour(scene.rig, *scene.board, scene.tour, scene.seed);
  if (scene.board_on_floor) tour.insert(tour.begin(), OnFloor(scene));
  return tour;
}

// Keys of the calibration file on W where the board lay on the floor in the shot of that name.
std::string WorldYaml(const VideoScene& scene, const std::string& shot) {
  if (!scene.board_on_floor) return "";
  const Eigen::Matrix3d R_WF = OnFloor(scene).linear() * Eigen::Vector3d(1, -1, -1).asDiagonal();
  const Eigen::Vector3d down = R_WF.transpose() * scene.motion.flight.gravity_W.normalized();
  constexpr double kInclinometer = 1e-3;  // [rad]
  return "world:\n  board: {shot: " + YamlQuote(shot) + "}\n" +
         fmt::format("gravity:\n  direction: {{frame: world, down: [{}, {}, {}], sd_rad: {}}}\n",
                     FormatNumber(down.x()), FormatNumber(down.y()), FormatNumber(down.z()),
                     kInclinometer);
}

// Clips of the board: every place is held for a few frames.
void WriteFootage(const std::filesystem::path& folder, const VideoScene& scene,
                  const RunContext& context, Progress* progress) {
  const std::vector<Eigen::Isometry3d> tour = Tour(scene);
  std::string yaml = fmt::format("schema: impactlab.calibration/1\nname: {}\n{}cameras:\n",
                                 YamlQuote(scene.name), BoardYaml(*scene.board));
  for (const RigCamera& item : scene.rig.cameras)
    yaml += fmt::format("  - name: {0}\n    video: {1}\n    model: {2}\n", item.name,
                        YamlQuote(item.name + ".mp4"), ToString(item.camera.model));
  WriteFile(folder / "truth_rig.yaml", ToYaml(scene.rig));
  WriteFile(folder / "calibration.yaml",
            yaml + "match: index\n" + WorldYaml(scene, fmt::format("#{}", kHold / 2)));
  ForEachIndex(scene.rig.cameras.size(), context.threads, [&](std::size_t c) {
    const RigCamera& item = scene.rig.cameras[c];
    VideoWriterOptions options = scene.video;
    if (Extension(scene) != ".mp4" || scene.images)
      options.codec = VideoWriterOptions::Codec::kH264Lossless;
    VideoWriter writer(folder / (item.name + ".mp4"), item.camera.width, item.camera.height,
                       options);
    RenderOptions render = FootageOptions(scene, c);
    long long k = 0;
    for (const Eigen::Isometry3d& X_WG : tour)
      for (int hold = 0; hold < kHold; ++hold, ++k) {
        context.CheckCancelled();
        render.seed = pipelines::Mix(pipelines::Mix(scene.seed, c), static_cast<std::uint64_t>(k));
        writer.Write(RenderBoard(item.camera, item.X_WC.inverse() * X_WG, *scene.board,
                                 Eigen::Vector2d::Zero(), render),
                     static_cast<double>(k) / kFootageRate);
        progress->Advance();
      }
    writer.Finish();
  });
}

// That a file can be written there; what stands there stays.
void CheckWritable(const std::filesystem::path& path) { const AtomicFile discarded(path); }

}  // namespace

long long SynthesiseVideo(const std::filesystem::path& folder, const VideoScene& scene,
                          const RunContext& context) {
  CheckVideoScene(scene);
  RefuseStrangers(folder, scene);
  // That all can be written is checked first, not after a thousand frames. Files that describe the
  // recordings are written when those are complete, and those of an earlier run are removed before
  // recordings change, so that an interrupted run is not taken for a complete one. The rig may be
  // the user's own.
  CheckWritable(folder / "rig.yaml");
  for (const char* name : kDescribing) CheckWritable(folder / name);
  for (const char* name : kDescribing) RemoveOutput(folder / name);
  const std::size_t n_cameras = scene.rig.cameras.size(),
                    n_drops = static_cast<std::size_t>(scene.motion.drops);
  std::vector<pipelines::Film> films(n_drops);
  ForEachIndex(n_drops, context.threads, [&](std::size_t i) {
    films[i] = pipelines::MakeFilm(scene, static_cast<int>(i) + 1);
  });
  const SynthTruth happenings = Happenings(scene, films);
  if (scene.board && !scene.footage_video) {
    RigScene board{
        scene.rig, *scene.board, Eigen::Vector2d::Zero(), scene.tour, FootageOptions(scene, 0),
        scene.seed};
    SynthesiseRig(folder / "calibration", board, Tour(scene), WorldYaml(scene, "001"));
  }
  if (scene.board && scene.footage_video) {
    Progress progress("drawing the board",
                      static_cast<std::int64_t>(n_cameras) *
                          static_cast<std::int64_t>(Tour(scene).size()) * kHold,
                      "frames");
    WriteFootage(folder / "calibration", scene, context, &progress);
  }
  Progress progress("drawing", static_cast<std::int64_t>(n_drops * n_cameras), "recordings");
  std::vector<std::vector<TruthPoint>> truth(n_drops * n_cameras);
  std::vector<long long> frames(n_drops * n_cameras);
  ForEachIndex(n_drops * n_cameras, context.threads, [&](std::size_t i) {
    const std::size_t camera = i % n_cameras;
    const int drop = static_cast<int>(i / n_cameras) + 1;
    Recorder recorder(folder / FileName(scene, drop, camera), scene, camera);
    pipelines::DrawCamera(scene, films[i / n_cameras], drop, static_cast<int>(camera),
                          [&](const DrawnFrame& frame) {
                            context.CheckCancelled();
                            recorder.Write(frame);
                            truth[i].insert(truth[i].end(), frame.truth.begin(), frame.truth.end());
                            ++frames[i];
                          });
    recorder.Finish();
    progress.Advance();
  });
  WriteTruthTracks(folder / "truth_tracks.csv", scene, truth);
  WriteTruthMotion(folder / "truth_motion.csv", scene, films);
  pipelines::WriteTruth(folder / "truth.csv", happenings);
  if (scene.motion.to_rest) pipelines::WriteRests(folder / "truth_rest.csv", happenings, false);
  WriteFile(folder / "rig.yaml", ToYaml(scene.rig));
  WriteFile(folder / "tracking.yaml", TrackingYaml(scene));
  WriteFile(folder / "experiment.yaml", VideoExperimentYaml(scene));
  long long total = 0;
  for (const long long n : frames) total += n;
  return total;
}

}  // namespace impactlab
