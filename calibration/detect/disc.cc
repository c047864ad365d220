#include "calibration/detect/detail/disc.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>

#include "calibration/detect/detail/corner.h"
#include "calibration/detect/detect.h"

namespace impactlab {
namespace calibration {
namespace {

constexpr double kLeastArea = 20;  // [px^2]
constexpr double kMostAspect = 6;  // of the ellipse
// area over that of the ellipse of the same moments, minus 1; a square has -0.045, a ring more than
// 1
constexpr double kEllipseFill = 0.1;
// points of the quadrature along an outline: periodic, converges geometrically
constexpr int kOutline = 32;

struct RadialMap {
  Eigen::Matrix3d H;  // to the undistorted picture, in units of `scale` about `centre`
  double k1 = 0, k2 = 0, scale = 1;
  Eigen::Vector2d centre;

  bool operator()(const Eigen::Vector2d& p, Eigen::Vector2d* q, Eigen::Matrix2d* dq_dp) const {
    const Eigen::Vector3d h = H * Eigen::Vector3d(p.x(), p.y(), 1);
    if (!(h.z() > 1e-9)) return false;
    const Eigen::Vector2d d = h.head<2>() / h.z();
    const double r2 = d.squaredNorm(), s = 1 + r2 * (k1 + r2 * k2);
    *q = centre + scale * s * d;
    if (dq_dp != nullptr) {
      const Eigen::Matrix2d dd = (H.topLeftCorner<2, 2>() - d * H.bottomLeftCorner<1, 2>()) / h.z();
      const Eigen::Matrix2d dq =
          s * Eigen::Matrix2d::Identity() + d * (2 * k1 + 4 * k2 * r2) * d.transpose();
      *dq_dp = scale * dq * dd;
    }
    return true;
  }
};

// The pixels about a disc, by their distance from the ellipse of its moments.
struct DiscWindow {
  DiscWindow(const GrayImage& picture, const Eigen::Vector2d& centre,
             const Eigen::Matrix2d& moments, double half_width)
      : image(picture),
        q(centre),
        spread(moments),
        information(moments.inverse()),
        band(half_width) {
    const double span_x = 2 * std::sqrt(spread(0, 0)) + 2 * band + 2,
                 span_y = 2 * std::sqrt(spread(1, 1)) + 2 * band + 2;
    x0 = static_cast<int>(std::floor(q.x() - span_x));
    x1 = static_cast<int>(std::ceil(q.x() + span_x));
    y0 = static_cast<int>(std::floor(q.y() - span_y));
    y1 = static_cast<int>(std::ceil(q.y() + span_y));
  }

  // Signed distance of an offset from the ellipse, to first order [px]; negative inside.
  double Distance(const Eigen::Vector2d& d) const {
    const Eigen::Vector2d g = information * d;
    const double s = std::sqrt(std::max(d.dot(g), 0.0)) / 2;
    return s < 1e-6 ? -INFINITY : (s - 1) * 4 * s / g.norm();
  }

  // Calls take(x, y) for the pixels of the window that lie in the picture.
  template <class Take>
  void ForEachInside(Take take) const {
    for (int y = std::max(0, y0); y <= std::min(image.height - 1, y1); ++y)
      for (int x = std::max(0, x0); x <= std::min(image.width - 1, x1); ++x) take(x, y);
  }

