// aniposelib's calibration.toml: a table a camera; rotation vector and translation take points of
// the world to the camera.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

// toml++ asserts some properties of its input, and assumes them where NDEBUG is set. Here a failed
// assertion is reported as a faulty file.
[[noreturn]] static void RefuseToml() { throw std::logic_error("toml++"); }
#undef NDEBUG
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expression) (static_cast<bool>(expression) ? void() : RefuseToml())
#include <toml++/toml.h>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

nlohmann::json ToJson(const toml::node& node, int depth = 0) {
  if (depth > 8) return nullptr;
  if (const auto* list = node.as_array()) {
    nlohmann::json out = nlohmann::json::array();
    for (const toml::node& item : *list) out.push_back(ToJson(item, depth + 1));
    return out;
  }
  if (node.is_number()) return node.value<double>().value_or(0);
  if (node.is_boolean()) return node.value<bool>().value_or(false);
  if (node.is_string()) return node.value<std::string>().value_or("");
  return nullptr;
}

RigCamera ReadTable(const toml::table& table, const std::string& where,
                    const RigReadOptions& options) {
  nlohmann::json map = nlohmann::json::object();
  for (const auto& [key, node] : table) map[std::string(key.str())] = ToJson(node);
  RigCamera item;
  const nlohmann::json& name = ValueAt(map, "name", where);
  item.name = name.is_string() ? name.get<std::string>() : name.dump();
  bool fisheye = false;
  if (const auto flag = map.find("fisheye"); flag != map.end()) {
    if (!flag->is_boolean())
      RefuseFile(where + ": fisheye", Excerpt(flag->dump()), "true or false");
    fisheye = flag->get<bool>();
  }
  const auto size = NumbersAt(ValueAt(map, "size", where), where + ": size");
  if (size.size() != 2)
    RefuseFile(where + ": size", fmt::format("{} numbers", size.size()), "width and height");
  std::vector<double> coefficients =
      NumbersAt(ValueAt(map, "distortions", where), where + ": distortions");
  // Fisheye cameras that were read as others first keep a trailing zero.
  while (fisheye && coefficients.size() > 4 && coefficients.back() == 0) coefficients.pop_back();
  item.camera = CameraFromMatrix(
      where, Matrix3At(ValueAt(map, "matrix", where), where + ": matrix"), coefficients, fisheye,
      SizeAt(size[0], where + ": size"), SizeAt(size[1], where + ": size"), options.max_skew);
  const auto r = NumbersAt(ValueAt(map, "rotation", where), where + ": rotation");
  const auto t = NumbersAt(ValueAt(map, "translation", where), where + ": translation");
  if (r.size() != 3 || t.size() != 3)
    RefuseFile(where, "a pose of other size", "rotation and translation of 3 numbers each");
  const Eigen::Vector3d rotation(r[0], r[1], r[2]), translation(t[0], t[1], t[2]);
  if (rotation.norm() > 0 || translation.norm() > 0) {
    item.X_WC =
        RigidTransform(where, ExpSO3(rotation), LengthUnit(options) * translation).inverse();
  }
  return item;
}

std::string TomlQuote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

CameraRig ReadAniposelib(const std::string& text, const std::string& name,
                         const RigReadOptions& options) {
  CameraRig rig;
  try {
    const toml::table root = toml::parse(text, name);
    std::vector<std::string> keys;
    for (const auto& [key, node] : root) {
      if (node.is_table() && key.str() != "metadata") keys.emplace_back(key.str());
    }
    std::sort(keys.begin(), keys.end(), NaturalLess);
    for (const std::string& key : keys)
      rig.cameras.push_back(
          ReadTable(*root[key].as_table(), fmt::format("{}: {}", name, key), options));
  } catch (const toml::parse_error& error) {
    RefuseFile(fmt::format("{}:{}", name, error.source().begin.line), Excerpt(error.description()),
               "TOML that can be parsed");
  } catch (const std::logic_error&) {
    RefuseFile(name, "broken TOML", "TOML that can be parsed");
  }
  if (rig.cameras.empty()) RefuseFile(name, "no cameras", "tables [cam_0], [cam_1], ...");
  return rig;
}

std::string WriteAniposelib(const CameraRig& rig) {
  std::string out;
  for (std::size_t i = 0; i < rig.cameras.size(); ++i) {
    const auto& [name, camera, X_WC] = rig.cameras[i];
    if (camera.model == LensModel::kRational) {
      throw ConfigError(
          fmt::format("aniposelib: camera {}: found the rational model, allowed brown and fisheye; "
                      "impactlab, opencv and mrcal carry it",
                      Excerpt(name)));
    }
    const Eigen::Isometry3d X_CW = X_WC.inverse();
    const auto coefficients = CoefficientsOf(camera);
    out += fmt::format(
        "[cam_{}]\nname = {}\nsize = [{}, {}]\nmatrix = {}\ndistortions = {}\nrotation = "
        "{}\ntranslation = {}\n",
        i, TomlQuote(name), camera.width, camera.height, RowsText(MatrixOf(camera)),
        ListText(Eigen::Map<const Eigen::VectorXd>(coefficients.data(),
                                                   static_cast<Eigen::Index>(coefficients.size()))),
        ListText(LogSO3(X_CW.linear())), ListText(X_CW.translation()));
    if (camera.model == LensModel::kFisheye) out += "fisheye = true\n";
    out += "\n";
  }
  return out + "[metadata]\n";
}

}  // namespace impactlab::calibration
