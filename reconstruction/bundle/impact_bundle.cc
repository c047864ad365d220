#include "reconstruction/bundle/impact_bundle.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/statistics/statistics.h"
#include "reconstruction/bundle/detail/problem.h"
#include "reconstruction/bundle/detail/recording.h"
#include "reconstruction/bundle/event.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using reconstruction::DropNormal;
using reconstruction::DropPlaces;
using reconstruction::DropPoint;
using reconstruction::DropProblem;
using reconstruction::DropRecording;
using reconstruction::DropState;
using reconstruction::RoughImpact;

constexpr double kFirstSolveHuber = 2;  // of the first solve [standard deviations]
constexpr int kRounds = 6;              // of choosing the points that are used
constexpr double kChance = 0.01;        // residuals less likely than this widen the covariance

void Check(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers,
           const Body& body, const ImpactBundleOptions& o) {
  CheckBody(body);
  reconstruction::CheckLayout(markers);
  reconstruction::CheckRig(rig, "fit of a drop");
  if (body.planar)
    throw ConfigError(fmt::format(
        "fit of a drop: body '{}': found a planar body, allowed: one in space", body.name));
  if (o.motion.flight.drag_per_m != 0)
    throw ConfigError(fmt::format("fit of a drop: found a drag of {} 1/m, allowed: 0",
                                  o.motion.flight.drag_per_m));
  if (markers.size() > tracks.markers.size())
    throw ConfigError(
        fmt::format("fit of a drop: found a layout of {} markers, allowed: the "
                    "{} that the tracks name at most",
                    markers.size(), tracks.markers.size()));
  const auto bad = [](double x) { return !(x >= 0) || !std::isfinite(x); };
  if (bad(o.exposure) || bad(o.contact_time) || bad(o.pixel_sd) || bad(o.offset_sd) ||
      bad(o.row_time_sd) || bad(o.rate_sd) || bad(o.layout_sd) || bad(o.collinear_tolerance) ||
      !(o.outlier_sd > 0) || !(o.spin_axis_prior_sd > 0) || !(o.spin_axis_prior_sd_plus > 0) ||
      !(o.spin_axis_moment_sd > 0) || o.motion.min_frames < 3 ||
      o.motion.max_frames < o.motion.min_frames) {
    throw ConfigError(
        "fit of a drop: found an option without meaning, allowed: times, "
        "noises and tolerances of 0 or more, outlier_sd and "
        "spin priors above 0, at least 3 frames and no fewer at most than at "
        "least");
  }
  const auto n_places = static_cast<Eigen::Index>(3 * markers.size());
  const Eigen::MatrixXd &known = o.layout.cov, &follows = o.layout.by_rig;
  if ((known.size() > 0 &&
       (known.rows() != n_places || known.cols() != n_places || !known.allFinite())) ||
      (follows.size() > 0 && (follows.rows() != n_places || follows.cols() != ParameterCount(rig) ||
                              !follows.allFinite()))) {
    throw ConfigError(
        fmt::format("fit of a drop: found {} x {} for the covariance of the layout and {} x {} for "
                    "how it follows the rig, "
                    "allowed: {} x {} and {} x {}, finite",
                    known.rows(), known.cols(), follows.rows(), follows.cols(), n_places, n_places,
                    n_places, ParameterCount(rig)));
  }
  const int n = static_cast<int>(markers.size());
  for (const KnownDistance& d : o.distances) {
    if (d.marker1 < 0 || d.marker1 >= n || d.marker2 < 0 || d.marker2 >= n ||
        d.marker1 == d.marker2 || !(d.distance > 0) || !(d.sd > 0) || !std::isfinite(d.distance) ||
        !std::isfinite(d.sd)) {
      throw ConfigError(
          fmt::format("fit of a drop: found a known distance of {} m (sd {} m) between "
                      "markers {} and {}, allowed: distance and sd above "
                      "0 between two of the {} markers",
                      d.distance, d.sd, d.marker1 + 1, d.marker2 + 1, n));
    }
  }
}

