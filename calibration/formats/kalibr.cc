// Kalibr's camchain.yaml: cam0, cam1, ... in a chain; T_cn_cnm1 takes points of the camera before
// to this one.

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"

namespace impactlab::calibration {
namespace {

// Kalibr names no cameras, but every one has its image topic.
std::string NameFromTopic(const std::string& topic, const std::string& otherwise) {
  const std::string tail = "/image_raw";
  if (topic.size() <= tail.size() + 1 || topic.front() != '/' || !topic.ends_with(tail))
    return otherwise;
  return topic.substr(1, topic.size() - tail.size() - 1);
}

RigCamera ReadItem(const YamlNode& node, const std::string& key, const RigReadOptions& options) {
  RigCamera item;
  const std::string model = node.Text("camera_model");
  if (model != "pinhole") throw node.Fault("camera_model", Excerpt(model), "pinhole");
  const std::string distortion = node.Text("distortion_model", "none");
  const bool fisheye = distortion == "equidistant" || distortion == "equi";
  if (!fisheye && distortion != "radtan" && distortion != "none") {
    throw node.Fault("distortion_model", Excerpt(distortion), "radtan | equidistant | none");
  }
  const auto focal = node.Vector("intrinsics", 4), size = node.Vector("resolution", 2);
  Eigen::Matrix3d K = Eigen::Matrix3d::Identity();
  K(0, 0) = focal[0], K(1, 1) = focal[1], K(0, 2) = focal[2], K(1, 2) = focal[3];
  std::vector<double> coefficients;
  if (distortion != "none") coefficients = node.Vector("distortion_coeffs", 4);
  const std::string where = node.Where() + ": " + key;
  item.camera =
      CameraFromMatrix(where, K, coefficients, fisheye, SizeAt(size[0], where + ".resolution"),
                       SizeAt(size[1], where + ".resolution"), options.max_skew);
  item.name = NameFromTopic(node.Text("rostopic", ""), key);
  return item;
}

}  // namespace

CameraRig ReadKalibr(const std::string& text, const std::string& name,
                     const RigReadOptions& options) {
  const YamlNode root = ParseYaml(text, name);
  CameraRig rig;
  Eigen::Isometry3d X_CW = Eigen::Isometry3d::Identity();
  const std::size_t count = root.Keys().size();
  std::set<std::string> names;
  bool unique = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("cam{}", i);
    const YamlNode node = root.Map(key);
    RigCamera item = ReadItem(node, key, options);
    if (i > 0) {
      const auto rows = node.Vectors("T_cn_cnm1", 4);
      if (rows.size() != 4)
        throw node.Fault("T_cn_cnm1", fmt::format("{} rows", rows.size()), "4 rows of 4 numbers");
      Eigen::Matrix4d T;
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 4; ++c) T(r, c) = rows[r][c];
      }
      if (T.row(3) != Eigen::RowVector4d(0, 0, 0, 1))
        throw node.Fault("T_cn_cnm1", "another last row", "0, 0, 0, 1");
      const Eigen::Vector3d t = LengthUnit(options) * T.topRightCorner<3, 1>();
      X_CW = RigidTransform(node.Where("T_cn_cnm1") + ": " + key + ".T_cn_cnm1",
                            T.topLeftCorner<3, 3>(), t) *
             X_CW;
    }
    item.X_WC = i > 0 ? X_CW.inverse() : Eigen::Isometry3d::Identity();
    unique = names.insert(item.name).second && unique;
    rig.cameras.push_back(item);
  }
  for (std::size_t i = 0; i < count && !unique; ++i) rig.cameras[i].name = fmt::format("cam{}", i);
  return rig;
}

std::string WriteKalibr(const CameraRig& absolute, const RigWriteOptions& options) {
  const CameraRig rig =
      RelativeToFirst(absolute, options, "kalibr", "impactlab, opencv, mrcal and aniposelib");
  std::string out;
  for (std::size_t i = 0; i < rig.cameras.size(); ++i) {
    const auto& [name, camera, X_WC] = rig.cameras[i];
    if (camera.model == LensModel::kRational || camera.distortion[4] != 0) {
      throw ConfigError(fmt::format(
          "kalibr: camera {}: found {}, allowed k1, k2, p1, p2 or a fisheye; {}", Excerpt(name),
          camera.model == LensModel::kRational ? "the rational model"
                                               : "a third radial coefficient",
          camera.model == LensModel::kRational
              ? "impactlab, opencv and mrcal carry it"
              : "impactlab, opencv, mrcal and aniposelib carry it, and so does Kalibr what was "
                "calibrated with fixed: [k3]"));
    }
    const bool fisheye = camera.model == LensModel::kFisheye;
    out += fmt::format(
        "cam{}:\n  camera_model: pinhole\n  intrinsics: {}\n  distortion_model: {}\n  "
        "distortion_coeffs: {}\n",
        i, ListText(Eigen::Vector4d(camera.fx, camera.fy, camera.cx, camera.cy)),
        fisheye ? "equidistant" : "radtan",
        ListText(Eigen::Map<const Eigen::Vector4d>(camera.distortion.data())));
    out += fmt::format("  resolution: [{}, {}]\n  rostopic: {}\n", camera.width, camera.height,
                       YamlQuote("/" + name + "/image_raw"));
    if (i == 0) continue;
    const Eigen::Matrix4d T = (X_WC.inverse() * rig.cameras[i - 1].X_WC).matrix();
    out += "  T_cn_cnm1:\n";
    for (int r = 0; r < 4; ++r) out += fmt::format("  - {}\n", ListText(T.row(r).transpose()));
  }
  return out;
}

}  // namespace impactlab::calibration
