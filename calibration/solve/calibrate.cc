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

// What in the shots leaves the cameras undetermined, in words.
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
    causes += (causes.empty() ? ". Likely cause: " : "; ") + cause + whose;
  }
  return symptom + causes;
}

// Parameters the views leave open, in the words of a user. `richer`: a lens model has more of them
// than the views can tell.
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
                                                      : "the place";
      if (coefficient) {
        coefficients.push_back(parameter);
      } else if (std::find(rest.begin(), rest.end(), words) == rest.end()) {
        rest.push_back(words);
      }
    }
    if (!coefficients.empty())
      lenses.push_back(fmt::format(
          "the lens model '{}' of camera '{}' is richer than these views can tell ({} stay{} open)",
          ToString(camera.model), camera.name, fmt::join(coefficients, ", "),
          coefficients.size() == 1 ? "s" : ""));
    for (const std::string& words : rest)
      others.push_back(fmt::format("{} of camera '{}'", words, camera.name));
  }
  *richer = !lenses.empty();
  if (lenses.empty() && others.empty()) return "the views cannot tell the bend of the board";
  std::string text = fmt::format("{}", fmt::join(lenses, "; "));
  if (!others.empty())
    text += fmt::format("{}the views cannot tell {}", text.empty() ? "" : "; ",
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

// What the covariance leaves too open to be of use; empty: nothing.
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

void NoteOddities(const CalibrationProblem& problem, CalibrationResult* result) {
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    const Camera& camera = result->rig.cameras[c].camera;
    const double aspect = camera.fx / camera.fy;
    if (std::abs(aspect - 1) > 0.02)
      result->notes.push_back(
          fmt::format("camera '{}': its pixels are not square (width to height 1 : {:.4f}); a "
                      "stretched video, or one of another "
                      "sample aspect ratio, looks like this",
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
    auto sorted = levels;
    std::nth_element(sorted.begin(),
                     sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const double typical = sorted[sorted.size() / 2].first;
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

}  // namespace

CalibrationResult Calibrate(const CalibrationProblem& given, const CalibrationOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  CheckSetup(given);
  const int n_cameras = static_cast<int>(given.cameras.size());
  std::vector<std::optional<Eigen::VectorXd>> none(n_cameras);
  RigSolution best = SolveRig(given, options, none);
  CalibrationResult result;
  const auto same = [](const RigSolution& a, const RigSolution& b) {
    return a.n_points == b.n_points && std::abs(a.cost - b.cost) <= 1e-6 * std::min(a.cost, b.cost);
  };
  // Robust to the number of points left in: more points kept, then a lower cost.
  const auto better = [&](const RigSolution& a, const RigSolution& b) {
    if (!a.ok || !b.ok) return a.ok && !b.ok;
    if (a.n_points != b.n_points) return a.n_points > b.n_points;
    return a.cost < b.cost;
  };
  std::vector<std::vector<std::optional<Eigen::VectorXd>>> more;
  if (std::any_of(given.cameras.begin(), given.cameras.end(),
                  [](const CameraSetup& c) { return c.start.has_value(); })) {
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
  std::vector<RigSolution> others;
  for (const auto& guesses : more) others.push_back(SolveRig(given, options, guesses));
  for (RigSolution& other : others)
    if (better(other, best) && !same(other, best)) std::swap(best, other);
  result.starts = 1 + static_cast<int>(others.size());
  for (const RigSolution& other : others) result.starts_agreeing += other.ok && same(other, best);

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
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
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
  result.rig = ToRig(bundle, best.problem);
  result.warp = bundle.warp;
  const int used_shots = FillShots(best, &result);
  int n_free = bundle.free_warp ? 2 : 0;
  for (int c = 0; c < n_cameras; ++c) {
    n_free += c > 0 ? 6 : 0;
    if (bundle.leader[c] == c)
      n_free += static_cast<int>(std::count(bundle.free[c].begin(), bundle.free[c].end(), 1));
  }
  result.dof = 2 * result.n_points - 6 * used_shots - n_free;

  if (result.starts_agreeing < result.starts)
    result.notes.push_back(
        fmt::format("{} of {} starts ended at another optimum; the best one is given",
                    result.starts - result.starts_agreeing, result.starts));
  bool richer = false;
  const auto undetermined = [&](const std::string& symptom) {
    result.status = CalibrationStatus::kUndetermined;
    result.reason = WhyUndetermined(best.problem, result, symptom);
    result.advice = richer ? calibration::kSimplerLens : calibration::kFilmMore;
    return finish();
  };
  if (result.dof < 1)
    return undetermined(fmt::format("{} points cannot determine {} unknowns", result.n_points,
                                    6 * used_shots + n_free));
  Bundle scaled = bundle;
  {
    const auto unit = Covariance(scaled, result.rig);
    if (!unit.determined)
      return undetermined(OpenParameters(best.problem, unit.weak_parameters, &richer));
    scaled.sigma = UnbiasedSigmas(bundle, unit.leverage, !options.robust);
  }
  const auto covariance = Covariance(scaled, result.rig);
  if (!covariance.determined)
    return undetermined(OpenParameters(best.problem, covariance.weak_parameters, &richer));
  result.sigma = scaled.sigma;
  // Symmetric to the last bit, as files want it.
  result.cov_common = 0.5 * (covariance.common + covariance.common.transpose());
  const int n_rig = ParameterCount(result.rig);
  result.rig.covariance = result.cov_common.topLeftCorner(n_rig, n_rig);
  for (int s = 0; s < bundle.shots(); ++s) {
    result.shots[s].cov_given_common = covariance.given_common[s];
    result.shots[s].dpose_dcommon = covariance.dpose_dcommon[s];
  }
  if (const std::string symptom = TooUncertain(bundle, result); !symptom.empty())
    return undetermined(symptom);
  for (const RigCamera& camera : result.rig.cameras) {
    if (const std::string fault = Fault(camera.camera); !fault.empty()) {
      result.status = CalibrationStatus::kInconsistent;
      result.reason = fmt::format(
          "camera '{}': {}. A simpler model, or views that reach the corners of the picture, would "
          "help",
          camera.name, fault);
      return finish();
    }
  }
  if (!best.converged) {
    result.status = CalibrationStatus::kNotConverged;
    result.reason =
        fmt::format("the solve did not settle within {} iterations", options.max_iterations);
  }
  NoteOddities(best.problem, &result);
  return finish();
}

}  // namespace impactlab
