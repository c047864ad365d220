#pragma once
// Private to the solver: what a law of restitution follows along the normal impulse. T is double or
// a ceres::Jet.

#include <cmath>

#include "impact/law/solve.h"

namespace impactlab::impact {

inline double Value(double x) { return x; }
template <class T>
requires requires(const T& x) { x.a; }
double Value(const T& x) { return x.a; }

// a c - b^2 and x + f y with one rounding of the result: nearly singular A_F cancels most digits of
// the plain formulas.
template <class T>
T Determinant(const T& a, const T& b, const T& c) {
  return a * c - b * b;
}
inline double Determinant(double a, double b, double c) {
  const double square = b * b;
  return std::fma(a, c, -square) - std::fma(b, b, -square);
}
template <class T>
T AddProduct(const T& x, const T& f, const T& y) {
  return x + f * y;
}
inline double AddProduct(double x, double f, double y) { return std::fma(f, y, x); }

template <class T>
struct NormalPath {
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  T e{0}, vn_minus{0};
  T J{0}, vn{0};     // normal impulse and normal velocity so far
  T W_c{0}, W_r{0};  // normal work of compression and of restitution so far
  T J_c{0};          // normal impulse at the end of compression
  bool restitution = false;

  T Work() const { return W_c + W_r; }
  void AddWork(const T& work) { (restitution ? W_r : W_c) += work; }
  // v_n has come to zero from below. Restitution's work starts at zero, so that it keeps its digits
  // for small e.
  void EndCompression() {
    vn = T(0);
    restitution = true;
    J_c = J;
  }
  // Slip can turn so far that v_n falls to zero again before the law's end: compression goes on,
  // and its last zero counts as its end.
  void ResumeCompression() {
    vn = T(0);
    restitution = false;
    W_c += W_r;
    W_r = T(0);
  }
};

}  // namespace impactlab::impact