ImpactBundle Unusable(const DropRecording& recording, RejectReason reason, std::string detail,
                      double t = 0) {
  ImpactBundle fit;
  fit.reason = std::move(detail);
  fit.event.recording = recording.name;
  fit.event.t = t;
  fit.event.reason = reason;
  fit.event.detail = fit.reason;
  fit.notes = recording.notes;
  fit.observable = !recording.problem.has_axis;
  fit.axis_B = recording.problem.axis_B;
  return fit;
}

// One impact.
class Fitter {
 public:
  Fitter(const DropRecording& recording, const MarkerTracks& tracks, const CameraRig& rig,
         const ImpactBundleOptions& options)
      : recording_(recording),
        tracks_(tracks),
        rig_(rig),
        options_(options),
        problem_(recording.problem) {
    fit_ = Unusable(recording, RejectReason::kBadRecording, "");
  }

  ImpactBundle Run(const RoughImpact& impact) {
    fit_.event.t = impact.t;
    fit_.reason = Start(impact);
    if (fit_.reason.empty()) fit_.reason = Solve();
    if (fit_.reason.empty()) fit_.reason = Conclude();
    fit_.usable = fit_.reason.empty();
    if (!fit_.usable) fit_.event.detail = fit_.reason;
    return std::move(fit_);
  }

 private:
  std::string Start(const RoughImpact& impact) {
    const double reach = options_.motion.max_frames * recording_.frame_interval;
    const double begin = std::max(impact.begin, impact.t - reach),
                 end = std::min(impact.end, impact.t + reach);
    const auto outside = [&](double t) { return t < begin || t > end; };
    std::erase_if(problem_.points,
                  [&](const DropPoint& p) { return outside(p.t + recording_.offset[p.clock]); });
    reconstruction::LinkInstants(&problem_);
    problem_.t_reference = fit_.t_reference = impact.t;
    std::vector<reconstruction::BriefFlight> near;
    for (const reconstruction::BriefFlight& flight : recording_.flights) {
      if (!outside(flight.t)) near.push_back(flight);
    }
    for (const BodyMarker& marker : problem_.markers) state_.p_BM.push_back(marker.p_BM);
    for (const double offset : recording_.offset) state_.clock.push_back({offset, 0, 0});
    std::string reason = reconstruction::StartDrop(
        near, problem_, impact.t, recording_.frame_interval, options_.motion, &state_);
    if (!reason.empty()) fit_.event.reason = RejectReason::kTooFewFrames;
    return reason;
  }

  double Since(const DropPoint& point) const {
    return problem_.Time(state_.clock[point.clock], point.t, point.q.y()) - state_.tau;
  }

