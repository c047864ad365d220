// cv::FileStorage: YAML, XML or JSON. Layouts: one camera (camera_matrix, distortion_coefficients), a stereo pair (M1, D1, M2, D2, R, T;
// R and T take points of camera 1 to camera 2), and n cameras (nCameras, camera_matrix_I, camera_distortion_I, camera_pose_I: world to
// camera), the names of OpenCV's own multi-camera calibration.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <opencv2/core.hpp>
#include <opencv2/core/persistence.hpp>

#include "calibration/formats_internal.h"
#include "data/atomic_file.h"
#include "data/error.h"
#include "data/text.h"

namespace impactlab::internal {
namespace {

struct Storage {
  cv::FileStorage storage;
  std::string name;

  Storage(const std::string& text, const std::string& file) : name(file) {
    bool opened = false;
    if (text.find('\0') != text.npos) RefuseFile(file, "binary bytes", "an OpenCV file storage");
    try {
      opened = storage.open(text, cv::FileStorage::READ | cv::FileStorage::MEMORY);
    } catch (const cv::Exception& error) {
      RefuseFile(file, Excerpt(error.err), "an OpenCV file storage that can be parsed");
    }
    if (!opened || !storage.root().isMap()) RefuseFile(file, "no keys", "an OpenCV file storage");
  }

  // The first of several spellings that is there.
  cv::FileNode Find(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (cv::FileNode node = storage[key]; !node.empty()) return node;
    }
    return {};
  }
  cv::FileNode Need(std::initializer_list<const char*> keys) const {
    cv::FileNode node = Find(keys);
    if (node.empty()) RefuseFile(fmt::format("{}: {}", name, *keys.begin()), "nothing", "this key is required");
    return node;
  }

  double Number(const cv::FileNode& node) const {
    const double value = node.isInt() || node.isReal() ? static_cast<double>(node) : NAN;
    if (!std::isfinite(value)) RefuseFile(fmt::format("{}: {}", name, node.name()), "something else", "a finite number");
    return value;
  }

  // Numbers of a matrix, or of a plain list, row by row.
  std::vector<double> Numbers(const cv::FileNode& node) const {
    const cv::FileNode data = node.isMap() ? node["data"] : node;
    if (!data.isSeq() || data.size() > 64) RefuseFile(fmt::format("{}: {}", name, node.name()), "something else", "a small matrix");
    std::vector<double> values;
    for (const cv::FileNode& item : data) {
      if (!item.isInt() && !item.isReal()) RefuseFile(fmt::format("{}: {}", name, node.name()), "something else", "a matrix of numbers");
      values.push_back(static_cast<double>(item));
      if (!std::isfinite(values.back())) RefuseFile(fmt::format("{}: {}", name, node.name()), "a number that is not finite", "numbers");
    }
    return values;
  }

  Eigen::Matrix3d Matrix(const cv::FileNode& node) const {
    const auto values = Numbers(node);
    if (values.size() != 9)
      RefuseFile(fmt::format("{}: {}", name, node.name()), fmt::format("{} numbers", values.size()), "a 3 x 3 matrix");
    return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(values.data());
  }

  bool Fisheye(const std::string& suffix) const {
    const cv::FileNode flag = storage["fisheye_model" + suffix], word = storage["camera_model" + suffix];
    if (!word.empty()) {
      const std::string model = word.isString() ? static_cast<std::string>(word) : "";
      if (model != "pinhole" && model != "fisheye") RefuseFile(name + ": camera_model" + suffix, Excerpt(model), "pinhole | fisheye");
      return model == "fisheye";
    }
    return !flag.empty() && Number(flag) != 0;
  }

  int Size(std::initializer_list<const char*> keys, int given) const {
    const cv::FileNode node = Find(keys);
    return node.empty() ? given : SizeAt(Number(node), fmt::format("{}: {}", name, node.name()));
  }

