#include "reconstruction/identity/detail/search.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector2d;

constexpr std::size_t kSearchBeam = 60;
constexpr double kBehind = 60;       // histories this far behind the best are given up [nats]
constexpr double kIsMarker = 0.5;    // log odds that a piece is a marker at all
constexpr double kIsClutter = 8;     // that something that stands still is none
constexpr double kSameName = 0.5;    // that it has the name it came with
constexpr double kWorthRepair = 60;  // a change that costs more at first is not followed up [nats]
constexpr double kMotionOutlier = 0.01;
constexpr double kMotionRange = 200;  // [px]
constexpr double kAcceleration = 30;  // not foreseen by the velocities beside a gap [m/s^2]
constexpr double kSpeed = 3;          // of a marker of which nothing is known [m/s]

double Prior(const Piece& piece, char label) {
  return kIsMarker - (piece.standing ? kIsClutter : 0) + (piece.track == label ? kSameName : 0);
}

// For two pieces to be one marker, the second after the first: where the motion leads to, and the
// names.
double Continuity(const Scene& scene, int first, int second) {
  if (first < 0) return 0;
  const Piece &a = scene.pieces[first], &b = scene.pieces[second];
  const double h = b.t.front() - a.t.back(), scale = scene.scale[a.camera];
  const Vector2d v_a = a.moving ? a.v_last : b.v_first, v_b = b.moving ? b.v_first : v_a;
  double variance = 1 + std::pow(0.5 * kAcceleration * scale * h * h, 2);
  if (!a.moving && !b.moving) {
    variance += std::pow(kSpeed * scale * h, 2);
  } else {
    // With an impact in the gap the marker went somewhere between the two velocities.
    variance += std::pow(0.3, 2) * (v_b - v_a).squaredNorm() * h * h;
  }
  const double squared =
      (b.q.front() - a.q.back() - 0.5 * h * (v_a + v_b)).squaredNorm() / variance;
  const double ratio =
      kMotionRange * kMotionRange / (2 * std::numbers::pi * variance) * std::exp(-0.5 * squared);
  double score = std::log((1 - kMotionOutlier) * std::min(ratio, 1e4) + kMotionOutlier);
  if (ratio < 1 && variance > kMotionRange * kMotionRange / 6) score = 0;  // too long ago to say
  if (b.before == first) score += b.trust;
  if (b.before != first && a.track == b.track) score += 0.5 * b.trust;
  return score;
}

struct Node {
  double score = 0;
  std::string naming;       // of the live pieces
  std::vector<short> last;  // piece that had a label last, camera by camera; -1: none
  int parent = -1;
};

class Trellis {
 public:
  Trellis(const Scene& scene, const std::vector<TimeWindow>& windows,
          std::vector<WindowScore>& scores)
      : scene_(scene), windows_(windows), scores_(scores) {}

