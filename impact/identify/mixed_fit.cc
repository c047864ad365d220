#include "impact/identify/detail/mixed_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "data/base/infinity.h"

namespace impactlab::impact {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;

constexpr double kAlone = 100;      // sd of offsets whose groups know nothing of each other
constexpr double kMaxExponent = 3;  // |m| beyond which nothing is tried

// Quadratic model of half the deviance of one group about its present coefficients.
struct Quadratic {
  MixedVector g = MixedVector::Zero();
  MixedMatrix H = MixedMatrix::Zero();
};

struct Linearised {
  std::vector<Quadratic> group;
  double slope = 1;   // mean curvature of the likelihood's shape
  double square = 1;  // mean squared weight
  double observations = 0, scatter_share = 0;
};

struct EventScore {
  MixedVector g;
  MixedMatrix H;  // without `slope`
};

// Score and information of every event by its local coefficients.
Linearised Linearise(const MixedTask& task, const MixedPoint& point,
                     std::vector<EventScore>* events = nullptr) {
  Linearised lin;
  lin.group.resize(static_cast<std::size_t>(task.n_groups));
  const int dim = task.base.shape.dim();
  double slope = 0, square = 0, n = 0, share = 0;
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const double m = task.base.multiplicity[i];
    const auto g = static_cast<std::size_t>(task.group[i]);
    if (events != nullptr) events->push_back({MixedVector::Zero(), MixedMatrix::Zero()});
    if (m == 0) continue;
    const EventCoefficients c = CoefficientsOf(task, i, point.theta, point.offset[g]);
    const MixedJac G = Slope(point.at[i], c);
    const Eigen::LLT<Mat> llt(point.S[i]);
    const Vec solved = llt.solve(point.at[i].r);
    const double q = point.at[i].r.dot(solved);
    const std::array<double, 3> rho = task.base.shape(q);
    slope += m * (rho[1] + 2 * rho[2] * q / dim);
    square += m * rho[1] * rho[1] * q / dim;
    share += m * ScatterShare((*task.base.events)[i], point.at[i], point.S[i]);
    n += m;
    const MixedVector score = m * rho[1] * (G.transpose() * solved);
    const MixedMatrix H = m * (G.transpose() * llt.solve(G));
    if (events != nullptr) events->back() = {score, H};
    lin.group[g].g += score;
    lin.group[g].H += H;
  }
  n = std::max(n, 1e-300);
  lin.slope = std::max(slope / n, 0.1);
  lin.square = square / n;
  lin.observations = n * dim;
  lin.scatter_share = task.base.fit_discrepancy ? std::clamp(share / n, 0.0, 1.0) : 0.0;
  for (Quadratic& q : lin.group) q.H *= lin.slope;
  return lin;
}

// T^1/2 (I + T^1/2 H T^1/2)^-1 T^1/2, the covariance of a group's offsets given the rest, and log
// det(I + T^1/2 H T^1/2).
Matrix2d OffsetCovariance(const MixedMatrix& H, const Vector2d& T, double* log_det = nullptr) {
  const Vector2d root = T.cwiseSqrt();
  const Matrix2d M = Matrix2d::Identity() +
                     Matrix2d(root.asDiagonal() * H.topLeftCorner<2, 2>() * root.asDiagonal());
  if (log_det != nullptr) *log_det = std::log(std::max(M.determinant(), 1e-300));
  return root.asDiagonal() * M.inverse() * root.asDiagonal();
}

std::vector<Eigen::Index> FreeRows(const MixedTask& task) {
  std::vector<Eigen::Index> rows;
  for (int k = 0; k < kMixedDim; ++k)
    if (task.free[static_cast<std::size_t>(k)]) rows.push_back(k);
  return rows;
}

