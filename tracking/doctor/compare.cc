// Comparison of clips of one camera: lens, direction and exposure.
//
// Textured blocks of the one picture are looked for in the other, coarsely first; the similarity
// that most of them agree on is that of the still scene, moving parts (a board, a body) disagree.
// Pictures are medians over the clip, which removes most moving parts beforehand.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "data/base/error.h"
#include "data/statistics/order_statistic.h"
#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab {
namespace tracking {
namespace {

constexpr int kCoarseWidth = 320;
constexpr double kAlike = 0.75;  // correlation of a block found again

struct Pair {
  double x, y, u, v;  // from the centre of the picture [px]
};
struct Fit {
  double a = 1, b = 0, tx = 0, ty = 0;
  double Distance(const Pair& p) const {
    return std::hypot(a * p.x - b * p.y + tx - p.u, b * p.x + a * p.y + ty - p.v);
  }
};

// Blocks with texture in both directions; flat ones and edges can be found anywhere along
// themselves.
std::vector<cv::Point> Textured(const cv::Mat& image, int size, int margin) {
  cv::Mat corners;
  cv::cornerMinEigenVal(image, corners, size, 3);
  std::vector<cv::Point> out;
  const int half = size / 2;
  for (int y = margin + half; y + half + margin < image.rows; y += size) {
    for (int x = margin + half; x + half + margin < image.cols; x += size) {
      // Gray levels as 0..1 in this measure; below it is noise.
      if (corners.at<float>(y, x) > 2e-5F) out.emplace_back(x, y);
    }
  }
  return out;
}

bool FindBlock(const cv::Mat& from, const cv::Mat& to, cv::Point at, cv::Point2d guess, int size,
               int reach, cv::Point2d* found) {
  const int half = size / 2;
  const cv::Rect block(at.x - half, at.y - half, size, size);
  const cv::Point centre(static_cast<int>(std::lround(guess.x)),
                         static_cast<int>(std::lround(guess.y)));
  const cv::Rect area = cv::Rect(centre.x - half - reach, centre.y - half - reach, size + 2 * reach,
                                 size + 2 * reach) &
                        cv::Rect(0, 0, to.cols, to.rows);
  if (area.width < size + 2 || area.height < size + 2) return false;
  cv::Mat score;
  cv::matchTemplate(to(area), from(block), score, cv::TM_CCOEFF_NORMED);
  double best = 0;
  cv::Point peak;
  cv::minMaxLoc(score, nullptr, &best, nullptr, &peak);
  if (!(best > kAlike) || peak.x < 1 || peak.y < 1 || peak.x + 1 >= score.cols ||
      peak.y + 1 >= score.rows)
    return false;
  const auto vertex = [](float l, float m, float r) {
    const float bend = l - 2 * m + r;
    return bend < 0 ? std::clamp(0.5 * (l - r) / bend, -0.5, 0.5) : 0.0;
  };
  const double dx = vertex(score.at<float>(peak.y, peak.x - 1), score.at<float>(peak.y, peak.x),
                           score.at<float>(peak.y, peak.x + 1));
  const double dy = vertex(score.at<float>(peak.y - 1, peak.x), score.at<float>(peak.y, peak.x),
                           score.at<float>(peak.y + 1, peak.x));
  // A pattern that repeats is as good in another place.
  score(cv::Rect(peak.x - 4, peak.y - 4, 9, 9) & cv::Rect(0, 0, score.cols, score.rows)).setTo(-1);
  double second = 0;
  cv::minMaxLoc(score, nullptr, &second);
  if (second > 0.95 * best) return false;
  *found = {area.x + peak.x + half + dx, area.y + peak.y + half + dy};
  return true;
}

Fit LeastSquares(const std::vector<Pair>& pairs) {
  double n = 0, x = 0, y = 0, u = 0, v = 0;
  for (const Pair& p : pairs) ++n, x += p.x, y += p.y, u += p.u, v += p.v;
  x /= n, y /= n, u /= n, v /= n;
  double size = 0, dot = 0, cross = 0;
  for (const Pair& p : pairs) {
    const double dx = p.x - x, dy = p.y - y, du = p.u - u, dv = p.v - v;
    size += dx * dx + dy * dy, dot += dx * du + dy * dv, cross += dx * dv - dy * du;
  }
  Fit fit;
  if (size > 0) fit.a = dot / size, fit.b = cross / size;
  fit.tx = u - fit.a * x + fit.b * y, fit.ty = v - fit.b * x - fit.a * y;
  return fit;
}

std::vector<Pair> Agreeing(const std::vector<Pair>& pairs, const Fit& fit, double tolerance) {
  std::vector<Pair> out;
  for (const Pair& p : pairs)
    if (fit.Distance(p) < tolerance) out.push_back(p);
  return out;
}

// The similarity that most blocks agree on.
std::vector<Pair> Consensus(const std::vector<Pair>& pairs, double tolerance, Fit* fit) {
  std::vector<Pair> best;
  if (pairs.size() < 2) return best;
  std::mt19937_64 rng(1);
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t i = rng() % pairs.size(), j = rng() % pairs.size();
    if (i == j || std::hypot(pairs[i].x - pairs[j].x, pairs[i].y - pairs[j].y) < 30) continue;
    const Fit candidate = LeastSquares({pairs[i], pairs[j]});
    std::vector<Pair> agree = Agreeing(pairs, candidate, tolerance);
    if (agree.size() > best.size()) best = std::move(agree);
  }
  for (int round = 0; round < 4 && best.size() >= 2; ++round) {
    *fit = LeastSquares(best);
    best = Agreeing(pairs, *fit, tolerance);
  }
  if (best.size() >= 2) *fit = LeastSquares(best);
  return best;
}

std::vector<Pair> Find(const cv::Mat& a, const cv::Mat& b, int size, int reach, const Fit& guess,
                       int* looked_for) {
  const cv::Point2d centre(0.5 * (a.cols - 1), 0.5 * (a.rows - 1));
  std::vector<Pair> pairs;
  const std::vector<cv::Point> blocks = Textured(a, size, 2);
  *looked_for = static_cast<int>(blocks.size());
  for (const cv::Point& at : blocks) {
    const double x = at.x - centre.x, y = at.y - centre.y;
    const cv::Point2d expected(centre.x + guess.a * x - guess.b * y + guess.tx,
                               centre.y + guess.b * x + guess.a * y + guess.ty);
    cv::Point2d found;
    if (FindBlock(a, b, at, expected, size, reach, &found))
      pairs.push_back({x, y, found.x - centre.x, found.y - centre.y});
  }
  return pairs;
}

// Whether the fit makes the blocks of `a` more like `b` than leaving them where they are does: the
// median over all blocks with texture of the ratio of squares without it to those with it. Noise
// and coding blocks match anywhere; they gain nothing. Both are smoothed first, since a picture
// between pixels is smoother than one on them.
double Gain(const cv::Mat& a, const cv::Mat& b, const Fit& fit) {
  cv::Mat smooth_a, smooth_b, moved;
  a.convertTo(smooth_a, CV_32F), b.convertTo(smooth_b, CV_32F);
  cv::GaussianBlur(smooth_a, smooth_a, {}, 1.5), cv::GaussianBlur(smooth_b, smooth_b, {}, 1.5);
  const double cx = 0.5 * (a.cols - 1), cy = 0.5 * (a.rows - 1);
  const cv::Matx23d map(fit.a, -fit.b, cx + fit.tx - fit.a * cx + fit.b * cy, fit.b, fit.a,
                        cy + fit.ty - fit.b * cx - fit.a * cy);
  cv::warpAffine(smooth_b, moved, map, a.size(), cv::INTER_LINEAR | cv::WARP_INVERSE_MAP,
                 cv::BORDER_REPLICATE);
  std::vector<double> gains;
  constexpr int kSize = 32;
  for (const cv::Point& at : Textured(a, kSize, 2)) {
    const cv::Rect block(at.x - kSize / 2, at.y - kSize / 2, kSize, kSize);
    // Of the differences their variance: brightness may have changed.
    const auto squares = [&](const cv::Mat& other) {
      cv::Scalar mean, deviation;
      cv::meanStdDev(smooth_a(block) - other(block), mean, deviation);
      return deviation[0] * deviation[0];
    };
    gains.push_back(squares(smooth_b) / std::max(1e-6, squares(moved)));
  }
  return MedianOrZero(gains);
}

}  // namespace

