#include "impact/identify/detail/law_fit.h"

#include <ceres/ceres.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace impactlab::impact {
namespace {

// Shape as a loss of Ceres, which minimises half of rho.
class ShapeLoss : public ceres::LossFunction {
 public:
  ShapeLoss(const Shape& shape, double multiplicity) : shape_(shape), multiplicity_(multiplicity) {}
  void Evaluate(double q, double rho[3]) const override {
    const std::array<double, 3> value = shape_(q);
    for (int i = 0; i < 3; ++i) rho[i] = multiplicity_ * value[i];
  }

 private:
  Shape shape_;
  double multiplicity_;
};

// Whitened impulse residual of one event as a function of mu, e and, where it is free, e_t, the
// noise linearised where the round began.
class EventCost : public ceres::CostFunction {
 public:
  EventCost(const FitTask& task, const PreparedEvent& event, const EventAt& at, const Mat& S,
            double e_t)
      : task_(task), event_(event), e_t_(e_t), shift_(at.shift), L_(S.llt().matrixL()) {
    set_num_residuals(event.dim);
    mutable_parameter_block_sizes()->assign(task.free_e_t ? 3 : 2, 1);
  }
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    const double e_t = task_.free_e_t ? parameters[2][0] : e_t_;
    const EventAt at =
        EvaluateEvent(event_, ModelAt(task_, parameters[0][0], parameters[1][0], e_t),
                      jacobians != nullptr ? Need::kDerivative : Need::kResidual);
    if (!at.ok) return false;
    const Vec r = L_.triangularView<Eigen::Lower>().solve(at.r - shift_);
    std::copy(r.data(), r.data() + r.size(), residuals);
    for (int k = 0; jacobians != nullptr && k < (task_.free_e_t ? 3 : 2); ++k) {
      if (jacobians[k] == nullptr) continue;
      const Vec slope = k < 2 ? Vec(at.G.col(k)) : at.G_e_t;
      const Vec g = L_.triangularView<Eigen::Lower>().solve(slope);
      std::copy(g.data(), g.data() + g.size(), jacobians[k]);
    }
    return true;
  }

 private:
  const FitTask& task_;
  const PreparedEvent& event_;
  double e_t_;  // where it is not free
  Vec shift_;
  Mat L_;
};

// Second moment of the impulse's response to friction at mu +- h, per unit of friction variance. A
// derivative would jump where an event begins to stick; the finite step lets its share of the
// scatter fade out instead. The step is that of friction far off, two standard deviations where it
// scatters by 15 %: an impact that sticks at mu may slide where friction is low, and would count as
// exact. A step that follows the fitted scatter moves the optimum with it, which no profile shows:
// of 80 impacts intervals of mu then hold in 78 to 87 %, and with this step in 92 to 95 %.
Mat FrictionResponse(const FitTask& task, const PreparedEvent& event, const EventAt& at, double mu,
                     double e, double e_t) {
  constexpr double kFarOff = 0.3;
  const double h = kFarOff * std::max(mu, kSmallFriction);
  const Vec here = at.r + at.shift;
  const EventAt above = EvaluateEvent(event, ModelAt(task, mu + h, e, e_t), Need::kResidual);
  if (!above.ok) return Mat::Zero(event.dim, event.dim);
  const Vec up = (above.r - here) / h;
  Vec down = up;
  const double h_down = std::min(h, mu);
  if (h_down > 0.1 * h) {
    const EventAt below = EvaluateEvent(event, ModelAt(task, mu - h_down, e, e_t), Need::kResidual);
    if (below.ok) down = (here - below.r) / h_down;
  }
  return 0.5 * (Mat(up.lazyProduct(up.transpose())) + Mat(down.lazyProduct(down.transpose())));
}

VarianceData ImpulseData(const FitTask& task, const FitPoint& point, int n_groups) {
  VarianceData data;
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    data.r.push_back(point.at[i].r);
    data.N.push_back(point.at[i].N);
    data.E.push_back(ScatterShapes(task, (*task.events)[i], point.at[i], point.mu, point.e,
                                   n_groups, point.e_t));
  }
  data.multiplicity = task.multiplicity;
  data.n_groups = n_groups;
  data.most = MostScatter(point.mu);
  for (std::size_t g = 0; g < data.most.size(); ++g)
    data.most[g] = std::min(data.most[g], task.most[g]);
  return data;
}

