#include "calibration/certificate.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "calibration/certificate_detail.h"
#include "calibration/triangulate.h"
#include "data/statistics.h"

namespace impactlab {
namespace {

using internal::MeasuredPoint;

struct Findings {
  std::vector<RigFinding>* list;
  void Add(RigVerdict level, int camera, const char* code, std::string text, std::string advice = "") const {
    list->push_back({level, camera, code, std::move(text), std::move(advice)});
  }
  // `value` against a good and a greatest limit.
  void Grade(double value, double good, double largest, int camera, const char* code, const std::string& text,
             const std::string& advice) const {
    if (!(value > good)) return;
    Add(value > largest ? RigVerdict::kRefused : RigVerdict::kUsable, camera, code, text, advice);
  }
};

// What detection and the solve have said, in the order of their weight.
void FromInput(const CalibrationProblem& problem, Findings findings) {
  const int n_shots = static_cast<int>(problem.shots.size());
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    const std::string& name = problem.cameras[c].name;
    int pictures = 0, mirrored = 0, empty = 0;
    std::string example;
    for (const BoardShot& shot : problem.shots) {
      if (c >= static_cast<int>(shot.views.size())) continue;
      const BoardView& view = shot.views[c];
      if (view.image.empty() && view.points.empty() && view.problem.empty() && !view.mirrored) continue;  // no picture at all
      ++pictures;
      mirrored += view.mirrored;
      if (view.points.empty() && !view.mirrored) {
        ++empty;
        if (example.empty()) example = view.problem;
      }
    }
    if (mirrored > 0) {
      const bool most = 2 * mirrored > pictures;
      findings.Add(most ? RigVerdict::kRefused : RigVerdict::kUsable, c, "mirrored",
                   fmt::format("{}: {} of {} pictures show the board mirrored; their points cannot be used", name, mirrored, pictures),
                   "switch off the mirroring of the camera (a selfie setting), or do not film through a mirror");
    }
    if (pictures > 0 && empty > 0.7 * pictures) {
      findings.Add(
          RigVerdict::kRefused, c, "board-not-found",
          fmt::format("{}: the board was not found in {} of {} pictures{}", name, empty, pictures,
                      example.empty() ? "" : " (" + example + ")"),
          fmt::format("check the size of the board that was given, {} x {} points: on a chessboard the inner corners count, one less "
                      "than the squares each way; check focus, light, and that the whole board is in the picture",
                      problem.board.columns, problem.board.rows));
    }
  }
  if (n_shots == 0) {
    findings.Add(RigVerdict::kRefused, -1, "no-data", "there are no pictures of the board", "film the board with every camera");
  }
}

void FromSolve(const CalibrationProblem& problem, const CalibrationResult& result, const RigCertificateOptions& options,
               Findings findings) {
  switch (result.status) {
    case CalibrationStatus::kSolved:
      break;
    case CalibrationStatus::kNotConverged:
      findings.Add(RigVerdict::kRefused, -1, "not-converged", "the solve did not settle: " + result.reason,
                   "look at the worst pictures; check board size and square side; start with a simpler lens model");
      break;
    case CalibrationStatus::kUndetermined:
      findings.Add(RigVerdict::kRefused, -1, "undetermined", "the shots do not determine the cameras: " + result.reason);
      break;
    case CalibrationStatus::kInconsistent:
      findings.Add(RigVerdict::kRefused, -1, "inconsistent", "the shots and the model do not fit together: " + result.reason,
                   "check that the pictures of the cameras belong together, that no two cameras are swapped, that one board was used and "
                   "counted right, "
                   "and that the lens model is no richer than the pictures");
      break;
    case CalibrationStatus::kNoData:
      findings.Add(RigVerdict::kRefused, -1, "no-data", "there is nothing to solve: " + result.reason);
      break;
  }
  // Pictures left out, one finding a camera and reason.
  int turned = 0, views = 0, rejected = 0, swapped = 0;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::string>> left_out;
  for (std::size_t s = 0; s < std::min(result.shots.size(), problem.shots.size()); ++s) {
    for (std::size_t c = 0; c < std::min(result.shots[s].views.size(), problem.shots[s].views.size()); ++c) {
      if (problem.shots[s].views[c].points.empty()) continue;
      const ViewResult& view = result.shots[s].views[c];
      ++views;
      if (view.rejected.empty()) {
        turned += !view.note.empty();
        continue;
      }
      ++rejected;
      swapped += view.rejected.find("swapped") != std::string::npos;
      left_out[{c, view.rejected}].push_back("'" + problem.shots[s].name + "'");
    }
  }
  for (const auto& [what, names] : left_out) {
    findings.Add(RigVerdict::kGood, static_cast<int>(what.first), "view-rejected",
                 fmt::format("{}: picture{} {} left out: {}", problem.cameras[what.first].name, names.size() > 1 ? "s" : "",
                             fmt::join(names, ", "), what.second));
  }
  if (turned > 0) {
    findings.Add(RigVerdict::kGood, -1, "orientation",
                 fmt::format("in {} pictures the points of the board were numbered from another corner; they were turned", turned),
                 "a ChArUco board, or a chessboard with an odd and an even side, cannot be taken for its own turned self");
  }
  if (swapped > 0) {
    const double share = static_cast<double>(swapped) / views;
    findings.Add(share > 0.25 ? RigVerdict::kRefused : RigVerdict::kUsable, -1, "swapped-cameras",
                 fmt::format("swapped cameras: {} of {} pictures show what another camera should have seen{}", swapped, views,
                             share > 0.25 ? "; which of them are right cannot be told" : ""),
                 "check the folders and file names of the cameras: each must hold the pictures of one camera only");
  }
  if (rejected > swapped) {
    findings.Grade(static_cast<double>(rejected - swapped) / views, 0.2, 0.5, -1, "views-rejected",
                   fmt::format("{} of {} pictures had to be left out", rejected - swapped, views),
                   "see the reason of each; often pictures of different moments are paired, or the board was counted wrongly");
  }
  for (const std::string& note : result.notes) findings.Add(RigVerdict::kGood, -1, "note", note);
  if (!result.usable()) return;
  const double share = result.n_points > 0 ? static_cast<double>(result.n_outliers) / (result.n_points + result.n_outliers) : 0;
  findings.Grade(share, options.good_outliers, options.max_outliers, -1, "outliers",
                 fmt::format("{:.1f} % of the points do not fit and were left out", 100 * share),
                 "hold the board still, avoid blur and reflections; mount it on a stiff plate");
}

double CoveredQuantile(const UncertaintyMap& map, const std::vector<double>& values, double p) {
  std::vector<double> covered;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (map.covered[k]) covered.push_back(values[k]);
  return covered.empty() ? 0 : Quantile(std::move(covered), p);
}

CameraCertificate CertifyCamera(const CalibrationProblem& problem, const CalibrationResult& result, int camera,
                                const std::optional<CrossValidation>& halves, const RigCertificateOptions& options, Findings findings) {
  CameraCertificate out;
  out.name = result.rig.cameras[camera].name;
  const auto points = internal::MeasuredPoints(result, camera);
  out.working_distance = options.working_distance > 0 ? options.working_distance : internal::TypicalDistance(points);
  out.at_distance = ProjectionUncertainty(result, camera, out.working_distance);
  out.at_infinity = ProjectionUncertainty(result, camera, std::numeric_limits<double>::infinity());
  out.sd_pixel_median = CoveredQuantile(out.at_distance, out.at_distance.sd_pixel, 0.5);
  out.sd_pixel_90 = CoveredQuantile(out.at_distance, out.at_distance.sd_pixel, 0.9);
  out.sd_across_median = CoveredQuantile(out.at_distance, out.at_distance.sd_across, 0.5);
  out.sd_across_90 = CoveredQuantile(out.at_distance, out.at_distance.sd_across, 0.9);
  double trace = 0;
  int covered = 0;
  for (std::size_t k = 0; k < out.at_distance.q.size(); ++k)
    if (out.at_distance.covered[k]) trace += out.at_distance.cov[k].trace(), ++covered;
  if (covered > 0) out.sampling_error = std::sqrt(trace / covered);
  out.residuals = SummariseResiduals(problem, result, camera);

  findings.Grade(
      out.sd_pixel_90, options.good_pixel_sd, options.max_pixel_sd, camera, "uncertainty",
      fmt::format("{}: at {:.3g} m the lens is uncertain by {:.2f} px ({:.2g} mm) over a tenth of the measured picture; good is "
                  "{:.2f} px, the most {:.2f} px",
                  out.name, out.working_distance, out.sd_pixel_90, 1e3 * out.sd_across_90, options.good_pixel_sd, options.max_pixel_sd),
      fmt::format("take more pictures with {}, nearer (the board should fill half of the picture) and tilted", out.name));
  findings.Grade(out.residuals.sigma, options.good_sigma, options.max_sigma, camera, "noise",
                 fmt::format("{}: the points scatter by {:.2f} px about the solution; good is {:.2f} px or less, the most {:.2f} px",
                             out.name, out.residuals.sigma, options.good_sigma, options.max_sigma),
                 "sharpen the focus, light the board evenly, hold it still or fix it, mount it flat; check the square count");
  if (out.residuals.structure_p < options.significance) {
    out.model_error = out.residuals.structure;
    out.model_error_source = "residuals";
  }
  if (halves && halves->usable && camera < static_cast<int>(halves->cameras.size())) {
    const CrossValidation::PerCamera& half = halves->cameras[camera];
    if (half.p < options.significance && half.model_error > out.model_error) {
      out.model_error = half.model_error;
      out.model_error_source = "halves";
    }
  }
  const std::string how = out.model_error_source == "halves"
                              ? fmt::format("two halves of the pictures, solved apart, differ {:.1f} times as much as noise explains",
                                            halves->cameras[camera].ratio)
                              : "the residuals depend on the place in the picture";
  if (out.model_error > 0) {
    // Small but significant structure deserves to be known, not a lower verdict.
    const RigVerdict level = out.model_error > options.max_model_error    ? RigVerdict::kRefused
                             : out.model_error > options.good_model_error ? RigVerdict::kUsable
                                                                          : RigVerdict::kGood;
    findings.Add(
        level, camera, "model-error",
        fmt::format("{}: the lens or the board does something the model cannot follow, about {:.2g} px beyond noise: {}", out.name,
                    out.model_error, how),
        "try a richer lens model (rational, or fisheye for a wide lens); check that focus and zoom did not move and the board is flat");
  }
  return out;
}

TriangulationFigure FigureAt(const CalibrationResult& result, const Eigen::Vector3d& p_W) {
  TriangulationFigure out;
  out.p_W = p_W;
  std::vector<PixelObservation> observations;
  for (int c = 0; c < static_cast<int>(result.rig.cameras.size()); ++c) {
    const RigCamera& camera = result.rig.cameras[c];
    const auto q = Project(camera.camera, camera.X_WC.inverse() * p_W);
    if (!q || q->x() < -0.5 || q->y() < -0.5 || q->x() > camera.camera.width - 0.5 || q->y() > camera.camera.height - 0.5) continue;
    const double sigma = c < static_cast<int>(result.sigma.size()) && result.sigma[c] > 0 ? result.sigma[c] : 0.1;
    observations.push_back({c, *q, sigma * sigma * Eigen::Matrix2d::Identity()});
  }
  if (observations.empty()) return out.problem = "no camera sees this place", out;
  const Eigen::Vector3d arm = p_W - result.rig.cameras[observations.front().camera].X_WC.translation();
  out.distance = arm.norm();
  if (observations.size() < 2) return out.problem = "only one camera sees this place", out;
  const TriangulatedPoint point = Triangulate(result.rig, observations);
  if (!point.usable) return out.problem = point.reason, out;
  const Eigen::Vector3d along = arm.normalized();
  const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - along * along.transpose();
  const auto worst = [&](const Eigen::Matrix3d& cov) {
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(across * cov * across, Eigen::EigenvaluesOnly);
    return std::sqrt(std::max(0.0, eigen.eigenvalues()(2)));
  };
  out.sd_along = std::sqrt(along.dot(point.cov * along));
  out.sd_across = worst(point.cov);
  out.sd_along_pixels = std::sqrt(along.dot(point.cov_pixels * along));
  out.sd_across_pixels = worst(point.cov_pixels);
  return out;
}

void FillTriangulation(const CalibrationResult& result, const RigCertificateOptions& options, RigCertificate* out, Findings findings) {
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
      const double along = X_CG.linear().col(2).dot(X_CG.translation()) / X_CG.linear().col(2).dot(*ray);
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
  for (int i = 0; i < 3; ++i) lower(i) = Quantile(xyz[i], 0.1), middle(i) = Median(xyz[i]), upper(i) = Quantile(xyz[i], 0.9);
  for (int k = 0; k < 27; ++k) {
    Eigen::Vector3d p_W;
    for (int i = 0, digits = k; i < 3; ++i, digits /= 3) p_W(i) = lower(i) + 0.5 * (digits % 3) * (upper(i) - lower(i));
    out->triangulation_field.push_back(FigureAt(result, p_W));
  }
  const Eigen::Vector3d eye = result.rig.cameras[0].X_WC.translation();
  const double distance = options.working_distance > 0 ? options.working_distance : (middle - eye).norm();
  out->triangulation = FigureAt(result, eye + distance * (middle - eye).normalized());
  const TriangulationFigure& figure = *out->triangulation;
  if (!figure.problem.empty()) {
    findings.Add(RigVerdict::kUsable, -1, "triangulation",
                 fmt::format("a point {:.3g} m away in the middle of the filmed space cannot be measured: {}", distance, figure.problem),
                 "check the working distance; turn the cameras so that they see the same space; place them farther apart");
    return;
  }
  findings.Grade(figure.sd_along / distance, options.good_depth_sd, options.max_depth_sd, -1, "triangulation",
                 fmt::format("depth at {:.3g} m is uncertain by {:.2g} mm ({:.1f} %)", distance, 1e3 * figure.sd_along,
                             100 * figure.sd_along / distance),
                 "place the cameras farther apart (a third to the whole of the working distance), or nearer to the experiment");
}

int Rank(RigVerdict verdict) { return verdict == RigVerdict::kRefused ? 0 : verdict == RigVerdict::kUsable ? 1 : 2; }

void Conclude(const CalibrationResult& result, RigCertificate* out) {
  std::stable_sort(out->findings.begin(), out->findings.end(),
                   [](const RigFinding& a, const RigFinding& b) { return Rank(a.level) < Rank(b.level); });
  out->verdict = result.usable() ? RigVerdict::kGood : RigVerdict::kRefused;
  for (CameraCertificate& camera : out->cameras) camera.verdict = RigVerdict::kGood;
  for (const RigFinding& finding : out->findings) {
    if (Rank(finding.level) < Rank(out->verdict)) out->verdict = finding.level;
    for (int c = 0; c < static_cast<int>(out->cameras.size()); ++c)
      if ((finding.camera == c || finding.camera < 0) && Rank(finding.level) < Rank(out->cameras[c].verdict))
        out->cameras[c].verdict = finding.level;
    if (finding.level == RigVerdict::kGood || finding.advice.empty()) continue;
    if (std::find(out->advice.begin(), out->advice.end(), finding.advice) == out->advice.end()) out->advice.push_back(finding.advice);
  }
  double worst_px = 0, worst_m = 0;
  for (const CameraCertificate& camera : out->cameras) {
    worst_px = std::max(worst_px, camera.sd_pixel_90);
    worst_m = std::max(worst_m, camera.sd_across_90);
  }
  const std::string figures = fmt::format("the lenses are known to {:.2g} px, {:.2g} mm at the working distance{}", worst_px, 1e3 * worst_m,
                                          out->triangulation && out->triangulation->problem.empty()
                                              ? fmt::format("; depth to {:.2g} mm", 1e3 * out->triangulation->sd_along)
                                              : "");
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
      out->headline = "Usable with care: " + figures + ". It falls short of good because " + held(RigVerdict::kUsable) + ".";
      break;
    case RigVerdict::kRefused:
      out->headline = "Refused: " + held(RigVerdict::kRefused) + ".";
      break;
  }
  while (out->headline.size() > 1 && out->headline.back() == '.' && out->headline[out->headline.size() - 2] == '.')
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

RigCertificate CertifyRig(const CalibrationProblem& problem, const CalibrationResult& result, const std::optional<CrossValidation>& halves,
                          const RigCertificateOptions& options) {
  RigCertificate out;
  const Findings findings{&out.findings};
  FromInput(problem, findings);
  // Without a solution the poses are guesses at best, and so is what they say about depth and tilt: coverage only.
  const bool poses = result.usable() || result.status == CalibrationStatus::kUndetermined;
  out.geometry = CheckGeometry(problem, poses ? PosesInCameras(result) : BoardPoses(), options.geometry);
  for (const RigFinding& finding : out.geometry.findings) {
    // A board that was not found says more than the shots that are missing for it.
    const bool said = finding.code == "few-shots" && std::any_of(out.findings.begin(), out.findings.end(), [&](const RigFinding& other) {
                        return other.camera == finding.camera && (other.code == "board-not-found" || other.code == "mirrored");
                      });
    if (!said) out.findings.push_back(finding);
  }
  FromSolve(problem, result, options, findings);
  const double wx = result.warp.x(), wy = result.warp.y();
  out.board_warp = std::max({std::abs(wx), std::abs(wy), std::abs(wx + wy)});
  if (result.usable()) {
    for (int c = 0; c < static_cast<int>(result.rig.cameras.size()); ++c)
      out.cameras.push_back(CertifyCamera(problem, result, c, halves, options, findings));
    FillTriangulation(result, options, &out, findings);
    if (halves && !halves->usable)
      findings.Add(RigVerdict::kUsable, -1, "not-cross-validated", "the calibration could not be checked against itself: " + halves->reason,
                   "take twice as many pictures");
    const double side = Extent(problem.board).norm();
    if (side > 0 && out.board_warp > 0.01 * side)
      findings.Add(RigVerdict::kUsable, -1, "board-bent", fmt::format("the board is bent by {:.2g} mm", 1e3 * out.board_warp),
                   "glue the print onto a stiff plate, such as glass");
  }
  out.halves = halves;
  Conclude(result, &out);
  return out;
}

std::string BriefReport(const RigCertificate& certificate) {
  std::string text = certificate.headline + "\n";
  for (const CameraCertificate& c : certificate.cameras) {
    text += fmt::format("  {}: {}; noise {:.2g} px, rms {:.2g} px, {} points; lens {:.2g} px = {:.3g} mm at {:.3g} m (median)", c.name,
                        ToString(c.verdict), c.residuals.sigma, c.residuals.rms, c.residuals.n, c.sd_pixel_median, 1e3 * c.sd_across_median,
                        c.working_distance);
    text += c.model_error > 0 ? fmt::format("; model error {:.2g} px\n", c.model_error) : "\n";
  }
  if (certificate.triangulation && certificate.triangulation->problem.empty()) {
    const TriangulationFigure& t = *certificate.triangulation;
    text +=
        fmt::format("  a point {:.3g} m away: {:.2g} mm along the view, {:.2g} mm across ({:.2g} and {:.2g} mm from its pixels alone)\n",
                    t.distance, 1e3 * t.sd_along, 1e3 * t.sd_across, 1e3 * t.sd_along_pixels, 1e3 * t.sd_across_pixels);
  }
  if (certificate.halves && certificate.halves->usable) {
    for (std::size_t c = 0; c < certificate.halves->cameras.size() && c < certificate.cameras.size(); ++c)
      text += fmt::format("  {}: halves differ by {:.2g} px, {:.2g} px expected\n", certificate.cameras[c].name,
                          certificate.halves->cameras[c].rms_difference, certificate.halves->cameras[c].rms_predicted);
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
