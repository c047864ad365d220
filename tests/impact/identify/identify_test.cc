// Identification of (mu, e): recovery, robustness, influence and what else a fit gives.

#include "impact/identify/identify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/impact/identify/identify_checks.h"

namespace impactlab {
namespace {

using twin::E;
using twin::ExpectSane;
using twin::Mu;
using twin::Scatter;

const RestitutionLaw kLaws[] = {RestitutionLaw::kNewton, RestitutionLaw::kPoisson,
                                RestitutionLaw::kEnergetic};

TEST(Identify, ExactEventsGiveTheirCoefficientsForEveryLawAndLikelihood) {
  for (RestitutionLaw law : kLaws) {
    for (Likelihood likelihood :
         {Likelihood::kGaussian, Likelihood::kStudentT, Likelihood::kContamination}) {
      std::mt19937_64 random(11);
      twin::Options options;
      options.law = law;
      options.mu = 0.23;
      options.e = 0.61;
      options.sd_v = options.sd_omega = options.sd_r = 0;
      const Body body = twin::Square();
      const auto events = twin::Experiment(body, options, random);
      const LawFit fit =
          Identify(events, body, {{.e = 0.2, .mu_k = 0.9}, law}, {.likelihood = likelihood});
      ExpectSane(fit);
      EXPECT_EQ(fit.law, LawName(law));
      EXPECT_NEAR(Mu(fit).value, 0.23, 1e-6) << fit.law << fit.likelihood;
      EXPECT_NEAR(E(fit).value, 0.61, 1e-6) << fit.law << fit.likelihood;
      EXPECT_TRUE(Mu(fit).identifiable && E(fit).identifiable);
    }
  }
}

TEST(Identify, RecoversCoefficientsOfDifferentBodies) {
  const Body bodies[] = {MakeRod(0.2, 0.005, 0.1, true), MakeBox({0.1, 0.03, 0.03}, 2, true),
                         MakeEllipsoid({0.05, 0.05, 0.03}, 0.3, true),
                         MakeBox({0.1, 0.08, 0.06}, 0.4), MakeRod(0.15, 0.01, 0.2)};
  for (const Body& body : bodies) {
    std::mt19937_64 random(5);
    twin::Options options = Scatter(0.01);
    options.mu = 0.15;
    options.e = 0.7;
    const auto events = twin::Experiment(body, options, random);
    const LawFit fit = Identify(events, body, {}, {});
    ExpectSane(fit);
    EXPECT_NEAR(Mu(fit).value, 0.15, 4 * Mu(fit).sd) << body.name;
    EXPECT_NEAR(E(fit).value, 0.7, 4 * E(fit).sd) << body.name;
    EXPECT_LT(Mu(fit).sd, 0.02) << body.name;
    EXPECT_LT(E(fit).sd, 0.02) << body.name;
    EXPECT_LT(Mu(fit).sd_noise_only, Mu(fit).sd) << body.name;
  }
}

TEST(Identify, ScatterAndNoiseAreToldApart) {
  std::mt19937_64 random(21);
  twin::Options options;
  options.n = 200;
  options.sd_t = 0.04;
  options.sd_n = 0.02;
  options.sd_c = 0.08;
  options.mu = 0.1;
  const Body body = twin::Square();
  const LawFit fit =
      Identify(twin::Experiment(body, options, random), body, {}, {.influence = false});
  EXPECT_NEAR(fit.discrepancy.sd_tangential, 0.04, 0.006);
  EXPECT_NEAR(fit.discrepancy.sd_normal, 0.02, 0.003);
  EXPECT_NEAR(fit.discrepancy.sd_couple, 0.08, 0.012);
  EXPECT_LT(Mu(fit).sd_noise_only, 0.1 * Mu(fit).sd);
  EXPECT_EQ(fit.dof, 200 * 3 - 2 - 5);
}

// About the normal no lever of the normal impulse adds to the couple: predictions of the spin about
// it must not take over the scatter about the tangents.
TEST(Identify, CouplesScatterApartAboutTheNormal) {
  std::mt19937_64 random(24);
  twin::Options options;
  options.n = 100;
  options.sd_t = options.sd_n = 0.005;
  options.sd_c = 0.1;
  options.about_normal = 0.1;
  options.mu = 0.1;
  const Body body = MakeBox({0.1, 0.08, 0.06}, 0.5);
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  const LawFit fit = Identify(events, body, {}, {.influence = false});
  EXPECT_NEAR(fit.discrepancy.sd_couple, 0.1, 0.012);
  ASSERT_TRUE(fit.discrepancy.sd_couple_normal);
  EXPECT_NEAR(*fit.discrepancy.sd_couple_normal, 0.01, 0.002);
  EXPECT_EQ(fit.dof, 100 * 6 - 2 - 6);
  // The couple of every event about the normal, by the covariance of its prediction.
  double sum = 0;
  for (const ImpactEvent& event : events) {
    const Prediction p = Predict(event, body, ModelOf(fit), fit);
    const Eigen::Matrix3d inertia =
        event.X_WB.linear() * body.inertia_B * event.X_WB.linear().transpose();
    const Eigen::RowVector3d normal = inertia.row(2);
    const Eigen::Vector3d error = p.plus.tail<3>() - event.omega_plus;
    sum += std::pow(normal * error, 2) /
           (normal * p.cov_difference.bottomRightCorner<3, 3>() * normal.transpose());
  }
  EXPECT_NEAR(sum / 100, 1, 0.4);
}

TEST(Identify, NoiseAloneExplainsNoiseAlone) {
  std::mt19937_64 random(22);
  twin::Options options;
  options.n = 100;
  options.sd_v = 2e-2;
  options.sd_omega = 0.5;
  options.sd_r = 5e-4;
  const Body body = twin::Square();
  const LawFit fit = Identify(twin::Experiment(body, options, random), body, {},
                              {.likelihood = Likelihood::kGaussian, .influence = false});
  EXPECT_LT(fit.discrepancy.sd_tangential, 0.02);
  EXPECT_LT(fit.discrepancy.sd_normal, 0.02);
  EXPECT_NEAR(Mu(fit).value, 0.2, 4 * Mu(fit).sd);
  EXPECT_NEAR(Mu(fit).sd / Mu(fit).sd_noise_only, 1.3, 0.5);
}

// Few events whose noise is known and which do not scatter: neither heavy tails nor scatter that
// grows along the profile may pass for what is not there.
TEST(Identify, KnownNoiseIsNotTakenForScatter) {
  constexpr int kSets = 300;
  const Body body = twin::Square();
  twin::Options options;
  options.n = 12;
  options.sd_v = 2e-3;
  options.sd_omega = 0.05;
  int normal = 0, n[2] = {0, 0}, covered[2] = {0, 0};
  double z2[2] = {0, 0}, excess[2] = {0, 0};
  for (int k = 0; k < kSets; ++k) {
    std::mt19937_64 random(2300 + static_cast<unsigned>(k));
    const LawFit fit =
        Identify(twin::Experiment(body, options, random), body, {}, {.influence = false});
    normal += fit.likelihood == "gaussian";
    for (int i = 0; i < 2; ++i) {
      const ParameterEstimate& p = ListParameters(fit)[static_cast<std::size_t>(i)].get();
      if (!p.identifiable) continue;
      const double truth = i == 0 ? options.mu : options.e;
      ++n[i];
      covered[i] += p.lower95 <= truth && truth <= p.upper95;
      z2[i] += std::pow((p.value - truth) / p.sd, 2);
      excess[i] += p.sd / p.sd_noise_only - 1;
    }
  }
  EXPECT_GT(normal, 0.6 * kSets);
  for (int i = 0; i < 2; ++i) {
    EXPECT_GT(n[i], 0.9 * kSets);
    EXPECT_TRUE(BinomialBand(n[i], 0.95, 1e-4).Contains(covered[i]))
        << covered[i] << " of " << n[i];
    EXPECT_NEAR(std::sqrt(z2[i] / n[i]), 1, 0.15);
    EXPECT_LT(excess[i] / n[i], 0.18);
  }
}

// Of two events one is met exactly by some friction and restitution, which heavy tails take for
// certainty.
TEST(Identify, FewEventsTellNoTails) {
  twin::Options options = Scatter(0.04);
  for (const int n : {2, 3, 5})
    for (unsigned seed = 1; seed <= 10; ++seed) {
      options.n = n;
      std::mt19937_64 random(seed);
      EXPECT_EQ(Identify(twin::Experiment(twin::Square(), options, random), twin::Square(), {},
                         {.influence = false})
                    .likelihood,
                "gaussian");
    }
}

TEST(IdentifyRobust, WildEventsMoveARobustFitLittle) {
  std::mt19937_64 random(51);
  const Body body = twin::Square();
  twin::Options options = Scatter(0.02);
  options.n = 40;
  std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  for (int i : {3, 17, 29}) {
    events[i].v_plus += Eigen::Vector3d(1.5, 0, 1.0);
    events[i].omega_plus.y() += 20;
    UpdateContact(events[i], body, Plane{}, {0, 0, -9.8});
  }
  const LawFit gaussian = Identify(events, body, {}, {.likelihood = Likelihood::kGaussian});
  for (Likelihood likelihood :
       {Likelihood::kStudentT, Likelihood::kContamination, Likelihood::kAdaptive}) {
    const LawFit robust = Identify(events, body, {}, {.likelihood = likelihood});
    ExpectSane(robust);
    EXPECT_EQ(robust.likelihood,
              likelihood == Likelihood::kContamination ? "contamination" : "student_t");
    EXPECT_NEAR(Mu(robust).value, 0.2, 0.02);
    EXPECT_NEAR(E(robust).value, 0.5, 0.03);
    EXPECT_LT(E(robust).sd, 0.5 * E(gaussian).sd);
    for (int i : {3, 17, 29}) EXPECT_LT(robust.influence[i].weight, 0.2);
    int ordinary = 0;
    for (const EventInfluence& influence : robust.influence) ordinary += influence.weight > 0.5;
    EXPECT_GE(ordinary, 25);
  }
}

// Momentum that does not close (a couple about the contact point) says nothing about mu and e and
// must not cost them anything.
TEST(IdentifyRobust, WildCouplesLeaveTheImpulseItsInformation) {
  const Body body = twin::Square();
  twin::Options calm = Scatter(0.02), wild = calm;
  calm.sd_c = 0;
  wild.sd_c = 2;
  std::mt19937_64 a(52), b(52);
  const LawFit with = Identify(twin::Experiment(body, wild, a), body, {}, {}),
               without = Identify(twin::Experiment(body, calm, b), body, {}, {});
  EXPECT_GT(with.discrepancy.sd_couple, 1);
  EXPECT_NEAR(Mu(with).value, Mu(without).value, 0.2 * Mu(without).sd);
  EXPECT_NEAR(E(with).value, E(without).value, 0.2 * E(without).sd);
  EXPECT_NEAR(Mu(with).sd, Mu(without).sd, 0.1 * Mu(without).sd);
}

TEST(IdentifyInvariance, OrderMassAndMirrorDoNotMatter) {
  std::mt19937_64 random(61);
  const Body body = twin::Square();
  std::vector<ImpactEvent> events = twin::Experiment(body, Scatter(0.02), random);
  const LawFit reference = Identify(events, body, {}, {});
  const auto expect_same = [&](const LawFit& fit, const char* what) {
    for (int k = 0; k < 2; ++k) {
      const ParameterEstimate &p = ListParameters(fit)[k].get(),
                              &q = ListParameters(reference)[k].get();
      EXPECT_NEAR(p.value, q.value, 2e-3 * q.sd) << what;
      EXPECT_NEAR(p.sd, q.sd, 5e-3 * q.sd) << what;
      EXPECT_NEAR(p.lower95, q.lower95, 2e-2 * q.sd) << what;
      EXPECT_NEAR(p.upper95, q.upper95, 2e-2 * q.sd) << what;
    }
    EXPECT_NEAR(fit.loglik, reference.loglik, 1e-3) << what;
  };
  std::vector<ImpactEvent> shuffled = events;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  expect_same(Identify(shuffled, body, {}, {}), "order");
  const Body heavy = MakeBox({0.06, 0.06, 0.06}, 7.5, true);
  std::vector<ImpactEvent> heavier = events;
  for (ImpactEvent& event : heavier) UpdateContact(event, heavy, Plane{}, {0, 0, -9.8});
  expect_same(Identify(heavier, heavy, {}, {}), "mass");
  // Mirror in the y-z plane: x and omega_y change sign, and the pose of a square with them.
  std::vector<ImpactEvent> mirrored = events;
  Eigen::Matrix<double, kEventDim, 1> sign = Eigen::Matrix<double, kEventDim, 1>::Ones();
  for (int i : {kVMinus, kVPlus, kLever, kOmegaMinus + 1, kOmegaPlus + 1}) sign[i] = -1;
  for (ImpactEvent& event : mirrored) {
    event.X_WB = PlanarPose(-event.X_WB.translation().x(), event.X_WB.translation().z(),
                            -PlanarAngle(event.X_WB));
    event.p_WP.x() *= -1;
    event.v_minus.x() *= -1;
    event.v_plus.x() *= -1;
    event.omega_minus *= -1;
    event.omega_plus *= -1;
    event.cov = sign.asDiagonal() * event.cov * sign.asDiagonal();
    UpdateContact(event, body, Plane{}, {0, 0, -9.8});
  }
  expect_same(Identify(mirrored, body, {}, {}), "mirror");
}

TEST(IdentifyInfluence, AgreesWithLeavingEventsOut) {
  std::mt19937_64 random(71);
  const Body body = twin::Square();
  twin::Options options = Scatter(0.02);
  options.mu = 0.12;
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  const LawFit fit = Identify(events, body, {}, {.likelihood = Likelihood::kGaussian});
  ASSERT_EQ(fit.influence.size(), events.size());
  double product = 0, square = 0, refit_square = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::vector<ImpactEvent> rest = events;
    rest.erase(rest.begin() + i);
    const LawFit without =
        Identify(rest, body, {}, {.likelihood = Likelihood::kGaussian, .influence = false});
    EXPECT_EQ(fit.influence[i].recording, events[i].recording);
    for (int k = 0; k < 2; ++k) {
      const double shift =
          (ListParameters(without)[k].get().value - ListParameters(fit)[k].get().value) /
          ListParameters(fit)[k].get().sd;
      EXPECT_NEAR(fit.influence[i].shift[k], shift, 0.3) << i << " " << k;
      product += shift * fit.influence[i].shift[k];
      square += fit.influence[i].shift[k] * fit.influence[i].shift[k];
      refit_square += shift * shift;
    }
  }
  EXPECT_GT(product / std::sqrt(square * refit_square), 0.9);
}

TEST(IdentifyBootstrap, IsDeterministicAndAgreesWithTheTotal) {
  std::mt19937_64 random(72);
  const Body body = twin::Square();
  twin::Options options = Scatter(0.03);
  options.n = 100;
  const auto events = twin::Experiment(body, options, random);
  double last = 0;
  const IdentifyOptions with{
      .bootstrap = 100, .influence = false, .seed = 9, .progress = [&](double share) {
        last = share;
      }};
  const LawFit a = Identify(events, body, {}, with), b = Identify(events, body, {}, with);
  ASSERT_EQ(a.sd_bootstrap.size(), 2u);
  EXPECT_EQ(a.sd_bootstrap, b.sd_bootstrap);
  EXPECT_EQ(last, 1);
  for (int k = 0; k < 2; ++k) {
    const double half_width =
        0.5 * (ListParameters(a)[k].get().upper95 - ListParameters(a)[k].get().lower95);
    EXPECT_NEAR(half_width / (1.96 * a.sd_bootstrap[k]), 1, 0.25) << k;
  }
}

TEST(IdentifyGrid, IsLowestAtTheFit) {
  std::mt19937_64 random(73);
  const Body body = twin::Square();
  const auto events = twin::Experiment(body, Scatter(0.02), random);
  const LawFit fit = Identify(events, body, {}, {.influence = false, .grid = 21});
  ASSERT_EQ(fit.grid_deviance.rows(), 21);
  Eigen::Index i = 0, j = 0;
  EXPECT_GE(fit.grid_deviance.minCoeff(&i, &j), 0);
  EXPECT_NEAR(fit.grid_mu[i], Mu(fit).value, fit.grid_mu[1] - fit.grid_mu[0]);
  EXPECT_NEAR(fit.grid_e[j], E(fit).value, fit.grid_e[1] - fit.grid_e[0]);
  EXPECT_GT(fit.grid_deviance(0, 0), 4);
  EXPECT_GT(fit.grid_deviance(20, 20), 4);
}

TEST(IdentifyQuick, SkippingIntervalsKeepsTheEstimate) {
  std::mt19937_64 random(74);
  const Body body = twin::Square();
  const auto events = twin::Experiment(body, Scatter(0.02), random);
  const LawFit fit = Identify(events, body, {}, {});
  const LawFit quick =
      Identify(events, body, ModelOf(fit), {.intervals = false, .influence = false});
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(ListParameters(quick)[k].get().value, ListParameters(fit)[k].get().value,
                0.01 * ListParameters(fit)[k].get().sd);
    // Without a profile nothing is known of kinks beside the optimum, which only widen.
    EXPECT_LE(ListParameters(quick)[k].get().sd, 1.001 * ListParameters(fit)[k].get().sd);
    EXPECT_GE(ListParameters(quick)[k].get().sd, 0.6 * ListParameters(fit)[k].get().sd);
  }
  EXPECT_TRUE(quick.influence.empty());
}

