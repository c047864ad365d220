#include "impact/motion/orbit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "impact/motion/detail/contact_field.h"
#include "impact/motion/detail/simulate_impact.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Step of central differences, relative to 1 + |x|.
constexpr double kDifference = 1e-5;
// Approach below which an impact counts as a graze [m/s].
constexpr double kGraze = 1e-7;
// A branch that ends where an impact is slower than that has ended in a graze [m/s].
constexpr double kSlow = 0.1;
// The same of a gap [m].
constexpr double kClose = 1e-4;
// Fixed steps of a flight and its neighbours are no longer than that in units of the inverse of the
// fastest angular frequency.
constexpr double kFlightAngle = 0.2;

VectorXd Stack(const MechanismState& s) {
  VectorXd x(s.q.size() + s.u.size());
  x << s.q, s.u;
  return x;
}

MechanismState Unstack(const VectorXd& x, double t, Eigen::Index n_q) {
  return {t, x.head(n_q), x.tail(x.size() - n_q)};
}

class Derivative {
 public:
  Derivative(const Mechanism& mechanism, const SimulateOptions& options)
      : mechanism_(mechanism), options_(options), field_(mechanism, options.tolerance) {}

  MotionDerivative Of(const MechanismState& start, double duration) {
    const Eigen::Index n = mechanism_.n_q + mechanism_.n_u;
    MotionDerivative d;
    d.dx = MatrixXd::Identity(n, n);
    d.least_approach = d.least_clearance = std::numeric_limits<double>::infinity();
    MechanismState at = start;
    SimulateOptions options = options_;
    options.duration = duration;
    options.stop_at_rest = false;
    SimulationObserver observer;
    observer.event = [&](const SimulationEvent& event) {
      if (!d.usable()) return;
      if (event.kind != SimulationEventKind::kImpact || event.contacts.size() != 1) {
        d.reason = event.kind == SimulationEventKind::kImpact ? "contacts are struck at once"
                                                              : "a contact lasts";
        return;
      }
      d.dx = Flight(at, event.before) * d.dx;
      d.least_approach = std::min(d.least_approach, -event.v_minus[mechanism_.width - 1]);
      d.dx = Saltation(event, d.reason) * d.dx;
      ++d.impacts;
      at = event.after;
    };
    observer.stop = [&] { return !d.usable(); };
    ContactTerms terms;
    for (int i = 0; i < static_cast<int>(mechanism_.contacts.size()); ++i) {
      const auto rate = [this, i, &terms](const MechanismState& s) {
        mechanism_.contact(s, i, terms);
        return terms.rows.row(mechanism_.width - 1).dot(s.u) -
               terms.v_surface[mechanism_.width - 1];
      };
      observer.sections.push_back({rate, 1});
    }
    observer.crossing = [&](int contact, const MechanismState& s) {
      mechanism_.contact(s, contact, terms);
      d.least_clearance = std::min(d.least_clearance, terms.gap);
      return false;
    };
    const SimulationResult result = Simulate(mechanism_, start, options, observer);
    if (result.end == SimulationEnd::kGivenUp) d.reason = result.reason;
    d.end = result.state;
    if (d.usable()) d.dx = Flight(at, result.state) * d.dx;
    if (d.impacts == 0) d.least_approach = 0;
    return d;
  }

 private:
  // End of a flight of the given length, by steps that are the same for neighbours.
  VectorXd Fly(const VectorXd& x, double t, double duration, int steps) {
    MechanismState s = Unstack(x, t, mechanism_.n_q);
    impact::FieldValues values;
    for (int k = 0; k < steps; ++k) {
      field_.Evaluate(s, values);
      s = field_.Along(s, values, duration / steps);
      s.t = t + duration * (k + 1) / steps;
    }
    return Stack(s);
  }

  MatrixXd Flight(const MechanismState& from, const MechanismState& to) {
    const VectorXd x = Stack(from);
    const double duration = to.t - from.t;
    double h = 0.1;
    if (mechanism_.frequency && mechanism_.frequency(from) > 0)
      h = std::min(h, kFlightAngle / mechanism_.frequency(from));
    const int steps = std::max(1, static_cast<int>(std::ceil(duration / h)));
    return Differences(x, [&](const VectorXd& y) { return Fly(y, from.t, duration, steps); });
  }

