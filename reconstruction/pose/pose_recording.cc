#include "reconstruction/pose/pose_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/column_map.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/math/rotation.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;

// Quaternions are rounded in files, not scaled: more than this from unit length is another kind of
// number.
constexpr double kQuaternionTolerance = 0.01;

struct Key {
  const char* name;
  Quantity quantity;
};
constexpr std::array<Key, 4> kPlanarKeys = {{{"t", Quantity::kTime},
                                             {"x", Quantity::kLength},
                                             {"z", Quantity::kLength},
                                             {"theta", Quantity::kAngle}}};
constexpr std::array<Key, 8> kSpatialKeys = {{{"t", Quantity::kTime},
                                              {"x", Quantity::kLength},
                                              {"y", Quantity::kLength},
                                              {"z", Quantity::kLength},
                                              {"qw", Quantity::kDimensionless},
                                              {"qx", Quantity::kDimensionless},
                                              {"qy", Quantity::kDimensionless},
                                              {"qz", Quantity::kDimensionless}}};

// A column of the file and its factor to SI.
struct Source {
  std::string name;
  double to_si = 1;
  bool none = false;  // not measured
};

// What stands for a column of attitude in the mapping of a file that follows a place of the body
// only.
constexpr std::string_view kNotMeasured = "none";

// Header of the file as a table without rows.
Table ReadHeader(const std::filesystem::path& path) {
  const std::string head = ReadHead(path, std::size_t{1} << 20);
  std::size_t mark = 0;
  ByteOrderMark(head, &mark);
  std::string text;
  for (std::string_view rest = head; !rest.empty();) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    text += line;
    const std::string_view content =
        TrimSpace(text.size() == line.size() ? line.substr(mark) : line);
    if (!content.empty() && content.front() != '#') break;
  }
  CsvOptions options;
  options.min_rows = 0;
  return ParseCsv(text, path.string(), options);
}

Source Find(const Table& header, const Key& key, const PoseColumns& columns) {
  const auto mapping = columns.names.find(key.name);
  const bool attitude =
      key.quantity == Quantity::kAngle || key.quantity == Quantity::kDimensionless;
  const auto quaternion = columns.names.find("qw");
  if (attitude && mapping != columns.names.end() && mapping->second == kNotMeasured)
    return {key.name, 1, true};
  if (key.quantity == Quantity::kDimensionless && quaternion != columns.names.end() &&
      quaternion->second == kNotMeasured)
    return {key.name, 1, true};
  if (mapping != columns.names.end()) {
    const MappedColumn mapped = MapColumn(header, key.name, key.quantity, mapping->second);
    return {mapped.name, mapped.to_si};
  }
  if (key.quantity == Quantity::kDimensionless) {
    header.Column(key.name);
    return {key.name, 1};
  }
  const std::string name = ColumnNameOf(header, key.name, key.quantity);
  return {name, SplitUnit(name).to_si};
}

// The columns asked for, in SI; the others may hold anything.
struct PoseTable {
  Table table;
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
};

template <std::size_t N>
PoseTable ReadColumns(const std::filesystem::path& path, const PoseColumns& columns,
                      const std::array<Key, N>& keys) {
  const Table header = ReadHeader(path);
  std::vector<Source> sources;
  sources.reserve(keys.size());
  for (const Key& key : keys) sources.push_back(Find(header, key, columns));
  CsvOptions options;
  for (const std::string& name : header.columns) {
    if (std::none_of(sources.begin(), sources.end(),
                     [&](const Source& s) { return s.name == name; }))
      options.text_columns.push_back(name);
  }
  PoseTable out;
  out.table = ReadCsv(path, options);
  for (const Source& source : sources) {
    out.names.push_back(source.name);
    if (source.none) {
      out.values.emplace_back(out.table.n_rows(), source.name == "qw" ? 1.0 : 0.0);
      continue;
    }
    out.values.push_back(out.table.Column(source.name));
    for (double& value : out.values.back()) value *= source.to_si;
  }
  return out;
}

template <std::size_t N>
void CheckKeys(const PoseColumns& columns, const std::array<Key, N>& keys) {
  std::vector<std::string> known;
  known.reserve(keys.size());
  for (const Key& key : keys) known.push_back(key.name);
  for (const auto& [key, name] : columns.names) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string nearest = NearestName(key, known);
    throw ConfigError(
        fmt::format("columns: found key '{}', {}allowed: {}", key,
                    nearest.empty() ? std::string() : fmt::format("nearest is '{}', ", nearest),
                    JoinNames(known)));
  }
}

