#include "tracking/track/camera_track.h"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tracking/track/detail/compression_noise.h"
#include "tracking/track/detail/model_error.h"
#include "tracking/track/redetect_spots.h"
#include "tracking/track/track_smoothing.h"

namespace impactlab {
namespace {

// Free memory in many small pieces would otherwise stay with the process, and a long recording
// would occupy twice its size.
void GiveBack() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// A marker in a frame, as found and as refined.
struct Point {
  Observation observation;  // refined where `refined`
  bool refined = false;
  double major = 0, minor = 0, angle = 0, amplitude = 0, background = 0;
};

// A point as it is kept until tracks are known: many markers in many frames.
struct StoredPoint {
  double t, x, y;
  float xx, xy, yy;
  float major, minor, angle, amplitude, background;
  std::uint32_t flags;
  int observation;  // place in the frame's list of spots
  bool refined, in_track;
};

// A frame kept until the next one gives the velocities of its markers.
struct Pending {
  Frame frame;
  std::vector<Spot> spots;
  std::vector<Observation> observations;
  std::vector<int> track;  // of every spot
};

class Pass {
 public:
  Pass(const FrameSource& source, const CameraTrackOptions& options)
      : source_(source), o_(options), finder_(options.spots), tracker_(options.tracker) {}

  CameraTrackResult Run();

 private:
  void LearnBackground();
  void Take(Frame& frame);
  void TakeTags(const Frame& frame);
  void Refine(Pending& now, const std::map<int, Eigen::Vector2d>& next);
  Point RefineOne(const Pending& now, std::size_t k, const Eigen::Vector2d& motion);
  Window Limit(const Pending& now, std::size_t k) const;
  void Collect(std::vector<Track> tracks);
  void CollectOne(const Track& track, int marker);
  void CollectLoose();
  void Store(int observation, const Point& point) {
    const Observation& o = point.observation;
    points_.back().push_back({o.t, o.q.x(), o.q.y(), static_cast<float>(o.cov(0, 0)),
                              static_cast<float>(o.cov(0, 1)), static_cast<float>(o.cov(1, 1)),
                              static_cast<float>(point.major), static_cast<float>(point.minor),
                              static_cast<float>(point.angle), static_cast<float>(point.amplitude),
                              static_cast<float>(point.background), o.flags, observation,
                              point.refined, false});
  }
  static TrackPoint Output(const StoredPoint& point, long long frame, int marker);
  std::size_t PlaceOf(long long frame) const;
  StoredPoint* Find(long long frame, int observation);

