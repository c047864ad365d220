#include "reconstruction/pose/marker_pose.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "calibration/camera/triangulate.h"
#include "data/base/error.h"
#include "data/math/least_squares.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/pose/marker_pose_image.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using reconstruction::ImageDerivatives;
using reconstruction::View;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr double kNowhere = 1e-6;  // extent of a layout that is one point [m]
// A mirror image has to leave this little of what the layout leaves before it is named.
constexpr double kMirrorShare = 0.1;

struct Row {
  const View* view = nullptr;
  const MarkerImage* image = nullptr;
  const BodyMarker* marker = nullptr;
  Eigen::Matrix2d root;
};

struct Linear {
  bool valid = false;
  double cost = 0;
  Matrix6 information = Matrix6::Zero();
  Vector6 gradient = Vector6::Zero();
};

Linear Linearize(const std::vector<Row>& rows, const Isometry3d& X_WB) {
  Linear out;
  for (const Row& row : rows) {
    Eigen::Vector2d q;
    ImageDerivatives d;
    if (!reconstruction::ImageOf(*row.view, *row.marker, X_WB, &q, &d)) return out;
    Eigen::Matrix<double, 2, 6> J;
    J << row.root * d.by_p_W, row.root * d.by_phi_B;
    const Eigen::Vector2d r = row.root * (q - row.image->q);
    out.cost += r.squaredNorm();
    out.information += J.transpose() * J;
    out.gradient += J.transpose() * r;
  }
  out.valid = std::isfinite(out.cost);
  return out;
}

// Information on the rotation once the position is free.
Matrix3d RotationInformation(const Matrix6& information) {
  const Matrix3d cross = information.topRightCorner<3, 3>();
  Matrix3d left = information.bottomRightCorner<3, 3>();
  const Matrix3d position = information.topLeftCorner<3, 3>();
  left -= cross.transpose() * Matrix3d(position.ldlt().solve(cross));
  return 0.5 * (left + left.transpose());
}

Isometry3d Moved(const Isometry3d& X_WB, const Vector6& step) {
  Isometry3d X = X_WB;
  X.translation() += step.head<3>();
  X.linear() = X_WB.linear() * ExpSO3(Vector3d(step.tail<3>()));
  return X;
}

// Least squares from a start, over the columns of `tangent`. False where no optimum was reached.
bool Refine(const std::vector<Row>& rows, const MatrixXd& tangent, Isometry3d* X_WB, Linear* at) {
  Isometry3d trial = *X_WB;
  Linear next;
  SquaresProblem problem;
  problem.evaluate = [&](const VectorXd& step, bool) {
    trial = Moved(*X_WB, tangent * step);
    next = Linearize(rows, trial);
    const MatrixXd information = next.information;
    const VectorXd gradient = next.gradient;
    return SquaresAt{next.valid, next.cost, Congruence(tangent.transpose(), information),
                     tangent.transpose() * gradient};
  };
  problem.accept = [&](const VectorXd&) {
    *X_WB = trial;
    *at = next;
  };
  const SquaresAt start = problem.evaluate(VectorXd::Zero(tangent.cols()), true);
  *at = next;
  LeastSquaresOptions options;
  options.max_steps = 60;
  options.least_damping = 1e-12;
  options.small_step = 1e-8;
  options.cost_rounding = 1e-12;
  return MinimizeSquares(problem, start, options).converged();
}

// The same line of markers with the rotation about it that the convention says; `on_line` in B.
Isometry3d WithGauge(const Isometry3d& X_WB, const Vector3d& axis_B, const Vector3d& on_line,
                     const std::optional<Isometry3d>& near) {
  const Matrix3d R_near = near ? Matrix3d(near->linear()) : Matrix3d(Matrix3d::Identity());
  const Vector3d axis_W = X_WB.linear() * axis_B;
  Isometry3d X = X_WB;
  X.linear() = TurnBetween(R_near * axis_B, axis_W) * R_near;
  X.translation() = X_WB * on_line - X.linear() * on_line;
  return X;
}

