#include "calibration/solve/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "calibration/solve/advice.h"
#include "calibration/solve/detail/problem_check.h"
#include "calibration/solve/detail/rig_solution.h"
#include "calibration/solve/geometry_check.h"
#include "data/statistics/order_statistic.h"

namespace impactlab {
namespace {

using calibration::Bundle;
using calibration::BundleView;
using calibration::CheckSetup;
using calibration::Covariance;
using calibration::Residuals;
using calibration::RigSolution;
using calibration::SolveRig;
using calibration::ToIsometry;
using calibration::ToRig;
using calibration::UnbiasedSigmas;

constexpr double kMaxFocalSd = 0.05;    // relative; above it the lens is not determined
constexpr double kMaxCentreSd = 0.15;   // of the image size
constexpr double kMaxPositionSd = 0.2;  // of a camera, of the distance to the boards

std::string ViewName(const CalibrationProblem& problem, int shot, int camera) {
  const BoardView& view = problem.shots[shot].views[camera];
  return view.image.empty()
             ? fmt::format("{} of {}", problem.shots[shot].name, problem.cameras[camera].name)
             : view.image;
}

// Why the shots do not determine the cameras.
std::string WhyUndetermined(const CalibrationProblem& problem, const CalibrationResult& result,
                            const std::string& symptom) {
  const GeometryCheck geometry = CheckGeometry(problem, PosesInCameras(result));
  std::string causes;
  for (const RigFinding& finding : geometry.findings) {
    if (finding.level != RigVerdict::kRefused) continue;
    const std::string cause =
        finding.code == "few-shots"         ? "too few pictures of the board"
        : finding.code == "coverage"        ? "the board covers too little of the picture"
        : finding.code == "parallel-boards" ? "the boards are all parallel to each other"
        : finding.code == "single-depth"    ? "all boards are at one distance"
                                            : finding.text;
    const std::string whose =
        problem.cameras.size() > 1
            ? fmt::format(" (camera '{}')", problem.cameras[finding.camera].name)
            : "";
    causes += causes.empty() ? ". Likely cause: " : "; ";
    causes += cause;
    causes += whose;
  }
  return symptom + causes;
}

// Parameters that the views do not determine, named for the user. `richer`: a lens model has more
// of them than the views determine.
std::string OpenParameters(const CalibrationProblem& problem, const std::vector<std::string>& weak,
                           bool* richer) {
  std::vector<std::string> lenses, others;
  for (const CameraSetup& camera : problem.cameras) {
    std::vector<std::string> coefficients, rest;
    for (const std::string& name : weak) {
      if (name.rfind(camera.name + ".", 0) != 0) continue;
      const std::string parameter = name.substr(camera.name.size() + 1);
      const bool coefficient =
          parameter.size() == 2 && (parameter[0] == 'k' || parameter[0] == 'p');
      const std::string words = parameter[0] == 'f'   ? "the focal length"
                                : parameter[0] == 'c' ? "the principal point"
                                                      : "the pose";
      if (coefficient) {
        coefficients.push_back(parameter);
      } else if (std::find(rest.begin(), rest.end(), words) == rest.end()) {
        rest.push_back(words);
      }
    }
    if (!coefficients.empty())
      lenses.push_back(
          fmt::format("the lens model '{}' of camera '{}' has more parameters than these views "
                      "determine ({} undetermined)",
                      ToString(camera.model), camera.name, fmt::join(coefficients, ", ")));
    for (const std::string& words : rest)
      others.push_back(fmt::format("{} of camera '{}'", words, camera.name));
  }
  *richer = !lenses.empty();
  if (lenses.empty() && others.empty()) return "the views do not determine the warp of the board";
  std::string text = fmt::format("{}", fmt::join(lenses, "; "));
  if (!others.empty())
    text += fmt::format("{}the views do not determine {}", text.empty() ? "" : "; ",
                        fmt::join(others, ", "));
  return text;
}

std::vector<Eigen::VectorXd> Disturbed(const Bundle& bundle, const CalibrationProblem& problem,
                                       std::mt19937_64& random) {
  std::vector<Eigen::VectorXd> starts = bundle.intrinsics;
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int c = 0; c < bundle.cameras(); ++c) {
    Eigen::VectorXd& x = starts[c];
    const double scale = std::exp(0.5 * unit(random));
    const double size[2] = {static_cast<double>(problem.cameras[c].width),
                            static_cast<double>(problem.cameras[c].height)};
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

// Poses, residuals and the field each camera was measured over; the number of shots in the solve.
int FillShots(const RigSolution& attempt, CalibrationResult* result) {
  const Bundle& bundle = attempt.bundle;
  int used_shots = 0;
  for (int s = 0; s < bundle.shots(); ++s) {
    ShotResult& shot = result->shots[s];
    shot.used = bundle.ShotUsed(s);
    used_shots += shot.used;
    shot.X_WG = ToIsometry(bundle.X_WG[s]);
    for (int c = 0; c < bundle.cameras(); ++c) {
      const BundleView& view = bundle.views[s][c];
      ViewResult& out = shot.views[c];
      if (view.empty() || (!view.used && out.rejected.empty())) continue;
      const auto residuals = Residuals(bundle, s, c);
      const Eigen::Isometry3d X_CG = ToIsometry(bundle.X_CW[c]) * shot.X_WG;
      double squares = 0;
      int n = 0;
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        if (!residuals[i].allFinite()) continue;
        out.points.push_back(
            {view.id[i], view.q[i], residuals[i], view.sd[i], !view.active[i] || !view.used});
        if (!view.active[i] || !view.used) continue;
        squares += residuals[i].squaredNorm();
        ++n;
        const Eigen::Vector3d p_C = X_CG * view.p_G[i];
        Camera& camera = result->rig.cameras[c].camera;
        camera.calibrated_angle =
            std::max(camera.calibrated_angle, std::atan2(p_C.head<2>().norm(), p_C.z()));
      }
      out.rms = n > 0 ? std::sqrt(squares / n) : 0;
    }
  }
  return used_shots;
}

// What is too uncertain to be of use; empty: nothing.
std::string TooUncertain(const Bundle& bundle, const CalibrationResult& result) {
  for (int c = 0; c < bundle.cameras(); ++c) {
    const RigCamera& camera = result.rig.cameras[c];
    const int first = FirstParameter(result.rig, c), n = IntrinsicCount(camera.camera.model);
    const auto sd = [&](int j) {
      return std::sqrt(std::max(0.0, result.cov_common(first + j, first + j)));
    };
    const double focal =
        std::max(sd(0) / std::abs(camera.camera.fx), sd(1) / std::abs(camera.camera.fy));
    if (!(focal < kMaxFocalSd))
      return fmt::format("camera '{}': the focal length is uncertain by {:.0f} %", camera.name,
                         100 * focal);
    const double centre = std::max(sd(2) / camera.camera.width, sd(3) / camera.camera.height);
    if (!(centre < kMaxCentreSd))
      return fmt::format("camera '{}': the principal point is uncertain by {:.0f} % of the picture",
                         camera.name, 100 * centre);
    double nearest = std::numeric_limits<double>::infinity();
    for (int s = 0; s < bundle.shots(); ++s)
      if (bundle.views[s][c].used)
        nearest =
            std::min(nearest, (camera.X_WC.inverse() * result.shots[s].X_WG.translation()).norm());
    const double position = c == 0 ? 0 : std::max({sd(n + 3), sd(n + 4), sd(n + 5)});
    if (!(position < kMaxPositionSd * nearest))
      return fmt::format("camera '{}': its position is uncertain by {:.3g} m", camera.name,
                         position);
  }
  return {};
}

// Pixels that are not square, and views far above the noise of their camera.
void NoteUnusual(const CalibrationProblem& problem, CalibrationResult* result) {
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    const Camera& camera = result->rig.cameras[c].camera;
    const double aspect = camera.fx / camera.fy;
    if (std::abs(aspect - 1) > 0.02)
      result->notes.push_back(
          fmt::format("camera '{}': its pixels are not square (width to height 1 : {:.4f}); a "
                      "stretched video, or one of another sample aspect ratio, looks like this",
                      result->rig.cameras[c].name, aspect));
  }
  // Views far above their camera's level are named, outliers included: a shot whose corners were
  // found badly loses them one by one.
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    std::vector<std::pair<double, std::size_t>> levels;  // rms of all points, shot
    for (std::size_t s = 0; s < result->shots.size(); ++s) {
      const auto& points = result->shots[s].views[c].points;
      if (points.empty() || !result->shots[s].views[c].rejected.empty()) continue;
      double squares = 0;
      for (const PointResidual& point : points) squares += point.residual.squaredNorm();
      levels.emplace_back(std::sqrt(squares / static_cast<double>(points.size())), s);
    }
    if (levels.size() < 4) continue;
    const double typical = UpperMedian(levels).first;
    for (const auto& [level, s] : levels) {
      const auto& points = result->shots[s].views[c].points;
      const auto out = std::count_if(points.begin(), points.end(),
                                     [](const PointResidual& p) { return p.outlier; });
      if (!(level > 2.5 * typical) || (out < 3 && result->shots[s].views[c].rms < 2.5 * typical))
        continue;
      result->notes.push_back(fmt::format(
          "{} stands out: {} of its {} points were left out, residuals of all {:.2g} px rms where "
          "{:.2g} is usual",
          ViewName(problem, static_cast<int>(s), c), out, points.size(), level, typical));
    }
  }
}

