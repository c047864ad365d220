// ChArUco boards: OpenCV reads the markers, this file decides which layout they belong to, and fits
// the corners between them.

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "calibration/detect/detail/features.h"
#include "data/base/aruco_opencv.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

constexpr int kLargestCharucoSearch = 1600;  // [px]
constexpr int kLeastMarkers = 2;             // that agree with each other
// width of an edge relative to the gap between it and a marker
constexpr double kMostBlurOfGap = 0.5;
constexpr int kLeastCorners = 4;  // that determine the board's pose

struct Marker {
  int id = 0;
  std::vector<Eigen::Vector2d> q;  // four corners, clockwise from the upper left [px]
};

std::vector<Marker> ReadMarkers(const cv::Mat& image, const Board& board, int scale) {
  cv::Mat search = image;
  if (scale > 1) {  // whole blocks of pixels only, so that places map exactly
    const cv::Rect whole(0, 0, image.cols / scale * scale, image.rows / scale * scale);
    cv::resize(image(whole), search, {whole.width / scale, whole.height / scale}, 0, 0,
               cv::INTER_AREA);
  }
  std::vector<Marker> markers;
  if (search.cols < 16 || search.rows < 16) return markers;
  cv::aruco::DetectorParameters parameters;
  parameters.minMarkerPerimeterRate = std::min(0.03, 36.0 / std::max(search.cols, search.rows));
  parameters.adaptiveThreshWinSizeMax = 33;
  std::vector<std::vector<cv::Point2f>> corners;
  std::vector<int> ids;
  DetectAruco(search, DictionaryId(board.dictionary), parameters, &corners, &ids);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    Marker marker{ids[k], {}};
    for (const cv::Point2f& p : corners[k])
      marker.q.emplace_back((p.x + 0.5) * scale - 0.5, (p.y + 0.5) * scale - 0.5);
    markers.push_back(std::move(marker));
  }
  return markers;
}

std::vector<Eigen::Vector2d> MarkerPlaces(const BoardPattern& pattern, int id) {
  const Eigen::Vector2d c = pattern.MarkerCorner(id);
  const double side = pattern.board.marker_side;
  return {c, c + Eigen::Vector2d(side, 0), c + Eigen::Vector2d(side, side),
          c + Eigen::Vector2d(0, side)};
}

// Markers that lie where the layout has them, by one homography: loose, for the lens bends it.
std::vector<Marker> Consistent(const std::vector<Marker>& markers, const BoardPattern& pattern) {
  std::vector<cv::Point2f> from, to;
  std::vector<Marker> known;
  double side = 0;
  for (const Marker& m : markers) {
    if (m.id >= static_cast<int>(pattern.marker_square.size())) continue;
    const auto places = MarkerPlaces(pattern, m.id);
    for (int k = 0; k < 4; ++k) {
      from.emplace_back(static_cast<float>(places[k].x() / pattern.board.pitch),
                        static_cast<float>(places[k].y() / pattern.board.pitch));
      to.emplace_back(static_cast<float>(m.q[k].x()), static_cast<float>(m.q[k].y()));
    }
    side += (m.q[2] - m.q[0]).norm() / std::sqrt(2);
    known.push_back(m);
  }
  if (known.size() < kLeastMarkers) return {};
  // of a square [px]
  side *= pattern.board.pitch / pattern.board.marker_side / static_cast<double>(known.size());
  cv::Mat mask;
  const cv::Mat H =
      cv::findHomography(from, to, cv::RANSAC, std::max(2.0, 0.25 * side), mask, 1000, 0.999);
  if (H.empty()) return {};
  std::vector<Marker> kept;
  for (std::size_t k = 0; k < known.size(); ++k) {
    int inside = 0;
    for (int i = 0; i < 4; ++i) inside += mask.at<std::uint8_t>(static_cast<int>(4 * k) + i) != 0;
    if (inside < 3) continue;
    // One marker seen twice: two boards, or a reflection. The first is kept, which is the larger in
    // OpenCV's order of candidates.
    const bool twice =
        std::any_of(kept.begin(), kept.end(), [&](const Marker& m) { return m.id == known[k].id; });
    if (!twice) kept.push_back(known[k]);
  }
  if (kept.size() < kLeastMarkers) return {};
  return kept;
}

