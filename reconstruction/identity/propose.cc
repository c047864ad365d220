// The parts of WindowScore that deal with images seen by one camera alone, and the search for good
// namings of a window.

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "reconstruction/identity/detail/window.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

constexpr double kProposalImageRange = 200;  // over which images without a relation are spread [px]
// namings of one or two markers that are kept while one marker is named after another
constexpr std::size_t kBeamOfFew = 400;
constexpr std::size_t kProposalBeam = 60;  // of more
constexpr std::size_t kSets = 60;          // of images that may belong together
constexpr std::size_t kProposals = 24;     // namings of a window that are tried
constexpr std::size_t kWithSingles = 6;    // of these, the ones whose single images are named too
constexpr double kWorthTrying = 40;        // behind the best [nats]

}  // namespace

// Of a ray that should pass through p, whose position has this variance (one component).
double WindowScore::RayScore(const Ray& ray, const Vector3d& p, double variance) const {
  const double outlier = scene_.options.outlier_probability;
  const Vector3d to = p - ray.origin;
  const double z = to.dot(ray.direction);
  if (z <= 0) return std::log(outlier);
  const double squared = (to - z * ray.direction).squaredNorm(),
               range = kProposalImageRange * ray.pixel * z;
  const double both = variance + z * z * 0.5 * ray.spread.trace();
  return std::log((1 - outlier) * range * range / (2 * std::numbers::pi * both) *
                      std::exp(-0.5 * squared / both) +
                  outlier);
}

// One point known: the others lie on spheres about it, which their rays have to meet.
double WindowScore::SphereScore(const std::vector<SpacePoint>& points,
                                const std::vector<std::pair<const Ray*, int>>& rays) const {
  const Layout& layout = scene_.layout;
  double sum = 0;
  for (const auto& [ray, label] : rays) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!points[i].valid) continue;
      const Vector3d to = points[i].p - ray->origin;
      const double nearest = ray->direction.cross(to).norm(),
                   radius = (layout.p[i] - layout.p[label]).norm();
      const double sd = std::sqrt(points[i].cov.trace() / 3 + 2 * layout.sd * layout.sd +
                                  to.squaredNorm() * 0.5 * ray->spread.trace());
      if (nearest > radius + 4 * sd) sum += std::log(scene_.options.outlier_probability);
    }
  }
  return sum;
}

