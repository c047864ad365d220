#include "pipelines/run/point_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/config/named_places.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;

constexpr EnumWord<PointNoise> kNoises[] = {{PointNoise::kFlights, "flights"},
                                            {PointNoise::kDistances, "distances"},
                                            {PointNoise::kStated, "stated"}};
constexpr EnumWord<UpAxis> kUpAxes[] = {{UpAxis::kX, "x"}, {UpAxis::kY, "y"}, {UpAxis::kZ, "z"}};

double RootMeanSquare(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

void AddFrames(const MarkerPoints& points, const std::vector<int>& frames,
               const std::vector<std::string>& layout, int recording, LayoutDistances* distances) {
  for (const int frame : frames) {
    std::vector<std::pair<int, Eigen::VectorXd>> seen;
    for (std::size_t m = 0; m < points.markers.size(); ++m) {
      const auto at = std::find(layout.begin(), layout.end(), points.markers[m]);
      const std::optional<Eigen::Vector3d>& p = points.p_WM[m][static_cast<std::size_t>(frame)];
      if (at != layout.end() && p) seen.emplace_back(static_cast<int>(at - layout.begin()), *p);
    }
    distances->Add(recording, seen);
  }
}

}  // namespace

void Visit(Keys& keys, PointSource& o) {
  const YamlNode* const node = keys.reading();
  const char* const enough =
      "three or more: the pose of a body needs them; or one in the centre of a ball";
  pipelines::VisitMarkerPlaces(keys, o.layout, 1, enough);
  const bool centre = o.layout.size() == 1 && o.layout.front().p_BM.isZero(0);
  keys.Check(centre || o.layout.size() >= 3, "names", fmt::format("{} markers", o.layout.size()),
             enough);
  keys.Texts("learned_names", o.learned, "points: further markers whose places are learned");
  std::set<std::string> seen;
  for (const NamedMarker& marker : o.layout) seen.insert(marker.name);
  for (const std::string& name : o.learned)
    keys.Check(seen.insert(name).second, "learned_names", Excerpt(name) + " again",
               "names that `names` does not hold, every one once");
  keys.Flag("learn_layout", o.learn,
            "points: places from all frames of all recordings; those given hold the frame B in the "
            "least squares");
  o.learn = o.learn || !o.learned.empty();
  keys.Check(!(centre && o.learn), "learn_layout", "it with one marker", "it with three or more");
  UpAxis up = o.up.value_or(UpAxis::kX);
  keys.Stated(o.up.has_value())
      .Word("up_axis", up, kUpAxes,
            "points: axis of the files that points up. Default: what a C3D says, else z");
  if (node != nullptr && node->Has("up_axis")) o.up = up;
  if (node != nullptr && node->Has("sd_m")) o.noise = PointNoise::kStated;
  keys.Word("noise", o.noise, kNoises,
            "points: noise of the poses from the recording's own flights (errors common to all "
            "markers count), from the rigid distances of all recordings (they do not show), or "
            "stated. Default: flights; stated with sd_m");
  if (o.noise == PointNoise::kStated)
    keys.Number("sd_m", o.sd, Positive(),
                "points: standard deviation of one coordinate of a marker, with noise: stated",
                pipelines::Need::kRequired);
  else
    keys.Check(node == nullptr || !node->Has("sd_m"), "sd_m",
               std::string("it with noise: ") + kNoises[static_cast<std::size_t>(o.noise)].word,
               "it with noise: stated");
  keys.Check(!centre || o.noise != PointNoise::kDistances, "noise", "distances with one marker",
             "flights or stated");
  keys.Number("max_rms_m", o.max_rms, Positive(),
              "points: what the layout may leave in a frame before it is left out");
}

namespace {

// Files that could be read, and the place of each among all.
struct ReadablePoints {
  std::vector<MarkerPoints> points;
  std::vector<std::size_t> place;
};

ReadablePoints ReadPointFiles(const PointSource& source,
                              const std::vector<std::filesystem::path>& files,
                              const std::vector<std::string>& names, PointReport* report) {
  ReadablePoints out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    PointFile& file = report->files.emplace_back();
    file.path = files[i];
    file.recording = names[i];
    try {
      MarkerFile read = ReadMarkerFile(files[i], {.up = source.up});
      read.points.name = names[i];
      file.frames = static_cast<int>(read.points.t.size());
      file.notes = std::move(read.notes);
      out.points.push_back(std::move(read.points));
      out.place.push_back(i);
    } catch (const DataError& error) {
      file.bad = error.what();
    }
  }
  return out;
}

