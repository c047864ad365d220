#include "impact/law/law_table.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "impact/law/impulse_law.h"

namespace impactlab {
namespace {

void AddEnergy(const ContactState& contact, LawOutcome& out) {
  out.energy_change = out.J_F.dot(0.5 * (contact.v_minus_F + out.v_plus_F));
  const double energy = 0.5 * contact.v_minus_F.dot(contact.A_F.ldlt().solve(contact.v_minus_F));
  out.dissipated = energy > 0 ? -out.energy_change / energy : 0;
}

LawOutcome WithPath(RestitutionLaw law, const ContactState& contact, const Coefficients& c,
                    bool certify) {
  ImpactModel model{c, law};
  model.e_t = std::max(0.0, c.e_t);
  // Only the certificate needs the points between.
  const ImpactOutcome outcome = Solve(contact, model, {.dense_output = certify});
  LawOutcome out;
  out.status = outcome.status;
  out.reason = outcome.reason;
  if (!outcome.usable()) return out;
  out.J_F = outcome.J_F;
  out.v_plus_F = outcome.v_plus_F;
  out.course = outcome.status == SolveStatus::kOk ? outcome.path_case.Name() : std::string();
  out.turn = outcome.turn;
  if (certify) out.certificate = Certify(contact, model, outcome);
  return out;
}

LawOutcome WithoutPath(ImpulseLaw law, const ContactState& contact, const Coefficients& c,
                       bool certify) {
  LawOutcome out;
  const std::optional<PlanarContact> planar = PlanarPart(contact);
  if (!planar) {
    out.status = SolveStatus::kInvalid;
    out.reason = std::string("the contact moves out of its plane: ") + LawName(law) +
                 "'s law is planar only";
    return out;
  }
  ImpulseModel model{c, law};
  if (law != ImpulseLaw::kWhittaker) model.e_t = 0;
  const ImpulseOutcome outcome = ApplyImpulseLaw(*planar, model);
  out.status = outcome.status;
  out.reason = outcome.reason;
  if (!outcome.usable()) return out;
  out.J_F << outcome.J_t, 0, outcome.J_n;
  out.v_plus_F << outcome.v_t, 0, outcome.v_n;
  out.course = outcome.bound;
  if (certify) out.certificate = Certify(*planar, model, outcome);
  return out;
}

}  // namespace

const std::vector<std::string>& LawNames() {
  static const std::vector<std::string> names = {"energetic", "poisson",   "newton",
                                                 "brach",     "whittaker", "smith"};
  return names;
}

LawOutcome Predict(std::string_view law, const ContactState& contact,
                   const Coefficients& coefficients, bool certify) {
  std::optional<LawOutcome> out;
  for (const RestitutionLaw path :
       {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson, RestitutionLaw::kNewton})
    if (law == LawName(path)) out = WithPath(path, contact, coefficients, certify);
  for (const ImpulseLaw ratio :
       {ImpulseLaw::kBrach, ImpulseLaw::kWhittaker, ImpulseLaw::kSmith, ImpulseLaw::kBrachPrinted})
    if (law == LawName(ratio)) out = WithoutPath(ratio, contact, coefficients, certify);
  if (!out) throw std::invalid_argument("no law is called " + std::string(law));
  out->law = law;
  if (out->usable()) AddEnergy(contact, *out);
  return *out;
}

std::vector<LawOutcome> PredictAll(const ContactState& contact, const Coefficients& coefficients) {
  std::vector<LawOutcome> out;
  for (const std::string& law : LawNames()) out.push_back(Predict(law, contact, coefficients));
  return out;
}

}  // namespace impactlab
