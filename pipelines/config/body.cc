// Keys of a body, and the body they describe.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/files/text.h"
#include "impact/body/inertia_bounds.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// What the word of a file stands for: a solid, or in planar motion a plate of that outline.
struct Outline {
  BodyShape shape = BodyShape::kBox;
  bool flat = false;
  bool operator==(const Outline&) const = default;
};
constexpr EnumWord<Outline> kOutlines[] = {{{BodyShape::kBox}, "box"},
                                           {{BodyShape::kRod}, "rod"},
                                           {{BodyShape::kBall}, "ball"},
                                           {{BodyShape::kEllipsoid}, "ellipsoid"},
                                           {{BodyShape::kPolytope}, "polytope"},
                                           {{BodyShape::kPoints}, "points"},
                                           {{BodyShape::kBox, true}, "plate"},
                                           {{BodyShape::kBall, true}, "disc"},
                                           {{BodyShape::kEllipsoid, true}, "ellipse"}};

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

// What a file says of a body.
struct BodyForm {
  std::string name;
  Outline outline;
  bool mass_known = false;
  double mass = 1;
  Vector3d axes = Vector3d::Zero();  // sides, or semi-axes
  double length = 0, radius = 0, corner_radius = 0;
  std::vector<std::vector<double>> vertices;  // planar: [x, z]
  bool about_mass_centre = false;
  std::optional<Matrix3d> inertia;
};

// Ways to give an inertia, of which one is written: the first of a known mass, else the second.
struct InertiaKey {
  const char* name;
  const char* meaning;
};
constexpr InertiaKey kInertias[] = {
    {"inertia_kg_m2",
     "about the centre of mass: one number, in space also three, or six (xx, xy, xz, yy, yz, zz); "
     "this, inertia_per_mass_m2 or gyration_radius_m. Default: uniform solid"},
    {"inertia_per_mass_m2", "in place of inertia_kg_m2, where the mass is not known"},
    {"gyration_radius_m",
     "in place of an inertia, where the mass is not known: one number, in space three, about the "
     "axes of B"}};

// Inertia as the file gives it; empty where it leaves it to the shape.
std::optional<Matrix3d> ReadInertia(const YamlNode& node, const BodyForm& form, bool planar) {
  const InertiaKey* given = nullptr;
  for (const InertiaKey& way : kInertias) {
    if (!node.Has(way.name)) continue;
    if (given != nullptr)
      throw node.Fault(way.name, std::string(given->name) + " as well",
                       fmt::format("one of {}, {} and {}", kInertias[0].name, kInertias[1].name,
                                   kInertias[2].name));
    given = &way;
  }
  if (given == nullptr) return std::nullopt;
  const bool absolute = given == &kInertias[0], radius = given == &kInertias[2];
  if (absolute && !form.mass_known) {
    throw node.Fault(
        given->name, "an inertia without mass_kg",
        fmt::format("mass_kg beside it, or {} where the mass is not known", kInertias[2].name));
  }
  const std::vector<std::size_t> sizes = planar   ? std::vector<std::size_t>{}
                                         : radius ? std::vector<std::size_t>{3}
                                                  : std::vector<std::size_t>{3, 6};
  std::vector<double> v =
      NumberOrList(node, given->name, sizes, planar || radius ? Positive() : Range());
  const double factor = absolute ? 1 : form.mass;
  for (double& x : v) x = radius ? factor * x * x : factor * x;
  if (v.size() == 6) return FromSix(v);
  if (v.size() == 1) v.assign(3, v[0]);
  return Matrix3d(Vector3d(v[0], v[1], v[2]).asDiagonal());
}

std::string InertiaText(const Matrix3d& I, bool planar) {
  if (planar) return FormatNumber(I(1, 1));
  if (I(0, 1) == 0 && I(0, 2) == 0 && I(1, 2) == 0) return Bracketed({I(0, 0), I(1, 1), I(2, 2)});
  return Bracketed({I(0, 0), I(0, 1), I(0, 2), I(1, 1), I(1, 2), I(2, 2)});
}

void VisitInertia(Keys& keys, BodyForm& form, bool planar) {
  for (const InertiaKey& way : kInertias)
    keys.Custom(
        way.name, way.meaning,
        [&](const YamlNode& node, const char*) {
          if (&way == &kInertias[0]) form.inertia = ReadInertia(node, form, planar);
        },
        // An unknown mass stands as 1 kg, so that inertia and inertia per mass are the same number.
        [&] {
          return &way == &kInertias[form.mass_known ? 0 : 1] ? InertiaText(*form.inertia, planar)
                                                             : std::string();
        });
}

