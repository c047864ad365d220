#include "calibration/certificate/certificate.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "calibration/camera/triangulate.h"
#include "calibration/certificate/detail/findings.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using calibration::Findings;
using calibration::MeasuredPoint;
using calibration::TurnedPictures;

double CoveredQuantile(const UncertaintyMap& map, const std::vector<double>& values, double p) {
  std::vector<double> covered;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (map.covered[k]) covered.push_back(values[k]);
  return covered.empty() ? 0 : Quantile(std::move(covered), p);
}

// Two halves that differ by many times what noise explains: causes, the lens model first where the
// residuals have a pattern too.
void HalvesDisagree(const CameraCertificate& own, const CrossValidation::PerCamera& half,
                    int camera, const RigCertificateOptions& options, Findings findings) {
  const bool pattern = own.residuals.structure_p < options.significance;
  const std::string changed = fmt::format(
      "find what changed between the pictures of {}: some turned upside down, focus or zoom moved, "
      "stabilisation on, another camera among them, or the board bent; then film anew with all of "
      "it fixed",
      own.name);
  findings.Add(
      half.model_error > options.max_model_error ? RigVerdict::kRefused : RigVerdict::kUsable,
      camera, "halves-disagree",
      fmt::format("{}: two halves of the pictures, solved apart, give lenses that differ by {:.2g} "
                  "px where noise explains {:.2g} px ({:.0f} times as much): the pictures are not "
                  "those of one unchanging camera and board{}",
                  own.name, half.rms_difference, half.rms_predicted, half.ratio,
                  pattern ? ", or the lens model does not suit the lens" : ""),
      pattern ? "try a richer lens model (rational, or fisheye for a wide lens); if the halves "
                "still differ, " +
                    changed
              : changed);
}

// Uncertainty of the lens over the picture, at the working distance and at infinity.
void MeasureUncertainty(const CalibrationResult& result, int camera,
                        const RigCertificateOptions& options, CameraCertificate* out) {
  const auto points = calibration::MeasuredPoints(result, camera);
  out->working_distance = options.working_distance > 0 ? options.working_distance
                                                       : calibration::TypicalDistance(points);
  out->at_distance = ProjectionUncertainty(result, camera, out->working_distance);
  out->at_infinity = ProjectionUncertainty(result, camera, std::numeric_limits<double>::infinity());
  const UncertaintyMap& map = out->at_distance;
  out->sd_pixel_median = CoveredQuantile(map, map.sd_pixel, 0.5);
  out->sd_pixel_90 = CoveredQuantile(map, map.sd_pixel, 0.9);
  out->sd_across_median = CoveredQuantile(map, map.sd_across, 0.5);
  out->sd_across_90 = CoveredQuantile(map, map.sd_across, 0.9);
  double trace = 0;
  int covered = 0;
  for (std::size_t k = 0; k < map.q.size(); ++k)
    if (map.covered[k]) trace += map.cov[k].trace(), ++covered;
  if (covered > 0) out->sampling_error = std::sqrt(trace / covered);
}

void GradeNoise(const CameraCertificate& own, int camera, const RigCertificateOptions& options,
                Findings findings) {
  findings.Grade(
      own.sd_pixel_90, options.good_pixel_sd, options.max_pixel_sd, camera, "uncertainty",
      fmt::format("{}: at {:.3g} m the lens is uncertain by {:.2f} px ({:.2g} mm) over a tenth of "
                  "the measured picture; good is {:.2f} px, the most {:.2f} px",
                  own.name, own.working_distance, own.sd_pixel_90, 1e3 * own.sd_across_90,
                  options.good_pixel_sd, options.max_pixel_sd),
      fmt::format("take more pictures with {}, nearer (the board should fill half of the picture) "
                  "and tilted",
                  own.name));
  findings.Grade(own.residuals.sigma, options.good_sigma, options.max_sigma, camera, "noise",
                 fmt::format("{}: the points scatter by {:.2f} px about the solution; good is "
                             "{:.2f} px or less, the most {:.2f} px",
                             own.name, own.residuals.sigma, options.good_sigma, options.max_sigma),
                 "sharpen the focus, light the board evenly, hold it still or fix it, mount it "
                 "flat; check the square count");
}

