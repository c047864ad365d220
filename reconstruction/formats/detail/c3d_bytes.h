#pragma once
// Numbers and parameters in the bytes of a C3D file. Private to reconstruction/formats/c3d.cc.
//
// Blocks of 512 bytes: a header, parameters, data. Three kinds of machine have written such files;
// the fourth byte of the parameters tells which: 84 Intel, 85 DEC (integers as Intel, VAX F
// floating point), 86 MIPS (most significant byte first). After the user guide of c3d.org.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impactlab::reconstruction {

enum class ByteOrder { kIntel, kDec, kMips };

// Every access is checked: DataError "path: byte N: ..." beyond the end.
class C3dBytes {
 public:
  C3dBytes(std::string_view bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  void SetOrder(ByteOrder order) { order_ = order; }
  std::size_t size() const { return bytes_.size(); }
  const std::string& path() const { return path_; }
  std::uint8_t Byte(std::size_t at) const;
  std::uint16_t Word(std::size_t at) const;
  int SignedByte(std::size_t at) const { return static_cast<std::int8_t>(Byte(at)); }
  std::int16_t Signed(std::size_t at) const { return static_cast<std::int16_t>(Word(at)); }
  double Float(std::size_t at) const;  // NaN for the reserved operand of a VAX
  std::string_view Text(std::size_t at, std::size_t length) const;
  [[noreturn]] void Fail(std::size_t at, const std::string& found,
                         const std::string& allowed) const;

 private:
  void Need(std::size_t at, std::size_t length) const;
  std::string_view bytes_;
  std::string path_;
  ByteOrder order_ = ByteOrder::kIntel;
};

// One parameter: where its data are and what they are.
struct C3dParameter {
  int type = 0;  // bytes of an element; -1: characters
  std::vector<int> dimensions;
  std::size_t at = 0, count = 0;  // of the data; elements
};

class C3dParameters {
 public:
  // Sets the byte order of `bytes` from the parameter section, which begins at block `block` (from
  // 1), and reads what is in it.
  C3dParameters(C3dBytes* bytes, int block);

  bool Has(const std::string& group, const std::string& name) const {
    return Find(group, name) != nullptr;
  }
  // Element of a number, integers without sign; nothing where there is none.
  std::optional<double> Number(const std::string& group, const std::string& name,
                               std::size_t index = 0) const;
  bool IsFloat(const std::string& group, const std::string& name) const;
  // Strings along the first dimension, spaces and zeros at their ends taken off; a single number of
  // characters is one string.
  std::vector<std::string> Texts(const std::string& group, const std::string& name) const;
  std::string Text(const std::string& group, const std::string& name) const;
  // First byte behind the section.
  std::size_t end() const { return end_; }

 private:
  const C3dParameter* Find(const std::string& group, const std::string& name) const;
  const C3dBytes* bytes_;
  std::map<std::string, int> groups_;
  std::map<std::pair<int, std::string>, C3dParameter> parameters_;
  std::size_t end_ = 0;
};

}  // namespace impactlab::reconstruction
