#pragma once
// What a verb says to scripts, and what it would do. Private to the pipelines room.

#include <filesystem>
#include <map>
#include <string>

#include "data/cache/stage_cache.h"
#include "pipelines/cli/commands.h"
#include "pipelines/run/run.h"

namespace impactlab::pipelines {

// One JSON object, schema impactlab.answer/1 (data/README), ending in a newline.
std::string AnswerJson(const std::string& verb, const RunResult& run,
                       const std::filesystem::path& out,
                       const std::map<std::string, StageCount>& stages, bool report);

// The same of a verb that leaves a folder: its files, and as "result" what its JSON file `result`
// holds (empty: null).
std::string FolderAnswerJson(const std::string& verb, const std::filesystem::path& out,
                             const std::string& result, int code, double seconds);

// What failed, for a script that asked for JSON: schema impactlab.error/1 with the exit code and
// the line of standard error.
std::string ErrorAnswerJson(int code, const std::string& what);

// Checks every file of a run and prints what would be done, with what an earlier run in the folder
// kept. The exit code: 3 where a file that is needed cannot be used. Nothing is written.
int DryRun(const RunArguments& arguments);

}  // namespace impactlab::pipelines
