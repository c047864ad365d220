#include "pipelines/run/planar_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/config/named_places.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::Keys;
using pipelines::Need;

std::vector<PlanePoint> ReadPlanePoints(const std::filesystem::path& path) {
  const Table table = ReadCsv(path, {.text_columns = {"name"}, .is_text = {}});
  std::vector<PlanePoint> points(table.n_rows());
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].p = {table.Column("x_m")[i], table.Column("z_m")[i]};
    points[i].q = {table.Column("x_px")[i], table.Column("y_px")[i]};
  }
  return points;
}

// The camera of the rig that the source names, or its only one.
RigCamera CameraOf(const YamlNode& node, const PlanarSource& source) {
  const CameraRig rig = RigFromYaml(source.rig);
  std::vector<std::string> cameras;
  for (const RigCamera& camera : rig.cameras) cameras.push_back(camera.name);
  const auto at = source.camera.empty() && cameras.size() == 1
                      ? cameras.begin()
                      : std::find(cameras.begin(), cameras.end(), source.camera);
  if (at == cameras.end())
    throw node.Fault("camera", source.camera.empty() ? "none" : Excerpt(source.camera),
                     "one of " + JoinNames(cameras));
  return rig.cameras[static_cast<std::size_t>(at - cameras.begin())];
}

// The view of the points in the plane, from a camera at x, z and a distance [m].
PlaneView ViewOf(const YamlNode& node, const PlanarSource& source,
                 const std::vector<double>& camera) {
  try {
    return ViewFromPoints(ReadPlanePoints(source.points), source.point_sd, {camera[0], camera[1]},
                          camera[2]);
  } catch (const ConfigError& error) {
    throw node.Fault("plane_points", fmt::format("{}: {}", source.points.string(), error.what()),
                     "points of the plane of motion");
  }
}

// How well the common factor of all distances is known: by the homography, and by the depth of the
// plane and its slope over the path.
double ScaleSd(const PlanarSource& source, const std::vector<PosedRecording>& recordings) {
  double path = 0;
  for (const auto& [poses, fault] : recordings)
    for (const Eigen::Isometry3d& X_WB : poses.X_WB)
      path = std::max(path, (X_WB.translation() - poses.X_WB.front().translation()).norm());
  const double depth = source.off.depth_sd + source.off.tilt_sd * path;
  const Eigen::Matrix<double, 8, 8>& E = source.view.cov_E;
  return std::hypot(depth / source.view.distance, std::sqrt(std::max(E(0, 0), E(4, 4))));
}

}  // namespace

void Visit(Keys& keys, PlanarSource& o) {
  const YamlNode* const node = keys.reading();
  pipelines::VisitMarkerPlaces(keys, o.layout, 2, "two or more: a planar pose needs them");
  keys.Stated(!o.camera.empty())
      .Text("camera", o.camera, "planar: which camera, where the rig or the tracks have several");
  // No default: 0 would be a claim that somebody has to make.
  keys.Number("depth_sd_m", o.off.depth_sd, NonNegative(),
              "planar: how far bodies may be off the plane of motion", Need::kRequired);
  keys.Number("tilt_sd_rad", o.off.tilt_sd, Closed(0, 1),
              "planar: how much their depth may change along their way, before and after the "
              "impact apart",
              Need::kRequired);
  keys.Number("max_rms_m", o.max_rms, Positive(), "");
  const bool by_rig = node != nullptr ? node->Has("rig") : !o.rig.empty();
  keys.Check(node == nullptr || by_rig != node->Has("plane_points"), "rig",
             by_rig ? "a rig and plane_points" : "neither a rig nor plane_points", "one of them");
  if (by_rig) {
    keys.File("rig", o.rig, "", Need::kRequired);
    double depth = o.view.depth;
    keys.Number("plane_y_m", depth, {},
                "planar, with a rig: the plane of motion is y = plane_y_m of its W");
    if (node != nullptr) o.view = ViewFromCamera(CameraOf(*node, o), depth);
  } else {
    keys.File("plane_points", o.points,
              "planar, without a rig: CSV with x_m, z_m, x_px, y_px (and name) of four or more "
              "points in the plane of motion, no three of four on a line",
              Need::kRequired);
    keys.Number("point_sd_px", o.point_sd, NonNegative(),
                "planar, without a rig: error of the images of the points; their residuals count "
                "where they are larger");
    std::vector<double> camera = {o.view.foot.x(), o.view.foot.y(), o.view.distance};
    keys.Vector(
        "camera_m", camera, 3, {},
        "planar, without a rig: x and z of the camera and its distance from the plane of motion",
        Need::kRequired);
    if (node != nullptr) o.view = ViewOf(*node, o, camera);
  }
  keys.WriteOrder({"camera", "rig", "plane_y_m", "plane_points", "point_sd_px", "camera_m",
                   "depth_sd_m", "tilt_sd_rad", "max_rms_m"});
}

PoseRecordings ReadPlanarRecordings(const PlanarSource& source,
                                    const std::vector<std::filesystem::path>& files) {
  PoseRecordings out;
  std::vector<std::string> names;
  std::vector<Eigen::VectorXd> places;
  for (const PlanarMarker& marker : source.layout) {
    names.push_back(marker.name);
    places.emplace_back(marker.p_BM);
  }
  LayoutDistances distances(names, places);
  std::set<std::string> present;
  std::map<std::string, int> seen;
  for (const auto& file : files) {
    std::vector<MarkerTracks> recordings;
    std::string why;
    try {
      recordings = ReadTracks(file);
    } catch (const DataError& error) {
      recordings.resize(1);
      recordings[0].recording = file.stem().string();
      why = error.what();
    }
    for (MarkerTracks& tracks : recordings) {
      // Two files may hold recordings of one name; the name that stands in the tables must stay a
      // key.
      const int count = seen[tracks.recording]++;
      if (count > 0) tracks.recording = fmt::format("{}~{}", tracks.recording, count + 1);
      PlanarPoses found;
      found.reason = why;
      if (why.empty())
        found = PosesInPlane(tracks, source.view, source.layout, source.camera, source.max_rms,
                             &distances, static_cast<int>(out.recordings.size()));
      present.insert(tracks.markers.begin(), tracks.markers.end());
      found.poses.name = tracks.recording;
      found.poses.planar = true;
      out.recordings.push_back({std::move(found.poses), found.usable ? ""
                                                        : why.empty()
                                                            ? file.string() + ": " + found.reason
                                                            : why});
    }
  }
  pipelines::CheckLayoutNames(names, present);
  out.layout = distances.CompareWithGiven(ScaleSd(source, out.recordings));
  return out;
}

void AddOutOfPlane(const PlanarSource& source, const Body& body, const Plane& floor,
                   MotionFit* motion) {
  for (ImpactEvent& event : motion->events)
    if (event.cov.diagonal().maxCoeff() > 0)
      AddOutOfPlane(source.view, source.layout, source.off, body, floor, &event);
}

}  // namespace impactlab
