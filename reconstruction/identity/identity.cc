#include "reconstruction/identity/identity.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "data/base/error.h"
#include "reconstruction/identity/detail/layout.h"
#include "reconstruction/identity/detail/motion.h"

namespace impactlab {
namespace {

using namespace reconstruction;
using Eigen::Vector3d;

constexpr double kDecidedLogOdds = 5;   // log odds below which a name is not given
constexpr double kDoubt = 3;            // the same, against there being no marker
constexpr double kMostRayMiss = 3;      // of the rays, root mean square [standard deviations]
constexpr double kMostUndecided = 0.1;  // share of named points that may be left out as undecided

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// Places of the rig's cameras by name.
std::vector<int> RigCameras(const MarkerTracks& tracks, const CameraRig& rig) {
  std::vector<int> out;
  for (const std::string& name : tracks.cameras) {
    const auto at = std::find_if(rig.cameras.begin(), rig.cameras.end(),
                                 [&](const RigCamera& c) { return c.name == name; });
    if (at == rig.cameras.end()) {
      std::vector<std::string> known;
      for (const RigCamera& c : rig.cameras) known.push_back(c.name);
      throw ConfigError(fmt::format("identity: the tracks have a camera {}, the rig has {}", name,
                                    known.empty() ? "none" : Join(known)));
    }
    out.push_back(static_cast<int>(at - rig.cameras.begin()));
  }
  return out;
}

// A permutation of the layout that no distance tells from the original, beyond `tolerance` [m];
// empty when there is none. One that mirrors a body whose markers are not in one plane is told by
// its handedness.
std::vector<int> Symmetry(const Layout& layout, double tolerance) {
  const int n = static_cast<int>(layout.p.size());
  const auto& p = layout.p;
  std::vector<int> at, found;
  const auto distance = [&](int i, int j) { return (p[i] - p[j]).norm(); };
  const auto mirrors = [&] {
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n; ++b) {
        for (int c = b + 1; c < n; ++c) {
          for (int d = c + 1; d < n; ++d) {
            const auto volume = [&](int i, int j, int k, int l) {
              return (p[j] - p[i]).dot((p[k] - p[i]).cross(p[l] - p[i]));
            };
            const double v = volume(a, b, c, d), other = volume(at[a], at[b], at[c], at[d]);
            if (v * other < 0 && std::abs(v) > 3 * tolerance * layout.extent * layout.extent)
              return true;
          }
        }
      }
    }
    return false;
  };
  const std::function<bool(bool)> extend = [&](bool moved) {
    const int i = static_cast<int>(at.size());
    if (i == n) {
      if (moved && !mirrors()) found = at;
      return !found.empty();
    }
    for (int to = 0; to < n; ++to) {
      bool fits = std::find(at.begin(), at.end(), to) == at.end();
      for (int j = 0; fits && j < i; ++j)
        fits = std::abs(distance(i, j) - distance(to, at[j])) < tolerance;
      if (!fits) continue;
      at.push_back(to);
      if (extend(moved || to != i)) return true;
      at.pop_back();
    }
    return false;
  };
  extend(false);
  return found;
}

// Pixels a metre, for every camera of the tracks, where the rays of its images meet others.
std::vector<double> Scales(const Scene& scene, const std::vector<ImagePair>& pairs) {
  std::vector<double> depth(scene.rig->cameras.size(), 0), count(depth.size(), 0), out;
  for (const ImagePair& pair : pairs) {
    const auto a = RayOf(*scene.rig, pair.camera_a, {pair.q_a, Eigen::Matrix2d::Zero()}, 0.1);
    const auto b = RayOf(*scene.rig, pair.camera_b, {pair.q_b, Eigen::Matrix2d::Zero()}, 0.1);
    if (!a || !b) continue;
    const SpacePoint point = IntersectRays({&*a, &*b});
    if (!point.valid) continue;
    for (const Ray* ray : {&*a, &*b}) {
      depth[ray->camera] += (point.p - ray->origin).norm() * ray->pixel;
      count[ray->camera] += 1;
    }
  }
  for (int c : scene.rig_camera) out.push_back(count[c] > 0 ? count[c] / depth[c] : 800);
  return out;
}

