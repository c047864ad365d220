#include "reconstruction/identity_motion.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "reconstruction/identity_search.h"

namespace impactlab::internal::identity {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr int kLooks = 8;             // instants of a piece that are looked at
constexpr double kCorrelation = 0.4;  // of the errors of neighbouring frames
constexpr double kImageRange = 200;   // over which images without a relation are spread [px]
constexpr double kKnown = 3;          // a pose foretells an image this well, or does not test its name [px]
constexpr double kMostMiss = 3;       // of the images from a pose that is relied on, root mean square [standard deviations]
constexpr double kLongestWay = 0.1;   // from a pose to the instant that it speaks for [s]
constexpr double kTurn = 25;          // not foreseen, between a pose and an instant [rad/s]
constexpr double kShift = 3;          // the same [m/s]
constexpr double kFits = 0;           // log odds of a place against an image anywhere, below which a name goes
constexpr double kDecided = 5;        // the same of a name against another one with all its images
constexpr double kAlone = -3;         // the same with this image alone: rays of other cameras speak for the name too
constexpr double kGiven = 10;         // the same of a name that the motion alone gives
constexpr int kRounds = 12;

struct Image {
  int piece = 0, camera = 0;  // camera of the rig
  Vector2d q;
  Matrix2d cov, weight;
};

struct Pose {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Matrix6 cov = Matrix6::Identity();  // of a turn and a shift in W, about the body's origin
  double fit = 0;                     // root mean square of the residuals [standard deviations]
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
    for (const Piece& piece : scene.pieces) times_.insert(times_.end(), piece.t.begin(), piece.t.end());
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end(), [&](double a, double b) { return b - a <= scene.tolerance; }), times_.end());
    images_.resize(times_.size());
    poses_.resize(times_.size());
    for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
      const Piece& piece = scene.pieces[i];
      if (piece.standing && label[i] < 0) continue;
      for (int k = First(piece); k < Last(piece); ++k) {
        const auto at = At(piece, times_[k], scene.tolerance);
        if (!at) continue;
        Image image{static_cast<int>(i), scene.rig_camera[piece.camera], at->q, at->cov, Matrix2d::Identity()};
        const double sd = scene.options.pixel_sd, place = scene.layout.sd * scene.scale[piece.camera];
        image.cov += (sd * sd + place * place) * Matrix2d::Identity();
        image.weight = image.cov.inverse();
        images_[k].push_back(image);
      }
    }
    for (int k = 0; k < static_cast<int>(times_.size()); ++k) UpdatePose(k);
  }

  void Run(const std::vector<char>& candidates, MotionCheck* out) {
    const std::size_t n = label_.size();
    std::vector<Verdict> verdicts(n);
    std::vector<char> stale(n, 1);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::pair<double, int>> bad;
      for (std::size_t i = 0; i < n; ++i) {
        if (!Counts(static_cast<int>(i))) continue;
        if (stale[i]) verdicts[i] = Of(static_cast<int>(i), label_[i]);
        const Verdict& v = verdicts[i];
        const double worst = std::min({v.fit - kFits, v.alone - kAlone, v.all - kDecided});
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
    for (int round = 0; more && round < kRounds; ++round) {
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
    const std::vector<const Image*> images = Named(k, kNone);
    auto pose = Start(images);
    if (pose && pose->fit < kMostMiss && Foretells(*pose, images)) poses_[k] = pose;
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
  std::vector<const Image*> Named(int k, char without) const {
    std::vector<const Image*> out;
    for (const Image& image : images_[k]) {
      if (Counts(image.piece) && label_[image.piece] != without) out.push_back(&image);
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
    std::vector<double> score(L, 0), lead(L, 0);  // of every name; of the own one before it, in all cameras
    std::vector<char> free(L, 1);
    for (std::size_t j = 0; own < 0 && j < label_.size(); ++j) {
      const Piece& other = scene_.pieces[j];
      if (label_[j] >= 0 && other.camera == piece.camera && First(other) < last && Last(other) > first) free[label_[j]] = 0;
    }
    int tested = 0, looked = 0;
    for (int look = 0; look < looks; ++look) {
      const int k = first + (looks > 1 ? look * (n - 1) / (looks - 1) : n / 2);
      const auto image = std::find_if(images_[k].begin(), images_[k].end(), [&](const Image& s) { return s.piece == i; });
      if (image == images_[k].end()) continue;
      ++looked;
      const std::vector<const Image*> others = Named(k, own);
      for (const Image* other : others) {
        if (other->camera == image->camera) free[label_[other->piece]] = 0;
      }
      const auto pose = Without(others, *image, k, piece);
      if (!pose) continue;
      ++tested;
      for (std::size_t l = 0; l < L; ++l) {
        if (scene_.layout.known[l]) score[l] += Likelihood(*pose, *image, static_cast<int>(l));
      }
      if (own < 0) continue;
      for (const Image& same : images_[k]) {
        if (label_[same.piece] != own) continue;
        const double now = Likelihood(*pose, same, own);
        for (std::size_t l = 0; l < L; ++l) {
          if (scene_.layout.known[l]) lead[l] += now - Likelihood(*pose, same, static_cast<int>(l));
        }
      }
    }
    if (tested == 0 || (own < 0 && tested < looked)) return out;
    out.tested = true;
    const double weight = n / (1 + (n - 1) * kCorrelation) / tested;
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
    return static_cast<int>(std::lower_bound(times_.begin(), times_.end(), piece.t.front() - scene_.tolerance) - times_.begin());
  }
  int Last(const Piece& piece) const {
    return static_cast<int>(std::upper_bound(times_.begin(), times_.end(), piece.t.back() + scene_.tolerance) - times_.begin());
  }

  // Where a marker's image would be, and how it follows the pose.
  std::optional<Vector2d> Foretell(const Pose& pose, int camera, int label, Eigen::Matrix<double, 2, 6>* by_pose) const {
    const RigCamera& seer = scene_.rig->cameras[camera];
    const Vector3d arm = pose.X_WB.linear() * scene_.layout.p[label];
    Eigen::Matrix<double, 2, 3> by_p;
    const auto q = Project(seer.camera, seer.X_WC.inverse() * (arm + pose.X_WB.translation()), &by_p);
    if (!q) return std::nullopt;
    by_p = by_p * seer.X_WC.linear().transpose();
    Eigen::Matrix3d cross;
    cross << 0, -arm.z(), arm.y(), arm.z(), 0, -arm.x(), -arm.y(), arm.x(), 0;
    by_pose->leftCols<3>() = -by_p * cross;
    by_pose->rightCols<3>() = by_p;
    return q;
  }

  double Likelihood(const Pose& pose, const Image& image, int label) const {
    const double outlier = scene_.options.outlier_probability;
    Eigen::Matrix<double, 2, 6> J;
    const auto q = Foretell(pose, image.camera, label, &J);
    if (!q) return std::log(outlier);
    const Matrix2d S = image.cov + J * pose.cov * J.transpose();
    const Vector2d r = image.q - *q;
    const double range = kImageRange * kImageRange / (2 * std::numbers::pi * std::sqrt(S.determinant()));
    return std::log((1 - outlier) * range * std::exp(-0.5 * r.dot(S.inverse() * r)) + outlier);
  }

  // Least squares from a start whose covariance counts as knowledge; far residuals lose their weight.
  std::optional<Pose> Fit(const Pose& start, const std::vector<const Image*>& images) const {
    constexpr int kSteps = 8;
    constexpr double kRobust = 3;  // standard deviations
    const Matrix6 prior = start.cov.inverse();
    Pose pose = start;
    Vector6 from = Vector6::Zero();  // of the pose from the start, small turns added up
    for (int step = 0; step < kSteps; ++step) {
      Matrix6 A = prior;
      Vector6 b = -prior * from;
      double sum = 0, n = 0;
      for (const Image* image : images) {
        Eigen::Matrix<double, 2, 6> J;
        const auto q = Foretell(pose, image->camera, label_[image->piece], &J);
        if (!q) return std::nullopt;
        const Vector2d r = image->q - *q;
        const double squared = r.dot(image->weight * r), weight = 1 / (1 + squared / (kRobust * kRobust));
        A += weight * J.transpose() * image->weight * J;
        b += weight * J.transpose() * image->weight * r;
        sum += std::min(squared, 100.0);
        n += 2;
      }
      const Vector6 d = A.ldlt().solve(b);
      if (!d.allFinite()) return std::nullopt;
      const Vector3d turn = d.head<3>();
      if (turn.norm() > 0) {
        pose.X_WB.linear() = (Eigen::AngleAxisd(turn.norm(), turn.normalized()) * pose.X_WB.linear()).eval();
      }
      pose.X_WB.translation() += d.tail<3>();
      from += d;
      pose.cov = A.inverse();
      pose.fit = n > 0 ? std::sqrt(sum / n) : 0;
      if (d.head<3>().norm() < 1e-4 && d.tail<3>().norm() < 1e-5) break;
    }
    return pose.cov.allFinite() ? std::optional(pose) : std::nullopt;
  }

  // From the markers of which two cameras have images, without any other knowledge.
  std::optional<Pose> Start(const std::vector<const Image*>& images) const {
    std::vector<std::vector<Ray>> rays(static_cast<std::size_t>(scene_.labels));
    for (const Image* image : images) {
      if (const auto ray = RayOf(*scene_.rig, image->camera, {image->q, image->cov}, 0)) rays[label_[image->piece]].push_back(*ray);
    }
    std::vector<SpacePoint> points(rays.size());
    for (std::size_t l = 0; l < rays.size(); ++l) {
      if (rays[l].size() < 2) continue;
      std::vector<const Ray*> all;
      for (const Ray& ray : rays[l]) all.push_back(&ray);
      points[l] = Meet(all);
    }
    const Placement at = Place(scene_.layout.p, points);
    if (!(at.rank == 3 && at.n >= 3) && !(scene_.layout.collinear && at.n >= 2)) return std::nullopt;
    Pose pose;
    pose.X_WB.linear() = at.R;
    pose.X_WB.translation() = at.t;
    return Fit(pose, images);
  }

  bool Known(const Pose& pose, int camera, int label) const {
    Eigen::Matrix<double, 2, 6> J;
    return Foretell(pose, camera, label, &J) && (J * pose.cov * J.transpose()).trace() <= 2 * kKnown * kKnown;
  }
  // Whether all markers are foretold in the cameras of these images.
  bool Foretells(const Pose& pose, int camera) const {
    for (int l = 0; l < scene_.labels; ++l) {
      if (scene_.layout.known[l] && !Known(pose, camera, l)) return false;
    }
    return true;
  }
  bool Foretells(const Pose& pose, const std::vector<const Image*>& images) const {
    std::vector<char> done(scene_.rig->cameras.size(), 0);
    for (const Image* image : images) {
      if (!done[image->camera] && !Foretells(pose, image->camera)) return false;
      done[image->camera] = 1;
    }
    return true;
  }

  // Pose at an instant from other markers alone; with what is known of the body before and after the piece where that is not enough.
  std::optional<Pose> Without(const std::vector<const Image*>& others, const Image& image, int k, const Piece& piece) const {
    const auto good = [&](const std::optional<Pose>& pose) { return pose && pose->fit < kMostMiss && Foretells(*pose, image.camera); };
    if (poses_[k]) {
      Pose start = *poses_[k];
      start.cov.setZero();
      start.cov.diagonal() << Vector3d::Constant(1), Vector3d::Constant(0.01);
      const auto pose = Fit(start, others);
      if (good(pose)) return pose;
    }
    const auto expected = Expected(k, piece);
    if (!expected) return std::nullopt;
    const auto pose = Fit(*expected, others);
    return good(pose) ? pose : std::nullopt;
  }

  std::optional<Pose> Expected(int k, const Piece& piece) const {
    const double t = times_[k];
    int before = First(piece) - 1, after = Last(piece);
    const int n = static_cast<int>(times_.size());
    while (before >= 0 && !poses_[before]) --before;
    while (after < n && !poses_[after]) ++after;
    const bool has_before = before >= 0 && t - times_[before] < kLongestWay, has_after = after < n && times_[after] - t < kLongestWay;
    if (!has_before && !has_after) return std::nullopt;
    Pose out;
    double way = 0;
    if (has_before && has_after) {
      const Pose &a = *poses_[before], &b = *poses_[after];
      const double x = (t - times_[before]) / (times_[after] - times_[before]);
      out.X_WB.linear() = Eigen::Quaterniond(a.X_WB.linear()).slerp(x, Eigen::Quaterniond(b.X_WB.linear())).toRotationMatrix();
      out.X_WB.translation() = (1 - x) * a.X_WB.translation() + x * b.X_WB.translation();
      way = 0.5 * std::min(t - times_[before], times_[after] - t);
    } else {
      out.X_WB = has_before ? poses_[before]->X_WB : poses_[after]->X_WB;
      way = has_before ? t - times_[before] : times_[after] - t;
    }
    const double turn = 0.02 + kTurn * way, shift = 0.002 + kShift * way;
    out.cov.setZero();
    out.cov.diagonal() << Vector3d::Constant(turn * turn), Vector3d::Constant(shift * shift);
    return out;
  }

  const Scene& scene_;
  std::vector<char> label_;
  std::vector<double> times_;
  std::vector<std::vector<Image>> images_;  // at every time
  std::vector<std::optional<Pose>> poses_;  // that are known, at every time
};

}  // namespace

MotionCheck CheckAgainstMotion(const Scene& scene, const std::vector<char>& label, const std::vector<char>& candidates) {
  MotionCheck out;
  Motion(scene, label).Run(candidates, &out);
  return out;
}

}  // namespace impactlab::internal::identity
