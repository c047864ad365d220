#include "tracking/track/marker_labelling.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "data/base/infinity.h"

namespace impactlab {
namespace {

constexpr double kHintReach = 25;      // farthest a hint may lie from its track [px]
constexpr double kPixelSd = 0.5;       // of an image in the affine model [px]
constexpr double kPerspective = 0.01;  // what affine maps leave out, of the picture's extent
// foreshortening, where the picture of three markers must be judged by its shape alone
constexpr double kTiltSd = 0.15;
constexpr double kMostOdds = 50;
constexpr double kSureOdds = 3;      // e^3 = 20 to 1
constexpr std::size_t kFrames = 12;  // looked at for one decision

std::optional<Eigen::Vector2d> Seen(const Track& track, long long frame) {
  const auto step = std::lower_bound(track.steps.begin(), track.steps.end(), frame,
                                     [](const TrackStep& s, long long f) { return s.frame < f; });
  if (step == track.steps.end() || step->frame != frame || step->observation < 0) return {};
  return Eigen::Vector2d(step->state.head<2>());
}

bool Overlap(const Track& a, const Track& b) {
  return a.steps.front().frame <= b.steps.back().frame &&
         b.steps.front().frame <= a.steps.back().frame;
}

std::size_t Length(const Track& track) {
  return std::count_if(track.steps.begin(), track.steps.end(),
                       [](const TrackStep& s) { return s.observation >= 0; });
}

// Coordinates of the layout in its own line, plane or space: as many columns as it has dimensions.
Eigen::MatrixXd Coordinates(const std::vector<Eigen::Vector3d>& layout) {
  const int n = static_cast<int>(layout.size());
  Eigen::MatrixXd m(n, 3);
  for (int i = 0; i < n; ++i) m.row(i) = layout[i].transpose();
  const Eigen::RowVector3d centre = m.colwise().mean();
  m.rowwise() -= centre;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(m, Eigen::ComputeThinV);
  int rank = 0;
  for (int i = 0; i < svd.singularValues().size(); ++i)
    rank += svd.singularValues()(i) > 0.02 * svd.singularValues()(0) && svd.singularValues()(i) > 0;
  return m * svd.matrixV().leftCols(rank);
}

// -2 ln(likelihood) that the markers `who` (rows of `coordinates`) have the images `q` (two columns
// a frame).
double FitCost(const Eigen::MatrixXd& coordinates, const std::vector<int>& who,
               const Eigen::MatrixXd& q) {
  const int m = static_cast<int>(who.size()), rank = static_cast<int>(coordinates.cols());
  Eigen::MatrixXd a(m, rank + 1);
  for (int i = 0; i < m; ++i) {
    a(i, 0) = 1;
    a.row(i).tail(rank) = coordinates.row(who[i]);
  }
  const double extent = (q.rowwise() - q.colwise().mean()).cwiseAbs().maxCoeff();
  if (m > rank + 1) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(a);
    const Eigen::MatrixXd rest = q - a * qr.solve(q);
    const double sd = kPixelSd + kPerspective * extent;
    return rest.squaredNorm() / (sd * sd);
  }
  if (rank < 2 || m < 3) return 0;
  // Every picture fits an affine map: the shape under a similarity decides, mirrored or not.
  const double sd = kPixelSd + kTiltSd * extent;
  double cost = 0;
  for (int f = 0; f + 1 < q.cols(); f += 2) {
    double best = kInfinity;
    for (const double flip : {1.0, -1.0}) {
      Eigen::MatrixXd s = Eigen::MatrixXd::Zero(2 * m, 4);
      Eigen::VectorXd y(2 * m);
      for (int i = 0; i < m; ++i) {
        const double u = coordinates(who[i], 0), v = flip * coordinates(who[i], 1);
        s.row(2 * i) << 1, 0, u, -v;
        s.row(2 * i + 1) << 0, 1, v, u;
        y(2 * i) = q(i, f);
        y(2 * i + 1) = q(i, f + 1);
      }
      best = std::min(best, (y - s * s.colPivHouseholderQr().solve(y)).squaredNorm());
    }
    // Frames of one tilt carry the information of one frame.
    cost += 2 * best / (sd * sd) / static_cast<double>(q.cols());
  }
  return cost;
}

class Labeller {
 public:
  Labeller(const std::vector<Track>& tracks, const std::vector<std::string>& names,
           const std::vector<Eigen::Vector3d>& layout)
      : tracks_(tracks), names_(names), count_(static_cast<int>(names.size())) {
    result_.label.assign(tracks.size(), -1);
    result_.odds.assign(tracks.size(), 0);
    if (!layout.empty()) coordinates_ = Coordinates(layout);
    bool any = false;
    for (const Track& track : tracks) any |= !track.still;
    for (const Track& track : tracks)
      open_.push_back(!track.steps.empty() && (!any || !track.still));
  }

