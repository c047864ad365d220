#include "pipelines/error_budget.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "data/parallel.h"
#include "data/table.h"
#include "pipelines/interrupt.h"
#include "pipelines/run.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Which fit is behind an event.
struct Used {
  std::size_t recording = 0, drop = 0;
};

std::vector<Used> AcceptedDrops(const Analysis& analysis) {
  std::vector<Used> used;
  for (std::size_t i = 0; i < analysis.drops.size(); ++i)
    for (std::size_t k = 0; k < analysis.drops[i].size(); ++k)
      if (analysis.drops[i][k].event.accepted) used.push_back({i, k});
  return used;
}

Eigen::Matrix3d Turn(const Vector3d& r) {
  const double angle = r.norm();
  return angle > 0 ? Eigen::AngleAxisd(angle, r / angle).toRotationMatrix() : Eigen::Matrix3d::Identity();
}

// The event of a state that is off by dx.
ImpactEvent Displaced(const ImpactEvent& event, const Eigen::Matrix<double, kDropDim, 1>& dx, const Body& body, const Plane& floor,
                      const Vector3d& gravity_W) {
  ImpactEvent out = event;
  const Eigen::Matrix3d R = event.X_WB.linear(), R_new = R * Turn(dx.segment<3>(kDropPose + 3));
  out.X_WB.linear() = R_new;
  out.X_WB.translation() += dx.segment<3>(kDropPose);
  out.v_minus += dx.segment<3>(kDropMinus);
  out.v_plus += dx.segment<3>(kDropPlus);
  out.omega_minus = R_new * (R.transpose() * event.omega_minus + dx.segment<3>(kDropMinus + 3));
  out.omega_plus = R_new * (R.transpose() * event.omega_plus + dx.segment<3>(kDropPlus + 3));
  out.t += dx(kDropTime);
  const auto lever = [&](const Eigen::Matrix3d& rotation) {
    return Vector3d(rotation * SupportLever(body, rotation.transpose() * floor.normal));
  };
  out.p_WP = event.p_WP + dx.segment<3>(kDropPose) + lever(R_new) - lever(R);
  UpdateContact(out, body, floor, gravity_W);
  return out;
}

