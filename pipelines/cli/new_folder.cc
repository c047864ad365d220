// Commented folders to start from.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/cli/first_steps.h"

namespace impactlab {
namespace {

constexpr const char* kBody = R"yaml(
# What is dropped. Shapes: box (side_m or sides_m), rod (length_m to the tips, radius_m), ball (radius_m), ellipsoid (semi_axes_m),
# polytope or points (vertices_m). Lengths in metres, measured with a calliper.
)yaml";

constexpr const char* kRest = R"yaml(
# Frame errors the audit may take out where it finds them: all, none, or names such as [theta_offset_rad].
audit: {apply: none}
identify:
  laws: [newton, poisson, energetic]   # e_n, e_p, e*
  bootstrap: 200                       # resamples over the recordings; 0 is quicker
seed: 1                                # the same seed, the same numbers
)yaml";

constexpr const char* kPlanar =
    R"yaml(# Drops that were followed in a vertical plane by another program: one CSV a drop, in the folder recordings.
#   impactlab check .          what is missing
#   impactlab run experiment.yaml --out out
schema: impactlab.experiment/1
name: my drops
recordings:
  kind: planar_poses
  files: recordings/*.csv
  # Columns t_s, x_m, z_m, theta_rad: x right, z up, theta counter-clockwise, at the centre of mass. Other units go in the header (x_mm,
  # theta_deg). Where your file has other names, say which is which; `impactlab check FILE.csv` writes these lines for you:
  # columns: {t: "Time (s) s", x: "X mm", z: "Y mm", theta: "Rotation deg"}
)yaml";

constexpr const char* kSpatial =
    R"yaml(# Drops that were followed in space by another program: one CSV a drop, in the folder recordings.
#   impactlab check .          what is missing
#   impactlab run experiment.yaml --out out
schema: impactlab.experiment/1
name: my drops
recordings:
  kind: spatial_poses
  files: recordings/*.csv
  # Columns t_s, x_m, y_m, z_m of the centre of mass, z up, and qw, qx, qy, qz, body to world. Other units go in the header (x_mm). Where your
  # file has other names, say which is which; `impactlab check FILE.csv` writes these lines for you:
  # columns: {t: "Time s", x: "X mm", y: "Y mm", z: "Z mm", qw: "QW", qx: "QX", qy: "QY", qz: "QZ"}
)yaml";

constexpr const char* kPoints =
    R"yaml(# Markers that motion capture followed in space: one CSV, TRC or C3D file a drop, in the folder recordings.
#   impactlab check .          what is missing
#   impactlab run experiment.yaml --out out
schema: impactlab.experiment/1
name: my drops
recordings:
  kind: marker_points
  files: recordings/*
  names: [a, b, c]             # as the files name them, three or more
  layout_m:                    # where they are on the body, from its centre of mass, in the axes of the body [m]
    - [0.020, 0.020, 0.030]
    - [-0.022, 0.010, 0.030]
    - [0.005, -0.020, 0.030]
  # up_axis: y                 # axis of the files that points up, where they do not say it
)yaml";

constexpr const char* kPlanarCamera =
    R"yaml(# One camera that films a plane of motion from the side. First the markers are followed, then the drops are run:
#   put the videos in the folder videos and the pixels of known points in plane_points.csv, then
#   impactlab check .
#   impactlab track tracking.yaml --out tracks
#   impactlab run experiment.yaml --out out
schema: impactlab.experiment/1
name: my drops
recordings:
  kind: planar_markers
  files: tracks/tracks.csv
  names: [a, b]                          # two or more markers on the side of the body
  layout_m: [[0.020, 0.010], [-0.020, 0.010]]   # x, z of each from the centre of mass, in the body [m]
  plane_points: plane_points.csv         # four or more points in the plane of motion: where they are, and their pixels
  camera_m: [0.0, 0.3, 1.5]              # x and z of the camera, and its distance from the plane of motion [m]
  depth_sd_m: 0.002                      # how far the body may be off that plane [m]
  tilt_sd_rad: 0.02                      # and how much it may lean out of it
)yaml";

constexpr const char* kPlanarTracking =
    R"yaml(# What is followed: bright (or dark) dots on the side of the body.
schema: impactlab.tracking/1
cameras:
  - {name: side, exposure_s: 0.0005}     # time the shutter is open; add rate_Hz where the file was written for slow motion
markers:
  look: bright
  names: [a, b]
files: {side: "videos/*.mp4"}
)yaml";

constexpr const char* kPlanePoints =
    R"yaml(# Four or more points in the plane of motion, no three of four on a line: place in metres, pixel in the video (0, 0 is the top left).
# These are the corners of a sheet of A4, as an example: put your own in.
name,x_m,z_m,x_px,y_px
lower left,0.000,0.000,412.0,905.0
lower right,0.297,0.000,1208.0,903.0
upper right,0.297,0.210,1207.0,340.0
upper left,0.000,0.210,411.0,342.0
)yaml";

constexpr const char* kStereo =
    R"yaml(# Drops before two cameras: videos of a board give the cameras, videos of the drops give the motion.
#   put the clips of the board in the folder calibration and those of the drops in the folder drops, then
#   impactlab check .
#   impactlab run experiment.yaml --out out
schema: impactlab.experiment/1
name: my drops
recordings:
  kind: markers
  tracking: tracking.yaml
  calibration: calibration/calibration.yaml
# Floor and gravity are those of the calibration: its board lay on the struck surface.
)yaml";

constexpr const char* kStereoTracking = R"yaml(# What is followed through the videos of the drops.
schema: impactlab.tracking/1
cameras:
  - {name: left, exposure_s: 0.001}      # time the shutter is open [s]; add rate_Hz where the file was written for slow motion,
  - {name: right, exposure_s: 0.001}     # and t_line_s for a rolling shutter
markers:
  look: bright                           # dots or balls brighter than what is around them; or dark, or tags
  names: [a, b, c]
  layout_m:                              # where they are on the body, from its centre of mass, in the axes of the body [m]
    - [0, 0, -0.085]                     # distances that differ tell the markers apart
    - [0, 0, 0.030]
    - [0, 0, 0.088]
  layout_sd_m: 0.0002                    # how well that is known [m]
  radius_m: [0.0065, 0.0065, 0.0065]
  normals: [[0, 0, 0], [0, 0, 0], [0, 0, 0]]   # balls; of flat dots the direction they face
files: {left: "drops/*_left.mp4", right: "drops/*_right.mp4"}
synchronise: {method: flash}             # a flash that both cameras saw; or none where they share a clock
)yaml";

constexpr const char* kStereoCalibration =
    R"yaml(# The cameras, from one clip each of a board that is moved about where the drops will be. Print one: impactlab board --square-m 0.025
schema: impactlab.calibration/1
board: {kind: chessboard, corners: [9, 6], square_m: 0.025}   # points where four squares meet; the square as measured on the print [m]
cameras:
  - {name: left, video: left.mp4, model: brown}               # model: auto chooses the lens
  - {name: right, video: right.mp4, model: brown}
match: index                             # frame by frame; time where the clips were started together
world:
  board: {shot: "#1"}                    # in this frame the board lay on the struck surface
gravity:
  direction: {frame: world, down: [0, 0, -1], sd_rad: 0.005}  # of a level surface
)yaml";

constexpr const char* kPublished =
    R"yaml(# A table of impacts as a source prints it: does it agree with itself, and with the laws?
#   impactlab literature published.yaml --out out
schema: impactlab.published/1
name: Author, year
source: where it is printed, with its page
axes: [x, y, z]            # where x, y, z of the table point in W, z up
tables:
  - title: rod
    files: [states.csv]    # one row an experiment; digits count, trailing zeros too
    body: {shape: rod, length_m: 0.2, radius_m: 0.006, mass_kg: 0.06}
    law: energetic         # that reads the coefficient of restitution: energetic, poisson, newton
)yaml";

constexpr const char* kStates =
    R"yaml(# Replace this row, which is an example. Motion of the centre of mass before (minus) and after (plus) the impact; motion without a column
# is 0. qw to qz: attitude, body to world.
experiment,v_minus_z_m_per_s,v_plus_z_m_per_s,omega_minus_y_rad_per_s,omega_plus_y_rad_per_s,v_plus_x_m_per_s,e,mu_k,qw,qx,qy,qz
A,-2.000,-0.559,0.00,18.07,0.117,0.50,0.20,0.9659,0,0.2588,0
)yaml";

constexpr const char* kCampaign =
    R"yaml(# Several experiments beside each other: do their coefficients differ?
#   impactlab campaign campaign.yaml --out out
schema: impactlab.campaign/1
name: my specimens
members:                   # a name, and an experiment file (or run: the folder of a run that is finished)
  - {name: steel, experiment: steel/experiment.yaml}
  - {name: wood, experiment: wood/experiment.yaml}
law: energetic
)yaml";

constexpr const char* kSimulate =
    R"yaml(# A cube thrown over a level floor, through all its bounces to rest.
#   impactlab simulate scenario.yaml --out out
schema: impactlab.scenario/1
name: my cube
planar: false
bodies:
  - name: cube
    shape: box
    side_m: 0.06
    mass_kg: 0.2
    position_m: [0, 0, 0.3]              # of its centre of mass, z up
    quaternion: [0.9, 0.2, 0.3, 0.2449489742783178]   # w, x, y, z, body to world
    v_m_per_s: [0.5, 0, 0]
    omega_rad_per_s: [2, -5, 1]
planes:
  - {name: floor, normal: [0, 0, 1]}
every_contact: {mu_k: 0.2, e: 0.4}       # kinetic friction and restitution of every contact
simulation: {duration_s: 2}
)yaml";

constexpr const char* kBench =
    R"yaml(# Readings of bench tests, each with the half width of its error: a form to fill in. Delete the tests you did not make.
#   impactlab coefficient bench.yaml --out out
schema: impactlab.coefficients/1
name: bench tests
gravity_m_per_s2: 9.81
tests:
  - name: tilt, five times               # the slope at which it begins to slide
    kind: static_friction
    angle_deg: [21.6, 21.9, 21.4, 22.0, 21.7]
    angle_half_deg: 0.1
  - name: heights of drop and rebound
    kind: restitution
    drop_height_m: 1.000
    drop_height_half_m: 0.002
    rebound_height_m: [0.642, 0.638, 0.645]
    rebound_height_half_m: 0.002
)yaml";

struct Template {
  NewKind kind;
  std::string next;  // what to put where, and the command that follows
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> folders;
};

std::vector<Template> Templates() {
  const std::string box = std::string(kBody) +
                          "body: {shape: box, side_m: 0.060, mass_kg: 0.200}\nfloor: {normal: [0, "
                          "0, 1], offset_m: 0}\n";
  const std::string rod =
      std::string(kBody) + "body: {shape: rod, length_m: 0.2, radius_m: 0.006, mass_kg: 0.060}\n";
  const std::string drops = "put one CSV a drop in recordings, then: impactlab check";
  return {
      {{"poses", "poses in a plane, from another program (CSV)"},
       drops,
       {{"experiment.yaml", kPlanar + box + kRest}},
       {"recordings"}},
      {{"poses-space", "poses in space, from another program (CSV)"},
       drops,
       {{"experiment.yaml", kSpatial + box + kRest}},
       {"recordings"}},
      {{"points", "markers in space, from motion capture (CSV, TRC, C3D)"},
       "put one file a drop in recordings, then: impactlab check",
       {{"experiment.yaml", kPoints + box + kRest}},
       {"recordings"}},
      {{"planar-camera", "videos of one camera that sees a plane of motion from the side"},
       "put the videos in videos and your points in plane_points.csv, then: impactlab check",
       {{"experiment.yaml", kPlanarCamera + box + kRest},
        {"tracking.yaml", kPlanarTracking},
        {"plane_points.csv", kPlanePoints}},
       {"videos"}},
      {{"stereo", "videos of two cameras or more, calibrated from clips of a board"},
       "put the clips of the board in calibration and those of the drops in drops, then: impactlab "
       "check",
       {{"experiment.yaml", kStereo + rod + kRest},
        {"tracking.yaml", kStereoTracking},
        {"calibration/calibration.yaml", kStereoCalibration}},
       {"drops"}},
      {{"published", "a table of impacts as a source prints it"},
       "put the table in states.csv, then: impactlab check",
       {{"published.yaml", kPublished}, {"states.csv", kStates}},
       {}},
      {{"campaign", "several experiments beside each other"},
       "make a folder for each member (impactlab new), name them in campaign.yaml, then: impactlab "
       "check",
       {{"campaign.yaml", kCampaign}},
       {}},
      {{"bench", "readings of bench tests for friction and restitution"},
       "fill in bench.yaml, then: impactlab check",
       {{"bench.yaml", kBench}},
       {}},
      {{"simulate", "a scenario of bodies to follow through their impacts"},
       "change scenario.yaml, then: impactlab check",
       {{"scenario.yaml", kSimulate}},
       {}},
  };
}

}  // namespace

std::vector<NewKind> NewKinds() {
  std::vector<NewKind> kinds;
  for (const Template& one : Templates()) kinds.push_back(one.kind);
  return kinds;
}

int NewCommand(const NewArguments& arguments) {
  const std::vector<Template> templates = Templates();
  const auto chosen = std::find_if(templates.begin(), templates.end(), [&](const Template& t) {
    return t.kind.name == arguments.kind;
  });
  if (chosen == templates.end()) {
    std::vector<std::string> names;
    names.reserve(templates.size());
    for (const Template& one : templates) names.push_back(one.kind.name);
    const std::string nearest = NearestName(arguments.kind, names);
    throw ConfigError(fmt::format("new: found kind {}{}, allowed {}", Excerpt(arguments.kind),
                                  nearest.empty() ? "" : ", nearest is " + nearest,
                                  JoinNames(names)));
  }
  std::error_code error;
  if (std::filesystem::exists(arguments.folder, error) &&
      !std::filesystem::is_directory(arguments.folder, error))
    throw ConfigError(
        fmt::format("{}: is a file, allowed the name of a folder", arguments.folder.string()));
  for (const auto& [name, text] : chosen->files)
    if (std::filesystem::exists(std::filesystem::symlink_status(arguments.folder / name, error)))
      throw ConfigError(fmt::format(
          "{}: is there already and is not written over; choose another folder, or move it away",
          (arguments.folder / name).string()));
  for (const std::string& name : chosen->folders) {
    std::filesystem::create_directories(arguments.folder / name, error);
    if (error)
      throw OutputError(fmt::format("{}: cannot be made: {}", (arguments.folder / name).string(),
                                    error.message()));
  }
  for (const auto& [name, text] : chosen->files) {
    WriteFile(arguments.folder / name, text);
    fmt::print("{}\n", (arguments.folder / name).string());
  }
  for (const std::string& name : chosen->folders)
    fmt::print("{}\n", (arguments.folder / name / "").string());
  fmt::print("next: {} {}\n", chosen->next, pipelines::ShellWord(arguments.folder.string()));
  return kDone;
}

pipelines::Action pipelines::AddNew(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<NewArguments>();
  std::string kinds = "what goes in; one of:";
  for (const NewKind& kind : NewKinds()) kinds += fmt::format(" {} ({});", kind.name, kind.what);
  kinds.pop_back();
  verb.add_option("kind", arguments->kind, kinds)->required();
  verb.add_option("folder", arguments->folder,
                  "folder to make, or to add to; no file is written over")
      ->required();
  return [arguments] { return NewCommand(*arguments); };
}

}  // namespace impactlab
