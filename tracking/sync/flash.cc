// Flashes in the brightness of a camera, timed to a part of a frame.
//
// The model is physical: a light that is on from `a` to `b` adds A * |[a, b] and [T - E/2, T +
// E/2]| / E to a row whose exposure E is centred on T = t + y t_line, on top of what was there.
// Base and A of every band follow by least squares; the posterior of the remaining time (flat
// prior) is summed on a grid that is refined about its maximum, so that a flash that began between
// two exposures, where brightness carries no information, gets the width of that gap, and an
// exposure that is not known is summed over (flat between 0 and the step of the frames). Grey
// levels are taken as linear in light: gamma shifts the time by up to a quarter of the exposure.

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tracking/sync/sync.h"

namespace impactlab {
namespace {

constexpr int kMargin = 7;       // frames taken on each side of an edge
constexpr int kLongestEdge = 4;  // steps of frames; slower changes are no flash
// band mean above which shares of an exposure are no longer seen
constexpr double kSaturated = 246;
constexpr double kNoiseFloor = 0.01;  // of a band mean [grey level]
// of the lamp, the response and a lossy coder, alike in all bands, as a share of the flash
constexpr double kUnsteady = 1e-2;
// fraction of the strongest change below which one is ascribed to lossy compression
constexpr double kWeak = 0.1;

// Neighbouring pairs of frames (k - 1, k), first..last, between which it becomes brighter or
// darker.
struct Edge {
  int first = 0, last = 0;
  bool rise = true;
};

struct Moments {
  double mean = 0, var = 0, log_mass = -std::numeric_limits<double>::infinity();
};

// Mean, variance and mass of exp(-chi2/2) over [lo, hi].
template <typename ChiSquare>
Moments Integrate(const ChiSquare& chi2, double lo, double hi) {
  constexpr int kCells = 160, kZooms = 12;
  std::vector<double> c(kCells);
  Moments out;
  for (int zoom = 0; zoom < kZooms; ++zoom) {
    const double step = (hi - lo) / kCells;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCells; ++i) best = std::min(best, c[i] = chi2(lo + (i + 0.5) * step));
    int first = kCells, last = -1;
    double mass = 0, sum = 0, sum2 = 0;
    for (int i = 0; i < kCells; ++i) {
      if (c[i] - best > 50) continue;
      first = std::min(first, i), last = i;
      const double w = std::exp(-0.5 * (c[i] - best)), x = i + 0.5;
      mass += w, sum += w * x, sum2 += w * x * x;
    }
    const double mean = sum / mass;
    out.mean = lo + mean * step;
    out.var = (std::max(0.0, sum2 / mass - mean * mean) + 1.0 / 12) * step * step;
    out.log_mass = std::log(mass * step) - 0.5 * best;
    if (last - first + 3 > kCells / 2) break;
    hi = lo + std::min(kCells, last + 2) * step;
    lo = lo + std::max(0, first - 1) * step;
  }
  return out;
}

// Of a mixture.
Moments Mix(const std::vector<Moments>& parts) {
  double top = -std::numeric_limits<double>::infinity();
  for (const Moments& m : parts) top = std::max(top, m.log_mass);
  double mass = 0, mean = 0, second = 0;
  for (const Moments& m : parts) {
    const double w = std::exp(m.log_mass - top);
    mass += w, mean += w * (m.mean - parts.front().mean);
  }
  mean /= mass;
  for (const Moments& m : parts) {
    const double off = m.mean - parts.front().mean - mean;
    second += std::exp(m.log_mass - top) * (m.var + off * off);
  }
  return {parts.front().mean + mean, second / mass, std::log(mass) + top};
}

class FlashFinder {
 public:
  explicit FlashFinder(const BrightnessSeries& series);
  std::vector<Instant> Find() const;

 private:
  int frames() const { return static_cast<int>(series_.t.size()); }
  int bands() const { return static_cast<int>(series_.bands.front().size()); }
  std::vector<Edge> Edges() const;
  // Share of the exposure of band `b` of frame `k` that falls into [on, off].
  double Share(int k, int b, double exposure, double on, double off) const;
  double ChiSquare(int first, int last, double exposure, double on, double off) const;
  std::vector<double> Exposures() const;
  void Choose(int first, int last);
  Instant Step(const Edge& edge, int first, int last);
  Instant Pulse(const Edge& rise, const Edge& fall, int first, int last);
  Instant Settle(const Moments& m, int first, int last, double on, double off, double exposure,
                 const char* what) const;

