#include "tracking/marker/tags.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "data/base/aruco_opencv.h"
#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

struct NamedDictionary {
  const char* name;
  int id, bits;  // cells of a side without the border
};
constexpr std::array<NamedDictionary, 21> kDictionaries{
    {{"4X4_50", cv::aruco::DICT_4X4_50, 4},
     {"4X4_100", cv::aruco::DICT_4X4_100, 4},
     {"4X4_250", cv::aruco::DICT_4X4_250, 4},
     {"4X4_1000", cv::aruco::DICT_4X4_1000, 4},
     {"5X5_50", cv::aruco::DICT_5X5_50, 5},
     {"5X5_100", cv::aruco::DICT_5X5_100, 5},
     {"5X5_250", cv::aruco::DICT_5X5_250, 5},
     {"5X5_1000", cv::aruco::DICT_5X5_1000, 5},
     {"6X6_50", cv::aruco::DICT_6X6_50, 6},
     {"6X6_100", cv::aruco::DICT_6X6_100, 6},
     {"6X6_250", cv::aruco::DICT_6X6_250, 6},
     {"6X6_1000", cv::aruco::DICT_6X6_1000, 6},
     {"7X7_50", cv::aruco::DICT_7X7_50, 7},
     {"7X7_100", cv::aruco::DICT_7X7_100, 7},
     {"7X7_250", cv::aruco::DICT_7X7_250, 7},
     {"7X7_1000", cv::aruco::DICT_7X7_1000, 7},
     {"ARUCO_ORIGINAL", cv::aruco::DICT_ARUCO_ORIGINAL, 5},
     {"APRILTAG_16h5", cv::aruco::DICT_APRILTAG_16h5, 4},
     {"APRILTAG_25h9", cv::aruco::DICT_APRILTAG_25h9, 5},
     {"APRILTAG_36h10", cv::aruco::DICT_APRILTAG_36h10, 6},
     {"APRILTAG_36h11", cv::aruco::DICT_APRILTAG_36h11, 6}}};

using Corners = std::array<Eigen::Vector2d, 4>;

// One side of a tag: points with v = a + b u, u along it from its middle, v across it, outwards.
struct Side {
  Eigen::Vector2d middle, along, across;
  double a = 0, b = 0;
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of a, b
};

Side SideBetween(const Eigen::Vector2d& from, const Eigen::Vector2d& to) {
  Side side;
  side.middle = (from + to) / 2;
  side.along = (to - from).normalized();
  // Corners run clockwise in an image whose y points down: outside is on the left.
  side.across = {side.along.y(), -side.along.x()};
  return side;
}

Eigen::Vector2d Crossing(const Side& s, const Side& t) {
  Eigen::Matrix2d n;
  n.row(0) = (s.across - s.b * s.along).transpose();
  n.row(1) = (t.across - t.b * t.along).transpose();
  return n.inverse() * Eigen::Vector2d(s.a + n.row(0).dot(s.middle), t.a + n.row(1).dot(t.middle));
}

constexpr int kEdgeUnknowns = 7;  // a, b, width, light, light per u, dark, dark per u
using EdgeVector = Eigen::Matrix<double, kEdgeUnknowns, 1>;
using EdgeMatrix = Eigen::Matrix<double, kEdgeUnknowns, kEdgeUnknowns>;

// Pixels of a band along a side: place along it, across it, grey level.
struct EdgeBand {
  struct Pixel {
    double u, v, value;
  };
  std::vector<Pixel> pixels;
  double light = 0, dark = 0;  // sums of the grey levels on either side
  int n_light = 0, n_dark = 0;
};

EdgeBand ReadEdgeBand(const GrayImage& image, double half, double inside, double outside,
                      const Side& side) {
  EdgeBand band;
  const double reach = half + std::max(inside, outside) + 1;
  const int left = std::max(0, static_cast<int>(std::floor(side.middle.x() - reach)));
  const int right = std::min(image.width - 1, static_cast<int>(std::ceil(side.middle.x() + reach)));
  const int top = std::max(0, static_cast<int>(std::floor(side.middle.y() - reach)));
  const int bottom =
      std::min(image.height - 1, static_cast<int>(std::ceil(side.middle.y() + reach)));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const Eigen::Vector2d d = Eigen::Vector2d(x, y) - side.middle;
      const double u = d.dot(side.along), v = d.dot(side.across) - side.a - side.b * u;
      if (std::abs(u) > half || v < -inside || v > outside) continue;
      const double value = image.At(x, y);
      band.pixels.push_back({u, d.dot(side.across), value});
      if (v > 0) band.light += value, ++band.n_light;
      if (v < 0) band.dark += value, ++band.n_dark;
    }
  }
  return band;
}

