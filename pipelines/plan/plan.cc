#include "pipelines/plan/plan.h"

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/statistics/statistics.h"
#include "pipelines/plan/detail/evaluate_design.h"

namespace impactlab {
namespace {

using Eigen::Vector2d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMuTop = 10;

std::uint64_t Mixed(std::uint64_t seed, std::uint64_t stream, std::uint64_t k) {
  return seed * 1000003ull + stream * 7919ull * 65537ull + k * 2654435761ull;
}

ImpactModel DrawModel(const ExperimentDesign& plan, std::mt19937_64& random) {
  ImpactModel model;
  model.law = plan.law;
  model.mu_k = model.mu_s = plan.mu.Draw(kMuTop, random);
  model.e = plan.e.Draw(1, random);
  return model;
}

ImpactModel MeanModel(const ExperimentDesign& plan) {
  return {{plan.e.Mean(), plan.mu.Mean(), plan.mu.Mean()}, plan.law};
}

IdentifyOptions WithoutIntervals() {
  IdentifyOptions options;
  options.intervals = options.influence = false;
  return options;
}

// Half widths of 95 % that follow from the information of so many drops, spread by `weights`:
// median over the prior.
Vector2d PredictedHalfWidths(
    const std::vector<std::vector<SettingInformation>>& information,
    const std::vector<double>& weights, int drops,
    Eigen::Matrix2d SettingInformation::*which = &SettingInformation::total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::array<std::vector<double>, 2> half;
  for (std::size_t j = 0; j < information.front().size(); ++j) {
    Eigen::Matrix2d M = kVagueInformation * Eigen::Matrix2d::Identity();
    for (std::size_t c = 0; c < information.size(); ++c)
      M += drops * weights[c] / sum * (information[c][j].*which);
    const Eigen::Matrix2d cov = M.inverse();
    for (int k = 0; k < 2; ++k)
      half[static_cast<std::size_t>(k)].push_back(kNormal95 * std::sqrt(cov(k, k)));
  }
  return {Median(half[0]), Median(half[1])};
}

std::vector<double> Weights(const std::vector<int>& counts) {
  return {counts.begin(), counts.end()};
}

// One campaign's estimate of a coefficient.
struct CampaignEstimate {
  bool determined = false;
  double error = 0, sd = 0, half = 0;
};

ExpectedCoefficient Expect(const std::vector<CampaignEstimate>& quick,
                           const std::vector<CampaignEstimate>& whole) {
  ExpectedCoefficient expected;
  std::vector<double> sd, error, ratio, half;
  for (const CampaignEstimate& w : quick) {
    if (!w.determined) continue;
    sd.push_back(w.sd);
    error.push_back(std::abs(w.error));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i].determined) continue;
    half.push_back(whole[i].half);
    if (quick[i].determined && quick[i].sd > 0) ratio.push_back(whole[i].half / quick[i].sd);
  }
  expected.determined = static_cast<double>(half.size()) /
                        static_cast<double>(std::max<std::size_t>(1, whole.size()));
  expected.half_width = expected.error95 = kInfinity;
  if (2 * half.size() < whole.size() || sd.empty() || ratio.empty()) return expected;
  // Half widths follow the standard deviations of the same campaigns closely, so that a few of them
  // give the ratio for all.
  expected.half_width = quick.size() > whole.size() ? Median(sd) * Median(ratio) : Median(half);
  expected.error95 = Quantile(error, 0.95);
  return expected;
}

double HalfOf(const PlanPoint& point, int k) {
  return k == 0 ? point.mu.half_width : point.e.half_width;
}

// Numbers of drops for the curve: up to the most, and beyond it.
std::vector<int> DropCounts(int most) {
  std::vector<int> n;
  for (const int k : {4,  5,  6,  7,  8,  9,  10,  12,  14,  16,  18,  20,  24,  28,  32,
                      36, 40, 48, 56, 64, 80, 100, 120, 150, 200, 300, 500, 700, 1000})
    if (k < most) n.push_back(k);
  n.push_back(most);
  return n;
}

