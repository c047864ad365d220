#include "calibration/solve/detail/board_correspondence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/solve/detail/initialization.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

// of the spacing: a wrong numbering misses by whole spacings, a lens bends by less
constexpr double kGridMisfit = 0.35;
constexpr double kSameRotation = 0.12;  // [rad]; a wrong numbering turns by a quarter at least
constexpr double kSameDistance = 0.12;  // of the distance to the board

void Renumber(BoardView& view, const std::vector<int>& true_id) {
  for (BoardPoint& point : view.points) point.id = true_id[point.id];
  std::sort(view.points.begin(), view.points.end(),
            [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
}

struct Turn {
  std::vector<int> true_id;                             // by label
  Eigen::Isometry3d S = Eigen::Isometry3d::Identity();  // P(true) = S P(label)
  int degrees = 0;
};

std::vector<Turn> Turns(const Board& board) {
  std::vector<Turn> turns;
  for (const std::vector<int>& seen : Symmetries(board, false)) {
    Turn turn;
    turn.true_id.assign(seen.size(), 0);
    for (std::size_t id = 0; id < seen.size(); ++id) turn.true_id[seen[id]] = static_cast<int>(id);
    // Two points give the rotation in the plane.
    const int a = 0, b = board.columns - 1;
    const Eigen::Vector3d from = PointOnBoard(board, b) - PointOnBoard(board, a);
    const Eigen::Vector3d to =
        PointOnBoard(board, turn.true_id[b]) - PointOnBoard(board, turn.true_id[a]);
    const double angle = std::atan2(to.y(), to.x()) - std::atan2(from.y(), from.x());
    turn.S.linear() = Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    turn.S.translation() =
        PointOnBoard(board, turn.true_id[a]) - turn.S.linear() * PointOnBoard(board, a);
    turn.degrees = (static_cast<int>(std::lround(angle * 180 / M_PI)) % 360 + 360) % 360;
    turns.push_back(turn);
  }
  return turns;
}

// How far two relative poses of cameras are apart, 1 = the limit of agreement.
double Disagreement(const Eigen::Isometry3d& a, const Eigen::Isometry3d& b, double distance) {
  const double angle = Eigen::AngleAxisd(a.linear().transpose() * b.linear()).angle();
  return std::max(angle / kSameRotation,
                  (a.translation() - b.translation()).norm() / (kSameDistance * distance));
}

Eigen::Isometry3d Average(const std::vector<Eigen::Isometry3d>& poses) {
  Eigen::Vector4d sum = Eigen::Vector4d::Zero();
  const Eigen::Quaterniond first(poses.front().linear());
  std::vector<double> coordinate[3];
  for (const auto& X : poses) {
    const Eigen::Quaterniond q(X.linear());
    sum += (q.dot(first) < 0 ? -1 : 1) * q.coeffs();
    for (int j = 0; j < 3; ++j) coordinate[j].push_back(X.translation()[j]);
  }
  Eigen::Isometry3d mean = Eigen::Isometry3d::Identity();
  mean.linear() = Eigen::Quaterniond(sum.normalized()).toRotationMatrix();
  for (int j = 0; j < 3; ++j) mean.translation()[j] = UpperMedian(std::move(coordinate[j]));
  return mean;
}

bool MayTurn(const BoardView& view) { return !view.orientation_known; }

// Pose of the board behind a view whose picture was mirrored left to right: reflected in the
// camera, and in the board as it was numbered.
Eigen::Isometry3d Mirrored(const Eigen::Isometry3d& X_CG, const Board& board) {
  const Eigen::Vector3d flip(-1, 1, 1);
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = flip.asDiagonal() * X_CG.linear() * flip.asDiagonal();
  X.translation() = flip.asDiagonal() *
                    (X_CG.translation() + X_CG.linear() * Eigen::Vector3d(Extent(board).x(), 0, 0));
  return X;
}

// The relative pose X_ab most shots agree on when each may be turned.
struct Consensus {
  std::optional<Eigen::Isometry3d> X_ab;
  int support = 0, plain = 0;  // shots that agree; those that do without being turned
};

// `mirror`: as if b's pictures were mirrored. A plain chessboard looks the same then, and its pose
// is the mirror image of the true one.
Consensus Agree(const CalibrationProblem& problem, const MonoPoses& X_CG,
                const std::vector<Turn>& turns, int a, int b, bool mirror = false) {
  struct Candidate {
    int shot, turn;
    Eigen::Isometry3d X_ab;
  };
  std::vector<Candidate> candidates;
  std::vector<double> distance;
  for (std::size_t s = 0; s < X_CG.size(); ++s) {
    distance.push_back(X_CG[s][a] && X_CG[s][b] ? std::max(X_CG[s][a]->translation().norm(),
                                                           X_CG[s][b]->translation().norm())
                                                : 0);
    if (!X_CG[s][a] || !X_CG[s][b]) continue;
    const bool may_turn =
        mirror || MayTurn(problem.shots[s].views[a]) || MayTurn(problem.shots[s].views[b]);
    const Eigen::Isometry3d X_bG = mirror ? Mirrored(*X_CG[s][b], problem.board) : *X_CG[s][b];
    for (std::size_t k = 0; k < (may_turn ? turns.size() : 1); ++k)
      candidates.push_back({static_cast<int>(s), static_cast<int>(k),
                            *X_CG[s][a] * (X_bG * turns[k].S.inverse()).inverse()});
  }
  Consensus best;
  double best_sum = 0;
  std::vector<Eigen::Isometry3d> members;
  // Bounded work for long lists: at most 200 candidates, evenly chosen, are tried as consensus.
  const std::size_t step = std::max<std::size_t>(1, candidates.size() / 200);
  for (std::size_t i = 0; i < candidates.size(); i += step) {
    std::vector<double> nearest(X_CG.size(), 1.0);
    std::vector<int> which(X_CG.size(), -1);
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      const double d =
          Disagreement(candidates[i].X_ab, candidates[j].X_ab, distance[candidates[j].shot]);
      if (d < nearest[candidates[j].shot])
        nearest[candidates[j].shot] = d, which[candidates[j].shot] = static_cast<int>(j);
    }
    int support = 0, plain = 0;
    double sum = 0;
    for (std::size_t s = 0; s < which.size(); ++s) {
      if (which[s] < 0) continue;
      ++support;
      plain += candidates[which[s]].turn == 0;
      sum += nearest[s];
    }
    if (support < best.support ||
        (support == best.support &&
         (plain < best.plain || (plain == best.plain && sum >= best_sum))))
      continue;
    best.support = support;
    best.plain = plain;
    best_sum = sum;
    members.clear();
    for (const int j : which)
      if (j >= 0) members.push_back(candidates[j].X_ab);
  }
  if (!members.empty()) best.X_ab = Average(members);
  return best;
}

}  // namespace