// Coefficients of all fits, in order; NaN where there is none.
Eigen::VectorXd Coefficients(const FitResult& fit) {
  std::vector<double> values;
  for (const LawFit& law : fit.fits)
    for (const ParameterEstimate& p : law.parameters) values.push_back(p.value);
  return Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// States of an event that the budget speaks of: position, velocities and spins,
// in W.
using States = Eigen::Matrix<double, 15, 1>;
States StatesOf(const ImpactEvent& e) {
  States s;
  s << e.X_WB.translation(), e.v_minus, e.v_plus, e.omega_minus, e.omega_plus;
  return s;
}

class Variation {
 public:
  Variation(const Experiment& experiment, const MarkerRecordings& markers, const Analysis& analysis, int threads)
      : experiment_(experiment),
        markers_(markers),
        analysis_(analysis),
        threads_(threads),
        floor_(CorrectedFloor(experiment.floor, analysis.correction)),
        used_(AcceptedDrops(analysis)) {
    for (const Used& u : used_) {
      events_.push_back(Fit(u).event);
      noise_.push_back(Fit(u).event_cov_noise);
    }
    for (const LawFit& law : analysis.fit.fits) start_.push_back(ModelOf(law));
    // The same descent from the same start as every variation: what differs is
    // the variation alone.
    base_ = Descend(NoiseEventsOf(events_), experiment_.body);
  }

  const std::vector<Used>& used() const { return used_; }
  const DropFit& Fit(const Used& u) const { return analysis_.drops[u.recording][u.drop]; }

  // What one standard deviation in one direction does: squares are added up.
  struct Sum {
    Eigen::MatrixXd coefficients;    // covariance
    States states = States::Zero();  // variance, mean over the events
    int dimensions = 0;
    void Add(const Eigen::VectorXd& dtheta, const States& squares) {
      if (coefficients.size() == 0) coefficients = Eigen::MatrixXd::Zero(dtheta.size(), dtheta.size());
      // A coefficient that one of the fits does not determine has no share in anything.
      const Eigen::VectorXd known = dtheta.unaryExpr([](double d) { return std::isfinite(d) ? d : 0.0; });
      coefficients += known * known.transpose();
      states += squares;
      ++dimensions;
    }
  };

  // Events moved as the fits follow what is given and not fitted: the rig, or the layout.
  Sum Given(const Eigen::MatrixXd& cov, Eigen::Matrix<double, kDropDim, Eigen::Dynamic> DropFit::*dx_dgiven) const {
    Sum sum;
    if (cov.size() == 0) return sum;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(cov);
    std::vector<Sum> parts(static_cast<std::size_t>(cov.rows()));
    ForEachIndex(parts.size(), threads_, [&](std::size_t k) {
      CheckInterrupt();
      const auto column = static_cast<Eigen::Index>(k);
      const double variance = eigen.eigenvalues()(column);
      if (!(variance > 0)) return;
      const Eigen::VectorXd step = std::sqrt(variance) * eigen.eigenvectors().col(column);
      std::vector<ImpactEvent> moved;
      for (std::size_t i = 0; i < used_.size(); ++i) {
        const auto& follows = Fit(used_[i]).*dx_dgiven;
        moved.push_back(follows.cols() == step.size() ? Displaced(events_[i], follows * step, experiment_.body, floor(), gravity())
                                                      : events_[i]);
      }
      AddMoved(moved, experiment_.body, &parts[k]);
    });
    for (const Sum& part : parts)
      if (part.dimensions > 0) {
        if (sum.coefficients.size() == 0) sum.coefficients = Eigen::MatrixXd::Zero(part.coefficients.rows(), part.coefficients.cols());
        sum.coefficients += part.coefficients;
        sum.states += part.states;
        sum.dimensions += part.dimensions;
      }
    return sum;
  }

  // Everything fitted again with other markers, gravity or body.
  void Refit(const std::vector<BodyMarker>& layout, const Vector3d& gravity_W, const Body& body, Sum* sum) const {
    std::vector<ImpactEvent> moved(used_.size());
    ForEachIndex(used_.size(), threads_, [&](std::size_t i) {
      CheckInterrupt();
      const Used& u = used_[i];
      DropFitOptions options = BundleOptions(experiment_, markers_, u.recording);
      options.motion.flight.gravity_W = gravity_W;
      options.t_impact = events_[i].t;
      // The flights are those of the fit as it stands: to the neighbouring
      // impacts, where there are any.
      const std::vector<DropFit>& all = analysis_.drops[u.recording];
      if (u.drop > 0) options.t_begin = all[u.drop - 1].event.t + 0.5 * options.exposure;
      if (u.drop + 1 < all.size()) options.t_end = all[u.drop + 1].event.t - 0.5 * options.exposure;
      const DropFit fit = FitDrop(markers_.tracks[u.recording], markers_.rig, layout, body, floor(), options);
      moved[i] = fit.usable ? fit.event : events_[i];
      moved[i].accepted = true;
    });
    AddMoved(moved, body, sum);
  }

  const Plane& floor() const { return floor_; }
  const Vector3d& gravity() const { return experiment_.motion.flight.gravity_W; }

 private:
  // Covariances as they are without the rig; what is varied does not change
  // them.
  std::vector<ImpactEvent> NoiseEventsOf(std::vector<ImpactEvent> events) const {
    for (std::size_t i = 0; i < events.size(); ++i) events[i].cov = noise_[i];
    return events;
  }

  Eigen::VectorXd Descend(const std::vector<ImpactEvent>& events, const Body& body) const {
    FitResult result;
    IdentifyOptions options = experiment_.identify;
    options.bootstrap = options.grid = 0;
    options.influence = options.intervals = false;
    for (std::size_t k = 0; k < start_.size(); ++k) result.fits.push_back(Identify(events, body, start_[k], options));
    return Coefficients(result);
  }

  void AddMoved(const std::vector<ImpactEvent>& moved, const Body& body, Sum* sum) const {
    States squares = States::Zero();
    for (std::size_t i = 0; i < moved.size(); ++i) squares += (StatesOf(moved[i]) - StatesOf(events_[i])).cwiseAbs2();
    if (!moved.empty()) squares /= static_cast<double>(moved.size());
    sum->Add(Descend(NoiseEventsOf(moved), body) - base_, squares);
  }

  const Experiment& experiment_;
  const MarkerRecordings& markers_;
  const Analysis& analysis_;
  int threads_ = 0;
  Plane floor_;
  std::vector<Used> used_;
  std::vector<ImpactEvent> events_;
  std::vector<EventCovariance> noise_;
  std::vector<ImpactModel> start_;
  Eigen::VectorXd base_;
};

constexpr const char* kStates[] = {"position", "v_minus", "v_plus", "omega_minus", "omega_plus"};
constexpr const char* kStateUnits[] = {"m", "m_per_s", "m_per_s", "rad_per_s", "rad_per_s"};
constexpr int kStatePlaces[] = {kDropPose, kDropMinus, kDropPlus, kDropMinus + 3, kDropPlus + 3};

// Mean variance of one component over the fits.
std::array<double, 5> MeanVariances(const Variation& variation, DropCovariance DropFit::*share) {
  std::array<double, 5> out{};
  for (const Used& u : variation.used()) {
    const DropCovariance& cov = variation.Fit(u).*share;
    for (std::size_t k = 0; k < out.size(); ++k) out[k] += cov.diagonal().segment<3>(kStatePlaces[k]).mean();
  }
  for (double& v : out) v /= std::max<double>(1, static_cast<double>(variation.used().size()));
  return out;
}

class Maker {
 public:
  Maker(const Experiment& experiment, const MarkerRecordings& markers, const Analysis& analysis, int threads)
      : experiment_(experiment), markers_(markers), analysis_(analysis), variation_(experiment, markers, analysis, threads) {
    for (const LawFit& law : analysis.fit.fits)
      for (const ParameterEstimate& p : law.parameters)
        budget_.rows.push_back({.quantity = p.name, .law = law.law, .unit = "1", .value = p.value, .sd = {}});
    coefficients_ = budget_.rows.size();
    for (std::size_t k = 0; k < std::size(kStates); ++k)
      budget_.rows.push_back({.quantity = kStates[k], .law = {}, .unit = kStateUnits[k], .value = kNone, .sd = {}});
  }

  ErrorBudget Make() {
    if (variation_.used().empty()) return {};
    AddPixels();
    AddShare("clocks",
             "offsets, rates and row times of the cameras as fitted with each "
             "impact",
             &DropFit::share_clocks);
    AddRig();
    AddLayout();
    AddGravity();
    AddInertia();
    AddScatter();
    for (BudgetRow& row : budget_.rows) {
      for (const double sd : row.sd)
        if (std::isfinite(sd)) row.total += sd * sd;
      row.total = std::sqrt(row.total);
    }
    return std::move(budget_);
  }

 private:
  void AddPixels() {
    budget_.sources.push_back({"pixels",
                               "noise of the images as the fits found it, and "
                               "the prior of a spin that no marker shows",
                               false, 0});
    std::size_t at = 0;
    for (const LawFit& law : analysis_.fit.fits)
      for (const ParameterEstimate& p : law.parameters) budget_.rows[at++].sd.push_back(p.sd_noise_only);
    for (const double v : MeanVariances(variation_, &DropFit::share_pixels)) budget_.rows[at++].sd.push_back(std::sqrt(std::max(0.0, v)));
  }

  // Part of each fit already: the coefficients hold it among the noise of the
  // events.
  void AddShare(const char* name, const char* how, DropCovariance DropFit::*share) {
    const auto variances = MeanVariances(variation_, share);
    if (std::all_of(variances.begin(), variances.end(), [](double v) { return v <= 0; })) return;
    budget_.sources.push_back({name, how, false, 0});
    std::size_t at = 0;
    while (at < coefficients_) budget_.rows[at++].sd.push_back(kNone);
    for (const double v : variances) budget_.rows[at++].sd.push_back(std::sqrt(std::max(0.0, v)));
  }

  void AddCommon(const char* name, const std::string& how, const Variation::Sum& sum) {
    if (sum.dimensions == 0) return;
    budget_.sources.push_back({name, how, true, sum.dimensions});
    if (budget_.common.size() == 0) budget_.common = Eigen::MatrixXd::Zero(sum.coefficients.rows(), sum.coefficients.cols());
    budget_.common += sum.coefficients;
    for (std::size_t k = 0; k < coefficients_; ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      budget_.rows[k].sd.push_back(std::sqrt(sum.coefficients(at, at)));
    }
    for (std::size_t k = 0; k < std::size(kStates); ++k)
      budget_.rows[coefficients_ + k].sd.push_back(std::sqrt(sum.states.segment<3>(3 * static_cast<Eigen::Index>(k)).mean()));
  }

  void AddRig() {
    if (markers_.rig.covariance.size() == 0) {
      budget_.notes.emplace_back("cameras: the rig carries no covariance, its errors are not counted");
      return;
    }
    AddCommon("cameras", "lenses, poses and the frame W, along the axes of the rig's covariance",
              variation_.Given(markers_.rig.covariance, &DropFit::dx_drig));
  }

  void AddLayout() {
    if (experiment_.bundle.layout_sd > 0) {
      AddShare("layout", "places of the markers as fitted with each impact", &DropFit::share_layout);
      return;
    }
    const LearnedLayout& layout = analysis_.layout;
    if (layout.knowledge.cov.size() == 0) return;
    const double left = std::sqrt(layout.knowledge.cov.diagonal().mean());
    AddCommon("layout",
              layout.impacts > 0 ? fmt::format("places of the markers: given to {:.3g} mm, learned from {} impacts to {:.3g} mm (rms)",
                                               1e3 * layout.prior_sd, layout.impacts, 1e3 * left)
                                 : fmt::format("every coordinate of every marker by {:.3g} mm", 1e3 * layout.prior_sd),
              variation_.Given(layout.knowledge.cov, &DropFit::dx_dlayout));
  }

  // Its direction is that of the rig; its size is known.
  void AddGravity() {
    const Eigen::Matrix3d& cov = markers_.rig.world.cov_gravity;
    if (!experiment_.gravity_of_rig || cov.isZero(0)) return;
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov);
    Variation::Sum sum;
    double largest = 0;
    for (int k = 0; k < 3; ++k) {
      const double variance = eigen.eigenvalues()(k);
      if (!(variance > 1e-14)) continue;
      largest = std::max(largest, variance);
      const Vector3d turned = variation_.gravity() + variation_.gravity().norm() * std::sqrt(variance) * eigen.eigenvectors().col(k);
      variation_.Refit(markers_.layout, turned, experiment_.body, &sum);
    }
    AddCommon("gravity", fmt::format("its direction by {:.2g} mrad", 1e3 * std::sqrt(largest)), sum);
  }

  void AddInertia() {
    const double sd = experiment_.inertia_sd;
    if (!(sd > 0)) return;
    // All together: single moments of a thin body cannot change alone.
    Variation::Sum sum;
    Body body = experiment_.body;
    body.inertia_B *= 1 + sd;
    variation_.Refit(markers_.layout, variation_.gravity(), body, &sum);
    AddCommon("inertia", fmt::format("all moments of the body by {:.2g} %", 100 * sd), sum);
  }

  // The model: what impacts differ by that no measurement explains.
  void AddScatter() {
    budget_.sources.push_back({"scatter",
                               "impulses that differ from impact to impact by "
                               "more than they are known",
                               false, 0});
    std::size_t at = 0;
    for (const LawFit& law : analysis_.fit.fits)
      for (const ParameterEstimate& p : law.parameters) {
        const double variance = p.sd * p.sd - p.sd_noise_only * p.sd_noise_only;
        budget_.rows[at++].sd.push_back(std::isfinite(variance) ? std::sqrt(std::max(0.0, variance)) : kNone);
      }
    while (at < budget_.rows.size()) budget_.rows[at++].sd.push_back(kNone);
  }

  const Experiment& experiment_;
  const MarkerRecordings& markers_;
  const Analysis& analysis_;
  Variation variation_;
  ErrorBudget budget_;
  std::size_t coefficients_ = 0;
};

}  // namespace

