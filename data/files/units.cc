#include "data/files/units.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/files/text.h"

namespace impactlab {
namespace {

constexpr double kPi = 3.141592653589793238462643383279502884;
constexpr double kDegree = kPi / 180;
// exact, as are foot and pound below (international yard and pound agreement, 1959)
constexpr double kInch = 0.0254;
constexpr double kFoot = 0.3048;
constexpr double kPound = 0.45359237;

struct Unit {
  std::string_view name;
  Quantity quantity;
  double to_si;
};

// The SI unit of a quantity stands first.
constexpr Unit kUnits[] = {
    {"m", Quantity::kLength, 1},
    {"mm", Quantity::kLength, 1e-3},
    {"cm", Quantity::kLength, 1e-2},
    {"um", Quantity::kLength, 1e-6},
    {"in", Quantity::kLength, kInch},
    {"ft", Quantity::kLength, kFoot},
    {"s", Quantity::kTime, 1},
    {"ms", Quantity::kTime, 1e-3},
    {"us", Quantity::kTime, 1e-6},
    {"ns", Quantity::kTime, 1e-9},
    {"rad", Quantity::kAngle, 1},
    {"mrad", Quantity::kAngle, 1e-3},
    {"deg", Quantity::kAngle, kDegree},
    {"rev", Quantity::kAngle, 2 * kPi},
    {"m_per_s", Quantity::kVelocity, 1},
    {"mm_per_s", Quantity::kVelocity, 1e-3},
    {"cm_per_s", Quantity::kVelocity, 1e-2},
    {"in_per_s", Quantity::kVelocity, kInch},
    {"ft_per_s", Quantity::kVelocity, kFoot},
    {"rad_per_s", Quantity::kAngularVelocity, 1},
    {"mrad_per_s", Quantity::kAngularVelocity, 1e-3},
    {"deg_per_s", Quantity::kAngularVelocity, kDegree},
    {"rev_per_s", Quantity::kAngularVelocity, 2 * kPi},
    {"rpm", Quantity::kAngularVelocity, 2 * kPi / 60},
    {"m_per_s2", Quantity::kAcceleration, 1},
    {"mm_per_s2", Quantity::kAcceleration, 1e-3},
    {"cm_per_s2", Quantity::kAcceleration, 1e-2},
    {"in_per_s2", Quantity::kAcceleration, kInch},
    {"ft_per_s2", Quantity::kAcceleration, kFoot},
    {"rad_per_s2", Quantity::kAngularAcceleration, 1},
    {"deg_per_s2", Quantity::kAngularAcceleration, kDegree},
    {"kg", Quantity::kMass, 1},
    {"g", Quantity::kMass, 1e-3},
    {"lb", Quantity::kMass, kPound},
    {"per_kg", Quantity::kInverseMass, 1},
    {"per_g", Quantity::kInverseMass, 1e3},
    {"kg_m2", Quantity::kInertia, 1},
    {"kg_cm2", Quantity::kInertia, 1e-4},
    {"kg_mm2", Quantity::kInertia, 1e-6},
    {"g_cm2", Quantity::kInertia, 1e-7},
    {"g_mm2", Quantity::kInertia, 1e-9},
    {"N", Quantity::kForce, 1},
    {"mN", Quantity::kForce, 1e-3},
    {"kN", Quantity::kForce, 1e3},
    {"N_s", Quantity::kImpulse, 1},
    {"mN_s", Quantity::kImpulse, 1e-3},
    {"kg_m_per_s", Quantity::kImpulse, 1},
    {"N_m_s", Quantity::kAngularImpulse, 1},
    {"kg_m2_per_s", Quantity::kAngularImpulse, 1},
    {"J", Quantity::kEnergy, 1},
    {"mJ", Quantity::kEnergy, 1e-3},
    {"Hz", Quantity::kFrequency, 1},
    {"kHz", Quantity::kFrequency, 1e3},
    {"per_m", Quantity::kInverseLength, 1},
    {"per_mm", Quantity::kInverseLength, 1e3},
    {"px", Quantity::kPixel, 1},
};

const Unit& FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit;
  }
  std::vector<std::string> names;
  for (const Unit& unit : kUnits) names.emplace_back(unit.name);
  const std::string nearest = NearestName(name, names);
  throw ConfigError(fmt::format("unit: found {}{}, allowed {}", Excerpt(name),
                                nearest.empty() ? "" : ", nearest is " + nearest,
                                JoinNames(names)));
}

struct ColumnMatch {
  std::size_t column = 0;
  double to_si = 1;
};

