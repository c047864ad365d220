// The validation table in the form of a publication: measured and predicted motion after every
// impact, case, energy, error.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "pipelines/study/validation.h"

namespace impactlab {
namespace {

struct Motion {
  const char *quantity, *column, *title;
};
constexpr Motion kMotions[] = {{"v_plus_x", "v_plus_x_m_per_s", "vx+ [m/s]"},
                               {"v_plus_y", "v_plus_y_m_per_s", "vy+ [m/s]"},
                               {"v_plus_z", "v_plus_z_m_per_s", "vz+ [m/s]"},
                               {"omega_plus_x", "omega_plus_x_rad_per_s", "ωx+ [rad/s]"},
                               {"omega_plus_y", "omega_plus_y_rad_per_s", "ωy+ [rad/s]"},
                               {"omega_plus_z", "omega_plus_z_rad_per_s", "ωz+ [rad/s]"}};

// Of one law (and fold) for one impact, by quantity.
using FormEntry = std::map<std::string, const ValidationRow*>;
using Impact = std::pair<std::string, int>;

enum class Part { kMeasured, kPredicted, kDifference };

// One quantity of an impact, with its standard deviation; `loss`: the energy lost in percent.
FormCell QuantityCell(const FormEntry& entry, const std::string& quantity, Part part, bool loss) {
  const auto found = entry.find(quantity);
  if (found == entry.end()) return {};
  const ValidationRow& r = *found->second;
  const double value = part == Part::kMeasured    ? r.measured
                       : part == Part::kPredicted ? r.predicted
                                                  : r.difference;
  const double sd = part == Part::kMeasured    ? r.sd_measured
                    : part == Part::kPredicted ? r.sd_predicted
                                               : r.sd_difference;
  if (!loss) return {value, sd};
  // the table holds T+ / T-
  return {100 * (part == Part::kDifference ? -value : 1 - value), 100 * sd};
}

}  // namespace

PresentationTable ValidationForm(const ValidationTable& table) {
  PresentationTable form{
      "validation_table", "State after the impact, measured and predicted",
      "± standard deviation; that of predictions and differences holds the scatter from impact to "
      "impact. Error: sqrt(T(difference) / T(measured)), T the kinetic energy. Verdicts after ASME "
      "V&V 20, over all quantities of the impact: adequate / discrepant / unresolved."};
  std::vector<Impact> impacts;
  std::map<Impact, std::vector<std::pair<std::string, int>>> laws;
  std::map<std::tuple<Impact, std::string, int>, FormEntry> entries;
  for (const ValidationRow& row : table.rows) {
    const Impact impact(row.recording, row.impact);
    if (laws.find(impact) == laws.end()) impacts.push_back(impact);
    FormEntry& entry = entries[{impact, row.law, row.fold}];
    if (entry.empty()) laws[impact].emplace_back(row.law, row.fold);
    entry[row.quantity] = &row;
  }
  std::map<std::tuple<Impact, std::string, int>, double> errors;
  for (const PredictionError& e : table.errors)
    errors[{{e.recording, e.impact}, e.law, e.fold}] = e.by_plus;

  std::vector<Motion> motions;
  for (const Motion& m : kMotions)
    if (std::any_of(table.rows.begin(), table.rows.end(),
                    [&](const ValidationRow& row) { return row.quantity == m.quantity; }))
      motions.push_back(m);
  form.columns = {
      {"recording", "recording"}, {"impact", "impact", true}, {"by", "by"}, {"fold", "fold"}};
  for (const Motion& m : motions) form.columns.push_back({m.column, m.title, true});
  for (const FormColumn& column :
       {FormColumn{"case", "case"}, FormColumn{"dissipation_percent", "lost [%]", true},
        FormColumn{"error_percent", "error [%]", true}, FormColumn{"verdicts", "verdicts"}})
    form.columns.push_back(column);

  for (const Impact& impact : impacts) {
    const auto line = [&](const std::string& by, const std::string& fold, const FormEntry& entry,
                          Part part, const std::string& path_case, const FormCell& error,
                          const std::string& verdicts) {
      std::vector<FormCell> cells = {impact.first, FormCell(static_cast<double>(impact.second)), by,
                                     fold};
      for (const Motion& m : motions) cells.push_back(QuantityCell(entry, m.quantity, part, false));
      cells.insert(cells.end(),
                   {path_case, QuantityCell(entry, "energy_ratio", part, true), error, verdicts});
      form.Row(std::move(cells));
    };
    bool first = true;
    for (const auto& [law, fold] : laws[impact]) {
      const FormEntry& entry = entries[{impact, law, fold}];
      if (first) line("measured", "", entry, Part::kMeasured, "", {}, "");
      first = false;
      std::map<std::string, int> verdicts;
      for (const auto& [quantity, row] : entry) ++verdicts[row->verdict];
      const std::string sample = fold < 0 ? "in sample" : std::to_string(fold);
      const auto error = errors.find({impact, law, fold});
      line(law, sample, entry, Part::kPredicted, entry.begin()->second->path_case,
           error == errors.end() ? FormCell() : FormCell(100 * error->second),
           fmt::format("{} / {} / {}", verdicts["adequate"], verdicts["discrepant"],
                       verdicts["unresolved"]));
      line(law + " − measured", sample, entry, Part::kDifference, "", {}, "");
    }
    form.Row({});
  }
  return form;
}

void WriteValidationForms(const std::filesystem::path& folder, const ValidationTable& table) {
  const PresentationTable form = ValidationForm(table);
  WriteForms(folder, {form});
  WriteForm(folder / (form.name + ".html"), form);
}

}  // namespace impactlab
