// The verb that makes coefficients of friction and restitution of the readings of bench tests.

#include <fmt/core.h>

#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {
namespace {

struct CoefficientArguments {
  std::filesystem::path file;
  std::filesystem::path out = "coefficients";
  bool quiet = false;
  SharedOptions shared;
};

int RunCoefficient(const CoefficientArguments& arguments) {
  const CoefficientTests all = LoadCoefficients(arguments.file);
  std::vector<std::string> names = {"index.html"};
  for (const PresentationTable& form : FormsOf(all))
    for (const std::string& name : FormNames(form.name)) names.push_back(name);
  return WithOutput(arguments.out, names, arguments.shared, [&] {
    WriteCoefficients(arguments.out, all);
    if (!arguments.quiet) fmt::print("{}written to {}\n", BriefReport(all), arguments.out.string());
    return AnyDetermined(all) ? kDone : kUnusable;
  });
}

}  // namespace

Action AddCoefficient(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<CoefficientArguments>();
  verb.add_option("file", arguments->file, "readings (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  verb.add_flag("--quiet", arguments->quiet, "no summary");
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunCoefficient(*arguments);
  };
}

}  // namespace impactlab::pipelines
