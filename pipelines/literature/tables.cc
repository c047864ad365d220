// Tables and page of an audit of printed tables.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "pipelines/literature/literature.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/page.h"

namespace impactlab {
namespace {

using Some = std::vector<const PublishedTable*>;

constexpr const char* kComponents[] = {"v_{}_x_m_per_s",       "v_{}_y_m_per_s",
                                       "v_{}_z_m_per_s",       "omega_{}_x_rad_per_s",
                                       "omega_{}_y_rad_per_s", "omega_{}_z_rad_per_s"};
constexpr const char* kTitles[] = {"vx{}", "vy{}", "vz{}", "ωx{}", "ωy{}", "ωz{}"};

void AddMotion(std::vector<FormColumn>& columns, const char* part, const char* sign) {
  for (int i = 0; i < 6; ++i)
    columns.push_back(
        {fmt::format(fmt::runtime(kComponents[i]), part),
         fmt::format(fmt::runtime(kTitles[i]), sign) + (i < 3 ? " [m/s]" : " [rad/s]"), true});
}

// A motion of W in the axes of the printed table.
MotionVector InTable(const PublishedTables& all, const MotionVector& in_W, bool sizes = false) {
  const Eigen::Matrix3d R = sizes ? Eigen::Matrix3d(all.R_WT.cwiseAbs()) : all.R_WT;
  return (MotionVector() << R.transpose() * in_W.head<3>(), R.transpose() * in_W.tail<3>())
      .finished();
}

void AddPrinted(std::vector<FormCell>& cells, const MotionVector& value,
                const std::vector<std::string>& texts) {
  for (int i = 0; i < 6; ++i) cells.emplace_back(value[i], texts[static_cast<std::size_t>(i)]);
}

// An attitude that the source does not give is an assumption, and says so.
std::string Orientation(const PrintedRow& row, const RowAudit& audit) {
  return audit.attitude == AttitudeSource::kStated && !row.assumption.empty()
             ? "assumed"
             : AttitudeName(audit.attitude);
}

FormCell PrintedCell(const Printed& printed) {
  return printed.there() ? FormCell(printed.value, printed.text) : FormCell();
}
FormCell Share(const Recomputed& r) {
  return std::isfinite(r.value) ? FormCell(100 * r.value, 100 * r.u) : FormCell();
}

PresentationTable States(const PublishedTables& all, const Some& some) {
  PresentationTable form{
      "states", "States before and after the impact, as printed",
      "Axes of the printed tables. Every number stands for all that round to it."};
  form.columns = {
      {"table", "table"}, {"experiment", "experiment"}, {"slope_deg", "slope [deg]", true}};
  AddMotion(form.columns, "minus", "−");
  AddMotion(form.columns, "plus", "+");
  form.columns.push_back({"orientation", "orientation"});
  form.columns.push_back({"note", "from"});
  for (const PublishedTable* t : some) {
    for (std::size_t k = 0; k < t->table.rows.size(); ++k) {
      const PrintedRow& row = t->table.rows[k];
      std::vector<FormCell> cells = {t->table.title, row.name, FormCell(row.slope * 180 / M_PI)};
      AddPrinted(cells, InTable(all, row.minus.value), t->texts[k].minus);
      AddPrinted(cells, InTable(all, row.plus.value), t->texts[k].plus);
      cells.emplace_back(Orientation(row, t->audit.rows[k]));
      cells.emplace_back(t->audit.rows[k].attitude_note);
      form.Row(std::move(cells));
    }
    form.Row({});
  }
  return form;
}

PresentationTable Comparison(const PublishedTables& all, const Some& some) {
  PresentationTable form{
      "comparison",
      "State after the impact: measured, computed there, and by the laws of this program",
      "sd of predictions: rounding of the printed inputs alone. Error: sqrt(T(difference) / "
      "T(measured)), T the kinetic energy. "
      "Rows of a solved orientation are no validation: their measured state was used to solve it."};
  form.columns = {{"table", "table"}, {"experiment", "experiment"}, {"by", "by"}};
  AddMotion(form.columns, "plus", "+");
  for (const FormColumn& column : std::vector<FormColumn>{{"case", "case"},
                                                          {"mode", "mode"},
                                                          {"dissipation_percent", "lost [%]", true},
                                                          {"error_percent", "error [%]", true},
                                                          {"orientation", "orientation"},
                                                          {"validation", "validation"}})
    form.columns.push_back(column);
  for (const PublishedTable* t : some)
    for (std::size_t k = 0; k < t->table.rows.size(); ++k) {
      const PrintedRow& row = t->table.rows[k];
      const RowAudit& audit = t->audit.rows[k];
      const std::string orientation = Orientation(row, audit);
      const auto line = [&](const std::string& by, std::vector<FormCell> motion,
                            const std::string& path_case, const std::string& mode,
                            const FormCell& loss, const FormCell& error, const char* validation) {
        std::vector<FormCell> cells = {t->table.title, row.name, by};
        cells.insert(cells.end(), motion.begin(), motion.end());
        cells.insert(cells.end(), {path_case, mode, loss, error, orientation, validation});
        form.Row(std::move(cells));
      };
      std::vector<FormCell> motion;
      AddPrinted(motion, InTable(all, row.plus.value), t->texts[k].plus);
      line("measured, printed", motion, "", "", PrintedCell(row.loss_measured), {}, "");
      line("measured, recomputed", std::vector<FormCell>(6), "", "", Share(audit.loss), {}, "");
      if (row.computed) {
        motion.clear();
        AddPrinted(motion, InTable(all, row.computed->value), t->texts[k].computed);
        line("computed there", motion, row.case_label, row.mode_label,
             PrintedCell(row.loss_computed), FormCell(100 * audit.error_computed), "");
      }
      const char* counts = audit.attitude == AttitudeSource::kStated ? "yes" : "no";
      for (const RowPrediction& p : audit.predictions) {
        const MotionVector plus = InTable(all, p.plus), sd = InTable(all, p.sd, true);
        motion.clear();
        for (int i = 0; i < 6; ++i) motion.emplace_back(plus[i], sd[i]);
        const auto label = ReadCaseLabel(p.path_case);
        line(std::string(LawName(p.law)), motion,
             p.path_case + (p.case_share < 1 ? fmt::format(" ({:.0f} %)", 100 * p.case_share) : ""),
             label ? ModeOf(label->path_case) : "", FormCell(100 * p.loss, 100 * p.sd_loss),
             FormCell(100 * p.error), counts);
        if (p.law != t->table.law) continue;
        const MotionVector off = InTable(all, p.plus - row.plus.value);
        const MotionVector both =
            InTable(all, (p.sd.cwiseAbs2() + row.plus.half.cwiseAbs2() / 3).cwiseSqrt(), true);
        motion.clear();
        for (int i = 0; i < 6; ++i) motion.emplace_back(off[i], both[i]);
        line(fmt::format("{} − measured", LawName(p.law)), motion, "", "",
             FormCell(100 * (p.loss - audit.loss.value), 100 * std::hypot(p.sd_loss, audit.loss.u)),
             {}, counts);
      }
      if (audit.predictions.empty())
        line(orientation, std::vector<FormCell>(6), "", "", {}, {}, "no");
      form.Row({});
    }
  return form;
}

PresentationTable Balance(const Some& some) {
  PresentationTable form{
      "balance", "Energy, contact and spin, recomputed from the printed states",
      "± standard uncertainty from the printed digits. Without an attitude the energy "
      "is that of the middle of its range and the "
      "impulse ratio the least over all azimuths of the slope."};
  form.columns = {{"table", "table"},
                  {"experiment", "experiment"},
                  {"orientation", "orientation"},
                  {"T_minus_J", "T− [J]", true},
                  {"T_plus_J", "T+ [J]", true},
                  {"loss_percent", "lost [%]", true},
                  {"loss_range_percent", "lost, any attitude [%]"},
                  {"loss_printed_inertia_percent", "lost, printed inertia [%]", true},
                  {"loss_stated_percent", "lost, as printed [%]", true},
                  {"loss_computed_percent", "lost, computed states [%]", true},
                  {"loss_computed_stated_percent", "the same, as printed [%]", true},
                  {"restitution", "e at the contact", true},
                  {"J_t_over_J_n", "Jt / Jn", true},
                  {"slip_m_per_s", "slip before [m/s]", true},
                  {"spin_from_impulse_rad_per_s", "spin change from r × J [rad/s]", true},
                  {"spin_change_rad_per_s", "spin change printed [rad/s]", true}};
  const auto cell = [](const Recomputed& r) {
    return std::isfinite(r.value) ? FormCell(r.value, r.u) : FormCell();
  };
  for (const PublishedTable* t : some) {
    for (std::size_t k = 0; k < t->table.rows.size(); ++k) {
      const PrintedRow& row = t->table.rows[k];
      const RowAudit& a = t->audit.rows[k];
      const bool stated = a.attitude == AttitudeSource::kStated,
                 range = a.attitude == AttitudeSource::kNeeded;
      form.Row({t->table.title, row.name, Orientation(row, a), cell(a.T_minus), cell(a.T_plus),
                range ? FormCell() : Share(a.loss),
                range ? fmt::format("{:.0f} to {:.0f}", 100 * a.loss_least, 100 * a.loss_most) : "",
                Share(a.loss_printed_inertia), PrintedCell(row.loss_measured),
                range ? FormCell() : Share(a.loss_computed), PrintedCell(row.loss_computed),
                cell(a.restitution), cell(a.friction), cell(a.slip),
                stated ? FormCell(a.spin_turned) : FormCell(), FormCell(a.spin_tabulated)});
    }
    form.Row({});
  }
  return form;
}

// The faults of a table under its title.
using Blame = std::pair<std::string, const std::vector<TableFault>*>;

std::vector<Blame> BlamesOf(const PublishedTables& all) {
  std::vector<Blame> out;
  for (const PublishedTable& t : all.tables) out.emplace_back(t.table.title, &t.audit.faults);
  for (const PlanarTable& t : all.planar) out.emplace_back(t.title, &t.faults);
  return out;
}

PresentationTable Faults(const PublishedTables& all) {
  PresentationTable form{
      "faults", "Disagreements in the printed tables",
      "Tolerance: what rounding of the printed digits allows, all inputs at their "
      "worst; disagreements within it are not listed."};
  form.columns = {
      {"table", "table"},   {"experiment", "experiment"},     {"kind", "kind"},
      {"column", "column"}, {"printed", "printed"},           {"recomputed", "recomputed"},
      {"unit", "unit"},     {"tolerance", "tolerance", true}, {"sentence", "what disagrees"}};
  for (const auto& [title, faults] : BlamesOf(all)) {
    for (const TableFault& f : *faults)
      form.Row(
          {title, f.row, f.kind, f.column, f.printed, f.recomputed, f.unit,
           f.tolerance > 0 ? FormCell(f.tolerance, fmt::format("{:.2g}", f.tolerance)) : FormCell(),
           f.sentence});
    form.Row({});
  }
  return form;
}

// The same without the columns that the sentence repeats.
PresentationTable FaultsForReading(const PublishedTables& all) {
  PresentationTable form{
      "faults", "",
      "Tolerance: what rounding of the printed digits allows, all inputs at their worst."};
  form.columns = {{"table", "table"},
                  {"experiment", "experiment"},
                  {"kind", "kind"},
                  {"sentence", "what disagrees"},
                  {"tolerance", "tolerance", true},
                  {"unit", "unit"}};
  for (const auto& [title, faults] : BlamesOf(all))
    for (const TableFault& f : *faults)
      form.Row(
          {title, f.row.empty() ? "all" : f.row, f.kind, f.sentence,
           f.tolerance > 0 ? FormCell(f.tolerance, fmt::format("{:.2g}", f.tolerance)) : FormCell(),
           f.unit});
  return form;
}

struct Counts {
  int rows = 0, stated = 0, solved = 0;  // of states
  int faults = 0, experiments = 0, experiments_with_faults = 0;
};

Counts CountOf(const PublishedTables& all) {
  Counts n;
  std::set<std::string> blamed;
  for (const auto& [title, faults] : BlamesOf(all)) {
    n.faults += static_cast<int>(faults->size());
    for (const TableFault& f : *faults)
      if (!f.row.empty()) blamed.insert(title + "\n" + f.row);
  }
  n.experiments_with_faults = static_cast<int>(blamed.size());
  for (const PublishedTable& t : all.tables)
    for (const RowAudit& row : t.audit.rows) {
      ++n.rows;
      n.stated += row.attitude == AttitudeSource::kStated;
      n.solved += row.attitude == AttitudeSource::kSolved;
    }
  n.experiments = n.rows;
  for (const PlanarTable& t : all.planar) {
    std::set<std::string> names;
    for (const PlanarRow& row : t.rows) names.insert(row.experiment);
    n.experiments += static_cast<int>(names.size());
  }
  return n;
}

constexpr std::size_t kExamples = 3;  // of one kind, on the terminal

// Lines of one kind for the terminal: its count and its first examples, "row sentence" each.
std::string ExamplesOf(const std::string& kind, const std::vector<std::string>& lines) {
  std::string out = fmt::format("  {:<12} {}\n", kind, lines.size());
  for (std::size_t k = 0; k < std::min(kExamples, lines.size()); ++k)
    out += "    " + lines[k] + "\n";
  if (lines.size() > kExamples) out += fmt::format("    and {} more\n", lines.size() - kExamples);
  return out;
}

// What disagrees in one table: how many of its rows, and kinds with their counts, the most frequent
// first.
std::string FaultSummary(const std::string& title, const std::vector<TableFault>& faults,
                         std::size_t n_rows) {
  std::set<std::string> rows;
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (const TableFault& f : faults) {
    if (!f.row.empty()) rows.insert(f.row);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const auto& known) { return known.first == f.kind; });
    if (kind == kinds.end()) {
      kinds.emplace_back(f.kind, std::vector<std::string>());
      kind = std::prev(kinds.end());
    }
    kind->second.push_back(fmt::format("{:<4} {}", f.row, f.sentence));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string out =
      fmt::format("{}\n  {} of {} rows disagree with themselves\n", title, rows.size(), n_rows);
  for (const auto& [kind, lines] : kinds) out += ExamplesOf(kind, lines);
  return out;
}

// Rows whose attitude the source does not state.
std::string AttitudeSummary(const PublishedTable& table) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < table.audit.rows.size(); ++k) {
    const RowAudit& row = table.audit.rows[k];
    if (row.attitude != AttitudeSource::kStated)
      lines.push_back(fmt::format("{:<4} {}: {}", table.table.rows[k].name,
                                  AttitudeName(row.attitude), row.attitude_note));
  }
  return lines.empty() ? "" : ExamplesOf("orientation", lines);
}

