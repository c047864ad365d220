#include "calibration/formats/formats.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/text.h"

namespace impactlab {
namespace calibration {

void RefuseFile(const std::string& where, const std::string& found, const std::string& allowed) {
  throw ConfigError(fmt::format("{}: found {}, allowed {}", where, found, allowed));
}

Camera CameraFromMatrix(const std::string& where, const Eigen::Matrix3d& K,
                        const std::vector<double>& coefficients, bool fisheye, int width,
                        int height, double max_skew) {
  if (!K.allFinite() || K(1, 0) != 0 || K(2, 0) != 0 || K(2, 1) != 0 || K(2, 2) != 1 ||
      !(K(0, 0) > 0) || !(K(1, 1) > 0)) {
    RefuseFile(where, "a camera matrix " + RowsText(K),
               "[[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with fx, fy above 0");
  }
  if (width < 2 || height < 2) {
    RefuseFile(where, fmt::format("an image of {} x {} px", width, height),
               "the size of the images (give it where the file does not)");
  }
  const double displaced =
      std::abs(K(0, 1)) * std::max(std::abs(K(1, 2)), std::abs(height - 1 - K(1, 2))) / K(1, 1);
  if (!(displaced <= max_skew)) {
    RefuseFile(where,
               fmt::format("a skew of {:.4g} px that displaces image points by up to {:.3g} px",
                           K(0, 1), displaced),
               fmt::format("at most {:.3g} px, as these cameras have none; calibrate without skew",
                           max_skew));
  }
  const std::size_t count = coefficients.size();
  if (fisheye ? count != 4 : count > 14) {
    RefuseFile(where, fmt::format("{} distortion coefficients", count),
               fisheye ? "4 for a fisheye" : "0, 2, 4, 5, 8, 12 or 14");
  }
  bool rational = count == 8;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(coefficients[i]))
      RefuseFile(where, "a distortion coefficient that is not finite", "numbers");
    if (coefficients[i] == 0) continue;
    if (i >= 5 && i < 8) rational = true;
    if (i >= 8)
      RefuseFile(where, "coefficients of a thin prism or a tilted sensor (s1 to s4, tx, ty)",
                 "0 for these");
  }
  Camera camera;
  camera.model = fisheye    ? LensModel::kFisheye
                 : rational ? LensModel::kRational
                            : LensModel::kBrown;
  camera.width = width, camera.height = height;
  Eigen::VectorXd values = Eigen::VectorXd::Zero(IntrinsicCount(camera.model));
  values.head(4) << K(0, 0), K(1, 1), K(0, 2), K(1, 2);
  for (int i = 0; i < std::min<int>(static_cast<int>(count), DistortionCount(camera.model)); ++i)
    values[4 + i] = coefficients[i];
  SetIntrinsics(camera, values);
  if (const std::string fault = Fault(camera); !fault.empty())
    throw ConfigError(fmt::format("{}: {}", where, fault));
  return camera;
}

Eigen::Matrix3d MatrixOf(const Camera& camera) {
  Eigen::Matrix3d K;
  K << camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1;
  return K;
}

std::vector<double> CoefficientsOf(const Camera& camera) {
  return std::vector<double>(camera.distortion.begin(),
                             camera.distortion.begin() + DistortionCount(camera.model));
}

Eigen::Isometry3d RigidTransform(const std::string& where, const Eigen::Matrix3d& R,
                                 const Eigen::Vector3d& t) {
  const double error = (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!(error <= 1e-3) || !(R.determinant() > 0))
    RefuseFile(where, "a matrix that is no rotation " + RowsText(R), "an orthonormal matrix");
  if (!t.allFinite()) RefuseFile(where, "a translation that is not finite", "three numbers");
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = R;
  // Newton's iteration for the orthogonal factor of the polar decomposition.
  for (int i = 0; i < 6 && error > 1e-12; ++i)
    X.linear() = 0.5 * (X.linear() + X.linear().inverse().transpose()).eval();
  X.translation() = t;
  return X;
}

