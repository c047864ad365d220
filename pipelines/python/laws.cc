// Single contacts: laws, maps and their inputs, on arrays of cases.

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/files/sentence.h"
#include "data/files/text.h"
#include "impact/law/energetic_map.h"
#include "impact/law/impulse_law.h"
#include "impact/law/law_table.h"
#include "impact/law/painleve.h"
#include "pipelines/config/run_context.h"
#include "pipelines/python/arrays.h"
#include "pipelines/tables/solve_io.h"

namespace impactlab::python {
namespace {

constexpr py::ssize_t kBlock = 256;  // cases between two looks at Ctrl-C

// Contacts before an impact, and the coefficients of laws, as arrays.
class States {
 public:
  States(const py::object& v_minus_F, const py::object& A_F, const py::object& e,
         const py::object& mu_k, const py::object& mu_s, const py::object& e_t)
      : v_(v_minus_F, "v_minus_F_m_per_s", {{2}, {3}}),
        A_(A_F, "A_F_per_kg", {{2, 2}, {3, 3}}),
        e_(e, "e", {{}}),
        mu_k_(mu_k, "mu_k", {{}}),
        mu_s_(mu_s.is_none() ? mu_k : mu_s, "mu_s", {{}}),
        e_t_(e_t, "e_t", {{}}),
        count_(Cases({&v_, &A_, &e_, &mu_k_, &mu_s_, &e_t_})) {
    if (v_.shape() != A_.shape())
      throw ConfigError(
          "A_F_per_kg: allowed 2 x 2 with velocities (x, n) in a plane, 3 x 3 with velocities (x, "
          "y, n) in space");
  }

  py::ssize_t count() const { return count_; }
  bool planar() const { return v_.shape() == 0; }
  py::ssize_t width() const { return planar() ? 2 : 3; }

  ContactState Contact(py::ssize_t i) const {
    ContactState out;
    const double *v = v_[i], *A = A_[i];
    if (planar()) {
      out.v_minus_F << v[0], 0, v[1];
      out.A_F << A[0], 0, A[1], 0, A[0], 0, A[2], 0, A[3];
    } else {
      out.v_minus_F << v[0], v[1], v[2];
      out.A_F = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(A);
    }
    return out;
  }
  Coefficients CoefficientsAt(py::ssize_t i) const {
    return {.e = *e_[i], .mu_k = *mu_k_[i], .mu_s = *mu_s_[i], .e_t = *e_t_[i]};
  }

  // A vector in F with as many components as the velocities were given with.
  void Set(Doubles& array, py::ssize_t i, const Eigen::Vector3d& x) const {
    if (planar()) {
      SetRow(array, i, Eigen::Vector2d(x.x(), x.z()));
    } else {
      SetRow(array, i, x);
    }
  }

