#include "impact/law/law_table.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <optional>
#include <stdexcept>

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
  if (!InfoOf(law).tangential) model.e_t = 0;
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

const std::vector<PredictionLaw>& PredictionLaws() {
  static const std::vector<PredictionLaw> laws = [] {
    std::vector<PredictionLaw> out;
    for (const RestitutionLaw law : RestitutionLawsReferenceFirst())
      out.push_back({.word = LawName(law), .rule = InfoOf(law).rule, .path = law, .e = law});
    for (const ImpulseLawInfo& row : kImpulseLaws)
      out.push_back({.word = row.word,
                     .rule = row.rule,
                     .impulse = row.law,
                     .e = kImpulseRestitution,
                     .spatial = false,
                     .static_friction = false,
                     .signed_e_t = row.tangential,
                     .listed = row.listed});
    return out;
  }();
  return laws;
}

const std::vector<std::string>& LawNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const PredictionLaw& law : PredictionLaws())
      if (law.listed) out.push_back(law.word);
    return out;
  }();
  return names;
}

std::vector<std::string> SpatialLawNames() {
  std::vector<std::string> names;
  for (const PredictionLaw& law : PredictionLaws())
    if (law.spatial) names.push_back(law.word);
  return names;
}

std::vector<std::string> AllLawNames() {
  std::vector<std::string> names;
  for (const PredictionLaw& law : PredictionLaws()) names.push_back(law.word);
  return names;
}

std::string RestitutionInWords() {
  std::string out;
  for (const RestitutionLaw law : RestitutionLawsReferenceFirst()) {
    if (law == kImpulseRestitution) continue;
    const RestitutionLawInfo& row = InfoOf(law);
    out += std::string(row.symbol) + " of " + row.owner + (out.empty() ? " law, " : ", ");
  }
  return out + InfoOf(kImpulseRestitution).symbol + " of the others";
}

LawOutcome Predict(std::string_view law, const ContactState& contact,
                   const Coefficients& coefficients, bool certify) {
  const std::vector<PredictionLaw>& laws = PredictionLaws();
  const auto row = std::find_if(laws.begin(), laws.end(),
                                [&](const PredictionLaw& known) { return law == known.word; });
  if (row == laws.end()) throw std::invalid_argument("no law is called " + std::string(law));
  LawOutcome out = row->path ? WithPath(*row->path, contact, coefficients, certify)
                             : WithoutPath(*row->impulse, contact, coefficients, certify);
  out.law = law;
  if (out.usable()) AddEnergy(contact, out);
  return out;
}

std::vector<LawOutcome> PredictAll(const ContactState& contact, const Coefficients& coefficients) {
  std::vector<LawOutcome> out;
  for (const std::string& law : LawNames()) out.push_back(Predict(law, contact, coefficients));
  return out;
}

}  // namespace impactlab