std::string ListText(const Eigen::Ref<const Eigen::VectorXd>& values) {
  std::string text = "[";
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    const std::size_t start = text.size();
    AppendNumber(text, values[i]);
    // Readers that tell whole numbers from others take these for whole ones otherwise.
    if (text.find_first_not_of("-0123456789", start) == text.npos) text += ".0";
  }
  return text + "]";
}

std::string RowsText(const Eigen::Ref<const Eigen::MatrixXd>& rows) {
  std::string text = "[";
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    text += (i > 0 ? ", " : "") + ListText(rows.row(i).transpose());
  return text + "]";
}

double NumberAt(const nlohmann::json& value, const std::string& where) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    RefuseFile(where, Excerpt(value.dump()), "a finite number");
  return value.get<double>();
}

std::vector<double> NumbersAt(const nlohmann::json& value, const std::string& where) {
  std::vector<double> numbers;
  if (value.is_number()) return {NumberAt(value, where)};
  if (!value.is_array()) RefuseFile(where, Excerpt(value.dump()), "a list of numbers");
  for (const nlohmann::json& item : value) {
    if (item.is_array()) {
      for (const nlohmann::json& inner : item) numbers.push_back(NumberAt(inner, where));
    } else {
      numbers.push_back(NumberAt(item, where));
    }
  }
  return numbers;
}

const nlohmann::json& ValueAt(const nlohmann::json& map, const std::string& key,
                              const std::string& where) {
  const auto found = map.is_object() ? map.find(key) : map.end();
  if (!map.is_object() || found == map.end())
    RefuseFile(where + ": " + key, "nothing", "this key is required");
  return *found;
}

Eigen::Matrix3d Matrix3At(const nlohmann::json& value, const std::string& where) {
  const std::vector<double> numbers = NumbersAt(value, where);
  if (numbers.size() != 9)
    RefuseFile(where, fmt::format("{} numbers", numbers.size()), "3 rows of 3 numbers");
  return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(numbers.data());
}

int SizeAt(double value, const std::string& where) {
  if (!(value >= 2 && value <= 65536) || value != std::floor(value)) {
    RefuseFile(where, FormatNumber(value), "a whole number of pixels from 2 to 65536");
  }
  return static_cast<int>(value);
}

double LengthUnit(const RigReadOptions& options, double of_file) {
  return options.length_unit > 0 ? options.length_unit : of_file;
}

bool FirstAtOrigin(const CameraRig& rig) {
  return rig.cameras.front().X_WC.matrix() == Eigen::Matrix4d::Identity();
}

CameraRig RelativeToFirst(const CameraRig& rig, const RigWriteOptions& options, const char* format,
                          const char* others) {
  if (FirstAtOrigin(rig)) return rig;
  if (!options.relative) {
    throw ConfigError(
        fmt::format("{}: found a first camera that is not the origin of W, allowed poses relative "
                    "to the first camera; choose to give up W, or {}, which carry it",
                    format, others));
  }
  CameraRig relative = rig;
  const Eigen::Isometry3d X_CW = rig.cameras.front().X_WC.inverse();
  for (RigCamera& item : relative.cameras) item.X_WC = X_CW * item.X_WC;
  relative.cameras.front().X_WC.setIdentity();
  return relative;
}

}  // namespace calibration

