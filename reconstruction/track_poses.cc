#include "reconstruction/track_poses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "data/error.h"
#include "data/statistics.h"
#include "reconstruction/marker_pose_image.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix2d;
using Eigen::Vector2d;
using Window = TrackPoses::Window;

constexpr double kSameTime = 1e-9;      // [s]
constexpr double kClusterGap = 2.5;     // frame intervals between the flags of one impact
constexpr double kVote = 10;            // by which an image must be worse than every other before it is voted out [chi-square]
constexpr std::size_t kNeighbours = 5;  // four for the cubic, one to tell what it misses
// Times its mean square by which noise alone may explain what a cubic seems to miss: once in fifty.
constexpr double kBeyondNoise = 4;

struct Image {
  int point = 0;
  long long frame = 0;
  double t = 0;  // on the first camera's clock
  Vector2d q = Vector2d::Zero();
  Matrix2d cov = Matrix2d::Zero();
  bool flagged = false;
  int piece = 0;
};
// Of one marker in one camera, by time.
using Track = std::vector<Image>;

// An image at an instant and the points it is made of.
struct Brought {
  MarkerImage image;
  std::vector<std::pair<int, double>> weights;  // point, share
};

// Even: before, between or behind the windows; odd: inside one.
int Side(const std::vector<Window>& windows, double t) {
  int side = 0;
  for (const Window& w : windows) side += t >= w.end ? 2 : t > w.begin ? 1 : 0;
  return side;
}

// Lagrange's weights of the points at t.
std::vector<double> Weights(const Track& track, const std::vector<std::size_t>& at, std::size_t n, double t) {
  std::vector<double> weights(at.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = 1;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) weights[i] *= (t - track[at[j]].t) / (track[at[i]].t - track[at[j]].t);
    }
  }
  return weights;
}

class Reader {
 public:
  Reader(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers, const TrackPosesOptions& options)
      : tracks_(tracks), rig_(rig), markers_(markers), options_(options), views_(internal::Views(rig)) {}

  TrackPoses Run() {
    out_.recording.name = tracks_.recording;
    out_.pixel_sd = options_.pixel_sd;
    TakePoints();
    FindInstants();
    if (!(interval_ > 0)) return std::move(out_);
    FindImpacts();
    CutPieces();
    std::optional<Isometry3d> last;
    for (const auto& [frame, t] : instants_) {
      const std::string reason = PoseAt(frame, t, last);
      if (reason.empty())
        last = out_.poses.back().X_WB;
      else
        out_.refused.push_back({frame, t, reason});
    }
    return std::move(out_);
  }

 private:
  void TakePoints() {
    for (const std::string& name : tracks_.cameras) {
      const auto found = std::find_if(rig_.cameras.begin(), rig_.cameras.end(), [&](const RigCamera& c) { return c.name == name; });
      if (found == rig_.cameras.end())
        throw ConfigError(fmt::format("poses of tracks: found camera '{}', allowed: those of the rig", name));
      view_of_.push_back(static_cast<int>(found - rig_.cameras.begin()));
    }
    images_.assign(tracks_.cameras.size(), std::vector<Track>(markers_.size()));
    for (std::size_t i = 0; i < tracks_.points.size(); ++i) {
      const TrackPoint& p = tracks_.points[i];
      if (p.marker >= static_cast<int>(markers_.size())) continue;
      const bool usable = (p.flags & (kPredicted | kOutlier)) == 0;
      Image image;
      image.point = static_cast<int>(i);
      image.frame = p.frame;
      image.t = p.t + (options_.offset.empty() ? 0 : options_.offset[p.camera]);
      image.q = p.q;
      image.cov = p.cov + options_.pixel_sd * options_.pixel_sd * Matrix2d::Identity();
      image.flagged = (p.flags & kImpact) != 0;
      Track& track = images_[p.camera][p.marker];
      Matrix2d root;
      if (usable && image.q.allFinite() && std::isfinite(image.t) && internal::WeightRoot(image.cov, &root)) {
        image.flagged = image.flagged || pending_.contains({p.camera, p.marker});
        pending_.erase({p.camera, p.marker});
        track.push_back(image);
      } else if (image.flagged) {
        pending_.insert({p.camera, p.marker});  // the jump is before the next image that counts
      }
    }
    for (auto& camera : images_) {
      for (Track& track : camera) std::sort(track.begin(), track.end(), [](const Image& a, const Image& b) { return a.t < b.t; });
    }
  }

