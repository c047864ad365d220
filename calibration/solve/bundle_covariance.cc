#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <optional>
#include <utility>

#include "calibration/solve/bundle.h"
#include "calibration/solve/detail/view_model.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

// Places of the free common parameters (intrinsics, poses of the cameras, warp) in a vector of
// their own.
struct FreeParameters {
  std::vector<std::vector<int>> intrinsic;  // by camera and intrinsic; -1: fixed
  std::vector<int> camera;                  // first of the six of the pose
  int warp = -1, n = 0;
  std::vector<std::string> names;

  FreeParameters(const Bundle& bundle, const CameraRig& rig)
      : intrinsic(bundle.cameras()), camera(bundle.cameras(), -1) {
    const auto full_names = ParameterNames(rig);
    for (int c = 0; c < bundle.cameras(); ++c) {
      const int lead = bundle.leader[c], count = IntrinsicCount(bundle.model[c]),
                first = FirstParameter(rig, c);
      if (lead != c) {
        intrinsic[c] = intrinsic[lead];
      } else {
        for (int j = 0; j < count; ++j) {
          intrinsic[c].push_back(bundle.free[c][j] ? n++ : -1);
          if (bundle.free[c][j]) names.push_back(full_names[first + j]);
        }
      }
      if (c > 0) {
        camera[c] = n;
        n += 6;
        for (int j = 0; j < 6; ++j) names.push_back(full_names[first + count + j]);
      }
    }
    if (bundle.free_warp) {
      warp = n;
      n += 2;
      names.push_back("warp_x_m");
      names.push_back("warp_y_m");
    }
  }
};

// Products of the derivatives of one view.
struct ViewProducts {
  int shot, camera;
  std::vector<int> columns;       // the free common parameters of the view
  Eigen::MatrixXd square, cross;  // common' common, board' common
  Matrix6d board;                 // board' board
};

std::optional<ViewProducts> ProductsOf(const Bundle& bundle, int s, int c,
                                       const FreeParameters& free) {
  using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const BundleView& view = bundle.views[s][c];
  const ViewModel model(bundle.model[c], view, c == 0);
  const int n = IntrinsicCount(bundle.model[c]), m = 2 * model.points();
  if (m == 0) return std::nullopt;
  std::vector<double> residuals(m);
  Dense d_intrinsics(m, n), d_camera(m, 6), d_board(m, 6), d_warp(m, 2);
  model.Evaluate(bundle.intrinsics[c].data(), bundle.X_CW[c].data(), bundle.X_WG[s].data(),
                 bundle.warp.data(), bundle.sigma[c], residuals.data(), d_intrinsics.data(),
                 c == 0 ? nullptr : d_camera.data(), d_board.data(), d_warp.data());
  Eigen::MatrixXd common(m, n + 8);
  ViewProducts out{s, c, {}, {}, {}, d_board.transpose() * d_board};
  int k = 0;
  const auto take = [&](const auto& column, int at) {
    common.col(k++) = column;
    out.columns.push_back(at);
  };
  for (int j = 0; j < n; ++j)
    if (free.intrinsic[c][j] >= 0) take(d_intrinsics.col(j), free.intrinsic[c][j]);
  for (int j = 0; c > 0 && j < 6; ++j) take(d_camera.col(j), free.camera[c] + j);
  for (int j = 0; bundle.free_warp && j < 2; ++j) take(d_warp.col(j), free.warp + j);
  out.square = common.leftCols(k).transpose() * common.leftCols(k);
  out.cross = d_board.transpose() * common.leftCols(k);
  return out;
}

// The information of all parameters in blocks: common, boards, and what couples them.
struct BundleInformation {
  Eigen::MatrixXd U;
  std::vector<Matrix6d> V;
  std::vector<Eigen::MatrixXd> W;
  std::vector<ViewProducts> products;
};

