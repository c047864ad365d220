// The page of a simulation: animation, plots, table of events.

#include "pipelines/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/files/text.h"
#include "pipelines/page/assets.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/motion_json.h"
#include "pipelines/simulate/simulate.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::Index;
using Eigen::Isometry3d;
using Eigen::Vector3d;
using pipelines::Escape;
using pipelines::Figure;
using pipelines::Mark;
using pipelines::Num;
using pipelines::Plot;
using pipelines::Series;

constexpr std::size_t kMostPageFrames = 1500;
constexpr std::size_t kMostPageRows = 200;
constexpr std::size_t kMostMarks = 2000;  // events of the animation

std::string What(const Scenario& scenario, const SimulationEvent& event) {
  std::string names;
  for (const int c : event.contacts)
    names +=
        (names.empty() ? "" : ", ") + scenario.mechanism.contacts[static_cast<std::size_t>(c)].name;
  std::string kind = SimulationEventName(event.kind);
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return names.empty() ? kind : kind + ": " + names;
}

std::string FilmJson(const Scenario& scenario, const SimulatedMotion& motion) {
  const std::size_t n = motion.samples.size(), stride = (n + kMostPageFrames - 1) / kMostPageFrames;
  Json t = Json::array(), frames = Json::array();
  Vector3d low = Vector3d::Constant(INFINITY), high = -low;
  double size = 0;
  for (const pipelines::DrawnPart& part : scenario.parts) {
    size = std::max(size, part.ball_radius + part.thickness);
    for (const Vector3d& p : part.points_B) size = std::max(size, p.norm());
  }
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < n; i += stride) shown.push_back(i);
  if (shown.back() != n - 1) shown.push_back(n - 1);
  for (const std::size_t i : shown) {
    const MotionSample& sample = motion.samples[i];
    t.push_back(pipelines::Rounded(sample.state.t, 9));
    Json frame = Json::array();
    const std::vector<Isometry3d> poses = scenario.poses(sample.state);
    for (std::size_t k = 0; k < poses.size(); ++k) {
      const Eigen::Quaterniond q(poses[k].linear());
      Json pose = pipelines::TripleJson(poses[k].translation());
      for (const double x : {q.w(), q.x(), q.y(), q.z()}) pose.push_back(pipelines::Rounded(x, 5));
      frame.push_back(pose);
      const pipelines::DrawnPart& part = scenario.parts[k];
      for (const Vector3d& p_B : part.points_B) {
        const Vector3d p = poses[k] * p_B,
                       reach = Vector3d::Constant(std::max(part.ball_radius, part.thickness / 2));
        low = low.cwiseMin(p - reach);
        high = high.cwiseMax(p + reach);
      }
    }
    frames.push_back(frame);
  }
  Json planes = Json::array(), parts = Json::array(), events = Json::array();
  for (const pipelines::DrawnPlane& plane : scenario.planes)
    planes.push_back(pipelines::PlaneJson(plane));
  for (const pipelines::DrawnPart& part : scenario.parts)
    parts.push_back(pipelines::PartJson(
        part, scenario.poses_in_columns ? part.points_B.front() : Vector3d::Zero()));
  for (const SimulationEvent& event : motion.events) {
    if (events.size() == kMostMarks) break;
    events.push_back({{"t", pipelines::Rounded(event.t, 9)}, {"what", What(scenario, event)}});
  }
  return Json{{"planar", scenario.planar()},
              {"size", size},
              {"low", pipelines::TripleJson(low)},
              {"high", pipelines::TripleJson(high)},
              {"t", t},
              {"poses", frames},
              {"parts", parts},
              {"planes", planes},
              {"events", events}}
      .dump();
}

// "v_x_m_per_s" -> "v_x [m/s]"
std::string Label(std::string name) {
  for (const auto& [unit, shown] : {std::pair{"_rad_per_s", " [rad/s]"},
                                    {"_m_per_s", " [m/s]"},
                                    {"_rad", " [rad]"},
                                    {"_m", " [m]"}}) {
    const std::string_view end(unit);
    if (name.size() <= end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    return name.substr(0, name.size() - end.size()) + shown;
  }
  return name;
}

Series Line(const SimulatedMotion& motion, std::string name, int colour,
            const std::function<double(const MotionSample&)>& y) {
  Series s;
  s.name = std::move(name);
  s.mark = Mark::kLine;
  s.colour = colour;
  for (const MotionSample& sample : motion.samples) {
    s.x.push_back(sample.state.t);
    s.y.push_back(y(sample));
  }
  return s;
}

Figure Finished(Figure figure) {
  for (Plot& plot : figure.plots) pipelines::PreparePlot(plot);
  return figure;
}

Figure Coordinates(const Scenario& scenario, const SimulatedMotion& motion) {
  Figure figure;
  figure.id = "coordinates";
  figure.title = "Coordinates";
  figure.selectors = {"Quantity"};
  const Mechanism& m = scenario.mechanism;
  // The height is what one looks for first.
  std::vector<int> order(static_cast<std::size_t>(m.n_q));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto height = [&](int i) {
      return m.q_names[static_cast<std::size_t>(i)].find("z_m") != std::string::npos;
    };
    return height(a) > height(b);
  });
  const auto add = [&](const std::string& name,
                       const std::function<double(const MotionSample&)>& value) {
    Plot plot;
    plot.choice = {Label(name)};
    plot.x_label = "t [s]";
    plot.y_label = Label(name);
    plot.series.push_back(Line(motion, "", 0, value));
    figure.plots.push_back(plot);
  };
  for (const int i : order)
    add(m.q_names[static_cast<std::size_t>(i)],
        [i](const MotionSample& s) { return s.state.q[i]; });
  for (int i = 0; i < m.n_u; ++i)
    add(m.u_names[static_cast<std::size_t>(i)],
        [i](const MotionSample& s) { return s.state.u[i]; });
  figure.caption = "Samples of the motion; impacts change velocities at once.";
  return Finished(figure);
}

