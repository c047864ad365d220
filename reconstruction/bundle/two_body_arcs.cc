#include "reconstruction/bundle/detail/two_body_arcs.h"

#include <algorithm>
#include <cmath>

#include "data/math/least_squares.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

// of the integration about an axis [s]: errors of 1e-10 rad at the swings of a laboratory
constexpr double kStep = 1e-3;
constexpr double kNoNoise = 1e-9;

}  // namespace

std::vector<Break> FindBreaks(const PoseRecording& recording, const Body& body,
                              const MotionFitOptions& options) {
  std::vector<Break> out;
  if (static_cast<int>(recording.t.size()) < 2 * options.min_frames) return out;
  std::vector<double> steps;
  for (std::size_t i = 1; i < recording.t.size(); ++i)
    steps.push_back(recording.t[i] - recording.t[i - 1]);
  // The floor matters to rests only, which nobody asks for here.
  const Flights flights = FindFlights({&recording, &body, options.flight}, {}, options);
  for (std::size_t i = 0; i + 1 < flights.flights.size(); ++i) {
    const Segment &a = flights.flights[i], &b = flights.flights[i + 1];
    if (b.first - a.last - 1 > std::max(1, 2 * options.contact_frames)) continue;
    out.push_back({0.5 * (recording.t[a.last] + recording.t[b.first]), recording.t[a.first],
                   recording.t[b.last], Median(steps)});
  }
  return out;
}

double AxisInertia(const FixedAxis& axis, const Body& body, const Eigen::Isometry3d& X_WB) {
  if (axis.inertia > 0) return axis.inertia;
  const Vector3d u = axis.axis_W.normalized();
  const Vector3d u_B = X_WB.linear().transpose() * u;
  return u_B.dot(body.inertia_B * u_B) +
         body.mass * u.cross(X_WB.translation() - axis.p_W).squaredNorm();
}

Motion::Motion(const PoseRecording& recording, const Body& body,
               const std::optional<FixedAxis>& axis, const MotionFitOptions& options)
    : recording_(recording),
      body_(body),
      axis_(axis),
      options_(options),
      model_{&recording, &body, options.flight} {
  if (axis_) {
    axis_->axis_W.normalize();
    PrepareAxis();
    return;
  }
  noise_ = FindFlights(model_, {}, options).noise;
}

// Angles about the axis, and the means over all frames of what an axis leaves constant.
void Motion::PrepareAxis() {
  const Vector3d& u = axis_->axis_W;
  const Matrix3d& R_first = recording_.X_WB.front().linear();
  const auto n = static_cast<double>(recording_.t.size());
  Vector3d mean_turn = Vector3d::Zero();
  for (const Eigen::Isometry3d& X : recording_.X_WB) {
    const double raw = u.dot(LogSO3(X.linear() * R_first.transpose()));
    angle_.push_back(
        angle_.empty() ? raw : angle_.back() + std::remainder(raw - angle_.back(), 2 * M_PI));
    mean_turn += LogSO3(ExpSO3(-angle_.back() * u) * X.linear() * R_first.transpose()) / n;
    arm_base_ += ExpSO3(-angle_.back() * u) * (X.translation() - axis_->p_W) / n;
  }
  R_base_ = ExpSO3(mean_turn) * R_first;
  double squares = 0;
  for (std::size_t i = 0; i < angle_.size(); ++i)
    squares += (recording_.X_WB[i].translation() - axis_->p_W - ExpSO3(angle_[i] * u) * arm_base_)
                   .squaredNorm();
  noise_.sd.fill(options_.sigma_position > 0 ? options_.sigma_position
                                             : std::max(kNoNoise, std::sqrt(squares / (3 * n))));
  noise_given_ = options_.sigma_angle > 0;
  noise_.sd[3] = noise_given_ ? options_.sigma_angle : 1;
  Eigen::Isometry3d base = Eigen::Isometry3d::Identity();
  base.linear() = R_base_;
  base.translation() = axis_->p_W + arm_base_;
  inertia_ = AxisInertia(*axis_, body_, base);
}

double Motion::AngularAcceleration(double angle, double* by_angle) const {
  const Vector3d& u = axis_->axis_W;
  const Vector3d arm = ExpSO3(angle * u) * arm_base_,
                 weight = body_.mass * options_.flight.gravity_W;
  *by_angle = u.dot(u.cross(arm).cross(weight)) / inertia_;
  return u.dot(arm.cross(weight)) / inertia_;
}

