#include "pipelines/plan/detail/evaluate_design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"

namespace impactlab::pipelines {
namespace {

// Frames of a flight below which its velocity depends on single images.
constexpr double kFewFrames = 8;
// Images of markers smaller than this have centroids with a bias of the pixel grid [px].
constexpr double kSmallMarker = 5;
constexpr double kOutside = 0.05;

// Largest or smallest of a figure over the settings that get drops.
template <typename Pick>
double Worst(const PlanResult& result, bool largest, const Pick& pick) {
  double worst = largest ? 0 : 1e300;
  for (const std::size_t c : Chosen(result)) {
    const double x = pick(result.settings[c]);
    worst = largest ? std::max(worst, x) : std::min(worst, x);
  }
  return worst;
}

void AddFlights(const ExperimentDesign& plan, const PlanResult& result,
                std::vector<PlanCheck>* checks) {
  for (const bool after : {false, true}) {
    const double frames = Worst(result, false, [&](const SettingFigures& f) {
      return after ? f.frames_plus : f.frames_minus;
    });
    PlanCheck check{after ? "frames after" : "frames before", fmt::format("{:.1f}", frames),
                    frames >= kFewFrames, ""};
    if (!check.fine)
      check.advice = fmt::format(
          "fewer than {} frames of flight: film at {:.0f} frames a second or more, or {}",
          kFewFrames, plan.rate * kFewFrames / std::max(frames, 1.0),
          after ? "release so that the body rebounds freely for longer" : "release from higher up");
    checks->push_back(check);
  }
}

void AddPictures(const ExperimentDesign& plan, const PlanResult& result,
                 std::vector<PlanCheck>* checks) {
  const double outside = Worst(result, true, [](const SettingFigures& f) { return f.outside; });
  checks->push_back({"field of view", fmt::format("{:.0f} % of images outside", 100 * outside),
                     outside <= kOutside,
                     outside <= kOutside ? ""
                                         : "the pictures do not hold the fall: move the cameras "
                                           "back, take a shorter lens, or fall less"});
  const double size = Worst(result, false, [](const SettingFigures& f) {
    return f.marker_size > 0 ? f.marker_size : 1e300;
  });
  if (size < 1e299)
    checks->push_back({"marker size", fmt::format("{:.1f} px", size), size >= kSmallMarker,
                       size >= kSmallMarker
                           ? ""
                           : fmt::format("below {} px centroids follow the grid of the pixels: "
                                         "markers {:.1f} times as large, or nearer cameras",
                                         kSmallMarker, kSmallMarker / size)});
  const double blur = Worst(result, true, [](const SettingFigures& f) { return f.blur; });
  if (plan.exposure > 0) {
    // A streak of less than half its marker keeps its centroid; without a size three pixels are
    // assumed.
    const double allowed = size < 1e299 ? std::max(1.0, 0.5 * size) : 3;
    checks->push_back({"blur", fmt::format("{:.1f} px", blur), blur <= allowed,
                       blur <= allowed
                           ? ""
                           : fmt::format("more than {:.1f} px: expose {:.2g} ms or less", allowed,
                                         1e3 * plan.exposure * allowed / blur)});
  }
  if (plan.rig.cameras.size() < 2) {
    checks->push_back(
        {"cameras", "1", false, "one camera sees depth by the size of the layout alone: take two"});
    return;
  }
  const double depth = Worst(result, true, [](const SettingFigures& f) {
    return f.sd_depth / std::max(f.sd_position, 1e-300);
  });
  const double found = Worst(result, true, [](const SettingFigures& f) { return f.sd_depth; });
  constexpr double kDeep = 1.65;  // of sqrt(3): depth alone makes nearly all of the error
  checks->push_back(
      {"depth", fmt::format("{:.2f} mm along the view", 1e3 * found), depth <= kDeep,
       depth <= kDeep ? "" : "depth rules the error of the place: set the cameras further apart"});
}

// The accuracy of states is proportional to the root of the number of frames.
void AddWanted(const ExperimentDesign& plan, const PlanResult& result,
               std::vector<PlanCheck>* checks) {
  const auto add = [&](const char* name, const char* unit, double wanted, double found,
                       double PlanRate::*at_rate) {
    if (!(wanted > 0)) return;
    PlanCheck check{name, fmt::format("{:.3g} {}, wanted {:.3g}", found, unit, wanted),
                    found <= wanted, ""};
    if (!check.fine) {
      const auto enough = std::find_if(
          result.rates.begin(), result.rates.end(),
          [&](const PlanRate& r) { return r.rate > plan.rate && r.*at_rate <= wanted; });
      check.advice = enough != result.rates.end()
                         ? fmt::format("film at {:.0f} frames a second", enough->rate)
                         : fmt::format(
                               "four times the frame rate is not enough: centroids {:.1f} times as "
                               "good, or nearer cameras",
                               found / wanted);
    }
    checks->push_back(check);
  };
  add("velocity after", "m/s", plan.wanted_sd_velocity,
      Worst(result, true, [](const SettingFigures& f) { return f.sd_v_plus; }),
      &PlanRate::sd_v_plus);
  add("spin after", "rad/s", plan.wanted_sd_spin,
      Worst(result, true, [](const SettingFigures& f) { return f.sd_spin_plus; }),
      &PlanRate::sd_spin_plus);
}

}  // namespace

std::string CoefficientWord(RestitutionLaw law) { return InfoOf(law).symbol; }

std::vector<std::size_t> Chosen(const PlanResult& result) {
  std::vector<std::size_t> chosen;
  for (std::size_t c = 0; c < result.counts.size(); ++c)
    if (result.counts[c] > 0) chosen.push_back(c);
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    return result.counts[a] > result.counts[b];
  });
  return chosen;
}

