#include "impact/law/impulse_law.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"

namespace impactlab {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

std::string Invalid(const PlanarContact& p, const ImpulseModel& model) {
  const double sum = p.A_tt + p.A_tn + p.A_nn + p.v_t + p.v_n;
  if (!(sum - sum == 0))
    return fmt::format("A = [[{}, {}], [., {}]], v = ({}, {}) must be finite", p.A_tt, p.A_tn,
                       p.A_nn, p.v_t, p.v_n);
  if (!(p.A_tt > 0 && p.A_nn > 0 && p.Determinant() > 1e-13 * p.A_tt * p.A_nn))
    return fmt::format("A = [[{}, {}], [., {}]] is not positive definite", p.A_tt, p.A_tn, p.A_nn);
  if (!(model.e >= 0 && model.e <= 1))
    return fmt::format("{} is {}, must be in [0, 1]", CoefficientName(kImpulseRestitution),
                       model.e);
  if (!(model.mu_k >= 0 && std::isfinite(model.mu_k)))
    return fmt::format("mu is {}, must be finite and >= 0", model.mu_k);
  if (!(model.e_t >= -1 && model.e_t <= 1))
    return fmt::format("e_t is {}, must be in [-1, 1]", model.e_t);
  if (model.e_t != 0 && !InfoOf(model.law).tangential)
    return fmt::format(
        "e_t is {}: only Whittaker's law knows a tangential restitution, {} has none", model.e_t,
        LawName(model.law));
  return {};
}

double NormalImpulse(const PlanarContact& p, double e, double u) {
  return -(1 + e) * p.v_n / (p.A_nn + u * p.A_tn);
}

// v_t+ at the impulse ratio u; where J_n > 0 has no bound (at and beyond u_s) the limit from the
// admissible side.
double SlipAfter(const PlanarContact& p, double e, double u) {
  if (!(p.A_nn + u * p.A_tn > 0)) return u > 0 ? kNever : -kNever;
  return p.v_t + (p.A_tn + u * p.A_tt) * NormalImpulse(p, e, u);
}

// The ratio that leaves v_t+ = target.
double RatioFor(const PlanarContact& p, double e, double target) {
  const double dv_t = target - p.v_t, dv_n = -(1 + e) * p.v_n;
  return (p.A_nn * dv_t - p.A_tn * dv_n) / (p.A_tt * dv_n - p.A_tn * dv_t);
}

double WhittakerRatio(const PlanarContact& p, const ImpulseModel& model, std::string& bound) {
  const double target = -model.e_t * p.v_t;
  bound = "mu";
  if (target >= SlipAfter(p, model.e, model.mu_k)) return model.mu_k;
  if (target <= SlipAfter(p, model.e, -model.mu_k)) return -model.mu_k;
  bound = "stick";
  return RatioFor(p, model.e, target);
}

double SmithShare(double before, double after) {
  const double larger = std::max(std::abs(before), std::abs(after));
  const double x = before / larger, y = after / larger;
  return (std::abs(x) * x + std::abs(y) * y) / (x * x + y * y);
}

double SmithRatio(const PlanarContact& p, const ImpulseModel& model, std::string& bound) {
  bound = LawName(ImpulseLaw::kSmith);
  const double mu = model.mu_k;
  if (p.v_t == 0) {
    // 0/0 at rest: Coulomb's law, any share of friction that holds.
    const double held = -p.A_tn / p.A_tt;
    bound = std::abs(held) <= mu ? "stick" : "mu";
    return std::clamp(held, -mu, mu);
  }
  const double s = Sign(p.v_t);
  // Slip that is not reversed has the full share of friction.
  if (s * SlipAfter(p, model.e, -s * mu) >= 0) return -s * mu;
  // Reversed by r = -v_t+ / v_t-: what u(r) leaves, less what r says, falls with r.
  const auto gap = [&](double r) {
    return -s * SlipAfter(p, model.e, -mu * SmithShare(p.v_t, -r * p.v_t)) - r * std::abs(p.v_t);
  };
  double low = 0, high = 1;
  while (gap(high) > 0 && high < 1e300) low = high, high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (middle == low || middle == high) break;
    (gap(middle) > 0 ? low : high) = middle;
  }
  return -mu * SmithShare(p.v_t, -high * p.v_t);
}

