// A source of its own, which the compiler cannot inline into tests: it would see free() given the
// memory of an operator new whose body it does not see.

#include "tests/support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> g_allocations{0};
}

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace impactlab::test {

long Allocations() { return g_allocations; }

}  // namespace impactlab::test
