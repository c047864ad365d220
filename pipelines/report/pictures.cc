// What the cameras saw about the first impact, for the replay: cuts of frames with the images of
// the markers as numbers.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/base64.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"
#include "tracking/overlay/kept_frames.h"

namespace impactlab::pipelines {
namespace {

using Json = nlohmann::json;
using Eigen::Vector2d;

constexpr std::size_t kMostCameras = 2;
// of one picture: more was not written by this program
constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20;

std::filesystem::path StemOf(const ReportContext& context, std::size_t recording,
                             const std::string& camera) {
  return context.run.markers()->frames /
         (context.run.markers()->recordings[recording].tracks.recording + "_" + camera);
}

// Where the fit has the image of a point less where it was found [px].
std::map<int, DropResidual> ResidualsOf(const ReportContext& context, std::size_t recording) {
  std::map<int, DropResidual> out;
  if (recording >= context.best.drops.size()) return out;
  for (const ImpactBundle& drop : context.best.drops[recording])
    if (drop.usable)
      for (const DropResidual& residual : drop.residuals) out.emplace(residual.point, residual);
  return out;
}

Json PictureJson(const ReportContext& context, std::size_t recording, int camera,
                 const KeptFrames& kept, const std::string& jpeg) {
  const MarkerTracks& tracks = context.run.markers()->recordings[recording].tracks;
  const std::map<int, DropResidual> residuals = ResidualsOf(context, recording);
  std::map<long long, std::vector<int>> points;
  for (std::size_t k = 0; k < tracks.points.size(); ++k)
    if (tracks.points[k].camera == camera && (tracks.points[k].flags & kPredicted) == 0)
      points[tracks.points[k].frame].push_back(static_cast<int>(k));
  const double clock = context.best.correction.clock_rate;
  Json frames = Json::array();
  for (const KeptFrame& frame : kept.frames) {
    Json marks = Json::array();
    std::vector<double> times;
    for (const int k : points[frame.index]) {
      const TrackPoint& p = tracks.points[static_cast<std::size_t>(k)];
      if (p.marker >= static_cast<int>(context.run.markers()->layout.size())) continue;
      times.push_back(p.t);
      const Vector2d found = kept.At(frame, p.q);
      Json mark = {p.marker, Rounded(found.x()), Rounded(found.y())};
      if (const auto fit = residuals.find(k); fit != residuals.end()) {
        const Vector2d there = kept.At(frame, p.q + fit->second.r);
        for (const double v :
             {Rounded(there.x()), Rounded(there.y()), Rounded(fit->second.r.norm(), 2)})
          mark.push_back(v);
      }
      marks.push_back(mark);
    }
    // A rolling shutter takes the markers later than its row 0.
    const double t = times.empty() ? frame.t : Median(times);
    frames.push_back({frame.index, Rounded(t / clock, 9), marks});
  }
  return {{"camera", kept.camera},
          {"columns", kept.columns},
          {"tile", {kept.tile_width, kept.tile_height}},
          {"frames", frames},
          {"jpeg", Base64(jpeg)}};
}

}  // namespace

std::vector<std::string> MakePictures(const ReportContext& context, std::size_t most_bytes) {
  const RunResult& run = context.run;
  if (!run.markers() || run.markers()->frames.empty()) return {};
  const std::vector<MarkerRecording>& recordings = run.markers()->recordings;
  std::vector<std::vector<std::string>> lists(recordings.size());
  std::size_t bytes = 0;
  // One camera of every recording before the second of any.
  for (std::size_t turn = 0; turn < kMostCameras; ++turn)
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      const MarkerTracks& tracks = recordings[i].tracks;
      std::size_t seen = 0;
      for (std::size_t c = 0; c < tracks.cameras.size() && lists[i].size() <= turn; ++c) {
        const int camera = static_cast<int>(c);
        const bool any = std::any_of(tracks.points.begin(), tracks.points.end(),
                                     [&](const TrackPoint& p) { return p.camera == camera; });
        const std::filesystem::path stem = StemOf(context, i, tracks.cameras[c]);
        std::error_code absent;
        if (!any || !std::filesystem::is_regular_file(KeptPicture(stem), absent) || seen++ < turn)
          continue;
        try {
          const Json one = PictureJson(context, i, camera, ReadKeptFrames(stem),
                                       ReadFile(KeptPicture(stem), kMostBytes));
          const std::string text = one.dump(-1, ' ', true, Json::error_handler_t::replace);
          if (bytes + text.size() > most_bytes) break;
          bytes += text.size();
          lists[i].push_back(text);
        } catch (const DataError&) {
          // The page is complete without it.
        }
      }
    }
  std::vector<std::string> out;
  out.reserve(lists.size());
  for (const std::vector<std::string>& list : lists)
    out.push_back(list.empty() ? "" : "[" + JoinNames(list, ",") + "]");
  return out;
}

}  // namespace impactlab::pipelines
