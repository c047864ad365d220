#include "reconstruction/drop_fit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/error.h"
#include "data/statistics.h"
#include "reconstruction/drop_fit_problem.h"
#include "reconstruction/drop_fit_start.h"
#include "reconstruction/motion_fit_events.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using internal::DropNormal;
using internal::DropPoint;
using internal::DropProblem;
using internal::DropState;

constexpr double kHuber = 2;      // of the first solve [standard deviations]
constexpr int kRounds = 6;        // of choosing the points that are used
constexpr double kChance = 0.01;  // residuals less likely than this widen the covariance

void Check(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers, const Body& body,
           const DropFitOptions& o) {
  CheckBody(body);
  internal::CheckLayout(markers);
  internal::CheckRig(rig, "fit of a drop");
  if (body.planar) throw ConfigError(fmt::format("fit of a drop: body '{}': found a planar body, allowed: one in space", body.name));
  if (o.motion.flight.drag_per_m != 0)
    throw ConfigError(fmt::format("fit of a drop: found a drag of {} 1/m, allowed: 0", o.motion.flight.drag_per_m));
  if (markers.size() > tracks.markers.size())
    throw ConfigError(fmt::format("fit of a drop: found a layout of {} markers, allowed: the {} that the tracks name at most",
                                  markers.size(), tracks.markers.size()));
  const auto bad = [](double x) { return !(x >= 0) || !std::isfinite(x); };
  if (bad(o.exposure) || bad(o.contact_time) || bad(o.pixel_sd) || bad(o.offset_sd) || bad(o.layout_sd) || bad(o.collinear_tolerance) ||
      !(o.outlier_sd > 0) || !(o.spin_axis_prior_sd > 0) || !(o.spin_axis_prior_sd_plus > 0) || o.motion.min_frames < 3 ||
      o.motion.max_frames < o.motion.min_frames) {
    throw ConfigError(
        "fit of a drop: found an option without meaning, allowed: times, noises and tolerances of 0 or more, outlier_sd and "
        "spin priors above 0, at least 3 frames and no fewer at most than at least");
  }
}

class Fitter {
 public:
  Fitter(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers, const Body& body, const Plane& floor,
         const DropFitOptions& options)
      : tracks_(tracks), rig_(rig), options_(options) {
    problem_.views = internal::Views(rig);
    problem_.markers = markers;
    problem_.body = body;
    problem_.gravity_W = options.motion.flight.gravity_W;
    problem_.offset_sd = tracks.cameras.size() > 1 ? options.offset_sd : 0;
    problem_.layout_sd = options.layout_sd;
    problem_.spin_sd[0] = options.spin_axis_prior_sd;
    problem_.spin_sd[1] = options.spin_axis_prior_sd_plus;
    const double length = floor.normal.norm();
    floor_ = {floor.normal / length, floor.offset / length};
    fit_.event.recording = tracks.recording;
    fit_.event.reason = RejectReason::kBadRecording;
  }

  DropFit Run() {
    fit_.reason = Prepare();
    if (fit_.reason.empty()) fit_.reason = Solve();
    if (fit_.reason.empty()) fit_.reason = Conclude();
    fit_.usable = fit_.reason.empty();
    if (!fit_.usable) fit_.event.detail = fit_.reason;
    return std::move(fit_);
  }

 private:
  // Points, layout and start.
  std::string Prepare() {
    TakePoints();
    std::set<int> seen;
    for (const DropPoint& point : problem_.points) seen.insert(point.marker);
    if (seen.size() < 3) return fmt::format("{} markers are seen, a fit needs three", seen.size());
    FindAxis(seen);
    internal::LinkInstants(&problem_);
    frame_interval_ = internal::FrameInterval(problem_);
    if (!(frame_interval_ > 0)) return fmt::format("{} has no two frames with markers", tracks_.cameras.front());
    state_.offset = internal::RoughOffsets(rig_, problem_, frame_interval_);
    state_.offset.resize(tracks_.cameras.size(), 0);
    const PoseRecording poses = internal::RoughPoses(rig_, problem_, state_.offset);
    if (poses.t.empty()) return "no frame has three markers that can be placed in space: seen by one camera only, or rays that do not meet";
    std::optional<internal::RoughImpact> impact;
    if (options_.t_impact) {
      impact = internal::RoughImpact{*options_.t_impact};
    } else {
      impact = internal::FlaggedImpact(tracks_, problem_, frame_interval_);
      if (!impact) impact = internal::ImpactOfMotion(poses, problem_, floor_, options_.motion);
    }
    if (!impact) {
      fit_.event.reason = RejectReason::kNoImpact;
      return "neither the tracks nor the motion show an impact";
    }
    const double reach = options_.motion.max_frames * frame_interval_;
    const double begin = std::max(impact->begin, impact->t - reach), end = std::min(impact->end, impact->t + reach);
    std::erase_if(problem_.points, [&](const DropPoint& p) { return p.t < begin || p.t > end; });
    internal::LinkInstants(&problem_);
    PoseRecording near;
    for (std::size_t i = 0; i < poses.t.size(); ++i) {
      if (poses.t[i] < begin || poses.t[i] > end) continue;
      near.t.push_back(poses.t[i]);
      near.X_WB.push_back(poses.X_WB[i]);
    }
    for (const BodyMarker& marker : problem_.markers) state_.p_BM.push_back(marker.p_BM);
    const std::string reason = internal::StartDrop(near, problem_, impact->t, options_.motion, &state_);
    if (!reason.empty()) fit_.event.reason = RejectReason::kTooFewFrames;
    return reason;
  }

