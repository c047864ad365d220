#include "pipelines/cli/detail/shared_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "data/base/error.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/first_steps.h"

namespace impactlab::pipelines {
namespace {

// Sends standard output to nowhere while it lives.
class Muted {
 public:
  Muted() {
    std::fflush(stdout);
    saved_ = ::dup(STDOUT_FILENO);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved_ < 0 || nowhere < 0) throw OutputError("standard output cannot be turned away");
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~Muted() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;

 private:
  int saved_ = -1;
};

std::filesystem::path OutOf(const CLI::App& verb) {
  const CLI::Option* out = verb.get_option("--out");
  return out->count() > 0 ? out->as<std::string>() : out->get_default_str();
}

// `run` ends where it would begin to write.
int DryRunOf(const CLI::App& verb, bool json, const Action& run) {
  CheckArguments check;
  check.json = json;
  for (const CLI::Option* option :
       verb.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    for (const std::string& file : option->results()) check.paths.emplace_back(file);
  int code = CheckCommand(check);
  if (code != 0) return code;
  {
    const Muted muted;
    code = run();
  }
  if (!json) fmt::print("would be written to {}\n", OutOf(verb).string());
  return code;
}

}  // namespace

void AddOutFolder(CLI::App& verb, std::filesystem::path& out) {
  verb.add_option("--out", out, "folder to write")->capture_default_str();
}

void AddThreads(CLI::App& verb, int& threads) {
  verb.add_option("--threads", threads, "threads; 0: one a core")
      ->check(WholeNumber(0, 256))
      ->capture_default_str();
}

void AddForce(CLI::App& verb, bool& force) {
  verb.add_flag("--force", force,
                "do stages again that an earlier run finished with the same inputs");
}

void AddForceCoefficients(CLI::App& verb, bool& force) {
  verb.add_flag("--force-coefficients", force,
                "determine coefficients of data that contradict a rigid body, too");
}

void AddQuiet(CLI::App& verb, bool& quiet) {
  verb.add_flag("--quiet", quiet, "no progress, no summary");
}

void AddSharedOptions(const Verb& verb, CLI::App* parser, SharedOptions* options) {
  const auto add = [&](Shares least, const char* name, bool& flag, const char* what) {
    if (verb.shares >= least && parser->get_option_no_throw(name) == nullptr)
      parser->add_flag(name, flag, what);
  };
  add(Shares::kQuiet, "--quiet", options->quiet, "nothing on standard output");
  add(Shares::kJson, "--json", options->json, "one JSON object on standard output instead of text");
  add(Shares::kJsonAndDryRun, "--dry-run", options->dry_run,
      "look at every file as `impactlab check` does, and for files of others in the folder; "
      "nothing "
      "is written");
  if (verb.folder)
    parser->add_flag("--move-aside", options->move_aside,
                     "rename files of others that are in the way in the folder to NAME.aside");
}

int RunShared(const Verb& verb, const CLI::App& parser, const SharedOptions& options,
              const Action& run) {
  if (verb.shares < Shares::kJson || (!options.json && !options.dry_run)) {
    // A verb with JSON of its own: who asks for it wants it, and no other text.
    const CLI::Option* json = parser.get_option_no_throw("--json");
    if (!options.quiet || (json != nullptr && json->count() > 0)) return run();
    const Muted muted;
    return run();
  }
  if (options.dry_run) return DryRunOf(parser, options.json, run);
  const auto start = std::chrono::steady_clock::now();
  int code = 0;
  {
    const Muted muted;
    code = run();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}", FolderAnswerJson(verb.name, OutOf(parser), verb.result, code, seconds));
  return code;
}

}  // namespace impactlab::pipelines