ViewCheck CheckView(const Board& board, BoardView& view, bool fix) {
  ViewCheck check;
  if (view.points.empty()) {
    check.rejected = view.problem.empty() ? "the board was not seen" : view.problem;
    return check;
  }
  if (view.points.size() < 6) {
    check.rejected =
        fmt::format("only {} points of the board were seen; 6 at least", view.points.size());
    return check;
  }
  GridFit fit = FitGrid(board, view);
  if (!fit.ok) {
    check.rejected = "the points seen lie on one line";
    return check;
  }
  const bool full = static_cast<int>(view.points.size()) == PointCount(board);
  if (fit.misfit > kGridMisfit && full && board.columns != board.rows &&
      board.kind != BoardKind::kCharuco) {
    // The same points, listed along the other side of the grid.
    for (int variant = 0; variant < 4; ++variant) {
      std::vector<int> true_id(PointCount(board));
      for (int i = 0; i < PointCount(board); ++i) {
        int column = i / board.rows, row = i % board.rows;
        if (variant & 1) row = board.rows - 1 - row;
        if (variant & 2) column = board.columns - 1 - column;
        true_id[i] = row * board.columns + column;
      }
      BoardView renumbered = view;
      Renumber(renumbered, true_id);
      const GridFit other = FitGrid(board, renumbered);
      if (!other.ok || other.misfit > kGridMisfit || other.mirrored) continue;
      const std::string found = fmt::format(
          "grid orientation mix: the points are listed as a {} x {} grid, the board has {} x {}",
          board.rows, board.columns, board.columns, board.rows);
      if (!fix) {
        check.rejected = found;
        return check;
      }
      view = renumbered;
      check.note = found + "; renumbered";
      return check;
    }
  }
  if (fit.misfit > kGridMisfit) {
    check.rejected = fmt::format(
        "the points do not form the {} x {} grid of the board (they miss it by {:.1f} of its "
        "spacing): wrong board or wrong count of points",
        board.columns, board.rows, fit.misfit);
    return check;
  }
  if (fit.mirrored) {
    check.mirrored = true;
    check.rejected = "the picture is mirrored: the board is seen as from behind the paper";
  }
  return check;
}

