#pragma once
// Files of markers in space: a CSV of our own, TRC (Motion Analysis, OpenSim) and C3D (c3d.org).
// Columns, units and conventions are in data/README.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reconstruction/pose/marker_points.h"

namespace impactlab {

enum class MarkerFormat { kCsv, kTrc, kC3d };
const char* ToString(MarkerFormat format);  // "csv", "trc", "c3d"
std::optional<MarkerFormat> MarkerFormatFromString(const std::string& name);
// By the extension of a file to be written; nothing for one that is none of them.
std::optional<MarkerFormat> MarkerFormatOf(const std::filesystem::path& path);

// Axis of the file that points up. W has z up; the positions are turned, never mirrored: y up (x,
// y, z) = (x, z, -y) of W, as OpenSim has it; x up (x, y, z) = (z, x, y) of W.
enum class UpAxis { kX, kY, kZ };
const char* ToString(UpAxis axis);  // "x", "y", "z"
std::optional<UpAxis> UpAxisFromString(const std::string& name);

struct MarkerReadOptions {
  std::optional<UpAxis> up;  // nothing: what a C3D says of its screen axes, else z
  // TRC and C3D: a point at exactly (0, 0, 0) without residual is one that was not seen
  bool zero_is_missing = true;
};

struct MarkerFile {
  MarkerPoints points;  // named after the file
  MarkerFormat format = MarkerFormat::kCsv;
  UpAxis up = UpAxis::kZ;          // that was taken
  std::vector<std::string> notes;  // what the file leaves open or says twice, one sentence each
};

// Tells the format by the content. Throws DataError: path, place, what was found and what is
// allowed.
MarkerFile ReadMarkerFile(const std::filesystem::path& path, const MarkerReadOptions& options = {});

struct MarkerWriteOptions {
  std::optional<MarkerFormat> format;  // nothing: by the extension
  UpAxis up = UpAxis::kZ;
  std::string unit = "mm";  // of TRC and C3D: "m" or "mm"; CSV is in metres
  // C3D: frames may be off by this much of an interval from even spacing
  double time_tolerance = 0.05;
};

// Returns what the format cannot carry, one sentence each: events and covariances in TRC,
// covariances in C3D, uneven times. Reading gives the same bits for CSV and TRC, and single
// precision for C3D. Throws ConfigError for points that CheckMarkerPoints refuses, names a format
// cannot hold, uneven times in C3D; OutputError.
std::vector<std::string> WriteMarkerFile(const std::filesystem::path& path,
                                         const MarkerPoints& points,
                                         const MarkerWriteOptions& options = {});

}  // namespace impactlab
