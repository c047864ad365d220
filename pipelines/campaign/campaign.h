#pragma once
// Several experiments as one campaign: specimens, surfaces or material pairs beside each other,
// each with its own recordings and body.
//
// Every member is an experiment file, whose run the campaign makes or takes up, or the folder of a
// finished run. From their events come one table of all impacts, models of the coefficients over
// the members as groups (impact/identify/coefficient_model.h), and the differences between every
// two members with the chance that they are nothing.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipelines/run/experiment.h"
#include "pipelines/study/coefficient_models.h"

namespace impactlab {

struct CampaignMember {
  std::string name;
  std::filesystem::path experiment;  // file to run; empty: `run` is finished
  std::string recordings;            // glob in place of the file's own; empty: its own
  std::filesystem::path run;         // folder of the run: given, or where it is written
  // why the run just made gave nothing; empty: it did, or it was not made
  std::string fault;
};

struct Campaign {
  std::filesystem::path path;
  std::string name;
  std::vector<CampaignMember> members;
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  CoefficientOptions coefficients;
  int folds = 5;  // of the cross-validation over recordings
  std::uint64_t seed = 1;
};

// schema impactlab.campaign/1, see data/README. Runs that are to be made lie in `out`/NAME.
// ConfigError.
Campaign LoadCampaign(const std::filesystem::path& path, const std::filesystem::path& out);

// What came of a member.
struct MemberResult {
  const CampaignMember* member = nullptr;
  Body body;
  std::vector<ImpactEvent> events;
  std::string fault;  // why it cannot be used; empty: it can
  int accepted = 0;
};

// Difference of one coefficient between two members, each fitted alone.
struct MemberDifference {
  std::string parameter, a, b;
  double difference = 0, sd = 0;  // of a less b
  double p = 1, p_family = 1;     // two-sided; corrected for all pairs of the campaign (Holm)
  std::string verdict;            // "differ", "cannot be told apart"
};

struct CampaignResult {
  std::vector<MemberResult> members;
  CoefficientStudy study;
  std::vector<MemberDifference> differences;
};

// Reads the events of the runs. A member without a usable run is a row with its fault; DataError
// where none can be used.
CampaignResult AnalyseCampaign(const Campaign& campaign, int threads,
                               const std::function<void(double)>& progress);

// campaign.csv (all impacts), members.csv, differences.csv, models.csv, model_coefficients.csv,
// intervals.csv.
void WriteCampaignTables(const std::filesystem::path& folder, const CampaignResult& result);
// The same and campaign.html, with links to the reports of the members.
void WriteCampaign(const std::filesystem::path& folder, const Campaign& campaign,
                   const CampaignResult& result, const std::string& plotting);

// Text for a terminal.
std::string BriefReport(const Campaign& campaign, const CampaignResult& result);

}  // namespace impactlab
