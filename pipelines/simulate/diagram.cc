#include "pipelines/simulate/diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "data/base/parallel.h"
#include "data/files/table.h"
#include "impact/motion/orbit.h"
#include "pipelines/config/run_context.h"
#include "pipelines/simulate/detail/diagram_journal.h"
#include "pipelines/simulate/orbits.h"

namespace impactlab {
namespace {

using Eigen::VectorXd;

// Part of the tolerance within which a motion repeats exactly.
constexpr double kSettled = 1e-5;

double PhaseOf(const Scenario& scenario) {
  for (const pipelines::DrawnPlane& plane : scenario.planes)
    if (plane.amplitude > 0) return plane.phase;
  return 0;
}

std::vector<int> RecordIndices(const Diagram& diagram, const Mechanism& mechanism) {
  std::vector<std::string> all = mechanism.q_names;
  all.insert(all.end(), mechanism.u_names.begin(), mechanism.u_names.end());
  std::vector<int> out;
  for (const std::string& name : diagram.record)
    out.push_back(static_cast<int>(std::find(all.begin(), all.end(), name) - all.begin()));
  return out;
}

bool Inside(const Mechanism& mechanism, const MechanismState& state) {
  ContactTerms terms;
  for (int k = 0; k < static_cast<int>(mechanism.contacts.size()); ++k) {
    mechanism.contact(state, k, terms);
    if (terms.gap < -1e-9) return true;
  }
  return false;
}

// Crossings of the section, each with the impacts and releases before it.
struct Crossings {
  std::vector<VectorXd> points;
  std::vector<int> impacts_at, releases_at;
  int impacts = 0, releases = 0;
};

Section SectionOf(const Diagram& diagram, const Scenario& scenario) {
  if (diagram.section == DiagramSection::kApex)
    return {[k = diagram.falling](const MechanismState& s) { return s.u[k]; }, -1};
  const double omega = 2 * M_PI / SurfacePeriod(scenario),
               shift = PhaseOf(scenario) - diagram.phase;
  return {[omega, shift](const MechanismState& s) { return std::sin(omega * s.t + shift); }, 1};
}

// Follows the motion from `start` until all points are there, into `found`.
SimulationResult FollowMotion(const Diagram& diagram, const Scenario& scenario,
                              const MechanismState& start, const RunContext& context,
                              Crossings& found) {
  const Mechanism& mechanism = scenario.mechanism;
  SimulateOptions options = scenario.options;
  options.sample_step = 0;
  options.duration = diagram.longest;
  SimulationObserver observer;
  observer.stop = [&] {
    return context.cancellation != nullptr && context.cancellation->requested();
  };
  observer.event = [&](const SimulationEvent& event) {
    found.impacts += event.kind == SimulationEventKind::kImpact ||
                     event.kind == SimulationEventKind::kImpactWithoutCollision;
    found.releases += event.kind == SimulationEventKind::kRelease;
  };
  observer.sections = {SectionOf(diagram, scenario)};
  observer.crossing = [&, indices = RecordIndices(diagram, mechanism)](int,
                                                                       const MechanismState& s) {
    VectorXd point(static_cast<Eigen::Index>(indices.size()));
    for (std::size_t i = 0; i < indices.size(); ++i)
      point[static_cast<Eigen::Index>(i)] =
          indices[i] < mechanism.n_q ? s.q[indices[i]] : s.u[indices[i] - mechanism.n_q];
    auto& points = found.points;
    points.push_back(point);
    found.impacts_at.push_back(found.impacts);
    found.releases_at.push_back(found.releases);
    const int n = static_cast<int>(points.size()), some = 4 * diagram.longest_period;
    if (n >= diagram.transient + diagram.keep) return true;
    // Where only periods are wanted, a motion that repeats exactly is past its transient.
    return diagram.y && n % some == 0 &&
           FindPeriod({points.end() - some, points.end()}, kSettled * diagram.tolerance, some / 4) >
               0;
  };
  return Simulate(mechanism, start, options, observer);
}

// `from`: the last state of the neighbour, with its time in periods of the surface; null: the
// scenario's own start.
DiagramCell RunCell(const Diagram& diagram, const Scenario& scenario, const MechanismState* from,
                    const RunContext& context) {
  const double period = SurfacePeriod(scenario);
  MechanismState start = scenario.start;
  if (from) {
    MechanismState carried = *from;
    carried.t *= period;
    if (!Inside(scenario.mechanism, carried)) start = carried;
  }
  Crossings found;
  const SimulationResult result = FollowMotion(diagram, scenario, start, context, found);
  context.CheckCancelled();

  std::vector<VectorXd>& points = found.points;
  const std::vector<int>&impacts_at = found.impacts_at, &releases_at = found.releases_at;
  DiagramCell cell;
  cell.end = result.end == SimulationEnd::kStopped ? "complete" : SimulationEndName(result.end);
  // A motion that ended early, on its own, may not have passed the transient.
  const std::size_t drop =
      cell.end == "complete"
          ? points.size() -
                std::min<std::size_t>(points.size(), static_cast<std::size_t>(diagram.keep))
          : std::min(points.size(), static_cast<std::size_t>(diagram.transient));
  points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(drop));
  cell.period = FindPeriod(points, diagram.tolerance, diagram.longest_period);
  if (cell.period > 0)
    cell.impacts = impacts_at.back() -
                   impacts_at[impacts_at.size() - 1 - static_cast<std::size_t>(cell.period)];
  const bool closed = std::any_of(result.mode.begin(), result.mode.end(),
                                  [](PointMode m) { return m != PointMode::kOpen; });
  // A motion that repeats exactly may have bounced before its last periods.
  const std::size_t since =
      cell.period > 0 ? impacts_at.size() - 1 - 3 * static_cast<std::size_t>(cell.period) : drop;
  const bool quiet = since < impacts_at.size() && impacts_at.back() == impacts_at[since] &&
                     releases_at.back() == releases_at[since];
  cell.rests = closed && (quiet || result.end == SimulationEnd::kRest ||
                          result.end == SimulationEnd::kSteady);
  if (!diagram.y)
    for (const VectorXd& p : points) cell.points.emplace_back(p.data(), p.data() + p.size());
  if (diagram.follow != DiagramFollow::kNone && result.end == SimulationEnd::kStopped) {
    cell.last = result.state;
    cell.last.t = period > 0 ? std::fmod(result.state.t, period) / period : 0;
  }
  return cell;
}

}  // namespace

