#include "pipelines/study/area_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/files/table.h"
#include "data/statistics/area_metric.h"
#include "data/statistics/many_tests.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr int kFewestForArea = 8;  // recordings that a verdict needs
constexpr int kUniformDraws = 999;
constexpr int kMixtureDraws = 199;  // for a median and a 95 % point
constexpr double kAreaLevel = 0.05;

struct AreaSample {
  std::vector<double> measured, predicted, sd, z;
  std::vector<int> cluster;
  int recordings = 0;
};

AreaSample Collect(const ValidationTable& table, const std::string& law,
                   const std::string& quantity, bool in_sample) {
  AreaSample sample;
  std::map<std::string, int> clusters;
  for (const ValidationRow& row : table.rows) {
    if (row.law != law || row.quantity != quantity || row.in_sample != in_sample ||
        !(row.sd_difference > 0))
      continue;
    sample.measured.push_back(row.measured);
    sample.predicted.push_back(row.predicted);
    sample.sd.push_back(row.sd_difference);
    sample.z.push_back(-row.z);
    sample.cluster.push_back(
        clusters.try_emplace(row.recording, static_cast<int>(clusters.size())).first->second);
  }
  sample.recordings = static_cast<int>(clusters.size());
  return sample;
}

}  // namespace

std::vector<std::string> LawsOf(const ValidationTable& table) {
  std::vector<std::string> laws;
  for (const PredictionError& error : table.errors)
    if (std::find(laws.begin(), laws.end(), error.law) == laws.end()) laws.push_back(error.law);
  return laws;
}

bool HasUnseen(const ValidationTable& table, const std::string& law) {
  return std::any_of(table.errors.begin(), table.errors.end(),
                     [&](const PredictionError& e) { return e.law == law && e.fold >= 0; });
}

std::vector<AreaRow> CompareDistributions(const ValidationTable& table, std::uint64_t seed) {
  std::vector<AreaRow> rows;
  // of the same recordings and correlation
  std::map<std::pair<std::vector<int>, double>, AreaReference> uniform;
  for (const std::string& law : LawsOf(table)) {
    const bool in_sample = !HasUnseen(table, law);
    std::vector<std::string> quantities;
    for (const ValidationRow& row : table.rows)
      if (row.law == law &&
          std::find(quantities.begin(), quantities.end(), row.quantity) == quantities.end())
        quantities.push_back(row.quantity);
    std::vector<double> p;
    const std::size_t first = rows.size();
    for (const std::string& quantity : quantities) {
      const AreaSample sample = Collect(table, law, quantity, in_sample);
      if (sample.z.empty()) continue;
      AreaRow row;
      row.law = law;
      row.quantity = quantity;
      row.in_sample = in_sample;
      for (const ValidationRow& one : table.rows)
        if (one.quantity == quantity) row.unit = one.unit;
      row.n = static_cast<int>(sample.z.size());
      row.recordings = sample.recordings;
      const Sharing sharing{sample.cluster,
                            CorrelationWithin(NormalScores(sample.z), sample.cluster)};
      auto [known, fresh] = uniform.try_emplace({sharing.cluster, sharing.correlation});
      if (fresh) known->second = UniformReference(sharing, kUniformDraws, seed);
      const AreaReference& reference = known->second;
      std::vector<double> u;
      for (const double z : sample.z) u.push_back(NormalCdf(z));
      row.u_area = AreaFromUniform(std::move(u));
      row.u_median = reference.Median();
      row.u_upper95 = reference.Upper95();
      row.p = reference.Exceedance(row.u_area);
      const NormalMixture predicted(sample.predicted, sample.sd);
      const AreaReference in_unit =
          MixtureReference(predicted, sample.predicted, sample.sd, sharing, kMixtureDraws, seed);
      row.area = predicted.AreaFrom(sample.measured);
      row.area_median = in_unit.Median();
      row.area_upper95 = in_unit.Upper95();
      row.mean_z = Median(sample.z);
      row.sd_z = MadSigma(sample.z);
      p.push_back(row.recordings < kFewestForArea ? std::nan("") : row.p);
      rows.push_back(std::move(row));
    }
    const std::vector<double> adjusted = HolmAdjusted(p);
    for (std::size_t k = 0; k < adjusted.size(); ++k) {
      AreaRow& row = rows[first + k];
      row.p_family = adjusted[k];
      row.verdict = std::isnan(adjusted[k])    ? "few"
                    : adjusted[k] < kAreaLevel ? "departs"
                                               : "agrees";
    }
  }
  return rows;
}

std::string DepartureWords(const AreaRow& row) {
  const double shift = std::abs(row.mean_z) * std::sqrt(static_cast<double>(row.recordings));
  std::string words;
  if (shift > 2.5)
    words = fmt::format("measured {} sd {} the prediction in the median",
                        fmt::format("{:.2g}", std::abs(row.mean_z)),
                        row.mean_z > 0 ? "above" : "below");
  // MAD of n normals is known to about 1.2 / sqrt(n) of itself.
  if (std::abs(std::log(std::max(row.sd_z, 1e-6))) *
          std::sqrt(static_cast<double>(row.recordings)) >
      2.5)
    words +=
        fmt::format("{}scatters {:.2g} times what is stated", words.empty() ? "" : ", ", row.sd_z);
  return words.empty() ? "the shape of the scatter is not normal" : words;
}

void WriteAreas(const std::filesystem::path& path, const std::vector<AreaRow>& rows) {
  CsvWriter out(path, {"law", "quantity", "unit", "in_sample", "n", "recordings", "u_area",
                       "u_median", "u_upper95", "p", "p_family", "area", "area_median",
                       "area_upper95", "mean_z", "sd_z", "verdict"});
  for (const AreaRow& row : rows) {
    out.Text(row.law)
        .Text(row.quantity)
        .Text(row.unit)
        .Integer(row.in_sample)
        .Integer(row.n)
        .Integer(row.recordings);
    for (const double value : {row.u_area, row.u_median, row.u_upper95, row.p, row.p_family,
                               row.area, row.area_median, row.area_upper95, row.mean_z, row.sd_z})
      out.Number(value);
    out.Text(row.verdict).EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
