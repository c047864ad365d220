#include "pipelines/config/restitution_keys.h"

#include <algorithm>

#include "data/files/text.h"

namespace impactlab::pipelines {

void VisitLaw(Keys& keys, RestitutionLaw& law, const char* meaning, Need need) {
  std::string word = LawName(law);
  keys.OneOf("law", word, RestitutionLawWords(), meaning, need);
  law = *RestitutionLawOf(word);
}

void VisitLaws(Keys& keys, const char* key, std::vector<RestitutionLaw>& laws) {
  std::vector<std::string> symbols;
  symbols.reserve(kRestitutionLaws.size());
  for (const RestitutionLawInfo& row : kRestitutionLaws) symbols.emplace_back(row.symbol);
  const std::string meaning = "restitution " + JoinNames(symbols) + " of each. Default: all";
  keys.Custom(
      key, meaning.c_str(),
      [&](const YamlNode& node, const char* name) {
        if (!node.Has(name)) return;
        laws.clear();
        for (const std::string& word : node.Texts(name)) {
          const std::optional<RestitutionLaw> law = RestitutionLawOf(word);
          if (!law) throw node.Fault(name, Excerpt(word), JoinNames(RestitutionLawWords(), " | "));
          if (std::find(laws.begin(), laws.end(), *law) != laws.end())
            throw node.Fault(name, word + " again", "every law once");
          laws.push_back(*law);
        }
      },
      [&] {
        std::vector<std::string> names;
        names.reserve(laws.size());
        for (const RestitutionLaw law : laws) names.emplace_back(LawName(law));
        return "[" + JoinNames(names) + "]";
      });
}

}  // namespace impactlab::pipelines
