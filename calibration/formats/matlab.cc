// MATLAB's cameraParameters and stereoParameters as plain structs (toStruct), in a .mat file or as
// JSON (jsonencode).
//
// The centre of the top-left pixel is (1, 1). IntrinsicMatrix, RotationOfCamera2 and
// TranslationOfCamera2 are for row vectors, x2 = x1 R + t; K and PoseCamera2 (from R2022b) for
// columns, x2 = R x1 + t. Both take points of camera 1 to camera 2.

#include <fmt/format.h>
#include <matio.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"

namespace impactlab::calibration {
namespace {

using nlohmann::json;

constexpr int kMaxStructDepth = 6;

template <typename T>
void Fill(json& rows, const matvar_t& variable, std::size_t n_rows, std::size_t n_columns) {
  // the sizes in a damaged file need not agree
  if (variable.nbytes < n_rows * n_columns * sizeof(T)) return;
  const T* data = static_cast<const T*>(variable.data);
  for (std::size_t i = 0; i < n_rows; ++i) {
    json row = json::array();
    for (std::size_t j = 0; j < n_columns; ++j)
      row.push_back(static_cast<double>(data[i + j * n_rows]));
    rows.push_back(std::move(row));
  }
}

// Structs become maps, small real matrices lists of rows, text text; everything else is nothing.
json FromMat(matvar_t& variable, int depth) {
  if (depth > kMaxStructDepth) return nullptr;
  if (variable.class_type == MAT_C_STRUCT) {
    json map = json::object();
    const unsigned count = Mat_VarGetNumberOfFields(&variable);
    char* const* names = Mat_VarGetStructFieldnames(&variable);
    for (unsigned i = 0; i < count && names && variable.data; ++i) {
      if (matvar_t* field = Mat_VarGetStructFieldByName(&variable, names[i], 0))
        map[names[i]] = FromMat(*field, depth + 1);
    }
    return map;
  }
  if (variable.rank != 2 || !variable.data || variable.isComplex) return nullptr;
  const std::size_t rows = variable.dims[0], columns = variable.dims[1];
  if (rows > 64 || columns > 64 || rows * columns == 0) return nullptr;
  if (variable.class_type == MAT_C_CHAR) {
    std::string text;
    if (variable.data_size < 1 ||
        variable.nbytes < rows * columns * static_cast<std::size_t>(variable.data_size))
      return nullptr;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      if (variable.data_size == 1) text += static_cast<const char*>(variable.data)[i];
      if (variable.data_size == 2)
        text += static_cast<char>(static_cast<const std::uint16_t*>(variable.data)[i] & 0x7f);
    }
    return FindTextFault(text) ? json(nullptr) : json(text);
  }
  json list = json::array();
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      if (variable.data_type != MAT_T_DOUBLE) return nullptr;
      Fill<double>(list, variable, rows, columns);
      break;
    case MAT_C_SINGLE:
      if (variable.data_type != MAT_T_SINGLE) return nullptr;
      Fill<float>(list, variable, rows, columns);
      break;
    case MAT_C_UINT8:
      if (variable.data_type != MAT_T_UINT8) return nullptr;
      Fill<std::uint8_t>(list, variable, rows, columns);
      break;
    case MAT_C_INT32:
      if (variable.data_type != MAT_T_INT32) return nullptr;
      Fill<std::int32_t>(list, variable, rows, columns);
      break;
    case MAT_C_UINT32:
      if (variable.data_type != MAT_T_UINT32) return nullptr;
      Fill<std::uint32_t>(list, variable, rows, columns);
      break;
    default:
      return nullptr;
  }
  return list;
}

bool IsStereo(const json& map) {
  return map.is_object() && map.contains("CameraParameters1") && map.contains("CameraParameters2");
}
bool IsCamera(const json& map) {
  return map.is_object() && (map.contains("IntrinsicMatrix") || map.contains("K"));
}

