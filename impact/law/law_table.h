#pragma once
// One state, any law by its name: what tables and maps of several laws side by side are made of.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impact/body/contact.h"
#include "impact/law/certify.h"
#include "impact/law/impulse_law.h"
#include "impact/law/solve.h"

namespace impactlab {

struct LawOutcome {
  std::string law;
  SolveStatus status = SolveStatus::kOk;
  // why status is not kOk; "planar only" laws in space say so
  std::string reason;
  Eigen::Vector3d J_F = Eigen::Vector3d::Zero();       // on the body [N s]
  Eigen::Vector3d v_plus_F = Eigen::Vector3d::Zero();  // contact velocity after [m/s]
  // case code of laws with a path ("0" ... "6", "2a"); else what set the impulse ("mu", "stick",
  // "energy", "smith")
  std::string course;
  double turn = 0;           // turning angle of the slip [rad], laws with a path
  double energy_change = 0;  // of the bodies [J]; above 0: gained
  // share of the energy that the impact can turn over, v' A^-1 v / 2, that it dissipates
  double dissipated = 0;
  Certificate certificate;  // empty unless asked for

  bool usable() const { return status == SolveStatus::kOk || status == SolveStatus::kNoApproach; }
};

// A law that `Predict` knows: one of restitution with the exact path, or one that names the impulse
// of the whole impact.
struct PredictionLaw {
  std::string word;                         // in files
  std::string rule;                         // what an impact does by it
  std::optional<RestitutionLaw> path = {};  // followed by Solve
  std::optional<ImpulseLaw> impulse = {};   // applied by ApplyImpulseLaw
  RestitutionLaw e = kReferenceLaw;         // whose coefficient it reads
  bool spatial = true;                      // solves impacts in space; all solve planar ones
  bool static_friction = true;              // reads mu_s
  bool signed_e_t = false;                  // reads e_t below 0
  bool listed = true;                       // else it is asked for by its word alone
};

// Made of the tables of both kinds: exact paths, the reference law first, then impulse laws.
const std::vector<PredictionLaw>& PredictionLaws();
// Words of all that are listed, of those that solve impacts in space, and of all.
const std::vector<std::string>& LawNames();
std::vector<std::string> SpatialLawNames();
std::vector<std::string> AllLawNames();
// How the laws read `e`: "e* of the energetic law, e_p of Poisson's, e_n of the others".
std::string RestitutionInWords();

// `law` must be one of AllLawNames(); std::invalid_argument otherwise. Bad numbers are a status
// with a reason, as in `Solve`.
LawOutcome Predict(std::string_view law, const ContactState& contact,
                   const Coefficients& coefficients, bool certify = true);
// All laws, in the order of LawNames().
std::vector<LawOutcome> PredictAll(const ContactState& contact, const Coefficients& coefficients);

}  // namespace impactlab
