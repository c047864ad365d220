// Restitution from the times of bounces: one coefficient where the series is as one makes it, else
// what explains it, or that nothing does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "impact/identify/bounce_series.h"
#include "impact/identify/coefficient_tests.h"
#include "pipelines/bench_tests/detail/readings.h"

namespace impactlab::pipelines {
namespace {

using Quantities = std::vector<double>;

// Two times the logarithm of a thousand: explanations whose chi-square is that much larger than the
// best one's are dropped.
constexpr double kFarBehind = 13.8;

struct BounceTest {
  Readings readings;
  bool durations = false;
  std::optional<Readings> drag;
  UncertainInput gravity;
  std::vector<std::string> notes;

  BounceReadings Data() const { return {readings.values(), durations, readings.u(), {}}; }
  BounceSeriesSetting Setting() const {
    BounceSeriesSetting out;
    out.gravity = gravity.value;
    if (drag) out.drag = Mean(drag->values());
    return out;
  }
};

// A file that has no header: times without a name, or something else.
void RefuseBareNumbers(const std::filesystem::path& path) {
  const std::string text = ReadFile(path);
  std::vector<double> values;
  std::size_t at = 0;
  constexpr std::size_t kEnough = 100;
  while (at < text.size() && values.size() < kEnough) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = TrimSpace(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.front() == '#') continue;
    const auto value = ParseNumber(line);
    if (!value) return;
    values.push_back(*value);
  }
  if (values.size() < 2) return;
  const bool rises = std::is_sorted(values.begin(), values.end());
  throw DataError(fmt::format(
      "{}: found numbers without a header{}, allowed a line t_s (or \"Time (s)\") above the times "
      "of the impacts",
      path.string(),
      rises ? "" : " that do not rise: samples of a sound, say, and no times of impacts"));
}

// The column of times: t in a unit of time, or the only one that has such a unit.
std::string TimeColumn(const Table& table) {
  if (HasQuantity(table, "t", Quantity::kTime)) return "t";
  std::vector<std::string> stems;
  for (const std::string& name : table.columns)
    if (SplitUnit(name).quantity == Quantity::kTime) stems.push_back(SplitUnit(name).stem);
  return stems.size() == 1 ? stems[0] : "t";
}

std::optional<BounceTest> ReadBounceTest(BenchReader& in) {
  BounceTest out;
  auto times = in.ReadingsOf("bounce_times", Quantity::kTime,
                             "restitution: of successive impacts, three or more");
  const auto flights = in.One("flight_times", Quantity::kTime, Positive(),
                              "restitution, instead: durations of the flights between them, two or "
                              "more");
  if (times && flights) throw in.node().Fault(flights->key, times->key + " as well", "one of them");
  if (flights) {
    times = flights;
    out.durations = true;
  }
  if (in.node().Has("bounces")) {
    if (times) throw in.node().Fault("bounces", times->key + " as well", "one of them");
    const std::filesystem::path path = in.Path(
        "bounces", "restitution: CSV of the times of successive impacts, t_s or \"Time (s)\"");
    RefuseBareNumbers(path);
    const Table table = in.ReadTable(path, {});
    const std::string stem = TimeColumn(table);
    times = Readings{};
    times->key = ColumnNameOf(table, stem, Quantity::kTime);
    for (const double t : SiColumn(table, stem, Quantity::kTime))
      times->list.push_back({t, 0, FormatNumber(t)});
    in.keys().Stated(true).Number("time_sd_s", times->sd, Positive(),
                                  "standard deviation of these times");
    if (!(times->sd > 0))
      in.keys().Number("time_half_s", times->half, Positive(), "or their limits", Need::kRequired);
  }
  if (!times) return std::nullopt;
  out.readings = *times;
  const std::vector<double> t = times->values();
  const bool falls = std::is_sorted(t.rbegin(), t.rend()) && t.front() > t.back() && t.back() > 0;
  if (!out.durations && falls && t.size() > 2) {
    out.durations = true;
    out.notes.emplace_back("taken as durations of flights, because they fall (flight_times)");
  }
  return out;
}

void ExpectBounces(const BenchReader& in, const BounceTest& series) {
  const auto& list = series.readings.list;
  const std::size_t least = series.durations ? 2 : 3;
  if (list.size() < least)
    throw in.node().Fault(
        series.durations ? "flight_times_s" : "bounce_times_s",
        fmt::format("{} {}", list.size(), series.durations ? "flights" : "impacts"),
        series.durations ? "two or more" : "three or more");
  for (std::size_t k = 1; k < list.size() && !series.durations; ++k)
    if (!(list[k].value > list[k - 1].value))
      throw in.node().Fault("bounce_times_s", list[k].text, "rising times");
}

// One account of a series: which readings are used and how, what is fitted, and why.
struct Explanation {
  std::string method, words;
  BounceReadings data;
  std::vector<std::size_t> used;  // readings of the file
  BounceSeriesSetting setting;
  BounceSeries fit;
};

std::vector<std::size_t> AllOf(std::size_t n) {
  std::vector<std::size_t> out(n);
  for (std::size_t k = 0; k < n; ++k) out[k] = k;
  return out;
}

// Its budget, of e or, with a drop height, of the acceleration of gravity.
CoefficientResult BudgetOf(const BounceTest& series, const Explanation& by, bool scatter,
                           const Readings* drop) {
  BudgetModel model;
  const std::size_t n = by.used.size();
  for (const std::size_t k : by.used)
    model.Add(fmt::format("{} {}", series.durations ? "flight" : "impact", k + 1), "s",
              series.readings.At(k));
  std::optional<std::size_t> drag, more, height;
  if (series.drag && !by.setting.fit_drag) drag = model.Add("drag", "1/m", *series.drag);
  if (drop != nullptr) height = model.Add("drop height", "m", *drop);
  const std::size_t gravity = model.Add(series.gravity, 0);
  if (scatter)
    more = model.Add(
        UncertainInput{"scatter of the bounces", "1", 0,
                       by.fit.sd_e * std::sqrt(std::max(0.0, by.fit.chi_square / by.fit.dof - 1)),
                       Spread::kStudent, static_cast<double>(by.fit.dof),
                       "beyond what the times explain"},
        0);
  return model.Evaluate(by.method, [&](const Quantities& q) {
    BounceReadings data = by.data;
    data.t.assign(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(n));
    BounceSeriesSetting setting = by.setting;
    setting.gravity = q[gravity];
    if (drag) setting.drag = q[*drag];
    const BounceSeries fit = FitBounceSeries(data, setting, &by.fit);
    const double e = fit.e + (more ? q[*more] : 0);
    if (!height) return e;
    const double landing = std::sqrt(2 * setting.gravity * q[*height]);
    const double first = FlyWithDrag(fit.first_speed, fit.drag, setting.gravity).duration;
    return GravityOfDrop(q[*height], first, e + fit.slope * (landing - fit.v_0), fit.drag);
  });
}

std::string SuspicionWords(const BounceTest& series, const BounceSuspicion& s) {
  const auto& list = series.readings.list;
  const std::string at =
      std::isfinite(s.expected) ? fmt::format(" (at about {:.4g} s)", s.expected) : "";
  if (s.fault == BounceFault::kExtra) return list[s.at].text + " is no impact of the series";
  if (s.fault == BounceFault::kMisread)
    return list[s.at].text + " is not the time of its impact" + at;
  if (series.durations) return "an impact is missing within the flight " + list[s.at].text;
  return "an impact is missing between " + list[s.at].text + " and " + list[s.at + 1].text + at;
}

std::vector<Explanation> Suspicions(const BounceTest& series, const BounceSeriesSetting& setting) {
  std::vector<Explanation> out;
  const std::size_t n = series.readings.list.size();
  for (const BounceSuspicion& s : SuspectBounces(series.Data(), setting, kImprobable)) {
    if (setting.fit_drag && !(s.fit.drag > 0)) continue;
    Explanation by{"bounce times, one amended",
                   SuspicionWords(series, s),
                   s.readings,
                   AllOf(n),
                   setting,
                   s.fit};
    if (s.fault != BounceFault::kMissing)
      by.used.erase(by.used.begin() + static_cast<std::ptrdiff_t>(s.at));
    if (setting.fit_drag) {
      by.method += ", with drag";
      by.words += fmt::format(", and air drags (k = {:.3g} /m)", s.fit.drag);
    }
    out.push_back(std::move(by));
  }
  return out;
}

// Everything that explains a series which one coefficient does not.
std::vector<Explanation> Explain(const BounceTest& series) {
  std::vector<Explanation> out;
  const BounceReadings data = series.Data();
  const std::size_t n = data.t.size();
  const BounceSeriesSetting plain = series.Setting();
  const auto good = [](const BounceSeries& fit) {
    const auto possible = [](double e) { return e > 0 && e <= 1; };
    return fit.ok && fit.dof >= 0 && (fit.dof == 0 || fit.probability > kImprobable) &&
           possible(fit.e_first) && possible(fit.e_last);
  };
  BounceSeriesSetting with_drag = plain;
  with_drag.fit_drag = true;
  if (!(with_drag.drag > 0)) with_drag.drag = 0.01;
  const BounceSeries drags = FitBounceSeries(data, with_drag);
  const double declared = series.drag ? series.drag->u() : 0;
  const bool as_declared = !series.drag || std::abs(drags.drag - plain.drag) <
                                               kDrift * std::hypot(drags.sd_drag, declared);
  if (good(drags) && drags.drag > 0 && as_declared)
    out.push_back({"bounce times, drag fitted",
                   fmt::format("air drags: k = {:.4g} +- {:.2g} /m from how the ratios change",
                               drags.drag, drags.sd_drag),
                   data, AllOf(n), with_drag, drags});
  BounceSeriesSetting with_speed = plain;
  with_speed.fit_slope = true;
  const BounceSeries speed = FitBounceSeries(data, with_speed);
  if (good(speed))
    out.push_back({"bounce times, e of speed",
                   fmt::format("e {} with speed: {:+.3g} +- {:.2g} per m/s, from {:.3f} at the "
                               "first to {:.3f} at the last bounce; the value is that at {:.3g} "
                               "m/s",
                               speed.slope < 0 ? "falls" : "rises", speed.slope, speed.sd_slope,
                               speed.e_first, speed.e_last, speed.v_0),
                   data, AllOf(n), with_speed, speed});
  for (Explanation& by : Suspicions(series, plain)) out.push_back(std::move(by));
  if (out.empty() && !series.drag)
    for (Explanation& by : Suspicions(series, with_drag)) out.push_back(std::move(by));
  double best = std::numeric_limits<double>::infinity();
  for (const Explanation& by : out) best = std::min(best, by.fit.chi_square);
  std::erase_if(out, [&](const Explanation& by) { return by.fit.chi_square > best + kFarBehind; });
  std::stable_sort(out.begin(), out.end(), [](const Explanation& a, const Explanation& b) {
    return a.fit.dof != b.fit.dof ? a.fit.dof > b.fit.dof : a.fit.chi_square < b.fit.chi_square;
  });
  return out;
}

// Whether explanations come to one coefficient, so that it does not matter which holds.
bool Agree(const std::vector<Explanation>& all) {
  const BounceSeries& first = all.front().fit;
  return std::all_of(all.begin(), all.end(), [&](const Explanation& by) {
    return by.method == all.front().method &&
           std::abs(by.fit.e - first.e) <= 2 * std::hypot(by.fit.sd_e, first.sd_e);
  });
}

// How far drag that is not declared would move e of these flights: as far as the times leave room
// for it, or for a unit of it where they are too few to say.
std::string DragShare(const BounceTest& series, double e) {
  constexpr double kUnit = 0.01;  // 1/m
  const BounceReadings data = series.Data();
  BounceSeriesSetting setting = series.Setting();
  setting.drag = kUnit;
  if (data.u > 0 && data.t.size() > (series.durations ? 3U : 4U)) {
    BounceSeriesSetting free = setting;
    free.fit_drag = true;
    const BounceSeries fit = FitBounceSeries(data, free);
    setting.drag = std::max(0.0, fit.drag) + 2 * fit.sd_drag;
    const BounceSeries most = fit.ok ? FitBounceSeries(data, setting) : BounceSeries{};
    if (most.ok && most.e > e)
      return fmt::format(
          "; drag of the air is left out: the times leave room for {:.2g} /m of "
          "drag_per_m, with which e is {:.4f}",
          setting.drag, most.e);
    setting.drag = kUnit;
  }
  const BounceSeries fit = FitBounceSeries(data, setting);
  if (!fit.ok) return "";
  return fmt::format(
      "; drag of the air is left out: e is {:.2g} % low for every {} /m of "
      "drag_per_m",
      100 * (fit.e / e - 1), kUnit);
}

// One coefficient for the whole series, with the drag that is declared.
struct OneCoefficient {
  Explanation by;
  double drift = 0, drift_z = 0;
  bool fits = false, known = false;  // `known`: there was something to test
  Eigen::VectorXd weights;           // of the logarithms, without drag
};

OneCoefficient PlainOf(const BounceTest& series) {
  OneCoefficient out;
  const BounceReadings data = series.Data();
  out.by = {"bounce times", "", data, AllOf(data.t.size()), series.Setting(), {}};
  if (series.drag) out.by.method += ", drag declared";
  out.by.fit = FitBounceSeries(data, out.by.setting);
  double probability = out.by.fit.probability;
  int dof = out.by.fit.dof;
  if (!series.durations && !series.drag) {
    const BounceFit fit = FitBounces(data.t, data.u);
    out.weights = fit.weights;
    out.drift = fit.drift;
    out.drift_z = fit.drift_z;
    probability = fit.probability;
    dof = fit.dof;
  } else if (dof > 0 && data.u > 0) {
    BounceSeriesSetting bent = out.by.setting;
    bent.fit_slope = true;
    const BounceSeries fit = FitBounceSeries(data, bent);
    out.drift = -fit.slope;
    if (fit.sd_slope > 0) out.drift_z = -fit.slope / fit.sd_slope;
  }
  out.known = dof > 0 && data.u > 0;
  out.fits = !out.known || (probability >= kImprobable && std::abs(out.drift_z) <= kDrift);
  return out;
}

CoefficientResult PlainResult(const BounceTest& series, const OneCoefficient& plain, bool scatter) {
  if (series.durations || series.drag || scatter)
    return BudgetOf(series, plain.by, scatter, nullptr);
  BudgetModel model;
  for (std::size_t k = 0; k < series.readings.list.size(); ++k)
    model.Add(fmt::format("impact {}", k + 1), "s", series.readings.At(k));
  return model.Evaluate(
      plain.by.method, [&](const Quantities& q) { return RestitutionOfBounces(q, plain.weights); });
}

std::string DriftWords(const OneCoefficient& plain) {
  return fmt::format("the ratios {} from bounce to bounce ({:.1f} standard deviations)",
                     plain.drift > 0 ? "rise" : "fall", plain.drift_z);
}

// A flight that is clearly longer than the one before it: no body bounces so.
void ExpectFallingFlights(const BenchReader& in, const BounceTest& series) {
  const std::vector<double> t = series.readings.values();
  for (std::size_t k = 2; k < t.size() && !series.durations; ++k)
    if (t[k] - t[k - 1] > 1.2 * (t[k - 1] - t[k - 2]))
      throw in.node().Fault(
          "bounce_times_s",
          fmt::format("a flight of {:.4g} s after one of {:.4g} s", t[k] - t[k - 1],
                      t[k - 1] - t[k - 2]),
          fmt::format("flights that grow shorter: at least one impact is "
                      "missing between {} and {}",
                      series.readings.list[k - 1].text, series.readings.list[k].text));
}

// What nothing in the readings tests: two flights give one ratio, also where they were three.
std::string UntestedWords(const BounceTest& series) {
  BounceReadings missed = series.Data();
  missed.flights = {2, 1};
  const BounceSeries fit = FitBounceSeries(missed, series.Setting());
  std::string alone = "two flights give one ratio, which nothing tests";
  if (!fit.ok || !(fit.e > 0 && fit.e <= 1)) return alone;
  return fmt::format("{}; had an impact been missed in the first of them, e would be {:.3f}", alone,
                     fit.e);
}

// Nothing explains the series: scatter where there is no trend, else no value.
CoefficientResult Unexplained(const BounceTest& series, const OneCoefficient& plain) {
  BounceSeriesSetting bent = plain.by.setting;
  bent.fit_slope = true;
  const BounceSeries fit = FitBounceSeries(plain.by.data, bent);
  const bool trend =
      fit.dof < 1 || !fit.ok ||
      std::abs(fit.slope) / (fit.sd_slope * std::sqrt(std::max(1.0, fit.chi_square / fit.dof))) >
          StudentQuantile(0.975, fit.dof);
  if (trend) {
    CoefficientResult out = Undetermined(
        plain.by.method,
        "neither drag of the air, nor a line of e over speed, nor one impact amiss explains the "
        "flights; more bounces, their heights, or uncertainties of the times that hold would "
        "tell");
    out.notes.push_back(DriftWords(plain) + ": one e does not say it all");
    return out;
  }
  CoefficientResult out = PlainResult(series, plain, true);
  out.notes.push_back(
      fmt::format("the ratios scatter more than the times explain (probability {:.1g}); what they "
                  "scatter is in the interval",
                  plain.by.fit.probability));
  return out;
}

std::string RatiosOf(const BounceTest& series) {
  const std::vector<double> t = series.readings.values();
  std::vector<double> flights = t;
  if (!series.durations) {
    flights.clear();
    for (std::size_t k = 1; k < t.size(); ++k) flights.push_back(t[k] - t[k - 1]);
  }
  std::string out;
  for (std::size_t k = 1; k < flights.size(); ++k)
    out += fmt::format("{}{:.3f}", out.empty() ? "" : ", ", flights[k] / flights[k - 1]);
  return "ratios of successive flights " + out;
}

// The acceleration of gravity that a drop height and the flight after it say.
CoefficientResult GravityOf(const BounceTest& series, const Explanation& by, const Readings& drop) {
  CoefficientResult out = BudgetOf(series, by, false, &drop);
  out.quantity = "g";
  out.unit = "m/s^2";
  out.method = "drop height and first flight";
  const double g = series.gravity.value, u = std::hypot(out.result.u, series.gravity.u),
               e = by.fit.e_first;
  const double z = (out.result.value - g) / u;
  if (std::abs(z) <= kDrift) {
    out.notes.push_back(
        fmt::format("agrees with {:.5g}, {:.1f} standard deviations", g, std::abs(z)));
  } else if (std::abs(out.result.value * e * e - g) <= kDrift * u) {
    out.notes.push_back(
        fmt::format("{:.5g} was expected: as if one more impact had come before "
                    "the first of the list",
                    g));
  } else {
    out.notes.push_back(fmt::format(
        "{:.5g} was expected, {:.1f} standard deviations away: the drop height (of the lowest "
        "point), the clock, drag of the air, or impacts before the first of the list",
        g, std::abs(z)));
  }
  return out;
}

}  // namespace

