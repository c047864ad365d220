#include "pipelines/synth/motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "data/base/error.h"
#include "data/math/rotation.h"
#include "impact/motion/mechanism_bodies.h"
#include "impact/motion/simulate.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

// a gap that counts as contact at the start of a flight [m]
constexpr double kTouching = 1e-10;
constexpr double kTimeTolerance = 1e-14;  // of a root [s]
// bounces slower than this last less than half a millisecond: contact goes on instead [m/s]
constexpr double kRestSpeed = 2e-3;
// after the first impact of a motion that is followed to rest [s]
constexpr double kLongestMotion = 20;
// Of motion in contact: poses between samples follow from both ends, to a few picometres over a
// turn of kSampleAngle.
constexpr double kSampleStep = 1e-3, kSampleAngle = 0.02;  // [s], [rad]
constexpr double kTolerance = 1e-10;                       // of a step
// an approach below that rebounds by less than a nanometre [m/s]
constexpr double kLeastRebound = 1e-4;
constexpr double kWildFactor = 10;

Matrix3d InverseInertiaW(const Body& body, const Matrix3d& R_WB) {
  if (body.planar) return Vector3d(0, 1 / body.inertia_B(1, 1), 0).asDiagonal();
  return R_WB * body.inertia_B.inverse() * R_WB.transpose();
}

// Root of f in [a, b], where f(a) and f(b) have opposite signs.
template <typename F>
double Root(const F& f, double a, double b, double f_a, double f_b) {
  if (f_a == 0) return a;
  if (f_b == 0) return b;
  std::uintmax_t iterations = 200;
  const auto close = [](double lo, double hi) { return std::abs(hi - lo) <= kTimeTolerance; };
  const auto bracket = boost::math::tools::toms748_solve(f, a, b, f_a, f_b, close, iterations);
  return 0.5 * (bracket.first + bracket.second);
}

// Pose at a time within a stretch of contact: cubics through the poses and velocities of both its
// ends.
Isometry3d Between(const MotionPhase& s, double t) {
  const BodyState &from = s.state, &to = s.end;
  const double h = s.t_end - s.t;
  Isometry3d X_WB = from.X_WB;
  if (!(h > 0)) {
    X_WB.translation() += (t - s.t) * from.v_WB;
    X_WB.linear() = (ExpSO3((t - s.t) * from.omega_WB) * from.X_WB.linear()).eval();
    return X_WB;
  }
  const double x = (t - s.t) / h, over = x * x * (3 - 2 * x), a = h * x * (1 - x) * (1 - x),
               b = -h * x * x * (1 - x);
  const Vector3d turn = LogSO3(to.X_WB.linear() * from.X_WB.linear().transpose()),
                 cross = turn.cross(to.omega_WB);
  // at the end, of the rotation vector
  const Vector3d turn_rate = to.omega_WB - 0.5 * cross + turn.cross(cross) / 12;
  X_WB.translation() +=
      over * (to.X_WB.translation() - from.X_WB.translation()) + a * from.v_WB + b * to.v_WB;
  X_WB.linear() =
      (ExpSO3(over * turn + a * from.omega_WB + b * turn_rate) * from.X_WB.linear()).eval();
  return X_WB;
}

