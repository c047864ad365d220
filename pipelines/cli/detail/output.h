#pragma once
// The folder a verb writes into. Private to the pipelines room.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/files/output_folder.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {

// Opens the folder given with --out (OutputFolder) after a look whether it can be written into, and
// says on standard error what was moved aside. With dry_run it is looked at alone, foreign files in
// the way are refused all the same, and the answer is null: the verb ends there.
std::unique_ptr<OutputFolder> OpenOutput(const std::filesystem::path& out,
                                         const std::vector<std::string>& names,
                                         const SharedOptions& shared);

// `work` with the folder open; its exit code. Not called with dry_run.
int WithOutput(const std::filesystem::path& out, const std::vector<std::string>& names,
               const SharedOptions& shared, const std::function<int()>& work);

// `path` as a name in the folder `out`, for files that the user names one by one; empty where it
// lies elsewhere.
std::vector<std::string> NameWithin(const std::filesystem::path& out,
                                    const std::filesystem::path& path);

// The names of a calibration, of followed markers, and of a table for papers, in a folder `prefix`
// that ends in a slash, or none.
std::vector<std::string> CalibrationNames(const std::string& prefix);
std::vector<std::string> TrackingNames(const std::string& prefix);
std::vector<std::string> DiagnosticsNames();
std::vector<std::string> FormNames(const std::string& form);
std::vector<std::string> ValidationFormNames();

}  // namespace impactlab::pipelines
