#include "reconstruction/identity/detail/pieces.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "data/statistics/order_statistic.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector2d;

// deviations from straight motion below this are not looked at [px]
constexpr double kJumpFloor = 2.5;
constexpr double kEncounter = 8;        // images nearer than this may have been exchanged [px]
constexpr long long kLongestGap = 2;    // frames from one point to the next that need no cut
constexpr double kStanding = 1.5;       // that is not called motion [px]
constexpr double kMostOfTheTime = 0.5;  // share of the recording
constexpr double kTrustGap = 1.5, kTrustImpact = 2, kTrustHidden = 1.5, kTrustJump = 0.3,
                 kTrustEncounter = 0.5;

// Seen points of one track and where it is cut: cut[i] is before point i, with the trust that the
// name survives it.
struct Run {
  int camera = 0, track = 0;
  std::vector<int> points;
  double jump = kJumpFloor;  // deviation from straight motion that is suspicious [px]
  std::map<int, double> cuts;
  void Cut(int i, double trust) {
    if (i <= 0 || i >= static_cast<int>(points.size())) return;
    const auto [at, fresh] = cuts.emplace(i, trust);
    if (!fresh) at->second = std::min(at->second, trust);
  }
};

double Deviation(const TrackPoint& a, const TrackPoint& b, const TrackPoint& c) {
  const double h = b.t - a.t;
  if (!(h > 0)) return 0;
  return (c.q - b.q - (b.q - a.q) * ((c.t - b.t) / h)).norm();
}

void CutAlone(const MarkerTracks& tracks, Run* run) {
  const auto at = [&](int i) -> const TrackPoint& { return tracks.points[run->points[i]]; };
  const int n = static_cast<int>(run->points.size());
  std::vector<double> deviations;
  for (int i = 2; i < n; ++i) {
    if (at(i).frame - at(i - 2).frame <= 2)
      deviations.push_back(Deviation(at(i - 2), at(i - 1), at(i)));
  }
  if (!deviations.empty())
    run->jump = std::max(kJumpFloor, 1 + 4 * UpperMedian(std::move(deviations)));
  for (int i = 1; i < n; ++i) {
    if (at(i).frame - at(i - 1).frame > kLongestGap) run->Cut(i, kTrustGap);
    if (at(i).flags & kImpact) run->Cut(i, kTrustImpact);
    if ((at(i).flags ^ at(i - 1).flags) & kTouching) run->Cut(i, kTrustEncounter);
    if ((at(i).flags ^ at(i - 1).flags) & kHidden) run->Cut(i, kTrustHidden);
  }
  int begin = 0;  // of the piece so far
  for (int i = 1; i < n; ++i) {
    bool jump = false;
    if (run->cuts.count(i)) {
      begin = i;
      continue;
    }
    if (i - begin >= 2) {
      jump = Deviation(at(i - 2), at(i - 1), at(i)) > run->jump;
    } else if (i + 1 < n && !run->cuts.count(i + 1)) {
      jump = Deviation(at(i + 1), at(i), at(i - 1)) > run->jump;
    }
    if (!jump) continue;
    run->Cut(i, kTrustJump);
    begin = i;
  }
}

// Least distance of two images while they move straight from one frame to the next.
double Nearest(const Vector2d& r0, const Vector2d& r1) {
  const Vector2d d = r1 - r0;
  const double squared = d.squaredNorm();
  const double s = squared > 0 ? std::clamp(-r0.dot(d) / squared, 0.0, 1.0) : 0;
  return (r0 + s * d).norm();
}