struct Reading {
  std::vector<Marker> markers;
  std::optional<BoardPattern> pattern;
  int seen = 0;  // of the dictionary, wherever
};

// The board as given, or its legacy layout where that explains more.
Reading ReadBoard(const cv::Mat& image, const Board& board, int scale) {
  Reading best;
  const std::vector<Marker> all = ReadMarkers(image, board, scale);
  best.seen = static_cast<int>(all.size());
  for (const bool legacy : {board.legacy, !board.legacy}) {
    Board other = board;
    other.legacy = legacy;
    if (!Fault(other).empty()) continue;
    BoardPattern pattern(other);
    std::vector<Marker> kept = Consistent(all, pattern);
    if (kept.size() <= best.markers.size()) continue;
    best.markers = std::move(kept);
    best.pattern = std::move(pattern);
  }
  return best;
}

struct Corner {
  Eigen::Vector2d p;  // on the board [pitch]
  std::optional<CornerFit> fit;
};

// Homography from the known places nearest to `p`.
std::optional<Eigen::Matrix3d> LocalHomography(
    const std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>>& known, const Eigen::Vector2d& p,
    std::size_t count) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < known.size(); ++k)
    order.emplace_back((known[k].first - p).squaredNorm(), k);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), count));
  std::vector<Eigen::Vector2d> from, to;
  for (const auto& [distance, k] : order) {
    from.push_back(known[k].first);
    to.push_back(known[k].second);
  }
  return FitHomography(from, to);
}

// Fits the corners that lie within `reach` [pitch] of a known place and are not yet there. Number
// of new ones.
int FitCorners(const GrayImage& image, const BoardPattern& pattern,
               const std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>>& known, double reach,
               std::size_t count, std::vector<Corner>* corners) {
  int fresh = 0;
  std::vector<std::optional<CornerFit>> fits(corners->size());
  for (std::size_t id = 0; id < corners->size(); ++id) {
    Corner& corner = (*corners)[id];
    if (corner.fit) continue;
    const bool near = std::any_of(known.begin(), known.end(), [&](const auto& k) {
      return (k.first - corner.p).norm() < reach;
    });
    if (!near) continue;
    const auto H = LocalHomography(known, corner.p, count);
    if (!H) continue;
    CornerGuess guess;
    guess.q = ApplyHomography(*H, corner.p);
    guess.du = (ApplyHomography(*H, corner.p + Eigen::Vector2d(0.5, 0)) -
                ApplyHomography(*H, corner.p - Eigen::Vector2d(0.5, 0)));
    guess.dv = (ApplyHomography(*H, corner.p + Eigen::Vector2d(0, 0.5)) -
                ApplyHomography(*H, corner.p - Eigen::Vector2d(0, 0.5)));
    guess.clear = (1 - pattern.board.marker_side / pattern.board.pitch) / 2;
    auto fit = FitCorner(image, guess);
    if (!fit) continue;
    const int column = static_cast<int>(id) % pattern.board.columns,
              row = static_cast<int>(id) / pattern.board.columns;
    const bool black = ((column + row) % 2 == 0) == pattern.first_black;
    if ((fit->contrast < 0) != black) continue;
    // Blur of the marker that reaches the corner would bias its position.
    const double cross = std::abs(guess.du.x() * guess.dv.y() - guess.du.y() * guess.dv.x());
    if (fit->width >
        kMostBlurOfGap * guess.clear * cross / std::max(guess.du.norm(), guess.dv.norm()))
      continue;
    if ((fit->q - guess.q).norm() > std::max(1.5, 0.2 * std::min(guess.du.norm(), guess.dv.norm())))
      continue;
    fits[id] = fit;
    ++fresh;
  }
  for (std::size_t id = 0; id < fits.size(); ++id)
    if (fits[id]) (*corners)[id].fit = fits[id];
  return fresh;
}

std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>> Fitted(const std::vector<Corner>& corners,
                                                                std::size_t except) {
  std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>> known;
  for (std::size_t id = 0; id < corners.size(); ++id)
    if (corners[id].fit && id != except) known.emplace_back(corners[id].p, corners[id].fit->q);
  return known;
}