// Chi-square of the residuals in the directions that no pose reaches, with the errors common to
// them counted.
double Consistency(const MatrixXd& J, const MatrixXd& E, const MatrixXd& cov, const VectorXd& r) {
  MatrixXd unit = J, right(J.rows(), 1 + E.cols());
  for (Eigen::Index k = 0; k < J.cols(); ++k) unit.col(k) /= std::max(J.col(k).norm(), 1e-300);
  right << r, E;
  const MatrixXd left = ComplementCoordinates(unit, right);
  MatrixXd S = Congruence(left.rightCols(E.cols()), cov);
  S.diagonal().array() += 1;
  const VectorXd z = left.col(0);
  const Eigen::LLT<MatrixXd> llt(S);
  const VectorXd weighted = llt.solve(z);
  return z.dot(weighted);
}

void CheckOptions(const MarkerPoseOptions& options) {
  if (!(options.layout_sd >= 0) || !std::isfinite(options.layout_sd) ||
      !(options.max_roll_sd > 0) ||
      !(options.misfit_probability >= 0 && options.misfit_probability < 1)) {
    throw ConfigError(
        fmt::format("pose of markers: found layout_sd {} m, max_roll_sd {} rad, misfit_probability "
                    "{}, allowed: 0 or more, "
                    "above 0, from 0 to below 1",
                    options.layout_sd, options.max_roll_sd, options.misfit_probability));
  }
}

// Rows of the images, or why there are none.
std::string MakeRows(const std::vector<View>& views, const std::vector<BodyMarker>& layout,
                     const std::vector<MarkerImage>& images, std::vector<Row>* rows) {
  for (const MarkerImage& image : images) {
    if (image.camera < 0 || image.camera >= static_cast<int>(views.size()))
      throw ConfigError(fmt::format(
          "pose of markers: found camera {}, allowed: the {} of the rig, counted from 0",
          image.camera, views.size()));
    if (image.marker < 0 || image.marker >= static_cast<int>(layout.size()))
      throw ConfigError(fmt::format(
          "pose of markers: found marker {}, allowed: the {} of the layout, counted from 0",
          image.marker, layout.size()));
    Row row;
    row.view = &views[image.camera];
    row.image = &image;
    row.marker = &layout[image.marker];
    const std::string& name = row.view->camera->name;
    if (!image.q.allFinite())
      return fmt::format("the image of marker {} in {} is not a number", image.marker + 1, name);
    if (!reconstruction::WeightRoot(image.cov, &row.root))
      return fmt::format("the covariance of the image of marker {} in {} is not positive definite",
                         image.marker + 1, name);
    rows->push_back(row);
  }
  return "";
}

// Markers in space, those that two cameras see.
struct Placed {
  std::vector<Vector3d> p_B, p_W;
  std::vector<double> weights;
  std::string reason;  // of the last one that could not be placed
};

Placed Place(const CameraRig& rig, const std::vector<BodyMarker>& layout,
             const std::vector<Row>& rows, const std::set<int>& markers) {
  CameraRig bare;
  bare.cameras = rig.cameras;
  Placed placed;
  for (int marker : markers) {
    std::vector<PixelObservation> seen;
    for (const Row& row : rows) {
      if (row.image->marker != marker) continue;
      seen.push_back({row.image->camera, row.image->q, row.image->cov});
    }
    const TriangulatedPoint point = Triangulate(bare, seen);
    if (!point.usable) {
      placed.reason = fmt::format("marker {}: {}", marker + 1, point.reason);
      continue;
    }
    placed.p_B.push_back(layout[marker].p_BM);
    placed.p_W.push_back(point.p_W);
    placed.weights.push_back(3 / point.cov.trace());
  }
  return placed;
}

constexpr const char* kUndeterminedAttitude =
    "the attitude is not determined: the markers seen are too close to each other for their noise";