// Minimum of the quadratic model over theta and the offsets, for given variances of the offsets.
struct QuadraticMinimum {
  MixedVector theta;
  std::vector<Vector2d> offset;
  double value = 0;   // of the restricted marginal, constants left out
  Eigen::MatrixXd A;  // information on the free coefficients, offsets integrated out
};
QuadraticMinimum Minimise(const MixedTask& task, const Linearised& lin, const MixedPoint& at,
                          const Vector2d& T) {
  const std::vector<Eigen::Index> rows = FreeRows(task);
  const auto p = static_cast<Eigen::Index>(rows.size());
  QuadraticMinimum out;
  out.theta = at.theta;
  out.A = Eigen::MatrixXd::Zero(p, p);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(p);
  std::vector<Matrix2d> W;
  std::vector<MixedVector> gradient;  // at theta of now and offsets of zero
  for (std::size_t g = 0; g < lin.group.size(); ++g) {
    const Quadratic& q = lin.group[g];
    double log_det = 0;
    W.push_back(OffsetCovariance(q.H, T, &log_det));
    gradient.push_back(q.g - q.H.leftCols<2>() * at.offset[g]);
    const Vector2d g_u = gradient.back().head<2>();
    const MixedMatrix A = q.H - q.H.leftCols<2>() * W.back() * q.H.topRows<2>();
    const MixedVector full = gradient.back() - q.H.leftCols<2>() * (W.back() * g_u);
    out.A += A(rows, rows);
    b += full(rows);
    out.value += 0.5 * (log_det - g_u.dot(W.back() * g_u));
  }
  // A coefficient without information stays where it is.
  Eigen::MatrixXd damped = out.A;
  for (Eigen::Index k = 0; k < p; ++k) damped(k, k) = std::max(1e-12, damped(k, k) * (1 + 1e-9));
  const Eigen::LDLT<Eigen::MatrixXd> ldlt(damped);
  const Eigen::VectorXd step = p > 0 ? Eigen::VectorXd(-ldlt.solve(b)) : Eigen::VectorXd();
  MixedVector move = MixedVector::Zero();
  for (Eigen::Index k = 0; k < p; ++k) move[rows[static_cast<std::size_t>(k)]] = step[k];
  if (p > 0) out.value += 0.5 * b.dot(step) + 0.5 * ldlt.vectorD().array().max(1e-300).log().sum();
  out.theta += move;
  for (std::size_t g = 0; g < lin.group.size(); ++g) {
    const MixedVector here = gradient[g] + lin.group[g].H * move;
    out.offset.push_back(-W[g] * here.head<2>());
  }
  return out;
}

// Variances of the offsets by restricted maximum likelihood on the quadratic model.
Vector2d FitVariances(const MixedTask& task, const Linearised& lin, const MixedPoint& at) {
  Vector2d T = Vector2d::Zero();
  std::vector<int> fitted;
  for (int k = 0; k < 2; ++k) {
    if (!task.offset[static_cast<std::size_t>(k)]) continue;
    T[k] = task.pooled[static_cast<std::size_t>(k)] ? std::max(at.T[k], 1e-6) : kAlone * kAlone;
    if (task.pooled[static_cast<std::size_t>(k)]) fitted.push_back(k);
  }
  for (int sweep = 0; sweep < 4 && !fitted.empty(); ++sweep) {
    for (const int k : fitted) {
      const auto value = [&](double log_sd) {
        Vector2d trial = T;
        trial[k] = std::exp(2 * log_sd);
        return Minimise(task, lin, at, trial).value;
      };
      const auto [log_sd, best] =
          boost::math::tools::brent_find_minima(value, std::log(1e-4), std::log(3.0), 20);
      Vector2d none = T;
      none[k] = 0;
      T[k] = Minimise(task, lin, at, none).value <= best + 1e-9 ? 0 : std::exp(2 * log_sd);
    }
    if (fitted.size() < 2) break;
  }
  return T;
}