namespace {

// Links the cameras of a rig over shared shots.
class CameraChain {
 public:
  CameraChain(CalibrationProblem& problem, MonoPoses& X_CG, bool fix)
      : problem_(problem),
        X_CG_(X_CG),
        fix_(fix),
        n_cameras_(static_cast<int>(problem.cameras.size())),
        n_shots_(static_cast<int>(problem.shots.size())),
        turns_(Turns(problem.board)) {
    start_.X_WC.assign(n_cameras_, std::nullopt);
    start_.X_WC[0] = Eigen::Isometry3d::Identity();
    start_.checks.assign(n_shots_, std::vector<ViewCheck>(n_cameras_));
  }

  RigStart Link() && {
    // From camera 0 along the pair whose shots agree best. Turned views are renumbered on the way,
    // so that later pairs use the corrected numbers.
    for (int step = 1; step < n_cameras_; ++step) {
      const Pair pair = BestPair();
      if (pair.to < 0) break;
      if (LooksMirrored(pair)) {
        start_.mirrored = {pair.from, pair.to};
        return std::move(start_);
      }
      start_.X_WC[pair.to] = *start_.X_WC[pair.from] * *pair.consensus.X_ab;
      for (int s = 0; s < n_shots_; ++s)
        if (X_CG_[s][pair.from] && X_CG_[s][pair.to]) TurnBack(s, pair);
    }
    for (int s = 0; s < n_shots_; ++s) RejectDisagreeing(s);
    return std::move(start_);
  }

 private:
  struct Pair {
    int from = -1, to = -1;
    Consensus consensus;
  };

  // The pair of a camera already placed and one that is not.
  Pair BestPair() const {
    Pair best;
    for (int a = 0; a < n_cameras_; ++a) {
      if (!start_.X_WC[a]) continue;
      for (int b = 0; b < n_cameras_; ++b) {
        if (start_.X_WC[b]) continue;
        const Consensus consensus = Agree(problem_, X_CG_, turns_, a, b);
        if (consensus.X_ab && consensus.support > best.consensus.support) best = {a, b, consensus};
      }
    }
    return best;
  }

  // Most shots agree once one of the two cameras is mirrored, and few without.
  bool LooksMirrored(const Pair& pair) const {
    int shared = 0;
    for (int s = 0; s < n_shots_; ++s) shared += X_CG_[s][pair.from] && X_CG_[s][pair.to];
    const int support = pair.consensus.support;
    if (shared < 4 || 2 * support >= shared) return false;
    const Consensus mirror = Agree(problem_, X_CG_, turns_, pair.from, pair.to, true);
    return 5 * mirror.support >= 4 * shared && mirror.support > 2 * support;
  }

  // A view of the pair that was numbered from another corner than the consensus asks for.
  void TurnBack(int s, const Pair& pair) {
    const auto& [from, to, consensus] = pair;
    const double distance =
        std::max(X_CG_[s][from]->translation().norm(), X_CG_[s][to]->translation().norm());
    int closest = 0;
    double least = 1e300;
    for (std::size_t k = 0; k < turns_.size(); ++k) {
      const Eigen::Isometry3d X_ab =
          *X_CG_[s][from] * (*X_CG_[s][to] * turns_[k].S.inverse()).inverse();
      const double d = Disagreement(*consensus.X_ab, X_ab, distance);
      if (d < least) least = d, closest = static_cast<int>(k);
    }
    const auto& views = problem_.shots[s].views;
    if (closest == 0 || !(least < 1) || !(MayTurn(views[from]) || MayTurn(views[to]))) return;
    ++start_.turned;
    // Where one of the two is sure of its order, the other is the turned one.
    if (MayTurn(views[to])) {
      TurnView(s, to, turns_[closest]);
    } else {
      Turn back = turns_[closest];
      back.S = back.S.inverse();
      for (std::size_t i = 0; i < back.true_id.size(); ++i)
        back.true_id[turns_[closest].true_id[i]] = static_cast<int>(i);
      back.degrees = (360 - back.degrees) % 360;
      TurnView(s, from, back);
    }
  }