void CutEncounters(const MarkerTracks& tracks, Run* a, Run* b) {
  // Steps between consecutive common points, and how near the two came.
  struct Step {
    int a, b;  // points after the step
    double distance;
  };
  std::vector<Step> steps;
  const double limit = std::max(kEncounter, 2 * std::max(a->jump, b->jump));
  const auto flush = [&] {
    if (steps.empty()) return;
    const auto nearest =
        std::min_element(steps.begin(), steps.end(),
                         [](const Step& l, const Step& r) { return l.distance < r.distance; });
    // At the ends and about the middle: what was seen in between is decided point by point.
    const auto middle = nearest - steps.begin(), size = static_cast<std::ptrdiff_t>(steps.size());
    for (std::ptrdiff_t k = 0; k < size; ++k) {
      if (k > 1 && k < size - 2 && std::abs(k - middle) > 1) continue;
      a->Cut(steps[k].a, kTrustEncounter);
      b->Cut(steps[k].b, kTrustEncounter);
    }
    a->Cut(steps.back().a + 1, kTrustEncounter);
    b->Cut(steps.back().b + 1, kTrustEncounter);
    steps.clear();
  };
  std::size_t i = 0, j = 0;
  int last_i = -1, last_j = -1;
  while (i < a->points.size() && j < b->points.size()) {
    const TrackPoint& p = tracks.points[a->points[i]];
    const TrackPoint& r = tracks.points[b->points[j]];
    if (p.frame < r.frame) {
      ++i;
    } else if (r.frame < p.frame) {
      ++j;
    } else {
      if (last_i >= 0) {
        const Vector2d r0 = tracks.points[a->points[last_i]].q - tracks.points[b->points[last_j]].q;
        const double distance = Nearest(r0, p.q - r.q);
        if (distance < limit) {
          steps.push_back({static_cast<int>(i), static_cast<int>(j), distance});
        } else {
          flush();
        }
      }
      last_i = static_cast<int>(i++);
      last_j = static_cast<int>(j++);
    }
  }
  flush();
}

// Slope of a straight line through up to four points from `begin` on.
Vector2d Slope(const Piece& piece, std::size_t begin, std::size_t end) {
  double t = 0, tt = 0;
  Vector2d q = Vector2d::Zero(), tq = Vector2d::Zero();
  const double n = static_cast<double>(end - begin);
  for (std::size_t i = begin; i < end; ++i) t += piece.t[i] / n;
  for (std::size_t i = begin; i < end; ++i) q += piece.q[i] / n;
  for (std::size_t i = begin; i < end; ++i) {
    tt += (piece.t[i] - t) * (piece.t[i] - t);
    tq += (piece.t[i] - t) * (piece.q[i] - q);
  }
  return tt > 0 ? Vector2d(tq / tt) : Vector2d::Zero();
}

// Reflections and stains stand still while the body passes.
void FindStanding(const MarkerTracks& tracks, std::vector<Piece>* pieces) {
  std::map<int, std::pair<double, double>> span;  // of the camera's points [s]
  for (const Piece& piece : *pieces) {
    auto [at, fresh] = span.emplace(piece.camera, std::pair(piece.t.front(), piece.t.back()));
    at->second = {std::min(at->second.first, piece.t.front()),
                  std::max(at->second.second, piece.t.back())};
  }
  for (Piece& piece : *pieces) {
    Vector2d mean = Vector2d::Zero();
    for (const Vector2d& q : piece.q) mean += q / static_cast<double>(piece.q.size());
    const auto near = [&](const Vector2d& q) { return (q - mean).norm() < kStanding; };
    if (!std::all_of(piece.q.begin(), piece.q.end(), near)) continue;
    double first = piece.t.front(), last = piece.t.back();
    for (const TrackPoint& p : tracks.points) {
      if (p.camera != piece.camera || (p.flags & (kPredicted | kOutlier)) || !near(p.q)) continue;
      first = std::min(first, p.t);
      last = std::max(last, p.t);
    }
    const auto [begin, end] = span.at(piece.camera);
    piece.standing = last - first > kMostOfTheTime * (end - begin);
  }
}

}  // namespace

