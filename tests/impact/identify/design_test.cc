#include "impact/identify/design.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;

PlannedImpact Plan(const Body& body, const Eigen::Isometry3d& X_WB, const Eigen::Vector3d& v,
                   const Eigen::Vector3d& omega, double sd_v) {
  PlannedImpact planned;
  ImpactEvent& event = planned.event;
  event.planar = body.planar;
  event.accepted = true;
  event.X_WB = X_WB;
  const PlaneContact touch = ContactWithPlane(body, X_WB, {});
  event.X_WB.translation().z() -= touch.gap;
  event.p_WP = touch.p_WP - Eigen::Vector3d(0, 0, touch.gap);
  event.v_minus = event.v_plus = v;
  event.omega_minus = event.omega_plus = omega;
  event.cov.setZero();
  for (const int at : {kVMinus, kVPlus})
    for (const int axis : {0, 2}) event.cov(at + axis, at + axis) = sd_v * sd_v;
  UpdateContact(event, body, planned.floor, planned.gravity_W);
  planned.common.resize(kEventDim, 0);
  return planned;
}

// A disc that slides throughout: J / p = (-mu (1 + e), 1 + e), whatever its inertia.
PlannedImpact SlidingDisc(const Body& disc, double sd_v = 0) {
  return Plan(disc, PlanarPose(0, 0, 0), {4, 0, -1}, Eigen::Vector3d::Zero(), sd_v);
}

const ImpactModel kModel{{0.5, 0.2, 0.2}, RestitutionLaw::kEnergetic};

Matrix2d DiscInformation(double st, double sn) {
  Eigen::Matrix2d G;
  G << -(1 + kModel.e), -kModel.mu_k, 0, 1;
  return G.transpose() * Vector2d(1 / (st * st), 1 / (sn * sn)).asDiagonal() * G;
}

TEST(Design, InformationOfASlidingDisc) {
  const Body disc = MakeDisc(0.03, 0.2);
  const ImpactScatter scatter{.wrench = {0.03, 0.05, 0.02}};
  PlannedSetting setting{SlidingDisc(disc), SlidingDisc(disc)};
  SettingInformation told = InformationOf(setting, disc, kModel, scatter);
  EXPECT_LT((told.total - DiscInformation(0.03, 0.05)).norm(), 1e-6 * told.total.norm());
  EXPECT_DOUBLE_EQ(told.usable, 1);
  EXPECT_DOUBLE_EQ(told.cases[0], 1);
  setting[1].event.accepted = false;
  told = InformationOf(setting, disc, kModel, scatter);
  EXPECT_LT((told.total - 0.5 * DiscInformation(0.03, 0.05)).norm(), 1e-6 * told.total.norm());
  EXPECT_DOUBLE_EQ(told.usable, 0.5);
  // Coefficients that scatter themselves bound what any impact says of them.
  setting.pop_back();
  const ImpactScatter of_mu{.wrench = {1e-6, 1e-6, 0}, .sd_mu = 0.02, .sd_e = 0.04};
  told = InformationOf(setting, disc, kModel, of_mu);
  EXPECT_NEAR(told.total.inverse()(0, 0), 0.02 * 0.02, 1e-8);
  EXPECT_NEAR(told.total.inverse()(1, 1), 0.04 * 0.04, 1e-8);
}

// Noise of both velocities, which the couple does not help to lower for a disc that it does not
// touch.
TEST(Design, NoiseAndScatterShareTheInformation) {
  const Body disc = MakeDisc(0.03, 0.2);
  const double sd_v = 0.004;
  const PlannedSetting setting{SlidingDisc(disc, sd_v)};
  const ImpactScatter scatter{.wrench = {0.03, 0.05, 10}};
  const SettingInformation told = InformationOf(setting, disc, kModel, scatter);
  // z_n = -m (v_n+ - v_n-) / p with p = m |v_n-| held, less (1 + e): the approach enters with e,
  // the rebound with 1.
  const double var_n = sd_v * sd_v * (1 + kModel.e * kModel.e);
  EXPECT_NEAR(1 / told.scatter_only.inverse()(1, 1), 1 / (0.05 * 0.05), 1);
  EXPECT_NEAR(told.total.inverse()(1, 1), 0.05 * 0.05 + var_n, 1e-3 * var_n + 1e-9);
  EXPECT_GT(told.noise_only(1, 1), told.total(1, 1));
}

