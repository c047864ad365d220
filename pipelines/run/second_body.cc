#include "pipelines/run/second_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/base/error.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pipelines::Keys;
using pipelines::Need;

void VisitAxis(Keys& keys, FixedAxis& axis) {
  pipelines::VisitVector(keys, "point_m", axis.p_W, {}, "a point of the axis", Need::kRequired);
  pipelines::VisitDirection(keys, "direction", axis.axis_W, false, "of the axis, of any length");
  keys.Stated(axis.inertia > 0)
      .Number("inertia_kg_m2", axis.inertia, Positive(),
              "moment of inertia about the axis, as measured. Default: from body and the place of "
              "its centre");
}

// A glob, from the root of the file system where the folder of the experiment is known.
std::string FromFolder(const std::filesystem::path& files, const std::filesystem::path& folder) {
  return files.is_relative() && !folder.empty() ? (folder / files).string() : files.string();
}

// Of the files that match, the one of a name.
std::map<std::string, std::filesystem::path> ByStem(
    const std::vector<std::filesystem::path>& files) {
  std::map<std::string, std::filesystem::path> out;
  for (const auto& file : files) {
    const auto [it, fresh] = out.emplace(file.stem().string(), file);
    if (!fresh)
      throw DataError(fmt::format("second_body.files: found {} and {}, allowed one file of a name",
                                  it->second.string(), file.string()));
  }
  return out;
}

}  // namespace

void VisitSecondBody(Keys& keys, SecondBody& o, const std::string& kind,
                     const std::filesystem::path& folder) {
  const bool reading = keys.reading() != nullptr;
  keys.Map(
      "body", "As `body`, with mass_kg.",
      [&](Keys& k) {
        pipelines::VisitBody(k, o.struck.body, false);
        k.Check(o.struck.body.mass_known, "mass_kg", "none",
                "the mass, which an impact of two bodies depends on");
      },
      Need::kRequired);
  keys.Map(
      "surface", "its surface that is struck, normal . p = offset in its own frame B",
      [&](Keys& k) {
        pipelines::VisitDirection(k, "normal", o.struck.surface_B.normal, false, "out of it");
        k.Number("offset_m", o.struck.surface_B.offset, {}, "from its centre of mass",
                 Need::kRequired);
      },
      Need::kRequired);
  keys.Stated(o.struck.axis.has_value())
      .Map("axis", "a fixed axis in W about which it turns without friction. Default: it is free",
           [&](Keys& k) {
             if (reading) o.struck.axis.emplace();
             VisitAxis(k, *o.struck.axis);
           });
  if (kind == "markers") {
    if (reading) o.plan.emplace();
    std::filesystem::path tracking = o.plan->path;
    keys.File("tracking", tracking,
              "markers: tracking file with its own names and layout_m, of the same cameras and "
              "recordings",
              Need::kRequired);
    if (reading) o.plan = LoadTracking(tracking);
    keys.Check(!o.plan->track.layout.empty(), "tracking",
               "a tracking file without markers.layout_m",
               "one with the places of the markers on the second body");
    keys.File("tracks", o.tracks,
              "markers: tracks that are there already. Default: recordings.tracks, which then "
              "holds the markers of both; without it the videos");
    return;
  }
  keys.Custom(
      "files",
      "poses, points: glob of its files, each named as the file of the first body it belongs to. "
      "Default: the files of the first body hold both",
      [&](const YamlNode& map, const char* key) {
        if (map.Has(key)) o.files = map.Text(key);
      },
      [&] { return o.files.empty() ? "" : YamlQuote(FromFolder(o.files, folder)); });
  if (kind == "marker_points") {
    if (reading) o.points.emplace();
    Visit(keys, *o.points);
    keys.Check(o.points->layout.size() >= 3, "names", "one marker",
               "three or more: the pose of what is struck needs them");
    return;
  }
  o.columns.planar = false;
  pipelines::VisitColumns(keys, o.columns);
  keys.Check(!o.files.empty() || !o.columns.names.empty(), "files", "neither files nor columns",
             "files of its own poses, or columns that name them in the files of the first body");
}

