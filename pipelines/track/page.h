#pragma once
// tracking.html, a self-contained page: what was tracked, its uncertainty, and pictures.

#include <filesystem>

#include "pipelines/track/track.h"

namespace impactlab {

// Draws the recordings in run.shown. `sheets`: folder with the pictures NAME_CAMERA.png, those that
// are not there are left out. `plot_library` as for WriteReport.
void WriteTrackingPage(const std::filesystem::path& path, const TrackRun& run,
                       const std::filesystem::path& sheets,
                       const std::filesystem::path& plot_library);

}  // namespace impactlab
