#include "impact/motion/detail/step_roots.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <optional>

#include "impact/motion/detail/gap_root.h"
#include "impact/motion/detail/simulate_impact.h"

namespace impactlab::impact {
namespace {

// Normal acceleration by the normal force, relative to that without friction, below which a
// slipping contact jams.
constexpr double kPress = 1e-9;
// Friction is beyond static friction, and a normal force below 0, by so much of the largest force
// when a mode ends that the solver of forces has no doubt.
constexpr double kBeyond = 1e-7;

}  // namespace

// Falls through 0 where slip stops. Slip that begins is none yet; it stops where it runs backwards,
// still slower than what counts as slip.
double StepRoots::Stop(const FieldValues& f, int i) const {
  const Touch& touch = (*touches_)[i];
  const int w = mechanism_.width;
  const auto v_t = f.v.segment(w * i, w - 1);
  if (w == 2) return v_t[0] * touch.direction[0];
  if (touch.starting) return v_t.dot(touch.direction.transpose()) + 0.5 * slip_speed_;
  // Against its direction at the start of the step: slip that a step has carried through rest is
  // not overlooked.
  return std::min(v_t.norm(), v_t.dot(now_->v.segment(w * i, w - 1).normalized())) - slip_speed_;
}

double StepRoots::Release(const FieldValues& f, int i) const {
  double largest = 0;
  for (size_t k = 0; k < touches_->size(); ++k)
    largest = std::max(largest, f.lambda[Normal(static_cast<int>(k))]);
  return f.lambda[Normal(i)] + kBeyond * largest;
}

double StepRoots::Cone(const FieldValues& f, int i) const {
  const int w = mechanism_.width;
  return (1 + kBeyond) * mechanism_.contacts[i].mu_s * f.lambda[Normal(i)] -
         f.lambda.segment(w * i, w - 1).norm();
}

template <typename Value>
void StepRoots::Consider(StepRoot& first, StepRoot::Kind kind, int contact, const Value& value) {
  if (!(value(*then_) < 0)) return;
  double low = 0, f0 = value(*now_);
  MechanismState state;
  FieldValues f;
  const auto at = [&](double tau) {
    state = field_.Along(*start_, *now_, tau);
    field_.Evaluate(state, f);
    return value(f);
  };
  const double limit = std::min(h_, first.tau), f1 = limit < h_ ? at(limit) : value(*then_);
  if (!(f1 < 0)) return;
  // A slip that begins may rise before it falls; what falls from the start ends its mode at once.
  const bool begins = kind == StepRoot::Kind::kStop && (*touches_)[contact].starting;
  low = limit;
  for (int k = 0; begins && k < 30 && f0 <= 0; ++k) f0 = at(low *= 0.5);
  if (f0 <= 0) {
    first = {kind, contact, 0, *start_};
    return;
  }
  if (!begins || low == limit) low = 0;
  std::uintmax_t most = 60;
  const auto bracket = boost::math::tools::toms748_solve(
      at, low, limit, f0, f1, boost::math::tools::eps_tolerance<double>(48), most);
  at(bracket.second);
  first = {kind, contact, bracket.second, state};
}

StepRoot StepRoots::First(const MechanismState& start, const FieldValues& at_start,
                          const MechanismState& end, const FieldValues& at_end,
                          const std::vector<Touch>& touches, double h) {
  start_ = &start, now_ = &at_start, then_ = &at_end, touches_ = &touches, h_ = h;
  const int n = static_cast<int>(touches.size());
  StepRoot first;
  for (int i = 0; i < n; ++i) {
    if (touches[i].mode == PointMode::kOpen) Closing(first, i);
  }
  if (field_.redundant()) {
    if (!ModesHold(end, at_end)) Change(first);
    return first;
  }
  for (int i = 0; i < n; ++i) {
    const Touch& touch = touches[i];
    if (touch.mode == PointMode::kOpen) continue;
    Consider(first, StepRoot::Kind::kRelease, i,
             [&](const FieldValues& f) { return Release(f, i); });
    if (mechanism_.width == 1) continue;
    if (touch.mode == PointMode::kStick)
      Consider(first, StepRoot::Kind::kCone, i, [&](const FieldValues& f) { return Cone(f, i); });
    if (touch.mode == PointMode::kSlip && mechanism_.contacts[i].mu_s > 0) {
      Consider(first, StepRoot::Kind::kStop, i, [&](const FieldValues& f) { return Stop(f, i); });
      Consider(first, StepRoot::Kind::kPress, i,
               [&](const FieldValues& f) { return f.press[i] - kPress; });
    }
  }
  return first;
}

void StepRoots::Closing(StepRoot& first, int i) {
  const int w = mechanism_.width, k = Normal(i);
  const bool touching = now_->gap[i] <= now_->touching[i],
             rests = touching && now_->v[k] <= rest_speed_, leaving = touching && !rests;
  // A contact that leaves comes back to where it left: what rounding has put it off its surface by
  // is no way to fall.
  const double touch = std::max(now_->touching[i], then_->touching[i]);
  const double slack = rests ? 2 * touch : leaving ? -now_->gap[i] : 0;
  const GapEnd a{now_->gap[i] + slack, now_->v[k], now_->a[k]},
      b{then_->gap[i] + slack, then_->v[k], then_->a[k]};
  if (a.gap < 0) {
    if (then_->gap[i] < now_->gap[i]) first = {StepRoot::Kind::kGap, i, 0, *start_};
    return;
  }
  const std::optional<double> guess = FirstClosing(a, b, h_, leaving);
  if (!guess || *guess > std::min(h_, first.tau)) return;
  double tau = *guess;
  MechanismState at = field_.Along(*start_, *now_, tau);
  if (leaving && a.rate * tau < 20 * touch) {
    // A hop as low as the rounding of positions: its quintic knows better than they.
    if (tau < first.tau) first = {StepRoot::Kind::kGap, i, tau, at};
    return;
  }
  // Newton's method along the motion itself.
  for (int round = 0; round < 8; ++round) {
    mechanism_.contact(at, i, contact_);
    const double gap = contact_.gap + slack,
                 rate = contact_.rows.row(w - 1).dot(at.u) - contact_.v_surface[w - 1];
    if (std::abs(gap) <= 1e-15 || !(rate < 0)) break;
    const double better = std::clamp(tau - gap / rate, 0.0, h_);
    if (std::abs(better - tau) <= 1e-16 * h_ || std::abs(better - tau) > 0.5 * h_) break;
    tau = better;
    at = field_.Along(*start_, *now_, tau);
  }
  mechanism_.contact(at, i, contact_);
  if (std::abs(contact_.gap + slack) > touch) {
    // The quintic only guesses: a graze that stays outside is none, and where forces jump within
    // the step the root is bracketed.
    if (!(b.gap < 0) || !Bracket(i, slack, tau, at)) return;
  }
  if (tau < first.tau) first = {StepRoot::Kind::kGap, i, tau, at};
}

bool StepRoots::Bracket(int i, double slack, double& tau, MechanismState& at) {
  const auto gap = [&](double t) {
    at = field_.Along(*start_, *now_, t);
    mechanism_.contact(at, i, contact_);
    return contact_.gap + slack;
  };
  double low = h_, at_low = then_->gap[i] + slack, high = h_;
  const double at_high = at_low;
  for (int k = 0; k < 40 && !(at_low > 0); ++k) at_low = gap(low *= 0.5);
  if (!(at_low > 0)) return false;
  std::uintmax_t most = 100;
  const auto bracket = boost::math::tools::toms748_solve(
      gap, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(50), most);
  tau = bracket.second;
  gap(tau);
  return true;
}

bool StepRoots::ModesHold(const MechanismState& at, const FieldValues& values) {
  std::vector<int> set;
  for (size_t i = 0; i < touches_->size(); ++i) {
    const int contact = static_cast<int>(i);
    const bool open = (*touches_)[i].mode == PointMode::kOpen;
    if (open && (values.gap[contact] > values.touching[contact] ||
                 std::abs(values.v[Normal(contact)]) > 2 * rest_speed_))
      continue;
    if ((*touches_)[i].mode == PointMode::kSlip && mechanism_.contacts[i].mu_s > 0 &&
        Stop(values, contact) < 0)
      return false;
    set.push_back(contact);
  }
  const ForceSolution s = ForcesOf(PoseForces(mechanism_, at, set), set, *touches_, slip_speed_);
  if (!s.solved) return false;
  for (size_t k = 0; k < set.size(); ++k) {
    const Touch& touch = (*touches_)[set[k]];
    if (touch.mode == PointMode::kStick && s.mode[k] == PointMode::kSlip) return false;
    if ((touch.mode == PointMode::kOpen) != (s.mode[k] == PointMode::kOpen)) return false;
  }
  return true;
}

void StepRoots::Change(StepRoot& first) {
  double low = 0, high = std::min(h_, first.tau);
  FieldValues f;
  const auto holds = [&](double tau) {
    const MechanismState at = field_.Along(*start_, *now_, tau);
    field_.Evaluate(at, f);
    return ModesHold(at, f);
  };
  if (holds(high)) return;
  while (high - low > 1e-10 * std::max(1e-3, h_)) {
    const double middle = 0.5 * (low + high);
    (holds(middle) ? low : high) = middle;
  }
  first = {StepRoot::Kind::kModes, -1, high, field_.Along(*start_, *now_, high)};
}

}  // namespace impactlab::impact
