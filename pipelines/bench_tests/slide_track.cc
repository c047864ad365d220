#include "pipelines/bench_tests/detail/slide_track.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

// Of the largest spread of places, from the first to the last.
Eigen::VectorXd DirectionOf(const std::vector<Eigen::VectorXd>& points) {
  Eigen::VectorXd middle = Eigen::VectorXd::Zero(points[0].size());
  for (const auto& p : points) middle += p / static_cast<double>(points.size());
  Eigen::MatrixXd spread = Eigen::MatrixXd::Zero(middle.size(), middle.size());
  for (const auto& p : points) spread += (p - middle) * (p - middle).transpose();
  Eigen::VectorXd along =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(spread).eigenvectors().rightCols(1);
  if (along.dot(points.back() - points.front()) < 0) along = -along;
  return along;
}

}  // namespace

SlideTrack ReadSlideTrack(BenchReader& in) {
  const Table table = in.ReadTable(
      in.Path("slide",
              "kinetic friction, instead of times and places: CSV of a track, t_s with s_m, with "
              "x_m, z_m (and y_m), or with x_px, y_px as in tracks.csv; four points or more"),
      {"recording", "camera", "marker", "flags"});
  std::map<std::string, std::string> rows;  // of what a column of the table must say
  for (const char* key : {"recording", "camera", "marker"}) {
    std::string name;
    const bool wanted = in.node().Has(key);
    in.keys().Stated(true).Text(
        key, name,
        key[0] == 'r' ? "which rows of slide, where it has such a column. Default: all"
                      : "which rows of slide. Default: all");
    if (wanted && table.HasText(key)) rows[key] = name;
  }
  SlideTrack out;
  std::vector<std::vector<double>> axes;
  int height = -1;  // which axis it is
  out.pixels = table.Has("x_px");
  const std::vector<double> t = SiColumn(table, "t", Quantity::kTime);
  if (out.pixels) {
    axes = {table.Column("x_px"), table.Column("y_px")};
    height = 1;
  } else if (HasQuantity(table, "s", Quantity::kLength)) {
    axes = {SiColumn(table, "s", Quantity::kLength)};
  } else {
    for (const char* axis : {"x", "y", "z"})
      if (HasQuantity(table, axis, Quantity::kLength)) {
        if (*axis == 'z') height = static_cast<int>(axes.size());
        axes.push_back(SiColumn(table, axis, Quantity::kLength));
      }
    if (axes.empty())
      throw DataError(fmt::format(
          "{}: found neither s_m nor x_m, z_m nor x_px, y_px, allowed one of them; the file has {}",
          table.path, JoinNames(table.columns)));
  }
  std::vector<Eigen::VectorXd> points;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    bool wanted = true;
    for (const auto& [column, name] : rows)
      wanted = wanted && table.TextColumn(column)[row] == name;
    if (table.HasText("flags"))
      for (const char* flag : {"predicted", "outlier"})
        wanted = wanted && table.TextColumn("flags")[row].find(flag) == std::string::npos;
    if (!wanted) continue;
    if (!out.t.empty() && !(t[row] > out.t.back()))
      throw table.Fault(row, ColumnNameOf(table, "t", Quantity::kTime), FormatNumber(t[row]),
                        "rising times; one recording, camera and marker of several by their keys");
    Eigen::VectorXd point(static_cast<Eigen::Index>(axes.size()));
    for (std::size_t k = 0; k < axes.size(); ++k)
      point[static_cast<Eigen::Index>(k)] = axes[k][row];
    if (!point.allFinite()) continue;  // not seen
    out.t.push_back(t[row]);
    points.push_back(point);
  }
  if (points.size() < 4)
    throw DataError(fmt::format("{}: found {} places of the slide, allowed four or more",
                                table.path, points.size()));
  const Eigen::VectorXd along = DirectionOf(points);
  for (const auto& p : points) out.s.push_back(along.dot(p - points.front()));
  if (height >= 0 && points[0].size() > 1)
    out.rise = std::asin(std::clamp(along[height], -1.0, 1.0)) * (out.pixels ? -1 : 1);
  return out;
}

}  // namespace impactlab::pipelines
