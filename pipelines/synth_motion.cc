#include "pipelines/synth_motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "data/error.h"

namespace impactlab::internal {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kTouching = 1e-10;       // a gap that counts as contact at the start of a flight [m]
constexpr double kTimeTolerance = 1e-14;  // of a root [s]
constexpr double kRestSpeed = 2e-3;       // bounces slower than this last less than half a millisecond: contact goes on instead [m/s]
constexpr double kContactStep = 2e-5;     // of lasting contact [s]
constexpr double kArrivalSpeed = 1e-2;    // a further vertex that arrives faster than this strikes [m/s]
constexpr double kTakeOffGap = 1e-6;      // [m]
constexpr int kTakeOffSteps = 3;
constexpr int kRestSteps = 100;
constexpr double kStillSpeed = 1e-4;  // [m/s], and relative to the body's size [rad/s]
constexpr double kWildFactor = 10;

Matrix3d Exp(const Vector3d& rotation) {
  const double angle = rotation.norm();
  if (angle == 0) return Matrix3d::Identity();
  return Eigen::AngleAxisd(angle, rotation / angle).toRotationMatrix();
}

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
        fmt::format("scene: found an impact that cannot be solved ({}), allowed: a body, floor and coefficients of one", outcome.reason));
  }
  const Matrix3d& R_WF = e.contact.X_WF.linear();
  const Matrix3d inverse_inertia = InverseInertiaW(body, e.X_WB.linear());
  const auto apply = [&](const Vector3d& J_F, const Vector3d& couple_F) {
    const VelocityChange change = ApplyImpulse(body, e.X_WB, e.contact.X_WF, J_F);
    e.v_plus = e.v_minus + change.dv_W;
    e.omega_plus = e.omega_minus + change.domega_W + inverse_inertia * (R_WF * couple_F);
  };
  const double p = std::abs(e.contact.v_minus_F.z()) / e.contact.A_F(2, 2);
  const double k = std::sqrt((body.planar ? body.inertia_B(1, 1) : body.inertia_B.trace() / 3) / body.mass);
  const double wild = s.wild_share > 0 && uniform(rng) < s.wild_share ? kWildFactor : 1;
  if (s.sd_tangential > 0 || s.sd_normal > 0 || s.sd_couple > 0) {
    const double before = KineticEnergy(body, e.X_WB.linear(), e.v_minus, e.omega_minus);
    // Impulses that pull, leave the point inside the floor or make energy are no impacts: drawn again.
    for (int attempt = 0; attempt < 100; ++attempt) {
      Vector3d J(s.sd_tangential * normal(rng), s.sd_tangential * normal(rng), s.sd_normal * normal(rng));
      Vector3d couple(normal(rng), normal(rng), normal(rng));
      if (body.planar) {
        J.y() = 0;
        couple.x() = couple.z() = 0;
      }
      const Vector3d J_F = outcome.J_F + wild * p * J;
      apply(J_F, wild * p * k * s.sd_couple * couple);
      const Vector3d v_point = e.v_plus + e.omega_plus.cross(e.p_WP - e.X_WB.translation());
      const bool separates = R_WF.col(2).dot(v_point) >= 0;
      if (J_F.z() > 0 && separates && KineticEnergy(body, e.X_WB.linear(), e.v_plus, e.omega_plus) <= before) return;
    }
  }
  apply(outcome.J_F, Vector3d::Zero());
}

class Simulation {
 public:
  Simulation(const Body& body, const Plane& floor, const MotionRules& rules, double duration_after, double t_max, std::mt19937_64& rng)
      : body_(body), floor_(floor), rules_(rules), contacts_(body, floor), duration_after_(duration_after), rng_(rng) {
    out_.t_end = t_max;
    out_.contact_time = rules.contact_time;
  }

  DropMotion Run(const BodyState& release) {
    state_ = release;
    bool flight = true;
    while (t_ < out_.t_end) flight = flight ? Fly() : Touch();
    return std::move(out_);
  }

 private:
  bool MayStrike() const { return static_cast<int>(out_.strikes.size()) < rules_.max_impacts; }
  void Add(Stretch::Kind kind) { out_.stretches.push_back({t_, kind, state_}); }