TEST(Design, SharesOfTheClosedForms) {
  // One setting tells mu alone, the other e alone.
  std::vector<std::vector<SettingInformation>> told(2, std::vector<SettingInformation>(1));
  told[0][0].total = Vector2d(4e6, 0).asDiagonal();
  told[1][0].total = Vector2d(0, 1e6).asDiagonal();
  const std::vector<double> d = AllocateShares(told, DesignCriterion::kD, {1, 1}, 100);
  EXPECT_NEAR(d[0], 0.5, 1e-3);
  // Least a / w + b / (1 - w): w = sqrt(a) / (sqrt(a) + sqrt(b)), a = 1 / (4e6 * 0.01^2), b = 1 /
  // (1e6 * 0.02^2).
  const std::vector<double> a = AllocateShares(told, DesignCriterion::kA, {0.01, 0.02}, 100);
  const double root_a = std::sqrt(1 / (4e6 * 1e-4)), root_b = std::sqrt(1 / (1e6 * 4e-4));
  EXPECT_NEAR(a[0], root_a / (root_a + root_b), 1e-3);
  EXPECT_NEAR(a[0] + a[1], 1, 1e-12);
}

// The criterion's mean over the prior, to be small.
double CriterionOf(const std::vector<std::vector<SettingInformation>>& information,
                   const std::vector<double>& weights, DesignCriterion criterion,
                   const Vector2d& wanted, int drops) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::size_t n_prior = information.front().size();
  const Matrix2d K = wanted.cwiseAbs2().cwiseInverse().asDiagonal();
  double value = 0;
  for (std::size_t j = 0; j < n_prior; ++j) {
    Matrix2d M = kVagueInformation / drops * Matrix2d::Identity();
    for (std::size_t c = 0; c < information.size(); ++c)
      M += weights[c] / sum * information[c][j].total;
    value +=
        criterion == DesignCriterion::kD ? -std::log(M.determinant()) : (K * M.inverse()).trace();
  }
  return value / static_cast<double>(n_prior);
}

TEST(Design, NoOtherSharesAreBetter) {
  std::mt19937_64 random(3);
  std::vector<std::vector<SettingInformation>> told(3);
  for (auto& setting : told)
    for (int j = 0; j < 4; ++j) {
      Matrix2d root;
      for (double& x : root.reshaped()) x = 100 * twin::Normal(random);
      setting.push_back({.total = root * root.transpose()});
    }
  for (const DesignCriterion criterion : {DesignCriterion::kD, DesignCriterion::kA}) {
    const Vector2d wanted(0.01, 0.03);
    const std::vector<double> best = AllocateShares(told, criterion, wanted, 200);
    const double least = CriterionOf(told, best, criterion, wanted, 200);
    double found = 1e300;
    for (int i = 0; i <= 100; ++i)
      for (int k = 0; k <= 100 - i; ++k) {
        const std::vector<double> w{i / 100.0, k / 100.0, (100 - i - k) / 100.0};
        found = std::min(found, CriterionOf(told, w, criterion, wanted, 200));
      }
    EXPECT_LT(least, found + 2e-3 * std::abs(found));
  }
  std::vector<std::vector<SettingInformation>> nothing(2, std::vector<SettingInformation>(1));
  EXPECT_THROW(AllocateShares(nothing, DesignCriterion::kD, {1, 1}, 10), ConfigError);
}

TEST(Design, WholeDropsStandForShares) {
  const std::vector<double> shares{0.5, 0.3, 0, 0.15, 0.05};
  for (const int n : {4, 5, 7, 20, 101}) {
    const std::vector<int> counts = RoundShares(shares, n);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), n);
    EXPECT_EQ(counts[2], 0);
    for (std::size_t c = 0; c < shares.size(); ++c)
      EXPECT_LT(std::abs(counts[c] - n * shares[c]), 1.5) << n << " " << c;
  }
  // Fewer drops than settings: the largest shares have them.
  const std::vector<int> two = RoundShares(shares, 2);
  EXPECT_EQ(two, (std::vector<int>{1, 1, 0, 0, 0}));
}

TEST(Design, DrawnImpulsesScatterAsStated) {
  const Body disc = MakeDisc(0.03, 0.2);
  const std::vector<PlannedSetting> settings{{SlidingDisc(disc, 1e-3)}};
  const ImpactScatter scatter{.wrench = {0.03, 0.05, 0.02}};
  std::mt19937_64 random(9);
  constexpr int kDrops = 4000;
  const std::vector<ImpactEvent> events =
      DrawCampaign(settings, std::vector<int>{kDrops}, disc, kModel, scatter, random);
  ASSERT_EQ(events.size(), static_cast<std::size_t>(kDrops));
  EXPECT_NE(events[0].recording, events[1].recording);
  std::vector<double> t, n;
  for (const ImpactEvent& event : events) {
    const Eigen::Vector3d J = MeasuredImpulse(event, disc) / disc.mass;  // p = m v_n-, v_n- = 1
    t.push_back(J.x());
    n.push_back(J.z());
  }
  const double sd_t = std::sqrt(0.03 * 0.03 + 2e-6), sd_n = std::sqrt(0.05 * 0.05 + 2e-6);
  EXPECT_NEAR(Mean(t), -kModel.mu_k * (1 + kModel.e), 4 * sd_t / std::sqrt(kDrops));
  EXPECT_NEAR(Mean(n), 1 + kModel.e, 4 * sd_n / std::sqrt(kDrops));
  EXPECT_NEAR(StandardDeviation(t), sd_t, 4 * sd_t / std::sqrt(2.0 * kDrops));
  EXPECT_NEAR(StandardDeviation(n), sd_n, 4 * sd_n / std::sqrt(2.0 * kDrops));
}