// Scatter at a point whose events are evaluated. The coefficients of many groups take their share
// of the residuals.
void SetScatter(const MixedTask& task, double parameters, MixedPoint& point) {
  VarianceData data;
  data.n_groups = task.base.n_groups;
  data.multiplicity = task.base.multiplicity;
  double n = 0, sum_mu = 0;
  for (std::size_t i = 0; i < point.at.size(); ++i)
    n += data.multiplicity[i] * task.base.shape.dim();
  const double scale = std::sqrt(n / std::max(1.0, n - parameters));
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const EventCoefficients c =
        CoefficientsOf(task, i, point.theta, point.offset[static_cast<std::size_t>(task.group[i])]);
    data.r.push_back(scale * point.at[i].r);
    data.N.push_back(point.at[i].N);
    data.E.push_back(ScatterShapes(task.base, (*task.base.events)[i], point.at[i], c.mu, c.e,
                                   data.n_groups, c.e_t));
    sum_mu += c.mu;
  }
  data.most = MostScatter(sum_mu / static_cast<double>(point.at.size()));
  if (task.base.fit_discrepancy) {
    FitVariance(data, task.base.shape, point.log_s);
  } else {
    point.log_s.assign(static_cast<std::size_t>(data.n_groups), std::log(kScatterFloor));
  }
  for (std::size_t i = 0; i < point.at.size(); ++i) data.r[i] = point.at[i].r;
  point.conditional = VarianceCost(data, task.base.shape, point.log_s.data(), nullptr, nullptr);
  point.S.clear();
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    point.S.push_back(data.N[i]);
    for (int g = 0; g < data.n_groups; ++g)
      point.S.back() += ScatterVariance(point.log_s[static_cast<std::size_t>(g)]) * data.E[i][g];
  }
  point.ok = point.ok && std::isfinite(point.conditional);
}

// Everything at the point's theta, offsets and scatter of before.
void Evaluate(const MixedTask& task, double parameters, MixedPoint& point) {
  point.at.clear();
  point.ok = true;
  for (std::size_t i = 0; i < task.base.events->size(); ++i) {
    const EventCoefficients c =
        CoefficientsOf(task, i, point.theta, point.offset[static_cast<std::size_t>(task.group[i])]);
    point.at.push_back(EvaluateEvent((*task.base.events)[i], ModelOf(task, c), Need::kNoise));
    point.ok = point.ok && (point.at.back().ok || task.base.multiplicity[i] == 0);
  }
  if (point.ok) SetScatter(task, parameters, point);
}

double Penalty(const MixedTask& task, const MixedPoint& point) {
  double sum = 0;
  for (int k = 0; k < 2; ++k) {
    if (!task.offset[static_cast<std::size_t>(k)]) continue;
    for (const Vector2d& u : point.offset) sum += 0.5 * u[k] * u[k] / std::max(point.T[k], 1e-12);
  }
  return sum;
}

double LogDeterminants(const Linearised& lin, const Vector2d& T) {
  double sum = 0;
  for (const Quadratic& q : lin.group) {
    double log_det = 0;
    OffsetCovariance(q.H, T, &log_det);
    sum += 0.5 * log_det;
  }
  return sum;
}

double EffectiveParameters(const MixedTask& task, const Linearised& lin, const Vector2d& T) {
  double p = static_cast<double>(FreeRows(task).size());
  for (const Quadratic& q : lin.group)
    p += (OffsetCovariance(q.H, T) * q.H.topLeftCorner<2, 2>()).trace();
  return p;
}

