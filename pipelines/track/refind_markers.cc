#include "pipelines/track/refind_markers.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <tuple>

#include "reconstruction/identity/complete.h"
#include "tracking/overlay/kept_frames.h"
#include "tracking/track/guided_search.h"

namespace impactlab {
namespace {

// What the first round searches, and a little around it for the second one, whose places differ by
// less: both rounds and the pictures are served by one reading.
void ExpectSearched(const std::vector<WantedMarker>& wanted, double exposure, SecondLook* look) {
  constexpr int kMoved = 8;  // [px]
  std::vector<FramePart> parts;
  for (const WantedMarker& w : wanted)
    if (const FramePart part = SearchedPart(w, exposure); !part.empty())
      parts.push_back(Widened(part, kMoved));
  look->Expect(parts);
}

}  // namespace

void RefindMarkers(const TrackConfig& plan, const std::vector<CameraTrackResult>& cameras,
                   const RowTimes& time, bool pictures, std::vector<SecondLook>* looks,
                   RecordingTracks* out) {
  constexpr int kRounds = 2;  // what is found improves the pose
  std::vector<std::vector<long long>> frames;
  frames.reserve(cameras.size());
  for (const CameraTrackResult& camera : cameras) frames.push_back(camera.index);
  long long n = 0;
  std::set<std::tuple<int, int, long long>> searched;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<WantedMarker>> wanted(cameras.size());
    for (const AbsentMarker& a :
         FindAbsent(out->tracks, *plan.rig, plan.track.layout, frames, time, {})) {
      if (!searched.insert({a.camera, a.marker, a.frame}).second && a.cov.trace() > 2) continue;
      wanted[static_cast<std::size_t>(a.camera)].push_back(
          {a.frame, a.q, std::sqrt(0.5 * a.cov.trace()), a.major, a.v});
    }
    std::vector<TrackPoint> found;
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      CameraTrackOptions options = plan.track;
      options.exposure = plan.cameras[c].exposure;
      const double scale = cameras[c].innovations.error_scale;
      SecondLook& look = (*looks)[c];
      if (round == 0 && !wanted[c].empty()) {
        ExpectSearched(wanted[c], options.exposure, &look);
        if (pictures)
          look.Expect(PartsOfPictures(out->tracks, static_cast<int>(c), cameras[c].info.width,
                                      cameras[c].info.height, true));
      }
      for (TrackPoint& p :
           GuidedSearch(options, cameras[c].blur, cameras[c].noise, wanted[c], &look)) {
        p.camera = static_cast<int>(c);
        p.cov *= scale * scale;
        found.push_back(p);
      }
    }
    const long long added = CompleteTracks(found, *plan.rig, plan.track.layout, {}, &out->tracks);
    n += added;
    if (added == 0) break;
  }
  if (n > 0)
    out->summary.notes.push_back(fmt::format(
        "{} images were found by a second search, where the pose of the body predicts them", n));
}

}  // namespace impactlab
