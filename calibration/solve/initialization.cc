#include "calibration/solve/detail/initialization.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "calibration/camera/lens.h"
#include "data/math/least_squares.h"
#include "data/math/rotation.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

constexpr double kNoRival = 8;  // ratio of misfits
// median length of a residual of unit sd in each coordinate
constexpr double kRayleighMedian = 1.1774;

Eigen::Matrix3d Homography(const std::vector<Eigen::Vector2d>& from,
                           const std::vector<Eigen::Vector2d>& to, bool robust) {
  std::vector<cv::Point2d> a, b;
  for (std::size_t i = 0; i < from.size(); ++i) {
    a.emplace_back(from[i].x(), from[i].y());
    b.emplace_back(to[i].x(), to[i].y());
  }
  const cv::Mat h = cv::findHomography(a, b, robust && from.size() > 8 ? cv::LMEDS : 0);
  Eigen::Matrix3d H = Eigen::Matrix3d::Zero();
  if (h.rows == 3 && h.cols == 3)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) H(i, j) = h.at<double>(i, j);
  return H;
}

// Homography through the four points farthest out along the diagonals of the grid; 0 where they do
// not span it.
Eigen::Matrix3d FourCorners(const std::vector<Eigen::Vector2d>& from,
                            const std::vector<Eigen::Vector2d>& to) {
  const Eigen::Vector2d diagonal[4] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  std::size_t corner[4] = {0, 0, 0, 0};
  cv::Point2f a[4], b[4];
  for (int k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (diagonal[k].dot(from[i]) > diagonal[k].dot(from[corner[k]])) corner[k] = i;
    for (int j = 0; j < k; ++j)
      if (corner[j] == corner[k]) return Eigen::Matrix3d::Zero();
    a[k] = cv::Point2f(static_cast<float>(from[corner[k]].x()),
                       static_cast<float>(from[corner[k]].y()));
    b[k] =
        cv::Point2f(static_cast<float>(to[corner[k]].x()), static_cast<float>(to[corner[k]].y()));
  }
  const cv::Mat h = cv::getPerspectiveTransform(a, b);
  Eigen::Matrix3d H;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) H(i, j) = h.at<double>(i, j);
  return H.allFinite() ? H : Eigen::Matrix3d::Zero().eval();
}

// True where the points do not lie (nearly) on one line.
bool SpansPlane(const std::vector<Eigen::Vector2d>& points) {
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  for (const auto& p : points) mean += p / static_cast<double>(points.size());
  Eigen::Matrix2d S = Eigen::Matrix2d::Zero();
  for (const auto& p : points) S += (p - mean) * (p - mean).transpose();
  const double half_trace = 0.5 * S.trace(),
               root = std::sqrt(std::max(0.0, half_trace * half_trace - S.determinant()));
  return half_trace - root > 1e-4 * (half_trace + root);
}

// Cauchy cost of a pose, and the normal equations of a step.
struct PoseStep {
  double cost = 0;
  Matrix6d A = Matrix6d::Zero();
  Vector6d b = Vector6d::Zero();
  std::vector<double> lengths;
};

PoseStep EvaluatePose(LensModel model, const double* intrinsics, const BundleView& view,
                      const Eigen::Isometry3d& X, double scale) {
  PoseStep step;
  step.lengths.reserve(view.q.size());
  for (std::size_t i = 0; i < view.q.size(); ++i) {
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> dq_dp;
    const Eigen::Vector3d p_C = X * view.p_G[i];
    if (!ProjectLens(model, intrinsics, p_C, &q, &dq_dp, nullptr)) {
      step.cost = std::numeric_limits<double>::infinity();
      return step;
    }
    const Eigen::Vector2d r = (q - view.q[i]) / view.sd[i];
    const double square = r.squaredNorm();
    step.lengths.push_back(std::sqrt(square));
    step.cost += 0.5 * scale * scale * std::log1p(square / (scale * scale));
    const double weight = 1 / (1 + square / (scale * scale));
    Eigen::Matrix<double, 2, 6> J;
    const Eigen::Matrix<double, 2, 3> d = dq_dp / view.sd[i];
    J.leftCols<3>() = -d * CrossMatrix(X.linear() * view.p_G[i]);  // rotation about C's axes
    J.rightCols<3>() = d;
    step.A += weight * J.transpose() * J;
    step.b += weight * J.transpose() * r;
  }
  return step;
}

