// Recordings of a run that are continued past their first impact: with what, their table and their
// summary.

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "pipelines/bounces/forward_prediction.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kFlightFrames = 12;      // that an acceleration of the spin can be told from
constexpr double kSignificance = 3.5;  // standard deviations, as in the audit
constexpr int kMostImpacts = 3;        // later impacts that the summary tells of, one by one

// Rate at which the spin of planar flights dies, of all of them together: theta'' = -rate theta'. 0
// where it is not beyond doubt.
double SpinDrag(const RunResult& run, const FrameCorrection& correction) {
  std::vector<Eigen::Vector3d> flights;  // theta', theta'', weight
  for (std::size_t i = 0; i < run.n_recordings(); ++i) {
    if (run.poses(i).t.empty()) continue;
    if (!run.poses(i).planar) return 0;
    const PoseRecording recording = Correct(run.poses(i), correction);
    for (const FlightArc& arc : run.best().motion[i].arcs) {
      const int n = arc.last - arc.first + 1;
      if (n < kFlightFrames) continue;
      MatrixXd design(n, 3);
      VectorXd theta(n);
      const auto first = static_cast<std::size_t>(arc.first);
      const double middle =
          0.5 * (recording.t[first] + recording.t[static_cast<std::size_t>(arc.last)]);
      for (int k = 0; k < n; ++k) {
        const double t = recording.t[first + static_cast<std::size_t>(k)] - middle;
        design.row(k) << 1, t, 0.5 * t * t;
        theta(k) = recording.theta[first + static_cast<std::size_t>(k)];
      }
      const VectorXd line = design.colPivHouseholderQr().solve(theta);
      flights.emplace_back(line(1), line(2), n * std::pow(arc.duration, 4));
    }
  }
  double square = 0, product = 0, scatter = 0;
  for (const auto& f : flights) square += f.z() * f.x() * f.x(), product -= f.z() * f.x() * f.y();
  if (flights.size() < 3 || !(square > 0)) return 0;
  const double rate = product / square;
  for (const auto& f : flights) scatter += std::pow(f.z() * f.x() * (f.y() + rate * f.x()), 2);
  return rate > kSignificance * std::sqrt(scatter) / square ? rate : 0;
}

struct Quantity {
  std::string name;
  double unit = 1;  // of what is printed
  std::function<double(const BounceRow&, const BounceError&)> error, spread, p;
};

std::vector<Quantity> Quantities(bool at_end) {
  const double nan = std::nan("");
  const auto none = [nan](const BounceRow&, const BounceError&) { return nan; };
  std::vector<Quantity> out = {
      {"along the plane, mm", 1e3, [](const BounceRow&, const BounceError& e) { return e.along; },
       [](const BounceRow&, const BounceError& e) { return e.spread_along; },
       [](const BounceRow&, const BounceError& e) { return e.p_along; }},
      {"attitude, rad", 1, [](const BounceRow&, const BounceError& e) { return e.angle; },
       [](const BounceRow&, const BounceError& e) { return e.spread_angle; },
       [](const BounceRow&, const BounceError& e) { return e.p_angle; }}};
  if (!at_end) return out;
  out.insert(
      out.begin() + 1,
      {"height, mm", 1e3, [](const BounceRow&, const BounceError& e) { return std::abs(e.height); },
       none, none});
  out.push_back(
      {"tilt, rad", 1, [](const BounceRow&, const BounceError& e) { return e.tilt; }, none, none});
  out.push_back({"time of rest, ms", 1e3,
                 [](const BounceRow& r, const BounceError&) {
                   return std::abs(r.rest_simulated - r.rest_recorded);
                 },
                 [](const BounceRow& r, const BounceError&) { return r.rest_spread; },
                 [](const BounceRow& r, const BounceError&) { return r.p_rest; }});
  return out;
}

// Share of the ranks above a level, which is 1 - level for a model that holds.
std::string Within(const std::vector<double>& p, double level) {
  if (p.empty()) return "-";
  const auto inside =
      std::count_if(p.begin(), p.end(), [&](double value) { return value > level; });
  return fmt::format("{:.0f} %",
                     100.0 * static_cast<double>(inside) / static_cast<double>(p.size()));
}

}  // namespace

