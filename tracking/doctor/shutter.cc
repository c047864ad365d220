// Rolling shutters under lamps that flicker: the wave of brightness reaches the lower rows later.

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {

ShutterEvidence FindShutter(const std::vector<double>& t, const std::vector<FrameMeasure>& frames,
                            double covered) {
  ShutterEvidence out;
  const std::size_t n = frames.size();
  if (n < 48 || frames.front().bands.size() < 4) return out;
  const std::size_t bands = frames.front().bands.size();
  const double span = t.back() - t.front(), step = span / static_cast<double>(n - 1);
  if (!(step > 0)) return out;
  // Relative change of each band against its own running mean.
  std::vector<std::vector<double>> wave(bands, std::vector<double>(n, 0));
  constexpr std::size_t kHalf = 12;
  for (std::size_t b = 0; b < bands; ++b) {
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t from = k < kHalf ? 0 : k - kHalf, to = std::min(n, k + kHalf + 1);
      double mean = 0;
      for (std::size_t j = from; j < to; ++j)
        mean += frames[j].bands[b] / static_cast<double>(to - from);
      wave[b][k] = mean > 5 ? frames[k].bands[b] / mean - 1 : 0;
    }
  }
  const auto amplitude = [&](std::size_t b, double f) {
    std::complex<double> sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double window =
          0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) /
                               static_cast<double>(n));
      sum += wave[b][k] * window * std::polar(1.0, -2 * std::numbers::pi * f * (t[k] - t[0]));
    }
    return 4.0 / static_cast<double>(n) * sum;
  };
  // Above what the running mean takes away, below half of the rate where a wave and its mirror
  // image are one. A long recording is looked at as finely as its length asks for, up to a limit.
  const int cells = static_cast<int>(std::min<std::size_t>(n, 600));
  const double lowest = 1.5 / (2 * kHalf * step), highest = 0.48 / step;
  std::vector<double> power;
  double best = 0;
  for (int i = 0; i < cells; ++i) {
    const double f = lowest + (highest - lowest) * (i + 0.5) / cells;
    double sum = 0;
    for (std::size_t b = 0; b < bands; b += 2) sum += std::norm(amplitude(b, f));
    power.push_back(sum);
    if (sum > best) best = sum, out.frequency = f;
  }
  if (!(best > 60 * Median(power)) || std::sqrt(best / (0.5 * static_cast<double>(bands))) < 2e-3)
    return out;
  // Between the cells of the search, by halving steps.
  const auto total = [&](double f) {
    double sum = 0;
    for (std::size_t b = 0; b < bands; ++b) sum += std::norm(amplitude(b, f));
    return sum;
  };
  for (double d = (highest - lowest) / cells; d > 0.02 / span; d /= 2)
    for (const double f : {out.frequency - d, out.frequency + d})
      if (total(f) > total(out.frequency)) out.frequency = f;
  // Phase from band to band, turning by less than half a circle each.
  std::vector<double> phase;
  for (std::size_t b = 0; b < bands; ++b) {
    const auto a = amplitude(b, out.frequency);
    if (std::abs(a) < 0.3 * std::sqrt(best / (0.5 * static_cast<double>(bands)))) return out;
    double p = std::arg(a);
    if (b > 0) p = phase.back() + std::remainder(p - phase.back(), 2 * std::numbers::pi);
    phase.push_back(p);
  }
  double slope = 0, weight = 0, rest = 0;
  const double middle = 0.5 * static_cast<double>(bands - 1), mean = Mean(phase);
  for (std::size_t b = 0; b < bands; ++b)
    slope += (static_cast<double>(b) - middle) * (phase[b] - mean),
        weight += std::pow(static_cast<double>(b) - middle, 2);
  slope /= weight;
  for (std::size_t b = 0; b < bands; ++b)
    rest += std::pow(phase[b] - mean - slope * (static_cast<double>(b) - middle), 2);
  const double sd = std::sqrt(rest / static_cast<double>(bands - 2) / weight);
  if (sd > 0.1) return out;
  out.flicker = true;
  out.turn = slope * static_cast<double>(bands) / covered;
  out.rolling = std::abs(slope) > std::max(5 * sd, 0.02);
  if (!out.rolling) return out;
  // A row read later by d sees the phase advanced by 2 pi F d. Lamps flicker at twice the frequency
  // of the mains; sampled, that is seen folded, mirrored waves turning backwards. Rows read from
  // the top make the true turn positive.
  for (const double mains : {100.0, 120.0}) {
    const double folded = std::remainder(mains, 1 / step);
    if (std::abs(std::abs(folded) - out.frequency) > std::max(1.5 / span, 2e-3 * mains)) continue;
    const double turn = folded < 0 ? -out.turn : out.turn;
    if (out.mains > 0) return out.mains = 0, out.readout = 0, out;  // both fit
    out.mains = mains, out.readout = std::abs(turn) / (2 * std::numbers::pi * mains);
  }
  if (out.readout > step) out.mains = 0, out.readout = 0;
  return out;
}

}  // namespace impactlab::tracking