void WriteIndex(const std::filesystem::path& path, const PublishedTables& all) {
  pipelines::Page page;
  page.title = all.name;
  const Counts n = CountOf(all);
  pipelines::PageHead head{
      .eyebrow = "ImpactLab audit of printed tables",
      .title = all.name,
      .lead = fmt::format("{} in {} of {}.", pipelines::Count(n.faults, "disagreement"),
                          n.experiments_with_faults, pipelines::Count(n.experiments, "experiment")),
      .tiles = pipelines::Tile("Disagreements", std::to_string(n.faults),
                               "beyond what rounding allows") +
               pipelines::Tile("Validation", pipelines::Count(n.stated, "row"),
                               "whose orientation is stated or assumed") +
               pipelines::Tile("Orientation solved", pipelines::Count(n.solved, "row"),
                               "from momentum; shown, never counted") +
               pipelines::Tile("Needs orientation",
                               pipelines::Count(n.rows - n.stated - n.solved, "row"),
                               "momentum gives none")};
  if (!all.source.empty()) head.remarks = {{"second", pipelines::Escape(all.source)}};
  page.head = pipelines::PageHeadHtml(head);
  const auto section = [&](const std::string& id, const std::string& title, std::string html) {
    pipelines::Section s;
    s.id = id;
    s.title = title;
    s.html = std::move(html);
    page.sections.push_back(std::move(s));
  };
  section("faults", "What disagrees", ToHtml(FaultsForReading(all)));
  int k = 0;
  for (const PublishedTable& t : all.tables) {
    const std::string id = fmt::format("table-{}", k++);
    section(id, t.table.title,
            ToHtml(Comparison(all, {&t})) + ToHtml(Balance({&t})) + ToHtml(States(all, {&t})));
  }
  for (const PlanarTable& t : all.planar)
    section(fmt::format("table-{}", k++), t.title, ToHtml(PlanarForm({&t})));
  section("method", "How it is judged",
          "<p>A printed number stands for every number that rounds to it. Quantities recomputed "
          "from such numbers carry that as a standard "
          "uncertainty (rectangular, GUM 4.3.7) and as a bound; a disagreement is listed only "
          "beyond the bound. Energy and momentum are "
          "those of "
          "the rigid body. Where the source gives no attitude, one is sought from I Δω = r × m Δv "
          "alone; energy is then held against all "
          "attitudes, friction against all azimuths of the slope. Predictions use the coefficients "
          "that the table states.</p>");
  pipelines::WritePage(path, page, {});
}

}  // namespace

