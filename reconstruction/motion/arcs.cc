#include "reconstruction/motion/arcs.h"

#include <cmath>

#include "data/math/least_squares.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kMostDrag = 0.5;  // of its speed that an arc may lose

constexpr double kSmallRotationStep = 1e-3;  // last step of a fit, in standard deviations

bool IsSpherical(const Matrix3d& inertia) {
  return (inertia - Matrix3d(Matrix3d::Identity() * inertia(0, 0))).cwiseAbs().maxCoeff() <=
         1e-12 * inertia(0, 0);
}

// Centre that only drag moves: displacement and velocity beyond gravity, from the state at t0.
struct DragTerm {
  Vector3d p = Vector3d::Zero(), v = Vector3d::Zero();
};
DragTerm DragAt(const Arc& arc, const FlightModel& model, double s) {
  DragTerm term;
  if (!arc.has_drag || s == 0) return term;
  BodyState state;
  state.v_WB = arc.drag_v;
  Body point = *model.body;
  point.inertia_B = Matrix3d::Identity();
  const BodyState then = Propagate(state, point, model.flight, s);
  Vector3d g = model.flight.gravity_W;
  if (point.planar) g.y() = 0;
  term.p = then.X_WB.translation() - (arc.drag_v + 0.5 * s * g) * s;
  term.v = then.v_WB - arc.drag_v - s * g;
  return term;
}

// Which entry of W and which signal the lines of an arc stand for.
struct Axes {
  int n_lines = 3, n_positions = 3;
  std::array<int, 3> axis = {0, 1, 2};
};
Axes AxesOf(bool planar) { return planar ? Axes{3, 2, {0, 2, -1}} : Axes{3, 3, {0, 1, 2}}; }

// Fits one coordinate; returns chi-square.
double FitLine(const std::vector<double>& s, const std::vector<double>& y, double sd,
               double acceleration, LineFit& line) {
  const double w = 1 / (sd * sd);
  const int n = static_cast<int>(s.size());
  // Scaled to the arc's length so that the normal matrix is well conditioned.
  const double scale = std::max(std::abs(s.front()), std::abs(s.back()));
  Matrix3d normal = Matrix3d::Zero();
  Vector3d right = Vector3d::Zero();
  const bool bent = acceleration > 0;
  for (int i = 0; i < n; ++i) {
    const double u = s[i] / scale;
    const Vector3d row(1, u, bent ? 0.5 * u * u : 0);
    normal += row * row.transpose();
    right += row * (y[i] - y[0]);
  }
  const double prior = bent ? std::pow(sd / (acceleration * scale * scale), 2) : 1;
  normal(2, 2) += prior;
  const Matrix3d inverse = normal.inverse();
  const Vector3d fit = inverse * right;
  double chi_square = bent ? fit[2] * fit[2] * prior * w : 0;
  for (int i = 0; i < n; ++i) {
    const double u = s[i] / scale;
    const double r = y[i] - y[0] - fit[0] - fit[1] * u - (bent ? 0.5 * fit[2] * u * u : 0);
    chi_square += r * r * w;
  }
  const Vector3d unscale(1, 1 / scale, bent ? 1 / (scale * scale) : 0);
  line.coefficients = unscale.cwiseProduct(fit);
  line.coefficients[0] += y[0];
  line.cov = sd * sd * unscale.asDiagonal() * inverse * unscale.asDiagonal();
  return chi_square;
}

// Rotations of the frames relative to the reference attitude at arc.t0, from its angular velocity:
// forwards from the frame `middle`, and back from it.
std::vector<TorqueFree> TurnsOf(const FlightModel& model, const Arc& arc, int middle) {
  const std::vector<double>& t = model.recording->t;
  std::vector<TorqueFree> turns(arc.frames.size());
  TorqueFree start;
  start.omega_B = arc.omega_B;
  TorqueFree at = start;
  double s = 0;
  for (int i = middle + 1; i <= arc.frames.last; ++i) {
    at = TurnTorqueFree(*model.body, at, t[i] - arc.t0 - s);
    s = t[i] - arc.t0;
    turns[i - arc.frames.first] = at;
  }
  at = start;
  s = 0;
  for (int i = middle; i >= arc.frames.first; --i) {
    at = TurnTorqueFree(*model.body, at, t[i] - arc.t0 - s);
    s = t[i] - arc.t0;
    turns[i - arc.frames.first] = at;
  }
  return turns;
}