BundleInformation Information(const Bundle& bundle, const FreeParameters& free) {
  BundleInformation info;
  info.U = Eigen::MatrixXd::Zero(free.n, free.n);
  info.V.assign(bundle.shots(), Matrix6d::Zero());
  info.W.assign(bundle.shots(), Eigen::MatrixXd::Zero(6, free.n));
  for (int s = 0; s < bundle.shots(); ++s) {
    for (int c = 0; c < bundle.cameras(); ++c) {
      if (!bundle.views[s][c].used) continue;
      auto view = ProductsOf(bundle, s, c, free);
      if (!view) continue;
      for (int i = 0; i < static_cast<int>(view->columns.size()); ++i) {
        const int at = view->columns[i];
        for (int j = 0; j < static_cast<int>(view->columns.size()); ++j)
          info.U(at, view->columns[j]) += view->square(i, j);
        info.W[s].col(at) += view->cross.col(i);
      }
      info.V[s] += view->board;
      info.products.push_back(std::move(*view));
    }
  }
  for (int c = 0; c < bundle.cameras(); ++c)
    for (const auto& prior : bundle.priors[c]) {
      const int at = free.intrinsic[c][IntrinsicIndex(bundle.model[c], prior.parameter)];
      if (at >= 0 && bundle.leader[c] == c) info.U(at, at) += 1 / (prior.sd * prior.sd);
    }
  return info;
}

// Inverse of the information of the common parameters once the boards are eliminated, scaled to
// unit diagonal for the test of its rank; fills the weakest direction. Nothing where it is
// singular.
std::optional<Eigen::MatrixXd> CommonCovariance(const Eigen::MatrixXd& U,
                                                const std::vector<std::string>& names,
                                                BundleCovariance* result) {
  const auto n = U.rows();
  if (n == 0) return Eigen::MatrixXd();
  const Eigen::VectorXd diagonal = U.diagonal();
  if (!(diagonal.minCoeff() > 0) || !diagonal.allFinite()) {
    for (Eigen::Index j = 0; j < n; ++j)
      if (!(diagonal[j] > 0)) result->weak_parameters.push_back(names[j]);
    return std::nullopt;
  }
  const Eigen::VectorXd scale = diagonal.cwiseSqrt().cwiseInverse();
  const SymmetricEigen eigen = EigenOf(ScaleBothSides(scale, U));
  if (!eigen.ok) return std::nullopt;
  result->weakest = eigen.values[0];
  const Eigen::VectorXd direction = eigen.vectors.col(0).cwiseAbs();
  for (Eigen::Index j = 0; j < n; ++j)
    if (direction[j] > 0.5 * direction.maxCoeff()) result->weak_parameters.push_back(names[j]);
  if (!(result->weakest > 1e-13)) return std::nullopt;
  const Eigen::MatrixXd half =
      scale.asDiagonal() * eigen.vectors * eigen.values.cwiseSqrt().cwiseInverse().asDiagonal();
  return Eigen::MatrixXd(half * half.transpose());
}

