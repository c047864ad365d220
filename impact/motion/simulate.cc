#include "impact/motion/simulate.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "impact/motion/detail/contact_field.h"
#include "impact/motion/detail/simulate_impact.h"
#include "impact/motion/detail/step_roots.h"

namespace impactlab {

using Eigen::VectorXd;
using impact::ContactField;
using impact::FieldValues;
using impact::StepRoot;
using impact::Touch;

namespace {

// Longest step in units of the inverse of the fastest angular frequency: gaps turn at most once in
// it.
constexpr double kStepAngle = 0.3;
constexpr int kMostAtOnce = 2000;
constexpr long kMostEvents = 20000;
constexpr double kNoAcceleration = 1e-6;  // [m/s^2], [rad/s^2]
constexpr double kShortWhile = 1e-3;      // [s]

void CheckOptions(const SimulateOptions& o) {
  const auto fail = [](const char* key, double found, const char* allowed) {
    throw ConfigError(fmt::format("simulate: {}: found {}, allowed {}", key, found, allowed));
  };
  if (!(o.duration > 0) || !std::isfinite(o.duration))
    fail("duration", o.duration, "a time above 0");
  if (!(o.tolerance >= 1e-15 && o.tolerance <= 1e-3))
    fail("tolerance", o.tolerance, "1e-15 to 1e-3");
  if (!(o.least_rebound > 0 && o.least_rebound <= 0.01))
    fail("least_rebound", o.least_rebound, "above 0, at most 0.01 m/s");
  if (!(o.sample_step >= 0) || !std::isfinite(o.sample_step))
    fail("sample_step", o.sample_step, "0 or a time");
  if (!(o.longest_step >= 0) || !std::isfinite(o.longest_step))
    fail("longest_step", o.longest_step, "0 or a time");
}

class Simulator {
 public:
  Simulator(const Mechanism& mechanism, const MechanismState& start, const SimulateOptions& options,
            const SimulationObserver& observer)
      : mechanism_(mechanism),
        options_(options),
        observer_(observer),
        field_(mechanism, options.tolerance),
        roots_(mechanism, field_, 0.1 * options.least_rebound, 1e-3 * options.least_rebound),
        state_(start),
        n_(static_cast<int>(mechanism.contacts.size())),
        w_(mechanism.width),
        touches_(n_),
        t_start_(start.t),
        t_end_(start.t + options.duration) {
    result_.mode.assign(n_, PointMode::kOpen);
  }

  SimulationResult Run() {
    Settle();
    Sample(state_);
    while (!Over()) {
      if (state_.t >= t_end_) break;
      StepOnce();
      if (!Over() && observer_.stop && observer_.stop()) result_.end = SimulationEnd::kStopped;
    }
    result_.state = state_;
    for (int i = 0; i < n_; ++i) result_.mode[i] = touches_[i].mode;
    return std::move(result_);
  }

 private:
  bool Over() const { return result_.end != SimulationEnd::kDuration; }
  int Normal(int i) const { return w_ * i + w_ - 1; }
  double SlipSpeed() const { return 0.1 * options_.least_rebound; }
  double RestSpeed() const { return 1e-3 * options_.least_rebound; }

  void GiveUp(const std::string& reason) {
    result_.end = SimulationEnd::kGivenUp;
    result_.reason = fmt::format("t = {:.9g} s: {}", state_.t, reason);
  }

  void Tell(SimulationEvent event) {
    event.t = state_.t;
    ++result_.events;
    if (observer_.event) observer_.event(event);
  }

  double LongestStep() const {
    double h = options_.longest_step > 0 ? options_.longest_step : 0.25;
    if (mechanism_.frequency) {
      const double frequency = mechanism_.frequency(state_);
      if (frequency > 0) h = std::min(h, kStepAngle / frequency);
    }
    // Slip that begins is followed along a fixed direction no longer than it is slow; no step
    // carries slip through rest.
    if (w_ == 3) {
      for (int i = 0; i < n_; ++i) {
        if (touches_[i].mode != PointMode::kSlip) continue;
        const double a_t = now_.a.segment(w_ * i, 2).norm(), v_t = now_.v.segment(w_ * i, 2).norm();
        if (a_t > 0)
          h = std::min(
              h, touches_[i].starting ? 20 * SlipSpeed() / a_t : std::max(v_t, SlipSpeed()) / a_t);
      }
    }
    return h;
  }

