#pragma once
// Private to the solver: slip that turns, integrated by Taylor series.
//
// Keller's equations in polar form, v_t = s (cos phi, sin phi), with A = [[B, b], [b', c]] and dJ_n
// = s dsigma:
//   dphi/dsigma = h(phi),  ds/dsigma = s g(phi),  dv_n/dsigma = s k(phi),  dJ_n/dsigma = s,
//   g = e.b - mu e.B e,  h = e_perp.b - mu e_perp.B e,  k = c - mu b.e,   e = (cos phi, sin phi).
// All right sides are polynomials of cos phi, sin phi, s, so the coefficients of every variable
// follow from convolutions. In sigma the end of slip lies at infinity and is approached
// exponentially along an isoclinic direction, h = 0: nothing is singular there. Units: velocities
// by |v_minus|, A by its largest diagonal entry.

#include <array>
#include <cmath>

#include "impact/law/detail/jet_sums.h"
#include "impact/law/detail/normal_path.h"

namespace impactlab::impact {

template <class T>
struct SlipField {
  T B_xx{0}, B_xy{0}, B_yy{0}, b_x{0}, b_y{0}, c{0}, mu{0};

  // b - mu B e, the rate of v_t.
  void Rate(const T& e_x, const T& e_y, T& r_x, T& r_y) const {
    r_x = b_x - mu * (B_xx * e_x + B_xy * e_y);
    r_y = b_y - mu * (B_xy * e_x + B_yy * e_y);
  }
  T Growth(const T& e_x, const T& e_y) const {
    T r_x, r_y;
    Rate(e_x, e_y, r_x, r_y);
    return e_x * r_x + e_y * r_y;
  }
  T Turn(const T& e_x, const T& e_y) const {
    T r_x, r_y;
    Rate(e_x, e_y, r_x, r_y);
    return e_x * r_y - e_y * r_x;
  }
  // dh/dphi
  T TurnSlope(const T& e_x, const T& e_y) const {
    return -(b_x * e_x + b_y * e_y) -
           mu * ((B_yy - B_xx) * (e_x * e_x - e_y * e_y) - T(4) * B_xy * e_x * e_y);
  }
  T NormalRate(const T& e_x, const T& e_y) const { return c - mu * (b_x * e_x + b_y * e_y); }
  double Scale() const {
    return std::abs(Value(b_x)) + std::abs(Value(b_y)) + Value(mu) * (Value(B_xx) + Value(B_yy));
  }
};

// State of the slip at one point.
template <class T>
struct SlipPoint {
  // S = integral of s dJ_n: friction has done -mu S; J, W_n, S from the start of the step
  T phi{0}, s{0}, vn{0}, J{0}, W_n{0}, S{0};
};

template <class T>
class SlipSeries {
 public:
  static constexpr int kOrder = 20;

  // Jets have no work of friction, and without `works` no normal work: nothing that is
  // differentiated needs them.
  void Expand(const SlipField<T>& field, const T& phi, const T& s, const T& vn, bool works);
  // Longest step whose last terms stay below `tolerance`.
  // `rate` is the size of g and h.
  double Step(double tolerance, double rate) const;
  // Size of the last terms at `sigma`: the truncation error of the angle and of the slip speed
  // (relative).
  double Truncation(double sigma) const;
  SlipPoint<T> At(const T& sigma) const;
  double PhiAt(double sigma) const { return Horner(phi_, sigma); }
  double NormalVelocityAt(double sigma) const { return Horner(vn_, sigma); }
  double ImpulseAt(double sigma) const { return Horner(J_, sigma); }
  double NormalWorkAt(double sigma) const { return Horner(W_, sigma); }
  double SpeedAt(double sigma) const { return Horner(s_, sigma); }

 private:
  using Series = std::array<T, kOrder + 1>;
  // Factors of g, h and the normal rate in powers of cos and sin.
  struct Terms {
    explicit Terms(const SlipField<T>& field);
    void AddConstants(T* g, T* h, T* normal) const {
      *g -= mean;
      *h += half_off;
      *normal += c;
    }
    // mu (B_xx - B_yy): e.Be = mean + diff/2 cos 2phi + B_xy sin 2phi
    T mu_diff, mu_off, mu_bx, mu_by;
    T mean, half_off, c;
  };
  void ExpandNumbers(const SlipField<T>& field) requires std::is_same_v<T, double>;
  void ExpandJets(const SlipField<T>& field, bool works);