  // Follows a flight to its end. True when another flight follows.
  bool Fly() {
    Add(Stretch::Kind::kFlight);
    const FirstContact contact = FindContact(contacts_, body_, rules_.flight, state_, out_.t_end - t_);
    if (contact.point < 0) {
      t_ = out_.t_end;
      return true;
    }
    // The middle of a contact that lasts is half its time after the first touch.
    const double dt = contact.t + 0.5 * rules_.contact_time;
    state_ = Propagate(state_, body_, rules_.flight, dt);
    t_ += dt;
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
    if (out_.strikes.empty()) out_.t_end = t_ + duration_after_;
    out_.strikes.push_back(std::move(strike));
    return out_.strikes.back().event.v_plus_F.z();
  }

  struct Support {
    int point = 0;
    Vector3d lever;
    Matrix3d R_WF, A_F;
    double bias = 0;  // gap over step [m/s]: the point may come down by its gap
    Vector3d J = Vector3d::Zero();
  };

  // Velocity at the end of a step under the impulses of lasting contact. Contacts are relaxed one by one (projected Gauss-Seidel).
  void Relax(std::vector<Support>& supports, Vector3d& v, Vector3d& omega) const {
    const Matrix3d inverse_inertia = InverseInertiaW(body_, state_.X_WB.linear());
    const double mu = rules_.model.mu_k;
    for (int sweep = 0; sweep < 200; ++sweep) {
      double change = 0;
      for (Support& s : supports) {
        const auto push = [&](const Vector3d& dJ_F) {
          const Vector3d dJ = s.R_WF * dJ_F;
          v += dJ / body_.mass;
          omega += inverse_inertia * s.lever.cross(dJ);
          change = std::max(change, dJ.norm() / body_.mass);
        };
        const auto velocity = [&]() -> Vector3d { return s.R_WF.transpose() * (v + omega.cross(s.lever)); };
        const double J_n = std::max(0.0, s.J.z() - (velocity().z() + s.bias) / s.A_F(2, 2));
        push({0, 0, J_n - s.J.z()});
        s.J.z() = J_n;
        Vector3d J = s.J;
        const Vector3d slip = velocity();
        J.x() -= slip.x() / s.A_F(0, 0);
        if (!body_.planar) J.y() -= slip.y() / s.A_F(1, 1);
        const double size = J.head<2>().norm(), most = mu * J_n;
        if (size > most) J.head<2>() *= most / size;
        push(J - s.J);
        s.J = J;
      }
      if (change < 1e-13) break;
    }
  }

  // One step of lasting contact. True when a flight follows.
  bool Touch() {
    double dt = std::min(kContactStep, out_.t_end - t_);
    const Vector3d& n = contacts_.normal();
    // A further vertex that comes down fast ends the step at its arrival and strikes.
    int arrival = -1;
    for (int i = 0; i < contacts_.size() && MayStrike(); ++i) {
      const double gap = contacts_.Gap(i, state_.X_WB), rate = contacts_.GapRate(i, state_);
      if (gap > kTakeOffGap && rate < -kArrivalSpeed && gap + rate * dt < 0) {
        arrival = i;
        dt = -gap / rate;
      }
    }
    BodyState free = state_;
    free.v_WB += rules_.flight.gravity_W * dt;
    if (!body_.planar) {
      const Matrix3d& R = state_.X_WB.linear();
      const Vector3d L = R * (body_.inertia_B * (R.transpose() * state_.omega_WB));
      free.omega_WB -= dt * (InverseInertiaW(body_, R) * state_.omega_WB.cross(L));
    }
    std::vector<Support> supports;
    for (int i = 0; i < contacts_.size(); ++i) {
      const double gap = contacts_.Gap(i, state_.X_WB);
      if (i == arrival || gap + dt * contacts_.GapRate(i, free) > 1e-9) continue;
      Support s;
      s.point = i;
      s.lever = contacts_.Point(i, state_.X_WB) - state_.X_WB.translation();
      const Isometry3d X_WF = ContactFrame(floor_, state_.X_WB.translation() + s.lever, rules_.flight.gravity_W, body_.planar);
      s.R_WF = X_WF.linear();
      s.A_F = ContactInverseMass(body_, state_.X_WB, X_WF);
      s.bias = gap / dt;
      supports.push_back(s);
    }
    Relax(supports, free.v_WB, free.omega_WB);
    state_.v_WB = free.v_WB;
    state_.omega_WB = free.omega_WB;
    Add(Stretch::Kind::kContact);
    const auto loaded = std::count_if(supports.begin(), supports.end(), [](const Support& s) { return s.J.z() > 0; });
    if (Still(loaded)) {
      state_.v_WB.setZero();
      state_.omega_WB.setZero();
      out_.stretches.back() = {t_, Stretch::Kind::kRest, state_};
      t_ = out_.t_end;
      return true;
    }
    state_.X_WB.translation() += dt * state_.v_WB;
    state_.X_WB.linear() = (Exp(dt * state_.omega_WB) * state_.X_WB.linear()).eval();
    const Matrix3d& R = state_.X_WB.linear();
    state_.X_WB.linear() = (0.5 * R * (3 * Matrix3d::Identity() - R.transpose() * R)).eval();
    // What a straight step cuts off the curved path of a vertex.
    const double lowest = contacts_.LowestGap(state_.X_WB);
    if (lowest < 0) state_.X_WB.translation() -= lowest * n;
    t_ += dt;
    if (arrival >= 0) {
      steps_free_ = steps_still_ = 0;
      if (contacts_.GapRate(arrival, state_) > -kRestSpeed) return false;
      return Hit(arrival, false) >= kRestSpeed && MayStrike();
    }
    steps_free_ = loaded == 0 && lowest > kTakeOffGap ? steps_free_ + 1 : 0;
    if (steps_free_ < kTakeOffSteps) return false;
    steps_free_ = steps_still_ = 0;
    return true;
  }