BounceStudy StudyBounces(const RunResult& run, const BounceOptions& options,
                         const RunContext& context) {
  const Experiment& experiment = run.experiment;
  const Analysis& best = run.best();
  BounceStudy study;
  study.options = options;
  study.law = LawName(MainLaw(experiment));
  const auto fit = std::find_if(best.fit.fits.begin(), best.fit.fits.end(),
                                [&](const LawFit& f) { return f.law == study.law; });
  if (fit == best.fit.fits.end() || !fit->fitted())
    throw ConfigError(
        "bounces: found no fit of mu_k and a coefficient of restitution, allowed: a run that has "
        "fitted a law");
  BounceSetting& setting = study.setting;
  setting.floor = CorrectedFloor(experiment.floor, best.correction);
  setting.flight = experiment.motion.flight;
  setting.model = ModelOf(*fit);
  study.assumes_friction = !std::isfinite(fit->mu_k.value);
  setting.scatter = fit->discrepancy;
  if (fit->covariance.rows() >= 2 && fit->covariance.topLeftCorner<2, 2>().allFinite())
    setting.cov = fit->covariance.topLeftCorner<2, 2>();
  BodyCorrection corners;
  corners.corner_radius_change = run.audit.body.corner_radius_change;
  setting.body = CorrectedBody(experiment.body, corners);
  for (const Finding& finding : run.audit.findings)
    if (finding.parameter == "drag_rate_per_s")
      setting.linear_drag = std::max(0.0, finding.estimate.value);
  setting.spin_drag = SpinDrag(run, best.correction);

  MotionFitOptions all = experiment.motion;
  all.first_impacts = 0;
  study.rows.resize(best.motion.size());
  Progress progress("following bounces", static_cast<std::int64_t>(study.rows.size()), "recordings",
                    context.Shown());
  ForEachIndex(study.rows.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    BounceRow& row = study.rows[i];
    row.recording = run.poses(i).name;
    const std::vector<ImpactEvent>& events = best.motion[i].events;
    if (run.second()) {
      row.reason = "the struck body moves as well";
    } else if (setting.body.shape == BodyShape::kPoints) {
      row.reason = "a body of points only, whose other contacts are not known";
    } else if (events.empty() || events.front().impact != 0 || !events.front().accepted) {
      row.reason =
          "first impact " +
          (events.empty() ? std::string("none") : std::string(ReasonName(events.front().reason)));
    } else {
      const PoseRecording recording = Correct(run.poses(i), best.correction);
      std::vector<double> later;
      for (const ImpactEvent& event :
           FitMotion(recording, experiment.body, setting.floor, all).events)
        if (event.impact > 0) later.push_back(event.t);
      std::seed_seq seed{static_cast<std::uint32_t>(options.seed),
                         static_cast<std::uint32_t>(options.seed >> 32),
                         static_cast<std::uint32_t>(i)};
      std::mt19937_64 random(seed);
      row = FollowBounces(events.front(), later, recording, setting, options, random);
    }
    progress.Advance();
  });
  return study;
}

void WriteBounces(const std::filesystem::path& path, const BounceStudy& study) {
  CsvWriter out(path, {"recording",
                       "reason",
                       "at",
                       "t_s",
                       "along_error_m",
                       "height_error_m",
                       "angle_error_rad",
                       "tilt_error_rad",
                       "moved_m",
                       "spread_along_m",
                       "spread_angle_rad",
                       "p_along",
                       "p_angle",
                       "impacts_recorded",
                       "impacts_simulated",
                       "t_rest_recorded_s",
                       "t_rest_simulated_s",
                       "spread_t_rest_s",
                       "p_rest",
                       "start_delay_s",
                       "lift_m",
                       "frames_lost",
                       "draws"});
  const double nan = std::nan("");
  for (const BounceRow& row : study.rows) {
    if (!row.reason.empty()) {
      out.Text(row.recording).Text(row.reason).Text("");
      for (int k = 0; k < 20; ++k) out.Number(nan);
      out.EndRow();
    }
    for (const BounceError& e : row.errors) {
      out.Text(row.recording)
          .Text("")
          .Text(e.at)
          .Number(e.t)
          .Number(e.along)
          .Number(e.height)
          .Number(e.angle)
          .Number(e.tilt);
      out.Number(e.moved)
          .Number(e.spread_along)
          .Number(e.spread_angle)
          .Number(e.p_along)
          .Number(e.p_angle);
      out.Integer(row.impacts_recorded)
          .Integer(row.impacts_simulated)
          .Number(row.rest_recorded)
          .Number(row.rest_simulated);
      out.Number(row.rest_spread)
          .Number(row.p_rest)
          .Number(row.start_delay)
          .Number(row.lift)
          .Integer(row.frames_lost)
          .Integer(row.draws)
          .EndRow();
    }
  }
  out.Commit();
}