// Sets what the images say of the roll about a line of markers, and the directions in which the
// pose is free. False where the attitude is not determined.
bool FindFreeDirections(const Linear& at, const std::vector<Vector3d>& p_B, double max_roll_sd,
                        MatrixXd* tangent, MarkerPose* pose) {
  const SymmetricEigen3 eigen = Eigen3Of(RotationInformation(at.information));
  const Vector3d& information = eigen.values;
  pose->sd_roll =
      information[0] > 0 ? 1 / std::sqrt(information[0]) : std::numeric_limits<double>::infinity();
  if (!(information[1] > 1 / (max_roll_sd * max_roll_sd))) return false;
  if (pose->sd_roll > max_roll_sd) {
    pose->observable = false;
    pose->axis_B = eigen.vectors.col(0);
    // One sense for all instants: towards the later markers of the layout.
    if (pose->axis_B.dot(p_B.back() - p_B.front()) < 0) pose->axis_B = -pose->axis_B;
    *tangent = MatrixXd::Zero(6, 5);
    tangent->topLeftCorner<3, 3>().setIdentity();
    tangent->block<3, 2>(3, 3) = eigen.vectors.rightCols<2>();
  }
  return true;
}

// Least squares with the roll held where the images do not show it. False where the attitude is not
// determined.
bool FitPose(const std::vector<Row>& rows, const std::vector<Vector3d>& p_B, double max_roll_sd,
             const std::optional<Isometry3d>& near, Linear* at, MatrixXd* tangent, MarkerPose* pose,
             bool* converged) {
  const auto hold_roll = [&]() {
    Vector3d on_line = Vector3d::Zero();
    for (const Vector3d& p : p_B) on_line += p / static_cast<double>(p_B.size());
    pose->X_WB = WithGauge(pose->X_WB, pose->axis_B, on_line, near);
  };
  if (!FindFreeDirections(*at, p_B, max_roll_sd, tangent, pose)) return false;
  if (!pose->observable) hold_roll();
  *converged = Refine(rows, *tangent, &pose->X_WB, at);
  if (*converged && pose->observable) {
    // The start may have been far off.
    if (!FindFreeDirections(*at, p_B, max_roll_sd, tangent, pose)) return false;
    if (!pose->observable) {
      hold_roll();
      *converged = Refine(rows, *tangent, &pose->X_WB, at);
    }
  }
  return true;
}

// Images linearised about the pose, each in units of its noise.
struct LinearImages {
  MatrixXd by_pose, by_rig, by_layout;
  VectorXd residual;
};

// Nothing where a marker has no image.
std::optional<LinearImages> LineariseImages(const std::vector<Row>& rows, const Isometry3d& X_WB,
                                            int rig_size, std::size_t layout_size) {
  const auto n = 2 * static_cast<Eigen::Index>(rows.size());
  LinearImages out{MatrixXd(n, 6), MatrixXd::Zero(n, rig_size),
                   MatrixXd::Zero(n, 3 * static_cast<Eigen::Index>(layout_size)), VectorXd(n)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const auto first = 2 * static_cast<Eigen::Index>(i);
    Eigen::Vector2d q;
    ImageDerivatives d;
    Eigen::Matrix<double, 2, Eigen::Dynamic> by_rig;
    if (!reconstruction::ImageOf(*row.view, *row.marker, X_WB, &q, &d, &by_rig))
      return std::nullopt;
    out.by_pose.middleRows<2>(first) << row.root * d.by_p_W, row.root * d.by_phi_B;
    out.by_rig.block(first, row.view->first_parameter, 2, by_rig.cols()) = row.root * by_rig;
    out.by_layout.block<2, 3>(first, 3 * row.image->marker) = row.root * d.by_p_BM;
    out.residual.segment<2>(first) = row.root * (q - row.image->q);
  }
  return out;
}