// Model error from the pattern of the residuals or from two halves of the shots, the larger one.
void MeasureModelError(const CalibrationResult& result, int camera,
                       const std::optional<CrossValidation>& halves,
                       const RigCertificateOptions& options, CameraCertificate* out) {
  if (out->residuals.structure_p < options.significance) {
    out->model_error = out->residuals.structure;
    out->model_error_source = "residuals";
  }
  if (halves && halves->usable && camera < static_cast<int>(halves->cameras.size())) {
    const CrossValidation::PerCamera& half = halves->cameras[camera];
    if (half.p < options.significance && half.model_error > out->model_error) {
      out->model_error = half.model_error;
      out->model_error_source = "halves";
    }
  }
  out->total_pixel = std::hypot(out->sd_pixel_90, out->model_error);
  const double metres = out->sd_pixel_90 > 0
                            ? out->sd_across_90 / out->sd_pixel_90
                            : out->working_distance / result.rig.cameras[camera].camera.fx;
  out->total_across = metres * out->total_pixel;
}

void TurnedUpsideDown(const CalibrationProblem& problem, const CameraCertificate& own, int camera,
                      const TurnedPictures& turned, Findings findings) {
  std::vector<std::string> names;
  for (int s : turned.shots) names.push_back("'" + problem.shots[s].name + "'");
  const auto listed = std::min<std::size_t>(names.size(), 12);
  findings.Add(
      RigVerdict::kRefused, camera, "turned-pictures",
      fmt::format(
          "{}: {} pictures are turned upside down against the rest ({}{}): with them turned back "
          "the points scatter by {:.2g} px instead of {:.2g} px",
          own.name, names.size(),
          fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
          listed < names.size() ? ", ..." : "", turned.sigma_turned, turned.sigma_as_is),
      fmt::format("turn all pictures of {} the way the camera took them (automatic rotation off), "
                  "and calibrate again",
                  own.name));
}

void HasModelError(const CameraCertificate& own, int camera,
                   const std::optional<CrossValidation>& halves,
                   const RigCertificateOptions& options, Findings findings) {
  const std::string how = own.model_error_source == "halves"
                              ? fmt::format(
                                    "two halves of the pictures, solved apart, differ {:.1f} times "
                                    "as much as noise explains",
                                    halves->cameras[camera].ratio)
                              : "the residuals depend on the place in the picture";
  // A small but significant pattern is reported without lowering the verdict.
  const RigVerdict level = own.model_error > options.max_model_error    ? RigVerdict::kRefused
                           : own.model_error > options.good_model_error ? RigVerdict::kUsable
                                                                        : RigVerdict::kGood;
  findings.Add(
      level, camera, "model-error",
      fmt::format("{}: the lens or the board does something the model cannot follow, about {:.2g} "
                  "px beyond noise: {}",
                  own.name, own.model_error, how),
      "try a richer lens model (rational, or fisheye for a wide lens); check that focus and zoom "
      "did not move, that no pictures are turned upside down, and that the board is flat");
}

CameraCertificate CertifyCamera(const CalibrationProblem& problem, const CalibrationResult& result,
                                int camera, const std::optional<CrossValidation>& halves,
                                const RigCertificateOptions& options, Findings findings) {
  CameraCertificate out;
  out.name = result.rig.cameras[camera].name;
  MeasureUncertainty(result, camera, options, &out);
  out.residuals = SummariseResiduals(problem, result, camera);
  GradeNoise(out, camera, options, findings);
  MeasureModelError(result, camera, halves, options, &out);
  const bool many_outliers = out.residuals.n_outliers >
                             options.good_outliers * (out.residuals.n + out.residuals.n_outliers);
  const TurnedPictures turned = out.model_error > 0 || many_outliers
                                    ? calibration::FindTurnedPictures(problem, result, camera)
                                    : TurnedPictures();
  const bool halves_disagree = out.model_error_source == "halves" &&
                               halves->cameras[camera].ratio > options.max_halves_ratio &&
                               out.model_error > options.good_model_error;
  if (!turned.shots.empty())
    TurnedUpsideDown(problem, out, camera, turned, findings);
  else if (halves_disagree)
    HalvesDisagree(out, halves->cameras[camera], camera, options, findings);
  else if (out.model_error > 0)
    HasModelError(out, camera, halves, options, findings);
  return out;
}

constexpr const char* kUnseen = "no camera sees this place";
constexpr const char* kSeenByOne = "only one camera sees this place";

