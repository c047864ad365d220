// Rigs of cameras and tracks of markers.

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <optional>

#include "calibration/camera/rig.h"
#include "calibration/camera/triangulate.h"
#include "calibration/world/world.h"
#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/files/text.h"
#include "pipelines/python/arrays.h"
#include "tracking/track/tracks.h"

namespace impactlab::python {
namespace {

std::vector<std::string> Names(const CameraRig& rig) {
  std::vector<std::string> names;
  for (const RigCamera& camera : rig.cameras) names.push_back(camera.name);
  return names;
}

const RigCamera& CameraOf(const CameraRig& rig, const std::string& name) {
  for (const RigCamera& camera : rig.cameras)
    if (camera.name == name) return camera;
  throw ConfigError(
      fmt::format("camera: found {}, allowed {}", Excerpt(name), JoinNames(Names(rig))));
}

py::dict CameraDict(const CameraRig& rig, const std::string& name) {
  const RigCamera& c = CameraOf(rig, name);
  py::dict out, intrinsics;
  const Eigen::VectorXd values = Intrinsics(c.camera);
  const std::vector<std::string> names = IntrinsicNames(c.camera.model);
  for (std::size_t k = 0; k < names.size(); ++k)
    intrinsics[names[k].c_str()] = values[static_cast<Eigen::Index>(k)];
  out["model"] = ToString(c.camera.model);
  out["width_px"] = c.camera.width;
  out["height_px"] = c.camera.height;
  out["intrinsics"] = intrinsics;
  out["X_WC"] = ToArray(c.X_WC.matrix());
  return out;
}

Doubles ProjectPoints(const CameraRig& rig, const std::string& name, const py::object& points) {
  const RigCamera& c = CameraOf(rig, name);
  const Batch p(points, "p_m", {{3}});
  Doubles out = Zeros({p.count(), 2});
  const Eigen::Isometry3d X_CW = c.X_WC.inverse();
  for (py::ssize_t i = 0; i < p.count(); ++i)
    SetRow(out, i,
           Project(c.camera, X_CW * p.Vector(i)).value_or(Eigen::Vector2d::Constant(std::nan(""))));
  return out;
}

py::tuple Rays(const CameraRig& rig, const std::string& name, const py::object& pixels) {
  const RigCamera& c = CameraOf(rig, name);
  const Batch q(pixels, "q_px", {{2}});
  Doubles out = Zeros({q.count(), 3});
  for (py::ssize_t i = 0; i < q.count(); ++i) {
    const auto ray = Unproject(c.camera, Eigen::Vector2d(q[i][0], q[i][1]));
    SetRow(out, i,
           ray ? Eigen::Vector3d(c.X_WC.linear() * *ray) : Eigen::Vector3d::Constant(std::nan("")));
  }
  return py::make_tuple(Doubles(3, c.X_WC.translation().data()), out);
}

// What the cameras saw of case `i`: a pixel that is NaN was not seen. `S` holds one covariance for
// all cameras or one for each.
std::vector<PixelObservation> SeenBy(const Batch& q, const Batch& S, py::ssize_t i, int cameras) {
  std::vector<PixelObservation> seen;
  for (int k = 0; k < cameras; ++k) {
    const Eigen::Vector2d place(q[i][2 * k], q[i][2 * k + 1]);
    if (!place.allFinite()) continue;
    const double* own = S[i] + (S.shape() == 0 ? 0 : 4 * k);
    seen.push_back({.camera = k, .q = place, .cov = Eigen::Map<const Eigen::Matrix2d>(own)});
  }
  return seen;
}

py::dict CheckedRigidity(const CameraRig& rig, const py::object& before, const py::object& after,
                         const py::object& cov, const std::optional<double>& plane_z,
                         double significance) {
  const auto cameras = static_cast<py::ssize_t>(rig.cameras.size());
  const Batch a(before, "before_px", {{cameras, 2}}), b(after, "after_px", {{cameras, 2}}),
      S(cov, "cov_px2", {{2, 2}, {cameras, 2, 2}});
  const py::ssize_t n = Cases({&a, &b, &S});
  std::vector<std::vector<PixelObservation>> seen_before, seen_after;
  for (py::ssize_t i = 0; i < n; ++i) {
    seen_before.push_back(SeenBy(a, S, i, static_cast<int>(cameras)));
    seen_after.push_back(SeenBy(b, S, i, static_cast<int>(cameras)));
  }
  const RigidityCheck check = CheckRigidity(rig, seen_before, seen_after,
                                            {.plane_z = plane_z, .significance = significance});
  Doubles residual = Zeros({n, 3});
  for (py::ssize_t i = 0; i < n && check.usable; ++i)
    SetRow(residual, i, check.residual[static_cast<std::size_t>(i)]);
  py::dict out;
  out["usable"] = check.usable;
  out["reason"] = check.reason;
  out["rigid"] = check.usable && check.rigid;
  out["verdict"] = check.verdict;
  out["motion_W"] = ToArray(check.motion.matrix());
  out["residual_m"] = residual;
  out["rms_m"] = check.rms;
  out["expected_rms_m"] = check.expected_rms;
  out["chi_square"] = check.chi_square;
  out["dof"] = check.dof;
  out["p"] = check.p;
  out["smooth_p"] = check.smooth_p;
  out["smooth_rms_m"] = check.smooth_rms;
  out["model_error_m"] = check.model_error;
  return out;
}

py::dict TriangulatePoints(const CameraRig& rig, const py::object& pixels, const py::object& cov,
                           double max_relative_sd, int threads) {
  const auto cameras = static_cast<py::ssize_t>(rig.cameras.size());
  const Batch q(pixels, "q_px", {{cameras, 2}}), S(cov, "cov_px2", {{2, 2}, {cameras, 2, 2}});
  const py::ssize_t n = Cases({&q, &S});
  std::vector<TriangulatedPoint> points(static_cast<std::size_t>(n));
  CheckedThreads(threads);
  {
    const Unlocked unlocked;
    ForEachIndex(points.size(), threads, [&](std::size_t at) {
      const auto i = static_cast<py::ssize_t>(at);
      points[at] = Triangulate(rig, SeenBy(q, S, i, static_cast<int>(cameras)),
                               {.max_relative_sd = max_relative_sd});
    });
  }
  Doubles p = Zeros({n, 3}), cov_p = Zeros({n, 3, 3}), cov_pixels = Zeros({n, 3, 3}),
          chi_square = Zeros({n});
  py::array_t<int> dof(n);
  py::array_t<bool> usable(n);
  std::vector<std::string> reason;
  for (py::ssize_t i = 0; i < n; ++i) {
    const TriangulatedPoint& point = points[static_cast<std::size_t>(i)];
    const Eigen::Matrix3d nothing = Eigen::Matrix3d::Constant(std::nan(""));
    SetRow(p, i, point.usable ? point.p_W : Eigen::Vector3d(nothing.col(0)));
    SetRow(cov_p, i, (point.usable ? point.cov : nothing).reshaped());
    SetRow(cov_pixels, i, (point.usable ? point.cov_pixels : nothing).reshaped());
    chi_square.mutable_at(i) = point.usable ? point.chi_square : std::nan("");
    dof.mutable_at(i) = point.dof;
    usable.mutable_at(i) = point.usable;
    reason.push_back(point.reason);
  }
  py::dict out;
  out["p_m"] = p;
  out["cov_m2"] = cov_p;
  out["cov_pixels_m2"] = cov_pixels;
  out["chi_square"] = chi_square;
  out["dof"] = dof;
  out["usable"] = usable;
  out["reason"] = TextArray(reason);
  return out;
}

py::dict TrackArrays(const MarkerTracks& tracks) {
  const auto n = static_cast<py::ssize_t>(tracks.points.size());
  py::array_t<int> camera(n), marker(n);
  py::array_t<long long> frame(n);
  py::array_t<std::uint32_t> flags(n);
  Doubles t = Zeros({n}), q = Zeros({n, 2}), cov = Zeros({n, 2, 2}), smooth_q = Zeros({n, 2}),
          smooth_v = Zeros({n, 2}), nis = Zeros({n});
  std::vector<std::string> names;
  for (py::ssize_t i = 0; i < n; ++i) {
    const TrackPoint& point = tracks.points[static_cast<std::size_t>(i)];
    camera.mutable_at(i) = point.camera;
    marker.mutable_at(i) = point.marker;
    frame.mutable_at(i) = point.frame;
    flags.mutable_at(i) = point.flags;
    names.push_back(FlagNames(point.flags));
    t.mutable_at(i) = point.t;
    nis.mutable_at(i) = point.nis;
    SetRow(q, i, point.q);
    SetRow(cov, i, point.cov.reshaped());
    SetRow(smooth_q, i, point.smooth_q);
    SetRow(smooth_v, i, point.smooth_v);
  }
  py::dict out;
  out["recording"] = tracks.recording;
  out["cameras"] = tracks.cameras;
  out["markers"] = tracks.markers;
  out["camera"] = camera;
  out["marker"] = marker;
  out["frame"] = frame;
  out["t_s"] = t;
  out["q_px"] = q;
  out["cov_px2"] = cov;
  out["flags"] = flags;
  out["flag_names"] = TextArray(names);
  out["nis"] = nis;
  out["smooth_q_px"] = smooth_q;
  out["smooth_v_px_per_s"] = smooth_v;
  return out;
}

}  // namespace

void AddCameras(py::module_& module) {
  py::class_<CameraRig>(
      module, "Rig", "Cameras in one world frame W, with the joint covariance of everything in it.")
      .def_property_readonly("cameras", &Names)
      .def_property_readonly("parameter_names",
                             [](const CameraRig& rig) { return ParameterNames(rig); })
      .def_property_readonly("covariance",
                             [](const CameraRig& rig) { return ToArray(rig.covariance); })
      .def_property_readonly("gravity_direction_W",
                             [](const CameraRig& rig) -> py::object {
                               if (!rig.world.gravity_W) return py::none();
                               return Doubles(3, rig.world.gravity_W->data());
                             })
      .def("camera", &CameraDict, py::arg("name"),
           "Of one camera: model, width_px, height_px, intrinsics (dict by name with unit), X_WC "
           "(4 x 4, p_W = X_WC p_C, [m]).")
      .def("project", &ProjectPoints, py::arg("camera"), py::arg("p_m"),
           "Images (n, 2) [px] of points (n, 3) of W [m]; (0, 0) is the centre of the top-left "
           "pixel. NaN where a point cannot be seen.")
      .def("rays", &Rays, py::arg("camera"), py::arg("q_px"),
           "Centre of the camera (3,) [m] and unit directions (n, 3) in W of image points (n, 2) "
           "[px]. NaN where the lens has no ray.")
      .def("triangulate", &TriangulatePoints, py::arg("q_px"), py::arg("cov_px2"), py::kw_only(),
           py::arg("max_relative_sd") = 0.3, py::arg("threads") = 0,
           R"(Points of W from images in all cameras, by maximum likelihood over the pixels.

q_px (n, cameras, 2), NaN where a camera does not see a point; cov_px2 (2, 2), (cameras, 2, 2) or one for each case. Returns p_m (n, 3),
cov_m2 (pixels and rig), cov_pixels_m2 (n, 3, 3), chi_square, dof, usable, reason. max_relative_sd: of the depth; above it a point is
refused.)")
      .def(
          "rigidity", &CheckedRigidity, py::arg("before_px"), py::arg("after_px"),
          py::arg("cov_px2"), py::kw_only(), py::arg("plane_z_m") = py::none(),
          py::arg("significance") = 1e-3,
          R"(Tests the lens models of the rig by a rigid body that was moved: is the move measured as a rigid one?

before_px, after_px (n, cameras, 2): the same points before and after, NaN where a camera does not see one; cov_px2 as in `triangulate`.
plane_z_m: the points lie on this plane of W both times, so that one camera will do.

Returns usable, reason; rigid and verdict, in words; motion_W (4, 4) of the best rigid motion; residual_m (n, 3), 0 for points that were
not measured; rms_m and expected_rms_m; chi_square, dof and p of all residuals against their full covariance; smooth_p and smooth_rms_m of
the field that is linear and quadratic in the place, as a wrong lens leaves it; model_error_m, rms beyond noise. Raises ConfigError.)")
      .def(
          "yaml", [](const CameraRig& rig) { return ToYaml(rig); }, "The text of rig.yaml.")
      .def("__repr__", [](const CameraRig& rig) {
        return fmt::format("<impactlab.Rig: {}>", JoinNames(Names(rig)));
      });
  module.def("load_rig", &RigFromYaml, py::arg("path"),
             "Reads rig.yaml (data/README.md). Raises ConfigError.");
  module.def(
      "load_tracks",
      [](const std::filesystem::path& path) {
        py::list out;
        for (const MarkerTracks& tracks : ReadTracks(path)) out.append(TrackArrays(tracks));
        return out;
      },
      py::arg("path"),
      R"(Reads tracks.csv: a list with a dict for each recording.

recording, cameras, markers (names); by point: camera and marker (places in these lists), frame, t_s (of the marker, common clock), q_px
(n, 2), cov_px2 (n, 2, 2), flags (bits), flag_names ("saturated|touching"), nis, smooth_q_px and smooth_v_px_per_s (NaN where not smoothed).
Raises DataError with row and column.)");
}

}  // namespace impactlab::python
