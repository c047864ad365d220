#pragma once
// Ctrl-C and a request of the system to end: the program's jobs are cancelled. Private to the
// pipelines room.

#include "pipelines/config/run_context.h"

namespace impactlab::pipelines {

// What the signal handlers of the program set; its verbs pass it to their jobs.
inline constinit Cancellation program_cancellation;

// From now on SIGINT and SIGTERM request the cancellation.
void CancelOnSignals();

}  // namespace impactlab::pipelines
