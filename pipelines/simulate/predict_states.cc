#include "pipelines/simulate/predict_states.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/number_json.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "impact/law/impulse_law.h"
#include "pipelines/tables/certificate_json.h"
#include "pipelines/tables/event_columns.h"
#include "pipelines/tables/solve_io.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

struct StateColumn {
  const char* stem;
  Quantity quantity;
};
constexpr StateColumn kPlanarColumns[] = {{"v_minus_F_x", Quantity::kVelocity},
                                          {"v_minus_F_n", Quantity::kVelocity},
                                          {"A_F_xx", Quantity::kInverseMass},
                                          {"A_F_xn", Quantity::kInverseMass},
                                          {"A_F_nn", Quantity::kInverseMass}};
constexpr StateColumn kSpatialColumns[] = {{"v_minus_F_y", Quantity::kVelocity},
                                           {"A_F_xy", Quantity::kInverseMass},
                                           {"A_F_yy", Quantity::kInverseMass},
                                           {"A_F_yn", Quantity::kInverseMass}};
constexpr const char* kCoefficients[] = {"e", "mu_k", "mu_s", "e_t"};

bool IsState(std::string_view stem) {
  const auto is = [&](const StateColumn& column) { return stem == column.stem; };
  return std::any_of(std::begin(kPlanarColumns), std::end(kPlanarColumns), is) ||
         std::any_of(std::begin(kSpatialColumns), std::end(kSpatialColumns), is);
}

bool IsNumber(std::string_view name) {
  return name == "impact" ||
         std::find(std::begin(kCoefficients), std::end(kCoefficients), name) !=
             std::end(kCoefficients) ||
         IsState(SplitUnit(name).stem);
}

// Columns that are not read: the known ones of events.csv silently, strangers by name; one that was
// probably meant to be read is refused.
std::vector<std::string> Unread(const Table& table) {
  std::vector<std::string> known = {"name", "recording", "impact"};
  for (const char* coefficient : kCoefficients) known.emplace_back(coefficient);
  for (const auto& column : kPlanarColumns)
    known.push_back(fmt::format("{}_{}", column.stem, UnitsOf(column.quantity)[0]));
  for (const auto& column : kSpatialColumns)
    known.push_back(fmt::format("{}_{}", column.stem, UnitsOf(column.quantity)[0]));
  const std::vector<std::string> events = pipelines::EventColumns(true);
  std::vector<std::string> unread;
  for (const std::string& column : table.text_columns) {
    if (column == "name" || column == "recording" ||
        std::find(events.begin(), events.end(), column) != events.end())
      continue;
    const std::string lower = LowerCase(column);
    std::string nearest;
    int fewest = 3;
    for (const std::string& name : known) {
      const int edits = EditDistance(lower, LowerCase(name));
      if (edits < fewest && 3 * edits <= static_cast<int>(name.size()))
        nearest = name, fewest = edits;
    }
    // mu, mu_d, e_star, e_n, restitution by any other letter: a coefficient that would silently not
    // count.
    if (nearest.empty() && (lower.rfind("mu", 0) == 0 || lower.rfind("e_", 0) == 0 || lower == "e"))
      nearest = lower[0] == 'e' ? "e" : "mu_k";
    if (!nearest.empty())
      throw DataError(
          fmt::format("{}: column {}: found a column that is not read, nearest is {}, allowed {}",
                      table.path, Excerpt(column), nearest, JoinNames(known)));
    unread.push_back(column);
  }
  return unread;
}

Json Triple(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

// Rounded to the six decimals of the table, without the sign of a zero.
double Shown(double x) { return std::abs(x) < 5e-7 ? 0.0 : x; }

}  // namespace