// Keeps every group's coefficients where a law has them.
void Bound(const MixedTask& task, MixedPoint& point) {
  point.theta[0] = std::clamp(point.theta[0], 0.0, kMuMax);
  point.theta[1] = std::clamp(point.theta[1], 0.0, 1.0);
  point.theta[2] = std::clamp(point.theta[2], -kMaxExponent, kMaxExponent);
  point.theta[3] = std::clamp(point.theta[3], 0.0, 1.0);
  point.theta[kChangeOfMu] = std::clamp(point.theta[kChangeOfMu], -kMuMax, kMuMax);
  point.theta[kChangeOfE] = std::clamp(point.theta[kChangeOfE], -1.0, 1.0);
  for (Vector2d& u : point.offset) {
    u[0] = task.offset[0] ? std::clamp(u[0], -point.theta[0], kMuMax - point.theta[0]) : 0;
    u[1] = task.offset[1] ? std::clamp(u[1], -point.theta[1], 1 - point.theta[1]) : 0;
  }
}

}  // namespace

EventCoefficients CoefficientsOf(const MixedTask& task, std::size_t event, const MixedVector& theta,
                                 const Vector2d& offset) {
  EventCoefficients c;
  c.by_local.setZero();
  const double order = task.order[event];
  c.mu = std::max(0.0, theta[0] + offset[0] + order * theta[kChangeOfMu]);
  c.by_local(0, 0) = 1;
  c.by_local(0, kChangeOfMu) = order;
  const double loss = 1 - theta[1] - offset[1] - order * theta[kChangeOfE],
               factor = std::exp(theta[2] * task.log_v[event]);
  c.e = std::clamp(1 - loss * factor, 0.0, 1.0);
  c.by_local(1, 1) = factor;
  c.by_local(1, kChangeOfE) = order * factor;
  c.by_local(1, 2) = -loss * factor * task.log_v[event];
  c.e_t = theta[3];
  c.by_local(2, 3) = 1;
  return c;
}

ImpactModel ModelOf(const MixedTask& task, const EventCoefficients& c) {
  return ModelAt(task.base, c.mu, c.e, c.e_t);
}

MixedJac Slope(const EventAt& at, const EventCoefficients& c) {
  return at.G * c.by_local.topRows<2>() + at.G_e_t * c.by_local.row(2);
}

void ScanOffsets(const MixedTask& task, MixedPoint& start) {
  start.offset.assign(static_cast<std::size_t>(task.n_groups), Vector2d::Zero());
  if (!task.offset[0] && !task.offset[1]) return;
  std::vector<Vector2d> candidates{Vector2d::Zero()};
  for (const double mu : kMuLevels) {
    for (const double e : kELevels) {
      const Vector2d u(task.offset[0] ? mu - start.theta[0] : 0,
                       task.offset[1] ? e - start.theta[1] : 0);
      if (std::find(candidates.begin(), candidates.end(), u) == candidates.end())
        candidates.push_back(u);
    }
  }
  std::vector<double> best(start.offset.size(), kInfinity);
  for (const Vector2d& u : candidates) {
    std::vector<double> cost(best.size(), 0.0);
    for (std::size_t i = 0; i < task.base.events->size(); ++i) {
      if (task.base.multiplicity[i] == 0) continue;
      const EventCoefficients c = CoefficientsOf(task, i, start.theta, u);
      const EventAt at = EvaluateEvent((*task.base.events)[i], ModelOf(task, c), Need::kResidual);
      // A robust sum: the scan only finds the valley.
      constexpr double kTypical = 0.05;
      cost[static_cast<std::size_t>(task.group[i])] +=
          task.base.multiplicity[i] *
          (at.ok ? std::log1p(at.r.squaredNorm() / (kTypical * kTypical)) : 1e3);
    }
    for (std::size_t g = 0; g < best.size(); ++g) {
      if (cost[g] >= best[g]) continue;
      best[g] = cost[g];
      start.offset[g] = u;
    }
  }
}

