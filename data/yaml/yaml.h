#pragma once
// Strict YAML for configurations.
//
// A reader asks for every key it knows, with type and range, and then calls Finish() once on the
// root: a key nobody asked for is an error that names the nearest known key. Every fault is one
// ConfigError line, "file:line: key: found X, allowed Y", with nested keys written body.side_m.
//
// Refused at load time: an empty file, a second document, duplicate keys, tabs outside comments,
// anchors, aliases, tags, a byte order mark, bytes that are not UTF-8, more than 1 MB, more than 32
// levels, and anything but a map at the top. Numbers are plain decimal and finite;
// `.nan`,
// `.inf`, hexadecimal, `1_000` and quoted numbers are not numbers. Flags are `true` and `false`
// only.
//
//   YamlNode root = LoadYaml("experiment.yaml");
//   YamlNode body = root.Map("body");
//   double mass = body.Number("mass_kg", Positive());
//   double tilt = root.Number("tilt_rad", 0.0, Closed(-1.5, 1.5));
//   root.Finish();

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/base/error.h"

namespace impactlab {

// Interval of allowed numbers.
struct Range {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool lo_open = false;  // true: lo itself is not allowed
  bool hi_open = false;

  // Not an aggregate, so that a braced list of numbers is never taken for a range.
  Range() {}
  bool Contains(double value) const;
  std::string Words() const;  // "a number above 0 and at most 1"
};
Range Closed(double lo, double hi);
Range Open(double lo, double hi);
Range Positive();     // above 0
Range NonNegative();  // 0 or above
Range AtLeast(double lo);

// A map of a YAML document. A cheap value: copies see the same map and share the record of the keys
// asked for.
class YamlNode {
 public:
  YamlNode();  // an empty map; every key is missing
  ~YamlNode();
  YamlNode(const YamlNode&);
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(const YamlNode&);
  YamlNode& operator=(YamlNode&&) noexcept;

  // Asking whether a key is there makes it known; a key that is there and never read by one of the
  // functions below is still accepted.
  bool Has(const std::string& key) const;

  // Without a default the key is required. A default is returned as it is, without a range check.
  // All throw ConfigError.
  double Number(const std::string& key, const Range& allowed = {}) const;
  double Number(const std::string& key, double otherwise, const Range& allowed = {}) const;
  std::int64_t Integer(const std::string& key, const Range& allowed = {}) const;
  std::int64_t Integer(const std::string& key, std::int64_t otherwise,
                       const Range& allowed = {}) const;
  bool Flag(const std::string& key) const;
  bool Flag(const std::string& key, bool otherwise) const;

  // Text that is not empty. A number or a flag written without quotes is read as its text.
  std::string Text(const std::string& key) const;
  std::string Text(const std::string& key, const std::string& otherwise) const;
  // One word out of `allowed`.
  std::string Choice(const std::string& key, const std::vector<std::string>& allowed) const;
  std::string Choice(const std::string& key, const std::string& otherwise,
                     const std::vector<std::string>& allowed) const;

  // List of n numbers; n < 0 allows any length above 0.
  std::vector<double> Vector(const std::string& key, int n, const Range& allowed = {}) const;
  std::vector<double> Vector(const std::string& key, int n, const std::vector<double>& otherwise,
                             const Range& allowed = {}) const;
  // List of lists of n numbers each, such as vertices.
  std::vector<std::vector<double>> Vectors(const std::string& key, int n,
                                           const Range& allowed = {}) const;
  // List of texts; a single text stands for a list of one.
  std::vector<std::string> Texts(const std::string& key) const;
  std::vector<std::string> Texts(const std::string& key,
                                 const std::vector<std::string>& otherwise) const;

  YamlNode Map(const std::string& key) const;
  // The map, or an empty map where the key is missing, so that its defaults apply.
  YamlNode MapOrEmpty(const std::string& key) const;
  // List of maps; at least one.
  std::vector<YamlNode> List(const std::string& key) const;
  // Keys present, in the order of the file. Makes all of them known (for maps whose keys are free
  // names).
  std::vector<std::string> Keys() const;

  // Throws ConfigError for the first key, here or in any map handed out from here, that was never
  // asked for.
  void Finish() const;

  // Says what a key means to whoever collects the questions of readers (data/yaml/questions.h); the
  // key stays as unknown as it was.
  void Explain(const std::string& key, const std::string& meaning) const;

  // "file:line" of a key; of the map itself where the key is missing or empty.
  std::string Where(const std::string& key = {}) const;
  // Full name of a key from the top of the document, e.g. "body.side_m".
  std::string FullName(const std::string& key) const;
  // The project's one error line for a key, for checks that only the caller can make.
  ConfigError Fault(const std::string& key, const std::string& found,
                    const std::string& allowed) const;

  // File as given to LoadYaml, and the folder that relative paths in it start from.
  std::filesystem::path File() const;
  std::filesystem::path Folder() const;
  // The whole document as it was read.
  const std::string& Source() const;

  struct State;  // private to yaml.cc

 private:
  explicit YamlNode(std::shared_ptr<State> state);
  friend YamlNode ParseYaml(std::string_view text, const std::string& name);
  std::shared_ptr<State> state_;
};

YamlNode LoadYaml(const std::filesystem::path& path);
// `name` stands for the file name in messages.
YamlNode ParseYaml(std::string_view text, const std::string& name);

// `text` as a double-quoted YAML scalar, safe for any UTF-8 content.
std::string YamlQuote(std::string_view text);

}  // namespace impactlab