std::vector<DiagramCell> ComputeDiagram(const Diagram& diagram,
                                        const std::filesystem::path& journal_path,
                                        const RunContext& context,
                                        const std::function<void(std::size_t, std::size_t)>& begin,
                                        const std::function<void()>& advance) {
  std::vector<DiagramCell> cells(diagram.size());
  pipelines::DiagramJournal journal(journal_path, diagram, cells);
  const auto left = std::count_if(cells.begin(), cells.end(),
                                  [](const DiagramCell& cell) { return cell.end.empty(); });
  begin(static_cast<std::size_t>(left), journal.damaged());
  const bool follow = diagram.follow != DiagramFollow::kNone;
  const std::size_t rows = diagram.starts.size() * diagram.ny(), nx = diagram.nx();
  // What is carried on runs one after the other; all else is independent.
  const std::size_t length = follow ? nx : 1;
  ForEachIndex(rows * nx / length, context.threads, [&](std::size_t piece) {
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t at = piece * length + k, row = at / nx;
      const std::size_t ix = diagram.follow == DiagramFollow::kDown ? nx - 1 - at % nx : at % nx;
      const std::size_t index = row * nx + ix;
      if (!cells[index].end.empty()) continue;
      context.CheckCancelled();
      const MechanismState* from = nullptr;
      if (follow && k > 0) {
        const MechanismState& last =
            cells[diagram.follow == DiagramFollow::kDown ? index + 1 : index - 1].last;
        if (last.q.size() > 0) from = &last;
      }
      cells[index] =
          RunCell(diagram, diagram.At(row / diagram.ny(), ix, row % diagram.ny()), from, context);
      journal.Append(index, cells[index]);
      advance();
    }
  });
  return cells;
}

namespace {

// Calls write(start, ix, iy, cell) in the order of the files.
template <typename Write>
void ForEachCell(const Diagram& diagram, const std::vector<DiagramCell>& cells,
                 const Write& write) {
  for (std::size_t s = 0; s < diagram.starts.size(); ++s)
    for (std::size_t iy = 0; iy < diagram.ny(); ++iy)
      for (std::size_t ix = 0; ix < diagram.nx(); ++ix)
        write(s, ix, iy, cells[diagram.Index(s, ix, iy)]);
}

}  // namespace

void WriteDiagramPoints(const std::filesystem::path& path, const Diagram& diagram,
                        const std::vector<DiagramCell>& cells) {
  std::vector<std::string> columns = {"start", diagram.x.column, "point"};
  columns.insert(columns.end(), diagram.record.begin(), diagram.record.end());
  CsvWriter out(path, columns);
  ForEachCell(diagram, cells,
              [&](std::size_t s, std::size_t ix, std::size_t, const DiagramCell& cell) {
                for (std::size_t k = 0; k < cell.points.size(); ++k) {
                  out.Text(diagram.starts[s].name)
                      .Number(diagram.x.values[ix])
                      .Integer(static_cast<long long>(k));
                  for (const double value : cell.points[k]) out.Number(value);
                  out.EndRow();
                }
              });
  out.Commit();
}

void WriteDiagramPeriods(const std::filesystem::path& path, const Diagram& diagram,
                         const std::vector<DiagramCell>& cells) {
  std::vector<std::string> columns = {"start", diagram.x.column};
  if (diagram.y) columns.push_back(diagram.y->column);
  for (const char* name : {"end", "period", "impacts_per_period", "rests"})
    columns.emplace_back(name);
  CsvWriter out(path, columns);
  ForEachCell(diagram, cells,
              [&](std::size_t s, std::size_t ix, std::size_t iy, const DiagramCell& cell) {
                out.Text(diagram.starts[s].name).Number(diagram.x.values[ix]);
                if (diagram.y) out.Number(diagram.y->values[iy]);
                out.Text(cell.end).Integer(cell.period);
                cell.impacts < 0 ? out.Text("") : out.Integer(cell.impacts);
                out.Text(cell.rests ? "true" : "false").EndRow();
              });
  out.Commit();
}

}  // namespace impactlab