struct Solved {
  PieceNaming naming;
  Layout layout;
};

std::vector<WindowScore> Scores(const Scene& scene, const std::vector<TimeWindow>& windows) {
  std::vector<WindowScore> scores;
  scores.reserve(windows.size());
  for (const TimeWindow& window : windows) scores.emplace_back(scene, window);
  return scores;
}

// With a layout in hand the naming follows; without one both are found in turns, from several
// starts.
Solved Solve(Scene* scene, const std::vector<TimeWindow>& windows, bool given) {
  auto scores = Scores(*scene, windows);
  const Layout empty = scene->layout;
  if (given) return {NamePieces(*scene, windows, scores), scene->layout};
  Solved best;
  bool first = true;
  for (const Layout& start : StartLayouts(*scene, windows, scores, 2)) {
    scene->layout = start;
    Solved solved;
    for (int round = 0; round < 3; ++round) {
      auto own = Scores(*scene, windows);
      solved = {NamePieces(*scene, windows, own), scene->layout};
      const auto known = scene->layout.known;
      if (round < 2) scene->layout = LearnLayout(*scene, windows, own, solved.naming.label);
      if (round == 1 && scene->layout.known == known) {
        solved.layout = scene->layout;
        break;
      }
    }
    if (first || solved.naming.score > best.naming.score) best = solved;
    first = false;
  }
  scene->layout = first ? empty : best.layout;
  return best;
}

// The points under their new names. A point between two pieces (predicted, or an outlier) follows
// them where they agree.
void Rename(const MarkerTracks& in, const Scene& scene, const std::vector<char>& label,
            MarkerTracks* out) {
  std::vector<char> to(in.points.size(), kOpen);
  for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
    for (int k : scene.pieces[i].points) to[k] = label[i];
  }
  const auto same_track = [&](std::size_t i, std::size_t j) {
    return in.points[i].camera == in.points[j].camera && in.points[i].marker == in.points[j].marker;
  };
  const std::vector<char> seen = to;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (seen[i] != kOpen) continue;
    char before = kOpen, after = kOpen;
    for (std::size_t j = i; j-- > 0 && same_track(i, j);) {
      if (seen[j] != kOpen) {
        before = seen[j];
        break;
      }
    }
    for (std::size_t j = i + 1; j < to.size() && same_track(i, j); ++j) {
      if (seen[j] != kOpen) {
        after = seen[j];
        break;
      }
    }
    if (before == kOpen) before = after;
    if (after == kOpen) after = before;
    to[i] = before == after && before >= 0 ? before : kNone;
  }
  std::set<std::tuple<int, int, long long>> taken;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (seen[i] >= 0) taken.insert({in.points[i].camera, seen[i], in.points[i].frame});
  }
  out->points.clear();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0) continue;
    if (seen[i] == kOpen && !taken.insert({in.points[i].camera, to[i], in.points[i].frame}).second)
      continue;
    TrackPoint point = in.points[i];
    if (point.marker != to[i]) point.flags |= kRelabelled;
    point.marker = MarkerOf(to[i]);
    out->points.push_back(point);
  }
  Sort(out);
}

void ListChanges(const MarkerTracks& in, const Scene& scene, const PieceNaming& naming,
                 std::vector<IdentityChange>* changes) {
  int last = -2;  // piece of the change at the end of the list
  for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
    const Piece& piece = scene.pieces[i];
    if (naming.label[i] == piece.track) continue;
    IdentityChange change;
    change.camera = piece.camera;
    change.first = in.points[piece.points.front()].frame;
    change.last = in.points[piece.points.back()].frame;
    change.from = in.markers[piece.track];
    if (naming.label[i] >= 0) change.to = in.markers[static_cast<std::size_t>(naming.label[i])];
    change.log_odds = naming.keep[i];
    if (piece.before >= 0 && piece.before == last && changes->back().to == change.to) {
      changes->back().last = change.last;
      changes->back().log_odds = std::min(changes->back().log_odds, change.log_odds);
    } else {
      changes->push_back(change);
    }
    last = static_cast<int>(i);
  }
}