  void FindInstants() {
    std::map<long long, std::vector<double>> times;
    if (images_.empty()) return;
    for (const Track& track : images_.front()) {
      for (const Image& image : track) times[image.frame].push_back(image.t);
    }
    for (const auto& [frame, t] : times) {
      double mean = 0;
      for (double x : t) mean += x / static_cast<double>(t.size());
      if (instants_.empty() || mean > instants_.back().second) instants_.emplace_back(frame, mean);
    }
    std::vector<double> steps;
    for (std::size_t i = 1; i < instants_.size(); ++i) {
      steps.push_back((instants_[i].second - instants_[i - 1].second) / static_cast<double>(instants_[i].first - instants_[i - 1].first));
    }
    if (!steps.empty()) interval_ = Median(steps);
  }

  bool NearKnown(double t) const {
    return std::any_of(options_.impacts.begin(), options_.impacts.end(),
                       [&](double x) { return std::abs(x - t) < kClusterGap * interval_; });
  }

  // Known impacts, and where two tracks or more agree that the velocity jumped.
  void FindImpacts() {
    std::vector<Window> flagged;
    for (auto& camera : images_) {
      for (Track& track : camera) {
        for (std::size_t i = 0; i < track.size(); ++i) {
          if (track[i].flagged && NearKnown(track[i].t)) track[i].flagged = false;
          if (track[i].flagged && i > 0) flagged.push_back({track[i - 1].t, track[i].t});
        }
      }
    }
    std::sort(flagged.begin(), flagged.end(), [](const Window& a, const Window& b) { return a.end < b.end; });
    for (std::size_t i = 0; i < flagged.size();) {
      Window common = flagged[i], hull = flagged[i];
      std::size_t n = i + 1;
      for (; n < flagged.size() && flagged[n].end - flagged[n - 1].end < kClusterGap * interval_; ++n) {
        common = {std::max(common.begin, flagged[n].begin), std::min(common.end, flagged[n].end)};
        hull = {std::min(hull.begin, flagged[n].begin), std::max(hull.end, flagged[n].end)};
      }
      // One marker alone may have jumped for another reason; that cuts its own track only.
      if (n - i > 1) out_.impacts.push_back(common.begin < common.end ? common : hull);
      i = n;
    }
    const double half = 0.5 * options_.exposure;
    for (double t : options_.impacts) {
      out_.impacts.push_back({t - half, t + half});
      for (auto& camera : images_) {
        for (Track& track : camera) std::erase_if(track, [&](const Image& image) { return std::abs(image.t - t) < half; });
      }
    }
    std::sort(out_.impacts.begin(), out_.impacts.end(), [](const Window& a, const Window& b) { return a.begin < b.begin; });
  }

  void CutPieces() {
    for (auto& camera : images_) {
      for (Track& track : camera) {
        for (std::size_t i = 1; i < track.size(); ++i) {
          const Image& before = track[i - 1];
          const int side = Side(out_.impacts, track[i].t);
          const bool cut = track[i].frame - before.frame > options_.longest_gap || track[i].flagged || side % 2 != 0 ||
                           side != Side(out_.impacts, before.t) || !(track[i].t > before.t);
          track[i].piece = before.piece + cut;
        }
      }
    }
  }

