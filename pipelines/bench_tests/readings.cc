#include "pipelines/bench_tests/detail/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

// A range in the unit that was typed: who writes degrees is told degrees.
std::string WordsIn(const UnitName& typed, Range allowed) {
  const auto to_unit = [&](double x) {
    return std::isfinite(x) ? std::round(1e9 * x / typed.to_si) / 1e9 : x;
  };
  allowed.lo = to_unit(allowed.lo);
  allowed.hi = to_unit(allowed.hi);
  return allowed.Words() + (typed.unit.empty() ? "" : " in " + typed.unit);
}

std::string Spelled(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::vector<double> Readings::values() const {
  std::vector<double> out;
  for (const Printed& p : list) out.push_back(p.value);
  return out;
}

double Readings::u() const { return sd > 0 ? sd : half / std::sqrt(3.0); }

Readings Readings::At(std::size_t k) const {
  Readings single = *this;
  single.list = {list[k]};
  return single;
}

std::optional<Readings> BenchReader::ReadingsOf(const std::string& stem, Quantity quantity,
                                                const char* meaning) const {
  Readings out;
  for (const std::string& unit : UnitsOf(quantity)) {
    const std::string name = fmt::format("{}_{}", stem, unit);
    if (!node().Has(name)) continue;
    if (!out.key.empty()) throw node().Fault(name, out.key + " as well", "one of them");
    out.key = name;
    keys_.Read(name.c_str(), meaning, [&](const YamlNode& node, const char* key) {
      const double to_si = ToSi(unit);
      for (const std::string& text : node.Texts(key)) {
        const auto printed = ReadPrinted(text, to_si);
        if (!printed) throw node.Fault(key, Excerpt(text), "numbers");
        out.list.push_back(*printed);
        out.half = std::max(out.half, printed->half);
      }
      const std::string half = fmt::format("{}_half_{}", stem, unit),
                        sd = fmt::format("{}_sd_{}", stem, unit);
      if (node.Has(half) && node.Has(sd)) throw node.Fault(sd, half + " as well", "one of them");
      out.stated = node.Has(half) || node.Has(sd);
      if (node.Has(half)) out.half = to_si * node.Number(half, NonNegative());
      if (node.Has(sd)) {
        out.sd = to_si * node.Number(sd, NonNegative());
        out.half = 0;
      }
    });
  }
  return out.key.empty() ? std::nullopt : std::optional(out);
}

std::optional<Readings> BenchReader::One(const std::string& stem, Quantity quantity,
                                         const Range& allowed, const char* meaning) const {
  auto readings = ReadingsOf(stem, quantity, meaning);
  if (readings)
    for (const Printed& p : readings->list)
      if (!allowed.Contains(p.value))
        throw node().Fault(readings->key, p.text, WordsIn(SplitUnit(readings->key), allowed));
  return readings;
}

std::optional<Readings> BenchReader::Angle(const Range& allowed) const {
  return One("angle", Quantity::kAngle, allowed,
             "static friction: at which the body begins to slide; kinetic friction: of the "
             "incline, 0 for a level table; required but where a weight pulls");
}

std::optional<Readings> BenchReader::Mass() const {
  return One("mass", Quantity::kMass, Positive(),
             "of the body that is pulled or slides; restitution: of the ball that strikes a free "
             "target");
}

std::optional<Readings> BenchReader::Drag() const {
  auto drag = One("drag", Quantity::kInverseLength, NonNegative(),
                  "restitution: drag of the air, k in k v^2: its density times drag coefficient "
                  "times cross section over twice the mass; enters heights and times of bounces. "
                  "Default: none, and a fit where the times of bounces show it");
  if (!drag) return drag;
  if (!drag->stated && drag->list.size() == 1 && drag->list[0].value == 0) drag->half = 0;
  return drag;
}

void BenchReader::Together(const std::string& first, bool has_first, const std::string& second,
                           bool has_second) const {
  if (has_first != has_second)
    throw node().Fault(has_first ? second : first, "one of the two",
                       fmt::format("{} and {}, or neither", first, second));
}

bool BenchReader::HasBounces() const {
  bool any = node().Has("bounces");
  for (const std::string& unit : UnitsOf(Quantity::kTime))
    for (const char* stem : {"bounce_times", "flight_times"})
      any = node().Has(fmt::format("{}_{}", stem, unit)) || any;
  return any;
}

std::string BenchReader::Word(const char* key, const std::vector<std::string>& words,
                              const char* meaning) const {
  std::string out;
  keys_.Read(key, meaning, [&](const YamlNode& node, const char* name) {
    if (node.Has(name)) out = node.Choice(name, words);
  });
  return out;
}

std::filesystem::path BenchReader::Path(const char* key, const char* meaning) const {
  std::string name;
  keys_.Text(key, name, meaning, Need::kRequired);
  return node().Folder() / name;
}

Table BenchReader::ReadTable(const std::filesystem::path& path,
                             const std::vector<std::string>& texts) {
  all_.inputs.push_back(path);
  CsvOptions options;
  options.text_columns = texts;
  options.is_text = [](std::string_view name) {
    return SplitUnit(PlainColumnName(std::string(name))).unit.empty() && name != "impact" &&
           name != "accepted";
  };
  options.empty_is_nan = true;
  Table table = ReadCsv(path, options);
  const std::vector<std::string> as_written = table.columns;
  for (std::string& name : table.columns) {
    const std::string plain = PlainColumnName(name);
    if (std::find(as_written.begin(), as_written.end(), plain) == as_written.end()) name = plain;
  }
  return table;
}

std::string PlainColumnName(const std::string& header) {
  const std::size_t open = header.find_last_of("([");
  if (open == std::string::npos || open == 0 || (header.back() != ')' && header.back() != ']'))
    return header;
  std::string unit(TrimSpace(header.substr(open + 1, header.size() - open - 2)));
  unit = Spelled(Spelled(Spelled(unit, "/", "_per_"), "^", ""), "\xC2\xB2", "2");
  if (unit == "sec" || unit == "seconds") unit = "s";
  std::string stem = LowerCase(TrimSpace(header.substr(0, open)));
  stem = Spelled(stem, " ", "_");
  if (stem == "time") stem = "t";
  const std::string name = stem + "_" + unit;
  return SplitUnit(name).unit == unit ? name : header;
}

std::size_t BudgetModel::Add(const std::string& name, const std::string& unit, const Readings& r) {
  std::vector<std::size_t> parts;
  double value = r.list[0].value;
  if (r.list.size() > 1) {
    parts.push_back(inputs_.size());
    inputs_.push_back(
        MeanOf(name, unit, r.values(), fmt::format("mean of {} readings", r.list.size())));
    value = inputs_.back().value;
  }
  parts.push_back(inputs_.size());
  const double base = r.list.size() > 1 ? 0 : value;
  const std::string label = r.list.size() > 1 ? name + ", instrument" : name;
  inputs_.push_back(r.sd > 0 ? UncertainInput{label, unit, base, r.sd, Spread::kNormal,
                                              std::numeric_limits<double>::infinity(), "stated"}
                             : Rectangular(label, unit, base, r.half, "limits of a reading"));
  double digits = 0;  // rounding of a mean is at most that of a reading
  for (const Printed& p : r.list) digits = std::max(digits, p.half);
  digits_.resize(inputs_.size(), 0);
  digits_.back() = digits;
  quantities_.push_back(parts);
  return quantities_.size() - 1;
}

std::size_t BudgetModel::Add(UncertainInput input, double digits) {
  inputs_.push_back(std::move(input));
  digits_.resize(inputs_.size(), 0);
  digits_.back() = digits;
  quantities_.push_back({inputs_.size() - 1});
  return quantities_.size() - 1;
}

void BudgetModel::AddAll(const BudgetModel& further) {
  const std::size_t first = inputs_.size();
  inputs_.insert(inputs_.end(), further.inputs_.begin(), further.inputs_.end());
  digits_.resize(first, 0);
  digits_.insert(digits_.end(), further.digits_.begin(), further.digits_.end());
  digits_.resize(inputs_.size(), 0);
  for (std::vector<std::size_t> parts : further.quantities_) {
    for (std::size_t& part : parts) part += first;
    quantities_.push_back(std::move(parts));
  }
}

std::vector<double> BudgetModel::Values() const {
  std::vector<double> out;
  for (const auto& parts : quantities_) {
    double sum = 0;
    for (const std::size_t part : parts) sum += inputs_[part].value;
    out.push_back(sum);
  }
  return out;
}

std::vector<double> BudgetModel::Uncertainties() const {
  std::vector<double> out;
  for (const auto& parts : quantities_) {
    double square = 0;
    for (const std::size_t part : parts) square += inputs_[part].u * inputs_[part].u;
    out.push_back(std::sqrt(square));
  }
  return out;
}

CoefficientResult BudgetModel::Evaluate(
    const std::string& method, const std::function<double(const std::vector<double>&)>& f) const {
  CoefficientResult out;
  out.method = method;
  out.inputs = inputs_;
  const auto of_inputs = [&](const std::vector<double>& x) {
    std::vector<double> q;
    for (const auto& parts : quantities_) {
      double sum = 0;
      for (const std::size_t part : parts) sum += x[part];
      q.push_back(sum);
    }
    return f(q);
  };
  out.result = PropagateUncertainty(of_inputs, inputs_);
  Eigen::VectorXd x(static_cast<Eigen::Index>(inputs_.size())), half(x.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    x[static_cast<Eigen::Index>(i)] = inputs_[i].value;
    half[static_cast<Eigen::Index>(i)] = digits_[i];
  }
  out.rounded = Recompute(
      [&](const Eigen::VectorXd& v) {
        return of_inputs({v.data(), v.data() + v.size()});
      },
      x, half);
  return out;
}

CoefficientResult Undetermined(const std::string& method, const std::string& reason) {
  CoefficientResult out;
  out.method = method;
  out.undetermined = reason;
  return out;
}

}  // namespace impactlab::pipelines
