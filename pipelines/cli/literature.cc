// The verb that audits tables of impacts as the literature prints them.

#include "pipelines/literature/literature.h"

#include <fmt/core.h>

#include "data/files/text.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {
namespace {

struct LiteratureArguments {
  std::filesystem::path file;
  std::filesystem::path out = "literature";
  bool quiet = false;
  SharedOptions shared;
};

int RunLiterature(const LiteratureArguments& arguments) {
  const PublishedTables all = LoadPublished(arguments.file);
  if (!all.unread.empty())
    fmt::print(stderr, "impactlab: note: columns not read: {}\n", JoinNames(all.unread));
  std::vector<std::string> names = {"index.html"};
  for (const PresentationTable& form : FormsOf(all))
    for (const std::string& name : FormNames(form.name)) names.push_back(name);
  return WithOutput(arguments.out, names, arguments.shared, [&] {
    WritePublished(arguments.out, all);
    if (!arguments.quiet) fmt::print("{}written to {}\n", BriefReport(all), arguments.out.string());
    return kDone;
  });
}

}  // namespace

Action AddLiterature(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<LiteratureArguments>();
  verb.add_option("file", arguments->file, "published tables (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  verb.add_flag("--quiet", arguments->quiet, "no summary");
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunLiterature(*arguments);
  };
}

}  // namespace impactlab::pipelines
