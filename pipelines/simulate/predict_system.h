#pragma once
// An impact at several contacts by every law that applies, each outcome certified, and the set of
// outcomes where rigid bodies do not decide.

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "impact/law/certify.h"
#include "impact/multi/outcome.h"
#include "pipelines/simulate/system_config.h"

namespace impactlab {

struct SystemLaw {
  // "springs", "sequence_energetic", "simultaneous_newton", "global_energetic", ...
  std::string name;
  std::string definition;  // what e means to it, in words
  MultiOutcome outcome;
  Certificate certificate;  // empty unless the outcome is usable
};

// Outcomes over what rigid bodies leave open. Ranges: smallest and largest over the set.
struct SystemOutcomes {
  // "order": of single impacts, energetic law; "stiffness": of frictionless springs
  std::string over;
  std::string reason;  // why there is none; empty otherwise
  int tried = 0;
  // false: there are more than were tried, or some did not end
  bool complete = true;
  std::vector<Eigen::VectorXd> u_plus, v_plus;  // of the different outcomes
  Eigen::MatrixX2d u_range, v_range;            // generalised and stacked contact velocities
};

struct SystemPrediction {
  double energy_minus = 0;  // kinetic energy before [J]
  int freedoms = 0;         // motions the joints allow
  int normal_rank = 0;      // fewer than the contacts: they are redundant
  bool can_separate = true;
  Eigen::VectorXd v_minus;       // stacked contact velocities before [m/s]
  std::vector<int> approaching;  // contacts that approach
  std::vector<SystemLaw> laws;
  std::vector<SystemOutcomes> sets;

  bool usable() const;  // some law has an outcome
};

SystemPrediction PredictSystem(const SystemToPredict& problem);

// A report for people, at most `width` characters a line where names allow.
std::string SystemText(const SystemToPredict& problem, const SystemPrediction& prediction,
                       int width = 100);
// Everything (schema impactlab.system_prediction/1).
std::string SystemJson(const SystemToPredict& problem, const SystemPrediction& prediction);
// A row for each law and each velocity of bodies and contacts.
void WriteSystemCsv(const std::filesystem::path& path, const SystemToPredict& problem,
                    const SystemPrediction& prediction);

}  // namespace impactlab
