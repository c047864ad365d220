#pragma once
// Impacts of one tracked body on another: an object on a free plate or bat, or on a plate that
// swings about a fixed axis.
//
// Both bodies are followed (poses of their own), the contact plane is fixed to body 2. Before and
// after the impact each moves by the equations of Newton and Euler - freely, or about its axis
// under gravity - and all four motions share one impact time, at which the poses of both bodies are
// continuous. The two-body laws need the relative velocity of the two contact points and the sum of
// both inverse masses at the contact (Stronge, Impact Mechanics, 2000, ch. 4): with P common, J on
// body 1 and -J on body 2,
//
//     v_rel = v_1 + omega_1 x r_1 - (v_2 + omega_2 x r_2),
//     v_rel_plus = v_rel_minus + (A_1 + A_2) J,
//
// A_2 = (u x r)(u x r)^T / I_u for a body on an axis u, r from the axis, I_u about it. The event is
// given in the frame that moves evenly with body 2's contact point just before the impact and turns
// with its attitude: there v_minus, v_plus are those of body 1 less u_2_minus, the impulse is still
// m_1 (v_plus - v_minus), and its covariance holds what is not known of body 2. A_F is the sum; its
// dependence on the lever of body 2 is not in the covariance.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

// A fixed axis about which body 2 turns without friction.
struct FixedAxis {
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();      // a point of it [m]
  Eigen::Vector3d axis_W = Eigen::Vector3d::UnitY();  // any length
  // about it, as measured [kg m^2]; 0: from the body's own
  double inertia = 0;
};

struct StruckBody {
  Body body;                      // mass and inertia count
  Plane surface_B;                // in its frame B, normal out of it
  std::optional<FixedAxis> axis;  // nothing: it is free
  // noise of its poses [m], [rad]; 0: as the options say
  double sigma_position = 0, sigma_angle = 0;
};

// Inverse mass of body 2 at a contact [1/kg]; singular for a body on an axis.
Eigen::Matrix3d StruckInverseMass(const StruckBody& struck, const Eigen::Isometry3d& X_WB,
                                  const Eigen::Isometry3d& X_WF);

struct TwoBodyEvent {
  ImpactEvent event;  // of body 1 against body 2 (`struck`), for Identify with body 1
  // Momentum that does not close: m_1 dv_1 + m_2 dv_2 in W [N s], or on an axis I_u dw + u . (r x
  // m_1 dv_1) [N m s], and its covariance. No law enters. Its chi-square is the event's.
  Eigen::VectorXd closure;
  Eigen::MatrixXd cov_closure;
  double gap_chi_square = 0;  // of the poses at the common time
  int gap_dof = 0;
};

// Every impact of body 1 on the surface of body 2: breaks between its flights at which the two
// touch. Both recordings are on one clock (t of body 2 need not be those of body 1) and spatial.
// Noise scales, limits and gravity are those of `options`; without sigma_* they are estimated for
// each body from its flights (on an axis from the residuals of its arcs). ConfigError for planar
// bodies or an axis of no length.
std::vector<TwoBodyEvent> FitTwoBodies(const PoseRecording& first, const Body& body,
                                       const PoseRecording& second, const StruckBody& struck,
                                       const MotionFitOptions& options = {});

}  // namespace impactlab
