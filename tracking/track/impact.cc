#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/infinity.h"
#include "tracking/track/detail/active_track.h"

namespace impactlab::tracking {
namespace {

constexpr double kMissCost = 16;     // of a marker that should be seen and is not, -2 ln(p)
constexpr double kCostOfImpact = 8;  // of an impact in this frame
constexpr double kSureOfImpact = 6;  // the next best assignment must cost this much more
constexpr double kSpinJump = 40;     // jump of the angular velocity, one standard deviation [rad/s]
constexpr double kForeshort = 0.04;  // change of size with the jump, relative
// Bounds on the work in one frame, whatever it shows.
constexpr std::size_t kSeeds = 60, kCandidates = 12, kBodies = 6, kLost = 16;

using Vector4 = Eigen::Matrix<double, 4, 1>;
using Matrix4 = Eigen::Matrix<double, 4, 4>;

// Displacement of a body against its prediction: D(r) = a + w J r + s r, r from its centre.
struct Field {
  Vector4 theta = Vector4::Zero();
  static Eigen::Matrix<double, 2, 4> Basis(const Eigen::Vector2d& r) {
    Eigen::Matrix<double, 2, 4> g;
    g << 1, 0, -r.y(), r.x(), 0, 1, r.x(), r.y();
    return g;
  }
  Eigen::Vector2d At(const Eigen::Vector2d& r) const { return Basis(r) * theta; }
};

struct Member {
  int active = -1;
  Eigen::Vector2d p, r;  // predicted, and from the centre
  double sd = 1;         // of its place in the field [px]
  std::vector<int> candidates;
  std::vector<double> look;
};

struct Joint {
  std::vector<int> match;  // observation of every member; -1
  Field field;
  double cost = kInfinity;
  int count = 0;
};

class Body {
 public:
  Body(double reach, const std::vector<int>& group, const TrackerOptions& options,
       const std::vector<ActiveTrack>& actives, const FrameView& view)
      : observations_(*view.observations) {
    Eigen::Vector2d centre = Eigen::Vector2d::Zero();
    for (const int i : group)
      centre += actives[i].now.x.head<2>() / static_cast<double>(group.size());
    double spread = 0;
    h_ = 0;
    for (const int i : group) h_ = std::max(h_, actives[i].now.t - actives[i].last.t);
    for (const int i : group)
      spread = std::max(spread, (actives[i].now.x.head<2>() - centre).norm());
    const double radius = reach * h_ + std::min(1.0, kSpinJump * h_) * spread + 3;
    precision_.setZero();
    precision_.diagonal() << 4 / std::pow(reach * h_, 2), 4 / std::pow(reach * h_, 2),
        1 / std::pow(std::min(kSpinJump * h_, 1.5), 2),
        1 / std::pow(kForeshort + kSpinJump * h_ / 8, 2);
    for (const int i : group) {
      const ActiveTrack& active = actives[i];
      Member m;
      m.active = i;
      m.p = active.now.x.head<2>();
      m.r = m.p - centre;
      const double known = std::sqrt(std::min(active.now.cov.topLeftCorner<2, 2>().trace() / 2,
                                              active.open > 0 ? 1.0 : 400.0));
      m.sd = 0.7 + known + 0.02 * m.r.norm();
      for (const int j : view.usable) {
        // Spots of tracks outside of the body keep their tracks.
        if (view.owner[j] != kFree &&
            std::find(group.begin(), group.end(), view.owner[j]) == group.end())
          continue;
        const Observation& o = observations_[j];
        // The position of a merged image is inexact and may be that of any marker.
        if ((o.flags & kTouching) && view.owner[j] == kFree) continue;
        if ((o.q - m.p).norm() > radius + 3 * m.sd) continue;
        const double look = LookCost(active, o, options, false);
        if (look == kInfinity) continue;
        m.candidates.push_back(j);
        m.look.push_back(look);
      }
      Nearest(&m);
      members_.push_back(std::move(m));
    }
  }

  const std::vector<Member>& members() const { return members_; }

