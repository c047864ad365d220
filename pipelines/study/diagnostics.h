#pragma once
// Diagnostics of a campaign beyond its verdicts: whether measurements are distributed as predicted,
// where the law's form fails, which laws differ significantly, whether two specimens were mixed,
// and what the set cannot determine at all.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipelines/study/area_validation.h"
#include "pipelines/study/law_comparison.h"
#include "pipelines/study/mixture_of_specimens.h"
#include "pipelines/study/residual_scans.h"
#include "pipelines/study/restitution_comparison.h"
#include "pipelines/study/validation.h"

namespace impactlab {

// One sentence with its cause, for people and for programs.
struct CampaignFinding {
  // "spin_not_measured", "everything_sticks", "friction_not_told", "everything_slides",
  // "two_specimens", "law_form" (an edge), "distribution"
  std::string cause;
  std::string text;
};

struct Diagnostics {
  std::string law;  // that the findings refer to: the first of `laws.order`, else the only one
  std::vector<AreaRow> areas;
  std::vector<EdgeRow> edges;
  LawComparison laws;
  SpecimenMixture specimens;
  RestitutionComparison restitution;
  std::vector<CampaignFinding> findings;
  bool empty() const {
    return areas.empty() && edges.empty() && findings.empty() && restitution.empty();
  }
};

Diagnostics DiagnoseCampaign(std::span<const ImpactEvent> events, const Body& body,
                             const FitResult& fit, const ValidationTable& validation,
                             std::uint64_t seed);

// area.csv, edges.csv, law_comparison.csv, specimens.csv, restitution.csv and scrutiny.json
// (data/README); files without rows are left out, and those of an earlier run removed.
void WriteDiagnostics(const std::filesystem::path& folder, const Diagnostics& scrutiny);

// Lines for a terminal.
std::string BriefReport(const Diagnostics& scrutiny);

}  // namespace impactlab
