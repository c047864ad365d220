#include "reconstruction/identity_complete.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "data/error.h"
#include "reconstruction/identity_window.h"

namespace impactlab {
namespace {

using namespace internal::identity;
using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr std::uint32_t kPartial = kTouching | kHidden | kCut;
constexpr double kKnown = 3;         // a pose foretells all places this well, or is not called known [px]
constexpr double kMostMiss = 3;      // of the images from a pose, root mean square [standard deviations]
constexpr double kLongestWay = 0.2;  // from a known pose to one that is looked for [s]
constexpr int kRounds = 4;

// An image of a marker at a moment, its own or between two of its own.
struct Image {
  int camera = 0, label = 0;
  Vector2d q;
  Matrix2d cov;
};

struct Pose {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Matrix6 cov = Matrix6::Identity();  // of a turn and a shift in W, about the body's origin
  double fit = 0;                     // root mean square of the residuals [standard deviations]
};

// A picture: one frame of one camera.
struct View {
  int camera = 0;
  long long frame = 0;
  double t = 0;
  std::vector<int> loose;  // images without a name
};

Matrix2d Wider(const TrackPoint& p, const CompletionOptions& o) {
  const double sd = (p.flags & kPartial) != 0 ? o.partial_sd : o.pixel_sd;
  return (p.cov.allFinite() ? p.cov : Matrix2d::Zero()) + sd * sd * Matrix2d::Identity();
}

class Completion {
 public:
  Completion(const std::vector<TrackPoint>& loose, const CameraRig& rig, const std::vector<Vector3d>& layout, const CompletionOptions& o,
             MarkerTracks* tracks)
      : loose_(loose), used_(loose.size(), 0), rig_(rig), layout_(layout), o_(o), tracks_(*tracks) {
    for (const std::string& name : tracks_.cameras) {
      const auto at = std::find_if(rig.cameras.begin(), rig.cameras.end(), [&](const RigCamera& c) { return c.name == name; });
      if (at == rig.cameras.end()) throw ConfigError(fmt::format("identity: the tracks have a camera {}, the rig has none", name));
      rig_camera_.push_back(static_cast<int>(at - rig.cameras.begin()));
    }
    shape_.p = layout;
    shape_.known.assign(layout.size(), 1);
    Measure(&shape_);
    named_.assign(tracks_.cameras.size(), std::vector<std::map<long long, TrackPoint>>(layout.size()));
    for (const TrackPoint& p : tracks_.points) {
      if ((p.flags & (kPredicted | kOutlier)) == 0 && p.marker < static_cast<int>(layout.size()))
        named_[p.camera][p.marker].emplace(p.frame, p);
    }
    FindStanding();
    FindViews();
  }

  long long Run() {
    if (loose_.empty() || layout_.size() < 2) return 0;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      auto pose = Start(views_[i].t);
      if (pose && Determined(*pose)) poses_[views_[i].t] = *pose;
    }
    RemoveStray();
    long long added = 0;
    for (int round = 0; round < kRounds; ++round) {
      const long long before = added;
      const bool forwards = round % 2 == 0;
      for (std::size_t k = 0; k < views_.size(); ++k) added += Complete(views_[forwards ? k : views_.size() - 1 - k]);
      if (added == before) break;
    }
    if (added > 0) Sort(&tracks_);
    return added;
  }

