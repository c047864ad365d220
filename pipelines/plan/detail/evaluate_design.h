#pragma once
// Checks of the apparatus by the figures of a plan. Private to the pipelines room.

#include <string>
#include <vector>

#include "pipelines/plan/plan.h"

namespace impactlab::pipelines {

// Frames, field of view, blur, size of markers, depth, accuracy of states, over the settings that
// get drops.
std::vector<PlanCheck> CheckCameras(const ExperimentDesign& plan, const PlanResult& result);
// Sentences: what limits the intervals, and what no number of drops can reach.
std::vector<std::string> DescribeLimits(const ExperimentDesign& plan, const PlanResult& result);

// "e*" and the like for terminals.
std::string CoefficientWord(RestitutionLaw law);
// Settings with drops, most first.
std::vector<std::size_t> Chosen(const PlanResult& result);
// "3 drops from 0.1 m, slope 0.35 rad, lean 0.6 rad"
std::string SettingWords(const PlanSetting& setting);
// Share of impacts that end sliding, sticking after slip, and sticking from the start of their
// stop: by the last digit of the case.
double SlidingShare(const std::array<double, 7>& cases);

}  // namespace impactlab::pipelines