// Sum of squares of the residuals; the normal equations too where they are given.
double EdgeCost(const std::vector<EdgeBand::Pixel>& pixels, const EdgeVector& q,
                EdgeMatrix* normal = nullptr, EdgeVector* gradient = nullptr) {
  double sum = 0;
  if (normal != nullptr) normal->setZero(), gradient->setZero();
  for (const EdgeBand::Pixel& pixel : pixels) {
    const double z = (pixel.v - q(0) - q(1) * pixel.u) / q(2);
    const double phi = 0.5 * std::erfc(-z * M_SQRT1_2),
                 density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
    const double bright = q(3) + q(4) * pixel.u, black = q(5) + q(6) * pixel.u,
                 step = bright - black;
    const double r = black + step * phi - pixel.value;
    sum += r * r;
    if (normal == nullptr) continue;
    const double by_v = step * density / q(2);
    EdgeVector j;
    j << -by_v, -by_v * pixel.u, -by_v * z, phi, phi * pixel.u, 1 - phi, (1 - phi) * pixel.u;
    normal->noalias() += j * j.transpose();
    *gradient += j * r;
  }
  return sum;
}

// The edge as a step of brightness blurred by a Gaussian, each side of it with a brightness that
// changes linearly along it: I = dark + (light - dark) Phi((v - a - b u) / width), fitted to the
// pixels of a band along the side by least squares. Its covariance follows from the curvature and
// the residuals. `inside` and `outside` bound the band, `half` its length. Variance of a pixel, or
// nothing.
std::optional<double> FitEdge(const GrayImage& image, double half, double inside, double outside,
                              Side* side) {
  const EdgeBand band = ReadEdgeBand(image, half, inside, outside, *side);
  if (band.pixels.size() < 3 * kEdgeUnknowns || band.n_light < kEdgeUnknowns ||
      band.n_dark < kEdgeUnknowns)
    return std::nullopt;
  EdgeVector p;
  p << side->a, side->b, 0.8, band.light / band.n_light, 0, band.dark / band.n_dark, 0;
  if (p(3) - p(5) < 10) return std::nullopt;

  EdgeMatrix normal;
  EdgeVector gradient;
  double damping = 1e-3, now = EdgeCost(band.pixels, p, &normal, &gradient);
  bool settled = false;
  for (int k = 0; k < 40 && !settled; ++k) {
    EdgeMatrix damped = normal;
    damped.diagonal() *= 1 + damping;
    const EdgeVector step = damped.ldlt().solve(-gradient);
    EdgeVector next = p + step;
    next(2) = std::clamp(next(2), 0.25, 4.0);
    const double then = EdgeCost(band.pixels, next);
    if (!std::isfinite(then) || then > now) {
      damping *= 10;
      if (damping > 1e8) break;
      continue;
    }
    settled = std::abs(next(0) - p(0)) < 1e-5 && std::abs(next(1) - p(1)) * half < 1e-5;
    p = next;
    now = EdgeCost(band.pixels, p, &normal, &gradient);
    damping = std::max(damping / 10, 1e-9);
  }
  if (!settled || std::abs(p(0) - side->a) > 3 || std::abs(p(1) - side->b) * half > 3)
    return std::nullopt;
  // A width at its bound is not estimated; the position does not depend on it.
  const Eigen::FullPivLU<EdgeMatrix> lu(normal);
  if (!lu.isInvertible()) return std::nullopt;
  const double variance =
      std::max(now / (static_cast<double>(band.pixels.size()) - kEdgeUnknowns), 1.0 / 12);
  side->a = p(0);
  side->b = p(1);
  // Shading across the side and neighbouring cells are not in the model: renderings show a variance
  // that is larger by a fifth to a half.
  constexpr double kUnmodelled = 1.3;
  side->cov = kUnmodelled * variance * lu.inverse().topLeftCorner<2, 2>();
  return variance;
}

// Twice, since the second band lies along the line that the first has found; once more with less of
// the outside, which is kept where it fits much better, because the white margin of the tag ends
// within the wider band.
bool FindSide(const GrayImage& image, double half, double inside, double outside, Side* side) {
  Side narrow = *side;
  std::optional<double> wide_variance, narrow_variance;
  for (int pass = 0; pass < 2; ++pass) {
    wide_variance = FitEdge(image, half, inside, outside, side);
    if (!wide_variance) break;
  }
  if (outside > 2) {
    for (int pass = 0; pass < 2; ++pass) {
      narrow_variance = FitEdge(image, half, inside, 2, &narrow);
      if (!narrow_variance) break;
    }
  }
  if (!narrow_variance || (wide_variance && *wide_variance < 1.5 * *narrow_variance))
    return wide_variance.has_value();
  *side = narrow;
  return true;
}

// Where the diagonals cross.
Eigen::Vector2d Centre(const Corners& c) {
  const Eigen::Vector2d d = c[2] - c[0], e = c[3] - c[1], o = c[1] - c[0];
  const double denominator = d.x() * e.y() - d.y() * e.x();
  return c[0] + d * ((o.x() * e.y() - o.y() * e.x()) / denominator);
}

Corners CornersOf(const std::array<Side, 4>& sides) {
  Corners corners;
  for (std::size_t k = 0; k < 4; ++k) corners[k] = Crossing(sides[(k + 3) % 4], sides[k]);
  return corners;
}

