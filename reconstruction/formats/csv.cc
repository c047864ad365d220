// Markers as a table: one row a frame.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "reconstruction/formats/detail/marker_table.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr std::array<const char*, 3> kAxes = {"x", "y", "z"};
constexpr std::array<std::pair<int, int>, 6> kPairs = {
    {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}};
constexpr const char* kAllowed =
    "for every marker NAME_x_m, NAME_y_m, NAME_z_m (or another unit of length)";

// What a column holds of which marker.
struct Place {
  enum class What { kNothing, kPosition, kSd, kCov, kResidual } what = What::kNothing;
  std::string marker;
  int entry = 0;  // axis, or pair of axes
  double to_si = 1;
};

bool TakeEnd(std::string* text, const std::string& end) {
  if (text->size() <= end.size() || !text->ends_with(end)) return false;
  text->resize(text->size() - end.size());
  return true;
}

Place PlaceOf(const std::string& column) {
  Place place;
  place.marker = column;
  for (std::size_t k = 0; k < kPairs.size(); ++k) {
    place.entry = static_cast<int>(k);
    place.what = Place::What::kCov;
    if (TakeEnd(&place.marker,
                fmt::format("_cov_{}{}_m2", kAxes[static_cast<std::size_t>(kPairs[k].first)],
                            kAxes[static_cast<std::size_t>(kPairs[k].second)])))
      return place;
  }
  const UnitName split = SplitUnit(column);
  place.marker = split.stem;
  place.to_si = split.to_si;
  place.what = Place::What::kNothing;
  if (split.quantity != Quantity::kLength) return place;
  place.what = Place::What::kResidual;
  if (TakeEnd(&place.marker, "_residual")) return place;
  for (int axis = 0; axis < 3; ++axis) {
    place.entry = axis;
    place.what = Place::What::kSd;
    if (TakeEnd(&place.marker, fmt::format("_sd_{}", kAxes[static_cast<std::size_t>(axis)])))
      return place;
    place.what = Place::What::kPosition;
    if (TakeEnd(&place.marker, fmt::format("_{}", kAxes[static_cast<std::size_t>(axis)])))
      return place;
  }
  place.what = Place::What::kNothing;
  return place;
}

// Columns of one marker in the table; -1 where there is none.
struct Columns {
  std::array<int, 3> position = {-1, -1, -1}, sd = {-1, -1, -1};
  std::array<int, 6> cov = {-1, -1, -1, -1, -1, -1};
  int residual = -1;
  double to_si[10] = {};  // position, sd, residual (6)
};

struct Layout {
  std::vector<std::string> markers;
  std::vector<Columns> columns;
};

Layout FindColumns(const Table& table) {
  Layout layout;
  std::map<std::string, std::size_t> index;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Place place = PlaceOf(table.columns[c]);
    if (place.what == Place::What::kNothing) continue;
    const auto [at, is_new] = index.emplace(place.marker, layout.markers.size());
    if (is_new) {
      layout.markers.push_back(place.marker);
      layout.columns.emplace_back();
    }
    Columns& own = layout.columns[at->second];
    const auto entry = static_cast<std::size_t>(place.entry);
    int* slot = place.what == Place::What::kPosition ? &own.position[entry]
                : place.what == Place::What::kSd     ? &own.sd[entry]
                : place.what == Place::What::kCov    ? &own.cov[entry]
                                                     : &own.residual;
    if (*slot >= 0)
      throw DataError(fmt::format("{}: header: found {} beside {}, allowed one of them", table.path,
                                  Excerpt(table.columns[c]),
                                  Excerpt(table.columns[static_cast<std::size_t>(*slot)])));
    *slot = static_cast<int>(c);
    if (place.what == Place::What::kPosition) own.to_si[entry] = place.to_si;
    if (place.what == Place::What::kSd) own.to_si[3 + entry] = place.to_si;
    if (place.what == Place::What::kResidual) own.to_si[6] = place.to_si;
  }
  if (layout.markers.empty())
    throw DataError(fmt::format("{}: header: found no marker, allowed {}", table.path, kAllowed));
  for (std::size_t m = 0; m < layout.markers.size(); ++m) {
    const Columns& own = layout.columns[m];
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (own.position[axis] < 0)
        throw DataError(fmt::format("{}: header: found marker {} without {}, allowed {}",
                                    table.path, Excerpt(layout.markers[m]), kAxes[axis], kAllowed));
    const auto absent = [](int c) { return c < 0; };
    const auto some = [&](const auto& list) {
      return !std::all_of(list.begin(), list.end(), absent);
    };
    const auto all = [&](const auto& list) {
      return std::none_of(list.begin(), list.end(), absent);
    };
    if ((some(own.sd) && !all(own.sd)) || (some(own.cov) && !all(own.cov)) ||
        (some(own.sd) && some(own.cov)))
      throw DataError(
          fmt::format("{}: header: found a part of the uncertainties of marker {}, allowed "
                      "NAME_sd_x_m, _y_, _z_, or the six "
                      "NAME_cov_xx_m2, xy, xz, yy, yz, zz, or none",
                      table.path, Excerpt(layout.markers[m])));
  }
  return layout;
}

