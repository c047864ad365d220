// The verb `reference`: keys of configuration files on the terminal.

#include <fmt/format.h>

#include <algorithm>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/reference/key_reference.h"

namespace impactlab {
namespace {

struct ReferenceArguments {
  std::string kind, key;  // empty: all of them; a key or the beginning of one
  // folder to make the reference from; empty: as it was when the program was built
  std::filesystem::path examples;
  std::filesystem::path out;  // Markdown to write; empty: text on the terminal
};

const ReferenceKind& FindReferenceKind(const std::vector<ReferenceKind>& reference,
                                       const std::string& name) {
  std::vector<std::string> names;
  for (const ReferenceKind& kind : reference) {
    if (kind.kind == name || kind.schema == name) return kind;
    names.push_back(kind.kind);
  }
  const std::string nearest = NearestName(name, names);
  throw ConfigError(fmt::format("reference: found {}{}, allowed {}", Excerpt(name),
                                nearest.empty() ? "" : ", nearest is " + nearest,
                                JoinNames(names)));
}

std::string ToText(const ReferenceKey& key) {
  std::string facts;
  for (const std::string& fact :
       {key.unit, key.allowed,
        key.otherwise.empty() || key.otherwise == "required" ? key.otherwise
                                                             : "default " + key.otherwise})
    if (!fact.empty()) facts += (facts.empty() ? "" : "; ") + fact;
  std::string out = key.key + "\n    " + pipelines::Wrapped(key.meaning, 4, 4) + "\n";
  if (!facts.empty()) out += "    [" + pipelines::Wrapped(facts + "]", 5, 5) + "\n";
  return out;
}

int RunReference(const ReferenceArguments& arguments) {
  const std::string page = arguments.examples.empty()
                               ? std::string(KeptReference())
                               : ToMarkdown(MakeReference(arguments.examples));
  if (!arguments.out.empty()) {
    if (!arguments.kind.empty())
      throw ConfigError(
          fmt::format("reference: found --out beside {}, allowed for all kinds together",
                      Excerpt(arguments.kind)));
    WriteFile(arguments.out, page);
    fmt::print("written to {}\n", arguments.out.string());
    return kDone;
  }
  const std::vector<ReferenceKind> reference = ReferenceFromMarkdown(page);
  if (arguments.kind.empty()) {
    for (const ReferenceKind& kind : reference)
      fmt::print("{} ({} keys)\n    {}\n", kind.kind, kind.keys.size(),
                 pipelines::Wrapped(kind.about, 4, 4));
    fmt::print(
        "\nimpactlab reference KIND shows the keys of one, impactlab reference KIND KEY one key\n");
    return kDone;
  }
  const ReferenceKind& kind = FindReferenceKind(reference, arguments.kind);
  std::vector<std::string> names;
  bool any = false;
  for (const ReferenceKey& key : kind.keys) {
    names.push_back(key.key);
    const bool wanted = arguments.key.empty() || key.key == arguments.key ||
                        key.key.starts_with(arguments.key + ".") ||
                        key.key.starts_with(arguments.key + "[]") ||
                        key.key.substr(key.key.rfind('.') + 1) == arguments.key;
    if (wanted) fmt::print("{}", ToText(key));
    any |= wanted;
  }
  if (any) return kDone;
  const std::string nearest = NearestName(arguments.key, names);
  throw ConfigError(fmt::format(
      "reference: {}: found {}{}, allowed a key of this file; impactlab reference {} shows them",
      kind.kind, Excerpt(arguments.key), nearest.empty() ? "" : ", nearest is " + nearest,
      kind.kind));
}

}  // namespace

pipelines::Action pipelines::AddReference(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<ReferenceArguments>();
  verb.add_option(
      "kind", arguments->kind,
      "of file: experiment, calibration, tracking, ...; without it all kinds are named");
  verb.add_option("key", arguments->key, "a key, or a map with all that is in it");
  verb.add_option("--out", arguments->out, "Markdown file of all keys to write");
  verb.add_option("--examples", arguments->examples,
                  "folder of complete files to make the reference from anew (data/reference)");
  return [arguments] { return RunReference(*arguments); };
}

}  // namespace impactlab
