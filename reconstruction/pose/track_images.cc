#include "reconstruction/pose/detail/track_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/pose/marker_pose_image.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Window = TrackPoses::Window;
using Image = TrackImages::Image;
using Track = TrackImages::Track;

constexpr double kSameTime = 1e-9;      // [s]
constexpr double kClusterGap = 2.5;     // frame intervals between the flags of one impact
constexpr std::size_t kNeighbours = 5;  // four for the cubic, one to tell what it misses
// Times its mean square by which noise alone may explain what a cubic seems to miss: once in fifty.
constexpr double kBeyondNoise = 4;

// Even: before, between or behind the windows; odd: inside one.
int Side(const std::vector<Window>& windows, double t) {
  int side = 0;
  for (const Window& w : windows) side += t >= w.end ? 2 : t > w.begin ? 1 : 0;
  return side;
}

// Lagrange's weights of the points at t.
std::vector<double> Weights(const Track& track, const std::vector<std::size_t>& at, std::size_t n,
                            double t) {
  std::vector<double> weights(at.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = 1;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) weights[i] *= (t - track[at[j]].t) / (track[at[i]].t - track[at[j]].t);
    }
  }
  return weights;
}

}  // namespace

TrackImages::TrackImages(const MarkerTracks& tracks, const CameraRig& rig, std::size_t markers,
                         const TrackImagesOptions& options)
    : options_(options), markers_(markers) {
  TakePoints(tracks, rig);
  FindInstants();
  if (!(interval_ > 0)) return;
  FindImpacts();
  CutPieces();
}

void TrackImages::TakePoints(const MarkerTracks& tracks, const CameraRig& rig) {
  for (const std::string& name : tracks.cameras) {
    const auto found = std::find_if(rig.cameras.begin(), rig.cameras.end(),
                                    [&](const RigCamera& c) { return c.name == name; });
    if (found == rig.cameras.end())
      throw ConfigError(
          fmt::format("poses of tracks: found camera '{}', allowed: those of the rig", name));
    view_of_.push_back(static_cast<int>(found - rig.cameras.begin()));
  }
  images_.assign(tracks.cameras.size(), std::vector<Track>(markers_));
  std::set<std::pair<int, int>> pending;  // camera, marker
  for (std::size_t i = 0; i < tracks.points.size(); ++i) {
    const TrackPoint& p = tracks.points[i];
    if (p.marker >= static_cast<int>(markers_)) continue;
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
    if (usable && image.q.allFinite() && std::isfinite(image.t) && WeightRoot(image.cov, &root)) {
      image.flagged = image.flagged || pending.contains({p.camera, p.marker});
      pending.erase({p.camera, p.marker});
      track.push_back(image);
    } else if (image.flagged) {
      pending.insert({p.camera, p.marker});  // the jump is before the next image that counts
    }
  }
  for (auto& camera : images_) {
    for (Track& track : camera)
      std::sort(track.begin(), track.end(),
                [](const Image& a, const Image& b) { return a.t < b.t; });
  }
}

void TrackImages::FindInstants() {
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
    steps.push_back((instants_[i].second - instants_[i - 1].second) /
                    static_cast<double>(instants_[i].first - instants_[i - 1].first));
  }
  if (!steps.empty()) interval_ = Median(steps);
}

bool TrackImages::NearKnown(double t) const {
  return std::any_of(options_.impacts.begin(), options_.impacts.end(),
                     [&](double x) { return std::abs(x - t) < kClusterGap * interval_; });
}

