#pragma once
// Planar laws that name the impulse of the whole impact at once, without a path: Whittaker's,
// Smith's and Brach's.
//
// All take Newton's restitution, v_n+ = -e v_n-, so that the impulse ratio u = J_t / J_n fixes
// everything:
//   J_n = -(1 + e) v_n / (A_nn + u A_tn),   v_t+ = v_t + (A_tn + u A_tt) J_n.
// v_t+ grows with u wherever J_n > 0. The laws differ in u:
//   Whittaker  v_t+ = 0 (v_t+ = -e_t v_t with tangential restitution, Walton's law) while
//              |u| <= mu, else u = +-mu against the slip after.
//   Smith      u = -mu (|v_t-| v_t- + |v_t+| v_t+) / (v_t-^2 + v_t+^2), an equation for v_t+ with
//              one solution.
//   Brach      u = d min(mu, |u_C|, |u_E|): u_C stops slip, u_E keeps the energy, d is the sense in
//              which friction takes energy.
// None of them follows slip through the impact: they agree with the exact path while slip lasts and
// differ where it reverses. Whittaker's may then gain energy, as Newton's law does. Sources:
// the Bristol thesis, sections 2.3 and 3.1 (eqs 3.10-3.23 with errata 1 and 2,
// impact/REFERENCES.md); Walton 1993.
//
// the Bristol thesis takes d = sgn(u_M) from the stationary point u_M of the energy. Where u_M lies
// beyond the singular ratio u_s, in J_n < 0, this makes friction push the slip on (its cases 1 and
// 3, figs 3.4 with e = 0 and 3.5). Here d is the sign of the slope of the loss at u = 0, which is
// sgn(u_M) wherever u_M can be reached. The printed choice stays as kBrachPrinted, for fig. 3.11
// and its switch at v_t = 0.6421.

#include <array>
#include <string>
#include <vector>

#include "data/base/enum_rows.h"
#include "impact/body/planar_contact.h"
#include "impact/law/certify.h"
#include "impact/law/solve.h"

namespace impactlab {

enum class ImpulseLaw { kBrach, kWhittaker, kSmith, kBrachPrinted };

struct ImpulseLawInfo {
  ImpulseLaw law;
  const char* word;   // in files
  const char* title;  // on pages
  const char* owner;  // before "law", in sentences
  // how it sets the impulse ratio u
  const char* rule;
  bool tangential;  // reads e_t
  bool listed;      // stands beside the others; the rest is asked for by its word
};

inline constexpr auto kImpulseLaws = std::to_array<ImpulseLawInfo>(
    {{.law = ImpulseLaw::kBrach,
      .word = "brach",
      .title = "Brach",
      .owner = "Brach's",
      .rule = "the least of mu, the ratio that stops slip and the one that keeps the energy",
      .tangential = false,
      .listed = true},
     {.law = ImpulseLaw::kWhittaker,
      .word = "whittaker",
      .title = "Whittaker",
      .owner = "Whittaker's",
      .rule = "v_t+ = -e_t v_t- as far as mu allows",
      .tangential = true,
      .listed = true},
     {.law = ImpulseLaw::kSmith,
      .word = "smith",
      .title = "Smith",
      .owner = "Smith's",
      .rule = "mu times a mean of the slip before and after",
      .tangential = false,
      .listed = true},
     {.law = ImpulseLaw::kBrachPrinted,
      .word = "brach_printed",
      .title = "brach_printed",
      .owner = "the brach_printed",
      .rule = "the selection as the Bristol thesis prints it",
      .tangential = false,
      .listed = false}});
static_assert(EveryValueHasItsRow<&ImpulseLawInfo::law>(kImpulseLaws));

constexpr const ImpulseLawInfo& InfoOf(ImpulseLaw law) { return RowOf(kImpulseLaws, law); }
// Name used in files.
constexpr const char* LawName(ImpulseLaw law) { return InfoOf(law).word; }
// The law of restitution whose coefficient these laws read.
inline constexpr RestitutionLaw kImpulseRestitution = RestitutionLaw::kNewton;

// Newton's coefficient `e` and mu_k; mu_s is not read. e_t of Whittaker's law, in [-1, 1]: 0
// sticks, 1 reverses the slip, -1 leaves it.
struct ImpulseModel : Coefficients {
  ImpulseLaw law = ImpulseLaw::kBrach;
};

struct ImpulseOutcome {
  SolveStatus status = SolveStatus::kOk;
  std::string reason;       // why status is not kOk
  double J_t = 0, J_n = 0;  // on the body [N s]
  double v_t = 0, v_n = 0;  // after the impact [m/s]
  double energy = 0;        // change of kinetic energy [J]; above 0 it was gained
  // what set u: "mu", "stick" (v_t+ = -e_t v_t, or u_C), "energy" (u_E), "smith"
  std::string bound;

  bool usable() const { return status == SolveStatus::kOk || status == SolveStatus::kNoApproach; }
};

ImpulseOutcome ApplyImpulseLaw(const PlanarContact& contact, const ImpulseModel& model);

// What a given impulse ratio does: J_n may come out below 0 beyond the singular ratio, which no
// impact reaches.
ImpulseOutcome ApplyRatio(const PlanarContact& contact, double e_n, double u);

// Impulse ratios of Brach's law, signed as J_t / J_n (mu of the Bristol thesis is -u where v_t >
// 0). Infinite where none exists.
struct BrachBounds {
  double singular = 0;                     // u_s: J_n has no finite value (3.13)
  double stick = 0;                        // u_C: v_t+ = 0 (3.14)
  double energy_low = 0, energy_high = 0;  // u_E in order: the energy is kept (3.16)
  // u_M: stationary energy, the most that is lost where J_n > 0 (3.19 without its factor 2)
  double most_loss = 0;
  int energy_case = 0;  // 1 to 8 of table 3.1
  // sense of u: 1 or -1; 0 where friction would change nothing at first
  double direction = 0;
  double energy = 0;      // u_E that bounds u; infinite where the energy does not
  double used_stick = 0;  // u_C where slip stops in that sense, else infinite
};
// `printed`: the selection of the Bristol thesis (3.21-3.23).
BrachBounds FindBrachBounds(const PlanarContact& contact, double e_n, bool printed = false);

// Judges an outcome without calling a law: "momentum", "cone" (|J_t| <= mu J_n), "unilateral",
// "separation", "restitution", "law" (the definition of u above), "energy" (not gained; reported,
// not a fault of the program).
Certificate Certify(const PlanarContact& contact, const ImpulseModel& model,
                    const ImpulseOutcome& outcome);

// Routh's construction in the plane of impulses (J_t, J_n): what a plot of it needs. The path
// climbs along the line of friction until it meets the line of sticking, follows it or the line of
// reversed friction, and ends on the line of termination of Poisson's law.
struct RouthDiagram {
  struct Line {
    // "stick", "compression", "friction", "reversed", "termination"
    std::string name;
    double J_t0 = 0, J_n0 = 0, J_t1 = 0, J_n1 = 0;  // two points [N s]
  };
  std::vector<Line> lines;
  std::vector<PathPoint> path;  // of the exact path: start, stop of slip, end of compression, end
};
// Throws ConfigError where `Solve` calls the problem invalid.
RouthDiagram MakeRouthDiagram(const PlanarContact& contact, double e_p, double mu_k, double mu_s);

}  // namespace impactlab
