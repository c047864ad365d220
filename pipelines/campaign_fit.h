#pragma once
// All impacts of all recordings of marker images: every one by its bundle fit, and the layout of the markers by all of them together.

#include <string>
#include <vector>

#include "data/progress.h"
#include "pipelines/experiment.h"
#include "pipelines/marker_recordings.h"
#include "reconstruction/layout_learn.h"

namespace impactlab {

struct CampaignFit {
  std::vector<std::vector<DropFit>> drops;  // by recording
  LearnedLayout layout;                     // as given where it was not learned (impacts = 0)
  int rounds = 1;                           // passes over all recordings
};

// `label` names the work where progress is `shown`.
CampaignFit FitCampaign(const Experiment& experiment, const MarkerRecordings& markers, const Plane& floor, int threads,
                        const std::string& label, const ProgressOptions& shown);

// The same recordings seen with the layout of a campaign.
MarkerRecordings WithLayout(MarkerRecordings markers, const LearnedLayout& layout);

}  // namespace impactlab
