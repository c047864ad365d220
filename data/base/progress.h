#pragma once
// Progress of a long job on stderr: one line that is rewritten on a terminal, an occasional plain
// line in a log, nothing for quick jobs.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace impactlab {

struct ProgressOptions {
  bool enabled = true;
  double quiet_s = 2;                // jobs that end within this time print nothing [s]
  double terminal_interval_s = 0.2;  // between updates on a terminal [s]
  double log_interval_s = 30;        // between lines in a log [s]
  // Replaced in tests. Defaults: stderr, whether it is a terminal, a steady clock in seconds.
  std::function<void(std::string_view)> write;
  std::function<bool()> is_terminal;
  std::function<double()> now;
};

// Any thread may call Advance and Set. Printing never throws.
class Progress {
 public:
  // `unit` names what is counted, e.g. "recordings"; total 0 means not known.
  Progress(std::string label, std::int64_t total, std::string unit = {},
           ProgressOptions options = {});
  ~Progress();  // Finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Advance(std::int64_t n = 1);
  void Set(std::int64_t done);
  // Last line, with the total time, when anything was printed before. More calls do nothing.
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "14 s", "3 min 20 s", "2 h 05 min"
std::string FormatDuration(double seconds);

}  // namespace impactlab
