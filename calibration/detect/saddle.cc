// Chessboards from their saddle points: the grid is grown from a corner and its neighbours by
// fitting corner after corner, so that it finds all lines there are, whatever board was asked for,
// and boards that are partly hidden, dim or noisy.

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "calibration/detect/detail/features.h"

namespace impactlab::calibration {
namespace {

// of the smoothing before second derivatives [px of the search picture]
constexpr double kSigma = 1.5;
// noise has many saddle points; those of a board are among the strongest
constexpr int kMostSaddles = 3000;
constexpr int kMostSeeds = 200;
constexpr double kSameDirection = 0.94;  // cosine of about 20 degrees
// between neighbours; goes with the square of the contrast
constexpr double kMostStrengthRatio = 6;

struct Saddle {
  Eigen::Vector2d q;       // [px of the search picture]
  Eigen::Vector2d d1, d2;  // unit vectors along the two edges
  Eigen::Matrix2d hessian;
  double strength = 0;
};

// Directions of the two edges from the light on a circle about the saddle, which must change four
// times, opposite to itself. (The second derivatives do not determine them: the trace of a smoothed
// corner is 0 at any angle of its edges.)
bool EdgesOnCircle(const cv::Mat& smooth, double radius, Saddle* saddle) {
  constexpr int n = 32;
  const int reach = static_cast<int>(std::ceil(radius)) + 1, cx = static_cast<int>(saddle->q.x()),
            cy = static_cast<int>(saddle->q.y());
  if (cx < reach || cy < reach || cx >= smooth.cols - reach || cy >= smooth.rows - reach)
    return false;
  std::array<double, n> value;
  for (int k = 0; k < n; ++k) {
    const double x = cx + radius * std::cos(2 * M_PI * k / n),
                 y = cy + radius * std::sin(2 * M_PI * k / n);
    const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
    const double fx = x - x0, fy = y - y0;
    const float *upper = smooth.ptr<float>(y0) + x0, *lower = smooth.ptr<float>(y0 + 1) + x0;
    value[k] = (1 - fy) * ((1 - fx) * upper[0] + fx * upper[1]) +
               fy * ((1 - fx) * lower[0] + fx * lower[1]);
  }
  const auto [low, high] = std::minmax_element(value.begin(), value.end());
  const double middle = (*low + *high) / 2;
  std::array<double, 4> crossing;
  int found = 0;
  for (int k = 0; k < n; ++k) {
    const double a = value[k] - middle, b = value[(k + 1) % n] - middle;
    if ((a > 0) == (b > 0)) continue;
    if (found == 4) return false;
    crossing[found++] = 2 * M_PI * (k + a / (a - b)) / n;
  }
  if (found != 4) return false;
  for (int k = 0; k < 2; ++k) {
    const double bend = crossing[k + 2] - crossing[k] - M_PI;
    if (std::abs(bend) > 0.6) return false;
    const double angle = crossing[k] + bend / 2;
    (k == 0 ? saddle->d1 : saddle->d2) = Eigen::Vector2d(std::cos(angle), std::sin(angle));
  }
  return true;
}

std::vector<Saddle> FindSaddles(const cv::Mat& image) {
  cv::Mat smooth, xx, yy, xy;
  image.convertTo(smooth, CV_32F);
  cv::GaussianBlur(smooth, smooth, {}, kSigma);
  const cv::Mat d2 = (cv::Mat_<float>(1, 3) << 1, -2, 1),
                d1 = (cv::Mat_<float>(1, 3) << -0.5f, 0, 0.5f), one = (cv::Mat_<float>(1, 1) << 1);
  cv::sepFilter2D(smooth, xx, CV_32F, d2, one);
  cv::sepFilter2D(smooth, yy, CV_32F, one, d2);
  cv::sepFilter2D(smooth, xy, CV_32F, d1, d1);
  cv::Mat s = xy.mul(xy) - xx.mul(yy), highest;
  cv::dilate(s, highest, cv::getStructuringElement(cv::MORPH_RECT, {7, 7}));
  double top = 0;
  const cv::Rect inner(3, 3, image.cols - 6, image.rows - 6);
  cv::minMaxLoc(s(inner), nullptr, &top);
  // The strength goes with the square of the contrast: corners down to a seventh of the best one's.
  const float least = static_cast<float>(std::max(0.02 * top, 0.25));
  std::vector<Saddle> all;
  for (int y = 3; y < image.rows - 3; ++y) {
    const float *row = s.ptr<float>(y), *peak = highest.ptr<float>(y);
    for (int x = 3; x < image.cols - 3; ++x) {
      if (row[x] < least || row[x] < peak[x]) continue;
      Saddle saddle;
      saddle.q = Eigen::Vector2d(x, y);
      saddle.hessian << xx.at<float>(y, x), xy.at<float>(y, x), xy.at<float>(y, x),
          yy.at<float>(y, x);
      saddle.strength = row[x];
      all.push_back(saddle);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Saddle& a, const Saddle& b) { return a.strength > b.strength; });
  if (all.size() > kMostSaddles) all.resize(kMostSaddles);
  std::vector<Saddle> corners;
  for (Saddle& saddle : all)
    if (EdgesOnCircle(smooth, 5, &saddle) || EdgesOnCircle(smooth, 3.5, &saddle))
      corners.push_back(saddle);
  return corners;
}

// Strong enough to be a corner of the same board beside the other: noise makes saddles too.
bool SimilarSaddles(const Saddle& a, const Saddle& b) {
  return a.strength < kMostStrengthRatio * b.strength &&
         b.strength < kMostStrengthRatio * a.strength;
}

// The next corner along an edge: in its direction, its own edges alike, its colours exchanged.
const Saddle* Neighbour(const std::vector<Saddle>& all, const Saddle& from,
                        const Eigen::Vector2d& direction) {
  const Saddle* best = nullptr;
  double nearest = INFINITY;
  for (const Saddle& s : all) {
    if (!SimilarSaddles(s, from)) continue;
    const Eigen::Vector2d step = s.q - from.q;
    const double distance = step.norm();
    if (distance < 4 || distance >= nearest || step.dot(direction) < 0.97 * distance) continue;
    const auto alike = [&](const Eigen::Vector2d& d) {
      return std::max(std::abs(d.dot(s.d1)), std::abs(d.dot(s.d2))) > kSameDirection;
    };
    if (!alike(from.d1) || !alike(from.d2)) continue;
    const Eigen::Vector2d bisector = (from.d1 + from.d2).normalized();
    if (bisector.dot(from.hessian * bisector) * bisector.dot(s.hessian * bisector) > 0) continue;
    best = &s;
    nearest = distance;
  }
  return best;
}

bool Covered(const std::vector<CornerGrid>& grids, const Eigen::Vector2d& q, double radius) {
  for (const CornerGrid& grid : grids)
    for (const Eigen::Vector2d& p : grid.q)
      if ((p - q).squaredNorm() < radius * radius) return true;
  return false;
}

double Area(const CornerGrid& grid) {
  const auto at = [&](int c, int r) {
    return grid.q[static_cast<std::size_t>(r) * grid.columns + c];
  };
  const Eigen::Vector2d a = at(grid.columns - 1, grid.rows - 1) - at(0, 0),
                        b = at(0, grid.rows - 1) - at(grid.columns - 1, 0);
  return std::abs(a.x() * b.y() - a.y() * b.x()) / 2;
}

}  // namespace

std::vector<CornerGrid> FindGrids(const GrayImage& image, int scale) {
  const cv::Mat full(image.height, image.width, CV_8U,
                     const_cast<std::uint8_t*>(image.pixels.data()));
  cv::Mat search = full;
  if (scale > 1) {  // whole blocks of pixels only, so that places map exactly
    const cv::Rect whole(0, 0, image.width / scale * scale, image.height / scale * scale);
    cv::resize(full(whole), search, {whole.width / scale, whole.height / scale}, 0, 0,
               cv::INTER_AREA);
  }
  std::vector<CornerGrid> grids;
  if (search.cols < 12 || search.rows < 12) return grids;
  const std::vector<Saddle> saddles = FindSaddles(search);
  const auto to_full = [&](const Eigen::Vector2d& q) {
    return Eigen::Vector2d((q.array() + 0.5) * scale - 0.5);
  };
  int seeds = 0;
  for (const Saddle& seed : saddles) {
    if (seeds >= kMostSeeds) break;
    if (Covered(grids, to_full(seed.q), 3.0 * scale)) continue;
    ++seeds;
    const Saddle* side[4];
    bool complete = true;
    for (int k = 0; k < 4 && complete; ++k) {
      side[k] = Neighbour(saddles, seed, (k < 2 ? seed.d1 : seed.d2) * (k % 2 == 0 ? 1 : -1));
      complete = side[k] != nullptr;
    }
    if (!complete) continue;
    const Eigen::Vector2d u1 = side[0]->q - seed.q, u0 = side[1]->q - seed.q,
                          v1 = side[2]->q - seed.q, v0 = side[3]->q - seed.q;
    const auto balanced = [](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
      return a.norm() < 1.7 * b.norm() && b.norm() < 1.7 * a.norm();
    };
    if (!balanced(u0, u1) || !balanced(v0, v1)) continue;
    CornerGrid grid{3, 3, {}, {}};
    for (int r = -1; r <= 1; ++r) {
      for (int c = -1; c <= 1; ++c) {
        Eigen::Vector2d q = seed.q;
        if (c != 0) q += c > 0 ? u1 : u0;
        if (r != 0) q += r > 0 ? v1 : v0;
        // the corner of the cell: the saddle there, else the parallelogram's
        if (c != 0 && r != 0) {
          const double reach = 0.35 * std::min((c > 0 ? u1 : u0).norm(), (r > 0 ? v1 : v0).norm());
          double nearest = reach * reach;
          Eigen::Vector2d place = q;
          for (const Saddle& s : saddles) {
            if (const double d = (s.q - q).squaredNorm(); d < nearest && SimilarSaddles(s, seed)) {
              nearest = d;
              place = s.q;
            }
          }
          q = place;
        }
        grid.q.push_back(to_full(q));
      }
    }
    FitGrid(image, &grid);
    if (grid.columns < 3 || grid.rows < 3) continue;
    const auto fitted = std::count_if(grid.fits.begin(), grid.fits.end(),
                                      [](const auto& f) { return f.has_value(); });
    if (grid.q.size() == 9 ? fitted < 8
                           : static_cast<double>(fitted) < 0.6 * static_cast<double>(grid.q.size()))
      continue;
    grids.push_back(std::move(grid));
  }
  std::stable_sort(grids.begin(), grids.end(), [](const CornerGrid& a, const CornerGrid& b) {
    return a.q.size() != b.q.size() ? a.q.size() > b.q.size() : Area(a) > Area(b);
  });
  return grids;
}

}  // namespace impactlab::calibration
