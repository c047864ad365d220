#pragma once
// Were two specimens (bodies, surfaces) mixed in one campaign? Coefficients of single impacts
// against one population and against two.
//
// e and, where the contact slides all through, mu of every impact alone
// (impact/identify/single_impact.h), with their stated errors, less what depends in a straight line
// on approach and slip speed, go to TestMixture (data/statistics/mixture.h). Two populations
// are reported at p < 0.01 and three standard deviations between their means; not where a
// condition of the impact or its case separates the two as well, since then the form of the law may
// be the cause. Order in time is reported beside: an exchange of specimens half way is a drift as
// well.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "data/statistics/mixture.h"
#include "impact/body/event.h"

namespace impactlab {

struct SpecimenRow {
  std::string recording;
  int order = 0;           // of the recording, from 1
  double probability = 0;  // of the second population
  double e = 0, mu = 0;    // means over its impacts; NaN where not known
};

struct SpecimenMixture {
  std::string law;
  MixtureTest test;
  std::vector<SpecimenRow> rows;
  bool mixed = false;
  // a condition that separates the two as well ("approach_speed", "case 1"); then not mixed
  std::string parted_by;
  int switch_at = 0;  // recording from which on all are of one population, 0: in no order
  std::string text;   // for people; empty where nothing was tested
};

// `fit`: the law by which single impacts are read.
SpecimenMixture FindSpecimenMixture(std::span<const ImpactEvent> events, const Body& body,
                                    const LawFit& fit, std::uint64_t seed);

// specimens.csv (data/README)
void WriteSpecimenMixture(const std::filesystem::path& path, const SpecimenMixture& specimens);

}  // namespace impactlab
