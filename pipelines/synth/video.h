#pragma once
// Synthetic video experiments: a marked body falls in front of two or more cameras of known truth.
//
// The motion is that of `Synthesise` (own flight and impacts). Every frame is the mean of the light
// over its exposure: body and markers are projected through the exact lens at several instants of
// the exposure and drawn with exact coverage of every pixel, then blurred by the lens, given noise,
// rounded and clipped. What a real recording does wrong can be switched on.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/camera/rig.h"
#include "data/files/image.h"
#include "impact/body/body.h"
#include "pipelines/config/run_context.h"
#include "pipelines/synth/board_tour.h"
#include "pipelines/synth/synth.h"
#include "tracking/track/tracks.h"
#include "tracking/video/writer.h"

namespace impactlab {

// A round patch on the surface of the body.
struct SceneMarker {
  std::string name;
  Eigen::Vector3d p_BM = Eigen::Vector3d::Zero();  // centre [m]
  // it is seen from this side only; zero: a small ball, seen from everywhere
  Eigen::Vector3d normal_B = Eigen::Vector3d::UnitZ();
  double radius = 0.004;  // [m]
  // of an ellipse, along a direction in its plane [m]; 0: round
  double second_radius = 0;
  double brightness = 230;  // [grey levels]
};

// What one camera does to light and time.
struct SceneCamera {
  double frame_rate = 120;      // [1/s], of its own clock
  double exposure = 1e-3;       // [s]
  double t_line = 0;            // rolling shutter, row to row [s]
  double t_offset = 0;          // common time of its stamp 0 [s]
  double clock_rate = 1;        // common seconds a second of its clock
  double blur = 0.8;            // [px]
  double noise = 2;             // read noise [grey levels]
  double noise_gain = 0.05;     // variance a grey level [grey levels]
  double dropped_share = 0;     // frames lost, later stamps stay true
  double duplicated_share = 0;  // frames whose picture is repeated in place of the next
  int rotation_deg = 0;         // the camera was held turned; tagged in the file
};

struct VideoScene {
  std::string name;
  // body, floor, law, drops, releases, seed; its pose noise is not used
  SynthOptions motion;
  Eigen::Vector3d centre_W = Eigen::Vector3d::Zero();  // drops strike near this point
  std::vector<SceneMarker> markers;
  CameraRig rig;                                                        // the truth
  std::vector<SceneCamera> cameras;                                     // one for each of the rig
  double body_brightness = 60, background = 25, floor_brightness = 45;  // [grey levels]
  // of the body's faces with their tilt, relative
  double shading = 0.3;
  // over the picture, relative
  double light_gradient = 0.1;
  // bright patches that stand still
  int clutter = 0;
  // per drop and camera: something dark passes before a marker for 2 to 8 frames; fewer where there
  // is no room
  int occlusions = 0;
  double screen_brightness = 8;  // of what passes before markers [grey levels]
  // a lamp lights both cameras' pictures for 50 ms before the release
  bool flash = true;
  VideoWriterOptions video;
  bool images = false;         // PNG sequences in place of videos
  std::optional<Board> board;  // footage of it for the calibration
  TourOptions tour;
  bool footage_video = false;  // of the board: one clip a camera in place of pictures
  // The first shot shows the board lying on the floor, its point 0 where the floor is nearest to
  // the origin of W, its rows along F_x: a calibration then knows the floor, and W itself where the
  // floor is z = 0.
  bool board_on_floor = false;
  std::uint64_t seed = 1;
};

// True image of a marker in a frame.
struct TruthPoint {
  int drop = 0, camera = 0, marker = 0;
  long long frame = 0;
  // common time at which its own row was taken, middle of the exposure [s]
  double t = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // image of the centre [px]
  // centroid of its image, motion included [px]
  Eigen::Vector2d q_centroid = Eigen::Vector2d::Zero();
  // share of its area that is seen: 0 hidden, outside or turned away
  double visible = 1;
};

bool IsVideoScene(const std::filesystem::path& path);
// Reads a scene (schema impactlab.video_scene/1; keys in data/README). ConfigError.
VideoScene LoadVideoScene(const std::filesystem::path& path);

// What is wrong with a scene made by hand: ConfigError.
void CheckVideoScene(const VideoScene& scene);

// One frame as it is made, with its stamp on the camera's own clock.
struct DrawnFrame {
  int camera = 0;
  long long frame = 0;
  double stamp = 0;  // [s]
  GrayImage image;
  std::vector<TruthPoint> truth;
};

// When a run is broken off, no tracking.yaml stands in the folder: it is the last file to be
// written, and an older one goes first. Writes drop_0001_CAMERA.mp4 ... (FFV1 and MJPEG: .mkv;
// pictures: folders drop_0001_CAMERA), rig.yaml (the true one), tracking.yaml (what somebody would
// write who has the recordings), truth_tracks.csv, truth_motion.csv and truth.csv, and calibration/
// with footage of the board as `SynthesiseRig` lays it out. OutputError; returns the number of
// frames.
long long SynthesiseVideo(const std::filesystem::path& folder, const VideoScene& scene,
                          const RunContext& context = {});

}  // namespace impactlab
