#include "reconstruction/identity/detail/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kWindows = 6;  // tried as a start
constexpr std::size_t kLayoutBeam = 60;

// Sets of images, one a camera, that are taken for one marker each.
struct Matching {
  double score = 0;
  std::vector<std::string> sets;  // of places in the window
};

std::vector<Matching> Matchings(const Scene& scene, const TimeWindow& window,
                                const std::vector<WindowScore::Meeting>& meetings) {
  const auto better = [](const Matching& a, const Matching& b) { return a.score > b.score; };
  std::vector<Matching> beam{{}};
  for (const auto& m : meetings) {
    std::vector<Matching> next;
    for (const Matching& matching : beam) {
      next.push_back(matching);
      std::string *of_a = nullptr, *of_b = nullptr;
      Matching with = matching;
      for (std::string& set : with.sets) {
        if (set.find(static_cast<char>(m.a)) != std::string::npos) of_a = &set;
        if (set.find(static_cast<char>(m.b)) != std::string::npos) of_b = &set;
      }
      if (of_a && of_b) continue;
      const char added = static_cast<char>(of_a ? m.b : m.a);
      if (!of_a && !of_b) {
        with.sets.push_back({static_cast<char>(m.a), static_cast<char>(m.b)});
      } else {
        std::string& set = of_a ? *of_a : *of_b;
        const int camera = scene.pieces[window.live[static_cast<std::size_t>(added)]].camera;
        const auto same = [&](char place) {
          return scene.pieces[window.live[static_cast<std::size_t>(place)]].camera == camera;
        };
        if (std::any_of(set.begin(), set.end(), same)) continue;
        set.insert(std::upper_bound(set.begin(), set.end(), added), added);
      }
      with.score += m.score;
      next.push_back(with);
    }
    std::sort(next.begin(), next.end(), better);
    if (next.size() > kLayoutBeam) next.resize(kLayoutBeam);
    beam.swap(next);
  }
  return beam;
}

// How well distances stay what they are.
double Constancy(const Scene& scene, WindowScore& score, const std::vector<std::string>& sets) {
  double sum = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::size_t j = i + 1; j < sets.size(); ++j) {
      const auto a = score.PointsOf(sets[i]), b = score.PointsOf(sets[j]);
      std::vector<double> d, sd;
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (!a[k].valid || !b[k].valid) continue;
        const Vector3d between = b[k].p - a[k].p;
        const Vector3d u = between.normalized();
        d.push_back(between.norm());
        sd.push_back(std::sqrt(u.dot((a[k].cov + b[k].cov) * u) + 1e-8));
      }
      if (d.size() < 2) continue;
      const double mid = Median(d);
      for (std::size_t k = 0; k < d.size(); ++k) {
        const double gain = 0.2 / (sd[k] * std::sqrt(2 * std::numbers::pi)) *
                            std::exp(-0.5 * std::pow((d[k] - mid) / sd[k], 2));
        sum += score.weight() * std::log(gain + scene.options.outlier_probability);
      }
    }
  }
  return sum;
}

// Medians of points brought into the frame of a layout, label by label.
Layout Medians(const Layout& start, const std::vector<std::vector<Vector3d>>& seen,
               std::size_t least) {
  Layout out = start;
  for (std::size_t l = 0; l < seen.size(); ++l) {
    if (seen[l].size() < least) continue;
    Vector3d spread;
    Vector3d middle;
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<double> x;
      for (const Vector3d& p : seen[l]) x.push_back(p[axis]);
      middle[axis] = Median(x);
      for (double& v : x) v = std::abs(v - middle[axis]);
      spread[axis] = 1.48 * Median(x);
    }
    // What moves about in the body is no part of it.
    out.known[l] = spread.norm() < std::max(10 * out.sd, 0.05 * start.extent);
    if (out.known[l]) out.p[l] = middle;
  }
  MeasureLayout(&out);
  return out;
}

}  // namespace

