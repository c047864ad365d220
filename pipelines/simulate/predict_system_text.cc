// The report of an impact at several contacts for the terminal.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "data/files/text.h"
#include "pipelines/simulate/predict_system.h"

namespace impactlab {
namespace {

constexpr int kLabel = 20, kCell = 10;
// Longer lists are in the JSON file; a terminal is for reading.
constexpr std::size_t kMostTextRows = 30;

// A number of at most nine characters; what is rounding beside `scale` is zero.
std::string Cell(double x, double scale) {
  if (!std::isfinite(x)) return "-";
  const double size = std::abs(x);
  if (size <= 1e-10 * scale || x == 0) return "0";
  return size >= 1e-2 && size < 1e4 ? fmt::format("{:.4f}", x) : fmt::format("{:.2e}", x);
}

// Text broken between words, every line after the first indented.
std::string Wrapped(const std::string& text, int width, int indent) {
  const std::size_t margin = std::min(text.find_first_not_of(' '), text.size());
  std::string out = text.substr(0, margin);
  std::size_t column = margin;
  for (std::size_t from = margin; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    const std::size_t length = end - from;
    if (from > margin && column + 1 + length > static_cast<std::size_t>(width)) {
      out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      column = static_cast<std::size_t>(indent);
    } else if (from > margin) {
      out += ' ';
      ++column;
    }
    out += text.substr(from, length);
    column += length;
    from = end + 1;
  }
  return out + "\n";
}

std::string Cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

// The heading of a law in two lines.
std::pair<std::string, std::string> Heading(const std::string& name) {
  const std::size_t bar = name.find('_');
  const std::string first = name.substr(0, bar);
  return {first == "simultaneous" ? "simult." : first,
          bar == name.npos ? "" : name.substr(bar + 1)};
}

std::string SpacedName(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string Count(std::size_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

const char* Axis(int width, int row) {
  constexpr const char* kAxes[] = {"x", "y", "n"};
  return width == 1 ? "n" : width == 2 ? kAxes[row == 0 ? 0 : 2] : kAxes[row];
}

double Scale(const Eigen::VectorXd& v) { return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0; }

class Report {
 public:
  Report(const SystemToPredict& problem, const SystemPrediction& prediction, int width)
      : problem_(problem), p_(prediction), width_(std::max(width, kLabel + 3 * kCell)) {
    for (const ContactProperties& c : problem.system.contacts)
      rough_ = rough_ || (problem.system.width > 1 && c.mu_s > 0);
  }

  std::string Text() {
    Head();
    std::vector<const SystemLaw*> shown;
    for (const SystemLaw& law : p_.laws)
      if (law.outcome.usable()) shown.push_back(&law);
    const auto at_once = static_cast<std::size_t>(std::max(1, (width_ - kLabel - kCell) / kCell));
    for (std::size_t from = 0; from < shown.size(); from += at_once)
      Table({shown.begin() + static_cast<std::ptrdiff_t>(from),
             shown.begin() + static_cast<std::ptrdiff_t>(std::min(shown.size(), from + at_once))});
    Notes();
    Sets();
    return out_;
  }

 private:
  using Laws = std::vector<const SystemLaw*>;

  void Line(const std::string& text, int indent = 2) { out_ += Wrapped(text, width_, indent); }

  void Head() {
    const ImpactSystem& s = problem_.system;
    Line(problem_.name);
    if (!problem_.source.empty()) Line(problem_.source, 0);
    const std::size_t m = s.contacts.size();
    std::string text = fmt::format("{} velocit{}", s.M.rows(), s.M.rows() == 1 ? "y" : "ies");
    if (s.joints.rows() > 0) text += fmt::format(", of which joints leave {} free", p_.freedoms);
    text += ", " + Count(m, "contact");
    text += s.width == 1 ? " without friction" : s.width == 2 ? " in a plane" : " in space";
    if (p_.normal_rank < static_cast<int>(m))
      text += fmt::format(", redundant: {} of them independent", p_.normal_rank);
    Line(text + fmt::format("; kinetic energy before {:.6g} J", p_.energy_minus), 0);
    if (p_.approaching.empty()) {
      Line(
          "No contact approaches: there is no impact. A normal points into the first body of its "
          "pair.",
          0);
      return;
    }
    std::vector<std::string> names;
    for (const int i : p_.approaching)
      names.push_back(s.contacts[static_cast<std::size_t>(i)].name);
    const std::size_t n = names.size();
    if (n > kMostTextRows)
      names.resize(kMostTextRows), names.push_back(fmt::format("and {} more", n - kMostTextRows));
    Line(fmt::format("approaching: {}", JoinNames(names)));
    if (!p_.can_separate)
      Line("No motion lifts every contact: the system is wedged between its surfaces.", 0);
  }

  // One row of a table: the value before, where there is one, and one for each law.
  void Row(const std::string& label, const std::string& before, const Laws& laws,
           const std::function<std::string(const SystemLaw&)>& cell) {
    out_ += fmt::format("{:<{}}{:>{}}", Cut(label, kLabel - 1), kLabel, before, kCell);
    for (const SystemLaw* law : laws) out_ += fmt::format("{:>{}}", cell(*law), kCell);
    out_ += "\n";
  }

  void Title(const std::string& text) { out_ += text + "\n"; }

  void More(std::size_t n) {
    if (n > kMostTextRows)
      out_ += fmt::format("  ... and {} more: --out FILE, --csv FILE\n", n - kMostTextRows);
  }

  void Table(const Laws& laws) {
    const ImpactSystem& s = problem_.system;
    out_ += "\n";
    Row("", "", laws, [](const SystemLaw& law) { return Heading(law.name).first; });
    Row("", "before", laws, [](const SystemLaw& law) { return Heading(law.name).second; });
    const std::size_t n = problem_.velocities.size();
    Title("velocities after, m/s and rad/s");
    double scale_m = 0, scale_rad = 0, scale_any = Scale(s.u_minus);
    for (std::size_t k = 0; k < n; ++k) {
      const std::string& unit = problem_.velocities[k].unit;
      double& scale = unit == "m/s" ? scale_m : unit == "rad/s" ? scale_rad : scale_any;
      scale = std::max(scale, std::abs(s.u_minus[static_cast<Eigen::Index>(k)]));
      for (const SystemLaw* law : laws)
        scale = std::max(scale, std::abs(law->outcome.u_plus[static_cast<Eigen::Index>(k)]));
    }
    for (std::size_t k = 0; k < std::min(n, kMostTextRows); ++k) {
      const SystemVelocity& v = problem_.velocities[k];
      const auto at = static_cast<Eigen::Index>(k);
      const double scale = v.unit == "m/s" ? scale_m : v.unit == "rad/s" ? scale_rad : scale_any;
      Row(Labelled(v), Cell(s.u_minus[at], scale), laws,
          [&](const SystemLaw& law) { return Cell(law.outcome.u_plus[at], scale); });
    }
    More(n);
    const double speed = Scale(p_.v_minus);
    PerContact("contacts after, m/s", laws, true, speed, &p_.v_minus,
               [](const SystemLaw& law) -> const Eigen::VectorXd& { return law.outcome.v_plus; });
    double impulse = 0;
    for (const SystemLaw* law : laws) impulse = std::max(impulse, Scale(law->outcome.J));
    PerContact("impulses, N s", laws, rough_, impulse, nullptr,
               [](const SystemLaw& law) -> const Eigen::VectorXd& { return law.outcome.J; });
    Works(laws);
    Row("energy lost, %", "", laws, [&](const SystemLaw& law) {
      const double lost =
          p_.energy_minus > 0 ? -100 * law.outcome.energy_change / p_.energy_minus : 0;
      return fmt::format("{:.2f}", std::abs(lost) < 0.005 ? 0 : lost);
    });
    Row("events", "", laws,
        [](const SystemLaw& law) { return std::to_string(law.outcome.events); });
    Row("certificate", "", laws, [](const SystemLaw& law) {
      return law.certificate.ok ? std::string("holds") : std::string("fails");
    });
  }

  static std::string Labelled(const SystemVelocity& v) {
    const std::string tail = v.component.empty() ? "" : " " + v.component;
    return "  " + Cut(v.body, static_cast<std::size_t>(kLabel) - 3 - tail.size()) + tail;
  }

  void PerContact(const std::string& title, const Laws& laws, bool tangents, double scale,
                  const Eigen::VectorXd* before,
                  const std::function<const Eigen::VectorXd&(const SystemLaw&)>& values) {
    const ImpactSystem& s = problem_.system;
    Title(title);
    const std::size_t m = s.contacts.size();
    for (std::size_t i = 0; i < std::min(m, kMostTextRows); ++i)
      for (int row = tangents ? 0 : s.width - 1; row < s.width; ++row) {
        const auto at = static_cast<Eigen::Index>(i) * s.width + row;
        const std::string label =
            "  " + Cut(s.contacts[i].name, kLabel - 5) + " " + Axis(s.width, row);
        Row(label, before != nullptr ? Cell((*before)[at], scale) : "", laws,
            [&](const SystemLaw& law) { return Cell(values(law)[at], scale); });
      }
    More(m);
  }

  void Works(const Laws& laws) {
    const ImpactSystem& s = problem_.system;
    Title(!rough_ ? "work of the normal impulse, J"
                  : "work of the normal impulse and of friction, J");
    const std::size_t m = s.contacts.size();
    for (std::size_t i = 0; i < std::min(m, kMostTextRows); ++i)
      for (int row = 0; row < (rough_ ? 2 : 1); ++row) {
        const auto at = static_cast<Eigen::Index>(i);
        const std::string label =
            "  " + Cut(s.contacts[i].name, kLabel - 5) + (row == 0 ? " n" : " t");
        Row(label, "", laws, [&](const SystemLaw& law) {
          return Cell((row == 0 ? law.outcome.work_n : law.outcome.work_t)[at], p_.energy_minus);
        });
      }
    More(m);
  }

  // What a table has no room for: laws without an outcome, certificates that fail, how far the laws
  // differ, what e is to each.
  void Notes() {
    out_ += "\n";
    for (const SystemLaw& law : p_.laws) {
      const MultiOutcome& o = law.outcome;
      if (!o.usable())
        Line(fmt::format("{}: {}, {}.", SpacedName(law.name),
                         o.status == SolveStatus::kInvalid ? "does not apply" : "has no outcome",
                         o.reason));
    }
    bool all = true;
    for (const SystemLaw& law : p_.laws) {
      if (!law.outcome.usable() || law.certificate.ok) continue;
      all = false;
      std::string text = fmt::format("{}: the certificate fails", SpacedName(law.name));
      for (const CertificateCheck& check : law.certificate.checks)
        if (!check.ok)
          text += fmt::format(" {} ({:.2g}, allowed {:.2g})", check.name, check.value, check.limit);
      if (law.certificate.Failed() == "energy")
        text += fmt::format(": {:.4g} J were gained", law.outcome.energy_change);
      Line(text + ".");
    }
    if (p_.approaching.empty()) return;
    if (all && p_.usable()) Line("Every outcome above holds its certificate.");
    Differences();
    out_ += "What the restitution means to each law:\n";
    for (const SystemLaw& law : p_.laws)
      if (law.outcome.usable())
        Line(fmt::format("  {}: {}", SpacedName(law.name), law.definition), 4);
    out_ += "\n";
  }

  void Differences() {
    const ImpactSystem& s = problem_.system;
    double most = 0, low = 0, high = 0;
    std::size_t contact = 0;
    for (std::size_t i = 0; i < s.contacts.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i + 1) * s.width - 1;
      double lo = std::numeric_limits<double>::infinity(), hi = -lo;
      for (const SystemLaw& law : p_.laws)
        if (law.outcome.usable())
          lo = std::min(lo, law.outcome.v_plus[at]), hi = std::max(hi, law.outcome.v_plus[at]);
      if (hi - lo > most) most = hi - lo, low = lo, high = hi, contact = i;
    }
    const double scale = Scale(p_.v_minus);
    if (most <= 1e-9 * scale) return;
    Line(fmt::format("The laws differ most at {}: its normal velocity after is {} to {} m/s.",
                     s.contacts[contact].name, Cell(low, scale), Cell(high, scale)));
  }

  void Sets() {
    if (p_.sets.empty()) return;
    bool several = false;
    std::vector<const SystemOutcomes*> found;
    for (const SystemOutcomes& set : p_.sets) {
      const bool order = set.over == "order";
      const std::string what =
          order ? "Order of single impacts (energetic law)" : "Stiffness of frictionless springs";
      // Where the law itself does not apply, its reason stands above.
      if (p_.laws[0].outcome.status == SolveStatus::kInvalid && !order) continue;
      if (!set.reason.empty()) {
        Line(fmt::format("{}: {}.", what, set.reason));
        continue;
      }
      found.push_back(&set);
      const std::size_t n = set.v_plus.size();
      several = several || n > 1;
      Line(fmt::format("{}: {} tried{}, {}.", what,
                       Count(static_cast<std::size_t>(set.tried), order ? "order" : "combination"),
                       set.complete ? "" : " (more exist, or some did not end)",
                       n == 1 ? "one outcome" : fmt::format("{} different outcomes", n)));
    }
    if (found.empty()) return;
    if (!several) {
      Line("Nothing that was tried changes the outcome: only the choice of the law is left.");
      return;
    }
    Line(
        "The outcome is not unique: rigid bodies do not say in which order, or how stiffly, the "
        "contacts press. The set is the answer. "
        "Normal velocities after, m/s:",
        0);
    out_ += fmt::format("{:<{}}", "", kLabel);
    for (const SystemOutcomes* set : found)
      out_ += fmt::format("{:>{}}", set->over + ": least", 2 * kCell) +
              fmt::format("{:>{}}", "most", kCell);
    out_ += "\n";
    const ImpactSystem& s = problem_.system;
    const double scale = Scale(p_.v_minus);
    for (std::size_t i = 0; i < std::min(s.contacts.size(), kMostTextRows); ++i) {
      const auto at = static_cast<Eigen::Index>(i) * s.width + s.width - 1;
      out_ += fmt::format("{:<{}}", "  " + Cut(s.contacts[i].name, kLabel - 3), kLabel);
      for (const SystemOutcomes* set : found)
        out_ += fmt::format("{:>{}}{:>{}}", Cell(set->v_range(at, 0), scale), 2 * kCell,
                            Cell(set->v_range(at, 1), scale), kCell);
      out_ += "\n";
    }
    More(s.contacts.size());
  }

  const SystemToPredict& problem_;
  const SystemPrediction& p_;
  int width_;
  bool rough_ = false;  // some contact has friction
  std::string out_;
};

}  // namespace

std::string SystemText(const SystemToPredict& problem, const SystemPrediction& prediction,
                       int width) {
  return Report(problem, prediction, width).Text();
}

}  // namespace impactlab
