#pragma once
// Parameter maps of single impacts: one or two parameters of a body's state and of the law on a
// grid, every point solved and certified.
//
// The body meets level ground with one point. Its lever runs from the centre of mass to that point,
// r = -L (sin lean cos azimuth, sin lean sin azimuth, cos lean): at lean 0 the centre stands above
// the contact, a positive lean tips it towards x. In space B_z lies along the line from the contact
// to the centre and B_x in the plane of the lean. File: schema impactlab.map/1, see data/README.md.

#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "impact/law/law_table.h"

namespace impactlab {

// What a map can vary or fix. In a plane y and omega_x, omega_z do not count and theta_dot is the
// spin; in space theta_dot does not.
enum class MapParameter {
  kLean,
  kAzimuth,
  kVx,
  kVy,
  kVz,  // of the centre of mass
  kContactVx,
  kContactVy,
  kContactVz,  // of the contact point: replaces the centre's
  kThetaDot,
  kOmegaX,
  kOmegaY,
  kOmegaZ,
  kE,
  kMuK,
  kMuSOverMuK,
  kEt,
  kImpulseRatio,  // J_t / J_n, of the law "ratio"
  kCount
};
inline constexpr int kMapParameters = static_cast<int>(MapParameter::kCount);
// "lean_rad", "v_x_m_per_s", ..., in the order of the enumeration
const std::vector<std::string>& MapParameterNames();

struct MapAxis {
  std::string label;          // for pictures, with its unit: "β [rad]"
  std::vector<double> shown;  // values as the source counts them
  MapParameter parameter = MapParameter::kLean;
  double offset = 0, factor = 1;  // parameter = offset + factor * shown
  double Value(double s) const { return offset + factor * s; }
};

// What a source says of a map, so that it can be held against what we get.
struct MapStatement {
  enum class Kind {
    kChange,    // the case changes from `from` to `to` at x = `printed`
    kCases,     // cases along x, in order
    kMaximum,   // largest `quantity`, and where
    kMinimum,   // least `quantity`, and where
    kInside,    // the largest or least `quantity` lies inside a box
    kPresent,   // exactly these cases are on the map
    kNegative,  // `quantity` falls below zero somewhere
    kSymmetric  // mirrored in x or y the quantity is the same
  };
  Kind kind = Kind::kChange;
  std::string says;                // in words, with the place in the source
  std::string note;                // why we differ, where we do
  std::string law;                 // empty: the first
  std::string from, to;            // kChange: case digits
  std::vector<std::string> cases;  // kCases, kPresent: digits
  std::string quantity;            // kMaximum, kMinimum, kInside, kNegative, kSymmetric
  double printed = std::numeric_limits<double>::quiet_NaN(), tolerance = 0;
  // row of a map that kChange and kCases speak of
  double y = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x_box, y_box;  // kMaximum, kMinimum, kInside: where
  bool least = false;                // kInside: the least one
  char axis = 'x';                   // kSymmetric
};

struct MapSweep {
  std::filesystem::path path;
  // title; "Sun 2017, Fig. 3.17"; what the source leaves open and we chose
  std::string name, figure, assumptions;
  double mass = 1, lever = 1;
  bool planar = true;
  // about B_x, B_y, B_z [kg m^2]; planar: the y entry
  Eigen::Vector3d inertia = Eigen::Vector3d::Ones();
  std::array<double, kMapParameters> fixed{};
  bool contact_velocity = false;  // the contact point's velocity is given, not the centre's
  std::vector<std::string> laws;
  MapAxis x;
  std::optional<MapAxis> y;           // without: a scan
  std::vector<std::string> pictures;  // "case" and names of MapQuantities()
  std::vector<MapStatement> statements;
};

// Throws ConfigError.
MapSweep LoadMapSweep(const std::filesystem::path& path);

struct MapQuantity {
  std::string name;   // column, with its unit
  std::string label;  // for pictures
  bool is_signed = false;
};
// dissipation, v_plus_x_m_per_s ..., omega_plus_*, theta_dot_plus_rad_per_s, contact_v_plus_*, J_*,
// turn_rad, in the order of MapPoint::values.
const std::vector<MapQuantity>& MapQuantities();
int QuantityIndex(const std::string& name);  // -1 where there is none

struct MapPoint {
  SolveStatus status = SolveStatus::kOk;
  std::string course;  // case code, or what bounds the impulse; "-" where nothing approaches
  std::string failed;  // checks of the certificate that failed
  std::array<double, 14> values{};
};

// One point; parameters as in `sweep.fixed` with the axes' values put in.
MapPoint EvaluateMapPoint(const MapSweep& sweep, const std::string& law, double x, double y);

struct ImpactMap {
  MapSweep sweep;
  std::vector<std::vector<MapPoint>> points;  // [law][iy * n_x + ix]
  std::size_t nx() const { return sweep.x.shown.size(); }
  std::size_t ny() const { return sweep.y ? sweep.y->shown.size() : 1; }
  const MapPoint& At(std::size_t law, std::size_t ix, std::size_t iy) const {
    return points[law][iy * nx() + ix];
  }
  // Share of points whose certificate holds but for the energy of laws that may gain it, and number
  // of those that gain.
  std::size_t faults = 0, gains = 0;
};

// Rows in parallel over `threads` (0: one a core); `advance` is called after each; what
// it throws ends the work.
ImpactMap ComputeMap(const MapSweep& sweep, int threads, const std::function<void()>& advance);

void WriteMapCsv(const std::filesystem::path& path, const ImpactMap& map);

struct StatementResult {
  std::string found;    // in words
  bool decided = true;  // false: nothing to compare
  bool agrees = false;
};
StatementResult CheckStatement(const ImpactMap& map, const MapStatement& statement);

// Pictures as SVG that stands alone: "case" or a quantity, of one law. Scans draw all laws in one.
std::string MapSvg(const ImpactMap& map, const std::string& picture, std::size_t law);

// Gallery of all maps with what the sources say beside what we get.
void WriteMapGallery(const std::filesystem::path& path, const std::vector<ImpactMap>& maps);

}  // namespace impactlab
