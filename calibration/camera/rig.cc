#include "calibration/camera/rig.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"

namespace impactlab {
namespace {

constexpr const char* kSchema = "impactlab.rig/1";
const std::vector<std::string> kSources = {"camera", "board", "points", "given"};
const std::vector<std::string> kPoseNames = {"rx_rad", "ry_rad", "rz_rad", "x_m", "y_m", "z_m"};
// of what is typed by hand; turned into the nearest rotation
constexpr double kRotationTolerance = 1e-4;
// nearer than this it is a rotation (or a unit vector) already and keeps its bits
constexpr double kExact = 1e-10;

// What is wrong with a symmetric matrix that should be a covariance; empty when it is one.
std::string CovarianceFault(const Eigen::MatrixXd& covariance) {
  const Eigen::Index n = covariance.rows();
  if (!covariance.allFinite()) return "a number that is not finite";
  Eigen::VectorXd scale(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    if (covariance(i, i) < 0)
      return fmt::format("a variance of {} (parameter {})", FormatNumber(covariance(i, i)), i + 1);
    scale[i] = std::sqrt(covariance(i, i));
  }
  Eigen::MatrixXd correlation = Eigen::MatrixXd::Identity(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      if (covariance(i, j) != 0 && !(scale[i] * scale[j] > 0)) {
        return fmt::format("a covariance with a parameter of variance 0 (parameters {} and {})",
                           j + 1, i + 1);
      }
      const double value = covariance(i, j) == 0 ? 0 : covariance(i, j) / scale[i] / scale[j];
      if (std::abs(value) > 1 + 1e-9) {
        return fmt::format("a correlation of {:.6g} (parameters {} and {})", value, j + 1, i + 1);
      }
      correlation(i, j) = correlation(j, i) = value;
    }
  }
  const double least =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(correlation, Eigen::EigenvaluesOnly)
          .eigenvalues()
          .minCoeff();
  if (least < -1e-9 * static_cast<double>(n))
    return fmt::format("a matrix that is not positive semi-definite (eigenvalue {:.3g})", least);
  return {};
}

double Asymmetry(const Eigen::MatrixXd& m) {
  return m.size() == 0 ? 0 : (m - m.transpose()).cwiseAbs().maxCoeff();
}

std::string Numbers(const Eigen::Ref<const Eigen::VectorXd>& values) {
  std::string text = "[";
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    AppendNumber(text, values[i]);
  }
  return text + "]";
}

std::string Rows(const Eigen::Matrix3d& m) {
  return fmt::format("[{}, {}, {}]", Numbers(m.row(0).transpose()), Numbers(m.row(1).transpose()),
                     Numbers(m.row(2).transpose()));
}

Eigen::Matrix3d ReadRows(const YamlNode& node, const std::string& key) {
  const auto rows = node.Vectors(key, 3);
  if (rows.size() != 3)
    throw node.Fault(key, fmt::format("{} rows", rows.size()), "3 rows of 3 numbers");
  Eigen::Matrix3d m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) m(i, j) = rows[i][j];
  }
  return m;
}

Eigen::Matrix3d ReadRotation(const YamlNode& node) {
  if (node.Has("orientation")) {
    if (node.Has("rotation"))
      throw node.Fault("orientation", "a rotation beside it", "one of rotation and orientation");
    const auto q = node.Vector("orientation", 4);
    const Eigen::Quaterniond quaternion(q[0], q[1], q[2], q[3]);
    if (!(std::abs(quaternion.norm() - 1) <= kRotationTolerance)) {
      throw node.Fault("orientation", fmt::format("length {:.6g}", quaternion.norm()),
                       "a unit quaternion w, x, y, z");
    }
    return quaternion.normalized().toRotationMatrix();
  }
  const Eigen::Matrix3d R = ReadRows(node, "rotation");
  const double error = (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!(error <= kRotationTolerance) || !(R.determinant() > 0)) {
    throw node.Fault("rotation",
                     R.determinant() < 0 && error <= kRotationTolerance
                         ? "a mirror image (determinant -1)"
                         : fmt::format("columns that are not orthonormal ({:.2g} off)", error),
                     "a rotation, camera to world, row by row");
  }
  return error <= kExact ? R : Eigen::Quaterniond(R).normalized().toRotationMatrix();
}

Eigen::Vector3d ReadUnit(const YamlNode& node, const std::string& key) {
  const auto values = node.Vector(key, 3);
  const Eigen::Vector3d v(values[0], values[1], values[2]);
  if (!(std::abs(v.norm() - 1) <= kRotationTolerance))
    throw node.Fault(key, fmt::format("length {:.6g}", v.norm()), "a unit vector");
  return std::abs(v.norm() - 1) <= kExact ? v : v.normalized();
}

void CheckName(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 100 && !FindTextFault(name) &&
                     name.find_first_of("\n\r\t") == name.npos;
  if (!plain || TrimSpace(name) != name) {
    throw ConfigError(fmt::format(
        "camera name: found {}, allowed up to 100 characters on one line without spaces around",
        Excerpt(name)));
  }
}