// Sides of a box along its axes, one number for all of them or a list.
void VisitSides(Keys& keys, BodyForm& form, bool planar) {
  const char* const one = "side_m";
  const char* const many = "sides_m";
  const char* const of_one = "box, plate: one side for all; or sides_m";
  if (const YamlNode* node = keys.reading()) {
    if (node->Has(one)) {
      keys.Check(!node->Has(many), many, fmt::format("{} as well", one),
                 fmt::format("one of {} and {}", one, many));
      double side = 0;
      keys.Number(one, side, Positive(), of_one, Need::kRequired);
      form.axes = {side, planar ? 0 : side, side};
      return;
    }
    keys.Check(node->Has(many), many, "nothing",
               fmt::format("{} or {} (one is required)", one, many));
  }
  VisitPoint(keys, many, form.axes, planar, Positive(), "box, plate: all sides; planar: x, z",
             Need::kRequired);
}

void VisitVertices(Keys& keys, BodyForm& form, bool planar) {
  keys.Vectors("vertices_m", form.vertices, planar ? 2 : 3, {}, Style::kLines,
               "polytope, points: corners in B; planar: [x, z]", Need::kRequired);
}

// What the form of the body needs, after the inertia, which may stand in for it.
void VisitSizes(Keys& keys, BodyForm& form, bool planar) {
  const auto radius = [&] {
    keys.Number("radius_m", form.radius, Positive(), "ball, disc, rod (of its caps)",
                Need::kRequired);
  };
  const auto corner_radius = [&] {
    keys.Number("corner_radius_m", form.corner_radius, NonNegative(),
                "box, polytope: rounding inside the outline");
  };
  switch (form.outline.shape) {
    case BodyShape::kBox:
      VisitSides(keys, form, planar);
      return corner_radius();
    case BodyShape::kRod:
      keys.Number("length_m", form.length, Positive(), "rod: to the tips of its caps",
                  Need::kRequired);
      return radius();
    case BodyShape::kBall:
      return radius();
    case BodyShape::kEllipsoid:
      return VisitPoint(keys, "semi_axes_m", form.axes, planar, Positive(),
                        "ellipsoid, ellipse; planar: x, z", Need::kRequired);
    case BodyShape::kPolytope: {
      constexpr EnumWord<bool> kOrigins[] = {{true, "centre_of_mass"}, {false, "solid_centre"}};
      VisitVertices(keys, form, planar);
      corner_radius();
      form.about_mass_centre = form.inertia.has_value();
      keys.Word("vertices_about", form.about_mass_centre, kOrigins,
                "polytope: what the vertices are counted from. Default: centre_of_mass where an "
                "inertia is given, else solid_centre");
      keys.Check(!form.about_mass_centre || form.inertia, "vertices_about",
                 "centre_of_mass without an inertia",
                 "solid_centre, or the inertia about that centre");
      keys.WriteOrder({"vertices_about", "corner_radius_m"});
      return;
    }
    case BodyShape::kPoints:
      keys.Check(form.inertia.has_value(), "shape", "points without an inertia",
                 fmt::format("{}, {} or {} beside it", kInertias[0].name, kInertias[1].name,
                             kInertias[2].name));
      VisitVertices(keys, form, planar);
  }
}

void VisitForm(Keys& keys, BodyForm& form, bool planar) {
  keys.Word("shape", form.outline, kOutlines,
            "its form; a rod lies along x of B in a plane, along z of B in space; plate, disc and "
            "ellipse are flat bodies in a plane, where ball and ellipsoid are solids",
            Need::kRequired);
  keys.Check(planar || !form.outline.flat, "shape", "a flat body in space",
             "plate, disc and ellipse in planar motion; box, ball, ellipsoid or polytope in space");
  if (const YamlNode* node = keys.reading()) {
    form.mass_known = node->Has("mass_kg");
    for (const auto& [outline, word] : kOutlines)
      if (outline == form.outline) form.name = word;
  }
  keys.Stated(form.mass_known)
      .Number("mass_kg", form.mass, Positive(),
              "may be left out, because mu and e do not depend on it: 1 kg stands for it. Required "
              "with second_body");
  VisitInertia(keys, form, planar);
  VisitSizes(keys, form, planar);
  keys.Text("name", form.name, "for messages. Default: the shape");
  keys.WriteOrder({"name", "shape", "sides_m", "length_m", "radius_m", "semi_axes_m", "vertices_m",
                   "vertices_about", "corner_radius_m", "mass_kg", kInertias[0].name,
                   kInertias[1].name});
}

