#include "impact/identify/slide_course.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr std::size_t kLeastPlaces = 4;  // of a branch
constexpr double kSplitLevel = 0.001;    // of the F test for a second part

// The two parabolas that share a vertex at `turn`.
struct TwoParts {
  double turn = 0, square = 0;
  Eigen::Vector3d c = Eigen::Vector3d::Zero();  // s_r, b, c
  Eigen::Vector3d sd = Eigen::Vector3d::Zero();
};

TwoParts PartsAt(const std::vector<double>& t, const std::vector<double>& s, double turn) {
  const auto n = static_cast<Eigen::Index>(t.size());
  const double scale = t.back() - t.front();
  Eigen::MatrixXd A(n, 3);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double x = (t[static_cast<std::size_t>(i)] - turn) / scale;
    A.row(i) << 1, x < 0 ? x * x : 0, x > 0 ? x * x : 0;
    y[i] = s[static_cast<std::size_t>(i)];
  }
  TwoParts out;
  out.turn = turn;
  out.c = A.colPivHouseholderQr().solve(y);
  out.square = (y - A * out.c).squaredNorm();
  const Eigen::MatrixXd inverse = (A.transpose() * A).inverse();
  const double variance = out.square / std::max<double>(1, static_cast<double>(n) - 4);
  out.sd = (variance * inverse.diagonal()).cwiseSqrt();
  return out;
}

// The best turn between the second place and the one before the last.
TwoParts SearchTurn(const std::vector<double>& t, const std::vector<double>& s) {
  const double from = t[1], to = t[t.size() - 2];
  const int steps = std::clamp(4 * static_cast<int>(t.size()), 40, 400);
  TwoParts best = PartsAt(t, s, from);
  for (int k = 1; k <= steps; ++k) {
    const TwoParts here = PartsAt(t, s, from + (to - from) * k / steps);
    if (here.square < best.square) best = here;
  }
  double width = (to - from) / steps;
  for (int k = 0; k < 30; ++k, width *= 0.6)
    for (const double step : {-width, width}) {
      const double turn = best.turn + step;
      if (turn < from || turn > to) continue;
      const TwoParts here = PartsAt(t, s, turn);
      if (here.square < best.square) best = here;
    }
  return best;
}

// Whether two parts describe the places better than one parabola (F test of one further
// parameter), and better than a parabola with a cubic term, which has as many.
bool AreBetter(const TwoParts& parts, const SlideFit& whole, const std::vector<double>& s) {
  const auto n = static_cast<double>(s.size());
  const double dof = n - 4, one = whole.rms * whole.rms * n,
               cubic = one / (1 + whole.jerk_z * whole.jerk_z / dof);
  const auto [low, high] = std::minmax_element(s.begin(), s.end());
  const double rounding = 1e-9 * (*high - *low);
  if (one <= rounding * rounding * n || parts.square >= cubic) return false;
  const double t = std::sqrt((one - parts.square) / std::max(parts.square, 1e-300) * dof);
  return 2 * (1 - StudentCdf(t, dof)) < kSplitLevel;
}

bool AddBranch(const std::vector<double>& t, const std::vector<double>& s, std::size_t first,
               std::size_t last, SlideCourse& out) {
  if (last < first + kLeastPlaces) return false;
  SlideBranch branch;
  branch.first = first;
  branch.last = last;
  const auto part = [&](const std::vector<double>& x) {
    return std::vector<double>(x.begin() + static_cast<std::ptrdiff_t>(first),
                               x.begin() + static_cast<std::ptrdiff_t>(last));
  };
  branch.fit = FitSlide(part(t), part(s));
  const double middle = 0.5 * (t[last - 1] - t[first]);
  branch.sign = branch.fit.v_0 + branch.fit.acceleration * middle < 0 ? -1 : 1;
  branch.travel = std::abs(s[last - 1] - s[first]);
  out.branches.push_back(branch);
  return true;
}

SlideKind KindOf(const TwoParts& parts, bool before, bool after) {
  if (!after) return SlideKind::kComesToRest;
  if (!before) return SlideKind::kStarts;
  return parts.c[1] * parts.c[2] > 0 ? SlideKind::kReturns : SlideKind::kUneven;
}

}  // namespace

SlideCourse DivideSlide(const std::vector<double>& t, const std::vector<double>& s) {
  const SlideFit whole = FitSlide(t, s);
  const std::size_t n = t.size();
  SlideCourse out;
  const auto as_one = [&] {
    AddBranch(t, s, 0, n, out);
    return out;
  };
  const double vertex =
      whole.acceleration != 0 ? t.front() - whole.v_0 / whole.acceleration : t.front() - 1;
  const bool turns_inside =
      vertex > t[1] && vertex < t[n - 2] && std::abs(whole.acceleration) > 4 * whole.sd;
  const TwoParts parts = n > kLeastPlaces + 1 ? SearchTurn(t, s) : TwoParts{};
  const bool two = n > kLeastPlaces + 1 && AreBetter(parts, whole, s);
  if (!two && !turns_inside) return as_one();
  out.t_turn = two ? parts.turn : vertex;
  const auto cut =
      static_cast<std::size_t>(std::upper_bound(t.begin(), t.end(), out.t_turn) - t.begin());
  if (!two) {
    out.kind = SlideKind::kReturns;
    const bool before = AddBranch(t, s, 0, cut, out), after = AddBranch(t, s, cut, n, out);
    if (!before) out.left_out += static_cast<int>(cut);
    if (!after) out.left_out += static_cast<int>(n - cut);
    return out;
  }
  constexpr double kMoves = 4;  // standard deviations of a curvature that is no rest
  const bool before = std::abs(parts.c[1]) > kMoves * parts.sd[1],
             after = std::abs(parts.c[2]) > kMoves * parts.sd[2];
  if (!before && !after) return as_one();
  out.kind = KindOf(parts, before, after);
  if (before && !AddBranch(t, s, 0, cut, out)) out.left_out += static_cast<int>(cut);
  if (after && !AddBranch(t, s, cut, n, out)) out.left_out += static_cast<int>(n - cut);
  return out;
}

}  // namespace impactlab
