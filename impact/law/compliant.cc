#include "impact/law/compliant.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/base/error.h"

namespace impactlab {
namespace {

// v_t, v_n of the contact point [m/s]; theta_dot, theta; indentation; force of a Maxwell element;
// normal impulse, normal work.
enum { kVt, kVn, kSpin, kTheta, kX, kForce, kJn, kWork, kSize };
using State = std::array<double, kSize>;

State Plus(const State& y, double h, const State& dy) {
  State out = y;
  for (int i = 0; i < kSize; ++i) out[i] += h * dy[i];
  return out;
}

class Contact {
 public:
  Contact(const CompliantImpact& impact, const CompliantModel& model, bool frozen)
      : impact_(impact), model_(model), frozen_(frozen) {}

  enum Mode { kLeft = -1, kStick = 0, kRight = 1 };
  Mode mode = kStick;
  double x_max = 0;  // reached before the present unloading

  double Normal(const State& y) const {
    const double x = std::max(0.0, y[kX]), rate = -y[kVn], k = model_.stiffness;
    switch (model_.law) {
      case CompliantLaw::kSpringDashpot:
        return std::max(0.0, k * y[kX] + model_.damping * rate);
      case CompliantLaw::kHertz:
        return k * std::pow(x, model_.power);
      case CompliantLaw::kHysteresis: {
        if (x >= x_max) return k * std::pow(x, model_.power);
        const double rest = model_.residual * x_max;
        return x > rest ? k * std::pow(x_max, model_.power) *
                              std::pow((x - rest) / (x_max - rest), model_.power)
                        : 0;
      }
      case CompliantLaw::kHuntCrossley:
        return std::max(0.0, k * std::pow(x, model_.power) * (1 + model_.damping * rate));
      case CompliantLaw::kMaxwell:
        return std::max(0.0, y[kForce]);
    }
    return 0;
  }

  // Negative once nothing presses any more.
  double Pressing(const State& y) const {
    switch (model_.law) {
      case CompliantLaw::kSpringDashpot:
        return model_.stiffness * y[kX] - model_.damping * y[kVn];
      case CompliantLaw::kMaxwell:
        return y[kForce];
      case CompliantLaw::kHysteresis:
        return y[kX] - model_.residual * x_max;
      default:
        return y[kX];
    }
  }

  struct Lever {
    double t, n;
  };
  Lever At(const State& y) const {
    if (frozen_) return {impact_.r_t, impact_.r_n};
    const double s = std::sin(y[kTheta]), c = std::cos(y[kTheta]);
    return {c * impact_.r_t - s * impact_.r_n, s * impact_.r_t + c * impact_.r_n};
  }

  // Tangential acceleration of the contact point without friction, and friction that holds it.
  struct Hold {
    double free_t, friction;
  };
  Hold ToHold(const State& y) const {
    const Lever r = At(y);
    const double a = 1 / impact_.mass + r.n * r.n / impact_.inertia,
                 b = -r.t * r.n / impact_.inertia;
    const double free_t = b * Normal(y) - (frozen_ ? 0 : y[kSpin] * y[kSpin] * r.t);
    return {free_t, -free_t / a};
  }

  State Rate(const State& y) const {
    const Lever r = At(y);
    const double F_n = Normal(y), spin = y[kSpin];
    const double F_t = mode == kStick ? ToHold(y).friction : -mode * impact_.mu_k * F_n;
    const double turn = (r.t * F_n - r.n * F_t) / impact_.inertia,
                 swing = frozen_ ? 0 : spin * spin;
    State dy{};
    dy[kVt] = F_t / impact_.mass - turn * r.n - swing * r.t;
    dy[kVn] = F_n / impact_.mass + turn * r.t - swing * r.n;
    dy[kSpin] = turn;
    dy[kTheta] = spin;
    dy[kX] = -y[kVn];
    if (model_.law == CompliantLaw::kMaxwell)
      dy[kForce] = -model_.stiffness * y[kVn] - model_.stiffness / model_.damping * y[kForce];
    dy[kJn] = F_n;
    dy[kWork] = F_n * y[kVn];
    return dy;
  }

