#include "pipelines/run/common_errors.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "data/base/parallel.h"
#include "data/math/rotation.h"
#include "pipelines/run/run.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using State = Eigen::Matrix<double, kDropDim, 1>;

// The event of a state that is off by dx.
ImpactEvent Displaced(const ImpactEvent& event, const State& dx, const Body& body,
                      const Plane& floor, const Vector3d& gravity_W) {
  ImpactEvent out = event;
  const Eigen::Matrix3d R = event.X_WB.linear(), R_new = R * ExpSO3(dx.segment<3>(kDropPose + 3));
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

// What Displaced undoes.
State Difference(const ImpactEvent& from, const ImpactEvent& to) {
  State dx = State::Zero();
  const Eigen::Matrix3d R = from.X_WB.linear(), R_new = to.X_WB.linear();
  dx.segment<3>(kDropPose) = to.X_WB.translation() - from.X_WB.translation();
  dx.segment<3>(kDropPose + 3) = LogSO3(R.transpose() * R_new);
  dx.segment<3>(kDropMinus) = to.v_minus - from.v_minus;
  dx.segment<3>(kDropPlus) = to.v_plus - from.v_plus;
  dx.segment<3>(kDropMinus + 3) =
      R_new.transpose() * to.omega_minus - R.transpose() * from.omega_minus;
  dx.segment<3>(kDropPlus + 3) =
      R_new.transpose() * to.omega_plus - R.transpose() * from.omega_plus;
  dx(kDropTime) = to.t - from.t;
  return dx;
}

}  // namespace

CommonErrors::CommonErrors(const Experiment& experiment, const MarkerRecordings& markers,
                           const Analysis& analysis, const RunContext& context)
    : experiment_(experiment),
      markers_(markers),
      analysis_(analysis),
      floor_(CorrectedFloor(experiment.floor, analysis.correction)) {
  events_ = NoiseEvents(analysis);
  for (std::size_t i = 0; i < analysis.motion.size(); ++i)
    for (std::size_t k = 0; k < analysis.motion[i].events.size(); ++k) {
      fits_.push_back(i < analysis.drops.size() && k < analysis.drops[i].size()
                          ? &analysis.drops[i][k]
                          : nullptr);
      recording_.push_back(i);
    }
  for (std::size_t i = 0; i < events_.size(); ++i)
    if (!events_[i].accepted) fits_[i] = nullptr;
  dx_.assign(events_.size(), Directions(kDropDim, 0));
  if (markers.rig.covariance.size() == 0) {
    notes_.emplace_back("cameras: the rig carries no covariance, its errors are not counted");
  } else {
    AddGiven("cameras", "lenses, poses and the frame W, along the axes of the rig's covariance",
             markers.rig.covariance, &ImpactBundle::dx_drig);
  }
  AddLayout();
  AddGravity(context);
  AddInertia(context);
  AddOutline();
}

bool CommonErrors::Moves(const Eigen::VectorXd& given, Directions ImpactBundle::*dx_dgiven) const {
  return std::any_of(fits_.begin(), fits_.end(), [&](const ImpactBundle* fit) {
    return fit != nullptr && (fit->*dx_dgiven).cols() == given.size() &&
           !(fit->*dx_dgiven * given).isZero(1e-12);
  });
}

// What the fits follow that is given and not fitted: the rig, or the layout.
void CommonErrors::AddGiven(const std::string& name, const std::string& how,
                            const Eigen::MatrixXd& cov, Directions ImpactBundle::*dx_dgiven) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(cov);
  std::vector<Eigen::Index> some;
  for (Eigen::Index k = 0; k < cov.rows(); ++k)
    if (eigen.eigenvalues()(k) > 0 && Moves(eigen.eigenvectors().col(k), dx_dgiven))
      some.push_back(k);
  Eigen::MatrixXd steps(cov.rows(), static_cast<Eigen::Index>(some.size()));
  for (std::size_t k = 0; k < some.size(); ++k)
    steps.col(static_cast<Eigen::Index>(k)) =
        std::sqrt(eigen.eigenvalues()(some[k])) * eigen.eigenvectors().col(some[k]);
  if (steps.cols() == 0) return;
  sources_.push_back({name, how, dimensions_, static_cast<int>(steps.cols())});
  dimensions_ += static_cast<int>(steps.cols());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (fits_[i] == nullptr) continue;
    const Directions& follows = fits_[i]->*dx_dgiven;
    Directions moved = Directions::Zero(kDropDim, steps.cols());
    if (follows.cols() == steps.rows()) moved = follows * steps;
    dx_[i].conservativeResize(Eigen::NoChange, dimensions_);
    dx_[i].rightCols(steps.cols()) = moved;
  }
}

