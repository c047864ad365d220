#include "impact/identify/detail/profile_interval.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "data/statistics/statistics.h"
#include "data/statistics/unknown_scatter.h"

namespace impactlab::impact {
namespace {

// First-order shift when a part of the information is left out. Where that part is nearly all there
// is of a parameter, no first-order shift means anything: its leverage is capped.
Eigen::VectorXd LeaveOut(const Eigen::MatrixXd& all, const std::vector<bool>& informed,
                         const ClusterShare& part) {
  constexpr double kMaxLeverage = 0.7;
  double share = 1;
  for (Eigen::Index k = 0; k < all.rows(); ++k) {
    if (part.curvature(k, k) > kMaxLeverage * all(k, k))
      share = std::min(share, kMaxLeverage * all(k, k) / part.curvature(k, k));
  }
  return InverseWhere(all - share * part.curvature, informed) * part.score;
}

// Derivative of the residual by mu, e and, where it is free, e_t.
Mat Slopes(const FitTask& task, const EventAt& at) {
  Mat G(at.G.rows(), task.free_e_t ? 3 : 2);
  G.leftCols(2) = at.G;
  if (task.free_e_t) G.col(2) = at.G_e_t;
  return G;
}

double& Coordinate(FitPoint& point, int parameter) {
  return parameter == 0 ? point.mu : parameter == 1 ? point.e : point.e_t;
}

// Share of the variance that is measurement noise, not quite zero.
double NoiseShare(const Information& information) {
  constexpr double kLeast = 1e-9;
  return std::max(kLeast, 1 - information.scatter_share);
}

// Components that carry information: where none depends on friction the normal one alone.
Eigen::Index Spoken(const PreparedEvent& event) { return event.no_demand ? 1 : event.dim; }

// What components of one kind of all events tell of the coefficients, and of the scatter: whitened
// residuals, in units of the covariances of the fit.
struct ComponentShare {
  Eigen::MatrixXd curvature;
  double count = 0, square = 0;  // of residuals
};

// Covariance of the coefficients of few events, for which one scatter was fitted. Nobody knows how
// much alike the components scatter, so that each part of a variance has the size and the degrees
// of freedom of its own residuals (Satterthwaite, Biometrics Bulletin 2 (1946) 110).
struct ModelVariance {
  Eigen::MatrixXd covariance;
  Eigen::VectorXd dof;
};

// Normal components, tangential ones of impacts that slide and of others: friction varies from
// impact to impact, which only those that slide show.
std::array<ComponentShare, 3> ComponentsOf(const FitTask& task, const FitPoint& point,
                                           double slope) {
  const Eigen::Index p = task.free_e_t ? 3 : 2;
  std::array<ComponentShare, 3> components;
  for (ComponentShare& component : components) component.curvature = Eigen::MatrixXd::Zero(p, p);
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const EventAt& at = point.at[i];
    const Eigen::LLT<Mat> llt(point.S[i]);
    const Vec r = llt.matrixL().solve(at.r);
    const Mat G = llt.matrixL().solve(Slopes(task, at));
    const double weight = task.shape(r.squaredNorm())[1], m = task.multiplicity[i];
    const std::size_t tangential = Sticks(at) ? 2 : 1;
    for (Eigen::Index k = r.size() - Spoken((*task.events)[i]); k < r.size(); ++k) {
      ComponentShare& component = components[k + 1 == r.size() ? 0 : tangential];
      component.curvature += m * slope * G.row(k).transpose() * G.row(k);
      component.count += m;
      component.square += m * weight * weight / slope * r[k] * r[k];
    }
  }
  return components;
}

ModelVariance VarianceByComponents(const Eigen::MatrixXd& inverse,
                                   const std::array<ComponentShare, 3>& components,
                                   double pooled_dof) {
  constexpr double kLeastDof = 0.3;
  // A coefficient meets the one or two components that tell it all but exactly: what little is left
  // of them is no measure of their scatter, which is as large as that of all components at least.
  constexpr double kMeasured = 1.5;  // [degrees of freedom]
  const Eigen::Index p = inverse.rows();
  std::array<double, 3> dofs{};
  double square = 0, count = 0;
  for (std::size_t c = 0; c < components.size(); ++c) {
    dofs[c] = std::max(0.0, components[c].count - (inverse * components[c].curvature).trace());
    square += components[c].square;
    count += dofs[c];
  }
  const double pooled = count > 0 ? square / count : 1;
  ModelVariance out{Eigen::MatrixXd::Zero(p, p), Eigen::VectorXd::Constant(p, pooled_dof)};
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(p);
  for (std::size_t c = 0; c < components.size(); ++c) {
    const ComponentShare& component = components[c];
    if (component.count == 0) continue;
    const double dof = std::max(kLeastDof, dofs[c]), own = component.square / dof;
    const double scale = dofs[c] < kMeasured ? std::max(own, pooled) : own;
    const Eigen::MatrixXd part = scale * inverse * component.curvature * inverse;
    out.covariance += part;
    sum += part.diagonal().cwiseAbs2() / dof;
  }
  for (Eigen::Index k = 0; k < p; ++k)
    if (sum[k] > 0) out.dof[k] = out.covariance(k, k) * out.covariance(k, k) / sum[k];
  return out;
}

}  // namespace