// Worst standard deviation across a direction.
double SdAcross(const Eigen::Matrix3d& cov, const Eigen::Vector3d& along) {
  const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - along * along.transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(across * cov * across,
                                                             Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, eigen.eigenvalues()(2)));
}

// `model_error` by camera [px], or empty.
TriangulationFigure FigureAt(const CalibrationResult& result, const Eigen::Vector3d& p_W,
                             const std::vector<double>& model_error = {}) {
  TriangulationFigure out;
  out.p_W = p_W;
  std::vector<PixelObservation> observations;
  for (int c = 0; c < static_cast<int>(result.rig.cameras.size()); ++c) {
    const RigCamera& camera = result.rig.cameras[c];
    const auto q = Project(camera.camera, camera.X_WC.inverse() * p_W);
    if (!q || q->x() < -0.5 || q->y() < -0.5 || q->x() > camera.camera.width - 0.5 ||
        q->y() > camera.camera.height - 0.5)
      continue;
    const double sigma =
        c < static_cast<int>(result.sigma.size()) && result.sigma[c] > 0 ? result.sigma[c] : 0.1;
    observations.push_back({c, *q, sigma * sigma * Eigen::Matrix2d::Identity()});
  }
  if (observations.empty()) return out.problem = kUnseen, out;
  const Eigen::Vector3d arm =
      p_W - result.rig.cameras[observations.front().camera].X_WC.translation();
  out.distance = arm.norm();
  if (observations.size() < 2) return out.problem = kSeenByOne, out;
  const TriangulatedPoint point = Triangulate(result.rig, observations);
  if (!point.usable) return out.problem = point.reason, out;
  const Eigen::Vector3d along = arm.normalized();
  out.sd_along = std::sqrt(along.dot(point.cov * along));
  out.sd_across = SdAcross(point.cov, along);
  out.sd_along_pixels = std::sqrt(along.dot(point.cov_pixels * along));
  out.sd_across_pixels = SdAcross(point.cov_pixels, along);
  // The model error displaces the image of the point in each camera, in an unknown direction: half
  // of its square along each coordinate.
  Eigen::Matrix3d cov_model = Eigen::Matrix3d::Zero();
  for (std::size_t k = 0; k < observations.size(); ++k) {
    const auto c = static_cast<std::size_t>(observations[k].camera);
    if (c >= model_error.size() || !(model_error[c] > 0)) continue;
    for (int i = 0; i < 2; ++i) {
      auto moved = observations;
      moved[k].q(i) += model_error[c] / std::numbers::sqrt2;
      const TriangulatedPoint displaced = Triangulate(result.rig, moved);
      if (!displaced.usable) continue;
      const Eigen::Vector3d d = displaced.p_W - point.p_W;
      cov_model += d * d.transpose();
    }
  }
  out.sd_along_model = std::sqrt(std::max(0.0, along.dot(cov_model * along)));
  out.sd_across_model = SdAcross(cov_model, along);
  return out;
}

// "left and right" when all cameras that see a point look at it along what is one line within the
// uncertainty of where they stand.
std::string SamePlace(const CalibrationResult& result, const Eigen::Vector3d& p_W) {
  constexpr double kLeastAngle = 1e-3;  // [rad]
  std::vector<std::string> names;
  std::vector<Eigen::Vector3d> arms;
  for (const RigCamera& camera : result.rig.cameras) {
    if (!Project(camera.camera, camera.X_WC.inverse() * p_W)) continue;
    names.push_back(camera.name);
    arms.push_back(p_W - camera.X_WC.translation());
  }
  for (const Eigen::Vector3d& arm : arms)
    if ((arm - arms.front()).norm() > kLeastAngle * arm.norm()) return {};
  return names.size() < 2 ? std::string() : fmt::format("{}", fmt::join(names, " and "));
}