  void TakePoints() {
    std::vector<int> view_of;
    for (const std::string& name : tracks_.cameras) {
      const auto found = std::find_if(rig_.cameras.begin(), rig_.cameras.end(), [&](const RigCamera& c) { return c.name == name; });
      if (found == rig_.cameras.end()) throw ConfigError(fmt::format("fit of a drop: found camera '{}', allowed: those of the rig", name));
      view_of.push_back(static_cast<int>(found - rig_.cameras.begin()));
    }
    int bad = 0;
    for (std::size_t i = 0; i < tracks_.points.size(); ++i) {
      const TrackPoint& p = tracks_.points[i];
      if (p.marker >= static_cast<int>(problem_.markers.size()) || (p.flags & (kPredicted | kOutlier)) || p.t < options_.t_begin ||
          p.t > options_.t_end) {
        continue;
      }
      DropPoint point;
      point.index = static_cast<int>(i);
      point.view = view_of[p.camera];
      point.clock = p.camera;
      point.marker = p.marker;
      point.t = p.t;
      point.q = p.q;
      const Eigen::Matrix2d cov = p.cov + options_.pixel_sd * options_.pixel_sd * Eigen::Matrix2d::Identity();
      if (!p.q.allFinite() || !std::isfinite(p.t) || !internal::WeightRoot(cov, &point.root)) {
        ++bad;
        continue;
      }
      problem_.points.push_back(point);
    }
    if (bad > 0) fit_.notes.push_back(fmt::format("{} points without a finite place or a positive covariance were passed over", bad));
  }

  // Markers on a line: they are put on it, and the rotation about it becomes a convention.
  void FindAxis(const std::set<int>& seen) {
    std::vector<Vector3d> p_B;
    for (int m : seen) p_B.push_back(problem_.markers[m].p_BM);
    const AbsoluteOrientation shape = AlignPoints(p_B, p_B, std::vector<double>(p_B.size(), 1.0));
    Vector3d axis = shape.axes_B.col(0), middle = Vector3d::Zero();
    for (const Vector3d& p : p_B) middle += p / static_cast<double>(p_B.size());
    const auto on_line = [&](const Vector3d& p) -> Vector3d { return middle + axis * axis.dot(p - middle); };
    double worst = 0;
    for (const Vector3d& p : p_B) worst = std::max(worst, (p - on_line(p)).norm());
    if (worst > std::max(options_.collinear_tolerance, 3 * options_.layout_sd)) return;
    if (axis.dot(p_B.back() - p_B.front()) < 0) axis = -axis;
    for (int m : seen) problem_.markers[m].p_BM = on_line(problem_.markers[m].p_BM);
    problem_.has_axis = true;
    problem_.axis_B = axis;
    problem_.turn.resize(3, 2);
    problem_.turn.col(0) = axis.unitOrthogonal();
    problem_.turn.col(1) = axis.cross(problem_.turn.col(0));
    fit_.observable = false;
    fit_.axis_B = axis;
    fit_.notes.push_back("the markers lie on a line: roll is a convention, the spin about it has its prior");
  }

  double Since(const DropPoint& point) const { return point.t + state_.offset[point.clock] - state_.tau; }