Eigen::MatrixXd InverseWhere(const Eigen::MatrixXd& H, const std::vector<bool>& informed) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index k = 0; k < H.rows(); ++k)
    if (informed[static_cast<std::size_t>(k)] && H(k, k) > 0) rows.push_back(k);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Zero(H.rows(), H.cols());
  if (rows.empty()) return inverse;
  const Eigen::VectorXd scale = H(rows, rows).diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled =
      scale.asDiagonal() * Eigen::MatrixXd(H(rows, rows)) * scale.asDiagonal();
  if (!(scaled.determinant() > 1e-12)) return inverse;
  inverse(rows, rows) = scale.asDiagonal() * scaled.inverse() * scale.asDiagonal();
  return inverse;
}

ClusterCovariance CovarianceOfClusters(const Eigen::MatrixXd& curvature,
                                       const std::vector<bool>& informed,
                                       const std::vector<ClusterShare>& clusters,
                                       const Eigen::MatrixXd& by_model, double scatter_share,
                                       const Eigen::VectorXd& model_dof,
                                       const Eigen::VectorXd& least_dof) {
  const Eigen::Index p = curvature.rows();
  const Eigen::MatrixXd inverse = InverseWhere(curvature, informed);
  Eigen::MatrixXd jackknife = Eigen::MatrixXd::Zero(p, p);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(p), sum_square = sum;
  const double n = static_cast<double>(clusters.size());
  for (const ClusterShare& cluster : clusters) {
    const Eigen::VectorXd shift = LeaveOut(curvature, informed, cluster);
    jackknife += (n - 1) / n * shift * shift.transpose();
    const Eigen::VectorXd expected = (inverse * cluster.curvature * inverse).diagonal();
    sum += expected;
    sum_square += expected.cwiseAbs2();
  }
  // The jackknife of few clusters is a poor estimate; the model's own, which pools the residuals of
  // all events, takes its place there.
  constexpr double kTrust = 3;  // degrees of freedom at which both count the same
  const double phi = n > 1 ? scatter_share : 0;
  ClusterCovariance out;
  out.dof = model_dof;
  out.variance_ratio = Eigen::VectorXd::Ones(p);
  Eigen::VectorXd weight = Eigen::VectorXd::Zero(p);
  for (Eigen::Index k = 0; k < p; ++k) {
    if (!informed[static_cast<std::size_t>(k)] || !(sum_square[k] > 0) || !(inverse(k, k) > 0))
      continue;
    const double dof = std::max(0.5, sum[k] * sum[k] / sum_square[k] - 1);
    weight[k] = phi * dof / (dof + kTrust);
    const double part = weight[k] * jackknife(k, k), rest = (1 - weight[k]) * by_model(k, k);
    out.variance_ratio[k] = std::max((part + rest) / inverse(k, k), 1e-6);
    // Degrees of freedom of the two together, as Satterthwaite's but that both come from the same
    // residuals.
    const double correlated =
        (part + rest) / (part / std::sqrt(dof) + rest / std::sqrt(model_dof[k]));
    out.dof[k] = std::max(least_dof[k], correlated * correlated);
  }
  const Eigen::VectorXd root = weight.cwiseSqrt(), other = (1 - weight.array()).sqrt();
  out.covariance = root.asDiagonal() * jackknife * root.asDiagonal();
  out.covariance += other.asDiagonal() * by_model * other.asDiagonal();
  return out;
}

double ScatterShare(const PreparedEvent& event, const EventAt& at, const Mat& S) {
  const Eigen::Index spoken = Spoken(event);
  return 1 - at.N.diagonal().tail(spoken).sum() / S.diagonal().tail(spoken).sum();
}