  // Rests: held up where it would fall otherwise, and hardly moving for a while.
  bool Still(std::ptrdiff_t loaded) {
    const int needed = std::min(contacts_.size(), body_.planar ? 2 : body_.shape == BodyShape::kRod ? 2 : 3);
    const double size = std::sqrt(body_.inertia_B(1, 1) / body_.mass);
    const bool slow = state_.v_WB.norm() < kStillSpeed && state_.omega_WB.norm() * size < kStillSpeed;
    steps_still_ = slow && loaded >= needed ? steps_still_ + 1 : 0;
    return steps_still_ >= kRestSteps;
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
  int steps_free_ = 0, steps_still_ = 0;
};

}  // namespace

FirstContact FindContact(const FloorContacts& contacts, const Body& body, const FlightOptions& flight, const BodyState& start,
                         double t_max) {
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
    if (gap_a[i] <= kTouching && rate_a[i] <= 0 && (first.point < 0 || rate_a[i] < rate_a[first.point])) first.point = i;
  }
  if (first.point >= 0) return first;
  for (double a = 0; a < t_max; a += step) {
    const double b = std::min(a + step, t_max);
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
        // Never came out of the floor that a lasting contact had pressed it into.
        if (first.point < 0 || a < first.t) first = {a, i};
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

DropMotion SimulateDrop(const Body& body, const Plane& floor, const MotionRules& rules, const BodyState& release, double duration_after,
                        double t_max, std::mt19937_64& rng) {
  return Simulation(body, floor, rules, duration_after, t_max, rng).Run(release);
}

Isometry3d PoseAt(const DropMotion& motion, const Body& body, const FlightOptions& flight, double t) {
  auto after =
      std::upper_bound(motion.stretches.begin(), motion.stretches.end(), t, [](double time, const Stretch& s) { return time < s.t; });
  if (after != motion.stretches.begin()) --after;
  const Stretch& s = *after;
  const double dt = t - s.t;
  if (s.kind == Stretch::Kind::kFlight) {
    Isometry3d X_WB = Propagate(s.state, body, flight, dt).X_WB;
    for (const Strike& strike : motion.strikes) {
      const double share = motion.contact_time > 0 && strike.from_flight ? (t - strike.t) / motion.contact_time + 0.5 : 0;
      if (!(share > 0 && share < 1)) continue;
      // Velocity goes from before to after by (1 - cos(pi share)) / 2, flights on both sides left as they are.
      const double way = 0.5 * share - std::sin(M_PI * share) / (2 * M_PI) - std::max(0.0, share - 0.5);
      const double after = motion.contact_time * way;
      X_WB.translation() += after * (strike.event.v_plus - strike.event.v_minus);
      X_WB.linear() = (Exp(after * (strike.event.omega_plus - strike.event.omega_minus)) * X_WB.linear()).eval();
    }
    return X_WB;
  }
  Isometry3d X_WB = s.state.X_WB;
  if (s.kind == Stretch::Kind::kRest) return X_WB;
  X_WB.translation() += dt * s.state.v_WB;
  X_WB.linear() = Exp(dt * s.state.omega_WB) * X_WB.linear();
  return X_WB;
}

}  // namespace impactlab::internal