namespace {

using calibration::RefuseFile;

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr RigFormat kFormats[] = {RigFormat::kImpactLab, RigFormat::kOpenCv,     RigFormat::kKalibr,
                                  RigFormat::kMrcal,     RigFormat::kAniposelib, RigFormat::kDlt,
                                  RigFormat::kMatlab};

std::string LowerExtension(const std::filesystem::path& path) {
  return LowerCase(path.extension().string());
}

std::string ReadText(const std::filesystem::path& path) {
  try {
    return ReadFile(path, kMaxBytes);
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
}

bool HasLine(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0 || text.find("\n" + start) != text.npos;
}

std::optional<RigFormat> Recognise(const std::filesystem::path& path, const std::string& text) {
  const std::string extension = LowerExtension(path);
  if (extension == ".mat") return RigFormat::kMatlab;
  const std::string start(TrimSpace(std::string_view(text).substr(0, 4096)));
  if (start.starts_with("%YAML") || start.starts_with("<?xml") ||
      start.starts_with("<opencv_storage"))
    return RigFormat::kOpenCv;
  if (extension == ".cameramodel" ||
      (text.find("LENSMODEL_") != text.npos && text.find("'intrinsics'") != text.npos))
    return RigFormat::kMrcal;
  if (start.starts_with("{"))
    return text.find("opencv-matrix") != text.npos ? RigFormat::kOpenCv : RigFormat::kMatlab;
  if (extension == ".toml") return RigFormat::kAniposelib;
  if (HasLine(text, "schema:")) return RigFormat::kImpactLab;
  if (HasLine(text, "cam0:")) return RigFormat::kKalibr;
  if (HasLine(text, "camera_matrix:")) return RigFormat::kOpenCv;
  if (HasLine(text, "[cam_")) return RigFormat::kAniposelib;
  if (start.find_first_not_of("0123456789+-.eE,;\t\r\n ") == start.npos &&
      start.find_first_of("0123456789") != start.npos) {
    return RigFormat::kDlt;
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> ModelsIn(const std::filesystem::path& folder) {
  return ExpandGlob("*.cameramodel", folder);
}

void CheckNames(const CameraRig& rig, const std::string& where) {
  std::set<std::string> names;
  for (const RigCamera& item : rig.cameras) {
    if (item.name.empty() || FindTextFault(item.name))
      RefuseFile(where, "a camera without a proper name", "a name of UTF-8 text");
    if (!names.insert(item.name).second)
      RefuseFile(where, "camera " + Excerpt(item.name) + " twice", "every name once");
  }
}

void WriteMrcalFolder(const std::filesystem::path& path, const CameraRig& rig) {
  if (LowerExtension(path) == ".cameramodel") {
    if (rig.cameras.size() != 1) {
      RefuseFile(path.string(), fmt::format("{} cameras", rig.cameras.size()),
                 "one in a .cameramodel file; name a folder for more");
    }
    WriteFile(path, calibration::WriteMrcal(rig.cameras.front()));
    return;
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rig.cameras.size(); ++i) {
    const std::string& name = rig.cameras[i].name;
    if (name.find('/') != name.npos || name.front() == '.')
      RefuseFile(path.string(), "camera " + Excerpt(name), "a name that can be a file's");
    if (i > 0 && !NaturalLess(rig.cameras[i - 1].name, name)) {
      RefuseFile(
          path.string(),
          fmt::format("camera {} before {}", Excerpt(rig.cameras[i - 1].name), Excerpt(name)),
          "cameras in the order of their names, which is the order a folder is read in");
    }
    texts.push_back(calibration::WriteMrcal(rig.cameras[i]));
  }
  std::set<std::filesystem::path> ours;
  for (const RigCamera& item : rig.cameras) ours.insert(path / (item.name + ".cameramodel"));
  if (std::filesystem::is_directory(path)) {
    for (const auto& file : ModelsIn(path)) {
      if (!ours.count(file))
        RefuseFile(file.string(), "a camera that is not of this rig",
                   "a folder without other .cameramodel files");
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    WriteFile(path / (rig.cameras[i].name + ".cameramodel"), texts[i]);
}

}  // namespace

const char* ToString(RigFormat format) {
  switch (format) {
    case RigFormat::kImpactLab:
      return "impactlab";
    case RigFormat::kOpenCv:
      return "opencv";
    case RigFormat::kKalibr:
      return "kalibr";
    case RigFormat::kMrcal:
      return "mrcal";
    case RigFormat::kAniposelib:
      return "aniposelib";
    case RigFormat::kDlt:
      return "dlt";
    case RigFormat::kMatlab:
      return "matlab";
  }
  return "unknown";
}

std::optional<RigFormat> RigFormatFromString(const std::string& name) {
  for (const RigFormat format : kFormats) {
    if (name == ToString(format)) return format;
  }
  return std::nullopt;
}

std::optional<RigFormat> RecogniseRig(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    return ModelsIn(path).empty() ? std::nullopt : std::optional(RigFormat::kMrcal);
  return Recognise(path, LowerExtension(path) == ".mat" ? "" : ReadText(path));
}

CameraRig ReadRig(const std::filesystem::path& path, const RigReadOptions& options) {
  const std::string name = path.string();
  if (options.length_unit < 0 || !std::isfinite(options.length_unit)) {
    RefuseFile("length unit", FormatNumber(options.length_unit),
               "the length of one unit of the file in metres, above 0");
  }
  const bool folder = std::filesystem::is_directory(path), binary = LowerExtension(path) == ".mat";
  const std::string text = folder || binary ? "" : ReadText(path);
  const auto format = options.format ? options.format
                      : folder       ? RecogniseRig(path)
                                     : Recognise(path, text);
  if (!format) {
    RefuseFile(name, folder ? "a folder without .cameramodel files" : "none of the formats known",
               "impactlab rig.yaml, OpenCV YAML or XML, Kalibr camchain.yaml, mrcal .cameramodel, "
               "aniposelib .toml, DLT coefficients, MATLAB .mat or .json");
  }
  if (folder && *format != RigFormat::kMrcal) RefuseFile(name, "a folder", "a file");
  CameraRig rig;
  switch (*format) {
    case RigFormat::kImpactLab:
      return ParseRig(text, name);
    case RigFormat::kOpenCv:
      rig = calibration::ReadOpenCv(text, name, options);
      break;
    case RigFormat::kKalibr:
      rig = calibration::ReadKalibr(text, name, options);
      break;
    case RigFormat::kMrcal:
      if (folder) {
        for (const auto& file : ModelsIn(path))
          rig.cameras.push_back(calibration::ReadMrcal(ReadText(file), file.string(), options));
        if (rig.cameras.empty()) RefuseFile(name, "no .cameramodel files", "one or more");
      } else {
        rig.cameras.push_back(calibration::ReadMrcal(text, name, options));
      }
      break;
    case RigFormat::kAniposelib:
      rig = calibration::ReadAniposelib(text, name, options);
      break;
    case RigFormat::kDlt:
      rig = calibration::ReadDlt(text, name, options);
      break;
    case RigFormat::kMatlab:
      rig = calibration::ReadMatlab(path, options);
      break;
  }
  CheckNames(rig, name);
  rig.world.source = calibration::FirstAtOrigin(rig) ? "camera" : "given";
  return rig;
}

void WriteRig(const std::filesystem::path& path, const CameraRig& rig, RigFormat format,
              const RigWriteOptions& options) {
  const std::string own = ToYaml(rig);  // refuses what makes no sense
  switch (format) {
    case RigFormat::kImpactLab:
      return WriteFile(path, own);
    case RigFormat::kOpenCv:
      return WriteFile(path, calibration::WriteOpenCv(rig, path));
    case RigFormat::kKalibr:
      return WriteFile(path, calibration::WriteKalibr(rig, options));
    case RigFormat::kMrcal:
      return WriteMrcalFolder(path, rig);
    case RigFormat::kAniposelib:
      return WriteFile(path, calibration::WriteAniposelib(rig));
    case RigFormat::kDlt:
    case RigFormat::kMatlab:
      RefuseFile(path.string(), fmt::format("format {}", ToString(format)),
                 "a format that is written: impactlab, opencv, kalibr, mrcal, aniposelib");
  }
}

}  // namespace impactlab
