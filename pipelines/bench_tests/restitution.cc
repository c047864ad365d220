// Restitution from speeds, heights, events, and pairs of them; bounces.cc has their times.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "impact/identify/coefficient_tests.h"
#include "pipelines/bench_tests/detail/readings.h"

namespace impactlab::pipelines {
namespace {

using Quantities = std::vector<double>;

// What enters beside the two readings of a drop: drag of heights, masses of a target that recoils.
struct Circumstances {
  BudgetModel model;
  std::optional<std::size_t> drag, ball, target;  // places in it
  double Apparent(double e, const Quantities& further) const {
    return target ? RestitutionOfRecoil(e, further[*ball] / further[*target]) : e;
  }
};

Circumstances ReadCircumstances(const BenchReader& in) {
  Circumstances out;
  if (const auto drag = in.Drag()) out.drag = out.model.Add("drag", "1/m", *drag);
  const auto mass = in.Mass(),
             target = in.One("target_mass", Quantity::kMass, Positive(),
                             "restitution: of a free target at rest, which recoils; with mass");
  if (mass || target)
    in.Together("mass_kg", mass.has_value(), "target_mass_kg", target.has_value());
  if (target) {
    out.ball = out.model.Add("mass of the ball", "kg", *mass);
    out.target = out.model.Add("mass of the target", "kg", *target);
  }
  return out;
}

PairModel PairOfSpeeds(const Circumstances& around) {
  PairModel out;
  out.method = "velocities";
  out.unit = "m/s";
  out.f = [around](double before, double after, const Quantities& further) {
    return around.Apparent(
        RestitutionOfVelocities(before, around.target ? after : std::max(0.0, after)), further);
  };
  out.speed = [](double before) { return before; };
  out.further = around.model;
  return out;
}

PairModel PairOfHeights(const Circumstances& around, double gravity) {
  PairModel out;
  out.method = "heights";
  out.unit = "m";
  out.f = [around](double drop, double rebound, const Quantities& further) {
    return around.Apparent(
        RestitutionOfHeights(drop, std::max(0.0, rebound), around.drag ? further[*around.drag] : 0),
        further);
  };
  const double drag = around.drag ? around.model.Values()[*around.drag] : 0;
  out.speed = [=](double drop) {
    return drag > 0 ? std::sqrt(gravity / drag * -std::expm1(-2 * drag * drop))
                    : std::sqrt(2 * gravity * drop);
  };
  out.further = around.model;
  return out;
}

// One drop, or the mean of repeated ones.
CoefficientResult Repeats(const Readings& before, const Readings& after, const PairModel& pair,
                          const char* first, const char* second) {
  BudgetModel model;
  model.Add(first, pair.unit, before);
  model.Add(second, pair.unit, after);
  model.AddAll(pair.further);
  return model.Evaluate(pair.method, [f = pair.f](const Quantities& q) {
    return f(q[0], q[1], Quantities(q.begin() + 2, q.end()));
  });
}

// Lists of different lengths are repeats of one quantity each, as far as each is one quantity.
void ExpectOneQuantity(const BenchReader& in, const Readings& readings, std::size_t other) {
  const std::vector<double> x = readings.values();
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  constexpr double kSpread = 0.1;
  if (*high - *low > kSpread * std::abs(*high))
    throw in.node().Fault(
        readings.key,
        fmt::format("{} readings from {:.4g} to {:.4g} beside {}", x.size(), *low, *high, other),
        "as many of both (pairs, in the order of the drops), or repeats of one");
}

// Whether rebounds are successive ones of one drop: each falls by nearly the same share of the one
// before it, where repeats of one rebound would scatter about one height.
enum class Rebounds { kRepeated, kSuccessive, kEither };

Rebounds KindOfRebounds(double drop, const std::vector<double>& rebounds) {
  std::vector<double> heights, shares;
  double before = drop;
  for (const double h : rebounds) {
    if (!(h > 0 && h < before)) return Rebounds::kRepeated;
    heights.push_back(std::log(h));
    shares.push_back(std::log(h / before));
    before = h;
  }
  const double as_repeats = StandardDeviation(heights), as_series = StandardDeviation(shares);
  constexpr double kClear = 3;  // of the scatters' ratio
  if (as_series * kClear < as_repeats) return Rebounds::kSuccessive;
  return as_series < as_repeats ? Rebounds::kEither : Rebounds::kRepeated;
}

void SortedOut(const BenchReader& in, CoefficientTest& test, const Readings& before,
               const Readings& after, const PairModel& pair, const char* first,
               const char* second) {
  const std::size_t n = before.list.size(), m = after.list.size();
  const bool heights = pair.unit == "m";
  const std::string declared =
      heights ? in.Word("rebounds", {"repeated", "successive"},
                        "restitution: what a list of rebounds of one drop is, repeats or one after "
                        "another. Default: as the heights tell it")
              : "";
  if (!declared.empty() && (n != 1 || m < 2))
    throw in.node().Fault("rebounds", declared, "with one drop height and a list of rebounds");
  if (n > 1 && n == m) {
    test.results.push_back(PairsOf(before, after, pair));
    return;
  }
  if (n > 1 && m > 1) {
    ExpectOneQuantity(in, before, m);
    ExpectOneQuantity(in, after, n);
  }
  Rebounds kind = Rebounds::kRepeated;
  if (n == 1 && m > 1 && heights)
    kind = declared == "successive" ? Rebounds::kSuccessive
           : declared.empty()       ? KindOfRebounds(before.list[0].value, after.values())
                                    : Rebounds::kRepeated;
  if (kind == Rebounds::kSuccessive) {
    test.results.push_back(SuccessiveRebounds(before, after, pair));
    if (declared.empty())
      test.results.back().notes.emplace_back(
          "taken as successive rebounds of one drop, because each falls by nearly the same share "
          "of the one before it; `rebounds: repeated` where they are repeats");
    return;
  }
  test.results.push_back(Repeats(before, after, pair, first, second));
  if (kind == Rebounds::kEither)
    test.results.back().notes.emplace_back(
        "taken as repeats of one rebound, though each is lower than the one before it; `rebounds: "
        "successive` where they follow each other in one drop");
}

// How far drag that is not declared would move e of heights: d ln e / dk = (h + h_r) / 2.
std::string DragNote(const std::vector<double>& drops, const std::vector<double>& rebounds) {
  constexpr double kUnit = 0.01;  // 1/m
  const double share = 0.5 * kUnit * (Mean(drops) + Mean(rebounds));
  return fmt::format(
      "drag of the air is left out: e is {:.2g} % low for every {} /m of "
      "drag_per_m",
      100 * share, kUnit);
}

void Events(BenchReader& in, CoefficientTest& test) {
  const Table table = in.ReadTable(
      in.Path("events",
              "restitution: events.csv of a run, the normal velocities of its accepted impacts"),
      {"recording"});
  const std::vector<double> before = SiColumn(table, "v_minus_F_n", Quantity::kVelocity),
                            after = SiColumn(table, "v_plus_F_n", Quantity::kVelocity);
  std::vector<double> ratios;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    if (table.Has("accepted") && table.Column("accepted")[row] != 1) continue;
    if (!std::isfinite(before[row]) || !std::isfinite(after[row])) continue;
    if (!(before[row] < 0))
      throw table.Fault(row, ColumnNameOf(table, "v_minus_F_n", Quantity::kVelocity),
                        FormatNumber(before[row]), "below 0");
    ratios.push_back(-after[row] / before[row]);
  }
  if (ratios.size() < 2)
    throw DataError(fmt::format("{}: found {} accepted impacts, allowed two or more", table.path,
                                ratios.size()));
  BudgetModel model;
  model.Add(MeanOf("e of an impact", "1", ratios, fmt::format("mean of {} impacts", ratios.size())),
            0);
  test.results.push_back(model.Evaluate("events", [](const Quantities& q) { return q[0]; }));
}

}  // namespace

