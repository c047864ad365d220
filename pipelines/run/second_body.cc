#include "pipelines/run/second_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/base/error.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pipelines::YamlLine;
using pipelines::YamlWord;

Vector3d Direction(const YamlNode& node, const std::string& key) {
  const std::vector<double> v = node.Vector(key, 3);
  const Vector3d d(v[0], v[1], v[2]);
  if (!(d.norm() > 0)) throw node.Fault(key, "a vector of no length", "a direction");
  return d.normalized();
}

std::vector<double> Components(const Vector3d& v) { return {v.x(), v.y(), v.z()}; }

std::string Indented(const std::string& yaml) {
  std::string out;
  for (std::size_t from = 0; from < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', from), yaml.size() - 1) + 1;
    out += "  " + yaml.substr(from, end - from);
    from = end;
  }
  return out;
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

SecondBody ParseSecondBody(const YamlNode& node, const std::string& kind) {
  SecondBody out;
  out.struck.body = pipelines::ParseBody(node.Map("body"), false);
  if (!out.struck.body.mass_known)
    throw node.Map("body").Fault("mass_kg", "none",
                                 "the mass, which an impact of two bodies depends on");
  const YamlNode surface = node.Map("surface");
  out.struck.surface_B = {Direction(surface, "normal"), surface.Number("offset_m")};
  if (node.Has("axis")) {
    const YamlNode map = node.Map("axis");
    FixedAxis axis;
    const std::vector<double> p = map.Vector("point_m", 3);
    axis.p_W = Vector3d(p[0], p[1], p[2]);
    axis.axis_W = Direction(map, "direction");
    if (map.Has("inertia_kg_m2")) axis.inertia = map.Number("inertia_kg_m2", Positive());
    out.struck.axis = axis;
  }
  if (kind == "markers") {
    out.plan = LoadTracking(node.Folder() / node.Text("tracking"));
    if (out.plan->track.layout.empty())
      throw node.Fault("tracking", "a tracking file without markers.layout_m",
                       "one with the places of the markers on the second body");
    if (node.Has("tracks")) out.tracks = node.Folder() / node.Text("tracks");
    return out;
  }
  if (node.Has("files")) out.files = node.Text("files");
  if (kind == "marker_points") {
    out.points = ParsePointSource(node);
    return out;
  }
  out.columns.planar = false;
  const YamlNode columns = node.MapOrEmpty("columns");
  for (const char* key : {"t", "x", "y", "z", "qw", "qx", "qy", "qz"})
    if (columns.Has(key)) out.columns.names[key] = columns.Text(key);
  if (out.files.empty() && out.columns.names.empty())
    throw node.Fault(
        "files", "neither files nor columns",
        "files of its own poses, or columns that name them in the files of the first body");
  return out;
}

std::string ToYaml(const SecondBody& second, const std::filesystem::path& folder) {
  const auto quoted = [](const std::filesystem::path& path) {
    return YamlQuote(std::filesystem::absolute(path).string());
  };
  std::string out = "second_body:\n" + Indented(pipelines::BodyYaml(second.struck.body));
  out += "  surface:\n" + YamlLine(2, "normal", Components(second.struck.surface_B.normal)) +
         YamlLine(2, "offset_m", second.struck.surface_B.offset);
  if (const auto& axis = second.struck.axis) {
    out += "  axis:\n" + YamlLine(2, "point_m", Components(axis->p_W)) +
           YamlLine(2, "direction", Components(axis->axis_W));
    if (axis->inertia > 0) out += YamlLine(2, "inertia_kg_m2", axis->inertia);
  }
  if (second.plan) {
    out += YamlWord(1, "tracking", quoted(second.plan->path));
    if (!second.tracks.empty()) out += YamlWord(1, "tracks", quoted(second.tracks));
    return out;
  }
  if (!second.files.empty()) {
    std::filesystem::path files = second.files;
    if (files.is_relative() && !folder.empty()) files = folder / files;
    out += YamlWord(1, "files", YamlQuote(files.string()));
  }
  if (second.points) return out + ToYaml(*second.points);
  if (!second.columns.names.empty()) out += "  columns:\n";
  for (const auto& [key, name] : second.columns.names) out += YamlWord(2, key, YamlQuote(name));
  return out;
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
