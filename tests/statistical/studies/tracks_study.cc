// Do the intervals of states, mu and e* cover when one experiment of stereo drops is repeated?
// Pixels, clocks, calibration, layout and inertia are drawn anew each time. Exit code 1 where a
// count is outside its binomial band.

#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "data/statistics/statistics.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/statistical/studies/study.h"
#include "tests/statistical/tracks_twin.h"
#include "tests/support/per_test_level.h"

namespace {

using namespace impactlab;
using Json = nlohmann::json;

struct Count {
  int n = 0, covered = 0;
  double sum = 0, sum2 = 0, sum_z2 = 0, sum_var = 0;
  void Add(double error, double sd, bool inside) {
    ++n;
    covered += inside;
    sum += error;
    sum2 += error * error;
    sum_var += sd * sd;
    sum_z2 += std::pow(error / sd, 2);
  }
};

// What one repeat says: "quantities" (error, sd, inside), "budget" (variances by "quantity
// source"), counts, half widths.
Json Score(const twin::TracksExperiment& experiment, const twin::TracksRepeat& repeat,
           const std::vector<int>& states) {
  Json quantities = Json::object(), budget = Json::object();
  int refused = 0;
  const auto add = [&](const std::string& name, double error, double sd, bool inside) {
    quantities[name] = {error, sd, inside};
  };
  const double quantile = NormalQuantile(0.975);
  for (std::size_t i = 0; i < repeat.analysis.drops.size(); ++i) {
    const std::vector<ImpactBundle>& fits = repeat.analysis.drops[i];
    if (fits.size() != 1 || !fits.front().event.accepted) {
      ++refused;
      continue;
    }
    const ImpactBundle& fit = fits.front();
    const Eigen::VectorXd error = test::StateError(fit, repeat.drops[i]);
    const auto state = [&](const std::string& name, double e, double sd) {
      add(name, e, sd, std::abs(e) <= quantile * sd);
    };
    for (const int s : states)
      state(fmt::format("drop {:2} state {:2}", i + 1, s), error[s], std::sqrt(fit.cov(s, s)));
    state(fmt::format("drop {:2} offset", i + 1), fit.offset[1] - repeat.offset[i],
          fit.sd_offset[1]);
  }
  const LawFit& law = repeat.analysis.fit.fits.front();
  bool all = law.fitted();
  Json half = {{"mu_k", 0.0}, {"e_star", 0.0}};
  for (const ParameterEstimate& p : ListParameters(law)) {
    all = all && p.identifiable;
    if (!p.identifiable) continue;
    const double truth = p.name == "mu_k" ? experiment.model.mu_k : experiment.model.e;
    add(p.name, p.value - truth, p.sd, p.lower95 <= truth && truth <= p.upper95);
    half[p.name] = 0.5 * (p.upper95 - p.lower95);
  }
  for (const BudgetRow& row : repeat.analysis.budget.rows) {
    if (row.law.empty()) continue;
    for (std::size_t i = 0; i < row.sd.size(); ++i) {
      if (std::isfinite(row.sd[i]))
        budget[row.quantity + " " + repeat.analysis.budget.sources[i].name] = row.sd[i] * row.sd[i];
    }
  }
  return {{"quantities", quantities}, {"budget", budget},
          {"refused", refused},       {"drops", repeat.analysis.drops.size()},
          {"not_identified", !all},   {"half_width", half}};
}

}  // namespace

