#include "calibration/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "calibration/bundle.h"
#include "calibration/certificate.h"
#include "calibration/order.h"
#include "calibration/start.h"
#include "data/error.h"

namespace impactlab {
namespace {

using internal::Bundle;
using internal::BundleView;
using internal::Vector6d;

constexpr double kMostlyOutliers = 0.5;  // share of inliers below which a whole view leaves
constexpr double kMaxFocalSd = 0.05;     // relative; above it the lens is not determined
constexpr double kMaxCentreSd = 0.15;    // of the image size
constexpr double kMaxPositionSd = 0.2;   // of a camera, of the distance to the boards

[[noreturn]] void Refuse(const CameraSetup& setup, const std::string& what) {
  throw ConfigError(fmt::format("camera '{}': {}", setup.name, what));
}

void CheckSetup(const CalibrationProblem& problem) {
  if (const std::string fault = Fault(problem.board); !fault.empty()) throw ConfigError("board: " + fault);
  if (problem.cameras.empty()) throw ConfigError("a calibration needs at least one camera");
  std::set<std::string> seen;
  for (std::size_t c = 0; c < problem.cameras.size(); ++c) {
    const CameraSetup& setup = problem.cameras[c];
    if (setup.name.empty()) throw ConfigError(fmt::format("camera {} has no name", c));
    if (!seen.insert(setup.name).second) Refuse(setup, "the name is used twice");
    if (setup.width < 16 || setup.height < 16 || setup.width > 65536 || setup.height > 65536)
      Refuse(setup, fmt::format("pictures of {} x {} px, allowed 16 to 65536", setup.width, setup.height));
    const auto names = IntrinsicNames(setup.model);
    const auto known = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    for (const std::string& name : setup.fixed)
      if (!known(name))
        Refuse(setup, fmt::format("fixed: {} is no parameter of the {} model ({})", name, ToString(setup.model), fmt::join(names, ", ")));
    for (const auto& prior : setup.priors) {
      if (!known(prior.parameter))
        Refuse(setup, fmt::format("prior: {} is no parameter of the {} model ({})", prior.parameter, ToString(setup.model),
                                  fmt::join(names, ", ")));
      if (!(prior.sd > 0) || !std::isfinite(prior.sd) || !std::isfinite(prior.mean))
        Refuse(setup, fmt::format("prior of {}: mean {} and sd {}; the sd must be above 0", prior.parameter, prior.mean, prior.sd));
    }
    if (setup.start && setup.start->model != setup.model)
      Refuse(setup, fmt::format("starts from a {} model, the model asked is {}", ToString(setup.start->model), ToString(setup.model)));
    if (setup.start && (setup.start->width != setup.width || setup.start->height != setup.height))
      Refuse(setup, fmt::format("starts from a camera of {} x {} px, the pictures are {} x {}", setup.start->width, setup.start->height,
                                setup.width, setup.height));
    if (setup.start && !Intrinsics(*setup.start).allFinite()) Refuse(setup, "starts from intrinsics that are not finite");
    const int shared = setup.shares_intrinsics_with;
    if (shared >= static_cast<int>(c)) Refuse(setup, "shares intrinsics with a camera that does not come before it");
    if (shared >= 0) {
      const CameraSetup& lead = problem.cameras[shared];
      if (lead.shares_intrinsics_with >= 0)
        Refuse(setup, fmt::format("shares intrinsics with '{}', which itself shares; name the first one", lead.name));
      if (lead.model != setup.model || lead.width != setup.width || lead.height != setup.height)
        Refuse(setup, fmt::format("shares intrinsics with '{}', which has another size or model", lead.name));
    }
  }
  for (const BoardShot& shot : problem.shots) {
    if (shot.views.size() != problem.cameras.size())
      throw ConfigError(fmt::format("shot '{}': {} views for {} cameras", shot.name, shot.views.size(), problem.cameras.size()));
    for (std::size_t c = 0; c < shot.views.size(); ++c) {
      int last = -1;
      for (const BoardPoint& point : shot.views[c].points) {
        if (point.id <= last || point.id >= PointCount(problem.board))
          throw ConfigError(fmt::format("shot '{}', camera '{}': point {} after {}; ids rise from 0 to {}", shot.name,
                                        problem.cameras[c].name, point.id, last, PointCount(problem.board) - 1));
        last = point.id;
        if (!point.q.allFinite() || !(point.sd > 0) || !std::isfinite(point.sd))
          throw ConfigError(fmt::format("shot '{}', camera '{}', point {}: position or sd is not a finite number", shot.name,
                                        problem.cameras[c].name, point.id));
      }
    }
  }
}

double Length(const Eigen::Vector2d& residual, double sd) {
  const double length = residual.norm() / sd;
  return length < 1e9 ? length : 1e9;
}

// One solve from start values to outlier-free least squares.
struct Attempt {
  bool ok = false;
  CalibrationStatus status = CalibrationStatus::kNoData;
  std::string reason;
  Bundle bundle;
  CalibrationProblem problem;  // views renumbered
  std::vector<std::vector<internal::ViewCheck>> checks;
  std::vector<std::string> notes;
  double cost = std::numeric_limits<double>::infinity();  // [px^2]
  int n_points = 0, n_outliers = 0, iterations = 0;
  bool converged = false;
};

double PlainCost(const Bundle& bundle, int* points = nullptr, int* outliers = nullptr) {
  double cost = 0;
  int n = 0, out = 0;
  for (int s = 0; s < bundle.shots(); ++s)
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      const auto residuals = internal::Residuals(bundle, s, c);
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        if (!view.active[i]) {
          ++out;
          continue;
        }
        ++n;
        const double length = Length(residuals[i], view.sd[i]);
        cost += 0.5 * length * length;
      }
    }
  if (points) *points = n;
  if (outliers) *outliers = out;
  return cost;
}

