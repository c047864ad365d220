#pragma once
// What a plan's figures mean for the apparatus. Private to the pipelines room.

#include <string>
#include <vector>

#include "pipelines/plan/plan.h"

namespace impactlab::pipelines {

// Frames, field of view, blur, size of markers, depth, accuracy of states, over the settings that
// get drops.
std::vector<PlanCheck> JudgeCameras(const ExperimentDesign& plan, const PlanResult& result);
// Sentences: what rules the intervals, and what no number of drops will do.
std::vector<std::string> JudgeLimits(const ExperimentDesign& plan, const PlanResult& result);

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