  std::string Text(const std::string& key, const std::string& otherwise) const {
    const cv::FileNode node = storage[key];
    return node.isString() ? static_cast<std::string>(node) : otherwise;
  }
};

RigCamera Item(const Storage& file, const cv::FileNode& matrix, const cv::FileNode& distortion, const std::string& label, bool fisheye,
               int width, int height, const RigReadOptions& options) {
  RigCamera item;
  item.name = label;
  const auto coefficients = distortion.empty() ? std::vector<double>(fisheye ? 4 : 0) : file.Numbers(distortion);
  item.camera =
      CameraFromMatrix(file.name + ": " + matrix.name(), file.Matrix(matrix), coefficients, fisheye, width, height, options.max_skew);
  return item;
}

CameraRig ReadMany(const Storage& file, const RigReadOptions& options) {
  const double count = file.Number(file.Need({"nCameras"}));
  if (!(count >= 1 && count <= 1000) || count != std::floor(count)) RefuseFile(file.name + ": nCameras", FormatNumber(count), "1 to 1000");
  CameraRig rig;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const auto key = [&](const char* stem) { return fmt::format("{}_{}", stem, i); };
    const int width = file.Size({key("image_width").c_str(), "image_width"}, options.width);
    const int height = file.Size({key("image_height").c_str(), "image_height"}, options.height);
    if (!file.storage[key("xi")].empty() && file.Number(file.storage[key("xi")]) != 0) {
      RefuseFile(fmt::format("{}: {}", file.name, key("xi")), "an omnidirectional (Mei) model", "a pinhole or fisheye model");
    }
    RigCamera item =
        Item(file, file.Need({key("camera_matrix").c_str()}), file.Find({key("camera_distortion").c_str()}),
             file.Text(key("camera_name"), fmt::format("camera{}", i)), file.Fisheye(fmt::format("_{}", i)), width, height, options);
    const auto pose = file.Numbers(file.Need({key("camera_pose").c_str()}));
    const std::string where = fmt::format("{}: {}", file.name, key("camera_pose"));
    if (pose.size() != 16) RefuseFile(where, fmt::format("{} numbers", pose.size()), "a 4 x 4 matrix, world to camera");
    const Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> T(pose.data());
    item.X_WC = RigidTransform(where, T.topLeftCorner<3, 3>(), LengthUnit(options) * T.topRightCorner<3, 1>()).inverse();
    rig.cameras.push_back(item);
  }
  return rig;
}

CameraRig ReadStereo(const Storage& file, const RigReadOptions& options) {
  CameraRig rig;
  const int width = file.Size({"image_width", "image_Width"}, options.width);
  const int height = file.Size({"image_height", "image_Height"}, options.height);
  const bool fisheye = file.Fisheye("");
  rig.cameras.push_back(Item(file, file.Need({"M1", "K1", "cameraMatrix1"}), file.Find({"D1", "distCoeffs1"}),
                             file.Text("camera_name_1", "camera1"), fisheye, width, height, options));
  rig.cameras.push_back(Item(file, file.Need({"M2", "K2", "cameraMatrix2"}), file.Find({"D2", "distCoeffs2"}),
                             file.Text("camera_name_2", "camera2"), fisheye, width, height, options));
  std::optional<Storage> other;
  if (!options.extrinsics.empty()) {
    try {
      other.emplace(ReadFile(options.extrinsics, std::size_t{64} << 20), options.extrinsics.string());
    } catch (const DataError& error) {
      throw ConfigError(error.what());
    }
  } else if (file.Find({"R"}).empty()) {
    RefuseFile(file.name + ": R", "nothing", "R and T, here or in the file of extrinsics");
  }
  const Storage& poses = other ? *other : file;
  const auto rotation = poses.Numbers(poses.Need({"R"})), translation = poses.Numbers(poses.Need({"T"}));
  if (translation.size() != 3) RefuseFile(poses.name + ": T", fmt::format("{} numbers", translation.size()), "3 numbers");
  const Eigen::Matrix3d R =
      rotation.size() == 3 ? RotationFromVector(Eigen::Vector3d(rotation[0], rotation[1], rotation[2])) : poses.Matrix(poses.Need({"R"}));
  const Eigen::Vector3d t(translation[0], translation[1], translation[2]);
  rig.cameras[1].X_WC = RigidTransform(poses.name + ": R", R, LengthUnit(options) * t).inverse();
  return rig;
}

