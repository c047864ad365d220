// Correspondence of the instants of two cameras, and the line between their clocks.
//
// Every pair of instants is tried as the anchor of a shift; the others follow in order as far as
// they fit within their uncertainty and the drift that clocks have. Hypotheses are compared by
// chi-square and by what they leave unmatched, each such instant at the odds of being missed; the
// best is accepted only where no other is nearly as likely.

#include "tracking/sync/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kGate = 4.5;         // standard deviations
constexpr double kRateGate = 6;       // standard deviations of the prior: 300 ppm for 5e-5
constexpr double kMissed = 0.1;       // odds that a camera misses an instant
constexpr double kRunnerUp = 0.05;    // largest odds of another match beside the best
constexpr double kSmallestSd = 1e-9;  // [s]

using Pairs = std::vector<std::pair<int, int>>;

struct Line {
  // of the camera's instants, about which shift and rate are least correlated [s]
  double centre = 0;
  double at_centre = 0, rate = 1;                 // t_common = at_centre + rate * (t - centre)
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of (at_centre, rate)
  double chi2 = 0;
  bool rate_known = false;
  double At(double t) const { return at_centre + rate * (t - centre); }
};

double Variance(const Instant& reference, const Instant& camera) {
  const double a = std::max(reference.sd, kSmallestSd), b = std::max(camera.sd, kSmallestSd);
  return a * a + b * b;
}

// Weighted line; the prior of the rate takes part as long as the instants know it less well.
Line Solve(const std::vector<Instant>& reference, const std::vector<Instant>& camera,
           const Pairs& pairs, double rate_sd) {
  double w = 0, wt = 0, wd = 0;
  // d = t_reference - t_camera stays small, so that no digits are lost.
  const auto difference = [&](const std::pair<int, int>& p) {
    return reference[p.first].t - camera[p.second].t;
  };
  for (const auto& p : pairs) {
    const double weight = 1 / Variance(reference[p.first], camera[p.second]);
    w += weight, wt += weight * camera[p.second].t, wd += weight * difference(p);
  }
  Line line;
  line.centre = wt / w;
  const double d0 = wd / w;
  double tt = 0, td = 0;
  for (const auto& p : pairs) {
    const double weight = 1 / Variance(reference[p.first], camera[p.second]),
                 t = camera[p.second].t - line.centre;
    tt += weight * t * t, td += weight * t * (difference(p) - d0);
  }
  line.rate_known = pairs.size() > 1 && tt * rate_sd * rate_sd > 4;
  const double information = tt + (line.rate_known ? 0 : 1 / (rate_sd * rate_sd));
  line.rate = 1 + td / information;
  line.at_centre = line.centre + d0;
  line.cov << 1 / w, 0, 0, 1 / information;
  for (const auto& p : pairs) {
    const double left = reference[p.first].t - line.At(camera[p.second].t);
    line.chi2 += left * left / Variance(reference[p.first], camera[p.second]);
  }
  return line;
}

bool SameKind(const Instant& a, const Instant& b) { return a.what == b.what; }

// In order, the nearest partner of each within its gate.
Pairs Match(const std::vector<Instant>& reference, const std::vector<Instant>& camera,
            const Line& line) {
  struct Candidate {
    double z;
    int i, j;
  };
  std::vector<Candidate> candidates;
  std::size_t low = 0;
  double widest = 0;
  for (const Instant& r : reference) widest = std::max(widest, r.sd);
  for (std::size_t j = 0; j < camera.size(); ++j) {
    const double t = line.At(camera[j].t), off = camera[j].t - line.centre;
    const double of_line = line.cov(0, 0) + off * off * line.cov(1, 1);
    const double reach = kGate * std::sqrt(of_line + widest * widest + camera[j].sd * camera[j].sd +
                                           kSmallestSd * kSmallestSd);
    while (low < reference.size() && reference[low].t < t - reach) ++low;
    for (std::size_t i = low; i < reference.size() && reference[i].t <= t + reach; ++i) {
      if (!SameKind(reference[i], camera[j])) continue;
      const double z =
          std::abs(reference[i].t - t) / std::sqrt(of_line + Variance(reference[i], camera[j]));
      if (z <= kGate) candidates.push_back({z, static_cast<int>(i), static_cast<int>(j)});
    }
    if (low > 0) --low;
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.z < b.z; });
  Pairs pairs;
  for (const Candidate& c : candidates) {
    const bool crosses = std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) {
      return p.first == c.i || p.second == c.j || (p.first < c.i) != (p.second < c.j);
    });
    if (!crosses) pairs.emplace_back(c.i, c.j);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