Figure EnergyFigure(const Scenario& scenario, const SimulatedMotion& motion) {
  Figure figure;
  figure.id = "energy";
  figure.title = "Energy";
  Plot plot;
  plot.x_label = "t [s]";
  plot.y_label = "energy [J]";
  plot.series = {Line(motion, "kinetic and potential", 0,
                      [](const MotionSample& s) { return s.kinetic + s.potential; }),
                 Line(motion, "kinetic", 1, [](const MotionSample& s) { return s.kinetic; })};
  figure.plots = {plot};
  figure.caption = scenario.mechanism.passive
                       ? "Nothing drives the mechanism: the sum must never grow."
                       : "A surface or a torque drives the mechanism; its energy may grow.";
  return Finished(figure);
}

Figure PhasesFigure(const Scenario& scenario, const SimulatedMotion& motion) {
  Figure figure;
  figure.id = "phase";
  figure.title = "Phase portrait";
  figure.selectors = {"Contact or angle"};
  const Mechanism& m = scenario.mechanism;
  const auto add = [&](const std::string& choice, const std::string& x, const std::string& y,
                       std::vector<double> xs, std::vector<double> ys) {
    Plot plot;
    plot.choice = {choice};
    plot.x_label = x;
    plot.y_label = y;
    Series s;
    s.mark = Mark::kLine;
    s.x = std::move(xs);
    s.y = std::move(ys);
    plot.series.push_back(std::move(s));
    figure.plots.push_back(std::move(plot));
  };
  ContactTerms terms;
  for (std::size_t c = 0; c < m.contacts.size() && c < 16; ++c) {
    std::vector<double> gap, rate;
    for (const MotionSample& sample : motion.samples) {
      m.contact(sample.state, static_cast<int>(c), terms);
      gap.push_back(terms.gap);
      rate.push_back(terms.rows.row(m.width - 1) * sample.state.u - terms.v_surface[m.width - 1]);
    }
    add(m.contacts[c].name, "gap [m]", "rate of the gap [m/s]", gap, rate);
  }
  for (int i = 0; i < m.n_q && m.n_q == m.n_u; ++i) {
    const std::string& name = m.q_names[static_cast<std::size_t>(i)];
    if (name.find("_rad") == std::string::npos) continue;
    std::vector<double> angle, rate;
    for (const MotionSample& sample : motion.samples)
      angle.push_back(sample.state.q[i]), rate.push_back(sample.state.u[i]);
    add(Label(name), Label(name), Label(m.u_names[static_cast<std::size_t>(i)]), angle, rate);
  }
  figure.caption = "Impacts are jumps along the vertical.";
  return Finished(figure);
}

Figure Forces(const Scenario& scenario, const SimulatedMotion& motion) {
  Figure figure;
  figure.id = "forces";
  figure.title = "Normal forces";
  const Mechanism& m = scenario.mechanism;
  Plot plot;
  plot.x_label = "t [s]";
  plot.y_label = "normal force [N]";
  for (std::size_t c = 0; c < m.contacts.size() && plot.series.size() < 8; ++c) {
    const auto at = static_cast<Index>(c) * m.width + m.width - 1;
    const bool any = std::any_of(motion.samples.begin(), motion.samples.end(),
                                 [&](const MotionSample& s) { return std::abs(s.lambda[at]) > 0; });
    if (any)
      plot.series.push_back(Line(motion, m.contacts[c].name, static_cast<int>(plot.series.size()),
                                 [at](const MotionSample& s) { return s.lambda[at]; }));
  }
  if (plot.series.empty()) return figure;
  figure.plots = {plot};
  figure.caption = "Of contacts that last; impacts are impulses and do not appear.";
  return Finished(figure);
}

