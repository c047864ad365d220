#pragma once
// Verbs of the program that others call as well: Python, campaigns. The other verbs are known to
// the table in verbs.cc alone.

#include <filesystem>
#include <string>
#include <vector>

namespace impactlab {

class Cancellation;

struct RunArguments {
  std::filesystem::path experiment;
  std::string recordings;  // glob that replaces the experiment's; relative to the working folder
  std::filesystem::path out = "out";
  int threads = 0;
  bool report = true;
  bool tables = false;  // validation_table.csv, .md, .tex, .html
  bool quiet = false;
  int bootstrap = -1;  // replaces the experiment's; -1 keeps it
  // draws for motion past the first impact (StudyBounces); -1: it is not followed
  int bounces = -1;
  std::vector<std::string> require;  // "accepted>=40", "mu_k.half_width<=0.03", ...
  std::string command;               // command line, for run.yaml
  bool force = false;                // stages that an earlier run finished are done again
  bool force_coefficients = false;   // determined although the data contradict a rigid body
  bool json = false;                 // one JSON object on the terminal instead of text
  bool dry_run = false;              // check every file and say what would be done
  bool move_aside = false;           // rename foreign files of the folder that are in the way
};

// Tracks of other programs.
struct ImportArguments {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out = "tracks.csv";
  std::filesystem::path corrections;  // empty: none
  std::string format;                 // of the files; empty: recognised
  std::vector<std::string> cameras;   // names, in the order of the file's cameras
  double rate = 0;                    // of files that count frames [1/s]
  int height = 0;                     // of the pictures, for files that count rows from below [px]
  bool rows_from_top = false;         // DLTdv from version 7 on
  double sd = 0.5;                    // of a point, where the file does not say [px]
};

// Each returns the exit code: 0 done, 1 a requirement is not met, 3 nothing usable or coefficients
// withheld. Errors are thrown. `cancellation` ends a run that another thread or a signal handler
// cancels.
int RunCommand(const RunArguments& arguments, const Cancellation& cancellation);
int ReconstructCommand(const RunArguments& arguments, const Cancellation& cancellation);
int ImportCommand(const ImportArguments& arguments);

// ConfigError where the folder of a `run` holds foreign files in the way (OutputFolder).
void CheckRunFolder(const RunArguments& arguments);

}  // namespace impactlab