 private:
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
    for (const auto& camera : named_) {
      for (const auto& marker : camera) {
        for (const auto& [frame, p] : marker) view(p);
      }
    }
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      const TrackPoint& p = loose_[i];
      if ((p.flags & kPredicted) != 0 || standing_[i] != 0 || !p.q.allFinite() || !std::isfinite(p.t)) continue;
      view(p).loose.push_back(static_cast<int>(i));
    }
    for (auto& [key, one] : views) views_.push_back(std::move(one));
    std::sort(views_.begin(), views_.end(), [](const View& a, const View& b) { return a.t < b.t; });
  }

  // Image of a marker at a time: its own, or one between its neighbours, wider by what the curve through more of them says otherwise.
  std::optional<Image> ImageAt(int camera, int label, double t) const {
    constexpr double kSame = 2e-4;        // a row or two of a rolling shutter [s]
    constexpr long long kLongestGap = 3;  // frames
    const auto& points = named_[camera][label];
    // Times follow frames: the first point at or after t.
    auto next = points.begin();
    std::size_t n = points.size();
    if (n == 0) return std::nullopt;
    {
      // Frames are nearly even in time, so that a search from the guess is short.
      const TrackPoint &first = points.begin()->second, &last = points.rbegin()->second;
      const double rate = last.t > first.t ? static_cast<double>(last.frame - first.frame) / (last.t - first.t) : 0;
      next = points.lower_bound(first.frame + static_cast<long long>(std::clamp((t - first.t) * rate, -1e9, 1e9)));
      while (next != points.begin() && (next == points.end() || std::prev(next)->second.t >= t)) --next;
      while (next != points.end() && next->second.t < t) ++next;
    }
    for (auto at : {next, next == points.begin() ? next : std::prev(next)}) {
      if (at == points.end() || std::abs(at->second.t - t) > kSame) continue;
      return Image{camera, label, at->second.q, Wider(at->second, o_)};
    }
    if (next == points.end() || next == points.begin()) return std::nullopt;
    const auto before = std::prev(next);
    const TrackPoint &a = before->second, &b = next->second;
    if (b.frame - a.frame > kLongestGap) return std::nullopt;
    const double x = (t - a.t) / (b.t - a.t);
    Image image{camera, label, (1 - x) * a.q + x * b.q, (1 - x) * Wider(a, o_) + x * Wider(b, o_)};
    double off = 0.05 * (b.q - a.q).norm();
    if (before != points.begin() && std::next(next) != points.end()) {
      const TrackPoint &c = std::prev(before)->second, &d = std::next(next)->second;
      if (b.frame - c.frame <= 2 * kLongestGap && d.frame - a.frame <= 2 * kLongestGap) {
        const TrackPoint* all[4] = {&c, &a, &b, &d};
        Vector2d q = Vector2d::Zero();
        for (int i = 0; i < 4; ++i) {
          double w = 1;
          for (int j = 0; j < 4; ++j) {
            if (j != i) w *= (t - all[j]->t) / (all[i]->t - all[j]->t);
          }
          q += w * all[i]->q;
        }
        off = 0.5 * (q - image.q).norm();
        image.q = q;
      }
    }
    image.cov += off * off * Matrix2d::Identity();
    return image;
  }

  std::vector<Image> ImagesAt(double t) const {
    std::vector<Image> out;
    for (std::size_t c = 0; c < named_.size(); ++c) {
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        if (const auto image = ImageAt(static_cast<int>(c), static_cast<int>(l), t)) out.push_back(*image);
      }
    }
    return out;
  }

  // Where a marker's image would be, and how it follows the pose.
  std::optional<Vector2d> Foretell(const Pose& pose, int camera, int label, Eigen::Matrix<double, 2, 6>* by_pose) const {
    const RigCamera& seer = rig_.cameras[rig_camera_[camera]];
    const Vector3d arm = pose.X_WB.linear() * layout_[label];
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

  // Least squares from a start whose covariance counts as knowledge; far residuals lose their weight.
  std::optional<Pose> Fit(const Pose& start, const std::vector<Image>& images) const {
    constexpr int kSteps = 12;
    constexpr double kRobust = 3;  // standard deviations
    const Matrix6 prior = start.cov.inverse();
    Pose pose = start;
    Vector6 from = Vector6::Zero();  // of the pose from the start, small turns added up
    for (int step = 0; step < kSteps; ++step) {
      Matrix6 A = prior;
      Vector6 b = -prior * from;
      double sum = 0, n = 0;
      for (const Image& image : images) {
        Eigen::Matrix<double, 2, 6> J;
        const auto q = Foretell(pose, image.camera, image.label, &J);
        if (!q) return std::nullopt;
        const Vector2d r = image.q - *q;
        const Matrix2d W = image.cov.inverse();
        const double squared = r.dot(W * r), weight = 1 / (1 + squared / (kRobust * kRobust));
        A += weight * J.transpose() * W * J;
        b += weight * J.transpose() * W * r;
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
      if (d.head<3>().norm() < 1e-6 && d.tail<3>().norm() < 1e-7) break;
    }
    return pose.cov.allFinite() ? std::optional(pose) : std::nullopt;
  }

  // From the markers of which two cameras have images, without any other knowledge.
  std::optional<Pose> Start(double t) const {
    const std::vector<Image> images = ImagesAt(t);
    std::vector<SpacePoint> points(layout_.size());
    for (std::size_t l = 0; l < layout_.size(); ++l) {
      std::vector<Ray> rays;
      for (const Image& image : images) {
        if (image.label != static_cast<int>(l)) continue;
        if (const auto ray = RayOf(rig_, rig_camera_[image.camera], {image.q, image.cov}, 0)) rays.push_back(*ray);
      }
      if (rays.size() < 2) continue;
      std::vector<const Ray*> all;
      for (const Ray& ray : rays) all.push_back(&ray);
      points[l] = Meet(all);
    }
    const Placement at = Place(layout_, points);
    if (!(at.rank == 3 && at.n >= 3) && !(shape_.collinear && at.n >= 2)) return std::nullopt;
    Pose pose;
    pose.X_WB.linear() = at.R;
    pose.X_WB.translation() = at.t;
    return Fit(pose, images);
  }

  // Whether a pose foretells every marker in every camera, and agrees with its images.
  bool Determined(const Pose& pose) const {
    if (pose.fit > kMostMiss) return false;
    for (std::size_t c = 0; c < named_.size(); ++c) {
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        Eigen::Matrix<double, 2, 6> J;
        if (!Foretell(pose, static_cast<int>(c), static_cast<int>(l), &J)) continue;
        if ((J * pose.cov * J.transpose()).trace() > 2 * kKnown * kKnown) return false;
      }
    }
    return true;
  }

  // Between the known poses next to a time, or beyond the last of them.
  std::optional<Pose> Expected(double t) const {
    const auto next = poses_.lower_bound(t);
    const bool has_next = next != poses_.end() && next->first - t < kLongestWay;
    const bool has_before = next != poses_.begin() && t - std::prev(next)->first < kLongestWay;
    if (!has_next && !has_before) return std::nullopt;
    Pose out;
    double way = 0, more = 1;
    if (has_next && has_before) {
      const auto& [t0, a] = *std::prev(next);
      const auto& [t1, b] = *next;
      const double x = (t - t0) / (t1 - t0);
      out.X_WB.linear() = Eigen::Quaterniond(a.X_WB.linear()).slerp(x, Eigen::Quaterniond(b.X_WB.linear())).toRotationMatrix();
      out.X_WB.translation() = (1 - x) * a.X_WB.translation() + x * b.X_WB.translation();
      way = std::min(t - t0, t1 - t);
    } else {
      const auto& [t0, a] = has_next ? *next : *std::prev(next);
      out.X_WB = a.X_WB;
      way = std::abs(t - t0);
      more = 2;
    }
    const double turn = 0.02 + more * o_.turn_error * way, shift = 0.002 + more * o_.speed_error * way;
    out.cov.setZero();
    out.cov.diagonal() << Vector3d::Constant(turn * turn), Vector3d::Constant(shift * shift);
    return out;
  }

  // Typical size of a marker's image in a camera near a frame; 0 where it is not known.
  double SizeOf(int camera, int label, long long frame) const {
    std::vector<double> sizes;
    const auto& points = named_[camera][label];
    auto next = points.lower_bound(frame);
    auto before = next;
    for (int k = 0; k < 6; ++k) {
      if (next != points.end()) {
        if (next->second.major > 0) sizes.push_back(next->second.major);
        ++next;
      }
      if (before != points.begin()) {
        --before;
        if (before->second.major > 0) sizes.push_back(before->second.major);
      }
    }
    if (sizes.size() < 3) return 0;
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
    return sizes[sizes.size() / 2];
  }

  // Images whose outline is not that of a marker and that lie far from where the others put it are something else.
  void RemoveStray() {
    constexpr std::uint32_t kUnclear = kPartial | kRough;
    constexpr double kFar = 5;  // standard deviations
    constexpr double kOwn = 3;  // largest of the image itself that counts [px]
    for (const View& view : views_) {
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        auto& points = named_[view.camera][l];
        const auto at = points.find(view.frame);
        if (at == points.end() || (at->second.flags & kUnclear) == 0) continue;
        const auto expected = Expected(view.t);
        if (!expected) continue;
        std::vector<Image> images = ImagesAt(view.t);
        std::erase_if(images, [&](const Image& i) { return i.camera == view.camera && i.label == static_cast<int>(l); });
        const auto pose = Fit(*expected, images);
        Eigen::Matrix<double, 2, 6> J;
        const auto q = pose && Determined(*pose) ? Foretell(*pose, view.camera, static_cast<int>(l), &J) : std::nullopt;
        if (!q) continue;
        Matrix2d own = Wider(at->second, o_);
        own *= std::min(1.0, 2 * kOwn * kOwn / own.trace());
        const Vector2d r = at->second.q - *q;
        if (r.dot((own + J * pose->cov * J.transpose()).inverse() * r) < kFar * kFar) continue;
        std::erase_if(tracks_.points, [&](const TrackPoint& p) {
          return p.camera == view.camera && p.marker == static_cast<int>(l) && p.frame == view.frame;
        });
        points.erase(at);
      }
    }
  }

  // Names what can be named in a picture, the surest first; the number of names.
  long long Complete(const View& view) {
    long long added = 0;
    for (;;) {
      std::vector<int> missing, free;
      for (std::size_t l = 0; l < layout_.size(); ++l) {
        if (!named_[view.camera][l].contains(view.frame)) missing.push_back(static_cast<int>(l));
      }
      for (int i : view.loose) {
        if (used_[i] == 0) free.push_back(i);
      }
      if (missing.empty() || free.empty()) break;
      const auto expected = Expected(view.t);
      if (!expected) break;
      const auto pose = Fit(*expected, ImagesAt(view.t));
      if (!pose) break;
      if (Determined(*pose)) poses_[view.t] = *pose;
      // -2 ln(likelihood) of every image as every marker, against images anywhere.
      constexpr double kFar = 1e6;
      Eigen::MatrixXd cost =
          Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(missing.size()), static_cast<Eigen::Index>(free.size()), kFar);
      Eigen::MatrixXd squared = cost;
      for (std::size_t m = 0; m < missing.size(); ++m) {
        Eigen::Matrix<double, 2, 6> J;
        const auto q = Foretell(*pose, view.camera, missing[m], &J);
        if (!q) continue;
        const Matrix2d place = J * pose->cov * J.transpose();
        const bool vague = place.trace() > 2 * o_.widest * o_.widest;
        for (std::size_t k = 0; k < free.size(); ++k) {
          const TrackPoint& p = loose_[free[k]];
          // What is no clear image may be anywhere by its own account: for the gate its place counts as known to a few pixels.
          Matrix2d own = Wider(p, o_);
          own *= std::min(1.0, 2 * o_.partial_sd * o_.partial_sd / own.trace());
          const Matrix2d S = place + own;
          const Vector2d r = p.q - *q;
          const double d2 = r.dot(S.inverse() * r);
          const auto row = static_cast<Eigen::Index>(m), column = static_cast<Eigen::Index>(k);
          cost(row, column) = d2 + std::log(S.determinant());
          const double size = SizeOf(view.camera, missing[m], view.frame);
          const double ratio = size > 0 && p.major > 0 ? p.major / size : 1;
          const bool fits = ratio < o_.largest_ratio && ((p.flags & kPartial) != 0 || ratio > 1 / o_.largest_ratio);
          if (!vague && fits && d2 < o_.gate * o_.gate) squared(row, column) = d2;
        }
      }
      double best = kFar;
      Eigen::Index row = -1, column = -1;
      for (Eigen::Index m = 0; m < squared.rows(); ++m) {
        for (Eigen::Index k = 0; k < squared.cols(); ++k) {
          if (squared(m, k) >= kFar || cost(m, k) >= best) continue;
          bool alone = true;
          for (Eigen::Index j = 0; j < cost.cols(); ++j) alone = alone && (j == k || cost(m, j) > cost(m, k) + o_.margin);
          for (Eigen::Index i = 0; i < cost.rows(); ++i) alone = alone && (i == m || cost(i, k) > cost(m, k) + o_.margin);
          if (alone) best = cost(m, k), row = m, column = k;
        }
      }
      if (row < 0) break;
      TrackPoint p = loose_[free[static_cast<std::size_t>(column)]];
      used_[free[static_cast<std::size_t>(column)]] = 1;
      p.marker = missing[static_cast<std::size_t>(row)];
      p.flags = (p.flags & ~static_cast<std::uint32_t>(kOutlier | kImpact)) | kRelabelled;
      named_[view.camera][p.marker].emplace(p.frame, p);
      // The body must be able to follow.
      const auto with = Fit(*expected, ImagesAt(view.t));
      if (!with || with->fit > std::max(kMostMiss, pose->fit + 0.5)) {
        named_[view.camera][p.marker].erase(p.frame);
        continue;
      }
      // A prediction gives way to what was seen.
      std::erase_if(tracks_.points, [&](const TrackPoint& old) {
        return old.camera == p.camera && old.marker == p.marker && old.frame == p.frame && (old.flags & (kPredicted | kOutlier)) != 0;
      });
      tracks_.points.push_back(p);
      ++added;
    }
    return added;
  }

  const std::vector<TrackPoint>& loose_;
  std::vector<char> used_, standing_;
  const CameraRig& rig_;
  const std::vector<Vector3d>& layout_;
  const CompletionOptions& o_;
  MarkerTracks& tracks_;
  std::vector<int> rig_camera_;
  Layout shape_;
  std::vector<std::vector<std::map<long long, TrackPoint>>> named_;  // [camera][marker], by frame
  std::vector<View> views_;
  std::map<double, Pose> poses_;  // that are known, by time
};

}  // namespace

long long CompleteTracks(const std::vector<TrackPoint>& loose, const CameraRig& rig, const std::vector<Vector3d>& layout,
                         const CompletionOptions& options, MarkerTracks* tracks) {
  return Completion(loose, rig, layout, options, tracks).Run();
}

}  // namespace impactlab
