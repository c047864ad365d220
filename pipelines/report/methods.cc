// How to read the report: definitions, case codes, conventions, provenance.
#include <fmt/format.h>

#include <cmath>

#include "data/cache/provenance.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

std::string Definition(const std::string& term, const std::string& text) {
  return "<dt>" + term + "</dt><dd>" + text + "</dd>\n";
}

std::string LikelihoodWords(const IdentifyOptions& identify) {
  std::string student =
      fmt::format("Student-t ({} degrees of freedom)", Num(identify.student_dof, 1));
  switch (identify.likelihood) {
    case Likelihood::kGaussian:
      return "normal distribution";
    case Likelihood::kStudentT:
      return student;
    case Likelihood::kContamination:
      return "contaminated normal";
    case Likelihood::kAdaptive:
      return "normal or " + student + ", whichever is likelier; the table of scatter names it";
  }
  return "";
}

std::string Definitions(const ReportContext& context) {
  const ValidationOptions& validation = context.run.experiment.validation;
  const IdentifyOptions& identify = context.run.experiment.identify;
  std::string out = "<dl class=\"definitions\">\n";
  const Eigen::Vector3d& g = context.run.experiment.motion.flight.gravity_W;
  const double tilt = g.norm() > 0 ? std::atan2(g.head<2>().norm(), -g.z()) * 180 / M_PI : 0;
  constexpr double kLevel = 0.05;  // [degrees]
  out += Definition(
      "Frames", (tilt < kLevel ? std::string("W is the lab frame with z up")
                               : fmt::format("W is the frame of the calibrated cameras, whose z "
                                             "stands {}° off the vertical (gravity stands below)",
                                             Num(tilt, 3))) +
                    ", B the body frame at the centre of mass, F the contact frame: F<sub>z</sub> "
                    "= n points out of the surface into the body, F<sub>x</sub> downhill, "
                    "F<sub>y</sub> = n × F<sub>x</sub>. Planar θ counts positive counter-clockwise "
                    "seen with x to the right and z up.");
  out += Definition("Signs",
                    "<sup>−</sup> and <sup>+</sup> stand for just before and just after. An "
                    "approaching contact has v<sub>n</sub><sup>−</sup> &lt; 0; impulses J act on "
                    "the body and J<sub>n</sub> ≥ 0.");
  std::string rules;
  for (const RestitutionLawInfo& law : kRestitutionLaws) rules += std::string(law.rule_html) + " ";
  out += Definition("Laws of restitution",
                    rules +
                        "All with Coulomb friction followed along the path of the normal "
                        "impulse (Keller 1986), so that slip may stop, stick or reverse.");
  out += Definition("Identification",
                    fmt::format("Maximum likelihood over all accepted impacts ({}), each impact "
                                "with the covariance of its measured states and the scatter "
                                "between impacts as parameters of their own. Intervals are 95 % "
                                "intervals of the profile likelihood; one-sided where the "
                                "coefficient runs into a bound or the data leave a side open.",
                                LikelihoodWords(identify)));
  out += Definition("Prediction error",
                    "√(dᵀ M d / vᵀ M v): d is the predicted minus the measured rigid-body velocity "
                    "(translation and spin), M the mass matrix. As the square root of a ratio of "
                    "kinetic energies it needs no choice between m/s and rad/s.");
  out += Definition(
      "Verdicts", fmt::format("After ASME V&amp;V 20: E = prediction − measurement, u² = "
                              "u²<sub>num</sub> + u²<sub>input</sub> + u²<sub>D</sub> with the "
                              "covariance between prediction and measurement, but without the "
                              "scatter between impacts, which would excuse a law for what it does "
                              "not explain. Adequate: |E| + k u ≤ tolerance. Discrepant: |E| &gt; "
                              "k u. Otherwise unresolved: a noisy experiment never passes. Here k "
                              "= {}.",
                              Num(validation.coverage, 1)));
  out += Definition("Selection",
                    "An impact counts when its kinematics show a single contact between two "
                    "intervals of free flight. How well a law fits is never a criterion.");
  out += Definition("Momentum residual",
                    "I (ω<sup>+</sup> − ω<sup>−</sup>) must equal r × m (v<sup>+</sup> − "
                    "v<sup>−</sup>) with r from the centre of mass to the contact point. The "
                    "residual is given in spin, and its rms relative to the spread of the measured "
                    "spin change.");
  return out + "</dl>\n";
}

