#include "calibration/solve/detail/rig_solution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/solve/detail/initialization.h"

namespace impactlab::calibration {
namespace {

constexpr double kMostlyOutliers = 0.5;  // share of inliers below which a whole view leaves

double Length(const Eigen::Vector2d& residual, double sd) {
  const double length = residual.norm() / sd;
  return length < 1e9 ? length : 1e9;
}

// Every point of the views in the solve: camera, length of its residual over its sd, in the solve
// or an outlier.
template <class Take>
void ForEachPoint(const Bundle& bundle, Take take) {
  for (int s = 0; s < bundle.shots(); ++s)
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      const auto residuals = Residuals(bundle, s, c);
      for (std::size_t i = 0; i < residuals.size(); ++i)
        take(c, Length(residuals[i], view.sd[i]), view.active[i] != 0);
    }
}

std::vector<double> RobustSigmas(const Bundle& bundle) {
  std::vector<std::vector<double>> lengths(bundle.cameras());
  ForEachPoint(bundle, [&](int camera, double length, bool) { lengths[camera].push_back(length); });
  std::vector<double> sigma(bundle.cameras(), 1);
  for (int c = 0; c < bundle.cameras(); ++c)
    if (!lengths[c].empty()) sigma[c] = std::max(RobustSigma(lengths[c]), 1e-6);
  return sigma;
}

// A rig solved in stages, from the check of the views to least squares without outliers. A stage
// that cannot go on says why and returns false.
class RigSolver {
 public:
  RigSolver(CalibrationProblem problem, const CalibrationOptions& options,
            const std::vector<std::optional<Eigen::VectorXd>>& guesses)
      : problem_(std::move(problem)),
        options_(options),
        guesses_(guesses),
        n_cameras_(static_cast<int>(problem_.cameras.size())),
        n_shots_(static_cast<int>(problem_.shots.size())),
        views_(n_shots_, std::vector<BundleView>(n_cameras_)),
        mono_sigma_(n_cameras_, 1),
        mono_inliers_(n_shots_, std::vector<std::vector<char>>(n_cameras_)),
        X_CG_(n_shots_, std::vector<std::optional<Eigen::Isometry3d>>(n_cameras_)) {}

  RigSolution Solve() && {
    const bool solved = CheckViews() && StartCameras() && ChainRig();
    if (solved) {
      PlaceBoards();
      if (options_.robust) SolveRobustly();
      SolveLeastSquares();
    }
    out_.problem = std::move(problem_);
    return std::move(out_);
  }

 private:
  bool Fail(CalibrationStatus status, const std::string& reason) {
    out_.status = status;
    out_.reason = reason;
    return false;
  }

  bool CheckViews() {
    out_.checks.assign(n_shots_, std::vector<ViewCheck>(n_cameras_));
    for (int c = 0; c < n_cameras_; ++c) {
      int usable = 0, mirrored = 0, mixed = 0, offered = 0;
      std::string last_reason;
      for (int s = 0; s < n_shots_; ++s) {
        const BoardView& view = problem_.shots[s].views[c];
        ViewCheck& check = out_.checks[s][c];
        offered += !view.points.empty();
        check = CheckView(problem_.board, problem_.shots[s].views[c], options_.fix_order);
        usable += check.rejected.empty();
        if (!check.rejected.empty() && !view.points.empty()) last_reason = check.rejected;
        mirrored += check.mirrored || view.mirrored;
        mixed += check.rejected.rfind("grid orientation mix", 0) == 0;
      }
      if (usable == 0 && out_.reason.empty())
        NoUsableView(c, mirrored, mixed, offered, last_reason);
    }
    return out_.reason.empty();
  }

  // Why a camera has no view that can be used: the most specific cause that was seen.
  void NoUsableView(int camera, int mirrored, int mixed, int offered,
                    const std::string& last_reason) {
    const std::string& name = problem_.cameras[camera].name;
    if (mirrored > 0) {
      Fail(CalibrationStatus::kInconsistent,
           fmt::format("camera '{}': its pictures are mirrored ({} of them show the board as from "
                       "behind). No camera sees like that: turn mirroring off in the camera or the "
                       "recording program, or flip the pictures",
                       name, mirrored));
    } else if (mixed > 0) {
      Fail(CalibrationStatus::kInconsistent, fmt::format("camera '{}': {}", name, last_reason));
    } else if (offered > 0) {
      Fail(CalibrationStatus::kInconsistent,
           fmt::format("camera '{}': none of its {} views can be used; the last one because {}",
                       name, offered, last_reason));
    } else {
      Fail(CalibrationStatus::kNoData,
           fmt::format("camera '{}': the board was found in none of its {} pictures", name,
                       n_shots_));
    }
  }

