#include "pipelines/run/compare_classical.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/base/core_seconds.h"
#include "data/base/parallel.h"
#include "pipelines/config/yaml.h"
#include "pipelines/run/run.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;

// of kComparedStates in the covariance of an event
constexpr int kStateRows[] = {kVMinus, kOmegaMinus, kVPlus, kOmegaPlus};

// The poses between two instants: the flights on either side of one impact, and nothing of its
// neighbours'.
MeasuredPoses Between(const MeasuredPoses& all, double begin, double end) {
  MeasuredPoses out;
  out.recording.name = all.recording.name;
  out.cov_rig = all.cov_rig;
  out.observable = all.observable;
  out.axis_B = all.axis_B;
  std::vector<int> kept;
  for (int i = 0; i < static_cast<int>(all.recording.t.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (all.recording.t[at] <= begin || all.recording.t[at] >= end) continue;
    kept.push_back(i);
    out.recording.t.push_back(all.recording.t[at]);
    out.recording.X_WB.push_back(all.recording.X_WB[at]);
    out.cov.push_back(all.cov[at]);
    if (!all.dx_drig.empty()) out.dx_drig.push_back(all.dx_drig[at]);
  }
  if (all.cross)
    out.cross = [kept, cross = all.cross](int i, int j) {
      return cross(kept[static_cast<std::size_t>(i)], kept[static_cast<std::size_t>(j)]);
    };
  return out;
}

// Directions of a spin that the cameras see.
Eigen::Matrix<double, 3, Eigen::Dynamic> ObservedComponents(const ImpactEvent& event, bool spin) {
  if (!spin || event.unseen_axis_B.isZero(0)) return Matrix3d::Identity();
  const Vector3d axis = event.X_WB.linear() * event.unseen_axis_B;
  Eigen::Matrix<double, 3, Eigen::Dynamic> across(3, 2);
  across.col(0) = axis.unitOrthogonal();
  across.col(1) = axis.cross(across.col(0));
  return across;
}

// States of an event by the bundle fit; the part of a spin that is not seen is taken out, as the
// others do not have it.
ComparedImpact OfBundle(const ImpactEvent& event) {
  ComparedImpact out;
  out.recording = event.recording;
  out.impact = event.impact;
  out.usable = true;
  out.states = {event.v_minus, event.omega_minus, event.v_plus, event.omega_plus};
  out.difference.fill(0);
  out.z.fill(std::nan(""));
  for (std::size_t k = 0; k < 4; ++k) {
    const Eigen::Matrix<double, 3, Eigen::Dynamic> seen = ObservedComponents(event, k % 2 == 1);
    const Matrix3d onto = seen * seen.transpose();
    out.states[k] = onto * out.states[k];
    out.cov[k] = onto * event.cov.block<3, 3>(kStateRows[k], kStateRows[k]) * onto;
    out.sd[k] = std::sqrt(out.cov[k].trace() / static_cast<double>(seen.cols()));
  }
  out.frames_minus = event.frames_minus;
  out.frames_plus = event.frames_plus;
  return out;
}

ComparedImpact OfEstimate(const ClassicalEstimate& estimate, const ImpactEvent& event,
                          const ComparedImpact& bundle) {
  ComparedImpact out;
  out.recording = event.recording;
  out.impact = event.impact;
  out.usable = estimate.usable;
  out.reason = estimate.reason;
  out.frames_minus = static_cast<int>(estimate.minus.times.size());
  out.frames_plus = static_cast<int>(estimate.plus.times.size());
  out.sd.fill(std::nan("")), out.difference.fill(std::nan("")), out.z.fill(std::nan(""));
  out.states.fill(Vector3d::Constant(std::nan(""))), out.cov.fill(Matrix3d::Constant(std::nan("")));
  if (!estimate.usable) return out;
  for (std::size_t k = 0; k < 4; ++k) {
    const bool spin = k % 2 == 1;
    const ClassicalSide& side = k < 2 ? estimate.minus : estimate.plus;
    const Eigen::Matrix<double, 3, Eigen::Dynamic> seen = ObservedComponents(event, spin);
    const Matrix3d onto = seen * seen.transpose();
    out.states[k] = onto * (spin ? side.omega : side.v);
    out.cov[k] =
        onto * (spin ? side.cov.bottomRightCorner<3, 3>() : side.cov.topLeftCorner<3, 3>()) * onto;
    const auto components = static_cast<double>(seen.cols());
    const Eigen::VectorXd d = seen.transpose() * (out.states[k] - bundle.states[k]);
    const MatrixXd both = seen.transpose() * (out.cov[k] + bundle.cov[k]) * seen;
    out.sd[k] = std::sqrt(out.cov[k].trace() / components);
    out.difference[k] = d.norm() / std::sqrt(components);
    out.z[k] = std::sqrt(d.dot(both.ldlt().solve(d)) / components);
  }
  return out;
}

// The event that an estimator's states make: pose, contact and lever are the bundle fit's, the two
// sides are independent of each other.
ImpactEvent EventOf(const ComparedImpact& estimate, const ImpactEvent& bundle,
                    const ImpactBundleOptions& options) {
  ImpactEvent event = bundle;
  Vector3d* const states[] = {&event.v_minus, &event.omega_minus, &event.v_plus, &event.omega_plus};
  const Matrix3d lever = bundle.cov.block<3, 3>(kLever, kLever);
  event.cov.setZero();
  event.cov.block<3, 3>(kLever, kLever) = lever;
  const Vector3d axis = bundle.X_WB.linear() * bundle.unseen_axis_B;
  for (std::size_t k = 0; k < 4; ++k) {
    *states[k] = estimate.states[k];
    auto block = event.cov.block<3, 3>(kStateRows[k], kStateRows[k]);
    block = estimate.cov[k];
    const double prior = k < 2 ? options.spin_axis_prior_sd : options.spin_axis_prior_sd_plus;
    if (k % 2 == 1) block += prior * prior * axis * axis.transpose();
  }
  const Matrix3d to_F = event.contact.X_WF.linear().transpose();
  const Vector3d r = event.p_WP - event.X_WB.translation();
  event.contact.v_minus_F = to_F * (event.v_minus + event.omega_minus.cross(r));
  event.v_plus_F = to_F * (event.v_plus + event.omega_plus.cross(r));
  return event;
}

// Options that name estimators, in the order of the methods.
std::vector<ClassicalMethod> Chosen(const ComparisonOptions& options) {
  std::vector<ClassicalMethod> chosen;
  for (ClassicalMethod& method : ClassicalMethods(options.window))
    if (std::find(options.estimators.begin(), options.estimators.end(), method.name) !=
        options.estimators.end())
      chosen.push_back(std::move(method));
  return chosen;
}

}  // namespace

