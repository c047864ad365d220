#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/solve/bundle.h"
#include "calibration/solve/calibrate.h"
#include "calibration/solve/detail/initialization.h"
#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kTruncation = 5;  // [sigma] beyond which a held-out point counts no further

// Mean truncated squared residual of each held-out view after its board pose alone is fitted;
// nothing where the lens cannot show it.
std::optional<double> Predict(const Camera& camera, const Board& board, const Eigen::Vector2d& warp,
                              const BoardView& view, double sigma) {
  calibration::BundleView points = calibration::MakeView(board, view);
  for (std::size_t i = 0; i < points.q.size(); ++i) points.p_G[i].z() += points.bend[i].dot(warp);
  const auto poses = calibration::SolvePoses(camera.model, Intrinsics(camera), camera.width,
                                             camera.height, points);
  if (poses.empty()) return std::nullopt;
  calibration::Bundle bundle;
  bundle.model = {camera.model};
  bundle.intrinsics = {Intrinsics(camera)};
  bundle.X_CW = {calibration::Vector6d::Zero()};
  bundle.X_WG = {poses.front().X_CG};
  bundle.views = {{points}};
  double sum = 0;
  const auto residuals = calibration::Residuals(bundle, 0, 0);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double length = residuals[i].norm() / points.sd[i], limit = kTruncation * sigma;
    sum += length < limit ? length * length : limit * limit;
  }
  return sum / static_cast<double>(residuals.size());
}

CalibrationProblem OneCamera(const CalibrationProblem& problem, int camera, LensModel model) {
  CalibrationProblem one;
  one.board = problem.board;
  one.cameras = {problem.cameras[camera]};
  CameraSetup& setup = one.cameras[0];
  setup.shares_intrinsics_with = -1;
  if (setup.model != model) {
    setup.model = model;
    setup.start.reset();
    const auto names = IntrinsicNames(model);
    const auto foreign = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) == names.end();
    };
    std::erase_if(setup.fixed, foreign);
    std::erase_if(setup.priors,
                  [&](const CameraSetup::Prior& prior) { return foreign(prior.parameter); });
  }
  for (const BoardShot& shot : problem.shots)
    if (shot.views[camera].points.size() >= 6)
      one.shots.push_back({shot.name, {shot.views[camera]}});
  return one;
}

// Squared errors of prediction of each view left out, by view; nothing where a view was not used.
using HeldOut = std::vector<std::optional<double>>;

// Predicts every `folds`-th view from a fit of the others. `sigma` [px] limits the errors, `note`
// says why there are none.
HeldOut PredictHeldOut(const CalibrationProblem& full, const CalibrationResult& whole, int folds,
                       const CalibrationOptions& options, double sigma, std::string* note) {
  HeldOut squares(full.shots.size());
  if (!whole.usable()) {
    *note = whole.reason;
    return squares;
  }
  for (int fold = 0; fold < folds; ++fold) {
    CalibrationProblem train = full;
    train.shots.clear();
    for (std::size_t s = 0; s < full.shots.size(); ++s)
      if (static_cast<int>(s % folds) != fold) train.shots.push_back(full.shots[s]);
    const CalibrationResult fit = Calibrate(train, options);
    if (!fit.usable()) {
      *note = fmt::format("not determined without every {}th view: {}", folds, fit.reason);
      return squares;
    }
    for (std::size_t s = fold; s < full.shots.size(); s += folds)
      squares[s] = whole.shots[s].views[0].rejected.empty()
                       ? Predict(fit.rig.cameras[0].camera, full.board, fit.warp,
                                 full.shots[s].views[0], sigma)
                       : std::nullopt;
  }
  return squares;
}

// The simplest model within one paired standard error of the best; fills those errors.
LensModel ChooseModel(const std::vector<LensModel>& candidates, const std::vector<HeldOut>& squares,
                      std::vector<LensChoice::Score>* scores) {
  const std::size_t n = scores->size();
  std::size_t best = n;
  for (std::size_t m = 0; m < n; ++m)
    if (std::isfinite((*scores)[m].held_out_rms) &&
        (best == n || (*scores)[m].held_out_rms < (*scores)[best].held_out_rms))
      best = m;
  if (best == n) return candidates.front();
  LensModel chosen = candidates[best];
  int parameters = IntrinsicCount(chosen);
  for (std::size_t m = 0; m < n; ++m) {
    LensChoice::Score& score = (*scores)[m];
    if (!std::isfinite(score.held_out_rms) || m == best) continue;
    std::vector<double> differences;
    for (std::size_t s = 0; s < squares[m].size(); ++s)
      if (squares[m][s] && squares[best][s])
        differences.push_back(*squares[m][s] - *squares[best][s]);
    if (differences.size() < 2) continue;
    const double se =
        StandardDeviation(differences) / std::sqrt(static_cast<double>(differences.size()));
    score.paired_se = se / (2 * (*scores)[best].held_out_rms);  // of the rms
    if (Mean(differences) <= se && IntrinsicCount(candidates[m]) < parameters) {
      chosen = candidates[m];
      parameters = IntrinsicCount(chosen);
    }
  }
  return chosen;
}

}  // namespace

LensChoice ChooseLens(const CalibrationProblem& problem, const std::vector<LensModel>& candidates,
                      int folds, const CalibrationOptions& options) {
  if (candidates.empty()) throw ConfigError("choosing a lens needs at least one candidate model");
  if (folds < 2)
    throw ConfigError(fmt::format("cross-validation with {} folds; 2 at least", folds));
  LensChoice choice;
  CalibrationOptions plain = options;
  plain.random_starts = 0;
  for (std::size_t c = 0; c < problem.cameras.size(); ++c) {
    // Noise of the best full fit: one limit of truncation for all.
    double sigma = std::numeric_limits<double>::infinity();
    std::vector<CalibrationProblem> problems;
    std::vector<CalibrationResult> whole;
    for (const LensModel model : candidates) {
      problems.push_back(OneCamera(problem, static_cast<int>(c), model));
      whole.push_back(Calibrate(problems.back(), plain));
      if (whole.back().usable()) sigma = std::min(sigma, whole.back().sigma[0]);
    }
    std::vector<LensChoice::Score> scores;
    std::vector<HeldOut> squares;  // by candidate
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      LensChoice::Score score{candidates[m], std::numeric_limits<double>::infinity(), 0, ""};
      squares.push_back(PredictHeldOut(problems[m], whole[m], folds, plain, sigma, &score.note));
      if (score.note.empty()) {
        std::vector<double> values;
        for (const auto& value : squares.back())
          if (value) values.push_back(*value);
        if (values.size() < 2)
          score.note = "too few views to hold any out";
        else
          score.held_out_rms = std::sqrt(Mean(values));
      }
      scores.push_back(score);
    }
    choice.chosen.push_back(ChooseModel(candidates, squares, &scores));
    choice.scores.push_back(scores);
  }
  return choice;
}

}  // namespace impactlab
