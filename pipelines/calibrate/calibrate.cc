#include "pipelines/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibration/camera/rig.h"
#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/calibrate/detail/input.h"
#include "pipelines/config/run_context.h"

namespace impactlab {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string BoardWords(const Board& board) {
  return fmt::format("{} with {} x {} {}", impactlab::BoardWords(board.kind), board.columns,
                     board.rows, HasSquares(board.kind) ? "inner corners" : "discs");
}

std::vector<CameraSetup> Setups(const CalibrationConfig& plan) {
  std::vector<CameraSetup> setups;
  for (const CameraSource& source : plan.cameras) {
    CameraSetup setup;
    setup.name = source.name;
    setup.model = source.model;
    setup.start = source.start;
    setup.fixed = source.fixed;
    setup.priors = source.priors;
    setup.shares_intrinsics_with = source.shares_intrinsics_with;
    setups.push_back(std::move(setup));
  }
  return setups;
}

// Refuses pictures in which the board was not found at all, with the most likely cause.
void NeedPoints(const CalibrationRun& run) {
  std::size_t views = 0, found = 0;
  std::string first;
  for (const BoardShot& shot : run.problem.shots) {
    for (const BoardView& view : shot.views) {
      views += !view.image.empty();
      found += !view.points.empty();
      if (first.empty() && !view.image.empty() && view.points.empty())
        first = view.image + ": " + view.problem;
    }
  }
  if (found > 0) return;
  const bool squares = HasSquares(run.plan.board.kind);
  throw DataError(fmt::format(
      "{}: the {} was found in none of the {} pictures; {}all of it must be in the picture{}. "
      "First: {}",
      run.plan.path.string(), BoardWords(run.plan.board), views,
      squares
          ? "corners counts the points where four squares meet, one less each way than squares; "
          : "",
      run.plan.board.kind == BoardKind::kCharuco ? " or at least a good part" : "", first));
}

void CheckStarts(const CalibrationRun& run) {
  for (std::size_t c = 0; c < run.problem.cameras.size(); ++c) {
    const CameraSetup& setup = run.problem.cameras[c];
    if (!setup.start || setup.width == 0 ||
        (setup.start->width == setup.width && setup.start->height == setup.height))
      continue;
    throw ConfigError(
        fmt::format("{}: cameras[{}].start: found a camera of {} x {} pixels, allowed one of the "
                    "pictures, {} x {}",
                    run.plan.path.string(), c, setup.start->width, setup.start->height, setup.width,
                    setup.height));
  }
}

void ChooseModels(const RunContext& context, CalibrationRun* run) {
  const auto& sources = run->plan.cameras;
  if (std::none_of(sources.begin(), sources.end(),
                   [](const CameraSource& s) { return s.choose_model; }))
    return;
  const auto choose = [&] {
    return ChooseLens(run->problem, {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye},
                      5, run->plan.solve);
  };
  run->lenses =
      StageResult<LensChoice>(context.cache, "lens", choose, run->problem, run->plan.solve);
  for (std::size_t c = 0; c < sources.size(); ++c)
    if (sources[c].choose_model && c < run->lenses->chosen.size())
      run->problem.cameras[c].model = run->lenses->chosen[c];
  for (CameraSetup& setup : run->problem.cameras) {
    if (setup.shares_intrinsics_with >= 0)
      setup.model =
          run->problem.cameras[static_cast<std::size_t>(setup.shares_intrinsics_with)].model;
    const std::vector<std::string> names = IntrinsicNames(setup.model);
    const auto lacks = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) == names.end();
    };
    std::erase_if(setup.fixed, lacks);
    std::erase_if(setup.priors, [&](const CameraSetup::Prior& p) { return lacks(p.parameter); });
  }
}

// A known length that is measured wrong means a wrong scale, also where residuals are small.
void CheckScale(CalibrationRun* run) {
  if (!run->world || !run->world->scale || !run->world->scale->usable ||
      run->world->scale->consistent)
    return;
  RigCertificate& certificate = run->certificate;
  const std::string& words = run->world->scale->verdict;
  certificate.findings.insert(
      certificate.findings.begin(),
      {RigVerdict::kUsable, -1, "scale", words,
       "measure the squares of the printed board and the known length once more"});
  certificate.advice.insert(certificate.advice.begin(), certificate.findings.front().advice);
  if (certificate.verdict == RigVerdict::kRefused) return;
  certificate.verdict = RigVerdict::kUsable;
  certificate.headline = "Usable with care: " + words + (words.ends_with('.') ? "" : ".");
}

}  // namespace