  // Chooses the points to use: far enough from the impact, and near enough to where the fit has
  // them. True where the choice changed.
  bool Choose(bool judge) {
    const double half = 0.5 * (options_.exposure + options_.contact_time);
    fit_.residuals.clear();
    const std::vector<reconstruction::BodyAt> at = reconstruction::FollowStates(problem_, state_);
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
      if (reconstruction::ImageOf(problem_.views[point.view], marker, at[point.instant].X_WB, &q)) {
        residual.r = q - point.q;
        residual.distance = (point.root * residual.r).norm();
        squares.push_back(residual.distance * residual.distance);
      }
      residuals.push_back(residual);
    }
    // Median of a chi-square of two degrees of freedom: 2 ln 2.
    const double scale =
        squares.empty() ? 1 : std::max(1.0, std::sqrt(Median(squares) / (2 * std::log(2.0))));
    bool changed = false;
    fit_.outliers = left_out_ = 0;
    for (std::size_t i = 0; i < problem_.points.size(); ++i) {
      DropPoint& point = problem_.points[i];
      const bool beside = std::abs(Since(point)) < half;
      const bool outlier = !beside && (judge ? residuals[i].distance > options_.outlier_sd * scale
                                             : !std::isfinite(residuals[i].distance));
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
      if (point.used)
        frames[Since(point) >= 0][point.clock].insert(tracks_.points[point.index].frame);
    }
    int most[2] = {0, 0};
    for (int arc = 0; arc < 2; ++arc) {
      for (const auto& [clock, set] : frames[arc])
        most[arc] = std::max(most[arc], static_cast<int>(set.size()));
    }
    fit_.event.frames_minus = most[0];
    fit_.event.frames_plus = most[1];
    if (most[0] >= 2 && most[1] >= 2) return "";
    fit_.event.reason = RejectReason::kTooFewFrames;
    return fmt::format("{} frames before and {} after the impact, a fit needs two of each", most[0],
                       most[1]);
  }

  std::string Solve() {
    fit_.event.reason = RejectReason::kNotConverged;
    const char* const failed = "the least squares found no optimum";
    Choose(false);
    std::string few = TooFew();
    if (!few.empty()) return few;
    reconstruction::SetPush(&problem_, state_.q, recording_.floor.normal);
    if (!reconstruction::SolveDrop(problem_, kFirstSolveHuber, &state_, &fit_.iterations))
      return failed;
    Choose(true);
    for (int round = 0; round < kRounds; ++round) {
      few = TooFew();
      if (!few.empty()) return few;
      reconstruction::SetPush(&problem_, state_.q, recording_.floor.normal);
      if (!reconstruction::SolveDrop(problem_, 0, &state_, &fit_.iterations)) return failed;
      if (!Choose(true)) break;
    }
    return TooFew();
  }

  bool with_rig() const { return rig_.covariance.size() > 0 && options_.rig_covariance; }
  bool with_layout() const { return options_.layout.cov.size() > 0 && !problem_.free_layout(); }
  bool layout_follows() const {
    return options_.layout.by_rig.size() > 0 && !problem_.free_layout();
  }

  // Of derivatives by the layout: what all impacts share. Beside a line it is fitted with every
  // impact.
  MatrixXd Common(MatrixXd by_layout) const {
    const Eigen::Matrix3d along = problem_.axis_B * problem_.axis_B.transpose();
    for (Eigen::Index m = 0; problem_.beside() && m < by_layout.cols(); m += 3)
      by_layout.middleCols<3>(m) = (by_layout.middleCols<3>(m) * along).eval();
    return by_layout;
  }

  // Chi-square with the errors of what is given counted: residuals they explain are no noise.
  double WithoutGiven(const DropNormal& normal, const MatrixXd& inverse) const {
    const Eigen::Index n = normal.by_given.cols(), r = ParameterCount(rig_), l = n - r;
    MatrixXd L = MatrixXd::Zero(n, n);
    const auto root = [](const MatrixXd& cov) -> MatrixXd {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(cov);
      return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
    };
    if (with_rig()) L.topLeftCorner(r, r) = root(rig_.covariance);
    if (with_rig() && layout_follows())
      L.bottomLeftCorner(l, r) = options_.layout.by_rig * L.topLeftCorner(r, r);
    if (with_layout())
      L.bottomRightCorner(l, l) = Common(MatrixXd::Identity(l, l)) * root(options_.layout.cov);
    const MatrixXd M =
        normal.given_information - normal.by_given.transpose() * inverse * normal.by_given;
    MatrixXd S = L.transpose() * M * L;
    S.diagonal().array() += 1;
    const Eigen::VectorXd b = L.transpose() * normal.given_gradient;
    return normal.chi_square - b.dot(S.llt().solve(b));
  }

  std::string Conclude() {
    const int clocks = static_cast<int>(state_.clock.size());
    const DropPlaces places = reconstruction::PlacesOf(problem_, clocks);
    const DropNormal normal =
        reconstruction::NormalEquations(problem_, state_, ParameterCount(rig_));
    MatrixXd inverse;
    if (!normal.valid || !reconstruction::InvertNormal(problem_, normal.information, &inverse))
      return "the images do not determine the motion: its covariance has no "
             "end";
    fit_.chi_square = normal.chi_square;
    fit_.dof = normal.residuals - normal.parameters;
    if (fit_.dof < 1) return "there are no more images than unknowns";
    const double honest = WithoutGiven(normal, inverse);
    if (options_.scale_noise && honest > ChiSquareQuantile(1 - kChance, fit_.dof)) {
      fit_.noise_scale = std::sqrt(honest / fit_.dof);
      fit_.notes.push_back(
          fmt::format("residuals are {:.2f} times what their covariances say: "
                      "standard deviations are widened by it",
                      fit_.noise_scale));
    }
    const MatrixXd pixels = fit_.noise_scale * fit_.noise_scale * inverse;
    fit_.cov_pixels = pixels.topLeftCorner<kDropDim, kDropDim>();
    const Eigen::Index r = ParameterCount(rig_), l = normal.by_given.cols() - r;
    const MatrixXd dx_dgiven = -inverse * normal.by_given,
                   dx_dlayout = Common(dx_dgiven.rightCols(l));
    MatrixXd dx_drig = dx_dgiven.leftCols(r);
    if (layout_follows()) dx_drig += dx_dlayout * options_.layout.by_rig;
    fit_.dx_drig = dx_drig.topRows<kDropDim>();
    fit_.dx_dlayout = dx_dlayout.topRows<kDropDim>();
    MatrixXd all = pixels;
    if (with_rig()) all += Congruence(dx_drig, rig_.covariance);
    if (with_layout()) all += Congruence(dx_dlayout, options_.layout.cov);
    if (!problem_.free_layout()) {
      const MatrixXd M =
          (normal.given_information - normal.by_given.transpose() * inverse * normal.by_given)
              .bottomRows(l);
      const double weight = 1 / (fit_.noise_scale * fit_.noise_scale);
      fit_.layout_information = weight * M.rightCols(l);
      fit_.layout_rig_information = weight * M.leftCols(r);
      fit_.layout_gradient = weight * normal.given_gradient.tail(l);
    }
    fit_.cov = all.topLeftCorner<kDropDim, kDropDim>();
    ShareOut(normal, places);
    const auto sd = [&](int k) { return k >= 0 ? std::sqrt(std::max(0.0, all(k, k))) : 0; };
    for (int c = 0; c < clocks; ++c) {
      fit_.offset.push_back(state_.clock[c].offset);
      fit_.row_time.push_back(state_.clock[c].row_time);
      fit_.rate.push_back(state_.clock[c].rate);
      fit_.sd_offset.push_back(sd(places.offset[c]));
      fit_.sd_row_time.push_back(sd(places.row_time[c]));
      fit_.sd_rate.push_back(sd(places.rate[c]));
    }
    fit_.layout = state_.p_BM;
    if (problem_.free_layout())
      fit_.cov_layout =
          all.bottomRightCorner(places.size - places.clocks_end, places.size - places.clocks_end);
    if (left_out_ > 0)
      fit_.notes.push_back(fmt::format("{} points beside the impact were left out", left_out_));
    if (fit_.outliers > 0)
      fit_.notes.push_back(fmt::format("{} points are outliers", fit_.outliers));
    reconstruction::MakeEvent(recording_, problem_, state_, normal, options_, &fit_);
    return "";
  }

  // What each group of unknowns, and then of what is given, adds to the covariance of the state.
  void ShareOut(const DropNormal& normal, const DropPlaces& places) {
    const double scale2 = fit_.noise_scale * fit_.noise_scale;
    const auto held_beyond = [&](int size) -> DropCovariance {
      MatrixXd inverse;
      if (!reconstruction::InvertNormal(problem_, normal.information.topLeftCorner(size, size),
                                        &inverse))
        return fit_.cov_pixels;
      return scale2 * inverse.topLeftCorner<kDropDim, kDropDim>();
    };
    fit_.share_pixels = held_beyond(kDropDim);
    const DropCovariance with_clocks =
        places.clocks_end > kDropDim ? held_beyond(places.clocks_end) : fit_.share_pixels;
    fit_.share_clocks = with_clocks - fit_.share_pixels;
    fit_.share_layout = fit_.cov_pixels - with_clocks;
    const DropCovariance common =
        with_layout() ? DropCovariance(Congruence(fit_.dx_dlayout, options_.layout.cov))
                      : DropCovariance::Zero();
    fit_.share_layout += common;
    fit_.share_rig = fit_.cov - fit_.cov_pixels - common;
  }

  const DropRecording& recording_;
  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const ImpactBundleOptions& options_;
  DropProblem problem_;
  DropState state_;
  int left_out_ = 0;
  ImpactBundle fit_;
};

