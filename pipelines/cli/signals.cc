#include "pipelines/cli/detail/signals.h"

#include <csignal>

namespace impactlab::pipelines {

void CancelOnSignals() {
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) { program_cancellation.Request(); });
}

}  // namespace impactlab::pipelines
