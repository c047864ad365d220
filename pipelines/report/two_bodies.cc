// Impacts of two bodies that both move: the struck body, and the balance of the momentum of both.
#include <fmt/format.h>

#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

constexpr double kUnlikely = 1e-3;  // probability below which the closure of one impact is marked

std::string StruckWords(const StruckBody& struck) {
  if (!struck.axis) return fmt::format("is free, with a mass of {} kg", Num(struck.body.mass));
  const Eigen::Vector3d u = struck.axis->axis_W.normalized();
  return fmt::format("turns about a fixed axis along ({}, {}, {}), with a mass of {} kg",
                     Num(u.x()), Num(u.y()), Num(u.z()), Num(struck.body.mass));
}

}  // namespace

Section TwoBodySection(const ReportContext& context) {
  Section section{.id = "two-bodies", .title = "Two bodies", .html = {}, .figures = {}};
  const MomentumClosure closure = ClosureOf(context.best.events);
  section.html = fmt::format(
      "<p>The struck body moves as well: it {}. Velocities of the first body are against the point "
      "of the second that it strikes, as that moved just before the impact, and the contact yields "
      "by the inverse masses of both: relative motion of two bodies.</p>\n",
      StruckWords(context.run.experiment.second->struck));
  const std::string words = Capitalized(Escape(ToWords(closure)));
  section.html +=
      fmt::format("<p class=\"finding {}\">{}. No law of impact enters this check.</p>\n",
                  closure.ok ? "calm" : "", words);
  HtmlTable table(
      "Relative motion and momentum of every accepted impact",
      {"Recording", "#Impact", "#Approach [m/s]", "#Contact of 2 before [m/s]",
       "#Change by the impact [m/s]", "#Yield of 2", "#Closure χ²", "#dof", "Momentum"});
  for (const ImpactEvent& event : context.best.events) {
    if (!event.accepted || !event.struck) continue;
    const StruckState& struck = *event.struck;
    const Eigen::Vector3d n = event.contact.X_WF.linear().col(2);
    const Eigen::Vector3d before = struck.PointMinus(event.p_WP),
                          change = struck.PointPlus(event.p_WP) - before;
    const bool closes =
        1 - ChiSquareCdf(struck.closure_chi_square, struck.closure_dof) >= kUnlikely;
    table.Row({Escape(event.recording), fmt::format("{}", event.impact),
               Num(-event.contact.v_minus_F.z()), Num(before.norm()), Num(change.norm()),
               Percent(n.dot(struck.A_W * n) / event.contact.A_F(2, 2)),
               Num(struck.closure_chi_square), fmt::format("{}", struck.closure_dof),
               closes ? "<span class=\"ok\">closes</span>"
                      : "<span class=\"notok\">does not close</span>"});
  }
  if (table.rows() == 0) return section;
  section.html += table.Html(true) +
                  "<p class=\"foot\">Yield of 2: share of the second body in the inverse mass "
                  "along the normal. Closure: change of the momentum of both bodies together, on "
                  "an axis of its moment about the axis, against its covariance.</p>\n";
  return section;
}

}  // namespace impactlab::pipelines