  const FrameSource& source_;
  const CameraTrackOptions& o_;
  SpotFinder finder_;
  MarkerTracker tracker_;
  std::optional<Background> background_;
  GrayImage difference_;
  std::optional<FrameReader> reader_;
  Pending previous_, current_;
  bool has_previous_ = false;
  // centroid of every track in the frame before the previous one
  std::map<int, Eigen::Vector2d> before_;
  std::vector<std::vector<StoredPoint>> points_;  // by frame used, in the order of its spots
  std::vector<std::vector<TrackPoint>> markers_;  // of every marker, as tracked
  std::vector<double> blurs_, noises_, gains_, thresholds_;
  double blur_ = 0;
  tracking::CompressionNoise coder_;
  std::vector<Track> tag_tracks_;  // one a name
  CameraTrackResult result_;
};

void Pass::LearnBackground() {
  // Two passes: the background needs the whole recording.
  background_.emplace(reader_->info().width, reader_->info().height);
  FrameReader reader(source_);
  Frame frame;
  try {
    while (reader.Next(&frame)) {
      if (frame.index < o_.first) continue;
      if (o_.last >= 0 && frame.index > o_.last) break;
      if (o_.progress) o_.progress(frame.index);
      background_->Add(frame.image);
    }
  } catch (const DataError&) {
    // The second pass says where the file breaks.
  }
}

// Pixels a fit may use: not those of a neighbour's rim.
Window Pass::Limit(const Pending& now, std::size_t k) const {
  const Spot& s = now.spots[k];
  Window w{s.left - 8, s.top - 8, s.right + 8, s.bottom + 8};
  for (std::size_t j = 0; j < now.spots.size(); ++j) {
    if (j == k) continue;
    const Spot& n = now.spots[j];
    if (n.right < w.left || n.left > w.right || n.bottom < w.top || n.top > w.bottom) continue;
    const int gap_x = std::max(n.left - s.right, s.left - n.right),
              gap_y = std::max(n.top - s.bottom, s.top - n.bottom);
    if (gap_x >= gap_y && gap_x > 0) {
      (n.left > s.right ? w.right : w.left) = n.left > s.right
                                                  ? std::min(w.right, s.right + gap_x / 2)
                                                  : std::max(w.left, s.left - gap_x / 2);
    } else if (gap_y > 0) {
      (n.top > s.bottom ? w.bottom : w.top) = n.top > s.bottom
                                                  ? std::min(w.bottom, s.bottom + gap_y / 2)
                                                  : std::max(w.top, s.top - gap_y / 2);
    }
  }
  return w;
}

Point Pass::RefineOne(const Pending& now, std::size_t k, const Eigen::Vector2d& motion) {
  const Spot& spot = now.spots[k];
  Point point;
  point.observation = now.observations[k];
  point.amplitude = o_.spots.dark ? -spot.peak : spot.peak;
  point.background = spot.background;
  if (motion.norm() > 1) point.observation.flags |= kBlurred;
  if (!o_.refine) return point;
  MarkerFitOptions fit;
  fit.shape = o_.shape;
  fit.motion = motion;
  fit.noise = finder_.noise();
  const double coder = coder_.Variance(fit.noise.Variance(spot.background));
  fit.noise.read = std::hypot(fit.noise.read, std::sqrt(coder));
  fit.limit = Limit(now, k);
  fit.blur = blur_ > 0 ? blur_ : 0.8;
  constexpr std::uint32_t kUnclear = kSaturated | kTouching | kHidden | kCut | kFaint;
  constexpr std::size_t kEnough = 40;
  const bool learn = blur_ <= 0 && (spot.flags & kUnclear) == 0 && motion.norm() < 1;
  fit.fit_blur = learn;
  const std::optional<MarkerFit> best = FitMarker(now.frame.image, spot, fit);
  constexpr double kFar = 3;  // a fit farther than this from its spot is rejected [px]
  if (!best || !((best->q - spot.q).norm() < kFar + 0.5 * motion.norm())) {
    // For other shapes the centre is only near the middle.
    constexpr double kShare = 0.3;  // of the radius
    point.observation.flags |= kRough;
    point.observation.cov += kShare * kShare * spot.area / M_PI * Eigen::Matrix2d::Identity();
    return point;
  }
  const bool clear = ((spot.flags | best->flags) & (kUnclear | kRough)) == 0;
  if (clear) coder_.Add(best->unexplained + coder);
  if (learn && clear) {
    blurs_.push_back(best->blur);
    if (blurs_.size() >= kEnough) blur_ = std::max(0.2, MedianOrZero(blurs_));
  }
  point.refined = true;
  point.observation.q = best->q;
  point.observation.cov =
      best->cov + tracking::kModelError * tracking::kModelError * Eigen::Matrix2d::Identity();
  point.observation.flags |= best->flags;
  point.observation.t = RowTime(source_, reader_->info(), now.frame, best->q.x(), best->q.y());
  point.major = best->major;
  point.minor = best->minor;
  point.angle = best->angle;
  point.amplitude = best->amplitude;
  point.background = best->background;
  return point;
}

// `next`: centroid of every track in the frame that follows.
void Pass::Refine(Pending& now, const std::map<int, Eigen::Vector2d>& next) {
  // The frame kept is the last one without its points.
  const std::size_t place = points_.size();
  points_.emplace_back();
  std::map<int, Eigen::Vector2d> here;
  for (std::size_t k = 0; k < now.spots.size(); ++k) {
    const int id = now.track[k];
    if (id < 0) continue;
    here[id] = now.spots[k].q;
    // Where the velocity jumps within a frame the two sides disagree; their mean is used.
    Eigen::Vector2d motion = Eigen::Vector2d::Zero();
    if (o_.exposure > 0) {
      const auto a = before_.find(id);
      const auto b = next.find(id);
      const double t = result_.stamps[place];
      const double t0 = place > 0 ? result_.stamps[place - 1] : t,
                   t1 = place + 1 < result_.stamps.size() ? result_.stamps[place + 1] : t;
      Eigen::Vector2d v = Eigen::Vector2d::Zero();
      const bool has_a = a != before_.end() && t > t0, has_b = b != next.end() && t1 > t;
      if (has_a && has_b) {
        v = (b->second - a->second) / (t1 - t0);
      } else if (has_b) {
        v = (b->second - now.spots[k].q) / (t1 - t);
      } else if (has_a) {
        v = (now.spots[k].q - a->second) / (t - t0);
      } else if (const auto known = tracker_.Velocity(id)) {
        v = *known;
      }
      motion = v * o_.exposure;
    }
    Store(static_cast<int>(k), RefineOne(now, k, motion));
  }
  points_.back().shrink_to_fit();
  before_ = std::move(here);
}

void Pass::TakeTags(const Frame& frame) {
  points_.emplace_back();
  tag_tracks_.resize(o_.names.size());
  const auto add = [&](const std::string& name, const Eigen::Vector2d& q,
                       const Eigen::Matrix2d& cov) {
    const auto at = std::find(o_.names.begin(), o_.names.end(), name);
    if (at == o_.names.end()) return;
    const int marker = static_cast<int>(at - o_.names.begin());
    Track& track = tag_tracks_[static_cast<std::size_t>(marker)];
    Point point;
    point.observation.q = q;
    point.observation.cov =
        cov + tracking::kModelError * tracking::kModelError * Eigen::Matrix2d::Identity();
    point.observation.t = RowTime(source_, reader_->info(), frame, q.x(), q.y());
    point.refined = true;
    Store(marker, point);
    // Frames in which the tag was not found are gaps.
    if (!track.steps.empty()) {
      for (std::size_t k = PlaceOf(track.steps.back().frame) + 1; k + 1 < points_.size(); ++k) {
        TrackStep gap;
        gap.frame = result_.index[k];
        gap.t = result_.stamps[k];
        track.steps.push_back(gap);
      }
    }
    TrackStep step;
    step.frame = frame.index;
    step.t = point.observation.t;
    step.observation = marker;
    track.steps.push_back(step);
  };
  result_.stamps.push_back(frame.t);
  result_.index.push_back(frame.index);
  for (const Tag& tag : DetectTags(frame.image, o_.tag)) {
    for (const auto& [id, name] : o_.tag_names) {
      if (id != tag.id) continue;
      if (!o_.tag_corners) add(name, tag.q, tag.cov_q);
      for (std::size_t k = 0; k < 4 && o_.tag_corners; ++k)
        add(fmt::format("{}.{}", name, k + 1), tag.corners[k], tag.cov[k]);
    }
  }
}

void Pass::Take(Frame& frame) {
  current_.frame.index = frame.index;
  current_.frame.t = frame.t;
  std::swap(current_.frame.image, frame.image);
  const GrayImage& image = current_.frame.image;
  if (o_.brightness_bands > 0) AddFrame(current_.frame, o_.brightness_bands, &result_.brightness);
  const GrayImage* searched = &image;
  if (background_) {
    background_->Subtract(image, o_.spots.dark, &difference_);
    searched = &difference_;
  }
  constexpr double kMargin = 24;
  current_.spots = tracker_.Searching()
                       ? finder_.FindSpots(*searched)
                       : finder_.FindSpots(*searched, tracker_.Windows(frame.t, kMargin));
  LookAgain(*searched, o_.spots, finder_.noise(), tracker_.Expected(frame.t), &current_.spots);
  noises_.push_back(finder_.noise().read);
  gains_.push_back(finder_.noise().gain);
  thresholds_.push_back(finder_.threshold());
  result_.spots += static_cast<long long>(current_.spots.size());
  current_.observations.clear();
  // Closeness to a colour ends at 255 by its definition: such pixels are not clipped.
  const std::uint32_t kept = source_.decode.color ? ~static_cast<std::uint32_t>(kSaturated) : ~0u;
  for (const Spot& spot : current_.spots) {
    Observation one;
    one.q = spot.q;
    one.cov = spot.cov;
    one.t = RowTime(source_, reader_->info(), current_.frame, spot.q.x(), spot.q.y());
    one.area = spot.area;
    one.peak = spot.peak;
    one.flags = spot.flags & kept;
    current_.observations.push_back(one);
  }
  current_.track = tracker_.Update(current_.frame.index, current_.frame.t, current_.observations);
  result_.stamps.push_back(current_.frame.t);
  result_.index.push_back(current_.frame.index);
  if (has_previous_) {
    std::map<int, Eigen::Vector2d> next;
    for (std::size_t k = 0; k < current_.spots.size(); ++k)
      if (current_.track[k] >= 0) next[current_.track[k]] = current_.spots[k].q;
    Refine(previous_, next);
  }
  std::swap(previous_, current_);
  has_previous_ = true;
  // The buffer goes back to the reader.
  std::swap(frame.image, current_.frame.image);
}

std::size_t Pass::PlaceOf(long long frame) const {
  return static_cast<std::size_t>(
      std::lower_bound(result_.index.begin(), result_.index.end(), frame) - result_.index.begin());
}

StoredPoint* Pass::Find(long long frame, int observation) {
  std::vector<StoredPoint>& here = points_[PlaceOf(frame)];
  const auto at = std::find_if(here.begin(), here.end(), [&](const StoredPoint& point) {
    return point.observation == observation;
  });
  return at == here.end() ? nullptr : &*at;
}

TrackPoint Pass::Output(const StoredPoint& point, long long frame, int marker) {
  TrackPoint out;
  out.marker = marker;
  out.frame = frame;
  out.t = point.t;
  out.q << point.x, point.y;
  out.cov << point.xx, point.xy, point.xy, point.yy;
  out.flags = point.flags;
  out.major = point.major, out.minor = point.minor, out.angle = point.angle;
  out.amplitude = point.amplitude, out.background = point.background;
  return out;
}

// Markers seen for too short a time for a track may still be identified by others.
void Pass::CollectLoose() {
  for (std::size_t k = 0; k < points_.size(); ++k) {
    for (const StoredPoint& point : points_[k])
      if (!point.in_track) result_.loose.push_back(Output(point, result_.index[k], -1));
    std::vector<StoredPoint>().swap(points_[k]);
  }
}

void Pass::CollectOne(const Track& track, int marker) {
  markers_.resize(std::max(markers_.size(), static_cast<std::size_t>(marker) + 1));
  std::vector<TrackPoint>& out = markers_[static_cast<std::size_t>(marker)];
  out.reserve(out.size() + track.steps.size());
  for (const TrackStep& step : track.steps) {
    StoredPoint* point = step.observation >= 0 ? Find(step.frame, step.observation) : nullptr;
    if (point == nullptr) continue;
    out.push_back(Output(*point, step.frame, marker));
    if (step.impact) out.back().flags |= kImpact;
    point->in_track = true;
    (point->refined ? result_.refined : result_.rough) += 1;
  }
}

void Pass::Collect(std::vector<Track> tracks) {
  result_.labels = LabelTracks(tracks, o_.names, o_.layout, o_.hints);
  result_.markers = o_.names;
  result_.odds.assign(o_.names.size(), std::numeric_limits<double>::infinity());
  result_.still.assign(o_.names.size(), 1);
  int unnamed = 0;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    int marker = result_.labels.label[i];
    if (marker < 0) {
      marker = static_cast<int>(result_.markers.size());
      result_.markers.push_back(fmt::format("unnamed_{}", ++unnamed));
      result_.odds.push_back(0);
      result_.still.push_back(1);
    }
    const auto at = static_cast<std::size_t>(marker);
    result_.odds[at] = std::min(result_.odds[at], result_.labels.odds[i]);
    if (!tracks[i].still) result_.still[at] = 0;
    CollectOne(tracks[i], marker);
    std::vector<TrackStep>().swap(tracks[i].steps);
    GiveBack();
  }
  CollectLoose();
}

CameraTrackResult Pass::Run() {
  const auto start = std::chrono::steady_clock::now();
  reader_.emplace(source_);
  result_.info = reader_->info();
  result_.brightness.t_line = source_.t_line;
  result_.brightness.height = result_.info.height;
  result_.brightness.exposure = o_.exposure;
  blur_ = o_.blur;
  if (o_.subtract_background) LearnBackground();
  Frame frame;
  try {
    while (reader_->Next(&frame)) {
      if (frame.index < o_.first) continue;
      if (o_.last >= 0 && frame.index > o_.last) break;
      if (o_.progress) o_.progress(frame.index);
      o_.tags ? TakeTags(frame) : Take(frame);
      ++result_.frames;
    }
  } catch (const DataError& error) {
    result_.broke = error.what();
  }
  if (has_previous_) Refine(previous_, {});
  if (o_.tags) {
    result_.markers = o_.names;
    result_.odds.assign(o_.names.size(), std::numeric_limits<double>::infinity());
    result_.still.assign(o_.names.size(), 0);
    result_.labels.complete = true;
    for (std::size_t k = 0; k < tag_tracks_.size(); ++k) {
      if (!tag_tracks_[k].steps.empty()) {
        CollectOne(tag_tracks_[k], static_cast<int>(k));
      } else if (!o_.tag_corners || k % 4 == 0) {
        const auto tag = o_.tag_names[o_.tag_corners ? k / 4 : k];
        result_.notes.push_back(
            fmt::format("tag {} ({}) was not seen in any frame", tag.first, tag.second));
      }
    }
  } else {
    Collect(tracker_.Finish());
  }
  std::vector<std::vector<StoredPoint>>().swap(points_);
  GiveBack();
  result_.innovations = FinishMarkers(result_.index, result_.stamps, FinishOptions(o_), &markers_);
  std::size_t n = 0;
  for (const auto& marker : markers_) n += marker.size();
  result_.points.reserve(n);
  for (auto& marker : markers_) {
    result_.points.insert(result_.points.end(), marker.begin(), marker.end());
    std::vector<TrackPoint>().swap(marker);
    GiveBack();
  }
  for (TrackPoint& point : result_.loose)
    point.cov *= result_.innovations.error_scale * result_.innovations.error_scale;
  result_.damaged = reader_->damaged();
  result_.decoding = reader_->decoding();
  result_.blur = blur_ > 0 ? blur_ : MedianOrZero(blurs_);
  result_.noise = {MedianOrZero(noises_), MedianOrZero(gains_)};
  result_.coder = std::sqrt(coder_.Variance(result_.noise.Variance(result_.threshold)));
  result_.threshold = MedianOrZero(thresholds_);
  result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(result_);
}

}  // namespace

TrackerOptions FinishOptions(const CameraTrackOptions& options) {
  // The floor covers errors that the covariance of a centroid leaves out; the edge model has its
  // own.
  constexpr double kFloor = 0.02;
  TrackerOptions out = options.tracker;
  if (options.refine || options.tags) out.position_floor = std::min(out.position_floor, kFloor);
  return out;
}

CameraTrackResult TrackCamera(const FrameSource& source, const CameraTrackOptions& options) {
  return Pass(source, options).Run();
}

}  // namespace impactlab
