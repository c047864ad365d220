#pragma once
// Private to the solver: the spatial impact. Slip that turns is integrated by
// impact/law/detail/slip_series.h; slip along an isoclinic direction, sticking and frictionless
// motion have constant rates and are walked in closed form. Scaled as
// impact/law/detail/slip_series.h says.
//
// At v_t = 0 the contact sticks when |B^-1 b| <= mu_s, else it slips along the one direction e with
// (g I + mu B) e = b, g > 0. That direction is unique because |(g I + mu B)^-1 b| falls from |B^-1
// b| / mu > 1 to 0 as g grows; slip along it never stops, and k > 0 there.

#include <Eigen/Core>

#include "impact/law/detail/planar_path.h"
#include "impact/law/detail/slip_series.h"

namespace impactlab::impact {

template <class T>
using Vec2 = Eigen::Matrix<T, 2, 1>;

template <class T>
struct SpatialProblem {
  SlipField<T> field;
  Vec2<T> v_t = Vec2<T>(T(0), T(0));
  T v_n{0}, e{0};
  double mu_s = 0;
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  bool at_rest = false;
  double tolerance = 1e-11;
  bool dense = false;
  bool works = true;  // Jets carry the normal work
  double velocity_unit = 1, impulse_unit = 1;
};

template <class T>
struct SpatialResult {
  Vec2<T> J_t, v_t;
  T J_n{0}, v_n{0};
  T W_n{0};  // normal work; not of Jets where nothing reads it (SpatialProblem::works)
};

// A direction within this angle of an isoclinic that slip would leave counts as isoclinic: rounding
// alone must not decide that slip turns.
inline constexpr double kIsoclinic = 1e-12;

// Value of a number, or the largest of value and (a hundredth of) its derivatives: what must be
// negligible before a variable may be dropped.
inline double Size(double x) { return std::abs(x); }
template <class T>
requires requires(const T& x) { x.v; }
double Size(const T& x) { return std::max(std::abs(x.a), 1e-2 * x.v.cwiseAbs().maxCoeff()); }

template <class T>
bool SpatialSeparates(const SpatialProblem<T>& problem) {
  if (Value(problem.v_n) < 0) return false;
  if (Value(problem.v_n) > 0 || problem.at_rest) return true;
  const double x = Value(problem.v_t.x()), y = Value(problem.v_t.y()), s = std::hypot(x, y);
  return Value(problem.field.NormalRate(T(x / s), T(y / s))) >= 0;
}

template <class T>
class SpatialWalk {
 public:
  SpatialWalk(const SpatialProblem<T>& problem, ImpactOutcome& outcome)
      : in_(problem), field_(problem.field), out_(outcome) {
    path_.law = in_.law;
    path_.e = in_.e;
    path_.vn_minus = path_.vn = in_.v_n;
    v_t_ = in_.v_t;
  }

  SpatialResult<T> Run() {
    StretchEnd end;
    if (in_.at_rest) {
      v_t_ = Vec2<T>(T(0), T(0));
      end = FromRest(5, Vec2<double>::Zero());
    } else {
      mode_ = ContactMode::kSlip;
      Add(PathEvent::kStart);
      end = FirstSlip();
      if (end == StretchEnd::kSlipStops) end = FromRest(path_.restitution ? 3 : 1, incoming_);
    }
    if (end == StretchEnd::kNever) {
      out_.status = SolveStatus::kNotConverged;
      out_.reason = "the turning slip did not reach its end within the allowed steps";
    }
    Add(PathEvent::kEnd);
    const double energy_unit = in_.velocity_unit * in_.impulse_unit;
    out_.work_n_c = Value(path_.W_c) * energy_unit;
    out_.work_n_r = Value(path_.W_r) * energy_unit;
    out_.work_t = Value(W_t_) * energy_unit;
    out_.turn = turn_;
    // Steps, the angle given up where slip straightens and the works each have a share of the
    // tolerance.
    out_.error_bound = error_ > 0 ? 0.5 * in_.tolerance + 10 * error_ : 0;
    return {J_t_, v_t_, path_.J, path_.vn, path_.Work()};
  }

 private:
  static constexpr int kMaxSteps = 500;
  static constexpr int kDensePerStep = 8;
  // slip that slows down and is slower than this has stopped
  static constexpr double kSpent = 1e-14;