MixedPoint FitMixed(const MixedTask& task, const MixedPoint& start) {
  MixedPoint now = start;
  now.offset.resize(static_cast<std::size_t>(task.n_groups), Vector2d::Zero());
  for (int k = 0; k < 2; ++k) {
    // A first idea of the spread between groups.
    if (task.offset[static_cast<std::size_t>(k)] && now.T[k] == 0) {
      for (const Vector2d& u : now.offset) now.T[k] += (u[k] * u[k] + 1e-4) / task.n_groups;
    }
  }
  Bound(task, now);
  if (now.log_s.empty()) {
    FitPoint scatter = EvaluateAt(task.base, now.theta[0], now.theta[1], {});
    now.log_s = scatter.log_s;
  }
  double parameters = static_cast<double>(FreeRows(task).size());
  Evaluate(task, parameters, now);
  MixedPoint best = now;
  best.cost = kInfinity;
  int without_gain = 0;
  constexpr int kRounds = 40, kPatience = 2;
  constexpr double kGain = 1e-3;  // of half the deviance: nothing that an interval would see
  for (int round = 0; round < kRounds && now.ok; ++round) {
    const Linearised lin = Linearise(task, now);
    now.T = FitVariances(task, lin, now);
    parameters = EffectiveParameters(task, lin, now.T);
    now.cost = now.conditional + Penalty(task, now) + LogDeterminants(lin, now.T);
    without_gain = now.cost < best.cost - kGain ? 0 : without_gain + 1;
    if (now.cost < best.cost) best = now;
    if (without_gain >= kPatience) break;
    const QuadraticMinimum to = Minimise(task, lin, now, now.T);
    const double merit = now.conditional + Penalty(task, now);
    // Mode boundaries are kinks: the full step first, then shorter ones; where none helps, the
    // shortest is taken and judged by the cost.
    constexpr int kLengths = 4;  // of a step: 1, 0.4, 0.16, 0.064 of it
    MixedPoint next;
    double share = 1;
    for (int trial = 0; trial < kLengths; ++trial, share *= 0.4) {
      next = now;
      next.theta = now.theta + share * (to.theta - now.theta);
      for (std::size_t g = 0; g < next.offset.size(); ++g)
        next.offset[g] = now.offset[g] + share * (to.offset[g] - now.offset[g]);
      Bound(task, next);
      Evaluate(task, parameters, next);
      if (next.ok && next.conditional + Penalty(task, next) < merit) break;
    }
    if (!next.ok) break;
    now = std::move(next);
  }
  return best;
}

MixedPoint ScanCoefficient(const MixedTask& task, const MixedPoint& start, int coefficient,
                           double low, double high) {
  const double parameters = static_cast<double>(FreeRows(task).size());
  MixedPoint best = start;
  const auto cost = [&](double value) {
    MixedPoint point = start;
    point.theta[coefficient] = value;
    Evaluate(task, parameters, point);
    if (!point.ok) return kInfinity;
    point.cost =
        point.conditional + Penalty(task, point) + LogDeterminants(Linearise(task, point), point.T);
    if (point.cost < best.cost) best = point;
    return point.cost;
  };
  constexpr int kSteps = 10;
  int nearest = 0;
  double least = kInfinity;
  for (int k = 0; k <= kSteps; ++k)
    if (const double c = cost(low + (high - low) * k / kSteps); c < least) least = c, nearest = k;
  const auto at = [&](int k) { return low + (high - low) * std::clamp(k, 0, kSteps) / kSteps; };
  constexpr int kBits = 12;
  boost::math::tools::brent_find_minima(cost, at(nearest - 1), at(nearest + 1), kBits);
  return best;
}