  void TurnView(int shot, int camera, const Turn& turn) {
    ViewCheck& check = start_.checks[shot][camera];
    if (fix_) {
      Renumber(problem_.shots[shot].views[camera], turn.true_id);
      X_CG_[shot][camera] = *X_CG_[shot][camera] * turn.S.inverse();
      check.note = fmt::format(
          "points listed from another corner than the other cameras': turned by {} degrees",
          turn.degrees);
    } else {
      X_CG_[shot][camera].reset();
      check.rejected = fmt::format(
          "grid orientation mix: the points are listed from another corner than the other cameras' "
          "({} degrees)",
          turn.degrees);
    }
  }

  // Which cameras agree with the one that most agree with, in a shot that those of `seeing` took.
  std::pair<std::size_t, std::vector<char>> Majority(int s, const std::vector<int>& seeing) const {
    std::size_t best_support = 0;
    std::vector<char> agrees(n_cameras_, 0);
    for (const int a : seeing) {
      std::vector<char> with(n_cameras_, 0);
      std::size_t support = 0;
      for (const int b : seeing) {
        const Eigen::Isometry3d expected =
            start_.X_WC[b]->inverse() * *start_.X_WC[a] * *X_CG_[s][a];
        const double distance =
            std::max(expected.translation().norm(), X_CG_[s][b]->translation().norm());
        with[b] = Disagreement(expected, *X_CG_[s][b], 2 * distance) < 1;
        support += with[b];
      }
      if (support > best_support) best_support = support, agrees = with;
    }
    return {best_support, agrees};
  }

  // The pictures of two cameras are exchanged: the pose between them is that of the rig inverted.
  bool Swapped(int s, int a, int b) const {
    const Eigen::Isometry3d found = *X_CG_[s][a] * X_CG_[s][b]->inverse();
    const Eigen::Isometry3d expected = start_.X_WC[a]->inverse() * *start_.X_WC[b];
    return Disagreement(expected.inverse(), found, X_CG_[s][a]->translation().norm()) < 1;
  }

  // Once every camera is placed: views that put the board elsewhere than the others are left out.
  void RejectDisagreeing(int s) {
    std::vector<int> seeing;
    for (int c = 0; c < n_cameras_; ++c)
      if (X_CG_[s][c] && start_.X_WC[c]) seeing.push_back(c);
    if (seeing.size() < 2) return;
    const auto [support, agrees] = Majority(s, seeing);
    if (support == seeing.size()) return;
    ++start_.disagreeing;
    const bool swapped = seeing.size() == 2 && Swapped(s, seeing[0], seeing[1]);
    start_.swapped += swapped;
    for (const int c : seeing) {
      // Of two views it is not known which is wrong: both leave.
      if (agrees[c] && support > 1) continue;
      start_.checks[s][c].rejected =
          swapped ? "the pictures of the two cameras are swapped in this shot"
                  : "the cameras do not agree on where the board was: not the same instant, a "
                    "moved camera, or points listed in another order";
      X_CG_[s][c].reset();
    }
  }

  CalibrationProblem& problem_;
  MonoPoses& X_CG_;
  const bool fix_;
  const int n_cameras_, n_shots_;
  const std::vector<Turn> turns_;
  RigStart start_;
};

}  // namespace

RigStart ChainCameras(CalibrationProblem& problem, MonoPoses& X_CG, bool fix) {
  return CameraChain(problem, X_CG, fix).Link();
}

}  // namespace impactlab::calibration