RigCamera ReadCamera(const YamlNode& node) {
  RigCamera item;
  item.name = node.Text("name");
  Camera& camera = item.camera;
  const Range size = Closed(2, 1 << 16);
  camera.width = static_cast<int>(node.Integer("width_px", size));
  camera.height = static_cast<int>(node.Integer("height_px", size));
  camera.model = *LensModelFromString(node.Choice("model", {"brown", "rational", "fisheye"}));
  const auto names = IntrinsicNames(camera.model);
  Eigen::VectorXd intrinsics(static_cast<Eigen::Index>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    intrinsics[static_cast<Eigen::Index>(i)] =
        i < 4 ? node.Number(names[i]) : node.Number(names[i], 0.0);
  }
  SetIntrinsics(camera, intrinsics);
  camera.invertible_angle =
      node.Number("invertible_angle_rad", camera.invertible_angle, Closed(0, std::numbers::pi));
  camera.calibrated_angle = node.Number("calibrated_angle_rad", 0.0, Closed(0, std::numbers::pi));
  if (const std::string fault = Fault(camera); !fault.empty()) {
    throw ConfigError(fmt::format("{}: {}: {}", node.Where(), node.FullName("model"), fault));
  }
  item.X_WC.linear() = ReadRotation(node);
  const auto position = node.Vector("position_m", 3);
  item.X_WC.translation() << position[0], position[1], position[2];
  return item;
}

WorldFrame ReadWorld(const YamlNode& node) {
  WorldFrame world;
  world.source = node.Choice("source", world.source, kSources);
  if (node.Has("gravity")) world.gravity_W = ReadUnit(node, "gravity");
  if (node.Has("cov_gravity")) {
    world.cov_gravity = ReadRows(node, "cov_gravity");
    if (!world.gravity_W)
      throw node.Fault("cov_gravity", "no gravity beside it", "gravity, a unit vector in W");
    if (Asymmetry(world.cov_gravity) != 0)
      throw node.Fault("cov_gravity", "a matrix that is not symmetric", "a covariance");
    if (const auto fault = CovarianceFault(world.cov_gravity); !fault.empty())
      throw node.Fault("cov_gravity", fault, "a covariance");
  }
  if (node.Has("slope_rad")) world.slope = node.Number("slope_rad", Closed(0, std::numbers::pi));
  if (node.Has("sd_slope_rad")) {
    world.sd_slope = node.Number("sd_slope_rad", NonNegative());
    if (!world.slope) throw node.Fault("sd_slope_rad", "no slope_rad beside it", "slope_rad");
  }
  return world;
}

// Lower triangle, one row a parameter under its name: the matrix is symmetric by construction.
Eigen::MatrixXd ReadCovariance(const YamlNode& root, const std::vector<std::string>& names) {
  const YamlNode node = root.Map("covariance");
  const auto n = static_cast<Eigen::Index>(names.size());
  Eigen::MatrixXd covariance(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto row = node.Vector(names[i], static_cast<int>(i + 1));
    for (Eigen::Index j = 0; j <= i; ++j) covariance(i, j) = covariance(j, i) = row[j];
  }
  node.Finish();
  if (const std::string fault = CovarianceFault(covariance); !fault.empty())
    throw root.Fault("covariance", fault, "a covariance matrix");
  return covariance;
}

// A rig that could not be read again is not written.
void CheckRig(const CameraRig& rig) {
  if (rig.cameras.empty()) throw ConfigError("rig: found no cameras, allowed one or more");
  std::set<std::string> names;
  for (const RigCamera& item : rig.cameras) {
    CheckName(item.name);
    if (!names.insert(item.name).second)
      throw ConfigError(
          fmt::format("camera name: found {} twice, allowed once", Excerpt(item.name)));
    if (const std::string fault = Fault(item.camera); !fault.empty())
      throw ConfigError(fmt::format("camera {}: {}", Excerpt(item.name), fault));
    if (!std::isfinite(item.camera.calibrated_angle) ||
        !std::isfinite(item.camera.invertible_angle)) {
      throw ConfigError(
          fmt::format("camera {}: an angle is not a finite number", Excerpt(item.name)));
    }
    const Eigen::Matrix3d R = item.X_WC.linear();
    if (!((R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <= kExact) ||
        !(R.determinant() > 0) || !item.X_WC.translation().allFinite()) {
      throw ConfigError(fmt::format("camera {}: the pose is not a rotation and a finite position",
                                    Excerpt(item.name)));
    }
  }
  const WorldFrame& world = rig.world;
  if (std::find(kSources.begin(), kSources.end(), world.source) == kSources.end()) {
    throw ConfigError(fmt::format("world source: found {}, allowed {}", Excerpt(world.source),
                                  JoinNames(kSources, " | ")));
  }
  if (world.gravity_W && !(std::abs(world.gravity_W->norm() - 1) <= kExact))
    throw ConfigError("world gravity is not a unit vector");
  if (Asymmetry(world.cov_gravity) > 0 || !CovarianceFault(world.cov_gravity).empty()) {
    throw ConfigError("world gravity: its covariance is not a covariance matrix");
  }
  if ((world.slope && !(*world.slope >= 0 && *world.slope <= std::numbers::pi)) ||
      !(world.sd_slope >= 0) || !std::isfinite(world.sd_slope)) {
    throw ConfigError("world slope is not an angle from 0 to pi with a standard deviation");
  }
  if (rig.covariance.size() == 0) return;
  if (rig.covariance.rows() != ParameterCount(rig) ||
      rig.covariance.cols() != ParameterCount(rig)) {
    throw ConfigError(fmt::format("rig covariance: found {} x {}, allowed {} each way",
                                  rig.covariance.rows(), rig.covariance.cols(),
                                  ParameterCount(rig)));
  }
  std::string fault = Asymmetry(rig.covariance) != 0 ? "a matrix that is not symmetric"
                                                     : CovarianceFault(rig.covariance);
  if (!fault.empty())
    throw ConfigError(fmt::format("rig covariance: found {}, allowed a covariance matrix", fault));
}

}  // namespace

