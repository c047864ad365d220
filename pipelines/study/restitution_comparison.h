#pragma once
// The coefficients of restitution of all laws from the same impacts: where they differ, and why.
//
// The measured normal impulse of an impact implies one value of each, with the friction fitted by
// the energetic law (impact/identify/single_impact.h). While slip goes on in one direction, or the
// contact sticks from the first, normal velocity is linear in the normal impulse and they are all
// the same number (Stronge, Proc. R. Soc. Lond. A 431 (1990) 169); they differ where slip stops or
// reverses within the impact. The values fitted to all impacts are compared as pairs: the
// first-order jackknife over recordings of their difference, which the same data cause.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "data/files/restitution_law.h"
#include "impact/body/event.h"

namespace impactlab {

// One number of each law, in the order of kRestitutionLaws.
using RestitutionNumbers = std::array<double, kRestitutionLaws.size()>;
// Laws other than the reference, which stands last: the comparisons that are made.
inline constexpr std::size_t kComparedLaws = kRestitutionLaws.size() - 1;

struct ImpliedCoefficients {
  std::string recording, path_case;  // case predicted by the reference law
  int impact = 0;
  RestitutionNumbers e{};  // of this impact
  double sd = 0;           // measurement's, of the reference's coefficient
  // share of the normal impulse at which slip first stops; 1: never, 0: never slips
  double stop_share = 1;

  // Coefficient of law k less that of the reference.
  double Less(std::size_t k) const { return e[k] - e.back(); }
};

// A coefficient less that of the reference: mean, its sd over recordings and friction's error, p.
struct RestitutionDifference {
  double value = 0, sd = 0, p = 1;
};

struct RestitutionRow {
  std::string group;  // "all", "case 1"; "fit": coefficients fitted to all
  int n = 0, recordings = 0;
  RestitutionNumbers e{};  // means
  std::array<RestitutionDifference, kComparedLaws> less_reference;
};

struct RestitutionComparison {
  double mu = 0, sd_mu = 0;
  std::vector<ImpliedCoefficients> impacts;
  std::vector<RestitutionRow> rows;
  std::string text;  // for people
  bool empty() const { return rows.empty(); }
};

// Needs fits of all laws with a value of friction; empty otherwise.
RestitutionComparison CompareRestitution(std::span<const ImpactEvent> events, const Body& body,
                                         const FitResult& fit);

// restitution.csv (data/README)
void WriteRestitution(const std::filesystem::path& path, const RestitutionComparison& comparison);

}  // namespace impactlab
