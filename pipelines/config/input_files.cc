#include "pipelines/config/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "data/base/error.h"
#include "data/files/glob.h"
#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

bool HasExtension(const std::filesystem::path& file, const std::vector<std::string>& extensions) {
  const std::string extension = LowerCase(file.extension().string());
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

const std::vector<std::string> kPictures = {".png", ".jpg", ".jpeg", ".tif",  ".tiff",
                                            ".bmp", ".pgm", ".ppm",  ".webp", ".jp2"};
const std::vector<std::string> kVideos = {".mp4", ".mov",  ".avi", ".mkv", ".webm", ".m4v",
                                          ".mts", ".m2ts", ".ts",  ".wmv", ".mpg"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string WithoutLeadingZeros(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_number = IsDigit(text[i]) && (i == 0 || !IsDigit(text[i - 1]));
    if (starts_number)
      while (text[i] == '0' && i + 1 < text.size() && IsDigit(text[i + 1])) ++i;
    out += text[i];
  }
  return out;
}

std::string ShortList(const std::vector<std::string>& names) {
  std::vector<std::string> few(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, names.size())));
  return JoinNames(few) + (names.size() > 3 ? ", ..." : "");
}

}  // namespace

std::vector<std::filesystem::path> FindFiles(const std::vector<std::string>& patterns,
                                             const std::filesystem::path& base, bool videos,
                                             const std::string& where) {
  std::vector<std::filesystem::path> out;
  for (const std::string& pattern : patterns) {
    const std::filesystem::path full = std::filesystem::path(pattern).is_absolute()
                                           ? std::filesystem::path(pattern)
                                           : base / pattern;
    std::error_code absent;
    std::vector<std::filesystem::path> found;
    if (std::filesystem::is_directory(full, absent)) {
      // A name with brackets or stars must not become a pattern.
      try {
        for (const auto& entry : std::filesystem::directory_iterator(full))
          if (entry.is_regular_file(absent) &&
              HasExtension(entry.path(), videos ? kVideos : kPictures) &&
              entry.path().filename().string().front() != '.')
            found.push_back(entry.path());
      } catch (const std::filesystem::filesystem_error& error) {
        throw DataError(fmt::format("{}: {}", full.string(), error.code().message()));
      }
      std::sort(found.begin(), found.end(),
                [](const auto& a, const auto& b) { return NaturalLess(a.string(), b.string()); });
      if (found.empty()) {
        throw DataError(fmt::format("{}: the folder '{}' holds no {} ({})", where, full.string(),
                                    videos ? "video" : "picture",
                                    JoinNames(videos ? kVideos : kPictures, " ")));
      }
    } else {
      found = ExpandGlob(pattern, base);
      if (found.empty())
        throw DataError(fmt::format(
            "{}: no file matches '{}' in '{}'{}", where, pattern,
            std::filesystem::absolute(base.empty() ? "." : base).lexically_normal().string(),
            pattern.find('[') == std::string::npos
                ? ""
                : "; [ and ] stand for a choice of characters, not for themselves"));
    }
    for (const auto& file : found) {
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(file, ignored))
        throw DataError(fmt::format("{}: '{}' is not a regular file", where, file.string()));
    }
    for (const auto& file : found)
      if (std::find(out.begin(), out.end(), file) == out.end()) out.push_back(file);
  }
  return out;
}

bool IsPicture(const std::filesystem::path& file) { return HasExtension(file, kPictures); }

std::vector<std::string> NameKeys(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> stems;
  stems.reserve(files.size());
  for (const auto& file : files) stems.push_back(file.stem().string());
  if (stems.empty()) return {};
  if (stems.size() == 1) {
    // With a single name nothing shows what changes: its last number.
    const auto last = stems[0].find_last_of("0123456789");
    if (last == std::string::npos) return stems;
    auto first = last;
    while (first > 0 && IsDigit(stems[0][first - 1])) --first;
    return {WithoutLeadingZeros(stems[0].substr(first, last + 1 - first))};
  }
  std::size_t prefix = stems[0].size(), suffix = stems[0].size();
  for (const std::string& s : stems) {
    prefix = static_cast<std::size_t>(
        std::mismatch(stems[0].begin(), stems[0].begin() + static_cast<std::ptrdiff_t>(prefix),
                      s.begin(), s.end())
            .first -
        stems[0].begin());
    suffix = static_cast<std::size_t>(
        std::mismatch(stems[0].rbegin(), stems[0].rbegin() + static_cast<std::ptrdiff_t>(suffix),
                      s.rbegin(), s.rend())
            .first -
        stems[0].rbegin());
  }
  // A number is one thing: left01 and left02 share "left", not "left0".
  while (prefix > 0 && IsDigit(stems[0][prefix - 1])) --prefix;
  while (suffix > 0 && IsDigit(stems[0][stems[0].size() - suffix])) --suffix;
  std::vector<std::string> keys;
  for (const std::string& s : stems) {
    const std::size_t end = std::max(prefix, s.size() - std::min(suffix, s.size()));
    keys.push_back(WithoutLeadingZeros(s.substr(prefix, end - prefix)));
  }
  return keys;
}

std::vector<MatchedShot> MatchByName(const std::vector<std::string>& cameras,
                                     const std::vector<std::vector<std::filesystem::path>>& files,
                                     const std::string& where, const std::string& unit,
                                     const std::string& cure, std::vector<std::string>* notes) {
  std::vector<MatchedShot> shots;
  const std::size_t n = files.size();
  if (n == 1) {
    for (std::size_t k = 0; k < files[0].size(); ++k)
      shots.push_back({files[0][k].stem().string(), {static_cast<int>(k)}});
    return shots;
  }
  std::vector<std::string> order;  // of the keys, as first seen
  std::map<std::string, std::vector<int>> by_key;
  std::vector<std::vector<std::string>> all_keys;
  for (std::size_t c = 0; c < n; ++c) {
    all_keys.push_back(NameKeys(files[c]));
    for (std::size_t k = 0; k < files[c].size(); ++k) {
      auto [place, fresh] = by_key.try_emplace(all_keys[c][k], n, -1);
      if (fresh) order.push_back(all_keys[c][k]);
      int& file = place->second[c];
      if (file >= 0) {
        throw DataError(fmt::format(
            "{}, but '{}' and '{}' of camera {} both read '{}'; give them names that differ{}",
            where, files[c][static_cast<std::size_t>(file)].filename().string(),
            files[c][k].filename().string(), cameras[c], all_keys[c][k], cure));
      }
      file = static_cast<int>(k);
    }
  }
  std::sort(order.begin(), order.end(), NaturalLess);
  int shared = 0;
  std::vector<std::string> alone;
  for (const std::string& key : order) {
    const std::vector<int>& file = by_key.at(key);
    const auto seen = std::count_if(file.begin(), file.end(), [](int k) { return k >= 0; });
    shared += seen > 1;
    if (seen < static_cast<std::ptrdiff_t>(n)) alone.push_back(key);
    shots.push_back({key, file});
  }
  if (shared == 0) {
    throw DataError(fmt::format(
        "{}, but no name of camera {} ({}) goes with one of camera {} ({}); name the {}s that "
        "belong together alike{}",
        where, cameras[0], ShortList(all_keys[0]), cameras[1], ShortList(all_keys[1]), unit, cure));
  }
  if (!alone.empty())
    notes->push_back(fmt::format("{} of {} lack a {} of some camera: {}", alone.size(),
                                 order.size(), unit, ShortList(alone)));
  return shots;
}

}  // namespace impactlab::pipelines
