#pragma once
// Are the measurements of a campaign distributed as their predictive distributions state?
// Area metric (data/statistics/area_metric.h) of every quantity that every law predicts, beside the
// areas of a true prediction.
//
// Predictions are of recordings that the fit had not seen where there are such, else in sample. A
// measurement's predictive distribution is normal about the prediction, with the standard deviation
// of the difference: measurement of both states, coefficients and scatter between impacts.
// Coefficients and scatter come from the same campaign, which makes the differences a little more
// regular than independent ones are: the chance of a false alarm is below the stated one. Impacts
// of one recording may share errors: their correlation is estimated.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/study/validation.h"

namespace impactlab {

struct AreaRow {
  std::string law, quantity, unit;
  bool in_sample = false;
  int n = 0, recordings = 0;
  // of the places in the predictive distributions [1]; of a true prediction
  double u_area = 0, u_median = 0, u_upper95 = 0;
  // of all measurements against all predictions [unit]
  double area = 0, area_median = 0, area_upper95 = 0;
  // of (measured - predicted) / sd: robust, by median and MAD
  double mean_z = 0, sd_z = 0;
  // of u_area; corrected for the quantities of the law (Holm)
  double p = 1, p_family = 1;
  // "agrees", "departs"; "few" below 8 recordings
  std::string verdict;
};

// One row a law and quantity, in the order of the table.
std::vector<AreaRow> CompareDistributions(const ValidationTable& table, std::uint64_t seed);

// How a row departs, for people: "scatters 1.8 times as much as stated", "lies 0.6 sd above", ...
std::string DepartureWords(const AreaRow& row);

// area.csv (data/README)
void WriteAreas(const std::filesystem::path& path, const std::vector<AreaRow>& rows);

// Laws of a table in its order, and whether it has predictions of unseen recordings by one.
std::vector<std::string> LawsOf(const ValidationTable& table);
bool HasUnseen(const ValidationTable& table, const std::string& law);

}  // namespace impactlab
