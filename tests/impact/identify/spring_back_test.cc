// Contacts that stick and spring back: not read as sliding at low friction, and no figure of
// friction stands against the impulses that it is of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "impact/identify/coefficient_model.h"
#include "impact/identify/identify.h"
#include "tests/impact/identify/identify_checks.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using twin::E;
using twin::ExpectSane;
using twin::Mu;

Body GripBall(bool planar) { return MakeBall(0.033, 0.058, planar); }

// Fast impacts with spin, measured as from a video; everything sticks unless `mu` is low.
twin::Options GripOptions(double mu, double e_t) {
  return {.n = 30,
          .mu = mu,
          .e = 0.7,
          .e_t = e_t,
          .sd_t = 0.003,
          .sd_n = 0.01,
          .sd_c = 0.003,
          .sd_v = 0.01,
          .sd_omega = 0.3,
          .speed_t = 1,
          .speed_n_min = 3,
          .speed_n_max = 5,
          .spin = 40};
}

// Largest |J_t| / J_n of the measured impulses.
double LargestRatio(const std::vector<ImpactEvent>& events, const Body& body) {
  double largest = 0;
  for (const ImpactEvent& event : events) {
    const Eigen::Vector3d J = MeasuredImpulse(event, body);
    largest = std::max(largest, J.head<2>().norm() / J.z());
  }
  return largest;
}

// No single impact shows a weak spring-back beyond its noise; sixty together do.
TEST(SpringBack, ManyImpactsShowTogetherWhatNoneShowsAlone) {
  const Body body = GripBall(true);
  int found = 0, alarms = 0;
  for (const std::uint64_t seed : {21u, 22u, 23u, 24u})
    for (const double e_t : {0.06, 0.0}) {
      std::mt19937_64 random(seed);
      twin::Options options = GripOptions(2, e_t);
      options.n = 60;
      options.sd_v = 0.02;
      options.sd_omega = 0.5;
      const LawFit fit = Identify(twin::Experiment(body, options, random), body, {}, {});
      if (e_t == 0) {
        alarms += fit.e_t.has_value();
        continue;
      }
      EXPECT_FALSE(Mu(fit).identifiable) << seed;
      found += fit.e_t.has_value();
      EXPECT_NEAR(fit.e_t ? fit.e_t->value : e_t, e_t, fit.e_t ? 5 * fit.e_t->sd : 0);
    }
  EXPECT_GE(found, 3);
  EXPECT_EQ(alarms, 0);
}

TEST(SpringBack, GripIsNotReadAsLowFriction) {
  int covered = 0, n = 0;
  for (const bool planar : {true, false})
    for (const double e_t : {0.1, 0.2, 0.5})
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        // Fits in space take a hundred times as long.
        if (!planar && (seed > 1 || e_t != 0.2)) continue;
        std::mt19937_64 random(seed);
        const Body body = GripBall(planar);
        twin::Options options = GripOptions(2, e_t);
        if (!planar) options.n = 12;
        const auto events = twin::Experiment(body, options, random);
        const LawFit fit = Identify(events, body, {}, {.bootstrap = 5, .grid = 3});
        ExpectSane(fit);
        ASSERT_TRUE(fit.e_t) << planar << " " << e_t << " " << seed;
        EXPECT_NEAR(fit.e_t->value, e_t, 5 * fit.e_t->sd);
        covered += fit.e_t->lower95 <= e_t && e_t <= fit.e_t->upper95;
        ++n;
        EXPECT_FALSE(Mu(fit).identifiable);
        EXPECT_TRUE(std::isinf(Mu(fit).upper95));
        EXPECT_GT(Mu(fit).lower95, 0.7 * LargestRatio(events, body));
        EXPECT_LE(Mu(fit).lower95, 1.1 * LargestRatio(events, body));
        EXPECT_THAT(Mu(fit).reason, HasSubstr("sticks"));
        EXPECT_EQ(fit.covariance.rows(), 3);
        EXPECT_EQ(fit.sd_bootstrap.size(), 3u);
        EXPECT_EQ(fit.influence.front().shift.size(), 3u);
        EXPECT_EQ(ListParameters(fit)[2].get().name, "e_t");
        // Predictions spring back as well.
        EXPECT_EQ(ModelOf(fit).e_t, fit.e_t->value);
        const ImpactEvent& event = events.front();
        const Prediction predicted = Predict(event, body, ModelOf(fit), fit);
        EXPECT_NEAR((predicted.plus.head<3>() - event.v_plus).norm(), 0, 0.2);
      }
  EXPECT_GE(covered, n - 4);
}