  const BrightnessSeries& series_;
  double step_ = 0;
  std::vector<double> mean_, noise_;  // of frames; of bands
  std::vector<int> used_;             // bands of the present flash
  std::vector<double> sd_;            // of used bands
};

FlashFinder::FlashFinder(const BrightnessSeries& series) : series_(series) {
  std::vector<double> steps;
  for (int k = 1; k < frames(); ++k) steps.push_back(series.t[k] - series.t[k - 1]);
  step_ = Median(steps);
  mean_.assign(series.t.size(), 0);
  for (int k = 0; k < frames(); ++k) mean_[k] = Mean(series.bands[k]);
  for (int b = 0; b < bands(); ++b) {
    std::vector<double> change;
    for (int k = 1; k < frames(); ++k)
      change.push_back(series.bands[k][b] - series.bands[k - 1][b]);
    noise_.push_back(std::hypot(kNoiseFloor, MadSigma(change) / std::sqrt(2.0)));
  }
}

std::vector<Edge> FlashFinder::Edges() const {
  std::vector<double> change(mean_.size(), 0);
  for (int k = 1; k < frames(); ++k) change[k] = mean_[k] - mean_[k - 1];
  const double limit = std::max(0.25, 8 * MadSigma({change.begin() + 1, change.end()}));
  std::vector<Edge> edges;
  for (int k = 1; k < frames(); ++k) {
    if (std::abs(change[k]) < limit) continue;
    const bool rise = change[k] > 0;
    if (!edges.empty() && edges.back().rise == rise && edges.back().last == k - 1) {
      edges.back().last = k;
    } else {
      edges.push_back({k, k, rise});
    }
  }
  // Something that moves into the picture brightens a part of it; a lamp all of it.
  std::erase_if(edges, [&](const Edge& e) {
    if (e.last - e.first >= kLongestEdge) return true;
    double largest = 0;
    std::vector<double> change_of(static_cast<std::size_t>(bands()));
    for (int b = 0; b < bands(); ++b) {
      change_of[b] = (series_.bands[e.last][b] - series_.bands[e.first - 1][b]) * (e.rise ? 1 : -1);
      largest = std::max(largest, change_of[b]);
    }
    const auto lit = std::count_if(change_of.begin(), change_of.end(),
                                   [&](double c) { return c > 0.1 * largest; });
    return 2 * lit < bands() && series_.t_line == 0;
  });
  const auto height = [&](const Edge& e) { return std::abs(mean_[e.last] - mean_[e.first - 1]); };
  double strongest = 0;
  for (const Edge& e : edges) strongest = std::max(strongest, height(e));
  std::erase_if(edges, [&](const Edge& e) { return height(e) < kWeak * strongest; });
  return edges;
}

double FlashFinder::Share(int k, int b, double exposure, double on, double off) const {
  const auto at = [&](double centre) {
    const double from = std::max(on, centre - exposure / 2),
                 to = std::min(off, centre + exposure / 2);
    return std::max(0.0, to - from) / exposure;
  };
  if (series_.t_line == 0) return at(series_.t[k]);
  constexpr int kRows = 6;  // the rows of a band are exposed one after another
  const double band_height = static_cast<double>(series_.height) / bands();
  double sum = 0;
  for (int i = 0; i < kRows; ++i)
    sum += at(series_.t[k] + ((b + (i + 0.5) / kRows) * band_height - 0.5) * series_.t_line);
  return sum / kRows;
}

double FlashFinder::ChiSquare(int first, int last, double exposure, double on, double off) const {
  const int n = last - first + 1;
  double total = 0;
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const int b = used_[u];
    double s1 = 0, s2 = 0, y1 = 0, y2 = 0, sy = 0;
    const double origin = series_.bands[first][b];
    for (int k = first; k <= last; ++k) {
      const double s = Share(k, b, exposure, on, off), y = series_.bands[k][b] - origin;
      s1 += s, s2 += s * s, y1 += y, y2 += y * y, sy += s * y;
    }
    const double ss = s2 - s1 * s1 / n, yy = y2 - y1 * y1 / n, cross = sy - s1 * y1 / n;
    const double left = ss > 1e-12 ? std::max(0.0, yy - cross * cross / ss) : yy;
    total += left / (sd_[u] * sd_[u]);
  }
  return total;
}

