#pragma once
// One state, any law by its name: what tables and maps of several laws side by side are made of.

#include <string>
#include <string_view>
#include <vector>

#include "impact/body/contact.h"
#include "impact/law/certify.h"
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

// "energetic", "poisson", "newton" (exact paths, planar and spatial), "brach", "whittaker", "smith"
// (planar). `Predict` also knows "brach_printed", the selection as the Bristol thesis prints it.
const std::vector<std::string>& LawNames();

// `law` must be one of these; std::invalid_argument otherwise. Bad numbers are a status with a
// reason, as in `Solve`.
LawOutcome Predict(std::string_view law, const ContactState& contact,
                   const Coefficients& coefficients, bool certify = true);
// All laws, in the order of LawNames().
std::vector<LawOutcome> PredictAll(const ContactState& contact, const Coefficients& coefficients);

}  // namespace impactlab
