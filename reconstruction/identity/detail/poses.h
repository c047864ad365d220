#pragma once
// Where a rigid body was, from the images whose names are decided, and where its other markers must
// be seen then. Private to identity.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <map>
#include <optional>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/identity/complete.h"
#include "reconstruction/identity/detail/body.h"
#include "tracking/track/tracks.h"

namespace impactlab::reconstruction {

// Images that determine the place of their marker less well than their outline suggests.
constexpr std::uint32_t kPartial = kTouching | kHidden | kCut;

// Covariance of an image with what the options add for rig, layout and missing parts.
Eigen::Matrix2d Wider(const TrackPoint& point, const CompletionOptions& options);

class BodyPoses {
 public:
  // ConfigError for a camera of the tracks that the rig has not. The arguments must live as long.
  BodyPoses(const MarkerTracks& tracks, const CameraRig& rig,
            const std::vector<Eigen::Vector3d>& layout, const CompletionOptions& options);

  int cameras() const { return static_cast<int>(named_.size()); }
  int labels() const { return static_cast<int>(layout_.p.size()); }
  // Named images of a marker in a camera, by frame.
  const std::map<long long, TrackPoint>& Named(int camera, int label) const {
    return named_[camera][label];
  }
  // An image as it counts under a name.
  BodyImage AsImage(const TrackPoint& point, int label) const;
  void Add(const TrackPoint& point) {
    named_[point.camera][point.marker].emplace(point.frame, point);
  }
  void Remove(int camera, int label, long long frame) { named_[camera][label].erase(frame); }

  // Notes the pose at a time when the images alone determine it.
  void Learn(double t);
  void Learn(double t, const BodyPose& pose) { poses_[t] = pose; }

  // Images of all markers at a time; where a marker has none of its own, one between its
  // neighbours, wider by what the curve through more of them says otherwise.
  std::vector<BodyImage> ImagesAt(double t) const;
  // Least squares from a start whose covariance counts as knowledge; far residuals lose their
  // weight.
  std::optional<BodyPose> Fit(const BodyPose& start, const std::vector<BodyImage>& images) const;
  // Between the poses noted next to a time, or beyond the last of them.
  std::optional<BodyPose> Expected(double t) const;
  // Whether a pose predicts every marker in every camera, and agrees with its images.
  bool Determined(const BodyPose& pose) const;
  // Where a marker's image would be [px], and how it follows the pose.
  std::optional<Eigen::Vector2d> PredictImage(const BodyPose& pose, int camera, int label,
                                              Eigen::Matrix<double, 2, 6>* by_pose) const;
  // Typical longer semi-axis of a marker's image in a camera near a frame [px]; 0 where it is not
  // known.
  double SizeOf(int camera, int label, long long frame) const;

 private:
  std::optional<BodyImage> ImageAt(int camera, int label, double t) const;

  const CameraRig& rig_;
  Layout layout_;
  const CompletionOptions& o_;
  std::vector<int> rig_camera_;
  std::vector<std::vector<std::map<long long, TrackPoint>>> named_;  // [camera][marker], by frame
  std::map<double, BodyPose> poses_;                                 // that are known, by time
};

}  // namespace impactlab::reconstruction
