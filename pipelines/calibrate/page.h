#pragma once
// calibration.html: the certificate of a rig as a self-contained page.

#include <filesystem>

#include "pipelines/calibrate/calibrate.h"

namespace impactlab {

// Reads the pictures of the worst views again to show them; those that cannot be read any more are
// left out. `plot_library` as for WriteReport.
void WriteCalibrationPage(const std::filesystem::path& path, const CalibrationRun& run,
                          const std::filesystem::path& plot_library);

}  // namespace impactlab
