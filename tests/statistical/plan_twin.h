#pragma once
// A campaign as a plan proposes it, made: every drop released by hand, struck with scatter,
// recorded with noise, fitted and identified. Nothing here knows the plan's covariances.

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "impact/identify/identify.h"
#include "pipelines/plan/detail/filming.h"
#include "pipelines/plan/plan.h"

namespace impactlab::twin {

struct MadeCampaign {
  ImpactModel truth;
  LawFit fit;
  int accepted = 0;
};

inline MadeCampaign MakeCampaign(const ExperimentDesign& plan, const std::vector<int>& counts,
                                 std::mt19937_64& random) {
  MadeCampaign made;
  made.truth.law = plan.law;
  made.truth.mu_k = made.truth.mu_s = plan.mu.Draw(10, random);
  made.truth.e = plan.e.Draw(1, random);
  const pipelines::Scatter scatter{plan.scatter.wrench.sd_tangential,
                                   plan.scatter.wrench.sd_normal,
                                   plan.scatter.wrench.sd_couple,
                                   plan.scatter.sd_mu,
                                   plan.scatter.sd_e,
                                   plan.scatter.wild_share};
  std::vector<ImpactEvent> events;
  int number = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    for (int k = 0; k < counts[c]; ++k) {
      ++number;
      const pipelines::ReleasedDrop drop =
          pipelines::ReleaseDrop(plan, plan.settings[c], made.truth, scatter, random);
      if (!drop.struck()) continue;
      ImpactEvent event;
      if (plan.filmed()) {
        const MarkerTracks tracks = pipelines::FilmDrop(plan, drop, plan.pixel_sd, random);
        const ImpactBundle fit = FitImpactBundle(tracks, plan.rig, plan.markers, plan.body,
                                                 drop.floor, pipelines::FilmFitOptions(plan, drop));
        if (!fit.usable || !fit.event.accepted) continue;
        event = fit.event;
        event.cov = fit.event_cov_noise;
      } else {
        event = FitMotion(pipelines::RecordPoses(plan, drop, random), plan.body, drop.floor,
                          pipelines::PoseFitOptions(plan))
                    .events.front();
        if (!event.accepted) continue;
      }
      event.recording = fmt::format("drop_{:03}", number);
      events.push_back(std::move(event));
    }
  }
  made.accepted = static_cast<int>(events.size());
  IdentifyOptions identify;
  identify.influence = false;
  made.fit = Identify(events, plan.body, ImpactModel{{}, plan.law}, identify);
  return made;
}

// Half width and error of a coefficient over many campaigns, as a plan states them.
struct MadeCoefficient {
  std::vector<double> half, error;
  int campaigns = 0, covered = 0;
  void Add(const ParameterEstimate& p, double truth) {
    ++campaigns;
    const bool two_sided = p.identifiable && std::isfinite(p.upper95) && std::isfinite(p.value);
    if (!two_sided) return;
    half.push_back(0.5 * (p.upper95 - p.lower95));
    error.push_back(std::abs(p.value - truth));
    covered += p.lower95 <= truth && truth <= p.upper95;
  }
};

}  // namespace impactlab::twin
