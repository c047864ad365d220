#pragma once
// Camera files of other programs: reading and writing.
//
// All readers convert pixels to (0, 0) = centre of the top-left pixel, poses to X_WC, camera to
// world, and lengths to metres. Conventions of each format are on one page in data/README ("Rigs
// and camera files"). No foreign format carries the covariance, gravity, or the calibrated angle;
// after reading, W is the frame of the first camera where that camera is at the origin ("camera")
// and the file's own frame otherwise ("given").
//
// ConfigError, always with the path, for a file that is not what it claims to be, an unsupported
// model or distortion, a camera with a Fault (see calibration/camera/camera.h), and for a rig that
// a format cannot carry; the message then names the formats that can.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"

namespace impactlab {

enum class RigFormat {
  kImpactLab,   // rig.yaml
  kOpenCv,      // cv::FileStorage, YAML, XML or JSON by the extension; reads ROS's camera files too
  kKalibr,      // camchain.yaml
  kMrcal,       // .cameramodel, one file a camera; a rig is a folder of them
  kAniposelib,  // calibration.toml
  kDlt,         // table of 11 coefficients a camera; read only
  // toStruct(stereoParams or cameraParams) in .mat, or jsonencode of it in .json; read only
  kMatlab,
};

// "impactlab", "opencv", "kalibr", "mrcal", "aniposelib", "dlt", "matlab".
const char* ToString(RigFormat format);
std::optional<RigFormat> RigFormatFromString(const std::string& name);

struct RigReadOptions {
  std::optional<RigFormat> format;  // nothing: told by content and extension
  // of the images, for files that do not say (OpenCV's stereo files, DLT) [px]
  int width = 0, height = 0;
  // one unit of length of the file [m]; 0: what the file says, else a metre
  double length_unit = 0;
  std::filesystem::path extrinsics;  // OpenCV stereo: the file with R and T where it is another one
  // DLT: where the digitiser counts from, pixel (1, 1). Left open, it follows from the handedness
  // of the coefficients, provided the origin of W lies in front of the cameras.
  enum class DltOrigin {
    kByHandedness,
    kLowerLeft,
    kUpperLeft
  } dlt_origin = DltOrigin::kByHandedness;
  // cameras here have no skew: a skew in the file may displace no image point by more than this
  // [px]
  double max_skew = 0.5;
};

struct RigWriteOptions {
  // The format carries poses relative to the first camera only (Kalibr): give up the pose of the
  // first camera in W. Without it such a rig is refused.
  bool relative = false;
};

// Nothing where the file is none of the formats.
std::optional<RigFormat> RecogniseRig(const std::filesystem::path& path);

CameraRig ReadRig(const std::filesystem::path& path, const RigReadOptions& options = {});
void WriteRig(const std::filesystem::path& path, const CameraRig& rig, RigFormat format,
              const RigWriteOptions& options = {});

}  // namespace impactlab