Comparison CompareClassical(const Experiment& experiment, const MarkerRecordings& markers,
                            const std::vector<TimedPoses>& poses, const Analysis& analysis,
                            const RunContext& context) {
  Comparison out;
  const std::vector<ClassicalMethod> methods = Chosen(experiment.classical);
  if (methods.empty()) return out;
  out.estimators.push_back({{"bundle", "bundle fit", {}}, {}, 0, {}});
  for (const ClassicalMethod& method : methods) out.estimators.push_back({method, {}, 0, {}});
  // One row an estimator; a column a recording.
  std::vector<std::vector<std::vector<ComparedImpact>>> found(analysis.drops.size());
  std::vector<std::vector<std::vector<ImpactEvent>>> events(analysis.drops.size());
  ForEachIndex(analysis.drops.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    const std::vector<ImpactBundle>& drops = analysis.drops[i];
    found[i].resize(out.estimators.size());
    events[i].resize(out.estimators.size());
    const auto accepted = std::count_if(drops.begin(), drops.end(), [](const ImpactBundle& d) {
      return d.usable && d.event.accepted;
    });
    if (accepted == 0) return;
    const double start = CoreSeconds();
    const MeasuredPoses measured =
        Measured(poses[i].poses, markers.recordings[i].tracks, markers.rig);
    const double poses_seconds =
        (poses[i].seconds + CoreSeconds() - start) / static_cast<double>(accepted);
    for (std::size_t d = 0; d < drops.size(); ++d) {
      if (!drops[d].usable || !drops[d].event.accepted) continue;
      const ImpactEvent& event = drops[d].event;
      found[i][0].push_back(OfBundle(event));
      found[i][0].back().seconds = analysis.fit_seconds[i];
      events[i][0].push_back(event);
      const MeasuredPoses flights = Between(measured, d > 0 ? drops[d - 1].event.t : -1e300,
                                            d + 1 < drops.size() ? drops[d + 1].event.t : 1e300);
      for (std::size_t m = 0; m < methods.size(); ++m) {
        ClassicalOptions how = methods[m].options;
        how.gravity_W = experiment.motion.flight.gravity_W;
        how.exposure = BundleOptions(experiment, markers, i).exposure;
        const double begin = CoreSeconds();
        const ClassicalEstimate estimate = EstimateClassical(flights, event.t, how);
        ComparedImpact impact = OfEstimate(estimate, event, found[i][0].back());
        impact.seconds = poses_seconds + CoreSeconds() - begin;
        if (impact.usable) events[i][m + 1].push_back(EventOf(impact, event, experiment.bundle));
        found[i][m + 1].push_back(std::move(impact));
      }
    }
  });
  IdentifyOptions options = experiment.identify;
  options.seed = experiment.seed;
  options.bootstrap = options.grid = 0;
  options.influence = false;
  options.progress = [&](double) { context.CheckCancelled(); };
  const RestitutionLaw law = MainLaw(experiment);
  ForEachIndex(out.estimators.size(), context.threads, [&](std::size_t m) {
    ComparedEstimator& estimator = out.estimators[m];
    std::vector<ImpactEvent> all;
    for (std::size_t i = 0; i < found.size(); ++i) {
      estimator.impacts.insert(estimator.impacts.end(), found[i][m].begin(), found[i][m].end());
      all.insert(all.end(), events[i][m].begin(), events[i][m].end());
    }
    // Velocities that leave the surface before the impact are no impact, whatever the estimator
    // says.
    std::erase_if(all, [](const ImpactEvent& e) { return !(e.contact.v_minus_F.z() < 0); });
    estimator.events = static_cast<int>(all.size());
    if (!all.empty()) estimator.fit = Identify(all, experiment.body, ImpactModel{{}, law}, options);
  });
  return out;
}

}  // namespace impactlab