std::vector<double> FrameTimes(const MarkerTracks& tracks) {
  std::vector<std::vector<double>> steps(tracks.cameras.size());
  for (std::size_t i = 1; i < tracks.points.size(); ++i) {
    const TrackPoint &a = tracks.points[i - 1], &b = tracks.points[i];
    if (a.camera != b.camera || a.marker != b.marker || b.frame <= a.frame || !(b.t > a.t))
      continue;
    steps[a.camera].push_back((b.t - a.t) / static_cast<double>(b.frame - a.frame));
  }
  std::vector<double> out;
  out.reserve(steps.size());
  for (auto& s : steps) out.push_back(UpperMedian(std::move(s)));
  return out;
}

std::vector<Piece> CutPieces(const MarkerTracks& tracks) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < tracks.points.size(); ++i) {
    const TrackPoint& p = tracks.points[i];
    if ((p.flags & (kPredicted | kOutlier)) || !p.q.allFinite() || !std::isfinite(p.t)) continue;
    if (runs.empty() || runs.back().camera != p.camera || runs.back().track != p.marker) {
      runs.emplace_back();
      runs.back().camera = p.camera;
      runs.back().track = p.marker;
    }
    // a time that runs backwards
    if (!runs.back().points.empty() && !(tracks.points[runs.back().points.back()].t < p.t))
      continue;
    runs.back().points.push_back(static_cast<int>(i));
  }
  for (Run& run : runs) CutAlone(tracks, &run);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size() && runs[j].camera == runs[i].camera; ++j)
      CutEncounters(tracks, &runs[i], &runs[j]);
  }
  std::vector<Piece> pieces;
  for (const Run& run : runs) {
    for (std::size_t i = 0; i < run.points.size(); ++i) {
      const auto cut = run.cuts.find(static_cast<int>(i));
      if (i == 0 || cut != run.cuts.end()) {
        Piece piece;
        piece.camera = run.camera;
        piece.track = run.track;
        if (i > 0) piece.before = static_cast<int>(pieces.size()) - 1, piece.trust = cut->second;
        pieces.push_back(piece);
      }
      const TrackPoint& p = tracks.points[run.points[i]];
      Piece& piece = pieces.back();
      piece.points.push_back(run.points[i]);
      piece.t.push_back(p.t);
      piece.q.push_back(p.q);
      piece.cov.push_back(p.cov.allFinite() ? p.cov : Eigen::Matrix2d::Zero());
    }
  }
  for (Piece& piece : pieces) {
    const std::size_t n = piece.t.size(), m = std::min<std::size_t>(n, 4);
    piece.moving = n >= 2;
    if (!piece.moving) continue;
    piece.v_first = Slope(piece, 0, m);
    piece.v_last = Slope(piece, n - m, n);
  }
  FindStanding(tracks, &pieces);
  return pieces;
}

std::optional<ImagePoint> ImageAtTime(const Piece& piece, double t, double tolerance) {
  if (piece.t.empty() || t < piece.t.front() - tolerance || t > piece.t.back() + tolerance)
    return std::nullopt;
  const int n = static_cast<int>(piece.t.size());
  const int next =
      static_cast<int>(std::lower_bound(piece.t.begin(), piece.t.end(), t) - piece.t.begin());
  for (int i : {next - 1, next}) {
    if (i >= 0 && i < n && std::abs(piece.t[i] - t) <= tolerance)
      return ImagePoint{piece.q[i], piece.cov[i]};
  }
  const int count = std::min(4, n), begin = std::clamp(next - 2, 0, n - count);
  ImagePoint out{Vector2d::Zero(), Eigen::Matrix2d::Zero()};
  for (int i = begin; i < begin + count; ++i) {
    double weight = 1;
    for (int j = begin; j < begin + count; ++j) {
      if (j != i) weight *= (t - piece.t[j]) / (piece.t[i] - piece.t[j]);
    }
    out.q += weight * piece.q[i];
    out.cov += weight * weight * piece.cov[i];
  }
  return out;
}

}  // namespace impactlab::reconstruction