Motion::Swung Motion::Turned(const Swing& swing, double t) const {
  struct Rates {
    Vector2d y;
    Matrix2d Y;
  };
  const auto rates = [&](const Rates& x) -> Rates {
    Matrix2d A = Matrix2d::Zero();
    A(0, 1) = 1;
    const double acceleration = AngularAcceleration(x.y(0), &A(1, 0));
    return {Vector2d(x.y(1), acceleration), A * x.Y};
  };
  const auto plus = [](const Rates& a, double h, const Rates& b) -> Rates {
    return {a.y + h * b.y, a.Y + h * b.Y};
  };
  Rates x{swing.state, Matrix2d::Identity()};
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(t - swing.t_ref) / kStep)));
  const double h = (t - swing.t_ref) / steps;
  for (int i = 0; i < steps; ++i) {
    const Rates k1 = rates(x), k2 = rates(plus(x, h / 2, k1)), k3 = rates(plus(x, h / 2, k2)),
                k4 = rates(plus(x, h, k3));
    x = plus(plus(plus(plus(x, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
  }
  return {x.y, x.Y};
}

Motion::Swing Motion::FitSwing(const Segment& frames) const {
  const auto first = static_cast<std::size_t>(frames.first),
             last = static_cast<std::size_t>(frames.last);
  Swing swing;
  swing.t_ref = 0.5 * (recording_.t[first] + recording_.t[last]);
  swing.state = {0.5 * (angle_[first] + angle_[last]),
                 (angle_[last] - angle_[first]) / (recording_.t[last] - recording_.t[first])};
  SquaresProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd&, bool) {
    SquaresAt at{true, 0, Matrix2d::Zero(), Vector2d::Zero()};
    for (std::size_t i = first; i <= last; ++i) {
      const Swung swung = Turned(swing, recording_.t[i]);
      const Eigen::RowVector2d row = swung.by_start.row(0);
      const double r = swung.state(0) - angle_[i];
      at.information += row.transpose() * row;
      at.gradient += row.transpose() * r;
      at.cost += r * r;
    }
    return at;
  };
  problem.accept = [&](const Eigen::VectorXd& step) { swing.state += step; };
  const SquaresAt at =
      MinimizeSquares(problem, 2, {.max_steps = 20, .damped = false, .small_step = 1e-8}).at;
  swing.squares = at.cost;
  swing.inverse = at.information.inverse();
  return swing;
}

bool Motion::Cut(double begin, double before, double after, double end) {
  const std::vector<double>& t = recording_.t;
  const auto index = [&](double time, bool behind) {
    return static_cast<int>((behind ? std::upper_bound(t.begin(), t.end(), time)
                                    : std::lower_bound(t.begin(), t.end(), time)) -
                            t.begin());
  };
  frames_[0] = {index(begin, false), index(before, false) - 1};
  frames_[1] = {index(after, true), index(end, true) - 1};
  frames_[0].first = std::max(frames_[0].first, frames_[0].last - options_.max_frames + 1);
  frames_[1].last = std::min(frames_[1].last, frames_[1].first + options_.max_frames - 1);
  if (frames_[0].size() < 4 || frames_[1].size() < 4) return false;
  for (int side = 0; side < 2; ++side) {
    if (axis_) {
      swings_[side] = FitSwing(frames_[side]);
    } else {
      arcs_[side] = FitArc(model_, frames_[side], noise_);
      if (!arcs_[side].converged) return false;
    }
  }
  if (axis_ && !noise_given_)
    noise_.sd[3] = std::max(kNoNoise, std::sqrt((swings_[0].squares + swings_[1].squares) / dof()));
  return true;
}

int Motion::dof() const {
  return axis_ ? frames_[0].size() + frames_[1].size() - 4 : arcs_[0].dof + arcs_[1].dof;
}

double Motion::chi_square() const {
  return axis_ ? (swings_[0].squares + swings_[1].squares) / std::pow(noise_.sd[3], 2)
               : arcs_[0].chi_square + arcs_[1].chi_square;
}

SideState Motion::At(int side, double t) const {
  SideState out;
  if (!axis_) {
    const ArcState<6> state = StateAt<6>(arcs_[side], model_, t);
    out.p = state.pose.head<3>();
    out.R = state.R;
    out.velocity = state.velocity;
    out.acceleration = state.acceleration;
    out.cov = state.cov;
    return out;
  }
  const Vector3d& u = axis_->axis_W;
  const Swung at = Turned(swings_[side], t);
  const double rate = at.state(1);
  double by_angle = 0;
  const double acceleration = AngularAcceleration(at.state(0), &by_angle);
  const Vector3d arm = ExpSO3(at.state(0) * u) * arm_base_, along = u.cross(arm),
                 u_B = R_base_.transpose() * u;
  out.p = axis_->p_W + arm;
  out.R = ExpSO3(at.state(0) * u) * R_base_;
  out.velocity << rate * along, rate * u_B;
  out.acceleration << acceleration * along + rate * rate * u.cross(along), acceleration * u_B;
  Eigen::Matrix<double, 12, 2> map = Eigen::Matrix<double, 12, 2>::Zero();
  map.block<3, 1>(0, 0) = along;
  map.block<3, 1>(3, 0) = u_B;
  map.block<3, 1>(6, 0) = rate * u.cross(along);
  map.block<3, 1>(6, 1) = along;
  map.block<3, 1>(9, 1) = u_B;
  map = map * at.by_start;
  out.cov = std::pow(noise_.sd[3], 2) * map * swings_[side].inverse * map.transpose();
  // What the means over all frames leave unknown of attitude and centre.
  const auto n = static_cast<double>(angle_.size());
  out.cov.diagonal().segment<3>(0).array() += std::pow(noise_.sd[0], 2) / n;
  out.cov.diagonal().segment<3>(3).array() += std::pow(noise_.sd[3], 2) / n;
  return out;
}

}  // namespace impactlab::reconstruction