  std::optional<Brought> Bring(int camera, int marker, double t) const {
    const Track& track = images_[camera][marker];
    Brought out;
    out.image.camera = view_of_[camera];
    out.image.marker = marker;
    const auto after = std::lower_bound(track.begin(), track.end(), t, [](const Image& image, double time) { return image.t < time; });
    for (auto at : {after, after == track.begin() ? after : std::prev(after)}) {
      if (at == track.end() || std::abs(at->t - t) > kSameTime) continue;
      out.image.q = at->q;
      out.image.cov = at->cov;
      out.weights = {{at->point, 1.0}};
      return out;
    }
    const int side = Side(out_.impacts, t);
    if (side % 2 != 0) return std::nullopt;
    // The piece on this side that holds the instant, or ends or begins within reach of it.
    const double reach = options_.reach * interval_;
    std::optional<int> piece;
    const bool before = after != track.begin(), behind = after != track.end();
    const auto mine = [&](Track::const_iterator at) { return Side(out_.impacts, at->t) == side && std::abs(at->t - t) <= reach; };
    if (before && behind && std::prev(after)->piece == after->piece) {
      if (Side(out_.impacts, after->t) == side) piece = after->piece;
    } else if (before && mine(std::prev(after)) && !(behind && mine(after) && after->t - t < t - std::prev(after)->t)) {
      piece = std::prev(after)->piece;
    } else if (behind && mine(after)) {
      piece = after->piece;
    }
    if (!piece) return std::nullopt;
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < track.size(); ++i) {
      if (track[i].piece == *piece) at.push_back(i);
    }
    std::sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) { return std::abs(track[a].t - t) < std::abs(track[b].t - t); });
    if (at.size() > kNeighbours) at.resize(kNeighbours);
    if (at.size() < 3) return std::nullopt;
    const std::size_t n = std::min<std::size_t>(4, at.size());
    const std::vector<double> w = Weights(track, at, n, t), other = Weights(track, at, at.size() > n ? n + 1 : n - 1, t);
    Vector2d missed = Vector2d::Zero();
    double chance = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Image& image = track[at[i]];
      out.image.q += w[i] * image.q;
      missed += (w[i] - other[i]) * image.q;
      chance += std::pow(w[i] - other[i], 2) * image.cov.trace();
      if (w[i] != 0) out.weights.emplace_back(image.point, w[i]);
    }
    out.image.cov.setZero();
    for (std::size_t i = 0; i < at.size(); ++i) out.image.cov += w[i] * w[i] * track[at[i]].cov;
    // What one order more, or less, would change beyond the noise is what the order misses.
    out.image.cov += std::max(0.0, 0.5 * (missed.squaredNorm() - kBeyondNoise * chance)) * Matrix2d::Identity();
    return out;
  }

  MarkerPose Fit(const std::vector<Brought>& brought, std::size_t without, const std::optional<Isometry3d>& near) const {
    std::vector<MarkerImage> images;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      if (i != without) images.push_back(brought[i].image);
    }
    return PoseFromMarkers(rig_, markers_, images, options_.pose, near);
  }

  // The image without which all others agree, when there is one and no other would do.
  std::optional<std::size_t> VotedOut(const std::vector<Brought>& brought, const MarkerPose& all,
                                      const std::optional<Isometry3d>& near) const {
    if (options_.outliers < 1 || all.dof < 4 || options_.pose.misfit_probability == 0 ||
        all.consistency <= ChiSquareQuantile(1 - options_.pose.misfit_probability, all.dof)) {
      return std::nullopt;
    }
    double best = std::numeric_limits<double>::infinity(), second = best;
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      const MarkerPose rest = Fit(brought, i, near);
      if (rest.dof == 0) continue;
      if (rest.consistency < best) {
        second = best;
        best = rest.consistency;
        out = rest.usable ? std::optional(i) : std::nullopt;
      } else {
        second = std::min(second, rest.consistency);
      }
    }
    return second - best > kVote ? out : std::nullopt;
  }

  // Empty on success, else why there is no pose.
  std::string PoseAt(long long frame, double t, const std::optional<Isometry3d>& near) {
    std::vector<Brought> brought;
    std::set<int> cameras;
    for (int c = 0; c < static_cast<int>(images_.size()); ++c) {
      for (int m = 0; m < static_cast<int>(markers_.size()); ++m) {
        std::optional<Brought> one = Bring(c, m, t);
        if (!one) continue;
        cameras.insert(c);
        brought.push_back(std::move(*one));
      }
    }
    if (static_cast<int>(cameras.size()) < options_.cameras)
      return fmt::format("seen by {} camera{} at this instant, asked for are {}", cameras.size(), cameras.size() == 1 ? "" : "s",
                         options_.cameras);
    MarkerPose pose = Fit(brought, brought.size(), near);
    if (!pose.usable) {
      const auto out = VotedOut(brought, pose, near);
      if (!out) return pose.reason;
      pose = Fit(brought, *out, near);
      brought.erase(brought.begin() + static_cast<std::ptrdiff_t>(*out));
      ++out_.outliers;
    }
    out_.images.push_back(Sources(pose, brought));
    if (!pose.observable) {
      out_.observable = false;
      out_.axis_B = pose.axis_B;
    }
    out_.recording.t.push_back(t);
    out_.recording.X_WB.push_back(pose.X_WB);
    out_.frames.push_back(frame);
    out_.poses.push_back(std::move(pose));
    return "";
  }

  std::vector<PoseImage> Sources(const MarkerPose& pose, const std::vector<Brought>& brought) const {
    std::vector<PoseImage> sources;
    for (const Brought& one : brought) {
      Vector2d q;
      internal::ImageDerivatives d;
      if (!internal::ImageOf(views_[one.image.camera], markers_[one.image.marker], pose.X_WB, &q, &d)) continue;
      Eigen::Matrix<double, 2, 6> J;
      J << d.by_p_W, d.by_phi_B;
      const Eigen::Matrix<double, 6, 2> dx_dq = pose.cov_pixels * J.transpose() * one.image.cov.inverse();
      for (const auto& [point, share] : one.weights) sources.push_back({point, share * dx_dq});
    }
    std::sort(sources.begin(), sources.end(), [](const PoseImage& a, const PoseImage& b) { return a.point < b.point; });
    return sources;
  }

  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const std::vector<BodyMarker>& markers_;
  const TrackPosesOptions& options_;
  std::vector<internal::View> views_;
  std::vector<int> view_of_;
  std::vector<std::vector<Track>> images_;  // [camera][marker]
  std::set<std::pair<int, int>> pending_;   // camera, marker
  std::vector<std::pair<long long, double>> instants_;
  double interval_ = 0;  // of frames [s]
  TrackPoses out_;
};

