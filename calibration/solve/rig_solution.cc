#include "calibration/solve/detail/rig_solution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  RigSolution attempt;
  const int n_cameras = static_cast<int>(problem.cameras.size()),
            n_shots = static_cast<int>(problem.shots.size());
  attempt.checks.assign(n_shots, std::vector<ViewCheck>(n_cameras));
  std::vector<int> usable(n_cameras, 0), mirrored(n_cameras, 0), mixed(n_cameras, 0),
      offered(n_cameras, 0);
  std::vector<std::string> last_reason(n_cameras);
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c) {
      auto& check = attempt.checks[s][c];
      offered[c] += !problem.shots[s].views[c].points.empty();
      check = CheckView(problem.board, problem.shots[s].views[c], options.fix_order);
      if (check.rejected.empty()) {
        ++usable[c];
      } else if (!problem.shots[s].views[c].points.empty()) {
        last_reason[c] = check.rejected;
      }
      mirrored[c] += check.mirrored || problem.shots[s].views[c].mirrored;
      mixed[c] += check.rejected.rfind("grid orientation mix", 0) == 0;
    }
  const auto fail = [&](CalibrationStatus status, const std::string& reason) {
    attempt.status = status;
    attempt.reason = reason;
    attempt.problem = problem;
    return attempt;
  };
  for (int c = 0; c < n_cameras; ++c) {
    if (usable[c] > 0) continue;
    const std::string& name = problem.cameras[c].name;
    if (mirrored[c] > 0)
      return fail(CalibrationStatus::kInconsistent,
                  fmt::format("camera '{}': its pictures are mirrored ({} of them show the board "
                              "as from behind). No camera sees like "
                              "that: turn mirroring off in the camera or the recording program, or "
                              "flip the pictures",
                              name, mirrored[c]));
    if (mixed[c] > 0)
      return fail(CalibrationStatus::kInconsistent,
                  fmt::format("camera '{}': {}", name, last_reason[c]));
    if (offered[c] > 0)
      return fail(
          CalibrationStatus::kInconsistent,
          fmt::format("camera '{}': none of its {} views can be used; the last one because {}",
                      name, offered[c], last_reason[c]));
    return fail(
        CalibrationStatus::kNoData,
        fmt::format("camera '{}': the board was found in none of its {} pictures", name, n_shots));
  }

  // Each camera by itself.
  Bundle& bundle = attempt.bundle;
  for (int c = 0; c < n_cameras; ++c) {
    const CameraSetup& setup = problem.cameras[c];
    bundle.model.push_back(setup.model);
    bundle.leader.push_back(setup.shares_intrinsics_with >= 0 ? setup.shares_intrinsics_with : c);
    const auto names = IntrinsicNames(setup.model);
    std::vector<char> free;
    for (const std::string& name : names)
      free.push_back(std::find(setup.fixed.begin(), setup.fixed.end(), name) == setup.fixed.end());
    bundle.free.push_back(free);
    bundle.priors.push_back(bundle.leader[c] == c ? setup.priors
                                                  : std::vector<CameraSetup::Prior>{});
  }
  std::vector<std::vector<BundleView>> views(n_shots, std::vector<BundleView>(n_cameras));
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c)
      if (attempt.checks[s][c].rejected.empty())
        views[s][c] = MakeView(problem.board, problem.shots[s].views[c]);
  bundle.intrinsics.resize(n_cameras);
  std::vector<double> mono_sigma(n_cameras, 1);
  std::vector<std::vector<std::vector<char>>> mono_inliers(
      n_shots, std::vector<std::vector<char>>(n_cameras));
  MonoPoses X_CG(n_shots, std::vector<std::optional<Eigen::Isometry3d>>(n_cameras));
  for (int lead = 0; lead < n_cameras; ++lead) {
    if (bundle.leader[lead] != lead) continue;
    std::vector<const BundleView*> mine;
    std::vector<std::pair<int, int>> where;
    for (int c = lead; c < n_cameras; ++c)
      for (int s = 0; s < n_shots && bundle.leader[c] == lead; ++s)
        if (!views[s][c].empty()) {
          mine.push_back(&views[s][c]);
          where.emplace_back(s, c);
        }
    const MonoStart start = StartCamera(problem.cameras[lead], mine, guesses[lead]);
    if (!start.ok)
      return fail(CalibrationStatus::kNotConverged,
                  fmt::format("camera '{}': no lens was found that puts the board in front of it",
                              problem.cameras[lead].name));
    for (int c = lead; c < n_cameras; ++c)
      if (bundle.leader[c] == lead) bundle.intrinsics[c] = start.intrinsics;
    for (std::size_t i = 0; i < where.size(); ++i) {
      const auto [s, c] = where[i];
      mono_sigma[c] = std::max(start.sigma, 1e-6);
      mono_inliers[s][c] = start.inliers[i];
      if (start.poses[i]) {
        X_CG[s][c] = ToIsometry(start.poses[i]->X_CG);
      } else {
        attempt.checks[s][c].rejected =
            "no pose of the board in front of the camera fits this view";
      }
    }
  }

  // Together.
  RigStart rig = ChainCameras(problem, X_CG, options.fix_order);
  if (rig.mirrored)
    return fail(CalibrationStatus::kInconsistent,
                fmt::format("the pictures of '{}' or of '{}' are mirrored: what the two saw fits "
                            "together once one of them is turned over. No "
                            "camera sees like that: turn mirroring off in that camera or its "
                            "recording program, or flip its pictures",
                            problem.cameras[rig.mirrored->first].name,
                            problem.cameras[rig.mirrored->second].name));
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c) {
      auto& check = attempt.checks[s][c];
      const auto& found = rig.checks[s][c];
      if (!found.note.empty()) {
        check.note += (check.note.empty() ? "" : "; ") + found.note;
        views[s][c] = MakeView(problem.board, problem.shots[s].views[c]);
        mono_inliers[s][c].clear();  // in the order of the old numbers
      }
      if (check.rejected.empty()) check.rejected = found.rejected;
    }
  for (int c = 0; c < n_cameras; ++c) {
    if (!rig.X_WC[c])
      return fail(CalibrationStatus::kUndetermined,
                  fmt::format("camera '{}' never sees the board in the same shot as a camera "
                              "linked to '{}': where it stands cannot be told. "
                              "Film shots in which both see the board",
                              problem.cameras[c].name, problem.cameras[0].name));
    int left = 0;
    for (int s = 0; s < n_shots; ++s) left += X_CG[s][c].has_value();
    if (left == 0) {
      std::string why = "the cameras do not agree on where the board was";
      for (int s = 0; s < n_shots; ++s)
        if (!rig.checks[s][c].rejected.empty()) why = rig.checks[s][c].rejected;
      return fail(CalibrationStatus::kInconsistent,
                  fmt::format("camera '{}': no shot is left: {}", problem.cameras[c].name, why));
    }
    bundle.X_CW.push_back(FromIsometry(rig.X_WC[c]->inverse()));
  }
  if (rig.turned > 0)
    attempt.notes.push_back(
        fmt::format("grid orientation mix: in {} shots the points of one camera were listed from "
                    "another corner and were turned",
                    rig.turned));
  if (rig.swapped > 0)
    attempt.notes.push_back(fmt::format(
        "swapped cameras: in {} shots the pictures of two cameras are swapped; they were left out",
        rig.swapped));
  if (rig.disagreeing > rig.swapped)
    attempt.notes.push_back(fmt::format(
        "in {} shots the cameras do not agree on where the board was; those views were left out",
        rig.disagreeing - rig.swapped));
  for (int s = 0; s < n_shots; ++s) {
    // The camera that fits best places the board.
    bundle.X_WG.push_back(Vector6d::Zero());
    double least = std::numeric_limits<double>::infinity();
    for (int c = 0; c < n_cameras; ++c) {
      if (!X_CG[s][c]) continue;
      views[s][c].used = true;
      const Eigen::Isometry3d X_WG = *rig.X_WC[c] * *X_CG[s][c];
      const double distance = X_CG[s][c]->translation().norm();
      if (distance < least) least = distance, bundle.X_WG.back() = FromIsometry(X_WG);
    }
  }
  bundle.views = std::move(views);
  bundle.free_warp = false;
  bundle.sigma.assign(n_cameras, 1);
  const bool pooled = !options.robust;

  int used_views = 0;
  for (const auto& shot : bundle.views)
    for (const BundleView& view : shot) used_views += view.used;
  if (options.robust) {
    // What each camera by itself found to be an outlier waits outside; then the rest is nearly
    // least squares. Where the cameras together fit much worse than each alone, something else is
    // wrong and the robust loss has to find it.
    bundle.free_warp = options.warp && used_views > 2;
    bundle.sigma = mono_sigma;
    for (int s = 0; s < n_shots; ++s)
      for (int c = 0; c < n_cameras; ++c) {
        BundleView& view = bundle.views[s][c];
        if (view.used && mono_inliers[s][c].size() == view.active.size())
          view.active = mono_inliers[s][c];
      }
    const auto start_poses = bundle.X_WG;
    const auto start_places = bundle.X_CW;
    const auto start_intrinsics = bundle.intrinsics;
    attempt.iterations += Minimize(bundle, 0, 30, 1e-6).iterations;
    const auto together = RobustSigmas(bundle);
    bool worse = false;
    for (int c = 0; c < n_cameras; ++c) worse |= !(together[c] < 1.5 * mono_sigma[c]);
    if (worse) {
      bundle.X_WG = start_poses;
      bundle.X_CW = start_places;
      bundle.intrinsics = start_intrinsics;
      bundle.warp.setZero();
      for (auto& shot : bundle.views)
        for (BundleView& view : shot) std::fill(view.active.begin(), view.active.end(), 1);
    }
    for (int round = 0; worse && round < 4; ++round) {
      const auto before = bundle.sigma;
      bundle.sigma = RobustSigmas(bundle);
      if (round > 1) {
        double change = 0;
        for (int c = 0; c < n_cameras; ++c)
          change = std::max(change, std::abs(bundle.sigma[c] / before[c] - 1));
        if (change < 0.1) break;
      }
      bundle.free_warp = options.warp && round > 0 && used_views > 2;
      attempt.iterations += Minimize(bundle, 3, options.max_iterations, 1e-4).iterations;
    }
  }
  bundle.free_warp = options.warp && used_views > 2;
  BundleSummary summary;
  std::vector<double> threshold_sigma = bundle.sigma;
  for (int round = 0; round < 8; ++round) {
    bool changed = false;
    if (options.robust) {
      if (round < 3) threshold_sigma = RobustSigmas(bundle);
      for (int s = 0; s < n_shots; ++s)
        for (int c = 0; c < n_cameras; ++c) {
          BundleView& view = bundle.views[s][c];
          if (!view.used) continue;
          const auto residuals = Residuals(bundle, s, c);
          int left = 0;
          for (std::size_t i = 0; i < residuals.size(); ++i) {
            const char active =
                Length(residuals[i], view.sd[i]) <= options.outlier_sigma * threshold_sigma[c];
            changed |= active != view.active[i];
            view.active[i] = active;
            left += active;
          }
          if (left < 4 || left < kMostlyOutliers * static_cast<double>(residuals.size())) {
            view.used = false;
            changed = true;
            attempt.checks[s][c].rejected = fmt::format(
                "{} of its {} points do not fit the rest: blurred, moved, turned upside down or "
                "wrongly found",
                residuals.size() - left, residuals.size());
          }
        }
    }
    if (round > 0 && !changed) {
      // The relative noise of the cameras is the last thing to settle.
      const auto covariance = Covariance(bundle, ToRig(bundle, problem));
      if (!covariance.determined) break;
      const auto before = bundle.sigma;
      bundle.sigma = UnbiasedSigmas(bundle, covariance.leverage, pooled);
      double change = 0;
      for (int c = 1; c < n_cameras; ++c)
        change = std::max(
            change, std::abs((bundle.sigma[c] / before[c]) / (bundle.sigma[0] / before[0]) - 1));
      // A prior is weighed against the noise itself, not only against the other cameras.
      for (int c = 0; c < n_cameras; ++c)
        if (!bundle.priors[c].empty())
          change = std::max(change, std::abs(bundle.sigma[c] / before[c] - 1));
      if (change < 1e-4 && round > 1) break;
    }
    // The set of points and the weights will change once more after the first round: no digits
    // before their time.
    summary = Minimize(bundle, 0, options.max_iterations, round == 0 ? 1e-6 : 1e-13);
    attempt.iterations += summary.iterations;
  }
  attempt.problem = std::move(problem);
  attempt.cost = 0;
  ForEachPoint(bundle, [&](int, double length, bool active) {
    ++(active ? attempt.n_points : attempt.n_outliers);
    if (active) attempt.cost += 0.5 * length * length;
  });
  attempt.converged = summary.converged;
  attempt.ok = std::isfinite(attempt.cost);
  attempt.status = CalibrationStatus::kSolved;
  return attempt;
}

}  // namespace impactlab::calibration