  void StepOnce() {
    if (result_.events - events_before_ > kMostEvents) {
      if (state_.t - t_before_ < kShortWhile)
        return GiveUp(fmt::format("{} events within {:g} s", kMostEvents, kShortWhile));
      events_before_ = result_.events, t_before_ = state_.t;
    }
    if (++result_.steps, result_.events >= options_.most_events)
      return GiveUp("more events than allowed (most_events)");
    double stop = t_end_;
    for (const double t : mechanism_.breaks) {
      if (t > state_.t) stop = std::min(stop, t);
    }
    // The forces that lead up to a break are those before it: the step ends a rounding short of it.
    double reach = stop < t_end_ ? stop - 1e-15 * std::abs(stop) : stop;
    if (reach <= state_.t) reach = stop;
    step_ = std::min({step_, LongestStep(), reach - state_.t});
    const bool to_stop = step_ == reach - state_.t;
    double next = step_;
    MechanismState end;
    const double h = field_.Step(state_, now_, next, end);
    if (!(h > 0))
      return GiveUp(
          "the equations of motion cannot be stepped: forces or velocities grow without bound");
    const bool at_stop = to_stop && h == step_;
    if (at_stop) end.t = reach;
    step_ = next;
    field_.Evaluate(end, then_);
    const StepRoot root = roots_.First(state_, now_, end, then_, touches_, h);
    const double until = root.kind == StepRoot::Kind::kNone ? h : root.tau;
    if (Sections(root.kind == StepRoot::Kind::kNone ? end : root.state, until)) return;
    Samples(until);
    const double energy = audits() ? Energy(mechanism_, state_) : 0;
    if (root.kind == StepRoot::Kind::kNone) {
      state_ = end;
      if (at_stop) state_.t = stop;
      std::swap(now_, then_);
      Audit(energy);
      at_once_ = 0;
      Started();
      if (Steady()) result_.end = SimulationEnd::kSteady;
      if (at_stop && stop < t_end_) Settle();
      return;
    }
    at_once_ = root.tau > 1e-12 * std::max(1.0, std::abs(state_.t)) ? 0 : at_once_ + 1;
    state_ = root.state;
    if (audits()) Audit(energy);
    if (at_once_ > kMostAtOnce) return GiveUp("modes of the contacts change without end");
    Settle();
  }

  bool audits() const { return mechanism_.passive && mechanism_.potential; }

  void Audit(double energy_before) {
    for (int i = 0; i < n_; ++i) {
      result_.deepest = std::min(result_.deepest, now_.gap[i]);
      if (touches_[i].mode != PointMode::kOpen)
        result_.closed_speed = std::max(result_.closed_speed, std::abs(now_.v[Normal(i)]));
    }
    if (audits())
      result_.energy_gain =
          std::max(result_.energy_gain, Energy(mechanism_, state_) - energy_before);
  }

  // Slip that has begun turns with its velocity from now on.
  void Started() {
    for (int i = 0; i < n_ && w_ == 3; ++i) {
      if (touches_[i].mode != PointMode::kSlip || !touches_[i].starting) continue;
      if (now_.v.segment(w_ * i, 2).norm() < 10 * SlipSpeed()) continue;
      touches_[i].starting = false;
      field_.SlipStarted(i);
    }
  }

  // ---- events ----

  std::vector<int> Touching(const MechanismState& at) {
    std::vector<int> set;
    for (int i = 0; i < n_; ++i) {
      mechanism_.contact(at, i, contact_);
      if (touches_[i].mode != PointMode::kOpen || contact_.gap <= impact::TouchingGap(at, contact_))
        set.push_back(i);
    }
    return set;
  }

  // Impacts of contacts that approach, then modes of those that last.
  void Settle() {
    int jammed = -1;
    for (int round = 0; round < 100; ++round) {
      const std::vector<int> touching = Touching(state_);
      if (touching.empty()) break;
      Strike(touching, jammed);
      if (Over()) return;
      jammed = -1;
      if (!Decide(touching, jammed)) return;
      if (jammed < 0) {
        Begin();
        return;
      }
    }
    if (jammed >= 0) return GiveUp("impacts without collision follow each other without end");
    for (Touch& t : touches_) t = {};
    Begin();
  }

  void Begin() {
    steady_since_ = state_.t;
    field_.SetModes(touches_, state_);
    field_.Evaluate(state_, now_);
    step_ = LongestStep();
    if (mechanism_.passive && options_.stop_at_rest && AtRest()) {
      result_.end = SimulationEnd::kRest;
      SimulationEvent event;
      event.kind = SimulationEventKind::kRest;
      event.before = event.after = state_;
      Tell(event);
    }
  }

  bool AtRest() const {
    bool closed = false;
    for (const Touch& touch : touches_) closed = closed || touch.mode != PointMode::kOpen;
    if (!closed || state_.t < (mechanism_.breaks.empty() ? state_.t : mechanism_.breaks.back()))
      return false;
    const double fastest = state_.u.cwiseAbs().maxCoeff();
    const VectorXd du = Eigen::Map<const VectorXd>(now_.dx.data() + mechanism_.n_q, mechanism_.n_u);
    return fastest <= SlipSpeed() && du.cwiseAbs().maxCoeff() <= kNoAcceleration;
  }

