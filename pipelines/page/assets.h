#pragma once
// Style sheets, scripts and templates of the pages, compiled in from pipelines/assets.

#include <string_view>

namespace impactlab::pipelines {

extern const std::string_view kReportStyle, kReportScript;
// Of every page: the choice of light and dark and what paper needs; sorting, filtering and saving
// of tables.
extern const std::string_view kPageScript, kTableScript;
// Of the calibration page: its own rules, and the view of the rig in space.
extern const std::string_view kRigStyle, kRigScript;
// Of the page of a simulation: the animation.
extern const std::string_view kMotionStyle, kMotionScript;
// The page itself, and blocks that recur in pages, for FillTemplate.
extern const std::string_view kPageTemplate, kHeadTemplate, kTileTemplate, kTableTemplate,
    kFigureTemplate;

}  // namespace impactlab::pipelines
