#include "pipelines/literature/literature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;

constexpr char kAxes[] = {'x', 'y', 'z'};

// One cell of one file.
struct Cell {
  std::string text, column;
  double to_si = 1;
  const Table* table = nullptr;
  std::size_t row = 0;
};

// All cells of one experiment, by the stem of their column.
using Experiment = std::map<std::string, Cell>;

struct Column {
  std::string stem;
  Quantity quantity;
};

std::vector<Column> NumberColumns() {
  std::vector<Column> columns;
  for (const char* part : {"minus", "plus"})
    for (const char* of : {"", "_experiment", "_computation"})
      for (const char axis : kAxes) {
        if (std::string_view(part) == "minus" && *of != 0) continue;
        columns.push_back({fmt::format("v_{}_{}{}", part, axis, of), Quantity::kVelocity});
        columns.push_back(
            {fmt::format("omega_{}_{}{}", part, axis, of), Quantity::kAngularVelocity});
      }
  for (const char* name : {"mu_s", "mu_k", "e"})
    columns.push_back({name, Quantity::kDimensionless});
  for (const RestitutionLawInfo& law : kRestitutionLaws)
    columns.push_back({law.coefficient, Quantity::kDimensionless});
  for (const char* name : {"dissipation_experiment_percent", "dissipation_computation_percent",
                           "qw", "qx", "qy", "qz"})
    columns.push_back({name, Quantity::kDimensionless});
  for (const char axis : kAxes) columns.push_back({fmt::format("r_{}", axis), Quantity::kLength});
  columns.push_back({"slope", Quantity::kAngle});
  columns.push_back({"slope_azimuth", Quantity::kAngle});
  return columns;
}

constexpr const char* kTexts[] = {"case_printed", "mode_printed", "assumption"};
// Columns that say what the YAML file says, or what the audit finds itself.
constexpr const char* kSilent[] = {"experiment",          "recording", "impact", "body",
                                   "orientation_assumed", "accepted",  "reason", "detail"};

// Experiments of some files, merged by name in the order of their first appearance.
class Experiments {
 public:
  explicit Experiments(PublishedTables& all) : all_(all) {}

  void Read(const std::filesystem::path& path) {
    CsvOptions options;
    options.is_text = [](std::string_view) { return true; };  // the digits count
    tables_.push_back(std::make_unique<Table>(ReadCsv(path, options)));
    const Table& table = *tables_.back();
    all_.inputs.push_back(path);
    const char* key = table.HasText("experiment") ? "experiment" : "recording";
    if (!table.HasText(key))
      throw DataError(
          fmt::format("{}: found no column experiment, allowed a column experiment (or recording) "
                      "that names the rows; the file has {}",
                      path.string(), JoinNames(table.text_columns)));
    const auto known = Known(table);
    std::set<std::string> seen;
    const bool counted = std::string_view(key) == "recording" && table.HasText("impact");
    for (std::size_t row = 0; row < table.n_rows(); ++row) {
      std::string name = table.TextColumn(key)[row];
      if (name.empty()) throw table.Fault(row, key, "an empty cell", "a name");
      if (counted) name += ", impact " + table.TextColumn("impact")[row];
      // events.csv lists impacts that were not measured.
      if (counted && std::all_of(known.begin(), known.end(), [&](const auto& column) {
            return column.second.first.rfind("v_", 0) != 0 ||
                   TrimSpace(table.TextColumn(column.first)[row]).empty();
          }))
        continue;
      if (!seen.insert(name).second)
        throw table.Fault(row, key, Excerpt(name) + " again", "every experiment once in a file");
      if (by_name_.emplace(name, Experiment()).second) order.push_back(name);
      for (const auto& [column, cell] : known) {
        const std::string text(TrimSpace(table.TextColumn(column)[row]));
        if (text.empty()) continue;
        const auto [place, fresh] =
            by_name_[name].emplace(cell.first, Cell{text, column, cell.second, &table, row});
        if (!fresh && place->second.text != text)
          throw table.Fault(
              row, column, Excerpt(text),
              fmt::format("{} as in {}", place->second.text, place->second.table->path));
      }
    }
  }

  const Experiment& Of(const std::string& name) const { return by_name_.at(name); }
  std::vector<std::string> order;

