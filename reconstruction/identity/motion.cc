#include "reconstruction/identity/detail/motion.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "reconstruction/identity/detail/body.h"
#include "reconstruction/identity/detail/search.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;

constexpr int kLooks = 8;                   // instants of a piece that are looked at
constexpr double kMotionCorrelation = 0.4;  // of the errors of neighbouring frames
constexpr double kMotionImageRange = 200;   // over which images without a relation are spread [px]
// a pose predicts an image this well, or does not test its name [px]
constexpr double kKnownForMotion = 3;
constexpr double kLongestMotionWay = 0.1;  // from a pose to the instant for which it stands [s]
constexpr double kTurn = 25;               // not foreseen, between a pose and an instant [rad/s]
constexpr double kShift = 3;               // the same [m/s]
// log odds of a place against an image anywhere, below which a name goes
constexpr double kFits = 0;
constexpr double kDecidedAgainstAnother =
    5;  // the same of a name against another one with all its images
// the same with this image alone: rays of other cameras support the name too
constexpr double kAlone = -3;
constexpr double kGiven = 10;  // the same of a name that the motion alone gives
constexpr int kMotionRounds = 12;

struct Image {
  int piece = 0;
  BodyImage at;  // its label is the piece's, which changes
};

// How a piece fares under a name.
struct Verdict {
  bool tested = false;
  double fit = 0;            // log odds of the images at this place against images anywhere
  double alone = kCertain;   // of the name against the best other one that is free
  double all = kCertain;     // the same with the marker's images in all cameras renamed alike
  char best = kNone;         // the best name of all that are free, and
  double lead = 0, own = 0;  // its odds against the next best one and against an image anywhere
};