std::vector<PresentationTable> FormsOf(const PublishedTables& all) {
  std::vector<PresentationTable> forms;
  Some whole;
  for (const PublishedTable& t : all.tables) whole.push_back(&t);
  if (!whole.empty()) forms = {States(all, whole), Comparison(all, whole), Balance(whole)};
  std::vector<const PlanarTable*> planar;
  for (const PlanarTable& t : all.planar) planar.push_back(&t);
  if (!planar.empty()) forms.push_back(PlanarForm(planar));
  forms.push_back(Faults(all));
  return forms;
}

void WritePublished(const std::filesystem::path& folder, const PublishedTables& all) {
  WriteForms(folder, FormsOf(all));
  WriteIndex(folder / "index.html", all);
}

std::string BriefReport(const PublishedTables& all) {
  std::string out;
  for (const PublishedTable& t : all.tables)
    out += FaultSummary(t.table.title, t.audit.faults, t.table.rows.size()) + AttitudeSummary(t);
  for (const PlanarTable& t : all.planar) out += FaultSummary(t.title, t.faults, t.rows.size());
  const Counts n = CountOf(all);
  return out + fmt::format(
                   "{} disagreements in {} of {} experiments; {} with an orientation, {} solved, "
                   "{} need one\n{}",
                   n.faults, n.experiments_with_faults, n.experiments, n.stated, n.solved,
                   n.rows - n.stated - n.solved,
                   n.faults > 0 ? "all disagreements stand in faults.csv and index.html\n" : "");
}

}  // namespace impactlab