double BrachRatio(const PlanarContact& p, const ImpulseModel& model, std::string& bound) {
  const BrachBounds bounds = FindBrachBounds(p, model.e, model.law == ImpulseLaw::kBrachPrinted);
  double size = model.mu_k;
  bound = "mu";
  if (std::abs(bounds.used_stick) < size) size = std::abs(bounds.used_stick), bound = "stick";
  if (std::abs(bounds.energy) < size) size = std::abs(bounds.energy), bound = "energy";
  return bounds.direction * size;
}

}  // namespace

ImpulseOutcome ApplyRatio(const PlanarContact& p, double e_n, double u) {
  ImpulseOutcome out;
  out.J_n = NormalImpulse(p, e_n, u);
  out.J_t = u * out.J_n;
  out.v_t = p.v_t + (p.A_tn + u * p.A_tt) * out.J_n;
  out.v_n = -e_n * p.v_n;
  out.energy = out.J_n * (0.5 * (p.v_n + out.v_n) + 0.5 * u * (p.v_t + out.v_t));
  return out;
}

ImpulseOutcome ApplyImpulseLaw(const PlanarContact& contact, const ImpulseModel& model) {
  ImpulseOutcome out;
  out.v_t = contact.v_t, out.v_n = contact.v_n;
  out.reason = Invalid(contact, model);
  if (!out.reason.empty()) {
    out.status = SolveStatus::kInvalid;
    return out;
  }
  // These laws know no impact without approach, even where friction presses the bodies together.
  if (!(contact.v_n < 0)) {
    out.status = SolveStatus::kNoApproach;
    out.reason = "the contact does not approach";
    return out;
  }
  std::string bound;
  const double u = model.law == ImpulseLaw::kWhittaker ? WhittakerRatio(contact, model, bound)
                   : model.law == ImpulseLaw::kSmith   ? SmithRatio(contact, model, bound)
                                                       : BrachRatio(contact, model, bound);
  if (!(contact.A_nn + u * contact.A_tn > 0)) {
    out.status = SolveStatus::kNotConverged;
    out.reason = fmt::format(
        "{}: at the impulse ratio {} that the law names, no normal impulse can reverse the "
        "approach",
        LawName(model.law), u);
    return out;
  }
  out = ApplyRatio(contact, model.e, u);
  out.bound = bound;
  if (bound == "stick") out.v_t = -model.e_t * contact.v_t;
  return out;
}