  void Hints(const std::vector<MarkerHint>& hints) {
    std::map<long long, std::vector<const MarkerHint*>> by_frame;
    for (const MarkerHint& hint : hints) by_frame[hint.frame].push_back(&hint);
    for (const auto& [frame, at] : by_frame) {
      Eigen::MatrixXd cost = Eigen::MatrixXd::Constant(static_cast<int>(at.size()),
                                                       static_cast<int>(tracks_.size()), kInfinity);
      for (std::size_t h = 0; h < at.size(); ++h) {
        for (std::size_t k = 0; k < tracks_.size(); ++k) {
          if (tracks_[k].steps.empty()) continue;
          const auto q = Seen(tracks_[k], frame);
          if (q && (*q - at[h]->q).norm() <= kHintReach)
            cost(static_cast<int>(h), static_cast<int>(k)) = (*q - at[h]->q).squaredNorm();
        }
      }
      const std::vector<int> assigned = AssignLeastCost(cost, kHintReach * kHintReach + 1);
      for (std::size_t h = 0; h < at.size(); ++h) Take(*at[h], assigned[h]);
    }
  }

  // From tracks seen together, frames with most tracks first.
  void Geometry() {
    if (coordinates_.size() == 0) return;
    const int rank = static_cast<int>(coordinates_.cols());
    std::set<int> left = Unlabelled();
    while (!left.empty()) {
      const auto [frame, together] = FullestFrame(left);
      if (together.empty()) return;
      std::vector<int> fresh;
      for (const int k : together) {
        if (left.count(k)) fresh.push_back(k);
      }
      const int known = static_cast<int>(together.size() - fresh.size());
      for (const int k : fresh) left.erase(k);
      if (known + static_cast<int>(fresh.size()) < std::min(rank + 2, 3)) continue;
      Decide(together, fresh);
    }
  }

  // In the order from the left in the frame where most are seen, for names nobody has yet.
  void FromTheLeft() {
    std::vector<int> names;
    for (int i = 0; i < count_; ++i) {
      if (std::find(result_.label.begin(), result_.label.end(), i) == result_.label.end())
        names.push_back(i);
    }
    const auto [frame, together] = FullestFrame(Unlabelled());
    std::vector<std::pair<double, int>> order;
    for (const int k : together) {
      if (result_.label[k] < 0) order.emplace_back(Seen(tracks_[k], frame)->x(), k);
    }
    std::sort(order.begin(), order.end());
    std::size_t next = 0;
    std::string who;
    for (const auto& [x, k] : order) {
      if (next == names.size()) break;
      who += (who.empty() ? "" : ", ") + names_[names[next]];
      result_.label[k] = names[next++];
    }
    if (!who.empty() && count_ > 1) {
      Note(
          fmt::format("names {} were given from left to right in frame {}: give a hint, or a "
                      "layout by which they can be told",
                      who, frame));
    }
  }