Matrix3d CovarianceOf(const Table& table, const Columns& own, std::size_t row) {
  Matrix3d cov = Matrix3d::Zero();
  const auto cell = [&](int c) { return table.values[static_cast<std::size_t>(c)][row]; };
  if (own.sd[0] >= 0) {
    for (int axis = 0; axis < 3; ++axis) {
      const double sd = cell(own.sd[static_cast<std::size_t>(axis)]) * own.to_si[3 + axis];
      if (std::isnan(sd)) return Matrix3d::Zero();
      if (sd < 0)
        throw table.Fault(
            row, table.columns[static_cast<std::size_t>(own.sd[static_cast<std::size_t>(axis)])],
            FormatNumber(sd), "0 or more");
      cov(axis, axis) = sd * sd;
    }
  } else if (own.cov[0] >= 0) {
    for (std::size_t k = 0; k < kPairs.size(); ++k) {
      const double value = cell(own.cov[k]);
      if (std::isnan(value)) return Matrix3d::Zero();
      cov(kPairs[k].first, kPairs[k].second) = cov(kPairs[k].second, kPairs[k].first) = value;
    }
    if (cov.diagonal().minCoeff() < 0)
      throw table.Fault(row, table.columns[static_cast<std::size_t>(own.cov[0])],
                        "a variance below 0", "0 or more");
  }
  return cov;
}

}  // namespace