  template <typename Function>
  MatrixXd Differences(const VectorXd& x, const Function& function) const {
    MatrixXd J;
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      const double step = kDifference * (1 + std::abs(x[k]));
      VectorXd high = x, low = x;
      high[k] += step;
      low[k] -= step;
      const VectorXd slope = (function(high) - function(low)) / (high[k] - low[k]);
      if (k == 0) J.resize(slope.size(), x.size());
      J.col(k) = slope;
    }
    return J;
  }

  VectorXd Rates(const MechanismState& s) {
    impact::FieldValues values;
    field_.Evaluate(s, values);
    return Eigen::Map<const VectorXd>(values.dx.data(), values.dx.size());
  }

  VectorXd Reset(const VectorXd& x, double t, const std::vector<int>& contacts) const {
    MechanismState s = Unstack(x, t, mechanism_.n_q);
    const impact::StrikeResult strike = impact::Strike(mechanism_, s, contacts, -1, options_, 0);
    if (strike.struck) s.u = strike.u_plus;
    return Stack(s);
  }

  double Gap(const VectorXd& x, double t, int contact) const {
    ContactTerms terms;
    mechanism_.contact(Unstack(x, t, mechanism_.n_q), contact, terms);
    return terms.gap;
  }

  MatrixXd Saltation(const SimulationEvent& event, std::string& reason) {
    const VectorXd x = Stack(event.before);
    const double t = event.t, dt = kDifference;
    const int contact = event.contacts[0];
    const MatrixXd g_x =
        Differences(x, [&](const VectorXd& y) { return Reset(y, t, event.contacts); });
    const VectorXd g_t =
        (Reset(x, t + dt, event.contacts) - Reset(x, t - dt, event.contacts)) / (2 * dt);
    const Eigen::RowVectorXd h_x = Differences(
        x, [&](const VectorXd& y) { return VectorXd::Constant(1, Gap(y, t, contact)); });
    const double approach = event.v_minus[mechanism_.width - 1];
    if (-approach < kGraze) {
      reason = "an impact grazes";
      return MatrixXd::Identity(x.size(), x.size());
    }
    const VectorXd f_in = Rates(event.before), f_out = Rates(event.after);
    // h_t + h_x f_in is the rate of the gap.
    return g_x + (f_out - g_x * f_in - g_t) * h_x / approach;
  }

  const Mechanism& mechanism_;
  const SimulateOptions& options_;
  impact::ContactField field_;
};

void SortMultipliers(Eigen::VectorXcd& m) {
  std::sort(m.begin(), m.end(), [](const std::complex<double>& a, const std::complex<double>& b) {
    if (std::abs(std::abs(a) - std::abs(b)) > 1e-9) return std::abs(a) > std::abs(b);
    return a.imag() > b.imag();
  });
}

void Describe(PeriodicOrbit& orbit, const MotionDerivative& d) {
  orbit.multipliers = d.dx.eigenvalues();
  SortMultipliers(orbit.multipliers);
  orbit.residual = (Stack(d.end) - Stack(orbit.start)).cwiseAbs().maxCoeff();
  orbit.impacts = d.impacts;
  orbit.least_approach = d.least_approach;
  orbit.least_clearance = d.least_clearance;
}

}  // namespace

MotionDerivative DifferentiateMotion(const Mechanism& mechanism, const MechanismState& start,
                                     double duration, const SimulateOptions& options) {
  CheckMechanism(mechanism, start);
  return Derivative(mechanism, options).Of(start, duration);
}

PeriodicOrbit FindPeriodicOrbit(const Mechanism& mechanism, const MechanismState& guess,
                                double period, const SimulateOptions& options) {
  PeriodicOrbit orbit;
  orbit.start = guess;
  orbit.period = period;
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 30; ++round) {
    const MotionDerivative d = DifferentiateMotion(mechanism, orbit.start, period, options);
    if (!d.usable()) {
      orbit.reason = d.reason;
      return orbit;
    }
    const VectorXd miss = Stack(d.end) - Stack(orbit.start);
    const double size = miss.cwiseAbs().maxCoeff();
    // Rounding of the motion ends the improvement.
    if (size <= 1e-12 || (size <= 1e-9 && size >= 0.5 * last)) {
      Describe(orbit, d);
      return orbit;
    }
    if (!(size < 1e6)) break;
    last = size;
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
    cod.setThreshold(1e-8);
    const MatrixXd A = d.dx - MatrixXd::Identity(d.dx.rows(), d.dx.cols());
    const VectorXd x = Stack(orbit.start) - cod.compute(A).solve(miss);
    orbit.start = Unstack(x, orbit.start.t, mechanism.n_q);
    if (mechanism.normalise) mechanism.normalise(orbit.start.q);
  }
  orbit.reason = "Newton's method did not converge";
  return orbit;
}

