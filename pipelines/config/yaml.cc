#include "pipelines/config/yaml.h"

#include <fmt/format.h>

#include <cmath>

#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Vector3d;

// Keys of bodies in a plane, of those in space, or of both.
enum class Use { kBoth, kPlanar, kSpatial };
bool Applies(Use use, bool planar) { return use == Use::kBoth || (use == Use::kPlanar) == planar; }

// One key of a FrameCorrection; exactly one of the pointers is set.
struct Entry {
  const char* name;
  double* number;
  bool* flag;
  const char* meaning;
  Use use = Use::kBoth;
  Range allowed = {};
  double sign = 1;  // value in the file = sign * value here
};

std::vector<Entry> Entries(FrameCorrection& c) {
  Vector3d &turn = c.rotation_offset_B, &shift = c.com_offset_B;
  return {
      {"theta_offset_rad",
       &turn.y(),
       nullptr,
       "planar: recorded less true angle. Default: 0",
       Use::kPlanar,
       {},
       -1},
      {"rotation_offset_x_rad", &turn.x(), nullptr,
       "space: recorded less true attitude, about B_x. Default: 0", Use::kSpatial},
      {"rotation_offset_y_rad", &turn.y(), nullptr,
       "recorded less true attitude, about B_y. Default: 0", Use::kSpatial},
      {"rotation_offset_z_rad", &turn.z(), nullptr,
       "recorded less true attitude, about B_z. Default: 0", Use::kSpatial},
      {"com_offset_x_m", &shift.x(), nullptr,
       "recorded centre less centre of mass, along B_x. Default: 0"},
      {"com_offset_y_m", &shift.y(), nullptr,
       "recorded centre less centre of mass, along B_y. Default: 0", Use::kSpatial},
      {"com_offset_z_m", &shift.z(), nullptr,
       "recorded centre less centre of mass, along B_z. Default: 0"},
      {"length_scale", &c.length_scale, nullptr, "recorded lengths over true ones. Default: 1",
       Use::kBoth, Positive()},
      {"clock_rate", &c.clock_rate, nullptr, "recorded times over true ones. Default: 1",
       Use::kBoth, Positive()},
      {"mirrored", nullptr, &c.mirrored, "the recording is a mirror image"},
      {"theta_flipped", nullptr, &c.theta_flipped, "planar: theta is counted clockwise",
       Use::kPlanar},
      {"floor_offset_m", &c.floor_offset, nullptr,
       "the true floor lies so much higher than given. Default: 0"},
      {"floor_tilt_rad", &c.floor_tilt, nullptr, "the true floor is turned by so much. Default: 0",
       Use::kBoth, Open(-M_PI / 2, M_PI / 2)}};
}

}  // namespace

void VisitVector(Keys& keys, const char* key, Vector3d& value, const Range& allowed,
                 const char* meaning, Need need) {
  VisitPoint(keys, key, value, false, allowed, meaning, need);
}

void VisitPoint(Keys& keys, const char* key, Vector3d& value, bool planar, const Range& allowed,
                const char* meaning, Need need) {
  std::vector<double> v = planar ? std::vector<double>{value.x(), value.z()}
                                 : std::vector<double>{value.x(), value.y(), value.z()};
  keys.Vector(key, v, planar ? 2 : 3, allowed, meaning, need);
  value = planar ? Vector3d(v[0], 0, v[1]) : Vector3d(v[0], v[1], v[2]);
}

void VisitDirection(Keys& keys, const char* key, Vector3d& direction, bool planar,
                    const char* meaning) {
  VisitPoint(keys, key, direction, planar, {}, meaning, Need::kRequired);
  if (keys.reading() == nullptr) return;
  keys.Check(direction.norm() > 0, key, "a vector of no length", "a direction");
  direction.normalize();
}

void VisitFloor(Keys& keys, Plane& floor, bool planar) {
  keys.Map("floor",
           "the struck surface, normal . p = offset, the body on the side of the normal. With kind "
           "markers and without it: the surface of the calibration's world",
           [&](Keys& k) {
             Vector3d& n = floor.normal;
             VisitVector(k, "normal", n, {}, "out of the surface, of any length");
             k.Number("offset_m", floor.offset, {},
                      "of the plane from the origin of W, along the normal");
             const double length = n.norm();
             k.Check(length > 0, "normal", "[0, 0, 0]",
                     "a direction out of the surface, into the side of the body");
             k.Check(!planar || std::abs(n[1]) <= 1e-9 * length, "normal",
                     fmt::format("y = {}", FormatNumber(n[1])),
                     "y = 0 in planar motion, which runs in the x-z plane");
             // A unit vector stays as it is, to the last digit.
             if (k.reading() != nullptr && std::abs(length - 1) > 1e-14) n /= length;
           });
}