bool SameOptimum(const RigSolution& a, const RigSolution& b) {
  return a.n_points == b.n_points && std::abs(a.cost - b.cost) <= 1e-6 * std::min(a.cost, b.cost);
}

// More points kept come first, then a lower cost.
bool Better(const RigSolution& a, const RigSolution& b) {
  if (!a.ok || !b.ok) return a.ok && !b.ok;
  if (a.n_points != b.n_points) return a.n_points > b.n_points;
  return a.cost < b.cost;
}

// The best of the solves from the closed form, from given cameras and from disturbed starts.
RigSolution BestSolution(const CalibrationProblem& given, const CalibrationOptions& options,
                         CalibrationResult* result) {
  const std::vector<std::optional<Eigen::VectorXd>> none(given.cameras.size());
  RigSolution best = SolveRig(given, options, none);
  std::vector<std::vector<std::optional<Eigen::VectorXd>>> more;
  if (std::any_of(given.cameras.begin(), given.cameras.end(),
                  [](const CameraSetup& c) { return c.start.has_value(); })) {
    auto guesses = none;
    for (std::size_t c = 0; c < given.cameras.size(); ++c)
      if (given.cameras[c].start) guesses[c] = Intrinsics(*given.cameras[c].start);
    more.push_back(guesses);
  }
  std::mt19937_64 random(options.seed);
  for (int k = 0; k < options.random_starts && best.ok; ++k) {
    const auto starts = Disturbed(best.bundle, given, random);
    more.emplace_back(starts.begin(), starts.end());
  }
  std::vector<RigSolution> others;
  others.reserve(more.size());
  for (const auto& guesses : more) others.push_back(SolveRig(given, options, guesses));
  for (RigSolution& other : others)
    if (Better(other, best) && !SameOptimum(other, best)) std::swap(best, other);
  result->starts = 1 + static_cast<int>(others.size());
  for (const RigSolution& other : others)
    result->starts_agreeing += other.ok && SameOptimum(other, best);
  return best;
}