// Known impacts, and where two tracks or more agree that the velocity jumped.
void TrackImages::FindImpacts() {
  std::vector<Window> flagged;
  for (auto& camera : images_) {
    for (Track& track : camera) {
      for (std::size_t i = 0; i < track.size(); ++i) {
        if (track[i].flagged && NearKnown(track[i].t)) track[i].flagged = false;
        if (track[i].flagged && i > 0) flagged.push_back({track[i - 1].t, track[i].t});
      }
    }
  }
  std::sort(flagged.begin(), flagged.end(),
            [](const Window& a, const Window& b) { return a.end < b.end; });
  for (std::size_t i = 0; i < flagged.size();) {
    Window common = flagged[i], hull = flagged[i];
    std::size_t n = i + 1;
    for (; n < flagged.size() && flagged[n].end - flagged[n - 1].end < kClusterGap * interval_;
         ++n) {
      common = {std::max(common.begin, flagged[n].begin), std::min(common.end, flagged[n].end)};
      hull = {std::min(hull.begin, flagged[n].begin), std::max(hull.end, flagged[n].end)};
    }
    // One marker alone may have jumped for another reason; that cuts its own track only.
    if (n - i > 1) impacts_.push_back(common.begin < common.end ? common : hull);
    i = n;
  }
  const double half = 0.5 * options_.exposure;
  for (double t : options_.impacts) {
    impacts_.push_back({t - half, t + half});
    for (auto& camera : images_) {
      for (Track& track : camera)
        std::erase_if(track, [&](const Image& image) { return std::abs(image.t - t) < half; });
    }
  }
  std::sort(impacts_.begin(), impacts_.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
}

void TrackImages::CutPieces() {
  for (auto& camera : images_) {
    for (Track& track : camera) {
      for (std::size_t i = 1; i < track.size(); ++i) {
        const Image& before = track[i - 1];
        const int side = Side(impacts_, track[i].t);
        const bool cut = track[i].frame - before.frame > options_.longest_gap || track[i].flagged ||
                         side % 2 != 0 || side != Side(impacts_, before.t) ||
                         !(track[i].t > before.t);
        track[i].piece = before.piece + cut;
      }
    }
  }
}

std::optional<Brought> TrackImages::Bring(int camera, int marker, double t) const {
  const Track& track = images_[camera][marker];
  Brought out;
  out.image.camera = view_of_[camera];
  out.image.marker = marker;
  const auto after =
      std::lower_bound(track.begin(), track.end(), t,
                       [](const Image& image, double time) { return image.t < time; });
  for (auto at : {after, after == track.begin() ? after : std::prev(after)}) {
    if (at == track.end() || std::abs(at->t - t) > kSameTime) continue;
    out.image.q = at->q;
    out.image.cov = at->cov;
    out.weights = {{at->point, 1.0}};
    return out;
  }
  const int side = Side(impacts_, t);
  if (side % 2 != 0) return std::nullopt;
  // The piece on this side that holds the instant, or ends or begins within reach of it.
  const double reach = options_.reach * interval_;
  std::optional<int> piece;
  const bool before = after != track.begin(), behind = after != track.end();
  const auto mine = [&](Track::const_iterator at) {
    return Side(impacts_, at->t) == side && std::abs(at->t - t) <= reach;
  };
  if (before && behind && std::prev(after)->piece == after->piece) {
    if (Side(impacts_, after->t) == side) piece = after->piece;
  } else if (before && mine(std::prev(after)) &&
             !(behind && mine(after) && after->t - t < t - std::prev(after)->t)) {
    piece = std::prev(after)->piece;
  } else if (behind && mine(after)) {
    piece = after->piece;
  }
  if (!piece) return std::nullopt;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < track.size(); ++i) {
    if (track[i].piece == *piece) at.push_back(i);
  }
  std::sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(track[a].t - t) < std::abs(track[b].t - t);
  });
  if (at.size() > kNeighbours) at.resize(kNeighbours);
  if (at.size() < 3) return std::nullopt;
  const std::size_t n = std::min<std::size_t>(4, at.size());
  const std::vector<double> w = Weights(track, at, n, t),
                            other = Weights(track, at, at.size() > n ? n + 1 : n - 1, t);
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
  out.image.cov +=
      std::max(0.0, 0.5 * (missed.squaredNorm() - kBeyondNoise * chance)) * Matrix2d::Identity();
  return out;
}

}  // namespace impactlab::reconstruction
