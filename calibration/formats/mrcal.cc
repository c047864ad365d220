// mrcal's .cameramodel: a Python dictionary as text. The pose is Rodrigues vector and translation
// that take points of the reference frame to the camera. LENSMODEL_OPENCVn is OpenCV's model,
// pixels included.

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

constexpr int kMaxExpressionDepth = 16;

// Literals of Python: dictionaries, lists, tuples, numbers, strings (bytes are skipped), None,
// True, False.
class Literal {
 public:
  Literal(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  nlohmann::json Parse() {
    nlohmann::json value = Value(0);
    Skip();
    if (at_ != text_.size()) Fail("something after the end", "one dictionary");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& found, const std::string& allowed) {
    const auto line =
        1 + std::count(text_.begin(),
                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())),
                       '\n');
    RefuseFile(fmt::format("{}:{}", name_, line), found, allowed);
  }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' ||
                 text_[at_] == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string String() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\n') Fail("a quote that stays open", "quotes in pairs");
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) out += text_[at_++];
    }
    if (at_ >= text_.size()) Fail("a quote that stays open", "quotes in pairs");
    ++at_;
    return out;
  }

  nlohmann::json Map(int depth) {
    nlohmann::json map = nlohmann::json::object();
    ++at_;
    for (Skip(); Peek() != '}'; Skip()) {
      if (Peek() != '\'' && Peek() != '"')
        Fail(at_ < text_.size() ? Excerpt(text_.substr(at_, 10)) : "the end", "a key in quotes");
      const std::string key = String();
      Skip();
      if (Peek() != ':') Fail("no colon after " + Excerpt(key), "'key': value");
      ++at_;
      if (!map.emplace(key, Value(depth + 1)).second)
        Fail("key " + Excerpt(key) + " again", "every key once");
      Skip();
      if (Peek() == ',') {
        ++at_;
      } else if (Peek() != '}') {
        Fail("no comma after " + Excerpt(key), "a comma or a closing brace");
      }
    }
    ++at_;
    return map;
  }

  nlohmann::json List(char close, int depth) {
    nlohmann::json list = nlohmann::json::array();
    ++at_;
    for (Skip(); Peek() != close; Skip()) {
      list.push_back(Value(depth + 1));
      Skip();
      if (Peek() == ',') {
        ++at_;
      } else if (Peek() != close) {
        Fail("a list without its end", "commas between values and a closing bracket");
      }
    }
    ++at_;
    return list;
  }

  nlohmann::json Value(int depth) {
    if (depth > kMaxExpressionDepth)
      Fail("deeper nesting", fmt::format("at most {} levels", kMaxExpressionDepth));
    Skip();
    const char c = Peek();
    if (c == '{') return Map(depth);
    if (c == '[') return List(']', depth);
    if (c == '(') return List(')', depth);
    if (c == 'b' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\'' || text_[at_ + 1] == '"')) {
      ++at_;
      String();
      return nullptr;
    }
    if (c == '\'' || c == '"') return String();
    const std::size_t end = std::min(text_.find_first_of(",]})#: \t\r\n", at_), text_.size());
    const std::string word = text_.substr(at_, end - at_);
    if (word == "None" || word == "True" || word == "False") {
      at_ = end;
      return word == "None" ? nlohmann::json(nullptr) : nlohmann::json(word == "True");
    }
    const auto number = ParseNumber(word);
    if (!number)
      Fail(word.empty() ? "nothing" : Excerpt(word),
           "a number, text in quotes, a list or a dictionary");
    at_ = end;
    return *number;
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

RigCamera ReadMrcal(const std::string& text, const std::string& name,
                    const RigReadOptions& options) {
  const nlohmann::json model = Literal(text, name).Parse();
  const nlohmann::json& lens = ValueAt(model, "lensmodel", name);
  const std::string kind = lens.is_string() ? lens.get<std::string>() : lens.dump();
  std::size_t count = 0;
  if (kind == "LENSMODEL_OPENCV4") count = 4;
  if (kind == "LENSMODEL_OPENCV5") count = 5;
  if (kind == "LENSMODEL_OPENCV8") count = 8;
  if (kind == "LENSMODEL_OPENCV12") count = 12;
  if (count == 0 && kind != "LENSMODEL_PINHOLE") {
    RefuseFile(
        name + ": lensmodel", Excerpt(kind),
        "LENSMODEL_PINHOLE | LENSMODEL_OPENCV4, 5, 8 or 12; convert with mrcal-convert-lensmodel");
  }
  const auto intrinsics = NumbersAt(ValueAt(model, "intrinsics", name), name + ": intrinsics");
  if (intrinsics.size() != 4 + count) {
    RefuseFile(name + ": intrinsics", fmt::format("{} numbers", intrinsics.size()),
               fmt::format("{} for {}", 4 + count, kind));
  }
  const auto size = NumbersAt(ValueAt(model, "imagersize", name), name + ": imagersize");
  if (size.size() != 2)
    RefuseFile(name + ": imagersize", fmt::format("{} numbers", size.size()), "width and height");
  Eigen::Matrix3d K = Eigen::Matrix3d::Identity();
  K(0, 0) = intrinsics[0], K(1, 1) = intrinsics[1], K(0, 2) = intrinsics[2],
       K(1, 2) = intrinsics[3];
  RigCamera item;
  item.name = std::filesystem::path(name).stem().string();
  item.camera = CameraFromMatrix(name, K, {intrinsics.begin() + 4, intrinsics.end()}, false,
                                 SizeAt(size[0], name + ": imagersize"),
                                 SizeAt(size[1], name + ": imagersize"), options.max_skew);
  const std::string key = model.contains("rt_cam_ref") ? "rt_cam_ref" : "extrinsics";
  const auto rt = NumbersAt(ValueAt(model, key, name), name + ": " + key);
  if (rt.size() != 6)
    RefuseFile(name + ": " + key, fmt::format("{} numbers", rt.size()),
               "6: rotation vector and translation");
  const Eigen::Vector3d r(rt[0], rt[1], rt[2]), t(rt[3], rt[4], rt[5]);
  if (r.norm() > 0 || t.norm() > 0)
    item.X_WC = RigidTransform(name + ": " + key, ExpSO3(r), LengthUnit(options) * t).inverse();
  return item;
}

std::string WriteMrcal(const RigCamera& item) {
  const Camera& camera = item.camera;
  if (camera.model == LensModel::kFisheye) {
    throw ConfigError(
        fmt::format("mrcal: camera {}: found the fisheye model, allowed brown and rational; "
                    "impactlab, opencv, kalibr and aniposelib carry it",
                    Excerpt(item.name)));
  }
  const Eigen::Isometry3d X_CW = item.X_WC.inverse();
  Eigen::Matrix<double, 6, 1> rt;
  rt << LogSO3(X_CW.linear()), X_CW.translation();
  return fmt::format(
      "{{\n    'lensmodel':  'LENSMODEL_OPENCV{}',\n\n    # fx, fy, cx, cy, then the distortion in "
      "OpenCV's order\n    'intrinsics': {},\n\n"
      "    # rotation vector and translation, reference to camera\n    'extrinsics': {},\n\n    "
      "'imagersize': [{}, {}],\n}}\n",
      DistortionCount(camera.model), ListText(Intrinsics(camera)), ListText(rt), camera.width,
      camera.height);
}

}  // namespace impactlab::calibration