ErrorBudget MakeBudget(const Experiment& experiment, const MarkerRecordings& markers, const Analysis& analysis, int threads) {
  return Maker(experiment, markers, analysis, threads).Make();
}

void AddCommon(const ErrorBudget& budget, FitResult* fit) {
  constexpr double kNormal95 = 1.959964, kFar = 0.1;
  Eigen::Index first = 0;
  for (LawFit& law : fit->fits) {
    const auto n = static_cast<Eigen::Index>(law.parameters.size());
    if (first + n > budget.common.rows()) return;
    const Eigen::MatrixXd common = budget.common.block(first, first, n, n);
    first += n;
    for (Eigen::MatrixXd* cov : {&law.covariance, &law.covariance_noise_only})
      if (cov->rows() == n) *cov += common;
    for (Eigen::Index k = 0; k < n; ++k) {
      ParameterEstimate& p = law.parameters[static_cast<std::size_t>(k)];
      const double sd = std::sqrt(common(k, k));
      if (!(sd > 0) || !std::isfinite(p.value)) continue;
      const bool friction = p.name == "mu_k" || p.name == "mu_s";
      if (sd > std::max(p.value, kFar)) {
        // One or two impacts that change from slip to stick with the common errors decide: no first order tells how far it may be.
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
      if (std::isfinite(p.upper95)) p.upper95 = std::min(top, p.value + std::hypot(p.upper95 - p.value, kNormal95 * sd));
    }
  }
}

std::vector<ImpactEvent> NoiseEvents(const Analysis& analysis) {
  std::vector<ImpactEvent> events;
  for (std::size_t i = 0; i < analysis.motion.size(); ++i)
    for (std::size_t k = 0; k < analysis.motion[i].events.size(); ++k) {
      events.push_back(analysis.motion[i].events[k]);
      if (i < analysis.drops.size() && k < analysis.drops[i].size()) events.back().cov = analysis.drops[i][k].event_cov_noise;
    }
  return events;
}

void WriteBudget(const std::filesystem::path& path, const ErrorBudget& budget) {
  CsvWriter out(path, {"quantity", "law", "unit", "value", "source", "common", "directions", "sd", "share", "how"});
  for (const BudgetRow& row : budget.rows)
    for (std::size_t s = 0; s < budget.sources.size(); ++s) {
      const BudgetSource& source = budget.sources[s];
      if (!std::isfinite(row.sd[s])) continue;
      out.Text(row.quantity).Text(row.law).Text(row.unit).Number(row.value).Text(source.name).Integer(source.common);
      out.Integer(source.dimensions).Number(row.sd[s]).Number(row.total > 0 ? std::pow(row.sd[s] / row.total, 2) : kNone);
      out.Text(source.how).EndRow();
    }
  out.Commit();
}

}  // namespace impactlab