void CheckTimes(const PoseTable& poses) {
  const std::vector<double>& t = poses.values[0];
  for (std::size_t i = 0; i + 1 < t.size(); ++i) {
    if (t[i + 1] > t[i]) continue;
    throw poses.table.Fault(
        i + 1, poses.names[0],
        fmt::format("{} s{} {} s", t[i + 1], t[i + 1] == t[i] ? " again after" : " after", t[i]),
        "time stamps that increase from row to row");
  }
}

}  // namespace

PoseRecording ReadPoses(const std::filesystem::path& path, const PoseColumns& columns) {
  PoseTable poses;
  if (columns.planar) {
    CheckKeys(columns, kPlanarKeys);
    poses = ReadColumns(path, columns, kPlanarKeys);
  } else {
    CheckKeys(columns, kSpatialKeys);
    poses = ReadColumns(path, columns, kSpatialKeys);
  }
  CheckTimes(poses);
  const std::vector<std::vector<double>>& v = poses.values;
  PoseRecording recording;
  recording.name = path.stem().string();
  recording.planar = columns.planar;
  recording.t = v[0];
  const std::size_t n = recording.t.size();
  recording.X_WB.reserve(n);
  if (columns.planar) {
    recording.theta = v[3];
    double turns = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) turns += std::round((v[3][i - 1] - v[3][i]) / (2 * M_PI));
      recording.theta[i] += 2 * M_PI * turns;
      recording.X_WB.push_back(PlanarPose(v[1][i], v[2][i], recording.theta[i]));
    }
    return recording;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Quaterniond q(v[4][i], v[5][i], v[6][i], v[7][i]);
    if (!(std::abs(q.norm() - 1) <= kQuaternionTolerance)) {
      throw poses.table.Fault(i, poses.names[4],
                              fmt::format("a quaternion of length {:.6g}", q.norm()),
                              fmt::format("length 1 within {}", kQuaternionTolerance));
    }
    Isometry3d X_WB = Isometry3d::Identity();
    X_WB.linear() = q.normalized().toRotationMatrix();
    X_WB.translation() = Vector3d(v[1][i], v[2][i], v[3][i]);
    recording.X_WB.push_back(X_WB);
  }
  return recording;
}

bool IsIdentity(const FrameCorrection& c) {
  return c.rotation_offset_B.isZero(0) && c.com_offset_B.isZero(0) && c.length_scale == 1 &&
         c.clock_rate == 1 && !c.mirrored && !c.theta_flipped && c.floor_offset == 0 &&
         c.floor_tilt == 0;
}

PoseRecording Correct(const PoseRecording& recording, const FrameCorrection& correction) {
  if (!(std::isfinite(correction.length_scale) && correction.length_scale > 0)) {
    throw ConfigError(fmt::format("length_scale: found {}, allowed a finite number > 0",
                                  correction.length_scale));
  }
  if (!(std::isfinite(correction.clock_rate) && correction.clock_rate > 0)) {
    throw ConfigError(
        fmt::format("clock_rate: found {}, allowed a finite number > 0", correction.clock_rate));
  }
  PoseRecording out = recording;
  const Matrix3d undo = ExpSO3(correction.rotation_offset_B).transpose();
  for (std::size_t i = 0; i < out.X_WB.size(); ++i) {
    if (i < out.t.size()) out.t[i] /= correction.clock_rate;
    Vector3d p = out.X_WB[i].translation() / correction.length_scale;
    Matrix3d R;
    if (recording.planar) {
      if (correction.mirrored) p.x() = -p.x();
      out.theta[i] =
          (correction.theta_flipped ? -1 : 1) * recording.theta[i] - correction.theta_offset();
      R = PlanarPose(0, 0, out.theta[i]).linear();
    } else {
      R = recording.X_WB[i].linear();
      // Attitudes stay: a recording mirrored as a whole is as right as its image, and nothing could
      // tell.
      if (correction.mirrored) p.y() = -p.y();
      R = R * undo;
    }
    out.X_WB[i].linear() = R;
    out.X_WB[i].translation() = p + R * correction.com_offset_B;
  }
  return out;
}

Plane CorrectedFloor(const Plane& floor, const FrameCorrection& correction) {
  const double length = floor.normal.norm();
  if (!(std::isfinite(length) && length > 0))
    throw ConfigError(
        "floor: normal: found a vector without direction, allowed a finite vector that is not "
        "zero");
  const Vector3d n = floor.normal / length;
  const Vector3d foot = n * (floor.offset / length + correction.floor_offset);
  Plane out;
  out.normal = ExpSO3(Vector3d(0, -correction.floor_tilt, 0)) * n;
  out.offset = out.normal.dot(foot);
  return out;
}

}  // namespace impactlab
