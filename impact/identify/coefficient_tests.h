#pragma once
// Bench tests for friction and restitution, as models of their readings: what uncertainty budgets
// are made with.
//
// Static friction from the tilt at which a body begins to slide: mu_s = tan(angle), the angle read
// or its sine as height over length. Kinetic friction from a slide down an incline: s = s_0 + v_0 t
// + a t^2 / 2, mu_k = tan(angle) - a / (g cos(angle)). Restitution from a drop: velocities, heights
// or the times of bounces. A body that leaves with v flies for 2 v / g, so that durations of
// successive flights go as e: T_(i+1) = e T_i. Source: Sun 2017, section 4.4 (its 4.39
// corrected).

#include <Eigen/Core>
#include <vector>

namespace impactlab {

double FrictionOfTilt(double angle);  // [rad]
// tan of the angle whose sine is height / length; NaN outside 0 to 1
double FrictionOfSine(double height, double length);
double FrictionOfSlide(double angle, double acceleration, double gravity);  // [rad], [m/s^2]
// sqrt(rebound / drop), without drag
double RestitutionOfHeights(double drop, double rebound);
double RestitutionOfVelocities(double before, double after);  // speeds, both >= 0

// Acceleration of a slide from places at times, three or more: exact with three, else by least
// squares. [m], [s]
double SlideAcceleration(const std::vector<double>& t, const std::vector<double>& s);

// A quadratic fit to a track of a slide: acceleration with the standard deviation that its
// residuals show.
struct SlideFit {
  double acceleration = 0, sd = 0;  // [m/s^2]
  double v_0 = 0;                   // at the first time [m/s]
  double rms = 0;                   // of the residuals [m]
  int dof = 0;                      // points less 3
  // of a cubic term over its standard deviation: beyond about 3 the friction is not constant
  double jerk_z = 0;
};
// Four points at least; times rise.
SlideFit FitSlide(const std::vector<double>& t, const std::vector<double>& s);

// Times of successive impacts, three or more, each with standard uncertainty u_t [s].
struct BounceFit {
  double e = 0;
  std::vector<double> ratios;  // of successive flights
  // log T_i = c + i log e by generalised least squares (neighbouring flights share an impact):
  // residuals against their uncertainty.
  double chi_square = 0;
  int dof = 0;
  double probability = 1;  // of a larger chi-square
  // change of log e from bounce to bounce, and over its standard deviation; 0 with fewer than four
  // impacts
  double drift = 0, drift_z = 0;
  Eigen::VectorXd weights;  // log e = weights . log T
};
BounceFit FitBounces(const std::vector<double>& t, double u_t);
// e of other times with the weights of a fit: the model of its budget.
double RestitutionOfBounces(const std::vector<double>& t, const Eigen::VectorXd& weights);

}  // namespace impactlab