void FillTriangulation(const CalibrationResult& result, const RigCertificateOptions& options,
                       RigCertificate* out, Findings findings) {
  const int n_cameras = static_cast<int>(result.rig.cameras.size());
  if (n_cameras < 2) return;
  // Where at least two cameras saw the board.
  std::vector<double> xyz[3];
  for (const ShotResult& shot : result.shots) {
    if (!shot.used) continue;
    int seen = 0, first = -1;
    for (int c = 0; c < static_cast<int>(shot.views.size()); ++c) {
      if (shot.views[c].points.empty() || !shot.views[c].rejected.empty()) continue;
      if (++seen == 1) first = c;
    }
    if (seen < 2) continue;
    const Eigen::Isometry3d& X_WC = result.rig.cameras[first].X_WC;
    const Eigen::Isometry3d X_CG = X_WC.inverse() * shot.X_WG;
    for (const PointResidual& point : shot.views[first].points) {
      const auto ray = Unproject(result.rig.cameras[first].camera, point.q);
      if (point.outlier || !ray) continue;
      const double along =
          X_CG.linear().col(2).dot(X_CG.translation()) / X_CG.linear().col(2).dot(*ray);
      if (!(along > 0) || !std::isfinite(along)) continue;
      const Eigen::Vector3d p_W = X_WC * Eigen::Vector3d(along * *ray);
      for (int i = 0; i < 3; ++i) xyz[i].push_back(p_W(i));
    }
  }
  if (xyz[0].empty()) {
    findings.Add(RigVerdict::kUsable, -1, "no-common-view",
                 "no two cameras saw the board in the same shot: lengths in common are not checked",
                 "film shots in which two cameras see the board at once");
    return;
  }
  Eigen::Vector3d lower, middle, upper;
  for (int i = 0; i < 3; ++i)
    lower(i) = Quantile(xyz[i], 0.1), middle(i) = Median(xyz[i]), upper(i) = Quantile(xyz[i], 0.9);
  for (int k = 0; k < 27; ++k) {
    Eigen::Vector3d p_W;
    for (int i = 0, digits = k; i < 3; ++i, digits /= 3)
      p_W(i) = lower(i) + 0.5 * (digits % 3) * (upper(i) - lower(i));
    out->triangulation_field.push_back(FigureAt(result, p_W));
  }
  const Eigen::Vector3d eye = result.rig.cameras[0].X_WC.translation();
  const double distance =
      options.working_distance > 0 ? options.working_distance : (middle - eye).norm();
  std::vector<double> model_error;
  for (const CameraCertificate& camera : out->cameras) model_error.push_back(camera.model_error);
  out->triangulation = FigureAt(result, eye + distance * (middle - eye).normalized(), model_error);
  const TriangulationFigure& figure = *out->triangulation;
  if (!figure.problem.empty()) {
    const bool seen_by_two = figure.problem != kUnseen && figure.problem != kSeenByOne;
    if (const std::string pair = seen_by_two ? SamePlace(result, figure.p_W) : ""; !pair.empty()) {
      findings.Add(
          RigVerdict::kRefused, -1, "same-place",
          fmt::format(
              "{} are at the same place, or have the same pictures: no depth can be measured",
              pair),
          "place the cameras apart, a third to the whole of the working distance, and check that "
          "each has its own pictures");
      return;
    }
    findings.Add(
        seen_by_two ? RigVerdict::kRefused : RigVerdict::kUsable, -1, "triangulation",
        fmt::format(
            "a point {:.3g} m away in the middle of the filmed space cannot be measured: {}",
            distance, figure.problem),
        options.working_distance > 0
            ? "check the working distance that was given; turn the cameras so that they see the "
              "same space there; place them farther apart"
            : "turn the cameras so that they see the same space; place them farther apart");
    return;
  }
  const double depth = std::hypot(figure.sd_along, figure.sd_along_model);
  findings.Grade(depth / distance, options.good_depth_sd, options.max_depth_sd, -1, "triangulation",
                 fmt::format("depth at {:.3g} m is uncertain by {:.2g} mm ({:.1f} %)", distance,
                             1e3 * depth, 100 * depth / distance),
                 "place the cameras farther apart (a third to the whole of the working distance), "
                 "or nearer to the experiment");
}

// A working distance at which nothing was filmed is an extrapolation.
void CheckWorkingDistance(const RigCertificateOptions& options, const RigCertificate& certificate,
                          Findings findings) {
  constexpr double kFactor = 5;
  if (!(options.working_distance > 0)) return;
  double near = std::numeric_limits<double>::infinity(), far = 0;
  for (const CameraGeometry& camera : certificate.geometry.cameras) {
    if (!(camera.depth_far > 0)) continue;
    near = std::min(near, camera.depth_near);
    far = std::max(far, camera.depth_far);
  }
  if (!(far > 0) ||
      (options.working_distance < kFactor * far && options.working_distance > near / kFactor))
    return;
  findings.Add(RigVerdict::kUsable, -1, "working-distance",
               fmt::format("the working distance of {:.3g} m is far from where the board was "
                           "filmed, {:.3g} to {:.3g} m",
                           options.working_distance, near, far),
               "check the working distance that was given, or film the board there");
}

