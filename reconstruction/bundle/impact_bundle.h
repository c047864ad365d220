#pragma once
// Impact-aware bundle fit: the images of all markers in all cameras around one impact, explained by
// two flights that meet.
//
// Unknown are the time tau of the impact, the pose at tau common to both flights, velocity and spin
// just before and just after, and on request the clocks of the cameras (offset, rate, row time of a
// rolling shutter) and the layout of the markers. Between impacts the body moves as Newton and
// Euler say: the centre under gravity, the rotation free of torque. Residuals are pixels, weighted
// with the covariance of every point; the covariance of the result is that of the least squares,
// with the errors of the rig carried through.
//
// A point of camera c at time t and row y of its picture was seen at t + offset_c + row_time_c y +
// rate_c (t - t_ref), t_ref about that of the impact (ImpactBundle::t_reference). Times of results
// are on that clock: the first camera's, where its row time is right.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "impact/body/event.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/marker_pose.h"
#include "tracking/track/tracks.h"

namespace impactlab {

// A distance between two markers that was measured: the scale where the layout is learned.
struct KnownDistance {
  int marker1 = 0, marker2 = 0;  // in the layout
  double distance = 0, sd = 0;   // [m]
};

// How well a layout is known that is given and not fitted: its errors count in the covariance, like
// the rig's, but no fit moves it.
struct LayoutKnowledge {
  Eigen::MatrixXd cov;  // of the markers' places, 3 n x 3 n [m^2]; empty: exact
  // 3 n x parameters of the rig: how the layout follows the rig that it was learned with; empty:
  // not at all
  Eigen::MatrixXd by_rig;
};

struct ImpactBundleOptions {
  // Gravity, arcs (min_frames, max_frames), what may be lost at an impact and the limits by which
  // an event is accepted. Drag, lost frames, contact frames and noise scales play no part here.
  MotionFitOptions motion;
  // about, within a frame or two [s]; else from the tracks' own impact flags, else from the motion
  std::optional<double> t_impact;
  // only points between these times [s]: the flights before and after the impact
  double t_begin = -1e300;
  double t_end = 1e300;
  // points within half of this of the impact are left out: they saw both flights [s]
  double exposure = 0;
  // how long the body touches: points within half of it are left out too [s]
  double contact_time = 0;
  // added to every image point, independent: what its covariance does not know [px]
  double pixel_sd = 0;
  // widen the covariance by the residuals where they are larger than the stated noise, beyond
  // chance (1 %)
  bool scale_noise = true;
  // residuals so many times their noise are no two free flights: the impact is not accepted
  double max_noise_scale = 4;
  // points further off than this, in standard deviations of two coordinates, are left out of the
  // last fit
  double outlier_sd = 4;
  // Standard deviations of what else may be wrong; 0: it is right. Offsets are first sought over
  // three of theirs, on a grid by how well the rays of the cameras meet, so that several frames may
  // be missing between two cameras.
  double offset_sd = 0;  // of the clock of every camera after the first [s]
  // of the time between two rows, of every camera, beyond the row time that the points' times hold
  // already [s]
  double row_time_sd = 0;
  double rate_sd = 0;      // of the rate of the clock of every camera, relative
  double layout_sd = 0;    // of every coordinate of the layout, fitted with every impact [m]
  LayoutKnowledge layout;  // counts only where layout_sd is 0
  std::vector<KnownDistance> distances;  // count only where layout_sd is above 0
  // Markers within this of a line, or within three layout_sd (and 3 % of their length), are on it:
  // rotation about it is not seen [m]. The roll is then a convention and the spin about the axis
  // has a prior: before the impact (a release at rest) and after it.
  double collinear_tolerance = 5e-4;
  double spin_axis_prior_sd = 1;        // [rad/s]
  double spin_axis_prior_sd_plus = 30;  // friction at the impact may set the body spinning [rad/s]
  // What it changes by is the moment of the impulse about the axis, if the body touches with its
  // lowest point and that is no more than a point: to so much [rad/s]. Counts where the line is a
  // principal axis.
  double spin_axis_moment_sd = 3;
  bool rig_covariance = true;  // count the rig's errors in the covariance
};

// How one point fared.
struct DropResidual {
  int point = 0;                                // in MarkerTracks::points
  Eigen::Vector2d r = Eigen::Vector2d::Zero();  // image by the fit less image [px]
  double distance = 0;                          // in standard deviations
  bool after = false;                           // of the impact
  bool used = false;                            // false: an outlier
};

// Order of the states in ImpactBundle::cov: position and body-side rotation at tau, then velocity
// in W and spin in B before, the same after, tau.
inline constexpr int kDropPose = 0, kDropMinus = 6, kDropPlus = 12, kDropTime = 18, kDropDim = 19;
using DropCovariance = Eigen::Matrix<double, kDropDim, kDropDim>;

struct ImpactBundle {
  bool usable = false;
  std::string reason;  // why there is no event at all: too few points, no start, not converged, ...
  // States in W, contact and joint covariance; accepted or rejected by the criteria of the motion
  // fit.
  ImpactEvent event;
  DropCovariance cov = DropCovariance::Zero();  // everything
  // all but the rig and a given layout: pixels (and priors), clocks
  DropCovariance cov_pixels = DropCovariance::Zero();
  // as event.cov, from cov_pixels: what differs from impact to impact
  EventCovariance event_cov_noise = EventCovariance::Zero();
  // Shares of `cov`, which is their sum: pixels and the prior of the spin, were all else known;
  // clocks; layout; rig.
  DropCovariance share_pixels = DropCovariance::Zero(), share_clocks = DropCovariance::Zero(),
                 share_layout = DropCovariance::Zero(), share_rig = DropCovariance::Zero();
  // with the layout following the rig as LayoutKnowledge says
  Eigen::Matrix<double, kDropDim, Eigen::Dynamic> dx_drig;
  // 3 a marker; empty where the layout was fitted
  Eigen::Matrix<double, kDropDim, Eigen::Dynamic> dx_dlayout;
  // False: the markers lie on a line through axis_B; roll is a convention and the spin about it the
  // prior's.
  bool observable = true;
  Eigen::Vector3d axis_B = Eigen::Vector3d::Zero();
  // Of every camera of the tracks; 0 where not estimated.
  std::vector<double> offset, sd_offset;  // added to its times [s]; 0 for the first
  // added to the row time that its points' times hold [s]
  std::vector<double> row_time, sd_row_time;
  std::vector<double> rate, sd_rate;
  double t_reference = 0;               // at which a rate has no effect [s]
  std::vector<Eigen::Vector3d> layout;  // p_BM as estimated [m]
  // 3 n x 3 n, everything; empty where the layout was not estimated
  Eigen::MatrixXd cov_layout;
  // Information of this impact on a layout that was given, states and clocks eliminated:
  // information, half the gradient of the chi-square, and the information that it shares with the
  // rig (see LearnLayout); empty where the layout was fitted.
  Eigen::MatrixXd layout_information, layout_rig_information;
  Eigen::VectorXd layout_gradient;
  double chi_square = 0;  // of the points used, priors included
  int dof = 0;
  double noise_scale = 1;  // by which standard deviations were widened
  std::vector<DropResidual> residuals;
  int outliers = 0, iterations = 0;
  std::vector<std::string> notes;
};

// `markers`: the layout, one a name of `tracks.markers` in its order; names behind it are passed
// over. Cameras of the tracks are found in the rig by name. Points that were predicted or found to
// be outliers are passed over; those placed by hand are used. ConfigError for a camera the rig has
// not, a planar body, drag, or options without meaning.
ImpactBundle FitImpactBundle(const MarkerTracks& tracks, const CameraRig& rig,
                             const std::vector<BodyMarker>& markers, const Body& body,
                             const Plane& floor, const ImpactBundleOptions& options = {});

// Every impact of a recording, in order of time, `event.impact` counted from 0: each with the
// flights up to its neighbours. Impacts are those of the motion (see FitMotion) and, where it shows
// neither flight nor impact, those that the tracks flag; what is no push off the floor is none.
// Impacts whose flight between them is shorter than motion.min_frames are not usable, and so are
// contacts that do not end in free flight: they keep their place with reason and time. One unusable
// fit says so where there is no impact at all. At most motion.first_impacts where that is above 0;
// options.t_impact has no meaning here. Clocks and layout are estimated anew for each impact.
std::vector<ImpactBundle> FitImpactBundles(const MarkerTracks& tracks, const CameraRig& rig,
                                           const std::vector<BodyMarker>& markers, const Body& body,
                                           const Plane& floor,
                                           const ImpactBundleOptions& options = {});

}  // namespace impactlab