TEST(SpringBack, FrictionComesFromThoseThatSlide) {
  int covered = 0;
  constexpr int kRepeats = 10;
  for (int k = 0; k < kRepeats; ++k) {
    std::mt19937_64 random(static_cast<std::uint64_t>(20 + k));
    const Body body = GripBall(true);
    twin::Options options = GripOptions(0.12, 0.4);
    options.n = 40;
    options.speed_t = 4;
    const auto events = twin::Experiment(body, options, random);
    const LawFit fit = Identify(events, body, {}, {});
    ExpectSane(fit);
    ASSERT_TRUE(fit.e_t);
    ASSERT_TRUE(Mu(fit).identifiable) << Mu(fit).reason;
    EXPECT_NEAR(Mu(fit).value, 0.12, 0.01);
    EXPECT_NEAR(fit.e_t->value, 0.4, 0.1);
    covered += Mu(fit).lower95 <= 0.12 && 0.12 <= Mu(fit).upper95;
    // As the models say.
    const CoefficientFit model = FitCoefficients(std::vector<EventGroup>{{"all", body, events}},
                                                 RestitutionLaw::kEnergetic, {.fit_e_t = true});
    EXPECT_NEAR(model.Find("e_t")->value, fit.e_t->value, 0.2 * fit.e_t->sd);
    EXPECT_NEAR(model.parameters[0].value, Mu(fit).value, 0.2 * Mu(fit).sd);
  }
  EXPECT_GE(covered, 8);
}

// What slides and what sticks without springing back keeps its numbers to the last digit.
TEST(SpringBack, SoundImpactsAreLeftAsTheyAre) {
  int found = 0;
  for (const bool planar : {true, false})
    for (const double mu : {0.08, 0.3, 3.0})
      for (const double scatter : {0.0, 0.02}) {
        if (!planar && (mu != 0.3 || scatter > 0)) continue;
        std::mt19937_64 random(static_cast<std::uint64_t>(100 * mu + 1000 * scatter));
        const Body body = planar ? twin::Square() : MakeBox({0.06, 0.05, 0.04}, 0.2, false);
        twin::Options options = twin::Scatter(scatter);
        options.n = planar ? 25 : 8;
        options.mu = mu;
        const auto events = twin::Experiment(body, options, random);
        const LawFit fit = Identify(events, body, {}, {});
        const LawFit without = Identify(events, body, {}, {.tangential = TangentialFit::kNever});
        found += fit.e_t.has_value();
        EXPECT_EQ(fit.loglik, without.loglik);
        EXPECT_EQ(Mu(fit).lower95, Mu(without).lower95);
        EXPECT_EQ(Mu(fit).upper95, Mu(without).upper95);
        EXPECT_EQ(Mu(fit).reason, Mu(without).reason);
        EXPECT_EQ(E(fit).sd, E(without).sd);
        EXPECT_EQ(fit.covariance.rows(), 2);
      }
  EXPECT_EQ(found, 0);
}