// Impulse and couple of one strike: the model's own, and what scatters about it.
void ApplyStrike(const Body& body, const MotionRules& rules, std::mt19937_64& rng, Strike& strike) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const Scatter& s = rules.scatter;
  strike.model = rules.model;
  if (s.sd_mu > 0) {
    const double shift = s.sd_mu * normal(rng), gap = rules.model.mu_s - rules.model.mu_k;
    strike.model.mu_k = std::max(0.0, rules.model.mu_k + shift);
    strike.model.mu_s = strike.model.mu_k + gap;
  }
  if (s.sd_e > 0) strike.model.e = std::clamp(rules.model.e + s.sd_e * normal(rng), 0.0, 1.0);
  ImpactEvent& e = strike.event;
  const ImpactOutcome outcome = Solve(e.contact, strike.model, {.dense_output = false});
  if (outcome.status == SolveStatus::kInvalid || !outcome.J_F.allFinite()) {
    throw ConfigError(
        fmt::format("scene: found an impact that cannot be solved ({}), allowed: a body, floor and "
                    "coefficients of one",
                    outcome.reason));
  }
  const Matrix3d& R_WF = e.contact.X_WF.linear();
  const Matrix3d inverse_inertia = InverseInertiaW(body, e.X_WB.linear());
  const auto apply = [&](const Vector3d& J_F, const Vector3d& couple_F) {
    const VelocityChange change = ApplyImpulse(body, e.X_WB, e.contact.X_WF, J_F);
    e.v_plus = e.v_minus + change.dv_W;
    e.omega_plus = e.omega_minus + change.domega_W + inverse_inertia * (R_WF * couple_F);
  };
  const double p = std::abs(e.contact.v_minus_F.z()) / e.contact.A_F(2, 2);
  const double k = RadiusOfGyration(body);
  const double wild = s.wild_share > 0 && uniform(rng) < s.wild_share ? kWildFactor : 1;
  if (s.sd_tangential > 0 || s.sd_normal > 0 || s.sd_couple > 0) {
    const double before = KineticEnergy(body, e.X_WB.linear(), e.v_minus, e.omega_minus);
    // Impulses that pull, leave the point inside the floor or make energy are no impacts: drawn
    // again.
    for (int attempt = 0; attempt < 100; ++attempt) {
      Vector3d J(s.sd_tangential * normal(rng), s.sd_tangential * normal(rng),
                 s.sd_normal * normal(rng));
      Vector3d couple(normal(rng), normal(rng), normal(rng));
      if (body.planar) {
        J.y() = 0;
        couple.x() = couple.z() = 0;
      }
      const Vector3d J_F = outcome.J_F + wild * p * J;
      apply(J_F, wild * p * k * s.sd_couple * couple);
      const Vector3d v_point = e.v_plus + e.omega_plus.cross(e.p_WP - e.X_WB.translation());
      const bool separates = R_WF.col(2).dot(v_point) >= 0;
      if (J_F.z() > 0 && separates &&
          KineticEnergy(body, e.X_WB.linear(), e.v_plus, e.omega_plus) <= before)
        return;
    }
  }
  apply(outcome.J_F, Vector3d::Zero());
}

class Simulation {
 public:
  Simulation(const Body& body, const Plane& floor, const MotionRules& rules, double duration_after,
             double t_max, std::mt19937_64& rng)
      : body_(body),
        floor_(floor),
        rules_(rules),
        contacts_(body, floor),
        duration_after_(duration_after),
        rng_(rng) {
    out_.t_end = t_max;
    out_.contact_time = rules.contact_time;
  }

  DropMotion Run(const BodyState& release) {
    state_ = release;
    while (t_ < out_.t_end && Fly()) {
    }
    if (t_ < out_.t_end) Stay();
    return std::move(out_);
  }

 private:
  bool MayStrike() const { return static_cast<int>(out_.strikes.size()) < rules_.max_impacts; }

  void Open(MotionPhase::Kind kind) {
    if (!out_.stretches.empty() && out_.stretches.back().t == t_) out_.stretches.pop_back();
    out_.stretches.push_back({t_, kind, state_, t_, {}});
  }
  void Close(double t, const BodyState& end) {
    MotionPhase& last = out_.stretches.back();
    if (last.kind != MotionPhase::Kind::kContact || last.t_end > last.t) return;
    last.t_end = t;
    last.end = end;
  }

  // Follows a flight to its end. False when contact lasts from there on.
  bool Fly() {
    Open(MotionPhase::Kind::kFlight);
    const FirstContact contact =
        FindContact(contacts_, body_, rules_.flight, state_, out_.t_end - t_);
    if (contact.point < 0) {
      t_ = out_.t_end;
      return true;
    }
    const auto advance = [&](double dt) {
      state_ = Propagate(state_, body_, rules_.flight, dt);
      t_ += dt;
    };
    if (contact.sunk) {
      advance(contact.t);
      return false;
    }
    // The middle of an impact is half its time after the first touch.
    advance(contact.t + 0.5 * rules_.contact_time);
    if (contacts_.GapRate(contact.point, state_) > -kRestSpeed || !MayStrike()) return false;
    return Hit(contact.point, true) >= kRestSpeed && MayStrike();
  }

  // One impact; the normal velocity with which its point leaves.
  double Hit(int point, bool from_flight) {
    Strike strike;
    strike.t = t_;
    strike.from_flight = from_flight;
    ImpactEvent& e = strike.event;
    e.planar = body_.planar;
    e.X_WB = state_.X_WB;
    e.v_minus = state_.v_WB;
    e.omega_minus = state_.omega_WB;
    e.p_WP = contacts_.Point(point, state_.X_WB);
    UpdateContact(e, body_, floor_, rules_.flight.gravity_W);
    ApplyStrike(body_, rules_, rng_, strike);
    UpdateContact(e, body_, floor_, rules_.flight.gravity_W);
    state_.v_WB = e.v_plus;
    state_.omega_WB = e.omega_plus;
    if (out_.strikes.empty()) out_.t_end = t_ + (rules_.to_rest ? kLongestMotion : duration_after_);
    out_.strikes.push_back(std::move(strike));
    return out_.strikes.back().event.v_plus_F.z();
  }

