// cv::FileStorage: YAML, XML or JSON. Layouts: one camera (camera_matrix, distortion_coefficients),
// a stereo pair (M1, D1, M2, D2, R, T; R and T take points of camera 1 to camera 2), and n cameras
// (nCameras, camera_matrix_I, camera_distortion_I, camera_pose_I: world to camera), the names of
// OpenCV's own multi-camera calibration. ROS's camera files are the first layout in plain YAML.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/core/persistence.hpp>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

using nlohmann::json;

struct Storage {
  std::string name;
  json root;

  Storage(const std::string& text, const std::string& file)
      : name(file), root(ParseStorage(text, file)) {}

  // The first of several spellings that is there; empty when none is.
  std::string Find(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys) {
      if (root.contains(key)) return key;
    }
    return {};
  }
  std::string Need(const std::vector<std::string>& keys) const {
    std::string key = Find(keys);
    if (key.empty())
      RefuseFile(fmt::format("{}: {}", name, keys.front()), "nothing", "this key is required");
    return key;
  }
  std::string Where(const std::string& key) const { return name + ": " + key; }

  double Number(const std::string& key) const { return NumberAt(root.at(key), Where(key)); }

  // Numbers of a matrix, or of a plain list, row by row.
  std::vector<double> Numbers(const std::string& key) const {
    const json& value = root.at(key);
    return NumbersAt(value.is_object() ? ValueAt(value, "data", Where(key)) : value, Where(key));
  }
  Eigen::Matrix3d Matrix(const std::string& key) const {
    const json& value = root.at(key);
    return Matrix3At(value.is_object() ? ValueAt(value, "data", Where(key)) : value, Where(key));
  }

  std::string Text(const std::string& key, const std::string& otherwise) const {
    return root.contains(key) && root.at(key).is_string() ? root.at(key).get<std::string>()
                                                          : otherwise;
  }

  bool Fisheye(const std::string& suffix) const {
    const std::string flag = "fisheye_model" + suffix, word = "camera_model" + suffix,
                      ros = "distortion_model" + suffix;
    if (root.contains(word)) {
      const std::string model = Text(word, "");
      if (model != "pinhole" && model != "fisheye")
        RefuseFile(Where(word), Excerpt(model), "pinhole | fisheye");
      return model == "fisheye";
    }
    if (root.contains(ros) && !root.contains(flag)) {
      const std::string model = Text(ros, "");
      if (model != "plumb_bob" && model != "rational_polynomial" && model != "equidistant") {
        RefuseFile(Where(ros), Excerpt(model), "plumb_bob | rational_polynomial | equidistant");
      }
      return model == "equidistant";
    }
    return root.contains(flag) && Number(flag) != 0;
  }

  int Size(const std::vector<std::string>& keys, int given) const {
    const std::string key = Find(keys);
    return key.empty() ? given : SizeAt(Number(key), Where(key));
  }
};

RigCamera MakeItem(const Storage& file, const std::string& matrix, const std::string& distortion,
                   const std::string& label, bool fisheye, int width, int height,
                   const RigReadOptions& options) {
  RigCamera item;
  item.name = label;
  const auto coefficients =
      distortion.empty() ? std::vector<double>(fisheye ? 4 : 0) : file.Numbers(distortion);
  item.camera = CameraFromMatrix(file.Where(matrix), file.Matrix(matrix), coefficients, fisheye,
                                 width, height, options.max_skew);
  return item;
}

CameraRig ReadMany(const Storage& file, const RigReadOptions& options) {
  const double count = file.Number("nCameras");
  if (!(count >= 1 && count <= 1000) || count != std::floor(count))
    RefuseFile(file.name + ": nCameras", FormatNumber(count), "1 to 1000");
  CameraRig rig;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const auto key = [&](const char* stem) { return fmt::format("{}_{}", stem, i); };
    const int width = file.Size({key("image_width"), "image_width"}, options.width);
    const int height = file.Size({key("image_height"), "image_height"}, options.height);
    if (file.root.contains(key("xi")) && file.Number(key("xi")) != 0) {
      RefuseFile(fmt::format("{}: {}", file.name, key("xi")), "an omnidirectional (Mei) model",
                 "a pinhole or fisheye model");
    }
    RigCamera item =
        MakeItem(file, file.Need({key("camera_matrix")}), file.Find({key("camera_distortion")}),
                 file.Text(key("camera_name"), fmt::format("camera{}", i)),
                 file.Fisheye(fmt::format("_{}", i)), width, height, options);
    const auto pose = file.Numbers(file.Need({key("camera_pose")}));
    const std::string where = fmt::format("{}: {}", file.name, key("camera_pose"));
    if (pose.size() != 16)
      RefuseFile(where, fmt::format("{} numbers", pose.size()), "a 4 x 4 matrix, world to camera");
    const Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> T(pose.data());
    item.X_WC = RigidTransform(where, T.topLeftCorner<3, 3>(),
                               LengthUnit(options) * T.topRightCorner<3, 1>())
                    .inverse();
    rig.cameras.push_back(item);
  }
  return rig;
}

