#pragma once
// Columns of an events table, shared by events.csv and truth.csv. Private to the pipelines room; documented in data/README.md.

#include <string>
#include <vector>

#include "data/table.h"
#include "impact/event.h"

namespace impactlab::internal {

std::vector<std::string> EventColumns();
// The cells of one event, in that order; the row is left open for more cells.
void WriteEventCells(CsvWriter& out, const ImpactEvent& event);

// Names of the 15 components of the joint covariance without unit: "v_minus_x", ..., "r_z".
const std::vector<std::string>& EventComponents();
// Rows of the joint covariance that move: 8 in planar motion, all 15 in space.
std::vector<int> ActiveRows(bool planar);
// Column of one entry of the covariance, e.g. "cov_v_minus_x_r_z_m2_per_s".
std::string CovarianceColumn(int row, int column);

}  // namespace impactlab::internal
