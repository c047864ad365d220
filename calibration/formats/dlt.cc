// The direct linear transformation (Abdel-Aziz and Karara 1971) as DLTdv and related programs store
// it: 11 rows, one column a camera, no header,
//   u = (L1 x + L2 y + L3 z + L4) / (L9 x + L10 y + L11 z + 1),
//   v = (L5 x + L6 y + L7 z + L8) / (L9 x + L10 y + L11 z + 1).
// Pixels count from 1; v counts upwards from the bottom row (DLTdv up to 7, easyWand) or downwards
// from the top row.

#include <fmt/format.h>

#include <Eigen/LU>
#include <cmath>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab::calibration {
namespace {

using Origin = RigReadOptions::DltOrigin;
using Projection = Eigen::Matrix<double, 3, 4>;

std::vector<std::vector<double>> ReadRows(const std::string& text, const std::string& name) {
  std::vector<std::vector<double>> rows;
  int line = 0;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::vector<double> row;
    for (std::size_t at = start; at < end;) {
      const std::size_t stop = std::min(text.find_first_of(",;\t \r\n", at), end);
      if (stop > at) {
        const auto number = ParseNumber(std::string_view(text).substr(at, stop - at));
        if (!number)
          RefuseFile(fmt::format("{}:{}", name, line + 1), Excerpt(text.substr(at, stop - at)),
                     "DLT coefficients, numbers only");
        row.push_back(*number);
      }
      at = stop + 1;
    }
    if (!row.empty()) {
      if (!rows.empty() && row.size() != rows.front().size()) {
        RefuseFile(fmt::format("{}:{}", name, line + 1), fmt::format("{} numbers", row.size()),
                   fmt::format("{} as above", rows.front().size()));
      }
      rows.push_back(std::move(row));
    }
    start = end + 1;
  }
  if (rows.size() != 11)
    RefuseFile(name, fmt::format("{} rows", rows.size()),
               "11 rows of DLT coefficients, one column a camera");
  return rows;
}

// K [R | t] of a projection whose left part has a positive determinant: rows from the bottom up,
// each made orthogonal to those below.
RigCamera Decompose(Projection P, const std::string& where, const RigReadOptions& options) {
  if (P.leftCols<3>().determinant() < 0) P = -P;
  const Eigen::Matrix3d M = P.leftCols<3>();
  const Eigen::RowVector3d m1 = M.row(0), m2 = M.row(1), m3 = M.row(2);
  Eigen::Matrix3d K = Eigen::Matrix3d::Zero(), R;
  K(2, 2) = m3.norm();
  R.row(2) = m3 / K(2, 2);
  K(1, 2) = m2.dot(R.row(2));
  const Eigen::RowVector3d second = m2 - K(1, 2) * R.row(2);
  K(1, 1) = second.norm();
  R.row(1) = second / K(1, 1);
  K(0, 2) = m1.dot(R.row(2));
  K(0, 1) = m1.dot(R.row(1));
  const Eigen::RowVector3d first = m1 - K(0, 1) * R.row(1) - K(0, 2) * R.row(2);
  K(0, 0) = first.norm();
  R.row(0) = first / K(0, 0);
  const Eigen::Vector3d position = -M.inverse() * P.col(3);
  K /= K(2, 2);
  K(2, 2) = 1;
  if (!K.allFinite() || !R.allFinite() || !position.allFinite())
    RefuseFile(where, "coefficients of no camera", "a camera at a finite place");
  RigCamera item;
  item.camera =
      CameraFromMatrix(where, K, {}, false, options.width, options.height, options.max_skew);
  item.X_WC = RigidTransform(where, R.transpose(), LengthUnit(options) * position);
  return item;
}

}  // namespace

CameraRig ReadDlt(const std::string& text, const std::string& name, const RigReadOptions& options) {
  const auto rows = ReadRows(text, name);
  if (options.width < 2 || options.height < 2)
    RefuseFile(name, "DLT coefficients, which carry no size of the images",
               "width and height given");
  CameraRig rig;
  Origin origin = options.dlt_origin;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    const std::string where = fmt::format("{}: column {}", name, i + 1);
    Projection P;
    for (int j = 0; j < 12; ++j) P(j / 4, j % 4) = j < 11 ? rows[j][i] : 1;
    const double determinant = P.leftCols<3>().determinant();
    if (determinant == 0)
      RefuseFile(where, "coefficients of no camera (determinant 0)", "a camera at a finite place");
    // With v upwards the image is a mirror image of one with v downwards, and so is the sign of the
    // determinant while the origin of W, whose depth is the 1 in the denominator, lies in front.
    const Origin found = determinant < 0 ? Origin::kLowerLeft : Origin::kUpperLeft;
    if (options.dlt_origin == Origin::kByHandedness) {
      if (i > 0 && found != origin) {
        RefuseFile(where, "another handedness than in column 1",
                   "the origin of the pixels given (lower or upper left), or one for all cameras");
      }
      origin = found;
    }
    Eigen::Matrix3d to_ours;
    if (origin == Origin::kLowerLeft) {
      to_ours << 1, 0, -1, 0, -1, options.height, 0, 0, 1;
    } else {
      to_ours << 1, 0, -1, 0, 1, -1, 0, 0, 1;
    }
    RigCamera item = Decompose(to_ours * P, where, options);
    item.name = fmt::format("camera{}", i + 1);
    rig.cameras.push_back(item);
  }
  return rig;
}

}  // namespace impactlab::calibration
