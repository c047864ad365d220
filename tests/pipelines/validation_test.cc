#include "pipelines/validation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "impact/solve.h"

namespace impactlab {
namespace {

const Eigen::Vector3d kGravity(0, 0, -9.80665);

// Drops of a square whose plus state follows the energetic law exactly, but for `kick` added to v_z of every plus state.
std::vector<ImpactEvent> Events(const Body& body, const ImpactModel& model, int n, double kick, double sd) {
  std::vector<ImpactEvent> events;
  for (int k = 0; k < n; ++k) {
    ImpactEvent event;
    event.recording = "drop_" + std::to_string(k);
    event.planar = true;
    event.accepted = true;
    event.X_WB = PlanarPose(0, 0.04, 0.15 + 1.2 * k / n);
    event.v_minus = Eigen::Vector3d(-1 + 2.0 * ((7 * k) % n) / n, 0, -1.5);
    event.omega_minus = Eigen::Vector3d(0, -4 + 8.0 * ((3 * k) % n) / n, 0);
    event.p_WP = ContactWithPlane(body, event.X_WB, Plane{}).p_WP;
    UpdateContact(event, body, Plane{{0, 0, 1}, event.p_WP.z()}, kGravity);
    const ImpactOutcome outcome = Solve(event.contact, model);
    const VelocityChange change = ApplyImpulse(body, event.X_WB, event.contact.X_WF, outcome.J_F);
    event.v_plus = event.v_minus + change.dv_W + Eigen::Vector3d(0, 0, kick);
    event.omega_plus = event.omega_minus + change.domega_W;
    for (int i : {kVMinus, kVMinus + 2, kOmegaMinus + 1, kVPlus, kVPlus + 2, kOmegaPlus + 1}) event.cov(i, i) = sd * sd;
    UpdateContact(event, body, Plane{{0, 0, 1}, event.p_WP.z()}, kGravity);
    events.push_back(event);
  }
  return events;
}

FitResult KnownFit(double mu, double e) {
  FitResult fit;
  LawFit law;
  law.law = "energetic";
  law.parameters = {{.name = "mu_k", .value = mu, .sd = 1e-6, .lower95 = mu, .upper95 = mu, .identifiable = true},
                    {.name = "e_star", .value = e, .sd = 1e-6, .lower95 = e, .upper95 = e, .identifiable = true}};
  law.covariance = law.covariance_noise_only = Eigen::Matrix2d::Identity() * 1e-12;
  fit.fits = {law};
  return fit;
}

ValidationOptions InSample() {
  ValidationOptions options;
  options.folds = 0;
  return options;
}

TEST(Validation, ExactEventsAreAdequateWithoutError) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.2, true);
  const auto events = Events(body, {.e = 0.5, .mu_k = 0.1, .mu_s = 0.1}, 12, 0, 1e-4);
  const ValidationTable table = Validate(events, body, KnownFit(0.1, 0.5), {}, InSample());
  EXPECT_EQ(table.errors.size(), 12u);
  for (const PredictionError& error : table.errors) EXPECT_LT(error.by_plus, 1e-9);
  for (const ValidationRow& row : table.rows) {
    EXPECT_NEAR(row.difference, 0, 1e-9) << row.quantity;
    EXPECT_EQ(row.verdict, "adequate") << row.quantity;
    EXPECT_TRUE(row.in_sample);
  }
}

TEST(Validation, ErrorNormsByHand) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.2, true);
  const double kick = 0.3;
  const auto events = Events(body, {.e = 0.5, .mu_k = 0.1, .mu_s = 0.1}, 6, kick, 1e-4);
  const ValidationTable table = Validate(events, body, KnownFit(0.1, 0.5), {}, InSample());
  ASSERT_EQ(table.errors.size(), events.size());
  const double inertia = 0.2 * 0.06 * 0.06 / 6;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const ImpactEvent& event = events[i];
    const auto energy = [&](const Eigen::Vector3d& v, const Eigen::Vector3d& w) {
      return 0.2 * v.squaredNorm() + inertia * w.squaredNorm();
    };
    const double error = 0.2 * kick * kick;
    EXPECT_NEAR(table.errors[i].by_plus, std::sqrt(error / energy(event.v_plus, event.omega_plus)), 1e-9);
    EXPECT_NEAR(table.errors[i].by_minus, std::sqrt(error / energy(event.v_minus, event.omega_minus)), 1e-9);
    EXPECT_NEAR(table.errors[i].by_change, std::sqrt(error / energy(event.v_plus - event.v_minus, event.omega_plus - event.omega_minus)),
                1e-9);
  }
}

TEST(Validation, VerdictsFollowTheToleranceAndTheNoise) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.2, true);
  const auto verdict = [&](double kick, double sd) {
    const auto events = Events(body, {.e = 0.5, .mu_k = 0.1, .mu_s = 0.1}, 4, kick, sd);
    for (const ValidationRow& row : Validate(events, body, KnownFit(0.1, 0.5), {}, InSample()).rows) {
      if (row.quantity == "v_plus_z") {
        EXPECT_NEAR(row.difference, -kick, 1e-9);  // predicted minus measured
        return row.verdict;
      }
    }
    return std::string();
  };
  EXPECT_EQ(verdict(0.02, 1e-4), "adequate");  // 0.1 m/s is the tolerance
  EXPECT_EQ(verdict(0.3, 1e-4), "discrepant");
  EXPECT_EQ(verdict(0.3, 0.5), "unresolved");  // a noisy experiment never passes
  EXPECT_EQ(verdict(0.0, 0.5), "unresolved");
}

TEST(Validation, MassDoesNotMatter) {
  const ImpactModel model{.e = 0.4, .mu_k = 0.15, .mu_s = 0.15};
  const Body light = MakeBox({0.06, 0.06, 0.06}, 0.2, true), heavy = MakeBox({0.06, 0.06, 0.06}, 20, true);
  const auto a = Validate(Events(light, model, 8, 0.1, 1e-3), light, KnownFit(0.15, 0.4), {}, InSample());
  const auto b = Validate(Events(heavy, model, 8, 0.1, 1e-3), heavy, KnownFit(0.15, 0.4), {}, InSample());
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_NEAR(a.rows[i].predicted, b.rows[i].predicted, 1e-9);
    EXPECT_NEAR(a.rows[i].sd_difference, b.rows[i].sd_difference, 1e-9);
  }
}

TEST(Validation, FoldsLeaveTheirRecordingsOut) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.2, true);
  const auto events = Events(body, {.e = 0.5, .mu_k = 0.1, .mu_s = 0.1}, 20, 0, 1e-3);
  ValidationOptions options;
  options.folds = 4;
  const ValidationTable table = Validate(events, body, KnownFit(0.1, 0.5), {}, options);
  std::vector<int> seen(4, 0);
  for (const PredictionError& error : table.errors) {
    if (error.fold >= 0) ++seen[error.fold];
  }
  EXPECT_EQ(seen, std::vector<int>(4, 5));
  EXPECT_EQ(table.errors.size(), 40u);
}

}  // namespace
}  // namespace impactlab
