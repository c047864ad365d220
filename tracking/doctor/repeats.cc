// Frames without an exposure of their own, found by pictures that return, noise that does not
// change, and motion that halts or jumps.

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "data/statistics/order_statistic.h"
#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {
namespace {

using Samples = std::vector<std::vector<std::uint16_t>>;

// Whether the pictures of the clip differ so much that two equal ones, pixel by pixel, are no
// chance. Judged by the pairs that do differ, however few: where software writes every frame four
// times they are a quarter.
bool CopiesAreSignificant(const std::vector<FrameMeasure>& frames, const Samples& samples,
                          bool predicted) {
  std::vector<double> equal, changed;
  for (std::size_t k = 1; k < frames.size(); ++k) {
    if (frames[k].identical) continue;
    const auto& blocks = samples[k - 1];
    equal.push_back(frames[k].equal);
    changed.push_back(static_cast<double>(std::count_if(blocks.begin(), blocks.end(),
                                                        [](auto d) { return d > 0; })) /
                      static_cast<double>(blocks.size()));
  }
  if (equal.size() < 4) return false;
  // A moving body changes a few blocks, noise most of them. A predicting coder leaves noise as it
  // was where it spends no bits on it; where it spends them in every frame most pixels change.
  return Quantile(changed, 0.1) > 0.5 && Quantile(equal, 0.95) < (predicted ? 0.65 : 0.97);
}

// Pairs whose noise is (nearly) that of the frame before.
std::vector<char> RepeatsByNoise(const std::vector<FrameMeasure>& frames, const Samples& samples,
                                 bool predicted, bool* informative) {
  const std::size_t n = samples.size();
  std::vector<char> repeats(frames.size(), 0);
  *informative = false;
  // A predicting coder leaves what changes little as it was: pictures of a scene at rest are equal,
  // and noise decides nothing.
  if (predicted || n < 5) return repeats;
  // What a block differs by when nothing moves in it and it is not a repeat.
  const std::size_t blocks = samples.front().size();
  std::vector<double> usual(blocks);
  std::vector<std::size_t> others;  // without exact copies
  for (std::size_t k = 0; k < n; ++k)
    if (!frames[k + 1].identical) others.push_back(k);
  if (others.size() < 4) return repeats;
  std::vector<float> column(others.size());
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t k = 0; k < others.size(); ++k) column[k] = samples[others[k]][b];
    const auto rank = static_cast<std::size_t>(0.6 * static_cast<double>(others.size() - 1));
    usual[b] = OrderStatistic(column, rank) / kSampleScale;
  }
  std::vector<std::size_t> noisy;
  for (std::size_t b = 0; b < blocks; ++b)
    if (usual[b] > 0.1) noisy.push_back(b);
  // A moving body changes some blocks too, and rests before it falls; noise is in many blocks.
  if (noisy.size() < std::max<std::size_t>(8, blocks / 5)) return repeats;
  std::vector<double> ratio(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> r;
    r.reserve(noisy.size());
    for (const std::size_t b : noisy) r.push_back(samples[k][b] / kSampleScale / usual[b]);
    ratio[k] = Median(std::move(r));
  }
  constexpr double kRepeat = 0.25;
  *informative = true;
  for (std::size_t k = 0; k < n;) {
    if (ratio[k] >= kRepeat) {
      ++k;
      continue;
    }
    std::size_t end = k;
    while (end < n && ratio[end] < kRepeat) ++end;
    // A long quiet interval after shaking is rest, unless no noise at all changes in it.
    const bool frozen = std::all_of(ratio.begin() + static_cast<std::ptrdiff_t>(k),
                                    ratio.begin() + static_cast<std::ptrdiff_t>(end),
                                    [](double r) { return r < 0.02; });
    if (end - k <= 6 || frozen)
      for (std::size_t j = k; j < end; ++j) repeats[j + 1] = 1;
    k = end;
  }
  return repeats;
}

struct Motion {
  const std::vector<FrameMeasure>& frames;
  int blocks;
  bool Inside(long long k) const { return k >= 1 && k < static_cast<long long>(frames.size()); }
  // A body that moves through the picture as a whole.
  bool Clear(long long k) const {
    if (!Inside(k)) return false;
    const FrameMeasure& m = frames[k];
    return m.active > 0 && m.active < 0.4 * blocks && m.balance < 0.25 && Size(k) > 0;
  }
  double Size(long long k) const { return std::hypot(frames[k].moment[0], frames[k].moment[1]); }
  double Cosine(long long a, long long b) const {
    const auto &u = frames[a].moment, &v = frames[b].moment;
    return (u[0] * v[0] + u[1] * v[1]) / std::max(1e-300, Size(a) * Size(b));
  }
  // Less than half of the change and a quarter of the displacement of frame `a`: coders leave some.
  bool Halts(long long a, long long k) const {
    const auto &u = frames[a].moment, &v = frames[k].moment;
    // the light, or the camera, moved instead
    if (frames[k].change > 1.3 * frames[a].change + 0.2) return false;
    // the same motion might not be seen (key frame of a coder)
    if (frames[k].hidden > 0.6 * frames[a].strongest) return false;
    return frames[k].activity < 0.5 * frames[a].activity &&
           u[0] * v[0] + u[1] * v[1] < 0.25 * Size(a) * Size(a);
  }
  // Far above what a coder leaves of the frame before.
  bool Strong(long long k) const { return Clear(k) && frames[k].strongest > 8 * frames[k].hidden; }
  bool StandsStill(long long moving, long long k) const {
    const FrameMeasure &a = frames[moving], &b = frames[k];
    return b.activity < 0.1 * a.activity && b.strongest < 0.15 * a.strongest &&
           b.change < 0.3 * a.change;
  }
  bool Near(double a, double b, double tolerance) const {
    return std::abs(a - b) <= tolerance * std::max(a, b);
  }
};