const char* BifurcationName(BifurcationKind kind) {
  switch (kind) {
    case BifurcationKind::kFold:
      return "fold";
    case BifurcationKind::kPeriodDoubling:
      return "period_doubling";
    case BifurcationKind::kGrazing:
      return "grazing";
  }
  return "";
}

namespace {

// Falls or rises through 0 where a multiplier passes -1.
template <typename Point>
double Doubling(const Point& point) {
  return (point.dx + MatrixXd::Identity(point.dx.rows(), point.dx.cols())).determinant();
}

// Points of a branch in z = (x, parameter).
class Branch {
 public:
  Branch(const OrbitFamily& family, const SimulateOptions& options, double phase)
      : family_(family), options_(options), phase_(phase) {}

  struct Point {
    VectorXd z;
    PeriodicOrbit orbit;
    MatrixXd dx;
    VectorXd dp;  // derivative of the miss by the parameter
  };

  // Where a multiplier passes -1 between two points.
  Point FindDoubling(Point a, Point b) const {
    const double sign = Doubling(a);
    for (int round = 0; round < 60 && (b.z - a.z).norm() > 1e-10; ++round) {
      Point middle;
      if (!Correct(0.5 * (a.z + b.z), (b.z - a.z).normalized(), middle).empty()) break;
      (Doubling(middle) * sign < 0 ? b : a) = middle;
    }
    return b;
  }

  // Where the parameter, `turned` somewhere between two points, is at its end.
  Point FindFold(const Point& a, const Point& b, double turned) const {
    const Eigen::Index n = a.z.size() - 1;
    const double sign = turned > a.z[n] ? -1 : 1;
    const VectorXd direction = (b.z - a.z).normalized();
    Point best = a;
    const auto value = [&](double s) {
      Point point;
      if (!Correct(a.z + s * (b.z - a.z), direction, point).empty())
        return std::numeric_limits<double>::infinity();
      if (sign * point.z[n] < sign * best.z[n]) best = point;
      return sign * point.z[n];
    };
    boost::math::tools::brent_find_minima(value, 0.0, 1.0, 30);
    return best;
  }

  // Orbit nearest to `guess` on the plane through it across `tangent`; empty reason where found.
  std::string Correct(const VectorXd& guess, const VectorXd& tangent, Point& point) const {
    VectorXd z = guess;
    double last = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 25; ++round) {
      const double p = z[z.size() - 1];
      if (!z.allFinite() || (z - guess).norm() > 10 * (1 + guess.norm()) ||
          !(family_.period(p) > 0))
        break;
      const Mechanism mechanism = family_.mechanism(p);
      const MechanismState start = StateOf(z, mechanism.n_q);
      const double period = family_.period(p);
      const MotionDerivative d = Derivative(mechanism, options_).Of(start, period);
      if (!d.usable()) return d.reason;
      const Eigen::Index n = d.dx.rows();
      const VectorXd miss = Stack(d.end) - Stack(start);
      const VectorXd dp = ByParameter(start, p);
      const double size = miss.cwiseAbs().maxCoeff();
      if (size <= 1e-11 || (size <= 1e-8 && size >= 0.5 * last)) {
        point.z = z;
        point.dx = d.dx;
        point.dp = dp;
        point.orbit = {};
        point.orbit.start = start;
        point.orbit.period = period;
        Describe(point.orbit, d);
        return {};
      }
      if (!(size < 1e6)) break;
      last = size;
      MatrixXd A(n + 1, n + 1);
      A << d.dx - MatrixXd::Identity(n, n), dp, tangent.transpose();
      VectorXd b(n + 1);
      b << -miss, tangent.dot(guess - z);
      Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
      cod.setThreshold(1e-9);
      z += cod.compute(A).solve(b);
    }
    return "Newton's method did not converge";
  }