// What is known whether the solve succeeded or not.
void FillVerdicts(const RigSolution& best, CalibrationResult* result) {
  result->status = best.status;
  result->reason = best.reason;
  result->notes = best.notes;
  result->iterations = best.iterations;
  for (const auto& checks : best.checks) {
    ShotResult shot;
    for (const auto& check : checks) {
      ViewResult& view = shot.views.emplace_back();
      view.rejected = check.rejected;
      view.note = check.note;
    }
    result->shots.push_back(shot);
  }
  if (!best.ok && result->status == CalibrationStatus::kSolved) {
    result->status = CalibrationStatus::kNotConverged;
    result->reason = "the solve ended without finite residuals";
  }
}

// Rig, residuals and degrees of freedom of the solution; the number of its unknowns.
int FillFit(const RigSolution& best, CalibrationResult* result) {
  const Bundle& bundle = best.bundle;
  result->cost = best.cost;
  result->n_points = best.n_points;
  result->n_outliers = best.n_outliers;
  result->rig = ToRig(bundle, best.problem);
  result->warp = bundle.warp;
  const int used_shots = FillShots(best, result);
  int unknowns = 6 * used_shots + (bundle.free_warp ? 2 : 0);
  for (int c = 0; c < bundle.cameras(); ++c) {
    unknowns += c > 0 ? 6 : 0;
    if (bundle.leader[c] == c)
      unknowns += static_cast<int>(std::count(bundle.free[c].begin(), bundle.free[c].end(), 1));
  }
  result->dof = 2 * result->n_points - unknowns;
  if (result->starts_agreeing < result->starts)
    result->notes.push_back(
        fmt::format("{} of {} starts ended at another optimum; the best one is given",
                    result->starts - result->starts_agreeing, result->starts));
  return unknowns;
}

