#include "tracking/marker/detail/initialization.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace impactlab::tracking {

using std::numbers::pi;

MarkerPatch TakePatch(const GrayImage& image, const Window& wanted) {
  MarkerPatch patch;
  patch.window = {std::max(wanted.left, 0), std::max(wanted.top, 0),
                  std::min(wanted.right, image.width - 1),
                  std::min(wanted.bottom, image.height - 1)};
  patch.width = std::max(0, patch.window.right - patch.window.left + 1);
  patch.height = std::max(0, patch.window.bottom - patch.window.top + 1);
  if (patch.width == 0 || patch.height == 0) patch.width = patch.height = 0;
  patch.origin = 0.5 * Eigen::Vector2d(patch.window.left + patch.window.right,
                                       patch.window.top + patch.window.bottom);
  patch.values.reserve(static_cast<std::size_t>(patch.width) * patch.height);
  for (int y = 0; y < patch.height; ++y)
    for (int x = 0; x < patch.width; ++x)
      patch.values.push_back(
          std::min<double>(image.At(patch.window.left + x, patch.window.top + y), 254));
  patch.used.assign(patch.values.size(), 1);
  return patch;
}

Window Grown(double left, double top, double right, double bottom,
             const MarkerFitOptions& options) {
  const double margin = std::clamp(options.margin, 0., 1000.);
  const auto whole = [](double value) { return static_cast<int>(std::clamp(value, -1e6, 1e6)); };
  Window window{whole(std::floor(left - margin)), whole(std::floor(top - margin)),
                whole(std::ceil(right + margin)), whole(std::ceil(bottom + margin))};
  if (options.limit) {
    window.left = std::max(window.left, options.limit->left);
    window.top = std::max(window.top, options.limit->top);
    window.right = std::min(window.right, options.limit->right);
    window.bottom = std::min(window.bottom, options.limit->bottom);
  }
  return window;
}

Eigen::Vector3d StartForm(const Spot& spot, const MarkerFitOptions& options) {
  Eigen::Matrix2d spread = spot.spread - Eigen::Matrix2d::Identity() / 12;
  if (!(spread.trace() > 0)) {
    const double area = std::max(
        {spot.area, 0.5 * (spot.right - spot.left + 1) * (spot.bottom - spot.top + 1), 1.});
    spread = Eigen::Matrix2d::Identity() * area / (4 * pi);
  }
  const double length = options.motion.norm();
  if (options.shape == MarkerShape::kDisc && length > 0.5) {
    // Along the motion the outline tells little about the disc: as wide as it is across.
    const Eigen::Vector2d across = Eigen::Vector2d(-options.motion[1], options.motion[0]) / length;
    const double radius = std::max(0.5, 2 * std::sqrt(std::max(0., across.dot(spread * across))));
    return {radius, radius, 0};
  }
  spread -= options.motion * options.motion.transpose() / 12;
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen;
  eigen.computeDirect(spread);
  // moment of an ellipse a^2 / 4, of a rectangle a^2 / 3
  const double factor = options.shape == MarkerShape::kDisc ? 4 : 3;
  const double major = std::sqrt(std::max(0.25, factor * eigen.eigenvalues()[1]));
  const double minor =
      std::sqrt(std::max({0.25, 0.01 * major * major, factor * eigen.eigenvalues()[0]}));
  const Eigen::Vector2d direction = eigen.eigenvectors().col(1);
  return FormOf(options.shape, {major, minor, std::atan2(direction[1], direction[0])});
}

MarkerProblem ProblemOf(const MarkerFitOptions& options, bool circle) {
  MarkerProblem problem;
  problem.shape = options.shape;
  problem.circle = circle && options.shape == MarkerShape::kDisc;
  problem.by_blur = options.fit_blur;
  problem.motion = options.motion;
  problem.blur = options.blur;
  problem.noise = options.noise;
  return problem;
}

MarkerVector StartOf(const MarkerPatch& patch, const Spot& spot, const MarkerFitOptions& options) {
  MarkerOutline outline;
  outline.shape = options.shape;
  outline.form = StartForm(spot, options);
  const FormAxes axes = AxesOf(outline);
  // Which way it differs from what is around it: the spot tells only how much.
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < patch.values.size(); ++i) {
    const Eigen::Vector2d d = patch.Place(static_cast<int>(i)) - spot.q;
    const double near = std::exp(-d.squaredNorm() / (0.5 * axes.minor * axes.minor + 0.5));
    sum += near * (patch.values[i] - spot.background);
    weight += near;
  }
  const double height = weight > 1e-12 ? sum / weight : 0;
  const double swept = 1 + options.motion.norm() / (axes.major + axes.minor);
  double amplitude = spot.flux > 0 ? spot.flux / outline.Area() : spot.peak;
  amplitude = std::clamp(amplitude, std::abs(height),
                         3 * swept * std::max(spot.peak, std::abs(height)) + 1);
  MarkerVector p = MarkerVector::Zero();
  p.head<2>() = spot.q;
  p[kAmplitude] = height < 0 ? -amplitude : amplitude;
  p[kLevel] = spot.background;
  p.segment<3>(kForm0) = outline.form;
  p[kBlur] = options.blur;
  return p;
}

MarkerVector AsCircle(MarkerVector p) {
  p[kForm0] = std::sqrt(std::max(0.01, std::abs(p[kForm0] * p[kForm1] - p[kForm2] * p[kForm2])));
  p[kForm1] = p[kForm0];
  p[kForm2] = 0;
  return p;
}

void SetPrior(const MarkerVector& start, MarkerProblem* problem) {
  const FormAxes axes = AxesOf(problem->Outline(start));
  problem->prior_mean = start;
  MarkerVector& sd = problem->prior_sd;
  sd[kCentreX] = sd[kCentreY] = 2 * axes.major + 2;
  sd[kAmplitude] = 2 * std::abs(start[kAmplitude]) + 10;
  sd[kLevel] = 200;
  sd[kSlopeX] = sd[kSlopeY] = 50;
  sd[kForm0] = 0.5 * axes.major + 0.5;
  sd[kForm1] = problem->shape == MarkerShape::kStripe ? 0.5 * axes.minor + 0.5 : sd[kForm0];
  sd[kForm2] = problem->shape == MarkerShape::kStripe ? 1 : sd[kForm0];
  sd[kBlur] = 0.5 * problem->blur + 0.1;
  sd[kShadeX] = sd[kShadeY] = 0.5 / (axes.major + 0.5);
  problem->prior_mean[kShadeX] = problem->prior_mean[kShadeY] = 0;
}

}  // namespace impactlab::tracking