std::vector<double> RobustSigmas(const Bundle& bundle, bool pooled) {
  std::vector<std::vector<double>> lengths(bundle.cameras());
  for (int s = 0; s < bundle.shots(); ++s)
    for (int c = 0; c < bundle.cameras(); ++c) {
      if (!bundle.views[s][c].used) continue;
      const auto residuals = internal::Residuals(bundle, s, c);
      for (std::size_t i = 0; i < residuals.size(); ++i) lengths[pooled ? 0 : c].push_back(Length(residuals[i], bundle.views[s][c].sd[i]));
    }
  std::vector<double> sigma(bundle.cameras(), 1);
  for (int c = 0; c < bundle.cameras(); ++c) {
    const auto& mine = lengths[pooled ? 0 : c];
    if (!mine.empty()) sigma[c] = std::max(internal::RobustSigma(mine), 1e-6);
  }
  return sigma;
}

// Unbiased for least squares: what the fit has taken out is put back by the leverage of each camera's points.
std::vector<double> UnbiasedSigmas(const Bundle& bundle, const std::vector<double>& leverage, bool pooled) {
  std::vector<double> squares(bundle.cameras(), 0), rows(bundle.cameras(), 0);
  for (int s = 0; s < bundle.shots(); ++s)
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      if (!view.used) continue;
      const auto residuals = internal::Residuals(bundle, s, c);
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        if (!view.active[i]) continue;
        const double length = Length(residuals[i], view.sd[i]);
        squares[c] += length * length;
        rows[c] += 2;
      }
    }
  std::vector<double> sigma(bundle.cameras(), 1);
  double all_squares = 0, all_dof = 0;
  for (int c = 0; c < bundle.cameras(); ++c) all_squares += squares[c], all_dof += rows[c] - leverage[c];
  for (int c = 0; c < bundle.cameras(); ++c) {
    const double dof = rows[c] - leverage[c];
    const double square = pooled || dof < 1 ? all_squares / std::max(1.0, all_dof) : squares[c] / dof;
    sigma[c] = std::max(std::sqrt(square), 1e-9);
  }
  return sigma;
}