void Check(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers, const TrackPosesOptions& o) {
  internal::CheckLayout(markers);
  internal::CheckRig(rig, "poses of tracks");
  if (markers.size() > tracks.markers.size())
    throw ConfigError(fmt::format("poses of tracks: found a layout of {} markers, allowed: the {} that the tracks name at most",
                                  markers.size(), tracks.markers.size()));
  if (!o.offset.empty() && o.offset.size() != tracks.cameras.size())
    throw ConfigError(fmt::format("poses of tracks: found {} offsets, allowed: one for each of {} cameras, or none", o.offset.size(),
                                  tracks.cameras.size()));
  const auto bad = [](double x) { return !(x >= 0) || !std::isfinite(x); };
  const auto no_number = [](double x) { return !std::isfinite(x); };
  if (bad(o.pixel_sd) || bad(o.exposure) || bad(o.reach) || o.longest_gap < 1 || o.cameras < 1 || o.outliers < 0 || o.outliers > 1 ||
      std::any_of(o.offset.begin(), o.offset.end(), no_number) || std::any_of(o.impacts.begin(), o.impacts.end(), no_number)) {
    throw ConfigError(
        "poses of tracks: found an option without meaning, allowed: noises, exposure and reach of 0 or more, gaps and cameras of 1 or "
        "more, "
        "0 or 1 outliers, finite offsets and impact times");
  }
}

}  // namespace

TrackPoses PosesFromTracks(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers,
                           const TrackPosesOptions& options) {
  Check(tracks, rig, markers, options);
  return Reader(tracks, rig, markers, options).Run();
}

Eigen::Matrix<double, 6, 6> CrossCovariance(const TrackPoses& poses, const MarkerTracks& tracks, int i, int j) {
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
  auto other = poses.images[j].begin();
  for (const PoseImage& image : poses.images[i]) {
    while (other != poses.images[j].end() && other->point < image.point) ++other;
    if (other == poses.images[j].end()) break;
    if (other->point != image.point) continue;
    const Matrix2d noise = tracks.points[image.point].cov + poses.pixel_sd * poses.pixel_sd * Matrix2d::Identity();
    cov += image.dx_dq * noise * other->dx_dq.transpose();
  }
  return cov;
}

}  // namespace impactlab