// Pose of a board with Cauchy's loss, whose width follows the residuals in three rounds.
BoardPose RefinePose(LensModel model, const double* intrinsics, const BundleView& view,
                     Eigen::Isometry3d X) {
  double scale = std::numeric_limits<double>::infinity();
  {
    const PoseStep start = EvaluatePose(model, intrinsics, view, X, 1e9);
    if (!std::isfinite(start.cost)) return {Vector6d::Zero(), start.cost, start.cost};
    scale = std::max(0.5, 3 * RobustSigma(start.lengths));
  }
  PoseStep now, next;
  Eigen::Isometry3d trial = X;
  SquaresProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd& step, bool) {
    trial = X;
    trial.linear() = ExpSO3(step.head<3>()) * X.linear();
    trial.translation() += step.tail<3>();
    next = EvaluatePose(model, intrinsics, view, trial, scale);
    return SquaresAt{std::isfinite(next.cost), 2 * next.cost, next.A, next.b};
  };
  problem.accept = [&](const Eigen::VectorXd&) {
    X = trial;
    now = next;
  };
  LeastSquaresOptions options;
  options.max_steps = 15;
  options.raise_from = 1e-5;
  options.most_damping = 1e6;
  options.small_gain_relative = 1e-6;
  for (int round = 0; round < 3; ++round) {
    const SquaresAt start = problem.evaluate(Vector6d::Zero(), true);
    now = next;
    MinimizeSquares(problem, start, options);
    const double next_scale = std::max(0.1, 3 * RobustSigma(now.lengths));
    if (next_scale > 0.9 * scale) break;
    scale = next_scale;
  }
  X.linear() = Eigen::Quaterniond(X.linear()).normalized().toRotationMatrix();
  return {FromIsometry(X), now.cost, RobustSigma(now.lengths)};
}

// Of one view of a one-camera problem.
double ViewSigma(const Bundle& bundle, int shot) {
  const auto residuals = Residuals(bundle, shot, 0);
  std::vector<double> lengths;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double length = residuals[i].norm() / bundle.views[shot][0].sd[i];
    lengths.push_back(length < 1e9 ? length : 1e9);
  }
  return RobustSigma(std::move(lengths));
}

Camera MakeCamera(LensModel model, const Eigen::VectorXd& intrinsics, int width, int height) {
  Camera camera;
  camera.model = model;
  camera.width = width;
  camera.height = height;
  SetIntrinsics(camera, intrinsics);
  return camera;
}

// Closed form of Zhang (2000) with the principal point held at the image centre; nothing where the
// views do not determine it.
std::optional<double> ZhangFocal(const std::vector<const BundleView*>& views, double cx,
                                 double cy) {
  double numerator = 0, denominator = 0;
  for (std::size_t v = 0; v < views.size(); v += std::max<std::size_t>(1, views.size() / 20)) {
    const BundleView* view = views[v];
    if (view->q.size() < 8) continue;
    std::vector<Eigen::Vector2d> grid, image;
    for (std::size_t i = 0; i < view->q.size(); ++i) {
      grid.push_back(view->p_G[i].head<2>());
      image.push_back(view->q[i] - Eigen::Vector2d(cx, cy));
    }
    const Eigen::Matrix3d H = Homography(grid, image, false);
    const Eigen::Vector3d h1 = H.col(0), h2 = H.col(1);
    const double norm =
        H.squaredNorm() > 0 ? 1 / std::sqrt(h1.squaredNorm() * h2.squaredNorm()) : 0;
    if (!(norm > 0)) continue;
    // (h1x h2x + h1y h2y) / f^2 + h1z h2z = 0 and the same with the difference of squares.
    const double a1 = (h1.x() * h2.x() + h1.y() * h2.y()) * norm, b1 = h1.z() * h2.z() * norm;
    const double a2 = (h1.head<2>().squaredNorm() - h2.head<2>().squaredNorm()) * norm,
                 b2 = (h1.z() * h1.z() - h2.z() * h2.z()) * norm;
    numerator -= a1 * a1 + a2 * a2;
    denominator += a1 * b1 + a2 * b2;
  }
  if (!(denominator < 0)) return std::nullopt;
  const double square = numerator / denominator;
  if (!(square > 0)) return std::nullopt;
  return std::sqrt(square);
}

}  // namespace