class Motion {
 public:
  Motion(const Scene& scene, const std::vector<char>& label) : scene_(scene), label_(label) {
    for (const Piece& piece : scene.pieces)
      times_.insert(times_.end(), piece.t.begin(), piece.t.end());
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end(),
                             [&](double a, double b) { return b - a <= scene.tolerance; }),
                 times_.end());
    images_.resize(times_.size());
    poses_.resize(times_.size());
    for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
      const Piece& piece = scene.pieces[i];
      if (piece.standing && label[i] < 0) continue;
      for (int k = First(piece); k < Last(piece); ++k) {
        const auto at = ImageAtTime(piece, times_[k], scene.tolerance);
        if (!at) continue;
        Image image{static_cast<int>(i),
                    {piece.camera, 0, scene.rig_camera[piece.camera], at->q, at->cov}};
        const double sd = scene.options.pixel_sd,
                     place = scene.layout.sd * scene.scale[piece.camera];
        image.at.cov += (sd * sd + place * place) * Matrix2d::Identity();
        images_[k].push_back(image);
      }
    }
    for (int k = 0; k < static_cast<int>(times_.size()); ++k) UpdatePose(k);
  }

  void Run(const std::vector<char>& candidates, MotionCheck* out) {
    const std::size_t n = label_.size();
    std::vector<Verdict> verdicts(n);
    std::vector<char> stale(n, 1);
    for (int round = 0; round < kMotionRounds; ++round) {
      std::vector<std::pair<double, int>> bad;
      for (std::size_t i = 0; i < n; ++i) {
        if (!Counts(static_cast<int>(i))) continue;
        if (stale[i]) verdicts[i] = Of(static_cast<int>(i), label_[i]);
        const Verdict& v = verdicts[i];
        const double worst =
            std::min({v.fit - kFits, v.alone - kAlone, v.all - kDecidedAgainstAnother});
        if (v.tested && worst < 0) bad.emplace_back(worst, static_cast<int>(i));
      }
      if (bad.empty()) break;
      std::sort(bad.begin(), bad.end());
      std::fill(stale.begin(), stale.end(), 0);
      for (const auto& [worst, i] : bad) {
        // Its verdict may rest on one that is worse.
        if (stale[i]) continue;
        Change(i, kNone, &stale);
      }
    }
    out->odds.assign(n, 0);
    bool more = true;
    for (int round = 0; more && round < kMotionRounds; ++round) {
      more = false;
      for (std::size_t i = 0; i < n; ++i) {
        if (label_[i] >= 0 || candidates[i] < 0) continue;
        const Verdict v = Of(static_cast<int>(i), kNone);
        if (!v.tested || v.lead < kGiven || v.own < kGiven) continue;
        Change(static_cast<int>(i), v.best, &stale);
        out->odds[i] = std::min(v.lead, v.own);
        more = true;
      }
    }
    out->label = label_;
  }

 private:
  bool Counts(int piece) const { return label_[piece] >= 0 && scene_.layout.known[label_[piece]]; }
  void UpdatePose(int k) {
    poses_[k].reset();
    const std::vector<BodyImage> images = Named(k, kNone);
    auto pose = StartBody(*scene_.rig, scene_.layout, images);
    if (pose && pose->fit < kMostMiss && PredictsImages(*pose, images)) poses_[k] = pose;
  }
  void Change(int i, char to, std::vector<char>* stale) {
    label_[i] = to;
    const Piece& own = scene_.pieces[i];
    const int first = First(own), last = Last(own);
    for (int k = first; k < last; ++k) UpdatePose(k);
    for (std::size_t j = 0; j < label_.size(); ++j) {
      if (First(scene_.pieces[j]) < last && Last(scene_.pieces[j]) > first) (*stale)[j] = 1;
    }
  }
  // Images at an instant that have another name than this one.
  std::vector<BodyImage> Named(int k, char without) const {
    std::vector<BodyImage> out;
    for (const Image& image : images_[k]) {
      if (!Counts(image.piece) || label_[image.piece] == without) continue;
      out.push_back(image.at);
      out.back().label = MarkerOf(label_[image.piece]);
    }
    return out;
  }

  Verdict Of(int i, char own) const {
    Verdict out;
    const Piece& piece = scene_.pieces[i];
    const int first = First(piece), last = Last(piece), n = last - first;
    if (n <= 0) return out;
    const int looks = std::min(n, kLooks);
    const auto L = static_cast<std::size_t>(scene_.labels);
    // of every name; of the own one before it, in all cameras
    std::vector<double> score(L, 0), lead(L, 0);
    std::vector<char> free(L, 1);
    for (std::size_t j = 0; own < 0 && j < label_.size(); ++j) {
      const Piece& other = scene_.pieces[j];
      if (label_[j] >= 0 && other.camera == piece.camera && First(other) < last &&
          Last(other) > first)
        free[label_[j]] = 0;
    }
    int tested = 0, looked = 0;
    for (int look = 0; look < looks; ++look) {
      const int k = first + (looks > 1 ? look * (n - 1) / (looks - 1) : n / 2);
      const auto image = std::find_if(images_[k].begin(), images_[k].end(),
                                      [&](const Image& s) { return s.piece == i; });
      if (image == images_[k].end()) continue;
      ++looked;
      const std::vector<BodyImage> others = Named(k, own);
      for (const BodyImage& other : others) {
        if (other.seer == image->at.seer) free[other.label] = 0;
      }
      const auto pose = Without(others, image->at.seer, k, piece);
      if (!pose) continue;
      ++tested;
      for (std::size_t l = 0; l < L; ++l) {
        if (scene_.layout.known[l]) score[l] += Likelihood(*pose, image->at, static_cast<int>(l));
      }
      if (own < 0) continue;
      for (const Image& same : images_[k]) {
        if (label_[same.piece] != own) continue;
        const double now = Likelihood(*pose, same.at, own);
        for (std::size_t l = 0; l < L; ++l) {
          if (scene_.layout.known[l])
            lead[l] += now - Likelihood(*pose, same.at, static_cast<int>(l));
        }
      }
    }
    if (tested == 0 || (own < 0 && tested < looked)) return out;
    out.tested = true;
    const double weight = n / (1 + (n - 1) * kMotionCorrelation) / tested;
    double best = -1e300, next = -1e300;
    for (std::size_t l = 0; l < L; ++l) {
      if (!scene_.layout.known[l] || (!free[l] && static_cast<char>(l) != own)) continue;
      if (score[l] > best) {
        next = best;
        best = score[l];
        out.best = static_cast<char>(l);
      } else {
        next = std::max(next, score[l]);
      }
      if (own < 0 || static_cast<char>(l) == own) continue;
      out.alone = std::min(out.alone, weight * (score[own] - score[l]));
      out.all = std::min(out.all, weight * lead[l]);
    }
    if (own >= 0) out.fit = weight * score[own];
    out.own = weight * best;
    out.lead = std::min(kCertain, weight * (best - next));
    return out;
  }

  int First(const Piece& piece) const {
    return static_cast<int>(
        std::lower_bound(times_.begin(), times_.end(), piece.t.front() - scene_.tolerance) -
        times_.begin());
  }
  int Last(const Piece& piece) const {
    return static_cast<int>(
        std::upper_bound(times_.begin(), times_.end(), piece.t.back() + scene_.tolerance) -
        times_.begin());
  }

  double Likelihood(const BodyPose& pose, const BodyImage& image, int label) const {
    const double outlier = scene_.options.outlier_probability;
    Eigen::Matrix<double, 2, 6> J;
    const auto q = PredictImage(*scene_.rig, scene_.layout, pose, image.seer, label, &J);
    if (!q) return std::log(outlier);
    const Matrix2d S = image.cov + J * pose.cov * J.transpose();
    const Vector2d r = image.q - *q;
    const double range =
        kMotionImageRange * kMotionImageRange / (2 * std::numbers::pi * std::sqrt(S.determinant()));
    return std::log((1 - outlier) * range * std::exp(-0.5 * r.dot(S.inverse() * r)) + outlier);
  }

  bool Known(const BodyPose& pose, int seer, int label) const {
    Eigen::Matrix<double, 2, 6> J;
    return PredictImage(*scene_.rig, scene_.layout, pose, seer, label, &J) &&
           (J * pose.cov * J.transpose()).trace() <= 2 * kKnownForMotion * kKnownForMotion;
  }
  // Whether all markers are predicted in the cameras of these images.
  bool PredictsImages(const BodyPose& pose, int seer) const {
    for (int l = 0; l < scene_.labels; ++l) {
      if (scene_.layout.known[l] && !Known(pose, seer, l)) return false;
    }
    return true;
  }
  bool PredictsImages(const BodyPose& pose, const std::vector<BodyImage>& images) const {
    std::vector<char> done(scene_.rig->cameras.size(), 0);
    for (const BodyImage& image : images) {
      if (!done[image.seer] && !PredictsImages(pose, image.seer)) return false;
      done[image.seer] = 1;
    }
    return true;
  }

  // Pose at an instant from other markers alone; with what is known of the body before and after
  // the piece where that is not enough.
  std::optional<BodyPose> Without(const std::vector<BodyImage>& others, int seer, int k,
                                  const Piece& piece) const {
    const auto good = [&](const std::optional<BodyPose>& pose) {
      return pose && pose->fit < kMostMiss && PredictsImages(*pose, seer);
    };
    if (poses_[k]) {
      BodyPose start = *poses_[k];
      start.cov = Loose(1, 0.1);
      auto pose = FitBody(*scene_.rig, scene_.layout, start, others);
      if (good(pose)) return pose;
    }
    const auto expected = Expected(k, piece);
    if (!expected) return std::nullopt;
    const auto pose = FitBody(*scene_.rig, scene_.layout, *expected, others);
    return good(pose) ? pose : std::nullopt;
  }

  std::optional<BodyPose> Expected(int k, const Piece& piece) const {
    const double t = times_[k];
    int before = First(piece) - 1, after = Last(piece);
    const int n = static_cast<int>(times_.size());
    while (before >= 0 && !poses_[before]) --before;
    while (after < n && !poses_[after]) ++after;
    const bool has_before = before >= 0 && t - times_[before] < kLongestMotionWay,
               has_after = after < n && times_[after] - t < kLongestMotionWay;
    if (!has_before && !has_after) return std::nullopt;
    BodyPose out;
    double way = 0;
    if (has_before && has_after) {
      out.X_WB = Between(poses_[before]->X_WB, poses_[after]->X_WB,
                         (t - times_[before]) / (times_[after] - times_[before]));
      way = 0.5 * std::min(t - times_[before], times_[after] - t);
    } else {
      out.X_WB = has_before ? poses_[before]->X_WB : poses_[after]->X_WB;
      way = has_before ? t - times_[before] : times_[after] - t;
    }
    out.cov = Loose(0.02 + kTurn * way, 0.002 + kShift * way);
    return out;
  }

  const Scene& scene_;
  std::vector<char> label_;
  std::vector<double> times_;
  std::vector<std::vector<Image>> images_;      // at every time
  std::vector<std::optional<BodyPose>> poses_;  // that are known, at every time
};

}  // namespace

MotionCheck CheckAgainstMotion(const Scene& scene, const std::vector<char>& label,
                               const std::vector<char>& candidates) {
  MotionCheck out;
  Motion(scene, label).Run(candidates, &out);
  return out;
}

}  // namespace impactlab::reconstruction