  // The best assignment and, in `margin`, the additional cost of the next one that contradicts it.
  Joint Best(double* margin) const {
    std::vector<Joint> ways;
    const auto consider = [&](const Joint& way) {
      if (way.count == 0) return;
      for (Joint& old : ways) {
        if (old.match == way.match) {
          if (way.cost < old.cost) old = way;
          return;
        }
      }
      ways.push_back(way);
    };
    Field none;
    consider(Refine(none, nullptr, h_ * 3e3));
    consider(Refine(none, nullptr, 3));
    std::size_t seeds = 0;
    for (const Member& m : members_) {
      for (const int j : m.candidates) {
        if (++seeds > kSeeds) break;
        Field field;
        field.theta.head<2>() = observations_[j].q - m.p;
        consider(Refine(field, &m, 2));
      }
    }
    Joint best;
    for (const Joint& way : ways) {
      if (way.cost < best.cost) best = way;
    }
    *margin = kInfinity;
    for (const Joint& way : ways) {
      if (Contradicts(way, best)) *margin = std::min(*margin, way.cost - best.cost);
    }
    return best;
  }

  Field Fit(const std::vector<int>& match) const {
    Matrix4 a = precision_;
    Vector4 b = Vector4::Zero();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (match[i] < 0) continue;
      const Eigen::Matrix<double, 2, 4> g = Field::Basis(members_[i].r);
      const double w = 1 / std::pow(members_[i].sd, 2);
      a += w * g.transpose() * g;
      b += w * g.transpose() * (observations_[match[i]].q - members_[i].p);
    }
    return {a.ldlt().solve(b)};
  }

 private:
  void Nearest(Member* m) const {
    if (m->candidates.size() <= kCandidates) return;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t c = 0; c < m->candidates.size(); ++c)
      order.emplace_back((observations_[m->candidates[c]].q - m->p).norm(), c);
    std::nth_element(order.begin(), order.begin() + kCandidates, order.end());
    std::vector<int> candidates;
    std::vector<double> look;
    for (std::size_t k = 0; k < kCandidates; ++k) {
      candidates.push_back(m->candidates[order[k].second]);
      look.push_back(m->look[order[k].second]);
    }
    m->candidates.swap(candidates);
    m->look.swap(look);
  }

  static bool Contradicts(const Joint& a, const Joint& b) {
    for (std::size_t i = 0; i < a.match.size(); ++i) {
      for (std::size_t k = 0; k < b.match.size(); ++k) {
        if (i == k ? (a.match[i] >= 0 && b.match[i] >= 0 && a.match[i] != b.match[i])
                   : (a.match[i] >= 0 && a.match[i] == b.match[k])) {
          return true;
        }
      }
    }
    return false;
  }

  // Matches under a field, the field from the matches, and once more; `seed`: the member the field
  // is exact for.
  Joint Refine(Field field, const Member* seed, double slack) const {
    Joint way;
    const int n = static_cast<int>(members_.size());
    for (int round = 0; round < 4; ++round) {
      std::vector<int> columns;
      for (const Member& m : members_)
        columns.insert(columns.end(), m.candidates.begin(), m.candidates.end());
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
      Eigen::MatrixXd cost =
          Eigen::MatrixXd::Constant(n, static_cast<int>(columns.size()), kInfinity);
      for (int i = 0; i < n; ++i) {
        const Member& m = members_[i];
        double tolerance = m.sd;
        if (round == 0)
          tolerance += slack + (seed ? std::min(0.5, kSpinJump * h_) * (m.r - seed->r).norm() : 0);
        const Eigen::Vector2d expected =
            m.p + (round == 0 ? Eigen::Vector2d(field.theta.head<2>()) : field.At(m.r));
        for (std::size_t c = 0; c < m.candidates.size(); ++c) {
          const double d2 = (observations_[m.candidates[c]].q - expected).squaredNorm() /
                                (tolerance * tolerance) +
                            m.look[c];
          if (d2 > 2 * kMissCost) continue;
          cost(i, std::lower_bound(columns.begin(), columns.end(), m.candidates[c]) -
                      columns.begin()) = d2;
        }
      }
      const std::vector<int> assigned = AssignLeastCost(cost, kMissCost);
      std::vector<int> match(n, -1);
      for (int i = 0; i < n; ++i) {
        if (assigned[i] >= 0) match[i] = columns[assigned[i]];
      }
      if (round > 0 && match == way.match) break;
      way.match = match;
      field = Fit(match);
    }
    way.field = field;
    way.cost = field.theta.dot(precision_ * field.theta);
    way.count = 0;
    for (int i = 0; i < n; ++i) {
      const Member& m = members_[i];
      if (way.match[i] < 0) {
        way.cost += kMissCost;
        continue;
      }
      ++way.count;
      const std::size_t c =
          std::find(m.candidates.begin(), m.candidates.end(), way.match[i]) - m.candidates.begin();
      way.cost +=
          (observations_[way.match[i]].q - m.p - field.At(m.r)).squaredNorm() / (m.sd * m.sd) +
          m.look[c];
    }
    return way;
  }