  // Lens model, free parameters and priors of every camera.
  void SetUpBundle() {
    Bundle& bundle = out_.bundle;
    for (int c = 0; c < n_cameras_; ++c) {
      const CameraSetup& setup = problem_.cameras[c];
      bundle.model.push_back(setup.model);
      bundle.leader.push_back(setup.shares_intrinsics_with >= 0 ? setup.shares_intrinsics_with : c);
      std::vector<char> free;
      for (const std::string& name : IntrinsicNames(setup.model))
        free.push_back(std::find(setup.fixed.begin(), setup.fixed.end(), name) ==
                       setup.fixed.end());
      bundle.free.push_back(free);
      bundle.priors.push_back(bundle.leader[c] == c ? setup.priors
                                                    : std::vector<CameraSetup::Prior>{});
    }
    bundle.intrinsics.resize(n_cameras_);
  }

  // Each camera by itself, or with those that share its lens.
  bool StartCameras() {
    SetUpBundle();
    for (int s = 0; s < n_shots_; ++s)
      for (int c = 0; c < n_cameras_; ++c)
        if (out_.checks[s][c].rejected.empty())
          views_[s][c] = MakeView(problem_.board, problem_.shots[s].views[c]);
    for (int lead = 0; lead < n_cameras_; ++lead)
      if (out_.bundle.leader[lead] == lead && !StartLens(lead)) return false;
    return true;
  }

  bool StartLens(int lead) {
    Bundle& bundle = out_.bundle;
    std::vector<const BundleView*> mine;
    std::vector<std::pair<int, int>> where;
    for (int c = lead; c < n_cameras_; ++c)
      for (int s = 0; s < n_shots_ && bundle.leader[c] == lead; ++s)
        if (!views_[s][c].empty()) {
          mine.push_back(&views_[s][c]);
          where.emplace_back(s, c);
        }
    const MonoStart start = StartCamera(problem_.cameras[lead], mine, guesses_[lead]);
    if (!start.ok)
      return Fail(CalibrationStatus::kNotConverged,
                  fmt::format("camera '{}': no lens was found that puts the board in front of it",
                              problem_.cameras[lead].name));
    for (int c = lead; c < n_cameras_; ++c)
      if (bundle.leader[c] == lead) bundle.intrinsics[c] = start.intrinsics;
    for (std::size_t i = 0; i < where.size(); ++i) {
      const auto [s, c] = where[i];
      mono_sigma_[c] = std::max(start.sigma, 1e-6);
      mono_inliers_[s][c] = start.inliers[i];
      if (start.poses[i])
        X_CG_[s][c] = ToIsometry(start.poses[i]->X_CG);
      else
        out_.checks[s][c].rejected = "no pose of the board in front of the camera fits this view";
    }
    return true;
  }

  // Poses of the cameras relative to the first, from the shots they share.
  bool ChainRig() {
    const RigStart rig = ChainCameras(problem_, X_CG_, options_.fix_order);
    if (rig.mirrored)
      return Fail(
          CalibrationStatus::kInconsistent,
          fmt::format("the pictures of '{}' or of '{}' are mirrored: what the two saw fits "
                      "together once one of them is turned over. No camera sees like that: turn "
                      "mirroring off in that camera or its recording program, or flip its pictures",
                      problem_.cameras[rig.mirrored->first].name,
                      problem_.cameras[rig.mirrored->second].name));
    TakeChecks(rig);
    for (int c = 0; c < n_cameras_; ++c)
      if (!PlaceCamera(rig, c)) return false;
    NoteChain(rig);
    return true;
  }

  void TakeChecks(const RigStart& rig) {
    for (int s = 0; s < n_shots_; ++s)
      for (int c = 0; c < n_cameras_; ++c) {
        ViewCheck& check = out_.checks[s][c];
        const ViewCheck& found = rig.checks[s][c];
        if (!found.note.empty()) {
          check.note += (check.note.empty() ? "" : "; ") + found.note;
          views_[s][c] = MakeView(problem_.board, problem_.shots[s].views[c]);
          mono_inliers_[s][c].clear();  // they follow the numbers before the turn
        }
        if (check.rejected.empty()) check.rejected = found.rejected;
      }
  }

  bool PlaceCamera(const RigStart& rig, int c) {
    if (!rig.X_WC[c])
      return Fail(
          CalibrationStatus::kUndetermined,
          fmt::format(
              "camera '{}' never sees the board in the same shot as a camera linked to '{}': its "
              "pose in the rig cannot be determined. Film shots in which both see the board",
              problem_.cameras[c].name, problem_.cameras[0].name));
    int left = 0;
    for (int s = 0; s < n_shots_; ++s) left += X_CG_[s][c].has_value();
    if (left == 0) {
      std::string why = "the cameras do not agree on where the board was";
      for (int s = 0; s < n_shots_; ++s)
        if (!rig.checks[s][c].rejected.empty()) why = rig.checks[s][c].rejected;
      return Fail(CalibrationStatus::kInconsistent,
                  fmt::format("camera '{}': no shot is left: {}", problem_.cameras[c].name, why));
    }
    X_WC_.push_back(*rig.X_WC[c]);
    out_.bundle.X_CW.push_back(FromIsometry(rig.X_WC[c]->inverse()));
    return true;
  }