// Some impacts with a friction that no e_t makes of the others': one figure for all is refused.
TEST(SpringBack, FrictionThatImpulsesContradictIsNotDetermined) {
  std::mt19937_64 random(51);
  const Body body = GripBall(true);
  twin::Options options = GripOptions(0.1, 0);
  options.n = 108;
  options.speed_t = 8;
  auto events = twin::Experiment(body, options, random);
  // Fast enough to slide at their friction too.
  options.n = 15;
  options.speed_t = 40;
  options.mu = 0.35;
  for (ImpactEvent& event : twin::Experiment(body, options, random)) {
    event.recording = "other_" + event.recording;
    events.push_back(event);
  }
  const LawFit fit = Identify(events, body, {}, {.likelihood = Likelihood::kStudentT});
  ExpectSane(fit);
  EXPECT_FALSE(Mu(fit).identifiable) << Mu(fit).lower95 << " " << Mu(fit).upper95;
  EXPECT_TRUE(std::isnan(Mu(fit).value));
  EXPECT_THAT(Mu(fit).reason, HasSubstr("beyond the cone"));
  EXPECT_TRUE(E(fit).identifiable);
}

// Fits that are compared with one another share the model that the first came to.
TEST(SpringBack, FitsThatAreComparedFollow) {
  std::mt19937_64 random(61);
  const Body body = GripBall(true);
  const auto events = twin::Experiment(body, GripOptions(2, 0.3), random);
  const LawFit main = Identify(events, body, {}, {});
  ASSERT_TRUE(main.e_t);
  const IdentifyOptions likewise = WithLikelihoodOf(main, {});
  for (const RestitutionLaw law : {RestitutionLaw::kNewton, RestitutionLaw::kPoisson}) {
    const LawFit other = Identify(events, body, ImpactModel{{}, law}, likewise);
    ASSERT_TRUE(other.e_t);
    EXPECT_NEAR(other.e_t->value, main.e_t->value, main.e_t->sd);
  }
  IdentifyOptions quick = likewise;
  quick.intervals = quick.influence = false;
  const LawFit refit = Identify(events, body, ModelOf(main), quick);
  ASSERT_TRUE(refit.e_t);
  EXPECT_NEAR(refit.e_t->value, main.e_t->value, 0.05 * main.e_t->sd);
  // Models too: the one that is chosen has e_t, whatever a cross-validation of few says.
  const std::vector<EventGroup> groups{{"all", body, events}};
  const std::vector<CoefficientModel> models{{}, {.fit_e_t = true}};
  for (const TangentialFit tangential : {TangentialFit::kAlways, TangentialFit::kNever}) {
    IdentifyOptions options;
    options.tangential = tangential;
    for (const ModelScore& score :
         CompareModels(groups, RestitutionLaw::kEnergetic, models, 5, options)) {
      const bool wanted = score.fit.model.fit_e_t == (tangential == TangentialFit::kAlways);
      EXPECT_EQ(score.chosen, wanted);
      if (!wanted) {
        EXPECT_THAT(score.verdict, HasSubstr("left aside"));
      }
    }
  }
}

// Spins of the wrong sense: slip before the impacts points the way the impulses push, which is no
// friction of zero. Without friction nothing pushes.
TEST(SpringBack, ImpulsesAlongTheSlipAreNoFrictionOfZero) {
  const Body body = MakeBall(0.02, 0.05, true);
  for (const std::uint64_t seed : {31u, 32u, 33u}) {
    std::mt19937_64 random(seed);
    twin::Options options = GripOptions(0.15, 0);
    options.spin = 300;
    std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
    for (ImpactEvent& event : events) {
      event.omega_minus = -event.omega_minus;
      event.omega_plus = -event.omega_plus;
      UpdateContact(event, body, Plane{{0, 0, 1}, event.p_WP.z()}, {0, 0, -9.80665});
    }
    const LawFit wrong = Identify(events, body, {}, {});
    EXPECT_FALSE(Mu(wrong).identifiable) << Mu(wrong).value << " " << Mu(wrong).upper95;
    options.mu = 0;
    const LawFit smooth = Identify(twin::Experiment(body, options, random), body, {}, {});
    EXPECT_TRUE(Mu(smooth).identifiable) << Mu(smooth).reason;
    EXPECT_LT(Mu(smooth).upper95, 0.02);
  }
}

}  // namespace
}  // namespace impactlab