std::vector<std::string> ParameterNames(const CameraRig& rig) {
  std::vector<std::string> names;
  for (const RigCamera& item : rig.cameras) {
    for (const std::string& name : IntrinsicNames(item.camera.model))
      names.push_back(item.name + "." + name);
    for (const std::string& name : kPoseNames) names.push_back(item.name + "." + name);
  }
  return names;
}

int ParameterCount(const CameraRig& rig) {
  return FirstParameter(rig, static_cast<int>(rig.cameras.size()));
}

int FirstParameter(const CameraRig& rig, int camera) {
  if (camera < 0 || camera > static_cast<int>(rig.cameras.size())) {
    throw ConfigError(fmt::format("camera: found number {}, allowed 0 to {}", camera,
                                  static_cast<int>(rig.cameras.size()) - 1));
  }
  int first = 0;
  for (int i = 0; i < camera; ++i) first += IntrinsicCount(rig.cameras[i].camera.model) + 6;
  return first;
}

std::string ToYaml(const CameraRig& rig) {
  CheckRig(rig);
  std::string out = fmt::format("schema: {}\nworld:\n  source: {}\n", kSchema, rig.world.source);
  const WorldFrame& world = rig.world;
  if (world.gravity_W) {
    out += fmt::format("  gravity: {}\n  cov_gravity: {}\n", Numbers(*world.gravity_W),
                       Rows(world.cov_gravity));
  }
  if (world.slope)
    out += fmt::format("  slope_rad: {}\n  sd_slope_rad: {}\n", FormatNumber(*world.slope),
                       FormatNumber(world.sd_slope));
  out += "cameras:\n";
  for (const RigCamera& item : rig.cameras) {
    const Camera& camera = item.camera;
    out += fmt::format("  - name: {}\n    width_px: {}\n    height_px: {}\n    model: {}\n",
                       YamlQuote(item.name), camera.width, camera.height, ToString(camera.model));
    const auto names = IntrinsicNames(camera.model);
    const Eigen::VectorXd values = Intrinsics(camera);
    for (std::size_t i = 0; i < names.size(); ++i) {
      out +=
          fmt::format("    {}: {}\n", names[i], FormatNumber(values[static_cast<Eigen::Index>(i)]));
    }
    if (camera.invertible_angle > 0)
      out += fmt::format("    invertible_angle_rad: {}\n", FormatNumber(camera.invertible_angle));
    if (camera.calibrated_angle > 0)
      out += fmt::format("    calibrated_angle_rad: {}\n", FormatNumber(camera.calibrated_angle));
    out += fmt::format("    rotation: {}\n    position_m: {}\n", Rows(item.X_WC.linear()),
                       Numbers(item.X_WC.translation()));
  }
  if (rig.covariance.size() > 0) {
    out += "covariance:\n";
    const auto names = ParameterNames(rig);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      out += fmt::format("  {}: {}\n", YamlQuote(names[i]),
                         Numbers(rig.covariance.row(row).head(row + 1).transpose()));
    }
  }
  return out;
}

CameraRig ParseRig(const std::string& text, const std::string& name) {
  const YamlNode root = ParseYaml(text, name);
  root.Choice("schema", {kSchema});
  CameraRig rig;
  rig.world = ReadWorld(root.MapOrEmpty("world"));
  std::set<std::string> names;
  for (const YamlNode& node : root.List("cameras")) {
    rig.cameras.push_back(ReadCamera(node));
    const std::string& camera = rig.cameras.back().name;
    try {
      CheckName(camera);
    } catch (const ConfigError&) {
      throw node.Fault("name", Excerpt(camera),
                       "up to 100 characters on one line without spaces around");
    }
    if (!names.insert(camera).second)
      throw node.Fault("name", Excerpt(camera) + " again", "every name once");
  }
  if (root.Has("covariance")) rig.covariance = ReadCovariance(root, ParameterNames(rig));
  root.Finish();
  return rig;
}

CameraRig RigFromYaml(const std::filesystem::path& path) {
  return ParseRig(LoadYaml(path).Source(), path.string());
}

}  // namespace impactlab