MixedInformation InformationAt(const MixedTask& task, const MixedPoint& point) {
  MixedInformation info;
  std::vector<EventScore> events;
  const Linearised lin = Linearise(task, point, &events);
  const std::vector<Eigen::Index> rows = FreeRows(task);
  const auto p = static_cast<Eigen::Index>(rows.size());
  const bool grouped = task.offset[0] || task.offset[1];
  info.parameters = EffectiveParameters(task, lin, point.T);
  const QuadraticMinimum minimum = Minimise(task, lin, point, point.T);

  // Clusters: groups where groups differ, else recordings.
  std::vector<ClusterShare> clusters;
  const auto cluster = [&](int index) -> ClusterShare& {
    const auto at = static_cast<std::size_t>(index);
    if (clusters.size() <= at)
      clusters.resize(at + 1, {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)});
    return clusters[at];
  };
  Eigen::MatrixXd within = Eigen::MatrixXd::Zero(p, p);
  for (std::size_t g = 0; g < lin.group.size(); ++g) {
    const Quadratic& q = lin.group[g];
    within += q.H(rows, rows);
    if (!grouped) continue;
    const Matrix2d W = OffsetCovariance(q.H, point.T);
    const MixedVector at_zero = q.g - q.H.leftCols<2>() * point.offset[g];
    ClusterShare& share = cluster(static_cast<int>(g));
    share.score += MixedVector(at_zero - q.H.leftCols<2>() * (W * at_zero.head<2>()))(rows);
    share.curvature += MixedMatrix(q.H - q.H.leftCols<2>() * W * q.H.topRows<2>())(rows, rows);
  }
  for (std::size_t i = 0; i < events.size() && !grouped; ++i) {
    ClusterShare& share = cluster((*task.base.events)[i].cluster);
    share.score += events[i].g(rows);
    share.curvature += lin.slope * events[i].H(rows, rows);
  }
  const double n = lin.observations / task.base.shape.dim();
  std::vector<bool> informed;
  for (Eigen::Index k = 0; k < p; ++k) {
    informed.push_back(minimum.A(k, k) > 1e-10 * n);
    info.informed[static_cast<std::size_t>(rows[static_cast<std::size_t>(k)])] = informed.back();
  }
  // Where the likelihood's tails are not the data's, their own size counts; so much only of the
  // variance that is scatter within groups.
  const double ratio = 1 + lin.scatter_share * (lin.square / lin.slope - 1);
  const Eigen::MatrixXd inverse = InverseWhere(minimum.A, informed),
                        inside = InverseWhere(within, informed);
  const Eigen::MatrixXd by_model = inverse + (ratio - 1) * inside;
  Eigen::VectorXd model_dof = Eigen::VectorXd::Constant(p, std::max(1.0, n - 2));
  for (Eigen::Index k = 0; k < p && grouped; ++k) {
    if (!(inverse(k, k) > 0)) continue;
    const double between = std::clamp(1 - inside(k, k) / inverse(k, k), 0.0, 1.0);
    const double dof = std::max(1.0, task.n_groups - 1.0);
    model_dof[k] = 1 / (between * between / dof +
                        (1 - between) * (1 - between) / std::max(1.0, n - info.parameters));
  }
  const ClusterCovariance found = CovarianceOfClusters(minimum.A, informed, clusters, by_model,
                                                       grouped ? 1.0 : lin.scatter_share, model_dof,
                                                       Eigen::VectorXd::Constant(p, kLeastDof));
  for (Eigen::Index a = 0; a < p; ++a) {
    const auto k = rows[static_cast<std::size_t>(a)];
    info.dof[k] = found.dof[a];
    info.variance_ratio[k] = found.variance_ratio[a];
    for (Eigen::Index b = 0; b < p; ++b)
      info.covariance(k, rows[static_cast<std::size_t>(b)]) = found.covariance(a, b);
  }
  for (const Quadratic& q : lin.group) {
    const Matrix2d W = OffsetCovariance(q.H, point.T);
    MixedMatrix D = MixedMatrix::Identity();
    D.topRows<2>() -= W * q.H.topRows<2>();
    MixedMatrix local = D * info.covariance * D.transpose();
    local.topLeftCorner<2, 2>() += W;
    info.local.push_back(local);
    std::array<double, 2> own{};
    for (int k = 0; k < 2; ++k)
      own[static_cast<std::size_t>(k)] = point.T[k] > 0 ? 1 - W(k, k) / point.T[k] : 0;
    info.own_share.push_back(own);
  }
  return info;
}

}  // namespace impactlab::impact
