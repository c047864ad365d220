#pragma once
// Two-dimensional tracks of other programs: each becomes MarkerTracks with kImported.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tracking/tracks.h"

namespace impactlab {

enum class TrackFormat {
  kImpactLab,   // tracks.csv
  kDltdv,       // DLTdv xypts.csv: pt1_cam1_X, pt1_cam1_Y, ...; pixel (1, 1) at the lower left, y up; NaN where not digitised
  kTracker,     // OSP Tracker data export (t, x, y, tab or comma): one marker a file, in pixels where no scale was set
  kDeepLabCut,  // CSV with header rows scorer, bodyparts, coords; likelihood
  kTable        // any CSV with columns frame or t_s, and x_px, y_px; optional marker, camera, sd_px
};

struct ImportOptions {
  std::optional<TrackFormat> format;  // nothing: recognised from the header
  std::vector<std::string> cameras;   // names, in the order of the file's cameras; default camera_1 ...
  double rate = 0;                    // frames per second, for formats that count frames [1/s]
  int height = 0;                     // of the pictures, for formats that count rows from below [px]
  double sd = 0.5;                    // of a point, where the file does not say [px]
  double likelihood_min = 0.6;        // DeepLabCut: less likely points are left out
};

const char* ToString(TrackFormat format);
// "impactlab", "dltdv", "tracker", "deeplabcut", "table".
std::optional<TrackFormat> TrackFormatFromString(const std::string& name);
// DataError with row and column; ConfigError naming the option that is needed (rate, height).
MarkerTracks ImportTracks(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace impactlab
