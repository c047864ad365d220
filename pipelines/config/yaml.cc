#include "pipelines/config/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

struct ShapeName {
  BodyShape shape;
  const char* name;
};
constexpr ShapeName kShapes[] = {
    {BodyShape::kBox, "box"},           {BodyShape::kRod, "rod"},
    {BodyShape::kBall, "ball"},         {BodyShape::kEllipsoid, "ellipsoid"},
    {BodyShape::kPolytope, "polytope"}, {BodyShape::kPoints, "points"}};

// A key that takes one number or a list of one of the lengths in `sizes`.
std::vector<double> NumberOrList(const YamlNode& node, const std::string& key,
                                 const std::vector<std::size_t>& sizes, const Range& allowed) {
  std::vector<double> values;
  try {
    values = node.Vector(key, -1, allowed);
  } catch (const ConfigError& fault) {
    // a list with a bad entry
    if (std::string_view(fault.what()).find(key + "[") != std::string_view::npos) throw;
    return {node.Number(key, allowed)};
  }
  std::string words = "one number";
  for (const std::size_t size : sizes) {
    if (values.size() == size) return values;
    words += fmt::format(" or a list of {}", size);
  }
  throw node.Fault(key, fmt::format("a list of {}", values.size()), words);
}

Matrix3d FromSix(const std::vector<double>& v) {
  Matrix3d m;
  m << v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5];
  return m;
}

// Inertia as the file gives it; empty where it leaves it to the shape.
std::optional<Matrix3d> ParseInertia(const YamlNode& node, double mass, bool mass_known,
                                     bool planar) {
  const char* const kKeys[] = {"inertia_kg_m2", "inertia_per_mass_m2", "gyration_radius_m"};
  std::string given;
  for (const char* key : kKeys) {
    if (!node.Has(key)) continue;
    if (!given.empty())
      throw node.Fault(key, given + " as well",
                       "one of inertia_kg_m2, inertia_per_mass_m2 and gyration_radius_m");
    given = key;
  }
  if (given.empty()) return std::nullopt;
  if (given == "inertia_kg_m2" && !mass_known) {
    throw node.Fault(given, "an inertia without mass_kg",
                     "mass_kg beside it, or gyration_radius_m where the mass is not known");
  }
  const bool radius = given == "gyration_radius_m";
  const std::vector<std::size_t> sizes = planar   ? std::vector<std::size_t>{}
                                         : radius ? std::vector<std::size_t>{3}
                                                  : std::vector<std::size_t>{3, 6};
  std::vector<double> v = NumberOrList(node, given, sizes, planar || radius ? Positive() : Range());
  const double factor = given == "inertia_kg_m2" ? 1 : mass;
  for (double& x : v) x = radius ? factor * x * x : factor * x;
  if (v.size() == 6) return FromSix(v);
  if (v.size() == 1) v.assign(3, v[0]);
  return Matrix3d(Vector3d(v[0], v[1], v[2]).asDiagonal());
}

// Sizes along the axes: `one` holds a single number for all of them, `many` a list.
Vector3d ParseAxes(const YamlNode& node, const char* one, const char* many, bool planar) {
  if (one != nullptr && node.Has(one)) {
    if (node.Has(many))
      throw node.Fault(many, fmt::format("{} as well", one),
                       fmt::format("one of {} and {}", one, many));
    const double a = node.Number(one, Positive());
    return {a, planar ? 0 : a, a};
  }
  if (one != nullptr && !node.Has(many))
    throw node.Fault(many, "nothing", fmt::format("{} or {} (one is required)", one, many));
  const std::vector<double> v = node.Vector(many, planar ? 2 : 3, Positive());
  return planar ? Vector3d(v[0], 0, v[1]) : Vector3d(v[0], v[1], v[2]);
}

std::vector<Vector3d> ParseVertices(const YamlNode& node, bool planar) {
  std::vector<Vector3d> points;
  for (const auto& v : node.Vectors("vertices_m", planar ? 2 : 3))
    points.push_back(planar ? Vector3d(v[0], 0, v[1]) : Vector3d(v[0], v[1], v[2]));
  return points;
}

// Polytope whose vertices stand about the centre of mass as given. Points that are no corner are
// left out.
Body PolytopeAsGiven(const std::vector<Vector3d>& points, double mass, bool planar,
                     double corner_radius) {
  Body body = MakePolytope(points, mass, planar, corner_radius);
  // MakePolytope moves the points to the centre of the solid. The farthest point along an odd
  // direction is the same corner in both sets and gives the shift, with which each corner finds the
  // point it was given as.
  const auto farthest = [](const std::vector<Vector3d>& set) {
    const Vector3d odd(0.3819660, 0.2360680, 0.8934321);
    return *std::max_element(set.begin(), set.end(), [&](const Vector3d& a, const Vector3d& b) {
      return odd.dot(a) < odd.dot(b);
    });
  };
  const Vector3d shift = farthest(points) - farthest(body.points_B);
  for (Vector3d& b : body.points_B) {
    const Vector3d there = b + shift;
    b = *std::min_element(points.begin(), points.end(), [&](const Vector3d& p, const Vector3d& q) {
      return (p - there).squaredNorm() < (q - there).squaredNorm();
    });
  }
  return body;
}

