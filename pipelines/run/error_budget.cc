#include "pipelines/run/error_budget.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/base/parallel.h"
#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "pipelines/run/run.h"

namespace impactlab {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<const ImpactBundle*> AcceptedDrops(const Analysis& analysis) {
  std::vector<const ImpactBundle*> used;
  for (const std::vector<ImpactBundle>& drops : analysis.drops)
    for (const ImpactBundle& drop : drops)
      if (drop.event.accepted) used.push_back(&drop);
  return used;
}

// Coefficients of all fits, in order; NaN where there is none.
Eigen::VectorXd FittedCoefficients(const FitResult& fit) {
  std::vector<double> values;
  for (const LawFit& law : fit.fits)
    for (const ParameterEstimate& p : ListParameters(law)) values.push_back(p.value);
  return Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

constexpr const char* kStates[] = {"position", "v_minus", "v_plus", "omega_minus", "omega_plus"};
constexpr const char* kStateUnits[] = {"m", "m_per_s", "m_per_s", "rad_per_s", "rad_per_s"};

// Mean variance of one component over the fits.
StateVariances MeanVariances(const std::vector<const ImpactBundle*>& used,
                             DropCovariance ImpactBundle::*share) {
  StateVariances out{};
  for (const ImpactBundle* fit : used)
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] += (fit->*share).diagonal().segment<3>(kStatePlaces[k]).mean();
  for (double& v : out) v /= std::max<double>(1, static_cast<double>(used.size()));
  return out;
}

class Maker {
 public:
  Maker(const Experiment& experiment, const Analysis& analysis, const FitResult& fit,
        const CommonErrors& common, const Adjustment& adjustment, const RunContext& context)
      : experiment_(experiment),
        fit_(fit),
        common_(common),
        shared_(adjustment.shared),
        used_(AcceptedDrops(analysis)) {
    for (const LawFit& law : fit.fits)
      for (const ParameterEstimate& p : ListParameters(law))
        budget_.rows.push_back(
            {.quantity = p.name, .law = law.law, .unit = "1", .value = p.value, .sd = {}});
    coefficients_ = budget_.rows.size();
    for (std::size_t k = 0; k < std::size(kStates); ++k)
      budget_.rows.push_back(
          {.quantity = kStates[k], .law = {}, .unit = kStateUnits[k], .value = kNone, .sd = {}});
    if (!used_.empty()) Vary(context);
  }

  ErrorBudget Make() {
    if (used_.empty()) return {};
    AddPixels();
    AddShare("clocks", "offsets, rates and row times of the cameras as fitted with each impact",
             &ImpactBundle::share_clocks);
    if (experiment_.bundle.layout_sd > 0)
      AddShare("layout", "places of the markers as fitted with each impact",
               &ImpactBundle::share_layout);
    for (const CommonSource& source : common_.sources()) AddCommon(source);
    AddFound();
    AddScatter();
    budget_.notes = common_.notes();
    AddFinding();
    for (BudgetRow& row : budget_.rows) {
      for (const double sd : row.sd)
        if (std::isfinite(sd)) row.total += sd * sd;
      row.total = std::sqrt(row.total);
    }
    return std::move(budget_);
  }

 private:
  // Coefficients that the events give with the common errors at c.
  Eigen::VectorXd Descend(const Eigen::VectorXd& c) const {
    const EventsOfBody moved = common_.At(c);
    FitResult result;
    IdentifyOptions options = experiment_.identify;
    options.bootstrap = options.grid = 0;
    options.influence = options.intervals = false;
    for (const LawFit& law : fit_.fits)
      result.fits.push_back(
          Identify(moved.events, moved.body, ModelOf(law), WithLikelihoodOf(law, options)));
    return FittedCoefficients(result);
  }

  // What one standard deviation of what is left does, in every direction of every source.
  void Vary(const RunContext& context) {
    const int n = common_.dimensions();
    moved_ = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(coefficients_), n);
    if (n == 0) return;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(shared_.cov);
    const Eigen::MatrixXd root = eigen.eigenvectors() *
                                 eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
                                 eigen.eigenvectors().transpose();
    // The same descent from the same start as every variation: what differs is the variation alone.
    const Eigen::VectorXd base = Descend(shared_.mean);
    ForEachIndex(static_cast<std::size_t>(n), context.threads, [&](std::size_t k) {
      context.CheckCancelled();
      const auto at = static_cast<Eigen::Index>(k);
      const Eigen::VectorXd change = Descend(shared_.mean + root.col(at)) - base;
      // A coefficient that one of the fits does not determine has no share in anything.
      moved_.col(at) = change.unaryExpr([](double d) { return std::isfinite(d) ? d : 0.0; });
    });
    // An error of one standard deviation that was declared is found by the impacts but for the
    // posterior covariance's part of it.
    declared_ = moved_ * root;
    budget_.common = moved_ * moved_.transpose();
  }