  const std::vector<Observation>& observations_;
  std::vector<Member> members_;
  Matrix4 precision_;
  double h_ = 0;
};

// Distance of two tracks in the steps of a frame; nothing where one has none.
std::optional<Eigen::Vector2d> PositionAt(const ActiveTrack& active, long long frame) {
  if (active.steps.empty()) return {};
  // Steps follow each other frame by frame where no frame was lost; search backwards from the end.
  for (auto step = active.steps.rbegin(); step != active.steps.rend(); ++step) {
    if (step->frame == frame) return step->state.head<2>();
    if (step->frame < frame) return {};
  }
  return {};
}

// Places of the tracks that fulfil `wanted`, those seen most first.
template <typename Wanted>
std::vector<int> Chosen(const std::vector<ActiveTrack>& actives, std::size_t most,
                        const Wanted& wanted) {
  std::vector<int> chosen;
  for (int i = 0; i < static_cast<int>(actives.size()); ++i) {
    if (actives[i].confirmed && actives[i].match < 0 && !actives[i].merged && !actives[i].doomed &&
        wanted(actives[i]))
      chosen.push_back(i);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int a, int b) { return actives[a].hits > actives[b].hits; });
  if (chosen.size() > most) chosen.resize(most);
  return chosen;
}

bool KeptDistance(const ActiveTrack& a, const ActiveTrack& b) {
  constexpr int kFrames = 10;
  double least = kInfinity, most = 0;
  int count = 0;
  for (std::size_t k = 0; k < std::min<std::size_t>(kFrames + a.misses, a.steps.size()); ++k) {
    const TrackStep& step = a.steps[a.steps.size() - 1 - k];
    if (step.observation < 0) continue;
    const auto other = PositionAt(b, step.frame);
    if (!other) continue;
    const double d = (step.state.head<2>() - *other).norm();
    least = std::min(least, d);
    most = std::max(most, d);
    ++count;
  }
  return count >= 3 && most - least <= 2 + 0.25 * least;
}

}  // namespace

std::vector<int> BodyOf(const std::vector<ActiveTrack>& actives, int seed) {
  std::vector<int> group{seed};
  for (int i = 0; i < static_cast<int>(actives.size()); ++i) {
    if (i != seed && actives[i].confirmed && actives[i].moved == actives[seed].moved &&
        KeptDistance(actives[seed], actives[i]))
      group.push_back(i);
  }
  constexpr std::size_t kMost = 12;
  if (group.size() > kMost) {
    const Eigen::Vector2d at = actives[seed].now.x.head<2>();
    std::sort(group.begin() + 1, group.end(), [&](int a, int b) {
      return (actives[a].now.x.head<2>() - at).squaredNorm() <
             (actives[b].now.x.head<2>() - at).squaredNorm();
    });
    group.resize(kMost);
  }
  return group;
}

namespace {

using Group = std::vector<int>;  // of active tracks: the markers of one body

// Cost of leaving the markers of a group at the matches they have.
double CostOfStaying(const Group& group, const TrackerOptions& options,
                     const std::vector<ActiveTrack>& actives, const FrameView& view) {
  double stay = 0;
  for (const int i : group) {
    const ActiveTrack& l = actives[i];
    if (l.match < 0) {
      stay += kMissCost;
    } else {
      const Observation& o = (*view.observations)[l.match];
      stay += GateDistance(l, o, options) + LookCost(l, o, options, true);
    }
  }
  return stay;
}

// A spot that the jump would take is expected by another track. Asked where the evidence is of few
// markers.
bool ClaimedByOthers(const Group& group, const Joint& best, const TrackerOptions& options,
                     const std::vector<ActiveTrack>& actives, const FrameView& view) {
  bool claimed = false;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (best.match[i] < 0 || best.match[i] == actives[group[i]].match) continue;
    for (std::size_t k = 0; k < actives.size(); ++k) {
      const ActiveTrack& other = actives[k];
      if (best.count >= 3 &&
          std::find(group.begin(), group.end(), static_cast<int>(k)) != group.end())
        continue;
      if (static_cast<int>(k) == group[i] || !other.confirmed || other.match >= 0 ||
          other.misses == 0 || other.open > 0)
        continue;
      claimed |= GateDistance(other, (*view.observations)[best.match[i]], options) < kInfinity;
    }
  }
  return claimed;
}