  std::vector<char> Best() {
    const auto cameras = scene_.rig_camera.size();
    std::vector<std::vector<Node>> history;
    std::vector<Node> nodes{
        {0, "", std::vector<short>(cameras * static_cast<std::size_t>(scene_.labels), -1), -1}};
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      std::unordered_map<std::string, Node> next;
      proposals_.push_back(scores_[w].Propose());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        Node base = nodes[i];
        base.parent = static_cast<int>(i);
        base.naming = Carry(w, nodes[i].naming);
        Keep(w, base, &next);
        for (const std::string& proposal : proposals_.back()) {
          Node node = base;
          if (Adopt(w, proposal, &node)) Keep(w, node, &next);
        }
      }
      nodes.clear();
      for (auto& [key, node] : next) nodes.push_back(std::move(node));
      std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
        return a.score != b.score     ? a.score > b.score
               : a.naming != b.naming ? a.naming < b.naming
                                      : a.last < b.last;
      });
      if (nodes.size() > kSearchBeam) nodes.resize(kSearchBeam);
      while (nodes.back().score < nodes.front().score - kBehind) nodes.pop_back();
      history.push_back(nodes);
    }
    std::vector<char> label(scene_.pieces.size(), kNone);
    int at = 0;
    for (std::size_t w = windows_.size(); w-- > 0;) {
      const Node& node = history[w][static_cast<std::size_t>(at)];
      for (std::size_t k = 0; k < windows_[w].live.size(); ++k) {
        const int piece = windows_[w].live[k];
        if (scene_.pieces[piece].last_window == static_cast<int>(w) && node.naming[k] >= 0)
          label[piece] = node.naming[k];
      }
      at = node.parent;
    }
    return label;
  }
  // Of every window, once Best has run.
  const std::vector<std::vector<std::string>>& proposals() const { return proposals_; }

 private:
  std::string Carry(std::size_t w, const std::string& before) const {
    std::string out(windows_[w].live.size(), kOpen);
    if (w == 0) return out;
    const auto& live = windows_[w].live;
    const auto& old = windows_[w - 1].live;
    for (std::size_t i = 0, j = 0; i < live.size() && j < old.size();) {
      if (live[i] == old[j])
        out[i++] = before[j++];
      else if (live[i] < old[j])
        ++i;
      else
        ++j;
    }
    return out;
  }

  // Takes over the names of a proposal; false where they contradict the history.
  bool Adopt(std::size_t w, const std::string& proposal, Node* node) const {
    const auto& live = windows_[w].live;
    bool changed = false;
    for (std::size_t k = 0; k < live.size(); ++k) {
      const char label = proposal[k];
      if (label < 0) continue;
      if (node->naming[k] >= 0) {
        if (node->naming[k] != label) return false;
        continue;
      }
      const Piece& piece = scene_.pieces[live[k]];
      short& last = node->last[piece.camera * scene_.labels + label];
      if (last >= 0 && scene_.pieces[last].last_window >= piece.first_window) return false;
      node->score += Prior(piece, label) + Continuity(scene_, last, live[k]);
      node->naming[k] = label;
      last = static_cast<short>(live[k]);
      changed = true;
    }
    return changed;
  }

  void Keep(std::size_t w, Node node, std::unordered_map<std::string, Node>* nodes) {
    node.score += scores_[w].Score(node.naming);
    std::string key = node.naming;
    key.append(reinterpret_cast<const char*>(node.last.data()), node.last.size() * sizeof(short));
    const auto [at, fresh] = nodes->emplace(key, node);
    if (!fresh && at->second.score < node.score) at->second = node;
  }

  const Scene& scene_;
  const std::vector<TimeWindow>& windows_;
  std::vector<WindowScore>& scores_;
  std::vector<std::vector<std::string>> proposals_;
};

// The score of a complete naming and of changes to it.
class Whole {
 public:
  Whole(const Scene& scene, const std::vector<TimeWindow>& windows,
        std::vector<WindowScore>& scores)
      : scene_(scene), windows_(windows), scores_(scores), by_camera_(scene.rig_camera.size()) {
    for (std::size_t i = 0; i < scene.pieces.size(); ++i)
      by_camera_[scene.pieces[i].camera].push_back(static_cast<int>(i));
    for (auto& pieces : by_camera_) {
      std::sort(pieces.begin(), pieces.end(), [&](int a, int b) {
        return scene.pieces[a].first_window < scene.pieces[b].first_window;
      });
    }
  }

  double Windows(const std::vector<char>& label, int first, int last) {
    double sum = 0;
    for (int w = first; w <= last; ++w) sum += scores_[w].Score(NamesIn(windows_[w], label));
    return sum;
  }
  double Chains(const std::vector<char>& label, int camera) const {
    double sum = 0;
    std::vector<int> last(static_cast<std::size_t>(scene_.labels), -1);
    for (int i : by_camera_[camera]) {
      if (label[i] < 0) continue;
      sum += Prior(scene_.pieces[i], label[i]) + Continuity(scene_, last[label[i]], i);
      last[label[i]] = i;
    }
    return sum;
  }
  double Total(const std::vector<char>& label) {
    double sum = Windows(label, 0, static_cast<int>(windows_.size()) - 1);
    for (std::size_t c = 0; c < by_camera_.size(); ++c) sum += Chains(label, static_cast<int>(c));
    return sum;
  }

  // Gives a piece another label; pieces in its way take its old one where they can. Returns the
  // gain.
  double Rename(int piece, char to, std::vector<char>* label) {
    const Piece& own = scene_.pieces[piece];
    std::vector<char> other = *label;
    const char from = other[piece];
    other[piece] = to;
    int first = own.first_window, last = own.last_window;
    if (to >= 0) {
      std::vector<int> evicted;
      for (int i : by_camera_[own.camera]) {
        if (i != piece && other[i] == to && Overlap(scene_.pieces[i], own)) evicted.push_back(i);
      }
      for (int i : evicted) other[i] = kNone;
      for (int i : evicted) {
        if (from >= 0 && Free(other, i, from)) other[i] = from;
        first = std::min(first, scene_.pieces[i].first_window);
        last = std::max(last, scene_.pieces[i].last_window);
      }
    }
    const double gain = Windows(other, first, last) - Windows(*label, first, last) +
                        Chains(other, own.camera) - Chains(*label, own.camera);
    label->swap(other);
    return gain;
  }