MarkerFile ReadMarkerCsv(const std::filesystem::path& path, const MarkerReadOptions& options) {
  CsvOptions csv;
  csv.empty_is_nan = true;
  csv.is_text = [](std::string_view name) {
    const std::string column(name);
    const UnitName split = SplitUnit(name);
    return column != "frame" && !(split.stem == "t" && split.quantity == Quantity::kTime) &&
           PlaceOf(column).what == Place::What::kNothing;
  };
  const Table table = ReadCsv(path, csv);
  const Layout layout = FindColumns(table);
  const std::vector<double> t = SiColumn(table, "t", Quantity::kTime);
  const std::string t_name = ColumnNameOf(table, "t", Quantity::kTime);
  MarkerFile file;
  file.format = MarkerFormat::kCsv;
  file.up = options.up.value_or(UpAxis::kZ);
  MarkerPoints& points = file.points;
  points = EmptyPoints(layout.markers, table.n_rows());
  points.t = t;
  for (std::size_t row = 0; row < t.size(); ++row) {
    if (std::isnan(t[row])) throw table.Fault(row, t_name, "an empty cell", "a time");
    if (row > 0 && !(t[row] > t[row - 1]))
      throw table.Fault(row, t_name, FormatNumber(t[row]), "times that rise from row to row");
  }
  if (table.Has("frame")) {
    const double first = table.Column("frame")[0];
    if (!(first == std::floor(first)) || std::abs(first) > 1e15)
      throw table.Fault(0, "frame", FormatNumber(first), "a whole number");
    points.first_frame = static_cast<long long>(first);
  }
  bool any_cov = false, any_residual = false;
  for (const Columns& own : layout.columns) {
    any_cov |= own.sd[0] >= 0 || own.cov[0] >= 0;
    any_residual |= own.residual >= 0;
  }
  const std::size_t n = t.size(), n_markers = layout.markers.size();
  if (any_cov) points.cov.assign(n_markers, std::vector<Matrix3d>(n, Matrix3d::Zero()));
  if (any_residual) points.residual.assign(n_markers, std::vector<double>(n, 0.0));
  for (std::size_t m = 0; m < n_markers; ++m) {
    const Columns& own = layout.columns[m];
    for (std::size_t row = 0; row < n; ++row) {
      Vector3d p;
      int known = 0;
      for (int axis = 0; axis < 3; ++axis) {
        p[axis] =
            table.values[static_cast<std::size_t>(own.position[static_cast<std::size_t>(axis)])]
                        [row] *
            own.to_si[axis];
        known += !std::isnan(p[axis]);
      }
      if (known == 0) continue;
      if (known < 3)
        throw table.Fault(row, fmt::format("{}_x ... _z", layout.markers[m]),
                          fmt::format("{} of 3 coordinates", known), "all three or none");
      points.p_WM[m][row] = ToWorld(p, file.up);
      if (any_cov) points.cov[m][row] = ToWorld(CovarianceOf(table, own, row), file.up);
      if (own.residual >= 0) {
        const double residual =
            table.values[static_cast<std::size_t>(own.residual)][row] * own.to_si[6];
        if (residual < 0)
          throw table.Fault(row, table.columns[static_cast<std::size_t>(own.residual)],
                            FormatNumber(residual), "0 or more");
        points.residual[m][row] = std::isnan(residual) ? 0 : residual;
      }
    }
  }
  return file;
}

void WriteMarkerCsv(const std::filesystem::path& path, const MarkerPoints& points,
                    const MarkerWriteOptions& options) {
  std::vector<std::string> columns = {"frame", "t_s"};
  const bool with_cov = !points.cov.empty(), with_residual = !points.residual.empty();
  for (const std::string& name : points.markers) {
    if (name.ends_with("_sd"))
      throw ConfigError(
          fmt::format("marker {}: a name that ends in _sd cannot stand in a table, whose columns "
                      "NAME_sd_x_m mean something "
                      "else",
                      Excerpt(name)));
    for (const char* axis : kAxes) columns.push_back(fmt::format("{}_{}_m", name, axis));
    if (with_cov)
      for (const auto& [a, b] : kPairs)
        columns.push_back(fmt::format("{}_cov_{}{}_m2", name, kAxes[static_cast<std::size_t>(a)],
                                      kAxes[static_cast<std::size_t>(b)]));
    if (with_residual) columns.push_back(name + "_residual_m");
  }
  const std::optional<double> rate = FrameRate(points);
  CsvWriter out(path, columns);
  const double nothing = std::nan("");
  for (std::size_t i = 0; i < points.t.size(); ++i) {
    const double intervals =
        rate ? std::round((points.t[i] - points.t[0]) * *rate) : static_cast<double>(i);
    out.Integer(points.first_frame + static_cast<long long>(intervals)).Number(points.t[i]);
    for (std::size_t m = 0; m < points.markers.size(); ++m) {
      const auto& at = points.p_WM[m][i];
      const Vector3d p = at ? FromWorld(*at, options.up) : Vector3d::Constant(nothing);
      for (int axis = 0; axis < 3; ++axis) out.Number(p[axis]);
      if (with_cov) {
        const bool known = at && points.cov[m][i] != Matrix3d::Zero();
        const Matrix3d cov =
            known ? FromWorld(points.cov[m][i], options.up) : Matrix3d::Constant(nothing);
        for (const auto& [a, b] : kPairs) out.Number(cov(a, b));
      }
      if (with_residual)
        out.Number(at && points.residual[m][i] > 0 ? points.residual[m][i] : nothing);
    }
    out.EndRow();
  }
  out.Commit();
}

}  // namespace impactlab::reconstruction