struct Hypothesis {
  Line line;
  Pairs pairs;
  double score = 0;
};

// Grows the match from an anchor: near ones first, since the drift of the clocks is not known yet.
Hypothesis Grow(const std::vector<Instant>& reference, const std::vector<Instant>& camera,
                std::pair<int, int> anchor, double rate_sd) {
  Hypothesis h;
  h.pairs = {anchor};
  for (int round = 0; round < 8; ++round) {
    h.line = Solve(reference, camera, h.pairs, rate_sd);
    Line wide = h.line;
    if (!h.line.rate_known)
      wide.cov(1, 1) = std::max(wide.cov(1, 1), std::pow(kRateGate / kGate * rate_sd, 2));
    Pairs next = Match(reference, camera, wide);
    if (next.empty() || next == h.pairs) break;
    h.pairs = std::move(next);
  }
  h.line = Solve(reference, camera, h.pairs, rate_sd);
  const auto unmatched = reference.size() + camera.size() - 2 * h.pairs.size();
  h.score = static_cast<double>(unmatched) * std::log(kMissed) - 0.5 * h.line.chi2;
  return h;
}

void CheckInstants(std::vector<Instant>& list, const char* whose) {
  for (const Instant& i : list) {
    if (!std::isfinite(i.t) || !std::isfinite(i.sd) || i.sd < 0)
      throw ConfigError(fmt::format(
          "synchronisation: an instant of {} has no finite time, or a negative uncertainty",
          whose));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Instant& a, const Instant& b) { return a.t < b.t; });
}

// Where one camera saw a flash as a whole and the other its beginning and end, both are compared by
// their middle.
void TakeMiddles(std::vector<Instant>& list) {
  std::vector<Instant> out;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k].what == "flash on" && k + 1 < list.size() && list[k + 1].what == "flash off") {
      out.push_back({0.5 * (list[k].t + list[k + 1].t),
                     0.5 * std::hypot(list[k].sd, list[k + 1].sd), "flash"});
      ++k;
    } else {
      out.push_back(list[k]);
    }
  }
  list = std::move(out);
}

bool HasMiddles(const std::vector<Instant>& list) {
  return std::any_of(list.begin(), list.end(), [](const Instant& i) { return i.what == "flash"; });
}

// Every match of the two lists that an anchor grows into, best first.
std::vector<Hypothesis> Hypotheses(const std::vector<Instant>& reference,
                                   const std::vector<Instant>& camera, const SyncOptions& options) {
  std::vector<Hypothesis> all;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    for (std::size_t j = 0; j < camera.size(); ++j) {
      if (!SameKind(reference[i], camera[j]) ||
          std::abs(reference[i].t - camera[j].t) > options.shift_max)
        continue;
      const std::pair<int, int> anchor(static_cast<int>(i), static_cast<int>(j));
      // Already part of a match with drift: the same hypothesis again.
      const bool covered = std::any_of(all.begin(), all.end(), [&](const Hypothesis& h) {
        return h.pairs.size() > 1 &&
               std::find(h.pairs.begin(), h.pairs.end(), anchor) != h.pairs.end();
      });
      if (covered) continue;
      Hypothesis h = Grow(reference, camera, anchor, options.rate_sd);
      if (std::abs(h.line.rate - 1) > kRateGate * options.rate_sd) continue;
      if (std::none_of(all.begin(), all.end(),
                       [&](const Hypothesis& other) { return other.pairs == h.pairs; }))
        all.push_back(std::move(h));
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return all;
}

void TakeLine(const Hypothesis& best, const std::vector<Instant>& reference,
              const std::vector<Instant>& camera, CameraClock* clock) {
  clock->rate = best.line.rate;
  clock->shift = best.line.at_centre - best.line.rate * best.line.centre;
  Eigen::Matrix2d to_origin;
  to_origin << 1, -best.line.centre, 0, 1;
  clock->cov = to_origin * best.line.cov * to_origin.transpose();
  clock->rate_known = best.line.rate_known;
  clock->matched = static_cast<int>(best.pairs.size());
  double squares = 0;
  for (const auto& [i, j] : best.pairs)
    squares += std::pow(reference[i].t - best.line.At(camera[j].t), 2);
  clock->rms = std::sqrt(squares / clock->matched);
}

// Other hypotheses beside the best.
struct Rivals {
  double odds = 0;     // of all other shifts together, relative to the best
  double scatter = 0;  // variance of shifts that are the same within `same_shift` [s^2]
  int equals = 1;      // shifts about as likely, the best counted
  const Hypothesis* first = nullptr;
};

Rivals CompareRivals(const std::vector<Hypothesis>& all, const SyncOptions& options) {
  const Hypothesis& best = all.front();
  Rivals rivals;
  for (std::size_t k = 1; k < all.size(); ++k) {
    // Another choice between instants closer together than their uncertainty is no other clock.
    const double apart = all[k].line.At(best.line.centre) - best.line.at_centre;
    if (apart * apart < best.line.cov(0, 0) + all[k].line.cov(0, 0)) continue;
    // Nor is one within the true uncertainty of the instants: lossy coders move them by more than
    // the noise of the pixels gives.
    if (std::abs(apart) < options.same_shift) {
      rivals.scatter =
          std::max(rivals.scatter, apart * apart * std::exp(all[k].score - best.score));
      continue;
    }
    const double odds = std::exp(all[k].score - best.score);
    rivals.odds += odds;
    if (odds > kRunnerUp) ++rivals.equals;
    if (rivals.first == nullptr) rivals.first = &all[k];
  }
  return rivals;
}

}  // namespace