  // Takes over a proposal for a window, whatever it was before. What stood in the way takes what it
  // can get. Returns the gain.
  double Impose(int window, const std::string& proposal, std::vector<char>* label) {
    const auto& live = windows_[window].live;
    std::vector<char> other = *label;
    std::vector<int> changed, evicted;
    for (std::size_t k = 0; k < live.size(); ++k) {
      if (proposal[k] < 0 || other[live[k]] == proposal[k]) continue;
      other[live[k]] = proposal[k];
      changed.push_back(live[k]);
    }
    if (changed.empty()) return 0;
    for (int piece : changed) {
      for (int i : by_camera_[scene_.pieces[piece].camera]) {
        if (i == piece || other[i] != other[piece] ||
            !Overlap(scene_.pieces[i], scene_.pieces[piece]))
          continue;
        other[i] = kNone;
        evicted.push_back(i);
      }
    }
    const auto total = [&] {
      int first = window, last = window;
      for (const auto* pieces : {&changed, &evicted}) {
        for (int i : *pieces) {
          first = std::min(first, scene_.pieces[i].first_window);
          last = std::max(last, scene_.pieces[i].last_window);
        }
      }
      double gain = Windows(other, first, last) - Windows(*label, first, last);
      for (std::size_t c = 0; c < by_camera_.size(); ++c)
        gain += Chains(other, static_cast<int>(c)) - Chains(*label, static_cast<int>(c));
      return gain;
    };
    double gain = total();
    if (gain < -kWorthRepair) return gain;
    for (int i : evicted) {
      char best = kNone;
      double most = 1e-6;
      for (char to = 0; to < scene_.labels; ++to) {
        if (!Free(other, i, to)) continue;
        auto with = other;
        const double more = Rename(i, to, &with);
        if (more > most) most = more, best = to;
      }
      if (best != kNone) gain += most, other[i] = best;
    }
    label->swap(other);
    return gain;
  }

  // Whether no named piece of a label that the permutation moves reaches across the beginning of a
  // window.
  bool Boundary(const std::vector<char>& permutation, int window,
                const std::vector<char>& label) const {
    for (std::size_t i = 0; i < label.size(); ++i) {
      if (label[i] < 0 || permutation[label[i]] == label[i]) continue;
      if (scene_.pieces[i].first_window < window && scene_.pieces[i].last_window >= window)
        return false;
    }
    return true;
  }
  // Gain of permuting the labels of the pieces that lie in the windows [first, end); nothing where
  // there are none.
  std::optional<double> Permute(const std::vector<char>& permutation, int first, int end,
                                std::vector<char>* label) {
    std::vector<char> other = *label;
    bool changed = false;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const Piece& piece = scene_.pieces[i];
      if (other[i] < 0 || permutation[other[i]] == other[i] || piece.first_window < first ||
          piece.last_window >= end)
        continue;
      other[i] = permutation[other[i]];
      changed = true;
    }
    if (!changed) return std::nullopt;
    double gain = Windows(other, first, end - 1) - Windows(*label, first, end - 1);
    for (std::size_t c = 0; c < by_camera_.size(); ++c)
      gain += Chains(other, static_cast<int>(c)) - Chains(*label, static_cast<int>(c));
    label->swap(other);
    return gain;
  }
  // Calls `take(first, end)` for every stretch from one boundary of a permutation to the next, and
  // for all that follows one.
  template <typename Take>
  void Stretches(const std::vector<char>& permutation, const std::vector<char>& label,
                 const Take& take) const {
    const int n = static_cast<int>(windows_.size());
    int first = 0;
    for (int w = 1; w <= n; ++w) {
      if (w < n && !Boundary(permutation, w, label)) continue;
      take(first, w);
      if (first > 0 && w < n) take(first, n);
      if (first > 0 && w < n) take(0, w);
      first = w;
    }
    if (first > 0) take(0, n);
  }

 private:
  static bool Overlap(const Piece& a, const Piece& b) {
    return a.first_window <= b.last_window && b.first_window <= a.last_window;
  }
  bool Free(const std::vector<char>& label, int piece, char name) const {
    for (int i : by_camera_[scene_.pieces[piece].camera]) {
      if (i != piece && label[i] == name && Overlap(scene_.pieces[i], scene_.pieces[piece]))
        return false;
    }
    return true;
  }

  const Scene& scene_;
  const std::vector<TimeWindow>& windows_;
  std::vector<WindowScore>& scores_;
  std::vector<std::vector<int>> by_camera_;
};