void Figures(const Scene& scene, const std::vector<TimeWindow>& windows,
             const std::vector<char>& label, IdentityResult* result, int* times) {
  std::vector<double> misses;
  double sum = 0, n = 0;
  auto scores = Scores(scene, windows);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const std::string names = NamesIn(windows[w], label);
    scores[w].Misses(names, &misses);
    for (const auto& row : scores[w].Points(names)) {
      *times += std::any_of(row.begin(), row.end(), [](const SpacePoint& p) { return p.valid; });
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = i + 1; j < row.size(); ++j) {
          if (!row[i].valid || !row[j].valid || !scene.layout.known[i] || !scene.layout.known[j])
            continue;
          sum += std::pow(
              (row[i].p - row[j].p).norm() - (scene.layout.p[i] - scene.layout.p[j]).norm(), 2);
          n += 1;
        }
      }
    }
  }
  double squares = 0;
  for (double z : misses) squares += z * z;
  if (!misses.empty()) result->ray_rms = std::sqrt(squares / static_cast<double>(misses.size()));
  if (n > 0) result->layout_rms = std::sqrt(sum / n);
}

// Layout of the scene: as given, or with nothing known but the number of markers.
void StartLayout(const std::vector<Vector3d>& layout, Scene* scene) {
  const bool given = !layout.empty();
  const auto n = static_cast<std::size_t>(scene->labels);
  scene->layout.sd = scene->options.layout_sd;
  scene->layout.p = given ? layout : std::vector<Vector3d>(n, Vector3d::Zero());
  scene->layout.known.assign(n, given);
  MeasureLayout(&scene->layout);
}

// Why a given layout cannot tell its markers apart; empty where it can.
std::string SymmetryFault(const Scene& scene, const std::vector<std::string>& markers) {
  const std::vector<int> symmetry =
      Symmetry(scene.layout, 2 * std::sqrt(2.0) * scene.options.layout_sd);
  if (symmetry.empty()) return {};
  std::vector<std::string> moved;
  for (std::size_t i = 0; i < symmetry.size(); ++i) {
    if (symmetry[i] != static_cast<int>(i))
      moved.push_back(markers[i] + " for " + markers[static_cast<std::size_t>(symmetry[i])]);
  }
  return fmt::format(
      "the layout has a symmetry: exchanging {} leaves all distances as they are; move one marker",
      Join(moved));
}

double ShortestFrame(const std::vector<double>& frame_times) {
  double shortest = 0;
  for (double h : frame_times) {
    if (h > 0 && (shortest == 0 || h < shortest)) shortest = h;
  }
  return shortest;
}

// Everything that follows from a choice of the clocks.
struct ClockSolution {
  Scene scene;
  std::vector<double> shifts;
  std::vector<TimeWindow> windows;
  Solved solved;
  std::string refusal;
};

ClockSolution SolveWithShifts(const Scene& scene, const std::vector<double>& shifts, bool given) {
  ClockSolution a{scene, shifts, {}, {}, ""};
  for (Piece& piece : a.scene.pieces) {
    for (double& t : piece.t) t += shifts[piece.camera];
  }
  a.windows = MakeWindows(&a.scene);
  for (const TimeWindow& window : a.windows) {
    if (window.live.size() > 120) a.refusal = "more than 120 tracks at the same time";
  }
  if (!a.refusal.empty()) return a;
  const auto pairs = LikelyPairs(a.scene, a.windows, Scores(a.scene, a.windows));
  if (pairs.empty()) {
    a.refusal =
        "no rays of two cameras meet: no common frames, or rig or times are not those of the "
        "recording";
    return a;
  }
  a.scene.spread = SpreadOfRig(*scene.rig, pairs);
  a.scene.scale = Scales(a.scene, pairs);
  a.solved = Solve(&a.scene, a.windows, given);
  if (a.solved.naming.label.empty()) {
    a.refusal =
        "no two markers are seen by two cameras at the same time, and their distances are not "
        "given";
  }
  return a;
}