  // Chooses the points to use: far enough from the impact, and near enough to where the fit has them. True where the choice changed.
  bool Choose(bool judge) {
    const double half = 0.5 * (options_.exposure + options_.contact_time);
    fit_.residuals.clear();
    const std::vector<internal::BodyAt> at = internal::Follow(problem_, state_);
    std::vector<double> squares;
    std::vector<DropResidual> residuals;
    for (const DropPoint& point : problem_.points) {
      DropResidual residual;
      residual.point = point.index;
      residual.after = Since(point) >= 0;
      BodyMarker marker = problem_.markers[point.marker];
      marker.p_BM = state_.p_BM[point.marker];
      Eigen::Vector2d q;
      residual.distance = std::numeric_limits<double>::infinity();
      if (internal::ImageOf(problem_.views[point.view], marker, at[point.instant].X_WB, &q)) {
        residual.r = q - point.q;
        residual.distance = (point.root * residual.r).norm();
        squares.push_back(residual.distance * residual.distance);
      }
      residuals.push_back(residual);
    }
    // Median of a chi-square of two degrees of freedom: 2 ln 2.
    const double scale = squares.empty() ? 1 : std::max(1.0, std::sqrt(Median(squares) / (2 * std::log(2.0))));
    bool changed = false;
    fit_.outliers = left_out_ = 0;
    for (std::size_t i = 0; i < problem_.points.size(); ++i) {
      DropPoint& point = problem_.points[i];
      const bool beside = std::abs(Since(point)) < half;
      const bool outlier = !beside && (judge ? residuals[i].distance > options_.outlier_sd * scale : !std::isfinite(residuals[i].distance));
      const bool use = !beside && !outlier;
      changed = changed || use != point.used;
      point.used = residuals[i].used = use;
      fit_.outliers += outlier;
      left_out_ += beside;
    }
    fit_.residuals = std::move(residuals);
    return changed;
  }

  std::string TooFew() {
    std::map<int, std::set<long long>> frames[2];
    for (const DropPoint& point : problem_.points) {
      if (point.used) frames[Since(point) >= 0][point.clock].insert(tracks_.points[point.index].frame);
    }
    int most[2] = {0, 0};
    for (int arc = 0; arc < 2; ++arc) {
      for (const auto& [clock, set] : frames[arc]) most[arc] = std::max(most[arc], static_cast<int>(set.size()));
    }
    fit_.event.frames_minus = most[0];
    fit_.event.frames_plus = most[1];
    if (most[0] >= 3 && most[1] >= 3) return "";
    fit_.event.reason = RejectReason::kTooFewFrames;
    return fmt::format("{} frames before and {} after the impact, a fit needs three of each", most[0], most[1]);
  }

  std::string Solve() {
    fit_.event.reason = RejectReason::kNotConverged;
    const char* const failed = "the least squares found no optimum";
    Choose(false);
    std::string few = TooFew();
    if (!few.empty()) return few;
    if (!internal::SolveDrop(problem_, kHuber, &state_, &fit_.iterations)) return failed;
    Choose(true);
    for (int round = 0; round < kRounds; ++round) {
      few = TooFew();
      if (!few.empty()) return few;
      if (!internal::SolveDrop(problem_, 0, &state_, &fit_.iterations)) return failed;
      if (!Choose(true)) break;
    }
    return TooFew();
  }

  // Chi-square with the errors of the rig counted: residuals they explain are no noise.
  double WithoutRig(const DropNormal& normal, const MatrixXd& inverse) const {
    if (rig_.covariance.size() == 0 || !options_.rig_covariance) return normal.chi_square;
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(rig_.covariance);
    const MatrixXd L = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
    const MatrixXd M = normal.rig_information - normal.by_rig.transpose() * inverse * normal.by_rig;
    MatrixXd S = L.transpose() * M * L;
    S.diagonal().array() += 1;
    const Eigen::VectorXd b = L.transpose() * normal.rig_gradient;
    return normal.chi_square - b.dot(S.llt().solve(b));
  }

  std::string Conclude() {
    const int rig_size = ParameterCount(rig_);
    const DropNormal normal = internal::NormalEquations(problem_, state_, rig_size);
    MatrixXd inverse;
    if (!normal.valid || !internal::InvertNormal(problem_, normal.information, &inverse))
      return "the images do not determine the motion: its covariance has no end";
    fit_.chi_square = normal.chi_square;
    fit_.dof = normal.residuals - normal.parameters;
    if (fit_.dof < 1) return "there are no more images than unknowns";
    const double honest = WithoutRig(normal, inverse);
    if (options_.scale_noise && honest > ChiSquareQuantile(1 - kChance, fit_.dof)) {
      fit_.noise_scale = std::sqrt(honest / fit_.dof);
      fit_.notes.push_back(
          fmt::format("residuals are {:.2f} times what their covariances say: standard deviations are widened by it", fit_.noise_scale));
    }
    const MatrixXd pixels = fit_.noise_scale * fit_.noise_scale * inverse;
    fit_.cov_pixels = pixels.topLeftCorner<kDropDim, kDropDim>();
    const MatrixXd dx_drig = -inverse * normal.by_rig;
    fit_.dx_drig = dx_drig.topRows<kDropDim>();
    const bool with_rig = rig_.covariance.size() > 0 && options_.rig_covariance;
    const MatrixXd all = with_rig ? MatrixXd(pixels + dx_drig * rig_.covariance * dx_drig.transpose()) : pixels;
    fit_.cov = all.topLeftCorner<kDropDim, kDropDim>();
    fit_.offset = state_.offset;
    fit_.sd_offset.assign(state_.offset.size(), 0);
    for (std::size_t c = 1; problem_.free_clocks() && c < state_.offset.size(); ++c) {
      const auto at = kDropDim + static_cast<Eigen::Index>(c) - 1;
      fit_.sd_offset[c] = std::sqrt(std::max(0.0, all(at, at)));
    }
    fit_.layout = state_.p_BM;
    if (left_out_ > 0) fit_.notes.push_back(fmt::format("{} points beside the impact were left out", left_out_));
    if (fit_.outliers > 0) fit_.notes.push_back(fmt::format("{} points are outliers", fit_.outliers));
    MakeEvent(normal);
    return "";
  }

