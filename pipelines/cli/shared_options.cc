#include "pipelines/cli/detail/shared_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/first_steps.h"

namespace impactlab::pipelines {
namespace {

struct Verb {
  const char* name;
  const char* result;  // JSON file in its folder that holds the figures; empty: none
  bool dry_run;        // its inputs are named by configuration files
};
constexpr std::array kVerbs = {Verb{"identify", "fit.json", false},
                               Verb{"validate", "", false},
                               Verb{"audit", "", true},
                               Verb{"coefficient", "", true},
                               Verb{"synth", "", false},
                               Verb{"map", "", true},
                               Verb{"simulate", "summary.json", true},
                               Verb{"campaign", "", true},
                               Verb{"diagram", "", true},
                               Verb{"plan", "plan.json", true},
                               Verb{"track", "tracking.json", true},
                               Verb{"calibrate", "calibration.json", true}};
constexpr std::array kOnlyQuiet = {"solve",   "import", "export", "board",
                                   "predict", "check",  "doctor", "convert"};

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

const Verb* Find(const std::string& name) {
  const auto found = std::find_if(kVerbs.begin(), kVerbs.end(),
                                  [&](const Verb& verb) { return name == verb.name; });
  return found == kVerbs.end() ? nullptr : &*found;
}

std::filesystem::path OutOf(const CLI::App& verb) {
  const CLI::Option* out = verb.get_option("--out");
  return out->count() > 0 ? out->as<std::string>() : out->get_default_str();
}

int DryRunOf(const CLI::App& verb, bool json) {
  CheckArguments check;
  check.json = json;
  for (const CLI::Option* option :
       verb.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    for (const std::string& file : option->results()) check.paths.emplace_back(file);
  const int code = CheckCommand(check);
  if (!json && code == 0) fmt::print("would be written to {}\n", OutOf(verb).string());
  return code;
}

}  // namespace

void AddSharedOptions(CLI::App* app, SharedOptions* options) {
  const auto add = [](CLI::App* verb, const char* name, bool& flag, const char* what) {
    if (verb->get_option_no_throw(name) == nullptr) verb->add_flag(name, flag, what);
  };
  for (CLI::App* verb : app->get_subcommands({})) {
    const Verb* known = Find(verb->get_name());
    if (known == nullptr &&
        std::find(kOnlyQuiet.begin(), kOnlyQuiet.end(), verb->get_name()) == kOnlyQuiet.end())
      continue;
    add(verb, "--quiet", options->quiet, "nothing on standard output");
    if (known == nullptr) continue;
    add(verb, "--json", options->json, "one JSON object on standard output instead of text");
    if (known->dry_run)
      add(verb, "--dry-run", options->dry_run,
          "look at every file as `impactlab check` does; nothing is written");
  }
}

int RunShared(const CLI::App& verb, const SharedOptions& options, const std::function<int()>& run) {
  const Verb* known = Find(verb.get_name());
  if (known == nullptr || (!options.json && !options.dry_run)) {
    // A verb with JSON of its own: who asks for it wants it, and no other text.
    const CLI::Option* json = verb.get_option_no_throw("--json");
    if (!options.quiet || (json != nullptr && json->count() > 0)) return run();
    const Muted muted;
    return run();
  }
  if (options.dry_run) return DryRunOf(verb, options.json);
  const auto start = std::chrono::steady_clock::now();
  int code = 0;
  {
    const Muted muted;
    code = run();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}", FolderAnswerJson(verb.get_name(), OutOf(verb), known->result, code, seconds));
  return code;
}

}  // namespace impactlab::pipelines