 private:
  // Columns of a file that are read: name in the file, and its stem and factor to SI.
  std::map<std::string, std::pair<std::string, double>> Known(const Table& table) {
    static const std::vector<Column> numbers = NumberColumns();
    std::map<std::string, std::pair<std::string, double>> known;
    for (const std::string& column : table.text_columns) {
      const UnitName unit = SplitUnit(column);
      const auto number = std::find_if(numbers.begin(), numbers.end(), [&](const Column& c) {
        return c.stem == unit.stem || c.stem == column;
      });
      if (number != numbers.end()) {
        if (number->quantity != unit.quantity)
          throw DataError(fmt::format("{}: column {}: found {}, allowed {}", table.path, column,
                                      unit.unit.empty() ? "no unit" : "the unit " + unit.unit,
                                      JoinNames(UnitsOf(number->quantity))));
        known[column] = {number->stem, unit.to_si};
      } else if (std::find(std::begin(kTexts), std::end(kTexts), column) != std::end(kTexts)) {
        known[column] = {column, 1};
      } else if (std::find(std::begin(kSilent), std::end(kSilent), column) == std::end(kSilent) &&
                 column.rfind("sd_", 0) != 0) {
        all_.unread.push_back(table.path + ": " + column);
      }
    }
    return known;
  }

  PublishedTables& all_;
  std::vector<std::unique_ptr<Table>> tables_;  // cells point into them
  std::map<std::string, Experiment> by_name_;
};

// Attitude, lever and azimuth that the YAML file gives to some experiments.
struct Assumed {
  std::vector<std::string> experiments;
  Placement placement;
  std::string words;
};

void VisitAttitude(Keys& keys, Assumed& a) {
  keys.Texts("experiments", a.experiments, "rows this is said of", Need::kRequired);
  std::vector<double> q;
  keys.Vector("q", q, 4, Closed(-1, 1), "w, x, y, z, body to world", Need::kRequired);
  const Eigen::Quaterniond rotation(q[0], q[1], q[2], q[3]);
  keys.Check(std::abs(rotation.norm() - 1) < 0.01, "q",
             fmt::format("a quaternion of length {:.4g}", rotation.norm()),
             "w, x, y, z of length 1 within 0.01");
  a.placement.R_WB = rotation.normalized().toRotationMatrix();
  pipelines::VisitVector(keys, "lever_m", a.placement.r_B, {}, "contact point in B",
                         Need::kRequired);
  pipelines::VisitVector(keys, "lever_half_m", a.placement.half_r_B, NonNegative(),
                         "how far off it may be");
  keys.Number("downhill_rad", a.placement.downhill, {},
              "azimuth of the direction downhill, about W_z from W_x");
  a.words = "stated in " + keys.reading()->File().filename().string();
  keys.Text("assumption", a.words, "in words. Default: \"stated in\" and the file");
}

// Turns cells into the row of a printed table.
class RowReader {
 public:
  RowReader(const Experiment& cells, const Matrix3d& R_WT, const Body& body)
      : cells_(cells), R_WT_(R_WT), body_(body) {}

  std::optional<Printed> Number(const std::string& stem) const {
    const auto found = cells_.find(stem);
    if (found == cells_.end()) return std::nullopt;
    const Cell& cell = found->second;
    auto printed = ReadPrinted(cell.text, cell.to_si);
    if (!printed) throw cell.table->Fault(cell.row, cell.column, Excerpt(cell.text), "a number");
    return printed;
  }
  std::string Text(const std::string& stem) const {
    const auto found = cells_.find(stem);
    return found == cells_.end() ? std::string() : found->second.text;
  }
  DataError Fault(const std::string& stem, const std::string& allowed) const {
    const Cell& cell = cells_.at(stem);
    return cell.table->Fault(cell.row, cell.column, Excerpt(cell.text), allowed);
  }

  // Nothing where no component is there; components that are not printed are 0 and exact.
  std::optional<PrintedMotion> Motion(const std::string& part, const std::string& of,
                                      std::vector<std::string>* texts = nullptr) const {
    PrintedMotion motion;
    bool any = false;
    for (Eigen::Index half = 0; half < 2; ++half) {
      Vector3d value = Vector3d::Zero(), width = Vector3d::Zero();
      for (int i = 0; i < 3; ++i) {
        const auto x =
            Number(fmt::format("{}_{}_{}{}", half == 0 ? "v" : "omega", part, kAxes[i], of));
        if (texts != nullptr) texts->push_back(x ? x->text : "");
        if (!x) continue;
        any = true;
        value[i] = x->value;
        width[i] = x->half;
      }
      motion.value.segment<3>(3 * half) = R_WT_ * value;
      motion.half.segment<3>(3 * half) = R_WT_.cwiseAbs() * width;
    }
    return any ? std::optional(motion) : std::nullopt;
  }

