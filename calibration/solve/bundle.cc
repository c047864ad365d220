#include "calibration/solve/bundle.h"

#include <ceres/ceres.h>
#include <glog/logging.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "calibration/camera/lens.h"
#include "calibration/camera/rotation.h"

namespace impactlab::calibration {
namespace {

// Ceres logs every step it had to take back; what comes of it is in the summary.
[[maybe_unused]] const int quiet_log = FLAGS_minloglevel = google::GLOG_ERROR;

// Stands in for a residual that has no value (a point behind the camera): large, and flat, so that
// no step goes there.
constexpr double kBehind = 1e4;  // [px]

// Residuals of the active points of a view and their derivatives. `scale` = 1 / sigma.
class ViewModel {
 public:
  ViewModel(LensModel model, const BundleView& view, bool first_camera)
      : model_(model), view_(view), first_camera_(first_camera) {
    for (std::size_t i = 0; i < view.q.size(); ++i)
      if (view.active[i]) active_.push_back(static_cast<int>(i));
  }

  int points() const { return static_cast<int>(active_.size()); }

  // Any of the derivative arrays may be null; rows are the residuals, row-major.
  void Evaluate(const double* intrinsics, const double* camera, const double* board,
                const double* warp, double sigma, double* residuals, double* d_intrinsics,
                double* d_camera, double* d_board, double* d_warp) const {
    const Eigen::Vector3d r_board(board[0], board[1], board[2]),
        t_board(board[3], board[4], board[5]);
    const Eigen::Matrix3d R_WG = RotationFromVector(r_board);
    Eigen::Matrix3d R_CW = Eigen::Matrix3d::Identity();
    Eigen::Vector3d t_camera = Eigen::Vector3d::Zero(), r_camera = t_camera;
    if (!first_camera_) {
      r_camera << camera[0], camera[1], camera[2];
      t_camera << camera[3], camera[4], camera[5];
      R_CW = RotationFromVector(r_camera);
    }
    const bool derivatives = d_intrinsics || d_camera || d_board || d_warp;
    const Eigen::Matrix3d R_CG = R_CW * R_WG;
    const Eigen::Vector3d t_CG = R_CW * t_board + t_camera;
    Eigen::Matrix3d J_board = Eigen::Matrix3d::Identity(), J_camera = J_board;
    if (derivatives) {
      J_board = RightJacobian(r_board);
      if (!first_camera_) J_camera = RightJacobian(r_camera);
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

 private:
  LensModel model_;
  const BundleView& view_;
  bool first_camera_;
  std::vector<int> active_;
};

// Parameter blocks: intrinsics, camera (not of the first), board, warp (where it is estimated).
// The Cauchy loss of each point is taken into its residual, r -> r sqrt(rho(|r|^2)) / |r|, so that
// one block holds a whole view: the cost is the same, and the rotations are worked out once a view.
class ViewCost final : public ceres::CostFunction {
 public:
  ViewCost(LensModel model, const BundleView& view, bool first_camera, double sigma,
           double loss_scale, const double* held_warp)
      : model_(model, view, first_camera),
        first_camera_(first_camera),
        sigma_(sigma),
        loss_scale_(loss_scale),
        held_warp_(held_warp) {
    set_num_residuals(2 * model_.points());
    auto* sizes = mutable_parameter_block_sizes();
    sizes->push_back(IntrinsicCount(model));
    if (!first_camera) sizes->push_back(6);
    sizes->push_back(6);
    if (!held_warp) sizes->push_back(2);
  }

  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    const int board = first_camera_ ? 1 : 2;
    const auto jacobian = [&](int block) { return jacobians ? jacobians[block] : nullptr; };
    const double* warp = held_warp_ ? held_warp_ : parameters[board + 1];
    model_.Evaluate(parameters[0], first_camera_ ? nullptr : parameters[1], parameters[board], warp,
                    sigma_, residuals, jacobian(0), first_camera_ ? nullptr : jacobian(1),
                    jacobian(board), held_warp_ ? nullptr : jacobian(board + 1));
    if (!(loss_scale_ > 0)) return true;
    for (int k = 0; k < model_.points(); ++k) {
      Eigen::Map<Eigen::Vector2d> r(residuals + 2 * k);
      const double square = r.squaredNorm(), scale2 = loss_scale_ * loss_scale_;
      if (square < 1e-14 * scale2) continue;
      const double rho = scale2 * std::log1p(square / scale2), drho = 1 / (1 + square / scale2);
      const double factor = std::sqrt(rho / square);
      // d(factor r) = factor I + r r' (drho - rho / square) / (factor square)
      const double along = (drho - rho / square) / (factor * square);
      if (jacobians) {
        for (std::size_t block = 0; block < parameter_block_sizes().size(); ++block) {
          if (!jacobians[block]) continue;
          const int size = parameter_block_sizes()[block];
          double *x = jacobians[block] + 2 * k * size, *y = x + size;
          for (int j = 0; j < size; ++j) {
            const double inner = along * (r.x() * x[j] + r.y() * y[j]);
            x[j] = factor * x[j] + r.x() * inner;
            y[j] = factor * y[j] + r.y() * inner;
          }
        }
      }
      r *= factor;
    }
    return true;
  }

 private:
  ViewModel model_;
  bool first_camera_;
  double sigma_, loss_scale_;
  const double* held_warp_;
};

class PriorCost final : public ceres::CostFunction {
 public:
  PriorCost(int size, int index, double mean, double sd) : index_(index), mean_(mean), sd_(sd) {
    set_num_residuals(1);
    mutable_parameter_block_sizes()->push_back(size);
  }
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    residuals[0] = (parameters[0][index_] - mean_) / sd_;
    if (jacobians && jacobians[0]) {
      std::fill_n(jacobians[0], parameter_block_sizes()[0], 0.0);
      jacobians[0][index_] = 1 / sd_;
    }
    return true;
  }