namespace {

// Of every file of the first body the partner of the same name; a recording without one has a
// fault.
std::vector<std::filesystem::path> FindPartners(
    const SecondBody& second, const std::filesystem::path& folder,
    const std::vector<std::filesystem::path>& first_files, SecondRecordings* out) {
  std::vector<std::filesystem::path> files = first_files;
  const std::vector<std::filesystem::path> found = ExpandGlob(second.files, folder);
  const std::map<std::string, std::filesystem::path> by_stem = ByStem(found);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto partner = by_stem.find(first_files[i].stem().string());
    if (partner == by_stem.end()) {
      out->poses.recordings[i].fault = fmt::format(
          "no recording of the second body: found {} files for second_body.files '{}', none "
          "named {}",
          found.size(), second.files, first_files[i].stem().string());
      continue;
    }
    files[i] = partner->second;
    out->files.push_back(partner->second);
  }
  if (out->files.empty())
    throw DataError(
        fmt::format("second_body.files: found {} files for '{}' and none named as one of the "
                    "first body ({}), allowed: for "
                    "every recording of the first body one of the same name in another folder",
                    found.size(), second.files, first_files.front().stem().string()));
  return files;
}

}  // namespace

SecondRecordings ReadSecondBody(const SecondBody& second, const std::filesystem::path& folder,
                                const std::vector<std::filesystem::path>& first_files,
                                const std::vector<std::string>& names) {
  SecondRecordings out;
  out.poses.recordings.resize(first_files.size());
  for (std::size_t i = 0; i < names.size(); ++i) out.poses.recordings[i].poses.name = names[i];
  const std::vector<std::filesystem::path> files =
      second.files.empty() ? first_files : FindPartners(second, folder, first_files, &out);
  std::vector<std::size_t> place;
  std::vector<std::filesystem::path> usable;
  std::vector<std::string> usable_names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!out.poses.recordings[i].fault.empty()) continue;
    place.push_back(i);
    usable.push_back(files[i]);
    usable_names.push_back(names[i]);
  }
  if (second.points) {
    PoseRecordings read = ReadPointRecordings(*second.points, usable, usable_names);
    for (std::size_t k = 0; k < place.size(); ++k) {
      PosedRecording& recording = out.poses.recordings[place[k]];
      recording = std::move(read.recordings[k]);
      if (!recording.fault.empty()) recording.fault = "second body: " + recording.fault;
    }
    out.poses.layout = std::move(read.layout);
    out.poses.points = std::move(read.points);
    return out;
  }
  for (std::size_t k = 0; k < place.size(); ++k) {
    PosedRecording& recording = out.poses.recordings[place[k]];
    try {
      recording.poses = ReadPoses(usable[k], second.columns);
      recording.poses.name = usable_names[k];
    } catch (const DataError& error) {
      recording.fault = std::string("second body: ") + error.what();
    }
  }
  return out;
}

MotionFit FitRelativeMotion(const PoseRecording& first, const Body& body,
                            const PoseRecording& second, const StruckBody& struck,
                            const MotionFitOptions& options) {
  // A floor out of reach: the surface that is struck is the other body's.
  MotionFit out = FitFlights(first, body, {Vector3d::UnitZ(), -1e6}, options);
  out.rests.clear();
  ImpactEvent none;
  none.recording = first.name;
  none.reason = RejectReason::kNoImpact;
  if (first.t.empty() || second.t.empty()) {
    none.reason = RejectReason::kBadRecording;
    none.detail = fmt::format("no pose of the {} body", first.t.empty() ? "first" : "second");
  } else if (first.t.back() <= second.t.front() || second.t.back() <= first.t.front()) {
    none.reason = RejectReason::kBadRecording;
    none.detail = fmt::format(
        "the recordings of the two bodies have no common time: found {:.6g} to {:.6g} s and {:.6g} "
        "to {:.6g} s",
        first.t.front(), first.t.back(), second.t.front(), second.t.back());
  } else {
    for (TwoBodyEvent& event : FitTwoBodies(first, body, second, struck, options)) {
      if (options.first_impacts > 0 && static_cast<int>(out.events.size()) >= options.first_impacts)
        break;
      out.events.push_back(std::move(event.event));
    }
    none.detail =
        "no break between two flights of the first body at which it touches the surface of the "
        "second";
  }
  if (out.events.empty()) out.events.push_back(std::move(none));
  return out;
}