std::string ViewName(const CalibrationProblem& problem, int shot, int camera) {
  const BoardView& view = problem.shots[shot].views[camera];
  return view.image.empty() ? fmt::format("{} of {}", problem.shots[shot].name, problem.cameras[camera].name) : view.image;
}

Attempt Solve(CalibrationProblem problem, const CalibrationOptions& options, const std::vector<std::optional<Eigen::VectorXd>>& guesses) {
  Attempt attempt;
  const int n_cameras = static_cast<int>(problem.cameras.size()), n_shots = static_cast<int>(problem.shots.size());
  attempt.checks.assign(n_shots, std::vector<internal::ViewCheck>(n_cameras));
  std::vector<int> usable(n_cameras, 0), mirrored(n_cameras, 0), mixed(n_cameras, 0), offered(n_cameras, 0);
  std::vector<std::string> last_reason(n_cameras);
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c) {
      auto& check = attempt.checks[s][c];
      offered[c] += !problem.shots[s].views[c].points.empty();
      check = internal::CheckView(problem.board, problem.shots[s].views[c], options.fix_order);
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
      return fail(
          CalibrationStatus::kInconsistent,
          fmt::format("camera '{}': its pictures are mirrored ({} of them show the board as from behind). Turn mirroring off in the "
                      "camera or the recording program; a mirrored picture has no camera",
                      name, mirrored[c]));
    if (mixed[c] > 0) return fail(CalibrationStatus::kInconsistent, fmt::format("camera '{}': {}", name, last_reason[c]));
    if (offered[c] > 0)
      return fail(CalibrationStatus::kInconsistent,
                  fmt::format("camera '{}': none of its {} views can be used; the last one because {}", name, offered[c], last_reason[c]));
    return fail(CalibrationStatus::kNoData, fmt::format("camera '{}': the board was found in none of its {} pictures", name, n_shots));
  }

  // Each camera by itself.
  Bundle& bundle = attempt.bundle;
  for (int c = 0; c < n_cameras; ++c) {
    const CameraSetup& setup = problem.cameras[c];
    bundle.model.push_back(setup.model);
    bundle.leader.push_back(setup.shares_intrinsics_with >= 0 ? setup.shares_intrinsics_with : c);
    const auto names = IntrinsicNames(setup.model);
    std::vector<char> free;
    for (const std::string& name : names) free.push_back(std::find(setup.fixed.begin(), setup.fixed.end(), name) == setup.fixed.end());
    bundle.free.push_back(free);
    bundle.priors.push_back(bundle.leader[c] == c ? setup.priors : std::vector<CameraSetup::Prior>{});
  }
  std::vector<std::vector<BundleView>> views(n_shots, std::vector<BundleView>(n_cameras));
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c)
      if (attempt.checks[s][c].rejected.empty()) views[s][c] = internal::MakeView(problem.board, problem.shots[s].views[c]);
  bundle.intrinsics.resize(n_cameras);
  internal::MonoPoses X_CG(n_shots, std::vector<std::optional<Eigen::Isometry3d>>(n_cameras));
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
    const internal::MonoStart start = internal::StartCamera(problem.cameras[lead], mine, guesses[lead]);
    if (!start.ok)
      return fail(CalibrationStatus::kNotConverged,
                  fmt::format("camera '{}': no lens was found that puts the board in front of it", problem.cameras[lead].name));
    for (int c = lead; c < n_cameras; ++c)
      if (bundle.leader[c] == lead) bundle.intrinsics[c] = start.intrinsics;
    for (std::size_t i = 0; i < where.size(); ++i) {
      const auto [s, c] = where[i];
      if (start.poses[i]) {
        X_CG[s][c] = internal::ToIsometry(start.poses[i]->X_CG);
      } else {
        attempt.checks[s][c].rejected = "no pose of the board in front of the camera fits this view";
      }
    }
  }

  // Together.
  internal::RigStart rig = internal::ChainCameras(problem, X_CG, options.fix_order);
  for (int s = 0; s < n_shots; ++s)
    for (int c = 0; c < n_cameras; ++c) {
      auto& check = attempt.checks[s][c];
      const auto& found = rig.checks[s][c];
      if (!found.note.empty()) {
        check.note += (check.note.empty() ? "" : "; ") + found.note;
        views[s][c] = internal::MakeView(problem.board, problem.shots[s].views[c]);
      }
      if (check.rejected.empty()) check.rejected = found.rejected;
    }
  for (int c = 0; c < n_cameras; ++c) {
    if (!rig.X_WC[c])
      return fail(
          CalibrationStatus::kUndetermined,
          fmt::format("camera '{}' never sees the board in the same shot as a camera linked to '{}': where it stands cannot be told. "
                      "Film shots in which both see the board",
                      problem.cameras[c].name, problem.cameras[0].name));
    int left = 0;
    for (int s = 0; s < n_shots; ++s) left += X_CG[s][c].has_value();
    if (left == 0) {
      std::string why = "the cameras do not agree on where the board was";
      for (int s = 0; s < n_shots; ++s)
        if (!rig.checks[s][c].rejected.empty()) why = rig.checks[s][c].rejected;
      return fail(CalibrationStatus::kInconsistent, fmt::format("camera '{}': no shot is left: {}", problem.cameras[c].name, why));
    }
    bundle.X_CW.push_back(internal::FromIsometry(rig.X_WC[c]->inverse()));
  }
  if (rig.turned > 0)
    attempt.notes.push_back(fmt::format(
        "grid orientation mix: in {} shots the points of one camera were listed from another corner and were turned", rig.turned));
  if (rig.swapped > 0)
    attempt.notes.push_back(
        fmt::format("swapped cameras: in {} shots the pictures of two cameras are swapped; they were left out", rig.swapped));
  if (rig.disagreeing > rig.swapped)
    attempt.notes.push_back(fmt::format("in {} shots the cameras do not agree on where the board was; those views were left out",
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
      if (distance < least) least = distance, bundle.X_WG.back() = internal::FromIsometry(X_WG);
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
    for (int round = 0; round < 4; ++round) {
      const auto before = bundle.sigma;
      bundle.sigma = RobustSigmas(bundle, false);
      if (round > 1) {
        double change = 0;
        for (int c = 0; c < n_cameras; ++c) change = std::max(change, std::abs(bundle.sigma[c] / before[c] - 1));
        if (change < 0.1) break;
      }
      bundle.free_warp = options.warp && round > 0 && used_views > 2;
      attempt.iterations += internal::Minimize(bundle, 3, options.max_iterations, 1e-5).iterations;
    }
  }
  bundle.free_warp = options.warp && used_views > 2;
  internal::BundleSummary summary;
  std::vector<double> threshold_sigma = bundle.sigma;
  for (int round = 0; round < 8; ++round) {
    bool changed = false;
    if (options.robust) {
      if (round < 3) threshold_sigma = RobustSigmas(bundle, false);
      for (int s = 0; s < n_shots; ++s)
        for (int c = 0; c < n_cameras; ++c) {
          BundleView& view = bundle.views[s][c];
          if (!view.used) continue;
          const auto residuals = internal::Residuals(bundle, s, c);
          int left = 0;
          for (std::size_t i = 0; i < residuals.size(); ++i) {
            const char active = Length(residuals[i], view.sd[i]) <= options.outlier_sigma * threshold_sigma[c];
            changed |= active != view.active[i];
            view.active[i] = active;
            left += active;
          }
          if (left < 4 || left < kMostlyOutliers * static_cast<double>(residuals.size())) {
            view.used = false;
            changed = true;
            attempt.checks[s][c].rejected = fmt::format("{} of its {} points do not fit the rest: blurred, moved or wrongly found",
                                                        residuals.size() - left, residuals.size());
          }
        }
    }
    if (round > 0 && !changed) {
      // The relative noise of the cameras is the last thing to settle.
      const auto covariance = internal::Covariance(bundle, internal::ToRig(bundle, problem));
      if (!covariance.determined) break;
      const auto before = bundle.sigma;
      bundle.sigma = UnbiasedSigmas(bundle, covariance.leverage, pooled);
      double change = 0;
      for (int c = 1; c < n_cameras; ++c)
        change = std::max(change, std::abs((bundle.sigma[c] / before[c]) / (bundle.sigma[0] / before[0]) - 1));
      // A prior is weighed against the noise itself, not only against the other cameras.
      for (int c = 0; c < n_cameras; ++c)
        if (!bundle.priors[c].empty()) change = std::max(change, std::abs(bundle.sigma[c] / before[c] - 1));
      if (change < 1e-4) break;
    }
    summary = internal::Minimize(bundle, 0, options.max_iterations);
    attempt.iterations += summary.iterations;
  }
  attempt.problem = std::move(problem);
  attempt.cost = PlainCost(bundle, &attempt.n_points, &attempt.n_outliers);
  attempt.converged = summary.converged;
  attempt.ok = std::isfinite(attempt.cost);
  attempt.status = CalibrationStatus::kSolved;
  return attempt;
}

