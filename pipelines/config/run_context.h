#pragma once
// What a long job is given beside its input: processors, progress, the store of finished stages and
// a way to be cancelled. It is passed down; nothing of it is shared by the whole process.

#include <atomic>
#include <stdexcept>

#include "data/base/progress.h"

namespace impactlab {

class StageCache;

// Thrown by a long job that was cancelled; the last good output is untouched.
class Interrupted : public std::runtime_error {
 public:
  Interrupted()
      : std::runtime_error(
            "interrupted; files that were not complete were not kept; the same command again goes "
            "on from what was") {}
};

// Asks a job to end, from another thread or from a signal handler.
class Cancellation {
 public:
  constexpr Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void Request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  // Forgets the request; whether there was one.
  bool Reset() noexcept { return requested_.exchange(false); }
  // Throws Interrupted once the end is requested.
  void Check() const {
    if (requested()) throw Interrupted();
  }

 private:
  std::atomic<bool> requested_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
};

struct RunContext {
  int threads = 0;                             // 0: one a core
  bool quiet = false;                          // no progress
  StageCache* cache = nullptr;                 // of finished stages; null: every stage is done
  const Cancellation* cancellation = nullptr;  // null: the job cannot be cancelled

  // Long loops call it once a step; throws Interrupted.
  void CheckCancelled() const {
    if (cancellation != nullptr) cancellation->Check();
  }
  ProgressOptions Shown() const {
    ProgressOptions shown;
    shown.enabled = !quiet;
    return shown;
  }
  // The same job on so many threads.
  RunContext OnThreads(int n) const {
    RunContext out = *this;
    out.threads = n;
    return out;
  }
};

}  // namespace impactlab