Similarity FindSimilarity(const GrayImage& image_a, const GrayImage& image_b) {
  Similarity out;
  if (image_a.width != image_b.width || image_a.height != image_b.height || image_a.width < 64 ||
      image_a.height < 48)
    return out;
  const auto wrap = [](const GrayImage& image) {
    return cv::Mat(image.height, image.width, CV_8U,
                   const_cast<std::uint8_t*>(image.pixels.data()));
  };
  const cv::Mat a = wrap(image_a), b = wrap(image_b);
  const double shrink = std::max(1.0, static_cast<double>(a.cols) / kCoarseWidth);
  cv::Mat small_a, small_b;
  const cv::Size size(static_cast<int>(a.cols / shrink), static_cast<int>(a.rows / shrink));
  cv::resize(a, small_a, size, 0, 0, cv::INTER_AREA);
  cv::resize(b, small_b, size, 0, 0, cv::INTER_AREA);
  Fit coarse, fit;
  int looked_for = 0;
  if (Consensus(Find(small_a, small_b, 20, 24, {}, &looked_for), 1.5, &coarse).size() < 6)
    return out;
  coarse.tx *= a.cols / static_cast<double>(size.width),
      coarse.ty *= a.rows / static_cast<double>(size.height);
  const auto found =
      Find(a, b, 32, static_cast<int>(std::ceil(2 + 2 * shrink)), coarse, &looked_for);
  const std::vector<Pair> agree = Consensus(found, 0.75, &fit);
  out.blocks = static_cast<int>(found.size()), out.agreeing = static_cast<int>(agree.size());
  // By chance two blocks always agree, and a board that was moved as a whole does too: most of what
  // was found must.
  if (out.agreeing < 8 || 2 * out.agreeing < out.blocks) return out;
  // A body with texture before a wall without any moves as a whole as well, but fills a small part
  // of the picture.
  constexpr double kHull = 0.15, kShare = 0.1;
  std::vector<cv::Point2f> centres;
  centres.reserve(agree.size());
  for (const Pair& p : agree)
    centres.emplace_back(static_cast<float>(p.x), static_cast<float>(p.y));
  std::vector<cv::Point2f> hull;
  cv::convexHull(centres, hull);
  if (cv::contourArea(hull) < kHull * a.cols * a.rows ||
      out.agreeing * 32.0 * 32.0 < kShare * a.cols * a.rows)
    return out;
  const double corner = std::hypot(fit.tx, fit.ty) + std::hypot(fit.a - 1, fit.b) * 0.5 * a.cols;
  if (corner > 0.3 && Gain(a, b, fit) < 1.3) return out;
  out.known = true;
  out.scale = std::hypot(fit.a, fit.b), out.angle = std::atan2(fit.b, fit.a);
  out.shift[0] = fit.tx, out.shift[1] = fit.ty;
  double squares = 0, sharp_a = 0, sharp_b = 0, level_a = 0, level_b = 0;
  cv::Mat edges_a, edges_b;
  cv::Laplacian(a, edges_a, CV_32F), cv::Laplacian(b, edges_b, CV_32F);
  const cv::Rect whole(0, 0, a.cols, a.rows);
  for (const Pair& p : agree) {
    squares += std::pow(fit.Distance(p), 2);
    const auto block = [&](double x, double y) {
      return cv::Rect(static_cast<int>(std::lround(x + 0.5 * (a.cols - 1))) - 16,
                      static_cast<int>(std::lround(y + 0.5 * (a.rows - 1))) - 16, 32, 32) &
             whole;
    };
    const cv::Rect in_a = block(p.x, p.y), in_b = block(p.u, p.v);
    if (in_a.area() != 1024 || in_b.area() != 1024) continue;
    sharp_a += cv::norm(edges_a(in_a), cv::NORM_L2SQR),
        sharp_b += cv::norm(edges_b(in_b), cv::NORM_L2SQR);
    level_a += cv::mean(a(in_a))[0], level_b += cv::mean(b(in_b))[0];
  }
  out.rms = std::sqrt(squares / out.agreeing);
  if (level_a > 0 && level_b > 0) out.gain = level_b / level_a;
  if (sharp_a > 0) out.sharpness = std::sqrt(sharp_b / sharp_a) / out.gain;
  return out;
}

