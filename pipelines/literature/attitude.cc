#include "pipelines/literature/attitude.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/math/least_squares.h"
#include "data/math/rotation.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kAttitudeAzimuths = 72;  // that are tried
constexpr int kFine = 50;              // parts of a step between them, tried about the best one
constexpr double kTie = 0.002;         // of the spin change: attitudes that fit alike
// relative difference of lever and inertia in W that makes two attitudes different
constexpr double kDistinct = 0.15;
constexpr double kNoSlower = 1e-9;  // [m/s]
constexpr double kFloor = 1e-9;     // of the trace of the normal matrix
constexpr double kClosed = 1e-12;   // misfit that is none, of the spin change

struct Momentum {
  const Body& body;
  Vector3d J, domega, v_minus, omega_minus, v_plus, omega_plus;
  double largest_inertia = 1, slope = 0;
};

struct Candidate {
  Matrix3d R;
  Vector3d r_W;
  double downhill = 0, misfit = 0, friction = 0, v_n_minus = 0, v_n_plus = 0;
  bool admissible() const { return v_n_minus < -kNoSlower && v_n_plus >= -kNoSlower; }
};

Vector3d Lever(const Body& body, const Matrix3d& R, const Vector3d& n) {
  return R * SupportLever(body, R.transpose() * n);
}

// Of the angular momentum, as a change of spin of the largest moment of inertia: the spin of a rod
// about its axis then weighs as little as it does in the motion.
Vector3d Residual(const Momentum& m, const Matrix3d& R, const Vector3d& n) {
  return (R * (m.body.inertia_B * (R.transpose() * m.domega)) - Lever(m.body, R, n).cross(m.J)) /
         m.largest_inertia;
}

Matrix3d Turned(const Matrix3d& R, const Vector3d& phi) { return R * ExpSO3(phi); }

// The attitude of least misfit from R on; the corner that touches may change on the way.
Matrix3d Descend(const Momentum& m, Matrix3d R, const Vector3d& n) {
  SquaresProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd& step, bool derivatives) {
    const Matrix3d at = Turned(R, step);
    const Vector3d g = Residual(m, at, n);
    SquaresAt out;
    out.valid = g.allFinite();
    out.cost = g.squaredNorm();
    if (!derivatives) return out;
    Matrix3d dg;
    constexpr double kH = 1e-6;
    for (int i = 0; i < 3; ++i)
      dg.col(i) = (Residual(m, Turned(at, kH * Vector3d::Unit(i)), n) -
                   Residual(m, Turned(at, -kH * Vector3d::Unit(i)), n)) /
                  (2 * kH);
    const Matrix3d normal = dg.transpose() * dg;
    // A rod may turn about its axis without any effect: no step goes that way.
    out.information = normal + kFloor * normal.trace() * Matrix3d::Identity();
    out.gradient = dg.transpose() * g;
    return out;
  };
  problem.accept = [&](const Eigen::VectorXd& step) { R = Turned(R, step); };
  LeastSquaresOptions options;
  options.max_steps = 60;
  options.damping = 1e-3;
  options.small_gain = kClosed * kClosed * m.domega.squaredNorm();
  options.small_gain_relative = 2e-9;
  MinimizeSquares(problem, 3, options);
  return R;
}

Candidate EvaluateAttitude(const Momentum& m, const Matrix3d& R, double downhill) {
  const Vector3d n = SlopeNormal(m.slope, downhill);
  Candidate c;
  c.R = R;
  c.r_W = Lever(m.body, R, n);
  c.downhill = downhill;
  c.misfit = Residual(m, R, n).norm();
  const double J_n = n.dot(m.J);
  c.friction = J_n > 0 ? (m.J - n * J_n).norm() / J_n : std::numeric_limits<double>::infinity();
  c.v_n_minus = n.dot(m.v_minus + m.omega_minus.cross(c.r_W));
  c.v_n_plus = n.dot(m.v_plus + m.omega_plus.cross(c.r_W));
  return c;
}

// Attitudes spread over all rotations: those of a cube, each turned a little off its symmetry,
// where derivatives may vanish.
std::vector<Matrix3d> Starts() {
  std::vector<Matrix3d> starts;
  const Matrix3d off =
      Eigen::AngleAxisd(0.4, Vector3d(0.5, 0.3, 0.8).normalized()).toRotationMatrix();
  for (int axis = 0; axis < 3; ++axis)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int turn = 0; turn < 4; ++turn) {
        Matrix3d R;
        R.col(2) = sign * Vector3d::Unit(axis);
        R.col(0) = Vector3d::Unit((axis + 1) % 3);
        R.col(1) = R.col(2).cross(R.col(0));
        starts.push_back(R * Eigen::AngleAxisd(turn * M_PI / 2, Vector3d::UnitZ()) * off);
      }
  return starts;
}