// One trust-region descent in (mu, e), and e_t where it is free, with the noise and the scatter
// held.
bool DescendCoefficients(const FitTask& task, const FitPoint& point, bool free_mu, bool free_e,
                         double tolerance, double& mu, double& e, double& e_t) {
  ceres::Problem::Options problem_options;
  problem_options.disable_all_safety_checks = true;
  ceres::Problem problem(problem_options);
  problem.AddParameterBlock(&mu, 1);
  problem.AddParameterBlock(&e, 1);
  std::vector<double*> blocks{&mu, &e};
  if (task.free_e_t) {
    problem.AddParameterBlock(&e_t, 1);
    blocks.push_back(&e_t);
  }
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    if (task.multiplicity[i] == 0) continue;
    problem.AddResidualBlock(
        new EventCost(task, (*task.events)[i], point.at[i], point.S[i], point.e_t),
        new ShapeLoss(task.shape, task.multiplicity[i]), blocks);
  }
  problem.SetParameterLowerBound(&mu, 0, 0);
  problem.SetParameterUpperBound(&mu, 0, kMuMax);
  problem.SetParameterLowerBound(&e, 0, 0);
  problem.SetParameterUpperBound(&e, 0, 1);
  if (task.free_e_t) {
    problem.SetParameterLowerBound(&e_t, 0, 0);
    problem.SetParameterUpperBound(&e_t, 0, 1);
  }
  if (!free_mu) problem.SetParameterBlockConstant(&mu);
  if (!free_e) problem.SetParameterBlockConstant(&e);
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.logging_type = ceres::SILENT;
  options.max_num_iterations = 30;
  options.function_tolerance = 0.1 * tolerance / std::max(1.0, std::abs(point.cost));
  options.parameter_tolerance = 1e-10;
  options.gradient_tolerance = 1e-10;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary.IsSolutionUsable() && std::isfinite(mu) && std::isfinite(e) && std::isfinite(e_t);
}

// Cost where the scatter is held at `log_s`. By the envelope theorem its slope in the coefficients
// is that of the cost with the best scatter.
double CostHeld(const FitTask& task, const Eigen::Vector3d& x, const std::vector<double>& log_s) {
  FitPoint point;
  point.mu = x[0], point.e = x[1], point.e_t = x[2];
  const ImpactModel model = ModelAt(task, x[0], x[1], x[2]);
  for (const PreparedEvent& event : *task.events) {
    point.at.push_back(EvaluateEvent(event, model, Need::kNoise));
    if (!point.at.back().ok) return std::numeric_limits<double>::infinity();
  }
  const VarianceData data = ImpulseData(task, point, task.n_groups);
  return VarianceCost(data, task.shape, log_s.data(), nullptr, nullptr);
}

