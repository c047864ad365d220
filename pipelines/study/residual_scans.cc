#include "pipelines/study/residual_scans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>

#include "data/files/table.h"
#include "data/statistics/many_tests.h"
#include "data/statistics/statistics.h"
#include "impact/identify/single_impact.h"
#include "pipelines/study/area_validation.h"

namespace impactlab {
namespace {

constexpr int kFewestForScan = 12;  // recordings that a scan needs
constexpr std::size_t kSide = 5;    // impacts on either side of a split
constexpr double kShare = 0.1;      // of all impacts on either side
constexpr int kPermutations = 999;  //
constexpr double kScanLevel = 0.05;

struct Condition {
  std::string name, unit;
  std::vector<double> value;       // of every impact
  std::vector<std::size_t> order;  // ascending
};

struct Response {
  std::string name, unit;
  std::vector<double> error;   // in its unit
  std::vector<double> scores;  // of the error in standard deviations
};

// Everything of one law, impact by impact.
struct Scan {
  std::vector<Condition> conditions;
  std::vector<std::string> cases;  // of every impact
  // impacts of every case that can be compared
  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<Response> responses;
  std::vector<int> cluster;
  std::size_t n() const { return cluster.size(); }
  std::size_t side() const {
    return std::max(kSide, static_cast<std::size_t>(std::ceil(kShare * static_cast<double>(n()))));
  }
};

using RecordingImpact = std::pair<std::string, int>;

// Error along a direction of the contact plane, of which the table has components.
struct Tangential {
  double error = 0, variance = 0;
};
Tangential AlongSlip(const ImpactEvent& event, const ValidationRow* x, const ValidationRow* y) {
  const Eigen::Vector2d slip = event.contact.v_minus_F.head<2>();
  const double speed = slip.norm();
  const Eigen::Vector2d along =
      speed > 0 ? Eigen::Vector2d(slip / speed) : Eigen::Vector2d::UnitX();
  Tangential t{along.x() * x->difference, std::pow(along.x() * x->sd_difference, 2)};
  if (y != nullptr) {
    t.error += along.y() * y->difference;
    t.variance += std::pow(along.y() * y->sd_difference, 2);
  }
  return t;
}

Scan MakeScan(std::span<const ImpactEvent> events, const ValidationTable& table,
              const std::string& law, bool in_sample) {
  std::map<RecordingImpact, const PredictionError*> errors;
  for (const PredictionError& e : table.errors)
    if (e.law == law && (e.fold < 0) == in_sample) errors[{e.recording, e.impact}] = &e;
  std::map<RecordingImpact, std::map<std::string, const ValidationRow*>> rows;
  for (const ValidationRow& row : table.rows)
    if (row.law == law && row.in_sample == in_sample)
      rows[{row.recording, row.impact}][row.quantity] = &row;

  Scan scan;
  scan.conditions = {{"approach_speed", "m/s", {}, {}},
                     {"slip_speed", "m/s", {}, {}},
                     {"lean", "rad", {}, {}},
                     {"spin", "rad/s", {}, {}},
                     {"order", "recordings", {}, {}}};
  scan.responses = {
      {"v_n_plus", "m/s", {}, {}}, {"v_t_plus", "m/s", {}, {}}, {"size", "1", {}, {}}};
  std::map<std::string, int> recordings, clusters;
  for (const ImpactEvent& event : events) {
    const int place =
        recordings.try_emplace(event.recording, static_cast<int>(recordings.size())).first->second;
    const auto error = errors.find({event.recording, event.impact});
    const auto own = rows.find({event.recording, event.impact});
    if (!event.accepted || error == errors.end() || own == rows.end() ||
        !std::isfinite(error->second->chi_square_per_dof))
      continue;
    const auto row = [&](const char* quantity) {
      const auto at = own->second.find(quantity);
      return at == own->second.end() ? nullptr : at->second;
    };
    const ValidationRow *normal = row("v_n_plus"), *tangent = row("v_t_plus");
    if (normal == nullptr || tangent == nullptr || !(normal->sd_difference > 0)) continue;
    const Tangential along = AlongSlip(event, tangent, row("v_t2_plus"));
    if (!(along.variance > 0)) continue;
    const MeasuredImpact measured = MeasureImpact(event);
    const double values[] = {measured.speed, event.contact.v_minus_F.head<2>().norm(),
                             std::abs(measured.lean), event.omega_minus.norm(),
                             static_cast<double>(place + 1)};
    for (std::size_t k = 0; k < scan.conditions.size(); ++k)
      scan.conditions[k].value.push_back(values[k]);
    scan.cases.push_back(error->second->path_case);
    scan.cluster.push_back(
        clusters.try_emplace(event.recording, static_cast<int>(clusters.size())).first->second);
    const std::pair<double, double> responses[] = {
        {normal->difference, normal->z},
        {along.error, along.error / std::sqrt(along.variance)},
        {error->second->chi_square_per_dof, error->second->chi_square_per_dof}};
    for (std::size_t k = 0; k < scan.responses.size(); ++k) {
      scan.responses[k].error.push_back(responses[k].first);
      scan.responses[k].scores.push_back(responses[k].second);
    }
  }
  for (Response& response : scan.responses)
    if (!response.scores.empty()) response.scores = NormalScores(response.scores);
  for (Condition& condition : scan.conditions) {
    condition.order.resize(scan.n());
    std::iota(condition.order.begin(), condition.order.end(), std::size_t{0});
    std::stable_sort(
        condition.order.begin(), condition.order.end(),
        [&](std::size_t a, std::size_t b) { return condition.value[a] < condition.value[b]; });
  }
  for (std::size_t i = 0; i < scan.n(); ++i) scan.groups[scan.cases[i]].push_back(i);
  std::erase_if(scan.groups, [&](const auto& group) {
    return group.second.size() < scan.side() || scan.n() - group.second.size() < scan.side();
  });
  return scan;
}

struct Split {
  double statistic = 0;   // |difference of mean scores| in standard deviations of equal populations
  std::size_t below = 0;  // impacts below the split
  std::string group;
};

double Contrast(double sum, double total, std::size_t k, std::size_t n) {
  const double a = static_cast<double>(k), b = static_cast<double>(n - k);
  return std::abs(sum / a - (total - sum) / b) * std::sqrt(a * b / static_cast<double>(n));
}

// Best split by one condition, of the scores that came to each place.
Split BestSplit(const Condition& condition, const std::vector<double>& scores, double total,
                std::size_t side) {
  Split best;
  const std::size_t n = scores.size();
  double sum = 0;
  for (std::size_t k = 1; k + side <= n; ++k) {
    sum += scores[condition.order[k - 1]];
    if (k < side || condition.value[condition.order[k]] == condition.value[condition.order[k - 1]])
      continue;
    const double statistic = Contrast(sum, total, k, n);
    if (statistic > best.statistic) best = {statistic, k, {}};
  }
  return best;
}

Split BestCase(const Scan& scan, const std::vector<double>& scores, double total) {
  Split best;
  for (const auto& [name, members] : scan.groups) {
    double sum = 0;
    for (const std::size_t i : members) sum += scores[i];
    const double statistic = Contrast(sum, total, members.size(), scores.size());
    if (statistic > best.statistic) best = {statistic, members.size(), name};
  }
  return best;
}

// Best split of every response by every condition, the cases last.
std::vector<Split> Splits(const Scan& scan, const std::vector<std::vector<double>>& scores) {
  std::vector<Split> out;
  for (const std::vector<double>& s : scores) {
    const double total = std::accumulate(s.begin(), s.end(), 0.0);
    for (const Condition& condition : scan.conditions)
      out.push_back(BestSplit(condition, s, total, scan.side()));
    out.push_back(BestCase(scan, s, total));
  }
  return out;
}

// Mean over recordings and its standard deviation.
struct Level {
  double mean = 0, sd = 0;
};
Level LevelOf(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  return {Mean(values),
          values.size() > 1 ? StandardDeviation(values) / std::sqrt(n) : std::nan("")};
}

EdgeRow Describe(const Scan& scan, const Response& response, const Condition* condition,
                 const Split& split) {
  EdgeRow row;
  row.quantity = response.name;
  row.unit = response.unit;
  row.condition = condition != nullptr ? condition->name : "case";
  row.condition_unit = condition != nullptr ? condition->unit : "";
  row.n = static_cast<int>(scan.n());
  row.lower = row.upper = row.edge = std::nan("");
  std::vector<bool> second(scan.n(), false);
  if (condition != nullptr) {
    row.lower = condition->value[condition->order.front()];
    row.upper = condition->value[condition->order.back()];
    if (split.statistic > 0) {
      row.edge = 0.5 * (condition->value[condition->order[split.below - 1]] +
                        condition->value[condition->order[split.below]]);
      for (std::size_t k = split.below; k < scan.n(); ++k) second[condition->order[k]] = true;
    }
  } else if (split.statistic > 0) {
    row.case_beyond = split.group;
    for (const std::size_t i : scan.groups.at(split.group)) second[i] = true;
  }
  if (!(split.statistic > 0)) return row;
  std::array<std::vector<double>, 2> errors, scores;
  for (std::size_t i = 0; i < scan.n(); ++i) {
    errors[second[i]].push_back(response.error[i]);
    scores[second[i]].push_back(response.scores[i]);
  }
  // The law fails where its errors are larger; for order and cases the direction is fixed.
  const bool signed_error = response.name != "size";
  const auto how_bad = [&](int side) {
    return signed_error ? std::abs(Mean(scores[side])) : Mean(scores[side]);
  };
  row.above = row.condition == "order" || condition == nullptr || how_bad(1) >= how_bad(0);
  const Level beyond = LevelOf(errors[row.above]), within = LevelOf(errors[!row.above]);
  row.n_beyond = static_cast<int>(errors[row.above].size());
  row.error_within = within.mean, row.sd_within = within.sd;
  row.error_beyond = beyond.mean, row.sd_beyond = beyond.sd;
  return row;
}

void ScanLaw(std::span<const ImpactEvent> events, const ValidationTable& table,
             const std::string& law, std::uint64_t seed, std::vector<EdgeRow>* rows) {
  const bool in_sample = !HasUnseen(table, law);
  const Scan scan = MakeScan(events, table, law, in_sample);
  if (static_cast<int>(std::set<int>(scan.cluster.begin(), scan.cluster.end()).size()) <
      kFewestForScan)
    return;
  std::vector<std::vector<double>> scores;
  for (const Response& response : scan.responses) scores.push_back(response.scores);
  const std::vector<Split> found = Splits(scan, scores);
  std::vector<int> exceeded(found.size(), 0);
  std::vector<double> largest;
  std::mt19937_64 random(seed);
  ClusterPermutation permutation(scan.cluster);
  std::vector<std::vector<double>> moved = scores;
  for (int k = 0; k < kPermutations; ++k) {
    const std::vector<std::size_t>& from = permutation.Next(random);
    for (std::size_t r = 0; r < scores.size(); ++r)
      for (std::size_t i = 0; i < scan.n(); ++i) moved[r][i] = scores[r][from[i]];
    double most = 0;
    for (const Split& split : Splits(scan, moved)) most = std::max(most, split.statistic);
    for (std::size_t j = 0; j < found.size(); ++j) exceeded[j] += most >= found[j].statistic;
    largest.push_back(most);
  }
  const double critical = Quantile(largest, 1 - kScanLevel);
  std::size_t j = 0;
  for (const Response& response : scan.responses) {
    const double spread = MadSigma(response.error);
    for (std::size_t c = 0; c <= scan.conditions.size(); ++c, ++j) {
      EdgeRow row = Describe(scan, response,
                             c < scan.conditions.size() ? &scan.conditions[c] : nullptr, found[j]);
      row.law = law;
      row.in_sample = in_sample;
      row.p_family = (1.0 + exceeded[j]) / (1.0 + kPermutations);
      row.detectable = critical * spread * 2 / std::sqrt(static_cast<double>(scan.n()));
      row.found = row.p_family < kScanLevel;
      rows->push_back(std::move(row));
    }
  }
}

std::string ConditionWords(const EdgeRow& row, double value) {
  if (row.condition == "approach_speed") return fmt::format("{:.3g} m/s of approach", value);
  if (row.condition == "slip_speed") return fmt::format("{:.3g} m/s of slip", value);
  if (row.condition == "lean")
    return fmt::format("{:.0f}° of lean", value * 180 / std::numbers::pi);
  if (row.condition == "spin") return fmt::format("{:.3g} rad/s of spin", value);
  return fmt::format("recording {:.0f}", value);
}

}  // namespace

std::vector<EdgeRow> FindEdges(std::span<const ImpactEvent> events, const ValidationTable& table,
                               std::uint64_t seed) {
  std::vector<EdgeRow> rows;
  for (const std::string& law : LawsOf(table)) ScanLaw(events, table, law, seed, &rows);
  return rows;
}

std::string EdgeWords(const EdgeRow& row) {
  std::string where;
  if (row.condition == "case") {
    where =
        (row.case_beyond.empty() || !std::isdigit(static_cast<unsigned char>(row.case_beyond[0]))
             ? "where bound by "
             : "in case ") +
        row.case_beyond;
  } else if (row.condition == "order") {
    where = fmt::format("from recording {:.0f} on", std::ceil(row.edge));
  } else {
    where = fmt::format("{} {}", row.above ? "above" : "below", ConditionWords(row, row.edge));
  }
  std::string what;
  if (row.quantity == "size") {
    what = fmt::format("chi-square of the error over its freedoms is {:.2g}, elsewhere {:.2g}",
                       row.error_beyond, row.error_within);
  } else {
    what = fmt::format(
        "the {} velocity after is predicted {:.3f} ± {:.3f} m/s too {}, elsewhere {:+.3f} ± {:.3f}",
        row.quantity == "v_n_plus" ? "normal" : "tangential (along the slip)",
        std::abs(row.error_beyond), row.sd_beyond, row.error_beyond > 0 ? "high" : "low",
        row.error_within, row.sd_within);
  }
  return fmt::format("{} ({} of {} impacts) {} (p = {:.2g})", where, row.n_beyond, row.n, what,
                     row.p_family);
}

std::string NoEdgeWords(const std::vector<EdgeRow>& rows, const std::string& law) {
  std::string ranges, steps;
  for (const EdgeRow& row : rows) {
    if (row.law != law || row.condition == "case" || row.condition == "order") continue;
    if (row.quantity == "v_n_plus") {
      const std::string upper = ConditionWords(row, row.upper);
      const std::string lower = row.condition == "lean"
                                    ? fmt::format("{:.0f}", row.lower * 180 / std::numbers::pi)
                                    : fmt::format("{:.2g}", row.lower);
      ranges += fmt::format("{}{} to {}", ranges.empty() ? "" : ", ", lower, upper);
    }
    if (row.condition == "approach_speed" && row.quantity != "size")
      steps += fmt::format("{}{:.3f} m/s ({})", steps.empty() ? "" : " and ", row.detectable,
                           row.quantity == "v_n_plus" ? "normal" : "tangential");
  }
  if (ranges.empty()) return "";
  return fmt::format("no edge seen in {}; a step of {} in the middle would have shown", ranges,
                     steps);
}

void WriteEdges(const std::filesystem::path& path, const std::vector<EdgeRow>& rows) {
  CsvWriter out(path, {"law", "quantity", "unit", "condition", "condition_unit", "in_sample", "n",
                       "n_beyond", "lower", "upper", "edge", "beyond", "error_within", "sd_within",
                       "error_beyond", "sd_beyond", "p_family", "detectable", "found"});
  for (const EdgeRow& row : rows) {
    out.Text(row.law)
        .Text(row.quantity)
        .Text(row.unit)
        .Text(row.condition)
        .Text(row.condition_unit)
        .Integer(row.in_sample);
    out.Integer(row.n).Integer(row.n_beyond).Number(row.lower).Number(row.upper).Number(row.edge);
    out.Text(row.condition == "case" ? row.case_beyond : row.above ? "above" : "below");
    for (const double value : {row.error_within, row.sd_within, row.error_beyond, row.sd_beyond,
                               row.p_family, row.detectable})
      out.Number(value);
    out.Integer(row.found).EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