// What in the shots leaves the cameras undetermined, in words; the parameter itself where nothing general is found.
std::string WhyUndetermined(const CalibrationProblem& problem, const CalibrationResult& result, const std::string& symptom) {
  const GeometryCheck geometry = CheckGeometry(problem, PosesInCameras(result));
  std::string text, advice;
  for (const RigFinding& finding : geometry.findings) {
    if (finding.level != RigVerdict::kRefused) continue;
    text += (text.empty() ? "" : "; ") + finding.text;
    advice += (advice.empty() ? "" : " ") + finding.advice;
  }
  if (text.empty()) {
    text = symptom;
    advice = "Film more views of the board: tilted both ways, near and far, in all corners of the picture.";
  } else {
    text += " (" + symptom + ")";
  }
  return text + ". " + advice;
}

std::vector<Eigen::VectorXd> Disturbed(const Bundle& bundle, const CalibrationProblem& problem, std::mt19937_64& random) {
  std::vector<Eigen::VectorXd> starts = bundle.intrinsics;
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int c = 0; c < bundle.cameras(); ++c) {
    Eigen::VectorXd& x = starts[c];
    const double scale = std::exp(0.5 * unit(random));
    const double size[2] = {static_cast<double>(problem.cameras[c].width), static_cast<double>(problem.cameras[c].height)};
    for (int j = 0; j < x.size(); ++j) {
      const double draw = unit(random);
      if (!bundle.free[c][j]) continue;
      if (j < 2) x[j] *= scale;
      if (j == 2 || j == 3) x[j] = (0.5 + 0.15 * draw) * size[j - 2];
      if (j > 3) x[j] = 0.02 * draw;
    }
  }
  return starts;
}

}  // namespace