// One step of Newton's method on the whole cost, of which a descent with the noise held leaves out
// that covariances follow the coefficients. The slope is taken by differences, the curvature is the
// Fisher information. False where the step promises too little or does not lower the cost.
bool NewtonStep(const FitTask& task, FitPoint& best) {
  constexpr double kDifference = 0.05;  // [standard deviations]
  constexpr double kLeastGain = 1e-3;   // of cost: the optimum is off by 0.045 standard deviations
  constexpr int kHalvings = 5;
  const Eigen::Vector3d x(best.mu, best.e, best.e_t), highest(kMuMax, 1, 1);
  Eigen::Matrix3d information = Eigen::Matrix3d::Zero();
  for (std::size_t i = 0; i < best.at.size(); ++i) {
    Eigen::Matrix<double, Eigen::Dynamic, 3> G(best.at[i].r.size(), 3);
    G << best.at[i].G, Eigen::VectorXd::Zero(G.rows());
    if (task.free_e_t) G.col(2) = best.at[i].G_e_t;
    const Mat inverse = best.S[i].llt().solve(Mat::Identity(G.rows(), G.rows()));
    const double weight = task.shape(best.at[i].r.dot(inverse * best.at[i].r))[1];
    information += task.multiplicity[i] * weight * G.transpose() * inverse * G;
  }
  Eigen::Vector3d slope = Eigen::Vector3d::Zero();
  for (Eigen::Index k = 0; k < 3; ++k) {
    const bool moves = (k < 2 || task.free_e_t) && information(k, k) > 0;
    if (moves) {
      double h = std::min(kDifference / std::sqrt(information(k, k)), 0.01);
      if (x[k] + h > highest[k]) h = -h;
      Eigen::Vector3d beside = x;
      beside[k] += h;
      slope[k] = (CostHeld(task, beside, best.log_s) - best.cost) / h;
    }
    const bool at_end = (x[k] <= 0 && slope[k] > 0) || (x[k] >= highest[k] && slope[k] < 0);
    if (moves && !at_end && std::isfinite(slope[k])) continue;
    slope[k] = 0;
    information.row(k).setZero();
    information.col(k).setZero();
    information(k, k) = 1;
  }
  const Eigen::Vector3d step = information.ldlt().solve(-slope);
  if (!step.allFinite() || !(-0.5 * slope.dot(step) > kLeastGain)) return false;
  double share = 1;
  for (int halving = 0; halving < kHalvings; ++halving, share *= 0.5) {
    const Eigen::Vector3d to = (x + share * step).cwiseMax(0).cwiseMin(highest);
    FitPoint next = EvaluateAt(task, to[0], to[1], best.log_s, true, to[2]);
    if (!next.ok || !(next.cost < best.cost)) continue;
    best = std::move(next);
    return true;
  }
  return false;
}

// Residuals of one component and the variances of their noise.
struct ComponentResiduals {
  std::vector<double> r, noise;
  void Add(double value, double variance) {
    r.push_back(value);
    noise.push_back(variance);
  }
};

// Standard deviation of the ordinary scatter of one component: squares beyond the 99 % point of the
// normal count as that point, so that an outlying event does not inflate it, while no likelihood's
// own idea of its tails enters.
double OrdinaryScatter(const ComponentResiduals& component) {
  const std::vector<double>&r = component.r, &noise = component.noise;
  // chi-square(1) 99 % point; mean of min(chi-square(1), cap)
  constexpr double kCap = 6.6349, kMean = 0.9230;
  const auto excess = [&](double variance) {
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i)
      sum += std::min(r[i] * r[i] / std::max(noise[i] + variance, 1e-300), kCap);
    return sum / r.size() - kMean;
  };
  double low = 0, high = 1e-18;
  if (r.empty() || excess(1e-18) <= 0) return 0;
  while (excess(high) > 0 && high < 1e6) high *= 16;
  for (int i = 0; i < 80; ++i) (excess(0.5 * (low + high)) > 0 ? low : high) = 0.5 * (low + high);
  return std::sqrt(high);
}

}  // namespace

std::array<Mat, kMaxGroups> ScatterShapes(const FitTask& task, const PreparedEvent& event,
                                          const EventAt& at, double mu, double e, int n_groups,
                                          double e_t) {
  const int dim = task.shape.dim(), last = dim - 1;
  std::array<Mat, kMaxGroups> E;
  E.fill(Mat::Zero(dim, dim));
  E[0].setIdentity();
  if (n_groups > 1) {
    E[0](last, last) = 0;
    E[1](last, last) = 1;
  }
  if (n_groups > 2) E[2] = FrictionResponse(task, event, at, mu, e, e_t);
  if (n_groups > 3) E[3] = at.G.col(1).lazyProduct(at.G.col(1).transpose());
  return E;
}

std::array<double, kMaxGroups> MostScatter(double mu) {
  constexpr double kNoEnd = 1e3;
  return {kNoEnd, kNoEnd, kMostFrictionScatter * std::max(mu, kSmallFriction),
          kMostRestitutionScatter};
}

