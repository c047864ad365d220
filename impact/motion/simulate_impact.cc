#include "impact/motion/detail/simulate_impact.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kImpactRank = 1e-9;

MultiOutcome SolveSeveral(const ImpactSystem& system, const SimulateOptions& options) {
  switch (options.several) {
    case MultiLaw::kSimultaneousNewton:
    case MultiLaw::kSimultaneousPoisson:
      return SolveSimultaneous(system, options.several);
    case MultiLaw::kGlobalEnergetic: {
      GlobalOptions global;
      double e = 1;
      for (const ContactProperties& c : system.contacts) e = std::min(e, c.e);
      global.e_star = {e};
      return SolveGlobal(system, global);
    }
    default: {
      SequenceOptions sequence;
      sequence.law = options.law;
      sequence.keep_paths = false;
      return SolveSequence(system, sequence);
    }
  }
}

// Least change of x, in the metric of M, with rows x = -off.
VectorXd LeastChange(const Eigen::LLT<MatrixXd>& llt, const MatrixXd& rows, const VectorXd& off) {
  const MatrixXd X = llt.solve(rows.transpose());
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
  cod.setThreshold(kImpactRank);
  const MatrixXd G = rows * X;
  return -(X * cod.compute(G).solve(off));
}

}  // namespace

StrikeResult Strike(const Mechanism& mechanism, const MechanismState& state,
                    const std::vector<int>& touching, int jammed, const SimulateOptions& options,
                    double rest_speed) {
  StrikeResult result;
  const int w = mechanism.width, n = static_cast<int>(touching.size());
  ContactTerms terms;
  result.v_minus.resize(w * n);
  double fastest = 0;
  for (int k = 0; k < n; ++k) {
    mechanism.contact(state, touching[k], terms);
    result.v_minus.segment(w * k, w) = terms.rows * state.u - terms.v_surface;
    fastest = std::max(fastest, -result.v_minus[w * k + w - 1]);
  }
  if (jammed < 0 && fastest <= rest_speed) return result;
  VectorXd shift;
  ImpactSystem system = FreezeForImpact(mechanism, state, touching, shift);
  result.slow = jammed < 0 && fastest < options.least_rebound;
  // A slow approach beside a fast one is struck by the law: a ball at rest in a row hands an impact
  // on.
  for (int k = 0; result.slow && k < n; ++k) system.contacts[k].e = 0;
  result.cases.assign(n, "");
  const int struck =
      jammed >= 0
          ? static_cast<int>(std::find(touching.begin(), touching.end(), jammed) - touching.begin())
      : n == 1 ? 0
               : -1;
  if (struck >= 0 && (jammed >= 0 || options.several == MultiLaw::kSequence)) {
    const ContactSpace space = ReduceToContacts(system);
    ContactState contact = SingleContact(space, space.v_minus, struck);
    if (jammed >= 0) contact.v_minus_F.z() = 0;
    const ContactProperties& c = system.contacts[struck];
    SolveOptions solve;
    solve.dense_output = false;
    const ImpactOutcome outcome = Solve(contact, {c, options.law}, solve);
    if (outcome.status != SolveStatus::kOk) {
      result.reason = fmt::format("impact at {}: {}", c.name,
                                  outcome.reason.empty() ? "no impact" : outcome.reason);
      return result;
    }
    result.J.setZero(w * n);
    for (int t = 0; t + 1 < w; ++t) result.J[space.Tangent(struck) + t] = outcome.J_F[t];
    result.J[space.Normal(struck)] = outcome.J_F.z();
    result.u_plus = system.u_minus + space.response * result.J;
    result.v_plus = space.v_minus + space.A * result.J;
    result.cases[struck] = outcome.path_case.Name();
  } else {
    const MultiOutcome outcome = SolveSeveral(system, options);
    if (outcome.status != SolveStatus::kOk) {
      result.reason = fmt::format("impact at {} contacts: {}", n,
                                  outcome.reason.empty() ? "no impact" : outcome.reason);
      return result;
    }
    result.u_plus = outcome.u_plus;
    result.v_plus = outcome.v_plus;
    result.J = outcome.J;
  }
  result.energy_change =
      KineticEnergy(system, result.u_plus) - KineticEnergy(system, system.u_minus);
  result.u_plus += shift;
  result.struck = true;
  return result;
}

