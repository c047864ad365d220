#pragma once
// Discs: their position in the picture, and the offset of the centroid of their image from the
// image of their centre. Private to the room.
//
// The image of a disc under perspective is an ellipse whose centre is not the image of the disc's
// centre (it lies on the far side of it by up to several pixels, growing with the square of the
// disc's size), and lens distortion adds to that. Both follow from the map of the plane to the
// picture alone, so the correction needs no calibration: the map is fitted to the grid itself.

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <vector>

#include "data/files/image.h"

namespace impactlab::calibration {

struct Blob {
  Eigen::Vector2d q;       // centroid of its area [px]
  Eigen::Matrix2d spread;  // second moments of its area about q [px^2]
  double area = 0;         // [px^2]
};

// Dark (or bright) patches with the outline of an ellipse. `block`: side of the neighbourhood the
// threshold is taken from [px].
std::vector<Blob> FindBlobs(const GrayImage& image, bool dark, int block);

struct DiscFit {
  Eigen::Vector2d q;                                     // centroid of the disc's image [px]
  double contrast = 0, width = 0, rms = 0, unit_sd = 0;  // as of CornerFit
};
// Centroid from the grey values: pixels of a band of `band` px about the edge count by how much of
// them is covered. Free of the blur's shape and of an even gradient of the light. Nothing where the
// disc is cut by the rim or is no disc.
std::optional<DiscFit> FitDisc(const GrayImage& image, const Blob& blob, double band);

// Map of the board's plane into the picture with its derivative.
using PlaneMap =
    std::function<bool(const Eigen::Vector2d& p, Eigen::Vector2d* q, Eigen::Matrix2d* dq_dp)>;
// Centroid of the image of the disc of `radius` about `p`, minus the image of `p`; by Green's
// theorem along the outline. False where the map has no value.
bool CentroidBias(const PlaneMap& map, const Eigen::Vector2d& p, double radius,
                  Eigen::Vector2d* bias);

// A homography followed by radial distortion about the middle of the picture, fitted to centroids
// of discs at `p`; returns the images of their centres. `rms` [px] of the fit.
std::vector<Eigen::Vector2d> CorrectCentroids(const std::vector<Eigen::Vector2d>& p,
                                              const std::vector<Eigen::Vector2d>& centroids,
                                              double radius, int width, int height,
                                              std::vector<double>* residual);

}  // namespace impactlab::calibration
