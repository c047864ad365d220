// What sources say of a map against what we get.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "pipelines/map/impact_map.h"

namespace impactlab {
namespace {

// For people, and the same in CSV and page: plain text, no digits of rounding.
std::string Num(double value, int significant) {
  if (std::abs(value) < 1e-9) value = 0;
  return fmt::format("{:.{}g}", value, significant);
}

std::string Digit(const std::string& course) { return course.substr(0, 1); }

struct Extreme {
  double value = std::numeric_limits<double>::quiet_NaN(), x = 0, y = 0;
};

Extreme FindExtreme(const ImpactMap& map, std::size_t law, int quantity, bool least) {
  Extreme out;
  for (std::size_t iy = 0; iy < map.ny(); ++iy)
    for (std::size_t ix = 0; ix < map.nx(); ++ix) {
      const double value = map.At(law, ix, iy).values[static_cast<std::size_t>(quantity)];
      if (!std::isfinite(value) ||
          (std::isfinite(out.value) && (least ? value >= out.value : value <= out.value)))
        continue;
      out = {value, map.sweep.x.shown[ix], map.sweep.y ? map.sweep.y->shown[iy] : 0};
    }
  return out;
}

std::string Place(const ImpactMap& map, const Extreme& e) {
  return map.sweep.y ? fmt::format("at ({}, {})", Num(e.x, 4), Num(e.y, 4))
                     : fmt::format("at {}", Num(e.x, 4));
}

bool Within(double value, const std::vector<double>& box) {
  return box.empty() || (value >= box[0] - 1e-9 && value <= box[1] + 1e-9);
}

// Changes of the case digit along x, each to 1e-9 of the range by halving between grid points.
struct Change {
  double x;
  std::string from, to;
};
std::vector<Change> FindChanges(const ImpactMap& map, const std::string& law, double y) {
  const std::vector<double>& xs = map.sweep.x.shown;
  const auto digit = [&](double x) { return Digit(EvaluateMapPoint(map.sweep, law, x, y).course); };
  std::vector<Change> out;
  std::string from = digit(xs.front());
  for (std::size_t i = 1; i < xs.size(); ++i) {
    const std::string to = digit(xs[i]);
    if (to != from) {
      double low = xs[i - 1], high = xs[i];
      for (int k = 0; k < 40; ++k) {
        const double middle = 0.5 * (low + high);
        (digit(middle) == from ? low : high) = middle;
      }
      out.push_back({0.5 * (low + high), from, to});
    }
    from = to;
  }
  return out;
}

// A change of the case at a place along x.
StatementResult CheckChange(const ImpactMap& map, const MapStatement& s) {
  StatementResult out;
  double nearest = std::numeric_limits<double>::quiet_NaN();
  for (const Change& change : FindChanges(map, s.law, s.y))
    if (change.from == s.from && change.to == s.to &&
        !(std::abs(change.x - s.printed) >= std::abs(nearest - s.printed)))
      nearest = change.x;
  if (!std::isfinite(nearest)) {
    out.found = fmt::format("no change from case {} to {}", s.from, s.to);
    return out;
  }
  out.found = fmt::format("case {} to {} at {}", s.from, s.to, Num(nearest, 6));
  out.agrees = std::abs(nearest - s.printed) <= s.tolerance;
  return out;
}

// The cases in their order along x.
StatementResult CheckCases(const ImpactMap& map, const MapStatement& s) {
  StatementResult out;
  const std::vector<Change> changes = FindChanges(map, s.law, s.y);
  std::vector<std::string> cases = {
      changes.empty()
          ? Digit(EvaluateMapPoint(map.sweep, s.law, map.sweep.x.shown.front(), s.y).course)
          : changes.front().from};
  out.found = "case " + cases.front();
  for (const Change& change : changes) {
    cases.push_back(change.to);
    out.found += fmt::format(", {} from {}", change.to, Num(change.x, 4));
  }
  out.agrees = cases == s.cases;
  return out;
}

// The least or largest value, and where it is.
StatementResult CheckExtreme(const ImpactMap& map, const MapStatement& s, std::size_t law) {
  StatementResult out;
  using Kind = MapStatement::Kind;
  const bool least = s.kind == Kind::kMinimum || s.least;
  const Extreme e = FindExtreme(map, law, QuantityIndex(s.quantity), least);
  out.decided = std::isfinite(e.value);
  out.found = fmt::format("{} {} {}", least ? "least" : "largest", Num(e.value, 5), Place(map, e));
  out.agrees = Within(e.x, s.x_box) && Within(e.y, s.y_box) &&
               (s.kind == Kind::kInside || std::abs(e.value - s.printed) <= s.tolerance);
  return out;
}

// The cases that occur anywhere.
StatementResult CheckPresent(const ImpactMap& map, const MapStatement& s, std::size_t law) {
  StatementResult out;
  std::set<std::string> here;
  for (const MapPoint& point : map.points[law]) here.insert(Digit(point.course));
  out.found = "cases";
  for (const std::string& one : here) out.found += (out.found == "cases" ? " " : ", ") + one;
  out.agrees = here == std::set<std::string>(s.cases.begin(), s.cases.end());
  return out;
}

// A value below zero somewhere.
StatementResult CheckNegative(const ImpactMap& map, const MapStatement& s, std::size_t law) {
  StatementResult out;
  const Extreme e = FindExtreme(map, law, QuantityIndex(s.quantity), true);
  out.decided = std::isfinite(e.value);
  // Rounding is no gain.
  out.agrees = e.value < -1e-9;
  out.found = out.agrees ? fmt::format("down to {} {}", Num(e.value, 5), Place(map, e))
                         : "nowhere below zero";
  return out;
}

// Mirrored points alike.
StatementResult CheckSymmetric(const ImpactMap& map, const MapStatement& s, std::size_t law) {
  StatementResult out;
  const int q = QuantityIndex(s.quantity);
  double worst = 0, largest = 0;
  int cases = 0;
  for (std::size_t iy = 0; iy < map.ny(); ++iy)
    for (std::size_t ix = 0; ix < map.nx(); ++ix) {
      const MapPoint &a = map.At(law, ix, iy), &b = s.axis == 'x'
                                                        ? map.At(law, map.nx() - 1 - ix, iy)
                                                        : map.At(law, ix, map.ny() - 1 - iy);
      const double u = a.values[static_cast<std::size_t>(q)],
                   v = b.values[static_cast<std::size_t>(q)];
      if (std::isfinite(u - v))
        worst = std::max(worst, std::abs(u - v)), largest = std::max(largest, std::abs(u));
      cases += Digit(a.course) != Digit(b.course);
    }
  out.found =
      fmt::format("mirrored points differ by at most {} of {}; the case differs {}", Num(worst, 2),
                  Num(largest, 3), cases == 0 ? "nowhere" : fmt::format("at {} points", cases));
  out.agrees = worst <= s.tolerance * std::max(largest, 1e-300) && cases == 0;
  return out;
}

}  // namespace

StatementResult CheckStatement(const ImpactMap& map, const MapStatement& s) {
  using Kind = MapStatement::Kind;
  const auto at = std::find(map.sweep.laws.begin(), map.sweep.laws.end(), s.law);
  const std::size_t law = static_cast<std::size_t>(at - map.sweep.laws.begin());
  switch (s.kind) {
    case Kind::kChange:
      return CheckChange(map, s);
    case Kind::kCases:
      return CheckCases(map, s);
    case Kind::kMaximum:
    case Kind::kMinimum:
    case Kind::kInside:
      return CheckExtreme(map, s, law);
    case Kind::kPresent:
      return CheckPresent(map, s, law);
    case Kind::kNegative:
      return CheckNegative(map, s, law);
    case Kind::kSymmetric:
      return CheckSymmetric(map, s, law);
  }
  return {};
}

}  // namespace impactlab