double RobustSigma(std::vector<double> lengths) {
  return UpperMedian(std::move(lengths)) / kRayleighMedian;
}

GridFit FitGrid(const Board& board, const BoardView& view) {
  GridFit fit;
  if (view.points.size() < 4) return fit;
  std::vector<Eigen::Vector2d> grid, image;
  for (const BoardPoint& point : view.points) {
    grid.push_back(PointOnBoard(board, point.id).head<2>());
    image.push_back(point.q);
  }
  if (!SpansPlane(grid) || !SpansPlane(image)) return fit;
  // Four far corners suffice for most views; with wrong points among them more robust and slower
  // methods follow.
  std::vector<double> misfit;
  int mirrored = 0;
  for (const int effort : {0, 1, 2}) {
    const Eigen::Matrix3d H =
        effort == 0 ? FourCorners(grid, image) : Homography(grid, image, effort == 2);
    if (effort == 0 && !(H.squaredNorm() > 0)) continue;
    if (!(H.squaredNorm() > 0)) return fit;
    misfit.clear();
    mirrored = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const Eigen::Vector3d p = H * grid[i].homogeneous();
      // d(image) / d(grid) at this point.
      Eigen::Matrix2d D;
      for (int j = 0; j < 2; ++j)
        D.col(j) = (H.col(j).head<2>() - H(2, j) * p.hnormalized()) / p.z();
      const double spacing = std::sqrt(std::abs(D.determinant())) * board.pitch;
      misfit.push_back(spacing > 0 ? (p.hnormalized() - image[i]).norm() / spacing : 1e9);
      mirrored += D.determinant() < 0;
    }
    if (*std::max_element(misfit.begin(), misfit.end()) < 0.5) break;
  }
  fit.ok = true;
  std::sort(misfit.begin(), misfit.end());
  fit.misfit = misfit[misfit.size() * 4 / 5];
  fit.mirrored = 2 * mirrored > static_cast<int>(grid.size());
  return fit;
}

std::vector<BoardPose> SolvePoses(LensModel model, const Eigen::VectorXd& intrinsics, int width,
                                  int height, const BundleView& view) {
  const Camera camera = MakeCamera(model, intrinsics, width, height);
  std::vector<cv::Point3d> object;
  std::vector<cv::Point2d> image;
  for (std::size_t i = 0; i < view.q.size(); ++i) {
    const auto ray = Unproject(camera, view.q[i]);
    // beyond 80 degrees normalised plane coordinates are ill-conditioned
    if (!ray || ray->z() < 0.17) continue;
    object.emplace_back(view.p_G[i].x(), view.p_G[i].y(), 0);
    image.emplace_back(ray->x() / ray->z(), ray->y() / ray->z());
  }
  std::vector<BoardPose> poses;
  if (object.size() < 4) return poses;
  std::vector<cv::Mat> rotations, translations;
  try {
    cv::solvePnPGeneric(object, image, cv::Mat::eye(3, 3, CV_64F), cv::noArray(), rotations,
                        translations, false, cv::SOLVEPNP_IPPE);
  } catch (const cv::Exception&) {
    return poses;  // points on a line
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < rotations.size(); ++k) {
    Vector6d pose;
    for (int j = 0; j < 3; ++j)
      pose[j] = rotations[k].at<double>(j), pose[3 + j] = translations[k].at<double>(j);
    if (!pose.allFinite() || !(pose[5] > 0)) continue;
    // The closed form gives the better pose first. A second one that fits far worse before it is
    // refined is left out.
    std::vector<double> lengths =
        EvaluatePose(model, intrinsics.data(), view, ToIsometry(pose), 1e9).lengths;
    const double misfit = lengths.size() == view.q.size() ? RobustSigma(std::move(lengths))
                                                          : std::numeric_limits<double>::infinity();
    if (misfit > kNoRival * std::max(least, 1.0)) continue;
    least = std::min(least, misfit);
    const BoardPose refined = RefinePose(model, intrinsics.data(), view, ToIsometry(pose));
    if (std::isfinite(refined.cost)) poses.push_back(refined);
  }
  std::stable_sort(poses.begin(), poses.end(),
                   [](const BoardPose& a, const BoardPose& b) { return a.cost < b.cost; });
  return poses;
}

