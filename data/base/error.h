#pragma once
// Errors a caller or a file can cause; each carries one line that says what to do. They are caught
// where work goes on without what failed (one recording of many, a guess at the format of a file),
// else by `main`, which prints the line.

#include <stdexcept>
#include <string>

namespace impactlab {

// A configuration (experiment file, command line) asks for something that cannot be.
// `what()` reads "file:line: key: found, allowed".
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A data file cannot be read as what it claims to be. `what()` reads "path: row R, column C: found,
// allowed".
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An output cannot be written (full disk, missing folder, no permission).
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace impactlab