void CommonErrors::AddLayout() {
  const LearnedLayout& layout = analysis_.layout;
  if (experiment_.bundle.layout_sd > 0 || layout.knowledge.cov.size() == 0) return;
  const double left = std::sqrt(layout.knowledge.cov.diagonal().mean());
  AddGiven("layout",
           layout.impacts > 0 ? fmt::format("places of the markers: given to {:.3g} mm, learned "
                                            "from {} impacts to {:.3g} mm (rms)",
                                            1e3 * layout.prior_sd, layout.impacts, 1e3 * left)
                              : fmt::format("every coordinate of every marker by {:.3g} mm",
                                            1e3 * layout.prior_sd),
           layout.knowledge.cov, &ImpactBundle::dx_dlayout);
}

std::vector<State> CommonErrors::Refit(const Vector3d& gravity_W, const Body& body,
                                       const RunContext& context) const {
  std::vector<State> dx(events_.size(), State::Zero());
  ForEachIndex(events_.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    if (fits_[i] == nullptr) return;
    const std::size_t recording = recording_[i];
    ImpactBundleOptions options = BundleOptions(experiment_, markers_, recording);
    options.motion.flight.gravity_W = gravity_W;
    options.t_impact = events_[i].t;
    // The flights are those of the fit as it stands: to the neighbouring impacts, where there are
    // any.
    const std::vector<ImpactBundle>& all = analysis_.drops[recording];
    const auto drop = static_cast<std::size_t>(fits_[i] - all.data());
    if (drop > 0) options.t_begin = all[drop - 1].event.t + 0.5 * options.exposure;
    if (drop + 1 < all.size()) options.t_end = all[drop + 1].event.t - 0.5 * options.exposure;
    const ImpactBundle fit = FitImpactBundle(markers_.recordings[recording].tracks, markers_.rig,
                                             markers_.layout, body, floor_, options);
    if (fit.usable) dx[i] = Difference(events_[i], fit.event);
  });
  return dx;
}

void CommonErrors::AddRefit(const std::string& name, const std::string& how,
                            const std::vector<std::vector<State>>& dx) {
  const auto n = static_cast<int>(dx.size());
  sources_.push_back({name, how, dimensions_, n});
  dimensions_ += n;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (fits_[i] == nullptr) continue;
    dx_[i].conservativeResize(Eigen::NoChange, dimensions_);
    for (int k = 0; k < n; ++k)
      dx_[i].col(dimensions_ - n + k) = dx[static_cast<std::size_t>(k)][i];
  }
}

// Its direction is that of the rig; its size is known.
void CommonErrors::AddGravity(const RunContext& context) {
  const Eigen::Matrix3d& cov = markers_.rig.world.cov_gravity;
  if (!experiment_.gravity_of_rig || cov.isZero(0)) return;
  const Vector3d& gravity = experiment_.motion.flight.gravity_W;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov);
  std::vector<std::vector<State>> dx;
  double largest = 0;
  for (int k = 0; k < 3; ++k) {
    const double variance = eigen.eigenvalues()(k);
    if (!(variance > 1e-14)) continue;
    largest = std::max(largest, variance);
    dx.push_back(Refit(gravity + gravity.norm() * std::sqrt(variance) * eigen.eigenvectors().col(k),
                       experiment_.body, context));
  }
  if (!dx.empty())
    AddRefit("gravity", fmt::format("its direction by {:.2g} mrad", 1e3 * std::sqrt(largest)), dx);
}