  // A contact at rest sticks where static friction can hold it, else slips the way it is pushed.
  // True when it sticks.
  bool ChooseFromRest(const State& y) {
    const Hold hold = ToHold(y);
    const double F_n = Normal(y);
    const bool sticks = F_n > 0 ? std::abs(hold.friction) <= impact_.mu_s * F_n : RatioHolds(y);
    mode = sticks                                                           ? kStick
           : hold.free_t > 0 || (hold.free_t == 0 && At(y).t * At(y).n < 0) ? kRight
                                                                            : kLeft;
    return sticks;
  }

 private:
  // At first touch there is no force yet: what the first force would do.
  bool RatioHolds(const State& y) const {
    const Lever r = At(y);
    return std::abs(r.t * r.n) / impact_.inertia <=
           impact_.mu_s * (1 / impact_.mass + r.n * r.n / impact_.inertia);
  }

  const CompliantImpact& impact_;
  const CompliantModel& model_;
  bool frozen_;
};

// One step of Cash and Karp's pair of order 5(4); the error is what the two differ by.
State Step(const Contact& contact, const State& y, double h, State& error) {
  static constexpr double kA[6][5] = {
      {},
      {1.0 / 5},
      {3.0 / 40, 9.0 / 40},
      {3.0 / 10, -9.0 / 10, 6.0 / 5},
      {-11.0 / 54, 5.0 / 2, -70.0 / 27, 35.0 / 27},
      {1631.0 / 55296, 175.0 / 512, 575.0 / 13824, 44275.0 / 110592, 253.0 / 4096}};
  static constexpr double kB5[6] = {37.0 / 378, 0, 250.0 / 621, 125.0 / 594, 0, 512.0 / 1771};
  static constexpr double kB4[6] = {2825.0 / 27648, 0,      18575.0 / 48384, 13525.0 / 55296,
                                    277.0 / 14336,  1.0 / 4};
  std::array<State, 6> k;
  for (int i = 0; i < 6; ++i) {
    State at = y;
    for (int j = 0; j < i; ++j) at = Plus(at, h * kA[i][j], k[j]);
    k[i] = contact.Rate(at);
  }
  State out = y;
  error.fill(0);
  for (int i = 0; i < 6; ++i) {
    out = Plus(out, h * kB5[i], k[i]);
    error = Plus(error, h * (kB5[i] - kB4[i]), k[i]);
  }
  return out;
}

void Require(bool ok, const char* name, double value, const char* allowed) {
  if (!ok)
    throw ConfigError(
        fmt::format("compliant contact: {}: found {}, allowed {}", name, value, allowed));
}

}  // namespace

void CheckModel(const CompliantModel& model) {
  Require(model.stiffness > 0 && std::isfinite(model.stiffness), "stiffness", model.stiffness,
          "a finite number above 0");
  Require(model.power >= 1 && model.power <= 5, "power", model.power, "a number in [1, 5]");
  Require(model.damping >= 0 && std::isfinite(model.damping), "damping", model.damping,
          "a finite number of at least 0");
  Require(model.law != CompliantLaw::kMaxwell || model.damping > 0, "damping of a Maxwell element",
          model.damping, "a number above 0");
  Require(model.residual >= 0 && model.residual < 1, "residual", model.residual,
          "a number in [0, 1)");
}

double HuntCrossleyDamping(double e, double speed) {
  Require(e > 0 && e <= 1, "restitution of Hunt-Crossley", e, "a number above 0 and at most 1");
  Require(speed > 0, "speed", speed, "a number above 0");
  if (e == 1) return 0;
  // x' dx' / (1 + d x') = -(k / m) x^p dx on the way in and out: with y = d v, y (1 + e) = ln((1 +
  // y) / (1 - e y)), 0 < y < 1 / e.
  const auto gap = [&](double y) { return std::log1p(y) - std::log1p(-e * y) - y * (1 + e); };
  double low = 0, high = 1 / e;
  for (int i = 0; i < 200; ++i) {
    const double y = 0.5 * (low + high);
    // The root at y = 0 is trivial: below the other one the left side is too small.
    (gap(y) < 0 ? low : high) = y;
  }
  return 0.5 * (low + high) / speed;
}

double ImpliedRestitution(const CompliantModel& model, double mass, double speed) {
  CheckModel(model);
  Require(mass > 0, "mass", mass, "a number above 0");
  Require(speed > 0, "speed", speed, "a number above 0");
  const double k = model.stiffness, c = model.damping;
  switch (model.law) {
    case CompliantLaw::kHertz:
      return 1;
    case CompliantLaw::kHysteresis:
      return std::sqrt(1 - model.residual);
    case CompliantLaw::kSpringDashpot: {
      // Ends where the acceleration is zero (Schwager & Poeschel 2007).
      const double zeta = c / (2 * std::sqrt(k * mass));
      if (zeta == 0) return 1;
      if (zeta < 1) {
        const double w = std::sqrt(1 - zeta * zeta);
        return std::exp(-zeta / w * std::atan2(2 * zeta * w, 2 * zeta * zeta - 1));
      }
      if (zeta == 1) return std::exp(-2.0);
      const double w = std::sqrt(zeta * zeta - 1);
      return std::exp(-2 * zeta / w * std::asinh(w));
    }
    case CompliantLaw::kMaxwell: {
      const double zeta = std::sqrt(k * mass) / (2 * c);
      return zeta < 1 ? std::exp(-M_PI * zeta / std::sqrt(1 - zeta * zeta)) : 0;
    }
    case CompliantLaw::kHuntCrossley: {
      const double y = c * speed;
      if (y == 0) return 1;
      // The same equation as in HuntCrossleyDamping, for e: its left side less its right one grows
      // with e.
      double low = 0, high = std::min(1.0, 1 / y);
      for (int i = 0; i < 200; ++i) {
        const double e = 0.5 * (low + high);
        (std::log1p(y) - std::log1p(-e * y) - y * (1 + e) < 0 ? low : high) = e;
      }
      return 0.5 * (low + high);
    }
  }
  return 1;
}

double PrintedSpringDashpotRestitution(const CompliantModel& model, double mass) {
  CheckModel(model);
  const double zeta = model.damping / (2 * std::sqrt(model.stiffness * mass));
  return zeta < 1 ? std::exp(-M_PI * zeta / std::sqrt(1 - zeta * zeta)) : 0;
}

double FirstOrderRestitution(double d, double speed) {
  return std::clamp(1 - 2.0 / 3 * d * speed, 0.0, 1.0);
}
double PowerRestitution(double alpha, double m, double speed) {
  return std::clamp(1 - alpha * std::pow(speed, m), 0.0, 1.0);
}

PlanarContact RigidContact(const CompliantImpact& impact) {
  return PlanarBodyContact(impact.mass, impact.inertia, impact.r_t, impact.r_n, impact.v_t,
                           impact.v_n, impact.theta_dot);
}

namespace {

// Integration of one impact, with the events that change its mode or its phase.
class CompliantPath {
 public:
  CompliantPath(const CompliantImpact& impact, const CompliantModel& model,
                const CompliantOptions& options)
      : impact_(impact),
        options_(options),
        rigid_(RigidContact(impact)),
        contact_(impact, model, options.frozen) {
    out_.v_t = rigid_.v_t, out_.v_n = rigid_.v_n;
    y_[kVt] = rigid_.v_t, y_[kVn] = rigid_.v_n, y_[kSpin] = impact.theta_dot;
    // Size of the impact: indentation and time of an elastic one against the power law.
    const double speed = std::hypot(rigid_.v_t, rigid_.v_n),
                 p = model.law == CompliantLaw::kSpringDashpot ||
                             model.law == CompliantLaw::kMaxwell
                         ? 1
                         : model.power;
    const double x_unit =
        std::pow(rigid_.v_n * rigid_.v_n / (rigid_.A_nn * model.stiffness), 1 / (p + 1));
    t_unit_ = x_unit / -rigid_.v_n;
    scale_ = {speed,
              speed,
              speed / std::hypot(impact.r_t, impact.r_n),
              t_unit_,
              x_unit,
              model.stiffness * x_unit,
              speed / rigid_.A_nn,
              speed * speed / rigid_.A_nn};
  }