ImpactModel ModelAt(const FitTask& task, double mu, double e, double e_t) {
  return {{.e = e, .mu_k = mu, .mu_s = std::max(mu, task.mu_s_floor), .e_t = e_t}, task.law};
}

FitPoint EvaluateAt(const FitTask& task, double mu, double e, std::vector<double> log_s,
                    bool with_noise, double e_t) {
  FitPoint point;
  point.mu = mu;
  point.e = e;
  point.e_t = e_t;
  point.ok = true;
  const ImpactModel model = ModelAt(task, mu, e, e_t);
  for (const PreparedEvent& event : *task.events) {
    point.at.push_back(EvaluateEvent(event, model, with_noise ? Need::kNoise : Need::kResidual));
    if (!with_noise) point.at.back().N = Mat::Zero(event.dim, event.dim);
    point.ok = point.ok && point.at.back().ok;
  }
  const int n_groups = with_noise ? task.n_groups : std::min(task.n_groups, 2);
  for (int g = static_cast<int>(log_s.size()); g < n_groups; ++g) {
    if (g >= 2) {
      log_s.push_back(std::log(g == 2 ? 0.1 * std::max(mu, kSmallFriction) : 0.02));
      continue;
    }
    // Moments, bounded so that an outlying event does not put the start far off.
    double sum = 1e-12, count = 1e-6;
    for (std::size_t i = 0; i < point.at.size() && point.ok; ++i) {
      for (int k = 0; k < task.shape.dim(); ++k) {
        if (n_groups > 1 && (k + 1 == task.shape.dim()) != (g == 1)) continue;
        sum += task.multiplicity[i] * std::min(point.at[i].r[k] * point.at[i].r[k], 0.25);
        count += task.multiplicity[i];
      }
    }
    log_s.push_back(0.5 * std::log(sum / count));
  }
  log_s.resize(n_groups);
  point.log_s = std::move(log_s);
  point.cost = std::numeric_limits<double>::infinity();
  if (!point.ok) return point;
  const VarianceData data = ImpulseData(task, point, n_groups);
  if (task.fit_discrepancy || !with_noise) {
    FitVariance(data, task.shape, point.log_s);
  } else {
    point.log_s.assign(n_groups, std::log(kScatterFloor));
  }
  point.cost = VarianceCost(data, task.shape, point.log_s.data(), nullptr, nullptr);
  point.ok = std::isfinite(point.cost);
  for (std::size_t i = 0; i < data.N.size(); ++i) {
    point.S.push_back(data.N[i]);
    for (int g = 0; g < n_groups; ++g)
      point.S.back() += ScatterVariance(point.log_s[g]) * data.E[i][g];
  }
  return point;
}

FitPoint FitFrom(const FitTask& task, const FitPoint& start, bool free_mu, bool free_e,
                 double tolerance) {
  FitPoint best = EvaluateAt(task, start.mu, start.e, start.log_s, true, start.e_t);
  if (!free_mu && !free_e) return best;
  // Coefficients and scatter are nearly orthogonal, so a few alternations do; each is a descent of
  // the same cost but for the noise, which follows the coefficients.
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds && best.ok; ++round) {
    double mu = best.mu, e = best.e, e_t = best.e_t;
    if (!DescendCoefficients(task, best, free_mu, free_e, tolerance, mu, e, e_t)) break;
    FitPoint next = EvaluateAt(task, mu, e, best.log_s, true, e_t);
    if (!next.ok || !(next.cost < best.cost)) break;
    const double gain = best.cost - next.cost;
    best = std::move(next);
    if (gain < tolerance) break;
  }
  return best;
}

FitPoint Refined(const FitTask& task, FitPoint best) {
  constexpr int kSteps = 6;
  for (int step = 0; step < kSteps && best.ok; ++step) {
    if (!NewtonStep(task, best)) break;
  }
  return best;
}

