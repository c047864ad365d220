#pragma once
// Text tables of other programs as rows of cells, and tracks made of them point by point. Private
// to the room.

#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/base/error.h"
#include "tracking/import/import.h"

namespace impactlab::tracking {

// Cells of a text table: any number of header rows, any widths. The delimiter is tab, else
// semicolon, else comma, whichever the first three lines have; blank lines are left out. DataError
// for what is not UTF-8 text.
class Sheet {
 public:
  explicit Sheet(const std::filesystem::path& path);
  Sheet(const Sheet&) = delete;  // its cells point into its text
  Sheet& operator=(const Sheet&) = delete;
  // The first lines only, to see what it is.
  static Sheet Head(const std::filesystem::path& path);

  std::size_t size() const { return rows_.size(); }
  const std::vector<std::string_view>& Row(std::size_t row) const { return rows_[row]; }
  std::string_view Cell(std::size_t row, std::size_t column) const {
    return row < rows_.size() && column < rows_[row].size() ? rows_[row][column] : "";
  }
  int Line(std::size_t row) const { return row < lines_.size() ? lines_[row] : 0; }
  char delimiter() const { return delimiter_; }
  // A number; nothing where the cell is empty or NaN. A decimal comma is read where `comma` allows
  // it.
  std::optional<double> Number(std::size_t row, std::size_t column, std::string_view name,
                               bool comma = false) const;
  // DataError where a row has fewer cells than the header, or more that are not empty.
  void CheckWidth(std::size_t row, std::size_t width) const;
  DataError Fault(std::size_t row, std::string_view column, const std::string& found,
                  const std::string& allowed) const;

 private:
  Sheet(std::string path, std::string text, bool cut);
  void Split(std::string_view line);

  std::string path_, text_;
  char delimiter_ = ',';
  std::vector<std::vector<std::string_view>> rows_;
  std::vector<int> lines_;
  std::deque<std::string> unquoted_;
};

class TrackBuilder {
 public:
  TrackBuilder(const std::filesystem::path& path, const ImportOptions& options);
  // Numbers names in the order in which they come.
  int Camera(const std::string& name);
  int Marker(const std::string& name);
  // `q_file` is the position as the file counts it, under the names of its columns. DataError for
  // one far away, and for a row outside of pictures of the height that was given.
  struct Written {
    Eigen::Vector2d q_file;
    std::string_view name_x, name_y;
    int line = 0;
  };
  void Add(int camera, int marker, long long frame, double t, const Eigen::Vector2d& q, double sd,
           const Written& written);
  // Frame number in a cell. DataError.
  long long Frame(double value, int line, std::string_view column) const;
  // Frame of a time, by the rate.
  long long FrameOf(double t, int line, std::string_view column) const;
  double TimeOf(long long frame) const { return static_cast<double>(frame) / options_.rate; }
  // ConfigError where an option is not given. `other` follows: what else may help.
  void NeedRate(const char* why, const std::string& other = {}) const;
  void NeedHeight(const char* why, const std::string& other = {}) const;
  // Names the cameras as the options say, sorts the points. DataError for a point twice and for no
  // points at all.
  MarkerTracks Finish();

 private:
  DataError Fault(int line, std::string_view column, const std::string& found,
                  const std::string& allowed) const;
  std::string path_;
  const ImportOptions& options_;
  MarkerTracks tracks_;
  std::vector<int> lines_;
};

// What a plain table must have, for messages.
inline constexpr const char* kTableColumns =
    "a plain table, in pixels from the top left one, has the columns x_px, y_px, and frame or t_s";

// ConfigError for names that are empty or there twice.
void CheckCameraNames(const std::string& path, const std::vector<std::string>& names);

MarkerTracks ImportDltdv(const std::filesystem::path& path, const ImportOptions& options);
MarkerTracks ImportTracker(const std::filesystem::path& path, const ImportOptions& options);
MarkerTracks ImportDeepLabCut(const std::filesystem::path& path, const ImportOptions& options);
// Point and camera number of "pt1_cam2_X", and whether it is the X; nothing for other names.
struct DltdvColumn {
  int point = 0, camera = 0;
  bool x = true;
};
std::optional<DltdvColumn> ParseDltdvColumn(std::string_view name);

}  // namespace impactlab::tracking
