// impactlab: from recordings of impacts to friction, restitution and a validation table; from
// pictures of a board to a camera rig.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"

namespace {

using namespace impactlab;

std::string Quoted(const std::vector<std::string>& words) {
  std::string line = "impactlab";
  for (const std::string& word : words) line += " " + pipelines::ShellWord(word);
  return line;
}

bool json_wanted = false;  // whether a script reads standard output

int Fail(int code, const char* what) {
  // Not fmt::print, which throws where nobody reads: this is the last that can be said.
  std::fputs(fmt::format("impactlab: {}\n", what).c_str(), stderr);
  if (json_wanted) std::fputs(pipelines::ErrorAnswerJson(code, what).c_str(), stdout);
  return code;
}

// A verb by its name of before: with the folder it had then, where none is given.
void TakeFormerName(std::vector<std::string>* words) {
  if (words->empty()) return;
  for (const pipelines::FormerVerb& one : pipelines::FormerVerbs()) {
    if (words->front() != one.former) continue;
    fmt::print(stderr, "impactlab: note: the verb {} is now called {}\n", one.former, one.name);
    words->front() = one.name;
    const bool has_out = std::any_of(words->begin(), words->end(), [](const std::string& word) {
      return word == "--out" || word.starts_with("--out=");
    });
    if (!has_out) words->insert(words->end(), {"--out", one.out});
  }
}

int Main(std::vector<std::string> words) {
  CLI::App app(
      "Experimental impact mechanics: recordings of drops and throws in, friction, restitution and "
      "a validation table out.",
      "impactlab");
  app.formatter(std::make_shared<pipelines::HelpFormatter>());
  app.set_version_flag("--version", "impactlab " + ProgramVersion());
  app.require_subcommand(1);
  pipelines::Invocation call;
  call.command = Quoted(words);
  TakeFormerName(&words);
  int code = 0;
  for (const pipelines::Verb& verb : pipelines::Verbs()) {
    CLI::App* const parser = app.add_subcommand(verb.name, verb.help);
    const pipelines::Action action = verb.add(*parser, call);
    pipelines::AddSharedOptions(verb, parser, &call.shared);
    parser->footer("Examples:\n" + pipelines::ExamplesOf(verb));
    // An empty name is no wish to write beside whatever lies in the current folder.
    if (CLI::Option* out = parser->get_option_no_throw("--out"))
      out->check([](const std::string& name) {
        return name.empty() ? "found an empty name, allowed a folder or file" : std::string();
      });
    parser->callback([&code, &call, &verb, parser, action] {
      code = pipelines::RunShared(verb, *parser, call.shared, action);
    });
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Fail(kUsage, pipelines::ParseFault(app, words, error.what()).c_str());
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  impactlab::pipelines::CancelOnSignals();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  json_wanted = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--json" || word.starts_with("--json=");
  });
  try {
    const int code = Main(words);
    if (std::fflush(stdout) != 0) return Fail(kUnusable, "standard output cannot be written");
    return code;
  } catch (const ConfigError& error) {
    return Fail(kUsage, error.what());
  } catch (const DataError& error) {
    return Fail(kUnusable, error.what());
  } catch (const OutputError& error) {
    return Fail(kUnusable, error.what());
  } catch (const Interrupted& error) {
    return Fail(kInterrupted, error.what());
  } catch (const std::bad_alloc&) {
    return Fail(kUnusable, "out of memory");
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return Fail(kUnusable, "standard output cannot be written");
    return Fail(kInternal, error.what());
  }
}