Information InformationAt(const FitTask& task, const FitPoint& point) {
  Information info;
  const int dim = task.shape.dim();
  const Eigen::Index p = task.free_e_t ? 3 : 2;
  info.curvature = Mat::Zero(p, p);
  double slope = 0, square = 0, n = 0, share = 0, residuals = 0;
  std::vector<ClusterShare> clusters;
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const EventAt& at = point.at[i];
    const Mat& S = point.S[i];
    const Eigen::LLT<Mat> llt(S);
    const Vec solved = llt.solve(at.r);
    const double q = at.r.dot(solved);
    const std::array<double, 3> rho = task.shape(q);
    const double m = task.multiplicity[i];
    slope += m * (rho[1] + 2 * rho[2] * q / dim);
    square += m * rho[1] * rho[1] * q / dim;
    share += m * ScatterShare((*task.events)[i], at, S);
    residuals += m * static_cast<double>(Spoken((*task.events)[i]));
    n += m;
    const Mat G = Slopes(task, at);
    info.score.push_back(rho[1] * (G.transpose() * solved));
    info.event_curvature.push_back(G.transpose() * llt.solve(G));
    info.curvature += m * info.event_curvature.back();
    const std::size_t cluster = (*task.events)[i].cluster;
    if (clusters.size() <= cluster)
      clusters.resize(cluster + 1, {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)});
    clusters[cluster].score += m * info.score.back();
    clusters[cluster].curvature += m * info.event_curvature.back();
  }
  // Mean curvature of the likelihood's shape: residual by residual it may be negative, on average
  // it is not.
  slope = std::max(slope / n, 0.1);
  square /= n;
  info.scatter_share = task.fit_discrepancy ? std::clamp(share / n, 0.0, 1.0) : 0.0;
  info.curvature *= slope;
  for (Mat& h : info.event_curvature) h *= slope;
  for (Eigen::Index k = 0; k < p; ++k) info.informed.push_back(info.curvature(k, k) > 1e-10 * n);
  for (ClusterShare& cluster : clusters) cluster.curvature *= slope;
  const std::vector<bool>& informed = info.informed;
  // One scatter of few events is told by all their components, each coefficient taking one; else a
  // component tells its own.
  const bool together = task.n_groups == 1;
  info.residuals = together ? residuals : n;
  const auto n_informed = static_cast<double>(std::count(informed.begin(), informed.end(), true));
  info.fitted = together ? std::max(1.0, n_informed) : 1;
  const double model_dof = std::max(1.0, together ? info.residuals - info.fitted : n - 2);
  // How far residuals differ from what the likelihood allows is a matter of the scatter; the noise
  // is as large as it is known to be.
  const double ratio = 1 + info.scatter_share * (square / slope - 1);
  const Eigen::MatrixXd inverse = InverseWhere(info.curvature, informed);
  ModelVariance model{ratio * inverse, Eigen::VectorXd::Constant(p, model_dof)};
  const bool few = together && task.fit_discrepancy && n > 1;
  if (few) model = VarianceByComponents(inverse, ComponentsOf(task, point, slope), model_dof);
  const ClusterCovariance found =
      CovarianceOfClusters(info.curvature, informed, clusters, model.covariance, info.scatter_share,
                           model.dof, Eigen::VectorXd(model.dof.cwiseMin(kLeastDof)));
  info.covariance = found.covariance;
  info.variance_ratio.assign(found.variance_ratio.begin(), found.variance_ratio.end());
  info.dof.assign(found.dof.begin(), found.dof.end());
  if (few)
    for (Eigen::Index k = 0; k < p; ++k)
      info.square.push_back(info.dof[k] * info.variance_ratio[k] / NoiseShare(info));
  return info;
}