Body ParseShape(const YamlNode& node, BodyShape shape, double mass, bool planar,
                const std::optional<Matrix3d>& inertia) {
  const auto corner_radius = [&] { return node.Number("corner_radius_m", 0.0, NonNegative()); };
  switch (shape) {
    case BodyShape::kBox:
      return MakeBox(ParseAxes(node, "side_m", "sides_m", planar), mass, planar, corner_radius());
    case BodyShape::kRod: {
      const double length = node.Number("length_m", Positive());
      return MakeRod(length, node.Number("radius_m", Positive()), mass, planar);
    }
    case BodyShape::kBall:
      return MakeBall(node.Number("radius_m", Positive()), mass, planar);
    case BodyShape::kEllipsoid:
      return MakeEllipsoid(ParseAxes(node, nullptr, "semi_axes_m", planar), mass, planar);
    case BodyShape::kPolytope: {
      std::vector<Vector3d> points = ParseVertices(node, planar);
      const double rho = corner_radius();
      const std::string origin =
          node.Choice("vertices_about", inertia ? "centre_of_mass" : "solid_centre",
                      {"centre_of_mass", "solid_centre"});
      if (origin == "centre_of_mass") {
        if (!inertia)
          throw node.Fault("vertices_about", "centre_of_mass without an inertia",
                           "solid_centre, or the inertia about that centre");
        return PolytopeAsGiven(points, mass, planar, rho);
      }
      // The uniform solid's centre is the origin, once and for all: what is written to a file
      // stands about it.
      const Body uniform = MakePolytope(std::move(points), mass, planar, rho);
      Body body = PolytopeAsGiven(uniform.points_B, mass, planar, rho);
      body.inertia_B = uniform.inertia_B;
      return body;
    }
    case BodyShape::kPoints:
      if (!inertia)
        throw node.Fault("shape", "points without an inertia",
                         "inertia_kg_m2, inertia_per_mass_m2 or gyration_radius_m beside it");
      return MakePoints(ParseVertices(node, planar), mass, *inertia, planar);
  }
  return {};
}

std::vector<double> Components(const Vector3d& v) { return {v.x(), v.y(), v.z()}; }

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

Body ParseBody(const YamlNode& node, bool planar) {
  std::vector<std::string> names;
  for (const ShapeName& s : kShapes) names.emplace_back(s.name);
  const std::string word = node.Choice("shape", names);
  BodyShape shape = BodyShape::kBox;
  for (const ShapeName& s : kShapes) {
    if (word == s.name) shape = s.shape;
  }
  const bool mass_known = node.Has("mass_kg");
  const double mass = mass_known ? node.Number("mass_kg", Positive()) : 1;
  Body body;
  try {
    const std::optional<Matrix3d> inertia = ParseInertia(node, mass, mass_known, planar);
    body = ParseShape(node, shape, mass, planar, inertia);
    if (inertia) body.inertia_B = *inertia;
    // Only the yy entry moves a planar body; one number then says all.
    if (planar) body.inertia_B = body.inertia_B(1, 1) * Matrix3d::Identity();
    body.mass_known = mass_known;
    CheckBody(body);
  } catch (const ConfigError& fault) {
    // The impact room does not know the file: "body 'box': corner_radius_m: found ..." becomes
    // "file:line: body.corner_radius_m: found
    // ...".
    std::string_view rest = fault.what();
    if (rest.substr(0, node.File().string().size()) == node.File().string()) throw;
    if (const std::size_t start = rest.find("': ");
        rest.substr(0, 6) == "body '" && start != rest.npos)
      rest.remove_prefix(start + 3);
    std::string key(rest.substr(0, rest.find_first_of(": ")));
    if (key == "vertices") key = "vertices_m";
    for (const char* other : {"inertia_per_mass_m2", "gyration_radius_m"}) {
      if (key == "inertia_kg_m2" && !node.Has(key) && node.Has(other)) key = other;
    }
    throw ConfigError(fmt::format("{}: {}", node.Where(node.Has(key) ? key : "shape"),
                                  node.FullName(std::string(rest))));
  }
  body.name = node.Text("name", word);
  return body;
}