  void NoteChain(const RigStart& rig) {
    if (rig.turned > 0)
      out_.notes.push_back(
          fmt::format("grid orientation mix: in {} shots the points of one camera were listed from "
                      "another corner and were turned",
                      rig.turned));
    if (rig.swapped > 0)
      out_.notes.push_back(
          fmt::format("swapped cameras: in {} shots the pictures of two cameras are swapped; they "
                      "were left out",
                      rig.swapped));
    if (rig.disagreeing > rig.swapped)
      out_.notes.push_back(fmt::format(
          "in {} shots the cameras do not agree on where the board was; those views were left out",
          rig.disagreeing - rig.swapped));
  }

  // Start pose of the board in each shot, from the camera nearest to it.
  void PlaceBoards() {
    Bundle& bundle = out_.bundle;
    for (int s = 0; s < n_shots_; ++s) {
      bundle.X_WG.push_back(Vector6d::Zero());
      double least = std::numeric_limits<double>::infinity();
      for (int c = 0; c < n_cameras_; ++c) {
        if (!X_CG_[s][c]) continue;
        views_[s][c].used = true;
        const Eigen::Isometry3d X_WG = X_WC_[c] * *X_CG_[s][c];
        const double distance = X_CG_[s][c]->translation().norm();
        if (distance < least) least = distance, bundle.X_WG.back() = FromIsometry(X_WG);
      }
    }
    bundle.views = std::move(views_);
    bundle.free_warp = false;
    bundle.sigma.assign(n_cameras_, 1);
    int used_views = 0;
    for (const auto& shot : bundle.views)
      for (const BundleView& view : shot) used_views += view.used;
    fit_warp_ = options_.warp && used_views > 2;
  }

  // Outliers of each camera by itself are left out at first; the rest is then nearly least squares.
  // Where the cameras together fit much worse than each alone, the cause is another one and all
  // points return, under a robust loss.
  void SolveRobustly() {
    Bundle& bundle = out_.bundle;
    bundle.free_warp = fit_warp_;
    bundle.sigma = mono_sigma_;
    for (int s = 0; s < n_shots_; ++s)
      for (int c = 0; c < n_cameras_; ++c) {
        BundleView& view = bundle.views[s][c];
        if (view.used && mono_inliers_[s][c].size() == view.active.size())
          view.active = mono_inliers_[s][c];
      }
    const auto start_poses = bundle.X_WG;
    const auto start_places = bundle.X_CW;
    const auto start_intrinsics = bundle.intrinsics;
    out_.iterations += Minimize(bundle, 0, 30, 1e-6).iterations;
    const auto together = RobustSigmas(bundle);
    bool worse = false;
    for (int c = 0; c < n_cameras_; ++c) worse |= !(together[c] < 1.5 * mono_sigma_[c]);
    if (!worse) return;
    bundle.X_WG = start_poses;
    bundle.X_CW = start_places;
    bundle.intrinsics = start_intrinsics;
    bundle.warp.setZero();
    for (auto& shot : bundle.views)
      for (BundleView& view : shot) std::fill(view.active.begin(), view.active.end(), 1);
    for (int round = 0; round < 4; ++round) {
      const auto before = bundle.sigma;
      bundle.sigma = RobustSigmas(bundle);
      if (round > 1 && LargestChange(bundle.sigma, before) < 0.1) break;
      bundle.free_warp = fit_warp_ && round > 0;
      out_.iterations += Minimize(bundle, 3, options_.max_iterations, 1e-4).iterations;
    }
  }

  static double LargestChange(const std::vector<double>& now, const std::vector<double>& before) {
    double change = 0;
    for (std::size_t c = 0; c < now.size(); ++c)
      change = std::max(change, std::abs(now[c] / before[c] - 1));
    return change;
  }