// Covariance by pixels, rig and layout, and the consistency of the images. False where the pose is
// not determined.
bool SetCovariance(const CameraRig& rig, const LinearImages& images, const MatrixXd& tangent,
                   const Matrix6& information, double layout_sd, MarkerPose* pose) {
  const MatrixXd along = Congruence(tangent.transpose(), information);
  const VectorXd scale = along.diagonal().cwiseSqrt().cwiseInverse();
  const MatrixXd scaled = ScaleBothSides(scale, along),
                 identity = MatrixXd::Identity(along.rows(), along.cols());
  const Eigen::LLT<MatrixXd> llt(scaled);
  if (llt.info() != Eigen::Success || !scale.allFinite()) return false;
  const MatrixXd scaled_inverse = llt.solve(identity);
  const MatrixXd &J = images.by_pose, &E_rig = images.by_rig, &E_layout = images.by_layout;
  pose->cov_pixels = Congruence(tangent, ScaleBothSides(scale, scaled_inverse));
  const MatrixXd cov_pixels = pose->cov_pixels, by_pixels = cov_pixels * J.transpose(),
                 pull = -by_pixels;
  pose->dx_drig = MatrixXd(pull * E_rig);
  const MatrixXd dx_dlayout = pull * E_layout, by_layout = dx_dlayout * dx_dlayout.transpose();
  pose->cov = pose->cov_pixels + layout_sd * layout_sd * by_layout;
  const bool with_rig = rig.covariance.size() > 0;
  if (with_rig) pose->cov += Congruence(pose->dx_drig, rig.covariance);
  if (!pose->cov.allFinite()) return false;
  pose->consistency = pose->chi_square;
  if (pose->dof > 0 && (with_rig || layout_sd > 0)) {
    MatrixXd E(J.rows(), E_rig.cols() + E_layout.cols()), cov = MatrixXd::Zero(E.cols(), E.cols());
    E << E_rig, E_layout;
    if (with_rig) cov.topLeftCorner(E_rig.cols(), E_rig.cols()) = rig.covariance;
    cov.bottomRightCorner(E_layout.cols(), E_layout.cols())
        .diagonal()
        .setConstant(layout_sd * layout_sd);
    const MatrixXd along_free = J * tangent;
    pose->consistency = Consistency(along_free, E, cov, images.residual);
  }
  return true;
}

}  // namespace

AbsoluteOrientation AlignPoints(const std::vector<Vector3d>& p_B, const std::vector<Vector3d>& p_W,
                                const std::vector<double>& weights) {
  if (p_B.empty() || p_B.size() != p_W.size() || p_B.size() != weights.size()) {
    throw ConfigError(
        fmt::format("absolute orientation: found {} and {} points with {} weights, allowed: as "
                    "many of each, at least one",
                    p_B.size(), p_W.size(), weights.size()));
  }
  AbsoluteOrientation out;
  double total = 0;
  Vector3d mean_B = Vector3d::Zero(), mean_W = Vector3d::Zero();
  for (std::size_t i = 0; i < p_B.size(); ++i) {
    total += weights[i];
    mean_B += weights[i] * p_B[i];
    mean_W += weights[i] * p_W[i];
  }
  mean_B /= total;
  mean_W /= total;
  Matrix3d H = Matrix3d::Zero(), spread = Matrix3d::Zero();
  double squares = 0;
  for (std::size_t i = 0; i < p_B.size(); ++i) {
    const Vector3d b = p_B[i] - mean_B, w = p_W[i] - mean_W;
    H += weights[i] * w * b.transpose();
    spread += weights[i] * b * b.transpose() / total;
    squares += weights[i] * (b.squaredNorm() + w.squaredNorm());
  }
  const Svd3 svd = Svd3Of(H);
  const double sign = svd.U.determinant() * svd.V.determinant() < 0 ? -1 : 1;
  out.X_WB.linear() = svd.U * Vector3d(1, 1, sign).asDiagonal() * svd.V.transpose();
  out.X_WB.translation() = mean_W - out.X_WB.linear() * mean_B;
  const Vector3d& s = svd.s;
  out.left = std::max(0.0, squares - 2 * (s[0] + s[1] + sign * s[2]));
  out.reflected = std::max(0.0, squares - 2 * (s[0] + s[1] - sign * s[2]));
  const SymmetricEigen3 eigen = Eigen3Of(spread);
  out.spread = eigen.values.reverse().cwiseMax(0).cwiseSqrt();
  out.axes_B = eigen.vectors.rowwise().reverse();
  return out;
}

