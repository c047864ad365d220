#include "pipelines/calibrate/detail/input.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include "calibration/detect/detect.h"
#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/cache/stage_cache.h"
#include "data/math/linear_algebra.h"
#include "pipelines/config/run_context.h"
#include "tracking/video/video.h"

namespace impactlab::pipelines {

std::vector<MatchedShot> MatchFiles(const CalibrationConfig& plan,
                                    const std::vector<std::vector<std::filesystem::path>>& files,
                                    std::vector<std::string>* notes) {
  std::vector<MatchedShot> shots;
  const std::size_t n = files.size();
  if (n > 1 && plan.match == ShotMatch::kIndex) {
    for (std::size_t c = 1; c < n; ++c) {
      if (files[c].size() != files[0].size()) {
        throw DataError(
            fmt::format("{}: match: index, but camera {} has {} pictures and camera {} {}; a "
                        "picture without partner would move all that follow: remove it, or use "
                        "match: name",
                        plan.path.string(), plan.cameras[0].name, files[0].size(),
                        plan.cameras[c].name, files[c].size()));
      }
    }
    for (std::size_t k = 0; k < files[0].size(); ++k)
      shots.push_back({files[0][k].stem().string(), std::vector<int>(n, static_cast<int>(k))});
    return shots;
  }
  std::vector<std::string> cameras;
  for (const CameraSource& camera : plan.cameras) cameras.push_back(camera.name);
  return MatchByName(cameras, files, plan.path.string() + ": match: name", "picture",
                     ", or use match: index when their order agrees", notes);
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
  for (const BoardPoint& p : view.points)
    mean += scaled(p) / static_cast<double>(view.points.size());
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
  const Eigen::VectorXd h = EigenOf(normal).vectors.col(0);
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
    const auto most =
        std::max_element(sizes.begin(), sizes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == sizes.end()) continue;
    CameraSetup& setup = problem->cameras[c];
    setup.width = most->first.first;
    setup.height = most->first.second;
    for (BoardShot& shot : problem->shots) {
      BoardView& view = shot.views[c];
      if (view.width == 0 || (view.width == setup.width && view.height == setup.height)) continue;
      view.points.clear();
      view.problem = fmt::format(
          "has {} x {} pixels, most pictures of this camera {} x {}: turned, cropped or scaled "
          "pictures cannot be mixed",
          view.width, view.height, setup.width, setup.height);
      view.width = setup.width;
      view.height = setup.height;
    }
  }
}

void ReadStills(const RunContext& context, CalibrationRun* run) {
  const CalibrationConfig& plan = run->plan;
  std::vector<std::vector<std::filesystem::path>> files;
  for (const CameraSource& camera : plan.cameras) {
    files.push_back(FindFiles(camera.images, plan.path.parent_path(), false,
                              fmt::format("{}: camera {}", plan.path.string(), camera.name)));
    run->files.insert(run->files.end(), files.back().begin(), files.back().end());
  }
  const std::vector<MatchedShot> matched = MatchFiles(plan, files, &run->notes);
  if (plan.cameras.size() > 1)
    run->notes.push_back(fmt::format(
        "pictures were matched by {}; those of one shot must show the board at the same place",
        ToString(plan.match)));
  const std::size_t n = plan.cameras.size();
  for (const MatchedShot& shot : matched)
    run->problem.shots.push_back({shot.name, std::vector<BoardView>(n)});
  std::string unreadable;  // the first one
  std::size_t n_read = 0;
  std::mutex guard;
  Progress progress("finding boards", static_cast<std::int64_t>(run->files.size()), "pictures",
                    context.Shown());
  ForEachIndex(matched.size() * n, context.threads, [&](std::size_t k) {
    context.CheckCancelled();
    const int file = matched[k / n].file[k % n];
    BoardView& view = run->problem.shots[k / n].views[k % n];
    if (file < 0) {
      view.problem = "no picture";
      return;
    }
    const std::filesystem::path& path = files[k % n][static_cast<std::size_t>(file)];
    try {
      view = StageResult<BoardView>(
          context.cache, "board",
          [&] {
            const GrayImage image = ReadImage(path);
            BoardView found = DetectBoard(image, plan.board, plan.detect);
            found.width = image.width;
            found.height = image.height;
            return found;
          },
          plan.board, plan.detect, ContentOf(context.cache, {path}));
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
  if (n_read == 0)
    throw DataError(
        fmt::format("none of {} pictures can be read; first: {}", run->files.size(), unreadable));
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

}  // namespace impactlab::pipelines
