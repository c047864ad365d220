#pragma once
// Private to the solver: where restitution ends by each law. All that the solver and its judge know
// of one law stands in its RestitutionEnd; a new law is one more of these, and nothing else here.
//
// The end is that of a path that has turned at v_n = 0. Along a stretch of constant rates it is a
// root in closed form (ToEnd); where slip turns, the root of a residual that grows through zero
// (Residual and its slope by J_n). At e = 0 every law ends the impact where compression ends, which
// the walk takes for granted. T is double or a ceres::Jet.

#include <limits>

#include "impact/law/detail/normal_path.h"

namespace impactlab::impact {

// A path that is over, as its judge has integrated it: what the definition of a law is checked on.
struct FinishedPath {
  double e = 0;
  double vn_minus = 0, vn_plus = 0;  // [m/s]
  double J_c = 0, J_n = 0;           // at the end of compression and at the end [N s]
  double W_c = 0, W_r = 0;           // normal work of compression and of restitution [J]
  double speed = 0, work = 0;        // scales: |v_minus| [m/s], all work that was done [J]
};

// Members of each:
// kImpulse, kWork: whether Residual reads the impulse and the normal work of the step so far.
// ToEnd: impulse from here to the end at the constant rate k_n = dv_n/dJ_n, and v_n there. Infinite
//   when this rate never leads there.
// Residual: of a point that lies J and W_n beyond the path, at its v_n; negative before the end.
// Slope: d Residual / dJ_n; normal_rate() is dv_n/dJ_n.
// Misfit: of a finished path from the law's definition, relative to what it is known to.
template <RestitutionLaw law>
struct RestitutionEnd;

// v_n+ = -e_n v_n-
template <>
struct RestitutionEnd<RestitutionLaw::kNewton> {
  static constexpr bool kImpulse = false, kWork = false;

  template <class T>
  static T Target(const NormalPath<T>& path) {
    return -path.e * path.vn_minus;
  }
  template <class T>
  static T ToEnd(const NormalPath<T>& path, const T& k_n, T& vn_end) {
    vn_end = Target(path);
    return Value(k_n) > 0
               ? (vn_end - path.vn) / k_n
               : (Value(vn_end) <= Value(path.vn) ? T(0)
                                                  : T(std::numeric_limits<double>::infinity()));
  }
  template <class T, class Point>
  static T Residual(const NormalPath<T>& path, const Point& point) {
    return point.vn - Target(path);
  }
  template <class NormalRate>
  static double Slope(double /*vn*/, NormalRate&& normal_rate) {
    return normal_rate();
  }
  static double Misfit(const FinishedPath& path) {
    return std::abs(path.vn_plus + path.e * path.vn_minus) / path.speed;
  }
};

// J_n = (1 + e_p) J_c
template <>
struct RestitutionEnd<RestitutionLaw::kPoisson> {
  static constexpr bool kImpulse = true, kWork = false;

  template <class T>
  static T Target(const NormalPath<T>& path) {
    return (T(1) + path.e) * path.J_c;
  }
  template <class T>
  static T ToEnd(const NormalPath<T>& path, const T& k_n, T& vn_end) {
    T p = Target(path) - path.J;
    vn_end = path.vn + k_n * p;
    return p;
  }
  template <class T, class Point>
  static T Residual(const NormalPath<T>& path, const Point& point) {
    return path.J + point.J - Target(path);
  }
  template <class NormalRate>
  static double Slope(double /*vn*/, NormalRate&& /*normal_rate*/) {
    return 1;
  }
  static double Misfit(const FinishedPath& path) {
    return std::abs(path.J_n - (1 + path.e) * path.J_c) / path.J_n;
  }
};

// W_r = -e*^2 W_c (Stronge, Proc. R. Soc. Lond. A 431 (1990) 169)
template <>
struct RestitutionEnd<RestitutionLaw::kEnergetic> {
  static constexpr bool kImpulse = false, kWork = true;

  template <class T>
  static T Target(const NormalPath<T>& path) {
    return -path.e * path.e * path.W_c;
  }
  template <class T>
  static T ToEnd(const NormalPath<T>& path, const T& k_n, T& vn_end) {
    using std::sqrt;
    T never(std::numeric_limits<double>::infinity());
    if (Value(path.vn) == 0) {
      // The start of restitution: linear in e, so that derivatives stay finite at e = 0.
      if (!(Value(k_n) > 0)) return never;
      vn_end = path.e * sqrt(T(-2) * path.W_c * k_n);
      return vn_end / k_n;
    }
    const T left = Target(path) - path.W_r;
    const T square = path.vn * path.vn + T(2) * k_n * left;
    if (!(Value(square) > 0)) return never;
    vn_end = sqrt(square);
    return T(2) * left / (path.vn + vn_end);  // no division by k_n, which may vanish
  }
  template <class T, class Point>
  static T Residual(const NormalPath<T>& path, const Point& point) {
    return path.W_r + point.W_n - Target(path);
  }
  template <class NormalRate>
  static double Slope(double vn, NormalRate&& /*normal_rate*/) {
    return vn;
  }
  // A grazing impact's compression is a small part of the work done, and known to that scale only.
  static double Misfit(const FinishedPath& path) {
    return std::abs(path.W_r + path.e * path.e * path.W_c) /
           (std::abs(path.W_c) + 0.01 * path.work);
  }
};

// visit(RestitutionEnd) of the law, which must be one of the table.
template <std::size_t k = 0, class Visit>
auto VisitEnd(RestitutionLaw law, Visit&& visit) {
  if constexpr (k + 1 < kRestitutionLaws.size())
    if (law != kRestitutionLaws[k].law) return VisitEnd<k + 1>(law, visit);
  return visit(RestitutionEnd<kRestitutionLaws[k].law>{});
}

// RestitutionEnd::ToEnd of the path's law.
template <class T>
T ToLawEnd(const NormalPath<T>& path, const T& k_n, T& vn_end) {
  return VisitEnd(path.law, [&](auto end) { return end.ToEnd(path, k_n, vn_end); });
}

}  // namespace impactlab::impact