CameraRig ReadStereo(const Storage& file, const RigReadOptions& options) {
  CameraRig rig;
  const int width = file.Size({"image_width", "image_Width"}, options.width);
  const int height = file.Size({"image_height", "image_Height"}, options.height);
  const bool fisheye = file.Fisheye("");
  rig.cameras.push_back(
      MakeItem(file, file.Need({"M1", "K1", "cameraMatrix1"}), file.Find({"D1", "distCoeffs1"}),
               file.Text("camera_name_1", "camera1"), fisheye, width, height, options));
  rig.cameras.push_back(
      MakeItem(file, file.Need({"M2", "K2", "cameraMatrix2"}), file.Find({"D2", "distCoeffs2"}),
               file.Text("camera_name_2", "camera2"), fisheye, width, height, options));
  std::optional<Storage> other;
  if (!options.extrinsics.empty()) {
    try {
      other.emplace(ReadFile(options.extrinsics, std::size_t{64} << 20),
                    options.extrinsics.string());
    } catch (const DataError& error) {
      throw ConfigError(error.what());
    }
  } else if (!file.root.contains("R")) {
    RefuseFile(file.name + ": R", "nothing", "R and T, here or in the file of extrinsics");
  }
  const Storage& poses = other ? *other : file;
  const auto rotation = poses.Numbers(poses.Need({"R"})),
             translation = poses.Numbers(poses.Need({"T"}));
  if (translation.size() != 3)
    RefuseFile(poses.name + ": T", fmt::format("{} numbers", translation.size()), "3 numbers");
  const Eigen::Matrix3d R = rotation.size() == 3
                                ? ExpSO3(Eigen::Vector3d(rotation[0], rotation[1], rotation[2]))
                                : poses.Matrix(poses.Need({"R"}));
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

CameraRig ReadOpenCv(const std::string& text, const std::string& name,
                     const RigReadOptions& options) {
  const Storage file(text, name);
  if (file.root.contains("nCameras")) return ReadMany(file, options);
  if (!file.Find({"M1", "K1", "cameraMatrix1"}).empty()) return ReadStereo(file, options);
  const std::string matrix = file.Find({"camera_matrix", "cameraMatrix", "Camera_Matrix", "K"});
  if (matrix.empty())
    RefuseFile(name, "no camera in this OpenCV file", "keys camera_matrix, M1 and M2, or nCameras");
  CameraRig rig;
  rig.cameras.push_back(
      MakeItem(file, matrix,
               file.Find({"distortion_coefficients", "distCoeffs", "Distortion_Coefficients", "D"}),
               file.Text("camera_name", std::filesystem::path(name).stem().string()),
               file.Fisheye(""), file.Size({"image_width", "image_Width"}, options.width),
               file.Size({"image_height", "image_Height"}, options.height), options));
  return rig;
}

std::string WriteOpenCv(const CameraRig& rig, const std::filesystem::path& path) {
  const std::string extension = LowerCase(path.extension().string());
  if (extension != ".yml" && extension != ".yaml" && extension != ".xml" && extension != ".json") {
    RefuseFile(path.string(), "extension " + Excerpt(extension),
               ".yml | .yaml | .xml | .json, which chooses the dialect");
  }
  cv::FileStorage file("rig" + extension, cv::FileStorage::WRITE | cv::FileStorage::MEMORY);
  const auto& cameras = rig.cameras;
  const auto fisheye = [](const Camera& camera) { return camera.model == LensModel::kFisheye; };
  const Camera& first = cameras.front().camera;
  if (cameras.size() == 1 && FirstAtOrigin(rig)) {
    file << "camera_name" << cameras[0].name << "image_width" << first.width << "image_height"
         << first.height;
    file << "fisheye_model" << static_cast<int>(fisheye(first)) << "camera_matrix"
         << ToMat(MatrixOf(first)) << "distortion_coefficients" << DistortionMat(first);
  } else if (cameras.size() == 2 && FirstAtOrigin(rig) && first.width == cameras[1].camera.width &&
             first.height == cameras[1].camera.height &&
             fisheye(first) == fisheye(cameras[1].camera)) {
    const Eigen::Isometry3d X = cameras[1].X_WC.inverse();
    file << "camera_name_1" << cameras[0].name << "camera_name_2" << cameras[1].name
         << "image_width" << first.width << "image_height" << first.height << "fisheye_model"
         << static_cast<int>(fisheye(first));
    file << "M1" << ToMat(MatrixOf(first)) << "D1" << DistortionMat(first) << "M2"
         << ToMat(MatrixOf(cameras[1].camera)) << "D2" << DistortionMat(cameras[1].camera) << "R"
         << ToMat(X.linear()) << "T" << ToMat(X.translation());
  } else {
    file << "nCameras" << static_cast<int>(cameras.size());
    for (std::size_t i = 0; i < cameras.size(); ++i) {
      const auto key = [&](const char* stem) { return fmt::format("{}_{}", stem, i); };
      const Camera& camera = cameras[i].camera;
      file << key("camera_name") << cameras[i].name << key("image_width") << camera.width
           << key("image_height") << camera.height;
      file << key("camera_model") << (fisheye(camera) ? "fisheye" : "pinhole")
           << key("camera_matrix") << ToMat(MatrixOf(camera));
      file << key("camera_distortion") << DistortionMat(camera) << key("camera_pose")
           << ToMat(cameras[i].X_WC.inverse().matrix());
    }
  }
  return file.releaseAndGetString();
}

}  // namespace impactlab::calibration