// Noise of the cameras and covariance of everything. The symptom of a fit that the views do not
// determine; empty when they do.
std::string FillCovariance(const RigSolution& best, const CalibrationOptions& options,
                           CalibrationResult* result, bool* richer) {
  Bundle scaled = best.bundle;
  {
    const auto unit = Covariance(scaled, result->rig);
    if (!unit.determined) return OpenParameters(best.problem, unit.weak_parameters, richer);
    scaled.sigma = UnbiasedSigmas(best.bundle, unit.leverage, !options.robust);
  }
  const auto covariance = Covariance(scaled, result->rig);
  if (!covariance.determined)
    return OpenParameters(best.problem, covariance.weak_parameters, richer);
  result->sigma = scaled.sigma;
  // Exactly symmetric, as files require.
  result->cov_common = 0.5 * (covariance.common + covariance.common.transpose());
  const int n_rig = ParameterCount(result->rig);
  result->rig.covariance = result->cov_common.topLeftCorner(n_rig, n_rig);
  for (int s = 0; s < scaled.shots(); ++s) {
    result->shots[s].cov_given_common = covariance.given_common[s];
    result->shots[s].dpose_dcommon = covariance.dpose_dcommon[s];
  }
  return TooUncertain(best.bundle, *result);
}

void CalibrateInto(const CalibrationProblem& given, const CalibrationOptions& options,
                   CalibrationResult* result) {
  const RigSolution best = BestSolution(given, options, result);
  FillVerdicts(best, result);
  if (!best.ok) return;
  const int unknowns = FillFit(best, result);
  bool richer = false;
  const std::string symptom =
      result->dof < 1
          ? fmt::format("{} points cannot determine {} unknowns", result->n_points, unknowns)
          : FillCovariance(best, options, result, &richer);
  if (!symptom.empty()) {
    result->status = CalibrationStatus::kUndetermined;
    result->reason = WhyUndetermined(best.problem, *result, symptom);
    result->advice = richer ? calibration::kSimplerLens : calibration::kFilmMore;
    return;
  }
  for (const RigCamera& camera : result->rig.cameras) {
    if (const std::string fault = Fault(camera.camera); !fault.empty()) {
      result->status = CalibrationStatus::kInconsistent;
      result->reason = fmt::format(
          "camera '{}': {}. A simpler model, or views that reach the corners of the picture, would "
          "help",
          camera.name, fault);
      return;
    }
  }
  if (!best.converged) {
    result->status = CalibrationStatus::kNotConverged;
    result->reason =
        fmt::format("the solve did not converge within {} iterations", options.max_iterations);
  }
  NoteUnusual(best.problem, result);
}

}  // namespace

CalibrationResult Calibrate(const CalibrationProblem& given, const CalibrationOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  CheckSetup(given);
  CalibrationResult result;
  CalibrateInto(given, options, &result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace impactlab
