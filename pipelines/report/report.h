#pragma once
// A self-contained HTML report of a run: interactive plots where the plotting library was installed
// at build time, static SVG otherwise.

#include <filesystem>
#include <string>

#include "pipelines/run/run.h"

namespace impactlab {

// Writes report.html, and of a run with hundreds of recordings scripts with what is drawn into
// report_parts beside it. `plot_library` is the path of the plotting library's JavaScript, inlined
// into the page; empty or absent: static SVG only.
void WriteReport(const std::filesystem::path& path, const RunResult& run,
                 const std::filesystem::path& plot_library);

}  // namespace impactlab