// What all impacts share pulls the coefficients as far as an identification of pulled events moves.
TEST(Design, CommonErrorsPullAsIdentificationMoves) {
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const Body body = planar ? twin::Square() : MakeBox({0.10, 0.07, 0.05}, 0.3);
    twin::Options options;
    options.sd_v = 1e-3;
    std::mt19937_64 random(17);
    std::vector<PlannedSetting> settings;
    std::vector<ImpactEvent> exact, pulled;
    const ImpactModel model{{0.5, 0.2, 0.2}, RestitutionLaw::kEnergetic};
    for (int i = 0; i < 12; ++i) {
      PlannedImpact planned;
      planned.event = twin::RandomEvent(body, options, random, i);
      planned.common = Eigen::Matrix<double, kEventDim, 1>::Zero();
      planned.common(kVPlus) = 2e-4;
      planned.common(kVMinus + 2) = planned.common(kVPlus + 2) = 1e-4;
      ImpactEvent event = planned.event;
      const ImpactOutcome outcome = Solve(event.contact, model);
      const VelocityChange change = ApplyImpulse(body, event.X_WB, event.contact.X_WF, outcome.J_F);
      event.v_plus = event.v_minus + change.dv_W;
      event.omega_plus = event.omega_minus + change.domega_W;
      exact.push_back(event);
      event.v_minus += planned.common.col(0).segment<3>(kVMinus);
      event.v_plus += planned.common.col(0).segment<3>(kVPlus);
      UpdateContact(event, body, planned.floor, planned.gravity_W);
      pulled.push_back(event);
      settings.push_back({planned});
    }
    const ImpactScatter none{.wrench = {0, 0, 0}};
    const Matrix2d common =
        CommonCovariance(settings, std::vector<int>(12, 1), body, model, none, 0);
    IdentifyOptions identify;
    identify.fit_discrepancy = identify.intervals = identify.influence = false;
    identify.likelihood = Likelihood::kGaussian;
    const LawFit before = Identify(exact, body, model, identify),
                 after = Identify(pulled, body, model, identify);
    for (std::size_t k = 0; k < 2; ++k) {
      const double moved =
          ListParameters(after)[k].get().value - ListParameters(before)[k].get().value;
      const auto at = static_cast<Eigen::Index>(k);
      EXPECT_NEAR(std::sqrt(common(at, at)), std::abs(moved), 0.06 * std::abs(moved)) << k;
    }
    // Moments of the body known to 2 % widen it.
    EXPECT_GT(CommonCovariance(settings, std::vector<int>(12, 1), body, model, none, 0.02).trace(),
              common.trace());
  }
}

TEST(Design, PriorsDrawWhatTheySay) {
  std::mt19937_64 random(21);
  const CoefficientPrior fixed{CoefficientPrior::Kind::kFixed, 0.3},
      uniform{CoefficientPrior::Kind::kUniform, 0.2, 0.4},
      normal{CoefficientPrior::Kind::kNormal, 0.5, 0.05};
  std::vector<double> u, n;
  for (int i = 0; i < 4000; ++i) {
    EXPECT_DOUBLE_EQ(fixed.Draw(1, random), 0.3);
    u.push_back(uniform.Draw(1, random));
    n.push_back(normal.Draw(1, random));
  }
  EXPECT_NEAR(Mean(u), 0.3, 0.004);
  EXPECT_NEAR(StandardDeviation(u), 0.2 / std::sqrt(12.0), 0.003);
  EXPECT_NEAR(Mean(n), 0.5, 0.004);
  EXPECT_NEAR(StandardDeviation(n), 0.05, 0.003);
  EXPECT_DOUBLE_EQ(CoefficientPrior({CoefficientPrior::Kind::kNormal, 2, 1e-9}).Draw(1, random), 1);
}

}  // namespace
}  // namespace impactlab
