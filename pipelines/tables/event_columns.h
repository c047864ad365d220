#pragma once
// Columns of an events table, shared by events.csv and truth.csv; documented in data/README.md.

#include <string>
#include <vector>

#include "data/files/table.h"
#include "data/files/units.h"
#include "impact/body/event.h"

namespace impactlab::pipelines {

// `struck`: with the columns of a struck body that moves as well.
std::vector<std::string> EventColumns(bool struck = false);
// The cells of one event, in that order; the row is left open for more cells.
void WriteEventCells(CsvWriter& out, const ImpactEvent& event, bool struck = false);

// A column of the struck body: its name without unit, and the unit; in order.
struct StruckColumn {
  std::string stem;
  Quantity quantity;
  std::string unit;  // empty: none
};
const std::vector<StruckColumn>& StruckColumns();
// Its numbers in that order, and back.
std::vector<double> StruckNumbers(const StruckState& struck);
StruckState StruckFromNumbers(const std::vector<double>& numbers);

// Names of the 15 components of the joint covariance without unit: "v_minus_x", ..., "r_z".
const std::vector<std::string>& EventComponents();
// Rows of the joint covariance that move: 8 in planar motion, all 15 in space.
std::vector<int> ActiveRows(bool planar);
// Column of one entry of the covariance, e.g. "cov_v_minus_x_r_z_m2_per_s".
std::string CovarianceColumn(int row, int column);

}  // namespace impactlab::pipelines