std::string SettingWords(const PlanSetting& s) {
  std::string words =
      fmt::format("slope {:.3g} rad, fall {:.3g} m, lean {:.3g} rad", s.slope, s.height, s.lean);
  if (s.speed != 0) words += fmt::format(", speed {:.3g} m/s", s.speed);
  if (s.spin != 0) words += fmt::format(", spin {:.3g} rad/s", s.spin);
  return words;
}

double SlidingShare(const std::array<double, 7>& cases) {
  return cases[0] + cases[2] + cases[4] + cases[6];
}

std::vector<PlanCheck> CheckCameras(const ExperimentDesign& plan, const PlanResult& result) {
  std::vector<PlanCheck> checks;
  AddFlights(plan, result, &checks);
  const double sd_t = Worst(result, true, [](const SettingFigures& f) { return f.sd_t; });
  checks.push_back(
      {"time of the impact",
       fmt::format("{:.1f} us, {:.3f} of a frame", 1e6 * sd_t, sd_t * plan.rate),
       sd_t * plan.rate < 0.2,
       sd_t * plan.rate < 0.2
           ? ""
           : "the flights hardly determine when they met: more frames, or better centroids"});
  if (plan.filmed()) AddPictures(plan, result, &checks);
  AddWanted(plan, result, &checks);
  return checks;
}

std::vector<std::string> DescribeLimits(const ExperimentDesign& plan, const PlanResult& result) {
  std::vector<std::string> out;
  const PlanPoint& last = result.curve.back();
  const std::string e = CoefficientWord(plan.law);
  const double sliding = SlidingShare(result.cases);
  if (sliding < 0.1)
    out.push_back(
        fmt::format("{:.0f} % of the impacts end sliding: mu is hardly more than bounded below. "
                    "Steeper surfaces, more speed along the surface or less lean make contacts "
                    "slide.",
                    100 * sliding));
  for (const auto& [name, c] :
       {std::pair<std::string, const ExpectedCoefficient&>("mu", last.mu), {e, last.e}})
    if (c.determined < 0.95)
      out.push_back(fmt::format("{} is not determined in {:.0f} % of campaigns of {} drops.", name,
                                100 * (1 - c.determined), last.drops));
  for (int k = 0; k < 2; ++k) {
    const std::string name = k == 0 ? "mu" : e;
    const double shared = kNormal95 * result.common[k], scatter = result.by_scatter[k],
                 noise = result.by_noise[k];
    const double rest = std::hypot(scatter, noise);
    if (shared > rest)
      out.push_back(fmt::format(
          "{}: errors that all drops share ({}) give {:.2g} of the half width, which no number of "
          "drops reduces.",
          name, plan.rig.covariance.size() > 0 ? "calibration, layout, inertia" : "layout, inertia",
          shared));
    else if (scatter > noise)
      out.push_back(
          fmt::format("{}: the scatter of the surface rules ({:.2g} against {:.2g} from the "
                      "measurement): better cameras gain little, more drops do.",
                      name, scatter, noise));
    else
      out.push_back(
          fmt::format("{}: the measurement rules ({:.2g} against {:.2g} from the scatter of the "
                      "surface): better centroids, more frames or nearer cameras gain as much as "
                      "more drops.",
                      name, noise, scatter));
  }
  const auto refused = std::count_if(result.settings.begin(), result.settings.end(),
                                     [](const SettingFigures& f) { return !f.refused.empty(); });
  if (refused > 0) {
    const auto first = std::find_if(result.settings.begin(), result.settings.end(),
                                    [](const SettingFigures& f) { return !f.refused.empty(); });
    out.push_back(fmt::format(
        "{} of {} settings give no impact that could be used in more than half of their drops (the "
        "first: {}; {}).",
        refused, result.settings.size(),
        SettingWords(plan.settings[static_cast<std::size_t>(first - result.settings.begin())]),
        first->refused));
  }
  if (plan.filmed() && plan.rig.covariance.size() == 0)
    out.emplace_back(
        "The cameras count as known exactly: errors of their calibration come on top. Name a "
        "rig.yaml to count them.");
  return out;
}

}  // namespace impactlab::pipelines
