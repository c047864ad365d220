#include "pipelines/literature/planar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "impact/body/planar_contact.h"
#include "impact/law/solve.h"
#include "pipelines/config/visit.h"

namespace impactlab {
namespace {

struct ReadingName {
  LeverReading reading;
  const char *key, *words;
};
constexpr ReadingName kReadings[] = {
    {LeverReading::kFromNormal, "from_normal", "gamma from the normal"},
    {LeverReading::kFromSlip, "from_slip", "gamma from the surface"},
    {LeverReading::kAlongFall, "along_fall", "rod along its fall"}};

const ReadingName& NameOf(LeverReading reading) {
  return *std::find_if(std::begin(kReadings), std::end(kReadings),
                       [&](const ReadingName& n) { return n.reading == reading; });
}

struct PlanarPrediction {
  double loss = std::nan("");
  std::string path_case;
};

// A rod of unit mass and length that comes with v = (ratio, -1). The side on which the contact lies
// follows from approach alone where the reading leaves it open: levers that point away from the
// surface are turned round.
PlanarPrediction PredictPlanar(LeverReading reading, double slenderness, RestitutionLaw law,
                               double ratio, double gamma, double mu, double e) {
  const double radius = 1 / slenderness, inertia = radius * radius / 4 + 1.0 / 12;
  Eigen::Vector2d lever = Eigen::Vector2d(ratio, -1).normalized();
  switch (reading) {
    case LeverReading::kFromNormal:
      lever = {-std::sin(gamma), std::cos(gamma)};
      break;
    case LeverReading::kFromSlip:
      lever = {-std::cos(gamma), -std::sin(gamma)};
      break;
    case LeverReading::kAlongFall:
      break;
  }
  if (lever.y() > 0) lever = -lever;
  lever *= 0.5;
  const ContactState contact =
      InSpace(PlanarBodyContact(1, inertia, lever.x(), lever.y(), ratio, -1, 0));
  const ImpactOutcome outcome = Solve(contact, {{e, mu, mu}, law});
  if (outcome.status != SolveStatus::kOk) return {};
  // Work of the impulse on the body: by the mean of its contact velocities before and after.
  const double change = 0.5 * outcome.J_F.dot(contact.v_minus_F + outcome.v_plus_F);
  return {-change / (0.5 * (ratio * ratio + 1)), outcome.path_case.Name()};
}

void Compute(const PlanarTable& table, PlanarRow& row) {
  const auto law = RestitutionLawOf(row.law);
  if (!law) return;
  const Eigen::VectorXd x =
      (Eigen::VectorXd(4) << row.ratio.value, row.gamma.value, row.mu.value, row.e.value)
          .finished();
  const Eigen::VectorXd half =
      (Eigen::VectorXd(4) << row.ratio.half, row.gamma.half, row.mu.half, row.e.half).finished();
  for (const LeverReading reading : table.readings) {
    const auto say = [&](const Eigen::VectorXd& v) {
      return PredictPlanar(reading, table.slenderness, *law, v[0], v[1], v[2], v[3]);
    };
    row.ours.push_back({Recompute([&](const Eigen::VectorXd& v) { return say(v).loss; }, x, half),
                        say(x).path_case});
  }
}

void CheckPlanarRow(PlanarTable& table, const PlanarRow& row) {
  const auto add = [&](const std::string& kind, const std::string& column,
                       const std::string& printed, const std::string& ours, const std::string& unit,
                       double tolerance, const std::string& sentence) {
    table.faults.push_back(
        {kind, row.experiment, column, printed, ours, unit, tolerance, sentence});
  };
  const auto label = ReadCaseLabel(row.case_label);
  const std::string mode = ModeOf(row.mode_label);
  if (row.ours.empty()) {
    // Said once for an experiment, with what was measured.
    if (label && !mode.empty() && mode != ModeOf(label->path_case))
      add("label", "mode_printed", row.mode_label, ModeOf(label->path_case), "", 0,
          fmt::format("case {} is {}, the label reads \"{}\"", row.case_label,
                      ModeOf(label->path_case), row.mode_label));
    return;
  }
  std::string losses, cases;
  bool loss_found = false, case_found = false;
  double tolerance = 0;
  for (std::size_t k = 0; k < row.ours.size(); ++k) {
    const PlanarRow::Ours& o = row.ours[k];
    const char* words = NameOf(table.readings[k]).words;
    if (!std::isfinite(o.loss.value)) continue;
    losses += fmt::format("{}{:.1f} % ({})", losses.empty() ? "" : ", ", 100 * o.loss.value, words);
    cases += fmt::format("{}{} ({})", cases.empty() ? "" : ", ", o.path_case, words);
    tolerance = std::max(tolerance, 100 * o.loss.bound + row.loss.half);
    loss_found |=
        std::abs(100 * o.loss.value - row.loss.value) <= 100 * o.loss.bound + row.loss.half;
    const auto ours = ReadCaseLabel(o.path_case);
    case_found |= label && ours && ours->path_case.digit == label->path_case.digit;
  }
  if (row.loss.there() && !loss_found)
    add("energy", "dissipation_percent", row.loss.text, losses, "%", tolerance,
        fmt::format("{}: a loss of {} % is printed, the printed inputs lose {}", row.law,
                    row.loss.text, losses));
  if (label && !case_found)
    add("case", "case_printed", row.case_label, cases, "", 0,
        fmt::format("{}: case {} is printed, the printed inputs give {}", row.law, row.case_label,
                    cases));
}

}  // namespace

PlanarTable ReadPlanarTable(pipelines::Keys& keys, std::vector<std::filesystem::path>& inputs) {
  PlanarTable out;
  keys.Text("title", out.title, "of the table", pipelines::Need::kRequired);
  keys.Number("slenderness", out.slenderness, AtLeast(2), "length over radius");
  std::vector<std::string> known;
  for (const ReadingName& n : kReadings) known.emplace_back(n.key);
  std::vector<std::string> levers = known;
  keys.Texts("levers", levers,
             "readings of the angle gamma, every one is computed: lever (-sin, cos) along the "
             "surface and its normal, (-cos, -sin), along the velocity");
  for (const std::string& word : levers) {
    const auto found = std::find_if(std::begin(kReadings), std::end(kReadings),
                                    [&](const ReadingName& n) { return word == n.key; });
    keys.Check(found != std::end(kReadings), "levers", Excerpt(word), JoinNames(known));
    out.readings.push_back(found->reading);
  }
  std::filesystem::path path;
  keys.File("file", path, "CSV", pipelines::Need::kRequired);
  inputs.push_back(path);
  CsvOptions options;
  options.is_text = [](std::string_view) { return true; };  // the digits count
  const Table table = ReadCsv(path, options);
  std::string gamma;
  double to_rad = 1;
  for (const std::string& column : table.text_columns) {
    const UnitName unit = SplitUnit(column);
    if (unit.stem == "gamma" && unit.quantity == Quantity::kAngle)
      gamma = column, to_rad = unit.to_si;
  }
  if (gamma.empty())
    throw DataError(fmt::format(
        "{}: found no column gamma_rad, allowed gamma_rad or gamma_deg; the file has {}",
        table.path, JoinNames(table.text_columns)));
  for (std::size_t k = 0; k < table.n_rows(); ++k) {
    PlanarRow row;
    const auto number = [&](const std::string& column, const Range& allowed, double to_si = 1) {
      const std::string& text = table.TextColumn(column)[k];
      const auto printed = ReadPrinted(text, to_si);
      if (!printed || !allowed.Contains(printed->value))
        throw table.Fault(k, column, Excerpt(text), allowed.Words());
      return *printed;
    };
    row.experiment = table.TextColumn("experiment")[k];
    row.law = table.TextColumn("law")[k];
    if (row.law != "experiment" && !RestitutionLawOf(row.law))
      throw table.Fault(k, "law", Excerpt(row.law),
                        "experiment, " + JoinNames(RestitutionLawWords()));
    row.ratio = number("v_x_over_v_y", {});
    row.gamma = number(gamma, {}, to_rad);
    row.mu = number("mu", NonNegative());
    row.e = number(CoefficientName(RestitutionLaw::kNewton), Closed(0, 1));
    row.loss = number("dissipation_percent", {});
    if (table.HasText("case_printed")) row.case_label = table.TextColumn("case_printed")[k];
    if (table.HasText("mode_printed")) row.mode_label = table.TextColumn("mode_printed")[k];
    if (!row.case_label.empty() && !ReadCaseLabel(row.case_label))
      throw table.Fault(k, "case_printed", Excerpt(row.case_label),
                        "0 to 6, for 2 and 4 with a, b, c or .25, .5, .75");
    Compute(out, row);
    CheckPlanarRow(out, row);
    out.rows.push_back(std::move(row));
  }
  return out;
}

PresentationTable PlanarForm(const std::vector<const PlanarTable*>& tables) {
  PresentationTable form{
      "planar", "Planar impacts: share of energy lost, as printed and from the printed inputs",
      "± standard uncertainty from the printed digits. Every reading of the attitude is "
      "computed; a lever that would lie above the "
      "centre is turned round."};
  form.columns = {{"table", "table"},
                  {"experiment", "experiment"},
                  {"by", "by"},
                  {"case", "case printed"},
                  {"mode", "mode printed"},
                  {"dissipation_percent", "lost, as printed [%]", true}};
  for (const ReadingName& n : kReadings) {
    form.columns.push_back(
        {fmt::format("dissipation_{}_percent", n.key), fmt::format("lost, {} [%]", n.words), true});
    form.columns.push_back({fmt::format("case_{}", n.key), "case"});
  }
  for (const PlanarTable* t : tables) {
    for (const PlanarRow& row : t->rows) {
      std::vector<FormCell> cells = {
          t->title,
          row.experiment,
          row.law == "experiment" ? "measured" : row.law + ", computed there",
          row.case_label,
          row.mode_label,
          FormCell(row.loss.value, row.loss.text)};
      for (const ReadingName& n : kReadings) {
        const auto at = std::find(t->readings.begin(), t->readings.end(), n.reading);
        const bool there = !row.ours.empty() && at != t->readings.end();
        const PlanarRow::Ours ours =
            there ? row.ours[static_cast<std::size_t>(at - t->readings.begin())]
                  : PlanarRow::Ours();
        cells.push_back(std::isfinite(ours.loss.value)
                            ? FormCell(100 * ours.loss.value, 100 * ours.loss.u)
                            : FormCell());
        cells.emplace_back(ours.path_case);
      }
      form.Row(std::move(cells));
    }
    form.Row({});
  }
  return form;
}

}  // namespace impactlab
