#include "tracking/video/second_look.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace impactlab {
namespace {

// Frames that are decoded in passing rather than jumped over.
constexpr long long kJump = 60;

FramePart InPicture(FramePart part, const VideoInfo& info) {
  part.left = std::max(part.left, 0), part.top = std::max(part.top, 0);
  part.right = std::min(part.right, info.width - 1);
  part.bottom = std::min(part.bottom, info.height - 1);
  return part;
}

bool Holds(const FramePart& whole, const FramePart& part) {
  return part.empty() || (whole.left <= part.left && whole.top <= part.top &&
                          whole.right >= part.right && whole.bottom >= part.bottom);
}

struct KeptPart {
  FramePart place;
  double t = 0;
  std::vector<std::uint8_t> pixels;  // row by row
};

KeptPart Cut(const Frame& frame, const FramePart& place) {
  KeptPart out{place, frame.t, {}};
  for (int y = place.top; y <= place.bottom; ++y) {
    const auto row =
        frame.image.pixels.begin() +
        static_cast<std::ptrdiff_t>(y) * static_cast<std::ptrdiff_t>(frame.image.width);
    out.pixels.insert(out.pixels.end(), row + place.left, row + place.right + 1);
  }
  return out;
}

}  // namespace

FramePart Union(const FramePart& a, const FramePart& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {a.frame, std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

FramePart Widened(FramePart part, int pixels) {
  part.left -= pixels, part.top -= pixels, part.right += pixels, part.bottom += pixels;
  return part;
}

FramePart WholeFrame(long long frame) {
  constexpr int kMost = std::numeric_limits<int>::max();
  return {frame, 0, 0, kMost, kMost};
}

struct SecondLook::State {
  FrameSource source;
  std::size_t most_bytes;
  std::optional<FrameReader> reader;
  std::map<long long, FramePart> expected;  // that did not come by yet
  std::map<long long, KeptPart> kept;
  std::size_t kept_bytes = 0;
  // The frame read last: the first good one of those from `since` on. Without one the reader stands
  // at its beginning or at its end.
  Frame current;
  bool has_current = false, fresh = true;
  long long since = 0;
  long long end = std::numeric_limits<long long>::max();  // there is no good frame from here on
  Frame shown;                                            // made of what was kept
  FramePart drawn;

  FrameReader& Reader() {
    if (!reader) reader.emplace(source);
    return *reader;
  }
  void GoTo(long long index);
  void Read();
  void Keep();
  void PassExpected(long long index);
  const Frame* Show(const KeptPart& part, long long index);
};

// Keeps what is expected of the frame in hand.
void SecondLook::State::Keep() {
  const auto at = expected.find(current.index);
  if (at == expected.end()) return;
  const FramePart place = InPicture(at->second, reader->info());
  expected.erase(at);
  if (place.empty()) return;
  if (const auto old = kept.find(current.index); old != kept.end()) {
    kept_bytes -= old->second.pixels.size();
    kept.erase(old);
  }
  const auto bytes = static_cast<std::size_t>(place.right - place.left + 1) *
                     static_cast<std::size_t>(place.bottom - place.top + 1);
  if (kept_bytes + bytes > most_bytes) return;
  kept_bytes += bytes;
  kept.emplace(current.index, Cut(current, place));
}

// The next good frame into `current`.
void SecondLook::State::Read() {
  const long long from = has_current ? current.index + 1 : since;
  has_current = false;
  fresh = false;
  if (!reader->Next(&current)) {
    end = std::min(end, from);
    return;
  }
  since = from;
  has_current = true;
  Keep();
}

// Until `current` is the first good frame at or after `index`.
void SecondLook::State::GoTo(long long index) {
  if (has_current && since <= index && index <= current.index) return;
  const long long next = has_current ? current.index + 1 : 0;
  const bool in_passing =
      (has_current || (fresh && index == 0)) && next <= index && index < next + kJump;
  if (!in_passing) {
    has_current = false;
    fresh = false;
    since = index;
    reader->Seek(index);
  }
  do {
    Read();
  } while (has_current && current.index < index);
}

// Reads what is expected before a frame: from where the reader stands, or from shortly before where
// it has to go back.
void SecondLook::State::PassExpected(long long index) {
  const long long next = has_current ? current.index + 1 : fresh ? 0 : end;
  const long long from = next <= index ? next : index - kJump;
  for (auto at = expected.lower_bound(from); at != expected.end() && at->first < index;
       at = expected.lower_bound(from)) {
    const long long before = at->first;
    GoTo(before);
    expected.erase(before);  // where the frame is damaged
    if (!has_current) return;
  }
}

const Frame* SecondLook::State::Show(const KeptPart& part, long long index) {
  const VideoInfo& info = reader->info();
  const auto width = static_cast<std::size_t>(info.width);
  GrayImage& image = shown.image;
  if (image.width != info.width || image.height != info.height) {
    image = {info.width, info.height,
             std::vector<std::uint8_t>(width * static_cast<std::size_t>(info.height))};
    drawn = {};
  }
  for (int y = drawn.top; y <= drawn.bottom; ++y)
    std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(y) * info.width + drawn.left,
                drawn.right - drawn.left + 1, std::uint8_t{0});
  drawn = part.place;
  auto from = part.pixels.begin();
  for (int y = drawn.top; y <= drawn.bottom; ++y, from += drawn.right - drawn.left + 1)
    std::copy_n(from, drawn.right - drawn.left + 1,
                image.pixels.begin() + static_cast<std::ptrdiff_t>(y) * info.width + drawn.left);
  shown.index = index;
  shown.t = part.t;
  return &shown;
}

SecondLook::SecondLook(const FrameSource& source, std::size_t most_bytes)
    : state_(std::make_unique<State>()) {
  state_->source = source;
  state_->most_bytes = most_bytes;
}
SecondLook::~SecondLook() = default;
SecondLook::SecondLook(SecondLook&&) noexcept = default;
SecondLook& SecondLook::operator=(SecondLook&&) noexcept = default;

const FrameSource& SecondLook::source() const { return state_->source; }
const VideoInfo& SecondLook::info() { return state_->Reader().info(); }

void SecondLook::Expect(const std::vector<FramePart>& parts) {
  State& s = *state_;
  for (const FramePart& part : parts) {
    if (part.empty() || part.frame < 0) continue;
    FramePart whole = part;
    if (const auto kept = s.kept.find(part.frame); kept != s.kept.end()) {
      if (Holds(kept->second.place, InPicture(part, info()))) continue;
      whole = Union(whole, kept->second.place);
    }
    FramePart& expected = s.expected[part.frame];
    expected = Union(whole, expected);
  }
}

const Frame* SecondLook::Find(const FramePart& part) {
  State& s = *state_;
  const FramePart place = InPicture(part, s.Reader().info());
  if (const auto kept = s.kept.find(part.frame);
      kept != s.kept.end() && Holds(kept->second.place, place))
    return s.Show(kept->second, part.frame);
  if (part.frame < 0 || part.frame >= s.end) return nullptr;
  s.PassExpected(part.frame);
  if (part.frame >= s.end) return nullptr;
  s.GoTo(part.frame);
  return s.has_current && s.current.index == part.frame ? &s.current : nullptr;
}

bool SecondLook::EndsBefore(long long frame) const { return frame >= state_->end; }

}  // namespace impactlab
