#pragma once
// Tracks: where each marker was in each frame of each camera. The file tracks.csv, and tracks of
// other programs.

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tracking/spot/spot.h"

namespace impactlab {

constexpr long long kLargestFrame =
    1000000000;  // a frame number beyond it is an error of the table
// so is a position beyond it, to either side, in what people and other programs write [px]
constexpr double kFarthest = 1e5;

struct TrackPoint {
  int camera = 0;       // in MarkerTracks::cameras
  int marker = 0;       // in MarkerTracks::markers
  long long frame = 0;  // index in its file, from 0
  // of the marker itself: row time included, on the common clock [s]
  double t = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // centroid of its image [px]
  // of q [px^2]; of a predicted point that of the prediction
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();
  // that `cov` holds along each axis because its image is too small or too large for its track [px]
  double size_sd = 0;
  std::uint32_t flags = 0;  // MarkerFlag
  // ellipse of its image: semi-axes [px], angle of the major one [rad]; 0: not known
  double major = 0, minor = 0, angle = 0;
  double amplitude = 0, background = 0;  // [grey levels]
  // normalised innovation squared of the filter, 2 dof; NaN where there was none
  double nis = std::numeric_limits<double>::quiet_NaN();
  // After smoothing on its own side of every impact; NaN where not smoothed.
  // [px]
  Eigen::Vector2d smooth_q = Eigen::Vector2d::Constant(std::numeric_limits<double>::quiet_NaN());
  // [px/s]
  Eigen::Vector2d smooth_v = Eigen::Vector2d::Constant(std::numeric_limits<double>::quiet_NaN());
};

// One recording. Points are ordered by camera, marker, frame; a marker has at most one point in a
// frame of a camera.
struct MarkerTracks {
  std::string recording;
  std::vector<std::string> cameras, markers;
  std::vector<TrackPoint> points;
};

void Sort(MarkerTracks* tracks);

// "saturated|touching"; empty for none. The words are those of the columns' documentation in
// data/README. The reverse throws std::invalid_argument with the word.
std::string FlagNames(std::uint32_t flags);
std::uint32_t FlagsFromNames(const std::string& names);

// tracks.csv (columns in data/README), recording after recording. Throws OutputError;
// std::invalid_argument for tracks that are not in order or hold what ReadTracks would refuse to
// name: a recording twice, a point twice, a position that is not finite. An ellipse without axes,
// and a brightness of 0 on a background of 0, are not known: empty cells.
class TracksWriter {
 public:
  explicit TracksWriter(const std::filesystem::path& path);
  ~TracksWriter();
  void Write(const MarkerTracks& tracks);
  void Commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// All recordings of a file, in its order; cameras and markers in the order in which they come. Rows
// may stand in any order, and columns behind the covariance may be missing. Throws DataError: a
// point twice, a covariance that is not positive, a frame below 0, an unknown flag, times that go
// back along a marker.
std::vector<MarkerTracks> ReadTracks(const std::filesystem::path& path);

// Points changed by hand (corrections.csv; columns recording, camera, marker, frame, action
// add|move|delete|relabel, x_px, y_px, sd_px, to_marker, note): they override what was tracked and
// carry kManual, or kRelabelled. DataError with row and column for one that names what is not
// there: markers are those of the tracks, seen or not. All relabelling is done first and at once,
// so that two rows swap two markers; then the others in their order, with the new names.
struct Correction {
  enum class Action { kAdd, kMove, kDelete, kRelabel };
  std::string recording, camera, marker;
  long long frame = 0;
  Action action = Action::kMove;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // [px]
  double sd = 0.5;                              // [px]
  std::string to_marker;
  std::string note;
  int line = 0;  // of the file
};
std::vector<Correction> ReadCorrections(const std::filesystem::path& path);
// `time` gives the time of a frame and row of a camera where an added or moved point needs one, NaN
// where it knows none; then, and without it, a moved point keeps its time and an added one takes
// that of another point of its frame; without one it is an error, and so are times that would go
// back. Ellipse, brightness and smoothed values of a point placed by hand are not known. Returns
// how many were applied; those of other recordings are passed over. `name` begins messages; on an
// error `tracks` stays as it was.
int ApplyCorrections(const std::vector<Correction>& corrections, const std::string& name,
                     const std::function<double(int camera, long long frame, double y)>& time,
                     MarkerTracks* tracks);

}  // namespace impactlab
