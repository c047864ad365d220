#pragma once
// Private to the solver: the part of SpatialWalk that steps through slip that turns. Included by
// impact/law/detail/spatial_path.h.

#include "impact/law/detail/spatial_path.h"

namespace impactlab::impact {

template <class T>
bool SpatialWalk<T>::Straightens(const T& phi, const T& s, T& phi_straight,
                                 double& phi_limit) const {
  using std::cos;
  using std::sin;
  const T e_x = cos(phi), e_y = sin(phi);
  const double g = Value(field_.Growth(e_x, e_y));
  const T slope = field_.TurnSlope(e_x, e_y);
  const bool attracts = Value(slope) < 0;
  const T offset = attracts ? T(-field_.Turn(e_x, e_y) / slope) : T(0);
  const bool spent = g < 0 && Value(s) < kSpent;
  // Slip that dies out weighs the angle that is left by its speed; slip that grows does not.
  if (!spent && !(attracts &&
                  Size(offset) * (g < 0 ? Value(s) : 1.0) <= std::max(0.1 * in_.tolerance, 1e-13)))
    return false;
  // Little impulse is left to feel the last of the angle, but the turning angle wants its limit.
  T limit = phi;
  bool converged = false;
  for (int i = 0; attracts && !converged && i < 20; ++i) {
    const T c = cos(limit), d = sin(limit), step = field_.Turn(c, d) / field_.TurnSlope(c, d);
    limit -= step;
    converged = std::abs(Value(step)) < 1e-12;
  }
  // Where h only dips towards zero and slip turns on, Newton's method runs off to some other
  // isoclinic. The limit of this slip lies ahead, about as far as the first step said, attracts,
  // and lets slip grow or die out as it does here.
  const T c = cos(limit), d = sin(limit);
  const double moved = Value(limit) - Value(phi), expected = Value(offset);
  const bool ahead =
      std::abs(moved) <= 1e-9 ||
      (moved * expected > 0 && std::abs(moved) <= std::min(2 * std::abs(expected), 0.5));
  const bool sound = converged && ahead && Value(field_.TurnSlope(c, d)) < 0 &&
                     (Value(field_.Growth(c, d)) < 0) == (g < 0);
  if (!sound && !spent) return false;
  phi_straight = sound ? limit : phi;
  phi_limit = sound ? Value(limit) : NextIsoclinic(Value(phi));
  return true;
}

// The zero of h that slip turns towards.
template <class T>
double SpatialWalk<T>::NextIsoclinic(double phi) const {
  const auto h = [this](double angle, double& slope) {
    const T c(std::cos(angle)), d(std::sin(angle));
    slope = Value(field_.TurnSlope(c, d));
    return Value(field_.Turn(c, d));
  };
  constexpr int kScan = 1440;
  double slope = 0;
  const bool rising = h(phi, slope) > 0;
  const double step = (rising ? 2 : -2) * M_PI / kScan;
  for (int i = 1; i <= kScan; ++i) {
    const double next = phi + step * i;
    if ((h(next, slope) > 0) == rising) continue;
    return rising ? BracketedRoot(h, next - step, next) : BracketedRoot(h, next, next - step);
  }
  return phi;
}

template <class T>
int SpatialWalk<T>::Monotone(const SlipSeries<T>& series, double step,
                             std::array<double, 4>& ends) const {
  // dv_n/dJ_n = c - mu |b| cos(phi - phi_b) changes sign only where friction can press the bodies
  // together.
  const double b_x = Value(field_.b_x), b_y = Value(field_.b_y),
               pull = Value(field_.mu) * std::hypot(b_x, b_y), c = Value(field_.c);
  int n = 0;
  if (pull > c) {
    const double phi_0 = series.PhiAt(0), phi_1 = series.PhiAt(step);
    const double lo = std::min(phi_0, phi_1), hi = std::max(phi_0, phi_1);
    const double centre = std::atan2(b_y, b_x), half = std::acos(c / pull);
    for (const double zero : {centre - half, centre + half}) {
      const double phi = zero + 2 * M_PI * std::ceil((lo - zero) / (2 * M_PI));
      if (!(phi > lo && phi < hi) || n == 2) continue;
      const auto f = [&](double sigma, double& df) {
        const double angle = series.PhiAt(sigma);
        df = Value(field_.Turn(T(std::cos(angle)), T(std::sin(angle))));
        return angle - phi;
      };
      ends[n++] = BracketedRoot(f, 0.0, step);
    }
    std::sort(ends.begin(), ends.begin() + n);
  }
  ends[n++] = step;
  return n;
}

template <class T>
T SpatialWalk<T>::Residual(StepEvent event, const SlipPoint<T>& point) const {
  if (event != StepEvent::kLaw) return point.vn;
  return VisitEnd(in_.law, [&](auto end) { return end.Residual(path_, point); });
}

template <class T>
double SpatialWalk<T>::ResidualSlope(StepEvent event, const SlipPoint<T>& point) const {
  const auto normal_rate = [&] {
    const double phi = Value(point.phi);
    return Value(field_.NormalRate(T(std::cos(phi)), T(std::sin(phi))));
  };
  // dJ_n = s dsigma
  return Value(point.s) *
         (event == StepEvent::kLaw
              ? VisitEnd(in_.law, [&](auto end) { return end.Slope(Value(point.vn), normal_rate); })
              : normal_rate());
}

// First event on (from, to], where v_n is monotone.
template <class T>
typename SpatialWalk<T>::StepEvent SpatialWalk<T>::FindEvent(const SlipSeries<T>& series,
                                                             double from, double to,
                                                             double& sigma) const {
  const auto root = [&](auto&& value) {
    const auto f = [&](double x, double& df) {
      SlipPoint<T> point;
      point.phi = T(series.PhiAt(x));
      point.s = T(series.SpeedAt(x));
      return value(x, point, df);
    };
    return BracketedRoot(f, from, to);
  };
  const auto zero_of_vn = [&] {
    return root([&](double x, SlipPoint<T>& point, double& df) {
      df = ResidualSlope(StepEvent::kCompressionEnds, point);
      return series.NormalVelocityAt(x);
    });
  };
  if (!path_.restitution) {
    if (!(series.NormalVelocityAt(to) >= 0)) return StepEvent::kNone;
    sigma = zero_of_vn();
    return StepEvent::kCompressionEnds;
  }
  const bool falls = series.NormalVelocityAt(to) < 0;
  if (falls) to = zero_of_vn();
  const auto law = [&](double x, SlipPoint<T>& point) {
    point.vn = T(series.NormalVelocityAt(x));
    return VisitEnd(in_.law, [&](auto end) {
      if constexpr (end.kImpulse) point.J = T(series.ImpulseAt(x));
      if constexpr (end.kWork) point.W_n = T(series.NormalWorkAt(x));
      return Value(end.Residual(path_, point));
    });
  };
  SlipPoint<T> last;
  if (law(to, last) >= 0) {
    sigma = root([&](double x, SlipPoint<T>& point, double& df) {
      const double value = law(x, point);
      df = ResidualSlope(StepEvent::kLaw, point);
      return value;
    });
    return StepEvent::kLaw;
  }
  if (!falls) return StepEvent::kNone;
  sigma = to;
  return StepEvent::kCompressionResumes;
}

template <class T>
void SpatialWalk<T>::AddDense(const SlipSeries<T>& series, double sigma, int n) {
  const double v = in_.velocity_unit, J = in_.impulse_unit;
  for (int i = 1; i <= n; ++i) {
    const SlipPoint<T> p = series.At(T(sigma * i / kDensePerStep));
    const double phi = Value(p.phi), s = Value(p.s);
    const Vec2<T> v_t(T(s * std::cos(phi)), T(s * std::sin(phi)));
    const Vec2<T> J_t = J_t_ + ImpulseOver(v_t_, v_t, p.J);
    PathPoint point;
    point.event = PathEvent::kDense;
    point.J_F = Eigen::Vector3d(Value(J_t.x()), Value(J_t.y()), Value(path_.J) + Value(p.J)) * J;
    point.v_F = Eigen::Vector3d(Value(v_t.x()), Value(v_t.y()), Value(p.vn)) * v;
    point.work_n = (Value(path_.Work()) + Value(p.W_n)) * v * J;
    point.work_t = (Value(W_t_) - Value(field_.mu) * Value(p.S)) * v * J;
    out_.dense.push_back(point);
  }
}

template <class T>
StretchEnd SpatialWalk<T>::TurningSlip(T s) {
  using std::atan2;
  using std::cos;
  using std::sin;
  constexpr bool kPlain = std::is_same_v<T, double>;
  T phi = atan2(v_t_.y(), v_t_.x());
  T e_x = cos(phi), e_y = sin(phi);
  const double phi_start = Value(phi);
  double angle_error = 0;
  SlipSeries<T> series;
  for (int step = 0; step < kMaxSteps; ++step) {
    T phi_straight;
    double phi_limit = 0;
    if (Straightens(phi, s, phi_straight, phi_limit)) {
      turn_ += std::abs(phi_limit - phi_start);
      const StretchEnd end = Ray(Vec2<T>(cos(phi_straight), sin(phi_straight)), s);
      incoming_ = Vec2<double>(std::cos(phi_limit), std::sin(phi_limit));
      return end;
    }
    series.Expand(field_, phi, s, path_.vn, in_.works);
    // Slip of constant velocity has no higher terms; ten times the impulse that could stop the
    // approach is then far enough.
    double sigma = std::min(series.Step(0.03 * in_.tolerance, field_.Scale()),
                            10 / (Value(s) * Value(field_.c)) + 10 / field_.Scale());
    std::array<double, 4> ends;
    const int n_parts = Monotone(series, sigma, ends);
    StepEvent event = StepEvent::kNone;
    double from = 0;
    for (int i = 0; i < n_parts && event == StepEvent::kNone; ++i) {
      event = FindEvent(series, from, ends[i], sigma);
      from = ends[i];
    }
    T sigma_T(sigma);
    SlipPoint<T> next = series.At(sigma_T);
    if (!kPlain && event != StepEvent::kNone) {
      // The root was found in plain numbers; a Newton step in T gives it its derivatives.
      sigma_T -= Residual(event, next) / ResidualSlope(event, next);
      next = series.At(sigma_T);
    }
    if (in_.dense)
      AddDense(series, sigma,
               event == StepEvent::kNone || event == StepEvent::kCompressionResumes
                   ? kDensePerStep
                   : kDensePerStep - 1);
    // An angle error is carried along by the flow: d phi_1 / d phi_0 = h(phi_1) / h(phi_0).
    const double local = series.Truncation(sigma) + 4e-16;
    const double h_0 = Value(field_.Turn(e_x, e_y));
    e_x = cos(next.phi);
    e_y = sin(next.phi);
    const double h_1 = Value(field_.Turn(e_x, e_y));
    angle_error = angle_error * std::abs(h_1 / h_0) + local;
    error_ += (Value(s) + Value(next.s)) * (local + angle_error);

    phi = next.phi;
    s = next.s;
    const Vec2<T> v_t(s * e_x, s * e_y);
    J_t_ += ImpulseOver(v_t_, v_t, next.J);
    v_t_ = v_t;
    path_.vn = next.vn;
    path_.J += next.J;
    path_.AddWork(next.W_n);
    W_t_ -= field_.mu * next.S;
    if (event == StepEvent::kCompressionEnds) {
      path_.EndCompression();
      Add(PathEvent::kCompressionEnds);
      if (Value(path_.e) == 0) {
        turn_ += std::abs(Value(phi) - phi_start);
        return Ray(Vec2<T>(e_x, e_y), s);  // the law ends the impact here
      }
    } else if (event == StepEvent::kCompressionResumes) {
      path_.ResumeCompression();
    } else if (event == StepEvent::kLaw) {
      turn_ += std::abs(Value(phi) - phi_start);
      return StretchEnd::kLaw;
    }
  }
  return StretchEnd::kNever;
}

}  // namespace impactlab::impact