// Corners that disagree with the prediction from their neighbours are removed, the worst first.
void DropMisplaced(std::vector<Corner>* corners) {
  for (std::size_t round = 0; round < corners->size(); ++round) {
    std::vector<double> all;
    double worst = 0;
    std::size_t worst_id = 0;
    for (std::size_t id = 0; id < corners->size(); ++id) {
      const Corner& corner = (*corners)[id];
      if (!corner.fit) continue;
      const auto known = Fitted(*corners, id);
      if (known.size() < 6) return;
      const auto H = LocalHomography(known, corner.p, 10);
      if (!H) continue;
      const double error = (ApplyHomography(*H, corner.p) - corner.fit->q).norm();
      all.push_back(error);
      if (error > worst) {
        worst = error;
        worst_id = id;
      }
    }
    if (worst <= std::max(0.5, 6 * UpperMedian(all))) return;
    (*corners)[worst_id].fit.reset();
  }
}

}  // namespace

void DetectCharuco(const GrayImage& image, const Board& board, const DetectOptions& /*options*/,
                   BoardView* view) {
  const cv::Mat full(image.height, image.width, CV_8U,
                     const_cast<std::uint8_t*>(image.pixels.data()));
  const int scale = std::max(
      1, (std::max(image.width, image.height) + kLargestCharucoSearch - 1) / kLargestCharucoSearch);
  Reading reading = ReadBoard(full, board, scale);
  if (reading.markers.size() < 4) {  // coarser against blur and noise
    Reading again = ReadBoard(full, board, 2 * scale);
    if (again.markers.size() > reading.markers.size()) reading = std::move(again);
  }
  if (reading.markers.size() < 4) {
    cv::Mat flipped;
    cv::flip(full, flipped, 1);
    if (const Reading mirrored = ReadBoard(flipped, board, scale);
        mirrored.markers.size() > reading.markers.size() + 1) {
      view->mirrored = true;
      view->problem = fmt::format(
          "the picture is mirrored: {} markers of the board read well in its mirror image; flip "
          "the pictures of this camera",
          mirrored.markers.size());
      return;
    }
  }
  if (!reading.pattern) {
    view->problem = reading.seen == 0
                        ? fmt::format("no marker of dictionary {} was found", board.dictionary)
                        : fmt::format(
                              "{} markers of dictionary {} were found, but they do not lie as on a "
                              "board of {} x {} inner corners",
                              reading.seen, board.dictionary, board.columns, board.rows);
    return;
  }

  const BoardPattern& pattern = *reading.pattern;
  std::vector<Corner> corners(PointCount(board));
  for (int id = 0; id < PointCount(board); ++id)
    corners[id].p = PointOnBoard(board, id).head<2>() / board.pitch;
  std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>> known;
  for (const Marker& m : reading.markers) {
    const auto places = MarkerPlaces(pattern, m.id);
    for (int k = 0; k < 4; ++k) known.emplace_back(places[k] / board.pitch, m.q[k]);
  }
  FitCorners(image, pattern, known, 0.75, 8, &corners);
  DropMisplaced(&corners);
  // Outwards from corner to corner where markers could not be read.
  for (int round = 0; round < 2 * (board.columns + board.rows); ++round) {
    known = Fitted(corners, corners.size());
    if (known.size() < 6 || FitCorners(image, pattern, known, 1.5, 8, &corners) == 0) break;
  }
  DropMisplaced(&corners);

  std::vector<double> unit_sd, rms, width;
  for (const Corner& corner : corners) {
    if (!corner.fit) continue;
    unit_sd.push_back(corner.fit->unit_sd);
    rms.push_back(corner.fit->rms);
    width.push_back(corner.fit->width);
  }
  if (unit_sd.size() < kLeastCorners) {
    view->problem = fmt::format(
        "{} markers were found, but only {} corners between them can be measured; {} are needed",
        reading.markers.size(), unit_sd.size(), kLeastCorners);
    return;
  }
  const std::vector<double> sd = RelativeSd(unit_sd, rms);
  for (std::size_t id = 0, k = 0; id < corners.size(); ++id)
    if (corners[id].fit)
      view->points.push_back({static_cast<int>(id), corners[id].fit->q, sd[k++]});
  view->orientation_known = true;
  view->sharpness = 1 / UpperMedian(width);
}

}  // namespace impactlab::calibration
