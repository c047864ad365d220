#pragma once
// The laws of restitution of one contact: their values and what files, sentences and pages call
// them, in one table.
//
// It stands here since files of fits name a law and its coefficient, and those who read them (this
// room) know no impacts. Where restitution ends by each law is in
// impact/law/detail/restitution_end.h.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/base/enum_rows.h"

namespace impactlab {

// In the order of fits. The energetic law stands last: it is the default and the one that others
// are compared with, so that a new law goes before it.
enum class RestitutionLaw { kNewton, kPoisson, kEnergetic };

struct RestitutionLawInfo {
  RestitutionLaw law;
  const char* word;         // of the law, in files
  const char* coefficient;  // in files
  const char* symbol;       // of the coefficient, in sentences
  const char* symbol_plot;  // the same at axes
  const char* subscript;    // of e, on pages
  const char* title;        // of the law, on pages
  const char* owner;        // before "law" or "coefficient", in sentences
  // what one impact does by this law
  const char* rule;
  const char* rule_html;
  // Friction cannot make it gain energy, for coefficients up to 1.
  bool keeps_energy;
};

inline constexpr auto kRestitutionLaws = std::to_array<RestitutionLawInfo>(
    {{.law = RestitutionLaw::kNewton,
      .word = "newton",
      .coefficient = "e_n",
      .symbol = "e_n",
      .symbol_plot = "eₙ",
      .subscript = "n",
      .title = "Newton",
      .owner = "Newton's",
      .rule = "ends with -e times its normal velocity",
      .rule_html = "Newton: v<sub>n</sub><sup>+</sup> = −e<sub>n</sub> v<sub>n</sub><sup>−</sup>.",
      .keeps_energy = false},
     {.law = RestitutionLaw::kPoisson,
      .word = "poisson",
      .coefficient = "e_p",
      .symbol = "e_p",
      .symbol_plot = "eₚ",
      .subscript = "p",
      .title = "Poisson",
      .owner = "Poisson's",
      .rule = "gives back e times its impulse of compression",
      .rule_html = "Poisson: J<sub>n</sub> of restitution = e<sub>p</sub> J<sub>n</sub> of "
                   "compression.",
      .keeps_energy = false},
     {.law = RestitutionLaw::kEnergetic,
      .word = "energetic",
      .coefficient = "e_star",
      .symbol = "e*",
      .symbol_plot = "e∗",
      .subscript = "∗",
      .title = "Energetic",
      .owner = "the energetic",
      .rule = "gives back e^2 of its work of compression",
      .rule_html = "Energetic (Stronge 1990): W<sub>r</sub> = −e<sub>∗</sub>² W<sub>c</sub>, the "
                   "work of the normal force in restitution and compression.",
      .keeps_energy = true}});
static_assert(EveryValueHasItsRow<&RestitutionLawInfo::law>(kRestitutionLaws));

// The law that is reported and compared with where none is named.
inline constexpr RestitutionLaw kReferenceLaw = RestitutionLaw::kEnergetic;
static_assert(kRestitutionLaws.back().law == kReferenceLaw);

// Whether the code is that of a law.
constexpr bool IsRestitutionLaw(RestitutionLaw law) {
  return static_cast<std::size_t>(law) < kRestitutionLaws.size();
}
constexpr const RestitutionLawInfo& InfoOf(RestitutionLaw law) {
  return RowOf(kRestitutionLaws, law);
}
// Name of the law and of its coefficient in files; "unknown" for any other code.
constexpr const char* LawName(RestitutionLaw law) {
  return IsRestitutionLaw(law) ? InfoOf(law).word : "unknown";
}
constexpr const char* CoefficientName(RestitutionLaw law) {
  return IsRestitutionLaw(law) ? InfoOf(law).coefficient : "unknown";
}

// The law of a word in a file.
std::optional<RestitutionLaw> RestitutionLawOf(std::string_view word);
// All laws and their words, in the order of the table.
std::vector<RestitutionLaw> AllRestitutionLaws();
std::vector<std::string> RestitutionLawWords();
// The other way round: the reference first, the order of predictions.
std::vector<RestitutionLaw> RestitutionLawsReferenceFirst();
// Names of the coefficients of all laws but the reference, as an explanation of a key that is
// named after its own: "e_p with law poisson, e_n with newton".
std::string OtherCoefficientWords();

}  // namespace impactlab
