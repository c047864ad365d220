#include "data/files/restitution_law.h"

#include <fmt/format.h>

#include <algorithm>

namespace impactlab {

std::optional<RestitutionLaw> RestitutionLawOf(std::string_view word) {
  for (const RestitutionLawInfo& row : kRestitutionLaws)
    if (word == row.word) return row.law;
  return std::nullopt;
}

std::vector<RestitutionLaw> AllRestitutionLaws() {
  std::vector<RestitutionLaw> laws;
  laws.reserve(kRestitutionLaws.size());
  for (const RestitutionLawInfo& row : kRestitutionLaws) laws.push_back(row.law);
  return laws;
}

std::vector<std::string> RestitutionLawWords() {
  std::vector<std::string> words;
  words.reserve(kRestitutionLaws.size());
  for (const RestitutionLawInfo& row : kRestitutionLaws) words.emplace_back(row.word);
  return words;
}

std::vector<RestitutionLaw> RestitutionLawsReferenceFirst() {
  std::vector<RestitutionLaw> laws = AllRestitutionLaws();
  std::reverse(laws.begin(), laws.end());
  return laws;
}

std::string OtherCoefficientWords() {
  std::string words;
  for (const RestitutionLaw law : RestitutionLawsReferenceFirst()) {
    if (law == kReferenceLaw) continue;
    words += fmt::format("{}{} with {}{}", words.empty() ? "" : ", ", CoefficientName(law),
                         words.empty() ? "law " : "", LawName(law));
  }
  return words;
}

}  // namespace impactlab