// Numbers that are simulated: Student's quantile and the fit of the scatter change most at few
// drops.
std::vector<int> Simulated(const ExperimentDesign& plan) {
  const std::vector<int> ladder =
      plan.body.planar ? std::vector<int>{6, 12, 24} : std::vector<int>{8};
  // More than that in space takes too long, and little changes beyond.
  const int most = plan.body.planar ? plan.drops : std::min(plan.drops, 48);
  std::vector<int> n;
  for (const int k : ladder)
    if (5 * k <= 4 * most) n.push_back(k);
  n.push_back(most);
  return n;
}

CampaignStudy StudyOf(const ExperimentDesign& plan, int drops) {
  // An impact in space costs thirty times as much.
  const int campaigns = plan.body.planar ? 400 : std::clamp(2400 / drops, 60, 300);
  const int intervals = plan.body.planar ? 400 : std::clamp(200 / drops, 8, 24);
  return {std::max(8, static_cast<int>(plan.effort * campaigns)),
          std::max(4, static_cast<int>(plan.effort * intervals))};
}

// Ratio of the half widths of campaigns to those of the information, between the simulated numbers
// straight in 1 / n.
double Carry(const std::vector<std::pair<int, double>>& factors, int drops) {
  if (factors.empty()) return kInfinity;
  if (drops <= factors.front().first) return factors.front().second;
  for (std::size_t i = 1; i < factors.size(); ++i) {
    const auto& [n0, f0] = factors[i - 1];
    const auto& [n1, f1] = factors[i];
    if (drops > n1) continue;
    const double share = (1.0 / n0 - 1.0 / drops) / (1.0 / n0 - 1.0 / n1);
    return f0 + share * (f1 - f0);
  }
  return factors.back().second;
}

// Drops after which a half width stays below what is wanted; beyond the most planned by the square
// root.
double Needed(const std::vector<PlanPoint>& curve, int k, double wanted, double common) {
  if (!(wanted > 0)) return 0;
  const double shared = kNormal95 * common;
  if (shared >= wanted) return kInfinity;
  for (const PlanPoint& point : curve)
    if (HalfOf(point, k) <= wanted) return point.drops;
  const PlanPoint& last = curve.back();
  const double own2 = std::pow(HalfOf(last, k), 2) - shared * shared;
  return std::ceil(last.drops * own2 / (wanted * wanted - shared * shared));
}

void FillCurve(const ExperimentDesign& plan, const std::vector<PlannedSetting>& drops, int threads,
               PlanResult* result) {
  std::array<std::vector<std::pair<int, double>>, 2> widths, errors;
  std::vector<PlanPoint> simulated;
  for (const int n : Simulated(plan)) {
    const std::vector<int> counts = RoundShares(result->shares, n);
    PlanPoint point =
        SimulateCampaigns(plan, drops, counts, StudyOf(plan, n),
                          Mixed(plan.seed, 3, static_cast<std::uint64_t>(n)), threads);
    const Vector2d promised = PredictedHalfWidths(result->information, Weights(counts), n);
    for (int k = 0; k < 2; ++k) {
      const ExpectedCoefficient& c = k == 0 ? point.mu : point.e;
      const auto at = static_cast<std::size_t>(k);
      if (!std::isfinite(c.half_width)) continue;
      widths[at].emplace_back(n, c.half_width / promised[k]);
      errors[at].emplace_back(n, c.error95 / promised[k]);
    }
    simulated.push_back(point);
  }
  for (const int n : DropCounts(plan.drops)) {
    const auto known = std::find_if(simulated.begin(), simulated.end(),
                                    [&](const PlanPoint& p) { return p.drops == n; });
    PlanPoint point;
    if (known != simulated.end()) {
      point = *known;
    } else {
      const Vector2d promised =
          PredictedHalfWidths(result->information, Weights(RoundShares(result->shares, n)), n);
      const auto next = std::find_if(simulated.begin(), simulated.end(),
                                     [&](const PlanPoint& p) { return p.drops > n; });
      const PlanPoint& near = next == simulated.end() ? simulated.back() : *next;
      point.drops = n;
      point.mu = {promised[0] * Carry(widths[0], n), promised[0] * Carry(errors[0], n),
                  near.mu.determined};
      point.e = {promised[1] * Carry(widths[1], n), promised[1] * Carry(errors[1], n),
                 near.e.determined};
    }
    result->curve.push_back(point);
  }
  // As declared: a run finds part of it from the impacts.
  for (PlanPoint& point : result->curve) {
    for (double* x : {&point.mu.half_width, &point.mu.error95})
      *x = std::hypot(*x, kNormal95 * result->common[0]);
    for (double* x : {&point.e.half_width, &point.e.error95})
      *x = std::hypot(*x, kNormal95 * result->common[1]);
  }
}