  std::optional<Placement> PlacementOf() const {
    if (!Number("qw") || !Number("qx") || !Number("qy") || !Number("qz")) return std::nullopt;
    const Eigen::Quaterniond q(Number("qw")->value, Number("qx")->value, Number("qy")->value,
                               Number("qz")->value);
    if (!(std::abs(q.norm() - 1) < 0.01))
      throw Fault("qw", "a quaternion w, x, y, z of length 1 within 0.01");
    Placement p;
    p.R_WB = q.normalized().toRotationMatrix();
    if (const auto azimuth = Number("slope_azimuth")) p.downhill = azimuth->value;
    if (Number("r_x") && Number("r_y") && Number("r_z")) {
      p.r_B = p.R_WB.transpose() *
              (R_WT_ * Vector3d(Number("r_x")->value, Number("r_y")->value, Number("r_z")->value));
    } else {
      p.r_B = SupportLever(body_, p.R_WB.transpose() * SlopeNormal(Slope(), p.downhill));
    }
    return p;
  }

  double Slope() const {
    const auto slope = Number("slope");
    if (!slope) return 0;
    if (!(slope->value >= 0 && slope->value < M_PI / 2))
      throw Fault("slope", "an angle of at least 0 and below 90 deg");
    return slope->value;
  }

 private:
  const Experiment& cells_;
  const Matrix3d& R_WT_;
  const Body& body_;
};

PrintedRow ReadRow(const std::string& name, const Experiment& cells, const Matrix3d& R_WT,
                   const Body& body, PublishedTable::Texts& texts) {
  const RowReader in(cells, R_WT, body);
  PrintedRow row;
  row.name = name;
  row.slope = in.Slope();
  const auto minus = in.Motion("minus", "", &texts.minus),
             plus = in.Motion("plus", "", &texts.plus);
  row.plus_again = in.Motion("plus", "_experiment");
  row.computed = in.Motion("plus", "_computation", &texts.computed);
  if (!row.computed) texts.computed.clear();
  if (!minus || !plus) {
    const std::string file = cells.empty() ? "" : cells.begin()->second.table->path + ": ";
    throw DataError(
        fmt::format("{}experiment {}: found no motion {} the impact, allowed columns "
                    "v_{}_x_m_per_s ... omega_{}_z_rad_per_s",
                    file, Excerpt(name), minus ? "after" : "before", minus ? "plus" : "minus",
                    minus ? "plus" : "minus"));
  }
  row.minus = *minus;
  row.plus = *plus;
  const auto coefficient = [&](const char* stem, double most, Printed& into) {
    const auto number = in.Number(stem);
    if (!number) return;
    if (!(number->value >= 0 && number->value <= most))
      throw in.Fault(stem, most <= 1 ? "a number of 0 to 1" : "a number of at least 0");
    into = *number;
  };
  coefficient("e", 1, row.e);
  for (const RestitutionLawInfo& law : kRestitutionLaws) coefficient(law.coefficient, 1, row.e);
  coefficient("mu_k", 1e9, row.mu_k);
  coefficient("mu_s", 1e9, row.mu_s);
  row.case_label = in.Text("case_printed");
  if (!row.case_label.empty() && !ReadCaseLabel(row.case_label))
    throw in.Fault("case_printed", "0 to 6, for 2 and 4 with a, b, c or .25, .5, .75");
  row.mode_label = in.Text("mode_printed");
  if (!row.mode_label.empty() && ModeOf(row.mode_label).empty())
    throw in.Fault("mode_printed", "words for sliding, sticking or reverse sliding");
  if (const auto loss = in.Number("dissipation_experiment_percent")) row.loss_measured = *loss;
  if (const auto loss = in.Number("dissipation_computation_percent")) row.loss_computed = *loss;
  row.placement = in.PlacementOf();
  row.assumption = in.Text("assumption");
  return row;
}

void VisitMeasured(Keys& keys, MeasuredCoefficient& m) {
  keys.OneOf("coefficient", m.name, {"mu_s", "mu_k", "e"}, "which", Need::kRequired);
  std::string text;
  keys.Text("value", text, "with its digits", Need::kRequired);
  const auto value = ReadPrinted(text);
  keys.Check(value.has_value(), "value", Excerpt(text), "a number as printed");
  m.value = *value;
  keys.Text("where", m.where, "in the source", Need::kRequired);
}

