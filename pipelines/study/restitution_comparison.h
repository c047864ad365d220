#pragma once
// Newton's, Poisson's and the energetic coefficient of restitution from the same impacts: where
// they differ, and why.
//
// The measured normal impulse of an impact implies one value of each, with the friction fitted by
// the energetic law (impact/identify/single_impact.h). While slip goes on in one direction, or the
// contact sticks from the first, normal velocity is linear in the normal impulse and the three are
// the same number (Stronge, Proc. R. Soc. Lond. A 431 (1990) 169); they differ where slip stops or
// reverses within the impact. The values fitted to all impacts are compared as pairs: the
// first-order jackknife over recordings of their difference, which the same data cause.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "impact/body/event.h"

namespace impactlab {

struct ThreeCoefficients {
  std::string recording, path_case;  // case predicted by the energetic law
  int impact = 0;
  double e_n = 0, e_p = 0, e_star = 0, sd = 0;  // of this impact; measurement's sd of e_star
  // share of the normal impulse at which slip first stops; 1: never, 0: never slips
  double stop_share = 1;
};

struct RestitutionRow {
  std::string group;  // "all", "case 1"; "fit": coefficients fitted to all
  int n = 0, recordings = 0;
  double e_n = 0, e_p = 0, e_star = 0;  // means
  // e_n - e_star: mean, its sd over recordings and friction's error, p
  double n_less_star = 0, sd_n = 0, p_n = 1;
  double p_less_star = 0, sd_p = 0, p_p = 1;  // e_p - e_star
};

struct RestitutionComparison {
  double mu = 0, sd_mu = 0;
  std::vector<ThreeCoefficients> impacts;
  std::vector<RestitutionRow> rows;
  std::string text;  // for people
  bool empty() const { return rows.empty(); }
};

// Needs fits of all three laws with a value of friction; empty otherwise.
RestitutionComparison CompareRestitution(std::span<const ImpactEvent> events, const Body& body,
                                         const FitResult& fit);

// restitution.csv (data/README)
void WriteRestitution(const std::filesystem::path& path, const RestitutionComparison& comparison);

}  // namespace impactlab
