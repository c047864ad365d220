#pragma once
// A synthetic stereo drop, followed and compared with its truth: no swapped names, no lost markers,
// no false points, every gap flagged.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "pipelines/synth/video.h"
#include "pipelines/track/detail/load_or_track.h"
#include "pipelines/track/track.h"
#include "tests/support/video_scenes.h"
#include "tracking/video/writer.h"

namespace impactlab::test {

struct TrackingScore {
  std::string name, failure;  // failure: nothing came out at all
  long long visible = 0;      // marker images at least `kSeen` visible
  long long measured = 0, predicted = 0;
  long long swapped = 0;       // measured points on another marker
  long long false_points = 0;  // measured points on no marker
  long long lost = 0;          // runs of 3 visible frames in a row without a single measured point
  long long unflagged = 0;     // frames without any row inside a track
  long long clean = 0;         // measured points without a flag of their image
  double sum_nees = 0;         // of the clean ones, 2 each expected
  double sum_error2 = 0;       // [px^2]
  double worst = 0;            // largest error of a clean point [px]
  bool named = false;          // names were confirmed in space
  TrackingScore& operator+=(const TrackingScore& o) {
    visible += o.visible, measured += o.measured, predicted += o.predicted, swapped += o.swapped,
        false_points += o.false_points;
    lost += o.lost, unflagged += o.unflagged, clean += o.clean, sum_nees += o.sum_nees,
        sum_error2 += o.sum_error2;
    worst = std::max(worst, o.worst);
    return *this;
  }
  bool good() const {
    return failure.empty() && named && swapped == 0 && lost == 0 && unflagged == 0;
  }
  double false_share() const {
    return measured > 0 ? static_cast<double>(false_points) / static_cast<double>(measured) : 0;
  }
};

inline std::string Words(const TrackingScore& s) {
  if (!s.failure.empty()) return s.failure;
  const double clean = static_cast<double>(std::max(1LL, s.clean));
  return fmt::format(
      "{} images visible, {} measured, {} predicted; {} swapped, {} false ({:.2f} %), {} lost, {} "
      "gaps not flagged; {} clean points: rms "
      "{:.4f} px a coordinate, worst {:.3f} px, NEES / 2 {:.2f}{}",
      s.visible, s.measured, s.predicted, s.swapped, s.false_points, 100 * s.false_share(), s.lost,
      s.unflagged, s.clean, std::sqrt(s.sum_error2 / clean / 2), s.worst, s.sum_nees / clean / 2,
      s.named ? "; named in space" : "");
}

inline nlohmann::json ToJson(const TrackingScore& s) {
  const double clean = static_cast<double>(std::max(1LL, s.clean));
  return {{"name", s.name},
          {"failure", s.failure},
          {"visible", s.visible},
          {"measured", s.measured},
          {"predicted", s.predicted},
          {"swapped", s.swapped},
          {"false", s.false_points},
          {"lost", s.lost},
          {"unflagged", s.unflagged},
          {"clean", s.clean},
          {"rms_px", std::sqrt(s.sum_error2 / clean / 2)},
          {"worst_px", s.worst},
          {"nees_per_dof", s.sum_nees / clean / 2},
          {"named", s.named}};
}

inline TrackConfig PlanOf(const VideoScene& scene, const std::string& name,
                          const std::vector<std::filesystem::path>& files) {
  TrackConfig plan;
  plan.name = scene.name;
  plan.rig = scene.rig;
  TrackedRecording recording{.name = name, .files = {}, .stamps = {}};
  for (std::size_t c = 0; c < scene.rig.cameras.size(); ++c) {
    TrackedCamera camera;
    camera.name = scene.rig.cameras[c].name;
    camera.exposure = scene.cameras[c].exposure;
    camera.source.t_line = scene.cameras[c].t_line;
    camera.source.decode.threads = 1;
    plan.cameras.push_back(camera);
    recording.files.push_back({files[c]});
  }
  for (const SceneMarker& marker : scene.markers) {
    plan.track.names.push_back(marker.name);
    plan.track.layout.push_back(marker.p_BM);
  }
  plan.track.tracker.markers = static_cast<int>(plan.track.names.size());
  plan.recordings = {recording};
  plan.sync = scene.flash ? SyncMethod::kFlash : SyncMethod::kNone;
  return plan;
}

// Radius of a marker's image [px], at the distance where drops strike.
inline double ImageRadius(const VideoScene& scene, const TruthPoint& point) {
  const RigCamera& camera = scene.rig.cameras[static_cast<std::size_t>(point.camera)];
  const double scale = camera.camera.fx / (camera.X_WC.translation() - scene.centre_W).norm();
  return 1.15 * scale * scene.markers[static_cast<std::size_t>(point.marker)].radius;
}

// Images that run into each other are one spot, whoever looks.
inline bool Merged(const VideoScene& scene, const std::vector<const TruthPoint*>& frame,
                   const TruthPoint& point) {
  constexpr double kBlur = 2;  // [px]
  return std::any_of(frame.begin(), frame.end(), [&](const TruthPoint* other) {
    return other->marker != point.marker && other->visible > 0 &&
           (other->q_centroid - point.q_centroid).norm() <
               ImageRadius(scene, *other) + ImageRadius(scene, point) + kBlur;
  });
}

inline TrackingScore Compare(const MarkerTracks& tracks, const std::vector<TruthPoint>& truth,
                             const VideoScene& scene) {
  constexpr double kSeen = 0.9, kNear = 3;
  TrackingScore score;
  std::map<std::tuple<int, long long>, std::vector<const TruthPoint*>> by_frame;
  for (const TruthPoint& point : truth) by_frame[{point.camera, point.frame}].push_back(&point);
  // By camera, marker and frame, names as in the scene.
  std::map<std::tuple<int, int, long long>, const TrackPoint*> found;
  for (const TrackPoint& point : tracks.points) {
    const std::string& name = tracks.markers[static_cast<std::size_t>(point.marker)];
    int marker = -1;
    for (std::size_t m = 0; m < scene.markers.size(); ++m)
      if (scene.markers[m].name == name) marker = static_cast<int>(m);
    const bool predicted = (point.flags & kPredicted) != 0;
    if (predicted) {
      score.predicted += marker >= 0;
    } else {
      ++score.measured;
      const TruthPoint *own = nullptr, *nearest = nullptr;
      for (const TruthPoint* t : by_frame[{point.camera, point.frame}]) {
        if (t->visible <= 0) continue;
        if (t->marker == marker) own = t;
        if (nearest == nullptr ||
            (t->q_centroid - point.q).norm() < (nearest->q_centroid - point.q).norm())
          nearest = t;
      }
      // The centroid of what is seen lies inside of the marker, or of the two that have merged.
      const double own_error = own != nullptr ? (own->q_centroid - point.q).norm() : 1e9;
      const bool merged =
          own != nullptr && Merged(scene, by_frame[{point.camera, point.frame}], *own);
      if (own_error > kNear + (own != nullptr ? (merged ? 2 : 1) * ImageRadius(scene, *own) : 0)) {
        const bool other =
            nearest != nullptr && nearest != own && (nearest->q_centroid - point.q).norm() < kNear;
        score.swapped += other && marker >= 0;
        score.false_points += !other;
      }
      constexpr std::uint32_t kImage =
          kSaturated | kTouching | kHidden | kCut | kFaint | kRough | kOutlier | kImpact;
      if (own != nullptr && own->visible > 0.999 && (point.flags & kImage) == 0 &&
          !Merged(scene, by_frame[{point.camera, point.frame}], *own)) {
        const Eigen::Vector2d e = point.q - own->q_centroid;
        ++score.clean;
        score.sum_error2 += e.squaredNorm();
        score.sum_nees += e.dot(point.cov.ldlt().solve(e));
        score.worst = std::max(score.worst, e.norm());
      }
    }
    // A track without a name follows its marker, but nobody can use it: it counts as lost.
    if (marker >= 0) found[{point.camera, marker, point.frame}] = &point;
  }
  // Frames of every marker of every camera in order.
  std::map<std::tuple<int, int>, std::vector<const TruthPoint*>> by_marker;
  for (const TruthPoint& point : truth) by_marker[{point.camera, point.marker}].push_back(&point);
  for (auto& [key, points] : by_marker) {
    std::sort(points.begin(), points.end(),
              [](const TruthPoint* a, const TruthPoint* b) { return a->frame < b->frame; });
    int run = 0, seen = 0;
    long long first = -1, last = -1;
    for (const TruthPoint* t : points) {
      const auto at = found.find({t->camera, t->marker, t->frame});
      const bool there = at != found.end(),
                 is_measured = there && (at->second->flags & kPredicted) == 0;
      if (there) first = first < 0 ? t->frame : first, last = t->frame;
      const bool merged = Merged(scene, by_frame[{t->camera, t->frame}], *t);
      if (t->visible >= kSeen && !merged) {
        ++score.visible;
        ++run;
        seen += is_measured;
        if (run >= 3 && seen == 0) ++score.lost, run = 0;
        if (is_measured) run = 0, seen = 0;
      } else {
        run = seen = 0;
      }
    }
    for (const TruthPoint* t : points)
      score.unflagged += first >= 0 && t->frame > first && t->frame < last &&
                         !found.contains({t->camera, t->marker, t->frame});
  }
  return score;
}

// Draws a drop of a scene into videos in `folder`, follows it and compares. `number` begins its
// name.
inline TrackingScore ScoreDrop(const VideoScene& scene, int drop,
                               const std::filesystem::path& folder, int number, bool keep = false) {
  std::vector<std::filesystem::path> files;
  std::vector<std::unique_ptr<VideoWriter>> writers(scene.rig.cameras.size());
  const std::string name = fmt::format("{:04}_{}", number, scene.name);
  for (const RigCamera& camera : scene.rig.cameras)
    files.push_back(folder / fmt::format("{}_{}.mp4", name, camera.name));
  std::vector<TruthPoint> truth;
  test::DrawScene(scene, drop, [&](const DrawnFrame& frame) {
    auto& writer = writers[static_cast<std::size_t>(frame.camera)];
    if (!writer)
      writer = std::make_unique<VideoWriter>(files[static_cast<std::size_t>(frame.camera)],
                                             frame.image.width, frame.image.height, scene.video);
    writer->Write(frame.image, frame.stamp);
    truth.insert(truth.end(), frame.truth.begin(), frame.truth.end());
  });
  for (auto& writer : writers) writer->Finish();
  const RecordingTracks done =
      pipelines::TrackAndLook(PlanOf(scene, name, files), 0, {}, false, {.threads = 1}).known;
  TrackingScore score = Compare(done.tracks, truth, scene);
  score.name = name;
  score.failure = done.summary.failure;
  score.named = done.summary.identity_usable;
  if (!keep)
    for (const auto& file : files) std::filesystem::remove(file);
  return score;
}

}  // namespace impactlab::test