// Software that writes every picture several times: motion in every second (third ...) frame alone,
// time after time.
void RepeatsByBeat(const Motion& motion, std::vector<char>* repeats) {
  constexpr int kTimes = 4;
  const auto n = static_cast<long long>(motion.frames.size());
  for (int every = 2; every <= 8; ++every) {
    const auto beats = [&](long long k) {  // moves at k and stands still up to the next
      if (!motion.Strong(k) || k + every > n) return false;
      for (long long j = k + 1; j < k + every; ++j)
        if (!motion.StandsStill(k, j)) return false;
      return true;
    };
    for (long long k = 1; k < n;) {
      long long end = k;
      while (beats(end)) end += every;
      if (end - k >= static_cast<long long>(kTimes) * every) {
        for (long long j = k; j < end; ++j) (*repeats)[j] |= (j - k) % every != 0;
      }
      k = std::max(end, k + 1);
    }
  }
}

// Motion that halts for a frame or a few and then continues in the same direction and by the same
// steps. At a bounce the direction changes, so that a body in the same place before and after is no
// repeat. Not asked where the noise decides: a body before a background of its own brightness seems
// to halt.
bool RepeatsByHalts(const Motion& motion, std::vector<char>* repeats) {
  const std::vector<FrameMeasure>& frames = motion.frames;
  const auto n = static_cast<long long>(frames.size());
  bool any = false;
  for (long long k = 3; k + 2 < n; ++k) {
    if (!motion.Clear(k - 1) || !motion.Clear(k - 2)) continue;
    long long end = k;
    while (end < n && end - k < 4 && motion.Halts(k - 1, end)) ++end;
    if (end == k || end - k > 3 || !motion.Clear(end) || !motion.Clear(end + 1)) continue;
    const bool onward = motion.Cosine(k - 1, end) > 0.7 && motion.Cosine(k - 2, k - 1) > 0.7 &&
                        motion.Cosine(end, end + 1) > 0.7;
    if (!onward || !motion.Near(motion.Size(k - 2), motion.Size(k - 1), 0.35)) continue;
    if (!motion.Near(motion.Size(k - 1), motion.Size(end + 1), 0.35)) continue;
    // A body whose brightness approaches that of its background for a moment changes less before
    // and after, too; a longer halt must be a full one.
    bool full = motion.Near(frames[k - 1].activity, frames[end].activity, 0.4) ||
                motion.Size(end) > 1.5 * motion.Size(k - 1);
    for (long long j = k; j < end && end - k > 1; ++j)
      full = full && frames[j].activity < 0.2 * frames[k - 1].activity;
    if (!full) continue;
    for (long long j = k; j < end; ++j) (*repeats)[j] = 1;
    any = true;
  }
  return any;
}

// Lists the repeats. A coder may hold the noise while the motion continues: that is no repeat.
void ListRepeats(const Motion& motion, const std::vector<char>& by_noise,
                 std::vector<char>* repeats, RepeatedFrames* out) {
  const std::vector<FrameMeasure>& frames = motion.frames;
  for (long long k = 1; k < static_cast<long long>(frames.size()); ++k) {
    if ((*repeats)[k] == 0) continue;
    if (!frames[k].identical && motion.Clear(k) && motion.Clear(k - 1) &&
        frames[k].activity > 0.5 * frames[k - 1].activity) {
      (*repeats)[k] = 0;
      continue;
    }
    (frames[k].identical && by_noise[k] != 0 ? out->by_copy : out->by_noise) |= by_noise[k] != 0;
    out->repeated.push_back(k);
    out->exposures[k] = 0;
  }
}