  void MakeEvent(const DropNormal& normal) {
    internal::Joint<6> joint;
    joint.converged = true;
    joint.t = state_.tau;
    joint.sd_t = std::sqrt(std::max(0.0, fit_.cov(kDropTime, kDropTime)));
    joint.minus.pose.head<3>() = state_.p;
    joint.minus.R = state_.q.toRotationMatrix();
    joint.minus.velocity << state_.v[0], state_.omega[0];
    joint.plus.velocity << state_.v[1], state_.omega[1];
    joint.cov = fit_.cov;
    internal::FitContext context;
    context.model.body = &problem_.body;
    context.model.flight = options_.motion.flight;
    context.floor = floor_;
    context.options = &options_.motion;
    context.frame_interval = frame_interval_;
    internal::BreakFit fit;
    fit.converged = true;
    fit.event = fit_.event;
    internal::FillEvent(context, joint, fit);
    ImpactEvent& event = fit.event;
    event.t = joint.t;
    event.sd_t = joint.sd_t;
    event.reason = RejectReason::kNone;
    event.p_WP = ContactWithPlane(problem_.body, event.X_WB, floor_).p_WP;
    NoiseOf(&event);
    UpdateContact(event, problem_.body, floor_, problem_.gravity_W);
    // The two flights share their pose, so no gap can remain; arcs are judged against the noise of both.
    fit.gap_dof = 5;
    const double scale2 = std::max(1.0, fit_.chi_square / fit_.dof);
    fit.minus_chi_square = normal.arc_chi_square[0] / scale2;
    fit.plus_chi_square = normal.arc_chi_square[1] / scale2;
    fit.minus_dof = std::max(1, normal.arc_residuals[0] - 9);
    fit.plus_dof = std::max(1, normal.arc_residuals[1] - 9);
    fit.t_previous = -1e300;
    fit.t_next = 1e300;
    for (std::size_t i = 0; i < problem_.points.size(); ++i) {
      const DropPoint& point = problem_.points[i];
      if (!point.used) continue;
      const double t = point.t + state_.offset[point.clock];
      if (t < state_.tau) fit.t_previous = std::max(fit.t_previous, t);
      if (t >= state_.tau) fit.t_next = std::min(fit.t_next, t);
      if (std::abs(Since(point)) < 1.5 * frame_interval_) {
        fit.near_chi_square += std::pow(fit_.residuals[i].distance, 2) / scale2;
        fit.near_dof += 2;
      }
    }
    internal::Judge(context, fit);
    fit_.event = fit.event;
  }

  // What a marker's noise is in space, at the impact, in the first camera.
  void NoiseOf(ImpactEvent* event) const {
    double sum = 0, spread = 0;
    int n = 0;
    for (const DropPoint& point : problem_.points) {
      if (!point.used || point.clock != 0) continue;
      Eigen::Vector2d q;
      internal::ImageDerivatives d;
      if (!internal::ImageOf(problem_.views[point.view], problem_.markers[point.marker], event->X_WB, &q, &d)) continue;
      sum += 2 / (point.root * d.by_p_W).squaredNorm();
      spread += problem_.markers[point.marker].p_BM.squaredNorm();
      ++n;
    }
    if (n == 0) return;
    event->sigma_position = fit_.noise_scale * std::sqrt(sum / n);
    if (spread > 0) event->sigma_angle = event->sigma_position / std::sqrt(spread / n);
  }

  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const DropFitOptions& options_;
  DropProblem problem_;
  DropState state_;
  Plane floor_;
  double frame_interval_ = 0;
  int left_out_ = 0;
  DropFit fit_;
};

}  // namespace

DropFit FitDrop(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers, const Body& body,
                const Plane& floor, const DropFitOptions& options) {
  Check(tracks, rig, markers, body, options);
  return Fitter(tracks, rig, markers, body, floor, options).Run();
}

}  // namespace impactlab
