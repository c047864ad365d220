// Compliant contacts: the restitution that a contact law implies, by its parameters and the speed.

#include "impact/law/compliant.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <optional>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/python/arrays.h"

namespace impactlab::python {
namespace {

// Closed forms of the literature that are not what the law implies.
constexpr const char* kPrinted = "spring_dashpot_printed";
constexpr const char* kFirstOrder = "hunt_crossley_first_order";

std::vector<std::string> CompliantNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kCompliantLaws) + 2);
  for (const CompliantLawInfo& law : kCompliantLaws) names.emplace_back(law.word);
  names.emplace_back(kPrinted);
  names.emplace_back(kFirstOrder);
  return names;
}

std::optional<CompliantLaw> CompliantLawOf(const std::string& name) {
  for (const CompliantLawInfo& law : kCompliantLaws)
    if (name == law.word) return law.law;
  if (name == kPrinted) return CompliantLaw::kSpringDashpot;
  if (name == kFirstOrder) return CompliantLaw::kHuntCrossley;
  return std::nullopt;
}

// value(i) of every case.
template <typename Value>
Doubles OfCases(py::ssize_t n, const Value& value) {
  Doubles out = Zeros({n});
  for (py::ssize_t i = 0; i < n; ++i) out.mutable_at(i) = value(i);
  return out;
}

Doubles CompliantRestitution(const std::string& name, const py::object& mass,
                             const py::object& speed, const py::object& stiffness,
                             const py::object& power, const py::object& damping,
                             const py::object& residual) {
  const std::optional<CompliantLaw> law = CompliantLawOf(name);
  if (!law)
    throw ConfigError("law: found " + Excerpt(name) + ", allowed " + JoinNames(CompliantNames()));
  const Batch m(mass, "mass_kg", {{}}), v(speed, "speed_m_per_s", {{}}),
      k(stiffness, "stiffness", {{}}), p(power, "power", {{}}), c(damping, "damping", {{}}),
      share(residual, "residual", {{}});
  return OfCases(Cases({&m, &v, &k, &p, &c, &share}), [&](py::ssize_t i) {
    const CompliantModel model{
        .law = *law, .stiffness = *k[i], .power = *p[i], .damping = *c[i], .residual = *share[i]};
    // Checks mass, speed and model for the closed forms as well.
    const double implied = ImpliedRestitution(model, *m[i], *v[i]);
    if (name == kPrinted) return PrintedSpringDashpotRestitution(model, *m[i]);
    if (name == kFirstOrder) return FirstOrderRestitution(model.damping, *v[i]);
    return implied;
  });
}

Doubles RestitutionBySpeed(const py::object& speed, const py::object& alpha,
                           const py::object& exponent) {
  const Batch v(speed, "speed_m_per_s", {{}}), a(alpha, "alpha", {{}}),
      m(exponent, "exponent", {{}});
  return OfCases(Cases({&v, &a, &m}), [&](py::ssize_t i) {
    if (!(*v[i] > 0))
      throw ConfigError(fmt::format("speed_m_per_s: case {}: found {}, allowed above 0", i, *v[i]));
    return PowerRestitution(*a[i], *m[i], *v[i]);
  });
}

Doubles DampingFor(const py::object& e, const py::object& speed) {
  const Batch restitution(e, "e", {{}}), v(speed, "speed_m_per_s", {{}});
  return OfCases(Cases({&restitution, &v}),
                 [&](py::ssize_t i) { return HuntCrossleyDamping(*restitution[i], *v[i]); });
}

}  // namespace

void AddCompliant(py::module_& module) {
  module.attr("COMPLIANT_LAWS") = py::tuple(py::cast(CompliantNames()));
  module.def(
      "compliant_restitution", &CompliantRestitution, py::arg("law"), py::arg("mass_kg"),
      py::arg("speed_m_per_s"), py::kw_only(), py::arg("stiffness") = 1e6, py::arg("power") = 1.5,
      py::arg("damping") = 0.0, py::arg("residual") = 0.0,
      R"(Coefficient of restitution (n,) that a compliant contact implies for a mass that meets it at a speed.

law: one of COMPLIANT_LAWS. mass_kg: of the contact, 1 / A_nn of a single contact without friction. speed_m_per_s: of approach, above 0.
stiffness: k [N/m^power]; power: of the indentation, 1.5 for spheres, not read by "spring_dashpot" and "maxwell"; damping: c [N s/m] of
"spring_dashpot" and "maxwell", d = lambda / k [s/m] of "hunt_crossley"; residual: permanent share of the largest indentation of
"hertz_hysteresis". Numbers or n of them.

"spring_dashpot" ends where the force does; "spring_dashpot_printed" is the form often printed, which ends at zero indentation after the
contact has pulled; "hunt_crossley_first_order" is 1 - 2/3 d v, not below 0. Raises ConfigError. Sources: Sun 2017, section 1.2.3;
the Bristol thesis, eqs 2.42 to 2.52; Schwager and Poeschel 2007.)");
  module.def(
      "speed_restitution", &RestitutionBySpeed, py::arg("speed_m_per_s"), py::arg("alpha"),
      py::arg("exponent"),
      R"(Restitution (n,) that falls with the speed of approach, 1 - alpha v^exponent, not below 0 and not above 1.

alpha in (m/s)^-exponent. Numbers or n of them. Source: Sun 2017, eq. 1.21. Raises ConfigError.)");
  module.def(
      "hunt_crossley_damping", &DampingFor, py::arg("e"), py::arg("speed_m_per_s"),
      R"(Damping d (n,) [s/m] with which Hunt and Crossley's contact has the restitution e at a speed.

The inverse of compliant_restitution("hunt_crossley", ...), whatever mass and stiffness are. e above 0. Raises ConfigError.)");
}

}  // namespace impactlab::python
