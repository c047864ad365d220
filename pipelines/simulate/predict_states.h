#pragma once
// One state before an impact, or a table of them, through every law of single contacts side by
// side; each outcome certified.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "impact/law/energetic_map.h"
#include "impact/law/law_table.h"

namespace impactlab {

struct StateToPredict {
  std::string name;
  ContactState contact;
  Coefficients coefficients;
};

struct StateTable {
  std::vector<StateToPredict> states;
  std::vector<std::string> unread;  // columns that neither a state nor events.csv has
};

// A CSV with columns v_minus_F_x, v_minus_F_n, A_F_xx, A_F_xn, A_F_nn (the names of events.csv), in
// space also v_minus_F_y, A_F_xy, A_F_yy, A_F_yn, each with any unit of its kind as the last part
// of the name; optional name or recording and impact, e, mu_k, mu_s, e_t, which replace `otherwise`
// row by row (mu_s follows mu_k where only mu_k is there). DataError for an empty cell of a state
// that is there, a column with no unit or another kind's, and a column that looks like one of these
// and is none.
StateTable ReadStates(const std::filesystem::path& path, const Coefficients& otherwise);

struct PredictedState {
  StateToPredict state;
  std::vector<LawOutcome> outcomes;          // in the order of LawNames()
  std::optional<int> region;                 // of the energetic map, 1 to 10; planar states
  std::optional<CriticalFriction> critical;  // planar states that approach
};
PredictedState PredictState(const StateToPredict& state);

// JSON (schema impactlab.predictions/1) and a table for people.
std::string PredictionsJson(const std::vector<PredictedState>& states);
std::string PredictionsText(const PredictedState& state);

// Lines and path of Routh's construction (Poisson's law) as a CSV: item, kind (line, path),
// J_t_N_s, J_n_N_s. ConfigError for a state in space.
void WriteRouth(const std::filesystem::path& path, const StateToPredict& state);

}  // namespace impactlab