// Gives the markers of a group the matches of the jump; hidden ones move with the others.
void TakeJump(const Group& group, const Body& body, const Joint& best, bool open,
              const TrackerOptions& options, std::vector<ActiveTrack>* actives, FrameView* view) {
  for (const int i : group) {
    ActiveTrack& l = (*actives)[i];
    if (l.match >= 0) view->owner[l.match] = kFree;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    ActiveTrack& l = (*actives)[group[i]];
    const bool was_normal = l.match >= 0 && l.match == best.match[i];
    l.match = best.match[i];
    if (l.match >= 0) view->owner[l.match] = group[i];
    if (l.open > 0) continue;
    if (l.match >= 0) {
      // A marker that stayed inside its gate keeps its estimated velocity, except where the whole
      // body jumped.
      l.jump = !was_normal || (best.count >= 2 && !open);
      if (l.jump && best.count < 3) l.BeginFork(true);
    } else {
      // Hidden at the impact: predicted from the motion of the others.
      const Member& m = body.members()[i];
      const double h = l.now.t - l.last.t;
      OpenVelocity(h, options, &l.now);
      const double sd = m.sd + 2;
      const Eigen::Matrix2d cov = sd * sd * Eigen::Matrix2d::Identity();
      if (best.count >= 2)
        CorrectState(InnovationOf(l.now, m.p + best.field.At(m.r), cov), cov, &l.now);
      l.last = l.now;
      l.open = 2;
      l.jump = true;
    }
  }
}

// A marker that was lost, where its companions put it.
struct CompanionPlace {
  int active;
  bool impact;  // in the gap
  Eigen::Vector2d q;
  double tolerance;
};

using PointPairs = std::vector<std::pair<Eigen::Vector2d, Eigen::Vector2d>>;

// Image of the origin under the affine map of `pairs`, its part that is no similarity kept small
// by a prior that grows with the gap [frames]. Sets the largest residual [px].
Eigen::Vector2d MapOrigin(const PointPairs& pairs, double gap, double* rest) {
  // Unknowns: place, similarity (c, w), shear (u, v): M = c I + w J + u diag(1, -1) + v offdiag.
  Eigen::Matrix<double, 6, 6> a = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, 1> b = Eigen::Matrix<double, 6, 1>::Zero();
  for (const auto& [r, y] : pairs) {
    Eigen::Matrix<double, 2, 6> g;
    g << 1, 0, r.x(), -r.y(), r.x(), r.y(), 0, 1, r.y(), r.x(), -r.y(), r.x();
    a += g.transpose() * g;
    b += g.transpose() * y;
  }
  // standard deviation of what rotation out of the picture plane does in the gap
  const double shear = 0.03 * gap;
  a(4, 4) += 1 / (shear * shear);
  a(5, 5) += 1 / (shear * shear);
  a.diagonal().array() += 1e-9;
  const Eigen::Matrix<double, 6, 1> theta = a.ldlt().solve(b);
  *rest = 0;
  for (const auto& [r, y] : pairs) {
    Eigen::Matrix<double, 2, 6> g;
    g << 1, 0, r.x(), -r.y(), r.x(), r.y(), 0, 1, r.y(), r.x(), -r.y(), r.x();
    *rest = std::max(*rest, (y - g * theta).norm());
  }
  return theta.head<2>();
}