StateTable ReadStates(const std::filesystem::path& path, const Coefficients& otherwise) {
  CsvOptions options;
  options.is_text = [](std::string_view name) { return !IsNumber(name); };
  // Rejected impacts of events.csv have empty cells.
  options.empty_is_nan = true;
  const Table table = ReadCsv(path, options);
  StateTable out;
  out.unread = Unread(table);
  const auto any_of = [&](const StateColumn& column) {
    return std::any_of(table.columns.begin(), table.columns.end(), [&](const std::string& name) {
      return SplitUnit(name).stem == column.stem;
    });
  };
  std::vector<StateColumn> columns(std::begin(kPlanarColumns), std::end(kPlanarColumns));
  const bool spatial = std::any_of(std::begin(kSpatialColumns), std::end(kSpatialColumns), any_of);
  if (spatial)
    columns.insert(columns.end(), std::begin(kSpatialColumns), std::end(kSpatialColumns));
  std::vector<std::vector<double>> numbers;
  std::vector<std::string> names;
  for (const StateColumn& column : columns) {
    numbers.push_back(SiColumn(table, column.stem, column.quantity));
    names.push_back(ColumnNameOf(table, column.stem, column.quantity));
  }
  const auto given = [&](std::size_t row, const std::string& column, double x) {
    if (!std::isfinite(x)) throw table.Fault(row, column, "an empty cell", "a number");
    return x;
  };
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    // An impact that was not measured has no state at all; a state with a hole in it is a fault.
    const bool nothing = std::none_of(numbers.begin(), numbers.end(),
                                      [&](const auto& x) { return std::isfinite(x[row]); });
    if (nothing && table.HasText("recording")) continue;
    StateToPredict state;
    const char* text = table.HasText("name")        ? "name"
                       : table.HasText("recording") ? "recording"
                                                    : nullptr;
    state.name =
        text != nullptr ? table.TextColumn(text)[row] : fmt::format("row {}", table.lines[row]);
    if (state.name.empty()) throw table.Fault(row, text, "an empty cell", "a name");
    if (!table.HasText("name") && table.HasText("recording") && table.Has("impact"))
      state.name += fmt::format(", impact {:g}", given(row, "impact", table.Column("impact")[row]));
    std::vector<double> x;
    for (std::size_t k = 0; k < numbers.size(); ++k)
      x.push_back(given(row, names[k], numbers[k][row]));
    state.contact = InSpace(PlanarContact{x[2], x[3], x[4], x[0], x[1]});
    if (spatial) {
      state.contact.v_minus_F.y() = x[5];
      Eigen::Matrix3d& A = state.contact.A_F;
      A(0, 1) = A(1, 0) = x[6];
      A(1, 1) = x[7];
      A(1, 2) = A(2, 1) = x[8];
    }
    const auto coefficient = [&](const char* column, double& value) {
      if (!table.Has(column)) return false;
      value = given(row, column, table.Column(column)[row]);
      return true;
    };
    Coefficients& c = state.coefficients = otherwise;
    coefficient("e", c.e);
    coefficient("e_t", c.e_t);
    if (coefficient("mu_k", c.mu_k)) c.mu_s = c.mu_k;
    coefficient("mu_s", c.mu_s);
    out.states.push_back(std::move(state));
  }
  if (out.states.empty()) throw DataError(fmt::format("{}: no row holds a state", path.string()));
  return out;
}

PredictedState PredictState(const StateToPredict& state) {
  PredictedState out;
  out.state = state;
  out.outcomes = PredictAll(state.contact, state.coefficients);
  const std::optional<PlanarContact> planar = PlanarPart(state.contact);
  // The map checks nothing: the exact path has.
  if (planar && out.outcomes[0].usable()) {
    const Coefficients& c = state.coefficients;
    out.region = EnergeticMap(*planar, c.e, c.mu_k, c.mu_s).region;
    if (planar->v_n < 0) out.critical = FindCriticalFriction(*planar, c.e);
  }
  return out;
}