// What the file says of a table beside its rows.
void VisitTable(Keys& keys, PrintedTable& table) {
  keys.Text("title", table.title, "of the table", Need::kRequired);
  keys.Map(
      "body", "As `body` of an experiment, in space, with mass_kg.",
      [&](Keys& k) {
        pipelines::VisitBody(k, table.body, false);
        k.Check(table.body.mass_known, "mass_kg", "no mass",
                "the mass, without which impulses are not known");
      },
      Need::kRequired);
  table.law = kReferenceLaw;
  pipelines::VisitLaw(keys, table.law, "that reads the coefficient of restitution");
  keys.Number("largest_misfit", table.largest_misfit, Open(0, 1),
              "what a solved attitude may leave of the angular momentum, as a share of that of the "
              "spin change");
  std::vector<double> I;
  keys.Stated(true).Vector("inertia_printed_kg_m2", I, 3, Positive(),
                           "moments about the axes of B as the source prints them, where they may "
                           "differ from those of body. Default: not checked");
  if (!I.empty()) table.inertia_printed_B = Vector3d(I[0], I[1], I[2]).asDiagonal();
  keys.List("measured", table.measured, "what the source states elsewhere. Default: nothing",
            Style::kLines, VisitMeasured);
}

PublishedTable ReadTable(Keys& keys, PublishedTables& all) {
  PublishedTable out;
  PrintedTable& table = out.table;
  VisitTable(keys, table);
  std::vector<std::string> files;
  keys.Texts("files", files, "CSV files whose rows are merged by `experiment`", Need::kRequired);
  Experiments experiments(all);
  for (const std::string& file : files) experiments.Read(keys.reading()->Folder() / file);
  std::vector<Assumed> attitudes;
  keys.List("attitudes", attitudes, "of the body at the impact. Default: solved from momentum",
            Style::kLines, VisitAttitude);
  for (const Assumed& a : attitudes)
    for (const std::string& name : a.experiments)
      keys.Check(std::find(experiments.order.begin(), experiments.order.end(), name) !=
                     experiments.order.end(),
                 "attitudes", "experiment " + Excerpt(name),
                 "one of " + JoinNames(experiments.order));
  for (const std::string& name : experiments.order) {
    PublishedTable::Texts texts;
    PrintedRow row = ReadRow(name, experiments.Of(name), all.R_WT, table.body, texts);
    for (const Assumed& a : attitudes) {
      if (std::find(a.experiments.begin(), a.experiments.end(), name) == a.experiments.end())
        continue;
      row.placement = a.placement;
      row.assumption = a.words;
    }
    table.rows.push_back(std::move(row));
    out.texts.push_back(std::move(texts));
  }
  return out;
}

// "x", "-z": a direction of W.
Vector3d ParseAxis(const YamlNode& root, const std::string& word) {
  const bool minus = !word.empty() && word[0] == '-';
  const std::string letter = word.substr(minus ? 1 : 0);
  for (int i = 0; i < 3; ++i)
    if (letter == std::string(1, kAxes[i])) return (minus ? -1 : 1) * Vector3d::Unit(i);
  throw root.Fault("axes", Excerpt(word), "x, -x, y, -y, z or -z of W (z up)");
}

}  // namespace

PublishedTables LoadPublished(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  PublishedTables all;
  all.inputs.push_back(path);
  all.name = path.stem().string();
  Keys keys(root);
  keys.Schema("impactlab.published/1");
  keys.Text("name", all.name, "for people. Default: name of the file");
  keys.Text("source", all.source, "where they are from. Default: none");
  std::vector<std::string> axes = {"x", "y", "z"};
  keys.Texts("axes", axes,
             "where x, y, z of the tables point in W: x, -x, y, -y, z, -z, a right-handed set; a "
             "source with y down has [x, -z, y]");
  keys.Check(axes.size() == 3, "axes", fmt::format("{} directions", axes.size()),
             "three: where x, y and z of the tables point in W");
  for (int i = 0; i < 3; ++i) all.R_WT.col(i) = ParseAxis(root, axes[static_cast<std::size_t>(i)]);
  keys.Check(std::abs(all.R_WT.determinant() - 1) <= 0.5, "axes", JoinNames(axes),
             "a right-handed set, each axis once: spins would turn the other way");
  keys.List(
      "tables", all.tables, "one of each body", Style::kLines,
      [&](Keys& k, PublishedTable& table) { table = ReadTable(k, all); },
      root.Has("planar_tables") ? Need::kOptional : Need::kRequired);
  keys.List("planar_tables", all.planar, "planar impacts of a slender rod by ratios", Style::kLines,
            [&](Keys& k, PlanarTable& table) { table = ReadPlanarTable(k, all.inputs); });
  root.Finish();
  for (PublishedTable& table : all.tables) table.audit = AuditTable(table.table);
  return all;
}

}  // namespace impactlab
