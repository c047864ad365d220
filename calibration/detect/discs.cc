// Grids of discs: blobs, the lattice they form, and the position of the board in it.

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>

#include "calibration/detect/detail/disc.h"
#include "calibration/detect/detail/features.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

constexpr double kLeastDiscShare = 0.75;  // of the discs that must be seen
constexpr double kTolerance = 0.35;       // of a step, for the next disc of the lattice
constexpr double kMostAreaRatio = 2.2;    // between neighbours
constexpr int kMostBlobs = 4000;

using Node = std::pair<int, int>;
struct Lattice {
  std::map<Node, int> nodes;  // to blobs
  Eigen::Vector2d a, b;       // steps of the two coordinates at the seed [px]
};

bool SimilarDiscs(const Blob& a, const Blob& b) {
  return a.area < kMostAreaRatio * b.area && b.area < kMostAreaRatio * a.area;
}

// Nearest blob to a place, within `reach`; -1 for none.
int Nearest(const std::vector<Blob>& blobs, const Eigen::Vector2d& q, double reach,
            const Blob& like) {
  int best = -1;
  double least = reach * reach;
  for (std::size_t k = 0; k < blobs.size(); ++k) {
    const double d = (blobs[k].q - q).squaredNorm();
    if (d < least && SimilarDiscs(blobs[k], like)) {
      least = d;
      best = static_cast<int>(k);
    }
  }
  return best;
}

// The lattice about a seed: two shortest steps that lead to a disc both ways, then outwards, each
// step predicted by the one before.
std::optional<Lattice> Grow(const std::vector<Blob>& blobs, int seed) {
  const Blob& s = blobs[seed];
  std::vector<std::pair<double, int>> near;
  for (std::size_t k = 0; k < blobs.size(); ++k)
    if (static_cast<int>(k) != seed && SimilarDiscs(blobs[k], s))
      near.emplace_back((blobs[k].q - s.q).norm(), static_cast<int>(k));
  if (near.size() < 4) return std::nullopt;
  const auto count = std::min<std::size_t>(near.size(), 12);
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  Lattice lattice;
  int found = 0;
  for (std::size_t k = 0; k < count && found < 2; ++k) {
    const Eigen::Vector2d step = blobs[near[k].second].q - s.q;
    if (found == 1) {
      const double sine = std::abs(step.x() * lattice.a.y() - step.y() * lattice.a.x()) /
                          (step.norm() * lattice.a.norm());
      if (sine < 0.3) continue;
    }
    const int opposite = Nearest(blobs, s.q - step, 0.3 * step.norm(), s);
    if (opposite < 0 || opposite == seed) continue;
    (found == 0 ? lattice.a : lattice.b) = (step - (blobs[opposite].q - s.q)) / 2;
    ++found;
  }
  if (found < 2) return std::nullopt;

  struct Open {
    Node node;
    Eigen::Vector2d a, b;
  };
  std::queue<Open> open;
  std::set<int> used{seed};
  lattice.nodes[{0, 0}] = seed;
  open.push({{0, 0}, lattice.a, lattice.b});
  while (!open.empty()) {
    const Open at = open.front();
    open.pop();
    const Blob& blob = blobs[lattice.nodes.at(at.node)];
    const auto place = [&](int i, int j) {
      const auto it = lattice.nodes.find({at.node.first + i, at.node.second + j});
      return it == lattice.nodes.end() ? nullptr : &blobs[it->second].q;
    };
    // Steps here: measured where a neighbour is known, else those of the disc it was reached from.
    Eigen::Vector2d a = at.a, b = at.b;
    const auto measured = [&](const Eigen::Vector2d* back, const Eigen::Vector2d* ahead,
                              Eigen::Vector2d* step) {
      if (back != nullptr && ahead != nullptr)
        *step = (*ahead - *back) / 2;
      else if (back != nullptr)
        *step = blob.q - *back;
      else if (ahead != nullptr)
        *step = *ahead - blob.q;
    };
    measured(place(-1, 0), place(1, 0), &a);
    measured(place(0, -1), place(0, 1), &b);
    for (const auto& [i, j] : {Node{1, 0}, Node{-1, 0}, Node{0, 1}, Node{0, -1}}) {
      const Node to{at.node.first + i, at.node.second + j};
      if (lattice.nodes.count(to) != 0) continue;
      Eigen::Vector2d step = i * a + j * b;
      // In perspective steps grow or shrink in one ratio.
      const Eigen::Vector2d *back = place(-i, -j), *before = place(-2 * i, -2 * j);
      if (back != nullptr) step = blob.q - *back;
      if (back != nullptr && before != nullptr)
        step *= std::clamp(step.norm() / (*back - *before).norm(), 0.6, 1.7);
      const int next =
          Nearest(blobs, blob.q + step, kTolerance * std::min(a.norm(), b.norm()), blob);
      if (next < 0 || used.count(next) != 0) continue;
      used.insert(next);
      lattice.nodes[to] = next;
      open.push({to, a, b});
    }
  }
  return lattice;
}

