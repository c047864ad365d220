#pragma once
// Two-dimensional tracks of other programs: each becomes MarkerTracks with kImported.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tracking/track/tracks.h"

namespace impactlab {

enum class TrackFormat {
  kImpactLab,  // tracks.csv
  // DLTdv and Argus xypts.csv: pt1_cam1_X, pt1_cam1_Y, ...; pixel (1, 1) at the lower left, y up;
  // NaN where not digitised
  kDltdv,
  // OSP Tracker data export: one track or several (#multi:), columns pixelx and pixely (corner of
  // the picture at 0), or x and y with the axes at the lower left corner and no scale; frame, or t
  // and a rate; any delimiter, decimal point or comma
  kTracker,
  // CSV with header rows scorer, (individuals,) bodyparts, coords; likelihood; first column the
  // frame
  kDeepLabCut,
  // any CSV with columns frame or t_s, and x_px, y_px; optional marker, camera, sd_px. Without
  // frame and rate, the distinct times of a camera are its frames, in their order
  kTable
};

struct ImportOptions {
  std::optional<TrackFormat> format = {};  // nothing: recognised from the header
  // names, in the order of the file's cameras; default camera_1 ...
  std::vector<std::string> cameras = {};
  // frames per second, for formats that count frames [1/s]; its times replace those of Tracker
  double rate = 0;
  // of the pictures, for formats that count rows from below; others are held to it [px]
  int height = 0;
  // DLTdv from version 7 on counts rows from the top: pixel (1, 1) at the upper left
  bool rows_from_top = false;
  double sd = 0.5;              // of a point, where the file does not say [px]
  double likelihood_min = 0.6;  // DeepLabCut: less likely points are left out
};

// "impactlab", "dltdv", "tracker", "deeplabcut", "table".
std::optional<TrackFormat> TrackFormatFromString(const std::string& name);
// One recording, named after the file where it has no name of its own. Points of an own file keep
// their flags. DataError with row and column; ConfigError naming the option that is needed (rate,
// height) or does not fit (cameras).
MarkerTracks ImportTracks(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace impactlab