  // A body that rolls without resistance never rests.
  bool Steady() {
    const VectorXd du = Eigen::Map<const VectorXd>(now_.dx.data() + mechanism_.n_q, mechanism_.n_u);
    const bool closed = std::any_of(touches_.begin(), touches_.end(),
                                    [](const Touch& t) { return t.mode != PointMode::kOpen; });
    if (!mechanism_.passive || !options_.stop_at_rest || !closed ||
        du.cwiseAbs().maxCoeff() > kNoAcceleration) {
      steady_since_ = state_.t;
    }
    return state_.t - steady_since_ >= 1;
  }

  void Strike(const std::vector<int>& touching, int jammed) {
    SimulationEvent event;
    event.before = state_;
    const impact::StrikeResult strike =
        impact::Strike(mechanism_, state_, touching, jammed, options_, RestSpeed());
    if (!strike.struck) {
      if (!strike.reason.empty()) GiveUp(strike.reason);
      return;
    }
    event.kind = jammed >= 0   ? SimulationEventKind::kImpactWithoutCollision
                 : strike.slow ? SimulationEventKind::kContact
                               : SimulationEventKind::kImpact;
    event.contacts = touching;
    event.v_minus = strike.v_minus;
    event.v_plus = strike.v_plus;
    event.J = strike.J;
    event.cases = strike.cases;
    event.energy_change = strike.energy_change;
    state_.u = strike.u_plus;
    event.after = state_;
    if (strike.slow) {
      event.accumulation = Accumulation(touching, strike);
      result_.last_accumulation = std::max(result_.last_accumulation, event.accumulation);
    } else {
      ++result_.impacts;
    }
    if (audits())
      result_.energy_gain = std::max(
          result_.energy_gain, Energy(mechanism_, event.after) - Energy(mechanism_, event.before));
    // What slipped or stuck there does not determine what follows.
    for (const int i : touching) touches_[i] = {};
    Tell(std::move(event));
  }

  // End of the geometric series of impacts that an inelastic one stands for.
  double Accumulation(const std::vector<int>& touching, const impact::StrikeResult& strike) {
    double t = state_.t;
    const impact::ForceProblem free = impact::PoseForces(mechanism_, state_, touching);
    for (size_t k = 0; k < touching.size(); ++k) {
      const double e = mechanism_.contacts[touching[k]].e, v = -strike.v_minus[w_ * k + w_ - 1],
                   b = -free.b[w_ * k + w_ - 1];
      if (v > 0 && b > 0 && e < 1) t = std::max(t, state_.t + 2 * e * v / (b * (1 - e)));
    }
    return t;
  }

  // Which of the contacts last, and how. False: given up. `jammed`: a contact without a finite
  // force.
  bool Decide(const std::vector<int>& touching, int& jammed) {
    std::vector<int> set;
    for (const int i : touching) {
      mechanism_.contact(state_, i, contact_);
      if (std::abs(contact_.rows.row(w_ - 1).dot(state_.u) - contact_.v_surface[w_ - 1]) <=
          2 * RestSpeed())
        set.push_back(i);
    }
    const std::vector<Touch> before = touches_;
    if (set.empty()) {
      for (Touch& t : touches_) t = {};
      return true;
    }
    const impact::ForceProblem problem = impact::PoseForces(mechanism_, state_, set);
    impact::ForceSolution s;
    if (!Holds(problem, s)) s = impact::ForcesOf(problem, set, touches_, SlipSpeed());
    if (!s.solved) {
      if (s.jammed < 0) {
        GiveUp("no contact forces were found");
        return false;
      }
      jammed = set[s.jammed];
      return true;
    }
    for (Touch& t : touches_) t = {};
    for (size_t k = 0; k < set.size(); ++k) {
      Touch& touch = touches_[set[k]];
      touch.mode = s.mode[k];
      touch.direction = s.direction.row(k);
      touch.starting = touch.mode == PointMode::kSlip &&
                       (w_ == 2 || problem.v.segment(w_ * k, w_ - 1).norm() <= 10 * SlipSpeed());
    }
    impact::Project(mechanism_, touches_, state_);
    for (int i = 0; i < n_; ++i) Changed(i, before[i], touches_[i]);
    return true;
  }