void ReadBounces(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity,
                 const std::optional<Readings>& drop) {
  std::optional<BounceTest> found = ReadBounceTest(in);
  if (!found) return;
  BounceTest& series = *found;
  series.gravity = gravity;
  series.drag = in.Drag();
  ExpectBounces(in, series);
  const OneCoefficient plain = PlainOf(series);
  std::vector<CoefficientResult> results;
  std::optional<Explanation> chosen;
  std::string ratios = RatiosOf(series);
  if (plain.fits) {
    ExpectFallingFlights(in, series);
    results.push_back(PlainResult(series, plain, false));
    if (!series.drag) ratios += DragShare(series, results.back().result.value);
    if (plain.by.data.t.size() == (series.durations ? 2U : 3U))
      series.notes.push_back(UntestedWords(series));
    chosen = plain.by;
  } else if (const std::vector<Explanation> all = Explain(series); all.empty()) {
    ExpectFallingFlights(in, series);
    results.push_back(Unexplained(series, plain));
  } else if (Agree(all)) {
    results.push_back(BudgetOf(series, all.front(), false, nullptr));
    results.back().notes.push_back(all.front().words);
    chosen = all.front();
  } else {
    results.push_back(Undetermined(
        "bounce times", DriftWords(plain) +
                            ", which has more than one explanation; more bounces, drag_per_m "
                            "(air density times drag coefficient times cross section over twice "
                            "the mass), or heights of drop and rebound decide"));
    for (const Explanation& by : all) {
      results.push_back(BudgetOf(series, by, false, nullptr));
      results.back().method = "if so: " + by.method;
      results.back().notes.push_back(by.words);
      results.back().conditional = true;
    }
  }
  std::vector<std::string>& notes = results.front().notes;
  notes.insert(notes.begin(), ratios);
  notes.insert(notes.end(), series.notes.begin(), series.notes.end());
  if (drop && chosen) results.push_back(GravityOf(series, *chosen, *drop));
  for (CoefficientResult& r : results) test.results.push_back(std::move(r));
}

}  // namespace impactlab::pipelines