  // From the first contact that lasts on.
  void Stay() {
    // An impact that takes time leaves the body as deep as it came.
    out_.lift = std::max(0.0, -contacts_.LowestGap(state_.X_WB)) * contacts_.normal();
    out_.lift_t = t_;
    state_.X_WB.translation() += out_.lift;
    while (t_ < out_.t_end) Follow();
  }

  // Follows the simulator until an impact that the scene draws itself, or to the end.
  void Follow() {
    MovingBody moving;
    moving.start = {body_, state_.X_WB, state_.v_WB, state_.omega_WB};
    moving.quadratic_drag = rules_.flight.drag_per_m;
    MovingPlane plane;
    plane.plane = floor_;
    ContactProperties surface;
    surface.mu_k = rules_.model.mu_k, surface.mu_s = rules_.model.mu_s, surface.e = rules_.model.e;
    BodyMechanism made = MakeBodyMechanism(
        {moving}, {}, {plane}, EveryBodyOnEveryPlane(1, 1, surface), rules_.flight.gravity_W);
    made.start.t = t_;
    SimulateOptions options;
    options.duration = out_.t_end - t_;
    options.law = rules_.model.law;
    options.tolerance = kTolerance;
    options.least_rebound = kLeastRebound;
    options.sample_step =
        std::min(kSampleStep, kSampleAngle / std::max(1e-9, state_.omega_WB.norm()));
    int struck = -1;
    bool changed = true;
    const auto at = [&](const MechanismState& state) {
      t_ = state.t;
      state_ = made.StateOf(state, 0);
    };
    const auto kind_of = [](const std::vector<PointMode>& modes) {
      const bool open = std::all_of(modes.begin(), modes.end(),
                                    [](PointMode mode) { return mode == PointMode::kOpen; });
      return open ? MotionPhase::Kind::kFlight : MotionPhase::Kind::kContact;
    };
    SimulationObserver observer;
    observer.sample = [&](const MechanismState& state, const std::vector<PointMode>& modes,
                          const Eigen::VectorXd&) {
      if (struck >= 0) return;
      at(state);
      Close(t_, state_);
      const MotionPhase::Kind kind = kind_of(modes);
      if (changed || kind != MotionPhase::Kind::kFlight || out_.stretches.back().kind != kind)
        Open(kind);
      changed = false;
    };
    observer.event = [&](const SimulationEvent& event) {
      if (struck >= 0) return;
      at(event.before);
      Close(t_, state_);
      if (event.kind == SimulationEventKind::kImpact && MayStrike())
        struck = FastestOf(made, event);
      if (struck >= 0) return;
      at(event.after);
      Open(MotionPhase::Kind::kContact);
      changed = true;
    };
    observer.stop = [&] { return struck >= 0; };
    const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
    if (struck >= 0) {
      Hit(struck, false);
      return;
    }
    if (result.end == SimulationEnd::kGivenUp)
      throw ConfigError(
          fmt::format("scene: found a motion that cannot be followed ({}), allowed: a body, floor "
                      "and coefficients of one",
                      result.reason));
    at(result.state);
    Close(t_, state_);
    const bool rests = result.end == SimulationEnd::kRest;
    if (rests) state_.v_WB.setZero(), state_.omega_WB.setZero();
    // What moves on steadily does so as it is.
    if (rests || result.end == SimulationEnd::kSteady)
      Open(rests ? MotionPhase::Kind::kRest : MotionPhase::Kind::kContact);
    if (rules_.to_rest && result.end != SimulationEnd::kDuration) out_.t_end = t_ + duration_after_;
    t_ = out_.t_end;
  }

  // Point that arrives fastest at an impact; -1 where it is too slow to be drawn.
  int FastestOf(const BodyMechanism& made, const SimulationEvent& event) const {
    const int w = made.mechanism.width;
    int fastest = -1;
    double least = -kRestSpeed;
    for (std::size_t k = 0; k < event.contacts.size(); ++k) {
      const double v_n = event.v_minus[w * static_cast<Eigen::Index>(k) + w - 1];
      if (v_n > least) continue;
      least = v_n;
      fastest = made.contacts[static_cast<std::size_t>(event.contacts[k])].feature;
    }
    return fastest;
  }

  const Body& body_;
  const Plane& floor_;
  const MotionRules& rules_;
  FloorContacts contacts_;
  double duration_after_;
  std::mt19937_64& rng_;
  DropMotion out_;
  BodyState state_;
  double t_ = 0;
};

}  // namespace

