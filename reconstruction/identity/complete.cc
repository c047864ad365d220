#include "reconstruction/identity/complete.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "reconstruction/identity/detail/poses.h"

namespace impactlab {
namespace {

using namespace reconstruction;
using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr int kCompletionRounds = 4;

// A picture: one frame of one camera.
struct View {
  int camera = 0;
  long long frame = 0;
  double t = 0;
  std::vector<int> loose;  // images without a name
};

class Completion {
 public:
  Completion(const std::vector<TrackPoint>& loose, const CameraRig& rig,
             const std::vector<Vector3d>& layout, const CompletionOptions& o, MarkerTracks* tracks)
      : loose_(loose),
        used_(loose.size(), 0),
        layout_(layout),
        o_(o),
        tracks_(*tracks),
        poses_(*tracks, rig, layout, o) {
    FindDoubles();
    FindStanding();
    FindViews();
  }

  long long Run() {
    if (loose_.empty() || layout_.size() < 2) return 0;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      poses_.Learn(views_[i].t);
    }
    RemoveStray();
    long long added = 0;
    for (int round = 0; round < kCompletionRounds; ++round) {
      const long long before = added;
      const bool forwards = round % 2 == 0;
      for (std::size_t k = 0; k < views_.size(); ++k)
        added += Complete(views_[forwards ? k : views_.size() - 1 - k]);
      if (added == before) break;
    }
    if (added > 0) Sort(&tracks_);
    return added;
  }

 private:
  // What lies inside of an image that has its name is that image once more.
  void FindDoubles() {
    std::map<std::pair<int, long long>, std::vector<const TrackPoint*>> named;
    for (const TrackPoint& p : tracks_.points) {
      if ((p.flags & (kPredicted | kOutlier)) == 0 && p.marker < poses_.labels())
        named[{p.camera, p.frame}].push_back(&p);
    }
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      const auto at = named.find({loose_[i].camera, loose_[i].frame});
      if (at == named.end()) continue;
      for (const TrackPoint* p : at->second) {
        if (p->major > 0 && (p->q - loose_[i].q).norm() < p->major) used_[i] = 1;
      }
    }
  }

