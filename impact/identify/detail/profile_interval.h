#pragma once
// Uncertainty of a fit: covariance, calibrated profile intervals, leave-one-out shifts and the
// bootstrap; private to the impact room.

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "impact/identify/detail/law_fit.h"

namespace impactlab::impact {

// Inverse of H on the parameters that have curvature, zero elsewhere and where they cannot be told
// apart.
Eigen::MatrixXd InverseWhere(const Eigen::MatrixXd& H, const std::vector<bool>& informed);

// What one cluster of observations (a recording, a group) adds to the score and to the curvature of
// half the deviance.
struct ClusterShare {
  Eigen::VectorXd score;
  Eigen::MatrixXd curvature;
};

inline constexpr double kLeastDof = 3;
// Covariance of parameters by the leave-one-cluster-out jackknife to first order (a sandwich with
// its small-sample correction), cut short to `by_model` where few clusters inform a parameter and
// by the share of the variance that is scatter, with the degrees of freedom behind it, `least_dof`
// at least.
struct ClusterCovariance {
  Eigen::MatrixXd covariance;
  Eigen::VectorXd variance_ratio;  // over that of the curvature alone
  Eigen::VectorXd dof;
};
ClusterCovariance CovarianceOfClusters(const Eigen::MatrixXd& curvature,
                                       const std::vector<bool>& informed,
                                       const std::vector<ClusterShare>& clusters,
                                       const Eigen::MatrixXd& by_model, double scatter_share,
                                       const Eigen::VectorXd& model_dof,
                                       const Eigen::VectorXd& least_dof);

// Share of an event's variance that is scatter.
double ScatterShare(const PreparedEvent& event, const EventAt& at, const Mat& S);

// Information of the events on (mu, e), and e_t where it is free, near an optimum. The covariance
// is that of clusters, the recordings: it holds whatever the scatter's distribution, also where
// sliding events scatter otherwise than sticking ones. Where measurement noise explains the
// residuals its known size is used instead, in proportion.
struct Information {
  Mat curvature;  // of half the deviance by the coefficients
  // total; zero rows for a parameter without curvature
  Mat covariance;
  std::vector<Vec> score;  // of each event
  std::vector<Mat> event_curvature;
  std::vector<bool> informed;          // has curvature
  std::vector<double> variance_ratio;  // covariance over that of the curvature alone
  // effective recordings behind the covariance, minus 1
  std::vector<double> dof;
  // that tell one scatter, and the coefficients that take from them
  double residuals = 1, fitted = 1;
  // share of the variance that is scatter, not measurement noise
  double scatter_share = 0;
  // of few events only: the squares behind each variance, in units of what the noise gives (see
  // QuantileWithUnknownScatter)
  std::vector<double> square{};
};
Information InformationAt(const FitTask& task, const FitPoint& point);

// Covariance of the coefficients from the measurement noise alone, at the optimum.
Eigen::MatrixXd NoiseOnlyCovariance(const FitTask& task, const FitPoint& point);

// Deviance at the ends of the 95 % interval of parameter k, or of that between other quantiles:
// what normal residuals of unknown variance need so that a likelihood interval is Student's, with
// the variance and degrees of freedom of `information`.
double IntervalThreshold(const Information& information, int k, double quantile = 0.975);

// How much an interval is one of unknown variance (1) or of known noise (0).
double ScatterWeight(const Information& information);

// Student's quantile that goes with that threshold.
double IntervalQuantile(const Information& information, int k, double quantile = 0.975);

// Profile of the deviance over one parameter (0 mu, 1 e, 2 e_t).
class Profile {
 public:
  Profile(const FitTask& task, const FitPoint& best, int parameter);
  // >= 0; continues from the nearest point already computed.
  double operator()(double value);
  // What goes with IntervalThreshold: where measurement noise explains the residuals the scatter
  // may not grow, for it would make a wrong value look likely; where scatter does, it is fitted
  // anew; in proportion between.
  double Calibrated(double value, const Information& information);
  // Lowest point met, when it lies below the optimum it was given.
  bool FoundBetter(FitPoint& point) const;

 private:
  const FitPoint& Nearest(double value) const;
  // Fit with the parameter at `value`, from the nearest point or its scatter.
  FitPoint FitAt(const FitTask& task, FitPoint start, double value) const;

  const FitTask& task_;
  const FitPoint& best_;
  int parameter_;
  std::vector<FitPoint> points_;
  std::vector<std::pair<double, double>> known_, held_;
};

struct ProfileInterval {
  double lower = 0, upper = 0;
  // the deviance stays below the threshold up to the bound
  bool lower_open = false, upper_open = false;
};
// Outermost crossings of `threshold` by a deviance that is 0 at `centre`, between the bounds:
// `levels` are tried beyond the first crossing on either side, for a profile with more than one
// valley.
ProfileInterval FindInterval(const std::function<double(double)>& profile, double centre,
                             double lower_bound, double upper_bound, double step, double threshold,
                             const std::vector<double>& levels);

// Shift of the coefficients when an event is left out.
Eigen::VectorXd LeaveOneOut(const Information& information, int event);

// Standard deviations of the coefficients over resamples of whole recordings.
std::vector<double> BootstrapOverRecordings(const FitTask& task, const FitPoint& best,
                                            int resamples, std::uint64_t seed,
                                            const std::function<void(double)>& progress);

}  // namespace impactlab::impact