// Normal equations of attitude, angular velocity and (with an allowance `acceleration` [rad/s^2])
// angular acceleration.
SquaresAt RotationSquares(const FlightModel& model, const Arc& arc, int middle, double sd,
                          double acceleration) {
  const PoseRecording& recording = *model.recording;
  const std::vector<TorqueFree> turns = TurnsOf(model, arc, middle);
  const int first = arc.frames.first, size = acceleration > 0 ? 9 : 6;
  const double w = 1 / (sd * sd);
  Eigen::Matrix<double, 9, 9> normal = Eigen::Matrix<double, 9, 9>::Zero();
  Eigen::Matrix<double, 9, 1> right = Eigen::Matrix<double, 9, 1>::Zero();
  SquaresAt at{true, 0, {}, {}};
  for (int i = 0; i < arc.frames.size(); ++i) {
    const double si = recording.t[first + i] - arc.t0;
    const Vector3d bend = 0.5 * si * si * arc.alpha_B;
    const Matrix3d R = arc.R0 * turns[i].Q * ExpSO3(bend);
    const Vector3d r = LogSO3(R.transpose() * recording.X_WB[first + i].linear());
    Eigen::Matrix<double, 3, 9> J;
    J.leftCols<3>() = turns[i].Q.transpose();
    J.middleCols<3>(3) = turns[i].dphi_domega;
    J.rightCols<3>() = 0.5 * si * si * Matrix3d::Identity();
    if (size == 6) J.rightCols<3>().setZero();
    normal += w * J.transpose() * J;
    right += w * J.transpose() * r;
    at.cost += w * r.squaredNorm();
  }
  if (size == 9) {
    const double prior = 1 / (acceleration * acceleration);
    normal.bottomRightCorner<3, 3>().diagonal().array() += prior;
    right.tail<3>() -= prior * arc.alpha_B;
    at.cost += prior * arc.alpha_B.squaredNorm();
  }
  at.information = normal.topLeftCorner(size, size);
  at.gradient = -right.head(size);
  return at;
}

void FitRotation(const FlightModel& model, double sd, double acceleration, Arc& arc) {
  const PoseRecording& recording = *model.recording;
  const int first = arc.frames.first, last = arc.frames.last;
  int middle = first;
  while (middle < last && recording.t[middle + 1] <= arc.t0) ++middle;
  arc.R0 = recording.X_WB[middle].linear();
  // Start from the mean turn between the frames about the middle.
  Vector3d turned = Vector3d::Zero();
  const int from = std::max(first, middle - 2), to = std::min(last, middle + 2);
  for (int i = from; i < to; ++i)
    turned += LogSO3(recording.X_WB[i].linear().transpose() * recording.X_WB[i + 1].linear());
  arc.omega_B = turned / (recording.t[to] - recording.t[from]);
  arc.alpha_B.setZero();
  const int size = acceleration > 0 ? 9 : 6;
  SquaresProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd&, bool) {
    return RotationSquares(model, arc, middle, sd, acceleration);
  };
  problem.accept = [&](const Eigen::VectorXd& step) {
    arc.R0 = arc.R0 * ExpSO3(step.head<3>());
    arc.omega_B += step.segment<3>(3);
    if (size == 9) arc.alpha_B += step.tail<3>();
  };
  const LeastSquaresResult result = MinimizeSquares(
      problem, size, {.max_steps = 12, .damped = false, .small_step = kSmallRotationStep});
  arc.converged = result.converged();
  arc.cov_rotation.setZero();
  arc.cov_rotation.topLeftCorner(size, size) = result.at.information.inverse();
  // Chi-square at the optimum of the linear model: exact once the step is small.
  arc.chi_square_rotation = result.at.cost - result.predicted_fall;
}

}  // namespace