 private:
  Batch v_, A_, e_, mu_k_, mu_s_, e_t_;
  py::ssize_t count_;
};

// work(i) for all cases on several threads, without the lock of Python.
template <typename Work>
void ForCases(py::ssize_t n, int threads, const Work& work) {
  CheckedThreads(threads);
  const Unlocked unlocked;
  ForEachIndex(static_cast<std::size_t>((n + kBlock - 1) / kBlock), threads,
               [&](std::size_t block) {
                 unlocked.cancellation().Check();
                 const py::ssize_t first = static_cast<py::ssize_t>(block) * kBlock;
                 for (py::ssize_t i = first; i < std::min(n, first + kBlock); ++i) work(i);
               });
}

py::dict PredictBatch(const py::object& v_minus_F, const py::object& A_F, const py::object& e,
                      const py::object& mu_k, const py::object& mu_s, const py::object& e_t,
                      const std::string& law, bool certify, int threads) {
  const std::vector<std::string> known = AllLawNames();
  if (std::find(known.begin(), known.end(), law) == known.end())
    throw ConfigError("law: found " + Excerpt(law) + ", allowed " + JoinNames(known));
  const States states(v_minus_F, A_F, e, mu_k, mu_s, e_t);
  const py::ssize_t n = states.count();
  std::vector<LawOutcome> outcomes(static_cast<std::size_t>(n));
  ForCases(n, threads, [&](py::ssize_t i) {
    LawOutcome& outcome = outcomes[static_cast<std::size_t>(i)];
    outcome = Predict(law, states.Contact(i), states.CoefficientsAt(i), certify);
    if (outcome.certificate.ok) outcome.certificate.checks.clear();
  });
  Doubles J = Zeros({n, states.width()}), v_plus = Zeros({n, states.width()}), turn = Zeros({n}),
          change = Zeros({n}), share = Zeros({n});
  py::array_t<bool> usable(n), holds(n);
  std::vector<std::string> status, reason, course, failed;
  for (py::ssize_t i = 0; i < n; ++i) {
    const LawOutcome& o = outcomes[static_cast<std::size_t>(i)];
    const Eigen::Vector3d nothing = Eigen::Vector3d::Constant(std::nan(""));
    states.Set(J, i, o.usable() ? o.J_F : nothing);
    states.Set(v_plus, i, o.usable() ? o.v_plus_F : nothing);
    turn.mutable_at(i) = o.usable() ? o.turn : std::nan("");
    change.mutable_at(i) = o.usable() ? o.energy_change : std::nan("");
    share.mutable_at(i) = o.usable() ? o.dissipated : std::nan("");
    usable.mutable_at(i) = o.usable();
    holds.mutable_at(i) = o.certificate.ok;
    status.emplace_back(StatusName(o.status));
    reason.push_back(o.reason);
    course.push_back(o.course);
    failed.push_back(o.certificate.Failed());
  }
  py::dict out;
  out["J_F_N_s"] = J;
  out["v_plus_F_m_per_s"] = v_plus;
  out["course"] = TextArray(course);
  out["turn_rad"] = turn;
  out["energy_change_J"] = change;
  out["dissipated"] = share;
  out["usable"] = usable;
  out["status"] = TextArray(status);
  out["reason"] = TextArray(reason);
  if (certify) {
    out["certified"] = holds;
    out["failed_checks"] = TextArray(failed);
  }
  return out;
}

py::dict DerivativesBatch(const py::object& v_minus_F, const py::object& A_F, const py::object& e,
                          const py::object& mu_k, const py::object& mu_s, const std::string& law,
                          int threads) {
  const std::optional<RestitutionLaw> found = RestitutionLawOf(law);
  if (!found)
    throw ConfigError("law: found " + Excerpt(law) + ", allowed " + JoinNames(SpatialLawNames()));
  const States states(v_minus_F, A_F, e, mu_k, mu_s, py::float_(0.0));
  const py::ssize_t n = states.count();
  Doubles dv = Zeros({n, 3, 12}), dJ = Zeros({n, 3, 12});
  py::array_t<bool> usable(n);
  double *dv_at = dv.mutable_data(), *dJ_at = dJ.mutable_data();
  bool* usable_at = usable.mutable_data();
  ForCases(n, threads, [&](py::ssize_t i) {
    const Coefficients c = states.CoefficientsAt(i);
    const ImpactDerivatives d = Differentiate(states.Contact(i), {c, *found});
    usable_at[i] = d.status == SolveStatus::kOk || d.status == SolveStatus::kNoApproach;
    using Rows = Eigen::Map<Eigen::Matrix<double, 3, 12, Eigen::RowMajor>>;
    Rows(dv_at + 36 * i) = d.dv_plus;
    Rows(dJ_at + 36 * i) = d.dJ;
  });
  py::dict out;
  out["dv_plus_F"] = dv;
  out["dJ_F"] = dJ;
  out["usable"] = usable;
  return out;
}

py::dict MapBatch(const py::object& v_minus_F, const py::object& A_F, const py::object& e,
                  const py::object& mu_k, const py::object& mu_s, int threads) {
  const States states(v_minus_F, A_F, e, mu_k, mu_s, py::float_(0.0));
  const py::ssize_t n = states.count();
  if (!states.planar())
    throw ConfigError(
        "v_minus_F_m_per_s: found velocities in space, allowed (x, n): the map is one of planar "
        "impacts");
  py::array_t<int> region(n);
  Doubles mu = Zeros({4, n});
  int* const region_at = region.mutable_data();
  double* const mu_at = mu.mutable_data();
  ForCases(n, threads, [&](py::ssize_t i) {
    const ContactState contact = states.Contact(i);
    const Coefficients c = states.CoefficientsAt(i);
    // The map checks nothing: the exact path does.
    const bool usable = Predict(LawName(RestitutionLaw::kEnergetic), contact, c, false).usable();
    const std::optional<PlanarContact> planar = usable ? PlanarPart(contact) : std::nullopt;
    region_at[i] = planar ? EnergeticMap(*planar, c.e, c.mu_k, c.mu_s).region : 0;
    CriticalFriction critical = {std::nan(""), std::nan(""), std::nan(""), std::nan(""), 0};
    if (planar && planar->v_n < 0) critical = FindCriticalFriction(*planar, c.e);
    const double bounds[] = {critical.slide, critical.slide_compression, critical.hold,
                             critical.press};
    for (int k = 0; k < 4; ++k) mu_at[k * n + i] = bounds[k];
  });
  py::dict out;
  out["region"] = region;
  const char* names[] = {"mu_slide", "mu_slide_compression", "mu_hold", "mu_press"};
  for (int k = 0; k < 4; ++k) out[names[k]] = Doubles(n, mu_at + k * n);
  return out;
}

py::dict PainleveBatch(const py::object& v_F, const py::object& A_F, const py::object& mu_k,
                       const py::object& free_acceleration, int threads) {
  const Batch a(free_acceleration, "free_acceleration_n_m_per_s2", {{}});
  const States states(v_F, A_F, py::float_(0.5), mu_k, py::none(), py::float_(0.0));
  if (!states.planar()) throw ConfigError("v_F_m_per_s: found velocities in space, allowed (x, n)");
  if (states.count() != 1 && a.count() != 1 && a.count() != states.count())
    throw ConfigError(fmt::format("free_acceleration_n_m_per_s2: found {} cases, allowed 1 or {}",
                                  a.count(), states.count()));
  const py::ssize_t n = a.count() == 1 ? states.count() : a.count();
  std::vector<std::string> regime(static_cast<std::size_t>(n));
  Doubles k_n = Zeros({n}), press = Zeros({n});
  double *const k_n_at = k_n.mutable_data(), *const press_at = press.mutable_data();
  ForCases(n, threads, [&](py::ssize_t i) {
    const py::ssize_t at = states.count() == 1 ? 0 : i;
    const Coefficients c = states.CoefficientsAt(at);
    const std::optional<PlanarContact> contact = PlanarPart(states.Contact(at));
    const bool usable = contact && contact->A_tt > 0 && contact->Determinant() > 0 &&
                        std::isfinite(contact->v_t) && std::isfinite(contact->v_n) &&
                        std::isfinite(*a[i]) && c.mu_k >= 0 && std::isfinite(c.mu_k);
    regime[static_cast<std::size_t>(i)] =
        usable ? RegimeName(ClassifyContact(*contact, c.mu_k, *a[i])) : "invalid";
    k_n_at[i] = press_at[i] = std::nan("");
    if (!usable) return;
    const double s = contact->v_t > 0 ? 1 : contact->v_t < 0 ? -1 : 0;
    k_n_at[i] = contact->A_nn - s * c.mu_k * contact->A_tn;
    press_at[i] = FindCriticalFriction(*contact, c.e).press;
  });
  py::dict out;
  out["regime"] = TextArray(regime);
  out["k_n_per_kg"] = k_n;
  out["mu_press"] = press;
  return out;
}

py::dict RodBatch(const py::object& theta, const py::object& gyration_over_lever) {
  const Batch angle(theta, "theta_rad", {{}}),
      ratio(gyration_over_lever, "gyration_over_lever", {{}});
  const py::ssize_t n = Cases({&angle, &ratio});
  Doubles mu = Zeros({n}), least_mu = Zeros({n}), least_theta = Zeros({n});
  for (py::ssize_t i = 0; i < n; ++i) {
    if (!(*ratio[i] > 0))
      throw ConfigError(
          fmt::format("gyration_over_lever: case {}: found {}, allowed above 0", i, *ratio[i]));
    const LeastCriticalFriction least = LeastRodCriticalFriction(*ratio[i]);
    mu.mutable_at(i) = RodCriticalFriction(*angle[i], *ratio[i]);
    least_mu.mutable_at(i) = least.mu;
    least_theta.mutable_at(i) = least.theta;
  }
  py::dict out;
  out["mu"] = mu;
  out["least_mu"] = least_mu;
  out["least_theta_rad"] = least_theta;
  return out;
}

py::dict Routh(const py::object& v_minus_F, const py::object& A_F, double e, double mu_k,
               const py::object& mu_s) {
  const States states(v_minus_F, A_F, py::float_(e), py::float_(mu_k), mu_s, py::float_(0.0));
  if (!states.planar() || states.count() != 1)
    throw ConfigError("v_minus_F_m_per_s: allowed one planar state (x, n)");
  const Coefficients c = states.CoefficientsAt(0);
  const RouthDiagram diagram =
      MakeRouthDiagram(*PlanarPart(states.Contact(0)), c.e, c.mu_k, c.mu_s);
  py::dict lines, out;
  for (const RouthDiagram::Line& line : diagram.lines)
    lines[line.name.c_str()] =
        ToArray(Eigen::Matrix2d{{line.J_t0, line.J_n0}, {line.J_t1, line.J_n1}});
  Eigen::MatrixX2d path(diagram.path.size(), 2);
  for (Eigen::Index k = 0; k < path.rows(); ++k) {
    const Eigen::Vector3d& J = diagram.path[static_cast<std::size_t>(k)].J_F;
    path.row(k) << J.x(), J.z();
  }
  out["lines_N_s"] = lines;
  out["path_N_s"] = ToArray(path);
  return out;
}

}  // namespace

void AddLaws(py::module_& module) {
  module.attr("LAWS") = py::tuple(py::cast(LawNames()));
  std::vector<std::string> unlisted, planar;
  for (const ImpulseLawInfo& law : kImpulseLaws)
    law.listed ? planar.emplace_back(law.owner) : unlisted.emplace_back(law.word);
  module.def("predict", &PredictBatch, py::arg("v_minus_F_m_per_s"), py::arg("A_F_per_kg"),
             py::arg("e") = 0.5, py::arg("mu_k") = 0.2, py::arg("mu_s") = py::none(),
             py::arg("e_t") = 0.0, py::kw_only(), py::arg("law") = LawName(kReferenceLaw),
             py::arg("certify") = true, py::arg("threads") = 0,
             fmt::format(
                 R"(Outcomes of impacts at one contact, by one law, for n cases at once.

v_minus_F_m_per_s: velocity of the body's contact point relative to the surface before the impact, in the contact frame F (F_z = n out of
    the surface into the body): (x, n) in a plane or (x, y, n) in space, for one case or for n.
A_F_per_kg: contact-space inverse mass, 2 x 2 or 3 x 3, symmetric positive definite.
e, mu_k, mu_s, e_t: coefficients of restitution ({0}) and friction, and of
    tangential restitution (Whittaker's law; laws with a path where they end sticking); numbers or n of them. mu_s None: mu_k.
law: one of LAWS, or "{1}". {2} laws are planar.
certify: let a judge that calls no solver check every outcome. threads: 0 for one a core.

Returns arrays: J_F_N_s (impulse on the body), v_plus_F_m_per_s, course (case code "0" to "6", with a letter in space; what set the impulse
in laws without a path), turn_rad, energy_change_J, dissipated (share of v' A^-1 v / 2), usable, status ("ok", "no_approach", "invalid",
"not_converged"), reason, certified and failed_checks. A case that is no impact problem is NaN, with its reason.
Raises ConfigError for shapes, dtypes and laws. Sources: impact/README.md.)",
                 RestitutionInWords(), JoinNames(unlisted, "\", \""), ListInWords(planar))
                 .c_str());
  std::vector<std::string> exact;
  for (const std::string& name : SpatialLawNames()) exact.push_back('"' + name + '"');
  module.def("derivatives", &DerivativesBatch, py::arg("v_minus_F_m_per_s"), py::arg("A_F_per_kg"),
             py::arg("e") = 0.5, py::arg("mu_k") = 0.2, py::arg("mu_s") = py::none(), py::kw_only(),
             py::arg("law") = LawName(kReferenceLaw), py::arg("threads") = 0,
             fmt::format(R"(Exact derivatives of v_plus_F and J_F of the exact laws ({}).

Returns dv_plus_F and dJ_F, both (n, 3, 12): rows x, y, n of F; columns v_minus_F (x, y, n) [m/s], A_F (xx, xy, xn, yy, yn, nn; symmetric
pairs moved together) [1/kg], e, mu_k, mu_s; without tangential restitution. One-sided where the course changes; zero out of the plane of a
planar contact.)",
                         JoinNames(exact))
                 .c_str());
  module.def(
      "energetic_map", &MapBatch, py::arg("v_minus_F_m_per_s"), py::arg("A_F_per_kg"),
      py::arg("e") = 0.5, py::arg("mu_k") = 0.2, py::arg("mu_s") = py::none(), py::kw_only(),
      py::arg("threads") = 0,
      R"(Region of the planar energetic map (1 to 10; 0 where there is no impact) and critical friction of n planar cases.

Returns region; mu_slide (slip lasts up to this mu_k; below 0: it stops without friction), mu_slide_compression, mu_hold (once stopped the
contact sticks from this mu_s on), mu_press (above it slip presses the bodies together). NaN where nothing approaches. Source: the Bristol thesis,
section 3.2; Sun 2017, section 2.4.)");
  module.def(
      "painleve", &PainleveBatch, py::arg("v_F_m_per_s"), py::arg("A_F_per_kg"), py::arg("mu_k"),
      py::arg("free_acceleration_n_m_per_s2"), py::kw_only(), py::arg("threads") = 0,
      R"(Painleve's paradox of n planar contacts that slip (v_n = 0): does a finite contact force solve the motion?

v_F_m_per_s, A_F_per_kg, mu_k: as in `predict`, velocities (x, n). free_acceleration_n_m_per_s2: normal acceleration of the contact
point with no force acting there.

Returns regime: "contact" (one solution, it goes on), "separation" (one solution, it opens), "inconsistent" (no finite force: an impact
without collision stops the slip, which `predict` with "energetic" gives from v_n = 0), "indeterminate" (separation, contact and that
impact all solve it), "moving" (v_n is not 0: the question does not arise), "invalid"; k_n_per_kg, the normal acceleration by normal
force while it slips (below 0: paradox); mu_press, the mu_k at which k_n = 0 (infinite: none). Source: the Bristol thesis, sections 2.2
and 6.)");
  module.def("rod_critical_friction", &RodBatch, py::arg("theta_rad"),
             py::arg("gyration_over_lever") = 0.5773502691896258,
             R"(Friction beyond which a rod that slides on its end can jam (Painleve), n cases.

theta_rad: of the rod from the floor. gyration_over_lever: radius of gyration about the centre of mass over the distance from there to
the end; the default is that of a uniform slender rod, 1 / sqrt(3). Returns mu; least_mu over all angles and least_theta_rad where it
is reached. Source: the Bristol thesis, section 2.2.)");
  module.def(
      "routh", &Routh, py::arg("v_minus_F_m_per_s"), py::arg("A_F_per_kg"), py::arg("e") = 0.5,
      py::arg("mu_k") = 0.2, py::arg("mu_s") = py::none(),
      R"(Routh's construction of one planar impact by Poisson's law, in the plane of impulses (J_t, J_n) [N s].

Returns lines_N_s (two points each: "stick", "compression", "friction", "reversed", "termination") and path_N_s.)");
}

}  // namespace impactlab::python
