#pragma once
// The value of any plain struct as bytes and back, to the last bit.
//
// Numbers go as they lie in memory, so that a result that was kept is the result itself;
// containers, optional values, Eigen matrices and plain structs (aggregates, up to 40 fields) go
// part by part. Fields are found by the compiler: one that is added to a struct is written, read
// and compared from then on without a line here. Functions are passed over. A struct with private
// members does not compile. The bytes mean something to the build that wrote them only: they serve
// as a key of inputs and as a store of results, never as a format.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <boost/preprocessor/arithmetic/sub.hpp>
#include <boost/preprocessor/repetition/enum.hpp>
#include <boost/preprocessor/repetition/enum_params.hpp>
#include <boost/preprocessor/repetition/repeat.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/base/error.h"

namespace impactlab {
namespace data {

// References to all fields of a plain struct, in their order: the largest number of empty
// initialisers it takes is their number.
#define IMPACTLAB_EMPTY(z, i, data) \
  {}
#define IMPACTLAB_TIE(z, i, most)                                                               \
  if constexpr (requires { Value{BOOST_PP_ENUM(BOOST_PP_SUB(most, i), IMPACTLAB_EMPTY, )}; }) { \
    auto& [BOOST_PP_ENUM_PARAMS(BOOST_PP_SUB(most, i), field)] = value;                         \
    return std::tie(BOOST_PP_ENUM_PARAMS(BOOST_PP_SUB(most, i), field));                        \
  } else  // NOLINT(readability-else-after-return)
template <class T>
auto TieFields(T& value) {
  using Value = std::remove_const_t<T>;
  static_assert(
      !requires { Value{BOOST_PP_ENUM(41, IMPACTLAB_EMPTY, )}; },
      "more fields than are counted to");
  BOOST_PP_REPEAT(40, IMPACTLAB_TIE, 40) return std::tie();
}
#undef IMPACTLAB_TIE
#undef IMPACTLAB_EMPTY

template <class T, template <class...> class Template>
inline constexpr bool kIsA = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool kIsA<Template<Arguments...>, Template> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;
// What a set or a map holds, with a key that can be written to.
template <class T>
struct Writable {
  using type = T;
};
template <class Key, class Mapped>
struct Writable<std::pair<const Key, Mapped>> {
  using type = std::pair<Key, Mapped>;
};
template <class Container>
using ItemOf = typename Writable<typename Container::value_type>::type;
template <class T>
concept DenseMatrix = std::is_base_of_v<Eigen::PlainObjectBase<T>, T>;
template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

}  // namespace data

// One walk for writing and for reading: `archive.Raw(bytes, n)` stores or fills, `archive.Size(n)`
// stores a number or gives the stored one.
template <class Archive, class T>
void Exchange(Archive& archive, T& value) {
  using Value = std::remove_const_t<T>;
  if constexpr (data::Plain<Value>) {
    archive.Raw(&value, sizeof value);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    const std::size_t n = archive.Size(value.size());
    if constexpr (!std::is_const_v<T>) value.resize(n);
    archive.Raw(value.data(), n);
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    std::string text = value.string();
    Exchange(archive, text);
    if constexpr (!std::is_const_v<T>) value = text;
  } else if constexpr (data::DenseMatrix<Value>) {
    const std::size_t rows = archive.Size(static_cast<std::size_t>(value.rows()));
    const std::size_t columns = archive.Size(static_cast<std::size_t>(value.cols()));
    if constexpr (!std::is_const_v<T>)
      value.resize(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    archive.Raw(value.data(), rows * columns * sizeof(typename Value::Scalar));
  } else if constexpr (std::is_same_v<Value, Eigen::Isometry3d>) {
    archive.Raw(value.matrix().data(), 16 * sizeof(double));
  } else if constexpr (data::kIsA<Value, std::function>) {
  } else if constexpr (data::kIsA<Value, std::optional>) {
    const bool there = archive.Size(value.has_value() ? 1 : 0) != 0;
    if constexpr (!std::is_const_v<T>) {
      if (there)
        value.emplace();
      else
        value.reset();
    }
    if (there) Exchange(archive, *value);
  } else if constexpr (data::kIsA<Value, std::pair>) {
    Exchange(archive, value.first);
    Exchange(archive, value.second);
  } else if constexpr (data::kIsArray<Value>) {
    for (auto& item : value) Exchange(archive, item);
  } else if constexpr (data::kIsA<Value, std::map> || data::kIsA<Value, std::set>) {
    const std::size_t n = archive.Size(value.size());
    if constexpr (std::is_const_v<T>) {
      for (const auto& item : value) Exchange(archive, item);
    } else {
      value.clear();
      for (std::size_t i = 0; i < n; ++i)
        value.insert(archive.template Next<data::ItemOf<Value>>());
    }
  } else if constexpr (data::kIsA<Value, std::vector>) {
    const std::size_t n = archive.Size(value.size());
    if constexpr (!std::is_const_v<T>) value.resize(n);
    if constexpr (std::is_same_v<typename Value::value_type, bool>) {
      for (std::size_t i = 0; i < n; ++i) {
        bool item = value[i];
        Exchange(archive, item);
        if constexpr (!std::is_const_v<T>) value[i] = item;
      }
    } else {
      for (auto& item : value) Exchange(archive, item);
    }
  } else {
    static_assert(std::is_aggregate_v<Value>, "only plain structs can be kept");
    std::apply([&](auto&... field) { (Exchange(archive, field), ...); }, data::TieFields(value));
  }
}

class ByteWriter {
 public:
  void Raw(const void* data, std::size_t n) { bytes_.append(static_cast<const char*>(data), n); }
  std::size_t Size(std::size_t n) {
    Raw(&n, sizeof n);
    return n;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  void Raw(void* data, std::size_t n) {
    if (n > bytes_.size()) throw DataError("kept bytes end early");
    if (n > 0) std::memcpy(data, bytes_.data(), n);
    bytes_.remove_prefix(n);
  }
  // Nothing that is counted is smaller than a byte in the store.
  std::size_t Size(std::size_t) {
    std::size_t n = 0;
    Raw(&n, sizeof n);
    if (n > bytes_.size()) throw DataError("kept bytes are damaged");
    return n;
  }
  template <class Item>
  Item Next() {
    Item item;
    Exchange(*this, item);
    return item;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

template <class... T>
std::string ToBytes(const T&... values) {
  ByteWriter writer;
  (Exchange(writer, values), ...);
  return writer.Take();
}

// DataError where the bytes are not those of a T.
template <class T>
T FromBytes(std::string_view bytes) {
  ByteReader reader(bytes);
  T value;
  Exchange(reader, value);
  if (!reader.empty()) throw DataError("kept bytes are too many");
  return value;
}

}  // namespace impactlab