std::vector<double> FlashFinder::Exposures() const {
  if (series_.exposure > 0) return {series_.exposure};
  constexpr int kSteps = 16;
  std::vector<double> list;
  list.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) list.push_back((i + 0.5) / kSteps * step_);
  return list;
}

// Bands that show the flash without saturating, and what they scatter by.
void FlashFinder::Choose(int first, int last) {
  used_.clear(), sd_.clear();
  for (int b = 0; b < bands(); ++b) {
    double high = 0, low = 255;
    for (int k = first; k <= last; ++k)
      high = std::max(high, series_.bands[k][b]), low = std::min(low, series_.bands[k][b]);
    if (high > kSaturated || high - low < 3 * noise_[b]) continue;
    used_.push_back(b);
    sd_.push_back(kUnsteady * (high - low));
  }
  // What is alike in all bands does not average out over them.
  for (std::size_t u = 0; u < used_.size(); ++u)
    sd_[u] = std::hypot(noise_[used_[u]], sd_[u] * std::sqrt(static_cast<double>(used_.size())));
}

// Scatter beyond the noise (a lamp that does not start at once, clutter that moves) widens the
// answer.
Instant FlashFinder::Settle(const Moments& m, int first, int last, double on, double off,
                            double exposure, const char* what) const {
  const double dof = static_cast<double>(used_.size()) * (last - first - 1) - 1;
  const double chi2 = ChiSquare(first, last, exposure, on, off);
  double sd = std::sqrt(m.var);
  if (dof >= 1 && chi2 > ChiSquareQuantile(0.999, dof))
    sd = std::min(sd * std::sqrt(chi2 / dof), std::max(sd, step_));
  return {m.mean, sd, what};
}

Instant FlashFinder::Step(const Edge& edge, int first, int last) {
  Choose(first, last);
  const char* what = edge.rise ? "flash on" : "flash off";
  const double rows = series_.t_line * (series_.height - 1);
  const double lo = series_.t[edge.first - 1] - step_ + std::min(0.0, rows);
  const double hi = series_.t[edge.last] + step_ + std::max(0.0, rows);
  if (used_.empty()) {
    // Saturated: between the end of the last dark exposure and the end of the first bright one; the
    // exposure adds its own half.
    const double known = series_.exposure > 0 ? series_.exposure : 0.5 * step_;
    const double gap = series_.t[edge.first] - series_.t[edge.first - 1];
    const double half = (edge.rise ? 0.5 : -0.5) * known;
    const double middle =
        0.5 * (series_.t[edge.first] + series_.t[edge.first - 1]) + half + 0.5 * rows;
    return {middle,
            std::sqrt(
                (gap * gap + rows * rows + (series_.exposure > 0 ? 0 : 0.25 * step_ * step_)) / 12),
            what};
  }
  // A lamp that goes off is one that had been on for ever; base and amplitude absorb the sign.
  const double ever = series_.t.back() - series_.t.front() + 10 * step_ + std::abs(rows);
  std::vector<Moments> parts;
  for (const double exposure : Exposures())
    parts.push_back(
        Integrate([&](double a) { return ChiSquare(first, last, exposure, a, a + ever); }, lo, hi));
  const auto best =
      std::max_element(parts.begin(), parts.end(),
                       [](const Moments& a, const Moments& b) { return a.log_mass < b.log_mass; });
  return Settle(Mix(parts), first, last, best->mean, best->mean + ever,
                Exposures()[best - parts.begin()], what);
}