  // In space, slips that all are about to end end together where friction then holds: one by one
  // they would hand each other the rest of the motion without end.
  bool Holds(const impact::ForceProblem& problem, impact::ForceSolution& s) const {
    if (w_ != 3) return false;
    for (size_t k = 0; k < problem.mu_k.size(); ++k) {
      if (problem.v.segment(w_ * k, 2).norm() > 20 * SlipSpeed()) return false;
    }
    s = impact::SolveContactForces(problem);
    return s.solved && std::none_of(s.mode.begin(), s.mode.end(),
                                    [](PointMode mode) { return mode == PointMode::kSlip; });
  }

  void Changed(int i, const Touch& before, const Touch& after) {
    if (before.mode == after.mode && before.direction == after.direction) return;
    SimulationEvent event;
    event.contacts = {i};
    event.before = event.after = state_;
    if (after.mode == PointMode::kOpen) {
      event.kind = SimulationEventKind::kRelease;
    } else {
      event.kind = after.mode == PointMode::kStick ? SimulationEventKind::kStick
                                                   : SimulationEventKind::kSlip;
      // A slip that goes on while others change is no event.
      if (before.mode == after.mode && before.direction.dot(after.direction) > 0) return;
    }
    Tell(std::move(event));
  }

  // ---- samples and sections ----

  void Sample(const MechanismState& at) {
    if (!observer_.sample || options_.sample_step <= 0) return;
    std::vector<PointMode> mode(n_);
    for (int i = 0; i < n_; ++i) mode[i] = touches_[i].mode;
    FieldValues f;
    field_.Evaluate(at, f);
    observer_.sample(at, mode, f.lambda);
  }

  void Samples(double until) {
    if (!observer_.sample || options_.sample_step <= 0) return;
    while (true) {
      const double tau = t_start_ + (samples_ + 1) * options_.sample_step - state_.t;
      if (tau > until * (1 + 1e-12)) break;
      ++samples_;
      Sample(field_.Along(state_, now_, std::max(0.0, tau)));
    }
  }

  // Crossings up to `until`; true: the simulation stops at one.
  bool Sections(const MechanismState& end, double until) {
    for (size_t k = 0; k < observer_.sections.size(); ++k) {
      const Section& section = observer_.sections[k];
      const double a = section.value(state_), b = section.value(end);
      const bool rises = a < 0 && b >= 0 && section.direction >= 0,
                 falls = a > 0 && b <= 0 && section.direction <= 0;
      if (!rises && !falls) continue;
      MechanismState at = end;
      if (b != 0) {
        const auto value = [&](double tau) {
          return section.value(field_.Along(state_, now_, tau));
        };
        std::uintmax_t most = 60;
        const auto bracket = boost::math::tools::toms748_solve(
            value, 0.0, until, a, b, boost::math::tools::eps_tolerance<double>(50), most);
        at = field_.Along(state_, now_, bracket.second);
      }
      if (observer_.crossing && observer_.crossing(static_cast<int>(k), at)) {
        Samples(at.t - state_.t);
        state_ = at;
        result_.end = SimulationEnd::kStopped;
        return true;
      }
    }
    return false;
  }

  const Mechanism& mechanism_;
  const SimulateOptions& options_;
  const SimulationObserver& observer_;
  ContactField field_;
  impact::StepRoots roots_;
  MechanismState state_;
  int n_, w_;
  std::vector<Touch> touches_;
  double t_start_, t_end_, step_ = 1;
  long samples_ = 0;
  int at_once_ = 0;
  long events_before_ = 0;
  double t_before_ = 0, steady_since_ = 0;
  FieldValues now_, then_;
  ContactTerms contact_;
  SimulationResult result_;
};

}  // namespace

const char* SimulationEventName(SimulationEventKind kind) {
  switch (kind) {
    case SimulationEventKind::kImpact:
      return "impact";
    case SimulationEventKind::kImpactWithoutCollision:
      return "impact_without_collision";
    case SimulationEventKind::kContact:
      return "contact";
    case SimulationEventKind::kRelease:
      return "release";
    case SimulationEventKind::kStick:
      return "stick";
    case SimulationEventKind::kSlip:
      return "slip";
    case SimulationEventKind::kRest:
      return "rest";
  }
  return "";
}

const char* SimulationEndName(SimulationEnd end) {
  switch (end) {
    case SimulationEnd::kDuration:
      return "duration";
    case SimulationEnd::kRest:
      return "rest";
    case SimulationEnd::kSteady:
      return "steady";
    case SimulationEnd::kStopped:
      return "section";
    case SimulationEnd::kGivenUp:
      return "given_up";
  }
  return "";
}

SimulationResult Simulate(const Mechanism& mechanism, const MechanismState& start,
                          const SimulateOptions& options, const SimulationObserver& observer) {
  CheckMechanism(mechanism, start);
  CheckOptions(options);
  return Simulator(mechanism, start, options, observer).Run();
}

}  // namespace impactlab