double FitCouple(std::vector<PreparedEvent>& events, const IdentifyOptions& options) {
  const int dim = events.front().dim_c;
  const Shape shape(options, dim);
  VarianceData data;
  double start = 1e-12;
  for (const PreparedEvent& event : events) {
    data.r.push_back(event.z_c);
    data.N.push_back(event.N_cc);
    start += std::min(event.z_c.squaredNorm() / dim, 1.0) / events.size();
  }
  data.multiplicity.assign(events.size(), 1.0);
  // About the normal no lever of the normal impulse adds to the couple.
  std::array<Mat, kMaxGroups> E{Mat::Identity(dim, dim)};
  data.n_groups = CoupleGroups(dim, static_cast<int>(events.size()));
  if (data.n_groups == 2) {
    E[1] = Mat::Zero(dim, dim);
    std::swap(E[0](2, 2), E[1](2, 2));
  }
  data.E.assign(events.size(), E);
  std::vector<double> log_s(static_cast<std::size_t>(data.n_groups), std::log(kScatterFloor));
  if (options.fit_discrepancy && events.size() > 1) {
    std::fill(log_s.begin(), log_s.end(), 0.5 * std::log(start));
    FitVariance(data, shape, log_s);
  }
  for (PreparedEvent& event : events) {
    Mat V = event.N_cc;
    for (std::size_t g = 0; g < log_s.size(); ++g)
      V += (options.fit_discrepancy ? ScatterVariance(log_s[g]) : kScatterFloor * kScatterFloor) *
           E[g];
    V.diagonal().array() += 1e-14 * event.N_cc.trace();
    event.V_cc_inverse = V.llt().solve(Mat::Identity(dim, dim));
    const Vec solved = event.V_cc_inverse * event.z_c;
    event.c_whitened = shape(event.z_c.dot(solved))[1] * solved;
  }
  return VarianceCost(data, shape, log_s.data(), nullptr, nullptr);
}

Discrepancy ScatterOf(const std::vector<PreparedEvent>& events, const FitPoint& best) {
  ComponentResiduals tangential, normal, couple, couple_normal;
  const bool apart = CoupleGroups(events.front().dim_c, static_cast<int>(events.size())) > 1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventAt& at = best.at[i];
    const int last = events[i].dim - 1;
    for (int k = 0; k < last && !events[i].no_demand; ++k) tangential.Add(at.r[k], at.N(k, k));
    normal.Add(at.r[last], at.N(last, last));
    for (int k = 0; k < events[i].dim_c; ++k)
      (apart && k == 2 ? couple_normal : couple).Add(events[i].z_c[k], events[i].N_cc(k, k));
  }
  const double n = static_cast<double>(events.size());
  // one coefficient takes its share of each residual
  const double correction = std::sqrt(n / std::max(1.0, n - 1));
  Discrepancy found{correction * OrdinaryScatter(tangential), correction * OrdinaryScatter(normal),
                    OrdinaryScatter(couple)};
  if (!couple_normal.r.empty()) found.sd_couple_normal = OrdinaryScatter(couple_normal);
  return found;
}

int CoupleGroups(int dim_c, int n) { return dim_c == 3 && ScatterGroups(n) > 1 ? 2 : 1; }

int ScatterGroups(int n) { return n < kLeastForComponents ? 1 : 4; }

