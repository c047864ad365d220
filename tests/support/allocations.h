#pragma once
// Counts allocations, for tests of functions that must not allocate. Only programs that are linked
// with allocations.cc have it: it replaces operator new and delete of the whole program.

namespace impactlab::test {

// Calls of operator new so far, of all threads.
long Allocations();

}  // namespace impactlab::test
