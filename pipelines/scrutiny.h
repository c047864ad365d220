#pragma once
// What a sceptic asks of a campaign beyond its verdicts: whether measurements lie where their
// predictions say, where the law's form fails, which laws the data can tell apart, whether two
// specimens were mixed, and what the set cannot show at all.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipelines/area_validation.h"
#include "pipelines/law_comparison.h"
#include "pipelines/restitution_comparison.h"
#include "pipelines/specimens.h"
#include "pipelines/validation.h"
#include "pipelines/validity_edges.h"

namespace impactlab {

// One sentence with its cause, for people and for programs.
struct CampaignFinding {
  // "spin_not_measured", "everything_sticks", "friction_not_told", "everything_slides",
  // "two_specimens", "law_form" (an edge), "distribution"
  std::string cause;
  std::string text;
};

struct Scrutiny {
  std::string law;  // of which the findings speak: the first of `laws.order`, else the only one
  std::vector<AreaRow> areas;
  std::vector<EdgeRow> edges;
  LawComparison laws;
  Specimens specimens;
  RestitutionComparison restitution;
  std::vector<CampaignFinding> findings;
  bool empty() const {
    return areas.empty() && edges.empty() && findings.empty() && restitution.empty();
  }
};

Scrutiny Scrutinise(std::span<const ImpactEvent> events, const Body& body, const FitResult& fit,
                    const ValidationTable& validation, std::uint64_t seed);

// area.csv, edges.csv, law_comparison.csv, specimens.csv, restitution.csv and scrutiny.json
// (data/README); files without rows are left out, and those of an earlier run removed.
void WriteScrutiny(const std::filesystem::path& folder, const Scrutiny& scrutiny);

// Lines for a terminal.
std::string BriefReport(const Scrutiny& scrutiny);

}  // namespace impactlab
