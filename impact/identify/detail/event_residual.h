#pragma once
// One event as identification sees it; private to the impact room.
//
// Everything is measured in the event's own units: impulse over p = |v_n-| / A_nn (the effective
// normal momentum), couple over p k with k the radius of gyration. The residual of an event is its
// measured minus its predicted impulse wrench about the contact point. The predicted couple is zero
// for every (mu, e), so the measured couple z_c carries no information on them except through the
// noise it shares with the impulse; the impulse is therefore used conditionally on the couple: r =
// z_J - z_J(mu, e) - K z_c with K = N_Jc (N_cc + s_c^2)^-1. Where the couple scatters far more than
// the pixels explain, K vanishes and momentum that does not close costs the impulse nothing.

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "impact/law/solve.h"

namespace impactlab::impact {

using Vec = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1>;
using Mat = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3>;
using Jac = Eigen::Matrix<double, Eigen::Dynamic, 2, 0, 3, 2>;
using Input = Eigen::Matrix<double, 3, kEventDim>;

struct PreparedEvent {
  const ImpactEvent* event = nullptr;
  EventCovariance cov = EventCovariance::Zero();  // of the event, made positive semidefinite
  // index of its recording: impacts of one recording share its errors
  int cluster = 0;
  // components of the impulse: 2 planar (t, n), 3 spatial (t_x, t_y, n); the last is normal
  int dim = 3;
  int dim_c = 3;  // components of the couple
  double p = 1;   // effective normal momentum [N s]
  // v_t and A_tn cannot be distinguished from zero: the direction of slip is noise, and the
  // tangential impulse gives no information about friction.
  bool no_demand = false;
  // The spin before the impact was not measured (SpinIsOpen): the slip is the one that explains the
  // measured tangential impulse, as far as friction allows.
  bool spin_open = false;
  Vec z_J;                     // measured impulse / p
  Vec z_c;                     // measured couple about P / (p k)
  Mat N_cc;                    // noise covariance of z_c
  Input dz_J = Input::Zero();  // d z_J by the 15 measured quantities
  Input dv_F = Input::Zero();  // d v_minus_F
  Eigen::Matrix<double, 6, kEventDim> dA_F = Eigen::Matrix<double, 6, kEventDim>::Zero();
  // Sigma (d z_c)^T
  Eigen::Matrix<double, kEventDim, 3> cov_dz_c = Eigen::Matrix<double, kEventDim, 3>::Zero();
  Mat V_cc_inverse;  // of noise + discrepancy, set once s_c is known
  Vec c_whitened;    // weight * V_cc^-1 z_c
  // Last derivatives: a descent ends where it differentiated last, and the noise is wanted there.
  // Not for use by several threads.
  mutable ImpactModel differentiated_at{{.e = -1}};
  mutable ImpactDerivatives derivatives;
};

// Events that can be used: accepted, finite, approaching. The rest are left out.
std::vector<PreparedEvent> PrepareEvents(std::span<const ImpactEvent> events, const Body& body);

// Residual of one event at one (mu_k, e), its derivative by (mu_k, e) and its noise covariance
// given the couple.
struct EventAt {
  Vec r;      // without its share K z_c unless Need::kNoise was asked for
  Vec shift;  // K z_c
  Jac G;
  Vec G_e_t;  // derivative of r by tangential restitution
  Mat N;
  int digit = 0;  // case of the predicted outcome
  bool ok = false;
};
// Whether the contact ends sticking: no slip at the end tells the size of friction.
inline bool Sticks(const EventAt& at) { return at.digit == 1 || at.digit == 3 || at.digit == 5; }
enum class Need { kResidual, kDerivative, kNoise };
EventAt EvaluateEvent(const PreparedEvent& event, const ImpactModel& model, Need need);

// F (6x15 or its impulse and couple rows): derivative of the predicted plus state by the measured
// quantities, in W; used for predictions.
Eigen::Matrix<double, 6, kEventDim> PlusByInputs(const ImpactEvent& event, const Body& body,
                                                 const ImpactDerivatives& derivatives);
// Velocity change (v, omega in W) per unit impulse (F) and couple (F) at the contact point.
Eigen::Matrix<double, 6, 6> WrenchToVelocity(const ImpactEvent& event, const Body& body);

}  // namespace impactlab::impact