CalibrationRun RunCalibration(const CalibrationConfig& plan, const RunContext& context) {
  const auto start = Clock::now();
  CalibrationRun run;
  run.plan = plan;
  run.problem.board = plan.board;
  run.problem.cameras = Setups(plan);
  if (plan.video()) {
    pipelines::ReadVideos(context, &run);
  } else {
    pipelines::ReadStills(context, &run);
  }
  run.seconds_detect = Since(start);
  pipelines::SettleSizes(&run.problem);
  NeedPoints(run);
  CheckStarts(run);
  context.CheckCancelled();
  ChooseModels(context, &run);
  context.CheckCancelled();
  run.result = StageResult<CalibrationResult>(
      context.cache, "solve", [&] { return Calibrate(run.problem, plan.solve); }, run.problem,
      plan.solve);
  context.CheckCancelled();
  std::optional<CrossValidation> halves;
  if (run.result.usable())
    halves = CrossValidate(run.problem, run.result, plan.solve, plan.certificate.working_distance);
  context.CheckCancelled();
  run.certificate = CertifyRig(run.problem, run.result, halves, plan.certificate);
  if (run.result.usable() && !plan.world.empty()) {
    run.world = PlaceWorld(plan.world, run.problem, run.result);
    const Eigen::MatrixXd& covariance = run.world->rig.covariance;
    run.world->rig.covariance = (0.5 * (covariance + covariance.transpose())).eval();
    CheckScale(&run);
  }
  run.seconds = Since(start);
  return run;
}

void WriteCalibration(const std::filesystem::path& folder, const CalibrationRun& run,
                      const std::string& command) {
  std::vector<std::filesystem::path> inputs = {run.plan.path};
  for (const CameraSource& camera : run.plan.cameras)
    if (camera.start_file) inputs.push_back(*camera.start_file);
  inputs.insert(inputs.end(), run.files.begin(), run.files.end());
  Provenance provenance = CollectProvenance(run.plan.solve.seed, command);
  AddReadable(inputs, &provenance);
  if (!run.refused()) WriteFile(folder / "rig.yaml", ToYaml(run.rig()));
  WriteFile(folder / "calibration.json", ToJson(run));
  WriteFile(folder / "run.yaml", ToYaml(run.plan) + ToYaml(provenance));
}

std::string WhyRefused(const CalibrationRun& run) {
  std::string why =
      !run.result.usable()
          ? run.result.reason + (run.result.advice.empty() ? "" : ". " + run.result.advice)
      : run.world && !run.world->problem.empty() ? run.world->problem
                                                 : run.certificate.headline;
  if (why.starts_with("Refused: ")) why.erase(0, 9);
  return why;
}

std::string BriefReport(const CalibrationRun& run) {
  std::string out = fmt::format("{} from a {}\n\n", run.plan.name, BoardWords(run.plan.board));
  out += fmt::format("{:<12} {:>8} {:>6} {:>5} {:>7} {:>8} {:>9}  {}\n", "camera", "pictures",
                     "found", "used", "points", "left out", "rms [px]", "lens");
  std::vector<std::string> bad;  // views that were not used, with the reason
  for (std::size_t c = 0; c < run.problem.cameras.size(); ++c) {
    int pictures = 0, found = 0, used = 0, points = 0, outliers = 0;
    double sum = 0;
    for (std::size_t k = 0; k < run.problem.shots.size(); ++k) {
      const BoardView& view = run.problem.shots[k].views[c];
      pictures += !view.image.empty();
      found += !view.points.empty();
      std::string why = view.image.empty() ? "" : view.problem;
      if (k < run.result.shots.size() && c < run.result.shots[k].views.size()) {
        const ViewResult& result = run.result.shots[k].views[c];
        used += result.rejected.empty() && !result.points.empty() && run.result.shots[k].used;
        if (!result.rejected.empty() && !view.points.empty()) why = result.rejected;
        const bool in_solve = result.rejected.empty() && run.result.shots[k].used;
        for (const PointResidual& p : result.points) {
          if (!in_solve) break;
          outliers += p.outlier;
          points += !p.outlier;
          if (!p.outlier) sum += p.residual.squaredNorm();
        }
      }
      if (!why.empty())
        bad.push_back(
            fmt::format("{}: {}", std::filesystem::path(view.image).filename().string(), why));
    }
    const std::string rms = points > 0 ? fmt::format("{:.3f}", std::sqrt(sum / points)) : "-";
    out += fmt::format("{:<12} {:>8} {:>6} {:>5} {:>7} {:>8} {:>9}  {}\n",
                       run.problem.cameras[c].name, pictures, found, used, points, outliers, rms,
                       ToString(run.problem.cameras[c].model));
  }
  out += "\n" + BriefReport(run.certificate);
  if (!out.ends_with("\n")) out += "\n";
  if (run.world) out += "\n" + BriefReport(*run.world);
  constexpr std::size_t kFew = 6;
  if (!bad.empty()) out += fmt::format("\npictures not used: {}\n", bad.size());
  for (std::size_t k = 0; k < std::min(bad.size(), kFew); ++k) out += "  " + bad[k] + "\n";
  if (bad.size() > kFew)
    out += fmt::format("  and {} more, see calibration.json\n", bad.size() - kFew);
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), run.result.notes.begin(), run.result.notes.end());
  if (!notes.empty()) out += "\nnotes\n";
  for (const std::string& note : notes) out += "  " + note + "\n";
  return out;
}

}  // namespace impactlab