  void FindStanding() {
    standing_.assign(loose_.size(), 0);
    constexpr double kCell = 2, kNear = 1.5;  // [px]
    const auto cell = [](double x) { return static_cast<long long>(std::floor(x / kCell)); };
    std::map<std::tuple<int, long long, long long>, std::vector<std::pair<Vector2d, double>>> cells;
    std::map<int, std::pair<double, double>> span;
    const auto add = [&](const TrackPoint& p) {
      if ((p.flags & kPredicted) != 0) return;
      cells[{p.camera, cell(p.q.x()), cell(p.q.y())}].emplace_back(p.q, p.t);
      const auto [at, fresh] = span.emplace(p.camera, std::pair(p.t, p.t));
      at->second = {std::min(at->second.first, p.t), std::max(at->second.second, p.t)};
    };
    for (const TrackPoint& p : loose_) add(p);
    for (const TrackPoint& p : tracks_.points) add(p);
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      const TrackPoint& p = loose_[i];
      double first = p.t, last = p.t;
      for (long long x = -1; x <= 1; ++x) {
        for (long long y = -1; y <= 1; ++y) {
          const auto at = cells.find({p.camera, cell(p.q.x()) + x, cell(p.q.y()) + y});
          if (at == cells.end()) continue;
          for (const auto& [q, t] : at->second) {
            if ((q - p.q).norm() < kNear) first = std::min(first, t), last = std::max(last, t);
          }
        }
      }
      const auto [begin, end] = span.at(p.camera);
      standing_[i] = last - first > o_.still_share * (end - begin);
    }
  }

  void FindViews() {
    std::map<std::pair<int, long long>, View> views;
    const auto view = [&](const TrackPoint& p) -> View& {
      const auto [at, fresh] = views.try_emplace({p.camera, p.frame});
      if (fresh) at->second = {p.camera, p.frame, p.t, {}};
      return at->second;
    };
    for (int c = 0; c < poses_.cameras(); ++c) {
      for (int l = 0; l < poses_.labels(); ++l) {
        for (const auto& [frame, p] : poses_.Named(c, l)) view(p);
      }
    }
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      const TrackPoint& p = loose_[i];
      if ((p.flags & kPredicted) != 0 || standing_[i] != 0 || !p.q.allFinite() ||
          !std::isfinite(p.t))
        continue;
      view(p).loose.push_back(static_cast<int>(i));
    }
    for (auto& [key, one] : views) views_.push_back(std::move(one));
    std::sort(views_.begin(), views_.end(), [](const View& a, const View& b) { return a.t < b.t; });
  }

  // Images whose outline is not that of a marker and that lie far from where the others put it are
  // something else.
  void RemoveStray() {
    constexpr std::uint32_t kUnclear = kPartial | kRough;
    constexpr double kFar = 5;  // standard deviations
    constexpr double kOwn = 3;  // largest of the image itself that counts [px]
    for (const View& view : views_) {
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        const auto& points = poses_.Named(view.camera, static_cast<int>(l));
        const auto at = points.find(view.frame);
        if (at == points.end() || (at->second.flags & kUnclear) == 0) continue;
        const auto expected = poses_.Expected(view.t);
        if (!expected) continue;
        std::vector<BodyImage> images = poses_.ImagesAt(view.t);
        std::erase_if(images, [&](const BodyImage& i) {
          return i.camera == view.camera && i.label == static_cast<int>(l);
        });
        const auto pose = poses_.Fit(*expected, images);
        Eigen::Matrix<double, 2, 6> J;
        const auto q = pose && poses_.Determined(*pose)
                           ? poses_.PredictImage(*pose, view.camera, static_cast<int>(l), &J)
                           : std::nullopt;
        if (!q) continue;
        Matrix2d own = Wider(at->second, o_);
        own *= std::min(1.0, 2 * kOwn * kOwn / own.trace());
        const Vector2d r = at->second.q - *q;
        if (r.dot((own + J * pose->cov * J.transpose()).inverse() * r) < kFar * kFar) continue;
        std::erase_if(tracks_.points, [&](const TrackPoint& p) {
          return p.camera == view.camera && p.marker == static_cast<int>(l) &&
                 p.frame == view.frame;
        });
        poses_.Remove(view.camera, static_cast<int>(l), view.frame);
      }
    }
  }

  void Give(int image, int marker) {
    used_[image] = 1;
    TrackPoint p = loose_[image];
    p.marker = marker;
    p.flags = (p.flags & ~static_cast<std::uint32_t>(kOutlier | kImpact)) | kRelabelled;
    poses_.Add(p);
    // A prediction gives way to what was seen.
    std::erase_if(tracks_.points, [&](const TrackPoint& old) {
      return old.camera == p.camera && old.marker == p.marker && old.frame == p.frame &&
             (old.flags & (kPredicted | kOutlier)) != 0;
    });
    tracks_.points.push_back(p);
  }

  bool SizeFits(const TrackPoint& p, int marker) const {
    const double size = poses_.SizeOf(p.camera, marker, p.frame);
    const double ratio = size > 0 && p.major > 0 ? p.major / size : 1;
    return ratio < o_.largest_ratio && ((p.flags & kPartial) != 0 || ratio > 1 / o_.largest_ratio);
  }

  // The line of the body through the two markers with images that lie farthest apart: a place on it
  // and its direction.
  std::optional<std::pair<Vector3d, Vector3d>> LineOf(const std::vector<BodyImage>& images) const {
    std::optional<std::pair<Vector3d, Vector3d>> line;
    double length = 0;
    for (const BodyImage& a : images) {
      for (const BodyImage& b : images) {
        const Vector3d way = layout_[b.label] - layout_[a.label];
        if (way.norm() <= length) continue;
        length = way.norm();
        line.emplace(layout_[a.label], way / length);
      }
    }
    return line;
  }

  // After a hard impact a body may spin so fast about the line through the markers that have names
  // that nothing predicts how far it has turned. The other images do, two of them at once:
  // whichever turn puts two markers on two images. The number of names given.
  long long NameTurned(const View& view, const BodyPose& expected, const std::vector<int>& missing,
                       const std::vector<int>& free) {
    const std::vector<BodyImage> images = poses_.ImagesAt(view.t);
    const auto line = LineOf(images);
    if (!line || missing.empty() || free.empty()) return 0;
    std::vector<BodyImage> on, off;
    for (const BodyImage& i : images) {
      constexpr double kOff = 0.004;  // [m]
      (line->second.cross(layout_[i.label] - line->first).norm() < kOff ? on : off).push_back(i);
    }
    if (off.size() + std::min(missing.size(), free.size()) < 2) return 0;
    const auto pose = poses_.Fit(expected, on);
    if (!pose || pose->fit > kMostMiss) return 0;
    constexpr int kTurns = 120;
    // of an image from its place for one of these turns [px]
    constexpr double kNear = 12;
    // how far from one of them a pose may be, standard deviations [rad], [m]
    constexpr double kTurn = 0.3, kShift = 0.01;
    using Names = std::vector<std::pair<int, int>>;  // marker and image
    std::map<Names, std::pair<double, BodyPose>> ways;
    for (int k = 0; k < kTurns; ++k) {
      const Eigen::Matrix3d R = pose->X_WB.linear();
      BodyPose start;
      start.X_WB.linear() = Eigen::AngleAxisd(2 * M_PI * k / kTurns, R * line->second) * R;
      start.X_WB.translation() = pose->X_WB * line->first - start.X_WB.linear() * line->first;
      start.cov.diagonal() << Vector3d::Constant(kTurn * kTurn),
          Vector3d::Constant(kShift * kShift);
      Names names;
      std::vector<int> taken;
      double sum = 0;
      for (const BodyImage& i : off) {
        Eigen::Matrix<double, 2, 6> J;
        const auto q = poses_.PredictImage(start, i.camera, i.label, &J);
        sum += q ? std::min((i.q - *q).squaredNorm(), 9 * kNear * kNear) : 9 * kNear * kNear;
      }
      for (const int m : missing) {
        Eigen::Matrix<double, 2, 6> J;
        const auto q = poses_.PredictImage(start, view.camera, m, &J);
        if (!q) continue;
        int best = -1;
        for (const int i : free) {
          const double d = (loose_[i].q - *q).norm();
          if (d < kNear && SizeFits(loose_[i], m) && (best < 0 || d < (loose_[best].q - *q).norm()))
            best = i;
        }
        if (best < 0 || std::find(taken.begin(), taken.end(), best) != taken.end()) continue;
        taken.push_back(best);
        names.emplace_back(m, best);
        sum += (loose_[best].q - *q).squaredNorm();
      }
      if (names.empty() || names.size() + off.size() < 2) continue;
      const auto [at, fresh] = ways.try_emplace(names, sum, start);
      if (!fresh && sum < at->second.first) at->second = {sum, start};
    }
    double least = 1e9, next = 1e9;
    const Names* best = nullptr;
    for (const auto& [names, way] : ways) {
      std::vector<BodyImage> all = images;
      for (const auto& [m, i] : names) all.push_back(poses_.AsImage(loose_[i], m));
      const auto fit = poses_.Fit(way.second, all);
      if (!fit) continue;
      // Mean square and number of the residuals, and what every marker without an image costs.
      const double cost = fit->fit * fit->fit * 2 * static_cast<double>(all.size()) +
                          o_.margin * static_cast<double>(missing.size() - names.size());
      if (cost < least) {
        next = least, least = cost;
        best = fit->fit < kMostMiss ? &names : nullptr;
      } else {
        next = std::min(next, cost);
      }
    }
    if (best == nullptr || next < least + o_.margin) return 0;
    for (const auto& [m, i] : *best) Give(i, m);
    return static_cast<long long>(best->size());
  }

  // Place in `missing` and in `free` of the marker and the image that belong together most surely;
  // -1 where none does.
  std::pair<Eigen::Index, Eigen::Index> SurestName(const View& view, const BodyPose& pose,
                                                   const std::vector<int>& missing,
                                                   const std::vector<int>& free) const {
    // -2 ln(likelihood) of every image as every marker, against images anywhere.
    constexpr double kFar = 1e6;
    Eigen::MatrixXd cost = Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(missing.size()),
                                                     static_cast<Eigen::Index>(free.size()), kFar);
    Eigen::MatrixXd squared = cost;
    for (std::size_t m = 0; m < missing.size(); ++m) {
      Eigen::Matrix<double, 2, 6> J;
      const auto q = poses_.PredictImage(pose, view.camera, missing[m], &J);
      if (!q) continue;
      const Matrix2d place = J * pose.cov * J.transpose();
      const bool vague = place.trace() > 2 * o_.widest * o_.widest;
      for (std::size_t k = 0; k < free.size(); ++k) {
        const TrackPoint& p = loose_[free[k]];
        // What is no clear image may be anywhere by its own account: for the gate its place counts
        // as known to a few pixels.
        Matrix2d own = Wider(p, o_);
        own *= std::min(1.0, 2 * o_.partial_sd * o_.partial_sd / own.trace());
        const Matrix2d S = place + own;
        const Vector2d r = p.q - *q;
        const double d2 = r.dot(S.inverse() * r);
        const auto row = static_cast<Eigen::Index>(m), column = static_cast<Eigen::Index>(k);
        cost(row, column) = d2 + std::log(S.determinant());
        if (!vague && SizeFits(p, missing[m]) && d2 < o_.gate * o_.gate) squared(row, column) = d2;
      }
    }
    double best = kFar;
    std::pair<Eigen::Index, Eigen::Index> found{-1, -1};
    for (Eigen::Index m = 0; m < squared.rows(); ++m) {
      for (Eigen::Index k = 0; k < squared.cols(); ++k) {
        if (squared(m, k) >= kFar || cost(m, k) >= best) continue;
        bool alone = true;
        for (Eigen::Index j = 0; j < cost.cols(); ++j)
          alone = alone && (j == k || cost(m, j) > cost(m, k) + o_.margin);
        for (Eigen::Index i = 0; i < cost.rows(); ++i)
          alone = alone && (i == m || cost(i, k) > cost(m, k) + o_.margin);
        if (alone) best = cost(m, k), found = {m, k};
      }
    }
    return found;
  }

  // Names what can be named in a picture, the surest first; the number of names.
  long long Complete(const View& view) {
    long long added = 0;
    for (;;) {
      std::vector<int> missing, free;
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        if (!poses_.Named(view.camera, static_cast<int>(l)).contains(view.frame))
          missing.push_back(static_cast<int>(l));
      }
      for (int i : view.loose) {
        if (used_[i] == 0) free.push_back(i);
      }
      if (missing.empty() || free.empty()) break;
      const auto expected = poses_.Expected(view.t);
      if (!expected) break;
      const auto pose = poses_.Fit(*expected, poses_.ImagesAt(view.t));
      if (!pose) break;
      // What the poses around say may be wrong after an impact: a pose counts as known where its
      // own images tell it.
      constexpr double kFreely = 400;  // times the variance
      BodyPose start = *pose;
      start.cov = kFreely * expected->cov;
      if (const auto own = poses_.Fit(start, poses_.ImagesAt(view.t));
          own && poses_.Determined(*own)) {
        poses_.Learn(view.t, *own);
      } else if (const long long n = NameTurned(view, *expected, missing, free); n > 0) {
        added += n;
        continue;
      }
      const auto [row, column] = SurestName(view, *pose, missing, free);
      if (row < 0) break;
      const int image = free[static_cast<std::size_t>(column)],
                marker = missing[static_cast<std::size_t>(row)];
      used_[image] = 1;
      TrackPoint p = loose_[image];
      p.marker = marker;
      poses_.Add(p);
      // The body must be able to follow.
      const auto with = poses_.Fit(*expected, poses_.ImagesAt(view.t));
      poses_.Remove(p.camera, p.marker, p.frame);
      if (!with || with->fit > std::max(kMostMiss, pose->fit + 0.5)) continue;
      Give(image, marker);
      ++added;
    }
    return added;
  }

  const std::vector<TrackPoint>& loose_;
  std::vector<char> used_, standing_;
  const std::vector<Vector3d>& layout_;
  const CompletionOptions& o_;
  MarkerTracks& tracks_;
  BodyPoses poses_;
  std::vector<View> views_;
};

}  // namespace

long long CompleteTracks(const std::vector<TrackPoint>& loose, const CameraRig& rig,
                         const std::vector<Vector3d>& layout, const CompletionOptions& options,
                         MarkerTracks* tracks) {
  return Completion(loose, rig, layout, options, tracks).Run();
}

}  // namespace impactlab