std::vector<Vector3d> Points(const std::vector<std::vector<double>>& rows, bool planar) {
  std::vector<Vector3d> points;
  points.reserve(rows.size());
  for (const std::vector<double>& v : rows)
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

Body BodyOf(const BodyForm& form, bool planar) {
  switch (form.outline.shape) {
    case BodyShape::kBox: {
      Body box = MakeBox(form.axes, form.mass, planar, form.corner_radius);
      box.flat = form.outline.flat;
      return box;
    }
    case BodyShape::kRod:
      return MakeRod(form.length, form.radius, form.mass, planar);
    case BodyShape::kBall:
      return form.outline.flat ? MakeDisc(form.radius, form.mass)
                               : MakeBall(form.radius, form.mass, planar);
    case BodyShape::kEllipsoid:
      return form.outline.flat ? MakeEllipse({form.axes.x(), form.axes.z()}, form.mass)
                               : MakeEllipsoid(form.axes, form.mass, planar);
    case BodyShape::kPolytope: {
      const std::vector<Vector3d> points = Points(form.vertices, planar);
      if (form.about_mass_centre)
        return PolytopeAsGiven(points, form.mass, planar, form.corner_radius);
      // The uniform solid's centre is the origin, once and for all: what is written to a file
      // stands about it.
      const Body uniform = MakePolytope(points, form.mass, planar, form.corner_radius);
      Body body = PolytopeAsGiven(uniform.points_B, form.mass, planar, form.corner_radius);
      body.inertia_B = uniform.inertia_B;
      return body;
    }
    case BodyShape::kPoints:
      return MakePoints(Points(form.vertices, planar), form.mass, *form.inertia, planar);
  }
  return {};
}

BodyForm FormOf(const Body& body) {
  BodyForm form;
  form.name = body.name;
  form.outline = {body.shape, body.flat};
  form.mass_known = body.mass_known;
  form.mass = body.mass;
  form.axes = (body.shape == BodyShape::kBox ? 2 : 1) * body.half_extents;
  form.length = 2 * body.half_length;
  form.radius = body.radius;
  form.corner_radius = body.corner_radius;
  for (const Vector3d& p : body.points_B)
    form.vertices.push_back(body.planar ? std::vector<double>{p.x(), p.z()}
                                        : std::vector<double>{p.x(), p.y(), p.z()});
  form.inertia = body.inertia_B;
  return form;
}

}  // namespace

void VisitBody(Keys& keys, Body& body, bool planar) {
  const YamlNode* const node = keys.reading();
  if (node == nullptr) {
    BodyForm form = FormOf(body);
    return VisitForm(keys, form, body.planar);
  }
  BodyForm form;
  try {
    VisitForm(keys, form, planar);
    body = BodyOf(form, planar);
    if (form.inertia) body.inertia_B = *form.inertia;
    // Only the yy entry moves a planar body; one number then says all.
    if (planar) body.inertia_B = body.inertia_B(1, 1) * Matrix3d::Identity();
    body.mass_known = form.mass_known;
    CheckBody(body);
    CheckInertiaInOutline(body);
  } catch (const ConfigError& fault) {
    // The impact room does not know the file: "body 'box': corner_radius_m: found ..." becomes
    // "file:line: body.corner_radius_m: found
    // ...".
    std::string_view rest = fault.what();
    if (rest.substr(0, node->File().string().size()) == node->File().string()) throw;
    if (const std::size_t start = rest.find("': ");
        rest.substr(0, 6) == "body '" && start != rest.npos)
      rest.remove_prefix(start + 3);
    std::string key(rest.substr(0, rest.find_first_of(": ")));
    if (key == "vertices") key = "vertices_m";
    for (const InertiaKey& other : kInertias) {
      if (key == kInertias[0].name && !node->Has(key) && node->Has(other.name)) key = other.name;
    }
    throw ConfigError(fmt::format("{}: {}", node->Where(node->Has(key) ? key : "shape"),
                                  node->FullName(std::string(rest))));
  }
  body.name = form.name;
}

Body ParseBody(const YamlNode& node, bool planar) {
  Body body;
  Keys keys(node);
  VisitBody(keys, body, planar);
  return body;
}

std::string BodyYaml(const Body& body) {
  Body copy = body;
  Keys keys(0);
  keys.Map("body", "", [&](Keys& k) { VisitBody(k, copy, body.planar); });
  return keys.text();
}

}  // namespace impactlab::pipelines