void VisitFloor(Keys& keys, Plane& floor, bool planar) {
  keys.Map("floor",
           "the struck surface, normal . p = offset, the body on the side of the normal. With kind "
           "markers and without it: the surface of the calibration's world",
           [&](Keys& k) {
             std::vector<double> n = Components(floor.normal);
             k.Vector("normal", n, 3, {}, "out of the surface, of any length");
             k.Number("offset_m", floor.offset, {},
                      "of the plane from the origin of W, along the normal");
             floor.normal = Vector3d(n[0], n[1], n[2]);
             const double length = floor.normal.norm();
             k.Check(length > 0, "normal", "[0, 0, 0]",
                     "a direction out of the surface, into the side of the body");
             k.Check(!planar || std::abs(n[1]) <= 1e-9 * length, "normal",
                     fmt::format("y = {}", FormatNumber(n[1])),
                     "y = 0 in planar motion, which runs in the x-z plane");
             // A unit vector stays as it is, to the last digit.
             if (k.reading() != nullptr && std::abs(length - 1) > 1e-14) floor.normal /= length;
           });
}

void VisitFlight(Keys& keys, FlightOptions& flight, bool planar) {
  std::vector<double> g = Components(flight.gravity_W);
  keys.Vector("gravity_m_per_s2", g, 3, {},
              "vector in W. Default: [0, 0, -9.80665]; with kind markers 9.80665 along the gravity "
              "of the rig");
  flight.gravity_W = Vector3d(g[0], g[1], g[2]);
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

Plane ParseFloor(const YamlNode& root, bool planar) {
  Plane floor;
  Keys keys(root);
  VisitFloor(keys, floor, planar);
  return floor;
}

FlightOptions ParseFlight(const YamlNode& root, bool planar) {
  FlightOptions flight;
  Keys keys(root);
  VisitFlight(keys, flight, planar);
  return flight;
}

FrameCorrection ParseCorrection(const YamlNode& root, const char* key, bool planar) {
  FrameCorrection correction;
  Keys keys(root);
  VisitCorrection(keys, key, correction, planar);
  return correction;
}

void VisitColumns(Keys& keys, PoseColumns& columns) {
  if (keys.reading() == nullptr && columns.names.empty()) return;
  struct Column {
    const char* name;
    const char* meaning;
    Use use = Use::kBoth;
  };
  const Column kColumns[] = {{"t", "time"},
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
  for (const double value : values) words.push_back(FormatNumber(value));
  return "[" + JoinNames(words) + "]";
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(YamlQuote(text));
  return "[" + JoinNames(quoted) + "]";
}

std::string YamlLine(int level, std::string_view key, const std::vector<double>& values) {
  return YamlWord(level, key, Bracketed(values));
}

std::string BodyYaml(const Body& body) {
  std::string out = "body:\n";
  out += YamlWord(1, "name", YamlQuote(body.name));
  for (const ShapeName& s : kShapes) {
    if (s.shape == body.shape) out += YamlWord(1, "shape", s.name);
  }
  const auto axes = [&](const Vector3d& v) {
    return body.planar ? std::vector<double>{v.x(), v.z()} : Components(v);
  };
  switch (body.shape) {
    case BodyShape::kBox:
      out += YamlLine(1, "sides_m", axes(2 * body.half_extents));
      break;
    case BodyShape::kRod:
      out += YamlLine(1, "length_m", 2 * body.half_length) + YamlLine(1, "radius_m", body.radius);
      break;
    case BodyShape::kBall:
      out += YamlLine(1, "radius_m", body.radius);
      break;
    case BodyShape::kEllipsoid:
      out += YamlLine(1, "semi_axes_m", axes(body.half_extents));
      break;
    case BodyShape::kPolytope:
    case BodyShape::kPoints:
      out += "  vertices_m:\n";
      for (const Vector3d& p : body.points_B) {
        std::vector<std::string> words;
        for (const double x : axes(p)) words.push_back(FormatNumber(x));
        out += "    - [" + JoinNames(words) + "]\n";
      }
      if (body.shape == BodyShape::kPolytope)
        out += YamlWord(1, "vertices_about", "centre_of_mass");
      break;
  }
  if (body.shape == BodyShape::kBox || body.shape == BodyShape::kPolytope)
    out += YamlLine(1, "corner_radius_m", body.corner_radius);
  if (body.mass_known) out += YamlLine(1, "mass_kg", body.mass);
  // An unknown mass stands as 1 kg, so that inertia and inertia per mass are the same number.
  const char* key = body.mass_known ? "inertia_kg_m2" : "inertia_per_mass_m2";
  const Matrix3d& I = body.inertia_B;
  if (body.planar) {
    out += YamlLine(1, key, I(1, 1));
  } else if (I(0, 1) == 0 && I(0, 2) == 0 && I(1, 2) == 0) {
    out += YamlLine(1, key, std::vector<double>{I(0, 0), I(1, 1), I(2, 2)});
  } else {
    out +=
        YamlLine(1, key, std::vector<double>{I(0, 0), I(0, 1), I(0, 2), I(1, 1), I(1, 2), I(2, 2)});
  }
  return out;
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

std::string CorrectionYaml(const char* key, const FrameCorrection& correction, bool planar) {
  FrameCorrection copy = correction;
  Keys keys(0);
  VisitCorrection(keys, key, copy, planar);
  return keys.text();
}

}  // namespace impactlab::pipelines