  CompliantOutcome Follow() {
    if (!(rigid_.v_n < 0)) {
      out_.status = SolveStatus::kNoApproach;
      return out_;
    }
    if (rigid_.v_t == 0) {
      out_.digit = contact_.ChooseFromRest(y_) ? 5 : 6;
    } else {
      contact_.mode = rigid_.v_t > 0 ? Contact::kRight : Contact::kLeft;
    }
    double h = 1e-4 * t_unit_;
    for (int step = 0; step < 1000000; ++step) {
      State error, next = Step(contact_, y_, h, error);
      const double ratio = RelativeError(error) / options_.tolerance;
      if (ratio > 1) {
        h *= std::max(0.2, 0.9 * std::pow(ratio, -0.25));
        continue;
      }
      const Event found = Advance(h, next);
      if (found == kEnds) return Finish();
      if (found == kNone)
        h = std::min(h * std::min(4.0, 0.9 * std::pow(std::max(ratio, 1e-6), -0.2)),
                     0.05 * t_unit_);
    }
    out_.status = SolveStatus::kNotConverged;
    return Finish();
  }

 private:
  enum Event { kNone, kSlipEnds, kTurns, kStickEnds, kEnds };

  double RelativeError(const State& error) const {
    double worst = 0;
    // The angle matters by how far it moves the point: its own error is far below that of the spin.
    for (const int i : {kVt, kVn, kSpin, kX, kForce, kJn, kWork})
      worst = std::max(worst, std::abs(error[i]) / scale_[i]);
    return worst;
  }

