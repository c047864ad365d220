#include "pipelines/run/planar_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/config/named_places.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::YamlLine;
using pipelines::YamlWord;

std::vector<PlanePoint> ReadPlanePoints(const std::filesystem::path& path) {
  const Table table = ReadCsv(path, {.text_columns = {"name"}, .is_text = {}});
  std::vector<PlanePoint> points(table.n_rows());
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].p = {table.Column("x_m")[i], table.Column("z_m")[i]};
    points[i].q = {table.Column("x_px")[i], table.Column("y_px")[i]};
  }
  return points;
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

PlanarSource ParsePlanarSource(const YamlNode& node) {
  PlanarSource out;
  for (const auto& [name, place] :
       pipelines::NamedPlaces(node, 2, 2, "two or more: a planar pose needs them"))
    out.layout.push_back({name, Eigen::Vector2d(place[0], place[1])});
  out.camera = node.Has("camera") ? node.Text("camera") : "";
  // No default: 0 would be a claim that somebody has to make.
  out.off.depth_sd = node.Number("depth_sd_m", NonNegative());
  out.off.tilt_sd = node.Number("tilt_sd_rad", Closed(0, 1));
  out.max_rms = node.Number("max_rms_m", out.max_rms, Positive());
  if (node.Has("rig") == node.Has("plane_points"))
    throw node.Fault("rig",
                     node.Has("rig") ? "a rig and plane_points" : "neither a rig nor plane_points",
                     "one of them");
  if (node.Has("rig")) {
    out.rig = node.Folder() / node.Text("rig");
    const CameraRig rig = RigFromYaml(out.rig);
    std::vector<std::string> cameras;
    for (const RigCamera& camera : rig.cameras) cameras.push_back(camera.name);
    const auto at = out.camera.empty() && cameras.size() == 1
                        ? cameras.begin()
                        : std::find(cameras.begin(), cameras.end(), out.camera);
    if (at == cameras.end())
      throw node.Fault("camera", out.camera.empty() ? "none" : Excerpt(out.camera),
                       "one of " + JoinNames(cameras));
    out.view = ViewFromCamera(rig.cameras[static_cast<std::size_t>(at - cameras.begin())],
                              node.Number("plane_y_m", 0.0));
    return out;
  }
  out.points = node.Folder() / node.Text("plane_points");
  out.point_sd = node.Number("point_sd_px", out.point_sd, NonNegative());
  const std::vector<double> camera = node.Vector("camera_m", 3);
  try {
    out.view = ViewFromPoints(ReadPlanePoints(out.points), out.point_sd, {camera[0], camera[1]},
                              camera[2]);
  } catch (const ConfigError& error) {
    throw node.Fault("plane_points", fmt::format("{}: {}", out.points.string(), error.what()),
                     "points of the plane of motion");
  }
  return out;
}

std::string ToYaml(const PlanarSource& source) {
  const auto quoted = [](const std::filesystem::path& path) {
    return YamlQuote(std::filesystem::absolute(path).string());
  };
  std::vector<std::string> names, rows;
  for (const PlanarMarker& marker : source.layout) {
    names.push_back(YamlQuote(marker.name));
    rows.push_back(
        fmt::format("[{}, {}]", FormatNumber(marker.p_BM.x()), FormatNumber(marker.p_BM.y())));
  }
  std::string out = YamlWord(1, "names", "[" + JoinNames(names) + "]") +
                    YamlWord(1, "layout_m", "[" + JoinNames(rows) + "]");
  if (!source.camera.empty()) out += YamlWord(1, "camera", YamlQuote(source.camera));
  if (!source.rig.empty()) {
    out += YamlWord(1, "rig", quoted(source.rig)) + YamlLine(1, "plane_y_m", source.view.depth);
  } else {
    out += YamlWord(1, "plane_points", quoted(source.points)) +
           YamlLine(1, "point_sd_px", source.point_sd) +
           YamlLine(1, "camera_m",
                    std::vector<double>{source.view.foot.x(), source.view.foot.y(),
                                        source.view.distance});
  }
  return out + YamlLine(1, "depth_sd_m", source.off.depth_sd) +
         YamlLine(1, "tilt_sd_rad", source.off.tilt_sd) + YamlLine(1, "max_rms_m", source.max_rms);
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
