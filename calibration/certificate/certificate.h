#pragma once
// Assessment of a calibration: its uncertainty in pixels and in metres, and a verdict with reasons.
//
// Sampling error is the effect of the noise of the points on the cameras, given by the covariance.
// Model error is a property of the lens or the board that the model does not contain; the
// covariance does not include it. It is detected by residuals that depend on the position in the
// image, and by two halves of the shots, solved separately, whose cameras differ by more than their
// covariances allow.
//
// Projection uncertainty. A camera's intrinsics and its pose are confounded: a shifted principal
// point is nearly a turned camera. Moving the intrinsics by d therefore goes with the small rigid
// motion M(d) of the camera that best undoes d at the board points this camera measured (weighted
// least squares in the image). The uncertainty at a pixel q and a distance r is the covariance of
// the image of the point at r along the ray of q under d and M(d) together; at infinity only the
// rotation of M counts. mrcal's projection uncertainty is the same quantity
// (mrcal.secretsauce.net/uncertainty.html); the reported number is, as there, the standard
// deviation along the worst direction.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "calibration/solve/calibrate.h"
#include "calibration/solve/geometry_check.h"

namespace impactlab {

// Over a regular grid of pixels, row by row from the top left; invalid where the pixel has no ray.
struct UncertaintyMap {
  int columns = 0, rows = 0;
  double distance = 0;             // [m]; infinity allowed
  std::vector<Eigen::Vector2d> q;  // [px]
  std::vector<char> valid;         // the pixel has a ray
  // inside the convex hull of the points this camera measured: elsewhere the model extrapolates
  std::vector<char> covered;
  std::vector<Eigen::Matrix2d> cov;  // [px^2]
  std::vector<double> sd_pixel;      // worst direction [px]
  // worst direction across the ray at the distance [m] ([rad] at infinity)
  std::vector<double> sd_across;
};
// Grid of `columns` x `rows` from corner to corner of the image.
UncertaintyMap ProjectionUncertainty(const CalibrationResult& result, int camera, double distance,
                                     int columns = 25, int rows = 19);

// Residuals of the inliers, predicted - observed, divided by their standard deviation where
// "normalised".
struct ResidualCell {
  Eigen::Vector2d centre = Eigen::Vector2d::Zero();  // [px]
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();    // weighted mean residual [px]
  // of each coordinate of the mean, fit not accounted for [px]
  double se = 0;
  int n = 0;
};
struct RadialBin {
  double radius_lower = 0, radius_upper = 0;  // distance from the principal point [px]
  // of the residual along the radius, outwards positive [px]
  double mean = 0, se = 0;
  double mean_across = 0;  // across it [px]
  int n = 0;
};
struct ResidualStatistics {
  int n = 0, n_outliers = 0;
  double sigma = 0;  // of a coordinate at relative sd 1 [px]
  double rms = 0;    // sqrt(sum |r|^2 / n) [px]
  // by shot; NaN where this camera saw nothing [px]
  std::vector<double> shot_rms;
  // of the normalised residuals, both coordinates
  double histogram_lower = -5, histogram_upper = 5;
  std::vector<int> histogram;           // equal bins; the tails go to the outer ones
  int cell_columns = 0, cell_rows = 0;  //
  std::vector<ResidualCell> cells;      // field of mean residuals, row by row
  std::vector<RadialBin> radial;
  // Mean residuals of the cells against 0 with their full covariance (what the fit has taken out
  // included): the chance of a field as structured as this from noise alone. `structure` is the rms
  // of the mean residual field beyond noise [px].
  double structure_chi_square = 0, structure_p = 1, structure = 0;
  int structure_dof = 0;
};
ResidualStatistics SummariseResiduals(const CalibrationProblem& problem,
                                      const CalibrationResult& result, int camera);

// Two halves of the shots (alternating) solved apart.
struct CrossValidation {
  bool usable = false;
  std::string reason;
  struct PerCamera {
    UncertaintyMap map;                       // grid and validity; cov: predicted of the difference
    std::vector<Eigen::Vector2d> difference;  // second - first half, implied motion removed [px]
    // over the covered grid, one coordinate pair: sqrt(mean |d|^2) [px]
    double rms_difference = 0;
    double rms_predicted = 0;  // the same from the covariances [px]
    double ratio = 0;          // of the two: 1 expected
    double p = 1;              // chance of a ratio this large from sampling alone
    // sqrt(max(0, difference^2 - predicted^2) / 2): what one half carries beyond sampling [px]
    double model_error = 0;
  };
  std::vector<PerCamera> cameras;
};
CrossValidation CrossValidate(const CalibrationProblem& problem, const CalibrationResult& whole,
                              const CalibrationOptions& options = {}, double distance = 0);
// The same from two results over the same cameras.
CrossValidation CompareHalves(const CalibrationResult& whole, const CalibrationResult& first,
                              const CalibrationResult& second, double distance);

struct RigCertificateOptions {
  // Where the experiment will be, from the camera [m]. 0: median distance of the board points.
  double working_distance = 0;
  // Uncertainty at the working distance over the covered part of the image, 90 % of it below:
  // corners are found to about 0.1 px and markers to 0.05 px, so a lens uncertainty well below that
  // costs nothing and one of a whole pixel dominates every later figure.
  double good_pixel_sd = 0.2, max_pixel_sd = 2;
  double good_model_error = 0.2, max_model_error = 1.5;  // [px], same reasoning
  // significance level for a pattern of the residuals or a difference of the halves
  double significance = 1e-3;
  // ratio of the difference of the halves to its expectation above which the camera changed between
  // the pictures
  double max_halves_ratio = 10;
  double good_outliers = 0.05, max_outliers = 0.25;  // share of points left out
  // noise of the points [px]; more means blur, a bent board or a wrong lens model
  double good_sigma = 0.7, max_sigma = 3;
  // triangulation at the working distance, relative to it
  double good_depth_sd = 0.005, max_depth_sd = 0.1;
  GeometryOptions geometry;
};

struct CameraCertificate {
  std::string name;
  RigVerdict verdict = RigVerdict::kRefused;
  double working_distance = 0;  // [m]
  UncertaintyMap at_distance;   // at the working distance
  UncertaintyMap at_infinity;
  // over the covered part, at the working distance [px]
  double sd_pixel_median = 0, sd_pixel_90 = 0;
  double sd_across_median = 0, sd_across_90 = 0;  // [m]
  // the 90 % figures and the model error together, root of the squares [px], [m]
  double total_pixel = 0, total_across = 0;
  // rms over the covered part [px]; model error: the larger of the two estimates, 0 where not
  double sampling_error = 0, model_error = 0;
  std::string model_error_source;  // significant: "halves", "residuals" or empty
  ResidualStatistics residuals;
};

// A point seen by all cameras (or by two at least), as the rig will measure it.
struct TriangulationFigure {
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // [m]
  double distance = 0;                            // from the first camera that sees it [m]
  // along the first camera's ray; worst direction across it [m]
  double sd_along = 0, sd_across = 0;
  // part of that from the pixels alone (0.1 px, or the noise of the points)
  double sd_along_pixels = 0, sd_across_pixels = 0;
  // contribution of the model error of the lenses; 0 where none is significant
  double sd_along_model = 0, sd_across_model = 0;
  // why not measurable there; the figures are then 0
  std::string problem;
};

struct RigCertificate {
  RigVerdict verdict = RigVerdict::kRefused;
  std::string headline;  // one sentence
  std::vector<RigFinding>
      findings;  // worst first; among equals the one that invalidates most of the others
  std::vector<std::string> advice;  // what to film next, most useful first, no repeats
  GeometryCheck geometry;
  std::vector<CameraCertificate> cameras;  // empty when there is no solution
  // at the working distance; nothing for one camera
  std::optional<TriangulationFigure> triangulation;
  std::vector<TriangulationFigure> triangulation_field;  // over the volume the boards filled
  std::optional<CrossValidation> halves;
  double board_warp = 0;  // largest departure of the board from a plane [m]
};

RigCertificate CertifyRig(const CalibrationProblem& problem, const CalibrationResult& result,
                          const std::optional<CrossValidation>& halves = {},
                          const RigCertificateOptions& options = {});

// A few lines for the terminal: verdict, figures, reasons, advice.
std::string BriefReport(const RigCertificate& certificate);

}  // namespace impactlab