int Rank(RigVerdict verdict) {
  return verdict == RigVerdict::kRefused ? 0 : verdict == RigVerdict::kUsable ? 1 : 2;
}

// Of findings of one level: what makes all other figures worthless first.
int Weight(const std::string& code) {
  for (const char* first : {"same-pictures", "no-common-view", "turned-pictures", "halves-disagree",
                            "same-place", "few-common-views"})
    if (code == first) return 0;
  return 1;
}

void Conclude(const CalibrationResult& result, RigCertificate* out) {
  std::stable_sort(
      out->findings.begin(), out->findings.end(), [](const RigFinding& a, const RigFinding& b) {
        return std::pair(Rank(a.level), Weight(a.code)) < std::pair(Rank(b.level), Weight(b.code));
      });
  out->verdict = result.usable() ? RigVerdict::kGood : RigVerdict::kRefused;
  for (CameraCertificate& camera : out->cameras) camera.verdict = RigVerdict::kGood;
  for (const RigFinding& finding : out->findings) {
    if (Rank(finding.level) < Rank(out->verdict)) out->verdict = finding.level;
    for (int c = 0; c < static_cast<int>(out->cameras.size()); ++c)
      if ((finding.camera == c || finding.camera < 0) &&
          Rank(finding.level) < Rank(out->cameras[c].verdict))
        out->cameras[c].verdict = finding.level;
    if (finding.level == RigVerdict::kGood || finding.advice.empty()) continue;
    if (std::find(out->advice.begin(), out->advice.end(), finding.advice) == out->advice.end())
      out->advice.push_back(finding.advice);
  }
  const CameraCertificate* worst = nullptr;
  double worst_m = 0;
  for (const CameraCertificate& camera : out->cameras) {
    if (!worst || camera.total_pixel > worst->total_pixel) worst = &camera;
    worst_m = std::max(worst_m, camera.total_across);
  }
  std::string figures;
  if (worst) {
    figures = fmt::format("the {} known to {:.2g} px",
                          out->cameras.size() > 1 ? "lenses are" : "lens is", worst->total_pixel);
    if (worst->model_error > 0)
      figures += fmt::format(" ({:.2g} px from noise, {:.2g} px of model error)",
                             worst->sd_pixel_90, worst->model_error);
    figures += fmt::format(", {:.2g} mm at the working distance", 1e3 * worst_m);
  }
  if (out->triangulation && out->triangulation->problem.empty())
    figures += fmt::format(
        "; depth to {:.2g} mm",
        1e3 * std::hypot(out->triangulation->sd_along, out->triangulation->sd_along_model));
  const auto held = [&](RigVerdict level) {
    for (const RigFinding& finding : out->findings)
      if (finding.level == level) return finding.text;
    return std::string("no solution");
  };
  switch (out->verdict) {
    case RigVerdict::kGood:
      out->headline = "Good: " + figures + ".";
      break;
    case RigVerdict::kUsable:
      out->headline = "Usable with care: " + figures + ". It falls short of good because " +
                      held(RigVerdict::kUsable) + ".";
      break;
    case RigVerdict::kRefused:
      out->headline = "Refused: " + held(RigVerdict::kRefused) + ".";
      break;
  }
  while (out->headline.size() > 1 && out->headline.back() == '.' &&
         out->headline[out->headline.size() - 2] == '.')
    out->headline.pop_back();
}

}  // namespace

const char* ToString(RigVerdict verdict) {
  switch (verdict) {
    case RigVerdict::kGood:
      return "good";
    case RigVerdict::kUsable:
      return "usable";
    case RigVerdict::kRefused:
      return "refused";
  }
  return "refused";
}

