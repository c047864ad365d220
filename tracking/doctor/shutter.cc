// Rolling shutters under flickering lamps: the phase of the flicker changes from row to row.

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <utility>

#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {
namespace {

constexpr std::size_t kHalf = 12;  // frames of the running mean on either side

// Brightness of bands of rows over the frames.
struct BandWaves {
  std::vector<double> t;                  // [s]
  std::vector<std::vector<double>> wave;  // relative change of each band against its running mean
  std::size_t bands() const { return wave.size(); }
  double span() const { return t.back() - t.front(); }
  double step() const { return span() / static_cast<double>(t.size() - 1); }

  // Complex amplitude of a band at a frequency [Hz], by a Hann window.
  std::complex<double> Amplitude(std::size_t b, double f) const {
    const std::size_t n = t.size();
    std::complex<double> sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double window =
          0.5 - 0.5 * std::cos(2 * std::numbers::pi * (static_cast<double>(k) + 0.5) /
                               static_cast<double>(n));
      sum += wave[b][k] * window * std::polar(1.0, -2 * std::numbers::pi * f * (t[k] - t[0]));
    }
    return 4.0 / static_cast<double>(n) * sum;
  }
  double Power(double f, std::size_t every) const {
    double sum = 0;
    for (std::size_t b = 0; b < bands(); b += every) sum += std::norm(Amplitude(b, f));
    return sum;
  }
};

BandWaves MakeWaves(const std::vector<double>& t, const std::vector<FrameMeasure>& frames) {
  const std::size_t n = frames.size(), bands = frames.front().bands.size();
  BandWaves waves{t, std::vector<std::vector<double>>(bands, std::vector<double>(n, 0))};
  for (std::size_t b = 0; b < bands; ++b) {
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t from = k < kHalf ? 0 : k - kHalf, to = std::min(n, k + kHalf + 1);
      double mean = 0;
      for (std::size_t j = from; j < to; ++j)
        mean += frames[j].bands[b] / static_cast<double>(to - from);
      waves.wave[b][k] = mean > 5 ? frames[k].bands[b] / mean - 1 : 0;
    }
  }
  return waves;
}

// Frequency of the strongest common wave and its power; nothing where none stands out. Searched
// above what the running mean takes away and below half of the rate, where a wave and its alias
// coincide; a long recording as finely as its length asks for, up to a limit.
std::optional<std::pair<double, double>> FindFrequency(const BandWaves& waves) {
  const double step = waves.step();
  const int cells = static_cast<int>(std::min<std::size_t>(waves.t.size(), 600));
  const double lowest = 1.5 / (2 * kHalf * step), highest = 0.48 / step;
  std::vector<double> power;
  double best = 0, frequency = 0;
  for (int i = 0; i < cells; ++i) {
    const double f = lowest + (highest - lowest) * (i + 0.5) / cells;
    const double sum = waves.Power(f, 2);
    power.push_back(sum);
    if (sum > best) best = sum, frequency = f;
  }
  if (!(best > 60 * Median(power)) ||
      std::sqrt(best / (0.5 * static_cast<double>(waves.bands()))) < 2e-3)
    return std::nullopt;
  // Between the cells of the search, by halving steps.
  double d = (highest - lowest) / cells;
  while (d > 0.02 / waves.span()) {
    for (const double f : {frequency - d, frequency + d})
      if (waves.Power(f, 1) > waves.Power(frequency, 1)) frequency = f;
    d /= 2;
  }
  return std::pair(frequency, best);
}

// Slope of the phase from band to band by least squares, turning by less than half a circle each,
// and its standard deviation [rad]; nothing where a band hardly has the wave.
std::optional<std::pair<double, double>> PhaseSlope(const BandWaves& waves, double frequency,
                                                    double best) {
  const std::size_t bands = waves.bands();
  std::vector<double> phase;
  for (std::size_t b = 0; b < bands; ++b) {
    const auto a = waves.Amplitude(b, frequency);
    if (std::abs(a) < 0.3 * std::sqrt(best / (0.5 * static_cast<double>(bands))))
      return std::nullopt;
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
  return std::pair(slope, std::sqrt(rest / static_cast<double>(bands - 2) / weight));
}

}  // namespace

ShutterEvidence FindShutter(const std::vector<double>& t, const std::vector<FrameMeasure>& frames,
                            double covered) {
  ShutterEvidence out;
  const std::size_t n = frames.size();
  if (n < 48 || frames.front().bands.size() < 4) return out;
  const double span = t.back() - t.front(), step = span / static_cast<double>(n - 1);
  if (!(step > 0)) return out;
  const BandWaves waves = MakeWaves(t, frames);
  const auto found = FindFrequency(waves);
  if (!found) return out;
  out.frequency = found->first;
  const auto phase = PhaseSlope(waves, out.frequency, found->second);
  if (!phase || phase->second > 0.1) return out;
  const auto [slope, sd] = *phase;
  out.flicker = true;
  out.turn = slope * static_cast<double>(waves.bands()) / covered;
  out.rolling = std::abs(slope) > std::max(5 * sd, 0.02);
  if (!out.rolling) return out;
  // A row read later by d has its phase advanced by 2 pi F d. Lamps flicker at twice the frequency
  // of the mains, sampled as an alias; a mirrored alias turns backwards. Rows read from the top
  // make the true turn positive.
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
