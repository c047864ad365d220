// The table of laws of restitution: words that lead back to their law, and what is made of them.

#include "data/files/restitution_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "data/files/sentence.h"

namespace impactlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST(RestitutionLaws, WordsLeadBackAndDiffer) {
  std::set<std::string> words, coefficients, symbols;
  for (const RestitutionLaw law : AllRestitutionLaws()) {
    EXPECT_EQ(RestitutionLawOf(LawName(law)), law);
    EXPECT_EQ(std::string(CoefficientName(law)).substr(0, 2), "e_");
    words.insert(LawName(law));
    coefficients.insert(CoefficientName(law));
    symbols.insert(InfoOf(law).symbol);
  }
  for (const auto& texts : {words, coefficients, symbols})
    EXPECT_EQ(texts.size(), kRestitutionLaws.size());
  EXPECT_EQ(RestitutionLawOf("hooke"), std::nullopt);
  EXPECT_EQ(RestitutionLawOf(""), std::nullopt);
  EXPECT_STREQ(LawName(static_cast<RestitutionLaw>(-1)), "unknown");
  EXPECT_STREQ(CoefficientName(static_cast<RestitutionLaw>(99)), "unknown");
}

// Files of earlier versions hold these.
TEST(RestitutionLaws, WordsOfFilesStay) {
  EXPECT_THAT(RestitutionLawWords(), IsSupersetOf({"newton", "poisson", "energetic"}));
  EXPECT_STREQ(CoefficientName(RestitutionLaw::kNewton), "e_n");
  EXPECT_STREQ(CoefficientName(RestitutionLaw::kPoisson), "e_p");
  EXPECT_STREQ(CoefficientName(RestitutionLaw::kEnergetic), "e_star");
  EXPECT_EQ(RestitutionLawsReferenceFirst().front(), RestitutionLaw::kEnergetic);
  EXPECT_THAT(OtherCoefficientWords(), EndsWith("e_n with newton"));
  EXPECT_THAT(OtherCoefficientWords(), Not(HasSubstr("e_star")));
}

TEST(Sentence, ListsAndNumbers) {
  EXPECT_EQ(ListInWords({}), "");
  EXPECT_EQ(ListInWords({"a"}), "a");
  EXPECT_EQ(ListInWords({"a", "b"}), "a and b");
  EXPECT_EQ(ListInWords({"a", "b", "c"}, "or"), "a, b or c");
  EXPECT_EQ(NumberInWords(3), "three");
  EXPECT_EQ(NumberInWords(10), "ten");
  EXPECT_EQ(NumberInWords(1), "1");
  EXPECT_EQ(NumberInWords(11), "11");
}

}  // namespace
}  // namespace impactlab