  static double Horner(const Series& x, double sigma) {
    double sum = Value(x[kOrder]);
    for (int k = kOrder - 1; k >= 0; --k) sum = sum * sigma + Value(x[k]);
    return sum;
  }
  static T HornerT(const Series& x, const T& sigma) {
    T sum = x[kOrder];
    for (int k = kOrder - 1; k >= 0; --k) sum = sum * sigma + x[k];
    return sum;
  }

  // Powers of cos and sin, of Jets alone, side by side with them: sums run over all four.
  std::array<Series, std::is_same_v<T, double> ? 2 : 4> turn_;
  Series phi_, s_, vn_, J_, W_{}, S_{};
};

template <class T>
SlipSeries<T>::Terms::Terms(const SlipField<T>& field)
    : mu_diff(field.mu * (field.B_xx - field.B_yy)),
      mu_off(T(2) * field.mu * field.B_xy),
      mu_bx(field.mu * field.b_x),
      mu_by(field.mu * field.b_y),
      mean(field.mu * field.B_yy),
      half_off(T(0.5) * mu_off),
      c(field.c) {}

template <class T>
void SlipSeries<T>::Expand(const SlipField<T>& field, const T& phi, const T& s, const T& vn,
                           bool works) {
  using std::cos;
  using std::sin;
  phi_[0] = phi;
  turn_[0][0] = cos(phi);
  turn_[1][0] = sin(phi);
  s_[0] = s;
  vn_[0] = vn;
  J_[0] = T(0);
  if constexpr (std::is_same_v<T, double>)
    ExpandNumbers(field);
  else
    ExpandJets(field, works);
}

template <class T>
void SlipSeries<T>::ExpandNumbers(const SlipField<T>& field) requires std::is_same_v<T, double> {
  const Terms terms(field);
  Series h, g, normal;
  // Two sums at once, all in one loop, so that they fill each other's latency; what the last term
  // made comes last.
  using Pair [[gnu::vector_size(16)]] = double;
  Pair e[kOrder], e_x[kOrder], turn[kOrder], rate[kOrder], speed[kOrder], work[kOrder];
  for (int k = 0; k < kOrder; ++k) {
    Pair doubled{}, turned{}, grown{}, worked{};
    e[k] = Pair{turn_[0][k], turn_[1][k]};
    e_x[k] = Pair{turn_[0][k], turn_[0][k]};
    speed[k] = Pair{s_[k], s_[k]};
    work[k] = Pair{vn_[k], s_[k]};
    for (int i = 1; i < k; ++i) {
      doubled += e_x[i] * e[k - i];
      turned += turn[i] * e[k - i];
      grown += rate[i] * speed[k - i];
      worked += work[i] * speed[k - i];
    }
    if (k == 0) {
      doubled = e_x[0] * e[0];
      worked = work[0] * speed[0];
    } else {
      doubled += e_x[k] * e[0] + e_x[0] * e[k];
      turned += turn[0] * e[k];
      grown += rate[0] * speed[k];
      worked += work[k] * speed[0] + work[0] * speed[k];
    }
    g[k] = field.b_x * e[k][0] + field.b_y * e[k][1] - terms.mu_diff * doubled[0] -
           terms.mu_off * doubled[1];
    h[k] = field.b_y * e[k][0] - field.b_x * e[k][1] + terms.mu_diff * doubled[1] -
           terms.mu_off * doubled[0];
    normal[k] = -terms.mu_bx * e[k][0] - terms.mu_by * e[k][1];
    if (k == 0) terms.AddConstants(&g[0], &h[0], &normal[0]);
    turn[k] = Pair{h[k], h[k]};
    rate[k] = Pair{g[k], normal[k]};
    turned += turn[k] * e[0];
    grown += rate[k] * speed[0];
    const double by = 1.0 / (k + 1);
    phi_[k + 1] = h[k] * by;
    turn_[0][k + 1] = -turned[1] * by;
    turn_[1][k + 1] = turned[0] * by;
    s_[k + 1] = grown[0] * by;
    vn_[k + 1] = grown[1] * by;
    J_[k + 1] = s_[k] * by;
    W_[k + 1] = worked[0] * by;
    S_[k + 1] = worked[1] * by;
  }
}

template <class T>
void SlipSeries<T>::ExpandJets(const SlipField<T>& field, bool works) {
  const Terms terms(field);
  Series h, g, normal;
  // Of cos, sin, cos^2 and cos sin.
  const std::array<T, 4> by_g = {field.b_x, field.b_y, -terms.mu_diff, -terms.mu_off},
                         by_h = {field.b_y, -field.b_x, -terms.mu_off, terms.mu_diff},
                         by_normal = {-terms.mu_bx, -terms.mu_by, T(0), T(0)};
  const auto convolve = [](const Series& x, const Series& y, int k, double scale, T& out) {
    SumJetProducts(x.data(), 1, y.data() + k, -1, k + 1, scale, &out);
  };
  const auto combine = [&](const std::array<T, 4>& by, int k, int n, T& out) {
    SumJetProducts(by.data(), 1, turn_.data()->data() + k, kOrder + 1, n, 1, &out);
  };
  for (int k = 0; k < kOrder; ++k) {
    convolve(turn_[0], turn_[0], k, 1, turn_[2][k]);
    convolve(turn_[0], turn_[1], k, 1, turn_[3][k]);
    combine(by_g, k, 4, g[k]);
    combine(by_h, k, 4, h[k]);
    combine(by_normal, k, 2, normal[k]);
    if (k == 0) terms.AddConstants(&g[0], &h[0], &normal[0]);
    const double by = 1.0 / (k + 1);
    phi_[k + 1] = h[k] * by;
    convolve(turn_[1], h, k, -by, turn_[0][k + 1]);
    convolve(turn_[0], h, k, by, turn_[1][k + 1]);
    convolve(s_, g, k, by, s_[k + 1]);
    convolve(s_, normal, k, by, vn_[k + 1]);
    J_[k + 1] = s_[k] * by;
    if (works) convolve(s_, vn_, k, by, W_[k + 1]);
  }
}

template <class T>
double SlipSeries<T>::Step(double tolerance, double rate) const {
  // Where s falls like exp(-x), its square falls like exp(-2 x): the works have larger last terms
  // than the velocities they come from. Their errors are not carried on, so that they may be ten
  // times larger.
  const double by_s = 1 / Value(s_[0]),
               by_work = 0.1 * rate * by_s / (Value(s_[0]) + std::abs(Value(vn_[0])));
  double log_step = std::numeric_limits<double>::infinity();
  for (int k = kOrder - 1; k <= kOrder; ++k) {
    const double size =
        std::max(std::max(std::abs(Value(turn_[0][k])), std::abs(Value(turn_[1][k]))),
                 std::max(std::abs(Value(s_[k])) * by_s,
                          std::max(std::abs(Value(S_[k])), std::abs(Value(W_[k]))) * by_work));
    if (size > 0) log_step = std::min(log_step, std::log(tolerance / size) / k);
  }
  return std::exp(log_step);
}

template <class T>
double SlipSeries<T>::Truncation(double sigma) const {
  const double by_s = 1 / Value(s_[0]);
  const auto size = [&](int k) {
    return std::max(std::abs(Value(phi_[k])), std::abs(Value(s_[k])) * by_s) * std::pow(sigma, k);
  };
  return size(kOrder - 1) * 0.5 + size(kOrder);
}

template <class T>
SlipPoint<T> SlipSeries<T>::At(const T& sigma) const {
  return {HornerT(phi_, sigma), HornerT(s_, sigma), HornerT(vn_, sigma),
          HornerT(J_, sigma),   HornerT(W_, sigma), HornerT(S_, sigma)};
}

// Root of an increasing or decreasing function with derivative, bracketed by lo < hi; Newton steps
// kept inside the bracket. `f(x, df)` returns the value and sets the derivative.
template <class F>
double BracketedRoot(F&& f, double lo, double hi) {
  double df = 0;
  const double f_hi = f(hi, df);
  if (f_hi == 0) return hi;
  const bool rising = f_hi > 0;
  double x = hi, fx = f_hi;
  for (int i = 0; i < 100; ++i) {
    double next = df != 0 ? x - fx / df : lo;
    if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
    if (std::abs(next - x) <= 2e-16 * std::abs(next)) return next;
    x = next;
    fx = f(x, df);
    if (fx == 0) return x;
    ((fx > 0) == rising ? hi : lo) = x;
  }
  return x;
}

}  // namespace impactlab::impact
