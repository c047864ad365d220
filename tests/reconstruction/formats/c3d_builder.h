#pragma once
// C3D files put together byte by byte after the user guide of c3d.org, in all three byte orders,
// apart from the project's own writer.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace impactlab::test {

enum class Machine { kIntel = 84, kDec = 85, kMips = 86 };

class C3dBuilder {
 public:
  explicit C3dBuilder(Machine machine) : machine_(machine) {}

  std::string Word(long long value) const {
    const auto v = static_cast<std::uint16_t>(value);
    const char low = static_cast<char>(v & 0xFF), high = static_cast<char>(v >> 8);
    return machine_ == Machine::kMips ? std::string{high, low} : std::string{low, high};
  }

  std::string Real(double value) const {
    if (machine_ == Machine::kDec) {
      // VAX F: sign, exponent of excess 128, fraction 0.1fff; the word with the sign first.
      if (value == 0) return std::string(4, '\0');
      int exponent = 0;
      const double fraction = std::frexp(std::abs(value), &exponent);
      const auto mantissa =
          static_cast<std::uint32_t>(std::llround(std::ldexp(fraction, 24))) & 0x7FFFFF;
      const std::uint32_t bits = (value < 0 ? 0x80000000u : 0u) |
                                 static_cast<std::uint32_t>(exponent + 128) << 23 | mantissa;
      return Word(bits >> 16) + Word(bits & 0xFFFF);
    }
    const auto narrow = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &narrow, 4);
    return machine_ == Machine::kMips ? Word(bits >> 16) + Word(bits & 0xFFFF)
                                      : Word(bits & 0xFFFF) + Word(bits >> 16);
  }

  void Group(int id, const std::string& name) { Entry(name, -id, std::string(1, '\0')); }
  void Parameter(int group, const std::string& name, int type, const std::vector<int>& dimensions,
                 const std::string& data) {
    std::string body = {static_cast<char>(type), static_cast<char>(dimensions.size())};
    for (const int d : dimensions) body += static_cast<char>(d);
    Entry(name, group, body + data + '\3' + "abc");  // a description of three characters
  }
  void Text(int group, const std::string& name, const std::vector<std::string>& texts, int length) {
    std::string data;
    for (const std::string& text : texts)
      data += text + std::string(static_cast<std::size_t>(length) - text.size(), ' ');
    Parameter(group, name, -1, {length, static_cast<int>(texts.size())}, data);
  }
  void Integer(int group, const std::string& name, long long value) {
    Parameter(group, name, 2, {}, Word(value));
  }
  void Float(int group, const std::string& name, double value) {
    Parameter(group, name, 4, {}, Real(value));
  }

  // What a usual file of `labels` says, in millimetres.
  void Points(const std::vector<std::string>& labels, double scale, double rate, long long frames,
              int data_block) {
    Group(1, "POINT");
    Integer(1, "USED", static_cast<long long>(labels.size()));
    Float(1, "SCALE", scale);
    Float(1, "RATE", rate);
    Integer(1, "DATA_START", data_block);
    Integer(1, "FRAMES", frames);
    Text(1, "LABELS", labels, 8);
    Text(1, "UNITS", {"mm"}, 4);
    header_scale = scale;
    header_rate = rate;
    header_points = static_cast<int>(labels.size());
    header_data = data_block;
    header_last = static_cast<int>(header_first + frames - 1);
  }

  int header_points = 0, header_analog = 0, header_samples = 0, header_first = 1, header_last = 1,
      header_data = 3;
  double header_scale = -1, header_rate = 100;
  std::vector<std::pair<std::string, double>> header_events;
  std::string data;
  int parameter_blocks = 0;  // 0: as many as there are

  std::string Bytes() const {
    std::string out = {'\2', '\x50'};
    out += Word(header_points) + Word(header_analog) + Word(header_first) + Word(header_last) +
           Word(0) + Real(header_scale);
    out += Word(header_data) + Word(header_samples) + Real(header_rate);
    out.resize(298, '\0');
    out += Word(12345) + Word(static_cast<long long>(header_events.size())) + Word(0);
    for (const auto& event : header_events) out += Real(event.second);
    out.resize(396, '\0');
    for (const auto& event : header_events) out += (event.first + "    ").substr(0, 4);
    out.resize(512, '\0');
    const std::size_t blocks = (4 + entries_.size() + 2 + 511) / 512;
    out += {'\1', '\x50',
            static_cast<char>(parameter_blocks > 0 ? parameter_blocks : static_cast<int>(blocks)),
            static_cast<char>(machine_)};
    out += entries_;
    out.resize(512 * static_cast<std::size_t>(header_data - 1), '\0');
    return out + data;
  }

 private:
  void Entry(const std::string& name, int id, const std::string& body) {
    entries_ += std::string{static_cast<char>(name.size()), static_cast<char>(id)} + name;
    entries_ += Word(static_cast<long long>(body.size()) + 2) + body;
  }
  Machine machine_;
  std::string entries_;
};

}  // namespace impactlab::test
