#pragma once
// Tables of states before and after impacts, of a run or made elsewhere. Columns are documented in
// data/README.md.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "pipelines/tables/tables.h"

namespace impactlab {

// Names of columns in a foreign table by ours without their unit (recording, v_minus_x,
// theta_dot_plus, ...): "their_name", in the unit of its suffix, or "their_name unit".
using StateColumns = std::map<std::string, std::string>;

// Our names that a mapping may hold.
std::vector<std::string> StateColumnNames();

struct EventStates {
  std::vector<ImpactEvent> events;
  bool of_run = false;       // written by this program: known frame errors are taken out already
  bool attitudes = false;    // of all states, or the body needs none
  bool places = false;       // of the centre
  std::string theta_column;  // planar: in the file; empty where there is none
};

// Reads events.csv of a run folder or a table made elsewhere (CSV, or MAT-file of level 5);
// `NAME_cov.csv` beside it where present, else the table's sd_ columns. DataError for what the
// table holds, ConfigError for a mapping that cannot be.
EventStates ReadStates(const std::filesystem::path& path, const Body& body, const Plane& floor,
                       const Eigen::Vector3d& gravity_W, const StateColumns& columns = {});

}  // namespace impactlab
