#include "reconstruction/pose/marker_pose_image.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "data/base/error.h"
#include "data/math/rotation.h"

namespace impactlab::reconstruction {

using Eigen::Matrix3d;
using Eigen::Vector3d;

std::vector<View> RigViews(const CameraRig& rig) {
  std::vector<View> views;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    View view;
    view.camera = &rig.cameras[c];
    view.R_CW = rig.cameras[c].X_WC.linear().transpose();
    view.p_WC = rig.cameras[c].X_WC.translation();
    view.first_parameter = FirstParameter(rig, static_cast<int>(c));
    view.intrinsics = IntrinsicCount(rig.cameras[c].camera.model);
    views.push_back(view);
  }
  return views;
}

bool ImageOf(const View& view, const BodyMarker& marker, const Eigen::Isometry3d& X_WB,
             Eigen::Vector2d* q, ImageDerivatives* derivatives,
             Eigen::Matrix<double, 2, Eigen::Dynamic>* by_rig) {
  const Matrix3d R_CB = view.R_CW * X_WB.linear();
  const Vector3d c = view.R_CW * (X_WB.translation() - view.p_WC) + R_CB * marker.p_BM;
  const bool biased = marker.radius > 0 && view.camera->camera.model != LensModel::kFisheye;
  const Vector3d n = R_CB * marker.normal_B;
  Vector3d seen = c, pull = Vector3d::Zero();
  double strength = 0;
  if (biased) {
    if (!(c.z() > marker.radius)) return false;
    strength = marker.radius * marker.radius / c.z();
    pull = Vector3d::UnitZ() - n * n.z();
    seen -= strength * pull;
  }
  Eigen::Matrix<double, 2, 3> dq_dseen;
  Eigen::Matrix<double, 2, Eigen::Dynamic> dq_dintrinsics;
  const auto image = Project(view.camera->camera, seen, derivatives || by_rig ? &dq_dseen : nullptr,
                             by_rig ? &dq_dintrinsics : nullptr);
  if (!image) return false;
  *q = *image;
  if (!derivatives && !by_rig) return true;
  Eigen::Matrix<double, 2, 3> dq_dc = dq_dseen, dq_dn = Eigen::Matrix<double, 2, 3>::Zero();
  if (biased) {
    dq_dc.col(2) += dq_dseen * pull * (strength / c.z());
    dq_dn = strength * n.z() * dq_dseen;
    dq_dn.col(2) += strength * dq_dseen * n;
  }
  if (derivatives) {
    derivatives->by_p_W = dq_dc * view.R_CW;
    derivatives->by_p_BM = dq_dc * R_CB;
    derivatives->by_phi_B = -derivatives->by_p_BM * CrossMatrix(marker.p_BM);
    if (biased) derivatives->by_phi_B -= dq_dn * R_CB * CrossMatrix(marker.normal_B);
  }
  if (by_rig) {
    by_rig->resize(2, view.intrinsics + 6);
    by_rig->leftCols(view.intrinsics) = dq_dintrinsics;
    by_rig->middleCols<3>(view.intrinsics) = dq_dc * CrossMatrix(c) + dq_dn * CrossMatrix(n);
    by_rig->rightCols<3>() = -dq_dc * view.R_CW;
  }
  return true;
}

bool WeightRoot(const Eigen::Matrix2d& cov, Eigen::Matrix2d* root) {
  if (!cov.allFinite()) return false;
  const Eigen::LLT<Eigen::Matrix2d> llt(cov);
  if (llt.info() != Eigen::Success || !(cov.determinant() > 0)) return false;
  *root = llt.matrixL().solve(Eigen::Matrix2d::Identity());
  return root->allFinite();
}

void CheckLayout(const std::vector<BodyMarker>& layout) {
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const BodyMarker& m = layout[i];
    const double length = m.normal_B.norm();
    if (!m.p_BM.allFinite() || !(m.radius >= 0) || !std::isfinite(m.radius) ||
        !(length == 0 || std::abs(length - 1) < 1e-6)) {
      throw ConfigError(
          fmt::format("marker {} of the layout: found centre ({}, {}, {}) m, radius {} m, normal "
                      "of length {}, allowed: "
                      "finite numbers, a radius of 0 or more, a normal of length 1 or 0",
                      i + 1, m.p_BM.x(), m.p_BM.y(), m.p_BM.z(), m.radius, length));
    }
  }
}

void CheckRig(const CameraRig& rig, const char* what) {
  if (rig.covariance.size() > 0 && (rig.covariance.rows() != ParameterCount(rig) ||
                                    rig.covariance.cols() != ParameterCount(rig))) {
    throw ConfigError(fmt::format("{}: the covariance of the rig is {} x {}, its parameters are {}",
                                  what, rig.covariance.rows(), rig.covariance.cols(),
                                  ParameterCount(rig)));
  }
}

}  // namespace impactlab::reconstruction
