#include "reconstruction/formats/detail/c3d_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab::reconstruction {
namespace {

constexpr std::size_t kBlock = 512;

std::string TrimText(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  return std::string(TrimSpace(text));
}

}  // namespace

void C3dBytes::Fail(std::size_t at, const std::string& found, const std::string& allowed) const {
  throw DataError(fmt::format("{}: byte {}: found {}, allowed {}", path_, at, found, allowed));
}

void C3dBytes::Need(std::size_t at, std::size_t length) const {
  if (at > bytes_.size() || bytes_.size() - at < length)
    Fail(at, fmt::format("the end of the file at {}", bytes_.size()),
         fmt::format("{} more bytes; the file was cut short or points beyond itself", length));
}

std::uint8_t C3dBytes::Byte(std::size_t at) const {
  Need(at, 1);
  return static_cast<std::uint8_t>(bytes_[at]);
}

std::uint16_t C3dBytes::Word(std::size_t at) const {
  Need(at, 2);
  const unsigned a = static_cast<std::uint8_t>(bytes_[at]),
                 b = static_cast<std::uint8_t>(bytes_[at + 1]);
  return static_cast<std::uint16_t>(order_ == ByteOrder::kMips ? a << 8 | b : b << 8 | a);
}

double C3dBytes::Float(std::size_t at) const {
  Need(at, 4);
  // Of a VAX the word with the sign comes first; so it does most significant byte first.
  const std::uint32_t first = Word(at), second = Word(at + 2);
  if (order_ == ByteOrder::kIntel)
    return static_cast<double>(std::bit_cast<float>(second << 16 | first));
  const std::uint32_t bits = first << 16 | second;
  if (order_ == ByteOrder::kMips) return static_cast<double>(std::bit_cast<float>(bits));
  const int exponent = static_cast<int>(bits >> 23 & 0xFF);
  const bool negative = (bits >> 31) != 0;
  if (exponent == 0) return negative ? std::nan("") : 0.0;
  // 0.1fff in binary, times 2^24
  const double mantissa = static_cast<double>((bits & 0x7FFFFF) | 0x800000);
  return std::ldexp(negative ? -mantissa : mantissa, exponent - 128 - 24);
}

std::string_view C3dBytes::Text(std::size_t at, std::size_t length) const {
  Need(at, length);
  return bytes_.substr(at, length);
}

C3dParameters::C3dParameters(C3dBytes* bytes, int block) : bytes_(bytes) {
  block = std::max(block, 2);  // the first is the header, whatever the writer counted from
  const std::size_t start = kBlock * static_cast<std::size_t>(block - 1);
  const int machine = bytes->Byte(start + 3);
  if (machine < 84 || machine > 86)
    bytes->Fail(start + 3, fmt::format("processor type {}", machine),
                "84 (Intel), 85 (DEC), 86 (MIPS)");
  bytes->SetOrder(machine == 84   ? ByteOrder::kIntel
                  : machine == 85 ? ByteOrder::kDec
                                  : ByteOrder::kMips);
  const std::size_t blocks = bytes->Byte(start + 2);
  end_ = std::min(start + kBlock * std::max<std::size_t>(blocks, 1), bytes->size());
  // Some writers state too few blocks: the chain of the parameters counts, up to the data.
  const std::size_t data_block = bytes->Word(16);
  const std::size_t limit = data_block > static_cast<std::size_t>(block)
                                ? std::min(kBlock * (data_block - 1), bytes->size())
                                : end_;
  std::size_t at = start + 4;
  while (at + 2 <= limit) {
    const int length = std::abs(bytes->SignedByte(at));
    const int id = bytes->SignedByte(at + 1);
    if (length == 0 || id == 0) break;
    const std::string name = UpperCase(bytes->Text(at + 2, static_cast<std::size_t>(length)));
    const std::size_t link = at + 2 + static_cast<std::size_t>(length);
    const std::size_t offset = bytes->Word(link);
    if (offset == 1) bytes->Fail(link, "a link of 1 byte", "0 or one that leads behind itself");
    std::size_t here = link + 2;
    if (id < 0) {
      groups_[name] = -id;
    } else {
      C3dParameter parameter;
      parameter.type = bytes->SignedByte(here);
      const int n_dimensions = bytes->Byte(here + 1);
      if (parameter.type != -1 && parameter.type != 1 && parameter.type != 2 && parameter.type != 4)
        bytes->Fail(here, fmt::format("type {} of parameter {}", parameter.type, Excerpt(name)),
                    "-1, 1, 2, 4");
      if (n_dimensions > 7)
        bytes->Fail(here + 1,
                    fmt::format("{} dimensions of parameter {}", n_dimensions, Excerpt(name)),
                    "at most 7");
      here += 2;
      parameter.count = 1;
      for (int d = 0; d < n_dimensions; ++d, ++here) {
        parameter.dimensions.push_back(bytes->Byte(here));
        parameter.count *= static_cast<std::size_t>(parameter.dimensions.back());
        if (parameter.count > bytes->size())
          bytes->Fail(
              here,
              fmt::format("more than {} elements of parameter {}", bytes->size(), Excerpt(name)),
              "as many as fit into the file");
      }
      parameter.at = here;
      bytes->Text(here, parameter.count * static_cast<std::size_t>(std::abs(parameter.type)));
      here += parameter.count * static_cast<std::size_t>(std::abs(parameter.type));
      parameters_.emplace(std::pair(id, name), parameter);
    }
    end_ = std::max(end_, std::min(here, bytes->size()));
    if (offset == 0) break;
    at = link + offset;
    // A parameter may be larger than its link can say.
    if (offset < 0x8000 && at < here)
      bytes->Fail(link, fmt::format("a link into the data of parameter {}", Excerpt(name)),
                  "one behind them");
    at = std::max(at, here);
  }
}

const C3dParameter* C3dParameters::Find(const std::string& group, const std::string& name) const {
  const auto id = groups_.find(group);
  if (id == groups_.end()) return nullptr;
  const auto at = parameters_.find({id->second, name});
  return at == parameters_.end() ? nullptr : &at->second;
}

std::optional<double> C3dParameters::Number(const std::string& group, const std::string& name,
                                            std::size_t index) const {
  const C3dParameter* p = Find(group, name);
  if (p == nullptr || index >= p->count || p->type < 0) return std::nullopt;
  const std::size_t at = p->at + index * static_cast<std::size_t>(p->type);
  return p->type == 4 ? bytes_->Float(at) : p->type == 2 ? bytes_->Word(at) : bytes_->Byte(at);
}

bool C3dParameters::IsFloat(const std::string& group, const std::string& name) const {
  const C3dParameter* p = Find(group, name);
  return p != nullptr && p->type == 4;
}

std::vector<std::string> C3dParameters::Texts(const std::string& group,
                                              const std::string& name) const {
  const C3dParameter* p = Find(group, name);
  if (p == nullptr || p->type != -1 || p->count == 0) return {};
  const std::size_t length = p->dimensions.empty() ? 1 : static_cast<std::size_t>(p->dimensions[0]);
  std::vector<std::string> out;
  for (std::size_t i = 0; i + length <= p->count; i += length)
    out.push_back(TrimText(bytes_->Text(p->at + i, length)));
  return out;
}

std::string C3dParameters::Text(const std::string& group, const std::string& name) const {
  const std::vector<std::string> texts = Texts(group, name);
  return texts.empty() ? "" : texts[0];
}

}  // namespace impactlab::reconstruction