json ReadMatFile(const std::string& name) {
  // The text is constant from matio 1.5.24 on.
  Mat_LogInitFunc("impactlab", [](int, auto* /*text*/) {});
  const std::unique_ptr<mat_t, int (*)(mat_t*)> file(Mat_Open(name.c_str(), MAT_ACC_RDONLY),
                                                     Mat_Close);
  if (!file) RefuseFile(name, "no MATLAB file", "a .mat file of version 4, 5 or 7.3");
  bool opaque = false;
  for (;;) {
    const std::unique_ptr<matvar_t, void (*)(matvar_t*)> variable(Mat_VarReadNext(file.get()),
                                                                  Mat_VarFree);
    if (!variable) break;
    if (variable->class_type == MAT_C_OPAQUE || variable->class_type == MAT_C_OBJECT) opaque = true;
    if (variable->class_type != MAT_C_STRUCT) continue;
    json map = FromMat(*variable, 0);
    if (IsStereo(map) || IsCamera(map)) return map;
    // A struct that holds it, as sessions of the calibrator app do.
    for (const auto& [key, value] : map.items()) {
      if (IsStereo(value) || IsCamera(value)) return value;
    }
  }
  RefuseFile(
      name, opaque ? "a MATLAB object" : "no camera parameters",
      "a struct: p = toStruct(stereoParams); save('rig.mat', 'p') or a text file of jsonencode(p)");
}

// The zeros of a matrix show which of the two conventions it follows.
Eigen::Matrix3d ReadIntrinsicMatrix(const json& map, const std::string& where) {
  const std::string key = map.contains("IntrinsicMatrix") ? "IntrinsicMatrix" : "K";
  Eigen::Matrix3d K = Matrix3At(ValueAt(map, key, where), where + ": " + key);
  if (K(0, 2) == 0 && K(1, 2) == 0 && (K(2, 0) != 0 || K(2, 1) != 0)) K.transposeInPlace();
  K(0, 2) -= 1;
  K(1, 2) -= 1;
  return K;
}

RigCamera ReadParameters(const json& map, const std::string& where, const RigReadOptions& options) {
  if (!map.is_object()) RefuseFile(where, "no struct", "a struct of camera parameters");
  if (map.contains("MappingCoefficients"))
    RefuseFile(where, "the Scaramuzza fisheye model", "pinhole camera parameters");
  RigCamera item;
  auto radial = NumbersAt(ValueAt(map, "RadialDistortion", where), where + ": RadialDistortion");
  std::vector<double> tangential = {0, 0};
  if (map.contains("TangentialDistortion"))
    tangential = NumbersAt(map.at("TangentialDistortion"), where + ": TangentialDistortion");
  if (radial.size() < 2 || radial.size() > 3 || tangential.size() != 2) {
    RefuseFile(
        where,
        fmt::format("{} radial and {} tangential coefficients", radial.size(), tangential.size()),
        "2 or 3, and 2");
  }
  radial.resize(3);
  int width = options.width, height = options.height;
  if (map.contains("ImageSize") && !map.at("ImageSize").empty()) {
    const auto size = NumbersAt(map.at("ImageSize"), where + ": ImageSize");
    if (size.size() != 2)
      RefuseFile(where + ": ImageSize", fmt::format("{} numbers", size.size()), "rows and columns");
    height = SizeAt(size[0], where + ": ImageSize"), width = SizeAt(size[1], where + ": ImageSize");
  }
  item.camera = CameraFromMatrix(where, ReadIntrinsicMatrix(map, where),
                                 {radial[0], radial[1], tangential[0], tangential[1], radial[2]},
                                 false, width, height, options.max_skew);
  return item;
}