ForceProblem PoseForces(const Mechanism& mechanism, const MechanismState& state,
                        const std::vector<int>& set) {
  ForceProblem problem;
  const int w = mechanism.width, n = static_cast<int>(set.size());
  MechanismTerms terms;
  mechanism.terms(state, terms);
  const Eigen::LLT<MatrixXd> llt(terms.M);
  MatrixXd rows(w * n, mechanism.n_u);
  VectorXd bias(w * n);
  problem.v.resize(w * n);
  ContactTerms contact;
  for (int k = 0; k < n; ++k) {
    mechanism.contact(state, set[k], contact);
    rows.middleRows(w * k, w) = contact.rows;
    bias.segment(w * k, w) = contact.bias;
    problem.v.segment(w * k, w) = contact.rows * state.u - contact.v_surface;
    problem.mu_k.push_back(mechanism.contacts[set[k]].mu_k);
    problem.mu_s.push_back(mechanism.contacts[set[k]].mu_s);
  }
  MatrixXd X = llt.solve(rows.transpose());
  VectorXd free = llt.solve(terms.force);
  if (terms.joint_rows.rows() > 0) {
    // Joints hold whatever the contacts do.
    free += LeastChange(llt, terms.joint_rows, terms.joint_rows * free + terms.joint_bias);
    for (Eigen::Index c = 0; c < X.cols(); ++c)
      X.col(c) += LeastChange(llt, terms.joint_rows, terms.joint_rows * X.col(c));
  }
  problem.width = w;
  problem.W = rows * X;
  problem.W = 0.5 * (problem.W + problem.W.transpose()).eval();
  problem.b = rows * free + bias;
  problem.slip = Eigen::MatrixX2d::Zero(n, 2);
  return problem;
}

ForceSolution ForcesOf(ForceProblem problem, const std::vector<int>& set,
                       const std::vector<Touch>& touches, double slip_speed) {
  const int w = problem.width;
  for (size_t k = 0; k < set.size(); ++k) {
    const Touch& touch = touches[set[k]];
    const VectorXd v_t = problem.v.segment(w * k, w - 1);
    if (touch.mode == PointMode::kSlip && touch.starting &&
        v_t.dot(touch.direction.head(w - 1).transpose()) > 0) {
      problem.slip.row(k) = touch.direction;
    } else if (v_t.norm() > slip_speed) {
      problem.slip.row(k).head(w - 1) = v_t.transpose() / v_t.norm();
    }
  }
  return SolveContactForces(problem);
}

void Project(const Mechanism& mechanism, const std::vector<Touch>& touches, MechanismState& state) {
  const int w = mechanism.width;
  MechanismTerms terms;
  ContactTerms contact;
  for (const bool velocities : {false, true}) {
    mechanism.terms(state, terms);
    const Eigen::LLT<MatrixXd> llt(terms.M);
    std::vector<Eigen::RowVectorXd> rows;
    std::vector<double> off;
    for (Eigen::Index c = 0; c < terms.joint_rows.rows(); ++c) {
      rows.emplace_back(terms.joint_rows.row(c));
      off.push_back(velocities ? terms.joint_rows.row(c).dot(state.u) : terms.joint_error[c]);
    }
    for (size_t i = 0; i < touches.size(); ++i) {
      if (touches[i].mode == PointMode::kOpen) continue;
      mechanism.contact(state, static_cast<int>(i), contact);
      for (int row = velocities && touches[i].mode == PointMode::kStick ? 0 : w - 1; row < w;
           ++row) {
        rows.emplace_back(contact.rows.row(row));
        off.push_back(velocities ? contact.rows.row(row).dot(state.u) - contact.v_surface[row]
                                 : contact.gap);
      }
    }
    if (rows.empty()) return;
    MatrixXd R(rows.size(), mechanism.n_u);
    for (size_t k = 0; k < rows.size(); ++k) R.row(k) = rows[k];
    const VectorXd change = LeastChange(llt, R, Eigen::Map<const VectorXd>(off.data(), off.size()));
    if (velocities) {
      state.u += change;
      continue;
    }
    MechanismState moved = state;
    moved.u = change;
    VectorXd dq(mechanism.n_q);
    mechanism.rates(moved, dq);
    state.q += dq;
    if (mechanism.normalise) mechanism.normalise(state.q);
  }
}

}  // namespace impactlab::impact
