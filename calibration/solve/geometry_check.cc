#include "calibration/solve/geometry_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

void CountCells(const CalibrationProblem& problem, int camera, const GeometryOptions& options,
                CameraGeometry* out) {
  const CameraSetup& setup = problem.cameras[camera];
  out->coverage_columns = options.coverage_columns;
  out->coverage_rows = options.coverage_rows;
  out->cell_points.assign(
      static_cast<std::size_t>(options.coverage_columns) * options.coverage_rows, 0);
  for (const BoardShot& shot : problem.shots) {
    if (camera >= static_cast<int>(shot.views.size())) continue;
    const BoardView& view = shot.views[camera];
    if (!view.points.empty()) ++out->shots;
    for (const BoardPoint& point : view.points) {
      const double u = (point.q.x() + 0.5) / setup.width, v = (point.q.y() + 0.5) / setup.height;
      if (!(u >= 0 && u < 1 && v >= 0 && v < 1)) continue;
      ++out->points;
      ++out->cell_points[static_cast<int>(v * options.coverage_rows) * options.coverage_columns +
                         static_cast<int>(u * options.coverage_columns)];
      const bool left = u < 0.2, right = u >= 0.8, top = v < 0.2, bottom = v >= 0.8;
      if ((left || right) && (top || bottom)) ++out->corner_points[2 * bottom + right];
    }
  }
  const auto filled =
      std::count_if(out->cell_points.begin(), out->cell_points.end(), [](int n) { return n > 0; });
  if (!out->cell_points.empty())
    out->coverage = static_cast<double>(filled) / static_cast<double>(out->cell_points.size());
}

void MeasurePoses(const CalibrationProblem& problem,
                  const std::vector<std::optional<Eigen::Isometry3d>>& X_CG, int camera,
                  CameraGeometry* out) {
  std::vector<Eigen::Vector3d> normals;
  std::vector<double> depths;
  for (std::size_t s = 0; s < std::min(X_CG.size(), problem.shots.size()); ++s) {
    if (!X_CG[s] || camera >= static_cast<int>(problem.shots[s].views.size())) continue;
    const BoardView& view = problem.shots[s].views[camera];
    if (view.points.empty()) continue;
    normals.push_back(X_CG[s]->linear().col(2));
    for (const BoardPoint& point : view.points)
      depths.push_back((*X_CG[s] * PointOnBoard(problem.board, point.id)).z());
  }
  for (std::size_t i = 0; i < normals.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      out->tilt_spread = std::max(out->tilt_spread, std::atan2(normals[i].cross(normals[j]).norm(),
                                                               normals[i].dot(normals[j])));
  if (depths.empty()) return;
  out->depth_near = Quantile(depths, 0.05);
  out->depth_far = Quantile(depths, 0.95);
}

std::string EmptyCorners(const CameraGeometry& geometry) {
  const char* const names[4] = {"top left", "top right", "bottom left", "bottom right"};
  std::string list;
  for (int k = 0; k < 4; ++k)
    if (geometry.corner_points[k] < 3) list += (list.empty() ? "" : ", ") + std::string(names[k]);
  return list;
}

void Judge(const std::string& name, int camera, const CameraGeometry& g, bool poses_known,
           const GeometryOptions& o, std::vector<RigFinding>* findings) {
  const auto add = [&](bool refuse, const char* code, std::string text, std::string advice) {
    findings->push_back({refuse ? RigVerdict::kRefused : RigVerdict::kUsable, camera, code,
                         std::move(text), std::move(advice)});
  };
  if (g.shots < o.good_shots) {
    add(g.shots < o.min_shots, "few-shots",
        fmt::format(
            "{}: the board was found in {} picture{}; at least {} are needed, {} make it good",
            name, g.shots, g.shots == 1 ? "" : "s", o.min_shots, o.good_shots),
        fmt::format("film the board with {} at more places and tilts until it is found in {} "
                    "pictures or more",
                    name, o.good_shots));
  }
  if (g.shots == 0) return;
  if (g.coverage < o.good_coverage) {
    const std::string corners = EmptyCorners(g);
    add(g.coverage < o.min_coverage, "coverage",
        fmt::format("{}: board points fill {:.0f} % of the picture; elsewhere the lens model "
                    "extrapolates (at least {:.0f} % is needed, {:.0f} % is good)",
                    name, 100 * g.coverage, 100 * o.min_coverage, 100 * o.good_coverage),
        corners.empty() ? fmt::format("move the board through the whole picture of {}", name)
                        : fmt::format("hold the board into these corners of the picture of {}: {}",
                                      name, corners));
  }
  if (!poses_known) return;
  if (g.shots > 1 && g.tilt_spread < o.good_tilt_spread) {
    add(g.tilt_spread < o.min_tilt_spread, "parallel-boards",
        fmt::format("{}: the boards {} ({:.1f} degrees between the most different two; at least "
                    "{:.0f} are needed, {:.0f} are good). With parallel boards a long focal length "
                    "at a large distance looks like a short one nearby",
                    name,
                    g.tilt_spread < o.min_tilt_spread ? "are all parallel to each other"
                                                      : "are tilted little",
                    g.tilt_spread / kDegree, o.min_tilt_spread / kDegree,
                    o.good_tilt_spread / kDegree),
        fmt::format("tilt the board towards {}: 30 to 45 degrees to the left, right, up and down",
                    name));
  }
  if (g.depth_near > 0 && g.depth_far < o.good_depth_ratio * g.depth_near) {
    add(g.depth_far < o.min_depth_ratio * g.depth_near, "single-depth",
        fmt::format("{}: all board points are {:.3g} to {:.3g} m away{}", name, g.depth_near,
                    g.depth_far,
                    g.depth_far < o.min_depth_ratio * g.depth_near
                        ? ", in effect a single depth: focal length and distance are not "
                          "determined separately"
                        : ", a small range of depth"),
        fmt::format("film the board nearer to {} and farther away, by half the distance at least",
                    name));
  }
}

}  // namespace

GeometryCheck CheckGeometry(const CalibrationProblem& problem, const BoardPoses& X_CG,
                            const GeometryOptions& options) {
  GeometryCheck check;
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    CameraGeometry geometry;
    CountCells(problem, c, options, &geometry);
    bool poses_known = false;
    if (c < static_cast<int>(X_CG.size())) {
      MeasurePoses(problem, X_CG[c], c, &geometry);
      poses_known = geometry.depth_far > 0;
    }
    Judge(problem.cameras[c].name, c, geometry, poses_known, options, &check.findings);
    check.cameras.push_back(std::move(geometry));
  }
  return check;
}

BoardPoses PosesInCameras(const CalibrationResult& result) {
  BoardPoses X_CG(result.rig.cameras.size(),
                  std::vector<std::optional<Eigen::Isometry3d>>(result.shots.size()));
  for (std::size_t c = 0; c < result.rig.cameras.size(); ++c)
    for (std::size_t s = 0; s < result.shots.size(); ++s)
      if (result.shots[s].used)
        X_CG[c][s] = result.rig.cameras[c].X_WC.inverse() * result.shots[s].X_WG;
  return X_CG;
}

}  // namespace impactlab