 private:
  int index_;
  double mean_, sd_;
};

int IntrinsicIndex(LensModel model, const std::string& name) {
  const auto names = IntrinsicNames(model);
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

Eigen::Isometry3d ToIsometry(const Vector6d& pose) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = RotationFromVector(pose.head<3>());
  X.translation() = pose.tail<3>();
  return X;
}

Vector6d FromIsometry(const Eigen::Isometry3d& X) {
  Vector6d pose;
  pose << VectorFromRotation(X.linear()), X.translation();
  return pose;
}

bool Bundle::ShotUsed(int shot) const {
  return std::any_of(views[shot].begin(), views[shot].end(),
                     [](const BundleView& v) { return v.used; });
}

BundleView MakeView(const Board& board, const BoardView& view) {
  BundleView made;
  const Eigen::Vector2d half = 0.5 * Extent(board);
  for (const BoardPoint& point : view.points) {
    const Eigen::Vector3d p_G = PointOnBoard(board, point.id);
    const Eigen::Array2d u = p_G.head<2>().array() / half.array() - 1;
    made.id.push_back(point.id);
    made.p_G.push_back(p_G);
    made.bend.push_back((1 - u * u).matrix());
    made.q.push_back(point.q);
    made.sd.push_back(point.sd);
    made.active.push_back(1);
  }
  return made;
}

std::vector<Eigen::Vector2d> Residuals(const Bundle& bundle, int shot, int camera) {
  const BundleView& view = bundle.views[shot][camera];
  const Eigen::Isometry3d X_CG = ToIsometry(bundle.X_CW[camera]) * ToIsometry(bundle.X_WG[shot]);
  std::vector<Eigen::Vector2d> residuals(
      view.q.size(), Eigen::Vector2d::Constant(std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t i = 0; i < view.q.size(); ++i) {
    Eigen::Vector3d p_G = view.p_G[i];
    p_G.z() += view.bend[i].dot(bundle.warp);
    Eigen::Vector2d q;
    if (ProjectLens(bundle.model[camera], bundle.intrinsics[camera].data(), X_CG * p_G, &q, nullptr,
                    nullptr))
      residuals[i] = q - view.q[i];
  }
  return residuals;
}

BundleSummary Minimize(Bundle& bundle, double loss_scale, int max_iterations, double tolerance) {
  // The solver orders blocks by their addresses: in one array their order, and with it every bit of
  // the result, is that of the problem.
  std::vector<double> unknowns(
      static_cast<std::size_t>(6 * bundle.shots() + (kMaxIntrinsics + 6) * bundle.cameras() + 2));
  double* const boards = unknowns.data();
  double* const intrinsics = boards + 6 * bundle.shots();
  double* const places = intrinsics + kMaxIntrinsics * bundle.cameras();
  double* const warp = places + 6 * bundle.cameras();
  for (int s = 0; s < bundle.shots(); ++s) Eigen::Map<Vector6d>(boards + 6 * s) = bundle.X_WG[s];
  for (int c = 0; c < bundle.cameras(); ++c) {
    std::copy_n(bundle.intrinsics[c].data(), bundle.intrinsics[c].size(),
                intrinsics + kMaxIntrinsics * c);
    Eigen::Map<Vector6d>(places + 6 * c) = bundle.X_CW[c];
  }
  Eigen::Map<Eigen::Vector2d>(warp, 2) = bundle.warp;

  ceres::Problem problem;
  auto ordering = std::make_shared<ceres::ParameterBlockOrdering>();
  std::vector<char> leads(bundle.cameras(), 0), placed(bundle.cameras(), 0);
  bool any = false;
  for (int s = 0; s < bundle.shots(); ++s) {
    bool board_used = false;
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      auto cost = std::make_unique<ViewCost>(bundle.model[c], view, c == 0, bundle.sigma[c],
                                             loss_scale, bundle.free_warp ? nullptr : warp);
      if (cost->num_residuals() == 0) continue;
      std::vector<double*> blocks{intrinsics + kMaxIntrinsics * bundle.leader[c]};
      if (c > 0) blocks.push_back(places + 6 * c);
      blocks.push_back(boards + 6 * s);
      if (bundle.free_warp) blocks.push_back(warp);
      problem.AddResidualBlock(cost.release(), nullptr, blocks);
      leads[bundle.leader[c]] = 1;
      placed[c] = 1;
      board_used = any = true;
    }
    if (board_used) ordering->AddElementToGroup(boards + 6 * s, 0);
  }
  if (!any) return {};
  if (bundle.free_warp) ordering->AddElementToGroup(warp, 1);
  for (int c = 0; c < bundle.cameras(); ++c) {
    if (c > 0 && placed[c]) ordering->AddElementToGroup(places + 6 * c, 1);
    if (!leads[c]) continue;
    double* block = intrinsics + kMaxIntrinsics * c;
    const int n = IntrinsicCount(bundle.model[c]);
    ordering->AddElementToGroup(block, 1);
    std::vector<int> held;
    for (int j = 0; j < n; ++j)
      if (!bundle.free[c][j]) held.push_back(j);
    if (static_cast<int>(held.size()) == n) {
      problem.SetParameterBlockConstant(block);
    } else if (!held.empty()) {
      problem.SetManifold(block, new ceres::SubsetManifold(n, held));
    }
    for (const auto& prior : bundle.priors[c])
      problem.AddResidualBlock(
          new PriorCost(n, IntrinsicIndex(bundle.model[c], prior.parameter), prior.mean, prior.sd),
          nullptr, block);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_SCHUR;
  options.linear_solver_ordering = ordering;
  options.max_num_iterations = max_iterations;
  // Least squares starts where a robust solve ended: whole steps from the first.
  if (!(loss_scale > 0)) options.initial_trust_region_radius = 1e9;
  options.num_threads = 1;  // bits that do not depend on the machine's load
  options.function_tolerance = tolerance;
  options.parameter_tolerance = 1e-12;
  options.gradient_tolerance = 1e-13;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);

  for (int s = 0; s < bundle.shots(); ++s) bundle.X_WG[s] = Eigen::Map<Vector6d>(boards + 6 * s);
  for (int c = 0; c < bundle.cameras(); ++c) {
    bundle.intrinsics[c] = Eigen::Map<Eigen::VectorXd>(
        intrinsics + kMaxIntrinsics * bundle.leader[c], IntrinsicCount(bundle.model[c]));
    bundle.X_CW[c] = Eigen::Map<Vector6d>(places + 6 * c);
  }
  bundle.warp = Eigen::Map<Eigen::Vector2d>(warp, 2);
  BundleSummary result;
  result.converged =
      summary.termination_type == ceres::CONVERGENCE && std::isfinite(summary.final_cost);
  result.iterations = static_cast<int>(summary.iterations.size());
  result.cost = summary.final_cost;
  return result;
}

CameraRig ToRig(const Bundle& bundle, const CalibrationProblem& problem) {
  CameraRig rig;
  for (int c = 0; c < bundle.cameras(); ++c) {
    RigCamera camera;
    camera.name = problem.cameras[c].name;
    camera.camera.model = bundle.model[c];
    camera.camera.width = problem.cameras[c].width;
    camera.camera.height = problem.cameras[c].height;
    SetIntrinsics(camera.camera, bundle.intrinsics[c]);
    camera.X_WC = ToIsometry(bundle.X_CW[c]).inverse();
    rig.cameras.push_back(camera);
  }
  return rig;
}

BundleCovariance Covariance(const Bundle& bundle, const CameraRig& rig) {
  BundleCovariance result;
  const int n_cameras = bundle.cameras(), n_rig = ParameterCount(rig), n_common = n_rig + 2;
  // Free common parameters: where each sits among the full ones of the rig.
  std::vector<std::vector<int>> intrinsic_column(n_cameras);
  std::vector<int> camera_column(n_cameras, -1);
  std::vector<std::string> names;
  const auto full_names = ParameterNames(rig);
  int n_free = 0;
  for (int c = 0; c < n_cameras; ++c) {
    const int lead = bundle.leader[c], n = IntrinsicCount(bundle.model[c]),
              first = FirstParameter(rig, c);
    if (lead != c) {
      intrinsic_column[c] = intrinsic_column[lead];
    } else {
      for (int j = 0; j < n; ++j) {
        intrinsic_column[c].push_back(bundle.free[c][j] ? n_free++ : -1);
        if (bundle.free[c][j]) names.push_back(full_names[first + j]);
      }
    }
    if (c > 0) {
      camera_column[c] = n_free;
      n_free += 6;
      for (int j = 0; j < 6; ++j) names.push_back(full_names[first + n + j]);
    }
  }
  const int warp_column = bundle.free_warp ? n_free : -1;
  if (bundle.free_warp) {
    n_free += 2;
    names.push_back("warp_x_m");
    names.push_back("warp_y_m");
  }

  using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::MatrixXd U = Eigen::MatrixXd::Zero(n_free, n_free);
  std::vector<Matrix6d> V(bundle.shots(), Matrix6d::Zero());
  std::vector<Eigen::MatrixXd> W(bundle.shots(), Eigen::MatrixXd::Zero(6, n_free));
  struct Products {  // of the derivatives of one view
    int shot, camera;
    std::vector<int> columns;       // common ones it has
    Eigen::MatrixXd square, cross;  // common' common, board' common
    Matrix6d board;                 // board' board
  };
  std::vector<Products> products;
  for (int s = 0; s < bundle.shots(); ++s) {
    for (int c = 0; c < n_cameras; ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      const ViewModel model(bundle.model[c], view, c == 0);
      const int n = IntrinsicCount(bundle.model[c]), m = 2 * model.points();
      if (m == 0) continue;
      std::vector<double> residuals(m);
      Dense d_intrinsics(m, n), d_camera(m, 6), d_board(m, 6), d_warp(m, 2);
      model.Evaluate(bundle.intrinsics[c].data(), bundle.X_CW[c].data(), bundle.X_WG[s].data(),
                     bundle.warp.data(), bundle.sigma[c], residuals.data(), d_intrinsics.data(),
                     c == 0 ? nullptr : d_camera.data(), d_board.data(), d_warp.data());
      Eigen::MatrixXd common(m, n + 8);
      Products view_products{s, c, {}, {}, {}, d_board.transpose() * d_board};
      int k = 0;
      const auto take = [&](const auto& column, int at) {
        common.col(k++) = column;
        view_products.columns.push_back(at);
      };
      for (int j = 0; j < n; ++j)
        if (intrinsic_column[c][j] >= 0) take(d_intrinsics.col(j), intrinsic_column[c][j]);
      for (int j = 0; c > 0 && j < 6; ++j) take(d_camera.col(j), camera_column[c] + j);
      for (int j = 0; bundle.free_warp && j < 2; ++j) take(d_warp.col(j), warp_column + j);
      view_products.square = common.leftCols(k).transpose() * common.leftCols(k);
      view_products.cross = d_board.transpose() * common.leftCols(k);
      for (int i = 0; i < k; ++i) {
        const int at = view_products.columns[i];
        for (int j = 0; j < k; ++j) U(at, view_products.columns[j]) += view_products.square(i, j);
        W[s].col(at) += view_products.cross.col(i);
      }
      V[s] += view_products.board;
      products.push_back(std::move(view_products));
    }
  }
  for (int c = 0; c < n_cameras; ++c)
    for (const auto& prior : bundle.priors[c]) {
      const int at = intrinsic_column[c][IntrinsicIndex(bundle.model[c], prior.parameter)];
      if (at >= 0 && bundle.leader[c] == c) U(at, at) += 1 / (prior.sd * prior.sd);
    }

  // Boards leave by the Schur complement.
  std::vector<Matrix6d> V_inverse(bundle.shots(), Matrix6d::Zero());
  // of the board pose with the free common parameters
  std::vector<Eigen::MatrixXd> follow(bundle.shots());
  for (int s = 0; s < bundle.shots(); ++s) {
    follow[s] = Eigen::MatrixXd::Zero(6, n_free);
    if (!bundle.ShotUsed(s)) continue;
    const Eigen::LDLT<Matrix6d> ldlt(V[s]);
    if (ldlt.info() != Eigen::Success || !ldlt.isPositive()) return result;
    V_inverse[s] = ldlt.solve(Matrix6d::Identity());
    follow[s] = -V_inverse[s] * W[s];
    U += W[s].transpose() * follow[s];
  }
  Eigen::MatrixXd C = Eigen::MatrixXd::Zero(n_free, n_free);
  if (n_free > 0) {
    const Eigen::VectorXd diagonal = U.diagonal();
    if (!(diagonal.minCoeff() > 0) || !diagonal.allFinite()) {
      for (int j = 0; j < n_free; ++j)
        if (!(diagonal[j] > 0)) result.weak_parameters.push_back(names[j]);
      return result;
    }
    const Eigen::VectorXd scale = diagonal.cwiseSqrt().cwiseInverse();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scale.asDiagonal() * U *
                                                               scale.asDiagonal());
    if (eigen.info() != Eigen::Success) return result;
    result.weakest = eigen.eigenvalues()[0];
    const Eigen::VectorXd direction = eigen.eigenvectors().col(0).cwiseAbs();
    for (int j = 0; j < n_free; ++j)
      if (direction[j] > 0.5 * direction.maxCoeff()) result.weak_parameters.push_back(names[j]);
    if (!(result.weakest > 1e-13)) return result;
    const Eigen::MatrixXd half = scale.asDiagonal() * eigen.eigenvectors() *
                                 eigen.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal();
    C = half * half.transpose();
  }