// Lines through the four sides, corners where they meet.
bool Refine(const GrayImage& image, int bits, Tag* tag) {
  std::array<Side, 4> sides;
  for (std::size_t k = 0; k < 4; ++k) {
    const Eigen::Vector2d &from = tag->corners[k], &to = tag->corners[(k + 1) % 4];
    const double length = (to - from).norm();
    const double cell = length / (bits + 2);
    // The cells inside, the background beyond the white margin and the rounded ends are left out.
    const double inside = std::clamp(cell / 2, 1.3, 4.0),
                 outside = std::clamp(0.7 * cell, 1.3, 4.0);
    const double half = length / 2 - std::clamp(0.12 * length, 1.5, 4.0);
    sides[k] = SideBetween(from, to);
    if (!FindSide(image, half, inside, outside, &sides[k])) return false;
  }
  const Corners corners = CornersOf(sides);
  for (std::size_t k = 0; k < 4; ++k) {
    const double move = (corners[k] - tag->corners[k]).norm();
    if (!(move < 4)) return false;
  }
  // Derivatives of all corners and the centre by the eight numbers of the sides.
  Eigen::Matrix<double, 10, 8> by_sides;
  Eigen::Matrix<double, 8, 8> cov = Eigen::Matrix<double, 8, 8>::Zero();
  for (int k = 0; k < 8; ++k) {
    constexpr double kStep = 1e-5;
    std::array<Side, 4> up = sides, down = sides;
    const auto side = static_cast<std::size_t>(k / 2);
    (k % 2 == 0 ? up[side].a : up[side].b) += kStep;
    (k % 2 == 0 ? down[side].a : down[side].b) -= kStep;
    const Corners high = CornersOf(up), low = CornersOf(down);
    for (std::size_t c = 0; c < 4; ++c)
      by_sides.block<2, 1>(2 * static_cast<int>(c), k) = (high[c] - low[c]) / (2 * kStep);
    by_sides.block<2, 1>(8, k) = (Centre(high) - Centre(low)) / (2 * kStep);
    if (k % 2 == 0) cov.block<2, 2>(k, k) = sides[side].cov;
  }
  const Eigen::Matrix<double, 10, 10> all = by_sides * cov * by_sides.transpose();
  if (!all.allFinite()) return false;
  tag->corners = corners;
  for (std::size_t k = 0; k < 4; ++k)
    tag->cov[k] = all.block<2, 2>(2 * static_cast<int>(k), 2 * static_cast<int>(k));
  tag->q = Centre(corners);
  tag->cov_q = all.block<2, 2>(8, 8);
  return true;
}

}  // namespace

std::vector<Tag> DetectTags(const GrayImage& image, const TagOptions& options) {
  const auto* dictionary =
      std::find_if(kDictionaries.begin(), kDictionaries.end(),
                   [&](const NamedDictionary& d) { return options.dictionary == d.name; });
  if (dictionary == kDictionaries.end()) {
    std::vector<std::string> all;
    all.reserve(kDictionaries.size());
    for (const NamedDictionary& d : kDictionaries) all.emplace_back(d.name);
    const std::string nearest = NearestName(options.dictionary, all);
    throw ConfigError(fmt::format("dictionary: found {}, {}allowed {}", Excerpt(options.dictionary),
                                  nearest.empty() ? "" : "nearest is " + nearest + "; ",
                                  JoinNames(all)));
  }
  if (image.width < 8 || image.height < 8) return {};
  cv::aruco::DetectorParameters parameters;
  parameters.cornerRefinementMethod = cv::aruco::CORNER_REFINE_NONE;
  parameters.minMarkerPerimeterRate = 0.02;
  const cv::Mat view(image.height, image.width, CV_8UC1,
                     const_cast<std::uint8_t*>(image.pixels.data()));
  std::vector<std::vector<cv::Point2f>> corners;
  std::vector<int> ids;
  DetectAruco(view, dictionary->id, parameters, &corners, &ids);
  const bool upside_down = options.dictionary.starts_with("APRILTAG");
  std::vector<Tag> tags;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    Tag tag;
    tag.id = ids[k];
    // The AprilTag dictionaries of OpenCV are rotated by 180 degrees against the published
    // pictures.
    for (std::size_t c = 0; c < 4; ++c) {
      const cv::Point2f& corner = corners[k][upside_down ? (c + 2) % 4 : c];
      tag.corners[c] = {corner.x, corner.y};
    }
    if (!Refine(image, dictionary->bits, &tag)) {
      // As found on the outline of the black cells: to about a pixel.
      tag.cov.fill(Eigen::Matrix2d::Identity());
      tag.q = Centre(tag.corners);
      tag.cov_q = 0.5 * Eigen::Matrix2d::Identity();
    }
    if (tag.q.allFinite()) tags.push_back(tag);
  }
  std::stable_sort(tags.begin(), tags.end(),
                   [](const Tag& a, const Tag& b) { return a.id < b.id; });
  return tags;
}

}  // namespace impactlab
