#include "impact/motion/detail/contact_field.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/numeric/odeint.hpp>
#include <cmath>
#include <span>

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
namespace odeint = boost::numeric::odeint;
using Vector = std::vector<double>;

// Rate at which what rounding takes off a constraint returns to it [1/s]; slow against a step.
constexpr double kReturn = 20;
constexpr double kFieldRank = 1e-9;

using RungeKutta = odeint::runge_kutta_fehlberg78<Vector>;

}  // namespace

double TouchingGap(const MechanismState& state, const ContactTerms& contact) {
  return 5e-14 * (1 + state.q.cwiseAbs().maxCoeff()) +
         1e-15 * std::abs(state.t) * contact.v_surface.norm();
}

ContactField::ContactField(const Mechanism& mechanism, double tolerance)
    : mechanism_(mechanism),
      tolerance_(tolerance),
      touches_(mechanism.contacts.size()),
      contacts_(mechanism.contacts.size()) {
  state_.q.resize(mechanism.n_q);
  state_.u.resize(mechanism.n_u);
  dq_.resize(mechanism.n_q);
  du_.resize(mechanism.n_u);
  out_.resize(mechanism.n_q + mechanism.n_u);
}

void ContactField::Load(const double* x, double t) {
  state_.t = t;
  state_.q = Eigen::Map<const VectorXd>(x, mechanism_.n_q);
  state_.u = Eigen::Map<const VectorXd>(x + mechanism_.n_q, mechanism_.n_u);
}

Vector ContactField::Pack(const MechanismState& state) const {
  Vector x(out_.size());
  std::copy(state.q.begin(), state.q.end(), x.begin());
  std::copy(state.u.begin(), state.u.end(), x.begin() + mechanism_.n_q);
  return x;
}

MechanismState ContactField::Unpack(double t) const {
  MechanismState to{t, Eigen::Map<const VectorXd>(out_.data(), mechanism_.n_q),
                    Eigen::Map<const VectorXd>(out_.data() + mechanism_.n_q, mechanism_.n_u)};
  if (mechanism_.normalise) mechanism_.normalise(to.q);
  return to;
}

// Mass matrix, forces, and the rows of joints and closed contacts at `state`; contacts_ of those
// must be there.
void ContactField::Assemble(const MechanismState& state) {
  const Eigen::Index joints = terms_.joint_rows.rows();
  const int tangents = mechanism_.width - 1;
  Eigen::Index m = joints;
  for (const Touch& touch : touches_) {
    if (touch.mode != PointMode::kOpen) m += 1 + (touch.mode == PointMode::kStick ? tangents : 0);
  }
  rows_.resize(m, mechanism_.n_u);
  columns_.resize(mechanism_.n_u, m);
  bias_.resize(m);
  if (joints > 0) {
    rows_.topRows(joints) = terms_.joint_rows;
    columns_.leftCols(joints) = terms_.joint_rows.transpose();
    bias_.head(joints) = terms_.joint_bias + 2 * kReturn * (terms_.joint_rows * state.u) +
                         kReturn * kReturn * terms_.joint_error;
  }
  Eigen::Index at = joints;
  for (size_t i = 0; i < touches_.size(); ++i) {
    const Touch& touch = touches_[i];
    if (touch.mode == PointMode::kOpen) continue;
    const ContactTerms& c = contacts_[i];
    rows_.row(at) = c.rows.row(tangents);
    columns_.col(at) = c.rows.row(tangents).transpose();
    const double v_n = c.rows.row(tangents).dot(state.u) - c.v_surface[tangents];
    bias_[at] = c.bias[tangents] + 2 * kReturn * v_n + kReturn * kReturn * c.gap;
    const Eigen::Index normal = at++;
    if (touch.mode == PointMode::kStick) {
      for (int t = 0; t < tangents; ++t, ++at) {
        rows_.row(at) = c.rows.row(t);
        columns_.col(at) = c.rows.row(t).transpose();
        bias_[at] = c.bias[t] + 2 * kReturn * (c.rows.row(t).dot(state.u) - c.v_surface[t]);
      }
    } else if (mechanism_.contacts[i].mu_k > 0) {
      Eigen::RowVector2d d = touch.direction;
      if (!touch.starting && tangents == 2) {
        const Eigen::Vector2d v_t = c.rows.topRows(2) * state.u - c.v_surface.head(2);
        const double speed = v_t.norm();
        if (speed > 0) d = v_t.transpose() / speed;
      }
      for (int t = 0; t < tangents; ++t)
        columns_.col(normal) -= mechanism_.contacts[i].mu_k * d[t] * c.rows.row(t).transpose();
    }
  }
}

