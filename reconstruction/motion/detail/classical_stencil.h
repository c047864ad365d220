#pragma once
// Weights that turn samples at given times into the value and the rate at another. Private to the
// classical estimators.

#include <Eigen/Core>
#include <vector>

namespace impactlab::reconstruction {

struct Stencil {
  double t = 0;                 // of the estimate [s]
  Eigen::VectorXd value, rate;  // weights of the samples
  // of the rate beyond the samples' noise: the smoother's process noise
  double variance_rate = 0;
};

// Slope at `t` of the polynomial through all samples.
Stencil Interpolation(const std::vector<double>& times, double t);
// Value and slope at `t` of the polynomial of least squares.
Stencil Polynomial(const std::vector<double>& times, int degree, double t);

// Smoother of constant acceleration with white jerk. `samples`: a row a time, equal noise
// `variance` in all columns.
struct Smoothed {
  Stencil at;
  double jerk = 0;  // spectral density used
};
// Evaluated at `t`, from the smoothed state of sample `edge`; jerk 0: the likeliest of a grid. At
// least four samples.
Smoothed Smooth(const std::vector<double>& times, const Eigen::MatrixX3d& samples, double variance,
                double jerk, int edge, double t);

}  // namespace impactlab::reconstruction
