#include "pipelines/run/bundle_fits.h"

#include <algorithm>

#include "data/base/core_seconds.h"
#include "data/base/parallel.h"
#include "data/cache/stage_cache.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr int kRounds = 4;  // of fits and learning
// a step below so many of the layout's standard deviations changes nothing [1]
constexpr double kStill = 0.2;
// in the first round, before the layout is learned, residuals may be so many times their noise
constexpr double kWideNoise = 20;

struct RecordingFits {
  std::vector<ImpactBundle> drops;
  double seconds = 0;  // of one core
};

std::vector<std::vector<ImpactBundle>> FitRound(const Experiment& experiment,
                                                const MarkerRecordings& markers, const Plane& floor,
                                                const std::string& label, const RunContext& context,
                                                std::vector<double>* seconds) {
  Progress progress(label, static_cast<std::int64_t>(markers.recordings.size()), "recordings",
                    context.Shown());
  std::vector<std::vector<ImpactBundle>> drops(markers.recordings.size());
  seconds->assign(drops.size(), 0);
  ForEachIndex(drops.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    const MarkerRecording& recording = markers.recordings[i];
    if (recording.fault.empty()) {
      const ImpactBundleOptions options = BundleOptions(experiment, markers, i);
      const auto fit = [&] {
        const double start = CoreSeconds();
        RecordingFits fits{FitImpactBundles(recording.tracks, markers.rig, markers.layout,
                                            experiment.body, floor, options)};
        fits.seconds = CoreSeconds() - start;
        return fits;
      };
      RecordingFits fits =
          StageResult<RecordingFits>(context.cache, "drops", fit, recording.tracks, markers.rig,
                                     markers.layout, experiment.body, floor, options);
      drops[i] = std::move(fits.drops);
      (*seconds)[i] = fits.seconds / static_cast<double>(std::max<std::size_t>(1, drops[i].size()));
    }
    progress.Advance();
  });
  return drops;
}

}  // namespace

MarkerRecordings WithLayout(MarkerRecordings markers, const LearnedLayout& layout) {
  markers.layout = layout.markers;
  markers.layout_knowledge = layout.knowledge;
  return markers;
}

namespace {

TrackPoses PosesOnOneClock(const MarkerRecordings& markers, const MarkerTracks& tracks,
                           const std::vector<ImpactBundle>& drops) {
  TrackPosesOptions options;
  options.offset.assign(tracks.cameras.size(), 0);
  for (std::size_t c = 0; c < options.offset.size(); ++c) {
    std::vector<double> found;
    for (const ImpactBundle& drop : drops)
      if (drop.usable && c < drop.offset.size()) found.push_back(drop.offset[c]);
    if (!found.empty()) options.offset[c] = Median(found);
  }
  for (const ImpactBundle& drop : drops)
    if (drop.usable) options.impacts.push_back(drop.event.t);
  options.exposure = markers.exposure;
  return PosesFromTracks(tracks, markers.rig, markers.layout, options);
}

}  // namespace

std::vector<TimedPoses> PosesOfAll(const MarkerRecordings& markers,
                                   const std::vector<std::vector<ImpactBundle>>& drops,
                                   const RunContext& context) {
  std::vector<TimedPoses> out(markers.recordings.size());
  ForEachIndex(out.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    const MarkerRecording& recording = markers.recordings[i];
    const double start = CoreSeconds();
    if (recording.fault.empty())
      out[i].poses = PosesOnOneClock(markers, recording.tracks, drops[i]);
    out[i].poses.recording.name = recording.tracks.recording;
    out[i].seconds = CoreSeconds() - start;
  });
  return out;
}

BundleFits FitBundles(const Experiment& experiment, const MarkerRecordings& markers,
                      const Plane& floor, const std::string& label, const RunContext& context) {
  BundleFits out;
  const std::vector<BodyMarker>& given = markers.layout;
  const double sd = experiment.markers->plan.identity.layout_sd;
  out.layout.markers = given;
  out.layout.prior_sd = sd;
  for (const BodyMarker& marker : given) {
    out.layout.given.push_back(marker.p_BM);
    out.layout.sd.push_back(Eigen::Vector3d::Constant(sd));
  }
  const auto n = static_cast<Eigen::Index>(3 * given.size());
  if (sd > 0) out.layout.knowledge.cov = sd * sd * Eigen::MatrixXd::Identity(n, n);
  out.drops =
      FitRound(experiment, WithLayout(markers, out.layout), floor, label, context, &out.seconds);
  if (!experiment.learn_layout || experiment.bundle.layout_sd > 0 || !(sd > 0)) return out;
  while (out.rounds < kRounds) {
    std::vector<const ImpactBundle*> fits;
    for (const std::vector<ImpactBundle>& drops : out.drops)
      for (const ImpactBundle& fit : drops) fits.push_back(&fit);
    const double widest = out.rounds == 1 ? kWideNoise : experiment.bundle.max_noise_scale;
    LearnedLayout next = LearnLayout(fits, markers.rig, given, out.layout.markers, sd, widest);
    if (next.impacts == 0) break;
    if (out.rounds > 1 && next.step < kStill) break;
    out.layout = std::move(next);
    out.drops = FitRound(experiment, WithLayout(markers, out.layout), floor,
                         label + " with the learned layout", context, &out.seconds);
    ++out.rounds;
  }
  return out;
}

}  // namespace impactlab
