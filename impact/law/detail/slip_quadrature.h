#pragma once
// Private to the certificate: integrals over a piece of turning slip from its two ends alone.
//
// Along slip, with dJ_n = s dsigma, all quantities are smooth functions of sigma whose derivatives
// at an end follow from Coulomb's law and momentum at that end. The two-point Hermite rule with
// three derivatives,
//   integral f = d/2 (f0 + f1) + 3 d^2/28 (f0' - f1') + d^3/84 (f0'' + f1'')
//                + d^4/1680 (f0''' - f1'''),
// is exact to degree 7; its remainder is d^9 f^(8) / 25401600. The length d of a piece in sigma is
// what makes the rule return its J_n.

#include <Eigen/Core>
#include <array>
#include <cmath>

namespace impactlab::impact {

// First four Taylor coefficients in sigma.
using Taylor = std::array<double, 4>;

inline Taylor Product(const Taylor& x, const Taylor& y) {
  Taylor out{};
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i <= k; ++i) out[k] += x[i] * y[k - i];
  }
  return out;
}

// At one end: s, the slip velocity, s v_n and s^2 as functions of sigma.
struct SlipEnd {
  Taylor s{}, v_x{}, v_y{}, power_n{}, power_t{};
};

// `v` is the contact velocity (s > 0), A the contact-space inverse mass. Cartesian form: dv/dsigma
// = s A n - mu A (v_t, 0).
inline SlipEnd ExpandSlipEnd(const Eigen::Vector3d& v, const Eigen::Matrix3d& A, double mu) {
  SlipEnd end;
  Taylor v_n{};
  end.v_x[0] = v.x();
  end.v_y[0] = v.y();
  v_n[0] = v.z();
  end.s[0] = std::hypot(v.x(), v.y());
  for (int k = 0; k < 3; ++k) {
    const Eigen::Vector3d rate =
        end.s[k] * A.col(2) - mu * (A.col(0) * end.v_x[k] + A.col(1) * end.v_y[k]);
    end.v_x[k + 1] = rate.x() / (k + 1);
    end.v_y[k + 1] = rate.y() / (k + 1);
    v_n[k + 1] = rate.z() / (k + 1);
    // s from s^2 = v_x^2 + v_y^2.
    double square = 0;
    for (int i = 0; i <= k + 1; ++i)
      square += end.v_x[i] * end.v_x[k + 1 - i] + end.v_y[i] * end.v_y[k + 1 - i];
    for (int i = 1; i <= k; ++i) square -= end.s[i] * end.s[k + 1 - i];
    end.s[k + 1] = square / (2 * end.s[0]);
  }
  end.power_n = Product(end.s, v_n);
  end.power_t = Product(end.s, end.s);
  return end;
}

inline double Hermite(const Taylor& f0, const Taylor& f1, double d) {
  return d * (0.5 * (f0[0] + f1[0]) +
              d * (3.0 / 28 * (f0[1] - f1[1]) +
                   d * (2.0 / 84 * (f0[2] + f1[2]) + d * (6.0 / 1680) * (f0[3] - f1[3]))));
}

// Length in sigma of the piece whose normal impulse is J_n.
inline double SlipLength(const SlipEnd& a, const SlipEnd& b, double J_n) {
  double d = 2 * J_n / (a.s[0] + b.s[0]);
  for (int i = 0; i < 50; ++i) {
    const double h = 1e-6 * d, f = Hermite(a.s, b.s, d) - J_n;
    const double slope = (Hermite(a.s, b.s, d + h) - Hermite(a.s, b.s, d - h)) / (2 * h);
    if (!(slope > 0)) break;
    const double step = f / slope;
    d -= step;
    if (!(std::abs(step) > 1e-15 * std::abs(d))) break;
  }
  return d;
}

}  // namespace impactlab::impact