std::vector<TimeFinding> SimilarityFindings(const Similarity& s, int width,
                                            const std::string& between) {
  std::vector<TimeFinding> out;
  if (!s.known) return out;
  constexpr double kVisible = 0.5;  // px at the border of the picture
  // of the width, by which the border of the picture moves: a fault
  constexpr double kMoved = 0.01;
  const double shift = std::hypot(s.shift[0], s.shift[1]), zoom = std::abs(s.scale - 1);
  const char* advice =
      "switch stabilisation, autofocus and zoom off, fix the camera, and calibrate again";
  // A length that is wrong by z changes both speeds alike, but the gravity of the fit is not
  // scaled: as for a wrong rate.
  if (zoom * width / 2 > kVisible) {
    out.push_back(
        {"zoomed", zoom / 2 > kMoved ? Severity::kFault : Severity::kWarning,
         fmt::format(
             "{} the scale of the still scene changes by {:+.2f} %: zoom, focus or distance",
             between, 100 * (s.scale - 1)),
         advice, std::min(1.0, zoom * 9.81 * kArc / 2)});
  }
  // A picture turned by an angle mixes that share of the tangential velocity, up to the normal one,
  // into approach and rebound. A shift is a turn of the camera by shift / focal length, which is
  // about the width of the picture.
  if (std::abs(s.angle) * width / 2 > kVisible || shift > kVisible) {
    const double cost = 2 * std::max(std::abs(s.angle), shift / width);
    out.push_back(
        {"stabilised", cost > 2 * kMoved ? Severity::kFault : Severity::kWarning,
         fmt::format("{} the still scene moves by ({:+.1f}, {:+.1f}) px and turns by {:+.2f} "
                     "degrees: the camera was moved, or the picture is stabilised",
                     between, s.shift[0], s.shift[1], 180 / std::numbers::pi * s.angle),
         advice, std::min(1.0, cost)});
  }
  if (s.sharpness < 0.7 || s.sharpness > 1.45) {
    out.push_back({"refocused", Severity::kWarning,
                   fmt::format("{} edges become {:.1f} times as sharp: the focus was changed",
                               between, s.sharpness),
                   advice, 0});
  }
  if (std::abs(s.gain - 1) > 0.08) {
    out.push_back(
        {"exposure_changes", Severity::kNote,
         fmt::format("{} the still scene becomes {:.2f} times as bright", between, s.gain),
         "harmless to positions where nothing saturates; fix exposure and gain in the camera", 0});
  }
  return out;
}

}  // namespace tracking

