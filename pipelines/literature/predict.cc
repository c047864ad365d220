#include "pipelines/literature/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace impactlab {
namespace {

using Eigen::Vector3d;

constexpr int kDraws = 400;

struct Inputs {
  MotionVector minus;
  Vector3d r_B;
  double e, mu_k, mu_s;
};

struct SpatialPrediction {
  bool usable = false;
  MotionVector plus;
  ImpactCase path_case;
  double loss = 0;
};

double Energy(const Body& body, const Eigen::Matrix3d& R_WB, const MotionVector& u) {
  return KineticEnergy(body, R_WB, u.head<3>(), u.tail<3>());
}

SpatialPrediction PredictSpatial(const Body& body, const Placement& placement, double slope,
                                 const Inputs& in, RestitutionLaw law) {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  X_WB.linear() = placement.R_WB;
  const Plane plane{SlopeNormal(slope, placement.downhill), 0};
  const Eigen::Isometry3d X_WF = ContactFrame(plane, X_WB * in.r_B, -Vector3d::UnitZ(), false);
  const ContactState contact =
      MakeContactState(body, X_WB, in.minus.head<3>(), in.minus.tail<3>(), X_WF);
  SolveOptions options;
  options.dense_output = false;
  const ImpactOutcome outcome =
      Solve(contact, {{in.e, in.mu_k, std::max(in.mu_k, in.mu_s)}, law}, options);
  SpatialPrediction said;
  if (outcome.status != SolveStatus::kOk) return said;
  const VelocityChange change = ApplyImpulse(body, X_WB, X_WF, outcome.J_F);
  said.usable = true;
  said.plus = in.minus + (MotionVector() << change.dv_W, change.domega_W).finished();
  said.path_case = outcome.path_case;
  said.loss = 1 - Energy(body, placement.R_WB, said.plus) / Energy(body, placement.R_WB, in.minus);
  return said;
}

}  // namespace

double EnergyNormError(const Body& body, const Eigen::Matrix3d& R_WB, const MotionVector& a,
                       const MotionVector& b) {
  return std::sqrt(Energy(body, R_WB, a - b) / Energy(body, R_WB, b));
}

std::vector<RowPrediction> PredictRow(const Body& body, const PrintedRow& row,
                                      const Placement& placement) {
  std::vector<RowPrediction> out;
  if (!row.e.there() || !row.mu_k.there()) return out;
  const Printed& mu_s = row.mu_s.there() ? row.mu_s : row.mu_k;
  const Inputs nominal = {row.minus.value, placement.r_B, row.e.value, row.mu_k.value, mu_s.value};
  for (const RestitutionLaw law : RestitutionLawsReferenceFirst()) {
    const SpatialPrediction said = PredictSpatial(body, placement, row.slope, nominal, law);
    if (!said.usable) continue;
    RowPrediction p;
    p.law = law;
    p.plus = said.plus;
    p.path_case = said.path_case.Name();
    p.loss = said.loss;
    p.error = EnergyNormError(body, placement.R_WB, p.plus, row.plus.value);
    // the same draws for every law and row, so that their differences are not noise
    std::mt19937_64 rng(4);
    std::uniform_real_distribution<double> unit(-1, 1);
    MotionVector square = MotionVector::Zero();
    double square_loss = 0;
    int n = 0, same = 0;
    std::map<int, int> digits;
    for (int k = 0; k < kDraws; ++k) {
      Inputs in = nominal;
      for (int i = 0; i < 6; ++i) in.minus[i] += row.minus.half[i] * unit(rng);
      for (int i = 0; i < 3; ++i) in.r_B[i] += placement.half_r_B[i] * unit(rng);
      in.e = std::clamp(in.e + row.e.half * unit(rng), 0.0, 1.0);
      const double shared = unit(rng), apart = unit(rng);
      in.mu_k = std::max(0.0, in.mu_k + row.mu_k.half * shared);
      in.mu_s = std::max(in.mu_k, in.mu_s + mu_s.half * (row.mu_s.there() ? apart : shared));
      const SpatialPrediction drawn = PredictSpatial(body, placement, row.slope, in, law);
      if (!drawn.usable) continue;
      ++n;
      same += drawn.path_case.Name() == p.path_case;
      ++digits[drawn.path_case.digit];
      square += (drawn.plus - p.plus).cwiseAbs2();
      square_loss += (drawn.loss - p.loss) * (drawn.loss - p.loss);
    }
    if (n > 0) {
      p.sd = (square / n).cwiseSqrt();
      p.sd_loss = std::sqrt(square_loss / n);
      p.case_share = static_cast<double>(same) / n;
    }
    for (const auto& [digit, count] : digits) p.digits.push_back(digit);
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace impactlab
