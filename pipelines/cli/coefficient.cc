// The verb that makes coefficients of friction and restitution of the readings of bench tests.

#include <fmt/core.h>

#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"

namespace impactlab {

int CoefficientCommand(const CoefficientArguments& arguments) {
  const CoefficientTests all = LoadCoefficients(arguments.file);
  WriteCoefficients(arguments.out, all);
  if (!arguments.quiet) fmt::print("{}written to {}\n", BriefReport(all), arguments.out.string());
  return kDone;
}

}  // namespace impactlab