std::vector<Layout> StartLayouts(const Scene& scene, const std::vector<TimeWindow>& windows,
                                 std::vector<WindowScore>& scores, int count) {
  struct Start {
    double score = 0;
    std::size_t window = 0;
    Matching matching;
  };
  std::vector<Start> starts;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    // Greedy, to choose the windows.
    Start start{0, w, {}};
    std::string used;
    for (const auto& m : scores[w].Meetings()) {
      if (used.find(static_cast<char>(m.a)) != std::string::npos ||
          used.find(static_cast<char>(m.b)) != std::string::npos)
        continue;
      used.push_back(static_cast<char>(m.a));
      used.push_back(static_cast<char>(m.b));
      start.score += m.score;
    }
    if (used.size() >= 4) starts.push_back(start);
  }
  const auto better = [](const Start& a, const Start& b) { return a.score > b.score; };
  std::sort(starts.begin(), starts.end(), better);
  if (starts.size() > kWindows) starts.resize(kWindows);
  std::vector<Start> ranked;
  for (const Start& start : starts) {
    auto meetings = scores[start.window].Meetings();
    for (Matching& matching : Matchings(scene, windows[start.window], meetings)) {
      matching.score += Constancy(scene, scores[start.window], matching.sets);
      ranked.push_back({matching.score, start.window, matching});
    }
  }
  std::sort(ranked.begin(), ranked.end(), better);
  std::vector<Layout> out;
  for (const Start& start : ranked) {
    if (static_cast<int>(out.size()) == count) break;
    Layout layout;
    const auto L = static_cast<std::size_t>(scene.labels);
    layout.p.assign(L, Vector3d::Zero());
    layout.known.assign(L, 0);
    layout.sd = scene.layout.sd;
    const TimeWindow& window = windows[start.window];
    const std::size_t times = window.times.size(), middle = times / 2;
    std::vector<std::vector<SpacePoint>> points(times, std::vector<SpacePoint>(L));
    for (const std::string& set : start.matching.sets) {
      const auto label = static_cast<std::size_t>(
          scene.pieces[window.live[static_cast<std::size_t>(set.front())]].track);
      const auto& own = scores[start.window].PointsOf(set);
      if (!own[middle].valid || layout.known[label]) continue;
      layout.p[label] = own[middle].p;
      layout.known[label] = 1;
      for (std::size_t k = 0; k < times; ++k) points[k][label] = own[k];
    }
    MeasureLayout(&layout);
    std::vector<std::vector<Vector3d>> seen(L);
    for (const auto& row : points) {
      const Placement at = PlaceLayout(layout.p, row);
      if (at.n < 2) continue;
      for (std::size_t l = 0; l < L; ++l) {
        if (row[l].valid && (at.rank == 3 || layout.collinear))
          seen[l].push_back(at.R.transpose() * (row[l].p - at.t));
      }
    }
    out.push_back(Medians(layout, seen, 2));
  }
  return out;
}

Layout LearnLayout(const Scene& scene, const std::vector<TimeWindow>& windows,
                   std::vector<WindowScore>& scores, const std::vector<char>& label) {
  const auto L = static_cast<std::size_t>(scene.labels);
  std::vector<std::vector<Vector3d>> seen(L);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    for (const auto& row : scores[w].Points(NamesIn(windows[w], label))) {
      std::vector<SpacePoint> known(L);
      for (std::size_t l = 0; l < L; ++l) {
        if (scene.layout.known[l]) known[l] = row[l];
      }
      const Placement at = PlaceLayout(scene.layout.p, known);
      if (at.n < 2 || !(at.rank == 3 || scene.layout.collinear)) continue;
      for (std::size_t l = 0; l < L; ++l) {
        if (row[l].valid) seen[l].push_back(at.R.transpose() * (row[l].p - at.t));
      }
    }
  }
  return Medians(scene.layout, seen, 4);
}

std::vector<ImagePair> LikelyPairs(const Scene& scene, const std::vector<TimeWindow>& windows,
                                   const std::vector<WindowScore>& scores) {
  std::vector<ImagePair> out;
  const std::size_t step = std::max<std::size_t>(1, windows.size() / 6);
  for (std::size_t w = 0; w < windows.size(); w += step) {
    std::string used;
    for (const auto& m : scores[w].Meetings()) {
      if (used.find(static_cast<char>(m.a)) != std::string::npos ||
          used.find(static_cast<char>(m.b)) != std::string::npos)
        continue;
      used.push_back(static_cast<char>(m.a));
      used.push_back(static_cast<char>(m.b));
      const Piece &a = scene.pieces[windows[w].live[static_cast<std::size_t>(m.a)]],
                  &b = scene.pieces[windows[w].live[static_cast<std::size_t>(m.b)]];
      const double t = windows[w].times[windows[w].times.size() / 2];
      const auto q_a = ImageAtTime(a, t, scene.tolerance), q_b = ImageAtTime(b, t, scene.tolerance);
      if (q_a && q_b)
        out.push_back({scene.rig_camera[a.camera], scene.rig_camera[b.camera], q_a->q, q_b->q});
    }
  }
  return out;
}

}  // namespace impactlab::reconstruction