CameraClock Synchronise(const std::vector<Instant>& reference_in,
                        const std::vector<Instant>& camera_in, const SyncOptions& options) {
  if (!(options.rate_sd > 0) || !(options.rate_sd < 0.1))
    throw ConfigError("synchronisation: rate_sd must lie between 0 and 0.1");
  if (!(options.shift_max >= 0))
    throw ConfigError("synchronisation: shift_max_s must not be negative");
  std::vector<Instant> reference = reference_in, camera = camera_in;
  CheckInstants(reference, "the first camera"), CheckInstants(camera, "the camera");
  if (HasMiddles(reference) || HasMiddles(camera)) TakeMiddles(reference), TakeMiddles(camera);

  CameraClock clock;
  clock.cov << options.shift_max * options.shift_max, 0, 0, options.rate_sd * options.rate_sd;
  if (reference.empty() || camera.empty()) {
    clock.reason = reference.empty() ? "the first camera saw no flash and no other common instant"
                                     : "the camera saw no flash and no other common instant";
    return clock;
  }
  const std::vector<Hypothesis> all = Hypotheses(reference, camera, options);
  if (all.empty()) {
    clock.reason = fmt::format(
        "no instant of the one camera fits one of the other within a shift of {:g} s and a drift "
        "of {:.0f} ppm",
        options.shift_max, 1e6 * kRateGate * options.rate_sd);
    return clock;
  }
  const Hypothesis& best = all.front();
  TakeLine(best, reference, camera, &clock);
  const Rivals rivals = CompareRivals(all, options);
  if (rivals.odds > kRunnerUp && rivals.first != nullptr) {
    const Hypothesis& rival = *rivals.first;
    clock.reason = fmt::format(
        "ambiguous: {} shifts fit about as well, for example {:.4f} s with {} and {:.4f} s with {} "
        "instants of {} and {}; give the shift to a second or so, or flashes at uneven intervals",
        rivals.equals, best.line.at_centre - best.line.centre, best.pairs.size(),
        rival.line.at_centre - rival.line.centre, rival.pairs.size(), reference.size(),
        camera.size());
    return clock;
  }
  clock.usable = true;
  clock.cov(0, 0) += rivals.scatter;
  const double dof = clock.matched - 1.0 - (clock.rate_known ? 1 : 0);
  if (dof >= 1 && best.line.chi2 > ChiSquareQuantile(0.999, dof)) {
    clock.cov *= best.line.chi2 / dof;
    clock.reason = fmt::format(
        "instants scatter {:.1f} times as much as they should; the uncertainty is widened",
        std::sqrt(best.line.chi2 / dof));
  }
  if (!clock.rate_known) {
    if (!clock.reason.empty()) clock.reason += "; ";
    clock.reason +=
        fmt::format("drift not measured: the clocks are taken to run alike within {:.0f} ppm",
                    1e6 * options.rate_sd);
  }
  return clock;
}

}  // namespace impactlab