Eigen::MatrixXd NoiseOnlyCovariance(const FitTask& task, const FitPoint& point) {
  // The couple's scatter is left out too, so that its noise tells about the impulse's.
  std::vector<PreparedEvent> events = *task.events;
  const Eigen::Index p = task.free_e_t ? 3 : 2;
  Mat fisher = Mat::Zero(p, p);
  for (std::size_t i = 0; i < events.size(); ++i) {
    PreparedEvent& event = events[i];
    const Mat regular =
        event.N_cc + Mat::Identity(event.dim_c, event.dim_c) *
                         (kScatterFloor * kScatterFloor + 1e-12 * event.N_cc.trace());
    event.V_cc_inverse = regular.llt().solve(Mat::Identity(event.dim_c, event.dim_c));
    event.c_whitened.setZero();
    const EventAt at =
        EvaluateEvent(event, ModelAt(task, point.mu, point.e, point.e_t), Need::kNoise);
    if (!at.ok) continue;
    const Mat G = Slopes(task, at);
    Mat N = at.N;
    N.diagonal().array() += kScatterFloor * kScatterFloor + 1e-10 * std::max(0.0, N.trace());
    const Eigen::LLT<Mat> llt(N);
    if (llt.info() != Eigen::Success) continue;
    fisher += task.multiplicity[i] * (G.transpose() * llt.solve(G));
  }
  std::vector<bool> informed;
  for (Eigen::Index k = 0; k < p; ++k) informed.push_back(fisher(k, k) > 1e-10);
  return InverseWhere(fisher, informed);
}

double ScatterWeight(const Information& information) {
  return information.scatter_share * information.scatter_share;
}

double IntervalQuantile(const Information& information, int k, double quantile) {
  const double share = ScatterWeight(information);
  return StudentQuantile(quantile, share > 1e-6 ? information.dof[k] / share : 1e6);
}

double IntervalThreshold(const Information& information, int k, double quantile) {
  const double share = ScatterWeight(information), n = information.residuals;
  if (!information.square.empty()) {
    const double width =
        QuantileWithUnknownScatter(quantile, information.square[k], information.dof[k]);
    const double square = width * width * NoiseShare(information);
    return (1 - share) * square + share * n * std::log1p(square / n);
  }
  const double t = IntervalQuantile(information, k, quantile);
  const double square = t * t * information.variance_ratio[k];
  const double dof = n - information.fitted;
  if (dof < 1) return square;
  // The scatter is fitted anew along a profile, which therefore grows like a logarithm: exactly so
  // for normal residuals of one variance.
  return (1 - share) * square + share * n * std::log1p(square / dof);
}

Profile::Profile(const FitTask& task, const FitPoint& best, int parameter)
    : task_(task), best_(best), parameter_(parameter) {
  points_.push_back(best);
}

const FitPoint& Profile::Nearest(double value) const {
  const auto coordinate = [&](const FitPoint& p) {
    return parameter_ == 0 ? p.mu : parameter_ == 1 ? p.e : p.e_t;
  };
  return *std::min_element(
      points_.begin(), points_.end(), [&](const FitPoint& a, const FitPoint& b) {
        return std::abs(coordinate(a) - value) < std::abs(coordinate(b) - value);
      });
}

FitPoint Profile::FitAt(const FitTask& task, FitPoint start, double value) const {
  Coordinate(start, parameter_) = value;
  if (parameter_ < 2) return FitFrom(task, start, parameter_ != 0, parameter_ != 1, 1e-3);
  FitTask held = task;
  held.free_e_t = false;
  return FitFrom(held, start, true, true, 1e-3);
}

double Profile::operator()(double value) {
  for (const auto& [at, deviance] : known_) {
    if (at == value) return deviance;
  }
  FitPoint point = FitAt(task_, Nearest(value), value);
  double deviance = 1e6;  // a value no fit reaches is as good as excluded
  if (point.ok) {
    deviance = std::max(0.0, 2 * (point.cost - best_.cost));
    points_.push_back(std::move(point));
  }
  known_.emplace_back(value, deviance);
  return deviance;
}

double Profile::Calibrated(double value, const Information& information) {
  const double anew = (*this)(value), share = ScatterWeight(information);
  if (share > 0.999) return anew;
  for (const auto& [at, deviance] : held_)
    if (at == value) return (1 - share) * deviance + share * anew;
  FitPoint start = Nearest(value);
  // It may fall: what scatter of friction there is gives no information where everything sticks.
  start.log_s = best_.log_s;
  FitTask task = task_;
  for (std::size_t g = 0; g < best_.log_s.size(); ++g) task.most[g] = std::exp(best_.log_s[g]);
  const FitPoint point = FitAt(task, std::move(start), value);
  // What is held cannot agree better than what is not.
  const double deviance = point.ok ? std::max(anew, 2 * (point.cost - best_.cost)) : 1e6;
  held_.emplace_back(value, deviance);
  return (1 - share) * deviance + share * anew;
}

