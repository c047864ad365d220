// A million random planar and a hundred thousand random spatial contacts: every outcome finite,
// certified, of closed momentum and without gained energy; the same physics in a turned and in a
// mirrored frame.

#include <gtest/gtest.h>

#include <cmath>

#include "impact/law/certify.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

// Momentum and energy, relative to the largest terms that are added up.
void ExpectPhysical(const ContactState& contact, const ImpactModel& model,
                    const ImpactOutcome& outcome, double& momentum, double& gain) {
  ASSERT_TRUE(outcome.v_plus_F.allFinite() && outcome.J_F.allFinite());
  const Eigen::Vector3d change = contact.A_F * outcome.J_F;
  const double scale =
      contact.v_minus_F.norm() + contact.A_F.cwiseAbs().maxCoeff() * outcome.J_F.norm();
  momentum = std::max(momentum, (contact.v_minus_F + change - outcome.v_plus_F).norm() / scale);
  // Poisson's law gains none either: what it gives back beyond the work of compression, friction
  // takes.
  if (model.law == RestitutionLaw::kNewton) return;
  // Work of the impulse against the work it can do at most.
  const double work = outcome.J_F.dot(contact.v_minus_F + 0.5 * change);
  gain = std::max(gain, work / (std::abs(outcome.work_n_c) + std::abs(outcome.work_n_r) +
                                std::abs(outcome.work_t) + 1e-300));
}

void ExpectCertified(const ContactState& contact, const ImpactModel& model,
                     const ImpactOutcome& outcome, int i) {
  for (const CertificateCheck& check : Certify(contact, model, outcome).checks) {
    if (check.name == "energy" && model.law != RestitutionLaw::kEnergetic) continue;
    ASSERT_TRUE(check.ok) << i << " " << check.name << " " << check.value << " > " << check.limit;
  }
}

TEST(SolveRandomSlow, MillionPlanarContacts) {
  std::mt19937_64 rng(20240641);
  double momentum = 0, gain = 0;
  int impacts = 0, digits[7] = {};
  for (int i = 0; i < 1000000; ++i) {
    const ContactState contact = RandomPlanar(rng, 100);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status == SolveStatus::kNoApproach) continue;
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << i << " " << outcome.reason;
    ExpectPhysical(contact, model, outcome, momentum, gain);
    ExpectCertified(contact, model, outcome, i);
    ContactState mirrored = contact;
    mirrored.v_minus_F.x() *= -1;
    mirrored.A_F(0, 2) = mirrored.A_F(2, 0) = -contact.A_F(0, 2);
    const ImpactOutcome other = Solve(mirrored, model);
    ASSERT_EQ(other.path_case.digit, outcome.path_case.digit);
    ASSERT_EQ(other.v_plus_F.z(), outcome.v_plus_F.z());
    if (HasFatalFailure()) return;
    ++impacts;
    ++digits[outcome.path_case.digit];
  }
  EXPECT_LT(momentum, 1e-12);
  EXPECT_LT(gain, 1e-12);
  EXPECT_GT(impacts, 900000);
  for (const int n : digits) EXPECT_GT(n, 2000);
  std::printf("planar: momentum %.2g, energy gained at most %.2g\n", momentum, gain);
}

TEST(SolveRandomSlow, HundredThousandSpatialContacts) {
  std::mt19937_64 rng(20240642);
  double momentum = 0, gain = 0, turned_worst = 0;
  int impacts = 0, digits[7] = {}, near = 0;
  for (int i = 0; i < 100000; ++i) {
    const ContactState contact = RandomSpatial(rng, 30);
    const ImpactModel model = RandomModel(rng);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status == SolveStatus::kNoApproach) continue;
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << i << " " << outcome.reason;
    ExpectPhysical(contact, model, outcome, momentum, gain);
    ExpectCertified(contact, model, outcome, i);
    // Every other problem turned about n, the rest mirrored in F_y.
    Eigen::Matrix3d Q =
        Eigen::AngleAxisd(Uniform(rng, -M_PI, M_PI), Eigen::Vector3d::UnitZ()).toRotationMatrix();
    if (i % 2 == 1) Q = Eigen::Vector3d(1, -1, 1).asDiagonal();
    ContactState turned = contact;
    turned.v_minus_F = Q * contact.v_minus_F;
    turned.A_F = Q * contact.A_F * Q.transpose();
    turned.A_F = (0.5 * (turned.A_F + turned.A_F.transpose())).eval();
    const ImpactOutcome other = Solve(turned, model, {.dense_output = false});
    ASSERT_EQ(other.status, SolveStatus::kOk);
    const double error = (Q * outcome.v_plus_F - other.v_plus_F).norm() / contact.v_minus_F.norm();
    // Where a threshold lies within rounding the case is rounding's: counted, and the velocities
    // must not tell.
    if (other.path_case.digit != outcome.path_case.digit) ++near;
    turned_worst = std::max(turned_worst, error);
    if (HasFatalFailure()) return;
    ++impacts;
    ++digits[outcome.path_case.digit];
  }
  EXPECT_LT(momentum, 1e-12);
  EXPECT_LT(gain, 1e-12);
  EXPECT_LT(turned_worst, 1e-8);
  EXPECT_LE(near, 3);
  EXPECT_GT(impacts, 90000);
  for (const int n : digits) EXPECT_GT(n, 50);
  std::printf(
      "spatial: momentum %.2g, energy gained at most %.2g, turned or mirrored within %.2g, case "
      "differs in %d\n",
      momentum, gain, turned_worst, near);
}

}  // namespace
}  // namespace impactlab