  const GrayImage& image;
  const Eigen::Vector2d q;
  const Eigen::Matrix2d spread, information;
  const double band;
  int x0 = 0, x1 = 0, y0 = 0, y1 = 0;
};

// Grey level of the paper about a disc: a plane through the ring outside the band.
struct PaperPlane {
  Eigen::Vector3d level = Eigen::Vector3d::Zero();
  double rms = 0;
  double At(const DiscWindow& window, int x, int y) const {
    return level[0] + level[1] * (x - window.q.x()) + level[2] * (y - window.q.y());
  }
};

std::optional<PaperPlane> FitPaper(const DiscWindow& window) {
  Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
  Eigen::Vector3d b = Eigen::Vector3d::Zero();
  double square = 0;
  int n = 0;
  window.ForEachInside([&](int x, int y) {
    const double s = window.Distance({x - window.q.x(), y - window.q.y()});
    if (s <= window.band || s > window.band + 2) return;
    const Eigen::Vector3d j(1, x - window.q.x(), y - window.q.y());
    const double value = window.image.At(x, y);
    A += j * j.transpose();
    b += j * value;
    square += value * value;
    ++n;
  });
  if (n < 12) return std::nullopt;
  PaperPlane paper;
  paper.level = A.ldlt().solve(b);
  paper.rms = std::sqrt(std::max(0.0, square - paper.level.dot(b)) / std::max(1, n - 3));
  return paper;
}

// Grey levels of the core of a disc, where no blur of its edge reaches.
struct DiscCore {
  double depth = 0;  // its signed distance from the ellipse [px]
  double ink = 0;    // reflectance relative to paper
  double contrast = 0;
};

std::optional<DiscCore> FitCore(const DiscWindow& window, const PaperPlane& paper) {
  const Eigen::Matrix2d& spread = window.spread;
  const double minor =
      std::sqrt(std::max(
          1e-9, spread.trace() / 2 - std::hypot((spread(0, 0) - spread(1, 1)) / 2, spread(0, 1)))) *
      2;
  DiscCore core;
  core.depth = -std::min(window.band, 0.6 * minor);
  double inner = 0, inner_light = 0;
  int n = 0;
  window.ForEachInside([&](int x, int y) {
    if (window.Distance({x - window.q.x(), y - window.q.y()}) > core.depth) return;
    inner += window.image.At(x, y);
    inner_light += paper.At(window, x, y);
    ++n;
  });
  if (n < 1 || !(inner_light > 0)) return std::nullopt;
  core.ink = inner / inner_light;
  core.contrast = (inner_light - inner) / n / 2;
  return core;
}

// Moments of the part of every pixel that the disc covers.
struct CoveredMoments {
  double area = 0;
  Eigen::Vector2d first = Eigen::Vector2d::Zero();
  Eigen::Matrix2d second = Eigen::Matrix2d::Zero();
  double spread_band = 0, partial = 0;  // of the pixels of the band
  int n_band = 0;
};

std::optional<CoveredMoments> MeasureCovered(const DiscWindow& window, const PaperPlane& paper,
                                             const DiscCore& core) {
  const GrayImage& image = window.image;
  CoveredMoments m;
  for (int y = window.y0; y <= window.y1; ++y) {
    for (int x = window.x0; x <= window.x1; ++x) {
      const Eigen::Vector2d d(x - window.q.x(), y - window.q.y());
      const double s = window.Distance(d);
      if (s > window.band) continue;
      double covered = 1;
      if (s >= core.depth) {
        // cut by the border of the picture
        if (x < 0 || y < 0 || x >= image.width || y >= image.height) return std::nullopt;
        const double paper_here = paper.At(window, x, y);
        if (!(paper_here > 1)) return std::nullopt;
        covered = (1 - image.At(x, y) / paper_here) / (1 - core.ink);
        m.spread_band += d.squaredNorm();
        m.partial += covered * (1 - covered);
        ++m.n_band;
      }
      m.area += covered;
      m.first += covered * d;
      m.second += covered * d * d.transpose();
    }
  }
  return m;
}

}  // namespace

std::vector<Blob> FindBlobs(const GrayImage& image, bool dark, int block) {
  const cv::Mat full(image.height, image.width, CV_8U,
                     const_cast<std::uint8_t*>(image.pixels.data()));
  cv::Mat smooth, binary;
  cv::GaussianBlur(full, smooth, {}, 1.0);
  cv::adaptiveThreshold(smooth, binary, 255, cv::ADAPTIVE_THRESH_MEAN_C,
                        dark ? cv::THRESH_BINARY_INV : cv::THRESH_BINARY, block | 1, dark ? 8 : -8);
  std::vector<std::vector<cv::Point>> contours;
  cv::findContours(binary, contours, cv::RETR_LIST, cv::CHAIN_APPROX_NONE);
  std::vector<Blob> blobs;
  for (const auto& contour : contours) {
    if (contour.size() < 10) continue;
    const cv::Moments m = cv::moments(contour);
    // The contour runs through the centres of pixels: the area it encloses is too small by half a
    // pixel on every side.
    if (m.m00 < kLeastArea || m.m00 > 0.25 * image.width * image.height) continue;
    Blob blob;
    blob.q = Eigen::Vector2d(m.m10 / m.m00, m.m01 / m.m00);
    blob.spread << m.mu20 / m.m00, m.mu11 / m.m00, m.mu11 / m.m00, m.mu02 / m.m00;
    const double det = blob.spread.determinant(), trace = blob.spread.trace();
    if (!(det > 0) || trace * trace / (4 * det) > std::pow(kMostAspect + 1 / kMostAspect, 2) / 4)
      continue;
    if (std::abs(m.m00 / (4 * M_PI * std::sqrt(det)) - 1) > kEllipseFill) continue;
    blob.area = m.m00;
    // Holes are contours too: kept is what is darker (brighter) inside than at its border.
    const int x = static_cast<int>(std::lround(blob.q.x())),
              y = static_cast<int>(std::lround(blob.q.y()));
    if (x < 0 || y < 0 || x >= image.width || y >= image.height ||
        binary.at<std::uint8_t>(y, x) == 0)
      continue;
    const double grow = std::pow(1 + 0.5 / std::sqrt(blob.area / M_PI), 2);
    blob.spread *= grow;
    blobs.push_back(blob);
  }
  return blobs;
}

std::optional<DiscFit> FitDisc(const GrayImage& image, const Blob& blob, double band) {
  Eigen::Vector2d q = blob.q;
  Eigen::Matrix2d spread = blob.spread;
  DiscFit fit;
  for (int round = 0; round < 4; ++round) {
    const DiscWindow window(image, q, spread, band);
    const auto paper = FitPaper(window);
    if (!paper) return std::nullopt;
    fit.rms = paper->rms;
    const auto core = FitCore(window, *paper);
    if (!core) return std::nullopt;
    fit.contrast = core->contrast;
    if (std::abs(fit.contrast) < 4 || std::abs(fit.contrast) < 1.5 * fit.rms) return std::nullopt;
    const auto covered = MeasureCovered(window, *paper, *core);
    if (!covered || !(covered->area > kLeastArea / 2)) return std::nullopt;
    const double area = covered->area;
    const Eigen::Vector2d shift = covered->first / area;
    const Eigen::Matrix2d moments = covered->second / area - shift * shift.transpose();
    if (!(moments.determinant() > 0) || shift.norm() > 0.5 * std::sqrt(area)) return std::nullopt;
    q += shift;
    spread = moments;
    const double noise = fit.rms / (2 * std::abs(fit.contrast));
    // Of the circle that has the same second moments.
    const double perimeter = 2 * M_PI * std::sqrt(2 * spread.trace());
    fit.width = std::max(
        0.3, std::sqrt(M_PI) * (covered->partial + covered->n_band * noise * noise) / perimeter);
    fit.unit_sd = std::sqrt(covered->spread_band / 2) / (area * 2 * std::abs(fit.contrast));
    if (round > 0 && shift.norm() < 1e-3) break;
  }
  fit.q = q;
  return fit;
}

bool CentroidBias(const PlaneMap& map, const Eigen::Vector2d& p, double radius,
                  Eigen::Vector2d* bias) {
  Eigen::Vector2d centre;
  if (!map(p, &centre, nullptr)) return false;
  double area = 0;
  Eigen::Vector2d moment = Eigen::Vector2d::Zero();
  for (int k = 0; k < kOutline; ++k) {
    const double angle = 2 * M_PI * k / kOutline, c = std::cos(angle), s = std::sin(angle);
    Eigen::Vector2d q;
    Eigen::Matrix2d J;
    if (!map(p + radius * Eigen::Vector2d(c, s), &q, &J)) return false;
    const Eigen::Vector2d d = q - centre, tangent = J * Eigen::Vector2d(-radius * s, radius * c);
    // twice the area swept per angle
    const double sector = d.x() * tangent.y() - d.y() * tangent.x();
    area += sector / 2;
    moment += sector / 3 * d;
  }
  if (!(std::abs(area) > 0)) return false;
  *bias = moment / area;
  return bias->allFinite();
}

std::vector<Eigen::Vector2d> CorrectCentroids(const std::vector<Eigen::Vector2d>& p,
                                              const std::vector<Eigen::Vector2d>& centroids,
                                              double radius, int width, int height,
                                              std::vector<double>* residual) {
  std::vector<Eigen::Vector2d> q = centroids;
  RadialMap map;
  map.centre = Eigen::Vector2d(width - 1, height - 1) / 2;
  map.scale = std::hypot(width, height) / 2;
  residual->assign(p.size(), 0);
  const bool lens = p.size() >= 16;  // with fewer discs distortion cannot be separated from noise
  for (int round = 0; round < 6; ++round) {
    // Homography of the undistorted centres, then Gauss-Newton on all ten parameters.
    std::vector<Eigen::Vector2d> flat;
    for (const Eigen::Vector2d& v : q) {
      const Eigen::Vector2d d = (v - map.centre) / map.scale;
      Eigen::Vector2d u = d;
      for (int k = 0; k < 20; ++k) {
        const double r2 = u.squaredNorm();
        u = d / (1 + r2 * (map.k1 + r2 * map.k2));
      }
      flat.push_back(u);
    }
    const auto H = FitHomography(p, flat);
    if (!H) return centroids;
    map.H = *H / (*H)(2, 2);
    if ((map.H * Eigen::Vector3d(p[0].x(), p[0].y(), 1)).z() < 0) map.H = -map.H;
    for (int iteration = 0; lens && iteration < 4; ++iteration) {
      Eigen::Matrix<double, 10, 10> A = Eigen::Matrix<double, 10, 10>::Zero();
      Eigen::Matrix<double, 10, 1> b = Eigen::Matrix<double, 10, 1>::Zero();
      for (std::size_t k = 0; k < p.size(); ++k) {
        Eigen::Vector2d predicted;
        if (!map(p[k], &predicted, nullptr)) return centroids;
        const Eigen::Vector3d h = map.H * Eigen::Vector3d(p[k].x(), p[k].y(), 1);
        const Eigen::Vector2d d = h.head<2>() / h.z();
        const double r2 = d.squaredNorm(), s = 1 + r2 * (map.k1 + r2 * map.k2);
        const Eigen::Matrix2d dq = map.scale * (s * Eigen::Matrix2d::Identity() +
                                                d * (2 * map.k1 + 4 * map.k2 * r2) * d.transpose());
        Eigen::Matrix<double, 2, 8> dd = Eigen::Matrix<double, 2, 8>::Zero();
        dd.row(0) << p[k].x(), p[k].y(), 1, 0, 0, 0, -d.x() * p[k].x(), -d.x() * p[k].y();
        dd.row(1) << 0, 0, 0, p[k].x(), p[k].y(), 1, -d.y() * p[k].x(), -d.y() * p[k].y();
        Eigen::Matrix<double, 2, 10> j;
        j << dq * dd / h.z(), map.scale * r2 * d, map.scale * r2 * r2 * d;
        A += j.transpose() * j;
        b += j.transpose() * (q[k] - predicted);
      }
      // Weak prior: coefficients of the order of one are far beyond any lens over half a diagonal.
      const double prior = 1e-4 * map.scale * map.scale;
      A(8, 8) += 1e-6 * prior;
      A(9, 9) += 1e-6 * prior;
      // Scale the unknowns: the third row of H carries 1 / length.
      const Eigen::Matrix<double, 10, 1> unit =
          A.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
      const Eigen::Matrix<double, 10, 10> scaled = unit.asDiagonal() * A * unit.asDiagonal();
      const Eigen::Matrix<double, 10, 1> step =
          unit.asDiagonal() * scaled.ldlt().solve(unit.asDiagonal() * b);
      if (!step.allFinite()) return centroids;
      for (int k = 0; k < 8; ++k) map.H(k / 3, k % 3) += step[k];
      map.k1 += step[8];
      map.k2 += step[9];
    }
    double moved = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      Eigen::Vector2d bias, predicted;
      if (!CentroidBias(map, p[k], radius, &bias) || !map(p[k], &predicted, nullptr))
        return centroids;
      moved = std::max(moved, (centroids[k] - bias - q[k]).norm());
      q[k] = centroids[k] - bias;
      (*residual)[k] = (q[k] - predicted).norm();
    }
    if (moved < 1e-4) break;
  }
  return q;
}

}  // namespace calibration

}  // namespace impactlab
