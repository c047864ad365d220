#pragma once
// Independent pieces of work on several threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace impactlab {

// Runs work(i) for i in [0, n) on `threads` threads, one a core for 0. The first exception is
// rethrown when all have stopped.
template <typename Work>
void ForEachIndex(std::size_t n, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr fault;
  std::atomic<bool> stop = false;
  const auto loop = [&] {
    for (std::size_t i = next++; i < n && !stop; i = next++) {
      try {
        work(i);
      } catch (...) {
        if (!stop.exchange(true)) fault = std::current_exception();
      }
    }
  };
  const unsigned wanted = threads > 0 ? static_cast<unsigned>(threads)
                                      : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> pool;
  for (unsigned k = 1; k < std::min<std::size_t>(wanted, n); ++k) pool.emplace_back(loop);
  loop();
  pool.clear();
  if (fault) std::rethrow_exception(fault);
}

}  // namespace impactlab