// Flights too short or too ragged for rough poses may do for images, which are counted and judged
// anew.
ImpactBundle FitImpact(const DropRecording& recording, const MarkerTracks& tracks,
                       const CameraRig& rig, const ImpactBundleOptions& options,
                       const RoughImpact& impact) {
  const bool doubtful = impact.reason == RejectReason::kTooFewFrames ||
                        impact.reason == RejectReason::kSecondContact ||
                        impact.reason == RejectReason::kNoFreeFlight ||
                        impact.reason == RejectReason::kNotConverged;
  if (doubtful || impact.reason == RejectReason::kNone) {
    ImpactBundle fit = Fitter(recording, tracks, rig, options).Run(impact);
    if (fit.usable || !doubtful) return fit;
    return Unusable(recording, impact.reason, fmt::format("{}; {}", impact.detail, fit.reason),
                    impact.t);
  }
  return Unusable(recording, impact.reason, impact.detail, impact.t);
}

}  // namespace

ImpactBundle FitImpactBundle(const MarkerTracks& tracks, const CameraRig& rig,
                             const std::vector<BodyMarker>& markers, const Body& body,
                             const Plane& floor, const ImpactBundleOptions& options) {
  Check(tracks, rig, markers, body, options);
  const DropRecording recording =
      reconstruction::PrepareDrops(tracks, rig, markers, body, floor, options);
  if (!recording.reason.empty())
    return Unusable(recording, RejectReason::kBadRecording, recording.reason);
  if (options.t_impact)
    return FitImpact(
        recording, tracks, rig, options,
        reconstruction::ImpactAbout(*options.t_impact, recording.rough, recording.poses));
  const auto& impacts = recording.rough.impacts;
  if (impacts.empty()) return Unusable(recording, recording.rough.reason, recording.rough.detail);
  // The first that is one: a break that no flight follows is none, nor is one in which nothing was
  // pushed.
  std::optional<ImpactBundle> first;
  for (const bool doubtful : {false, true}) {
    for (const RoughImpact& impact : impacts) {
      if ((impact.reason != RejectReason::kNone) != doubtful) continue;
      ImpactBundle fit = FitImpact(recording, tracks, rig, options, impact);
      if (fit.usable && reconstruction::IsPush(recording, fit)) return fit;
      if (!first || (fit.usable && !first->usable)) first = std::move(fit);
    }
  }
  return *first;
}

