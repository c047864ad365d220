#pragma once
// Private to the simulator: first instant at which a gap closes within a step, from the gap, its
// rate and its acceleration at both ends.

#include <array>
#include <cmath>
#include <optional>

namespace impactlab::impact {

struct GapEnd {
  double gap = 0, rate = 0, acceleration = 0;
};

// Coefficients of Bernstein's form on [0, 1] of the quintic that agrees with both ends of a step of
// length h. It lies within their hull.
inline std::array<double, 6> BernsteinQuintic(const GapEnd& a, const GapEnd& b, double h) {
  return {a.gap,
          a.gap + h * a.rate / 5,
          a.gap + 2 * h * a.rate / 5 + h * h * a.acceleration / 20,
          b.gap - 2 * h * b.rate / 5 + h * h * b.acceleration / 20,
          b.gap - h * b.rate / 5,
          b.gap};
}

// Smallest s in [0, 1] at which a polynomial in Bernstein's form falls from above 0 to 0;
// coefficients above 0 hold no root.
template <size_t N>
std::optional<double> FirstFall(const std::array<double, N>& b, double from = 0, double to = 1,
                                int depth = 0) {
  bool below = false;
  for (const double c : b) below = below || c <= 0;
  if (!below || b[0] < 0) return std::nullopt;
  if (b[0] == 0 && depth > 0) return from;
  if (depth == 50) return from;
  std::array<double, N> left = b, right = b;
  for (size_t level = 1; level < N; ++level) {
    for (size_t i = 0; i + level < N; ++i) right[i] = 0.5 * (right[i] + right[i + 1]);
    left[level] = right[0];
  }
  const double middle = 0.5 * (from + to);
  if (const auto root = FirstFall(left, from, middle, depth + 1)) return root;
  if (right[0] < 0) return middle;
  return FirstFall(right, middle, to, depth + 1);
}

// Length of time after the start at which the gap first closes, if it does within h. A gap that
// starts at 0 opens first where its rate is above 0: `leaving` takes that root out.
inline std::optional<double> FirstClosing(const GapEnd& a, const GapEnd& b, double h,
                                          bool leaving) {
  const std::array<double, 6> p = BernsteinQuintic(a, b, h);
  std::optional<double> s;
  if (leaving) {
    // p(s) / s: coefficient i is 5 p_(i+1) / (i + 1).
    s = FirstFall<5>({5 * p[1], 5 * p[2] / 2, 5 * p[3] / 3, 5 * p[4] / 4, p[5]});
  } else {
    s = FirstFall(p);
  }
  if (!s) return std::nullopt;
  return *s * h;
}

}  // namespace impactlab::impact
