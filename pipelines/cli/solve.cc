// The verb that solves single impacts exactly.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/tables/solve_io.h"

namespace impactlab::pipelines {
namespace {

struct SolveArguments {
  std::filesystem::path cases;
  std::filesystem::path out = "outcomes.json";
};

int RunSolve(const SolveArguments& arguments) {
  const std::filesystem::path &cases = arguments.cases, &out = arguments.out;
  std::error_code absent;
  if (std::filesystem::equivalent(cases, out, absent))
    throw ConfigError(fmt::format("--out: '{}' is the file of cases itself", out.string()));
  const std::string outcomes = SolveCasesJson(ReadFile(cases), cases.string());
  WriteFile(out, outcomes);
  std::size_t all = 0, invalid = 0;
  for (const nlohmann::json& one : nlohmann::json::parse(outcomes))
    ++all, invalid += one.value("status", "") == "invalid";
  fmt::print("{} of {} cases solved; written to {}\n", all - invalid, all, out.string());
  if (invalid > 0)
    fmt::print(
        stderr,
        "impactlab: solve: {} of {} cases are no impact problem; their reason is in their place\n",
        invalid, all);
  return all > 0 && invalid == all ? kUnusable : kDone;
}

}  // namespace

Action AddSolve(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<SolveArguments>();
  verb.add_option("cases", arguments->cases, "JSON array of cases")->required();
  verb.add_option("--out", arguments->out, "file to write")->capture_default_str();
  return [arguments] { return RunSolve(*arguments); };
}

}  // namespace impactlab::pipelines
