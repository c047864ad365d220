#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "tracking/video/detail/file.h"

namespace impactlab::tracking {
namespace {

// What the layout of pixels depends on (TIFF 6.0, sections 3 to 22). Other tags do not concern the
// pixels.
constexpr std::array<unsigned, 26> kLayoutTags = {254, 256, 257, 258, 259, 262, 266, 273, 277,
                                                  278, 279, 284, 292, 293, 317, 320, 322, 323,
                                                  324, 325, 338, 339, 347, 529, 530, 532};

struct Bytes {
  std::uint8_t* data;
  std::size_t size;
  bool big;

  unsigned U16(std::size_t at) const {
    return big ? data[at] << 8U | data[at + 1] : data[at + 1] << 8U | data[at];
  }
  std::size_t U32(std::size_t at) const {
    const std::size_t first = U16(at), second = U16(at + 2);
    return big ? first << 16 | second : second << 16 | first;
  }
};

}  // namespace

void DropForeignTags(AVPacket* packet) {
  constexpr std::size_t kEntry = 12;
  if (packet->size < 14 || av_packet_make_writable(packet) < 0) return;
  const Bytes bytes{packet->data, static_cast<std::size_t>(packet->size), packet->data[0] == 'M'};
  if (bytes.U16(2) != 42) return;
  const std::size_t table = bytes.U32(4);
  if (table > bytes.size - 2) return;
  const std::size_t n = bytes.U16(table);
  if (bytes.size - table - 2 < n * kEntry + 4) return;
  std::uint8_t* const entries = bytes.data + table + 2;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const unsigned tag = bytes.U16(table + 2 + k * kEntry);
    // Orientation concerns display only and is not applied.
    if (std::find(kLayoutTags.begin(), kLayoutTags.end(), tag) == kLayoutTags.end()) continue;
    std::memmove(entries + kept * kEntry, entries + k * kEntry, kEntry);
    ++kept;
  }
  // No further picture behind this one.
  std::memset(entries + kept * kEntry, 0, 4);
  bytes.data[table + (bytes.big ? 0 : 1)] = static_cast<std::uint8_t>(kept >> 8);
  bytes.data[table + (bytes.big ? 1 : 0)] = static_cast<std::uint8_t>(kept & 0xFF);
}

}  // namespace impactlab::tracking