CalibrationResult Calibrate(const CalibrationProblem& given, const CalibrationOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  CheckSetup(given);
  const int n_cameras = static_cast<int>(given.cameras.size());
  std::vector<std::optional<Eigen::VectorXd>> none(n_cameras);
  Attempt best = Solve(given, options, none);
  CalibrationResult result;
  const auto same = [](const Attempt& a, const Attempt& b) {
    return a.n_points == b.n_points && std::abs(a.cost - b.cost) <= 1e-6 * std::min(a.cost, b.cost);
  };
  // Robust to the number of points left in: more points kept, then a lower cost.
  const auto better = [&](const Attempt& a, const Attempt& b) {
    if (!a.ok || !b.ok) return a.ok && !b.ok;
    if (a.n_points != b.n_points) return a.n_points > b.n_points;
    return a.cost < b.cost;
  };
  std::vector<std::vector<std::optional<Eigen::VectorXd>>> more;
  if (std::any_of(given.cameras.begin(), given.cameras.end(), [](const CameraSetup& c) { return c.start.has_value(); })) {
    auto guesses = none;
    for (int c = 0; c < n_cameras; ++c)
      if (given.cameras[c].start) guesses[c] = Intrinsics(*given.cameras[c].start);
    more.push_back(guesses);
  }
  std::mt19937_64 random(options.seed);
  for (int k = 0; k < options.random_starts && best.ok; ++k) {
    const auto starts = Disturbed(best.bundle, given, random);
    more.emplace_back(starts.begin(), starts.end());
  }
  std::vector<Attempt> others;
  for (const auto& guesses : more) others.push_back(Solve(given, options, guesses));
  for (Attempt& other : others)
    if (better(other, best) && !same(other, best)) std::swap(best, other);
  result.starts = 1 + static_cast<int>(others.size());
  for (const Attempt& other : others) result.starts_agreeing += other.ok && same(other, best);

  result.status = best.status;
  result.reason = best.reason;
  result.notes = best.notes;
  result.iterations = best.iterations;
  for (std::size_t s = 0; s < given.shots.size(); ++s) {
    ShotResult shot;
    shot.views.resize(n_cameras);
    for (int c = 0; c < n_cameras; ++c) {
      shot.views[c].rejected = best.checks[s][c].rejected;
      shot.views[c].note = best.checks[s][c].note;
    }
    result.shots.push_back(shot);
  }
  const auto finish = [&] {
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
  };
  if (!best.ok) {
    if (result.status == CalibrationStatus::kSolved) {
      result.status = CalibrationStatus::kNotConverged;
      result.reason = "the solve ended without finite residuals";
    }
    return finish();
  }
  const Bundle& bundle = best.bundle;
  result.cost = best.cost;
  result.n_points = best.n_points;
  result.n_outliers = best.n_outliers;
  result.rig = internal::ToRig(bundle, best.problem);
  result.warp = bundle.warp;
  int used_shots = 0;
  for (int s = 0; s < bundle.shots(); ++s) {
    ShotResult& shot = result.shots[s];
    shot.used = bundle.ShotUsed(s);
    used_shots += shot.used;
    shot.X_WG = internal::ToIsometry(bundle.X_WG[s]);
    for (int c = 0; c < n_cameras; ++c) {
      const BundleView& view = bundle.views[s][c];
      ViewResult& out = shot.views[c];
      if (view.empty() || (!view.used && out.rejected.empty())) continue;
      const auto residuals = internal::Residuals(bundle, s, c);
      const Eigen::Isometry3d X_CG = internal::ToIsometry(bundle.X_CW[c]) * shot.X_WG;
      double squares = 0;
      int n = 0;
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        if (!residuals[i].allFinite()) continue;
        out.points.push_back({view.id[i], view.q[i], residuals[i], view.sd[i], !view.active[i] || !view.used});
        if (!view.active[i] || !view.used) continue;
        squares += residuals[i].squaredNorm();
        ++n;
        const Eigen::Vector3d p_C = X_CG * view.p_G[i];
        Camera& camera = result.rig.cameras[c].camera;
        camera.calibrated_angle = std::max(camera.calibrated_angle, std::atan2(p_C.head<2>().norm(), p_C.z()));
      }
      out.rms = n > 0 ? std::sqrt(squares / n) : 0;
    }
  }
  int n_free = bundle.free_warp ? 2 : 0;
  for (int c = 0; c < n_cameras; ++c) {
    n_free += c > 0 ? 6 : 0;
    if (bundle.leader[c] == c) n_free += static_cast<int>(std::count(bundle.free[c].begin(), bundle.free[c].end(), 1));
  }
  result.dof = 2 * result.n_points - 6 * used_shots - n_free;

  if (result.starts_agreeing < result.starts)
    result.notes.push_back(fmt::format("{} of {} starts ended at another optimum; the best one is given",
                                       result.starts - result.starts_agreeing, result.starts));
  const auto undetermined = [&](const std::string& symptom) {
    result.status = CalibrationStatus::kUndetermined;
    result.reason = WhyUndetermined(best.problem, result, symptom);
    return finish();
  };
  if (result.dof < 1) return undetermined(fmt::format("{} points cannot determine {} unknowns", result.n_points, 6 * used_shots + n_free));
  Bundle scaled = bundle;
  {
    const auto unit = internal::Covariance(scaled, result.rig);
    if (!unit.determined) return undetermined(fmt::format("the views leave {} open", fmt::join(unit.weak_parameters, ", ")));
    scaled.sigma = UnbiasedSigmas(bundle, unit.leverage, !options.robust);
  }
  const auto covariance = internal::Covariance(scaled, result.rig);
  if (!covariance.determined) return undetermined("the views leave parameters open");
  result.sigma = scaled.sigma;
  result.cov_common = covariance.common;
  const int n_rig = ParameterCount(result.rig);
  result.rig.covariance = covariance.common.topLeftCorner(n_rig, n_rig);
  for (int s = 0; s < bundle.shots(); ++s) {
    result.shots[s].cov_given_common = covariance.given_common[s];
    result.shots[s].dpose_dcommon = covariance.dpose_dcommon[s];
  }
  for (int c = 0; c < n_cameras; ++c) {
    const RigCamera& camera = result.rig.cameras[c];
    const int first = FirstParameter(result.rig, c), n = IntrinsicCount(camera.camera.model);
    const auto sd = [&](int j) { return std::sqrt(std::max(0.0, covariance.common(first + j, first + j))); };
    const double focal = std::max(sd(0) / std::abs(camera.camera.fx), sd(1) / std::abs(camera.camera.fy));
    if (!(focal < kMaxFocalSd))
      return undetermined(fmt::format("camera '{}': the focal length is uncertain by {:.0f} %", camera.name, 100 * focal));
    const double centre = std::max(sd(2) / camera.camera.width, sd(3) / camera.camera.height);
    if (!(centre < kMaxCentreSd))
      return undetermined(
          fmt::format("camera '{}': the principal point is uncertain by {:.0f} % of the picture", camera.name, 100 * centre));
    double nearest = std::numeric_limits<double>::infinity();
    for (int s = 0; s < bundle.shots(); ++s)
      if (bundle.views[s][c].used) nearest = std::min(nearest, (camera.X_WC.inverse() * result.shots[s].X_WG.translation()).norm());
    const double position = c == 0 ? 0 : std::max({sd(n + 3), sd(n + 4), sd(n + 5)});
    if (!(position < kMaxPositionSd * nearest))
      return undetermined(fmt::format("camera '{}': its position is uncertain by {:.3g} m", camera.name, position));
    if (const std::string fault = Fault(camera.camera); !fault.empty()) {
      result.status = CalibrationStatus::kInconsistent;
      result.reason =
          fmt::format("camera '{}': {}. A simpler model, or views that reach the corners of the picture, would help", camera.name, fault);
      return finish();
    }
  }
  for (int c = 0; c < n_cameras; ++c) {
    const Camera& camera = result.rig.cameras[c].camera;
    const double aspect = camera.fx / camera.fy;
    if (std::abs(aspect - 1) > 0.02)
      result.notes.push_back(
          fmt::format("camera '{}': its pixels are not square (width to height 1 : {:.4f}); a stretched video, or one of another "
                      "sample aspect ratio, looks like this",
                      result.rig.cameras[c].name, aspect));
  }
  if (!best.converged) {
    result.status = CalibrationStatus::kNotConverged;
    result.reason = fmt::format("the solve did not settle within {} iterations", options.max_iterations);
  }
  // Views far above their camera's level are named even where no single point is beyond the limit.
  for (int c = 0; c < n_cameras; ++c) {
    std::vector<double> levels;
    for (const ShotResult& shot : result.shots)
      if (shot.views[c].rms > 0) levels.push_back(shot.views[c].rms);
    if (levels.size() < 4) continue;
    std::nth_element(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(levels.size() / 2), levels.end());
    const double typical = levels[levels.size() / 2];
    for (std::size_t s = 0; s < result.shots.size(); ++s)
      if (result.shots[s].views[c].rms > 2.5 * typical)
        result.notes.push_back(fmt::format("{} stands out: residuals of {:.2f} px rms where {:.2f} is usual for this camera",
                                           ViewName(best.problem, static_cast<int>(s), c), result.shots[s].views[c].rms, typical));
  }
  return finish();
}

}  // namespace impactlab
