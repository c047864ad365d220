#pragma once
// Where does a law's form fail? Scans of its errors against the conditions of the impacts: approach
// speed, slip speed, lean, spin before, predicted case, order of the recordings.
//
// Errors are those of unseen recordings (in sample where there are no others), in standard
// deviations that the prediction states: of the normal velocity, of the tangential velocity along
// the slip before the impact, and the size of the whole error. Under a law that holds they do not
// depend on the conditions, and exchanging recordings changes nothing. Every split of every
// condition, at least a tenth of the impacts (and five) on either side, and every case against the
// others compares mean normal scores; the largest of all of them in permutations of the recordings
// gives each p value its family (Westfall and Young, Resampling-Based Multiple Testing, 1993).

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "pipelines/study/validation.h"

namespace impactlab {

// The best split of one error by one condition.
struct EdgeRow {
  std::string law;
  // "v_n_plus", "v_t_plus" [m/s]; "size" [1]: chi-square of the error over its freedoms
  std::string quantity, unit;
  // "approach_speed", "slip_speed", "lean", "spin", "case", "order"
  std::string condition, condition_unit;
  bool in_sample = false;
  int n = 0, n_beyond = 0;
  double lower = 0, upper = 0;  // of the condition, as seen
  double edge = 0;              // between within and beyond; NaN for cases
  bool above = true;            // beyond is above the edge
  std::string case_beyond;      // of condition "case"
  // Mean of predicted minus measured, of v_t along the slip; its standard deviation.
  double error_within = 0, sd_within = 0, error_beyond = 0, sd_beyond = 0;
  double p_family = 1;
  // difference of the means that a split in the middle would have shown [unit]
  double detectable = 0;
  bool found = false;  // p_family < 0.05
};

// Rows of every law, three errors by six conditions; none of a law with fewer than 12 recordings.
std::vector<EdgeRow> FindEdges(std::span<const ImpactEvent> events, const ValidationTable& table,
                               std::uint64_t seed);

// One sentence: "above 1.43 m/s of approach ... (p = 0.002)".
std::string EdgeWords(const EdgeRow& row);
// "no edge seen in 0.3 to 1.9 m/s of approach, ..." of a law; empty where it was not scanned.
std::string NoEdgeWords(const std::vector<EdgeRow>& rows, const std::string& law);

// edges.csv (data/README)
void WriteEdges(const std::filesystem::path& path, const std::vector<EdgeRow>& rows);

}  // namespace impactlab
