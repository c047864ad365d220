#include "pipelines/bench_tests/bench_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/bench_tests/detail/readings.h"

namespace impactlab {
namespace {

using pipelines::BenchReader;
using pipelines::Keys;
using pipelines::Need;

// Says what no body can do, and what the readings cannot tell.
void Sense(const CoefficientTest& test, CoefficientResult& result) {
  const UncertainResult& r = result.result;
  if (!result.undetermined.empty() || !result.quantity.empty()) return;
  const bool restitution = test.coefficient == "e_n";
  const std::string value =
      fmt::format("{:.3f} ({:.3f} to {:.3f})", r.value, r.interval95.lower, r.interval95.upper);
  if (r.interval95.lower > 1 && restitution) {
    result.undetermined =
        value +
        " is above 1 beyond its uncertainty: no passive drop rebounds so; look at the "
        "readings";
    return;
  }
  if (r.interval95.upper < 0) {
    result.undetermined =
        value +
        " is below 0 beyond its uncertainty: friction does not drive a slide, nor does a "
        "drop end inside the floor; look at the readings, and at the way of the slide";
    return;
  }
  if (r.interval95.upper > 1 && restitution)
    result.notes.push_back(fmt::format(
        "the interval reaches above 1, which no passive impact does: the readings say at least "
        "{:.3f} and leave the upper end open",
        r.interval95.lower));
  if (r.interval95.lower < 0)
    result.notes.emplace_back(
        "the interval reaches below 0, which friction and restitution do not: the readings leave "
        "the lower end open");
  if (r.u > std::max(0.5 * std::abs(r.value), 1e-12) && !r.budget.empty()) {
    const auto largest =
        std::max_element(r.budget.begin(), r.budget.end(),
                         [](const auto& a, const auto& b) { return a.share < b.share; });
    result.notes.push_back(fmt::format(
        "hardly determined: {:.0f} % of its variance come from {}; a reading whose uncertainty is "
        "not stated counts as known to half a unit of its last digit",
        100 * largest->share,
        result.inputs[static_cast<std::size_t>(largest - r.budget.begin())].name));
  }
}

void Judge(CoefficientTest& test) {
  for (CoefficientResult& result : test.results) Sense(test, result);
  for (std::size_t k = 1; k < test.results.size() && test.determined(); ++k) {
    const CoefficientResult& other = test.results[k];
    if (!other.undetermined.empty() || !other.quantity.empty() || other.conditional) continue;
    const UncertainResult &a = test.results[0].result, &b = test.results[k].result;
    const double u = std::hypot(a.u, b.u), z = u > 0 ? (b.value - a.value) / u : 0;
    test.results[k].notes.push_back(
        fmt::format("{:+.4f} against {}, {:.1f} standard deviations{}", b.value - a.value,
                    test.results[0].method, std::abs(z),
                    std::abs(z) > pipelines::kDrift ? ": the methods disagree" : ""));
  }
  if (!test.printed.there()) return;
  const std::string printed = fmt::format("{} = {}{}", test.coefficient, test.printed.text,
                                          test.where.empty() ? "" : " (" + test.where + ")");
  if (test.results.empty()) {
    test.verdict = PrintedVerdict::kNotCheckable;
    test.sentence = printed + " is not checkable: the readings behind it are not given";
    return;
  }
  if (!test.determined()) {
    test.verdict = PrintedVerdict::kNotCheckable;
    test.sentence = printed + " is not checkable: the readings behind it do not determine it";
    return;
  }
  for (const CoefficientResult& r : test.results) {
    if (!r.undetermined.empty() || !r.quantity.empty()) continue;
    if (std::abs(test.printed.value - r.rounded.value) > r.rounded.bound + test.printed.half)
      continue;
    test.verdict = PrintedVerdict::kFollows;
    test.sentence =
        fmt::format("{} follows from its readings ({}); they leave {:.3f} to {:.3f} (95 %)",
                    printed, r.method, r.result.interval95.lower, r.result.interval95.upper);
    return;
  }
  const CoefficientResult& r = test.results[0];
  const bool inside = test.printed.value >= r.result.interval95.lower &&
                      test.printed.value <= r.result.interval95.upper;
  test.verdict = PrintedVerdict::kErratum;
  test.sentence = fmt::format(
      "{} is an erratum: its readings give {:.3f} ({:.3f} to {:.3f} for all that round to them); "
      "as measurements they leave {:.3f} to "
      "{:.3f} (95 %) and {} it",
      printed, r.result.value, r.rounded.value - r.rounded.bound, r.rounded.value + r.rounded.bound,
      r.result.interval95.lower, r.result.interval95.upper, inside ? "contain" : "exclude");
}

// One test and what its readings give.
void VisitTest(Keys& keys, CoefficientTests& all, const UncertainInput& gravity,
               CoefficientTest& test) {
  keys.OneOf("kind", test.kind, {"static_friction", "kinetic_friction", "restitution"},
             "mu_s, mu_k, or e_n", Need::kRequired);
  test.coefficient = test.kind == "static_friction"    ? "mu_s"
                     : test.kind == "kinetic_friction" ? "mu_k"
                                                       : "e_n";
  test.name = test.kind;
  keys.Text("name", test.name, "for people. Default: the kind");
  keys.Text("where", test.where, "for people. Default: none");
  keys.Read("printed",
            "coefficient that a source prints, with its digits; alone, without readings, it is "
            "\"not checkable\". Default: none",
            [&](const YamlNode& node, const char* key) {
              if (!node.Has(key)) return;
              const auto printed = ReadPrinted(node.Text(key));
              if (!printed) throw node.Fault(key, Excerpt(node.Text(key)), "a number as printed");
              test.printed = *printed;
            });
  BenchReader in(keys, all);
  if (test.kind == "static_friction")
    pipelines::ReadStaticFriction(in, test, gravity);
  else if (test.kind == "kinetic_friction")
    pipelines::ReadKineticFriction(in, test, gravity);
  else
    pipelines::ReadRestitution(in, test, gravity);
  keys.Check(!test.results.empty() || test.printed.there(), "kind",
             "neither readings nor a printed value", "one of them: see the keys of " + test.kind);
  Judge(test);
}

}  // namespace

const char* VerdictName(PrintedVerdict verdict) {
  switch (verdict) {
    case PrintedVerdict::kNone:
      return "";
    case PrintedVerdict::kFollows:
      return "follows";
    case PrintedVerdict::kErratum:
      return "erratum";
    case PrintedVerdict::kNotCheckable:
      return "not checkable";
  }
  return "";
}

CoefficientTests LoadCoefficients(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  CoefficientTests all;
  all.inputs.push_back(path);
  all.name = path.stem().string();
  Keys keys(root);
  keys.Schema("impactlab.coefficients/1");
  keys.Text("name", all.name, "for people. Default: name of the file");
  keys.Text("source", all.source, "where they are from. Default: none");
  double gravity = 9.80665, half = 0;
  keys.Number("gravity_m_per_s2", gravity, Positive(), "at the place of the tests");
  keys.Number("gravity_half_m_per_s2", half, NonNegative(), "its limits");
  const UncertainInput stated = Rectangular("gravity", "m/s^2", gravity, half, "stated");
  keys.List(
      "tests", all.tests, "one of each test", pipelines::Style::kLines,
      [&](Keys& test_keys, CoefficientTest& test) { VisitTest(test_keys, all, stated, test); },
      Need::kRequired);
  root.Finish();
  return all;
}

bool AnyDetermined(const CoefficientTests& all) {
  bool readings = false, determined = false;
  for (const CoefficientTest& t : all.tests) {
    readings = readings || !t.results.empty();
    determined = determined || t.determined();
  }
  return determined || !readings;
}

}  // namespace impactlab
