#pragma once
// Which of the laws predict unseen recordings differently, and which differences are not
// significant?
//
// All laws predict the same recordings from the same folds, so that two of them are compared pair
// by pair: the log of the density that each gave to the measured motion, and the error in the
// kinetic-energy norm, summed over the impacts of a recording. Recordings are independent, impacts
// of one are not; the standard deviation of the difference is that over recordings, against
// Student's distribution (folds share their training data, which leaves a small dependence between
// them: Bengio and Grandvalet, JMLR 5 (2004) 1089). Holm over all pairs.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/study/validation.h"

namespace impactlab {

struct LawPair {
  std::string law, other;
  bool in_sample = false;
  int n = 0, recordings = 0;  // predicted by both
  // of law less other, sum over impacts; above 0 law predicts better
  double log_density = 0, sd_log_density = 0;
  double p_log_density = 1, family_log_density = 1;
  double error = 0, sd_error = 0;  // of law less other, mean by_plus; below 0 law predicts better
  double p_error = 1, family_error = 1;
  // by the density: "better", "worse", "undecided"; "same" where both predict one thing
  std::string verdict;
};

struct LawComparison {
  // laws, best log density over the impacts that all predict first
  std::vector<std::string> order;
  std::vector<double> log_density, error;  // of each per impact, mean; error by_plus
  int n = 0;                               // impacts that all predict
  std::vector<LawPair> pairs;              // law before other in `order`
  bool empty() const { return pairs.empty(); }
};

LawComparison CompareLaws(const ValidationTable& table);

// One sentence: "the energetic law gives the unseen motions the highest density; no significant
// difference from it: Poisson's law (...); worse: Brach's law (...)".
std::string ToWords(const LawComparison& comparison);

// "Brach's law", "the energetic law".
std::string LawInWords(const std::string& law);

// law_comparison.csv (data/README)
void WriteLawComparison(const std::filesystem::path& path, const LawComparison& comparison);

}  // namespace impactlab
