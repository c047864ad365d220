#pragma once
// Which files are the recordings of an experiment, and which are not: tables that an earlier run
// left where they match as well.

#include <filesystem>
#include <string>
#include <vector>

namespace impactlab {
struct Experiment;
}  // namespace impactlab

namespace impactlab::pipelines {

struct RecordingFiles {
  std::vector<std::filesystem::path> files;  // in natural order; never empty
  std::string note;                          // what was left out, in words; empty where nothing was
};

// Files that `pattern` names, a relative one from `base`. Of those in the run folder `out` the
// tables of an earlier run are left out. DataError, begun by `where`, when none is left;
// ConfigError when a run into `out`, which writes poses or does not, would write over one of them.
RecordingFiles FindRecordings(const std::string& pattern, const std::filesystem::path& base,
                              const std::filesystem::path& out, bool writes_poses,
                              const std::string& where);

// Those of an experiment for a run into `out`, or those that the command line names instead
// (a glob from the working folder; empty: none).
RecordingFiles RecordingsOf(const Experiment& experiment, const std::string& named,
                            const std::filesystem::path& out);

// Whether a run writes a table of this name into its folder, with whatever options.
bool IsRunTable(const std::string& name);

}  // namespace impactlab::pipelines
