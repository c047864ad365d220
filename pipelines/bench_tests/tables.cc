// Tables and page of bench tests for coefficients.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/page.h"

namespace impactlab {
namespace {

PresentationTable Coefficients(const std::vector<const CoefficientTest*>& some) {
  PresentationTable form{
      "coefficients", "Coefficients from their readings",
      "± standard uncertainty (GUM); interval of 95 % by Monte Carlo (JCGM 101). "
      "Linear: whether the budget alone gives the "
      "same interval."};
  form.columns = {{"test", "test"},
                  {"coefficient", "coefficient"},
                  {"method", "method"},
                  {"value", "value", true},
                  {"lower95", "from", true},
                  {"upper95", "to (95 %)", true},
                  {"dof", "degrees of freedom", true},
                  {"linear", "linear"},
                  {"rounded_half_width", "rounding of the readings", true},
                  {"printed", "printed", true},
                  {"verdict", "verdict"},
                  {"note", "note"}};
  for (const CoefficientTest* t : some) {
    const FormCell printed =
        t->printed.there() ? FormCell(t->printed.value, t->printed.text) : FormCell();
    bool first = true;
    for (const CoefficientResult& r : t->results) {
      std::string notes = first ? t->sentence : "";
      if (!r.undetermined.empty()) notes += (notes.empty() ? "" : "; ") + r.undetermined;
      for (const std::string& note : r.notes) notes += (notes.empty() ? "" : "; ") + note;
      const double u = r.result.u;
      const auto end = [&](double x) {
        return FormCell(x, pipelines::Fixed(x, pipelines::DecimalsFor(u)));
      };
      const std::string name =
          r.quantity.empty() ? t->coefficient : r.quantity + " [" + r.unit + "]";
      if (!r.undetermined.empty()) {
        form.Row({t->name,
                  name,
                  r.method,
                  {},
                  {},
                  {},
                  {},
                  "",
                  {},
                  first ? printed : FormCell(),
                  first ? VerdictName(t->verdict) : "",
                  notes});
        first = false;
        continue;
      }
      form.Row({t->name, name, r.method, FormCell(r.result.value, u),
                end(r.result.interval95.lower), end(r.result.interval95.upper),
                std::isfinite(r.result.dof) ? FormCell(r.result.dof) : FormCell(),
                r.result.linear_holds ? "holds" : "does not hold",
                FormCell(r.rounded.bound, fmt::format("{:.2g}", r.rounded.bound)),
                first ? printed : FormCell(), first ? VerdictName(t->verdict) : "", notes});
      first = false;
    }
    if (t->results.empty())
      form.Row({t->name,
                t->coefficient,
                "none",
                {},
                {},
                {},
                {},
                "",
                {},
                printed,
                VerdictName(t->verdict),
                t->sentence});
  }
  return form;
}

PresentationTable Budgets(const std::vector<const CoefficientTest*>& some) {
  PresentationTable form{"budgets", "Where the uncertainty comes from",
                         "Contribution: |sensitivity| times u. Share: of the variance."};
  form.columns = {{"test", "test"},
                  {"method", "method"},
                  {"quantity", "quantity"},
                  {"value", "value", true},
                  {"unit", "unit"},
                  {"u", "u", true},
                  {"distribution", "distribution"},
                  {"dof", "degrees of freedom", true},
                  {"sensitivity", "sensitivity", true},
                  {"contribution", "contribution", true},
                  {"share_percent", "share [%]", true},
                  {"source", "source"}};
  const auto shown = [](double x) { return FormCell(x, fmt::format("{:.3g}", x)); };
  for (const CoefficientTest* t : some)
    for (const CoefficientResult& r : t->results) {
      if (!r.undetermined.empty()) continue;
      for (std::size_t k = 0; k < r.inputs.size(); ++k) {
        const UncertainInput& in = r.inputs[k];
        const BudgetLine& line = r.result.budget[k];
        form.Row({t->name, r.method, in.name, FormCell(in.value, fmt::format("{:.6g}", in.value)),
                  in.unit, shown(in.u), SpreadName(in.spread),
                  std::isfinite(in.dof) ? FormCell(in.dof) : FormCell(), shown(line.sensitivity),
                  shown(line.contribution),
                  FormCell(100 * line.share, fmt::format("{:.1f}", 100 * line.share)), in.source});
      }
      form.Row({t->name,
                r.method,
                r.quantity.empty() ? t->coefficient : r.quantity,
                FormCell(r.result.value, fmt::format("{:.6g}", r.result.value)),
                r.quantity.empty() ? "1" : r.unit,
                shown(r.result.u),
                "combined",
                std::isfinite(r.result.dof) ? FormCell(r.result.dof) : FormCell(),
                {},
                shown(r.result.u),
                {},
                fmt::format("Monte Carlo of {} draws: {:.4g} ± {:.2g}", r.result.draws,
                            r.result.mean, r.result.sd)});
      form.Row({});
    }
  return form;
}

std::string TileOf(const CoefficientTest& t) {
  const std::string name = pipelines::Escape(t.name), printed = pipelines::Escape(t.printed.text);
  if (t.results.empty()) return pipelines::Tile(name, printed, "not checkable");
  if (!t.determined())
    return pipelines::Tile(name, pipelines::SymbolHtml(t.coefficient) + " not determined",
                           pipelines::Escape(t.results[0].method));
  return pipelines::Tile(name,
                         pipelines::SymbolHtml(t.coefficient) + " = " +
                             pipelines::ValueSd(t.results[0].result.value, t.results[0].result.u),
                         t.printed.there() ? printed + " printed: " + VerdictName(t.verdict) : "");
}

}  // namespace

std::vector<PresentationTable> FormsOf(const CoefficientTests& all) {
  std::vector<const CoefficientTest*> whole;
  for (const CoefficientTest& t : all.tests) whole.push_back(&t);
  return {Coefficients(whole), Budgets(whole)};
}

void WriteCoefficients(const std::filesystem::path& folder, const CoefficientTests& all) {
  const std::vector<PresentationTable> forms = FormsOf(all);
  WriteForms(folder, forms);
  pipelines::Page page;
  page.title = all.name;
  pipelines::PageHead head{.eyebrow = "ImpactLab tests for coefficients", .title = all.name};
  if (!all.source.empty()) head.remarks = {{"second", pipelines::Escape(all.source)}};
  for (const CoefficientTest& t : all.tests) head.tiles += TileOf(t);
  page.head = pipelines::PageHeadHtml(head);
  const auto section = [&](const std::string& id, const std::string& title, std::string html) {
    pipelines::Section s;
    s.id = id;
    s.title = title;
    s.html = std::move(html);
    page.sections.push_back(std::move(s));
  };
  std::string list = "<ul>";
  for (const CoefficientTest& t : all.tests) {
    if (!t.sentence.empty())
      list += "<li>" + pipelines::Escape(t.name + ": " + t.sentence) + "</li>";
    for (const CoefficientResult& r : t.results) {
      if (!r.undetermined.empty())
        list +=
            "<li>" +
            pipelines::Escape(t.name + ", " + r.method + ": not determined: " + r.undetermined) +
            "</li>";
      for (const std::string& note : r.notes)
        list += "<li>" + pipelines::Escape(t.name + ", " + r.method + ": " + note) + "</li>";
    }
  }
  PresentationTable values = forms[0];
  for (auto& row : values.rows)
    if (!row.empty()) row.pop_back();
  values.columns.pop_back();
  section("coefficients", "Coefficients", ToHtml(values) + list + "</ul>");
  section("budgets", "Budgets", ToHtml(forms[1]));
  pipelines::WritePage(folder / "index.html", page, {});
}

std::string BriefReport(const CoefficientTests& all) {
  std::string out;
  for (const CoefficientTest& t : all.tests) {
    out += t.name + "\n";
    for (const CoefficientResult& r : t.results) {
      const std::string name = r.quantity.empty() ? t.coefficient : r.quantity;
      if (!r.undetermined.empty()) {
        out += fmt::format("  {} cannot be determined from these readings, {}: {}\n", name,
                           r.method, r.undetermined);
      } else {
        // Two digits of the uncertainty, four places at least.
        const int places = std::max(4, pipelines::DecimalsFor(r.result.u));
        const auto shown = [&](double x) { return fmt::format("{:.{}f}", x, places); };
        out += fmt::format("  {} = {} +- {}{}, 95 % {} to {}, {}\n", name, shown(r.result.value),
                           shown(r.result.u), r.unit.empty() ? "" : " " + r.unit,
                           shown(r.result.interval95.lower), shown(r.result.interval95.upper),
                           r.method);
      }
      for (const std::string& note : r.notes) out += "    " + note + "\n";
    }
    if (!t.sentence.empty()) out += "  " + t.sentence + "\n";
  }
  return out;
}

}  // namespace impactlab
