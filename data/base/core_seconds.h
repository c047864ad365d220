#pragma once
// Time that this thread has computed [s]: what work costs on one core, however busy the machine is.

#include <ctime>

namespace impactlab {

inline double CoreSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace impactlab
