#pragma once
// Units of columns and keys. A name carries its unit as its last part: x_mm, theta_deg,
// v_x_m_per_s, inertia_kg_m2.
//
// A factor converts to SI and radians: value_si = factor * value. Dimensionless names carry none
// (e_star, mu_k, qw); mu_s is dimensionless, its s means static.

#include <string>
#include <string_view>
#include <vector>

#include "data/files/table.h"

namespace impactlab {

enum class Quantity {
  kDimensionless,
  kLength,
  kTime,
  kAngle,
  kVelocity,
  kAngularVelocity,
  kAcceleration,
  kAngularAcceleration,
  kMass,
  kInverseMass,
  kInertia,
  kForce,
  kImpulse,
  kAngularImpulse,
  kEnergy,
  kFrequency,
  kInverseLength,
  kPixel
};
// Name for messages: "length", "angular velocity", ...
const char* QuantityName(Quantity quantity);

// A column name taken apart: "v_x_mm_per_s" is stem "v_x", unit "mm_per_s". A name without a known
// unit is all stem, dimensionless, factor 1.
struct UnitName {
  std::string stem;
  std::string unit;
  Quantity quantity = Quantity::kDimensionless;
  double to_si = 1;
};
UnitName SplitUnit(std::string_view name);

// Factor to SI of a unit such as "mm" or "deg_per_s"; ConfigError that names the nearest unit for
// one that is not known.
double ToSi(std::string_view unit);
Quantity QuantityOf(std::string_view unit);
// Units of a quantity, the SI unit first.
std::vector<std::string> UnitsOf(Quantity quantity);

// True when the table has a column `stem` in some unit of `quantity`.
bool HasQuantity(const Table& table, std::string_view stem, Quantity quantity);

// The column `stem` in SI, whatever unit its header names: stem "x" and a length read x_m, x_mm,
// x_in, ... DataError when there is none (a column without unit or with another quantity's unit is
// named) or more than one.
std::vector<double> SiColumn(const Table& table, std::string_view stem, Quantity quantity);

// Name of that column in the file, e.g. "x_mm", for messages.
std::string ColumnNameOf(const Table& table, std::string_view stem, Quantity quantity);

}  // namespace impactlab