bool Profile::FoundBetter(FitPoint& point) const {
  const auto lowest = std::min_element(
      points_.begin(), points_.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
  if (!(lowest->cost < best_.cost - 0.02)) return false;
  point = *lowest;
  return true;
}

ProfileInterval FindInterval(const std::function<double(double)>& profile, double centre,
                             double lower_bound, double upper_bound, double step, double threshold,
                             const std::vector<double>& levels) {
  ProfileInterval interval;
  // Between a point inside and a point outside; sqrt(deviance) is nearly linear, so regula falsi
  // guarded by bisection is quick.
  const auto refine = [&](double inside, double outside) {
    double low = std::sqrt(profile(inside)), high = std::sqrt(profile(outside));
    const double target = std::sqrt(threshold);
    // A profile that jumps is not nearly linear: what the first steps have not found is halved. Far
    // along a plateau the distance to its centre is no measure of the end.
    constexpr int kSteps = 48, kQuick = 12;
    for (int i = 0; i < kSteps; ++i) {
      const double scale =
          std::min(std::abs(outside - centre), std::abs(inside) + std::abs(outside));
      if (std::abs(outside - inside) < 0.004 * scale + 1e-12) break;
      double fraction = std::clamp((target - low) / (high - low), 0.0, 1.0);
      if (i % 3 == 2 || i >= kQuick) fraction = 0.5;
      fraction = std::clamp(fraction, 0.02, 0.98);
      const double middle = inside + fraction * (outside - inside);
      const double value = std::sqrt(profile(middle));
      if (std::abs(value - target) < 0.002 * target) return middle;
      (value < target ? inside : outside) = middle;
      (value < target ? low : high) = value;
    }
    return inside + (outside - inside) * std::clamp((target - low) / (high - low), 0.0, 1.0);
  };
  for (const double side : {-1.0, 1.0}) {
    const double bound = side < 0 ? lower_bound : upper_bound;
    double inside = centre, outside = centre, stride = step;
    bool open = true;
    while (inside != bound) {
      outside = side < 0 ? std::max(bound, inside - stride) : std::min(bound, inside + stride);
      if (profile(outside) >= threshold) {
        open = false;
        break;
      }
      inside = outside;
      stride *= 1.7;
    }
    double end = open ? bound : refine(inside, outside);
    // Other valleys beyond the first crossing.
    if (!open) {
      std::vector<double> beyond;
      for (double level : levels) {
        if (side * (level - outside) > 0 && side * (bound - level) >= 0) beyond.push_back(level);
      }
      std::sort(beyond.begin(), beyond.end(),
                [side](double a, double b) { return side * a < side * b; });
      for (std::size_t i = 0; i < beyond.size(); ++i) {
        if (profile(beyond[i]) >= threshold) continue;
        open = beyond[i] == bound;
        if (open) {
          end = bound;
          break;
        }
        const double next = i + 1 < beyond.size() ? beyond[i + 1] : bound;
        if (profile(next) >= threshold) end = refine(beyond[i], next);
      }
    }
    (side < 0 ? interval.lower : interval.upper) = end;
    (side < 0 ? interval.lower_open : interval.upper_open) = open;
  }
  return interval;
}

Eigen::VectorXd LeaveOneOut(const Information& information, int event) {
  return LeaveOut(information.curvature, information.informed,
                  {information.score[event], information.event_curvature[event]});
}

std::vector<double> BootstrapOverRecordings(const FitTask& task, const FitPoint& best,
                                            int resamples, std::uint64_t seed,
                                            const std::function<void(double)>& progress) {
  int n_clusters = 0;
  for (const PreparedEvent& event : *task.events)
    n_clusters = std::max(n_clusters, event.cluster + 1);
  if (n_clusters < 2) return {};
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> pick(0, n_clusters - 1);
  std::vector<double> mu, e, e_t;
  for (int k = 0; k < resamples; ++k) {
    std::vector<double> count(n_clusters, 0.0);
    for (int j = 0; j < n_clusters; ++j) ++count[pick(random)];
    FitTask resampled = task;
    for (std::size_t i = 0; i < task.events->size(); ++i)
      resampled.multiplicity[i] = count[(*task.events)[i].cluster];
    const FitPoint point = FitFrom(resampled, best, true, true, 1e-4);
    if (point.ok) {
      mu.push_back(point.mu);
      e.push_back(point.e);
      e_t.push_back(point.e_t);
    }
    if (progress) progress(static_cast<double>(k + 1) / resamples);
  }
  if (mu.size() < 2) return {};
  std::vector<double> sd{StandardDeviation(mu), StandardDeviation(e)};
  if (task.free_e_t) sd.push_back(StandardDeviation(e_t));
  return sd;
}

}  // namespace impactlab::impact
