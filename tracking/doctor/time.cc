// What stamps alone tell, and what wrong times cost.

#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {

Beat FitBeat(const std::vector<double>& t) {
  const std::size_t n = t.size();
  Beat beat;
  beat.count.assign(n, 0);
  std::vector<double> steps;
  for (std::size_t k = 1; k < n; ++k)
    if (t[k] > t[k - 1]) steps.push_back(t[k] - t[k - 1]);
  if (steps.empty()) return beat;
  beat.step = Median(steps);
  // The median of rounded steps is off by up to a tick: the line through all stamps is not, as long
  // as gaps are counted right.
  for (int round = 0; round < 4; ++round) {
    for (std::size_t k = 1; k < n; ++k)
      beat.count[k] =
          beat.count[k - 1] +
          (t[k] > t[k - 1] ? std::max(1LL, std::llround((t[k] - t[k - 1]) / beat.step)) : 1);
    double mean_c = 0, mean_t = 0, cc = 0, ct = 0;
    for (std::size_t k = 0; k < n; ++k)
      mean_c += static_cast<double>(beat.count[k]) / n, mean_t += (t[k] - t[0]) / n;
    for (std::size_t k = 0; k < n; ++k) {
      const double c = static_cast<double>(beat.count[k]) - mean_c;
      cc += c * c, ct += c * (t[k] - t[0] - mean_t);
    }
    const double fitted = ct / cc;
    beat.even.assign(n, 0);
    double squares = 0, largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
      beat.even[k] = t[0] + mean_t + fitted * (static_cast<double>(beat.count[k]) - mean_c);
      squares += std::pow(t[k] - beat.even[k], 2);
      largest = std::max(largest, std::abs(t[k] - beat.even[k]));
    }
    beat.residual_sd = std::sqrt(squares / n);
    beat.residual_max = largest;
    const bool settled = std::abs(fitted - beat.step) < 1e-9 * beat.step;
    // A rate that wanders is no beat; its own median describes it better than a line through it.
    if (std::abs(fitted - beat.step) > 0.3 * beat.step) break;
    beat.step = fitted;
    if (settled) break;
  }
  double squares = 0;
  std::size_t used = 0;
  for (std::size_t k = 1; k < n; ++k) {
    const auto count = beat.count[k] - beat.count[k - 1];
    if (count != 1 || t[k] <= t[k - 1]) continue;
    squares += std::pow(t[k] - t[k - 1] - beat.step, 2);
    ++used;
  }
  beat.jitter = used > 0 ? std::sqrt(squares / static_cast<double>(used)) : 0;
  return beat;
}

double DecimalTick(const std::vector<double>& t) {
  for (const double per_second : {100.0, 1000.0, 10000.0}) {
    const bool all = std::all_of(t.begin(), t.end(), [&](double x) {
      const double ticks = x * per_second;
      return std::abs(ticks - std::round(ticks)) < 1e-6;
    });
    if (all) return 1 / per_second;
  }
  return 0;
}

double CostOfTimes(const std::vector<double>& real, const std::vector<double>& believed,
                   double arc) {
  const int n = static_cast<int>(real.size());
  if (n < 6) return 0;
  const double step = (real.back() - real.front()) / (n - 1);
  if (!(step > 0)) return 0;
  const int half = std::clamp(static_cast<int>(std::lround(arc / step)), 3, n / 2);
  // x = real time is seen at the believed one: the slope dx/dt of the least-squares line over each
  // arc, from running sums.
  std::vector<double> st(static_cast<std::size_t>(n) + 1, 0), sx = st, stt = st, stx = st;
  for (int k = 0; k < n; ++k) {
    const double t = believed[k] - believed[0], x = real[k] - real[0];
    st[k + 1] = st[k] + t, sx[k + 1] = sx[k] + x, stt[k + 1] = stt[k] + t * t,
           stx[k + 1] = stx[k] + t * x;
  }
  const auto slope = [&](int a, int b) {
    const double m = b - a, t = st[b] - st[a], x = sx[b] - sx[a];
    return (m * (stx[b] - stx[a]) - t * x) / (m * (stt[b] - stt[a]) - t * t);
  };
  double worst = 0;
  for (int k = half; k + half <= n; ++k) {
    const double before = slope(k - half, k), after = slope(k, k + half);
    if (before > 0 && std::isfinite(after)) worst = std::max(worst, std::abs(after / before - 1));
  }
  return std::min(worst, 1.0);
}

// Speed at the impact = speed in the middle of the arc + g T / 2, before and after alike. With
// times `factor` too long the fit sees speeds divided by it but adds g factor T / 2: e' = (e v + d)
// / (v + d) with d = (factor^2 - 1) g T / 2. Largest at e = 0: d / (v + d), and at e = 0 for
// negative d too.
double CostOfRate(double factor, double arc) {
  constexpr double kG = 9.81, kSpeed = 1;
  const double d = (factor * factor - 1) * kG * arc / 2;
  return d < 0 ? std::min(1.0, -d / std::max(kSpeed + d, 1e-9)) : d / (kSpeed + d);
}

}  // namespace impactlab::tracking