void FillRates(const ExperimentDesign& plan, PlanResult* result) {
  const auto most =
      std::max_element(result->counts.begin(), result->counts.end()) - result->counts.begin();
  for (const double by : {0.5, 1.0, 2.0, 4.0}) {
    ExperimentDesign other = plan;
    other.rate *= by;
    other.exposure = std::min(other.exposure, 1 / other.rate);
    constexpr int kVariants = 4;
    const SettingFigures f = FilmSetting(other, plan.settings[static_cast<std::size_t>(most)],
                                         kVariants, Mixed(plan.seed, 4, 0));
    const bool usable = std::any_of(f.drops.begin(), f.drops.end(),
                                    [](const PlannedImpact& d) { return d.event.accepted; });
    if (usable) result->rates.push_back({other.rate, f.sd_v_plus, f.sd_spin_plus, f.sd_t});
  }
}

// For a difference of `gap` a drop.
double DropsFor(const PlanRival& r, double gap, double power) {
  return std::ceil(
      std::pow((NormalQuantile(power) * r.sd + NormalQuantile(0.95) * r.sd_other) / gap, 2));
}

}  // namespace

PlanPoint SimulateCampaigns(const ExperimentDesign& plan,
                            const std::vector<PlannedSetting>& settings,
                            const std::vector<int>& counts, const CampaignStudy& study,
                            std::uint64_t seed, int threads) {
  const auto n = static_cast<std::size_t>(study.campaigns);
  const auto n_whole = static_cast<std::size_t>(std::min(study.intervals, study.campaigns));
  std::array<std::vector<CampaignEstimate>, 2> quick{std::vector<CampaignEstimate>(n),
                                                     std::vector<CampaignEstimate>(n)},
      whole{std::vector<CampaignEstimate>(n_whole), std::vector<CampaignEstimate>(n_whole)};
  ForEachIndex(n, threads, [&](std::size_t i) {
    std::mt19937_64 random(Mixed(seed, 1, i));
    const ImpactModel truth = DrawModel(plan, random);
    const std::vector<ImpactEvent> events =
        DrawCampaign(settings, counts, plan.body, truth, plan.scatter, random);
    const auto word = [&](const LawFit& fit, std::size_t k, bool intervals) {
      const ParameterEstimate& p = k == 0 ? fit.mu_k : fit.e;
      CampaignEstimate w;
      w.error = p.value - (k == 0 ? truth.mu_k : truth.e);
      w.sd = p.sd;
      w.half = 0.5 * (p.upper95 - p.lower95);
      w.determined =
          p.identifiable && std::isfinite(w.error) && std::isfinite(intervals ? w.half : w.sd);
      return w;
    };
    ImpactModel start = truth;
    if (i < n_whole) {
      IdentifyOptions options;
      options.influence = false;
      const LawFit fit = Identify(events, plan.body, MeanModel(plan), options);
      for (std::size_t k = 0; k < 2; ++k) whole[k][i] = word(fit, k, true);
      if (n_whole == n) {
        for (std::size_t k = 0; k < 2; ++k) quick[k][i] = whole[k][i];
        return;
      }
      // From the optimum, so that the covariance is that of the interval.
      if (std::isfinite(fit.mu_k.value)) start.mu_k = fit.mu_k.value;
      if (std::isfinite(fit.e.value)) start.e = fit.e.value;
    }
    start.mu_s = start.mu_k;
    const LawFit fit = Identify(events, plan.body, start, WithoutIntervals());
    for (std::size_t k = 0; k < 2; ++k) quick[k][i] = word(fit, k, false);
  });
  PlanPoint point;
  point.drops = std::accumulate(counts.begin(), counts.end(), 0);
  point.simulated = true;
  point.mu = Expect(quick[0], whole[0]);
  point.e = Expect(quick[1], whole[1]);
  return point;
}

