#pragma once
// Options that mean the same with every verb that has them. Private to the pipelines room.

#include <CLI/CLI.hpp>
#include <filesystem>

#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {

// --out, a folder.
void AddOutFolder(CLI::App& verb, std::filesystem::path& out);
// --threads, 0 for one a core.
void AddThreads(CLI::App& verb, int& threads);
// --force.
void AddForce(CLI::App& verb, bool& force);
// --force-coefficients.
void AddForceCoefficients(CLI::App& verb, bool& force);
// --quiet of a verb with a progress bar.
void AddQuiet(CLI::App& verb, bool& quiet);

// Adds those that the table of verbs says and that `parser`, of the verb, does not have already.
void AddSharedOptions(const Verb& verb, CLI::App* parser, SharedOptions* options);

// Runs a verb as the options say. `run` returns its exit code, and so does this; with dry_run its
// inputs are checked first, and it ends where it would open its folder (OpenOutput).
int RunShared(const Verb& verb, const CLI::App& parser, const SharedOptions& options,
              const Action& run);

}  // namespace impactlab::pipelines