// Markers that one camera alone sees: where the others, seen by two, put them. With the body known
// up to a turn about the line through two markers, the images themselves propose the turn.
double WindowScore::SingleScore(const std::vector<Named>& named,
                                const std::vector<std::pair<int, int>>& singles) {
  const Layout& layout = scene_.layout;
  std::vector<std::pair<int, int>> open;
  for (const auto& single : singles) {
    if (layout.known[single.second]) open.push_back(single);
  }
  int known = 0;
  for (const Named& n : named) known += layout.known[n.label];
  if (open.empty() || known == 0) return 0;
  const std::size_t times = window_.times.size(), used = std::min<std::size_t>(times, 3);
  double sum = 0;
  for (std::size_t u = 0; u < used; ++u) {
    const std::size_t k = used > 1 ? u * (times - 1) / (used - 1) : times / 2;
    std::vector<SpacePoint> points(static_cast<std::size_t>(scene_.labels));
    for (const Named& n : named) {
      if (layout.known[n.label]) points[n.label] = tuples_[n.tuple].points[k];
    }
    std::vector<std::pair<const Ray*, int>> rays;
    for (const auto& [place, label] : open) {
      if (rays_[k][place]) rays.emplace_back(&*rays_[k][place], label);
    }
    if (rays.empty()) continue;
    const Placement at = PlaceLayout(layout.p, points);
    const double own = at.variance + layout.sd * layout.sd;
    const auto sum_at = [&](const Eigen::Matrix3d& R, const Vector3d& t) {
      double score = 0;
      for (const auto& [ray, label] : rays) {
        score += RayScore(*ray, R * layout.p[label] + t,
                          own * at.Leverage(layout.p[label]) + layout.sd * layout.sd);
      }
      return score;
    };
    if (at.rank == 3 || (at.rank == 1 && layout.collinear)) {
      sum += sum_at(at.R, at.t);
    } else if (at.rank == 1) {
      Vector3d axis = Vector3d::Zero();  // of the markers seen by two, in W
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].valid && (layout.p[i] - at.centre).norm() > axis.norm())
          axis = at.R * (layout.p[i] - at.centre);
      }
      axis.normalize();
      const Vector3d o = at.R * at.centre + at.t;
      double best = static_cast<double>(rays.size()) * std::log(scene_.options.outlier_probability);
      for (const auto& [ray, label] : rays) {
        const Vector3d arm = at.R * (layout.p[label] - at.centre);
        const Vector3d across = arm - arm.dot(axis) * axis;
        if (across.norm() < 3 * std::sqrt(own)) continue;
        // Where the ray comes to the distance of the marker from o; nearest to it where it never
        // does.
        const double b = ray->direction.dot(o - ray->origin);
        const double discriminant = b * b - (o - ray->origin).squaredNorm() + arm.squaredNorm();
        for (double sign : {-1.0, 1.0}) {
          const Vector3d hit =
              ray->origin + (b + sign * std::sqrt(std::max(discriminant, 0.0))) * ray->direction -
              o;
          const Vector3d to = hit - hit.dot(axis) * axis;
          if (to.norm() < 1e-9) continue;
          const double turn = std::atan2(axis.dot(across.cross(to)), across.dot(to));
          const Eigen::Matrix3d R = Eigen::AngleAxisd(turn, axis) * at.R;
          best = std::max(best, sum_at(R, o - R * at.centre));
        }
      }
      // One of the 2 n coordinates went into the turn.
      sum += best * (best > 0 ? 1 - 0.5 / static_cast<double>(rays.size()) : 1);
    } else {
      sum += SphereScore(points, rays);
    }
  }
  return weight_ * static_cast<double>(times) / static_cast<double>(used) * sum;
}

// Gives the images that are left to the markers that are left, the best pair first, as long as
// something supports it.
void WindowScore::AddSingles(const std::vector<Named>& named, std::string* naming) {
  if (named.empty()) return;
  std::vector<std::pair<int, int>> singles;
  double now = 0;
  for (;;) {
    double best = now + 0.5;
    std::pair<int, int> pick{-1, -1};
    for (std::size_t place = 0; place < naming->size(); ++place) {
      if ((*naming)[place] >= 0) continue;
      for (int label = 0; label < scene_.labels; ++label) {
        if (naming->find(static_cast<char>(label)) != std::string::npos ||
            !scene_.layout.known[label])
          continue;
        singles.emplace_back(static_cast<int>(place), label);
        const double score = SingleScore(named, singles);
        singles.pop_back();
        if (score > best) best = score, pick = {static_cast<int>(place), label};
      }
    }
    if (pick.first < 0) return;
    singles.push_back(pick);
    (*naming)[static_cast<std::size_t>(pick.first)] = static_cast<char>(pick.second);
    now = best;
  }
}

// Sets of images, at most one of a camera, all of whose rays meet; first those that compete with
// few others for their images.
std::vector<std::string> WindowScore::ImageSets() {
  const std::size_t n = window_.live.size();
  std::vector<std::string> sets;
  for (const Meeting& m : Meetings())
    sets.push_back({static_cast<char>(m.a), static_cast<char>(m.b)});
  for (std::size_t i = 0; i < sets.size() && sets.size() < 2000; ++i) {
    for (std::size_t j = static_cast<std::size_t>(sets[i].back()) + 1; j < n; ++j) {
      const bool meets = std::all_of(sets[i].begin(), sets[i].end(),
                                     [&](char place) { return meets_(place, j) > 0; });
      if (meets) sets.push_back(sets[i] + static_cast<char>(j));
    }
  }
  std::vector<int> rivals(n, 0);
  for (const std::string& set : sets) {
    for (char place : set) ++rivals[static_cast<std::size_t>(place)];
  }
  const auto crowd = [&](const std::string& set) {
    int sum = 0;
    for (char place : set) sum += rivals[static_cast<std::size_t>(place)];
    return sum;
  };
  std::stable_sort(sets.begin(), sets.end(),
                   [&](const std::string& l, const std::string& r) { return crowd(l) < crowd(r); });
  if (sets.size() > kSets) sets.resize(kSets);
  return sets;
}