MarkerPose PoseFromMarkers(const CameraRig& rig, const std::vector<BodyMarker>& layout,
                           const std::vector<MarkerImage>& images, const MarkerPoseOptions& options,
                           const std::optional<Isometry3d>& near) {
  CheckOptions(options);
  reconstruction::CheckLayout(layout);
  reconstruction::CheckRig(rig, "pose of markers");
  const std::vector<View> views = reconstruction::RigViews(rig);
  MarkerPose pose;
  std::vector<Row> rows;
  pose.reason = MakeRows(views, layout, images, &rows);
  if (!pose.reason.empty()) return pose;
  std::set<int> markers;
  for (const Row& row : rows) markers.insert(row.image->marker);
  pose.markers = static_cast<int>(markers.size());
  if (pose.markers < 3)
    return pose.reason = fmt::format("{} markers are seen, a pose needs three", pose.markers), pose;

  // Extent of the markers seen, and the start.
  std::vector<Vector3d> p_B;
  p_B.reserve(markers.size());
  for (int marker : markers) p_B.push_back(layout[marker].p_BM);
  const AbsoluteOrientation shape = AlignPoints(p_B, p_B, std::vector<double>(p_B.size(), 1.0));
  if (!(shape.spread[0] > kNowhere))
    return pose.reason = "the markers of the layout are at one place", pose;
  const Placed placed = Place(rig, layout, rows, markers);
  AbsoluteOrientation aligned;
  if (placed.p_B.size() >= 3) {
    aligned = AlignPoints(placed.p_B, placed.p_W, placed.weights);
    pose.X_WB = aligned.X_WB;
  } else if (near) {
    pose.X_WB = *near;
  } else {
    pose.reason =
        fmt::format("{} markers can be placed in space, a start needs three", placed.p_B.size());
    if (!placed.reason.empty()) pose.reason += fmt::format(" ({})", placed.reason);
    return pose;
  }

  Linear at = Linearize(rows, pose.X_WB);
  if (!at.valid)
    return pose.reason =
               "a marker comes to lie behind a camera, or outside the region in which its lens is "
               "known",
           pose;
  MatrixXd tangent = MatrixXd::Identity(6, 6);
  bool converged = false;
  if (!FitPose(rows, p_B, options.max_roll_sd, near, &at, &tangent, &pose, &converged))
    return pose.reason = kUndeterminedAttitude, pose;
  pose.chi_square = at.cost;
  pose.dof = 2 * static_cast<int>(rows.size()) - static_cast<int>(tangent.cols());

  std::optional<LinearImages> linear;
  if (converged) linear = LineariseImages(rows, pose.X_WB, ParameterCount(rig), layout.size());
  if (!linear) return pose.reason = "no pose brings the markers onto their images", pose;
  if (!SetCovariance(rig, *linear, tangent, at.information, options.layout_sd, &pose))
    return pose.reason = kUndeterminedAttitude, pose;
  if (options.misfit_probability > 0 && pose.dof > 0) {
    const double limit = ChiSquareQuantile(1 - options.misfit_probability, pose.dof);
    if (!(pose.consistency <= limit)) {
      pose.reason =
          placed.p_B.size() >= 4 && aligned.reflected < kMirrorShare * aligned.left
              ? std::string(
                    "the layout is mirrored: its mirror image fits the markers, it does not")
              : fmt::format(
                    "the images are not those of the layout: chi-square {:.1f} of {} dof, allowed "
                    "{:.1f}",
                    pose.consistency, pose.dof, limit);
      return pose;
    }
  }
  pose.usable = true;
  return pose;
}

}  // namespace impactlab