BrachBounds FindBrachBounds(const PlanarContact& p, double e, bool printed) {
  const double a = p.A_tt, b = p.A_tn, c = p.A_nn, v_t = p.v_t, v_n = p.v_n;
  BrachBounds out;
  out.singular = b == 0 ? kNever : -c / b;
  out.stick = ((1 + e) * b * v_n - c * v_t) / (b * v_t - (1 + e) * a * v_n);
  const double steepest = c * v_t - b * v_n;
  out.most_loss = -c * steepest / (b * c * v_t - (1 + e) * a * c * v_n + e * b * b * v_n);
  // Energy kept: P u^2 + 2 Q u + R = 0, discriminant a sum of squares.
  const double P = 2 * b * v_t - (1 + e) * a * v_n, Q = c * v_t - e * b * v_n,
               R = (1 - e) * c * v_n;
  const double root = std::sqrt(steepest * steepest + (1 - e * e) * p.Determinant() * v_n * v_n);
  const double sum = -(Q + (Q < 0 ? -root : root));
  double u_1 = P == 0 ? kNever * Sign(sum) : sum / P, u_2 = sum == 0 ? 0 : R / sum;
  // A root that is zero (e = 1, or no approach) has the sign of its neighbours at smaller e.
  const double sign_1 = u_1 == 0 ? Sign(Q) : Sign(u_1), sign_2 = u_2 == 0 ? Sign(Q) : Sign(u_2);
  const bool ordered = u_1 != u_2 ? u_1 < u_2 : sign_1 <= sign_2;
  out.energy_low = ordered ? u_1 : u_2;
  out.energy_high = ordered ? u_2 : u_1;
  const double sign_low = ordered ? sign_1 : sign_2, sign_high = ordered ? sign_2 : sign_1,
               sign_M = Sign(out.most_loss);
  const double near =
      std::abs(out.energy_low) < std::abs(out.energy_high) ? out.energy_low : out.energy_high;
  const double far = near == out.energy_low ? out.energy_high : out.energy_low;
  const bool inside = out.singular > out.energy_low && out.singular < out.energy_high;
  if (printed) {
    out.direction = sign_M;
    out.used_stick = Sign(out.stick) == sign_M ? out.stick : kNever;
    if (sign_low == sign_high) {
      out.energy = sign_low == sign_M ? (inside ? near : far) : kNever;
    } else {
      out.energy = sign_low == sign_M ? out.energy_low : out.energy_high;
    }
  } else {
    // Only ratios with J_n > 0 are met on the way from 0, where nothing has been gained yet.
    const double d = out.direction = -Sign(steepest);
    const auto met = [&](double u, double sign) { return sign == d && c + u * b > 0 ? u : kNever; };
    out.used_stick = met(out.stick, Sign(out.stick));
    const double low = met(out.energy_low, sign_low), high = met(out.energy_high, sign_high);
    out.energy = std::abs(low) < std::abs(high) ? low : high;
  }
  // The thesis counts in mu = s u, s = -sgn(v_t): its order of the roots is ours reversed where s
  // < 0.
  const double s = v_t > 0 ? -1 : 1, low = s > 0 ? sign_low : -sign_high,
               high = s > 0 ? sign_high : -sign_low, M = s * sign_M;
  out.energy_case = low != high ? (M > 0 ? 6 : 5)
                    : low == M  ? (low > 0 ? (inside ? 1 : 2) : (inside ? 3 : 4))
                                : (M > 0 ? 7 : 8);
  return out;
}