  // Degrees of freedom spent by the points of each camera: trace of the hat matrix over its rows, J
  // cov J' with the board following the common parameters.
  result.leverage.assign(n_cameras, 0);
  for (const Products& view : products) {
    const Eigen::MatrixXd& F = follow[view.shot];
    double spent = V_inverse[view.shot].cwiseProduct(view.board).sum();
    if (n_free > 0) {
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
    }
    result.leverage[view.camera] += spent;
  }

  // To the parameters of the rig: rotations about the camera's own axes and positions in W instead
  // of the unknowns of X_CW.
  Eigen::MatrixXd M = Eigen::MatrixXd::Zero(n_common, n_free);  // d(common) / d(free)
  Eigen::MatrixXd M_inverse = Eigen::MatrixXd::Zero(n_free, n_common);
  for (int c = 0; c < n_cameras; ++c) {
    const int n = IntrinsicCount(bundle.model[c]), first = FirstParameter(rig, c);
    for (int j = 0; j < n; ++j) {
      const int at = intrinsic_column[c][j];
      if (at < 0) continue;
      M(first + j, at) = 1;
      if (bundle.leader[c] == c) M_inverse(at, first + j) = 1;
    }
    if (c == 0) continue;
    const Eigen::Matrix3d R_CW = RotationFromVector(bundle.X_CW[c].head<3>()),
                          J = RightJacobian(bundle.X_CW[c].head<3>());
    Matrix6d T = Matrix6d::Zero();
    T.topLeftCorner<3, 3>() = -R_CW * J;
    T.bottomLeftCorner<3, 3>() = Skew(rig.cameras[c].X_WC.translation()) * J;
    T.bottomRightCorner<3, 3>() = -R_CW.transpose();
    M.block<6, 6>(first + n, camera_column[c]) = T;
    M_inverse.block<6, 6>(camera_column[c], first + n) = T.inverse();
  }
  for (int j = 0; bundle.free_warp && j < 2; ++j)
    M(n_rig + j, warp_column + j) = M_inverse(warp_column + j, n_rig + j) = 1;
  result.common = M * C * M.transpose();
  for (int s = 0; s < bundle.shots(); ++s) {
    Matrix6d T = Matrix6d::Identity();
    T.topLeftCorner<3, 3>() = RightJacobian(bundle.X_WG[s].head<3>());
    result.given_common.push_back(T * V_inverse[s] * T.transpose());
    result.dpose_dcommon.push_back(T * follow[s] * M_inverse);
  }
  result.determined = true;
  return result;
}

}  // namespace impactlab::calibration