std::string PredictionsJson(const std::vector<PredictedState>& states) {
  Json list = Json::array();
  for (const PredictedState& s : states) {
    const ContactState& contact = s.state.contact;
    const Coefficients& c = s.state.coefficients;
    Json one = {
        {"name", s.state.name},
        {"A_F_per_kg",
         {Triple(contact.A_F.row(0)), Triple(contact.A_F.row(1)), Triple(contact.A_F.row(2))}},
        {"v_minus_F_m_per_s", Triple(contact.v_minus_F)},
        {"e", c.e},
        {"mu_k", c.mu_k},
        {"mu_s", c.mu_s},
        {"e_t", c.e_t},
        {"planar", IsPlanar(contact)}};
    if (s.region) one["region"] = *s.region;
    if (s.critical)
      one["critical"] = {{"mu_slide", NumberJson(s.critical->slide)},
                         {"mu_slide_compression", NumberJson(s.critical->slide_compression)},
                         {"mu_hold", NumberJson(s.critical->hold)},
                         {"mu_press", NumberJson(s.critical->press)}};
    Json outcomes = Json::array();
    for (const LawOutcome& o : s.outcomes) {
      Json row = {{"law", o.law}, {"status", StatusName(o.status)}, {"reason", o.reason}};
      if (o.usable()) {
        row["J_F_N_s"] = Triple(o.J_F);
        row["v_plus_F_m_per_s"] = Triple(o.v_plus_F);
        row["course"] = o.course;
        row["turn_rad"] = o.turn;
        row["energy_change_J"] = o.energy_change;
        row["dissipated"] = o.dissipated;
        row["certificate"] = ToJson(o.certificate);
      }
      outcomes.push_back(std::move(row));
    }
    one["outcomes"] = std::move(outcomes);
    list.push_back(std::move(one));
  }
  const Json out = {{"schema", "impactlab.predictions/1"}, {"states", std::move(list)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string PredictionsText(const PredictedState& s) {
  const Coefficients& c = s.state.coefficients;
  const Eigen::Vector3d& v = s.state.contact.v_minus_F;
  std::string out = fmt::format(
      "{}: v_minus_F = ({:.6g}, {:.6g}, {:.6g}) m/s, e = {:g}, mu_k = {:g}, mu_s = {:g}{}\n",
      s.state.name, v.x(), v.y(), v.z(), c.e, c.mu_k, c.mu_s,
      c.e_t != 0 ? fmt::format(", e_t = {:g}", c.e_t) : "");
  if (s.critical) {
    const CriticalFriction& mu = *s.critical;
    out += mu.slide < 0              ? std::string("  slip stops even without friction")
           : std::isfinite(mu.slide) ? fmt::format("  slip lasts up to mu_k = {:.4g}", mu.slide)
                                     : std::string("  slip lasts whatever mu_k");
    out += fmt::format("; once stopped it sticks from mu_s = {:.4g} on", mu.hold);
    if (std::isfinite(mu.press))
      out += fmt::format("; it presses the bodies together above mu_k = {:.4g}", mu.press);
    out += s.region ? fmt::format("; region {}\n", *s.region) : "\n";
  }
  out += fmt::format("  {:<10} {:<8} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11} {:>9}  {}\n", "law",
                     "course", "v_x+ m/s", "v_y+ m/s", "v_n+ m/s", "J_x N s", "J_y N s", "J_n N s",
                     "lost %", "certificate");
  for (const LawOutcome& o : s.outcomes) {
    if (!o.usable()) {
      out += fmt::format("  {:<10} {}\n", o.law, o.reason);
      continue;
    }
    const std::string verdict = o.certificate.ok
                                    ? "holds"
                                    : "fails: " + o.certificate.Failed() +
                                          (o.certificate.Failed() == "energy" ? " (gained)" : "");
    out += fmt::format(
        "  {:<10} {:<8} {:>11.6f} {:>11.6f} {:>11.6f} {:>11.6f} {:>11.6f} {:>11.6f} {:>9.2f}  {}\n",
        o.law, o.status == SolveStatus::kNoApproach ? "apart" : o.course, Shown(o.v_plus_F.x()),
        Shown(o.v_plus_F.y()), Shown(o.v_plus_F.z()), Shown(o.J_F.x()), Shown(o.J_F.y()),
        Shown(o.J_F.z()), 100 * o.dissipated, verdict);
  }
  return out;
}

void WriteRouth(const std::filesystem::path& path, const StateToPredict& state) {
  const std::optional<PlanarContact> planar = PlanarPart(state.contact);
  if (!planar)
    throw ConfigError(
        fmt::format("--routh: {} moves out of its plane; allowed a planar state", state.name));
  const Coefficients& c = state.coefficients;
  const RouthDiagram diagram = MakeRouthDiagram(*planar, c.e, c.mu_k, c.mu_s);
  CsvWriter out(path, {"item", "kind", "J_t_N_s", "J_n_N_s"});
  const auto row = [&](const std::string& item, const char* kind, double J_t, double J_n) {
    out.Text(item).Text(kind).Number(J_t).Number(J_n);
    out.EndRow();
  };
  for (const RouthDiagram::Line& line : diagram.lines) {
    row(line.name, "line", line.J_t0, line.J_n0);
    row(line.name, "line", line.J_t1, line.J_n1);
  }
  for (const PathPoint& point : diagram.path) {
    const char* name = point.event == PathEvent::kStart             ? "start"
                       : point.event == PathEvent::kSlipStops       ? "slip_stops"
                       : point.event == PathEvent::kCompressionEnds ? "compression_ends"
                       : point.event == PathEvent::kRecovery        ? "recovery"
                                                                    : "end";
    row(name, "path", point.J_F.x(), point.J_F.z());
  }
  out.Commit();
}

}  // namespace impactlab