// Clocks as recorded, or moved where the rays of the cameras meet better so: first without names,
// then with those that were found.
ClockSolution SolveWithBestClocks(const Scene& scene, const std::vector<double>& frame_times,
                                  bool given) {
  const auto better = [](const ClockSolution& a, const ClockSolution& b) {
    return a.refusal.empty() &&
           (!b.refusal.empty() || a.solved.naming.score > b.solved.naming.score);
  };
  ClockSolution chosen =
      SolveWithShifts(scene, std::vector<double>(scene.rig_camera.size(), 0), given);
  const std::vector<double> guess = ClockShifts(scene, frame_times);
  if (std::any_of(guess.begin(), guess.end(), [](double s) { return s != 0; })) {
    ClockSolution other = SolveWithShifts(scene, guess, given);
    if (better(other, chosen)) chosen = std::move(other);
  }
  for (int round = 0; round < 3 && chosen.refusal.empty(); ++round) {
    const std::vector<double> more =
        RefinedShifts(chosen.scene, chosen.solved.naming.label, frame_times);
    std::vector<double> sum = chosen.shifts;
    bool moved = false;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      sum[c] += more[c];
      moved = moved || more[c] != 0;
    }
    if (!moved) break;
    ClockSolution other = SolveWithShifts(scene, sum, given);
    if (!better(other, chosen)) break;
    chosen = std::move(other);
  }
  return chosen;
}

void NoteShifts(const std::vector<double>& shifts, const std::vector<std::string>& cameras,
                IdentityResult* result) {
  for (std::size_t c = 0; c < shifts.size(); ++c) {
    const double shift = shifts[c];
    result->shifts.push_back(shift);
    if (shift == 0) continue;
    result->notes.push_back(
        fmt::format("the rays of {} meet the others best {:.3g} ms {}: allowed for in the names, "
                    "not changed in the tracks",
                    cameras[c], 1e3 * std::abs(shift), shift > 0 ? "later" : "earlier"));
  }
}

// Leaves out names that another marker could have as well: a wrong name is worse than none. Why
// the result is refused where that leaves out too much; empty otherwise.
std::string KeepCertainNames(const Scene& scene, const MarkerTracks& tracks, PieceNaming* naming,
                             IdentityResult* result) {
  double named = 0, undecided = 0, least = kCertain;
  result->log_odds = kCertain;
  std::string rivals;
  std::map<std::pair<int, int>, int> left_out;
  const auto name = [&](int marker) { return tracks.markers[static_cast<std::size_t>(marker)]; };
  const std::vector<char> label = naming->label;
  std::vector<char> sure = label;
  for (std::size_t i = 0; i < sure.size(); ++i) {
    // A single image fits somewhere by chance more easily than a row of them.
    const bool brief = static_cast<int>(scene.pieces[i].points.size()) < scene.options.piece_min;
    if (naming->odds[i] < (brief ? 2.5 : 1) * kDecidedLogOdds || naming->doubt[i] < kDoubt)
      sure[i] = kNone;
  }
  MotionCheck motion = CheckAgainstMotion(scene, sure, label);
  naming->label = std::move(motion.label);
  for (std::size_t i = 0; i < scene.pieces.size(); ++i) {
    const Piece& piece = scene.pieces[i];
    const auto n = static_cast<double>(piece.points.size());
    if (label[i] < 0) continue;
    named += n;
    if (naming->label[i] >= 0) {
      result->log_odds =
          std::min(result->log_odds, motion.odds[i] > 0 ? motion.odds[i] : naming->odds[i]);
      if (naming->label[i] != label[i]) naming->keep[i] = motion.odds[i];
      continue;
    }
    undecided += n;
    left_out[{piece.camera, piece.track}] += static_cast<int>(n);
    if (naming->odds[i] >= least || naming->rival[i] < 0) continue;
    least = naming->odds[i];
    rivals = fmt::format("{} in {} from {:.4f} s on could be {}", name(label[i]),
                         tracks.cameras[static_cast<std::size_t>(piece.camera)], piece.t.front(),
                         name(naming->rival[i]));
  }
  if (undecided > kMostUndecided * named) {
    result->log_odds = least;
    return fmt::format("{:.0f} % of the points could be one marker or another: {}",
                       100 * undecided / named, rivals);
  }
  for (const auto& [track, n] : left_out) {
    result->notes.push_back(
        fmt::format("{} points of {} in {} are left out: which marker they are is not certain", n,
                    name(track.second), tracks.cameras[static_cast<std::size_t>(track.first)]));
  }
  return {};
}

