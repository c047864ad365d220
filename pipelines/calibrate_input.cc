#include "pipelines/calibrate_input.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include "calibration/detect.h"
#include "data/error.h"
#include "data/glob.h"
#include "data/progress.h"
#include "data/text.h"
#include "pipelines/interrupt.h"
#include "pipelines/parallel.h"
#include "tracking/video.h"

namespace impactlab::internal {
namespace {

bool HasExtension(const std::filesystem::path& file, const std::vector<std::string>& extensions) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

const std::vector<std::string> kPictures = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".ppm", ".webp", ".jp2"};
const std::vector<std::string> kVideos = {".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v", ".mts", ".m2ts", ".ts", ".wmv", ".mpg"};

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
  std::vector<std::string> few(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, names.size())));
  return JoinNames(few) + (names.size() > 3 ? ", ..." : "");
}

}  // namespace

std::vector<std::filesystem::path> FindFiles(const std::vector<std::string>& patterns, const std::filesystem::path& base, bool videos,
                                             const std::string& where) {
  std::vector<std::filesystem::path> out;
  for (const std::string& pattern : patterns) {
    const std::filesystem::path full = std::filesystem::path(pattern).is_absolute() ? std::filesystem::path(pattern) : base / pattern;
    std::error_code absent;
    std::vector<std::filesystem::path> found;
    if (std::filesystem::is_directory(full, absent)) {
      // A name with brackets or stars must not become a pattern.
      try {
        for (const auto& entry : std::filesystem::directory_iterator(full))
          if (entry.is_regular_file(absent) && HasExtension(entry.path(), videos ? kVideos : kPictures) &&
              entry.path().filename().string().front() != '.')
            found.push_back(entry.path());
      } catch (const std::filesystem::filesystem_error& error) {
        throw DataError(fmt::format("{}: {}", full.string(), error.code().message()));
      }
      std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return NaturalLess(a.string(), b.string()); });
      if (found.empty()) {
        throw DataError(fmt::format("{}: the folder '{}' holds no {} ({})", where, full.string(), videos ? "video" : "picture",
                                    JoinNames(videos ? kVideos : kPictures, " ")));
      }
    } else {
      found = ExpandGlob(pattern, base);
      if (found.empty())
        throw DataError(
            fmt::format("{}: no file matches '{}' in '{}'{}", where, pattern,
                        std::filesystem::absolute(base.empty() ? "." : base).lexically_normal().string(),
                        pattern.find('[') == std::string::npos ? "" : "; [ and ] stand for a choice of characters, not for themselves"));
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

std::vector<std::string> NameKeys(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> stems;
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
        std::mismatch(stems[0].begin(), stems[0].begin() + static_cast<std::ptrdiff_t>(prefix), s.begin(), s.end()).first -
        stems[0].begin());
    suffix = static_cast<std::size_t>(
        std::mismatch(stems[0].rbegin(), stems[0].rbegin() + static_cast<std::ptrdiff_t>(suffix), s.rbegin(), s.rend()).first -
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

std::vector<MatchedShot> MatchFiles(const CalibrationPlan& plan, const std::vector<std::vector<std::filesystem::path>>& files,
                                    std::vector<std::string>* notes) {
  std::vector<MatchedShot> shots;
  const std::size_t n = files.size();
  if (n == 1) {
    for (std::size_t k = 0; k < files[0].size(); ++k) shots.push_back({files[0][k].stem().string(), {static_cast<int>(k)}});
    return shots;
  }
  if (plan.match == ShotMatch::kIndex) {
    for (std::size_t c = 1; c < n; ++c) {
      if (files[c].size() != files[0].size()) {
        throw DataError(
            fmt::format("{}: match: index, but camera {} has {} pictures and camera {} {}; a picture without partner would move "
                        "all that follow: remove it, or use match: name",
                        plan.path.string(), plan.cameras[0].name, files[0].size(), plan.cameras[c].name, files[c].size()));
      }
    }
    for (std::size_t k = 0; k < files[0].size(); ++k)
      shots.push_back({files[0][k].stem().string(), std::vector<int>(n, static_cast<int>(k))});
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
        throw DataError(
            fmt::format("{}: match: name, but '{}' and '{}' of camera {} both read '{}'; give them names that differ, or use "
                        "match: index",
                        plan.path.string(), files[c][static_cast<std::size_t>(file)].filename().string(), files[c][k].filename().string(),
                        plan.cameras[c].name, all_keys[c][k]));
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
    throw DataError(
        fmt::format("{}: match: name, but no name of camera {} ({}) goes with one of camera {} ({}); name the pictures of one "
                    "instant alike, or use match: index when their order agrees",
                    plan.path.string(), plan.cameras[0].name, ShortList(all_keys[0]), plan.cameras[1].name, ShortList(all_keys[1])));
  }
  if (!alone.empty())
    notes->push_back(fmt::format("{} of {} instants lack a picture of some camera: {}", alone.size(), order.size(), ShortList(alone)));
  return shots;
}

std::optional<Eigen::Matrix<double, 8, 1>> BoardQuad(const Board& board, const BoardView& view) {
  if (view.points.size() < 4) return std::nullopt;
  // Projective map from the board, in half widths about its middle, to the image, in diagonals.
  const Eigen::Vector2d half = (0.5 * Extent(board)).cwiseMax(1e-9);
  const Eigen::Vector2d middle = PointOnBoard(board, 0).head<2>() + half;
  const double diagonal = std::hypot(view.width, view.height);
  const auto scaled = [&](const BoardPoint& p) -> Eigen::Vector2d {
    return (PointOnBoard(board, p.id).head<2>() - middle).cwiseQuotient(half);
  };
  Eigen::Matrix2d spread = Eigen::Matrix2d::Zero();
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  for (const BoardPoint& p : view.points) mean += scaled(p) / static_cast<double>(view.points.size());
  Eigen::Matrix<double, 9, 9> normal = Eigen::Matrix<double, 9, 9>::Zero();
  for (const BoardPoint& p : view.points) {
    const Eigen::Vector2d g = scaled(p);
    const Eigen::Vector2d q = p.q / diagonal - Eigen::Vector2d(0.4, 0.3);
    spread += (g - mean) * (g - mean).transpose();
    for (int k = 0; k < 2; ++k) {
      Eigen::Matrix<double, 9, 1> row = Eigen::Matrix<double, 9, 1>::Zero();
      row.segment<3>(3 * k) << g.x(), g.y(), 1;
      row.tail<3>() << -q(k) * g.x(), -q(k) * g.y(), -q(k);
      normal += row * row.transpose();
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> shape(spread);
  if (!(shape.eigenvalues()(0) > 1e-3 * shape.eigenvalues()(1))) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, 9, 9>> solver(normal);
  const Eigen::Matrix<double, 9, 1> h = solver.eigenvectors().col(0);
  Eigen::Matrix<double, 8, 1> quad;
  constexpr int kCorners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (int k = 0; k < 4; ++k) {
    const Eigen::Vector3d g(kCorners[k][0], kCorners[k][1], 1);
    const double w = h.tail<3>().dot(g);
    if (std::abs(w) < 1e-6 * h.tail<3>().norm()) return std::nullopt;
    quad.segment<2>(2 * k) << h.segment<3>(0).dot(g) / w, h.segment<3>(3).dot(g) / w;
  }
  return quad.allFinite() ? std::optional(quad) : std::nullopt;
}

void SettleSizes(CalibrationProblem* problem) {
  for (std::size_t c = 0; c < problem->cameras.size(); ++c) {
    std::map<std::pair<int, int>, int> sizes;
    for (const BoardShot& shot : problem->shots) {
      const BoardView& view = shot.views[c];
      if (view.width > 0) ++sizes[{view.width, view.height}];
    }
    const auto most = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == sizes.end()) continue;
    CameraSetup& setup = problem->cameras[c];
    setup.width = most->first.first;
    setup.height = most->first.second;
    for (BoardShot& shot : problem->shots) {
      BoardView& view = shot.views[c];
      if (view.width == 0 || (view.width == setup.width && view.height == setup.height)) continue;
      view.points.clear();
      view.problem =
          fmt::format("has {} x {} pixels, most pictures of this camera {} x {}: turned, cropped or scaled pictures cannot be mixed",
                      view.width, view.height, setup.width, setup.height);
      view.width = setup.width;
      view.height = setup.height;
    }
  }
}

void ReadStills(const CalibrateOptions& options, CalibrationRun* run) {
  const CalibrationPlan& plan = run->plan;
  std::vector<std::vector<std::filesystem::path>> files;
  for (const CameraSource& camera : plan.cameras) {
    files.push_back(
        FindFiles(camera.images, plan.path.parent_path(), false, fmt::format("{}: camera {}", plan.path.string(), camera.name)));
    run->files.insert(run->files.end(), files.back().begin(), files.back().end());
  }
  const std::vector<MatchedShot> matched = MatchFiles(plan, files, &run->notes);
  if (plan.cameras.size() > 1)
    run->notes.push_back(
        fmt::format("pictures were matched by {}; those of one shot must show the board at the same place", ToString(plan.match)));
  const std::size_t n = plan.cameras.size();
  for (const MatchedShot& shot : matched) run->problem.shots.push_back({shot.name, std::vector<BoardView>(n)});
  std::string unreadable;  // the first one
  std::size_t n_read = 0;
  std::mutex guard;
  ProgressOptions shown;
  shown.enabled = !options.quiet;
  Progress progress("finding boards", static_cast<std::int64_t>(run->files.size()), "pictures", shown);
  ForEachIndex(matched.size() * n, options.threads, [&](std::size_t k) {
    CheckInterrupt();
    const int file = matched[k / n].file[k % n];
    BoardView& view = run->problem.shots[k / n].views[k % n];
    if (file < 0) {
      view.problem = "no picture";
      return;
    }
    const std::filesystem::path& path = files[k % n][static_cast<std::size_t>(file)];
    try {
      const GrayImage image = ReadImage(path);
      view = DetectBoard(image, plan.board, plan.detect);
      view.width = image.width;
      view.height = image.height;
      const std::lock_guard lock(guard);
      ++n_read;
    } catch (const DataError& error) {
      view = {};
      view.problem = error.what();
      const std::lock_guard lock(guard);
      if (unreadable.empty() || unreadable > view.problem) unreadable = view.problem;
    }
    view.image = path.string();
    progress.Advance();
  });
  if (n_read == 0) throw DataError(fmt::format("none of {} pictures can be read; first: {}", run->files.size(), unreadable));
}

std::vector<GrayImage> ReadViewImages(const std::vector<std::string>& names) {
  std::vector<GrayImage> images(names.size());
  std::map<std::string, std::multimap<long long, std::size_t>> clips;  // by file: frame and place
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto mark = names[k].rfind('#');
    std::error_code absent;
    long long frame = -1;
    if (mark != std::string::npos && !std::filesystem::is_regular_file(names[k], absent)) {
      const char* const end = names[k].data() + names[k].size();
      const auto [last, error] = std::from_chars(names[k].data() + mark + 1, end, frame);
      if (error == std::errc() && last == end) {
        clips[names[k].substr(0, mark)].emplace(frame, k);
        continue;
      }
    }
    try {
      images[k] = ReadImage(names[k]);
    } catch (const DataError&) {  // stays empty
    }
  }
  for (const auto& [file, wanted] : clips) {
    try {
      VideoReader reader(file);
      GrayImage image;
      for (auto next = wanted.begin(); next != wanted.end() && reader.Next(&image, nullptr);)
        for (; next != wanted.end() && next->first <= reader.index(); ++next)
          if (next->first == reader.index()) images[next->second] = image;
    } catch (const DataError&) {  // the rest stays empty
    }
  }
  return images;
}

}  // namespace impactlab::internal