double PlanRival::Power(int drops) const {
  const double root = std::sqrt(static_cast<double>(drops));
  if (!(sd > 0)) return 0.05;
  return NormalCdf((root * (mean - mean_other) - NormalQuantile(0.95) * sd_other) / sd);
}

double PlanRival::Drops(double power) const {
  constexpr double kClear = 3;
  return mean - mean_other > kClear * error ? DropsFor(*this, mean - mean_other, power) : kInfinity;
}

double PlanRival::Beyond(double power) const {
  constexpr double kClear = 3;
  return error > 0 ? DropsFor(*this, std::max(0.0, mean - mean_other) + kClear * error, power)
                   : kInfinity;
}

PlanRival CompareLaws(const ExperimentDesign& plan, const std::vector<PlannedSetting>& settings,
                      const std::vector<int>& counts, RestitutionLaw rival, int campaigns,
                      std::uint64_t seed, int threads) {
  PlanRival out;
  out.law = rival;
  const ImpactModel own = MeanModel(plan);
  const double drops = std::accumulate(counts.begin(), counts.end(), 0);
  const auto n = static_cast<std::size_t>(campaigns);
  std::vector<double> difference(n, std::nan("")), mu(n, std::nan("")), e(n, std::nan(""));
  const auto compare = [&](const ImpactModel& truth, std::uint64_t stream) {
    ForEachIndex(n, threads, [&](std::size_t i) {
      std::mt19937_64 random(Mixed(seed, stream, i));
      const std::vector<ImpactEvent> events =
          DrawCampaign(settings, counts, plan.body, truth, plan.scatter, random);
      ImpactModel start = own;
      const LawFit by_own = Identify(events, plan.body, start, WithoutIntervals());
      start.law = rival;
      const LawFit by_rival = Identify(events, plan.body, start, WithoutIntervals());
      difference[i] = by_own.loglik - by_rival.loglik;
      mu[i] = by_rival.mu_k.value;
      e[i] = by_rival.e.value;
    });
  };
  const auto finite = [](std::vector<double> v) {
    std::erase_if(v, [](double x) { return !std::isfinite(x); });
    return v;
  };
  compare(own, 11);
  const std::vector<double> d = finite(difference), mus = finite(mu), es = finite(e);
  if (d.size() < 3 || mus.empty() || es.empty()) return out;
  out.mean = Mean(d) / drops;
  out.sd = StandardDeviation(d) / std::sqrt(drops);
  out.mu = Median(mus);
  out.e = Median(es);
  compare({{.e = out.e, .mu_k = out.mu, .mu_s = out.mu}, rival}, 12);
  const std::vector<double> other = finite(difference);
  if (other.size() < 3) return out;
  out.mean_other = Mean(other) / drops;
  out.sd_other = StandardDeviation(other) / std::sqrt(drops);
  out.error = std::hypot(out.sd / std::sqrt(drops * static_cast<double>(d.size())),
                         out.sd_other / std::sqrt(drops * static_cast<double>(other.size())));
  return out;
}

namespace {

// Half widths that every setting would give alone, and expected shares of the kinds of slip.
void EvaluateSettings(const ExperimentDesign& plan, PlanResult* result) {
  const std::size_t n = plan.settings.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::vector<double> only(n, 0.0);
    only[c] = 1;
    Vector2d half = PredictedHalfWidths(result->information, only, plan.drops);
    // Hardly narrower than the prior, uniform on a unit interval: not determined.
    for (double& x : half) x = x > 0.3 ? kInfinity : x;
    result->alone.push_back(half);
  }
  double usable = 0;
  for (std::size_t c = 0; c < n; ++c) {
    for (const SettingInformation& one : result->information[c]) {
      const double weight = result->counts[c] * one.usable;
      usable += weight;
      for (std::size_t digit = 0; digit < 7; ++digit)
        result->cases[digit] += weight * one.cases[digit];
    }
  }
  for (double& share : result->cases) share /= std::max(usable, 1e-300);
}

}  // namespace

