// The verb that audits tables of impacts as printed.

#include "pipelines/literature/literature.h"

#include <fmt/core.h>

#include "data/files/text.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"

namespace impactlab {

int AuditCommand(const AuditArguments& arguments) {
  const PublishedTables all = LoadPublished(arguments.file);
  if (!all.unread.empty())
    fmt::print(stderr, "impactlab: note: columns not read: {}\n", JoinNames(all.unread));
  WritePublished(arguments.out, all);
  if (!arguments.quiet) fmt::print("{}written to {}\n", BriefReport(all), arguments.out.string());
  return kDone;
}

}  // namespace impactlab