std::string CaseTable() {
  HtmlTable table("Case codes", {"Case", "Slip at the contact"});
  for (const auto& [code, text] :
       {std::pair{"0", "slides all through, in its first direction"},
        std::pair{"1", "stops in compression, then sticks"},
        std::pair{"2", "stops in compression, then slides on another way"},
        std::pair{"3", "stops in restitution, then sticks"},
        std::pair{"4", "stops in restitution, then slides on another way"},
        std::pair{"5", "starts from rest and sticks"},
        std::pair{"6", "starts from rest and slides"}})
    table.Row({std::string("<span class=\"key key-dot c") + code + "\"></span> " + code, text});
  return table.Html() +
         "<p class=\"foot\">In space a letter states which slip component changed sign: a, along "
         "F<sub>y</sub>; b, along F<sub>x</sub>; c, both.</p>\n";
}

std::string BodyWords(const Body& body) {
  std::string text = Escape(body.name.empty() ? "unnamed" : body.name) +
                     (body.planar ? ", planar motion" : ", motion in space");
  text += body.mass_known ? ", mass " + Num(body.mass) + "\u00A0kg"
                          : ", mass not given (ratios and velocities do not depend on it)";
  switch (body.shape) {
    case BodyShape::kBox:
      text += body.planar
                  ? fmt::format(", rectangle {} × {} mm", Num(2e3 * body.half_extents.x()),
                                Num(2e3 * body.half_extents.z()))
                  : fmt::format(", box {} × {} × {} mm", Num(2e3 * body.half_extents.x()),
                                Num(2e3 * body.half_extents.y()), Num(2e3 * body.half_extents.z()));
      break;
    case BodyShape::kRod:
      text += fmt::format(", rod {} mm long, radius {} mm", Num(2e3 * body.half_length),
                          Num(1e3 * body.radius));
      break;
    case BodyShape::kBall:
      text +=
          fmt::format(", {} of radius {} mm", body.flat ? "disc" : "ball", Num(1e3 * body.radius));
      break;
    case BodyShape::kEllipsoid:
      text += body.flat ? ", ellipse" : ", ellipsoid";
      break;
    case BodyShape::kPolytope:
      text += fmt::format(", hull of {} corners", body.points_B.size());
      break;
    case BodyShape::kPoints:
      text += fmt::format(", {} contact points", body.points_B.size());
      break;
  }
  return text;
}

std::string Provenance(const ReportContext& context) {
  const RunResult& run = context.run;
  const impactlab::Provenance provenance = CollectProvenance(run.experiment.seed);
  const Plane& floor = run.experiment.floor;
  const Eigen::Vector3d& g = run.experiment.motion.flight.gravity_W;
  HtmlTable table("This run", {"Item", "Value"});
  table.Row({"Experiment file", Escape(run.experiment.path.string())});
  table.Row({"Recordings",
             fmt::format("{} files, {}", run.n_recordings(), Escape(run.experiment.recordings))});
  table.Row({"Body", BodyWords(run.experiment.body)});
  const auto plane = [](const Plane& p) {
    return fmt::format("normal ({}, {}, {}), height {} mm", Num(p.normal.x()), Num(p.normal.y()),
                       Num(p.normal.z()), Num(1e3 * p.offset));
  };
  if (const auto& second = run.experiment.second) {
    table.Row({"Second body", BodyWords(second->struck.body)});
    table.Row({"Its surface, in its frame", plane(second->struck.surface_B)});
  } else {
    table.Row({"Floor", plane(floor)});
  }
  table.Row(
      {"Gravity", fmt::format("({}, {}, {}) m/s²", Num(g.x(), 6), Num(g.y(), 6), Num(g.z(), 6))});
  table.Row({"Seed", fmt::format("{}", run.experiment.seed)});
  table.Row({"Program", "ImpactLab " + Escape(provenance.version) +
                            (provenance.git_revision.empty()
                                 ? ""
                                 : ", revision " + Escape(provenance.git_revision))});
  table.Row({"Compiler, CPU", Escape(provenance.compiler) + ", " + Escape(provenance.cpu)});
  table.Row({"Computed", Escape(provenance.utc) + fmt::format(", {} s", Num(run.seconds))});
  return table.Html() +
         "<p class=\"foot\">Every key is listed under <a "
         "href=\"#configuration\">Configuration</a>; run.yaml beside this page also holds the "
         "SHA-256 of every input file. events.csv, fit.json, validation.csv and audit.json hold "
         "the numbers in full.</p>\n";
}

}  // namespace

Section MethodsSection(const ReportContext& context) {
  Section section{.id = "methods", .title = "Methods and provenance", .html = {}, .figures = {}};
  section.html = Definitions(context) + CaseTable() + Provenance(context);
  section.html +=
      "<p class=\"foot\">References: J. B. Keller, Impact with friction, J. Appl. Mech. 53 (1986). "
      "W. J. Stronge, Rigid body collisions with friction, Proc. R. Soc. Lond. A 431 (1990). ASME "
      "V&amp;V 20-2009, Standard for Verification and Validation in Computational Fluid Dynamics "
      "and Heat Transfer.</p>\n";
  return section;
}

}  // namespace impactlab::pipelines