std::vector<ImpactBundle> FitImpactBundles(const MarkerTracks& tracks, const CameraRig& rig,
                                           const std::vector<BodyMarker>& markers, const Body& body,
                                           const Plane& floor, const ImpactBundleOptions& options) {
  Check(tracks, rig, markers, body, options);
  const DropRecording recording =
      reconstruction::PrepareDrops(tracks, rig, markers, body, floor, options);
  std::vector<ImpactBundle> fits;
  if (!recording.reason.empty()) {
    fits.push_back(Unusable(recording, RejectReason::kBadRecording, recording.reason));
    return fits;
  }
  const std::size_t most = options.motion.first_impacts > 0 ? options.motion.first_impacts
                                                            : recording.rough.impacts.size();
  for (const RoughImpact& impact : recording.rough.impacts) {
    if (fits.size() >= most) break;
    ImpactBundle fit = FitImpact(recording, tracks, rig, options, impact);
    // A jump of the tracker, or a blow from something else than the floor.
    if (fit.usable && !reconstruction::IsPush(recording, fit)) continue;
    fit.event.impact = static_cast<int>(fits.size());
    fits.push_back(std::move(fit));
  }
  if (fits.empty())
    fits.push_back(Unusable(recording, recording.rough.reason, recording.rough.detail));
  return fits;
}

}  // namespace impactlab