  void AddPixels() {
    budget_.sources.push_back({"pixels",
                               "noise of the images as the fits found it, markers beside their "
                               "line, the prior of a spin that none shows",
                               false, 0});
    std::size_t at = 0;
    for (const LawFit& law : fit_.fits)
      for (const ParameterEstimate& p : ListParameters(law))
        budget_.rows[at++].sd.push_back(p.sd_noise_only);
    for (const double v : MeanVariances(used_, &ImpactBundle::share_pixels))
      budget_.rows[at++].sd.push_back(std::sqrt(std::max(0.0, v)));
  }

  // Part of each fit already: the coefficients hold it among the noise of the events.
  void AddShare(const char* name, const char* how, DropCovariance ImpactBundle::*share) {
    const auto variances = MeanVariances(used_, share);
    if (std::all_of(variances.begin(), variances.end(), [](double v) { return v <= 0; })) return;
    budget_.sources.push_back({name, how, false, 0});
    std::size_t at = 0;
    while (at < coefficients_) budget_.rows[at++].sd.push_back(kNone);
    for (const double v : variances) budget_.rows[at++].sd.push_back(std::sqrt(std::max(0.0, v)));
  }

  void AddCommon(const CommonSource& source) {
    // What the impacts leave of what was declared, and how far they want it moved.
    const double left =
        std::sqrt(shared_.cov.diagonal().segment(source.first, source.dimensions).mean());
    std::string how = source.how;
    if (left < 0.99)
      how += fmt::format("; for the coefficients, {:.2g} % of it are left by the impacts (rms)",
                         100 * left);
    budget_.sources.push_back({source.name, how, true, source.dimensions});
    const auto moved = declared_.middleCols(source.first, source.dimensions);
    for (std::size_t k = 0; k < coefficients_; ++k)
      budget_.rows[k].sd.push_back(moved.row(static_cast<Eigen::Index>(k)).norm());
    const StateVariances variances = common_.Variances(source);
    for (std::size_t k = 0; k < variances.size(); ++k)
      budget_.rows[coefficients_ + k].sd.push_back(std::sqrt(variances[k]));
  }

  void AddFound() {
    if (shared_.dof == 0) return;
    // More impacts tell it better.
    budget_.sources.push_back({"adjustment",
                               "noise and scatter with which the impacts tell what they share",
                               false, shared_.dof});
    const Eigen::VectorXd variance = budget_.common.diagonal() - declared_.rowwise().squaredNorm();
    for (std::size_t k = 0; k < coefficients_; ++k)
      budget_.rows[k].sd.push_back(
          std::sqrt(std::max(0.0, variance(static_cast<Eigen::Index>(k)))));
    for (std::size_t k = coefficients_; k < budget_.rows.size(); ++k)
      budget_.rows[k].sd.push_back(kNone);
  }

  void AddFinding() {
    if (shared_.dof == 0) return;
    const double p = 1 - ChiSquareCdf(shared_.chi_square, shared_.dof);
    if (p < 0.01)
      budget_.notes.push_back(fmt::format(
          "the impacts want cameras, layout or body further off than declared (chi-square {:.1f} "
          "in {} directions, p = {:.1g}): one of "
          "them is known less well than stated, or the impacts do not obey rigid-body momentum",
          shared_.chi_square, shared_.dof, p));
  }

  // The model: what impacts differ by that no measurement explains.
  void AddScatter() {
    budget_.sources.push_back(
        {"scatter", "impulses that differ from impact to impact by more than they are known", false,
         0});
    std::size_t at = 0;
    for (const LawFit& law : fit_.fits)
      for (const ParameterEstimate& p : ListParameters(law)) {
        const double variance = p.sd * p.sd - p.sd_noise_only * p.sd_noise_only;
        budget_.rows[at++].sd.push_back(std::isfinite(variance) ? std::sqrt(std::max(0.0, variance))
                                                                : kNone);
      }
    while (at < budget_.rows.size()) budget_.rows[at++].sd.push_back(kNone);
  }

