// The verb that audits tables of impacts as printed.

#include <fmt/core.h>

#include "data/text.h"
#include "pipelines/commands.h"
#include "pipelines/published.h"

namespace impactlab {

int AuditCommand(const AuditArguments& arguments) {
  const PublishedTables all = LoadPublished(arguments.file);
  if (!all.unread.empty())
    fmt::print(stderr, "impactlab: note: columns not read: {}\n", JoinNames(all.unread));
  WritePublished(arguments.out, all);
  if (!arguments.quiet) fmt::print("{}written to {}\n", BriefReport(all), arguments.out.string());
  return 0;
}

}  // namespace impactlab
