#include "tracking/video/frames.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tracking/video/detail/frames_stream.h"

namespace impactlab {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Slot {
  Frame frame;
  long long damaged = 0;
};

}  // namespace

struct FrameReader::State {
  State(const FrameSource& source, const FrameReaderOptions& options)
      : stream(source), info(stream.info()) {
    if (options.ahead <= 0) return;
    ring.resize(static_cast<std::size_t>(options.ahead));
    thread = std::thread([this] { Work(); });
  }
  ~State() {
    if (!thread.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    to_worker.notify_all();
    thread.join();
  }

  void Work();
  void Answer(std::unique_lock<std::mutex>& lock);
  bool Take(Frame* frame);
  bool Goto(long long index);

  tracking::FrameStream stream;  // used by the worker thread alone where there is one
  const VideoInfo info;
  long long damaged = 0;         // up to the frame handed out last
  long long damaged_at_end = 0;  // known to the worker before the user gets there

  std::mutex mutex;
  std::condition_variable to_worker, to_user;
  // Ready frames stand at first, first + 1 ... of the ring; the pictures of the other places are
  // storage that is used again.
  std::vector<Slot> ring;
  std::size_t first = 0, count = 0;
  bool stop = false;
  bool done = false;         // nothing comes behind what is ready, but perhaps the error
  std::exception_ptr error;  // where the file breaks
  std::optional<long long> wish;
  bool answered = false, found = false;
  // apart from `error`: the worker may have reached the end again before the answer is read
  std::exception_ptr seek_error;
  double decoding = 0, waiting = 0;  // [s]

  std::thread thread;  // last: starts when all else is there
};

void FrameReader::State::Work() {
  Slot work;
  std::unique_lock lock(mutex);
  for (;;) {
    const bool full = !done && count == ring.size();
    const auto start = Clock::now();
    to_worker.wait(lock, [&] { return stop || wish || (!done && count < ring.size()); });
    if (full) waiting += Since(start);
    if (stop) return;
    if (wish) {
      Answer(lock);
      continue;
    }
    lock.unlock();
    bool there = false;
    std::exception_ptr thrown;
    const auto begin = Clock::now();
    try {
      there = stream.Next(&work.frame);
    } catch (...) {
      thrown = std::current_exception();
    }
    work.damaged = stream.damaged();
    const double spent = Since(begin);
    lock.lock();
    decoding += spent;
    if (wish) continue;  // the reader is being destroyed
    if (there) {
      std::swap(ring[(first + count) % ring.size()], work);
      ++count;
    } else {
      done = true;
      error = thrown;
      damaged_at_end = work.damaged;
    }
    to_user.notify_one();
  }
}

void FrameReader::State::Answer(std::unique_lock<std::mutex>& lock) {
  const long long index = *wish;
  wish.reset();
  lock.unlock();
  bool there = false;
  std::exception_ptr thrown;
  const auto begin = Clock::now();
  try {
    there = stream.Seek(index);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  decoding += Since(begin);
  count = 0;
  done = thrown != nullptr;
  damaged_at_end = stream.damaged();
  error = nullptr;
  seek_error = thrown;
  found = there;
  answered = true;
  to_user.notify_one();
}

bool FrameReader::State::Take(Frame* frame) {
  if (!thread.joinable()) {
    const auto begin = Clock::now();
    struct Stop {  // also where it throws
      State* state;
      Clock::time_point begin;
      ~Stop() {
        state->decoding += Since(begin);
        state->damaged = state->stream.damaged();
      }
    } const stop_clock{this, begin};
    return stream.Next(frame);
  }
  std::unique_lock lock(mutex);
  to_user.wait(lock, [&] { return count > 0 || done; });
  if (count == 0) {
    damaged = damaged_at_end;
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return false;
  }
  Slot& slot = ring[first];
  std::swap(*frame, slot.frame);
  damaged = slot.damaged;
  first = (first + 1) % ring.size();
  --count;
  lock.unlock();
  to_worker.notify_one();
  return true;
}

bool FrameReader::State::Goto(long long index) {
  if (!thread.joinable()) return stream.Seek(index);
  std::unique_lock lock(mutex);
  for (std::size_t k = 0; k < count; ++k) {
    if (ring[(first + k) % ring.size()].frame.index != index) continue;
    first = (first + k) % ring.size();
    count -= k;
    to_worker.notify_one();
    return true;
  }
  wish = index;
  answered = false;
  to_worker.notify_one();
  to_user.wait(lock, [&] { return answered; });
  if (seek_error) std::rethrow_exception(std::exchange(seek_error, nullptr));
  return found;
}

FrameReader::FrameReader(const FrameSource& source, const FrameReaderOptions& options)
    : state_(std::make_unique<State>(source, options)) {}
FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

const VideoInfo& FrameReader::info() const { return state_->info; }
bool FrameReader::Next(Frame* frame) { return state_->Take(frame); }
bool FrameReader::Seek(long long index) { return index >= 0 && state_->Goto(index); }

long long FrameReader::damaged() const {
  const std::lock_guard lock(state_->mutex);
  return state_->damaged;
}
double FrameReader::decoding() const {
  const std::lock_guard lock(state_->mutex);
  return state_->decoding;
}
double FrameReader::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

double SensorRow(const VideoInfo& info, double x, double y) {
  const double right = info.width - 1.0, bottom = info.height - 1.0;
  // Where down in the stored picture points in the one shown: a quarter turn clockwise from where
  // right points, or the other way when it was turned upside down before.
  switch (info.rotation_deg) {
    case 90:
      return info.mirrored ? x : right - x;
    case 180:
      return info.mirrored ? y : bottom - y;
    case 270:
      return info.mirrored ? right - x : x;
    default:
      return info.mirrored ? bottom - y : y;
  }
}

double RowTime(const FrameSource& source, const VideoInfo& info, const Frame& frame, double x,
               double y) {
  return frame.t + source.clock_rate * source.t_line * SensorRow(info, x, y);
}

}  // namespace impactlab