  void Add(PathEvent event) {
    // Only the last zero of v_n from below ends compression.
    if (event == PathEvent::kCompressionEnds) {
      for (int i = 0; i < out_.path_size; ++i) {
        if (out_.path[i].event != PathEvent::kCompressionEnds) continue;
        std::move(out_.path.begin() + i + 1, out_.path.begin() + out_.path_size,
                  out_.path.begin() + i);
        --out_.path_size;
      }
    }
    const double v = in_.velocity_unit, J = in_.impulse_unit;
    AddPoint(out_, event, mode_,
             Eigen::Vector3d(Value(J_t_.x()), Value(J_t_.y()), Value(path_.J)) * J,
             Eigen::Vector3d(Value(v_t_.x()), Value(v_t_.y()), Value(path_.vn)) * v,
             Value(path_.Work()) * v * J, Value(W_t_) * v * J);
  }

  // B^-1 r by the factors of B, which keeps the digits that an explicit inverse loses when B is
  // nearly singular.
  Vec2<T> SolveB(const Vec2<T>& r) const {
    const T below = field_.B_xy / field_.B_xx;
    const T y = (r.y() - below * r.x()) / SchurOfB();
    return Vec2<T>(r.x() / field_.B_xx - below * y, y);
  }
  T SchurOfB() const { return Determinant(field_.B_xx, field_.B_xy, field_.B_yy) / field_.B_xx; }
  // c - b.B^-1 b, the rate of v_n while the contact sticks: the last pivot of A.
  T StickRate() const {
    const T below = field_.B_xy / field_.B_xx, rest = AddProduct(field_.b_y, -below, field_.b_x);
    return Determinant(field_.c, field_.b_x, field_.B_xx) / field_.B_xx - rest * rest / SchurOfB();
  }

  // Slip along the direction e at constant rates, from the speed s.
  StretchEnd Ray(const Vec2<T>& e, const T& s) {
    SlipState<T> slip;
    slip.v = s;
    const LinearRates<T> rates{field_.Growth(e.x(), e.y()), field_.NormalRate(e.x(), e.y()),
                               -field_.mu};
    const Vec2<T> J_start = J_t_;
    const T W_start = W_t_;
    const auto update = [&] {
      v_t_ = e * slip.v;
      J_t_ = J_start + e * slip.J;
      W_t_ = W_start + slip.W;
    };
    const StretchEnd end = WalkLinear(path_, slip, rates, [&] {
      update();
      Add(PathEvent::kCompressionEnds);
    });
    update();
    incoming_ = Vec2<double>(Value(e.x()), Value(e.y()));
    return end;
  }

  // v_t = 0 and stays so.
  StretchEnd Stick() {
    const Vec2<T> b(field_.b_x, field_.b_y), beta = SolveB(b), J_start = J_t_;
    const T J_n_start = path_.J;
    SlipState<T> none;
    const LinearRates<T> rates{T(0), StickRate(), T(0)};
    const auto update = [&] { J_t_ = J_start - beta * (path_.J - J_n_start); };
    const StretchEnd end = WalkLinear(path_, none, rates, [&] {
      update();
      Add(PathEvent::kCompressionEnds);
    });
    update();
    return end;
  }

  // No friction: v_t moves along b and passes v_t = 0 by.
  StretchEnd Frictionless() {
    const Vec2<T> b(field_.b_x, field_.b_y), start = v_t_;
    SlipState<T> none;
    const LinearRates<T> rates{T(0), field_.c, T(0)};
    const auto update = [&] { v_t_ = start + b * path_.J; };
    const StretchEnd end = WalkLinear(path_, none, rates, [&] {
      update();
      Add(PathEvent::kCompressionEnds);
    });
    update();
    const double x0 = Value(start.x()), y0 = Value(start.y()), x1 = Value(v_t_.x()),
                 y1 = Value(v_t_.y());
    turn_ = std::abs(std::atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1));
    return end;
  }

  StretchEnd FirstSlip() {
    using std::sqrt;
    const T s = sqrt(v_t_.x() * v_t_.x() + v_t_.y() * v_t_.y());
    const Vec2<T> e = v_t_ / s;
    // Along an isoclinic that attracts, the series needs no help; one that repels (or is neither)
    // is kept to exactly.
    if (std::abs(Value(field_.Turn(e.x(), e.y()))) <= kIsoclinic * field_.Scale() &&
        Value(field_.TurnSlope(e.x(), e.y())) >= -1e-6 * field_.Scale()) {
      return Ray(e, s);
    }
    return Value(field_.mu) == 0 ? Frictionless() : TurningSlip(s);
  }