// One way to read the lattice as the board: id of each blob.
struct Placing {
  std::map<int, int> blob_of_id;
  Eigen::Vector2d x_direction;  // mean in the image
  int outside = 0;              // nodes of the lattice beyond the board
  Eigen::Vector2i size;         // of the whole lattice in the board's units: columns, rows
  bool ambiguous = false;
};

// Integer matrices of determinant 1 or -1 with small entries.
std::vector<Eigen::Matrix2i> Unimodular() {
  std::vector<Eigen::Matrix2i> all;
  for (int a = -2; a <= 2; ++a)
    for (int b = -2; b <= 2; ++b)
      for (int c = -2; c <= 2; ++c)
        for (int d = -2; d <= 2; ++d)
          if (std::abs(a * d - b * c) == 1)
            all.push_back((Eigen::Matrix2i() << a, b, c, d).finished());
  return all;
}

// The placings that hold the most discs; of one handedness.
std::vector<Placing> Place(const Lattice& lattice, const std::vector<Blob>& blobs,
                           const Board& board, bool mirrored) {
  const bool asymmetric = board.kind == BoardKind::kAsymmetricCircles;
  // Lattice of an asymmetric grid: steps (1, 1) and (-1, 1) of its places (2 column + row % 2,
  // row).
  const Eigen::Matrix2i basis =
      asymmetric ? (Eigen::Matrix2i() << 1, -1, 1, 1).finished() : Eigen::Matrix2i::Identity();
  const int extent_x = asymmetric ? 2 * board.columns : board.columns;
  const bool right = lattice.a.x() * lattice.b.y() - lattice.a.y() * lattice.b.x() > 0;
  std::vector<Placing> best;
  std::size_t most = 0;
  std::set<std::map<int, int>> seen;
  for (const Eigen::Matrix2i& U : Unimodular()) {
    const Eigen::Matrix2i T = basis * U;
    if ((T.determinant() > 0) != (right != mirrored)) continue;
    std::map<Node, int> at;
    Eigen::Vector2i low(1 << 20, 1 << 20), high(-(1 << 20), -(1 << 20));
    for (const auto& [node, blob] : lattice.nodes) {
      const Eigen::Vector2i x = T * Eigen::Vector2i(node.first, node.second);
      at[{x.x(), x.y()}] = blob;
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    // Where in it the board lies: every offset that overlaps.
    std::size_t best_here = 0, second_here = 0;
    Placing chosen;
    for (int oy = std::min(low.y(), high.y() - board.rows + 1);
         oy <= std::max(low.y(), high.y() - board.rows + 1); ++oy) {
      for (int ox = std::min(low.x(), high.x() - extent_x + 1);
           ox <= std::max(low.x(), high.x() - extent_x + 1) + (asymmetric ? 1 : 0); ++ox) {
        if (asymmetric && (ox + oy) % 2 != 0) continue;
        Placing p;
        for (const auto& [x, blob] : at) {
          const int row = x.second - oy, place = x.first - ox;
          const int column = asymmetric ? (place - (row % 2 + 2) % 2) / 2 : place;
          if (row < 0 || row >= board.rows || place < 0 || column < 0 || column >= board.columns ||
              place >= extent_x)
            continue;
          p.blob_of_id[row * board.columns + column] = blob;
        }
        if (p.blob_of_id.size() > best_here) {
          second_here = best_here;
          best_here = p.blob_of_id.size();
          chosen = p;
        } else {
          second_here = std::max(second_here, p.blob_of_id.size());
        }
      }
    }
    if (best_here == 0 || best_here < most) continue;
    chosen.ambiguous = second_here == best_here;
    chosen.outside = static_cast<int>(at.size() - best_here);
    chosen.size = Eigen::Vector2i(
        asymmetric ? (high.x() - low.x()) / 2 + 1 : high.x() - low.x() + 1, high.y() - low.y() + 1);
    chosen.x_direction.setZero();
    for (const auto& [id, blob] : chosen.blob_of_id)
      if (const auto next = chosen.blob_of_id.find(id + 1);
          next != chosen.blob_of_id.end() && (id + 1) % board.columns != 0)
        chosen.x_direction += blobs[next->second].q - blobs[blob].q;
    if (best_here > most) {
      best.clear();
      seen.clear();
      most = best_here;
    }
    if (seen.insert(chosen.blob_of_id).second) best.push_back(chosen);
  }
  return best;
}

// Size of the rectangle of discs that fits the lattice best, whatever board was asked for.
std::string Found(const Lattice& lattice, const Board& board) {
  const bool asymmetric = board.kind == BoardKind::kAsymmetricCircles;
  const Eigen::Matrix2i basis =
      asymmetric ? (Eigen::Matrix2i() << 1, -1, 1, 1).finished() : Eigen::Matrix2i::Identity();
  double best = INFINITY;
  int columns = 0, rows = 0;
  for (const Eigen::Matrix2i& U : Unimodular()) {
    Eigen::Vector2i low(1 << 20, 1 << 20), high = -low;
    for (const auto& [node, blob] : lattice.nodes) {
      const Eigen::Vector2i x = basis * U * Eigen::Vector2i(node.first, node.second);
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    const Eigen::Vector2i n = high - low + Eigen::Vector2i::Ones();
    const double area = double(n.x()) * n.y();
    // Of the two orientations the one nearer to the board asked for.
    const int c = asymmetric ? n.x() / 2 : n.x(),
              off = std::abs(c - board.columns) + std::abs(n.y() - board.rows);
    if (area + 1e-3 * off < best) {
      best = area + 1e-3 * off;
      columns = c;
      rows = n.y();
    }
  }
  return fmt::format("a grid of {} x {} discs was found, {} x {} asked", columns, rows,
                     board.columns, board.rows);
}

// The largest lattice of blobs in a picture and the ways in which the board fits it.
struct FoundLattice {
  Lattice lattice;
  std::vector<Blob> blobs;
  std::vector<Placing> placings;
  bool dark = true;  // colour of the discs that were looked for last
};

// Dark discs first, then bright ones, each at two sizes of the neighbourhood of the threshold,
// until the board is found.
FoundLattice FindLattice(const GrayImage& image, const Board& board, std::size_t enough) {
  FoundLattice found;
  const int longest = std::max(image.width, image.height);
  for (int attempt = 0;
       attempt < 4 && (found.placings.empty() || found.placings[0].blob_of_id.size() < enough);
       ++attempt) {
    found.dark = attempt < 2;
    const std::vector<Blob> blobs =
        FindBlobs(image, found.dark, std::max(15, attempt % 2 == 0 ? longest / 6 : longest / 20));
    if (blobs.size() > kMostBlobs) continue;
    std::set<int> covered;
    for (int seed = 0; seed < static_cast<int>(blobs.size()); ++seed) {
      if (covered.count(seed) != 0) continue;
      const auto lattice = Grow(blobs, seed);
      if (!lattice || lattice->nodes.size() < 6) continue;
      for (const auto& [node, blob] : lattice->nodes) covered.insert(blob);
      if (lattice->nodes.size() <= found.lattice.nodes.size()) continue;
      found.lattice = *lattice;
      found.blobs = blobs;
      found.placings = Place(found.lattice, blobs, board, false);
    }
  }
  return found;
}

// The placing whose x axis points most to the right; null, with the problem in `view`, where the
// board does not fit the lattice.
const Placing* ChoosePlacing(const FoundLattice& found, const Board& board, std::size_t enough,
                             BoardView* view) {
  const std::vector<Placing>& placings = found.placings;
  // One disc of clutter may continue the lattice; more is another board.
  const bool fits = !placings.empty() && placings[0].blob_of_id.size() >= enough &&
                    placings[0].outside <= std::max(1, PointCount(board) / 20);
  if (!fits) {
    const auto mirrored = Place(found.lattice, found.blobs, board, true);
    if (!mirrored.empty() && mirrored[0].blob_of_id.size() >= enough && mirrored[0].outside == 0) {
      view->mirrored = true;
      view->problem =
          "the picture is mirrored: the grid of discs fits its mirror image only; flip the "
          "pictures of this camera";
    } else {
      view->problem = Found(found.lattice, board);
    }
    return nullptr;
  }
  const Placing& best =
      *std::max_element(placings.begin(), placings.end(), [](const Placing& a, const Placing& b) {
        return a.x_direction.x() / std::max(a.x_direction.norm(), 1e-9) <
               b.x_direction.x() / std::max(b.x_direction.norm(), 1e-9);
      });
  if (best.ambiguous) {
    view->problem = Found(found.lattice, board) +
                    "; a hidden row or column at the rim leaves open which disc is which";
    return nullptr;
  }
  return &best;
}

struct MeasuredDiscs {
  std::vector<int> ids;
  std::vector<Eigen::Vector2d> p, q;
  std::vector<double> unit_sd, rms, width;
};

MeasuredDiscs MeasureDiscs(const GrayImage& image, const Board& board, const DetectOptions& options,
                           const FoundLattice& found, const Placing& placing) {
  MeasuredDiscs discs;
  for (const auto& [id, blob] : placing.blob_of_id) {
    const Blob& b = found.blobs[blob];
    // The band about the edge must not reach the next disc: its distance follows from the ratio of
    // pitch and diameter.
    const double step =
        (board.kind == BoardKind::kAsymmetricCircles ? std::sqrt(2.0) : 1) * board.pitch;
    const double minor =
        2 * std::sqrt(std::max(
                0.0, b.spread.trace() / 2 -
                         std::hypot((b.spread(0, 0) - b.spread(1, 1)) / 2, b.spread(0, 1))));
    const double gap = 2 * minor * (step / board.disc_diameter - 1);
    const auto fit = FitDisc(image, b, std::clamp(0.5 * gap - 1.5, 1.5, 4.5));
    if (!fit || (fit->contrast > 0) != found.dark) continue;
    discs.ids.push_back(id);
    discs.p.push_back(PointOnBoard(board, id).head<2>());
    discs.q.push_back(options.refine ? fit->q : b.q);
    discs.unit_sd.push_back(fit->unit_sd);
    discs.rms.push_back(fit->rms);
    discs.width.push_back(fit->width);
  }
  return discs;
}

}  // namespace

void DetectDiscs(const GrayImage& image, const Board& board, const DetectOptions& options,
                 BoardView* view) {
  const auto enough = static_cast<std::size_t>(std::ceil(kLeastDiscShare * PointCount(board)));
  const FoundLattice found = FindLattice(image, board, enough);
  if (found.lattice.nodes.empty()) {
    view->problem = "no grid of discs was found";
    return;
  }
  const Placing* const best = ChoosePlacing(found, board, enough, view);
  if (best == nullptr) return;
  const MeasuredDiscs discs = MeasureDiscs(image, board, options, found, *best);
  if (discs.ids.size() < std::max<std::size_t>(4, enough / 2)) {
    view->problem = fmt::format(
        "a grid of discs was found, but only {} of {} can be measured (cut, glare or too small)",
        discs.ids.size(), PointCount(board));
    return;
  }
  std::vector<double> residual;
  const std::vector<Eigen::Vector2d> q = CorrectCentroids(discs.p, discs.q, board.disc_diameter / 2,
                                                          image.width, image.height, &residual);
  const std::vector<double> sd = RelativeSd(discs.unit_sd, discs.rms);
  const double typical = UpperMedian(residual);
  for (std::size_t k = 0; k < discs.ids.size(); ++k) {
    // Half-hidden discs and patches of clutter do not fit the rest.
    if (residual[k] > std::max(1.0, 8 * typical)) continue;
    view->points.push_back({discs.ids[k], q[k], sd[k]});
  }
  view->orientation_known = found.placings.size() == 1;
  view->sharpness = 1 / UpperMedian(discs.width);
}

}  // namespace impactlab::calibration
