#pragma once
// Square tags (ArUco, AprilTag) on a body: markers that carry their name.
//
// A tag is found by OpenCV's aruco module; its sides are then fitted as blurred steps of brightness
// over a band of pixels along each side, and the corners are where they cross. Covariances follow
// from the residuals of those fits. A tag needs a white margin of half a cell at least; where the
// fit fails the corners stand as found, with a standard deviation of a pixel.

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

#include "data/files/image.h"

namespace impactlab {

struct TagOptions {
  // as of boards, also "APRILTAG_36h11", "APRILTAG_25h9", "APRILTAG_16h5"
  std::string dictionary = "4X4_50";
};

struct Tag {
  int id = -1;
  // refined to sub-pixel, from the tag's own upper left, clockwise [px]
  std::array<Eigen::Vector2d, 4> corners;
  std::array<Eigen::Matrix2d, 4> cov;  // [px^2]
  // crossing of the diagonals: image of the tag's centre [px]
  Eigen::Vector2d q = Eigen::Vector2d::Zero();
  Eigen::Matrix2d cov_q = Eigen::Matrix2d::Zero();
};

// ConfigError for a dictionary that is not known.
std::vector<Tag> DetectTags(const GrayImage& image, const TagOptions& options = {});

}  // namespace impactlab
