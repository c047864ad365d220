#include "pipelines/cli/detail/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
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

std::string ExamplesOf(const std::string& verb) {
  static const std::map<std::string, std::vector<const char*>> kExamples = {
      {"run",
       {"impactlab run experiment.yaml --out out/today",
        "impactlab run experiment.yaml --recordings 'drops/*.csv' --out out/today",
        "impactlab run experiment.yaml --dry-run",
        "impactlab run experiment.yaml --json --require 'accepted>=40'"}},
      {"reconstruct",
       {"impactlab reconstruct experiment.yaml --out out/events",
        "impactlab reconstruct experiment.yaml --recordings 'drops/*.csv'"}},
      {"identify",
       {"impactlab identify experiment.yaml --events out/events.csv --out out/fit",
        "impactlab identify experiment.yaml --events table_of_states.csv"}},
      {"predict",
       {"impactlab predict system.yaml",
        "impactlab predict --v-minus-m-per-s 0.93 -1.45 --a-per-kg 3.07 -1.39 1.93",
        "impactlab predict --states states.csv --e 0.5 --mu-k 0.2 --json"}},
      {"validate",
       {"impactlab validate experiment.yaml --events out/events.csv --fit out/fit.json",
        "impactlab validate experiment.yaml --events e.csv --fit f.json --tables"}},
      {"audit",
       {"impactlab audit data/published/004_sun.yaml --out out/sun",
        "impactlab audit published.yaml --quiet"}},
      {"coefficient",
       {"impactlab coefficient data/experiments/bench-tests.yaml --out out/bench",
        "impactlab coefficient bench.yaml"}},
      {"solve", {"impactlab solve cases.json --out outcomes.json", "impactlab solve cases.json"}},
      {"synth",
       {"impactlab synth data/sample/scene.yaml --out out/synthetic",
        "impactlab synth data/sample/rig/scene.yaml --out out/pictures",
        "impactlab synth data/sample/video/scene.yaml --out out/video"}},
      {"map",
       {"impactlab map data/maps/*.yaml --out out/maps", "impactlab map sweep.yaml --threads 2"}},
      {"simulate",
       {"impactlab simulate data/scenarios/cube_toss.yaml --out toss",
        "impactlab simulate scenario.yaml --video toss.mp4 --speed 0.1"}},
      {"campaign",
       {"impactlab campaign campaign.yaml --out out/plates",
        "impactlab campaign campaign.yaml --force"}},
      {"diagram",
       {"impactlab diagram data/diagrams/002_fig_5_7a.yaml --out figure",
        "impactlab diagram diagram.yaml --threads 2"}},
      {"doctor",
       {"impactlab doctor drops/*.mp4",
        "impactlab doctor drop.mp4 --reference board.mp4 --exposure-s 0.001",
        "impactlab doctor drop.mp4 --rate-hz 960 --json"}},
      {"convert",
       {"impactlab convert rig.yaml", "impactlab convert opencv.yml --export impactlab=rig.yaml",
        "impactlab convert rig.yaml --export kalibr=camchain.yaml"}},
      {"plan",
       {"impactlab plan data/plans/rod_on_incline.yaml --out plan",
        "impactlab plan plan.yaml --no-page"}},
      {"calibrate",
       {"impactlab calibrate rig.yaml --out out/rig",
        "impactlab calibrate rig.yaml --out out/rig --export opencv=cameras.yml"}},
      {"track",
       {"impactlab track tracking.yaml --out out/tracks",
        "impactlab track tracking.yaml --out out/tracks --overlay out/seen.mp4"}},
      {"import",
       {"impactlab import xypts.csv --cameras left,right --rate-hz 500 --height-px 1080",
        "impactlab import tracker.txt --out tracks.csv --corrections corrections.csv"}},
      {"export",
       {"impactlab export out/today --out today.mat",
        "impactlab export out/today/events.csv --out events.tex",
        "impactlab export out/tracks/tracks.csv --rig out/rig/rig.yaml --out drop.trc",
        "impactlab export drop.c3d --out drop.csv"}},
      {"board",
       {"impactlab board --square-m 0.025 --out board.pdf",
        "impactlab board --kind charuco --corners 8x5 --square-m 0.029 --out board.pdf"}},
      {"new",
       {"impactlab new poses drops", "impactlab new stereo 'two phones'",
        "impactlab new published table"}},
      {"check",
       {"impactlab check drops", "impactlab check foreign.csv",
        "impactlab check experiment.yaml --json"}},
      {"reference",
       {"impactlab reference", "impactlab reference experiment",
        "impactlab reference tracking markers.layout_m",
        "impactlab reference --examples data/reference --out data/REFERENCE.md"}},
      {"completion",
       {"source <(impactlab completion bash)", "impactlab completion zsh > ~/.zfunc/_impactlab",
        "impactlab completion fish > ~/.config/fish/completions/impactlab.fish"}},
  };
  const auto found = kExamples.find(verb);
  if (found == kExamples.end()) return "";
  std::string out;
  for (const char* line : found->second) out += fmt::format("  {}\n", line);
  return out;
}

void AddExamples(CLI::App* app) {
  for (CLI::App* verb : app->get_subcommands({}))
    if (const std::string examples = ExamplesOf(verb->get_name()); !examples.empty())
      verb->footer("Examples:\n" + examples);
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

std::string ParseFault(const CLI::App& app, int argc, char** argv, const std::string& what) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
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

}  // namespace impactlab::pipelines