// The least misfit of those whose contact approaches and leaves, else of all; among equals the
// least friction. Nothing where no misfit is a number.
const Candidate* Best(const std::vector<Candidate>& candidates, double tie) {
  const bool any = std::any_of(candidates.begin(), candidates.end(),
                               [](const Candidate& c) { return c.admissible(); });
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates)
    if (c.admissible() == any) least = std::min(least, c.misfit);
  const Candidate* best = nullptr;
  for (const Candidate& c : candidates)
    if (c.admissible() == any && c.misfit <= least + tie &&
        (best == nullptr || c.friction < best->friction))
      best = &c;
  return best;
}

int CountDifferent(const Momentum& m, const std::vector<Candidate>& candidates,
                   const Candidate& best, double tie) {
  std::vector<const Candidate*> kept;
  for (const Candidate& c : candidates) {
    if (c.admissible() != best.admissible() || c.misfit > best.misfit + tie) continue;
    const auto same = [&](const Candidate* k) {
      const Matrix3d dI =
          c.R * m.body.inertia_B * c.R.transpose() - k->R * m.body.inertia_B * k->R.transpose();
      return (c.r_W - k->r_W).norm() / k->r_W.norm() + dI.norm() / m.largest_inertia < kDistinct;
    };
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(&c);
  }
  return static_cast<int>(kept.size());
}

}  // namespace

double LargestLever(const Body& body) {
  double largest = 0;
  std::vector<Vector3d> directions = Vertices(body);
  for (int i = 0; i < 3; ++i) directions.emplace_back(Vector3d::Unit(i));
  for (const Vector3d& d : directions)
    if (d.norm() > 0) largest = std::max(largest, SupportLever(body, -d.normalized()).norm());
  return largest;
}

SolvedAttitude SolveAttitude(const Body& body, const PrintedRow& row, double largest_share) {
  Momentum m{body,
             {},
             {},
             row.minus.value.head<3>(),
             row.minus.value.tail<3>(),
             row.plus.value.head<3>(),
             row.plus.value.tail<3>()};
  m.J = body.mass * (m.v_plus - m.v_minus);
  m.domega = m.omega_plus - m.omega_minus;
  m.largest_inertia = Eigen::SelfAdjointEigenSolver<Matrix3d>(body.inertia_B).eigenvalues()[2];
  m.slope = row.slope;
  const double spin = m.domega.norm(), tie = kTie * spin;
  SolvedAttitude out;
  if (!(spin > 0)) {
    out.reason = "the spin does not change, so that momentum says nothing of the attitude";
    return out;
  }
  std::vector<Candidate> candidates;
  const std::vector<Matrix3d> starts = Starts();
  for (int k = 0; k < kAttitudeAzimuths; ++k) {
    const double downhill = 2 * M_PI * k / kAttitudeAzimuths;
    for (const Matrix3d& start : starts)
      candidates.push_back(
          EvaluateAttitude(m, Descend(m, start, SlopeNormal(m.slope, downhill)), downhill));
  }
  const Candidate* first = Best(candidates, tie);
  if (first == nullptr) {
    out.reason = "the change of momentum is too large to compute with";
    return out;
  }
  Candidate best = *first;
  out.solutions = CountDifferent(m, candidates, best, tie);
  std::vector<Candidate> near = {best};
  for (int k = -kFine; k <= kFine; ++k) {
    const double downhill = best.downhill + 2 * M_PI * k / (kAttitudeAzimuths * kFine);
    near.push_back(
        EvaluateAttitude(m, Descend(m, best.R, SlopeNormal(m.slope, downhill)), downhill));
  }
  if (const Candidate* finest = Best(near, tie)) best = *finest;
  out.placement.R_WB = best.R;
  out.placement.r_B = best.R.transpose() * best.r_W;
  out.placement.downhill = std::remainder(best.downhill, 2 * M_PI);
  out.misfit = best.misfit;
  out.misfit_share = m.largest_inertia * best.misfit /
                     (best.R * m.body.inertia_B * best.R.transpose() * m.domega).norm();
  out.friction = best.friction;
  if (!best.admissible())
    out.reason = best.v_n_minus >= 0
                     ? "no attitude that closes the momentum lets the contact approach the slope"
                     : "no attitude that closes the momentum lets the contact leave the slope";
  else if (out.misfit_share > largest_share)
    out.reason = fmt::format(
        "at best {:.0f} % of the angular momentum of the spin change are left over, more than "
        "{:.0f} %",
        100 * out.misfit_share, 100 * largest_share);
  out.usable = out.reason.empty();
  return out;
}

}  // namespace impactlab