cv::Mat ToMat(const Eigen::Ref<const Eigen::MatrixXd>& m) {
  cv::Mat out(static_cast<int>(m.rows()), static_cast<int>(m.cols()), CV_64F);
  for (int i = 0; i < out.rows; ++i) {
    for (int j = 0; j < out.cols; ++j) out.at<double>(i, j) = m(i, j);
  }
  return out;
}

cv::Mat DistortionMat(const Camera& camera) {
  const auto values = CoefficientsOf(camera);
  return cv::Mat(values, true);
}

}  // namespace

CameraRig ReadOpenCv(const std::string& text, const std::string& name, const RigReadOptions& options) {
  try {
    const Storage file(text, name);
    if (!file.Find({"nCameras"}).empty()) return ReadMany(file, options);
    if (!file.Find({"M1", "K1", "cameraMatrix1"}).empty()) return ReadStereo(file, options);
    const cv::FileNode matrix = file.Find({"camera_matrix", "cameraMatrix", "Camera_Matrix", "K"});
    if (matrix.empty()) RefuseFile(name, "no camera in this OpenCV file", "keys camera_matrix, M1 and M2, or nCameras");
    CameraRig rig;
    rig.cameras.push_back(Item(file, matrix, file.Find({"distortion_coefficients", "distCoeffs", "Distortion_Coefficients", "D"}),
                               file.Text("camera_name", std::filesystem::path(name).stem().string()), file.Fisheye(""),
                               file.Size({"image_width", "image_Width"}, options.width),
                               file.Size({"image_height", "image_Height"}, options.height), options));
    return rig;
  } catch (const cv::Exception& error) {
    RefuseFile(name, Excerpt(error.err), "an OpenCV file storage of cameras");
  }
}

std::string WriteOpenCv(const CameraRig& rig, const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  if (extension != ".yml" && extension != ".yaml" && extension != ".xml" && extension != ".json") {
    RefuseFile(path.string(), "extension " + Excerpt(extension), ".yml | .yaml | .xml | .json, which chooses the dialect");
  }
  cv::FileStorage file("rig" + extension, cv::FileStorage::WRITE | cv::FileStorage::MEMORY);
  const auto& cameras = rig.cameras;
  const auto fisheye = [](const Camera& camera) { return camera.model == LensModel::kFisheye; };
  const Camera& first = cameras.front().camera;
  if (cameras.size() == 1 && FirstAtOrigin(rig)) {
    file << "camera_name" << cameras[0].name << "image_width" << first.width << "image_height" << first.height;
    file << "fisheye_model" << static_cast<int>(fisheye(first)) << "camera_matrix" << ToMat(MatrixOf(first)) << "distortion_coefficients"
         << DistortionMat(first);
  } else if (cameras.size() == 2 && FirstAtOrigin(rig) && first.width == cameras[1].camera.width &&
             first.height == cameras[1].camera.height && fisheye(first) == fisheye(cameras[1].camera)) {
    const Eigen::Isometry3d X = cameras[1].X_WC.inverse();
    file << "camera_name_1" << cameras[0].name << "camera_name_2" << cameras[1].name << "image_width" << first.width << "image_height"
         << first.height << "fisheye_model" << static_cast<int>(fisheye(first));
    file << "M1" << ToMat(MatrixOf(first)) << "D1" << DistortionMat(first) << "M2" << ToMat(MatrixOf(cameras[1].camera)) << "D2"
         << DistortionMat(cameras[1].camera) << "R" << ToMat(X.linear()) << "T" << ToMat(X.translation());
  } else {
    file << "nCameras" << static_cast<int>(cameras.size());
    for (std::size_t i = 0; i < cameras.size(); ++i) {
      const auto key = [&](const char* stem) { return fmt::format("{}_{}", stem, i); };
      const Camera& camera = cameras[i].camera;
      file << key("camera_name") << cameras[i].name << key("image_width") << camera.width << key("image_height") << camera.height;
      file << key("camera_model") << (fisheye(camera) ? "fisheye" : "pinhole") << key("camera_matrix") << ToMat(MatrixOf(camera));
      file << key("camera_distortion") << DistortionMat(camera) << key("camera_pose") << ToMat(cameras[i].X_WC.inverse().matrix());
    }
  }
  return file.releaseAndGetString();
}

}  // namespace impactlab::internal