LayoutDistances DistancesOf(const std::vector<NamedMarker>& layout,
                            const std::vector<MarkerPoints>& recordings) {
  std::set<std::string> present;
  for (const MarkerPoints& points : recordings)
    present.insert(points.markers.begin(), points.markers.end());
  std::vector<std::string> given;
  std::vector<Eigen::VectorXd> places;
  for (const NamedMarker& marker : layout) {
    given.push_back(marker.name);
    places.emplace_back(marker.p_BM);
  }
  pipelines::CheckLayoutNames(given, present);
  return LayoutDistances(given, places);
}

// The layout and the noise of a coordinate: as given, or from all recordings together.
void SettleLayout(const PointSource& source, const std::vector<MarkerPoints>& recordings,
                  const PointPoseOptions& how, PointReport* report) {
  report->layout = source.layout;
  if (!recordings.empty() && (source.learn || source.noise == PointNoise::kDistances)) {
    const PointLayout learned = LearnPointLayout(recordings, source.layout, source.learned, how);
    if (!learned.usable)
      throw DataError("the layout of the markers cannot be learned: " + learned.reason);
    if (source.learn) report->layout = learned.markers;
    report->sd = learned.sd;
    if (source.noise == PointNoise::kDistances && !(report->sd > 0))
      throw DataError(
          "noise: distances: found no distance to spare, allowed more than three markers or a "
          "layout that is not exact");
  }
  if (source.noise == PointNoise::kStated) report->sd = source.sd;
}

}  // namespace

PoseRecordings ReadPointRecordings(const PointSource& source,
                                   const std::vector<std::filesystem::path>& files,
                                   const std::vector<std::string>& names) {
  PoseRecordings out;
  PointReport& report = out.points.emplace();
  const ReadablePoints good = ReadPointFiles(source, files, names, &report);
  LayoutDistances distances = DistancesOf(source.layout, good.points);
  std::vector<std::string> given;
  for (const NamedMarker& marker : source.layout) given.push_back(marker.name);
  PointPoseOptions how;
  how.max_rms = source.max_rms;
  SettleLayout(source, good.points, how, &report);
  out.recordings.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.recordings[i].poses.name = names[i];
    out.recordings[i].fault = report.files[i].bad;
  }
  for (std::size_t k = 0; k < good.points.size(); ++k) {
    const MarkerPoints& points = good.points[k];
    PosedRecording& recording = out.recordings[good.place[k]];
    PointFile& file = report.files[good.place[k]];
    for (const NamedMarker& marker : report.layout)
      file.markers +=
          static_cast<int>(std::count(points.markers.begin(), points.markers.end(), marker.name));
    PointPoses found = PosesFromPoints(points, report.layout, how);
    file.poses = static_cast<int>(found.frames.size());
    file.too_few = found.too_few;
    file.collinear = found.collinear;
    file.misfit = found.misfit;
    file.rms = RootMeanSquare(found.rms);
    file.worst = found.worst;
    if (!found.usable) {
      recording.fault = file.bad = fmt::format("{}: {}", file.path.string(), found.reason);
      continue;
    }
    AddFrames(points, found.frames, given, static_cast<int>(k), &distances);
    recording.poses = std::move(found.poses);
  }
  out.layout = distances.CompareWithGiven();
  return out;
}

void SetPoseNoise(const PointSource& source, const PointReport& report, MotionFitOptions* motion) {
  if (source.noise == PointNoise::kFlights || !(report.sd > 0)) return;
  if (report.layout.size() == 1) {  // the centre of a ball, without attitude
    if (motion->sigma_position == 0) motion->sigma_position = report.sd;
    return;
  }
  const PoseNoise noise = PoseNoiseOf(report.layout, report.sd);
  if (motion->sigma_position == 0) motion->sigma_position = noise.position;
  if (motion->sigma_angle == 0) motion->sigma_angle = noise.angle;
}

void WritePointFiles(const std::filesystem::path& path, const PointReport& report) {
  CsvWriter out(path, {"recording", "usable", "reason", "markers", "frames", "poses", "too_few",
                       "collinear", "misfit", "rms_m", "worst", "notes"});
  for (const PointFile& file : report.files) {
    out.Text(file.recording)
        .Integer(file.bad.empty())
        .Text(file.bad)
        .Integer(file.markers)
        .Integer(file.frames)
        .Integer(file.poses);
    out.Integer(file.too_few)
        .Integer(file.collinear)
        .Integer(file.misfit)
        .Number(file.rms)
        .Text(file.worst);
    out.Text(JoinNames(file.notes, " ")).EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