double UnitOf(const json& map, const std::string& where) {
  const auto found = map.find("WorldUnits");
  if (found == map.end() || !found->is_string()) return 1;
  const std::string unit = found->get<std::string>();
  if (unit == "millimeters" || unit == "mm") return 1e-3;
  if (unit == "centimeters" || unit == "cm") return 1e-2;
  if (unit == "meters" || unit == "m") return 1;
  if (unit == "inches" || unit == "in") return 0.0254;
  RefuseFile(where + ": WorldUnits", Excerpt(unit),
             "mm | cm | m | in, or the length of a unit given");
}

std::vector<double> Translation(const json& value, const std::string& where) {
  auto t = NumbersAt(value, where);
  if (t.size() != 3) RefuseFile(where, fmt::format("{} numbers", t.size()), "3 numbers");
  return t;
}

Eigen::Isometry3d ReadSecondPose(const json& map, const std::string& name, double unit) {
  Eigen::Matrix3d R;
  std::vector<double> t;
  if (map.contains("RotationOfCamera2")) {
    R = Matrix3At(map.at("RotationOfCamera2"), name + ": RotationOfCamera2").transpose();
    t = Translation(ValueAt(map, "TranslationOfCamera2", name), name + ": TranslationOfCamera2");
  } else {
    const std::string where = name + ": PoseCamera2";
    const json& pose = ValueAt(map, "PoseCamera2", name);
    if (pose.is_object() && pose.contains("R")) {
      R = Matrix3At(pose.at("R"), where);
      t = Translation(ValueAt(pose, "Translation", where), where);
    } else {
      const auto numbers = NumbersAt(
          pose.is_object() ? ValueAt(pose, pose.contains("A") ? "A" : "T", where) : pose, where);
      if (numbers.size() != 16)
        RefuseFile(where, fmt::format("{} numbers", numbers.size()),
                   "R and Translation, or a 4 x 4 matrix");
      Eigen::Matrix4d T =
          Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(numbers.data());
      if (T.col(3) == Eigen::Vector4d(0, 0, 0, 1)) T.transposeInPlace();
      if (T.row(3) != Eigen::RowVector4d(0, 0, 0, 1))
        RefuseFile(where, "no rigid transform", "a last row of 0, 0, 0, 1");
      R = T.topLeftCorner<3, 3>();
      t = {T(0, 3), T(1, 3), T(2, 3)};
    }
  }
  return RigidTransform(name + ": pose of camera 2", R, unit * Eigen::Vector3d(t[0], t[1], t[2]));
}

}  // namespace

CameraRig ReadMatlab(const std::filesystem::path& path, const RigReadOptions& options) {
  const std::string name = path.string();
  json map;
  std::string text;
  try {
    text = ReadFile(path, std::size_t{64} << 20);
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
  if (const std::size_t start = text.find_first_not_of(" \t\r\n");
      start != text.npos && text[start] == '{') {
    map = json::parse(text, nullptr, false);
    if (map.is_discarded())
      RefuseFile(name, "JSON that cannot be parsed",
                 "the text of jsonencode(toStruct(stereoParams))");
  } else {
    map = ReadMatFile(name);
  }
  CameraRig rig;
  if (IsStereo(map)) {
    rig.cameras.push_back(
        ReadParameters(map.at("CameraParameters1"), name + ": CameraParameters1", options));
    rig.cameras.push_back(
        ReadParameters(map.at("CameraParameters2"), name + ": CameraParameters2", options));
    rig.cameras[0].name = "camera1", rig.cameras[1].name = "camera2";
    const double unit = options.length_unit > 0
                            ? options.length_unit
                            : UnitOf(map.at("CameraParameters1"), name + ": CameraParameters1");
    rig.cameras[1].X_WC = ReadSecondPose(map, name, unit).inverse();
  } else if (IsCamera(map)) {
    rig.cameras.push_back(ReadParameters(map, name, options));
    rig.cameras[0].name = path.stem().string();
  } else {
    RefuseFile(name, "no camera parameters",
               "CameraParameters1 and CameraParameters2, or IntrinsicMatrix or K");
  }
  return rig;
}

}  // namespace impactlab::calibration
