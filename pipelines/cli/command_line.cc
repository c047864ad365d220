#include "pipelines/cli/detail/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/cli/first_steps.h"

namespace impactlab::pipelines {
namespace {

constexpr std::size_t kWidth = 80, kColumn = 24;

std::string Entry(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  if (text.empty()) return out + "\n";
  out += out.size() + 1 > kColumn ? "\n" + std::string(kColumn, ' ')
                                  : std::string(kColumn - out.size(), ' ');
  return out + Wrapped(text, kColumn, kColumn) + "\n";
}

struct Option {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
};

std::vector<Option> OptionsOf(const CLI::App& app) {
  std::vector<Option> out;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) continue;
    Option one;
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    one.description = option->get_description();
    one.takes_value = option->get_items_expected_max() > 0;
    out.push_back(std::move(one));
  }
  return out;
}

std::string WordsOf(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options)
    for (const std::string& name : option.names) out += (out.empty() ? "" : " ") + name;
  return out;
}

// Fixed words that a verb's first argument may be.
std::string FirstWords(const std::string& verb) {
  std::vector<std::string> words;
  if (verb == "completion") words = {"bash", "zsh", "fish"};
  if (verb == "new")
    for (const NewKind& kind : NewKinds()) words.push_back(kind.name);
  return JoinNames(words, " ");
}

std::string BashScript(const CLI::App& app) {
  std::string verbs, cases;
  for (const CLI::App* verb : app.get_subcommands({})) {
    verbs += (verbs.empty() ? "" : " ") + verb->get_name();
    cases += fmt::format("    {}) options=\"{}\"; words=\"{}\" ;;\n", verb->get_name(),
                         WordsOf(OptionsOf(*verb)), FirstWords(verb->get_name()));
  }
  return fmt::format(R"(_impactlab() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" options="" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _impactlab impactlab
)",
                     verbs, WordsOf(OptionsOf(app)), cases);
}

std::string FishQuote(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string FishScript(const CLI::App& app) {
  const auto options = [](const CLI::App& of, const std::string& when) {
    std::string out;
    for (const Option& option : OptionsOf(of)) {
      out += "complete -c impactlab -n '" + when + "'";
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += (option.takes_value ? " -r" : "") + std::string(" -d ") +
             FishQuote(option.description) + "\n";
    }
    return out;
  };
  std::string out = options(app, "__fish_use_subcommand");
  for (const CLI::App* verb : app.get_subcommands({})) {
    const std::string& name = verb->get_name();
    out += fmt::format("complete -c impactlab -f -n '__fish_use_subcommand' -a {} -d {}\n", name,
                       FishQuote(verb->get_description()));
    if (const std::string words = FirstWords(name); !words.empty())
      out += fmt::format("complete -c impactlab -f -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                         name, words);
    out += options(*verb, "__fish_seen_subcommand_from " + name);
  }
  return out;
}

}  // namespace

std::string Wrapped(const std::string& text, std::size_t at, std::size_t indent) {
  std::string out;
  std::size_t column = at;
  bool first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    out += (first ? "" : " ") + word;
    column += (first ? 0 : 1) + word.size();
    first = false;
  }
  return out;
}

std::string ShellWord(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t'\"*?[]$\\()&;|<>`#~!") == std::string::npos)
    return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return Wrapped(app->get_description(), 0, 0) + "\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string text = "Usage: " + name;
  if (app->get_parent() == nullptr) return text + " VERB [OPTIONS]\n";
  text += " [OPTIONS]";
  for (const CLI::Option* option :
       app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
    text += " " + make_option_usage(option);
  return Wrapped(text, 0, 9) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  name = name.substr(0, name.find('{'));  // of a flag that says no
  std::string text = make_option_desc(option);
  if (!is_positional && option->get_items_expected_max() > 0)
    name += option->get_items_expected_max() > 1 ? " X ..." : " X";
  if (!is_positional && option->get_required()) text += " (required)";
  if (!option->get_default_str().empty()) text += fmt::format(" [{}]", option->get_default_str());
  return Entry(name, text);
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  return Entry(verb->get_name(), verb->get_description());
}

std::string ExamplesOf(const Verb& verb) {
  std::string out;
  for (const char* line : verb.examples) out += fmt::format("  {}\n", line);
  return out;
}

CLI::Validator WholeNumber(long long least, long long most) {
  return {[least, most](std::string& text) {
            long long value = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = error == std::errc() && end == text.data() + text.size();
            if (whole && value >= least && value <= most) return std::string();
            return fmt::format("found {}, allowed a whole number from {} to {}", Excerpt(text),
                               least, most);
          },
          ""};
}

std::string ParseFault(const CLI::App& app, const std::vector<std::string>& words,
                       const std::string& what) {
  if (words.empty()) return "no verb; impactlab --help shows them";
  const CLI::App* verb = nullptr;
  std::vector<std::string> verbs;
  for (const CLI::App* one : app.get_subcommands({})) {
    verbs.push_back(one->get_name());
    if (one->get_name() == words[0]) verb = one;
  }
  // `dashes` are before the word and every name; they say nothing of which name was meant.
  const auto unknown = [](const std::string& of, const std::string& word, const std::string& dashes,
                          const std::vector<std::string>& names, const std::string& help) {
    const std::string nearest = NearestName(word.substr(dashes.size()), names);
    return fmt::format("{}found {}{}; {} shows what is allowed", of, Excerpt(word),
                       nearest.empty() ? "" : ", nearest is " + dashes + nearest, help);
  };
  const bool is_option = words[0].starts_with('-');
  if (verb == nullptr && !is_option)
    return unknown("verb: ", words[0], "", verbs, "impactlab --help");
  const std::string of = verb == nullptr ? "" : verb->get_name() + ": ";
  const std::string help =
      "impactlab " + (verb == nullptr ? "" : verb->get_name() + " ") + "--help";
  std::vector<std::string> names;
  for (const Option& option : OptionsOf(verb == nullptr ? app : *verb))
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name.substr(2));
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("--") && name.size() > 2 &&
        std::find(names.begin(), names.end(), name.substr(2)) == names.end())
      return unknown(of, name, "--", names, help);
  }
  return of + what + "; see " + help;
}

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return BashScript(app);
  if (shell == "zsh")
    return "#compdef impactlab\nautoload -U +X bashcompinit && bashcompinit\n" + BashScript(app);
  if (shell == "fish") return FishScript(app);
  throw ConfigError(fmt::format("completion: found {}, allowed bash, zsh, fish", Excerpt(shell)));
}

Action AddCompletion(CLI::App& verb, const Invocation&) {
  const auto shell = std::make_shared<std::string>();
  verb.add_option("shell", *shell, "bash, zsh or fish")->required();
  return [shell, app = verb.get_parent()] {
    fmt::print("{}", CompletionScript(*app, *shell));
    return 0;
  };
}

}  // namespace impactlab::pipelines