void ReadRestitution(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity) {
  const Circumstances around = ReadCircumstances(in);
  const Range any = {};
  const auto both = [&](const char* first, const std::optional<Readings>& a, const char* second,
                        const std::optional<Readings>& b, Quantity quantity) {
    if (a.has_value() != b.has_value())
      throw in.node().Fault(std::string(a ? second : first) + "_" + UnitsOf(quantity)[0],
                            "one of the two", fmt::format("{} and {}, or neither", first, second));
    return a.has_value();
  };
  const auto before = in.One("speed_before", Quantity::kVelocity, Positive(),
                             "restitution: along the normal, with speed_after"),
             after =
                 in.One("speed_after", Quantity::kVelocity, around.target ? any : NonNegative(),
                        "restitution: along the normal, backward; below 0 where the ball follows a "
                        "target that recoils");
  if (both("speed_before", before, "speed_after", after, Quantity::kVelocity))
    SortedOut(in, test, *before, *after, PairOfSpeeds(around), "speed_before", "speed_after");
  const auto drop = in.One("drop_height", Quantity::kLength, Positive(),
                           "restitution: of the lowest point, with rebound_height; with times of "
                           "bounces alone, the height of the drop before them, which gives g"),
             rebound = in.One("rebound_height", Quantity::kLength, NonNegative(),
                              "restitution: of the lowest point; a list as long as that of drops "
                              "are pairs");
  const bool bounces = in.HasBounces();
  if (around.target && bounces)
    throw in.node().Fault("target_mass_kg", "a target that recoils, with times of bounces",
                          "speeds or heights of one impact on it");
  const bool alone = bounces && drop && !rebound;
  if (!alone && both("drop_height", drop, "rebound_height", rebound, Quantity::kLength)) {
    SortedOut(in, test, *drop, *rebound, PairOfHeights(around, gravity.value), "drop_height",
              "rebound_height");
    if (!around.drag)
      test.results.back().notes.push_back(DragNote(drop->values(), rebound->values()));
  }
  ReadBounces(in, test, gravity, alone ? drop : std::nullopt);
  if (in.node().Has("events")) Events(in, test);
}

}  // namespace impactlab::pipelines
