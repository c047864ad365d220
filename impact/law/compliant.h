#pragma once
// Compliant contact: the normal force follows from an indentation, and the impact lasts. A
// cross-check of the rigid laws.
//
// With indentation x = -(gap) and its rate dx/dt = -v_n (Sun 2017, section 1.2.3; the Bristol
// thesis, eqs 2.42-2.52 with erratum 17, impact/REFERENCES.md):
//   spring-dashpot    F = k x + c x', ends where F = 0, before it would pull
//   Hertz             F = k x^p, p = 3/2 for spheres
//   hysteresis        loading as Hertz, unloading F = F_max ((x - x_p) / (x_max - x_p))^p with
//                     x_p = residual x_max (1.11)
//   Hunt-Crossley     F = k x^p (1 + d x'), d = lambda / k (1.12)
//   Maxwell           spring k in series with a dashpot c: F' = k x' - (k / c) F
// Friction is Coulomb's and rigid. While k_n = dv_n/dJ_n stays constant the contact is a mass 1 /
// k_n that falls on the element, and its coefficient of restitution has a closed form
// (ImpliedRestitution). Where slip stops or turns around during the contact, k_n changes: then
// Hertz (e* = 1) and hysteresis (e* = sqrt(1 - residual)) still are the energetic law, since their
// work does not depend on the course; the other three are none of the rigid laws, and what remains
// of the difference at frozen configuration is a difference between models.

#include <algorithm>
#include <array>
#include <cmath>

#include "data/base/enum_rows.h"
#include "impact/body/planar_contact.h"
#include "impact/law/solve.h"

namespace impactlab {

enum class CompliantLaw { kSpringDashpot, kHertz, kHysteresis, kHuntCrossley, kMaxwell };

struct CompliantLawInfo {
  CompliantLaw law;
  const char* word;    // in files
  const char* title;   // on pages, before "contact"
  const char* phrase;  // in sentences
};

inline constexpr auto kCompliantLaws = std::to_array<CompliantLawInfo>(
    {{.law = CompliantLaw::kSpringDashpot,
      .word = "spring_dashpot",
      .title = "Spring-dashpot",
      .phrase = "the spring-dashpot"},
     {.law = CompliantLaw::kHertz, .word = "hertz", .title = "Hertz", .phrase = "Hertz's contact"},
     {.law = CompliantLaw::kHysteresis,
      .word = "hertz_hysteresis",
      .title = "Hertz hysteresis",
      .phrase = "Hertz's contact with hysteresis"},
     {.law = CompliantLaw::kHuntCrossley,
      .word = "hunt_crossley",
      .title = "Hunt\u2013Crossley",
      .phrase = "Hunt and Crossley's contact"},
     {.law = CompliantLaw::kMaxwell,
      .word = "maxwell",
      .title = "Maxwell",
      .phrase = "Maxwell's element"}});
static_assert(EveryValueHasItsRow<&CompliantLawInfo::law>(kCompliantLaws));

constexpr const CompliantLawInfo& InfoOf(CompliantLaw law) { return RowOf(kCompliantLaws, law); }
// Name used in files.
constexpr const char* LawName(CompliantLaw law) { return InfoOf(law).word; }

struct CompliantModel {
  CompliantLaw law = CompliantLaw::kHuntCrossley;
  double stiffness = 1e6;  // k [N/m^power]
  // p of Hertz, hysteresis, Hunt-Crossley; 1 is a linear spring (bi-stiffness with hysteresis)
  double power = 1.5;
  // spring-dashpot, Maxwell: c [N s/m], Maxwell above 0; Hunt-Crossley: d = lambda / k [s/m]
  double damping = 0;
  double residual = 0;  // hysteresis: permanent share of the largest indentation, in [0, 1)
};

// Throws ConfigError naming the value and what is allowed.
void CheckModel(const CompliantModel& model);

// -v_n+ / v_n- of a mass [kg] that meets the element at `speed` > 0 [m/s].
double ImpliedRestitution(const CompliantModel& model, double mass, double speed);
// The spring-dashpot as often printed, ending at x = 0 after it has pulled: exp(-pi zeta / sqrt(1 -
// zeta^2)); 0 from zeta = 1 on.
double PrintedSpringDashpotRestitution(const CompliantModel& model, double mass);
// Damping d of Hunt-Crossley that has the restitution e in (0, 1] at `speed`.
double HuntCrossleyDamping(double e, double speed);
// (1.13): e = 1 - 2/3 d v, the first order of Hunt-Crossley; (1.21): e = 1 - alpha v^m. Both fall
// below 0 at high speed: clamped there.
double FirstOrderRestitution(double d, double speed);
double PowerRestitution(double alpha, double m, double speed);

// A planar body whose point at the lever strikes.
struct CompliantImpact {
  double mass = 1, inertia = 1;  // [kg], [kg m^2] about the centre of mass
  double r_t = 0, r_n = -1;      // lever from the centre of mass to the point, at first touch [m]
  double v_t = 0, v_n = -1;      // of the centre of mass [m/s]
  double theta_dot = 0;          // counter-clockwise, t right and n up [rad/s]
  double mu_k = 0, mu_s = 0;
};

struct CompliantOptions {
  bool frozen = false;       // keep the configuration of the first touch, as rigid laws do
  double tolerance = 1e-11;  // of a step, relative to the speed of approach
};

struct CompliantOutcome {
  // kNotConverged: not over after 1e6 steps, as Maxwell elements with zeta >= 1 never are
  SolveStatus status = SolveStatus::kOk;
  double v_t = 0, v_n = 0;  // velocity of the contact point after [m/s]
  double J_n = 0;           // [N s]
  // normal work while the indentation grows (<= 0) and while it shrinks [J]
  double work_n_c = 0, work_n_r = 0;
  double duration = 0;     // [s]
  double indentation = 0;  // largest [m]
  double rotation = 0;     // of the body during the contact [rad]
  int digit = 0;           // case code as in ImpactCase
  double e_star() const {
    return work_n_c < 0 ? std::sqrt(std::max(0.0, -work_n_r / work_n_c)) : 0;
  }
};

// No gravity: it does not count against the force of an impact. Throws ConfigError for a model or a
// body that is none.
CompliantOutcome IntegrateCompliantImpact(const CompliantImpact& impact,
                                          const CompliantModel& model,
                                          const CompliantOptions& options = {});

// The same impact for the rigid laws.
PlanarContact RigidContact(const CompliantImpact& impact);

}  // namespace impactlab
