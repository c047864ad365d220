#pragma once
// What the command line says of itself: help of 80 columns with worked examples, and completion for
// shells. Private to the pipelines room.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {

// Words of `text` in lines of at most 80 columns; the first begins at column `at`, the others at
// `indent`.
std::string Wrapped(const std::string& text, std::size_t at, std::size_t indent);

// A word as a shell takes it: in quotes where it has to be.
std::string ShellWord(const std::string& word);

// Help text in which no line is wider than 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
};

// Worked examples of a verb, one a line, ending in a newline.
std::string ExamplesOf(const Verb& verb);

// For the value of an option: a whole number of the interval, else "found X, allowed a whole number
// from A to B".
CLI::Validator WholeNumber(long long least, long long most);

// One line about a command line, without the name of the program, that was not understood: the verb
// or option that was probably meant, else `what` of the parser.
std::string ParseFault(const CLI::App& app, const std::vector<std::string>& words,
                       const std::string& what);

// A completion script made of the app itself. `shell`: bash, zsh or fish; ConfigError else.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace impactlab::pipelines
