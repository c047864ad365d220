#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "tracking/track/marker_labelling.h"

namespace impactlab {
namespace {

using Points = std::vector<Eigen::Vector3d>;

// Distances that differ by less than this many standard deviations of a difference are taken for
// equal.
constexpr double kDistanceGate = 5;
constexpr long long kNodes = 2'000'000;

struct Exchange {
  std::vector<int> to;  // marker i stands in the place of marker to[i]
  double change = 0;    // largest change of a distance [m]
};

int Rank(const Points& points, double tolerance) {
  Eigen::MatrixXd m(3, static_cast<int>(points.size()));
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  for (const Eigen::Vector3d& p : points) centre += p / static_cast<double>(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) m.col(static_cast<int>(i)) = points[i] - centre;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(m);
  int rank = 0;
  for (int i = 0; i < svd.singularValues().size(); ++i) rank += svd.singularValues()(i) > tolerance;
  return rank;
}

// Largest distance left after the best rotation (no reflection) of the points onto their
// permutation.
double ProperResidual(const Points& points, const std::vector<int>& to) {
  const int n = static_cast<int>(points.size());
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  for (const Eigen::Vector3d& p : points) centre += p / n;
  Eigen::Matrix3d h = Eigen::Matrix3d::Zero();
  for (int i = 0; i < n; ++i) h += (points[to[i]] - centre) * (points[i] - centre).transpose();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(h, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Vector3d signs(1, 1,
                        (svd.matrixU() * svd.matrixV().transpose()).determinant() < 0 ? -1 : 1);
  const Eigen::Matrix3d r = svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();
  double worst = 0;
  for (int i = 0; i < n; ++i)
    worst = std::max(worst, (points[to[i]] - centre - r * (points[i] - centre)).norm());
  return worst;
}

// Permutation that changes the distances least, by depth-first search over those that change none
// by more than the best found; a partial permutation that already fails is never extended, so that
// layouts without symmetry cost little at any size.
class LayoutSearch {
 public:
  LayoutSearch(const Points& points, double tolerance)
      : points_(points), tolerance_(tolerance), n_(static_cast<int>(points.size())), d_(n_, n_) {
    for (int i = 0; i < n_; ++i) {
      for (int k = 0; k < n_; ++k) d_(i, k) = (points[i] - points[k]).norm();
    }
    rank_ = Rank(points, tolerance);
    to_.assign(n_, -1);
    used_.assign(n_, 0);
  }

  std::optional<Exchange> Run() {
    bound_ = tolerance_;
    Extend(0, 0);
    return best_;
  }

 private:
  void Extend(int i, double change) {
    if (++nodes_ > kNodes) return;
    if (i == n_) {
      bool identity = true;
      for (int k = 0; k < n_; ++k) identity &= to_[k] == k;
      if (identity) return;
      // In space a mirror image is another body.
      if (rank_ == 3 && ProperResidual(points_, to_) > tolerance_) return;
      bound_ = change;
      best_ = Exchange{to_, change};
      return;
    }
    for (int j = 0; j < n_; ++j) {
      if (used_[j]) continue;
      double worst = change;
      for (int k = 0; k < i && worst <= bound_; ++k)
        worst = std::max(worst, std::abs(d_(i, k) - d_(j, to_[k])));
      if (worst > bound_ || (best_ && worst >= bound_)) continue;
      to_[i] = j;
      used_[j] = 1;
      Extend(i + 1, worst);
      used_[j] = 0;
    }
  }

  const Points& points_;
  double tolerance_, bound_ = 0;
  int n_, rank_ = 0;
  Eigen::MatrixXd d_;
  std::vector<int> to_;
  std::vector<char> used_;
  std::optional<Exchange> best_;
  long long nodes_ = 0;
};

struct Move {
  int marker = -1;
  double by = 0;  // [m]
  std::string along;
};

// The shortest of the displacements tried that removes every exchange: along the line or the main
// directions of the layout's own axes.
std::optional<Move> Advise(const Points& points, const std::vector<int>& candidates,
                           double tolerance) {
  double extent = 0;
  for (const Eigen::Vector3d& p : points) {
    for (const Eigen::Vector3d& q : points) extent = std::max(extent, (p - q).norm());
  }
  const int rank = Rank(points, tolerance);
  std::vector<std::pair<Eigen::Vector3d, std::string>> ways;
  if (rank <= 1) {
    Eigen::Vector3d axis = Eigen::Vector3d::UnitX();
    int end = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if ((points[i] - points[0]).norm() > (points[end] - points[0]).norm())
        end = static_cast<int>(i);
    }
    if (end != 0) axis = (points[end] - points[0]).normalized();
    ways = {{axis, "along the line"}, {-axis, "along the line"}};
  } else {
    for (int k = 0; k < 3; ++k) {
      const Eigen::Vector3d axis = Eigen::Vector3d::Unit(k);
      // Out of the plane of a flat layout there is no surface to put a marker on.
      if (rank == 2) {
        Points with = points;
        with.push_back(points[0] + extent * axis);
        if (Rank(with, tolerance) > 2) continue;
      }
      ways.emplace_back(axis, fmt::format("along +{}", "xyz"[k]));
      ways.emplace_back(-axis, fmt::format("along -{}", "xyz"[k]));
    }
  }
  // Whole millimetres, twice what is just enough.
  for (int mm = 1; mm * 1e-3 <= std::max(0.5 * extent, 1e-3); ++mm) {
    for (const int i : candidates) {
      for (const auto& [direction, name] : ways) {
        Points moved = points;
        moved[i] += mm * 1e-3 * direction;
        bool crowded = false;
        for (std::size_t k = 0; k < points.size(); ++k)
          crowded |= static_cast<int>(k) != i && (moved[i] - moved[k]).norm() < 0.1 * extent;
        if (!crowded && !LayoutSearch(moved, 2 * tolerance).Run()) return Move{i, mm * 1e-3, name};
      }
    }
  }
  return {};
}

}  // namespace

std::string LayoutFault(const std::vector<std::string>& names,
                        const std::vector<Eigen::Vector3d>& layout, double sd) {
  if (names.size() != layout.size())
    throw std::invalid_argument("LayoutFault: names and positions differ in number");
  if (!(sd >= 0 && std::isfinite(sd)))
    throw std::invalid_argument(
        "LayoutFault: the standard deviation must be finite and not negative");
  for (const Eigen::Vector3d& p : layout) {
    if (!p.allFinite()) throw std::invalid_argument("LayoutFault: a position is not finite");
  }
  if (layout.size() < 2) return {};
  if (layout.size() == 2) {
    return fmt::format(
        "markers {} and {} can be exchanged: two markers are a line that looks the same from both "
        "ends; add a third one off the middle, or name the markers in one frame of every recording",
        names[0], names[1]);
  }
  const double tolerance = std::max(kDistanceGate * std::sqrt(2.0) * sd, 1e-9);
  const std::optional<Exchange> exchange = LayoutSearch(layout, tolerance).Run();
  if (!exchange) return {};
  std::string who;
  for (int i = 0; i < static_cast<int>(layout.size()); ++i) {
    const int k = exchange->to[i];
    const bool pair = exchange->to[k] == i;
    if (k == i || (pair && k < i)) continue;
    who += fmt::format("{}{} {} {}", who.empty() ? "" : ", ", names[i], pair ? "and" : "for",
                       names[k]);
  }
  std::string text =
      fmt::format("markers {} can be exchanged (the distances change by at most {:.2g} mm)", who,
                  1e3 * exchange->change);
  // A marker that stays in place breaks the symmetry as well as one that is exchanged.
  std::vector<int> all(layout.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  constexpr std::size_t kMost = 20;
  const auto move = layout.size() <= kMost ? Advise(layout, all, tolerance) : std::nullopt;
  if (move) {
    text += fmt::format("; move {} by {:.0f} mm {}, or give one end a marker of its own look",
                        names[move->marker], 1e3 * move->by, move->along);
  } else {
    text += "; move one of them, or give one end a marker of its own look";
  }
  return text;
}

}  // namespace impactlab