std::string BriefReport(const BounceStudy& study) {
  std::map<std::string, int> left_out;
  int followed = 0, rest = 0, both = 0, same_face = 0;
  for (const BounceRow& row : study.rows) {
    if (!row.reason.empty()) {
      ++left_out[row.reason];
      continue;
    }
    ++followed;
    if (!std::isfinite(row.rest_recorded)) continue;
    ++rest;
    both += std::isfinite(row.rest_simulated);
    same_face += row.errors.back().tilt < 0.2;
  }
  std::string out = fmt::format(
      "\nbounces     {} of {} recordings followed past the first impact, {} of them to rest ({} "
      "simulated so too)\n",
      followed, study.rows.size(), rest, both);
  if (rest > 0)
    out += fmt::format("            {:.0f} % of those rest on the side that was simulated\n",
                       100.0 * same_face / rest);
  std::string line;
  for (const auto& [reason, count] : left_out)
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, reason);
  if (!line.empty()) out += "left out    " + line + "\n";
  if (followed == 0) return out;
  const BounceSetting& s = study.setting;
  out += fmt::format(
      "            {} law, mu_k = {:.4f}{}, e = {:.4f}, drag {:.3f} /s (spin {:.3f} /s), corners "
      "rounded by {:.2f} mm, {} draws\n",
      study.law, s.model.mu_k, study.assumes_friction ? " (assumed: the fit gives none)" : "",
      s.model.e, s.linear_drag, s.spin_drag, 1e3 * s.body.corner_radius, study.options.draws);
  if (s.model.e_t > 0)
    out += fmt::format(
        "            e_t = {:.3f} of the fit is left out: contacts that are followed do not spring "
        "back along the surface\n",
        s.model.e_t);
  out += fmt::format("{:<9} {:<20} {:>4} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}\n", "at", "error",
                     "n", "median", "68 %", "95 %", "spread", "in 68 %", "in 95 %");
  std::vector<std::string> stages;
  for (int k = 1; k <= kMostImpacts; ++k) stages.push_back("impact_" + std::to_string(k));
  stages.emplace_back("end");
  for (const std::string& stage : stages) {
    const bool at_end = stage == "end";
    for (const Quantity& quantity : Quantities(at_end)) {
      std::vector<double> errors, spreads, ranks;
      for (const BounceRow& row : study.rows) {
        for (const BounceError& e : row.errors) {
          if (e.at != stage) continue;
          const auto keep = [](double value, double unit, std::vector<double>* values) {
            if (std::isfinite(value)) values->push_back(unit * value);
          };
          keep(quantity.error(row, e), quantity.unit, &errors);
          keep(quantity.spread(row, e), quantity.unit, &spreads);
          keep(quantity.p(row, e), 1, &ranks);
        }
      }
      if (errors.empty()) continue;
      out += fmt::format("{:<9} {:<20} {:>4} {:>9.3g} {:>9.3g} {:>9.3g} {:>9} {:>10} {:>10}\n",
                         stage, quantity.name, errors.size(), Median(errors),
                         Quantile(errors, 0.68), Quantile(errors, 0.95),
                         spreads.empty() ? "-" : fmt::format("{:.3g}", Median(spreads)),
                         Within(ranks, 0.32), Within(ranks, 0.05));
    }
  }
  return out;
}

}  // namespace impactlab