void VisitFlight(Keys& keys, FlightOptions& flight, bool planar) {
  Vector3d& g = flight.gravity_W;
  VisitVector(keys, "gravity_m_per_s2", g, {}, "vector in W");
  keys.Check(!planar || g[1] == 0, "gravity_m_per_s2", fmt::format("y = {}", FormatNumber(g[1])),
             "y = 0 in planar motion, which runs in the x-z plane");
  keys.Number("drag_per_m", flight.drag_per_m, NonNegative(),
              "k of quadratic drag dv/dt = g - k abs(v) v");
}

void VisitCorrection(Keys& keys, const char* key, FrameCorrection& correction, bool planar) {
  keys.Map(key, "frame errors that are known beforehand and taken out first", [&](Keys& k) {
    for (const Entry& entry : Entries(correction)) {
      if (!Applies(entry.use, planar)) continue;
      if (entry.flag != nullptr) {
        k.Flag(entry.name, *entry.flag, entry.meaning);
        continue;
      }
      double value = *entry.number == 0 ? 0 : entry.sign * *entry.number;  // never -0
      k.Stated(true).Number(entry.name, value, entry.allowed, entry.meaning);
      *entry.number = value == 0 ? 0 : entry.sign * value;
    }
  });
}

void VisitColumns(Keys& keys, PoseColumns& columns) {
  if (keys.reading() == nullptr && columns.names.empty()) return;
  struct Column {
    const char* name;
    const char* meaning;
    Use use = Use::kBoth;
  };
  static constexpr Column kColumns[] = {
      {"t", "time"},
      {"x", "place of the centre of mass along W_x"},
      {"y", "space: place of the centre of mass along W_y", Use::kSpatial},
      {"z", "place of the centre of mass along W_z, upwards"},
      {"theta",
       "planar: angle, counter-clockwise seen with x right and z up; `none` "
       "where the files follow the centre alone",
       Use::kPlanar},
      {"qw",
       "space: scalar of the unit quaternion, body to world; `none` where "
       "the files follow the centre alone",
       Use::kSpatial},
      {"qx", "space: x of the quaternion", Use::kSpatial},
      {"qy", "space: y of the quaternion", Use::kSpatial},
      {"qz", "space: z of the quaternion", Use::kSpatial}};
  keys.Map("columns",
           "Poses: our name of a column and the name in the files; a name there that ends in a "
           "unit (or a space and a unit) is in that unit.",
           [&](Keys& k) {
             if (k.reading() == nullptr) {
               for (auto& [name, column] : columns.names) k.Text(name.c_str(), column, "");
               return;
             }
             for (const auto& [name, meaning, use] : kColumns) {
               if (!Applies(use, columns.planar)) continue;
               std::string column;
               k.Stated(true).Text(name, column, meaning);
               if (!column.empty()) columns.names[name] = column;
             }
           });
}

void VisitProvenance(Keys& keys) {
  keys.Read("provenance", "of a run.yaml: where a result came from; changes nothing",
            [](const YamlNode& node, const char* key) { node.Has(key); });
}

std::vector<std::string> CorrectionNames() {
  FrameCorrection any;
  std::vector<std::string> names;
  for (const Entry& entry : Entries(any)) names.emplace_back(entry.name);
  return names;
}

std::string YamlWord(int level, std::string_view key, std::string_view plain_text) {
  return fmt::format("{:{}}{}: {}\n", "", 2 * level, key, plain_text);
}

std::string YamlLine(int level, std::string_view key, double value) {
  return YamlWord(level, key, FormatNumber(value));
}

std::string Bracketed(const std::vector<double>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const double value : values) words.push_back(FormatNumber(value));
  return "[" + JoinNames(words) + "]";
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(YamlQuote(text));
  return "[" + JoinNames(quoted) + "]";
}

std::string YamlLine(int level, std::string_view key, const std::vector<double>& values) {
  return YamlWord(level, key, Bracketed(values));
}

std::string FloorYaml(const Plane& floor) {
  Plane copy = floor;
  Keys keys(0);
  VisitFloor(keys, copy, false);
  return keys.text();
}

std::string FlightYaml(const FlightOptions& flight) {
  FlightOptions copy = flight;
  Keys keys(0);
  VisitFlight(keys, copy, false);
  return keys.text();
}

}  // namespace impactlab::pipelines
