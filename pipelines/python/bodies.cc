// Bodies, the contacts their motion makes, and tables of measured impacts.

#include "pipelines/python/bodies.h"

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "impact/identify/identify.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/event_columns.h"
#include "pipelines/tables/tables.h"

namespace impactlab::python {
namespace {

std::vector<Eigen::Vector3d> Points(const py::object& value, const char* name) {
  const Batch batch(value, name, {{3}});
  std::vector<Eigen::Vector3d> out;
  for (py::ssize_t i = 0; i < batch.count(); ++i) out.push_back(batch.Vector(i));
  return out;
}

Eigen::Matrix3d ToMatrix3(const py::object& value, const char* name) {
  const Batch batch(value, name, {{3, 3}});
  if (batch.count() != 1)
    throw ConfigError(fmt::format("{}: found {} matrices, allowed one", name, batch.count()));
  return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(batch[0]);
}

py::dict ContactStates(const Body& body, const py::object& position, const py::object& quaternion,
                       const py::object& velocity, const py::object& spin, const py::object& normal,
                       double offset, const py::object& gravity) {
  const Batch p(position, "position_m", {{3}}), q(quaternion, "quaternion", {{4}}),
      v(velocity, "v_m_per_s", {{3}}), omega(spin, "omega_rad_per_s", {{3}});
  const Surface surface(normal, offset, gravity);
  const py::ssize_t n = Cases({&p, &q, &v, &omega});
  Doubles v_F = Zeros({n, 3}), A_F = Zeros({n, 3, 3}), gap = Zeros({n}), point = Zeros({n, 3}),
          R_WF = Zeros({n, 3, 3});
  for (py::ssize_t i = 0; i < n; ++i) {
    Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
    X_WB.linear() = ToRotation(q, i);
    X_WB.translation() = p.Vector(i);
    const PlaneContact where = ContactWithPlane(body, X_WB, surface.plane);
    const Eigen::Isometry3d X_WF =
        ContactFrame(surface.plane, where.p_WP, surface.gravity_W, body.planar);
    const ContactState contact = MakeContactState(body, X_WB, v.Vector(i), omega.Vector(i), X_WF);
    SetRow(v_F, i, contact.v_minus_F);
    SetRow(A_F, i, contact.A_F.reshaped());  // symmetric
    SetRow(R_WF, i, Eigen::Matrix3d(X_WF.linear().transpose()).reshaped());
    SetRow(point, i, where.p_WP);
    gap.mutable_at(i) = where.gap;
  }
  py::dict out;
  out["v_minus_F_m_per_s"] = v_F;
  out["A_F_per_kg"] = A_F;
  out["R_WF"] = R_WF;
  out["p_m"] = point;
  out["gap_m"] = gap;
  return out;
}

py::dict EventArrays(const Events& events) {
  const auto n = static_cast<py::ssize_t>(events.list().size());
  py::dict out;
  const auto texts = [&](const char* name, const auto& value) {
    std::vector<std::string> column;
    for (const ImpactEvent& e : events.list()) column.emplace_back(value(e));
    out[name] = TextArray(column);
  };
  const auto rows = [&](const char* name, Shape shape, const auto& value) {
    shape.insert(shape.begin(), n);
    Doubles column = Zeros(shape);
    for (py::ssize_t i = 0; i < n; ++i)
      SetRow(column, i, value(events.list()[static_cast<std::size_t>(i)]));
    out[name] = column;
  };
  const auto numbers = [&](const char* name, const auto& value) {
    using Number = decltype(value(events.list()[0]));
    py::array_t<Number> column(n);
    for (py::ssize_t i = 0; i < n; ++i)
      column.mutable_at(i) = value(events.list()[static_cast<std::size_t>(i)]);
    out[name] = column;
  };
  using E = const ImpactEvent&;
  using V = Eigen::VectorXd;
  texts("recording", [](E e) { return e.recording; });
  numbers("impact", [](E e) { return e.impact; });
  numbers("t_s", [](E e) { return e.t; });
  numbers("sd_t_s", [](E e) { return e.sd_t; });
  rows("position_m", {3}, [](E e) -> V { return e.X_WB.translation(); });
  rows("quaternion", {4}, [](E e) -> V {
    Eigen::Quaterniond q(e.X_WB.linear());
    if (q.w() < 0) q.coeffs() = -q.coeffs();
    return Eigen::Vector4d(q.w(), q.x(), q.y(), q.z());
  });
  rows("v_minus_m_per_s", {3}, [](E e) -> V { return e.v_minus; });
  rows("omega_minus_rad_per_s", {3}, [](E e) -> V { return e.omega_minus; });
  rows("v_plus_m_per_s", {3}, [](E e) -> V { return e.v_plus; });
  rows("omega_plus_rad_per_s", {3}, [](E e) -> V { return e.omega_plus; });
  rows("p_m", {3}, [](E e) -> V { return e.p_WP; });
  rows("lever_m", {3}, [](E e) -> V { return e.p_WP - e.X_WB.translation(); });
  rows("cov", {kEventDim, kEventDim}, [](E e) -> V { return e.cov.reshaped(); });
  rows("A_F_per_kg", {3, 3}, [](E e) -> V { return e.contact.A_F.reshaped(); });
  rows("v_minus_F_m_per_s", {3}, [](E e) -> V { return e.contact.v_minus_F; });
  rows("v_plus_F_m_per_s", {3}, [](E e) -> V { return e.v_plus_F; });
  numbers("frames_minus", [](E e) { return e.frames_minus; });
  numbers("frames_plus", [](E e) { return e.frames_plus; });
  numbers("frames_lost", [](E e) { return e.frames_lost; });
  numbers("sigma_position_m", [](E e) { return e.sigma_position; });
  numbers("sigma_angle_rad", [](E e) { return e.sigma_angle; });
  numbers("accepted", [](E e) { return e.accepted; });
  texts("reason", [](E e) { return ReasonName(e.reason); });
  texts("detail", [](E e) { return e.detail; });
  return out;
}

Events FromArrays(const Body& body, const py::object& v_minus, const py::object& omega_minus,
                  const py::object& v_plus, const py::object& omega_plus, const py::object& lever,
                  const py::object& cov, const py::object& quaternion, const py::object& position,
                  const std::optional<std::vector<std::string>>& recording,
                  const py::object& normal, double offset, const py::object& gravity) {
  const py::object given_cov = cov.is_none() ? py::object(Zeros({kEventDim, kEventDim})) : cov;
  const auto given = [](const py::object& value, std::initializer_list<double> otherwise) {
    return value.is_none() ? py::object(py::cast(std::vector<double>(otherwise))) : value;
  };
  const py::object turned = given(quaternion, {1, 0, 0, 0}), place = given(position, {0, 0, 0});
  const Batch vm(v_minus, "v_minus_m_per_s", {{3}}),
      wm(omega_minus, "omega_minus_rad_per_s", {{3}}), vp(v_plus, "v_plus_m_per_s", {{3}}),
      wp(omega_plus, "omega_plus_rad_per_s", {{3}}), r(lever, "lever_m", {{3}}),
      S(given_cov, "cov", {{kEventDim, kEventDim}}), q(turned, "quaternion", {{4}}),
      p(place, "position_m", {{3}});
  const py::ssize_t n = Cases({&vm, &wm, &vp, &wp, &r, &S, &q, &p});
  if (recording && static_cast<py::ssize_t>(recording->size()) != n)
    throw ConfigError(fmt::format("recording: found {} names, allowed {}", recording->size(), n));
  const Surface surface(normal, offset, gravity);
  const std::vector<int> active = pipelines::ActiveRows(body.planar);
  std::map<std::string, int> seen;
  Events out;
  out.states.table.attitudes = body.shape == BodyShape::kBall || !quaternion.is_none();
  out.states.table.places = !position.is_none();
  out.states.floor = surface.plane, out.gravity_W = surface.gravity_W;
  for (py::ssize_t i = 0; i < n; ++i) {
    ImpactEvent e;
    e.planar = body.planar;
    e.recording = recording ? (*recording)[static_cast<std::size_t>(i)] : fmt::format("case_{}", i);
    e.impact = seen[e.recording]++;
    e.v_minus = vm.Vector(i), e.omega_minus = wm.Vector(i), e.v_plus = vp.Vector(i),
    e.omega_plus = wp.Vector(i);
    e.X_WB.linear() = ToRotation(q, i);
    e.X_WB.translation() = p.Vector(i);
    e.p_WP = p.Vector(i) + r.Vector(i);
    e.cov = Eigen::Map<const EventCovariance>(S[i]);
    Eigen::Matrix<double, kEventDim, 1> x;
    x << e.v_minus, e.omega_minus, e.v_plus, e.omega_plus, r.Vector(i);
    for (int k = 0; k < kEventDim; ++k) {
      const std::string& name = pipelines::EventComponents()[static_cast<std::size_t>(k)];
      const bool moves = std::find(active.begin(), active.end(), k) != active.end();
      if (!std::isfinite(x[k]) || (!moves && x[k] != 0))
        throw ConfigError(fmt::format(
            "{}: case {}: found {}, allowed {}", name, i, x[k],
            moves ? "a finite number" : "0 in planar motion, which runs in the x-z plane"));
      if (!(e.cov(k, k) >= 0))
        throw ConfigError(
            fmt::format("cov: case {}: found a variance of {} of {}, allowed 0 or above", i,
                        e.cov(k, k), name));
    }
    if (!((e.cov - e.cov.transpose()).cwiseAbs().maxCoeff() <= 1e-9 * e.cov.cwiseAbs().maxCoeff()))
      throw ConfigError(
          fmt::format("cov: case {}: allowed a symmetric matrix of finite numbers", i));
    UpdateContact(e, body, surface.plane, surface.gravity_W);
    e.accepted = e.contact.v_minus_F.z() < 0;
    if (!e.accepted) {
      e.reason = RejectReason::kNoApproach;
      e.detail = fmt::format("normal velocity of the contact point {:.3g} m/s, allowed below 0",
                             e.contact.v_minus_F.z());
    }
    out.list().push_back(std::move(e));
  }
  return out;
}

Events Select(const Events& events, const py::object& which) {
  const py::object numpy = py::module_::import("numpy");
  const py::object places = numpy.attr("arange")(events.list().size()).attr("__getitem__")(which);
  Events out = events;
  out.list().clear();
  for (const py::handle& place : numpy.attr("atleast_1d")(places))
    out.list().push_back(events.list()[place.cast<std::size_t>()]);
  return out;
}

py::object IdentifyEvents(const Events& events, const Body& body,
                          const std::vector<std::string>& laws, const std::string& likelihood,
                          bool fit_discrepancy, bool fit_mu_s, int bootstrap, int grid,
                          std::uint64_t seed, bool force_coefficients) {
  Experiment experiment;
  experiment.body = body;
  experiment.seed = seed;
  experiment.floor = events.states.floor;
  experiment.motion.flight.gravity_W = events.gravity_W;
  experiment.laws.clear();
  for (const std::string& name : laws) {
    const std::optional<RestitutionLaw> found = RestitutionLawOf(name);
    if (!found)
      throw ConfigError(
          fmt::format("laws: found {}, allowed {}", name, JoinNames(RestitutionLawWords())));
    experiment.laws.push_back(*found);
  }
  IdentifyOptions& options = experiment.identify;
  if (likelihood != "adaptive" && likelihood != "gaussian" && likelihood != "student_t" &&
      likelihood != "contamination")
    throw ConfigError(fmt::format(
        "likelihood: found {}, allowed adaptive, gaussian, student_t, contamination", likelihood));
  options.likelihood = likelihood == "adaptive"    ? Likelihood::kAdaptive
                       : likelihood == "gaussian"  ? Likelihood::kGaussian
                       : likelihood == "student_t" ? Likelihood::kStudentT
                                                   : Likelihood::kContamination;
  options.fit_discrepancy = fit_discrepancy;
  options.fit_mu_s = fit_mu_s;
  if (bootstrap < 0 || grid < 0) throw ConfigError("bootstrap, grid: allowed 0 or above");
  options.bootstrap = bootstrap;
  options.grid = grid;
  return Identified(experiment, events, force_coefficients);
}

}  // namespace

Surface::Surface(const py::object& normal, double offset, const py::object& gravity)
    : gravity_W(ToVector(gravity, "gravity_m_per_s2")) {
  plane.normal = ToVector(normal, "normal");
  if (!(plane.normal.norm() > 0))
    throw ConfigError("normal: found a vector of length 0, allowed any other");
  plane.normal.normalize();
  plane.offset = offset;
}

py::object Identified(const Experiment& experiment, const Events& events, bool force) {
  std::string fit, audit;
  {
    const Unlocked unlocked;
    const JudgedStates judged = JudgeStates(experiment, events.states, force);
    fit = ToJson(FitStates(experiment, judged, {.cancellation = &unlocked.cancellation()}));
    audit = ToJson(judged);
  }
  py::object out = FromJson(fit);
  out["states_audit"] = FromJson(audit);
  return out;
}

void AddBodies(py::module_& module) {
  std::vector<std::string> components;
  for (const std::string& name : pipelines::EventComponents()) {
    const bool spin = name.rfind("omega", 0) == 0;
    components.push_back(name + (spin ? "_rad_per_s" : name[0] == 'r' ? "_m" : "_m_per_s"));
  }
  module.attr("EVENT_COMPONENTS") = py::tuple(py::cast(components));

  py::class_<Body>(module, "Body",
                   "A rigid body. The origin of its frame B is the centre of mass; planar bodies "
                   "move in the x-z plane of W. Solids are uniform.")
      .def_static(
          "box",
          [](const py::object& sides, double mass, bool planar, double corner_radius) {
            return MakeBox(ToVector(sides, "sides_m"), mass, planar, corner_radius);
          },
          py::arg("sides_m"), py::arg("mass_kg"), py::kw_only(), py::arg("planar") = false,
          py::arg("corner_radius_m") = 0.0,
          "Box (rectangle in x and z where planar) of three sides.")
      .def_static("rod", &MakeRod, py::arg("length_m"), py::arg("radius_m"), py::arg("mass_kg"),
                  py::kw_only(), py::arg("planar") = false,
                  "Cylinder with hemispherical caps, length from tip to tip; axis B_z, in planar "
                  "motion B_x.")
      .def_static("ball", &MakeBall, py::arg("radius_m"), py::arg("mass_kg"), py::kw_only(),
                  py::arg("planar") = false, "Ball, a solid in planar motion too.")
      .def_static("disc", &MakeDisc, py::arg("radius_m"), py::arg("mass_kg"),
                  "Disc of even thickness in planar motion.")
      .def_static(
          "ellipsoid",
          [](const py::object& semi_axes, double mass, bool planar) {
            return MakeEllipsoid(ToVector(semi_axes, "semi_axes_m"), mass, planar);
          },
          py::arg("semi_axes_m"), py::arg("mass_kg"), py::kw_only(), py::arg("planar") = false,
          "Ellipsoid, a solid in planar motion too.")
      .def_static(
          "ellipse",
          [](double x, double z, double mass) {
            return MakeEllipse({x, z}, mass);
          },
          py::arg("semi_axis_x_m"), py::arg("semi_axis_z_m"), py::arg("mass_kg"),
          "Elliptic plate of even thickness in planar motion.")
      .def_static(
          "polytope",
          [](const py::object& vertices, double mass, bool planar, double corner_radius) {
            return MakePolytope(Points(vertices, "vertices_m"), mass, planar, corner_radius);
          },
          py::arg("vertices_m"), py::arg("mass_kg"), py::kw_only(), py::arg("planar") = false,
          py::arg("corner_radius_m") = 0.0,
          "Convex hull of (n, 3) vertices, moved so that its centre of mass is the origin.")
      .def_static(
          "points",
          [](const py::object& points, double mass, const py::object& inertia, bool planar) {
            return MakePoints(Points(points, "points_m"), mass,
                              ToMatrix3(inertia, "inertia_B_kg_m2"), planar);
          },
          py::arg("points_m"), py::arg("mass_kg"), py::arg("inertia_B_kg_m2"), py::kw_only(),
          py::arg("planar") = false,
          "Contact points about the centre of mass (n, 3), with a 3 x 3 inertia.")
      .def_property_readonly("mass_kg", [](const Body& body) { return body.mass; })
      .def_property_readonly("planar", [](const Body& body) { return body.planar; })
      .def_property_readonly("inertia_B_kg_m2",
                             [](const Body& body) { return ToArray(body.inertia_B); })
      .def_property_readonly("vertices_B_m",
                             [](const Body& body) {
                               const auto vertices = Vertices(body);
                               Doubles out = Zeros({static_cast<py::ssize_t>(vertices.size()), 3});
                               for (std::size_t i = 0; i < vertices.size(); ++i)
                                 SetRow(out, static_cast<py::ssize_t>(i), vertices[i]);
                               return out;
                             })
      .def("__repr__", [](const Body& body) {
        return fmt::format("<impactlab.Body of {:g} kg{}>", body.mass,
                           body.planar ? ", planar" : "");
      });

  const py::tuple up = py::make_tuple(0.0, 0.0, 1.0),
                  down = py::make_tuple(0.0, 0.0, -kStandardGravity);
  module.def(
      "contact_states", &ContactStates, py::arg("body"), py::arg("position_m"),
      py::arg("quaternion"), py::arg("v_m_per_s"), py::arg("omega_rad_per_s"), py::kw_only(),
      py::arg("normal") = up, py::arg("offset_m") = 0.0, py::arg("gravity_m_per_s2") = down,
      R"(Where a body in n states is closest to a plane, and what a law of impact needs there: the inputs of `predict`.

position_m (n, 3), quaternion (n, 4: w, x, y, z, body to world), v_m_per_s and omega_rad_per_s of the centre of mass (n, 3), all in W; the
plane normal . p = offset_m. Returns v_minus_F_m_per_s (n, 3), A_F_per_kg (n, 3, 3), R_WF (n, 3, 3; columns F_x downhill, F_y, F_z = normal),
p_m (n, 3) the lowest point, gap_m (n,). ConfigError for shapes.)");

  py::class_<Events>(module, "Events",
                     "Measured impacts: states before and after with their joint covariance. "
                     "Select with masks, slices and places.")
      .def_static(
          "from_arrays", &FromArrays, py::arg("body"), py::kw_only(), py::arg("v_minus_m_per_s"),
          py::arg("omega_minus_rad_per_s"), py::arg("v_plus_m_per_s"),
          py::arg("omega_plus_rad_per_s"), py::arg("lever_m"), py::arg("cov") = py::none(),
          py::arg("quaternion") = py::none(), py::arg("position_m") = py::none(),
          py::arg("recording") = py::none(), py::arg("normal") = up, py::arg("offset_m") = 0.0,
          py::arg("gravity_m_per_s2") = down,
          R"(Events of arrays (n, 3) in W: velocities of the centre of mass, spins, lever from the centre of mass to the contact.

cov: joint covariance (n, 15, 15) or (15, 15) in the order of EVENT_COMPONENTS; None: exact. quaternion (n, 4: w, x, y, z; None: not known, taken
for upright) turns the body's inertia. position_m: of the centre of mass (None: not known). Impacts of one name in `recording` are numbered
in their order. What does not approach the plane is not accepted. In planar motion v_y, omega_x, omega_z and r_y are 0, and omega_y is minus the rate of theta. Raises ConfigError.)")
      .def(
          "arrays", &EventArrays,
          R"(A dict of arrays with one row an event, in W unless a name ends on F: recording, impact, t_s, sd_t_s, position_m, quaternion,
v_minus_m_per_s, omega_minus_rad_per_s, v_plus_m_per_s, omega_plus_rad_per_s, p_m (contact point), lever_m, cov (n, 15, 15; order
EVENT_COMPONENTS), A_F_per_kg, v_minus_F_m_per_s, v_plus_F_m_per_s, frames_minus, frames_plus, frames_lost, sigma_position_m,
sigma_angle_rad, accepted, reason, detail.)")
      .def(
          "write",
          [](const Events& events, const std::filesystem::path& folder) {
            WriteEvents(folder, events.list());
          },
          py::arg("folder"),
          "Writes events.csv and events_cov.csv (data/README.md). OSError where that cannot be.")
      .def("__len__", [](const Events& events) { return events.list().size(); })
      .def("__getitem__", &Select, py::arg("which"))
      .def("__repr__", [](const Events& events) {
        return fmt::format("<impactlab.Events: {}, {} accepted>", events.list().size(),
                           std::count_if(events.list().begin(), events.list().end(),
                                         [](const ImpactEvent& e) { return e.accepted; }));
      });
  module.def(
      "load_events",
      [](const std::filesystem::path& path, const Body& body, const py::object& normal,
         double offset, const py::object& gravity) {
        const Surface surface(normal, offset, gravity);
        Experiment experiment;
        experiment.body = body;
        experiment.floor = surface.plane;
        experiment.motion.flight.gravity_W = surface.gravity_W;
        return Events{LoadStates(experiment, path), surface.gravity_W};
      },
      py::arg("path"), py::arg("body"), py::kw_only(), py::arg("normal") = up,
      py::arg("offset_m") = 0.0, py::arg("gravity_m_per_s2") = down,
      R"(Reads events.csv of a run, or a table of states made elsewhere, with the covariances of events_cov.csv beside it.

The surface is the plane normal . p = offset_m in W. Raises DataError with row and column. `Experiment.load_events` knows body and surface.)");
  module.def(
      "identify", &IdentifyEvents, py::arg("events"), py::arg("body"), py::kw_only(),
      py::arg("laws") = RestitutionLawWords(), py::arg("likelihood") = "adaptive",
      py::arg("fit_discrepancy") = true, py::arg("fit_mu_s") = false, py::arg("bootstrap") = 0,
      py::arg("grid") = 0, py::arg("seed") = 1, py::arg("force_coefficients") = false,
      R"(Friction and restitution of accepted events by each law, as `impactlab identify` finds them.

likelihood: "adaptive" (the likelier of the next two), "gaussian", "student_t", "contamination". bootstrap: resamples over recordings. grid: points a side of the confidence region.
The events are audited first, and corrected where the audit names a cause ("states_audit" holds what it found).
Returns what fit.json holds (schema impactlab.fit/1, data/README.md): fits[k]["parameters"]["mu_k"] with value, sd, sd_noise_only, lower95,
upper95, identifiable, reason, and with "e_t" where contacts spring back; covariance; discrepancy; rejected. Where the events contradict a rigid body (verdict "does_not_close"),
the values are None unless force_coefficients. None stands for what has no finite value. Raises ConfigError;
KeyboardInterrupt ends it. Method: impact/README.md.)");
}

}  // namespace impactlab::python