 private:
  MechanismState StateOf(const VectorXd& z, Eigen::Index n_q) const {
    return Unstack(z.head(z.size() - 1), phase_ * family_.period(z[z.size() - 1]), n_q);
  }

  VectorXd ByParameter(const MechanismState& start, double p) const {
    const double step = 1e-6 * (1 + std::abs(p));
    const auto end = [&](double parameter) {
      const Mechanism mechanism = family_.mechanism(parameter);
      SimulateOptions options = options_;
      options.duration = family_.period(parameter);
      options.stop_at_rest = false;
      MechanismState s = start;
      s.t = phase_ * options.duration;
      return Stack(Simulate(mechanism, s, options).state);
    };
    return (end(p + step) - end(p - step)) / (2 * step);
  }

  const OrbitFamily& family_;
  const SimulateOptions& options_;
  double phase_;  // of the start, in periods
};

}  // namespace

OrbitBranch FollowOrbit(const OrbitFamily& family, const OrbitPoint& first, double step, double low,
                        double high, int most_points, const SimulateOptions& options) {
  OrbitBranch branch;
  const Branch along(family, options, first.orbit.start.t / family.period(first.parameter));
  const Eigen::Index n = Stack(first.orbit.start).size();
  VectorXd z(n + 1);
  z << Stack(first.orbit.start), first.parameter;
  VectorXd tangent = VectorXd::Unit(n + 1, n);
  Branch::Point last;
  if (std::string fault = along.Correct(z, tangent, last); !fault.empty()) {
    branch.end = "the first point is no orbit: " + fault;
    return branch;
  }
  const auto keep = [&](const Branch::Point& point) {
    branch.points.push_back({point.z[n], point.orbit});
  };
  const auto bifurcates = [&](BifurcationKind kind, const Branch::Point& point) {
    branch.bifurcations.push_back({kind, point.z[n], point.orbit.start});
  };
  keep(last);
  Branch::Point before = last;
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
  cod.setThreshold(1e-9);
  const MatrixXd miss = last.dx - MatrixXd::Identity(n, n);
  tangent.head(n) = -cod.compute(miss).solve(last.dp);
  const double longest = std::abs(step) * tangent.norm();
  double arc = longest;
  tangent *= (step < 0 ? -1 : 1) / tangent.norm();
  while (static_cast<int>(branch.points.size()) < most_points) {
    Branch::Point next;
    const std::string fault = along.Correct(last.z + arc * tangent, tangent, next);
    if (!fault.empty() || (next.z - last.z).norm() > 3 * arc) {
      arc *= 0.5;
      if (arc > 1e-7 * longest) continue;
      branch.end = fault.empty() ? "the branch jumps" : fault;
      if (last.orbit.least_approach < kSlow || last.orbit.least_clearance < kClose)
        bifurcates(BifurcationKind::kGrazing, last);
      return branch;
    }
    if (Doubling(last) * Doubling(next) < 0)
      bifurcates(BifurcationKind::kPeriodDoubling, along.FindDoubling(last, next));
    if ((next.z[n] - last.z[n]) * (last.z[n] - before.z[n]) < 0)
      bifurcates(BifurcationKind::kFold, along.FindFold(before, next, last.z[n]));
    keep(next);
    tangent = (next.z - last.z).normalized();
    arc = std::min(1.3 * arc, longest);
    before = last;
    last = next;
    if (last.z[n] < low || last.z[n] > high) {
      branch.end = "it leaves the range of the parameter";
      return branch;
    }
  }
  branch.end = "it has as many points as allowed";
  return branch;
}

int FindPeriod(const std::vector<VectorXd>& section, double tolerance, int longest) {
  const int size = static_cast<int>(section.size());
  for (int n = 1; n <= longest; ++n) {
    if (size < 4 * n) return 0;
    bool same = true;
    for (int k = size - 3 * n; same && k < size; ++k)
      same = (section[k] - section[k - n]).cwiseAbs().maxCoeff() <= tolerance;
    if (same) return n;
  }
  return 0;
}

}  // namespace impactlab