int main(int argc, char** argv) {
  int repeats = 1000, drops = 12;
  double slope = 20;
  double scatter = 0, patch = 0;
  std::string body = "rod", lines;
  test::Study study("tracks",
                    "Coverage of states, mu and e* when one experiment of stereo drops is repeated "
                    "from its tracks",
                    20261101);
  study.app.add_option("--repeats", repeats)->capture_default_str();
  study.app.add_option("--drops", drops)->capture_default_str();
  study.app.add_option("--slope-deg", slope, "of the surface")->capture_default_str();
  study.app.add_option("--scatter", scatter, "of mu and e* from impact to impact, relative")
      ->capture_default_str();
  study.app.add_option("--patch-mm", patch, "of the place of the impulse on the edge")
      ->capture_default_str();
  study.app.add_option("--body", body)
      ->capture_default_str()
      ->check(CLI::IsMember({"rod", "bar", "box", "ball"}));
  study.app.add_option("--lines", lines,
                       "file of one JSON line a repeat, added to; those in it are not run again");
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  const std::map<std::string, test::Thing> things = {{"rod", test::Thing::kRod},
                                                     {"bar", test::Thing::kBar},
                                                     {"box", test::Thing::kBox},
                                                     {"ball", test::Thing::kBall}};
  const test::Thing thing = things.at(body);
  twin::TracksExperiment experiment =
      twin::MakeTracksExperiment(thing, drops, slope * M_PI / 180, study.seed);
  experiment.scatter = scatter;
  experiment.patch = 1e-3 * patch;
  const std::vector<int> states = test::ToldStates(thing);

  // A repeat of the same experiment that stands in the lines file is not run again; the results say
  // which revisions made them.
  const std::string of =
      fmt::format("{} {} {} {} {} {}", study.seed, drops, slope, scatter, patch, body);
  const std::string revision = CollectProvenance(study.seed).git_revision;
  std::map<int, Json> done = test::ReadLines(lines, "repeat", of);
  std::vector<int> missing;
  for (int k = 0; k < repeats; ++k)
    if (!done.contains(k)) missing.push_back(k);
  std::mutex mutex;
  study.Each(static_cast<int>(missing.size()), "experiments repeated", "experiments", [&](int i) {
    const int k = missing[static_cast<std::size_t>(i)];
    std::mt19937_64 random(study.seed + 7919ull * static_cast<std::uint64_t>(k + 1));
    Json score = Score(experiment, twin::Repeat(experiment, {}, true, random), states);
    score["repeat"] = k;
    score["of"] = of;
    score["git"] = revision;
    const std::lock_guard lock(mutex);
    if (!lines.empty()) std::ofstream(lines, std::ios::app) << score.dump() << "\n";
    done[k] = std::move(score);
  });

  std::map<std::string, Count> counts;
  std::map<std::string, double> budget;  // variances by "quantity source", summed over the repeats
  int refused = 0, unidentified = 0, n_drops = 0;
  double half_mu = 0, half_e = 0;
  std::set<std::string> revisions;
  for (int k = 0; k < repeats; ++k) {
    const Json& one = done.at(k);
    // What is no number is null in JSON.
    const auto number = [](const Json& x) {
      return x.is_number() ? x.get<double>() : std::nan("");
    };
    for (const auto& [name, q] : one.at("quantities").items())
      counts[name].Add(number(q[0]), number(q[1]), q[2]);
    revisions.insert(one.at("git").get<std::string>());
    for (const auto& [name, variance] : one.at("budget").items())
      budget[name] += variance.get<double>();
    refused += one.at("refused").get<int>();
    n_drops += one.at("drops").get<int>();
    unidentified += one.at("not_identified").get<bool>();
    half_mu += one.at("half_width").at("mu_k").get<double>();
    half_e += one.at("half_width").at("e_star").get<double>();
  }

  const double level = PerTestLevel(1e-3, static_cast<int>(counts.size()));
  bool fine = true;
  Json json;
  for (const auto& [name, count] : counts) {
    const CountBand band = BinomialBand(count.n, 0.95, level);
    const bool inside = band.Contains(count.covered);
    fine = fine && inside;
    json["quantities"][name] = {{"n", count.n},
                                {"covered", count.covered},
                                {"band", {band.lower, band.upper}},
                                {"inside", inside},
                                {"bias", count.sum / count.n},
                                {"rms", std::sqrt(count.sum2 / count.n)},
                                {"stated_sd", std::sqrt(count.sum_var / count.n)},
                                {"rms_z", std::sqrt(count.sum_z2 / count.n)}};
    if (!inside || name == "mu_k" || name == "e_star")
      fmt::print(
          "{:<20} {} of {} covered, allowed {} to {}; bias {:+.2e} rms {:.2e} stated {:.2e}\n",
          name, count.covered, count.n, band.lower, band.upper, count.sum / count.n,
          std::sqrt(count.sum2 / count.n), std::sqrt(count.sum_var / count.n));
  }
  for (const auto& [name, sum] : budget) {
    json["budget"][name] = std::sqrt(sum / repeats);
    fmt::print("budget {:<20} {:.2e}\n", name, std::sqrt(sum / repeats));
  }
  fmt::print(
      "{} quantities; {} of {} impacts refused; a coefficient not identified in {} of {}; mean "
      "half widths mu {:.4f}, e* {:.4f}\n",
      counts.size(), refused, n_drops, unidentified, repeats, half_mu / repeats, half_e / repeats);
  json["repeats"] = repeats;
  json["revisions"] = revisions;
  json["drops"] = drops;
  json["body"] = body;
  json["slope_deg"] = slope;
  json["scatter"] = scatter;
  json["patch_mm"] = patch;
  json["refused"] = refused;
  json["not_identified"] = unidentified;
  json["half_width"] = {{"mu_k", half_mu / repeats}, {"e_star", half_e / repeats}};
  json["all_inside"] = fine;
  return study.Keep(std::move(json), fine);
}
