#pragma once
// The likelihood of coefficients that vary by speed and by group, and its maximum; private to the
// impact room.
//
// Event i of group g, whose recording stands at o in the order of its group (-1/2 the first, 1/2
// the last), has friction mu + u_g + a o, restitution 1 - (1 - e - w_g - b o) (|v_n-| / v_0)^m and
// tangential restitution e_t. The offsets (u, w) of the groups are normal with variances T, which
// are fitted by restricted maximum likelihood; the offsets are integrated out by Laplace's method
// about their own best values. With T = 0 all groups are one, with T infinite each group stands
// alone. Sources: Laird and Ware, Biometrics 38 (1982) 963; Breslow and Clayton, JASA 88 (1993) 9.

#include <Eigen/Core>
#include <array>
#include <vector>

#include "impact/identify/detail/law_fit.h"
#include "impact/identify/detail/profile_interval.h"

namespace impactlab::impact {

// mu, e at the reference speed and in the middle of the order, m, e_t, and what mu and e gain from
// the first recording of a group to its last
inline constexpr int kMixedDim = 6;
inline constexpr int kChangeOfMu = 4, kChangeOfE = 5;
using MixedVector = Eigen::Matrix<double, kMixedDim, 1>;
using MixedMatrix = Eigen::Matrix<double, kMixedDim, kMixedDim>;
// Derivative of one event's impulse residual.
using MixedJac = Eigen::Matrix<double, Eigen::Dynamic, kMixedDim, 0, 3, kMixedDim>;

struct MixedTask {
  FitTask base;                 // events of all groups, their multiplicities, law and scatter
  std::vector<int> group{};     // of each event
  std::vector<double> log_v{};  // log(|v_n-| / v_0) of each event
  std::vector<double> order{};  // place of each event's recording in its group, -1/2 to 1/2
  int n_groups = 1;
  std::array<bool, kMixedDim> free{true, true};  // coefficients that all groups share
  std::array<bool, 2> offset{false, false};      // mu, e differ from group to group
  // their variance is fitted; false: the groups know nothing of each other
  std::array<bool, 2> pooled{true, true};
};

struct MixedPoint {
  MixedVector theta{0.2, 0.5, 0.0, 0.0, 0.0, 0.0};  // in the order of kMixedDim
  std::vector<Eigen::Vector2d> offset;              // of each group
  Eigen::Vector2d T{0, 0};                          // variances of the offsets between groups
  std::vector<double> log_s;                        // scatter, see FitPoint
  std::vector<EventAt> at;
  std::vector<Mat> S;
  double conditional = 0;  // half of -2 log L of the impulses given the offsets
  double cost = 0;         // half of -2 log of the marginal likelihood, offsets integrated out
  bool ok = false;
};

// Coefficients of one event.
struct EventCoefficients {
  double mu = 0, e = 0, e_t = 0;
  // derivative of (mu, e, e_t) by the coefficients of its group
  Eigen::Matrix<double, 3, kMixedDim> by_local;
};
EventCoefficients CoefficientsOf(const MixedTask& task, std::size_t event, const MixedVector& theta,
                                 const Eigen::Vector2d& offset);
ImpactModel ModelOf(const MixedTask& task, const EventCoefficients& c);
MixedJac Slope(const EventAt& at, const EventCoefficients& c);

// Optimum from `start` (theta and offsets; scatter where it has some).
MixedPoint FitMixed(const MixedTask& task, const MixedPoint& start);
// The point of least cost along one coefficient in [low, high], everything else but the scatter
// held: where events begin to stick or to spring back the likelihood has kinks that a descent in
// all coefficients may not leave.
MixedPoint ScanCoefficient(const MixedTask& task, const MixedPoint& start, int coefficient,
                           double low, double high);
// Best offsets of every group by a scan across the mode boundaries, with everything else held.
void ScanOffsets(const MixedTask& task, MixedPoint& start);

// What is known at an optimum.
struct MixedInformation {
  // of theta; zero rows where not free or not informed
  MixedMatrix covariance = MixedMatrix::Zero();
  MixedVector variance_ratio = MixedVector::Ones();  // of that over that of the curvature alone
  MixedVector dof = MixedVector::Constant(1);        // of Student's quantile
  std::array<bool, kMixedDim> informed{};
  std::vector<MixedMatrix> local;  // covariance of each group's coefficients
  // how much of its mu, e a group knows by its own events, 0 to 1
  std::vector<std::array<double, 2>> own_share;
  // effective number of coefficients, offsets included
  double parameters = 0;
};
MixedInformation InformationAt(const MixedTask& task, const MixedPoint& point);

}  // namespace impactlab::impact