PlanResult MakePlan(const ExperimentDesign& plan, int threads,
                    const std::function<void(const std::string&)>& step) {
  const auto start = std::chrono::steady_clock::now();
  const auto say = [&](const char* what) {
    if (step) step(what);
  };
  PlanResult result;
  say("settings");
  const std::size_t n = plan.settings.size();
  const int variants = n > 100 ? 4 : n > 40 ? 6 : 8;
  result.settings.resize(n);
  ForEachIndex(n, threads, [&](std::size_t c) {
    result.settings[c] = FilmSetting(plan, plan.settings[c], variants, Mixed(plan.seed, 1, c));
  });
  say("information");
  std::mt19937_64 random(Mixed(plan.seed, 2, 0));
  const bool fixed = plan.mu.kind == CoefficientPrior::Kind::kFixed &&
                     plan.e.kind == CoefficientPrior::Kind::kFixed;
  const int n_models = fixed ? 1 : 16;
  std::vector<ImpactModel> models;
  models.reserve(n_models);
  for (int j = 0; j < n_models; ++j) models.push_back(DrawModel(plan, random));
  result.information.resize(n);
  const auto add_information = [&](std::size_t c) {
    result.information[c].clear();
    for (const ImpactModel& model : models)
      result.information[c].push_back(
          InformationOf(result.settings[c].drops, plan.body, model, plan.scatter));
  };
  ForEachIndex(n, threads, add_information);
  Vector2d goal = plan.wanted;
  // Where nothing is wanted both count alike.
  for (double& x : goal) x = x > 0 ? x : goal.maxCoeff() > 0 ? goal.maxCoeff() : 0.02;
  result.shares = AllocateShares(result.information, plan.criterion, goal, plan.drops);
  result.counts = RoundShares(result.shares, plan.drops);
  // Settings of the proposal are released more often: campaigns draw their drops from these.
  constexpr int kOften = 40;
  const std::vector<std::size_t> chosen = pipelines::Chosen(result);
  ForEachIndex(chosen.size(), threads, [&](std::size_t i) {
    const std::size_t c = chosen[i];
    result.settings[c] = FilmSetting(plan, plan.settings[c], kOften, Mixed(plan.seed, 6, c));
    add_information(c);
  });
  std::vector<PlannedSetting> drops;
  for (const SettingFigures& f : result.settings) drops.push_back(f.drops);
  EvaluateSettings(plan, &result);
  result.common = CommonCovariance(drops, result.counts, plan.body, MeanModel(plan), plan.scatter,
                                   plan.inertia_sd)
                      .diagonal()
                      .cwiseSqrt();
  const std::vector<double> weights = Weights(result.counts);
  result.by_scatter = PredictedHalfWidths(result.information, weights, plan.drops,
                                          &SettingInformation::scatter_only);
  result.by_noise =
      PredictedHalfWidths(result.information, weights, plan.drops, &SettingInformation::noise_only);

  say("campaigns");
  FillCurve(plan, drops, threads, &result);
  result.needed_mu = Needed(result.curve, 0, plan.wanted[0], result.common[0]);
  result.needed_e = Needed(result.curve, 1, plan.wanted[1], result.common[1]);
  for (const RestitutionLaw rival : plan.rivals) {
    say("laws");
    // One number of drops suffices: the difference grows in proportion.
    const int at = std::min(plan.drops, plan.body.planar ? 24 : 12),
              campaigns =
                  std::max(8, static_cast<int>(plan.effort * (plan.body.planar ? 400 : 60)));
    result.rivals.push_back(CompareLaws(plan, drops, RoundShares(result.shares, at), rival,
                                        campaigns, Mixed(plan.seed, 5, 0), threads));
  }
  say("cameras");
  FillRates(plan, &result);
  result.checks = pipelines::CheckCameras(plan, result);
  result.limits = pipelines::DescribeLimits(plan, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace impactlab