// Exchanges of two labels, and the permutations that change the layout's distances least.
std::vector<std::vector<char>> Permutations(const Scene& scene) {
  std::vector<char> identity(static_cast<std::size_t>(scene.labels));
  std::iota(identity.begin(), identity.end(), char{0});
  std::vector<std::vector<char>> out;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    for (std::size_t j = i + 1; j < identity.size(); ++j) {
      out.push_back(identity);
      std::swap(out.back()[i], out.back()[j]);
    }
  }
  if (identity.size() > 7) return out;
  std::vector<std::pair<double, std::vector<char>>> ranked;
  std::vector<char> permutation = identity;
  while (std::next_permutation(permutation.begin(), permutation.end())) {
    double sum = 0;
    const auto& p = scene.layout.p;
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t j = i + 1; j < p.size(); ++j) {
        if (!scene.layout.known[i] || !scene.layout.known[j]) continue;
        sum += std::pow((p[i] - p[j]).norm() - (p[permutation[i]] - p[permutation[j]]).norm(), 2);
      }
    }
    ranked.emplace_back(sum, permutation);
  }
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < ranked.size() && i < 10; ++i) {
    if (std::find(out.begin(), out.end(), ranked[i].second) == out.end())
      out.push_back(ranked[i].second);
  }
  return out;
}

}  // namespace

std::string NamesIn(const TimeWindow& window, const std::vector<char>& label) {
  std::string out;
  for (int i : window.live) out.push_back(label[static_cast<std::size_t>(i)]);
  return out;
}

PieceNaming NamePieces(const Scene& scene, const std::vector<TimeWindow>& windows,
                       std::vector<WindowScore>& scores) {
  PieceNaming out;
  Trellis trellis(scene, windows, scores);
  out.label = trellis.Best();
  Whole whole(scene, windows, scores);
  const auto permutations = Permutations(scene);
  const int n = static_cast<int>(scene.pieces.size());
  bool better = true;
  const auto accept = [&](double gain, std::vector<char>* label) {
    if (!(gain > 1e-6)) return;
    out.label.swap(*label);
    better = true;
  };
  for (int pass = 0; better && pass < 20; ++pass) {
    better = false;
    for (int i = 0; i < n; ++i) {
      for (int to = MarkerOf(kNone); to < scene.labels; ++to) {
        if (to == out.label[i]) continue;
        auto label = out.label;
        accept(whole.Rename(i, static_cast<char>(to), &label), &label);
      }
    }
    for (std::size_t w = 0; w < windows.size(); ++w) {
      for (const std::string& proposal : trellis.proposals()[w]) {
        auto label = out.label;
        accept(whole.Impose(static_cast<int>(w), proposal, &label), &label);
      }
    }
    for (const auto& permutation : permutations) {
      const auto before = out.label;
      whole.Stretches(permutation, before, [&](int first, int end) {
        auto label = out.label;
        if (label == before)
          accept(whole.Permute(permutation, first, end, &label).value_or(0), &label);
      });
    }
  }
  out.score = whole.Total(out.label);
  out.odds.assign(static_cast<std::size_t>(n), kCertain);
  out.doubt.assign(static_cast<std::size_t>(n), kCertain);
  out.keep.assign(static_cast<std::size_t>(n), 0);
  out.rival.assign(static_cast<std::size_t>(n), kNone);
  // What a refused change would have renamed is as certain as that refusal.
  const auto refused = [&](double loss, const std::vector<char>& label) {
    for (int i = 0; i < n; ++i) {
      if (out.label[i] < 0 || label[i] == out.label[i] || loss >= out.odds[i]) continue;
      out.odds[i] = loss;
      out.rival[i] = label[i];
    }
  };
  for (int i = 0; i < n; ++i) {
    for (int to = MarkerOf(kNone); to < scene.labels; ++to) {
      if (to == out.label[i]) continue;
      auto label = out.label;
      const double loss = std::min(kCertain, -whole.Rename(i, static_cast<char>(to), &label));
      if (to >= 0) {
        refused(loss, label);
      } else {
        out.doubt[i] = loss;
      }
      const int incoming = scene.pieces[i].track;
      if (to == incoming || (incoming >= scene.labels && to == kNone)) out.keep[i] = loss;
    }
  }
  for (const auto& permutation : permutations) {
    whole.Stretches(permutation, out.label, [&](int first, int end) {
      auto label = out.label;
      const auto gain = whole.Permute(permutation, first, end, &label);
      if (gain) refused(-*gain, label);
    });
  }
  return out;
}

}  // namespace impactlab::reconstruction
