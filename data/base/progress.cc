#include "data/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <utility>

namespace impactlab {

struct Progress::State {
  std::mutex mutex;
  std::string label, unit;
  std::int64_t total = 0, done = 0;
  ProgressOptions options;
  bool terminal = false, printed = false, finished = false;
  double start = 0, last = 0;

  // `now` is read by the caller, who decides whether it is time to print.
  std::string Line(double now) const {
    const double elapsed = now - start;
    const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
    const std::string words = unit.empty() ? std::string() : " " + unit;
    std::string line =
        total > 0 ? fmt::format(
                        "{}: {} of {}{} ({:.0f} %)", label, done, total, words,
                        100 * std::min(1.0, static_cast<double>(done) / static_cast<double>(total)))
                  : fmt::format("{}: {}{}", label, done, words);
    if (rate > 0) line += fmt::format(", {:.{}f}/s", rate, rate < 9.995 ? 2 : 0);
    if (rate > 0 && total > done)
      line += fmt::format(", {} left", FormatDuration(static_cast<double>(total - done) / rate));
    return line;
  }

  void Print(double now) {
    last = now;
    printed = true;
    // Carriage return and "erase to end of line" keep the terminal at one line.
    options.write(terminal ? "\r" + Line(now) + "\x1b[K" : Line(now) + "\n");
  }

  void Update() noexcept {
    if (!options.enabled || finished) return;
    try {
      const double now = options.now();
      const double interval = terminal ? options.terminal_interval_s : options.log_interval_s;
      // The first line of a log waits for a full interval, so that a log of short jobs stays clean.
      if (now - start < options.quiet_s || now - last < interval) return;
      Print(now);
    } catch (...) {
      options.enabled = false;  // a job does not fail because its progress cannot be shown
    }
  }
};

Progress::Progress(std::string label, std::int64_t total, std::string unit, ProgressOptions options)
    : state_(std::make_unique<State>()) {
  if (!options.write) {
    options.write = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    };
  }
  if (!options.is_terminal) options.is_terminal = [] { return ::isatty(STDERR_FILENO) == 1; };
  if (!options.now) {
    options.now = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
  }
  state_->label = std::move(label);
  state_->unit = std::move(unit);
  state_->total = total;
  state_->options = std::move(options);
  state_->terminal = state_->options.is_terminal();
  state_->start = state_->last = state_->options.now();
}

Progress::~Progress() { Finish(); }

void Progress::Advance(std::int64_t n) {
  const std::lock_guard lock(state_->mutex);
  state_->done += n;
  state_->Update();
}

void Progress::Set(std::int64_t done) {
  const std::lock_guard lock(state_->mutex);
  state_->done = done;
  state_->Update();
}

void Progress::Finish() {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  if (std::exchange(state.finished, true) || !state.options.enabled || !state.printed) return;
  try {
    const double now = state.options.now();
    const std::string line = fmt::format("{}: {}{} in {}", state.label, state.done,
                                         state.unit.empty() ? std::string() : " " + state.unit,
                                         FormatDuration(now - state.start));
    state.options.write(state.terminal ? "\r" + line + "\x1b[K\n" : line + "\n");
  } catch (...) {
    state.options.enabled = false;
  }
}

std::string FormatDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "an unknown time";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace impactlab
