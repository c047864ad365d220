#pragma once
// Readers and writers of the single formats, which reconstruction/formats/marker_files.h joins.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reconstruction/formats/marker_files.h"

namespace impactlab::reconstruction {

Eigen::Vector3d ToWorld(const Eigen::Vector3d& p, UpAxis up);
Eigen::Vector3d FromWorld(const Eigen::Vector3d& p_W, UpAxis up);
Eigen::Matrix3d ToWorld(const Eigen::Matrix3d& cov, UpAxis up);
Eigen::Matrix3d FromWorld(const Eigen::Matrix3d& cov_W, UpAxis up);

// Points with as many frames and markers as said, all missing.
MarkerPoints EmptyPoints(std::vector<std::string> markers, std::size_t frames);
// Names made usable: bytes that are no text replaced, empty ones "M3", repeated ones "NAME~2"; what
// was done goes to `notes`.
void TidyNames(std::vector<std::string>* names, std::vector<std::string>* notes);

// Zero with a sign is a point at the origin, zero without one is how many files say that a marker
// was not seen.
bool IsPlainZero(const Eigen::Vector3d& p);

MarkerFile ReadMarkerCsv(const std::filesystem::path& path, const MarkerReadOptions& options);
MarkerFile ReadTrc(std::string_view text, const std::string& path,
                   const MarkerReadOptions& options);
MarkerFile ReadC3d(std::string_view bytes, const std::string& path,
                   const MarkerReadOptions& options);
void WriteMarkerCsv(const std::filesystem::path& path, const MarkerPoints& points,
                    const MarkerWriteOptions& options);
std::string TrcText(const MarkerPoints& points, const MarkerWriteOptions& options,
                    const std::string& file_name);
std::string MakeC3d(const MarkerPoints& points, const MarkerWriteOptions& options,
                    std::vector<std::string>* notes);

// Group of our own in C3D files, for what the format has no place for; texts of ten digits and more
// where a float has seven.
constexpr const char* kC3dGroup = "IMPACTLAB";
// time of the first frame, where its number does not say it
constexpr const char* kC3dStart = "START_S";
constexpr const char* kC3dRate = "RATE_HZ";  // where single precision does not hold it

}  // namespace impactlab::reconstruction
