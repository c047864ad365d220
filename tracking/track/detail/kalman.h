#pragma once
// The filter behind tracking/track/tracker.h and tracking/track/smooth.cc: constant acceleration in
// the image driven by white jerk (Bar-Shalom, Li and Kirubarajan, Estimation with Applications to
// Tracking and Navigation, 2001, sec. 6.2.3), corrections in Joseph form.

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "tracking/track/tracker.h"

namespace impactlab::tracking {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

struct MarkerState {
  Vector6 x = Vector6::Zero();    // position, velocity, acceleration [px], [px/s], [px/s^2]
  Matrix6 cov = Matrix6::Zero();  // of x
  double t = 0;                   // [s]
};

// State of a marker from its first position alone.
MarkerState Start(const Eigen::Vector2d& q, const Eigen::Matrix2d& cov, double t,
                  const TrackerOptions& options);

// Adds the covariance that white jerk of spectral density `jerk` [px^2/s^5] builds up in `h` [s].
void AddJerk(double h, double jerk, Matrix6* cov);

// State at time `t`, later or earlier than now; the covariance grows either way.
void PredictState(double t, double jerk, MarkerState* state);

// A jump of velocity and acceleration at an unknown instant, evenly distributed over the last `h`
// seconds.
void OpenVelocity(double h, const TrackerOptions& options, MarkerState* state);

struct Innovation {
  Eigen::Vector2d nu = Eigen::Vector2d::Zero();       // observed - predicted [px]
  Eigen::Matrix2d inverse = Eigen::Matrix2d::Zero();  // of its covariance S
  double nis = 0;                                     // nu' S^-1 nu
  double log_det = 0;                                 // ln |S|
};
Innovation InnovationOf(const MarkerState& state, const Eigen::Vector2d& q,
                        const Eigen::Matrix2d& cov);

// P = (I - K H) P (I - K H)' + K R K': positive definite whatever the rounding of K.
void CorrectState(const Innovation& innovation, const Eigen::Matrix2d& cov, MarkerState* state);

// Spectral density of the jerk from the innovations: Fisher scoring of ln(jerk) with forgetting.
// The estimating equation is sum dS/dln(jerk) S^-1 (nu nu' - S) = 0 with the exact derivative of
// the covariance recursion (the derivative of the gain drops out of the Joseph form), followed for
// the mean of both axes.
class JerkAdaptation {
 public:
  explicit JerkAdaptation(double start) : log_jerk_(std::log(start)) {}
  double jerk() const { return std::exp(log_jerk_); }
  // With the state as predicted over `h` and the innovation that follows; `learn` is false where
  // the model does not hold (an impact).
  void Add(double h, const MarkerState& predicted, const Innovation& innovation, double r,
           bool learn);

 private:
  double log_jerk_;
  double information_ = 0.1;
  // d cov / d ln(jerk) of one axis after the last correction
  Eigen::Matrix3d slope_ = Eigen::Matrix3d::Zero();
};

// One step of Rauch, Tung and Striebel: the smoothed state at `filtered` from that at the next
// time.
MarkerState SmoothBack(const MarkerState& filtered, const MarkerState& next_smoothed, double jerk);

// Covariance of an observation with the floor added; nothing where it is unusable (not finite, not
// positive, wider than 100 px).
bool Usable(const Observation& observation);
Eigen::Matrix2d Covariance(const Observation& observation, const TrackerOptions& options);

// std::invalid_argument for an option that has no meaning.
void Check(const TrackerOptions& options);

}  // namespace impactlab::tracking
