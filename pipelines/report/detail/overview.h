#pragma once
// The head of the report beside its numbers, and the replay. Private to the report.

#include <string>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {

// Why this law is reported first, compared with the one of highest predictive likelihood and the
// one of least error: plain HTML, empty where no laws were compared.
std::string LawChoiceHtml(const ReportContext& context);
// A list with one sentence each on what limits the coefficients.
std::string LimitsHtml(const ReportContext& context);

// The fit of a law, null where it was not fitted.
const LawFit* FitOf(const ReportContext& context, const std::string& law);
// The comparison of two laws of which the one in front is the better by its density; null where
// they were not compared.
const LawPair* PairOf(const ReportContext& context, const std::string& better,
                      const std::string& other);

// The view of motions, with ReplayJson and MakeRecordingData in the page; `pictured` recordings
// have frames of their videos there.
Section ReplaySection(const ReportContext& context, std::size_t pictured);
// What the replay shows beside the poses of the recordings: body, markers, cameras and floor.
std::string ReplayJson(const ReportContext& context);

}  // namespace impactlab::pipelines
