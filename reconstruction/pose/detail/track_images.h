#pragma once
// Images of all cameras brought to the instants of the first one, along the markers' own tracks; no
// interpolation crosses an impact. What poses (reconstruction/pose/track_poses.h) and points
// (reconstruction/pose/marker_points.h) from tracks have in common. Private to them.

#include <Eigen/Core>
#include <optional>
#include <utility>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/pose/marker_pose.h"
#include "reconstruction/pose/track_poses.h"
#include "tracking/track/tracks.h"

namespace impactlab::reconstruction {

// As the fields of TrackPosesOptions of these names.
struct TrackImagesOptions {
  double pixel_sd = 0;
  std::vector<double> offset, impacts;
  double exposure = 0;
  int longest_gap = 2;
  double reach = 0.25;
};

// An image at an instant and the points it is made of.
struct Brought {
  MarkerImage image;
  std::vector<std::pair<int, double>> weights;  // point, share
};

class TrackImages {
 public:
  struct Image {
    int point = 0;
    long long frame = 0;
    double t = 0;  // on the first camera's clock
    Eigen::Vector2d q = Eigen::Vector2d::Zero();
    Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();
    bool flagged = false;
    int piece = 0;
  };
  // Of one marker in one camera, by time.
  using Track = std::vector<Image>;

  // Of the first `markers` names of the tracks. ConfigError for a camera the rig has not.
  TrackImages(const MarkerTracks& tracks, const CameraRig& rig, std::size_t markers,
              const TrackImagesOptions& options);

  // Frames of the first camera and their times; where there are fewer than two, nothing can be
  // brought anywhere.
  const std::vector<std::pair<long long, double>>& instants() const { return instants_; }
  bool usable() const { return interval_ > 0; }
  const std::vector<TrackPoses::Window>& impacts() const { return impacts_; }
  int cameras() const { return static_cast<int>(images_.size()); }
  // Nothing where the track has no image there, or none near enough on this side of an impact.
  std::optional<Brought> Bring(int camera, int marker, double t) const;

 private:
  void TakePoints(const MarkerTracks& tracks, const CameraRig& rig);
  void FindInstants();
  bool NearKnown(double t) const;
  void FindImpacts();
  void CutPieces();

  TrackImagesOptions options_;
  std::size_t markers_ = 0;
  std::vector<int> view_of_;
  std::vector<std::vector<Track>> images_;  // [camera][marker]
  std::vector<std::pair<long long, double>> instants_;
  double interval_ = 0;  // of frames [s]
  std::vector<TrackPoses::Window> impacts_;
};

}  // namespace impactlab::reconstruction