// Degrees of freedom used up by the points of a view: trace of the hat matrix over its rows, J cov
// J' with the board following the common parameters (`F`).
double LeverageOf(const ViewProducts& view, const Matrix6d& V_inverse, const Eigen::MatrixXd& F,
                  const Eigen::MatrixXd& C) {
  double spent = V_inverse.cwiseProduct(view.board).sum();
  if (C.rows() == 0) return spent;
  Eigen::MatrixXd gram = F.transpose() * view.board * F;
  const Eigen::MatrixXd mixed = F.transpose() * view.cross;  // free x columns of the view
  for (std::size_t i = 0; i < view.columns.size(); ++i) {
    const int at = view.columns[i];
    gram.col(at) += mixed.col(static_cast<Eigen::Index>(i));
    gram.row(at) += mixed.col(static_cast<Eigen::Index>(i)).transpose();
    for (std::size_t j = 0; j < view.columns.size(); ++j)
      gram(at, view.columns[j]) +=
          view.square(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  }
  spent += C.cwiseProduct(gram).sum();
  return spent;
}

// Derivatives of the common parameters of the rig by the free ones, and their inverse: rotations
// about the camera's own axes and positions in W instead of the unknowns of X_CW.
struct ToRigParameters {
  Eigen::MatrixXd M, M_inverse;
};

ToRigParameters MapToRig(const Bundle& bundle, const CameraRig& rig, const FreeParameters& free) {
  const int n_rig = ParameterCount(rig), n_common = n_rig + 2;
  Eigen::MatrixXd M = Eigen::MatrixXd::Zero(n_common, free.n);
  Eigen::MatrixXd M_inverse = Eigen::MatrixXd::Zero(free.n, n_common);
  for (int c = 0; c < bundle.cameras(); ++c) {
    const int n = IntrinsicCount(bundle.model[c]), first = FirstParameter(rig, c);
    for (int j = 0; j < n; ++j) {
      const int at = free.intrinsic[c][j];
      if (at < 0) continue;
      M(first + j, at) = 1;
      if (bundle.leader[c] == c) M_inverse(at, first + j) = 1;
    }
    if (c == 0) continue;
    const Eigen::Matrix3d R_CW = ExpSO3(bundle.X_CW[c].head<3>()),
                          J = RightJacobianSO3(bundle.X_CW[c].head<3>());
    Matrix6d T = Matrix6d::Zero();
    T.topLeftCorner<3, 3>() = -R_CW * J;
    T.bottomLeftCorner<3, 3>() = CrossMatrix(rig.cameras[c].X_WC.translation()) * J;
    T.bottomRightCorner<3, 3>() = -R_CW.transpose();
    M.block<6, 6>(first + n, free.camera[c]) = T;
    M_inverse.block<6, 6>(free.camera[c], first + n) = Inverse(T);
  }
  for (int j = 0; bundle.free_warp && j < 2; ++j)
    M(n_rig + j, free.warp + j) = M_inverse(free.warp + j, n_rig + j) = 1;
  return {std::move(M), std::move(M_inverse)};
}

}  // namespace

BundleCovariance Covariance(const Bundle& bundle, const CameraRig& rig) {
  BundleCovariance result;
  const FreeParameters free(bundle, rig);
  BundleInformation info = Information(bundle, free);

  // Boards are eliminated by the Schur complement.
  std::vector<Matrix6d> V_inverse(bundle.shots(), Matrix6d::Zero());
  // derivative of the board pose by the free common parameters
  std::vector<Eigen::MatrixXd> follow(bundle.shots());
  for (int s = 0; s < bundle.shots(); ++s) {
    follow[s] = Eigen::MatrixXd::Zero(6, free.n);
    if (!bundle.ShotUsed(s)) continue;
    const Eigen::LDLT<Matrix6d> ldlt(info.V[s]);
    if (ldlt.info() != Eigen::Success || !ldlt.isPositive()) return result;
    V_inverse[s] = ldlt.solve(Matrix6d::Identity());
    follow[s] = -V_inverse[s] * info.W[s];
    info.U += info.W[s].transpose() * follow[s];
  }
  const auto C = CommonCovariance(info.U, free.names, &result);
  if (!C) return result;
  result.leverage.assign(bundle.cameras(), 0);
  for (const ViewProducts& view : info.products)
    result.leverage[view.camera] += LeverageOf(view, V_inverse[view.shot], follow[view.shot], *C);

  const auto [M, M_inverse] = MapToRig(bundle, rig, free);
  result.common = Congruence(M, *C);
  for (int s = 0; s < bundle.shots(); ++s) {
    Matrix6d T = Matrix6d::Identity();
    T.topLeftCorner<3, 3>() = RightJacobianSO3(bundle.X_WG[s].head<3>());
    result.given_common.push_back(Congruence(T, V_inverse[s]));
    result.dpose_dcommon.push_back(Eigen::MatrixXd(T) * follow[s] * M_inverse);
  }
  result.determined = true;
  return result;
}

}  // namespace impactlab::calibration