// Too short to reach its plateau: how long it was is summed over as well, and its middle is the
// instant.
Instant FlashFinder::Pulse(const Edge& rise, const Edge& fall, int first, int last) {
  const int lit = fall.last - rise.first;
  Choose(first, last);
  const double rows = series_.t_line * (series_.height - 1);
  const double lo = series_.t[rise.first] - step_ + std::min(0.0, rows),
               hi = series_.t[fall.last - 1] + step_ + std::max(0.0, rows);
  if (used_.empty()) return {0.5 * (lo + hi), (hi - lo) / std::sqrt(12.0), "flash"};
  constexpr int kLengths = 20;
  std::vector<Moments> parts;
  std::vector<double> lengths, exposures;
  for (const double exposure : Exposures()) {
    for (int i = 0; i < kLengths; ++i) {
      const double length = (i + 0.5) / kLengths * (lit + 1) * step_;
      parts.push_back(Integrate(
          [&](double middle) {
            return ChiSquare(first, last, exposure, middle - length / 2, middle + length / 2);
          },
          lo, hi));
      lengths.push_back(length), exposures.push_back(exposure);
    }
  }
  const auto best =
      std::max_element(parts.begin(), parts.end(),
                       [](const Moments& a, const Moments& b) { return a.log_mass < b.log_mass; });
  const auto i = static_cast<std::size_t>(best - parts.begin());
  return Settle(Mix(parts), first, last, best->mean - lengths[i] / 2, best->mean + lengths[i] / 2,
                exposures[i], "flash");
}

std::vector<Instant> FlashFinder::Find() const {
  FlashFinder work(*this);
  const std::vector<Edge> edges = Edges();
  const int n = static_cast<int>(edges.size());
  // Frames up to a neighbouring edge, whose own partial exposures are kept out.
  const auto from = [&](int e) {
    return std::max({0, edges[e].first - kMargin, e > 0 ? edges[e - 1].last : 0});
  };
  const auto to = [&](int e) {
    return std::min({frames() - 1, edges[e].last + kMargin - 1,
                     e + 1 < n ? edges[e + 1].first - 1 : frames() - 1});
  };
  std::vector<Instant> out;
  for (int e = 0; e < n; ++e) {
    const bool paired = e + 1 < n && edges[e].rise && !edges[e + 1].rise;
    if (paired && edges[e + 1].last - edges[e].first < 5) {
      out.push_back(work.Pulse(edges[e], edges[e + 1], from(e), to(e + 1)));
      ++e;
    } else if (edges[e].first - from(e) >= 2 && to(e) - edges[e].last >= 1) {
      out.push_back(work.Step(edges[e], from(e), to(e)));
    }
  }
  return out;
}

// Every frame of every recording goes through it.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) std::uint32_t SumOf(
    const std::uint8_t* p, int n) {
  std::uint32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += p[i];
  return sum;
}

}  // namespace

void AddFrame(const Frame& frame, int bands, BrightnessSeries* series) {
  const GrayImage& image = frame.image;
  series->height = image.height;
  const int n = std::min(bands, image.height);
  std::vector<double> means;
  for (int b = 0; b < n; ++b) {
    const int y0 = static_cast<int>(static_cast<long long>(b) * image.height / n);
    const int y1 = static_cast<int>(static_cast<long long>(b + 1) * image.height / n);
    std::uint64_t sum = 0;
    for (int y = y0; y < y1; ++y)
      sum += SumOf(image.pixels.data() + static_cast<std::size_t>(y) * image.width, image.width);
    means.push_back(static_cast<double>(sum) / (static_cast<double>(y1 - y0) * image.width));
  }
  series->t.push_back(frame.t);
  series->bands.push_back(std::move(means));
}

std::vector<Instant> FindFlashes(const BrightnessSeries& series) {
  if (series.t.size() != series.bands.size())
    throw ConfigError("brightness: as many times as frames are needed");
  if (series.t.size() < 5 || series.bands.front().empty()) return {};
  for (std::size_t k = 0; k < series.t.size(); ++k) {
    if (series.bands[k].size() != series.bands.front().size())
      throw ConfigError("brightness: every frame needs the same bands");
    if (k > 0 && !(series.t[k] > series.t[k - 1]))
      throw ConfigError("brightness: times must increase");
  }
  return FlashFinder(series).Find();
}

}  // namespace impactlab