TEST(IdentifyStatic, BracketsStaticFrictionBetweenCriticalRatios) {
  // A rod that lands inclined slips, stops, and sticks only where mu_s exceeds its critical ratio.
  const Body rod = MakeRod(0.2, 0.002, 1, true);
  std::mt19937_64 random(75);
  twin::Options options = Scatter(0.003);
  options.n = 60;
  options.mu = 0.15;
  options.speed_t = 0.5;
  std::vector<ImpactEvent> events = twin::Experiment(rod, options, random);
  const double mu_s = 0.45;
  for (ImpactEvent& event : events) {
    const ImpactOutcome outcome =
        Solve(event.contact, {{options.e, options.mu, mu_s}, options.law});
    const VelocityChange change = ApplyImpulse(rod, event.X_WB, event.contact.X_WF, outcome.J_F);
    event.v_plus = event.v_minus + change.dv_W +
                   Eigen::Vector3d(2e-3 * twin::Normal(random), 0, 2e-3 * twin::Normal(random));
    event.omega_plus = event.omega_minus + change.domega_W;
  }
  const LawFit fit = Identify(events, rod, {}, {.fit_mu_s = true});
  ASSERT_TRUE(fit.mu_s.has_value());
  EXPECT_EQ(fit.mu_s->name, "mu_s");
  EXPECT_LE(fit.mu_s->lower95, mu_s);
  EXPECT_GE(fit.mu_s->upper95, mu_s);
  EXPECT_LT(fit.mu_s->upper95, 1);
  EXPECT_GT(fit.mu_s->lower95, 0.2);
  EXPECT_NEAR(Mu(fit).value, options.mu, 5 * Mu(fit).sd);
  EXPECT_NEAR(ModelOf(fit).mu_s, fit.mu_s->value, 1e-12);
  EXPECT_EQ(fit.covariance.rows(), 3);
  // A ball has A_tn = 0: nothing tells.
  const Body ball = MakeBall(0.02, 1, true);
  const LawFit blind =
      Identify(twin::Experiment(ball, options, random), ball, {}, {.fit_mu_s = true});
  EXPECT_FALSE(blind.mu_s->identifiable);
}

TEST(IdentifyModelOf, ReadsTheFitAndRefusesWhatIsNone) {
  LawFit fit;
  fit.law = "poisson";
  EXPECT_THROW(ModelOf(fit), ConfigError);
  fit.mu_k.name = "mu_k", fit.mu_k.value = 0.3;
  fit.e.name = "e_p", fit.e.value = 0.6;
  EXPECT_EQ(ModelOf(fit).law, RestitutionLaw::kPoisson);
  EXPECT_EQ(ModelOf(fit).mu_k, 0.3);
  EXPECT_EQ(ModelOf(fit).mu_s, 0.3);
  EXPECT_EQ(ModelOf(fit).e, 0.6);
  fit.law = "hertz";
  EXPECT_THROW(ModelOf(fit), ConfigError);
}

}  // namespace
}  // namespace impactlab
