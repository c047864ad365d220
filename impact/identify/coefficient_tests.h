#pragma once
// Bench tests for friction and restitution, as models of their readings: what uncertainty budgets
// are made with.
//
// Static friction from the tilt at which a body begins to slide: mu_s = tan(angle), the angle read
// or its sine as height over length; or from the pull that sets it going on a level table. Kinetic
// friction from the acceleration a of a slide along its own motion, s = s_0 + v_0 t + a t^2 / 2:
// down an incline mu_k = tan(angle) - a / (g cos(angle)), up it mu_k = -tan(angle) - a / (g
// cos(angle)), on a level table -a / g. Restitution from a drop: velocities, heights or the times
// of bounces. A body that leaves with v flies for 2 v / g, so that durations of successive flights
// go as e: T_(i+1) = e T_i. Drag k v^2 against the motion [k in 1/m] makes heights
// e^2 = (exp(2 k h_r) - 1) / (1 - exp(-2 k h)). Source: Sun 2017, section 4.4 (its 4.39
// corrected); Timmerman and van der Weele, Am. J. Phys. 67 (1999) 538 (falls with drag).

#include <Eigen/Core>
#include <vector>

namespace impactlab {

double FrictionOfTilt(double angle);  // [rad]
// tan of the angle whose sine is height / length; NaN outside 0 to 1
double FrictionOfSine(double height, double length);
double FrictionOfSlide(double angle, double acceleration, double gravity);  // [rad], [m/s^2]
// The same on the way up, where friction and gravity both hold back.
double FrictionOfSlideUp(double angle, double acceleration, double gravity);
// Pushed up an incline and sliding back, accelerations along the motion of either way [m/s^2]:
// tan(angle) times minus their sum over the backward less the upward one. Neither gravity nor the
// scale of lengths enters.
double FrictionThereAndBack(double angle, double up, double back);
// Pulled up an incline (level: angle 0) by a weight that hangs from a thread over a pulley without
// mass: (M g - (m + M) a - m g sin(angle)) / (m g cos(angle)). [kg], [rad], [m/s^2]
double FrictionOfHangingWeight(double mass, double hanging, double angle, double acceleration,
                               double gravity);
// A level pull, at which a body on a level table begins to slide or slides evenly: F / (m g). [N]
double FrictionOfPull(double force, double mass, double gravity);
// sqrt(rebound / drop), with drag `drag` [1/m]
double RestitutionOfHeights(double drop, double rebound, double drag = 0);
// Of a ball on a free target at rest: e = e_A (1 + r) + r, e_A the ball's speed backward over its
// speed before, r the ball's mass over the target's.
double RestitutionOfRecoil(double apparent, double mass_ratio);
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
  // by which that term moves the acceleration between the middle of the track and its ends [m/s^2]
  double change = 0;
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

// How coefficients measured at several speeds go with the speed v: one value, or the line
// e_0 + slope (v - v_0) about the geometric mean v_0 of the speeds, by generalised least squares.
struct SpeedTrend {
  double v_0 = 0;  // [m/s]
  // One value: its weights (value = weights . e), its sd, and how well it describes the readings.
  Eigen::VectorXd weights;
  double value = 0, sd = 0, chi_square = 0, probability = 1;
  int dof = 0;
  // The line; of two values or of one speed there is none, and `slope_sd` is 0.
  Eigen::VectorXd line_weights, slope_weights;
  double line_value = 0, line_sd = 0, slope = 0, slope_sd = 0;
  double line_chi_square = 0, line_probability = 1;
  int line_dof = 0;
};
// `cov` is the covariance of the values (regular), two or more; speeds are above 0.
SpeedTrend FitSpeedTrend(const std::vector<double>& speed, const std::vector<double>& e,
                         const Eigen::MatrixXd& cov);

}  // namespace impactlab
