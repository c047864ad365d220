#pragma once
// The least squares behind FitImpactBundle: residuals with derivatives, the normal equations, and
// the solve.

#include <Eigen/Dense>
#include <array>
#include <string>
#include <vector>

#include "impact/body/body.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/pose/marker_pose_image.h"

namespace impactlab::reconstruction {

struct DropPoint {
  int index = 0;  // in the tracks
  int view = 0;   // in DropProblem::views
  int clock = 0;  // camera of the tracks, whose offset counts
  int marker = 0;
  double t = 0;  // by its own clock [s]
  Eigen::Vector2d q = Eigen::Vector2d::Zero();
  Eigen::Matrix2d root = Eigen::Matrix2d::Identity();  // of the weight
  bool used = true;
  int instant = 0;  // in DropProblem::instants
};

struct ClockState {
  double offset = 0, row_time = 0, rate = 0;
};

struct DropState {
  Eigen::Vector3d p = Eigen::Vector3d::Zero();            // at tau, in W
  Eigen::Quaterniond q = Eigen::Quaterniond::Identity();  // R_WB at tau
  // before, after; in W
  std::array<Eigen::Vector3d, 2> v = {Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
  // before, after; in B
  std::array<Eigen::Vector3d, 2> omega = {Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
  double tau = 0;
  std::vector<ClockState> clock;
  std::vector<Eigen::Vector3d> p_BM;  // of every marker
};

// One time of one clock (and one row, where row times are estimated): all that moves there.
struct Instant {
  int clock = 0;
  double t = 0, row = 0;
};

struct DropProblem {
  std::vector<View> views;
  std::vector<BodyMarker> markers;
  std::vector<DropPoint> points;
  std::vector<Instant> instants;  // by clock, then time
  Body body;
  Eigen::Vector3d gravity_W = Eigen::Vector3d::Zero();
  double t_reference = 0;  // of the rates
  double offset_sd = 0, row_time_sd = 0, rate_sd = 0, layout_sd = 0;
  std::vector<KnownDistance> distances;
  // Rotation at tau moves along these columns only, and the spin along `axis_B` has a prior, where
  // the markers are on a line.
  Eigen::Matrix<double, 3, Eigen::Dynamic> turn = Eigen::Matrix3d::Identity();
  bool has_axis = false;
  Eigen::Vector3d axis_B = Eigen::Vector3d::Zero();
  double spin_sd[2] = {0, 0};
  // How far markers may sit beside the line, along `turn`: fitted with every impact, since nobody
  // sees how the body is rolled there [m].
  double beside_sd = 0;
  // Change of the spin about the principal axis along the line, less what the impulse's moment
  // makes of it: principal_B . (w+ - w-) - by_push_W . (v+ - v-) is zero to moment_sd; 0: not
  // known.
  double moment_sd = 0;
  Eigen::Vector3d principal_B = Eigen::Vector3d::Zero(), by_push_W = Eigen::Vector3d::Zero();
  int clocks() const;
  bool free_offset(int clock) const { return offset_sd > 0 && clock > 0; }
  bool free_clocks() const { return offset_sd > 0 || row_time_sd > 0 || rate_sd > 0; }
  bool free_layout() const { return layout_sd > 0; }
  bool beside() const { return beside_sd > 0 && !free_layout(); }
  double Time(const ClockState& clock, double t, double row) const {
    return t + clock.offset + clock.row_time * row + clock.rate * (t - t_reference);
  }
};

// Sets the lever of the moment for a body that strikes as `q` has it a floor with normal n.
void SetPush(DropProblem* problem, const Eigen::Quaterniond& q, const Eigen::Vector3d& n);

// Sorts the instants of the points and links both.
void LinkInstants(DropProblem* problem);

// Where the body is at every instant, and how that follows the state.
struct BodyAt {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  double s = 0;                             // since tau
  int arc = 0;                              // 0 before, 1 after
  Eigen::Matrix3d dphi_dturn, dphi_domega;  // body-side rotation now by rotation and spin at tau
  Eigen::Vector3d velocity, omega_B;        // now
};
std::vector<BodyAt> FollowStates(const DropProblem& problem, const DropState& state);

// Residual of one point and its derivatives: the 19 of DropCovariance, the time of its picture, the
// centre of its marker.
struct PointRow {
  Eigen::Vector2d r;
  Eigen::Matrix<double, 2, kDropDim> by_state;
  Eigen::Vector2d by_time;
  Eigen::Matrix<double, 2, 3> by_marker;
};
// False where it has no image.
bool RowOf(const DropProblem& problem, const DropPoint& point, const BodyAt& at,
           const Eigen::Vector3d& p_BM, bool derivatives, PointRow* row);

// Solve with a robust loss (`robust` standard deviations; 0: none). False where it did not
// converge.
bool SolveDrop(const DropProblem& problem, double robust, DropState* state, int* iterations);

// Places of the parameters of the normal equations: the 19 of DropCovariance, then clock after
// clock what is free of it, then three a marker where the layout is free, or two where markers may
// sit beside their line. -1: not free.
struct DropPlaces {
  std::vector<int> offset, row_time, rate;  // of every clock
  int clocks_end = kDropDim;
  int size = kDropDim;
  int per_marker = 0;
  int Marker(int m) const { return per_marker > 0 ? clocks_end + per_marker * m : -1; }
};
DropPlaces PlacesOf(const DropProblem& problem, int clocks);

// Normal equations of the points used and the priors at a state.
struct DropNormal {
  bool valid = false;
  Eigen::MatrixXd information;  // 19 + ...
  // What is given and not fitted: the parameters of the rig, then three a marker where the layout
  // is not free.
  Eigen::MatrixXd by_given;           // J' W dq_dgiven
  Eigen::MatrixXd given_information;  // (dq_dgiven)' W dq_dgiven of the points
  Eigen::VectorXd given_gradient;     // (dq_dgiven)' W r
  double chi_square = 0;
  double arc_chi_square[2] = {0, 0};
  int arc_residuals[2] = {0, 0};
  int residuals = 0, parameters = 0;  // parameters that are free
};
DropNormal NormalEquations(const DropProblem& problem, const DropState& state, int rig_size);

// Inverse over the free parameters; columns that are fixed are 0. A leading block of the
// information gives the inverse with the parameters behind it held. False where it has none.
bool InvertNormal(const DropProblem& problem, const Eigen::MatrixXd& information,
                  Eigen::MatrixXd* inverse);

}  // namespace impactlab::reconstruction