  const Experiment& experiment_;
  const FitResult& fit_;
  const CommonErrors& common_;
  const SharedErrors& shared_;
  std::vector<const ImpactBundle*> used_;
  // Coefficients by directions of what is left of the common errors, and by the declared ones.
  Eigen::MatrixXd moved_, declared_;
  ErrorBudget budget_;
  std::size_t coefficients_ = 0;
};

}  // namespace

ErrorBudget MakeBudget(const Experiment& experiment, const Analysis& analysis, const FitResult& fit,
                       const CommonErrors& common, const Adjustment& adjustment,
                       const RunContext& context) {
  return Maker(experiment, analysis, fit, common, adjustment, context).Make();
}

void AddCommon(const ErrorBudget& budget, FitResult* fit) {
  constexpr double kFar = 0.1;
  Eigen::Index first = 0;
  for (LawFit& law : fit->fits) {
    const auto parameters = ListParameters(law);
    const auto n = static_cast<Eigen::Index>(parameters.size());
    if (first + n > budget.common.rows()) return;
    const Eigen::MatrixXd common = budget.common.block(first, first, n, n);
    first += n;
    for (Eigen::MatrixXd* cov : {&law.covariance, &law.covariance_noise_only})
      if (cov->rows() == n) *cov += common;
    for (Eigen::Index k = 0; k < n; ++k) {
      ParameterEstimate& p = parameters[static_cast<std::size_t>(k)];
      const double sd = std::sqrt(common(k, k));
      if (!(sd > 0) || !std::isfinite(p.value)) continue;
      const bool friction = p.name == "mu_k" || p.name == "mu_s";
      if (sd > std::max(p.value, kFar)) {
        // One or two impacts that change from slip to stick with the common errors decide: no first
        // order tells how far it may be.
        p.value = p.sd = p.sd_noise_only = std::numeric_limits<double>::quiet_NaN();
        p.lower95 = 0;
        p.upper95 = friction ? std::numeric_limits<double>::infinity() : 1;
        p.identifiable = false;
        p.reason = "errors that all impacts share (cameras, layout) move it by more than its size";
        continue;
      }
      p.sd = std::hypot(p.sd, sd);
      p.sd_noise_only = std::hypot(p.sd_noise_only, sd);
      const double top = friction ? std::numeric_limits<double>::infinity() : 1;
      p.lower95 = std::max(0.0, p.value - std::hypot(p.value - p.lower95, kNormal95 * sd));
      if (std::isfinite(p.upper95))
        p.upper95 = std::min(top, p.value + std::hypot(p.upper95 - p.value, kNormal95 * sd));
    }
  }
}

FitsWithBudget IdentifyTogether(const Experiment& experiment, const MarkerRecordings& markers,
                                const Analysis& analysis, bool budget, const RunContext& context) {
  const CommonErrors common(experiment, markers, analysis, context);
  FitsWithBudget out;
  out.adjustment = AdjustToCommon(common, experiment);
  Experiment adjusted = experiment;
  adjusted.body = out.adjustment.set.body;
  out.fit = FitAll(adjusted, out.adjustment.set.events, context);
  if (!budget) return out;
  out.budget = MakeBudget(experiment, analysis, out.fit, common, out.adjustment, context);
  AddCommon(out.budget, &out.fit);
  return out;
}

void WriteBudget(const std::filesystem::path& path, const ErrorBudget& budget) {
  CsvWriter out(path, {"quantity", "law", "unit", "value", "source", "common", "directions", "sd",
                       "share", "how"});
  for (const BudgetRow& row : budget.rows)
    for (std::size_t s = 0; s < budget.sources.size(); ++s) {
      const BudgetSource& source = budget.sources[s];
      if (!std::isfinite(row.sd[s])) continue;
      out.Text(row.quantity)
          .Text(row.law)
          .Text(row.unit)
          .Number(row.value)
          .Text(source.name)
          .Integer(source.common);
      out.Integer(source.dimensions)
          .Number(row.sd[s])
          .Number(row.total > 0 ? std::pow(row.sd[s] / row.total, 2) : kNone);
      out.Text(source.how).EndRow();
    }
  out.Commit();
}

}  // namespace impactlab
