#pragma once
// Ctrl-C: long loops ask, and the program ends with exit code 130 and the last good output
// untouched.

#include <atomic>
#include <stdexcept>

namespace impactlab {

class Interrupted : public std::runtime_error {
 public:
  Interrupted()
      : std::runtime_error(
            "interrupted; files that were not complete were not kept; the same command again goes "
            "on from what was") {}
};

inline std::atomic<bool> interrupt_requested = false;

inline void CheckInterrupt() {
  if (interrupt_requested.load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace impactlab