// The only column of that stem and quantity.
ColumnMatch FindColumn(const Table& table, std::string_view stem, Quantity quantity) {
  std::vector<ColumnMatch> matches;
  std::vector<std::string> same_stem;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const UnitName parts = SplitUnit(table.columns[i]);
    if (parts.stem != stem) continue;
    same_stem.push_back(table.columns[i]);
    if (parts.quantity == quantity) matches.push_back({i, parts.to_si});
  }
  if (matches.size() == 1) return matches[0];
  std::vector<std::string> allowed;
  for (const std::string& unit : UnitsOf(quantity))
    allowed.push_back(unit.empty() ? std::string(stem) : fmt::format("{}_{}", stem, unit));
  const std::string words = (allowed.size() > 1 ? "one of " : "") + JoinNames(allowed);
  if (matches.size() > 1)
    throw DataError(
        fmt::format("{}: found columns {}, allowed {}", table.path, JoinNames(same_stem), words));
  std::string hint = JoinNames(same_stem);
  if (hint.empty()) hint = NearestName(allowed.front(), table.columns);
  const std::string found =
      hint.empty() ? std::string("no such column") : fmt::format("only {}", Excerpt(hint));
  throw DataError(fmt::format(
      "{}: column of {} {}: found {}, allowed {} (the unit is part of the name); the file has {}",
      table.path, QuantityName(quantity), Excerpt(stem), found, words, JoinNames(table.columns)));
}

}  // namespace

const char* QuantityName(Quantity quantity) {
  switch (quantity) {
    case Quantity::kDimensionless:
      return "number";
    case Quantity::kLength:
      return "length";
    case Quantity::kTime:
      return "time";
    case Quantity::kAngle:
      return "angle";
    case Quantity::kVelocity:
      return "velocity";
    case Quantity::kAngularVelocity:
      return "angular velocity";
    case Quantity::kAcceleration:
      return "acceleration";
    case Quantity::kAngularAcceleration:
      return "angular acceleration";
    case Quantity::kMass:
      return "mass";
    case Quantity::kInverseMass:
      return "inverse mass";
    case Quantity::kInertia:
      return "moment of inertia";
    case Quantity::kForce:
      return "force";
    case Quantity::kImpulse:
      return "impulse";
    case Quantity::kAngularImpulse:
      return "angular impulse";
    case Quantity::kEnergy:
      return "energy";
    case Quantity::kFrequency:
      return "frequency";
    case Quantity::kInverseLength:
      return "inverse length";
    case Quantity::kPixel:
      return "pixel position";
  }
  return "number";
}

UnitName SplitUnit(std::string_view name) {
  const Unit* best = nullptr;
  for (const Unit& unit : kUnits) {
    if (name.size() < unit.name.size() + 2 || (best && best->name.size() >= unit.name.size()))
      continue;
    const std::size_t place = name.size() - unit.name.size();
    if (name[place - 1] == '_' && name.substr(place) == unit.name) best = &unit;
  }
  UnitName parts;
  parts.stem = best ? name.substr(0, name.size() - best->name.size() - 1) : name;
  const std::string& stem = parts.stem;
  const bool static_friction =
      best && best->name == "s" &&
      (stem == "mu" || (stem.size() > 3 && stem.substr(stem.size() - 3) == "_mu"));
  if (!best || static_friction) {
    parts.stem = name;
    return parts;
  }
  parts.unit = best->name;
  parts.quantity = best->quantity;
  parts.to_si = best->to_si;
  return parts;
}

double ToSi(std::string_view unit) { return FindUnit(unit).to_si; }

Quantity QuantityOf(std::string_view unit) { return FindUnit(unit).quantity; }

std::vector<std::string> UnitsOf(Quantity quantity) {
  std::vector<std::string> names;
  for (const Unit& unit : kUnits) {
    if (unit.quantity == quantity) names.emplace_back(unit.name);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

bool HasQuantity(const Table& table, std::string_view stem, Quantity quantity) {
  return std::any_of(table.columns.begin(), table.columns.end(), [&](const std::string& name) {
    const UnitName parts = SplitUnit(name);
    return parts.stem == stem && parts.quantity == quantity;
  });
}

std::vector<double> SiColumn(const Table& table, std::string_view stem, Quantity quantity) {
  const ColumnMatch match = FindColumn(table, stem, quantity);
  std::vector<double> values = table.values[match.column];
  if (match.to_si != 1) {
    for (double& value : values) value *= match.to_si;
  }
  return values;
}

std::string ColumnNameOf(const Table& table, std::string_view stem, Quantity quantity) {
  return table.columns[FindColumn(table, stem, quantity).column];
}

}  // namespace impactlab