Optimum FitBest(const FitTask& task, const ImpactModel& start, bool scan) {
  std::vector<FitPoint> starts{
      EvaluateAt(task, std::clamp(start.mu_k, 0.0, kMuMax), std::clamp(start.e, 0.0, 1.0), {})};
  if (scan) {
    const int rows = static_cast<int>(kMuLevels.size()),
              columns = static_cast<int>(kELevels.size());
    std::vector<FitPoint> grid;
    for (double mu : kMuLevels) {
      for (double e : kELevels) grid.push_back(EvaluateAt(task, mu, e, {}, false));
    }
    std::vector<FitPoint> valleys;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        const double cost = grid[i * columns + j].cost;
        bool lowest = grid[i * columns + j].ok;
        for (int a = std::max(0, i - 1); a <= std::min(rows - 1, i + 1); ++a) {
          for (int b = std::max(0, j - 1); b <= std::min(columns - 1, j + 1); ++b)
            lowest = lowest && cost <= grid[a * columns + b].cost;
        }
        if (lowest) valleys.push_back(grid[i * columns + j]);
      }
    }
    std::sort(valleys.begin(), valleys.end(),
              [](const FitPoint& a, const FitPoint& b) { return a.cost < b.cost; });
    constexpr std::size_t kMaxValleys = 4;
    valleys.resize(std::min(valleys.size(), kMaxValleys));
    starts.insert(starts.end(), valleys.begin(), valleys.end());
  }
  std::vector<FitPoint> ends;
  for (const FitPoint& point : starts) {
    if (point.ok) ends.push_back(FitFrom(task, point, true, true, 1e-7));
  }
  if (ends.empty()) return {};
  const auto best =
      std::min_element(ends.begin(), ends.end(),
                       [](const FitPoint& a, const FitPoint& b) { return a.cost < b.cost; });
  const auto agreeing = std::count_if(
      ends.begin(), ends.end(), [&](const FitPoint& p) { return p.cost < best->cost + 0.05; });
  return {Refined(task, *best), static_cast<int>(starts.size()), static_cast<int>(agreeing)};
}

bool RestsOnOneEvent(const FitTask& task, const FitPoint& point) {
  // Shares of what all events tell, and of the squares of their slopes, which say how directly.
  constexpr double kAlone = 0.7, kDirect = 0.35;
  for (Eigen::Index k = 0; k < 2; ++k) {
    double told = 0, most = 0, direct = 0, slope = 0;
    for (std::size_t i = 0; i < point.at.size(); ++i) {
      const Vec g = point.at[i].G.col(k);
      const double m = task.multiplicity[i], information = m * g.dot(point.S[i].llt().solve(g));
      told += information;
      slope += m * g.squaredNorm();
      if (information <= most) continue;
      most = information;
      direct = m * g.squaredNorm();
    }
    if (most > kAlone * told && direct < kDirect * slope) return true;
  }
  return false;
}

std::vector<StaticLevel> FitStaticFriction(FitTask& task, FitPoint& best) {
  std::vector<double> ratios;
  for (const PreparedEvent& event : *task.events) {
    const Eigen::Matrix3d& A = event.event->contact.A_F;
    const Eigen::Vector2d needed = A.topLeftCorner<2, 2>().inverse() * A.topRightCorner<2, 1>();
    if (needed.norm() > best.mu) ratios.push_back(needed.norm());
  }
  std::sort(ratios.begin(), ratios.end());
  constexpr std::size_t kMaxLevels = 16;
  if (ratios.size() > kMaxLevels) {
    std::vector<double> some;
    for (std::size_t i = 0; i < kMaxLevels; ++i)
      some.push_back(ratios[i * (ratios.size() - 1) / (kMaxLevels - 1)]);
    ratios = some;
  }
  ratios.erase(std::unique(ratios.begin(), ratios.end()), ratios.end());
  std::vector<StaticLevel> levels;
  const FitPoint start = best;
  double best_floor = 0;
  for (std::size_t i = 0; i <= ratios.size(); ++i) {
    StaticLevel level{i == 0 ? start.mu : ratios[i - 1],
                      i < ratios.size() ? ratios[i] : std::numeric_limits<double>::infinity(), 0};
    task.mu_s_floor = i == 0                       ? 0
                      : std::isfinite(level.upper) ? 0.5 * (level.lower + level.upper)
                                                   : 1.1 * level.lower;
    const FitPoint point = FitFrom(task, start, true, true, 1e-6);
    if (!point.ok) continue;
    level.cost = point.cost;
    // Ranges that no event tells apart are one.
    if (!levels.empty() &&
        std::abs(levels.back().cost - level.cost) < 1e-9 * (1 + std::abs(level.cost))) {
      levels.back().upper = level.upper;
    } else {
      levels.push_back(level);
    }
    if (point.cost < best.cost - 1e-6) {
      best = point;
      best_floor = task.mu_s_floor;
    }
  }
  task.mu_s_floor = best_floor;
  return levels;
}

}  // namespace impactlab::impact
