#pragma once
// Uncertainty of a fit: covariance, calibrated profile intervals, leave-one-out shifts and the bootstrap; private to the impact room.

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "impact/identify_fit.h"

namespace impactlab::internal {

// What the events say about (mu, e) near an optimum.
struct Information {
  Eigen::Matrix2d curvature = Eigen::Matrix2d::Zero();   // of half the deviance by (mu, e)
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();  // total; zero rows for a parameter without curvature
  std::vector<Eigen::Vector2d> score;                    // of each event
  std::vector<Eigen::Matrix2d> event_curvature;
  std::array<bool, 2> informed{};              // has curvature
  std::array<double, 2> deviance_scale{1, 1};  // the raw deviance of a parameter times this is calibrated
  double scatter_share = 0;                    // share of the variance that is scatter, not measurement noise
  int n_clusters = 0;                          // recordings
};
Information InformationAt(const FitTask& task, const FitPoint& point);

// Covariance of (mu, e) from the measurement noise alone, at the optimum.
Eigen::Matrix2d NoiseOnlyCovariance(const FitTask& task, const FitPoint& point);

// Deviance at the ends of the 95 % interval of a mean: that of Student's t where the variance comes from n events, of the normal where it
// is known; between them by the share of the variance that has to be estimated.
double IntervalThreshold(int n, double scatter_share);

// Profile of the calibrated deviance over one parameter (0 mu, 1 e).
class Profile {
 public:
  Profile(const FitTask& task, const FitPoint& best, const Information& information, int parameter);
  // >= 0; continues from the nearest point already computed.
  double operator()(double value);
  double best_value() const { return parameter_ == 0 ? best_.mu : best_.e; }
  // Lowest point met, when it lies below the optimum it was given.
  bool FoundBetter(FitPoint& point) const;

 private:
  const FitTask& task_;
  const FitPoint& best_;
  int parameter_;
  double scale_;
  std::vector<FitPoint> points_;
  std::vector<std::pair<double, double>> known_;
};

struct ProfileInterval {
  double lower = 0, upper = 0;
  bool lower_open = false, upper_open = false;  // the deviance stays below the threshold up to the bound
};
// Outermost crossings of `threshold` between the bounds: `levels` are tried beyond the first crossing on either side, for a profile with
// more than one valley.
ProfileInterval FindInterval(Profile& profile, double lower_bound, double upper_bound, double step, double threshold,
                             const std::vector<double>& levels);

// Shift of (mu, e) when an event is left out.
Eigen::Vector2d LeaveOneOut(const Information& information, int event);

// Standard deviations of (mu, e) over resamples of whole recordings.
std::vector<double> BootstrapOverRecordings(const FitTask& task, const FitPoint& best, int resamples, std::uint64_t seed,
                                            const std::function<void(double)>& progress);

}  // namespace impactlab::internal