// Why the names do not fit rig, times or layout; empty where they do.
std::string MisfitOf(const Scene& scene, const IdentityResult& result, int times) {
  if (times < 3)
    return fmt::format("images of two cameras belong together at {} times only", times);
  if (result.ray_rms > kMostRayMiss) {
    return fmt::format(
        "rays miss each other by {:.1f} standard deviations: rig or times are not those of the "
        "recording",
        result.ray_rms);
  }
  if (result.layout_rms > std::max(10 * scene.options.layout_sd, 0.03 * scene.layout.extent)) {
    return fmt::format(
        "distances between the markers differ from the layout by {:.1f} mm (root mean square): not "
        "the layout of this body",
        1e3 * result.layout_rms);
  }
  return {};
}

}  // namespace

IdentityResult ResolveIdentity(const MarkerTracks& input, const CameraRig& rig,
                               const std::vector<Vector3d>& layout,
                               const IdentityOptions& options) {
  if (layout.size() > input.markers.size()) {
    throw ConfigError(fmt::format("identity: the layout has {} markers, the tracks name {}",
                                  layout.size(), input.markers.size()));
  }
  Scene scene;
  scene.rig = &rig;
  scene.rig_camera = RigCameras(input, rig);
  scene.options = options;
  IdentityResult result;
  MarkerTracks tracks = input;
  Sort(&tracks);
  result.tracks = tracks;
  const auto refuse = [&](const std::string& reason) {
    result.reason = reason;
    return result;
  };
  const bool given = !layout.empty();
  scene.labels = static_cast<int>(given ? layout.size() : tracks.markers.size());
  if (scene.labels > 100)
    return refuse(fmt::format("{} markers are more than can be told apart (100)", scene.labels));
  StartLayout(layout, &scene);
  if (given && scene.labels > 1) {
    const std::string fault = SymmetryFault(scene, tracks.markers);
    if (!fault.empty()) return refuse(fault);
  }
  scene.pieces = CutPieces(tracks);
  std::set<int> seeing;
  for (const Piece& piece : scene.pieces) seeing.insert(piece.camera);
  if (seeing.size() < 2) {
    return refuse(seeing.empty() ? "there are no points"
                                 : fmt::format("only {} has points; names are as they came",
                                               tracks.cameras[*seeing.begin()]));
  }
  const std::vector<double> frame_times = FrameTimes(tracks);
  scene.tolerance = 0.01 * ShortestFrame(frame_times);
  ClockSolution chosen = SolveWithBestClocks(scene, frame_times, given);
  if (!chosen.refusal.empty()) return refuse(chosen.refusal);
  scene = std::move(chosen.scene);
  PieceNaming& naming = chosen.solved.naming;
  NoteShifts(chosen.shifts, tracks.cameras, &result);
  std::string fault = KeepCertainNames(scene, tracks, &naming, &result);
  if (!fault.empty()) return refuse(fault);
  int times = 0;
  Figures(scene, chosen.windows, naming.label, &result, &times);
  fault = MisfitOf(scene, result, times);
  if (!fault.empty()) return refuse(fault);
  result.usable = true;
  ListChanges(tracks, scene, naming, &result.changes);
  Rename(tracks, scene, naming.label, &result.tracks);
  return result;
}

}  // namespace impactlab