  // Least squares on the points within the limit, until points and weights stay as they are.
  void SolveLeastSquares() {
    Bundle& bundle = out_.bundle;
    bundle.free_warp = fit_warp_;
    BundleSummary summary;
    std::vector<double> threshold_sigma = bundle.sigma;
    for (int round = 0; round < 8; ++round) {
      if (options_.robust && round < 3) threshold_sigma = RobustSigmas(bundle);
      const bool changed = options_.robust && SelectPoints(threshold_sigma);
      if (round > 0 && !changed) {
        const std::optional<double> change = UpdateSigmas();
        if (!change || (*change < 1e-4 && round > 1)) break;
      }
      // Points and weights change once more after the first round: full accuracy waits until then.
      summary = Minimize(bundle, 0, options_.max_iterations, round == 0 ? 1e-6 : 1e-13);
      out_.iterations += summary.iterations;
    }
    out_.cost = 0;
    ForEachPoint(bundle, [&](int, double length, bool active) {
      ++(active ? out_.n_points : out_.n_outliers);
      if (active) out_.cost += 0.5 * length * length;
    });
    out_.converged = summary.converged;
    out_.ok = std::isfinite(out_.cost);
    out_.status = CalibrationStatus::kSolved;
  }

  // Points within the limit are in the solve, views that keep too few of theirs leave. Whether
  // anything changed.
  bool SelectPoints(const std::vector<double>& sigma) {
    bool changed = false;
    for (int s = 0; s < n_shots_; ++s)
      for (int c = 0; c < n_cameras_; ++c) {
        BundleView& view = out_.bundle.views[s][c];
        if (!view.used) continue;
        const auto residuals = Residuals(out_.bundle, s, c);
        int left = 0;
        for (std::size_t i = 0; i < residuals.size(); ++i) {
          const char active = Length(residuals[i], view.sd[i]) <= options_.outlier_sigma * sigma[c];
          changed |= active != view.active[i];
          view.active[i] = active;
          left += active;
        }
        if (left >= 4 && !(left < kMostlyOutliers * static_cast<double>(residuals.size())))
          continue;
        view.used = false;
        changed = true;
        out_.checks[s][c].rejected = fmt::format(
            "{} of its {} points do not fit the rest: blurred, moved, turned upside down or "
            "wrongly found",
            residuals.size() - left, residuals.size());
      }
    return changed;
  }

  // Noise of the cameras from the residuals of the present fit. Its largest relative change, of one
  // camera against the first; of the noise itself where a prior is weighed against it. Nothing
  // where the fit is not determined.
  std::optional<double> UpdateSigmas() {
    Bundle& bundle = out_.bundle;
    const auto covariance = Covariance(bundle, ToRig(bundle, problem_));
    if (!covariance.determined) return std::nullopt;
    const auto before = bundle.sigma;
    bundle.sigma = UnbiasedSigmas(bundle, covariance.leverage, !options_.robust);
    double change = 0;
    for (int c = 1; c < n_cameras_; ++c)
      change = std::max(
          change, std::abs((bundle.sigma[c] / before[c]) / (bundle.sigma[0] / before[0]) - 1));
    for (int c = 0; c < n_cameras_; ++c)
      if (!bundle.priors[c].empty())
        change = std::max(change, std::abs(bundle.sigma[c] / before[c] - 1));
    return change;
  }

  CalibrationProblem problem_;
  const CalibrationOptions& options_;
  const std::vector<std::optional<Eigen::VectorXd>>& guesses_;
  const int n_cameras_, n_shots_;
  RigSolution out_;
  std::vector<std::vector<BundleView>> views_;  // [shot][camera], until the bundle takes them
  // noise and inliers of each camera by itself
  std::vector<double> mono_sigma_;
  std::vector<std::vector<std::vector<char>>> mono_inliers_;
  MonoPoses X_CG_;
  std::vector<Eigen::Isometry3d> X_WC_;
  bool fit_warp_ = false;
};

}  // namespace

std::vector<double> UnbiasedSigmas(const Bundle& bundle, const std::vector<double>& leverage,
                                   bool pooled) {
  std::vector<double> squares(bundle.cameras(), 0), rows(bundle.cameras(), 0);
  ForEachPoint(bundle, [&](int camera, double length, bool active) {
    if (!active) return;
    squares[camera] += length * length;
    rows[camera] += 2;
  });
  std::vector<double> sigma(bundle.cameras(), 1);
  double all_squares = 0, all_dof = 0;
  for (int c = 0; c < bundle.cameras(); ++c)
    all_squares += squares[c], all_dof += rows[c] - leverage[c];
  for (int c = 0; c < bundle.cameras(); ++c) {
    const double dof = rows[c] - leverage[c];
    const double square =
        pooled || dof < 1 ? all_squares / std::max(1.0, all_dof) : squares[c] / dof;
    sigma[c] = std::max(std::sqrt(square), 1e-9);
  }
  return sigma;
}

RigSolution SolveRig(CalibrationProblem problem, const CalibrationOptions& options,
                     const std::vector<std::optional<Eigen::VectorXd>>& guesses) {
  return RigSolver(std::move(problem), options, guesses).Solve();
}

}  // namespace impactlab::calibration