  Event EventAt(const State& next) const {
    if (contact_.mode != Contact::kStick &&
        (contact_.mode == Contact::kRight ? next[kVt] : -next[kVt]) < 0)
      return kSlipEnds;
    if (growing_ != (next[kVn] < 0)) return kTurns;
    if (contact_.mode == Contact::kStick && contact_.Normal(next) > 0 &&
        std::abs(contact_.ToHold(next).friction) >
            impact_.mu_s * contact_.Normal(next) * (1 + 1e-12))
      return kStickEnds;
    return !growing_ && contact_.Pressing(next) < 0 ? kEnds : kNone;
  }

  // Takes the step to `next`, or to the first event inside it, found by halving.
  Event Advance(double h, State next) {
    double used = h;
    Event found = EventAt(next);
    if (found != kNone) {
      State error;
      double low = 0, high = h;
      for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + high);
        const State at = Step(contact_, y_, middle, error);
        (EventAt(at) == kNone ? low : high) = middle;
      }
      next = Step(contact_, y_, high, error);
      found = EventAt(next);
      used = high;
    }
    y_ = next;
    out_.duration += used;
    out_.indentation = std::max(out_.indentation, y_[kX]);
    if (found == kSlipEnds) {
      y_[kVt] = 0;
      const bool sticks = contact_.ChooseFromRest(y_);
      if (!slipped_once_ && out_.digit == 0) out_.digit = (growing_ ? 1 : 3) + (sticks ? 0 : 1);
      slipped_once_ = true;
    } else if (found == kTurns) {
      growing_ = !growing_;
      (growing_ ? out_.work_n_r : out_.work_n_c) += y_[kWork] - work_at_turn_;
      work_at_turn_ = y_[kWork];
      if (!growing_) contact_.x_max = std::max(contact_.x_max, y_[kX]);
    } else if (found == kStickEnds) {
      contact_.ChooseFromRest(y_);
    } else if (found == kEnds) {
      out_.work_n_r += y_[kWork] - work_at_turn_;
    }
    return found;
  }

  CompliantOutcome Finish() {
    out_.v_t = y_[kVt], out_.v_n = y_[kVn], out_.J_n = y_[kJn], out_.rotation = y_[kTheta];
    return out_;
  }

  const CompliantImpact& impact_;
  const CompliantOptions& options_;
  const PlanarContact rigid_;
  Contact contact_;
  CompliantOutcome out_;
  State y_{}, scale_{};
  double t_unit_ = 0, work_at_turn_ = 0;
  bool growing_ = true, slipped_once_ = false;
};

}  // namespace

CompliantOutcome IntegrateCompliantImpact(const CompliantImpact& impact,
                                          const CompliantModel& model,
                                          const CompliantOptions& options) {
  CheckModel(model);
  Require(impact.mass > 0, "mass", impact.mass, "a number above 0");
  Require(impact.inertia > 0, "inertia", impact.inertia, "a number above 0");
  Require(impact.mu_k >= 0 && impact.mu_s >= impact.mu_k, "mu_s", impact.mu_s,
          "at least mu_k, which is at least 0");
  return CompliantPath(impact, model, options).Follow();
}

}  // namespace impactlab
