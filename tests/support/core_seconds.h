#pragma once
// Time that this thread has computed.

#include <ctime>

namespace impactlab::test {

inline double CoreSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace impactlab::test