std::vector<std::string> WindowScore::Propose() {
  const std::size_t n = window_.live.size();
  const std::vector<std::string> sets = ImageSets();
  std::vector<int> ids;
  ids.reserve(sets.size());
  for (const std::string& set : sets) ids.push_back(TupleOf(set));

  struct State {
    double score = 0;
    std::string naming;
    std::vector<Named> named;
  };
  const auto better = [](const State& a, const State& b) {
    return a.score != b.score ? a.score > b.score : a.naming < b.naming;
  };
  // States by the number of markers they name: few named are not to be crowded out by many named
  // wrongly.
  std::vector<std::vector<State>> levels(1, {{0, std::string(n, kOpen), {}}});
  for (std::size_t s = 0; s < sets.size(); ++s) {
    std::vector<std::vector<State>> fresh(levels.size() + 1);
    for (std::size_t k = 0; k < levels.size(); ++k) {
      for (const State& state : levels[k]) {
        const auto free = [&](char place) {
          return state.naming[static_cast<std::size_t>(place)] == kOpen;
        };
        if (!std::all_of(sets[s].begin(), sets[s].end(), free)) continue;
        for (int label = 0; label < scene_.labels; ++label) {
          // A marker whose place is not known can only be told by its name.
          if (!scene_.layout.known[label] &&
              scene_.pieces[window_.live[sets[s].front()]].track != label)
            continue;
          double score = tuples_[ids[s]].score;
          bool taken = false;
          for (const Named& other : state.named) {
            if ((taken = other.label == label)) break;
            score += PairScore(other.tuple, other.label, ids[s], label);
          }
          if (taken || score < 0) continue;
          State& added = fresh[k + 1].emplace_back(state);
          added.score += score;
          added.named.push_back({label, ids[s]});
          for (char place : sets[s])
            added.naming[static_cast<std::size_t>(place)] = static_cast<char>(label);
        }
      }
    }
    if (fresh.back().empty()) fresh.pop_back();
    if (levels.size() < fresh.size()) levels.resize(fresh.size());
    for (std::size_t k = 1; k < fresh.size(); ++k) {
      auto& level = levels[k];
      level.insert(level.end(), std::make_move_iterator(fresh[k].begin()),
                   std::make_move_iterator(fresh[k].end()));
      const std::size_t most = k < 3 ? kBeamOfFew : kProposalBeam;
      if (level.size() <= most) continue;
      std::nth_element(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(most),
                       level.end(), better);
      level.resize(most);
    }
  }
  std::vector<State> beam;
  for (auto& level : levels)
    beam.insert(beam.end(), std::make_move_iterator(level.begin()),
                std::make_move_iterator(level.end()));
  for (State& state : beam) state.score += Chirality(state.named);
  std::sort(beam.begin(), beam.end(), better);
  if (beam.size() > kProposals) beam.resize(kProposals);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < beam.size(); ++i) {
    if (beam[i].score < beam.front().score - kWorthTrying) break;
    if (i < kWithSingles) {
      std::string with = beam[i].naming;
      AddSingles(beam[i].named, &with);
      if (with != beam[i].naming) out.push_back(with);
    }
    out.push_back(beam[i].naming);
  }
  return out;
}

}  // namespace impactlab::reconstruction