// Size of the motion in frame k by a line through the steps around it.
struct StepLine {
  StepLine(const Motion& motion, const std::vector<long long>& steps, long long at) : k(at) {
    double xx = 0, xy = 0;
    for (const long long j : steps) {
      mean_x += static_cast<double>(j - k) / static_cast<double>(steps.size());
      mean_y += motion.Size(j) / static_cast<double>(steps.size());
    }
    for (const long long j : steps) {
      const double x = static_cast<double>(j - k) - mean_x;
      xx += x * x, xy += x * (motion.Size(j) - mean_y);
    }
    slope = xy / xx;
  }
  double At(long long j) const { return mean_y + slope * (static_cast<double>(j - k) - mean_x); }
  long long k;
  double mean_x = 0, mean_y = 0, slope = 0;
};

// Exposures that the step of motion into frame k spans, where it is a whole multiple (2 to 8) of
// what the steps on both sides give; 1 where it is not. `halted`: repeats just before.
long SpannedExposures(const Motion& motion, const std::vector<char>& repeats, long long k,
                      bool predicted, long long* halted) {
  const std::vector<FrameMeasure>& frames = motion.frames;
  // Coders make motion uneven, so that more steps around must be even there.
  const int around = predicted ? 3 : 2;
  const double tolerance = predicted ? 0.12 : 0.2;
  constexpr int kFewBlocks = 8;
  if (k < around || k + around >= static_cast<long long>(frames.size())) return 1;
  std::vector<long long> steps_around;
  long long before = k - 1;
  *halted = 0;
  while (before > 0 && repeats[before] != 0) --before, ++*halted;
  for (long long j = before - around + 1; j <= before; ++j) steps_around.push_back(j);
  for (long long j = k + 1; j <= k + around; ++j) steps_around.push_back(j);
  bool clear = motion.Clear(k) && repeats[k] == 0;
  for (const long long j : steps_around)
    clear = clear && motion.Clear(j) && repeats[j] == 0 && motion.Cosine(j, k) > 0.85 &&
            frames[j].change < 2 * frames[k].change + 0.2;
  if (!clear) return 1;
  const StepLine line(motion, steps_around, k);
  for (const long long j : steps_around)
    clear = clear && motion.Near(motion.Size(j), line.At(j), tolerance);
  if (predicted)
    for (const long long j : steps_around)
      clear = clear && frames[k].activity > 1.25 * frames[j].activity;
  const double steps = motion.Size(k) / line.At(k);
  const long whole = std::lround(steps);
  if (!clear || whole < 2 || whole > 8 || std::abs(steps - static_cast<double>(whole)) > 0.25)
    return 1;
  // A body on a longer way touches a few more blocks. A coder that encodes the whole picture anew
  // changes many, each a little, and their distance from the middle makes the moment large.
  int most = 0;
  for (const long long j : steps_around) most = std::max(most, frames[j].active);
  return frames[k].active > (whole + 1) * most + kFewBlocks ? 1 : whole;
}

}  // namespace

RepeatedFrames FindRepeated(const std::vector<FrameMeasure>& frames, const Samples& samples,
                            int blocks, bool predicted) {
  RepeatedFrames out;
  const auto n = static_cast<long long>(frames.size());
  out.exposures.assign(frames.size(), 1);
  if (n > 0) out.exposures[0] = 0;
  bool informative = false;
  std::vector<char> repeats = RepeatsByNoise(frames, samples, predicted, &informative);
  const bool copies = CopiesAreSignificant(frames, samples, predicted);
  for (long long k = 1; copies && k < n; ++k) repeats[k] |= static_cast<char>(frames[k].identical);
  informative |= copies;
  const Motion motion{frames, blocks};
  long long moving = 0;
  for (long long k = 1; k < n; ++k) moving += motion.Clear(k);
  out.decidable = informative || moving >= 5;

  const std::vector<char> by_noise = repeats;
  if (!informative) RepeatsByBeat(motion, &repeats);
  out.by_motion = repeats != by_noise;
  if (!informative) out.by_motion |= RepeatsByHalts(motion, &repeats);
  ListRepeats(motion, by_noise, &repeats, &out);
  for (long long k = 1; k < n; ++k) {
    long long halted = 0;
    const long whole = SpannedExposures(motion, repeats, k, predicted, &halted);
    if (whole < 2) continue;
    out.exposures[k] = static_cast<int>(whole);
    // As many frames repeated as exposures lost: the stamps stay right. Otherwise they lost time.
    if (whole - 1 > halted) out.lost.push_back(k);
  }
  // A picture that was there long before is out of order.
  out.shown.resize(frames.size());
  std::unordered_map<std::uint64_t, long long> first;
  for (long long k = 0; k < n; ++k) {
    out.shown[k] = k;
    if (repeats[k] != 0) {
      out.shown[k] = out.shown[k - 1];
    } else if (const auto [old, is_new] = first.emplace(frames[k].print, k); !is_new && copies) {
      out.shown[k] = out.shown[old->second];
      out.returned.push_back(k);
      out.exposures[k] = 0;
    }
  }
  for (long long k = 1; k < n; ++k)
    out.decided += informative || motion.Clear(k) || repeats[k] != 0;
  return out;
}

}  // namespace impactlab::tracking