TorqueFree TurnTorqueFree(const Body& body, const TorqueFree& start, double dt) {
  TorqueFree end;
  const Matrix3d& I = body.inertia_B;
  if (dt == 0) return start;
  if (IsSpherical(I)) {
    const Matrix3d Q = ExpSO3(start.omega_B * dt);
    end.Q = start.Q * Q;
    end.omega_B = start.omega_B;
    end.dphi_domega = Q.transpose() * start.dphi_domega +
                      dt * RightJacobianSO3(start.omega_B * dt) * start.domega_domega;
    end.domega_domega = start.domega_domega;
    return end;
  }
  // The motion itself comes from Propagate; its derivatives need fewer digits, and Runge-Kutta
  // steps of a twentieth of a radian give them to 1e-7: phi' = domega - omega x phi, domega' = I^-1
  // ((I omega) x domega - omega x (I domega)).
  BodyState state;
  state.omega_WB = start.omega_B;
  const BodyState then = Propagate(state, body, FlightOptions{Vector3d::Zero(), 0}, dt);
  end.Q = start.Q * then.X_WB.linear();
  end.omega_B = then.X_WB.linear().transpose() * then.omega_WB;
  const Matrix3d inverse = I.inverse();
  struct Rates {
    Vector3d omega;
    Matrix3d phi, domega;
  };
  const auto rates = [&](const Rates& y) -> Rates {
    const Vector3d L = I * y.omega;
    const Matrix3d A = inverse * (CrossMatrix(L) - CrossMatrix(y.omega) * I);
    return {inverse * L.cross(y.omega), y.domega - CrossMatrix(y.omega) * y.phi, A * y.domega};
  };
  const auto plus = [](const Rates& a, double h, const Rates& b) -> Rates {
    return {a.omega + h * b.omega, a.phi + h * b.phi, a.domega + h * b.domega};
  };
  Rates y{start.omega_B, start.dphi_domega, start.domega_domega};
  const int steps =
      std::clamp(static_cast<int>(std::ceil(start.omega_B.norm() * std::abs(dt) / 0.05)), 1, 10000);
  const double h = dt / steps;
  for (int i = 0; i < steps; ++i) {
    const Rates k1 = rates(y), k2 = rates(plus(y, 0.5 * h, k1)), k3 = rates(plus(y, 0.5 * h, k2)),
                k4 = rates(plus(y, h, k3));
    y = plus(plus(plus(plus(y, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
  }
  end.dphi_domega = y.phi;
  end.domega_domega = y.domega;
  return end;
}

Arc FitArc(const FlightModel& model, const Segment& frames, const NoiseModel& noise) {
  const PoseRecording& recording = *model.recording;
  Arc arc;
  arc.frames = frames;
  const int n = frames.size();
  arc.t0 = 0.5 * (recording.t[frames.first] + recording.t[frames.last]);
  const Axes axes = AxesOf(recording.planar);
  std::vector<double> s(n), y(n);
  std::vector<Vector3d> drag(n, Vector3d::Zero());
  for (int i = 0; i < n; ++i) s[i] = recording.t[frames.first + i] - arc.t0;
  // Drag depends on the velocity that is being fitted: taken off and fitted again, which converges
  // like (k |v| T)^passes.
  const int passes = model.flight.drag_per_m > 0 ? 5 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) {
      for (int k = 0; k < axes.n_positions; ++k)
        arc.drag_v[axes.axis[k]] = arc.line[k].coefficients[1];
      // Drag that stops a body within the arc is no correction to free flight; Propagate could not
      // follow it back either.
      if (model.flight.drag_per_m * arc.drag_v.norm() * (s.back() - s.front()) > kMostDrag) {
        arc.converged = false;
        break;
      }
      arc.has_drag = true;
      for (int i = 0; i < n; ++i) drag[i] = DragAt(arc, model, s[i]).p;
    } else {
      arc.drag_v.setZero();
    }
    arc.chi_square = 0;
    for (int k = 0; k < axes.n_lines; ++k) {
      const int axis = axes.axis[k];
      for (int i = 0; i < n; ++i) {
        const int frame = frames.first + i;
        y[i] = axis < 0 ? recording.theta[frame]
                        : recording.X_WB[frame].translation()[axis] -
                              0.5 * s[i] * s[i] * model.flight.gravity_W[axis] - drag[i][axis];
      }
      arc.chi_square += FitLine(s, y, noise.sd[k], noise.acceleration[k], arc.line[k]);
    }
  }
  arc.dof = axes.n_lines * (n - 2);
  if (!recording.planar) {
    const bool centre_converged = arc.converged;
    FitRotation(model, noise.sd[3], noise.acceleration[3], arc);
    arc.converged = arc.converged && centre_converged;
    arc.chi_square += arc.chi_square_rotation;
    arc.dof += 3 * (n - 2);
  }
  return arc;
}

template <int D>
ArcState<D> StateAt(const Arc& arc, const FlightModel& model, double t) {
  ArcState<D> state;
  const double s = t - arc.t0;
  const Axes axes = AxesOf(D == 3);
  const DragTerm drag = DragAt(arc, model, s);
  Eigen::Matrix<double, 2, 3> row;
  row << 1, s, 0.5 * s * s, 0, 1, s;
  for (int k = 0; k < 3; ++k) {
    const int axis = axes.axis[k];
    const double g = axis < 0 ? 0 : model.flight.gravity_W[axis];
    const Eigen::Vector2d value = row * arc.line[k].coefficients;
    state.pose[k] = value[0] + 0.5 * s * s * g + (axis < 0 ? 0 : drag.p[axis]);
    state.velocity[k] = value[1] + s * g + (axis < 0 ? 0 : drag.v[axis]);
    state.acceleration[k] = g + arc.line[k].coefficients[2];
    const Eigen::Matrix2d cov = row * arc.line[k].cov * row.transpose();
    state.cov(k, k) = cov(0, 0);
    state.cov(k, D + k) = state.cov(D + k, k) = cov(0, 1);
    state.cov(D + k, D + k) = cov(1, 1);
  }
  if (arc.has_drag) {
    Vector3d v = Vector3d::Zero();
    for (int k = 0; k < axes.n_positions; ++k) v[axes.axis[k]] = state.velocity[k];
    const Vector3d slow = -model.flight.drag_per_m * v.norm() * v;
    for (int k = 0; k < axes.n_positions; ++k) state.acceleration[k] += slow[axes.axis[k]];
  }
  if constexpr (D == 6) {
    TorqueFree start;
    start.omega_B = arc.omega_B;
    const TorqueFree turn = TurnTorqueFree(*model.body, start, s);
    state.R = arc.R0 * turn.Q * ExpSO3(0.5 * s * s * arc.alpha_B);
    const Vector3d omega = turn.omega_B + s * arc.alpha_B;
    state.velocity.template tail<3>() = omega;
    const Matrix3d& I = model.body->inertia_B;
    state.acceleration.template tail<3>() = I.inverse() * (I * omega).cross(omega) + arc.alpha_B;
    Eigen::Matrix<double, 6, 9> map = Eigen::Matrix<double, 6, 9>::Zero();
    map.template topLeftCorner<3, 3>() = turn.Q.transpose();
    map.template block<3, 3>(0, 3) = turn.dphi_domega;
    map.template block<3, 3>(0, 6) = 0.5 * s * s * Matrix3d::Identity();
    map.template block<3, 3>(3, 3) = turn.domega_domega;
    map.template block<3, 3>(3, 6) = s * Matrix3d::Identity();
    const Eigen::Matrix<double, 6, 6> cov = Congruence(map, arc.cov_rotation);
    state.cov.template block<3, 3>(3, 3) = cov.topLeftCorner<3, 3>();
    state.cov.template block<3, 3>(3, 9) = cov.topRightCorner<3, 3>();
    state.cov.template block<3, 3>(9, 3) = cov.bottomLeftCorner<3, 3>();
    state.cov.template block<3, 3>(9, 9) = cov.bottomRightCorner<3, 3>();
  }
  return state;
}

namespace {

template <int D>
Eigen::Matrix<double, D, 1> PoseGap(const ArcState<D>& minus, const ArcState<D>& plus) {
  Eigen::Matrix<double, D, 1> gap = plus.pose - minus.pose;
  if constexpr (D == 6) gap.template tail<3>() = LogSO3(minus.R.transpose() * plus.R);
  return gap;
}

template <int D>
void Move(ArcState<D>& state, const Eigen::Matrix<double, D, 1>& step) {
  if constexpr (D == 6) {
    state.pose.template head<3>() += step.template head<3>();
    state.R = state.R * ExpSO3(step.template tail<3>());
  } else {
    state.pose += step;
  }
}

// Covariance of what JoinArcs joins: both states where the arcs meet, and the time. S: covariance
// of the gap between the poses, `weight` its inverse, `information` that on the time.
template <int D>
void SetCovariance(const ArcState<D>& minus, const ArcState<D>& plus,
                   const Eigen::Matrix<double, D, D>& weight, const Eigen::Matrix<double, D, D>& S,
                   const Eigen::Matrix<double, D, 1>& approach, double information,
                   Joint<D>* joint) {
  using Matrix = Eigen::Matrix<double, D, D>;
  const Matrix project =
      Matrix::Identity() - approach * (approach.transpose() * weight) / information;
  // Estimates are linear in the errors x of the arcs (minus pose, minus velocity, plus pose, plus
  // velocity) and the gap error d.
  const Matrix Pm = minus.cov.template topLeftCorner<D, D>();
  const Matrix Vm = minus.cov.template bottomLeftCorner<D, D>(),
               Vp = plus.cov.template bottomLeftCorner<D, D>();
  constexpr int N = 3 * D + 1;
  Eigen::Matrix<double, N, D> B;
  const Eigen::Matrix<double, 1, D> time = -(approach.transpose() * weight) / information;
  B.template topRows<D>() = Pm * weight * project + minus.velocity * time;
  B.template middleRows<D>(D) = Vm * weight * project + minus.acceleration * time;
  B.template middleRows<D>(2 * D) = -Vp * weight * project + plus.acceleration * time;
  B.template bottomRows<1>() = time;
  // cov(A x, d) with d = plus pose - minus pose (+ jump).
  Eigen::Matrix<double, N, D> C = Eigen::Matrix<double, N, D>::Zero();
  C.template topRows<D>() = -Pm;
  C.template middleRows<D>(D) = -Vm;
  C.template middleRows<D>(2 * D) = Vp;
  joint->cov.setZero();
  joint->cov.template topLeftCorner<2 * D, 2 * D>() = minus.cov;
  joint->cov.template block<D, D>(2 * D, 2 * D) = plus.cov.template bottomRightCorner<D, D>();
  const Eigen::MatrixXd follow = B, shared = Eigen::MatrixXd(C) * follow.transpose();
  joint->cov += shared + shared.transpose() + Congruence(B, S);
}

}  // namespace

template <int D>
Joint<D> JoinArcs(const Arc& minus_arc, const Arc& plus_arc, const FlightModel& model,
                  const JoinOptions& options) {
  using Vector = Eigen::Matrix<double, D, 1>;
  using Matrix = Eigen::Matrix<double, D, D>;
  Joint<D> joint;
  if (!minus_arc.converged || !plus_arc.converged) return joint;
  Matrix jump = Matrix::Zero();
  constexpr int kPositions = D == 3 ? 2 : 3;
  for (int k = 0; k < D; ++k)
    jump(k, k) = std::pow(k < kPositions ? options.jump_position : options.jump_angle, 2);
  const double width = options.t_max - options.t_min;
  double t = 0.5 * (options.t_min + options.t_max);
  ArcState<D> minus, plus;
  Vector gap, approach;
  Matrix weight, S;
  double information = 0, step = 0;
  // One bounded unknown, and weights that move with it: the cost that a step lowers is not that of
  // the next, so the driver of data/math does not serve here.
  for (int iteration = 0; iteration < 30; ++iteration) {
    minus = StateAt<D>(minus_arc, model, t);
    plus = StateAt<D>(plus_arc, model, t - options.delay);
    gap = PoseGap<D>(minus, plus);
    approach = plus.velocity - minus.velocity;
    S = minus.cov.template topLeftCorner<D, D>() + plus.cov.template topLeftCorner<D, D>() + jump;
    if constexpr (D == 6)
      weight = Inverse(S);
    else
      weight = S.inverse();
    const Vector pull = weight * approach;
    information = approach.dot(pull);
    if (!(information > 0) || !std::isfinite(information)) return joint;
    step = -pull.dot(gap) / information;
    const double next = std::clamp(t + step, options.t_min, options.t_max);
    const double moved = next - t;
    if (std::abs(moved) < 1e-10 * width ||
        (std::abs(moved) < 1e-3 / std::sqrt(information) && iteration >= 8)) {
      joint.converged = true;
      break;
    }
    t = next;
  }
  if (!joint.converged) return joint;
  // At the border of the window the time stays there, and the gap keeps what is left of the step.
  joint.t = t;
  joint.gap = gap;
  joint.chi_square = gap.dot(weight * gap);
  SetCovariance<D>(minus, plus, weight, S, approach, information, &joint);
  joint.sd_t = 1 / std::sqrt(information);
  const Vector rest = weight * gap;
  Move<D>(minus, minus.cov.template topLeftCorner<D, D>() * rest);
  minus.velocity += minus.cov.template bottomLeftCorner<D, D>() * rest;
  plus.velocity -= plus.cov.template bottomLeftCorner<D, D>() * rest;
  plus.pose = minus.pose;
  plus.R = minus.R;
  joint.minus = minus;
  joint.plus = plus;
  return joint;
}

template ArcState<3> StateAt<3>(const Arc&, const FlightModel&, double);
template ArcState<6> StateAt<6>(const Arc&, const FlightModel&, double);
template Joint<3> JoinArcs<3>(const Arc&, const Arc&, const FlightModel&, const JoinOptions&);
template Joint<6> JoinArcs<6>(const Arc&, const Arc&, const FlightModel&, const JoinOptions&);

}  // namespace impactlab::reconstruction