Certificate Certify(const PlanarContact& p, const ImpulseModel& model,
                    const ImpulseOutcome& outcome) {
  Certificate certificate;
  const auto report = [&](const char* name, double value, double limit) {
    certificate.checks.push_back({name, value, limit, value <= limit});
  };
  const double sum = outcome.J_t + outcome.J_n + outcome.v_t + outcome.v_n + outcome.energy;
  if (!outcome.usable() || !(sum - sum == 0)) {
    report("status", 1, 0);
    return certificate;
  }
  constexpr double kLimit = 1e-8;
  const double v = std::hypot(p.v_t, p.v_n), J = std::hypot(outcome.J_t, outcome.J_n),
               J_unit = J > 0 ? J : 1, v_unit = v > 0 ? v : 1;
  report("momentum",
         std::hypot(p.v_t + p.A_tt * outcome.J_t + p.A_tn * outcome.J_n - outcome.v_t,
                    p.v_n + p.A_tn * outcome.J_t + p.A_nn * outcome.J_n - outcome.v_n) /
             v_unit,
         kLimit);
  report("separation", -outcome.v_n / v_unit, kLimit);
  report("unilateral", -outcome.J_n / J_unit, 1e-12);
  if (outcome.status == SolveStatus::kNoApproach) {
    report("law", J, 0);
  } else {
    report("cone", (std::abs(outcome.J_t) - model.mu_k * outcome.J_n) / J_unit, kLimit);
    report("restitution", std::abs(outcome.v_n + model.e * p.v_n) / v_unit, kLimit);
    const double u = outcome.J_t / outcome.J_n,
                 short_of_mu = (model.mu_k * outcome.J_n - std::abs(outcome.J_t)) / J_unit;
    const double before = p.Energy(p.v_t, p.v_n),
                 change = p.Energy(outcome.v_t, outcome.v_n) - before;
    double off = 0;
    switch (model.law) {
      case ImpulseLaw::kWhittaker: {
        // Sticks, or friction is full and against what slips beyond it.
        const double beyond = outcome.v_t + model.e_t * p.v_t;
        off = std::min(std::abs(beyond) / v_unit,
                       std::max(short_of_mu, Sign(beyond) * Sign(outcome.J_t)));
        break;
      }
      case ImpulseLaw::kSmith: {
        const bool slips = p.v_t != 0;
        off = slips
                  ? std::abs(u + model.mu_k * SmithShare(p.v_t, outcome.v_t)) * outcome.J_n / J_unit
                  : std::min(std::abs(outcome.v_t) / v_unit,
                             std::max(short_of_mu, Sign(outcome.v_t) * Sign(outcome.J_t)));
        break;
      }
      case ImpulseLaw::kBrach:
      case ImpulseLaw::kBrachPrinted:
        // Friction is full, or slip has stopped, or all energy is kept.
        off = std::min({short_of_mu, std::abs(outcome.v_t) / v_unit, std::abs(change) / before});
        break;
    }
    report("law", off, kLimit);
    report("work", std::abs(outcome.energy - change) / before, kLimit);
    report("energy", change / before, kLimit);
  }
  certificate.ok = std::all_of(certificate.checks.begin(), certificate.checks.end(),
                               [](const CertificateCheck& c) { return c.ok; });
  return certificate;
}

RouthDiagram MakeRouthDiagram(const PlanarContact& p, double e_p, double mu_k, double mu_s) {
  const ImpactOutcome outcome =
      Solve(InSpace(p), {{.e = e_p, .mu_k = mu_k, .mu_s = mu_s}, RestitutionLaw::kPoisson});
  if (!outcome.usable()) throw ConfigError("Routh's construction: " + outcome.reason);
  RouthDiagram out;
  double J_c = 0;
  for (int i = 0; i < outcome.path_size; ++i) {
    out.path.push_back(outcome.path[i]);
    if (outcome.path[i].event == PathEvent::kCompressionEnds) J_c = outcome.path[i].J_F.z();
  }
  // Lines reach from the ground to a little above the end of the path.
  const double top = outcome.J_F.z() > 0 ? 1.15 * outcome.J_F.z() : 1;
  const double s = p.v_t < 0 ? -1 : 1;
  const auto stick = [&](double J_n) { return -(p.v_t + p.A_tn * J_n) / p.A_tt; };
  out.lines.push_back({"stick", stick(0), 0, stick(top), top});
  // v_n = 0 is steep or flat in this plane by the sign of A_tn: drawn over the width of the
  // friction lines.
  const double wide = std::max({mu_k * top, std::abs(stick(0)), std::abs(stick(top)), 0.2 * top});
  const auto compression = [&](double J_t) { return -(p.v_n + p.A_tn * J_t) / p.A_nn; };
  out.lines.push_back({"compression", -wide, compression(-wide), wide, compression(wide)});
  out.lines.push_back({"friction", 0, 0, -s * mu_k * top, top});
  for (const PathPoint& point : out.path)
    if (point.event == PathEvent::kSlipStops) {
      const double rise = top - point.J_F.z();
      out.lines.push_back(
          {"reversed", point.J_F.x(), point.J_F.z(), point.J_F.x() + s * mu_k * rise, top});
    }
  out.lines.push_back({"termination", -wide, (1 + e_p) * J_c, wide, (1 + e_p) * J_c});
  return out;
}

}  // namespace impactlab
