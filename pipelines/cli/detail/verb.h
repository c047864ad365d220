#pragma once
// A verb of the program as the table in verbs.cc lists it. Its options and what it does stand in a
// source of its own. Private to the pipelines room.

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace impactlab::pipelines {

// Options that mean the same with every verb that has them.
struct SharedOptions {
  bool json = false;        // one JSON object on standard output instead of text
  bool quiet = false;       // no text on standard output
  bool dry_run = false;     // look at the files, write nothing
  bool move_aside = false;  // rename foreign files of the folder that is written
};

// One call of the program. Actions keep a reference to it.
struct Invocation {
  std::string command;  // command line as typed, for run.yaml
  SharedOptions shared;
};

// What a verb does once the command line is read; its exit code. Errors are thrown.
using Action = std::function<int()>;

// Which of the shared options a verb has beside its own.
enum class Shares {
  kNothing,
  kQuiet,         // --quiet
  kJson,          // and --json, answered with the files of its folder
  kJsonAndDryRun  // and --dry-run: its inputs are named by configuration files
};

struct Verb {
  const char* name;
  const char* help;  // one line
  // Adds options and arguments to the command line, and returns what reads them.
  Action (*add)(CLI::App& verb, const Invocation& call);
  std::vector<const char*> examples;
  Shares shares = Shares::kNothing;
  bool folder = false;      // writes a folder: has --move-aside
  const char* result = "";  // JSON file in its folder that holds the figures; empty: none
};

// All verbs in the order of the help.
std::span<const Verb> Verbs();

// A verb's name of before, which is still understood.
struct FormerVerb {
  const char* former;
  const char* name;
  const char* out;  // its default folder
};
std::span<const FormerVerb> FormerVerbs();

Action AddRun(CLI::App& verb, const Invocation& call);
Action AddReconstruct(CLI::App& verb, const Invocation& call);
Action AddIdentify(CLI::App& verb, const Invocation& call);
Action AddPredict(CLI::App& verb, const Invocation& call);
Action AddValidate(CLI::App& verb, const Invocation& call);
Action AddLiterature(CLI::App& verb, const Invocation& call);
Action AddCoefficient(CLI::App& verb, const Invocation& call);
Action AddSolve(CLI::App& verb, const Invocation& call);
Action AddSynth(CLI::App& verb, const Invocation& call);
Action AddMap(CLI::App& verb, const Invocation& call);
Action AddSimulate(CLI::App& verb, const Invocation& call);
Action AddCampaign(CLI::App& verb, const Invocation& call);
Action AddDiagram(CLI::App& verb, const Invocation& call);
Action AddDoctor(CLI::App& verb, const Invocation& call);
Action AddConvert(CLI::App& verb, const Invocation& call);
Action AddPlan(CLI::App& verb, const Invocation& call);
Action AddCalibrate(CLI::App& verb, const Invocation& call);
Action AddTrack(CLI::App& verb, const Invocation& call);
Action AddImport(CLI::App& verb, const Invocation& call);
Action AddExport(CLI::App& verb, const Invocation& call);
Action AddBoard(CLI::App& verb, const Invocation& call);
Action AddNew(CLI::App& verb, const Invocation& call);
Action AddCheck(CLI::App& verb, const Invocation& call);
Action AddReference(CLI::App& verb, const Invocation& call);
Action AddCompletion(CLI::App& verb, const Invocation& call);

}  // namespace impactlab::pipelines
