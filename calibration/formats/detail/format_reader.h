#pragma once
// Shared by the readers and writers of camera files only.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibration/formats/formats.h"

namespace impactlab::calibration {

// "path: key: found X, allowed Y"
[[noreturn]] void RefuseFile(const std::string& where, const std::string& found,
                             const std::string& allowed);

// Camera of a 3 x 3 matrix (rows fx skew cx, 0 fy cy, 0 0 1) in our pixels; coefficients in our
// order, 0 to 14 for a pinhole (OpenCV's thin prism and tilt must be 0), 4 for a fisheye.
Camera CameraFromMatrix(const std::string& where, const Eigen::Matrix3d& K,
                        const std::vector<double>& coefficients, bool fisheye, int width,
                        int height, double max_skew);
Eigen::Matrix3d MatrixOf(const Camera& camera);
std::vector<double> CoefficientsOf(const Camera& camera);

// Rigid transform of a matrix that may be rounded (up to 1e-3): the nearest rotation, bits kept
// where it is one already.
Eigen::Isometry3d RigidTransform(const std::string& where, const Eigen::Matrix3d& R,
                                 const Eigen::Vector3d& t);

// Rodrigues vector, angle up to pi.

// "[a, b, c]", "[[..], [..]]" with shortest round-trip decimals.
std::string ListText(const Eigen::Ref<const Eigen::VectorXd>& values);
std::string RowsText(const Eigen::Ref<const Eigen::MatrixXd>& rows);

// Numbers of a JSON-like value.
double NumberAt(const nlohmann::json& value, const std::string& where);
// a list, or lists in a list, row by row
std::vector<double> NumbersAt(const nlohmann::json& value, const std::string& where);
const nlohmann::json& ValueAt(const nlohmann::json& map, const std::string& key,
                              const std::string& where);
Eigen::Matrix3d Matrix3At(const nlohmann::json& value, const std::string& where);
int SizeAt(double value, const std::string& where);  // pixels, a whole number

// Length of one unit of the file: the option, else what the file says.
double LengthUnit(const RigReadOptions& options, double of_file = 1);
// Refuses a rig that is not relative to its first camera; with `relative` gives it back so that it
// is.
CameraRig RelativeToFirst(const CameraRig& rig, const RigWriteOptions& options, const char* format,
                          const char* others);
bool FirstAtOrigin(const CameraRig& rig);

// An OpenCV file storage (YAML, XML or JSON) as a tree; a matrix is a map with the list `data`.
nlohmann::json ParseStorage(const std::string& text, const std::string& name);
CameraRig ReadOpenCv(const std::string& text, const std::string& name,
                     const RigReadOptions& options);
std::string WriteOpenCv(const CameraRig& rig, const std::filesystem::path& path);
CameraRig ReadKalibr(const std::string& text, const std::string& name,
                     const RigReadOptions& options);
std::string WriteKalibr(const CameraRig& rig, const RigWriteOptions& options);
RigCamera ReadMrcal(const std::string& text, const std::string& name,
                    const RigReadOptions& options);
std::string WriteMrcal(const RigCamera& camera);
CameraRig ReadAniposelib(const std::string& text, const std::string& name,
                         const RigReadOptions& options);
std::string WriteAniposelib(const CameraRig& rig);
CameraRig ReadDlt(const std::string& text, const std::string& name, const RigReadOptions& options);
CameraRig ReadMatlab(const std::filesystem::path& path, const RigReadOptions& options);

}  // namespace impactlab::calibration
