#include "impact/identify/shared_errors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>

#include "impact/identify/detail/law_fit.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using impact::EventAt;
using impact::FitPoint;
using impact::FitTask;
using impact::PreparedEvent;

// Below this their scatter is not distinguished from what they share.
constexpr int kLeastEvents = 6;
// Derivatives by c are central differences over so much of a prior standard deviation.
constexpr double kStep = 0.05;

struct Round {
  EventsOfBody set;
  std::vector<PreparedEvent> prepared;
  std::optional<FitTask> task;
  FitPoint best;
};

// Optimum of (mu, e) and of the scatter with the shared errors at c.
bool Optimise(EventsOfBody set, const ImpactModel& start, const IdentifyOptions& options, bool scan,
              Round* round) {
  round->set = std::move(set);
  round->prepared = impact::PrepareEvents(round->set.events, round->set.body);
  const int n = static_cast<int>(round->prepared.size());
  if (n < kLeastEvents) return false;
  impact::FitCouple(round->prepared, options);
  round->task.emplace(FitTask{.events = &round->prepared,
                              .multiplicity = std::vector<double>(static_cast<std::size_t>(n), 1.0),
                              .law = start.law,
                              .fit_discrepancy = options.fit_discrepancy,
                              .n_groups = impact::ScatterGroups(n),
                              .shape = impact::Shape(options, round->prepared.front().dim)});
  round->best = impact::FitBest(*round->task, start, scan).best;
  return round->best.ok;
}

// Impulse given the couple, then the couple: independent of each other, so that both covariances
// can be applied one by one.
VectorXd Stack(const Round& round, const std::vector<PreparedEvent>& events, std::size_t i,
               bool* ok) {
  const PreparedEvent& base = round.prepared[i];
  PreparedEvent event = events[i];
  // Covariances and what is told of an event stay those of the round.
  event.V_cc_inverse = base.V_cc_inverse;
  event.cov = base.cov;
  event.cov_dz_c = base.cov_dz_c;
  event.no_demand = base.no_demand;
  event.c_whitened = base.V_cc_inverse * event.z_c;
  const EventAt at = EvaluateEvent(event, impact::ModelAt(*round.task, round.best.mu, round.best.e),
                                   impact::Need::kNoise);
  *ok = *ok && at.ok;
  VectorXd r(event.dim + event.dim_c);
  r << at.r, event.z_c;
  return r;
}

struct NormalEquations {
  MatrixXd told;  // information on (mu, e) and c, of the events alone
  VectorXd g;
  bool ok = true;
};

// A coefficient that no event informs is held, by as much as makes no difference to one that is.
MatrixXd Prior(Eigen::Index m) {
  VectorXd diagonal = VectorXd::Ones(2 + m);
  diagonal.head(2).setConstant(1e-2);
  return diagonal.asDiagonal();
}

NormalEquations Assemble(const std::function<EventsOfBody(const VectorXd&)>& at, const VectorXd& c,
                         const Round& round) {
  const Eigen::Index m = c.size();
  const std::size_t n = round.prepared.size();
  NormalEquations normal{MatrixXd::Zero(2 + m, 2 + m), VectorXd::Zero(2 + m)};
  std::vector<MatrixXd> A;
  std::vector<VectorXd> r;
  for (std::size_t i = 0; i < n; ++i) {
    r.push_back(Stack(round, round.prepared, i, &normal.ok));
    A.emplace_back(MatrixXd::Zero(r[i].size(), 2 + m));
    A[i].topLeftCorner(round.prepared[i].dim, 2) = round.best.at[i].G;
  }
  for (Eigen::Index k = 0; k < m; ++k) {
    for (const double side : {-1.0, 1.0}) {
      VectorXd moved = c;
      moved(k) += side * kStep;
      const EventsOfBody set = at(moved);
      const std::vector<PreparedEvent> events = impact::PrepareEvents(set.events, set.body);
      if (events.size() != n) {
        normal.ok = false;
        return normal;
      }
      for (std::size_t i = 0; i < n; ++i)
        A[i].col(2 + k) += side / (2 * kStep) * Stack(round, events, i, &normal.ok);
    }
  }
  for (std::size_t i = 0; i < n && normal.ok; ++i) {
    const PreparedEvent& event = round.prepared[i];
    const Eigen::Index dim = event.dim, dim_c = event.dim_c;
    MatrixXd W = MatrixXd::Zero(dim + dim_c, dim + dim_c);
    W.topLeftCorner(dim, dim) = round.best.S[i].inverse();
    W.bottomRightCorner(dim_c, dim_c) = event.V_cc_inverse;
    normal.told += A[i].transpose() * W * A[i];
    normal.g += A[i].transpose() * W * r[i];
  }
  normal.g.tail(m) += c;
  normal.ok = normal.ok && normal.told.allFinite() && normal.g.allFinite();
  return normal;
}

// Of the shared errors. What was spent on them and on (mu, e) is missing in the scatter, which is
// fitted to what is left.
MatrixXd Covariance(const NormalEquations& normal, const Round& round) {
  const Eigen::Index size = normal.told.rows(), m = size - 2;
  const double n = static_cast<double>(round.prepared.size() *
                                       (round.prepared.front().dim + round.prepared.front().dim_c));
  double share = 1;
  MatrixXd cov;
  for (int pass = 0; pass < 3; ++pass) {
    cov = (share * normal.told + Prior(m))
              .ldlt()
              .solve(MatrixXd::Identity(size, size))
              .bottomRightCorner(m, m);
    share = std::max(0.2, 1 - (2 + static_cast<double>(m) - cov.trace()) / n);
  }
  return 0.5 * (cov + cov.transpose());
}

}  // namespace

SharedErrors FindSharedErrors(const std::function<EventsOfBody(const VectorXd&)>& at,
                              int dimensions, const ImpactModel& start,
                              const IdentifyOptions& options) {
  constexpr int kRounds = 8;
  constexpr double kSmall = 0.01;
  SharedErrors shared{VectorXd::Zero(dimensions), MatrixXd::Identity(dimensions, dimensions)};
  if (dimensions == 0) return shared;
  // Least squares: outlying impacts count as scatter, which leaves the errors where they were
  // declared.
  IdentifyOptions gaussian = options;
  gaussian.likelihood = Likelihood::kGaussian;
  Round round;
  ImpactModel model = start;
  VectorXd c = shared.mean;
  for (int k = 0; k < kRounds; ++k) {
    if (!Optimise(at(c), model, gaussian, k == 0, &round)) return shared;
    model = impact::ModelAt(*round.task, round.best.mu, round.best.e);
    const NormalEquations normal = Assemble(at, c, round);
    if (!normal.ok) return shared;
    const VectorXd step = -(normal.told + Prior(dimensions)).ldlt().solve(normal.g);
    const MatrixXd cov = Covariance(normal, round);
    if (!step.allFinite() || !cov.allFinite()) return shared;
    c += step.tail(dimensions);
    shared.mean = c;
    shared.cov = cov;
    shared.rounds = k + 1;
    if (step.tail(dimensions).norm() < kSmall) break;
  }
  // Before the events spoke, `mean` was distributed about zero with I - cov.
  constexpr double kTold = 0.1;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(shared.cov);
  for (int k = 0; k < dimensions; ++k) {
    const double told = 1 - eigen.eigenvalues()(k);
    if (told < kTold) continue;
    shared.chi_square += std::pow(eigen.eigenvectors().col(k).dot(c), 2) / told;
    ++shared.dof;
  }
  return shared;
}

}  // namespace impactlab