std::vector<ImpactEvent> SeenFromSurface(std::span<const ImpactEvent> events, const Body& body,
                                         const StruckBody& struck, const Vector3d& gravity_W) {
  std::vector<ImpactEvent> out;
  for (const ImpactEvent& event : events) {
    ImpactEvent& e = out.emplace_back(event);
    if (!event.struck) continue;
    const Matrix3d turn = event.contact.X_WF.linear().transpose();
    // Where the surface is by the poses of the second body, not by the lowest point of the first:
    // the height says something then.
    const Vector3d on_surface =
        event.struck->X_WB * Vector3d(struck.surface_B.offset * struck.surface_B.normal);
    const double gap = event.struck->normal.dot(event.p_WP - on_surface);
    const Vector3d foot = event.p_WP - gap * event.struck->normal;
    e.struck.reset();
    e.X_WB.linear() = turn * event.X_WB.linear();
    e.X_WB.translation() = turn * (event.X_WB.translation() - foot);
    e.p_WP = turn * (event.p_WP - foot);
    for (auto [to, from] :
         {std::pair(&e.v_minus, &event.v_minus), std::pair(&e.omega_minus, &event.omega_minus),
          std::pair(&e.v_plus, &event.v_plus), std::pair(&e.omega_plus, &event.omega_plus)})
      *to = turn * *from;
    EventCovariance map = EventCovariance::Zero();
    for (int k = 0; k < kEventDim; k += 3) map.block<3, 3>(k, k) = turn;
    e.cov = map * event.cov * map.transpose();
    UpdateContact(e, body, Plane{}, turn * gravity_W);
  }
  return out;
}

MomentumClosure ClosureOf(std::span<const ImpactEvent> events) {
  MomentumClosure out;
  for (const ImpactEvent& event : events) {
    if (!event.accepted || !event.struck) continue;
    ++out.impacts;
    out.chi_square += event.struck->closure_chi_square;
    out.dof += event.struck->closure_dof;
  }
  if (out.dof > 0) out.probability = 1 - ChiSquareCdf(out.chi_square, out.dof);
  out.ok = out.probability >= kClosureLevel;
  return out;
}

std::string ToWords(const MomentumClosure& closure) {
  if (closure.impacts == 0)
    return "no impact of the two bodies was accepted: whether their momentum closes cannot be told";
  const std::string figures = fmt::format(
      "chi-square {:.1f} of {} dof over {} impact{}, probability {:.2g}", closure.chi_square,
      closure.dof, closure.impacts, closure.impacts == 1 ? "" : "s", closure.probability);
  return closure.ok ? "the momentum of both bodies closes: " + figures
                    : "the momentum of both bodies does not close: " + figures +
                          fmt::format(
                              ", allowed at least {:g}; masses, inertia, the axis or the poses of "
                              "one body are wrong",
                              kClosureLevel);
}

std::string ToJson(const MomentumClosure& closure) {
  return fmt::format(
      "{{\"impacts\": {}, \"chi_square\": {}, \"dof\": {}, \"probability\": {}, \"ok\": {}}}\n",
      closure.impacts, FormatNumber(closure.chi_square), closure.dof,
      FormatNumber(closure.probability), closure.ok);
}

}  // namespace impactlab