void ContactField::Rates(const double* x, double* dx, double t) {
  Load(x, t);
  mechanism_.rates(state_, dq_);
  mechanism_.terms(state_, terms_);
  llt_.compute(terms_.M);
  du_ = llt_.solve(terms_.force);
  if (closed_ || terms_.joint_rows.rows() > 0) {
    for (size_t i = 0; i < touches_.size(); ++i) {
      if (touches_[i].mode != PointMode::kOpen)
        mechanism_.contact(state_, static_cast<int>(i), contacts_[i]);
    }
    Assemble(state_);
    llt_.solveInPlace(columns_);
    if (rows_.rows() == 1) {
      y_ = -(rows_ * du_ + bias_) / rows_.row(0).dot(columns_.col(0));
    } else {
      G_.noalias() = rows_ * columns_;
      if (redundant_) {
        Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
        cod.setThreshold(kFieldRank);
        const Eigen::VectorXd wanted = -(rows_ * du_ + bias_);
        y_ = cod.compute(G_).solve(wanted);
      } else {
        y_ = G_.partialPivLu().solve(-(rows_ * du_ + bias_));
      }
    }
    du_.noalias() += columns_ * y_;
  }
  std::copy(dq_.begin(), dq_.end(), dx);
  std::copy(du_.begin(), du_.end(), dx + mechanism_.n_q);
}

void ContactField::SetModes(const std::vector<Touch>& touches, const MechanismState& state) {
  touches_ = touches;
  closed_ = std::any_of(touches.begin(), touches.end(),
                        [](const Touch& touch) { return touch.mode != PointMode::kOpen; });
  redundant_ = false;
  if (!closed_) return;
  mechanism_.terms(state, terms_);
  for (size_t i = 0; i < touches_.size(); ++i)
    mechanism_.contact(state, static_cast<int>(i), contacts_[i]);
  llt_.compute(terms_.M);
  Assemble(state);
  if (rows_.rows() < 2) return;
  G_ = rows_ * llt_.solve(rows_.transpose());
  Eigen::ColPivHouseholderQR<MatrixXd> qr;
  qr.setThreshold(kFieldRank);
  redundant_ = qr.compute(G_).rank() < G_.rows();
}

void ContactField::Evaluate(const MechanismState& state, FieldValues& values) {
  const Vector x = Pack(state);
  values.dx.resize(x.size());
  Rates(x.data(), values.dx.data(), state.t);
  const int n = static_cast<int>(touches_.size()), w = mechanism_.width;
  values.gap.resize(n);
  values.touching.resize(n);
  values.v.resize(n * w);
  values.a.resize(n * w);
  values.lambda.setZero(n * w);
  values.press.setOnes(n);
  for (int i = 0; i < n; ++i) {
    if (touches_[i].mode == PointMode::kOpen) mechanism_.contact(state, i, contacts_[i]);
    values.gap[i] = contacts_[i].gap;
    values.touching[i] = TouchingGap(state, contacts_[i]);
    values.v.segment(w * i, w) = contacts_[i].rows * state.u - contacts_[i].v_surface;
    values.a.segment(w * i, w) = contacts_[i].rows * du_ + contacts_[i].bias;
  }
  if (!closed_) return;
  MatrixXd inverse;
  if (!redundant_ && rows_.rows() > 1) inverse = G_.inverse();
  Eigen::Index at = terms_.joint_rows.rows();
  for (int i = 0; i < n; ++i) {
    const Touch& touch = touches_[i];
    if (touch.mode == PointMode::kOpen) continue;
    const double normal = y_[at];
    values.lambda[w * i + w - 1] = normal;
    if (touch.mode == PointMode::kStick) {
      for (int t = 0; t + 1 < w; ++t) values.lambda[w * i + t] = y_[at + 1 + t];
      at += w;
    } else {
      Eigen::RowVector2d d = touch.direction;
      if (w == 3 && !touch.starting) d = values.v.segment<2>(w * i).transpose().normalized();
      for (int t = 0; t + 1 < w; ++t)
        values.lambda[w * i + t] = -mechanism_.contacts[i].mu_k * normal * d[t];
      if (!redundant_ && mechanism_.contacts[i].mu_k > 0) {
        const auto row = contacts_[i].rows.row(w - 1);
        const double frictionless = row.dot(llt_.solve(row.transpose()));
        values.press[i] =
            (rows_.rows() == 1 ? rows_.row(0).dot(columns_.col(0)) : 1 / inverse(at, at)) /
            frictionless;
      }
      ++at;
    }
  }
}

double ContactField::Step(const MechanismState& from, const FieldValues& at, double& h,
                          MechanismState& to) {
  const auto system = [this](const Vector& x, Vector& dx, double t) {
    Rates(x.data(), dx.data(), t);
  };
  auto stepper = odeint::make_controlled(tolerance_, tolerance_, RungeKutta());
  const Vector in = Pack(from);
  while (true) {
    double t = from.t, dt = h;
    const odeint::controlled_step_result result = stepper.try_step(system, in, at.dx, t, out_, dt);
    const bool finite =
        std::all_of(out_.begin(), out_.end(), [](double x) { return std::isfinite(x); });
    if (result == odeint::success && finite) {
      const double done = h;
      h = dt;
      to = Unpack(from.t + done);
      return done;
    }
    if (!finite) dt = 0.1 * h;
    if (!(dt > 0) || dt >= h || from.t + dt == from.t) return 0;
    h = dt;
  }
}

MechanismState ContactField::Along(const MechanismState& from, const FieldValues& at, double tau) {
  const Vector in = Pack(from);
  const auto system = [this](const Vector& x, Vector& dx, double t) {
    Rates(x.data(), dx.data(), t);
  };
  RungeKutta stepper;
  stepper.do_step(system, in, at.dx, from.t, out_, tau);
  return Unpack(from.t + tau);
}

}  // namespace impactlab::impact
