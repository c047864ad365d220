#include "impact/law/energetic_map.h"

#include <cmath>
#include <limits>

namespace impactlab {
namespace {

// One state. Inlined into the loop over many.
inline EnergeticMapResult Map(const PlanarContact& contact, double e, double mu_k, double mu_s) {
  const double a = contact.A_tt, b = contact.A_tn, c = contact.A_nn, v_t = contact.v_t,
               v_n = contact.v_n;
  const bool right = v_t > 0, rest = v_t == 0;
  const double s = right ? 1 : -1;
  const bool holds = std::abs(b) <= mu_s * a;
  const double away = b > 0 ? 1 : -1;  // the direction that leaves v_t = 0
  // Rates while slipping, and once slip has stopped.
  const double k_t = b - s * mu_k * a, k_n = c - s * mu_k * b;
  const double after_t = holds ? 0 : b - away * mu_k * a,
               after_n = holds ? c - b * b / a : c - away * mu_k * b;

  if (!(v_n < 0) && !(v_n == 0 && !rest && k_n < 0)) return {0, v_t, v_n};
  if (rest) {
    // At rest the path starts where the others' slip has stopped; left counts as the even regions.
    const double J_n = -(1 + e) * v_n / after_n;
    return {holds ? 6 : away > 0 ? 10 : 2, after_t * J_n, -e * v_n};
  }
  const bool slows = s * k_t < 0;
  const double tau = slows ? -v_t / k_t : std::numeric_limits<double>::infinity();
  // Slip that stops just where compression ends belongs to compression; just at the law's end it
  // changes nothing.
  if (!slows || !(tau * k_n <= -v_n || tau * k_n < -(1 + e) * v_n)) {
    const double J_n = -(1 + e) * v_n / k_n;
    return {right ? 1 : 2, v_t + k_t * J_n, -e * v_n};
  }
  const double w = v_n + k_n * tau;
  // Map II: work is left for restitution to give back; map III: restitution gives back e^2 of all
  // compression.
  const bool restitution = w > 0;
  const double rise = e * v_n;
  const double square = restitution ? w * w + after_n * ((rise - w) * (rise + w)) / k_n
                                    : e * e * (w * w - after_n * tau * (2 * v_n + k_n * tau));
  const double v_n_plus = std::sqrt(square > 0 ? square : 0);
  const int region = restitution ? (holds ? 3 : 7) : (holds ? 5 : 9);
  return {region + (right ? 0 : 1), after_t / after_n * (v_n_plus - w), v_n_plus};
}

}  // namespace

int EnergeticMapResult::Digit(bool from_rest) const {
  if (from_rest) return region == 6 ? 5 : 6;
  switch ((region + 1) / 2) {
    case 2:
      return 3;
    case 3:
      return 1;
    case 4:
      return 4;
    case 5:
      return 2;
    default:
      return 0;
  }
}

EnergeticMapResult EnergeticMap(const PlanarContact& contact, double e, double mu_k, double mu_s) {
  return Map(contact, e, mu_k, mu_s);
}

void EnergeticMap(std::span<const PlanarContact> contacts, double e, double mu_k, double mu_s,
                  std::span<EnergeticMapResult> out) {
  for (std::size_t i = 0; i < contacts.size(); ++i) out[i] = Map(contacts[i], e, mu_k, mu_s);
}

CriticalFriction FindCriticalFriction(const PlanarContact& contact, double e) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double s = contact.v_t < 0 ? -1 : 1, b = s * contact.A_tn, speed = std::abs(contact.v_t),
               approach = -contact.v_n;
  // v_t = 0 where slip has used up (1 + part) of the compression's impulse: linear in mu.
  const auto stops = [&](double part) {
    const double by = (1 + part) * approach * contact.A_tt + speed * b;
    return by > 0 ? (speed * contact.A_nn + (1 + part) * approach * b) / by : kNever;
  };
  CriticalFriction out;
  out.slide = stops(e);
  out.slide_compression = stops(0);
  out.hold = std::abs(contact.A_tn) / contact.A_tt;
  out.press = b > 0 ? contact.A_nn / b : kNever;
  out.reverse_printed = -out.slide;
  return out;
}

}  // namespace impactlab