FirstContact FindContact(const FloorContacts& contacts, const Body& body,
                         const FlightOptions& flight, const BodyState& start, double t_max) {
  const int n = contacts.size();
  const auto at = [&](double t) { return Propagate(start, body, flight, t); };
  std::vector<double> gap_a(n), rate_a(n), gap_b(n), rate_b(n);
  const auto sample = [&](double t, std::vector<double>& gap, std::vector<double>& rate) {
    const BodyState s = at(t);
    for (int i = 0; i < n; ++i) {
      gap[i] = contacts.Gap(i, s.X_WB);
      rate[i] = contacts.GapRate(i, s);
    }
  };
  // Steps short enough for every gap to have one turn at most.
  const double step = std::min(2e-3, 0.1 / std::max(1e-9, start.omega_WB.norm()));
  sample(0, gap_a, rate_a);
  FirstContact first;
  for (int i = 0; i < n; ++i) {
    // Touching and not leaving: the flight ends where it starts.
    if (gap_a[i] <= kTouching && rate_a[i] <= 0 &&
        (first.point < 0 || rate_a[i] < rate_a[first.point]))
      first.point = i;
  }
  if (first.point >= 0) return first;
  double b = 0;
  while (b < t_max) {
    const double a = b;
    b = std::min(a + step, t_max);
    sample(b, gap_b, rate_b);
    for (int i = 0; i < n; ++i) {
      const auto gap = [&](double t) { return contacts.Gap(i, at(t).X_WB); };
      const auto rate = [&](double t) { return contacts.GapRate(i, at(t)); };
      double from = a, to = b, gap_from = gap_a[i], gap_to = gap_b[i];
      if (gap_from <= kTouching && rate_a[i] > 0 && rate_b[i] < 0) {
        // Just left: the way down starts at the top of the bounce.
        from = Root(rate, a, b, rate_a[i], rate_b[i]);
        gap_from = gap(from);
      } else if (gap_from > 0 && gap_to >= 0 && rate_a[i] < 0 && rate_b[i] > 0) {
        // Comes near and leaves again: touches if the lowest point of the dip is inside.
        to = Root(rate, a, b, rate_a[i], rate_b[i]);
        gap_to = gap(to);
      }
      if (a > 0 && gap_from < -kTouching && rate_a[i] < 0 && rate_b[i] < 0) {
        // Never came out of the floor that an impact which takes time had let it into.
        if (first.point < 0 || a < first.t) first = {a, i, true};
        continue;
      }
      if (!(gap_from > 0 && gap_to < 0)) continue;
      const double t = Root(gap, from, to, gap_from, gap_to);
      if (first.point < 0 || t < first.t) first = {t, i};
    }
    if (first.point >= 0) return first;
    std::swap(gap_a, gap_b);
    std::swap(rate_a, rate_b);
  }
  return first;
}

DropMotion SimulateDrop(const Body& body, const Plane& floor, const MotionRules& rules,
                        const BodyState& release, double duration_after, double t_max,
                        std::mt19937_64& rng) {
  return Simulation(body, floor, rules, duration_after, t_max, rng).Run(release);
}

Isometry3d PoseAt(const DropMotion& motion, const Body& body, const FlightOptions& flight,
                  double t) {
  auto after = std::upper_bound(motion.stretches.begin(), motion.stretches.end(), t,
                                [](double time, const MotionPhase& s) { return time < s.t; });
  if (after != motion.stretches.begin()) --after;
  const MotionPhase& s = *after;
  Isometry3d X_WB = s.state.X_WB;
  if (s.kind == MotionPhase::Kind::kFlight) X_WB = Propagate(s.state, body, flight, t - s.t).X_WB;
  if (s.kind == MotionPhase::Kind::kContact) X_WB = Between(s, t);
  if (motion.contact_time == 0) return X_WB;
  const auto share_of = [&](double middle) {
    return std::clamp((t - middle) / motion.contact_time + 0.5, 0.0, 1.0);
  };
  for (const Strike& strike : motion.strikes) {
    const double share = strike.from_flight ? share_of(strike.t) : 0;
    if (!(share > 0 && share < 1)) continue;
    // Velocity goes from before to after by (1 - cos(pi share)) / 2, motion on both sides left as
    // it is.
    const double way =
        0.5 * share - std::sin(M_PI * share) / (2 * M_PI) - std::max(0.0, share - 0.5);
    const double later = motion.contact_time * way;
    X_WB.translation() += later * (strike.event.v_plus - strike.event.v_minus);
    X_WB.linear() =
        (ExpSO3(later * (strike.event.omega_plus - strike.event.omega_minus)) * X_WB.linear())
            .eval();
  }
  const double share = share_of(motion.lift_t);
  X_WB.translation() += (0.5 * (1 - std::cos(M_PI * share)) - (share >= 0.5 ? 1 : 0)) * motion.lift;
  return X_WB;
}

}  // namespace impactlab::pipelines
