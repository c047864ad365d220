#pragma once
// What the program returns to the shell.

namespace impactlab {

inline constexpr int kDone = 0;           // done; rejected recordings are results
inline constexpr int kNotMet = 1;         // a `--require` is not met
inline constexpr int kUsage = 2;          // the call or a configuration is wrong
inline constexpr int kUnusable = 3;       // nothing usable, withheld, or output cannot be written
inline constexpr int kInternal = 4;       // an internal error
inline constexpr int kInterrupted = 130;  // interrupted by a signal

}  // namespace impactlab
