#pragma once
// Robust least squares for the audit's sources of evidence (private to this room).
//
// Rows come in groups of equal size (one group an event or a rest). Each row has a stated standard
// deviation; an extra scatter common to all rows is estimated so that the median group is as far
// off as a normal one would be, and Student-t weights limit what few outlying groups can do. The
// result is a quadratic form, value and information matrix, which may be singular: a source need
// not determine everything that it depends on.

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

namespace impactlab::reconstruction {

struct RobustProblem {
  // number of groups and rows in each
  int groups = 0, rows = 1;
  // parameters -> groups * rows residuals
  std::function<void(const Eigen::VectorXd&, Eigen::VectorXd&)> residual;
  // stated standard deviation of every row
  Eigen::VectorXd sd;
  // parameters to fit; the others stay at `start`
  std::vector<int> active;
  // Of `active`, parameters that others can mimic over any distance: they stay near `start`, where
  // the result is linearised.
  std::vector<int> held;
  Eigen::VectorXd start, unit;  // first guess, natural size of every parameter
  Eigen::VectorXd prior_sd;     // of every parameter about 0; 0 or empty: no prior
  // of every row: rows that may share an unknown shift; empty: none
  std::vector<int> cluster;
  std::vector<int> within_clusters;  // parameters that a single cluster determines
};

struct RobustFit {
  bool usable = false;
  std::string reason;
  Eigen::VectorXd value;
  Eigen::MatrixXd information;  // of all parameters; rows of inactive ones are zero
  Eigen::VectorXd residual;
  Eigen::VectorXd weight;      // of every group, in (0, ~1]
  double scatter = 0;          // extra scatter of a row
  double cluster_scatter = 0;  // scatter of the shifts
  double typical = 0;          // robust size of a residual
  int dof = 0;
};

RobustFit FitRobust(const RobustProblem& problem);

// Inverse of an information matrix over `free` parameters, in units of `unit`, weakly limited so
// that what is not determined gets an sd of kUndetermined units instead of infinity.
inline constexpr double kUndetermined = 300;
Eigen::MatrixXd Covariance(const Eigen::MatrixXd& information, const Eigen::VectorXd& unit,
                           const std::vector<int>& free);

}  // namespace impactlab::reconstruction