  // A track that begins where a named one ended.
  void Continue() {
    std::vector<int> order;
    for (const int k : Unlabelled()) order.push_back(k);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return Length(tracks_[a]) > Length(tracks_[b]); });
    for (const int k : order) {
      double best = kInfinity, second = kInfinity;
      int name = -1;
      for (int i = 0; i < count_; ++i) {
        if (Taken(i, k)) continue;
        double cost = 16;  // a name without earlier points carries no information
        for (std::size_t j = 0; j < tracks_.size(); ++j) {
          if (result_.label[j] == i) cost = std::min(cost, SuccessionCost(tracks_[j], tracks_[k]));
        }
        if (cost < best) {
          second = best;
          best = cost;
          name = i;
        } else {
          second = std::min(second, cost);
        }
      }
      if (name < 0) continue;
      result_.label[k] = name;
      result_.odds[k] = second == kInfinity ? 0 : std::min((second - best) / 2, kMostOdds);
    }
  }

  LabelResult Finish() {
    std::map<long long, std::set<int>> named;
    long long first = std::numeric_limits<long long>::max(),
              last = std::numeric_limits<long long>::min();
    std::vector<long long> covered(count_, 0);
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      if (result_.label[k] < 0) continue;
      first = std::min(first, tracks_[k].steps.front().frame);
      last = std::max(last, tracks_[k].steps.back().frame);
      covered[result_.label[k]] += static_cast<long long>(tracks_[k].steps.size());
    }
    result_.complete = count_ > 0 && first <= last;
    long long most = 0;
    for (const long long c : covered) most = std::max(most, c);
    for (int i = 0; i < count_; ++i) {
      if (covered[i] == 0) Note(fmt::format("no track was found for {}", names_[i]));
      result_.complete &= 2 * covered[i] > most;
    }
    std::set<std::string> open;
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      if (result_.label[k] >= 0 && result_.odds[k] < kSureOdds && count_ > 1)
        open.insert(names_[result_.label[k]]);
    }
    if (!open.empty()) {
      std::string list;
      for (const std::string& name : open) list += (list.empty() ? "" : ", ") + name;
      Note(fmt::format("one camera alone cannot tell {} for sure", list));
    }
    return std::move(result_);
  }

  bool has_layout() const { return coordinates_.size() > 0; }
  // Positions in the frame where most named tracks are seen are used as layout.
  void LearnLayout() {
    std::map<long long, int> count;
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      if (result_.label[k] < 0) continue;
      for (const TrackStep& step : tracks_[k].steps) count[step.frame] += step.observation >= 0;
    }
    for (const auto& [frame, n] : count) {
      if (n != count_) continue;
      std::vector<Eigen::Vector3d> layout(count_);
      for (std::size_t k = 0; k < tracks_.size(); ++k) {
        const auto q = result_.label[k] >= 0 ? Seen(tracks_[k], frame) : std::nullopt;
        if (q) layout[result_.label[k]] << *q, 0;
      }
      coordinates_ = Coordinates(layout);
      return;
    }
  }

 private:
  void Note(const std::string& text) { result_.notes.push_back(text); }

  void Take(const MarkerHint& hint, int track) {
    const auto name = std::find(names_.begin(), names_.end(), hint.marker);
    if (name == names_.end()) {
      Note(fmt::format("the hint for {} names no marker", hint.marker));
      return;
    }
    if (track < 0) {
      Note(fmt::format(
          "the hint for {} in frame {} at ({:.0f}, {:.0f}) px met no track within {:.0f} px",
          hint.marker, hint.frame, hint.q.x(), hint.q.y(), kHintReach));
      return;
    }
    const int i = static_cast<int>(name - names_.begin());
    if (result_.label[track] >= 0 && result_.label[track] != i) {
      Note(fmt::format("the hint for {} in frame {} contradicts an earlier one for {}", hint.marker,
                       hint.frame, names_[result_.label[track]]));
      return;
    }
    if (Taken(i, track)) {
      Note(fmt::format("the hint for {} in frame {} would name two markers at once", hint.marker,
                       hint.frame));
      return;
    }
    result_.label[track] = i;
    result_.odds[track] = kMostOdds;
  }

  // Whether another track that overlaps in time has the name.
  bool Taken(int name, int track) const {
    for (std::size_t j = 0; j < tracks_.size(); ++j) {
      if (static_cast<int>(j) != track && result_.label[j] == name &&
          Overlap(tracks_[j], tracks_[track]))
        return true;
    }
    return false;
  }

  std::set<int> Unlabelled() const {
    std::set<int> left;
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      if (open_[k] && result_.label[k] < 0) left.insert(static_cast<int>(k));
    }
    return left;
  }

  // The frame in which most tracks are seen that are named or in `left`, at least one of the
  // latter; the middle one of several such frames in a row.
  std::pair<long long, std::vector<int>> FullestFrame(const std::set<int>& left) const {
    std::map<long long, std::pair<int, int>> count;
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      const bool fresh = left.count(static_cast<int>(k)) > 0;
      if (!fresh && result_.label[k] < 0) continue;
      for (const TrackStep& step : tracks_[k].steps) {
        if (step.observation < 0) continue;
        ++count[step.frame].first;
        count[step.frame].second += fresh;
      }
    }
    int most = 0;
    std::vector<long long> best;
    for (const auto& [frame, n] : count) {
      if (n.second == 0 || n.first < most) continue;
      if (n.first > most) best.clear();
      most = n.first;
      best.push_back(frame);
    }
    if (best.empty()) return {0, {}};
    const long long frame = best[best.size() / 2];
    std::vector<int> together;
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      if (!left.count(static_cast<int>(k)) && result_.label[k] < 0) continue;
      if (Seen(tracks_[k], frame)) together.push_back(static_cast<int>(k));
    }
    return {frame, together};
  }

  // Names for the tracks `fresh` that are seen together with others: every assignment is tried, or
  // for many markers every start of one.
  void Decide(std::vector<int> together, std::vector<int> fresh) {
    std::sort(fresh.begin(), fresh.end(),
              [&](int a, int b) { return Length(tracks_[a]) > Length(tracks_[b]); });
    std::vector<int> names;
    for (int i = 0; i < count_; ++i) {
      bool taken = false;
      for (const int k : together) taken |= result_.label[k] == i;
      if (!taken) names.push_back(i);
    }
    while (fresh.size() > names.size()) {
      together.erase(std::find(together.begin(), together.end(), fresh.back()));
      fresh.pop_back();
    }
    if (fresh.empty()) return;
    const Eigen::MatrixXd q = Positions(together);
    if (q.cols() == 0) return;
    std::vector<int> who(together.size());
    std::vector<std::size_t> place;
    place.reserve(fresh.size());
    for (std::size_t i = 0; i < together.size(); ++i) who[i] = result_.label[together[i]];
    for (const int k : fresh)
      place.push_back(std::find(together.begin(), together.end(), k) - together.begin());

    double best = kInfinity;
    std::vector<int> winner;
    std::vector<std::vector<double>> by_name(fresh.size(), std::vector<double>(count_, kInfinity));
    const auto judge = [&](const std::vector<int>& way) {
      for (std::size_t f = 0; f < fresh.size(); ++f) {
        if (Taken(way[place[f]], fresh[f])) return;
      }
      const double cost = FitCost(coordinates_, way, q);
      for (std::size_t f = 0; f < fresh.size(); ++f)
        by_name[f][way[place[f]]] = std::min(by_name[f][way[place[f]]], cost);
      if (cost < best) {
        best = cost;
        winner = way;
      }
    };
    ForEveryWay(names, place, q, &who, judge);
    if (winner.empty()) return;
    const int m = static_cast<int>(together.size()), rank = static_cast<int>(coordinates_.cols());
    const double dof = std::max(1.0, static_cast<double>((m - rank - 1) * q.cols()));
    // A set that fits no assignment contains something other than a marker.
    constexpr double kMisfit = 64;
    if (m > rank + 1 && best / dof > kMisfit) return;
    for (std::size_t f = 0; f < fresh.size(); ++f) {
      const int name = winner[place[f]];
      double second = kInfinity;
      for (int i = 0; i < count_; ++i) {
        if (i != name) second = std::min(second, by_name[f][i]);
      }
      double odds = second == kInfinity ? (m > rank + 1 ? 10 : 0) : (second - best) / 2;
      if (m <= rank + 1) odds = std::min(odds, kSureOdds - 1);
      result_.label[fresh[f]] = name;
      result_.odds[fresh[f]] = std::min(odds, kMostOdds);
    }
  }

  template <typename Judge>
  void ForEveryWay(const std::vector<int>& names, const std::vector<std::size_t>& place,
                   const Eigen::MatrixXd& q, std::vector<int>* who, const Judge& judge) const {
    constexpr std::size_t kExact = 8;
    const std::size_t rank = static_cast<std::size_t>(coordinates_.cols());
    const std::size_t known = who->size() - place.size();
    const std::size_t free = names.size() <= kExact
                                 ? place.size()
                                 : std::min(place.size(), known > rank ? 0 : rank + 1 - known);
    std::vector<char> used(names.size(), 0);
    const std::function<void(std::size_t)> extend = [&](std::size_t f) {
      if (f == free) {
        if (free == place.size()) {
          judge(*who);
        } else {
          judge(Completed(names, used, place, free, q, *who));
        }
        return;
      }
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (used[i]) continue;
        used[i] = 1;
        (*who)[place[f]] = names[i];
        extend(f + 1);
        used[i] = 0;
      }
    };
    extend(0);
  }

  // The rest of an assignment from the affine map of its start in the first frame.
  std::vector<int> Completed(const std::vector<int>& names, const std::vector<char>& used,
                             const std::vector<std::size_t>& place, std::size_t fixed,
                             const Eigen::MatrixXd& q, std::vector<int> who) const {
    const std::set<std::size_t> rest(place.begin() + static_cast<std::ptrdiff_t>(fixed),
                                     place.end());
    const int rank = static_cast<int>(coordinates_.cols()),
              n = static_cast<int>(who.size() - rest.size());
    Eigen::MatrixXd a(n, rank + 1), y(n, 2);
    int row = 0;
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (rest.count(i)) continue;
      a(row, 0) = 1;
      a.row(row).tail(rank) = coordinates_.row(who[i]);
      y.row(row++) = q.row(static_cast<int>(i)).head<2>();
    }
    const Eigen::MatrixXd map = a.colPivHouseholderQr().solve(y);
    std::vector<int> left;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!used[i]) left.push_back(names[i]);
    }
    Eigen::MatrixXd cost(static_cast<int>(place.size() - fixed), static_cast<int>(left.size()));
    for (std::size_t f = fixed; f < place.size(); ++f) {
      for (std::size_t i = 0; i < left.size(); ++i) {
        Eigen::RowVectorXd u(rank + 1);
        u << 1, coordinates_.row(left[i]);
        cost(static_cast<int>(f - fixed), static_cast<int>(i)) =
            (u * map - q.row(static_cast<int>(place[f])).head<2>()).squaredNorm();
      }
    }
    const std::vector<int> assigned = AssignLeastCost(cost, 1e18);
    for (std::size_t f = fixed; f < place.size(); ++f) who[place[f]] = left[assigned[f - fixed]];
    return who;
  }

  // Images of the tracks in frames that show all of them, spread over their common time.
  Eigen::MatrixXd Positions(const std::vector<int>& together) const {
    std::vector<std::vector<Eigen::Vector2d>> rows;
    for (const TrackStep& step : tracks_[together[0]].steps) {
      std::vector<Eigen::Vector2d> row;
      for (const int k : together) {
        const auto q = Seen(tracks_[k], step.frame);
        if (!q) break;
        row.push_back(*q);
      }
      if (row.size() == together.size()) rows.push_back(std::move(row));
    }
    const std::size_t n = std::min(rows.size(), kFrames);
    Eigen::MatrixXd q(static_cast<int>(together.size()), static_cast<int>(2 * n));
    for (std::size_t f = 0; f < n; ++f) {
      const auto& row = rows[n == 1 ? rows.size() / 2 : f * (rows.size() - 1) / (n - 1)];
      for (std::size_t i = 0; i < row.size(); ++i)
        q.block<1, 2>(static_cast<int>(i), static_cast<int>(2 * f)) = row[i].transpose();
    }
    return q;
  }

  // How badly one track continues another, as a chi-square.
  static double SuccessionCost(const Track& a, const Track& b) {
    const bool after = a.steps.back().frame < b.steps.front().frame;
    const TrackStep& from = after ? a.steps.back() : a.steps.front();
    const TrackStep& to = after ? b.steps.front() : b.steps.back();
    const double h = to.t - from.t;
    const Eigen::Vector2d d =
        to.state.head<2>() - from.state.head<2>() - h * from.state.segment<2>(2);
    const double sd = 20 + 0.5 * std::abs(h) * from.state.segment<2>(2).norm();
    return d.squaredNorm() / (sd * sd);
  }

  const std::vector<Track>& tracks_;
  const std::vector<std::string>& names_;
  int count_;
  Eigen::MatrixXd coordinates_;
  std::vector<char> open_;
  LabelResult result_;
};

}  // namespace

LabelResult LabelTracks(const std::vector<Track>& tracks, const std::vector<std::string>& names,
                        const std::vector<Eigen::Vector3d>& layout,
                        const std::vector<MarkerHint>& hints) {
  if (!layout.empty() && layout.size() != names.size())
    throw std::invalid_argument("LabelTracks: names and layout differ in number");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    throw std::invalid_argument("LabelTracks: a name occurs twice");
  for (const Eigen::Vector3d& p : layout) {
    if (!p.allFinite()) throw std::invalid_argument("LabelTracks: a position is not finite");
  }
  Labeller labeller(tracks, names, layout);
  labeller.Hints(hints);
  if (!labeller.has_layout()) {
    labeller.FromTheLeft();
    labeller.LearnLayout();
  }
  labeller.Geometry();
  if (labeller.has_layout()) labeller.FromTheLeft();
  labeller.Continue();
  return labeller.Finish();
}

}  // namespace impactlab