void CommonErrors::AddInertia(const RunContext& context) {
  const double sd = experiment_.inertia_sd;
  if (!(sd > 0)) return;
  // All together: single moments of a thin body cannot change alone.
  Body body = experiment_.body;
  body.inertia_B *= 1 + sd;
  inertia_ = dimensions_;
  AddRefit("inertia", fmt::format("all moments of the body by {:.2g} %", 100 * sd),
           {Refit(experiment_.motion.flight.gravity_W, body, context)});
}

// A drawing says little of how far a tip reaches and how round a corner is, and momentum about the
// point that touches feels both.
void CommonErrors::AddOutline() {
  const double sd = experiment_.outline_sd;
  if (!(sd > 0)) return;
  const Body& body = experiment_.body;
  const int n = body.shape == BodyShape::kBox || body.shape == BodyShape::kRod ? 2 : 1;
  outline_ = dimensions_;
  sources_.push_back({"outline",
                      fmt::format("how far the body reaches where it touches{}, by {:.2g} mm",
                                  n > 1 ? " and how round it is there" : "", 1e3 * sd),
                      dimensions_, n});
  dimensions_ += n;
  reach_.assign(events_.size(), Eigen::Matrix<double, 3, 2>::Zero());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (fits_[i] == nullptr) continue;
    dx_[i].conservativeResize(Eigen::NoChange, dimensions_);
    dx_[i].rightCols(n).setZero();
    const Vector3d n_B = events_[i].X_WB.linear().transpose() * floor_.normal,
                   lever = SupportLever(body, n_B);
    reach_[i].col(0) = sd * lever.normalized();
    // A sphere that rounds a corner lies further in by its radius along every edge, and reaches
    // back out towards the floor.
    Vector3d corner = Vector3d(0, 0, lever.z() < 0 ? -1 : 1);
    if (body.shape == BodyShape::kBox)
      corner = lever.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
    if (n > 1) reach_[i].col(1) = -sd * (corner + n_B);
  }
}

EventsOfBody CommonErrors::At(const Eigen::VectorXd& c) const {
  EventsOfBody out{events_, experiment_.body};
  // A logarithm, so that no error makes moments negative.
  if (inertia_ >= 0)
    out.body.inertia_B *= std::exp(c(inertia_) * std::log1p(experiment_.inertia_sd));
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (fits_[i] == nullptr || dx_[i].cols() == 0) continue;
    ImpactEvent& event = out.events[i];
    event =
        Displaced(events_[i], dx_[i] * c, out.body, floor_, experiment_.motion.flight.gravity_W);
    if (outline_ < 0) continue;
    for (int k = outline_; k < dimensions_; ++k)
      event.p_WP += event.X_WB.linear() * reach_[i].col(k - outline_) * c(k);
    UpdateContact(event, out.body, floor_, experiment_.motion.flight.gravity_W);
  }
  return out;
}

StateVariances CommonErrors::Variances(const CommonSource& source) const {
  StateVariances sum{};
  int n = 0;
  for (const Directions& dx : dx_) {
    if (dx.cols() < source.first + source.dimensions) continue;
    ++n;
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] += dx.block(kStatePlaces[k], source.first, 3, source.dimensions)
                    .rowwise()
                    .squaredNorm()
                    .mean();
  }
  for (double& v : sum) v /= std::max(1, n);
  return sum;
}

Adjustment AdjustToCommon(const CommonErrors& common, const Experiment& experiment) {
  Adjustment out;
  out.shared =
      FindSharedErrors([&](const Eigen::VectorXd& c) { return common.At(c); }, common.dimensions(),
                       ImpactModel{{}, MainLaw(experiment)}, experiment.identify);
  out.set = common.At(out.shared.mean);
  return out;
}

std::vector<ImpactEvent> NoiseEvents(const Analysis& analysis) {
  std::vector<ImpactEvent> events;
  for (std::size_t i = 0; i < analysis.motion.size(); ++i)
    for (std::size_t k = 0; k < analysis.motion[i].events.size(); ++k) {
      events.push_back(analysis.motion[i].events[k]);
      if (i < analysis.drops.size() && k < analysis.drops[i].size())
        events.back().cov = analysis.drops[i][k].event_cov_noise;
    }
  return events;
}

}  // namespace impactlab
