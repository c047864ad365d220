#include "reconstruction/formats/marker_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "reconstruction/formats/detail/marker_table.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr std::size_t kLargestFile = std::size_t{1} << 30;

// Rows are the axes of W in the file.
Matrix3d Turn(UpAxis up) {
  Matrix3d R_WF = Matrix3d::Identity();
  if (up == UpAxis::kY) R_WF << 1, 0, 0, 0, 0, -1, 0, 1, 0;
  if (up == UpAxis::kX) R_WF << 0, 1, 0, 0, 0, 1, 1, 0, 0;
  return R_WF;
}

}  // namespace

const char* ToString(MarkerFormat format) {
  return format == MarkerFormat::kCsv ? "csv" : format == MarkerFormat::kTrc ? "trc" : "c3d";
}

std::optional<MarkerFormat> MarkerFormatFromString(const std::string& name) {
  for (const MarkerFormat format : {MarkerFormat::kCsv, MarkerFormat::kTrc, MarkerFormat::kC3d})
    if (name == ToString(format)) return format;
  return std::nullopt;
}

std::optional<MarkerFormat> MarkerFormatOf(const std::filesystem::path& path) {
  const std::string extension = LowerCase(path.extension().string());
  return extension.empty() ? std::nullopt : MarkerFormatFromString(extension.substr(1));
}

const char* ToString(UpAxis axis) {
  return axis == UpAxis::kX ? "x" : axis == UpAxis::kY ? "y" : "z";
}

std::optional<UpAxis> UpAxisFromString(const std::string& name) {
  for (const UpAxis axis : {UpAxis::kX, UpAxis::kY, UpAxis::kZ})
    if (name == ToString(axis)) return axis;
  return std::nullopt;
}

namespace reconstruction {

// Axes change places, so that no bit of a coordinate is lost; a product with zeros would turn a
// negative zero.
Vector3d ToWorld(const Vector3d& p, UpAxis up) {
  if (up == UpAxis::kY) return {p.x(), -p.z(), p.y()};
  if (up == UpAxis::kX) return {p.y(), p.z(), p.x()};
  return p;
}

Vector3d FromWorld(const Vector3d& p_W, UpAxis up) {
  if (up == UpAxis::kY) return {p_W.x(), p_W.z(), -p_W.y()};
  if (up == UpAxis::kX) return {p_W.z(), p_W.x(), p_W.y()};
  return p_W;
}

Matrix3d ToWorld(const Matrix3d& cov, UpAxis up) { return Turn(up) * cov * Turn(up).transpose(); }
Matrix3d FromWorld(const Matrix3d& cov_W, UpAxis up) {
  return Turn(up).transpose() * cov_W * Turn(up);
}

MarkerPoints EmptyPoints(std::vector<std::string> markers, std::size_t frames) {
  MarkerPoints points;
  points.p_WM.assign(markers.size(), std::vector<std::optional<Vector3d>>(frames));
  points.markers = std::move(markers);
  points.t.assign(frames, 0.0);
  return points;
}

void TidyNames(std::vector<std::string>* names, std::vector<std::string>* notes) {
  int unnamed = 0, repeated = 0;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names->size(); ++i) {
    std::string name((*names)[i]);
    while (const auto fault = FindTextFault(name)) name[fault->offset] = '?';
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, '?');
    name = std::string(TrimSpace(name));
    if (name.empty()) {
      name = fmt::format("M{}", i + 1);
      ++unnamed;
    }
    const std::string own = name;
    for (int count = 2; !seen.insert(name).second; ++count) name = fmt::format("{}~{}", own, count);
    repeated += name != own;
    (*names)[i] = name;
  }
  if (unnamed > 0)
    notes->push_back(fmt::format(
        "{} markers have no name and are called after their place, M1 being the first", unnamed));
  if (repeated > 0)
    notes->push_back(fmt::format(
        "{} names stand more than once; later ones are called NAME~2 and on", repeated));
}

bool IsPlainZero(const Vector3d& p) {
  for (int k = 0; k < 3; ++k)
    if (p[k] != 0 || std::signbit(p[k])) return false;
  return true;
}

}  // namespace reconstruction

MarkerFile ReadMarkerFile(const std::filesystem::path& path, const MarkerReadOptions& options) {
  const std::string head = ReadHead(path, 512);
  if (head.empty())
    throw DataError(
        fmt::format("{}: found an empty file, allowed a marker CSV, TRC or C3D", path.string()));
  MarkerFile file;
  const bool binary = head.find('\0') != std::string::npos;
  std::size_t mark = 0;
  ByteOrderMark(head, &mark);
  if (head.size() >= 2 && static_cast<unsigned char>(head[1]) == 0x50 && binary) {
    file = reconstruction::ReadC3d(ReadFile(path, kLargestFile), path.string(), options);
  } else if (std::string_view(head).substr(mark).starts_with("PathFileType")) {
    file = reconstruction::ReadTrc(ReadFile(path, kLargestFile), path.string(), options);
  } else if (MarkerFormatOf(path) == MarkerFormat::kTrc) {
    throw DataError(
        fmt::format("{}: row 1: found {}, allowed PathFileType, with which a TRC file begins",
                    path.string(), Excerpt(head.substr(0, head.find_first_of("\t\r\n")))));
  } else if (MarkerFormatOf(path) == MarkerFormat::kC3d) {
    throw DataError(
        fmt::format("{}: byte 2: found {:#04x}, allowed 0x50, with which a C3D file is marked",
                    path.string(), head.size() < 2 ? 0 : static_cast<unsigned char>(head[1])));
  } else {
    file = reconstruction::ReadMarkerCsv(path, options);
  }
  file.points.name = path.stem().string();
  return file;
}

std::vector<std::string> WriteMarkerFile(const std::filesystem::path& path,
                                         const MarkerPoints& points,
                                         const MarkerWriteOptions& options) {
  CheckMarkerPoints(points);
  const std::optional<MarkerFormat> format = options.format ? options.format : MarkerFormatOf(path);
  if (!format)
    throw ConfigError(fmt::format("{}: found extension {}, allowed .csv, .trc, .c3d", path.string(),
                                  Excerpt(path.extension().string())));
  if (options.unit != "m" && options.unit != "mm")
    throw ConfigError(
        fmt::format("unit of markers: found {}, allowed m, mm", Excerpt(options.unit)));
  std::vector<std::string> notes;
  const bool has_cov = !points.cov.empty();
  if (*format == MarkerFormat::kCsv) {
    reconstruction::WriteMarkerCsv(path, points, options);
    if (!points.events.empty())
      notes.push_back(
          fmt::format("a CSV of markers holds no events: {} left out", points.events.size()));
  } else if (*format == MarkerFormat::kTrc) {
    WriteFile(path, reconstruction::TrcText(points, options, path.filename().string()));
    if (!points.events.empty())
      notes.push_back(fmt::format("TRC holds no events: {} left out", points.events.size()));
    if (has_cov || !points.residual.empty())
      notes.emplace_back("TRC holds no uncertainties: left out");
  } else {
    WriteFile(path, reconstruction::MakeC3d(points, options, &notes));
    if (has_cov)
      notes.emplace_back(
          "C3D holds no covariances: the residual is the root of their trace where there is no "
          "other");
  }
  return notes;
}

}  // namespace impactlab