std::optional<CompanionPlace> PlaceByCompanions(const std::vector<ActiveTrack>& actives, int i,
                                                const FrameView& view) {
  const ActiveTrack& lost = actives[i];
  auto seen = lost.steps.rbegin();
  while (seen != lost.steps.rend() && seen->observation < 0) ++seen;
  if (seen == lost.steps.rend()) return std::nullopt;
  PointPairs pairs;
  const Eigen::Vector2d from = seen->state.head<2>();
  bool impact = false;
  for (const int k : BodyOf(actives, i)) {
    const ActiveTrack& other = actives[k];
    if (k == i || other.match < 0) continue;
    const auto then = PositionAt(other, seen->frame);
    if (!then) continue;
    pairs.emplace_back(*then - from, (*view.observations)[other.match].q);
    impact |= other.jump;
    for (auto step = other.steps.rbegin(); step != other.steps.rend() && step->frame > seen->frame;
         ++step)
      impact |= step->impact;
  }
  if (pairs.size() < 2) return std::nullopt;
  const double gap = lost.misses + 1;
  double rest = 0, nearest = kInfinity;
  const Eigen::Vector2d q = MapOrigin(pairs, gap, &rest);
  if (rest > 3) return std::nullopt;
  for (const auto& pair : pairs) nearest = std::min(nearest, pair.first.norm());
  return CompanionPlace{i, impact, q, 2 + rest + std::min(0.015 * gap, 0.1) * nearest};
}

// The only free spot near a place that looks like its marker; -1 where there is none or several.
int OnlySpotNear(const CompanionPlace& place, const ActiveTrack& lost,
                 const TrackerOptions& options, const FrameView& view) {
  int found = -1, count = 0;
  for (const int j : view.usable) {
    const Observation& o = (*view.observations)[j];
    if (view.owner[j] != kFree || (o.flags & kTouching) ||
        (o.q - place.q).norm() > place.tolerance || LookCost(lost, o, options, false) == kInfinity)
      continue;
    ++count;
    found = j;
  }
  return count == 1 ? found : -1;
}

}  // namespace

void MatchJumps(double reach, const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                FrameView* view) {
  std::vector<char> handled(actives->size(), 0);
  // A long gap alone is left to companions and to joining.
  for (const int seed : Chosen(*actives, kBodies,
                               [](const ActiveTrack& l) { return l.misses == 0 || l.open > 0; })) {
    if (handled[seed] || (*actives)[seed].match >= 0) continue;
    Group group;
    for (const int i : BodyOf(*actives, seed)) {
      const ActiveTrack& l = (*actives)[i];
      if (!l.merged && !l.doomed && !handled[i] && l.misses <= 4) group.push_back(i);
    }
    for (const int i : group) handled[i] = 1;
    if (group.empty()) continue;
    const Body body(reach, group, options, *actives, *view);
    double margin = 0;
    const Joint best = body.Best(&margin);
    if (best.count == 0 || margin < kSureOfImpact) continue;
    const bool open =
        std::any_of(group.begin(), group.end(), [&](int i) { return (*actives)[i].open > 0; });
    if (best.cost + (open ? 0 : kCostOfImpact) >= CostOfStaying(group, options, *actives, *view))
      continue;
    // One marker that alone leaves its body is hidden, and the spot near it is something else.
    int changed = 0, normal = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int match = (*actives)[group[i]].match;
      changed += best.match[i] >= 0 && best.match[i] != match;
      normal += match >= 0;
    }
    if (!open && changed < 2 && normal > 0 && best.count < 3) continue;
    if (ClaimedByOthers(group, best, options, *actives, *view)) continue;
    TakeJump(group, body, best, open, options, actives, view);
  }
}

void MatchByCompanions(const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                       FrameView* view) {
  std::vector<CompanionPlace> places;
  for (const int i : Chosen(*actives, kLost,
                            [](const ActiveTrack& l) { return l.misses > 0 && !l.steps.empty(); }))
    if (const auto place = PlaceByCompanions(*actives, i, *view)) places.push_back(*place);
  for (const CompanionPlace& place : places) {
    ActiveTrack& lost = (*actives)[place.active];
    const int found = OnlySpotNear(place, lost, options, *view);
    if (found < 0) continue;
    const Observation& o = (*view->observations)[found];
    const bool contested =
        std::any_of(places.begin(), places.end(), [&](const CompanionPlace& other) {
          return other.active != place.active && (o.q - other.q).norm() < 2 * other.tolerance;
        });
    bool claimed = false;
    for (const ActiveTrack& other : *actives) {
      claimed |= &other != &lost && other.confirmed && other.match < 0 &&
                 GateDistance(other, o, options) < kInfinity;
    }
    if (contested || claimed) continue;
    lost.match = found;
    view->owner[found] = place.active;
    lost.jump = GateDistance(lost, o, options) == kInfinity;
    lost.silent = !place.impact;
    lost.BeginFork(false);
  }
}

}  // namespace impactlab::tracking