// Components of a contact; what is rounding beside the others shows as 0.
std::string Cells(const Eigen::VectorXd& v, Index at, Index n) {
  const double largest = v.segment(at, n).cwiseAbs().maxCoeff();
  std::string out;
  for (Index k = 0; k < n; ++k)
    out += (k > 0 ? ", " : "") + Num(std::abs(v[at + k]) < 1e-12 * largest ? 0 : v[at + k], 4);
  return out;
}

std::string EventTable(const Scenario& scenario, const SimulatedMotion& motion) {
  pipelines::HtmlTable table("", {"#t [s]", "event", "contact", "#v before [m/s]", "#v after [m/s]",
                                  "#impulse [N s]", "case"});
  const int w = scenario.mechanism.width;
  std::size_t rows = 0;
  for (const SimulationEvent& event : motion.events) {
    if (rows == kMostPageRows) break;
    std::string kind = SimulationEventName(event.kind);
    std::replace(kind.begin(), kind.end(), '_', ' ');
    if (event.contacts.empty()) table.Row({Num(event.t, 7), kind, "", "", "", "", ""});
    for (std::size_t slot = 0; slot < event.contacts.size() && rows < kMostPageRows;
         ++slot, ++rows) {
      const auto at = static_cast<Index>(slot) * w;
      const auto cells = [&](const Eigen::VectorXd& v) {
        return v.size() >= at + w ? Cells(v, at, w) : std::string();
      };
      table.Row(
          {Num(event.t, 7), kind,
           Escape(scenario.mechanism.contacts[static_cast<std::size_t>(event.contacts[slot])].name),
           cells(event.v_minus), cells(event.v_plus), cells(event.J),
           slot < event.cases.size() ? Escape(event.cases[slot]) : ""});
    }
  }
  std::string out = table.Html(true);
  if (rows == kMostPageRows)
    out += "<p class=\"foot\">The first " + std::to_string(kMostPageRows) +
           " rows; all of them stand in events.csv.</p>";
  return out;
}

std::string Head(const Scenario& scenario, const SimulatedMotion& motion) {
  const SimulationResult& r = motion.result;
  const auto energy = [](const MotionSample& s) { return s.kinetic + s.potential; };
  const double lost = energy(motion.samples.front()) - energy(motion.samples.back());
  pipelines::PageHead head{.eyebrow = "ImpactLab simulation",
                           .title = scenario.name,
                           .lead = Escape(Capitalized(pipelines::EndPhrase(r) + "."))};
  if (!scenario.source.empty()) head.remarks = {{"second", Escape(scenario.source)}};
  head.tiles = pipelines::Tile("Impacts", std::to_string(r.impacts),
                               pipelines::Count(r.events, "event") + " of all kinds");
  if (r.last_accumulation > 0)
    head.tiles += pipelines::Tile("Chatter ended", Num(r.last_accumulation, 8) + " s",
                                  "the last of its accumulation times");
  if (scenario.mechanism.passive)
    head.tiles +=
        pipelines::Tile("Energy lost", Num(lost, 4) + " J",
                        "largest gain over a step or an event: " + Num(r.energy_gain, 2) + " J");
  else
    head.tiles += pipelines::Tile("Energy", Num(energy(motion.samples.back()), 4) + " J",
                                  "at the end; the mechanism is driven");
  head.tiles += pipelines::Tile("Deepest", Num(std::max(0.0, -r.deepest), 2) + " m",
                                "penetration of any contact after any step");
  return pipelines::PageHeadHtml(head);
}

}  // namespace

void WriteMotionPage(const std::filesystem::path& path, const Scenario& scenario,
                     const SimulatedMotion& motion, const std::string& library) {
  pipelines::Page page;
  page.title = scenario.name;
  page.head = Head(scenario, motion);
  pipelines::Section film{"motion", "Motion", "", {}};
  film.html =
      "<div id=\"motion-view\"><div class=\"controls\"></div><div class=\"sight\"><p "
      "class=\"told\"></p></div></div>"
      "<noscript><p class=\"notice\">The animation needs scripts, which this browser does not "
      "run.</p></noscript>";
  page.sections.push_back(std::move(film));
  pipelines::Section plots{"plots", "Plots", "", {}};
  for (Figure figure : {Coordinates(scenario, motion), EnergyFigure(scenario, motion),
                        PhasesFigure(scenario, motion), Forces(scenario, motion)})
    if (!figure.empty()) plots.figures.push_back(std::move(figure));
  plots.html = "<div class=\"pair\">";
  for (const Figure& figure : plots.figures)
    plots.html += pipelines::FigureHtml(figure, !library.empty());
  plots.html += "</div>";
  page.sections.push_back(std::move(plots));
  if (!motion.events.empty())
    page.sections.push_back({"events", "Events", EventTable(scenario, motion), {}});
  page.data = {{"motion-data", FilmJson(scenario, motion)}};
  page.styles = {pipelines::kMotionStyle};
  page.scripts = {pipelines::kMotionScript};
  pipelines::WritePage(path, page, library);
}

}  // namespace impactlab
