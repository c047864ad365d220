#pragma once
// Style sheet and script of the report, compiled in from pipelines/assets. Private to the report.

#include <string_view>

namespace impactlab::internal {

extern const std::string_view kReportStyle, kReportScript;

}  // namespace impactlab::internal