RigCertificate CertifyRig(const CalibrationProblem& problem, const CalibrationResult& result,
                          const std::optional<CrossValidation>& halves,
                          const RigCertificateOptions& options) {
  RigCertificate out;
  const Findings findings{&out.findings};
  calibration::AddInputFindings(problem, result, findings);
  // Without a solution the poses are guesses at best, and so is what they say about depth and tilt:
  // coverage only.
  const bool poses = result.usable() || result.status == CalibrationStatus::kUndetermined;
  out.geometry =
      CheckGeometry(problem, poses ? PosesInCameras(result) : BoardPoses(), options.geometry);
  for (const RigFinding& finding : out.geometry.findings) {
    // A board that was not found says more than the shots that are missing for it.
    const bool said =
        finding.code == "few-shots" &&
        std::any_of(out.findings.begin(), out.findings.end(), [&](const RigFinding& other) {
          return other.camera == finding.camera &&
                 (other.code == "board-not-found" || other.code == "mirrored");
        });
    if (!said) out.findings.push_back(finding);
  }
  calibration::AddSolveFindings(problem, result, options, findings);
  const double wx = result.warp.x(), wy = result.warp.y();
  out.board_warp = std::max({std::abs(wx), std::abs(wy), std::abs(wx + wy)});
  if (result.usable()) {
    for (int c = 0; c < static_cast<int>(result.rig.cameras.size()); ++c)
      out.cameras.push_back(CertifyCamera(problem, result, c, halves, options, findings));
    CheckWorkingDistance(options, out, findings);
    FillTriangulation(result, options, &out, findings);
    if (halves && !halves->usable)
      findings.Add(RigVerdict::kUsable, -1, "not-cross-validated",
                   "the calibration could not be checked against itself: " + halves->reason,
                   "take twice as many pictures");
    const double side = Extent(problem.board).norm();
    if (side > 0 && out.board_warp > 0.01 * side)
      findings.Add(RigVerdict::kUsable, -1, "board-bent",
                   fmt::format("the board is bent by {:.2g} mm", 1e3 * out.board_warp),
                   "glue the print onto a stiff plate, such as glass");
  }
  out.halves = halves;
  Conclude(result, &out);
  return out;
}

std::string BriefReport(const RigCertificate& certificate) {
  std::string text = certificate.headline + "\n";
  for (const CameraCertificate& c : certificate.cameras) {
    text += fmt::format(
        "  {}: {}; noise {:.2g} px, rms {:.2g} px, {} points; lens {:.2g} px = {:.3g} mm at {:.3g} "
        "m (median)",
        c.name, ToString(c.verdict), c.residuals.sigma, c.residuals.rms, c.residuals.n,
        c.sd_pixel_median, 1e3 * c.sd_across_median, c.working_distance);
    text += c.model_error > 0 ? fmt::format("; model error {:.2g} px, total {:.2g} px\n",
                                            c.model_error, c.total_pixel)
                              : "\n";
  }
  if (certificate.triangulation && certificate.triangulation->problem.empty()) {
    const TriangulationFigure& t = *certificate.triangulation;
    text += fmt::format(
        "  a point {:.3g} m away: {:.2g} mm along the view, {:.2g} mm across ({:.2g} and {:.2g} mm "
        "from its pixels alone)\n",
        t.distance, 1e3 * t.sd_along, 1e3 * t.sd_across, 1e3 * t.sd_along_pixels,
        1e3 * t.sd_across_pixels);
    if (t.sd_along_model > 0)
      text += fmt::format(
          "    and {:.2g} mm along, {:.2g} mm across from the model error of the lenses\n",
          1e3 * t.sd_along_model, 1e3 * t.sd_across_model);
    if (t.sd_across > 2 * t.sd_across_pixels)
      text +=
          "    across, most is the direction of the first camera, which all points share: it "
          "cancels in their differences\n";
  }
  if (certificate.halves && certificate.halves->usable) {
    for (std::size_t c = 0;
         c < certificate.halves->cameras.size() && c < certificate.cameras.size(); ++c)
      text +=
          fmt::format("  {}: halves differ by {:.2g} px, {:.2g} px expected\n",
                      certificate.cameras[c].name, certificate.halves->cameras[c].rms_difference,
                      certificate.halves->cameras[c].rms_predicted);
  }
  for (const RigFinding& finding : certificate.findings)
    text += fmt::format("  {} {}\n",
                        finding.level == RigVerdict::kRefused  ? "!!"
                        : finding.level == RigVerdict::kUsable ? " !"
                                                               : "  ",
                        finding.text);
  if (!certificate.advice.empty()) text += "Next:\n";
  for (const std::string& advice : certificate.advice) text += "  - " + advice + "\n";
  return text;
}

}  // namespace impactlab
