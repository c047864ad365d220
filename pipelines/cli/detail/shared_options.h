#pragma once
// Options that mean the same with every verb that has them: --json, --quiet, --dry-run. Private to
// the pipelines room.

#include <CLI/CLI.hpp>
#include <functional>

namespace impactlab::pipelines {

struct SharedOptions {
  bool json = false;     // one JSON object on standard output instead of text
  bool quiet = false;    // no text on standard output
  bool dry_run = false;  // look at the files, write nothing
};

// Gives every verb of the app those that make sense with it and that it does not have already.
void AddSharedOptions(CLI::App* app, SharedOptions* options);

// Runs a verb as the options say. `run` returns its exit code, and so does this; with dry_run `run`
// is not called.
int RunShared(const CLI::App& verb, const SharedOptions& options, const std::function<int()>& run);

}  // namespace impactlab::pipelines