namespace {

// Median over a clip of pictures at even distances; what moves is mostly gone.
GrayImage MedianPicture(const FrameSource& source, long long max_frames, VideoInfo* info) {
  FrameSource alone = source;
  alone.decode.threads = 1;  // as the frames will be measured
  FrameReader reader(alone);
  *info = reader.info();
  constexpr std::size_t kKept = 16;
  std::vector<GrayImage> kept;
  long long stride = 1, k = 0;
  Frame frame;
  try {
    for (; k < max_frames && reader.Next(&frame); ++k) {
      if (k % stride != 0) continue;
      if (kept.size() == kKept) {
        for (std::size_t i = 1; i < kKept / 2; ++i) std::swap(kept[i], kept[2 * i]);
        kept.resize(kKept / 2);
        stride *= 2;
        if (k % stride != 0) continue;
      }
      kept.push_back(frame.image);
    }
  } catch (const DataError&) {
    if (kept.empty()) throw;  // later faults of the file are reported by ExamineTimeBase
  }
  if (kept.empty()) throw DataError(SourceName(source) + ": holds no frame that can be read");
  GrayImage out = kept.front();
  std::vector<std::uint8_t> values(kept.size());
  for (std::size_t i = 0; i < out.pixels.size(); ++i) {
    for (std::size_t j = 0; j < kept.size(); ++j) values[j] = kept[j].pixels[i];
    out.pixels[i] = OrderStatistic(values, values.size() / 2);
  }
  return out;
}

}  // namespace

std::vector<TimeFinding> CompareClips(const FrameSource& reference, const FrameSource& other,
                                      const DoctorOptions& options) {
  constexpr long long kLooked = 2000;
  VideoInfo a, b;
  const GrayImage before = MedianPicture(reference, std::min(kLooked, options.max_frames), &a);
  const GrayImage after = MedianPicture(other, std::min(kLooked, options.max_frames), &b);
  const std::string between = fmt::format(
      "from {} to this clip", std::filesystem::path(SourceName(reference)).filename().string());
  if (a.rotation_deg != b.rotation_deg || a.mirrored != b.mirrored) {
    return {{"rotation", Severity::kFault,
             fmt::format("{} the turn that the file asks for changes from {} to {} degrees",
                         between, a.rotation_deg, b.rotation_deg),
             "hold the camera the same way, or correct the tag of one of the files: a calibration "
             "holds for one orientation",
             0}};
  }
  if (a.width != b.width || a.height != b.height) {
    return {{"other_size", Severity::kFault,
             fmt::format("{} the size of pictures changes from {} x {} to {} x {}", between,
                         a.width, a.height, b.width, b.height),
             "calibrate with the mode of the camera that the drops are filmed with: other modes "
             "crop or scale differently",
             0}};
  }
  const tracking::Similarity s = tracking::FindSimilarity(before, after);
  if (!s.known) {
    return {
        {"not_comparable", Severity::kNote,
         fmt::format(
             "{} no still scene that spreads over the picture is found again ({} of {} textured "
             "blocks agree): whether the lens and the camera stayed the same cannot be told",
             between, s.agreeing, s.blocks),
         "let something fixed with texture stand in both clips", 0}};
  }
  return tracking::SimilarityFindings(s, a.width, between);
}

}  // namespace impactlab