namespace {

// Intrinsics of focal length f, without distortion; fixed parameters as given.
Eigen::VectorXd WithFocal(const CameraSetup& setup, const std::vector<char>& free, double f) {
  const int n = IntrinsicCount(setup.model);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  x.head<4>() << f, f, 0.5 * (setup.width - 1), 0.5 * (setup.height - 1);
  if (setup.start) {
    const Eigen::VectorXd given = Intrinsics(*setup.start);
    for (int j = 0; j < n; ++j)
      if (!free[j]) x[j] = given[j];
  }
  return x;
}

// Mean rms of the views under intrinsics x, each with its best pose [px].
double ScoreIntrinsics(const CameraSetup& setup, const Eigen::VectorXd& x,
                       const std::vector<const BundleView*>& views) {
  std::vector<double> rms;
  for (const BundleView* view : views) {
    const auto poses = SolvePoses(setup.model, x, setup.width, setup.height, *view);
    rms.push_back(poses.empty() ? 1e6 : poses.front().rms);
  }
  double sum = 0;
  for (const double r : rms) sum += std::min(r, 1e3);
  return sum / static_cast<double>(rms.size());
}

// Zhang's focal length where it fits, else the best two of a scan.
std::vector<Eigen::VectorXd> FocalCandidates(const CameraSetup& setup,
                                             const std::vector<const BundleView*>& views,
                                             const std::vector<char>& free) {
  // Twelve views at most, evenly chosen, are enough to compare focal lengths.
  std::vector<const BundleView*> looked;
  for (std::size_t i = 0; i < views.size(); i += std::max<std::size_t>(1, views.size() / 12))
    looked.push_back(views[i]);
  std::vector<std::pair<double, Eigen::VectorXd>> candidates;
  const auto add = [&](double f) {
    const Eigen::VectorXd x = WithFocal(setup, free, f);
    candidates.emplace_back(ScoreIntrinsics(setup, x, looked), x);
  };
  std::optional<double> zhang;
  if (setup.model != LensModel::kFisheye)
    zhang = ZhangFocal(views, 0.5 * (setup.width - 1), 0.5 * (setup.height - 1));
  const double size = std::max(setup.width, setup.height);
  if (zhang && *zhang > 0.2 * size && *zhang < 20 * size) add(*zhang);
  if (candidates.empty() || candidates.front().first > 0.005 * size) {
    for (const double factor : {0.22, 0.32, 0.45, 0.63, 0.9, 1.3, 1.8, 2.6, 4.0, 7.0})
      add(factor * size);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (candidates.size() > 2) candidates.resize(2);
  std::vector<Eigen::VectorXd> out;
  out.reserve(candidates.size());
  for (const auto& candidate : candidates) out.push_back(candidate.second);
  return out;
}

// A camera and its views, refined from one candidate.
struct MonoFit {
  Bundle bundle;
  std::vector<int> view_of;  // of each shot of the bundle
  std::vector<char> rival;   // a second pose came near
};

MonoFit MakeMonoFit(const CameraSetup& setup, const std::vector<const BundleView*>& views,
                    const Eigen::VectorXd& intrinsics) {
  MonoFit fit;
  Bundle& bundle = fit.bundle;
  bundle.model = {setup.model};
  bundle.leader = {0};
  bundle.priors = {setup.priors};
  bundle.free_warp = false;
  bundle.intrinsics = {intrinsics};
  bundle.X_CW = {Vector6d::Zero()};
  for (std::size_t v = 0; v < views.size(); ++v) {
    const auto poses = SolvePoses(setup.model, intrinsics, setup.width, setup.height, *views[v]);
    if (poses.empty()) continue;
    bundle.X_WG.push_back(poses.front().X_CG);
    fit.rival.push_back(poses.size() > 1);
    bundle.views.push_back({*views[v]});
    bundle.views.back()[0].used = true;
    fit.view_of.push_back(static_cast<int>(v));
  }
  return fit;
}

double MonoSigma(const Bundle& bundle) {
  std::vector<double> all;
  for (int s = 0; s < bundle.shots(); ++s) {
    const auto residuals = Residuals(bundle, s, 0);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      all.push_back(residuals[i].norm() / bundle.views[s][0].sd[i]);
  }
  for (double& r : all)
    if (!(r < 1e9)) r = 1e9;
  return RobustSigma(all);
}

// First the focal length and the first radial term, then everything. The cost at sd = 1 [px^2].
double RefineMonoFit(const CameraSetup& setup, const std::vector<char>& free, MonoFit* fit) {
  Bundle& bundle = fit->bundle;
  bundle.sigma = {std::max(MonoSigma(bundle), 0.02)};
  bundle.free = {std::vector<char>(free.size(), 0)};
  for (const int j : {0, 1, 4}) bundle.free[0][j] = free[j];
  Minimize(bundle, 3, 15, 1e-3);
  bundle.free = {free};
  double cost = 0;
  for (int round = 0; round < 6; ++round) {
    const double sigma = std::max(MonoSigma(bundle), 1e-3);
    bundle.sigma = {sigma};
    const BundleSummary summary = Minimize(bundle, 3, 50, 1e-4);
    cost = summary.cost * sigma * sigma;
    if (round >= 1 && MonoSigma(bundle) > 0.9 * sigma) break;
    // A flat board far away has two poses of nearly the same image: now that the lens is known, the
    // better one is taken.
    const double overall = MonoSigma(bundle);
    for (int s = 0; round == 0 && s < bundle.shots(); ++s) {
      if (!fit->rival[s] && ViewSigma(bundle, s) < 1.5 * overall) continue;
      const auto poses = SolvePoses(setup.model, bundle.intrinsics[0], setup.width, setup.height,
                                    bundle.views[s][0]);
      if (!poses.empty()) bundle.X_WG[s] = poses.front().X_CG;
    }
  }
  return cost;
}

MonoStart ToMonoStart(const MonoFit& fit, double cost, std::size_t views) {
  const Bundle& bundle = fit.bundle;
  MonoStart start;
  start.ok = true;
  start.cost = cost;
  start.sigma = MonoSigma(bundle);
  start.intrinsics = bundle.intrinsics[0];
  start.poses.assign(views, std::nullopt);
  start.inliers.assign(views, {});
  for (int s = 0; s < bundle.shots(); ++s) {
    BoardPose pose;
    pose.X_CG = bundle.X_WG[s];
    pose.rms = ViewSigma(bundle, s);
    const auto residuals = Residuals(bundle, s, 0);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      start.inliers[fit.view_of[s]].push_back(
          residuals[i].norm() < 6 * std::max(start.sigma, 1e-6) * bundle.views[s][0].sd[i]);
    start.poses[fit.view_of[s]] = pose;
  }
  return start;
}

}  // namespace

MonoStart StartCamera(const CameraSetup& setup, const std::vector<const BundleView*>& views,
                      const std::optional<Eigen::VectorXd>& guess) {
  const auto names = IntrinsicNames(setup.model);
  std::vector<char> free(IntrinsicCount(setup.model), 1);
  for (std::size_t j = 0; j < free.size(); ++j)
    free[j] = std::find(setup.fixed.begin(), setup.fixed.end(), names[j]) == setup.fixed.end();
  const std::vector<Eigen::VectorXd> candidates =
      guess ? std::vector<Eigen::VectorXd>{*guess} : FocalCandidates(setup, views, free);
  MonoStart best;
  best.cost = std::numeric_limits<double>::infinity();
  for (const Eigen::VectorXd& candidate : candidates) {
    MonoFit fit = MakeMonoFit(setup, views, candidate);
    if (fit.view_of.empty()) continue;
    const double cost = RefineMonoFit(setup, free, &fit);
    if (cost < best.cost) best = ToMonoStart(fit, cost, views.size());
  }
  return best;
}

}  // namespace impactlab::calibration