  StretchEnd FromRest(int digit, const Vec2<double>& incoming) {
    const Vec2<T> b(field_.b_x, field_.b_y), beta = SolveB(b);
    const bool holds = std::hypot(Value(beta.x()), Value(beta.y())) <= in_.mu_s;
    out_.path_case.digit = digit + (holds ? 0 : 1);
    mode_ = holds ? ContactMode::kStick : ContactMode::kSlip;
    v_t_ = Vec2<T>(T(0), T(0));
    Add(digit == 5 ? PathEvent::kStart : PathEvent::kSlipStops);
    if (holds) return Stick();
    const Vec2<T> e = DirectionAway();
    const double ex = Value(e.x()), ey = Value(e.y());
    if (digit != 5)
      turn_ += std::abs(
          std::atan2(incoming.x() * ey - incoming.y() * ex, incoming.x() * ex + incoming.y() * ey));
    return Ray(e, T(0));
  }

  // The e with (g I + mu B) e = b: Newton's method on 1/|x(g)| = 1, x(g) = (g I + mu B)^-1 b, which
  // is concave and so converges from below.
  Vec2<T> DirectionAway() const {
    const auto solve = [this](const auto& g, const auto& b) {
      using S = std::decay_t<decltype(g)>;
      const auto pick = [](const T& x) {
        if constexpr (std::is_same_v<S, double>)
          return Value(x);
        else
          return x;
      };
      const S mu = pick(field_.mu), xx = g + mu * pick(field_.B_xx),
              yy = g + mu * pick(field_.B_yy), xy = mu * pick(field_.B_xy);
      const S det = xx * yy - xy * xy;
      return Vec2<S>((yy * b.x() - xy * b.y()) / det, (xx * b.y() - xy * b.x()) / det);
    };
    const Vec2<double> b(Value(field_.b_x), Value(field_.b_y));
    double g =
        std::max(0.0, b.norm() - Value(field_.mu) * (Value(field_.B_xx) + Value(field_.B_yy)));
    for (int i = 0; i < 100; ++i) {
      const Vec2<double> x = solve(g, b);
      const double norm = x.norm();
      const double step = (norm - 1) * norm * norm / x.dot(solve(g, x));
      g += step;
      if (std::abs(step) <= 1e-16 * b.norm() || g == 0) break;
      if (g < 0) g = 0;
    }
    // One more step in T carries the derivatives.
    const Vec2<T> b_T(field_.b_x, field_.b_y), x = solve(T(g), b_T), y = solve(T(g), x);
    const T g_T =
        T(g) + (x.x() * x.x() + x.y() * x.y() - T(1)) / (T(2) * (x.x() * y.x() + x.y() * y.y()));
    return solve(g_T, b_T);
  }

  StretchEnd TurningSlip(T s);
  // Where slip has come so close to an attracting isoclinic, or to rest, that the rest of it is
  // straight to `tolerance`: that direction, and the one that the last of the slip, however slow,
  // turns to.
  bool Straightens(const T& phi, const T& s, T& phi_straight, double& phi_limit) const;
  double NextIsoclinic(double phi) const;
  enum class StepEvent { kNone, kCompressionEnds, kCompressionResumes, kLaw };
  StepEvent FindEvent(const SlipSeries<T>& series, double from, double to, double& sigma) const;
  // Ends of the parts of a step on which v_n is monotone.
  int Monotone(const SlipSeries<T>& series, double step, std::array<double, 4>& ends) const;
  void AddDense(const SlipSeries<T>& series, double sigma, int n);
  T Residual(StepEvent event, const SlipPoint<T>& point) const;
  double ResidualSlope(StepEvent event, const SlipPoint<T>& point) const;
  Vec2<T> ImpulseOver(const Vec2<T>& v_start, const Vec2<T>& v_end, const T& J) const {
    return SolveB(Vec2<T>(v_end.x() - v_start.x() - field_.b_x * J,
                          v_end.y() - v_start.y() - field_.b_y * J));
  }

  const SpatialProblem<T>& in_;
  const SlipField<T>& field_;
  ImpactOutcome& out_;
  NormalPath<T> path_;
  Vec2<T> v_t_ = Vec2<T>(T(0), T(0)), J_t_ = Vec2<T>(T(0), T(0));
  Vec2<double> incoming_ = Vec2<double>::Zero();  // direction in which slip last stopped
  T W_t_{0};
  ContactMode mode_ = ContactMode::kSlip;
  double turn_ = 0, error_ = 0;
};

}  // namespace impactlab::impact

#include "impact/law/detail/turning_slip.h"
