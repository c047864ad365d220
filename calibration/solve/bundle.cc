#include "calibration/solve/bundle.h"

#include <ceres/ceres.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "calibration/camera/lens.h"
#include "calibration/solve/detail/view_model.h"
#include "data/math/rotation.h"

namespace impactlab::calibration {
namespace {

// Ceres logs every rejected step; the summary holds the outcome.
[[maybe_unused]] const int quiet_log = FLAGS_minloglevel = google::GLOG_ERROR;

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

}  // namespace

Eigen::Isometry3d ToIsometry(const Vector6d& pose) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = ExpSO3(pose.head<3>());
  X.translation() = pose.tail<3>();
  return X;
}

Vector6d FromIsometry(const Eigen::Isometry3d& X) {
  Vector6d pose;
  pose << LogSO3(X.linear()), X.translation();
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

namespace {

// The unknowns of a bundle in one array. The solver orders blocks by their addresses: in one array
// their order, and with it every bit of the result, is that of the problem.
class Unknowns {
 public:
  explicit Unknowns(const Bundle& bundle)
      : values_(static_cast<std::size_t>(6 * bundle.shots() +
                                         (kMaxIntrinsics + 6) * bundle.cameras() + 2)),
        shots_(bundle.shots()),
        cameras_(bundle.cameras()) {
    for (int s = 0; s < shots_; ++s) Eigen::Map<Vector6d>(board(s)) = bundle.X_WG[s];
    for (int c = 0; c < cameras_; ++c) {
      std::copy_n(bundle.intrinsics[c].data(), bundle.intrinsics[c].size(), intrinsics(c));
      Eigen::Map<Vector6d>(place(c)) = bundle.X_CW[c];
    }
    Eigen::Map<Eigen::Vector2d>(warp(), 2) = bundle.warp;
  }

  double* board(int s) { return values_.data() + 6 * s; }
  double* intrinsics(int c) { return board(shots_) + kMaxIntrinsics * c; }
  double* place(int c) { return intrinsics(cameras_) + 6 * c; }
  double* warp() { return place(cameras_); }

  void CopyTo(Bundle* bundle) {
    for (int s = 0; s < shots_; ++s) bundle->X_WG[s] = Eigen::Map<Vector6d>(board(s));
    for (int c = 0; c < cameras_; ++c) {
      bundle->intrinsics[c] = Eigen::Map<Eigen::VectorXd>(intrinsics(bundle->leader[c]),
                                                          IntrinsicCount(bundle->model[c]));
      bundle->X_CW[c] = Eigen::Map<Vector6d>(place(c));
    }
    bundle->warp = Eigen::Map<Eigen::Vector2d>(warp(), 2);
  }

 private:
  std::vector<double> values_;
  int shots_, cameras_;
};

// Fixed intrinsics and priors of a leading camera.
void AddIntrinsics(const Bundle& bundle, int c, double* block, ceres::Problem* problem) {
  const int n = IntrinsicCount(bundle.model[c]);
  std::vector<int> held;
  for (int j = 0; j < n; ++j)
    if (!bundle.free[c][j]) held.push_back(j);
  if (static_cast<int>(held.size()) == n) {
    problem->SetParameterBlockConstant(block);
  } else if (!held.empty()) {
    problem->SetManifold(block, new ceres::SubsetManifold(n, held));
  }
  for (const auto& prior : bundle.priors[c])
    problem->AddResidualBlock(
        new PriorCost(n, IntrinsicIndex(bundle.model[c], prior.parameter), prior.mean, prior.sd),
        nullptr, block);
}

// Residuals of all views in use, and the order in which the solver eliminates: boards first. False
// where there are none.
bool AddViews(const Bundle& bundle, double loss_scale, Unknowns* unknowns, ceres::Problem* problem,
              ceres::ParameterBlockOrdering* ordering) {
  std::vector<char> leads(bundle.cameras(), 0), placed(bundle.cameras(), 0);
  bool any = false;
  for (int s = 0; s < bundle.shots(); ++s) {
    bool board_used = false;
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      auto cost =
          std::make_unique<ViewCost>(bundle.model[c], view, c == 0, bundle.sigma[c], loss_scale,
                                     bundle.free_warp ? nullptr : unknowns->warp());
      if (cost->num_residuals() == 0) continue;
      std::vector<double*> blocks{unknowns->intrinsics(bundle.leader[c])};
      if (c > 0) blocks.push_back(unknowns->place(c));
      blocks.push_back(unknowns->board(s));
      if (bundle.free_warp) blocks.push_back(unknowns->warp());
      problem->AddResidualBlock(cost.release(), nullptr, blocks);
      leads[bundle.leader[c]] = 1;
      placed[c] = 1;
      board_used = any = true;
    }
    if (board_used) ordering->AddElementToGroup(unknowns->board(s), 0);
  }
  if (!any) return false;
  if (bundle.free_warp) ordering->AddElementToGroup(unknowns->warp(), 1);
  for (int c = 0; c < bundle.cameras(); ++c) {
    if (c > 0 && placed[c]) ordering->AddElementToGroup(unknowns->place(c), 1);
    if (!leads[c]) continue;
    ordering->AddElementToGroup(unknowns->intrinsics(c), 1);
    AddIntrinsics(bundle, c, unknowns->intrinsics(c), problem);
  }
  return true;
}

}  // namespace

BundleSummary Minimize(Bundle& bundle, double loss_scale, int max_iterations, double tolerance) {
  Unknowns unknowns(bundle);
  ceres::Problem problem;
  auto ordering = std::make_shared<ceres::ParameterBlockOrdering>();
  if (!AddViews(bundle, loss_scale, &unknowns, &problem, ordering.get())) return {};
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_SCHUR;
  options.linear_solver_ordering = ordering;
  options.max_num_iterations = max_iterations;
  // Least squares starts where a robust solve ended: full steps from the first on.
  if (!(loss_scale > 0)) options.initial_trust_region_radius = 1e9;
  options.num_threads = 1;  // bits that do not depend on the machine's load
  options.function_tolerance = tolerance;
  options.parameter_tolerance = 1e-12;
  options.gradient_tolerance = 1e-13;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);

  unknowns.CopyTo(&bundle);
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

}  // namespace impactlab::calibration
