#include "calibration/solve/detail/view_model.h"

#include <algorithm>
#include <cmath>

#include "calibration/camera/lens.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

// Value of a residual that has none (a point behind the camera): large and constant, so that no
// step leads there.
constexpr double kBehind = 1e4;  // [px]

}  // namespace

ViewModel::ViewModel(LensModel model, const BundleView& view, bool first_camera)
    : model_(model), view_(view), first_camera_(first_camera) {
  for (std::size_t i = 0; i < view.q.size(); ++i)
    if (view.active[i]) active_.push_back(static_cast<int>(i));
}

void ViewModel::Evaluate(const double* intrinsics, const double* camera, const double* board,
                         const double* warp, double sigma, double* residuals, double* d_intrinsics,
                         double* d_camera, double* d_board, double* d_warp) const {
  const Eigen::Vector3d r_board(board[0], board[1], board[2]),
      t_board(board[3], board[4], board[5]);
  const Eigen::Matrix3d R_WG = ExpSO3(r_board);
  Eigen::Matrix3d R_CW = Eigen::Matrix3d::Identity();
  Eigen::Vector3d t_camera = Eigen::Vector3d::Zero(), r_camera = t_camera;
  if (!first_camera_) {
    r_camera << camera[0], camera[1], camera[2];
    t_camera << camera[3], camera[4], camera[5];
    R_CW = ExpSO3(r_camera);
  }
  const bool derivatives = d_intrinsics || d_camera || d_board || d_warp;
  const Eigen::Matrix3d R_CG = R_CW * R_WG;
  const Eigen::Vector3d t_CG = R_CW * t_board + t_camera;
  Eigen::Matrix3d J_board = Eigen::Matrix3d::Identity(), J_camera = J_board;
  if (derivatives) {
    J_board = RightJacobianSO3(r_board);
    if (!first_camera_) J_camera = RightJacobianSO3(r_camera);
  }
  const int n = IntrinsicCount(model_);
  using Row3 = Eigen::Matrix<double, 1, 3>;
  for (int k = 0; k < points(); ++k) {
    const int i = active_[k];
    const double weight = 1 / (sigma * view_.sd[i]);
    Eigen::Vector3d p_G = view_.p_G[i];
    if (warp) p_G.z() += view_.bend[i].x() * warp[0] + view_.bend[i].y() * warp[1];
    const Eigen::Vector3d p_C = R_CG * p_G + t_CG;
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> dq_dp;
    IntrinsicDerivative dq_di;
    const bool seen = ProjectLens(model_, intrinsics, p_C, &q, derivatives ? &dq_dp : nullptr,
                                  d_intrinsics ? &dq_di : nullptr);
    if (!seen || !q.allFinite()) {
      residuals[2 * k] = residuals[2 * k + 1] = kBehind;
      dq_dp.setZero();
      dq_di.setZero();
    } else {
      const Eigen::Vector2d r = (q - view_.q[i]) * weight;
      residuals[2 * k] = r.x();
      residuals[2 * k + 1] = r.y();
    }
    if (!derivatives) continue;
    for (int c = 0; c < 2; ++c) {
      const int row = 2 * k + c;
      if (d_intrinsics)
        for (int j = 0; j < n; ++j) d_intrinsics[row * n + j] = weight * dq_di(c, j);
      const Row3 by_W = weight * dq_dp.row(c) * R_CW;  // of the point in W
      const Row3 by_G = weight * dq_dp.row(c) * R_CG;  // of the point in G
      if (d_board) {
        Eigen::Map<Row3>(d_board + row * 6) = p_G.cross(by_G.transpose()).transpose() * J_board;
        Eigen::Map<Row3>(d_board + row * 6 + 3) = by_W;
      }
      if (d_camera) {
        const Eigen::Vector3d p_W = R_WG * p_G + t_board;
        Eigen::Map<Row3>(d_camera + row * 6) = p_W.cross(by_W.transpose()).transpose() * J_camera;
        Eigen::Map<Row3>(d_camera + row * 6 + 3) = weight * dq_dp.row(c);
      }
      if (d_warp) {
        d_warp[row * 2] = by_G.z() * view_.bend[i].x();
        d_warp[row * 2 + 1] = by_G.z() * view_.bend[i].y();
      }
    }
  }
}

int IntrinsicIndex(LensModel model, const std::string& name) {
  const auto names = IntrinsicNames(model);
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace impactlab::calibration
